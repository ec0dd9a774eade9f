"""The parts of the readers of answers, each on a table of texts read by hand."""

from fractions import Fraction

import pytest

from hqm.benchmark.card import Card
from hqm.benchmark.new_sources import RowFaults
from hqm.errors import DataError
from hqm.scoring.choices import _named_choice, _passage_choice
from hqm.scoring.commitments import (
    is_denied,
    normalize,
    parse_answer,
    shared_words,
)
from hqm.scoring.list_answers import names_phrase, phrases_in, read_list
from hqm.scoring.number_answers import _passage_number
from hqm.scoring.plain_text import plain, with_plain_digits
from hqm.scoring.restatements import answering_clause
from hqm.scoring.short_answers import _match_text
from hqm.scoring.statements import _without_adjectives, restates
from hqm.scoring.written_numbers import Number, numbers_in, sole_number
from hqm.scoring.written_options import Option, named_options, parse_options


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7", [("7", 0, False, "")]),
        ("2.0", [("2", 1, False, "")]),
        ("1,234.50", [("2469/2", 2, False, "")]),
        ("1 000", [("1000", 0, False, "")]),
        ("3.5%", [("7/2", 1, True, "")]),
        ("1.5 million", [("1500000", 0, False, "")]),
        ("-4", [("-4", 0, False, "")]),
        ("$5", [("5", 0, False, "")]),
        ("3 x 10^4", [("30000", 0, False, "")]),
        ("2^5", [("32", 0, False, "")]),
        ("1/3", [("1/3", 0, False, "")]),
        ("one third", [("1/3", 0, False, "")]),
        ("three quarters", [("3/4", 0, False, "")]),
        ("two dozen", [("24", 0, False, "")]),
        ("twenty-two dozen", [("264", 0, False, "")]),
        ("twenty two dozen", [("264", 0, False, "")]),
        ("a dozen", [("12", 0, False, "")]),
        ("a hundred dozen", [("1200", 0, False, "")]),
        # words one after another are so many numbers
        ("two five-star hotels", [("2", 0, False, ""), ("5", 0, False, "")]),
        ("nine eleven", [("9", 0, False, ""), ("11", 0, False, "")]),
        ("twenty ten", [("20", 0, False, ""), ("10", 0, False, "")]),
        ("two hundred and five", [("205", 0, False, "")]),
        ("two thousand three hundred and four", [("2304", 0, False, "")]),
        # a fraction behind a whole number is a part of it, whatever its sign
        ("1 1/2", [("3/2", 0, False, "")]),
        ("-1 1/2", [("-3/2", 0, False, "")]),
        ("1 + 1/2", [("3/2", 0, False, "")]),
        ("2 1/2 %", [("5/2", 0, True, "")]),
        ("0 1/2", [("1/2", 0, False, "")]),
        # a smaller unit of one kind behind a larger one is a part of it
        ("2 hours and 30 minutes", [("5/2", 0, False, "hour")]),
        ("2 minutes 90 seconds", [("7/2", 0, False, "minute")]),
        ("1 m 50 cm", [("3/2", 0, False, "m")]),
        ("3 km, 200 m", [("16/5", 0, False, "km")]),
        ("30 minutes 2 hours", [("30", 0, False, "minute"), ("2", 0, False, "hour")]),
        ("2 h 30 cm", [("2", 0, False, "h"), ("30", 0, False, "cm")]),
        ("100 and 5", [("100", 0, False, ""), ("5", 0, False, "")]),
        ("3 -1/2", [("3", 0, False, ""), ("-1/2", 0, False, "")]),
        ("3 0", [("3", 0, False, ""), ("0", 0, False, "")]),
        ("5 1", [("5", 0, False, ""), ("1", 0, False, "")]),
        ("3 0.5", [("3", 0, False, ""), ("1/2", 1, False, "")]),
        ("2 min 5 minutes", [("2", 0, False, "min"), ("5", 0, False, "minute")]),
        ("2 hours or 30 minutes", [("2", 0, False, "hour"), ("30", 0, False, "minute")]),
        ("3 apples 20 cents", [("3", 0, False, "apple"), ("20", 0, False, "cent")]),
        # words that are said as one number, and words that are not
        ("twenty one", [("21", 0, False, "")]),
        ("nineteen", [("19", 0, False, "")]),
        ("minus ninety-nine", [("-99", 0, False, "")]),
        ("one hundred and one", [("101", 0, False, "")]),
        ("minus two hundred and five", [("-205", 0, False, "")]),
        ("two hundred and five dollars", [("205", 0, False, "dollar")]),
        ("two thousand five hundred", [("2500", 0, False, "")]),
        ("two hundred three hundred", [("200", 0, False, ""), ("300", 0, False, "")]),
        ("two hundred one hundred", [("200", 0, False, ""), ("100", 0, False, "")]),
        ("two thousand one thousand", [("2000", 0, False, ""), ("1000", 0, False, "")]),
        ("two hundred zero", [("200", 0, False, ""), ("0", 0, False, "")]),
        ("zero and one", [("0", 0, False, ""), ("1", 0, False, "")]),
        ("fifty and one", [("50", 0, False, ""), ("1", 0, False, "")]),
        ("two hundred, five", [("200", 0, False, ""), ("5", 0, False, "")]),
        ("five hundred thousand", [("500000", 0, False, "")]),
        ("2 hundred million dollars", [("200000000", 0, False, "dollar")]),
        # other languages
        ("zwölf", [("12", 0, False, "")]),
        ("huit", [("8", 0, False, "")]),
        ("doce", [("12", 0, False, "")]),
        ("ноль", [("0", 0, False, "")]),
        ("十二", [("12", 0, False, "")]),
        ("两", [("2", 0, False, "")]),
        # scales, of which the decimal places are kept where a part is left
        ("2 hundred", [("200", 0, False, "")]),
        ("2 thousand", [("2000", 0, False, "")]),
        ("2k", [("2000", 0, False, "")]),
        ("2 million", [("2000000", 0, False, "")]),
        ("2M", [("2000000", 0, False, "")]),
        ("2 mn", [("2000000", 0, False, "")]),
        ("2 billion", [("2000000000", 0, False, "")]),
        ("2bn", [("2000000000", 0, False, "")]),
        ("2B", [("2000000000", 0, False, "")]),
        ("2 trillion", [("2000000000000", 0, False, "")]),
        ("2万", [("20000", 0, False, "")]),
        ("2亿", [("200000000", 0, False, "")]),
        ("1.2345 thousand", [("2469/2", 4, False, "")]),
        ("a hundred", [("100", 0, False, "")]),
        ("a thousand", [("1000", 0, False, "")]),
        ("a million", [("1000000", 0, False, "")]),
        # parts
        ("one half", [("1/2", 0, False, "")]),
        ("two thirds", [("2/3", 0, False, "")]),
        ("one quarter", [("1/4", 0, False, "")]),
        ("two fifths", [("2/5", 0, False, "")]),
        ("five eighths", [("5/8", 0, False, "")]),
        ("three tenths", [("3/10", 0, False, "")]),
        ("three halves", [("3/2", 0, False, "")]),
        # powers, fractions and signs
        ("1.5e3", [("1500", 0, False, "")]),
        ("1.5E-3", [("3/2000", 0, False, "")]),
        ("2.5 x 10^-2", [("1/40", 0, False, "")]),
        ("2^-1", [("1/2", 0, False, "")]),
        ("1.5^2", [("9/4", 0, False, "")]),
        ("0^-1", [("0", 0, False, "")]),
        ("1.5/3", [("1/2", 0, False, "")]),
        ("3/0", [("3", 0, False, "")]),
        ("10⁻⁵", [("1/100000", 0, False, "")]),
        ("3½", [("7/2", 0, False, "")]),
        ("$-5", [("-5", 0, False, "")]),
        ("minus five", [("-5", 0, False, "")]),
        # the ways in which countries write them
        ("1.396,5", [("2793/2", 1, False, "")]),
        ("1.396.500", [("1396500", 0, False, "")]),
        ("1 396,5", [("2793/2", 1, False, "")]),
        ("1'000", [("1000", 0, False, "")]),
        ("1.396", [("349/250", 3, False, "")]),
        ("0,5", [("1/2", 1, False, "")]),
        (".25", [("1/4", 2, False, "")]),
        # units lose their plural, where they have one
        ("5 Miles", [("5", 0, False, "mile")]),
        ("150 PS", [("150", 0, False, "ps")]),
        ("5 ms", [("5", 0, False, "ms")]),
        ("5 m/s", [("5", 0, False, "m/s")]),
        ("25 °C", [("25", 0, False, "°c")]),
        # dates, times of day, and what only a machine that repeats itself writes
        ("12/05/2021", []),
        ("10:30 and 5", [("5", 0, False, "")]),
        ("9" * 60, [("9" * 60, 0, False, "")]),
        ("9" * 61, []),
        ("1/" + "9" * 59, [("1/" + "9" * 59, 0, False, "")]),
        ("1/" + "9" * 60, []),
        ("10^-99", [("1/1" + "0" * 99, 0, False, "")]),
        ("10^100", []),
        ("1e100", []),
        ("3 x 10^100", []),
        ("at 12:30", []),
        ("", []),
    ],
)
def test_numbers_of_a_text(text: str, expected: list[tuple[str, int, bool, str]]) -> None:
    read = [(n.value, n.decimals, n.percent, n.unit) for n in numbers_in(text)]
    assert read == [(Fraction(value), *fields) for value, *fields in expected]
    for number in numbers_in(f"So: {text}"):
        assert 4 <= number.start < number.end <= len(with_plain_digits(text)) + 4


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("7 km away", Number(Fraction(7), 0, False, "km", 0, 4)),
        ("about 7.50 %", Number(Fraction(15, 2), 2, True, "", 6, 12)),
        ("seven", Number(Fraction(7), 0, False, "", 0, 5, True)),
        ("a 1 1/2 mile walk", Number(Fraction(3, 2), 0, False, "mile", 2, 12)),
        ("2 h 30 min", Number(Fraction(5, 2), 0, False, "h", 0, 10)),
        ("two hundred and five cars", Number(Fraction(205), 0, False, "car", 0, 25, True)),
    ],
)
def test_a_number_says_where_it_stands_and_how_it_was_written(text: str, number: Number) -> None:
    assert numbers_in(text) == (number,)


def test_scales_are_powers_of_ten() -> None:
    powers = {"hundred": 2, "thousand": 3, "k": 3, "million": 6, "M": 6, "mn": 6}
    powers |= {"billion": 9, "bn": 9, "B": 9, "trillion": 12, "万": 4, "亿": 8}
    for scale, power in powers.items():
        (number,) = numbers_in(f"2{' ' if len(scale) > 2 else ''}{scale}")
        assert (number.value, number.unit) == (2 * 10**power, ""), scale


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7.", "7"),
        ("($1,000)", "1000"),
        ("-7 °C", "-7 °c"),
        ("1,234.50", "1234.50"),
        ("2.0", "2"),
        ("3.5 %", "3.5%"),
        ("3/4 miles", "3/4 mile"),
        ("½", "1/2"),
        ("about 7", None),
        ("7 of them", None),
        ("7 and 9", None),
        ("", None),
    ],
)
def test_a_text_is_a_number_with_nothing_beside_it(text: str, expected: str | None) -> None:
    number = sole_number(text)
    assert (str(number) if number else None) == expected


@pytest.mark.parametrize(
    ("text", "key", "is_match"),
    [
        ("7", "7", True),
        ("7", "8", False),
        # the key's decimal places, but a whole number is a whole number
        ("3.14159", "3.14", True),
        ("3.149", "3.14", False),
        ("3.04", "3.0", True),
        ("3.04", "3", False),
        ("3.1", "3.14", False),
        ("0.67", "0.666", False),
        # a fraction by its decimals, of which there must be two
        ("0.67", "2/3", True),
        ("0.667", "2/3", True),
        ("0.66", "2/3", False),
        ("0.7", "2/3", False),
        ("1", "2/3", False),
        ("5", "2/3", False),
        ("5.25", "2/3", False),
        # a percentage is its share, and may lack its sign
        ("45%", "0.45", True),
        ("0.45", "45%", True),
        ("45", "45%", True),
        ("45%", "45", True),
        ("4500", "45%", False),
        ("45%", "45%", True),
        ("0.45%", "45%", False),
        # units of one kind
        ("1200 m", "1.2 km", True),
        ("1.2 m", "1.2 km", False),
        ("90 minutes", "1.5 hours", True),
        ("250 ml", "0.25 liters", True),
        ("2000 mg", "2 g", True),
        ("150 cents", "1.5 dollars", True),
        ("5 kg", "5 m", False),
        ("5 apples", "5 m", True),
        ("5", "5 m", True),
        ("9π", "9", False),
        ("9", "9π", False),
        ("9π", "9 pi", True),
    ],
)
def test_two_numbers_say_the_same(text: str, key: str, is_match: bool) -> None:
    ours, theirs = sole_number(text), sole_number(key)
    assert ours is not None
    assert theirs is not None
    assert ours.matches(theirs) is is_match


@pytest.mark.parametrize(
    ("text", "decimals", "is_match"),
    [("1.16", 1, True), ("1.24", 1, True), ("1.14", 1, False), ("1.4", 0, True), ("1.6", 0, False)],
)
def test_numbers_are_compared_to_so_many_decimal_places(
    text: str, decimals: int, is_match: bool
) -> None:
    number, key = sole_number(text), sole_number("1.2")
    assert number is not None
    assert key is not None
    assert number.matches(key, decimals) is is_match


@pytest.mark.parametrize(
    ("text", "options", "letters"),
    [
        ("blue", ("blue", "dark blue"), "A"),
        ("dark blue it is", ("blue", "dark blue"), "B"),
        ("it is dark blue", ("dark blue", "blue"), "A"),
        ("it is not dark blue but blue", ("blue", "dark blue"), "A"),
        ("blue, or dark blue", ("blue", "dark blue"), "AB"),
        ("a cat and a dog", ("cat", "dog", "cat and a dog"), "C"),
        ("a cat beside a dog", ("cat", "dog", "horse"), "AB"),
        # of equal options neither hides the other
        ("it is red", ("red", "Red"), "AB"),
        ("x^2+1", ("x^2+1", "x^2"), "A"),
        ("it is x ^ 2 + 1", ("x^2", "x^2+1"), "B"),
        ("it is x ^ 2", ("x^2", "x^2+1"), "A"),
        ("Figure 1", ("Figure 1", "Figure 2"), "A"),
        ("2", ("Figure 1", "Figure 2"), "B"),
    ],
)
def test_options_that_a_text_names(text: str, options: tuple[str, ...], letters: str) -> None:
    assert named_options(text, parse_options(options)) == list(letters)


@pytest.mark.parametrize(
    ("option", "text", "equal"),
    [
        ("A red bus", "a red bus.", True),
        ("A red bus", "A red bus stops", False),
        ("", "", False),
        ("12", "twelve", True),
        ("12", "a dozen cats", False),
        ("(x+1)^2 >= 4", "(x + 1)^2>=4", True),
        ("red bus", "redbus", False),
    ],
)
def test_a_text_is_an_option_and_nothing_else(option: str, text: str, equal: bool) -> None:
    assert Option(option).equals(text) is equal


@pytest.mark.parametrize(
    ("text", "counts", "question", "value"),
    [
        ("AB = 45, BC = 60", False, "What is BC?", 60),
        ("Eight minus three: 5 slices.", False, "How many slices are left?", 5),
        ("8 in total: 4 small ones, 3 medium ones", True, "How many are there?", 8),
        ("It says 20, but the sum is 35", False, "What is the sum?", 35),
        ("from 5 in 2008 to 9 in 2010", False, "How many in 2010?", 9),
        ("x = 3 or x = -2; lengths are positive, x = 3", False, "What is x?", 3),
        ("3 + 4 = 7", False, "How many?", 7),
        ("There are none", True, "How many dogs?", 0),
        ("a single dog", True, "How many dogs?", 1),
        ("a single dog", False, "How many dogs?", None),
        # two numbers of which none is stated
        ("Blue 25, red 30.", False, "How much is blue?", None),
        ("three or four", True, "How many dogs?", None),
    ],
)
def test_the_number_that_a_passage_states(
    text: str, counts: bool, question: str, value: int | None
) -> None:
    number = _passage_number(text, counts, question)
    assert (number.value if number else None) == value


@pytest.mark.parametrize(
    ("clause", "question", "expected"),
    [
        ("door open", "Is the door open?", True),
        ("man unhappy", "Is the man happy?", False),
        # what follows the contrary of the last thing asked for does not matter
        ("man unhappy today", "Is the man happy?", False),
        ("unhappy man", "Is the man happy?", False),
        ("dog sleeps", "Is the door open?", None),
        # words as their stems
        ("circl larger star", "Is the circle larger than the star?", True),
        ("circl smaller star", "Is the circle larger than the star?", False),
        ("circl larger star today", "Is the circle larger than the star?", True),
        ("circl star sam siz", "Is the circle larger than the star?", False),
        ("circl larger star", "Are the circle and the star the same size?", False),
        ("circl star sam siz", "Are the circle and the star the same size?", True),
        ("wear white helmet", "Do they wear a helmet?", True),
    ],
)
def test_a_clause_repeats_or_contradicts_a_question(
    clause: str, question: str, expected: bool | None
) -> None:
    assert restates(clause.split(), question) is expected


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("It is the Atlantic.", True),
        ("The Atlantic Ocean.", True),
        ("It is an ocean.", False),
        ("Pacific", False),
        ("", None),
    ],
)
def test_a_word_of_the_question_need_not_be_said_again(text: str, right: bool | None) -> None:
    match = _match_text(text, "Atlantic Ocean", "Which ocean is it?")
    assert (match.right if match else None) is right


def test_phrases_hide_the_shorter_ones_inside() -> None:
    phrases = ("blue", "dark blue", "red")
    assert names_phrase("It is dark blue.", phrases) == ("dark blue",)
    assert names_phrase("Red, then dark blue.", phrases) == ("red", "dark blue")
    assert names_phrase("It is not red, it is blue.", phrases) == ("blue",)
    assert names_phrase("", phrases) == ()


@pytest.mark.parametrize(("start", "phrases"), [(59, ("red",)), (60, ("red", "blue"))])
def test_what_is_said_beside_an_answer_stands_near_its_beginning(
    start: int, phrases: tuple[str, ...]
) -> None:
    text = f"{'x' * (start - 4)} red, near the blue one"
    assert text.index(",") == start
    assert phrases_in(text, ("red", "blue")) == phrases


@pytest.mark.parametrize("tag", ["answer", "ANSWER", "Final_Answer"])
def test_a_marked_answer_may_have_several_lines(tag: str) -> None:
    (passage,) = parse_answer(f"red or blue <{tag}>\ngreen\ncar\n</{tag}> or so").explicit
    assert passage.text == "green\ncar"


@pytest.mark.parametrize("tag", ["think", "THINK", "Reasoning"])
def test_what_is_thought_over_several_lines_is_no_answer(tag: str) -> None:
    answer = parse_answer(f"<{tag}>It may be\nred or\n\nblue.</{tag}>\nIt is green.")
    assert names_phrase(f"<{tag}>red\nor blue</{tag}> It is green.", ("red", "green")) == ("green",)
    assert answer.text.strip().endswith("It is green.")
    assert "red" not in answer.text


@pytest.mark.parametrize("alike", [1, 2, 3, 4, 5])
def test_faults_of_rows_are_counted_by_kind(alike: int) -> None:
    """Of a kind two further places are named, and three dots stand for more."""
    faults = RowFaults()
    for number in range(alike):
        faults.first[f"a.csv: row {number}"] = DataError(
            f"no key '{number}'", location=f"a.csv: row {number}", remedy="Add it."
        )
    single = faults.error(9)
    if alike == 1:
        assert single is faults.first["a.csv: row 0"]
    faults.first["a.csv: row 8"] = DataError("an empty question", location="a.csv: row 8")
    message = faults.error(9).message
    other_rows = "; ".join([*[f"row {k}" for k in range(1, alike)][:2], *["..."] * (alike > 3)])
    kinds = [f"{alike}: a.csv: row 0: no key '0'" + (f" (also {other_rows})" if other_rows else "")]
    kinds.append("1: a.csv: row 8: an empty question")
    assert message.startswith(f"{alike + 1} of 9 rows")
    assert message.endswith(". ".join(kinds))
    if alike > 1:
        assert single.message.endswith(kinds[0])


@pytest.mark.parametrize("types", [("",), ("existence", ""), ("existence", "existence")])
def test_types_of_a_card_are_named_once_each(types: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="empty, or named twice"):
        Card._check_types(types)
    assert Card._check_types(("existence", "Own")) == ("existence", "Own")


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        ("A", "A"),
        ("B. cat", "B"),
        ("B. dog", ""),
        ("the cat", "B"),
        ("a dog and a cat", ""),
        ("I cannot tell.", ""),
        ("a horse", None),
        ("option (B)", "B"),
        ("seen in option B", "B"),
        ("in option B, not (A)", "B"),
        ("seen, not in option B", None),
        ("seen in option A or (B)", None),
    ],
)
def test_what_a_passage_chooses(text: str, letters: str | None) -> None:
    """Nothing where it says so, and None where it does not speak of the options."""
    expected = None if letters is None else tuple(letters)
    assert _passage_choice(text, parse_options(("dog", "cat")), {}, False) == expected


@pytest.mark.parametrize(
    ("clause", "left"),
    [
        ("wear white helmet", "wear helmet"),
        ("wear shiny white helmet", "wear shiny helmet"),
        ("white helmet", "white helmet"),
        ("wear white helmet today", "wear white helmet today"),
        ("wear helmet", "wear helmet"),
    ],
)
def test_adjectives_before_words_of_the_question_are_left_out(clause: str, left: str) -> None:
    assert _without_adjectives(clause.split(), ("wear", "helmet")) == left.split()


@pytest.mark.parametrize(
    ("text", "members"),
    [
        ("Star, circle and square", ("Star", "circle", "square")),
        ("We see shapes. There are three. Star, circle and square.", ("Star", "circle", "square")),
        ("It has edges, dots and sides. There are three. [2, 0, 1]", ("2", "0", "1")),
        ("A star, and a dot. Nothing else. It is so.", ()),
        ("We see shapes. A star, a circle and a dot. That is all.", ()),
        ("It is a star.", ()),
    ],
)
def test_the_list_that_an_answer_gives(text: str, members: tuple[str, ...]) -> None:
    assert read_list(text) == members


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        ("It shows a dog. The weather is nice.", "A"),
        ("The weather is nice. It shows a cat.", "B"),
        ("It shows a dog and a cat. The weather is nice.", ""),
        ("It shows a dog. A cat is near. The weather is nice.", ""),
        ("", ""),
    ],
)
def test_the_option_that_an_answer_alone_names(text: str, letters: str) -> None:
    assert _named_choice(parse_answer(text), parse_options(("dog", "cat")), "") == tuple(letters)


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("There's a dog", "There is a dog"),
        ("they're red", "they are red"),
        ("（Ｂ）", "(B)"),
        ("$5 and $x$", "$5 and x"),
        ("x_{1} + x_2", "x1 + x2"),
        ("10⁻⁵ m", "10^-5 m"),
        ("x²", "x^2"),
        ("½", "1/2"),
        ("H₂O", "H2O"),
        ("- a\n* b", "- a\n- b"),
        ("# Head", "Head"),
        ("`code`", "code"),
        ("90^\\circ", "90°"),
        ("\\frac{1}{2}", "1/2"),
        ("1{,}000", "1,000"),
        ("## Answer\n\nB", "Answer:\nB"),
        ("a</think>b", "b"),
        ("b<think>a", "b"),
        ("[INST] x [/INST]", "x"),
        ("dog", "dog"),
        # what stands in a box or is bold is marked, with the braces in it
        ("**B**", "\ue002B\ue003"),
        ("\\boxed{a{b}c} d", "\ue000a{b}c\ue001 d"),
        ("\\boxed{\\frac{1}{2}}", "\ue0001/2\ue001"),
        ("\\boxed{B", "\ue000B\ue001"),
        ("\\boxed{A} \\fbox{B}", "\ue000A\ue001 \ue000B\ue001"),
    ],
)
def test_a_text_as_it_would_be_read_aloud(text: str, spoken: str) -> None:
    assert plain(text) == spoken


@pytest.mark.parametrize(
    ("text", "explicit", "concluding", "sentences"),
    [
        ("Answer:\nB\nC", ["B"], [], ["Answer:", "B", "C"]),
        ("Answer:\n\n7 of them", ["7 of them"], [], ["Answer:", "7 of them"]),
        (
            "Answer: A. Wait, that is wrong. Answer: B",
            ["B"],
            [],
            ["Answer: A. Wait, that is wrong.", "Answer: B"],
        ),
        ("Answer: A. Answer: B", ["B", "A. Answer: B"], [], ["Answer: A. Answer: B"]),
        ("It is red. So B. Therefore C.", [], ["C.", "B. Therefore C."], None),
        # questions are no statements, where there are others
        ("Is it A? No.", [], [], ["No."]),
        ("Is it A?", [], [], ["Is it A?"]),
        # what goes through the options chooses none of them
        ("A. red\nB. blue\nSo B.", [], ["B."], ["So B."]),
        ("A. red\nSo B.", [], ["B."], ["A. red", "So B."]),
        ("A. red\nA. blue", [], [], ["A. red", "A. blue"]),
        ("A. red\nB. blue: yes", [], [], ["A. red", "B. blue: yes"]),
        ("A. red\nB. blue: yes\nC. green", [], [], ["B. blue: yes"]),
        ("", [], [], []),
    ],
)
def test_an_answer_is_taken_apart(
    text: str, explicit: list[str], concluding: list[str], sentences: list[str] | None
) -> None:
    answer = parse_answer(text)
    assert [passage.text for passage in answer.explicit] == explicit
    assert list(answer.concluding) == concluding
    if sentences is not None:
        assert list(answer.sentences) == sentences


def test_bold_passages_and_retractions_of_an_answer() -> None:
    assert parse_answer("**a** and **b**.").emphasised == ("b", "a")
    answer = parse_answer("It is a. Hmm, this is wrong. Then c")
    assert answer.text[answer.retraction_end :] == ". Then c"
    assert parse_answer("It is a.").retraction_end == -1
    first, second = parse_answer("It is A. Wait, no: it is B").explicit[:1] * 2
    assert first == second
    assert first.corrects
    assert not parse_answer("Answer: A").explicit[0].corrects


@pytest.mark.parametrize(
    ("text", "question", "clause", "shared"),
    [
        (
            "Figure 1 is mirrored; Figure 4 completes it.",
            "Which figure completes it?",
            "Figure 4 completes it.",
            2,
        ),
        ("a cat, and the dog is blue", "Where is the dog?", "the dog is blue", 1),
        ("a cat, a cat", "Where is the cat?", "", 1),
        ("nothing here", "Where is the cat?", "", 0),
        ("The dogs jumped walking", "Which dog jumps and walks?", "The dogs jumped walking", 3),
        ("From shortest to tallest: mug, vase, lamp", "Which is tallest?", " lamp", 1),
        ("From shortest to tallest: mug, vase, lamp", "Which is shortest?", "mug", 1),
        ("From shortest to tallest: mug, vase, lamp", "Which is widest?", "", 0),
    ],
)
def test_the_clause_that_repeats_most_of_a_question(
    text: str, question: str, clause: str, shared: int
) -> None:
    assert answering_clause(text, question) == clause
    assert shared_words(text, question) == shared


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is not a dog", True),
        ("It isn't his dog", True),
        ("rather than the dog", True),
        ("It is a dog", False),
        ("It is not red. A dog", False),
        ("A dog is wrong", True),
        ("dog: no", True),
        ("A dog isn't there", True),
        ("A dog is there", False),
        # within forty characters
        (f"not{' ' * 37}dog", True),
        (f"not{' ' * 38}dog", False),
        (f"dog{' ' * 32}is wrong", True),
        (f"dog{' ' * 33}is wrong", False),
    ],
)
def test_what_is_denied_near_by(text: str, expected: bool) -> None:
    start = text.index("dog")
    assert is_denied(text, start, start + 3) is expected


@pytest.mark.parametrize(
    ("text", "compared"),
    [
        ("12th of March 2021", "2021-03-12"),
        ("March 3, 2021", "2021-03-03"),
        ("3 Mar. 2021", "2021-03-03"),
        ("1 January 1999", "1999-01-01"),
        ("December 31 1999", "1999-12-31"),
        ("Monday", "mon"),
        ("The  Café.", "cafe"),
        ("grey colour", "gray color"),
        ("the", "the"),
        ("An apple", "apple"),
    ],
)
def test_the_form_in_which_texts_are_compared(text: str, compared: str) -> None:
    assert normalize(text) == compared
