"""Findings about a benchmark's items, and the checks for duplicates, balance and order that every benchmark goes through."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hqm.types import Form, Item


@dataclass(frozen=True, slots=True)
class Finding:
    """One oddity of the data: its stable name, a sentence, how many items are affected, some of them, and the place.

    The name has a code and a severity in `hqm.lint.CODES`; a name that only one benchmark uses has the code `B000`.
    """

    name: str
    sentence: str
    count: int = 0
    examples: tuple[str, ...] = ()
    place: str = ""
    """The file and line, for a fault at one place of a file."""

    def to_dict(self) -> dict[str, Any]:
        """The finding as JSON data, with its code and severity."""
        from hqm.benchmark.codes import code_of

        code = code_of(self.name)
        return {
            "code": code.code, "name": self.name, "severity": code.severity, "sentence": self.sentence,
            "remedy": code.remedy, "count": self.count, "examples": list(self.examples), "place": self.place,
        }  # fmt: skip


def finding(name: str, sentence: str, items: Sequence[Item | str], show: int = 3) -> Iterable[Finding]:
    """A finding about these items, or nothing when there are none."""
    if items:
        shown = tuple(f"{item.id}: {item.prompt}" if isinstance(item, Item) else item for item in items[:show])
        yield Finding(name, sentence.format(n=len(items)), len(items), shown)


def same_question(form: Form) -> dict[tuple[str, str], list[Item]]:
    """Items grouped by picture and question."""
    groups: dict[tuple[str, str], list[Item]] = defaultdict(list)
    for item in form.items:
        groups[item.image or "", " ".join(item.prompt.split())].append(item)
    return groups


def check_form(form: Form) -> Iterable[Finding]:
    """The findings about duplicates, balance and order, which are looked for in every benchmark."""
    groups = same_question(form)
    repeated = [group for group in groups.values() if len(group) > 1]
    extra = sum(len(group) - 1 for group in repeated)
    if repeated:
        yield Finding(
            "duplicate-question",
            f"{len(form)} rows ask {len(groups)} distinct questions: {extra} rows repeat a picture and question",
            extra,
            tuple(f"{', '.join(i.id for i in group[:3])}: {group[0].prompt}" for group in repeated[:3]),
        )
    contradictory = [group[0] for group in repeated if len({str(item.target) for item in group}) > 1]
    yield from finding("contradictory-label", "{n} repeated questions have different right answers", contradictory)
    if form.items[0].task in ("yes_no", "choice"):
        yield from _balance(form)
        yield from _pattern(form)


def _balance(form: Form) -> Iterable[Finding]:
    for kind, items in group_by_type(form).items():
        counts = Counter(str(item.target) for item in items)
        top, n = counts.most_common(1)[0]
        if n / len(items) > 0.65 and len(items) >= 20:
            name = kind or "unlabelled"
            sentence = f"{n} of {len(items)} {name} items have the answer {top!r}: always saying so scores {n / len(items):.3f}"
            yield Finding("unbalanced-labels", sentence, len(items))


def _pattern(form: Form) -> Iterable[Finding]:
    """A finding for each part in which the place of an item gives its answer away."""
    parts: dict[str, list[str]] = defaultdict(list)
    for item in form.items:
        parts[item.part].append(str(item.target))
    alternating = [part for part, targets in parts.items() if len(targets) >= 20 and _alternates(targets)]
    for part in alternating:
        where = f" of {part}" if part else ""
        yield Finding(
            "label-by-position",
            f"the right answers{where} strictly alternate: the position predicts the label",
            len(parts[part]),
        )


def _alternates(targets: Sequence[str]) -> bool:
    return len(set(targets)) == 2 and all(a != b for a, b in itertools.pairwise(targets))


def group_by_type(form: Form) -> dict[str, list[Item]]:
    """The items of each hallucination type; those without a label under the empty name."""
    groups: dict[str, list[Item]] = defaultdict(list)
    for item in form.items:
        groups[item.type or ""].append(item)
    return dict(groups)
