"""The ledger: what papers print, beside what HQM computes, with tolerances that the ledger declares."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.printed import load_script

ledger = load_script("ledger.py")
TABLES = {f"{table.paper}: {table.name}": table for table in ledger.read_tables()}
OURS = json.loads((ROOT / "docs" / "make" / "ledger.json").read_text("utf-8"))
OF_CELLS = [key for key, table in TABLES.items() if table.rule in ledger.OF_CELLS]
OF_DATA = [key for key, table in TABLES.items() if table.rule in ledger.OF_DATA]


def check(key: str) -> None:
    """The numbers within the tolerance are those that the ledger names, and ours are on the page."""
    table = TABLES[key]
    ours = ledger.compute(table)
    assert ours.keys() >= table.printed.keys()
    assert table.differing(ours) == list(table.beyond)
    assert OURS[key] == pytest.approx(dict(ours), rel=1e-5)
    moved = replace(table, rows=[[*row[:-1], 1 + 2 * row[-1]] for row in table.rows])
    assert moved.differing(ours) == list(table.printed), "a number that is misprinted is found"


@pytest.mark.parametrize("key", OF_CELLS)
def test_transcribed_numbers_are_what_their_tables_give(key: str) -> None:
    assert TABLES[key].status == "transcribed"
    check(key)


@pytest.mark.parametrize("key", OF_DATA)
def test_recomputed_numbers_are_those_of_released_data(
    key: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HQM_DATA", str(data))
    assert TABLES[key].status == "recomputed"
    check(key)


def test_what_is_out_of_reach_or_differs_says_why() -> None:
    assert {table.paper for table in TABLES.values()} == {
        "FaithScore",
        "Hal-Eval",
        "HQM",
        "VALOR-Eval",
        "AMBER",
    }
    for key, table in TABLES.items():
        assert table.rows or table.status == "out of reach", key
        assert table.why or (table.rows and not table.beyond), key
    assert set(OURS) == {*OF_CELLS, *OF_DATA}


def test_the_page_has_each_number() -> None:
    rendered = load_script("make/ledger_table.py")
    assert rendered.LEDGER_MARKER in (ROOT / "docs" / "ledger.md").read_text("utf-8")
    text = rendered.ledger()
    for key, table in TABLES.items():
        assert f"{table.name}: {table.what}" in text
        for row, number in table.printed.items():
            assert f"| {row} | {number:g} | {OURS[key][row]:.6g} |" in text, row
        for row in table.beyond:
            assert f"| {table.paper}, {table.name}: {row} | {table.printed[row]:g} |" in text
