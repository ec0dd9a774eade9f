"""Releases of made-up items that the corpus `scorings` lacked: the bins, guards and limits of our
adapters, each with values on both of its sides.

    python -m tests.procedure_releases     # adds to tests/corpora/scorings.jsonl; then `raise`
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.procedures import FOLDER

FILE = FOLDER / "scorings.jsonl"
SEED = 20261129
Case = dict[str, Any]


def cases() -> Iterator[Case]:
    """Every release, drawn by one seed."""
    rng = random.Random(SEED)
    for scoring in ("official", "paper"):
        yield _amber(rng, "amber_d", {"scoring": scoring})
        yield _amber(rng, "amber_g", {"scoring": scoring})
        yield _ratings(rng, scoring)
    yield from (_lengths(rng), _arms(rng), _entities(rng))
    yield _marks()
    yield _tries(rng)


def _case(
    benchmark: str,
    files: Mapping[str, str],
    answers: Sequence[str],
    replies: Mapping[str, Sequence[str]] | None = None,
    *,
    settings: Mapping[str, str] | None = None,
    tables: bool = False,
) -> Case:
    case: Case = {
        "benchmark": benchmark,
        "settings": settings or {},
        "files": files,
        "answers": answers,
        "replies": replies or {},
    }
    return {**case, "tables": True} if tables else case


def _records(rows: Sequence[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def _amber(rng: random.Random, benchmark: str, settings: Mapping[str, str]) -> Case:
    """Short answers of which some are right in every dimension; descriptions that make something up
    in each fifth of their words.
    """
    objects = ["boat", "gull", "whale", "tram", "lamp", "horse", "goat", "dog"]
    kinds = ["hallucination", *(f"attribute-{kind}" for kind in ("state", "number", "action"))]
    kinds.append("relation")
    notes: list[dict[str, Any]] = [
        {"id": n, "type": "generative", "truth": ["boat", "gull", "lamp"], "hallu": ["whale"]}
        for n in (1, 2, 3)
    ]
    questions = []
    for n in range(4, 24):
        kind = kinds[n % 5]
        truth = "no" if kind == "hallucination" or n % 2 else "yes"
        notes.append({"id": n, "type": f"discriminative-{kind}", "truth": truth})
        questions.append({"id": n, "image": f"AMBER_{n % 3}.jpg", "query": f"Is it so, {n}?"})
    captions = [
        {"id": n, "image": f"AMBER_{n}.jpg", "query": "Describe this image."} for n in (1, 2, 3)
    ]
    files = {
        "amber/annotations.json": json.dumps(notes),
        "amber/relation.json": json.dumps({name: [] for name in objects}),
        "amber/safe_words.txt": "picture\n",
        "amber/query/query_generative.json": json.dumps(captions),
        "amber/query/query_discriminative.json": json.dumps(questions),
    }
    if benchmark == "amber_d":
        return _case(
            benchmark, files, ["No", "Yes", "no", "No.", "yes", "No", "Yes."], settings=settings
        )
    answers = []
    for place in rng.sample(range(20), 11):
        words = ["so"] * 20
        words[place] = rng.choice(("whale", "tram", "horse"))
        words[(place * 7 + 3) % 20] = rng.choice(("boat", "gull", "lamp"))
        answers.append(" ".join(words))
    return _case(benchmark, files, answers, settings=settings)


def _ratings(rng: random.Random, scoring: str) -> Case:
    """Every rating of MMHal-Bench, and one beyond its scale."""
    kinds = "attribute adversarial comparison counting relation environment holistic other"
    rows = [
        {
            "question_type": kind,
            "question_topic": "harbour",
            "image_id": f"{n:016}",
            "image_src": f"https://example.org/{n}.jpg",
            "image_content": ["Boat"],
            "question": f"What is there, {n}?",
            "gt_answer": "A boat.",
            "model_answer": "",
        }
        for n, kind in enumerate(kinds.split())
    ]
    replies = [f"Rating: {rating}" for rating in range(8)]
    rng.shuffle(replies)
    files = {"mmhal/response_template.json": json.dumps(rows)}
    return _case(
        "mmhal", files, ["A boat.", "None."], {"judge": replies}, settings={"scoring": scoring}
    )


def _lengths(rng: random.Random) -> Case:
    """Descriptions of as many words as the bins of Hal-Eval begin and end with."""
    kinds = ("Spatial Relationship", "Objective", "Attributive", "Event")
    files = {}
    for domain, prefix in (("in", "val2014/COCO_val2014_"), ("out_of", "out_of_domain/")):
        rows = [
            {
                "image": f"{prefix}{n:012}.jpg",
                "caption": "a boat in a harbour",
                "hal_caption": [
                    {
                        "type": f"{kind} Hallucination",
                        "caption": f"a boat in a harbour with a {kind.split()[0].lower()}",
                        "from": "ours",
                    }
                    for kind in kinds
                ],
            }
            for n in range(8)
        ]
        files[f"hal_eval/{domain}_domain_evaluation.json"] = json.dumps(rows)
    lengths = (5, 10, 11, 15, 16, 20, 21, 30, 31, 40, 41, 60, 61, 80, 81, 120, 121)
    answers = [" ".join(rng.choices(("boat", "quay", "gull"), k=length)) for length in lengths]
    replies = ["No", "Yes, an object hallucination", "Yes, relation and event", "No.", "attribute"]
    return _case("hal_eval_g", files, answers, {"judge": replies}, tables=True)


def _arms(rng: random.Random) -> Case:
    """Selected pictures and those of the control arm, as the recipe `valor` makes them."""
    names = ["boat", "gull", "tram", "lamp", "goat", "whale"]
    rows = [
        {
            "id": f"q{n}",
            "prompt": "Describe the picture.",
            "target": sorted(rng.sample(names, 3)),
            "image": f"{n}.png",
            "type": "existence",
            "part": ("selected", "control")[n % 2],
        }
        for n in range(8)
    ]
    card = ["name", "title", "version", "task", "adapter"]
    values = ["mine", "Mine", "1", "caption", "inventory"]
    head = "".join(f'{key} = "{value}"\n' for key, value in zip(card, values, strict=True))
    files = {
        "mine/card.toml": f'{head}[data]\nitems = "items.jsonl"\n',
        "mine/items.jsonl": _records(rows),
        "mine/vocabulary.json": json.dumps(names),
    }
    answers = [f"A {' and a '.join(rng.sample(names, k))}." for k in (1, 2, 3, 2, 3, 4, 1)]
    return _case("mine", files, answers, tables=True)


def _entities(rng: random.Random) -> Case:
    """Answers with as many entities as the bins of FaithScore begin and end with."""
    rows = [
        {
            "id": f"{n:012}",
            "image": f"COCO_val2014_{n:012}.jpg",
            "instruction": "Describe the harbour.",
            "output": "A boat.",
            "type": ("conv", "detail", "complex")[n % 3],
        }
        for n in range(12)
    ]
    replies = {
        "recognizer": ["A boat lies in the harbour. [D]"] * 12,
        "decomposer": [
            f"Entities: {' '.join(f'There is a thing {n}.' for n in range(count))}\nRelations:"
            "\nColors: It is red.\nCounting:\nOther attributes:"
            for count in range(12)
        ],
        "verifier": [rng.choice(("Yes", "Yes", "No")) for _ in range(29)],
    }
    files = {"faithscore/questions.jsonl": _records(rows)}
    answers = ["A boat lies in the harbour."]
    return _case("faithscore", files, answers, replies, tables=True)


def _marks() -> Case:
    """A recognizer's marks close behind each other, as the release's reader cuts them."""
    rows = [
        {
            "id": f"{n:012}",
            "image": f"COCO_val2014_{n:012}.jpg",
            "instruction": "Describe the harbour.",
            "output": "A boat.",
            "type": kind,
        }
        for n, kind in enumerate(("conv", "detail", "complex"))
    ]
    replies = {
        "recognizer": [
            "Boats lie here. [D]\nSo what? [A]\ngulls fly, [D] and lamps shine [D].",
            "It is late [A] now. [D]",
        ],
        "decomposer": ["Entities: There is a boat.\nRelations:"],
        "verifier": ["Yes", "No"],
    }
    files = {"faithscore/questions.jsonl": _records(rows)}
    answers = ["Boats lie here. So what? gulls fly, and lamps shine.", "It is late now."]
    settings = {"mode": "sub_sentence"}
    return _case("faithscore", files, answers, replies, settings=settings)


def _tries(rng: random.Random) -> Case:
    """Replies of a judge that say nothing, until the fourth, fifth and sixth of one answer."""
    kinds = "existence attribute counting action comparison environment OCR relation".split()
    rows = [
        {
            "id": n + 1,
            "image_id": 200 + n,
            "image": f"./images/{200 + n}.jpg",
            "instruction": f"What about the {kind}?",
            "ground_truth": f"The {kind}.",
            "type": kind,
        }
        for n, kind in enumerate(kinds)
    ]
    replies = [f"I cannot say, {n}." for n in range(23)]
    for place in (0, 6, 11, 15):
        replies[place] = "Answer: Correct\nExtra Contradictory Claims: 2"
    answers = [f"{rng.choice(('Two', 'Three'))} boats.", "Nothing."]
    return _case("hqh", {"hqh/HQH.json": json.dumps(rows)}, answers, {"judge": replies})


if __name__ == "__main__":
    held = FILE.read_text(encoding="utf-8")
    lines = [json.dumps(case, ensure_ascii=False) for case in cases()]
    known = set(held.splitlines())
    added = "".join(f"{line}\n" for line in lines if line not in known)
    FILE.write_text(held + added, encoding="utf-8")
