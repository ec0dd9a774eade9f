"""Numbers of scores computed again: correlations and the bootstrap by scipy, and alpha, intraclass
and further correlations by pingouin.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from hqm.auditing.opinion import (
    EXACT,
    MANY_PICTURES,
    MAX_ERROR_SHARE,
    MAX_INTERVAL_SHIFT,
    MAX_UNSCORED,
    Array,
    Check,
    Study,
    to_number,
)
from hqm.types import Estimate

if TYPE_CHECKING:
    import pandas as pd

N_RESAMPLES = 1_999
"""Bootstrap samples of pictures."""
_MIN_RESPONDENTS_GIVEN_LENGTH = 4
_MIN_RESPONDENTS = 5
"""Respondents from which on two treatments of missing answers are compared."""
_UNSCORED = "theirs omits answers without a score pair by pair, ours one by one"
_UNEQUAL = "theirs gives pictures equal weight, ours the weight of their number of items"
_POPULATION_END = (
    "theirs is two-sided, for normal scores, and rounded; ours is one-sided, from leaving"
    " respondents out"
)


# --- scipy: correlations and the bootstrap ---

_CORRELATIONS = {"pearson": "pearsonr", "spearman": "spearmanr", "tau_b": "kendalltau"}


def compare_correlations(study: Study) -> Iterator[Check]:
    """Compare every correlation of two administrations' scores."""
    from scipy import stats

    for estimate in study.named(*_CORRELATIONS):
        statistic = estimate.indicator.rpartition(".")[2]
        scores = study.pair_scores(estimate)
        if scores is None or scores.shape[1] != estimate.n_respondents or scores.shape[1] < 3:
            continue
        function = _CORRELATIONS[statistic]
        # Scores that differ by rounding are ties for ranks.
        value = getattr(stats, function)(*np.round(scores, 12)).statistic
        reason = study.sampling_note(estimate)
        yield study.check(
            estimate,
            statistic,
            f"scipy.stats.{function}",
            value,
            tolerance=None if reason else EXACT,
            reason=reason,
        )


def compare_lead(study: Study) -> Iterator[Check]:
    """Compare the interval of the lead of the first over the second, drawn by pictures."""
    from scipy import stats

    estimate = study.estimate("discriminability.lead")
    answers = study.answers
    if estimate is None or answers is None or not estimate.intervals:
        return
    names = [estimate.detail.get("best"), estimate.detail.get("second")]
    if not set(names) <= set(answers.respondents) or answers.n_pictures < 3:
        return
    scores = answers.reference[[answers.respondents.index(str(name)) for name in names]]
    scored = np.isfinite(scores)
    sums = answers.by_picture(np.where(scored, scores, 0.0))
    counts = answers.by_picture(scored.astype(np.float64))
    sign = study.direction

    def lead(first: Array, second: Array, n_first: Array, n_second: Array, axis: int = -1) -> Array:
        first_mean = first.sum(axis=axis) / n_first.sum(axis=axis)
        second_mean = second.sum(axis=axis) / n_second.sum(axis=axis)
        return np.asarray(sign * (first_mean - second_mean))

    columns = (*sums, *counts)
    resampled = stats.bootstrap(
        columns,
        lead,
        paired=True,
        vectorized=True,
        n_resamples=N_RESAMPLES,
        batch=200,
        method="BCa",
        rng=np.random.default_rng(0),
    )
    yield study.check(
        estimate, "lead of the first over the second", "numpy.mean", float(lead(*columns))
    )
    interval = estimate.intervals[0]
    ends = resampled.confidence_interval
    tolerance = None
    reason = "with few pictures, the ends rest on few resamples"
    if answers.n_pictures >= MANY_PICTURES:
        tolerance = MAX_INTERVAL_SHIFT * (interval.high - interval.low)
        reason = "both resample pictures; ends vary by chance and by the weights drawn"
    for name, ours, theirs in (
        ("lower", interval.low, ends.low),
        ("upper", interval.high, ends.high),
    ):
        yield study.check(
            estimate,
            f"{name} end of the lead's interval",
            "scipy.stats.bootstrap (BCa)",
            theirs,
            ours=ours,
            tolerance=tolerance,
            reason=reason,
        )


# --- pingouin: alpha, intraclass correlations, partial and repeated-measures correlation ---


def compare_alpha(study: Study) -> Iterator[Check]:
    """Compare coefficient alpha over items, and over pictures where items share them."""
    import pandas as pd
    import pingouin

    estimate = study.estimate("consistency.alpha")
    if estimate is None or study.answers is None:
        return
    answers = study.answers
    scores = answers.reference
    tolerance = _reliability_tolerance(estimate, scores)
    reason = "" if tolerance == EXACT else _UNSCORED
    per_item, _ = pingouin.cronbach_alpha(pd.DataFrame(scores))
    of_items = estimate.detail.get("of_items")
    if of_items is not None:
        yield study.check(
            estimate,
            "alpha over items",
            "pingouin.cronbach_alpha",
            per_item,
            ours=float(of_items),
            tolerance=tolerance,
            reason=reason,
        )
    if answers.n_pictures < 2:
        return
    # A picture's part is the sum of its items: of a mean where some have no score.
    counts = answers.by_picture(np.isfinite(scores).astype(np.float64))
    sizes = answers.by_picture(np.ones((1, scores.shape[1])))
    sums = answers.by_picture(np.where(np.isfinite(scores), scores, 0.0))
    parts = np.where(counts > 0, sums / np.maximum(counts, 1) * sizes, np.nan)
    value, (low, _) = pingouin.cronbach_alpha(pd.DataFrame(parts))
    tolerance = _reliability_tolerance(estimate, scores, are_equal=not np.ptp(sizes))
    yield study.check(
        estimate,
        "alpha over pictures",
        "pingouin.cronbach_alpha",
        value,
        tolerance=tolerance,
        reason=reason or ("" if tolerance == EXACT else _UNEQUAL),
    )
    yield from _population_end(study, estimate, "alpha", "pingouin.cronbach_alpha", float(low))


def _reliability_tolerance(
    estimate: Estimate, scores: Array, are_equal: bool = True
) -> float | None:
    """Return how far a reliability may lie from ours; None where too many answers have no score.

    Parts of unequal size weigh differently in the two.
    """
    unscored = 1 - np.isfinite(scores).mean()
    if not unscored and are_equal:
        return EXACT
    is_stable = len(scores) >= _MIN_RESPONDENTS and (estimate.value or 0.0) > 0
    if unscored > MAX_UNSCORED or not is_stable:
        return None
    return MAX_ERROR_SHARE * (1 - float(estimate.value or 0.0))


def _population_end(
    study: Study, estimate: Estimate, quantity: str, library: str, low: float
) -> Iterator[Check]:
    """Show the lower end for other respondents, which the libraries define otherwise."""
    for interval in estimate.intervals:
        if interval.inference == "model_population" and math.isfinite(interval.low):
            yield study.check(
                estimate,
                f"lower end of {quantity} over respondents",
                library,
                low,
                ours=interval.low,
                tolerance=None,
                reason=_POPULATION_END,
            )


_ICC_ROWS = {"icc_11": 0, "icc_a1": 1, "icc_c1": 2, "icc_1k": 3, "icc_ak": 4, "icc_ck": 5}
"""Our statistic -> the row of pingouin's table, whose labels differ between its versions."""
_ICC_NAMES = {
    "icc_11": "ICC(1,1)",
    "icc_a1": "ICC(A,1)",
    "icc_c1": "ICC(C,1)",
    "icc_1k": "ICC(1,k)",
    "icc_ak": "ICC(A,k)",
    "icc_ck": "ICC(C,k)",
}


def compare_intraclass(study: Study) -> Iterator[Check]:
    """Compare the intraclass correlations of two administrations' scores."""
    import pandas as pd
    import pingouin

    tables: dict[tuple[str, str], pd.DataFrame] = {}
    for estimate in study.named(*_ICC_ROWS):
        scores = study.pair_scores(estimate)
        n_administrations = estimate.detail.get("administrations", 2)
        if scores is None or scores.shape[1] != estimate.n_respondents or n_administrations != 2:
            continue
        n = scores.shape[1]
        if n < 3:
            continue
        pair = estimate.first, estimate.other
        if pair not in tables:
            rows = pd.DataFrame(
                {
                    "respondent": np.tile(np.arange(n), 2),
                    "administration": np.repeat([0, 1], n),
                    "score": scores.ravel(),
                }
            )
            tables[pair] = pingouin.intraclass_corr(rows, "respondent", "administration", "score")
        statistic = estimate.indicator.rpartition(".")[2]
        row = tables[pair].iloc[_ICC_ROWS[statistic]]
        name = _ICC_NAMES[statistic]
        reason = study.sampling_note(estimate)
        tolerance = None if reason else EXACT
        yield study.check(
            estimate,
            name,
            "pingouin.intraclass_corr",
            row["ICC"],
            tolerance=tolerance,
            reason=reason,
        )
        if statistic == "icc_a1":
            # The column's name differs between versions of pingouin.
            ends = next(row[column] for column in row.index if column.startswith("CI95"))
            yield from _population_end(
                study, estimate, name, "pingouin.intraclass_corr", float(ends[0])
            )


def compare_given_length(study: Study) -> Iterator[Check]:
    """Compare the correlation with people's labels given the length of answers."""
    import pandas as pd
    import pingouin

    for estimate in study.named("pearson_given_length"):
        if study.answers:
            pair = study.answers.pair(estimate.first, estimate.other)
        else:
            pair = None
        if pair is None:
            continue
        reference = study.audit.reference
        words = [to_number(row.words.get(reference)) for row in study.audit.respondents]
        rows = pd.DataFrame(
            {"score": pair.scores[0], "label": pair.scores[1], "words": words}
        ).dropna()
        if len(rows) < _MIN_RESPONDENTS_GIVEN_LENGTH:
            continue
        table = pingouin.partial_corr(rows, "score", "label", "words")
        yield study.check(
            estimate,
            "correlation with labels given the length",
            "pingouin.partial_corr",
            float(table["r"].iloc[0]),
            tolerance=None if study.sampling_note(estimate) else EXACT,
            reason=study.sampling_note(estimate),
        )


def compare_over_types(study: Study) -> Iterator[Check]:
    """Compare the correlation with people's labels over types, within respondents."""
    import pandas as pd
    import pingouin

    for estimate in study.named("within_respondents"):
        if study.answers:
            pair = study.answers.pair(estimate.first, estimate.other)
        else:
            pair = None
        if pair is None or study.answers is None:
            continue
        rows = []
        reference_types = study.answers.item_types[study.answers.columns[estimate.first]]
        first = study.answers.cells[estimate.first]
        for kind in np.unique(pair.types[pair.types > 0]):
            labels = pair.second[:, pair.types == kind]
            if not np.isfinite(labels).any():
                continue
            scores = first[:, reference_types == kind]
            means = np.nanmean(scores, axis=1), np.nanmean(labels, axis=1)
            rows.append(
                pd.DataFrame({"score": means[0], "label": means[1], "who": range(len(first))})
            )
        if len(rows) < 2:
            continue
        table = pingouin.rm_corr(pd.concat(rows).dropna(), "score", "label", "who")
        value = float(table["r"].iloc[0])
        yield study.check(estimate, "correlation with labels over types", "pingouin.rm_corr", value)
