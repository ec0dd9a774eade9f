"""A store as JSON lines or Parquet, and back.

An export begins with a row of the kind `export`: how many rows follow, and a hash over all of them.
Every other row has a hash of its own. A row that was changed, removed or added by hand is therefore
noticed on import.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hqm.errors import UsageError
from hqm.files.parquet import pyarrow_library
from hqm.signature import digest, digest_all
from hqm.store.database import Store
from hqm.store.incoming import Incoming, read_export
from hqm.types import Judgement

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
    rows = [{key: value for key, value in row.items() if value is not None} for row in _rows(store)]
    signed = [{**row, "digest": digest(row)} for row in rows]
    head = {"kind": "export", "rows": len(rows), "whole": int(store.whole)}
    signed.insert(
        0, {**head, "digest": digest_all([digest(head), *(row["digest"] for row in signed)])}
    )
    if path.suffix == ".jsonl":
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8") as file:
            for row in signed:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    elif path.suffix == ".parquet":
        pa = pyarrow_library()
        path.parent.mkdir(parents=True, exist_ok=True)
        integers, numbers = ("run", "attempt", "rows", "whole"), ("time", "label")
        kind = {
            **dict.fromkeys(_COLUMNS, pa.string()),
            **dict.fromkeys(integers, pa.int64()),
            **dict.fromkeys(numbers, pa.float64()),
        }
        pa.parquet.write_table(
            pa.Table.from_pylist(signed, schema=pa.schema(list(kind.items()))), path
        )
    else:
        raise UsageError(
            f"{path.suffix or 'no suffix'} is no export format",
            remedy="Write to a .jsonl or .parquet file.",
        )
    return len(rows)


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
        for place, attempt, ask, response, _ in incoming.answers[key]:
            before = there.get((number, key[2], ask.digest, attempt))
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
