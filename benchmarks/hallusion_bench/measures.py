"""The measures of HallusionBench, as functions of summed tallies.

`official` measures are percentages with four decimals, and their easy and hard accuracies are by
question pair. `paper` measures are not rounded, and easy and hard are by question.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import filterfalse
from operator import attrgetter, methodcaller
from pathlib import Path

import numpy as np

from hqm import DataError, Finding, Form, Item, Metric, Response, finding, ratio, read_records
from hqm.benchmark.findings import asking
from hqm.benchmark.released_files import files_in
from hqm.files.records import located_records, required_field
from hqm.imports.row import JudgeOutput, Row
from hqm.scoring.metrics import Array, Tally
from hqm.types import group_by

KEYS = ("category", "subcategory", "set_id", "figure_id", "question_id")
"""The fields by which the release names a question."""
SCOPES = (
    "",
    "vd",
    "vs",
    "vd_figure",
    "vd_illusion",
    "vd_math",
    "vd_ocr",
    "vd_video",
    "vs_chart",
    "vs_map",
    "vs_ocr",
    "vs_table",
)
"""All items (the empty name), the two categories, and their subcategories."""


def metrics_of(scoring: str) -> Iterable[Metric]:
    """The metrics of one scoring, named in lower case; aAcc, fAcc and qAcc over all items come
    first.
    """
    official = scoring == "official"
    digits = 4 if official else None
    for scope in SCOPES:
        for metric in _accuracies(scope, "pair" if official else ""):
            yield replace(metric, digits=digits)
    for scope in SCOPES[:3]:
        for metric in _consistency(scope):
            yield replace(metric, digits=digits)
    # the release takes an answer for a yes by whether it was counted right
    inferred = "_inferred" if official else ""
    yield Metric(
        "yes_diff",
        lambda t: ratio(t[f"yes{inferred}"], t["n"]) - ratio(t["yes_true"], t["n"]),
        "neither",
        about="Share of answers yes less the share of questions whose answer is yes.",
        scale=(-1.0, 1.0),
    )
    yield Metric(
        "fp_ratio",
        lambda t: ratio(t[f"false_yes{inferred}"], t["wrong"]),
        "neither",
        about="Of the wrong answers, the share that said yes.",
        scale=(0.0, 1.0),
    )
    yield Metric(
        "unclear",
        _percent("unclear", "n"),
        "neither",
        about="Percentage of unclear answers.",
        digits=digits,
        scale=(0.0, 100.0),
    )


def _percent(top: str | Callable[[Tally], Array], bottom: str) -> Callable[[Tally], Array]:
    return lambda t: ratio(100 * np.asarray(top(t) if callable(top) else t[top]), t[bottom])


def _accuracies(scope: str, by_pair: str) -> Iterable[Metric]:
    right = _percent("right", "n")
    dot = bar = scope_phrase = ""
    if scope:
        dot = f"{scope}."
        bar = f"{scope}_"
        scope_phrase = f" of {scope}"
    yield Metric(
        f"{dot}aacc",
        right,
        subset=scope,
        about=f"Percentage of questions{scope_phrase} answered right.",
        scale=(0.0, 100.0),
    )
    yield Metric(
        f"{dot}facc",
        right,
        subset=scope,
        about=f"Percentage of figures{scope_phrase} with every question right.",
        group="figure",
        scale=(0.0, 100.0),
    )
    yield Metric(
        f"{dot}qacc",
        right,
        subset=scope,
        about=f"Percentage of question pairs{scope_phrase} right for every figure.",
        group="pair",
        scale=(0.0, 100.0),
    )
    for level, figures in (("easy", "original"), ("hard", "edited")):
        unit = "question pairs" if by_pair else "questions"
        yield Metric(
            f"{dot}{level}_aacc",
            right,
            subset=f"{bar}{level}",
            about=f"Percentage of {unit}{scope_phrase} about {figures} figures answered right.",
            group=by_pair,
            scale=(0.0, 100.0),
        )


def _consistency(scope: str) -> tuple[Metric, ...]:
    """The metrics of whole figures, and the causes to which errors are attributed."""
    dot = f"{scope}." if scope else ""
    return (
        Metric(
            f"{dot}figures_inconsistent",
            # Tallies of a group are shares of it: what is neither all right nor all wrong is mixed.
            of=_percent(lambda t: t["n"] - t["right"] - t["wrong"], "n"),
            better="lower",
            subset=scope,
            about="Percentage of figures with some questions right and some wrong.",
            group="figure",
            scale=(0.0, 100.0),
        ),
        Metric(
            f"{dot}figures_wrong",
            _percent("wrong", "n"),
            "lower",
            scope,
            about="Percentage of figures with every question wrong.",
            group="figure",
            scale=(0.0, 100.0),
        ),
        Metric(
            f"{dot}figure_score",
            lambda t: ratio(t["figure_share"], t["figures"]),
            subset=scope,
            about="Mean over figures of the share of their questions answered right.",
            scale=(0.0, 1.0),
        ),
        _cause_metric(scope, "lh", "language hallucination"),
        _cause_metric(scope, "vi", "visual illusion"),
        _cause_metric(scope, "mixed", "either of the two"),
    )


def _cause_metric(scope: str, name: str, cause: str) -> Metric:
    dot = f"{scope}." if scope else ""
    return Metric(
        f"{dot}{name}",
        _percent(name, "diagnosed"),
        "neither",
        scope,
        about=f"Percentage of the diagnosed errors put down to {cause}.",
        scale=(0.0, 100.0),
    )


# --- result files ---

# Result files as the release writes them: the questions with a model's answers and, once judged,
# the judge's checks.

_FIELDS = {"category", "subcategory", "figure_id", "question_id", "model_prediction"}
# Not inside a word: `vs` ends no name such as "canvas".
_HALF = re.compile(r"(?i)[-_ ]?(?<![a-z0-9])v[ds](?![a-z0-9])")
"""The part of a file's name by which the two halves of a result differ."""
_OF_THE_RELEASE = "hallusion_output_model"
"""The release's name for every result, whichever respondent and judge gave it."""


def is_result(path: Path) -> bool:
    """Whether a file, or every JSON file in a folder, is a list of the release's records with a
    model's answers.
    """
    files = files_in(path, ".json")
    return bool(files) and all(map(_is_result, files))


def question_key(record: Mapping[str, object], location: str) -> str:
    """The id of an item: the release names a question by five fields and has no id."""
    return "_".join(str(required_field(record, name, location)) for name in KEYS)


def check_field(record: Mapping[str, object]) -> str:
    """The field of a judge's check, which the release names after the field of the answer."""
    return next(filter(methodcaller("endswith", "_gpt_check"), record), "gpt4v_output_gpt_check")


def _is_result(path: Path) -> bool:
    if path.suffix != ".json":
        return False
    try:
        records = read_records(path)
    except DataError:
        return False
    return bool(records) and set(records[0]) >= _FIELDS


def judged_rows(path: Path, words: Mapping[str, str]) -> list[Row]:
    """The checks of one file; a check that `words` does not know is kept as it is."""
    # the files of VD and VS are halves of one result, under one respondent
    stem = _HALF.sub("", path.stem)
    if stem == _OF_THE_RELEASE:
        stem = ""
    rows = []
    for location, record in located_records(path):
        field = check_field(record)
        check = "" if record.get(field) is None else str(record[field]).strip()
        # a check that is none of the three is kept, and says nothing
        judgement = JudgeOutput(mark=check)
        if check in words:
            consistency = {"1": ["same"], "0": ["different"]}.get(str(record.get("same")), [])
            judgement = JudgeOutput({"judge": (words[check], *consistency)})
        answer = None
        if record.get("model_prediction") is not None:
            answer = Response(str(record["model_prediction"]))
        rows.append(
            Row(
                place=location,
                judgement=judgement,
                ids=(question_key(record, location),),
                own_ids=True,
                question=str(required_field(record, "question", location)),
                stem=stem,
                answer=answer,
            )
        )
    return rows


# --- oddities of the released file ---

# The oddities of HallusionBench's released file, counted from it.


def text_only(item: Item) -> bool:
    """Whether the question is asked without a figure, as with figure 0 of a visual supplement
    set.
    """
    return item.part == "VS" and item.meta["figure"] == "0"


def figure_of(item: Item) -> tuple[str, str]:
    """What a figure is known by: its set, and its number in it."""
    return item.cluster, str(item.meta["figure"])


def _has_bare_reference(item: Item) -> bool:
    """Whether a reference answer is no more than yes or no."""
    return re.fullmatch(r"\s*(?:yes|no)\.?\s*", item.meta["details"], re.IGNORECASE) is not None


def find_oddities(form: Form) -> Iterable[Finding]:
    """The findings beyond those that every benchmark is checked for."""
    items = form.items
    yield Finding(
        "types-are-ours",
        "the release has no hallucination types: its eight subcategories are mapped to six of the"
        " eight types",
        len(items),
    )
    yield from finding(
        "wh-question",
        "{n} questions ask with 'which' and are labelled yes or no",
        items=asking(items, r"(?i)(?:^|, )which (?:country|state|month)\b"),
    )
    yield from finding(
        "whether",
        "{n} questions open with 'Whether' and have no auxiliary to negate",
        items=asking(items, "Whether "),
    )
    yield from finding("spelling", "{n} questions say 'Accroding'", asking(items, "ccroding"))
    bare_items = list(filter(_has_bare_reference, items))
    yield from finding(
        "bare-reference",
        "{n} reference answers are no more than yes or no",
        items=bare_items,
    )
    yield from finding(
        "no-reference",
        "{n} reference answers are 'No answer'",
        items=[i for i in items if i.meta["details"].strip().lower() == "no answer"],
    )
    yield from finding(
        "text-only", "{n} questions have no picture", [i for i in items if i.image is None]
    )
    yield from finding(
        "instruction",
        "{n} questions carry an instruction how to answer behind them",
        items=[i for i in items if "?" in i.prompt and i.prompt.rpartition("?")[2].strip()],
    )
    yield from _pairs(form)
    yield from finding(
        "twin",
        "{n} questions have a twin about the same figure that differs in a word or two and has the"
        " other answer",
        _twins(form),
    )


def _pairs(form: Form) -> Iterable[Finding]:
    pairs: dict[str, list[Item]] = group_by(form.items, lambda item: item.meta["pair"])
    worded_differently = []
    single = []
    for pair, members in pairs.items():
        if len(set(map(attrgetter("prompt"), members))) > 1:
            worded_differently.append(pair)
        if len(members) == 1:
            single.append(pair)
    yield from finding(
        "pair-wording",
        sentence=f"{{n}} of {len(pairs)} question pairs are worded differently across figures",
        items=worded_differently,
    )
    yield from finding(
        "single-pair",
        "{n} question pairs have one figure only",
        items=single,
    )
    figures = set(map(figure_of, filterfalse(text_only, form.items)))
    keys = {(cluster.partition("_")[2], figure) for cluster, figure in figures}
    yield Finding(
        "category-collision",
        f"{len(figures)} figures; keyed by the subcategory without VD or VS they are {len(keys)},"
        " as ocr stands in both",
        len(figures) - len(keys),
    )


def _twins(form: Form) -> list[Item]:

    def alike(a: Item, b: Item) -> bool:
        # difflib's share of equal text: a word or two of a question may differ.
        return difflib.SequenceMatcher(None, a.prompt, b.prompt).ratio() > 0.85

    def has_twin(item: Item, items: Sequence[Item]) -> bool:
        return any(
            candidate.target != item.target and alike(item, candidate) for candidate in items
        )

    twins: list[Item] = []
    for items in group_by(form.items, figure_of).values():
        twins += [item for item in items if has_twin(item, items)]
    return twins
