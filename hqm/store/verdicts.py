"""Verdicts on stored answers, kept in the store, so that what was scored is not scored again.

A verdict is found by its item, its answer and its scorer: by the content of the item, the text and
the state of the answer, and the name of the scorer with the version of its reader and a hash of the
code that scores. Whatever changes one of them is scored anew. Verdicts can be made again from the
answers at any time: those of other code are deleted, `hqm export` leaves them out, and a store that
cannot be written is read without them.
"""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cached_property

from hqm.errors import StoreError
from hqm.scoring.score_cache import DIGEST_CHARS
from hqm.store.database import Store
from hqm.types import Verdict

_FIELDS = ("value", "tally", "state", "read", "reason")


class StoredVerdicts:
    """The verdicts of one scorer on answers to one benchmark.

    Parameters
    ----------
    store
        Where they are kept; one that is open for reading only gives what it has, and keeps nothing.
    benchmark, scorer
        The benchmark's name, and how an answer becomes a verdict, with the reader's version.
    code
        A hash of the code that scores.
    """

    def __init__(self, store: Store, benchmark: str, scorer: str, code: str) -> None:
        self._store = store
        self._key = (benchmark, scorer, code)
        self._new: dict[tuple[str, str], Verdict] = {}
        self._shared: dict[str, Verdict] = {}

    def get(self, item: str, answer: str) -> Verdict | None:
        """The verdict on an answer to an item, by their content hashes; equal verdicts are one
        object.
        """
        return self._verdicts.get((item, answer))

    def add(self, item: str, answer: str, verdict: Verdict) -> None:
        """Note a new verdict, to be kept by `save`."""
        self._verdicts[item, answer] = self._new[item, answer] = verdict

    def save(self) -> None:
        """Keep the new verdicts, all of them or none; a store that cannot be written stays as it
        is.
        """
        batch = _write_batch(self._new)
        if batch is None or self._store.readonly:
            return
        with suppress(StoreError):
            self._store.keep_verdicts(*self._key, batch)
            self._new = {}

    @cached_property
    def _verdicts(self) -> dict[tuple[str, str], Verdict]:
        verdicts: dict[tuple[str, str], Verdict] = {}
        for batch in self._store.verdict_batches(*self._key):
            # A batch that bytes were changed in is made again.
            with suppress(ValueError, TypeError, KeyError, IndexError):
                verdicts |= self._read_batch(batch)
        return verdicts

    def _read_batch(self, text: str) -> dict[tuple[str, str], Verdict]:
        """The verdicts of a batch, by item and answer."""
        batch = json.loads(text)
        verdicts = []
        for row in batch["verdicts"]:
            key = json.dumps(row)
            # Answers are many and verdicts few: a million answers share some dozen objects.
            if key not in self._shared:
                self._shared[key] = Verdict(**dict(zip(_FIELDS, row, strict=True)))
            verdicts.append(self._shared[key])
        items = batch["items"]
        hashes = batch["answers"]
        answers = (hashes[i : i + DIGEST_CHARS] for i in range(0, len(hashes), DIGEST_CHARS))
        rows = zip(batch["item"], answers, batch["verdict"], strict=True)
        return {(items[item], answer): verdicts[verdict] for item, answer, verdict in rows}


def _write_batch(verdicts: dict[tuple[str, str], Verdict]) -> str | None:
    """Verdicts as the text of a batch, each different one once; None where there are none, or one
    has a value that JSON does not have.
    """
    if not verdicts:
        return None
    items: dict[str, int] = {}
    rows: dict[str, int] = {}
    item_numbers = []
    verdict_numbers = []
    answers = []
    try:
        for (item, answer), verdict in verdicts.items():
            # The order of a tally is that of the metrics' columns, and is kept.
            row = json.dumps([getattr(verdict, name) for name in _FIELDS], default=dict)
            item_numbers.append(items.setdefault(item, len(items)))
            verdict_numbers.append(rows.setdefault(row, len(rows)))
            answers.append(answer)
    except (TypeError, ValueError):
        return None
    batch = {
        "items": list(items),
        "item": item_numbers,
        "answers": "".join(answers),
        "verdict": verdict_numbers,
    }
    return json.dumps({**batch, "verdicts": list(map(json.loads, rows))}, separators=(",", ":"))
