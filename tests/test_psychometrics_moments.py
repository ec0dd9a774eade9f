"""Variance components by moments: published examples, REML, loops, and the intervals of G and
Phi.
"""

import math
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from hqm import psychometrics as psy
from hqm.psychometrics.reliability.score_dependability import fixed_score_variances
from hqm.psychometrics.variance.generalizability import difference_interval
from hqm.psychometrics.variance.variance_components import Design, Moments
from tests.conftest import NIGHTLY

# Davies, O. L. and Goldsmith, P. L. (1972), Statistical Methods in Research and Production; data
# sets of R's lme4. Compared number by number: DYESTUFF with the copies in the examples of BUGS and
# Mamba.jl ("dyes"), PENICILLIN and PASTES with the fixtures of the package mixeff4s, PASTES also
# with the file that statsmodels installs (test below)
DYESTUFF = np.array([
    [1545, 1440, 1440, 1520, 1580], [1540, 1555, 1490, 1560, 1495], [1595, 1550, 1605, 1510, 1560],
    [1445, 1440, 1595, 1465, 1545], [1595, 1630, 1515, 1635, 1625], [1520, 1455, 1450, 1480, 1445],
], dtype=float)  # fmt: skip
PENICILLIN = np.array(
    [
        [int(digits[i : i + 2]) for i in range(0, 12, 2)]
        for digits in (
            "272326232321 272326232321 252125242420 262325232320 252226222320 242225232219"
            " 242023212219 262226242421 242124222220 242124232219 262326242421 252226242420"
            " 262426242522 262326232320 262325242422 252225232320 252124232320 252224232319"
            " 242123212119 262326242421 252124222218 252225222220 242124222419 242124222118"
        ).split()
    ],
    dtype=float,
)
PASTES = np.array(
    [
        62.8,
        62.6,
        60.1,
        62.3,
        62.7,
        63.1,
        60,
        61.4,
        57.5,
        56.9,
        61.1,
        58.9,
        58.7,
        57.5,
        63.9,
        63.1,
        65.4,
        63.7,
        57.1,
        56.4,
        56.9,
        58.6,
        64.7,
        64.5,
        55.1,
        55.1,
        54.7,
        54.2,
        58.8,
        57.5,
        63.4,
        64.9,
        59.3,
        58.1,
        60.5,
        60,
        62.5,
        62.6,
        61,
        58.7,
        56.9,
        57.7,
        59.2,
        59.4,
        65.2,
        66,
        64.8,
        64.1,
        54.8,
        54.8,
        64,
        64,
        57.7,
        56.8,
        58.3,
        59.3,
        59.2,
        59.2,
        58.9,
        56.6,
    ]
).reshape(30, 2)
# Milliken and Johnson (1992), p. 285; data set Machines of R's nlme: three machines, six workers,
# three times. Compared with a public copy of nlme's data (a test of another package); the pages of
# the two books were not at hand
MACHINES = np.array(
    [
        52,
        52.8,
        53.1,
        51.8,
        52.8,
        53.1,
        60,
        60.2,
        58.4,
        51.1,
        52.3,
        50.3,
        50.9,
        51.8,
        51.4,
        46.4,
        44.8,
        49.2,
        62.1,
        62.6,
        64,
        59.7,
        60,
        59,
        68.6,
        65.8,
        69.7,
        63.2,
        62.8,
        62.2,
        64.8,
        65,
        65.4,
        43.7,
        44.2,
        43,
        67.5,
        67.2,
        66.9,
        61.5,
        61.7,
        62.3,
        70.8,
        70.6,
        71,
        64.1,
        66.2,
        64,
        72.1,
        72,
        71.1,
        62,
        61.4,
        60.5,
    ]
).reshape(3, 6, 3)


def deviations(moments: Moments) -> dict[str, float]:
    return {
        " x ".join(e): math.sqrt(v) for e, v in zip(moments.effects, moments.values, strict=True)
    }


def test_the_published_examples_of_lme4_and_nlme() -> None:
    """REML's standard deviations, as printed; moments are REML in balanced designs. statsmodels
    gives them too, below.
    """
    # Bates, Maechler, Bolker and Walker, lme4: Dyestuff, batch 42.00 and residual 49.51
    batches = psy.crossed_components(DYESTUFF, ["batch", "assay"], effects=[["batch"]])
    assert deviations(batches) == pytest.approx({"batch": 42.00, "batch x assay": 49.51}, abs=5e-3)
    # lme4: Penicillin, plate .8467, sample 1.9316, residual .5499
    plates = psy.crossed_components(PENICILLIN, ["plate", "sample"])
    assert deviations(plates) == pytest.approx(
        {"plate": 0.8467, "sample": 1.9316, "plate x sample": 0.5499}, abs=5e-5
    )
    # lme4: Pastes, cask in batch 2.904, batch 1.287, residual .823
    casks = psy.crossed_components(
        PASTES,
        ["cask", "assay"],
        nested={"cask": ("batch", np.arange(30) // 3)},
        effects=[["batch"], ["cask"]],
    )
    assert deviations(casks) == pytest.approx(
        {"batch": 1.287, "cask": 2.904, "cask x assay": 0.823}, abs=5e-4
    )
    # Pinheiro and Bates (2000), Mixed-Effects Models in S and S-PLUS, p. 24: worker 4.781, machine
    # in worker 3.7295, residual .96158; the machines are fixed there, which changes no other
    # component of a balanced design
    workers = psy.crossed_components(
        MACHINES,
        ["machine", "worker", "time"],
        effects=[["machine"], ["worker"], ["machine", "worker"]],
    )
    estimates = deviations(workers)
    assert estimates["worker"] == pytest.approx(4.781, abs=5e-4)
    assert estimates["machine x worker"] == pytest.approx(3.7295, abs=2e-4)
    assert estimates["machine x worker x time"] == pytest.approx(0.96158, abs=5e-6)


def test_pastes_is_the_file_that_statsmodels_compares_with_lme4() -> None:
    """Its test_lme.py says what R's lmer(strength ~ (1|batch) + (1|batch:cask)) gives: batch 1.657,
    residual .678 (variances).
    """
    import pandas as pd
    import statsmodels

    table = pd.read_csv(
        Path(statsmodels.__file__).parent / "regression" / "tests" / "results" / "pastes.csv"
    )
    assert table["strength"].to_numpy().tolist() == PASTES.ravel().tolist()
    casks = psy.crossed_components(
        PASTES,
        ["cask", "assay"],
        nested={"cask": ("batch", np.arange(30) // 3)},
        effects=[["batch"], ["cask"]],
    )
    values = {" x ".join(e): v for e, v in zip(casks.effects, casks.values, strict=True)}
    assert (values["batch"], values["cask x assay"]) == pytest.approx((1.657, 0.678), rel=1e-3)


REML_BY_STATSMODELS = {
    # name: the numbers, each effect's codes, the fixed part, standard deviations as printed for R
    # (residual last)
    "dyestuff": (DYESTUFF, {"batch": np.repeat(range(6), 5)}, "1", (42.00, 49.51), 5e-3),
    "penicillin": (
        PENICILLIN,
        {"plate": np.repeat(range(24), 6), "sample": np.tile(range(6), 24)},
        "1",
        (0.8467, 1.9316, 0.5499),
        1e-4,
    ),
    "pastes": (
        PASTES,
        {"batch": np.repeat(range(10), 6), "cask": np.repeat(range(30), 2)},
        "1",
        (1.287, 2.904, 0.823),
        1e-3,
    ),
    "machines": (
        MACHINES,
        {"worker": np.tile(np.repeat(range(6), 3), 3), "both": np.repeat(range(18), 3)},
        "C(machine)",
        (4.781, 3.7295, 0.96158),
        2e-4,
    ),
}


@pytest.mark.parametrize("name", REML_BY_STATSMODELS)
def test_the_printed_components_come_from_these_numbers(name: str) -> None:
    """statsmodels' mixed model, which knows nothing of ours, finds in the data above what is
    printed for lme4 and nlme.
    """
    import pandas as pd
    import statsmodels.formula.api as smf

    numbers, codes, fixed, printed, tolerance = REML_BY_STATSMODELS[name]
    scale = numbers.std()  # the optimiser needs numbers near 1
    table = pd.DataFrame(
        {
            "y": numbers.ravel() / scale,
            "machine": np.repeat(range(3), 18) if name == "machines" else 0,
            **codes,
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if len(codes) == 1:
            simple = smf.mixedlm(f"y ~ {fixed}", table, groups=next(iter(codes))).fit(reml=True)
            variances = [simple.cov_re.iloc[0, 0], simple.scale]
        else:
            parts = {key: f"0 + C({key})" for key in codes}
            model = smf.mixedlm(
                f"y ~ {fixed}", table, groups=np.ones(len(table)), vc_formula=parts, re_formula="0"
            )
            fitted = model.fit(reml=True, method=["lbfgs", "bfgs", "powell"])
            order = [model.exog_vc.names.index(key) for key in codes]
            variances = [*fitted.vcomp[order], fitted.scale]
    assert scale * np.sqrt(variances) == pytest.approx(printed, abs=tolerance)


def test_a_nested_design_against_reml() -> None:
    """Respondents crossed with items in pictures, balanced: statsmodels' mixed model gives the same
    components.
    """
    import pandas as pd
    import statsmodels.formula.api as smf

    rng = np.random.default_rng(4)
    respondents, pictures, items_per_picture = 8, 7, 3
    label = np.repeat(np.arange(pictures), items_per_picture)
    x = (
        rng.normal(size=(respondents, 1))
        + rng.normal(size=pictures)[label]
        + 0.8 * rng.normal(size=(respondents, pictures))[:, label]
        + 0.7 * rng.normal(size=label.size)
        + 0.6 * rng.normal(size=(respondents, label.size))
    )
    moments = psy.crossed_components(x, ["m", "i"], nested={"i": ("c", label)})
    ours = {"".join(e): float(v) for e, v in zip(moments.effects, moments.values, strict=True)}
    rows = [(m, label[i], i, x[m, i], 1) for m, i in product(range(respondents), range(label.size))]
    long_table = pd.DataFrame(rows, columns=["m", "c", "i", "y", "one"])
    parts = {"m": "0 + C(m)", "c": "0 + C(c)", "i": "0 + C(i)", "mc": "0 + C(m):C(c)"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = smf.mixedlm("y ~ 1", long_table, groups="one", vc_formula=parts, re_formula="0").fit(
            reml=True
        )
    rival = dict(zip(fit.model.exog_vc.names, fit.vcomp, strict=True))
    assert min(ours.values()) > 0
    for effect in ("m", "c", "i", "mc"):
        assert ours[effect] == pytest.approx(rival[effect], rel=5e-3), effect
    assert ours["mi"] == pytest.approx(fit.scale, rel=5e-3)


def test_unbalanced_components_are_unbiased_whatever_the_effects_are_drawn_from() -> None:
    """A third of the cells missing, pictures of 1 to 6 items, families of unequal size, effects
    that are no normal numbers.
    """
    rng = np.random.default_rng(5)
    family, picture = (
        np.array([0, 0, 0, 1, 1, 2, 3, 4, 4, 5]),
        np.repeat(np.arange(8), [1, 2, 3, 4, 5, 6, 1, 2]),
    )
    filled = rng.random((10, 24, 2)) < 0.67
    planted = {"family": 0.5, "respondent": 0.3, "picture": 0.4, "item": 0.6, "run": 0.1}
    total: dict[tuple[str, ...], float] = {}
    repeats = 400
    for _ in range(repeats):

        def effect(size: int, variance: float) -> np.ndarray:
            return (rng.exponential(size=size) - 1) * math.sqrt(variance)

        respondent_effects = effect(6, planted["family"])[family] + effect(
            10, planted["respondent"]
        )
        item_effects = effect(8, planted["picture"])[picture] + effect(24, planted["item"])
        x = (
            respondent_effects[:, None, None]
            + item_effects[None, :, None]
            + effect(2, planted["run"])
            + rng.normal(size=filled.shape)
        )
        moments = psy.crossed_components(
            np.where(filled, x, np.nan),
            ["respondent", "item", "run"],
            nested={"respondent": ("family", family), "item": ("picture", picture)},
            effects=[[name] for name in planted],
        )
        for name, value in zip(moments.effects, moments.values, strict=True):
            total[name] = total.get(name, 0.0) + float(value) / repeats
    for name, variance in planted.items():
        assert total[(name,)] == pytest.approx(
            variance, abs=0.12 if name in ("family", "picture") else 0.08
        ), name
    assert total[("respondent", "item", "run")] == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("nested", [False, True])
def test_leaving_out_a_picture_is_estimating_without_it(nested: bool) -> None:
    rng = np.random.default_rng(6)
    x = rng.normal(size=(6, 20, 3)) + rng.normal(size=(6, 1, 1))
    x[rng.random(x.shape) < 0.1] = np.nan
    label = rng.integers(0, 7, 20) if nested else np.arange(20)
    names, nested_in = ["m", "i", "k"], {"i": ("c", label)}
    design = Design(x, names, nested_in, None)
    study = psy.crossed_components(x, names, nested=nested_in, design=design)
    left = design.jackknife_components("i")
    for row, block in zip(left, np.unique(label), strict=True):
        keep = label != block
        refit = psy.crossed_components(
            x[:, keep], ["m", "i", "k"], nested={"i": ("c", label[keep])}
        )
        assert refit.effects == study.effects
        assert row == pytest.approx(refit.values, abs=1e-9)


def test_the_interval_of_a_difference_of_mean_squares_keeps_its_promise() -> None:
    """A component of one way: (MSA - MSE) / n, barely positive, small and large."""
    rng = np.random.default_rng(7)
    for component in (0.0, 0.02, 1.0):
        ms_between = (1 + 5 * component) * rng.chisquare(9, 4000) / 9
        ms_within = rng.chisquare(40, 4000) / 40
        covered = [
            low <= component <= high
            for low, high in (
                difference_interval([a / 5, -w / 5], [9, 40])
                for a, w in zip(ms_between, ms_within, strict=True)
            )
        ]
        assert 0.94 <= np.mean(covered) <= 0.985, component
    # a component of barely more than nothing has bounds, where Satterthwaite's degrees of freedom
    # run to 0
    low, high = difference_interval([1e-12 + 0.1, -0.1], [9, 40])
    assert low == 0.0
    assert 0.05 < high < 1


def test_the_spread_of_these_is_the_noncentral_chi_square() -> None:
    error, respondents = 0.01, 12
    for variance in (0.012, 0.03, 0.5):
        values = np.quantile(fixed_score_variances(variance, error, respondents), [0.025, 0.975])
        for value, tail in zip(values, (0.975, 0.025), strict=True):
            noncentral = (respondents - 1) * (value - error) / error
            if noncentral > 1e-6:
                probability = stats.ncx2.cdf(
                    (respondents - 1) * variance / error, respondents - 1, noncentral
                )
                assert probability == pytest.approx(tail, abs=4e-3)


def world(
    rng: np.random.Generator,
    respondents: int,
    pictures: int,
    items_per_picture: int,
    picture: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of right answers from a logistic model, which is not the estimators' own, and
    the pictures.
    """
    label = np.repeat(np.arange(pictures), items_per_picture)
    logit = (
        0.8
        + 0.8 * rng.normal(size=(respondents, 1))
        + rng.normal(size=label.size)
        + 0.7 * rng.normal(size=(respondents, label.size))
        + picture * rng.normal(size=pictures)[label]
        + picture * rng.normal(size=(respondents, pictures))[:, label]
    )
    return 1 / (1 + np.exp(-logit)), label


@pytest.mark.parametrize(("respondents", "each", "picture"), [(8, 1, 0.0), (20, 4, 1.0)])
def test_intervals_of_rho_g_g_and_phi_hold_the_truth_of_other_respondents(
    respondents: int, each: int, picture: float
) -> None:
    rng = np.random.default_rng(8)
    items = 120
    p, label = world(rng, 1500, 400, each, picture)
    bank = psy.crossed_components(p, ["m", "i"], nested={"i": ("c", label)})
    component_values = dict(zip(bank.effects, bank.values, strict=True))
    noise = float((p * (1 - p)).mean()) / items
    pictures = items // each
    relative = (
        noise
        + (component_values[("m", "i")]) / items
        + component_values.get(("m", "c"), 0.0) / pictures
    )
    absolute = (
        relative + component_values[("i",)] / items + component_values.get(("c",), 0.0) / pictures
    )
    universe = component_values[("m",)]
    truth = {
        "g": universe / (universe + relative),
        "phi": universe / (universe + absolute),
        "rho": 1 - noise / (universe + relative),
    }
    n_covered = dict.fromkeys(truth, 0)
    repeats = 150 if NIGHTLY else 50
    for _ in range(repeats):
        p, label = world(rng, respondents, pictures, each, picture)
        runs = (rng.random((2, *p.shape)) < p).astype(float)
        study = psy.g_and_phi(np.moveaxis(runs, 0, 2), "run", label, replicated=True)
        for name, estimate in (
            ("g", study.g),
            ("phi", study.phi),
            ("rho", psy.rho_g(runs, label).rho),
        ):
            assert estimate.fixed is not None
            assert (
                estimate.low
                <= estimate.fixed.low
                <= estimate.value
                <= estimate.fixed.high
                <= estimate.high
            )
            n_covered[name] += estimate.low <= truth[name] <= estimate.high
    for name, count in n_covered.items():
        # the goal is .93 to .97; two Monte Carlo standard errors of 150 replicates are .036
        slack = 2 * math.sqrt(0.95 * 0.05 / repeats)
        assert 0.93 - slack <= count / repeats <= 1, (name, count / repeats)


def test_pure_noise_stays_within_a_respondents_own_smallest_difference() -> None:
    """With unequal noise, 4 to 6 % of rerun pairs differ by more; the pooled one would be passed
    far more often by some.
    """
    rng = np.random.default_rng(9)
    respondents, items = 12, 1500
    p = np.clip(rng.beta(0.5, 0.3, size=(respondents, items)), 0, 1)
    p[: respondents // 2] = np.where(
        p[: respondents // 2] > 0.5, 1 - 0.02 * rng.random(), 0.02 * rng.random()
    )
    beyond = np.zeros(respondents)
    pooled = np.zeros(respondents)
    repeats = 400
    for _ in range(repeats):
        study = psy.rho_g((rng.random((2, *p.shape)) < p).astype(float))
        first, second = (rng.random((2, *p.shape)) < p).mean(axis=2)
        beyond += np.abs(first - second) > study.mdc95
        pooled += np.abs(first - second) > study.mdc95_pooled
    assert 0.04 <= beyond.mean() / repeats <= 0.06
    assert pooled.max() / repeats > 0.08
    assert pooled.min() / repeats < 0.005


def test_the_repeatability_coefficient_of_bland_and_altman() -> None:
    """Bland, J. M. and Altman, D. G. (1996). Measurement error. BMJ, 313, 744: peak flow of 20
    children, four times each.

    Within-subject mean square 460.52, standard deviation 21.5, repeatability 2.77 times it. The
    rows were compared with a transcript of the paper's Table 1, and the mean of the variances,
    which is that mean square, is computed beside them.
    """
    flow = np.array(
        [
            [190, 220, 200, 200],
            [220, 200, 240, 230],
            [260, 260, 240, 280],
            [210, 300, 280, 265],
            [270, 265, 280, 270],
            [280, 280, 270, 275],
            [260, 280, 280, 300],
            [275, 275, 275, 305],
            [280, 290, 300, 290],
            [320, 290, 300, 290],
            [300, 300, 310, 300],
            [270, 250, 330, 370],
            [320, 330, 330, 330],
            [335, 320, 335, 375],
            [350, 320, 340, 365],
            [360, 320, 350, 345],
            [330, 340, 380, 390],
            [335, 385, 360, 370],
            [400, 420, 425, 420],
            [430, 460, 480, 470],
        ]
    )
    assert flow.var(axis=1, ddof=1).mean() == pytest.approx(460.52, abs=5e-3)
    study = psy.icc(flow)
    assert study.sem_agreement**2 == pytest.approx(460.52, abs=5e-3)
    assert study.mdc95 == pytest.approx(2.77 * 21.5, abs=0.1)
