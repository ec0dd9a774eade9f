"""What people's labels say beyond one correlation: given the answers' length, within respondents,
and rater by rater.
"""

from __future__ import annotations

import numpy as np

from hqm.benchmark.labels import labelled_by
from hqm.indicators.cases import Case, number
from hqm.indicators.families import CRITERION
from hqm.indicators.judged import LABELS_OF_RATERS, labels_by_rater
from hqm.indicators.labelled import beside_people
from hqm.indicators.style import mean_words
from hqm.indicators.value import MEAN_OF_ITEMS, PAIR, Indicator, Result, need, result
from hqm.psychometrics import partial_pearson, pearson, rater_share, repeated_measures, stream
from hqm.scoring.metrics import Array


def _given_length(case: Case) -> Result:
    words = mean_words(case.whole or case.first)
    score, labels = case.scores[0], case.scores[-1]
    return result(
        partial_pearson(score, labels, words, n_effective=case.n_effective),
        length_and_score=number(pearson(words, score).value),
        length_and_labels=number(pearson(words, labels).value),
    )


def _labelled_types(case: Case) -> dict[str, Array]:
    """Hallucination type -> (2, respondents): the benchmark's score of the type, and the mean of
    people's labels on it.
    """
    whole = case.whole or case.first
    types = np.array([item.type or "" for item in whole.items])[whole.mask(case.metric)]
    both = np.stack(case.once(beside_people))
    means = {}
    for name in sorted(set(types) - {""}):
        scores = both[:, :, types == name]
        counts = np.isfinite(scores).sum(axis=2)
        if counts[1].any():
            means[name] = np.where(
                counts > 0, np.nansum(scores, axis=2) / np.maximum(counts, 1), np.nan
            )
    return means


def _within_respondents(case: Case) -> Result:
    types = case.once(_labelled_types)
    study = repeated_measures(*np.stack(list(types.values()), axis=2))
    return result(study.coefficient, dof=study.dof, p=number(study.p), types=list(types))


def _rater_share(case: Case) -> Result:
    study = rater_share(labels_by_rater(case), stream(case.seed, "rater_share"))
    return result(
        study.share,
        answers=number(study.answers),
        raters=number(study.raters),
        residual=number(study.residual),
        n_raters=study.n_raters,
        n_answers=study.n_answers,
        n_labels=study.n_labels,
        method=study.method,
    )


_FAMILY = (CRITERION,)
_PEOPLE = need("labels by people", lambda case: labelled_by(case.other.cell.judge) == "people")
_TWO_TYPES = need(
    "labels on two hallucination types",
    lambda case: len(case.once(_labelled_types)) >= 2,
    "the labelled answers are of fewer than two hallucination types",
    "insufficient",
)

indicators = (
    Indicator(
        name="pearson_given_length",
        title="Pearson r given length",
        family=_FAMILY,
        needs=(PAIR, _PEOPLE),
        compute=_given_length,
        meaning=(
            "Correlation with people among respondents whose answers are equally long: lower than"
            " `pearson` where both follow length."
        ),
        explains=(partial_pearson,),
    ),
    Indicator(
        name="within_respondents",
        title="r over types within respondents",
        family=_FAMILY,
        compute=_within_respondents,
        meaning=(
            "Whether the types at which a respondent is weak by the benchmark are those at which"
            " people find it weak."
        ),
        needs=(PAIR, _PEOPLE, MEAN_OF_ITEMS, _TWO_TYPES),
        explains=(repeated_measures,),
    ),
    Indicator(
        name="rater_share",
        title="raters' share of variance",
        family=_FAMILY,
        needs=(LABELS_OF_RATERS,),
        compute=_rater_share,
        meaning="Share of the variance of single labels that comes from strict and lenient raters.",
        better="lower",
        explains=(rater_share,),
    ),
)
