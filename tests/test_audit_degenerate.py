"""Everything that an audit estimates, over answers that are nearly degenerate: estimates or reasons, no warning, no exception."""

import warnings

import numpy as np
import pytest

from hqm.indicators import compare, compare_runs, describe
from hqm.types import Cell, Form
from tests.test_flags import ACCURACY, PROTOCOL, items, matrix
from tests.test_psychometrics_degenerate import nearly


@pytest.mark.parametrize("respondents", [1, 2, 5, 12])
@pytest.mark.parametrize(
    "kind", ["all right", "all wrong", "one respondent differs", "one answer differs", "answers by lot"]
)
def test_every_estimate_of_an_audit_has_a_number_or_a_reason(kind: str, respondents: int) -> None:
    for count in (1, 30):
        of = items(count)
        first, again = nearly(respondents, kind, count)
        runs = [matrix(first, Cell(), of), matrix(again, Cell(run=1), of)]
        other = matrix(again, Cell(form="negated"), of)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            seen = [
                *compare_runs(runs, ACCURACY, PROTOCOL),
                *compare("form", runs[0], other, ACCURACY, PROTOCOL, runs=runs),
                *describe(runs[0], ACCURACY, PROTOCOL, Form("original", of), ["existence"]),
            ]
        assert seen
        for estimate in seen:
            assert (estimate.value is None) <= bool(estimate.reason), estimate
            assert np.isfinite([i.low for i in estimate.intervals]).all(), estimate
