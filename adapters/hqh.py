"""HQH: open questions of eight hallucination types about Visual Genome pictures; a language model
judges each answer.

Release: HQHBench/HQHBench. `HQH.json` is read in any of its shapes: with `image` or `images`, and
with or without a ground truth for existence. An answer file is a copy of it with a field `answer`
(or `answers`, with one entry for each model). Three procedures were released, and each is a mode.
`february2025` (the current one): correct or incorrect, and the number of extra claims that
contradict the picture. `june2024`: with or without hallucination, one answer in a call. `joint`
(July 2024 to February 2025): the same, with all models' answers to an item in one call. The judge
reads a caption and regions of the picture from `image_data.json`. That file no longer comes with
the release; the one of June 2024 describes 925 of the 3,153 pictures. For the other pictures our
prompts say that no description is at hand; the release's prompts cannot be filled, and the answer
is unscored.

Official and paper. `official` reads replies as the released code does. June 2024: `With
hallucination` anywhere, else `Without hallucination`; otherwise the code drops the item (here it is
unscored and counted). Joint: the first `AnswerN` of a line says which answer the line is about; an
answer with two lines counts twice, one without a line is dropped. By mistake, the code keeps one
set of counters for all models and so prints the rate of all models' answers for each model: here
`hallucination_rate` is the model's own rate, and `pooled_rate` is what is printed. A file with
several models' answers is scored as their pool. February 2025: the last line with `Answer:` that
has `Incorrect` or `Correct`, and the last line with `Extra Contradictory Claims: N`. The code asks
again, without limit, until it has read both, even from different replies; here up to five replies
are read, and then the answer is unscored. The rate of a type counts only the main answer, the
overall rate counts the extra claims too. `paper`: both verdicts are read in any case and with
markup around them; a reply that says both is unscored; only one reply is asked for; and the rate of
a type is the overall rate of its items.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import filterfalse, groupby, product, starmap
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

from hqm import (
    AnswerError,
    AskJudge,
    Benchmark,
    Finding,
    Form,
    Item,
    Metric,
    NoReply,
    Recording,
    Response,
    UnreadableReply,
    Verdict,
    build_parallel,
    finding,
    mean_of,
    read_records,
)
from hqm.benchmark.findings import asking
from hqm.benchmark.items import same_question
from hqm.benchmark.judge_api import fill
from hqm.benchmark.released_files import (
    either_field,
    first_file,
    name_placeholders,
    released_file,
    released_form,
)
from hqm.files.records import located_records, read_json, read_text, required_field
from hqm.forms.make_forms import reword_item
from hqm.imports.recordings import ItemAnswers
from hqm.imports.row import Replies, require_choice
from hqm.judges.procedure import template_in
from hqm.scoring.rules import settle
from hqm.types import group_by

TYPES = (
    "action",
    "attribute",
    "comparison",
    "counting",
    "environment",
    "existence",
    "ocr",
    "relation",
)
_TYPES = {"OCR": "ocr", "count": "counting", **dict(zip(TYPES, TYPES, strict=True))}
TRIES = 5
"""How many replies `official` reads where the released code would go on asking without end."""
_NO_DESCRIPTION = "(no description of this picture is at hand)"
_PLACEHOLDERS = ("instruction", "truth", "caption", "details", "answer", "format")
"""The meaning of each `{}` in a released prompt; existence has no `truth`, and only `joint` has a
`format`.
"""
_HALLUCINATION_PHRASE = re.compile(r"\bwith(out)?\b[\s*_]*hallucination", re.IGNORECASE)
_VERDICT = re.compile(r"(?i)(in)?correct\W+(\d+)(?: extra)?(?: claims?)?\.?")
_LINE = re.compile(r"Answer(\d+)")
_EXTRA = re.compile(r"Extra Contradictory Claims: ?(\d+)")
_ANY_EXTRA = re.compile(r"extra contradictory claims\W*(\d+|none|no|zero)\b", re.IGNORECASE)
_ANY_MAIN = re.compile(r"\banswer\b[\s*_]*:[\s*_\[(]*(in)?correct\b", re.IGNORECASE)


def read_binary(reply: str, official: bool) -> bool | None:
    """Whether a reply finds a hallucination; None if it does not say, or (`paper`) says both.

    >>> read_binary("Without hallucination, it fits.", True), read_binary("I cannot tell.", True)
    (False, None)
    """
    if official:
        # `Without hallucination` does not hold this text
        if "With hallucination" in reply:
            return True
        if "Without hallucination" in reply:
            return False
        return None
    # both in one reply, in whatever order, decide nothing
    negations = set(_HALLUCINATION_PHRASE.findall(reply.lower()))
    if len(negations) == 1:
        return "" in negations
    return None


def read_claims(reply: str, official: bool) -> tuple[bool | None, int | None]:
    """Whether the main answer is wrong, and the number of extra contradictory claims; None for what
    the reply lacks.

    >>> read_claims("Answer: Incorrect\\nExtra Contradictory Claims: 2, a hat, a dog", True)
    (True, 2)
    """
    wrong: bool | None = None
    claims: int | None = None
    if not official:
        prefixes = set(_ANY_MAIN.findall(reply.lower()))
        if len(prefixes) == 1:
            wrong = "in" in prefixes
        counts = set(_ANY_EXTRA.findall(reply.lower()))
        if len(counts) == 1:
            count = counts.pop()
            claims = int(count) if count.isdecimal() else 0
        return wrong, claims
    for line in reply.split("\n"):
        if "Answer:" in line and ("Incorrect" in line or "Correct" in line):
            # the last such line counts, as in the release
            wrong = "Incorrect" in line
        if match := _EXTRA.search(line):
            claims = int(match[1])
    return wrong, claims


def read_joint(reply: str, official: bool) -> dict[int, list[bool]]:
    """Number of an answer -> the verdict of each line about it (True: with hallucination).

    >>> read_joint("Answer1: With hallucination, a dog\\nAnswer2: Without hallucination", True)
    {1: [True], 2: [False]}
    """
    readings: dict[int, list[bool]] = {}
    for line in reply.split("\n"):
        # The release goes through a reply line by line, and a line has one answer.
        if official:
            match = _LINE.search(line)
        else:
            match = re.search(r"answer\W*(\d+)", line, re.IGNORECASE)
        verdict = read_binary(line, official)
        if match and verdict is not None:
            readings.setdefault(int(match[1]), []).append(verdict)
    return readings


class Hqh(Benchmark):
    """The questions of HQH, judged by one of three procedures."""

    modes = ("february2025", "june2024", "joint")
    roles = ("judge",)

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """The hallucination rate, overall and by type; main answers and extra claims too where they
        are judged.
        """
        rate = Metric(
            "hallucination_rate",
            mean_of("hallucinated"),
            "lower",
            share=True,
            about="Share of answers that hallucinate.",
        )
        main = Metric(
            "main_rate",
            mean_of("main"),
            "lower",
            share=True,
            about="Share of answers whose main answer is wrong.",
        )
        of_type = rate
        metrics = [rate]
        if self.mode == "february2025":
            metrics += [
                main,
                Metric(
                    "extra_claims",
                    mean_of("extra"),
                    "lower",
                    about="Extra claims an answer that contradict the picture.",
                    scale=(0.0, None),
                ),
            ]
            if self.scoring == "official":
                # the release's rates by type leave out the extra claims, its overall rate does not
                of_type = replace(main, name="hallucination_rate")
        if self.mode == "joint" and self.scoring == "official":
            metrics += [
                Metric(
                    "pooled_rate",
                    mean_of("pooled", "pooled_n"),
                    "lower",
                    about=(
                        "The rate of all models' answers together, which the released code prints"
                        " for each."
                    ),
                    scale=(0.0, 1.0),
                )
            ]
        by_type = starmap(Metric.within, product((of_type, *metrics[1:]), TYPES))
        return (*metrics, *by_type)

    # --- items ---

    def read(self) -> Form:
        """`HQH.json` in any of its shapes."""
        return released_form(self.data / "HQH.json", self._item)

    @staticmethod
    def _item(location: str, record: Mapping[str, object]) -> Item:
        label = str(required_field(record, "type", location))
        require_choice(label, sorted(_TYPES), "type", location)
        if "image" in record:
            image = record["image"]
        else:
            # one of the file's shapes lists pictures: the first is asked about
            image = next(iter(required_field(record, "images", location)), "")
        name = str(image).removeprefix("./").removeprefix("images/")
        return Item(
            str(required_field(record, "id", location)),
            str(required_field(record, "instruction", location)),
            "vqa",
            record.get("ground_truth"),
            name,
            _TYPES[label],
            "",
            name,
            meta={
                "image_id": str(required_field(record, "image_id", location)),
                "label": label,
            },
        )

    def parallel(self, form: Form) -> Form:
        """Every question in other words; what it asks about stays as it is."""
        return build_parallel(form, reword_item)

    @cached_property
    def _described(self) -> dict[str, dict[str, str]]:
        """Picture -> caption and regions, from the newest `image_data` file that is there."""
        # the release took its newest file down; the one of June 2024 describes 925 pictures
        path = first_file(self.data / "image_data.json", self.data / "image_data_june2024.json")
        return dict(read_json(path)) if path else {}

    # --- judging ---

    def official_prompt(self, name: str) -> str:
        """The template of the mode, from `judge_prompt.txt` or the `utils.py` of its revision."""
        text = self.data / "judge_prompt.txt"
        mode, _, existence = name.partition("_")
        if name == "february2025" and text.exists():
            template = read_text(text)
        else:
            code = self.data / ("utils.py" if mode == "february2025" else f"{mode}/utils.py")
            released_file(code, "hqh", f"the release's prompt of the mode {mode} is not there")
            template = template_in(code, "template4existence" if existence else "template")
        # the release's templates have empty braces, which say nothing of their meaning
        placeholders = list(_PLACEHOLDERS)
        if existence:
            placeholders.remove("truth")
        if mode != "joint":
            placeholders.remove("format")
        return name_placeholders(template, placeholders, self.data, f"the prompt of {name}")

    def _judge_prompt(self, item: Item, answer: str, form: str = "") -> str | None:
        """The judge's prompt; None if neither a description nor a right answer is there to judge
        by.
        """
        description = self._described.get(item.meta["image_id"])
        # Our own prompt can judge by the right answer alone; the release's is about a description.
        if description is None and (self.prompts == "official" or not item.target):
            return None
        existence = (
            self.prompts == "official" and item.type == "existence" and self.mode != "february2025"
        )
        template = self.prompt(f"{self.mode}_existence" if existence else self.mode)
        # only our own prompts: the release's cannot be filled and never come here
        if not description:
            description = dict.fromkeys(("caption", "image_information"), _NO_DESCRIPTION)
        return fill(
            template,
            instruction=item.prompt,
            truth=item.target or "(none is given)",
            caption=description["caption"],
            details=description["image_information"],
            answer=answer,
            format=form,
        )

    async def judge(self, item: Item, response: Response, ask: AskJudge) -> Verdict:
        """The verdict of the mode's procedure."""
        if self.jointly:
            return (await self.judge_together(item, {"": response}, ask))[""]
        prompt = self._judge_prompt(item, response.text)
        if prompt is None:
            return _nothing_to_judge_by()
        reply = await ask("judge", prompt)
        official = self.scoring == "official"
        if self.mode == "june2024":
            bad = read_binary(reply, official)
            if bad is None:
                return _unread("not whether the answer hallucinates")
            return _binary([bad])
        wrong, claims = read_claims(reply, official)
        # The released code asks again until a reply can be read, which may never be.
        for _ in range(TRIES - 1 if official else 0):
            if wrong is not None and claims is not None:
                break
            try:
                # the release keeps what it has read, so that the two may be of different replies
                next_wrong, next_claims = read_claims(await ask("judge", prompt), official)
            except NoReply:
                break
            if next_wrong is not None:
                wrong = next_wrong
            if next_claims is not None:
                claims = next_claims
        if wrong is None:
            return _unread("not whether the answer is correct")
        if claims is None:
            return _unread("no number of extra claims")
        bad = bool(wrong or claims)
        tally = {"hallucinated": float(bad), "main": float(wrong), "extra": float(claims), "n": 1.0}
        return Verdict(
            float(not bad), tally, "ok", f"{'incorrect' if wrong else 'correct'}, {claims} extra"
        )

    async def judge_together(
        self, item: Item, responses: Mapping[str, Response], ask: AskJudge
    ) -> Mapping[str, Verdict]:
        """All answers in one call in the mode `joint`, numbered in the order given; otherwise each
        by itself.
        """
        if not self.jointly:
            return await super().judge_together(item, responses, ask)
        verdicts: dict[str, Verdict] = {}
        judged: dict[str, Response] = {}
        # a file of the release has several models' answers to an item: they are scored together
        authors: list[str] = []
        texts: list[str] = []
        for name, response in responses.items():
            if response.state in ("error", "missing"):
                reason = response.reason or "there is no answer"
                verdicts[name] = Verdict.unscored(response.state, reason)
                continue
            judged[name] = response
            # one column of a file with several models' answers is their pool
            answers = response.detail.get("answers", [response.text])
            texts += answers
            authors += [name] * len(answers)
        listed = ""
        form = ""
        for number, text in enumerate(texts, 1):
            listed += f"Answer{number}: {text}\n"
            form += f"Answer{number}: With/Without hallucination, [evidence]\n"
        prompt = self._judge_prompt(item, listed, form)
        if prompt is None or not texts:
            return verdicts | dict.fromkeys(judged, _nothing_to_judge_by())
        readings = read_joint(await ask("judge", prompt), self.scoring == "official")
        verdicts |= self._joint_verdicts(judged, authors, readings)
        return {name: verdicts[name] for name in responses}

    def _joint_verdicts(
        self,
        responses: Mapping[str, Response],
        authors: Sequence[str],
        readings: Mapping[int, Sequence[bool]],
    ) -> dict[str, Verdict]:
        """The verdicts by the lines of a reply, where `authors` names the respondent of each
        numbered answer.
        """
        official = self.scoring == "official"
        marks_by_name: dict[str, list[bool]] = defaultdict(list)
        for number, author in enumerate(authors, 1):
            marks = readings.get(number, ())
            if official:
                # the release counts an answer once for every line about it
                marks_by_name[author] += marks
            # `paper` takes one verdict for an answer, where its lines agree.
            elif len(set(marks)) == 1:
                marks_by_name[author].append(marks[0])
        # the pooled rate is printed for every model, even for one without a line
        pooled = {}
        if official:
            # From 0, so that a line about an Answer0 is in the pool, which no respondent gave.
            pooled_marks: list[bool] = []
            for number in range(len(authors) + 1):
                pooled_marks += readings.get(number, ())
            pooled = {"pooled": float(sum(pooled_marks)), "pooled_n": float(len(pooled_marks))}
        verdicts = {}
        for name in responses:
            if marks_by_name[name]:
                verdicts[name] = settle(_binary(marks_by_name[name], pooled), responses[name])
            else:
                unread = _unread("not whether the answer hallucinates")
                verdicts[name] = replace(unread, tally=pooled)
        return verdicts

    def replies_saying(self, mark: str) -> Replies:
        """With or without hallucination (1: without, 0: with); in the mode `february2025`, as in
        `incorrect, 2 extra`.
        """
        if self.mode == "february2025":
            if (match := _VERDICT.fullmatch(mark.strip())) is None:
                raise UnreadableReply(
                    f"the verdict {mark!r:.60} says not both correct or incorrect and `N extra`"
                )
            main = "Incorrect" if match[1] else "Correct"
            return {"judge": (f"Answer: {main}\nExtra Contradictory Claims: {match[2]}",)}
        words = {"1": "without hallucination", "0": "with hallucination"}
        if (bad := read_binary(words.get(mark.removesuffix(".0"), mark), official=False)) is None:
            raise UnreadableReply(
                f"the verdict {mark!r:.60} is neither with nor without hallucination (0, 1)"
            )
        return {"judge": (f"Answer1: {'With' if bad else 'Without'} hallucination",)}

    # --- files ---

    def read_answers(self, path: Path, form: Form) -> tuple[Form, Mapping[str, Response]]:
        """A copy of `HQH.json` with `answer`, or with `answers` of one model (in the mode `joint`,
        of several).
        """
        collected = ItemAnswers(form)
        for location, record in located_records(path):
            key = str(either_field(record, "item", "id", location))
            if "answers" in record:
                texts = record["answers"]
            else:
                texts = [required_field(record, "answer", location)]
            item = form.by_id.get(key)
            # a file of another revision may ask something else under the same id
            if item is not None and str(record.get("instruction", item.prompt)) != item.prompt:
                raise AnswerError(
                    f"the item {key} asks something else",
                    location=location,
                    remedy="Take the HQH.json that was answered.",
                )
            collected.put(key, _response(record, next(iter(texts), None)), location)
            if len(texts) > 1 and self.jointly:
                answers = list(map(str, texts))
                collected[key] = collected[key]._replace(detail={"answers": answers})
            elif len(texts) != 1:
                raise AnswerError(
                    f"it has the answers of {len(texts)} models",
                    location=location,
                    remedy="Keep one model's, or score it with --set mode=joint.",
                )
        return form, collected

    def recordings(self, path: Path) -> Sequence[Recording] | None:
        """A file with `answers`: the N-th answer to every item is that of the respondent
        `ModelN`.
        """
        if not path.is_file() or path.suffix != ".json":
            return None
        records = read_records(path)
        if not records or not all(isinstance(record.get("answers"), list) for record in records):
            return None
        answers: dict[int, dict[str, Response]] = defaultdict(dict)
        for record in records:
            for n, text in enumerate(record["answers"], 1):
                # The file names no models: the place in the list is all that tells them.
                answers[n][str(record["id"])] = _response({}, text)
        return [
            Recording(f"Model{n}", "original", 0, collected, path.name)
            for n, collected in sorted(answers.items())
        ]

    def check(self, form: Form) -> Iterable[Finding]:
        """The oddities of the released files."""
        if not (self.data / "image_data.json").exists():
            yield self._missing_image_data(form)
        by_type: dict[str, list[Item]] = group_by(form.items, attrgetter("type"))
        instructions = Counter(map(attrgetter("prompt"), by_type.get("existence", ())))
        if len(instructions) == 1:
            yield Finding(
                "one-instruction",
                f"all {instructions.total()} existence items ask the same:"
                f" {next(iter(instructions))!r}",
                instructions.total(),
            )
        yield from _type_oddities(form)
        counts = _target_counts(by_type.get("counting", ()))
        if counts["One."] and counts["1."]:
            yield Finding(
                "number-spelling",
                f"the right number is written both ways: 'One.' {counts['One.']} times, '1.'"
                f" {counts['1.']} times",
                counts["One."] + counts["1."],
            )
        yield from _environment_oddities(by_type.get("environment", []))
        yield from finding(
            "no-ground-truth",
            "{n} items have no ground truth",
            list(filterfalse(attrgetter("target"), form.items)),
        )
        yield from finding(
            "spelling",
            "{n} instructions begin with a misspelt word",
            asking(form.items, r"\A(?:[A-Z]{2,}[a-z]|How man )"),
        )
        yield from finding(
            "broken-question",
            "{n} questions no rule can put in other words: the parallel form only frames them",
            [item for item in self.parallel(form).items if item.rule == "questions.frame"],
        )

    def _missing_image_data(self, form: Form) -> Finding:
        """The finding that the file with the judge's descriptions is missing."""
        n_described = sum(item.meta["image_id"] in self._described for item in form.items)
        older = "nor is an older one"
        if self._described:
            older = (
                f"the one of June 2024 describes {len(self._described)} pictures and so"
                f" {n_described} of the {len(form)} items"
            )
        return Finding(
            "no-image-data",
            f"image_data.json, which the judge's prompt needs, is not there; {older}",
            len(form) - n_described,
        )


def _type_oddities(form: Form) -> Iterable[Finding]:
    """The oddities of the types that items stand under."""
    yield from finding(
        "duplicate-across-types",
        "{n} pairs of picture and question stand under two types",
        [
            group[0]
            for group in same_question(form).values()
            if len(set(map(attrgetter("type"), group))) > 1
        ],
    )
    blocks = list(map(itemgetter(0), groupby(map(attrgetter("type"), form.items))))
    if len(blocks) == len(set(blocks)):
        yield Finding(
            "type-by-position",
            "the items of a type stand together: the id gives the type",
            len(form),
        )


def _target_counts(items: Iterable[Item]) -> Counter[str]:
    """How often each right answer stands."""
    return Counter(str(item.target) for item in items)


def _environment_oddities(items: Sequence[Item]) -> Iterable[Finding]:
    """The oddities of the questions of the type environment."""
    time_or_place = re.compile(
        r"\A(?:when|where) (?:was|is) .*(?:photo|picture|image|pic)", re.IGNORECASE
    )
    yield from finding(
        "taken",
        f"{{n}} of {len(items)} environment questions ask when or where the picture was taken",
        asking(items, time_or_place),
    )
    for target, count in _target_counts(items).most_common(1):
        if count > 0.2 * len(items):
            yield Finding(
                "common-answer",
                f"{count} environment questions have the answer {target!r}",
                count,
            )


def _response(record: Mapping[str, Any], text: object) -> Response:
    """An answer of a release's record; null is an empty one."""
    answer = "" if text is None else str(text)
    return Response(answer, record.get("state", "ok"), str(record.get("reason", "")))


def _binary(lines: Sequence[bool], further_tally: Mapping[str, float] | None = None) -> Verdict:
    share = sum(lines) / len(lines)
    tally = {"hallucinated": float(sum(lines)), "n": float(len(lines)), **(further_tally or {})}
    return Verdict(
        1 - share, tally, "ok", "with hallucination" if share else "without hallucination"
    )


def _unread(missing_statement: str) -> Verdict:
    return Verdict.unscored(
        "unparsed", f"the judge's reply says {missing_statement} (or says both)"
    )


def _nothing_to_judge_by() -> Verdict:
    return Verdict.unscored(
        "missing",
        "image_data.json does not describe the picture, and the judge's prompt needs its caption"
        " and regions",
    )
