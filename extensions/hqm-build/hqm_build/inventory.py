"""Captions compared with an inventory: what the recipes `valor` and `openchair` of `hqm build`
make.

An item's target is what is in its picture, and its field `vocabulary` the names that a caption is
searched for; a file `vocabulary.json` beside the items holds it once for all of them. Of the names
that a caption mentions, the share that the inventory does not have is hallucinated (CHAIR, Rohrbach
et al. 2018). A longer name goes before a shorter one inside it: a "hot dog" is no dog. There is no
release and no paper, so `official` and `paper` scoring are the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from operator import attrgetter, itemgetter

from hqm import Analysis, Benchmark, DataError, Item, Metric, Response, ScoredAnswer, Verdict
from hqm.benchmark.analyses import by_respondent, scored_answers
from hqm.files.records import read_json
from hqm.scoring.metrics import CHAIR, chair_tally, mentioned
from hqm.types import group_by

ARMS = ("selected", "control")
"""The parts of what the recipe `valor` makes."""


class Inventory(Benchmark):
    """Captions scored by the objects that they mention."""

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Those of CHAIR."""
        return CHAIR

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The names that captions are searched for."""
        path = self.data / "vocabulary.json"
        names = read_json(path)
        # an empty name would be mentioned by every caption
        if not isinstance(names, list) or not all(
            isinstance(name, str) and name.strip() for name in names
        ):
            raise DataError(
                "it is no list of names", location=str(path), remedy='Write ["dog", "hot dog"].'
            )
        return frozenset(names)

    def score(self, item: Item, response: Response) -> Verdict:
        """The tally of CHAIR."""
        if isinstance(item.target, (list, tuple)):
            present = item.target
        else:
            present = [item.target]
        names = mentioned(response.text, self.vocabulary)
        return chair_tally(names, set(map(str, present)), response.text)

    def analyses(self, answers: Sequence[ScoredAnswer]) -> Iterable[Analysis]:
        """The selected pictures beside the control arm, where the benchmark has both."""
        yield arms(answers)


# The 97.5% quantile of the normal distribution.
_Z = 1.959963984540054


def arms(answers: Sequence[ScoredAnswer]) -> Analysis:
    """Each respondent's faithfulness and coverage on selected and on control pictures, and the
    difference of faithfulness.
    """
    rows: list[tuple[str | float | int | None, ...]] = []
    for respondent, respondent_answers in by_respondent(scored_answers(answers)).items():
        by_arm = group_by(respondent_answers, lambda answer: answer.item.part)
        tallies = [list(map(attrgetter("tally"), by_arm.get(arm, ()))) for arm in ARMS]
        selected, selected_variance = _faithfulness(tallies[0])
        control, control_variance = _faithfulness(tallies[1])
        # the arms share no picture, so that their estimates are independent
        variance = selected_variance + control_variance
        # also the ratios of a respondent with no answers in either arm
        if not all(map(math.isfinite, (selected, control, variance))):
            continue
        half_width = _Z * math.sqrt(variance)
        difference = selected - control
        rows.append(
            (
                respondent,
                selected,
                control,
                difference,
                difference - half_width,
                difference + half_width,
                *map(_coverage, tallies),
            )
        )
    return Analysis(
        name="selected_and_control",
        title="Selected pictures and the control arm",
        about=(
            "Faithfulness (1 - CHAIRi) and coverage of the captions of pictures that go against a"
            " habit, and of pictures drawn at random with as many objects; the 95% interval of the"
            " difference is over pictures, by the jackknife in each arm (VALOR-Eval, Table 5)."
        ),
        columns=(
            "Respondent",
            "Faithfulness, selected",
            "Faithfulness, control",
            "Difference",
            "from",
            "to",
            "Coverage, selected",
            "Coverage, control",
        ),
        rows=tuple(rows),
        drawn="Difference",
    )


def _faithfulness(tallies: Sequence[Mapping[str, float]]) -> tuple[float, float]:
    """The share of mentioned objects that are there, and its variance."""
    return _share_and_variance(
        [(tally["mentioned"] - tally["hallucinated"], tally["mentioned"]) for tally in tallies]
    )


def _coverage(tallies: Sequence[Mapping[str, float]]) -> float:
    """The share of the objects there that are mentioned."""
    share, _ = _share_and_variance([(tally["covered"], tally["present"]) for tally in tallies])
    return share


def _share_and_variance(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """A ratio of sums, and its jackknife variance over pictures; NaN where it has none."""
    n = len(pairs)
    top = sum(map(itemgetter(0), pairs))
    bottom = sum(map(itemgetter(1), pairs))
    # left out, a picture with all that is counted leaves nothing to divide by
    if n < 2 or max(map(itemgetter(1), pairs)) >= bottom:
        return math.nan, math.nan
    leave_one_out = [(top - a) / (bottom - b) for a, b in pairs]
    mean = sum(leave_one_out) / n
    # Efron and Tibshirani (1993): the jackknife variance, (n - 1) / n times the sum of squares
    return top / bottom, (n - 1) / n * sum((value - mean) ** 2 for value in leave_one_out)
