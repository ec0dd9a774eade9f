"""MMHal-Bench: 96 open questions of eight kinds; a judge that knows the picture's objects rates
every answer from 0 to 6.

Release: Shengcao1006/MMHal-Bench with the scorer of llava-rlhf/LLaVA-RLHF. The template is a JSON
list; an answer file is the same list with `model_answer` filled, and the saved replies are a list
of the judge's responses in the same order. Copies circulate under other names and with
`gold_answer` for `gt_answer`. A rating below 3 is a hallucination. Types: attribute, counting,
environment, relation and comparison are the paper's own; adversarial questions (about things that
are not there) and holistic ones (descriptions) are existence; `other` has no single type.

Official and paper. `official`: the rating of a reply is the one number s of 0 to 6 for which the
reply contains `rating: s` (so "Rating: 10" is read as 1, and "**Rating:** 5" is not read at all).
With none or several of them the answer scores 0, that is, it counts as a hallucination (and is
still counted as unparsed). The kind of a question is its place in the answer file modulo 8, and a
file must have 96 answers. `paper`: the rating is the number after the word "rating", with whatever
punctuation between them; no rating, several different ones, or one outside 0 to 6 leave the answer
unscored. The kind is the one that the record states. Missing answers are counted, and nothing is
rounded, while the release prints two decimals.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product, starmap
from operator import attrgetter
from pathlib import Path
from typing import Any

from hqm import (
    AnswerError,
    AskJudge,
    Benchmark,
    DataError,
    Finding,
    Form,
    Item,
    Metric,
    Recording,
    Response,
    UnreadableReply,
    Verdict,
    finding,
    mean_of,
    read_records,
)
from hqm.benchmark.judge_api import fill
from hqm.benchmark.released_files import (
    either_field,
    first_file,
    json_list,
    name_placeholders,
    released_file,
    released_form,
)
from hqm.files.records import read_text, required_field
from hqm.imports.match import check_questions
from hqm.imports.recordings import ItemAnswers
from hqm.imports.row import JudgeOutput, Replies, Row, released_answer, require_choice
from hqm.judges.procedure import template_in
from hqm.types import group_by

KINDS = (
    "attribute",
    "adversarial",
    "comparison",
    "counting",
    "relation",
    "environment",
    "holistic",
    "other",
)
"""The eight kinds of questions, in the order in which the release repeats them."""
_TYPES = {"adversarial": "existence", "holistic": "existence", "other": None}
_FILES = ("response_template.json", "mmhal-bench_answer_template.json", "MMHal-bench.json")
_PLACEHOLDERS = ("contents", "question", "reference", "response")
# Markdown, brackets and "is" may stand between the word and the number; a line end may not.
_RATING = re.compile(r"\brating\b[^\w\n]*(?:(?:is|of)\b[^\w\n]*)?(-?\d+(?:\.\d+)?)", re.IGNORECASE)


class MMHal(Benchmark):
    """The 96 questions of MMHal-Bench."""

    roles = ("judge",)

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """The mean score and the hallucination rate, overall and for each kind of question."""
        # the release prints two decimals; statistics are of what is not rounded
        digits = 2 if self.scoring == "official" else None
        metrics = (
            Metric(
                "score",
                mean_of("score"),
                about="Mean rating of the judge, 0 to 6.",
                digits=digits,
                scale=(0.0, 6.0),
            ),
            Metric(
                "hallucination_rate",
                mean_of("hallucinated"),
                "lower",
                share=True,
                about="Share of answers rated below 3.",
            ),
        )
        return (*metrics, *starmap(Metric.within, product(metrics, KINDS)))

    def read(self) -> Form:
        """The template, under any of its names; the ids of items are those of the pictures."""
        path = first_file(*map(self.data.joinpath, _FILES))
        if path is None:
            raise DataError(
                "the template is not there",
                location=str(self.data),
                remedy=f"It is called {_FILES[0]}.",
            )
        form = released_form(path, self._item)
        # an item is named after its picture, by which answers are joined
        if len(form.by_id) < len(form):
            raise DataError(
                "two questions are about one picture",
                location=str(path),
                remedy="Take the file of the release.",
            )
        return form

    @staticmethod
    def _item(location: str, record: Mapping[str, object]) -> Item:
        kind = str(required_field(record, "question_type", location))
        require_choice(kind, KINDS, "question_type", location)
        key = str(required_field(record, "image_id", location))
        source = str(required_field(record, "image_src", location))
        return Item(
            key,
            str(required_field(record, "question", location)),
            "vqa",
            str(either_field(record, "gold_answer", "gt_answer", location)),
            source.rpartition("/")[2],
            _TYPES.get(kind, kind),
            cluster=key,
            meta={
                "kind": kind,
                "topic": str(record.get("question_topic", "")),
                "contents": ", ".join(map(str, required_field(record, "image_content", location))),
                "source": source,
            },
        )

    def subsets(self, item: Item) -> list[str]:
        """The kind of the question."""
        return [str(item.meta["kind"])]

    # --- judging ---

    async def judge(self, item: Item, response: Response, ask: AskJudge) -> Verdict:
        """Ask the judge for a rating of the answer."""
        prompt = fill(
            self.prompt("rating"),
            contents=item.meta["contents"],
            question=item.prompt,
            reference=item.target,
            response=response.text,
        )
        reply = await ask("judge", prompt)
        score, reason = self._read(reply)
        if score is None and self.scoring == "paper":
            return Verdict.unscored("unparsed", reason)
        # the release gives an unread reply 0 of 6, which counts as a hallucination
        value = score or 0.0
        tally = {"score": value, "hallucinated": float(value < 3), "n": 1.0}
        return Verdict(value, tally, "unparsed" if score is None else "ok", f"{value:g}", reason)

    def _read(self, reply: str) -> tuple[float | None, str]:
        """The rating, or None with the reason why there is none."""
        if self.scoring == "official":
            # as the released scorer reads it: "Rating: 10" has the text "rating: 1"
            hits = [float(s) for s in range(7) if f"rating: {s}" in reply.lower()]
        else:
            # one rating that is given twice is one rating
            hits = sorted(set(map(float, _RATING.findall(reply))))
            if hits and not all(0 <= hit <= 6 and hit.is_integer() for hit in hits):
                return (
                    None,
                    (
                        f"the reply has the rating {hits[-1]:g}, which is not on the scale:"
                        f" {reply[-80:]!r}"
                    ),
                )
        if len(hits) == 1:
            return hits[0], ""
        return None, f"the reply has {len(hits) or 'no'} ratings: {reply[-80:]!r}"

    def official_prompt(self, name: str) -> str:
        """The release's prompt, from `judge_prompt.txt` or from its `eval_gpt_mmhal.py`."""
        text = self.data / "judge_prompt.txt"
        program = self.data / "eval_gpt_mmhal.py"
        if text.is_file():
            template = read_text(text)
        else:
            released_file(program, "mmhal", "the release's prompt is not there")
            template = template_in(program, "template")
        return name_placeholders(template, _PLACEHOLDERS, self.data, "the prompt")

    # --- recorded files ---

    def read_answers(self, path: Path, form: Form) -> tuple[Form, Mapping[str, Response]]:
        """The template with `model_answer` filled; the form takes the order of the file, which
        saved replies follow too.
        """
        records = read_records(path)
        if records and "model_answer" not in records[0]:
            return super().read_answers(path, form)
        answers = ItemAnswers(form)
        ordered: list[Item] = []
        questions: list[tuple[str, str, Item]] = []
        for i, record in enumerate(records):
            location = f"{path}: record {i + 1}"
            key = str(required_field(record, "image_id", location))
            answers.put(key, released_answer(record, ("model_answer",), location), location)
            item = form.by_id[key]
            questions.append((location, str(record.get("question", "")), item))
            kind = item.meta["kind"]
            # the release derives the kind from the place only
            if self.scoring == "official":
                kind = KINDS[i % len(KINDS)]
            ordered.append(replace(item, meta={**item.meta, "kind": kind}))
        check_questions(questions, path)
        if self.scoring == "official" and len(records) != len(self.original):
            raise AnswerError(
                f"the file has {len(records)} answers, not {len(self.original)}",
                location=str(path),
                remedy="Answer every question, or score with --scoring paper.",
            )
        # behind the others: saved replies follow the answers by their row
        missing = [item for item in form.items if item.id not in answers]
        return replace(form, items=(*ordered, *missing)), answers

    def read_replies(self, path: Path, form: Form) -> Mapping[str, Replies]:
        """The saved responses of the judge, a JSON list in the order of the answers; or HQM's own
        format.
        """
        saved = json_list(path)
        if not saved or (isinstance(saved[0], dict) and "reply" in saved[0]):
            return super().read_replies(path, form)
        if len(saved) > len(form):
            raise AnswerError(
                f"{len(saved)} replies for {len(form)} answers",
                location=str(path),
                remedy="Check the file.",
            )
        texts = [_content(reply, f"{path}: reply {i}") for i, reply in enumerate(saved, 1)]
        return {item.id: {"judge": [text]} for item, text in zip(form.items, texts, strict=False)}

    def recordings(self, path: Path) -> Sequence[Recording] | None:
        """The template with `model_answer` filled; the respondent is named after the file."""
        records = json_list(path) if path.is_file() else []
        if not records or not all(map(_is_answered, records)):
            return None
        _, answers = self.read_answers(path, self.original)
        return [Recording(path.stem, "original", 0, answers, str(path))]

    def read_judgements(self, path: Path, form: Form) -> Sequence[Row] | None:
        """The saved responses of the judge, in the order of the template, with the model's name
        where they have it.
        """
        saved = json_list(path)
        if not saved or not all(map(_is_response, saved)):
            return None
        # one file is one judge, also where a reply does not say who gave it
        models = Counter(
            str(reply["model"]) for reply in saved if isinstance(reply, dict) and reply.get("model")
        )
        judge = next(iter(models)) if len(models) == 1 else ""
        rows = []
        for i, reply in enumerate(saved):
            location = f"{path}: reply {i + 1}"
            # null stands where the judge gave nothing, and holds the place of its answer
            judgement = JudgeOutput(mark="")
            if reply is not None:
                judgement = JudgeOutput({"judge": (_content(reply, location),)})
            rows.append(Row(place=location, judgement=judgement, position=i, judge=judge))
        return rows

    def replies_saying(self, mark: str) -> Replies:
        """A whole number from 0 to 6 as the rating of a reply."""
        try:
            rating = float(mark)
        except ValueError:
            rating = -1.0
        if not (0 <= rating <= 6 and rating.is_integer()):
            raise UnreadableReply(f"the score {mark!r:.60} is no rating from 0 to 6")
        return {"judge": (f"Rating: {rating:.0f}",)}

    # --- oddities ---

    def check(self, form: Form) -> Iterable[Finding]:
        """The oddities of the released template."""
        items = form.items
        if all(item.meta["kind"] == KINDS[i % len(KINDS)] for i, item in enumerate(items)):
            yield Finding(
                "kind-by-position",
                f"the kind of a question is its place modulo {len(KINDS)}: the scorer reads it from"
                " the order of the file",
                len(items),
            )
        by_kind = group_by(items, lambda item: str(item.meta["kind"]))
        yield Finding(
            "few-per-kind",
            f"{len(by_kind)} kinds with {min(map(len, by_kind.values()))} questions each: scores by"
            " kind are very noisy",
            len(items),
        )
        commonest_wording = max(group_by(items, attrgetter("prompt")).values(), key=len)
        yield from finding(
            "one-wording",
            "{n} questions share one wording",
            commonest_wording if len(commonest_wording) > 1 else [],
        )
        yield from finding(
            "false-presupposition",
            "{n} questions ask about something that is not in the picture",
            by_kind.get("adversarial", []),
        )
        hosts = set()
        for item in items:
            source = item.meta["source"]
            if "://" in source:
                hosts.add(source.split("/")[2])
        yield Finding(
            "links", f"the pictures are given by address only, on {len(hosts)} hosts", len(hosts)
        )
        yield from finding(
            "no-type",
            "{n} questions of the kind 'other' have no hallucination type",
            [item for item in items if item.type is None],
        )


def _is_answered(record: object) -> bool:
    """Whether a member of a list is a question of the template with an answer."""
    return isinstance(record, dict) and record.keys() >= {"image_id", "model_answer"}


def _is_response(reply: object) -> bool:
    """Whether a member of a list is what a judge's server returned, its text, or null where there
    was none.
    """
    return (
        reply is None or isinstance(reply, str) or (isinstance(reply, dict) and "choices" in reply)
    )


def _content(reply: Any, location: str) -> str:
    """The text of one saved response."""
    try:
        if isinstance(reply, str):
            return reply
        return str(reply["choices"][0]["message"]["content"])
    except (KeyError, IndexError, TypeError):
        raise AnswerError(
            "it is no saved response",
            location=location,
            remedy="Each has choices[0].message.content, or is a text.",
        ) from None
