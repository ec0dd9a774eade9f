"""Deny a yes/no question as a whole: "Is it false that ...?".

This replaces flipping (`hqm.forms.polar`) where a question joins two statements ("Does A flow north, while B flows south?"):
a "not" behind the first subject would deny only one of them, and the right answer might stay the same. When the question is
denied as a whole, the right answer always changes.
"""

from __future__ import annotations

import re

from hqm.errors import NoRule
from hqm.forms.polar import question_clause
from hqm.forms.rewrite import Rewrite
from hqm.forms.statement import as_statement


def is_compound(question: str) -> bool:
    """Whether a question joins two statements, so that denying the first would not deny both.

    >>> is_compound("Does A flow north, while B flows south?")
    True
    """
    return re.search(r", while\b", question) is not None


def deny(question: str) -> Rewrite:
    """The question denied as a whole.

    Raises
    ------
    NoRule
        It has no auxiliary to turn round, or the end of its subject cannot be found.

    Examples
    --------
    >>> deny("According to the map, does the river flow north, while the canal flows south?").prompt
    'According to the map, is it false that the river flows north, while the canal flows south?'
    """
    clause = question_clause(question)
    said = as_statement(question[: clause[-1].end], clause)
    if said is None:
        raise NoRule(question, "the end of its subject cannot be found")
    opens = "Is" if clause[0].text[0].isupper() and clause[0].start == 0 else "is"
    before, after = question[: clause[0].start], question[clause[-1].end :]
    return Rewrite(f"{before}{opens} it false that {said}{after}", "polar.false")
