"""Everything that an audit estimates, over answers that are nearly degenerate: estimates or
reasons, no warning, no exception.
"""

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hqm
from hqm.indicators import compare, compare_runs, describe
from hqm.types import Cell, Form
from tests.conftest import administered, recorded
from tests.test_flags import ACCURACY, PROTOCOL, items, matrix
from tests.test_psychometrics_degenerate import nearly


@pytest.mark.parametrize("respondents", [1, 2, 5, 12])
@pytest.mark.parametrize(
    "kind",
    ["all right", "all wrong", "one respondent differs", "one answer differs", "answers by lot"],
)
def test_every_estimate_of_an_audit_has_a_number_or_a_reason(kind: str, respondents: int) -> None:
    for count in (1, 30):
        form_items = items(count)
        first, second = nearly(respondents, kind, count)
        runs = [matrix(first, Cell(), form_items), matrix(second, Cell(run=1), form_items)]
        negated = matrix(second, Cell(form="negated"), form_items)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            estimates = [
                *compare_runs(runs, ACCURACY, PROTOCOL),
                *compare("form", runs[0], negated, ACCURACY, PROTOCOL, runs=runs),
                *describe(runs[0], ACCURACY, PROTOCOL, Form("original", form_items), ["existence"]),
            ]
        assert estimates
        for estimate in estimates:
            assert (estimate.value is None) <= bool(estimate.reason), estimate
            assert np.isfinite([i.low for i in estimate.intervals]).all(), estimate


@pytest.mark.parametrize(
    "kind", ["all right", "all wrong", "one respondent differs", "one answer differs"]
)
@pytest.mark.parametrize(("count", "pictures"), [(1, 1), (12, 1), (12, 12)])
def test_a_whole_audit_of_such_answers_ends_without_a_warning(
    kind: str, count: int, pictures: int, store: hqm.Store, make_benchmark: Callable[..., Path]
) -> None:
    """One item, one picture, or a picture for each item; two runs and the parallel form, from the
    store to the audit's JSON.
    """
    rows = [
        {
            "id": f"q{i}",
            "prompt": f"Is there a thing {i} in the image?",
            "target": "yes",
            "image": f"{i % pictures}.png",
            "type": "existence",
        }
        for i in range(count)
    ]
    benchmark = hqm.load(str(make_benchmark(rows, types=["existence"], labelled=True)))
    right = nearly(6, kind, count)
    respondents = []
    for k in range(6):
        cells = {}
        for form, run, r in (("original", 0, 0), ("original", 1, 1), ("parallel", 0, 1)):
            truth = form == "original"  # the parallel form turns the right answer round
            cells[form, run] = {
                f"q{i}": "Yes" if (right[r, k, i] > 0.5) == truth else "No" for i in range(count)
            }
        respondents.append(recorded(f"maker{k}-model", cells))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        audit = hqm.audit(
            hqm.gather(
                benchmark, store, administered(store, benchmark, respondents), pictures=False
            )
        )
    assert audit.all_estimates
    for estimate in audit.all_estimates:
        assert (estimate.value is None) <= bool(estimate.reason), estimate


@pytest.mark.parametrize("scores", ["all right", "by item", "by wording", "one respondent right"])
def test_a_table_of_alike_respondents_in_four_wordings_is_audited(scores: str) -> None:
    """What rounding leaves of no variance is none, and a table without questions has no words."""
    rows = [
        {
            "model": f"m{respondent}",
            "item": f"q{index}",
            "form": form,
            "score": int(
                {
                    "all right": True,
                    "by item": index % 3 == 0,
                    "by wording": form != "second",
                    "one respondent right": respondent == 0,
                }[scores]
            ),
        }
        for respondent in range(9)
        for index in range(30)
        for form in ("original", "second", "third", "fourth")
    ]
    audit = hqm.audit(pd.DataFrame(rows))
    phi = audit.estimate("parallel_forms.phi_of_forms")
    assert phi.value is None or phi.value <= 1
    assert "form-same-words" not in [finding["name"] for finding in audit.findings]
