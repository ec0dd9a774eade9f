"""GAVIE: 1,000 instructions about Visual Genome pictures; a judge marks each answer from 0 to 10
for relevancy and accuracy.

Release: FuxiaoLiu/LRV-Instruction. It has the instructions, a script that writes prompts, and one
prompt with five answers; it calls no judge and reads no reply. There are no right answers and no
types: the judge is given the regions of the picture (captions with boxes, `vg_annotation.json`) and
marks the answers. Where that file is missing, the judge is shown the picture. There are two modes:
`single` judges one answer in a call; `joint` judges the answers of all respondents to an
instruction in one call, as the release's prompt does. Accuracy is the hallucination score and the
score of the item. Questions about the same picture share a cluster.

Official and paper. The release defines no scoring of replies, so both read them alike. Under the
heading Relevancy and under the heading Accuracy, they read the number after "score of (the) answer
N" (8, 8.5, 8/10). A missing accuracy, two different ones, or one outside 0 to 10 leave the answer
unscored; an answer without a relevancy is left out of the mean relevancy only. The two differ in
the prompt: the release's script writes the width of a box where its height belongs (`official`);
`paper` writes the height. The script also asks for a field `instruction`, which its file calls
`question`, and gives all questions about a picture the same file name.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import TypedDict

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
    read_records,
)
from hqm.benchmark.findings import asking
from hqm.benchmark.judge_api import fill
from hqm.benchmark.released_files import ItemQueue, either_field, first_file
from hqm.files.records import located_records, read_json, read_text, required_field
from hqm.imports.row import Replies, released_answer


class _Region(TypedDict):
    """What the annotation says of a part of a picture."""

    bbox: list[float]
    caption: str


_TEXTS = ("answer", "response", "text", "prediction", "output", "model_answer")
_HEADING = re.compile(
    r"^\W*(relevancy|relevance|accuracy)\b\W*?(?:$|:[^\S\n]*)", re.IGNORECASE | re.MULTILINE
)
_NUMBER = r"(-?\d+(?:\.\d+)?)(?:\s*/\s*10)?"
_SCORE = re.compile(
    rf"(?:scores?\s+(?:of|for)\s+)?(?:the\s+)?answer\s*(\d+)\W*?{_NUMBER}(?![\w/])", re.IGNORECASE
)
_LONE_SCORE = re.compile(rf"^\W*(?:score\W*)?{_NUMBER}(?![\w/])", re.IGNORECASE)
_BOX = re.compile(r"X:\s*\d+")


class Gavie(Benchmark):
    """The 1,000 instructions of GAVIE."""

    modes = ("single", "joint")
    roles = ("judge",)

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """Mean accuracy and mean relevancy."""
        return (
            Metric(
                "accuracy",
                mean_of("accuracy"),
                about="Mean mark for what is true of the picture, 0 to 10.",
                scale=(0.0, 10.0),
            ),
            Metric(
                "relevancy",
                mean_of("relevancy", "n_relevancy"),
                about="Mean mark for doing what is asked, 0 to 10.",
                scale=(0.0, 10.0),
            ),
        )

    def read(self) -> Form:
        """`evaluation_set.json`; the ids are the positions in the file, from 1."""
        path = self.data / "evaluation_set.json"
        items: list[Item] = []
        for location, record in located_records(path):
            picture = str(required_field(record, "image_id", location))
            items.append(
                Item(
                    str(len(items) + 1),
                    _question(record, location),
                    "vqa",
                    None,
                    f"{picture}.jpg",
                    cluster=picture,
                    meta={"picture": picture},
                )
            )
        return Form("original", tuple(items))

    # --- judging ---

    @cached_property
    def regions(self) -> Mapping[str, Sequence[_Region]]:
        """Picture -> its regions; empty if the annotation is not there."""
        path = self.data / "vg_annotation.json"
        if path.is_file():
            return dict(read_json(path))
        return {}

    async def judge(self, item: Item, response: Response, ask: AskJudge) -> Verdict:
        """The marks of one answer."""
        return (await self.judge_together(item, {"": response}, ask))[""]

    async def judge_together(
        self, item: Item, responses: Mapping[str, Response], ask: AskJudge
    ) -> Mapping[str, Verdict]:
        """The marks of several answers, given in one call; in the mode `single`, in one call for
        each.
        """
        # In the mode `single` every answer is a question of its own to the judge.
        if len(responses) > 1 and not self.jointly:
            return await super().judge_together(item, responses, ask)
        verdicts: dict[str, Verdict] = {}
        answers: dict[str, str] = {}
        for name, response in responses.items():
            verdicts[name] = Verdict.unscored(response.state, response.reason)
            # An empty answer is judged too: it is something that the model said.
            if response.state not in ("error", "missing"):
                answers[name] = response.text
        if answers:
            # without regions the judge has nothing else to go by
            image = None
            if item.meta["picture"] not in self.regions:
                image = item.image
            prompt = self._judge_prompt(item, list(answers.values()))
            reply = await ask("judge", prompt, image)
            relevancies = read_marks(reply, "relevancy", len(answers))
            accuracies = read_marks(reply, "accuracy", len(answers))
            verdicts |= zip(answers, map(_verdict, relevancies, accuracies), strict=True)
        return verdicts

    def _judge_prompt(self, item: Item, answers: Sequence[str]) -> str:
        numbers = range(1, len(answers) + 1)
        template = self.prompt("rating")
        regions = self._regions_of(item)
        if self.prompts == "hqm" and regions:
            # Our prompt says what the numbers of a box are; the release's leaves it to the judge.
            explained = (
                "You do not see it, but you know what is where (left-top corner X, Y, then size);"
                " boxes that overlap"
            )
            regions = f"{explained} much may show one thing:\n\n{regions}"
        elif self.prompts == "hqm":
            regions = "The picture is attached."
        lines = "\n".join(f"score of the answer{n}:\nreason:" for n in numbers)
        form = f"Relevancy:\n{lines}\n\nAccuracy:\n{lines}"
        listed = "\n".join(f"Answer{n}: {text}" for n, text in zip(numbers, answers, strict=True))
        return fill(template, regions=regions, question=item.prompt, answers=listed, format=form)

    def _regions_of(self, item: Item) -> str:
        lines = []
        for region in self.regions.get(item.meta["picture"], ()):
            x, y, width, height = region["bbox"][:4]
            if self.scoring == "official":
                # the release's script writes the width of a box where its height belongs
                height = width
            lines.append(f"{region['caption']} X:{x} Y:{y} Width:{width} Height:{height}")
        return "\n".join(lines)

    def official_prompt(self, name: str) -> str:
        """The release's prompt: its example, with places for the regions, the instruction and the
        answers.
        """
        path = first_file(self.data / "GAVIE.txt", self.data / "prompts" / "GAVIE.txt")
        if path is None or not self.regions:
            raise DataError(
                "the release's prompt needs"
                f" {'GAVIE.txt' if path is None else 'vg_annotation.json'}, which is not there",
                location=str(self.data),
                remedy="Get it (`hqm fetch gavie` says how), or use --set prompts=hqm.",
            )
        cut = re.fullmatch(
            r"(?P<head>[^\n]+\n)\n.*?\n(?P<here>Here is the"
            r" instruction[^\n]*\n)[^\n]+\n.*?Answer1:.*?"
            r"(?P<marks>\nSuppose .*?Output format:\s*\n).*",
            read_text(path),
            re.DOTALL,
        )
        if cut is None:
            raise DataError(
                "it is not the release's prompt",
                location=str(path),
                remedy="Take prompts/GAVIE.txt.",
            )
        # The release has one prompt with an example filled in: its parts around the example are the
        # template.
        return (
            f"{cut['head']}\n{{regions}}\n\n{cut['here']}{{question}}\n\n{{answers}}\n\n"
            f"{cut['marks']}\n{{format}}"
        )

    # --- recorded files ---

    def read_answers(self, path: Path, form: Form) -> tuple[Form, Mapping[str, Response]]:
        """Records of the evaluation set with an answer, joined by picture and question; or HQM's
        own format.
        """
        records = read_records(path)
        if records and "image_id" not in records[0]:
            return super().read_answers(path, form)
        # a form may be reworded; the release's files always ask the original question
        # A question may stand twice about one picture: its rows are taken in their order.
        queue = ItemQueue(
            form.items,
            lambda i: (i.meta["picture"], " ".join(self.original.by_id[i.id].prompt.split())),
        )
        answers: dict[str, Response] = {}
        for location, record in located_records(path):
            question = " ".join(_question(record, location).split())
            key = queue.take(
                (str(required_field(record, "image_id", location)), question), location
            )
            answers[key] = released_answer(record, (*_TEXTS, "answer"), location)
        return form, answers

    def read_replies(self, path: Path, form: Form) -> Mapping[str, Replies]:
        """A JSON list of replies in the order of the evaluation set, or HQM's own format (the
        release saves none).
        """
        saved = read_json(path) if path.suffix == ".json" else None
        # The release saves no replies: a plain list in the order of the questions is the nearest to
        # one.
        if not isinstance(saved, list) or not all(isinstance(reply, str) for reply in saved):
            return super().read_replies(path, form)
        if len(saved) != len(self.original):
            raise AnswerError(
                f"{len(saved)} replies for {len(self.original)} questions",
                location=str(path),
                remedy="Write one reply for each question, and an empty text where there is none.",
            )
        return {
            item.id: {"judge": [text]}
            for item, text in zip(self.original.items, saved, strict=True)
        }

    # --- oddities ---

    def check(self, form: Form) -> Iterable[Finding]:
        """The oddities of the evaluation set."""
        items = form.items
        yield Finding(
            "no-target",
            "no question has a right answer or a type: everything rests on the judge",
            len(items),
        )
        pictures = Counter(map(attrgetter("cluster"), items))
        yield Finding(
            "shared-pictures",
            f"{len(items)} questions are about {len(pictures)} pictures,"
            f" {min(pictures.values())} to {max(pictures.values())} each: resample by picture",
            len(pictures),
        )
        wordings = len(set(map(attrgetter("prompt"), items)))
        yield Finding("wordings", f"{wordings} of {len(items)} questions are distinct", wordings)
        yield from finding(
            "coordinates",
            "{n} questions give the place of a box in numbers",
            asking(items, _BOX),
        )
        yield from finding(
            "full-width",
            "{n} questions end in a full-width question mark",
            asking(items, "？"),
        )
        yield from finding(
            "stray-mark",
            "{n} questions end in a stray question mark",
            asking(items, r"[?.]\s*\?$"),
        )
        yield from finding(
            "absent-options",
            "{n} questions ask to choose among options that they do not name",
            [
                item
                for item in asking(items, r"\A(?:Choose|Select) the \w+ ")
                if not re.search(r":|\ba\)", item.prompt)
            ],
        )
        if not self.regions:
            yield Finding(
                "no-regions",
                "vg_annotation.json is not there: the judge is shown the picture instead of its"
                " regions",
                len(pictures),
            )


def _question(record: Mapping[str, object], location: str) -> str:
    """The question of a record, which the release's file calls `question` and its script
    `instruction`.
    """
    return str(either_field(record, "instruction", "question", location))


def read_marks(reply: str, heading: str, count: int) -> list[tuple[float | None, str]]:
    """The marks of all answers under one heading, each with the reason if there is none.

    >>> relevancy = "Relevancy:\\nscore of the answer1: 9\\nreason: ok"
    >>> text = f"{relevancy}\\nAccuracy:\\nscore of the answer1: 4/10\\nreason: no cat"
    >>> read_marks(text, "relevancy", 1), read_marks(text, "accuracy", 2)[1]
    ([(9.0, '')], (None, 'the reply has no accuracy of answer 2'))
    """
    # Each heading owns the text up to the next one, in whichever order the judge writes them.
    marks = list(_HEADING.finditer(reply))
    ends = [*map(re.Match.start, marks[1:]), len(reply)]
    read: dict[int, set[float]] = defaultdict(set)
    for mark, end in zip(marks, ends, strict=False):
        if mark[1].lower().removesuffix("ncy").removesuffix("nce") != heading.lower().removesuffix(
            "ncy"
        ):
            continue
        block = reply[mark.end() : end]
        for number, score in _SCORE.findall(block):
            # a set: a mark that is only repeated contradicts nothing
            read[int(number)].add(float(score))
        # a judge that is asked about one answer may give the number without naming it
        if count == 1 and not read and (lone_score := _LONE_SCORE.match(block)):
            read[1].add(float(lone_score[1]))
    return [_mark(read.get(n, set()), heading, n) for n in range(1, count + 1)]


def _mark(scores: set[float], heading: str, number: int) -> tuple[float | None, str]:
    if len(scores) != 1:
        # Two different marks of one answer decide nothing; a choice between them would be ours.
        return (
            None,
            f"the reply has {len(scores) or 'no'} {heading} of answer {number}",
        )
    score = next(iter(scores))
    if 0 <= score <= 10:
        return (score, "")
    return (None, f"the {heading} of answer {number} is {score:g}, not 0 to 10")


def _verdict(relevancy: tuple[float | None, str], accuracy: tuple[float | None, str]) -> Verdict:
    """The item score is the accuracy; a relevancy that cannot be read is left out of its own
    mean.
    """
    if accuracy[0] is None:
        return Verdict.unscored("unparsed", accuracy[1])
    tally = {"accuracy": accuracy[0], "n": 1.0}
    if relevancy[0] is not None:
        tally |= {"relevancy": relevancy[0], "n_relevancy": 1.0}
    return Verdict(accuracy[0], tally, "ok", f"{accuracy[0]:g}", relevancy[1])
