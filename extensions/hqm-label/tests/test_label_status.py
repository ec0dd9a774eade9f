"""Schemas, orders, how a study stands, and what a review of questions comes to."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import krippendorff
import numpy as np
import pytest
from hqm_label.label_schema import (
    Fact,
    Sentence,
    derived_grade,
    parts_of,
    read_reply,
    read_schema,
    schema_names,
)
from hqm_label.label_store import LabelStore
from hqm_label.study import Study, compare_people, status_of
from hqm_label.study_plan import LabelPlan, PlanRow, labels_path, rater_order, write_plan

import hqm
from tests.conftest import Run, write_benchmark
from tests.label_studies import plan_of_answers, store_of_answers
from tests.messages import tells, text_of


@pytest.fixture
def dogs_plan(tmp_path: Path, dogs: Path) -> Path:
    """Two respondents' answers to twelve questions about six pictures, each for three raters; two
    are gold.
    """
    benchmark = hqm.load(str(dogs))
    texts = {item.id: str(item.target) for item in benchmark.original.items}
    store = store_of_answers(tmp_path / "s.sqlite", benchmark, {"a": texts, "b": texts})
    plan_of_answers(
        tmp_path / "plan.jsonl",
        store,
        str(dogs),
        raters=("anna", "ben", "cleo"),
        gold={0: 1.0, 1: 0.0},
    )
    return tmp_path / "plan.jsonl"


def test_an_order_is_a_raters_own_random_and_keeps_pictures_apart() -> None:
    uids = [f"u{i}" for i in range(60)]
    groups = {uid: f"{i // 6}.png" for i, uid in enumerate(uids)}
    orders = {
        rater: rater_order(uids, groups, seed=1, rater=rater) for rater in ("anna", "ben", "cleo")
    }
    assert len({*orders.values()}) == 3
    for order in orders.values():
        assert sorted(order) == sorted(uids)
        assert all(groups[a] != groups[b] for a, b in pairwise(order))
    assert rater_order(uids, groups, seed=1, rater="anna") == orders["anna"]
    assert rater_order(uids, groups, seed=2, rater="anna") != orders["anna"]
    pictures_in_order = [
        groups[uid] for uid in rater_order(uids, groups, seed=1, rater="anna", group="picture")
    ]
    assert sum(a != b for a, b in pairwise(pictures_in_order)) == 9, (
        "each picture's answers stand in a row"
    )
    # the first place is not always the same picture's
    assert (
        len({groups[rater_order(uids, groups, seed=seed, rater="anna")[0]] for seed in range(40)})
        > 5
    )


def test_pictures_are_kept_apart_wherever_that_can_be() -> None:
    groups = dict.fromkeys("abcd", "x") | {"e": "y", "f": "z", "g": "z"}
    for seed in range(50):
        order = rater_order(list(groups), groups, seed=seed, rater="anna")
        assert all(groups[a] != groups[b] for a, b in pairwise(order)), (
            "four of seven: every second place"
        )


@pytest.mark.parametrize("name", schema_names())
def test_a_schema_says_what_a_rater_may_say(name: str) -> None:
    schema = read_schema(name)
    assert schema.guide
    assert schema.question.endswith("?")
    assert schema.in_words(None) == "Cannot say"
    assert all(schema.in_words(value) for value in schema.values)


def test_replies_are_checked_against_their_schema() -> None:
    binary, spans, review = (read_schema(name) for name in ("binary", "spans", "review"))
    assert read_reply(binary, "0", "", "", " hm ") == {"label": 0, "note": "hm"}
    assert read_reply(binary, "?", "", "", "") == {"label": None}
    marked = json.dumps([{"start": 2, "end": 5, "type": "object"}])
    assert read_reply(spans, "save", marked, "", "", "a dog")["spans"] == [
        {"start": 2, "end": 5, "type": "object"}
    ]
    assert read_reply(spans, "save", "[]", "", "", "a dog") == {"label": 1, "spans": []}
    assert read_reply(review, "wrong key", "", " no ", "") == {"label": "wrong key", "target": "no"}
    for schema, choice, detail, text in (
        (binary, "2", "", ""),
        (binary, "", "", ""),
        (binary, "save", "", ""),
        (review, "fix text", "", "  "),
        (spans, "save", "{", ""),
        (spans, "save", '[{"start": 2, "end": 9, "type": "object"}]', ""),
        (spans, "save", '[{"start": true, "end": 2, "type": "object"}]', ""),
        (spans, "save", '[{"start": 1, "end": 2, "type": "planet"}]', ""),
        (spans, "1", "[]", ""),
        (spans, "save", "[" * 10_000, ""),
    ):
        with pytest.raises(hqm.UsageError):
            read_reply(schema, choice, detail, text, "", "a dog")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('name = "x"\nkind = "choice"\nquestion = "?"', "needs [[choices]]"),
        ('name = "x"\nkind = "spans"\nquestion = "?"', "needs [[types]]"),
        ('name = "x"\nkind = "chioce"\nquestion = "?"', "Did you mean 'choice'?"),
        ('nam = "x"\nkind = "choice"\nquestion = "?"', "name"),
        (
            (
                'name = "x"\nkind = "choice"\nquestion = "?"\n[[choices]]\nvalue = 1\nkey ='
                ' "u"\ntext = "U"'
            ),
            text_of("schema.key-taken", key="u"),
        ),
        (
            (
                'name = "x"\nkind = "choice"\nquestion = "?"\n[[choices]]\nvalue = 1\nkey ='
                ' "1"\ntext = "A"\n[[choices]]\nvalue = 2\nkey = "1"\ntext = "B"'
            ),
            "the key '1' stands twice",
        ),
        ("name = ", "no TOML"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused(tmp_path: Path, text: str, fault: str) -> None:
    (tmp_path / "own.toml").write_text(text)
    with pytest.raises(hqm.DataError) as raised:
        read_schema("own.toml", tmp_path)
    assert fault in str(raised.value)
    with pytest.raises(hqm.UsageError, match="Did you mean 'binary'"):
        read_schema("binray")


def test_the_grade_follows_from_the_facts_as_in_the_paper() -> None:
    """FaithScore: 1 all wrong, 2 more than half, 4 fewer than a third, 3 else, 5 none; exactly half
    is 3 here.
    """
    expected = {(2, 2): 1, (2, 3): 2, (1, 2): 3, (1, 3): 3, (1, 4): 4, (2, 6): 3, (0, 4): 5}
    for (wrong, count), grade in expected.items():
        facts = tuple(Fact("", 0 if i < wrong else 1) for i in range(count))
        assert derived_grade([Sentence("", facts=facts)]) == grade, (wrong, count)
    assert parts_of("One, two.\nThree") == ("One,", "two.", "Three")


def test_the_status_counts_what_was_said(dogs_plan: Path, run: Run) -> None:
    labels_by_rater = {
        "anna": [1, 0, 1, 1, 0, 1, 1, 0],
        "ben": [1, 0, 0, 1, 0, 1, None, 0],
        "cleo": [1, 1, 0, 1],
    }
    study = Study(dogs_plan)
    for rater, labels in labels_by_rater.items():
        for row, label in zip(study.plan.rows, labels, strict=False):
            study.labels.add(row.uid, rater, {"label": label}, 2000)
    status = status_of(study)
    anna, ben, _ = status.raters
    assert (anna.done, anna.count, anna.seconds, anna.gold_right, anna.gold_done) == (
        8,
        24,
        2.0,
        2,
        2,
    )
    assert (ben.cannot_say, ben.gold_accuracy, status.raters[2].gold_accuracy) == (1, 1.0, 0.5)
    assert anna.time_left == "less than a minute left"
    assert (status.labelled, status.overlapping, status.disagreements, status.adjudicated) == (
        8,
        8,
        3,
        0,
    )
    table = [
        [*(np.nan if v is None else v for v in labels), *[np.nan] * (8 - len(labels))]
        for labels in labels_by_rater.values()
    ]
    by_name = {row.name: row for row in status.agreement}
    alpha = krippendorff.alpha(np.array(table), level_of_measurement="nominal")
    assert by_name["Krippendorff's alpha"].value == pytest.approx(alpha)
    # pairs of raters: 1 of 3 agree on two answers, all on the others that two decided
    assert by_name["raw agreement"].value == pytest.approx((1 + 1 / 3 + 1 / 3 + 1 + 1 + 1 + 1) / 7)
    assert status.width is not None
    # every answer was chosen with the same probability: the plain mean, over pictures
    means = [1, 1 / 3, 1 / 3, 1, 0, 1, 1, 0]
    assert status.width.mean == pytest.approx(np.mean(means))
    totals = np.array(means).reshape(4, 2).sum(axis=1)  # two questions a picture
    error = np.sqrt(4 / 3 * ((totals - 2 * np.mean(means)) ** 2).sum()) / 8
    assert status.width.width == pytest.approx(
        min(2 * 3.182446 * error, 1 - max(0, np.mean(means) - 3.182446 * error)), rel=1e-5
    )
    study.labels.add(study.disagreements()[0], "adjudication", {"label": 0}, by="adjudication")
    assert status_of(study).adjudicated == 1
    study.close()
    code, output, _ = run("label", "status", dogs_plan)
    assert code == 0
    assert "Krippendorff's alpha" in output
    assert "disagreements: 3, settled 1" in output
    code, output, _ = run("label", "status", dogs_plan, "--json")
    assert json.loads(output)["raters"][0]["done"] == 8


def test_a_study_without_labels_has_a_status(dogs_plan: Path, run: Run) -> None:
    code, output, _ = run("label", "status", dogs_plan)
    assert code == 0
    assert tells(output, "label.progress", labelled=0, rows=24)
    assert tells(output, "labels.no-pair")
    assert not labels_path(dogs_plan).exists(), "looking makes no file"


def test_serving_what_cannot_be_served_is_said(dogs_plan: Path, run: Run) -> None:
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        code, _, err = run("label", "serve", dogs_plan, "--port", listener.getsockname()[1])
    assert code == 1
    assert tells(err, "label.port")
    assert "--port" in err
    assert run("label", "serve", dogs_plan, "--group", "pictures")[0] == 2


# --- review ---


@pytest.fixture
def signs(tmp_path: Path) -> Path:
    items = [
        {
            "id": f"q{i}",
            "prompt": f"Is sign {i} red?",
            "target": "yes",
            "image": f"{i}.png",
            "type": "attribute",
            "shop": i,
        }
        for i in range(6)
    ]
    return write_benchmark(
        tmp_path / "signs", items, name="signs", types=["attribute"], labelled=True
    )


def reviewed(
    path: Path, benchmark: str, form: str, replies: list[dict[str, str]], **settings: str
) -> Path:
    """A plan over the items of a form, with the same replies of two reviewers to its first
    items.
    """
    loaded = hqm.load(benchmark)
    rows = tuple(
        PlanRow(uid=f"u{i}", item=item.id, form=form, raters=("anna", "ben"))
        for i, item in enumerate(loaded.original.items)
    )
    schema = "review" if form == "original" else "review_form"
    write_plan(
        LabelPlan(
            benchmark=benchmark, schema=schema, raters=("anna", "ben"), rows=rows, **settings
        ),
        path,
    )  # type: ignore[arg-type]
    with LabelStore(labels_path(path)) as store:
        for i, values in enumerate(replies):
            for rater in ("anna", "ben"):
                store.add(f"u{i}", rater, values)
    return path


def test_a_review_writes_a_benchmark_that_can_be_checked_and_audited(
    signs: Path, tmp_path: Path, run: Run
) -> None:
    replies = [
        {"label": "keep"},
        {"label": "bad picture"},
        {"label": "wrong key", "target": "no"},
        {"label": "fix text", "prompt": "Is it a red sign?"},
        {"label": "keep"},
    ]
    plan = reviewed(tmp_path / "review.jsonl", str(signs), "original", replies)
    with LabelStore(labels_path(plan)) as store:
        store.add("u4", "ben", {"label": "ambiguous subject", "note": "two signs"})
    code, output, _ = run("label", "items", plan, "--out", tmp_path / "signs2")
    assert code == 0
    assert tells(output, "label.reviewed", kept=1, changed=2, left_out=1)
    assert tells(output, "label.open", unresolved=1, unread=1)
    before, after = hqm.load(str(signs)), hqm.load(str(tmp_path / "signs2"))
    assert [item.id for item in after.original.items] == ["q0", "q2", "q3", "q4", "q5"]
    assert after.original.by_id["q2"].target == "no"
    assert after.original.by_id["q3"].prompt == "Is it a red sign?"
    for name in ("q0", "q4", "q5"):
        assert after.original.by_id[name] == before.original.by_id[name]
    assert after.label.startswith("signs@1+review.")
    head, *lines = map(
        json.loads, (tmp_path / "signs2" / "provenance.jsonl").read_text().splitlines()
    )
    assert head["benchmark"] == "signs@1"
    by_item = {line["item"]: line for line in lines}
    assert by_item["q2"]["changed"] == {"target": {"before": "yes", "after": "no"}}
    assert by_item["q4"]["decision"] == "unresolved"
    assert by_item["q4"]["reviews"][1]["note"] == "two signs"
    assert by_item["q5"]["decision"] == "unread"
    answers = tmp_path / "answers.jsonl"
    answers.write_text(
        "".join(
            json.dumps({"respondent": respondent, "item": f"q{i}", "answer": "Yes"}) + "\n"
            for respondent in "abc"
            for i in (0, 2, 3, 4, 5)
        )
    )
    code, output, err = run(
        "audit", tmp_path / "signs2", "--recorded", answers, "--out", tmp_path / "out", "--quiet"
    )
    assert code == 0, err
    with LabelStore(labels_path(plan)) as store:
        store.add("u4", "adjudication", {"label": "ambiguous subject"}, by="adjudication")
    run("label", "items", plan, "--out", tmp_path / "signs2")
    assert "q4" not in hqm.load(str(tmp_path / "signs2")).original.by_id
    assert run("label", "items", plan, "--out", signs)[0] == 1, (
        "a folder that is no review is not written over"
    )


def test_the_wordings_of_a_form_are_reviewed_and_taken_by_an_audit(
    signs: Path, tmp_path: Path, run: Run
) -> None:
    form = tmp_path / "parallel.jsonl"
    assert run("forms", signs, "--out", form)[0] == 0
    replies = [
        {"label": "keep"},
        {"label": "drop"},
        {"label": "fix text", "prompt": "Is sign 2 not red?"},
    ]
    plan = reviewed(
        tmp_path / "wordings.jsonl", str(signs), "parallel", replies, form_file=str(form)
    )
    form_path = tmp_path / "reviewed.jsonl"
    code, printed, _ = run("label", "items", plan, "--out", form_path)
    assert code == 0
    assert tells(printed, "label.reviewed", kept=1, changed=1, left_out=1)
    from hqm.forms.make_forms import read_form

    read = read_form(form_path, hqm.load(str(signs)).original)
    assert [left.reason for left in read.left_out] == ["people: drop"]
    assert read.by_id["q2"].prompt == "Is sign 2 not red?"
    assert form_path.with_name("reviewed.provenance.jsonl").is_file()
    assert (
        run("check", signs, "--form", f"parallel={form_path}", "--ignore", "I", "--exit-zero")[0]
        == 0
    )


def test_a_corrected_key_must_be_one_that_the_item_can_have(
    signs: Path, tmp_path: Path, run: Run
) -> None:
    plan = reviewed(
        tmp_path / "review.jsonl",
        str(signs),
        "original",
        [{"label": "wrong key", "target": "blue"}],
    )
    code, _, err = run("label", "items", plan, "--out", tmp_path / "out")
    assert code == 1
    assert tells(err, "key.corrected-wrong", key="blue")
    empty = replace(Study(plan).plan, schema="binary")
    write_plan(empty, tmp_path / "binary.jsonl")
    assert run("label", "items", tmp_path / "binary.jsonl", "--out", tmp_path / "out2")[0] == 2


def test_a_choice_without_its_text_is_unresolved(signs: Path, tmp_path: Path, run: Run) -> None:
    """As another tool gives it, which does not ask for the right key."""
    plan = reviewed(tmp_path / "review.jsonl", str(signs), "original", [{"label": "wrong key"}])
    _, output, _ = run("label", "items", plan, "--out", tmp_path / "signs2")
    assert "unresolved 1" in output


def test_gold_is_a_share_of_the_schemas_scale(dogs: Path, tmp_path: Path, run: Run) -> None:
    benchmark = hqm.load(str(dogs))
    texts = {item.id: str(item.target) for item in benchmark.original.items}
    store = store_of_answers(tmp_path / "s.sqlite", benchmark, {"a": texts})
    first, second = list(texts)[:2]
    rows = {"one": ["1", "1", "1"], "split": ["1", "1", "0"]}
    for name, labels in rows.items():
        lines = [f"{first},a,{label},{rater}" for label, rater in zip(labels, "xyz", strict=True)]
        lines.append(f"{second},a,0.25,x")
        (tmp_path / f"{name}.csv").write_text("\n".join(["item,respondent,label,rater", *lines]))
    options = ["--store", store, "--labels", 12, "--schema", "likert", "--out"]
    plan = tmp_path / "plan.jsonl"
    split = run("label", "plan", dogs, *options, plan, "--gold", tmp_path / "split.csv")
    assert split[0] == 1
    assert tells(split[2], "label.impossible")
    assert run("label", "plan", dogs, *options, plan, "--gold", tmp_path / "one.csv")[0] == 0
    study = Study(plan)
    for row in study.plan.rows:
        study.labels.add(row.uid, "rater", {"label": 5}, 2000)
    (rater,) = status_of(study).raters
    # 5 is the share 1, and no .25
    assert (rater.gold_right, rater.gold_done) == (1, 2)


def test_an_answer_that_the_owner_cannot_decide_has_no_label(dogs_plan: Path) -> None:
    study = Study(dogs_plan)
    for row in study.plan.rows:
        for rater in ("anna", "ben"):
            study.labels.add(row.uid, rater, {"label": 1}, 2000)
    undecided = study.plan.rows[0].uid
    study.labels.add(undecided, "adjudication", {"label": None}, by="adjudication")
    comparison = compare_people(study)
    assert comparison is not None
    assert sum(row.n for row in comparison.respondents) == len(study.plan.rows) - 1
