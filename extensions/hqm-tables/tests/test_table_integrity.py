"""GRIM and the sums of a published table: the HQM paper's own, and tables with planted errors."""

import re
from fractions import Fraction

import pytest
from hqm_tables.table_integrity import (
    Grim,
    Span,
    TableCheck,
    accuracy_from,
    accuracy_from_yes,
    base_from_accuracy,
    check_table,
    common_base,
    f1_from,
    grim,
    rounding_interval,
    yes_rate_from,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.printed import printed_rows

COLUMNS = [
    "attribute",
    "action",
    "counting",
    "environment",
    "comparison",
    "relation",
    "ocr",
    "existence",
    "overall",
]

# hallucination rates of 21 models on 8 types of 500 items, and overall
RATES = [[f"{rate:.3f}" for rate in row] for row in printed_rows("HQM", "Table 5")]
MODELS = [f"model {i}" for i in range(21)]


def check(table: list[list[str]], **options: object) -> TableCheck:
    return check_table(MODELS, COLUMNS, table, n=[500] * 8 + [4000], **options)  # type: ignore[arg-type]


def test_table_5_holds() -> None:
    """0 of 168 rates leave the steps of .002."""
    checked = check(RATES)
    assert checked.violations == ()
    assert checked.grim_checked == 168
    assert all(
        float(v) * 500 % 1 == pytest.approx(0, abs=1e-6) or float(v) * 500 % 1 > 0.999
        for r in RATES
        for v in r[:8]
    )


def test_a_typing_error_is_found_and_placed() -> None:
    table = [row.copy() for row in RATES]
    table[3][2] = ".311"
    checked = check(table)
    assert [(v.kind, v.row, v.column) for v in checked.violations] == [
        ("GRIM", "model 3", "counting")
    ]
    assert checked.violations[0].reason == "lies between 155/500 and 156/500"
    table[3] = table[4]
    assert ("DUPLICATE_ROW", "model 3 = model 4") in [
        (v.kind, v.row) for v in check(table).violations
    ]
    table[0][0] = "1.708"
    assert "OUT_OF_BOUNDS" in [v.kind for v in check(table).violations]


def test_equal_columns() -> None:
    table = [[*row[:8], row[8]] for row in RATES]
    for row in table:
        row[1] = row[0]
    assert ("DUPLICATE_COLUMN", "attribute = action") in [
        (v.kind, v.column) for v in check(table).violations
    ]


@given(st.integers(1, 400), st.data())
@settings(deadline=None, max_examples=200)
def test_grim_passes_every_true_mean_and_is_exact(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n))
    digits = data.draw(st.integers(1, 4))
    printed = f"{k / n:.{digits}f}"
    assert grim(printed, n).possible is not False
    numerator = data.draw(st.integers(0, 10**digits))
    verdict = grim(f"{numerator / 10**digits:.{digits}f}", n)
    gap = min(abs(Fraction(j, n) - Fraction(numerator, 10**digits)) for j in range(n + 1))
    if verdict.possible is not None:
        assert verdict.possible == (gap <= Fraction(1, 2 * 10**digits))
    else:
        assert n >= 10**digits


def test_grim_as_published() -> None:
    """Brown and Heathers 2017: with 28 whole numbers a mean of 5.19 cannot be."""
    assert grim("5.19", 28) == Grim(False, (145, 146))
    assert grim("5.18", 28).possible
    assert grim("5.21", 28).possible


def test_scales_decimals_and_halves() -> None:
    assert grim("33.3", 3, scale=100).possible
    assert grim("33.4", 3, scale=100).possible is False
    # 1/8 = .125 may be printed .12 or .13
    assert grim(".12", 8).possible
    assert grim(".13", 8).possible
    assert grim(0.5, 7, decimals=2).possible is False
    assert grim(1, 3, decimals=0).possible is None


def test_what_cannot_be_tested_says_so() -> None:
    verdict = grim("0.748", 4000)
    assert verdict.possible is None
    assert verdict.status == "not_informative"
    assert "4000" in verdict.reason
    assert check_table([], [], []).status == "insufficient"
    single_cell = check_table(["m"], ["a"], [["0.74"]])
    assert single_cell.status == "not_informative"
    assert single_cell.reason
    for wrong in (
        lambda: grim("x", 3),
        lambda: grim("nan", 3),
        lambda: grim("1", 0),
        lambda: grim("1", 1, scale=0),
        lambda: check_table(["m"], ["a"], [["1", "2"]]),
        lambda: check_table(["m"], ["a"], [["1"]], n=[1, 2]),
    ):
        with pytest.raises(ValueError, match="."):
            wrong()


def test_the_copied_table_is_the_papers() -> None:
    """Its own arithmetic: 21 rows of 9, each overall rate within rounding of the mean of eight."""
    assert [len(row) for row in RATES] == [9] * 21
    assert all(re.fullmatch(r"0\.\d{3}", v) for row in RATES for v in row)
    assert all(abs(sum(map(float, row[:8])) / 8 - float(row[8])) <= 0.0005 + 1e-9 for row in RATES)


@pytest.mark.parametrize(
    ("mean", "n", "scale", "possible", "nearest"),
    [
        (".125", 8, 1, True, (1, 1)),
        # 3 / 8 = .375 is half a unit from .37 and from .38
        (".37", 8, 1, True, (2, 3)),
        (".38", 8, 1, True, (3, 4)),
        (".36", 8, 1, False, (2, 3)),
        (".39", 8, 1, False, (3, 4)),
        ("37.5", 8, 100, True, (3, 3)),
        ("37.6", 8, 100, False, (3, 4)),
        ("-1.5", 2, 1, True, (-3, -3)),
        ("12", 7, 100, False, (0, 1)),
        ("14", 7, 100, True, (0, 1)),
    ],
)
def test_a_mean_lies_within_half_a_unit_of_a_sum(
    mean: str, n: int, scale: int, possible: bool, nearest: tuple[int, int]
) -> None:
    assert grim(mean, n, scale=scale) == Grim(possible, nearest)


def test_steps_as_wide_as_the_printed_unit_tell_nothing() -> None:
    assert grim("0.50", 99).possible is False
    silent = grim("0.50", 100)
    assert (silent.possible, silent.nearest, silent.status) == (None, (50, 50), "not_informative")
    assert "n = 100 and 2 decimals" in silent.reason
    assert grim("0.5", 100, decimals=3).possible
    assert grim("0.503", 100).possible is False
    assert "3 decimals" in grim("0.503", 1000).reason
    # 1e2 has no digits after the point
    assert "0 decimals" in grim("1e2", 1).reason
    for number in ("inf", "-inf", "nan", "", None):
        with pytest.raises(ValueError, match="is not a number"):
            grim(number, 3)  # type: ignore[arg-type]
    for scale in (0, -1):
        with pytest.raises(ValueError, match="scale is positive"):
            grim("1", 1, scale=scale)
    with pytest.raises(ValueError, match="got 0"):
        grim("1", 0)
    assert grim("1", 1, scale="0.5").possible is None


def test_a_number_leaves_the_scale_beyond_its_ends() -> None:
    for scale, bounds, values, invalid_values in (
        (1, None, ["0", "1", "-0.1", "1.1"], ["-0.1", "1.1"]),
        (100, None, ["0", "100", "-1", "101"], ["-1", "101"]),
        (1, (-1, "0.5"), ["-1", "0.5", "-1.1", "0.6"], ["-1.1", "0.6"]),
    ):
        checked = check_table(["m"], list("abcd"), [values], scale=scale, bounds=bounds)
        assert [(v.kind, v.printed) for v in checked.violations] == [
            ("OUT_OF_BOUNDS", value) for value in invalid_values
        ]
        assert checked.violations[0].column == "c"
        assert checked.violations[0].row == "m"
        assert checked.status == "ok"
    assert checked.violations[1].reason == "outside -1 to 0.5"


def test_rows_and_columns_are_equal_from_three_numbers_that_vary() -> None:
    def kinds(table: list[list[str]]) -> list[tuple[str, str, str, str]]:
        rows, columns = "mno"[: len(table)], "abcd"[: len(table[0])]
        checked = check_table(list(rows), list(columns), table)
        return [(v.kind, v.row, v.column, v.printed) for v in checked.violations]

    assert kinds([["0.1", "0.2"], ["0.1", "0.2"]]) == []
    assert kinds([["0.1"] * 3, ["0.1"] * 3]) == []
    assert kinds([["0.1", "0.1", "0.2"], ["0.1", "0.1", "0.3"]]) == []
    cells = ["0.1", "0.1", "0.2"]
    assert kinds([cells, cells, ["0.4", "0.5", "0.1"]]) == [
        ("DUPLICATE_ROW", "m = n", "", "0.1, 0.1, 0.2")
    ]
    assert kinds([["0.1", "0.10", "0.3"], ["0.1", "0.1", "0.4"], ["0.2", "0.2", "0.5"]]) == [
        ("DUPLICATE_COLUMN", "", "a = b", "0.1, 0.1, 0.2")
    ]
    thrice = check_table(list("mno"), list("abc"), [["0.1", "0.2", "0.3"]] * 3)
    assert [v.row for v in thrice.violations] == ["m = n", "m = o", "n = o"]


def test_a_table_counts_what_could_have_been_refuted() -> None:
    rows = [["0.25", "0.125"], ["0.5", "0.126"]]
    checked = check_table(["m", "n"], ["a", "b"], rows, n=[4, 8])
    assert [(v.row, v.column, v.printed) for v in checked.violations] == [("n", "b", "0.126")]
    assert (checked.grim_checked, checked.decimals, checked.status) == (4, 3, "ok")
    assert check_table(["m", "n"], ["a", "b"], rows, n=8, decimals=2).decimals == 2
    mixed = check_table(["m", "n"], ["a", "b"], rows, n=[4, 2000])
    assert (mixed.grim_checked, mixed.violations) == (2, ())
    assert check_table(["m"], ["a"], [["0.5"]]).decimals == 1
    # two rows, or two columns, could have been equal
    assert check_table(["m", "n"], ["a"], [["0.5"], ["0.6"]]).status == "ok"
    assert check_table(["m"], ["a", "b"], [["0.5", "0.6"]]).status == "ok"
    assert check_table(["m"], ["a"], [["0.50"]], n=4).status == "ok"
    single_cell = check_table(["m"], ["a"], [["1.5"]])
    assert (single_cell.status, len(single_cell.violations)) == ("ok", 1)
    for empty in (check_table([], ["a"], []), check_table(["m"], [], [[]])):
        assert (empty.status, empty.violations) == ("insufficient", ())
        assert (empty.grim_checked, empty.decimals) == (0, 0)
    dull = check_table(["m"], ["a"], [["0.5"]])
    assert (dull.status, dull.violations, dull.grim_checked) == ("not_informative", (), 0)


def test_a_printed_share_stands_for_half_a_unit_to_both_sides() -> None:
    for value, decimals, scale, ends in (
        (0.73, 2, 1.0, (0.725, 0.735)),
        (73.0, 0, 100.0, (0.725, 0.735)),
        (0.002, 2, 1.0, (0.0, 0.007)),
        (0.998, 2, 1.0, (0.993, 1.0)),
    ):
        span = rounding_interval(value, decimals, scale)
        assert (span.low, span.high) == pytest.approx(ends)
    assert rounding_interval(0.73, 2) == rounding_interval(0.73, 2, 1.0)


def test_spans_have_a_number_in_common_where_they_touch() -> None:
    middle = Span(0.4, 0.6)
    for low, high, common in (
        (0.5, 0.5, True),
        (0.6, 0.7, True),
        (0.3, 0.4, True),
        (0.61, 0.7, False),
        (0.3, 0.39, False),
        (0.0, 1.0, True),
    ):
        assert middle.holds(Span(low, high)) == common
        assert Span(low, high).holds(middle) == common
    close_span = Span(0.6 + 1e-8, 0.7)
    assert not middle.holds(close_span)
    assert not close_span.holds(middle)
    assert middle.holds(close_span, 1e-7)
    assert close_span.holds(middle, 1e-7)
    assert middle.holds(Span(0.6 + 5e-10, 0.7))


def rates(hits: int, misses: int, alarms: int, rejections: int) -> dict[str, Span]:
    """What the four counts of a table of yes and no give, each by its definition."""
    total = hits + misses + alarms + rejections
    values = {
        "precision": hits / (hits + alarms),
        "recall": hits / (hits + misses),
        "base": (hits + misses) / total,
        "yes": (hits + alarms) / total,
        "accuracy": (hits + rejections) / total,
        "f1": 2 * hits / (2 * hits + misses + alarms),
    }
    return {name: Span(value, value) for name, value in values.items()}


@pytest.mark.parametrize("counts", [(20, 5, 10, 15), (30, 9, 1, 3), (2, 17, 5, 40)])
def test_one_rate_follows_from_the_others(counts: tuple[int, int, int, int]) -> None:
    r = rates(*counts)
    for result, name in (
        (f1_from(r["precision"], r["recall"]), "f1"),
        (yes_rate_from(r["precision"], r["recall"], r["base"]), "yes"),
        (accuracy_from(r["precision"], r["recall"], r["base"]), "accuracy"),
        (base_from_accuracy(r["accuracy"], r["precision"], r["recall"]), "base"),
        (accuracy_from_yes(r["precision"], r["recall"], r["yes"]), "accuracy"),
    ):
        assert result is not None
        assert (result.low, result.high) == pytest.approx((r[name].low, r[name].high))


def test_the_span_of_a_rate_holds_all_that_its_parts_allow() -> None:
    """Every pair of ends, by loops; nothing where a pair of ends gives no rate."""
    p, r, b = Span(0.5, 0.6), Span(0.7, 0.9), Span(0.4, 0.45)
    ends = [(x, y, z) for x in (0.5, 0.6) for y in (0.7, 0.9) for z in (0.4, 0.45)]
    for result, values in (
        (f1_from(p, r), [2 * x * y / (x + y) for x, y, _ in ends]),
        (yes_rate_from(p, r, b), [z * y / x for x, y, z in ends]),
        (accuracy_from(p, r, b), [1 - z * (1 + y / x - 2 * y) for x, y, z in ends]),
        (accuracy_from_yes(p, r, b), [1 - z * (1 + x / y - 2 * x) for x, y, z in ends]),
        (base_from_accuracy(b, p, r), [(1 - z) / (1 + y / x - 2 * y) for x, y, z in ends]),
    ):
        assert result is not None
        assert (result.low, result.high) == pytest.approx((min(values), max(values)))
    zero_span = Span(0.0, 0.5)
    assert f1_from(zero_span, zero_span) is None
    assert f1_from(zero_span, r) is not None
    assert yes_rate_from(zero_span, r, b) is None
    assert accuracy_from(zero_span, r, b) is None
    assert accuracy_from_yes(p, zero_span, b) is None
    assert base_from_accuracy(b, zero_span, r) is None
    # right and wrong answers weigh alike: precision 1 / 2 and recall 1 tell no base rate
    full_span = Span(1.0, 1.0)
    assert base_from_accuracy(b, full_span, full_span) is None


def test_rows_share_a_base_rate_where_three_and_most_of_them_do() -> None:
    a, b, c = Span(0.4, 0.5), Span(0.45, 0.6), Span(0.5, 0.7)
    low_span, high_span = Span(0.1, 0.2), Span(0.8, 0.9)
    assert common_base([a, b, c]) == (Span(0.5, 0.5), (0, 1, 2))
    assert common_base([a, b]) is None
    assert common_base([low_span, a, b, high_span, c]) == (Span(0.5, 0.5), (1, 2, 4))
    assert common_base([low_span, a, b, high_span, c, Span(0.95, 1.0)]) is None
    assert common_base([a, b, Span(0.51, 0.7)]) is None
    # two ends that rounding has moved apart by less than a billionth still meet
    common = common_base([Span(0.4, 0.5), Span(0.45, 0.6), Span(0.5 + 5e-10, 0.7)])
    assert common == (Span(0.5, 0.5 + 5e-10), (0, 1, 2))
    assert common_base([Span(0.4, 0.5), Span(0.45, 0.6), Span(0.5 + 5e-9, 0.7)]) is None
    assert common_base([]) is None


@pytest.mark.parametrize(
    ("values", "n"),
    [
        ([["0.5"], ["0.5"], ["0.5"]], None),
        ([["0.5"]], None),
        ([["0.5"], ["0.5", "0.5"]], None),
        ([["0.5"], []], None),
        ([["0.5"], ["0.5"]], [10, 20]),
    ],
)
def test_a_table_of_another_shape_is_refused(values: list[list[str]], n: list[int] | None) -> None:
    with pytest.raises(ValueError, match="table of 2 x 1" if n is None else "1 columns have 2"):
        check_table(["a", "b"], ["x"], values, n=n)


def test_numbers_of_items_of_another_length_are_refused() -> None:
    for sizes in ([500], [500, 500, 500]):
        with pytest.raises(ValueError, match="2 columns have"):
            check_table(["m"], ["a", "b"], [["0.748", "0.501"]], n=sizes)


def test_without_a_number_of_items_nothing_is_refuted() -> None:
    table_check = check_table(["m"], ["a"], [["0.748"]])
    assert (table_check.status, table_check.grim_checked) == ("not_informative", 0)
    zero, half = Span(0.0, 0.0), Span(0.5, 0.5)
    assert accuracy_from(zero, half, half) is None
