"""Verdicts that many items share: a short answer is scored once for all items that are scored
alike. Many long answers, which no two items share, are scored on all cores.
"""

from __future__ import annotations

import hashlib
import os
import signal
import sys
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from hqm.scoring.parsers import Parser
from hqm.signature import digest
from hqm.text import SHORT
from hqm.types import Item, Response, Row, Verdict

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


_MIN_CHARS_ON_CORES = 1_000_000
"""From how many characters on answers are scored on all cores: a third of a second's work."""
_MAX_CORES = 16

ScoreItem = Callable[[int, Response], Verdict]
"""(index of the item, answer) -> verdict."""


def score_on_cores(
    score: ScoreItem, answers: Sequence[tuple[int, Response]], n_cores: int | None = None
) -> list[Verdict | None]:
    """Score answers on all cores, in copies of this process.

    Parameters
    ----------
    score
        The rule.
    answers
        The index of an item, and an answer to it.
    n_cores
        On how many cores; as many as this process may use if None.

    Returns
    -------
    list of (Verdict or None)
        None for answers whose process failed: scored here, they tell why.
    """
    if n_cores is None:
        n_cores = _usable_cores()
    # in the order of the items, every second answer may be of the dearer kind
    order = np.random.default_rng(0).permutation(len(answers)).tolist()
    shares = [order[start::n_cores] for start in range(n_cores)]
    verdicts: dict[int, Verdict | None] = {}
    workers: list[_Worker] = []
    try:
        with suppress(OSError):  # no memory, or too many processes
            for share in shares[1:]:
                workers.append(_Worker(score, [answers[i] for i in share]))  # noqa: PERF401
        verdicts.update((i, score(*answers[i])) for i in shares[0])
        for share, worker in zip(shares[1:], workers, strict=False):
            verdicts.update(zip(share, worker.verdicts(), strict=True))
    finally:
        for worker in workers:
            worker.close()
    return [verdicts.get(i) for i in range(len(answers))]


def _usable_cores() -> int:
    """On how many cores answers are scored: one where a process cannot be copied."""
    import multiprocessing as mp

    # elsewhere a copy is not safe, and a daemon may have no processes of its own
    if sys.platform != "linux" or mp.current_process().daemon:
        return 1
    return min(len(os.sched_getaffinity(0)), _MAX_CORES)


class _Worker:
    """A copy of this process that scores some answers and ends."""

    def __init__(self, score: ScoreItem, answers: Sequence[tuple[int, Response]]) -> None:
        import multiprocessing as mp

        self._n_answers = len(answers)
        context = mp.get_context("fork")
        self._reader, writer = context.Pipe(duplex=False)
        # what is copied need not be sent: a rule may hold what no other process can be given
        self._process = context.Process(
            target=_send_verdicts, args=(score, answers, writer), daemon=True
        )
        self._process.start()
        writer.close()

    def verdicts(self) -> list[Verdict | None]:
        """Wait for the verdicts; None in place of each where the copy failed."""
        with suppress(EOFError, OSError):
            return list(self._reader.recv())
        return [None] * self._n_answers

    def close(self) -> None:
        """End the process, whether or not it is done."""
        self._reader.close()
        self._process.kill()
        self._process.join()


def _send_verdicts(
    score: ScoreItem, answers: Sequence[tuple[int, Response]], writer: Connection
) -> None:
    """Score answers in a copy of the process, which prints nothing and leaves Ctrl-C to the
    other one.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # the first process scores the answers again, and gives the error its place
    with suppress(Exception):
        writer.send([score(*answer) for answer in answers])


class ScoringKey(NamedTuple):
    """All of an item that decides the verdict on an answer: two items with equal values give the
    same one.

    An answer that is read against the question's words (`Parser.needs_question`) is the exception:
    of it, the reading decides in place of the question's `kind`.
    """

    decides: Hashable
    """What the rule takes from the item beside the reading, such as its target."""
    reader: Parser
    negated: bool
    kind: Hashable

    def read(self, text: str, item: Item) -> Hashable:
        """Return the parser's reading of an answer to one item."""
        return self.reader(text, item.prompt, self.negated)


class VerdictArchive(Protocol):
    """Verdicts of earlier commands, by the content hashes of the item and of the answer."""

    def get(self, item: str, answer: str) -> Verdict | None:
        """The verdict on an answer to an item; equal verdicts are one object."""

    def add(self, item: str, answer: str, verdict: Verdict) -> None:
        """Note a new verdict."""


def answer_digest(response: Response) -> str:
    """The content hash of all that a rule sees of an answer."""
    text = f"{response.state}\0{response.reason}\0{response.text}"
    # a log may hold half a pair of surrogates, which is no text but still an answer
    raw = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(raw, digest_size=_DIGEST_SIZE).hexdigest()


_DIGEST_SIZE = 12
DIGEST_CHARS = 2 * _DIGEST_SIZE
"""The length of an answer's content hash."""


class VerdictCache:
    """The verdicts on answers to one form, by text: the administrations of the form that are scored
    alike share them.

    Parameters
    ----------
    items
        The items of the form.
    score
        The rule.
    scoring_key
        Item -> the key of its class; None where each item is scored by itself.
    archive
        The verdicts of earlier commands, where they are kept.
    """

    def __init__(
        self,
        items: Sequence[Item],
        score: Callable[[Item, Response], Verdict],
        scoring_key: Callable[[Item], ScoringKey | None] = lambda _: None,
        archive: VerdictArchive | None = None,
    ) -> None:
        self.items = items
        self.score = score
        self.archive = archive
        numbers: dict[ScoringKey, int] = {}
        self._class_examples: list[tuple[ScoringKey, Item]] = []
        class_numbers = []
        for item in items:
            key = scoring_key(item)
            if key is not None and key not in numbers:
                numbers[key] = len(numbers)
                self._class_examples.append((key, item))
            # numbers in place of keys, so that classes of a million items are compared in one array
            class_numbers.append(-1 if key is None else numbers[key])
        self.classes: npt.NDArray[np.int64] = np.array(class_numbers, dtype=np.int64)
        """(items,): the number of each item's class; -1 where it has none."""
        self._by_reading: dict[tuple[Hashable, ...], Verdict] = {}
        self._by_item: dict[tuple[int, object], Verdict] = {}
        self._item_digests: dict[int, str] = {}

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self._class_examples)

    def class_verdict(self, text: str, number: int) -> Verdict | None:
        """The verdict on a short answer to any item of a class; None where the answer is read
        against the words of each item.
        """
        key, item = self._class_examples[number]
        # two items of a class differ in their words, and this answer is read against them
        if key.reader.needs_question(text):
            return None
        return self._cached_verdict((text, number), item, text)

    def item_reading_verdict(self, text: str, index: int) -> Verdict:
        """The verdict on a short answer that is read against the item's own words."""
        return self._archived_verdict(index, Response(text), self._score_reading)

    def _score_reading(self, index: int, response: Response) -> Verdict:
        """Score an answer that is read once for each item, and scored once for each reading."""
        item = self.items[index]
        number = int(self.classes[index])
        text = response.text
        reading = self._class_examples[number][0].read(text, item)
        return self._cached_verdict((text, number, reading), item, text)

    def item_verdict(self, index: int, response: Response) -> Verdict:
        """The verdict on an answer to an item that is scored by itself."""
        # the state belongs to the key: a truncated answer is settled otherwise than a whole one
        key: tuple[int, object] = (index, response[:2])
        if len(response.text) > SHORT:
            # of a long answer, which is seldom given twice, the hash alone is remembered
            key = (index, answer_digest(response))
        verdict = self._by_item.get(key)
        if verdict is None:
            verdict = self._archived_verdict(index, response, self._score_item)
            self._by_item[key] = verdict
        return verdict

    def score_ahead(self, answers: Iterable[tuple[int, Response | Row]]) -> None:
        """Score answers that will be asked for one by one, on all cores, where that saves time.

        Parameters
        ----------
        answers
            The index of an item, and an answer to it.
        """
        long_answers = [pair for pair in answers if len(pair[1][0]) > SHORT]
        if sum(len(answer[0]) for _, answer in long_answers) < _MIN_CHARS_ON_CORES:
            return
        new = {}
        for index, answer in long_answers:
            response = Response(*answer[:3])
            key = (index, answer_digest(response))
            if key not in self._by_item and not self._is_archived(*key):
                new[key] = response
        # what an earlier command scored leaves less to do, and no process is copied for little
        if sum(len(response.text) for response in new.values()) < _MIN_CHARS_ON_CORES:
            return
        pairs = [(index, response) for (index, _), response in new.items()]
        for key, verdict in zip(new, score_on_cores(self._score_item, pairs), strict=True):
            if verdict is not None:
                self._by_item[key] = verdict
                if self.archive is not None:
                    self.archive.add(self._item_digest(key[0]), key[1], verdict)

    def _is_archived(self, index: int, digest_of_answer: str) -> bool:
        """Whether an earlier command scored an answer to an item."""
        if self.archive is None:
            return False
        return self.archive.get(self._item_digest(index), digest_of_answer) is not None

    def _score_item(self, index: int, response: Response) -> Verdict:
        return self.score(self.items[index], response)

    def _archived_verdict(
        self, index: int, response: Response, score: Callable[[int, Response], Verdict]
    ) -> Verdict:
        """The verdict of an earlier command, or the one that is given now."""
        if self.archive is None:
            return score(index, response)
        # hashes and not texts: the archive outlives the command and holds every answer ever scored
        key = (self._item_digest(index), answer_digest(response))
        verdict = self.archive.get(*key)
        if verdict is None:
            verdict = score(index, response)
            self.archive.add(*key, verdict)
        return verdict

    def _item_digest(self, index: int) -> str:
        if index not in self._item_digests:
            self._item_digests[index] = digest(self.items[index].to_dict())
        return self._item_digests[index]

    def _cached_verdict(self, key: tuple[Hashable, ...], item: Item, text: str) -> Verdict:
        """The verdict that was given for a key before, or that the rule gives now."""
        verdict = self._by_reading.get(key)
        if verdict is None:
            verdict = self._by_reading[key] = self.score(item, Response(text))
        return verdict
