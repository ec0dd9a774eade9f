"""What people's labels say given the answers' length, within respondents and rater by rater:
against published values.
"""

import json
import math
import random
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

import hqm.psychometrics as psy
from hqm.errors import AnswerError
from hqm.imports.human_labels import _stages
from hqm.indicators import comparisons
from hqm.labels.people_labels import FAITHFUL
from hqm.psychometrics.agreement import raters
from hqm.types import Cell
from tests import test_flags as made
from tests.conftest import Run, write_benchmark
from tests.messages import text_of

pytestmark = pytest.mark.filterwarnings("error")

# Bland and Altman 1995, BMJ 310, 446: pH and PaCO2 of eight people, as pingouin's data set rm_corr
# has them
PH = [
    [6.68, 6.53, 6.43, 6.33],
    [6.85, 7.06, 7.13, 7.17],
    [7.4, 7.42, 7.41, 7.37, 7.34, 7.35, 7.28, 7.3, 7.34],
    [7.36, 7.33, 7.29, 7.3, 7.35],
    [7.35, 7.3, 7.3, 7.37, 7.27, 7.28, 7.32, 7.32],
    [7.38, 7.3, 7.29, 7.33, 7.31, 7.33],
    [6.86, 6.94, 6.92],
    [7.19, 7.29, 7.21, 7.25, 7.2, 7.19, 6.77, 6.82],
]
PACO2 = [
    [3.97, 4.12, 4.09, 3.97],
    [5.27, 5.37, 5.41, 5.44],
    [5.67, 3.64, 4.32, 4.73, 4.96, 5.04, 5.22, 4.82, 5.07],
    [5.67, 5.1, 5.53, 4.75, 5.51],
    [4.28, 4.44, 4.32, 3.23, 4.46, 4.72, 4.75, 4.99],
    [4.78, 4.73, 5.12, 4.93, 5.03, 4.93],
    [6.85, 6.44, 6.52],
    [5.28, 4.56, 4.34, 4.32, 4.41, 3.69, 6.09, 5.58],
]

# Davies and Goldsmith 1972, table 6.6, as lme4's data set Penicillin has them: 6 samples on 24
# plates
PENICILLIN = np.array(
    [
        list(map(float, row.split()))
        for row in (
            "27 27 25 26 25 24 24 26 24 24 26 25 26 26 26 25 25 25 24 26 25 25 24 24",
            "23 23 21 23 22 22 20 22 21 21 23 22 24 23 23 22 21 22 21 23 21 22 21 21",
            "26 26 25 25 26 25 23 26 24 24 26 26 26 26 25 25 24 24 23 26 24 25 24 24",
            "23 23 24 23 22 23 21 24 22 23 24 24 24 23 24 23 23 23 21 24 22 22 22 22",
            "23 23 24 23 23 22 22 24 22 22 24 24 25 23 24 23 23 23 21 24 22 22 24 21",
            "21 21 20 20 20 19 19 21 20 19 21 20 22 20 22 20 20 19 19 21 18 20 19 18",
        )
    ]
)
LME4 = (0.8467**2, 1.9316**2, 0.5499**2)
"""Plates, samples and residual by REML, as lme4 prints them (`lmer(diameter ~ (1|plate) +
(1|sample), Penicillin)`); statsmodels finds the same in these numbers
(tests/test_psychometrics_moments.py)."""
VARIANCES = ("answers", "raters", "residual")

# x, y and cv1 of pingouin's data set partial_corr
X = [
    5.230740167,
    6.013931187,
    6.613585258,
    4.559917949,
    2.408399942,
    5.876399743,
    3.605007008,
    3.191945457,
    5.408220902,
    4.73010256,
    2.813076752,
    4.659566886,
    3.664422736,
    2.731090022,
    4.602603881,
    4.640224653,
    2.902473081,
    4.764545528,
    4.620751475,
    3.339782777,
    4.948988822,
    5.776111074,
    3.303580792,
    3.485988245,
    1.739233358,
    2.992316792,
    5.069343976,
    5.283887756,
    3.697089365,
    5.466289058,
]
Y = [
    7.141487747,
    6.197815441,
    7.160614515,
    6.444575363,
    4.760462694,
    6.265443206,
    5.033938366,
    3.902436875,
    6.312127817,
    7.459479769,
    5.844059434,
    7.015609145,
    6.682680391,
    6.226334854,
    6.392682282,
    6.814922398,
    6.744769567,
    7.905084547,
    6.016126674,
    4.751747141,
    6.796513308,
    7.267550673,
    6.411334636,
    6.414419724,
    5.591989184,
    5.070010656,
    5.423928861,
    6.866102116,
    6.129921613,
    7.747688627,
]
COVARIATE = [
    1.825429898,
    3.154003257,
    3.634477367,
    3.067836613,
    1.668075809,
    0.242259137,
    1.001603051,
    1.701843543,
    3.142349799,
    3.073304202,
    4.588061975,
    1.706643268,
    1.563156544,
    2.682536028,
    1.737793373,
    0.062573597,
    -0.195902494,
    1.341317762,
    1.025210916,
    -0.367103949,
    1.794446613,
    1.571912399,
    2.306353356,
    1.613321144,
    2.436763718,
    1.712489147,
    3.615947437,
    0.997547404,
    3.138867325,
    1.053789088,
]


def padded(rows: list[list[float]]) -> np.ndarray:
    width = max(map(len, rows))
    return np.array([[*row, *[math.nan] * (width - len(row))] for row in rows])


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_the_example_of_partial_correlation_in_pingouins_documentation() -> None:
    """partial_corr(data=df, x="x", y="y", covar="cv1"): n 30, r .568."""
    partial = psy.partial_pearson(X, Y, COVARIATE)
    assert (partial.n, round(partial.value, 3)) == (30, 0.568)
    related = psy.partial_pearson(X, Y, COVARIATE, n_effective=15)
    assert related.value == partial.value
    assert related.low < partial.low, "relatives say less about others"


def test_a_partial_correlation_is_that_of_the_residuals() -> None:
    x, y, covariate = rng().normal(size=(3, 12))
    x[3] = np.nan
    retained = np.arange(12) != 3
    left = [
        v[retained]
        - np.polyval(np.polyfit(covariate[retained], v[retained], 1), covariate[retained])
        for v in (x, y)
    ]
    for factor in (1.0, 1e-9):
        partial = psy.partial_pearson(x * factor, y, covariate)
        assert (partial.n, partial.value) == (11, pytest.approx(np.corrcoef(left)[0, 1]))
    # what length leaves of both is the same, or the opposite
    assert psy.partial_pearson(y, 2 * y + covariate, covariate).value == 1
    assert psy.partial_pearson(y, covariate - y, covariate).value == -1


def test_what_has_no_partial_correlation_says_why() -> None:
    small_study = psy.partial_pearson(X[:4], Y[:4], COVARIATE[:4])
    assert (small_study.status, small_study.reason) == (
        "insufficient",
        text_of("partial.few", respondents=4),
    )
    unknown = psy.partial_pearson(X, Y, [math.nan] * 30)
    assert (unknown.status, unknown.n) == ("insufficient", 0)
    assert psy.partial_pearson(X, Y, [1.0] * 30).status == "degenerate"
    assert psy.partial_pearson(X, [0.5] * 30, COVARIATE).status == "degenerate"
    assert "determines" in psy.partial_pearson(X, Y, [-v for v in X]).reason
    assert math.isnan(psy.partial_pearson(X[:5], Y[:5], COVARIATE[:5], n_effective=4).low)


def test_bland_and_altmans_ph_within_subjects() -> None:
    """Bakdash and Marusich 2017, table 2, and pingouin: r(38) = -.507, 95% CI [-.71, -.23], p =
    .0008.
    """
    study = psy.repeated_measures(padded(PH), padded(PACO2))
    r = study.coefficient
    assert (round(r.value, 5), study.dof, r.n, round(study.p, 6)) == (-0.50677, 38, 8, 0.000847)
    assert (round(r.low, 2), round(r.high, 2)) == (-0.71, -0.23)


def test_a_repeated_measures_correlation_is_that_of_the_deviations_from_respondents_means() -> None:
    x, y = rng().normal(size=(2, 9, 4)) + 5 * rng().normal(size=(2, 9, 1))
    x[0, 1:], y[1, 0] = np.nan, np.nan  # the first respondent has one occasion left
    study = psy.repeated_measures(x, y)
    scored = np.isfinite(x) & np.isfinite(y)
    scored[0] = False
    left = [np.where(scored, v, np.nan) for v in (x, y)]
    deviations = [
        (v - np.nanmean(v[1:], axis=1, keepdims=True)[np.r_[0, 0:8]])[scored] for v in left
    ]
    assert study.coefficient.value == pytest.approx(np.corrcoef(deviations)[0, 1])
    assert (study.coefficient.n, study.dof) == (8, 31 - 8 - 1)
    perfect = psy.repeated_measures(x, 3 - 2 * x).coefficient
    assert (perfect.status, perfect.value) == ("ok", pytest.approx(-1))


def test_without_pingouin_two_correlations_are_absent_and_say_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pingouin", None)
    absent = [
        psy.partial_pearson(X, Y, COVARIATE),
        psy.repeated_measures(padded(PH), padded(PACO2)).coefficient,
    ]
    for coefficient in absent:
        assert math.isnan(coefficient.value)
        assert (coefficient.status, coefficient.reason) == (
            "not_applicable",
            text_of("stats.missing"),
        )


def test_what_has_no_repeated_measures_correlation_says_why() -> None:
    x = rng().normal(size=(3, 3))
    small_study = psy.repeated_measures(x[:2], x[:2]).coefficient
    assert small_study.reason == text_of("repeated.few", respondents=2)
    level = psy.repeated_measures(x, np.repeat([[0.1], [0.2], [0.3]], 3, axis=1)).coefficient
    assert (level.status, level.reason) == (
        "degenerate",
        text_of("repeated.constant"),
    )
    with pytest.raises(ValueError, match="respondents, occasions"):
        psy.repeated_measures(x, x[:2])


def test_penicillin_by_mean_squares_and_by_likelihood() -> None:
    study = psy.rater_share(PENICILLIN, rng())
    assert [getattr(study, name) for name in VARIANCES] == pytest.approx(LME4, rel=2e-4)
    assert study.share.value == pytest.approx(LME4[1] / sum(LME4), rel=1e-4)
    assert (study.method, study.n_raters, study.n_answers, study.n_labels) == (
        "mean squares",
        6,
        24,
        144,
    )
    assert raters._reml_components(PENICILLIN) == pytest.approx(LME4, rel=2e-4)


def restricted_likelihood(x: np.ndarray) -> np.ndarray:
    """The variances of answers, raters and residual at the largest restricted likelihood, straight
    from its formula.
    """
    rater, answer = np.nonzero(np.isfinite(x))
    y, design_matrices = (
        x[rater, answer],
        [np.equal.outer(k, k).astype(float) for k in (answer, rater)],
    )

    def lost(roots: np.ndarray) -> float:
        a, r, e = roots**2
        if e < 1e-6:
            return math.inf
        v = a * design_matrices[0] + r * design_matrices[1] + e * np.eye(len(y))
        inverse = np.linalg.inv(v)
        weights = inverse.sum(axis=0)
        deviation = y - weights @ y / weights.sum()
        return float(
            np.linalg.slogdet(v)[1] + np.log(weights.sum()) + deviation @ inverse @ deviation
        )

    best = minimize(
        lost, np.full(3, y.std()), method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-10}
    )
    return np.asarray(best.x**2)


def test_an_unbalanced_table_against_the_likelihood_itself() -> None:
    x = PENICILLIN[:4].copy()
    x[rng().random(x.shape) < 0.4] = np.nan
    study = psy.rater_share(x, rng())
    assert study.method == "REML"
    shared = x[:, np.isfinite(x).sum(axis=0) >= 2]
    assert study.n_labels == np.isfinite(shared).sum() < np.isfinite(x).sum()
    assert [getattr(study, name) for name in VARIANCES] == pytest.approx(
        restricted_likelihood(shared), rel=2e-3
    )


@pytest.mark.parametrize(("of_answers", "of_raters"), [(1, 0), (0, 1), (0, 0)])
def test_negative_variances_of_a_full_table_are_pooled_as_the_likelihood_does(
    of_answers: int, of_raters: int
) -> None:
    """Where the mean square of an effect is below the residual's, the largest likelihood has the
    effect at 0.
    """
    x = np.random.default_rng(8).normal(size=(3, 12))
    x -= x.mean(axis=1, keepdims=True) * (1 - of_raters) + x.mean(axis=0) * (1 - of_answers)
    x += of_raters * np.array([[0], [1], [2]]) + of_answers * np.arange(12) / 4
    parts = raters._anova_components(x)
    assert [variance > 0 for variance in parts] == [bool(of_answers), bool(of_raters), True]
    assert parts == pytest.approx(restricted_likelihood(x), rel=2e-3, abs=1e-6)
    assert raters._reml_components(x) == pytest.approx(parts, rel=2e-3, abs=1e-6)
    study = psy.rater_share(x, rng())
    assert study.share.status == ("ok" if of_raters else "not_informative")
    assert (study.share.value == 0, "estimated as 0" in study.share.reason) == (
        not of_raters,
        not of_raters,
    )


def test_what_has_no_share_of_raters_says_why() -> None:
    labels = (rng().random((2, 12)) < 0.5).astype(float)
    disjoint = np.where(np.arange(12) < 6, labels, np.nan)
    share = psy.rater_share(disjoint, rng()).share
    assert (share.status, share.reason) == (
        "insufficient",
        text_of("raters.few", answers=10, raters=2, there=6),
    )
    assert psy.rater_share(np.empty((0, 0)), rng()).share.status == "insufficient"
    assert psy.rater_share(labels * 0, rng()).share.reason == "all labels are equal"
    share = psy.rater_share(labels[[0, 0]], rng()).share
    assert (share.status, share.value, share.reason) == (
        "not_informative",
        0,
        text_of("raters.never-differ"),
    )
    # lenient by 1: nothing is left that a share could be a share of
    exact = np.arange(12.0) + np.array([[0], [1], [3]])
    exact[1, 3] = np.nan
    without_residual = psy.rater_share(exact, rng()).share
    assert (without_residual.status, without_residual.reason) == (
        "degenerate",
        text_of("raters.explained"),
    )


@pytest.mark.parametrize("seed", [4, 25, 33, 44, 56, 105])
@pytest.mark.parametrize("of_answers", [0, 2])
def test_raters_that_do_not_differ_have_the_variance_0_at_its_bound(
    of_answers: int, seed: int
) -> None:
    """A table with gaps whose raters' means differ by less than the residual makes them differ.
    statsmodels 0.15 ends the search at a singular matrix for all of these tables whose answers do
    not differ either, and has no estimate.
    """
    random = np.random.default_rng(seed)
    x = random.normal(size=(3, 12))
    x -= x.mean(axis=1, keepdims=True) + x.mean(axis=0)
    x[random.random(x.shape) < 0.2] = np.nan
    x = x[:, np.isfinite(x).sum(axis=0) >= 2]
    # what the raters' means still differ by goes to the residual, not to them
    x -= np.nanmean(x, axis=1, keepdims=True)
    x += of_answers * np.arange(x.shape[1]) / 4
    study = psy.rater_share(x, rng())
    assert study.method == "REML"
    assert (study.share.status, study.share.value) == ("not_informative", 0)
    assert study.raters == 0
    parts = [getattr(study, name) for name in VARIANCES]
    assert parts == pytest.approx(restricted_likelihood(x), rel=2e-3, abs=1e-6)
    assert (study.answers > 0) == bool(of_answers)


def test_above_300_labels_whole_answers_are_drawn_by_the_generator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    used: list[np.ndarray] = []
    monkeypatch.setattr(raters, "_reml_components", lambda x: used.append(x) or (1.0, 1.0, 2.0))
    labels = rng().random((3, 500))
    labels[rng().integers(3, size=500), np.arange(500)] = np.nan
    first, repeated, reseeded = (
        psy.rater_share(labels, np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert (first.share.value, first.n_labels, first.n_answers) == (0.25, 300, 150)
    assert np.array_equal(used[0], used[1], equal_nan=True)
    assert not np.array_equal(used[0], used[2], equal_nan=True)
    assert (np.isfinite(used[0]).sum(axis=0) == 2).all()
    assert repr(repeated) == repr(first)  # NaN is not equal to itself
    assert reseeded.n_labels == 300
    full = psy.rater_share(rng().random((2, 5000)), rng())
    assert (full.method, full.n_labels, len(used)) == ("mean squares", 10_000, 3)


def test_an_oracle_and_other_judges_are_not_people() -> None:
    right = made.answers(np.linspace(0.2, 0.8, 8), 60, rng())
    first = made.matrix(right)
    labels = made.labelled(right, first, 60)
    settings = {"metric": made.ACCURACY, "protocol": made.PROTOCOL, "second_metric": FAITHFUL}
    by_people = {
        e.indicator.partition(".")[2]: e
        for e in comparisons.compare("judge", first, labels, **settings)
    }
    oracle = replace(labels, cell=Cell(judge="scene@1"))
    by_oracle = comparisons.compare("judge", first, oracle, **settings)
    suffixes = {e.indicator.partition(".")[2] for e in by_oracle}
    assert {e.indicator.partition(".")[0] for e in by_oracle} == {"oracle"}, (
        "another name than people's"
    )
    assert {e.detail["labelled_by"] for e in by_oracle} == {"oracle"}
    assert not any(e.status == "ok" for e in by_oracle), "its agreement says nothing about validity"
    pearson = next(e for e in by_oracle if e.indicator == "oracle.pearson")
    assert (pearson.status, pearson.value) == ("not_informative", by_people["pearson"].value)
    assert "scene@1" in pearson.reason
    assert "not from people" in pearson.reason
    assert {
        (e.indicator.partition(".")[0], e.detail["labelled_by"]) for e in by_people.values()
    } == {("criterion", "people")}
    only_of_people = {
        "pearson_given_length",
        "within_respondents",
        "disattenuated",
        "ceiling",
        "labels_needed",
        "prediction_powered",
        "rogan_gladen",
        "contradicted_items",
    }
    assert set(by_people) - suffixes == only_of_people
    assert by_people["pearson_given_length"].status == "degenerate", "every answer has one word"


ITEMS = [
    {
        "id": f"q{i}",
        "prompt": f"Is thing {i} there?",
        "target": "no",
        "type": ("existence", "attribute", "counting")[i % 3],
    }
    for i in range(60)
]


@pytest.mark.filterwarnings("default")
def test_an_audit_with_raters_has_the_three_estimates_in_its_json_and_its_report(
    run: Run, tmp_path: Path
) -> None:
    """Long answers are worse, by the key and by people; Ben is lenient, and Cleo labelled a
    part.
    """
    draw = random.Random(5)
    write_benchmark(
        tmp_path / "quiz",
        ITEMS,
        name="quiz",
        types=["existence", "attribute", "counting"],
        labelled=True,
    )
    answers, labels, score, words, label = [], ["item,respondent,rater,label"], {}, {}, {}
    for k, name in enumerate("abcdefgh"):
        for i, item in enumerate(ITEMS):
            right = draw.random() < 0.9 - 0.07 * k - 0.1 * (i % 3)
            text = ("No" if right else "Yes") + " indeed" * (k + draw.randrange(3))
            answers.append(
                {
                    "respondent": name,
                    "form": "original",
                    "run": 0,
                    "item": item["id"],
                    "answer": text,
                }
            )
            score[name, i], words[name, i] = float(right), len(text.split())
            if i < 12:
                observed_label = float(right if draw.random() < 0.9 else not right)
                of_answer = {
                    "anna": observed_label,
                    "ben": max(observed_label, float(draw.random() < 0.4)),
                }
                if i < 3:
                    of_answer["cleo"] = (
                        observed_label if draw.random() < 0.8 else 1 - observed_label
                    )
                labels += [
                    f"{item['id']},{name},{rater},{value:.0f}" for rater, value in of_answer.items()
                ]
                label[name, i] = of_answer
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, answers)))
    (tmp_path / "labels.csv").write_text("\n".join(labels))
    status, _, err = run(
        "audit",
        tmp_path / "quiz",
        "--recorded",
        tmp_path / "answers.jsonl",
        "--forms",
        "original",
        "-q",
        "--criterion",
        tmp_path / "labels.csv",
        "--set",
        "pool=mean",
        "--store",
        tmp_path / "store.sqlite",
        "--out",
        tmp_path / "out",
    )
    assert (status, err) == (0, "")
    (audit,) = json.loads((tmp_path / "out" / "audit.json").read_text())["audits"]
    estimates = {e["indicator"]: e for e in audit["estimates"] if e["metric"] == "accuracy"}

    def table(cells: dict[tuple[str, int], float], kind: int | None = None) -> list[float]:
        return [
            float(
                np.mean([v for (n, i), v in cells.items() if n == name and kind in (None, i % 3)])
            )
            for name in "abcdefgh"
        ]

    means = {key: float(np.mean(list(of_answer.values()))) for key, of_answer in label.items()}
    partial = psy.partial_pearson(table(score), table(means), table(words))
    estimate = estimates["criterion.pearson_given_length"]
    assert estimate["value"] == pytest.approx(partial.value)
    assert estimate["value"] < estimates["criterion.pearson"]["value"]
    assert estimate["detail"]["length_and_labels"] < -0.5

    x, y = (np.array([table(cells, kind) for kind in range(3)]).T for cells in (score, means))
    within_respondents = estimates["criterion.within_respondents"]
    assert within_respondents["value"] == pytest.approx(
        psy.repeated_measures(x, y).coefficient.value
    )
    assert within_respondents["detail"]["dof"] == 8 * 3 - 8 - 1
    assert within_respondents["detail"]["types"] == ["attribute", "counting", "existence"]

    share = estimates["criterion.rater_share"]
    assert share["status"] == "ok"
    assert 0 < share["value"] < 0.5
    assert (
        share["detail"] | {"method": "REML", "n_raters": 3, "n_labels": len(labels) - 1}
        == share["detail"]
    )
    report = (tmp_path / "out" / "evidence.html").read_text()
    for title in (
        "Pearson r given length",
        "r over types within respondents",
        "raters' share of variance",
    ):
        assert title in report.replace("&#39;", "'"), title


@pytest.mark.parametrize(
    "stages", ['{"nobody": {"1": 1}}', '{"judge": [1]}', '{"judge": {"1": true}}', "[1]", "{"]
)
def test_stages_are_labels_of_1_or_0_by_the_role_of_a_judge(stages: str) -> None:
    assert _stages('{"judge": {"1": 1, "2": 0}}', "a") == {"judge": {"1": 1, "2": 0}}
    with pytest.raises(AnswerError):
        _stages(stages, "a")
