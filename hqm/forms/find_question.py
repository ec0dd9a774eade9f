"""Finding the yes/no question in a prompt, and whether it has an opposite.

A prompt may have a description before the question ("A man rides a horse. Is he old?"), a clause
("According to the map, is ..."), a condition ("If AB = BC, is ...") and an instruction behind it
("Please answer yes or no."). They all keep their places; only the question itself is rewritten.
What has no clear opposite raises `NoRule`, with the reason.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Literal, NamedTuple

from hqm.errors import NoRule
from hqm.forms.grammar import AUXILIARIES, Clause, check_words_follow, tag, unquoted, words_of

_WH = frozenset("what who whom whose which where when why how".split())
NEGATIONS = frozenset("not no never none nobody nothing neither nor nowhere cannot".split())
_FREE_CHOICE_WORDS = frozenset(
    "any either all both every each everything everyone everybody anyone anything".split()
)
"""Behind one of these an "or" joins what is asked about; elsewhere it asks to choose."""
# A single capital is an initial, as in "J. F. Kennedy".
_ABBREVIATED = re.compile(
    r"(?:\b(?:[A-Z]|[Mm]r|[Mm]rs|[Mm]s|[Dd]r|[Ss]t|vs|etc|e\.g|i\.e)|(?:[A-Z]\.)+[A-Z])\.$"
)
_MAX_ABBREVIATION_CHARS = 80
_GAP = re.compile(r"(?<!\s)\s*\n\s*|(?<=[.!?？;])[\"”')]*\s+")
_SENTENCE_START = re.compile(r"[\"“'(]?[A-Z0-9]")
_QUOTE_MARKS = ('"', "“", "”", "```")
_INSTRUCTION = re.compile(
    r"\W*(?:(?:please\s+)?(?:just\s+)?(?:answer|reply|respond)\b[^?]*|(?:yes\s*(?:or|/)\s*no"
    r"|true\s*(?:or|/)\s*false)\W*)",
    re.IGNORECASE,
)
_LABEL = re.compile(r"\s*(?:question|q)\s*:\s*", re.IGNORECASE)
_YES_OR_NO = re.compile(
    r"\W*\s(?:please )?(?:answer )?(?:with )?(?:yes or no|yes/no)\W*$", re.IGNORECASE
)
_MEANING_OF_YES = re.compile(
    r"\b(?:answer|say|reply|respond|return|write|output|choose)\b[^.?!\n]{0,40}\b(?:yes"
    r"|no)\b[\"'”]?"
    r" (?:if|when|for)\b"
    r"(?! so\b| not\b)"
    r"|\bif (?:you are |you're )?(?:unsure|uncertain|in doubt|not sure|unclear|it is"
    r" unclear)\b[^.?!\n]{0,20}\b(?:yes|no)\b",
    re.IGNORECASE,
)
_TAG = re.compile(
    r",\s*(?:right|huh|ok|okay|correct|yes|no|true|eh|(?:is|are|do|does|did|was|were|can|could|has"
    r"|have|wo|would)(?:n['’]t)?"
    r"(?: not)? (?:it|they|there|he|she|you|this|that)(?: not)?)$",
    re.IGNORECASE,
)
_SECOND_QUESTION = re.compile(
    r"\b(?:and|or|but|;),?\s+(?:(?:is|are|was|were|do|does|did|can|could|will|would) "
    r"(?:it|they|he|she|there|the|an?|this|that|these|those|you|his|her)\b"
    r"|(?:if (?:so|yes|not)|what|how|where|when|why|who|which)\b)",
    re.IGNORECASE,
)
_FOLLOW_UP = re.compile(
    r"\bif (?:so|yes|not|no|there (?:is|are))\b(?!,? (?:please"
    r" )?(?:return|answer|say|reply|respond|output|write)\b)",
    re.IGNORECASE,
)
_REQUESTS = frozenset(
    "tell describe name explain list give provide elaborate say help show please guess check look"
    " take notice".split()
)


class Question(NamedTuple):
    """A yes/no question inside a prompt.

    Parameters
    ----------
    prompt
        The whole text.
    start
        Where the sentence that asks begins.
    clause
        Its tagged words from the main auxiliary on, without the question mark; of a question with
        "whether", the words behind it.
    has_whether
        Whether it asks with "whether", and so has the order of a statement already.
    """

    prompt: str
    start: int
    clause: Clause
    has_whether: bool = False

    @property
    def end(self) -> int:
        """Where the words of the question end."""
        return self.clause[-1].end

    @property
    def rewrite_start(self) -> int:
        """Where the words that are rewritten begin: the auxiliary, or "whether"."""
        if self.has_whether:
            return self.start
        return self.clause[0].start

    @property
    def words(self) -> list[str]:
        """The words outside quotation marks, in lower case."""
        return words_of(unquoted(self.clause))


def question_of(prompt: str) -> Question:
    """Find the yes/no question of a prompt.

    Raises
    ------
    NoRule
        There is none, there are several, or its opposite is open: it is negated already, asks by a
        tag or to choose with "or", requests something, or an instruction says what yes means.

    Examples
    --------
    >>> made = question_of("It is a horse. According to the map, is he old? Answer yes or no.")
    >>> made.prompt[made.start : made.end], made.clause[0].text
    ('According to the map, is he old', 'is')
    >>> question_of("Is the scene indoors or outdoors?")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    hqm.errors.NoRule: 'Is the scene indoors or outdoors?' has no parallel form: it asks to...
    """
    if _MEANING_OF_YES.search(prompt):
        raise NoRule(prompt, "an instruction in it says what yes means")
    question = clause_of(prompt)
    _check_opposite(question)
    return question


def clause_of(prompt: str) -> Question:
    """Return the question of a prompt, whether or not it has a clear opposite.

    Raises
    ------
    NoRule
        The prompt asks no yes/no question, or several questions.
    """
    start, end = _asking_span(prompt)
    if _TAG.search(prompt[start:end]):
        raise NoRule(prompt, 'it asks by a tag ("isn\'t it?")')
    tokens = tag(prompt[start:end])
    clause_tokens = tuple(t._replace(start=t.start + start, end=t.end + start) for t in tokens)
    if clause_tokens and clause_tokens[0].word == "whether":
        clause = clause_tokens[1:]
        has_whether = True
    else:
        clause = clause_tokens[_auxiliary_index(prompt, clause_tokens) :]
        has_whether = False
    while (
        clause
        and clause[-1].text in {".", "!", "?", ","}
        and not _ABBREVIATED.search(prompt[start : clause[-1].end])
    ):
        clause = clause[:-1]
    if len(clause) < 3:
        raise NoRule(prompt, "nothing follows the auxiliary")
    return Question(prompt, start, clause, has_whether)


def sentences(text: str) -> list[tuple[int, int]]:
    """The spans of the sentences of a text; a quotation and an abbreviation end none.

    >>> text = "Is it J. F. Kennedy? Answer yes or no."
    >>> [text[a:b] for a, b in sentences(text)]
    ['Is it J. F. Kennedy?', 'Answer yes or no.']
    """
    spans = []
    start = 0
    counted = 0
    n_marks: Counter[str] = Counter()
    for gap in _GAP.finditer(text):
        # counted on from the last gap: looking back at all of a long text takes its square
        n_marks.update({mark: text.count(mark, counted, gap.start()) for mark in _QUOTE_MARKS})
        counted = gap.start()
        before = text[max(start, counted - _MAX_ABBREVIATION_CHARS) : counted]
        asks = before.endswith(("?", "？"))
        starts = "\n" in gap.group() or asks or _SENTENCE_START.match(text, gap.end())
        # "No. 5" ends no sentence.
        numbered = re.search(r"\b[Nn]o\.$", before) and text[gap.end() : gap.end() + 1].isdigit()
        abbreviated = (numbered or _ABBREVIATED.search(before)) and not asks
        if not before.strip() or not starts or _has_open_quote(n_marks) or abbreviated:
            continue
        spans.append((start, counted))
        start = counted = gap.end()
        n_marks.clear()
    if text[start:].strip():
        spans.append((start, len(text.rstrip())))
    return spans


def _has_open_quote(n_marks: Counter[str]) -> bool:
    is_odd = n_marks['"'] % 2 == 1 or n_marks["```"] % 2 == 1
    return is_odd or n_marks["“"] > n_marks["”"]


def _asking_span(prompt: str) -> tuple[int, int]:
    """Return the start of the only asking sentence, and the end of its words before the question
    mark.
    """
    check_words_follow(prompt)
    spans = []
    for a, b in sentences(prompt):
        label = _LABEL.match(prompt, a, b)
        a = label.end() if label else a
        if re.search(r"\w", prompt[a:b]) and not _INSTRUCTION.fullmatch(prompt, a, b):
            spans.append((a, b))
    marked = [(a, b) for a, b in spans if prompt[a:b].rstrip("\"”'` ")[-1:] in {"?", "？"}]
    unmarked = [(a, b) for a, b in spans if _first_word(prompt[a:b]) in AUXILIARIES | {"whether"}]
    asking = marked or unmarked or (spans if len(spans) == 1 else [])
    if not asking:
        raise NoRule(prompt, "it asks nothing")
    if len(asking) > 1:
        raise NoRule(prompt, "it asks more than one question")
    a, b = asking[0]
    text = prompt[a:b].rstrip().rstrip("?？ ")
    cut = _YES_OR_NO.search(text)
    return a, a + (cut.start() if cut else len(text))


def _first_word(sentence: str) -> str:
    match = re.match(r"\W*([A-Za-z]+)", sentence)
    if match:
        return match[1].lower()
    return ""


def _auxiliary_index(prompt: str, words: Clause) -> int:
    """The index of the auxiliary that opens the question: at the head, or behind a comma."""
    first = words[0].word if words else ""
    # "Isn't it red?"
    if re.search(r"n['’]t$", first):
        raise NoRule(prompt, "it is negated already")
    opens = [
        i for i, token in enumerate(words) if token.word in AUXILIARIES and _follows_comma(words, i)
    ]
    asks_for = [
        i for i, token in enumerate(words) if token.word in _WH and _follows_comma(words, i)
    ]
    if not opens or (
        asks_for and asks_for[0] < opens[0] and words[0].word not in {"when", "where"}
    ):
        wh = words[asks_for[0]].word if asks_for else ""
        if wh:
            reason = f"it asks with {wh!r}"
        else:
            reason = f"no auxiliary opens the question or follows a comma (it opens with {first!r})"
        raise NoRule(prompt, reason)
    if not {"if", "when", "suppose", "given"}.isdisjoint(words_of(words[: opens[0]])):
        # "If it rains, is it wet?": the last one asks
        return opens[-1]
    return opens[0]


def _follows_comma(words: Clause, i: int) -> bool:
    # In "If it rains, then is it wet?" a word stands between the comma and the question.
    return i == 0 or words[i - 1].word in {",", "，", ":", "then"}


def _check_opposite(question: Question) -> None:
    """Refuse a question whose opposite is open."""
    prompt = question.prompt
    words = question.words
    text = prompt[question.clause[0].start : question.end]
    # "no 5" is a number, and negates nothing.
    numbered = {
        i
        for i, word in enumerate(words)
        if word == "no" and i + 1 < len(words) and words[i + 1][0].isdigit()
    }
    if any(
        (word in NEGATIONS and i not in numbered) or word.endswith(("n't", "n’t"))
        for i, word in enumerate(words)
    ):
        raise NoRule(prompt, "it is negated already")
    # A quotation may hold a question of its own.
    if _SECOND_QUESTION.search(re.sub(r"\"[^\"]*\"|“[^”]*”", "", text)):
        raise NoRule(prompt, "it asks more than one question")
    if (
        "or" in words
        and not _FREE_CHOICE_WORDS & set(words[: words.index("or")])
        and not _only_adds_more(words)
    ):
        raise NoRule(prompt, 'it asks to choose ("or"), which yes does not answer')
    if _FOLLOW_UP.search(prompt, question.end):
        raise NoRule(prompt, "what follows depends on the answer")
    if not question.has_whether and (_is_request(words) or words[:3] == ["may", "i", "ask"]):
        raise NoRule(prompt, "it is a request in the form of a question")


def _only_adds_more(words: list[str]) -> bool:
    """Whether every "or" is that of "10 or more", which leaves nothing to choose."""
    followers = [
        words[i + 1] if i + 1 < len(words) else "" for i, word in enumerate(words) if word == "or"
    ]
    return {"more", "fewer", "less", "above", "below", "older", "younger"}.issuperset(followers)


def _is_request(words: list[str]) -> bool:
    if words[:4] == ["are", "you", "able", "to"] or words[:5] == [
        "would",
        "you",
        "be",
        "able",
        "to",
    ]:
        return bool(_REQUESTS & set(words[4:6]))
    return (
        words[0] in {"can", "could", "would", "will"}
        and words[1] == "you"
        and words[2] in _REQUESTS
    )


# --- the mode of a prompt ---

# A rewording that turns a question into a command ("Tell me who ...") asks for the same in
# another mode, which may change how long a model answers. Such changes are counted beside the
# rules.

Mode = Literal["question", "command", "statement"]

_ASKING_WORDS = frozenset("what what's who whom whose which where when why how".split())
_COMMANDS = frozenset(
    (
        "analyse analyze answer ask assess check choose combine compare complete compose consider"
        " count craft create define describe design detect determine discover discuss draw estimate"
        " evaluate examine explain express figure find focus generate give guess identify imagine"
        " indicate infer list locate look make mention name narrate notice observe outline please"
        " point predict propose provide rate read recognize report say segment select separate show"
        " specify spot state suggest summarize take tell think translate understand use verify"
        " write"
    ).split()
)


def mode_of(prompt: str) -> Mode:
    """Return the mode of the asking sentence; a question anywhere in the prompt takes precedence.

    >>> mode_of("Who is on the bench?"), mode_of("Tell me who is on the bench.")
    ('question', 'command')
    >>> mode_of("I would like a caption.")
    'statement'
    """
    texts = [prompt[a:b].rstrip("\"'”’` ") for a, b in sentences(prompt)]
    opens = [
        match[0].lower() if (match := re.search(r"[A-Za-z']+", text)) else "" for text in texts
    ]
    has_mark = any(text.endswith(("?", "？")) for text in texts)
    # "Say who he is. Answer yes or no?": a command at the head decides
    if opens and opens[0] in _COMMANDS and not has_mark:
        return "command"
    if has_mark or (opens and opens[0] in _ASKING_WORDS | AUXILIARIES):
        return "question"
    led = [re.search(r", (?:please )?([a-z]+)", text) for text in texts]
    commands = [
        word in _COMMANDS or (match is not None and match[1] in _COMMANDS)
        for word, match in zip(opens, led, strict=True)
    ]
    if any(commands):
        return "command"
    return "statement"
