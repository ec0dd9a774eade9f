"""What HELM keeps of a run: `scenario_state.json`, a request and its completion an instance. Beside
it lie the scores, `per_instance_stats.json`, and the names, `run_spec.json` and `scenario.json`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any

from hqm.errors import AnswerError
from hqm.files.records import read_json
from hqm.imports.layouts import inner_cell
from hqm.imports.log_file import LogFile
from hqm.imports.row import NO_SCORES, Log, Row
from hqm.imports.score_cells import number
from hqm.types import LETTERS, Response, State

SOURCE = "helm"
_STATE = "scenario_state"
_NO_SCORE = re.compile(r"inference_|finish_reason|max_prob|prompt_truncated|bits_per")
"""The statistics of an instance that say how it was asked, and nothing of the answer."""
_UNCHANGED = "identity"
"""The perturbation that changes nothing: a run may have its requests beside the original ones."""


def is_log(file: LogFile) -> bool:
    """Whether a file holds the requests of a run."""
    return {"adapter_spec", "request_states"} <= file.document.keys()


def read_log(file: LogFile) -> Log:
    """The rows of a run; the file's name, or that of its folder, says which part was asked.

    Raises
    ------
    AnswerError
        Each option was a request of its own, so that no completion is an answer.
    """
    method = str(inner_cell(file.document, "adapter_spec.method") or "")
    if "separate" in method:
        raise AnswerError(
            f"each option is a request of its own ({method}), and no completion is an answer",
            location=str(file.path),
            remedy="Give the runs with the method multiple_choice_joint.",
        )
    # folders are called `mmlu:subject=virology,model=openai_gpt-4`
    is_run = file.path.stem == _STATE
    run = file.path.parent.name if is_run else file.path.stem
    task = run.partition(":")[0].partition(",model=")[0] if "model=" in run else ""
    scores: Mapping[tuple[str, int, str], Mapping[str, float]] = {}
    if is_run:
        run = str(inner_cell(_read_beside(file.path, "run_spec"), "name") or run)
        task = str(inner_cell(_read_beside(file.path, "scenario"), "name") or task)
        scores = _scores_of(_read_beside(file.path, "per_instance_stats"))
    scenario = run.partition(",model=")[0]
    model = str(inner_cell(file.document, "adapter_spec.model") or "")
    states = file.document["request_states"]
    originals = {_trial(state) for state in states if not _perturbation(state)}
    rows = []
    n_copies = 0
    for i, state in enumerate(states, 1):
        perturbation = _perturbation(state)
        if perturbation == _UNCHANGED and _trial(state) in originals:
            n_copies += 1
        elif perturbation in ("", _UNCHANGED):
            row = _row(state, scenario, model, f"{file.path}: request {i}")
            row_scores = scores.get((*_trial(state), perturbation), NO_SCORES)
            score = next(iter(row_scores.values()), None)
            rows.append(replace(row, task=task, scores=row_scores, score=score))
    notes = []
    if n_perturbed := len(states) - len(rows) - n_copies:
        notes.append(f"requests with a perturbed question, left out: {n_perturbed}")
    if n_copies:
        notes.append(f"copies of a question ({_UNCHANGED}), left out: {n_copies}")
    from hqm.imports.score_columns import is_lower_better

    names = chain.from_iterable(map(attrgetter("scores"), rows))
    return Log(
        path=str(file.path),
        tool="HELM",
        rows=tuple(rows),
        notes=tuple(notes),
        lower=frozenset(filter(is_lower_better, names)),
    )


def _read_beside(path: Path, name: str) -> Any:
    """What another file of the run holds; None where there is none."""
    file = path.with_name(f"{name}.json")
    return read_json(file) if file.is_file() else None


def _scores_of(records: object) -> Mapping[tuple[str, int, str], Mapping[str, float]]:
    """Instance, trial and perturbation -> its scores; each metric may have a record of its own."""
    from hqm.imports.score_columns import NO_SCORE

    scores: dict[tuple[str, int, str], dict[str, float]] = defaultdict(dict)
    for record in records if isinstance(records, list) else ():
        perturbation = str(inner_cell(record, "perturbation.name") or "")
        unit = (str(record["instance_id"]), int(record.get("train_trial_index") or 0), perturbation)
        for stat in record["stats"]:
            name = str(stat["name"]["name"])
            score = number(stat.get("mean", stat.get("sum")))
            if score is not None and not (_NO_SCORE.search(name) or NO_SCORE.search(name)):
                scores[unit][name] = score
    return scores


def _perturbation(state: Mapping[str, Any]) -> str:
    """What was done to the question for a measure of robustness, such as typos in it; HELM's own
    scores leave these requests out.
    """
    return str(inner_cell(state, "instance.perturbation.name") or "")


def _trial(state: Mapping[str, Any]) -> tuple[str, int]:
    """The instance that a request asks, and the trial."""
    return str(state["instance"]["id"]), int(state.get("train_trial_index") or 0)


def _row(state: Mapping[str, Any], scenario: str, model: str, location: str) -> Row:
    instance = state["instance"]
    # HELM maps the letters that it showed to the texts of the options.
    options = list(map(str, (state.get("output_mapping") or {}).values()))
    references = instance.get("references") or ()
    right_texts = [str(r["output"]["text"]) for r in references if "correct" in r["tags"]]
    # of several right references none alone is the key
    key = right_texts[0] if len(right_texts) == 1 else ""
    media: Any = inner_cell(instance, "input.multimedia_content.media_objects") or ()
    pictures = _locations(media, "image/")
    texts = [str(medium["text"]) for medium in media if medium.get("text")]
    completion = inner_cell(state, "result.completions.0") or {}
    # A choice is read from one token, so that every such completion ends at the limit.
    is_cut = inner_cell(completion, "finish_reason.reason") == "length" and not options
    has_failed = inner_cell(state, "result.success") is False
    answer_state: State = "ok"
    if has_failed:
        answer_state = "error"
    elif is_cut:
        answer_state = "truncated"
    return Row(
        place=location,
        respondent=model,
        ids=(f"{scenario}/{instance['id']}",),
        question=str(instance["input"].get("text") or "\n".join(texts)),
        image=next(iter(pictures), ""),
        pictures=pictures if len(pictures) > 1 else (),
        video=next(iter(_locations(media, "video/")), ""),
        options=tuple(options),
        key=LETTERS[options.index(key)] if key in options else key,
        parts=(scenario,),
        run=_trial(state)[1],
        answer=Response(str(inner_cell(completion, "text") or ""), answer_state),
    )


def _locations(media: Sequence[Mapping[str, Any]], content_type: str) -> tuple[str, ...]:
    """Where the media of a type lie, in their order."""
    return tuple(
        str(medium["location"])
        for medium in media
        if str(medium.get("content_type")).startswith(content_type) and medium.get("location")
    )
