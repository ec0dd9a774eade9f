"""Estimates of a whole audit against values known by construction, from real stores."""

import numpy as np
import pytest

import hqm
from hqm.benchmark.recorded import Recording
from hqm.respondents.recorded import RecordedRespondent
from tests.conftest import administered, write_benchmark


@pytest.fixture
def quiz(tmp_path) -> hqm.Benchmark:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(0)
    words = ["dog", "cat", "car", "bus", "hat", "cup", "tree", "bird", "lamp", "boat"]
    rows = [
        {
            "id": f"q{i}", "prompt": f"Is there a {words[rng.integers(10)]} in the image?", "target": ("yes", "no")[int(rng.integers(2))],
            "image": f"{i // 2}.png", "type": ("existence", "attribute")[i % 2],
        }
        for i in range(400)
    ]  # fmt: skip
    return hqm.load(
        str(write_benchmark(tmp_path / "quiz", rows, name="quiz", types=["existence", "attribute"], labelled=True))
    )


def sitting(quiz: hqm.Benchmark, chances: np.ndarray, rng: np.random.Generator) -> list[RecordedRespondent]:
    """Respondents who answer each item right with a known probability, in two runs, and record it."""
    found = []
    for k, row in enumerate(chances):
        recordings = []
        for run in (0, 1):
            right = rng.random(len(row)) < row
            answers = {}
            for item, ok, p in zip(quiz.original.items, right, row, strict=True):
                other = "no" if item.target == "yes" else "yes"
                said = item.target if ok else other
                detail = {"p": {item.target: float(p), other: float(1 - p)}, "p_lost": 0.0}
                answers[item.id] = hqm.Response(said.capitalize(), "ok", "", detail)
            recordings.append(Recording(f"{chr(97 + k)}-model", "original", run, answers))
        found.append(RecordedRespondent(f"recorded/{chr(97 + k)}-model", recordings))
    return found


def test_the_expected_reliability_is_what_reruns_show(store: hqm.Store, quiz: hqm.Benchmark) -> None:
    rng = np.random.default_rng(1)
    ability = np.linspace(-1.5, 1.5, 20)[:, None]
    chances = 1 / (1 + np.exp(-(ability + rng.normal(0, 1.5, (1, 400)))))
    people = administered(store, quiz, sitting(quiz, chances, rng))
    found = hqm.audit(hqm.gather(quiz, store, people))
    expected = found.estimate("expected.reliability")
    # s2_mu / (s2_mu + mean variance), from the probabilities themselves
    truth = chances.mean(axis=1).var(ddof=1)
    noise = (chances * (1 - chances)).sum(axis=1).mean() / 400**2
    assert expected.value == pytest.approx(truth / (truth + noise), abs=1e-9)
    assert found.estimate("test_retest.rho_g").value == pytest.approx(expected.value, abs=0.01)
    curve = [row["reliability"] for row in expected.detail["curve"]]
    assert curve == [] or curve[0] >= curve[-1]


def test_every_estimate_is_documented_signed_and_round_trips(store: hqm.Store, quiz: hqm.Benchmark, tmp_path) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(2)
    chances = np.clip(rng.normal(0.6, 0.15, (8, 400)), 0.02, 0.98)
    people = administered(store, quiz, sitting(quiz, chances, rng))
    labels = "item,respondent,label\n" + "\n".join(
        f"q{i},{chr(97 + k)}-model,{int(rng.random() < 0.6)}" for i in range(80) for k in range(8)
    )
    (tmp_path / "labels.csv").write_text(labels)
    found = hqm.audit(hqm.gather(quiz, store, people, criterion=tmp_path / "labels.csv", metrics=("accuracy", "f1")))
    from hqm.indicators.catalogue import FAMILIES, INDICATORS

    for estimate in found.estimates:
        family, _, statistic = estimate.indicator.partition(".")
        assert family in FAMILIES
        assert statistic in INDICATORS
        assert estimate.signature
        assert (estimate.value is None) == (estimate.status not in ("ok", "not_informative")), estimate
        assert estimate.status == "ok" or len(estimate.reason) > 10, estimate
    again = hqm.BenchmarkAudit.from_dict(found.to_dict())
    assert [e.to_dict() for e in again.estimates] == [e.to_dict() for e in found.estimates]
    assert again.flags == found.flags
    hqm.Audit((found,)).to_json()
    families = {estimate.indicator.partition(".")[0] for estimate in found.estimates}
    assert families >= {
        "test_retest", "criterion", "consistency", "generalizability", "discriminability", "items", "solvability", "types", "expected",
    }  # fmt: skip


def test_the_same_audit_twice_gives_the_same_numbers(store: hqm.Store, quiz: hqm.Benchmark) -> None:
    rng = np.random.default_rng(3)
    people = administered(store, quiz, sitting(quiz, np.clip(rng.normal(0.6, 0.2, (6, 400)), 0.02, 0.98), rng))
    assert (
        hqm.Audit((hqm.audit(hqm.gather(quiz, store, people)),)).to_json()
        == hqm.Audit((hqm.audit(hqm.gather(quiz, store, people)),)).to_json()
    )


def test_people_are_compared_with_each_other(store: hqm.Store, quiz: hqm.Benchmark, tmp_path) -> None:  # type: ignore[no-untyped-def]
    """Two people who agree on nine labels of ten; by hand alpha = 1 - Do / De."""
    import krippendorff

    rng = np.random.default_rng(4)
    people = administered(store, quiz, sitting(quiz, np.clip(rng.normal(0.6, 0.2, (5, 400)), 0.02, 0.98), rng))
    one = (rng.random((5, 60)) < 0.6).astype(int)
    other = np.where(rng.random(one.shape) < 0.1, 1 - one, one)
    rows = ["item,respondent,rater,label"]
    for k in range(5):
        for i in range(60):
            rows += [f"q{i},{chr(97 + k)}-model,anna,{one[k, i]}", f"q{i},{chr(97 + k)}-model,ben,{other[k, i]}"]
    (tmp_path / "labels.csv").write_text("\n".join(rows))
    found = hqm.audit(hqm.gather(quiz, store, people, criterion=tmp_path / "labels.csv"))
    agreed = found.estimate("criterion.human_agreement")
    table = np.stack([one.ravel(), other.ravel()])
    assert agreed.value == pytest.approx(krippendorff.alpha(table, level_of_measurement="nominal"), abs=1e-9)
    assert agreed.detail["raters"] == 2
    pearson = found.estimate("criterion.pearson")
    assert pearson.other.endswith("judge=human"), "the benchmark is compared with the people's mean"
    again = hqm.audit(hqm.gather(quiz, store, people))
    assert again.estimate("criterion.human_agreement").value == agreed.value, "the labels are in the store"
