"""A store as JSON lines or Parquet, and back.

An export begins with a row of the kind `export`: how many rows follow, and a hash over all of them.
Every other row has a hash of its own. A row that was changed, removed or added by hand is therefore
noticed on import.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hqm.errors import DataError, StoreError, UsageError
from hqm.files.parquet import pyarrow_library
from hqm.files.records import read_records
from hqm.files.whole import whole_file
from hqm.signature import canonical_json, digest, digest_all
from hqm.store.database import Ask, Store, ask
from hqm.text import storable
from hqm.types import STATES, Judgement, Response

# Read and check an export before anything of it is stored: every row, its own hash, and the hash
# over all rows.

_DIGEST = re.compile(r"b2:[0-9a-f]{24}")
_CHANGED = "Import the file as it was exported."
_NEEDED: Mapping[str, tuple[str, ...]] = {
    "export": ("rows", "whole"),
    "answer": ("respondent", "identity", "prompt", "ask", "run", "state", "text"),
    "administration": ("respondent", "identity", "benchmark", "form", "form_digest", "run"),
    "image": ("benchmark", "image", "image_digest"),
    "judgement": ("benchmark", "judge", "form", "run", "respondent", "item", "time"),
    "record": ("record", "time"),
}
"""Kind of row -> the fields that it must have."""
_FURTHER: Mapping[str, tuple[str, ...]] = {
    "answer": ("image", "image_digest", "attempt", "reason", "detail", "time"),
    "administration": ("sight", "time"),
    "judgement": ("label", "reply", "reason"),
}
"""Kind of row -> the fields that it may have as well."""
_MOST = 2**31
"""Runs, attempts and rows stay below this."""


@dataclass
class Incoming:
    """What an export holds, checked; every answer and judgement with its place in the file."""

    answers: dict[tuple[str, str, int], list[tuple[str, int, Ask, Response, float]]] = field(
        default_factory=dict
    )
    administrations: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict)
    images: list[tuple[str, str, str]] = field(default_factory=list)
    judgements: dict[tuple[str, str, int, float], list[tuple[str, Judgement]]] = field(
        default_factory=dict
    )
    records: list[tuple[Any, float]] = field(default_factory=list)
    signed: bool = False
    """Whether the rows carry hashes."""
    whole: bool = False
    """Whether the store that was exported had every administration recorded."""


def read_export(path: Path) -> Incoming:
    """Everything that an export holds.

    Raises
    ------
    DataError
        A row is broken, was changed after the export, is missing, or contradicts another.
    """
    incoming = Incoming()
    asks: dict[str, Ask] = {}
    seen: dict[tuple[Any, ...], str] = {}
    rows = [(f"{path}: record {i}", row) for i, row in enumerate(_read(path), 1)]
    if not rows:
        raise DataError(
            "it holds no row",
            location=str(path),
            remedy="Name a file that `hqm export STORE --to FILE` wrote.",
        )
    for place, row in _verified(rows, incoming):
        kind = row["kind"]
        if kind == "answer":
            _take_answer(row, place, incoming, asks, seen)
        elif kind == "administration":
            incoming.administrations.setdefault((row["respondent"], row["identity"]), []).append(
                dict(row)
            )
        elif kind == "image":
            incoming.images.append((row["benchmark"], row["image"], row["image_digest"]))
        elif kind == "judgement":
            _take_judgement(row, place, incoming, seen)
        else:
            incoming.records.append((json.loads(row["record"]), float(row["time"])))
    return incoming


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
    return [{key: value for key, value in row.items() if value is not None} for row in rows]


def _verified(
    rows: list[tuple[str, dict[str, Any]]], incoming: Incoming
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows but for the heads, in order; each checked against its own hash, and all against that
    of their head.
    """
    at, wholes = 0, []
    incoming.signed = rows[0][1].get("kind") == "export"
    while at < len(rows):
        place, head = rows[at]
        if not incoming.signed:
            if "digest" in head or head.get("kind") == "export":
                raise DataError(
                    "the first row of the export is missing", location=place, remedy=_CHANGED
                )
            _check_row(head, place)
            yield place, head
            at += 1
            continue
        if head.get("kind") != "export":
            raise DataError(
                "there are more rows than were exported", location=place, remedy=_CHANGED
            )
        _check_row(head, place)
        claimed_whole = head.pop("digest", None)
        part = rows[at + 1 : at + 1 + head["rows"]]
        if len(part) < head["rows"]:
            raise DataError(
                f"{head['rows']} rows were exported, and {len(part)} are there",
                location=place,
                remedy=_CHANGED,
            )
        digests = []
        for where, row in part:
            claimed = row.pop("digest", None)
            if claimed != _digest_of(row, where):
                raise DataError(
                    "the row was changed after the export", location=where, remedy=_CHANGED
                )
            digests.append(claimed)
            _check_row(row, where)
            yield where, row
        if claimed_whole != digest_all([digest(head), *digests]):
            raise DataError(
                "rows were exchanged or reordered after the export", location=place, remedy=_CHANGED
            )
        wholes.append(bool(head["whole"]))
        at += 1 + head["rows"]
    incoming.whole = incoming.signed and all(wholes)


def _digest_of(row: Mapping[str, Any], place: str) -> str:
    try:
        return digest(row)
    except ValueError:  # no JSON number, or half of a character
        raise DataError(
            "it has a number or a character that no export has", location=place, remedy=_CHANGED
        ) from None


def _check_row(row: Mapping[str, Any], place: str) -> None:
    """Refuse a row whose fields are not those of its kind, or not of their kind."""
    kind = row.get("kind")
    if not isinstance(kind, str) or kind not in _NEEDED:
        known = ", ".join(name for name in _NEEDED if name != "export")
        what = (
            f"the kind {kind!r:.40} is unknown" if "kind" in row else "the field 'kind' is missing"
        )
        raise DataError(what, location=place, remedy=f"It is one of {known}.")
    allowed = {"kind", "digest", *_NEEDED[kind], *_FURTHER.get(kind, ())}
    for name in _NEEDED[kind]:
        if name not in row:
            raise DataError(f"the field {name!r} is missing", location=place, remedy=_CHANGED)
    for name, value in row.items():
        if value is None and name in _FURTHER.get(kind, ()):
            continue
        wrong = f"no {kind} has such a field" if name not in allowed else _wrong(name, value)
        if wrong:
            raise DataError(
                f"the field {name!r} is {value!r:.60}: {wrong}", location=place, remedy=_CHANGED
            )


def _wrong(name: str, value: Any) -> str:
    """What is wrong with a field's value; empty where nothing is."""
    rules = _RULES.get(name, (*_TEXT, _FILLED))
    return next((what for holds, what in rules if not holds(value)), "")


def _is_object(text: str) -> bool:
    """Whether a text is a JSON object that can be stored, or nothing."""
    try:
        value = json.loads(text or "{}")
        canonical_json(value).encode()
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict)


def _is_number(value: Any, low: float, high: float) -> bool:
    return type(value) in (int, float) and low <= value <= high


_Rule = tuple[Callable[[Any], bool], str]
_COUNT: _Rule = (
    lambda value: type(value) is int and 0 <= value < _MOST,
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
_OBJECT: _Rule = (_is_object, "it is no JSON object")
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
"""Field -> what holds of its values, with what is said where it does not; the others are texts that
hold something. A picture's hash in a store of the first hours may be of another kind than today's.
"""


def _take_answer(
    row: Mapping[str, Any],
    place: str,
    incoming: Incoming,
    asks: dict[str, Ask],
    seen: dict[tuple[Any, ...], str],
) -> None:
    asked = Ask(row["ask"], row["prompt"], row.get("image"), row.get("image_digest"))
    plain = ask(asked.prompt, asked.image, asked.image_digest)
    # recorded answers and replies with a schema are kept apart by more than the row says; the row's
    # own hash vouches for them
    apart = incoming.signed or json.loads(row["identity"]).get("kind") == "recorded"
    first = asks.setdefault(asked.digest, asked)
    if (plain.digest != asked.digest and not apart) or (first.prompt, first.image_digest) != (
        asked.prompt,
        asked.image_digest,
    ):
        raise DataError(
            f"the hash {asked.digest} is not that of what is asked ({asked.prompt!r:.60})",
            location=place,
            remedy=_CHANGED,
        )
    key = (row["respondent"], row["identity"], row["run"])
    attempt = row.get("attempt") or 0
    _once(("answer", *key, asked.digest, attempt), place, seen)
    response = Response(
        row["text"], row["state"], row.get("reason") or "", json.loads(row.get("detail") or "{}")
    )
    incoming.answers.setdefault(key, []).append(
        (place, attempt, asked, response, float(row.get("time") or 0))
    )


def _take_judgement(
    row: Mapping[str, Any], place: str, incoming: Incoming, seen: dict[tuple[Any, ...], str]
) -> None:
    key = (row["benchmark"], row["form"], row["run"])
    _once(("judgement", *key, row["judge"], row["respondent"], row["item"]), place, seen)
    label = row.get("label")
    judgement = Judgement(
        row["judge"],
        row["item"],
        row["respondent"],
        label,
        row.get("reply") or "",
        row.get("reason") or "",
    )
    incoming.judgements.setdefault((*key, float(row["time"])), []).append((place, judgement))


def _once(key: tuple[Any, ...], place: str, seen: dict[tuple[Any, ...], str]) -> None:
    if key in seen:
        raise DataError(
            f"the same {key[0]} stands at {seen[key].rpartition(': ')[2]} already",
            location=place,
            remedy="Keep one of the two.",
        )
    seen[key] = place


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
    """Write everything in a store; the number of rows, the first one (`export`) not counted.

    The suffix says the format: `.jsonl` or `.parquet`. Rows stand in one order whatever order they
    came in, so that equal stores give equal files.
    """
    signed = [
        {key: value for key, value in row.items() if value is not None} for row in _rows(store)
    ]
    for row in signed:
        row["digest"] = digest(row)
    count = len(signed)
    head = {"kind": "export", "rows": count, "whole": int(store.whole)}
    signed.insert(
        0, {**head, "digest": digest_all([digest(head), *(row["digest"] for row in signed)])}
    )
    if path.suffix == ".jsonl":
        with whole_file(path) as part, part.open("w", encoding="utf-8") as file:
            for row in signed:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    elif path.suffix == ".parquet":
        pa = pyarrow_library()
        integers, numbers = ("run", "attempt", "rows", "whole"), ("time", "label")
        kind = {
            **dict.fromkeys(_COLUMNS, pa.string()),
            **dict.fromkeys(integers, pa.int64()),
            **dict.fromkeys(numbers, pa.float64()),
        }
        table = pa.Table.from_pylist(signed, schema=pa.schema(list(kind.items())))
        with whole_file(path) as part:
            pa.parquet.write_table(table, part)
    else:
        raise UsageError(
            f"{path.suffix or 'no suffix'} is no export format",
            remedy="Write to a .jsonl or .parquet file.",
        )
    return count


def _rows(store: Store) -> Iterator[dict[str, Any]]:
    who = {
        number: (name, json.dumps(identity, sort_keys=True))
        for number, name, identity in store.respondents()
    }
    asks = {row["id"]: row for row in store.rows("asks")}
    answers = sorted(
        store.rows("answers"),
        key=lambda r: (who[r["respondent"]], r["run"], asks[r["ask"]]["digest"], r["attempt"]),
    )
    for row in answers:
        name, identity = who[row["respondent"]]
        ask = asks[row["ask"]]
        yield {
            **{
                key: row[key]
                for key in ("run", "attempt", "state", "text", "reason", "detail", "time")
            },
            **{key: ask[key] for key in ("prompt", "image", "image_digest")},
            "kind": "answer",
            "respondent": name,
            "identity": identity,
            "ask": ask["digest"],
        }
    put = [dict(row, who=who[row["respondent"]]) for row in store.rows("administrations")]
    for row in sorted(
        put, key=lambda r: (r["who"], r["benchmark"], r["form"], r["run"], r["sight"], r["digest"])
    ):
        yield {
            **{key: row[key] for key in ("benchmark", "form", "run", "sight", "time")},
            "kind": "administration",
            "respondent": row["who"][0],
            "identity": row["who"][1],
            "form_digest": row["digest"],
        }
    for row in sorted(store.rows("images"), key=lambda r: (r["benchmark"], r["id"])):
        fields = {
            "benchmark": row["benchmark"],
            "image": row["name"],
            "image_digest": row["digest"],
        }
        yield {**fields, "kind": "image"}
    for row in sorted(
        store.rows("judgements"), key=lambda r: tuple(str(r[k]) for k in r if k != "id")
    ):
        yield {**{key: value for key, value in row.items() if key != "id"}, "kind": "judgement"}
    for row in store.rows("records"):
        yield {"kind": "record", "record": row["record"], "time": row["time"]}


def _say(sentence: str) -> None:
    print(f"hqm: {sentence}", file=sys.stderr, flush=True)


def import_store(path: Path, store: Store, say: Callable[[str], None] = _say) -> int:
    """Add an export to a store; the number of answers that were new.

    The whole file is read and checked before anything is stored. What the store has already (same
    respondent, question, run and attempt) is left as it is; where the two differ, a sentence says
    so through `say`.

    Raises
    ------
    DataError
        A row is broken, was changed after the export, or is missing.
    """
    incoming = read_export(path)
    if not incoming.signed:
        say(
            f"{path}: it has no hashes, as HQM 0.1.0 wrote exports, so a change made by hand cannot"
            " be noticed."
        )
    kept = _kept(incoming, store)
    if kept:
        shown = "; ".join(kept[:3]) + ("; ..." if len(kept) > 3 else "")
        say(
            f"{path}: {len(kept)} rows differ from what the store has already; the store's were"
            f" kept ({shown})."
        )
    new = 0
    if store.whole and incoming.answers and not incoming.whole:
        store.not_whole()
    for (name, identity, run), answers in incoming.answers.items():
        number = store.respondent(name, json.loads(identity))
        new += store.restore(number, run, [answer[1:] for answer in answers])
    for (name, identity), administrations in incoming.administrations.items():
        number = store.respondent(name, json.loads(identity))
        for put in administrations:
            form, put_hash, when = put["form"], put["form_digest"], put.get("time") or 0.0
            at = {"run": put["run"], "sight": put.get("sight") or "", "when": when}
            store.administered(number, put["benchmark"], form=form, digest=put_hash, **at)
    for benchmark, image, image_digest in incoming.images:
        store.remember_images(benchmark, {image: image_digest})
    for (benchmark, form, run, when), judgements in incoming.judgements.items():
        store.judge(benchmark, form, run, [judgement for _, judgement in judgements], when)
    for record, when in incoming.records:
        store.record(record, when)
    return new


def _kept(incoming: Incoming, store: Store) -> list[str]:
    """The places of the rows that say something else than the store does about the same answer or
    judgement.
    """
    numbers = {}
    for name, identity, run in incoming.answers:
        number = store.find_respondent(name, json.loads(identity))
        if number is not None:
            numbers[name, identity, run] = number
    wanted = {(number, run) for (_, _, run), number in numbers.items()}
    digests = {row["id"]: row["digest"] for row in store.rows("asks")} if wanted else {}
    there = {
        (row["respondent"], row["run"], digests[row["ask"]], row["attempt"]): (
            row["state"],
            row["text"],
        )
        for row in (store.rows("answers") if wanted else ())
        if (row["respondent"], row["run"]) in wanted
    }
    kept = []
    for key, number in numbers.items():
        for place, attempt, question, response, _ in incoming.answers[key]:
            before = there.get((number, key[2], question.digest, attempt))
            if before is not None and before != (response.state, response.text):
                kept.append(place)
    known: dict[tuple[str, str, str, int], dict[tuple[str, str], Judgement]] = {}
    for (benchmark, form, run, _), judgements in incoming.judgements.items():
        for place, judgement in judgements:
            by = (benchmark, judgement.judge, form, run)
            if by not in known:
                known[by] = {(j.respondent, j.item): j for j in store.judgements(*by)}
            stored = known[by].get((judgement.respondent, judgement.item))
            if stored is not None and (stored.label, stored.reply) != (
                judgement.label,
                judgement.reply,
            ):
                kept.append(place)
    return kept
