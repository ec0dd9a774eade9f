"""HQM: a psychometric auditor for benchmarks of vision-language models.

How far can the scores of a benchmark be trusted? Answers are collected once and never changed;
scores, indicators and reports are pure functions of them.

    import hqm

    audit = hqm.audit(frame)                  # a row an answer: model, item, score
    audit = hqm.audit("logs/")                # a log of lmms-eval, VLMEvalKit or inspect
    audit = hqm.audit("pope", recorded="answers.jsonl")

    print(audit)                              # verdict, seven answers, statement
    audit.scores                              # pandas frames; also audit.estimates, audit.items
    hqm.gate(audit).passed
    hqm.report(audit, "report.html")

Audit       audit, from_logs, check_numbers, compare, gate, report, Audit, Policy
Ask         run, plan, evidence_of, Store
Extend      load, names, Benchmark, Card, Item, Form, Verdict, Response, Respondent, Metric

What `dir(hqm)` leaves out is for packages that extend HQM: docs/extend_benchmark.md imports it.
Names are loaded when they are first used, so that `import hqm` takes no time.
"""

import os.path

import lazy_loader

# A wheel has adapters, benchmarks and reports inside hqm. In a checkout they lie beside it, and are
# found there, whichever checkout the environment was installed from.
_PACKAGE = os.path.dirname(os.path.abspath(__file__))
if not os.path.isdir(os.path.join(_PACKAGE, "adapters")):
    __path__ = [*__path__, os.path.dirname(_PACKAGE)]

_load_exported, _, EXPORTED = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    """Return an exported name, or one of version 0.2.0 that moved."""
    if name in EXPORTED:
        return _load_exported(name)
    from hqm.moved_names import MOVED_NAMES, find_moved

    return find_moved(__name__, name, MOVED_NAMES)


__all__ = [
    "ACCURACY",
    "HALLUCINATION_TYPES",
    "AdapterError",
    "AnswerError",
    "Audit",
    "Benchmark",
    "BenchmarkAudit",
    "Card",
    "CardError",
    "Cell",
    "Comparison",
    "DataError",
    "DesignError",
    "ErrorBudget",
    "Estimate",
    "Evidence",
    "Finding",
    "Form",
    "Gate",
    "HQMError",
    "Interval",
    "Item",
    "Judgement",
    "Metric",
    "Policy",
    "Recording",
    "Request",
    "Respondent",
    "Response",
    "Sampling",
    "ScoreMatrix",
    "Statement",
    "Store",
    "UsageError",
    "Verdict",
    "__version__",
    "audit",
    "build_parallel",
    "check_numbers",
    "compare",
    "evidence_of",
    "from_logs",
    "gate",
    "gather",
    "load",
    "mean_of",
    "names",
    "plan",
    "ratio",
    "read_records",
    "report",
    "run",
]


def __dir__() -> list[str]:
    return list(__all__)
