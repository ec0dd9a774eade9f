"""The report of a log of pairwise preferences: one self-contained page that loads nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hqm.reports.pages.evidence_page import environment
from hqm.reports.pages.phrases import verb_form
from hqm.reports.tables.table import (
    Table,
    Text,
    anchor,
    bracket_text,
    interval_text,
    number,
    percent,
)

from hqm import Estimate

_ELO = 400 / math.log(10)
"""Points of an Elo scale for a logit."""
_OUTCOMES = {"differ": "differ", "equal": "equal", "not_known": "not known"}
_TITLES = {
    "ties": "ties",
    "first_place": "wins of the first place between equal models",
    "swap_agreement": "same outcome in swapped order",
    "swap_first_wins_twice": "the first place wins in both orders",
    "judge_agreement": "agreement of two judges",
    "judge_pi": "agreement of two judges beyond chance (Scott's pi)",
    "rerun_agreement": "agreement of two runs of a judge",
    "rerun_pi": "agreement of two runs beyond chance (Scott's pi)",
}


def render(data: Mapping[str, Any], command: str) -> str:
    """Return the page, from the audit of preferences as it stands in `audit.json`."""
    estimates = [Estimate.from_dict(row) for row in data["estimates"]]
    return (
        environment()
        .get_template("table.html")
        .render(
            title=f"Preferences {data['benchmark']}",
            material=describe_material(data),
            question="Which models differ, and can the preferences be trusted?",
            findings=findings(data),
            flags=(),
            notes=data["notes"],
            tables=list(tables(data)),
            limits=[
                "Intervals and tests are for these models and judges over other questions; a tie"
                " counts as half a win for each of the two",
                "Ratings are Elo points around the mean of the models: 100 points are 64% of wins",
            ],
            command=command,
            signatures=[
                (anchor(e.signature), e.indicator.partition(".")[2].replace("_", " "), e.signature)
                for e in estimates
            ],
        )
    )


def describe_material(data: Mapping[str, Any]) -> str:
    """Return what was compared, in a sentence.

    >>> describe_material({"models": [1, 2], "preferences": {"comparisons": 1200, "questions": 80,
    ...     "judges": 1}})
    '1,200 comparisons of 2 models over 80 questions by 1 judge.'
    """
    counts = data["preferences"]
    judges = counts["judges"]
    by = f" by {judges:,} judges" if judges else ""
    if judges == 1:
        by = " by 1 judge"
    return (
        f"{counts['comparisons']:,} comparisons of {len(data['models'])} models over"
        f" {counts['questions']:,} questions{by}."
    )


def findings(data: Mapping[str, Any]) -> list[str]:
    """Return what the preferences show, a sentence each, the most important first."""
    estimates = {
        row["indicator"].partition(".")[2]: Estimate.from_dict(row) for row in data["estimates"]
    }
    return [
        *_rating_findings(data),
        _order_finding(estimates),
        _judge_finding(estimates["judge_agreement"], "Two judges", "a second judge"),
        _judge_finding(estimates["rerun_agreement"], "Two runs of a judge", "a second run"),
        _tie_finding(data, estimates["ties"]),
        *cycle_finding(data),
    ]


def _rating_findings(data: Mapping[str, Any]) -> Iterator[str]:
    if data["status"] != "ok":
        yield f"The models have no ratings: {data['reason']}."
        return
    pairs = data["pairs"]
    n_differ = sum(pair["differ"] for pair in pairs)
    yield f"{n_differ} of {len(pairs)} pairs of models differ (Holm over all pairs)."
    top = data["contrasts"][0]
    names = f"{top['first']} and {top['second']}"
    margin = percent(0.5 + data["margin"])
    outcomes = {
        "differ": f"The first two, {names}, differ.",
        "equal": f"The first two, {names}, are equal: neither wins more than {margin}.",
        "not_known": f"Whether the first two, {names}, differ is not known.",
    }
    yield outcomes[top["outcome"]]
    unrated = [model["name"] for model in data["models"] if model["rating"] is None]
    if unrated:
        listed = ", ".join(unrated[:5]) + ", ..." * (len(unrated) > 5)
        yield (
            f"{listed} {'has' if len(unrated) == 1 else 'have'} no rating: all comparisons with"
            " the others were won, or all were lost, or there were none."
        )


def _with_interval(estimate: Estimate) -> str:
    """Return a share with its interval, as sentences have it."""
    interval = estimate.interval("fixed_models")
    text = percent(estimate.value)
    if interval is None:
        return text
    return f"{text} [{percent(interval.low)}, {percent(interval.high)}]"


def _order_finding(estimates: Mapping[str, Estimate]) -> str:
    advantage, swaps = estimates["first_place"], estimates["swap_agreement"]
    sentences = []
    if advantage.value is None:
        sentences.append("The advantage of the first place is not known.")
    else:
        sentences.append(
            f"Between equal models the one shown first wins {_with_interval(advantage)}."
        )
    if swaps.value is not None:
        sentences.append(f"In swapped order the outcome is the same in {_with_interval(swaps)}.")
    else:
        sentences.append("No judge saw a pair in both orders.")
    return " ".join(sentences)


def _judge_finding(estimate: Estimate, subject: str, lacking: str) -> str:
    if estimate.value is None:
        return f"Agreement is not measured: {lacking} of the same comparisons is not in the log."
    n = estimate.detail["comparisons"]
    return f"{subject} agree in {_with_interval(estimate)} of {n:,} repeated comparisons."


def _tie_finding(data: Mapping[str, Any], ties: Estimate) -> str:
    n_bad = data["preferences"]["bad_ties"]
    bad = f" In {n_bad:,} of them both answers are called bad." if n_bad else ""
    return f"Ties are {percent(ties.value)} of the outcomes.{bad}"


def cycle_finding(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield how many triples of models are intransitive, if there are triples."""
    cycles = data["cycles"]
    if not cycles["triples"]:
        return
    n_majority, n_shown = len(cycles["by_majority"]), len(cycles["shown"])
    text = f"{n_shown} of {cycles['triples']:,} triples of models are shown to be intransitive."
    if n_shown:
        text += f" The first: {_cycle_text(cycles['shown'][0])}."
    if n_majority > n_shown:
        n_more = n_majority - n_shown
        cycles_of = verb_form(n_more, "is a cycle", "are cycles")
        text += f" {n_more} more {cycles_of} by majority, which chance may make."
    yield text


def _cycle_text(names: Sequence[str]) -> str:
    first, second, third = names
    return f"{first} beats {second}, {second} beats {third}, and {third} beats {first}"


def tables(data: Mapping[str, Any]) -> Iterator[Table]:
    """Return the tables of the page, of the terminal the first."""
    yield Table.for_page(
        "Ratings",
        ("model", "rating", "95% interval", "ranks", "wins", "comparisons"),
        tuple(
            (
                Text(model["name"]),
                Text(_points(model["rating"])),
                Text("" if model["low"] is None else _points_interval(model)),
                Text(" to ".join(dict.fromkeys(map(str, model["ranks"])))),
                Text(percent(model["win_share"])),
                Text(f"{model['comparisons']:,}"),
            )
            for model in data["models"]
        ),
        right=(1, 2, 4, 5),
    )
    if data["contrasts"]:
        yield Table.for_page(
            "Each model and the next in rank",
            ("higher", "lower", "difference", "95% interval", "p, adjusted", "outcome"),
            tuple(
                (
                    Text(row["first"]),
                    Text(row["second"]),
                    Text(_points(row["difference"])),
                    Text(_points_interval(row)),
                    Text(number(row["p"])),
                    Text(_OUTCOMES[row["outcome"]]),
                )
                for row in data["contrasts"]
            ),
            right=(2, 3, 4),
        )
    yield _reliability_table(data)
    if data["judges"]:
        yield _judge_table(data["judges"])


def _points(value: float | None) -> str:
    return number(None if value is None else _ELO * value, 0)


def _points_interval(row: Mapping[str, Any]) -> str:
    return bracket_text(_ELO * row["low"], _ELO * row["high"], 0)


def _reliability_table(data: Mapping[str, Any]) -> Table:
    rows = []
    for estimate in map(Estimate.from_dict, data["estimates"]):
        name = estimate.indicator.partition(".")[2]
        rows.append(
            (
                Text(_TITLES[name], link=anchor(estimate.signature)),
                Text(number(estimate.value)),
                Text(interval_text(estimate.interval("fixed_models"))),
                Text(f"{estimate.detail['comparisons']:,}"),
                Text(estimate.reason),
            )
        )
    return Table.for_page(
        "Order, judges and reruns",
        ("coefficient", "value", "95% interval over questions", "comparisons", ""),
        tuple(rows),
        right=(1, 2, 3),
    )


def _judge_table(judges: Sequence[Mapping[str, Any]]) -> Table:
    return Table.for_page(
        "Judges",
        (
            "judge",
            "comparisons",
            "ties",
            "first place wins",
            "agrees with others",
            "same in swapped order",
            "same in a rerun",
        ),
        tuple(map(_judge_row, judges)),
        right=tuple(range(1, 7)),
    )


def _judge_row(judge: Mapping[str, Any]) -> tuple[Text, ...]:
    shares = ("ties", "first_wins", "agreement", "swap_agreement", "rerun_agreement")
    return (
        Text(judge["name"] or "not named"),
        Text(f"{judge['comparisons']:,}"),
        *(Text(percent(judge[share])) for share in shares),
    )
