"""Options of a multiple choice that refer to other options: "Both A and B", "None of the above".

Such an option keeps its place when options are shuffled, and letters in it follow the options that
they name. Where a letter may as well name something in the picture or the question ("stocks A and
B"), the options that it names change places among themselves alone, so that both readings hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from hqm.types import LETTERS

_QUANTIFIER = (
    r"(?:none|all|both|any|neither|either|each|some|one|two|three|more than one|only one|not all"
    r"|no)\b"
)
_NOUN = (
    r"(?:options?|choices?|answers?|responses?|alternatives?|ones?|statements?|possibilities"
    r"|reasons?|items?|of these|of them)"
)
_JUDGED = (
    r"(?:(?:is|are|can be|may be|could be)\s+)?(?:correct|true|right|possible|apply|applies|fit)"
)
_DIRECTION = r"(?:above|below|preceding|foregoing|aforementioned|previous|following)"
_ABOVE_REFERENCE = re.compile(
    rf"(?:{_QUANTIFIER}\s+)(?:o[a-z]\s+)?(?:the\s+)?(?:other\s+)?(?:{_NOUN}\s+)?"
    rf"(?:(?:listed|given|mentioned|named|shown|provided|stated)\s+)?{_DIRECTION}"
    rf"(?:\s+(?:two|three|four|mentioned|listed|given|{_NOUN}|\w+s))*\s*"
    rf"(?:$|[,;.:(]|\s(?:is|are|apply|applies|can|could|will|may|has|have)\b)",
    re.IGNORECASE,
)
"""An option that names those before it, or behind it."""
_FORWARD = re.compile(r"\b(?:below|following)\b", re.IGNORECASE)
_GROUP_REFERENCE = re.compile(
    rf"(?:both|neither|either|all)(?:\s+{_JUDGED})?"
    rf"|{_QUANTIFIER}\s+(?:of\s+)?(?:(?:the|other|given|listed|provided|remaining|these|those|them"
    r"|two|three|four|five|\d+)\s+)*(?:these|those|them|others?|two|three|four|five"
    rf"|(?:the\s+)?(?:given|listed|provided|other)?\s*{_NOUN})"
    rf"(?:\s+(?:given|listed|provided|mentioned|{_JUDGED}))*"
    rf"|(?:neither|both|either) of the two \w+"
    rf"|(?:none|all|both|neither|any)\s+{_JUDGED}",
    re.IGNORECASE,
)
"""An option that is about all others, wherever they stand."""
_FOREIGN = re.compile(
    r"(?:以上|上述|上記|前述)|위의|보기 중|أعلاه|ما سبق|उपरोक्त|выше(?:\w+)?\b"
    r"|^(?:kein\w*|alle|beide\w*|nichts|eine\w*)\b.*\b(?:genannt\w*|obig\w*|oben|davon|dieser)\b"
    r"|^(?:ningun[oa]s?|tod[oa]s|amb[oa]s|algun[oa])\b.*\b(?:anterior(?:es)?|es[ae]s|est[ae]s)\b"
    r"|^(?:aucune?|tou(?:te)?s|les deux|l'une)\b.*\b(?:ci-dessus|précédent\w*|ces|proposées)\b"
    r"|^(?:nenhum\w*|tod[oa]s|amb[oa]s)\b.*\b(?:anterior(?:es)?|acima|dess[ae]s)\b"
    r"|^(?:nessun\w*|tutt[ei]|entramb[ei])\b.*\b(?:precedenti|sopra|quest[ei])\b"
    r"|^(?:beides|ambos|ambas|les deux|keines|entrambi|оба|都是|都不是|どちらも\w*|둘 다)$",
    re.IGNORECASE,
)
_MAX_CHARS = 80
"""Longer options say something of their own."""

# Chinese sets no space behind a letter, and its characters are word characters of `re`
_LETTER = r"(?:\([A-Za-z]\)|(?<![A-Za-z0-9_'À-ɏ])[A-Za-z](?![A-Za-z0-9_'’À-ɏ])\)?)"
_AND = r"(?:,|，|、|;|/|&|\+|\b(?:and|or|nor|und|oder|et|ou|y|e|и|или)\b|和|与|及|或|と|와|과)"
_NOT = r"(?:,?\s*\b(?:but not|and not|not)\b)"
_BEFORE = (
    r"\b(?:both|either|neither|only|all|none|just|not|sowohl|solo|seulement|nur|of|except|but|the"
    r"|same as|letters?|options?|choices?|answers?|statements?)\b|只有|选项"
)
_AFTER = (
    r"\b(?:only|both|alone|together|are|is|all|not|correct|incorrect|true|false|right|wrong"
    r"|possible|richtig|correctas?|correctes?|vraies?)\b|都|正确|对|是|皆|均"
)
_LETTERS_ONLY = re.compile(
    rf"(?P<before>(?:(?:{_BEFORE})\s*:?\s*)*)"
    rf"(?P<list>{_LETTER}(?:\s*(?:{_NOT}|{_AND})(?:\s*{_AND})*\s*{_LETTER})*)"
    rf"(?P<after>(?:\s*(?:{_AFTER}))*)\s*[.。!]?",
    re.IGNORECASE,
)
"""An option that has no words beside letters and what joins them."""
_LETTER_PATTERN = re.compile(_LETTER)
_NAMES_OPTIONS = re.compile(r"option|choice|answer|选项", re.IGNORECASE)
_NAMES_STATEMENTS = re.compile(r"statement", re.IGNORECASE)
_SINGLE = re.compile(r"option|choice|answer|only|except|but|same as|nur|solo|seulement|只有", re.I)
_IS_JUDGED = re.compile(r"correct|true|right|richtig|vraie|正确|对", re.IGNORECASE)
_UNEQUAL = re.compile(_NOT, re.IGNORECASE)
_ARTICLE_OR_PRONOUN = r"(?:\s+(?!(?:and|or|to|is|has|was|nor|vs)\b)[a-z(]|['’])"
_NUMERAL = re.compile(r"\b(?:II|III|IV)\b")
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
_ORDINAL = rf"(?:{'|'.join(_ORDINALS)}|last|latter|former)"
_SLOT_REFERENCE = re.compile(
    rf"(?:(?:both|only|all|either|neither|none)\s+)?(?:of\s+)?(?:the\s+)?{_ORDINAL}"
    rf"(?:\s*(?:,|and|or|nor)\s*(?:the\s+)?{_ORDINAL})*(?:\s+(?:two|three|four))?\s+{_NOUN}"
    rf"(?:\s+{_JUDGED})?"
    rf"|(?:(?:both|only|all|either|neither|none)\s+)(?:of\s+)?the\s+(?:first|last)\s+(?:two|three)"
    r"|(?:(?:both|only|either|neither)\s+)?(?:options?|choices?|answers?)\s+\d+"
    r"(?:\s*(?:,|and|or|nor)\s*\d+)*",
    re.IGNORECASE,
)
"""An option that names others by their place in the list."""


@dataclass(frozen=True, slots=True)
class OptionReference:
    """An option that refers to other options.

    Parameters
    ----------
    index
        Its place, counted from 0.
    letters
        The places of the options that it names by letters; the letters follow them.
    kept_sets
        Sets of places whose options change places among themselves alone.
    fault
        Why nobody knows which options it means; empty where that is known.
    is_misplaced
        Whether it speaks of the options above, and has other options behind it, or none before it.
    """

    index: int
    letters: tuple[int, ...] = ()
    kept_sets: tuple[frozenset[int], ...] = ()
    fault: str = ""
    is_misplaced: bool = False


def find_references(question: str, options: Sequence[str]) -> tuple[OptionReference, ...]:
    """Find the options that refer to other options.

    Examples
    --------
    >>> options = ("red", "blue", "Both A and B", "None of the above")
    >>> [(r.index, r.letters) for r in find_references("What color is it?", options)]
    [(2, (0, 1)), (3, ())]
    >>> find_references("Which wire is longer?", ("Wire A", "Wire B", "the red one"))
    ()
    """
    question_options = _Options(question, tuple(map(_plain, options)))
    references = map(question_options.reference, range(len(options)))
    return tuple(_mark_misplaced(list(filter(None, references)), question_options.texts))


@dataclass(frozen=True)
class _Options:
    """The options of a question, without marks at their ends."""

    question: str
    texts: tuple[str, ...]

    @cached_property
    def letters(self) -> list[list[int] | None]:
        """The places that each option of letters names; None for any other option."""
        n_letters = len(self.texts)
        if any(_NUMERAL.search(text) for text in self.texts):
            # "I only" beside "II and III" names statements, and no ninth option
            n_letters = min(n_letters, LETTERS.index("I"))
        return [_named_letters(text, n_letters) for text in self.texts]

    @cached_property
    def grounded(self) -> frozenset[int]:
        """The places of the options that say something of their own, or name only such options:
        "B and C" where C is "A and B". Of "A and B" beside "C and D" and "A and E" none is.
        """
        grounded = set()
        for slot, text in enumerate(self.texts):
            if _LETTERS_ONLY.fullmatch(text) is None:
                grounded.add(slot)
        n_grounded = -1
        # Until nothing is added: a named option may name others.
        while n_grounded < len(grounded):
            n_grounded = len(grounded)
            for slot, named_letters in enumerate(self.letters):
                if named_letters is not None and grounded.issuperset(named_letters):
                    grounded.add(slot)
        return frozenset(grounded)

    @property
    def are_slots(self) -> bool:
        """Whether options name places as things of the picture: "the first option", "the
        second".
        """
        return 2 * sum(bool(_SLOT_REFERENCE.fullmatch(t)) for t in self.texts) > len(self.texts)

    def reference(self, index: int) -> OptionReference | None:
        """The reference of an option to others; None where it says something of its own."""
        text = self.texts[index]
        if len(text) > _MAX_CHARS:
            return None
        if self.letters[index] is not None:
            return self._letter_reference(index, self.letters[index] or [])
        # "All of the above": the options before it change places among themselves alone
        if _ABOVE_REFERENCE.match(text) or _is_foreign(text):
            return OptionReference(index, kept_sets=(frozenset(range(index)),))
        # Of two options, "Both" is about something else than the one other option.
        if _GROUP_REFERENCE.fullmatch(text) and len(self.texts) > 2:
            return OptionReference(index)
        # "The first two" means places: none of the options may leave its own
        if _SLOT_REFERENCE.fullmatch(text) and not self.are_slots:
            return OptionReference(index, kept_sets=_singletons(range(len(self.texts))))
        return None

    def _letter_reference(self, index: int, slots: Sequence[int]) -> OptionReference | None:
        """The reference of an option of letters; None where they name something else than
        options.
        """
        match = _LETTERS_ONLY.fullmatch(self.texts[index])
        if match is None:
            return None
        names_statements = _NAMES_STATEMENTS.search(match["before"]) is not None
        names_options = _NAMES_OPTIONS.search(match["before"]) is not None
        is_judged = _IS_JUDGED.search(match["after"]) is not None
        is_sure = names_options or (is_judged and not names_statements)
        if not is_sure and self._have_names(index, slots):
            # "A", "B" and "Both A and B" are about things of these names
            if match["before"].strip():
                return OptionReference(index)
            return None
        if index in slots:
            fault = f"its option {self.texts[index]!r} names itself by its letter"
            return OptionReference(index, fault=fault)
        if not names_options and (names_statements or self._has_label(slots)):
            # "A but not B": the letters have two parts, which may not change places
            is_ordered = _UNEQUAL.search(match["list"]) is not None
            if is_ordered:
                kept_sets = _singletons(slots)
            else:
                kept_sets = (frozenset(slots),)
            return OptionReference(index, kept_sets=kept_sets)
        return OptionReference(index, tuple(slots))

    def _have_names(self, index: int, slots: Sequence[int]) -> bool:
        """Whether options are letters that name things: "B", "(e)", "A and E"."""
        for slot, text in enumerate(self.texts):
            if self.letters[slot] is None and _is_of_letters(text, len(self.texts)):
                return True
        return not self.grounded.issuperset(slot for slot in slots if slot != index)

    def _has_label(self, slots: Sequence[int]) -> bool:
        """Whether the question or an option has one of these letters as the name of something."""
        letters = "".join(LETTERS[slot] for slot in slots)
        label = re.compile(rf"(?<![\w$\\{{<'’])[{letters}](?![\w'’}}]|{_ARTICLE_OR_PRONOUN})")
        if label.search(self.question):
            return True
        for slot, text in enumerate(self.texts):
            if self.letters[slot] is None and label.search(text):
                return True
        return False


def _singletons(slots: Iterable[int]) -> tuple[frozenset[int], ...]:
    return tuple(frozenset({slot}) for slot in slots)


def _mark_misplaced(
    references: Sequence[OptionReference], texts: Sequence[str]
) -> Iterator[OptionReference]:
    """The references, with those marked that speak of options above where others are behind."""
    plain_slots = set(range(len(texts))) - {reference.index for reference in references}
    last_plain = max(plain_slots, default=0)
    for reference in references:
        text = texts[reference.index]
        is_misplaced = reference.index == 0 or last_plain > reference.index
        if is_misplaced and _ABOVE_REFERENCE.match(text) and not _FORWARD.search(text):
            yield replace(reference, is_misplaced=True)
        else:
            yield reference


def _plain(option: str) -> str:
    return re.sub(r"\s+", " ", option).strip(" .!。\"'*")


def _is_foreign(text: str) -> bool:
    return _FOREIGN.search(text) is not None


def _named_letters(text: str, n_options: int) -> list[int] | None:
    """The places that an option of letters names; None for any other option."""
    match = _LETTERS_ONLY.fullmatch(text) if len(text) <= _MAX_CHARS else None
    if match is None:
        return None
    letters = [letter.strip("()") for letter in _LETTER_PATTERN.findall(match["list"])]
    # "A" alone is a thing of that name; "only A" or "option A" is a reference
    if len(letters) == 1 and not _SINGLE.search(match["before"] + match["after"]):
        return None
    # "a and B" begins with an article; "a and b" may name options
    is_lower = any(map(str.islower, letters))
    if is_lower and not (match["before"] or all(map(str.islower, letters))):
        return None
    slots = [LETTERS.find(letter.upper()) for letter in letters]
    is_in_range = min(slots) >= 0 and max(slots) < n_options
    if is_in_range and len(set(slots)) == len(slots):
        return slots
    return None


def _is_of_letters(text: str, n_options: int) -> bool:
    """Whether an option has letters of options alone: "B", "(e)", "a,a"."""
    match = _LETTERS_ONLY.fullmatch(text) if len(text) <= _MAX_CHARS else None
    if match is None:
        return False
    letters = map(
        str.upper, "".join(_LETTER_PATTERN.findall(match["list"])).replace("(", "").replace(")", "")
    )
    return max(map(LETTERS.find, letters)) < n_options


def movable_slots(references: Sequence[OptionReference], n_options: int) -> list[list[int]]:
    """The groups of places among which options may change places, each of two or more.

    >>> movable_slots(find_references("?", ("red", "blue", "Both A and B")), 3)
    [[0, 1]]
    """
    fixed_slots = set()
    kept_sets: list[frozenset[int]] = []
    for reference in references:
        if reference.fault:
            # One option that nobody understands keeps all in their places.
            return []
        fixed_slots.add(reference.index)
        kept_sets += reference.kept_sets
    groups: dict[tuple[bool, ...], list[int]] = {}
    for slot in range(n_options):
        if slot not in fixed_slots:
            # two options may change places where every kept set has both of them or neither
            membership = tuple(slot in kept_set for kept_set in kept_sets)
            groups.setdefault(membership, []).append(slot)
    return [group for group in groups.values() if len(group) > 1]


def reorder_options(
    options: Sequence[str], order: Sequence[int], references: Sequence[OptionReference]
) -> tuple[str, ...]:
    """The options in another order, with the letters in them written for that order.

    Parameters
    ----------
    order
        The place of each option in `options`, in the new order.

    Examples
    --------
    >>> options = ("red", "blue", "green", "Both A and C")
    >>> reorder_options(options, (2, 0, 1, 3), find_references("What is there?", options))
    ('green', 'red', 'blue', 'Both B and A')
    """
    reordered = [options[index] for index in order]
    for reference in references:
        if reference.letters:
            new_slot = order.index(reference.index)
            reordered[new_slot] = _rewrite_letters(reordered[new_slot], order)
    return tuple(reordered)


def _rewrite_letters(text: str, order: Sequence[int]) -> str:
    """The text of an option with each letter that names an option replaced by its new one."""
    start, end = _list_span(text)

    def new_letter(match: re.Match[str]) -> str:
        letter = match[0].strip("()")
        moved = LETTERS[list(order).index(LETTERS.index(letter.upper()))]
        return match[0].replace(letter, moved if letter.isupper() else moved.lower())

    return text[:start] + _LETTER_PATTERN.sub(new_letter, text[start:end]) + text[end:]


def _list_span(text: str) -> tuple[int, int]:
    """Where the letters of an option stand in its text."""
    match = _LETTERS_ONLY.search(text)
    if match:
        return match.span("list")
    return (0, 0)


def referents(question: str, options: Sequence[str]) -> list[frozenset[str]]:
    """The texts that each option that refers to others means, in the order of the options.

    Other options that refer to others are left out. Two orders of the same options have the same
    list, unless an option means others in one of them.

    >>> referents("?", ("red", "blue", "green", "Both A and C"))[0] == {"red", "green"}
    True
    """
    references = find_references(question, options)
    plain_slots = set(range(len(options))) - {reference.index for reference in references}
    text_sets = []
    for reference in references:
        for slots in (reference.letters, *reference.kept_sets):
            named_slots = plain_slots.intersection(slots)
            text_sets.append(frozenset(options[slot] for slot in named_slots))
    return text_sets
