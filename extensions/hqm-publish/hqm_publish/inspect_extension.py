"""HQM inside inspect: its benchmarks as tasks, graders side by side, and a report after a run.

inspect finds this module by its entry point of the group `inspect_ai`:

    inspect eval hqm/benchmark -T name=pope -T form=parallel -T seed=1 --model openai/<model>
    inspect score LOG --scorer hqm/grader -S model=openai/<model> --action append
    HQM_REPORT=out inspect eval any_task.py --model openai/<model>
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Sequence

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.hooks import Hooks, RunEnd, hooks
from inspect_ai.model import ChatMessageUser, ContentImage, ContentText, GenerateConfig, Model
from inspect_ai.scorer import Score, Scorer, Target, accuracy, mean, model_graded_qa, scorer, stderr
from inspect_ai.solver import TaskState, generate

from hqm.administration.stored_answers import form_named
from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.registry import load
from hqm.types import Form, Item, Response
from hqm_publish.handoff import asked_row, picture_path

REPORT = "HQM_REPORT"
POLICY = "HQM_POLICY"
"""The variables of the environment that name the folder of the report, and the policy."""


@task
def benchmark(
    name: str,
    form: str = "original",
    epochs: int = 1,
    seed: int | None = None,
    graders: str | Sequence[str] = (),
) -> Task:
    """Ask a benchmark that HQM knows, in one of its forms.

    Parameters
    ----------
    name
        A name, a folder with a card.toml, or a Python file.
    form
        `original`, `parallel`, `parallel2`, or a form of the benchmark's own.
    epochs, seed
        How often each question is asked, and the seed of the model's draws.
    graders
        Models that judge each answer beside one another; HQM's own scoring unless given.
    """
    loaded = load(name)
    asked_form = form_named(loaded, form)
    loaded.prepare_images(loaded.original)
    samples = [_sample(loaded, item, asked_form) for item in asked_form.items]
    # The command line of inspect gives a text with commas, and Python a list.
    models = graders.split(",") if isinstance(graders, str) else graders
    config = loaded.card.generation
    return Task(
        name=loaded.name,
        dataset=MemoryDataset(samples, name=loaded.name),
        solver=generate(),
        scorer=[grader(model) for model in models if model] or verdict(name, form),
        epochs=epochs,
        config=GenerateConfig(
            max_tokens=config.max_tokens,
            temperature=config.temperature,
            top_p=config.top_p,
            seed=seed,
        ),
    )


def _sample(loaded: Benchmark, item: Item, form: Form) -> Sample:
    row = asked_row(loaded, item, form)
    content: list[ContentImage | ContentText] = [ContentText(text=row["prompt"])]
    if item.image:
        content.insert(0, ContentImage(image=str(picture_path(loaded, item.image))))
    metadata = {"item": item.id, "form": form.name, "image": item.image or "", "type": row["type"]}
    return Sample(
        id=item.id,
        input=[ChatMessageUser(content=content)],
        target=row["target"],
        metadata=metadata,
    )


@scorer(metrics=[mean(), stderr()])
def verdict(name: str, form: str = "original") -> Scorer:
    """Score answers as HQM scores the benchmark; what cannot be read has no score."""
    loaded = load(name)
    items = form_named(loaded, form).by_id

    async def score(state: TaskState, target: Target) -> Score:
        text = state.output.completion
        scored = loaded.verdict(items[str(state.sample_id)], Response(text))
        # inspect has no missing score: not a number keeps an unread answer from counting as wrong.
        value = math.nan if scored.value is None else scored.value
        return Score(value=value, answer=scored.read, explanation=scored.reason or text)

    return score


@scorer(metrics=[accuracy(), stderr()])
def grader(model: str | Model, template: str | None = None, partial_credit: bool = False) -> Scorer:
    """Have a model judge each answer; two of them in one log are compared by `hqm audit`."""
    judge = model_graded_qa(template=template, model=model, partial_credit=partial_credit)

    async def score(state: TaskState, target: Target) -> Score | None:
        grade = await judge(state, target)
        if grade is not None:
            grade.metadata = {**(grade.metadata or {}), "grader": str(model)}
        return grade

    return score


@hooks(name="report", description="HQM's report of a run, into the folder that HQM_REPORT names.")
class Report(Hooks):
    """Audit the logs of a run, and test the audit by a policy where HQM_POLICY names one."""

    def enabled(self) -> bool:
        """Whether the environment asks for a report."""
        return bool(os.environ.get(REPORT))

    async def on_run_end(self, data: RunEnd) -> None:
        """Write the report; its sentences go to the terminal."""
        logs = [log.location for log in data.logs if log.location]
        folder = os.environ[REPORT]
        policy = os.environ.get(POLICY)
        program = [sys.executable, "-m", "hqm"]
        # A process of its own: the event loop of inspect goes on, and a failure of the report ends
        # no run.
        subprocess.run([*program, "audit", *logs, "--out", folder, "--quiet"], check=False)
        if policy:
            subprocess.run([*program, "gate", folder, "--policy", policy], check=False)
