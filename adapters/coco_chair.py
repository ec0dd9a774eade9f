"""CHAIR on COCO: of the COCO objects that a caption mentions, the share that is not in the picture.

Release: LisaAnne/Hallucination. Words are brought to the singular and known pairs ("hot dog", "baby bear") are joined; a word
in the list of synonyms then counts as a mention of its COCO object, and repeats count. The true objects of a picture are those
of its segmentation and of its human captions. Recall and length are reported beside CHAIRi and CHAIRs, as later users of the
metric do. The numbers are the shares that the release saves, not the percentages that it prints.

Official and paper: two entries of the release's list begin with a space (" motor bike", " cheesecake") and never match, and
the release's `pattern.en` makes "bu" of "bus", "airbu" of "airbus", "ty" of "ties", so these mentions are lost (`official`);
`paper` counts them. Published tables of CHAIR come from the release's script, so `official` is what compares with them. The
singular comes from lemminflect, because pattern.en can no longer be installed; `_OTHERWISE` lists where the two differ on
words of the list and on their plurals.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from hqm import (
    CHAIR,
    AnswerError,
    Benchmark,
    Finding,
    Form,
    Item,
    Metric,
    Recording,
    Response,
    Verdict,
    chair_tally,
    finding,
    read_json,
    read_records,
    take,
)

INSTRUCTIONS = ("Provide a brief description of the given image.", "Generate a short caption of the image.")
"""The two instructions of the recorded captions in POPE's release: the original and the parallel form."""
_CAPTIONS = re.compile(r"Instruction([12])_(.+)\.jsonl?$")
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
# what follows an apostrophe is cut off: "dog's" is a dog, and "don't" is not a noun
_TAIL = re.compile(r"['’](?:s|t|re|ve|ll|d|m)\b")
# what the rules of pattern.en make of these words (run in their port, textblob 0.20.1, over the list and its plurals)
_OTHERWISE = {
    "bus": "bu", "airbus": "airbu", "minibus": "minibu", "airbuses": "bus", "busses": "buss", "mini-busses": "mini-buss",
    "minibusses": "minibuss", "canoes": "cano", "magpies": "magpy", "pocket-knives": "pocket-knife", "taxies": "taxy",
    "thieves": "thieve", "ties": "ty",
}  # fmt: skip


@lru_cache(maxsize=65536)
def _singular(word: str) -> tuple[str, ...]:
    from lemminflect import getLemma

    return tuple(getLemma(word, "NOUN"))


class CocoChair(Benchmark):
    """Captions of COCO pictures."""

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """CHAIRi, CHAIRs, recall and length."""
        return CHAIR

    @cached_property
    def _objects(self) -> dict[str, list[str]]:
        return dict(read_json(self.data / "objects.json"))

    @cached_property
    def _words(self) -> tuple[dict[str, str], dict[str, str]]:
        """Word -> COCO object, and pair of words -> the word that replaces it."""
        lists = read_json(self.data / "synonyms.json")
        single = {
            key.strip() if self.scoring == "paper" else key: name
            for key, name in lists["inverse"].items()
            if key.strip()
        }
        return single, dict(lists["double"])

    def read(self) -> Form:
        """One item for each picture whose objects are known."""
        pictures = ((key, f"COCO_val2014_{int(key):012}.jpg") for key in self._objects)
        return Form(
            "original",
            tuple(
                Item(key, INSTRUCTIONS[0], "caption", None, image, "existence", "", image) for key, image in pictures
            ),
        )

    def parallel(self, form: Form) -> Form:
        """The form with the other of the two instructions."""
        return Form(
            "parallel",
            tuple(replace(item, prompt=INSTRUCTIONS[1], rule="coco_chair.instruction") for item in form.items),
        )

    def mentioned(self, caption: str) -> list[str]:
        """The COCO objects that a caption mentions, in order and with repeats."""
        single, double = self._words
        words = [self._base(word) for word in _WORD.findall(_TAIL.sub("", caption.lower()))]
        joined, i = [], 0
        while i < len(words):
            pair = " ".join(words[i : i + 2])
            joined.append(double.get(pair, words[i]))
            i += 2 if pair in double else 1
        if "toilet" in joined and "seat" in joined:
            joined = [word for word in joined if word != "seat"]
        return [single[word] for word in joined if word in single]

    def _base(self, word: str) -> str:
        single, _ = self._words
        if self.scoring == "official" and word in _OTHERWISE:
            return _OTHERWISE[word]
        if word in single:
            return word
        forms = _singular(word)
        return next((form for form in forms if form in single), forms[0] if forms else word)

    def score(self, item: Item, response: Response) -> Verdict:
        """The tally of one caption."""
        return chair_tally(self.mentioned(response.text), self._objects[item.id], response.text)

    def read_answers(self, path: Path, form: Form) -> tuple[Form, Mapping[str, Response]]:
        """Records with `image_id` and `text` (or `caption`); only the pictures that the file has are scored."""
        given: dict[str, Response] = {}
        for i, record in enumerate(read_records(path), 1):
            place = f"{path}: record {i}"
            key = re.sub(r"^(?:COCO_val2014_)?0*(\d+)(?:\.jpg)?$", r"\1", str(take(record, "image_id", place)))
            if key not in form.by_id:
                what = f"the objects of picture {key} are not known"
                raise AnswerError(what, place=place, remedy="objects.json lists those that are.")
            if key in given:
                what = f"picture {key} is captioned twice"
                raise AnswerError(what, place=place, remedy="Keep one caption for each picture.")
            text = record["caption"] if "caption" in record else take(record, "text", place)
            given[key] = Response("" if text is None else str(text))
        return replace(form, items=tuple(item for item in form.items if item.id in given)), given

    def recordings(self, path: Path) -> Sequence[Recording] | None:
        """POPE's caption files, `Instruction1_<model>.json` and `Instruction2_<model>.json`."""
        if not path.is_dir():
            return None
        named = [(match, file) for file in sorted(path.iterdir()) if (match := _CAPTIONS.fullmatch(file.name))]
        forms = {"1": "original", "2": "parallel"}
        return [
            Recording(m[2], forms[m[1]], 0, self.read_answers(f, self.original)[1], f.name) for m, f in named
        ] or None

    def check(self, form: Form) -> Iterable[Finding]:
        """The oddities of the lists."""
        lists: dict[str, Any] = read_json(self.data / "synonyms.json")
        sentence = "{n} synonyms begin with a space and never match in the official scoring"
        yield from finding("unreachable-synonym", sentence, [k for k in lists["inverse"] if k != k.strip()])
        names = set(lists["inverse"].values()) - {""}
        sentence = f"{len(names)} COCO objects, {len(lists['inverse'])} words for them, {len(form)} pictures"
        yield Finding("objects", sentence, len(names))
        sentence = "{n} pictures have no COCO object: every mention is a hallucination"
        yield from finding("no-object", sentence, [k for k, v in self._objects.items() if not v])
        unused = sorted(names - {name for objects in self._objects.values() for name in objects})
        yield from finding("object-never-there", "{n} objects occur in no picture", unused)
