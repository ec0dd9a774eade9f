"""Put an open question in other words by the way it opens, and leave what it asks about as it
stands.

"What is behind the man?" becomes "What can be seen behind the man?", "How many chairs?" becomes
"What is the number of chairs?". The words after the opening are never touched, so that a false
presupposition, a coordinate, a name or a mistake of the asker survives; only "in the photo" may
become "in the picture". Where a question is too broken for any template, it is asked unchanged
behind the words "Looking at the picture,".

HQH, whose thousands of short questions are often misspelt, and FaithScore use these templates
(`hqm.reword_item`). The open questions and instructions of other benchmarks are parsed by
`hqm.forms.open`, which leaves out what it cannot parse. Both modules stay because their published
forms must not change.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from hqm.errors import NoRule
from hqm.forms.grammar import Rewrite

_BANK: tuple[tuple[str, ...], ...] = (
    ("List the main instances in the image.", "Name the main instances in the picture."),
    ("Describe the following image.", "Provide a description of the following picture."),
    (
        "Can you elaborate on the elements of the picture provided?",
        "Could you describe the elements of the given picture more fully?",
    ),
    ("What do you see happening in this image?", "What can you see going on in this picture?"),
    (
        "What do you think is going on in this snapshot?",
        "What, in your opinion, is happening in this snapshot?",
    ),
    ("Write a detailed description of the given image.", "Describe the given picture in detail."),
    ("What is this photo about'?", "What does this photo show?"),
    (
        "Can you describe the main features of this image for me?",
        "Could you tell me the main features of this picture?",
    ),
    (
        "Analyze the image in a comprehensive and detailed manner.",
        "Give a comprehensive and detailed analysis of the picture.",
    ),
    (
        "Explain the visual content of the image in great detail.",
        "Give a very detailed explanation of what the picture shows.",
    ),
    (
        "What are the key elements in this picture?",
        "Which elements of this picture are the key ones?",
    ),
)

_PICTURE = r"(?:photo|picture|image|pic|photograph)"
_PLACE = (
    r"(?:(?:directly|right|just) )?(?:in|on|to the|above|under|underneath|below|beneath|next"
    r" to|near|around|beside|between|"
    r"behind|at|across|against|over|along|inside|outside|by|through|beyond|among|atop|throughout|all"
    r" over|before|after|with)"
)
_STRANDED = (
    r"(?:made of|made out of|on|in|at|with|to|near|behind|next to|in front"
    r" of|under|over|from|by|for|about|through|against|toward|towards|around|into|of|up|out|off)"
)
_DET = (
    r"(?:the|this|that|these|those|his|her|their|its|a|an|one|two|three|most of|\w+['’]s|\w+s['’])"
)
_COMPARED = r"(?:taller|bigger|smaller|larger|shorter|older|younger|higher|lower|longer|heavier|closer|farther|further|wider|thicker|thinner|brighter|darker|more|less|fuller|newer|cleaner|fatter)"
_NOUNS = (
    "building ceiling clothing painting railing thing wing ring string awning evening morning king"
    " frosting icing siding flooring bedding topping lighting marking earring wedding lettering"
    " covering opening crossing landing parking writing drawing spring swing wiring something"
    " nothing anything sling sibling topping".split()
)
_VERB_ING = rf"(?!(?:{'|'.join(_NOUNS)})s?\b)\w+ing"
_TRANSITIVE = r"(?:holding|wearing|eating|carrying|riding|playing|using|watching|reading|drinking|throwing|catching|pulling|pushing|hitting|kicking|driving|cutting|touching|making|selling|cooking|preparing|chasing|grabbing|trying|about|getting|showing|displaying)"
_PEOPLE = re.compile(
    r"(?:people|men|women|boys|girls|players|kids|children|persons|surfers|skiers|skateboarders|bikers|adults|police)$"
)


def _noun_ing(text: str) -> bool:
    return text.split()[-1].lower().removesuffix("s") in _NOUNS


def _noun_phrase(text: str) -> bool:
    """Whether the text reads as one noun phrase: it begins with a determiner and does not end in a
    verb.
    """
    last = text.split()[-1].lower()
    clause = re.search(r"\b(?:is|was|were)\b", text) is not None
    verbal = (
        clause
        or (last.endswith("ing") and not _noun_ing(last))
        or last in {"called", "for", "do", "of", "on", "in", "at", "with", "from", "to"}
    )
    return re.match(rf"{_DET} \w", text, re.IGNORECASE) is not None and not verbal


def _third(verb: str) -> str:
    return {"have": "has", "do": "does", "go": "goes", "be": "is"}.get(verb, f"{verb}s")


class _Rule(NamedTuple):
    name: str
    pattern: re.Pattern[str]
    make: Callable[[re.Match[str]], str | None]


def _cleft(m: re.Match[str]) -> str:
    """Move the verb behind its subject: "What is the man holding?" becomes "What is it that the man
    is holding?".
    """
    return f"{m['w']} is it that {m['x']} {m['be']} {m['v']}{m['y'] or ''}?"


def _when_taken(m: re.Match[str]) -> str:
    thing = (
        "this" if m["this"] else f"{m['det']} {'photo' if m['thing'] == 'picture' else 'picture'}"
    )
    return f"{m['w']} did the photographer {m['likely'] or ''}take {thing}?"


def _many_that(m: re.Match[str]) -> str | None:
    if re.match(rf"(?:is|are|was|were) (?:{_DET}|they|it|he|she|there|each|both) ", f"{m['y']} "):
        return None
    return f"What is the number of {m['x']} {'who' if _PEOPLE.search(m['x']) else 'that'} {m['y']}?"


def _wants(make: str, test: Callable[[str], bool]) -> Callable[[re.Match[str]], str | None]:
    return lambda m: m.expand(make) if test(m["x"]) else None


def _article(text: str) -> bool:
    return text.lower() not in ("the", "a", "an", "this", "these")


_OPENINGS: tuple[tuple[str, str, str | Callable[[re.Match[str]], str | None]], ...] = (
    # when and where a picture was taken
    (
        "taken",
        (
            r"(?P<w>When|Where) (?:was|is) (?:(?P<this>this)|(?P<det>the|this|that)"
            rf" (?P<thing>{_PICTURE})) (?P<likely>most likely |likely )?taken\?"
        ),
        _when_taken,
    ),
    ("weather", r"What is the weather like(?P<x> in .+| today)?\?", r"How is the weather\g<x>?"),
    ("weather", r"How is the weather(?P<x> in .+| today)?\?", r"What is the weather like\g<x>?"),
    # writing
    ("written", rf"What is written(?P<x> {_PLACE} .+)?\?", r"What does the writing\g<x> say?"),
    ("written", rf"What does it say(?P<x> {_PLACE} .+)\?", r"What is written\g<x>?"),
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
        _wants(r"What is the \g<c> of \g<x>?", lambda x: _noun_phrase(x) and " peeking" not in x),
    ),
    (
        "color",
        r"What (?P<c>colou?rs) are (?P<x>[^?]+)\?",
        _wants(r"What are the \g<c> of \g<x>?", _noun_phrase),
    ),
    (
        "color",
        r"What (?P<c>colou?r) (?:is|are) (?P<x>(?!there|part|on|painted)\w+(?: \w+)?)\?",
        _wants(r"What is the \g<c> of \g<x>?", lambda x: not x.endswith("ing")),
    ),
    ("color-which", r"What (?P<x>colou?rs? .+)\?", r"Which \g<x>?"),
    # what is somewhere
    (
        "place",
        rf"What (?:is|are) (?P<x>{_PLACE} (?!.* doing\?)[^?]+)\?",
        r"What can be seen \g<x>?",
    ),
    ("place", rf"What (?:is|are|can be) (?:seen|shown) (?P<x>{_PLACE} .+)\?", r"What is \g<x>?"),
    # what somebody does
    (
        "doing",
        r"(?P<w>What) (?P<be>is|are) (?P<x>(?!doing).+?) (?P<v>doing)(?P<y> .+)?\?",
        lambda m: _cleft(m) if _article(m["x"]) else None,
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
        lambda m: _cleft(m) if _article(m["x"]) else None,
    ),
    (
        "verb",
        (
            rf"(?P<w>What|Who) (?P<be>is|are) (?P<x>{_DET} (?:(?!\b{_VERB_ING}\b).)+?)"
            rf" (?P<v>{_VERB_ING} {_STRANDED})(?P<y>)\?"
        ),
        _cleft,
    ),
    (
        "verb",
        rf"(?P<w>What|Who) (?P<be>is|are) (?P<x>{_DET} .+) (?P<v>{_VERB_ING})(?P<y>)\?",
        _cleft,
    ),
    (
        "verb",
        (
            rf"(?P<w>What) (?P<be>is|are) (?P<x>{_DET} (?:(?!\b{_VERB_ING}\b).)+?)"
            rf" (?P<v>{_STRANDED})(?P<y>)\?"
        ),
        _cleft,
    ),
    (
        "verb",
        r"What does (?P<x>.+?) (?P<v>say|have|wear|show|look like)(?P<y> .+)?\?",
        lambda m: (
            f"What is it that {m['x']}"
            f" {_third(m['v'].split()[0])}{m['v'][len(m['v'].split()[0]) :]}{m['y'] or ''}?"
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
        _wants(r"Say who \g<x> \g<be>.", _noun_phrase),
    ),
    ("identify", r"What (?:is|are) (?P<x>[^?,]+)\?", _wants(r"Identify \g<x>.", _noun_phrase)),
    (
        "which-things",
        rf"What are (?P<x>(?!{_DET} |there |they |\w+ \w+ing\b)\w+ (?:{_PLACE}) .+)\?",
        r"Which things are \g<x>?",
    ),
    (
        "subject",
        (
            rf"(?P<w>What|Who) is (?P<x>(?!{_DET} |there |he |she |it |\w+ (?:is|are)"
            rf" )(?:\w+ing|\w+ed|\w+n|{_COMPARED}|\w+ in colou?r|\w+"
            r" and|large|wrong|bright|long|hidden|most)\b.*)\?"
        ),
        r"\g<w> is it that is \g<x>?",
    ),
    ("subject", rf"Who is (?P<x>(?:{_PLACE}) .+)\?", r"Who is it that is \g<x>?"),
    (
        "subject",
        (
            r"(?P<w>What|Who)"
            r" (?P<x>(?:has|was|were|can|could|may|might|would|makes?|made|hits|takes|drives|appears|seems|covers?|helps?)"
            r" .+)\?"
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
        rf"How many (?P<x>(?!more )[^?]+?) (?:are|is|were) (?P<y>{_PLACE} [^?]+)\?",
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
        _many_that,
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
        _wants(r"What is the location of \g<x>?", _noun_phrase),
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
            rf" |{_PLACE} )\w.+)\?"
        ),
        r"Which \g<x>?",
    ),
    ("what", r"Which (?P<x>(?!is |are )\w.+)\?", r"What \g<x>?"),
)


def _rule(name: str, pattern: str, make: str | Callable[[re.Match[str]], str | None]) -> _Rule:
    how = make if callable(make) else lambda m, template=make: m.expand(template)
    return _Rule(name, re.compile(pattern), how)


_RULES = tuple(_rule(*row) for row in _OPENINGS)


def _even(question: str) -> str:
    """The question with slips at its very start corrected, so that the templates need not know
    them.
    """
    text = " ".join(question.split())
    text = re.sub(r"^WHat\b", "What", text)
    return re.sub(r"^(What|How|Where|Who)['’]s\b", r"\1 is", text)


def _swap(text: str) -> str:
    """Use another word for the picture where it ends a phrase: "in the photo?" becomes "in the
    picture?".
    """
    return re.sub(
        rf"\b((?:in|of|from) (?:the|this)) ({_PICTURE})(?=[?,.]|$)",
        lambda m: f"{m[1]} {'photo' if m[2] == 'picture' or 'pictured' in text else 'picture'}",
        text,
    )


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
    asked = question.strip()
    for row in _BANK:
        if asked in row:
            return Rewrite(row[(row.index(asked) + 1) % len(row)], "questions.bank")
    text = _even(asked)
    for rule in _RULES:
        match = rule.pattern.fullmatch(text)
        made = rule.make(match) if match else None
        if made:
            return Rewrite(_swap(made), f"questions.{rule.name}")
    if not text.endswith("?"):
        raise NoRule(question, "it is neither a question nor an instruction that the bank knows")
    return Rewrite(f"Looking at the picture, {text[0].lower()}{text[1:]}", "questions.frame")
