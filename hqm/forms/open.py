"""Say an open question or an instruction in other words, and leave what it is about as it stands.

    Who is sitting on the bench?            ->  Could you tell me who is sitting on the bench?
    What is the color of the ball?          ->  Could you tell me the color of the ball?
    Where is the girl positioned?           ->  Could you tell me where the girl is positioned?
    Is there a dog at X:105 Y:350?          ->  Would you say that there is a dog at X:105 Y:350?
    Compare the tomatoes in the photo.      ->  Make a comparison of the tomatoes in the photo.

A question stays a question and becomes an indirect one; an instruction stays an instruction and
gets a synonym or "please". The same words as a command ("Tell me whether there is a dog ...") are a
wording of their own (`keep_mode=False`), because they change the mode: the rules are called
`open.tell_...`. Every word of the content stays, so a false presupposition, a coordinate or a list
of options survives; only the auxiliary moves behind its subject. Sentences before and after the
question keep their places. `NoRule` is raised for what no rule fits: statements, tag questions
("..., isn't it?"), and questions whose subject cannot be separated from the rest.

This module parses the grammar and takes instructions of any kind. It makes the parallel form of
every benchmark of open questions (GAVIE, MMHal-Bench, one of your own) unless the adapter chooses
otherwise. HQH, whose thousands of short questions are often misspelt, and FaithScore use the
templates of `hqm.forms.questions` instead. Both modules stay because their published forms must not
change.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from hqm.errors import NoRule
from hqm.forms.grammar import AUXILIARIES, BE, DO, HAVE, Rewrite, Token, letters_of, tag
from hqm.forms.negate import PRONOUNS, as_statement

# what a question asks for by name: "What is the color of X?" asks for the color of X
_ATTRIBUTES = frozenset(
    (
        "action activity age appearance atmosphere brand characteristics color colors colour"
        " colours condition coordinates design emotion event features gender interaction location"
        " material mood name number pattern position posture purpose quality relation relationship"
        " sentiment shape significance size sport state status style subject text texture time"
        " title type types value words"
    ).split()
)
_WH = frozenset("what who whom whose which where when why how".split())
_ADVERBIAL = frozenset("where when why how".split())
_SEEING = frozenset(
    "see find spot identify locate notice observe detect discover recognize recognise tell make"
    " manage describe".split()
)
_NOMINAL = frozenset("DTNCMS")

# an instruction's verb, what must follow it, and the words that say the same
_VERBS: tuple[tuple[str, str, str], ...] = (
    (
        "describe-detail",
        r"Describe (?P<x>(?!how |what |where |why |whether )[^.]+) in detail(?=[.])",
        r"Provide a detailed description of \g<x>",
    ),
    ("describe", r"Describe (?!how |what |where |why |whether |it\b)", "Provide a description of "),
    ("describe-how", r"Describe (?=how |what |where |why )", "Explain "),
    ("list", r"List (?=the |all |any )", "Give a list of "),
    ("compare", r"Compare (?=the )", "Make a comparison of "),
    ("create", r"Create (?=an? )", "Compose "),
    ("write", r"Write (?=an? )", "Compose "),
    ("provide", r"Provide (?=an? |the )", "Give "),
    ("evaluate", r"Evaluate (?=the |this )", "Assess "),
    ("explain", r"Explain (?=the )", "Give an explanation of "),
    ("determine", r"Determine (?=the |any )", "Identify "),
    ("identify", r"Identify (?=the )", "Determine "),
    ("identify-any", r"Identify (?=any |an? |all )", "Point out "),
    ("mention", r"Mention (?=the |three )", "Specify "),
    ("state", r"State (?=the )", "Specify "),
)
_OTHER_MODAL = {"can": "Could", "could": "Can", "will": "Would", "would": "Will"}
# verbs that open an instruction; anything else at the head of a sentence is not taken for one
_IMPERATIVES = frozenset(
    (
        "analyse analyze assess check choose combine compare complete compose count craft create"
        " define describe design detect determine discover discuss draw estimate evaluate examine"
        " explain express figure find focus give identify indicate infer list locate look make"
        " mention name narrate observe outline point provide rate read report say segment select"
        " separate show specify spot state suggest summarize tell translate write"
    ).split()
)
_SECOND_VERB = re.compile(
    r"\band (?:describe|explain|generate|give|list|name|provide|specify|suggest|tell)\b"
)
_SENTENCE_END = re.compile(r"(?<=[.?!？])(?<![\s(]\w[.])(?<!\d[.])\s+(?=[\"“(A-Z?])")
# a second question in its own order, a question run into the next sentence, an exclamation
_SECOND_QUESTION = re.compile(
    r"\b(?:and|or) (?:(?:what|how|where|when|why|who)(?: \w+)? )?(?:is|are|do|does|can|was|were)"
    r" (?:it|they|there|he|she|the|their|you)\b"
    r"|\?[A-Z]|^What an? ",
    re.IGNORECASE,
)
_LISTED = re.compile(r"[?:]\s*\(?[A-Da-d1-4][).]\s")
_TAG = re.compile(
    r",\s*(?:(?:right|huh|ok|correct)\s*[?]|(?:is|are|do|does|was|were|can|wo)n't"
    r" (?:it|they|there|you)\b)",
    re.IGNORECASE,
)


class _Parts(NamedTuple):
    """A prompt cut into what stands before the sentence to be rewritten, that sentence, and what
    follows it.
    """

    before: str
    sentence: str
    after: str


def rephrase_open(prompt: str, *, keep_mode: bool = True) -> Rewrite:
    """Say a question or an instruction in other words.

    Parameters
    ----------
    prompt
        A question ("What is ...?", "Is there ...?", "How many chairs?") or an instruction
        ("Describe ...", "List ...").
    keep_mode
        Whether a question stays a question and an instruction an instruction. Without it, a
        question becomes a command ("Tell me ...") and an instruction a wish ("I would like you to
        ...").

    Returns
    -------
    Rewrite
        The rephrased prompt and its rule: `open.whether` (a yes/no or either-or question made
        indirect), `open.wh` (a question with what, who, where, ... made indirect), `open.attribute`
        ("What is the color of" asked as "Could you tell me the color of"), `open.number` (an
        elliptical "How many X?"), `open.<verb>` (a synonym for the verb of an instruction),
        `open.please` (any other instruction, with or without "please"), `open.could` ("Can you"
        asked as "Could you"). Rules that change the mode are called `open.tell_...` and
        `open.request`.

    Raises
    ------
    NoRule
        It is a statement, a tag question, or its grammar is not recognised.

    Examples
    --------
    >>> rephrase_open("Where is the girl positioned among the three people?").prompt
    'Could you tell me where the girl is positioned among the three people?'
    >>> rephrase_open("Does the horse carriage have six wheels?")
    Rewrite(prompt='Would you say that the horse carriage has six wheels?', rule='open.whether')
    >>> rephrase_open("Does the horse carriage have six wheels?", keep_mode=False)
    Rewrite(prompt='Tell me whether the horse carriage has six wheels.', rule='open.tell_whether')
    >>> rephrase_open("How many chairs?").prompt
    'What number of chairs?'
    """
    asked = re.sub(r"([.!])\s*\?$", r"\1", re.sub(r"(?:\s*\?)+\s*$", "?", prompt.strip()))
    asked = re.sub(r"\b(What|Where|Who|How|When)['’]s (?!up\b)", r"\1 is ", asked)
    if _TAG.search(asked):
        raise NoRule(prompt, 'it asks by a tag ("isn\'t it?")')
    made = _elliptical(asked)
    if made is None:
        parts = _cut(asked)
        made = _question(parts, keep_mode) or _instruction(parts, keep_mode)
    if made is None or made.prompt == asked:
        raise NoRule(prompt, "no rule of open questions knows its grammar")
    return made


def look_first(prompt: str) -> Rewrite:
    """The same words behind a request to look carefully, which changes neither their content nor
    their mode.

    >>> look_first("Who is on the bench?").prompt, look_first("Describe the bench.").prompt
    ('Look carefully: who is on the bench?', 'Look carefully and describe the bench.')
    """
    text = prompt.strip()
    head = _head(text)
    if head in _WH | AUXILIARIES:
        return Rewrite(f"Look carefully: {_lower(text)}", "open.look")
    if head in _IMPERATIVES:
        return Rewrite(f"Look carefully and {_lower(text)}", "open.look")
    return Rewrite(f"Look carefully. {text}", "open.look")


def _cut(prompt: str) -> _Parts:
    """The prompt cut at the sentence that asks: the first that begins like a question, otherwise
    the first of all.
    """
    spans, start = [], 0
    for gap in _SENTENCE_END.finditer(prompt):
        quoted = prompt.count('"', 0, gap.start()) % 2 == 1
        if not quoted:
            spans.append((start, gap.start()))
            start = gap.end()
    spans.append((start, len(prompt)))
    listed = _LISTED.search(prompt)
    for a, b in spans:
        if prompt[a:b].endswith(("?", "？")) or (
            a == 0 and _head(prompt[a:b]) in (_WH | AUXILIARIES)
        ):
            # options listed behind the question stay where they are
            end = listed.start() + 1 if listed and a < listed.start() < b else b
            if end < b and prompt[end - 1] == ":":
                break
            return _Parts(prompt[:a], prompt[a:end], prompt[end:])
        if _head(prompt[a:b]) in _IMPERATIVES | {"please"}:
            break
    a, b = spans[0]
    return _Parts("", prompt[a:b], prompt[b:])


def _head(sentence: str) -> str:
    match = re.match(r"[A-Za-z]+", sentence)
    return match[0].lower() if match else ""


def _lower(text: str) -> str:
    """The text with its first letter in lower case, unless the word is "I" or begins with two
    capitals ("UFO").
    """
    return text if re.match(r"[A-Z]{2}|I\b", text) else text[:1].lower() + text[1:]


def _elliptical(prompt: str) -> Rewrite | None:
    """The short parallel of a question without a verb, such as "How many chairs?"."""
    match = re.fullmatch(r"How many ([^?,]+)\?", prompt, re.IGNORECASE)
    if not match or any(t.word in AUXILIARIES or t.tag.startswith("V") for t in tag(match[1])):
        return None
    return Rewrite(f"What number of {match[1]}?", "open.number")


# --- questions ---


def _question(parts: _Parts, keep_mode: bool) -> Rewrite | None:
    text = parts.sentence.rstrip()
    mark = re.search(r"\s*[.?？!]*$", text)
    body = text[: mark.start()] if mark else text
    if not body or (parts.after.strip() and re.fullmatch(r"\s*\w+\s*\?", parts.after)):
        return None  # "...? Where?" asks a second thing that leans on the form of the first
    words = tag(body)
    at = _asks_at(words)
    if at is None or _SECOND_QUESTION.search(body):
        return None
    lead = body[: words[at].start].strip().rstrip(",，")
    made = _indirect(body, words[at:])
    if made is None:
        return None
    asked, rule = made
    if keep_mode:
        opening = "would you say that" if rule == "open.whether" else "could you tell me"
        asked = asked.removeprefix("whether ") if rule == "open.whether" else asked
        said = f"{lead}, {opening} {asked}" if lead else f"{opening.capitalize()} {asked}"
        return Rewrite(f"{parts.before}{said}?{parts.after}", rule)
    rule = rule.replace("open.", "open.tell_")
    said = f"Tell me, {_lower(lead)}, {asked}" if lead else f"Tell me {asked}"
    colon = parts.after.lstrip().startswith("(") or bool(_LISTED.match(":" + parts.after))
    after = parts.after.rstrip("?") if colon else parts.after
    end = ":" if colon else "."
    return Rewrite(f"{parts.before}{said}{end}{after}", rule)


def _asks_at(words: list[Token]) -> int | None:
    """Where the question begins: at the head, or behind a comma after a clause such as "In the
    image,".
    """
    for i, token in enumerate(words):
        opens = token.word in _WH or token.word in AUXILIARIES
        # "At what time", "In which direction"
        behind = (
            i + 1 < len(words)
            and words[i + 1].word in {"what", "which"}
            and token.tag.startswith("PR")
        )
        if i == 0 and (opens or behind):
            return i
        if i and words[i - 1].text in {",", "，"} and (opens or behind):
            # a relative clause behind a comma ("..., which is red") opens no question
            return (
                i
                if words[0].tag.startswith(("PR", "VVG", "VVN", "AV")) or words[0].word == "out"
                else None
            )
    return None


def _indirect(body: str, words: list[Token]) -> tuple[str, str] | None:
    """The indirect question, and the rule that made it."""
    if words[0].word in AUXILIARIES:
        wish = _wish(body, words)
        if wish is not None:
            return None
        turned = as_statement(body, words)
        return None if turned is None else (f"whether {turned}", "open.whether")
    first = 1 if words[0].word in _WH else 2
    known = letters_of(words)
    at = next((i for i in range(first, len(words)) if words[i].word in AUXILIARIES), None)
    # "Who in the picture is wearing trousers?": a place may stand behind the question word
    if (
        at is not None
        and first < at < len(words) - 1
        and known[first] == "P"
        and known[at + 1] in "GEAP"
    ):
        return _lower(body[words[0].start :]), "open.wh"
    if at is None or not re.fullmatch(r"[ACDMNORSTGE?]*", known[first:at].replace("&", "?")):
        # the question word is the subject of the verb: "Which company owns the airplane?"
        plain = (
            first < len(words)
            and (known[first] in "VN" or at is None)
            and words[0].word not in _ADVERBIAL
        )
        return (_lower(body[words[0].start :]), "open.wh") if plain else None
    return _behind(body, words, at, known)


def _behind(body: str, words: list[Token], at: int, known: str) -> tuple[str, str] | None:
    """The indirect form of a question word or phrase that is followed by the auxiliary at `at`."""
    if at + 1 >= len(words):
        return None
    question = _lower(body[words[0].start : words[at - 1].end])
    bare = at == 1
    then = known[at + 1]
    adverbial = words[0].word in _ADVERBIAL and (bare or words[1].word not in {"many", "much"})
    chooses = words[0].word == "which" and words[1].word == "of"
    if not adverbial and (chooses or not _is_subject(words, known, at)):
        return _lower(body[words[0].start :]), "open.wh"
    if bare and words[0].word == "what" and words[at].word in BE and words[at + 1].word == "the":
        head = _head_noun(words, known, at + 2)
        hanging = known[-1] == "P" and re.search("[GE]", known[at + 2 :])
        if head in _ATTRIBUTES and not hanging and words[-1].word not in {"doing", "like", "of"}:
            return body[words[at + 1].start :], "open.attribute"
    turned = as_statement(
        body, words[at:], words[0].word, whole=words[at].word in BE and then in _NOMINAL
    )
    return None if turned is None else (f"{question} {turned}", "open.wh")


def _is_subject(words: list[Token], known: str, at: int) -> bool:
    """Whether a subject begins behind the auxiliary, so that the auxiliary has to move behind the
    subject.
    """
    then = known[at + 1]
    if words[at].word in DO or words[at + 1].word in PRONOUNS:
        return True
    if (
        words[at].word in HAVE
    ):  # "Which truck has its door open?": a main verb, unless a participle follows
        return at == 1 and "E" in known[at + 2 :]
    if then == "A":
        rest = re.match(r"A+(?:[A-Z&?]|$)", known[at + 1 :])
        return bool(rest) and known[at + 1 :].lstrip("A")[:1] in {"N"}
    return then in _NOMINAL and words[at + 1].word not in {"located", "placed"}


def _head_noun(words: list[Token], known: str, start: int) -> str:
    """The last noun of the first run of adjectives and nouns."""
    i = start
    while i < len(words) and known[i] in "ANRC":
        i += 1
    return words[i - 1].word if i > start else ""


def _wish(body: str, words: list[Token]) -> str | None:
    """What "Can you (please) ..." asks to be done, unless it asks whether something can be seen."""
    if (
        words[0].word not in {"can", "could", "will", "would"}
        or len(words) < 3
        or words[1].word != "you"
    ):
        return None
    verb = 3 if words[2].word == "please" else 2
    if words[2].word != "please" and (words[2].word in _SEEING or words[2].word == "be"):
        return None
    return body[words[verb].start :] if verb < len(words) else None


# --- instructions ---


def _instruction(parts: _Parts, keep_mode: bool) -> Rewrite | None:
    text = parts.sentence.rstrip()
    if text.endswith(("?", "？")):
        words = tag(text[:-1])
        at = _asks_at(words)
        wish = _wish(text[:-1], words[at:]) if at == 0 else None
        if wish and keep_mode:
            modal = _OTHER_MODAL[words[0].word]
            return Rewrite(
                f"{parts.before}{modal}{text[words[0].end :]}{parts.after}", "open.could"
            )
        return (
            Rewrite(f"{parts.before}I would like you to {wish}.{parts.after}", "open.request")
            if wish
            else None
        )
    for name, pattern, said in _VERBS:
        match = re.match(pattern, text)
        if match and keep_mode and not _SECOND_VERB.search(text):
            return Rewrite(
                f"{parts.before}{match.expand(said)}{text[match.end() :]}{parts.after}",
                f"open.{name}",
            )
    please = re.match(r"Please,?\s+", text)
    head = _head(text[please.end() :] if please else text)
    if head not in _IMPERATIVES:
        return _led(parts, text, keep_mode)
    bare = text[please.end() :] if please else text
    if keep_mode:
        said = bare[0].upper() + bare[1:] if please else f"Please {_lower(bare)}"
        return Rewrite(f"{parts.before}{said}{parts.after}", "open.please")
    return Rewrite(f"{parts.before}I would like you to {_lower(bare)}{parts.after}", "open.request")


def _led(parts: _Parts, text: str, keep_mode: bool) -> Rewrite | None:
    """An instruction behind a clause: "Based on the image, compose a haiku."."""
    match = re.match(r"((?:Based|In|From|As|Using|Looking)\b[^,]*), (?:please )?([a-z]+)\b", text)
    if not match or match[2] not in _IMPERATIVES:
        return None
    at = match.start(2)
    if keep_mode:
        please = "" if "please" in match[0] else "please "
        return Rewrite(f"{parts.before}{match[1]}, {please}{text[at:]}{parts.after}", "open.please")
    return Rewrite(
        f"{parts.before}{match[1]}, I would like you to {text[at:]}{parts.after}", "open.request"
    )
