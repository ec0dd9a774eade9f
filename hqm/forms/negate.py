"""Negation of yes/no questions, and their order as statements.

In a statement the auxiliary moves behind its subject, and do and did merge into the verb:

    is the bowl with broccoli on top of the bowl   ->  the bowl with broccoli is on top of the bowl
    does the woman have on her wrist               ->  the woman has on her wrist

The end of the subject is found as for a negation, but more cautiously: where a
noun is followed by words that could be the predicate themselves ("the man holding a stick
successful in ..."), nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from hqm.errors import NoRule
from hqm.forms.find_question import Question, question_of
from hqm.forms.grammar import (
    AUXILIARIES,
    BE,
    COLORS,
    DO,
    PREPOSITIONAL_PHRASE,
    QUOTES,
    Clause,
    Rewrite,
    Token,
    can_be_predicate,
    find_subject_end,
    is_base_verb,
    letters_of,
    names_picture,
    subject_end,
    tag_score,
    unquoted,
    verb_behind,
    words_of,
)
from hqm.forms.tag_cache import RuleCache

PRONOUNS = frozenset(
    "i you he she it we they there someone somebody anyone anybody everyone something".split()
)
_SUBORDINATE = frozenset("when while as if where because before after".split())
_RELATIVE = frozenset("that who which whose where what".split())
MATERIALS = frozenset(
    (
        "brick bronze ceramic chocolate concrete cotton denim fabric glass gold iron leather linen"
        " marble metal paper plastic rubber silk silver steel stone vanilla velvet wood wool"
    ).split()
)
_SUBJECT_LIMITS = _SUBORDINATE | {"doing", "like"}


def as_statement(
    body: str, clause: Clause, question_word: str = "", may_lack_predicate: bool = False
) -> str | None:
    """Reorder a clause as a statement: the auxiliary behind its subject.

    Parameters
    ----------
    body, clause
        The text, and its tagged words from the auxiliary on.
    question_word
        The question word before it ("who", "what"), if any.
    may_lack_predicate
        Whether the subject may reach to the end: "(What) is the design on the snowboard" has
        nothing behind it.

    Returns
    -------
    str or None
        None where the end of the subject would be a guess.

    Examples
    --------
    >>> from hqm.forms.grammar import tag
    >>> as_statement("Does the man have a hat", tag("Does the man have a hat"))
    'the man has a hat'
    >>> clause = "is the design on the snowboard"
    >>> as_statement(clause, tag(clause), "what", may_lack_predicate=True)
    'the design on the snowboard is'
    """
    if len(clause) < 2:
        return None
    # The clause ends at its last word; marks behind it stay where they are.
    tail = body[clause[-1].end :]
    end = _end_of_subject(clause, question_word, may_lack_predicate)
    if end is None:
        return None
    if clause[1].word in _RELATIVE and clause[1].word != "that":
        return None  # "Is what he holds a phone?"
    sure = (
        (clause[0].word in DO and _RELATIVE.isdisjoint(words_of(clause[1 : end + 1])))
        or clause[1].word in PRONOUNS
        or clause[min(end, len(clause) - 1)].word in _SUBJECT_LIMITS
        or clause[min(end, len(clause) - 1)].text in QUOTES
    )
    if not sure and end < len(clause) and not _is_predicate(clause, end):
        return None
    subject = body[clause[1].start : clause[end - 1].end].rstrip(" ,")
    if end < len(clause):
        predicate = body[clause[end].start : clause[-1].end]
    else:
        predicate = ""
    # A formula has no auxiliary to move: "Is x = 3?" is "x = 3".
    if predicate[:1] in {"=", "<", ">", "≤", "≥", "≠"}:
        if re.search("[AEGV]", letters_of(clause)[end + 1 :]):
            return None  # "the function f(x) = x^2 increasing for x > 0"
        return f"{subject} {predicate}{tail}"
    if clause[0].word not in DO:
        space = " " if predicate and predicate[0] != "," else ""
        return f"{subject} {clause[0].word}{space}{predicate}{tail}"
    finite = _finite_predicate(clause, end, body)
    if finite is None:
        return None
    return f"{subject} {finite}{tail}"


def _end_of_subject(clause: Clause, question_word: str, may_lack_predicate: bool) -> int | None:
    """The index at which the subject ends; None if it could only be guessed."""
    letters = letters_of(clause)
    if clause[1].word in PRONOUNS:
        # "Is anyone in the car wearing a hat?": the place belongs to the pronoun, and where it ends
        # is a guess.
        is_qualified = clause[1].word.endswith(("one", "body")) and letters[2:3] == "P"
        if is_qualified:
            return None
        return 2
    if may_lack_predicate:
        # Only here: with a predicate to come, these words may belong to it.
        marked_end = _end_by_word(clause, letters, question_word)
        if marked_end is not None:
            return marked_end
    end = subject_end(clause)
    if clause[0].word in DO:
        if end is not None and letters[end - 1] in "NTCMGE":
            return end
        return None
    if may_lack_predicate:
        return _end_of_lone_subject(clause, end, question_word)
    return end


def _end_of_lone_subject(clause: Clause, end: int | None, question_word: str) -> int | None:
    """The index at which a subject ends that may reach to the end, where `end` would leave it a
    predicate.
    """
    letters = letters_of(clause)
    size = len(clause)
    if end is None:
        if _is_phrase(clause, 2):
            return size
        return None
    if clause[end].word in {"that", "who", "which", "present"}:
        return size
    if question_word == "who" and letters[-1] != "P":
        return size
    if letters[end] in "AN" and letters[end - 1] == "C" and not re.search("[VGE]", letters[end:]):
        return size  # "the two older kids"
    # "the design on the snowboard": a place behind the noun belongs to it
    if letters[end] in "PNSD=" and _is_phrase(clause, end):
        return size
    return end


def _end_by_word(clause: Clause, letters: str, question_word: str) -> int | None:
    """The end of the subject where a word shows it: "doing", "like", a verb at the very end,
    "when".
    """
    for i in range(2, len(clause)):
        if clause[i].word == "doing" or (clause[i].word == "like" and _is_stranded(clause, i)):
            return i
    if question_word != "who" and letters[-1] == "G" and clause[-2].word not in AUXILIARIES:
        return len(clause) - 1
    limit = next((i for i in range(2, len(clause)) if clause[i].word in _SUBORDINATE), 0)
    if limit and re.fullmatch(r"[ADMNCORSTP]+", letters[1:limit]):
        return limit
    return None


def _is_predicate(clause: Clause, end: int) -> bool:
    """Whether what follows the subject can be one predicate, and the subject agrees with its
    auxiliary.

    "Is the man holding a stick successful?": a noun with a bare adjective or participle behind it
    shows that the predicate began elsewhere.
    """
    letters = letters_of(clause)
    predicate = letters[end:]
    subject = letters[1:end]
    if ends_in_participle(clause[1:end]) or _may_reach_further(clause, letters, end):
        return False
    if re.search(r"[NTVE]R*(?:G|[AED](?!N))", predicate[1:]):
        return False
    if re.match(r"GN(?!N*$|S)", predicate) and clause[end + 1].tag == "NN1":
        return False
    if re.match("N[NAPR]", predicate) and clause[end].word not in COLORS:
        return False
    if predicate[0] == "P" and any(
        clause[i].word in COLORS and letters[i - 1] == "N" for i in range(end + 2, len(clause))
    ):
        return False  # "Is the sky above the market green?"
    if subject.endswith("NG") or clause[-1].word == "motion":
        return False
    return _agrees(clause, subject)


def _agrees(clause: Clause, subject: str) -> bool:
    """Whether a subject is in the plural where its auxiliary is."""
    # A singular noun behind "are" shows that the subject was cut at the wrong word.
    head = re.match(r"[DMSARCE]*N+", subject)
    if head is None or clause[0].word not in {"are", "were"} or re.search("[&SC]", subject):
        return True
    return clause[head.end()].tag != "NN1"


def _may_reach_further(clause: Clause, letters: str, end: int) -> bool:
    """Whether a relative clause, or a noun that can be said of things, may belong elsewhere than it
    seems.

    "Is the bag that he holds red?", "Is the cake on the plate chocolate?", "Are the things on the
    table cups?"
    """
    words = unquoted(clause)
    relative = any(token.word in _RELATIVE and token.tag != "DT0" for token in words[1:])
    if relative and clause[end].word not in {"a", "an", "the"}:
        return True
    last = clause[-1]
    statement = last.word in MATERIALS or (last.tag == "NN2" and clause[0].word in {"are", "were"})
    return letters[end] == "P" and letters.endswith("NN") and statement


def ends_in_participle(subject: Clause) -> bool:
    """Whether the last word may begin the predicate: "the woman surfing", where the tagger sees a
    compound.
    """
    from lemminflect import getAllLemmas

    last = subject[-1].word
    compound = len(subject) > 2 and subject[-2].tag.startswith(("NN", "UNC"))
    return compound and last.endswith("ing") and "VERB" in getAllLemmas(last)


def _is_stranded(clause: Clause, i: int) -> bool:
    """Whether "like" has no object after it, as in "the weather like in the image"."""
    return (
        i + 1 == len(clause)
        or letters_of(clause)[i + 1] == "P"
        or clause[i + 1].word in _SUBORDINATE
    )


def _is_phrase(clause: Clause, end: int) -> bool:
    """Whether the words from `end` on have no verb and do not end in a preposition."""
    letters = letters_of(clause)
    return not re.search(r"[VGXE]", letters[end:]) and letters[-1] != "P"


def _finite_predicate(clause: Clause, end: int, body: str) -> str | None:
    """The words after the subject of do, does or did, with the verb in its finite form."""
    from lemminflect import getInflection

    verb = verb_behind(clause, end)
    if verb is None:
        return None
    word = clause[verb].word
    form = {"does": "VBZ", "did": "VBD", "do": "VBP"}[clause[0].word]
    if form == "VBP":
        finite = word
    else:
        # do and did carry the tense, which the verb of a statement shows itself.
        finite = next(iter(getInflection(word, tag=form)), "")
    before = body[clause[end].start : clause[verb].start]
    if finite:
        return f"{before}{finite}{body[clause[verb].end : clause[-1].end]}"
    return None


# --- questions whose subject is a guess ---

#     Is the giraffe eating leaves from the tree?    what the giraffe does, or what it is?
#     Is the liquid in the glass water?              the predicate stands behind a place
#     Is the lady behind the desk on the phone?      two places: one may belong to the lady
#
# Each case was met in a question that a reader took differently from the rules. A question in
# doubt is quoted as a whole.

_MAX_AMBIGUOUS_SCORE = 0.5
"""At this worth or below it the end of a subject is no ground for a statement."""
_MIN_CERTAIN_SCORE = 3.0
_RELATIVE_WORDS = frozenset("where when why how which who whose that".split())
_SIDES = frozenset("left right top bottom center centre middle".split())
_SIDE_CONTINUATIONS = frozenset("of side hand edge corner half part page and or".split())
_TITLES = frozenset(
    "the a an of series movie film show book novel song album game band team brand word"
    " letter".split()
)


def is_ambiguous(clause: Clause) -> bool:
    """Whether words that look like a part of the subject may be the predicate, or vice
    versa.

    >>> from hqm.forms.grammar import tag
    >>> is_ambiguous(tag("Is the liquid in the glass water"))
    True
    >>> is_ambiguous(tag("Is the cat in the garden"))
    False
    """
    if clause[0].word not in BE or clause[1].word in PRONOUNS:
        return False
    end, score = find_subject_end(clause)
    if end is None:
        return False
    subject = clause[1:end]
    letters = letters_of(clause)
    # "the woman surfing | on a wave": the participle may be the predicate.
    splits_subject = letters[end] == "P" and any(
        ends_in_participle(subject[: i + 1]) for i in range(2, len(subject))
    )
    predicate = clause[end:]
    is_sole_adverb = (
        letters[end:] == "R" and "P" in letters[1:end]
    )  # "the curve above the axis | everywhere"
    appositive = letters[end - 1] == "," and re.search(",[RGAEV][^,]*$", letters) is not None
    if (
        score <= _MAX_AMBIGUOUS_SCORE
        or splits_subject
        or is_sole_adverb
        or appositive
        or _cuts_noun_phrase(letters[1:end], predicate)
    ):
        return True
    return _ends_in_base_verb(subject, letters, predicate) or _begins_late(
        predicate, letters[end:], certain=score >= _MIN_CERTAIN_SCORE
    )


def _cuts_noun_phrase(subject: str, predicate: Clause) -> bool:
    """Whether the noun of "the last | letter of the word" was taken for the predicate."""
    noun = (
        predicate[0].word not in COLORS
        and tag_score(predicate[0].text, "NN") > tag_score(predicate[0].text, "AJ") + 3
    )
    return subject == "DA" and noun and len(predicate) > 1 and not names_picture(predicate[1:])


def _ends_in_base_verb(subject: Clause, letters: str, predicate: Clause) -> bool:
    """Whether a noun that ends the subject is a verb: the released "Is the woman kick in this
    image?".
    """
    last = subject[-1]
    doing = is_base_verb(last.word) and tag_score(last.word, "VV") > tag_score(last.word, "NN") - 2
    return (
        letters[1 : len(subject) + 1] == "DNN"
        and last.text.islower()
        and doing
        and names_picture(predicate)
    )


def _begins_late(predicate: Clause, letters: str, *, certain: bool) -> bool:
    """Whether the predicate comes only behind what seemed to be its beginning: "shown in the
    diagram | the heart".
    """
    words = words_of(predicate)
    if words[0] in _RELATIVE_WORDS or (
        words[0] in {"a", "an"} and predicate[min(1, len(predicate) - 1)].tag == "AJC"
    ):
        return True
    if certain and letters[0] not in "GEPAR":
        return False
    # two nouns side by side, the other with its article or a name of its own: "from the ceiling | a
    # fan"
    has_second_noun = any(
        letters[i - 1] in "NAR"
        and (letters[i] == "D" or (letters[i] == "N" and _begins_a_name(predicate, i)))
        for i in range(1, len(predicate))
    )
    # "smaller than the other", "the same size as the door": what a comparison compares
    if has_second_noun and not {"than", "as"} & set(words):
        return True
    return not certain and letters[0] == "P" and _exceeds_location(predicate, letters)


def is_simple_predicate(predicate: Clause) -> bool:
    """Whether a "not" before these words denies all of them: one thing at most in what somebody
    does or where something is.

    "sitting at the table eating": whoever hears "not" here may think that they eat elsewhere.
    """
    letters = letters_of((predicate[0]._replace(text="is", tag="VB"), *predicate))[1:]
    # a second -ing: "sitting at the table eating"
    if letters[:1] == "G" and any(token.word.endswith("ing") for token in predicate[2:]):
        return False
    if names_picture(predicate[-3:]):
        letters = letters[:-3]
    n_nouns = len(re.findall("[NTC]+(?:O[DMS]*[ACR]*[NTC]+)*", letters))
    return letters[:1] not in ("G", "E", "P") or (
        n_nouns <= 1 and letters.count("G") + letters.count("E") <= 2
    )


def _begins_a_name(words: Clause, i: int) -> bool:
    return (
        words[i].text[0].isupper()
        and words[i - 1].text.islower()
        and words[i - 1].word not in _TITLES
    )


def _exceeds_location(predicate: Clause, letters: str) -> bool:
    """Whether more is said than one place: "in the glass | water", "on the tray | round", "above
    the axis | everywhere".
    """
    if names_picture(predicate[-3:]):
        predicate = predicate[:-3]
        letters = letters[:-3]
    if not predicate:
        return False
    last = predicate[-1]
    compound = letters.endswith("NN") and last.text.islower()
    statement = (
        len(predicate) > 2
        and letters[-2] in "NC"
        and can_be_predicate(last.text)
        and last.text.islower()
    )
    # "on the left | brown"
    beyond = any(
        predicate[i].word in _SIDES and predicate[i + 1].word not in _SIDE_CONTINUATIONS
        for i in range(len(predicate) - 1)
    )
    late = compound or statement or beyond or last.word in MATERIALS or letters[-1] == "R"
    return late or count_locations(predicate) > 1 or PREPOSITIONAL_PHRASE.fullmatch(letters) is None


def count_locations(words: Clause) -> int:
    """How many places follow each other; what a thing has ("with ...") is none."""
    # Letters depend on neighbours, so that a verb stands before the words as in a whole clause.
    letters = letters_of((words[0]._replace(text="is", tag="VB"), *words))[1:]
    if not letters.startswith("P"):
        return 0
    if names_picture(words[-3:]):
        letters = letters[:-3]
    later_prepositions = (
        i for i in range(1, len(letters)) if letters[i] == "P" and letters[i - 1] != "P"
    )
    return 1 + sum(words[i].word not in {"with", "without"} for i in later_prepositions)


# --- turning a question round ---

#     Is there a dog in the image?         ->  Is there no dog in the image?
#     Are there two dogs in this image?    ->  Is the number of dogs in this image other than two?
#     Is the sky sunny in this image?      ->  Is the sky not sunny in this image?
#     Is this the largest state?           ->  Is it false that this is the largest state?
#
# "Isn't this a dog?", "Is this not a dog?" and "Are there not two dogs?" ask for the same yes as
# the plain question, so "not" stands only behind a short subject with "the", before a short
# predicate. Everything else is denied as a whole: "Is it false that ...?". Where the order of a
# statement would be a guess, the question is quoted: 'Is "no" the right answer to "..."?'.

_SCOPE = frozenset(
    (
        "only all both every each everyone everybody everything always ever also too either most"
        " mostly mainly same another other because since if unless when while whereas although"
        " until before after than followed respectively without many much several few fewer less"
        " more enough exactly just even still already yet but once twice half instead well almost"
        " nearly hardly barely scarcely rarely seldom sometimes often usually very quite so rather"
        " somewhat about around or probably possibly apparently actually really presumably perhaps"
        " maybe definitely certainly clearly obviously"
    ).split()
)
"""Words that a "not" or "no" before them may or may not deny."""
_COMPARISON_WORDS = frozenset({"than", "same", "more", "less", "fewer"})
"""Those that a comparison with "the" needs: "the circle is not larger than the square" denies the
comparison.
"""
_AMOUNTS = frozenset(
    "lot couple few bit little number variety total majority single handful lots plenty dozen pair"
    " multiple numerous various different certain specific range mix mixture combination".split()
)
_NEGATIVE_DETERMINERS = {"a": "no", "an": "no", "any": "no", "some": "no"}
_NEGATIVE_PRONOUNS = {"anyone": "no one", "anybody": "nobody", "anything": "nothing"}
_NUMBER_WORDS = frozenset(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " twenty".split()
)
_INVARIABLE_NOUNS = frozenset(
    "sheep deer fish antelope aircraft moose bison shrimp salmon series species".split()
)
"""Nouns whose plural is the same word."""
_MAX_PREDICATE_WORDS = 8
"""A predicate of more words is denied as a whole."""
_MIN_SUBJECT_SCORE = 0.6
"""The end of a subject is worth less where it is a guess."""


@lru_cache(maxsize=65536)
def flip(question: str, draw: int = 0) -> Rewrite:
    """Ask a yes/no question so that its right answer is reversed.

    Parameters
    ----------
    question
        A prompt with one question. What stands before and behind the question keeps its place.
    draw
        Which of the constructions that fit, counted from 0; they are ordered by how plain they are.

    Returns
    -------
    Rewrite
        The question and its rule: `polar.no` ("a dog" becomes "no dog"), `polar.other` ("other than
        two"), `polar.not`, `polar.false` (denied as a whole), `polar.wrong` ("Is it wrong to say
        that ...?"), `polar.quoted` and `polar.quoted_yes` (the question in quotation marks).

    Raises
    ------
    NoRule
        It is no yes/no question, or its opposite is open (`hqm.forms.find_question`).

    Examples
    --------
    >>> flip("Is there a dog in the image?")
    Rewrite(prompt='Is there no dog in the image?', rule='polar.no')
    >>> flip("Are there two cats? Please answer yes or no.").prompt
    'Is the number of cats other than two? Please answer yes or no.'
    >>> flip("According to the map, is this the largest state?").prompt
    'According to the map, is it false that this is the largest state?'
    """
    if draw == 0:
        # `parallel` takes the plainest of every question: that one is kept between commands.
        prompt, rule, reason = PLAINEST_OPPOSITES(question)
        if reason:
            raise NoRule(question, reason)
        return Rewrite(prompt, rule)
    return _opposite(question, draw)


def _opposite(question: str, draw: int) -> Rewrite:
    for i, rewritten in enumerate(_opposites(question_of(question))):
        if i == draw:
            return rewritten
    raise NoRule(question, f"it has fewer than {draw + 1} opposites")


def _plainest(question: str) -> tuple[str, str, str]:
    """Return the plainest opposite with its rule, or raise the reason why there is none."""
    try:
        rewritten = _opposite(question, 0)
    except NoRule as error:
        return "", "", error.reason
    return rewritten.prompt, rewritten.rule, ""


PLAINEST_OPPOSITES = RuleCache("opposites", _plainest)
"""Question -> its plainest opposite, kept from one command to the next."""


def statement_of(question: Question) -> str | None:
    """Return the question as a statement, or None where that would be a guess."""
    if question.has_whether:
        return question.prompt[question.clause[0].start : question.end]
    words = question.words
    # "Do you think that it is red?" asks about it, and "you think that ..." would be about the
    # reader.
    if words[:2] == ["do", "you"] and words[2] in {
        "think",
        "believe",
        "know",
        "agree",
        "consider",
        "feel",
    }:
        return None
    if (
        not _is_grammatical(question.clause)
        or "either any" in " ".join(words)
        or _has_second_verb(question)
        or is_ambiguous(question.clause)
    ):
        return None
    return as_statement(question.prompt[: question.end], question.clause)


def _opposites(question: Question) -> Iterator[Rewrite]:
    """The constructions that fit, the plainest first."""
    if question.has_whether:
        plain = None
    else:
        plain = (
            _negate_truth(question)
            # "no dog" and "none" can be read in one way; "not" is tried last, where its scope is
            # clear.
            or _negate_there(question)
            or _negate_any(question)
            or _insert_not(question)
        )
    if plain is not None:
        yield plain
    statement = statement_of(question)
    if statement is not None:
        yield ask_about_statement(question, "Is it false that {}", statement, "polar.false")
        yield ask_about_statement(question, "Is it wrong to say that {}", statement, "polar.wrong")
    yield ask_about_answer(question, 'Is "no" the right answer to {}', "polar.quoted")
    yield ask_about_answer(question, 'Is "yes" the wrong answer to {}', "polar.quoted_yes")


def opens_sentence(question: Question) -> bool:
    """Whether the question begins its sentence, as it does not in "In 2020, did ...?"."""
    return not question.prompt[question.start : question.rewrite_start].strip()


def ask_about_statement(question: Question, template: str, statement: str, rule: str) -> Rewrite:
    """Ask about a statement, which stands for {} in the template."""
    text = template.format(statement)
    if opens_sentence(question):
        text = text[0].upper() + text[1:]
    elif not template.startswith("{"):
        text = text[0].lower() + text[1:]
    before = question.prompt[: question.rewrite_start]
    after = question.prompt[question.end :]
    return Rewrite(f"{before}{text}{_with_question_mark(after)}", rule)


def ask_about_answer(question: Question, template: str, rule: str) -> Rewrite:
    """Ask about an answer to the question as it is, which stands for {} in the template."""
    before = question.prompt[: question.start]
    sentence = question.prompt[question.start : question.end]
    after = _with_question_mark(question.prompt[question.end :])
    # Other marks than the question has, so that it is seen where the quotation ends.
    left, right = ("“", "”") if '"' in sentence else ('"', '"')
    text = template.format(f"{left}{sentence}?{right}")
    mark = "" if text.endswith(right) else "?"
    # The quotation has the question's own mark.
    remainder = re.sub(r"^\W*?[?？]", "", after)
    return Rewrite(f"{before}{text}{mark}{remainder}", rule)


def _with_question_mark(after: str) -> str:
    """Return what follows the question, with exactly one question mark."""
    after = re.sub(r"^([^\w?？]*[?？])(?:\s*[?？])+", r"\1", after)
    if re.match(r"\s*[?？]", after) or re.match(r"[^.?!\n]*[?？]", after):
        return after
    if after[:1] in {".", "!"}:
        return "?" + after[1:]
    return "?" + after


def _replace_token(question: Question, token: Token, text: str, rule: str) -> Rewrite:
    return Rewrite(f"{question.prompt[: token.start]}{text}{question.prompt[token.end :]}", rule)


# --- the plain constructions ---


def _negate_truth(question: Question) -> Rewrite | None:
    """ "Is it true that ...?" becomes "Is it false that ...?", and vice versa."""
    words = words_of(question.clause[:4])
    if words[:2] != ["is", "it"] or words[3:] != ["that"] or words[2] not in {"true", "false"}:
        return None
    statement = {"true": "false", "false": "true"}[words[2]]
    return _replace_token(
        question,
        question.clause[2],
        statement,
        f"polar.{'false' if statement == 'false' else 'not'}",
    )


def _negate_there(question: Question) -> Rewrite | None:
    clause = question.clause
    if clause[1].word != "there" or clause[0].word not in BE or _has_second_verb(question):
        return None
    # A number first: "no two dogs" leaves open whether there are more.
    counted = _negate_count(question)
    if counted is not None:
        return counted
    head = clause[2]
    second = clause[3] if len(clause) > 3 else clause[2]
    if _is_scope_open(question, 2) or second.word in _AMOUNTS | {"of"} or head.word in _AMOUNTS:
        return None
    if head.word in _NEGATIVE_DETERMINERS:
        return _replace_token(question, head, "no", "polar.no")
    if head.word in _NEGATIVE_PRONOUNS:
        return _replace_token(question, head, _NEGATIVE_PRONOUNS[head.word], "polar.no")
    if (
        letters_of(clause)[2] in "ANGE"
        and head.word not in {"one", "such"}
        and not head.word[0].isdigit()
    ):
        return Rewrite(
            f"{question.prompt[: head.start]}no {question.prompt[head.start :]}", "polar.no"
        )
    return None


def _has_second_verb(question: Question) -> bool:
    """Whether a second verb follows "there are", as in the released "Are there two people appear in
    the image?".
    """
    clause = question.clause
    if clause[1].word != "there" or {"that", "who", "which", "where", "when", "can", "to"} & set(
        question.words
    ):
        return False
    letters = letters_of(clause)
    return any(
        letters[i] == "V"
        and letters[i - 1] == "N"
        and clause[i].tag.startswith("VV")
        and is_base_verb(clause[i].word)
        for i in range(4, len(clause))
    )


def _negate_count(question: Question) -> Rewrite | None:
    """ "Are there two dogs?": the number of dogs is other than two."""
    clause = question.clause
    i = 2
    if clause[i].word in {"exactly", "only", "just"}:
        i += 1
    elif words_of(clause[i : i + 3]) == ["a", "total", "of"]:
        i += 3
    if i + 1 >= len(clause) or (
        clause[i].word not in _NUMBER_WORDS and not clause[i].text.isdigit()
    ):
        return None
    number = clause[i]
    counted = clause[i + 1 :]
    if _is_scope_open(question, i + 1, allowed=frozenset({"same"})) or counted[0].word in {
        "of",
        "to",
    }:
        return None
    # "20 % of": a share has no number of things.
    if counted[0].text in {"%", "-"}:
        return None
    noun_phrase = question.prompt[counted[0].start : question.end]
    if number.word in {"one", "1"}:
        # "the number of dogs is other than one" needs the plural.
        noun = _head(counted)
        plural = _plural(noun.word)
        if plural is None:
            return None
        if ends_in_participle(_up_to_a_verb(counted)):
            return None  # "one cat sleeping on the bed"
        start = counted[0].start
        determiner = question.prompt[start : noun.start]
        noun_phrase = f"{determiner}{plural}{question.prompt[noun.end : question.end]}"
    # "the number" is singular, whatever was counted.
    opening = "was" if clause[0].word in {"was", "were"} else "is"
    opening = opening.capitalize() if opens_sentence(question) else opening
    before = question.prompt[: question.rewrite_start]
    after = question.prompt[question.end :]
    return Rewrite(
        f"{before}{opening} the number of {noun_phrase} other than {number.text}"
        f"{_with_question_mark(after)}",
        "polar.other",
    )


def _up_to_a_verb(counted: Clause) -> Clause:
    """The words that are counted, as far as the first form in -ing; with a word before them as for
    a subject.
    """
    last = next((i for i in range(1, len(counted)) if counted[i].word.endswith("ing")), 0)
    return (counted[0], *counted[: last + 1])


def _head(counted: Clause) -> Token:
    """The noun that is counted: the last word before a place or a clause, "cup" in "cup of tea on
    the table".
    """
    letters = letters_of((counted[0]._replace(text="is", tag="VB"), *counted))[1:]
    phrase_starts = (
        i
        for i in range(1, len(counted))
        if letters[i] in "POTM" or (letters[i] in "GEV" and letters[i - 1] == "N")
    )
    return counted[next(phrase_starts, len(counted)) - 1]


def _plural(noun: str) -> str | None:
    from lemminflect import getInflection, getLemma

    if noun not in getLemma(noun, "NOUN"):
        # A word that is no singular has no plural to be made.
        return None
    plural = {"person": "people"}.get(noun) or next(iter(getInflection(noun, tag="NNS")), None)
    if plural != noun or noun in _INVARIABLE_NOUNS:
        return plural
    return None


def _negate_any(question: Question) -> Rewrite | None:
    """A subject with "any": "Are any of the cats black?" becomes "Are none of the cats black?"."""
    head = question.clause[1]
    if _is_scope_open(question, 2):
        return None
    if head.word in _NEGATIVE_PRONOUNS:
        return _replace_token(question, head, _NEGATIVE_PRONOUNS[head.word], "polar.no")
    if head.word == "any":
        pronoun = "none" if question.clause[2].word == "of" else "no"
        return _replace_token(question, head, pronoun, "polar.no")
    return None


def _insert_not(question: Question) -> Rewrite | None:
    """ "not" behind a short subject with "the" and before a short predicate, where nobody can take
    it for "isn't".
    """
    clause = question.clause
    if clause[0].word not in BE | DO or clause[1].word != "the" or not _is_grammatical(clause):
        return None
    end, score = find_subject_end(clause)
    if (
        end is None
        or (score < _MIN_SUBJECT_SCORE and clause[0].word not in DO)
        or not 3 <= end <= 5
    ):
        return None
    if not re.fullmatch("D(?:A?N{1,2}|A)", letters_of(clause)[1:end]) or ends_in_participle(
        clause[1:end]
    ):
        return None
    if len(clause) - end > _MAX_PREDICATE_WORDS or _is_scope_open(
        question, end, allowed=_COMPARISON_WORDS
    ):
        return None
    if is_ambiguous(clause) or (clause[0].word in BE and not is_simple_predicate(clause[end:])):
        return None
    # "the lake calm in this image": one noun, one or two words, and the picture leave no doubt
    short = end == 3 and end < len(clause) - 3 <= end + 2 and names_picture(clause[-3:])
    if (
        clause[0].word in BE
        and not short
        and as_statement(question.prompt[: question.end], clause) is None
    ):
        return None
    subject_end_offset = clause[end - 1].end
    return Rewrite(
        f"{question.prompt[:subject_end_offset]} not{question.prompt[subject_end_offset:]}",
        "polar.not",
    )


def _is_scope_open(question: Question, start: int, allowed: frozenset[str] = frozenset()) -> bool:
    """Whether a word, a list or a superlative behind `start` leaves it open what a "not" or "no"
    denies.
    """
    clause = question.clause
    words = words_of(clause)
    # "between a and b" is one place; any other "and" may join two things of which "not" denies one.
    joined = {"between"} & set(words[start:])
    for i in range(start, len(clause)):
        word = words[i]
        if word in _SCOPE and word not in allowed:
            return True
        if word in {",", ";", ":"} or (word == "and" and not joined):
            return True
        # A superlative: "not the largest" leaves open whether it is large.
        if clause[i].tag == "AJS" or (word == "most" and i + 1 < len(clause)):
            return True
    return False


def _is_grammatical(clause: Clause) -> bool:
    """Whether the verb is in a form that its auxiliary can have; released questions have "Is the
    person swim?".
    """
    if clause[1].word in PRONOUNS or clause[1].word == "there":
        return True
    end = subject_end(clause)
    if end is None:
        return True
    if clause[0].word in DO:
        return verb_behind(clause, end) is not None
    if clause[0].word not in BE:
        return True
    word = clause[end].word
    if clause[1].text.isdigit() and end == 2 and letters_of(clause)[2] == "E":
        return False  # "Is 2010 exported the most bread?"
    from lemminflect import getInflection

    is_bare_verb = is_base_verb(word) and tag_score(word, "VV") > max(
        tag_score(word, "NN"), tag_score(word, "AJ")
    )
    return not is_bare_verb or (
        word in getInflection(word, tag="VBN") and word not in {"run", "come"}
    )
