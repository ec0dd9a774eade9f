"""The reader of choices: by a letter, by the text of an option, by its number or its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from hqm.scoring.commitments import (
    ParsedAnswer,
    Passage,
    first_sentence,
    is_denied,
    is_tentative,
    normalize,
    parse_answer,
    sentence_start,
    shared_words,
    without_side_remark,
)
from hqm.scoring.list_answers import phrases_in
from hqm.scoring.number_answers import read_number
from hqm.scoring.number_clauses import CALCULATION
from hqm.scoring.option_letters import (
    GUESS,
    HEAD_WORDS,
    called_correct,
    called_correct_abroad,
    head_letters,
    is_cut_listing,
    judges_letter,
    letter_behind_or,
    letter_called_right,
    letter_with_predicate,
    letters_together,
    lone_letter,
    names_letters,
    rejects_all,
    sole_undenied_letter,
    varies,
    with_latin_letters,
    with_single_letters,
    without_numerals,
    without_ruled_out,
)
from hqm.scoring.plain_text import DOUBT, says_unable
from hqm.scoring.polar_answers import POLARITY, Polar, leading_polarity, read_polar
from hqm.scoring.restatements import answering_clause, restating_sentences
from hqm.scoring.statements import (
    asks_for_degree,
    compares_contrarily,
    content_words,
    without_adverbial,
)
from hqm.scoring.word_senses import with_synonyms
from hqm.scoring.written_numbers import sole_number
from hqm.scoring.written_options import Option, named_options, parse_options
from hqm.types import LETTERS

# a letter is spoken of, and not chosen: "A would need a steeper line"
_MENTION_ONLY = re.compile(
    r"\s+(?:would|could|might|may|lacks?|needs?|requires?|are|were|do|does|did|have|cannot|can't"
    r"|also|both|all)\b|\s+(?:is|was)\s+(?:also|too|a|an|the(?! (?:correct|right|best|only|most"
    r"|answer|closest|one))|out|less|un\w+|im\w+|in\w+|off)\b"
)
# what would hold if the letter were chosen: "La réponse D aurait des traits inégaux"
_HYPOTHETICAL = re.compile(
    r"\s*(?:\([^()]*\)\s*)?(?:would (?:have|need|require|mean)|aurait|devrait|supposerait"
    r"|tendría|debería|teria|deveria|hätte|müsste|würde)\b"
)
# what dismisses an option behind its text: "A) population growth would raise the values"
_DISMISSED = re.compile(
    r"\s*(?:\([^()]*\)\s*)?(?:would|could|might)\b(?! be (?:the )?(?:best|correct|right|most"
    r"|closest|answer))"
)
# a letter within a sentence chooses only where it is marked as that of an option
_MARKED = re.compile(r"\b(?:option|choice)\s*[(\[]?([A-Z])[)\]]?(?![\w'])|\(([A-Z])\)")
_PREFERENCE_AMONG = re.compile(
    r"\bbetween [^,.;:\n]{1,60} and [^,.;:\n]{1,60}, "
    r"(?=[^.;\n]*\b(?:more|better|best|closer|closest|likelier|fits|lean)\b)",
    re.IGNORECASE,
)
"""What a sentence says of two options before it prefers one: "Between A and B, B fits better"."""
# a list of all options in which one is ticked
_TICK = re.compile(r"[✅✔☑✓]|\|\s*yes\s*(?=\|)", re.IGNORECASE)
_TICKED = re.compile(rf"^\W*([A-Z])\b[^\n]*(?:{_TICK.pattern})", re.MULTILINE)
_CROSS = re.compile(r"[❌✗✘✖]|\|\s*no\s*(?=\|)", re.IGNORECASE)
_BEST = re.compile(
    r" (?:is|seems|looks) (?:the )?(?:best|closest|only|correct|right(?! at first)"
    r"|most (?:likely|reasonable|plausible|probable|appropriate|suitable|sensible|realistic))\b"
)
_INSUFFICIENT = re.compile(r"\b(?:information|determin\w+|data|enough)\b", re.IGNORECASE)


def read_choice(text: str, options: Sequence[str], question: str = "") -> str | None:
    """The letter of the option that an answer chose.

    >>> read_choice("(b) blue", ("red", "blue")), read_choice("It is blue.", ("red", "blue"))
    ('B', 'B')
    >>> read_choice("A dog", ("cat", "dog")), read_choice("red or blue", ("red", "blue"))
    ('B', None)
    >>> read_choice("At first I thought A. Wait, no: B.", ("red", "blue"))
    'B'
    """
    choices = read_choices(text, options, question)
    return choices[0] if len(choices) == 1 else None


def read_choices(text: str, options: Sequence[str], question: str = "") -> tuple[str, ...]:
    """The letters of all options that an answer chose; none where it commits itself to none.

    >>> read_choices("ANSWER: A, C", ("red", "blue", "green"))
    ('A', 'C')
    """
    letters = LETTERS[: len(options)]
    # by far the commonest answer, read without any pattern
    sole_letter = text.strip(" \n.()*").upper()
    if len(sole_letter) == 1 and sole_letter in letters:
        return (sole_letter,)
    written_options = tuple(map(str, options))
    ticked = _ticked_option(text, written_options)
    if ticked:
        return (ticked,)
    right_letter = letter_called_right(text, letters)
    if right_letter and not _polar_options(parse_options(written_options)):
        return (right_letter,)
    text = with_single_letters(with_latin_letters(text, written_options, question), letters)
    if "etween " in text:
        text = _PREFERENCE_AMONG.sub("", text)
    names = without_numerals(written_options)
    written_options = tuple(names) if all(names) else written_options
    answer = parse_answer(text)
    if not answer.text or rejects_all(answer.sentences[-1:]):
        return ()
    considered, ruled_out = without_ruled_out(text)
    if ruled_out and not names_letters(written_options):
        considered_answer = parse_answer(considered)
        choices = _read_parsed(considered_answer, considered, written_options, question)
        remaining = tuple(letter for letter in letters if letter not in ruled_out)
        # "A, B and D are wrong" and nothing else gives no reason for C
        is_reasoned = len(answer.sentences) > 1 or bool(answer.concluding)
        if not choices and len(remaining) == 1 and is_reasoned:
            return remaining
        if choices:
            return choices
        choices = _read_parsed(answer, text, written_options, question)
        return () if ruled_out.intersection(choices) else choices
    return _read_parsed(answer, text, written_options, question)


def _ticked_option(text: str, options: tuple[str, ...]) -> str:
    """The letter of the only option that is ticked in a list of all; nothing where none is."""
    if ("|" not in text and text.isascii()) or not _TICK.search(text):
        return ""
    ticked: set[str] = set(_TICKED.findall(text))
    if len(ticked) == 1 and ticked <= set(LETTERS[: len(options)]):
        return ticked.pop()
    lines = list(filter(_TICK.search, text.split("\n")))
    if len(lines) == 1 and _CROSS.search(text):
        letters = named_options(lines[0], parse_options(options))
        if len(letters) == 1:
            return letters[0]
    return ""


def _read_parsed(
    answer: ParsedAnswer, text: str, options: tuple[str, ...], question: str
) -> tuple[str, ...]:
    """The letters of the options that an answer chose which begins with none of them alone."""
    letters = LETTERS[: len(options)]
    if "".join(answer.text.split()) in ("", letters):  # "A B C D"
        return ()
    is_called = any(not passage.corrects for passage in answer.explicit)
    if not is_called and (is_cut_listing(answer.sentences, letters) or varies(answer.text)):
        return ()
    parsed_options = parse_options(options)
    polar = _polar_options(parsed_options)
    for passage in _choosing_passages(answer, letters):
        # what stands before "wait, that is wrong" was taken back
        if passage.start <= answer.retraction_end:
            break
        choice = _passage_choice(passage.text, parsed_options, polar, head=passage.corrects)
        if choice is not None:
            return choice
    if _concludes_with_other_value(answer, parsed_options):
        return ()
    # options that are yes and no are chosen by statements as well: "There is no dog"
    if polar:
        polarity = read_polar(text, question)
        return (polar[polarity],) if polarity else ()
    lettered = letter_with_predicate(answer.sentences, options)
    return _named_choice(answer, parsed_options, question) if lettered is None else lettered


def _concludes_with_other_value(answer: ParsedAnswer, options: Sequence[Option]) -> bool:
    """Whether the last value that is called the answer is none of the options, which are values."""
    called = [passage for passage in answer.explicit if not passage.corrects]
    if not called or sum(option.is_value for option in options) < _MIN_VALUES:
        return False
    passage = called[0]  # they stand the last first
    return Option(passage.text).is_value and not (
        named_options(passage.text, options)
        or named_options(answer.text[passage.start + len(passage.text) :], options)
    )


_MIN_VALUES = 2


def _choosing_passages(answer: ParsedAnswer, letters: str) -> list[Passage]:
    """The passages that may choose by a letter, the last first: what is called the answer, a letter
    that is called correct, a letter at the beginning or alone on the last line.
    """
    text = answer.text
    passages = [*answer.explicit, *_letters_called_correct(text, letters)]
    passages += [Passage(letter, start) for letter, start in called_correct_abroad(text, letters)]
    # "(a) It weighs 5 kg. (b) It costs 3." answers the parts of a question
    lines = [] if _LETTERED_PARTS.match(text) else list(filter(str.strip, text.split("\n")))
    is_called = any(not passage.corrects for passage in answer.explicit)
    # "The answer is D. A is 5 km from home" still says D
    ends = answer.sentences[-1:] if lines else ()
    last = [line for line in ends if not is_called or judges_letter(line)]
    corrections = [passage.start for passage in passages if passage.corrects]
    for start, line in (
        *((0, line) for line in lines[:1]),
        *((text.rfind(line), line) for line in (*answer.concluding[:1], *last)),
    ):
        # "A – wait, those are greenhouses" takes back its beginning
        if not any(start < correction < start + len(line) for correction in corrections):
            passages.append(Passage(line, start, True))
    return sorted(passages, key=lambda passage: passage.start, reverse=True)


def _letters_called_correct(text: str, letters: str) -> list[Passage]:
    """The letters that a text calls correct; none where it goes through all: "A: true. B: true"."""
    passages = []
    for match in called_correct(text):
        letter = next(filter(None, match.groups()))
        supposed = _IF_BEFORE.search(text, sentence_start(text, match.start()), match.start())
        if letter in letters and not supposed and not is_denied(text, match.start(), match.start()):
            passages.append(Passage(letter, match.start()))
    return [] if len({passage.text for passage in passages}) > _MAX_CORRECT else passages


_MAX_CORRECT = 2
_LETTERED_PARTS = re.compile(r"\(a\) [^()]*\w[.;,]?\s+(?:and )?\(b\) \w")
_IF_BEFORE = re.compile(r"\bif\b[^.!?\n]*$", re.IGNORECASE)


def _passage_choice(
    text: str, options: Sequence[Option], polar: Mapping[Polar, str], head: bool
) -> tuple[str, ...] | None:
    """The letters that a passage chooses, which may be none; None where it does not speak of that.

    With `head`, only a letter at its beginning counts.
    """
    letters, end = head_letters(text, LETTERS[: len(options)])
    if letters:
        # "A and B" may be an option
        letters_of_text = _letters_where(
            options, lambda option: not option.is_single_character and option.matches_text(text)
        )
        return tuple(letters_of_text) or _head_choice(text, letters, end, options, head)
    remainder = text[HEAD_WORDS.match(text).end() :]  # type: ignore[union-attr]
    if not (head or polar) and _OTHER_LETTER.match(remainder):  # "(E)" of four
        return ()
    exact = _letters_where(options, lambda option: option.equals(text) or option.equals(remainder))
    if len(exact) > 1:  # "2 circles" is not "2 cubes"
        exact = _letters_where(options, lambda option: option.matches_text(text))
    if len(exact) == 1:
        return tuple(exact)
    if head:
        return None
    letters = letters_together(remainder, LETTERS[: len(options)])
    return letters or _text_choice(text, options, polar)


_OTHER_LETTER = re.compile(r"\([A-Z]\)(?: |$)")


def _letters_where(options: Sequence[Option], has_property: Callable[[Option], bool]) -> list[str]:
    """The letters of the options of which something holds."""
    return [option.letter for option in options if has_property(option)]


# "A is tempting, but the text makes clear that it is D"
_TURN = re.compile(
    r"\bbut\b[^.\n]*\b(?:it is|must be|should be|points to|suggests)\s+(?:option )?"
    r"[(\[]?([A-Z])[)\]]?\W*$"
)
_OR = re.compile(r"\b(?:or|oder|ou|o)\b|[/或]", re.IGNORECASE)


def _head_choice(
    text: str, letters: tuple[str, ...], end: int, options: Sequence[Option], head: bool
) -> tuple[str, ...] | None:
    """The choice of a passage that begins with letters, the last of which ends at `end`."""
    remainder = text[end:]
    if len(letters) > 1:
        # "A, B and C lack the gate", "A or B. It rests on the floor: B."
        is_mention = re.match(r"\s+[a-z]", remainder) is not None
        is_open = _OR.search(text[:end]) is not None and re.search(r"\w", remainder) is not None
        if head and (is_mention or is_open):
            return None
        return letters
    (option,) = (option for option in options if option.letter == letters[0])
    if option.begins(remainder.lstrip(" .,:;)]*\"'—–-")):
        behind = normalize(remainder.lstrip(" .,:;)]*\"'—–-"))[len(option.text) :]
        is_dismissed = head and _DISMISSED.match(behind)
        return None if is_dismissed else (*letters, *letter_behind_or(behind))
    turn = _TURN.search(first_sentence(remainder))
    if turn and any(option.letter == turn[1] for option in options):
        return (turn[1],)
    if is_denied(text, 0, end) or (head and _MENTION_ONLY.match(remainder)):
        return None
    if _HYPOTHETICAL.match(remainder):
        return None
    return () if _contradicts(option, remainder, options) else letters


def _text_choice(
    text: str, options: Sequence[Option], polar: Mapping[Polar, str]
) -> tuple[str, ...] | None:
    """The choice of a passage that names options by their texts, or by letters within it."""
    first = first_sentence(text) or text
    no_choice = () if says_unable(first) else None
    if polar:
        polarity = leading_polarity(text)
        return (polar[polarity],) if polarity else no_choice
    letters_named = named_options(first, options) or named_options(text, options)
    if len(letters_named) == 1:
        return tuple(letters_named)
    marked = [it[1] or it[2] for it in _MARKED.finditer(text) if not is_denied(text, *it.span())]
    marked_options = _letters_where(options, lambda option: option.letter in marked)
    if len(marked_options) == 1:
        return tuple(marked_options)
    return () if letters_named else no_choice


_LEADING_MARKS = re.compile(r"[\s.,:;)\]*\"'—–-]+")


def _contradicts(option: Option, remainder: str, options: Sequence[Option]) -> bool:
    """Whether the letter of an option is followed by the text of another: "B. red" where red is
    A.
    """
    marks = _LEADING_MARKS.match(remainder)
    sentence = first_sentence(remainder[marks.end() :] if marks else remainder)
    return len(option.text) > 1 and any(
        rival.begins(sentence) for rival in options if rival is not option and len(rival.text) > 1
    )


def _named_choice(
    answer: ParsedAnswer, options: Sequence[Option], question: str
) -> tuple[str, ...]:
    """The option that an answer names; the other one where it says the contrary of what is asked:
    "The cat is smaller", of a dog and a cat of which the larger is asked for.
    """
    letters = _stated_choice(answer, options, question) or _reworded_choice(answer, options)
    # before the clauses are searched for the option: few questions compare things
    if len(letters) != 1 or not asks_for_degree(question):
        return letters
    (text,) = (option.text for option in options if option.letter == letters[0])
    for clause in _CLAUSE_END.split(answer.text):
        if letters[0] in named_options(clause, options):
            if not compares_contrarily(clause, question, text) or _NEGATION.search(clause):
                return letters
            compared_options = [it for it in options if not _OF_NO_THING.search(it.text)]
            rivals = [it.letter for it in compared_options if it.letter not in letters]
            return tuple(rivals) if len(rivals) == 1 else ()
    return letters


def _reworded_choice(answer: ParsedAnswer, options: Sequence[Option]) -> tuple[str, ...]:
    """The only option that a sentence names by a synonym, or by another form of its verb: "A
    plane" for "airplane", "It runs" of "running" and "sitting".
    """
    if len(answer.sentences) != 1:
        return ()
    sentence = answer.sentences[0]
    if _NEGATION.search(sentence) or DOUBT.search(sentence):
        return ()
    words = content_words(sentence)
    are_verbs = all(_GERUND.fullmatch(option.text) for option in options)
    named_letters = []
    for option in options:
        is_done = are_verbs and content_words(option.text)[0] in words
        if is_done or phrases_in(sentence, with_synonyms(option.text)):
            named_letters.append(option.letter)
    return tuple(named_letters) if len(named_letters) == 1 else ()


_GERUND = re.compile(r"\w{2,}ing", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[.,;:!?]\s|\n| (?:since|because|while|whereas|but|so|as|and) ")
_OF_NO_THING = re.compile(r"\b(?:same|equal\w*|both|neither|none|cannot|not|no)\b")
"""An option such as "They are equal", which is none of the things that are compared."""


def _stated_choice(
    answer: ParsedAnswer, options: Sequence[Option], question: str
) -> tuple[str, ...]:
    """The option that an answer names by its text where it concludes, or the only one it names."""
    if answer.retraction_end >= 0 or not answer.sentences:
        return ()
    if answer.breaks_off and len(answer.sentences) > _MAX_CUT_SENTENCES:
        return ()
    emphasised = _emphasised_choice(answer, options)
    if emphasised:
        return emphasised
    first, last = answer.sentences[0], answer.sentences[-1]
    if _is_undecided(answer, options):
        return _undecided_choice(last, options)
    # "it may be a cat" at the end leaves open what was said before
    if is_tentative(last) and not answer.concluding:
        return ()
    conclusion = _identified_choice(answer, options)
    if conclusion is None:
        conclusion = _concluded_choice(answer, options, question)
    if conclusion is not None:
        return conclusion
    for sentence in restating_sentences(answer.sentences, question)[-1:]:
        letters_named = named_options(sentence, options)
        if len(letters_named) == 1:
            return tuple(letters_named)
    letter = lone_letter(last, LETTERS[: len(options)], question)
    if letter:
        return (letter,)
    # in a long answer one thing may be illegible and the rest not
    if len(answer.sentences) <= 3 and says_unable(answer.text):
        return ()
    letters_named = named_options(first, options)
    if len(letters_named) == 1 and letters_named == named_options(answer.text, options):
        return tuple(letters_named)
    return (
        _computed_option(last, options)
        or _begun_option(first, options)
        or sole_undenied_letter(answer.text, LETTERS[: len(options)])
    )


def _is_undecided(answer: ParsedAnswer, options: Sequence[Option]) -> bool:
    """Whether an answer begins or ends by saying that it cannot tell, and not only of what it did
    not choose: "Box B fits. Box A is too small".
    """
    first, last = answer.sentences[0], answer.sentences[-1]
    is_first_unable = says_unable(first)
    is_last_unable = says_unable(last)
    if not (is_first_unable or is_last_unable):
        return False
    # "which of the first or second image" names none
    opening = _OPEN_CLAUSE.split(first)[0]
    letters_named = named_options(opening, options)
    last_letters = named_options(last, options)
    if is_last_unable:
        is_contrast = letters_named[:1] not in ([], last_letters[:1]) or _CONTRAST.search(last)
        return is_first_unable or len(letters_named) != 1 or not (last_letters and is_contrast)
    # "It does not show a red ball. It shows a green house"
    opening = normalize(opening)
    all_letters = {it.letter for it in options if next(it.occurrences(opening), None)}
    is_denial = all_letters and len({*last_letters} - all_letters) == len({*last_letters}) == 1
    if answer.concluding or is_denial or len(letters_named) == 1:
        return False
    return _TURN_TO_GUESS.search(answer.text) is None


_OPEN_CLAUSE = re.compile(r"\b(?:which|whether|about)\b")
_TURN_TO_GUESS = re.compile(
    r"\b(?:but|however|likely|probably|seems?|appears?|guess|still|assum\w+|if)\b", re.IGNORECASE
)
# a longer answer that breaks off was still weighing the options
_MAX_CUT_SENTENCES = 2


def _identified_choice(answer: ParsedAnswer, options: Sequence[Option]) -> tuple[str, ...] | None:
    """The option that the first or last sentence is, or that the first names with its reasons:
    "It is the bench. The dog lies behind it.", "The bear naps. This is evident from ...".
    """
    if answer.concluding:
        return None
    first, *further = answer.sentences
    last = answer.sentences[-1]
    identification = _IDENTIFICATION.match(first) or _PREFERRED.match(first)
    lines = set(map(normalize, answer.sentences))
    letters = _letters_where(
        options,
        lambda option: (
            option.equals(first)
            or option.equals(last)
            or normalize(f"({option.letter}) {option.text}") in lines
        ),
    )
    if not letters and identification:
        letters = named_options(identification[1], options)
    elif not letters and further and _REASON.match(further[0]):
        letters = named_options(first, options)
    return tuple(letters) if len(letters) == 1 else None


def _computed_option(sentence: str, options: Sequence[Option]) -> tuple[str, ...]:
    """The only option that is the result of the calculation in a sentence."""
    if CALCULATION.search(sentence) is None:
        return ()
    result = sole_number(sentence[sentence.rfind("=") + 1 :])
    letters = _letters_where(options, lambda option: bool(result and option.is_number(result)))
    return tuple(letters) if len(letters) == 1 else ()


_IDENTIFICATION = re.compile(
    r"(?:it|this|that) (?:is|must be) ((?:an? |the )?\w+(?: \w+){0,2})[.!]$", re.IGNORECASE
)
# "A rather than B" in Japanese, Korean and Chinese
_PREFERRED = re.compile(r"([^。.\n]{1,60}?)(?:の(?:方|ほう)が|[이가] 더 |更(?![正新改换]))")
_REASON = re.compile(
    r"(?:this|it|that|we)(?: (?:conclusion|answer|choice))? (?:is|was|can(?: be)?|could be)"
    r" (?:\w+ly )?(?:indicated|deduced|inferred|evident|evidenced|observed|seen|based|drawn|reached"
    r"|determined|concluded|supported|suggested|tell|see|deduce|infer)\b",
    re.IGNORECASE,
)


def _begun_option(sentence: str, options: Sequence[Option]) -> tuple[str, ...]:
    """The only option that begins with a sentence of one or two words: "Both." for "Both shops"."""
    beginning = normalize(sentence)
    if not beginning or len(beginning.split()) > _MAX_BRIEF_WORDS or beginning in POLARITY:
        return ()
    letters = _letters_where(options, lambda option: f"{option.text} ".startswith(f"{beginning} "))
    return tuple(letters) if len(letters) == 1 else ()


_MAX_BRIEF_WORDS = 2


def _emphasised_choice(answer: ParsedAnswer, options: Sequence[Option]) -> tuple[str, ...]:
    """The option that an answer sets in bold, or calls the best or correct one."""
    all_letters = LETTERS[: len(options)]
    for text in answer.emphasised:
        letters, _ = head_letters(text, all_letters)
        choice = list(letters) or named_options(text, options)
        if len(choice) == 1:
            return tuple(choice)
    text = normalize(answer.text)
    if _BEST.search(text) is None:
        return ()
    best = _letters_where(
        options, lambda it: any(_BEST.match(text, end) for _, end in it.occurrences(text))
    )
    return tuple(best) if len(best) == 1 else ()


def _undecided_choice(sentence: str, options: Sequence[Option]) -> tuple[str, ...]:
    """The options such as "it cannot be determined" that an answer chooses, or its guess."""
    guess = GUESS.search(sentence)
    if guess and guess[1] in LETTERS[: len(options)]:
        return (guess[1],)
    letters_named = named_options(sentence, options)
    undecided = _letters_where(
        options, lambda option: says_unable(option.text) and not option.text.startswith("none of")
    )
    if len(undecided) == 1 and not letters_named and _INSUFFICIENT.search(sentence):
        return tuple(undecided)
    return tuple(letter for letter in letters_named if letter in undecided)


def _concluded_choice(
    answer: ParsedAnswer, options: Sequence[Option], question: str
) -> tuple[str, ...] | None:
    """The choice of the conclusion, or of the first or last sentence; None where it names none."""
    asks_denied = _NEGATION.search(question[question.rfind(". ") + 1 :]) is not None

    def relevance(sentence: str) -> tuple[bool, int]:
        # "Box B, on the other hand, is too large", "The third image does not fit"
        # in "it isn't; it is blue" the first half alone does
        is_contrary = (_NEGATION.search(sentence.split(";")[-1]) is not None) != asks_denied
        return not (is_contrary or _CONTRAST.search(sentence)), shared_words(sentence, question)

    end = max((answer.sentences[-1], answer.sentences[0]), key=relevance)
    in_question = named_options(question, options)
    for text in (end,) if asks_denied else answer.concluding[:1]:
        remaining = _remaining_option(text, options, asks_denied)
        if remaining:
            return remaining
    for text in (*answer.concluding[:1], end):
        letters_named = named_options(text, options)
        new_letters = [letter for letter in letters_named if letter not in in_question]
        letters_named = new_letters or letters_named
        if len(letters_named) == 1:
            return tuple(letters_named)
        if letters_named:
            return _clause_choice(text, options, question)
    return None


_CONTRAST = re.compile(r"\b(?:on the other hand|whereas|while|less|in contrast)\b", re.IGNORECASE)


_NEGATION = re.compile(r"\b(?:not|neither|never|(?:is|are) missing)\b|n't\b")


def _remaining_option(text: str, options: Sequence[Option], asks_denied: bool) -> tuple[str, ...]:
    """The one option left where a text denies all others by their texts, or affirms them where the
    question asks what is not so.
    """
    if bool(named_options(text, options)) != asks_denied:
        return ()
    if asks_denied and (len(options) < 3 or _NEGATION.search(text)):
        return ()  # "The saw lies on the floor" says nothing of the drill
    text = normalize(text)
    remaining = _letters_where(options, lambda option: next(option.occurrences(text), None) is None)
    return tuple(remaining) if len(remaining) == 1 else ()


# the clause behind one of these draws the conclusion of a sentence
_INFERENCE = re.compile(
    r",\s*(?:that is|it is|this is|so|hence|thus|therefore|i\.e\.,?|meaning"
    r"|which (?:is|means|makes))\s",
    re.IGNORECASE,
)


# "Only the tortoise is a reptile"
_EXCLUSIVE = re.compile(
    r"\bonly ((?:[^\W\d]+ ){1,4}?)(?:is|are|was|were|has|have)\b", re.IGNORECASE
)


# "it's Figure 4 that fits"
_CLEFT = re.compile(r"\bit(?:'s| is) ([^,.;]{1,40}?) (?:that|which|who)\b", re.IGNORECASE)


def _clause_choice(text: str, options: Sequence[Option], question: str) -> tuple[str, ...]:
    """The choice of the clause that answers, or of the last clause, of a sentence that names
    several options.
    """
    inference = _INFERENCE.search(text)
    exclusive = _EXCLUSIVE.search(text)
    cleft = _CLEFT.search(text)
    clauses = [
        exclusive[1] if exclusive else "",
        cleft[1] if cleft else "",
        text[inference.end() :] if inference else "",
        answering_clause(text, question),
        without_side_remark(normalize(without_adverbial(text))),
        re.split("; |, but |[、，،]", text)[-1],
    ]
    choices = [named_options(clause, options) for clause in clauses]
    if all(option.number is not None for option in options):  # "18 - 3 = 15", both of them options
        counts = question.lower().startswith("how many")
        number = read_number(text, counts, question)
        stated = _letters_where(options, lambda option: bool(number and option.is_number(number)))
        choices.insert(0 if CALCULATION.search(text) else len(choices), stated)
    return tuple(next((letters for letters in choices if len(letters) == 1), ()))


def _polar_options(options: Sequence[Option]) -> dict[Polar, str]:
    """Polarity -> letter, where the options are yes and no, or true and false."""
    polar = {POLARITY[it.text]: it.letter for it in options if it.text in POLARITY}
    return polar if len(polar) == len(options) == 2 else {}
