"""Checks of the questions' words: near-duplicates, twins that contradict each other, templates, and
the wordings of forms.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain, starmap
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hqm.benchmark.findings import Finding, asking, finding, group_by_type, row_of
from hqm.benchmark.items import NO_COPIES, names_pictures, picture_key, right_answer
from hqm.errors import NoRule
from hqm.forms.find_question import NEGATIONS, Question, clause_of, sentences
from hqm.forms.grammar import AUXILIARIES, find_subject_end, inside_quotes
from hqm.forms.make_forms import count_modes
from hqm.forms.option_references import find_references, referents
from hqm.forms.tag_cache import RULES, RuleCache
from hqm.psychometrics.inference.distributions import binomial_above
from hqm.scoring.matrix import ScoreMatrix
from hqm.types import Form, Item, group_by

_ARTICLES = frozenset(("a", "an", "the"))
_DENIALS = frozenset(("no", "not", "never", "without"))
_FRAME = frozenset(
    "is are was were be been being am do does did can could will would may might should there here"
    " you we i one it its that this these those any some in within inside image picture photo"
    " photograph scene shot view figure photographs pictured depicted shown visible see seen spot"
    " find notice observe observed show contain include depict display feature appear exist present"
    " have has please answer tell me say think true according based given following which what who"
    " where whether how many much and at with for".split()
)
"""Words that questions of one meaning may have or lack."""
_ORDERED = frozenset(
    "left right above below under over behind before after front next between near beside than"
    " more less fewer larger smaller taller shorter bigger higher lower older younger closer"
    " farther further followed from to into onto off on by of or if then only all every".split()
)
"""Words that relate what stands before them to what stands behind: the order then matters."""
_SYNONYMS: dict[str, str] = dict(
    re.findall(
        r"(\w+):(\w+)",
        "bike:bicycle sofa:couch television:tv airplane:plane aeroplane:plane cellphone:phone"
        " telephone:phone automobile:car kid:child grey:gray color:colour someone:person"
        " somebody:person anyone:person anybody:person people:person men:man women:woman"
        " children:child",
    )
)
_INTERROGATIVES = re.compile(r"\b(?:how (?:many|much)|how|why|when|where|whose|who|which|what)\b")
_COUNT = re.compile(r"\b(?:what is )?(?:number|count) of\b")
_ATTRIBUTE_OF = re.compile(r"\b(colou?r|shape|size|name|kind|type|material|brand) of (\w+)")
_ANSWER_WORDS = (
    "answer|ans|label|key|solution|gt|target|groundtruth|ground truth|ground-truth".split("|")
)
# what stands before a word is looked at behind it: words are then found much faster
_STATING_WORDS = "|".join(
    rf"{word}(?<!\w{word})(?<!if the {word})(?<!if {word})(?<!whether the {word})"
    rf"(?<!when the {word})"
    for word in _ANSWER_WORDS
)
_STATED_ANSWER = re.compile(
    rf"(?:{_STATING_WORDS})"
    r"\s*(?:is|:|=|->|→)\s*[\"'“‘(\[]?(?P<says>[^\n.;,)\]\"'”’]{1,80})",
)
_TOKEN = re.compile(r"[\w']+|[=<>+*/%°$€£#@~^±≤≥≠×÷]")
_NEGATIVE = re.compile(r"[-\u2212]\d.*")
_MIN_ITEMS = 20
"""The wordings of a type are judged if it has at least this many items."""
_MIN_WORDINGS = 3
_MAX_TEMPLATE_SHARE = 0.8
_MAX_SAMPLE = 3_000
_MAX_SAMPLED_WORDS = 200_000
_MAX_TEMPLATE_WORDS = 2_000
_ODD = re.compile(
    "[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\ufffd]"
    "|[\u00c2\u00c3][\u0080-\u00bf]|\u00e2\u20ac"
)
"""Control characters but those that end lines, the replacement character, and UTF-8 that was read
as Latin-1 or Windows-1252.
"""


# The same questions are normalised by several checks, and again for each form.
@lru_cache(maxsize=65536)
def normalised_words(text: str) -> str:
    """A question's words in lower case, without punctuation and articles; signs that carry meaning
    stay.

    >>> normalised_words("Is there a  Dog, in the image?")
    'is there dog in image'
    >>> normalised_words("Is A < 90?") == normalised_words("Is A > 90?")
    False
    """
    return " ".join(word for word in _TOKEN.findall(text.casefold()) if word not in _ARTICLES)


def check_words(form: Form, copies: Mapping[str, str] = NO_COPIES) -> Iterable[Finding]:
    """The findings about the questions' words; `copies` names the pictures that are one picture
    (`same_question`).
    """
    stating: list[Item] = list(filter(_holds_answer, form.items))
    yield from _twin_findings(form, copies)
    yield from _paraphrase_findings(form, copies)
    yield from finding(
        "answer-in-question",
        sentence="{n} questions contain their answer",
        items=stating,
    )
    yield from _reference_findings(form)
    for kind, items in group_by_type(form).items():
        if form.items[0].task != "caption" and len(items) >= _MIN_ITEMS:
            yield from _wording_findings(kind or "unlabelled", items)
    yield from finding(
        "mojibake",
        sentence="{n} questions show signs of a wrong decoding, or hold control characters",
        items=asking(form.items, _ODD),
    )


def check_ids(form: Form) -> Iterable[Finding]:
    """The finding about ids that a file of ids could not hold."""
    yield from finding(
        "id-odd",
        sentence="{n} ids have spaces or control characters",
        items=[item for item in form.items if re.search(r"\s|[\x00-\x1f]", item.id)],
    )


def _reference_findings(form: Form) -> Iterable[Finding]:
    """The findings about options that refer to other options of their question."""
    referring = []
    broken = []
    for item in form.items:
        references = find_references(item.prompt, item.options)
        if references:
            referring.append(item)
        if any(reference.fault or reference.is_misplaced for reference in references):
            broken.append(item)
    yield from finding(
        "options-refer",
        sentence="in {n} questions an option refers to other options",
        items=referring,
    )
    yield from finding(
        "options-misplaced",
        sentence=(
            "in {n} questions an option refers to those above and others stand behind it, or names"
            " itself"
        ),
        items=broken,
    )


_Groups = Mapping[tuple[str, str, tuple[str, ...]], Sequence[Item]]


def _twin_findings(form: Form, copies: Mapping[str, str]) -> Iterable[Finding]:
    shows_pictures = names_pictures(form)
    picture_of = picture_key(form.items, copies)

    def question_of(item: Item) -> tuple[str, str, tuple[str, ...]]:
        return picture_of(item), normalised_words(item.prompt), item.options

    groups = group_by(form.items, question_of)
    duplicates: list[list[Item]] = []
    contradictory: list[list[Item]] = []
    for group in groups.values():
        # the same words are another finding's matter
        distinct = list({" ".join(item.prompt.split()): item for item in group}.values())
        if len(distinct) > 1:
            duplicates.append(distinct)
            if _differ_in_target(distinct):
                contradictory.append(distinct)
    yield from _group_finding(
        "near-duplicate-question",
        f"questions{' about one picture' if shows_pictures else ''} are identical apart from case"
        " and spacing: {n} times",
        duplicates,
    )
    contradictory += list(_denied_twins(form, groups))
    yield from _group_finding(
        "contradictory-twins",
        sentence=(
            "questions with equal words have different right answers, or a question and its"
            " negation have the same one: {n} times"
        ),
        groups=contradictory,
    )


def _differ_in_target(items: Iterable[Item]) -> bool:
    """Whether items have several right answers, whatever their letter case and punctuation."""
    return len({_plain_answer(item.target) for item in items}) > 1


def _plain_answer(answer: object) -> str:
    """A right answer in lower case, without punctuation and articles: of a letter the letter, and
    of a number its sign.
    """
    text = str(answer).strip()
    if len(text) == 1 or _NEGATIVE.fullmatch(text):
        return text.lower()
    return normalised_words(text)


def _holds_answer(item: Item) -> bool:
    """Whether a question says what its answer is, and that is its key; or is its own key."""
    keys = {_plain_answer(item.target), _plain_answer(right_answer(item))}
    # an item without a right answer states none
    keys.discard("")
    if _plain_answer(item.prompt) in keys:
        return True
    stated = map(itemgetter("says"), _STATED_ANSWER.finditer(item.prompt.lower()))
    return not keys.isdisjoint(map(_plain_answer, stated))


def meaning(text: str) -> tuple[str, ...]:
    """What a question asks about, without the words that say that it asks about a picture.

    Questions of one meaning in other words have the same: the same interrogative, and the same
    lemmas and denials in the same order; in any order where there are two and neither relates what
    stands on its two sides.

    >>> meaning("Is there a brown dog here?") == meaning("Can you see any dogs that are brown?")
    True
    >>> meaning("Is the dog left of the cat?") == meaning("Is the cat left of the dog?")
    False
    """
    plain = _ATTRIBUTE_OF.sub(
        r"\2 \1", _COUNT.sub("how many", normalised_words(text).replace("'s", ""))
    )
    interrogative = _INTERROGATIVES.search(plain)
    lemmas = []
    for word in plain.split():
        if word in _FRAME:
            continue
        lemma = _lemma(word)
        # "What colour is it?" needs the word; "Is its colour red?" and "Is it red?" ask the same
        if interrogative or lemma != "colour":
            lemmas.append(lemma)
    if len(lemmas) == 2 and not _ORDERED & set(lemmas):
        lemmas.sort()
    return (interrogative[0] if interrogative else "", *lemmas)


@lru_cache(maxsize=65536)
def _lemma(word: str) -> str:
    """The shortest lemma of a word, as any part of speech: of "running" it is "run"."""
    from lemminflect import getAllLemmas

    word = _SYNONYMS.get(word, word)
    lemmas: Iterable[str] = chain.from_iterable(getAllLemmas(word).values())
    # Ties go to the first in the alphabet, so that the order of the lexicon decides nothing.
    lemma = min((word, *lemmas), key=lambda text: (len(text), text))
    return _SYNONYMS.get(lemma, lemma)


def _paraphrase_findings(form: Form, copies: Mapping[str, str]) -> Iterable[Finding]:
    """Questions about one picture that ask the same in other words."""
    pictured = [(copies.get(item.image, item.image), item) for item in form.items if item.image]
    prompts: dict[str, set[str]] = defaultdict(set)
    for image, item in pictured:
        prompts[image].add(item.prompt)
    groups: dict[tuple[str, tuple[str, ...], frozenset[str]], list[Item]] = defaultdict(list)
    for image, item in pictured:
        # the lexicon is only read where a picture has two questions
        if len(prompts[image]) > 1 and len(sense := tuple(_MEANINGS(item.prompt))) > 1:
            groups[image, sense, frozenset(map(normalised_words, item.options))].append(item)
    _MEANINGS.keep()
    # the same words are the matter of other findings
    repeated = []
    differing = 0
    for group in groups.values():
        words = {normalised_words(item.prompt): item for item in group}
        if len(words) > 1:
            repeated.append(list(words.values()))
            differing += _differ_in_target(words.values())
    sentence = "questions about one picture are paraphrases of each other: {n} times"
    if differing:
        sentence += f", {differing} of them with different right answers"
    yield from _group_finding("paraphrased-question", sentence, repeated)


def _example(group: Sequence[Item]) -> str:
    return " / ".join(f"{item.id}: {item.prompt} [{item.target}]" for item in group[:3])


def _group_finding(name: str, sentence: str, groups: Sequence[Sequence[Item]]) -> Iterable[Finding]:
    if groups:
        yield Finding(
            name,
            sentence.format(n=len(groups)),
            len(groups),
            examples=tuple(map(_example, groups[:3])),
            rows=tuple(starmap(row_of, groups)),
        )


CONTRADICTING = ("contradictory-label", "contradictory-twins", "paraphrased-question")


def with_favoured_keys(finding: Finding, matrix: ScoreMatrix) -> Finding:
    """A finding about contradicting keys, with what respondents' answers say of each pair.

    One key is favoured where an exact test of its right answers against those of the other is below
    .05.
    """
    if finding.name not in CONTRADICTING:
        return finding
    names = list(map(attrgetter("id"), matrix.items))
    right = dict(zip(names, (matrix.values > 0.5).sum(axis=0).tolist(), strict=True))
    answered = dict(zip(names, (~np.isnan(matrix.values)).sum(axis=0).tolist(), strict=True))
    rows = list(map(dict, finding.rows))
    examples = list(finding.examples)
    for i, row in enumerate(rows):
        ids = sorted(map(str, row["items"]), key=lambda item: -right.get(item, 0))
        if row["keys"] == row["keys"][:1] * len(ids) and finding.name != "contradictory-twins":
            continue
        first = right.get(ids[0], 0)
        last = right.get(ids[-1], 0)
        # Two-sided: the probability of the larger count or more under equal chances, doubled.
        is_favoured = 2 * float(binomial_above(first - 1, max(1, first + last), 0.5)) < 0.05
        counts = ", ".join(f"{key} {right.get(key, 0)} of {answered.get(key, 0)}" for key in ids)
        row["favoured"] = ids[0] if is_favoured else ""
        row["answers"] = (
            f"the answers favour {f'the key of {ids[0]}' if is_favoured else 'no key'} (right by"
            f" {counts})"
        )
        if i < len(examples):
            # the examples are those of the first rows
            examples[i] += f": {row['answers']}"
    return replace(finding, rows=tuple(rows), examples=tuple(examples[: len(rows)]))


def _denied_twins(form: Form, groups: _Groups) -> Iterable[list[Item]]:
    """Yes/no questions whose negation about the same picture has the same right answer."""
    if form.items[0].task != "yes_no":
        return
    for (image, words, options), group in groups.items():
        plain = " ".join(word for word in words.split() if word not in _DENIALS)
        if plain != words and (image, plain, options) in groups:
            plain_item = groups[image, plain, options][0]
            if plain_item.target == group[0].target:
                yield [plain_item, group[0]]


def _wording_findings(kind: str, items: Sequence[Item]) -> Iterable[Finding]:
    questions = [normalised_words(item.prompt) for item in items]
    wordings = Counter(questions)
    if len(wordings) < _MIN_WORDINGS:
        count_text = "one wording"
        if len(wordings) != 1:
            count_text = f"{len(wordings)} wordings"
        yield Finding(
            "few-wordings",
            sentence=(
                f"the {len(items)} {kind} items have {count_text}: a score says how respondents"
                " take that"
                " sentence"
            ),
            count=len(items),
            examples=tuple(map(itemgetter(0), wordings.most_common(3))),
            rows=tuple(
                {"type": kind, "wording": text, "items with it": n}
                for text, n in wordings.most_common()
            ),
        )
        return
    # evenly spaced ones of a large file: the share is then known to about a hundredth
    n_words = " ".join(questions).count(" ") + 1
    step = 1 + max(len(questions) // _MAX_SAMPLE, n_words // _MAX_SAMPLED_WORDS)
    pattern, share = commonest_template(questions[::step])
    if share > _MAX_TEMPLATE_SHARE:
        row = {
            "type": kind,
            "template": pattern,
            "share": round(share, 4),
            "items in all": len(items),
        }
        yield Finding(
            "template-monotony",
            sentence=(
                f"{share:.0%} of the {len(items)} {kind} items follow one template: {pattern!r}"
            ),
            count=round(share * len(items)),
            rows=(row,),
        )


def commonest_template(questions: Sequence[str]) -> tuple[str, float]:
    """The commonest template of questions, and the share of questions that follows it.

    A template is a question with one slot in place of up to three words; at least two words must be
    left. A question of more than 2,000 words, which is a document, follows none.

    >>> commonest_template(["is there dog in image", "is there cat in image", "what is red"])
    ('is there _ in image', 0.6666666666666666)
    """
    counts: Counter[tuple[int, int]] = Counter()
    first: dict[tuple[int, int], _Slot] = {}
    split_questions = []
    for text, n in Counter(questions).items():
        words = text.split()
        if len(words) <= _MAX_TEMPLATE_WORDS:
            split_questions.append((words, n))
    beginnings, endings = _shared_hashes([words for words, _ in split_questions])
    for words, n in split_questions:
        for key, slot in _slots(words, beginnings, endings):
            counts[key] += n
            first.setdefault(key, slot)
    if not counts:
        return "", 0.0
    # of equally common ones the longest, of equally long ones the first
    commonest, n = max(counts.items(), key=lambda pair: (pair[1], first[pair[0]].n_chars))
    slot = first[commonest]
    pattern = " ".join([*slot.words[: slot.start], "_", *slot.words[slot.end :]])
    return pattern, n / len(questions)


class _Slot(NamedTuple):
    """A template: the words of a question, of which those from `start` to `end` are left open."""

    words: list[str]
    start: int
    end: int
    n_chars: int


_MAX_SLOT_WORDS = 3
# A polynomial hash modulo the Mersenne prime 2^61 - 1: two texts collide with a chance of about
# 1e-18 a pair.
_HASH_BASE = 1_000_003
_HASH_MODULUS = (1 << 61) - 1


def _shared_hashes(questions: Sequence[list[str]]) -> tuple[set[int], set[int]]:
    """The hashes of the beginnings, and of the endings, that several questions have."""
    beginnings: Counter[int] = Counter()
    endings: Counter[int] = Counter()
    for words in questions:
        beginnings.update(_running_hashes(words))
        endings.update(_running_hashes(words[::-1]))
    return _repeated(beginnings), _repeated(endings)


def _repeated(counts: Mapping[int, int]) -> set[int]:
    return {value for value, n in counts.items() if n > 1}


def _slots(
    words: list[str], beginnings: set[int], endings: set[int]
) -> Iterator[tuple[tuple[int, int], _Slot]]:
    """The templates of a question that others may follow, and its longest one, each under the
    hashes of what stands before and behind its slot.

    A template is never written out, so that work and memory grow with the words of a question and
    not with their square. One that no other question follows is as common as the longest one.
    """
    hashes_before = _running_hashes(words)
    hashes_behind = _running_hashes(words[::-1])[::-1]
    total = sum(map(len, words)) + len(words)
    shortest = min(range(len(words)), key=lambda index: len(words[index]), default=0)
    for start in range(len(words)):
        is_shared = hashes_before[start] in beginnings
        if not is_shared and start != shortest:
            continue
        n_chars = total
        # a slot must leave at least two words, else everything follows it
        for end in range(start + 1, min(start + _MAX_SLOT_WORDS, len(words)) + 1):
            n_chars -= len(words[end - 1]) + 1
            may_be_shared = is_shared and hashes_behind[end] in endings
            covers_shortest_word = start == shortest and end == start + 1
            if len(words) - (end - start) >= 2 and (may_be_shared or covers_shortest_word):
                yield (hashes_before[start], hashes_behind[end]), _Slot(words, start, end, n_chars)


def _running_hashes(words: Sequence[str]) -> list[int]:
    """The hash of no word, of the first word, of the first two, and so on."""
    hashes = [0]
    for word in words:
        # Python's hash of a text differs between processes: these hashes are compared within one
        # process, and never kept.
        hashes.append((hashes[-1] * _HASH_BASE + hash(word) + 1) % _HASH_MODULUS)
    return hashes


# --- the wordings of a form against the original ---

AFFIRMS = "negation-affirms"
SPLIT = "negation-split"
DOUBLED = "negation-doubled"
SCOPE = "negation-scope"
SAME_ANSWER = "negation-same-answer"
SAME_WORDS = "form-same-words"
MODE = "form-mode"
REFERENTS = "form-option-reference"
SENTENCES = {
    AFFIRMS: (
        'the form {form}: {n} negated questions ask for the same yes as the plain question ("Is'
        ' this not ...?")'
    ),
    SPLIT: 'the form {form}: in {n} questions "not" stands inside the subject and splits it',
    DOUBLED: "the form {form}: {n} questions are negated twice",
    SCOPE: (
        'the form {form}: in {n} questions it is unclear what the negation denies ("not only", "not'
        ' ..., followed by ...")'
    ),
    SAME_ANSWER: (
        "the form {form}: {n} questions are negated, and their right answer is that of the original"
    ),
    SAME_WORDS: "the form {form}: {n} items have the words of the original",
    REFERENTS: "the form {form}: in {n} items an option refers to other options than before",
}
WORDING_FINDINGS = (*SENTENCES, MODE)
"""The names of all findings that need the forms."""
_NEGATED = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|cannot)\b|n['’]t\b", re.IGNORECASE
)
_ANSWERS = re.compile(r"[\"'“]?\byes\b[\"'”]?\s*(?:or|/)\s*[\"'“]?\bno\b", re.IGNORECASE)
"""What a question says of its answers is no negation, and captions of which all say it are many."""
_CONTRACTED = re.compile(
    r"(?:^|[,:]\s*|then\s+)(?:is|are|was|were|do|does|did|can|could|has|have|had|wo|would"
    r"|should)n['’]t\b",
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
_DENIED_SENTENCE = re.compile(
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
            examples = tuple(
                f"{b.id}: {b.prompt} [{b.target}] -> {i.prompt} [{i.target}]" for b, i in pairs[:3]
            )
            all_ids = "all of them: " + ", ".join(item.id for _, item in pairs)
            yield Finding(
                name,
                sentence.format(form=form.name, n=len(pairs)),
                len(pairs),
                (*examples, all_ids),
            )
    _FAULTS.keep()
    _DENIED.keep()
    for change, count in count_modes(original, form).items():
        yield Finding(MODE, f"the form {form.name}: {count} items changed from {change}", count)


def _faults(before: Item, item: Item) -> Iterable[str]:
    if not (before.prompt or before.options):
        return  # a table of scores has no words to compare
    if (item.prompt, item.options) == (before.prompt, before.options):
        yield SAME_WORDS
    elif item.task == "yes_no":
        yield from faults_of_negation(item.prompt)
        is_same_target = str(item.target).strip().lower() == str(before.target).strip().lower()
        if is_same_target and _DENIED(item.prompt) != _DENIED(before.prompt):
            yield SAME_ANSWER
    elif item.options != before.options and referents(item.prompt, item.options) != referents(
        before.prompt, before.options
    ):
        yield REFERENTS


def faults_of_negation(prompt: str) -> list[str]:
    """What is wrong with a negated yes/no question; nothing where it is not negated, or turns the
    answer round.

    >>> faults_of_negation("Is this not a dog?"), faults_of_negation("Is the dog not asleep?")
    (['negation-affirms'], [])
    >>> faults_of_negation("Does the value of the square not root of 2 range from 1 to 2?")
    ['negation-split']
    """
    return list(_FAULTS(prompt))


def _has_contraction(prompt: str) -> bool:
    """Whether a sentence of a question begins with "Isn't" or another contraction."""
    return any(_CONTRACTED.search(prompt[start:end]) for start, end in sentences(prompt))


def _negation_faults(prompt: str) -> list[str]:
    if not _NEGATED.search(_ANSWERS.sub(" ", prompt)):
        return []
    try:
        clause = clause_of(prompt)
    except NoRule:
        if _has_contraction(prompt):
            return [AFFIRMS]
        return []
    # only in what is asked: a caption that the question is about may say "don't" itself
    if _CONTRACTED.search(prompt[clause.start : clause.end]):
        return [AFFIRMS]
    return list(_clause_faults(clause))


def _clause_faults(clause: Question) -> Iterator[str]:
    words = clause.words
    negations = [
        i for i, word in enumerate(words) if word in NEGATIONS or word.endswith(("n't", "n’t"))
    ]
    if len(negations) > 1 or (
        negations and _DENIED_SENTENCE.search(clause.prompt[clause.start : clause.end])
    ):
        yield DOUBLED
    if not negations:
        return
    first = negations[0]
    has_short_subject = first == 2 and words[1] in _SHORT
    if words[0] in AUXILIARIES and words[first] == "not" and (first == 1 or has_short_subject):
        yield AFFIRMS
    if set(words[first + 1 :]) & _WIDER or _denies_first_of_several(words, first):
        yield SCOPE
    if words[first] == "not" and first > 1 and words[1] not in _SHORT and _splits_subject(clause):
        yield SPLIT


def _denies_first_of_several(words: Sequence[str], first: int) -> bool:
    """Whether "no" precedes several nouns of which a later one has its own article: "no dog and a
    cat".
    """
    if words[first] != "no" or "between" in words:
        return False
    return re.search(r"\band (?:a|an|one|the)\b", " ".join(words[first:])) is not None


def _splits_subject(clause: Question) -> bool:
    """Whether "not" stands elsewhere than at the end of the subject."""
    quoted = inside_quotes(clause.clause)
    position = next(
        i for i, token in enumerate(clause.clause) if token.word == "not" and not quoted[i]
    )
    plain = (*clause.clause[:position], *clause.clause[position + 1 :])
    end, worth = find_subject_end(plain)
    return end is not None and worth >= 1 and position < end


def _is_denied(prompt: str) -> bool:
    """Whether the question is negated, or denied as a whole."""
    if (
        not _NEGATED.search(_ANSWERS.sub(" ", prompt))
        and not _DENIED_SENTENCE.search(prompt)
        and "other than" not in prompt
    ):
        return False
    try:
        clause = clause_of(prompt)
    except NoRule:
        return False
    if _has_contraction(prompt):
        return False
    sentence = prompt[clause.start : clause.end]
    # denied twice, inside and as a whole, is affirmed
    inner = not NEGATIONS.isdisjoint(clause.words)
    return inner != bool(
        _DENIED_SENTENCE.search(sentence) or re.search(r"\bnumber of .* other than\b", sentence)
    )


_MEANINGS = RuleCache("meanings", meaning, (Path(__file__),), ("lemminflect",))
_FAULTS = RuleCache("faults", _negation_faults, (RULES, Path(__file__)))
_DENIED = RuleCache("denied", _is_denied, (RULES, Path(__file__)))
