"""Rephrasing of open questions and instructions, which leaves their content unchanged.

`rephrase_open` parses the grammar of a question or an instruction of any kind:

    Who is sitting on the bench?            ->  Could you tell me who is sitting on the bench?
    What is the color of the ball?          ->  Could you tell me the color of the ball?
    Is there a dog at X:105 Y:350?          ->  Would you say that there is a dog at X:105 Y:350?
    Compare the tomatoes in the photo.      ->  Make a comparison of the tomatoes in the photo.

It makes the parallel form of every benchmark of open questions (GAVIE, MMHal-Bench, one of your
own) unless the adapter chooses otherwise. Only the auxiliary moves, behind its subject, so a false
presupposition, a coordinate or a list of options survives. `NoRule` is raised for what no rule
fits: statements, tag questions, and questions whose subject cannot be separated from the rest.

`reword` needs no grammar. It rewrites a question by the way it opens, whatever follows:

    What is behind the man?                 ->  What can be seen behind the man?
    How many chairs?                        ->  What is the number of chairs?

HQH, whose thousands of short questions are often misspelt, and FaithScore use it. A question that
is too broken for any template is asked unchanged behind the words "Looking at the picture,".

The two answer differently for one question, and both forms are published: neither may change.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from hqm.errors import NoRule
from hqm.forms.grammar import AUXILIARIES, BE, DO, HAVE, Clause, Rewrite, letters_of, tag
from hqm.forms.negate import PRONOUNS, as_statement
from hqm.forms.wording import INSTRUCTION_PAIRS

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
_SWAPPED_MODALS = {"can": "Could", "could": "Can", "will": "Would", "would": "Will"}
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


class _CutPrompt(NamedTuple):
    """A prompt cut at the sentence that is rewritten."""

    before: str
    sentence: str
    after: str

    def rewritten(self, sentence: str, rule: str) -> Rewrite:
        return Rewrite(f"{self.before}{sentence}{self.after}", rule)


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
    'What is the number of chairs?'
    """
    # Prompts may end in ".?" or "??", and have "What's" for "What is".
    text = re.sub(r"([.!])\s*\?$", r"\1", re.sub(r"(?:\s*\?)+\s*$", "?", prompt.strip()))
    text = re.sub(r"\b(What|Where|Who|How|When)['’]s (?!up\b)", r"\1 is ", text)
    if _TAG.search(text):
        raise NoRule(prompt, 'it asks by a tag ("isn\'t it?")')
    rewritten = _elliptical(text)
    if rewritten is None:
        cut = _cut(text)
        rewritten = _question(cut, keep_mode) or _instruction(cut, keep_mode)
    if rewritten is None or rewritten.prompt == text:
        raise NoRule(prompt, "no rule of open questions knows its grammar")
    return rewritten


def look_first(prompt: str) -> Rewrite:
    """The same words behind a request to look carefully, which changes neither their content nor
    their mode.

    >>> look_first("Who is on the bench?").prompt, look_first("Describe the bench.").prompt
    ('Look carefully: who is on the bench?', 'Look carefully and describe the bench.')
    """
    text = prompt.strip()
    head = _head(text)
    if head in _WH | AUXILIARIES:
        return Rewrite(f"Look carefully: {_decapitalize(text)}", "open.look")
    if head in _IMPERATIVES:
        return Rewrite(f"Look carefully and {_decapitalize(text)}", "open.look")
    return Rewrite(f"Look carefully. {text}", "open.look")


def _cut(prompt: str) -> _CutPrompt:
    """The prompt cut at the sentence that asks: the first that begins like a question, otherwise
    the first of all.
    """
    spans = []
    start = 0
    counted = 0
    n_quotes = 0
    for gap in _SENTENCE_END.finditer(prompt):
        # A sentence inside a quotation is no sentence of the prompt.
        n_quotes += prompt.count('"', counted, gap.start())
        counted = gap.start()
        if n_quotes % 2 == 0:
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
            return _CutPrompt(prompt[:a], prompt[a:end], prompt[end:])
        if _head(prompt[a:b]) in _IMPERATIVES | {"please"}:
            break
    a, b = spans[0]
    return _CutPrompt("", prompt[a:b], prompt[b:])


def _head(sentence: str) -> str:
    match = re.match(r"[A-Za-z]+", sentence)
    if match:
        return match[0].lower()
    return ""


def _decapitalize(text: str) -> str:
    """The text with its first letter in lower case, unless the word is "I" or begins with two
    capitals ("UFO").
    """
    if re.match(r"[A-Z]{2}|I\b", text):
        return text
    return text[:1].lower() + text[1:]


def _elliptical(prompt: str) -> Rewrite | None:
    """The short parallel of a question without a verb, such as "How many chairs?"."""
    match = re.fullmatch(r"How many (?:of )?([^?,]+)\?", prompt, re.IGNORECASE)
    if not match or any(t.word in AUXILIARIES or t.tag.startswith("V") for t in tag(match[1])):
        return None
    return Rewrite(f"What is the number of {match[1]}?", "open.number")


# --- questions ---


def _question(cut: _CutPrompt, keep_mode: bool) -> Rewrite | None:
    text = cut.sentence.rstrip()
    mark = re.search(r"\s*[.?？!]*$", text)
    body = text[: mark.start()] if mark else text
    if not body or (cut.after.strip() and re.fullmatch(r"\s*\w+\s*\?", cut.after)):
        return None  # "...? Where?" asks a second thing that leans on the form of the first
    words = tag(body)
    start = _question_start(words)
    if start is None or _SECOND_QUESTION.search(body):
        return None
    if words[start].word in AUXILIARIES and any(token.word in _WH for token in words[:start]):
        return None  # "In how many years, is it higher?" asks for a number, not whether
    lead = body[: words[start].start].strip().rstrip(",，")
    indirect = _indirect(body, words[start:])
    if indirect is None:
        return None
    clause, rule = indirect
    if keep_mode:
        opening = "could you tell me"
        if rule == "open.whether":
            opening = "would you say that"
            clause = clause.removeprefix("whether ")
        if lead:
            sentence = f"{lead}, {opening} {clause}"
        else:
            sentence = f"{opening.capitalize()} {clause}"
        return cut.rewritten(f"{sentence}?", rule)
    rule = rule.replace("open.", "open.tell_")
    if lead:
        sentence = f"Tell me, {_decapitalize(lead)}, {clause}"
    else:
        sentence = f"Tell me {clause}"
    # Options follow: a command ends in a colon before them.
    colon = cut.after.lstrip().startswith("(") or bool(_LISTED.match(":" + cut.after))
    after = cut.after.rstrip("?") if colon else cut.after
    end = ":" if colon else "."
    return Rewrite(f"{cut.before}{sentence}{end}{after}", rule)


def _question_start(words: Clause) -> int | None:
    """Where the question begins: at the head, or behind a comma after a clause such as "In the
    image,".
    """
    for i, token in enumerate(words):
        opens = token.word in _WH or token.word in AUXILIARIES
        # "At what time", "In which direction"
        follows_preposition = (
            i + 1 < len(words)
            and words[i + 1].word in {"what", "which"}
            and token.tag.startswith("PR")
        )
        if i == 0 and (opens or follows_preposition):
            return i
        if i and words[i - 1].text in {",", "，"} and (opens or follows_preposition):
            # a relative clause behind a comma ("..., which is red") opens no question
            if words[0].tag.startswith(("PR", "VVG", "VVN", "AV")) or words[0].word == "out":
                return i
            return None
    return None


def _indirect(body: str, words: Clause) -> tuple[str, str] | None:
    """The indirect question, and the rule that made it."""
    if words[0].word in AUXILIARIES:
        if _wish(body, words) is not None:
            return None
        turned = as_statement(body, words)
        if turned is None:
            return None
        return (f"whether {turned}", "open.whether")
    first = 1 if words[0].word in _WH else 2
    letters = letters_of(words)
    auxiliary = next((i for i in range(first, len(words)) if words[i].word in AUXILIARIES), None)
    # "Who in the picture is wearing trousers?": a place may stand behind the question word
    if (
        auxiliary is not None
        and first < auxiliary < len(words) - 1
        and letters[first] == "P"
        and letters[auxiliary + 1] in "GEAP"
    ):
        return _decapitalize(body[words[0].start :]), "open.wh"
    if auxiliary is None or not re.fullmatch(
        r"[ACDMNORSTGE?]*", letters[first:auxiliary].replace("&", "?")
    ):
        # the question word is the subject of the verb: "Which company owns the airplane?"
        plain = (
            first < len(words)
            and (letters[first] in "VN" or auxiliary is None)
            and words[0].word not in _ADVERBIAL
        )
        if plain:
            return (_decapitalize(body[words[0].start :]), "open.wh")
        return None
    return _indirect_with_auxiliary(body, words, auxiliary, letters)


def _indirect_with_auxiliary(
    body: str, words: Clause, auxiliary: int, letters: str
) -> tuple[str, str] | None:
    """The indirect form of a question word or phrase that the auxiliary follows."""
    if auxiliary + 1 >= len(words):
        # "Which of them is": nothing follows that could be the subject.
        return None
    question = _decapitalize(body[words[0].start : words[auxiliary - 1].end])
    has_no_noun = auxiliary == 1
    next_letter = letters[auxiliary + 1]
    adverbial = words[0].word in _ADVERBIAL and (
        has_no_noun or words[1].word not in {"many", "much"}
    )
    chooses = words[0].word == "which" and words[1].word == "of"
    if not adverbial and (chooses or not _is_subject(words, letters, auxiliary)):
        return _decapitalize(body[words[0].start :]), "open.wh"
    if (
        has_no_noun
        and words[0].word == "what"
        and words[auxiliary].word in BE
        and words[auxiliary + 1].word == "the"
    ):
        head = _head_noun(words, letters, auxiliary + 2)
        hanging = letters[-1] == "P" and re.search("[GE]", letters[auxiliary + 2 :])
        # The attribute by its name is shorter, and moves no verb: "tell me the color of the ball".
        if head in _ATTRIBUTES and not hanging and words[-1].word not in {"doing", "like", "of"}:
            return body[words[auxiliary + 1].start :], "open.attribute"
        if _is_noun_phrase(words[auxiliary + 1 :], letters[auxiliary + 1 :]):
            subject = body[words[auxiliary + 1].start :]
            return f"{question} {subject} {words[auxiliary].word}", "open.wh"
    turned = as_statement(
        body,
        words[auxiliary:],
        words[0].word,
        may_lack_predicate=words[auxiliary].word in BE and next_letter in _NOMINAL,
    )
    if turned is None:
        return None
    return (f"{question} {turned}", "open.wh")


def _is_subject(words: Clause, letters: str, auxiliary: int) -> bool:
    """Whether a subject begins behind the auxiliary, so that the auxiliary has to move behind the
    subject.
    """
    next_letter = letters[auxiliary + 1]
    if words[auxiliary].word in DO or words[auxiliary + 1].word in PRONOUNS:
        return True
    if (
        words[auxiliary].word in HAVE
    ):  # "Which truck has its door open?": a main verb, unless a participle follows
        return auxiliary == 1 and "E" in letters[auxiliary + 2 :]
    if next_letter == "A":
        adjectives = re.match(r"A+(?:[A-Z&?]|$)", letters[auxiliary + 1 :])
        return bool(adjectives) and letters[auxiliary + 1 :].lstrip("A")[:1] in {"N"}
    return next_letter in _NOMINAL and words[auxiliary + 1].word not in {"located", "placed"}


def _is_noun_phrase(words: Clause, letters: str) -> bool:
    """Whether a phrase ends in a noun or a name, and nothing in it may be said of its beginning."""
    has_predicate = any(token.word == "like" or token.word.endswith("ing") for token in words)
    return not has_predicate and bool(re.fullmatch("[ACDMNORSTP&?]*[NC]", letters))


def _head_noun(words: Clause, letters: str, start: int) -> str:
    """The last noun of the first run of adjectives and nouns."""
    i = start
    while i < len(words) and letters[i] in "ANRC":
        i += 1
    if i > start:
        return words[i - 1].word
    return ""


def _wish(body: str, words: Clause) -> str | None:
    """The deed that "Can you (please) ..." asks for; None where it asks what can be seen."""
    if (
        words[0].word not in {"can", "could", "will", "would"}
        or len(words) < 3
        or words[1].word != "you"
    ):
        return None
    verb = 3 if words[2].word == "please" else 2
    # "Can you see a dog?" asks what is there; "Can you write a caption?" asks for a deed.
    if words[2].word != "please" and (words[2].word in _SEEING or words[2].word == "be"):
        return None
    if verb < len(words):
        return body[words[verb].start :]
    return None


# --- instructions ---


def _instruction(cut: _CutPrompt, keep_mode: bool) -> Rewrite | None:
    text = cut.sentence.rstrip()
    if text.endswith(("?", "？")):
        words = tag(text[:-1])
        wish = _wish(text[:-1], words) if _question_start(words) == 0 else None
        if not wish:
            return None
        if keep_mode:
            modal = _SWAPPED_MODALS[words[0].word]
            return cut.rewritten(f"{modal}{text[words[0].end :]}", "open.could")
        return cut.rewritten(f"I would like you to {wish}.", "open.request")
    for name, pattern, synonym in _VERBS:
        # A second instruction ("... and explain") may lean on the verb of the first.
        match = re.match(pattern, text)
        if match and keep_mode and not _SECOND_VERB.search(text):
            return cut.rewritten(f"{match.expand(synonym)}{text[match.end() :]}", f"open.{name}")
    please = re.match(r"Please,?\s+", text)
    command = text[please.end() :] if please else text
    if _head(command) not in _IMPERATIVES:
        return _instruction_after_clause(cut, text, keep_mode)
    if keep_mode:
        if please:
            polite = command[0].upper() + command[1:]
        else:
            polite = f"Please {_decapitalize(command)}"
        return cut.rewritten(polite, "open.please")
    return cut.rewritten(f"I would like you to {_decapitalize(command)}", "open.request")


def _instruction_after_clause(cut: _CutPrompt, text: str, keep_mode: bool) -> Rewrite | None:
    """An instruction behind a clause: "Based on the image, compose a haiku."."""
    match = re.match(r"((?:Based|In|From|As|Using|Looking)\b[^,]*), (?:please )?([a-z]+)\b", text)
    if not match or match[2] not in _IMPERATIVES:
        return None
    clause = match[1]
    command = text[match.start(2) :]
    if keep_mode:
        please = "" if "please" in match[0] else "please "
        return cut.rewritten(f"{clause}, {please}{command}", "open.please")
    return cut.rewritten(f"{clause}, I would like you to {command}", "open.request")


# --- templates by the opening of a question ---

_EQUIVALENTS = {**dict(INSTRUCTION_PAIRS), **{second: first for first, second in INSTRUCTION_PAIRS}}
"""An instruction -> the one that stands for it; either may be asked."""
_PICTURE = r"(?:photo|picture|image|pic|photograph)"
_PREPOSITION = (
    r"(?:(?:directly|right|just) )?(?:in|on|to the|above|under|underneath|below|beneath|next"
    r" to|near|around|beside|between|"
    r"behind|at|across|against|over|along|inside|outside|by|through|beyond|among|atop"
    r"|throughout|all"
    r" over|before|after|with)"
)
_STRANDED = (
    r"(?:made of|made out of|on|in|at|with|to|near|behind|next to|in front"
    r" of|under|over|from|by|for|about|through|against|toward|towards|around|into|of|up|out|off)"
)
_DETERMINER = (
    r"(?:the|this|that|these|those|his|her|their|its|a|an|one|two|three|most of|\w+['’]s|\w+s['’])"
)
_COMPARED = (
    r"(?:taller|bigger|smaller|larger|shorter|older|younger|higher|lower|longer|heavier|closer"
    r"|farther|further|wider|thicker|thinner|brighter|darker|more|less|fuller|newer|cleaner|fatter)"
)
# Nouns in -ing, which are no verbs: "What is the man in the clothing?"
_NOUNS = (
    "building ceiling clothing painting railing thing wing ring string awning evening morning king"
    " frosting icing siding flooring bedding topping lighting marking earring wedding lettering"
    " covering opening crossing landing parking writing drawing spring swing wiring something"
    " nothing anything sling sibling topping".split()
)
_VERB_ING = rf"(?!(?:{'|'.join(_NOUNS)})s?\b)\w+ing"
_TRANSITIVE = (
    r"(?:holding|wearing|eating|carrying|riding|playing|using|watching|reading|drinking|throwing"
    r"|catching|pulling|pushing|hitting|kicking|driving|cutting|touching|making|selling|cooking"
    r"|preparing|chasing|grabbing|trying|about|getting|showing|displaying)"
)
_PEOPLE = re.compile(
    r"(?:people|men|women|boys|girls|players|kids|children|persons|surfers|skiers|skateboarders"
    r"|bikers|adults|police)$"
)


def _noun_phrase(text: str) -> bool:
    """Whether the text reads as one noun phrase: it begins with a determiner and does not end in a
    verb.
    """
    last = text.split()[-1].lower()
    clause = re.search(r"\b(?:is|was|were)\b", text) is not None
    verbal = (
        clause
        or (last.endswith("ing") and last not in _NOUNS)
        or last in {"called", "for", "do", "of", "on", "in", "at", "with", "from", "to"}
    )
    return re.match(rf"{_DETERMINER} \w", text, re.IGNORECASE) is not None and not verbal


def _third_person(verb: str) -> str:
    return {"have": "has", "do": "does", "go": "goes", "be": "is"}.get(verb, f"{verb}s")


_Maker = Callable[[re.Match[str]], str | None]


def _cleft(m: re.Match[str]) -> str:
    """Move the verb behind its subject: "What is the man holding?" becomes "What is it that the man
    is holding?".
    """
    return f"{m['w']} is it that {m['x']} {m['be']} {m['v']}{m['y'] or ''}?"


def _cleft_unless_article(m: re.Match[str]) -> str | None:
    """The same, unless the subject is an article, of which the noun was taken for the verb."""
    if _is_no_article(m["x"]):
        return _cleft(m)
    return None


def _ask_of_photographer(m: re.Match[str]) -> str:
    synonym = "photo" if m["thing"] == "picture" else "picture"
    picture = "this" if m["this"] else f"{m['det']} {synonym}"
    return f"{m['w']} did the photographer {m['likely'] or ''}take {picture}?"


def _number_with_clause(m: re.Match[str]) -> str | None:
    if re.match(
        rf"(?:is|are|was|were) (?:{_DETERMINER}|they|it|he|she|there|each|both) ", f"{m['y']} "
    ):
        return None
    pronoun = "who" if _PEOPLE.search(m["x"]) else "that"
    return f"What is the number of {m['x']} {pronoun} {m['y']}?"


def _template_if(make: str, test: Callable[[str], bool]) -> _Maker:
    """Expand a template where the words of its group `x` pass a test."""
    return lambda m: m.expand(make) if test(m["x"]) else None


def _is_no_article(text: str) -> bool:
    return text.lower() not in ("the", "a", "an", "this", "these")


_TEMPLATES: tuple[tuple[str, str, str | _Maker], ...] = (
    # when and where a picture was taken
    (
        "taken",
        (
            r"(?P<w>When|Where) (?:was|is) (?:(?P<this>this)|(?P<det>the|this|that)"
            rf" (?P<thing>{_PICTURE})) (?P<likely>most likely |likely )?taken\?"
        ),
        _ask_of_photographer,
    ),
    ("weather", r"What is the weather like(?P<x> in .+| today)?\?", r"How is the weather\g<x>?"),
    ("weather", r"How is the weather(?P<x> in .+| today)?\?", r"What is the weather like\g<x>?"),
    # writing
    (
        "written",
        rf"What is written(?P<x> {_PREPOSITION} .+)?\?",
        r"What does the writing\g<x> say?",
    ),
    ("written", rf"What does it say(?P<x> {_PREPOSITION} .+)\?", r"What is written\g<x>?"),
    (
        "say",
        r"What does (?P<x>(?:the|this|his|her) .+) say\?",
        lambda m: (
            None
            if re.search(r"text|word|logo|letter|number|writing", m["x"])
            else f"What is written on {m['x']}?"
        ),
    ),
    # colour
    ("color", r"What (?P<c>colou?r) are they\?", r"What is their \g<c>?"),
    (
        "color",
        r"What (?P<c>colou?r) (?:is|are) (?P<x>[^?]+)\?",
        _template_if(
            r"What is the \g<c> of \g<x>?", lambda x: _noun_phrase(x) and " peeking" not in x
        ),
    ),
    (
        "color",
        r"What (?P<c>colou?rs) are (?P<x>[^?]+)\?",
        _template_if(r"What are the \g<c> of \g<x>?", _noun_phrase),
    ),
    (
        "color",
        r"What (?P<c>colou?r) (?:is|are) (?P<x>(?!there|part|on|painted)\w+(?: \w+)?)\?",
        _template_if(r"What is the \g<c> of \g<x>?", lambda x: not x.endswith("ing")),
    ),
    ("color-which", r"What (?P<x>colou?rs? .+)\?", r"Which \g<x>?"),
    # what is somewhere
    (
        "place",
        rf"What (?:is|are) (?P<x>{_PREPOSITION} (?!.* doing\?)[^?]+)\?",
        r"What can be seen \g<x>?",
    ),
    (
        "place",
        rf"What (?:is|are|can be) (?:seen|shown) (?P<x>{_PREPOSITION} .+)\?",
        r"What is \g<x>?",
    ),
    # what somebody does
    (
        "doing",
        r"(?P<w>What) (?P<be>is|are) (?P<x>(?!doing).+?) (?P<v>doing)(?P<y> .+)?\?",
        _cleft_unless_article,
    ),
    (
        "doing",
        r"What does (?P<x>.+) appear to be doing\?",
        r"What is it that \g<x> appears to be doing?",
    ),
    (
        "verb",
        (
            rf"(?P<w>What|Who) (?P<be>is|are) (?P<x>(?:(?!\b{_VERB_ING}\b).)+?)"
            rf" (?P<v>{_TRANSITIVE})(?P<y> .+)?\?"
        ),
        _cleft_unless_article,
    ),
    (
        "verb",
        (
            rf"(?P<w>What|Who) (?P<be>is|are) (?P<x>{_DETERMINER} (?:(?!\b{_VERB_ING}\b).)+?)"
            rf" (?P<v>{_VERB_ING} {_STRANDED})(?P<y>)\?"
        ),
        _cleft,
    ),
    (
        "verb",
        rf"(?P<w>What|Who) (?P<be>is|are) (?P<x>{_DETERMINER} .+) (?P<v>{_VERB_ING})(?P<y>)\?",
        _cleft,
    ),
    (
        "verb",
        (
            rf"(?P<w>What) (?P<be>is|are) (?P<x>{_DETERMINER} (?:(?!\b{_VERB_ING}\b).)+?)"
            rf" (?P<v>{_STRANDED})(?P<y>)\?"
        ),
        _cleft,
    ),
    (
        "verb",
        r"What does (?P<x>.+?) (?P<v>say|have|wear|show|look like)(?P<y> .+)?\?",
        lambda m: (
            f"What is it that {m['x']}"
            f" {_third_person(m['v'].split()[0])}{m['v'][len(m['v'].split()[0]) :]}{m['y'] or ''}?"
        ),
    ),
    # comparison
    (
        "compare-two",
        rf"(?:What|Who|Which) is (?P<x>{_COMPARED}\b.* or .+)\?",
        r"Which one is \g<x>?",
    ),
    ("compare", rf"Who is (?P<x>{_COMPARED}\b.*)\?", r"Which one is \g<x>?"),
    # what or who somebody is
    (
        "name-it",
        r"(?P<w>What|Who) (?P<be>is|are) (?P<x>this|that|it|these|those|they|he|she)\?",
        lambda m: f"Say {m['w'].lower()} {m['x']} {m['be']}.",
    ),
    (
        "name-it",
        r"Who (?P<be>is|are) (?P<x>[^?]+)\?",
        _template_if(r"Say who \g<x> \g<be>.", _noun_phrase),
    ),
    (
        "identify",
        r"What (?:is|are) (?P<x>[^?,]+)\?",
        _template_if(r"Identify \g<x>.", _noun_phrase),
    ),
    (
        "which-things",
        rf"What are (?P<x>(?!{_DETERMINER} |there |they |\w+ \w+ing\b)\w+ (?:{_PREPOSITION}) .+)\?",
        r"Which things are \g<x>?",
    ),
    (
        "subject",
        (
            rf"(?P<w>What|Who) is (?P<x>(?!{_DETERMINER} |there |he |she |it |\w+ (?:is|are)"
            rf" )(?:\w+ing|\w+ed|\w+n|{_COMPARED}|\w+ in colou?r|\w+"
            r" and|large|wrong|bright|long|hidden|most)\b.*)\?"
        ),
        r"\g<w> is it that is \g<x>?",
    ),
    ("subject", rf"Who is (?P<x>(?:{_PREPOSITION}) .+)\?", r"Who is it that is \g<x>?"),
    (
        "subject",
        (
            r"(?P<w>What|Who)"
            r" (?P<x>(?:has|was|were|can|could|may|might|would|makes?|made|hits|takes|drives"
            r"|appears"
            r"|seems|covers?|helps?) .+)\?"
        ),
        r"\g<w> is it that \g<x>?",
    ),
    # how many
    (
        "number-there",
        r"How many (?P<x>[^?]+?) (?:are|is|were) there(?P<y>,? [^?]+)?\?",
        r"What is the number of \g<x>\g<y>?",
    ),
    (
        "number-place",
        rf"How many (?P<x>(?!more )[^?]+?) (?:are|is|were) (?P<y>{_PREPOSITION} [^?]+)\?",
        r"What is the number of \g<x> \g<y>?",
    ),
    (
        "number-seen",
        r"How many (?P<x>[^?]+?) (?P<can>do|can) you see(?P<y> [^?]+)?\?",
        lambda m: (
            f"What is the number of {m['x']} that you"
            f" {'can ' if m['can'] == 'can' else ''}see{m['y'] or ''}?"
        ),
    ),
    (
        "number-that",
        (
            r"How many (?P<x>(?!more |are |is |of )(?:(?! are | is | was | were | can | have | has"
            r" | appear | do | does | did ).)+?) (?P<y>(?:are|is|was|were|can be|have|has|appear)"
            r" [^?]+)\?"
        ),
        _number_with_clause,
    ),
    (
        "number",
        (
            r"How many (?P<x>(?!more |are |is )(?:(?! are | is | was | were | can | have | has | do"
            r" | does | did | written\b).)+)\?"
        ),
        r"What is the number of \g<x>?",
    ),
    ("number-of", r"How many of (?P<x>[^?]+)\?", r"What number of \g<x>?"),
    ("number-of", r"What number of (?P<x>[^?]+)\?", r"How many \g<x>?"),
    ("number-of", r"How many (?P<x>(?!more |are |is )[^?]+)\?", r"What number of \g<x>?"),
    # where and when
    (
        "direction",
        (
            r"Where (?P<be>is|are|was) (?P<x>.+)"
            r" (?P<v>looking|facing|pointing|pointed|heading|headed)\?"
        ),
        r"In which direction \g<be> \g<x> \g<v>?",
    ),
    (
        "where",
        r"Where (?:is|are) (?P<x>[^?]+?)(?: located| positioned| placed| situated| pictured)?\?",
        _template_if(r"What is the location of \g<x>?", _noun_phrase),
    ),
    (
        "where",
        r"Where (?P<x>(?:is|are|was|were|did|does|do|can|could|would|might) .+)\?",
        r"In what place \g<x>?",
    ),
    (
        "when",
        r"When (?P<x>(?:is|are|was|were|did|does|do|will|during) .+)\?",
        r"At what time \g<x>?",
    ),
    # why and how
    (
        "why",
        r"Why (?P<x>(?:is|are|was|were|does|do|did|would|might|could|can) (?!written).+)\?",
        r"For what reason \g<x>?",
    ),
    ("look", r"How (?P<d>does|do) (?P<x>.+) look\?", r"What \g<d> \g<x> look like?"),
    (
        "way",
        (
            r"How (?P<x>(?:is|are|was|were) .+"
            r" (?:colou?red|made|taken|built|decorated|cooked|cut|prepared)|(?:could|can|might|may)"
            r" .+)\?"
        ),
        r"In what way \g<x>?",
    ),
    ("imagine", r"Imagine (?:that )?you (?P<x>.+\?)", r"Suppose that you \g<x>"),
    # what, before a noun
    ("kind", r"What (?:kind|sort) of (?P<x>.+)\?", r"What type of \g<x>?"),
    ("kind", r"What type of (?P<x>.+)\?", r"What kind of \g<x>?"),
    (
        "which",
        (
            r"What (?P<x>(?!is |are |was |were |do |does |did |the |they |there |else |you"
            rf" |{_PREPOSITION} )\w.+)\?"
        ),
        r"Which \g<x>?",
    ),
    ("what", r"Which (?P<x>(?!is |are )\w.+)\?", r"What \g<x>?"),
)


_RULES = tuple((name, re.compile(pattern), make) for name, pattern, make in _TEMPLATES)


def _swap_picture_word(text: str) -> str:
    """Use another word for the picture where it ends a phrase: "in the photo?" becomes "in the
    picture?".
    """
    has_pictured = "pictured" in text

    def swap(match: re.Match[str]) -> str:
        return f"{match[1]} {'photo' if has_pictured or match[2] == 'picture' else 'picture'}"

    return re.sub(rf"\b((?:in|of|from) (?:the|this)) ({_PICTURE})(?=[?,.]|$)", swap, text)


def reword(question: str) -> Rewrite:
    """Ask an open question in other words; what it asks about stays as it is.

    Raises
    ------
    NoRule
        The text is no question and no known instruction.

    Examples
    --------
    >>> reword("What is behind the man?").prompt
    'What can be seen behind the man?'
    >>> reword("How many chairs?")
    Rewrite(prompt='What is the number of chairs?', rule='questions.number')
    >>> reword("Who is taller, the man or the boy?").prompt
    'Which one is taller, the man or the boy?'
    >>> reword("What they are doing?")
    Rewrite(prompt='Looking at the picture, what they are doing?', rule='questions.frame')
    """
    stripped = question.strip()
    # Instructions of releases were paired by hand, which is better than any template.
    equivalent = _EQUIVALENTS.get(stripped)
    if equivalent is not None:
        return Rewrite(equivalent, "questions.bank")
    # slips at the very start are corrected, so that the templates need not know them
    text = re.sub(r"^WHat\b", "What", " ".join(stripped.split()))
    text = re.sub(r"^(What|How|Where|Who)['’]s\b", r"\1 is", text)
    for name, pattern, make in _RULES:
        # In the order of the table: special openings stand before general ones.
        match = pattern.fullmatch(text)
        if match:
            rewritten = make(match) if callable(make) else match.expand(make)
            if rewritten:
                return Rewrite(_swap_picture_word(rewritten), f"questions.{name}")
    if not text.endswith("?"):
        raise NoRule(question, "it is neither a question nor an instruction that the bank knows")
    # Thousands of misspelt questions would have no form otherwise.
    return Rewrite(f"Looking at the picture, {text[0].lower()}{text[1:]}", "questions.frame")
