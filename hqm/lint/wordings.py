"""Checks of a form's wordings against the original: negations that do not turn the answer round,
equal words, another mode.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from hqm.benchmark.findings import Finding
from hqm.errors import NoRule
from hqm.forms.asked import NEGATIONS, Asked, clause_of, sentences
from hqm.forms.build import count_modes
from hqm.forms.grammar import AUXILIARIES, inside_quotes, subject_end_with_worth
from hqm.forms.readings import RULES, Readings
from hqm.types import Form, Item

AFFIRMS, SPLIT, DOUBLED, SCOPE = (
    "negation-affirms",
    "negation-split",
    "negation-doubled",
    "negation-scope",
)
SAME_ANSWER, SAME_WORDS, MODE = "negation-same-answer", "form-same-words", "form-mode"
SENTENCES = {
    AFFIRMS: (
        'the form {form}: {n} negated questions ask for the same yes as the plain question ("Is'
        ' this not ...?")'
    ),
    SPLIT: 'the form {form}: in {n} questions "not" stands inside the subject and splits it',
    DOUBLED: "the form {form}: {n} questions are negated twice",
    SCOPE: (
        'the form {form}: in {n} questions it is open what the negation denies ("not only", "not'
        ' ..., followed by ...")'
    ),
    SAME_ANSWER: (
        "the form {form}: {n} questions are negated, and their right answer is that of the original"
    ),
    SAME_WORDS: "the form {form}: {n} items have the words of the original",
}
WORDING_FINDINGS = (*SENTENCES, MODE)
"""The names of all findings that need the forms."""
_NEGATED = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|cannot)\b|n['’]t\b", re.IGNORECASE
)
_ANSWERS = re.compile(r"[\"'“]?\byes\b[\"'”]?\s*(?:or|/)\s*[\"'“]?\bno\b", re.IGNORECASE)
"""What a question says of its answers is no negation, and captions of which all say it are many."""
_CONTRACTED = re.compile(
    r"(?:^|[,:]\s*|then\s+)(?:is|are|was|were|do|does|did|can|could|has|have|had|wo|would|should)n['’]t\b",
    re.IGNORECASE,
)
_SHORT = frozenset(
    "there it this that these those i you he she we they one two three four five all both every"
    " each some".split()
)
"""Behind one of these "not" is heard as "n't"; behind a longer subject it denies what follows."""
_WIDER = frozenset(
    "only just all both every everyone everything each always respectively while whereas followed"
    " merely".split()
)
_WHOLE = re.compile(
    r"\b(?:false|wrong to say) that\b|[\"“]no[\"”] the right answer|[\"“]yes[\"”] the wrong answer",
    re.IGNORECASE,
)


def check_wordings(original: Form, form: Form) -> Iterator[Finding]:
    """The findings about one form, whether a rule made it or somebody brought it."""
    faults: dict[str, list[tuple[Item, Item]]] = defaultdict(list)
    for item in form.items:
        before = original.by_id.get(item.id)
        if before is None:
            continue
        for name in _faults(before, item):
            faults[name].append((before, item))
    for name, sentence in SENTENCES.items():
        pairs = faults.get(name, [])
        if pairs:
            shown = tuple(
                f"{b.id}: {b.prompt} [{b.target}] -> {i.prompt} [{i.target}]" for b, i in pairs[:3]
            )
            every = "all of them: " + ", ".join(item.id for _, item in pairs)
            yield Finding(
                name, sentence.format(form=form.name, n=len(pairs)), len(pairs), (*shown, every)
            )
    _FAULTS.keep()
    _DENIED.keep()
    for change, count in count_modes(original, form).items():
        yield Finding(MODE, f"the form {form.name}: {count} items changed from {change}", count)


def _faults(before: Item, item: Item) -> Iterable[str]:
    if (item.prompt, item.options) == (before.prompt, before.options):
        yield SAME_WORDS
    elif item.task == "yes_no":
        yield from faults_of_negation(item.prompt)
        same = str(item.target).strip().lower() == str(before.target).strip().lower()
        if same and _DENIED(item.prompt) != _DENIED(before.prompt):
            yield SAME_ANSWER


def faults_of_negation(prompt: str) -> list[str]:
    """What is wrong with a negated yes/no question; nothing where it is not negated, or turns the
    answer round.

    >>> faults_of_negation("Is this not a dog?"), faults_of_negation("Is the dog not asleep?")
    (['negation-affirms'], [])
    >>> faults_of_negation("Does the value of the square not root of 2 range from 1 to 2?")
    ['negation-split']
    """
    return list(_FAULTS(prompt))


def _negation(prompt: str) -> list[str]:
    if not _NEGATED.search(_ANSWERS.sub(" ", prompt)):
        return []
    try:
        made = clause_of(prompt)
    except NoRule:
        return (
            [AFFIRMS] if any(_CONTRACTED.search(prompt[a:b]) for a, b in sentences(prompt)) else []
        )
    # only in what is asked: a caption that the question is about may say "don't" itself
    return (
        [AFFIRMS] if _CONTRACTED.search(prompt[made.start : made.end]) else list(_of_clause(made))
    )


def _of_clause(made: Asked) -> Iterator[str]:
    words = made.words
    negations = [
        i for i, word in enumerate(words) if word in NEGATIONS or word.endswith(("n't", "n’t"))
    ]
    if len(negations) > 1 or (negations and _WHOLE.search(made.prompt[made.start : made.end])):
        yield DOUBLED
    if not negations:
        return
    first = negations[0]
    if (
        words[0] in AUXILIARIES
        and words[first] == "not"
        and (first == 1 or (first == 2 and words[1] in _SHORT))
    ):
        yield AFFIRMS
    rest = set(words[first + 1 :])
    # "no dog and a cat": the second noun has an article of its own
    listed = (
        words[first] == "no"
        and re.search(r"\band (?:a|an|one|the)\b", " ".join(words[first:]))
        and "between" not in words
    )
    if rest & _WIDER or listed:
        yield SCOPE
    if words[first] == "not" and first > 1 and words[1] not in _SHORT and _splits(made):
        yield SPLIT


def _splits(made: Asked) -> bool:
    """Whether "not" stands elsewhere than at the end of the subject."""
    quoted = inside_quotes(made.clause)
    at = next(i for i, token in enumerate(made.clause) if token.word == "not" and not quoted[i])
    plain = [*made.clause[:at], *made.clause[at + 1 :]]
    end, worth = subject_end_with_worth(plain)
    return end is not None and worth >= 1 and at < end


def _is_denied(prompt: str) -> bool:
    """Whether the question is negated, or denied as a whole."""
    if (
        not _NEGATED.search(_ANSWERS.sub(" ", prompt))
        and not _WHOLE.search(prompt)
        and "other than" not in prompt
    ):
        return False
    try:
        made = clause_of(prompt)
    except NoRule:
        return False
    if any(_CONTRACTED.search(prompt[a:b]) for a, b in sentences(prompt)):
        return False
    sentence = prompt[made.start : made.end]
    inner = any(word in NEGATIONS for word in made.words)
    return inner != bool(
        _WHOLE.search(sentence) or re.search(r"\bnumber of .* other than\b", sentence)
    )


_FAULTS = Readings("faults", _negation, (RULES, Path(__file__)))
_DENIED = Readings("denied", _is_denied, (RULES, Path(__file__)))
