"""What servers turned away for good: questions that the same server will turn away again."""

from __future__ import annotations

from hqm.store.database import Store


def has_answered(store: Store, respondent: int) -> bool:
    """Whether a respondent ever answered anything, in any run."""
    query = "SELECT 1 FROM answers WHERE respondent = ? AND state <> 'error' LIMIT 1"
    return bool(store.select(query, respondent))


def refused(store: Store, respondent: int, run: int) -> set[str]:
    """The digests of the asks whose last attempt a server turned away for good.

    Empty for a respondent that never answered anything: then the fault need not be the question's.
    """
    if not has_answered(store, respondent):
        return set()
    query = (
        "SELECT a.digest FROM answers x JOIN asks a ON a.id = x.ask WHERE respondent = ?1 AND run ="
        " ?2 AND state = 'error' AND json_extract(detail, '$.final') AND attempt = (SELECT"
        " MAX(attempt) FROM answers y WHERE y.respondent = ?1 AND y.run = ?2 AND y.ask = x.ask)"
    )
    return {row[0] for row in store.select(query, respondent, run)}
