"""What a comparison says: every claim against conditions that are written here once more, and what
must not be said.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hqm.reports.pages.compare_page import (
    beyond_chance,
    comparison_tables,
    p_value_cell,
    render,
    sections,
    strips,
)
from hqm.reports.pages.comparison_answers import (
    difference_in_words,
    largest_difference,
    measure_noun,
    measure_to_report,
    reversed_pairs,
    strongest_claim,
    unknown_answers,
)
from hqm.reports.tables.table import p_value

from hqm import Comparison, ErrorBudget, Estimate, Interval
from hqm.auditing.budget import BudgetRow
from hqm.comparison.measures import Agreement, Difference, Separation, WilliamsComparison
from hqm.psychometrics import Coefficient
from hqm.psychometrics.agreement.ranks import BenchmarkAgreement
from hqm.psychometrics.reliability.compare_reliability import ReliabilityDifference
from hqm.psychometrics.validity.correlation import DependentCorrelations
from tests.messages import tells, text_of
from tests.test_compare import measure

Ends = tuple[float, float]
NAN = math.nan
FORBIDDEN = re.compile(
    r"significan|\bprov(?:e|es|en|ed)\b|\bguarante|\bclearly\b|\bobviously\b|\bcertainly\b|\bperfect|\bexcellent\b|\btrustworthy\b"
    r"|\bbest (?:metric|benchmark|measure)\b|\bno difference\b|\bequally reliable\b|\bthe same"
    r" reliability\b",
    re.IGNORECASE,
)
"""Words that say more than a test does; and that nothing was shown is never said as a difference of
nothing.
"""
UNTESTED = ReliabilityDifference(NAN, NAN, NAN, status="insufficient", reason="too few of them")


def difference(
    fixed_ends: Ends | None,
    population_ends: Ends | None,
    p: Ends,
    *,
    first: str = "a",
    second: str = "b",
    indicator: str = "test_retest.rho_g",
    length: int | None = None,
) -> Difference:
    """A difference whose intervals and adjusted p-values are given; the coefficients lie in the
    middle of them.
    """
    middle = sum(fixed_ends or population_ends or (0.0, 0.0)) / 2
    intervals = [
        (
            replace(UNTESTED, first=0.8 + middle, second=0.8, difference=middle)
            if ends is None
            else ReliabilityDifference(0.8 + middle, 0.8, middle, *ends, p=0.5, n=10)
        )
        for ends in (fixed_ends, population_ends)
    ]
    return Difference(indicator, first, second, length, intervals[0], intervals[1], *p)


def comparison(
    differences: Sequence[Difference], labels: Sequence[str] = ("a", "b"), **fields: object
) -> Comparison:
    """A comparison of ten respondents that holds these differences."""
    rng = np.random.default_rng(3)
    measures = tuple(
        measure(label, rng.random(10), items=400 if label == "a" else 40) for label in labels
    )
    by = {
        d.indicator: {label: Coefficient(0.9, 0.8, 0.95, 10) for label in labels}
        for d in differences
    }
    names = tuple(f"m{i}" for i in range(10))
    arguments: dict[str, object] = {
        "measures": measures,
        "respondents": names,
        "families": {n: n for n in names},
        "n_effective": None,
        "length": 40,
        "indicators": by,
        "differences": tuple(differences),
        "agreements": (),
        "closer": (),
        "types": None,
        "distinct": {},
        "separations": (),
        "ranks": {},
        "protocol": ("A 1: 400 items", "B 1: 40 items"),
        **fields,
    }
    return Comparison(**arguments)  # type: ignore[arg-type]


def first_screen(compared: Comparison) -> str:
    largest, advice = largest_difference(compared), measure_to_report(compared)
    full = "" if largest is None else difference_in_words(largest, compared)
    advice_text = f"{advice.question} {advice.verdict}. {' '.join(advice.sentences)}"
    return " ".join([strongest_claim(compared), full, advice_text, *unknown_answers(compared)])


HIGHER, LOWER, WIDE = (0.02, 0.2), (-0.2, -0.02), (-0.05, 0.2)
CASES = {
    "both populations": (
        [difference(HIGHER, HIGHER, (0.01, 0.02))],
        (
            (
                r"With another seed, b repeats less well than a: rho_G 0\.800 against 0\.910, for"
                r" these 10 respondents and for other models like them\."
            ),
            "With another seed, a is higher than b for these respondents and for other models like them",
            (
                r"rho_G 0\.910 and 0\.800: difference 0\.110, 95% interval \[0\.020, 0\.200\] for"
                r" these 10 on other items, \[0\.020, 0\.200\] for others"
            ),
            r"Which \w+ to report\? a\.",
        ),
        ("not shown", "These tests do not decide"),
    ),
    "these alone": (
        [difference(HIGHER, WIDE, (0.01, 0.3))],
        (
            r"b repeats less well than a: .* for these 10 respondents\.",
            "a is higher than b for these respondents; for others like them that is not shown",
        ),
        ("for these respondents and for other models like them",),
    ),
    "the second is higher": (
        [difference(LOWER, LOWER, (0.01, 0.01))],
        ("a repeats less well than b", "b is higher than a", r"to report\? b\."),
        ("a is higher", "b repeats less"),
    ),
    "an interval that holds 0 shows nothing, whatever the p-value": (
        [difference(WIDE, WIDE, (0.01, 0.01))],
        (
            "No measure is shown to repeat better",
            "do not decide",
        ),
        ("is higher than", "repeats less well"),
    ),
    "a p-value that the adjustment lifts shows nothing, whatever the interval": (
        [difference(HIGHER, HIGHER, (0.08, 0.09))],
        ("No measure is shown to repeat", "do not decide"),
        ("is higher than",),
    ),
    "no test": (
        [difference(None, None, (NAN, NAN))],
        (
            "do not decide",
            r"tests? could not be made: too few of them",
        ),
        ("is higher than",),
    ),
    "others alone tested": (
        [difference(None, HIGHER, (NAN, 0.01))],
        (
            r"b repeats less well than a: .* for other respondents\.",
            "a is higher than b for other respondents; for these it was not tested",
        ),
        ("for these respondents;",),
    ),
    "nothing asked twice": (
        [],
        ("do not decide", "Not measured with another seed: none of them"),
        ("is higher than",),
    ),
    "an advantage of length": (
        [difference(HIGHER, HIGHER, (0.01, 0.01)), difference(WIDE, WIDE, (0.4, 0.5), length=40)],
        (
            (
                "At 40 items each it is not shown to have a higher reliability than b: the"
                " advantage may be that of its 400 items"
            ),
            r"and for other models like them\. At 40 items each that is not shown\.",
        ),
        ("the order is reversed",),
    ),
    "an advantage of length alone": (
        [
            difference(HIGHER, HIGHER, (0.01, 0.01)),
            difference(LOWER, LOWER, (0.01, 0.01), length=40),
        ],
        (
            (
                "At 40 items each b is shown to have a higher reliability than a: the advantage is"
                " that of its 400 items"
            ),
            r"and for other models like them\. At 40 items each the order is reversed\.",
        ),
        ("not shown to have",),
    ),
    "better at the same length too": (
        [
            difference(HIGHER, HIGHER, (0.01, 0.01)),
            difference(HIGHER, HIGHER, (0.01, 0.01), length=40),
        ],
        (r"to report\? a\.",),
        ("the advantage may be", "At 40 items each that is"),
    ),
    "the shorter one is better: no excuse of length": (
        [difference(LOWER, LOWER, (0.01, 0.01)), difference(WIDE, WIDE, (0.4, 0.5), length=40)],
        (r"to report\? b\.",),
        ("the advantage may be",),
    ),
    "wording speaks against the seed": (
        [
            difference(HIGHER, HIGHER, (0.01, 0.01)),
            difference(LOWER, WIDE, (0.01, 0.5), indicator="parallel_forms.icc_a1"),
        ],
        (
            "a and b, side by side",
            "b withstands another wording better",
            "Which error matters depends on the use",
        ),
        ("no test shows", "Agreement with people weighs"),
    ),
    "people speak against the seed": (
        [
            difference(HIGHER, HIGHER, (0.01, 0.01)),
            difference(LOWER, LOWER, (0.01, 0.01), indicator="criterion.pearson"),
        ],
        (
            "a and b, side by side",
            "b agrees more with people's labels",
            "Agreement with people weighs more",
        ),
        ("no people judged these answers",),
    ),
    "people speak for it": (
        [
            difference(HIGHER, HIGHER, (0.01, 0.01)),
            difference(HIGHER, HIGHER, (0.01, 0.01), indicator="criterion.pearson"),
        ],
        (r"to report\? a\.", "With another seed, b repeats less well than a"),
        ("side by side", "no people judged"),
    ),
    "nothing is shown with another seed, and much in other words": (
        [
            difference(WIDE, WIDE, (0.4, 0.5)),
            difference(LOWER, WIDE, (0.01, 0.5), indicator="parallel_forms.icc_a1"),
        ],
        (
            "With another wording, a repeats less well than b",
            "With another wording, b is higher than a",
            "do not decide",
        ),
        (),
    ),
    "the order and the level speak for one each": (
        [
            difference((0.1, 0.2), WIDE, (0.01, 0.5), indicator="parallel_forms.pearson"),
            difference(LOWER, WIDE, (0.01, 0.5), indicator="parallel_forms.icc_a1"),
        ],
        (
            r"b repeats less well than a: r 0\.800 against 0\.950, for these 10 respondents\.",
            r"By ICC\(A,1\) the order is reversed: 0\.800 against 0\.690\.",
        ),
        (),
    ),
    "the order speaks against it where the scores do not": (
        [
            difference(WIDE, WIDE, (0.4, 0.5), indicator="parallel_forms.icc_a1"),
            difference(LOWER, LOWER, (0.01, 0.01), indicator="parallel_forms.pearson"),
            difference(HIGHER, HIGHER, (0.01, 0.01)),
        ],
        ("a and b, side by side", "b withstands another wording better"),
        ("no test shows",),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_first_screen_says_what_the_tests_show(name: str) -> None:
    differences, present, absent = CASES[name]
    text = first_screen(comparison(differences))
    for pattern in present:
        assert re.search(pattern, text), f"{pattern!r} is not in: {text}"
    for pattern in absent:
        assert not re.search(pattern, text), f"{pattern!r} is in: {text}"
    assert not FORBIDDEN.search(text)
    assert "{" not in text
    assert "nan" not in text


def test_of_three_one_must_beat_every_other() -> None:
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    differences = [difference(HIGHER, HIGHER, (0.01, 0.01), first=x, second=y) for x, y in pairs]
    labels = ("a", "b", "c")
    assert measure_to_report(comparison(differences, labels)).verdict == "a"
    differences[1] = difference(WIDE, WIDE, (0.3, 0.3), first="a", second="c")
    undecided = comparison(differences, labels)
    assert measure_to_report(undecided).verdict == text_of("compare.undecided")
    assert tells(strongest_claim(undecided), "compare.less-well", less="b", more="a")


def test_random_tests_lead_to_no_claim_that_they_do_not_make() -> None:
    """What may be said is worked out here from the ends of the intervals and the p-values alone."""
    rng = np.random.default_rng(11)
    for _ in range(300):
        ends = [
            tuple(sorted(rng.normal(0.03, 0.08, 2).tolist())) if rng.random() < 0.85 else None
            for _ in range(2)
        ]
        p = [NAN if e is None else float(rng.choice([0.001, 0.03, 0.07, 0.6])) for e in ends]
        d = difference(ends[0], ends[1], (p[0], p[1]))  # type: ignore[arg-type]
        sentence = difference_in_words(d, comparison([d]))
        beyond = [
            e is not None and q < 0.05 and (e[0] > 0 or e[1] < 0)
            for e, q in zip(ends, p, strict=True)
        ]
        ahead = [
            ("a" if e is not None and e[0] > 0 else "b") if b else ""
            for e, b in zip(ends, beyond, strict=True)
        ]
        claims = re.findall(r"\b([ab]) is higher than", sentence)
        if not any(beyond):
            assert not claims, sentence
        elif all(beyond) and ahead[0] != ahead[1]:
            assert tells(sentence, "compare.opposite", these=ahead[0], others=ahead[1])
        else:
            assert claims == [next(filter(None, ahead))], sentence
        assert tells(sentence, "compare.whom") == (all(beyond) and ahead[0] == ahead[1])
        assert sentence.count("[") == sum(e is not None for e in ends), (
            "every interval that there is, and none besides"
        )
        verdict = measure_to_report(comparison([d])).verdict
        assert verdict == (ahead[0] or "These tests do not decide"), (
            "what to report follows these respondents"
        )


def test_what_is_compared_has_its_name() -> None:
    compared = comparison([])
    same_benchmark = [
        replace(m, benchmark="x", words={"metric": "f1", "parser": p})
        for m, p in zip(compared.measures, "pq", strict=True)
    ]
    assert measure_noun(replace(compared, measures=tuple(same_benchmark))) == "parser"
    assert measure_noun(compared) == "benchmark"
    mixed = [
        replace(m, benchmark="x", words={"metric": p, "parser": p})
        for m, p in zip(compared.measures, "pq", strict=True)
    ]
    assert measure_noun(replace(compared, measures=tuple(mixed))) == "measure"


def separation(opposed: int, only_first: int, only_second: int, n_agreeing: int) -> Separation:
    names = [(f"m{i}", f"m{i + 1}") for i in range(9)]
    return Separation(
        "a",
        "b",
        45,
        n_agreeing,
        tuple(names[:opposed]),
        tuple(names[:only_first]),
        tuple(names[:only_second]),
        45 - n_agreeing - only_first - only_second,
    )


def test_order_and_separation() -> None:
    subsets = BenchmarkAgreement()
    r = Coefficient(0.7, 0.3, 0.9, 10)
    agreement = Agreement("a", "b", r, r, r, subsets, NAN, 10)
    alike = comparison([], separations=(separation(0, 5, 1, 20),), agreements=(agreement,))
    table = next(table for table in comparison_tables(alike) if table.name == "agreement")
    (row,) = table.rows
    assert [entry.value for entry in row[2:]] == [0.7, 0.7, None, 20, 0, 5, 1]
    assert tells(reversed_pairs(alike), "compare.same-order")
    twice = (separation(2, 3, 3, 20), separation(2, 3, 3, 20))
    against = comparison([], separations=twice, agreements=(agreement,))
    assert tells(
        reversed_pairs(against),
        "compare.reversed-pair",
        pairs="2 pairs",
        stand="stand",
        better="m0",
        worse="m1",
        first="a",
        second="b",
    )


def with_budgets(compared: Comparison) -> Comparison:
    """The same measures, with bands of 3.1 and 27.5 points for the wording."""
    halves = (0.031, 0.275)
    measures = tuple(
        replace(
            m,
            budget=ErrorBudget(
                metric=m.metric,
                rows=(
                    BudgetRow(source="wording", status="ok", half=half, shift=-half / 2),
                    BudgetRow(source="seed"),
                ),
            ),
        )
        for m, half in zip(compared.measures, halves, strict=True)
    )
    return replace(compared, measures=measures)


def test_the_page_begins_with_the_finding_and_its_picture() -> None:
    compared = comparison(
        [
            difference(HIGHER, WIDE, (0.01, 0.3)),
            difference(WIDE, WIDE, (0.3, 0.3), indicator="parallel_forms.icc_a1"),
        ]
    )
    page = render(with_budgets(compared))
    assert (
        page.index(text_of("compare.less-well", less="b", more="a"))
        < page.index("<svg")
        < page.index(text_of("compare.higher", first="a", second="b"))
        < page.index("<table")
    )
    for table in comparison_tables(compared):
        assert len(table.caption) <= 125, "a caption is short; the protocol stands in a note"
    assert sections(compared)[0].title == text_of("compare.pairs-tested")
    assert "1 of 2 tests shows a difference" in sections(compared)[0].remarks[0]
    assert not FORBIDDEN.search(re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL))


@pytest.mark.parametrize(
    ("gap", "p", "nearer"), [(0.3, 0.01, "a"), (-0.3, 0.01, "b"), (0.3, 0.06, "")]
)
def test_the_nearer_measure_is_named_whichever_stands_first(
    gap: float, p: float, nearer: str
) -> None:
    tested = DependentCorrelations(gap, 3.0, 7.0, p, 10)
    compared = comparison([], closer=(WilliamsComparison("c", "a", "b", tested, p),))
    farther = "ab".replace(nearer, "") if nearer else ""
    said = text_of("compare.correlates-more", criterion="c", nearer=nearer, farther=farther)
    assert beyond_chance(compared) == ((said,) if nearer else ())


def test_all_panels_have_one_scale() -> None:
    """Bars of 3.1 and 27.5 points, wherever they stand, are as long as their numbers say."""
    compared = with_budgets(comparison([]))
    page = render(compared)
    assert tells(page, "compare.largest-error", source="another wording", measure="b", by=27.5)
    svg = page[page.index("<svg") : page.index("</svg>")]
    lengths = [float(x) for x in re.findall(r'h([\d.]+)v10h[^"]*" fill="var\(--bar\)"', svg)]
    assert lengths[1] / lengths[0] == pytest.approx(27.5 / 3.1, rel=0.01)
    assert "±27.5, mean −13.8" in svg
    assert [*strips(compared)] == ["a", "b"], "a narrow page has a strip for each measure"
    assert page.count("<p><b>a</b></p><svg") == page.count("<p><b>b</b></p><svg") == 1


def test_a_coefficient_is_drawn_with_its_interval_and_for_whom() -> None:
    spans = (Interval(0.8, 0.95, "fixed_models", ""),)
    coefficient = Estimate("test_retest.rho_g", "accuracy", "", "", "", 0.9, intervals=spans)
    compared = comparison([])
    first, second = compared.measures
    page = render(replace(compared, measures=(replace(first, estimates=(coefficient,)), second)))
    svg = page[page.index("<svg") : page.index("</svg>")]
    assert ".900 [.800, .950]<" in svg, "these models on new items, as the page and the gate"
    assert svg.count("not measured") == 2, "beside its strip, and in the description"
    table = page[page.index("<table") :]
    assert "<small>[0.800, 0.950]</small>" in table
    other = replace(coefficient, intervals=(Interval(0.8, 0.95, "model_population", ""),))
    page = render(replace(compared, measures=(replace(first, estimates=(other,)), second)))
    assert ".900 [.800, .950]*" in page
    assert "<small>[0.800, 0.950]*</small>" in page


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.00099, "below 0.001"), (0.001, "0.001"), (0.999, "0.999"), (0.9991, "above 0.999")],
)
def test_a_p_value_has_a_bound_where_its_digits_would_say_0_or_1(p: float, text: str) -> None:
    assert p_value(p) == text
    in_cell = text.replace("below", "<") if p < 0.5 else f"{p:.3f}"
    assert p_value_cell(p).text == in_cell
