"""How often every interval holds the truth, in every world of `coverage_worlds`; prints a
markdown table of all cells, and the summary in the docs.

    python -m tests.perf.coverage_table [--inference others] [--replicates 500] [--jobs 2]
        [--only "families of 4" ...] [--respondents 20 ...] [--estimates g phi] [--write]

In each replicate respondents, items and answers are drawn anew. An interval for "these" must hold
the truth of the respondents drawn, over other items and runs; an interval for "others" the truth of
the whole population. An estimate that refuses an interval with a reason is counted apart: `-` where
it never has one. All 500 replicates take about 25 minutes on two idle cores.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from hqm.psychometrics import (
    Coefficient,
    agreement_coefficients,
    agreement_interval,
    cover_fixed_interval,
    criterion_validity,
    cronbach_alpha,
    family_dependence,
    form_reliability,
    g_and_phi,
    icc,
    mean_shift,
    omega_of_types,
    pearson,
    rho_g,
    rho_g_of_scores,
    too_few_families,
)
from hqm.psychometrics.reliability.score_dependability import Dependability
from tests.perf.coverage_worlds import (
    Respondents,
    Study,
    World,
    draw_respondents,
    draw_study,
    population,
    truths,
    worlds,
    worlds_of_others,
)

GOAL = (0.93, 0.97)
PAGE = Path(__file__).parent.parent.parent / "docs" / "psychometrics_coverage.md"


@dataclass(frozen=True, eq=False)
class Answers:
    """One replicate as an estimator sees it."""

    world: World
    study: Study
    n_effective: float

    families: tuple[str, ...] = ()

    @property
    def related(self) -> Any:
        """What estimators are told of relatives."""
        return {"n_effective": self.n_effective, "families": self.families}

    @property
    def scores(self) -> np.ndarray:
        return self.study.scores(self.world.metric)

    @property
    def leave_one_out(self) -> np.ndarray:
        return self.study.leave_one_out(self.world.metric)


def _retest(answers: Answers) -> Coefficient:
    if answers.world.metric == "mean":
        return rho_g(answers.study.runs, answers.study.pictures, **answers.related).rho
    return rho_g_of_scores(
        answers.scores[:2], replicates=answers.leave_one_out[:2], **answers.related
    ).rho


def _compared(statistic: str, answers: Answers, runs: tuple[int, int] = (0, 2)) -> Coefficient:
    scores, leave_one_out = answers.scores[list(runs)], answers.leave_one_out[list(runs)]
    if statistic == "mean_shift":
        return mean_shift(
            *scores,
            replicates=(leave_one_out[0], leave_one_out[1]),
            n_effective=answers.n_effective,
        )
    value = (
        pearson(*scores, **answers.related)
        if statistic == "pearson"
        else icc(scores.T, **answers.related).a1
    )
    left = agreement_coefficients(*leave_one_out)[statistic]
    bounds = agreement_interval(value.value, left, *leave_one_out, scaled=statistic == "pearson")
    return cover_fixed_interval(replace(value, fixed=bounds))


def _form_correlation(answers: Answers) -> Coefficient:
    scores, leave_one_out = answers.scores, answers.leave_one_out
    if answers.world.metric == "mean":
        noise = rho_g(answers.study.runs, answers.study.pictures).noise
    else:
        noise = rho_g_of_scores(scores[:2], replicates=leave_one_out[:2]).noise
    return form_reliability(
        scores[0],
        scores[2],
        noise,
        noise,
        replicates=(leave_one_out[0], leave_one_out[2]),
        **answers.related,
    ).true


def _alpha(answers: Answers) -> Coefficient:
    return cronbach_alpha(
        answers.study.runs[0],
        answers.study.pictures,
        **answers.related,
        drop="answers",
    ).coefficient


def _g_or_phi(coefficient_name: str, answers: Answers) -> Coefficient:
    value: Coefficient = getattr(_dependability(answers), coefficient_name)
    return cover_fixed_interval(value)


@lru_cache(maxsize=1)
def _dependability(answers: Answers) -> Dependability:
    """Both coefficients of one replicate, made once."""
    runs = np.moveaxis(answers.study.runs, 0, 2)
    return g_and_phi(runs, "run", answers.study.pictures, replicated=True, **answers.related)


def _omega(answers: Answers) -> Coefficient:
    study = answers.study
    return omega_of_types(
        study.runs[0],
        [str(t) for t in study.types],
        study.pictures,
        **answers.related,
    )


def _criterion(answers: Answers) -> Coefficient:
    study = answers.study
    return criterion_validity(
        study.automatic,
        study.labels,
        study.pictures,
        n_eff=answers.n_effective,
        families=answers.families,
    ).disattenuated


ESTIMATES: Mapping[str, Callable[[Answers], Coefficient]] = {
    "rho_g": _retest,
    "pearson": partial(_compared, "pearson"),
    "icc_a1": partial(_compared, "icc_a1"),
    "mean_shift": partial(_compared, "mean_shift"),
    "icc_a1_rerun": partial(_compared, "icc_a1", runs=(0, 1)),
    "form_correlation": _form_correlation,
    "alpha": _alpha,
    "omega": _omega,
    "g": partial(_g_or_phi, "g"),
    "phi": partial(_g_or_phi, "phi"),
    "criterion": _criterion,
}


LOCATION = ("mean_shift",)
"""The estimates that are no ratio of variances (`Indicator.compares_spread`): both their ends
speak of others.
"""


@dataclass(frozen=True)
class CellCoverage:
    """What came of the replicates of one cell: intervals given, those that held the truth, and
    their median width.
    """

    replicates: int
    n_intervals: int
    n_covering: int
    width: float
    one_sided: bool = False

    @property
    def share(self) -> float:
        return self.n_covering / self.n_intervals if self.n_intervals else math.nan

    @property
    def error(self) -> float:
        """The Monte Carlo standard error of the share."""
        return math.sqrt(0.95 * 0.05 / self.n_intervals) if self.n_intervals else math.nan

    @property
    def refused(self) -> bool:
        """Whether the estimate nearly always has no interval here."""
        return self.n_intervals < 0.02 * self.replicates


@lru_cache(maxsize=64)
def truths_of_others(world: World) -> Mapping[str, float]:
    """The truths of the population, which no number of respondents changes."""
    return truths(world, population(world))


Cell = tuple[str, str]


def simulate(
    world: World,
    replicates: int,
    seed: int = 0,
    estimates: tuple[str, ...] = tuple(ESTIMATES),
    inferences: tuple[str, ...] = ("these", "others"),
) -> dict[Cell, CellCoverage]:
    """(estimate, inference) -> how often its interval held the truth in this world."""
    rng = np.random.default_rng([seed, zlib.crc32(f"{world.name} {world.respondents}".encode())])
    population_truths = truths_of_others(replace(world, name="", respondents=0))
    ends: dict[Cell, list[tuple[float, float, float]]] = {}
    for _ in range(replicates):
        respondents = draw_respondents(world, rng)
        study = draw_study(world, respondents, rng)
        fixed_truths = truths(world, respondents) if "these" in inferences else population_truths
        independent = _independent(study.scores(world.metric)[0], respondents)
        answers = Answers(world, study, independent, respondents.families)
        for name in estimates:
            if name not in fixed_truths:
                continue
            value = ESTIMATES[name](answers)
            lone = name in LOCATION and bool(too_few_families(respondents.families))
            ends.setdefault((name, "others"), []).append(
                (value.low, value.high, population_truths[name]) if not lone else _NO_INTERVAL
            )
            fixed = value.fixed
            ends.setdefault((name, "these"), []).append(
                (fixed.low, fixed.high, fixed_truths[name]) if fixed else _NO_INTERVAL
            )
    return {
        cell: _count_coverage(np.array(rows))
        for cell, rows in ends.items()
        if cell[1] in inferences
    }


_NO_INTERVAL = (math.nan, math.nan, math.nan)


def _independent(scores: np.ndarray, respondents: Respondents) -> float:
    return family_dependence(scores, respondents.families).n_eff


def _count_coverage(rows: np.ndarray) -> CellCoverage:
    low, high, truth = rows.T
    finite = np.isfinite(low)
    slack = 1e-12
    covered = finite & (low - slack <= truth) & (truth <= high + slack)
    width = float(np.median((np.minimum(high, 1.0) - low)[finite])) if finite.any() else math.nan
    open_end = bool(np.isinf(high[finite]).any())
    return CellCoverage(len(rows), int(finite.sum()), int(covered.sum()), width, open_end)


def _simulated(job: tuple[World, int, int, str, tuple[str, ...]]) -> dict[Cell, CellCoverage]:
    world, replicates, seed, inference, estimates = job
    return simulate(world, replicates, seed, estimates, inferences=(inference,))


def table(coverage: Mapping[tuple[str, int], Mapping[Cell, CellCoverage]], inference: str) -> str:
    """The markdown table of one inference: a row a world and number of respondents, a column an
    estimate.
    """
    lines = [
        "| world | respondents | " + " | ".join(ESTIMATES) + " |",
        "|---|---|" + "---|" * len(ESTIMATES),
    ]
    for (name, size), world_cells in coverage.items():
        cells = [_format_cell(world_cells.get((estimate, inference))) for estimate in ESTIMATES]
        lines.append(f"| {name} | {size} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def summary(coverage: Mapping[tuple[str, int], Mapping[Cell, CellCoverage]], inference: str) -> str:
    """The table of the page: a row an estimate, with its mean and its worst cell."""
    lines = [
        "| estimate | cells | mean | least | in | outside the goal |",
        "|---|---|---|---|---|---|",
    ]
    for estimate in ESTIMATES:
        cells = {
            key: world_cells.get((estimate, inference)) for key, world_cells in coverage.items()
        }
        if not any(cells.values()):
            continue
        reported = {key: cell for key, cell in cells.items() if cell and not cell.refused}
        (name, size), worst = min(reported.items(), key=lambda pair: pair[1].share)
        mean = sum(cell.share for cell in reported.values()) / len(reported)
        n_outside = sum(_is_outside_goal(cell) for cell in reported.values())
        lines.append(
            f"| {estimate} | {len(reported)} | {mean:.3f} | {worst.share:.3f} | {name}, {size} |"
            f" {n_outside} |"
        )
    return "\n".join(lines)


def _format_cell(cell: CellCoverage | None) -> str:
    if cell is None:
        return ""
    if cell.refused:
        return "-"
    return f"**{cell.share:.3f}**" if _is_outside_goal(cell) else f"{cell.share:.3f}"


def _is_outside_goal(cell: CellCoverage) -> bool:
    # two Monte Carlo standard errors beyond the goal count as outside; a lower end may be cautious
    lower_limit, upper_limit = GOAL[0] - 2 * cell.error, GOAL[1] + 2 * cell.error
    return cell.share < lower_limit or (not cell.one_sided and cell.share > upper_limit)


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replicates", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=None, metavar="WORLD")
    parser.add_argument("--respondents", nargs="*", type=int, default=None)
    parser.add_argument(
        "--block", default="", help="the block of the page to write; that of the inference"
    )
    parser.add_argument("--estimates", nargs="*", default=list(ESTIMATES), choices=ESTIMATES)
    parser.add_argument("--inference", choices=("these", "others"), default="others")
    parser.add_argument(
        "--write", action="store_true", help="put the summary into docs/psychometrics_coverage.md"
    )
    args = parser.parse_args()
    all_worlds = worlds() if args.inference == "these" else worlds_of_others()
    selected_worlds = {
        key: world
        for key, world in all_worlds.items()
        if (not args.only or key[0] in args.only)
        and (not args.respondents or key[1] in args.respondents)
    }
    started = time.perf_counter()
    jobs = [
        (world, args.replicates, args.seed, args.inference, tuple(args.estimates))
        for world in selected_worlds.values()
    ]
    with multiprocessing.get_context("spawn").Pool(args.jobs) as pool:
        coverage = dict(zip(selected_worlds, pool.map(_simulated, jobs, chunksize=1), strict=True))
    error = math.sqrt(0.95 * 0.05 / args.replicates)
    print(table(coverage, args.inference))
    text = (
        f"{summary(coverage, args.inference)}\n"
        f"\n{args.replicates} replicates a cell, seed {args.seed}; the Monte Carlo standard error"
        f" of a share near .95 is {error:.3f}. {time.perf_counter() - started:.0f} s in"
        f" {args.jobs} processes.\n"
    )
    print(text)
    if args.write:
        block = args.block or args.inference
        begin, end = (f"<!-- {block}: {edge} -->" for edge in ("begin", "end"))
        before, mark, remainder = PAGE.read_text("utf-8").partition(begin)
        PAGE.write_text(
            before + mark + "\n" + text + "\n" + end + remainder.partition(end)[2], encoding="utf-8"
        )


if __name__ == "__main__":
    main()
