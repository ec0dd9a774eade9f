"""Findings about a benchmark's items, and the checks for duplicates, balance and order that every
benchmark goes through.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from hqm.types import LETTERS, Form, Item


@dataclass(frozen=True, slots=True)
class Finding:
    """One oddity of the data: its stable name, a sentence, how many items are affected, some of
    them, and the place.

    The name has a code and a severity in `hqm.lint.CODES`; a name that only one benchmark uses has
    the code `B000`.
    """

    name: str
    sentence: str
    count: int = 0
    examples: tuple[str, ...] = ()
    place: str = ""
    """The file and line, for a fault at one place of a file."""
    rows: tuple[Mapping[str, Any], ...] = ()
    """All of them: a row each, with what concerns it (items, keys, images, question, type, part,
    what).
    """

    def to_dict(self) -> dict[str, Any]:
        """The finding as JSON data, with its code and severity."""
        from hqm.benchmark.codes import code_of

        code = code_of(self.name)
        return {
            "code": code.code,
            "name": self.name,
            "severity": code.severity,
            "sentence": self.sentence,
            "remedy": code.remedy,
            "count": self.count,
            "examples": list(self.examples),
            "place": self.place,
            "rows": [dict(row) for row in self.rows],
        }


def finding(
    name: str, sentence: str, items: Sequence[Item | str], show: int = 3
) -> Iterable[Finding]:
    """A finding about these items, or nothing when there are none."""
    if items:
        shown = tuple(
            f"{item.id}: {item.prompt}" if isinstance(item, Item) else item for item in items[:show]
        )
        rows = tuple(row_of(item) if isinstance(item, Item) else {"what": item} for item in items)
        yield Finding(name, sentence.format(n=len(items)), len(items), shown, rows=rows)


def row_of(*items: Item) -> dict[str, Any]:
    """The row of a finding's list about one item, or about several that belong together: ids, keys,
    pictures, question.
    """
    questions = list(dict.fromkeys(item.prompt for item in items))
    images = [item.image for item in items if item.image]
    return {
        "items": [item.id for item in items],
        "keys": [item.target if isinstance(item.target, str) else "" for item in items],
        "question": " / ".join(questions),
        "images": list(dict.fromkeys(images)),
        **({"type": items[0].type} if items[0].type else {}),
    }


NO_COPIES: Mapping[str, str] = MappingProxyType({})
"""No picture stands under several names, as far as is known."""


def same_question(
    form: Form, copies: Mapping[str, str] = NO_COPIES
) -> dict[tuple[str, str], list[Item]]:
    """Items grouped by picture and question.

    Parameters
    ----------
    copies
        Picture -> the first name under which the same picture stands; `hqm.lint.images` reads the
        files.
    """
    groups: dict[tuple[str, str], list[Item]] = defaultdict(list)
    for item in form.items:
        groups[
            copies.get(item.image or "", item.image or ""), " ".join(item.prompt.split())
        ].append(item)
    return groups


def check_form(form: Form, copies: Mapping[str, str] = NO_COPIES) -> Iterable[Finding]:
    """The findings about duplicates, balance and order, which are looked for in every benchmark."""
    groups = same_question(form, copies)
    repeated = [group for group in groups.values() if len(group) > 1]
    extra = sum(len(group) - 1 for group in repeated)
    if repeated:
        yield Finding(
            "duplicate-question",
            f"{len(form)} rows ask {len(groups)} distinct questions: {extra} rows repeat a picture"
            " and question",
            extra,
            tuple(
                f"{', '.join(i.id for i in group[:3])}: {group[0].prompt}" for group in repeated[:3]
            ),
            rows=tuple(row_of(*group) for group in repeated),
        )
    contradictory = [group for group in repeated if _contradict(group)]
    if contradictory:
        n = len(contradictory)
        sentence = f"{n} repeated questions have different right answers"
        shown = tuple(
            f"{' and '.join(f'{i.id} [{i.target}]' for i in group[:3])}: {group[0].prompt}"
            for group in contradictory[:3]
        )
        yield Finding(
            "contradictory-label",
            sentence,
            n,
            shown,
            rows=tuple(row_of(*group) for group in contradictory),
        )
    if form.items[0].task in ("yes_no", "choice"):
        yield from _balance(form)
        yield from _pattern(form)


def _contradict(group: Sequence[Item]) -> bool:
    """Whether two keys cannot both be right; of a multiple choice only where one's right option is
    a wrong one of the other.
    """
    answers = [(_answer(item), item.options) for item in group]
    pairs = itertools.permutations(answers, 2)
    return any(
        first != other and (not options or first in options)
        for (first, _), (other, options) in pairs
    )


def _answer(item: Item) -> str:
    """What the key says: of a multiple choice the option itself, as the options may stand in
    another order.
    """
    letter = str(item.target)
    place = LETTERS.find(letter) if len(letter) == 1 else -1
    return item.options[place] if item.options and 0 <= place < len(item.options) else letter


def _balance(form: Form) -> Iterable[Finding]:
    for kind, items in group_by_type(form).items():
        counts = Counter(str(item.target) for item in items)
        top, n = counts.most_common(1)[0]
        if n / len(items) > 0.65 and len(items) >= 20:
            name = kind or "unlabelled"
            sentence = (
                f"{n} of {len(items)} {name} items have the answer {top!r}: always saying so scores"
                f" {n / len(items):.3f}"
            )
            row = {"type": kind, "answer": top, "items with it": n, "items in all": len(items)}
            yield Finding("unbalanced-labels", sentence, len(items), rows=(row,))


def _pattern(form: Form) -> Iterable[Finding]:
    """A finding for each part in which the place of an item gives its answer away."""
    parts: dict[str, list[str]] = defaultdict(list)
    for item in form.items:
        parts[item.part].append(str(item.target))
    alternating = [
        part for part, targets in parts.items() if len(targets) >= 20 and _alternates(targets)
    ]
    for part in alternating:
        where = f" of {part}" if part else ""
        yield Finding(
            "label-by-position",
            f"the right answers{where} strictly alternate: the position predicts the label",
            len(parts[part]),
            rows=({"part": part, "items in all": len(parts[part])},),
        )


def _alternates(targets: Sequence[str]) -> bool:
    return len(set(targets)) == 2 and all(a != b for a, b in itertools.pairwise(targets))


def group_by_type(form: Form) -> dict[str, list[Item]]:
    """The items of each hallucination type; those without a label under the empty name."""
    groups: dict[str, list[Item]] = defaultdict(list)
    for item in form.items:
        groups[item.type or ""].append(item)
    return dict(groups)
