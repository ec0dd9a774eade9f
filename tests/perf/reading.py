"""Microseconds a word of reading answers, against one compiled pattern over the same texts.

    python tests/perf/reading.py
    python tests/perf/reading.py --words 1000    # in a second, for numbers that mean little

Every answer is different, so that none is read twice: chains of thought of 120, 400 and 960 words
for each task, and short answers of one to eight words to a thousand items with texts of their own.
The rival is `finditer` of one pattern with the commonest cues: less than any reader can do.
The last line is the time of the clock on one core over that on all cores.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections.abc import Callable, Sequence

from hqm.scoring.parsers import STRICT
from hqm.scoring.rules import score_choice, score_short, score_yes_no
from hqm.scoring.score_cache import score_on_cores
from hqm.types import Item, Response, Task, Verdict

RIVAL = re.compile(
    r"\b(?:answer|option|choice|so|therefore|thus|wait|actually|no|not|if|but|is|correct)\b[\s,:]*",
    re.IGNORECASE,
)
SUBJECTS = "picture chart figure left panel table legend caption axis label road sign house".split()
NOUNS = "red ball,blue car,green house,yellow bird,wooden bench,tall tree,small dog".split(",")
STEPS = (
    "Let me look at the {subject} first, because it shows a {noun} beside the {other}.",
    "The {subject} has {n} marks, and the {noun} stands in front of it.",
    "If the {noun} were larger, the {subject} would not show it as well.",
    "I see that the {noun} is near the {other}, but it is not clear whether they touch.",
    "This means that we can compare the {noun} with the {other} in the {subject}.",
    "**Step {n}:** read the {subject}, which has a value of {n}.5 for the {noun}.",
    "However, the {subject} does not say what the {other} is made of.",
    "In the {subject} there are {n} lines – each of them belongs to the {noun}.",
)
ENDINGS: dict[str, tuple[str, ...]] = {
    "yes_no": ("So the answer is yes.", "There is no dog in the image.", "Answer: no"),
    "choice": ("Therefore, the correct option is C.", "\n\nAnswer: A", "It is the green house."),
    "number": ("So the answer is {n}.", "There are {n} dogs.", "**{n}**"),
    "text": ("The car is blue.", "Answer: blue", "So it is a red one."),
}
ITEMS = {
    "yes_no": Item("1", "Is there a dog in the image?", "yes_no", "yes"),
    "choice": Item("1", "What is it?", "choice", "A", options=tuple(NOUNS[:4])),
    "number": Item("1", "How many dogs are there?", "vqa", "3"),
    "text": Item("1", "What color is the car?", "vqa", "blue"),
}
N_WORDS = 40_000
"""Words of all chains of one length."""
WORDS_PER_ITEM = 40
"""There is an item with short answers for so many of them, and four chains on one core and all."""


def score(item: Item, text: str) -> Verdict:
    """The verdict on an answer."""
    if item.task == "yes_no":
        return score_yes_no(item, Response(text), STRICT)
    if item.task == "choice":
        return score_choice(item, Response(text))
    return score_short(item, Response(text))


def chain_of_thought(rng: random.Random, n_words: int, ending: str) -> str:
    """A chain of thought of about so many words, with an ending of its own."""
    sentences: list[str] = []
    while sum(sentence.count(" ") + 1 for sentence in sentences) < n_words:
        noun, other = rng.sample(NOUNS, 2)
        step = rng.choice(STEPS)
        sentences.append(
            step.format(
                subject=rng.choice(SUBJECTS), noun=noun, other=other, n=rng.randint(2, 10**6)
            )
        )
    return " ".join([*sentences, ending.format(n=rng.randint(0, 10**6))])


def short_answers(task: str, rng: random.Random, n_items: int) -> list[tuple[Item, str]]:
    """Items with four short answers to each, none of which comes twice."""
    kinds: dict[str, Task] = {"yes_no": "yes_no", "choice": "choice"}
    pairs = []
    for index in range(n_items):
        options = tuple(f"{made_word(rng)} {rng.choice(NOUNS)}" for _ in range(4))
        target = {"yes_no": "yes", "choice": "B", "number": str(index)}.get(task, options[1])
        item = Item(
            str(index),
            f"{'How many' if task == 'number' else 'What'} {options[0]} is in the {options[1]}?",
            kinds.get(task, "vqa"),
            target,
            options=options if task == "choice" else (),
        )
        for _ in range(4):
            words = [made_word(rng) for _ in range(rng.randint(0, 7))]
            named = rng.choice((options[0], options[1], str(rng.randint(0, 10**6))))
            pairs.append((item, " ".join([named, *words])))
    return pairs


def made_word(rng: random.Random) -> str:
    """A word that no other text has."""
    return "".join(rng.choices("abdeghiklmnoprstuvw", k=rng.randint(4, 9)))


def seconds(run: Callable[[], object]) -> float:
    """The processor time of a run."""
    start = time.process_time()
    run()
    return time.process_time() - start


def microseconds_a_word(pairs: Sequence[tuple[Item, str]]) -> float:
    """The processor time of scoring, for each word of the answers."""
    n_words = sum(len(text.split()) for _, text in pairs)
    return 1e6 * seconds(lambda: [score(item, text) for item, text in pairs]) / n_words


def one_core_over_all(rng: random.Random, n_answers: int) -> float:
    """The time of the clock of reading answers of 120 words on one core, over that on all cores."""
    items = list(ITEMS.values())
    times = []
    for n_cores in (1, None):
        # answers of their own for each: what was read once is remembered
        answers = []
        for index in range(n_answers):
            ending = rng.choice(ENDINGS[list(ITEMS)[index % len(items)]])
            answers.append((index % len(items), Response(chain_of_thought(rng, 120, ending))))
        start = time.perf_counter()
        score_on_cores(lambda i, response: score(items[i], response.text), answers, n_cores)
        times.append(time.perf_counter() - start)
    return times[0] / times[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=int, default=N_WORDS)
    n_words_of_all = parser.parse_args().words
    n_items = n_words_of_all // WORDS_PER_ITEM
    rng = random.Random(0)
    for item in ITEMS.values():
        score(item, "What is read first loads the readers.")
    print("answers of words   " + "".join(f"{task:>10}" for task in ITEMS) + "     rival")
    for n_words in (120, 400, 960):
        cells = []
        for task, item in ITEMS.items():
            texts = [
                chain_of_thought(rng, n_words, rng.choice(ENDINGS[task]))
                for _ in range(n_words_of_all // n_words)
            ]
            cells.append(microseconds_a_word([(item, text) for text in texts]))
        rival = seconds(lambda: [list(RIVAL.finditer(text)) for text in texts])  # noqa: B023
        cells.append(1e6 * rival / sum(len(text.split()) for text in texts))
        print(f"{n_words:<19}" + "".join(f"{cell:>10.2f}" for cell in cells))
    cells = [microseconds_a_word(short_answers(task, rng, n_items)) for task in ITEMS]
    print(f"{'1 to 9':<19}" + "".join(f"{cell:>10.2f}" for cell in cells))
    print(f"{'one core / all':<19}{one_core_over_all(rng, 10 * n_items):>10.2f}")


if __name__ == "__main__":
    main()
