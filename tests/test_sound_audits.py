"""First pages of sound benchmarks, drawn at random: no red verdict, and nothing to mend where
nothing is wrong. `python -m tests.perf.sound_audits` draws more of them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hqm.reports.pages.report_page import _grid
from hqm.reports.tables.type_tables import added_value

import hqm
from hqm.auditing.definitions import MEASURABLE, types_measured
from hqm.auditing.precision import more_items
from tests.conftest import NIGHTLY
from tests.messages import tells
from tests.perf.sound_audits import WORLDS, FirstPage, audit_world, read_first_page

SEED = 9000
QUICK = ("alike .05", "thirty", "captions", "graded")
SMALL = {name: replace(WORLDS[name], items=min(WORLDS[name].items, 180)) for name in QUICK}


@pytest.mark.parametrize("name", WORLDS if NIGHTLY else QUICK)
def test_a_sound_benchmark_is_never_red(name: str, tmp_path: Path) -> None:
    world = WORLDS[name] if NIGHTLY else SMALL[name]
    audit = audit_world(world, tmp_path, SEED)
    page = read_first_page(audit)
    assert page.state != "not_ready", page.text
    assert not page.asks_to_mend
    assert not page.warned & {"FEW_MODELS", "NOISE_FLOOR"}, "they describe the models"
    if name == "thirty":
        _check_few_items(audit, page)
    if name == "captions":
        assert tells(page.text, "report.reversed", n="four"), "there are no keys"
    _check_types(audit)


def _check_few_items(audit: hqm.BenchmarkAudit, page: FirstPage) -> None:
    """Thirty items by nearly greedy models repeat, and are enough for nothing."""
    assert page.state == "imprecise"
    need = more_items(audit, hqm.Policy.load()).need("difference")
    assert need is not None
    assert need.items is not None
    assert need.items > 60
    assert tells(page.text, "report.need", size="12")


def _check_types(audit: hqm.BenchmarkAudit) -> None:
    """Verdict, grid, table and JSON give one answer for each type."""
    types = [row for row in types_measured(audit) if row.items]
    n_alone = sum(row.stands_alone for row in types)
    grid = _grid(audit, True, MEASURABLE)
    if grid is not None:
        assert [kind["status"] for kind in grid["kinds"]].count("alone") == n_alone
    table = added_value(audit)
    if table is not None:
        assert [row[-1].text for row in table.rows].count("alone") == n_alone
        estimate = audit.estimate("types.added_value")
        shown = sum(row.standing in ("alone", "imprecise") for row in types)
        assert (estimate.value or 0) >= shown
