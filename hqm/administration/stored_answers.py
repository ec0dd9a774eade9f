"""The stored answers to a benchmark's forms, and their score matrix.

Verdicts that other code made are not used again: a hash stands for the code and files behind them.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from operator import itemgetter
from pathlib import Path
from typing import Any

import hqm.forms.grammar
import hqm.scoring
import hqm.text
import hqm.types
from hqm.administration.asks import Asks, Assignment, StoredRespondent
from hqm.benchmark.adapter import Adapter, Benchmark
from hqm.errors import DesignError, UsageError
from hqm.forms.make_forms import draw_of
from hqm.scoring.matrix import MatrixBuilder, ScoreMatrix, cached_response, readable_texts
from hqm.scoring.score_cache import VerdictCache
from hqm.signature import digest, digest_all, digest_file
from hqm.store.database import Store
from hqm.store.verdicts import StoredVerdicts
from hqm.types import ORIGINAL, PARALLEL, REWORDINGS, Cell, Form, Response, Row, is_scale

_MODULES = (hqm.forms.grammar, hqm.text, hqm.types)
"""What verdicts depend on beside the package of the rules: negated questions, words, types."""
# Tags and lemmas of words in captions come from these: another version may find other objects.
_LIBRARIES = ("HanTa", "lemminflect")

# Whether an administration took place: an answer to a form's question is not enough to say that the
# form was administered.
#
# Equal questions share their answers. A benchmark that asks a question and its negation about one
# picture therefore has some answers to its parallel form as soon as the original form was answered.
# The store records which forms were administered.

_MIN_COMPLETE_SHARE = 0.5
"""The share of the questions of this form alone that must be answered, where no record says that
the form was administered.
"""


def was_administered(
    asks: Asks,
    benchmark: Benchmark,
    form: Form,
    respondent: StoredRespondent,
    run: int,
    answered: Set[int] | None = None,
) -> bool:
    """Whether a form of a benchmark was administered to a respondent in a run.

    A record of exactly this form decides. Where a form of this name but with other questions (fewer
    of them, or corrected ones) was administered, or where the store is older than such records, at
    least half of the questions that only this form asks must be answered, among the items that the
    respondent answered in the original form. Of the original form's first run, any answer is enough
    then. Smaller pictures were shown only where a record says so.

    Parameters
    ----------
    answered
        The numbers of the asks that the respondent answered in this run, where they are known
        already.
    """
    store = asks.store
    if answered is None:
        answered = _answered(store, respondent, run)
    numbers = asks.numbers(benchmark, form, respondent.live)
    # the cheapest test comes first: most forms were never put to most respondents
    if answered.isdisjoint(numbers):
        return False
    sight = asks.sight
    records = store.administrations(respondent.number, benchmark.name)
    if (form.name, form.digest, run, sight) in records:
        return True
    # without the digest: a form of this name whose questions were changed since counts too
    is_recorded = (form.name, run, sight) in map(itemgetter(0, 2, 3), records)
    if not is_recorded and (store.has_all_administrations or asks.resolution):
        return False
    if form.name == ORIGINAL and run == 0 and not asks.resolution:
        return True
    return _is_complete(asks, benchmark, form, respondent, numbers, answered)


def _is_complete(
    asks: Asks,
    benchmark: Benchmark,
    form: Form,
    respondent: StoredRespondent,
    numbers: list[int],
    answered: Set[int],
) -> bool:
    """Whether enough questions that only this form asks are answered."""
    original_numbers = asks.numbers(benchmark, benchmark.original, respondent.live)
    number_of = dict(zip(benchmark.original.by_id, original_numbers, strict=True))
    answered_first = _answered(asks.store, respondent, 0)
    relevant = []
    for item_id, number in zip(form.by_id, numbers, strict=True):
        if number_of.get(item_id) in answered_first:
            relevant.append(number)
    relevant = relevant or numbers
    shared = set() if form.name == ORIGINAL else set(original_numbers)
    # a list: two items with equal questions have one number, and count as two
    unshared = [number for number in relevant if number not in shared]
    if unshared:
        n_answered = sum(key in answered for key in unshared)
        return n_answered >= _MIN_COMPLETE_SHARE * len(unshared)
    return answered >= set(relevant)


def _answered(store: Store, respondent: StoredRespondent, run: int) -> set[int]:
    """The numbers of the asks that a respondent answered in a run, read without their texts."""
    rows = store.select(
        "SELECT ask FROM answers WHERE respondent = ? AND run = ?", respondent.number, run
    )
    return set(map(itemgetter(0), rows))


_MAX_UNSEEN = 0.05
"""The largest probability of unlisted tokens that a server may leave open."""


class Answers:
    """The answers to asks, read from their store.

    Parameters
    ----------
    asks
        What was asked of whom, with its store.
    """

    def __init__(self, asks: Asks) -> None:
        self.asks = asks
        self.store = asks.store
        self._scored: list[tuple[Benchmark, Form, str, VerdictCache]] = []

    def with_resolution(self, resolution: str) -> Answers:
        """Return the answers to the same asks with pictures of another resolution."""
        if resolution == self.asks.resolution:
            return self
        answers = Answers(self.asks.with_resolution(resolution))
        answers._scored = self._scored
        return answers

    def responses(
        self, benchmark: Benchmark, form: Form, respondent: StoredRespondent, run: int
    ) -> list[Response | None]:
        """Return the responses of one respondent to one form by item; None where there is none."""
        return [
            None if row is None else cached_response(*row[:3])
            for row in self.rows(benchmark, form, respondent, run)
        ]

    def by_respondent(
        self, benchmark: Benchmark, form: Form, respondents: Sequence[StoredRespondent], run: int
    ) -> dict[str, list[Response | None]]:
        """Return the responses of several respondents to one form, item by item."""
        return {
            respondent.name: self.responses(benchmark, form, respondent, run)
            for respondent in respondents
        }

    def by_answer(
        self, benchmark: Benchmark, form: Form, respondents: Sequence[StoredRespondent], run: int
    ) -> dict[tuple[str, str], Response]:
        """(respondent, item) -> the response, of those that there are."""
        responses: dict[tuple[str, str], Response] = {}
        for name, row in self.by_respondent(benchmark, form, respondents, run).items():
            for item, response in zip(form.items, row, strict=True):
                if response is not None:
                    responses[name, item.id] = response
        return responses

    def probabilities(
        self, benchmark: Benchmark, form: Form, respondent: StoredRespondent, run: int
    ) -> list[float | None]:
        """Return the probability that each answer was right, from that of its first token.

        None where it was not recorded.

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
            p = detail.get("p", {})
            unseen = detail.get("p_unseen", 0.0)
            value = p.get(str(item.target)) if isinstance(p, Mapping) else None
            is_probability_known = isinstance(unseen, (int, float)) and unseen <= _MAX_UNSEEN
            probabilities.append(
                float(value) if is_probability_known and isinstance(value, (int, float)) else None
            )
        return probabilities

    def details(
        self, benchmark: Benchmark, form: Form, respondent: StoredRespondent, run: int
    ) -> list[Mapping[str, Any]]:
        """Return what was measured of each answer of one respondent to one form, item by item.

        Empty where there is no answer.
        """
        by_number = self.store.details(respondent.number, run)
        if not by_number:
            return [{}] * len(form.items)
        numbers = self.asks.numbers(benchmark, form, respondent.live)
        return [by_number.get(number, {}) for number in numbers]

    def matrix(
        self, benchmark: Benchmark, cell: Cell, form: Form, respondents: Sequence[StoredRespondent]
    ) -> ScoreMatrix:
        """Return the answers of one administration, scored by the benchmark's rule."""
        builder = MatrixBuilder(
            cell,
            form,
            benchmark.verdict,
            benchmark.subsets,
            benchmark.groupings,
            None if type(benchmark).relate is Adapter.relate else benchmark.relate,
            self.verdicts(benchmark, form),
        )
        hashes = []
        for respondent in respondents:
            rows = self.with_resolution(cell.resolution).rows(benchmark, form, respondent, cell.run)
            texts = readable_texts(rows)
            if texts:
                # what the other branch hashes, joined in one call where all answers are ok
                hashes.append(digest_all(["ok " + "\0ok ".join(texts)]))
            else:
                lines = ["" if row is None else f"{row[1]} {row[0]}" for row in rows]
                hashes.append(digest_all(lines))
            builder.add(respondent.name, rows, texts)
        return builder.build(digest_all(hashes))

    def verdicts(self, benchmark: Benchmark, form: Form, oracle: str = "") -> VerdictCache:
        """Return the verdicts on answers to a form that this command or an earlier one made.

        They are those of the benchmark's rule, or of one of its `judges()`.
        """
        for scorer, scored_form, scored_oracle, verdicts in self._scored:
            if scorer is benchmark and scored_form is form and scored_oracle == oracle:
                return verdicts
        archive = _archive(self.store, benchmark, oracle)
        if oracle:
            verdicts = VerdictCache(form.items, benchmark.oracle(oracle), archive=archive)
        else:
            verdicts = VerdictCache(form.items, benchmark.verdict, benchmark.alike, archive)
        self._scored.append((benchmark, form, oracle, verdicts))
        return verdicts

    def keep_verdicts(self) -> None:
        """Keep the new verdicts in the store, so that another command need not score again."""
        for *_, verdicts in self._scored:
            if isinstance(verdicts.archive, StoredVerdicts):
                verdicts.archive.save()

    def rows(
        self, benchmark: Benchmark, form: Form, respondent: StoredRespondent, run: int
    ) -> list[Row | None]:
        """Return the answers of one respondent to one form as the store reads them, by item."""
        rows = self.store.answer_rows(respondent.number, run)
        if not was_administered(self.asks, benchmark, form, respondent, run, rows.keys()):
            return [None] * len(form.items)
        numbers = self.asks.numbers(benchmark, form, respondent.live)
        # most respondents answered just these questions, which the store numbered in the order of
        # the items
        return list(rows.values() if list(rows) == numbers else map(rows.get, numbers))


def _archive(store: Store, benchmark: Benchmark, oracle: str) -> StoredVerdicts | None:
    """The verdicts that a store holds; None where they depend on more than item and answer."""
    code = scoring_digest(benchmark)
    if code is None:
        return None
    scorer = f"{benchmark.scorer}|{benchmark.unread_is_wrong:d}|{oracle}"
    return StoredVerdicts(store, benchmark.label, scorer, code)


# What a store holds of a benchmark: who answered, in which administrations, to which forms.


def respondents_of(store: Store, assignments: Iterable[Assignment]) -> list[StoredRespondent]:
    """Return the respondents of these assignments as the store knows them.

    Parameters
    ----------
    store
        The store of their answers.
    assignments
        Who was asked which benchmark, with which sampling.

    Returns
    -------
    list of StoredRespondent
        Those that have answered.
    """
    respondents = []
    for assignment in assignments:
        identity = assignment.identity()
        respondent = assignment.respondent
        number = store.find_respondent(respondent.name, identity)
        if number is not None:
            respondents.append(StoredRespondent(respondent.name, number, respondent.live, identity))
    return respondents


def respondents_in(asks: Asks, benchmark: Benchmark) -> list[StoredRespondent]:
    """Every respondent in the store that was put a benchmark's original form."""
    respondents: list[StoredRespondent] = []
    n_namesakes: Counter[str] = Counter()
    store = asks.store
    for number, name, identity in store.respondents():
        respondent = StoredRespondent(name, number, identity.get("kind") != "recorded", identity)
        if not any(
            was_administered(asks, benchmark, benchmark.original, respondent, run)
            for run in store.runs(number)
        ):
            continue
        # settings are part of an identity: one model asked with two temperatures is two respondents
        n_namesakes[name] += 1
        if n_namesakes[name] > 1:
            respondent = replace(respondent, name=f"{name}#{n_namesakes[name]}")
        respondents.append(respondent)
    return respondents


def cells_in(
    asks: Asks, benchmark: Benchmark, forms: Sequence[Form], respondents: Sequence[StoredRespondent]
) -> list[Cell]:
    """The administrations that were put to any of these respondents, the original form first,
    smaller pictures last.
    """
    cells: list[Cell] = []
    store = asks.store
    for form in forms:
        runs: set[int] = set()
        for respondent in respondents:
            for run in store.runs(respondent.number):
                if run not in runs and was_administered(asks, benchmark, form, respondent, run):
                    runs.add(run)
        # by number, whichever respondent was asked first
        cells += [Cell(form.name, run, sight=asks.sight) for run in sorted(runs)]
    if asks.blind:
        return cells
    original = benchmark.original
    for resolution in resolutions_in(store, benchmark.name):
        scaled = asks.with_resolution(resolution)
        if any(
            was_administered(scaled, benchmark, original, respondent, 0)
            for respondent in respondents
        ):
            cells.append(Cell(ORIGINAL, 0, resolution=resolution))
    return cells


def resolutions_in(store: Store, benchmark: str) -> list[str]:
    """The percentages of their size to which a benchmark's pictures were scaled in a store, the
    largest first.
    """
    if benchmark not in benchmarks_in(store):
        return []
    rows = store.select("SELECT DISTINCT sight FROM administrations WHERE benchmark = ?", benchmark)
    # what else stands there is `blind`, or nothing for pictures as they are
    scales = [sight.removesuffix("%") for (sight,) in rows if sight.endswith("%")]
    return sorted(filter(is_scale, scales), key=int, reverse=True)


def benchmarks_in(store: Store) -> list[str]:
    """The benchmarks whose administrations the store has on record, the first one first."""
    # a store of HQM 0.1.0 has no such table until it is opened for writing
    if ("administrations",) not in store.select("SELECT name FROM sqlite_master"):
        return []
    query = "SELECT benchmark FROM administrations GROUP BY benchmark ORDER BY MIN(id)"
    return list(map(itemgetter(0), store.select(query)))


def count_altered_administrations(store: Store, benchmark: str) -> int:
    """How many administrations of a benchmark the store has on record that were put without
    pictures, or with smaller ones.
    """
    if benchmark not in benchmarks_in(store):
        return 0
    query = "SELECT COUNT(*) FROM administrations WHERE benchmark = ? AND sight <> ''"
    return int(store.select(query, benchmark)[0][0])


def rewordings_administered(store: Store, benchmark: Benchmark) -> tuple[str, ...]:
    """The rewordings that the store can hold answers to, so that they have to be built."""
    query = "SELECT DISTINCT form FROM administrations WHERE benchmark = ?"
    names: set[str] = set(map(itemgetter(0), store.select(query, benchmark.name)))
    if not store.has_all_administrations:
        # a store of an earlier version did not record which forms were put
        names.update(REWORDINGS)
    return tuple(name for name in sorted(names) if draw_of(name) is not None)


def forms_by_name(forms: Iterable[Form]) -> dict[str, Form]:
    """Name -> form; the last one of namesakes."""
    return {form.name: form for form in forms}


def forms_of(
    benchmark: Benchmark, extra: Sequence[Form] = (), *, rewordings: Collection[str] = (PARALLEL,)
) -> tuple[Form, ...]:
    """The original form, rewordings by rule, the benchmark's other forms, and forms from files,
    which replace their namesakes.

    Only the rewordings named are built: to make one takes a while for a benchmark of many
    questions.
    """
    forms = {ORIGINAL: benchmark.original}
    ready_forms = forms_by_name([*benchmark.further_forms, *extra])
    for name in sorted(rewordings, key=lambda name: draw_of(name) or 0):
        draw = draw_of(name)
        if draw is not None and name not in ready_forms:
            forms[name] = benchmark.reworded(draw)
    forms.update(ready_forms)
    if len(forms[ORIGINAL].items) == 0:
        raise DesignError(f"{benchmark.name} has no original form")
    return tuple(forms.values())


def form_named(benchmark: Benchmark, name: str) -> Form:
    """The form of this name: the original, one that rules make, or one of the benchmark's own.

    Raises
    ------
    UsageError
        There is none.
    """
    forms = forms_by_name(forms_of(benchmark, rewordings={name} - {ORIGINAL}))
    if name not in forms:
        names = dict.fromkeys([ORIGINAL, *REWORDINGS, *forms])
        raise UsageError(
            f"{benchmark.name} has no form {name!r}",
            remedy=f"It has {', '.join(names)}.",
            name=name,
            choices=names,
        )
    return forms[name]


def forms_held(store: Store, benchmark: Benchmark, extra: Sequence[Form] = ()) -> dict[str, Form]:
    """By name, every form that the store can hold answers to, and forms from files, which replace
    their namesakes.
    """
    rewordings = rewordings_administered(store, benchmark)
    return forms_by_name(forms_of(benchmark, extra, rewordings=rewordings))


def scoring_digest(benchmark: Benchmark) -> str | None:
    """A hash of what makes the verdicts on answers to a benchmark, beside its items.

    Returns
    -------
    str or None
        None where a judge or another tool gives the verdicts, or where an adapter scores by a rule
        of its own and does not say which files it reads (`Adapter.scoring_files`).
    """
    files = benchmark.scoring_files
    if files is None and not _is_scored_by_rules(type(benchmark)):
        return None
    if benchmark.roles or benchmark.tool_scored or benchmark.recipes:
        return None
    modules = {module.__name__ for module in _MODULES}
    # The adapter's own module, and those of the classes that it inherits from.
    modules.update(base.__module__ for base in type(benchmark).__mro__)
    code = _code_digest(tuple(sorted(modules)))
    return digest([code, *map(digest_file, filter(Path.exists, files or ()))])


def _is_scored_by_rules(kind: type[Benchmark]) -> bool:
    """Whether the rules of HQM alone score the answers."""
    return (
        kind.score is Adapter.score
        and kind.reader is Adapter.reader
        and kind.verdict is Benchmark.verdict
        and kind.no_answer is Benchmark.no_answer
        and kind.judges is Adapter.judges
    )


@cache
def _code_digest(modules: tuple[str, ...]) -> str:
    """A hash of the rules, of further modules, and of the libraries with the words."""
    package = Path(str(hqm.scoring.__file__)).parent
    files = {*package.rglob("*.py"), *_module_files(modules)}
    # Sorted, as a set of paths has another order in every process.
    return digest([*map(version, _LIBRARIES), *map(digest_file, sorted(files))])


def _module_files(names: Iterable[str]) -> set[Path]:
    files = set()
    for name in names:
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is not None:
            files.add(Path(file))
    return files
