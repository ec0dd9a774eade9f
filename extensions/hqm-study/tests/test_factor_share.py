"""What one factor explains of several benchmarks: against another library, and by simulation."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hqm_study.factor_share import OneFactor, one_factor, one_factor_of_audits

import hqm
from hqm.errors import DataError, DesignError


def draw_scores(
    rng: np.random.Generator, general: float, trend: float, models: int = 40, benchmarks: int = 9
) -> tuple[np.ndarray, np.ndarray]:
    """Scores and dates: binomial in 200 items on a logit scale, skewed dates.

    `general` and `trend` are the standard deviations, in logits, of an ability that all
    benchmarks share, and of what grows with the date; each benchmark has .5 of its own.
    """
    dates = rng.beta(2, 1, size=models)
    ability = general * rng.normal(size=models) + trend * (dates - 2 / 3) / np.sqrt(1 / 18)
    own = 0.5 * rng.normal(size=(models, benchmarks)) + rng.normal(0.4, 0.4, size=benchmarks)
    chance = 1 / (1 + np.exp(-(ability[:, None] + own)))
    return rng.binomial(200, chance) / 200, dates


def simulate(general: float, trend: float, n: int, seed: int) -> dict[str, float]:
    """How often a factor beats chance, with and without dates, and the coverage of the interval."""
    rng = np.random.default_rng(seed)
    names = [f"b{i}" for i in range(9)]
    many, _ = draw_scores(rng, general, trend, 20_000)
    truth = one_factor_share(many)
    hits, undated, covered = [], [], []
    for _ in range(n):
        scores, dates = draw_scores(rng, general, trend)
        result = one_factor(scores, names, dates=dates)
        assert result.undated is not None
        hits.append(result.raw.share > result.raw.chance)
        undated.append(result.undated.share > result.undated.chance)
        covered.append(result.raw.low <= truth <= result.raw.high)
    rates = map(float, (np.mean(hits), np.mean(undated), np.mean(covered)))
    return dict(zip(("factor", "factor without dates", "covered"), rates, strict=True))


def one_factor_share(scores: np.ndarray) -> float:
    # scikit-learn's principal components of standardised scores
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import StandardScaler

    return float(PCA().fit(StandardScaler().fit_transform(scores)).explained_variance_ratio_[0])


def test_the_share_is_that_of_another_library() -> None:
    scores, dates = draw_scores(np.random.default_rng(4), 0.5, 0.5)
    names = [f"b{i}" for i in range(9)]
    result = one_factor(scores, names, dates=dates)
    assert result.raw.share == pytest.approx(one_factor_share(scores), abs=1e-12)
    trend = np.polynomial.polynomial.polyfit(dates, scores, 1)
    residuals = scores - (trend[0] + np.outer(dates, trend[1]))
    assert result.undated is not None
    assert result.undated.share == pytest.approx(one_factor_share(residuals), abs=1e-12)


def test_dates_are_taken_out_and_unrelated_benchmarks_have_no_factor() -> None:
    # dates alone make a factor of .6; without them nothing is left beyond chance
    only_dates = simulate(0.0, 0.8, 8, 52)
    assert only_dates["factor"] == 1
    assert only_dates["factor without dates"] <= 0.25
    ability = simulate(0.8, 0.0, 8, 53)
    assert (ability["factor"], ability["factor without dates"]) == (1, 1)
    assert ability["covered"] >= 0.75


@pytest.mark.parametrize(("models", "benchmarks"), [(29, 8), (40, 7)])
def test_few_benchmarks_or_models_are_refused(models: int, benchmarks: int) -> None:
    scores, _ = draw_scores(np.random.default_rng(2), 0.8, 0.0, models, benchmarks)
    with pytest.raises(DesignError, match=f" {benchmarks}, .* {models}"):
        one_factor(scores, [f"b{i}" for i in range(benchmarks)])
    scores, _ = draw_scores(np.random.default_rng(2), 0.8, 0.0)
    scores[:, 3] = 0.5
    with pytest.raises(DesignError, match="the same score on b3"):
        one_factor(scores, [f"b{i}" for i in range(9)])


def test_audits_of_several_benchmarks_are_read_with_a_file_of_dates(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    scores, dates = draw_scores(rng, 0.6, 0.6, 34, 8)
    table = tmp_path / "scores.csv"
    rows = [f"{i},m{m:02d},{int(rng.random() < 0.5)}" for i in range(20) for m in range(34)]
    table.write_text("\n".join(["item,respondent,score", *rows]) + "\n", encoding="utf-8")
    audit = hqm.audit(table)
    assert isinstance(audit, hqm.BenchmarkAudit)
    metric = next(iter(audit.metrics))
    audits = []
    for column in range(8):
        respondents = tuple(
            replace(row, scores={metric: float(value)})
            for row, value in zip(audit.respondents, scores[:, column], strict=True)
        )
        audits.append(replace(audit, benchmark=f"b{column}", respondents=respondents))
    days = tmp_path / "dates.csv"
    lines = [
        f"{row.name},{2023 + int(3 * day)}-{1 + int(12 * (3 * day % 1)):02d}-15"
        for row, day in zip(audit.respondents, dates, strict=True)
    ]
    days.write_text("\n".join(["model,date", *lines]) + "\n", encoding="utf-8")
    result = one_factor_of_audits(audits, days)
    assert isinstance(result, OneFactor)
    direct = one_factor(scores, [f"b{i}" for i in range(8)])
    assert result.raw.share == pytest.approx(direct.raw.share, abs=1e-12)
    assert result.undated is not None
    assert result.undated.share < result.raw.share
    assert any("dates taken out" in sentence for sentence in result.sentences)
    days.write_text("model,date\nm00,soon\n", encoding="utf-8")
    with pytest.raises(DataError, match="no model and date"):
        one_factor_of_audits(audits, days)


if __name__ == "__main__":
    for general, trend in ((0.0, 0.0), (0.0, 0.8), (0.5, 0.0), (0.8, 0.5)):
        print(general, trend, simulate(general, trend, int(sys.argv[1]), 7))
