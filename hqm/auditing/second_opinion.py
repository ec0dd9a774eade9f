"""The headline numbers of an audit, computed again by libraries that reviewers know.

`check_numbers(audit)` takes the verdict on every answer that `audit.json` holds and calls pingouin,
statsmodels and scipy on it. Each number stands beside ours with the difference and the tolerance
that was declared for it; where the definitions differ, the reason says how, and no agreement is
claimed. Nothing here calls the functions of `psychometrics` that made our numbers.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType

import numpy as np

from hqm.auditing import answer_checks, score_checks
from hqm.auditing.answer_scores import read_answers
from hqm.auditing.audit import BenchmarkAudit
from hqm.auditing.opinion import Check, SecondOpinion, Study

_LIBRARY_ERRORS = (ValueError, AssertionError, ArithmeticError, np.linalg.LinAlgError)
_INSTALL = "Run: pip install 'hqm-audit[stats]'"


def check_numbers(audit: BenchmarkAudit) -> SecondOpinion:
    """Compute the headline numbers of an audit again by pingouin, statsmodels and scipy.

    Parameters
    ----------
    audit : BenchmarkAudit
        An audit that holds the verdict on every answer: one of this version.

    Returns
    -------
    SecondOpinion
        What has no number, because a library is missing or a model did not converge, is said by a
        check without one or by a remark.
    """
    checks: list[Check] = []
    remarks: dict[str, None] = {}
    versions: dict[str, str] = {}
    missing: dict[str, dict[str, None]] = {}
    for metric in audit.metrics:
        study = Study(audit, metric, read_answers(audit, metric))
        if study.answers is None:
            remarks[
                f"{metric}: only correlations and intraclass correlations of the scores are"
                " computed again, because the audit holds no answers whose mean is the score"
            ] = None
        for library, subject, compute in _CHECKS:
            # By name, since the libraries are an extra.
            module = _find(library)
            if module is None:
                missing.setdefault(library, {})[subject] = None
                continue
            versions[library] = module.__version__
            # Libraries warn of small samples and divisions by zero, each in words of its own; a
            # check says what has no number.
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                try:
                    checks.extend(compute(study))
                except _LIBRARY_ERRORS as error:
                    reason = str(error) or type(error).__name__
                    remarks[f"{library} gives no number for {subject}: {reason}"] = None
    for library, subjects in missing.items():
        remarks[
            f"{library} is not installed, so these are not computed again: "
            f"{', '.join(subjects)}. {_INSTALL}"
        ] = None
    return SecondOpinion(audit.benchmark, audit.title, tuple(checks), tuple(remarks), versions)


def _find(library: str) -> ModuleType | None:
    try:
        return importlib.import_module(library)
    except ImportError:
        return None


_CHECKS: tuple[tuple[str, str, Callable[[Study], Iterator[Check]]], ...] = (
    ("pingouin", "coefficient alpha", score_checks.compare_alpha),
    ("pingouin", "the intraclass correlation", score_checks.compare_intraclass),
    ("pingouin", "the correlation with people given the length", score_checks.compare_given_length),
    ("pingouin", "the correlation with people over types", score_checks.compare_over_types),
    ("scipy", "the correlation of scores", score_checks.compare_correlations),
    ("scipy", "the interval of the lead", score_checks.compare_lead),
    ("statsmodels", "kappa", answer_checks.compare_kappas),
    ("statsmodels", "the shift with clusters", answer_checks.compare_shifts),
    ("statsmodels", "the test of pairs", answer_checks.compare_pairs),
    ("statsmodels", "the mixed model", answer_checks.compare_components),
)
"""Library, what it computes again, and the function that does."""
