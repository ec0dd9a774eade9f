"""Sentences of the first screen: what changes with the seed or the wording, which respondents were
separated, and which items look faulty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hqm.reports.evidence_tables import SOURCES
from hqm.reports.phrases import Sentence, backed, counted, listed, say, used
from hqm.reports.score_tables import in_order, tied_sets
from hqm.reports.tables import (
    Goal,
    Text,
    about,
    cell,
    estimate_percent,
    estimate_text,
    expected_power,
    find,
    goal,
    known,
    leading,
    over_respondents,
    own_differences,
    p_value,
    percent,
    reading_list,
    short,
    small,
    threshold,
)
from hqm.reports.units import in_units, is_share

from hqm import BenchmarkAudit, Estimate, Policy


def repeatable(audit: BenchmarkAudit, policy: Policy | None = None) -> tuple[Sentence, ...]:
    """How well the scores repeat with another seed."""
    metric = leading(audit)
    rho = find(audit, "test_retest.rho_g", metric)
    if rho is None:
        return (
            say(
                "Not measured: the original form was asked once. To measure it,"
                f" {SOURCES['test_retest'][3]}."
            ),
        )
    if rho.value is None:
        return (say("Not measured: {reason}.", reason=rho.reason),)
    if rho.status == "not_informative":
        return (say("This audit does not say: {reason}.", reason=rho.reason),)
    sentences = [
        say(
            "When only the seed changes, the reliability of {metric} from one run (rho_G) is"
            " {rho}{of}.",
            metric=metric,
            rho=rho,
            of=backed(audit, rho),
        )
    ]
    sentences += _against_goal(rho, goal("test_retest.rho_g", policy))
    if "DRIFT" in rho.flags:
        sentences += _drift(audit, metric, rho)
    return tuple(sentences + _own_error(audit, metric) + _floor(audit, metric, rho))


def _against_goal(rho: Estimate, wanted: Goal) -> list[Sentence]:
    """Whether the goal is reached, as far as the ends of the intervals support it."""
    aim = threshold(wanted.at_least)
    these, others = rho.interval("fixed_models"), rho.interval("model_population")
    if these is None and others is None:
        return [say(f"Without an interval, nothing is shown about the goal of {aim}.")]
    # an interval over other respondents is never narrower, so it stands in where the other is
    # missing
    near = these or others
    for_these = near is not None and near.low >= wanted.at_least
    for_others = for_these and others is not None and others.low >= wanted.at_least
    if for_others:
        return [
            say(f"The goal of {aim} is reached, for these respondents and for others like them.")
        ]
    if for_these:
        return [
            say(f"The goal of {aim} is reached for these respondents; for others it is not shown.")
        ]
    if near is not None and near.high < wanted.at_least:
        return [say(f"The goal of {aim} is missed.")]
    return [say(f"Whether the goal of {aim} is reached is not shown: the interval contains it.")]


def _drift(audit: BenchmarkAudit, metric: str, rho: Estimate) -> list[Sentence]:
    test, agreed = (
        find(audit, "test_retest.drift", metric),
        find(audit, "test_retest.icc_a1", metric),
    )
    p = p_value(test.value if test is not None else None)
    sentence = say(
        f"Between the runs the scores moved by more than the noise of their items explains (p {p}),"
        " which rho_G leaves out."
    )
    if agreed is None or agreed.value is None:
        return [sentence]
    return [
        sentence,
        say(
            "The agreement of the runs, ICC(A,1), is {icc}{of}.",
            icc=agreed,
            of=backed(audit, agreed, rho),
        ),
    ]


def _floor(audit: BenchmarkAudit, metric: str, rho: Estimate) -> list[Sentence]:
    """What coin flips would reach: a description of single answers, on which no decision hangs."""
    floor, gain = (
        find(audit, "test_retest.noise_floor", metric),
        find(audit, "test_retest.gain", metric),
    )
    if floor is None or floor.value is None:
        return []
    said = (
        "On as many items, coin flips at each respondent's own rate would reach {floor} (the noise"
        " floor)"
    )
    if gain is None or gain.value is None:
        return [say(said + ".", floor=floor)]
    if gain.value <= 0:
        return [say(said + "; rho_G does not lie above it.", floor=floor)]
    ends = ""
    near = rho.interval("fixed_models")
    if near is not None and floor.value < 1:
        low, high = ((end - floor.value) / (1 - floor.value) for end in (near.low, near.high))
        ends = (
            f" ({percent(max(0.0, low))} to {percent(high)} over its interval for these"
            " respondents)"
        )
    return [
        say(
            said + "; rho_G lies {gain} of the way from there to 1{ends}, which describes single"
            " answers.",
            floor=floor,
            gain=estimate_percent(gain),
            ends=Text(ends, muted=True),
        )
    ]


def _own_error(audit: BenchmarkAudit, metric: str) -> list[Sentence]:
    """A respondent's own error of measurement, as a range over respondents; a pooled error is
    nobody's.
    """
    sem, mdc = find(audit, "test_retest.sem", metric), find(audit, "test_retest.mdc95", metric)
    if sem is None or sem.value is None:
        return []
    errors, differences = over_respondents(sem), own_differences(sem, mdc)
    if errors is None or differences is None:
        pooled = say(
            "The standard error of a score from one run, pooled over respondents, is {sem}; single"
            " respondents have smaller and larger ones.",
            sem=replace(estimate_text(sem), text=small(sem.value)),
        )
        return [pooled]
    low, high = (replace(estimate_text(sem), text=small(end)) for end in (errors.low, errors.high))
    least, most = (
        replace(estimate_text(mdc or sem), text=small(end))
        for end in (differences.low, differences.high)
    )
    return [
        say(
            "On the same items, a respondent's score varies from run to run by a standard error"
            " between {low} and {high}, depending on the respondent; its smallest real difference"
            " (exceeded by chance in 5 of 100 pairs of runs) is between {least} and {most}{unit}.",
            low=low,
            high=high,
            least=least,
            most=most,
            unit=(
                " (shares; 0.01 is one percentage point)"
                if is_share(audit, metric)
                else f" (in units of {metric})"
            ),
        ),
    ]


def wording(audit: BenchmarkAudit) -> tuple[Sentence, ...]:
    """How the scores change with another wording, form by form."""
    metric = leading(audit)
    others = dict.fromkeys(
        e.other
        for e in audit.estimates
        if e.indicator.startswith("parallel_forms.") and e.metric == metric
    )
    if not others:
        return (
            say(
                "Not measured: no other wording was asked. To measure it,"
                f" {SOURCES['parallel_forms'][3]}."
            ),
        )
    sentences: list[Sentence] = []
    for other in others:
        shift, icc, same = (
            find(audit, f"parallel_forms.{name}", metric, other)
            for name in ("mean_shift", "icc_a1", "item_agreement")
        )
        if shift is not None:
            sentences += _shift(audit, metric, shift)
        if icc is not None and icc.value is not None:
            sentences.append(
                say(
                    "The agreement of the scores in both forms, ICC(A,1), is {icc}{of}.",
                    icc=icc,
                    of=backed(audit, icc, shift),
                )
            )
        elif icc is not None:
            sentences.append(
                say("The agreement of the scores was not measured: {reason}.", reason=icc.reason)
            )
        if same is not None and same.value is not None:
            again = find(audit, "test_retest.item_agreement", metric)
            beside = (
                " ({again} when only the seed changes)"
                if again is not None and again.value is not None
                else ""
            )
            sentences.append(
                say(
                    "As a mean over these respondents, {share} of the items get the same verdict in"
                    " both forms" + beside + ".",
                    share=estimate_percent(same),
                    again=estimate_percent(again) if again is not None else "",
                )
            )
    return tuple(sentences)


def _shift(audit: BenchmarkAudit, metric: str, shift: Estimate) -> list[Sentence]:
    """The difference of the means, and for whom its direction is shown."""
    name = cell(shift.other)
    if shift.value is None:
        return [
            say(
                "The change of the mean in the form “{name}” was not measured: {reason}.",
                name=name,
                reason=shift.reason,
            )
        ]
    these, others = shift.interval("fixed_models"), shift.interval("model_population")
    apart = [
        span is not None and (span.low > 0 or span.high < 0) for span in (these or others, others)
    ]
    said = say(
        "In the form “{name}” the mean {metric} differs by {shift}{unit}{of}.",
        name=name,
        metric=metric,
        shift=shift,
        of=backed(audit, shift),
        unit=(
            f" ({in_units(audit, metric, shift.value)})"
            if is_share(audit, metric)
            else f" in units of {metric}"
        ),
    )
    if these is None and others is None:
        return [said]
    if not apart[0]:
        return [said, say("That it differs is not shown: the interval contains 0.")]
    way = "lower" if shift.value < 0 else "higher"
    if all(apart):
        return [said, say(f"It is {way} there, for these respondents and for others like them.")]
    return [
        said,
        say(f"It is {way} there for these respondents; for others the direction is not shown."),
    ]


# --- which respondents were separated, and which items look faulty ---


def separates(audit: BenchmarkAudit) -> tuple[Sentence, ...]:
    """Which of these respondents differ by more than the choice of items explains."""
    metric = leading(audit)
    share = find(audit, "discriminability.separable_pairs", metric)
    if share is None or share.value is None:
        return _not_separated(audit, metric, share)
    apart, pairs = (known(share.detail.get(name)) for name in ("apart", "pairs"))
    sentences = [
        say(
            "{many} {of} of these respondents {verb} in {metric} by more than the choice of items"
            " explains{tests}.",
            many=(
                estimate_percent(share)
                if apart is None or not pairs
                else replace(estimate_text(share), text=f"{apart:,.0f}")
            ),
            of=f"of the {pairs:,.0f} pairs" if apart is not None and pairs else "of the pairs",
            verb="differs" if apart == 1 else "differ",
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
    return [
        say(
            said + ", and one of {among} among all pairs after Holm.",
            planned=planned,
            among=replace(estimate_text(holm or least), text=_difference(audit, metric, value)),
        )
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
    sentences = [
        say(
            "Not measured: {reason}.",
            reason=(
                absent.reason
                if absent is not None and absent.reason
                else "this audit holds no comparison of pairs"
            ),
        )
    ]
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
        few = estimate.value is not None and estimate.value < 1
        start = (
            "Under one wrong key is expected; whoever reads, begins with"
            if few
            else "Read these items first:"
        )
        sentences.append(
            say(
                f"{start} {{items}}{{rate}}.",
                items=replace(estimate_text(estimate), text=listed(first)),
                rate=(
                    f" ({about(sum(expected) / len(expected))} of such items have a wrong key or"
                    " mislead strong models)"
                    if expected
                    else ""
                ),
            )
        )
        if estimate.value is None:
            sentences.append(
                say("How many keys are wrong is not said: {reason}.", reason=estimate.reason)
            )
    return tuple(sentences)


def _named(audit: BenchmarkAudit, named: Estimate) -> Sequence[Sentence]:
    count = int(named.value or 0)
    first = say(
        "A test of single labels names {count} {items} that able respondents fail and weak ones"
        " pass ({sized}).",
        count=replace(estimate_text(named), text=f"{count:,}" if count else "no"),
        items="item" if count == 1 else "items",
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
