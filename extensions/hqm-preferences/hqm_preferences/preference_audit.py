"""Audit a log of pairwise preferences: ratings, and what the preferences say of their own
reliability.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logit

from hqm.errors import UsageError, missing_library
from hqm.psychometrics.inference.pairwise import rank_contrasts
from hqm.psychometrics.inference.resampling import jackknife_interval
from hqm.psychometrics.result import Array, BoolArray, Coefficient, IntArray
from hqm.signature import digest, sign
from hqm.types import Estimate, Interval, finite, json_data
from hqm.version import __version__
from hqm_preferences.preference_log import Preference, PreferenceLog
from hqm_preferences.ratings import (
    BradleyTerry,
    Cycles,
    Preferences,
    bradley_terry,
    outcome_agreement,
    preference_cycles,
)

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_MARGIN = 0.01
"""Two models count as equal where neither wins this much more than half of their comparisons."""
_MAX_JUDGES = 20
"""Judges that have a row of their own, those with the most comparisons first."""


@dataclass(frozen=True, slots=True)
class PreferenceAudit:
    """All that a log of pairwise preferences shows."""

    name: str
    log: PreferenceLog
    preferences: Preferences
    models: tuple[str, ...]
    """In the order of their numbers."""
    fit: BradleyTerry
    cycles: Cycles
    estimates: tuple[Estimate, ...]
    judges: tuple[dict[str, Any], ...]
    margin: float

    def to_dict(self) -> dict[str, Any]:
        """As `audit.json` has it."""
        rows = self.log.preferences
        return {
            "benchmark": self.name,
            "version": "",
            "preferences": {
                "comparisons": len(rows),
                "questions": int(self.preferences.clusters.max()) + 1,
                "judges": len({row.judge for row in rows} - {""}),
                "ties": sum(row.outcome == 0.5 for row in rows),
                "bad_ties": sum(row.is_bad_tie for row in rows),
                "unread": self.log.n_unread,
                "columns": dict(self.log.columns),
            },
            "status": self.fit.status,
            "reason": self.fit.reason,
            "models": self._model_rows(),
            "contrasts": self._contrast_rows(),
            "pairs": self._pair_rows(),
            "margin": self.margin,
            "cycles": {
                "triples": self.cycles.n_triples,
                "by_majority": self._triple_names(self.cycles.by_majority),
                "shown": self._triple_names(self.cycles.significant),
            },
            "judges": list(self.judges),
            "estimates": [estimate.to_dict() for estimate in self.estimates],
            "notes": list(self.log.notes),
        }

    def _triple_names(self, triples: Sequence[tuple[int, int, int]]) -> list[list[str]]:
        names = np.array(self.models)
        return [names[list(triple)].tolist() for triple in triples]

    def _model_rows(self) -> list[dict[str, Any]]:
        """The models from the best rating on, then those without one."""
        wins = self.preferences.wins()
        ratings = dict(zip(self.fit.models, self.fit.ratings, strict=True))
        differences = self.fit.differences
        if differences is not None:
            ranks = dict(zip(self.fit.models, differences.rank_intervals, strict=True))
        else:
            ranks = {}
        rows = []
        for index, name in enumerate(self.models):
            rating = ratings.get(index)
            interval = None if rating is None else rating.fixed
            n = float(wins[index].sum() + wins[:, index].sum())
            rows.append(
                {
                    "name": name,
                    "comparisons": int(n),
                    "win_share": finite(wins[index].sum() / n),
                    "rating": None if rating is None else finite(rating.value),
                    "low": None if interval is None else finite(interval.low),
                    "high": None if interval is None else finite(interval.high),
                    "ranks": list(ranks.get(index, ())),
                }
            )
        return sorted(rows, key=lambda row: (row["rating"] is None, -(row["rating"] or 0.0)))

    def _contrast_rows(self) -> list[dict[str, Any]]:
        """Each rated model and the next in rank, tested as planned contrasts."""
        differences = self.fit.differences
        if differences is None or differences.status != "ok":
            return []
        neighbours = differences.neighbour_pairs()
        contrasts = rank_contrasts(neighbours, margin=float(logit(0.5 + self.margin)), width=None)
        return [
            {
                "first": self.models[self.fit.models[pair.first]],
                "second": self.models[self.fit.models[pair.second]],
                "difference": finite(contrast.difference),
                "low": finite(contrast.low),
                "high": finite(contrast.high),
                "p": finite(contrast.adjusted),
                "outcome": contrast.outcome,
            }
            for pair, contrast in zip(neighbours, contrasts, strict=True)
        ]

    def _pair_rows(self) -> list[dict[str, Any]]:
        """Every pair of rated models, with the p-value that Holm adjusts over all pairs."""
        differences = self.fit.differences
        if differences is None or differences.status != "ok":
            return []
        distinct = differences.distinct()
        return [
            {
                "first": self.models[self.fit.models[a]],
                "second": self.models[self.fit.models[b]],
                "difference": finite(differences.difference[a][b]),
                "p": finite(differences.adjusted[a][b]),
                "differ": bool(distinct[a, b]),
            }
            for a, b in combinations(range(len(self.fit.models)), 2)
        ]


def audit_preferences(
    log: PreferenceLog, name: str, margin: float | None = None
) -> PreferenceAudit:
    """Audit pairwise preferences.

    Parameters
    ----------
    log
        What `hqm_preferences.preference_log.read_preferences` read.
    name
        What the log is called.
    margin
        Two models count as equal where neither is shown to win this much more than half of their
        comparisons; .01 unless given.

    Raises
    ------
    UsageError
        `statsmodels` is not installed.
    """
    rows = log.preferences
    models = tuple(sorted({row.first for row in rows} | {row.second for row in rows}))
    numbers = {model: index for index, model in enumerate(models)}
    _, clusters = np.unique([row.question for row in rows], return_inverse=True)
    preferences = Preferences(
        np.array([numbers[row.first] for row in rows], dtype=np.int64),
        np.array([numbers[row.second] for row in rows], dtype=np.int64),
        np.array([row.outcome for row in rows]),
        clusters.astype(np.int64),
        len(models),
    )
    try:
        fit = bradley_terry(preferences)
    except ModuleNotFoundError as error:
        missing = missing_library("ratings of preferences", ["statsmodels"], "stats")
        raise UsageError(missing.message, remedy=missing.remedy) from error
    repeats = _repeats(rows, preferences)
    data_digest = digest([asdict(row) for row in rows])
    estimates = tuple(_estimates(name, data_digest, preferences, fit, repeats))
    return PreferenceAudit(
        name,
        log,
        preferences,
        models,
        fit,
        preference_cycles(preferences, fit),
        estimates,
        tuple(_judge_rows(rows, preferences, repeats)),
        DEFAULT_MARGIN if margin is None else margin,
    )


@dataclass(frozen=True, slots=True)
class _Repeats:
    """Pairs of judgements of one question and pair of models."""

    judges: tuple[Array, Array]
    """The numbers of the two judges."""
    outcomes: tuple[Array, Array]
    """The two outcomes, each for the model whose name comes first."""
    first_won: tuple[BoolArray, BoolArray]
    """Whether the model shown first won."""
    is_swapped: BoolArray
    """Whether the two judgements saw the models in different order."""
    clusters: IntArray

    @property
    def between_judges(self) -> BoolArray:
        """The pairs of two judges."""
        return np.asarray(self.judges[0] != self.judges[1])

    @property
    def reruns(self) -> BoolArray:
        """The pairs of one judge, asked twice in the same order."""
        return ~self.between_judges & ~self.is_swapped

    @property
    def swaps(self) -> BoolArray:
        """The pairs of one judge, asked in both orders."""
        return ~self.between_judges & self.is_swapped

    def agreement(self, mask: BoolArray) -> tuple[Coefficient, Coefficient]:
        """The share of equal outcomes, and Scott's pi, of some pairs."""
        first, second = (outcome[mask] for outcome in self.outcomes)
        return outcome_agreement(first, second, self.clusters[mask])

    def share(self, mask: BoolArray, hits: BoolArray) -> Coefficient:
        """The share of some pairs that are hits."""
        return share_of(hits[mask], self.clusters[mask])


def share_of(hits: BoolArray, clusters: IntArray) -> Coefficient:
    """Return a share with its interval over clusters; absent where nothing is counted."""
    if not len(hits):
        return Coefficient.absent("insufficient", "there are no such comparisons")
    _, labels = np.unique(clusters, return_inverse=True)
    return jackknife_interval(
        {"hits": hits.astype(np.float64), "n": np.ones(len(hits))},
        labels,
        lambda totals: totals["hits"] / totals["n"],
        is_proportion=True,
    )


def _repeats(rows: Sequence[Preference], preferences: Preferences) -> _Repeats:
    """Return every two judgements of one question, turn and pair of models."""
    frame = _frame(rows, preferences)
    pairs = frame.merge(frame, on="unit", suffixes=("", "_second"))
    pairs = pairs[pairs["row"] < pairs["row_second"]]

    def column(name: str) -> Any:
        return pairs[name].to_numpy(), pairs[f"{name}_second"].to_numpy()

    swapped = column("swapped")
    return _Repeats(
        column("judge"),
        column("outcome"),
        column("first_won"),
        swapped[0] != swapped[1],
        pairs["cluster"].to_numpy(),
    )


def _frame(rows: Sequence[Preference], preferences: Preferences) -> pd.DataFrame:
    """Return a row a judgement: unit, judge, outcome for the model that comes first by name."""
    import pandas as pd

    judge_names = list(dict.fromkeys(row.judge for row in rows))
    judges = {judge: number for number, judge in enumerate(judge_names)}
    swapped = preferences.first > preferences.second
    unit_names = [(row.question, row.turn, *sorted((row.first, row.second))) for row in rows]
    units = {name: number for number, name in enumerate(dict.fromkeys(unit_names))}
    return pd.DataFrame(
        {
            "row": np.arange(len(rows)),
            "unit": [units[name] for name in unit_names],
            "judge": [judges[row.judge] for row in rows],
            "swapped": swapped,
            "outcome": np.where(swapped, 1 - preferences.outcome, preferences.outcome),
            "first_won": preferences.outcome == 1,
            "cluster": preferences.clusters,
        }
    )


def _estimates(
    name: str, data_digest: str, preferences: Preferences, fit: BradleyTerry, repeats: _Repeats
) -> Iterator[Estimate]:
    """Return the signed estimates of an audit of preferences."""
    consistent = repeats.outcomes[0] == repeats.outcomes[1]
    is_first_twice = repeats.first_won[0] & repeats.first_won[1]
    judges_share, judges_pi = repeats.agreement(repeats.between_judges)
    reruns_share, reruns_pi = repeats.agreement(repeats.reruns)
    coefficients = {
        "ties": share_of(preferences.outcome == 0.5, preferences.clusters),
        "first_place": fit.first_place_share,
        "swap_agreement": repeats.share(repeats.swaps, consistent),
        "swap_first_wins_twice": repeats.share(repeats.swaps, is_first_twice),
        "judge_agreement": judges_share,
        "judge_pi": judges_pi,
        "rerun_agreement": reruns_share,
        "rerun_pi": reruns_pi,
    }
    masks = {
        "swap": repeats.swaps,
        "judge": repeats.between_judges,
        "rerun": repeats.reruns,
    }
    for indicator, coefficient in coefficients.items():
        family = indicator.partition("_")[0]
        n = int(masks[family].sum()) if family in masks else len(preferences)
        intervals: tuple[Interval, ...] = ()
        if math.isfinite(coefficient.low):
            intervals = (
                Interval(
                    coefficient.low,
                    coefficient.high,
                    "fixed_models",
                    coefficient.method,
                    coefficient.level,
                ),
            )
        signature = sign(
            {
                "preferences": name,
                "data": data_digest,
                "statistic": f"preferences.{indicator}",
                "models": preferences.n_models,
                "comparisons": n,
                "interval": coefficient.method.replace(" ", "_") or "none",
                "hqm": __version__,
            }
        )
        yield Estimate(
            indicator=f"preferences.{indicator}",
            metric="preference",
            facet="",
            first="",
            other="",
            value=finite(coefficient.value),
            status=coefficient.status,
            reason=coefficient.reason,
            intervals=intervals,
            n_respondents=preferences.n_models,
            n_items=coefficient.n,
            signature=signature,
            detail=json_data({"comparisons": n}),
        )


def _judge_rows(
    rows: Sequence[Preference], preferences: Preferences, repeats: _Repeats
) -> Iterator[dict[str, Any]]:
    """Return what each of the judges with the most comparisons did."""
    names = list(dict.fromkeys(row.judge for row in rows))
    numbers = {judge: number for number, judge in enumerate(names)}
    judge_of_row = np.array([numbers[row.judge] for row in rows])
    counts = Counter(judge_of_row.tolist())
    consistent = repeats.outcomes[0] == repeats.outcomes[1]
    for number, n in counts.most_common(_MAX_JUDGES):
        outcome = preferences.outcome[judge_of_row == number]
        takes_part = (repeats.judges[0] == number) | (repeats.judges[1] == number)
        decided = outcome[outcome != 0.5]
        yield {
            "name": names[number],
            "comparisons": n,
            "ties": float((outcome == 0.5).mean()),
            "first_wins": float(decided.mean()) if len(decided) else None,
            "agreement": _mean(consistent[takes_part & repeats.between_judges]),
            "swap_agreement": _mean(consistent[takes_part & repeats.swaps]),
            "rerun_agreement": _mean(consistent[takes_part & repeats.reruns]),
        }


def _mean(hits: BoolArray) -> float | None:
    if len(hits):
        return float(hits.mean())
    return None
