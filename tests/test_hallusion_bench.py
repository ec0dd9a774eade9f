"""HallusionBench on its real file: golden records, oddities, every printed number against a plain
re-implementation.
"""

import asyncio
import json
import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

import hqm
from hqm import AnswerError, Benchmark, Cell, DataError, Form, Response, Verdict
from hqm.auditing.one_file import score_file
from hqm.benchmark.findings import check_form
from hqm.benchmark.judge_api import replay
from hqm.lint.question_checks import faults_of_negation
from hqm.scoring.matrix import MatrixBuilder, ScoreMatrix

pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def records(data: Path) -> list[dict[str, Any]]:
    return list(json.loads((data / "hallusion_bench" / "HallusionBench.json").read_text()))


@pytest.fixture(scope="module")
def benchmark(data: Path) -> Benchmark:
    return hqm.load("hallusion_bench", data=data)


def judged(
    benchmark: Benchmark, form: Form, answers: dict[str, Response], replies: Any
) -> ScoreMatrix:
    """One respondent's matrix from recorded answers and recorded replies."""
    verdicts: dict[str, Verdict] = {}
    for item in form.items:
        try:
            verdicts[item.id] = asyncio.run(
                benchmark.judge(item, answers[item.id], replay(replies.get(item.id, {})))
            )
        except hqm.NoReply as error:
            verdicts[item.id] = Verdict.unscored("error", str(error))
    builder = MatrixBuilder(
        Cell(),
        form,
        lambda item, _: verdicts[item.id],
        benchmark.subsets,
        benchmark.groupings,
        benchmark.relate,
    )
    builder.add("a", [answers[item.id] for item in form.items])
    return builder.build()


# --- the items ---


def test_count_first_tenth_last_and_types(data: Path) -> None:
    items = hqm.load("hallusion_bench", data=data).original.items
    assert len(items) == 1129
    first, tenth, last = items[0], items[9], items[-1]
    assert (first.id, first.target, first.image, first.part) == ("VS_chart_0_0_0", "no", None, "VS")
    assert first.prompt.startswith("Is China, Hongkong SAR, the leading importing country of gold")
    assert (tenth.id, tenth.target, tenth.image) == ("VS_chart_1_0_1", "yes", None)
    assert tenth.prompt.startswith("From 2001 to 2019, Is 2019 exported the most value")
    assert (last.id, last.target, last.image) == ("VD_video_19_2_3", "no", "VD/video/19_2.png")
    # counts per category and subcategory: README and file of the release
    assert Counter((i.part, i.meta["subcategory"]) for i in items) == {
        ("VD", "figure"): 80,
        ("VD", "illusion"): 144,
        ("VD", "math"): 108,
        ("VD", "ocr"): 89,
        ("VD", "video"): 170,
        ("VS", "chart"): 206,
        ("VS", "map"): 96,
        ("VS", "ocr"): 81,
        ("VS", "table"): 155,
    }
    assert Counter(i.type for i in items) == {
        "comparison": 505,
        "ocr": 170,
        "action": 170,
        "attribute": 108,
        "relation": 96,
        "existence": 80,
    }
    assert Counter(i.target for i in items) == {"yes": 484, "no": 645}


def test_oddities(data: Path) -> None:
    benchmark = hqm.load("hallusion_bench", data=data)
    by_name = {
        f.name: f for f in (*check_form(benchmark.original), *benchmark.check(benchmark.original))
    }
    counts = {
        "wh-question": 18,
        "whether": 12,
        "spelling": 18,
        "bare-reference": 76,
        "text-only": 178,
        "instruction": 264,
        "pair-wording": 166,
        "single-pair": 3,
        "twin": 729,
        "contradictory-label": 1,
        "duplicate-question": 3,
    }
    assert {name: by_name[name].count for name in counts} == counts
    assert "346 figures" in by_name["category-collision"].sentence
    assert "332" in by_name["category-collision"].sentence
    assert "166 of 455" in by_name["pair-wording"].sentence


# --- the parallel form ---


def test_1106_questions_flip_and_the_others_are_listed(benchmark: Benchmark) -> None:
    parallel, original = benchmark.parallel_form, benchmark.original.by_id
    assert len(parallel) == 1106
    left = {excluded.id: excluded.reason for excluded in parallel.left_out}
    assert sum("which" in original[i].prompt.lower() for i in left) == 18
    assert sum("negated" in reason for reason in left.values()) == 2
    assert [i for i, reason in left.items() if "both answers" in reason] == [
        f"VD_math_5_0_{q}" for q in range(3)
    ]
    for item in parallel.items:
        before = original[item.id]
        assert {before.target, item.target} == {"yes", "no"}
        # one word is added (or "a" becomes "no"), or the whole is denied or quoted; instructions
        # stay behind
        assert item.prompt.rpartition("?")[2].strip('"”') == before.prompt.rpartition("?")[2]
        assert item.rule in ("polar.not", "polar.no", "polar.false", "polar.quoted")
        signs = (" not ", " no ", " is it false that ", '"no" the right answer')
        assert any(sign in f" {item.prompt.lower()}" for sign in signs)
        assert faults_of_negation(item.prompt) == []


@pytest.mark.parametrize(
    ("key", "flipped"),
    [
        ("VS_chart_0_0_1", "Is it false that Switzerland is the leading importing country of gold"),
        (
            "VD_illusion_0_0_1",
            "Is it false that the right orange circle is larger than the left orange circle?",
        ),
        ("VD_math_2_0_0", "Is it false that angleA + angleB +angleC = 180?"),
        (
            "VS_ocr_0_1_0",
            "According to the image, is it false that π(pi) ranges from 3.1415926 to 3.1415927?",
        ),
        (
            "VS_map_10_0_0",
            (
                "Is it false that the Oyashio Current flows from the south to the north, while the"
                " Kuroshio"
            ),
        ),
        (
            "VD_math_17_0_0",
            (
                "If AE = CE and AB=BC, is it false that BE is perpendicular to AC? Please answer"
                " yes or no."
            ),
        ),
    ],
)
def test_hard_questions_are_negated_where_they_should(
    benchmark: Benchmark, key: str, flipped: str
) -> None:
    assert benchmark.parallel_form.by_id[key].prompt.startswith(flipped)


def test_twenty_pairs_to_read(benchmark: Benchmark) -> None:
    """`pytest -s` prints them; other seeds give others."""
    for item in random.Random(7).sample(benchmark.parallel_form.items, 20):
        before = benchmark.original.by_id[item.id].prompt
        print(f"\n{item.id} [{item.rule}]\n  {before}\n  {item.prompt}")
        assert sorted(before.split()) != sorted(item.prompt.split())


# --- scoring: a rival that follows the published description, over plain lists ---


def share(top: int, bottom: int) -> float:
    return round(100 * top / bottom, 4)


def rival(
    rows: list[dict[str, Any]], check: dict[str, str], agreement: dict[str, str]
) -> dict[str, float]:
    """Every number that the release prints, from verdicts 0, 1, 2 and from whether two answers are
    the same.
    """

    def name(row: dict[str, Any], *keys: str) -> tuple[str, ...]:
        return tuple(row[key] for key in ("category", "subcategory", "set_id", *keys))

    def right(row: dict[str, Any]) -> bool:
        code = check[row["id"]]
        return code == "1" or (code == "2" and row["category"] == "VS" and row["figure_id"] == "0")

    def grouped(selected: list[dict[str, Any]], *keys: str) -> list[list[bool]]:
        groups = defaultdict(list)
        for row in selected:
            groups[name(row, *keys)].append(right(row))
        return list(groups.values())

    def accuracies(selected: list[dict[str, Any]], dot: str) -> dict[str, float]:
        with_figure = [
            row for row in selected if not (row["category"] == "VS" and row["figure_id"] == "0")
        ]
        sets = {
            "aacc": [[right(row)] for row in selected],
            "facc": grouped(with_figure, "figure_id"),
            "qacc": grouped(selected, "question_id"),
            "easy_aacc": grouped(
                [row for row in selected if row["visual_input"] != "2"], "question_id"
            ),
            "hard_aacc": grouped(
                [row for row in selected if row["visual_input"] == "2"], "question_id"
            ),
        }
        numbers = {
            dot + metric: share(sum(map(all, groups)), len(groups))
            for metric, groups in sets.items()
        }
        if dot.count("_"):
            return numbers
        figures = sets["facc"]
        numbers[dot + "figures_wrong"] = share(
            sum(not any(group) for group in figures), len(figures)
        )
        numbers[dot + "figures_inconsistent"] = share(
            sum(any(g) and not all(g) for g in figures), len(figures)
        )
        numbers[dot + "figure_score"] = round(
            sum(sum(g) / len(g) for g in figures) / len(figures), 4
        )
        causes = Counter(filter(None, map(cause, selected)))
        for cause_name in ("lh", "vi", "mixed"):
            numbers[dot + cause_name] = share(causes[cause_name], sum(causes.values()))
        return numbers

    firsts = {name(row, "question_id"): check[row["id"]] for row in rows if row["figure_id"] == "0"}

    def cause(row: dict[str, Any]) -> str | None:
        verdict, first_verdict = check[row["id"]], firsts[name(row, "question_id")]
        alike = agreement[row["id"]] == "1"
        table: dict[tuple[str, str], str | None]
        if row["figure_id"] == "0":
            if row["category"] == "VD":
                return None if verdict == "1" else "vi"
            return "lh" if verdict == "0" else None
        if row["category"] == "VD":
            table = {
                ("1", "0"): "mixed" if alike else "vi",
                ("1", "2"): "vi",
                ("0", "0"): "vi",
                ("0", "2"): "vi",
                ("2", "0"): "vi",
                ("2", "2"): "vi",
            }
        else:
            edited = "lh" if alike else "vi"
            table = {
                ("0", "0"): "lh" if alike else "mixed",
                ("0", "2"): "mixed",
                ("2", "0"): "vi",
                ("2", "2"): "vi",
                ("1", "2"): "vi",
                ("1", "0"): edited if row["visual_input"] == "2" else "vi",
            }
        return table.get((first_verdict, verdict))

    numbers = accuracies(rows, "")
    for category in ("VD", "VS"):
        of_category = [row for row in rows if row["category"] == category]
        numbers |= accuracies(of_category, f"{category.lower()}.")
        for kind in {row["subcategory"] for row in of_category}:
            numbers |= accuracies(
                [row for row in of_category if row["subcategory"] == kind],
                f"{category.lower()}_{kind}.",
            )
    truths = [row["gt_answer"] == "1" for row in rows]
    inferred = [right(row) == truth for row, truth in zip(rows, truths, strict=True)]
    wrong = [truth for row, truth in zip(rows, truths, strict=True) if not right(row)]
    numbers["yes_diff"] = sum(inferred) / len(rows) - sum(truths) / len(rows)
    numbers["fp_ratio"] = (len(wrong) - sum(wrong)) / len(wrong)
    return numbers


@pytest.mark.parametrize("seed", range(6))
def test_every_number_is_the_releases_own(
    data: Path, tmp_path: Path, records: Any, seed: int
) -> None:
    rng = random.Random(seed)
    weights = [rng.random() + 0.2 for _ in range(3)]
    rows = [
        {**row, "model_prediction": rng.choice(["Yes.", "No.", "I am not sure."])}
        for row in records
    ]
    for row in rows:
        row["id"] = "_".join(
            row[k] for k in ("category", "subcategory", "set_id", "figure_id", "question_id")
        )
        row["gpt4v_output_gpt_check"] = rng.choices("012", weights)[0]
        row["same"] = rng.choice("01")
    if (
        seed > 3
        # a file may lack questions, if not those about figure 0; what is printed is over those it has
    ):
        rows = [row for row in rows if row["figure_id"] == "0" or rng.random() < 0.7]
    path = tmp_path / "result.json"
    path.write_text(json.dumps(rng.sample(rows, len(rows))))
    benchmark = hqm.load("hallusion_bench", data=data)
    form, answers = benchmark.read_answers(path, benchmark.original)
    matrix = judged(benchmark, form, dict(answers), benchmark.read_replies(path, form))
    expected = rival(
        rows,
        {r["id"]: r["gpt4v_output_gpt_check"] for r in rows},
        {r["id"]: r["same"] for r in rows},
    )
    metrics = {m.name: float(matrix.printed(m)[0]) for m in benchmark.metrics}
    assert {name: metrics[name] for name in expected} == expected
    assert set(metrics) - set(expected) == {"unclear"}
    assert matrix.unscored() == 0


REPLIES = {
    "Correct": 1,
    "The prediction is incorrect.": 0,
    "“correct”": 1,
    "INCORRECT": 0,
    "unclear": 2,
    "": 2,
    "I agree": 2,
    "not correct": 1,
}


@pytest.mark.parametrize(("reply", "code"), REPLIES.items())
def test_a_reply_is_read_as_the_release_reads_it(data: Path, reply: str, code: int) -> None:
    benchmark = hqm.load("hallusion_bench", data=data)
    item = benchmark.original.by_id["VD_illusion_0_0_0"]
    verdict = asyncio.run(benchmark.judge(item, Response("Yes."), replay({"judge": [reply]})))
    assert (verdict.value, verdict.tally["unclear"]) == (float(code == 1), float(code == 2))


def test_paper_scoring_leaves_an_unreadable_reply_out(data: Path) -> None:
    benchmark = hqm.load("hallusion_bench", data=data, scoring="paper")
    item = benchmark.original.by_id["VD_illusion_0_0_0"]
    verdict = asyncio.run(benchmark.judge(item, Response("Yes."), replay({"judge": ["I agree"]})))
    assert (verdict.value, verdict.state) == (None, "unparsed")
    assert "I agree" in verdict.reason
    with pytest.raises(hqm.NoReply):
        asyncio.run(benchmark.judge(item, Response("Yes."), replay({})))


def test_the_second_question_is_asked_of_errors_alone(data: Path) -> None:
    benchmark = hqm.load("hallusion_bench", data=data)
    prompts: list[str] = []

    async def ask(role: str, prompt: str, image: str | None = None, schema: Any = None) -> str:
        prompts.append(prompt)
        return "incorrect" if len(prompts) == 1 else "same"

    item = benchmark.original.by_id["VD_illusion_0_1_0"]
    response = benchmark.with_context(
        item, Response("No."), {"VD_illusion_0_0_0": Response("It is the same size.")}
    )
    verdict = asyncio.run(benchmark.judge(item, response, ask))
    assert verdict.tally["same"] == 1.0
    assert len(prompts) == 2
    assert item.prompt in prompts[0]
    assert item.meta["details"] in prompts[0]
    assert "It is the same size." in prompts[1]
    assert item.prompt not in prompts[1]
    first = benchmark.original.by_id["VD_illusion_0_0_0"]
    assert benchmark.context_items(first) == ()


def test_a_bare_reference_turns_round_with_its_question(data: Path) -> None:
    benchmark = hqm.load("hallusion_bench", data=data)
    item = benchmark.parallel_form.by_id["VS_chart_1_0_3"]
    assert item.meta["details"].strip().lower() == "no"
    prompts: list[str] = []

    async def ask(role: str, prompt: str, image: str | None = None, schema: Any = None) -> str:
        prompts.append(prompt)
        return "correct"

    asyncio.run(benchmark.judge(item, Response("Yes"), ask))
    assert "Reference answer: yes" in prompts[0]


def test_the_rule_compares_yes_and_no(data: Path, tmp_path: Path, records: Any) -> None:
    rng = random.Random(3)
    rows = [
        {**row, "model_prediction": rng.choice(["Yes, it is.", "No.", "no", "Hard to say."])}
        for row in records
    ]
    path = tmp_path / "result.json"
    path.write_text(json.dumps(rows))
    benchmark = hqm.load("hallusion_bench", data=data, mode="rule")
    assert benchmark.roles == ()
    scored = score_file(benchmark, path)
    read = {"Yes, it is.": "1", "No.": "0", "no": "0"}
    pairs = [
        (read[r["model_prediction"]], r["gt_answer"]) for r in rows if r["model_prediction"] in read
    ]
    assert scored.metrics["aacc"] == share(sum(a == b for a, b in pairs), len(pairs))
    assert scored.unscored == len(rows) - len(pairs)
    figures = defaultdict(list)
    for row in rows:
        if not (row["category"] == "VS" and row["figure_id"] == "0"):
            figures[row["category"], row["subcategory"], row["set_id"], row["figure_id"]].append(
                row
            )
    complete = [f for f in figures.values() if all(r["model_prediction"] in read for r in f)]
    right = [all(read[r["model_prediction"]] == r["gt_answer"] for r in f) for f in complete]
    assert scored.metrics["facc"] == share(sum(right), len(right)), (
        "a figure with an unread answer drops out"
    )


# --- files ---


def test_the_released_sample_is_read(data: Path) -> None:
    path = data / "hallusion_bench" / "HallusionBench_result_sample.json"
    benchmark = hqm.load("hallusion_bench", data=data)
    form, answers = benchmark.read_answers(path, benchmark.original)
    assert (len(form), len(answers)) == (254, 254)
    assert (
        answers["VD_illusion_0_0_1"].text
        == "No, the right and left orange circles appear to be the same size."
    )
    with pytest.raises(DataError, match="gpt4v_output_gpt_check"):
        benchmark.read_replies(path, form)
    paper = hqm.load("hallusion_bench", data=data, scoring="paper", mode="rule")
    assert score_file(paper, path).n == 1129
    official = score_file(hqm.load("hallusion_bench", data=data, mode="rule"), path)
    assert official.n == 254
    assert official.states["ok"] > 200


def test_other_releases_and_questions_are_refused(data: Path, tmp_path: Path, records: Any) -> None:
    benchmark = hqm.load("hallusion_bench", data=data)
    row = {**records[0], "model_prediction": "Yes"}
    path = tmp_path / "result.json"
    for rows, sentence in (
        ([{**row, "set_id": "99"}], "no question VS_chart_99_0_0"),
        ([{**row, "question": "Is it?"}], "reads otherwise"),
        ([row, row], "answered twice"),
    ):
        path.write_text(json.dumps(rows))
        with pytest.raises(AnswerError, match=sentence):
            benchmark.read_answers(path, benchmark.original)


def test_vd_and_vs_files_lie_in_a_folder(data: Path, tmp_path: Path, records: Any) -> None:
    for category in ("VD", "VS"):
        rows = [
            {**r, "model_prediction": "Yes", "gpt4v_output_gpt_check": "1", "same": "1"}
            for r in records
            if r["category"] == category
        ]
        (tmp_path / f"hallusion_output_{category.lower()}_model.json").write_text(json.dumps(rows))
    benchmark = hqm.load("hallusion_bench", data=data)
    form, answers = benchmark.read_answers(tmp_path, benchmark.original)
    assert len(answers) == 1129
    assert benchmark.read_replies(tmp_path, form)["VS_chart_0_0_0"] == {
        "judge": ["correct", "same"]
    }


def test_official_prompts_are_read_from_the_releases_program(data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "hallusion_bench"
    folder.mkdir()
    (folder / "HallusionBench.json").symlink_to(data / "hallusion_bench" / "HallusionBench.json")
    benchmark = hqm.load("hallusion_bench", data=tmp_path, prompts="official")
    with pytest.raises(DataError, match=r"utils\.py"):
        benchmark.prompt("correctness")
    (folder / "utils.py").write_text(
        "def evaluate_by_chatgpt(data, output_entry):\n"
        "    for sample in data:\n"
        "        prompt = 'Judge. Question:'\n"
        "        prompt += sample['question']\n"
        "        prompt += '\\nReference answer: '\n"
        "        prompt += sample['gt_answer_details']\n"
        "        prompt += '\\nPrediction answer:'\n"
        "        prompt += sample[output_entry]\n"
    )
    assert (
        benchmark.prompt("correctness")
        == "Judge. Question:{question}\nReference answer: {reference}\nPrediction"
        " answer:{prediction}"
    )


def test_an_audit_by_figures_and_pairs(data: Path, tmp_path: Path) -> None:
    """Metrics over groups go through the whole audit: scores, intervals, agreement of the forms."""
    from tests.conftest import administered, recorded

    benchmark = hqm.load("hallusion_bench", data=data, mode="rule")
    rng = random.Random(1)
    respondents = []
    for skill in (0.6, 0.75, 0.9, 0.97):
        answers = {}
        for form in (benchmark.original, benchmark.parallel_form):
            opposite = {"yes": "no", "no": "yes"}
            answers[form.name, 0] = {
                i.id: i.target if rng.random() < skill else opposite[str(i.target)]
                for i in form.items
            }
        respondents.append(recorded(f"skill{skill}", answers))
    with hqm.Store(tmp_path / "store.sqlite") as store:
        administered_respondents = administered(store, benchmark, respondents)
        audit = hqm.audit(
            hqm.gather(benchmark, store, administered_respondents, metrics=["aacc", "facc", "qacc"])
        )
    for respondent in audit.respondents:
        for name in ("facc", "qacc"):
            low, high = respondent.intervals[name]
            score = respondent.scores[name]
            assert score is not None
            assert low is not None
            assert high is not None
            assert low < score < high
            assert score < (respondent.scores["aacc"] or 0)
        assert sum(respondent.scores[name] or 0 for name in ("lh", "vi", "mixed")) == pytest.approx(
            100, abs=2e-4
        )
    retest = audit.estimate("parallel_forms.pearson", "facc")
    assert (retest.value or 0) > 0.9
