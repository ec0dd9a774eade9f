"""What makes large audits fast changes no result: it is compared here with the plain way."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hqm
from hqm.administration.asks import StoredRespondent
from hqm.errors import AnswerError, HQMError
from hqm.files import studies
from hqm.files.records import first_record, read_records
from hqm.forms import tag_cache
from hqm.imports import recordings
from hqm.imports.recordings import read_recordings
from hqm.lint import answer_leaks
from hqm.psychometrics.inference.significance import benjamini_hochberg
from hqm.scoring.matrix import align
from hqm.signature import digest_all
from hqm.store.database import ask
from hqm.types import Form, Item, Response, Verdict

TEXTS = ("Yes", "No", "Yes, there is.", "I cannot tell.")
RESPONDENTS, RUNS, ITEMS = 4, 3, 12


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A yes/no benchmark and a store with every respondent's answers in three runs."""
    folder = tmp_path_factory.mktemp("speed")
    (folder / "card.toml").write_text(
        'name = "speed"\ntitle = "Speed"\nversion = "1"\ntask = "yes_no"\n[data]\nitems ='
        ' "items.jsonl"\n'
    )
    rows = (
        {"id": f"q{i}", "prompt": f"Is there a thing {i}?", "target": ("yes", "no")[i % 2]}
        for i in range(ITEMS)
    )
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    benchmark, rng = hqm.load(str(folder)), np.random.default_rng(0)
    with hqm.Store(folder / "store.sqlite") as store:
        asks = hqm.Asks(store).questions(benchmark, benchmark.original, True)
        for r in range(RESPONDENTS):
            respondent = store.respondent(f"hf/model-{r}", {"kind": "hf"})
            for run in range(RUNS):
                store.record_administration(
                    respondent, "speed", form="original", digest=benchmark.original.digest, run=run
                )
                texts = rng.choice(TEXTS, ITEMS)
                store.append(
                    respondent,
                    run,
                    [(a, Response(str(t))) for a, t in zip(asks, texts, strict=True)],
                )
    return folder


def test_an_answer_that_comes_back_is_scored_once(folder: Path) -> None:
    benchmark, scored = hqm.load(str(folder)), []
    score = benchmark.score

    def counted(item: Item, response: Response) -> Verdict:
        scored.append((item.id, response.text))
        return score(item, response)

    vars(benchmark)["score"] = counted
    with hqm.Store(folder / "store.sqlite", readonly=True) as store:
        respondents = [
            StoredRespondent(name, number, True) for number, name, _ in store.respondents()
        ]
        answers = hqm.Answers(hqm.Asks(store))
        matrices = [
            answers.matrix(benchmark, hqm.Cell(run=k), benchmark.original, respondents)
            for k in range(RUNS)
        ]
        assert len(scored) == len(set(scored)) > ITEMS
        for run, matrix in enumerate(matrices):
            form, fresh_answers = benchmark.original, hqm.Answers(hqm.Asks(store))
            expected = fresh_answers.matrix(benchmark, hqm.Cell(run=run), form, respondents)
            np.testing.assert_array_equal(matrix.values, expected.values)
            np.testing.assert_array_equal(matrix.words, expected.words)
            assert list(matrix.tallies) == list(expected.tallies)
            assert matrix.answers == expected.answers
            responses = [
                fresh_answers.responses(benchmark, form, respondent, run)
                for respondent in respondents
            ]
            plain = [
                [benchmark.verdict(i, a).value for i, a in zip(form.items, row, strict=True) if a]
                for row in responses
            ]
            np.testing.assert_array_equal(matrix.values, np.array(plain, dtype=float))


def test_aligning_copies_nothing_that_stays_and_orders_the_rest(folder: Path) -> None:
    benchmark = hqm.load(str(folder))
    with hqm.Store(folder / "store.sqlite", readonly=True) as store:
        respondents = [
            StoredRespondent(name, number, True) for number, name, _ in store.respondents()
        ]
        answers = hqm.Answers(hqm.Asks(store))
        first, second = (
            answers.matrix(benchmark, hqm.Cell(run=k), benchmark.original, respondents)
            for k in range(2)
        )
    aligned = align(first, second)
    assert aligned[0] is first
    assert aligned[1] is second
    rows, columns = [2, 0, 3], [7, 1, 5, 0]
    turned = second.take(
        [second.respondents[r] for r in rows], [second.items[c].id for c in columns]
    )
    np.testing.assert_array_equal(turned.values, second.values[np.ix_(rows, columns)])
    first_aligned, second_aligned = align(first, replace(turned))
    assert (
        first_aligned.respondents
        == second_aligned.respondents
        == tuple(first.respondents[r] for r in sorted(rows))
    )
    assert [item.id for item in second_aligned.items] == [
        first.items[c].id for c in sorted(columns)
    ]
    np.testing.assert_array_equal(
        second_aligned.values, second.values[np.ix_(sorted(rows), sorted(columns))]
    )


def test_the_hash_of_many_texts_is_that_of_their_bytes_each_closed_by_nul() -> None:
    parts = [f"ok text {i} é \ud800" for i in range(2_500)]
    for texts in (parts, parts[:1000], parts[:1], []):
        plain = hashlib.blake2b(digest_size=12)
        for text in texts:
            plain.update(text.encode("utf-8", "surrogatepass") + b"\0")
        assert digest_all(iter(texts)) == f"b2:{plain.hexdigest()}"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("lines.jsonl", '\n {"a": 1}\n{"a": 2}\n'),
        ("array.json", ' [{"a": 1}, {"a": 2}]'),
        ("table.csv", "a,b\n1,2\n3,4\n"),
        ("empty.jsonl", " \n"),
    ],
)
def test_the_first_record_of_every_shape_of_file(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert first_record(tmp_path / name) == read_records(tmp_path / name)[:1]


def test_recorded_answers_that_are_equal_are_kept_once_and_faults_are_still_seen(
    folder: Path, tmp_path: Path
) -> None:
    form, path = hqm.load(str(folder)).original, tmp_path / "answers.jsonl"
    rows = [
        {"id": f"q{i}", "response": "Yes", "respondent": "m", "run": run}
        for run in (0, 1)
        for i in range(ITEMS)
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    first, second = read_recordings(path, {"original": form})
    assert (first.run, second.run, len(first.answers)) == (0, 1, ITEMS)
    assert (
        len({id(answer) for recorded in (first, second) for answer in recorded.answers.values()})
        == 1
    )
    # True equals 1, but is no run
    path.write_text("\n".join(map(json.dumps, [*rows, {**rows[0], "run": True}])))
    with pytest.raises(HQMError, match="no count"):
        read_recordings(path, {"original": form})
    path.write_text("\n".join(map(json.dumps, [*rows, rows[0]])))
    with pytest.raises(AnswerError, match="answered twice"):
        read_recordings(path, {"original": form})


@pytest.mark.parametrize(
    "columns",
    [
        {"item": "q{}", "answer": "Yes"},
        {"id": "q{}", "response": "Yes"},
        {"question_id": "q{}", "prompt": "Is it {}?", "text": "Yes"},
        {"id": "q{}", "prediction": "Yes", "answer": "yes", "image": "{}.png"},
        {"id": "q{}", "model_answer": "Yes", "gold": "yes", "question": "Is it {}?"},
    ],
    ids=lambda columns: " ".join(columns),
)
def test_rows_whose_answer_was_met_before_are_not_looked_at_field_by_field(
    columns: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[str] = []
    respond = recordings._response

    def noted(record: Mapping[str, object], location: str) -> Response:
        looked_at.append(location)
        return respond(record, location)

    monkeypatch.setattr(recordings, "_response", noted)
    items = [Item(f"q{i}", f"Is it {i}?", "yes_no", "yes", image=f"{i}.png") for i in range(ITEMS)]
    path = tmp_path / "answers.jsonl"
    rows = [
        {**{name: cell.format(i) for name, cell in columns.items()}, "run": run}
        for run in range(RUNS)
        for i in range(ITEMS)
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    recorded = read_recordings(path, {"original": Form("original", tuple(items))})
    assert [(each.run, len(each.answers)) for each in recorded] == [(r, ITEMS) for r in range(RUNS)]
    assert len(looked_at) <= RUNS  # the first of each run
    # what rows say of their items is checked in the short way too
    for name, cell in columns.items():
        if "Is it" in cell:
            rows[-1][name] = "Where is the red bicycle?"
            path.write_text("\n".join(map(json.dumps, rows)))
            with pytest.raises(AnswerError, match=str(RUNS * ITEMS)):
                read_recordings(path, {"original": Form("original", tuple(items))})


def test_tails_and_ranks_are_those_of_scipy_to_the_last_digit() -> None:
    from scipy import stats

    from hqm.psychometrics.inference import distributions as ours

    rng = np.random.default_rng(0)
    share = np.append(rng.random(500), [0, 1, 0.5, np.nan])
    n, k = rng.integers(0, 300, share.size), rng.integers(-3, 300, share.size)
    table = rng.integers(0, 6, (7, 30)).astype(float)
    table[2, 3], table[3, 4] = np.nan, np.inf
    with np.errstate(all="ignore"):
        for value, theirs in (
            (ours.binomial_above(k, n, share), stats.binom.sf(k, n, share)),
            *(
                (ours.average_ranks(table, axis), stats.rankdata(table, axis=axis))
                for axis in (None, 0, 1)
            ),
        ):
            np.testing.assert_array_equal(value, theirs)
    for size in range(2, 40):
        a, b = rng.integers(0, 9, size) / 7, rng.integers(0, size, size) / 3
        np.testing.assert_array_equal(ours.kendall_tau(a, b), stats.kendalltau(a, b).statistic)
        p = rng.random(size) ** 3
        np.testing.assert_array_equal(benjamini_hochberg(p), stats.false_discovery_control(p))


def test_what_a_store_keeps_ends_with_the_next_write_of_anybody(tmp_path: Path) -> None:
    question = ask("Is it red?")
    with (
        hqm.Store(tmp_path / "store.sqlite") as store,
        hqm.Store(tmp_path / "store.sqlite") as second_store,
    ):
        respondent = store.respondent("hf/tiny", {})
        assert store.answered(respondent, 0) == set()
        store.append(respondent, 0, [(question, Response("", "error", "no"))])
        assert store.answered(respondent, 0) == set()
        rows = store.answer_rows(respondent, 0)
        assert store.answer_rows(respondent, 0) is rows
        second_store.append(
            respondent, 0, [(question, Response("Yes", detail={"seconds": 0.5, "p": {"yes": 1.0}}))]
        )
        assert [row[0] for row in store.answer_rows(respondent, 0).values()] == ["Yes"]
        assert len(store.answered(respondent, 0)) == 1
        assert (store.seconds(respondent), store.usage(respondent).answers) == ((1, 0.5), 2)
        assert list(store.details(respondent, 0, "p").values()) == [
            {"seconds": 0.5, "p": {"yes": 1.0}}
        ]
        second_store.append(respondent, 1, [(question, Response("Yes", detail={"seconds": 0.5}))])
        assert (store.details(respondent, 1, "p"), store.seconds(respondent)) == ({}, (2, 1.0))


def _version(changed: Mapping[str, str], library: str) -> str:
    """The version of a library, or that to which it was changed."""
    return changed.get(library) or importlib.metadata.version(library)


def test_what_rules_made_of_texts_is_read_back_until_the_rules_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HQM_CACHE", str(tmp_path / "cache"))
    rules, calls, texts = tmp_path / "rules.py", list[str](), [f"text {i} é" for i in range(150)]

    def rule(text: str) -> list[str]:
        calls.append(text)
        return [text.upper()]

    def tag(selected: list[str]) -> list[list[str]]:
        tag_cache._rules_digest.cache_clear()
        reading = tag_cache.RuleCache("upper", rule, (rules,))
        values = [reading(text) for text in selected]
        reading.keep()
        new_calls, calls[:] = list(calls), []
        return [*values, new_calls]

    rules.write_text("first")
    few_tags = tag(texts[:20])
    assert few_tags[-1] == tag(texts[:20])[-1] == texts[:20], "a few are not worth a file"
    first = tag(texts)
    assert (first[-1], tag(texts)) == (texts, [*first[:-1], []])
    (file,) = (tmp_path / "cache" / "readings").iterdir()
    file.write_text("[broken")
    assert tag(texts) == first
    rules.write_text("second")
    assert tag(texts) == first
    assert [path.name == file.name for path in (tmp_path / "cache" / "readings").iterdir()] == [
        False
    ]
    changed_versions: dict[str, str] = {}
    monkeypatch.setattr(tag_cache, "version", partial(_version, changed_versions))
    for library in ("HanTa", "lemminflect"):
        changed_versions[library] = "0"
        assert tag(texts) == first, library
    monkeypatch.setenv("HQM_CACHE", str(rules))
    assert tag(texts) == first, "where nothing can be written, it is made again"


def test_a_study_of_an_earlier_command_is_that_of_a_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HQM_CACHE", str(tmp_path / "cache"))
    items = []
    for i in range(250):
        target = ("yes", "no")[i % 3 % 2]
        prompt = f"Is there a {('dog', 'cat')[i % 2]} {i} {target} here?"
        items.append(
            Item(str(i), prompt, "yes_no", target, image=f"{i // 2}.png", type="ab"[i % 2])
        )
    form, n_made, make = Form("original", tuple(items)), [0], answer_leaks._make_study

    def count_studies(*arguments: Any) -> answer_leaks.Leaks:
        n_made[0] += 1
        return make(*arguments)

    def study(form: Form = form) -> tuple[str, int]:
        answer_leaks._study.cache_clear()
        studies._code_digest.cache_clear()
        n_made[0] = 0
        return repr(answer_leaks.leaks_in(form)), n_made[0]

    plain = repr(make(form, 0))
    monkeypatch.setattr(answer_leaks, "_make_study", count_studies)
    assert [study(), study()] == [(plain, 1), (plain, 0)], "equal to the last digit"
    folder = tmp_path / "cache" / "studies"
    (file,) = folder.iterdir()
    for damage in ("[broken", "[]", '{"words": 1}'):
        file.write_text(damage)
        assert [study()[1], study()[1]] == [1, 0]
    # other items, code or versions of libraries are studied anew; the oldest files go
    changed = replace(form, items=(replace(items[0], target="no"), *items[1:]))
    assert study(changed)[1] == 1
    monkeypatch.setattr(answer_leaks, "_SOURCES", ("hqm.types",))
    assert study()[1] == 1
    monkeypatch.setattr(studies, "version", lambda _: "9")
    monkeypatch.setattr(studies, "MAX_STUDIES", 2)
    assert (study()[1], len(list(folder.iterdir()))) == (1, 2)
    few = replace(form, items=form.items[:100])
    assert [study(few)[1], study(few)[1]] == [1, 1], "a few are not worth a file"
    monkeypatch.setenv("HQM_CACHE", str(file))
    file.write_text("a file is no folder")
    assert study() == (plain, 1), "where nothing can be written, it is made again"
