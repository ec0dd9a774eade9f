"""Scores of any width, and a question that one wording lacks, pass the readers of an audit; random
designs do in test_same_claims.py.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hqm
from hqm.auditing.audit import Audit
from tests.audit_doors import pass_all_doors, written_and_read
from tests.conftest import Run, write_benchmark


def without_a_negation(folder: Path) -> list[object]:
    """The command for a benchmark whose parallel form lacks one question."""
    rng = np.random.default_rng(0)
    items = [
        {"id": f"q{i}", "prompt": f"Is there a dog in image {i}?", "target": ("yes", "no")[i % 2]}
        for i in range(24)
    ]
    items[5]["prompt"] = "Dog?"
    write_benchmark(folder / "mine", items)
    rows = []
    forms = {"original": items, "parallel": [item for item in items if item["id"] != "q5"]}
    for model in range(4):
        for form, form_items in forms.items():
            for item in form_items:
                right = rng.random() < 0.6 + 0.08 * model
                key = item["target"] if form == "original" else {"yes": "no", "no": "yes"}
                key = key if isinstance(key, str) else key[item["target"]]
                answer = key if right else {"yes": "no", "no": "yes"}[key]
                row = {"item": item["id"], "respondent": f"m{model}", "form": form}
                rows.append({**row, "answer": answer})
    (folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return ["audit", folder / "mine", "--recorded", folder / "answers.jsonl"]


def test_scores_of_any_width_pass_their_own_reader(tmp_path: Path) -> None:
    """Standard errors of scores up to 1,000 are no coefficients, which end at 1."""
    rng = np.random.default_rng(2)
    rows = []
    for run, model, item in np.ndindex(2, 4, 30):
        score = np.clip(np.rint(500 + 90 * model + rng.normal(0, 200)), 0, 1000)
        rows.append({"model": f"m{model}", "item": f"q{item}", "run": run, "score": score})
    audit = Audit((hqm.audit(pd.DataFrame(rows)),))
    pass_all_doors(written_and_read(audit, tmp_path / "audit.json"))


def test_a_question_that_one_wording_lacks_shuts_no_door(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code, _, err = run(*without_a_negation(tmp_path), "--out", out)
    assert code == 0, err
    forms = json.loads((out / "audit.json").read_text())["audits"][0]["forms"]
    assert (forms["original"]["items"], forms["parallel"]["items"]) == (24, 23)
    for command in (
        ["gate", out, "--json"],
        ["report", out, "--to", tmp_path / "table.tex"],
        ["report", out, "--card"],
        ["compare", out, "--to", tmp_path / "compare.json"],
    ):
        code, output, err = run(*command)
        assert "is wrong" not in err, command
        assert code in (0, 1), err
        assert output or code == 1


def test_a_score_of_all_shared_items_is_still_compared(run: Run, tmp_path: Path) -> None:
    """Scores over the items that two wordings share are those of the wording that has no others."""
    code, _, err = run(*without_a_negation(tmp_path), "--out", tmp_path / "out")
    assert code == 0, err
    document = json.loads((tmp_path / "out" / "audit.json").read_text())
    (record,) = [
        record
        for record in document["audits"][0]["left_out"]["records"]
        if record["family"] == "parallel_forms" and record["metric"] == "accuracy"
    ]
    name = next(iter(record["respondents"]))
    record["respondents"][name][1]["score"] += 0.01
    with pytest.raises(hqm.DataError, match="elsewhere in the audit"):
        Audit.from_dict(document)
