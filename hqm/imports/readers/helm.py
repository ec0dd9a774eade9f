"""What HELM keeps of a run: `scenario_state.json`, a request and its completion an instance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hqm.errors import AnswerError
from hqm.imports.layouts import inner_cell
from hqm.imports.log_file import LogFile
from hqm.imports.row import Log, Row
from hqm.types import LETTERS, Response, State

SOURCE = "helm"
_STATE = "scenario_state"
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
    stem = file.path.parent.name if file.path.stem == _STATE else file.path.stem
    scenario = stem.partition(",model=")[0]
    model = str(inner_cell(file.document, "adapter_spec.model") or "")
    states = file.document["request_states"]
    originals = {_trial(state) for state in states if not _perturbation(state)}
    rows = []
    n_copies = 0
    for i, state in enumerate(states, 1):
        if _perturbation(state) == _UNCHANGED and _trial(state) in originals:
            n_copies += 1
        elif _perturbation(state) in ("", _UNCHANGED):
            rows.append(_row(state, scenario, model, f"{file.path}: request {i}"))
    notes = []
    if n_perturbed := len(states) - len(rows) - n_copies:
        notes.append(f"requests with a perturbed question, left out: {n_perturbed}")
    if n_copies:
        notes.append(f"copies of a question ({_UNCHANGED}), left out: {n_copies}")
    return Log(path=str(file.path), tool="HELM", rows=tuple(rows), notes=tuple(notes))


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
        question=str(instance["input"]["text"]),
        options=tuple(options),
        key=LETTERS[options.index(key)] if key in options else key,
        parts=(scenario,),
        run=_trial(state)[1],
        answer=Response(str(inner_cell(completion, "text") or ""), answer_state),
    )
