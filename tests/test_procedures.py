"""Equal signatures mean equal numbers: a procedure that behaves otherwise has another version."""

import json
from pathlib import Path

import pytest

from hqm.benchmark import registry
from hqm.forms.make_forms import REWRITERS
from hqm.indicators import all_indicators
from hqm.scoring.parsers import PARSERS
from hqm.signature import labelled, load_procedures, scoring_label
from tests import procedures
from tests.procedure_constants import NUMBERS, changed_statistics, constants_of, modules
from tests.procedures import CORPORA, Corpus, advice, agrees, failures

MIN_CASES = {"statistic": 8, "audit": 8, "scoring": 50, "arithmetic": 1, "constants": 8}


@pytest.mark.parametrize("corpus", CORPORA, ids=lambda corpus: corpus.name)
def test_a_procedure_that_behaves_otherwise_has_another_version(corpus: Corpus) -> None:
    paragraphs = failures(corpus)
    assert not paragraphs, advice(paragraphs)


def test_a_corpus_has_each_case_once() -> None:
    for corpus in CORPORA:
        assert len(set(corpus.cases)) == len(corpus.cases), corpus.name


def test_every_version_stands_for_outcomes() -> None:
    held = {name for corpus in CORPORA for name in corpus.held_outcomes}
    assert held == set(load_procedures())
    for procedure in load_procedures().values():
        assert procedure.version >= 1
        kind = procedure.name.partition(".")[0]
        assert procedure.cases >= MIN_CASES.get(kind, 100), procedure


def test_every_number_in_the_code_of_estimates_is_frozen() -> None:
    (corpus,) = (corpus for corpus in CORPORA if corpus.name == "constants")
    assert set(map(json.dumps, modules())) <= set(corpus.cases)


def test_another_limit_gives_another_version_to_what_is_computed_by_it() -> None:
    constants = {path: constants_of(path) for path in modules()}
    before = {path: kinds[NUMBERS] for path, kinds in constants.items() if NUMBERS in kinds}
    assert list(changed_statistics(before)) == []
    path = "hqm/indicators/reruns.py"
    lower = {**before, path: {**before[path], "_gain": [0.4]}}
    assert list(changed_statistics(lower)) == ["statistic.test_retest.gain"]
    moved = {**before, path: {**before[path], "_gain": [], "_floor": [0.5]}}
    assert list(changed_statistics(moved)) == []
    into_an_extension = {**before, "hqm/auditing/gone.py": {"write": [2]}}
    assert list(changed_statistics(into_an_extension)) == []
    gain = before[path]["_gain"]
    joined = {
        **into_an_extension,
        path: {**before[path]},
        "hqm/indicators/gone.py": {"_gain": gain},
    }
    del joined[path]["_gain"]
    assert list(changed_statistics(joined)) == []


def test_every_benchmark_has_a_version_of_its_scoring() -> None:
    versions = load_procedures()
    for card in registry.cards(registry.names()):
        # the embedded ones have the verdicts and metrics of any benchmark without an adapter
        assert f"scoring.{card.name}" in versions or card.group == "shapes", card.name
    assert scoring_label("official", "somebody's own") == scoring_label("official", "shapes_vqa")


def test_every_statistic_of_an_audit_has_a_version() -> None:
    statistics = {
        f"statistic.{family}.{indicator.name}"
        for indicator in all_indicators()
        for family in indicator.family_names
    }
    versions = load_procedures()
    assert statistics == {name for name in versions if name.startswith("statistic.")}
    assert {f"reader.{name}" for name in PARSERS} <= set(versions)
    assert {f"form.{task}" for task in REWRITERS} <= set(versions)


@pytest.mark.parametrize(
    ("before", "now", "same"),
    [
        (0.123456789, 0.1234567, True),
        (0.123456, 0.123457, False),
        ([1.0, "a"], [1, "a"], True),
        ({"x": 1e-12}, {"x": 0.0}, True),
        ({"x": 1.0}, {"x": 1.0, "y": None}, False),
        ("yes", "no", False),
        (1.0, None, False),
        ("0.123456789", "0.1234567", False),
    ],
)
def test_numbers_agree_to_six_digits(before: object, now: object, same: bool) -> None:
    assert agrees(json.dumps(before), json.dumps(now)) is same


def test_a_signature_has_the_version() -> None:
    version = load_procedures()["reader.strict"].version
    assert labelled("reader", "strict") == f"strict:{version}"
    assert labelled("reader", "somebody's own") == "somebody's own"


def test_the_changelog_names_each_raised_version_once_beside_that_of_the_last_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text("## [Unreleased]\n\n### Changed\n\n- A door.\n\n## [1]\n")
    monkeypatch.setattr(procedures, "CHANGELOG", changelog)
    write = procedures.write_changelog
    write({})
    assert "differ" not in changelog.read_text()
    names = [f"form.of_a_long_name_{i}" for i in range(9)]
    write(dict.fromkeys(names, (1, 2)))
    # somebody writes an entry above it
    heading = "### Changed\n\n"
    changelog.write_text(changelog.read_text().replace(heading, f"{heading}- A window.\n"))
    write({"constants.words": (1, 2)})
    write({names[4]: (2, 3), "statistic.a": (6, 7)})
    write({f"statistic.{letter}": (1, 2) for letter in "bcdefg"})
    write({"reader.strict": (7, 8), "statistic.b": (2, 3)})
    text = changelog.read_text()
    assert text.endswith("- A door.\n\n## [1]\n")
    assert max(map(len, text.splitlines())) <= 160
    (line,) = (bullet for bullet in text.split("- ") if bullet.startswith("Results may differ"))
    entries = " ".join(line.split()).partition(": ")[2].split("; ")
    expected = {f"`{name}` {3 if name == names[4] else 2} (was 1)" for name in names}
    expected |= {"`reader.strict` 8 (was 7)", "`statistic.a` 7 (was 6)", "most of `statistic.*`"}
    assert len(entries) == len(expected)
    assert set(entries) == expected
