"""The worlds of the coverage table: their exact truths against averages over thousands of drawn
studies.
"""

from dataclasses import replace

import numpy as np
import pytest

from tests.conftest import NIGHTLY, nightly
from tests.perf.coverage_worlds import (
    Array,
    Respondents,
    World,
    draw_respondents,
    draw_study,
    population,
    truths,
    worlds,
)

N_STUDIES = 600 if NIGHTLY else 300


def by_drawing(
    world: World, respondents: Respondents, rng: np.random.Generator
) -> dict[str, float]:
    """What the truths are ratios of, as plain averages over drawn studies."""
    scores = np.stack(
        [draw_study(world, respondents, rng).scores(world.metric) for _ in range(N_STUDIES)]
    )
    a, second, b = scores[:, 0], scores[:, 1], scores[:, 2]

    def covariance(x: Array, y: Array) -> float:
        x, y = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
        return float((x * y).sum(axis=1).mean()) / (len(respondents) - 1)

    spread, repeated = covariance(a, a), covariance(a, second)
    expected = scores[:, :2].mean(axis=(0, 1))
    true = float(expected.var(ddof=1)) - float(a.var(axis=0).mean()) / (2 * N_STUDIES)
    return {
        "rho_g": repeated / spread,
        "pearson": covariance(a, b) / np.sqrt(spread * covariance(b, b)),
        "mean_shift": float((b - a).mean()),
        "form_correlation": (
            covariance(a, b)
            / np.sqrt(repeated * (covariance(b, b) - _noise_of(world, respondents, rng)))
        ),
        "alpha": true / spread,
        "phi": true / (true + float(a.var(axis=0).mean())),
    }


def _noise_of(world: World, respondents: Respondents, rng: np.random.Generator) -> float:
    """The variance that runs make in a score on form B, which is form A of respondents as able as
    on B.
    """
    on_b = replace(
        respondents, ability=respondents.ability + respondents.form, stable=0 * respondents.stable
    )
    wide = replace(world, item=float(np.hypot(world.item, world.form_item)))
    scores = np.stack(
        [draw_study(wide, on_b, rng).scores(world.metric)[:2] for _ in range(N_STUDIES)]
    )
    return float(((scores[:, 0] - scores[:, 1]) ** 2).mean()) / 2


WORLDS = ["10 a picture, sd 0.5", "F1 .98", "5 % unscored", "forms differ by item"]
NIGHTLY_WORLDS = ["plain", "4 a picture, sd 1", "CHAIR .02", "unequal noise"]


@pytest.mark.parametrize(
    "name", [*WORLDS, *(pytest.param(name, marks=nightly) for name in NIGHTLY_WORLDS)]
)
def test_truths_are_averages_over_drawn_studies(name: str) -> None:
    rng = np.random.default_rng(1)
    world = worlds()[name, 10]
    respondents = draw_respondents(world, rng)
    exact, averages = truths(world, respondents), by_drawing(world, respondents, rng)
    for statistic in averages.keys() & exact.keys():
        # of a correlation the error 1 - r counts; F1 near its bound is linear to first order only
        allowed = 0.002 if statistic == "mean_shift" else 0.015 + 0.09 * (1 - exact[statistic])
        assert averages[statistic] == pytest.approx(exact[statistic], abs=allowed), statistic


def test_others_are_many_respondents() -> None:
    rng = np.random.default_rng(2)
    world = replace(worlds()["plain", 40], respondents=1000 if NIGHTLY else 600)
    exact, drawn_truths = (
        truths(world, population(world)),
        truths(world, draw_respondents(world, rng)),
    )
    for statistic, value in exact.items():
        assert drawn_truths[statistic] == pytest.approx(value, abs=0.004 + 0.12 * (1 - abs(value)))


def test_relatives_are_alike() -> None:
    world = replace(worlds()["families of 4", 40], respondents=4000)
    able = draw_respondents(world, np.random.default_rng(3)).ability.reshape(-1, 4)
    assert np.corrcoef(able[:, 0], able[:, 3])[0, 1] == pytest.approx(0.7, abs=0.03)
    lone = draw_respondents(worlds()["all in one family", 40], np.random.default_rng(3))
    assert set(lone.families) == {"f0"}
