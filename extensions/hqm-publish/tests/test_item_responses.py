"""Item responses in the long format of the Item Response Warehouse, read and written."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.conftest import ROOT, Run
from tests.messages import tells

N_MODELS, N_ITEMS = 4, 30


def write_responses(path: Path) -> dict[tuple[str, str, str], str]:
    """Write responses as the warehouse has them, one of them missing; return those that are there."""
    responses = {}
    rows = []
    for m in range(N_MODELS):
        for i in range(N_ITEMS):
            for wave in (1, 2):
                resp = str(int((i * 7 + m * 3 + wave * (i % 9 == m)) % 5 > 1 + (m % 2)))
                if (m, i, wave) == (0, 3, 2):
                    resp = "NA"
                else:
                    responses[f"m{m}", f"q{i}", str(wave)] = resp
                kind = ("count", "color")[i % 2]
                rows.append((f"m{m}", f"q{i}", resp, wave, f"{i}.5", m % 2, kind, 40 + i))
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow("id item resp wave rt cov_family itemcov_type itemcov_length".split())
        writer.writerows(rows)
    return responses


def responses_in(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_responses_are_read_in_one_command_and_written_as_they_were(
    tmp_path: Path, run: Run
) -> None:
    responses = write_responses(tmp_path / "irw.csv")
    status, out, err = run("audit", tmp_path / "irw.csv", "--out", tmp_path / "out")
    assert status == 0, err
    assert tells(out + err, "door.responses", n=1)
    design = {
        "columns": "model, item, run, category, score",
        "aims": "ranks and ties, items, reruns, types",
        "added": "`form` for wordings",
    }
    assert tells((out + err).partition("note: ")[0], "door.design", **design), out + err
    _, checked, _ = run("check", tmp_path / "irw.csv")
    assert tells(checked, "door.design", **design), checked
    assert f"{N_ITEMS} items · {N_MODELS} models" in out
    assert "rt" not in out.partition("statement")[0].partition("models ·")[2].split()
    status, out, err = run("export", tmp_path / "out", "--to", tmp_path / "back.csv")
    assert status == 0, err
    rows = responses_in(tmp_path / "back.csv")
    back = {
        (row["id"].removeprefix("recorded/"), row["item"], row["wave"]): row["resp"] for row in rows
    }
    # R's mirt takes a wide table: a respondent, an item and a run name one response
    assert len(back) == len(rows) == len(responses)
    # an audit numbers items in the order of the file, and runs from 0
    for (model, item, wave), resp in responses.items():
        assert back[model, f"i{item[1:]}", str(int(wave) - 1)] == resp
    assert {row["itemcov_type"] for row in rows} == {"1", "2"}
    run("audit", tmp_path / "back.csv", "--out", tmp_path / "again")
    run("export", tmp_path / "again", "--to", tmp_path / "again.csv")
    scores = sorted((row["item"], row["wave"], row["resp"]) for row in rows)
    again = responses_in(tmp_path / "again.csv")
    assert sorted((row["item"], row["wave"], row["resp"]) for row in again) == scores


@pytest.mark.parametrize(("raters", "names"), [(("r1",), ""), (("r1", "r2"), ", judge=rater")])
def test_one_rater_of_all_rows_is_no_facet(
    raters: tuple[str, ...], names: str, tmp_path: Path, run: Run
) -> None:
    rows = [
        (f"m{m}", f"q{i}", (m + i + (rater == "r2")) % 3 > 0, rater)
        for m in range(N_MODELS)
        for i in range(N_ITEMS)
        for rater in raters
    ]
    with (tmp_path / "irw.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "item", "resp", "rater"), *rows])
    _, out, err = run("audit", tmp_path / "irw.csv", "--out", tmp_path / "out")
    assert f"respondent=id, item=item, score=resp{names}\n" in out + err, out + err


def test_what_is_written_conforms_to_the_standard(tmp_path: Path, run: Run) -> None:
    validate_file = pytest.importorskip("irw_validate").validate_file
    write_responses(tmp_path / "irw.csv")
    assert validate_file(tmp_path / "irw.csv").nonconforming == ["C4"]
    run("audit", tmp_path / "irw.csv", "--out", tmp_path / "out")
    run("export", tmp_path / "out", "--to", tmp_path / "back.csv")
    report = validate_file(tmp_path / "back.csv")
    assert report.conforms, report.findings
    assert report.ok, report.findings


def test_a_table_holds_one_benchmark(tmp_path: Path, run: Run) -> None:
    older = ROOT / "tests" / "audit_0_1_0.json"
    status, _, err = run("export", older, "--to", tmp_path / "t.csv", "--benchmark", "none")
    assert (status, tells(err, "export.one-benchmark")) == (2, True), err
