"""What an audit looks at: one frozen value, gathered once from a benchmark, its store and files.

Both ways to it, by a rule or a judge and by people alone, gather the same fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from hqm.administration.asks import StoredRespondent
from hqm.auditing.disagreements import Example
from hqm.auditing.frames import ANSWERS, ITEMS, answer_rows, frame, item_rows
from hqm.auditing.score_differences import (
    ScoreComparison,
)
from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.analyses import Analysis
from hqm.benchmark.findings import Finding
from hqm.errors import UsageError
from hqm.labels.people_labels import (
    Labels,
    PooledLabels,
    StageEvidence,
    labels_matrix,
)
from hqm.scoring.matrix import ScoreMatrix
from hqm.scoring.metrics import Metric
from hqm.types import Cell, Form

if TYPE_CHECKING:
    import pandas as pd


def _no_picture(*names: str) -> str:
    return ""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """All that an audit of one benchmark looks at; `hqm.audit` needs nothing else.

    Parameters
    ----------
    benchmark
        What was administered.
    reference
        The administration that the others are compared with.
    forms
        Form's name -> form.
    respondents
        Who answered, in the order of the matrices' rows.
    matrices
        Administration -> the scored answers, by the rule or by a judge.
    labels
        People's labels on answers of the reference administration.
    oracles
        The reference administration as judges see it that come with the benchmark and need no
        model.
    families
        Every respondent's family.
    families_from_names
        Whether respondents are taken for relatives because of their names, not because a file says
        so.
    probabilities
        (respondents, items): the probability that an answer of the reference form is right; None
        where none was recorded.
    metrics
        The metrics to audit, the leading one first.
    findings
        All that `hqm check` finds: about card, items, labels and leaks, wordings, types, pictures.
    examples
        The items on which the reference and another administration disagree most, with what was
        said.
    margin
        The largest mean difference between two forms that does not matter, in score units, where
        one was declared.
    copies
        Picture -> the first name under which the same picture stands, where it stands under
        several.
    thumbnail
        Picture -> the picture, small, as a data URL; empty where there is none to show. Its file is
        read when it is asked for.
    """

    benchmark: Benchmark
    reference: Cell
    forms: Mapping[str, Form]
    respondents: tuple[StoredRespondent, ...]
    matrices: Mapping[Cell, ScoreMatrix]
    labels: Labels
    oracles: tuple[ScoreMatrix, ...]
    families: tuple[str, ...]
    families_from_names: bool
    probabilities: npt.NDArray[np.float64] | None
    metrics: tuple[Metric, ...]
    findings: tuple[Finding, ...]
    examples: tuple[Example, ...]
    margin: float | None = None
    tools: tuple[ScoreComparison, ...] = ()
    """Where the tools that recorded answers score them differently from HQM."""
    scored_by: str = ""
    """`recorded` where the matrices hold the tools' own scores, `people` where people's labels are
    the scores; empty where they hold the benchmark's."""
    samples: Mapping[str, PooledLabels] = field(default_factory=dict)
    """Judge -> the labels of its raters, pooled, with how the answers were chosen."""
    levels: tuple[str, ...] = ("model",)
    """Over what agreement with people is correlated: `model`, `answer`, `item`."""
    stages: tuple[StageEvidence, ...] = ()
    """Where people labelled single sub-sentences or facts: what the roles of each judge say of
    them.
    """
    copies: Mapping[str, str] = field(default_factory=dict)
    refused_parameters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Respondent -> the parameters that its server refused, and that were left out."""
    stopped: Mapping[str, object] = field(default_factory=dict)
    """Where a rule stopped the asking before all items (`hqm audit --until`), if one did."""
    reading: str = ""
    """What a model read that the reader left unread; empty without one."""
    analyses: tuple[Analysis, ...] = ()
    """The benchmark's own further tables, of the reference administration."""
    thumbnail: Callable[..., str] = field(default=_no_picture, repr=False, compare=False)

    @property
    def first(self) -> ScoreMatrix:
        """The scored answers of the reference administration."""
        return self.matrices[self.reference]

    def differing_in(self, facet: str) -> dict[Cell, ScoreMatrix]:
        """Return the administrations that differ from the reference in this facet alone."""
        return {
            cell: matrix
            for cell, matrix in self.matrices.items()
            if self.reference.differing(cell) == (facet,)
        }

    def to_frame(self, table: Literal["answers", "items"] = "answers") -> pd.DataFrame:
        """Return the evidence as a tidy pandas frame.

        Parameters
        ----------
        table
            `answers`: one row a respondent, administration and item, with the score (NaN where the
            answer was not scored) and the state. `items`: one row an item of the reference
            administration, with its mean score over the respondents and its correlation with the
            mean of the other items.
        """
        if table not in ("answers", "items"):
            raise UsageError(
                f"there is no table {table!r} of the evidence", remedy="It has answers and items."
            )
        name = self.benchmark.name
        if table == "items":
            return frame(item_rows(name, self.first), ITEMS)
        return frame(answer_rows(name, list(self.matrices.values())), ANSWERS)

    @cached_property
    def labelled(self) -> tuple[ScoreMatrix, ...]:
        """The reference administration as people and oracles see it."""
        return (
            *label_matrices(self.samples, self.first, self.forms[self.reference.form]),
            *self.oracles,
        )


def label_matrices(
    samples: Mapping[str, PooledLabels], first: ScoreMatrix, form: Form
) -> list[ScoreMatrix]:
    """The labels of one administration as score matrices: people's, and each other judge's."""
    return [
        labels_matrix(
            replace(first.cell, judge=judge),
            form,
            first.respondents,
            sample.judgements,
            sample.probabilities,
        )
        for judge, sample in samples.items()
    ]
