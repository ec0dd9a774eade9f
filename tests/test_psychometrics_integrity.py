"""GRIM and the sums of a published table: the HQM paper's own, and tables with planted errors."""

import re
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hqm import psychometrics as psy

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

# HQM paper (arXiv 2406.17115), Table 5: hallucination rates of 21 models on 8 types of 500 items,
# and overall
TABLE_5 = """
.708 .502 .794 .882 .766 .752 .774 .802 .748
.602 .406 .802 .838 .700 .718 .738 .758 .695
.466 .304 .506 .648 .602 .626 .732 .468 .544
.216 .246 .310 .620 .560 .584 .652 .568 .470
.240 .244 .326 .494 .496 .580 .620 .432 .429
.180 .146 .352 .468 .504 .560 .612 .382 .401
.230 .174 .294 .490 .440 .426 .628 .388 .384
.226 .300 .326 .682 .578 .560 .640 .714 .503
.208 .212 .346 .264 .262 .358 .306 .508 .308
.212 .252 .390 .298 .306 .416 .406 .656 .367
.464 .446 .718 .540 .538 .642 .724 .822 .612
.424 .354 .550 .564 .542 .634 .742 .746 .570
.468 .442 .516 .582 .618 .668 .782 .726 .600
.328 .368 .464 .564 .388 .566 .750 .836 .533
.288 .324 .352 .544 .522 .528 .708 .666 .492
.446 .332 .520 .640 .530 .598 .630 .716 .552
.098 .192 .174 .128 .288 .312 .278 .446 .240
.420 .356 .502 .476 .624 .714 .724 .790 .576
.148 .212 .182 .238 .422 .446 .576 .504 .341
.166 .146 .238 .118 .236 .266 .240 .612 .253
.146 .084 .166 .062 .212 .258 .222 .244 .174
"""
RATES = [line.split() for line in TABLE_5.split("\n") if line]
MODELS = [f"model {i}" for i in range(21)]


def check(table: list[list[str]], **more: object) -> psy.TableCheck:
    return psy.check_table(MODELS, COLUMNS, table, n=[500] * 8 + [4000], **more)  # type: ignore[arg-type]


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
    assert psy.grim(printed, n).possible is not False
    other = data.draw(st.integers(0, 10**digits))
    verdict = psy.grim(f"{other / 10**digits:.{digits}f}", n)
    gap = min(abs(Fraction(j, n) - Fraction(other, 10**digits)) for j in range(n + 1))
    if verdict.possible is not None:
        assert verdict.possible == (gap <= Fraction(1, 2 * 10**digits))
    else:
        assert n >= 10**digits


def test_grim_as_published() -> None:
    """Brown and Heathers 2017: with 28 whole numbers a mean of 5.19 cannot be."""
    assert psy.grim("5.19", 28) == psy.Grim(False, (145, 146))
    assert psy.grim("5.18", 28).possible
    assert psy.grim("5.21", 28).possible


def test_scales_decimals_and_halves() -> None:
    assert psy.grim("33.3", 3, scale=100).possible
    assert psy.grim("33.4", 3, scale=100).possible is False
    # 1/8 = .125 may be printed .12 or .13
    assert psy.grim(".12", 8).possible
    assert psy.grim(".13", 8).possible
    assert psy.grim(0.5, 7, decimals=2).possible is False
    assert psy.grim(1, 3, decimals=0).possible is None


def test_what_cannot_be_tested_says_so() -> None:
    verdict = psy.grim("0.748", 4000)
    assert verdict.possible is None
    assert verdict.status == "not_informative"
    assert "4000" in verdict.reason
    assert psy.check_table([], [], []).status == "insufficient"
    alone = psy.check_table(["m"], ["a"], [["0.74"]])
    assert alone.status == "not_informative"
    assert alone.reason
    for wrong in (
        lambda: psy.grim("x", 3),
        lambda: psy.grim("nan", 3),
        lambda: psy.grim("1", 0),
        lambda: psy.grim("1", 1, scale=0),
        lambda: psy.check_table(["m"], ["a"], [["1", "2"]]),
        lambda: psy.check_table(["m"], ["a"], [["1"]], n=[1, 2]),
    ):
        with pytest.raises(ValueError, match="."):
            wrong()


def test_the_copied_table_is_the_papers() -> None:
    """Its own arithmetic: 21 rows of 9, each overall rate within rounding of the mean of eight."""
    assert [len(row) for row in RATES] == [9] * 21
    assert all(re.fullmatch(r"\.\d{3}", v) for row in RATES for v in row)
    assert all(abs(sum(map(float, row[:8])) / 8 - float(row[8])) <= 0.0005 + 1e-9 for row in RATES)
