"""How well `hqm design` forecasts, and what it saves: held-out studies of a simulated truth that is
not the estimator's model.

    python tests/perf/decisions_design.py            the figures of docs/design.md
    python tests/perf/decisions_design.py --quick    a tenth of the studies; --part NAME for one part

Respondents answer binary items; the parts add on the logit scale, and no score is normal:

    logit P(m answers i of picture j in wording f) = ability_m + item_i + picture_j + (m x j) + (m x i) + (m x f) + (i x f)

Abilities of one family correlate .7, a share of each respondent's answers never changes between
runs, and pictures may have unequal numbers of items. An audit is drawn (all runs in the first
wording, one run in the others), `hqm design` forecasts a study of another size, and many such
studies are drawn with fresh pictures for the same respondents: the realised standard errors are
theirs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from hqm_study.cheapest_study import design_of_scores
from scipy.special import expit

from hqm.comparison.prices import parse_prices
from hqm.errors import DesignError
from hqm.psychometrics import compare_studies, forecast, study_variance_components
from hqm.psychometrics.variance.study_forecast import (
    StudySize,
    effective_respondents,
    error_components,
)
from hqm.psychometrics.variance.study_variance import StudyComponents

Array = npt.NDArray[np.float64]
KINSHIP = 0.7


@dataclass(frozen=True)
class Truth:
    """A world: standard deviations on the logit scale, and respondents with their families."""

    ability: Array
    families: npt.NDArray[np.int64]
    item: float
    picture: float
    own_item: float
    own_picture: float
    own_form: float
    form_item: float
    stable: float

    def wordings(self, count: int, rng: np.random.Generator) -> Array:
        """(respondents, wordings): what each wording does to each respondent."""
        return self.own_form * rng.normal(size=(len(self.ability), count))

    def chances(
        self, pictures: npt.NDArray[np.int64], worded: Array, rng: np.random.Generator
    ) -> Array:
        """(respondents, items, wordings): the chance of a right answer to fresh items on fresh
        pictures.
        """
        m, n, n_pictures = len(self.ability), len(pictures), int(pictures[-1]) + 1

        def normal(*shape: int) -> Array:
            return rng.standard_normal(shape, dtype=np.float32)  # type: ignore[return-value]

        common = self.item * normal(n) + (self.picture * normal(n_pictures))[pictures]
        respondent_effects = (
            self.own_item * normal(m, n) + (self.own_picture * normal(m, n_pictures))[:, pictures]
        )
        form_effects = self.form_item * normal(n, worded.shape[1])
        logit = (
            (self.ability[:, None].astype(np.float32) + common + respondent_effects)[:, :, None]
            + worded[:, None, :]
            + form_effects
        )
        return np.asarray(expit(logit.astype(np.float32)))

    def answers(self, chances: Array, runs: int, rng: np.random.Generator) -> Array:
        """(respondents, items, wordings, runs): right or wrong; some answers are the same in every
        run.
        """
        draws = rng.random((*chances.shape, runs)) < chances[..., None]
        fixed = rng.random(chances.shape) < chances
        steady = rng.random(chances.shape) < self.stable
        return np.where(steady[..., None], fixed[..., None], draws).astype(np.float64)

    def mean(self, chances: Array, runs: int, rng: np.random.Generator) -> Array:
        """(respondents,): the score of one study."""
        draws = rng.random((runs, *chances.shape), dtype=np.float32) < chances
        if self.stable:
            steady = rng.random(chances.shape, dtype=np.float32) < self.stable
            draws = np.where(steady, draws[0], draws)
        return np.asarray(draws.mean(axis=(0, 2, 3)))


def draw_truth(rng: np.random.Generator) -> Truth:
    respondents, relatives = int(rng.choice([8, 12, 20])), int(rng.choice([1, 1, 2, 4]))
    families = np.arange(respondents) // relatives
    alike = KINSHIP if relatives > 1 else 0.0
    z = np.sqrt(alike) * rng.normal(size=respondents)[families] + np.sqrt(1 - alike) * rng.normal(
        size=respondents
    )
    return Truth(
        rng.uniform(0, 2) + rng.uniform(0.4, 1.0) * z,
        families,
        rng.uniform(0.6, 1.4),
        rng.uniform(0, 0.8),
        rng.uniform(0.3, 0.9),
        rng.uniform(0, 0.5),
        rng.uniform(0.05, 0.3),
        rng.uniform(0.1, 0.6),
        float(rng.choice([0.0, 0.3])),
    )


def items_on(
    pictures: int, items: int, rng: np.random.Generator | None = None
) -> npt.NDArray[np.int64]:
    """(items,): the picture of each item; with a generator, unequal numbers of items."""
    counts = (
        np.full(pictures, items)
        if rng is None or items == 1
        else rng.integers(1, 2 * items, size=pictures)
    )
    return np.repeat(np.arange(pictures), counts)


@dataclass(frozen=True)
class Pilot:
    scores: Array
    pictures: npt.NDArray[np.int64]
    truth: Truth


def draw_pilot(rng: np.random.Generator, pictures: tuple[int, ...]) -> Pilot:
    """An audit as `hqm audit` makes one: every run of the first wording, one run of each other
    wording.
    """
    truth = draw_truth(rng)
    picture_index = items_on(int(rng.choice(pictures)), int(rng.choice([1, 2, 4, 8])), rng)
    forms, runs = int(rng.choice([2, 3])), int(rng.choice([2, 3]))
    x = truth.answers(truth.chances(picture_index, truth.wordings(forms, rng), rng), runs, rng)
    x[:, :, 1:, 1:] = np.nan
    return Pilot(x, picture_index, truth)


def realised(
    truth: Truth, size: tuple[int, int, int, int], replicates: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Standard error of a respondent's score, and what a difference's has of it (over the root of
    2), from fresh studies.
    """
    pictures, items, forms, runs = size
    worded = truth.wordings(forms, rng)
    scores = np.array(
        [
            truth.mean(truth.chances(items_on(pictures, items, rng), worded, rng), runs, rng)
            for _ in range(replicates)
        ]
    )
    error = scores - scores.mean(axis=0)
    deviations = error - error.mean(axis=1, keepdims=True)
    scale = replicates / (replicates - 1)
    return (
        float(np.sqrt(scale * (error**2).mean())),
        float(np.sqrt(scale * (deviations**2).sum(axis=1).mean() / (len(truth.ability) - 1))),
    )


def forecast_errors(parts: StudyComponents, size: tuple[int, int, int, int]) -> tuple[float, float]:
    """The same, as forecast."""
    study_size = StudySize(pictures=size[0], items=size[1], forms=size[2], runs=size[3])
    components = error_components(parts, study_size)
    difference_variance = sum(
        float(v)
        for e, v in components.items()
        if "respondent" in e and ("item" in e or "picture" in e)
    )
    return float(forecast(parts, "sem", study_size)), float(np.sqrt(difference_variance))


@dataclass(frozen=True)
class Accuracy:
    """Forecast over realised standard error: (designs, 2) of a score and of a difference."""

    ratios: Array

    @property
    def share_within_tenth(self) -> Array:
        """The share of designs within 10 %."""
        return np.asarray((np.abs(self.ratios - 1) <= 0.1).mean(axis=0))

    def __str__(self) -> str:
        low, middle, high = np.quantile(self.ratios, [0.05, 0.5, 0.95], axis=0)
        return "\n".join(
            f"  {name:<34} within 10 %: {self.share_within_tenth[i]:.1%} of {len(self.ratios)}; ratio"
            f" {middle[i]:.3f} [{low[i]:.3f}, {high[i]:.3f}]"
            for i, name in enumerate(
                ("standard error of a score", "standard error of a difference")
            )
        )


def accuracy(
    designs: int,
    *,
    pictures: tuple[int, ...] = (150, 250, 400),
    replicates: int = 400,
    seed: int = 1,
) -> Accuracy:
    """Held-out designs of other sizes than the audit they are forecast from."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(designs):
        pilot = draw_pilot(rng, pictures)
        parts = study_variance_components(
            pilot.scores, pilot.pictures, pilot.truth.families, jackknife=False
        )
        items = int(rng.choice([1, 2, 4, 6])) if parts.per_picture > 1 else 1
        size = (
            int(rng.choice([60, 120, 300])),
            items,
            int(rng.choice([1, 2, 4])),
            int(rng.choice([1, 2, 4])),
        )
        rows.append(
            np.array(forecast_errors(parts, size)) / realised(pilot.truth, size, replicates, rng)
        )
    return Accuracy(np.array(rows))


PRICES = (
    ("answers alone", ""),
    ("a new picture costs as much as 20 answers", '[answers]\n"*" = 1\n[new]\npicture = 20'),
    (
        "a new picture costs as much as 100 answers, a wording 500",
        '[answers]\n"*" = 1\n[new]\npicture = 100\nform = 500',
    ),
)


@dataclass(frozen=True)
class Saving:
    """By price list: the share saved against more (or fewer) pictures of the audited mix, and the
    error bought instead.

    `errors` are realised standard errors of a difference: the cheapest design's over that of the
    default design.
    """

    prices: npt.NDArray[np.int64]
    savings: Array
    errors: Array

    def __str__(self) -> str:
        lines = []
        for i, (name, _) in enumerate(PRICES):
            selected = self.prices == i
            if selected.any():
                lines.append(
                    f"  {name}: median saving {np.median(self.savings[selected]):.0%} of {selected.sum()}"
                    " designs"
                )
        summary = (
            f"  all: median saving {np.median(self.savings):.1%} of {len(self.savings)}, at least"
            f" 30 % in {(self.savings >= 0.3).mean():.0%}"
        )
        return "\n".join(
            [
                *lines,
                (
                    f"{summary}; realised error against the default's, median"
                    f" {np.median(self.errors):.3f}"
                ),
            ]
        )


def savings(designs: int, *, replicates: int = 60, seed: int = 2) -> Saving:
    """The cheapest design against the audited mix of runs, wordings and items a picture, both for
    one precision.
    """
    rng = np.random.default_rng(seed)
    rows = []
    while len(rows) < designs:
        pilot = draw_pilot(rng, (150, 250, 400))
        parts = study_variance_components(
            pilot.scores, pilot.pictures, pilot.truth.families, jackknife=False
        )
        sizes = {
            "pictures": parts.pictures,
            "items": parts.per_picture,
            "forms": parts.forms,
            "runs": parts.runs,
        }
        current_mdd = float(forecast(parts, "mdd", StudySize(**sizes)))
        price_index = len(rows) % len(PRICES)
        design = design_of_scores(
            pilot.scores,
            pictures=pilot.pictures,
            families=pilot.truth.families,
            targets=[f"mdd<={current_mdd * rng.uniform(0.6, 1.1):.6f}"],
            prices=parse_prices(PRICES[price_index][1]),
        )
        assert design.same is not None
        assert design.saving is not None
        errors = [
            realised(
                pilot.truth,
                (row.pictures, max(1, round(row.items)), row.forms, row.runs),
                replicates,
                rng,
            )[1]
            for row in (design.cheapest, design.same)
        ]
        rows.append((price_index, design.saving, errors[0] / errors[1]))
    table = np.array(rows)
    return Saving(table[:, 0].astype(np.int64), table[:, 1], table[:, 2])


@dataclass(frozen=True)
class Refusals:
    """Targets that no study can reach: how many were refused, and of those how many named a
    component that is in the way.
    """

    tried: int
    refused: int
    n_named: int

    def __str__(self) -> str:
        return (
            f"  {self.refused} of {self.tried} targets out of reach were refused, {self.n_named} with"
            " the component in the way"
        )


def refusals(designs: int, *, seed: int = 3) -> Refusals:
    """Only runs may vary and the pictures' part is above the target; only pictures, and the
    wordings' part is.
    """
    rng = np.random.default_rng(seed)
    refused = n_named = 0
    for i in range(designs):
        pilot = draw_pilot(rng, (150,))
        truth = replace(pilot.truth, own_form=0.8)
        if i % 2:
            picture_index = pilot.pictures
            x = truth.answers(truth.chances(picture_index, truth.wordings(2, rng), rng), 2, rng)
            scores, targets, free, words = x, ["forms>=.995"], ["pictures"], ("respondent x form",)
        else:
            scores, free, words = pilot.scores, ["runs"], ("item", "picture")
            # what five runs of these pictures leave: half of it is out of reach
            floor = realised(
                pilot.truth,
                (
                    int(pilot.pictures[-1]) + 1,
                    max(1, round(len(pilot.pictures) / (pilot.pictures[-1] + 1))),
                    scores.shape[2],
                    5,
                ),
                20,
                rng,
            )[0]
            targets = [f"sem<={floor / 2:.6f}"]
        try:
            design_of_scores(
                scores,
                pictures=pilot.pictures,
                families=pilot.truth.families,
                targets=targets,
                free=free,
            )
        except DesignError as error:
            refused += 1
            blamed = str(error).partition("the main cause is ")[2].partition(" (")[0]
            n_named += any(word in blamed for word in words) and "run" not in blamed
    return Refusals(designs, refused, n_named)


@dataclass(frozen=True)
class Trust:
    """(pairs, 2) for these respondents and for others: forecast and true difference in log(U / Q),
    and the forecast's standard error.
    """

    forecast: Array
    true: Array
    error: Array

    @property
    def right(self) -> Array:
        """How often the right benchmark is chosen, of the pairs whose true difference exceeds the
        standard error.
        """
        plain = np.abs(self.true) > self.error
        hit = np.sign(self.forecast) == np.sign(self.true)
        return np.array([hit[plain[:, i], i].mean() for i in range(2)])

    def __str__(self) -> str:
        lines = []
        for i, population in enumerate(("these respondents", "other respondents")):
            plain = np.abs(self.true[:, i]) > self.error[:, i]
            recommended = np.abs(self.forecast[:, i]) > self.error[:, i]
            hit = np.sign(self.forecast[:, i]) == np.sign(self.true[:, i])
            finite = np.isfinite(self.error[:, i])
            cover = (np.abs(self.forecast - self.true) <= 1.96 * self.error)[finite, i].mean()
            lines.append(
                f"  {population}: the right benchmark in {hit[plain].mean():.1%} of {plain.sum()} pairs"
                f" whose true difference exceeds its standard error; of {recommended.sum()} named,"
                f" {hit[recommended].mean():.1%} are right; interval holds the truth in {cover:.1%} of"
                f" {finite.sum()} forecast, {(~finite).sum()} refused"
            )
        return "\n".join(lines)


def trust(pairs: int, *, n_others: int = 100, seed: int = 5) -> Trust:
    """Two benchmarks of different difficulty and noise before the same respondents, each in a study
    of as many items.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(pairs):
        first = draw_truth(rng)
        relatives = int((first.families == 0).sum())
        alike = KINSHIP if relatives > 1 else 0.0
        r, m = rng.uniform(0.7, 0.98), len(first.ability)
        everybody = np.concatenate(
            [first.families, first.families[-1] + 1 + np.arange(n_others) // relatives]
        )

        def traits(family_index: Array = everybody, alike: float = alike) -> Array:
            z = rng.normal(size=len(family_index))
            return np.asarray(
                np.sqrt(alike) * rng.normal(size=len(family_index))[family_index]
                + np.sqrt(1 - alike) * z
            )

        shared = traits()
        worlds, audits, sizes = [], [], []
        for _ in range(2):
            benchmark_truth = draw_truth(rng)
            level = rng.uniform(0, 2) + rng.uniform(0.4, 1.0) * (
                np.sqrt(r) * shared + np.sqrt(1 - r) * traits()
            )
            population_truth = replace(
                benchmark_truth, ability=level, families=everybody, own_form=0.0
            )
            sample_truth = replace(population_truth, ability=level[:m], families=first.families)
            picture_index = items_on(
                int(rng.choice([100, 150, 250])), int(rng.choice([1, 2, 4])), rng
            )
            x = sample_truth.answers(
                sample_truth.chances(picture_index, np.zeros((m, 1)), rng), 2, rng
            )
            parts = study_variance_components(x, picture_index, sample_truth.families)
            items = 240 / parts.per_picture
            sizes.append(StudySize(pictures=items, items=parts.per_picture))
            worlds.append((population_truth, picture_index))
            audits.append((x, parts))
        scores = [np.nanmean(x, axis=(1, 2, 3)) for x, _ in audits]
        effective = min(effective_respondents(parts) for _, parts in audits)
        compared = compare_studies(
            audits[0][1],
            audits[1][1],
            (sizes[0], sizes[1]),
            float(np.corrcoef(*scores)[0, 1]),
            effective,
        )
        true = [_truth(*world, size, m, rng) for world, size in zip(worlds, sizes, strict=True)]
        for population, contest in enumerate(
            (compared.fixed_respondents, compared.other_respondents)
        ):
            rows.append(
                (contest.difference, true[0][population] - true[1][population], contest.error)
            )
    table = np.array(rows).reshape(pairs, 2, 3)
    table = table[np.isfinite(table[:, 0]).all(axis=1)]
    return Trust(table[..., 0], table[..., 1], table[..., 2])


def _truth(
    world: Truth,
    picture_index: npt.NDArray[np.int64],
    size: StudySize,
    n_sampled: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """log(U / Q) of these respondents and of others: expected scores over thousands of fresh items,
    errors of 80 studies.
    """
    m = len(world.ability)
    zero_wordings = np.zeros((m, 1))
    item_pictures = items_on(2000, 1)
    level = np.mean(
        [world.chances(item_pictures, zero_wordings, rng).mean(axis=(1, 2)) for _ in range(2)],
        axis=0,
    )
    counts = np.bincount(picture_index)
    scores = []
    for _ in range(80):
        item_counts = rng.choice(counts, size=round(float(np.asarray(size.pictures))))
        pictures = np.repeat(np.arange(len(item_counts)), item_counts)
        scores.append(world.mean(world.chances(pictures, zero_wordings, rng), 1, rng))
    error = np.array(scores) - np.mean(scores, axis=0)
    ratios = []
    for subset in (slice(None, n_sampled), slice(n_sampled, None)):
        deviations = error[:, subset] - error[:, subset].mean(axis=1, keepdims=True)
        noise = 80 / 79 * float((deviations**2).sum(axis=1).mean()) / (deviations.shape[1] - 1)
        ratios.append(float(np.log(level[subset].var(ddof=1) / noise)))
    return ratios[0], ratios[1]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the studies")
    parser.add_argument("--part", choices=PARTS, action="append", help="this part alone; repeat it")
    args = parser.parse_args()
    for name in args.part or PARTS:
        start = time.perf_counter()
        title, count, make = PARTS[name]
        print(f"{title}:", make(count // 10 if args.quick else count), sep="\n")
        print(f"  ({name}, {(time.perf_counter() - start) / 60:.1f} minutes)", flush=True)


PARTS: Mapping[str, tuple[str, int, Callable[[int], object]]] = {
    "accuracy": ("Forecast against realised, audits of 150 to 400 pictures", 200, accuracy),
    "small": (
        "The same, audits of 50 to 100 pictures",
        100,
        lambda n: accuracy(n, pictures=(50, 75, 100), seed=4),
    ),
    "savings": (
        (
            "The cheapest design against the audited mix with more or fewer pictures, at equal"
            " precision"
        ),
        60,
        savings,
    ),
    "refusals": ("Targets out of reach", 30, refusals),
    "trust": ("Which of two benchmarks to trust for whom, at equal cost", 80, trust),
}


if __name__ == "__main__":
    main()
