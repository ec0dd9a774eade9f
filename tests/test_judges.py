"""Judges: procedures are asked through a real server, every reply is stored, and judging again
costs only what is new.
"""

import asyncio
import json
import re
import sqlite3
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import hqm
from hqm import Request, Response
from hqm.benchmark.judge_api import fill, parse_judge, read_replies, replay
from hqm.judges.judge_models import Judging
from hqm.judges.procedure import Panel, parse_roles
from hqm.respondents import make_respondent
from tests.conftest import KillableCommand, Run
from tests.judge_server import JudgeServer
from tests.messages import text_of
from tests.servers import VLLM_OF_WORDS, PlannedServer, program

MODULE = '''
"""Answers are split into facts by one model and each fact is checked by another, which sees the picture."""
import asyncio
import re
from hqm import Benchmark, Metric, Verdict, mean_of

CARD = {
    "name": "facts", "title": "Facts", "version": "1", "task": "vqa", "types": ["existence"],
    "data": {"items": "items.jsonl", "images": "images"}, "scoring": {"audited": ["faithful_facts"]},
}

class Facts(Benchmark):
    """Share of facts that the picture bears out."""

    metrics = (Metric("faithful_facts", mean_of("right", "facts"), about="Share of right facts."),)
    roles = ("decomposer", "verifier")

    async def judge(self, item, response, ask):
        reply = await ask("decomposer", f"List the facts: {response.text}")
        facts = [line for line in reply.splitlines() if line.strip()]
        if not facts:
            return Verdict.unscored("unparsed", "no facts were listed")
        votes = await asyncio.gather(*(ask("verifier", f"Is it right? {fact}", item.image) for fact in facts))
        said = [re.match(r"(yes|no)", vote.lower()) for vote in votes]
        if None in said:
            return Verdict.unscored("unparsed", "a vote says neither yes nor no")
        right = sum(match[1] == "yes" for match in said)
        return Verdict(right / len(facts), {"right": float(right), "facts": float(len(facts))})
'''


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    """A judged benchmark in one file: eight questions about four pictures."""
    from PIL import Image

    folder = tmp_path / "facts"
    (folder / "images").mkdir(parents=True)
    rows = []
    for i in range(8):
        Image.new("RGB", (4, 4), (60 * (i // 2), 9, 9)).save(folder / "images" / f"{i // 2}.png")
        rows.append(
            {
                "id": f"q{i}",
                "prompt": "What is in the image?",
                "target": "-",
                "image": f"{i // 2}.png",
            }
        )
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "facts.py").write_text(MODULE)
    return folder / "facts.py"


@pytest.fixture
def answers(tmp_path: Path, facts: Path) -> Path:
    """Four respondents in two runs; an answer's words are its facts, those that start with x are
    wrong.
    """
    rows = [
        {
            "respondent": name,
            "form": "original",
            "run": run,
            "item": f"q{i}",
            "answer": " ".join(f"{'x' if (i + j + run) % 5 < k else 'a'}{i}{j}" for j in range(4)),
        }
        for k, name in enumerate("abcd")
        for run in (0, 1)
        for i in range(8)
    ]
    path = tmp_path / "answers.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def reply(prompt: str, body: dict[str, object]) -> str:
    """The scripted judge: lists words, and calls those wrong that start with x."""
    if prompt.startswith("List the facts:"):
        return "\n".join(prompt.removeprefix("List the facts:").split()) + "\n"
    return "No, it is nöt." if prompt.split()[-1].startswith("x") else "Yes ✓"


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    running = JudgeServer(reply)
    yield running
    running.stop()


def share(rows: list[dict[str, object]], name: str, run: int) -> float:
    words = [
        w
        for r in rows
        if (r["respondent"], r["run"]) == (name, run)
        for w in str(r["answer"]).split()
    ]
    return sum(not w.startswith("x") for w in words) / len(words)


def audited(tmp_path: Path) -> dict[str, object]:
    return json.loads((tmp_path / "out" / "audit.json").read_text())["audits"][0]  # type: ignore[no-any-return]


def test_repeated_judgements_count_where_other_models_play_all_roles(
    run: Run, facts: Path, answers: Path, server: JudgeServer, tmp_path: Path
) -> None:
    roles = (f"roles=decomposer={server.name('ears')}", f"roles=verifier={server.name('eyes')}")
    command = ("audit", facts, "--recorded", answers, "--out", tmp_path / "out", "-q")
    options = ("--judge", server.name(), "--set", roles[0], "--set", roles[1])
    assert run(*command, *options, "--set", "rejudge=2")[0] == 0
    cells = audited(tmp_path)["respondents"][0]["cells"]  # type: ignore[index]
    assert sum(hqm.Cell.parse(cell).judge.endswith("#1") for cell in cells) == 1


def test_a_plan_counts_what_a_judge_is_asked_of_all_administrations(
    run: Run, facts: Path, answers: Path, server: JudgeServer, tmp_path: Path
) -> None:
    command = ("audit", facts, "--recorded", answers, "-q", "--store", tmp_path / "s.sqlite")
    plan = (*command, "--judge", server.name(), "--dry-run", "--json")
    (judge,) = json.loads(run(*plan)[1])["judges"]
    rows = [json.loads(line) for line in answers.read_text().splitlines()]
    assert judge["askings"] == len(rows) == 64
    # of stored answers each wording is one question, whatever run it is from
    hqm.run(facts, recorded=answers, store=tmp_path / "s.sqlite", forms="original")
    planned = json.loads(run(*plan, "--set", "rejudge=2")[1])
    n_answers = len({row["answer"] for row in rows})
    n_repeated = len({row["answer"] for row in rows if row["run"] == 0})
    assert planned["judging"] == {server.name(): n_answers + n_repeated}
    assert planned["judges"] == []
    assert server.prompts == []


def test_an_audit_asks_every_role_once_and_scores_from_the_store(
    run: Run, facts: Path, answers: Path, server: JudgeServer, tmp_path: Path
) -> None:
    command = (
        "audit",
        facts,
        "--recorded",
        answers,
        "--out",
        tmp_path / "out",
        "-q",
        "--judge",
        server.name(),
    )
    command = (*command, "--forms", "original", "--set", f"roles=verifier={server.name('eyes')}")
    status, _, err = run(*command)
    assert status == 0, err
    rows = [json.loads(line) for line in answers.read_text().splitlines()]
    audit = audited(tmp_path)
    for respondent in audit["respondents"]:  # type: ignore[attr-defined]
        for cell, scores in respondent["cells"].items():
            parsed_cell = hqm.Cell.parse(cell)
            assert parsed_cell.judge == f"{server.name()}+verifier={server.name('eyes')}"
            name = respondent["name"].removeprefix("recorded/")
            assert scores["faithful_facts"] == pytest.approx(share(rows, name, parsed_cell.run))
    # equal questions are asked once, whoever's answer they are about; the verifier saw the picture
    assert len(server.prompts) == len(
        {(b["model"], json.dumps(b["messages"])) for b in server.bodies}
    )
    assert {b["model"] for b in server.bodies if len(b["messages"][0]["content"]) == 2} == {"eyes"}
    assert {b["temperature"] for b in server.bodies} == {0.0}
    # a second audit asks nothing
    before = len(server.prompts)
    assert run(*command)[0] == 0
    assert len(server.prompts) == before
    # and without the server the same numbers come from the store
    server.stop()
    assert run(*command, "--offline")[0] == 0
    assert audited(tmp_path)["estimates"] == audit["estimates"]


def test_asking_the_judge_again_gives_its_consistency(
    run: Run, facts: Path, answers: Path, tmp_path: Path
) -> None:
    seeds: dict[str, set[int]] = {}

    def moody(prompt: str, body: dict[str, object]) -> str:
        seeds.setdefault(prompt, set()).add(int(str(body["seed"])))
        verdict = reply(prompt, body)
        # the second asking comes with another seed; every seventh vote turns
        turned = int(str(body["seed"])) % 7 == 0 and verdict.startswith("Yes")
        return "No" if turned else verdict

    server = JudgeServer(moody)
    try:
        command = (
            "audit",
            facts,
            "--recorded",
            answers,
            "--out",
            tmp_path / "out",
            "-q",
            "--judge",
            server.name(),
        )
        command = (*command, "--forms", "original", "--set", "rejudge=2")
        status, _, err = run(*command)
        assert status == 0, err
        assert max(map(len, seeds.values())) == 2, "the reference administration was judged twice"
        audit = audited(tmp_path)
        names = {e["indicator"] for e in audit["estimates"]}  # type: ignore[attr-defined]
        assert "judge_consistency.icc_a1" in names
        assert "test_retest.icc_a1" in names
        mean_shift = next(
            e for e in audit["estimates"] if e["indicator"] == "judge_consistency.mean_shift"
        )  # type: ignore[attr-defined]
        assert (mean_shift["first"], mean_shift["other"]) == (
            f"form=original|run=0|judge={server.name()}",
            f"form=original|run=0|judge={server.name()}#1",
        )
        # a reader sees where the two askings part, in the judge's own words
        judge_examples = [e for e in audit["examples"] if "judge" in e["facets"]]  # type: ignore[attr-defined]
        assert judge_examples
        words = [
            w for e in judge_examples for answer in e["answers"] for w in answer["judge_words"]
        ]
        assert any(w.startswith("verifier: Yes") for w in words)
        assert any(w.startswith("verifier: No") for w in words)
        page = (tmp_path / "out" / "evidence.html").read_text()
        assert "<blockquote>verifier: Yes ✓</blockquote>" in page
        assert "Same judge, second time" in page or "The same judge, second time" in page
    finally:
        server.stop()


def test_a_judge_that_is_started_serves_all_stages_askings_and_administrations(
    run: Run, facts: Path, answers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two stages, three askings, two runs: one server from the first question to the last, and none
    afterwards.
    """
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    vllm = program(tmp_path / "vllm", VLLM_OF_WORDS)
    command = (
        "audit",
        facts,
        "--recorded",
        answers,
        "--out",
        tmp_path / "out",
        "-q",
        "--forms",
        "original",
    )
    status, printed, err = run(
        *command, "--judge", "vllm/some/judge", "--set", f"vllm={vllm}", "--set", "rejudge=2"
    )
    assert status == 0, err
    assert re.search(r"judges asked [1-9]\d\d+, errors 0", printed)
    life = [line.split() for line in (tmp_path / "life.txt").read_text().splitlines()]
    assert [word for word, _ in life] == ["started", "ended"]
    assert not Path(f"/proc/{life[0][1]}").exists()
    assert not list(tmp_path.glob("hqm-vllm-*")), "a server that ended well leaves no log"
    rows = [json.loads(line) for line in answers.read_text().splitlines()]
    for respondent in audited(tmp_path)["respondents"]:  # type: ignore[attr-defined]
        name = respondent["name"].removeprefix("recorded/")
        assert len(respondent["cells"]) == 3, "two runs, and the first judged again"
        for cell, scores in respondent["cells"].items():
            assert scores["faithful_facts"] == pytest.approx(
                share(rows, name, hqm.Cell.parse(cell).run)
            )


@pytest.mark.parametrize("options", [[], ["--blind"]])
def test_a_judge_sees_pictures_on_the_web_that_no_respondent_sees(
    run: Run, facts: Path, answers: Path, server: JudgeServer, tmp_path: Path, options: list[str]
) -> None:
    pictures = {path.name: path.read_bytes() for path in (facts.parent / "images").iterdir()}

    def picture(_number: int, _body: object, headers: dict[str, str]) -> tuple[int, Any, bytes]:
        return 200, {"content-type": "image/png"}, next(iter(pictures.values()))

    with PlannedServer(picture) as web:
        facts.write_text(MODULE.replace('"images": "images"', f'"images": "{web.url}"'))
        command = ["audit", facts, "--no-report", "--recorded", answers, *options]
        command += ["--judge", server.name(), "--set", "allow_private_images=true"]
        status, _, err = run(*command, "--store", tmp_path / "store.sqlite", "--quiet")
    assert status == 0, err
    votes = [body for body in server.bodies if "right?" in json.dumps(body)]
    assert votes
    assert all("data:image/png" in json.dumps(body) for body in votes)


def test_a_schema_is_passed_on_and_left_out_where_a_server_knows_none(tmp_path: Path) -> None:
    from hqm.respondents.base import Request, Sampling

    schema = {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]}
    for knows in (True, False):
        server = JudgeServer(lambda p, b: "{}", refuse="" if knows else "response_format")
        try:
            respondent = make_respondent(server.name())
            request = Request("Label it.", None, Sampling(), 1, schema=schema)
            ((_, response),) = [pair for batch in respondent.answer([request]) for pair in batch]
            assert (response.text, response.state) == ("{}", "ok")
            sent = server.bodies[-1].get("response_format")
            assert (sent["json_schema"]["schema"] == schema) if knows else sent is None
        finally:
            server.stop()


def test_another_judge_is_compared_with_the_first(
    run: Run, facts: Path, answers: Path, server: JudgeServer, tmp_path: Path
) -> None:
    command = (
        "audit",
        facts,
        "--recorded",
        answers,
        "--out",
        tmp_path / "out",
        "-q",
        "--forms",
        "original",
    )
    status, _, err = run(*command, "--judge", server.name(), "--judge", server.name("other"))
    assert status == 0, err
    agreed = next(
        e for e in audited(tmp_path)["estimates"] if e["indicator"] == "judge_agreement.icc_a1"
    )  # type: ignore[attr-defined]
    assert agreed["value"] == 1.0


def test_misfortunes_lose_nothing(run: Run, facts: Path, answers: Path, tmp_path: Path) -> None:
    """429, 500, a cut connection and a gateway's page are retried; what still fails is unscored and
    asked again.
    """
    fatal = {"on": True}

    def trouble(prompt: str, attempt: int) -> str:
        key = re.sub(r"\W", "", prompt)
        kind = ("429", "500", "drop", "", "", "")[sum(map(ord, key)) % 6]
        if fatal["on"] and prompt.startswith("Is it right?") and prompt.endswith("a01"):
            return "broken"
        if fatal["on"] and prompt.startswith("Is it right?") and prompt.endswith("a02"):
            return "nonsense"
        return kind if attempt == 1 else ""

    server = JudgeServer(reply, trouble)
    try:
        command = (
            "audit",
            facts,
            "--recorded",
            answers,
            "--out",
            tmp_path / "out",
            "-q",
            "--judge",
            server.name(),
        )
        command = (*command, "--forms", "original")
        status, _, err = run(*command)
        assert status == 1
        audit = audited(tmp_path)
        states = audit["respondents"][0]["states"]  # type: ignore[index]
        assert sum(by["error"] for by in states.values()) > 0
        fatal["on"], n_before = False, len(server.prompts)
        status, _, err = run(*command)
        assert status == 0, err
        assert 0 < len(server.prompts) - n_before <= 4, "only what failed is asked again"
        states = audited(tmp_path)["respondents"][0]["states"]  # type: ignore[index]
        assert sum(by["error"] for by in states.values()) == 0
    finally:
        server.stop()


def judge_replies(store: Path) -> int:
    """How many replies of a judge are stored, while another process writes."""
    query = (
        "SELECT COUNT(*) FROM answers JOIN respondents ON respondents.id = respondent WHERE name"
        " LIKE 'openai/%'"
    )
    try:
        with closing(sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)) as db:
            return int(db.execute(query).fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def test_a_killed_judging_resumes_and_asks_nothing_twice(
    facts: Path, answers: Path, tmp_path: Path, forked_program: Path
) -> None:
    """SIGKILL in the middle, the same command again in a process as a user starts it."""
    import subprocess
    import time

    server = JudgeServer(reply, delay=0.05)
    try:
        words = ["audit", facts, "--recorded", answers, "--out", tmp_path / "out"]
        words += ["-q", "--forms", "original", "--judge", f"{server.name()}?concurrency=2"]
        first = KillableCommand(forked_program, words, tmp_path)
        while (
            judge_replies(tmp_path / "out" / "store.sqlite") == 0 and first.process.poll() is None
        ):
            time.sleep(0.02)
        first.kill()
        first.process.communicate()
        time.sleep(0.2)
        before = len(server.prompts)
        command = [sys.executable, "-m", "hqm.cli", *map(str, words)]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        assert process.returncode == 0, process.stderr
        distinct = len(set(server.prompts))
        assert before < distinct, "it was killed in the middle"
        # what was in flight when it was killed was never stored: at most a batch of one second
        twice = len(server.prompts) - distinct
        assert twice < before
        with hqm.Store(tmp_path / "out" / "store.sqlite", readonly=True) as store:
            (respondent,) = [n for n, name, _ in store.respondents() if name.startswith("openai/")]
            rows = [row for row in store.rows("answers") if row["respondent"] == respondent]
            assert len(rows) == len({row["ask"] for row in rows}) >= distinct - 4, (
                "no reply is stored twice"
            )
    finally:
        server.stop()


def test_an_unreadable_reply_is_unscored_and_kept(
    run: Run, facts: Path, answers: Path, tmp_path: Path
) -> None:
    server = JudgeServer(lambda p, b: "Perhaps." if p.endswith("a11") else reply(p, b))
    try:
        command = (
            "audit",
            facts,
            "--recorded",
            answers,
            "--out",
            tmp_path / "out",
            "-q",
            "--judge",
            server.name(),
        )
        assert run(*command, "--forms", "original")[0] == 0
        states = audited(tmp_path)["respondents"][0]["states"]  # type: ignore[index]
        assert sum(by["unparsed"] for by in states.values()) > 0
        with hqm.Store(tmp_path / "out" / "store.sqlite", readonly=True) as store:
            assert any(row["text"] == "Perhaps." for row in store.rows("answers"))
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("line", "wrong", "sentence"),
    [
        (
            'ask("verifier", f"Is it right? {fact}", item.image)',
            'ask("verifer", f"Is it right? {fact}", item.image)',
            text_of("judge.role-unknown", role="verifer", roles="decomposer, verifier"),
        ),
        (
            'ask("decomposer", f"List the facts: {response.text}")',
            'ask("judge", f"List the facts: {response.text}")',
            text_of("judge.role-unknown", role="judge", roles="decomposer, verifier"),
        ),
        (
            "right = sum(",
            "right = self.weights[item.id] * sum(",
            text_of("judge.adapter-failed", error="AttributeError", why="'Facts' object has no"),
        ),
        ("right / len(facts)", "right / (len(facts) - 4)", "it failed with ZeroDivisionError"),
        (
            "[line for line in reply.splitlines()",
            "[line for line in item.meta['lines']",
            "failed with KeyError: 'lines'",
        ),
    ],
)
@pytest.mark.parametrize("jointly", [False, True])
def test_a_mistake_in_an_adapter_ends_the_command_with_its_place(
    run: Run,
    facts: Path,
    answers: Path,
    server: JudgeServer,
    tmp_path: Path,
    line: str,
    wrong: str,
    sentence: str,
    jointly: bool,
) -> None:
    """A mistake in `judge()` is no unscored answer: the command ends and names benchmark, item,
    function and remedy.
    """
    assert line in MODULE
    text = MODULE.replace(line, wrong)
    if jointly:
        text += "\n    jointly = True\n"
    facts.write_text(text)
    command = (
        "audit",
        facts,
        "--recorded",
        answers,
        "--out",
        tmp_path / "out",
        "-q",
        "--judge",
        server.name(),
    )
    status, _, err = run(*command, "--forms", "original")
    assert status == 1
    assert err.startswith(f"hqm: facts, item 'q0', Facts.judge ({facts}")
    assert sentence in err
    assert "Correct the" in err
    assert not (tmp_path / "out" / "audit.json").exists()
    # so it does where recorded replies are scored
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers" / "a.jsonl").write_text(json.dumps({"item": "q0", "answer": "a b c d"}))
    rows = [("decomposer", "a\nb\nc\nd"), *[("verifier", "Yes")] * 4, ("judge", "a")]
    replies = [json.dumps({"item": "q0", "role": role, "reply": reply}) for role, reply in rows]
    (tmp_path / "replies.jsonl").write_text("\n".join(replies))
    recorded = (
        "--answers",
        tmp_path / "answers" / "a.jsonl",
        "--judgements",
        tmp_path / "replies.jsonl",
    )
    status, _, err = run("score", facts, *recorded)
    assert status == 1
    assert sentence in err


def test_only_the_reading_of_a_reply_leaves_an_answer_unscored(
    run: Run, facts: Path, answers: Path, server: JudgeServer, tmp_path: Path
) -> None:
    """The same mistake inside `hqm.reading` is about the reply; an exception of its own says so
    too.
    """
    text = MODULE.replace(
        "from hqm import Benchmark, Metric,",
        "from hqm import Benchmark, Metric, UnreadableReply, reading,",
    )
    text = text.replace(
        "        said = [re.match",
        """        for vote in votes:
            with reading(vote):
                {"yes": 1, "no": 0}[vote.split()[0].strip(",").lower()]
            if item.id == "q3":
                raise UnreadableReply("nobody could read this")
        said = [re.match""",
    )
    facts.write_text(text)
    command = (
        "audit",
        facts,
        "--recorded",
        answers,
        "--out",
        tmp_path / "out",
        "-q",
        "--forms",
        "original",
    )
    odd = JudgeServer(lambda p, b: "Perhaps." if p.endswith("a11") else reply(p, b))
    try:
        status, _, err = run(*command, "--judge", odd.name())
    finally:
        odd.stop()
    assert status == 0, err
    audit = audited(tmp_path)
    states = audit["respondents"][0]["states"]  # type: ignore[index]
    assert {by["unparsed"] for by in states.values()} == {2}, "q1 with the reply 'Perhaps.', and q3"
    example_answers = [
        answer
        for example in audit["examples"]  # type: ignore[attr-defined]
        for answer in example["answers"]
    ]
    reasons = {answer["reason"] for answer in example_answers if answer["state"] == "unparsed"}
    assert reasons <= {
        text_of("judge.reply-unread", reply="Perhaps.", error="KeyError: 'perhaps.'"),
        "nobody could read this.",
    }


def test_a_judged_benchmark_needs_a_judge(
    run: Run, facts: Path, answers: Path, tmp_path: Path
) -> None:
    status, _, err = run(
        "audit",
        facts,
        "--recorded",
        answers,
        "--out",
        tmp_path / "out",
        "-q",
        "--forms",
        "original",
    )
    assert status == 2
    assert "--judge" in err
    status, _, err = run(
        "audit",
        facts,
        "--recorded",
        answers,
        "--out",
        tmp_path / "o",
        "-q",
        "--judge",
        "recorded/x",
    )
    assert status == 2
    status, _, err = run(
        "audit", facts, "--recorded", answers, "--judge", "openai/x", "--set", "roles=poet=openai/y"
    )
    assert status == 2
    assert "poet" in err


def test_recorded_replies_are_scored(run: Run, facts: Path, tmp_path: Path) -> None:
    recorded = [
        {"item": "q0", "answer": "a b"},
        {"item": "q1", "answer": "c"},
        {"item": "q2", "answer": "d"},
    ]
    replies = [
        {"item": "q0", "role": "decomposer", "reply": "a\nb"},
        {"item": "q0", "role": "verifier", "reply": "Yes"},
        {"item": "q0", "role": "verifier", "reply": "no"},
        {"item": "q1", "role": "decomposer", "reply": "c"},
        {"item": "q1", "role": "verifier", "reply": "dunno"},
    ]
    labels = "item,label\nq0,0.5\nq1,1\n"
    for name, rows in (("answers.jsonl", recorded), ("replies.jsonl", replies)):
        (tmp_path / name).write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "labels.csv").write_text(labels)
    command = ("score", facts, "--answers", tmp_path / "answers.jsonl", "--json")
    status, _, err = run(*command)
    assert status == 2
    assert "--judgements" in err
    status, output, err = run(
        *command, "--judgements", tmp_path / "replies.jsonl", "--criterion", tmp_path / "labels.csv"
    )
    assert status == 0, err
    audit = json.loads(output)
    assert audit["metrics"] == {"faithful_facts": 0.5}
    assert audit["states"] == {"ok": 1, "unparsed": 1, "error": 1, "missing": 5}
    assert audit["criterion"]["labelled"] == 2
    assert audit["criterion"]["compared"] == 1


def test_replies_are_given_in_their_order() -> None:
    ask = replay({"judge": ["one", "two"]})

    async def two_replies() -> list[str]:
        return await asyncio.gather(ask("judge", "a"), ask("judge", "b"))

    assert asyncio.run(two_replies()) == ["one", "two"]
    with pytest.raises(hqm.NoReply):
        asyncio.run(ask("judge", "c"))


def test_replies_of_unknown_items_and_roles_are_refused(tmp_path: Path, dogs: Path) -> None:
    form = hqm.load(str(dogs)).original
    for row in (
        {"item": "zz", "reply": "x"},
        {"item": "q0", "role": "poet", "reply": "x"},
        {"item": "q0"},
    ):
        (tmp_path / "r.jsonl").write_text(json.dumps(row))
        with pytest.raises(hqm.DataError):
            read_replies(tmp_path / "r.jsonl", form)


def test_names_of_judges_parse_back() -> None:
    assert parse_judge("openai/gpt-4o#2") == ("openai/gpt-4o", 2)
    assert parse_judge("human") == ("human", 0)
    assert parse_roles(["verifier=hf/x/y@main"]) == {"verifier": "hf/x/y@main"}
    with pytest.raises(hqm.UsageError):
        parse_roles(["verifier"])
    assert fill("{a} {b}", a="{b}", b=1) == "{b} 1"


STAGES = (
    MODULE.partition("    async def judge")[0]
    + """
    async def judge(self, item, response, ask):
        first = await ask("verifier", f"Is it right? {response.text}")
        second = await ask("verifier", f"Is it right? {first} {response.text}")
        await ask("decomposer", f"List the facts: {second}")
        await ask("decomposer", f"List the facts: {first} {second}")
        return Verdict(1.0, {"right": 1.0, "facts": 1.0})
"""
)


def test_two_judges_that_need_much_memory_are_loaded_when_they_take_turns(
    facts: Path, tmp_path: Path
) -> None:
    """A judge that several waves ask stays loaded; another one is loaded when it has gone."""
    facts.write_text(STAGES)
    loads: list[str] = []

    class Heavy:
        live = movable = True

        def __init__(self, name: str) -> None:
            self.name, self.loaded = f"hf/{name}", False

        def identity(self) -> dict[str, str]:
            return {"model": self.name}

        def answer(self, requests: Sequence[Request]) -> Iterator[list[tuple[Request, Response]]]:
            loads.extend([] if self.loaded else [self.name])
            self.loaded = True
            assert lister.loaded + checker.loaded == 1, "there is room for one"
            yield [(request, Response(reply(request.prompt, {}))) for request in requests]

        def close(self) -> None:
            self.loaded = False

    lister, checker = Heavy("one"), Heavy("two")
    benchmark = hqm.load(str(facts))
    rows = {"a": [Response(f"x{item.id}") for item in benchmark.original.items]}
    with hqm.Store(tmp_path / "s.sqlite") as store:
        judging = Judging(hqm.Asks(store), benchmark, Panel(lister, {"verifier": checker}))
        for number in (0, 1):
            judged = judging.judge(benchmark.original, rows, number)
            assert judged.asked > 0
            assert judged.errors == 0
        assert loads == ["hf/two", "hf/one"] * 2
        judging.close()
    assert [lister.loaded, checker.loaded] == [False, False]
