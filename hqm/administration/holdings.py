"""What a store holds of a benchmark: who answered, in which administrations, to which forms."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from hqm.administration.asks import Asks
from hqm.administration.assignment import Assignment, StoredRespondent
from hqm.administration.existence import was_put
from hqm.benchmark.interface import Benchmark
from hqm.errors import DesignError
from hqm.forms.build import draw_of
from hqm.store.database import Store
from hqm.types import ORIGINAL, PARALLEL, REWORDINGS, Cell, Form, is_scale


def respondents_of(store: Store, assignments: Iterable[Assignment]) -> list[StoredRespondent]:
    """The respondents of these assignments as the store knows them; those that never answered are
    left out.
    """
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
        if not any(
            was_put(asks, benchmark, benchmark.original, respondent, run)
            for run in store.runs(number)
        ):
            continue
        seen[name] = seen.get(name, 0) + 1
        shown = name if seen[name] == 1 else f"{name}#{seen[name]}"
        respondents.append(replace(respondent, name=shown))
    return respondents


def cells_in(
    asks: Asks, benchmark: Benchmark, forms: Sequence[Form], respondents: Sequence[StoredRespondent]
) -> list[Cell]:
    """The administrations that were put to any of these respondents, the original form first,
    smaller pictures last.
    """
    cells: dict[tuple[int, int], Cell] = {}
    store = asks.store
    for order, form in enumerate(forms):
        for respondent in respondents:
            for run in store.runs(respondent.number):
                if (order, run) not in cells and was_put(asks, benchmark, form, respondent, run):
                    cells[order, run] = Cell(form.name, run, sight=asks.sight)
    scaled = [
        Cell(ORIGINAL, 0, resolution=resolution)
        for resolution in ([] if asks.blind else resolutions_in(store, benchmark.name))
        if any(
            was_put(asks.at(resolution), benchmark, benchmark.original, who, 0)
            for who in respondents
        )
    ]
    return [*(cells[key] for key in sorted(cells)), *scaled]


def resolutions_in(store: Store, benchmark: str) -> list[str]:
    """The percentages of their size to which a benchmark's pictures were scaled in a store, the
    largest first.
    """
    if benchmark not in benchmarks_in(store):
        return []
    rows = store.select("SELECT DISTINCT sight FROM administrations WHERE benchmark = ?", benchmark)
    scales = [sight.removesuffix("%") for (sight,) in rows if sight.endswith("%")]
    return sorted(filter(is_scale, scales), key=int, reverse=True)


def benchmarks_in(store: Store) -> list[str]:
    """The benchmarks whose administrations the store has on record, the first one first."""
    if "administrations" not in {row[0] for row in store.select("SELECT name FROM sqlite_master")}:
        return []
    return [
        row[0]
        for row in store.select(
            "SELECT benchmark FROM administrations GROUP BY benchmark ORDER BY MIN(id)"
        )
    ]


def otherwise_shown(store: Store, benchmark: str) -> int:
    """How many administrations of a benchmark the store has on record that were put without
    pictures, or with smaller ones.
    """
    if benchmark not in benchmarks_in(store):
        return 0
    query = "SELECT COUNT(*) FROM administrations WHERE benchmark = ? AND sight <> ''"
    return int(store.select(query, benchmark)[0][0])


def rewordings_put(store: Store, benchmark: Benchmark) -> tuple[str, ...]:
    """The rewordings that the store can hold answers to, so that they have to be built."""
    put = "SELECT DISTINCT form FROM administrations WHERE benchmark = ?"
    names = [str(row[0]) for row in store.select(put, benchmark.name)]
    every = (*names, *REWORDINGS) if not store.whole else names
    return tuple(sorted({name for name in every if draw_of(name) is not None}))


def forms_of(
    benchmark: Benchmark, extra: Sequence[Form] = (), *, rewordings: Collection[str] = (PARALLEL,)
) -> tuple[Form, ...]:
    """The original form, rewordings by rule, the benchmark's other forms, and forms from files,
    which replace their namesakes.

    Only the rewordings named are built: to make one takes a while for a benchmark of many
    questions.
    """
    forms = {ORIGINAL: benchmark.original}
    given = {form.name for form in extra}
    own = {form.name: form for form in benchmark.further_forms}
    for name in sorted(rewordings, key=lambda name: draw_of(name) or 0):
        draw = draw_of(name)
        if draw is not None and name not in given and name not in own:
            forms[name] = benchmark.reworded(draw)
    forms.update(own)
    forms.update({form.name: form for form in extra})
    if len(forms[ORIGINAL].items) == 0:
        raise DesignError(f"{benchmark.name} has no original form")
    return tuple(forms.values())


def forms_held(store: Store, benchmark: Benchmark, extra: Sequence[Form] = ()) -> dict[str, Form]:
    """By name, every form that the store can hold answers to, and forms from files, which replace
    their namesakes.
    """
    return {
        form.name: form
        for form in forms_of(benchmark, extra, rewordings=rewordings_put(store, benchmark))
    }
