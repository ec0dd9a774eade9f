"""AMBER, discriminative: yes/no questions about existence, attributes (state, number, action) and
relations.

Release: junyangwang0410/AMBER. An answer file is a JSON array of `id` and `response`; ids of the
generative part are skipped. Precision and recall take "no" as the positive answer, because a model
without hallucinations denies what is not there.

Official and paper. `official`: an answer is exactly `Yes` or `No`; any other answer is wrong (and
still counted as unparsed). Every denominator starts at 0.001, and the denominator of F1 adds 0.0001
(0.001 for existence). Percentages are printed with one decimal, and F1 is printed as the F1 of the
rounded precision and recall; statistics are computed from what is not rounded. `paper`: an answer
contains yes or no as a word; the metrics are plain ratios in percent, unrounded; an answer that
cannot be read is left out of the mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

from hqm import (
    Benchmark,
    DataError,
    Finding,
    Form,
    Item,
    Metric,
    Response,
    Verdict,
    finding,
    ratio,
    read_records,
)
from hqm.benchmark.findings import asking
from hqm.benchmark.items import repeated_questions
from hqm.benchmark.released_files import answers_by_id, released_form
from hqm.files.records import read_json, required_field
from hqm.scoring.metrics import Array, Tally, rounded
from hqm.types import group_by

# `relation` stands without its prefix in the release's annotation.
_KINDS = {
    "discriminative-attribute-state": ("attribute", "state"),
    "discriminative-attribute-number": ("counting", "number"),
    "discriminative-attribute-action": ("action", "action"),
    "discriminative-hallucination": ("existence", "existence"),
    "discriminative-relation": ("relation", "relation"),
    "relation": ("relation", "relation"),
}
SUBSETS = ("existence", "attribute", "state", "number", "action", "relation")


DIGITS = 1
"""The decimals that the release prints."""


def _official(top: str, bottom: str, pieces: int) -> Callable[[Tally], Array]:
    # the release's counters begin at 0.001, so that none of its denominators is zero
    return lambda t: t[top] / (t[bottom] + 0.001 * pieces) * 100


def _official_f1(pieces: int, guard: float, digits: int | None = None) -> Callable[[Tally], Array]:
    """F1 of precision and recall in percent, which the release rounds first."""

    def share(bottom: str, t: Tally) -> Array:
        percentage = _official("no_right", bottom, pieces)(t)
        if digits is not None:
            percentage = rounded(percentage, digits)
        return percentage / 100

    def f1(t: Tally) -> Array:
        # the positive answer is no: precision is of the answers no, recall of the questions
        precision = share("no_said", t)
        recall = share("no_true", t)
        return 2 * precision * recall / (precision + recall + guard) * 100

    return f1


def _metrics(scoring: str) -> Iterable[Metric]:
    for subset in ("", *SUBSETS):
        # the release adds its three attribute counters, and with them their starting values
        pieces = 3 if subset == "attribute" else 1
        # The release guards F1 of existence with another number than all others.
        guard = 0.001 if subset == "existence" else 0.0001
        four: dict[str, Callable[[Tally], Array]] = {
            "accuracy": _official("right", "n", pieces),
            "precision": _official("no_right", "no_said", pieces),
            "recall": _official("no_right", "no_true", pieces),
            "f1": _official_f1(pieces, guard),
        }
        if scoring == "paper":
            four = {
                "accuracy": lambda t: 100 * ratio(t["right"], t["n"]),
                "precision": lambda t: 100 * ratio(t["no_right"], t["no_said"]),
                "recall": lambda t: 100 * ratio(t["no_right"], t["no_true"]),
                "f1": lambda t: 100 * ratio(2 * t["no_right"], t["no_said"] + t["no_true"]),
            }
        for name, formula in four.items():
            metric = Metric(
                name,
                formula,
                about=f"{name.capitalize()} in percent; the answer no is the positive class.",
                scale=(0.0, 100.0),
            )
            if scoring == "official":
                release = None
                if name == "f1":
                    release = _official_f1(pieces, guard, DIGITS)
                metric = replace(metric, digits=DIGITS, release=release)
            yield metric.within(subset) if subset else metric
    yield Metric(
        "yes_ratio",
        lambda t: ratio(t["yes_said"], t["yes_said"] + t["no_said"]),
        "neither",
        about="Share of answers yes.",
        scale=(0.0, 1.0),
    )


class AmberD(Benchmark):
    """The discriminative questions of AMBER."""

    paper_parser = "vlmevalkit"
    scoring_files = ()

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """Four metrics overall and for each subset, and the yes-ratio."""
        return tuple(_metrics(self.scoring))

    @cached_property
    def annotations(self) -> dict[int, dict[str, Any]]:
        """Id -> annotation, including those of the generative part."""
        return {
            int(required_field(record, "id", "annotations.json")): record
            for record in read_records(self.data / "annotations.json")
        }

    def read(self) -> Form:
        """`query/query_discriminative.json` with the labels of `annotations.json`."""
        return released_form(self.data / "query" / "query_discriminative.json", self._item)

    def _item(self, location: str, record: Mapping[str, object]) -> Item:
        # As numbers, so that an id that was written as a text finds its annotation too.
        key = int(required_field(record, "id", location))
        note = self.annotations.get(key, {})
        if note.get("type") not in _KINDS or note.get("truth") not in ("yes", "no"):
            raise DataError(
                f"annotations.json has no usable label for the id {key}",
                location=location,
                remedy="Take both files of one release.",
            )
        image = str(required_field(record, "image", location))
        kind = _KINDS[note["type"]]
        return Item(
            str(key),
            str(required_field(record, "query", location)),
            "yes_no",
            note["truth"],
            image,
            kind[0],
            "",
            image,
            meta={"kind": kind[1], "label": note["type"]},
        )

    def subsets(self, item: Item) -> list[str]:
        """The release's dimensions; state, number and action make up attribute."""
        kind = str(item.meta["kind"])
        if kind in ("state", "number", "action"):
            # attribute is no kind of its own: the release adds up its three counters
            return [kind, "attribute"]
        return [kind]

    def score(self, item: Item, response: Response) -> Verdict:
        """Counts with "no" as positive; an unreadable answer is wrong for the release and unscored
        for the paper.
        """
        read = super().score(item, response)
        # The release counts an unread answer as wrong; the paper's plain ratios leave it out.
        if not read.scored and self.scoring == "paper":
            return read
        answer = read.read
        truth = str(item.target)
        tally = {
            "right": float(answer == truth),
            "n": 1.0,
            "yes_said": float(answer == "yes"),
            "no_said": float(answer == "no"),
            "no_true": float(truth == "no"),
            "no_right": float(answer == truth == "no"),
            **{key: read.tally.get(key, 0.0) for key in ("tp", "fp", "tn", "fn")},
        }
        return Verdict(tally["right"], tally, read.state, answer, read.reason)

    def decides(self, item: Item) -> str:
        """The target; the scoring is the same for all items."""
        return str(item.target)

    def read_answers(self, path: Path, form: Form) -> tuple[Form, Mapping[str, Response]]:
        """A JSON array of `id` and `response`; like the release, only the answers that the file has
        are scored.
        """
        # Ids of the generative part are known and no questions here: a file of both parts is read.
        return form, answers_by_id(
            path, form, lambda key: key.isdecimal() and int(key) in self.annotations
        )

    def check(self, form: Form) -> Iterable[Finding]:
        """The oddities of the released files."""
        by_kind: dict[str, list[Item]] = group_by(form.items, lambda item: item.meta["kind"])
        relations = by_kind.get("relation", [])
        yield from self._label_leaks(form, by_kind)
        yield from self._label_errors(form)
        for name in ("query_all.json", "query_discriminative-existence.json"):
            path = self.data / "query" / name
            if path.exists():
                # The release has the same questions in three files, which need not agree.
                theirs = {str(record["id"]): record["query"] for record in read_records(path)}
                differing = []
                for item in form.items:
                    prompt = theirs.get(item.id, item.prompt)
                    if prompt != item.prompt:
                        differing.append(f"{item.id}: {item.prompt} / {prompt}")
                yield from finding(
                    "files-differ",
                    f"{{n}} questions read otherwise in {name}",
                    differing,
                )
        yield from finding(
            "article",
            "{n} questions have 'a' before a vowel",
            asking(form.items, r"\ba [aeiou]"),
        )
        yield from finding(
            "second-person",
            "{n} questions speak to the reader ('your')",
            asking(form.items, r"(?<!\S)your(?!\S)"),
        )
        yield from finding(
            "wording",
            "{n} relation questions lack the words 'in this image' that the paper's prompt ends"
            " with",
            [item for item in relations if "image" not in item.prompt],
        )
        self_related = []
        for item in relations:
            match = re.search(r"between the (.+) and (.+)\?", item.prompt)
            if match and match[1] == match[2]:
                self_related.append(match[0])
        yield from finding(
            "self-relation",
            "{n} relation questions ask about a thing and itself",
            self_related,
        )

    def _label_leaks(self, form: Form, by_kind: Mapping[str, list[Item]]) -> Iterable[Finding]:
        attributes = [item for item in form.items if "attribute" in self.subsets(item)]
        # A respondent that reads ids, or a file sorted by them, would know the key.
        if all((int(item.id) % 2 == 1) == (item.target == "yes") for item in attributes):
            yield Finding(
                "label-by-id",
                f"all {len(attributes)} attribute questions come in pairs, odd id yes, even id no:"
                " the id gives the label",
                len(attributes),
            )
        relations = by_kind.get("relation", [])
        # More than one raw type, and each with one label: the type says the label.
        raw = {(item.meta["label"], str(item.target)): item for item in relations}
        if len(raw) == len(set(map(itemgetter(0), raw))) > 1:
            yield Finding(
                "label-by-type",
                "the raw type of a relation question is its label"
                f" ({', '.join(map(' = '.join, raw))}): never group by it",
                len(relations),
            )
        for kind, items in by_kind.items():
            if len(set(map(attrgetter("target"), items))) == 1:
                yield Finding(
                    "constant-label",
                    f"all {len(items)} {kind} questions have the answer {items[0].target!r}",
                    len(items),
                )
        # all questions of this wording could be answered without the picture
        asks_for_one = asking(form.items, r"\AIs there one ")
        if asks_for_one and set(map(attrgetter("target"), asks_for_one)) == {"yes"}:
            yield Finding(
                "label-by-wording",
                f"'Is there one ...' has the answer yes {len(asks_for_one)} times of"
                f" {len(asks_for_one)}",
                len(asks_for_one),
            )

    def _label_errors(self, form: Form) -> Iterable[Finding]:
        """The labels and annotations that contradict each other."""
        notes = {i: n for i, n in self.annotations.items() if n["type"] == "generative"}
        wrong, associated = self._doubtful_negatives(form, notes)
        yield from finding(
            "label-error",
            "{n} existence questions have the answer no, though the object is among the picture's"
            " true ones",
            wrong,
        )
        yield from finding(
            "label-doubt",
            "{n} more ask about a word associated with a true object of the picture",
            associated,
        )
        yield from finding(
            "annotation-overlap",
            "{n} pictures list an object both as true and as a hallucination",
            [str(i) for i, note in notes.items() if set(note["truth"]) & set(note["hallu"])],
        )
        yield from finding(
            "annotation-twice",
            "{n} pictures list a true object twice",
            [str(i) for i, note in notes.items() if len(note["truth"]) > len(set(note["truth"]))],
        )
        groups = repeated_questions(form)
        contradictory = [
            group for group in groups if len(set(map(attrgetter("target"), group))) > 1
        ]
        yield Finding(
            "pairs",
            f"{len(groups)} pairs of picture and question stand twice, {len(contradictory)} of them"
            " with different answers",
            len(groups),
        )

    def _doubtful_negatives(
        self, form: Form, notes: Mapping[int, Mapping[str, Sequence[str]]]
    ) -> tuple[list[Item], list[Item]]:
        """The existence questions with the answer no whose object is true of the picture, and those
        whose object is associated with a true one.
        """
        path = self.data / "relation.json"
        associations = read_json(path) if path.exists() else {}
        wrong = []
        associated = []
        for item in form.items:
            if item.meta["kind"] != "existence" or item.target != "no":
                continue
            match = re.match(r"Is there an? (.+) in this image", item.prompt)
            picture = re.match(r"AMBER_(\d+)\.", item.image or "")
            if match is None or picture is None:
                continue
            # pictures are named by their number, which is the id of the generative annotation
            note = notes.get(int(picture[1]))
            true_objects = set(note["truth"]) if note else set()
            if match[1] in true_objects:
                wrong.append(item)
            elif any(match[1] in associations.get(name, ()) for name in true_objects):
                associated.append(item)
        return wrong, associated
