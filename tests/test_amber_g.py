"""AMBER-g on the real annotation: golden records, and every printed number against an independent
scorer.
"""

import json
import math
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hqm
from hqm.auditing.one_file import score_file
from hqm.scoring.words import Noun, Recipe, Words
from hqm.scoring.words.interfaces import Embedding, VectorLikeness
from tests.printed import load_script


@pytest.fixture(scope="module")
def benchmark(data: Path) -> Any:
    return hqm.load("amber_g", data=data)


def test_count_first_tenth_last(benchmark: Any) -> None:
    """Read off query_generative.json."""
    items = benchmark.original.items
    assert len(items) == 1004
    assert {(i.prompt, i.task, i.type) for i in items} == {
        ("Describe this image.", "caption", "existence")
    }
    assert [(i.id, i.image) for i in (items[0], items[9], items[-1])] == [
        ("1", "AMBER_1.jpg"),
        ("10", "AMBER_10.jpg"),
        ("1004", "AMBER_1004.jpg"),
    ]
    assert benchmark.annotations["10"] == {
        "id": 10,
        "type": "generative",
        "truth": ["ball", "man", "hat", "sky", "tie"],
        "hallu": ["sun", "bird", "grass", "tree", "woman"],
    }
    notes = [benchmark.annotations[i.id] for i in items]
    assert (sum(len(n["truth"]) for n in notes), sum(len(n["hallu"]) for n in notes)) == (
        5599,
        4924,
    )
    assert len(benchmark.vocabulary) == 418
    assert len(benchmark.safe_words) == 9


def test_oddities(benchmark: Any) -> None:
    counts = {f.name: f.count for f in benchmark.check(benchmark.original)}
    assert counts["annotation-overlap"] == 61
    assert counts["annotation-twice-truth"] == 14
    assert counts["shadowed-object"] == 335
    assert counts["safe-word-truth"] == 81
    assert counts["objects"] == 340
    assert "capital" not in counts


# --- the released scorer, written anew ---

FILLERS = "The a near of and, with . is quite there! behind It Dogs Sky".split()


def stub_nouns(text: str) -> list[Noun]:
    """A tagger that needs no context: a word whose singular is no filler is a noun; capitals keep
    their plural.
    """
    nouns = []
    for match in re.finditer(r"[A-Za-z]+", text):
        word = match[0]
        if word not in FILLERS and word not in ("near", "and", "with", "is"):
            lemma = (
                word[:-1]
                if word.endswith("s") and word == word.lower() and not word.endswith("ss")
                else word
            )
            nouns.append(Noun(word, lemma, match.start(), False))
    return nouns


def vectors_of(words: list[str], seed: int) -> dict[str, np.ndarray]:
    """Vectors in clusters, so that about one pair in fifty is above the threshold."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(50, 16))
    vectors = {
        word: centers[rng.integers(50)] + rng.normal(size=16) * rng.choice([0.2, 0.5])
        for word in words
    }
    return {
        word: (vector * rng.choice([0, 1, 1, 1, 1, 1])).astype(np.float32)
        for word, vector in vectors.items()
    }


class Rival:
    """AMBER's counters, started from its own metrics.txt and added to one answer at a time."""

    def __init__(self, data: Path, similar: Callable[[str, str], bool]) -> None:
        folder = data / "amber"
        self.start = {
            k: float(v)
            for k, v in (line.split("=") for line in (folder / "metrics.txt").read_text().split())
        }
        self.relation = json.loads((folder / "relation.json").read_text())
        self.words = {*self.relation, *(w for ws in self.relation.values() for w in ws)}
        self.never = (folder / "safe_words.txt").read_text().split("\n")
        self.notes = json.loads((folder / "annotations.json").read_text())
        self.similar = similar

    def flags(self, objects: list[str]) -> list[tuple[str, int]]:
        pairs = [(word, i) for i, name in enumerate(objects) for word in self.relation[name]]
        return pairs + [(name, i) for i, name in enumerate(objects)]

    def printed(self, answers: list[dict[str, Any]], share: float = 1.0) -> dict[str, float]:
        c = dict(self.start)
        for answer in answers:
            note = self.notes[answer["id"] - 1]
            if note["type"] != "generative":
                continue
            tokens = answer["response"].split()
            text = " ".join(tokens[: math.ceil(share * len(tokens) - 1e-9)])
            nouns = [n.lemma for n in stub_nouns(text) if n.lemma in self.words]
            safe, ha = self.flags(note["truth"]), self.flags(note["hallu"])
            cover, cog, wrong = [0] * len(note["truth"]), [0] * len(note["hallu"]), 0
            for noun in nouns:
                if noun in self.never:
                    continue
                exact = [i for word, i in safe if word == noun]
                if exact:
                    cover[exact[0]] = 1
                    continue
                for i in [i for word, i in ha if word == noun][:1]:
                    cog[i] = 1
                for i in [i for word, i in ha if self.similar(noun, word)][:1]:
                    cog[i] = 1
                matches = [i for word, i in safe if self.similar(noun, word)][:1]
                for i in matches:
                    cover[i] = 1
                wrong += not matches
            c["chair_score"] += wrong
            c["chair_num"] += len(nouns)
            c["safe_cover_score"] += sum(cover)
            c["safe_cover_num"] += len(cover)
            c["hallu_cover_score"] += sum(cog)
            c["hallu_cover_num"] += len(cog)
            c["non_hallu_score"] += wrong == 0
            c["non_hallu_num"] += 1
        return {
            "chair": round(c["chair_score"] / c["chair_num"] * 100, 1),
            "cover": round(c["safe_cover_score"] / c["safe_cover_num"] * 100, 1),
            "cog": round(c["hallu_cover_score"] / c["hallu_cover_num"] * 100, 1),
            "hal": round(100 - c["non_hallu_score"] / c["non_hallu_num"] * 100, 1),
        }


def write_answers(rival: Rival, seed: int) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    vocabulary = sorted(rival.words)
    answers: list[dict[str, Any]] = []
    for note in rival.notes[:1004]:
        if rng.random() < 0.2:
            continue
        annotated = note["truth"] + note["hallu"] + rival.never[:4]
        words = []
        for _ in range(rng.choice([0, 1, 4, 12, 30])):
            word = rng.choice(rng.choice([annotated, annotated, vocabulary, FILLERS]))
            words.append(rng.choice([word, word, word, word + "s", word.capitalize(), word + ","]))
        answers.append({"id": note["id"], "response": " ".join(words)})
    answers.append({"id": 2000, "response": "Yes"})
    rng.shuffle(answers)
    return answers


@pytest.mark.parametrize("seed", range(4))
def test_it_prints_what_the_release_prints(data: Path, tmp_path: Path, seed: int) -> None:
    plain = Rival(data, lambda a, b: a == b)
    vectors = vectors_of(sorted(plain.words), seed)
    norms = {word: float(np.linalg.norm(v.astype(float))) for word, v in vectors.items()}

    def similar(a: str, b: str) -> bool:
        if a == b:
            return True
        norm_product = norms[a] * norms[b]
        return (
            bool(norm_product)
            and float(vectors[a].astype(float) @ vectors[b].astype(float)) / norm_product > 0.8
        )

    rival = Rival(data, similar)
    answers = write_answers(rival, seed)
    (tmp_path / "a.json").write_text(json.dumps(answers))
    benchmark: Any = hqm.load("amber_g", data=data, withheld="official")
    likeness = VectorLikeness("stub", lambda word: Embedding((word,), vectors[word], norms[word]))
    finder: Any = type("Stub", (), {"name": "stub", "__call__": staticmethod(stub_nouns)})()
    benchmark.words = Words(Recipe("stub", "stub"), finder, likeness)
    scored = score_file(benchmark, tmp_path / "a.json")
    expected = rival.printed(answers)
    assert {name: scored.metrics[name] for name in expected} == expected
    assert expected != plain.printed(answers), "likeness makes a difference here"
    for percent in (20, 40, 60, 80):
        cut = rival.printed(answers, percent / 100)
        assert (scored.metrics[f"hal.at_{percent}"], scored.metrics[f"cover.at_{percent}"]) == (
            cut["hal"],
            cut["cover"],
        )
    assert sum(
        scored.metrics[f"position.at_{percent}"] or 0 for percent in (20, 40, 60, 80, 100)
    ) == pytest.approx(1)
    empty = sum(not answer["response"] for answer in answers)
    assert scored.states == {
        "ok": len(answers) - 1 - empty,
        "empty": empty,
        "missing": 1005 - len(answers),
    }


def test_paper_scoring_against_plain_counting(data: Path, tmp_path: Path) -> None:
    rival = Rival(data, lambda a, b: False)
    answers = [answer for answer in write_answers(rival, 9) if answer["response"]]
    (tmp_path / "a.json").write_text(json.dumps(answers))
    benchmark: Any = hqm.load("amber_g", data=data, scoring="paper")
    finder: Any = type("Stub", (), {"name": "stub", "__call__": staticmethod(stub_nouns)})()
    benchmark.words = Words(Recipe("stub", "stub"), finder, None)
    metrics = score_file(benchmark, tmp_path / "a.json").metrics
    objects = {w.lower() for note in rival.notes[:1004] for w in note["truth"] + note["hallu"]}
    chair, cover, hal, cog = [], [], [], []
    for answer in answers:
        note = rival.notes[answer["id"] - 1]
        if note["type"] != "generative":
            continue
        mentioned = {n.lemma for n in stub_nouns(answer["response"].lower())} & objects
        true, expected = ({w.lower() for w in note[kind]} for kind in ("truth", "hallu"))
        if mentioned:
            chair.append(1 - len(mentioned & true) / len(mentioned))
            # a picture may list an object both as true and as a target: it hits the target all the
            # same
            cog.append(len(mentioned & expected) / len(mentioned))
        cover.append(len(mentioned & true) / len(true))
        hal.append(bool(mentioned - true))
    for name, values in (("chair", chair), ("cover", cover), ("hal", hal), ("cog", cog)):
        assert metrics[name] == pytest.approx(100 * np.mean(values)), name


# --- by hand ---


def score(benchmark: Any, tmp_path: Path, **answers: str) -> dict[str, Any]:
    rows = [{"id": int(key[1:]), "response": text} for key, text in answers.items()]
    (tmp_path / "a.json").write_text(json.dumps(rows))
    return dict(score_file(benchmark, tmp_path / "a.json").metrics)


def test_a_description_by_hand(benchmark: Any, tmp_path: Path) -> None:
    """Picture 10: ball, man, hat, sky and tie are there; sun, bird, grass, tree and woman are
    expected.
    """
    metrics = score(
        benchmark, tmp_path, i10="A man throws a ball. Two birds sit in a car near the hats."
    )
    assert metrics["chair"] == 40.0  # bird and car, of man, ball, bird, car and hat
    assert metrics["cover"] == 60.0
    assert metrics["hal"] == 100.0
    assert metrics["cog"] == 20.0
    # birds and car are words 7 and 11 of 14: the first 40 percent are six words, the first 60
    # percent nine
    assert metrics["length"] == 14
    assert metrics["position"] == pytest.approx((6.5 + 10.5) / 28)
    assert [metrics[f"position.at_{percent}"] for percent in (20, 40, 60, 80, 100)] == [
        0,
        0,
        0.5,
        0.5,
        0,
    ]
    assert (metrics["hal.at_40"], metrics["hal.at_60"]) == (
        0.1,
        100.0,
    )  # not 0: the release's denominator has 0.001 more
    assert (metrics["cover.at_20"], metrics["cover.at_80"], metrics["cover"]) == (20.0, 40.0, 60.0)


def test_a_capital_letter_is_lost_in_official_scoring_alone(data: Path, tmp_path: Path) -> None:
    text = "Birds."
    official, paper = (hqm.load("amber_g", data=data, scoring=s) for s in ("official", "paper"))  # type: ignore[arg-type]
    assert score(official, tmp_path, i10=text)["chair"] == 0.0
    assert score(paper, tmp_path, i10=text)["chair"] == 100.0


def test_an_associated_word_covers_the_other_object_in_official_scoring(
    data: Path, tmp_path: Path
) -> None:
    """Picture 5 has a child and a person; a person is associated with the child, which comes
    first.
    """
    benchmark: Any = hqm.load("amber_g", data=data)
    assert {"child", "person"} <= set(benchmark.annotations["5"]["truth"])
    item = benchmark.original.by_id["5"]
    mentions = benchmark._official(item, "a person")
    assert [benchmark.annotations["5"]["truth"][m.covers] for m in mentions] == ["child"]


def test_a_description_of_nothing(data: Path, tmp_path: Path) -> None:
    for scoring, chair in (("official", 0.0), ("paper", None)):
        metrics = score(
            hqm.load("amber_g", data=data, scoring=scoring), tmp_path, i10="", i11="It is nice."
        )  # type: ignore[arg-type]
        assert (metrics["chair"], metrics["cover"], metrics["position"]) == (chair, 0.0, None)


def test_the_amber_score(benchmark: Any) -> None:
    """The scores of the paper's Table 2, by the tolerance of the ledger."""
    table = load_script("ledger.py").printed_table("AMBER", "Table 2, score")
    ours = {}
    for model, (chair, f1) in table.cells.items():
        scores = {"amber_g": {"chair": chair}, "amber_d": {"f1": f1}}
        ours[model] = benchmark.group_metrics(scores)["amber_score"]
    assert table.differing(ours) == []
    assert benchmark.group_metrics({"amber_g": {"chair": 7.8}})["amber_score"] is None


def test_foreign_answers_are_refused(benchmark: Any, tmp_path: Path) -> None:
    for rows, sentence in (
        ([{"id": 99999, "response": "x"}], "no item '99999'"),
        ([{"id": 1, "response": "x"}] * 2, "answered twice"),
        ([{"id": 1}], "'response' is missing"),
    ):
        (tmp_path / "a.json").write_text(json.dumps(rows))
        with pytest.raises(hqm.DataError, match=sentence):
            score_file(benchmark, tmp_path / "a.json")


def test_all_descriptions_are_scored(benchmark: Any, tmp_path: Path) -> None:
    """One description of every picture; `tests/perf/score_amber_g.py` measures how long that
    takes.
    """
    from tests.perf.score_amber_g import descriptions

    rows = descriptions(benchmark, 20, np.random.default_rng(1))
    (tmp_path / "a.json").write_text(json.dumps(rows))
    scored = score_file(benchmark, tmp_path / "a.json")
    assert (scored.n, scored.unscored) == (1004, 0)


def test_the_parallel_form_reads_as_english(benchmark: Any) -> None:
    assert {i.prompt for i in benchmark.parallel_form.items} == {
        "Provide a description of this image."
    }
    assert len(benchmark.parallel_form) == 1004
