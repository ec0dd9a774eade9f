"""A store as JSON lines or Parquet, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from hqm.errors import DataError, StoreError, UsageError
from hqm.files.parquet import pyarrow_library
from hqm.files.records import read_records, take
from hqm.store.database import Ask, Store
from hqm.types import Judgement, Response

KINDS = ("answer", "image", "judgement", "record")
_COLUMNS = (
    "kind", "respondent", "identity", "prompt", "image", "image_digest", "ask", "run", "attempt", "state", "text", "reason",
    "detail", "time", "benchmark", "judge", "form", "item", "label", "reply", "record",
)  # fmt: skip


def export_store(store: Store, path: Path) -> int:
    """Write everything in a store; the number of rows.

    The suffix says the format: `.jsonl` or `.parquet`. Rows stand in one order whatever order they came in, so that equal
    stores give equal files.
    """
    rows = list(_rows(store))
    if path.suffix == ".jsonl":
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps({k: v for k, v in row.items() if v is not None}, ensure_ascii=False) + "\n")
    elif path.suffix == ".parquet":
        pa = pyarrow_library()
        path.parent.mkdir(parents=True, exist_ok=True)
        integers, numbers = ("run", "attempt"), ("time", "label")
        kind = {
            **dict.fromkeys(_COLUMNS, pa.string()),
            **dict.fromkeys(integers, pa.int64()),
            **dict.fromkeys(numbers, pa.float64()),
        }
        pa.parquet.write_table(pa.Table.from_pylist(rows, schema=pa.schema(list(kind.items()))), path)
    else:
        raise UsageError(
            f"{path.suffix or 'no suffix'} is no export format", remedy="Write to a .jsonl or .parquet file."
        )
    return len(rows)


def _rows(store: Store) -> Iterator[dict[str, Any]]:
    empty: dict[str, Any] = dict.fromkeys(_COLUMNS)
    who = {number: (name, json.dumps(identity, sort_keys=True)) for number, name, identity in store.respondents()}
    asks = {row["id"]: row for row in store.rows("asks")}
    answers = sorted(
        store.rows("answers"), key=lambda r: (who[r["respondent"]], r["run"], asks[r["ask"]]["digest"], r["attempt"])
    )
    for row in answers:
        name, identity = who[row["respondent"]]
        ask = asks[row["ask"]]
        yield {
            **empty,
            **{key: row[key] for key in ("run", "attempt", "state", "text", "reason", "detail", "time")},
            **{key: ask[key] for key in ("prompt", "image", "image_digest")},
            "kind": "answer",
            "respondent": name,
            "identity": identity,
            "ask": ask["digest"],
        }
    for row in sorted(store.rows("images"), key=lambda r: (r["benchmark"], r["id"])):
        fields = {"benchmark": row["benchmark"], "image": row["name"], "image_digest": row["digest"]}
        yield {**empty, **fields, "kind": "image"}
    for row in sorted(store.rows("judgements"), key=lambda r: tuple(str(r[k]) for k in r if k != "id")):
        yield {**empty, **{key: value for key, value in row.items() if key != "id"}, "kind": "judgement"}
    for row in store.rows("records"):
        yield {**empty, "kind": "record", "record": row["record"], "time": row["time"]}


def import_store(path: Path, store: Store) -> int:
    """Add an export to a store; the number of answers that were new.

    An answer that the store has already (same respondent, question, run and attempt) is left as it is.
    """
    new = 0
    groups: dict[tuple[str, str, int], list[tuple[int, Ask, Response, float]]] = {}
    for i, row in enumerate(_read(path), 1):
        place = f"{path}: record {i}"
        kind = take(row, "kind", place)
        if kind == "answer":
            key = (take(row, "respondent", place), take(row, "identity", place), int(take(row, "run", place)))
            ask = Ask(take(row, "ask", place), take(row, "prompt", place), row.get("image"), row.get("image_digest"))
            detail = json.loads(row.get("detail") or "{}")
            response = Response(take(row, "text", place), take(row, "state", place), row.get("reason") or "", detail)
            groups.setdefault(key, []).append(
                (int(row.get("attempt") or 0), ask, response, float(row.get("time") or 0))
            )
        elif kind == "judgement":
            label = row.get("label")
            judgement = Judgement(
                row["judge"], row["item"], row["respondent"], label, row.get("reply") or "", row.get("reason") or ""
            )
            store.judge(row["benchmark"], row["form"], int(row["run"]), [judgement], row["time"])
        elif kind == "image":
            store.remember_images(row["benchmark"], {row["image"]: row["image_digest"]})
        elif kind == "record":
            store.record(json.loads(row["record"]), row["time"])
        else:
            raise DataError(f"the kind {kind!r} is unknown", place=place, remedy=f"It is one of {', '.join(KINDS)}.")
    for (name, identity, run), answers in groups.items():
        number = store.respondent(name, json.loads(identity))
        new += store.restore(number, run, answers)
    return new


def _read(path: Path) -> Iterable[dict[str, Any]]:
    if path.suffix != ".parquet":
        return read_records(path)
    pa = pyarrow_library()
    try:
        return list(pa.parquet.read_table(path).to_pylist())
    except (pa.ArrowInvalid, OSError) as error:
        raise StoreError(f"it is no Parquet file: {error}", place=str(path)) from None
