"""Who plays the roles of a judge procedure: one model for all of them, or others for some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hqm.benchmark.asking import ROLES
from hqm.errors import UsageError
from hqm.respondents.base import Respondent

AGAIN = "#"
"""Stands between a panel's name and the number of its asking in a cell: `openai/gpt-4o#1` was asked
a second time.
"""


@dataclass(frozen=True)
class Panel:
    """The models that play the roles.

    Its label is what a cell calls the judge: `openai/gpt-4o+verifier=hf/llava-hf/llava-1.5-7b-hf`.
    """

    main: Respondent
    others: Mapping[str, Respondent] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return self.main.name + "".join(
            f"+{role}={respondent.name}" for role, respondent in sorted(self.others.items())
        )

    def of(self, role: str) -> Respondent:
        """Who plays a role.

        Raises
        ------
        UsageError
            There is no such role.
        """
        if role not in ROLES:
            raise UsageError(
                f"there is no role {role!r}",
                remedy=f"The roles are {', '.join(ROLES)}.",
                given=role,
                known=ROLES,
            )
        return self.others.get(role, self.main)


def named(label: str, asking: int) -> str:
    """A judge's name in a cell.

    >>> named("openai/gpt-4o", 0), named("openai/gpt-4o", 1)
    ('openai/gpt-4o', 'openai/gpt-4o#1')
    """
    return f"{label}{AGAIN}{asking}" if asking else label


def parse_judge(name: str) -> tuple[str, int]:
    """A judge's label and the number of its asking, from its name in a cell.

    >>> parse_judge("rule"), parse_judge("openai/gpt-4o#1")
    (('rule', 0), ('openai/gpt-4o', 1))
    """
    label, _, asking = name.rpartition(AGAIN)
    return (label, int(asking)) if label and asking.isdecimal() else (name, 0)


def parse_roles(texts: Sequence[str]) -> dict[str, str]:
    """Read `--role ROLE=NAME` options.

    >>> parse_roles(["verifier=hf/some/model@main"])
    {'verifier': 'hf/some/model@main'}
    """
    roles = {}
    for text in texts:
        role, equals, name = text.partition("=")
        if not equals or role not in ROLES:
            raise UsageError(
                f"--role {text!r} names no role",
                remedy=f"Write ROLE=NAME; the roles are {', '.join(ROLES)}.",
            )
        roles[role] = name
    return roles
