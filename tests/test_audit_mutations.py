"""An `audit.json` with one wrong value is refused with its path, or every command can print it."""

from __future__ import annotations

import copy
import itertools
import json
import random
from collections import Counter
from typing import Any

import pytest

import hqm
from hqm.auditing.audit import Audit
from tests.audit_designs import random_audit
from tests.audit_doors import pass_all_doors
from tests.audit_mutations import mutated, paths_by_shape
from tests.conftest import NIGHTLY, counts

SEED = random.SystemRandom().randrange(10_000) if NIGHTLY else 1
DESIGNS = (8, 13, 40, 61)
"""Answers with labels and another wording, a table of scores, and types."""

ROW_LISTS = "by_type candidates contrasts cues curve d_study errors groups reading_list strata types".split()


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    made = []
    for seed in DESIGNS:
        audit = random_audit(seed, tmp_path_factory.mktemp("made") / "x")
        made.append(json.loads(Audit((audit,)).to_json()))
    return made


def test_a_changed_audit_is_refused_or_printed_by_every_command(documents: list[Any]) -> None:
    """Nothing but an error of HQM's own is raised, whatever stands where something else belongs."""
    rng = random.Random(SEED)
    groups = [paths_by_shape(document) for document in documents]
    tally: Counter[str] = Counter()
    n_printed = counts(200)
    for _ in range(counts(6000)):
        index = rng.randrange(len(documents))
        changed, change = mutated(documents[index], groups[index], rng)
        try:
            audit = Audit.from_dict(changed)
        except hqm.HQMError:
            tally["refused"] += 1
            continue
        tally["accepted"] += 1
        if tally["printed"] < n_printed:
            print(SEED, index, change)
            tally["printed"] += 1
            try:
                pass_all_doors(audit, figures=False)
            except hqm.HQMError:
                tally["said"] += 1
    print(SEED, dict(tally))
    assert tally["refused"] > tally["accepted"] > 0


def test_a_number_that_is_a_text_is_refused(documents: list[Any]) -> None:
    """Whatever prints an audit formats and compares its numbers."""
    rng = random.Random(SEED)
    cases = [(document, group[0]) for document in documents for group in paths_by_shape(document)]
    n_refused = 0
    for document, path in rng.sample(cases, len(cases)):
        container = document
        for key in path[:-1]:
            container = container[key]
        number = container[path[-1]]
        # a finding may have texts where others have numbers, and no report reads the others
        if type(number) not in (int, float) or {"findings", "reasons", "slope", "tested"} & set(
            path
        ):
            continue
        container[path[-1]] = str(number)
        try:
            with pytest.raises(hqm.DataError):
                print(path, Audit.from_dict(document).audits)
        finally:
            container[path[-1]] = number
        n_refused += 1
        if n_refused == counts(700):
            break
    assert n_refused >= min(counts(700), 500)


@pytest.mark.parametrize("number", [1e308, -1e200, 10**400])
def test_a_number_too_large_to_calculate_with_is_refused(
    documents: list[Any], number: float
) -> None:
    changed = copy.deepcopy(documents[0])
    changed["audits"][0]["estimates"][0]["detail"]["new"] = [number]
    with pytest.raises(hqm.DataError, match=r"detail\.new\[0\]"):
        Audit.from_dict(changed)


def test_counts_of_answers_add_up(documents: list[Any]) -> None:
    changed = copy.deepcopy(documents[0])
    states = next(iter(changed["audits"][0]["respondents"][0]["states"].values()))
    state = max(states, key=lambda name: states[name])
    states[state] -= 1
    with pytest.raises(hqm.DataError, match="elsewhere in the audit"):
        Audit.from_dict(changed)


@pytest.mark.parametrize("why", ["", "model", None, 5])
def test_a_reason_to_read_that_there_is_not_is_refused(documents: list[Any], why: Any) -> None:
    changed = next(d for d in copy.deepcopy(documents) if d["audits"][0]["to_read"])
    changed["audits"][0]["to_read"][0]["why"] = why
    with pytest.raises(hqm.DataError, match=r"to_read\[0\].why"):
        Audit.from_dict(changed)


def test_a_row_that_is_none_is_refused(documents: list[Any]) -> None:
    """Whatever stands in a list of rows is asked for its fields by who prints it."""
    n_refused = 0
    for document in documents:
        estimates = document["audits"][0]["estimates"]
        for number, key in itertools.product(range(len(estimates)), ROW_LISTS):
            if not isinstance(estimates[number]["detail"].get(key), list):
                continue
            changed = copy.deepcopy(document)
            rows = changed["audits"][0]["estimates"][number]["detail"][key]
            if not rows or not isinstance(rows[0], (dict, list)):
                continue
            rows[0] = "x"
            with pytest.raises(hqm.DataError, match=rf"detail\.{key}\[0\]"):
                Audit.from_dict(changed)
            n_refused += 1
    assert n_refused > 20


@pytest.mark.parametrize("items", [None, 5, {}, "x"])
def test_items_that_are_no_list_are_refused(documents: list[Any], items: Any) -> None:
    changed = copy.deepcopy(documents[0])
    estimates = changed["audits"][0]["estimates"]
    estimate = next(e for e in estimates if e["indicator"] == "items.dead_items")
    estimate["detail"]["items"] = items
    with pytest.raises(hqm.DataError, match=r"detail\.items"):
        Audit.from_dict(changed)


@pytest.mark.parametrize("value", [{}, "x", [1, 2, 3], {"other": 1}])
def test_a_respondent_with_another_kind_of_detail_than_the_others_is_refused(
    documents: list[Any], value: Any
) -> None:
    """Reports read the number, list or row of every respondent alike."""
    refused: set[str] = set()
    for document in documents:
        for number, estimate in enumerate(document["audits"][0]["estimates"]):
            values = estimate["detail"].get("by_respondent") or {}
            if not values or {*map(type, values.values())} == {type(value)} == {list}:
                continue
            changed = copy.deepcopy(document)
            details = changed["audits"][0]["estimates"][number]["detail"]["by_respondent"]
            details.update(dict.fromkeys(details, value))
            with pytest.raises(hqm.DataError, match=r"detail\.by_respondent\."):
                Audit.from_dict(changed)
            refused.add(estimate["indicator"])
    assert {"test_retest.rho_g", "parallel_forms.coherence"} <= refused


@pytest.mark.parametrize("status", [None, "not_measured", "not_applicable"])
def test_a_measured_source_of_error_says_so(documents: list[Any], status: str | None) -> None:
    """Of a source that was not measured, reports say which option would do so."""
    changed = copy.deepcopy(documents[0])
    [budget, *_] = changed["audits"][0]["budget"].values()
    row = next(row for row in budget["rows"] if row["source"] == "items")
    del row["status"]
    if status is not None:
        row["status"] = status
    with pytest.raises(hqm.DataError, match=r"budget\..*\.rows\[\d\]\.status"):
        Audit.from_dict(changed)
