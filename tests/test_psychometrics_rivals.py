"""Coefficients beside other people's libraries on random data: generalizit and ppi-python."""

import warnings

import numpy as np
import pandas as pd
import pytest

import hqm.psychometrics as psy


def crossed(seed: int, runs: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    parts = (
        rng.normal(0, 1.0, (9, 1, 1))
        + rng.normal(0, 0.7, (1, 7, 1))
        + rng.normal(0, 0.3, (1, 1, runs))
    )
    return parts + rng.normal(0, 0.5, (9, 7, 1)) + rng.normal(0, 0.8, (9, 7, runs))  # type: ignore[no-any-return]


@pytest.mark.parametrize("seed", range(3))
def test_components_are_those_of_generalizit(seed: int) -> None:
    from generalizit import GeneralizIT

    scores = crossed(seed, 3)
    index = np.indices(scores.shape).reshape(3, -1)
    table = pd.DataFrame(
        {"person": index[0], "item": index[1], "run": index[2], "score": scores.ravel()}
    )
    rival = GeneralizIT(table, "person x item x run", "score")
    rival.calculate_anova()
    theirs = rival.design.anova_table["Variance"].to_dict()
    ours = psy.g_study(scores, ("person", "item", "run"))
    for component in ours.components:
        match = next(
            v
            for k, v in theirs.items()
            if set(str(k).replace(" ", "").split("x")) == set(component.effect)
        )
        # it rounds to four digits, and takes a negative component as zero
        assert match in (
            pytest.approx(component.raw, abs=6e-5),
            pytest.approx(component.value, abs=6e-5),
        )


@pytest.mark.parametrize("seed", range(3))
def test_corrected_scores_are_those_of_ppi_python(seed: int) -> None:
    """At a fixed weight the point estimates are equal, and the intervals."""
    with warnings.catch_warnings():  # the package silences all warnings when it is imported
        warnings.simplefilter("ignore")
        from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
    rng = np.random.default_rng(seed)
    truth = (rng.random(2000) < 0.6).astype(float)
    judge = np.where(rng.random(2000) < 0.15, 1 - truth, truth)
    human = np.full(2000, np.nan)
    labelled = rng.choice(2000, 200, replace=False)
    human[labelled] = truth[labelled]
    rest = np.setdiff1d(np.arange(2000), labelled)
    corrected = psy.ppi_scores(judge[None], human[None], weight=1.0)
    given = (truth[labelled], judge[labelled], judge[rest])
    assert corrected.scores[0].value == pytest.approx(
        float(np.squeeze(ppi_mean_pointestimate(*given, lam=1.0))), abs=1e-9
    )
    low, high = (float(np.squeeze(end)) for end in ppi_mean_ci(*given, alpha=0.05, lam=1.0))
    ours = corrected.scores[0]
    assert (ours.low, ours.high) == pytest.approx((low, high), abs=1e-9)
