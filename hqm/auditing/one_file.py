"""Score one file of recorded answers without a store: by rule, or by the judges' recorded
replies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hqm.administration.stored_answers import form_named
from hqm.auditing.score_differences import ScoreComparison, compare_scores
from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.items import select_part
from hqm.benchmark.judge_api import refuse_empty, replay
from hqm.errors import AnswerError, HQMError, UsageError
from hqm.imports.detect import written_by_tool
from hqm.imports.intake import take_rows
from hqm.imports.log_answers import LogSettings, take_logs, takes_table
from hqm.imports.log_file import LogFile
from hqm.imports.match import check_options
from hqm.imports.recordings import (
    ItemAnswers,
    Recording,
    answers_to,
    other_keys_note,
    read_recordings,
)
from hqm.judges.procedure import verdicts
from hqm.scoring.matrix import MatrixBuilder, ScoreMatrix
from hqm.scoring.metrics import Metric
from hqm.signature import digest, digest_file, sign
from hqm.types import ORIGINAL, STATES, Cell, Form, Response, field_values, finite
from hqm.version import __version__

if TYPE_CHECKING:
    from hqm.benchmark.corrected_keys import CorrectedKey

_RESPONDENT = "answers"


@dataclass(frozen=True, slots=True)
class FileScore:
    """Every metric of one answer file, with how the answers came out and a signature."""

    benchmark: str
    part: str | None
    scoring: str
    parser: str | None
    n: int
    """Items that the file should answer."""
    unscored: int
    """Answers that could not be read, are errors, or are missing; a scorer may still count them as
    wrong.
    """
    metrics: Mapping[str, float | None]
    states: Mapping[str, int]
    signature: str
    mode: str | None = None
    """The judge procedure, where a release knows several."""
    withheld: int = 0
    """Answers that were withheld and are scored all the same, as the release does; the flag
    WITHHELD stands for it.
    """
    criterion: Mapping[str, float | None] = field(default_factory=dict)
    """How the verdicts follow people's labels, where labels were given."""
    recorded: Mapping[str, Any] = field(default_factory=dict)
    """The tool's own scores beside HQM's, where the file is a log that has them
    (`ScoreComparison.to_dict`).
    """
    by_part: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    """Part -> every metric over its items, where the answers are to several parts."""
    by_key: Mapping[str, Any] = field(default_factory=dict)
    """The same answers by a corrected key: `key`, `changed`, `left_out`, `n`, `metrics` and
    `by_part`.
    """
    notes: Sequence[str] = ()
    """What a reader must know of the file."""
    form: str = ORIGINAL
    """The form that the file answers."""

    @property
    def title(self) -> str:
        """The benchmark, the part and the form that the file answers."""
        title = f"{self.benchmark} {self.part or ''}".rstrip()
        if self.form == ORIGINAL:
            return title
        return f"{title}, form {self.form}"

    def to_dict(self) -> dict[str, object]:
        """The value as `hqm score --json` prints it."""
        return field_values(self)


def score_file(
    benchmark: Benchmark,
    answers: Path,
    part: str | None = None,
    *,
    form: str | None = None,
    judgements: Path | None = None,
    criterion: Path | None = None,
    partial: bool = False,
    key: CorrectedKey | None = None,
) -> FileScore:
    """Score a file in the benchmark's official answer format.

    Parameters
    ----------
    benchmark
        Loaded with the scoring, parser and mode wanted.
    answers
        The file.
    part
        The part it answers; where the benchmark can, it is read from the file.
    form
        The name of the form it answers: that which the file names, else the original.
    judgements
        The judges' recorded replies, for a benchmark that a model judges: in the release's own
        format, or in HQM's.
    criterion
        People's labels on these answers.
    partial
        Of a log of another tool, take the rows that match items and leave the others out.
    key
        A corrected key, by which the answers are scored a second time.

    Raises
    ------
    UsageError
        There is no such part; or the benchmark is judged and no replies are given.
    """
    read = _read(benchmark, answers, part, form, partial)
    answered = read.form
    responses = read.responses
    notes = list(read.notes)
    if criterion:
        from hqm.imports.human_labels import label_notes

        notes += label_notes(criterion)
    matrix = _matrix(
        benchmark,
        answered,
        list(map(responses.get, answered.by_id)),
        judgements,
        answers.stem,
        partial=partial,
    )
    counts = matrix.state_counts()[_RESPONDENT]
    reader = benchmark.parser.name if benchmark.reads else None
    signature = {
        "benchmark": benchmark.label,
        "part": part or "",
        "data": answered.digest,
        **({"form": answered.name} if answered.name != ORIGINAL else {}),
        "scorer": benchmark.scorer,
        "items": len(answered),
        "answers": digest_file(answers),
        **({"replies": digest_file(judgements)} if judgements else {}),
        "hqm": __version__,
    }
    metrics = matrix.applicable(benchmark.metrics)
    part_names = {item.part for item in answered.items}
    single_part = None
    if len(part_names) == 1:
        # Items of a benchmark without parts have the empty one.
        single_part = part_names.pop() or None
    return FileScore(
        benchmark=benchmark.name,
        part=single_part,
        form=answered.name,
        scoring=benchmark.scoring,
        parser=reader,
        n=len(answered),
        unscored=matrix.unscored(),
        states=_present_states(counts),
        signature=sign(signature),
        mode=benchmark.mode or None,
        # Written out, and not by `_printed_scores`: a score is five calls from the command line.
        metrics={m.name: finite(float(m.printed(matrix.units(m).sums)[0])) for m in metrics},
        by_part=_by_part(matrix, metrics),
        withheld=int(matrix.withheld.sum()),
        criterion=(
            _compare_with_labels(benchmark, matrix, answered, criterion, answers.stem)
            if criterion
            else {}
        ),
        recorded=read.comparisons[0].to_dict() if read.comparisons else {},
        by_key=_by_key(benchmark, answered, responses, key) if key else {},
        notes=notes,
    )


def _present_states(counts: Mapping[str, int]) -> dict[str, int]:
    """State -> number of answers, in the order of all states, without those that do not occur."""
    return {state: counts[state] for state in STATES if counts.get(state)}


def _printed_scores(
    matrix: ScoreMatrix, metrics: Sequence[Metric], among: npt.NDArray[np.bool_] | None = None
) -> dict[str, float | None]:
    """Metric -> the score of the only respondent, as the release prints it."""
    return {m.name: finite(float(m.printed(matrix.units(m, among).sums)[0])) for m in metrics}


def _by_part(matrix: ScoreMatrix, metrics: Sequence[Metric]) -> dict[str, dict[str, float | None]]:
    """Every metric over the items of each part, in the order of the items."""
    item_parts = np.array([item.part for item in matrix.items])
    parts = list(dict.fromkeys(item_parts.tolist()))
    if len(parts) < 2:
        return {}
    # A metric of a subset looks at its subset alone, and not at a part.
    metrics = [metric for metric in metrics if not metric.subset]
    return {part: _printed_scores(matrix, metrics, item_parts == part) for part in parts}


def _by_key(
    benchmark: Benchmark, form: Form, responses: Mapping[str, Response], key: CorrectedKey
) -> dict[str, object]:
    """Every metric by a corrected key."""
    corrected = key.applied(form, benchmark.original)
    matrix = _matrix(benchmark, corrected, list(map(responses.get, corrected.by_id)), None)
    metrics = matrix.applicable(benchmark.metrics)
    return {
        "key": key.path,
        "changed": sum(item_id in form.by_id for item_id in key.changed),
        "left_out": len(form) - len(corrected),
        "n": len(corrected),
        "metrics": _printed_scores(matrix, metrics),
        "by_part": _by_part(matrix, metrics),
    }


@dataclass(frozen=True, slots=True)
class _FileAnswers:
    """The answers of a file, and the form or the parts of it that they are to."""

    form: Form
    responses: Mapping[str, Response]
    comparisons: Sequence[ScoreComparison] = ()
    """The tool's scores beside ours."""
    notes: Sequence[str] = ()


def _read(
    benchmark: Benchmark, path: Path, part_name: str | None, form_name: str | None, partial: bool
) -> _FileAnswers:
    """The answers of a file, read by the first format that it fits."""
    # A plain table may be the release's own format, which its reader knows better.
    if written_by_tool(path, tables=False) or takes_table(benchmark, path):
        form = form_named(benchmark, form_name or ORIGINAL)
        return _read_log(benchmark, form, part_name, path, partial)
    fields = _first_fields(path)
    recording = _read_recording(benchmark, path, form_name, fields)
    if recording is not None:
        form = form_named(benchmark, recording.form)
        if part_name is not None:
            form = select_part(form, part_name, benchmark.name)
        responses: Mapping[str, Response] = answers_to(form, recording)
        n_other = recording.other_keys
        notes = list(recording.notes)
        if not responses:
            raise AnswerError(
                f"it answers no question of {part_name or form.name}", location=str(path)
            )
    else:
        form = form_named(benchmark, form_name or ORIGINAL)
        if part_name is not None:
            form = select_part(form, part_name, benchmark.name)
        form, responses = benchmark.read_answers(path, form)
        n_other = 0
        notes = []
        if isinstance(responses, ItemAnswers):
            n_other = responses.other_keys
            notes = list(responses.notes)
    # Letters among fewer options than these are answers to another form, which --form or the rows
    # would name.
    if form_name is None and "form" not in fields:
        check_options(benchmark, responses, form, str(path))
    if n_other:
        notes.append(other_keys_note(path, n_other, len(responses)))
    return _FileAnswers(form, responses, notes=notes)


def _read_recording(
    benchmark: Benchmark, path: Path, form_name: str | None, fields: AbstractSet[str]
) -> Recording | None:
    """The administration of a file that says which form it answers, in the release's format or in
    HQM's; None of any other file.
    """
    recordings = [
        recording for recording in benchmark.recordings(path) or () if recording.form != ORIGINAL
    ]
    # HQM's own format names the item so
    if not recordings and "item" in fields:
        recordings = list(_own_recordings(benchmark, path, form_name or ORIGINAL))
    if not recordings:
        return None
    if form_name and recordings[0].form != form_name:
        raise AnswerError(
            f"it answers the form {recordings[0].form!r}, and --form names {form_name!r}",
            location=str(path),
            remedy="Leave out --form, or name the form that was answered.",
        )
    return _only(recordings, benchmark, path)


def _first_fields(path: Path) -> AbstractSet[str]:
    """The fields of the first record of a file; none of a file without records."""
    try:
        return LogFile(path).first_names if path.is_file() else frozenset()
    except HQMError:
        return frozenset()


def _own_recordings(benchmark: Benchmark, path: Path, form_name: str) -> Sequence[Recording]:
    """The administrations of a file in HQM's format; none where only the release's reader takes
    it.
    """
    names = {str(record.get("form") or form_name) for record in take_rows(path).records}
    forms = {name: form_named(benchmark, name) for name in sorted({form_name, *names})}
    try:
        recordings = read_recordings(
            path, {ORIGINAL: forms[form_name], **forms}, benchmark.spelled, benchmark.name
        )
    except HQMError:
        # A file of the release may look like ours and break our rules: its own reader is asked
        # then.
        if benchmark.has_own_answer_files:
            return ()
        raise
    return [
        replace(recording, form=form_name) if recording.form not in names else recording
        for recording in recordings
    ]


def _only(recordings: Sequence[Recording], benchmark: Benchmark, path: Path) -> Recording:
    """The one administration of a file."""
    if len(recordings) != 1:
        cells = [
            f"{r.respondent}, form {r.form}, run {r.run}: {len(r.answers)} answers"
            for r in recordings[:3]
        ]
        names = "; ".join(cells)
        if len(recordings) > len(cells):
            names += "; ..."
        raise AnswerError(
            f"the file holds {len(recordings)} administrations ({names}), and one is scored",
            location=str(path),
            remedy=f"Audit all of them with `hqm audit {benchmark.name} --recorded FILE`.",
        )
    return recordings[0]


def _read_log(
    benchmark: Benchmark, form: Form, part_name: str | None, path: Path, partial: bool
) -> _FileAnswers:
    """The answers of a log, the parts of the form that it answers, and the tool's scores beside
    ours.
    """
    settings = LogSettings(partial=partial, benchmark=benchmark.name)
    import_result = take_logs({ORIGINAL: form}, [path], settings, benchmark.spelled)
    recording = _only(import_result.recordings, benchmark, path)
    if part_name is not None:
        form = select_part(form, part_name, benchmark.name)
    responses = {key: answer for key, answer in recording.answers.items() if key in form.by_id}
    # A log of one part is scored over that part: the others are not missing from it.
    parts = {form.by_id[key].part for key in responses}
    form = form.select_part(*parts)
    recording = replace(recording, form=form.name, answers=responses)
    return _FileAnswers(
        form,
        responses,
        compare_scores(benchmark, {form.name: form}, [recording]),
        import_result.other_keys,
    )


def _matrix(
    benchmark: Benchmark,
    form: Form,
    row: Sequence[Response | None],
    judgements: Path | None,
    name: str = _RESPONDENT,
    *,
    partial: bool = False,
) -> ScoreMatrix:
    builder = MatrixBuilder(
        Cell(), form, benchmark.verdict, benchmark.subsets, benchmark.groupings, benchmark.relate
    )
    if not benchmark.roles:
        if judgements is not None:
            raise UsageError(
                f"{benchmark.name} is scored by rule, not by a judge",
                remedy="Leave out --judgements.",
            )
        builder.add(_RESPONDENT, row)
        return builder.build()
    if judgements is None:
        rule_hint = " or --set mode=rule" if "rule" in benchmark.modes else ""
        raise UsageError(
            f"the answers to {benchmark.name} are judged by a model",
            remedy=(
                f"Give the judge's recorded replies with --judgements{rule_hint}; or ask one: `hqm"
                f" audit {benchmark.name} --judge NAME`."
            ),
        )
    # Loaded where judgements are read, since `hqm score` loads few modules.
    from hqm.judges.judgements import JudgementSource, has_marks, import_judgements

    if has_marks(judgements):
        from hqm.judges.file_judge import file_judges

        # A judgement may carry the words that it is about; it is refused for other words.
        texts = {
            item.id: answer.text
            for item, answer in zip(form.items, row, strict=True)
            if answer is not None
        }
        source = JudgementSource(judgements, judge="judge")
        imported = import_judgements(
            benchmark,
            {form.name: form},
            [source],
            [name],
            lambda *key: texts.get(key[3]),
            partial=partial,
        )
        (judge,) = file_judges(benchmark, imported.sets)
        if len(judge.askings()) > 1:
            raise AnswerError(
                f"it holds {len(judge.askings())} judgements of an answer, and one is scored",
                location=str(judgements),
                remedy="Audit them: `hqm audit NAME --judgements FILE`.",
            )
        builder.add_verdicts(
            _RESPONDENT, row, judge.verdicts(Cell(judge="judge"), form, {name: row})[name]
        )
        return builder.build()
    replies = benchmark.read_replies(judgements, form)
    # What a release makes of an empty reply is asked for with what it makes of an empty answer.
    wrap = refuse_empty if benchmark.withheld == "unscored" else lambda ask: ask
    judged = verdicts(
        benchmark, form, {_RESPONDENT: row}, lambda item: wrap(replay(replies.get(item.id, {})))
    )
    builder.add_verdicts(_RESPONDENT, row, judged[_RESPONDENT])
    return builder.build()


def _compare_with_labels(
    benchmark: Benchmark, matrix: ScoreMatrix, form: Form, path: Path, name: str
) -> dict[str, float | None]:
    """The verdicts beside people's labels, on the answers that carry both."""
    from hqm.imports.human_labels import HUMAN
    from hqm.labels.people_labels import Labels, pool_labels
    from hqm.psychometrics import item_agreement, pearson

    judgements = tuple(benchmark.read_criterion(path, form, None))
    pooled = pool_labels(Labels(judgements), HUMAN)
    labels = {
        judgement.item: judgement.label
        for judgement in pooled.judgements
        if judgement.respondent in ("", name)
    }
    if not labels:
        raise AnswerError(
            f"it holds no label for {name!r}",
            location=str(path),
            remedy="Name the answer file as the respondent is called.",
        )
    # An item without a label is NaN.
    human = np.array(list(map(labels.get, form.by_id)), dtype=float)
    # Answers that were not scored are labelled, but cannot be compared.
    labelled = np.isfinite(human)
    compared = labelled & np.isfinite(matrix.values[0])
    values: dict[str, float | None] = {
        "labelled": float(labelled.sum()),
        "compared": float(compared.sum()),
    }
    values["faithful"] = finite(float(human[labelled].mean())) if labelled.any() else None
    scores = matrix.values[0][compared]
    label_values = human[compared]
    values["correlation"] = finite(pearson(scores, label_values).value)
    # Kappa needs categories: graded scores or labels have none.
    if np.isin(scores, (0, 1)).all() and np.isin(label_values, (0, 1)).all():
        agreement = item_agreement(scores[None], label_values[None])
        values |= {"agreement": finite(agreement.mean), "kappa": finite(agreement.mean_kappa)}
    return values


def score_group(
    name: str, benchmarks: Sequence[Benchmark], answers: Path, *, judgements: Path | None = None
) -> FileScore:
    """Score one answer file by all benchmarks of a group, and by the metrics that need them
    together.

    A member of whose questions the file answers none is left out. Metrics carry their benchmark in
    front (`amber_d.accuracy`).
    """
    scores = []
    for benchmark in benchmarks:
        score = score_file(benchmark, answers, judgements=judgements if benchmark.roles else None)
        # Each member reads the file by itself: where it answers none, all are missing.
        if score.states.get("missing", 0) < score.n:
            scores.append(score)
    if not scores:
        raise AnswerError(f"it answers no question of {name}", location=str(answers))
    metrics_by_benchmark = {}
    metrics: dict[str, float | None] = {}
    state_counts: Counter[str] = Counter()
    for score in scores:
        metrics_by_benchmark[score.benchmark] = score.metrics
        state_counts.update(score.states)
        for metric, value in score.metrics.items():
            metrics[f"{score.benchmark}.{metric}"] = value
    for benchmark in benchmarks:
        metrics.update(benchmark.group_metrics(metrics_by_benchmark))
    sizes = [(score.n, score.unscored, score.withheld) for score in scores]
    n, n_unscored, n_withheld = np.sum(sizes, axis=0).tolist()
    return FileScore(
        benchmark=name,
        part=None,
        scoring=scores[0].scoring,
        parser=next((score.parser for score in scores if score.parser), None),
        n=n,
        unscored=n_unscored,
        withheld=n_withheld,
        metrics=metrics,
        states=_present_states(state_counts),
        signature=sign(
            {
                "group": name,
                "members": "+".join(metrics_by_benchmark),
                "signatures": digest([score.signature for score in scores]),
                "hqm": __version__,
            }
        ),
    )
