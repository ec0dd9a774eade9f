"""The catalogue of what HQM says: each row is asked for, told from the others, and compared whole."""

import ast
import re
from collections.abc import Iterator

import pytest

import hqm
from hqm.errors import HQMError
from tests.asserted import files_of_tests, words
from tests.messages import MESSAGES, fields_of, pattern_of, tells, text_of

ASKS = {"pattern_of", "tells", "text_of"}


def codes_of_tests() -> Iterator[str]:
    """The codes that tests ask for."""
    for source in files_of_tests().values():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ASKS:
                for argument in node.args:
                    if isinstance(argument, ast.Constant) and argument.value in MESSAGES:
                        yield argument.value


def test_every_row_is_provoked_by_a_test_that_asks_for_it() -> None:
    assert sorted(set(MESSAGES) - set(codes_of_tests())) == []


def test_a_row_is_taken_for_no_other() -> None:
    """Another row that fits the sentence is a shorter one: a part of it."""
    patterns = {code: re.compile(pattern_of(code)) for code in MESSAGES}
    for code in MESSAGES:
        details = {field: f"<{field}>" for field in fields_of(code)}
        text = text_of(code, **details)
        assert re.fullmatch(pattern_of(code, **details), text), code
        alike = [candidate for candidate, pattern in patterns.items() if pattern.fullmatch(text)]
        assert max(alike, key=lambda candidate: len(words(MESSAGES[candidate]))) == code
        assert [MESSAGES[candidate] for candidate in alike].count(MESSAGES[code]) == 1, (
            f"{code}: each text once"
        )


def test_a_detail_that_differs_is_seen() -> None:
    error = text_of("run.errors-left", errors=11)
    assert tells(error, "run.errors-left")
    assert tells(error, "run.errors-left", errors=11)
    assert not tells(error, "run.errors-left", errors=1)
    assert tells(error.replace(" again ", "\n    again "), "run.errors-left"), "a broken line"
    assert not tells(error.replace("errors;", "faults;"), "run.errors-left")
    assert tells(error, "run.errors-left", errors=re.compile(r"\d\d"))
    with pytest.raises(AssertionError, match="no field"):
        pattern_of("run.errors-left", fault=1)
    with pytest.raises(KeyError):
        text_of("run.errors-left")


def test_an_error_is_its_class_and_its_row() -> None:
    with pytest.raises(HQMError, match=pattern_of("name.unknown", kind="benchmark")) as raised:
        hqm.load("pop")
    assert tells(raised.value.message + ". " + raised.value.remedy, "name.unknown", given="pop")
