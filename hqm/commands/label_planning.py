"""`hqm label plan`: which stored answers, or which items, people are to label."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hqm.commands.option_decorators import with_options
from hqm.commands.options import HOW, OUTPUT, WHAT, WHO, RunOptions
from hqm.commands.shared import existing, readable, session_of, store_path
from hqm.commands.terminal import print_lines
from hqm.errors import DataError, UsageError

if TYPE_CHECKING:
    from hqm.benchmark.adapter import Benchmark
    from hqm.commands.session import Session
    from hqm.labels.study_plan import Candidate, Forecast, LabelPlan

_PLAN = Path("plan.jsonl")
_PROTOCOL, _PROTOCOL_ITEMS = "hqm", 100
"""The design of the HQM paper's own study with people (Yan et al. 2024, section 3.3), and how many
items it has.
"""


@with_options(
    "part",
    "data",
    "images",
    "scoring",
    "parser",
    "judges",
    "judgements",
    "roles",
    "mode",
    "prompts",
    "store",
    "as_json",
)
def plan(
    *,
    benchmark: Annotated[
        str,
        typer.Argument(
            rich_help_panel=WHAT, help="A name, a folder with a card.toml, or a Python file."
        ),
    ],
    options: RunOptions,
    labels: Annotated[
        int | None,
        typer.Option(
            rich_help_panel=HOW,
            min=1,
            metavar="N",
            help="How many answers people are to label; as many as --width needs unless given.",
        ),
    ] = None,
    design: Annotated[
        str,
        typer.Option(
            rich_help_panel=HOW,
            metavar="NAME",
            help=(
                "uniform: as many answers of each respondent, at random. same-items:"
                " all respondents' answers to some items. active: doubtful answers"
                " more often. hqm: the HQM paper's 100 items with all respondents'"
                " answers, each labelled by all raters."
            ),
        ),
    ] = "uniform",
    raters: Annotated[
        str,
        typer.Option(
            rich_help_panel=WHO, metavar="NAMES", help="Who labels: names joined by commas."
        ),
    ] = "rater",
    overlap: Annotated[
        float,
        typer.Option(
            rich_help_panel=HOW,
            metavar="SHARE",
            help=("The share of the answers that all raters label, which shows their agreement."),
        ),
    ] = 0.2,
    schema: Annotated[
        str,
        typer.Option(
            rich_help_panel=HOW,
            metavar="NAME",
            help=(
                "What raters are asked: binary, likert, facts, spans or a toml file;"
                " of a benchmark's own items, review or review_form."
            ),
        ),
    ] = "binary",
    form: Annotated[
        str,
        typer.Option(
            "--form",
            rich_help_panel=WHAT,
            metavar="NAME|NAME=FILE",
            help="The form whose items are reviewed.",
        ),
    ] = "original",
    gold: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=WHAT,
            metavar="FILE",
            help=(
                "Answers whose label is known, mixed in to check the raters: item, respondent,"
                " label."
            ),
        ),
    ] = None,
    width: Annotated[
        float | None,
        typer.Option(
            rich_help_panel=HOW,
            metavar="W",
            help="Say how many labels an interval of this width needs, from end to end.",
        ),
    ] = None,
    tau: Annotated[
        float,
        typer.Option(
            rich_help_panel=HOW,
            metavar="SHARE",
            help="Of an active design, the share that follows the doubts; at most .8.",
        ),
    ] = 0.8,
    expected_error: Annotated[
        float | None,
        typer.Option(
            "--expected-error",
            rich_help_panel=HOW,
            min=0.001,
            max=0.5,
            metavar="SHARE",
            help=(
                "The share of wrong scores, for the forecast; by default that in the"
                " store, else .1."
            ),
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(rich_help_panel=HOW, min=0, metavar="N", help="What the draw begins from."),
    ] = 0,
    out: Annotated[
        Path, typer.Option(rich_help_panel=OUTPUT, metavar="FILE", help="The plan's file.")
    ] = _PLAN,
    serve: Annotated[
        bool,
        typer.Option(
            "--serve", rich_help_panel=HOW, help="Open the page at once; its end prints the table."
        ),
    ] = False,
) -> None:
    """Choose the answers that people are to label, and say how wide the intervals will be.

    Every answer in the plan has the probability with which it was chosen, which an audit needs to
    weight its label.
    """
    import numpy as np

    from hqm.labels.label_schema import read_schema
    from hqm.labels.study_plan import (
        DESIGNS,
        LabelPlan,
        check_design,
        draw,
        forecast,
        labels_path,
        with_gold,
        write_plan,
    )

    protocol = design == _PROTOCOL
    if protocol:
        design, overlap = "same-items", 1.0
    if design not in DESIGNS:
        remedy = f"There are {', '.join((*DESIGNS, _PROTOCOL))}."
        what = f"there is no design {design!r}"
        raise UsageError(what, remedy=remedy, name=design, choices=DESIGNS)
    names = tuple(name.strip() for name in raters.split(","))
    check_design(design, names, overlap, tau)
    if labels_path(out).exists():
        raise UsageError(
            f"there are labels of this plan already ({labels_path(out).name})",
            location=str(out),
            remedy="Name another file with --out; labels belong to one plan.",
        )
    asked = read_schema(schema, out.parent)
    path = store_path([benchmark], options.output.store)
    if not asked.reviews_items:
        existing(path, [benchmark])
    # what is drawn are answers: earlier labels about other words are none of the plan's business
    options = replace(options, judging=replace(options.judging, stale="keep"))
    rng = np.random.default_rng(seed)
    with readable(path) as opened:
        session = session_of([benchmark], opened, options, offline=True)
        (loaded,) = session.benchmarks
        form_name, _, form_file = form.partition("=")
        candidates, source, trusted = (
            _items(loaded, form_name, form_file)
            if asked.reviews_items
            else _answers(session, loaded, unscored=protocol)
        )
    made = LabelPlan(
        benchmark=str(Path(benchmark).absolute()) if Path(benchmark).exists() else benchmark,
        store="" if asked.reviews_items else str(path),
        data=str(options.what.data or ""),
        images=(
            str(options.what.images or "") if Path(str(options.what.images or "")).exists() else ""
        ),
        design=design,
        seed=seed,
        tau=tau if design == "active" else 0.0,
        schema=schema,
        form_file=form_file,
        raters=names,
        overlap=overlap,
        population=len(candidates),
        errors_from=source if design == "active" else "",
    )
    supposed = expected_error if expected_error is not None or trusted or not source else 0.1
    known: dict[str, Any] = {"tau": tau, "supposed_error": supposed, "width": width}
    scored = not asked.reviews_items and sum(c.score == c.score for c in candidates) > 1
    wanted = labels
    if protocol and labels is None:
        of_item = Counter(candidate.item for candidate in candidates)
        wanted = min(_PROTOCOL_ITEMS, len(of_item)) * len(candidates) // len(of_item)
    if wanted is None:
        if width is None or not scored:
            raise UsageError(
                "the number of labels is missing", remedy="Give it with --labels, or a --width."
            )
        wanted = forecast(candidates, made.design, len(candidates) // 2 or 1, **known).needed
        if wanted is None:
            raise UsageError(
                f"no number of labels makes an interval of {width:g}: there are {len(candidates):,}"
                " answers",
                remedy="Ask for a wider one, or more questions.",
            )
    expected = forecast(candidates, made.design, wanted, **known) if scored else None
    rows = draw(candidates, made, wanted, rng)
    if form_name != "original" and asked.reviews_items:
        rows = tuple(replace(row, form=form_name) for row in rows)
    if gold is not None:
        rows = with_gold(rows, _gold(loaded, gold, candidates), candidates, names, rng)
    made = replace(made, rows=rows, expected_width=expected.width if expected else None)
    write_plan(made, out)
    _show(made, expected, width, out, source if trusted else "", options.output.as_json)
    if serve:
        from hqm.commands.labelling import serve as open_page
        from hqm.commands.labelling import status

        open_page(plan=out)
        status(plan=out)


def _answers(
    session: Session, benchmark: Benchmark, *, unscored: bool
) -> tuple[list[Candidate], str, bool]:
    """Return the stored answers to the original form, run 0, with the chance that each score is
    wrong.
    """
    import numpy as np

    from hqm.administration.stored_answers import Answers
    from hqm.labels.study_plan import Candidate, answer_digest, errors_known
    from hqm.scoring.rules import ANSWERED

    respondents = session.stored_respondents(benchmark)
    if not respondents:
        raise UsageError(
            f"the store holds no answers to {benchmark.name}",
            location=str(session.store.path),
            remedy="Name another store with --store.",
        )
    form, reader = benchmark.original, Answers(session.asks)
    judging = session.options.judging
    unjudged = bool(benchmark.roles) and not judging.judges and not session.file_judges(benchmark)
    scores = errors = np.full((len(respondents), len(form)), np.nan)
    source, trusted = "", False
    if not unjudged:
        evidence = session.evidence(benchmark, pictures=False)
        known = errors_known(evidence.matrices, evidence.reference)
        first, source, trusted = evidence.first, known.name, known.calibrated
        row, column = (
            {n: i for i, n in enumerate(first.respondents)},
            {item.id: i for i, item in enumerate(first.items)},
        )
        # where a rule stopped the asking, the audit looks at the pictures that all respondents were
        # asked
        form = replace(form, items=tuple(item for item in form.items if item.id in column))
        cells = np.ix_(
            [row[who.name] for who in respondents], [column[item.id] for item in form.items]
        )
        scores, errors = first.values[cells], known.errors[cells]
    candidates = []
    for i, who in enumerate(respondents):
        for j, (item, answer) in enumerate(
            zip(form.items, reader.responses(benchmark, form, who, 0), strict=True)
        ):
            if (
                answer is not None
                and answer.outcome in ANSWERED
                and (unjudged or unscored or np.isfinite(scores[i, j]))
            ):
                cluster = item.cluster or item.image or item.id
                candidates.append(
                    Candidate(
                        item=item.id,
                        respondent=who.name,
                        cluster=cluster,
                        digest=answer_digest(answer),
                        score=float(scores[i, j]),
                        error=float(errors[i, j]),
                    )
                )
    if not candidates:
        raise UsageError(
            f"no answer to {benchmark.name} is scored",
            remedy=f"Look at `hqm audit {benchmark.name} --offline` first.",
        )
    return candidates, source, trusted


def _items(
    benchmark: Benchmark, form_name: str, form_file: str
) -> tuple[list[Candidate], str, bool]:
    """The items of a form, for their review."""
    from hqm.administration.stored_answers import form_named
    from hqm.forms.make_forms import read_form
    from hqm.labels.study_plan import Candidate, item_digest

    if form_file:
        form = read_form(Path(form_file), benchmark.original, form_name)
    else:
        form = form_named(benchmark, form_name)
    candidates = [
        Candidate(
            item=i.id, respondent="", cluster=i.cluster or i.image or i.id, digest=item_digest(i)
        )
        for i in form.items
    ]
    return candidates, "", False


def _gold(
    benchmark: Benchmark, path: Path, candidates: list[Candidate]
) -> dict[tuple[str, str], float]:

    known = list(dict.fromkeys(c.respondent for c in candidates))
    labels = {
        (j.respondent, j.item): j.label
        for j in benchmark.read_criterion(path, benchmark.original, known)
    }
    answers = {(c.respondent, c.item) for c in candidates}
    for (respondent, item), label in labels.items():
        if label is None or (respondent, item) not in answers:
            what = (
                f"{item!r} of {respondent} has no label"
                if label is None
                else f"{respondent} has no answer to {item!r}"
            )
            raise DataError(what, location=str(path), remedy="Remove the row.")
    return {answer: float(label) for answer, label in labels.items() if label is not None}


def _show(
    made: LabelPlan,
    expected: Forecast | None,
    width: float | None,
    out: Path,
    source: str,
    as_json: bool,
) -> None:
    drawn = [row for row in made.rows if row.probability is not None]
    respondents = len({row.respondent for row in made.rows} - {""})
    counts = {name: sum(name in row.raters for row in made.rows) for name in made.raters}
    shared = sum(len(row.raters) > 1 for row in made.rows)
    summary: dict[str, Any] = {
        "plan": str(out),
        "labels": len(drawn),
        "population": made.population,
        "design": made.design,
        "respondents": respondents,
        "items": len({row.item for row in made.rows}),
        "raters": counts,
        "by_all_raters": shared,
        "gold": sum(row.gold is not None for row in made.rows),
        "errors_from": source,
    }
    if expected is not None:
        summary |= {
            "expected_width": expected.width,
            "expected_width_of_one": expected.width_of_one,
            "supposed_error": expected.supposed_error,
            "width_asked_for": width,
            "labels_needed": expected.needed,
        }
    if as_json:
        print(json.dumps(summary, ensure_ascii=False))
        return
    of = f" of {respondents} respondents" if respondents else ""
    each = ", ".join(f"{name} {count:,}" for name, count in counts.items())
    gold = summary["gold"]
    print_lines(
        f"{len(drawn):,} of {made.population:,} {'answers' if respondents else 'items'}{of} to"
        f" label, design {made.design}",
        f"raters: {each}; {shared:,} labelled by all",
        f"gold:   {gold:,} answers with a known label are mixed in" if gold else "",
        *(_forecast_lines(expected, width, source, respondents) if expected is not None else ()),
        f"plan:   {out}",
        f"next:\n  hqm label serve {out}",
    )


def _forecast_lines(
    expected: Forecast, width: float | None, source: str, respondents: int
) -> Iterator[str]:
    """How wide the intervals will be, and what that rests on."""
    of_one = f", {expected.width_of_one:.3f} of a single respondent's"
    several = respondents > 1 and isfinite(expected.width_of_one)
    yield (
        f"width:  {expected.width:.3f} from end to end is expected of the 95% interval of the mean"
        f" corrected score{of_one if several else ''}"
    )
    basis = "supposed: a second judge would show it, or say it with --expected-error"
    yield (
        f"        supposing that {expected.supposed_error:.1%} of the scores are wrong"
        f" ({f'from {source}' if source else basis})"
    )
    if width is not None:
        needed = f"{expected.needed:,} labels" if expected.needed is not None else ""
        yield f"        for a width of {width:g}: {needed or 'no number of labels reaches it'}"
