"""HQM: a psychometric auditor for hallucination benchmarks of large vision-language models.

Answers are collected once and never changed; scores, indicators and reports are pure functions of them.

    import hqm

    benchmark = hqm.load("shapes_yesno")
    with hqm.Store("store.sqlite") as store:
        desk = hqm.Desk(store)
        people = hqm.people_in(store, desk, benchmark)
        audit = hqm.audit(benchmark, desk, people)

Names are loaded when they are first used, so that `import hqm` takes no time.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
