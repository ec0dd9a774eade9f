"""What a comparison says: every claim against conditions that are written here once more, and what
must not be said.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hqm.reports.compare_page import comparison_tables, parts, printed_tables, render, shows
from hqm.reports.comparison_answers import Answer, answers, compared, difference_in_words

from hqm import Comparison, Difference
from hqm.comparison.measures import Agreement, Separation
from hqm.psychometrics import BenchmarkAgreement, Coefficient, ReliabilityDifference
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
    these: Ends | None,
    others: Ends | None,
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
    middle = sum(these or others or (0.0, 0.0)) / 2
    made = [
        (
            replace(UNTESTED, first=0.8 + middle, second=0.8, difference=middle)
            if ends is None
            else ReliabilityDifference(0.8 + middle, 0.8, middle, *ends, p=0.5, n=10)
        )
        for ends in (these, others)
    ]
    return Difference(indicator, first, second, length, made[0], made[1], *p)


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
    given: dict[str, object] = {
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
        "growth": (),
        "protocol": ("A 1: 400 items", "B 1: 40 items"),
        **fields,
    }
    return Comparison(**given)  # type: ignore[arg-type]


def said(made: Comparison) -> dict[str, Answer]:
    return {
        answer.question.split(" ", 1)[0] + " " + answer.question.rsplit(" ", 1)[1]: answer
        for answer in answers(made)
    }


def first_screen(made: Comparison) -> str:
    return " ".join(f"{a.question} {a.verdict}. {' '.join(a.sentences)}" for a in answers(made))


HIGHER, LOWER, WIDE = (0.02, 0.2), (-0.2, -0.02), (-0.05, 0.2)
CASES = {
    "both populations": (
        [difference(HIGHER, HIGHER, (0.01, 0.02))],
        (
            "a, for these respondents and for others like them",
            "With another seed, a is higher than b for these respondents and for others like them",
            (
                r"rho_G 0\.910 and 0\.800, difference 0\.110; 95% interval \[0\.020, 0\.200\] for"
                r" these 10 on other pictures, \[0\.020, 0\.200\] for others"
            ),
            r"Which \w+ to report\? a\.",
        ),
        ("not shown", "These tests do not decide"),
    ),
    "these alone": (
        [difference(HIGHER, WIDE, (0.01, 0.3))],
        (
            "a, for these respondents; for others it is not shown",
            "a is higher than b for these respondents; for others like them that is not shown",
        ),
        ("for these respondents and for others like them",),
    ),
    "the second is higher": (
        [difference(LOWER, LOWER, (0.01, 0.01))],
        ("b, for these respondents and", "b is higher than a", r"to report\? b\."),
        ("a is higher", "a, for these"),
    ),
    "an interval that holds 0 shows nothing, whatever the p-value": (
        [difference(WIDE, WIDE, (0.01, 0.01))],
        (
            "Not shown with another seed",
            "it is not shown which of a and b is higher",
            "do not decide",
        ),
        ("is higher than",),
    ),
    "a p-value that the adjustment lifts shows nothing, whatever the interval": (
        [difference(HIGHER, HIGHER, (0.08, 0.09))],
        ("Not shown with another seed", "do not decide"),
        ("is higher than",),
    ),
    "no test": (
        [difference(None, None, (NAN, NAN))],
        (
            "Not tested",
            "were not tested against each other",
            "no interval",
            r"tests? could not be made: too few of them",
        ),
        ("is higher than", "Not shown with"),
    ),
    "others alone tested": (
        [difference(None, HIGHER, (NAN, 0.01))],
        (
            "a, for other respondents",
            "a is higher than b for other respondents; for these it was not tested",
        ),
        ("for these respondents;",),
    ),
    "nothing asked twice": (
        [],
        ("Not tested with another seed", "Not measured with another seed: none of them"),
        ("is higher than",),
    ),
    "an advantage of length": (
        [difference(HIGHER, HIGHER, (0.01, 0.01)), difference(WIDE, WIDE, (0.4, 0.5), length=40)],
        (
            (
                "At 40 items each it is not shown to have a higher reliability than b: the"
                " advantage may be that of its 400 items"
            ),
            "With another seed, both brought to 40 items",
        ),
        (),
    ),
    "better at the same length too": (
        [
            difference(HIGHER, HIGHER, (0.01, 0.01)),
            difference(HIGHER, HIGHER, (0.01, 0.01), length=40),
        ],
        ("both brought to 40 items",),
        ("the advantage may be",),
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
            r"agrees more with people\? b",
        ),
        ("no people judged these answers",),
    ),
    "people speak for it": (
        [
            difference(HIGHER, HIGHER, (0.01, 0.01)),
            difference(HIGHER, HIGHER, (0.01, 0.01), indicator="criterion.pearson"),
        ],
        (r"to report\? a\.", r"agrees more with people\? a"),
        ("side by side", "no people judged"),
    ),
    "nothing is shown with another seed, and much in other words": (
        [
            difference(WIDE, WIDE, (0.4, 0.5)),
            difference(LOWER, WIDE, (0.01, 0.5), indicator="parallel_forms.icc_a1"),
        ],
        (
            (
                r"Not shown with another seed; with another wording, differences are shown\. With"
                r" another wording, b is higher than a"
            ),
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
    every = [difference(HIGHER, HIGHER, (0.01, 0.01), first=x, second=y) for x, y in pairs]
    labels = ("a", "b", "c")
    assert said(comparison(every, labels))["Which reliability?"].verdict == text_of(
        "compare.for-both", measure="a"
    )
    every[1] = difference(WIDE, WIDE, (0.3, 0.3), first="a", second="c")
    undecided = said(comparison(every, labels))
    assert undecided["Which reliability?"].verdict == "Not shown with another seed"
    assert undecided["Which report?"].verdict == "These tests do not decide"
    text = " ".join(undecided["Which reliability?"].sentences)
    assert "a is higher than b" in text
    assert "b is higher than c" in text
    assert tells(text, "compare.none-shown", pairs="1 further pair")


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
        verdict = said(comparison([d]))["Which report?"].verdict
        assert verdict == (ahead[0] or "These tests do not decide"), (
            "what to report follows these respondents"
        )


def test_what_is_compared_has_its_name() -> None:
    made = comparison([])
    same = [
        replace(m, benchmark="x", words={"metric": "f1", "parser": p})
        for m, p in zip(made.measures, "pq", strict=True)
    ]
    assert compared(replace(made, measures=tuple(same))) == "parser"
    assert compared(made) == "benchmark"
    mixed = [
        replace(m, benchmark="x", words={"metric": p, "parser": p})
        for m, p in zip(made.measures, "pq", strict=True)
    ]
    assert compared(replace(made, measures=tuple(mixed))) == "measure"


def separation(opposed: int, only_first: int, only_second: int, both: int) -> Separation:
    names = [(f"m{i}", f"m{i + 1}") for i in range(9)]
    return Separation(
        "a",
        "b",
        45,
        both,
        tuple(names[:opposed]),
        tuple(names[:only_first]),
        tuple(names[:only_second]),
        45 - both - only_first - only_second,
    )


def test_order_and_separation() -> None:
    subsets = BenchmarkAgreement(None, None, (NAN, NAN), (NAN, NAN), (NAN, NAN), 0, 0)
    r = Coefficient(0.7, 0.3, 0.9, 10)
    agreement = Agreement("a", "b", r, r, r, subsets, NAN, False, 10)
    alike = said(comparison([], separations=(separation(0, 5, 1, 20),), agreements=(agreement,)))
    assert alike["Do order?"].verdict == "No reversal is shown"
    assert (
        text_of("compare.correlation", first="a", second="b", r="0.700", low="0.300", high="0.900")
        in alike["Do order?"].sentences
    )
    assert alike["Which respondents?"].verdict == "a, in this audit"
    assert tells(
        alike["Which respondents?"].sentences[0],
        "compare.separated-pairs",
        n=25,
        first="a",
        m=21,
        second="b",
        all=45,
    )
    assert "no test compares them" in alike["Which respondents?"].sentences[0]
    against = said(comparison([], separations=(separation(2, 3, 3, 20),), agreements=(agreement,)))
    assert against["Do order?"].verdict == text_of("compare.reversed", pairs=2)
    assert tells(
        " ".join(against["Do order?"].sentences),
        "compare.reversed-pair",
        better="m0",
        worse="m1",
        first="a",
        second="b",
    )
    assert against["Which respondents?"].verdict == "As many by a and b"
    assert "No pair" not in " ".join(against["Do order?"].sentences)
    nothing = said(comparison([]))
    assert nothing["Do order?"].verdict == "Not tested"
    assert nothing["Which respondents?"].verdict == "Not measured"


def test_the_page_answers_before_it_shows() -> None:
    made = comparison(
        [
            difference(HIGHER, WIDE, (0.01, 0.3)),
            difference(WIDE, WIDE, (0.3, 0.3), indicator="parallel_forms.icc_a1"),
        ]
    )
    page = render(made)
    assert (
        page.index(text_of("compare.higher", first="a", second="b"))
        < page.index("<svg")
        < page.index("<table")
    )
    for part in parts(made):
        for table, sentence in part.tables:
            assert len(table.caption) <= 125, "a caption is short; the protocol stands in a note"
            assert sentence == "" or page.index(sentence[:40].replace("'", "&#39;")) < page.index(
                f'id="{table.name}"'
            )
    svgs = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(svgs) == 4, "two differences, and the coefficients of both indicators"
    differences, _, coefficients, _ = svgs
    assert differences.count('stroke-width="4"') == 1, "the interval for these respondents"
    assert "[−0.050, 0.200] for others" in differences
    assert coefficients.count('stroke-width="2.4"') == 2, "every measure has its interval"
    assert not FORBIDDEN.search(re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL))


def test_a_drawing_says_where_an_interval_is_missing() -> None:
    made = comparison([difference(HIGHER, WIDE, (0.01, 0.3))])
    by = {"test_retest.rho_g": {"a": Coefficient(0.9, 0.8, 0.95, 10), "b": Coefficient(0.7, n=10)}}
    page = render(replace(made, indicators=by))
    assert tells(page, "compare.no-interval", names="b")
    assert "No interval for" not in render(made)


def test_sentences_of_tables_hold_their_numbers() -> None:
    made = comparison(
        [difference(HIGHER, WIDE, (0.01, 0.3))],
        separations=(separation(0, 5, 1, 20),),
        ranks={"a": {f"m{i}": (1, 1) if i == 0 else (2, 10) for i in range(10)}},
        distinct={"x ~ y": Coefficient(0.5, 0.3, 0.8, 10), "x ~ z": Coefficient(0.5, 0.3, 0.9, 10)},
    )
    assert shows(made, "leaderboards") == text_of(
        "compare.places", measure="a", fixed=1, respondents=10
    )
    assert shows(made, "separation") == text_of(
        "compare.separates", pairs=45, first="a", n=25, second="b", m=21
    )
    assert shows(made, "distinct") == text_of("compare.distinct", shown=1, pairs=2)
    assert "2 tests made, 1 is" not in shows(made, "differences")
    assert tells(shows(made, "differences"), "compare.tests", tests=1, shown=1)
    assert shows(made, "no such table") == ""


def test_printed_tables_hold_every_number_of_the_page() -> None:
    made = comparison(
        [difference(HIGHER, WIDE, (0.01, 0.3)), difference(WIDE, WIDE, (0.3, 0.3), length=40)]
    )
    numbers = [
        sorted(
            e.value
            for t in tables
            for row in t.rows
            for e in row
            if e.value is not None and t.name.startswith(("ind", "diff"))
        )
        for tables in (comparison_tables(made), printed_tables(made))
    ]
    values = [d.others.first for d in made.differences] + [
        d.others.second for d in made.differences
    ]
    assert numbers[0] == pytest.approx(sorted([*numbers[1], *values])), (
        "less the two coefficients beside each difference"
    )
