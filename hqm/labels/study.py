"""A study in progress: its plan, what each row shows, the labels so far, and what comes next for
whom.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median

from hqm.benchmark.interface import Benchmark
from hqm.errors import HQMError, ImageError
from hqm.labels.order import Grouping, rater_order
from hqm.labels.plan import ADJUDICATION, LabelPlan, labels_path, read_plan
from hqm.labels.records import Label, LabelStore
from hqm.labels.schema import Schema, read_schema
from hqm.labels.shown import Shown, benchmark_of, read_facts, shown_rows

_LATEST = 20
"""From how many of the latest labels the time left is reckoned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a rater is."""

    done: int
    count: int
    seconds_left: float | None
    """What the rest will take, by the rater's own pace; None before the first label."""

    @property
    def time_left(self) -> str:
        """The time left in words.

        >>> [Progress(done=1, count=9, seconds_left=s).time_left for s in (20, 95, 900, 7300, None)]
        ['less than a minute left', 'about 2 minutes left', 'about 15 minutes left', 'about 2 hours left', '']
        """
        if self.seconds_left is None or self.done >= self.count:
            return ""
        minutes = self.seconds_left / 60
        if minutes < 1:
            return "less than a minute left"
        number, unit = (
            (round(minutes), "minute") if minutes < 100 else (round(minutes / 60), "hour")
        )
        return f"about {number} {unit}{'s' * (number != 1)} left"


class Study:
    """A plan with its labels, opened to be served or looked at.

    Parameters
    ----------
    path
        The plan's file.
    group
        `picture` shows the answers about one picture in a row.
    facts
        A file of facts that a decomposer made of the answers, for the schema `facts`.
    readonly
        Open the labels for reading only.

    Raises
    ------
    HQMError
        The plan, its benchmark, its store or its labels cannot be used.
    """

    def __init__(
        self,
        path: Path,
        *,
        group: Grouping = "none",
        facts: Path | None = None,
        readonly: bool = False,
    ) -> None:
        self.path, self.group = path, group
        self.plan: LabelPlan = read_plan(path)
        self.schema: Schema = read_schema(self.plan.schema, path.parent)
        self.benchmark: Benchmark = benchmark_of(self.plan)
        self._facts = read_facts(facts) if facts is not None else {}
        memory = readonly and not labels_path(path).is_file()
        self.labels = LabelStore(
            ":memory:" if memory else labels_path(path), readonly=readonly and not memory
        )
        self._orders: dict[str, tuple[str, ...]] = {}

    @cached_property
    def shown(self) -> Mapping[str, Shown]:
        """uid -> what its page shows."""
        return shown_rows(self.plan, self.schema, self.benchmark, self._facts)

    def order(self, rater: str) -> tuple[str, ...]:
        """The uids of a rater in the order in which they are shown."""
        if rater not in self._orders:
            uids = [row.uid for row in self.plan.rows_of(rater)]
            groups = {uid: self.shown[uid].group for uid in uids}
            self._orders[rater] = rater_order(
                uids, groups, seed=self.plan.seed, rater=rater, group=self.group
            )
        return self._orders[rater]

    def given(self, rater: str) -> dict[str, Label]:
        """uid -> a rater's own label that stands."""
        return {
            label.uid: label for label in self.labels.labels(rater) if label.by != "adjudication"
        }

    def waiting(self, rater: str, given: Mapping[str, Label]) -> list[str]:
        """What a rater has not labelled yet, in order."""
        return [uid for uid in self.order(rater) if uid not in given]

    def progress(self, rater: str, given: Mapping[str, Label]) -> Progress:
        """How far a rater is, and what the rest will take."""
        order = self.order(rater)
        done = sum(uid in given for uid in order)
        latest = [label.milliseconds for label in given.values() if label.milliseconds is not None][
            -_LATEST:
        ]
        left = median(latest) / 1000 * (len(order) - done) if latest else None
        return Progress(done=done, count=len(order), seconds_left=left)

    def said(self) -> dict[str, list[Label]]:
        """uid -> what its raters said, as it stands."""
        said: dict[str, list[Label]] = {}
        for label in self.labels.labels():
            if label.by != "adjudication" and label.uid in self.plan.by_uid:
                said.setdefault(label.uid, []).append(label)
        return said

    def adjudicated(self) -> dict[str, Label]:
        """uid -> the label that settles a disagreement."""
        return {
            label.uid: label
            for label in self.labels.labels(ADJUDICATION)
            if label.by == "adjudication"
        }

    def disagreements(self) -> list[str]:
        """The uids on which raters disagree, settled or not, in the order of the plan."""
        said = self.said()
        return [row.uid for row in self.plan.rows if disagree(said.get(row.uid, []))]

    def picture(self, uid: str) -> Path | None:
        """The file of a picture; None where there is none, or it cannot be used."""
        image = self.shown[uid].image
        if image is None:
            return None
        try:
            return self.benchmark.pictures.path(image)
        except (ImageError, HQMError):
            return None

    def close(self) -> None:
        self.labels.close()


def disagree(labels: list[Label]) -> bool:
    """Whether raters said different things of one answer; `cannot say` against a label is one."""
    return len({repr(label.label) for label in labels}) > 1
