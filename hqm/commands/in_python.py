"""The commands as functions for Python: `hqm.audit("pope", recorded="answers.jsonl")` does what
`hqm audit` does.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, TypedDict, Unpack

from hqm.administration.administering import Outcome, added, administer
from hqm.auditing.audit import BenchmarkAudit
from hqm.auditing.auditor import audit as audit_of
from hqm.auditing.evidence import Evidence
from hqm.benchmark.adapter import Benchmark, Scoring
from hqm.benchmark.judge_api import Prompts
from hqm.benchmark.registry import load
from hqm.commands import options as groups
from hqm.commands.session import Session, run_until
from hqm.commands.shared import readable, writable
from hqm.decisions.stopping import StoppedRun
from hqm.errors import UsageError
from hqm.labels.label_pooling import Pool, Stale
from hqm.scoring.rules import Withholding
from hqm.store.database import Store

Files = str | PathLike[str] | Sequence[str | PathLike[str]]


class Settings(TypedDict, total=False):
    """What `evidence_of` explains, for `audit`, which hands it on."""

    store: Store | str | Path | None
    root: str | Path | None
    part: str | None
    limit: int | None
    images: str | Path | None
    forms: Mapping[str, str | Path] | None
    key: str | Path | None
    criterion: str | Path | None
    pool: Pool | None
    stale: Stale
    levels: str | Sequence[str]
    families: str | Path | None
    metrics: str | Sequence[str]
    margin: float | None
    scoring: Scoring
    withheld: Withholding
    parser: str | None
    words: str | None
    mode: str | None
    prompts: Prompts
    judges: str | Sequence[str]
    judgements: Files
    partial: bool


def audit(
    benchmark: Evidence | Benchmark | str | Path, recorded: Files = (), **settings: Unpack[Settings]
) -> BenchmarkAudit:
    """Audit a benchmark from recorded answers, a store, or evidence that was gathered before.

    Parameters
    ----------
    benchmark
        A name, a folder with a card.toml, a Python file, what `hqm.load` gave, or an `Evidence`.
    recorded, settings
        As in `hqm.evidence_of`; of an `Evidence` nothing more can be said.

    Returns
    ------- Its `estimates` are those of `hqm audit` over the same files; `to_frame()` makes a
    pandas frame of them.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("item,respondent,answer\\ny0000,a,No\\ny0000,b,Yes\\ny0008,a,No\\ny0008,b,No\\n")
    ...     file.flush()
    ...     audit("shapes_yesno", recorded=file.name).to_frame("scores").query("metric == 'accuracy'")["score"].tolist()
    [0.5, 0.0]
    """
    if isinstance(benchmark, Evidence):
        if recorded or settings:
            raise UsageError(
                "the evidence is gathered, and files or settings are given beside it",
                remedy="Give them to hqm.gather or hqm.evidence_of.",
            )
        return audit_of(benchmark)
    return audit_of(evidence_of(benchmark, recorded, **settings))


def evidence_of(
    benchmark: Benchmark | str | Path,
    recorded: Files = (),
    *,
    store: Store | str | Path | None = None,
    root: str | Path | None = None,
    part: str | None = None,
    limit: int | None = None,
    images: str | Path | None = None,
    forms: Mapping[str, str | Path] | None = None,
    key: str | Path | None = None,
    criterion: str | Path | None = None,
    pool: Pool | None = None,
    stale: Stale = "refuse",
    levels: str | Sequence[str] = (),
    families: str | Path | None = None,
    metrics: str | Sequence[str] = (),
    margin: float | None = None,
    scoring: Scoring = "official",
    withheld: Withholding = "unscored",
    parser: str | None = None,
    words: str | None = None,
    mode: str | None = None,
    prompts: Prompts = "hqm",
    judges: str | Sequence[str] = (),
    judgements: Files = (),
    partial: bool = False,
) -> Evidence:
    """Take in recorded answers, score them, and gather what an audit of a benchmark looks at.

    Parameters
    ----------
    benchmark
        A name, a folder with a card.toml, a Python file, or what `hqm.load` gave.
    recorded
        A file or folder, or several: answers in the benchmark's release format or HQM's, or logs of
        lmms-eval, VLMEvalKit, inspect and others.
    store
        A store, or its file. With `recorded`, the answers are added to it; without, what it holds
        is looked at, and nobody is asked. Nothing is written to disk unless it is given.
    root, part, images, scoring, withheld, parser, words, mode, prompts
        As in `hqm.load`; they belong there where a loaded benchmark is given.
    limit
        Only the first so many items.
    forms
        Name -> file of a form that somebody has reviewed.
    key
        A corrected key; the answers are held against it instead of the release's.
    criterion
        People's labels on the answers.
    pool
        How several raters' labels of an answer become one: `majority` (of 0 and 1, unless given),
        `mean` (of others), `dawid-skene`, `adjudicated`.
    stale
        What to do with labels about other words than the stored answer's: `refuse` them, or `keep`
        them, flagged.
    levels
        Over what agreement with people is looked at beside the respondents' scores: `answer`,
        `item`, and `stage`, at which a judge is asked about each fact that people labelled.
    families
        A file of respondent and family; families are told from the names unless given.
    metrics
        The metrics to audit; the card's unless given.
    margin
        The largest difference of two means that does not matter.
    judges
        The models that judge, for a benchmark that a model judges; what they have not said yet is
        asked.
    judgements
        Judgements that a judge gave already: a file or a folder, or several, each written as for
        `hqm audit --judgements` ("gpt-4=verdicts.jsonl" where the file does not name the judge).
        Nobody is asked for them.
    partial
        Of logs and judgements, take the rows that match items and leave the others out.

    Raises
    ------
    UsageError
        Neither files nor a store are given, or a name or setting means nothing.
    AnswerError
        A file does not belong to the benchmark.
    """
    paths = tuple(map(Path, [recorded] if isinstance(recorded, (str, PathLike)) else recorded))
    if not paths and store is None:
        raise UsageError(
            "there are no answers to look at", remedy="Give recorded=FILE, or store=FILE."
        )
    loading = {
        "root": root,
        "images": images,
        "scoring": scoring,
        "withheld": withheld,
        "parser": parser,
        "words": words,
        "mode": mode,
        "prompts": prompts,
    }
    loaded, part = _loaded(benchmark, loading, part)
    options = groups.RunOptions(
        what=groups.What(
            part=part,
            limit=limit,
            form_files={name: Path(path) for name, path in (forms or {}).items()},
        ),
        who=groups.Who(recorded=paths, partial=partial, families=_path(families)),
        reading=groups.Reading(metrics=_several(metrics), margin=margin, key=_path(key)),
        judging=groups.Judging(
            judges=_several(judges),
            criterion=_path(criterion),
            pool=pool,
            stale=stale,
            levels=_several(levels),
            judgements=tuple(
                map(str, [judgements] if isinstance(judgements, (str, PathLike)) else judgements)
            ),
        ),
    )
    if isinstance(store, Store):
        return _evidence(loaded, store, options)
    with _opened(store, bool(paths or judges or criterion or judgements)) as opened:
        return _evidence(loaded, opened, options)


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """What came of asking: the sums over all benchmarks, and of each benchmark where a rule stopped
    it.
    """

    outcome: Outcome
    stopped: tuple[StoppedRun, ...] = ()


def run(
    benchmark: Benchmark | str | Path,
    respondents: str | Sequence[str] = (),
    *,
    store: Store | str | Path,
    recorded: Files = (),
    until: str | Sequence[str] = (),
    forms: Sequence[str] = ("original", "parallel"),
    runs: int = 2,
    blind: bool = False,
    resolution: Sequence[int] = (),
    seed: int | None = None,
    probabilities: bool = False,
    expected: bool = False,
    part: str | None = None,
    limit: int | None = None,
    max_requests: int | None = None,
    device: str = "auto",
    workers: int = 1,
) -> RunResult:
    r"""Ask respondents what a store does not have yet, as `hqm run` does.

    Parameters
    ----------
    benchmark
        A name, a folder with a card.toml, a Python file, or what `hqm.load` gave; a group's name
        asks all its members.
    respondents
        Their names, as `-r` takes them; the benchmark's own unless any is given, or `recorded`.
    store
        A store, or its file.
    until
        When to stop asking, as `--until` takes it: "separated", "separated>=.02",
        "half_width<=.01", or two of them.
    recorded, forms, runs, blind, resolution, seed, probabilities, expected, part, limit,
    max_requests, device, workers
        As the options of `hqm run`.

    Raises
    ------
    UsageError, DesignError
        A name or a rule means nothing, or the rule cannot be met by these respondents, items or
        metrics.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> folder = tempfile.TemporaryDirectory()
    >>> answers, store = Path(folder.name, "answers.csv"), Path(folder.name, "store.sqlite")
    >>> rows = [f"{q.id},{name},{q.target if name == 'key' else 'Yes'}" for q in load("shapes_yesno").original.items for name in ("key", "yes")]
    >>> _ = answers.write_text("\n".join(["item,respondent,answer", *rows]))
    >>> asked = run("shapes_yesno", recorded=answers, store=store, until="separated", forms=["original"], runs=1)
    >>> [(pair.state, pair.pictures < 252) for pair in asked.stopped[0].pairs]
    [('separated', True)]
    """
    options = groups.RunOptions(
        what=groups.What(part=part, limit=limit, forms=tuple(forms)),
        who=groups.Who(
            respondents=_several(respondents),
            recorded=tuple(
                map(Path, [recorded] if isinstance(recorded, (str, PathLike)) else recorded)
            ),
        ),
        asking=groups.Asking(
            runs=runs,
            blind=blind,
            resolutions=groups.percentages([str(percent) for percent in resolution]),
            seed=seed,
            probabilities=probabilities,
            expected=expected,
            until=_several(until),
            max_requests=max_requests,
        ),
        machine=groups.Machine(device=device, workers=workers),
    )
    with nullcontext(store) if isinstance(store, Store) else writable(Path(store)) as opened:
        session = Session(
            [benchmark if isinstance(benchmark, Benchmark) else str(benchmark)], opened, options
        )
        session.fetch_images()
        if not options.asking.until:
            return RunResult(
                outcome=administer(
                    opened, session.jobs(), engine=session.engine(), budget=session.budget
                )
            )
        stopped = tuple(run_until(session))
        return RunResult(outcome=added([each.outcome for each in stopped]), stopped=stopped)


def _evidence(benchmark: Benchmark, store: Store, options: groups.RunOptions) -> Evidence:
    session = Session([benchmark], store, options)
    session.offline = not options.who.recorded
    session.check_labels()
    session.check_judgements()
    if options.who.recorded:
        administer(store, session.jobs())
    if options.judging.judges:
        session.judge()
    (member,) = session.benchmarks
    return session.by_corrected_key(member) or session.evidence(member)


def _loaded(
    benchmark: Benchmark | str | Path, loading: Mapping[str, Any], part: str | None
) -> tuple[Benchmark, str | None]:
    """The whole benchmark and the part that is asked for: logs are matched against all items."""
    default = {"scoring": "official", "withheld": "unscored", "prompts": "hqm"}
    if not isinstance(benchmark, Benchmark):
        return load(benchmark, **loading), part
    given = [name for name, value in loading.items() if value != default.get(name)]
    if given:
        remedy = f"Give {given[0]} to hqm.load."
        raise UsageError(
            f"{benchmark.name} is loaded, and {given[0]} is given beside it", remedy=remedy
        )
    whole = copy.copy(benchmark)
    if benchmark.part is not None:
        del whole.original
    return whole, part or benchmark.part


def _opened(store: str | Path | None, writes: bool) -> AbstractContextManager[Store]:
    if store is None:
        return Store(":memory:")
    return writable(Path(store)) if writes else readable(Path(store))


def _several(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _path(path: str | Path | None) -> Path | None:
    return None if path is None else Path(path)
