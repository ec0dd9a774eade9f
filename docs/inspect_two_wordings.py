"""Does a benchmark score alike in two wordings? One file for inspect; HQM is its extension.

    inspect eval docs/inspect_two_wordings.py --model openai/MODEL --log-dir logs
    hqm audit logs

Each question is asked as it is and turned round ("Is there no dog?"), twice each. The report says by
how many points another seed, other questions and the other wording move a model, and which models
remain apart.
"""

from hqm_publish.inspect_extension import benchmark
from inspect_ai import Task, task


@task
def as_written(name: str = "shapes_yesno", seed: int = 1) -> Task:
    """The benchmark as it was released."""
    return benchmark(name, form="original", seed=seed, epochs=2)


@task
def turned_round(name: str = "shapes_yesno", seed: int = 1) -> Task:
    """The same questions in HQM's parallel form."""
    return benchmark(name, form="parallel", seed=seed, epochs=2)
