"""One judgement in a file, whatever its layout: what was judged, whose answer, who judged, and what
was said.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hqm.benchmark.replies import Replies
from hqm.types import ORIGINAL


@dataclass(frozen=True, slots=True)
class Heard:
    """What a judge said of one answer: raw replies role by role, or a mark that was read out of
    them already.
    """

    replies: Replies = field(default_factory=dict)
    mark: str | None = None
    """A verdict or a score as the file has it; empty where the file leaves it empty."""

    def to_dict(self) -> dict[str, Any]:
        """The value as the store keeps it."""
        said: dict[str, Any] = {role: list(texts) for role, texts in self.replies.items()}
        return {"replies": said} if self.mark is None else {"mark": self.mark}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Heard:
        return cls(
            {role: tuple(texts) for role, texts in data.get("replies", {}).items()},
            data.get("mark"),
        )

    def joined(self, other: Heard) -> Heard:
        """The replies of both, in their order."""
        roles = dict.fromkeys([*self.replies, *other.replies])
        return Heard(
            {role: (*self.replies.get(role, ()), *other.replies.get(role, ())) for role in roles}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRow:
    """One judgement in a file; whatever the file does not say is empty."""

    place: str
    heard: Heard
    ids: tuple[str, ...] = ()
    """Names of the question, the most telling first."""
    own_ids: bool = False
    """Whether the ids are the benchmark's own, so that the question may only confirm them."""
    image: str = ""
    question: str = ""
    parts: tuple[str, ...] = ()
    position: int | None = None
    """The number of the row among the benchmark's items, from 0, where the file has nothing but an
    order.
    """
    respondent: str = ""
    judge: str = ""
    asking: int | None = None
    """Which time the judge was asked, from the column `run`."""
    form: str = ORIGINAL
    run: int = 0
    """The run of the answers, from the column `answer_run`."""
    stem: str | None = None
    """What names the judge in place of the file's name, where the file is one of several parts of
    one result.
    """
    answer: str | None = None
    """The answer that was judged, where the row has it: it must be the answer that is audited."""


def as_number(mark: str) -> float | None:
    """A mark as a number; None for what is none.

    >>> as_number("4"), as_number("4.0"), as_number("nan"), as_number("good")
    (4.0, 4.0, None, None)
    """
    try:
        value = float(mark)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
