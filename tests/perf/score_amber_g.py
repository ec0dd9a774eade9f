"""All 1,004 descriptions of AMBER-g scored, against the pairwise loop.

    HQM_DATA=... python tests/perf/score_amber_g.py [--words 100]

HQM: `score_file` with the default tagger and a table of vectors (random ones of 300 dimensions for
AMBER's 418 words; how words are like one another changes no time). The named alternative, in the
same run: what AMBER's release does with the same nouns, which is to embed both words of every pair
anew and take their cosine. The time of the tagger is printed apart, as both need it; the metrics
that both give are compared.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import hqm
from hqm.auditing.one_file import score_file
from hqm.scoring.words import Recipe, Words
from hqm.scoring.words.interfaces import THRESHOLD, Embedding, VectorLikeness, cosine
from hqm.scoring.words.offline import HantaNouns

FILLER = (
    "in the middle of this picture one can see that there is also something quite beautiful next"
    " to it".split()
)


def descriptions(benchmark: Any, length: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    """One description a picture: every fourth word an object, of the picture or of the
    vocabulary.
    """
    words = sorted(benchmark.vocabulary)
    answers = []
    for item in benchmark.original.items:
        picture_words = (
            benchmark.annotations[item.id]["truth"] + benchmark.annotations[item.id]["hallu"]
        )
        text = [
            (
                str(rng.choice(picture_words if rng.random() < 0.6 else words))
                if i % 4 == 3
                else FILLER[i % len(FILLER)]
            )
            for i in range(length)
        ]
        sentences = [" ".join(text[i : i + 16]).capitalize() + "." for i in range(0, length, 16)]
        answers.append({"id": int(item.id), "response": " ".join(sentences)})
    return answers


def naive(
    benchmark: Any, rows: list[dict[str, Any]], nouns: list[list[str]], fresh: Any
) -> tuple[float, int]:
    """CHAIR as the release sums it up, every pair embedded anew; and how many pairs that were."""
    n_hallucinated = mentioned = pairs = 0
    for row, answer_nouns in zip(rows, nouns, strict=True):
        note = benchmark.annotations[str(row["id"])]
        safe = [w for name in note["truth"] for w in benchmark.associated[name]] + note["truth"]
        expected = [w for name in note["hallu"] for w in benchmark.associated[name]] + note["hallu"]
        for noun in answer_nouns:
            mentioned += 1
            if noun in benchmark.safe_words or noun in safe:
                continue
            for annotated in expected:
                pairs += 1
                if cosine(fresh(noun), fresh(annotated)) > THRESHOLD:
                    break
            for annotated in safe:
                pairs += 1
                if cosine(fresh(noun), fresh(annotated)) > THRESHOLD:
                    break
            else:
                n_hallucinated += 1
    return round(n_hallucinated / (mentioned + 0.001) * 100, 1), pairs


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--words", type=int, default=100, help="words a description")
    length = options.parse_args().words
    benchmark: Any = hqm.load("amber_g")
    rng = np.random.default_rng(0)
    vectors = {
        word: rng.normal(size=300).astype(np.float32) for word in sorted(benchmark.vocabulary)
    }
    for word, neighbour in zip(
        sorted(vectors)[::9], sorted(vectors)[1::9], strict=False
    ):  # some pairs that are alike
        vectors[neighbour] = (vectors[word] + 0.3 * rng.normal(size=300)).astype(np.float32)

    def fresh(word: str) -> Embedding:
        return Embedding((word,), vectors[word], float(np.linalg.norm(vectors[word])))

    finder = HantaNouns()
    benchmark.words = Words(Recipe("hanta", "random"), finder, VectorLikeness("random", fresh))
    rows = descriptions(benchmark, length, rng)
    finder("A dog.")
    benchmark.words.likeness.alike(["dog"], ["cat"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.json"
        path.write_text(json.dumps(rows))
        start = time.perf_counter()
        scored = score_file(benchmark, path)
        total_seconds = time.perf_counter() - start
    start = time.perf_counter()
    nouns = [
        [n.lemma for n in finder(row["response"]) if n.lemma in benchmark.vocabulary]
        for row in rows
    ]
    tagging = time.perf_counter() - start
    start = time.perf_counter()
    chair, pairs = naive(benchmark, rows, nouns, fresh)
    loop = time.perf_counter() - start
    if scored.metrics["chair"] != chair:
        raise SystemExit(f"the two disagree: CHAIR {scored.metrics['chair']} and {chair}")
    net_seconds = max(total_seconds - tagging, 1e-9)
    print(
        f"{len(rows)} descriptions of {length} words, {sum(map(len, nouns))} objects, CHAIR {chair}"
    )
    print(
        f"HQM, all metrics       {total_seconds:8.2f} s, of which the tagger takes about"
        f" {tagging:.2f} s"
    )
    print(
        f"pairwise loop          {tagging + loop:8.2f} s, of which {pairs} pairs take {loop:.2f} s"
    )
    print(f"without the tagger     {loop / net_seconds:8.1f} times as fast")


if __name__ == "__main__":
    main()
