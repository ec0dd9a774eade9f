"""`hqm check NAME --read-with MODEL`: a model's readings of items, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from hqm.auditing.audit import Audit
from hqm.auditing.definitions import items_to_read
from hqm.commands.interrupt import interruption
from hqm.commands.options import RunOptions
from hqm.commands.session_judges import JudgePlan, plan_requests
from hqm.commands.shared import AUDIT, command, readable, session_of, writable
from hqm.commands.terminal import judging as show_judging
from hqm.commands.terminal import tell, tell_failures
from hqm.judges.judge_models import Judging
from hqm.judges.procedure import Panel
from hqm.judges.reading_models import with_procedure
from hqm.respondents.base import is_idle
from hqm.types import Form
from hqm_label.item_readings import (
    SAMPLING,
    ItemReader,
    ItemReadings,
    choose_items,
    collect_readings,
    item_rows,
    person_faults,
)

if TYPE_CHECKING:
    from hqm.lint import Checked
    from hqm.store.database import Store


def read_items(
    checked: Checked, model: str, path: Path, options: RunOptions
) -> ItemReadings | None:
    """Have a model read items of a checked benchmark, and return what it finds.

    The cost is told before anything is asked. None where nothing is asked: there are no items, or
    it is a dry run.

    Parameters
    ----------
    checked
        The benchmark, and what the linter found.
    model
        Its name, as a respondent's.
    path
        The store of the replies; an `audit.json` beside it gives its list of items to read.
    options
        The options of the command.

    Raises
    ------
    UsageError
        The name stands for no model that can be asked.
    """
    source = checked.source
    form = checked.form
    if source is None or form is None:
        return None
    opened: AbstractContextManager[Store] = readable(path)
    if not options.output.dry_run:
        opened = writable(path, options.output.no_wait)
    # a part is cut out of `form` already, and a corrected key is read against the whole
    whole = replace(options, material=replace(options.material, part=None, limit=None))
    with opened as store:
        # Offline, since only the model that reads is asked, and no respondent of the benchmark.
        session = session_of([source], store, whole, offline=True)
        reader = with_procedure(source, ItemReader)
        panel = Panel(session.judging.live_judge(model))
        judging = Judging(session.asks, reader, panel, SAMPLING)
        human_faults = person_faults(session.keys.get(source.name))
        listed = _listed_items(checked, form, path.with_name(AUDIT))
        reasons = choose_items(form, listed, human_faults)
        form = form.restrict_to(reasons)
        source.prepare_images(form)
        pictures = [item.image for item in form.items if item.image]
        source.pictures.fetch(pictures, private=options.material.allow_private_images)
        requests = judging.first_requests(form, item_rows(form)[""])
        plan = plan_requests(judging, requests, 1, options.compute.prices)
        tell(*_cost_sentences(plan, len(reasons), len(listed)))
        if options.output.dry_run:
            return None
        _ask(judging, form, options.output.as_json)
        return collect_readings(judging, form, reasons, human_faults)


def _listed_items(checked: Checked, form: Form, path: Path) -> set[str]:
    """The reading list: items with contradictory keys, and those that an audit names."""
    # Ids alone are wanted: no thumbnail is made.
    rows = items_to_read(form, (), checked.findings, "", lambda *_: "")
    # The answers of an audit show wrong keys that the linter cannot see.
    for audit in Audit.load(path).audits if path.is_file() else ():
        if audit.benchmark == checked.benchmark:
            rows += audit.to_read
    return {str(row["item"]) for row in rows} & form.by_id.keys()


def _cost_sentences(plan: JudgePlan, n_items: int, n_listed: int) -> Iterator[str]:
    """Yield what is going to be asked, and what it costs."""
    yield (
        f"{plan.judge} reads {n_items} items of {plan.benchmark}. Items of the reading list:"
        f" {n_listed}. Questions to ask: {plan.askings}."
    )
    if plan.askings:
        cost = "Their price is not known: --set price_in=MONEY --set price_out=MONEY tells it."
        if plan.cost is not None:
            cost = f"They cost {plan.cost:.4g} at most."
        yield (
            f"They take about {plan.tokens_in:,} tokens in and {plan.tokens_out:,} out at most."
            f" {cost}"
        )


def _ask(judging: Judging, form: Form, quiet: bool) -> None:
    """Ask what has no reply in the store; a command that is interrupted says how to go on."""
    try:
        with interruption(quiet, is_idle) as stop, show_judging(quiet) as progress:
            outcome = judging.judge(form, item_rows(form), progress=progress, stop=stop)
    finally:
        # A local model gives its memory back, also after an error.
        judging.close()
    tell_failures("the model ", outcome.failed)
    if stop():
        tell(f"interrupted: replies are stored in {judging.store.path}. Go on with\n  {command()}")
        raise typer.Exit(stop.status)
