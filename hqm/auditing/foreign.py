"""Where another tool's scores and ours differ, row by row, with the reason where it is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hqm.benchmark.interface import Benchmark
from hqm.benchmark.recorded import Recording
from hqm.types import Form, Item, Response, Verdict, finite

_CLOSE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """An answer that the tool scored otherwise than HQM."""

    item: str
    answer: str
    tool_score: float
    tool_read: str
    hqm_score: float | None
    hqm_read: str
    state: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreComparison:
    """The scores of one administration by the tool that recorded it and by HQM."""

    benchmark: str
    respondent: str
    form: str
    run: int
    scoring: str
    """HQM's scoring, and the reader of yes/no answers."""
    tool: str
    compared: int
    """Answers that carry the tool's score."""
    tool_mean: float | None
    hqm_mean: float | None
    """Over the answers that HQM scores."""
    hqm_scored: int
    differences: tuple[Difference, ...]

    @property
    def reasons(self) -> Mapping[str, int]:
        """Reason -> how many answers it explains, the most first."""
        return dict(Counter(difference.reason for difference in self.differences).most_common())

    def to_dict(self) -> dict[str, Any]:
        """The value as JSON prints it."""
        own = {name: getattr(self, name) for name in self.__slots__ if name != "differences"}
        rows = [{name: getattr(row, name) for name in row.__slots__} for row in self.differences]
        return {**own, "reasons": dict(self.reasons), "differences": rows}


def compare_scores(
    benchmark: Benchmark, forms: Mapping[str, Form], recordings: Iterable[Recording]
) -> list[ScoreComparison]:
    """Score recorded answers and set the tool's own scores beside; nothing for a benchmark that a
    model judges.
    """
    if benchmark.roles:
        return []
    compared = (_compared(benchmark, forms[recording.form], recording) for recording in recordings)
    return [comparison for comparison in compared if comparison is not None]


def _compared(benchmark: Benchmark, form: Form, recording: Recording) -> ScoreComparison | None:
    scored = [
        (form.by_id[key], answer, answer.detail["recorded"])
        for key, answer in recording.answers.items()
        if "score" in answer.detail.get("recorded", {})
    ]
    if not scored:
        return None
    theirs, ours, differences = [], [], []
    for item, answer, recorded in scored:
        verdict = benchmark.verdict(item, answer)
        theirs.append(float(recorded["score"]))
        if verdict.value is not None:
            ours.append(verdict.value)
        if verdict.value is None or abs(verdict.value - theirs[-1]) > _CLOSE:
            differences.append(_difference(item, answer, recorded, verdict))
    return ScoreComparison(
        benchmark=benchmark.name,
        respondent=recording.respondent,
        form=recording.form,
        run=recording.run,
        scoring=benchmark.scorer,
        tool=str(scored[0][2].get("tool", "")),
        compared=len(scored),
        tool_mean=finite(sum(theirs) / len(theirs)),
        hqm_mean=finite(sum(ours) / len(ours)) if ours else None,
        hqm_scored=len(ours),
        differences=tuple(differences),
    )


def _difference(
    item: Item, answer: Response, recorded: Mapping[str, Any], verdict: Verdict
) -> Difference:
    return Difference(
        item=item.id,
        answer=answer.text,
        tool_score=float(recorded["score"]),
        tool_read=str(recorded.get("read", "")),
        hqm_score=verdict.value,
        hqm_read=verdict.read,
        state=verdict.state,
        reason=_reason(str(recorded.get("read", "")), verdict),
    )


def _reason(read: str, verdict: Verdict) -> str:
    """Why the two scores differ, as far as the row shows it."""
    if verdict.value is None:
        return f"HQM leaves the answer out of the mean (its state is {verdict.state})"
    plain, ours = read.strip().lower(), verdict.read.strip().lower()
    if not plain or not ours:
        return "the row does not show what the tool read"
    if plain == ours:
        return "both read the same, so the tool holds it against another key or rule"
    if plain.rstrip(" .!,;:") == ours:
        return "the tool does not remove the punctuation behind the word"
    if ours in plain.replace(",", " ").replace(".", " ").split():
        return "the tool compares the whole answer, HQM reads the word in it"
    return "the two parsers read different words"
