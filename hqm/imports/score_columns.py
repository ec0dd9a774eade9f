"""Which columns of a table are scores, and which way they point."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from itertools import filterfalse

from hqm.errors import AnswerError
from hqm.files.records import name_fields
from hqm.imports import row as fields
from hqm.imports.intake import KNOWN_COLUMNS, Intake
from hqm.imports.layouts import Record, cell_texts, cells_of, first_row, heading_words
from hqm.imports.row import answers_in
from hqm.imports.score_cells import SCORES, number


def numeric_columns(records: Sequence[Record], chosen_columns: Mapping[str, str]) -> list[str]:
    """The columns of numbers that hold no other field of a row, the column `score` first."""
    other_columns = KNOWN_COLUMNS.union(chosen_columns.values()) - {"score"}
    names = [
        name
        for name in first_row(records)
        if name not in other_columns and is_numeric(records, name)
    ]
    # False sorts before True: `score` is first, and the others keep their order.
    return sorted(names, key=lambda name: name != "score")


def find_scores(
    records: Sequence[Record], chosen_columns: Mapping[str, str], intake: Intake
) -> list[str]:
    """The columns of scores.

    It is the column that was said, else `score` and every other column of numbers beside the fields
    of a row.
    """
    from hqm.imports.scales import check_numbers

    if not records:
        return []
    if "score" in chosen_columns:
        # The user's word decides, so that a cell that is no number is an error there, and no other
        # column.
        check_numbers(records, chosen_columns["score"], intake.path, intake.numbers)
        return [chosen_columns["score"]]
    first = records[0]
    telling_fields = (*fields.RESPONDENTS, *answers_in(first), "score")
    if not chosen_columns and first.keys().isdisjoint(telling_fields):
        return []
    numeric = _without_answers(records, numeric_columns(records, chosen_columns))
    # beside answers, a number may be anything of the question or of the answer
    has_answers = bool(answers_in(first)) or "answer" in chosen_columns
    if has_answers and "target" in chosen_columns:
        return []  # the user says what the answers are compared with
    called_scores = [name for name in first if heading_words(str(name)) in SCORES]
    _check_score_names(records, called_scores, intake)
    for name in called_scores:
        check_numbers(records, name, intake.path, intake.numbers)
    item = chosen_columns.get("item", "")
    # People's labels are what scores are compared with, unless there is nothing else.
    scored = [name for name in numeric if not has_labels(name)]
    scores = _named_scores(records, scored, item, has_answers, intake.path)
    has_keys = has_answers and bool(fields.names_in(first, fields.KEYS))
    if scores or has_keys or len(scored) == len(numeric):
        return scores
    return _named_scores(records, numeric, item, has_answers, intake.path)


def has_labels(column: str) -> bool:
    """Return whether the name of a column is that of labels by people.

    >>> has_labels("Human score"), has_labels("human2"), has_labels("humanities")
    (True, True, False)
    """
    return heading_words(column).partition("_")[0].rstrip("0123456789") == "human"


def _check_score_names(
    records: Sequence[Mapping[str, object]], called_scores: Sequence[str], intake: Intake
) -> None:
    """Refuse records where the score has another name than in the first: it would be missing.

    Raises
    ------
    AnswerError
        A record lacks the score of the first, and has one of another or of a misspelt name.
    """
    first = first_row(records)
    # of many records, few differ in their names
    for names in dict.fromkeys(map(tuple, records)):
        for name in filterfalse(set(names).__contains__, called_scores):
            columns = [column for column in names if column not in first]
            rivals = [column for column in columns if heading_words(str(column)) in SCORES]
            rivals += get_close_matches(name, columns, 1, 0.8)
            if rivals:
                index = list(map(tuple, records)).index(names)
                raise AnswerError(
                    f"it has {rivals[0]!r} where the first record has {name!r}",
                    location=f"{intake.path}: record {intake.numbers[index]}",
                    remedy="Give the score one name.",
                )


def _named_scores(
    records: Sequence[Mapping[str, object]],
    columns: Sequence[str],
    item: str,
    has_answers: bool,
    path: str,
) -> list[str]:
    """The columns of numbers that may be scores, those that are called so first.

    Raises
    ------
    AnswerError
        No column is called a score, and several that are of words or of other scales may be it.
    """
    scores = [name for name in columns if _is_score_name(name, has_answers)]
    called = [name for name in scores if _SCORE.search(heading_words(name))]
    others = [name for name in scores if name not in called]
    if not called:
        _check_uncalled(records, others, path)
    # a column that is called a score leaves no need of words, nor of one that is not called so and
    # may be a difficulty or a number of frames
    if called:
        others = [
            name
            for name in others
            if not _is_of_items(records, name, item) and not _is_of_words(records, name)
        ]
    called.sort(key=lambda name: heading_words(name) not in SCORES)
    return [*called, *others]


def _check_uncalled(
    records: Sequence[Mapping[str, object]], columns: Sequence[str], path: str
) -> None:
    """Refuse several columns that are not called scores, unless they are ratings on one scale."""
    scales: set[tuple[float, ...]] = set()
    for name in columns:
        cells = map(number, cells_of(records, name))
        values = [value for value in cells if value is not None]
        scales.add((min(values), max(values)) if values else ())
    if len(columns) > 1 and (len(scales) > 1 or _is_of_words(records, columns[0])):
        raise AnswerError(
            f"the columns {name_fields(columns)} may each be the score",
            location=path,
            remedy=f"Say which: --columns score={columns[0]}.",
        )


def _is_of_words(records: Sequence[Mapping[str, object]], column: str) -> bool:
    """Return whether a column says yes and no, or true and false, in words."""
    return any(map(str.isalpha, _words_of(records, column)))


def _is_of_items(records: Sequence[Mapping[str, object]], column: str, item_column: str) -> bool:
    """Return whether a column that is not called a score says the same of every answer to an item,
    as a difficulty or a number of frames does.
    """
    cells: dict[str, set[str]] = {}
    names = (item_column,) if item_column else fields.IDS
    for record in records:
        cells.setdefault("".join(fields.ids_in(record, names)), set()).add(str(record.get(column)))
    return len(cells) < len(records) and set(map(len, cells.values())) == {1}


def _is_score_name(name: str, has_answers: bool) -> bool:
    """Return whether a column of numbers is one of scores; beside answers, by its name only."""
    plain = heading_words(name)
    return not NO_SCORE.search(plain) and (not has_answers or bool(_SCORE.search(plain)))


_PROPERTIES = (
    r"(?:seeds?|epochs?|runs?|trials?|temperature|top_[pk]|(?:max_|n_|num_)?(?:new_)?tokens"
    r"|tokens_(?:in|out)|latency|duration|elapsed|seconds|time(?:stamp)?|cost|usd|price"
    r"|log_?probs?|confidence|steps?|retr(?:y|ies)|attempts?|gpu|worker|(?:n|num)_frames|unnamed:?"
    r"|length|n_chars|params|parameters|year|date|width|height|index|rank|batch)"
)
PROPERTY = re.compile(
    rf"(?:{_PROPERTIES}|[gu]?uid|levels?|(?:n_|num_)\w+|votes?"
    r"|(?:max|min|full)_(?:scores?|points|marks))"
)
"""What a whole column of numbers is called that says how an answer was given, or who gave it."""
NO_SCORE = re.compile(rf"(?:^|_){_PROPERTIES}(?:_|$)|^{PROPERTY.pattern}$")
"""What the columns of numbers are called that say how an answer was given, not how good it is."""
_SCORE = re.compile(
    r"^(?:scores?|acc|accuracy|f1|bleu|rouge|cider|meteor|rating)(?:_|-?\d|$)"
    r"|(?:^|_)(?:scores?|rating|acc(?:uracy)?|f1|bleu|rouge(?:_?[l\d])?|cider|meteor|em|anls|wer"
    r"|cer|exact|match|correct(?:ness)?|right|hit|true_false|iou|reward)(?:@?\d+)?$"
)
"""What the columns of numbers are called that say how good an answer is."""
_LOWER = re.compile(
    r"(?:^|_)(?:is_)?(?:hallucinat(?:ed|ions?|ion_(?:rate|score|count))|errors?|error_(?:rate"
    r"|count)"
    r"|wer|cer|harmful|incorrect|wrong|mistakes?|fail(?:ed|ures?)?|loss|perplexity|mae|mse|rmse"
    r"|edit_distance|unfaithful|unsafe|toxicity|chair(?:_?[is])?|hal_rate)$"
)
"""What scores are called of which lower is better."""
# "no_errors" may be their number, and "no_error" says that there is none.
_DENIED = re.compile(r"(?:^|_)(?:not|non|without|no(?=_\w*[^s]$))_(?:is_)?(?P<mark>\w+)$")
_GOOD = re.compile(r"correct|right|accurate|faithful|grounded|safe|match|hit")


def is_lower_better(name: str) -> bool:
    """Whether a column of scores is called so that lower is better.

    >>> is_lower_better("not_correct"), is_lower_better("not_hallucinated")
    (True, False)
    """
    words = heading_words(name)
    if denied := _DENIED.search(words):
        return bool(_GOOD.fullmatch(denied["mark"]))
    return bool(_LOWER.search(words))


def _words_of(records: Sequence[Mapping[str, object]], column: str) -> set[str]:
    """What the cells of a column say, in lower case; empty ones are left out."""
    return {text.strip().lower() for text in cell_texts(records, column) if text}


def _without_answers(records: Sequence[Mapping[str, object]], names: Sequence[str]) -> list[str]:
    """The columns that may be scores: those called so, and those of other words than the keys'."""
    key_columns = fields.names_in(records[0], fields.KEYS)
    keys = _words_of(records, key_columns[0]) if key_columns else set()
    return [
        name
        for name in names
        if _SCORE.search(heading_words(name)) or not _are_answers(_words_of(records, name), keys)
    ]


def _are_answers(words: set[str], keys: set[str]) -> bool:
    """Whether a column of words such as yes and no holds answers: the keys are the same words."""
    return bool(keys) and words <= keys and all(map(str.isalpha, words))


def is_numeric(records: Sequence[Mapping[str, object]], column: str) -> bool:
    """Whether every cell of a column that is not empty is a number or truth, and one is."""
    from hqm.imports.scales import is_missing, is_number

    filled = list(filterfalse(is_missing, cells_of(records, column)))
    return bool(filled) and all(map(is_number, filled))
