"""The commands as functions for Python: `hqm.audit("pope", recorded="answers.jsonl")` does what
`hqm audit` does.

Their keywords are the options and settings of the commands, by the names of the fields in
`hqm.commands.options`. Type checkers read them in python_api.pyi, which docs/generate.py writes.
"""

from __future__ import annotations

from hqm.commands import in_python
from hqm.commands.comparing import COMPARED
from hqm.commands.in_python import SCRIPT_DEFAULTS
from hqm.commands.option_decorators import with_keywords

GROUPS = ("material", "answering", "asking", "reading", "judging", "compute")
NOT_ASKED = ("metrics", "criterion", "pool", "stale", "levels", "judgements", "margin")
"""What an audit reads, and asking does not."""

audit = with_keywords(*GROUPS, second="recorded", **SCRIPT_DEFAULTS)(in_python.audit)
evidence_of = with_keywords(*GROUPS, second="recorded", **SCRIPT_DEFAULTS)(in_python.evidence_of)
run = with_keywords(*GROUPS, excluded=NOT_ASKED, second="respondents", **SCRIPT_DEFAULTS)(
    in_python.run
)
plan = with_keywords(
    *GROUPS, excluded=(*NOT_ASKED, "until"), second="respondents", **SCRIPT_DEFAULTS
)(in_python.plan)
compare = with_keywords(*COMPARED)(in_python.compare)

FUNCTIONS = (audit, evidence_of, run, plan, compare)
"""What docs/generate.py writes the signatures of."""
