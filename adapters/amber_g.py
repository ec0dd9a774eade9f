"""AMBER, generative: descriptions of 1,004 pictures, scored by the objects that they mention.

Release: junyangwang0410/AMBER. An answer file is a JSON array of `id` and `response`; ids of the
discriminative part are skipped. The nouns of a description that are in AMBER's vocabulary are
compared with the true objects of the picture and with objects that people expect there (targets).
CHAIR is the share of mentioned objects that are made up, Cover the share of true objects that are
mentioned, Hal the share of descriptions that make something up, and Cog the rate of expected
objects among those made up; all are percentages. If AMBER-d is scored as well, the AMBER Score is
(100 - CHAIR + F1) / 2.

The paper's Figures 4 and 5 are metrics too. `position.at_20` to `position.at_100` are the shares of
made-up words in each fifth of the description. `hal.at_20`, `cover.at_20` and so on are Hal and
Cover of the first 20, 40, 60 and 80 percent of its words (rounded up): nouns are found in the whole
description, and those after the cut are dropped.

Nouns, lemmas and likeness come from named parts (`--set words=...`). `official` has those of the
release (NLTK, spaCy's en_core_web_lg); `offline`, the default, has HanTa, lemminflect and a table
of synonyms. With `offline`, fewer made-up words are excused because they are like a true object;
use `official` to compare with published figures.

Official and paper. `official`: all counts are summed over descriptions before dividing,
denominators start at 0.001, and percentages are printed with one decimal (statistics are computed
from what is not rounded). Repeats count each time, and nothing is converted to lower case. The
vocabulary also has associated words. Nine safe words are never made up but count as mentioned. A
word that is associated with several true objects covers only the first of them, even if it names
another one. A word that is like a true one (cosine above 0.8) is excused. A made-up word hits a
target if it is one, is associated with one, or is like one; Cog divides by the number of targets.
`paper`: distinct objects are counted, in upper or lower case, with the annotated objects as the
vocabulary and without associations, safe words or likeness. The ratios of each description are
averaged; Cog divides by the mentioned objects. A description without any object has no CHAIR and no
Cog and makes nothing up. Nothing is rounded.
"""

from __future__ import annotations

import bisect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain, starmap
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from hqm import (
    Analysis,
    Benchmark,
    DataError,
    Finding,
    Form,
    Item,
    Metric,
    Response,
    ScoredAnswer,
    Verdict,
    finding,
    ratio,
)
from hqm.benchmark.analyses import items_asked, made_up_objects
from hqm.benchmark.released_files import answers_by_id, records_by, released_form
from hqm.files.records import read_json, read_text, required_field
from hqm.scoring.metrics import Array, Tally
from hqm.scoring.words.interfaces import Recipe

FIFTHS = (20, 40, 60, 80, 100)
PEOPLE = frozenset("person people individual man woman boy girl child kid".split())
"""The words of the vocabulary for a person: those associated with `person`, and children."""
_SPAN = re.compile(r"\S+")


class _Targets(NamedTuple):
    """Words, each with the object that it stands for: associated words first, then the objects
    themselves.
    """

    words: tuple[str, ...]
    stands_for: tuple[int, ...]
    size: int

    @classmethod
    def from_objects(
        cls, objects: Sequence[str], associated: Mapping[str, Sequence[str]]
    ) -> _Targets:
        words: list[str] = []
        stands_for: list[int] = []
        for i, name in enumerate(objects):
            # the release looks an associated word up first, whatever object the word itself is
            words += associated[name]
            stands_for += [i] * len(associated[name])
        size = len(objects)
        return cls((*words, *objects), (*stands_for, *range(size)), size)


_CATEGORIES = {
    "nature": "sky grass cloud ground forest sea beach tree mountain lake sun water river stone"
    " desert island rock star bush flower sunflower tussock leave moon sand ice glacier reef"
    " rainbow snow bamboo waterfront",
    "architecture": "wall floor house window door building bridge stair pier airport handrail"
    " railing stage ceiling manhole fence guardrail pipe drain tent",
    "street view": "road sign court hydrant pole rail track line streetlamp signal cable wire bin"
    " cone alarm flag",
    "fruit": "apple banana orange lemon tangerine pear watermelon strawberry pineapple grape"
    " grapefruit coconut blueberry melon peach kiwifruit cherry pulp",
    "food": "bread coffee pizza sauce broccoli wine doughnut cake sausage carrot cream juice cheese"
    " tomato egg rice shrimp cola beer snack cabbage baconic milk hot meat cowpea potato mushroom"
    " drink ginger chicken",
    "people": "person man woman child boy girl",
    "animals": "dog cat bird giraffe bear cow zebra sheep elephant horse duck lion tiger goose deer"
    " monkey pigeon eagle tortoise rabbit camel seegull butterfly antelope panda fox fish pig",
    "vehicles": "car ship bicycle motorbike train truck plane bus electrombile tank yacht sailing"
    " parasail tire",
    "furniture": "table bench chair sofa bed cabinet lounge bookshelf shelf desk mirror cushion"
    " pillow carpet blanket curtain quilt mattress rack support holder basin sink toilet bath"
    " urinal",
    "clothing": "hat necklace glove shoe tie watch scarf ribbon backpack earphone ring bracelet"
    " sunglasses glasses earing bag umbrella tablecloth towel cloth",
    "kitchenware": "plate glass cup bottle bowl knife fork spoon scoon wineglass pot kettle grill"
    " refrigerator microwave toaster cooktop tap bucket basket vase napkin",
    "electronics": "laptop keyboard computer mouse phone monitor camera lamp light socket"
    " controller television telephone clock sound switch microphone ebook air-conditioning"
    " showerhead",
    "sports and toys": "toy surfboard frisbee ball football tennis kite snowboard skate racket"
    " paddle baseball volleyball basketball doll balloon bat net rugby goal guitar drawing saddle",
    "household": "book rope box pen sticker tissue notebook board paper mousepad sheet luggage pad"
    " note toothbrush flowerpot shovel card crutch telescope brush candle file magazine tape"
    " toothpaste shampoo rod can opener money lock extinguisher baggage charcoal newspaper"
    " sanitizer showerpuff"
    " tinfoil spray bar",
}
"""Fourteen categories of the objects, after Figure 6. The paper names nature, architecture, street
view and fruit; the other names, and which object belongs where, are ours: the release has neither.
"""
CATEGORY = {word: name for name, words in _CATEGORIES.items() for word in words.split()}


class _Mention(NamedTuple):
    """A mentioned object: its word, and which word of the description that is; the true object it
    covers, the targets it hits, whether it is made up.
    """

    word: str
    word_index: int
    covers: int | None = None
    hits: tuple[int | None, ...] = ()
    is_fabricated: bool = False


def _percent(top: str, bottom: str, official: bool) -> Callable[[Tally], Array]:
    if official:
        # The release's counters begin at 0.001, so that no denominator is zero.
        return lambda t: t[top] / (t[bottom] + 0.001) * 100
    return lambda t: 100 * ratio(t[top], t[bottom])


def _hal(clean: str, official: bool) -> Callable[[Tally], Array]:
    if official:
        return lambda t: 100 - t[clean] / (t["n"] + 0.001) * 100
    return lambda t: 100 - 100 * ratio(t[clean], t["n"])


_Note = Mapping[str, Sequence[str]]
"""The annotation of a picture."""


def _metrics(official: bool) -> Iterator[Metric]:
    # The release prints one decimal; what is not rounded is what statistics are computed from.
    digits = 1 if official else None
    yield Metric(
        "chair",
        _percent("made_up", "mentioned", official),
        "lower",
        about="Of the objects mentioned, the percentage made up.",
        digits=digits,
        scale=(0.0, 100.0),
    )
    yield Metric(
        "cover",
        _percent("covered", "true", official),
        about="Of the true objects, the percentage mentioned.",
        digits=digits,
        scale=(0.0, 100.0),
    )
    yield Metric(
        "hal",
        _hal("clean", official),
        "lower",
        about="Percentage of descriptions that make something up.",
        digits=digits,
        scale=(0.0, 100.0),
    )
    cognition_description = "Made-up objects that people expect there, in percent of " + (
        "all expected ones." if official else "the objects mentioned."
    )
    yield Metric(
        "cog",
        _percent("hit", "targets", official),
        "lower",
        about=cognition_description,
        digits=digits,
        scale=(0.0, None),
    )
    yield Metric(
        "position",
        lambda t: ratio(t["place"], t["words_made_up"]),
        "neither",
        about="Mean relative place of made-up words: 0 at the start, 1 at the end.",
        scale=(0.0, 1.0),
    )
    for percent in FIFTHS:
        yield Metric(
            f"position.at_{percent}",
            _share_at(percent),
            "neither",
            about=(
                f"Of the made-up words, the share between {percent - 20} and {percent} percent of"
                " the description's length."
            ),
            scale=(0.0, 1.0),
        )
    # At 100 percent these are the metrics of the whole description.
    for percent in FIFTHS[:-1]:
        yield Metric(
            f"hal.at_{percent}",
            _hal(f"clean_{percent}", official),
            "lower",
            about=(
                f"Percentage of descriptions that make something up in the first {percent} percent"
                " of their words."
            ),
            digits=digits,
            scale=(0.0, 100.0),
        )
        yield Metric(
            f"cover.at_{percent}",
            _percent(f"covered_{percent}", "true", official),
            about=(
                f"Of the true objects, the percentage mentioned in the first {percent} percent of"
                " the words."
            ),
            digits=digits,
            scale=(0.0, 100.0),
        )
    yield Metric(
        "length",
        lambda t: ratio(t["words"], t["n"]),
        "neither",
        about="Mean length in words.",
        scale=(0.0, None),
    )


def _share(top: int, bottom: int) -> float:
    if bottom:
        return top / bottom
    return 0.0


def _share_at(percent: int) -> Callable[[Tally], Array]:
    return lambda t: ratio(t[f"place_{percent}"], t["words_made_up"])


class AmberG(Benchmark):
    """The descriptions of AMBER."""

    recipes = {  # noqa: RUF012
        "offline": Recipe(nouns="hanta", likeness="synonyms"),
        "official": Recipe(nouns="nltk", likeness="en_core_web_lg"),
    }

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """CHAIR, Cover, Hal and Cog, and the metrics of the place of made-up words and of the
        length.
        """
        return tuple(_metrics(self.scoring == "official"))

    @cached_property
    def annotations(self) -> Mapping[str, Mapping[str, Any]]:
        """Id -> annotation, including those of the discriminative part."""
        return records_by(self.data / "annotations.json", "id")

    @cached_property
    def associated(self) -> Mapping[str, Sequence[str]]:
        """Object -> associated words."""
        return dict(read_json(self.data / "relation.json"))

    @cached_property
    def safe_words(self) -> frozenset[str]:
        """Words that are never made up."""
        return frozenset(read_text(self.data / "safe_words.txt").split("\n")) - {""}

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The words that count as objects."""
        if self.scoring == "official":
            # the release compares case, so that nothing is converted
            return frozenset(self.associated).union(*self.associated.values())
        words = set[str]()
        for note in self.annotations.values():
            if note["type"] == "generative":
                words.update(map(str.lower, (*note["truth"], *note["hallu"])))
        return frozenset(words)

    @cached_property
    def _pictures(self) -> dict[str, tuple[_Targets, _Targets]]:
        """Id -> true objects and targets, with the words associated with them."""
        targets_by_picture = {}
        for item in self.read().items:
            note = self.annotations[item.id]
            names = (*note["truth"], *note["hallu"])
            # Without its associated words an object could not be found in a description.
            missing = [name for name in names if name not in self.associated]
            if missing:
                raise DataError(
                    f"relation.json has no {missing[0]!r}, which picture {item.id} is annotated"
                    " with",
                    location=str(self.data / "relation.json"),
                    remedy="Take both files of one release.",
                )
            targets_by_picture[item.id] = (
                _Targets.from_objects(note["truth"], self.associated),
                _Targets.from_objects(note["hallu"], self.associated),
            )
        return targets_by_picture

    @cached_property
    def _alike(self) -> tuple[dict[str, int], Any]:
        """The number of each word of the vocabulary, and which of the words are alike."""
        words = sorted(self.vocabulary)
        if self.words.likeness is None:
            raise DataError(
                f"{self.name} was given no measure of likeness",
                remedy="Name one with --set words=NAME.",
            )
        # The likeness of all pairs is one matrix: a lookup a mention, and no model a mention.
        numbers = dict(zip(words, range(len(words)), strict=True))
        return numbers, self.words.likeness.alike(words, words)

    def read(self) -> Form:
        """`query/query_generative.json`; the objects are in `annotations.json`."""
        return released_form(self.data / "query" / "query_generative.json", self._item)

    def _item(self, location: str, record: Mapping[str, object]) -> Item:
        key = str(required_field(record, "id", location))
        image = str(required_field(record, "image", location))
        if self.annotations.get(key, {}).get("type") != "generative":
            raise DataError(
                f"annotations.json has no generative annotation for the id {key}",
                location=location,
                remedy="Take both files of one release.",
            )
        prompt = str(required_field(record, "query", location))
        return Item(key, prompt, "caption", None, image, "existence", "", image)

    # --- scoring ---

    def score(self, item: Item, response: Response) -> Verdict:
        """The tally of one description."""
        n_words = len(response.text.split())
        official = self.scoring == "official"
        if official:
            mentions = self._official(item, response.text)
        else:
            mentions = self._paper(item, response.text)
        true, targets = self._pictures[item.id]
        wrong = list(filter(attrgetter("is_fabricated"), mentions))
        wrong_indices = list(map(attrgetter("word_index"), wrong))
        covered = [mention for mention in mentions if mention.covers is not None]
        tally = {
            "n": 1.0,
            "words": float(n_words),
            "clean": float(not wrong),
            "words_made_up": float(len(wrong)),
            # The middle of a word: with one word of one, it lies at .5.
            "place": sum((index + 0.5) / n_words for index in wrong_indices),
        }
        sizes = {
            "made_up": len(wrong),
            "mentioned": len(mentions),
            "covered": len(set(map(attrgetter("covers"), covered))),
            "hit": len({hit for mention in mentions for hit in mention.hits}),
        }
        if official:
            tally |= zip(sizes, map(float, sizes.values()), strict=True)
            tally |= {"true": float(true.size), "targets": float(targets.size)}
            share = 1.0
        else:
            any_object = float(bool(mentions))
            # the ratios of descriptions are averaged: each counts as one, however many objects it
            # has
            share = 1 / len(set(self._names(item, "truth")))
            tally |= {"made_up": _share(sizes["made_up"], len(mentions)), "mentioned": any_object}
            tally |= {"hit": _share(sizes["hit"], len(mentions)), "targets": any_object}
            tally |= {"covered": sizes["covered"] * share, "true": 1.0}
        for percent in FIFTHS:
            # Rounded up, as the paper does: the first fifth of three words is one word.
            first_words = math.ceil(n_words * percent / 100)
            early = {mention.covers for mention in covered if mention.word_index < first_words}
            tally[f"clean_{percent}"] = float(min(wrong_indices, default=n_words) >= first_words)
            tally[f"covered_{percent}"] = share * len(early)
            tally[f"place_{percent}"] = float(
                sum(percent - 20 <= 100 * index / n_words < percent for index in wrong_indices)
            )
        return Verdict(tally["clean"], tally, "ok", ", ".join(map(attrgetter("word"), wrong)))

    def _names(self, item: Item, kind: str) -> list[str]:
        return list(map(str.lower, self.annotations[item.id][kind]))

    def _nouns(self, text: str) -> list[tuple[str, int]]:
        """The lemmas that are in the vocabulary, each with the number of its word in the text."""
        if self.words.nouns is None:
            raise DataError(
                f"{self.name} was given no finder of nouns",
                remedy="Name one with --set words=NAME.",
            )
        word_starts = [match.start() for match in _SPAN.finditer(text)]
        nouns = []
        for noun in self.words.nouns(text):
            if noun.lemma in self.vocabulary:
                # a noun may begin inside a word, behind a bracket or a quotation mark
                index = bisect.bisect_right(word_starts, noun.start) - 1
                nouns.append((noun.lemma, max(0, index)))
        return nouns

    def _official(self, item: Item, text: str) -> list[_Mention]:
        """The mentions as the released scorer counts them, with repeats."""
        judge = partial(self._judge, *self._pictures[item.id])
        return list(starmap(judge, self._nouns(text)))

    def _judge(self, true: _Targets, targets: _Targets, word: str, index: int) -> _Mention:
        if word in self.safe_words:
            return _Mention(word, index)
        # `index` finds the first of several objects that a word is associated with, as the release
        if word in true.words:
            return _Mention(word, index, true.stands_for[true.words.index(word)])
        number, alike = self._alike

        def first_synonym(side: _Targets) -> int | None:
            row = alike[number[word]]
            for target, position in zip(side.words, side.stands_for, strict=True):
                if row[number[target]]:
                    return position
            return None

        # several expected objects may be alike, and the release takes the first of each way
        hits = {first_synonym(targets)} - {None}
        if word in targets.words:
            hits.add(targets.stands_for[targets.words.index(word)])
        covers = first_synonym(true)
        return _Mention(word, index, covers, tuple(hits), covers is None)

    def _paper(self, item: Item, text: str) -> list[_Mention]:
        """The mentions as the paper defines them: each object once, at its first place."""
        true = self._names(item, "truth")
        targets = self._names(item, "hallu")
        first_mentions = {}
        for word, index in self._nouns(text.lower()):
            # distinct objects: a repeat adds nothing, and the first place is the object's
            if word not in first_mentions:
                covers = true.index(word) if word in true else None
                hits = (targets.index(word),) if word in targets else ()
                first_mentions[word] = _Mention(word, index, covers, hits, covers is None)
        return list(first_mentions.values())

    def analyses(self, answers: Sequence[ScoredAnswer]) -> Iterable[Analysis]:
        """Which objects are made up, and the objects of the pictures by category."""

        def invented_words(answer: ScoredAnswer) -> list[str]:
            if not answer.tally["words_made_up"]:
                return []
            # The words themselves are not in the tally; they are found again, by the same rules.
            return self.score(answer.item, Response(answer.text)).read.split(", ")

        def has_person(answer: ScoredAnswer) -> bool:
            return not PEOPLE.isdisjoint(self._names(answer.item, "truth"))

        def category(word: str) -> str:
            return CATEGORY.get(word, "people" if word in PEOPLE else "other")

        yield from made_up_objects(
            answers, invented_words, has_person, PEOPLE.__contains__, category
        )
        by_category: dict[str, list[str]] = {name: [] for name in _CATEGORIES}
        for item in items_asked(answers):
            for name in set(self._names(item, "truth")) & CATEGORY.keys():
                by_category[CATEGORY[name]].append(name)
        rows = []
        for name, objects in by_category.items():
            rows.append((name, len(set(objects)), len(objects)))
        rows.sort(key=itemgetter(2), reverse=True)
        yield Analysis(
            name="objects_by_category",
            title="Objects of the pictures by category",
            about=(
                "How many names and how many annotated objects each of 14 categories has, as in"
                " AMBER's Figure 6; which object belongs where is HQM's reading, for the release"
                " does not say."
            ),
            columns=("Category", "Names", "Objects"),
            rows=tuple(rows),
            drawn="Objects",
        )

    def read_answers(self, path: Path, form: Form) -> tuple[Form, Mapping[str, Response]]:
        """A JSON array of `id` and `response`; like the release, only the answers that the file has
        are scored.
        """
        return form, answers_by_id(path, form, lambda key: key in self.annotations)

    def group_metrics(
        self, scores: Mapping[str, Mapping[str, float | None]]
    ) -> Mapping[str, float | None]:
        """The AMBER Score, from CHAIR here and F1 of AMBER-d."""
        # percentages both, so that the mean of 100 - CHAIR and F1 is one
        chair = scores.get("amber_g", {}).get("chair")
        f1 = scores.get("amber_d", {}).get("f1")
        return {"amber_score": None if chair is None or f1 is None else (100 - chair + f1) / 2}

    # --- what is odd ---

    def check(self, form: Form) -> Iterable[Finding]:
        """The oddities of the released annotation."""
        notes = {item.id: self.annotations[item.id] for item in form.items}
        overlaps = []
        for key, note in notes.items():
            names = set(note["truth"]) & set(note["hallu"])
            if names:
                overlaps.append(f"{key}: {', '.join(names)}")
        yield from finding(
            "annotation-overlap",
            "{n} pictures list an object both as true and as a target",
            overlaps,
        )
        for kind, name in (("truth", "a true object"), ("hallu", "a target")):
            yield from finding(
                f"annotation-twice-{kind}",
                f"{{n}} pictures list {name} twice: the release can never count both",
                [key for key, note in notes.items() if len(note[kind]) > len(set(note[kind]))],
            )
        yield from finding(
            "shadowed-object",
            "{n} true objects are associated with another one of their picture: the release counts"
            " their mention for that",
            self._shadowed_objects(notes),
        )
        for kind, name in (("truth", "true objects"), ("hallu", "targets")):
            safe_words = []
            for key, note in notes.items():
                safe_words += [f"{key}: {word}" for word in note[kind] if word in self.safe_words]
            yield from finding(
                f"safe-word-{kind}",
                f"{{n}} {name} are safe words: the release passes over their mention",
                safe_words,
            )
        yield from finding(
            "target-associated",
            "{n} pictures have a target that is associated with a true object",
            self._associated_targets(notes),
        )
        yield from finding(
            "capital",
            "{n} objects have a capital letter, and the release compares case",
            [word for word in self.associated if word != word.lower()],
        )
        true_objects = set(chain.from_iterable(map(itemgetter("truth"), notes.values())))
        yield Finding(
            "objects",
            f"{len(self.associated)} objects, {len(true_objects)} of them true somewhere;"
            f" {sum(map(len, self.associated.values()))} associated words",
            len(self.associated),
        )

    def _associated_targets(self, notes: Mapping[str, _Note]) -> list[str]:
        """The pictures with targets that are associated with a true object."""
        pictures = []
        for key, note in notes.items():
            associated = set().union(*(self.associated[word] for word in note["truth"]))
            targets = [word for word in note["hallu"] if word in associated]
            if targets:
                pictures.append(f"{key}: {', '.join(targets)}")
        return pictures

    def _shadowed_objects(self, notes: Mapping[str, _Note]) -> list[str]:
        """The true objects whose mention the release counts for another one of their picture."""
        shadowed = []
        for key, note in notes.items():
            true, _ = self._pictures[key]
            for name in dict.fromkeys(note["truth"]):
                counted = note["truth"][true.stands_for[true.words.index(name)]]
                if counted != name:
                    shadowed.append(f"{key}: '{name}' is counted as '{counted}'")
        return shadowed
