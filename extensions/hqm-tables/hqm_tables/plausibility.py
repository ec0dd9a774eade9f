"""Rows of a published table that are no systems, and columns that are no scores, by their names."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from hqm.errors import DataError
from hqm.files.records import MAX_NAMED_FIELDS
from hqm.imports.intake import SUMMARY_NAMES
from hqm.imports.layouts import heading_words
from hqm.imports.score_columns import PROPERTY
from hqm.psychometrics import Array
from hqm.respondents.kinds import is_model_name
from hqm_tables.table_cells import PrintedCell, is_score, number_text

_NO_SYSTEM = re.compile(
    r"(?:±?\s*(?:std(?:\.|\.? ?dev\.?|ev)?|s\.?d\.?)|sem|stderr|standard (?:deviation|error)"
    r"|var(?:\.|iance)?|σ|±|(?:\d+ ?% ?)?(?:ci|confidence interval)|p[ -]?values?|rank(?:ing)?"
    r"|(?:relative |absolute )?(?:gain|improvement)|vs\.? .*|ground[ -]truth|gt|crowd ?workers?"
    r"|(?:#|no\.? of|num(?:ber|\.)? of|n(?=\s))\s*(?:questions|items|samples|images|examples)"
    r"|count \(n\)|(?:max(?:imum)?|full|perfect) (?:scores?|marks?|points)"
    r"|(?:always|all) (?:yes|no)|random \(.*\)|avg\.? humans?"
    r"|[δΔ∆](?:\s.*|\(.*)?|delta(?:\s.*)?|diff(?:erence)?|median|mode|min(?:imum)?"
    r"|max(?:imum)?|range|best|worst"
    r"|(?:random|chance|guess(?:ing)?|majority|frequen(?:t|cy))(?:[ -](?:chance|guess(?:ing)?|choice"
    r"|level|baseline|class|vote|answer))*"
    r"|(?:human|humans|people|expert|experts)(?:[ -](?:performance|experts?|average|avg\.?|level"
    r"|baseline|accuracy|annotators?|score|best|worst|high|low|\(.*\)))*"
    r"|(?:upper|lower) bound|ceiling)",
    re.IGNORECASE,
)
_NO_SCORE = re.compile(
    r"(?:#|no\.? of|num(?:ber)? of|n)?\s*(?:params?|parameters?|(?:llm|model)[ -]?(?:params?|size)"
    r"|size|(?:release[ -])?date|ranking|flops|tflops|gpus|layers?"
    r"|resolution|throughput|context(?:[ -]length)?|train(?:ing)?[ -]data"
    r"|res\.|fps|v?ram|gpu[ -]hours|citations|shots|(?:avg\.? |mean )?(?:length|words)"
    r"|std(?:\.|ev|dev)?|p[ -]?values?|[δΔ∆]|vs\.? .*)"
    r"\s*(?:\(.*\)|\[.*\])?"
    r"|#|no\.|#\s*(?:questions|items|samples|images|shots)"
    r"|(?:time|speed) \((?:m?s|min|h|.*/.*)\)|memory \([mg]i?b\)|data \([kmb]\)",
    re.IGNORECASE,
)
"""What only published tables call a property of a system, beside `PROPERTY`."""
_AROUND_NAME = re.compile(
    r"^(?:#|no\.? of|num(?:ber)? of)\s*(?=\w)|\s*(?:\(.*\)|\[.*\])$", re.IGNORECASE
)
"""What stands around the name of a property: that it is counted, and its unit."""
_MAYBE_NO_SYSTEM = frozenset("n questions items samples weight weights date".split())
_MAYBE_NO_SCORE = frozenset(
    "n id index release samples time speed memory data temperature temp. p gain seed".split()
)
"""Words that may name a system or a part of a test too: the numbers beside tell."""
_PARTS_OF_TEST = re.compile(
    r"(?:metrics?|measures?|scores?|benchmarks?|tasks?|datasets?|subsets?|categor(?:y|ies)"
    r"|(?:hallucination|question|error|task)[ -]types?|dimensions?|abilit(?:y|ies)|skills?)",
    re.IGNORECASE,
)
_MISSING_CODES = frozenset(("-1", "-9", "-99", "-999", "-9999"))
"""Numbers that stand for no score in files of statistics programs."""


def is_system(name: str) -> bool:
    """Whether a row may be a system: it is not named as people, chance or a statistic of others.

    >>> [is_system(name) for name in ("LLaVA", "Std", "Human", "Random chance", "Humanoid-7B")]
    [True, False, False, False, True]
    """
    return _NO_SYSTEM.fullmatch(name.strip()) is None


def is_score_name(name: str) -> bool:
    """Whether a column may hold scores: it is not named as a property of the systems.

    >>> [is_score_name(name) for name in ("Text", "params (B)", "Year", "Size F1")]
    [True, False, False, True]
    """
    plain = name.strip()
    # the numbers beside tell
    if plain.lower() in _MAYBE_NO_SCORE:
        return True
    words = heading_words(_AROUND_NAME.sub("", plain))
    return _NO_SCORE.fullmatch(plain) is None and PROPERTY.fullmatch(words) is None


def _score_texts(cells: Sequence[str]) -> list[str]:
    """Return the numbers in cells as they are printed, with decimal points."""
    printed = [cell for cell in cells if cell.strip() and is_score(cell)]
    return [number_text(cell).replace(",", ".") for cell in printed]


def _are_unlike(cells: Sequence[str], other_cells: Sequence[str]) -> bool:
    """Whether the numbers of a row or a column are none of the scores beside them: whole numbers
    where those have decimals, or all below or above them.
    """
    texts, scores = _score_texts(cells), _score_texts(other_cells)
    numbers = [float(text) for text in texts if text[-1:].isdigit() and text.count(".") < 2]
    scores_beside = [float(text) for text in scores if text[-1:].isdigit() and text.count(".") < 2]
    if not numbers or not scores_beside:
        return False
    with_decimals = sum("." in text for text in scores) > len(scores) / 2
    are_integers = not any("." in text for text in texts)
    return (
        (are_integers and with_decimals)
        or max(numbers) < min(scores_beside)
        or min(numbers) > max(scores_beside)
    )


def is_summary_name(name: str) -> bool:
    """Whether a row or a column is called the mean or the sum of the others.

    >>> is_summary_name("Avg."), is_summary_name("Summary task")
    (True, False)
    """
    return SUMMARY_NAMES.match(name.strip()) is not None


def split_summaries(row_names: Sequence[str], *, has_names: bool) -> tuple[list[int], list[int]]:
    """Return the indices of the rows that sum up the others, and those of the respondents."""
    indices = list(range(len(row_names)))
    if not has_names:
        return [], indices
    # a last row "average" is no respondent; where all rows are called so, none is a summary
    scores = [i for i in indices if not is_summary_name(row_names[i])] or indices
    return [i for i in indices if i not in set(scores)], scores


def choose_systems(
    names: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[list[int], list[str]]:
    """Return the indices of the rows that may be systems, and a note on the others; all rows where
    fewer than two would be left.

    >>> choose_systems(["LLaVA", "Std", "Qwen"], [["50.1"], ["3.2"], ["61.5"]])
    ([0, 2], ["1 row is left out as it is none of the systems: 'Std'"])
    """
    kept = [i for i, name in enumerate(names) if is_system(name)]
    for i in list(kept):
        other_cells = [cell for k in kept if k != i for cell in rows[k]]
        if names[i].strip().lower() in _MAYBE_NO_SYSTEM and _are_unlike(rows[i], other_cells):
            kept.remove(i)
    omitted = [name for i, name in enumerate(names) if i not in kept]
    if not omitted or len(kept) < 2:
        return list(range(len(names))), []
    return kept, [describe_omitted("row", omitted, "systems")]


def choose_scores(
    headings: Sequence[str], n_labels: int, columns: Sequence[Sequence[str]]
) -> tuple[list[int], list[str]]:
    """Return the indices of the columns that name the rows or may hold scores, and a note on the
    others; all columns where no score would be left.

    >>> choose_scores(["model", "Year", "Text"], 1, [["a"], ["2024"], ["50.1"]])
    ([0, 2], ["1 column is left out as it is none of the scores: 'Year'"])
    """
    kept = [j for j, name in enumerate(headings) if j < n_labels or is_score_name(name)]
    for j in kept[n_labels:]:
        other_cells = [cell for k in kept[n_labels:] if k != j for cell in columns[k]]
        if headings[j].strip().lower() in _MAYBE_NO_SCORE and _are_unlike(columns[j], other_cells):
            kept.remove(j)
    omitted = [name for j, name in enumerate(headings) if j not in kept]
    if not omitted or len(kept) <= n_labels:
        return list(range(len(headings))), []
    return kept, [describe_omitted("column", omitted, "scores")]


def describe_omitted(subject: str, names: Sequence[str], what: str) -> str:
    """Say which rows or columns are left out.

    >>> describe_omitted("row", ["Std", "Human"], "systems")
    "2 rows are left out as they are no systems: 'Std', 'Human'"
    """
    listed = ", ".join(map(repr, names[:MAX_NAMED_FIELDS]))
    if len(names) > MAX_NAMED_FIELDS:
        listed += f" and {len(names) - MAX_NAMED_FIELDS} more"
    if len(names) == 1:
        return f"1 {subject} is left out as it is none of the {what}: {listed}"
    return f"{len(names)} {subject}s are left out as they are no {what}: {listed}"


def check_orientation(
    heading: str, columns: Sequence[str], row_names: Sequence[str], location: str
) -> None:
    """Refuse a table whose rows are metrics or parts of a test, and whose columns are systems.

    Raises
    ------
    DataError
        The first column is headed so, or half of the others are called as models are, and no row.
    """
    models = list(filter(is_model_name, columns))
    if 2 <= len(models) >= len(columns) / 2 and not any(map(is_model_name, row_names)):
        raise DataError(
            f"the columns seem to be the systems: {', '.join(models[:3])}",
            location=location,
            remedy="Write a system in each row.",
        )
    if _PARTS_OF_TEST.fullmatch(heading.strip()):
        raise DataError(
            f"the first column is called {heading.strip()!r}, so that the columns seem to be the"
            " systems",
            location=location,
            remedy="Write a system in each row; if the rows are systems, call the first column"
            " model.",
        )


def check_far_cells(name: str, cells: Sequence[PrintedCell], location: str) -> None:
    """Check that no number of a column lies far outside the others: above 100 and three times as
    large as the largest, or below 0 where they are all far above it.

    Raises
    ------
    DataError
        One does.
    """
    scores = sorted(
        (cell for cell in cells if np.isfinite(cell.value)), key=lambda cell: cell.value
    )
    if len(scores) < 4:
        return
    lowest, highest, inner_values = scores[0], scores[-1], [cell.value for cell in scores[1:-1]]
    high = max(lowest.value, 0.0, *inner_values)
    low = min(highest.value, *inner_values)
    is_outlier_above = highest.value > 100 >= high and highest.value >= 3 * high > 0
    is_code = lowest.text in _MISSING_CODES and any("." in cell.text for cell in scores)
    as_percent = 100 * low if high <= 1 else low
    is_outlier_below = (
        lowest.value < 0 and as_percent >= 20 and (is_code or -lowest.value >= low / 2)
    )
    if is_outlier_above or is_outlier_below:
        outlier = highest if is_outlier_above else lowest
        raise DataError(
            f"{outlier.text!r} stands in the column {name!r}, whose other numbers lie between"
            f" {(lowest if is_outlier_above else scores[1]).text} and"
            f" {(scores[-2] if is_outlier_above else highest).text}",
            location=location,
            remedy="Write the score as it is meant; leave the cell empty if there is none.",
        )


def check_printed_scale(name: str, cells: Sequence[PrintedCell], location: str) -> None:
    """Check that no shares of 1 stand among the percents of a column: times 100 they would be as
    large as the others, and they have more decimals, or are a third of the column.

    Raises
    ------
    DataError
        Some do.
    """
    large = [cell for cell in cells if cell.value > 1.5]
    small = [cell for cell in cells if 0 < cell.value < 1 and not cell.percent]
    if not small or len(large) < 2:
        return
    values = [cell.value for cell in large]
    as_large = all(min(values) / 2 <= 100 * cell.value <= 2 * max(values) for cell in small)
    finer = min(map(_decimals, small)) > max(map(_decimals, large))
    are_many = len(small) >= max(2, len(large) / 2)
    if as_large and np.median(values) >= 20 and (finer or are_many):
        raise DataError(
            f"{small[0].text!r} stands in the column {name!r} beside {large[0].text!r}: one is a"
            " share of 1, the other a percent",
            location=location,
            remedy="Write all of them on one scale.",
        )


def _decimals(cell: PrintedCell) -> int:
    return len(cell.text.partition(".")[2])


def check_row_scales(rates: Array, names: Sequence[str], location: str) -> None:
    """Check that no row has shares where the others have percents: at most 1 in each of two columns
    or more, and a twentieth of their medians.

    Parameters
    ----------
    rates
        The columns of percents, a row a system.

    Raises
    ------
    DataError
        Some have.
    """
    if rates.shape[1] < 2 or len(rates) < 3:
        return
    small = [bool(((row > 0) & (row <= 1) | np.isnan(row)).all()) for row in rates]
    if not any(small) or all(small):
        return
    typical = np.nan_to_num(
        np.nanmedian(rates[[not row_is_small for row_is_small in small]], axis=0)
    )
    if (typical >= 20).all():
        odd = [name for name, is_small in zip(names, small, strict=True) if is_small]
        raise DataError(
            f"{len(odd)} of {len(names)} rows have shares of 1 where the others have percents:"
            f" {', '.join(odd[:3])}",
            location=location,
            remedy="Write all rows on one scale.",
        )
