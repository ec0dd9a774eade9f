"""What a store holds of a benchmark: who answered, in which administrations, to which forms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from hqm.administration.asks import Asks
from hqm.administration.assignment import Assignment, StoredRespondent
from hqm.administration.existence import was_put
from hqm.benchmark.interface import Benchmark
from hqm.errors import DesignError
from hqm.store.database import Store
from hqm.types import ORIGINAL, PARALLEL, Cell, Form


def respondents_of(store: Store, assignments: Iterable[Assignment]) -> list[StoredRespondent]:
    """The respondents of these assignments as the store knows them; those that never answered are left out."""
    respondents = []
    for assignment in assignments:
        identity, respondent = assignment.identity(), assignment.respondent
        number = store.find_respondent(respondent.name, identity)
        if number is not None:
            respondents.append(StoredRespondent(respondent.name, number, respondent.live, identity))
    return respondents


def respondents_in(asks: Asks, benchmark: Benchmark) -> list[StoredRespondent]:
    """Every respondent in the store that was put a benchmark's original form."""
    respondents: list[StoredRespondent] = []
    seen: dict[str, int] = {}
    store = asks.store
    for number, name, identity in store.respondents():
        respondent = StoredRespondent(name, number, identity.get("kind") != "recorded", identity)
        if not any(was_put(asks, benchmark, benchmark.original, respondent, run) for run in store.runs(number)):
            continue
        seen[name] = seen.get(name, 0) + 1
        shown = name if seen[name] == 1 else f"{name}#{seen[name]}"
        respondents.append(replace(respondent, name=shown))
    return respondents


def cells_in(
    asks: Asks, benchmark: Benchmark, forms: Sequence[Form], respondents: Sequence[StoredRespondent]
) -> list[Cell]:
    """The administrations that were put to any of these respondents, the original form first."""
    cells: dict[tuple[int, int], Cell] = {}
    store = asks.store
    for order, form in enumerate(forms):
        for respondent in respondents:
            for run in store.runs(respondent.number):
                if (order, run) not in cells and was_put(asks, benchmark, form, respondent, run):
                    cells[order, run] = Cell(form.name, run, sight="blind" if asks.blind else "")
    return [cells[key] for key in sorted(cells)]


def parallel_put(store: Store, benchmark: Benchmark) -> bool:
    """Whether the store can hold answers to the parallel form, so that it has to be built."""
    put = "SELECT 1 FROM administrations WHERE benchmark = ? AND form = ? LIMIT 1"
    return not store.whole or bool(store.select(put, benchmark.name, PARALLEL))


def forms_of(benchmark: Benchmark, extra: Sequence[Form] = (), *, parallel: bool = True) -> tuple[Form, ...]:
    """The original form, the benchmark's other forms, and forms from files; a form from a file replaces its namesake.

    Without `parallel` the parallel form is left out: to make it takes a while for a benchmark of many questions.
    """
    forms = {ORIGINAL: benchmark.original}
    if parallel and PARALLEL not in {form.name for form in extra}:
        forms[PARALLEL] = benchmark.parallel_form
    forms.update({form.name: form for form in benchmark.further_forms})
    forms.update({form.name: form for form in extra})
    if len(forms[ORIGINAL].items) == 0:
        raise DesignError(f"{benchmark.name} has no original form")
    return tuple(forms.values())
