"""Checks of the questions' words: near-duplicates, twins that contradict each other, wordings,
templates.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from hqm.benchmark.findings import NO_COPIES, Finding, finding, group_by_type, row_of
from hqm.types import Form, Item

_ARTICLES = frozenset(("a", "an", "the"))
_DENIALS = frozenset(("no", "not", "never", "without"))
_TOKEN = re.compile(r"[\w']+|[=<>+*/%°$€£#@~^±≤≥≠×÷]")
_ENOUGH = 20
"""The wordings of a type are judged if it has at least this many items."""
_WORDINGS = 3
_MONOTONY = 0.8
_SAMPLE = 3_000
_ODD = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\ufffd]|[\u00c2\u00c3][\u0080-\u00bf]|\u00e2\u20ac"
)
"""Control characters, the replacement character, and UTF-8 that was read as Latin-1 or
Windows-1252.
"""


@lru_cache(maxsize=65536)
def bare(text: str) -> str:
    """A question's words in lower case, without punctuation and articles; signs that carry meaning
    stay.

    >>> bare("Is there a  Dog, in the image?"), bare("Is A < 90?") == bare("Is A > 90?")
    ('is there dog in image', False)
    """
    return " ".join(word for word in _TOKEN.findall(text.casefold()) if word not in _ARTICLES)


def check_words(form: Form, copies: Mapping[str, str] = NO_COPIES) -> Iterable[Finding]:
    """The findings about the questions' words; `copies` names the pictures that are one picture
    (`same_question`).
    """
    yield from _twins(form, copies)
    for kind, items in group_by_type(form).items():
        if form.items[0].task != "caption" and len(items) >= _ENOUGH:
            yield from _wordings(kind or "unlabelled", items)
    sentence = "{n} questions show signs of a wrong decoding, or hold control characters"
    yield from finding(
        "mojibake", sentence, [item for item in form.items if _ODD.search(item.prompt)]
    )
    sentence = "{n} ids have spaces or control characters"
    yield from finding(
        "id-odd", sentence, [item for item in form.items if re.search(r"\s|[\x00-\x1f]", item.id)]
    )


_Groups = Mapping[tuple[str, str, tuple[str, ...]], Sequence[Item]]


def _twins(form: Form, copies: Mapping[str, str]) -> Iterable[Finding]:
    groups: dict[tuple[str, str, tuple[str, ...]], list[Item]] = defaultdict(list)
    for item in form.items:
        groups[
            copies.get(item.image or "", item.image or ""), bare(item.prompt), item.options
        ].append(item)
    near: list[list[Item]] = []
    contradictory: list[list[Item]] = []
    for group in groups.values():
        # the same words are another finding's matter
        distinct = list({" ".join(item.prompt.split()): item for item in group}.values())
        if len(distinct) > 1:
            near.append(distinct)
            if len({bare(str(item.target)) for item in distinct}) > 1:
                contradictory.append(distinct)
    yield from _listed(
        "near-duplicate-question", "questions about one picture differ in no word: {n} times", near
    )
    contradictory += list(_denied(form, groups))
    sentence = (
        "equal words have different right answers, or a question and its negation the same one: {n}"
        " times"
    )
    yield from _listed("contradictory-twins", sentence, contradictory)


def _listed(name: str, sentence: str, groups: Sequence[Sequence[Item]]) -> Iterable[Finding]:
    if groups:
        shown = tuple(map(_together, groups[:3]))
        yield Finding(
            name,
            sentence.format(n=len(groups)),
            len(groups),
            shown,
            rows=tuple(row_of(*g) for g in groups),
        )


def _denied(form: Form, groups: _Groups) -> Iterable[list[Item]]:
    """Yes/no questions whose negation about the same picture has the same right answer."""
    if form.items[0].task != "yes_no":
        return
    for (image, words, options), group in groups.items():
        plain = " ".join(word for word in words.split() if word not in _DENIALS)
        if plain != words and (image, plain, options) in groups:
            other = groups[image, plain, options][0]
            if other.target == group[0].target:
                yield [other, group[0]]


def _together(items: Sequence[Item]) -> str:
    return " / ".join(f"{item.id}: {item.prompt} [{item.target}]" for item in items[:3])


def _wordings(kind: str, items: Sequence[Item]) -> Iterable[Finding]:
    wordings = Counter(bare(item.prompt) for item in items)
    if len(wordings) < _WORDINGS:
        many = "one wording" if len(wordings) == 1 else f"{len(wordings)} wordings"
        sentence = (
            f"the {len(items)} {kind} items have {many}: a score says how respondents take that"
            " sentence"
        )
        shown = tuple(text for text, _ in wordings.most_common(3))
        rows = tuple(
            {"type": kind, "wording": text, "items with it": n}
            for text, n in wordings.most_common()
        )
        yield Finding("few-wordings", sentence, len(items), shown, rows=rows)
        return
    questions = [bare(item.prompt) for item in items]
    # evenly spaced ones of a large file: the share is then known to about a hundredth
    pattern, share = commonest_template(questions[:: 1 + len(questions) // _SAMPLE])
    if share > _MONOTONY:
        sentence = f"{share:.0%} of the {len(items)} {kind} items follow one template: {pattern!r}"
        row = {
            "type": kind,
            "template": pattern,
            "share": round(share, 4),
            "items in all": len(items),
        }
        yield Finding("template-monotony", sentence, round(share * len(items)), rows=(row,))


def commonest_template(questions: Sequence[str]) -> tuple[str, float]:
    """The commonest template of questions, and the share of questions that follows it.

    A template is a question with one slot in place of up to three words; at least two words must be
    left.

    >>> commonest_template(["is there dog in image", "is there traffic light in image", "what is red"])
    ('is there _ in image', 0.6666666666666666)
    """
    counts: Counter[str] = Counter()
    for text, n in Counter(questions).items():
        words = text.split()
        templates = {
            " ".join([*words[:start], "_", *words[start + width :]])
            for width in range(1, 4)
            for start in range(len(words) - width + 1)
            # a slot must leave at least two words, else everything follows it
            if len(words) - width >= 2
        }
        counts.update(dict.fromkeys(templates, n))
    if not counts:
        return "", 0.0
    pattern, n = max(counts.items(), key=lambda pair: (pair[1], len(pair[0]), pair[0]))
    return pattern, n / len(questions)
