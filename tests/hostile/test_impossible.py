"""Every number of an audit, replaced by one that it cannot be, is refused by the path of its key."""

from __future__ import annotations

import copy
import json
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

import hqm
from tests.conftest import NIGHTLY, write_benchmark

OPPOSITE = {"yes": "no", "no": "yes"}
UNBOUNDED = {
    "answers", "command", "components", "d_prime", "factor", "findings", "identity", "numbers", "scales", "words",
}  # fmt: skip
"""Keys outside of details below which a number may be as large as it likes: what is in the units of
a metric without a scale, items a picture, lengths, and the scales themselves.
"""
OPEN = {
    "labelled_answers", "labels_needed", "leakage_cues", "length_shift", "d_prime_shift",
    "criterion_shift", "acquiescence", "limits_of_agreement", "family_types",
}  # fmt: skip
"""Indicators whose values have no upper end."""
Path_ = tuple[str | int, ...]


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The audit of four respondents: two runs, two wordings, people's labels, three types."""
    folder = tmp_path_factory.mktemp("audit")
    rng = random.Random(5)
    items = [
        {
            "id": f"q{i}",
            "prompt": f"Is there a thing {i}?",
            "target": ("yes", "no")[i * 7 % 3 % 2],
            "type": ("ocr", "existence", "counting")[i % 3],
            "cluster": f"c{i // 2}",
        }
        for i in range(36)
    ]
    answers, labels = [], ["item,respondent,label"]
    for k in range(4):
        for form, run in (("original", 0), ("original", 1), ("parallel", 0), ("parallel", 1)):
            for i, item in enumerate(items):
                right = rng.random() < 0.55 + 0.1 * k
                reply = item["target"] if right else OPPOSITE[item["target"]]
                row = {"item": item["id"], "respondent": f"m{k}", "form": form, "run": run}
                answers.append({**row, "answer": reply})
                if (form, run) == ("original", 0) and i < 18:
                    labels.append(f"{item['id']},m{k},{int(right == (rng.random() < 0.9))}")
    (folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    (folder / "labels.csv").write_text("\n".join(labels))
    audit = hqm.audit(
        str(write_benchmark(folder / "mine", items)),
        recorded=folder / "answers.jsonl",
        criterion=folder / "labels.csv",
    )
    document_json: dict[str, Any] = json.loads(hqm.Audit((audit,)).to_json())
    return document_json


def numbers(value: Any, path: Path_ = ()) -> Iterator[tuple[Path_, float]]:
    """Every number of a document with the keys that lead to it, but what the record says."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in pairs:
        if isinstance(inner, (dict, list)):
            yield from numbers(inner, (*path, key)) if key != "record" else ()
        elif isinstance(inner, (int, float)) and not isinstance(inner, bool):
            yield (*path, key), inner


def accepted(document: dict[str, Any], path: Path_, value: float) -> bool:
    container = document
    for key in path[:-1]:
        container = container[key]  # type: ignore[index]
    before, container[path[-1]] = container[path[-1]], value  # type: ignore[index]
    try:
        hqm.Audit.from_dict(document)
    except hqm.HQMError:
        return False
    finally:
        container[path[-1]] = before  # type: ignore[index]
    return True


def test_an_impossible_number_anywhere_is_refused(document: dict[str, Any]) -> None:
    """Outside of the details of estimates nothing is accepted but what has no end; in them, many
    numbers are in the units of a metric or of a statistic, and one in two has no end.
    """
    estimates, all_numbers = document["audits"][0]["estimates"], list(numbers(document))
    tally: Counter[tuple[str, bool]] = Counter()
    for path, value in random.Random(7).sample(all_numbers, 600 if NIGHTLY else 30):
        names = set(path)
        if path[2] == "estimates":
            names.add(estimates[path[3]]["indicator"].split(".")[1])
        region = "details" if "detail" in path else "elsewhere"
        for impossible in (-1e9, 1e9, value + 0.5 if isinstance(value, int) else -1e9):
            was = accepted(document, path, impossible)
            tally[region, was] += 1
            assert not was or region == "details" or names & (UNBOUNDED | OPEN), (path, impossible)
    print(tally)
    assert tally["details", False] > tally["details", True]
    assert tally["elsewhere", False] > 8 * tally["elsewhere", True]


@pytest.mark.parametrize("values", [[-1e9, 1.0], [0.0, 1e9]], ids=repr)
def test_a_value_that_no_verdict_has_is_refused(
    document: dict[str, Any], values: list[float]
) -> None:
    audit = copy.deepcopy(document["audits"][0])
    row = next(iter(audit["verdicts"].values()))
    assert row["values"] == [0.0, 1.0]
    row["values"] = values
    with pytest.raises(hqm.DataError, match="verdicts"):
        hqm.Audit.from_dict({**document, "audits": [audit]})


def test_families_of_nobody_are_refused(document: dict[str, Any]) -> None:
    audit = {**document["audits"][0], "families": {"recorded/nobody": "a"}}
    with pytest.raises(hqm.DataError, match="recorded/nobody"):
        hqm.Audit.from_dict({**document, "audits": [audit]})


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("test_retest.mean_shift", 0.02),
        ("test_retest.pearson", -0.02),
        ("parallel_forms.pearson", -0.02),
        ("discriminability.separable_pairs", 0.02),
        ("items.dead_items", 1.0),
    ],
)
def test_a_number_that_others_of_the_audit_give_is_computed_again(
    document: dict[str, Any], name: str, change: float
) -> None:
    audit = copy.deepcopy(document["audits"][0])
    estimate = next(
        e for e in audit["estimates"] if e["indicator"] == name and e["metric"] == "accuracy"
    )
    assert estimate["value"] is not None
    estimate["value"] += change
    with pytest.raises(hqm.DataError, match="elsewhere in the audit|beside the value"):
        hqm.Audit.from_dict({**document, "audits": [audit]})
