"""Sentences about the scores of the models: their order, who differs, and how exact they are.

Neighbours on the leaderboard are the planned contrasts of an audit. They are about these models on
new items, and reruns are about the same items asked a second time: each sentence names which.
Scores are exact against the limits of a policy and beside how much the models differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hqm.reports.pages.phrases import (
    Sentence,
    as_sentence,
    capped_count,
    compose,
    join_names,
    number_word,
    pluralise,
    verb_form,
    without_zero,
)
from hqm.reports.tables.score_tables import (
    ceiling_note,
    count_separated_pairs,
    names_in_order,
    partial_answers_note,
)
from hqm.reports.tables.table import (
    capital,
    default_policy,
    estimate_text,
    find_estimate,
    finite_number,
    leading_metric,
    number,
    percent,
    short_name,
)

from hqm import BenchmarkAudit, Estimate, Policy
from hqm.auditing.definitions import (
    answered_in_part,
    planned_contrasts,
    scale_width,
    shared_items,
    who_labelled,
)
from hqm.auditing.precision import (
    TotalPrecision,
    exceeded_limits,
    more_items,
    total_precision,
)
from hqm.auditing.score_points import Points
from hqm.indicators.separation import Neighbours, contrast_detail
from hqm.psychometrics.inference.pairwise import ContrastOutcome

OUTCOME_SYMBOLS: dict[ContrastOutcome, str] = {"differ": "≠", "equal": "=", "not_known": "?"}
"""What stands between two neighbours of the leaderboard."""
OUTCOME_WORDS: dict[ContrastOutcome, str] = {
    "differ": "differ",
    "equal": "are equal within the policy's difference",
    "not_known": "may or may not differ",
}
_MAX_NAMED_PAIRS = 6


def contrasts_of(audit: BenchmarkAudit, policy: Policy | None = None) -> tuple[Neighbours, ...]:
    """The planned contrasts by a policy, the default one unless given."""
    return planned_contrasts(audit, (policy or default_policy()).limits.equal_within)


def difference_text(audit: BenchmarkAudit, value: float) -> str:
    """A difference of scores with its unit, the sign left out.

    Whole numbers of points are said without decimals.
    """
    text = Points.for_metric(audit).format(abs(value))
    if float(text) == round(float(text)) != 0:
        text = text.rstrip("0").rstrip(".")
    return f"{text} {'point' if text == '1' else 'points'}"


def _margin(audit: BenchmarkAudit, contrasts: Sequence[Neighbours]) -> str:
    return difference_text(audit, contrasts[0].contrast.margin)


def lead(audit: BenchmarkAudit, top: Neighbours) -> float:
    """By how much two neighbours differ on what both answered; below 0 where they are there in the
    other order.
    """
    metric = leading_metric(audit)
    scores = audit.scores_by_name(metric)
    first = scores.get(top.first)
    second = scores.get(top.second)
    # Scores of unequal items differ by the items too: only what both answered is a fair comparison.
    if first is None or second is None or top.items < audit.items_used:
        return top.contrast.difference
    return abs(first - second)


def lead_margin(audit: BenchmarkAudit, policy: Policy | None = None) -> str:
    """The difference within which neighbours count as equal; empty where none were tested."""
    contrasts = contrasts_of(audit, policy)
    if contrasts:
        return _margin(audit, contrasts)
    return ""


def order_sentence(audit: BenchmarkAudit, policy: Policy | None = None) -> str:
    """Whether the first two models differ; without their contrast, how many of all pairs do."""
    contrasts = contrasts_of(audit, policy)
    if len(audit.respondents) == 2:
        subject = "The two models"
    else:
        subject = "The top two models"
    # Audits of earlier versions, and those without verdicts by item, have no contrasts of
    # neighbours.
    if not contrasts:
        n_separated, n_pairs = count_separated_pairs(audit)
        if n_pairs:
            return f"{n_separated} of {n_pairs} pairs of models differ."
        return ""
    agreement = _agreement(audit)
    if agreement:
        return f"{agreement}."
    top = contrasts[0]
    if top.outcome == "differ":
        shared = " on items that both answered" if top.items < audit.items_used else ""
        return f"{subject} differ by {difference_text(audit, lead(audit, top))}{shared}."
    if top.outcome == "equal":
        return f"{subject} are equal within {_margin(audit, contrasts)}."
    return f"Whether {subject[0].lower()}{subject[1:]} differ is not known."


def _agreement(audit: BenchmarkAudit) -> str:
    """That no item separates two neighbours, since all are right, for instance; else nothing."""
    estimates = audit.select_estimates(metric=leading_metric(audit))
    rows = contrast_detail(estimates).get("contrasts") or ()
    if not rows or not all(row["difference"] == row["error"] == 0 for row in rows):
        return ""
    models = "Both models" if len(audit.respondents) == 2 else "All models"
    return f"{models} have the same score on every item"


def board_title(audit: BenchmarkAudit, policy: Policy | None = None) -> str:
    """Whether the first model leads the second on new items, and how often the same model wins when
    these items are asked again.
    """
    names = names_in_order(audit, audit.reference)
    if not names:
        return "The leaderboard"
    if len(names) == 1:
        return f"{short_name(names[0])} alone answered"
    contrasts = contrasts_of(audit, policy)
    first, second = map(short_name, names[:2])
    claim = f"Whether {first} leads {second} on new items was not tested"
    if answered_in_part(audit):
        claim += "; they answered different items"
    if contrasts:
        top = contrasts[0]
        shared = ""
        if top.items < audit.items_used:
            shared = f" like the {top.items:,} that both answered"
        claim = f"Whether {first} leads {second} on new items{shared} is not known"
        agreement = _agreement(audit)
        if agreement:
            claim = agreement
        elif top.outcome == "differ":
            value = lead(audit, top)
            # The leader is the better on what both answered, which may be the second of the
            # leaderboard.
            leader, follower = (first, second) if value >= 0 else (second, first)
            size = difference_text(audit, value)
            claim = f"{leader} leads {follower} by {size} on new items{shared}"
        elif top.outcome == "equal":
            margin = _margin(audit, contrasts)
            claim = f"{first} and {second} are equal within {margin} on new items{shared}"
    return f"{claim}{_rerun_clause(audit)}"


def _rerun_clause(audit: BenchmarkAudit) -> str:
    """How often a rerun of the same items has the same winner; empty where nothing was rerun."""
    winner = find_estimate(audit, "test_retest.same_winner")
    if winner is None or winner.value is None:
        return ""
    return f"; {percent(winner.value)} of reruns of the same items have the same winner"


def _outcome_counts(audit: BenchmarkAudit, contrasts: Sequence[Neighbours]) -> Iterator[str]:
    """How many neighbours differ, are equal, and are not known."""
    outcomes = [neighbours.outcome for neighbours in contrasts]
    if n_different := outcomes.count("differ"):
        yield f"{n_different} {verb_form(n_different, 'differs', 'differ')}"
    if n_equal := outcomes.count("equal"):
        verb = verb_form(n_equal, "is", "are")
        yield f"{n_equal} {verb} equal within {_margin(audit, contrasts)}"
    if n_unknown := outcomes.count("not_known"):
        yield f"{n_unknown} {verb_form(n_unknown, 'is', 'are')} undecided"


def _only_contrast(audit: BenchmarkAudit, contrasts: Sequence[Neighbours]) -> str:
    """What the one contrast of two models shows on new items."""
    outcome = contrasts[0].outcome
    if outcome == "differ":
        return "The two models differ on new items."
    if outcome == "equal":
        return f"The two models are equal within {_margin(audit, contrasts)} on new items."
    return "Whether the two models differ on new items is undecided."


def separate_answer(audit: BenchmarkAudit, policy: Policy | None = None) -> tuple[Sentence, ...]:
    """Which neighbours differ on new items, and how many of all pairs do."""
    n_separated, n_pairs = count_separated_pairs(audit)
    estimate = find_estimate(audit, "discriminability.separable_pairs")
    if estimate is None or not n_pairs:
        if len(audit.respondents) < 2:
            needed = "two models"
        else:
            needed = "scores of two models"
        return (compose("Not measured: it needs {needed}.", needed=needed),)
    pair_count = replace(estimate_text(estimate), text=f"{n_separated} of {n_pairs}", muted=False)
    sentences = []
    contrasts = contrasts_of(audit, policy)
    if contrasts and n_pairs == 1:
        sentences.append(compose("{sentence}", sentence=_only_contrast(audit, contrasts)))
    elif contrasts:
        counts = ", ".join(_outcome_counts(audit, contrasts))
        subject = pluralise(len(contrasts), "pair")
        sentences.append(
            compose(
                "Of {subject} of neighbours in rank, {counts} on new items.",
                subject=subject,
                counts=counts,
            )
        )
    if not contrasts or n_pairs > 1:
        sentences.append(compose("{shown} pairs of models differ (Holm).", shown=pair_count))
    shared = shared_items(audit)
    notes = partial_answers_note(audit)
    if shared is not None and shared[0] < audit.items_used:
        low, high = shared
        span = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        notes += f" Each pair of models shares {span} of {audit.items_used:,} items."
    notes += ceiling_note(audit)
    if notes:
        sentences.append(as_sentence(notes.strip()))
    return tuple(sentences)


def order_statement(audit: BenchmarkAudit) -> str:
    """Which ranks differ from the next, for a table's caption."""
    contrasts = contrasts_of(audit)
    if not contrasts:
        n_separated, n_pairs = count_separated_pairs(audit)
        if n_pairs:
            return f"{n_separated} of {n_pairs} pairs differ"
        return "order not measured"
    different = _ranks_with(contrasts, "differ")
    equal = _ranks_with(contrasts, "equal")
    if different:
        text = f"ranks that differ {different}"
    else:
        text = "no neighbours differ"
    if equal:
        return f"{text}, equal within {_margin(audit, contrasts)} {equal}"
    return text


def _ranks_with(contrasts: Sequence[Neighbours], outcome: ContrastOutcome) -> str:
    ranks = []
    # A caption names ranks and not models, whose names would fill it.
    for rank, neighbours in enumerate(contrasts, 1):
        if neighbours.outcome == outcome:
            ranks.append(f"{rank}–{rank + 1}")
    if len(ranks) > _MAX_NAMED_PAIRS:
        ranks = [*ranks[:_MAX_NAMED_PAIRS], f"{len(ranks) - _MAX_NAMED_PAIRS} more"]
    return " ".join(ranks)


def is_first_shown(audit: BenchmarkAudit, policy: Policy | None = None) -> bool:
    """Whether the first model is shown to differ from the second on new items."""
    contrasts = contrasts_of(audit, policy)
    return bool(contrasts) and contrasts[0].outcome == "differ"


def lead_in_words(audit: BenchmarkAudit, policy: Policy | None = None) -> str:
    """What the contrast of the first two models shows, in a few words."""
    contrasts = contrasts_of(audit, policy)
    if not contrasts:
        return "not tested"
    words = {
        "differ": "shown on new items",
        "equal": f"equal within {_margin(audit, contrasts)}",
        "not_known": "not shown on new items",
    }
    return words[contrasts[0].outcome]


def imprecision_sentence(audit: BenchmarkAudit, policy: Policy) -> str:
    """By how much a score is less exact than the policy asks."""
    precision = total_precision(audit)
    points = Points.for_metric(audit)
    if "error" in exceeded_limits(precision, policy):
        # Limits of a policy are shares of the scale; an audit of unknown scale is read as if it ran
        # from 0 to 1.
        limit = policy.precision.error * (precision.scale or 1.0)
        return (
            f"standard errors are up to {points.format_beside(precision.error_high, limit)} points,"
            f" the limit is {points.format_limit(limit)}."
        )
    limit = policy.precision.difference * (precision.scale or 1.0)
    return (
        f"differences below {points.format_beside(precision.difference_high, limit)} points are"
        " missed,"
        f" the limit is {points.format_limit(limit)}."
    )


def alike_sentence(audit: BenchmarkAudit) -> str:
    """How little these models differ, beside what would have been shown."""
    precision = total_precision(audit)
    points = Points.for_metric(audit)
    count = number_word(len(audit.respondents))
    difference = ""
    if precision.difference is not None:
        difference = (
            f"; a difference of {points.format(precision.difference)} points would be found"
        )
    return f"these {count} differ by {points.format(precision.spread)} points (sd){difference}."


def search_sentence(audit: BenchmarkAudit) -> str:
    """What was looked at where no fault was found, and what was not."""
    if audit.task == "caption":
        return "Data and scores were searched; there are no keys."
    if was_seen_by_people(audit):
        return "Data, answers and people's labels were searched."
    return "Data and answers were searched; no person read them."


def was_seen_by_people(audit: BenchmarkAudit) -> bool:
    """Whether a person has judged any answer, and so seen its item."""
    return audit.scoring == "people" or bool(who_labelled(audit).by_people)


def run_error_sentences(audit: BenchmarkAudit, code: str, policy: Policy) -> Iterator[Sentence]:
    """The error that another seed makes, beside the policy's limit, and how many runs keep it."""
    precision = total_precision(audit)
    points = Points.for_metric(audit)
    limit = policy.precision.error
    if code == "not_measured" or precision.run_error is None:
        yield compose("Not known: the standard error of one run needs a second run.")
        return
    subject = "the standard error of one run is"
    # A limit of the whole scale asks for nothing, and is not spoken of.
    if precision.scale is None or limit >= 1:
        yield as_sentence(f"{capital(subject)} {points.format(precision.run_error)} points.")
        return
    side = {"fine": "within", "not_shown": "not shown to be within"}.get(code, "above")
    allowed = limit * precision.scale
    error = f"{capital(subject)} {points.format_beside(precision.run_error, allowed)} points"
    limit_text = points.format_limit(allowed)
    yield as_sentence(f"{error}, {side} the policy's limit of {limit_text}.")
    upper_end = points.format_beside(precision.run_error_high, allowed)
    yield as_sentence(f"Its 95% upper limit is {upper_end} points.")
    # Runs and not items: another seed asks the same items again.
    runs = more_items(audit, policy).runs
    if runs and runs > 1 and code != "fine":
        yield as_sentence(f"The mean of {runs} runs keeps this limit.")


def without_far_respondents(estimate: Estimate) -> Iterator[Sentence]:
    """What a coefficient is without the one or two respondents that it rests on."""
    if "DOMINANT_MODEL" not in estimate.flags:
        return
    # The detail names one respondent, or two joined by `and`.
    names = " and ".join(map(short_name, str(estimate.detail.get("strongest")).split(" and ")))
    value = finite_number(estimate.detail.get("without_strongest"))
    number_text = "undefined" if value is None else without_zero(number(value))
    yield as_sentence(f"Without {names} it is {number_text}.")


def more_items_answer(audit: BenchmarkAudit, policy: Policy) -> tuple[Sentence, ...]:
    """How many more items each purpose takes, and each type."""
    forecast = more_items(audit, policy)
    if not forecast.measured:
        return (compose("Not known: the errors over items were not measured."),)
    points = Points.for_metric(audit)
    parts: list[str] = []
    purposes = []
    for need in forecast.needs:
        purpose = {
            "difference": (
                f"to show a difference of {points.format_limit(need.size)} points (80% power)"
            ),
            "top": f"to separate the top two ({points.format(need.size)} points apart)",
            "neighbours": "to separate all neighbours",
        }[need.purpose]
        purposes.append(f"{_item_count(need.items)} {purpose}")
        if need.purpose == "difference" and need.items != 0:
            purposes.append(_shown_difference(total_precision(audit), points, need.size))
    if forecast.types:
        # The type that takes most items decides what the total costs.
        hardest = max(forecast.types, key=lambda kind: forecast.types[kind])
        most = f", {capped_count(forecast.types[hardest])} of them in {hardest}"
        count = f"{capped_count(forecast.for_types)} more for scores by type with errors of at most"
        count += f" {type_limit(audit, policy)} points"
        parts.append(count + (most if len(forecast.types) > 1 else ""))
    if forecast.unhelped:
        names = join_names(forecast.unhelped)
        parts.append(f"more items would not make scores of these models reliable in {names}")
    difference = forecast.need("difference")
    is_met = difference is not None and difference.items == 0
    # What keeps the answer from being fine stands first, since a terminal may have no second line.
    parts = [*parts, *purposes] if is_met else [*purposes, *parts]
    return tuple(as_sentence(f"{capital(part)}.") for part in parts)


def _shown_difference(precision: TotalPrecision, points: Points, limit: float) -> str:
    """The difference that these items show, and its upper limit, for which more are counted."""
    difference = points.format_beside(precision.difference, limit)
    upper_end = points.format_beside(precision.difference_high, limit)
    allowance = f"the count allows for its 95% upper limit, {upper_end}"
    return f"these items show {difference} points; {allowance}"


def type_limit(audit: BenchmarkAudit, policy: Policy) -> str:
    """The error that a policy allows the score of a type; empty where the scale has no two ends."""
    width = scale_width(audit)
    if width is None:
        return ""
    return Points.for_metric(audit).format_limit(policy.coverage.error * width)


def _item_count(items: int | None) -> str:
    """The number of further items in words: none, so many, or no practical number."""
    if items is None:
        return "no practical number is enough"
    if items:
        return f"{capped_count(items)} more"
    return "no more are needed"
