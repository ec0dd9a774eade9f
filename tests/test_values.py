"""The values on the indicators' pages: made by a script from an audit, for every indicator there
is, each with its picture.
"""

from __future__ import annotations

import importlib.util
import json
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hqm import Audit, Interval
from hqm.indicators.indicator import INDICATOR_FAMILIES, INDICATORS
from hqm.signature import short_signature
from tests.conftest import ROOT
from tests.test_sentences import PARALLEL, REFERENCE, audit_of, est

MAKE = ROOT / "docs" / "make"


def loaded(name: str) -> ModuleType:
    """A module of the site's generator, by itself."""
    spec = importlib.util.spec_from_file_location(f"made_{name}", MAKE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


values, pictures = loaded("values"), loaded("pictures")
STORED: dict[str, dict[str, Any]] = json.loads(values.FILE.read_text("utf-8"))


def small() -> Audit:
    """An audit with estimates of several kinds, each with its detail."""
    by = {"recorded/a-model": 0.01, "recorded/b-model": 0.03}
    ranked = [
        {"rank": 1, "item": "q7", "expected": 0.8},
        {"rank": 2, "item": "q2", "expected": 0.1},
    ]
    spans = (Interval(0.8, 0.95, "fixed_models", ""), Interval(0.6, 0.99, "model_population", ""))
    estimates = (
        est("test_retest.sem", 0.02, detail={"by_respondent": by}),
        est("parallel_forms.icc_a1", 0.9, (0.8, 0.95), (0.6, 0.99)),
        est("consistency.alpha", 0.91, (0.8, 0.95)),
        est("items.reading_list", 1.2, detail={"reading_list": ranked, "faults": 1.2}),
        est(
            "solvability.blind_accuracy", None, status="insufficient", reason="20 items are needed"
        ),
    )
    assert estimates[1].intervals[0].low == spans[0].low
    return Audit((audit_of(*estimates),))


def test_every_indicator_has_a_value_with_a_picture_or_a_reason() -> None:
    assert set(STORED) == set(INDICATORS), "run docs/make/values.py: the indicators have changed"
    for name, entry in STORED.items():
        if "value" in entry:
            assert entry["estimate"].partition(".")[2] == name
            assert entry["estimate"].partition(".")[0] in INDICATOR_FAMILIES
            assert entry["unit"], name
            assert len(entry["signature"]) == 12
            assert entry["picture"]["kind"] in ("rows", "points")
        else:
            assert len(entry["reason"]) > 15, name
    assert sum("value" in entry for entry in STORED.values()) >= 65


@pytest.mark.parametrize("name", [name for name, entry in STORED.items() if "value" in entry])
def test_a_picture_is_an_image_that_can_be_heard(name: str) -> None:
    block = pictures.drawn(STORED[name]["picture"], name)
    assert "\n\n" not in block, "an empty line would end the block of HTML"
    svg = ET.fromstring(block[block.index("<svg") : block.index("</svg>") + 6])
    assert svg.get("role") == "img"
    assert (svg.get("aria-label") or "").startswith(f"{name}: ")
    marks = [element for element in svg.iter() if element.tag == "circle"]
    picture = STORED[name]["picture"]
    drawn_points = (
        picture["points"]
        if picture["kind"] == "points"
        else [m for row in picture["rows"] for m in row[3] if m[0] is not None]
    )
    assert len(marks) == len(drawn_points) > 0
    width, height = map(float, (svg.get("viewBox") or "").split()[2:])
    assert all(
        0 <= float(m.get("cx") or -1) <= width and 0 <= float(m.get("cy") or -1) <= height
        for m in marks
    )


def test_a_value_is_that_of_the_audit() -> None:
    """A number changed in the audit is changed in the file; nothing is held in the script."""
    audit = small()
    entries = values.values_of(audit)
    assert set(entries) == set(INDICATORS)
    for e in audit.audits[0].all_estimates:
        entry = entries[e.indicator.partition(".")[2]]
        if e.value is None:
            assert entry == {"reason": "20 items are needed"}
            continue
        assert (entry["estimate"], entry["value"], entry["signature"]) == (
            e.indicator,
            e.value,
            short_signature(e.signature),
        )
        assert entry["intervals"] == {i.inference: [i.low, i.high] for i in e.intervals}
    assert entries["sem"]["picture"]["rows"] == [
        ["a-model", None, None, [[0.01, "dot"]]],
        ["b-model", None, None, [[0.03, "dot"]]],
    ]
    assert [row[0] for row in entries["reading_list"]["picture"]["rows"]] == ["q7", "q2"]
    scores = audit.audits[0].respondents[0].cells
    assert entries["icc_a1"]["picture"]["points"][0] == [
        "a-model",
        *(scores[c]["accuracy"] for c in (REFERENCE, PARALLEL)),
    ]
    assert "reason" in entries["misfit_items"]


def test_the_script_writes_what_its_check_accepts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "audit.json").write_text(small().to_json())
    monkeypatch.setattr(values, "FILE", tmp_path / "values.json")
    assert values.main([str(tmp_path / "audit.json"), "--check"]) == 1, "nothing is written yet"
    assert values.main([str(tmp_path / "audit.json")]) == 0
    assert values.main([str(tmp_path / "audit.json"), "--check"]) == 0
    assert "what this audit gives" in capsys.readouterr().out
    changed = (tmp_path / "values.json").read_text().replace("0.91", "0.92")
    (tmp_path / "values.json").write_text(changed)
    assert values.main([str(tmp_path / "audit.json"), "--check"]) == 1


def test_the_command_on_the_pages_is_one_that_the_program_knows() -> None:
    from typer.main import get_command

    from hqm.cli import program

    first, name, *arguments = values.COMMAND.split()
    assert first == "hqm"
    command = get_command(program()).commands[name]  # type: ignore[attr-defined]
    parameters = command.make_context(name, arguments).params
    assert (parameters["runs"], parameters["limit"]) == (2, 100)
    assert str(values.OUT.relative_to(ROOT)) == "out/values"
