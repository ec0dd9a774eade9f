"""Sentences about the order of the models: who differs, who is equal, and what is not known.

Neighbours on the leaderboard are the planned contrasts of an audit. They are about these models on
new items, and reruns are about the same items asked a second time: each sentence names which.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hqm.reports.pages.phrases import Sentence, as_sentence, compose, pluralise_in_words, verb_form
from hqm.reports.tables.score_tables import (
    ceiling_note,
    count_separated_pairs,
    names_in_order,
    partial_answers_note,
)
from hqm.reports.tables.table import (
    default_policy,
    estimate_text,
    find_estimate,
    leading_metric,
    percent,
    short_name,
)

from hqm import BenchmarkAudit, Policy
from hqm.auditing.definitions import (
    answered_in_part,
    planned_contrasts,
    shared_items,
)
from hqm.auditing.score_points import Points
from hqm.indicators.separation import Neighbours
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
    top = contrasts[0]
    if top.outcome == "differ":
        shared = " on items that both answered" if top.items < audit.items_used else ""
        return f"{subject} differ by {difference_text(audit, lead(audit, top))}{shared}."
    if top.outcome == "equal":
        return f"{subject} are equal within {_margin(audit, contrasts)}."
    return f"Whether {subject[0].lower()}{subject[1:]} differ is not known."


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
        if top.outcome == "differ":
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
        subject = pluralise_in_words(len(contrasts), "pair")
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
