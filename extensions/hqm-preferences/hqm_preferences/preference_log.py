"""Files of pairwise preferences: which of two models' answers a judge or a person preferred."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hqm.errors import AnswerError, HQMError
from hqm.files.records import first_record, name_fields, read_records
from hqm.imports.answer_table import columns_by_field
from hqm.imports.layouts import heading_words
from hqm.imports.log_file import files_in
from hqm.imports.row import IDS, JUDGES, QUESTIONS, RUNS, first_text

FIELDS: Mapping[str, tuple[str, ...]] = {
    "model_a": ("model_a", "model_1", "model_left", "generator_1", "model1", "modela"),
    "model_b": ("model_b", "model_2", "model_right", "generator_2", "model2", "modelb"),
    "winner": ("winner", "preference", "outcome", "preferred", "choice", "verdict"),
    "swapped": ("swapped", "swap", "is_swapped"),
    "judge": (*JUDGES, "annotator", "judged_by", "rater"),
    "question": (*IDS, *QUESTIONS),
    "turn": ("turn", "round"),
    "run": RUNS,
}
"""The fields of a preference, and the names of columns that are taken for each."""

_GAMES = ("g1_winner", "g2_winner")
"""MT-bench's columns: the first game shows the first model first, and the second game the other."""
_SHARES = ("winner_model_a", "winner_model_b", "winner_tie")
"""A column an outcome, of which one is 1."""

_FIRST = frozenset(("model_a", "model_1", "a", "1", "1.0", "first", "left", "a>b", "a>>b"))
_SECOND = frozenset(("model_b", "model_2", "b", "2", "2.0", "second", "right", "b>a", "b>>a"))
_TIES = frozenset(
    (
        "tie",
        "ties",
        "tied",
        "draw",
        "equal",
        "same",
        "both",
        "both_good",
        "tie_(both_good)",
        "c",
        "1.5",
        "0.5",
        "a=b",
        "tie_(bothbad)",
        "tie_(both_bad)",
        "bothbad",
        "both_bad",
        "neither",
    )
)
_NO_VERDICTS = frozenset(("", "error", "none", "null", "nan", "n/a", "invalid", "unparsed"))
_BAD = ("bad", "neither")
_YES = frozenset(("true", "1", "yes", "swapped", "ba", "b", "b_first", "model_b", "reversed"))
_NO = frozenset(("false", "0", "no", "original", "ab", "a", "a_first", "model_a", ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class Preference:
    """One judgement of which of two answers to a question is better."""

    first: str
    """The model whose answer was shown first."""
    second: str
    outcome: float
    """1 where the first won, 0 where the second did, 0.5 for a tie."""
    question: str
    turn: str = ""
    judge: str = ""
    is_bad_tie: bool = False
    """Whether it is a tie because both answers are bad."""


@dataclass(frozen=True, slots=True)
class PreferenceLog:
    """The preferences of files, and what a reader must know of them."""

    preferences: tuple[Preference, ...]
    notes: tuple[str, ...] = ()
    n_unread: int = 0
    """Rows without a verdict: the judge failed, or the verdict was not read."""
    question_column: str = ""
    """The column that names the question; empty where none does, so that each row is one."""
    columns: Mapping[str, str] = field(default_factory=dict)


def holds_preferences(path: Path, columns: str | None = None) -> bool:
    """Whether a file, or each file of a folder, has rows with two models and a winner."""
    if columns is None:
        field_columns = set()
    else:
        field_columns = {pair.split("=")[0] for pair in columns.split(",")}
    if field_columns & {"model_a", "model_b", "winner"}:
        return True
    if field_columns - FIELDS.keys():
        return False  # fields of another kind of log are named: the scores of items
    files = files_in(path)
    return bool(files) and all(_is_preference_file(file) for file in files)


def _is_preference_file(path: Path) -> bool:
    try:
        records = first_record(path)
    except HQMError:
        return False
    if not records:
        return False
    names = {heading_words(str(name)) for name in records[0]}
    has_models = all(names & set(FIELDS[name]) for name in ("model_a", "model_b"))
    has_winner = names & set(FIELDS["winner"]) or names >= set(_GAMES) or names >= set(_SHARES[:2])
    return bool(has_models and has_winner)


def read_preferences(paths: Iterable[Path], columns: str | None = None) -> PreferenceLog:
    """Read the preferences of files and folders.

    Parameters
    ----------
    columns
        FIELD=COLUMN,... where the names of the columns do not say what they are.

    Raises
    ------
    AnswerError
        A row lacks a model, or its winner is none of the two and no tie.
    """
    field_columns = columns_by_field([columns] if columns else [], dict.fromkeys(FIELDS))
    preferences: list[Preference] = []
    n_unread = n_same = 0
    used: dict[str, str] = {}
    for path in (file for source in paths for file in files_in(source)):
        records = read_records(path)
        names = _columns_of(records, field_columns, path)
        used |= names
        for number, record in enumerate(records, 1):
            location = f"{path}: record {number}"
            for game, winner in _games(record, names):
                preference = _preference(record, names, game, winner, location)
                if preference is None:
                    n_unread += 1
                elif preference.first == preference.second:
                    n_same += 1
                else:
                    preferences.append(preference)
    notes = [f"read as {', '.join(f'{field}={name}' for field, name in used.items())}"]
    if n_same:
        notes.append(f"{n_same} rows compare a model with itself, and are left out")
    if n_unread:
        notes.append(f"{n_unread} rows have no verdict, and are left out")
    if "question" not in used:
        notes.append("no column names the question, so that every row counts as one")
    if not preferences:
        raise AnswerError("no row has a preference between two models", location=str(path))
    return PreferenceLog(tuple(preferences), tuple(notes), n_unread, used.get("question", ""), used)


def _columns_of(
    records: Sequence[Mapping[str, Any]], field_columns: Mapping[str, str], path: Path
) -> dict[str, str]:
    """Return field -> column of a file's rows."""
    if records:
        headings = {heading_words(str(name)): str(name) for name in records[0]}
    else:
        headings = {}
    columns: dict[str, str] = {}
    for name, synonyms in FIELDS.items():
        column = field_columns.get(name) or next(
            (headings[synonym] for synonym in synonyms if synonym in headings), ""
        )
        if column and records and column not in records[0]:
            raise AnswerError(
                f"there is no column {column!r} for the field {name!r}",
                location=str(path),
                remedy=f"The columns are {name_fields(records[0])}.",
            )
        if column:
            columns[name] = column
    lacking = [name for name in ("model_a", "model_b") if name not in columns]
    has_winner = "winner" in columns or bool({_GAMES[0], _SHARES[0]} & headings.keys())
    if lacking or not has_winner:
        fault = " and ".join([*lacking, *([] if has_winner else ["winner"])])
        raise AnswerError(
            f"no column is {fault}",
            location=str(path),
            remedy="Say which: --columns model_a=NAME,model_b=NAME,winner=NAME.",
        )
    return columns


def _games(record: Mapping[str, Any], columns: Mapping[str, str]) -> list[tuple[int, str]]:
    """Return (1 where the second model was shown first, else 0; the winner) of each judgement in
    a row.
    """
    if _GAMES[0] in record:
        return [
            (game, str(record[name] or "")) for game, name in enumerate(_GAMES) if name in record
        ]
    if "winner" in columns:
        value = record.get(columns["winner"])
        return [(0, "" if value is None else str(value))]
    outcomes = ("model_a", "model_b", "tie")
    winners = [
        outcome
        for outcome, name in zip(outcomes, _SHARES, strict=True)
        if str(record.get(name)).lower() in ("1", "1.0", "true")
    ]
    return [(0, winners[0] if len(winners) == 1 else "")]


def _preference(
    record: Mapping[str, Any],
    columns: Mapping[str, str],
    game: int,
    winner: str,
    location: str,
) -> Preference | None:
    """Return the preference of a row; None where it has no verdict."""
    models = [_text(record, columns, name) for name in ("model_a", "model_b")]
    if not all(models):
        raise AnswerError(
            "it names no two models",
            location=location,
            remedy="Write both models into every row, or remove the row.",
        )
    plain = winner.strip().lower().strip("[]").replace(" ", "_")
    if plain in _NO_VERDICTS:
        return None
    if winner.strip() in models:  # a model may be called "a", "first" or "tie"
        outcome = float(winner.strip() == models[0])
    elif plain in _TIES:
        outcome = 0.5
    elif plain in _FIRST or plain in _SECOND:
        outcome = float(plain in _FIRST)
    else:
        raise AnswerError(
            f"the winner {winner!r:.60} is none of the two models and no tie",
            location=location,
            remedy="Write model_a, model_b, tie, or tie (bothbad).",
        )
    if game == 1 or _is_swapped(record, columns, models, location):
        models = models[::-1]
        outcome = 1.0 - outcome
    return Preference(
        first=models[0],
        second=models[1],
        outcome=outcome,
        question=_text(record, columns, "question") or location,
        turn=_text(record, columns, "turn"),
        judge=_text(record, columns, "judge"),
        is_bad_tie=outcome == 0.5 and any(word in plain for word in _BAD),
    )


def _text(record: Mapping[str, Any], columns: Mapping[str, str], name: str) -> str:
    """Return a field of a row as a text; a list as its members."""
    value = record.get(columns.get(name, ""))
    if isinstance(value, (list, tuple)):
        return " ".join(map(str, value))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if name in columns:
        return first_text(record, [columns[name]]).strip()
    return ""


def _is_swapped(
    record: Mapping[str, Any], columns: Mapping[str, str], models: Sequence[str], location: str
) -> bool:
    """Whether the second model of a row was shown first."""
    if "swapped" not in columns:
        return False
    value = record.get(columns["swapped"])
    text = "" if value is None else str(value).strip()
    plain = text.lower().replace(" ", "_")
    if text == models[1] or plain in _YES:
        return True
    if text == models[0] or plain in _NO:
        return False
    raise AnswerError(
        f"the column {columns['swapped']!r} holds {text!r:.40}, which says no order",
        location=location,
        remedy="Write true where the second model was shown first, and false elsewhere.",
    )
