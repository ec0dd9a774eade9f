"""Defects of a benchmark: wrong keys, contradictions, leaks, faulty pictures, types without items;
each with what to do.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hqm.reports.phrases import Sentence, counted, have, listed, say
from hqm.reports.tables import (
    Text,
    capital,
    estimate_percent,
    estimate_text,
    find,
    known,
    leading,
    number,
    percent,
    rows,
)

from hqm import BenchmarkAudit, contradictory_keys, findings_in_order, leaks_shown, wrong_keys

_SHOWN = 3
"""How many of a list a sentence names; the report has all."""
TOLD = frozenset(
    (
        "contradictory-label",
        "contradictory-twins",
        "blind-solvable",
        "leakage-cue",
        "giveaway-phrase",
        "label-by-position",
        "option-position",
        "unbalanced-labels",
        "image-missing",
        "image-broken",
        "type-without-items",
        "type-not-measurable",
        "duplicate-question",
        "no-licence",
    )
)
"""Findings that have a sentence of their own, or are limits of a study."""


def benchmark_defects(audit: BenchmarkAudit) -> Iterator[tuple[str, Sentence]]:
    """The kind of each defect, and what to do about it, the gravest first.

    Keys that are wrong, that contradict each other, or that can be told without the picture;
    pictures that are missing or broken; types without items; records that cannot be read; then what
    makes a score less than it seems.
    """
    for kind, sentences in (
        ("keys", _wrong_keys(audit)),
        ("contradictions", _contradictions(audit)),
        ("words", _words(audit)),
        ("position", _position(audit)),
        ("pictures", _pictures(audit)),
        ("licence", _licence(audit)),
        ("empty types", _empty_types(audit)),
        ("balance", _balance(audit)),
        ("negative", _negative(audit)),
        ("duplicates", _duplicates(audit)),
        ("findings", _further(audit)),
    ):
        for sentence in sentences:
            yield kind, sentence


def _named(names: Sequence[str]) -> str:
    """A few of a list, and how many more there are.

    >>> _named(["a", "b", "c", "d"]), _named(["a"])
    (' (a, b, c and 1 more)', ' (a)')
    """
    if not names:
        return ""
    rest = len(names) - _SHOWN
    return (
        f" ({', '.join(names[:_SHOWN])} and {rest:,} more)" if rest > 0 else f" ({listed(names)})"
    )


def _wrong_keys(audit: BenchmarkAudit) -> Iterator[Sentence]:
    of = wrong_keys(audit)
    if not of.shown:
        return
    metric = leading(audit)
    tested, ranked = (
        find(audit, f"items.{name}", metric) for name in ("label_errors", "reading_list")
    )
    if of.contradicted:
        against = find(audit, "criterion.contradicted_items", metric)
        yield say(
            "People's labels contradict the keys of {n}{such}. Correct these right answers.",
            n=_linked(counted(len(of.contradicted), "item"), against),
            such=_named(of.contradicted),
        )
    expected = (
        _linked(number(of.expected, 0), ranked)
        if of.expected is not None and ranked is not None
        else None
    )
    # a weakness that strong models share leaves the same trace as a wrong key, so the answers never
    # prove one
    cause = (
        _one_type(audit, of.expected or of.count or 10)
        + "A wrong key leaves this trace, and so does a weakness that strong models share: correct"
        " only the keys that you find wrong."
    )
    if of.count:
        beside = (
            "; about {expected} such items are expected in all"
            if expected and of.expected and of.expected >= 1
            else ""
        )
        yield say(
            "Read {n} first{such}: respondents that are right elsewhere fail them and weak ones"
            " pass" + beside + ". " + cause,
            n=_linked(counted(of.count, "item"), tested),
            such=_named(of.named),
            expected=expected or "",
        )
    elif not of.contradicted:
        first = [str(row.get("item")) for row in rows(ranked, "reading_list")]
        yield say(
            "Read these items first{such}: respondents that are right elsewhere fail "
            + ("about {expected} items" if expected else "items")
            + " that weak ones pass, more than chance explains; "
            + (
                "no test names one by itself. "
                if expected
                else f"how many is not said: {ranked.reason if ranked is not None else ''}. "
            )
            + cause,
            expected=expected or "",
            such=_named(first),
        )


def _one_type(audit: BenchmarkAudit, expected: float) -> str:
    """That the first items to read are of one type, where as many of it are no chance: its keys, or
    a weakness in common.
    """
    first = [row for row in audit.to_read if row.get("why") == "answers"][: max(3, round(expected))]
    of_type = Counter(str(row.get("type") or "") for row in first)
    if not of_type:
        return ""
    name, count = of_type.most_common(1)[0]
    share = (audit.coverage.get(name) or {}).get("items", 0) / max(audit.items, 1)
    by_chance = sum(
        math.comb(len(first), k) * share**k * (1 - share) ** (len(first) - k)
        for k in range(count, len(first) + 1)
    )
    if not name or count < 3 or by_chance >= 0.01:
        return ""
    return f"Of the first {len(first)}, {count} are of the type {name}. "


def _linked(text: str, estimate: Any) -> Text | str:
    return text if estimate is None else replace(estimate_text(estimate), text=text, muted=False)


def _contradictions(audit: BenchmarkAudit) -> Iterator[Sentence]:
    groups = contradictory_keys(audit)
    if groups:
        first = groups[0]
        yield say(
            "In {n}, the same question about the same picture has different right answers, for"
            " example in items {names}{keys}{answers}. Correct one of them.",
            n=counted(len(groups), "place"),
            names=listed(list(first.items)),
            keys=(
                f", with the keys {listed(list(first.keys))}"
                if first.keys and all(first.keys)
                else ""
            ),
            answers=f": {first.answers}" if first.answers else "",
        )


def _words(audit: BenchmarkAudit) -> Iterator[Sentence]:
    """Right answers that the words predict, by type and part, which a total can hide."""
    estimate = find(audit, "solvability.blind_accuracy", leading(audit))
    if estimate is None or estimate.value is None:
        return
    if rows(estimate, "strata"):
        leaking = [row for row in rows(estimate, "strata") if row.get("leak")]
        if leaking:
            names = [leak.name for leak in leaks_shown(audit) if "words" in leak.by]
            order = [row for name in names for row in leaking if row.get("name") == name] or leaking
            kinds = listed(list(map(_stratum, order[:_SHOWN]))) + (
                f", and {len(order) - _SHOWN} more" if len(order) > _SHOWN else ""
            )
            yield say(
                "The words alone predict the right answers in {kinds}. Ask the same questions about"
                " pictures with the other answer.",
                kinds=_linked(kinds, estimate),
            )
        return
    gain, p, base = (known(estimate.detail.get(name)) for name in ("gain", "p", "baseline"))
    by_type = [row for row in rows(estimate, "by_type") if _exceeds(row)]
    kinds = listed(
        [_stratum({**row, "name": row.get("type") or "no type"}) for row in by_type[:_SHOWN]]
    )
    if gain is not None and p is not None and gain > 0.05 and p < 0.05:
        most = f" Most of all: {kinds}." if by_type else ""
        yield say(
            "A classifier that sees only the words predicts {share} of the right answers on items"
            " that it was not trained on; always giving the most frequent answer reaches {base}."
            + most
            + " Balance the wordings.",
            share=estimate_percent(estimate),
            base=percent(base),
        )
    elif by_type:
        yield say(
            "The words alone predict the right answers of some types: {kinds}. Balance their"
            " wordings.",
            kinds=_linked(kinds, estimate),
        )


def _exceeds(row: Mapping[str, Any]) -> bool:
    """Whether a type's words predict more than its most frequent answer, by more than chance and by
    more than .05.
    """
    accuracy, commonest, q = (known(row.get(key)) for key in ("accuracy", "baseline", "q"))
    return (
        accuracy is not None
        and commonest is not None
        and accuracy - commonest > 0.05
        and (q or 0.0) < 0.05
    )


def _stratum(row: Mapping[str, Any]) -> str:
    """A type or part with what its words predict, and the lower end of the gain where there is
    one.
    """
    low = known(row.get("low"))
    least = f"; at least {percent(low)} more" if low is not None and low > 0 else ""
    return (
        f"{row.get('name')} ({percent(known(row.get('accuracy')))},"
        f" {percent(known(row.get('baseline')))} by its most frequent answer{least})"
    )


def _position(audit: BenchmarkAudit) -> Iterator[Sentence]:
    """Right answers that the place of an item, its number, its surface or the place of the right
    option gives away.
    """
    of_options = [
        row
        for finding in audit.findings
        if finding["name"] == "option-position"
        for row in finding.get("rows", ())
    ]
    if of_options:
        which = [
            f"{row.get('type') or row.get('part')} ({row['answer']} in {row['items with it']} of"
            f" {row['items in all']} items)"
            for row in of_options[:_SHOWN]
        ]
        yield say(
            "The place of the right option gives it away in {kinds}. Shuffle the options of every"
            " question.",
            kinds=listed(which),
        )
    cues = find(audit, "solvability.leakage_cues", leading(audit))
    leaking = [leak for leak in leaks_shown(audit) if "words" not in leak.by]
    if leaking:
        which = [
            f"{leak.name} ({listed(list(leak.by[:_SHOWN]))}: {percent(leak.accuracy)} right,"
            f" {percent(leak.baseline)} by the most frequent answer)"
            for leak in leaking[:_SHOWN]
        ]
        yield say(
            "Position, numbering or surface predicts the right answers in {kinds}. Shuffle the"
            " items, renumber them, and give questions of all answers the same form.",
            kinds=_linked(listed(which), cues),
        )
        return
    alternating = [f for f in audit.findings if f["name"] == "label-by-position"]
    if alternating:
        yield say("{what}. Shuffle the items.", what=capital(str(alternating[0]["sentence"])))
    elif cues is not None and cues.value and not rows(cues, "strata"):
        names = list(
            dict.fromkeys(
                str(row["cue"]) for row in rows(cues, "cues") if row.get("leak") and row.get("cue")
            )
        )
        yield say(
            "The right answer can be predicted from {cues}. Shuffle or balance what gives it away.",
            cues=_linked(listed(names) if names else "the form of the questions", cues),
        )


def _pictures(audit: BenchmarkAudit) -> Iterator[Sentence]:
    by_name = {f["name"]: f for f in audit.findings}
    parts, names = [], []
    for name, state in (("image-missing", "missing"), ("image-broken", "broken")):
        if name in by_name:
            count = int(by_name[name].get("count") or 0)
            parts.append(f"{counted(count, 'picture')} {'is' if count == 1 else 'are'} {state}")
            names += [
                str(image)
                for row in by_name[name].get("rows", ())
                for image in row.get("images", ())
            ]
    if parts:
        yield say(
            "{parts}{names}: nobody who looks can answer what is asked about them. Put the files"
            " back, or take their items out.",
            parts=capital(listed(parts)),
            names=_named(names),
        )


def _licence(audit: BenchmarkAudit) -> Iterator[Sentence]:
    for finding in audit.findings:
        if finding["name"] == "no-licence":
            yield say(
                "{what}. {remedy}",
                what=capital(str(finding["sentence"])),
                remedy=str(finding.get("remedy") or "Name one."),
            )


def _empty_types(audit: BenchmarkAudit) -> Iterator[Sentence]:
    empty = [kind for kind, row in audit.coverage.items() if row["claimed"] and not row["items"]]
    if empty:
        yield say(
            "The card claims {names}, and no item is known to measure {it}. Add items, or take the"
            " claim back.",
            names=listed(empty),
            it="it" if len(empty) == 1 else "them",
        )


def _balance(audit: BenchmarkAudit) -> Iterator[Sentence]:
    one_sided = [f for f in audit.findings if f["name"] == "unbalanced-labels"]
    of_place = {
        row.get("type")
        for f in audit.findings
        if f["name"] == "option-position"
        for row in f.get("rows", ())
    }
    left = [f for f in one_sided if not f.get("rows") or f["rows"][0].get("type") not in of_place]
    if left:
        yield say(
            "{what}.{more} Balance the right answers, or report the score beside that of always"
            " giving the commonest answer.",
            what=capital(str(left[0]["sentence"])),
            more=(
                f" {counted(len(left) - 1, 'further type')} {have(len(left) - 1)} such a key."
                if len(left) > 1
                else ""
            ),
        )


def _negative(audit: BenchmarkAudit) -> Iterator[Sentence]:
    estimate = find(audit, "items.negative_items", leading(audit))
    if (
        estimate is not None
        and estimate.value
        and estimate.status == "ok"
        and not wrong_keys(audit).count
    ):
        yield say(
            "Strong respondents do worse than weak ones on {n}{such} (false discovery rate 5%)."
            " Read or drop them.",
            n=_linked(counted(int(estimate.value), "item"), estimate),
            such=_named(names=[str(name) for name in estimate.detail.get("items") or ()]),
        )


def _duplicates(audit: BenchmarkAudit) -> Iterator[Sentence]:
    estimate = find(audit, "items.duplicate_items", leading(audit))
    contradictory = {item for group in contradictory_keys(audit) for item in group.items}
    groups = [
        list(map(str, group))
        for group in (estimate.detail.get("groups") or () if estimate is not None else ())
    ]
    repeats = [group for group in groups if not contradictory.intersection(group)]
    extra = sum(len(group) - 1 for group in repeats)
    if estimate is not None and repeats:
        yield say(
            "{n} {again} with the same right answer{such}. Keep one of each.",
            n=_linked(counted(extra, "item"), estimate),
            again=(
                "repeat a question about a picture"
                if extra > 1
                else "repeats a question about a picture"
            ),
            such=_named([" = ".join(group) for group in repeats]),
        )
    elif estimate is not None and estimate.value and not groups:
        yield say(
            "{n} occur more than once. Drop the repeats.",
            n=_linked(counted(int(estimate.value), "item"), estimate),
        )


def _further(audit: BenchmarkAudit) -> Iterator[Sentence]:
    """What else `hqm check` calls an error, each by itself; and its warnings about items and
    pictures, together.
    """
    others = [f for f in findings_in_order(audit) if f["name"] not in TOLD]
    for finding in others:
        if finding.get("severity") == "error":
            yield say(
                "{what}. {remedy}",
                what=capital(str(finding["sentence"])),
                remedy=str(finding.get("remedy") or "Correct it."),
            )
    yield from warned_of(finding for finding in others if not _slight(finding))


def _slight(finding: Mapping[str, Any]) -> bool:
    """Whether a warning is about the card, the wordings or a form, and makes no score wrong."""
    return str(finding.get("code"))[:1] in "CWF"


def slight_warnings(audit: BenchmarkAudit) -> Iterator[Sentence]:
    """What the check of the data warns of and makes no score wrong, such as one template for all
    questions of a type.
    """
    return warned_of(f for f in findings_in_order(audit) if f["name"] not in TOLD and _slight(f))


def warned_of(findings: Iterable[Mapping[str, Any]]) -> Iterator[Sentence]:
    """One sentence that names the warnings among some findings."""
    names = dict.fromkeys(
        f"“{str(f['name']).replace('-', ' ')}”" for f in findings if f.get("severity") == "warning"
    )
    if names:
        yield say(
            "The check of the data warns of {names}. Each has its list and its remedy below.",
            names=listed(list(names)),
        )
