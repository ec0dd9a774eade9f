"""Export of a store to JSON lines or Parquet, and import.

An export begins with a row of the kind `export`: the number of rows that follow, and a hash over
all of them. Every other row has its own hash. A row that was changed, removed or added by hand is
therefore noticed on import.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

from hqm.errors import DataError, StoreError, UsageError
from hqm.files.parquet import pyarrow_library
from hqm.files.records import read_records
from hqm.files.whole import atomic_file
from hqm.signature import canonical_json, digest, digest_all
from hqm.store.database import Ask, Store, ask
from hqm.text import storable
from hqm.types import STATES, JsonObject, Judgement, Response

# The whole export is read and checked before any row is stored: every row, its own hash, and the
# hash over all rows.

_DIGEST = re.compile(r"b2:[0-9a-f]{24}")
_UNCHANGED_REMEDY = "Import the file as it was exported."
_REQUIRED_FIELDS: Mapping[str, tuple[str, ...]] = {
    "export": ("rows", "whole"),
    "answer": ("respondent", "identity", "prompt", "ask", "run", "state", "text"),
    "administration": ("respondent", "identity", "benchmark", "form", "form_digest", "run"),
    "image": ("benchmark", "image", "image_digest"),
    "judgement": ("benchmark", "judge", "form", "run", "respondent", "item", "time"),
    "record": ("record", "time"),
}
"""Kind of row -> its required fields."""
_OPTIONAL_FIELDS: Mapping[str, tuple[str, ...]] = {
    "answer": ("image", "image_digest", "attempt", "reason", "detail", "time"),
    "administration": ("sight", "time"),
    "judgement": ("label", "reply", "reason"),
}
"""Kind of row -> its optional fields."""
_MAX_COUNT = 2**31
"""Upper limit of runs, attempts and rows."""


_RunKey = tuple[str, str, int]
"""A respondent's name and identity, and the run."""


@dataclass
class ExportedStore:
    """The checked rows of an export; every answer and judgement with its location in the file."""

    answers: dict[_RunKey, list[tuple[str, int, Ask, Response, float]]] = field(
        default_factory=dict
    )
    administrations: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict)
    images: list[tuple[str, str, str]] = field(default_factory=list)
    judgements: dict[tuple[str, str, int, float], list[tuple[str, Judgement]]] = field(
        default_factory=dict
    )
    records: list[tuple[JsonObject, float]] = field(default_factory=list)
    signed: bool = False
    """Whether the rows carry hashes."""
    has_all_administrations: bool = False
    """Whether the exported store had recorded every administration."""


def read_export(path: Path) -> ExportedStore:
    """Read and check all rows of an export.

    Raises
    ------
    DataError
        A row is broken, was changed after the export, is missing, or contradicts another.
    """
    exported = ExportedStore()
    asks: dict[str, Ask] = {}
    first_locations: dict[tuple[object, ...], str] = {}
    rows = [(f"{path}: record {number}", row) for number, row in enumerate(_read(path), 1)]
    if not rows:
        raise DataError(
            "it holds no row",
            location=str(path),
            remedy="Name a file that `hqm export STORE --to FILE` wrote.",
        )
    for location, row in _verified(rows, exported):
        kind = row["kind"]
        if kind == "answer":
            _add_answer(row, location, exported, asks, first_locations)
        elif kind == "administration":
            key = (row["respondent"], row["identity"])
            exported.administrations.setdefault(key, []).append(dict(row))
        elif kind == "image":
            exported.images.append((row["benchmark"], row["image"], row["image_digest"]))
        elif kind == "judgement":
            _add_judgement(row, location, exported, first_locations)
        else:
            exported.records.append((json.loads(row["record"]), float(row["time"])))
    return exported


def _read(path: Path) -> Iterable[dict[str, Any]]:
    if path.suffix != ".parquet":
        return read_records(path)
    pa = pyarrow_library()
    try:
        rows = pa.parquet.read_table(path).to_pylist()
    except FileNotFoundError:
        raise DataError(
            "there is no such file", location=str(path), remedy="Correct the path."
        ) from None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise StoreError(f"it is no Parquet file: {error}", location=str(path)) from None
    return list(map(_without_nulls, rows))


def _verified(
    rows: list[tuple[str, dict[str, Any]]], exported: ExportedStore
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows between the heads, each checked against its hash, all against their head's."""
    start = 0
    completeness = []
    # Exports of HQM 0.1.0 begin without a head, and have no hashes.
    exported.signed = rows[0][1].get("kind") == "export"
    while start < len(rows):
        location, head = rows[start]
        if not exported.signed:
            if "digest" in head or head.get("kind") == "export":
                raise DataError(
                    "the first row of the export is missing",
                    location=location,
                    remedy=_UNCHANGED_REMEDY,
                )
            _check_row(head, location)
            yield location, head
            start += 1
            continue
        if head.get("kind") != "export":
            raise DataError(
                "there are more rows than were exported",
                location=location,
                remedy=_UNCHANGED_REMEDY,
            )
        _check_row(head, location)
        export_digest = head.pop("digest", None)
        body = rows[start + 1 : start + 1 + head["rows"]]
        if len(body) < head["rows"]:
            raise DataError(
                f"{head['rows']} rows were exported, and {len(body)} are there",
                location=location,
                remedy=_UNCHANGED_REMEDY,
            )
        digests = []
        for row_location, row in body:
            row_digest = row.pop("digest", None)
            if row_digest != _digest_of(row, row_location):
                raise DataError(
                    "the row was changed after the export",
                    location=row_location,
                    remedy=_UNCHANGED_REMEDY,
                )
            digests.append(row_digest)
            _check_row(row, row_location)
            yield row_location, row
        if export_digest != digest_all([digest(head), *digests]):
            raise DataError(
                "rows were exchanged or reordered after the export",
                location=location,
                remedy=_UNCHANGED_REMEDY,
            )
        completeness.append(bool(head["whole"]))
        # Several exports may stand one behind another in a file, each with its head.
        start += 1 + head["rows"]
    exported.has_all_administrations = exported.signed and all(completeness)


def _digest_of(row: Mapping[str, object], location: str) -> str:
    try:
        return digest(row)
    except ValueError:  # NaN, an infinity, or half a surrogate pair
        raise DataError(
            "it has a number or a character that no export has",
            location=location,
            remedy=_UNCHANGED_REMEDY,
        ) from None


def _check_row(row: Mapping[str, object], location: str) -> None:
    """Check that a row has the fields of its kind, with values of the right type."""
    kind = row.get("kind")
    if not isinstance(kind, str) or kind not in _REQUIRED_FIELDS:
        kinds = ", ".join(name for name in _REQUIRED_FIELDS if name != "export")
        message = "the field 'kind' is missing"
        if "kind" in row:
            message = f"the kind {kind!r:.40} is unknown"
        raise DataError(message, location=location, remedy=f"It is one of {kinds}.")
    allowed = {"kind", "digest", *_REQUIRED_FIELDS[kind], *_OPTIONAL_FIELDS.get(kind, ())}
    for name in _REQUIRED_FIELDS[kind]:
        if name not in row:
            raise DataError(
                f"the field {name!r} is missing", location=location, remedy=_UNCHANGED_REMEDY
            )
    for name, value in row.items():
        if value is None and name in _OPTIONAL_FIELDS.get(kind, ()):
            continue
        if name not in allowed:
            fault = f"no {kind} has such a field"
        else:
            fault = _value_fault(name, value)
        if fault:
            raise DataError(
                f"the field {name!r} is {value!r:.60}: {fault}",
                location=location,
                remedy=_UNCHANGED_REMEDY,
            )


def _value_fault(name: str, value: object) -> str:
    """The fault of a field's value; empty if it has none."""
    rules = _RULES.get(name, (*_TEXT, _FILLED))
    for is_valid, message in rules:
        if not is_valid(value):
            return message
    return ""


def _is_object(text: str) -> bool:
    """Whether a text is a JSON object that can be stored, or nothing."""
    try:
        value = json.loads(text or "{}")
        canonical_json(value).encode()
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict)


def _is_number(value: object, low: float, high: float) -> bool:
    # JSON's true is no number, although Python's is.
    return isinstance(value, (int, float)) and type(value) is not bool and low <= value <= high


_Rule = tuple[Callable[[Any], bool], str]
_COUNT: _Rule = (
    lambda value: type(value) is int and 0 <= value < _MAX_COUNT,
    "a count from 0 on is needed",
)
_TIME: _Rule = (lambda value: _is_number(value, -1e15, 1e15), "a time in seconds is needed")
_SHARE: _Rule = (
    lambda value: _is_number(value, 0, 1),
    "a share from 0 to 1, or null, is needed",
)
_TEXT: tuple[_Rule, ...] = (
    (lambda value: isinstance(value, str), "a text is needed"),
    (lambda value: storable(value) is value, "it has a character that cannot be stored"),
)
_FILLED: _Rule = (bool, "it is empty")
_STATE: _Rule = (
    lambda value: value in STATES and value != "missing",
    f"a state is one of {', '.join(STATES[:-1])}",
)
_HASH: _Rule = (lambda value: bool(_DIGEST.fullmatch(value)), "it is no content hash")
_OBJECT: _Rule = (_is_object, "it is not a JSON object")
_RULES: Mapping[str, tuple[_Rule, ...]] = {
    **dict.fromkeys(("run", "attempt", "rows", "whole"), (_COUNT,)),
    **dict.fromkeys(("text", "reason", "reply", "prompt", "sight", "image", "image_digest"), _TEXT),
    **dict.fromkeys(("identity", "record"), (*_TEXT, _FILLED, _OBJECT)),
    **dict.fromkeys(("ask", "form_digest"), (*_TEXT, _FILLED, _HASH)),
    "detail": (*_TEXT, _OBJECT),
    "state": (*_TEXT, _FILLED, _STATE),
    "time": (_TIME,),
    "label": (_SHARE,),
}
"""Field -> the checks of its values, each with the message of its failure; all other fields are
texts that are not empty. A picture's hash of the first versions may be of another algorithm.
"""


def _add_answer(
    row: Mapping[str, Any],
    location: str,
    exported: ExportedStore,
    asks: dict[str, Ask],
    first_locations: dict[tuple[object, ...], str],
) -> None:
    """Add a row of the kind `answer`, whose hash is that of its question."""
    question = Ask(row["ask"], row["prompt"], row.get("image"), row.get("image_digest"))
    unsalted = ask(question.prompt, question.image, question.image_digest)
    # The asks of recorded answers and of replies with a schema are salted, and the row does not
    # hold the salt; its own hash vouches for it.
    may_be_salted = exported.signed or json.loads(row["identity"]).get("kind") == "recorded"
    first = asks.setdefault(question.digest, question)
    is_contradicted = (first.prompt, first.image_digest) != (question.prompt, question.image_digest)
    if is_contradicted or (unsalted.digest != question.digest and not may_be_salted):
        raise DataError(
            f"the hash {question.digest} is not that of what is asked ({question.prompt!r:.60})",
            location=location,
            remedy=_UNCHANGED_REMEDY,
        )
    key = (row["respondent"], row["identity"], row["run"])
    attempt = row.get("attempt") or 0
    _check_unique(("answer", *key, question.digest, attempt), location, first_locations)
    detail = json.loads(row.get("detail") or "{}")
    response = Response(row["text"], row["state"], row.get("reason") or "", detail)
    timestamp = float(row.get("time") or 0)
    answers = exported.answers.setdefault(key, [])
    answers.append((location, attempt, question, response, timestamp))


def _add_judgement(
    row: Mapping[str, Any],
    location: str,
    exported: ExportedStore,
    first_locations: dict[tuple[object, ...], str],
) -> None:
    """Add a row of the kind `judgement`."""
    key = (row["benchmark"], row["form"], row["run"])
    judged = (row["judge"], row["respondent"], row["item"])
    _check_unique(("judgement", *key, *judged), location, first_locations)
    judgement = Judgement(
        judge=row["judge"],
        item=row["item"],
        respondent=row["respondent"],
        label=row.get("label"),
        reply=row.get("reply") or "",
        reason=row.get("reason") or "",
    )
    exported.judgements.setdefault((*key, float(row["time"])), []).append((location, judgement))


def _check_unique(
    key: tuple[object, ...], location: str, first_locations: dict[tuple[object, ...], str]
) -> None:
    if key in first_locations:
        raise DataError(
            f"the same {key[0]} stands at {first_locations[key].rpartition(': ')[2]} already",
            location=location,
            remedy="Keep one of the two.",
        )
    first_locations[key] = location


_COLUMNS = (
    "kind",
    "respondent",
    "identity",
    "prompt",
    "image",
    "image_digest",
    "ask",
    "run",
    "attempt",
    "state",
    "text",
    "reason",
    "detail",
    "time",
    "benchmark",
    "judge",
    "form",
    "item",
    "label",
    "reply",
    "record",
    "sight",
    "form_digest",
    "rows",
    "whole",
    "digest",
)


def export_store(store: Store, path: Path) -> int:
    """Write all rows of a store to a file; their number, without the first one (`export`).

    The suffix of the path is the format: `.jsonl` or `.parquet`. The order of the rows does not
    depend on the order in which they were stored, so that equal stores give equal files.
    """
    rows = list(map(_without_nulls, _rows(store)))
    digests = list(map(digest, rows))
    for row, row_digest in zip(rows, digests, strict=True):
        row["digest"] = row_digest
    count = len(rows)
    head = {"kind": "export", "rows": count, "whole": int(store.has_all_administrations)}
    rows.insert(0, {**head, "digest": digest_all([digest(head), *digests])})
    if path.suffix == ".jsonl":
        with atomic_file(path) as temporary, temporary.open("w", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    elif path.suffix == ".parquet":
        pa = pyarrow_library()
        column_types = {
            **dict.fromkeys(_COLUMNS, pa.string()),
            **dict.fromkeys(("run", "attempt", "rows", "whole"), pa.int64()),
            **dict.fromkeys(("time", "label"), pa.float64()),
        }
        table = pa.Table.from_pylist(rows, schema=pa.schema(list(column_types.items())))
        with atomic_file(path) as temporary:
            pa.parquet.write_table(table, temporary)
    else:
        raise UsageError(
            f"{path.suffix or 'no suffix'} is no export format",
            remedy="Write to a .jsonl or .parquet file.",
        )
    return count


def _without_nulls(row: Mapping[str, object]) -> dict[str, object]:
    """The fields of a row that have a value."""
    return {name: value for name, value in row.items() if value is not None}


def _pick(row: Mapping[str, object], *names: str) -> dict[str, object]:
    """Some fields of a row."""
    return {name: row[name] for name in names}


def _rows(store: Store) -> Iterator[dict[str, object]]:
    """Yield the rows of an export, in an order that their content determines."""
    respondents: dict[int, tuple[str, str]] = {}
    for number, name, identity in store.respondents():
        respondents[number] = (name, json.dumps(identity, sort_keys=True))
    yield from _answer_rows(store, respondents)
    yield from _administration_rows(store, respondents)
    for row in sorted(store.rows("images"), key=itemgetter("benchmark", "id")):
        yield {
            "benchmark": row["benchmark"],
            "image": row["name"],
            "image_digest": row["digest"],
            "kind": "image",
        }
    judgements = list(store.rows("judgements"))
    for row in judgements:
        # The number of a row depends on the order in which rows were stored.
        del row["id"]
    for row in sorted(judgements, key=lambda row: tuple(map(str, row.values()))):
        yield {**row, "kind": "judgement"}
    for row in store.rows("records"):
        yield {"kind": "record", "record": row["record"], "time": row["time"]}


def _answer_rows(
    store: Store, respondents: Mapping[int, tuple[str, str]]
) -> Iterator[dict[str, object]]:
    """Yield the rows of the kind `answer`."""
    asks = {row["id"]: row for row in store.rows("asks")}

    def content(row: Mapping[str, Any]) -> tuple[tuple[str, str], int, str, int]:
        digest = asks[row["ask"]]["digest"]
        return (respondents[row["respondent"]], row["run"], digest, row["attempt"])

    for row in sorted(store.rows("answers"), key=content):
        name, identity = respondents[row["respondent"]]
        ask = asks[row["ask"]]
        yield {
            **_pick(row, "run", "attempt", "state", "text", "reason", "detail", "time"),
            **_pick(ask, "prompt", "image", "image_digest"),
            "kind": "answer",
            "respondent": name,
            "identity": identity,
            "ask": ask["digest"],
        }


def _administration_rows(
    store: Store, respondents: Mapping[int, tuple[str, str]]
) -> Iterator[dict[str, object]]:
    """Yield the rows of the kind `administration`."""
    fields = itemgetter("benchmark", "form", "run", "sight", "digest")

    def content(row: Mapping[str, Any]) -> tuple[Any, ...]:
        return (respondents[row["respondent"]], *fields(row))

    for row in sorted(store.rows("administrations"), key=content):
        name, identity = respondents[row["respondent"]]
        yield {
            **_pick(row, "benchmark", "form", "run", "sight", "time"),
            "kind": "administration",
            "respondent": name,
            "identity": identity,
            "form_digest": row["digest"],
        }


def _say(sentence: str) -> None:
    print(f"hqm: {sentence}", file=sys.stderr, flush=True)


def import_store(path: Path, store: Store, say: Callable[[str], None] = _say) -> int:
    """Add an export to a store; the number of new answers.

    The whole file is read and checked before anything is stored. An answer that the store has
    already (same respondent, question, run and attempt) stays unchanged; where the two differ,
    `say` is called with a sentence about it, and no further attempt at the question is added.

    Raises
    ------
    DataError
        A row is broken, was changed after the export, or is missing.
    """
    exported = read_export(path)
    if not exported.signed:
        say(
            f"{path}: it has no hashes, as HQM 0.1.0 wrote exports, so a change made by hand cannot"
            " be noticed."
        )
    conflicting = _conflicting_answers(exported, store)
    conflicts = [
        *chain.from_iterable(conflicting.values()),
        *_conflicting_judgements(exported, store),
    ]
    if conflicts:
        examples = "; ".join(conflicts[:3]) + ("; ..." if len(conflicts) > 3 else "")
        say(
            f"{path}: {len(conflicts)} rows differ from what the store has already; the store's"
            f" were kept ({examples})."
        )
    new = 0
    # The store could no longer say that what is not recorded never took place.
    if store.has_all_administrations and exported.answers and not exported.has_all_administrations:
        store.mark_administrations_missing()
    for key, answers in exported.answers.items():
        name, identity, run = key
        number = store.respondent(name, json.loads(identity))
        # the last attempt counts: one from the export would take the place of the answer kept
        added = [answer[1:] for answer in answers if (key, answer[2].digest) not in conflicting]
        new += store.restore(number, run, added)
    for (name, identity), administrations in exported.administrations.items():
        number = store.respondent(name, json.loads(identity))
        for administration in administrations:
            store.record_administration(
                number,
                administration["benchmark"],
                form=administration["form"],
                digest=administration["form_digest"],
                run=administration["run"],
                sight=administration.get("sight") or "",
                timestamp=administration.get("time") or 0.0,
            )
    for benchmark, image, image_digest in exported.images:
        store.remember_images(benchmark, {image: image_digest}, replace_rows=False)
    for (benchmark, form, run, timestamp), judgements in exported.judgements.items():
        store.judge(benchmark, form, run, [judgement for _, judgement in judgements], timestamp)
    for record, timestamp in exported.records:
        store.record(record, timestamp)
    return new


def _conflicting_answers(
    exported: ExportedStore, store: Store
) -> dict[tuple[_RunKey, str], list[str]]:
    """The locations of the answers that differ from the store's in state or text, by the run and
    the digest of the question.
    """
    numbers = {}
    for name, identity, run in exported.answers:
        number = store.find_respondent(name, json.loads(identity))
        if number is not None:
            numbers[name, identity, run] = number
    if not numbers:
        return {}
    runs = {(number, run) for (_, _, run), number in numbers.items()}
    digests = {row["id"]: row["digest"] for row in store.rows("asks")}
    stored_answers = {}
    for row in store.rows("answers"):
        if (row["respondent"], row["run"]) in runs:
            key = (row["respondent"], row["run"], digests[row["ask"]], row["attempt"])
            stored_answers[key] = (row["state"], row["text"])
    conflicts: dict[tuple[_RunKey, str], list[str]] = {}
    for run_key, number in numbers.items():
        for location, attempt, question, response, _ in exported.answers[run_key]:
            stored = stored_answers.get((number, run_key[2], question.digest, attempt))
            if stored is not None and stored != (response.state, response.text):
                conflicts.setdefault((run_key, question.digest), []).append(location)
    return conflicts


def _conflicting_judgements(exported: ExportedStore, store: Store) -> list[str]:
    """The locations of the judgements that differ from the store's in label or reply."""
    conflicts = []
    stored_judgements: dict[tuple[str, str, str, int], dict[tuple[str, str], Judgement]] = {}
    for (benchmark, form, run, _), judgements in exported.judgements.items():
        for location, judgement in judgements:
            key = (benchmark, judgement.judge, form, run)
            if key not in stored_judgements:
                stored_judgements[key] = {(j.respondent, j.item): j for j in store.judgements(*key)}
            stored = stored_judgements[key].get((judgement.respondent, judgement.item))
            if stored is None:
                continue
            if (stored.label, stored.reply) != (judgement.label, judgement.reply):
                conflicts.append(location)
    return conflicts
