"""A short answer that is scored once for many items gets the verdict that each of them gives it."""

import itertools
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

import hqm
from hqm.benchmark.adapter import Adapter
from hqm.benchmark.registry import load_all
from hqm.scoring import score_cache
from hqm.scoring.matrix import MatrixBuilder, ScoreMatrix
from hqm.scoring.parsers import PARSERS
from hqm.scoring.score_cache import VerdictCache, score_on_cores
from hqm.types import Form, Item, Response, Row, State, Verdict

ASKED = (
    "Is there a dog in the image?",
    "Is there no dog in the image?",
    "Is the star larger than the circle?",
    "Is it true that there is a dog?",
    'Is "yes" the right answer to "Is there a dog?"?',
    "Is the number of dogs other than two?",
    "",
)
SAID = (
    "Yes",
    "no.",
    "Yes, there is.",
    "No, there is no dog.",
    "Yes, there is a dog.",
    "There is a cat.",
    "No, the circle is larger than the star.",
    "The star is larger than the circle.",
    "yes and no",
    "I'm sorry, I cannot help with that.",
    "I cannot tell.",
    "...",
    "",
    "No, it isn't, and the sky is cloudy",
    "a match",
)
STATES: tuple[State, ...] = ("ok", "truncated", "error", "refused")


def form_of(prompts: tuple[str, ...]) -> Form:
    """Every question with both targets, plain and turned round."""
    rules = ("", "polar.not", "polar.true")
    combined = itertools.product(prompts, ("yes", "no"), rules)
    items = [
        Item(f"q{i}", prompt, "yes_no", target, rule=rule, part="abc"[i % 3])
        for i, (prompt, target, rule) in enumerate(combined)
    ]
    return Form("original", tuple(items))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    benchmark_folder = tmp_path_factory.mktemp("alike")
    (benchmark_folder / "card.toml").write_text(
        'name = "alike"\ntitle = "Alike"\nversion = "1"\ntask = "yes_no"\n[data]\nitems ='
        ' "items.jsonl"\n'
    )
    (benchmark_folder / "items.jsonl").write_text(
        '{"id": "q0", "prompt": "Is it?", "target": "yes"}\n'
    )
    return benchmark_folder


def same(ours: ScoreMatrix, plain: ScoreMatrix) -> None:
    """Two matrices are the same to the last digit."""
    np.testing.assert_array_equal(ours.values, plain.values)
    np.testing.assert_array_equal(ours.states, plain.states)
    np.testing.assert_array_equal(ours.words, plain.words)
    assert ours.tallies.keys() == plain.tallies.keys()
    for key in plain.tallies:
        np.testing.assert_array_equal(ours.tallies[key], plain.tallies[key])


@pytest.mark.parametrize("reader", sorted(PARSERS))
def test_the_table_of_texts_gives_what_every_item_gives_by_itself(
    folder: Path, reader: str
) -> None:
    plainly = hqm.load(str(folder))
    benchmark = type(plainly)(plainly.card, folder, reader=reader)
    form, rng = form_of(ASKED), np.random.default_rng(0)
    shared = VerdictCache(form.items, benchmark.verdict, benchmark.alike)
    assert 0 < shared.n_classes < len(form.items)
    for run in range(2):  # the second run finds verdicts that the first one made
        with_shared = MatrixBuilder(
            hqm.Cell(run=run), form, benchmark.verdict, benchmark.subsets, verdicts=shared
        )
        without_shared = MatrixBuilder(
            hqm.Cell(run=run), form, benchmark.verdict, benchmark.subsets
        )
        for r in range(30):
            rows: list[Row | None] = []
            for i in range(len(form.items)):
                state: State = "ok" if r % 3 else STATES[int(rng.choice(4, p=[0.7, 0.1, 0.1, 0.1]))]
                text = (
                    SAID[rng.integers(len(SAID))]
                    if i % 7
                    else f"Yes, number {rng.integers(40)}" + " x" * 200 * (r % 2)
                )
                missing = r % 3 == 0 and rng.random() < 0.1
                rows.append(
                    None if missing else (text, state, "cut short" if state != "ok" else "", i)
                )
            with_shared.add(f"r{r}", rows)
            without_shared.add(f"r{r}", rows)
        same(with_shared.build("same"), without_shared.build("same"))


@pytest.mark.parametrize("name", ["pope", "amber_d", "hal_eval_d"])
def test_a_release_whose_rule_says_what_decides_keeps_its_verdicts(data: Path, name: str) -> None:
    benchmark = next(candidate for candidate in load_all(name, data=data) if candidate.name == name)
    rng = np.random.default_rng(1)
    for scoring in benchmark.scorings:
        scored_so = type(benchmark)(benchmark.card, benchmark.data, scoring=scoring)
        form = Form("original", benchmark.original.items[:300])
        shared = VerdictCache(form.items, scored_so.verdict, scored_so.alike)
        assert 0 < shared.n_classes < 9
        with_shared = MatrixBuilder(
            hqm.Cell(), form, scored_so.verdict, scored_so.subsets, verdicts=shared
        )
        without_shared = MatrixBuilder(hqm.Cell(), form, scored_so.verdict, scored_so.subsets)
        for r in range(5):
            responses = [Response(SAID[k]) for k in rng.integers(len(SAID), size=300)]
            with_shared.add(f"r{r}", responses)
            without_shared.add(f"r{r}", responses)
        same(with_shared.build(), without_shared.build())


def test_no_item_is_looked_at_for_an_answer_that_is_known(folder: Path) -> None:
    benchmark = hqm.load(str(folder))
    form = form_of(ASKED)
    scored: list[str] = []

    def score(item: Item, response: Response) -> Verdict:
        scored.append(response.text)
        return benchmark.verdict(item, response)

    shared = VerdictCache(form.items, score, benchmark.alike)
    builder = MatrixBuilder(hqm.Cell(), form, score, benchmark.subsets, verdicts=shared)
    for text in ("Yes", "No"):
        builder.add(text, [Response(text) for _ in form.items])
    assert 0 < len(scored) == 2 * shared.n_classes < len(form.items)


def test_a_rule_that_says_nothing_of_what_decides_looks_at_every_item(folder: Path) -> None:
    benchmark = hqm.load(str(folder))

    class OwnRule(type(benchmark)):  # type: ignore[misc]
        def score(self, item: Item, response: Response) -> Verdict:
            return Verdict(float(item.id == "q3"), {"n": 1.0}, "ok", "yes")

    own_rule = OwnRule(benchmark.card, folder)
    form = form_of(ASKED)
    assert Adapter.decides(own_rule, form.items[0]) is None
    shared = VerdictCache(form.items, own_rule.verdict, own_rule.alike)
    assert shared.n_classes == 0
    builder = MatrixBuilder(hqm.Cell(), form, own_rule.verdict, own_rule.subsets, verdicts=shared)
    builder.add("a", [Response("Yes") for _ in form.items])
    assert np.flatnonzero(builder.build().values[0] == 1).tolist() == [3]


@pytest.mark.parametrize(
    "name", sorted(name for name in PARSERS if PARSERS[name].for_task("yes_no").name == name)
)
def test_a_reading_depends_on_the_questions_kind_alone_unless_it_is_against_its_words(
    name: str,
) -> None:
    reader = PARSERS[name]
    assert reader.kind is not None
    for text, negated in itertools.product(SAID, (False, True)):
        by_kind: dict[object, set[object]] = {}
        for question in ASKED:
            by_kind.setdefault(reader.kind(question), set()).add(reader(text, question, negated))
        assert reader.needs_question(text) or all(
            len(readings) == 1 for readings in by_kind.values()
        )


LONG = [
    (index % 7, Response(f"Yes, number {index}." + " There is more." * 20)) for index in range(50)
]


def by_number(index: int, response: Response) -> Verdict:
    """A rule that no other process can be given: it stands for one with a file open."""
    number = float(response.text.split()[2].rstrip("."))
    return Verdict(number, {"n": float(index)}, "ok", str(index))


@pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux alone")
@pytest.mark.parametrize("n_cores", [1, 2, 3, 60])
def test_long_answers_scored_on_several_cores_have_the_verdicts_of_one(n_cores: int) -> None:
    verdicts = score_on_cores(lambda *answer: by_number(*answer), LONG, n_cores)
    assert verdicts == [by_number(*answer) for answer in LONG]


@pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux alone")
@pytest.mark.parametrize("ends", ["killed", "raises", "exits", "loses its words"])
def test_a_copy_that_fails_leaves_its_answers_to_the_first_process(ends: str) -> None:
    first = os.getpid()
    processes = [
        verdict.value
        for verdict in score_on_cores(lambda *_: Verdict(float(os.getpid()), {}, "ok", ""), LONG, 3)
        if verdict
    ]
    failing = next(k for k, process in enumerate(processes) if process != first)

    def score(index: int, response: Response) -> Verdict:
        if os.getpid() == first or response != LONG[failing][1]:
            return by_number(index, response)
        if ends == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if ends == "exits":
            os._exit(3)
        if ends == "raises":
            raise hqm.DataError("no key", remedy="Write one.")
        return Verdict(0.0, {}, "ok", (lambda: "a function").__call__)  # type: ignore[arg-type]

    assert len(set(processes)) == 3
    assert score_on_cores(score, LONG, 3) == [
        None if process == processes[failing] else by_number(*answer)
        for process, answer in zip(processes, LONG, strict=True)
    ]


def test_what_a_rule_refuses_is_told_as_on_one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_cache, "_MIN_CHARS_ON_CORES", 1)
    monkeypatch.setattr(score_cache, "_usable_cores", lambda: 2)

    def refuse(item: Item, response: Response) -> Verdict:
        if "number 1." in response.text:
            raise hqm.DataError("no key", remedy="Write one.", location=item.id)
        return by_number(int(item.id[1:]), response)

    cache = VerdictCache(form_of(ASKED).items, refuse)
    # here or in the copy, whichever has the answer
    with pytest.raises(hqm.DataError, match="no key"):
        cache.score_ahead(LONG)
        cache.item_verdict(*LONG[1])


def test_an_administration_with_long_answers_is_scored_once_on_all_cores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(score_cache, "_usable_cores", lambda: 2)
    form, n_scored = form_of(ASKED), 0

    def score(item: Item, response: Response) -> Verdict:
        nonlocal n_scored
        n_scored += 1
        return by_number(form.by_id[item.id] is item, response)

    def matrix() -> ScoreMatrix:
        builder = MatrixBuilder(hqm.Cell(), form, score, lambda _: ())
        for r in range(3):
            answers = [
                Response(
                    f"Yes, number {i * r}." + " There is more." * 20 * (i % 3 > 0), "truncated"
                )
                for i in range(len(form.items))
            ]
            builder.add(f"r{r}", [None, *answers[1:]])
        return builder.build()

    on_one = matrix()
    n_on_one, n_scored = n_scored, 0
    monkeypatch.setattr(score_cache, "_MIN_CHARS_ON_CORES", 1)
    on_two = matrix()
    same(on_one, on_two)
    assert n_on_one / 3 < n_scored < n_on_one  # the others were scored in the copy
