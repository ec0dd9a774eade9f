"""What a store holds of a benchmark: who answered, in which administrations, to which forms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hqm.administration.administer import Desk, Sitting, StoredRespondent
from hqm.benchmark.interface import Benchmark
from hqm.errors import DesignError
from hqm.store.database import Store
from hqm.types import ORIGINAL, PARALLEL, Cell, Form


def people_of(store: Store, sittings: Iterable[Sitting]) -> list[StoredRespondent]:
    """The sittings' respondents as the store knows them; those that never answered are left out."""
    found = []
    for sitting in sittings:
        identity = sitting.identity()
        number = store.find_respondent(sitting.respondent.name, identity)
        if number is not None:
            found.append(StoredRespondent(sitting.respondent.name, number, sitting.respondent.live, identity))
    return found


def people_in(store: Store, desk: Desk, benchmark: Benchmark) -> list[StoredRespondent]:
    """Every respondent in the store that answered something of a benchmark's original form."""
    found: list[StoredRespondent] = []
    seen: dict[str, int] = {}
    for number, name, identity in store.respondents():
        live = identity.get("kind") != "recorded"
        numbers = set(store.ask_ids(desk.asks(benchmark, benchmark.original, live)).values())
        if not any(numbers & set(store.answers(number, run)) for run in store.runs(number)):
            continue
        seen[name] = seen.get(name, 0) + 1
        shown = name if seen[name] == 1 else f"{name}#{seen[name]}"
        found.append(StoredRespondent(shown, number, live, identity))
    return found


def cells_in(
    store: Store, desk: Desk, benchmark: Benchmark, forms: Sequence[Form], people: Sequence[StoredRespondent]
) -> list[Cell]:
    """The administrations that the store holds any answer of, the original form first."""
    found: dict[tuple[int, int], Cell] = {}
    for order, form in enumerate(forms):
        for person in people:
            numbers = set(store.ask_ids(desk.asks(benchmark, form, person.live)).values())
            for run in store.runs(person.number):
                if (order, run) not in found and numbers & store.answers(person.number, run).keys():
                    found[order, run] = Cell(form.name, run, sight="blind" if desk.blind else "")
    return [found[key] for key in sorted(found)]


def forms_of(benchmark: Benchmark, extra: Sequence[Form] = ()) -> tuple[Form, ...]:
    """The original form, the benchmark's others, and forms a person brought; a brought form replaces one of its name."""
    original = benchmark.original
    made = {ORIGINAL: original}
    names = {form.name for form in extra}
    if PARALLEL not in names:
        made[PARALLEL] = benchmark.parallel_form
    made.update({form.name: form for form in benchmark.further_forms})
    made.update({form.name: form for form in extra})
    if len(made[ORIGINAL].items) == 0:
        raise DesignError(f"{benchmark.name} has no original form")
    return tuple(made.values())
