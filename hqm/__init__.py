"""HQM: a psychometric auditor for hallucination benchmarks of large vision-language models.

Answers are collected once and never changed; scores, indicators and reports are pure functions of
them.

    import hqm

    audit = hqm.audit("pope", recorded="answers.jsonl")    # what hqm audit writes, as a value
    audit.to_frame()                                       # one row an estimate

Names are loaded when they are first used, so that `import hqm` takes no time.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
