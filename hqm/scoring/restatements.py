"""The sentence of an answer that repeats its question and so answers it, wherever it stands: "The
living room is bigger than the garage. Here's why: ...".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hqm.scoring.commitments import is_tentative, question_stems, shared_words
from hqm.scoring.plain_text import DOUBT, NEGATIVE, says_unable

_ASSERTION = re.compile(
    r"\b(?:is|are|was|were|has|have|had|will|would|does|do|did|belongs?|shows?|contains?|says|reads"
    r"|appears?|seems?|experienced|received|contributed|increased|decreased|improved|declined"
    r"|ist|sind|war|waren|gehört|hat|zeigt|est|sont|était|appartient|es|son|era|pertenece|é|são"
    r"|foi|pertence|это)\b",
    re.IGNORECASE,
)
# what sets out to answer, supposes, or speaks of the question answers nothing
_PREAMBLE = re.compile(
    r"\W*(?:to \w+|in order to|let(?:'s| us| me)|we (?:need|have to|must|will|want)|if|when|suppose"
    r"|assum\w+|given that|the question|you (?:need|want|should|would)|first|now|since|because"
    r"|although|while|for example|step)\b",
    re.IGNORECASE,
)
_MIN_SHARED = 2
_MIN_SHARE = 0.6


def restating_sentences(sentences: Sequence[str], question: str) -> list[str]:
    """The sentences that assert something of most of what a question speaks of.

    >>> restating_sentences(["The oak is tallest.", "It has leaves."], "Which oak is tallest?")
    ['The oak is tallest.']
    """
    asked = question.partition("?")[0] or question
    n_stems = len(question_stems(asked))
    if n_stems < _MIN_SHARED:
        return []
    n_needed = max(_MIN_SHARED, _MIN_SHARE * n_stems)
    return [
        sentence
        for sentence in sentences
        if shared_words(sentence, asked) >= n_needed and _is_assertion(sentence, asked)
    ]


def _is_assertion(sentence: str, question: str) -> bool:
    # of a question for what does not hold, a sentence that denies says it again
    is_contrary = (NEGATIVE.search(sentence) is None) != (NEGATIVE.search(question) is None)
    return not (
        is_contrary
        or sentence.endswith((":", "?"))
        or _ASSERTION.search(sentence) is None
        or _PREAMBLE.match(sentence)
        or DOUBT.search(sentence)
        or is_tentative(sentence)
        or says_unable(sentence)
    )


_OFFER = re.compile(
    r"(?:^|[,:;]|\b(?:is|are|was|were|be|has|have|on|the|it)\b)\s*([^,:;?]+?),? or ([^,;?]+)"
)


def offered_alternatives(question: str, target: str) -> list[str]:
    """What a question offers beside the target: the garage of "the living room or the garage?".

    >>> offered_alternatives("Which is bigger, the living room or the garage?", "garage")
    ['the living room']
    """
    offer = _OFFER.search(question)
    if offer is None:
        return []
    options = [option.strip() for option in offer.groups()]
    alternatives = [option for option in options if target.lower() not in option.lower()]
    return alternatives if len(alternatives) < len(options) else []


def answering_clause(text: str, question: str) -> str:
    """The clause of a sentence that repeats most of the question, where that is one; else nothing.

    >>> answering_clause("Figure 1 is mirrored; Figure 4 fits.", "Which figure fits?")
    'Figure 4 fits.'
    """
    clauses = re.split(
        r"[;,] (?!\d)(?:and |but |while |whereas |so )?|\b(?:but|while|whereas)\b|\band (?=(?:is"
        r"|are|was|were|has|the|an?|its?|his|her|\w+ the \w+est)\b)",
        text,
    )
    overlaps = [shared_words(clause, question) for clause in clauses]
    superlatives = _SUPERLATIVE.findall(question)
    ranks = text.split(" > ")
    if len(superlatives) == 1 and len(ranks) > 1:
        return ranks[-1 if superlatives[0].lower() in _MINIMUM_WORDS else 0]
    ranking = _RANKING.search(text) if len(superlatives) == 1 else None
    if ranking:
        extremes = [word.replace("nearest", "closest") for word in ranking.group(1, 2)]
        superlative = superlatives[0].lower()
        if superlative not in extremes:
            return ""
        return ranking[3].split(",")[-extremes.index(superlative)]
    if len(superlatives) == 1 and overlaps.count(max(overlaps)) > 1:
        # "Cairo had the lowest rainfall, while Oslo had the highest"
        word = superlatives[0].lower()
        for index, clause in enumerate(clauses):
            overlaps[index] += word in clause.lower()
    max_overlap = max(overlaps)
    if max_overlap and overlaps.count(max_overlap) == 1:
        return clauses[overlaps.index(max_overlap)]
    return ""


_MINIMUM_WORDS = frozenset(
    "least lowest fewest smallest shortest slowest lightest coldest driest".split()
)
_RANKING = re.compile(r"\bfrom (?:the )?(\w+est) to (?:the )?(\w+est)\b\W+(.+)", re.IGNORECASE)
_SUPERLATIVE = re.compile(r"\b(?:most|least|best|worst|\w{3,}est)\b", re.IGNORECASE)
