"""HallusionBench: yes/no questions asked with a figure, with an edited figure, and (about charts,
maps, tables) without one.

Release: tianyi-lab/HallusionBench. Visual dependent questions (VD) need the figure; visual
supplement questions (VS) can be answered without it, and figure 0 of each of their sets is no
figure at all. A question that is asked with several figures of a set is a pair. The judge compares
an answer with `gt_answer_details` and says correct, incorrect or unclear; about a wrong answer it
is asked again whether it is the same as the answer given with figure 0. The mode `rule` asks no
judge: it compares the yes or no that it reads with `gt_answer`. A result file is a JSON list of the
questions with `model_prediction`, and, once judged, with `gpt4v_output_gpt_check` and `same`.

aAcc is the accuracy over questions. fAcc is the share of figures with all questions right
(text-only questions have no figure), and qAcc the share of pairs with all figures right. LH, VI and
Mixed are the shares of errors that the release's decision tree attributes to language
hallucination, to visual illusion, or to either. The release labels no types; its subcategories are
mapped (chart and table to comparison, map to relation, illusion to comparison, figure to existence,
math to attribute, video to action).

Official and paper. `official`: a reply without "correct" means unclear, and one without "same"
means different. Measures are percentages with four decimals. The easy and hard accuracies are those
of pairs within the original figures and within the edited ones. Whether an answer said yes is
inferred from its being counted right: an unclear answer counts as a no to a question whose answer
is yes, and as a yes otherwise (reversed where unclear is right). Only the questions in a
file count. `paper`: a reply that says none of the words is unscored; percentages are not rounded;
easy and hard are per question; unclear answers are neither yes nor no; all 1,129 questions count.
Both count an unclear answer to a text-only VS question as right. Where the release stops with an
error (no errors to share out, a pair without its figure 0), the metric is null or leaves the pair
out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from operator import attrgetter
from pathlib import Path

from hqm.benchmarks.hallusion_bench.measures import (
    KEYS,
    check_field,
    figure_of,
    find_oddities,
    is_result,
    judged_rows,
    metrics_of,
    question_key,
    text_only,
)

from hqm import (
    AnswerError,
    AskJudge,
    Benchmark,
    DataError,
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
    read_records,
)
from hqm.benchmark.judge_api import fill
from hqm.benchmark.released_files import files_in, released_file
from hqm.files.records import located_records, required_field
from hqm.imports.recordings import ItemAnswers
from hqm.imports.row import Replies, Row, released_answer
from hqm.judges.procedure import template_in
from hqm.scoring.metrics import yes_no_tally
from hqm.types import LeftOut, group_by

_TYPES = {
    "chart": "comparison",
    "table": "comparison",
    "illusion": "comparison",
    "map": "relation",
    "ocr": "ocr",
    "figure": "existence",
    "math": "attribute",
    "video": "action",
}
_WORDS = {"0": "incorrect", "1": "correct", "2": "unclear"}
_OPPOSITE = {"yes": "no", "no": "yes"}
_YES_OR_NO = re.compile(r"\s*(yes|no)\b", re.IGNORECASE)


def _by_likeness(matches_first: float | None, if_same: str, if_different: str) -> str | None:
    """The cause of an error, by whether two answers say the same; None where nobody judged that."""
    if matches_first is None:
        return None
    if matches_first:
        return if_same
    return if_different


class HallusionBench(Benchmark):
    """The 1,129 questions of HallusionBench."""

    modes = ("judge", "rule")
    scoring_files = ()

    @property
    def roles(self) -> tuple[str, ...]:
        """One judge, which is asked once or twice; no judge in the mode `rule`."""
        if self.mode == "rule":
            return ()
        return ("judge",)

    # --- items ---

    def read(self) -> Form:
        """`HallusionBench.json`; ids are category, subcategory, set, figure and question joined by
        `_`.
        """
        path = self.data / "HallusionBench.json"
        items: dict[str, Item] = {}
        for location, record in located_records(path):
            item = self._item(record, location)
            if item.id in items:
                raise DataError(f"the question {item.id} stands twice", location=location)
            items[item.id] = item
        return Form("original", _sized(items.values()))

    @staticmethod
    def _item(record: Mapping[str, object], location: str) -> Item:
        parts = [str(required_field(record, key, location)) for key in KEYS]
        category, kind, group, figure, question = parts
        truth = {"0": "no", "1": "yes"}.get(str(required_field(record, "gt_answer", location)))
        if truth is None or kind not in _TYPES:
            raise DataError(
                "its gt_answer or subcategory is unknown",
                location=location,
                remedy="Take the file of the release.",
            )
        name = record.get("filename")
        return Item(
            "_".join(parts),
            str(required_field(record, "question", location)),
            "yes_no",
            truth,
            str(name).removeprefix("./") if name else None,
            _TYPES[kind],
            category,
            # a set holds whole figures and whole pairs
            "_".join(parts[:3]),
            meta={
                "subcategory": kind,
                "figure": figure,
                "pair": "_".join((category, kind, group, question)),
                "visual": str(required_field(record, "visual_input", location)),
                "details": str(required_field(record, "gt_answer_details", location)),
            },
        )

    def parallel(self, form: Form) -> Form:
        """The negated questions, without those that have both answers or that ask with
        "which".
        """
        return build_parallel(self._of_one_answer(form))

    def rewording(self, form: Form, draw: int, earlier: Sequence[Form]) -> Form:
        """Further wordings, without the same questions."""
        return super().rewording(self._of_one_answer(form), draw, earlier)

    def _of_one_answer(self, form: Form) -> Form:
        reason = "the same question about the same figure carries both answers"
        omitted = list(form.left_out)
        items = []
        groups = group_by(form.items, self._question_key)
        for item in form.items:
            targets = set(map(attrgetter("target"), groups[self._question_key(item)]))
            # no rewording of such a question has one right answer
            if len(targets) > 1:
                omitted.append(LeftOut(item.id, item.prompt, reason))
            else:
                items.append(item)
        return replace(form, items=tuple(items), left_out=tuple(omitted))

    @staticmethod
    def _question_key(item: Item) -> tuple[str, str]:
        return item.image or item.cluster, " ".join(item.prompt.split())

    def subsets(self, item: Item) -> list[str]:
        """Category and subcategory, and within each the easy (original) and the hard (edited)
        figures.
        """
        scopes = [item.part.lower(), f"{item.part.lower()}_{item.meta['subcategory']}"]
        level = "hard" if item.meta["visual"] == "2" else "easy"
        return [*scopes, level, *(f"{scope}_{level}" for scope in scopes)]

    def groupings(self, item: Item) -> Mapping[str, str]:
        """The pair, and the figure unless the question is asked without one."""
        groups = {"pair": str(item.meta["pair"])}
        if not text_only(item):
            groups["figure"] = f"{item.cluster}_{item.meta['figure']}"
        return groups

    # --- scoring ---

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """The accuracies by category and subcategory, the consistency of figures, the bias to yes,
        the causes of errors.
        """
        return tuple(metrics_of(self.scoring))

    def _verdict(
        self, item: Item, code: int, read: str, matches_first: float | None = None
    ) -> Verdict:
        """The verdict for the code 0 (wrong), 1 (right) or 2 (unclear)."""
        # without its figure, a visual supplement question may be left open
        right = code == 1 or (code == 2 and text_only(item))
        truth = str(item.target)
        reading = {0: _OPPOSITE[truth], 1: truth, 2: ""}[code]
        tally = {
            "n": 1.0,
            "right": float(right),
            "wrong": float(not right),
            "unclear": float(code == 2),
            "yes_true": float(truth == "yes"),
            "yes": float(reading == "yes"),
            "false_yes": float(not right and reading == "yes"),
            # The release keeps only whether an answer counted as right, and infers from it what was
            # said.
            "yes_inferred": float(right == (truth == "yes")),
            "false_yes_inferred": float(not right and truth == "no"),
            **(yes_no_tally(reading, truth) if reading else {}),
        }
        if not text_only(item):
            # each question weighs one over the questions of its figure, so that sums are of figures
            tally |= {"figure_share": right / item.meta["size"], "figures": 1 / item.meta["size"]}
        if matches_first is not None:
            tally["same"] = matches_first
        return Verdict(float(right), tally, "ok", read)

    def score(self, item: Item, response: Response) -> Verdict:
        """The yes or no that was read, compared with `gt_answer`; an answer that cannot be read is
        unscored.
        """
        read = super().score(item, response)
        if read.value is not None:
            return self._verdict(item, int(read.value), read.read)
        return read

    def context_items(self, item: Item) -> tuple[str, ...]:
        """The same question asked with figure 0."""
        # ids end in figure and question: the same question about the set's figure 0
        first = f"{item.cluster}_0_{item.id.rpartition('_')[2]}"
        if item.meta["figure"] == "0":
            return ()
        return (first,)

    async def judge(self, item: Item, response: Response, ask: AskJudge) -> Verdict:
        """Ask for correct, incorrect or unclear; and whether a wrong answer is the same as the one
        given with figure 0.
        """
        prompt = fill(
            self.prompt("correctness"),
            question=item.prompt,
            reference=_reference(item),
            prediction=response.text,
        )
        reply = await ask("judge", prompt)
        code = self._read_correctness(reply)
        if code is None:
            return Verdict.unscored(
                "unparsed", f"the judge says neither correct, incorrect nor unclear: {reply[:80]!r}"
            )
        texts = list(response.detail.get("beside", {}).values())
        matches_first = None
        if code == 0 and texts:
            prompt = fill(self.prompt("consistency"), prediction=response.text, first=texts[0])
            try:
                matches_first = self._read_consistency(await ask("judge", prompt))
            except NoReply:
                # its correctness stands; the error is left out of the diagnosis
                matches_first = None
        return self._verdict(item, code, _WORDS[str(code)], matches_first)

    def _read_correctness(self, reply: str) -> int | None:
        reading = reply.lower()
        # "incorrect" holds "correct", and is looked for first.
        if "incorrect" in reading:
            return 0
        if "correct" in reading:
            return 1
        # the release takes every other reply as unclear, a refusal of the judge too
        if self.scoring == "official" or "unclear" in reading:
            return 2
        return None

    def _read_consistency(self, reply: str) -> float | None:
        reading = reply.lower()
        if "same" in reading:
            return 1.0
        # to the release, whatever does not say "same" is different
        if self.scoring == "official" or "different" in reading:
            return 0.0
        return None

    def relate(self, items: Sequence[Item], verdicts: Sequence[Verdict]) -> Sequence[Verdict]:
        """Attribute every error to a cause, by what was answered with figure 0."""
        firsts = {}
        for item, verdict in zip(items, verdicts, strict=True):
            if item.meta["figure"] == "0" and verdict.scored:
                firsts[str(item.meta["pair"])] = (item, verdict)
        related = []
        for item, verdict in zip(items, verdicts, strict=True):
            cause = None
            if verdict.scored:
                cause = self._cause(item, verdict, firsts.get(str(item.meta["pair"])))
            if cause:
                verdict = replace(verdict, tally={**verdict.tally, cause: 1.0, "diagnosed": 1.0})
            related.append(verdict)
        return related

    def _cause(
        self, item: Item, verdict: Verdict, first: tuple[Item, Verdict] | None
    ) -> str | None:
        """The release's decision tree; None for a right answer, or where something that the tree
        needs is unknown.
        """
        code = _code(verdict)
        if verdict.tally["right"]:
            return None
        if item.meta["figure"] == "0":
            if item.part == "VD":
                return "vi"
            return "lh"
        if first is None:
            return None
        first_code = _code(first[1])
        matches_first = verdict.tally.get("same")
        if self.mode == "rule":
            # no judge compared the two answers: the yes or no that was read does
            matches_first = float(verdict.read == first[1].read)
        if item.part == "VD":
            if code == 0 and first_code == 1:
                return _by_likeness(matches_first, "mixed", "vi")
            return "vi"
        if first_code == 0:
            if code == 2:
                return "mixed"
            return _by_likeness(matches_first, "lh", "mixed")
        if first_code == 1 and code == 0 and item.meta["visual"] == "2":
            return _by_likeness(matches_first, "lh", "vi")
        return "vi"

    def official_prompt(self, name: str) -> str:
        """The prompt as the release's `utils.py` builds it."""
        path = released_file(
            self.data / "utils.py",
            "hallusion_bench",
            "the release's prompts stand in its utils.py, which is not there",
        )
        function = {"correctness": "evaluate_by_chatgpt", "consistency": "check_same_by_chatgpt"}[
            name
        ]
        placeholders = {
            "sample['question']": "question",
            "sample['gt_answer_details']": "reference",
            "sample[output_entry]": "prediction",
            "response2": "first",
        }
        return template_in(path, "prompt", function, placeholders)

    # --- recorded files ---

    def read_answers(self, path: Path, form: Form) -> tuple[Form, Mapping[str, Response]]:
        """A result file with `model_prediction`, or a folder with a VD and a VS file, matched by
        ids and questions.
        """
        answers = ItemAnswers(form)
        for record, key, location in self._records(path, form):
            answers.put(key, released_answer(record, ("model_prediction",), location), location)
        if self.scoring == "official":
            # the release scores the questions of the file alone, and a figure is as large as they
            # make it
            form = replace(form, items=_sized(form.restrict_to(answers).items))
        return form, {
            key: self.with_context(form.by_id[key], answers[key], answers) for key in answers
        }

    def _records(self, path: Path, form: Form) -> Iterable[tuple[dict[str, object], str, str]]:
        """Record, item id and place; the question must match too, because releases have used ids
        for other questions.
        """
        for file in files_in(path, ".json"):
            for location, record in located_records(file):
                key = question_key(record, location)
                if key not in form.by_id:
                    raise AnswerError(
                        f"the benchmark has no question {key}",
                        location=location,
                        remedy="Check the release.",
                    )
                # releases have used ids for other questions
                question_words = str(required_field(record, "question", location)).split()
                if question_words != self.original.by_id[key].prompt.split():
                    raise AnswerError(
                        f"the question {key} reads otherwise in this release",
                        location=location,
                        remedy="The file answers another release; score it with that.",
                    )
                yield record, key, location

    def read_replies(self, path: Path, form: Form) -> Mapping[str, Replies]:
        """The checks in a judged result file (`..._gpt_check` and `same`), or replies in HQM's own
        format.
        """
        files = files_in(path, ".json")
        records = read_records(files[0]) if files else []
        if records and "category" not in records[0]:
            return super().read_replies(path, form)
        replies: dict[str, Replies] = {}
        for record, key, location in self._records(path, self.original):
            check = str(required_field(record, check_field(record), location))
            if check not in _WORDS:
                raise AnswerError(
                    f"the check is {check!r}", location=location, remedy="It is 0, 1 or 2."
                )
            consistency = {"1": ["same"], "0": ["different"]}.get(str(record.get("same")), [])
            replies[key] = {"judge": [_WORDS[check], *consistency]}
        return replies

    def recordings(self, path: Path) -> Sequence[Recording] | None:
        """The answers in a result file, or in a folder with a VD and a VS file; the respondent is
        named after it.
        """
        if not is_result(path):
            return None
        _, answers = self.read_answers(path, self.original)
        return [
            Recording(path.name if path.is_dir() else path.stem, "original", 0, answers, str(path))
        ]

    def read_judgements(self, path: Path, form: Form) -> Sequence[Row] | None:
        """The checks in a judged result file; a check that is none of 0, 1 and 2 is kept and says
        nothing.
        """
        if is_result(path):
            return judged_rows(path, _WORDS)
        return None

    def replies_saying(self, mark: str) -> Replies:
        """correct, incorrect or unclear, or the release's 1, 0 and 2."""
        word = mark.strip().strip(".").lower()
        reading = _WORDS.get(word.removesuffix(".0"), word)
        if reading not in _WORDS.values():
            raise UnreadableReply(
                f"the verdict {mark!r:.60} is neither correct, incorrect nor unclear (1, 0, 2)"
            )
        return {"judge": (reading,)}

    def check(self, form: Form) -> Iterable[Finding]:
        """The oddities of the released file."""
        return find_oddities(form)


def _sized(items: Iterable[Item]) -> tuple[Item, ...]:
    """The items, each with the number of questions about its figure."""
    items = tuple(items)
    sizes = Counter(map(figure_of, items))
    return tuple(
        replace(item, meta={**item.meta, "size": sizes[figure_of(item)]}) for item in items
    )


def _code(verdict: Verdict) -> int:
    if verdict.tally["unclear"]:
        return 2
    return int(verdict.tally["right"])


def _reference(item: Item) -> str:
    """The reference answer; for a negated question, with the opposite of the yes or no that it
    begins with.
    """
    details = str(item.meta["details"])
    match = _YES_OR_NO.match(details)
    # Only a negated question has a rule; the original's details are as the release wrote them.
    if not item.rule or match is None:
        return details
    opposite = _OPPOSITE[match[1].lower()]
    if match[1][0].isupper():
        opposite = opposite.capitalize()
    return details[: match.start(1)] + opposite + details[match.end(1) :]
