"""What came back: the stored answers to a benchmark's forms, and the score matrix that they
make.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hqm.administration.asks import Asks
from hqm.administration.assignment import StoredRespondent
from hqm.administration.existence import was_put
from hqm.benchmark.adapter import Adapter
from hqm.benchmark.interface import Benchmark
from hqm.scoring.alike import Verdicts
from hqm.scoring.filling import MatrixBuilder, texts_read
from hqm.scoring.matrix import ScoreMatrix
from hqm.signature import digest_all
from hqm.text import SHORT
from hqm.types import Cell, Form, Response, Row, State

_UNSEEN = 0.05
"""How much of a probability a server may leave open."""


class Answers:
    """Reads the answers to asks from their store."""

    def __init__(self, asks: Asks) -> None:
        self.asks, self.store = asks, asks.store
        self._scored: list[tuple[Benchmark, Form, Verdicts]] = []
        # one value for all copies of a short answer: most of a large store's answers are a few
        # words
        self._same: dict[tuple[str, State, str], Response] = {}

    def at(self, resolution: str) -> Answers:
        """The answers to the same asks with pictures of another resolution."""
        if resolution == self.asks.resolution:
            return self
        other = Answers(self.asks.at(resolution))
        other._scored = self._scored
        return other

    def responses(
        self, benchmark: Benchmark, form: Form, respondent: StoredRespondent, run: int
    ) -> list[Response | None]:
        """The responses of one respondent to one form, item by item; None where there is none."""
        same, responses = self._same, list[Response | None]()
        for row in self._rows(benchmark, form, respondent, run):
            if row is None:
                responses.append(None)
                continue
            key = row[:3]
            response = same.get(key)
            if response is None:
                response = Response(*key)
                if len(response.text) <= SHORT:
                    same[key] = response
            responses.append(response)
        return responses

    def by_respondent(
        self, benchmark: Benchmark, form: Form, respondents: Sequence[StoredRespondent], run: int
    ) -> dict[str, list[Response | None]]:
        """The responses of several respondents to one form: respondent -> its responses, item by
        item.
        """
        return {who.name: self.responses(benchmark, form, who, run) for who in respondents}

    def by_answer(
        self, benchmark: Benchmark, form: Form, respondents: Sequence[StoredRespondent], run: int
    ) -> dict[tuple[str, str], Response]:
        """(respondent, item) -> the response, of those that there are."""
        rows = self.by_respondent(benchmark, form, respondents, run)
        return {
            (name, item.id): response
            for name, row in rows.items()
            for item, response in zip(form.items, row, strict=True)
            if response is not None
        }

    def probabilities(
        self, benchmark: Benchmark, form: Form, respondent: StoredRespondent, run: int
    ) -> list[float | None]:
        """The probability that each answer was right, from the first token's; None where it was not
        recorded.

        What is neither yes nor no, nor an option's letter, counts as wrong. A probability that a
        server's list of tokens leaves open by more than .05 is not known.
        """
        details = self.store.details(respondent.number, run, "p")
        if not details:
            return [None] * len(form.items)
        probabilities: list[float | None] = []
        for item, number in zip(
            form.items, self.asks.numbers(benchmark, form, respondent.live), strict=True
        ):
            detail = details.get(number, {})
            p, unseen = detail.get("p", {}), detail.get("p_unseen", 0.0)
            value = p.get(str(item.target)) if isinstance(p, Mapping) else None
            known = isinstance(unseen, (int, float)) and unseen <= _UNSEEN
            probabilities.append(
                float(value) if known and isinstance(value, (int, float)) else None
            )
        return probabilities

    def details(
        self, benchmark: Benchmark, form: Form, respondent: StoredRespondent, run: int
    ) -> list[Mapping[str, Any]]:
        """What was measured of each answer of one respondent to one form, item by item; empty where
        there is none.
        """
        kept = self.store.details(respondent.number, run)
        if not kept:
            return [{}] * len(form.items)
        return [
            kept.get(number, {}) for number in self.asks.numbers(benchmark, form, respondent.live)
        ]

    def matrix(
        self, benchmark: Benchmark, cell: Cell, form: Form, respondents: Sequence[StoredRespondent]
    ) -> ScoreMatrix:
        """The answers of one administration, scored by the benchmark's rule."""
        builder = MatrixBuilder(
            cell,
            form,
            benchmark.verdict,
            benchmark.subsets,
            benchmark.groupings,
            None if type(benchmark).relate is Adapter.relate else benchmark.relate,
            self._verdicts(benchmark, form),
        )
        hashes = []
        for respondent in respondents:
            rows = self.at(cell.resolution)._rows(benchmark, form, respondent, cell.run)
            texts = texts_read(rows)
            if texts:  # the same bytes, joined in one call
                hashes.append(digest_all(["ok " + "\0ok ".join(texts)]))
            else:
                hashes.append(
                    digest_all(["" if row is None else f"{row[1]} {row[0]}" for row in rows])
                )
            builder.add(respondent.name, rows, texts)
        return builder.build(digest_all(hashes))

    def _verdicts(self, benchmark: Benchmark, form: Form) -> Verdicts:
        """The verdicts on answers to a form that were made before."""
        for scorer, of, verdicts in self._scored:
            if scorer is benchmark and of is form:
                return verdicts
        self._scored.append(
            (benchmark, form, Verdicts(form.items, benchmark.verdict, benchmark.alike))
        )
        return self._scored[-1][2]

    def _rows(
        self, benchmark: Benchmark, form: Form, respondent: StoredRespondent, run: int
    ) -> list[Row | None]:
        rows = self.store.answer_rows(respondent.number, run)
        if not was_put(self.asks, benchmark, form, respondent, run, rows.keys()):
            return [None] * len(form.items)
        numbers = self.asks.numbers(benchmark, form, respondent.live)
        # most respondents answered just these questions, which the store numbered in the order of
        # the items
        return list(rows.values() if list(rows) == numbers else map(rows.get, numbers))
