"""How often the same models pass a threshold again: against another library, and by simulation."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hqm.reports.pages.phrases import plain_text
from hqm.reports.pages.sentences import answer_questions

import hqm
from hqm.auditing.policy import Policy
from hqm.psychometrics.reliability.pass_decisions import decision_consistency
from tests.messages import tells

# (models, families, sd of ability in logits, items, cut)
WORLDS = (
    (10, 4, 0.8, 300, 0.7),
    (10, 4, 0.3, 300, 0.65),
    (20, 6, 0.8, 150, 0.8),
    (40, 10, 0.8, 300, 0.7),
    (40, 10, 1.5, 100, 0.6),
)


def simulate(world: tuple[int, int, float, int, float], n: int, seed: int) -> dict[str, float]:
    """Mean estimate, mean truth and root mean square error over `n` studies.

    The generator is no beta-binomial: items of a two-parameter logistic model, abilities of
    families on a logit scale. The truth is the share of these models that two further samples of
    items decide alike; the reliability is alpha of the first sample.
    """
    models, families, sd, items, cut = world
    rng = np.random.default_rng(seed)
    estimates, truths = [], []
    for _ in range(n):
        family = rng.normal(size=families)[rng.integers(families, size=models)]
        ability = 0.9 + sd * (np.sqrt(0.6) * family + np.sqrt(0.4) * rng.normal(size=models))
        scores = []
        for _ in range(21):
            difficulty, slope = rng.normal(size=items), rng.lognormal(0, 0.4, size=items)
            chance = 1 / (1 + np.exp(-slope * (ability[:, None] - difficulty)))
            scores.append(rng.random(chance.shape) < chance)
        first = scores[0].astype(float)
        total = first.mean(axis=1)
        spread = total.var(ddof=1) * items**2
        alpha = items / (items - 1) * (1 - first.var(axis=0, ddof=1).sum() / spread)
        estimate = decision_consistency(total, alpha, cut)
        if estimate.status == "ok":
            passed = np.array([s.mean(axis=1) >= cut - 1e-9 for s in scores[1:]])
            truths.append(float((passed[::2] == passed[1::2]).mean()))
            estimates.append(estimate.consistency)
    errors = np.array(estimates) - np.array(truths)
    return {
        "estimate": float(np.mean(estimates)),
        "truth": float(np.mean(truths)),
        "bias": float(errors.mean()),
        "rmse": float(np.sqrt((errors**2).mean())),
        "share": len(errors) / n,
    }


def test_the_estimate_is_that_of_another_library() -> None:
    # BBClassify_Python (HaakonEidemHaakstad, commit 22d303a), the example of its docstring, whose
    # numbers it prints: shapes, ends and length; consistency by the same call with one cut
    rng = np.random.RandomState(1234)
    chance = rng.beta(6, 4, 250) * 0.7 + 0.15
    scores = np.array([rng.binomial(1, p, 100).sum() for p in chance]) / 100
    expected = {0.5: 0.8374722999065769, 0.75: 0.943690516701538}
    for cut, value in expected.items():
        result = decision_consistency(scores, 0.8139955859701576, cut)
        assert result.consistency == pytest.approx(value, abs=2e-7)
        assert result.shapes == pytest.approx((3.877386083988672, 3.9727308136649238), rel=1e-9)
        assert result.ends == pytest.approx((0.2681195709670965, 0.8706384086828665), rel=1e-9)
        assert result.n_items == 100
    # its matrix of the cut .75: .91639352, .02815478, .02815478, .027297
    p, q = 0.91639352 + 0.02815478, 0.02815478 + 0.027297
    kappa = (0.91639352 + 0.027297 - p**2 - q**2) / (1 - p**2 - q**2)
    assert result.kappa == pytest.approx(kappa, abs=1e-6)


@pytest.mark.parametrize(
    ("scores", "reliability", "cut", "status", "consistency"),
    [
        ([0.5, 0.6, 0.7, 0.8], 0.9, 0.7, "insufficient", None),
        ([0.5, 0.6, 0.7, 0.8, 0.9], 1.0, 0.7, "degenerate", None),
        ([0.5] * 6, 0.9, 0.7, "degenerate", None),
        ([0.5, 0.6, 0.7, 0.8, 0.9], 0.9, 0.0, "ok", 1.0),
        ([0.70, 0.71, 0.72, 0.73, 0.74, 0.75], 0.95, 0.2, "ok", 1.0),
    ],
)
def test_edges(
    scores: list[float], reliability: float, cut: float, status: str, consistency: float | None
) -> None:
    result = decision_consistency(scores, reliability, cut)
    assert result.status == status
    assert bool(result.reason) == (status != "ok")
    if consistency is not None:
        assert result.consistency == pytest.approx(consistency, abs=1e-6)


@pytest.mark.parametrize("world", WORLDS)
def test_the_error_is_small_on_data_of_another_model(
    world: tuple[int, int, float, int, float],
) -> None:
    result = simulate(world, 40, 52)
    assert abs(result["bias"]) < 0.03, result
    assert result["rmse"] < 0.07, result


def test_a_gate_and_a_page_say_how_often_a_claim_to_pass_would_come_out_alike(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(3)
    difficulty = rng.normal(size=300)
    rows = ["item,respondent,score"]
    for name, ability in zip("abcdefgh", np.linspace(0, 2.1, 8), strict=True):
        right = rng.random(300) < 1 / (1 + np.exp(difficulty - ability))
        rows += [f"{item},{name},{int(score)}" for item, score in enumerate(right)]
    table = tmp_path / "scores.csv"
    table.write_text("\n".join(rows) + "\n", encoding="utf-8")
    audit = hqm.audit(table)
    scores = sorted(next(iter(row.scores.values())) for row in audit.respondents)
    policy = tmp_path / "policy.toml"
    outcomes = {}
    for cut in (0.2, round(float(np.median(scores)), 2)):
        policy.write_text(f'name = "mine"\n[passing]\nscore = {cut}\n', encoding="utf-8")
        (test,) = [t for t in hqm.gate(audit, policy).tests if t.what == "decisions to pass"]
        n_passed = sum(score >= cut for score in scores)
        counts = {"passed": n_passed, "models": 8, "score": f"{cut:.0%}"}
        assert tells(test.sentence, "gate.passing", **counts)
        quote = answer_questions(audit, Policy.load(policy))[-1]
        assert test.sentence in plain_text(quote.sentences)
        outcomes[cut] = test
    easy, close = outcomes.values()
    assert easy.outcome == "PASS"
    assert easy.end == pytest.approx(1, abs=1e-3)
    assert close.outcome == "FAIL"
    assert close.remedy
    assert not [t for t in hqm.gate(audit).tests if t.what == "decisions to pass"]


if __name__ == "__main__":
    for row in WORLDS:
        print(row, {key: round(v, 3) for key, v in simulate(row, int(sys.argv[1]), 7).items()})
