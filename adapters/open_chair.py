"""OpenCHAIR: captions of generated pictures; each object they mention is judged against the
picture's true caption.

Release: assafbk/mocha_code (scorer) and the dataset moranyanuka/OpenCHAIR (pictures and true
captions; it has 2,000 rows, a copy states 4,863, so the version of the files is part of what was
measured). The dataset is read as parquet, CSV or JSON lines with the true caption under `text`,
`gt_caption` or `caption`. Where only the release's example of generated captions is there, its rows
are the items, without true captions: captions can then be collected but not judged.

The objects of a caption are its concrete nouns, without proper nouns. For each of them a judge is
asked one question and says yes, no or unsure. OCH is no / (yes + no) over all objects of all
captions. `unsure` and `errors` count the other replies, and `och_caption` is the mean over
captions. Answers are a CSV with `generated_caption`, joined to the items by the row only. The
instruction is HQM's; the release prompts a captioner with the first words of its caption.

Official and paper. `official`: repeats of an object count each time (but the judge is asked about
each object once); painting, drawing, photo, picture, portrait and photograph are skipped; without
any yes or any no the release stops with an error, and the metric is null here. `paper`: an object
counts once in a caption, as in the release's first versions, and where all replies agree the share
is 0 or 1. The nouns come from named parts (`--set words=...`): `official` is spaCy's en_core_web_sm
and the table of Brysbaert et al. above 4.5; `offline`, the default, is HanTa, lemminflect and our
own rule for what is concrete, which keeps other words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import filterfalse
from operator import attrgetter
from pathlib import Path

from hqm import (
    AnswerError,
    AskJudge,
    Benchmark,
    DataError,
    Finding,
    Form,
    Item,
    Metric,
    Response,
    Verdict,
    finding,
    mean_of,
    ratio,
    read_records,
)
from hqm.benchmark.judge_api import fill
from hqm.benchmark.released_files import files_in
from hqm.files.parquet import pyarrow_library
from hqm.files.records import located_records, required_field
from hqm.imports.match import contradict
from hqm.imports.row import released_answer
from hqm.judges.procedure import template_in
from hqm.scoring.metrics import Array, Tally
from hqm.scoring.words.interfaces import Recipe

INSTRUCTION = "Describe the image."
IGNORED = frozenset("painting drawing photo picture portrait photograph".split())
"""Words that name the picture itself, not an object in it."""
_EXAMPLE = "example_gen_file.csv"
_TRUTHS = ("text", "gt_caption", "ground_truth", "caption")
_GENERATED = ("generated_caption", "generated", "prediction", "response", "answer")
# Only these marks are taken off, as in the release: "yes!" is an error.
_MARKS = str.maketrans({",": "", ".": "", ";": "", "\n": " "})


def read_reply(reply: str) -> str:
    """The judge's verdict on an object: `yes`, `no`, `unsure` or `error`; as in the release, yes
    wins over no.

    >>> read_reply("Yes."), read_reply("It does not."), read_reply("unsure"), read_reply("maybe")
    ('yes', 'no', 'unsure', 'error')
    """
    words = reply.lower().translate(_MARKS).split(" ")
    if "yes" in words:
        return "yes"
    if "no" in words or "not" in words:
        return "no"
    if "unsure" in words:
        return "unsure"
    return "error"


def _first_column(record: Container[str], names: Iterable[str]) -> str | None:
    """The first of these names that a record has."""
    return next((name for name in names if name in record), None)


def _och(t: Tally) -> Array:
    # the release looks up both counts by name and stops with an error where one is missing
    has_both_counts = (t["no"] > 0) * (t["yes"] > 0)
    return ratio(t["no"] * has_both_counts, (t["no"] + t["yes"]) * has_both_counts)


def _count(key: str) -> Callable[[Tally], Array]:
    return lambda t: t[key]


def _metrics(official: bool) -> tuple[Metric, ...]:
    return (
        Metric(
            "och",
            _och if official else lambda t: ratio(t["no"], t["no"] + t["yes"]),
            "lower",
            about="Of the objects that the judge decided on, the share that is not there.",
            scale=(0.0, 1.0),
        ),
        Metric(
            "och_caption",
            mean_of("share", "decided"),
            "lower",
            about=(
                "The same share for each caption, averaged over the captions with a decided object."
            ),
            scale=(0.0, 1.0),
        ),
        Metric(
            "captions_hallucinated",
            mean_of("any_no", "decided"),
            "lower",
            about="Of the captions with a decided object, the share with one that is not there.",
            scale=(0.0, 1.0),
        ),
        Metric(
            "objects",
            mean_of("objects"),
            "neither",
            about="Mean number of concrete objects a caption.",
            scale=(0.0, None),
        ),
        Metric(
            "unsure",
            _count("unsure"),
            "neither",
            about="Objects on which the judge was unsure.",
            scale=(0.0, None),
        ),
        Metric(
            "errors",
            _count("error"),
            "neither",
            about="Objects for which the judge's reply could not be read.",
            scale=(0.0, None),
        ),
        Metric(
            "ignored",
            _count("ignored"),
            "neither",
            about="Mentions of the picture itself, passed over.",
            scale=(0.0, None),
        ),
        Metric(
            "length",
            mean_of("words"),
            "neither",
            about="Mean length of a caption in words.",
            scale=(0.0, None),
        ),
    )


class OpenChair(Benchmark):
    """Captions judged object by object."""

    roles = ("judge",)

    recipes = {  # noqa: RUF012
        "offline": Recipe(nouns="hanta", concreteness="rule"),
        "official": Recipe(nouns="en_core_web_sm", concreteness="brysbaert"),
    }

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """OCH over all objects and by caption, and what was not decided."""
        return _metrics(self.scoring == "official")

    # --- the data ---

    @property
    def _shards(self) -> list[Path]:
        return sorted(self.data.rglob("*.parquet"))

    def _rows(self) -> Iterator[tuple[str, str | None, str]]:
        """The picture and the true caption of every row, with its place."""
        if self._shards:
            pq = pyarrow_library().parquet
            row = 0
            for shard in self._shards:
                names = pq.read_schema(shard).names
                column = _first_column(names, _TRUTHS)
                if column is None:
                    raise DataError(
                        "it has no column of true captions",
                        location=str(shard),
                        remedy=f"True captions are called {' or '.join(_TRUTHS)}.",
                    )
                for text in pq.read_table(shard, columns=[column])[column].to_pylist():
                    row += 1
                    # The number of a row is the name of its picture, counted on over the files.
                    yield f"{row:05}.png", str(text), f"{shard}: row {row}"
            return
        for path in files_in(self.data, ".csv", ".jsonl", ".json"):
            records = [] if path.name == _EXAMPLE else read_records(path)
            column = _first_column(next(iter(records), {}), _TRUTHS)
            if column is not None:
                for i, (location, record) in enumerate(located_records(path), 1):
                    yield (
                        str(record.get("image") or f"{i:05}.png"),
                        str(required_field(record, column, location)),
                        location,
                    )
                return
        for i, (location, _) in enumerate(located_records(self.data / _EXAMPLE), 1):
            yield f"{i:05}.png", None, location

    def read(self) -> Form:
        """One item for each row; the id is the number of the row, by which answers are joined."""
        items = []
        for i, (image, truth, _) in enumerate(self._rows(), 1):
            item = Item(str(i), INSTRUCTION, "caption", truth, image, "existence", "", image)
            items.append(item)
        return Form("original", tuple(items))

    def prepare_images(self, form: Form) -> None:
        """Unpack the pictures from the dataset's parquet files."""
        missing = {
            item.image for item in form.items if not (self.images / str(item.image)).is_file()
        }
        if not missing or not self._shards:
            return
        pq = pyarrow_library().parquet
        row = 0
        try:
            self.images.mkdir(parents=True, exist_ok=True)
            for shard in self._shards:
                for batch in pq.ParquetFile(shard).iter_batches(64, columns=["image"]):
                    for cell in batch.column(0).to_pylist():
                        row += 1
                        if f"{row:05}.png" in missing:
                            (self.images / f"{row:05}.png").write_bytes(cell["bytes"])
        except OSError as error:
            raise DataError(
                f"the pictures cannot be unpacked: {error.strerror}",
                location=str(self.images),
                remedy="Name a folder with --images.",
            ) from error

    def read_answers(self, path: Path, form: Form) -> tuple[Form, Mapping[str, Response]]:
        """A file with a generated caption in each row, as many rows as the benchmark has; or HQM's
        own format.
        """
        records = read_records(path)
        column = _first_column(next(iter(records), {}), _GENERATED)
        # with ids of their own, rows are in HQM's format and need no order
        if column is None or records[0].keys() & {"id", "item"}:
            return super().read_answers(path, form)
        if len(records) != len(form):
            raise AnswerError(
                f"it has {len(records)} captions for {len(form)} pictures",
                location=str(path),
                remedy=(
                    "Captions are joined to pictures by their row: give one caption for each row."
                ),
            )
        rows = [
            (f"record {i}", record, item)
            for i, (record, item) in enumerate(zip(records, form.items, strict=True), 1)
        ]
        truth = _first_column(records[0].keys() - {column}, _TRUTHS)
        wrong = []
        for location, record, item in rows:
            stated_truth = truth and record[truth]
            pairs = ((record.get("image"), item.image), (stated_truth, item.target))
            for stated, expected in pairs:
                if stated and expected and str(stated).strip() != str(expected).strip():
                    subject = f"{location} is about {stated!r:.60}"
                    wrong.append(
                        f"{subject}, and row {item.id} of the benchmark about {expected!r:.60}"
                    )
        if wrong:
            contradict(wrong, len(rows), path, "Bring the rows into the order of the benchmark's.")
        return form, {
            item.id: released_answer(record, (column,), location) for location, record, item in rows
        }

    # --- the judge ---

    def objects(self, caption: str) -> list[str]:
        """The concrete objects that a caption mentions, in order and with repeats."""
        if self.words.nouns is None or self.words.concreteness is None:
            raise DataError(
                f"{self.name} was not given all parts of words",
                remedy="Name them with --set words=NAME.",
            )
        nouns = [noun.lemma for noun in self.words.nouns(caption.lower()) if not noun.proper]
        return list(filter(self.words.concreteness, nouns))

    async def judge(self, item: Item, response: Response, ask: AskJudge) -> Verdict:
        """Ask the judge one question about each distinct object."""
        if item.target is None:
            return Verdict.unscored("missing", "the picture's true caption is not there")
        mentioned = self.objects(response.text)
        # as the release asks: once about each object, however often it stands
        labels = dict.fromkeys(mentioned, "ignored")
        for name in labels:
            if name not in IGNORED:
                prompt = fill(self.prompt("object"), caption=item.target, object=name)
                labels[name] = read_reply(await ask("judge", prompt))
        counted = mentioned if self.scoring == "official" else list(labels)
        counts = Counter(labels[name] for name in counted)
        decided = counts["yes"] + counts["no"]
        # an answer with neither yes nor no adds 0 to `decided` too, and so is left out of the mean
        share = counts["no"] / max(decided, 1)
        tally = {key: float(counts[key]) for key in ("yes", "no", "unsure", "error", "ignored")}
        tally |= {"objects": float(len(counted)), "share": share, "decided": float(decided > 0)}
        tally |= {
            "any_no": float(counts["no"] > 0),
            "words": float(len(response.text.split())),
            "n": 1.0,
        }
        if counts["error"] and not decided and not counts["unsure"]:
            return Verdict(None, tally, "unparsed", reason="no reply of the judge could be read")
        return Verdict(
            1 - share,
            tally,
            "ok",
            ", ".join(name for name, label in labels.items() if label == "no"),
        )

    def official_prompt(self, name: str) -> str:
        """The question in the release's `utils.py`, with our names for its variables."""
        placeholders = {"cap": "caption", "obj": "object"}
        return template_in(self.data / "utils.py", "_prompt", "make_prompt", placeholders)

    # --- what is odd ---

    def check(self, form: Form) -> Iterable[Finding]:
        """The size of the dataset, and the oddities of the example of generated captions."""
        yield from finding(
            "no-truth",
            "{n} pictures have no true caption: what is said of them cannot be judged",
            list(filterfalse(attrgetter("target"), form.items)),
        )
        # the version of the files is part of what was measured
        if len(form) not in (2000, 4863):
            yield Finding(
                "size",
                f"{len(form)} rows; the dataset has 2,000, and the copy of it that circulates"
                " states 4,863",
                len(form),
            )
        if (self.data / _EXAMPLE).exists():
            records = read_records(self.data / _EXAMPLE)
            texts = [str(record.get("generated_caption", "")) for record in records]
            yield from finding(
                "example-duplicates",
                "{n} captions of the release's example repeat an earlier one",
                # What is left of the counts without one of each: the repetitions.
                list((Counter(texts) - Counter(set(texts))).elements()),
            )
            yield from finding(
                "example-degenerate",
                "{n} captions of the release's example say a word three times",
                [text for text in texts if re.search(r"(?<!\S)(\S+)(?: \1(?!\S)){2}", text)],
            )
