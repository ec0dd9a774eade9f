"""An estimate and its signature say what was used, who is a relative, and where an interval is
refused.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from hqm.indicators import compare, compare_runs, describe
from hqm.respondents.kinds import are_inferred_from_names
from hqm.types import Cell, Estimate, Form
from tests.test_flags import ACCURACY, GOOD, PROTOCOL, answers, items, matrix, stable

ITEMS = items(200)


def described(
    lost: np.ndarray, families: Sequence[str] = (), **settings: Any
) -> dict[str, Estimate]:
    right = answers(GOOD, len(ITEMS), np.random.default_rng(0))
    first = matrix(right, of=ITEMS, unscored=lost)
    form = Form("original", ITEMS)
    estimates = describe(first, ACCURACY, PROTOCOL, form, (), families=families, **settings)
    return {estimate.indicator: estimate for estimate in estimates}


def test_listwise_loss_stands_in_the_estimate_and_its_signature() -> None:
    """A twentieth of the answers is lost; hardly a third of the items is complete."""
    lost = np.random.default_rng(1).random((len(GOOD), len(ITEMS))) < 0.05
    complete = int((~lost).all(axis=0).sum())
    assert complete < 80
    by_name = described(lost)
    listwise = by_name["consistency.alpha_types"]
    assert (listwise.n_items, listwise.n_respondents) == (complete, len(GOOD))
    assert listwise.detail["items_left_out"] == pytest.approx(1 - complete / len(ITEMS))
    assert f"items:{complete}of{len(ITEMS)}" in listwise.signature
    # alpha needs no complete items, and says so by its number
    alpha = by_name["consistency.alpha"]
    assert alpha.n_items == len(ITEMS)
    assert "items_left_out" not in alpha.detail
    assert f"items:{len(ITEMS)}|" in alpha.signature
    lossless = described(np.zeros_like(lost))
    assert lossless["consistency.alpha_types"].n_items == len(ITEMS)
    assert alpha.value == pytest.approx(lossless["consistency.alpha"].value, abs=0.01)  # type: ignore[arg-type]


def forms(families: Sequence[str], **settings: Any) -> dict[str, Estimate]:
    first, second = stable(GOOD, len(ITEMS), 3)
    pair = matrix(first, of=ITEMS), matrix(second, Cell(form="parallel"), of=ITEMS)
    estimates = compare("form", *pair, ACCURACY, PROTOCOL, families=families, **settings)
    return {estimate.indicator: estimate for estimate in estimates}


@pytest.mark.parametrize("from_names", [True, False])
def test_relatives_stand_beside_every_interval_over_respondents(from_names: bool) -> None:
    families = [f"f{k // 4}" for k in range(len(GOOD))]
    related = forms(families, n_effective=8.0, families_from_names=from_names)
    independent = forms([f"f{k}" for k in range(len(GOOD))])
    source = "inferred from their names" if from_names else "as given"
    for name in (
        "pearson",
        "icc_a1",
        "icc_c1",
        "ccc",
        "mean_shift",
        "limits_of_agreement",
        "spearman",
        "tau_b",
    ):
        estimate, free = related[f"parallel_forms.{name}"], independent[f"parallel_forms.{name}"]
        assert estimate.detail["families"] == f"6, {source}"
        assert estimate.detail["n_effective"] == 8.0
        wide, narrow = estimate.interval("model_population"), free.interval("model_population")
        assert wide is not None
        assert narrow is not None
        assert wide.one_sided == (name not in ("mean_shift", "limits_of_agreement"))
        reach = wide.high - wide.low > narrow.high - narrow.low
        assert wide.low < narrow.low if wide.one_sided else reach, name
        assert "families" not in free.detail


def test_one_family_says_nothing_of_others() -> None:
    estimates = forms(["llava"] * len(GOOD), n_effective=1.0, families_from_names=True)
    for estimate in estimates.values():
        assert estimate.interval("model_population") is None, estimate.indicator
    pearson = estimates["parallel_forms.pearson"]
    assert pearson.value is not None
    assert pearson.interval("fixed_models") is not None
    assert "one family" in estimates["parallel_forms.mean_shift"].detail["no_interval_for_others"]
    assert (
        "inferred from their names"
        in estimates["parallel_forms.mean_shift"].detail["no_interval_for_others"]
    )


def test_pearson_of_reruns_leaves_its_interval_to_rho_g() -> None:
    runs = [
        matrix(right, Cell(run=k), of=ITEMS) for k, right in enumerate(stable(GOOD, len(ITEMS), 4))
    ]
    rerun = {e.indicator: e for e in compare("run", *runs, ACCURACY, PROTOCOL)}[
        "test_retest.pearson"
    ]
    assert rerun.intervals == ()
    assert "rho_G" in rerun.detail["no_interval_for_others"]
    rho = {e.indicator: e for e in compare_runs(runs, ACCURACY, PROTOCOL)}["test_retest.rho_g"]
    assert rho.interval("fixed_models") is not None
    assert forms([])["parallel_forms.pearson"].interval("fixed_models") is not None


def test_scores_at_the_ceiling_say_the_least_of_others() -> None:
    rates = 1 - np.geomspace(0.002, 0.2, 24)
    right = answers(rates, len(ITEMS), np.random.default_rng(5))
    second = answers(rates, len(ITEMS), np.random.default_rng(6))
    pair = matrix(right, of=ITEMS), matrix(second, Cell(form="parallel"), of=ITEMS)
    estimates = {e.indicator: e for e in compare("form", *pair, ACCURACY, PROTOCOL)}
    icc, shift = estimates["parallel_forms.icc_a1"], estimates["parallel_forms.mean_shift"]
    population_interval, fixed_interval = (
        icc.interval("model_population"),
        icc.interval("fixed_models"),
    )
    assert population_interval is not None
    assert fixed_interval is not None
    assert population_interval.one_sided
    assert population_interval.low < fixed_interval.low
    assert shift.interval("model_population") is not None


def test_families_told_from_names() -> None:
    assert are_inferred_from_names(["hf/llava-1.5", "hf/llava-next", "gpt"])
    assert not are_inferred_from_names(["hf/llava-1.5", "gpt-4"])
    assert not are_inferred_from_names(["llava-1", "llava-2"], {"llava-1": "x", "llava-2": "x"})
