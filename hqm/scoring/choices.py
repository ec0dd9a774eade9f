"""The reader of choices: by a letter, by the text of an option, by its number or its place."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from hqm.scoring.commitments import (
    Answer,
    Passage,
    answering_clause,
    denied,
    normal,
    passages,
    plain,
    sentences,
    shared_words,
    squeezed,
    unable,
)
from hqm.scoring.polar_answers import POLARITY, Polar, lead, read_polar
from hqm.scoring.written_numbers import Number, number_of, numbers_in
from hqm.types import LETTERS

_HEAD = re.compile(
    r"^(?:[\s\"'“”:>,*-]|(?:the|option|choice|answer|letter|answers|number|la|le|el|die|der|das"
    r"|lettre|letra|opción|opção|opzione|選択肢|选项|вариант|буква|likely|probably|clearly|definitely"
    r"|therefore|thus|indeed|either|both|(?:that|it)(?:'s)?|is|with|for|no|yes|not quite|rather"
    r"|должно"
    r"|быть|be|to be|should be|would be|must be|change|to|my|final|correct"
    r"|will go)\b[\s,:;.—–-]*)*",
    re.IGNORECASE,
)
_LETTER = re.compile(
    r"[\[({]{0,2}([A-Z])(?:[\])}]{1,2}|(?![A-Za-z0-9_'’]|-\w|\s*[=≈]\s*(?:[a-z]?\W*\d|½|[a-z]\b)))"
    r"|[\[(]([a-z])[\])]"
    r"|([a-z])(?=[.)\"'](?:[\s,}]|$)|$)"
)
_NEXT = re.compile(r"[\s,/&;]*(?:\b(?:and|or|und|oder|et|ou|y|e|o)\b|[,/&、和或]|(?=[\[(]))\s*")
_VERB = re.compile(
    r"\s+(?:is|was|because|since|as|and|or|would|seems|looks|matches|shows|has|must|fits|due|best"
    r"|correctly|for|but|by|will)\b|\s*(?:$|[^\w\s]|[^\x00-\x7f])|\s+[^a-z\s]"
)
_CORRECT = re.compile(
    r"(?:\b(?:option|choice|answer|letter)s?\s*)?(?<![\w'])[(\[]?([A-Z])[)\]]?(?![\w'])"
    r"(?:[,:] (?:(?!\b[A-Z]\b)[^.\n]){0,60}?)?\s+(?:is|are|seems?|looks?|must be|would be|appears?"
    r"|was)\s+(?:to be\s+)?"
    r"(?:(?:therefore|thus|clearly|definitely|indeed|the|most|only|one|that|a)\s+)*"
    r"(?:correct|right|best|better|answer|closest|true|match|likely|appropriate|accurate|fitting)\b"
    r"|(?<![\w'])([A-Z])\s+(?:(?:fits|works|matches|suits)(?: it)? (?:best|better)|makes (?:the )?most sense)\b"
    r"|\b(?:corresponds?|matches|belongs|equals|refers|points) (?:to |with )?(?:option|choice"
    r"|answer)"
    r"\s*[(\[]?([A-Z])[)\]]?(?![\w'])"
    r"|\b(?:best|closest|correct|right) (?:option|choice|answer|match)[^.\n]{0,20}?"
    r"\b(?:option|choice)\s*[(\[]?([A-Z])[)\]]?(?![\w'])"
    r"|\b([A-Z])[)\].]?(?:\s[^\n:?–—|-]{1,60})?\s*[:?–—|-]\s*(?:[Yy]es|[Cc]orrect|[Tt]rue)\b"
)
_SPOKEN_OF = re.compile(
    r"\s+(?:would|could|might|may|lacks?|needs?|requires?|are|were|do|does|did|have|cannot|can't"
    r"|also|both|all)\b|\s+(?:is|was)\s+(?:also|too|a|an|the(?! (?:correct|right|best|only|most"
    r"|answer|closest|one))|out|less|un\w+|im\w+|in\w+|off)\b"
)
"""A letter is spoken of, and not chosen: "A would need a steeper line"."""
_MARKED = re.compile(r"\b(?:option|choice)\s*[(\[]?([A-Z])[)\]]?(?![\w'])|\(([A-Z])\)")
_TICKED = re.compile(r"^\W*([A-Z])\b[^\n]*[✅✔☑✓]", re.MULTILINE)
_BEST = r" (?:is|seems|looks) (?:the )?(?:best|closest|most likely|only|correct|right)\b"
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "1st", "2nd", "3rd", "4th", "5th")
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
    chosen = read_choices(text, options, question)
    return chosen[0] if len(chosen) == 1 else None


def read_choices(text: str, options: Sequence[str], question: str = "") -> tuple[str, ...]:
    """The letters of all options that an answer chose; none where it commits itself to none.

    >>> read_choices("ANSWER: A, C", ("red", "blue", "green"))
    ('A', 'C')
    """
    letters = LETTERS[: len(options)]
    simple = text.strip(" \n.()*").upper()
    if len(simple) == 1 and simple in letters:
        return (simple,)
    ticked = set(_TICKED.findall(text))
    if len(ticked) == 1 and ticked <= set(letters):
        return tuple(ticked)
    answer = passages(text)
    if not answer.text:
        return ()
    forms = options_of(tuple(map(str, options)))
    polar = _polar_options(forms)
    for passage in _chosen_passages(answer, letters):
        if passage.start <= answer.retracted:
            break
        chosen = _in_passage(passage.text, letters, forms, polar, head=passage.corrects)
        if chosen is not None:
            return chosen
    if polar:
        said = read_polar(text, question)
        return (polar[said],) if said else ()
    return _by_name(answer, letters, forms, question)


def _chosen_passages(answer: Answer, letters: str) -> list[Passage]:
    """The passages that may choose by a letter, the last first: what is called the answer, a letter
    that is called correct, a letter at the beginning or alone on the last line.
    """
    text = answer.text
    places = list(answer.explicit)
    for match in _CORRECT.finditer(text):
        letter = next(filter(None, match.groups()))
        supposed = re.search(r"\bif\b[^.!?\n]*$", text[: match.start()], re.IGNORECASE)
        if letter in letters and not supposed and not denied(text, match.start(), match.start()):
            places.append(Passage(letter, match.start()))
    lines = [line for line in text.split("\n") if line.strip()]
    places += [Passage(line, 0, True) for line in lines[:1]]
    ends = (*answer.concluding[:1], *answer.sentences[-1:])
    places += [Passage(each, text.rfind(each), True) for each in ends]
    return sorted(places, key=lambda place: place.start, reverse=True)


def _in_passage(
    text: str,
    letters: str,
    forms: Sequence[Option],
    polar: Mapping[Polar, str],
    head: bool,
) -> tuple[str, ...] | None:
    """What a passage chooses, which may be nothing; None where it does not speak of that.

    With `head`, only a letter at its beginning counts.
    """
    first = (sentences(text) or [text])[0]
    chosen, end = _letters_at_head(text, letters)
    if chosen:
        rest = text[end:]
        if len(chosen) == 1:
            own = forms[letters.index(chosen[0])]
            if own.begins(rest.lstrip(" .,:;)]*\"'—–-")):
                return chosen
            if denied(text, 0, end):
                return None
            if head and _SPOKEN_OF.match(rest):
                return None
            if _contradicts(own, rest, forms):
                return ()
        elif head and re.match(r"\s+[a-z]", rest):
            return None  # "A, B and C lack the gate"
        return chosen
    behind = text[_HEAD.match(text).end() :]  # type: ignore[union-attr]
    whole = [a for a, form in zip(letters, forms, strict=True)
             if form.equals(text) or form.equals(behind)]  # fmt: skip
    if len(whole) == 1:
        return (whole[0],)
    if head:
        return None
    nothing = () if unable(first) else None
    if polar:
        said = lead(text)
        return (polar[said],) if said else nothing
    named = _named(first, letters, forms) or _named(text, letters, forms)
    if len(named) == 1:
        return tuple(named)
    marked = {match[1] or match[2] for match in _MARKED.finditer(text)
              if not denied(text, *match.span())} & set(letters)  # fmt: skip
    if len(marked) == 1:
        return tuple(marked)
    return () if named else nothing


def _letters_at_head(text: str, letters: str) -> tuple[tuple[str, ...], int]:
    """The letters that a passage begins with, and where they end."""
    start = _HEAD.match(text).end()  # type: ignore[union-attr]
    if re.search(r"\bno\s*$", text[:start], re.IGNORECASE):
        return (), start
    chosen: list[str] = []
    end = start
    while (match := _LETTER.match(text, end)) is not None:
        letter = (match[1] or match[2] or match[3]).upper()
        is_word = match[0] in ("A", "I")
        if letter not in letters or (is_word and not _VERB.match(text, match.end())):
            break
        chosen.append(letter)
        end = match.end()
        follows = _NEXT.match(text, end)
        if follows is None or _LETTER.match(text, follows.end()) is None:
            break
        end = follows.end()
    return tuple(dict.fromkeys(chosen)), end


def _contradicts(own: Option, rest: str, forms: Sequence[Option]) -> bool:
    """Whether the letter of an option is followed by the text of another: "B. red" where red is
    A.
    """
    rest = (sentences(re.sub(r"^[\s.,:;)\]*\"'—–-]+", "", rest)) or [""])[0]
    return len(own.text) > 1 and any(
        form.begins(rest) for form in forms if form is not own and len(form.text) > 1
    )


def _by_name(
    answer: Answer, letters: str, forms: Sequence[Option], question: str
) -> tuple[str, ...]:
    """The option that an answer names in full where it concludes, or alone names."""
    if answer.retracted >= 0 or not answer.sentences:
        return ()
    for text in answer.emphasised:
        chosen, _ = _letters_at_head(text, letters)
        named = list(chosen) or _named(text, letters, forms)
        if len(named) == 1:
            return tuple(named)
    best = {
        letter
        for letter, form in zip(letters, forms, strict=True)
        if form.pattern is not None and re.search(form.pattern.pattern + _BEST, normal(answer.text))
    }
    if len(best) == 1:
        return tuple(best)
    last = answer.sentences[-1]
    everywhere = _named(answer.text, letters, forms)
    if unable(last):
        named = _named(last, letters, forms)
        open_ = [a for a, form in zip(letters, forms, strict=True) if unable(form.text)]
        if len(open_) == 1 and not named and _INSUFFICIENT.search(last):
            return tuple(open_)
        return tuple(name for name in named if name in open_)
    ends = sorted(
        (last, answer.sentences[0]), key=lambda text: shared_words(text, question), reverse=True
    )
    asked = _named(question, letters, forms)
    for text in (*answer.concluding[:1], ends[0]):
        named = _named(text, letters, forms)
        named = [name for name in named if name not in asked] or named
        if len(named) == 1:
            return tuple(named)
        if named:
            for clause in (answering_clause(text, question), re.split("; |, but ", text)[-1]):
                inside = _named(clause, letters, forms)
                if len(inside) == 1:
                    return tuple(inside)
            return ()
    lone = _lone_letter(last, letters)
    if lone:
        return (lone,)
    if len(answer.sentences) <= 3 and unable(answer.text):
        return ()
    first = _named(answer.sentences[0], letters, forms)
    return tuple(first) if len(first) == 1 and first == everywhere else ()


def _lone_letter(text: str, letters: str) -> str:
    """The only letter of an option that a sentence has and does not deny; an ordinal ("the second
    option") is one.
    """
    written = {
        match[1]
        for match in re.finditer(r"(?<![\w'’.∠△-])[(\[]?([A-Z])[)\]]?(?![\w'’-])", text)
        if match[1] in letters
        and not denied(text, *match.span())
        and not (match[0] in ("A", "I") and not _VERB.match(text, match.end()))
    }
    ordinal = re.search(
        rf"\b({'|'.join(_ORDINALS)})\s+(?:option|choice|one|answer|figure|image|picture|panel|graph|diagram)\b",
        text,
        re.I,
    )
    number = re.search(r"\b(?:option|choice)\s+#?(\d)\b", text, re.IGNORECASE)
    place = (
        _ORDINALS.index(ordinal[1].lower()) % 5 if ordinal else int(number[1]) - 1 if number else -1
    )
    written |= {letters[place]} if 0 <= place < len(letters) else set()
    return written.pop() if len(written) == 1 else ""


# --- options by their texts ---


class Option:
    """An option as it is looked for in an answer: its words, its number, its letters."""

    __slots__ = ("number", "pattern", "squeezed", "text")

    def __init__(self, option: str, label: str = "") -> None:
        self.text = normal(option)
        self.number = number_of(plain(option).removeprefix(label))
        self.squeezed = squeezed(option)
        self.pattern = re.compile(rf"(?<!\w){re.escape(self.text)}(?!\w)") if self.text else None

    @property
    def is_formula(self) -> bool:
        """Whether it is a formula, which may be written with other spaces."""
        plain_words = re.fullmatch(r"[\w\s]+", self.text) is not None
        long = len(self.squeezed) > (2 if re.search(r"[<>=≤≥^√]", self.text) else 4)
        return long and self.number is None and not plain_words

    def equals(self, text: str) -> bool:
        """Whether a text is the option and nothing else."""
        if self.number is not None:
            number = number_of(text)
            return number is not None and self.is_number(number)
        said = normal(text)
        return bool(self.text) and (
            said == self.text or (self.is_formula and squeezed(text) == self.squeezed)
        )

    def begins(self, text: str) -> bool:
        """Whether a text begins with the option."""
        if self.number is not None:
            numbers = numbers_in(text)
            return bool(numbers) and numbers[0].start < 3 and self.is_number(numbers[0])
        return bool(self.text) and (
            re.match(rf"{re.escape(self.text)}(?!\w)", normal(text)) is not None
            or (len(self.squeezed) > 4 and squeezed(text).startswith(self.squeezed))
        )

    def is_number(self, number: Number) -> bool:
        """Whether a number is the option's."""
        return self.number is not None and number.matches(self.number)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where a normal text names the option."""
        if self.number is not None:
            return [(n.start, n.end) for n in numbers_in(text) if self.is_number(n)]
        if self.pattern is None:
            return []
        return [match.span() for match in self.pattern.finditer(text)]


@lru_cache(maxsize=4096)
def options_of(options: tuple[str, ...]) -> tuple[Option, ...]:
    """The options of a question."""
    firsts = {option.split(" ")[0] for option in options}
    label = firsts.pop() if len(firsts) == 1 else ""
    # "Figure 1" may be named by its number
    label = label if len(label) > 1 and label.isalpha() else ""
    return tuple(Option(option, label) for option in options)


def _named(text: str, letters: str, forms: Sequence[Option]) -> list[str]:
    """The letters of the options that a text names and does not deny: "blue" inside "dark blue" is
    the longer one.
    """
    text = normal(text)
    places: dict[str, list[tuple[int, int]]] = {}
    for letter, form in zip(letters, forms, strict=True):
        if len(form.text) == 1 and form.text.isalpha():
            continue  # an option that is a letter is chosen by a letter
        spans = [span for span in form.spans(text) if not denied(text, *span)]
        if spans:
            places[letter] = spans
    named = [
        letter
        for letter, spans in places.items()
        if any(
            not any(
                other != letter and low <= start and end <= high and high - low > end - start
                for other, others in places.items()
                for low, high in others
            )
            for start, end in spans
        )
    ]
    if not named:
        tight = squeezed(text)
        inside = {
            letter: form.squeezed
            for letter, form in zip(letters, forms, strict=True)
            if form.is_formula and re.search(rf"{re.escape(form.squeezed)}(?!\w)", tight)
        }
        named = [
            letter
            for letter, short in inside.items()
            if not any(short != long and short in long for long in inside.values())
        ]
    return named or _named_by_words(text, letters, forms)


_SMALL_WORDS = frozenset(
    "a an the is are was were be of in on at to for by and or it he she they".split()
)


def _named_by_words(text: str, letters: str, forms: Sequence[Option]) -> list[str]:
    """The letters of the options whose own words, which no other option has, a text says."""
    text = re.sub(r"(?:^|(?<=[.!?] ))if [^,.]*,", "", text)
    words = [set(re.findall(r"\w+", form.text)) - _SMALL_WORDS for form in forms]
    brief = len(text.split()) < 4
    named = []
    for place, (letter, own) in enumerate(zip(letters, words, strict=True)):
        own = own.difference(*words[:place], *words[place + 1 :])
        said = [re.search(rf"(?<!\w){each}(?!\w)", text) for each in own]
        is_word = any(len(each) > 3 for each in own) and not any(map(str.isdigit, "".join(own)))
        if (
            said
            and (is_word or brief)
            and all(match and not denied(text, *match.span()) for match in said)
        ):
            named.append(letter)
    return named


def _polar_options(forms: Sequence[Option]) -> dict[Polar, str]:
    """Polarity -> letter, where the options are yes and no, or true and false."""
    polar = {POLARITY[form.text]: LETTERS[i] for i, form in enumerate(forms)
             if form.text in POLARITY}  # fmt: skip
    return polar if len(polar) == len(forms) == 2 else {}
