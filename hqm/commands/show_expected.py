"""What `--expected` says: how many answers carry probabilities, and what is expected of reruns that
nobody made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hqm.auditing.value import Audit
    from hqm.commands.session import Session

_WITHOUT = (
    "captions have none, recorded answers and some servers give none, and answers that were stored"
    " without are not asked again"
)


def run(session: Session) -> None:
    """How many of each respondent's answers carry a probability, after `hqm run --expected`."""
    for benchmark in session.benchmarks:
        for respondent in session.stored_respondents(benchmark):
            chances = session.answers.probabilities(benchmark, benchmark.original, respondent, 0)
            known = sum(chance is not None for chance in chances)
            why = f" ({_WITHOUT})" if known < len(chances) else ""
            print(
                f"{benchmark.name}, {respondent.name}: {known:,} of {len(chances):,} answers carry"
                f" probabilities{why}"
            )


def audit(result: Audit) -> None:
    """What the numbers rest on, or why there is none, after `hqm audit --expected`."""
    from hqm.indicators.flags import FLAGS

    for audited in result.audits:
        estimates = [e for e in audited.estimates if e.indicator.startswith("expected.")]
        for estimate in estimates:
            if estimate.value is None:
                print(
                    f"{audited.title}, {estimate.indicator} ({estimate.metric}) has no number:"
                    f" {estimate.reason}."
                )
        if any(estimate.value is not None for estimate in estimates):
            print(f"{audited.title}, expected from probabilities: {FLAGS['EXPECTED']}.")
        if not estimates:
            print(
                f"{audited.title}: nothing is expected of reruns, no answer carries probabilities"
                f" ({_WITHOUT})."
            )
