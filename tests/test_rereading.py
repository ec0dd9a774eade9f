"""An audit that an earlier version signed: who signed, how many answers are read otherwise, and the
number now.
"""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hqm import Audit, BenchmarkAudit, DataError
from hqm.auditing.verdict_records import compare_verdicts, pack_verdicts, unpack_verdicts
from hqm.scoring.parsers import STRICT
from hqm.signature import (
    changed_procedures,
    labelled,
    parse_signature,
    scoring_label,
    sign,
)
from tests.conftest import Run, write_benchmark
from tests.messages import tells
from tests.test_flags import matrix

ROOT = Path(__file__).parent
N_ITEMS = 40


@pytest.fixture
def audit_file(tmp_path: Path, run: Run) -> Path:
    """The audit of a benchmark of one's own, with its store beside it."""
    items = [
        {"id": f"{k}", "prompt": f"Is there a thing{k}?", "target": ("yes", "no")[k % 2]}
        for k in range(N_ITEMS)
    ]
    folder = write_benchmark(tmp_path / "mine", items)
    rows = [
        {
            "respondent": f"model {m}",
            "form": form,
            "run": 0,
            "item": item["id"],
            "answer": "Yes." if (k * 7 + m * 3) % 10 < 5 + m else "No, there is none.",
        }
        for m in range(4)
        for form in ("original", "parallel")
        for k, item in enumerate(items)
    ]
    answers = tmp_path / "answers.jsonl"
    answers.write_text("".join(json.dumps(row) + "\n" for row in rows))
    status, _, errors = run(
        "audit", folder, "--recorded", answers, "--out", tmp_path / "out", "--quiet"
    )
    assert status == 0, errors
    return tmp_path / "out" / "audit.json"


def signed_by(file: Path, version: int, n_flipped: int = 0, *, has_record: bool = True) -> str:
    """Rewrite an audit as an earlier reader would have made it; return a signature of it."""
    (audited,) = Audit.load(file).audits
    verdicts = dict(audited.verdicts)
    cell = audited.reference
    values = unpack_verdicts(verdicts[cell])
    flipped = values.copy()
    flipped.flat[:n_flipped] = 1 - flipped.flat[:n_flipped]
    first = replace(matrix(np.ones(values.shape)), values=flipped)
    verdicts[cell] = dict(pack_verdicts(first, first.respondents))
    label = f"strict:{version}"
    estimates = tuple(
        replace(estimate, signature=estimate.signature.replace(STRICT.label, label))
        for estimate in audited.all_estimates
    )
    before = replace(audited, all_estimates=estimates, verdicts=verdicts if has_record else {})
    audit = Audit.load(file)
    file.write_text(replace(audit, audits=(before,)).to_json())
    return next(
        estimate.signature
        for estimate in estimates
        if estimate.indicator == "parallel_forms.mean_shift"
    )


def test_verdicts_are_packed_and_read_back() -> None:
    values = np.array([[0, 1, np.nan, 0.5], [1, 1, 0, np.nan]])
    first = replace(matrix(np.ones((2, 4))), values=values)
    row = pack_verdicts(first, [first.respondents[1], "nobody", first.respondents[0]])
    assert (row["items"], row["values"]) == (4, [0.0, 0.5, 1.0])
    unpacked = unpack_verdicts(row)
    np.testing.assert_array_equal(unpacked[[2, 0]], values)
    assert np.isnan(unpacked[1]).all(), "who took no part has no verdict"
    with pytest.raises(DataError):
        unpack_verdicts({**row, "codes": row["codes"][4:]})
    many = replace(first, values=np.linspace(0, 1, 8).reshape(2, 4) ** 3)
    packed = unpack_verdicts(pack_verdicts(many, many.respondents))
    np.testing.assert_allclose(packed, many.values, atol=1e-12)


def test_the_same_version_needs_no_second_reading(audit_file: Path, run: Run) -> None:
    (audited,) = Audit.load(audit_file).audits
    signature = audited.estimate("parallel_forms.mean_shift").signature
    status, output, _ = run("report", audit_file, "--verify", signature)
    assert status == 0
    assert "signed by" not in output
    assert changed_procedures(signature) == []
    assert sign(parse_signature(signature)) == signature


@pytest.mark.parametrize("n_flipped", [0, 7])
def test_answers_that_are_read_otherwise_are_counted(
    audit_file: Path, run: Run, n_flipped: int
) -> None:
    (audited,) = Audit.load(audit_file).audits
    shift = audited.estimate("parallel_forms.mean_shift")
    signature = signed_by(audit_file, 3, n_flipped)
    status, output, _ = run("report", audit_file, "--verify", signature)
    details = {"before": "reader strict:3", "now": STRICT.label, "changed": n_flipped}
    assert status == 0
    assert tells(output, "verify.rescored", **details, answers=4 * 2 * N_ITEMS)
    rescored = audit_file.parent / "again.json"
    status, output, _ = run("report", audit_file, "--verify", signature, "--to", rescored)
    assert (status, "wrote" in output) == (0, True)
    (again,) = Audit.load(rescored).audits
    assert again.estimate("parallel_forms.mean_shift").value == pytest.approx(shift.value)
    assert again.estimate("parallel_forms.mean_shift").signature == shift.signature
    row = json.loads(run("report", audit_file, "--verify", signature, "--json")[1])
    said = row["estimates"][0]["rescored"]
    assert (said["n_changed"], said["answers"], said["is_exact"]) == (n_flipped, 320, True)


def test_an_audit_without_a_record_says_what_its_scores_show(audit_file: Path, run: Run) -> None:
    signature = signed_by(audit_file, 3, has_record=False)
    output = run("report", audit_file, "--verify", signature)[1]
    assert tells(output, "verify.same-scores", answers=320)
    (audited,) = Audit.load(audit_file).audits
    first, *others = audited.respondents
    cell = audited.reference
    states = {**first.states, cell: {"ok": N_ITEMS - 3, "unparsed": 3}}
    before = replace(audited, respondents=(replace(first, states=states), *others))
    rereading = compare_verdicts(before, audited)
    assert (rereading.n_changed, rereading.is_exact) == (3, False)
    scores = {**first.cells, cell: {"accuracy": first.cells[cell]["accuracy"] + 5 / N_ITEMS}}
    before = replace(audited, respondents=(replace(first, cells=scores), *others))
    assert compare_verdicts(before, audited).n_changed == 5


def test_without_its_store_an_audit_is_read_as_what_it_is(audit_file: Path, run: Run) -> None:
    signature = signed_by(audit_file, 3)
    (audit_file.parent / "store.sqlite").rename(audit_file.parent / "moved.sqlite")
    status, output, _ = run("report", audit_file, "--verify", signature)
    assert (status, tells(output, "verify.no-store")) == (0, True)
    output = run(
        *("report", audit_file, "--verify", signature),
        *("--store", audit_file.parent / "moved.sqlite"),
    )[1]
    assert tells(
        output,
        "verify.rescored",
        before="reader strict:3",
        now=STRICT.label,
        changed=0,
        answers=320,
    )


def test_an_audit_of_0_1_0_is_verified(run: Run) -> None:
    file = ROOT / "audit_0_1_0.json"
    (audited,) = Audit.load(file).audits
    assert audited.verdicts == {}
    signature = audited.estimate("test_retest.rho_g").signature
    status, output, _ = run("report", file, "--verify", signature)
    now = labelled("statistic", "test_retest.rho_g")
    assert status == 0
    assert "strict of HQM 0.1.0 and statistic test_retest.rho_g of HQM 0.1.0, this is" in output
    assert f"{STRICT.label} and {now}" in " ".join(output.split())
    assert sign(parse_signature(signature)) == signature


def test_an_audit_and_a_store_of_0_2_0_are_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    """Four respondents, two runs and another wording, asked with the reader of that version."""
    nouns = ("boat", "tram", "gull", "lamp", "goat", "drum")
    items = [
        {
            "id": f"q{i}",
            "prompt": f"Is there a {nouns[i % 6]} in the picture?",
            "target": ("yes", "no")[(i // 3) % 2],
            "image": f"{i // 2}.png",
            "type": ("existence", "attribute")[i % 2],
        }
        for i in range(40)
    ]
    write_benchmark(tmp_path / "mine", items)
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "store_0_2_0.sqlite", "store.sqlite")
    older = Audit.load(ROOT / "audit_0_2_0.json")
    assert older.hqm_version == "0.2.0"
    shift = older.audits[0].estimate("parallel_forms.mean_shift")
    status, output, _ = run(
        *("report", ROOT / "audit_0_2_0.json", "--verify", shift.signature),
        *("--store", "store.sqlite"),
    )
    signed = (
        "scoring official of HQM 0.2.0 and reader strict:4 and form yes_no:1"
        " and statistic parallel_forms.mean_shift:1"
    )
    now = [scoring_label("official", "mine"), STRICT.label, labelled("form", "yes_no")]
    now.append(labelled("statistic", "parallel_forms.mean_shift"))
    assert status == 0
    assert tells(
        output, "verify.rescored", before=signed, now=" and ".join(now), changed=0, answers=480
    )


def test_a_record_is_written_as_it_was_read(audit_file: Path) -> None:
    text = audit_file.read_text()
    assert Audit.load(audit_file).to_json() == text
    assert isinstance(BenchmarkAudit.from_dict(json.loads(text)["audits"][0]), BenchmarkAudit)
