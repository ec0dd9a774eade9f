"""The record of a command: what somebody who repeats it would need to know."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np

from hqm.administration.costs import prices_of
from hqm.auditing.evidence import Evidence
from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.judge_api import parse_judge
from hqm.commands.options import RunOptions
from hqm.imports.human_labels import LabelContext
from hqm.judges.file_judge import Judge
from hqm.judges.judge_models import Judging
from hqm.respondents.base import Respondent
from hqm.respondents.server_limits import Prices
from hqm.store.database import Store
from hqm.version import installed_version


def record_of(
    options: RunOptions, benchmarks: Sequence[Benchmark], label_files: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Return what a repetition needs: versions, settings, hashes of data and cards."""
    packages = ("numpy", "pandas", "pillow", "scipy", "torch", "transformers", "openai")
    return {
        "python": platform.python_version(),
        "packages": {
            name: installed for name in packages if (installed := installed_version(name))
        },
        "settings": {
            "runs": options.asking.times,
            "forms": list(dict.fromkeys([*options.material.forms, *options.material.form_files])),
            **({"expected": True} if options.asking.expected else {}),
            "scoring": options.reading.scoring,
            "parser": options.reading.parser,
            "blind": options.asking.blind,
            "resolutions": list(options.asking.resolutions),
            "judges": list(options.judging.judges),
            "roles": list(options.judging.roles),
            "rejudge": options.judging.rejudge,
            "prompts": options.judging.prompts,
            "mode": options.judging.mode,
            "words": options.reading.words,
            "withheld": options.reading.withheld,
            "sampling": dict(options.asking.sampling),
        },
        "benchmarks": {
            benchmark.name: {
                "version": benchmark.card.version,
                "card": benchmark.card.digest,
                "items": benchmark.original.digest,
                **({"labels": files} if (files := label_files.get(benchmark.name)) else {}),
            }
            for benchmark in benchmarks
        },
    }


# --- what the answers took, by which `hqm design` prices another study ---


def study_costs(
    store: Store,
    evidence: Evidence,
    respondents: Sequence[Respondent],
    judges: Sequence[Judge],
    prices: Prices | None = None,
) -> dict[str, Any]:
    """What respondents, judges and people took for their answers, verdicts and labels, as far as
    the store has measured it.

    Parameters
    ----------
    respondents
        Those of the command: their names may have prices.
    prices
        Of every respondent, in place of its own.
    """
    prices_by_name = {
        respondent.name: prices or prices_of(respondent) for respondent in respondents
    }
    usage_by_name = {
        respondent.name: _usage_record(
            store, respondent.number, prices_by_name.get(respondent.name, prices)
        )
        for respondent in evidence.respondents
    }
    costs: dict[str, Any] = {
        "respondents": {name: used for name, used in usage_by_name.items() if used}
    }
    # the cost of judging is that of the first panel that is asked
    panel = next((judge for judge in judges if isinstance(judge, Judging)), None)
    if panel is None:
        number = None
    else:
        number = store.find_respondent(panel.panel.main.name, panel.identity(panel.panel.main))
    if panel is not None and number is not None:
        judged = [
            matrix
            for cell, matrix in evidence.matrices.items()
            if parse_judge(cell.judge)[0] == panel.label
        ]
        verdicts = sum(int(np.isfinite(matrix.values).sum()) for matrix in judged)
        used = _usage_record(store, number, prices or prices_of(panel.panel.main))
        # a procedure of several stages asks more than once a verdict
        replies = used.get("answers", 0) / verdicts if verdicts else 1.0
        costs["judge"] = {"name": panel.panel.main.name, **used, "replies_a_verdict": replies}
    times = [
        seconds
        for judgement in evidence.labels.judgements
        if (seconds := LabelContext.from_judgement(judgement).seconds) is not None
    ]
    return {**costs, **({"label_seconds": median(times)} if times else {})}


def _usage_record(store: Store, number: int, prices: Prices | None) -> dict[str, Any]:
    """Tokens, mean seconds and prices of whoever has this number; empty where nothing was
    measured.
    """
    usage = store.usage(number)
    timed, seconds = store.seconds(number)
    tokens = {"tokens_in": usage.tokens_in, "tokens_out": usage.tokens_out}
    measured: dict[str, Any] = {
        **(tokens if usage.tokens_in else {}),
        **({"seconds": float(seconds) / timed} if timed else {}),
        **({} if prices is None else {"price_in": prices[0], "price_out": prices[1]}),
    }
    if measured:
        return {"answers": usage.answers, **measured}
    return {}
