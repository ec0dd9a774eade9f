"""`hqm label plan`: which stored answers, or which items, people are to label."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from hqm.commands.option_decorators import with_options
from hqm.commands.options import HOW_PANEL, OUTPUT_PANEL, WHAT_PANEL, WHO_PANEL, RunOptions
from hqm.commands.shared import existing, readable, session_of, store_path
from hqm.commands.terminal import print_lines
from hqm.errors import DataError, UsageError

if TYPE_CHECKING:
    from hqm.benchmark.adapter import Benchmark
    from hqm.commands.session import Session
    from hqm.psychometrics import Array
    from hqm.types import Form
    from hqm_label.label_schema import Schema
    from hqm_label.study_plan import Candidate, Design, Forecast, LabelPlan, PlanRow

_Predict = Callable[[int], "Forecast"]
"""The forecast for a number of labels."""

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
            rich_help_panel=WHAT_PANEL, help="A name, a folder with a card.toml, or a Python file."
        ),
    ],
    options: RunOptions,
    labels: Annotated[
        int | None,
        typer.Option(
            rich_help_panel=HOW_PANEL,
            min=1,
            metavar="N",
            help="How many answers people are to label; as many as --width needs unless given.",
        ),
    ] = None,
    design: Annotated[
        str,
        typer.Option(
            rich_help_panel=HOW_PANEL,
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
            rich_help_panel=WHO_PANEL, metavar="NAMES", help="Who labels: names joined by commas."
        ),
    ] = "rater",
    overlap: Annotated[
        float,
        typer.Option(
            rich_help_panel=HOW_PANEL,
            metavar="SHARE",
            help=("The share of the answers that all raters label, which shows their agreement."),
        ),
    ] = 0.2,
    schema: Annotated[
        str,
        typer.Option(
            rich_help_panel=HOW_PANEL,
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
            rich_help_panel=WHAT_PANEL,
            metavar="NAME|NAME=FILE",
            help="The form whose items are reviewed.",
        ),
    ] = "original",
    gold: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=WHAT_PANEL,
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
            rich_help_panel=HOW_PANEL,
            metavar="W",
            help="Say how many labels an interval of this width needs, from end to end.",
        ),
    ] = None,
    tau: Annotated[
        float,
        typer.Option(
            rich_help_panel=HOW_PANEL,
            metavar="SHARE",
            help="Of an active design, the share that follows the doubts; at most .8.",
        ),
    ] = 0.8,
    expected_error: Annotated[
        float | None,
        typer.Option(
            "--expected-error",
            rich_help_panel=HOW_PANEL,
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
        typer.Option(
            rich_help_panel=HOW_PANEL, min=0, metavar="N", help="What the draw begins from."
        ),
    ] = 0,
    out: Annotated[
        Path, typer.Option(rich_help_panel=OUTPUT_PANEL, metavar="FILE", help="The plan's file.")
    ] = _PLAN,
    serve: Annotated[
        bool,
        typer.Option(
            "--serve",
            rich_help_panel=HOW_PANEL,
            help="Open the page at once; its end prints the table.",
        ),
    ] = False,
) -> None:
    """Choose the answers that people are to label, and say how wide the intervals will be.

    Every answer in the plan has the probability with which it was chosen, which an audit needs to
    weight its label.
    """
    from hqm_label.label_schema import read_schema
    from hqm_label.study_plan import LabelPlan, write_plan

    is_protocol = design == _PROTOCOL
    if is_protocol:
        design = "same-items"
        overlap = 1.0
    names = tuple(name.strip() for name in raters.split(","))
    checked_design = _check_plan(design, names, overlap, tau, out)
    rater_schema = read_schema(schema, out.parent)
    reviews_items = rater_schema.reviews_items
    path = store_path([benchmark], options.output.store)
    if not reviews_items:
        existing(path, [benchmark])
    # what is drawn are answers: earlier labels about other words are none of the plan's business
    options = replace(options, judging=replace(options.judging, stale="keep"))
    form_name, _, form_file = form.partition("=")
    with readable(path) as opened:
        session = session_of([benchmark], opened, options, offline=True)
        (loaded,) = session.benchmarks
        if reviews_items:
            population = _item_population(loaded, form_name, form_file)
        else:
            population = _answer_population(session, loaded, unscored=is_protocol)
    candidates = population.candidates
    images = str(options.material.images or "")
    label_plan = LabelPlan(
        benchmark=_absolute(benchmark),
        store="" if reviews_items else str(path),
        data=str(options.material.data or ""),
        images=images if Path(images).exists() else "",
        design=checked_design,
        seed=seed,
        tau=tau if checked_design == "active" else 0.0,
        schema=schema,
        form_file=form_file,
        raters=names,
        overlap=overlap,
        population=len(candidates),
        errors_from=population.error_source if checked_design == "active" else "",
    )
    predict = _forecaster(population, checked_design, tau, expected_error, width)
    if is_protocol and labels is None:
        labels = _protocol_labels(candidates)
    n_labels = labels or _labels_for_width(predict, width, len(candidates))
    expected = None if predict is None else predict(n_labels)
    gold_labels = None if gold is None else _read_gold(loaded, gold, candidates, rater_schema)
    rows = _draw(label_plan, candidates, n_labels, form_name, gold_labels)
    label_plan = replace(label_plan, rows=rows, expected_width=expected.width if expected else None)
    write_plan(label_plan, out)
    source = population.error_source if population.is_calibrated else ""
    summary = _plan_summary(label_plan, expected, width, out, source)
    if options.output.as_json:
        print(json.dumps(summary, ensure_ascii=False))
    else:
        _print_plan(summary, expected, width, source)
    if serve:
        from hqm_label.labelling import serve as open_page
        from hqm_label.labelling import status

        open_page(plan=out)
        status(plan=out)


def _absolute(benchmark: str) -> str:
    """Return a benchmark's folder or file from the root on, and a name as it is."""
    if Path(benchmark).exists():
        return str(Path(benchmark).absolute())
    return benchmark


def _check_plan(
    design: str, raters: Sequence[str], overlap: float, tau: float, path: Path
) -> Design:
    """Refuse a plan that cannot be drawn, and a file whose labels it would orphan."""
    from hqm_label.study_plan import DESIGNS, check_design, labels_path

    if design not in DESIGNS:
        remedy = f"There are {', '.join((*DESIGNS, _PROTOCOL))}."
        message = f"there is no design {design!r}"
        raise UsageError(message, remedy=remedy, name=design, choices=DESIGNS)
    check_design(design, raters, overlap, tau)
    if labels_path(path).exists():
        raise UsageError(
            f"there are labels of this plan already ({labels_path(path).name})",
            location=str(path),
            remedy="Name another file with --out; labels belong to one plan.",
        )
    return design


def _protocol_labels(candidates: Sequence[Candidate]) -> int:
    """Return the number of answers to the items that the paper's protocol takes."""
    n_items = len({candidate.item for candidate in candidates})
    return min(_PROTOCOL_ITEMS, n_items) * len(candidates) // n_items


def _forecaster(
    population: _Population,
    design: Design,
    tau: float,
    expected_error: float | None,
    width: float | None,
) -> _Predict | None:
    """Return the forecast as a function of the number of labels; None without two scores."""
    from hqm_label.study_plan import forecast

    if sum(isfinite(candidate.score) for candidate in population.candidates) < 2:
        return None
    return partial(
        forecast,
        population.candidates,
        design,
        tau=tau,
        supposed_error=population.supposed_error if expected_error is None else expected_error,
        width=width,
    )


def _labels_for_width(predict: _Predict | None, width: float | None, n_answers: int) -> int:
    """Return how many labels an interval of this width needs; refuse a width that none reaches."""
    if predict is None or width is None:
        raise UsageError(
            "the number of labels is missing", remedy="Give it with --labels, or a --width."
        )
    # the number that a width needs does not depend on the number that the forecast is for
    labels_needed = predict(n_answers // 2 or 1).labels_needed
    if labels_needed is None:
        raise UsageError(
            f"no number of labels makes an interval of {width:g}: there are {n_answers:,} answers",
            remedy="Ask for a wider one, or more questions.",
        )
    return labels_needed


def _draw(
    label_plan: LabelPlan,
    candidates: Sequence[Candidate],
    n_labels: int,
    form_name: str,
    gold: Mapping[tuple[str, str], float] | None,
) -> tuple[PlanRow, ...]:
    """Draw the rows of a plan, and mix in gold answers."""
    import numpy as np

    from hqm_label.study_plan import add_gold, draw_rows

    rng = np.random.default_rng(label_plan.seed)
    rows = draw_rows(candidates, label_plan, n_labels, rng)
    # in a review, candidates are items, and belong to no respondent
    if form_name != "original" and not candidates[0].respondent:
        rows = tuple(replace(row, form=form_name) for row in rows)
    if gold is not None:
        rows = add_gold(rows, gold, candidates, label_plan.raters, rng)
    return rows


# --- what a plan is drawn from ---


class _Population(NamedTuple):
    """The answers or items that may be drawn, and what is known of their scores' errors."""

    candidates: list[Candidate]
    error_source: str = ""
    """What the chances of error were estimated from, in words; empty where nothing is known."""
    is_calibrated: bool = False
    """Whether the chances may be taken for what they say."""

    @property
    def supposed_error(self) -> float | None:
        """The share of wrong scores where that of the chances is not to be believed.

        Chances that are not calibrated say which scores are doubtful, not how many are wrong.
        """
        from hqm_label.study_plan import SUPPOSED_ERROR

        if self.error_source and not self.is_calibrated:
            return SUPPOSED_ERROR
        return None


class _ScoredAnswers(NamedTuple):
    """(respondents, items of `form`): scores and chances of error, and their source."""

    form: Form
    scores: Array
    errors: Array
    error_source: str = ""
    is_calibrated: bool = False


def _answer_population(session: Session, benchmark: Benchmark, *, unscored: bool) -> _Population:
    """Return the stored answers to the original form, run 0.

    With `unscored`, those without a score too.
    """
    import numpy as np

    from hqm.administration.stored_answers import Answers
    from hqm.labels.people_labels import answer_digest
    from hqm.scoring.rules import ANSWERED
    from hqm_label.study_plan import Candidate

    respondents = session.stored_respondents(benchmark)
    if not respondents:
        raise UsageError(
            f"the store holds no answers to {benchmark.name}",
            location=str(session.store.path),
            remedy="Name another store with --store.",
        )
    judging = session.options.judging
    if benchmark.roles and not judging.judges and not session.judging.file_judges(benchmark):
        unscored = True
        nothing = np.full((len(respondents), len(benchmark.original)), np.nan)
        scored = _ScoredAnswers(benchmark.original, nothing, nothing)
    else:
        scored = _scored_answers(session, benchmark, [r.name for r in respondents])
    reader = Answers(session.asks)
    candidates = []
    for i, respondent in enumerate(respondents):
        responses = reader.responses(benchmark, scored.form, respondent, 0)
        for j, (item, answer) in enumerate(zip(scored.form.items, responses, strict=True)):
            if answer is None or answer.outcome not in ANSWERED:
                continue
            if unscored or isfinite(scored.scores[i, j]):
                candidates.append(
                    Candidate(
                        item=item.id,
                        respondent=respondent.name,
                        cluster=item.cluster or item.image or item.id,
                        digest=answer_digest(answer),
                        score=float(scored.scores[i, j]),
                        error=float(scored.errors[i, j]),
                    )
                )
    if not candidates:
        raise UsageError(
            f"no answer to {benchmark.name} is scored",
            remedy=f"Look at `hqm audit {benchmark.name} --offline` first.",
        )
    return _Population(candidates, scored.error_source, scored.is_calibrated)


def _scored_answers(
    session: Session, benchmark: Benchmark, respondents: Sequence[str]
) -> _ScoredAnswers:
    """Return the scores of an audit, in the order of these respondents."""
    import numpy as np

    from hqm_label.study_plan import estimate_errors

    evidence = session.evidence(benchmark, pictures=False)
    errors = estimate_errors(evidence.matrices, evidence.reference)
    matrix = evidence.first
    rows = {name: i for i, name in enumerate(matrix.respondents)}
    columns = {item.id: i for i, item in enumerate(matrix.items)}
    # where a rule stopped the asking, the audit looks at the pictures that all respondents were
    # asked
    form = benchmark.original
    form = replace(form, items=tuple(item for item in form.items if item.id in columns))
    cells = np.ix_([rows[name] for name in respondents], [columns[item.id] for item in form.items])
    return _ScoredAnswers(
        form, matrix.values[cells], errors.errors[cells], errors.name, errors.calibrated
    )


def _item_population(benchmark: Benchmark, form_name: str, form_file: str) -> _Population:
    """Return the items of a form, for their review."""
    from hqm.administration.stored_answers import form_named
    from hqm.forms.make_forms import read_form
    from hqm_label.study_plan import Candidate, item_digest

    if form_file:
        form = read_form(Path(form_file), benchmark.original, form_name)
    else:
        form = form_named(benchmark, form_name)
    candidates = []
    for item in form.items:
        cluster = item.cluster or item.image or item.id
        candidates.append(
            Candidate(item=item.id, respondent="", cluster=cluster, digest=item_digest(item))
        )
    return _Population(candidates)


def _read_gold(
    benchmark: Benchmark, path: Path, candidates: Sequence[Candidate], schema: Schema
) -> dict[tuple[str, str], float]:
    """Return (respondent, item) -> the label that is known to be right."""
    respondents = list(dict.fromkeys(c.respondent for c in candidates))
    answers = {(c.respondent, c.item) for c in candidates}
    labels: dict[tuple[str, str], float | None] = {}
    for judgement in benchmark.read_criterion(path, benchmark.original, respondents):
        # of several raters the pooled label, which comes before their own
        labels.setdefault((judgement.respondent, judgement.item), judgement.label)
    gold = {}
    for (respondent, item), label in labels.items():
        if label is None:
            message = f"{item!r} of {respondent} has no label"
            raise DataError(message, location=str(path), remedy="Remove the row.")
        if not any(schema.has_share(value, label) for value in schema.values):
            message = f"{item!r} of {respondent} has the label {label:g}, which no rater can give"
            remedy = f"Write the share of a value of the schema {schema.name}, or remove the row."
            raise DataError(message, location=str(path), remedy=remedy)
        if (respondent, item) not in answers:
            message = f"{respondent} has no answer to {item!r}"
            raise DataError(message, location=str(path), remedy="Remove the row.")
        gold[respondent, item] = float(label)
    return gold


# --- what is printed of a plan ---


def _plan_summary(
    label_plan: LabelPlan, expected: Forecast | None, width: float | None, path: Path, source: str
) -> dict[str, Any]:
    """Return what a plan holds and what is expected of it, as JSON data."""
    rows = label_plan.rows

    def n_rows(name: str) -> int:
        return sum(name in row.raters for row in rows)

    counts = {name: n_rows(name) for name in label_plan.raters}
    summary: dict[str, Any] = {
        "plan": str(path),
        "labels": sum(row.probability is not None for row in rows),
        "population": label_plan.population,
        "design": label_plan.design,
        "respondents": len({row.respondent for row in rows} - {""}),
        "items": len({row.item for row in rows}),
        "raters": counts,
        "by_all_raters": sum(len(row.raters) > 1 for row in rows),
        "gold": sum(row.gold is not None for row in rows),
        "errors_from": source,
    }
    if expected is not None:
        summary |= {
            "expected_width": expected.width,
            "expected_width_of_one": expected.width_of_one,
            "supposed_error": expected.supposed_error,
            "width_asked_for": width,
            "labels_needed": expected.labels_needed,
        }
    return summary


def _print_plan(
    summary: Mapping[str, Any], expected: Forecast | None, width: float | None, source: str
) -> None:
    respondents = summary["respondents"]
    population = f"{summary['population']:,} items"
    if respondents:
        population = f"{summary['population']:,} answers of {respondents} respondents"
    counts = ", ".join(f"{name} {count:,}" for name, count in summary["raters"].items())
    lines = [
        f"{summary['labels']:,} of {population} to label, design {summary['design']}",
        f"raters: {counts}; {summary['by_all_raters']:,} labelled by all",
    ]
    if summary["gold"]:
        lines.append(f"gold:   {summary['gold']:,} answers with a known label are mixed in")
    if expected is not None:
        lines += _forecast_lines(expected, width, source, respondents)
    lines += [f"plan:   {summary['plan']}", f"next:\n  hqm label serve {summary['plan']}"]
    print_lines(*lines)


def _forecast_lines(
    expected: Forecast, width: float | None, source: str, respondents: int
) -> Iterator[str]:
    """Yield the expected width of the intervals, and the assumption that it rests on."""
    single_width = ""
    if respondents > 1 and isfinite(expected.width_of_one):
        single_width = f", {expected.width_of_one:.3f} of a single respondent's"
    yield (
        f"width:  {expected.width:.3f} from end to end is expected of the 95% interval of the mean"
        f" corrected score{single_width}"
    )
    basis = "supposed: a second judge would show it, or say it with --expected-error"
    yield (
        f"        supposing that {expected.supposed_error:.1%} of the scores are wrong"
        f" ({f'from {source}' if source else basis})"
    )
    if width is not None:
        answer = "no number of labels reaches it"
        if expected.labels_needed is not None:
            answer = f"{expected.labels_needed:,} labels"
        yield f"        for a width of {width:g}: {answer}"
