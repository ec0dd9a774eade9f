"""What forecasts of studies blame, need and leave out, and contests of two studies, by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from hqm import psychometrics as psy
from hqm.psychometrics.variance import study_forecast
from hqm.psychometrics.variance.study_forecast import (
    PRECISIONS,
    StudySize,
    component_gradient,
    effective_respondents,
    error_components,
)
from hqm.psychometrics.variance.study_variance import StudyComponents
from tests.test_psychometrics_by_hand import EFFECTS, SIZE, VALUES, parts

BLAMED = {
    "rho_g": "noise judge",
    "g": "m-picture m-item m-form noise judge",
    "phi": "picture item form m-picture m-item m-form noise judge",
    "forms": "m-form noise judge",
    "sem": "picture item m-picture m-item noise judge",
    "half_width": "picture item m-picture m-item noise judge",
    "mdd": "m-picture m-item noise judge",
    "labelled_sem": "picture item m-picture m-item noise judge",
    "mean_sem": "family respondent picture item m-picture m-item m-form noise judge",
    "rho_g_half_width": "noise judge",
}
REQUIRED_FIELDS = {
    "rho_g": ("runs",),
    "forms": ("forms",),
    "labelled_sem": ("labels",),
    "mean_sem": ("others",),
    "rho_g_half_width": ("runs", "others"),
}


@pytest.mark.parametrize("name", BLAMED)
def test_what_stands_in_the_way_of_a_better_figure(name: str) -> None:
    """An effect is blamed where more of it makes the figure worse: coefficients are better higher,
    errors lower.
    """
    words = "family respondent picture item form m-picture m-item m-form noise".split()
    precision = PRECISIONS[name]
    blamed = [word for word, effect in zip(words, EFFECTS, strict=True) if precision.blames(effect)]
    blamed += ["judge"] if precision.blames(("judge",)) else []
    assert blamed == BLAMED[name].split()
    assert precision.needs == REQUIRED_FIELDS.get(name, ())
    assert precision.higher == (name in ("rho_g", "g", "phi", "forms"))
    assert precision.name == name
    figure = float(psy.forecast(parts(), name, SIZE))
    worse = {}
    for i, (word, value) in enumerate(zip(words, VALUES, strict=True)):
        larger = parts(values=(*VALUES[:i], 1.2 * value, *VALUES[i + 1 :]))
        moved = float(psy.forecast(larger, name, SIZE)) - figure
        worse[word] = moved < -1e-12 if precision.higher else moved > 1e-12
    # of a share of noise in what is seen, other parts of it make less
    ours = [word for word in words if worse[word]]
    if name != "forms":
        assert ours == [word for word in blamed if word != "judge"]


def test_forecasts_of_a_usual_study_and_of_none() -> None:
    """100 pictures of one item, ten respondents, everything once."""
    simple = StudyComponents(
        effects=(("respondent",), ("respondent", "item")), values=(0.02, 0.2), labels=None
    )
    usual = StudySize()
    assert float(psy.forecast(simple, "sem", usual)) == pytest.approx(math.sqrt(0.002))
    assert float(psy.forecast(simple, "mean_sem", usual)) == pytest.approx(math.sqrt(0.0022))
    repeated_study = replace(
        simple, effects=(("respondent",), ("respondent", "item", "form", "run"))
    )
    judged = error_components(replace(repeated_study, judge=0.05), usual)
    assert (judged["judge",], judged[repeated_study.effects[-1]]) == pytest.approx((0.0005, 0.0015))
    # of more labels than answers none is missing, and without labels nothing is known to be
    larger_study = StudySize(pictures=10, items=2, labels=40)
    for labels in (None, 0.5):
        labelled = psy.forecast(replace(simple, labels=labels), "labelled_sem", larger_study)
        assert float(labelled) == pytest.approx(math.sqrt(0.01))
    label_sizes = StudySize(pictures=10, labels=[0, 4, 10])
    errors = psy.forecast(replace(simple, labels=0.5), "labelled_sem", label_sizes)
    assert errors == pytest.approx([math.inf, math.sqrt(0.02 + 0.5 * (1 / 4 - 1 / 10)), 0.02**0.5])
    # pictures of one item in the audit become as uneven as it says with the second item
    uneven = replace(simple, effects=(("respondent",), ("picture",)), per_picture=1.0, crowd=1.5)
    for items, error in ((1, 0.002), (2, 0.003), (4, 0.003)):
        sem = psy.forecast(uneven, "sem", StudySize(items=items))
        assert float(sem) == pytest.approx(math.sqrt(error))
    # what wordings do to everybody is known from five on
    six, five = (psy.forecast(parts(forms=forms), "phi", SIZE) for forms in (6, 5))
    assert six == five
    degenerate = StudyComponents(status="degenerate", reason="why")
    forecasts = psy.forecast(degenerate, "g", StudySize(pictures=[10, 20, 30]))
    assert forecasts.shape == (3,)
    assert np.isnan(forecasts).all()
    single = psy.forecast(simple, "mdd", StudySize(pictures=[1, 2]))
    assert single[0] / single[1] == pytest.approx(math.sqrt(2)), "one degree of freedom at least"


def test_independent_respondents_by_kishs_design_effect() -> None:
    for respondents, families, size in ((0, 0, 0), (8, 0, 8), (8, 8, 8), (0, 3, 0)):
        assert effective_respondents(parts(respondents=respondents, families=families)) == size
    alike = parts(respondents=9, families=3)
    assert effective_respondents(alike) == pytest.approx(9 / (1 + 2 * 0.005 / 0.025))
    flat = parts(effects=EFFECTS[2:], values=VALUES[2:], respondents=9, families=3)
    assert effective_respondents(flat) == pytest.approx(3), (
        "of respondents who are alike a family is one"
    )
    # nobody was counted: the mean's error is that of as many families as respondents
    nobody = parts(respondents=0, families=0)
    eight = parts(respondents=8, families=8)
    ours, theirs = (float(psy.forecast(p, "mean_sem", SIZE)) for p in (nobody, eight))
    assert ours == pytest.approx(theirs)


def test_a_difference_of_very_many_pictures_is_that_of_the_normal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Some releases of scipy have no noncentral t there."""
    z = stats.norm.ppf([0.975, 0.8]).sum()
    large_studies = StudySize(pictures=[10**7, 10**7])
    error = math.sqrt(2 * float(psy.forecast(parts(), "sem", large_studies)[0]) ** 2)
    plain = parts(effects=EFFECTS[6:7], values=(0.03,))
    expected = z * math.sqrt(2 * 0.03 / 10**7)
    assert error > 0
    assert psy.forecast(plain, "mdd", large_studies) == pytest.approx([expected] * 2, rel=1e-5)
    monkeypatch.setattr(study_forecast, "nctdtrinc", lambda df, p, t: np.full(len(df), np.nan))
    assert psy.forecast(plain, "mdd", large_studies) == pytest.approx([expected] * 2)


def test_forecasts_without_an_interval() -> None:
    certain = parts(covariance=tuple(map(tuple, (np.eye(9) * 1e-8).tolist())))
    low, high = psy.forecast_interval(certain, "mdd", SIZE)
    assert low < float(psy.forecast(certain, "mdd", SIZE)) < high
    without_judge = parts(
        effects=(("respondent",),), values=(0.02,), covariance=((1e-6,),), judge=None
    )
    for name in ("sem", "g"):
        assert all(map(math.isnan, psy.forecast_interval(without_judge, name, SIZE))), (
            "no error at all"
        )
    wide = parts(covariance=tuple(map(tuple, (np.eye(9) * 1e9).tolist())))
    low, high = psy.forecast_interval(wide, "sem", SIZE)
    assert (low, math.isfinite(high)) == (0, True)
    still = parts(covariance=tuple(map(tuple, np.zeros((9, 9)).tolist())))
    sem = float(psy.forecast(still, "sem", SIZE))
    assert psy.forecast_interval(still, "se", SIZE) == pytest.approx((sem, sem))
    # a component of nothing moves, too, and no step is taken below nothing
    zero_residual = parts(values=(*VALUES[:-1], 0.0))
    assert component_gradient(zero_residual, lambda p: 2 * p.values[-1] + p.values[3])[
        [3, 8]
    ] == pytest.approx([1, 2], rel=1e-4)


@pytest.mark.parametrize(
    ("difference", "error", "adjusted", "choice"),
    [
        (0.3, 0.1, math.nan, 1),
        (-0.3, 0.1, math.nan, 2),
        (0.19, 0.1, math.nan, 0),
        (0.3, 0.1, 0.06, 0),
        (-0.1, 0.1, 0.04, 2),
        (0.3, 0.0, math.nan, 0),
        (math.nan, math.nan, math.nan, 0),
        (0.3, 0.1, 0.05, 0),
    ],
)
def test_who_wins_a_contest(difference: float, error: float, adjusted: float, choice: int) -> None:
    contest = study_forecast.Contest(difference, error, adjusted=adjusted)
    assert contest.choice == choice
    if error > 0:
        assert contest.p == pytest.approx(2 * stats.norm.sf(abs(difference / error)))
    else:
        assert math.isnan(contest.p)


def test_two_studies_that_cannot_be_compared_say_why() -> None:
    size = StudySize(pictures=50, runs=2)
    components = StudyComponents(
        effects=(("respondent",), ("picture",), ("respondent", "item"), ("respondent", "run")),
        values=(0.02, 0.5, 0.2, 0.01),
        covariance=tuple(map(tuple, (np.eye(4) * 1e-7).tolist())),
        respondents=12, families=12, items=40, pictures=40, judge=0.002,
    )  # fmt: skip
    nobody = replace(
        components, effects=(("family",), *components.effects[1:]), values=(0.0, 0.5, 0.2, 0.01)
    )
    for pair in ((components, nobody), (nobody, components)):
        compared = psy.compare_studies(*pair, (size, size), 0.9, 12)
        assert compared.fixed_respondents.reason == compared.other_respondents.reason != ""
        assert all(map(math.isnan, compared.g))
    without_covariance = replace(components, covariance=())
    lacking = psy.compare_studies(without_covariance, components, (size, size), 0.9, 12)
    assert (lacking.fixed_respondents.choice, lacking.other_respondents.choice) == (0, 0)
    assert lacking.fixed_respondents.reason == lacking.other_respondents.reason != ""
    assert math.isnan(lacking.fixed_respondents.difference)
    # errors of pictures and of the judge count, those of runs or of all respondents alike do not
    error_variance = 0.2 / 50 + 0.002 / 2
    assert lacking.g[0] == pytest.approx(0.02 / (0.02 + error_variance))
    for first, second, n in (
        (components, components, 9.9),
        (replace(components, respondents=9, families=9), components, 12),
    ):
        comparison = psy.compare_studies(first, second, (size, size), 0.9, n)
        assert comparison.fixed_respondents.reason == ""
        assert comparison.other_respondents.reason
        assert math.isnan(comparison.other_respondents.p)
        swapped = psy.compare_studies(second, first, (size, size), 0.9, n)
        assert swapped.other_respondents.reason == comparison.other_respondents.reason
    certain = psy.compare_studies(components, components, (size, size), 1.0, 10)
    assert certain.other_respondents.reason == ""
    assert certain.other_respondents.error == pytest.approx(certain.fixed_respondents.error)
