"""Uses of HQM that a type checker reads and nobody runs: `make types` ends with an error where a
keyword or a value that is wrong is not seen, for an ignored error that is none is one.
"""

from typing import assert_type

import hqm


def keywords() -> None:
    """Say what may be given, and what may not."""
    audit = hqm.audit("pope", "a.jsonl", forms="original", runs=2, device="cpu")
    assert_type(audit, hqm.BenchmarkAudit)
    hqm.run("pope", ["hf/x"], store="s.sqlite", machine="gpu.toml")
    hqm.audit("pope", run=2)  # type: ignore[call-arg]
    hqm.audit("pope", runs="two")  # type: ignore[arg-type]
