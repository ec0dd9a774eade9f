"""Calls with values on both sides of every threshold of `hqm.psychometrics`, for the corpus
`functions`: a limit that moves by a tenth, or by one, gives another outcome.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

import hqm.psychometrics as psychometrics
from hqm.psychometrics.inference import families
from hqm.psychometrics.inference.bootstrap import resample, stream
from hqm.psychometrics.result import Coefficient

Calls = Iterator[tuple[str, dict[str, Any]]]
FloatArray = npt.NDArray[np.float64]


# --- functions that take a function, or the result of another ---


def influence(scores: list[float], other_scores: list[float] | None = None) -> Any:
    """The mean without each respondent, or the correlation with other scores."""
    x = np.array(scores)

    def mean(rows: npt.NDArray[np.int64]) -> float:
        return float(x[rows].mean())

    def correlation(rows: npt.NDArray[np.int64]) -> float:
        return psychometrics.pearson(x[rows], np.array(other_scores)[rows]).value

    statistic = mean if other_scores is None else correlation
    return psychometrics.leave_one_out(statistic, len(x), scores=x)


def influence_of_two(scores: list[list[float]]) -> Any:
    """The mean of two administrations without each respondent."""
    x = np.array(scores)
    return psychometrics.leave_one_out(lambda rows: float(x[:, rows].mean()), x.shape[1], scores=x)


def lower_bound(
    scores: list[float],
    other_scores: list[float],
    families: Sequence[str] = (),
    n_effective: float | None = None,
    minimum: float = -1.0,
) -> Any:
    """The bound of a correlation over other respondents, and of one with its score variance."""
    x, y = np.array([scores, other_scores])
    relatives = psychometrics.Relatives(tuple(families), n_effective)

    def correlation(rows: npt.NDArray[np.int64]) -> float:
        return float(np.corrcoef(x[rows], y[rows])[0, 1])

    def with_variance(rows: npt.NDArray[np.int64]) -> tuple[float, float]:
        return correlation(rows), float(x[rows].var(ddof=1))

    coefficient = Coefficient(correlation(np.arange(len(x))), n=len(x))
    return [
        psychometrics.add_lower_bound(coefficient, statistic, x, relatives, minimum=minimum)
        for statistic in (correlation, with_variance)
    ]


def too_few(families: Sequence[str]) -> list[bool]:
    """Whether an interval over other respondents is refused for their families or their number."""
    reasons = (
        psychometrics.too_few_families(families),
        psychometrics.too_few_respondents(len(families)),
        psychometrics.too_few_respondents(len(families), families),
    )
    return [bool(reason) for reason in reasons]


def resampled(tallies: list[list[float]], copies: int = 1, **settings: Any) -> Any:
    """The bootstrap interval of a ratio of two tallies."""
    table = np.tile(np.array(tallies), (copies, 1))
    settings = {"replicates": 400, **settings}
    return resample(table, lambda t: t[:, 0] / t[:, 1], rng=stream(7, "border"), **settings)


def pair_order_of(scores: list[float], noise: list[float], n_items: int | None = None) -> Any:
    """The probabilities of the order of all pairs."""
    return asdict(psychometrics.pair_order(scores, noise, n_items=n_items))


def wrong_keys_read(scores: FloatArray, **settings: Any) -> list[float]:
    """The numbers of a reading list without those of its items, which would outweigh them."""
    result = psychometrics.reading_list(scores, rng=stream(7, "border"), **settings)
    return [
        len(result.named),
        bool(result.doubt),
        result.stands_out,
        result.faults,
        result.evidence,
        result.common_failure,
        result.power,
        result.power_named,
        *(item.expected for item in result.items[1:8:3]),
        sum(item.item_rest for item in result.items if math.isfinite(item.item_rest)),
    ]


def planted(scores: list[list[float]], copies: int, **settings: Any) -> Any:
    """How many planted wrong keys a search for items that few solve finds."""
    x = np.tile(np.array(scores, dtype=np.float64), (1, copies))

    def search(copy: FloatArray) -> list[int]:
        items: list[int] = np.flatnonzero(np.nanmean(copy, axis=0) < 0.4).tolist()
        return items

    rng = stream(7, "border")
    return psychometrics.planted_faults(x, search, rng=rng, **settings)


COMPOSED: Mapping[str, Callable[..., Any]] = {
    "influence": influence,
    "influence_of_two": influence_of_two,
    "lower_bound": lower_bound,
    "too_few": too_few,
    "planted": planted,
    "wrong_keys_read": wrong_keys_read,
    "resampled": resampled,
    "pair_order_of": pair_order_of,
    "far_respondents": families.far_respondents,
    "log_variance_error": families.log_variance_error,
}
MODULES = {
    "influence": "families",
    "influence_of_two": "families",
    "lower_bound": "families",
    "too_few": "families",
    "planted": "wrong_keys",
    "wrong_keys_read": "wrong_keys",
    "resampled": "bootstrap",
    "pair_order_of": "ranks",
}


# --- the cases ---


def calls() -> Calls:
    """Every call; no number is drawn."""
    yield from _few_respondents()
    yield from _far_respondents()
    yield from _saturation()
    yield from _ranks()
    yield from _bootstrap()
    yield from _wrong_keys()
    yield from _missing_scores()


def _spaced(count: int, width: float = 1.0, start: float = 0.0) -> list[float]:
    """Numbers with uneven gaps, so that no two differences are equal."""
    return [round(start + width * (k + 0.3 * math.sin(5.0 * k)) / count, 4) for k in range(count)]


def _few_respondents() -> Calls:
    for count in (7, 8, 9, 12):
        x = _spaced(count)
        y = [round(score + 0.06 * math.sin(9.0 * k), 4) for k, score in enumerate(x)]
        yield "lower_bound", {"scores": x, "other_scores": y}
        yield "lower_bound", {"scores": x, "other_scores": y, "n_effective": count - 1.5}
        yield "lower_bound", {"scores": x, "other_scores": y, "minimum": 0.3}
    yield "lower_bound", {"scores": x, "other_scores": y, "n_effective": 1.9}
    yield "lower_bound", {"scores": x, "other_scores": y, "n_effective": 2.1}
    yield "lower_bound", {"scores": x, "other_scores": x}
    for n_families in (1, 4, 5, 6):
        labels = [f"f{k % n_families}" for k in range(12)]
        yield "lower_bound", {"scores": x, "other_scores": y, "families": labels}
        yield "too_few", {"families": labels}
    yield "too_few", {"families": ["a", "b", "c"]}
    for count in (7, 8):
        yield "too_few", {"families": [f"f{k}" for k in range(count)]}
    for count in (5, 12, 20):
        yield "log_variance_error", {"scores": _spaced(count)}
        yield "log_variance_error", {"scores": _spaced(count), "n_effective": count - 2.0}
    # two families of four with hardly any, with some and with all variance between them
    for labels, scores in (
        ("aabbccdd", [0.3, 0.5, 0.537, 0.687, 0.673, 0.923, 0.96, 0.88]),
        ("aabbccdd", [0.3, 0.5, 0.54, 0.69, 0.68, 0.92, 0.97, 0.89]),
        ("aabbccdd", [0.3, 0.5, 0.53, 0.66, 0.65, 0.9, 0.93, 0.86]),
        ("aabbccdd", [0.1, 0.9, 0.2, 0.8, 0.15, 0.85, 0.12, 0.9]),
        ("aaaaaaab", [0.1, 0.9, 0.2, 0.8, 0.15, 0.85, 0.5, 0.5]),
        ("aabbcc", [0.1, 0.1, 0.5, 0.5, 0.9, 0.9]),
        ("aabbcc", [0.5] * 6),
        ("aaaaaa", [0.1, 0.2, 0.4, 0.5, 0.7, 0.9]),
        ("abcdef", [0.1, 0.2, 0.4, 0.5, 0.7, 0.9]),
    ):
        yield "family_dependence", {"scores": scores, "families": list(labels), "level": 0.9}
    yield (
        "family_dependence",
        {"scores": [0.3, 0.5, 0.53, 0.69, 0.67, None, 0.96, 0.88], "families": list("aabbccdd")},
    )
    # all spread 1.39, 1.45, 1.52 and 1.58 times as far as the best three
    for best in ([0.7, 0.835, 0.97], [0.7, 0.82, 0.94], [0.7, 0.81, 0.92], [0.7, 0.8, 0.9]):
        for rest in ([0.5, 0.6], [0.4, 0.5, 0.6]):
            yield "range_restriction", {"scores": [*rest, *best]}
    yield "range_restriction", {"scores": [0.2, 0.4, 0.6, 0.7]}
    yield "range_restriction", {"scores": [0.2, 0.4, 0.7, 0.7, 0.7]}
    yield (
        "range_restriction",
        {"scores": [0.2, 0.25, 0.27, 0.4, 0.6, 0.7], "higher_is_better": False},
    )


def _far_respondents() -> Calls:
    near = [0.61, 0.64, 0.66, 0.69, 0.72]
    for far in (0.415, 0.42, 0.425, 0.43):
        yield "far_respondents", {"scores": [*near, far]}
    nearer = [0.58, 0.61, 0.63, 0.66, 0.68, 0.71, 0.74]
    for far in (0.38, 0.385, 0.39, 0.395):
        yield "far_respondents", {"scores": [*nearer, far, far + 0.01]}
    for count in (3, 4, 6, 7):
        scores = [round(0.7 + 0.01 * k, 2) for k in range(count)]
        yield "far_respondents", {"scores": [*scores, 0.2]}
        yield "influence", {"scores": [*scores, 0.2]}
        if count > 4:
            yield "far_respondents", {"scores": [*scores[1:], 0.2, 0.23]}
    yield "far_respondents", {"scores": [0.5, 0.5, 0.5, 0.5, 0.5, 0.5]}
    yield "far_respondents", {"scores": [0.5, 0.5, 0.5, 0.5, 0.5, 0.9], "false_alarm": 0.01}
    # the mean of eight moves by an eighth of the distance of the far one: by .095 and .105
    for distance in (0.76, 0.84):
        scores = [0.1, 0.11, 0.12, 0.13, 0.09, 0.08, 0.07]
        yield "influence", {"scores": [*scores, 0.1 + distance]}
    for count in (3, 4, 5):
        yield "influence", {"scores": [0.1, 0.4, 0.2, 0.9, 0.3][:count]}
    yield "influence", {"scores": [0.1] * 6, "other_scores": [0.2, 0.3, 0.1, 0.5, 0.4, 0.6]}
    line = [0.1, 0.11, 0.12, 0.13, 0.09, 0.9]
    yield "influence", {"scores": line, "other_scores": [0.2, 0.2, 0.2, 0.2, 0.2, 0.9]}
    for far in (0.44, 0.4, 0.38, 0.3):
        yield "influence_of_two", {"scores": [[*near, 0.6], [*near, far]]}


def _saturation() -> Calls:
    # of 7 and of 13 respondents one and two are near an end: .143 and .154; of 21 items 10 and 11
    # are easy or hard: .476 and .524
    for respondents, n_near in ((7, 1), (13, 2)):
        for end in (0.0, 1.0):
            near = [[end] * 12] * n_near
            rest = [
                [float((k * 5 + item * 7) % 12 < 6) for item in range(12)]
                for k in range(respondents - n_near)
            ]
            yield "saturation", {"scores": [*near, *rest]}
            yield "saturation", {"scores": [*near, *rest], "higher_is_better": False}
    for n_ends in (10, 11):
        for value in (0.95, 0.94, 0.9, 0.05, 0.053, 0.06):
            row = [value] * n_ends + [0.5] * (21 - n_ends)
            yield "saturation", {"scores": [row, row]}
    for scores in ([[1, 0]], [[1], [0]], [[1, 0], [0, 1]], [[1, 0, None], [0, 1, None]]):
        yield "saturation", {"scores": scores}
    yield "saturation", {"scores": [[1, 3], [2, 4]]}
    yield "saturation", {"scores": [[1, None, None], [0, 1, 1], [1, 0, 0.5]]}
    for respondents, items in ((2, 12), (3, 12), (3, 9), (3, 10), (6, 16)):
        rows = [
            [float((3 * k + 7 * item) % 16 < 4 + 2 * k) for item in range(items)]
            for k in range(respondents)
        ]
        yield "conditional_errors", {"scores": rows}
        yield (
            "conditional_errors",
            {"scores": rows, "clusters": [f"p{item % 4}" for item in range(items)]},
        )
    yield "conditional_errors", {"scores": [[0.0] * 10, [1.0] * 10, [1.0] * 10]}
    yield "minimum_detectable_difference", {"se": 0.02}
    yield "minimum_detectable_difference", {"se": 0.02, "power": 0.7, "level": 0.9, "tests": 6.0}
    yield "minimum_detectable_difference", {"se": 0.02, "clusters": 20}
    for pairs, n_distinct in ((0, 0), (1, 0), (45, 10), (45, 45)):
        yield "holm_tests", {"pairs": pairs, "n_distinct": n_distinct}
    for best in (0.6, 0.61, 1.0):
        blind = {"always yes": 0.5, "commonest": best}
        yield "chance_corrected", {"scores": [0.9, 0.6, 0.61, 0.4], "blind": blind}
    yield "chance_corrected", {"scores": [0.9, 0.6], "blind": {}}


def _ranks() -> Calls:
    scores, noise = [0.9, 0.8, 0.8, 0.6, 0.3, 0.55], [0.01, 0.02, 0.0, 0.0, 0.03, 0.004]
    for count in (2, 3, 4, 6):
        arguments = {"scores": scores[:count], "noise": noise[:count]}
        yield "rank_stability", {**arguments, "draws": 300}
        yield "rank_stability", {**arguments, "draws": 300, "n_items": 9}
    many = _spaced(12, start=0.1)
    yield "rank_stability", {"scores": many, "noise": [0.02] * 12, "draws": 300}
    yield (
        "rank_stability",
        {"scores": many, "noise": [0.02] * 12, "draws": 300, "higher_is_better": False},
    )
    yield "rank_stability", {"scores": many, "noise": [0.0] * 12, "draws": 300}
    yield "rank_stability", {"scores": many, "noise": [-0.1] + [0.5] * 11, "draws": 300}
    yield "rank_stability", {"scores": [0.4] * 4, "noise": [0.5] * 4, "draws": 300}
    yield "pair_order_of", {"scores": [0.5, 0.5, 0.62, 0.3], "noise": [0.0, 0.0, 0.01, 0.02]}
    yield (
        "pair_order_of",
        {"scores": [0.5, 0.5, 0.62, 0.3], "noise": [0.0, 0.0, 0.01, 0.02], "n_items": 8},
    )
    yield "pair_order_of", {"scores": [0.5, 0.7, None], "noise": [0.0, 0.0, 0.0]}
    first, second = _spaced(8), [*reversed(_spaced(8, start=0.3))]
    for count in (2, 3, 5, 6, 7, 8):
        yield "benchmark_agreement", {"first": first[:count], "second": second[:count]}
    for k in (0, 1, 4, 8, 9):
        yield "benchmark_agreement", {"first": first, "second": second, "k": k}
        yield "top_k_overlap", {"x": first, "y": second, "k": k}
    lower = {"higher_is_better": False}
    yield "top_k_overlap", {"x": [1, 2, 2, 3, 5], "y": [1, 1, 4, 2, 7], "k": 2, **lower}
    yield "top_k_overlap", {"x": [1, 1, 1], "y": [1, 2, 3], "k": 1}
    yield "top_k_overlap", {"x": [1, 2, 3], "y": [1, 1, 1], "k": 1}
    yield "benchmark_agreement", {"first": [1, 1, 1, 1], "second": [1, 2, 3, 4]}


def _bootstrap() -> Calls:
    rows = [[float(k % 3 > 0), 1.0] for k in range(20)]
    rare = [[float(k % 20 == 0), 1.0] for k in range(100)]
    for settings in ({}, {"level": 0.8}, {"replicates": 2}, {"replicates": 1}):
        yield "resampled", {"tallies": rows, **settings}
    for copies, tallies in ((9, rows), (10, rows), (11, rows), (5, rare), (6, rare), (2, rare)):
        # from 200 clusters on, and from five standard errors on, totals follow their limit law
        yield "resampled", {"tallies": tallies, "copies": copies}
    skewed = [[float(k**2), 1.0 + k % 2] for k in range(9)]
    yield "resampled", {"tallies": skewed}
    yield "resampled", {"tallies": skewed, "level": 0.5}
    yield "resampled", {"tallies": [[1.0, 2.0]] * 5}
    yield "resampled", {"tallies": [[1.0, 2.0], [1.0, 1.0]]}
    yield "resampled", {"tallies": [[1.0, 2.0]]}
    yield "resampled", {"tallies": [[1.0, 0.0], [2.0, 0.0]]}
    yield "resampled", {"tallies": [[1.0, 0.0], [2.0, 1.0]]}
    yield "resampled", {"tallies": [[1.0, 0.0], [2.0, 0.0], [1.0, 1.0]]}


def _wrong_keys() -> Calls:
    """Items of which some are failed by the able and solved by the others."""

    def marks(respondents: int, items: int, wrong: Sequence[int]) -> list[str]:
        return [
            "".join(
                str(int(((item * 7 % 11) / 11 < (k + 1.5) / (respondents + 2)) != (item in wrong)))
                for item in range(items)
            )
            for k in range(respondents)
        ]

    for respondents, items in ((4, 24), (5, 24), (9, 19), (9, 20), (10, 60), (12, 60)):
        yield "reading_list", {"scores": marks(respondents, items, (3, 8))}
    scores = marks(16, 120, (3, 8, 20, 41, 77, 90))
    kinds = [f"t{k % 3}" for k in range(120)]
    for settings in ({}, {"hit": 0.5}, {"alpha": 0.2}, {"max_listed": 3}, {"types": kinds}):
        yield "reading_list", {"scores": scores, **settings}
    # k of n labels say otherwise; of 5, 8 and 12 labels
    automatic = ["1111111111"] * 12
    for n_labels in (5, 8, 12):
        human = [
            "".join("-" if k >= n_labels else "01"[k >= item] for item in range(10))
            for k in range(12)
        ]
        for alpha in (0.05, 0.3):
            yield "contradicted_items", {"automatic": automatic, "human": human, "alpha": alpha}


def _missing_scores() -> Calls:
    """Searches for wrong keys where answers are missing, and of so many items that some are drawn."""
    for respondents, items, turned in (
        (9, 40, (3, 8)),
        (10, 40, (3, 8)),
        (12, 60, (3, 8, 20, 41)),
        (16, 120, (3, 8, 20, 41, 77, 90)),
        (16, 130, tuple(range(0, 130, 9))),
    ):
        chances = [
            [(k + 1) / (respondents + 1) - item * 7 % 11 / 11 for item in range(items)]
            for k in range(respondents)
        ]
        rows = [
            "".join(
                "-"
                if (k * 7 + item * 3) % 13 == 0
                else str(
                    int((chance + 0.35 * math.sin(9.1 * k + 3.7 * item) > 0) != (item in turned))
                )
                for item, chance in enumerate(row)
            )
            for k, row in enumerate(chances)
        ]
        kinds = [f"t{item % 3}" for item in range(items)]
        for settings in ({}, {"types": kinds}, {"hit": 0.5, "alpha": 0.2}, {"share": 0.1}):
            yield "wrong_keys_read", {"scores": rows, **settings}
        # those who fail one type in common
        common = [
            row[: items // 2] + "0" * (items // 8) + row[items // 2 + items // 8 :]
            if k % 2
            else row
            for k, row in enumerate(rows)
        ]
        yield "wrong_keys_read", {"scores": common}
        yield (
            "wrong_keys_read",
            {"scores": common, "types": ["a"] * (items // 2) + ["b"] * (items - items // 2)},
        )
    for offset in (0, 3):
        rows = [row[offset : offset + 9] for row in rows]
        yield "contradicted_items", {"automatic": rows, "human": [*reversed(rows)]}
    graded = [[1, 0, 0.25, None, 1], [1, 0, 0.5, None, 0]]
    for hit in (1.0, 0.5):
        yield "with_wrong_keys", {"scores": graded, "hit": hit}
    marks = [[float(k >= item % 5) for item in range(25)] for k in range(6)]
    for copies in (1, 3, 12, 16, 80, 81):
        yield "planted", {"scores": marks, "copies": copies}
    yield "planted", {"scores": marks, "copies": 3, "share": 0.2, "faults": 30, "max_items": 40}
    yield "planted", {"scores": [[]], "copies": 1}
    # pictures of which some answers are missing; more respondents than are left out one by one
    rows = [
        "".join("01-"[(k * item + item // 3 + k) % 7 % 3] for item in range(24)) for k in range(6)
    ]
    yield "conditional_errors", {"scores": rows}
    yield "conditional_errors", {"scores": rows, "clusters": [f"p{k // 3}" for k in range(24)]}
    yield "saturation", {"scores": rows}
    for count in (199, 200, 201, 203):
        x = _spaced(count)
        y = [round(score + 0.2 * math.sin(9.0 * k), 4) for k, score in enumerate(x)]
        yield "lower_bound", {"scores": x, "other_scores": y}
    # what answers say of a key beside what labels say
    human = [
        "".join("01"[(k * 3 + item) % 5 < 2 + item % 3] for item in range(8)) for k in range(9)
    ]
    for chance in (0.0, 0.02, 0.5, 0.9):
        arguments = {"automatic": ["1" * 8] * 9, "human": human}
        yield "contradicted_items", {**arguments, "chances": [chance] * 8}
    yield "contradicted_items", {**arguments, "chances": [0.1 * k for k in range(8)]}
    # .2^5 over 150 and over 165 items is .048 and .0528; of 41 tested .0131
    for items in (41, 150, 165):
        labels = ["0" + "1" * (items - 1)] * 5
        yield "contradicted_items", {"automatic": ["1" * items] * 5, "human": labels}
    # statistics of more than 4,096 resamples are computed in pieces
    for replicates in (4096, 4097, 4300):
        tallies = [[float(k % 3 > 0), 1.0] for k in range(12)]
        yield "resampled", {"tallies": tallies, "replicates": replicates}
    for n, k in ((3, 3), (4, 3), (9, 8), (9, 9)):
        yield "top_k_overlap", {"x": _spaced(n), "y": _spaced(n, start=0.4), "k": k}
