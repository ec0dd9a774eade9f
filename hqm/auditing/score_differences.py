"""Scores that other tools recorded with answers, as a scoring and beside HQM's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress, product
from typing import TYPE_CHECKING, Any, TypedDict

from hqm.benchmark.adapter import Benchmark
from hqm.errors import DesignError
from hqm.imports.recordings import Recording
from hqm.scoring.matrix import MatrixBuilder, ScoreMatrix
from hqm.signature import digest, digest_all
from hqm.types import Cell, Count, Form, Item, Number, Response, Score, Verdict, finite

if TYPE_CHECKING:
    from hqm.administration.asks import StoredRespondent
    from hqm.administration.stored_answers import Answers

# ----------------------------------------------------------------------
# Where another tool's scores and ours differ, row by row, with the reason where it is known.
# ----------------------------------------------------------------------

_CLOSE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """An answer that the tool and HQM score differently."""

    item: str
    answer: str
    tool_score: Score
    tool_read: str
    hqm_score: Number
    hqm_read: str
    state: str
    reason: str

    def to_dict(self) -> DifferenceRow:
        """The value as JSON prints it."""
        return {
            "item": self.item,
            "answer": self.answer,
            "tool_score": self.tool_score,
            "tool_read": self.tool_read,
            "hqm_score": self.hqm_score,
            "hqm_read": self.hqm_read,
            "state": self.state,
            "reason": self.reason,
        }


class DifferenceRow(TypedDict):
    """An answer that a tool and HQM score differently (`Difference`)."""

    item: str
    answer: str
    tool_score: float
    tool_read: str
    hqm_score: float | None
    hqm_read: str
    state: str
    reason: str


class ToolRow(TypedDict):
    """How a tool scored the answers of one administration (`ScoreComparison.to_dict`)."""

    benchmark: str
    respondent: str
    form: str
    run: int
    scoring: str
    tool: str
    compared: int
    tool_mean: float | None
    hqm_mean: float | None
    hqm_scored: int
    reasons: Mapping[str, int]
    differences: list[DifferenceRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreComparison:
    """The scores of one administration by the tool that recorded it and by HQM."""

    benchmark: str
    respondent: str
    form: str
    run: Count
    scoring: str
    """HQM's scoring, and the reader of yes/no answers."""
    tool: str
    compared: Count
    """Answers that carry the tool's score."""
    tool_mean: Number
    hqm_mean: Number
    """Over the answers that HQM scores."""
    hqm_scored: Count
    differences: tuple[Difference, ...]

    @property
    def reasons(self) -> Mapping[str, int]:
        """Reason -> how many answers it explains, the most first."""
        counts = Counter(difference.reason for difference in self.differences)
        return dict(counts.most_common())

    def to_dict(self) -> ToolRow:
        """The value as JSON prints it."""
        # The differences stand behind their reasons.
        return {
            "benchmark": self.benchmark,
            "respondent": self.respondent,
            "form": self.form,
            "run": self.run,
            "scoring": self.scoring,
            "tool": self.tool,
            "compared": self.compared,
            "tool_mean": self.tool_mean,
            "hqm_mean": self.hqm_mean,
            "hqm_scored": self.hqm_scored,
            "reasons": self.reasons,
            "differences": list(map(Difference.to_dict, self.differences)),
        }


def compare_scores(
    benchmark: Benchmark, forms: Mapping[str, Form], recordings: Iterable[Recording]
) -> list[ScoreComparison]:
    """Compare the tool's scores of recorded answers with HQM's; skip benchmarks that a model
    judges.
    """
    if benchmark.roles:
        return []
    comparisons = [_compare(benchmark, forms[r.form], r) for r in recordings]
    return list(filter(None, comparisons))


def _compare(benchmark: Benchmark, form: Form, recording: Recording) -> ScoreComparison | None:
    scored = [
        (form.by_id[key], answer, answer.detail["recorded"])
        for key, answer in recording.answers.items()
        if "score" in answer.detail.get("recorded", {})
    ]
    # HQM has no score of its own where a file has scores and no answers, or no right answers
    has_rule = not benchmark.tool_scored
    if not any(answer.text and (has_rule or item.target) for item, answer, _ in scored):
        return None
    tool_scores = []
    hqm_scores = []
    differences = []
    for item, answer, recorded in scored:
        verdict = benchmark.verdict(item, answer)
        tool_scores.append(float(recorded["score"]))
        if verdict.value is not None:
            hqm_scores.append(verdict.value)
        # An answer that HQM leaves unscored is a difference too, whatever the tool made of it.
        # Floats of two tools agree to rounding.
        if verdict.value is None or abs(verdict.value - tool_scores[-1]) > _CLOSE:
            read = str(recorded.get("read", ""))
            differences.append(
                Difference(
                    item=item.id,
                    answer=answer.text,
                    tool_score=tool_scores[-1],
                    tool_read=read,
                    hqm_score=verdict.value,
                    hqm_read=verdict.read,
                    state=verdict.state,
                    reason=_reason(read, verdict),
                )
            )
    return ScoreComparison(
        benchmark=benchmark.name,
        respondent=recording.respondent,
        form=recording.form,
        run=recording.run,
        scoring=benchmark.scorer,
        tool=str(scored[0][2].get("tool", "")),
        compared=len(scored),
        tool_mean=finite(sum(tool_scores) / len(tool_scores)),
        hqm_mean=finite(sum(hqm_scores) / len(hqm_scores)) if hqm_scores else None,
        hqm_scored=len(hqm_scores),
        differences=tuple(differences),
    )


def _reason(read: str, verdict: Verdict) -> str:
    """Return why the two scores differ, as far as the row shows it."""
    if verdict.value is None:
        return f"HQM leaves the answer out of the mean (its state is {verdict.state})"
    # The first reason that fits is given, the surest one first.
    tool_word = read.strip().lower()
    hqm_word = verdict.read.strip().lower()
    if not tool_word or not hqm_word:
        return "the row does not show what the tool read"
    if tool_word == hqm_word:
        return "both read the same, so the tool compares it with another key or by another rule"
    if tool_word.rstrip(" .!,;:") == hqm_word:
        return "the tool does not remove the punctuation behind the word"
    if hqm_word in tool_word.replace(",", " ").replace(".", " ").split():
        return "the tool compares the whole answer, HQM reads the word in it"
    return "the two parsers read different words"


RECORDED = "recorded"
"""The scoring of the tool that recorded the answers, and the key under which an answer keeps it."""


def tool_matrices(
    benchmark: Benchmark,
    answers: Answers,
    cells: Sequence[Cell],
    forms: Mapping[str, Form],
    respondents: Sequence[StoredRespondent],
) -> dict[Cell, ScoreMatrix]:
    """Build a score matrix from the tools' own scores, for every administration that has any.

    Raises
    ------
    DesignError
        A model judges the benchmark, or no answer carries a tool's score.
    """
    if benchmark.roles:
        raise DesignError(
            f"{benchmark.name} is judged by a model, so a tool's scores are judgements",
            remedy="Bring them with `hqm audit NAME --judgements FILE`.",
        )
    matrices = {}
    for cell in cells:
        form = forms[cell.form]
        for judge in _judges(benchmark, answers, cell, form, respondents):
            by_judge = replace(cell, judge=judge or cell.judge)
            matrices[by_judge] = _matrix(benchmark, answers, by_judge, form, respondents, judge)
    # An administration that no tool scored would be a matrix without a number.
    scored = {cell: m for cell, m in matrices.items() if m.unscored() < m.values.size}
    if not scored:
        raise DesignError(
            f"no stored answer to {benchmark.name} carries a tool's score",
            remedy=(
                "Bring the logs of the tool with `hqm import LOG --benchmark NAME --store FILE`;"
                " their scores are kept with the answers."
            ),
        )
    return scored


def _judges(
    benchmark: Benchmark,
    answers: Answers,
    cell: Cell,
    form: Form,
    respondents: Sequence[StoredRespondent],
) -> list[str]:
    """Return who scored the answers of an administration; empty for the tool itself."""
    if not benchmark.tool_scored:
        return [""]
    names: dict[str, None] = {}
    for respondent in respondents:
        for detail in answers.details(benchmark, form, respondent, cell.run):
            names.update(dict.fromkeys(detail.get("scores", ())))
    return list(names) or [""]


def _matrix(
    benchmark: Benchmark,
    answers: Answers,
    cell: Cell,
    form: Form,
    respondents: Sequence[StoredRespondent],
    judge: str,
) -> ScoreMatrix:
    builder = MatrixBuilder(
        cell, form, benchmark.verdict, benchmark.subsets, benchmark.groupings, benchmark.relate
    )
    hashes = []
    for respondent in respondents:
        stored = answers.with_resolution(cell.resolution)
        row = stored.responses(benchmark, form, respondent, cell.run)
        details = stored.details(benchmark, form, respondent, cell.run)
        if benchmark.tool_scored:
            verdicts = [_by_scores(benchmark, judge, detail) for detail in details]
        else:
            records = map(_recorded, details)
            answered = zip(form.items, row, records, strict=True)
            verdicts = [_verdict(benchmark, *item_answer_record) for item_answer_record in answered]
        builder.add_verdicts(respondent.name, row, verdicts)
        # Of the scores and not of the answers: other scores of the same answers have another
        # signature. `repr` keeps every digit.
        hashes.append(digest([None if v.value is None else repr(v.value) for v in verdicts]))
    return builder.build(digest_all(hashes))


def _recorded(detail: Mapping[str, object]) -> Mapping[str, object]:
    recorded = detail.get(RECORDED)
    if isinstance(recorded, Mapping):
        return recorded
    return {}


def _by_scores(benchmark: Benchmark, judge: str, detail: Mapping[str, Any]) -> Verdict:
    scores = detail.get("scores", {}).get(judge, {})
    return benchmark.verdict_of_scores(scores, str(_recorded(detail).get("read", "")))


def _verdict(
    benchmark: Benchmark, item: Item, answer: Response | None, recorded: Mapping[str, object]
) -> Verdict:
    score = recorded.get("score")
    if answer is None or not isinstance(score, (int, float)):
        return Verdict.unscored("missing", "no tool recorded a score of this answer")
    # A score on another scale cannot be mapped to shares: its ends are not known.
    if not 0 <= score <= 1:
        return Verdict.unscored(
            "unparsed", f"the tool's score is {score:g}, which is not a share of right answers"
        )
    # The judges' modules are loaded only where a tool's scores are read.
    from hqm.judges.file_judge import verdict_of_share

    return verdict_of_share(benchmark, item, float(score), str(recorded.get("read", "")))


def tool_comparisons(
    benchmark: Benchmark,
    answers: Answers,
    cells: Sequence[Cell],
    forms: Mapping[str, Form],
    respondents: Sequence[StoredRespondent],
) -> tuple[ScoreComparison, ...]:
    """Compare the tools' scores with HQM's, wherever a tool recorded any."""
    recordings = []
    # Only recorded answers can carry a tool's score, and a look at every detail of a large store
    # takes long.
    administrations = dict.fromkeys((c.form, c.run) for c in cells if not c.resolution)
    for respondent, (form_name, run) in product(respondents, administrations):
        if respondent.live:
            continue
        form = forms[form_name]
        details = answers.details(benchmark, form, respondent, run)
        has_score = ["score" in _recorded(detail) for detail in details]
        if not any(has_score):
            continue
        row = answers.responses(benchmark, form, respondent, run)
        rows = compress(zip(form.items, row, details, strict=True), has_score)
        recorded = {i.id: r._replace(detail=detail) for i, r, detail in rows if r is not None}
        if recorded:
            # Rows that no answer stands behind are no comparison.
            recordings.append(Recording(respondent.name, form_name, run, recorded))
    return tuple(compare_scores(benchmark, forms, recordings))
