"""CHAIR on COCO: of the COCO objects that a caption mentions, the share that is not in the picture.

Release: LisaAnne/Hallucination. Words are brought to the singular and known pairs ("hot dog", "baby
bear") are joined; a word in the list of synonyms then counts as a mention of its COCO object, and
repeats count. The true objects of a picture are those of its segmentation and those that its human
captions mention, counted in the same way. `hqm fetch coco_chair` makes them from COCO's own
annotations, val2014 and train2014, as `combine_coco_instances` and `combine_coco_captions` of the
release do. The questions are about val2014; captions of train2014 are scored too. Recall and length
are reported beside CHAIRi and CHAIRs, as later users of the metric do. The numbers are the shares
that the release saves, not the percentages that it prints.

Official and paper. The release brings words to the singular with `pattern.en`, which makes "bu" of
"bus", "airbu" of "airbus", "minibu" of "minibus", "ty" of "ties" and leaves "collies" as it is, and
two entries of its list begin with a space (" motor bike", " cheesecake") and never match.
`official` loses these mentions, as the release does, in answers and in human captions; `paper`
counts them in both. Which one a table used: the captioning tables of Rohrbach et al. 2018, and
whatever ran the release under Python 2, used `pattern.en`, so `official` compares with them. Tables
about large vision-language models mostly come from rewritings for Python 3, because `pattern` is
hard to install there. These (CHAIR-metric-standalone, lmms-eval's `coco_cap_chair`) take WordNet's
lemmatizer instead and count "bus" and "ties", as `paper` does; they still lose the two entries with
a space. Say which one you used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from operator import attrgetter
from pathlib import Path
from typing import Any

from hqm import (
    Analysis,
    AnswerError,
    Benchmark,
    DataError,
    Finding,
    Form,
    Item,
    Metric,
    Recording,
    Response,
    ScoredAnswer,
    Verdict,
    finding,
)
from hqm.benchmark.analyses import made_up_objects
from hqm.benchmark.released_files import files_in
from hqm.files.archives import json_values
from hqm.files.records import located_records, read_json, read_text, required_field
from hqm.imports.row import released_answer
from hqm.scoring.metrics import CHAIR, chair_tally
from hqm.signature import digest

INSTRUCTIONS = (
    "Provide a brief description of the given image.",
    "Generate a short caption of the image.",
)
"""The two instructions of the recorded captions in POPE's release: the original and the parallel
form.
"""
_CAPTIONS = re.compile(r"Instruction([12])_(.+)\.jsonl?$")
_SAMPLE = re.compile(r"[_-]sample\d+$")
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
# what follows an apostrophe is cut off: "dog's" is a dog, and "don't" is not a noun
_TAIL = re.compile(r"['’](?:s|t|re|ve|ll|d|m)\b")
ANNOTATIONS = "annotations_trainval2014.zip"
_SPLITS = ("val2014", "train2014")
_LIST = "b2:933ec9cad261af9917c357e5"
"""The hash of the release's list as word -> object: what `check` compares the list with that is
there.
"""

# `singularize` of pattern.en (clips/pattern dceb560, for Python 2), as far as it can end in a word
# of the list or of a pair: first what it leaves as it is, then ends that it replaces, then its
# rules in their order
_LEFT = ("collies", "doggies", "scissors")
_ENDS = {
    "men": "man",
    "people": "person",
    "children": "child",
    "geese": "goose",
    "oxen": "ox",
    "kine": "cow",
}
_RULES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"^(ox)en", r"\1"),
        (r"(shoe)s$", r"\1"),
        (r"(o|bus)es$", r"\1"),
        (r"([m|l])ice$", r"\1ouse"),
        (r"(x|ch|ss|sh)es$", r"\1"),
        (r"([^aeiouy]|qu)ies$", r"\1y"),
        (r"([aeo]l|[^d]ea|[lr])ves$", r"\1f"),
        (r"([nlw]i)ves$", r"\1fe"),
        (r"([aeo])ves$", r"\1ve"),
        (r"(sive|tive|hive)s$", r"\1"),
        (r"([^f])ves$", r"\1fe"),
        (r"s$", ""),
    )
)


@lru_cache(maxsize=65536)
def pattern_singular(word: str) -> str:
    """The singular that the release's `pattern.en` gives a lower-case word, where it is a word of
    CHAIR's list or pairs.

    >>> [pattern_singular(word) for word in ("buses", "bus", "ties", "knives", "women", "collies")]
    ['bus', 'bu', 'ty', 'knife', 'woman', 'collies']
    """
    if word.endswith(_LEFT):
        return word
    # Irregular ends go before the rules: "firemen" is "fireman".
    for plural, singular in _ENDS.items():
        if word.endswith(plural):
            return word.removesuffix(plural) + singular
    # The first rule that fits is applied, and no other.
    for pattern, replacement in _RULES:
        new, count = pattern.subn(replacement, word)
        if count:
            return new
    return word


@lru_cache(maxsize=65536)
def _lemmas(word: str) -> tuple[str, ...]:
    from lemminflect import getLemma

    return tuple(getLemma(word, "NOUN"))


@dataclass(frozen=True)
class Counter:
    """The rules for a mention of a COCO object: the list, the pairs of words, and how a word is
    brought to the singular.
    """

    words: Mapping[str, str]
    pairs: Mapping[str, str]
    scoring: str

    @classmethod
    def from_lists(cls, lists: Mapping[str, Mapping[str, str]], scoring: str) -> Counter:
        """The counting of the release (`official`), or the one that loses nothing (`paper`)."""
        words = dict(lists["inverse"])
        if scoring == "paper":
            # `paper` finds the two entries that begin with a space.
            words = dict(zip(map(str.strip, words), words.values(), strict=True))
        # The release's list has an empty word, which would be a mention of nothing.
        words.pop("", None)
        return cls(words, dict(lists["double"]), scoring)

    def mentioned(self, caption: str) -> list[str]:
        """The COCO objects that a caption mentions, in order and with repeats."""
        singular = pattern_singular if self.scoring == "official" else self.base
        words = list(map(singular, _WORD.findall(_TAIL.sub("", caption.lower()))))
        joined = []
        i = 0
        while i < len(words):
            # a pair goes before its words: a hot dog is no dog
            pair = " ".join(words[i : i + 2]) if words[i] in self.begins else ""
            joined.append(self.pairs.get(pair, words[i]))
            i += 1 + (pair in self.pairs)
        # as the release does, for its list has the seat of a toilet as a chair
        if "toilet" in joined and "seat" in joined:
            joined = list(filter("seat".__ne__, joined))
        return list(filter(None, map(self.words.get, joined)))

    @cached_property
    def begins(self) -> frozenset[str]:
        """The first words of the pairs: few words of a caption are looked up with the next one."""
        return frozenset(pair.split(" ")[0] for pair in self.pairs)

    def base(self, word: str) -> str:
        """The singular of a word under `paper`."""
        if word in self.words:
            return word
        # of several lemmas the one that the list has; a word without any stays as it is
        forms = (*_lemmas(word), word)
        return next((form for form in forms if form in self.words), forms[0])


def read_synonyms(path: Path) -> dict[str, dict[str, str]]:
    """The release's list, an object and its synonyms a line, and the pairs of words that its script
    joins.

    Raises
    ------
    DataError
        It lists nothing.
    """
    lines = list(filter(None, map(str.strip, read_text(path).splitlines())))
    if not lines:
        raise DataError(
            "it lists no object",
            location=str(path),
            remedy="Fetch data/synonyms.txt of the CHAIR release.",
        )
    inverse: dict[str, str] = {}
    for line in lines:
        # A word in two lines stands for the later one, as in the release's dictionary.
        inverse |= dict.fromkeys(line.split(", "), line.partition(", ")[0])
    double = dict(zip(_PAIRS, _PAIRS, strict=True))
    for animal in _ANIMALS:
        # The release counts a "baby elephant" as an elephant, and no baby as a person.
        double |= {f"baby {animal}": animal, f"adult {animal}": animal}
    double |= {
        "passenger jet": "jet",
        "passenger train": "train",
        "bow tie": "tie",
        "toilet seat": "toilet",
        "wine glas": "wine glass",
    }
    return {"inverse": inverse, "double": double}


# the lists in utils/chair.py of the release
_PAIRS = (
    "motor bike",
    "motor cycle",
    "air plane",
    "traffic light",
    "street light",
    "traffic signal",
    "stop light",
    "fire hydrant",
    "stop sign",
    "parking meter",
    "suit case",
    "sports ball",
    "baseball bat",
    "baseball glove",
    "tennis racket",
    "wine glass",
    "hot dog",
    "cell phone",
    "mobile phone",
    "teddy bear",
    "hair drier",
    "potted plant",
    "bow tie",
    "laptop computer",
    "stove top oven",
    "home plate",
    "train track",
)
_ANIMALS = "bird cat dog horse sheep cow elephant bear zebra giraffe animal cub".split()


def _split(annotations: Path, split: str, counters: Sequence[Counter]) -> list[dict[int, set[str]]]:
    """For each way of counting, every picture of a split with its objects: segmented, or named by a
    person who described it.
    """
    segmented: dict[int, set[int]] = {}
    names: dict[int, str] = {}
    objects: list[dict[int, set[str]]] = []
    file = f"instances_{split}.json"
    try:
        for key, value in _parts(annotations, file):
            if key == "annotations":
                segmented.setdefault(int(value["image_id"]), set()).add(int(value["category_id"]))
            elif key == "images":
                segmented.setdefault(int(value["id"]), set())
            elif key == "categories":
                names[int(value["id"])] = str(value["name"])
        segmented_ids = set().union(*segmented.values())
        for counter in counters:
            words = {i: counter.words[names[i]] for i in segmented_ids}
            words_by_picture = {}
            for picture, ids in segmented.items():
                words_by_picture[picture] = {words[item_id] for item_id in ids}
            objects.append(words_by_picture)
        file = f"captions_{split}.json"
        for key, value in _parts(annotations, file):
            for counted, counter in zip(objects, counters, strict=True):
                if key == "images":
                    counted.setdefault(int(value["id"]), set())
                elif key == "annotations":
                    mentioned = counter.mentioned(str(value["caption"]))
                    counted.setdefault(int(value["image_id"]), set()).update(mentioned)
    except (KeyError, TypeError, ValueError) as error:
        # Hundreds of megabytes of somebody else's JSON: a fault at any depth names the file.
        raise DataError(
            f"it is not in COCO's format ({type(error).__name__}: {error})",
            location=f"{annotations}: {file}",
            remedy="Fetch COCO's annotations of 2014.",
        ) from None
    return objects


def _parts(annotations: Path, file: str) -> Iterator[tuple[str, Any]]:
    """A document of COCO's annotations, out of the zip or a folder."""
    if annotations.is_dir():
        return json_values(annotations / file)
    return json_values(annotations, file)


_ALL = "../coco_objects/objects_all.json"
_FILES = {"val2014": "objects.json", "train2014": "objects_train2014.json"}
_NAME = re.compile(r"^(?:COCO_(?:val|train)2014_)?0*(\d+)(?:\.jpg)?$")


def _item(key: str, split: str = "val2014") -> Item:
    image = f"COCO_{split}_{int(key):012}.jpg"
    return Item(key, INSTRUCTIONS[0], "caption", None, image, "existence", "", image)


_CATEGORIES = {
    "person": "person",
    "vehicle": "bicycle, car, motorcycle, airplane, bus, train, truck, boat",
    "outdoor": "traffic light, fire hydrant, stop sign, parking meter, bench",
    "animal": "bird, cat, dog, horse, sheep, cow, elephant, bear, zebra, giraffe",
    "accessory": "backpack, umbrella, handbag, tie, suitcase",
    "sports": (
        "frisbee, skis, snowboard, sports ball, kite, baseball bat, baseball glove, skateboard,"
        " surfboard, tennis racket"
    ),
    "kitchen": "bottle, wine glass, cup, fork, knife, spoon, bowl",
    "food": "banana, apple, sandwich, orange, broccoli, carrot, hot dog, pizza, donut, cake",
    "furniture": "chair, couch, potted plant, bed, dining table, toilet",
    "electronic": "tv, laptop, mouse, remote, keyboard, cell phone",
    "appliance": "microwave, oven, toaster, sink, refrigerator",
    "indoor": "book, clock, vase, scissors, teddy bear, hair drier, toothbrush",
}
CATEGORY = {name: kind for kind, names in _CATEGORIES.items() for name in names.split(", ")}
"""COCO object -> its supercategory, as COCO's annotations have them."""


def _instruction(path: Path) -> str | None:
    """The instruction that a file of captions names, empty where it names none; None where it is no
    such file.
    """
    if not path.name.lower().removesuffix(".gz").endswith((".json", ".jsonl")):
        return None
    try:
        _, record = next(iter(located_records(path)), ("", {}))
    except DataError:
        return None
    if "image_id" not in record or not record.keys() & {"caption", "text"}:
        return None
    return str(record.get("prompt") or "").removeprefix("<image>").strip()


class CocoChair(Benchmark):
    """Captions of COCO pictures."""

    _instructions: tuple[str, ...] = ()
    """The instructions that the files of captions name, in the order in which they were met."""
    _captioned: frozenset[str] = frozenset()
    """The pictures that the files of captions are about."""
    _not_by_all: Sequence[str] = ()
    """Pictures of samples that not every system captioned."""

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """CHAIRi, CHAIRs, recall and length."""
        return CHAIR

    @classmethod
    def make_files(cls, inputs: Mapping[str, Path]) -> Mapping[str, object]:
        """The objects of every picture and the list of synonyms, from COCO's annotations and the
        list of the release.
        """
        lists = read_synonyms(inputs["synonyms.txt"])
        contents: dict[str, object] = {"synonyms.json": lists}
        if ANNOTATIONS not in inputs:
            return contents
        differently: dict[str, list[str]] = {}
        # Both ways of counting in one pass: the annotations are hundreds of megabytes.
        counters = list(map(partial(Counter.from_lists, lists), ("official", "paper")))
        for split in _SPLITS:
            official, paper = _split(inputs[ANNOTATIONS], split, counters)
            contents[_FILES[split]] = {str(key): sorted(official[key]) for key in sorted(official)}
            differently |= {
                str(key): sorted(paper[key]) for key in sorted(paper) if paper[key] != official[key]
            }
        return {**contents, "objects_paper.json": differently}

    def _read(self, name: str) -> dict[str, list[str]]:
        path = self.data / name
        exists = path.is_file() or path.with_name(f"{path.name}.gz").is_file()
        if exists:
            return dict(read_json(path))
        return {}

    @cached_property
    def _objects(self) -> dict[str, list[str]]:
        """The objects of the pictures of val2014, which are asked about."""
        return self._counted(dict(read_json(self.data / _FILES["val2014"])))

    @cached_property
    def _train(self) -> dict[str, list[str]]:
        """The objects of other pictures: those of train2014, where `hqm fetch` made them, and what
        lies in `coco_objects` beside the data.
        """
        return self._counted({**self._read(_ALL), **self._read(_FILES["train2014"])})

    def _counted(self, objects: dict[str, list[str]]) -> dict[str, list[str]]:
        if self.scoring == "paper":
            # only the pictures that the two ways of counting differ in are in this file
            corrected = self._read("objects_paper.json")
            for key in objects.keys() & corrected.keys():
                objects[key] = corrected[key]
        return objects

    @cached_property
    def _counter(self) -> Counter:
        return Counter.from_lists(read_json(self.data / "synonyms.json"), self.scoring)

    def read(self) -> Form:
        """One item for each picture of val2014 whose objects are known."""
        return Form("original", tuple(map(_item, self._objects)))

    @cached_property
    def _known_form(self) -> Form:
        """All pictures whose objects are known, captioned or not."""
        return self.original

    def parallel(self, form: Form) -> Form:
        """The form with the other of the two instructions."""
        instructions = (*self._instructions[1:], *INSTRUCTIONS[::-1])
        # the second instruction of the files, else of POPE's release: whichever the form does not
        # ask
        instruction = next(filter(form.items[0].prompt.__ne__, instructions))
        return form.reworded("parallel", lambda _: instruction, "coco_chair.instruction")

    def mentioned(self, caption: str) -> list[str]:
        """The COCO objects that a caption mentions, in order and with repeats."""
        return self._counter.mentioned(caption)

    def score(self, item: Item, response: Response) -> Verdict:
        """The tally of one caption."""
        return chair_tally(self.mentioned(response.text), self._present(item), response.text)

    def _present(self, item: Item) -> Sequence[str]:
        if item.id in self._objects:
            return self._objects[item.id]
        return self._train[item.id]

    def analyses(self, answers: Sequence[ScoredAnswer]) -> Iterable[Analysis]:
        """Which objects are made up, by COCO's supercategories, and beside a person."""

        def invented_objects(answer: ScoredAnswer) -> list[str]:
            if not answer.tally["hallucinated"]:
                return []
            present = set(self._present(answer.item))
            return [name for name in self.mentioned(answer.text) if name not in present]

        def has_person(answer: ScoredAnswer) -> bool:
            return "person" in self._present(answer.item)

        return made_up_objects(
            answers,
            invented_objects,
            has_person,
            "person".__eq__,
            lambda name: CATEGORY.get(name, "other"),
        )

    def read_answers(self, path: Path, form: Form) -> tuple[Form, Mapping[str, Response]]:
        """Records with `image_id` and `text` (or `caption`); only the pictures that the file has
        are scored.
        """
        responses: dict[str, Response] = {}
        training_items: dict[str, Item] = {}
        for location, record in located_records(path):
            # COCO's file name, or the number alone, with or without its zeros.
            key = _NAME.sub(r"\1", str(required_field(record, "image_id", location)))
            if key not in form.by_id:
                if key not in self._train:
                    # Without its objects every mention would be a hallucination.
                    raise AnswerError(
                        f"the objects of picture {key} are not known",
                        location=location,
                        remedy="objects.json lists those that are.",
                    )
                training_items[key] = replace(
                    _item(key, "train2014"), prompt=form.items[0].prompt, rule=form.items[0].rule
                )
            if key in responses:
                raise AnswerError(
                    f"picture {key} is captioned twice",
                    location=location,
                    remedy="Keep one caption for each picture.",
                )
            responses[key] = released_answer(record, ("caption", "text"), location)
        answered_items = form.restrict_to(responses).items
        return replace(form, items=(*answered_items, *training_items.values())), responses

    def recordings(self, path: Path) -> Sequence[Recording] | None:
        """POPE's caption files, `Instruction1_<model>.json` and `Instruction2_<model>.json`; else
        files of captions, named after the respondent, whose records name the instruction.
        """
        if not path.is_dir():
            return self._captions([path])
        forms = {"1": "original", "2": "parallel"}
        files = files_in(path)
        recordings = []
        for file in files:
            if match := _CAPTIONS.fullmatch(file.name):
                _, answers = self.read_answers(file, self._known_form)
                recordings.append(Recording(match[2], forms[match[1]], 0, answers, file.name))
        self._keep_captioned(recordings)
        return recordings or self._captions(files)

    def _joined(self, recordings: Sequence[Recording]) -> Sequence[Recording]:
        """A system's captions of several samples of pictures as one recording, with those pictures
        that every system captioned; a picture of two samples has its first caption.
        """
        systems: dict[tuple[str, str], Recording] = {}
        for recording in recordings:
            name = _SAMPLE.sub("", recording.respondent)
            earlier = systems.get((name, recording.form))
            # A system that captioned other samples is compared over the pictures in common.
            if earlier is not None:
                # the first caption of a picture goes before later ones
                answers = {**recording.answers, **earlier.answers}
                recording = replace(
                    recording, answers=answers, source=f"{earlier.source}, {recording.source}"
                )
            systems[name, recording.form] = replace(recording, respondent=name)
        if len(systems) == len(recordings):
            return recordings
        captioned = list(map(frozenset, map(attrgetter("answers"), systems.values())))
        common = frozenset.intersection(*captioned)
        if not common:
            return list(systems.values())
        self._not_by_all = sorted(frozenset.union(*captioned) - common)

        def with_common_pictures(recording: Recording) -> Recording:
            answers = {key: answer for key, answer in recording.answers.items() if key in common}
            return replace(recording, answers=answers)

        return list(map(with_common_pictures, systems.values()))

    def _keep_captioned(self, recordings: Sequence[Recording]) -> None:
        """Leave in the original form the pictures that somebody captioned: the others were not
        asked about.
        """
        # several calls add up: each file of captions is read by itself
        self._captioned = self._captioned.union(*map(attrgetter("answers"), recordings))
        if self._captioned:
            self.original = self._known_form.restrict_to(self._captioned)

    def _captions(self, files: Sequence[Path]) -> Sequence[Recording] | None:
        """Captions of any pictures of COCO: the first instruction that the files name is the
        wording of the original form, the second that of the parallel one; files that name none are
        taken for the first.
        """
        recordings = []
        for file in files:
            instruction = _instruction(file)
            if instruction is None:
                continue
            instruction_index = 0
            if instruction:
                self._instructions = tuple(dict.fromkeys((*self._instructions, instruction)))
                instruction_index = self._instructions.index(instruction)
            if instruction_index > 1:
                # A benchmark has two forms here: the original, and the parallel one.
                raise AnswerError(
                    f"a third instruction is {instruction!r:.80}",
                    location=str(file),
                    remedy="Bring captions of at most two instructions.",
                )
            form, answers = self.read_answers(file, self._known_form)
            items = tuple({**self._known_form.by_id, **form.by_id}.values())
            if self._instructions:
                items = tuple(replace(item, prompt=self._instructions[0]) for item in items)
            self._known_form = Form("original", items)
            name = ("original", "parallel")[instruction_index]
            recordings.append(
                Recording(file.name.partition(".json")[0], name, 0, answers, file.name)
            )
        joined = self._joined(recordings)
        self._keep_captioned(joined)
        return joined or None

    def check(self, form: Form) -> Iterable[Finding]:
        """The oddities of the lists."""
        lists: dict[str, dict[str, str]] = read_json(self.data / "synonyms.json")
        yield from finding(
            "unreachable-synonym",
            "{n} synonyms begin with a space and never match in the official scoring",
            [k for k in lists["inverse"] if k != k.strip()],
        )
        names = set(lists["inverse"].values()) - {""}
        yield Finding(
            "objects",
            f"{len(names)} COCO objects, {len(lists['inverse'])} words for them, {len(form)}"
            " pictures",
            len(names),
        )
        yield from finding(
            "partly-captioned",
            "{n} pictures are left out: not every system captioned them",
            self._not_by_all,
        )
        yield from finding(
            "no-object",
            "{n} pictures have no COCO object: every mention is a hallucination",
            [k for k, v in self._objects.items() if not v],
        )
        yield from finding(
            "object-never-there",
            "{n} objects occur in no picture",
            sorted(names.difference(*self._objects.values())),
        )
        if digest({key: name for key, name in lists["inverse"].items() if key}) != _LIST:
            yield Finding("other-synonyms", "the list of synonyms is not the one of the release", 1)
