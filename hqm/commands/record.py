"""The record of a command: what somebody who repeats it would need to know."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from statistics import median
from typing import NotRequired, TypedDict

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


class UsageRecord(TypedDict, total=False):
    """What a respondent or judge took, by which `hqm design` prices another study."""

    name: str
    answers: int
    tokens_in: int
    tokens_out: int
    seconds: float
    """The mean of an answer."""
    price_in: float
    price_out: float
    replies_a_verdict: float


class StudyCosts(TypedDict):
    """What a study took: its respondents by name, its judge, and people's seconds a label."""

    respondents: dict[str, UsageRecord]
    judge: NotRequired[UsageRecord]
    label_seconds: NotRequired[float]


def record_of(
    options: RunOptions, benchmarks: Sequence[Benchmark], label_files: Mapping[str, Sequence[str]]
) -> dict[str, object]:
    """Return what a repetition needs: versions, settings, hashes of data and cards."""
    # The libraries whose version may change an answer or a number.
    packages = ("numpy", "pandas", "pillow", "scipy", "torch", "transformers", "openai")
    return {
        "python": platform.python_version(),
        "packages": {
            package: version for package in packages if (version := installed_version(package))
        },
        "settings": {
            "runs": options.asking.times,
            "forms": list(dict.fromkeys([*options.material.forms, *options.material.form_files])),
            # Left out where it is not set, so that records of other commands stay as they were.
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
) -> StudyCosts:
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
    costs: StudyCosts = {"respondents": {}}
    for respondent in evidence.respondents:
        respondent_prices = prices_by_name.get(respondent.name, prices)
        if used := _usage_record(store, respondent.number, respondent_prices):
            costs["respondents"][respondent.name] = used
    # the cost of judging is that of the first panel that is asked
    panel = next((judge for judge in judges if isinstance(judge, Judging)), None)
    if panel is not None and (used := _judge_record(store, evidence, panel, prices)):
        costs["judge"] = used
    contexts = map(LabelContext.from_judgement, evidence.labels.judgements)
    times = [context.seconds for context in contexts if context.seconds is not None]
    if times:
        costs["label_seconds"] = median(times)
    return costs


def _judge_record(
    store: Store, evidence: Evidence, judging: Judging, prices: Prices | None
) -> UsageRecord:
    """`_usage_record` of a judge, with its replies a verdict; empty where it was never asked."""
    judge = judging.panel.main
    number = store.find_respondent(judge.name, judging.identity(judge))
    if number is None:
        return {}
    n_verdicts = sum(
        int(np.isfinite(matrix.values).sum())
        for cell, matrix in evidence.matrices.items()
        if parse_judge(cell.judge)[0] == judging.label
    )
    used = _usage_record(store, number, prices or prices_of(judge))
    # a procedure of several stages asks more than once a verdict
    replies = used.get("answers", 0) / n_verdicts if n_verdicts else 1.0
    return {"name": judge.name, **used, "replies_a_verdict": replies}


def _usage_record(store: Store, number: int, prices: Prices | None) -> UsageRecord:
    """Tokens, mean seconds and prices of whoever has this number; empty where nothing was
    measured.
    """
    usage = store.usage(number)
    timed, seconds = store.seconds(number)
    record: UsageRecord = {"answers": usage.answers}
    if usage.tokens_in:
        record["tokens_in"] = usage.tokens_in
        record["tokens_out"] = usage.tokens_out
    if timed:
        record["seconds"] = float(seconds) / timed
    if prices is not None:
        record["price_in"], record["price_out"] = prices
    # the number of answers alone prices nothing
    return record if len(record) > 1 else {}
