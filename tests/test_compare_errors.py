"""False alarms of `hqm compare`, and the power that an audit states, with answers from another
simulator.

The full table is printed by `tests/perf/compare_errors.py`; here are few replicates, a tenth of them
where it is not nightly, with limits that chance passes in fewer than one of a thousand cases.
"""

import math

import numpy as np
import pytest

from hqm.comparison.compare import compare_audits
from tests.conftest import NIGHTLY, counts
from tests.messages import tells, text_of
from tests.perf.compare_errors import (
    World,
    adjusted_tests,
    alarms,
    audits_of,
    pair_statements,
    power,
)

REPLICATES = counts(200)


def binomial_limit(share: float, replicates: int = REPLICATES) -> float:
    return share + 3.3 * math.sqrt(share * (1 - share) / replicates)


def test_the_simulation_makes_the_tests_of_the_command() -> None:
    audits, families = audits_of(World(12, measures=3, forms=True), np.random.default_rng(0))
    differences, goes_with = adjusted_tests(audits, families, 7)
    outcome = compare_audits(audits, families=families, seed=7)
    assert (outcome.differences, outcome.closer) == (differences, goes_with)
    test_counts = outcome.tests["fixed_models"].n_tests, outcome.tests["model_population"].n_tests
    assert test_counts == (len(differences), len(differences) + len(goes_with))


@pytest.mark.parametrize("respondents", [5, 20])
def test_equal_measures_are_seldom_called_different(respondents: int) -> None:
    rates = alarms(World(respondents), REPLICATES, np.random.default_rng(respondents))
    assert rates["family"] <= binomial_limit(0.05)
    assert rates["these"] <= binomial_limit(0.05)
    if NIGHTLY:  # among few replicates there may be no alarm
        assert min(rates["family"], rates["these"]) > 0


def test_measures_that_differ_for_these_alone_are_not_said_to_differ_for_others() -> None:
    """Two traits of one spread: these respondents' reliabilities differ, those of the population do
    not.
    """
    rates = alarms(World(20, traits=0.5), REPLICATES, np.random.default_rng(3))
    assert rates["family"] <= binomial_limit(0.05)
    assert rates["others"] <= binomial_limit(0.06)


def test_relatives_bring_no_more_false_alarms() -> None:
    rates = alarms(World(40, relatives=4), counts(100), np.random.default_rng(4))
    assert rates["family"] <= binomial_limit(0.05, counts(100))


def test_few_families_make_no_test_for_others() -> None:
    audits, families = audits_of(World(20, relatives=4, alike=0.9), np.random.default_rng(5))
    outcome = compare_audits(audits, families=families)
    population_tests = outcome.tests["model_population"]
    assert (population_tests.n_tests, population_tests.beyond) == (0, 0)
    (reason,) = population_tests.not_made
    assert tells(reason, "compare.relatives", respondents=20, families=5)
    assert outcome.tests["fixed_models"].n_tests == len(outcome.differences)
    one_family = compare_audits(audits, families=dict.fromkeys(families, "llava"))
    assert set(one_family.tests["model_population"].not_made) == {text_of("families.one")}
    assert tells(one_family.notes[0], "compare.one-family", family="llava")
    assert not math.isfinite(one_family.agreements[0].pearson.low), "no interval over one family"


@pytest.mark.parametrize("respondents", [6, 20])
@pytest.mark.parametrize("spread", [0.0, 0.5])
def test_the_stated_differences_are_found_with_the_stated_power(
    respondents: int, spread: float
) -> None:
    """Binary answers that are alike within pictures; .44 and .21 before the difference for all
    pairs was stated.
    """
    slack = binomial_limit(0.8) - 0.8
    for share in power(respondents, spread, REPLICATES, np.random.default_rng(respondents)):
        assert abs(share - 0.8) < slack + 0.03


def test_statements_of_pairs_hold() -> None:
    stated = pair_statements(REPLICATES, np.random.default_rng(6))
    assert stated["alarms"] <= binomial_limit(0.05)
    assert 1 - stated["ranks"] <= binomial_limit(0.05)
    assert 1 - stated["lead"] <= binomial_limit(0.06)
