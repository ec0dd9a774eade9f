"""The audit against numbers computed by hand from the same answers."""

import json
import math
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import hqm
from hqm import Audit, BenchmarkAudit, Cell, DesignError, Store
from hqm.scoring.parsers import STRICT
from hqm.signature import labelled, scoring_label
from tests.conftest import administered, nightly, recorded, write_benchmark
from tests.messages import pattern_of, tells, text_of

RATES = {"a": 0.95, "b": 0.8, "c": 0.7, "d": 0.6, "e": 0.5}


@pytest.fixture(scope="module")
def quiz(tmp_path_factory: pytest.TempPathFactory) -> hqm.Benchmark:
    """Two hundred yes/no questions on fifty pictures, two types."""
    rows = [
        {
            "id": f"q{i}",
            "prompt": f"Is there a thing {i} in the image?",
            "target": "yes" if i % 3 else "no",
            "image": f"{i // 4}.png",
            "type": "existence" if i % 2 else "ocr",
        }
        for i in range(200)
    ]
    folder = tmp_path_factory.mktemp("quiz") / "mine"
    types = ["existence", "ocr", "action"]
    return hqm.load(str(write_benchmark(folder, rows, types=types, labelled=True)))


def answer_sheets(
    benchmark: hqm.Benchmark, seed: int = 0
) -> dict[str, dict[tuple[str, int], dict[str, str]]]:
    """Five respondents of graded ability, two runs and the flipped form."""
    rng = random.Random(seed)
    forms = {"original": benchmark.original, "parallel": benchmark.parallel(benchmark.original)}
    sheets = {}
    for name, rate in RATES.items():
        sheets[name] = {
            (form, run): {
                item.id: (
                    str(item.target).capitalize() + " indeed" * (form == "parallel")
                    if rng.random() < rate - 0.1 * (form == "parallel")
                    else {"yes": "No.", "no": "Yes."}[item.target]
                )
                for item in forms[form].items
            }
            for form, run in (("original", 0), ("original", 1), ("parallel", 0))
        }
    return sheets


@pytest.fixture(scope="module")
def audited(quiz: hqm.Benchmark, tmp_path_factory: pytest.TempPathFactory) -> BenchmarkAudit:
    answering = [recorded(name, sheet) for name, sheet in answer_sheets(quiz).items()]
    with Store(tmp_path_factory.mktemp("audited") / "store.sqlite") as store:
        return hqm.audit(hqm.gather(quiz, store, administered(store, quiz, answering)))


def accuracies(quiz: hqm.Benchmark, form: str, run: int) -> np.ndarray:
    items = (quiz.original if form == "original" else quiz.parallel(quiz.original)).items
    sheets = answer_sheets(quiz)
    return np.array(
        [
            np.mean([sheets[n][form, run][i.id].lower().startswith(i.target) for i in items])
            for n in RATES
        ]
    )


def test_test_retest_by_hand(audited: BenchmarkAudit, quiz: hqm.Benchmark) -> None:
    x, y = accuracies(quiz, "original", 0), accuracies(quiz, "original", 1)
    r = stats.pearsonr(x, y)
    estimate = audited.estimate("test_retest.pearson")
    assert estimate.value == pytest.approx(r.statistic)
    assert estimate.interval("model_population") is None, "five respondents say nothing of others"
    assert (estimate.n_respondents, estimate.n_items, estimate.unscored, estimate.facet) == (
        5,
        200,
        0,
        "run",
    )
    assert tells(estimate.detail["no_interval_for_others"], "reruns.pearson")
    assert audited.estimate("test_retest.mean_shift").value == pytest.approx(float(np.mean(y - x)))
    s2, lottery = x.var(ddof=1), np.mean(x * (1 - x))
    assert audited.estimate("test_retest.noise_floor").value == pytest.approx(
        s2 / (s2 + lottery / 200)
    )


def test_parallel_forms_by_hand(audited: BenchmarkAudit, quiz: hqm.Benchmark) -> None:
    x, y = accuracies(quiz, "original", 0), accuracies(quiz, "parallel", 0)
    assert audited.estimate("parallel_forms.pearson").value == pytest.approx(
        stats.pearsonr(x, y).statistic
    )
    assert audited.estimate("parallel_forms.mean_shift").value == pytest.approx(
        float(np.mean(y - x))
    )
    assert audited.estimate("parallel_forms.mean_shift").value < -0.05, "the form was made harder"
    yes = audited.estimate("parallel_forms.yes_ratio_shift")
    assert yes.detail["by_respondent"]["recorded/a"][0] == pytest.approx(
        np.mean([t.startswith("Y") for t in answer_sheets(quiz)["a"]["original", 0].values()])
    )
    # a right answer to the flipped form has a second word
    assert audited.estimate("parallel_forms.length_shift").value == pytest.approx(float(np.mean(y)))


def test_item_agreement_by_hand(audited: BenchmarkAudit, quiz: hqm.Benchmark) -> None:
    sheets = answer_sheets(quiz)
    by_hand = [
        np.mean(
            [
                sheets[n]["original", 0][i.id][0] == sheets[n]["original", 1][i.id][0]
                for i in quiz.original.items
            ]
        )
        for n in RATES
    ]
    estimate = audited.estimate("test_retest.item_agreement")
    assert estimate.value == pytest.approx(np.mean(by_hand))
    assert estimate.detail["worst"] == pytest.approx(min(by_hand))


def test_every_estimate_is_signed(audited: BenchmarkAudit) -> None:
    signatures = [estimate.signature for estimate in audited.all_estimates]
    assert len(set(signatures)) == len(signatures)
    parts = dict(
        field.split(":", 1)
        for field in audited.estimate("parallel_forms.pearson").signature.split("|")
    )
    assert list(parts) == [
        "benchmark",
        "data",
        "scorer",
        "metric",
        "form",
        "run",
        "judge",
        "rules",
        "respondents",
        "items",
        "answers",
        "statistic",
        "interval",
        "hqm",
    ]
    assert parts["benchmark"] == "mine@1"
    assert parts["scorer"] == f"{scoring_label('official', 'mine')}({STRICT.label})"
    assert (parts["form"], parts["run"], parts["judge"]) == ("original~parallel", "0", "rule")
    assert parts["rules"] == labelled("form", "yes_no")
    assert parts["items"] == "200"


def test_equal_answers_give_equal_signatures_and_other_answers_do_not(
    quiz: hqm.Benchmark, tmp_path: Path
) -> None:
    signed = []
    for i, seed in enumerate((0, 0, 1)):
        with Store(tmp_path / f"{i}.sqlite") as store:
            respondents = administered(
                store, quiz, [recorded(n, s) for n, s in answer_sheets(quiz, seed).items()]
            )
            signed.append(
                [
                    (e.signature, e.value)
                    for e in hqm.audit(hqm.gather(quiz, store, respondents)).all_estimates
                ]
            )
    assert signed[0] == signed[1]
    assert all(a[0] != b[0] for a, b in zip(signed[0], signed[2], strict=True))


def test_the_json_has_the_documented_shape(audited: BenchmarkAudit) -> None:
    data = json.loads(Audit((audited,), "hqm audit mine").to_json())
    assert {"hqm_version", "command", "audits"} <= set(data)
    benchmark = data["audits"][0]
    assert {"benchmark", "version", "respondents", "estimates", "coverage"} <= set(benchmark)
    assert {"name", "scores"} <= set(benchmark["respondents"][0])
    for estimate in benchmark["estimates"]:
        assert {
            "indicator",
            "metric",
            "facet",
            "first",
            "other",
            "value",
            "status",
            "reason",
            "intervals",
            "n_respondents",
            "n_items",
            "unscored",
            "flags",
            "signature",
        } <= set(estimate)
        assert estimate["status"] == "ok" or estimate["reason"]
        assert all(len(ends) == 2 for ends in estimate["intervals"].values())
    indicators = {estimate["indicator"] for estimate in benchmark["estimates"]}
    assert {"test_retest.pearson", "test_retest.icc_a1", "parallel_forms.icc_a1"} <= indicators


def test_an_audit_survives_json(audited: BenchmarkAudit, tmp_path: Path) -> None:
    audit = Audit((audited,), "hqm audit mine", {"python": "3"})
    (tmp_path / "audit.json").write_text(audit.to_json())
    reloaded = Audit.load(tmp_path / "audit.json")
    assert reloaded.to_json() == audit.to_json()
    assert reloaded.audits[0].all_estimates == audited.all_estimates
    (tmp_path / "audit.json").write_text('{"audits": [{}]}')
    with pytest.raises(hqm.DataError, match=pattern_of("key.missing", key="hqm_version")):
        Audit.load(tmp_path / "audit.json")


OLDER = Path(__file__).with_name("audit_0_1_0.json")
"""An audit as version 0.1.0 wrote it: three respondents, two runs, two wordings, and labels."""


def test_an_audit_of_version_0_1_0_is_read_and_written_as_it_was() -> None:
    older = Audit.load(OLDER)
    assert older.hqm_version == "0.1.0"
    assert "scale" not in older.audits[0].metrics["accuracy"]
    assert older.audits[0].estimate("test_retest.pearson").interval("fixed_models") is None
    stored = json.loads(OLDER.read_text(encoding="utf-8"))
    assert json.loads(older.to_json()) == stored
    stored["audits"][0]["estimates"][0]["n_respondents"] = 99
    with pytest.raises(hqm.DataError, match=pattern_of("audit.older", version="0.1.0")):
        Audit.from_dict(stored)


def test_the_schema_of_an_audit_is_that_of_the_values(audited: BenchmarkAudit) -> None:
    schema = Audit.json_schema()
    audit_json = json.loads(Audit((audited,), "hqm audit mine").to_json())
    examples = {"Audit": audit_json, "BenchmarkAudit": audit_json["audits"][0]}
    examples["RespondentScores"] = audit_json["audits"][0]["respondents"][0]
    examples["Estimate"] = audit_json["audits"][0]["estimates"][0]
    for name, value in examples.items():
        definition = schema["$defs"].get(name, schema)
        assert value.keys() == definition["properties"].keys(), name
        assert definition["additionalProperties"] is False
    assert schema["$defs"]["Estimate"]["properties"]["n_items"]["minimum"] == 0


def test_coverage_counts_labels_and_tells_claims_apart(audited: BenchmarkAudit) -> None:
    assert audited.coverage["existence"] == {
        "type": "existence",
        "claimed": True,
        "items": 100,
        "images": 50,
        "wordings": 100,
        "labelled": True,
        "state": "labelled",
    }
    assert audited.coverage["action"]["state"] == "claimed"
    assert audited.coverage["counting"]["state"] == "absent"
    assert list(audited.coverage) == list(hqm.HALLUCINATION_TYPES)


def test_identical_runs_are_not_informative(quiz: hqm.Benchmark, store: Store) -> None:
    sheets = {
        n: {("original", 0): s["original", 0], ("original", 1): s["original", 0]}
        for n, s in answer_sheets(quiz).items()
    }
    respondents = administered(store, quiz, [recorded(n, s) for n, s in sheets.items()])
    evidence = hqm.gather(quiz, store, respondents)
    # the pictures are looked for unless that is declined
    unseen = hqm.gather(quiz, store, respondents, pictures=False)
    names = [{finding.name for finding in gathered.findings} for gathered in (evidence, unseen)]
    assert names[0] - names[1] == {"image-missing"}
    audited = hqm.audit(evidence)
    for name in ("pearson", "icc_a1", "icc_c1", "item_agreement"):
        estimate = audited.estimate(f"test_retest.{name}")
        assert (estimate.status, estimate.value) == ("not_informative", 1.0)
        assert "by construction" in estimate.reason


def test_too_few_or_equal_respondents_have_a_reason_and_no_number(
    quiz: hqm.Benchmark, tmp_path: Path
) -> None:
    sheets = answer_sheets(quiz)
    with Store(tmp_path / "two.sqlite") as store:
        respondents = administered(store, quiz, [recorded(n, sheets[n]) for n in "ab"])
        estimate = hqm.audit(hqm.gather(quiz, store, respondents)).estimate("test_retest.pearson")
        assert (estimate.value, estimate.status) == (None, "insufficient")
        assert estimate.reason == text_of("correlation.few", respondents=2)
    equal_answers = {
        ("original", run): {i.id: "Yes" for i in quiz.original.items} for run in (0, 1)
    }
    equal_answers["original", 1]["q0"] = "yes!"
    with Store(tmp_path / "same.sqlite") as store:
        respondents = administered(store, quiz, [recorded(n, equal_answers) for n in "abcd"])
        estimate = hqm.audit(hqm.gather(quiz, store, respondents)).estimate("test_retest.pearson")
        assert (estimate.value, estimate.status) == (None, "degenerate")


def test_an_audit_of_nothing_is_one_sentence(quiz: hqm.Benchmark, store: Store) -> None:
    with pytest.raises(DesignError, match="holds no answer to mine"):
        hqm.audit(hqm.gather(quiz, store, []))


def test_unread_answers_are_counted_and_flagged(quiz: hqm.Benchmark, store: Store) -> None:
    sheets = answer_sheets(quiz)
    for sheet in sheets.values():
        for item in list(sheet["original", 0])[:20]:
            sheet["original", 0][item] = "I'm sorry, I can't help with that."
    respondents = administered(store, quiz, [recorded(n, s) for n, s in sheets.items()])
    audited = hqm.audit(hqm.gather(quiz, store, respondents))
    estimate = audited.estimate("test_retest.pearson")
    assert estimate.unscored == 100
    assert "UNPARSED" in estimate.flags
    assert audited.respondents[0].states[audited.reference]["refused"] == 20


def test_a_person_is_a_criterion(quiz: hqm.Benchmark, store: Store, tmp_path: Path) -> None:
    """Labels on 40 items: the benchmark's scores over all items against the people's, as the HQM
    paper correlates them.
    """
    sheets = answer_sheets(quiz)
    respondents = administered(store, quiz, [recorded(n, s) for n, s in sheets.items()])
    rng = random.Random(5)
    sample = list(quiz.original.items)[:40]
    truth = {
        (n, i.id): sheets[n]["original", 0][i.id].strip(".").lower() == i.target
        for n in RATES
        for i in sample
    }
    labels = {key: int(right if rng.random() < 0.9 else not right) for key, right in truth.items()}
    path = tmp_path / "labels.csv"
    path.write_text(
        "item,respondent,label\n"
        + "".join(f"{i},{n},{label}\n" for (n, i), label in labels.items())
    )
    audited = hqm.audit(hqm.gather(quiz, store, respondents, criterion=path))
    human = np.array([np.mean([labels[n, i.id] for i in sample]) for n in RATES])
    estimate = audited.estimate("criterion.pearson")
    assert estimate.value == pytest.approx(
        stats.pearsonr(accuracies(quiz, "original", 0), human).statistic
    )
    assert estimate.other == str(Cell(judge="human"))
    assert (estimate.n_items, estimate.unscored) == (40, 0)
    same_item_means = np.array([np.mean([truth[n, i.id] for i in sample]) for n in RATES])
    assert audited.estimate("criterion.pearson_same_items").value == pytest.approx(
        stats.pearsonr(same_item_means, human).statistic
    )
    by_hand = np.mean([truth[key] == labels[key] for key in truth])
    assert audited.estimate("criterion.item_agreement").value == pytest.approx(by_hand)
    # the labels are stored: the next audit has them without the file
    assert hqm.audit(hqm.gather(quiz, store, respondents)).estimate("criterion.pearson") == estimate


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("item,respondent,label\nq0,a,2\n", "the label is '2'"),
        ("item,respondent,label\nq0,a,yes\n", "the label is 'yes'"),
        ("item,respondent,label\nq0,a,0_1\n", "the label is '0_1'"),
        ("item,respondent,label\nq0,a,\u0661\n", "the label is '\u0661'"),
        ("item,respondent,label\nq0,a,\nq1,a,\n", pattern_of("labels.none-filled", n=2)),
        ("item,respondent,label\nq999,a,1\n", "no item 'q999'"),
        ("item,respondent,label\nq0,zoe,1\n", "no respondent 'zoe'"),
        ("item,respondent,label\nq0,a,1\nq0,a,0\n", "labelled twice"),
        ("item,respondent\nq0,a\n", text_of("labels.no-column")),
        ("item,respondent,label\n", "holds no label"),
    ],
)
def test_a_bad_criterion_file_is_one_sentence(
    quiz: hqm.Benchmark, store: Store, tmp_path: Path, text: str, sentence: str
) -> None:
    respondents = administered(
        store, quiz, [recorded(n, s) for n, s in answer_sheets(quiz).items()]
    )
    (tmp_path / "labels.csv").write_text(text)
    with pytest.raises(hqm.DataError, match=sentence):
        hqm.audit(hqm.gather(quiz, store, respondents, criterion=tmp_path / "labels.csv"))
    assert store.judged("mine") == []


def test_a_metric_that_falls_is_turned_round_against_people(
    make_benchmark: Callable[..., Path], store: Store, tmp_path: Path
) -> None:
    """A hallucination rate falls where people's share of faithful answers rises: the estimate says
    that it was turned.
    """
    (tmp_path / "rate.py").write_text(
        "from hqm import Benchmark, Form, Item, Metric, Response, Verdict, mean_of\nCARD ="
        ' {"name": "rate", "title": "Rate", "version": "1", "task":'
        ' "caption"}\nclass Rate(Benchmark):\n    @property\n    def metrics(self):\n       '
        " return (Metric('rate', mean_of('bad'), 'lower', share=True, about='Share of bad"
        " answers.'),)\n    def read(self):\n        return Form('original', tuple(Item(str(i),"
        " f'Describe {i}.', 'caption') for i in range(30)))\n    def score(self, item, response):\n"
        "        bad = float('bad' in response.text)\n        return Verdict(1 - bad, {'bad': bad,"
        " 'n': 1.0})\n"
    )
    benchmark = hqm.load(str(tmp_path / "rate.py"))
    sheets = {
        n: {("original", 0): {str(i): "bad" if i < 5 * k else "good" for i in range(30)}}
        for k, n in enumerate("abcde")
    }
    respondents = administered(store, benchmark, [recorded(n, s) for n, s in sheets.items()])
    rows = [f"{i},{n},{int(i >= 5 * k)}\n" for k, n in enumerate("abcde") for i in range(30)]
    (tmp_path / "labels.csv").write_text("item,respondent,label\n" + "".join(rows))
    estimate = hqm.audit(
        hqm.gather(benchmark, store, respondents, criterion=tmp_path / "labels.csv")
    ).estimate("criterion.pearson")
    assert estimate.value == pytest.approx(1.0)
    assert "REVERSED" in estimate.flags


@nightly  # docs/tutorial_compare.md has numbers of these answers, printed in every run
@pytest.mark.data
def test_the_real_captions_against_numbers_computed_apart(data: Path, store: Store) -> None:
    """Ten real files: the audit's coefficients against scipy on the scores of `hqm score`, file by
    file.
    """
    from hqm.auditing.one_file import score_file
    from hqm.commands.options import AnsweringOptions, MaterialOptions, RunOptions
    from hqm.commands.session import Session

    session = Session(
        ["coco_chair"],
        store,
        RunOptions(
            material=MaterialOptions(data=data),
            answering=AnsweringOptions(recorded=(data / "pope" / "captions",)),
        ),
    )
    hqm.administer(store, session.jobs())
    audited = hqm.audit(session.evidence(session.benchmarks[0]))
    models = ["instructblip", "llava", "minigpt-4", "mmgpt", "mplug"]
    assert [r.name for r in audited.respondents] == [f"recorded/{m}" for m in models]
    benchmark = hqm.load("coco_chair", data=data)
    scores = [
        {
            m: (
                score_file(
                    benchmark, data / "pope" / "captions" / f"Instruction{i}_{m}.json"
                ).metrics
            )
            for m in models
        }
        for i in (1, 2)
    ]
    for metric in ("chair_i", "chair_s"):
        x, y = (np.array([float(s[m][metric] or math.nan) for m in models]) for s in scores)
        assert audited.estimate("parallel_forms.pearson", metric).value == pytest.approx(
            stats.pearsonr(x, y).statistic
        )
        assert audited.estimate("parallel_forms.mean_shift", metric).value == pytest.approx(
            float(np.mean(y - x))
        )
    lengths = [np.array([float(s[m]["length"] or 0) for m in models]) for s in scores]
    assert audited.estimate("parallel_forms.length_shift", "chair_i").value == pytest.approx(
        float(np.mean(lengths[1] - lengths[0]))
    )
    assert audited.n_items == 2000
    # r of .99 although CHAIRi moves by up to a factor of two: why a correlation alone is no
    # evidence
    assert audited.estimate("parallel_forms.pearson", "chair_i").value > 0.98
    assert audited.estimate("parallel_forms.icc_a1", "chair_i").value < 0.7
