"""Coefficients with a name in the literature, against the numbers that the literature and other
packages print.
"""

import math
from itertools import pairwise

import numpy as np
import pingouin
import pytest
from scipy import stats
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_kappa

from hqm import psychometrics as psy
from hqm.psychometrics.agreement.intraclass import agreement_of_counts, kappa_of_counts
from tests.fields import fields_of

SHROUT_FLEISS = [
    [9, 2, 5, 8],
    [6, 1, 3, 2],
    [8, 4, 6, 8],
    [7, 1, 2, 6],
    [10, 5, 6, 9],
    [6, 2, 4, 7],
]
"""Six targets, four judges: Shrout and Fleiss 1979, Psychological Bulletin 86, 420-428, Table 2."""

ANXIETY = np.array([
    [3, 3, 3, 4, 5, 5, 2, 3, 5, 2, 2, 6, 1, 5, 2, 2, 1, 2, 4, 3],
    [3, 6, 4, 6, 2, 4, 2, 4, 3, 3, 2, 3, 3, 3, 2, 2, 1, 3, 3, 4],
    [2, 1, 4, 4, 3, 2, 1, 6, 1, 1, 1, 2, 3, 3, 1, 1, 3, 3, 2, 2],
]).T  # fmt: skip
"""Twenty subjects, three raters: the data `anxiety` of the R package irr."""

FLEISS = """
00060 03003 01401 00006 03030 20400 00402 20310 20040 00006 10050 11040 03300 10050 02031
00501 30012 51000 02040 10203 00006 01050 02013 20040 10041 05010 40002 02040 10500 00006
"""
"""Thirty patients, six psychiatrists, five diagnoses (how many chose each): Fleiss 1971,
Psychological Bulletin 76, Table 1.
"""

WIKIPEDIA = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip
"""Ten subjects, fourteen raters, five categories: the worked example of Wikipedia's page on Fleiss'
kappa.
"""

ATTITUDE = """
43 51 30 39 61 92 45  63 64 51 54 63 73 47  71 70 68 69 76 86 48  61 63 45 47 54 84 35  81 78 56 66 71 83 47
43 55 49 44 54 49 34  58 67 42 56 66 68 35  71 75 50 55 70 66 41  72 82 72 67 71 83 31  67 61 45 47 62 80 41
64 53 53 58 58 67 34  67 60 47 39 59 74 41  69 62 57 42 55 63 25  68 83 83 45 59 77 35  77 77 54 72 79 77 46
81 90 50 72 60 54 36  74 85 64 69 79 79 63  65 60 65 75 55 80 60  65 70 46 57 75 85 46  50 58 68 54 64 78 52
50 40 33 34 43 64 33  64 61 52 62 66 80 41  53 66 52 50 63 80 37  40 37 42 58 50 57 49  63 54 42 48 66 75 33
66 77 66 63 88 76 72  78 75 58 74 80 78 49  48 57 44 45 51 83 38  85 85 71 71 77 74 55  82 82 39 59 64 78 39
"""
"""Thirty departments, seven questions: the data `attitude` of R, the first example of
`psych::alpha`. Every row was compared with csv/datasets/attitude.csv of
github.com/vincentarelbundock/Rdatasets (commit cc03c29), R's own data as CSV: all 210 numbers
equal."""

FORMS = ("one_way", "a1", "c1", "one_way_k", "ak", "ck")
PINGOUIN = ("ICC(1,1)", "ICC(A,1)", "ICC(C,1)", "ICC(1,k)", "ICC(A,k)", "ICC(C,k)")


def ratings_of(counts: list[list[int]]) -> np.ndarray:
    """(raters, units) from (units, categories)."""
    return np.array([np.repeat(range(len(row)), row) for row in counts]).T


def fleiss_counts() -> list[list[int]]:
    return [[int(digit) for digit in word] for word in FLEISS.split()]


def test_the_six_forms_as_shrout_and_fleiss_print_them() -> None:
    """Their Table 4: .17, .29, .71 of one judge; .44, .62, .91 of the mean of four."""
    study = psy.icc(SHROUT_FLEISS)
    assert [round(getattr(study, name).value, 2) for name in FORMS] == [
        0.17,
        0.29,
        0.71,
        0.44,
        0.62,
        0.91,
    ]


def test_agreement_of_raters_as_irr_prints_it() -> None:
    """What irr prints of `icc(anxiety, "twoway", "agreement")` (seen in a public course page)."""
    assert round(psy.icc(ANXIETY).a1.value, 3) == 0.198


@pytest.mark.parametrize("data", ["wine", "anxiety", "shrout"])
def test_the_six_forms_against_pingouin(data: str) -> None:
    wine = pingouin.read_dataset("icc")
    tables = {
        "wine": wine.pivot_table(index="Wine", columns="Judge", values="Scores").to_numpy(),
        "anxiety": ANXIETY,
        "shrout": np.array(SHROUT_FLEISS),
    }
    ratings = tables[data]
    n, k = ratings.shape
    import pandas as pd

    long_table = pd.DataFrame(
        {
            "who": np.repeat(range(n), k),
            "rater": np.tile(range(k), n),
            "score": ratings.ravel().astype(float),
        }
    )
    theirs = pingouin.intraclass_corr(long_table, "who", "rater", "score").set_index("Type")
    ours = psy.icc(ratings)
    for form, name in zip(FORMS, PINGOUIN, strict=True):
        estimate = getattr(ours, form)
        assert estimate.value == pytest.approx(theirs.loc[name, "ICC"], abs=1e-9), name
    if data == "wine":
        # pingouin's page prints the same example
        assert [round(getattr(ours, form).value, 3) for form in FORMS] == [
            0.728,
            0.728,
            0.729,
            0.914,
            0.914,
            0.915,
        ]


def test_the_consistency_of_the_mean_is_alpha_of_the_administrations() -> None:
    alpha, ck = psy.cronbach_alpha(ANXIETY).coefficient, psy.icc(ANXIETY).ck
    assert ck.value == pytest.approx(alpha.value, abs=1e-12)


def test_relatives_widen_every_interval_and_none_is_left_below_two() -> None:
    independent, related, alike = (psy.icc(ANXIETY, n_effective=n) for n in (None, 10.0, 1.5))
    for form in FORMS:
        wide, narrow = getattr(related, form), getattr(independent, form)
        assert wide.value == narrow.value
        # a mean that may be worth nothing at all has no lower end
        assert wide.low < narrow.low or np.isnan(wide.low), form
        assert np.isnan(getattr(alike, form).low), form
    # NaN is not equal to itself
    assert repr(psy.icc(ANXIETY, n_effective=50.0).a1) == repr(independent.a1), (
        "relatives never make more of the respondents"
    )


@pytest.mark.parametrize("form", FORMS)
def test_least_values_hold_what_they_promise(form: str) -> None:
    """Respondents, raters and noise drawn from normal distributions: .95 within four Monte Carlo
    errors.

    The truth is the ratio of the variances drawn from, which no formula of ours enters.
    """
    rng, (n, k), draws = np.random.default_rng(5), (15, 4), 400
    rater_sd = 0.0 if form.startswith("one") else 0.7
    respondent, noise = 1.0, 0.8
    error = noise**2 + (rater_sd**2 if form in ("a1", "ak") else 0.0)
    truth = respondent**2 / (respondent**2 + error / (k if form.endswith("k") else 1))
    n_covered = 0
    for _ in range(draws):
        scores = (
            rng.normal(0, respondent, (n, 1))
            + rng.normal(0, rater_sd, (1, k))
            + rng.normal(0, noise, (n, k))
        )
        value = getattr(psy.icc(scores), form)
        n_covered += value.low <= truth
    assert n_covered / draws == pytest.approx(0.95, abs=4 * (0.95 * 0.05 / draws) ** 0.5)


def test_what_has_no_mean_form_says_so() -> None:
    opposite = psy.icc([[1.0, 3.0], [2.0, 2.0], [3.0, 1.0], [0.0, 4.0]])
    assert opposite.c1.status == "degenerate"
    assert psy.icc_of_mean(psy.Coefficient(-1.0, n=4), 2).status == "degenerate"
    low = psy.icc_of_mean(psy.Coefficient(0.1, -1.0, 0.9, 5), 2)
    assert np.isnan(low.low)
    assert low.value == pytest.approx(2 * 0.1 / 1.1)
    fixed = psy.icc_of_mean(
        psy.Coefficient(0.5, fixed=psy.ConfidenceInterval(0.4, 0.6, "jackknife")), 2
    ).fixed
    assert fixed is not None
    assert (fixed.low, fixed.high) == pytest.approx((0.8 / 1.4, 1.2 / 1.6))


@pytest.mark.parametrize(("respondents", "columns"), [(10, 3), (20, 3), (20, 8)])
def test_phi_covers_where_columns_are_few(respondents: int, columns: int) -> None:
    """Respondents answer 200 binary items a column; ability, difficulty and their interaction are
    normal on the logit. The truth comes from 10 large draws of the same world.
    """
    rng, draws = np.random.default_rng(13), 200

    def world(n: int, k: int) -> np.ndarray:
        logit = rng.normal(0, 0.7, (n, 1)) + rng.normal(0, 0.6, (1, k)) + rng.normal(0, 0.4, (n, k))
        return rng.binomial(200, 1 / (1 + np.exp(-logit))) / 200

    parts = []
    for _ in range(10):
        study = psy.icc(world(2000, 40))
        between_variance = study.c1.value / (1 - study.c1.value) * study.ms_error
        parts.append((between_variance, study.ms_error, (study.ms_columns - study.ms_error) / 2000))
    between_variance, error, column = np.mean(parts, axis=0)
    truth = between_variance / (between_variance + (error + column) / columns)
    n_covered = 0
    for _ in range(draws):
        phi = psy.dependability(world(respondents, columns), rng, draws=2000)
        n_covered += phi.low <= truth <= phi.high
    assert n_covered / draws >= 0.92


def test_advice_on_wordings_comes_from_their_upper_end() -> None:
    rng = np.random.default_rng(4)
    respondents = rng.normal(0.6, 0.1, (12, 1))
    noise = 0.01 * rng.normal(size=(12, 3))
    calm, moved = (respondents + shift + noise for shift in (0.01, np.array([0.0, 0.08, -0.06])))
    calm_advice, moved_advice = (
        psy.wordings_needed(x, 0.75, np.random.default_rng(0)) for x in (calm, moved)
    )
    assert calm_advice.n_wordings == 5, "fewer decide nothing"
    assert moved_advice.n_wordings is None or moved_advice.n_wordings > calm_advice.n_wordings
    assert moved_advice.variance < moved_advice.variance_high
    assert psy.wordings_needed(moved[:, :2], 0.75, rng).status == "insufficient"
    # of more wordings the mean is the more dependable
    means = [psy.dependability(moved, rng, columns=k) for k in (1, 3, 9)]
    assert means[0].value < means[1].value < means[2].value
    assert means[0].low < means[2].low


def test_phi_is_icc_a_k_and_has_no_interval_among_relatives() -> None:
    rng = np.random.default_rng(14)
    phi, form = psy.dependability(ANXIETY, rng), psy.icc(ANXIETY).ak
    assert phi.value == form.value
    assert phi.low < phi.value
    assert phi.high == np.inf
    assert np.isnan(psy.dependability(ANXIETY, rng, n_effective=2.0).low)
    assert psy.dependability(np.ones((5, 3)), rng).status == "degenerate"


def test_fleiss_kappa_as_published() -> None:
    """Fleiss 1971: kappa = .430 of thirty patients; irr prints 0.43. Wikipedia's example: 0.210."""
    counts = fleiss_counts()
    assert [sum(row) for row in counts] == [6] * 30
    assert [round(s / 180, 3) for s in np.sum(counts, axis=0)] == [
        0.144,
        0.144,
        0.167,
        0.306,
        0.239,
    ]
    assert round(psy.fleiss_kappa(ratings_of(counts)).value, 3) == 0.430
    assert round(psy.fleiss_kappa(ratings_of(WIKIPEDIA)).value, 3) == 0.210


def test_fleiss_kappa_against_statsmodels() -> None:
    rng = np.random.default_rng(6)
    for _ in range(40):
        raters, categories = int(rng.integers(2, 7)), int(rng.integers(2, 5))
        counts = rng.multinomial(
            raters, rng.dirichlet(np.ones(categories)), size=int(rng.integers(5, 40))
        )
        if (counts.sum(axis=0) > 0).sum() < 2:
            continue
        ours = psy.fleiss_kappa(ratings_of(counts.tolist()))
        assert ours.value == pytest.approx(statsmodels_kappa(counts), abs=1e-12)


def test_fleiss_kappa_with_gaps_and_where_it_does_not_exist() -> None:
    nan = np.nan
    gaps = [[0, 1, 1, 0, nan], [0, 1, 0, 0, 1], [0, 1, 1, 1, 1]]
    assert repr(psy.fleiss_kappa(gaps)) == repr(psy.fleiss_kappa(np.array(gaps)[:, :4]))
    assert psy.fleiss_kappa(gaps).n == 4
    assert psy.fleiss_kappa([[1, 1, 1], [1, 1, 1]]).status == "degenerate"
    assert psy.fleiss_kappa([[1, 0, 1]]).status == "insufficient"
    unanimous = psy.fleiss_kappa([[0, 1, 0, 1], [0, 1, 0, 1]])
    assert unanimous.value == 1


def test_the_interval_of_fleiss_kappa_covers() -> None:
    """Raters who copy a hidden category with probability .6 and else guess: kappa is the square of
    .6 for even categories.
    """
    rng, draws, units, raters = np.random.default_rng(7), 400, 60, 4
    n_covered = 0
    for _ in range(draws):
        hidden = rng.integers(0, 3, units)
        copied = rng.random((raters, units)) < 0.6
        table = np.where(copied, hidden, rng.integers(0, 3, (raters, units)))
        bounds = psy.fleiss_kappa(table).fixed
        assert bounds is not None
        n_covered += bounds.low <= 0.36 <= bounds.high
    assert n_covered / draws == pytest.approx(0.95, abs=4 * (0.95 * 0.05 / draws) ** 0.5)


def pingouin_alpha(scores: np.ndarray) -> float:
    import pandas as pd
    import pingouin

    return float(pingouin.cronbach_alpha(pd.DataFrame(scores))[0])


def test_standardised_alpha_as_psych_prints_it() -> None:
    """psych's `alpha(attitude)`: raw_alpha 0.84, std.alpha 0.84, average_r 0.43; pingouin's alpha
    of these rows is .8431.
    """
    words = np.array(ATTITUDE.split(), dtype=float).reshape(30, 7)
    raw, standard = psy.cronbach_alpha(words).coefficient.value, psy.standardized_alpha(words).value
    assert (round(raw, 2), round(standard, 2)) == (0.84, 0.84)
    assert raw == pytest.approx(pingouin_alpha(words), abs=1e-12)
    correlations = np.corrcoef(words.T)
    mean_r = float(correlations[np.triu_indices(7, 1)].mean())
    assert round(mean_r, 2) == 0.43
    assert standard == pytest.approx(7 * mean_r / (1 + 6 * mean_r), abs=1e-12)
    assert raw != pytest.approx(standard, abs=1e-3)


@pytest.mark.parametrize(("mean_r", "printed"), [(0.3085574, 0.757503), (0.268849, 0.720197)])
def test_standardised_alpha_of_a_printed_mean_correlation(mean_r: float, printed: float) -> None:
    """Seven items: JASP's verification page prints psych's average_r and std.alpha; Flanagan's page
    the same two by Java.
    """
    rng = np.random.default_rng(8)
    # scores whose sample correlations are all mean_r, and whose variances differ tenfold
    raw = rng.normal(size=(40, 7))
    raw -= raw.mean(axis=0)
    white = raw @ np.linalg.inv(np.linalg.cholesky(np.cov(raw.T))).T
    target = np.full((7, 7), mean_r) + (1 - mean_r) * np.eye(7)
    scores = white @ np.linalg.cholesky(target).T * np.linspace(1, 3, 7)
    assert psy.standardized_alpha(scores).value == pytest.approx(printed, abs=2e-6)


def test_standardised_alpha_leaves_out_items_that_do_not_vary() -> None:
    rng = np.random.default_rng(9)
    scores = rng.normal(size=(20, 4)) + rng.normal(size=(20, 1))
    constant = np.column_stack([scores, np.ones(20)])
    assert psy.standardized_alpha(constant).value == pytest.approx(
        psy.standardized_alpha(scores).value
    )
    assert psy.standardized_alpha(np.ones((5, 3))).status == "insufficient"


def test_a_margin_is_declared_or_comes_from_seeds() -> None:
    """A shift of -32 points is never equivalent, however far the scores spread (measured: p 4e-35
    with their own margin).
    """
    rng = np.random.default_rng(10)
    first = rng.uniform(20, 95, 20)
    second = first - 32 + rng.normal(0, 1.5, 20)
    assert psy.equivalence_margin().status == "not_applicable"
    assert "margin" in psy.equivalence_margin().reason
    assert psy.equivalence_margin(mdc95=0.0).status == "degenerate"
    assert psy.equivalence_margin(-1).status == "not_applicable"
    for margin in (0.5, 2.0, 5.0):
        assert psy.equivalence(first, second, psy.equivalence_margin(margin).value).p > 0.99
    # the noise of the seeds takes the place of a declared margin, and a declared one leads
    assert psy.equivalence_margin(mdc95=1.2).value == 1.2
    assert psy.equivalence_margin(0.5, 1.2).value == 0.5
    values = [
        psy.equivalence(first, first + 0.1 * rng.normal(size=20), m).p for m in (0.02, 0.1, 0.5)
    ]
    assert all(a >= b for a, b in pairwise(values))


NAN = math.nan


def test_items_agree_where_both_scores_are_there() -> None:
    x = [[1, 1, 0, 0, NAN, 1], [1, 1, 1, 1, 1, 1], [NAN] * 6, [0, 0, 0, 0, 0, NAN]]
    y = [[1, 0, 0, 0, 1, NAN], [1, 1, 1, 1, 1, 1], [1] * 6, [1, 1, 0, 0, 1, 1]]
    study = psy.item_agreement(x, y)
    assert study.agreement == pytest.approx((0.75, 1, NAN, 0.4), nan_ok=True)
    # p = 1/2 and q = 1/4: by chance 1/2 agree
    assert study.kappa == pytest.approx((0.5, NAN, NAN, 0.0), nan_ok=True)
    assert (study.mean, study.worst, study.mean_kappa) == pytest.approx((2.15 / 3, 0.4, 0.25))
    for a, b in (([[1, 0.5]], [[1, 1]]), ([[1, 1]], [[1, 2]]), ([[-1, 1]], [[1, 1]])):
        absent = psy.item_agreement(a, b)
        assert (absent.status, absent.agreement, absent.kappa) == ("not_applicable", (), ())
        assert np.isnan([absent.mean, absent.worst, absent.mean_kappa]).all()
    # what only one of them scored is not looked at
    assert psy.item_agreement([[1, 7]], [[1, NAN]]).agreement == (1,)


def test_kappa_of_counts_by_hand() -> None:
    for counts, agreement, kappa in [
        ((2, 0, 0, 2), 1, 1),
        ((0, 2, 2, 0), 0, -1),
        ((1, 1, 1, 1), 0.5, 0),
        ((4, 1, 2, 3), 0.7, 0.4),
        ((5, 0, 0, 0), 1, NAN),
        ((0, 0, 0, 5), 1, NAN),
        ((0, 5, 0, 0), 0, 0),
        ((0, 0, 0, 0), NAN, NAN),
    ]:
        assert float(agreement_of_counts(*counts)) == pytest.approx(agreement, nan_ok=True)
        assert float(kappa_of_counts(*counts)) == pytest.approx(kappa, nan_ok=True)


def test_an_icc_is_made_of_mean_squares() -> None:
    rng = np.random.default_rng(20)
    x = rng.normal(size=(10, 3)) + rng.normal(size=(10, 1)) + [0.0, 2.0, 4.0]
    n, k = x.shape
    rows, columns, grand = x.mean(axis=1), x.mean(axis=0), x.mean()
    msr = k * sum((row - grand) ** 2 for row in rows) / (n - 1)
    msc = n * sum((column - grand) ** 2 for column in columns) / (k - 1)
    squared_residuals = [
        (x[m, j] - rows[m] - columns[j] + grand) ** 2 for m in range(n) for j in range(k)
    ]
    mse = sum(squared_residuals) / ((n - 1) * (k - 1))
    msw = sum((x[m, j] - rows[m]) ** 2 for m in range(n) for j in range(k)) / (n * (k - 1))
    study = psy.icc(x)
    assert (study.ms_columns, study.ms_error, study.n, study.k) == pytest.approx((msc, mse, n, k))
    single = {
        "a1": (msr - mse) / (msr + (k - 1) * mse + k * (msc - mse) / n),
        "c1": (msr - mse) / (msr + (k - 1) * mse),
        "one_way": (msr - msw) / (msr + (k - 1) * msw),
        "ak": (msr - mse) / (msr + (msc - mse) / n),
        "ck": (msr - mse) / msr,
        "one_way_k": (msr - msw) / msr,
    }
    assert {name: getattr(study, name).value for name in single} == pytest.approx(single)
    assert study.sem_consistency == pytest.approx(math.sqrt(mse))
    assert study.sem_agreement == pytest.approx(math.sqrt(mse + (msc - mse) / n))
    assert study.mdc95 == pytest.approx(1.96 * math.sqrt(2) * study.sem_agreement)
    # a mean of each administration that is closer than chance adds no error
    still = psy.icc(x - columns)
    assert still.sem_agreement == still.sem_consistency == pytest.approx(math.sqrt(mse))
    assert still.a1.value > still.c1.value


def test_respondents_without_a_score_leave_with_their_labels() -> None:
    rng = np.random.default_rng(21)
    x = rng.normal(size=(12, 3)) + 2 * rng.normal(size=(12, 1))
    holes = np.vstack([x[:4], [[1, NAN, 2]], x[4:], [[NAN, 0, 0]]])
    names = list("aabbccddeeff")
    with_holes = [*names[:4], "g", *names[4:], "h"]
    for complete, with_gaps in (
        (psy.icc(x, families=names).a1, psy.icc(holes, families=with_holes).a1),
        (
            psy.concordance(x[:, 0], x[:, 1], families=names).ccc,
            psy.concordance(
                np.where(np.arange(14) == 13, NAN, holes[:, 0]), holes[:, 1], families=with_holes
            ).ccc,
        ),
    ):
        assert fields_of(with_gaps) == fields_of(complete)
        assert (with_gaps.n, math.isfinite(with_gaps.low)) == (12, True)
        assert with_gaps.method.startswith("families")


def test_respondents_who_do_not_differ_have_no_icc() -> None:
    equal_scores = psy.icc(np.full((5, 3), 0.1))
    # the same three scores in another order: their means are equal up to rounding
    turned = psy.icc([[0.1, 0.2, 0.3], [0.3, 0.1, 0.2], [0.2, 0.3, 0.1], [0.3, 0.2, 0.1]])
    for study in (equal_scores, turned):
        forms = {name: getattr(study, name) for name in FORMS}
        assert {form.status for form in forms.values()} == {"degenerate"}
        assert math.isnan(study.mdc95)
    assert equal_scores.a1.reason != turned.a1.reason
    assert (turned.n, turned.k) == (4, 3)
    for scores in ([[1, 2], [3, 4]], [[1], [2], [3]]):
        assert psy.icc(scores).a1.status == "insufficient"
    alike = psy.icc(np.array([[0.1, 0.1], [0.7, 0.7], [0.3, 0.3]]))
    assert (alike.a1.value, alike.c1.value, alike.one_way.value) == (1, 1, 1)
    assert (alike.ms_error, alike.ms_columns, alike.mdc95) == (0, 0, 0)
    shifted = psy.icc(np.array([[0.1, 0.4], [0.7, 1.0], [0.3, 0.6]]))
    assert (shifted.c1.value, shifted.ms_error) == (1, 0)
    assert shifted.ms_columns == pytest.approx(0.135)


def test_the_mean_of_scores_is_lengthened_by_spearman_and_brown() -> None:
    for k in [2, 3, 10]:
        for value in [-0.09, 0.0, 0.4, 1.0]:

            def longer(r: float, k: int = k) -> float:
                return k * r / (1 + (k - 1) * r)

            single = psy.Coefficient(
                value,
                -0.05,
                math.inf,
                9,
                0.9,
                "m",
                fixed=psy.ConfidenceInterval(-0.02, 0.9, "f"),
                se=0.1,
                raw=0.2,
            )
            mean = psy.icc_of_mean(single, k)
            assert (mean.value, mean.low) == pytest.approx((longer(value), longer(-0.05)))
            assert (mean.high, mean.n, mean.level, mean.method) == (math.inf, 9, 0.9, "m")
            assert mean.fixed is not None
            assert (mean.fixed.low, mean.fixed.high) == pytest.approx((longer(-0.02), longer(0.9)))
            assert np.isnan([mean.se, mean.raw]).all()
            lowest = -1 / (k - 1)
            open_ended = psy.icc_of_mean(
                psy.Coefficient(value, lowest, 0.9, fixed=psy.ConfidenceInterval(lowest, 0.9, "f")),
                k,
            )
            assert np.isnan([open_ended.low, open_ended.high]).all()
            assert open_ended.fixed is None
            absent = psy.icc_of_mean(psy.Coefficient(lowest, n=9), k)
            assert (absent.status, absent.n) == ("degenerate", 9)
            for untouched in (psy.Coefficient.absent("insufficient", "few", 2), single):
                assert psy.icc_of_mean(untouched, 1) is untouched
            doubtful = psy.Coefficient(0.4, n=9, status="not_informative", reason="why")
            assert psy.icc_of_mean(doubtful, k).value == pytest.approx(longer(0.4))
            assert psy.icc_of_mean(doubtful, k).status == "not_informative"
            insufficient = psy.Coefficient.absent("insufficient", "few", 2)
            assert psy.icc_of_mean(insufficient, k) is insufficient


def test_concordance_is_correlation_times_accuracy() -> None:
    rng = np.random.default_rng(22)
    x = rng.normal(size=9)
    for y in (x + 0.5, 2 * x, x + rng.normal(size=9), -x, 3 - 0.5 * x):
        study = psy.concordance(x, y)
        v, u = y.std() / x.std(), (y.mean() - x.mean()) / math.sqrt(x.std() * y.std())
        accuracy = 2 / (v + 1 / v + u**2)
        assert study.bias_correction == pytest.approx(accuracy)
        r = stats.pearsonr(x, y).statistic
        assert study.ccc.value == pytest.approx(r * accuracy)
    for _ in range(20):
        scores = rng.normal(size=9)
        study = psy.concordance(scores, scores)
        assert (study.ccc.value, study.bias_correction) == (1.0, pytest.approx(1.0))
        assert math.isnan(study.ccc.low)
    absent = psy.concordance([1, 2, NAN, 3], [1, NAN, 2, 3])
    assert (absent.ccc.status, absent.ccc.n) == ("insufficient", 2)
    assert math.isnan(absent.bias_correction)
    assert psy.concordance(x, x + rng.normal(size=9), level=0.8).ccc.level == 0.8


def test_limits_of_agreement_are_known_as_well_as_the_independent_respondents_say() -> None:
    for size in [1.0, 1.99, 2.0, 2.5, 7.0, 99.0]:
        for level, multiplier in [(0.95, 1.96), (0.8, 2.5)]:
            x = np.array([1.0, 2.0, 4.0, 5.0, 9.0, NAN, 7.0, 3.0])
            y = np.array([1.5, 2.0, 4.7, 5.2, 9.9, 4.0, NAN, 2.8])
            study = psy.bland_altman(x, y, n_effective=size, level=level, multiplier=multiplier)
            complete = [0, 1, 2, 3, 4, 7]
            d, mean = y[complete] - x[complete], (x[complete] + y[complete]) / 2
            s, size = d.std(ddof=1), min(size, 6)
            ends = study.bias.value, study.lower.value, study.upper.value, study.deviation
            assert ends == pytest.approx(
                (d.mean(), d.mean() - multiplier * s, d.mean() + multiplier * s, s)
            )
            line = stats.linregress(mean, d)
            assert (study.slope.value, study.slope.n, study.slope.level) == pytest.approx(
                (line.slope, 6, level)
            )
            assert {estimate.n for estimate in (study.bias, study.lower, study.upper)} == {6}
            assert {estimate.level for estimate in (study.bias, study.lower, study.upper)} == {
                level
            }
            if size > 2:
                half = stats.t.ppf(0.5 + level / 2, size - 2) * line.stderr * math.sqrt(6 / size)
                assert (
                    study.slope.high - line.slope,
                    line.slope - study.slope.low,
                ) == pytest.approx((half, half))
            else:
                assert np.isnan([study.slope.low, study.slope.high, study.slope.se]).all()
            if size < 2:
                for estimate in (study.bias, study.lower, study.upper):
                    assert np.isnan([estimate.low, estimate.high]).all()
                continue
            root = math.sqrt(size)
            half = stats.t.ppf(0.5 + level / 2, size - 1) * s / root
            assert (study.bias.low, study.bias.high) == pytest.approx(
                (d.mean() - half, d.mean() + half)
            )
            t_low, t_high = (
                s * stats.nct.ppf(tail, size - 1, multiplier * root) / root
                for tail in (0.5 - level / 2, 0.5 + level / 2)
            )
            assert (study.upper.low, study.upper.high) == pytest.approx(
                (d.mean() + t_low, d.mean() + t_high)
            )
            assert (study.lower.low, study.lower.high) == pytest.approx(
                (d.mean() - t_high, d.mean() - t_low)
            )


def test_differences_without_spread_have_a_bias_and_no_limits() -> None:
    x = np.array([0.1, 0.4, 0.35, 0.8, 0.6])
    for unit in (1.0, 1e-3, 1e6):
        study = psy.bland_altman(unit * x, unit * x + 0.3 * unit, level=0.9)
        assert (study.status, study.deviation) == ("degenerate", 0)
        assert (study.bias.value, study.bias.n, study.bias.level) == pytest.approx(
            (0.3 * unit, 5, 0.9)
        )
        assert {study.lower.status, study.upper.status} == {"degenerate"}
        assert (study.slope.value, study.slope.status) == (pytest.approx(0, abs=1e-12), "ok")
    moved = psy.bland_altman(x, x + np.array([0.3, 0.3, 0.3, 0.3, 0.3 + 1e-9]))
    assert moved.status == "ok"
    small_study = psy.bland_altman(x[:4], x[:4] + np.array([0.1, 0.2, 0.1, 0.3]))
    parts = small_study.bias, small_study.lower, small_study.upper, small_study.slope
    assert {estimate.status for estimate in parts} == {small_study.status} == {"insufficient"}
    assert (small_study.bias.n, math.isnan(small_study.deviation)) == (4, True)
