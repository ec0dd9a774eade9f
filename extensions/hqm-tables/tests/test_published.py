"""A published table is audited: what can be known of it is, the rest says why."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hqm_tables.printed_table import subscales_of
from hqm_tables.table_audit import Published, TableAudit, audit_table, read_table
from scipy import stats

import hqm
from hqm import psychometrics as psy
from hqm.respondents.kinds import families_of, infer_family, read_families
from tests.conftest import NIGHTLY, ROOT, Run
from tests.messages import tells

TABLE5 = ROOT / "tests" / "tables" / "hqm_table5.csv"
"""Table 5 of the HQM paper (arXiv 2406.17115v2): hallucination rates of 21 models, 500 items a
type.
"""


@pytest.fixture(scope="module")
def table5() -> TableAudit:
    return audit_table(read_table(TABLE5), items=500)


def value(audited: TableAudit, indicator: str, metric: str | None = None) -> float:
    estimate = next(
        e for e in audited.estimates if e.indicator == indicator and metric in (None, e.metric)
    )
    assert estimate.value is not None, estimate.reason
    return estimate.value


def test_table_five_of_the_paper(table5: TableAudit) -> None:
    """Reference values computed independently from the same table (recorded in this project's
    psychometric notes).
    """
    assert value(table5, "consistency.alpha") == pytest.approx(0.961, abs=5e-4)
    assert value(table5, "consistency.mean_correlation") == pytest.approx(0.787, abs=5e-4)
    halves = next(e for e in table5.estimates if e.indicator == "consistency.split_half")
    assert halves.value == pytest.approx(0.9654, abs=5e-5)
    assert (halves.detail["minimum"], halves.detail["maximum"], halves.detail["splits"]) == (
        pytest.approx(0.8923, abs=5e-5),
        pytest.approx(0.9896, abs=5e-5),
        35,
    )
    dependence = next(e for e in table5.estimates if e.indicator == "families.icc")
    assert dependence.value == pytest.approx(0.762, abs=5e-4)
    assert dependence.detail["n_effective"] == pytest.approx(10.06, abs=0.01)
    # independent coin flips at each model's rate, 4,000 items: .9977 for the 21 models
    assert value(table5, "test_retest.noise_floor", "mean") == pytest.approx(0.9977, abs=5e-5)
    assert table5.violations == ()
    assert {flag["flag"] for flag in table5.flags} == {"FAMILY_DEPENDENCE"}


def test_what_a_table_cannot_show_has_no_row(table5: TableAudit) -> None:
    assert all(estimate.value is not None for estimate in table5.estimates)
    without_items = audit_table(read_table(TABLE5))
    assert not [e for e in without_items.estimates if e.indicator == "test_retest.noise_floor"]
    (note,) = [note for note in without_items.notes if "--items" in note]
    assert note not in table5.notes


def test_two_columns_are_two_administrations() -> None:
    table = read_table(TABLE5)
    audited = audit_table(table, columns=("attribute", "action"), items=500)
    x, y = table.column("attribute"), table.column("action")
    assert value(audited, "agreement.pearson") == pytest.approx(stats.pearsonr(x, y).statistic)
    assert value(audited, "agreement.tau_b") == pytest.approx(stats.kendalltau(x, y).statistic)
    assert value(audited, "agreement.mean_shift") == pytest.approx((y - x).mean())
    floor = next(e for e in audited.estimates if e.indicator == "agreement.noise_floor")
    assert "NOISE_FLOOR" in floor.flags, "two types correlate less than coin flips would repeat"
    assert all(e.signature for e in audited.estimates)


def test_a_number_that_cannot_be_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("model,a,b,mean\nx,0.751,0.500,0.626\ny,0.250,0.250,0.400\nz,0.1,0.3,0.2\n")
    audited = audit_table(read_table(path), items=8)
    assert {(v["kind"], v["row"], v["column"]) for v in audited.violations} >= {("GRIM", "x", "a")}
    assert any(v["row"] == "y" and v["column"] == "mean" for v in audited.violations)
    assert {flag["flag"] for flag in audited.flags} == {"FEW_MODELS"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("model,a\n", "no table"),
        ("model,a\nx,yes\n", "no number"),
        ("model,a\nx,1\nx,2\n", "twice"),
        ("model,a,b\nx,1\n", "fields"),
        ("", "no table"),
    ],
)
def test_bad_tables_are_refused(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(hqm.DataError, match=reason):
        read_table(path)


def test_a_small_table_gives_reasons_not_numbers(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("model,a,b\nx,50,60%\ny,50,60\n")
    table = read_table(path)
    assert [column.scale for column in table.column_specs] == [100, 100]
    for audited in (
        audit_table(table, items=100),
        audit_table(table, columns=("a", "b"), items=100),
    ):
        for estimate in audited.estimates:
            assert estimate.value is None or estimate.status == "ok" or estimate.reason, (
                estimate.indicator
            )
        json.dumps(audited.to_dict(), allow_nan=False)


def test_the_command(run: Run, tmp_path: Path) -> None:
    status, output, _ = run("table", TABLE5, "--items", 500, "--json")
    assert status == 0
    (estimate,) = json.loads(output)["audits"]
    assert {"benchmark", "respondents", "estimates", "coverage"} <= estimate.keys()
    assert estimate["estimates"][0].keys() >= {
        "indicator",
        "metric",
        "value",
        "status",
        "reason",
        "intervals",
        "signature",
    }
    status, output, _ = run("table", TABLE5)
    assert status == 0
    assert "consistency.alpha" in output
    assert run("table", TABLE5, "--columns", "attribute")[0] == 2
    assert run("table", TABLE5, "--columns", "attribute,colour")[0] == 2
    assert run("audit")[0] == 2


# --- how tables are written ---

SCORES = [[85.3, 7.25], [80.1, 8.0], [75.0, np.nan]]
LATEX = r"""
\begin{table}[t]\centering
\begin{tabular}{l|cc}
\toprule
\multirow{2}{*}{Model} & \multicolumn{2}{c}{\textbf{AMBER}} \\
\cmidrule(lr){2-3}
 & Acc $\uparrow$ & CHAIR$_{\downarrow}$ \\
\midrule
\multicolumn{3}{c}{\textit{Open models}} \\
LLaVA-1.5 & \textbf{85.3}$_{\pm 0.4}$ & 7.25 \\  % & a comment
\rowcolor{gray!10} mPLUG\_Owl & \underline{80.1} & 8.00$^{\dagger}$ \\
\hline
Otter & 75.0 & -- \\
\bottomrule
\end{tabular}
\caption{Scores & more}
\end{table}
"""
TABLE_TEXTS = {
    "pandas.csv": (
        ",model,Acc ↑,CHAIR ↓\n0,LLaVA-1.5,85.3,7.25\n1,mPLUG_Owl,80.1,8.00\n2,Otter,75.0,\n"
    ),
    "plain.csv": "model,Acc ↑,CHAIR ↓\nLLaVA-1.5,85.3,7.25\nmPLUG_Owl,80.1,8.00\nOtter,75.0,-\n",
    "percent.csv": (
        "model,Acc (↑),CHAIR↓\nLLaVA-1.5,85.3%,7.25%\nmPLUG_Owl,80.1 %,8.00%\nOtter,75.0%,n/a\n"
    ),
    "german.csv": "model;Acc ↑;CHAIR ↓\nLLaVA-1.5;85,3;7,25\nmPLUG_Owl;80,1;8,00\nOtter;75,0;–\n",
    "tabs.tsv": (
        "model\tAcc ↑\tCHAIR ↓\nLLaVA-1.5\t85.3\t7.25\nmPLUG_Owl\t80.1\t8.00\nOtter\t75.0\t---\n"
    ),
    "table.md": (
        "Scores:\n\n| model | Acc ↑ | CHAIR ↓ |\n|:--|--:|--:|\n| LLaVA-1.5 | **85.3** ± 0.4 |"
        " 7.25† |\n| mPLUG_Owl | 80.1±1 | *8.00* |\n| Otter | 75.0 | nan |\n"
    ),
    "pandas.md": (
        "|    | model     |   Acc ↑ |   CHAIR ↓ |\n|---:|:----------|--------:|----------:|\n|  0 |"
        " LLaVA-1.5 |    85.3 |      7.25 |\n|  1 | mPLUG_Owl |    80.1 |      8.00 |\n|  2 | Otter"
        "     |    75.0 |    nan    |\n"
    ),
    "table.tex": LATEX,
}


@pytest.mark.parametrize("name", TABLE_TEXTS)
def test_a_table_is_read_as_its_reader_expects(tmp_path: Path, name: str) -> None:
    """One table in eight ways: the same respondents, numbers, digits, directions and scales."""
    path = tmp_path / name
    path.write_text(TABLE_TEXTS[name], encoding="utf-8")
    table = read_table(path)
    assert table.respondents == ("LLaVA-1.5", "mPLUG_Owl", "Otter")
    np.testing.assert_array_equal(table.values, SCORES)
    assert [(c.better, c.scale, c.decimals) for c in table.column_specs] == [
        ("higher", 100, 1),
        ("lower", 100, 2),
    ]
    assert table.printed[1] == ("80.1", "8.00")
    assert [column.name.removeprefix("AMBER ") for column in table.column_specs] == ["Acc", "CHAIR"]
    assert any("±" in note for note in table.notes) == (
        "±" in TABLE_TEXTS[name] or "pm" in TABLE_TEXTS[name]
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('model,a\nx,"1,234"\ny,"5,678"\n', "may be 1.234 or 1234"),
        ("model,a\nx,60 (0.3)\ny,61 (0.2)\n", "parentheses"),
        ("model,a\nx,3/4\ny,1/4\n", "Write the share"),
        ("model,a\nx,60%\ny,0.6\n", "per cent"),
        ("model;a\nx;0,5\ny;0.5\n", "decimal comma"),
        ("Q1,Q2\n0,1\n0,0\n", "--no-names"),
        (
            r"\begin{tabular}{l}a&b\\x&1\end{tabular}\begin{tabular}{l}a&b\\y&1\end{tabular}",
            "2 tables",
        ),
    ],
)
def test_what_may_mean_two_things_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "t.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(hqm.DataError, match=said):
        read_table(path)


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (('"1,234.5"', '"2,000.0"'), (1234.5, 2000)),
        (('"1,234"', "862"), (1234, 862)),
        (('"1,234,567"', "5"), (1234567, 5)),
        (("1\u202f234", "900"), (1234, 900)),
        (("\u22120.5", "0.5"), (-0.5, 0.5)),
        ((".5", "+0.25"), (0.5, 0.25)),
    ],
)
def test_separators_and_signs(
    tmp_path: Path, cells: tuple[str, str], values: tuple[float, float]
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"model,a\nx,{cells[0]}\ny,{cells[1]}\n", encoding="utf-8")
    assert tuple(read_table(path).values[:, 0]) == values


def test_a_long_table_becomes_one_row_a_respondent(tmp_path: Path) -> None:
    """Labels that are printed once for several rows, as in LaTeX, stand for all of them."""
    path = tmp_path / "t.csv"
    path.write_text(
        "set,part,model,acc\nPOPE,random,a,80\n,,b,70\n,popular,a,75\n,,b,68\nAMBER,,a,60\n,,b,50\n"
    )
    table = read_table(path)
    assert table.respondents[3] == "POPE / popular / b"
    audited = audit_table(table)
    assert audited.respondents == ("a", "b")
    assert audited.columns == ("POPE / random acc", "POPE / popular acc", "AMBER / popular acc")


@pytest.mark.parametrize(
    ("text", "respondents"),
    [
        ("rank,model,acc\n1,x,50.1\n2,y,40.2\n2,z,40.2\n", ("x", "y", "z")),
        (
            "model,LLM,acc\nx,Vicuna-7B,50.1\ny,LLaMA,40.2\nz,,40.2\n",
            ("x / Vicuna-7B", "y / LLaMA", "z"),
        ),
        ("#,acc,f1\n1,50.1,3\n2,40.2,4\n", ("1", "2")),
    ],
)
def test_ranks_and_further_words_are_no_names_to_stumble_over(
    tmp_path: Path, text: str, respondents: tuple[str, ...]
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    assert read_table(path).respondents == respondents


# --- answers to single items ---

# Bock and Lieberman 1970, Psychometrika 35, 179-197: section 6 of the LSAT, 1,000 examinees,
# patterns of five items
LSAT6 = (
    "00000 3 00001 6 00010 2 00011 11 00100 1 00101 1 00110 3 00111 4 01000 1 01001 8 01011 16"
    " 01101 3 01110 2 01111 15 10000 10 10001 29 10010 14 10011 81 10100 3 10101 28 10110 15 10111"
    " 80 11000 16 11001 56 11010 21 11011 173 11100 11 11101 61 11110 28 11111 298"
)


def lsat() -> list[tuple[str, int]]:
    words = LSAT6.split()
    return [(pattern, int(count)) for pattern, count in zip(words[::2], words[1::2], strict=True)]


def lsat_written(shape: str) -> tuple[str, bool]:
    """The same answers in four shapes, and whether rows have names."""
    rows = [list(pattern) for pattern, count in lsat() for _ in range(count)]
    head = ",".join(f"Q{i}" for i in range(1, 6))
    if shape == "rows":
        return f"{head}\n" + "\n".join(map(",".join, rows)), False
    if shape == "index":
        return (
            f",{head}\n" + "\n".join(f"{i}," + ",".join(row) for i, row in enumerate(rows)),
            False,
        )
    if shape == "counts":
        return f"{head},Freq\n" + "\n".join(f"{','.join(p)},{n}" for p, n in lsat()), True
    return "pattern,n\n" + "\n".join(f"{p},{n}" for p, n in lsat()), True


def lsat_table(folder: Path, shape: str) -> Published:
    text, names = lsat_written(shape)
    (folder / "lsat.csv").write_text(text)
    return read_table(folder / "lsat.csv", names=names)


@pytest.mark.parametrize("shape", ["rows", "index", "counts", "patterns"])
def test_the_lsat_is_read_in_all_its_shapes(tmp_path: Path, shape: str) -> None:
    table = lsat_table(tmp_path, shape)
    assert (len(table.respondents), len(table.columns), table.is_binary) == (1000, 5, True)
    assert [int(column.sum()) for column in table.values.T] == [924, 709, 553, 763, 870]
    answered = Counter("".join(str(int(value)) for value in row) for row in table.values)
    assert answered == {pattern: count for pattern, count in lsat() if count}


@pytest.mark.parametrize("shape", ["index", *(["rows", "counts", "patterns"] if NIGHTLY else [])])
def test_the_lsat_has_its_published_alpha(tmp_path: Path, shape: str) -> None:
    """Alpha of these data is .295 (the R package ltm, page of cronbach.alpha, data LSAT)."""
    table = lsat_table(tmp_path, shape)
    audited = audit_table(table)
    assert value(audited, "consistency.alpha") == pytest.approx(0.295, abs=5e-4)
    assert audited.violations == (), "a thousand rows of 32 patterns are no copying"
    assert audited.flags == (), "no family is told from a row's number"
    analysis = psy.item_analysis(table.values)
    discrimination = next(e for e in audited.estimates if e.indicator == "items.discrimination")
    assert discrimination.value == pytest.approx(np.median(analysis.item_rest))
    assert discrimination.detail["map"]["difficulty"] == pytest.approx(
        [0.924, 0.709, 0.553, 0.763, 0.870]
    )


# --- G, Phi and what is known of the columns ---


def test_g_and_phi_of_a_table(table5: TableAudit) -> None:
    """One facet, crossed: G is ICC(C,k) and Phi is ICC(A,k); checked here from the mean squares, by
    hand.
    """
    x = np.delete(read_table(TABLE5).values, 8, axis=1)
    n, k = x.shape
    rows, columns = x.mean(axis=1), x.mean(axis=0)
    p = k * rows.var(ddof=1)
    c = n * columns.var(ddof=1)
    pc = ((x - rows[:, None] - columns + x.mean()) ** 2).sum() / ((n - 1) * (k - 1))
    row_variance, column = (p - pc) / k, max((c - pc) / n, 0)
    assert value(table5, "generalizability.g") == pytest.approx(
        row_variance / (row_variance + pc / k)
    )
    assert value(table5, "generalizability.phi") == pytest.approx(
        row_variance / (row_variance + (pc + column) / k)
    )
    for name in ("g", "phi"):
        estimate = next(e for e in table5.estimates if e.indicator == f"generalizability.{name}")
        span = estimate.interval("model_population")
        assert span is not None
        assert estimate.value is not None
        assert span.one_sided
        assert span.low < estimate.value
        for words in ("one score a cell", "over respondents", "like them"):
            assert words in estimate.detail["limits"]
    # 21 respondents of 11 families count as ten, in every interval over respondents
    independent = psy.icc(x).ck
    g = next(e for e in table5.estimates if e.indicator == "generalizability.g").interval(
        "model_population"
    )
    assert g is not None
    assert g.low < independent.low


def test_relatives_of_one_family_leave_no_interval(tmp_path: Path) -> None:
    path, families = tmp_path / "t.csv", {f"m{i}": "one" for i in range(8)}
    rng = np.random.default_rng(1)
    ability = rng.uniform(0.3, 0.8, 8)
    path.write_text(
        "model,a,b,c\n"
        + "\n".join(
            f"m{i}," + ",".join(f"{v + e:.3f}" for e in rng.normal(0, 0.02, 3))
            for i, v in enumerate(ability)
        )
    )
    for columns in (None, ("a", "b")):
        audited = audit_table(read_table(path), columns=columns, families=families)
        reliabilities = [
            e
            for e in audited.estimates
            if e.value is not None
            and e.indicator.startswith(
                ("agreement.icc", "agreement.pearson", "agreement.mean", "generalizability")
            )
        ]
        assert reliabilities
        for estimate in reliabilities:
            assert estimate.interval("model_population") is None, estimate.indicator
            assert "one family" in estimate.detail["no_interval"], estimate.indicator


def test_directions_and_items_by_column(tmp_path: Path) -> None:
    """A hallucination rate is reversed before it is added to an accuracy, and the best are
    those with the lowest.
    """
    lower = audit_table(read_table(TABLE5), items=500, direction="lower")
    higher = audit_table(read_table(TABLE5), items=500)
    assert value(lower, "consistency.alpha") == pytest.approx(value(higher, "consistency.alpha"))
    assert any(tells(note, "published.direction") for note in higher.notes)
    assert not any(tells(note, "published.direction") for note in lower.notes)
    rng = np.random.default_rng(4)
    good = rng.uniform(0.4, 0.9, 15)
    rows = [f"m{chr(97 + i)},{g:.3f},{1 - g:.3f}" for i, g in enumerate(good)]
    path = tmp_path / "t.csv"
    path.write_text("model,accuracy rate,CHAIR ↓\n" + "\n".join(rows))
    table = read_table(path)
    assert value(audit_table(table), "consistency.alpha") == pytest.approx(1)
    pair = audit_table(table, columns=("accuracy rate", "CHAIR"))
    assert value(pair, "agreement.pearson") == pytest.approx(1)
    assert value(pair, "agreement.top_3") == 1
    assert all("REVERSED" in e.flags for e in pair.estimates)
    sized = audit_table(table, items={"accuracy rate": 100, "CHAIR": 900})
    x = table.column("accuracy rate")
    expected = psy.noise_floor(x, 100).value
    assert value(sized, "test_retest.noise_floor", "accuracy rate") == pytest.approx(expected)
    with pytest.raises(hqm.UsageError, match="no column 'COCO'"):
        audit_table(table, items={"COCO": 5})


def test_the_floor_of_columns_of_unequal_length(tmp_path: Path) -> None:
    """Against coin flips thrown here: two columns of 40 and 400 items, means of the columns
    repeated.
    """
    rng = np.random.default_rng(5)
    rates = rng.uniform(0.3, 0.9, (200, 2)).round(3)
    path = tmp_path / "t.csv"
    path.write_text(
        "model,a,b\n"
        + "\n".join(
            f"{chr(97 + i % 26)}{chr(97 + i // 26)}{i},{r[0]:.3f},{r[1]:.3f}"
            for i, r in enumerate(rates)
        )
    )
    audited = audit_table(read_table(path), items={"a": 40, "b": 400})
    thrown = []
    for _ in range(200):
        first, second = (
            (rng.binomial([40, 400], rates) / [40, 400]).mean(axis=1) for _ in range(2)
        )
        thrown.append(np.corrcoef(first, second)[0, 1])
    assert value(audited, "test_retest.noise_floor", "mean") == pytest.approx(
        np.mean(thrown), abs=0.005
    )


def test_equivalence_needs_a_declared_margin(tmp_path: Path) -> None:
    """A shift of -32 points was called equivalent by a margin from the two columns themselves (p
    4e-35).
    """
    rng = np.random.default_rng(6)
    first = rng.uniform(20, 95, 20)
    path = tmp_path / "t.csv"
    path.write_text(
        "model,a,b\n"
        + "\n".join(
            f"{chr(97 + i)}x,{v:.1f},{v - 32 + e:.1f}"
            for i, (v, e) in enumerate(zip(first, rng.normal(0, 1, 20), strict=True))
        )
    )
    table = read_table(path)
    silent = next(
        e
        for e in audit_table(table, columns=("a", "b")).estimates
        if e.indicator == "agreement.equivalence"
    )
    assert (silent.value, silent.status) == (None, "not_applicable")
    assert "margin=" in silent.reason
    for margin in (1.0, 5.0, 20.0):
        declared = audit_table(table, columns=("a", "b"), margin=margin)
        assert value(declared, "agreement.equivalence") > 0.99
        assert (
            next(e for e in declared.estimates if e.indicator == "agreement.equivalence").detail[
                "margin"
            ]
            == margin
        )
    assert value(audit_table(table, columns=("a", "b")), "agreement.mean_shift") == pytest.approx(
        -32, abs=1
    )


def test_metrics_of_the_same_answers_are_no_parts_of_a_test(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        "model,Acc,P,R,F1\nx,0.8,0.8,0.8,0.8\ny,0.7,0.7,0.7,0.7\nz,0.6,0.6,0.6,0.6\nw,0.5,0.5,0.5,0.5\n"
    )
    audited = audit_table(read_table(path))
    alpha = next(e for e in audited.estimates if e.indicator == "consistency.alpha")
    assert (alpha.value, alpha.status) == (None, "insufficient")
    assert any(tells(note, "published.same-counts") for note in audited.notes)
    assert alpha.metric == "1 column"
    path.write_text(
        "model,Acc,F1,score,CHAIRs\nx,0.8,0.8,2.1,40\ny,0.7,0.7,1.9,38\nz,0.6,0.6,1.7,31\n"
    )
    notes = audit_table(read_table(path)).notes
    columns = "'score', 'CHAIRs'"
    assert any(
        tells(note, "published.left-out", metric="accuracy", columns=columns) for note in notes
    )


def test_the_command_writes_and_says(run: Run, tmp_path: Path) -> None:
    hal = TABLE5.parent / "hal_eval_table1.csv"
    out_dir = tmp_path / "out"
    status, text, _ = run("table", hal, "--out", out_dir)
    assert status == 0
    assert tells(text, "published.contradiction", column="F1", places=10)
    assert tells(
        text,
        "published.row",
        column="F1",
        row="Out-of-domain / Event / LLaVA 1.5",
        printed="44.2",
        p="77.2",
        r="41.9",
        value="54.32",
    )
    data = json.loads((out_dir / "audit.json").read_text(encoding="utf-8"))["audits"][0]
    assert sum(v["kind"] == "F1" for v in data["violations"]) == 10
    page = (out_dir / "report.html").read_text(encoding="utf-8")
    for words in (
        "The table contradicts itself",
        "P 77.2, R 41.9 give 54.32",
        "Phi, absolute",
        "one score a cell",
        "GPT4-V",
    ):
        assert words in page, words
    assert "http://" not in page.replace("http://www.w3.org", "")
    # an audit of a table is told from one of a benchmark
    status, _, err = run("gate", out_dir / "audit.json")
    assert status == 1
    assert "published table" in err
    status, text, _ = run(
        "table",
        TABLE5,
        "--items",
        500,
        "--direction",
        "lower",
        "--out",
        tmp_path / "page",
        "--json",
    )
    assert status == 0
    assert (tmp_path / "page" / "report.html").exists()
    assert (tmp_path / "page" / "audit.json").exists()
    assert {column["better"] for column in json.loads(text)["audits"][0]["read_as"]} == {"lower"}
    sizes = tmp_path / "sizes.csv"
    sizes.write_text("column,items,direction\nattribute,500,lower\naction,400,lower\n")
    status, text, _ = run("table", TABLE5, "--items", sizes, "--direction", sizes, "--json")
    read = {
        column["column"]: (column["items"], column["better"])
        for column in json.loads(text)["audits"][0]["read_as"]
    }
    assert (read["attribute"], read["action"], read["ocr"]) == (
        (500, "lower"),
        (400, "lower"),
        (None, ""),
    )
    status, text, _ = run(
        "table",
        TABLE5,
        "--items",
        "ocr=500",
        "--items",
        "action=400",
        "--direction",
        "ocr=lower",
        "--json",
    )
    read = {
        column["column"]: (column["items"], column["better"])
        for column in json.loads(text)["audits"][0]["read_as"]
    }
    assert (read["ocr"], read["action"]) == ((500, "lower"), (400, ""))
    lsat_file = tmp_path / "lsat.csv"
    lsat_file.write_text(lsat_written("rows")[0])
    status, text, _ = run("table", lsat_file, "--no-names")
    assert (status, "0.295" in text) == (0, True)
    for wrong in (
        ["--items", "0"],
        ["--items", "many"],
        ["--items", "ocr=1.5"],
        ["--items", "5", "--items", "ocr=6"],
        ["--items", "colour=5"],
        ["--direction", "sideways"],
        ["--direction", "ocr="],
        ["--base-rate", "2"],
        ["--items", "9" * 5000],
    ):
        status, _, err = run("table", TABLE5, *wrong)
        assert status == 2, wrong
        assert err, wrong
    assert run("audit", "shapes", "--table", TABLE5)[0] == 2


def test_families_are_told_from_names_or_a_file(tmp_path: Path) -> None:
    assert infer_family("hf/shapes:steady?temperature=0.2") == "steady"
    path = tmp_path / "f.csv"
    path.write_text("respondent,family\nllava-1.5-7b-hf,vicuna\n")
    file_families = read_families(path)
    names = ["hf/llava-hf/llava-1.5-7b-hf", "openai/gpt-4o"]
    assert families_of(names, file_families) == ["vicuna", "gpt"]
    path.write_text("respondent,family\na,b\na,c\n")
    with pytest.raises(hqm.DataError):
        read_families(path)


def test_columns_in_per_cent_and_in_shares_are_brought_to_one_scale(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("model,part a (acc),part b (acc)\nx,80,0.7\ny,60,0.5\nz,90,0.25\n")
    parts = subscales_of(read_table(path))
    assert [column.scale for column in parts.column_specs] == [100, 1]
    assert parts.scores == pytest.approx(np.array([[0.8, 0.7], [0.6, 0.5], [0.9, 0.25]]))
    assert parts.rates == pytest.approx(parts.scores)
    assert parts.total == pytest.approx([0.75, 0.55, 0.575])


def test_columns_on_unknown_scales_are_standardised(tmp_path: Path) -> None:
    """By hand: (1, 2, 3) and (300, 500, 400) have the standard deviations 1 and 100."""
    path = tmp_path / "t.csv"
    path.write_text("model,acc,points\nx,0.1,300\ny,0.2,500\nz,0.3,400\n")
    parts = subscales_of(read_table(path))
    assert [column.scale for column in parts.column_specs] == [1, None]
    assert parts.scores == pytest.approx(np.array([[-1, -1], [0, 1], [1, 0]]))
    assert parts.rates is None


SYSTEMS = ("LLaVA-1.5-7B", "Qwen2-VL-7B", "GPT-4o", "InstructBLIP", "MiniGPT-4", "CogVLM")
PARTS = ("Existence", "Color", "Count", "SEED")


def scores_table(path: Path, extra_row: str = "", heading: str = "", extra: str = "") -> Path:
    """Write a table of six systems and four parts, with a row or a column more."""
    rows = [",".join(filter(None, ("Model", *PARTS, heading)))]
    for i, name in enumerate(SYSTEMS):
        scores = [f"{51 + 6 * i + 2 * j}.{i + j}" for j in range(4)]
        rows.append(",".join(filter(None, (name, *scores, extra))))
    path.write_text("\n".join([*rows, extra_row]), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "row",
    (
        "#Questions,200,60,60,60;Num. of questions,200,60,60,60;Questions,200,60,60,60;N,9,9,9,9"
        ";Rank,1,2,1,3;p-value,.03,.5,.01,.2;95% CI,3.1,2.2,4.1,1.2;Var,3.1,2.2,4.1,1.2"
        ";vs. baseline,3.1,2.2,4.1,1.2;Ground truth,100,100,100,100;Max score,100,100,100,100"
        ";Full mark,100,100,100,100;Always yes,50.1,50.2,50.3,50.4;Random (yes),50.1,50.2,50.3,50"
        ";Crowd workers,91.2,92.3,93.4,94.5;± std,3.1,2.2,4.1,1.2;Relative gain,3.1,2.2,4.1,1.2"
    ).split(";"),
)
def test_a_row_that_is_no_system_is_left_out(row: str, tmp_path: Path) -> None:
    table = read_table(scores_table(tmp_path / "t.csv", row))
    assert table.respondents == SYSTEMS
    name = repr(row.partition(",")[0])
    said = " ".join(table.notes)
    assert tells(said, "door.omitted", n=1, subject="row", what="systems", names=name)


@pytest.mark.parametrize(
    ("heading", "cell"),
    [
        *(("#", "1"), ("ID", "7"), ("Release", "2023"), ("Time (s)", "1.2"), ("Speed", "11")),
        *(("FPS", "60"), ("VRAM", "64"), ("Memory (GB)", "64"), ("Data (M)", "1.2")),
        *(("Votes", "1000"), ("N", "500"), ("Samples", "500"), ("Shots", "4"), ("p", ".01")),
        *(("Temperature", "0.2"), ("Std", "1.2"), ("Δ", "-1.2"), ("Gain", "-1.2")),
        *(("Length", "52.1"), ("vs. base", "1.2"), ("# questions", "60")),
    ],
)
def test_a_column_that_is_no_score_is_left_out(heading: str, cell: str, tmp_path: Path) -> None:
    table = read_table(scores_table(tmp_path / "t.csv", heading=heading, extra=cell))
    assert table.columns == PARTS
    said = " ".join(table.notes)
    assert tells(said, "door.omitted", n=1, subject="column", what="scores", names=repr(heading))


@pytest.mark.parametrize("heading", ["Time", "Speed", "Memory", "Samples", "N", "P", "Seed-2"])
def test_a_part_of_a_test_with_such_a_name_stays(heading: str, tmp_path: Path) -> None:
    table = read_table(scores_table(tmp_path / "t.csv", heading=heading, extra="60.5"))
    assert (table.columns, table.notes) == ((*PARTS, heading), ())


@pytest.mark.parametrize("cell", ["-99", "-1", "999", "812.3", "633", "-63.3"])
def test_a_cell_far_outside_its_column_is_asked_about(cell: str, tmp_path: Path) -> None:
    path = scores_table(tmp_path / "t.csv")
    path.write_text(path.read_text(encoding="utf-8").replace("63.2", cell), encoding="utf-8")
    with pytest.raises(hqm.DataError) as refusal:
        read_table(path)
    assert tells(str(refusal.value), "door.far-outside", cell=cell, column="Existence")


def test_scores_that_differ_much_or_are_correlations_stay(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("model,kappa,points\na,-.02,90\nb,.31,95\nc,.42,185\nd,.35,60\ne,.5,0\n")
    assert read_table(path).values[:, 1].tolist() == [90, 95, 185, 60, 0]


@pytest.mark.parametrize("heading", ["Category", "Hallucination type", "Model", ""])
def test_a_table_whose_columns_are_systems_is_refused(heading: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"{part},51.2,62.3,73.4,64.5,55.6,66.7" for part in PARTS]
    path.write_text("\n".join([",".join((heading, *SYSTEMS)), *rows]))
    with pytest.raises(hqm.DataError) as refusal:
        read_table(path)
    assert tells(str(refusal.value), "door.systems-beside", names=", ".join(SYSTEMS[:3]))


def test_headings_alike_but_for_case_are_refused(tmp_path: Path) -> None:
    with pytest.raises(hqm.HQMError) as refusal:
        read_table(scores_table(tmp_path / "t.csv", heading="EXISTENCE", extra="50.1"))
    said = str(refusal.value)
    assert tells(said, "door.look-alike", subject="columns", first="EXISTENCE", second="Existence")


@pytest.mark.parametrize(
    "name", ["[GPT-4o](http://a/b)", r"GPT-4o~\cite{gpt}", r"GPT-4o \citep[1]{a}"]
)
def test_links_and_citations_are_no_part_of_a_name(name: str, tmp_path: Path) -> None:
    path = tmp_path / "t"
    if name.startswith("["):
        path.write_text(f"| Model | A | B |\n|---|---|---|\n| {name} | 1.5 | 2 |\n| x | 3 | 4 |\n")
    else:
        path.write_text(rf"Model & A & B \\ {name} & 1.5 & 2 \\ x & 3 & 4 \\")
    assert read_table(path).respondents == ("GPT-4o", "x")
