"""Faults that people reported of harnesses, readers, agreement packages, servers and benchmark
releases, each rebuilt small; `tests/public_reports.md` lists them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

import hqm
from hqm import Request, Sampling
from hqm.benchmark.findings import check_form
from hqm.forms.option_references import find_references
from hqm.lint.question_checks import check_words
from hqm.psychometrics import (
    Coefficient,
    cronbach_alpha,
    fleiss_kappa,
    gwet_ac1,
    icc,
    item_agreement,
    krippendorff_alpha,
    pearson,
)
from hqm.respondents.base import RespondentName
from hqm.respondents.openai_server import OpenAIRespondent
from hqm.scoring.parsers import parser
from hqm.scoring.rules import score_choice, score_short, score_yes_no
from hqm.types import LETTERS, Item, Response, Verdict
from tests.conftest import write_benchmark
from tests.servers import JSON, PlannedServer, completion

STRICT = parser("strict")
LIST = Path(__file__).with_name("public_reports.md")


def read_choice(text: str, *options: str) -> Verdict:
    options = options or ("red", "blue", "green", "grey")
    item = Item("1", "Which is it?", "choice", "A", options=options)
    return score_choice(item, Response(text), STRICT)


@pytest.mark.parametrize(
    ("report", "text", "options", "letter"),
    [
        ("Future-House/paper-qa#709", "the answer is 94106 or 94107", ("94107", "94106", "-8"), ""),
        ("Future-House/paper-qa#693", "the answer is 14004", ("94107", "-8", "94106"), ""),
        (
            "Future-House/paper-qa#693",
            "Single Letter Answer:\nThe single letter is E",
            "ABCDE",
            "E",
        ),
        ("jundot/omlx#3668", "The answer is B. Note that A is a common distractor.", (), "B"),
        ("jundot/omlx#3668", "ANSWER IS D. A is incorrect.", (), "D"),
        ("jundot/omlx#3668", "The answer is C because I computed the integral.", LETTERS[:10], "C"),
        ("aniri15/OPD-V#2", "Answer: **D**", (), "D"),
        ("aniri15/OPD-V#2", "I considered (A), but it is incorrect. Final answer: D.", (), "D"),
        ("aniri15/OPD-V#2", "The correct answer is d.", (), "D"),
        (
            "NVIDIA-NeMo/Skills#1526",
            "The gap is small, so \\boxed{\\langle H\\rangle \\ll \\Delta E}.\n\n**Answer: D**",
            LETTERS[:5],
            "D",
        ),
        (
            "open-compass/VLMEvalKit#1552",
            "The correct answer is B. Here's why: A has a lid, and option B is open at the top.",
            (),
            "B",
        ),
        (
            "IBM/AssetOpsBench#477",
            "The temperature and the vibration both point to wear of the bearing.\n\nC",
            (),
            "C",
        ),
        (
            "UKGovernmentBEIS/inspect_ai#721",
            "Let's see. A) is too long, B) fits, C) and D) do not.\n\nANSWER: B",
            (),
            "B",
        ),
        ("open-compass/VLMEvalKit#1560", "Best answer: D", (), "D"),
        ("open-compass/VLMEvalKit#1560", "Best option: C", (), "C"),
        ("UKGovernmentBEIS/inspect_ai#2216", "ANSWER: None of the above", (), ""),
        ("UKGovernmentBEIS/inspect_ai#2216", "ANSWER: Don't know", (), ""),
        ("UKGovernmentBEIS/inspect_ai#2216", "ANSWER: I don't know", tuple(LETTERS[:10]), ""),
        ("UKGovernmentBEIS/inspect_ai#2216", "ANSWER: I DON'T KNOW", tuple(LETTERS[:10]), ""),
        ("antirez/ds4#321", "Answer: It is not B, the answer is D", (), "D"),
        ("antirez/ds4#321", "Answer: rules out C, leaving D", (), "D"),
        ("antirez/ds4#321", "Answer: D, not B", (), "D"),
        (
            "EleutherAI/lm-evaluation-harness#3879",
            "Conclusion: (B). Eliminated: (A), (C), (D).",
            (),
            "B",
        ),
        (
            "EleutherAI/lm-evaluation-harness#3884",
            "The answer is North Sea coast",
            ("North Sea", "North Sea coast"),
            "B",
        ),
        ("openai/evals#424", "Both texts say the same. Answer: B", (), "B"),
        ("EleutherAI/lm-evaluation-harness#2503", "Correct answer is (B)", (), "B"),
        ("EleutherAI/lm-evaluation-harness#2503", " (B)\n", (), "B"),
        ("EleutherAI/lm-evaluation-harness#3842", "정답: C", (), "C"),
        ("citadel-ai/langcheck#204", "Result: 0.5", ("0", "0.5", "1.0"), "B"),
        ("EvolvingLMMs-Lab/lmms-eval#671", "(A) A dog runs.", ("A dog runs.", "A dog sits."), "A"),
        ("TMMMU-Benchmark/evaluation#1", "E", (), ""),
        ("IBM/AssetOpsBench#418", "<think>It may be A, or C.</think>B", (), "B"),
        ("sgl-project/sglang-jax#1306", "It may be A, or C.\n</think>\n\nB", (), "B"),
        ("noonghunna/benchlocal-cli#13", "</think> </think> </think> B", (), "B"),
        ("huggingface/lighteval#869", "<think>The answer is A. Wait, let me check", (), ""),
        (
            "openai/frontier-evals#125",
            "Answer: A\nAfter checking the steps, I need to correct this.\nAnswer: B",
            (),
            "B",
        ),
        (
            "ruixiangcui/AGIEval#3",
            "选项 (B) $3.3\\mathrm{MeV}$。",
            ("1.2MeV", "3.3MeV", "4.4MeV"),
            "B",
        ),
        (
            "EleutherAI/lm-evaluation-harness#2237",
            "Muscle (A) has long cells that do not divide. Shoot tips (B) grow fast. Leaf veins (C)"
            " carry water. The answer is (B).",
            ("Muscle", "Shoot tips", "Leaf veins"),
            "B",
        ),
        ("open-compass/VLMEvalKit#1701", "", (), ""),
        ("open-compass/VLMEvalKit#1701", "<think>Hm.</think> .", (), ""),
        ("stanford-crfm/helm#1816", "All of the above.", ("x-rays", "All of the above."), "B"),
        (
            "zai-org/GLM-V#156",
            "So the answer is <|begin_of_box|>B<|end_of_box|><|user|>",
            (),
            "B",
        ),
        ("FreedomIntelligence/CMB#13", "这些选项中,A和B都是正确的,C和D可能是错误的。", (), ""),
        ("tinyhumansai/openhuman#6184", "<reasoning>Is it A?</reasoning>The answer is B.", (), "B"),
    ],
)
def test_a_choice_is_the_one_that_was_made(
    report: str, text: str, options: tuple[str, ...], letter: str
) -> None:
    verdict = read_choice(text, *options)
    assert (verdict.read if verdict.scored else "") == letter, report


@pytest.mark.parametrize(
    ("report", "text", "read"),
    [
        (
            "open-compass/VLMEvalKit#73",
            "Yes, this is a photo of a churchyard. It shows a stone with a death notice.",
            "yes",
        ),
        ("AoiDragon/POPE#19", "Maybe.", ""),
        ("AoiDragon/POPE#19", "I am not sure whether there is one.", ""),
        (
            "EvolvingLMMs-Lab/lmms-eval#356",
            "No, there is no snowboard in the picture. It shows a man with skis, and behind him"
            " are trees, a lift and two people who wait. The sky is blue and the snow is fresh.",
            "no",
        ),
        ("kuan2jiu99/audio-hallucination#1", "The picture does not contain a dog.", "no"),
        ("CRIPAC-DIG/LogicCheckGPT#1", "Yes, there is a dog next to the bench.", "yes"),
        (
            "0xBakeer/inference-atlas#25",
            "I do not have access to the picture. Therefore, I cannot say.",
            "",
        ),
        ("0xBakeer/inference-atlas#25", "", ""),
        ("confident-ai/deepeval#3098", " yes. ", "yes"),
        ("confident-ai/deepeval#3098", "no.", "no"),
        ("confident-ai/deepeval#3098", " maybe ", ""),
    ],
)
def test_yes_and_no_are_words_not_letters(report: str, text: str, read: str) -> None:
    item = Item("1", "Is there a dog in the picture?", "yes_no", "yes")
    verdict = score_yes_no(item, Response(text), STRICT, False)
    assert (verdict.read if verdict.scored else "") == read, report


@pytest.mark.parametrize(
    ("report", "text", "target", "value"),
    [
        ("stanford-crfm/helm#4337", "The answer is 72, in total, so she earns that much.", "72", 1),
        ("stanford-crfm/helm#4317", "The meeting is at 7:30.", "30", None),
        ("jundot/omlx#3484", "The total is 72 clips, altogether.", "72", 1),
        ("EleutherAI/lm-evaluation-harness#3254", "It costs $29.00.", "29", 1),
        (
            "EleutherAI/lm-evaluation-harness#3210",
            "Factoring gives $y=\\frac{2}{(x+3)(x-2)}$, so there are $\\boxed{2}$ asymptotes.",
            "2",
            1,
        ),
        ("EleutherAI/lm-evaluation-harness#1204", "So he runs 9*60=540 meters\n#### 540", "540", 1),
        ("EleutherAI/lm-evaluation-harness#1303", "The Spice Girls", "Spice Girls", 1),
        ("EleutherAI/lm-evaluation-harness#1303", "Atlanta", "tlanta", 0),
        ("google-deepmind/proeval#19", "The temperature fell to -3.", "-3", 1),
        ("google-deepmind/proeval#19", "The temperature rose to 3.", "-3", 0),
        ("open-compass/VLMEvalKit#638", "So \\boxed{12}. Again: the area is \\boxed{12}.", "12", 1),
        ("open-compass/VLMEvalKit#1313", "2%", "2", 1),
        ("UKGovernmentBEIS/inspect_ai#838", "ANSWER: 60%", "60", 1),
        ("UKGovernmentBEIS/inspect_ai#838", "The answer is 60", "60%", 1),
        ("hassanhabib/The-Standard-Agent#387", "It is 4,183.", "4183", 1),
        ("allenai/semeval-2019-task-10#10", "15/4", "3.75", 1),
        ("GT-Vision-Lab/VQA#7", "none", "none", 1),
        ("GT-Vision-Lab/VQA#7", "1 on left", "one on left", 1),
        ("GT-Vision-Lab/VQA#7", "the 2nd floor", "second floor", 1),
        ("GT-Vision-Lab/VQA#7", "gate 3", "gate four", 0),
        ("Cyanogenoid/pytorch-vqa#5", "cat", "the cat", 1),
        ("EvolvingLMMs-Lab/lmms-eval#794", "Black.", "black", 1),
        ("Orolol/familyBench#2", "1", "1", 1),
        ("Luce-Org/lucebox#112", "\\boxed{\\frac{2}{4}}", "\\frac{1}{2}", 1),
        ("Luce-Org/lucebox#112", "0.5", "$\\frac{1}{2}$", 1),
        ("Luce-Org/lucebox#112", "$1\\frac{1}{2}$", "\\frac{1}{2}", 0),
        ("Luce-Org/lucebox#112", "3/4", "-\\frac{3}{4}", 0),
        ("iDiagoValeta/localOllamaRAG#208", "$N = \\textbf{6}$ identical layers", "6", 1),
        ("iDiagoValeta/localOllamaRAG#208", "$\\mathbf{88.55\\pm0.04}$ percent", "88.55", 1),
        ("iDiagoValeta/localOllamaRAG#208", "$6\\text{B}$ parameters", "6 billion", 1),
        ("huggingface/Math-Verify#61", "$\\boxed{28 pct}$", "$28\\%$", 1),
        ("huggingface/Math-Verify#61", "$\\boxed{28 percent}$", "$28\\%$", 1),
        (
            "EleutherAI/lm-evaluation-harness#3643",
            "The roots differ by $8 - 4 = 4$.\n\n**Answer:** 4.",
            "4",
            1,
        ),
        ("EleutherAI/lm-evaluation-harness#4205", "So it is \\[ \\boxed{42} \\]", "42", 1),
        (
            "scitix/sieval#68",
            "They are $\\boxed{1}$, $\\boxed{2}$, $\\boxed{x=3}$",
            "[1, 2, 3]",
            1,
        ),
    ],
)
def test_a_short_answer_is_its_value(
    report: str, text: str, target: str, value: int | None
) -> None:
    item = Item("1", "What is it?", "vqa", target)
    assert score_short(item, Response(text), STRICT).value == value, report


nan = math.nan


def test_one_disagreement_of_raters_is_no_agreement_beyond_chance() -> None:
    """pln-fing-udelar/fast-krippendorff#11, o-P-o/disagree#7: Krippendorff confirmed zero."""
    labels = [
        [3, 3, 3, 3, 3],
        [3, 3, 3, 3, 3],
        [3, 3, nan, nan, 3],
        [3, 3, 3, 3, 1],
        [3, nan, 3, 3, 3],
    ]
    assert krippendorff_alpha(np.array(labels, dtype=float)).value == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("report", "labels"),
    [
        ("grrrr/krippendorff-alpha#1", [[1, 1, 1], [1, 1, 1], [1, 1, 1]]),
        ("dkpro/dkpro-statistics#35", [[2, 2, 2, 2], [2, 2, 2, 2]]),
        ("pln-fing-udelar/fast-krippendorff#26", [[1, 0, 1, 1]]),
        ("pln-fing-udelar/fast-krippendorff#9", [[0, 1, 0, 0], [nan, nan, nan, 0]]),
        ("nltk/nltk#1144", [[0], [0]]),
        ("nltk/nltk#3264", [[1, nan], [1, 2]]),
    ],
)
def test_an_alpha_that_is_not_defined_says_why(report: str, labels: list[list[float]]) -> None:
    result = krippendorff_alpha(np.array(labels, dtype=float))
    assert result.status != "ok", report
    assert result.reason
    assert math.isnan(result.value)


FEW_DISAGREE = [[2.0] * 10, [1, *[2] * 9], [1, 1, 1, 1, *[2] * 6]]
MISSING_RATINGS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
    [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan],
]
PREVALENT = [[1] * 48 + [0, 1], [1] * 48 + [1, 0]]


@pytest.mark.parametrize(
    ("report", "coefficient", "labels", "value"),
    [
        # Krippendorff (2011), section C: 1 - 12.16 / 47.39 is 904 / 1216
        ("jmgirard/mReliability#6", krippendorff_alpha, MISSING_RATINGS, 904 / 1216),
        ("nltk/nltk#2865", krippendorff_alpha, [[1, 1, 2], [1, 1, nan], [nan, 1, 2]], 1),
        ("jmgirard/mReliability#2", fleiss_kappa, [[1], [1], [1], [1], [2]], -0.25),
        ("pln-fing-udelar/fast-krippendorff#27", krippendorff_alpha, [[1, 2], [2, 1]], -0.5),
        ("statsmodels/statsmodels#7657", fleiss_kappa, [[0, 1, 2]] * 3, 1),
        ("statsmodels/statsmodels#7657", fleiss_kappa, [[0, 0], [1, 1], [2, 2]], -0.5),
        # p = 0.98, so that Gwet's chance is 2 p (1 - p) and pi's p^2 + (1 - p)^2
        ("dkpro/dkpro-statistics#46", gwet_ac1, PREVALENT, 1 - 0.04 / (1 - 0.0392)),
        ("dkpro/dkpro-statistics#46", fleiss_kappa, PREVALENT, 1 - 0.04 / 0.0392),
        # 8 of 60 ordered pairs within units disagree; 30 values, 5 of them ones: 250 of 870 do
        ("gesistsa/oolong#96", krippendorff_alpha, FEW_DISAGREE, 1 - (8 / 30) / (250 / 870)),
    ],
)
def test_agreement_is_the_formula_s(
    report: str, coefficient: Callable[..., Coefficient], labels: list[list[float]], value: float
) -> None:
    assert coefficient(np.array(labels, dtype=float)).value == pytest.approx(value), report


def test_ordinal_ratings_may_be_missing() -> None:
    """pln-fing-udelar/fast-krippendorff#4: 0.789 where R's irr and Krippendorff have 0.815."""
    alpha = krippendorff_alpha(np.array(MISSING_RATINGS), "ordinal")
    assert alpha.value == pytest.approx(0.815, abs=5e-4)


def test_the_correlation_with_a_rater_who_says_one_thing_is_not_known() -> None:
    """Shikib/usr#4: it was NaN, which was then counted as 0 in a mean."""
    constant = pearson(np.ones(5), np.arange(5.0))
    assert (constant.status, math.isnan(constant.value)) == ("degenerate", True)


def test_raters_need_not_rate_every_unit() -> None:
    """statsmodels/statsmodels#7781, #4387: an unequal number of ratings, and one category."""
    labels = np.array([[0, 1, 1, 0, nan], [0, 1, 0, 0, 1], [0, 1, 1, nan, 1]])
    complete = fleiss_kappa(labels)
    assert (complete.status, complete.n) == ("ok", 3)
    assert complete.value == pytest.approx(fleiss_kappa(labels[:, :3]).value)
    assert fleiss_kappa(np.zeros((7, 2))).status == "degenerate"  # statsmodels/statsmodels#4387


def test_a_missing_rating_leaves_the_pair_out_of_both_agreements() -> None:
    """dkpro/dkpro-statistics#6: chance was taken from ratings that the agreement left out."""
    x = np.array([[1, 0, 1, 1, 0, nan, 1, 0.0]])
    y = np.array([[1, 0, 0, 1, 1, 1, nan, 0.0]])
    paired = np.isfinite(x + y)[0]
    complete = item_agreement(x[:, paired], y[:, paired])
    assert item_agreement(x, y).kappa == complete.kappa == (pytest.approx(1 / 3),)


def test_kappa_leaves_out_units_that_one_rater_left_out() -> None:
    """jasp-stats/jasp-issues#2307: with missing ratings kappa was -0.03 instead of 0.87."""
    rng = np.random.default_rng(3)
    first = (rng.random(59) < 0.5).astype(float)
    second = np.where(rng.random(59) < 0.93, first, 1 - first)
    both = slice(14, None)
    expected = cohen_kappa_score(first[both], second[both])
    first[:7] = second[7:14] = nan
    assert item_agreement(first[None], second[None]).kappa == (pytest.approx(expected),)


def test_an_item_that_everybody_solves_does_not_stop_alpha() -> None:
    """jasp-stats/jasp-issues#870: items without variance ended the analysis."""
    rng = np.random.default_rng(1)
    scores = (rng.random((12, 6)) < np.linspace(0.2, 0.9, 12)[:, None]).astype(float)
    plain = cronbach_alpha(scores)
    widened = cronbach_alpha(np.column_stack([scores, np.ones(12)]))
    assert (widened.k, widened.k_varying) == (7, 6)
    assert widened.varying.value == pytest.approx(plain.coefficient.value)


def test_agreement_sees_a_shift_and_consistency_does_not() -> None:
    """raphaelvallat/pingouin#228 and #485: which of the ICC removes mean differences."""
    rng = np.random.default_rng(0)
    ability = rng.normal(size=(30, 1))
    scores = ability + 0.2 * rng.normal(size=(30, 3))
    shifted = scores + np.array([0.0, 2.0, -1.0])
    plain, moved = icc(scores), icc(shifted)
    assert moved.c1.value == pytest.approx(plain.c1.value)
    assert moved.a1.value < plain.a1.value - 0.2


def table(rows: Iterator[tuple[Any, ...]], *columns: str) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=columns)


def answers_of(models: int, items: int) -> Iterator[tuple[Any, ...]]:
    rng = np.random.default_rng(4)
    for model in range(models):
        for item in range(items):
            yield f"m{model}", f"q{item}", int(rng.random() < 0.3 * model)


def test_no_right_answer_is_not_known_without_error() -> None:
    """EleutherAI/lm-evaluation-harness#4070: 0 of 25 had the standard error 0.0."""
    scores = hqm.audit(table(answers_of(3, 25), "model", "item", "score")).scores
    worst = scores.iloc[0]
    assert worst.score == 0
    assert worst.high == pytest.approx(1 - 0.025 ** (1 / 25), abs=0.02)


def test_an_answer_that_is_repeated_is_no_further_question() -> None:
    """UKGovernmentBEIS/inspect_ai#1113, EvolvingLMMs-Lab/lmms-eval#989: epochs and the questions
    about one picture are clusters.
    """
    once = table(answers_of(3, 60), "model", "item", "score")
    copies = [once.assign(item=once.item + f" {k}", image=once.item) for k in range(4)]
    widths = [
        hqm.audit(frame).scores.eval("high - low").to_numpy() for frame in (once, pd.concat(copies))
    ]
    assert (widths[1] > 0.95 * widths[0]).all()


@pytest.mark.parametrize("report", ["raphaelvallat/pingouin#206", "raphaelvallat/pingouin#74"])
def test_a_gap_is_a_gap_and_a_note_is_none(report: str) -> None:
    """A score that is empty is a row that is absent; gaps of a column nobody asked for are none."""
    frame = table(answers_of(3, 30), "model", "item", "score").astype({"score": float})
    compared = frame.assign(note=[nan if i % 7 == 0 else i for i in range(len(frame))])
    if report.endswith("#206"):
        frame.loc[[3, 40, 77], "score"] = nan
        compared = frame.dropna()
    columns = ["score", "low", "high"]
    expected, observed = (hqm.audit(data).scores[columns].to_numpy() for data in (frame, compared))
    assert observed == pytest.approx(expected)


def test_a_word_for_nothing_is_an_answer(tmp_path: Path) -> None:
    """tobgu/qcache#13: "NA", "null" and their like in a CSV file were read as empty cells."""
    words = ["None", "NA", "nan", "null", "N/A", "two", "three"]
    rows = [
        (f"m{m}", f"q{i}", words[i % 7] if (i + m) % 3 else "four", words[i % 7])
        for m in range(3)
        for i in range(21)
    ]
    path = tmp_path / "answers.csv"
    table(iter(rows), "model", "item", "prediction", "gold").to_csv(path, index=False)
    assert hqm.audit(path).scores.score.tolist() == pytest.approx([2 / 3] * 3)


@pytest.mark.parametrize(
    ("report", "fault", "match"),
    [
        ("OpenGVLab/MMT-Bench#5", {"target": "J"}, "target is 'J'"),
        ("HowieHwong/TrustLLM#16", {"target": "very"}, "target is 'very'"),
        ("OpenLMLab/LEval#1", {"id": "q0"}, "'q0' stands twice"),
        ("MMMU-Benchmark/MMMU#83", {"options": ["B", "A", "C"], "target": "A"}, "letter of 'B'"),
    ],
)
def test_an_item_that_contradicts_itself_is_refused(
    report: str, fault: dict[str, Any], match: str, tmp_path: Path
) -> None:
    items: list[dict[str, Any]] = [
        {"id": f"q{i}", "prompt": f"Which fits {i}?", "options": ["one", "two"], "target": "A"}
        for i in range(4)
    ]
    items[3].update(fault)
    folder = write_benchmark(tmp_path / "mine", items, task="choice")
    with pytest.raises(hqm.DataError, match=match):
        check_form(hqm.load(folder).original)


def test_an_option_that_speaks_of_those_above_keeps_its_place() -> None:
    """MMMU-Benchmark/MMMU#83: shuffling put "Either of the above" above the others."""
    (kept,) = find_references("Which is it?", ("red", "blue", "Either of the above"))
    assert (kept.index, kept.is_misplaced) == (2, False)
    (moved,) = find_references("Which is it?", ("red", "Either of the above", "blue"))
    assert moved.is_misplaced


def test_two_keys_of_one_question_are_refused() -> None:
    """MMMU-Benchmark/MMMU#11: the key of the code was another than that of the data."""
    rows = [
        (model, f"q{i}", "AB"[i % 2], "AB"[(i + (model == "b")) % 2])
        for model in "ab"
        for i in range(20)
    ]
    with pytest.raises(hqm.AnswerError, match="two right answers"):
        hqm.audit(table(iter(rows), "model", "item", "prediction", "gold"))


def test_one_id_with_two_answers_is_refused() -> None:
    """vl-rewardbench/VL_RewardBench#7: an id stood for two different pairs of answers."""
    frame = table(answers_of(3, 20), "model", "item", "score")
    with pytest.raises(hqm.AnswerError, match="answered twice"):
        hqm.audit(pd.concat([frame, frame.iloc[[5]].assign(score=1)]))


def test_rows_that_stand_twice_have_no_double_weight() -> None:
    """lorenzkuhn/semantic_uncertainty#8: a join on the id doubled what stood twice."""
    frame = table(answers_of(3, 20), "model", "item", "score")
    with pytest.raises(hqm.AnswerError, match="answered twice"):
        hqm.audit(pd.concat([frame, frame.iloc[:5]]))


def test_scores_that_are_missing_are_counted_beside_the_mean() -> None:
    """UKGovernmentBEIS/inspect_ai#3707, truera/trulens#2698: a model rose by what could not be
    scored, and nothing said so.
    """
    rng = np.random.default_rng(0)
    rows = ((m, f"q{i}", float(rng.random() < 0.6)) for m in ("clean", "flaky") for i in range(60))
    frame = table(rows, "model", "item", "score")
    is_lost = (frame["model"] == "flaky") & (frame["score"] == 0) & (frame["item"] < "q4")
    frame.loc[is_lost, "score"] = nan
    states = hqm.audit(frame).to_frame("states")
    lost = states[states["state"] != "ok"].groupby("respondent")["answers"].sum().to_dict()
    assert lost == {"recorded/clean": 0, "recorded/flaky": is_lost.sum()}


def test_a_number_in_a_cell_of_text_is_that_number(tmp_path: Path) -> None:
    """jfhbrook/xls2db#17: 123456 of a sheet became 123456.0."""
    sheet = openpyxl.Workbook()
    sheet.active.append(["model", "item", "question", "answer", "target"])
    for model, kind in (("x", int), ("y", str), ("z", float)):
        for i in range(20):
            cells = [model, i, f"How many are in picture {i}?", kind(123450 + i), 123450 + i]
            sheet.active.append(cells)
    sheet.save(tmp_path / "answers.xlsx")
    assert hqm.audit(tmp_path / "answers.xlsx").to_frame("scores")["score"].tolist() == [1, 1, 1]


def test_one_id_of_two_questions_is_no_id(tmp_path: Path) -> None:
    """SuDIS-ZJU/nlcTables#5: six ids stood for two queries each."""
    items = [
        {"id": f"{i % 8}", "prompt": f"Is table {i} large?", "target": "yes"} for i in range(10)
    ]
    with pytest.raises(hqm.DataError, match="stands twice"):
        check_form(hqm.load(write_benchmark(tmp_path / "mine", items)).original)


def test_ids_that_begin_again_in_each_domain_are_told_apart_by_their_questions() -> None:
    """LongHorizonReasoning/longcot#7: an answer was graded by the question of another domain."""
    rows = [
        (model, f"{i}", f"{domain} {i}?", key, key, domain)
        for model in ("a", "bb")
        for domain, key in (("chess", "A"), ("math", "B"))
        for i in range(12)
    ]
    names = ("model", "item", "question", "answer", "target", "category")
    scores = hqm.audit(table(iter(rows), *names)).to_frame("scores")
    assert scores["score"].tolist() == [1, 1]


def test_a_byte_order_mark_before_a_quoted_heading_is_no_letter_of_it(tmp_path: Path) -> None:
    """pandas-dev/pandas#4793: the first column was called by its mark and quotes."""
    lines = ['"model","item","score"']
    lines += [f'"{model}","q{i}","{i % 2}"' for model in ("a", "b") for i in range(20)]
    path = tmp_path / "scores.csv"
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    assert hqm.audit(path).to_frame("scores")["score"].tolist() == [0.5, 0.5]


@pytest.mark.parametrize("line", [5, 41])
def test_a_line_that_a_crash_cut_is_named(tmp_path: Path, line: int) -> None:
    """PrimeIntellect-ai/verifiers#803: what was appended behind a cut line made it unreadable."""
    rows = [
        json.dumps({"model": model, "item": f"q{i}", "score": i % 2})
        for model in ("a", "b")
        for i in range(20)
    ]
    rows.insert(line - 1, '{"model": "b", "it')
    path = tmp_path / "answers.jsonl"
    path.write_text("\n".join(rows))
    with pytest.raises(hqm.DataError, match=rf"answers\.jsonl:{line}\b"):
        hqm.audit(path)


def test_a_picture_with_two_answers_is_found(tmp_path: Path) -> None:
    """billpsomas/rscir#6: nine pictures stood twice, with other numbers of the same thing."""
    items = [
        {"id": f"{i}", "prompt": "How many?", "target": str(i % 3), "image": f"{i % 19}.png"}
        for i in range(20)
    ]
    folder = write_benchmark(tmp_path / "mine", items, task="vqa")
    codes = {finding.name for finding in check_form(hqm.load(folder).original)}
    assert codes & {"duplicate-question", "contradictory-label"}


def test_one_question_asked_twice_is_found(tmp_path: Path) -> None:
    """FuxiaoLiu/MMC#19: the released benchmark had questions twice."""
    items = [
        {
            "id": f"q{i}",
            "prompt": f"Is line {i % 9} longer?",
            "target": "yes",
            "image": f"{i % 9}.png",
        }
        for i in range(10)
    ]
    folder = write_benchmark(tmp_path / "mine", items)
    codes = [finding.name for finding in check_form(hqm.load(folder).original)]
    assert "duplicate-question" in codes


def test_filters_without_a_name_are_no_further_questions(tmp_path: Path) -> None:
    """EleutherAI/lm-evaluation-harness#1687, #2025: each answer stood once for each filter;
    EvolvingLMMs-Lab/lmms-eval#1103: its replies are flat.
    """
    for model in ("a", "b"):
        rows = [
            {
                "doc_id": i,
                "doc": {"question": f"What is {i} + 1?", "answer": str(i + 1)},
                "target": str(i + 1),
                "resps": [f"It is {i + 1}."] if model == "a" else [[f"It is {i + 1}."]],
                "filtered_resps": str(i + 1) if finds else "[invalid]",
                "exact_match": float(finds),
            }
            for finds in (False, True)
            for i in range(20)
        ]
        path = tmp_path / model / "samples_gsm8k_2024-04-08T10-00-00.jsonl"
        path.parent.mkdir()
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    scores = hqm.audit(tmp_path).to_frame("scores")
    values = scores.groupby("metric")["score"].agg(list).to_dict()
    assert values == {"exact_match": [0.0, 0.0], "exact_match,2": [1.0, 1.0]}
    assert len(hqm.evidence_of(tmp_path).to_frame("items")) == 20


def test_a_key_that_repeats_its_question_is_found(tmp_path: Path) -> None:
    """anvo25/vlms-are-biased#6: the prompt stood in place of some right answers."""
    prompts = [f"How many legs has animal {i}?" for i in range(10)]
    items = [
        {"id": str(i), "prompt": prompt, "target": "4" if i % 5 else prompt}
        for i, prompt in enumerate(prompts)
    ]
    benchmark = hqm.load(write_benchmark(tmp_path / "mine", items, task="vqa"))
    counts = {finding.name: finding.count for finding in check_words(benchmark.original)}
    assert counts["answer-in-question"] == 2


def test_an_option_that_a_table_lost_is_found(tmp_path: Path) -> None:
    """MMStar-Benchmark/MMStar#14: the option None became nan."""
    options = ["nan", "Three", "Two", "One"]
    items = [{"id": "273", "prompt": "How many dressers?", "options": options, "target": "A"}]
    benchmark = hqm.load(write_benchmark(tmp_path / "mine", items, task="choice"))
    assert "option-nan" in {finding.name for finding in check_form(benchmark.original)}


def test_labels_that_repeat_the_options_are_no_letters(
    tmp_path: Path, run: Callable[..., Any]
) -> None:
    """huggingface/datasets#3550: the texts of the options stood in place of their letters."""
    texts = ["to move", "to rest", "to shine", "to set"]
    row = {
        "id": "7-980",
        "question_stem": "What does the sun do?",
        "choices": {"text": texts, "label": texts},
        "answerKey": "D",
    }
    source = tmp_path / "openbookqa.jsonl"
    source.write_text(json.dumps(row))
    run("new", tmp_path / "mine", "--from", source)
    (item,) = hqm.load(tmp_path / "mine").original.items
    assert (item.options, item.target) == (tuple(texts), "D")


@pytest.mark.parametrize(
    ("report", "message", "reason", "state"),
    [
        (
            "vllm-project/vllm#52640",
            {"content": None, "reasoning": "I count the gulls: one, two,"},
            "length",
            "truncated",
        ),
        ("vllm-project/vllm#41902", {"content": None, "reasoning": None}, "stop", "error"),
        (
            "lmstudio-ai/lmstudio-bug-tracker#1602",
            {"content": "", "reasoning_content": "Yes, there is one."},
            "stop",
            "error",
        ),
    ],
)
def test_reasoning_is_no_answer(
    report: str, message: dict[str, Any], reason: str, state: str
) -> None:
    response = answer_of(completion("", message=message, finish_reason=reason))
    assert (response.state, response.text) == (state, ""), report
    assert response.reason


def answer_of(reply: tuple[int, dict[str, str], bytes]) -> Response:
    with PlannedServer(lambda *_: reply) as server:
        respondent = OpenAIRespondent(RespondentName.parse(f"openai/tiny@{server.url}"))
        batches = list(respondent.answer([Request("Is there one?", None, Sampling(0, 1, 9), 1)]))
    (response,) = (response for batch in batches for _, response in batch)
    return response


@pytest.mark.parametrize(
    ("report", "reply", "state"),
    [
        ("keephq/keep#6705", (200, JSON, b'{"choices": []}'), "error"),
        ("bestruirui/octopus#241", (200, JSON, b'{"id": "x"}'), "error"),
        ("UKGovernmentBEIS/inspect_ai#3687", (200, JSON, b"<html>Welcome</html>"), "error"),
        ("openai/openai-openapi#20", completion("Yes", finish_reason=None), "ok"),
        ("sgl-project/sglang#3912", completion("Yes", finish_reason=""), "ok"),
        ("Ai00-X/ai00_server#90", completion("Yes", finish_reason="null"), "ok"),
        (
            "mlcommons/endpoints#133",
            (200, JSON, b'{"choices": [{"message": {"content": "Yes"}}]}'),
            "ok",
        ),
        (
            "predibase/lorax#281",
            (200, JSON, b'[{"choices": [{"message": {"content": "Yes"}}]}]'),
            "error",
        ),
    ],
)
def test_a_reply_of_another_form_is_an_answer_or_an_error(
    report: str, reply: tuple[int, dict[str, str], bytes], state: str
) -> None:
    response = answer_of(reply)
    assert (response.state, bool(response.reason)) == (state, state == "error"), report


def test_a_refusal_in_a_field_of_its_own_is_one() -> None:
    """davidmigloz/langchain_dart#560: the field was dropped, and the answer was empty."""
    response = answer_of(completion("", message={"content": None, "refusal": "I cannot help."}))
    assert (response.state, response.text) == ("refused", "I cannot help.")


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS"])
def test_an_answer_cut_at_the_limit_is_truncated_by_any_name(reason: str) -> None:
    response = answer_of(completion("Yes, there", finish_reason=reason))
    assert (response.state, response.text) == ("truncated", "Yes, there")


def test_every_report_is_listed() -> None:
    listed = set(re.findall(r"[\w.-]+/[\w.-]+#\d+", LIST.read_text(encoding="utf-8")))
    tried = set(re.findall(r"[\w.-]+/[\w.-]+#\d+", Path(__file__).read_text(encoding="utf-8")))
    assert tried <= listed
    assert len(listed) >= 100
