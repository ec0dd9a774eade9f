"""Sentences of the first screen on which respondents were separated, and which items look
faulty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hqm.reports.details import (
    expected_power,
    known,
    reading_list,
)
from hqm.reports.phrases import Sentence, counted, listed, say, used
from hqm.reports.score_tables import in_order, tied_sets
from hqm.reports.tables import (
    Text,
    about,
    estimate_percent,
    estimate_text,
    find,
    leading,
    percent,
    short,
    small,
)
from hqm.reports.units import in_units, is_share

from hqm import BenchmarkAudit, Estimate


def separates(audit: BenchmarkAudit) -> tuple[Sentence, ...]:
    """Which of these respondents differ by more than the choice of items explains."""
    metric = leading(audit)
    share = find(audit, "discriminability.separable_pairs", metric)
    if share is None or share.value is None:
        return _not_separated(audit, metric, share)
    apart, pairs = (known(share.detail.get(name)) for name in ("apart", "pairs"))
    many = (
        estimate_percent(share)
        if apart is None or not pairs
        else replace(estimate_text(share), text=f"{apart:,.0f}")
    )
    of = f"of the {pairs:,.0f} pairs" if apart is not None and pairs else "of the pairs"
    verb = "differs" if apart == 1 else "differ"
    sentences = [
        say(
            "{many} {of} of these respondents {verb} in {metric} by more than the choice of items"
            " explains{tests}.",
            many=many,
            of=of,
            verb=verb,
            metric=metric,
            tests=Text(f" (paired tests, 5% after Holm; {used(audit, share)})", muted=True),
        )
    ]
    sets = [group for group in tied_sets(audit) if len(group) > 1]
    if sets:
        shown = "; ".join(listed([short(n) for n in group]) for group in sets[:4])
        more = f"; and {counted(len(sets) - 4, 'further set')}" if len(sets) > 4 else ""
        sentences.append(say("Sets that these data did not separate: {sets}.", sets=shown + more))
    elif share.value == 1:
        sentences.append(say("Every pair was separated."))
    return tuple(sentences + _least(audit, metric))


def _least(audit: BenchmarkAudit, metric: str) -> list[Sentence]:
    """The smallest difference found with 80% power: for one planned comparison, and for any pair as
    it is tested.
    """
    least = find(audit, "discriminability.minimum_difference", metric)
    if least is None or least.value is None:
        return []
    planned = replace(estimate_text(least), text=_difference(audit, metric, least.value))
    said = (
        "At the median noise of a pair, a difference of {planned} is found with 80% power by one"
        " planned comparison"
    )
    holm = find(audit, "discriminability.minimum_difference_holm", metric)
    value = known(least.detail.get("any_pair")) if holm is None else holm.value
    if value is None:
        return [
            say(
                said
                + "; among all pairs, after Holm, it has to be larger, which this audit does not"
                " state.",
                planned=planned,
            )
        ]
    among = replace(estimate_text(holm or least), text=_difference(audit, metric, value))
    return [
        say(said + ", and one of {among} among all pairs after Holm.", planned=planned, among=among)
    ]


def _difference(audit: BenchmarkAudit, metric: str, value: float) -> str:
    return (
        f"{small(value)} ({in_units(audit, metric, value)})"
        if is_share(audit, metric)
        else in_units(audit, metric, value)
    )


def _not_separated(
    audit: BenchmarkAudit, metric: str, absent: Estimate | None
) -> tuple[Sentence, ...]:
    reason = (
        absent.reason
        if absent is not None and absent.reason
        else "this audit holds no comparison of pairs"
    )
    sentences = [say("Not measured: {reason}.", reason=reason)]
    order = in_order(audit)
    if len(order) > 1 and order[0].scores.get(metric) is not None:
        low, high = order[-1].scores.get(metric), order[0].scores.get(metric)
        sentences.append(
            say(
                "The scores run from {high} ({best}) to {low} ({worst}).",
                high=high,
                best=short(order[0].name),
                low=low,
                worst=short(order[-1].name),
            )
        )
    flip = find(audit, "test_retest.pair_flip", metric)
    if flip is not None and flip.value is not None:
        sentences.append(
            say(
                "Two runs are expected to put {flip} of the pairs of these respondents in different"
                " orders.",
                flip=estimate_percent(flip),
            )
        )
    return tuple(sentences)


def faults(audit: BenchmarkAudit) -> tuple[Sentence, ...]:
    """How many items a test names as mislabelled, what share of such items it would find, and which
    to read first.
    """
    metric = leading(audit)
    named = find(audit, "items.label_errors", metric)
    sentences: list[Sentence] = []
    if named is None:
        sentences.append(say("Not measured: this audit holds no test of single labels."))
    elif named.value is None:
        sentences.append(say("Not measured: {reason}.", reason=named.reason))
    else:
        sentences += _named(audit, named)
    to_read = reading_list(audit, metric)
    if to_read is not None and to_read[0].status == "not_informative":
        sentences.append(
            say("A list of items to read says little: {reason}.", reason=to_read[0].reason)
        )
    elif to_read is not None:
        estimate, items = to_read
        first = [str(row.get("item")) for row in items[:3]]
        expected = [share for row in items[:3] if (share := known(row.get("expected"))) is not None]
        rate = (
            f" ({about(sum(expected) / len(expected))} of such items have a wrong key or mislead"
            " strong models)"
            if expected
            else ""
        )
        link = replace(estimate_text(estimate), text=listed(first))
        few = estimate.value is not None and estimate.value < 1
        start = (
            "Under one wrong key is expected; whoever reads, begins with"
            if few
            else "Read these items first:"
        )
        sentences.append(say(f"{start} {{items}}{{rate}}.", items=link, rate=rate))
        if estimate.value is None:
            sentences.append(
                say("How many keys are wrong is not said: {reason}.", reason=estimate.reason)
            )
    return tuple(sentences)


def _named(audit: BenchmarkAudit, named: Estimate) -> Sequence[Sentence]:
    count = int(named.value or 0)
    number_of = replace(estimate_text(named), text=f"{count:,}" if count else "no")
    items = "item" if count == 1 else "items"
    first = say(
        "A test of single labels names {count} {items} that able respondents fail and weak ones"
        " pass ({sized}).",
        count=number_of,
        items=items,
        sized=used(audit, named),
    )
    power = expected_power(named)
    if power is None:
        return [
            first,
            say(
                "What share of wrong labels it would find was not estimated, so the count does not"
                " say how many there are."
            ),
        ]
    share = replace(estimate_text(named), text=percent(power.found_share))
    planted = (
        f"wrong labels planted in {percent(power.planted_share)} of the items"
        if power.planted_share
        else "wrong labels"
    )
    if named.status == "not_informative":
        return [
            first,
            say(
                "Of {planted}, these respondents would show only {share}, so the count says nothing"
                " about how many there are.",
                planted=planted,
                share=share,
            ),
        ]
    return [
        first,
        say("Of {planted}, these respondents would show {share}.", planted=planted, share=share),
    ]
