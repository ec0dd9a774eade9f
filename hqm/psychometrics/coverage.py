"""Which hallucination types a benchmark measures, and which it only names."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array
from hqm.psychometrics.result import Coefficient, Status

_FORECAST = "rate .5, independent items"
FEWEST_CLUSTERS = 10
"""Below so many pictures a type's error cannot be told from its answers; the number of items
forecasts it.
"""

State = Literal["measurable", "labelled, not measurable", "claimed, no evidence", "absent"]


@dataclass(frozen=True, slots=True)
class TypeCoverage:
    """One type of the taxonomy.

    - `items, images, wordings`: Items labelled with it, distinct pictures and distinct questions
      (letter case, spaces and punctuation apart).
    - `share`: Share of all labels.
    - `sem, sem_method`: Standard error of a respondent's score on this type, over other items of
      the kind; how it was computed.
    - `measured`: Whether that error is of answers, and no forecast from the number of items.
    - `missing_items`: How many more items the type needs to be measurable, by the root-n law.
    - `state`: `measurable`; `labelled, not measurable` (the error is too large); `claimed, no
      evidence` (named by the benchmark, on no item); `absent`.
    """

    name: str
    items: int
    images: int
    wordings: int
    share: float
    sem: float
    sem_method: str
    missing_items: int
    state: State
    measured: bool = False


@dataclass(frozen=True, slots=True)
class Coverage:
    """The types of a benchmark against a taxonomy.

    - `index`: Share of the taxonomy's types that are measurable.
    - `evenness, effective`: Entropy over ln of the number of types, and exp(entropy).
    - `unlabelled`: Items without a label.
    """

    types: tuple[TypeCoverage, ...]
    index: Coefficient
    evenness: Coefficient
    effective: Coefficient
    n_items: int
    n_min: int
    unlabelled: int
    status: Status = "ok"
    reason: str = ""


def items_for_error(sem: float, rate: float = 0.5) -> int:
    """How many independent items give a score this standard error: n = p (1 - p) / sem^2.

    - `sem, rate`: The standard error, and the expected score p, of which .5 is the worst case.

    >>> items_for_error(0.03)
    278
    """
    if not sem > 0 or not 0 <= rate <= 1:
        raise ValueError(
            f"a positive error and a rate between 0 and 1 are needed, got {sem}, {rate}"
        )
    return math.ceil(rate * (1 - rate) / sem**2 - 1e-9)


def type_coverage(
    labels: Sequence[str | Collection[str] | None],
    taxonomy: Sequence[str],
    *,
    images: Sequence[Hashable] | None = None,
    questions: Sequence[str] | None = None,
    claimed: Collection[str] = (),
    scores: npt.ArrayLike | None = None,
    errors: Mapping[str, float] | None = None,
    sem: float = 0.03,
    n_min: int | None = None,
) -> Coverage:
    """How many items, pictures and wordings stand behind every type, and whether that measures it.

    A type that a paper names but no item carries counts 0. A type is measurable when the standard
    error of its score, in these answers, is at most `sem`. Without answers the number of items
    forecasts it: a dozen items have an error of .14. Five hundred copies of one sentence are one
    wording.

        index = #(types with error <= sem) / |T|        H = -sum p ln p,   evenness = H / ln |T|,   effective = exp(H)

    - `labels`: (items,): a type, several types, or None.
    - `taxonomy`: The types asked for, distinct.
    - `images, questions`: (items,): what each item shows and asks. Items of one picture count as
      one cluster in the standard error.
    - `claimed`: Types the benchmark says it covers.
    - `scores`: (respondents, items), binary or between 0 and 1: the standard error is then that of
      these respondents, root mean square over them; else it is that of a rate of .5 with
      independent items. A respondent with fewer than five right or wrong answers of a type counts
      with Agresti and Coull's error where that is larger (1998, The American Statistician, 52,
      119-126): the plain one is 0 when all are right.
    - `errors`: Type -> its standard error in these answers, where its score is no mean of item
      scores.
    - `sem`: The standard error that makes a type measurable; `n_min` is a number of items in its
      place.

    The index is 0 when nothing is labelled (claims are no evidence); evenness and its relatives are
    then `insufficient`.

    >>> result = type_coverage(["color"] * 300 + ["count"] * 12, ["color", "count", "text"], claimed=["text"])
    >>> [kind.state for kind in result.types]
    ['measurable', 'labelled, not measurable', 'claimed, no evidence']
    >>> round(result.index.value, 3), round(result.types[1].sem, 2), result.types[1].missing_items
    (0.333, 0.14, 266)
    """
    count, names = len(labels), list(taxonomy)
    if len(set(names)) < len(names) or not names:
        raise ValueError("the taxonomy must have types, each once")
    for what, given in (("pictures", images), ("questions", questions)):
        if given is not None and len(given) != count:
            raise ValueError(f"{count} items have {len(given)} {what}")
    x = None if scores is None else np.asarray(scores, dtype=np.float64)
    if x is not None and (x.ndim != 2 or x.shape[1] != count):
        raise ValueError(f"scores must have shape (respondents, {count}), got {x.shape}")
    least = items_for_error(sem) if n_min is None else n_min
    of_item = [_set(label) for label in labels]
    asked = [normal(question) for question in questions] if questions is not None else None
    total = sum(len(types) for types in of_item)
    rows = []
    for name in names:
        members = [i for i, types in enumerate(of_item) if name in types]
        n = len(members)
        error, method = _error(x, members, images)
        if errors and n and math.isfinite(errors.get(name, math.nan)):
            error, method = errors[name], "clusters left out, root mean square over respondents"
        measured = n > 0 and method != _FORECAST and n_min is None
        missing = (
            max(0, math.ceil(n * (error / sem) ** 2 - 1e-9) - n) if measured else max(0, least - n)
        )
        state: State = "measurable" if missing == 0 else "labelled, not measurable"
        if n == 0:
            state = "claimed, no evidence" if name in claimed else "absent"
        rows.append(
            TypeCoverage(
                name,
                n,
                len({images[i] for i in members}) if images is not None else n,
                len({asked[i] for i in members}) if asked is not None else n,
                n / total if total else 0.0,
                error,
                method,
                missing,
                state,
                measured,
            )
        )
    index = Coefficient(sum(row.state == "measurable" for row in rows) / len(rows), n=count)
    unlabelled = sum(not types for types in of_item)
    evenness, effective = _indices(rows, count)
    return Coverage(
        tuple(rows),
        index,
        evenness,
        effective,
        count,
        least,
        unlabelled,
        effective.status,
        effective.reason,
    )


def normal(text: str) -> str:
    """A question without letter case, punctuation and spare spaces, so that equal wordings are
    equal.

    >>> normal("Is  the sky sunny?") == normal("is the sky sunny")
    True
    """
    return " ".join(re.findall(r"\w+", text.casefold()))


def _set(label: str | Collection[str] | None) -> frozenset[str]:
    if label is None:
        return frozenset()
    return frozenset([label]) if isinstance(label, str) else frozenset(label)


def _error(
    x: Array | None, members: list[int], images: Sequence[Hashable] | None
) -> tuple[float, str]:
    if not members:
        return math.nan, "no items"
    worst = (math.sqrt(0.25 / len(members)), _FORECAST)
    if x is None or len(x) == 0:
        return worst
    part = x[:, members]
    seen = np.isfinite(part)
    shown: Sequence[Hashable] = [images[i] for i in members] if images is not None else members
    place = {image: c for c, image in enumerate(dict.fromkeys(shown))}
    cluster = np.array([place[image] for image in shown])

    def by_image(values: Array) -> Array:
        """(respondents, images): the sum over each image's items."""
        return np.stack([np.bincount(cluster, weights=row, minlength=len(place)) for row in values])

    n = by_image(seen.astype(np.float64))
    asked, clusters = n.sum(axis=1), (n > 0).sum(axis=1)
    usable = clusters >= FEWEST_CLUSTERS
    if not usable.any():
        return worst
    tally = by_image(np.where(seen, part, 0.0))
    rate = tally.sum(axis=1) / np.maximum(asked, 1)
    residual = ((tally - rate[:, None] * n) ** 2).sum(axis=1)
    squared = clusters / np.maximum(clusters - 1, 1) * residual / np.maximum(asked, 1) ** 2
    total = tally.sum(axis=1)
    extreme = np.minimum(total, asked - total) < 5
    shrunk = (total + 2) / (asked + 4)
    squared = np.where(extreme, np.maximum(squared, shrunk * (1 - shrunk) / (asked + 4)), squared)[
        usable
    ]
    return (
        math.sqrt(float(squared.mean())),
        "clustered by picture, root mean square over respondents",
    )


def _indices(rows: Sequence[TypeCoverage], count: int) -> tuple[Coefficient, Coefficient]:
    n = sum(row.items for row in rows)
    if n == 0:
        none = Coefficient.absent(
            "insufficient", "no item is labelled with a type of the taxonomy", count
        )
        return none, none
    p = np.array([row.items / n for row in rows])
    entropy = float(-(p[p > 0] * np.log(p[p > 0])).sum())
    even = Coefficient(entropy / math.log(len(p)), n=n) if len(p) > 1 else None
    return (
        even or Coefficient.absent("degenerate", "one type cannot be uneven", n),
        Coefficient(math.exp(entropy), n=n),
    )
