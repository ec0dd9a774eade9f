"""Verdicts are kept in the store: what was scored is not scored again, and nothing else changes."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hqm
from hqm.administration.asks import Asks, StoredRespondent
from hqm.administration.stored_answers import Answers, scoring_digest
from hqm.benchmark.adapter import Adapter
from hqm.scoring.matrix import ScoreMatrix
from hqm.store.database import Store
from hqm.store.verdicts import StoredVerdicts
from hqm.types import Cell, Item, Response, Verdict
from tests.conftest import write_benchmark

ANSWERS = (
    "B",
    "The answer is A.",
    "I cannot tell.",
    "Let us look. "
    + "There is a car in the street, and it is parked. " * 8
    + "So the answer is B.",
    "",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [
        {
            "id": f"{i}",
            "prompt": f"Which car is number {i}?",
            "target": "AB"[i % 2],
            "options": ["the red one", "the blue one"],
        }
        for i in range(5)
    ]
    return write_benchmark(tmp_path / "mine", rows, task="choice")


class Study:
    """A store with the answers of one respondent, and the number of answers that were scored."""

    def __init__(self, folder: Path, path: Path, **settings: str) -> None:
        self.benchmark = hqm.load(str(folder), **settings)
        self.path = path
        with Store(path) as store:
            asks = Asks(store)
            questions = asks.questions(self.benchmark, self.benchmark.original, live=False)
            self.respondent = StoredRespondent("x", store.respondent("x", {}), False, {})
            if not store.count():
                form = self.benchmark.original
                store.record_administration(
                    self.respondent.number,
                    self.benchmark.name,
                    form=form.name,
                    digest=form.digest,
                    run=0,
                )
                texts = [Response(text) for text in ANSWERS]
                store.append(self.respondent.number, 0, list(zip(questions, texts, strict=True)))

    def matrix(self, *, readonly: bool = False) -> tuple[ScoreMatrix, int]:
        scored = []
        with Store(self.path, readonly=readonly) as store, pytest.MonkeyPatch.context() as patch:
            answers = Answers(Asks(store))
            cache = answers.verdicts(self.benchmark, self.benchmark.original)
            verdict = cache.score

            def counted(item: Item, response: Response) -> Verdict:
                scored.append(item.id)
                return verdict(item, response)

            patch.setattr(cache, "score", counted)
            form = self.benchmark.original
            matrix = answers.matrix(self.benchmark, Cell(), form, [self.respondent])
            answers.keep_verdicts()
        return matrix, len(scored)


def same(first: ScoreMatrix, second: ScoreMatrix) -> bool:
    return (
        np.array_equal(first.values, second.values, equal_nan=True)
        and np.array_equal(first.states, second.states)
        and np.array_equal(first.words, second.words, equal_nan=True)
        and list(first.tallies) == list(second.tallies)
        and all(np.array_equal(first.tallies[key], second.tallies[key]) for key in first.tallies)
        and first.answers == second.answers
    )


def test_what_was_scored_is_not_scored_again(folder: Path, tmp_path: Path) -> None:
    study = Study(folder, tmp_path / "s.sqlite")
    first, n_first = study.matrix()
    second, n_second = study.matrix()
    assert (n_first, n_second) == (len(ANSWERS), 0)
    assert same(first, second)
    third, n_third = study.matrix(readonly=True)
    assert n_third == 0
    assert same(first, third)


def test_another_reader_item_or_answer_is_scored_anew(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    Study(folder, path).matrix()
    other, n_other = Study(folder, path, parser="mmmu").matrix()
    assert n_other == len(ANSWERS)
    assert Study(folder, path).matrix()[1] == 0, "verdicts of two readers stand side by side"
    study = Study(folder, path)
    items = list(study.benchmark.original.items)
    items[1] = replace(items[1], target="A")
    study.benchmark.original = replace(study.benchmark.original, items=tuple(items))
    changed, n_changed = study.matrix()
    assert n_changed == 1
    assert not same(changed, other)
    study = Study(folder, path)
    question = study.benchmark.original.items[0]
    with Store(path) as store:
        asks = Asks(store).questions(study.benchmark, study.benchmark.original, live=False)
        number = study.respondent.number
        store.append(number, 0, [(asks[0], Response("A", "ok", "", {"asked": question.id}))])
    assert study.matrix()[1] == 1


@pytest.mark.parametrize("is_log", [False, True], ids=["answers to a folder", "a log"])
def test_a_second_audit_scores_none_of_the_answers_that_it_shows(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_log: bool
) -> None:
    """Long answers, which are scored one by one: those on the page too are taken from the store."""
    answers = tmp_path / "answers.jsonl"
    questions = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]
    rows = [
        {
            "model": model,
            "run": run,
            "id": question["id"],
            "answer": f"We look at car {i}. " * 12 + f"The answer is {'AB'[(i + run * j) % 2]}.",
        }
        for j, model in enumerate(("x", "y"))
        for run in (0, 1)
        for i, question in enumerate(questions)
    ]
    if is_log:
        for row, question in zip(rows, questions * 4, strict=True):
            row |= {"question": question["prompt"], "options": question["options"]}
            row |= {"response": row.pop("answer"), "answer": question["target"]}
    answers.write_text("".join(json.dumps(row) + "\n" for row in rows))
    scored = []
    score = Adapter.score

    def counted(adapter: Adapter, item: Item, response: Response) -> Verdict:
        scored.append(item.id)
        return score(adapter, item, response)

    monkeypatch.setattr(Adapter, "score", counted)
    path = tmp_path / "s.sqlite"
    audited = [str(answers)] if is_log else [str(folder), str(answers)]
    first = hqm.audit(*audited, store=path).evidence
    texts = {row["response" if is_log else "answer"] for row in rows}
    assert len(scored) == len(texts), "each answer once"
    assert first.examples
    scored.clear()
    second = hqm.audit(*audited, store=path).evidence
    assert scored == []
    assert second.examples == first.examples


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("pope", {}),
        ("amber_d", {}),
        ("hal_eval_d", {}),
        ("hallusion_bench", {"mode": "rule"}),
        ("mathvista", {}),
        ("mmmu_pro", {}),
    ],
)
def test_releases_that_rules_score_keep_their_verdicts(
    name: str, settings: dict[str, str], tmp_path: Path
) -> None:
    assert scoring_digest(hqm.load(name, data=tmp_path, **settings))


@pytest.mark.parametrize("name", ["hallusion_bench", "amber_g", "coco_chair"])
def test_releases_that_judges_or_files_score_keep_none(name: str, tmp_path: Path) -> None:
    """What a judge says, and what lies in files beside the items, may change."""
    assert scoring_digest(hqm.load(name, data=tmp_path)) is None


def test_verdicts_of_other_code_are_deleted(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.sqlite"
    study = Study(folder, path)
    study.matrix()
    monkeypatch.setattr(
        "hqm.administration.stored_answers.scoring_digest", lambda benchmark: "other code"
    )
    assert study.matrix()[1] == len(ANSWERS)
    with sqlite3.connect(path) as database:
        codes = {row[0] for row in database.execute("SELECT code FROM verdicts")}
    assert codes == {"other code"}


def test_a_store_without_the_table_and_a_damaged_batch_are_scored(
    folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "s.sqlite"
    study = Study(folder, path)
    first, _ = study.matrix()
    with sqlite3.connect(path) as database:
        database.execute("DROP TABLE verdicts")
    old, n_old = study.matrix(readonly=True)
    assert n_old == len(ANSWERS)
    assert same(first, old)
    with sqlite3.connect(path) as database:
        assert not database.execute(
            "SELECT 1 FROM sqlite_master WHERE name = 'verdicts'"
        ).fetchall()
    assert study.matrix()[1] == len(ANSWERS), "opened for writing, it has the table again"
    for damage in ("{", '{"items": [], "item": [0]}', json.dumps({"verdicts": [[1]]})):
        with sqlite3.connect(path) as database:
            database.execute("UPDATE verdicts SET batch = ?", (damage,))
        assert study.matrix()[1] == len(ANSWERS)
        with sqlite3.connect(path) as database:
            database.execute("DELETE FROM verdicts WHERE id < (SELECT MAX(id) FROM verdicts)")
    assert same(first, study.matrix()[0])


KILLED = """
import os, signal, sys
from hqm.store.database import Store
store = Store(sys.argv[1])
with store._transaction():
    store._db.execute("DELETE FROM verdicts")
    store._db.execute(
        "INSERT INTO verdicts (benchmark, scorer, code, batch) VALUES ('x', 'y', 'z', '{}')"
    )
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_kill_while_writing_loses_nothing(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    study = Study(folder, path)
    first, _ = study.matrix()
    ended = subprocess.run([sys.executable, "-c", KILLED, path], check=False, env=dict(os.environ))
    assert ended.returncode == -signal.SIGKILL
    again, n_again = study.matrix()
    assert n_again == 0
    assert same(first, again)


def test_only_verdicts_that_follow_from_item_and_answer_are_kept(
    folder: Path, tmp_path: Path
) -> None:
    benchmark = hqm.load(str(folder))
    assert scoring_digest(benchmark)
    kind = type(benchmark)
    own_rule = type("Own", (kind,), {"score": lambda self, item, response: Verdict(1.0)})
    own = own_rule(benchmark.card, benchmark.data)
    assert scoring_digest(own) is None
    rules = tmp_path / "words.txt"
    rules.write_text("red")
    own.scoring_files = (rules,)
    first = scoring_digest(own)
    rules.write_text("blue")
    assert first
    assert scoring_digest(own) != first
    assert scoring_digest(hqm.load("shapes_caption"))


def test_equal_verdicts_are_one_object(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        kept = StoredVerdicts(store, "b", "strict:4", "code")
        tally = {"right": 1.0, "n": 1.0, "slot_B": 1.0}
        for i in range(3):
            kept.add("item", f"{i:024}", Verdict(1.0, dict(tally), "ok", "B"))
        kept.save()
        kept.save()
        read = StoredVerdicts(store, "b", "strict:4", "code")
        verdicts = [read.get("item", f"{i:024}") for i in range(3)]
        assert verdicts[0] == Verdict(1.0, tally, "ok", "B")
        assert len(set(map(id, verdicts))) == 1
        assert list(verdicts[0].tally) == list(tally)
        assert read.get("other", f"{0:024}") is None
        assert len(store.verdict_batches("b", "strict:4", "code")) == 1
