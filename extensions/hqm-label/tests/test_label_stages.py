"""The stages of a judge against people's labels of single sub-sentences and facts, on FaithScore's
released annotation.

The annotation stands in `released/faithscore_labels.jsonl` without the texts that it is about: the
numbers need the labels alone.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hqm_label.label_schema import Fact, Sentence, read_reply
from hqm_label.study import Study
from PIL import Image
from typer.testing import CliRunner

import hqm
import hqm.psychometrics as psy
from hqm.cli import program
from hqm.errors import AnswerError
from hqm.judges.procedure import Unit, decisions
from hqm.types import Item, Response
from tests.conftest import ROOT
from tests.judge_server import JudgeServer
from tests.messages import tells

LABELS = ROOT / "tests" / "released" / "faithscore_labels.jsonl"
WRONG_MARK, WRONG_FACT = 7, 5
"""Every so many sub-sentences, and facts, the judge of the test says the opposite of people."""


@dataclass(frozen=True)
class Released:
    """FaithScore's annotation with texts of our own, and a judge whose errors are known."""

    folder: Path
    marks: dict[str, int]
    """Sub-sentence -> what people say."""
    facts: dict[str, int]

    @property
    def annotation(self) -> Path:
        return self.folder / "annotation.jsonl"

    def judge_verdict(self, text: str) -> int:
        """What the judge says of a sub-sentence or a fact."""
        if text not in self.marks and text not in self.facts:
            return 1
        number = int(re.findall(r"\d+", text)[-1])
        labels, wrong = (self.marks, WRONG_MARK) if text in self.marks else (self.facts, WRONG_FACT)
        return 1 - labels[text] if number % wrong == 0 else labels[text]

    def reply(self, prompt: str, body: dict[str, Any]) -> str:
        if "true of it? " in prompt:
            return (
                "yes"
                if self.judge_verdict(prompt.split("true of it? ")[1].split("\n")[0])
                else "no"
            )
        if "Text:\n" in prompt:
            answer = prompt.split("Text:\n")[-1].split("\nMarked:")[0]
            return ", ".join(
                f"{p.strip()} [{'AD'[self.judge_verdict(p.strip())]}]" for p in answer.split(",")
            )
        return "Entities: There is a thing."

    def audit(self, *arguments: object) -> dict[str, Any]:
        out_dir = self.folder / "out"
        command = [
            "audit",
            "faithscore",
            "--forms",
            "original",
            "--data",
            self.folder,
            "--images",
            self.folder,
            "-q",
            "--out",
            out_dir,
        ]
        outcome = CliRunner().invoke(
            program(),
            [str(argument) for argument in [*command, *arguments]],
            catch_exceptions=False,
        )
        assert outcome.exit_code == 0, outcome.output
        (audit,) = json.loads((out_dir / "audit.json").read_text())["audits"]
        return dict(audit)


def annotation(folder: Path, items: int = 90) -> Released:
    """The annotation of the first so many questions, as the release has it: LLaVA's answers, then
    InstructBLIP's.
    """
    bits = [json.loads(line) for line in LABELS.read_text().splitlines()[1:]]
    rows: list[dict[str, Any]] = []
    marks: dict[str, int] = {}
    facts: dict[str, int] = {}
    for record in [*bits[:items], *bits[90 : 90 + items]]:
        # small letters without d: the official reading takes every capital D or A for a mark
        first = {f"piece {len(marks) + i}": int(bit) for i, bit in enumerate(record["stage 1"])}
        marks |= first
        second = {f"fact {len(facts) + i}": int(bit) for i, bit in enumerate(record["stage 2"])}
        facts |= second
        rows.append(
            {"id": record["id"], "answer": ", ".join(first), "stage 1": first, "stage 2": second}
        )
    (folder / "annotation.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    parts = ("conv", "detail", "complex")
    questions = [
        {"id": r["id"], "instruction": f"What? {i}", "type": parts[i % 3]}
        for i, r in enumerate(rows[:items])
    ]
    (folder / "questions.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in questions))
    for key in {row["id"] for row in rows}:
        Image.new("RGB", (2, 2)).save(folder / f"COCO_val2014_{key}.jpg")
    return Released(folder, marks, facts)


@pytest.fixture(scope="module")
def judged(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Released, dict[str, Any], JudgeServer]]:
    """An audit of a few of the answers in which the judge was also asked about every labelled
    fact.
    """
    released = annotation(tmp_path_factory.mktemp("few"), 9)
    server = JudgeServer(released.reply, delay=0.0)
    try:
        labels = (
            "--recorded",
            released.annotation,
            "--criterion",
            released.annotation,
            "--scoring",
            "paper",
        )
        yield (
            released,
            released.audit(*labels, "--judge", server.name(), "--set", "levels=stage"),
            server,
        )
    finally:
        server.stop()


def estimate_of(audit: dict[str, Any], indicator: str, role: str) -> dict[str, Any]:
    (estimate,) = [
        e for e in audit["estimates"] if (e["indicator"], e["metric"]) == (indicator, role)
    ]
    return dict(estimate)


def test_the_released_annotation_has_the_published_figures(tmp_path: Path) -> None:
    """Jing et al. 2024, section 4.3: 1,380 facts, 2.04 for a descriptive sub-sentence; and the
    scores of both models by people.
    """
    released = annotation(tmp_path)
    audit = released.audit("--recorded", released.annotation, "--criterion", released.annotation)
    scores = [respondent["scores"] for respondent in audit["respondents"]]
    assert [f"{score['faithscore']:.3f}" for score in scores] == ["0.764", "0.780"]
    assert round(sum(score["facts"] * 90 for score in scores)) == 1380
    assert f"{len(released.facts) / sum(released.marks.values()):.2f}" == "2.04"
    assert not [e for e in audit["estimates"] if e["indicator"].startswith("stages.")]


def test_each_stage_is_held_against_the_labels_of_its_own_units(
    judged: tuple[Released, dict[str, Any], JudgeServer],
) -> None:
    """Counts by hand: the judge is wrong on every seventh sub-sentence and every fifth fact."""
    released, audit, _ = judged
    for role, unit, labels in (
        ("recognizer", "sub-sentence", released.marks),
        ("verifier", "fact", released.facts),
    ):
        verdicts = {text: released.judge_verdict(text) for text in labels}
        true_positives = sum(verdicts[t] and labels[t] for t in labels)
        precision, recall = (
            true_positives / sum(verdicts.values()),
            true_positives / sum(labels.values()),
        )
        expected = {
            "precision": precision,
            "recall": recall,
            "f1": 2 * precision * recall / (precision + recall),
            "decided_alike": sum(verdicts[t] == labels[t] for t in labels) / len(labels),
        }
        for name, value in expected.items():
            estimate = estimate_of(audit, f"stages.{name}", role)
            assert estimate["value"] == pytest.approx(value, rel=1e-12), (role, name)
            low, high = estimate["intervals"]["fixed_models"]
            assert 0 < low < value < high < 1
            detail = estimate["detail"]
            assert (detail["unit"], detail["labelled"], detail["units"]) == (
                unit,
                len(labels),
                len(labels),
            )
            assert (detail["not_asked"], detail["unread"], detail["unresolved"]) == (0, 0, 0)
            assert "judge=human" in estimate["other"]
        no = estimate_of(audit, "stages.recall", role)["detail"]["of_no"]
        wrong = [t for t in labels if not labels[t]]
        assert no["value"] == pytest.approx(sum(not verdicts[t] for t in wrong) / len(wrong))
        assert no["low"] < no["value"] < no["high"]


def test_the_report_and_the_terminal_say_what_each_stage_decides(
    judged: tuple[Released, dict[str, Any], JudgeServer],
) -> None:
    released, _, _ = judged
    page = (
        (released.folder / "out" / "evidence.html").read_text()
        if (released.folder / "out" / "evidence.html").exists()
        else ""
    )
    page = page or next((released.folder / "out").glob("*.html")).read_text()
    assert tells(page, "stages.title")
    for role in ("recognizer", "verifier"):
        assert re.search(rf"<t[dh][^>]*>{role}", page), role
    assert f"{len(released.facts)} facts" in page


def test_without_the_level_a_judge_is_not_asked_about_labelled_facts(tmp_path: Path) -> None:
    """The recognizer's replies on whole answers hold its decisions; the verifier was asked about
    other facts.
    """
    released = annotation(tmp_path, 3)
    server = JudgeServer(released.reply, delay=0.0)
    try:
        labels = (
            "--recorded",
            released.annotation,
            "--criterion",
            released.annotation,
            "--scoring",
            "paper",
        )
        audit = released.audit(*labels, "--judge", server.name())
        assert estimate_of(audit, "stages.f1", "recognizer")["value"] is not None
        verifier = estimate_of(audit, "stages.f1", "verifier")
        assert (verifier["value"], verifier["status"], verifier["detail"].get("labelled")) == (
            None,
            "insufficient",
            None,
        )
        assert tells(verifier["reason"], "stages.not-asked", many=len(released.facts), unit="fact")
        assert "levels=stage" in verifier["reason"]
        verified = [
            prompt.split("true of it? ")[1] for prompt in server.prompts if "true of it? " in prompt
        ]
        assert verified
        assert not [statement for statement in verified if statement.startswith("fact")]
    finally:
        server.stop()


def test_replies_that_a_file_brings_are_known_by_what_they_reply_to(tmp_path: Path) -> None:
    """The file has each role's replies in their order; which fact a verifier's reply is about
    follows from the facts before it.
    """
    released = annotation(tmp_path, 3)
    rows = [json.loads(line) for line in released.annotation.read_text().splitlines()]
    lines = []
    for i, row in enumerate(rows):
        item = f"{row['id']}/{('conv', 'detail', 'complex')[i % 3]}"
        whose = {"item": item, "respondent": ("LLaVA", "InstructBLIP")[i // 3]}
        marked = ", ".join(
            f"{text} [{'AD'[released.judge_verdict(text)]}]" for text in row["stage 1"]
        )
        # every fact but the last; one that people did not label comes first
        facts = ["There is a thing", *list(row["stage 2"])[:-1]]
        lines += [
            whose | {"role": "recognizer", "reply": marked},
            whose | {"role": "decomposer", "reply": f"Entities: {'. '.join(facts)}."},
            *(
                whose
                | {"role": "verifier", "reply": "yes" if released.judge_verdict(fact) else "no"}
                for fact in facts
            ),
        ]
    (tmp_path / "replies.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    labels = (
        "--recorded",
        released.annotation,
        "--criterion",
        released.annotation,
        "--scoring",
        "paper",
    )
    audit = released.audit(*labels, "--judgements", f"gpt={tmp_path / 'replies.jsonl'}")
    recognizer, verifier = (
        estimate_of(audit, "stages.decided_alike", "recognizer"),
        estimate_of(audit, "stages.decided_alike", "verifier"),
    )
    assert recognizer["detail"]["units"] == len(released.marks)
    verified = [fact for row in rows for fact in list(row["stage 2"])[:-1]]
    assert (verifier["detail"]["units"], verifier["detail"]["not_asked"]) == (
        len(verified),
        len(released.facts) - len(verified),
    )
    assert verifier["value"] == pytest.approx(
        np.mean([released.judge_verdict(f) == released.facts[f] for f in verified])
    )
    assert verifier["first"].endswith("judge=gpt")


def test_facts_that_a_judge_made_are_labelled_by_people_and_come_back_as_its_stages(
    tmp_path: Path,
) -> None:
    """A judge decomposes and verifies; raters label its own facts; the audit holds both against
    each other, offline.
    """
    released = annotation(tmp_path, 6)
    texts = [json.loads(line)["answer"] for line in released.annotation.read_text().splitlines()]

    def reply(prompt: str, body: dict[str, Any]) -> str:
        if "true of it? " in prompt:
            return "no" if "blue" in prompt.split("true of it? ")[1].split("\n")[0] else "yes"
        if "Text:\n" in prompt:
            answer = prompt.split("Text:\n")[-1].split("\nMarked:")[0]
            return ", ".join(
                f"{p.strip()} [{'DA'[i == 1]}]" for i, p in enumerate(answer.split(","))
            )
        first = prompt.split("Description: ")[-1].split(",")[0].strip()
        return f"Entities: There is {first}. There is a blue {first}."

    store, server = tmp_path / "s.sqlite", JudgeServer(reply, delay=0.0)
    name = server.name()
    try:
        released.audit(
            "--recorded",
            released.annotation,
            "--scoring",
            "paper",
            "--judge",
            name,
            "--store",
            store,
        )
    finally:
        server.stop()
    path = tmp_path / "plan.jsonl"
    plan = [
        "label",
        "plan",
        "faithscore",
        "--data",
        tmp_path,
        "--images",
        tmp_path,
        "--store",
        store,
        "--labels",
        12,
    ]
    plan += ["--schema", "facts", "--raters", "anna,ben,cid", "--overlap", 1, "--out", path]
    assert (
        CliRunner()
        .invoke(program(), [str(argument) for argument in plan], catch_exceptions=False)
        .exit_code
        == 0
    )
    study = Study(path)
    rows = study.plan.by_uid
    assert all(page.answer in texts for page in study.pages.values())
    described = [sentence for page in study.pages.values() for sentence in page.sentences]
    facts = [fact.text for sentence in described for fact in sentence.facts]
    assert len(facts) == 2 * len(rows) == 24
    assert all(
        fact.endswith(sentence.text.rstrip(","))
        for sentence in described
        for fact in (f.text for f in sentence.facts)
    )
    assert all(s.descriptive for s in described), "what the judge decided is not shown"
    assert all(fact.holds is None for s in described for fact in s.facts)
    # all agree with the judge that the second part describes nothing; anna believes that all facts
    # hold, ben and cid that what is blue does not
    for rater in study.plan.raters:
        for uid, page in study.pages.items():
            sentences = [
                Sentence(
                    s.text,
                    i != 1,
                    tuple(
                        Fact(f.text, int(rater == "anna" or "blue" not in f.text)) for f in s.facts
                    ),
                )
                for i, s in enumerate(page.sentences)
            ]
            sentences_json = json.dumps([sentence.to_dict() for sentence in sentences])
            study.labels.add(
                uid, rater, read_reply(study.schema, "save", sentences_json, "", ""), 900
            )
    study.close()
    labels = tmp_path / "labels.csv"
    exported = CliRunner().invoke(
        program(), ["label", "export", str(path), "--to", str(labels)], catch_exceptions=False
    )
    assert exported.exit_code == 0
    with labels.open(newline="") as file:
        first = next(csv.DictReader(file))
    assert set(json.loads(first["stages"])) == {"recognizer", "verifier"}
    audit = released.audit(
        "--offline", "--store", store, "--scoring", "paper", "--judge", name, "--criterion", labels
    )
    verifier, recognizer = (
        estimate_of(audit, "stages.f1", "verifier"),
        estimate_of(audit, "stages.f1", "recognizer"),
    )
    assert (verifier["value"], verifier["detail"]["units"], verifier["detail"]["not_asked"]) == (
        1.0,
        24,
        0,
    )
    assert recognizer["value"] == 1.0
    assert recognizer["detail"]["unread"] == 0


def test_the_mark_of_a_sub_sentence_is_that_of_most_of_its_words() -> None:
    """A recognizer cuts an answer where it likes."""
    from hqm.adapters.faithscore import mark_of

    reply = "A dog sits [D] on a mat, so it waits. [A] Nice."
    assert mark_of("A dog sits on", reply) == "D"
    assert mark_of("on a mat, so it waits.", reply) == "A"
    assert mark_of("sits on", reply) is None  # one word each
    assert mark_of("Nice", reply) is None
    assert mark_of("...", reply) is None


def test_stage_agreement_holds_the_truth_over_pictures() -> None:
    """Units of one picture are alike: 800 studies of 40 pictures, from a generator that knows
    nothing of the interval.
    """
    rng = np.random.default_rng(5)
    coverage: dict[str, list[bool]] = {"precision": [], "f1": []}

    def draw_units(
        pictures: int,
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        member = np.repeat(np.arange(pictures), rng.integers(2, 14, pictures))
        hard = rng.beta(0.6, 3, pictures)[member]
        human = (rng.random(len(member)) < 0.8 - 0.4 * hard).astype(float)
        wrong = rng.random(len(member)) < hard
        return np.where(wrong, 1 - human, human), human, member

    big = psy.stage_agreement(*draw_units(40_000))
    for _ in range(800):
        study = psy.stage_agreement(*draw_units(40))
        for name, is_covered in coverage.items():
            bounds = getattr(study, name).fixed
            is_covered.append(bounds.low <= getattr(big, name).value <= bounds.high)
    # .95, less three standard errors of a share over 800 studies
    for name, is_covered in coverage.items():
        assert np.mean(is_covered) >= 0.927, name


def test_weights_and_missing_decisions() -> None:
    judge, human, weights = [1, 1, 0, 0, np.nan, 1], [1, 0, 1, 0, 1, np.nan], [4, 1, 2, 1, 9, 9]
    study = psy.stage_agreement(judge, human, weights=weights)
    assert (study.both_yes, study.judge_only, study.people_only, study.both_no, study.n) == (
        4,
        1,
        2,
        1,
        4,
    )
    assert study.precision.value == pytest.approx(4 / 5)
    assert study.recall.value == pytest.approx(4 / 6)
    assert study.f1.value == pytest.approx(8 / 11)
    assert study.f1_no.value == pytest.approx(2 / 5)
    assert study.agreement.value == pytest.approx(5 / 8)
    assert psy.stage_agreement([np.nan], [1]).f1.status == "insufficient"
    assert psy.stage_agreement([0, 0], [0, 0]).precision.status == "degenerate"
    with pytest.raises(ValueError, match="0, 1 or NaN"):
        psy.stage_agreement([0.5], [1])


class Halves(hqm.Benchmark):
    """A benchmark of one's own whose judge says of each half of an answer whether it is true."""

    roles = ("verifier",)

    @property
    def stages(self) -> dict[str, hqm.Stage]:
        return {"verifier": hqm.Stage("half", "true", "false")}

    async def judge(self, item: Item, response: Response, ask: hqm.AskJudge) -> hqm.Verdict:
        verdicts = [
            await self.decide("verifier", item, response, half, ask)
            for half in response.text.split(" and ")
        ]
        return hqm.Verdict(float(all(verdicts)), {"n": 1.0, "correct": float(all(verdicts))})

    async def decide(
        self, role: str, item: Item, response: Response, unit: str, ask: hqm.AskJudge
    ) -> bool | None:
        reply = await ask(role, f"Is this true: {unit}?", image=item.image)
        return {"yes": True, "no": False}.get(reply)


def test_any_judged_benchmark_may_have_stages(dogs: Path) -> None:
    """What a stage says is read by the adapter; a reply that says neither, or none at all, is kept
    and counted.
    """
    loaded = hqm.load(dogs)
    benchmark = Halves(loaded.card, loaded.data)
    item, answer = loaded.original.items[0], Response("a dog and a cat")
    replies = {"a dog": "yes", "a cat": "no", "a bird": "hm"}

    async def ask(role: str, prompt: str, image: str | None = None, schema: Any = None) -> str:
        half = prompt.removeprefix("Is this true: ").rstrip("?")
        if half not in replies:
            raise hqm.NoReply("the server is gone")
        return replies[half]

    units = [Unit("verifier", item, answer, text) for text in (*replies, "a cow")]
    verdicts = decisions(benchmark, units, lambda _: ask)
    assert [verdict.value for verdict in verdicts] == [1.0, 0.0, None, None]
    assert [verdict.state for verdict in verdicts] == ["ok", "ok", "unparsed", "error"]


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ('{"verifier": {"a": 2}}', "the stages are"),
        ('{"verifier": {"a": true}}', "the stages are"),
        ('{"judged": {"a": 1}}', "the stages are"),
        ("no", "the stages are"),
    ],
)
def test_stages_that_cannot_be_read_are_refused(
    dogs: Path, tmp_path: Path, stages: str, message: str
) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text(json.dumps({"item": "q0", "label": 1, "stages": stages}))
    benchmark = hqm.load(dogs)
    with pytest.raises(AnswerError, match=message):
        benchmark.read_criterion(path, benchmark.original, None)
