"""One contract over every registered benchmark: the same questions asked of each."""

import os

import pytest

import hqm
from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.findings import check_form
from hqm.benchmark.registry import card
from hqm.forms.make_forms import read_form, write_form
from hqm.types import STATES, Form
from tests.conftest import NO_DATA


@pytest.fixture(params=hqm.names(), scope="module")
def benchmark(request: pytest.FixtureRequest) -> Benchmark:
    name = request.param
    if card(name).data.folder and not os.environ.get("HQM_DATA"):
        pytest.skip(NO_DATA)
    return hqm.load(name)


@pytest.fixture
def sample(benchmark: Benchmark) -> Form:
    return Form("original", benchmark.original.items[:50])


def test_items_are_sound(benchmark: Benchmark) -> None:
    form = benchmark.original
    assert form.name == "original"
    assert len(form) > 0
    assert len(form.by_id) == len(form), "ids are unique"
    for item in form.items:
        assert item.prompt.strip()
        # a benchmark of short answers may offer options in some of its questions
        assert item.task == benchmark.card.task or (
            benchmark.card.task == "vqa" and item.task == "choice"
        )
        # a card without types has categories of its own, such as subjects
        assert item.type is None or (item.type in hqm.HALLUCINATION_TYPES) == bool(
            benchmark.card.types
        )
        assert item.type is None or not benchmark.card.types or item.type in benchmark.card.types, (
            "the card claims every type it labels"
        )
        if item.task == "yes_no":
            assert item.target in ("yes", "no")
        if item.task == "choice":
            assert item.target in "ABCDEFGHIJ"[: len(item.options)]


def test_reading_twice_gives_the_same(benchmark: Benchmark) -> None:
    assert hqm.load(benchmark.name).original.digest == benchmark.original.digest


def test_the_parallel_form_shares_ids_and_changes_the_words(
    benchmark: Benchmark, sample: Form
) -> None:
    parallel = benchmark.parallel(sample)
    assert parallel.name == "parallel"
    assert {item.id for item in parallel.items} | {
        excluded.id for excluded in parallel.left_out
    } == set(sample.by_id)
    assert len(parallel.items) >= 0.9 * len(sample)
    for item in parallel.items:
        before = sample.by_id[item.id]
        assert item.rule
        assert benchmark.question_text(item) != benchmark.question_text(before)
        assert (item.type, item.cluster) == (before.type, before.cluster)
        # only a form of the release itself shows another picture, as a screenshot is
        assert item.image == before.image or item.rule.startswith(f"{benchmark.name}.")


def test_a_form_survives_its_file(benchmark: Benchmark, sample: Form, tmp_path) -> None:  # type: ignore[no-untyped-def]
    parallel = benchmark.parallel(sample)
    write_form(parallel, tmp_path / "form.jsonl")
    reread = read_form(tmp_path / "form.jsonl", sample)
    assert reread.digest == parallel.digest


@pytest.mark.parametrize(
    "text",
    [
        "Yes",
        "No",
        "A",
        "blue",
        "A dog sits on a bench.",
        "",
        "I'm sorry, I can't help.",
        "<b>&\x00",
    ],
)
def test_every_answer_gets_a_verdict(benchmark: Benchmark, sample: Form, text: str) -> None:
    for item in (*sample.items[:10], *benchmark.parallel(sample).items[:10]):
        verdict = benchmark.verdict(item, hqm.Response(text))
        assert verdict.state in STATES
        assert verdict.scored == (verdict.value is not None)
        assert verdict.scored or verdict.reason
        assert all(value == value for value in verdict.tally.values()), "no NaN in a tally"
        for judge in benchmark.judges().values():
            assert judge(item, hqm.Response(text)).state in STATES


def test_an_error_is_never_scored(benchmark: Benchmark, sample: Form) -> None:
    verdict = benchmark.verdict(
        sample.items[0], hqm.Response("Yes", "error", "the server answered 500")
    )
    assert (verdict.value, verdict.state, verdict.reason) == (
        None,
        "error",
        "the server answered 500",
    )


def test_metrics_are_named_and_audited(benchmark: Benchmark) -> None:
    names = [metric.name for metric in benchmark.metrics]
    assert len(names) == len(set(names))
    assert all(metric.about for metric in benchmark.metrics)
    assert benchmark.audited[0].name in names
    assert benchmark.metric(names[0]) == benchmark.metrics[0]
    with pytest.raises(hqm.UsageError):
        benchmark.metric("beauty")


def test_findings_are_sentences(benchmark: Benchmark) -> None:
    for finding in (*check_form(benchmark.original), *benchmark.check(benchmark.original)):
        assert finding.name == finding.name.lower()
        assert len(finding.sentence) > 20


def test_both_scorings_load(benchmark: Benchmark) -> None:
    for scoring in benchmark.scorings:
        assert hqm.load(benchmark.name, scoring=scoring).scoring == scoring


def test_the_card_says_where_it_comes_from(benchmark: Benchmark) -> None:
    card = benchmark.card
    assert card.title
    assert card.summary
    assert card.licence
    assert card.url.startswith("https://")
    labelled = {item.type for item in benchmark.original.items}
    assert card.types or labelled.isdisjoint(hqm.HALLUCINATION_TYPES)
