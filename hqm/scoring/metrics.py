"""Metrics: functions of summed tallies.

A verdict on one answer carries a tally, which is summed over answers (`tp`, `fp`, `tn`, `fn` for a
yes/no answer). A metric maps the sums to a number. A score, a leave-one-out value and ten thousand
bootstrap replicates are therefore the same function, applied to arrays of different shapes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hqm.types import Verdict

Array = npt.NDArray[np.float64]
Tally = Mapping[str, Any]
Better = Literal["higher", "lower", "neither"]
UNIT = (0.0, 1.0)
"""The scale of shares and rates."""
PER_CENT = (0.0, 100.0)
"""The scale of shares times 100."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A named function of summed tallies.

    Parameters
    ----------
    name
        As it is printed everywhere; the metric of a subset has a dot (`existence.f1`).
    of
        Sums -> value; every sum is an array of one shape, the value has that shape; undefined
        values are NaN. It never rounds: scores, leave-one-out values, replicates and tests are made
        of it.
    better
        Which direction is good.
    subset
        The items it looks at (a type, a part, or what the benchmark's `subsets` gives); empty for
        all.
    share
        Whether it is a mean of 0/1 item scores, so that the noise floor of independent coin flips
        applies.
    about
        One sentence that explains it in tables.
    group
        A grouping of the benchmark (its `groupings`): tallies are first reduced to the least within
        each group, so that a figure counts as right when all its questions are. A group with an
        unscored answer drops out. Empty for none.
    digits
        The number of decimals that a release prints; None where it does not round. For display
        alone: `printed`.
    release
        Sums -> value as the release computes what it prints, where it rounds on the way (an F1 of a
        rounded precision and a rounded recall); None where it is `of`.
    scale
        The least and the greatest value, where it has them; a share lies from 0 to 1 by itself.
    count
        The tally that counts the answers with this score, where an answer may have others without
        it; empty where every scored answer has it.
    """

    name: str
    of: Callable[[Tally], npt.ArrayLike]
    better: Better = "higher"
    subset: str = ""
    share: bool = False
    about: str = ""
    group: str = ""
    digits: int | None = None
    release: Callable[[Tally], npt.ArrayLike] | None = None
    scale: tuple[float | None, float | None] = (None, None)
    count: str = ""

    def __call__(self, sums: Tally) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.of(sums), dtype=np.float64)

    @property
    def sign(self) -> int:
        """+1 when higher is better, -1 when lower is."""
        return -1 if self.better == "lower" else 1

    def within(self, subset: str) -> Metric:
        """Return the same metric on a subset of the items."""
        return replace(self, name=f"{subset}.{self.name}", subset=subset)

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """The least and the greatest value that it can have."""
        return UNIT if self.share else self.scale

    @property
    def rounds(self) -> bool:
        """Whether what the release prints is not the value itself."""
        return self.digits is not None or self.release is not None

    def printed(self, sums: Tally) -> Array:
        """Return the number that the release prints, from the same sums.

        It is for display, never for a statistic.

        >>> Metric("rate", lambda t: t["n"],
        ...     digits=2).printed({"n": np.array([0.125, 2 / 3, np.nan])})
        array([0.12, 0.67,  nan])
        """
        if self.release is None:
            values = self(sums)
        else:
            values = replace(self, of=self.release)(sums)
        return values if self.digits is None else rounded(values, self.digits)


def rounded(values: npt.ArrayLike, digits: int) -> Array:
    """Values rounded one by one as Python rounds, which is not always as numpy does.

    >>> rounded([0.125, 2.675, np.nan], 2)
    array([0.12, 2.67,  nan])
    """

    def round_one(value: float) -> float:
        return round(float(value), digits) if np.isfinite(value) else value

    return np.asarray(np.vectorize(round_one, otypes=[float])(values))


def ratio(top: object, bottom: object) -> Array:
    """Divide, with NaN and without a warning where the denominator is 0.

    Parameters
    ----------
    top, bottom
        Arrays of one shape, or numbers.

    Returns
    -------
    ndarray
        Of the same shape.

    Examples
    --------
    >>> ratio(np.array([1.0, 1.0]), np.array([2.0, 0.0]))
    array([0.5, nan])
    """
    top = np.asarray(top, dtype=np.float64)
    bottom = np.asarray(bottom, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(bottom == 0, np.nan, top / bottom)


def mean_of(key: str, count: str = "n") -> Callable[[Tally], Array]:
    """Return the metric that divides one sum by another.

    Parameters
    ----------
    key
        The tally that is summed.
    count
        The tally that it is divided by.

    Returns
    -------
    callable
        Sums -> their quotient; NaN where the count is 0.
    """
    return lambda t: ratio(t[key], t[count])


def _precision(t: Tally) -> Array:
    return ratio(t["tp"], t["tp"] + t["fp"])


def _recall(t: Tally) -> Array:
    return ratio(t["tp"], t["tp"] + t["fn"])


def _f1(t: Tally) -> Array:
    # in the order in which released scorers multiply, so that the last digit is theirs
    precision = _precision(t)
    recall = _recall(t)
    return ratio(2 * precision * recall, precision + recall)


def _total(t: Tally) -> Any:
    return t["tp"] + t["fp"] + t["tn"] + t["fn"]


def _d_prime(t: Tally) -> Array:
    # half an answer more in each cell (the log-linear rule of Hautus 1995), so that rates of 0 and
    # 1 have a value
    from scipy.special import ndtri

    n_yes = np.asarray(t["tp"] + t["fn"])
    n_no = np.asarray(t["fp"] + t["tn"])
    distance = ndtri((t["tp"] + 0.5) / (n_yes + 1)) - ndtri((t["fp"] + 0.5) / (n_no + 1))
    # sensitivity needs questions of both answers
    return np.where((n_yes > 0) & (n_no > 0), distance, np.nan)


YES_NO: tuple[Metric, ...] = (
    Metric(
        "accuracy",
        lambda t: ratio(t["tp"] + t["tn"], _total(t)),
        share=True,
        about="Share of right answers.",
    ),
    Metric(
        "precision",
        _precision,
        about="Of the answers yes, the share that is right.",
        scale=UNIT,
    ),
    Metric(
        "recall",
        _recall,
        about="Of the questions whose answer is yes, the share answered yes.",
        scale=UNIT,
    ),
    Metric("f1", _f1, about="Harmonic mean of precision and recall.", scale=UNIT),
    Metric(
        "d_prime",
        _d_prime,
        about="Distance of yes answers to true and to false questions, free of the habit of yes.",
    ),
    Metric(
        "yes_ratio",
        lambda t: ratio(t["tp"] + t["fp"], _total(t)),
        "neither",
        about="Share of answers yes.",
        scale=UNIT,
    ),
)
"""The metrics of yes/no questions; yes is the positive class. An undefined ratio is NaN, as is F1
without any yes.

`d_prime` is sensitivity d' = z(hit rate) - z(false-alarm rate) with log-linear correction (Green
and Swets 1966; Hautus 1995, Behavior Research Methods 27, 46-51); NaN where all questions have one
answer.
"""

ACCURACY: tuple[Metric, ...] = (
    Metric("accuracy", mean_of("right"), share=True, about="Share of right answers."),
)
"""The metric of multiple choice and short answers."""


def yes_no_tally(polarity: str, truth: str) -> dict[str, float]:
    """The four counts of one yes/no answer.

    >>> yes_no_tally("yes", "no")
    {'tp': 0.0, 'fp': 1.0, 'tn': 0.0, 'fn': 0.0}
    """
    return {
        "tp": float(polarity == truth == "yes"),
        "fp": float(polarity == "yes" and truth == "no"),
        "tn": float(polarity == truth == "no"),
        "fn": float(polarity == "no" and truth == "yes"),
    }


CHAIR: tuple[Metric, ...] = (
    Metric(
        "chair_i",
        mean_of("hallucinated", "mentioned"),
        "lower",
        about="Of the objects mentioned, the share not there.",
        scale=UNIT,
    ),
    Metric(
        "chair_s",
        mean_of("captions_hallucinated"),
        "lower",
        share=True,
        about="Share of captions that mention an object not there.",
    ),
    Metric(
        "recall",
        mean_of("covered", "present"),
        about="Of the objects there, the share mentioned.",
        scale=UNIT,
    ),
    Metric(
        "length",
        mean_of("words"),
        "neither",
        about="Mean length of a caption in words.",
        scale=(0.0, None),
    ),
)
"""The metrics of captions over a closed vocabulary of objects (Rohrbach et al. 2018, arXiv
1809.02156).
"""


def chair_tally(mentioned: Sequence[str], present: Collection[str], text: str) -> Verdict:
    """The verdict on one caption.

    Parameters
    ----------
    mentioned
        The objects it mentions, repeats kept.
    present
        The objects in the picture.
    text
        The caption; its words are counted.

    Examples
    --------
    >>> verdict = chair_tally(["dog", "dog", "cat"], {"dog", "person"}, "Two dogs and a cat.")
    >>> verdict.tally["hallucinated"], verdict.tally["mentioned"], verdict.read
    (1.0, 3.0, 'cat')
    """
    present_objects = set(present)
    wrong = [name for name in mentioned if name not in present_objects]
    tally = {
        "hallucinated": float(len(wrong)),
        "mentioned": float(len(mentioned)),
        "captions_hallucinated": float(bool(wrong)),
        "covered": float(len(present_objects & set(mentioned))),
        "present": float(len(present_objects)),
        "words": float(len(text.split())),
        "n": 1.0,
    }
    return Verdict(float(not wrong), tally, "ok", ", ".join(wrong))


# ----------------------------------------------------------------------
# Which names of a vocabulary a text mentions; a longer name goes before a shorter one inside it.
# ----------------------------------------------------------------------


def mentioned(text: str, vocabulary: Collection[str]) -> list[str]:
    """The names of a vocabulary that a text mentions, in its order; plurals too.

    >>> mentioned("Two hot dogs and a dog.", frozenset({"dog", "hot dog"}))
    ['hot dog', 'dog']
    """
    words = re.findall(r"[a-z0-9'-]+", text.lower())
    max_words = max((len(name.split()) for name in vocabulary), default=0)
    names = []
    start = 0
    while start < len(words):
        for width in range(min(max_words, len(words) - start), 0, -1):
            spellings = _spellings(tuple(words[start : start + width]))
            name = next((spelling for spelling in spellings if spelling in vocabulary), None)
            if name is not None:
                names.append(name)
                start += width
                break
        else:
            start += 1
    return names


@lru_cache(maxsize=65536)
def _spellings(words: Sequence[str]) -> tuple[str, ...]:
    """A sequence of words as it stands, and with its last word in the singular."""
    from lemminflect import getLemma

    *before, last = words
    endings = (last, *getLemma(last, "NOUN"))
    return tuple(dict.fromkeys(" ".join([*before, ending]) for ending in endings))
