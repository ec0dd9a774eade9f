"""Every coefficient of an audit stays in its range or is refused, its interval included."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from pydantic_core import PydanticCustomError

from hqm.auditing.audit_rows import check_values
from hqm.indicators import compare, compare_forms, compare_runs, describe, indicator_named
from hqm.psychometrics import family_dependence
from hqm.types import Cell, Estimate, Form
from tests import test_flags as made
from tests.conftest import counts

SEEDS = counts(160)
MOST_VARIANCE = 0.25
"""No part of the variance of answers that are right or wrong is larger."""


def answers(rng: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
    """Right and wrong answers of one of the shapes that studies have, and of some that none should."""
    m, n = size
    shape = rng.integers(8)
    ability, ease = rng.normal(0, rng.choice([0, 0.5, 2]), (m, 1)), rng.normal(0, 1, (1, n))
    chance = 1 / (1 + np.exp(-ability - ease))
    if shape == 0:  # everything is right but little
        chance = np.full(size, 0.99)
    if shape == 1:  # the able fail what others pass
        chance = np.where(np.arange(n) % 2, chance, 1 - chance)
    if shape == 2:  # two camps that answer against each other
        chance = np.where((np.arange(m) % 2)[:, None], chance[:1], 1 - chance[:1])
    if shape == 3:  # coin flips
        chance = np.full(size, 0.5)
    right = rng.random(size) < chance
    if shape == 4:  # all alike
        right[:] = right[0]
    if shape == 5:  # a Guttman scale
        right = np.arange(m)[:, None] * n > np.arange(n)[None] * m
    return np.asarray(right, dtype=np.float64)


def readminister(rng: np.random.Generator, right: np.ndarray) -> np.ndarray:
    """The same answers in another administration: with noise, turned round, shifted, or the same."""
    noise = rng.choice([0.0, 0.02, 0.3, 0.5, 1.0])
    moved = np.where(rng.random(right.shape) < noise, 1 - right, right)
    return np.asarray(np.maximum(moved, rng.random(right.shape) < rng.choice([0.0, 0.3])), float)


def estimates(seed: int) -> Iterator[Estimate]:
    """All estimates of an audit of drawn answers: runs, wordings, judges, and one administration."""
    rng = np.random.default_rng(seed)
    size = int(rng.choice([3, 5, 9, 12])), int(rng.choice([6, 20, 60]))
    a_picture = int(rng.choice([1, 3]))
    items = [
        replace(item, cluster=f"{i // a_picture}") for i, item in enumerate(made.items(size[1]))
    ]
    right = answers(rng, size)
    first = made.matrix(right, Cell(), items)
    reruns = [made.matrix(readminister(rng, right), Cell(run=k), items) for k in (1, 2)]
    related = [f"f{k // 2}" for k in range(size[0])] if rng.random() < 0.3 else first.respondents
    settings = {"families": tuple(related), "n_effective": float(len(set(related)))}
    arguments = (made.ACCURACY, made.PROTOCOL)
    yield from compare_runs([first, *reruns], *arguments, **settings)
    yield from compare("run", first, reruns[0], *arguments, **settings)
    forms = [made.matrix(readminister(rng, right), Cell(form=f"w{k}"), items) for k in range(4)]
    for reworded in forms[:1]:
        yield from compare("form", first, reworded, *arguments, runs=[first, *reruns], **settings)
    for count in (2, 3, 5):
        yield from compare_forms([first, *forms[: count - 1]], *arguments, **settings)
    judged = made.matrix(readminister(rng, right), Cell(judge="b@1"), items)
    yield from compare("judge", first, judged, *arguments, **settings)
    yield from describe(
        first, *arguments, form=Form("original", first.items), claimed=(), **settings
    )


def wrong(estimate: Estimate) -> Iterator[str]:
    """What of an estimate lies outside its range."""
    indicator = indicator_named(estimate.indicator)
    assert indicator is not None, estimate.indicator
    low, high = indicator.unit.minimum - 1e-9, indicator.unit.maximum + 1e-9
    if estimate.value is not None and not low <= estimate.value <= high:
        yield f"{estimate.indicator} is {estimate.value}"
    for span in estimate.intervals:
        open_ = span.high == np.inf and indicator.one_sided
        if indicator.unit.maximum == 1 and indicator.unit.minimum == -np.inf and span.low < -1:
            yield f"{estimate.indicator} has [{span.low}, {span.high}] for {span.inference}"
        if not (low <= span.low and (open_ or span.high <= high)):
            yield f"{estimate.indicator} has [{span.low}, {span.high}] for {span.inference}"
        if estimate.value is not None and not span.low <= estimate.value + 0.02:
            yield f"{estimate.indicator} {estimate.value} lies below [{span.low}, {span.high}]"
    for component in estimate.detail.get("components") or ():
        ends = [
            component[name] for name in ("variance", "low", "high") if component[name] is not None
        ]
        if not all(0 <= end <= MOST_VARIANCE for end in ends):
            yield f"{estimate.indicator}: {component['facet']} {ends}"


@pytest.mark.parametrize("sizes", [(1, 1, 1, 2), (1, 2, 3), (1, 1, 4, 1, 2)])
def test_the_correlation_within_families_is_one(sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(sum(sizes))
    labels = [f"f{k}" for k, size in enumerate(sizes) for _ in range(size)]
    for _ in range(100):
        icc = family_dependence(rng.normal(size=len(labels)), labels).icc
        assert -1 <= icc.low <= icc.value <= icc.high <= 1


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_coefficient_stays_in_its_range(seed: int) -> None:
    assert not [fault for estimate in estimates(seed) for fault in wrong(estimate)]


DETAIL = ("audits", 0, "estimates", 3, "detail")


@pytest.mark.parametrize("name", ["items", "labels", "parts"])
def test_a_count_of_one_indicator_may_be_a_list_of_another(name: str) -> None:
    for value in (3, ["a", "b"]):
        check_values({name: value}, DETAIL)
    with pytest.raises(PydanticCustomError):
        check_values({name: "a"}, DETAIL)
