"""What an audit says of its leaderboard: its planned contrasts, over new items.

Whoever says that two neighbours differ, are equal or that it is not known asks here.
"""

from __future__ import annotations

from hqm.auditing.audit import BenchmarkAudit
from hqm.auditing.neighbours import Neighbours, contrast_detail, contrasts_in
from hqm.auditing.policy import Policy


def planned_contrasts(
    audit: BenchmarkAudit, policy: Policy, metric: str = ""
) -> tuple[Neighbours, ...]:
    """Return the planned contrasts from the first rank on; none in an audit of version 0.2.0.

    Parameters
    ----------
    audit
        The audit of a benchmark.
    policy
        Says within what difference two scores count as equal.
    metric
        The leading metric unless given.
    """
    metric = metric or next(iter(audit.metrics), "")
    low, high = audit.metrics.get(metric, {}).get("scale") or (None, None)
    width = None if low is None or high is None else float(high) - float(low)
    estimates = (estimate for estimate in audit.all_estimates if estimate.metric == metric)
    return contrasts_in(estimates, policy.limits.equal_within, width)


def shared_items(audit: BenchmarkAudit) -> tuple[int, int] | None:
    """Return how many items a pair of respondents shares at least and at most, by the leading
    metric; None where that was not counted.
    """
    metric = next(iter(audit.metrics), "")
    counts = contrast_detail(e for e in audit.all_estimates if e.metric == metric).get(
        "shared_items"
    )
    return (int(counts[0]), int(counts[1])) if counts else None
