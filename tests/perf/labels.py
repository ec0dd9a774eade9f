"""Simulated studies with people: what intervals of corrected scores hold, what active sampling
saves, what a plan forecasts.

    OMP_NUM_THREADS=1 python -m tests.perf.labels            # writes docs/people_numbers.md
    OMP_NUM_THREADS=1 python -m tests.perf.labels --seeds 5  # a trial, printed only

Answers, errors of the scorer and labels come from a generator that is no model of any estimator: a
respondent is right by its ability and by the item's and the picture's difficulty; the scorer errs
more on some items than on others, and on what is doubtful more often to one side than to the other;
raters err independently. Every number goes the way of an audit: a plan is drawn by
`hqm_label.study_plan.draw`, labels are pooled by `pool_labels`, and the indicators of the family
`criterion` compute intervals and coefficients.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from hqm_label.study_plan import Candidate, Design, LabelPlan, PlanRow, draw_rows, forecast

from hqm.imports.human_labels import LabelContext
from hqm.indicators import Protocol, case
from hqm.indicators.cases import Case
from hqm.indicators.indicator import Result, family_indicators
from hqm.labels.people_labels import FAITHFUL, Labels, labels_matrix, pool_labels
from hqm.psychometrics import stage_agreement
from hqm.scoring.matrix import MatrixBuilder, ScoreMatrix
from hqm.scoring.metrics import Metric, mean_of
from hqm.types import Cell, Form, Item, Judgement, Response, Verdict
from tests.indicator_answers import answer

ACCURACY = Metric("accuracy", mean_of("right"), share=True)
PAGE = Path(__file__).resolve().parents[2] / "docs" / "people_numbers.md"
Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class World:
    """Answers of respondents to items, four of which share a picture: true labels, scores, and the
    judge's chance of error.
    """

    truth: Array
    scores: Array
    doubt: Array
    """(respondents, items): the chance of error that the judge's own probability says, which is
    roughly right.
    """
    form: Form

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"model {i}" for i in range(len(self.truth)))

    @property
    def matrix(self) -> ScoreMatrix:
        """The benchmark's scores."""
        builder = MatrixBuilder(
            Cell(),
            self.form,
            lambda _, r: Verdict(float(r.text), {"right": float(r.text), "n": 1.0}),
            lambda _: (),
        )
        for name, row in zip(self.names, self.scores, strict=True):
            builder.add(name, [Response(f"{score:g}") for score in row])
        return builder.build()

    def candidates(self) -> list[Candidate]:
        """All answers, as a plan chooses from them."""
        return [
            Candidate(
                item=item.id,
                respondent=name,
                cluster=item.cluster,
                digest="",
                score=float(self.scores[r, i]),
                error=float(self.doubt[r, i]),
            )
            for r, name in enumerate(self.names)
            for i, item in enumerate(self.form.items)
        ]


def draw_truth(rng: np.random.Generator, respondents: int, items: int) -> Array:
    """(respondents, items): whether an answer is right; items of a picture are alike."""
    pictures = -(-items // 4)
    ability = np.linspace(-0.2, 1.9, respondents)[:, None]
    difficulty = rng.gumbel(-0.4, 0.8, items) + np.repeat(rng.normal(0, 0.5, pictures), 4)[:items]
    is_right = rng.random((respondents, items)) < 1 / (1 + np.exp(difficulty - ability))
    return is_right.astype(float)


def world(rng: np.random.Generator, respondents: int, items: int, *, errors: float = 0.08) -> World:
    """A world in which the scorer errs with the mean chance `errors`, unevenly."""
    truth = draw_truth(rng, respondents, items)
    # most answers are clear, a few are doubtful, and an item's wording makes all answers to it more
    # or less doubtful
    raw = rng.beta(0.25, 2.5, (respondents, items)) * rng.lognormal(0, 0.5, items)
    q = np.minimum(raw * errors / raw.mean(), 0.5)
    q *= np.where(truth == 1, 0.85, 1.3)
    wrong = rng.random(q.shape) < q
    scores = np.where(wrong, 1 - truth, truth)
    stated_errors = np.clip(q * rng.lognormal(0, 0.25, q.shape), 0.001, 0.5)
    form = Form(
        "original",
        tuple(
            Item(f"i{i:04d}", f"What is {i}?", "vqa", "x", cluster=f"p{i // 4:04d}")
            for i in range(items)
        ),
    )
    return World(truth, scores, stated_errors, form)


def labelled(
    simulation: World,
    rows: Sequence[PlanRow],
    rng: np.random.Generator,
    error: float = 0.0,
    *,
    chances: bool = True,
) -> Labels:
    """What raters with this error say of the answers of a plan."""
    row_of = {name: i for i, name in enumerate(simulation.names)}
    column_index = {item.id: i for i, item in enumerate(simulation.form.items)}
    judgements = []
    for row in rows:
        truth = simulation.truth[row_of[row.respondent], column_index[row.item]]
        context = LabelContext(probability=row.probability if chances else None).to_reply()
        rater_labels = [float(1 - truth if rng.random() < error else truth) for _ in row.raters]
        judgements.append(
            Judgement("human", row.item, row.respondent, float(np.mean(rater_labels)), context)
        )
        judgements += [
            Judgement(f"human:{rater}", row.item, row.respondent, label, context)
            for rater, label in zip(row.raters, rater_labels, strict=True)
        ]
    return Labels(tuple(judgements))


def study(simulation: World, labels: Labels, matrix: ScoreMatrix | None = None) -> Case:
    """The labels beside the scores, as an audit has them."""
    first = matrix if matrix is not None else simulation.matrix
    sample = pool_labels(labels, "human")
    human_matrix = labels_matrix(
        Cell(judge="human"),
        simulation.form,
        first.respondents,
        sample.judgements,
        sample.probabilities,
    )
    protocol = Protocol("simulated", "", "")
    return case(
        "criterion",
        "judge",
        (first, human_matrix),
        ACCURACY,
        protocol,
        second_metric=FAITHFUL,
        sample=sample,
    )


def result(case: Case, name: str) -> Result:
    """What the indicator of this name says; of two with one name, the one that is listed."""
    for indicator in family_indicators("criterion"):
        if indicator.name == name and (outcome := answer(case, indicator)) is not None:
            return outcome
    raise LookupError(name)


def covers_truth(simulation: World, outcome: Result) -> list[bool]:
    """Of every respondent, whether the interval of its corrected score holds its true share of
    faithful answers.
    """
    by: Mapping[str, Mapping[str, float | None]] = outcome.detail["by_respondent"]
    holds = []
    for row, name in zip(simulation.truth, simulation.names, strict=True):
        low, high = by[name]["low"], by[name]["high"]
        holds.append(low is not None and high is not None and low <= float(row.mean()) <= high)
    return holds


def plan(
    design: Design, raters: Sequence[str] = ("a",), *, overlap: float = 1.0, tau: float = 0.0
) -> LabelPlan:
    return LabelPlan(
        benchmark="simulated", design=design, raters=tuple(raters), overlap=overlap, tau=tau
    )


@dataclass(frozen=True)
class ThreeRaters:
    """Figure 1."""

    coverage: float
    worst: int
    """Of the seed with the fewest: how many of 10 respondents' intervals hold the truth."""
    ninth: float
    """The share of seeds in which at least 9 of 10 do."""
    exist: bool
    """Whether kappa, sensitivity and specificity exist in every seed."""


def three_raters(seeds: int, items: int = 1008, n_labelled_items: int = 100) -> ThreeRaters:
    """Three raters with 8% error, all of them on `n_labelled_items` items x 10 respondents."""
    counts, exist = [], True
    for seed in range(seeds):
        rng = np.random.default_rng([1, seed])
        simulation = world(rng, 10, items)
        rows = draw_rows(
            simulation.candidates(), plan("same-items", "abc"), 10 * n_labelled_items, rng
        )
        labelled_case = study(simulation, labelled(simulation, rows, rng, 0.08))
        counts.append(sum(covers_truth(simulation, result(labelled_case, "prediction_powered"))))
        exist &= all(
            result(labelled_case, name).coefficient.status == "ok"
            for name in ("kappa", "sensitivity", "specificity")
        )
    return ThreeRaters(
        float(np.mean(counts)) / 10, min(counts), float(np.mean(np.array(counts) >= 9)), exist
    )


@dataclass(frozen=True)
class Oversampled:
    """Figure 2."""

    coverage: float
    ninth: float
    flagged: float
    """The share of seeds in which, without probabilities, the flag is raised and nothing is
    corrected.
    """
    plain: float
    """What the intervals would hold if the same labels were taken for a random sample: why
    probabilities matter.
    """


def oversampled(seeds: int, items: int = 1008) -> Oversampled:
    """Answers scored wrong are labelled with probability .5, others with .1."""
    counts, flagged, plain = [], [], []
    for seed in range(seeds):
        rng = np.random.default_rng([2, seed])
        simulation = world(rng, 10, items)
        p = np.where(simulation.scores == 0, 0.5, 0.1)
        rows = [
            PlanRow(
                uid=f"{r}.{i}",
                item=simulation.form.items[i].id,
                respondent=simulation.names[r],
                probability=float(p[r, i]),
                raters=("a",),
            )
            for r, i in zip(*np.nonzero(rng.random(p.shape) < p), strict=True)
        ]
        matrix = simulation.matrix
        counts.append(
            sum(
                covers_truth(
                    simulation,
                    result(
                        study(simulation, labelled(simulation, rows, rng), matrix),
                        "prediction_powered",
                    ),
                )
            )
        )
        case_without_chances = study(
            simulation, labelled(simulation, rows, rng, chances=False), matrix
        )
        refused = [
            result(case_without_chances, name) for name in ("prediction_powered", "rogan_gladen")
        ]
        flagged.append(
            all(
                "LABELS_NOT_RANDOM" in outcome.flags
                and not math.isfinite(outcome.coefficient.value)
                for outcome in refused
            )
        )
        from hqm.indicators.labelled import beside_people, label_clusters
        from hqm.psychometrics import ppi_scores

        scores = ppi_scores(
            *beside_people(case_without_chances), label_clusters(case_without_chances)
        ).scores
        plain += [
            s.low <= t <= s.high for s, t in zip(scores, simulation.truth.mean(axis=1), strict=True)
        ]
    return Oversampled(
        float(np.mean(counts)) / 10,
        float(np.mean(np.array(counts) >= 9)),
        float(np.mean(flagged)),
        float(np.mean(plain)),
    )


@dataclass(frozen=True)
class Coverage:
    """How often the intervals of one design hold the truth."""

    all_items: float
    """The share of faithful answers to all items of the kind, which the interval is for."""
    listed_items: float
    """That of the items at hand."""


@dataclass(frozen=True)
class Active:
    """Figure 3."""

    rmse_ratio: float
    active: Coverage
    uniform: Coverage
    width_ratio: float


def active(replicates: int, items: int = 400, labels: int = 100) -> Active:
    """The mean corrected score of 10 respondents x 400 items from 100 labels: active with tau .8
    against uniform.

    Each replicate has a world of its own: other items of the same kind, answered by the same
    respondents.
    """
    kind = [draw_truth(np.random.default_rng([99, w]), 10, 40_000).mean() for w in range(3)]
    everywhere = float(np.mean(kind))
    errors: dict[str, list[float]] = {"uniform": [], "active": []}
    widths: dict[str, list[float]] = {"uniform": [], "active": []}
    holds: dict[str, list[tuple[bool, bool]]] = {"uniform": [], "active": []}
    for replicate in range(replicates):
        rng = np.random.default_rng([4, replicate])
        simulation = world(np.random.default_rng([77, replicate]), 10, items)
        matrix, candidates = simulation.matrix, simulation.candidates()
        truth = float(simulation.truth.mean())
        designs: tuple[tuple[Design, float], ...] = (("uniform", 0.0), ("active", 0.8))
        for design, tau in designs:
            rows = draw_rows(candidates, plan(design, tau=tau), labels, rng)
            value = result(
                study(simulation, labelled(simulation, rows, rng), matrix), "prediction_powered"
            ).coefficient
            errors[design].append(value.value - truth)
            bounds = value.fixed
            low, high = (math.inf, -math.inf) if bounds is None else (bounds.low, bounds.high)
            holds[design].append((low <= everywhere <= high, low <= truth <= high))
            widths[design].append(bounds.high - bounds.low if bounds is not None else math.nan)
    rmse = {
        design: math.sqrt(float(np.mean(np.square(values)))) for design, values in errors.items()
    }
    coverage_by_design = {
        design: Coverage(*np.mean(values, axis=0).tolist()) for design, values in holds.items()
    }
    return Active(
        rmse["active"] / rmse["uniform"],
        coverage_by_design["active"],
        coverage_by_design["uniform"],
        float(np.nanmean(widths["active"]) / np.nanmean(widths["uniform"])),
    )


@dataclass(frozen=True)
class Stages:
    """Figure 6: the share of intervals of a stage's precision, recall and F1 that hold the
    truth.
    """

    precision: float
    recall: float
    f1: float


def stages(replicates: int, pictures: int = 40) -> Stages:
    """Units of a picture are alike: a picture is hard, and then the judge errs on many of its
    units.
    """

    def draw_stages(rng: np.random.Generator, count: int) -> tuple[Array, Array, Array]:
        member = np.repeat(np.arange(count), rng.integers(2, 14, count))
        hard = rng.beta(0.6, 3, count)[member]
        human = (rng.random(len(member)) < 0.8 - 0.4 * hard).astype(float)
        wrong = rng.random(len(member)) < hard
        return np.where(wrong, 1 - human, human), human, member.astype(float)

    truth = stage_agreement(*draw_stages(np.random.default_rng([6, 0]), 400_000))
    names = ("precision", "recall", "f1")
    holds: dict[str, list[bool]] = {name: [] for name in names}
    for replicate in range(replicates):
        agreement = stage_agreement(*draw_stages(np.random.default_rng([7, replicate]), pictures))
        for name in names:
            bounds = getattr(agreement, name).fixed
            holds[name].append(bounds.low <= getattr(truth, name).value <= bounds.high)
    return Stages(*(float(np.mean(holds[name])) for name in names))


@dataclass(frozen=True)
class Widths:
    """Demand 4."""

    share_within: float
    """The share of simulations in which the realised width is within 20% of the forecast."""
    ratio: float
    """The median of realised by forecast width."""


def widths(seeds: int, design: Design, labels: int, tau: float = 0.0, items: int = 400) -> Widths:
    """Realised widths of the mean corrected score, by the forecast of the plan; each simulation has
    a world of its own.
    """
    ratios = []
    for seed in range(seeds):
        rng = np.random.default_rng([5, seed])
        simulation = world(rng, 10, items)
        candidates = simulation.candidates()
        expected = forecast(candidates, design, labels, tau=tau).width
        rows = draw_rows(candidates, plan(design, tau=tau), labels, rng)
        bounds = result(
            study(simulation, labelled(simulation, rows, rng)), "prediction_powered"
        ).coefficient.fixed
        ratios.append((bounds.high - bounds.low) / expected if bounds is not None else math.nan)
    within_tolerance = np.abs(np.array(ratios) - 1) <= 0.2
    return Widths(float(within_tolerance.mean()), float(np.nanmedian(ratios)))


def page(
    raters: ThreeRaters,
    two: Oversampled,
    three: Active,
    four: Mapping[str, Widths],
    six: Stages,
    counts: tuple[int, int, int],
    seconds: float,
) -> str:
    """The page of the documentation."""
    seeds, replicates, simulations = counts
    faith = faithscore()
    lines = [
        "# Studies with people, simulated",
        "",
        "Simulated answers, from a generator that no estimator assumes, go through the same code as",
        "an audit's.",
        "",
        (
            "    OMP_NUM_THREADS=1 python -m tests.perf.labels --sizes"
            f" {seeds},{replicates},{simulations}"
        ),
        "",
        f"It takes about {seconds / 60:.0f} minutes and writes this page. The standard error of a",
        f"share of .95 is {math.sqrt(0.05 * 0.95 / replicates):.3f} over {replicates:,} replicates.",
        "",
        "| | what | target | measured |",
        "|---|---|---|---|",
        (
            f"| 1 | three raters with 8% error, 100 items x 10 respondents of 1,008 items, {seeds}"
            " seeds: intervals of corrected scores that contain the true value | .93 |"
            f" {raters.coverage:.3f} |"
        ),
        (
            "| | at least 9 of 10 respondents in a seed: share of seeds (fewest in any seed:"
            f" {raters.worst}) | | {raters.ninth:.2f} |"
        ),
        (
            "| | kappa, sensitivity and specificity exist in every seed | yes |"
            f" {'yes' if raters.exist else 'no'} |"
        ),
        (
            f"| 2 | wrong answers labelled with probability .5, right ones with .1, {seeds} seeds:"
            f" intervals that contain the true value | .93 | {two.coverage:.3f} |"
        ),
        f"| | at least 9 of 10 respondents in a seed: share of seeds | | {two.ninth:.2f} |",
        (
            "| | the same labels without probabilities: `LABELS_NOT_RANDOM`, nothing corrected | 1"
            f" | {two.flagged:.2f} |"
        ),
        (
            "| | the same labels, if they were treated as a random sample: intervals that hold the"
            f" truth | | {two.plain:.3f} |"
        ),
        (
            f"| 3 | active (tau .8), 100 labels of 4,000 answers, {replicates} replicates: root"
            f" mean square error, by that of uniform | at most .82 | {three.rmse_ratio:.2f} |"
        ),
        (
            "| | intervals that contain the true value for all items of the kind, active | .93 to .97 |"
            f" {three.active.all_items:.3f} |"
        ),
        f"| | the same for the 400 items at hand, active | | {three.active.listed_items:.3f} |",
        (
            "| | intervals that contain the true value for all items of the kind, uniform | |"
            f" {three.uniform.all_items:.3f} |"
        ),
        f"| | the same for the 400 items at hand, uniform | | {three.uniform.listed_items:.3f} |",
        f"| | width, by that of uniform | | {three.width_ratio:.2f} |",
        *(
            f"| 4 | forecast of `hqm label plan`, design {name}, {simulations} simulations:"
            f" realised width within 20% of it (median of the ratio: {design_widths.ratio:.2f}) | .90 |"
            f" {design_widths.share_within:.3f} |"
            for name, design_widths in four.items()
        ),
        (
            "| 5 | FaithScore's released annotation, audited without a judge: scores by people of"
            f" LLaVA and InstructBLIP, and facts | .764, .780, 1,380 | {faith} |"
        ),
        (
            f"| 6 | a judge's stage, 40 pictures with 2 to 13 units each, {10 * simulations:,}"
            " simulations: intervals that contain the true value; precision, recall, F1 | .95 |"
            f" {six.precision:.3f}, {six.recall:.3f}, {six.f1:.3f} |"
        ),
        "",
        "The intervals are about other items of the same kind. In rows 1 and 2 the truth is that of",
        "the items at hand, so they hold it more often than promised; row 3 shows both. Row 5 needs",
        "the released data (`hqm fetch faithscore`). The test that finds the biased sample of row 2:",
        "",
        "```python",
        ">>> import numpy as np",
        ">>> from hqm.psychometrics import labels_at_random",
        ">>> rng = np.random.default_rng(1)",
        ">>> scores = rng.integers(0, 2, (10, 200)).astype(float)",
        ">>> chosen = rng.random(scores.shape) < np.where(scores == 0, 0.5, 0.1)",
        ">>> labels_at_random(scores, np.where(chosen, scores, np.nan)).p < 0.001",
        "True",
        "",
        "```",
        "",
    ]
    return "\n".join(lines)


def faithscore() -> str:
    """The scores of FaithScore's two respondents by people, and the number of facts, out of `hqm
    audit`.
    """
    folder = Path(os.environ.get("HQM_DATA", "")) / "faithscore"
    annotation = folder / "annotation.jsonl"
    if not annotation.is_file():
        return "not measured: no data"
    from typer.testing import CliRunner

    from hqm.cli import program

    with tempfile.TemporaryDirectory() as out_dir:
        outcome = CliRunner().invoke(
            program(),
            [
                "audit",
                "faithscore",
                "--recorded",
                str(annotation),
                "--criterion",
                str(annotation),
                "--forms",
                "original",
                "--data",
                str(folder),
                "-q",
                "--out",
                out_dir,
            ],
        )
        if outcome.exception is not None:
            raise outcome.exception
        (audit,) = json.loads((Path(out_dir) / "audit.json").read_text())["audits"]
    scores = [respondent["scores"] for respondent in audit["respondents"]]
    means = ", ".join(f"{score['faithscore']:.3f}".removeprefix("0") for score in scores)
    return f"{means}, {round(sum(score['facts'] * audit['items'] for score in scores)):,}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--seeds", type=int, default=0, help="a trial with so many simulations each, printed only"
    )
    parser.add_argument(
        "--sizes",
        default="50,3000,200",
        help="seeds of figures 1 and 2, replicates of 3, simulations of 4",
    )
    options = parser.parse_args()
    trial = options.seeds
    began = time.process_time()
    seeds, replicates, simulations = (
        (trial, trial, trial) if trial else map(int, options.sizes.split(","))
    )
    raters = three_raters(seeds)
    print(f"1  {raters}", flush=True)
    two = oversampled(seeds)
    print(f"2  {two}", flush=True)
    three = active(replicates)
    print(f"3  {three}", flush=True)
    four = {
        "uniform": widths(simulations, "uniform", 300),
        "same-items": widths(simulations, "same-items", 600),
        "active": widths(simulations, "active", 300, 0.8),
    }
    for name, design_widths in four.items():
        print(f"4  {name} {design_widths}", flush=True)
    six = stages(10 * simulations)
    print(f"6  {six}", flush=True)
    spent = time.process_time() - began
    print(f"{spent / 60:.1f} minutes of processor time")
    if not trial:
        PAGE.write_text(
            page(raters, two, three, four, six, (seeds, replicates, simulations), spent),
            encoding="utf-8",
        )
        print(PAGE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
