"""Worlds with known truth, in which the coverage of every interval is measured.

Respondents answer binary items; nothing here is a normal linear model, which most estimators
assume:

    logit P(m answers i of picture j rightly) = ability_m + item_i + picture_j + (m x picture)_mj + (m x item)_mi
    second form:                                ... + shift + (form x m)_m + (form x item)_i

- `World`: the settings. `WORLDS` and `worlds()` name those of the coverage table.
- `draw_respondents(world, rng)`: the respondents' own parameters (ability, effect of the form,
  stability between runs, ...).
- `draw_study(world, respondents, rng)`: fresh items and answers of these respondents: two runs of
  form A, one of form B, people's labels, and tallies for F1 and CHAIR.
- `population(world)`: respondents spread evenly over the whole population, for the truth of
  "others".
- `truths(world, respondents)`: what each estimate estimates for these respondents over fresh items
  and runs; with `population(world)` in place of the respondents it is the truth of "others".

The truths are exact: expectations over items are integrals over normal effects, done by quadrature.
`tests/test_coverage_worlds.py` holds them against averages over thousands of drawn studies.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.interpolate import RectBivariateSpline
from scipy.special import expit, log_ndtr, ndtr, ndtri, stdtrit

Array = npt.NDArray[np.float64]
LOST_IF_WRONG, LOST_IF_RIGHT = 0.12, 0.02
"""How often a wrong and a right answer cannot be scored, in the world with answers unscored not at
random.
"""
MENTIONED = 4.0
"""CHAIR: the mean number of objects in a caption; it is 1 and a Poisson number."""
TYPES = 4
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(81)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_FINE = np.linspace(-40.0, 40.0, 16001)
_GRID = np.linspace(-9.0, 13.0, 89)


@dataclass(frozen=True, kw_only=True)
class World:
    """Settings of a world; standard deviations are on the logit scale.

    `metric` is `mean`, `f1` or `chair`; `lost` lets answers be unscored, wrong ones more often.
    `family_size` respondents each share a family whose abilities and form effects correlate
    `kinship`; `single_family` makes it one family, and `unbalanced` gives half of all respondents to
    the first family, half of the others to the next, and so on. `stable` is the largest share of a respondent's
    answers that never change between runs; each has its own, from 0 on. `labelled` items have
    people's labels; `errors` is the spread between respondents of the automatic score's mistakes.
    """

    name: str = "plain"
    respondents: int = 20
    items: int = 240
    per_picture: int = 1
    picture: float = 0.0
    family_size: int = 1
    kinship: float = 0.7
    single_family: bool = False
    unbalanced: bool = False
    centre: float = 0.8
    ability: float = 0.8
    item: float = 1.0
    interaction: float = 0.7
    form_shift: float = -0.15
    form_respondent: float = 0.2
    form_item: float = 0.3
    stable: float = 0.0
    lost: bool = False
    metric: str = "mean"
    labelled: int = 120
    errors: float = 0.05
    shape: str = "normal"
    """How abilities are distributed: `normal`, `skewed` (skewness -2: an exponential tail of weak
    respondents), `tailed` (Student's t with 3 degrees), `clustered` (three quarters close together,
    one quarter far below), `bimodal` (two halves far apart) or `lognormal` (skewness 6: a few far
    above the others); always with the same mean and spread.
    """


@dataclass(frozen=True, eq=False)
class Respondents:
    """What respondents are, whatever they are asked: each array has one entry a respondent."""

    ability: Array
    form: Array
    stable: Array
    miss: Array
    """How often the automatic score calls a right answer wrong."""
    pardon: Array
    """How often it calls a wrong answer right."""
    families: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ability)


@dataclass(frozen=True, eq=False)
class Study:
    """Answers of respondents to freshly drawn items; 1 is right, NaN unscored.

    `runs` is (2, respondents, items) on form A, `form` (respondents, items) on form B, `people` the
    labels of a sample of items (NaN elsewhere) and `automatic` the fallible score that they judge.
    `tallies` has, name -> (3, respondents, items), what F1 or CHAIR sum in the two runs of A and in
    B.
    """

    runs: Array
    form: Array
    pictures: npt.NDArray[np.int64]
    types: npt.NDArray[np.int64]
    labels: Array
    automatic: Array
    tallies: Mapping[str, Array] = field(default_factory=dict)

    def scores(self, metric: str) -> Array:
        """(3, respondents): the metric of the two runs of A and of B."""
        if metric == "mean":
            return np.nanmean(np.concatenate([self.runs, self.form[None]]), axis=2)
        return ratio(metric, {name: values.sum(axis=2) for name, values in self.tallies.items()})

    def leave_one_out(self, metric: str) -> Array:
        """(3, respondents, pictures): the metric with each picture left out."""
        if metric == "mean":
            x = np.concatenate([self.runs, self.form[None]])
            right, scored = (
                _by_picture(np.nan_to_num(x), self.pictures),
                _by_picture(np.isfinite(x) * 1.0, self.pictures),
            )
            return (right.sum(-1, keepdims=True) - right) / (scored.sum(-1, keepdims=True) - scored)
        sums = {name: _by_picture(values, self.pictures) for name, values in self.tallies.items()}
        return ratio(
            metric, {name: values.sum(-1, keepdims=True) - values for name, values in sums.items()}
        )


def ratio(metric: str, sums: Mapping[str, Array]) -> Array:
    """F1 or CHAIR of sums."""
    if metric == "f1":
        return 2 * sums["tp"] / (2 * sums["tp"] + sums["fp"] + sums["fn"])
    return sums["hallucinated"] / sums["mentioned"]


def _by_picture(x: Array, pictures: npt.NDArray[np.int64]) -> Array:
    starts = np.flatnonzero(np.diff(pictures, prepend=-1))
    return np.add.reduceat(x, starts, axis=-1)


def draw_respondents(world: World, rng: np.random.Generator) -> Respondents:
    """The respondents of one replicate, relatives together."""
    m = world.respondents
    family = _families(world)
    has_relatives = world.single_family or world.unbalanced or world.family_size > 1
    shared = world.kinship if has_relatives else 0.0

    def correlated() -> Array:
        of_family = rng.normal(size=m)[family]
        return np.asarray(
            math.sqrt(shared) * of_family + math.sqrt(1 - shared) * rng.normal(size=m)
        )

    ability, form, miss, pardon = (correlated() for _ in range(4))
    return _respondents(
        world, ability, form, rng.random(m), miss, pardon, tuple(f"f{f}" for f in family)
    )


def _families(world: World) -> npt.NDArray[np.int64]:
    """(respondents,): the number of each respondent's family."""
    m = world.respondents
    if world.single_family:
        return np.zeros(m, dtype=np.int64)
    if world.unbalanced:
        # the first family has half of all, the next one half of the others, ...
        return np.asarray(np.floor(np.log2(m / (m - np.arange(m)))), dtype=np.int64)
    return np.arange(m) // world.family_size


def population(world: World, size: int = 1000) -> Respondents:
    """Respondents spread evenly over the population: what "others" means."""
    rng = np.random.default_rng(20)
    even = (np.arange(size) + 0.5) / size
    ability, form, miss, pardon = (rng.permuted(ndtri(even)) for _ in range(4))
    return _respondents(
        world, ability, form, rng.permuted(even), miss, pardon, tuple(map(str, range(size)))
    )


def shaped_abilities(shape: str, z: Array) -> Array:
    """Standard normal numbers, brought to another distribution of mean 0 and variance 1.

    >>> shaped_abilities("skewed", np.array([0.0])).round(3)
    array([0.307])
    """
    if shape == "skewed":
        return np.asarray(1 + log_ndtr(z))
    if shape == "tailed":
        return np.asarray(stdtrit(3, ndtr(z)) / math.sqrt(3))
    if shape == "clustered":
        # a quarter lies sqrt(3) d below the mean, the rest d / sqrt(3) above it
        offset, scale = 0.95, math.sqrt(1 - 0.95**2)
        probability, is_low = ndtr(z), ndtr(z) < 0.25
        inner = ndtri(np.where(is_low, probability / 0.25, (probability - 0.25) / 0.75))
        return np.asarray(
            np.where(is_low, -math.sqrt(3), 1 / math.sqrt(3)) * offset + scale * inner
        )
    if shape == "bimodal":
        offset, scale = 0.95, math.sqrt(1 - 0.95**2)
        probability, is_low = ndtr(z), z < 0
        inner = ndtri(np.where(is_low, 2 * probability, 2 * probability - 1))
        return np.asarray(np.where(is_low, -offset, offset) + scale * inner)
    if shape == "lognormal":
        return np.asarray((np.exp(z) - math.exp(0.5)) / math.sqrt((math.e - 1) * math.e))
    return z


def _respondents(
    world: World,
    ability: Array,
    form: Array,
    even: Array,
    miss: Array,
    pardon: Array,
    families: tuple[str, ...],
) -> Respondents:
    def rate(z: Array) -> Array:
        return np.clip(0.1 + world.errors * z, 0.0, 0.3)

    return Respondents(
        world.centre + world.ability * shaped_abilities(world.shape, ability),
        world.form_shift + world.form_respondent * form,
        world.stable * even,
        rate(miss),
        rate(pardon),
        families,
    )


def draw_study(world: World, respondents: Respondents, rng: np.random.Generator) -> Study:
    """Fresh pictures, items and answers for these respondents."""
    m, n, k = len(respondents), world.items, world.per_picture
    pictures = np.arange(n) // k
    n_pictures = int(pictures[-1]) + 1
    common = (
        world.item * rng.normal(size=n) + (world.picture * rng.normal(size=n_pictures))[pictures]
    )
    interaction = (
        world.interaction * rng.normal(size=(m, n))
        + (world.picture * rng.normal(size=(m, n_pictures)))[:, pictures]
    )
    logit = respondents.ability[:, None] + common + interaction
    p_a = expit(logit)
    p_b = expit(logit + respondents.form[:, None] + world.form_item * rng.normal(size=n))
    fixed = rng.random((m, n)) < p_a
    stable = rng.random((m, n)) < respondents.stable[:, None]
    draws = rng.random((2, m, n)) < p_a
    answers = np.concatenate(
        [np.where(stable, fixed, draws), (rng.random((m, n)) < p_b)[None]]
    ).astype(np.float64)
    mistaken = rng.random((m, n)) < np.where(
        answers[0] > 0, respondents.miss[:, None], respondents.pardon[:, None]
    )
    labels = answers[0].copy()
    labels[:, rng.permutation(n)[min(world.labelled, n) :]] = np.nan
    tallies: dict[str, Array] = {}
    if world.metric == "f1":
        yes = rng.random(n) < 0.5
        tallies = {"tp": answers * yes, "fn": (1 - answers) * yes, "fp": (1 - answers) * ~yes}
    if world.metric == "chair":
        mentioned = 1 + rng.poisson(MENTIONED - 1, size=answers.shape)
        # each object of a caption is real with the caption's probability
        p = np.stack([p_a, p_a, p_b])
        tallies = {
            "hallucinated": rng.binomial(mentioned, 1 - p).astype(float),
            "mentioned": mentioned.astype(float),
        }
    automatic = np.where(mistaken, 1 - answers[0], answers[0])
    if world.lost:
        lost = rng.random(answers.shape) < np.where(answers > 0, LOST_IF_RIGHT, LOST_IF_WRONG)
        answers[lost] = np.nan
    types = np.arange(n) % TYPES if k > 1 else rng.permutation(np.arange(n) % TYPES)
    return Study(answers[:2], answers[2], pictures, types, labels, automatic, tallies)


@lru_cache(maxsize=64)
def _smooth(sd: float) -> Array:
    """E logistic(x + sd z) on the fine grid."""
    if sd == 0:
        return np.asarray(expit(_FINE))
    return np.asarray(expit(_FINE[:, None] + sd * _NODES) @ _WEIGHTS)


@lru_cache(maxsize=256)
def _kernel(shared: float, first_variance: float, second_variance: float) -> RectBivariateSpline:
    """Cov of P(right) of two answers at any two abilities whose effects share the variance
    `shared`.
    """
    shifted_grid = _GRID[:, None] + math.sqrt(shared) * _NODES
    first, second = (
        np.interp(shifted_grid, _FINE, _smooth(math.sqrt(variance)))
        for variance in (first_variance, second_variance)
    )
    product = (first * _WEIGHTS) @ second.T
    return RectBivariateSpline(
        _GRID, _GRID, product - np.outer(first @ _WEIGHTS, second @ _WEIGHTS)
    )


@dataclass(frozen=True, eq=False)
class _Moments:
    """Expected score, slope of an item's part in P(right), and variances of that part, for each
    respondent on one form.
    """

    score: Array
    slope: Array
    item_variance: Array
    """Variance of one item's part, items and runs drawn anew."""
    steady: Array
    """Of it, what would be left of the mean over endless independent runs."""
    noise: Array
    """What two runs of the same items differ in: own - steady, less what is stable."""


def _item_moments(world: World, ability: Array, stable: Array, variance: float) -> _Moments:
    """The score as a mean of items' parts; for ratios these are the first-order influences."""
    p = np.interp(ability, _FINE, _smooth(math.sqrt(variance)))
    spread = np.asarray(_kernel(variance, 0.0, 0.0).ev(ability, ability))
    flip = p * (1 - p) - spread  # E p(1 - p)
    ones = np.ones_like(p)
    if world.metric == "f1":
        # a right answer adds 2 - F to the influence where the target is yes, F where it is no; F =
        # p
        square = ((2 - p) ** 2 + p**2) / 2
        target_variance = (p * (1 - p)) ** 2
        return _Moments(
            p,
            ones,
            square * (spread + flip) + target_variance,
            square * spread + target_variance,
            square * flip * (1 - stable),
        )
    if world.metric == "chair":
        second = (MENTIONED**2 + MENTIONED - 1) / MENTIONED**2
        noise = flip / MENTIONED + (second - 1) * spread
        return _Moments(1 - p, -ones, spread + noise, spread, noise)
    if world.lost:
        right, wrong = 1 - LOST_IF_RIGHT, 1 - LOST_IF_WRONG
        scored = right * p + wrong * (1 - p)
        score = right * p / scored
        slope = (right * (1 - score) + wrong * score) / scored
        item_variance = (right * p * (1 - score) ** 2 + wrong * (1 - p) * score**2) / scored**2
        steady = slope**2 * spread
        return _Moments(
            score, slope, item_variance, steady, item_variance - steady - slope**2 * stable * flip
        )
    return _Moments(p, ones, p * (1 - p), spread, flip * (1 - stable))


def truths(world: World, respondents: Respondents) -> dict[str, float]:
    """The value of every estimate for these respondents, over fresh items and runs.

    A ratio of variances is a ratio of their expectations. `pearson`, `icc_a1`, `mean_shift` and
    `form_correlation` compare forms A and B; `icc_a1_rerun` two runs of A;
    `alpha`, `omega` and `g` are the relative reliability of one run over fresh pictures, `phi` the
    absolute one; `criterion` correlates the automatic and people's scores without the items'
    sampling error.
    """
    w, m = world, len(respondents)
    item, picture, interaction = w.item**2, w.picture**2, w.interaction**2
    form = w.form_item**2
    total = item + 2 * picture + interaction
    abilities = (respondents.ability, respondents.ability + respondents.form)
    sides = (
        _item_moments(w, abilities[0], respondents.stable, total),
        _item_moments(w, abilities[1], np.zeros(m), total + form),
    )
    twins = w.per_picture - 1

    def covariance(i: int, j: int) -> Array:
        """(respondents, respondents): of the scores on forms i and j, over fresh items and
        independent runs.
        """
        form_variances = (form * (i == 1), form * (j == 1))
        # an item's own wording effect is shared by everybody on one form
        shared_form = form if i == j == 1 else 0.0

        def answer_covariance(shared: float, form_variance: float = 0.0) -> Array:
            kernel = _kernel(
                shared + form_variance,
                *(max(0.0, total + extra - shared - form_variance) for extra in form_variances),
            )
            return np.asarray(kernel.ev(abilities[i][:, None], abilities[j][None, :]))

        between_respondents = answer_covariance(
            item + picture, shared_form
        ) + twins * answer_covariance(picture)
        within_respondent = answer_covariance(
            item + 2 * picture + interaction, shared_form
        ) + twins * answer_covariance(2 * picture)
        table = np.where(np.eye(m, dtype=bool), within_respondent, between_respondents)
        table = table * np.outer(sides[i].slope, sides[j].slope)
        if w.metric == "f1":  # which items have the target yes is shared by everybody
            spread = [s.score * (1 - s.score) for s in (sides[i], sides[j])]
            p, q = sides[i].score, sides[j].score
            single_answer = (
                answer_covariance(item + picture, shared_form),
                answer_covariance(item + 2 * picture + interaction, shared_form),
            )
            square = (np.outer(2 - p, 2 - q) + np.outer(p, q)) / 2 - 1
            table = (
                table
                + square * np.where(np.eye(m, dtype=bool), single_answer[1], single_answer[0])
                + np.outer(*spread)
            )
        return table / w.items

    def spread(means: Array, other_means: Array, table: Array) -> float:
        """The expected covariance over respondents of two scores with these means and covariances
        over items.
        """
        covariance_of_means = float(
            ((means - means.mean()) * (other_means - other_means.mean())).sum()
        ) / (m - 1)
        diagonal = float(np.trace(table)) / m
        return covariance_of_means + diagonal - (float(table.sum()) / m - diagonal) / (m - 1)

    def with_noise(table: Array, side: _Moments) -> Array:
        return np.asarray(table + np.diag(side.item_variance - side.steady) / w.items)

    a, b = sides
    aa, bb, ab = covariance(0, 0), covariance(1, 1), covariance(0, 1)
    noisy_a, noisy_b = with_noise(aa, a), with_noise(bb, b)
    variance_a = spread(a.score, a.score, noisy_a)
    variance_b = spread(b.score, b.score, noisy_b)
    covariance_ab = spread(a.score, b.score, ab)
    noise = float(a.noise.mean()) / w.items
    noise_b = float(b.noise.mean()) / w.items
    true = float(a.score.var(ddof=1))
    shift = float((b.score - a.score).mean())
    wander = float((noisy_a + noisy_b - ab - ab.T).mean())

    def agreement(va: float, vb: float, c: float, gap: float, size: float) -> float:
        msr, mse, msc = (va + vb + 2 * c) / 2, (va + vb - 2 * c) / 2, gap / 2
        return (msr - mse) / (msr + mse + 2 * (msc - mse / size))

    values = {
        "rho_g": 1 - noise / variance_a,
        "pearson": covariance_ab / math.sqrt(variance_a * variance_b),
        "icc_a1": agreement(variance_a, variance_b, covariance_ab, shift**2 + wander, m),
        "mean_shift": shift,
        "icc_a1_rerun": (variance_a - noise) / variance_a,
        "form_correlation": covariance_ab
        / math.sqrt((variance_a - noise) * (variance_b - noise_b)),
    }
    if w.metric == "mean":
        values |= dict.fromkeys(("alpha", "omega", "g"), true / variance_a)
        values["phi"] = true / (true + float(np.diag(noisy_a).mean()))
    if w.metric == "mean" and not w.lost:
        pardon, judged = respondents.pardon, 1 - respondents.miss - respondents.pardon
        automatic = pardon + judged * a.score
        values["criterion"] = float(np.corrcoef(automatic, a.score)[0, 1])
    return values


PLAIN = World()
_SETTINGS: Mapping[str, World] = {
    "plain": PLAIN,
    **{
        f"{k} a picture, sd {sd:g}": replace(PLAIN, per_picture=k, picture=sd)
        for k in (1, 4, 10)
        for sd in (0.0, 0.5, 1.0)
        if (k, sd) != (1, 0.0)
    },
    "families of 4": replace(PLAIN, family_size=4),
    "all in one family": replace(PLAIN, single_family=True),
    "F1 .98": replace(PLAIN, metric="f1", centre=5.0, items=480),
    "CHAIR .02": replace(PLAIN, metric="chair", centre=5.0),
    "unequal noise": replace(PLAIN, stable=0.95),
    "forms differ by respondent": replace(PLAIN, form_respondent=0.5),
    "forms differ by item": replace(PLAIN, form_item=1.2),
    "5 % unscored": replace(PLAIN, lost=True),
    "two halves": replace(PLAIN, shape="bimodal"),
    "wide, two halves": replace(PLAIN, shape="bimodal", ability=1.6),
    "lognormal": replace(PLAIN, shape="lognormal"),
    "alike, 30 items": replace(PLAIN, ability=0.15, items=30),
    "alike": replace(PLAIN, ability=0.15),
    "families of unequal size": replace(PLAIN, unbalanced=True),
    "families of unequal size, two halves": replace(
        PLAIN, unbalanced=True, shape="bimodal", ability=1.6
    ),
}
_SHAPES: Mapping[str, World] = {
    "skewness -2": replace(PLAIN, shape="skewed"),
    "t with 3 degrees": replace(PLAIN, shape="tailed"),
    "two clusters": replace(PLAIN, shape="clustered"),
    "wide, skewness -2": replace(PLAIN, shape="skewed", ability=1.2),
    "wide, t with 3 degrees": replace(PLAIN, shape="tailed", ability=1.6),
    "skewness -2, 4 a picture": replace(PLAIN, shape="skewed", per_picture=4, picture=0.5),
    "skewness -2, families of 4": replace(PLAIN, shape="skewed", family_size=4),
}
"""Worlds for others alone: these respondents' own truth does not ask where they come from."""
WORLDS: tuple[str, ...] = tuple(_SETTINGS)
SIZES = (5, 10, 20, 40)
SIZES_OF_OTHERS = (8, 12, 20, 40)


def worlds() -> dict[tuple[str, int], World]:
    """(name, respondents) -> every world of the coverage table."""
    return {
        (name, size): replace(world, name=name, respondents=size)
        for name, world in _SETTINGS.items()
        for size in SIZES
    }


def worlds_of_others() -> dict[tuple[str, int], World]:
    """(name, respondents) -> every world in which bounds for other respondents are held."""
    setting_names = ("plain", "4 a picture, sd 1", "families of 4", "F1 .98", "CHAIR .02")
    setting_names += ("unequal noise", "forms differ by respondent", "forms differ by item")
    return {
        (name, size): replace(world, name=name, respondents=size)
        for name, world in {**_SHAPES, **{key: _SETTINGS[key] for key in setting_names}}.items()
        for size in SIZES_OF_OTHERS
    }
