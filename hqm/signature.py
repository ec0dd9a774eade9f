"""Content hashes, request seeds and the one-line signature that every estimate carries.

The canonical form is part of the contract: JSON with sorted keys, without spaces, and with
characters unescaped. Changing it would change every hash, so each hash begins with the tag of its
algorithm (`b2:`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from types import MappingProxyType

TAG = "b2:"
# 96 bits: among a million million texts, two hashes are equal with a chance of one in 160,000.
_SIZE = 12
_ENCODER = json.JSONEncoder(
    sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False
)


def canonical_json(value: object) -> str:
    """The JSON text of a value that is the same for equal values.

    >>> canonical_json({"b": 1, "a": "é"})
    '{"a":"é","b":1}'
    """
    return _ENCODER.encode(value)


def digest(value: object) -> str:
    """The content hash of any JSON value.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    >>> digest("yes")
    'b2:2f70aeb064908305f964ab96'
    """
    # Half a surrogate pair is no character, but a text that holds one has a hash all the same.
    return digest_bytes(canonical_json(value).encode("utf-8", "surrogatepass"))


def digest_bytes(data: bytes) -> str:
    """The content hash of raw bytes."""
    return TAG + hashlib.blake2b(data, digest_size=_SIZE).hexdigest()


def digest_file(path: Path) -> str:
    """The content hash of a file, read in chunks, or of a folder's files with their names."""
    if path.is_dir():
        files = [file for file in sorted(path.iterdir()) if file.is_file()]
        return digest([[file.name, digest_file(file)] for file in files])
    running = hashlib.blake2b(digest_size=_SIZE)
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            running.update(chunk)
    return TAG + running.hexdigest()


def sha256_file(path: Path) -> str:
    """A file's SHA-256 in hexadecimal, as releases publish it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_all(texts: Iterable[str]) -> str:
    """The hash of many texts in their order; they need not fit into memory together."""
    running = hashlib.blake2b(digest_size=_SIZE)
    texts = iter(texts)
    # Batches of a thousand: one call for a long text is faster than two calls for each text.
    while batch := list(islice(texts, 1000)):
        running.update("\0".join([*batch, ""]).encode("utf-8", "surrogatepass"))
    return TAG + running.hexdigest()


def request_seed(base: int, respondent: str, run: int, ask: str) -> int:
    """The seed of one request: a hash of the base seed, the respondent, the run and the question.

    An answer therefore does not depend on its batch, on the order, on resumption or on the number
    of workers. Two respondents never share a seed: with one stream for all, their answers would
    vary together, and the residual variance between two runs, which every reliability takes to be
    independent between respondents, would be common to all of them.

    Parameters
    ----------
    base, run, ask
        The base seed, the run, and the digest of the question.
    respondent
        The respondent's identity, without its address: `hqm.respondents.base.who_answers`.

    Examples
    --------
    >>> request_seed(0, "b2:model", 0, "b2:aa") != request_seed(0, "b2:model", 1, "b2:aa")
    True
    >>> request_seed(0, "b2:model", 0, "b2:aa") != request_seed(0, "b2:other", 0, "b2:aa")
    True
    """
    raw = hashlib.blake2b(f"{base}|{respondent}|{run}|{ask}".encode(), digest_size=8).digest()
    return int.from_bytes(raw, "big") >> 1  # 63 bits: a server's seed is a signed 64-bit number


def short_signature(signature: str) -> str:
    """Twelve characters that abbreviate a signature in a sentence or a table.

    `hqm report --verify` finds the full signature in an audit.

    >>> short_signature("benchmark:pope@1|answers:0")
    'fb3dee031250'
    """
    return hashlib.sha256(signature.encode("utf-8", "surrogatepass")).hexdigest()[:12]


PROCEDURES = Path(__file__).with_name("procedures.json")
"""The versions of the procedures that make numbers of answers, one a line.

A version stands for a behaviour: the outcome of every case of a frozen corpus in `tests/corpora`. A
test fails where a procedure behaves otherwise and its version is the same, so that equal
signatures, which have the versions, mean equal numbers. `python -m tests.procedures` writes it.
"""


@dataclass(frozen=True, slots=True)
class Procedure:
    """A procedure with the version of its behaviour.

    Parameters
    ----------
    name
        Its kind and its name: `reader.strict`, `statistic.test_retest.pearson`.
    version
        Raised whenever a case of its corpus comes out otherwise.
    cases
        The number of the cases whose outcomes are held.
    outcomes
        The content hash of all outcomes.
    """

    name: str
    version: int
    cases: int
    outcomes: str


@cache
def load_procedures() -> Mapping[str, Procedure]:
    """Every procedure that has a version, by its name."""
    rows = json.loads(PROCEDURES.read_text(encoding="utf-8"))
    return MappingProxyType({name: Procedure(name, **row) for name, row in rows.items()})


def labelled(kind: str, name: str) -> str:
    """The name of a procedure with its version, as signatures have it.

    A procedure that a user adds has no version of ours, and stands by its name alone; so do all in
    signatures of 0.1.0 and 0.2.0.

    >>> labelled("reader", "pope").startswith("pope:"), labelled("reader", "somebody's own")
    (True, "somebody's own")
    """
    procedure = load_procedures().get(f"{kind}.{name}")
    if procedure is None:
        return name
    return f"{name}:{procedure.version}"


def scoring_label(scoring: str, benchmark: str) -> str:
    """A scoring of a benchmark with the version of all that its adapter does: how a file is read,
    what a reply of a judge says, which words are objects, and the arithmetic of every metric.

    Benchmarks without an adapter of ours share one version, that of `scoring.plain`.

    >>> scoring_label("official", "pope").startswith("official:")
    True
    """
    procedures = load_procedures()
    name = f"scoring.{benchmark}"
    procedure = procedures.get(name) or procedures.get("scoring.plain")
    if procedure is None:
        return scoring
    return f"{scoring}:{procedure.version}"


def statement_signature(signature: str, procedure: str) -> str:
    """The signature of a line that quotes an estimate and further numbers of its audit.

    Parameters
    ----------
    signature
        That of the estimate.
    procedure
        The label of what made the further numbers; an audit of an earlier version has none.

    Examples
    --------
    >>> statement_signature("benchmark:pope@1|hqm:0.3.0", "numbers:1")
    'benchmark:pope@1|audit:numbers:1|hqm:0.3.0'
    """
    if not procedure:
        return signature
    estimated, separator, version = signature.rpartition("|hqm:")
    return f"{estimated}|audit:{procedure}{separator}{version}"


def parse_signature(signature: str) -> dict[str, str]:
    """The parts of a signature; `sign` writes them back equal.

    >>> parse_signature("benchmark:pope@08d957b|scorer:official(strict:3)|run:0")
    {'benchmark': 'pope@08d957b', 'scorer': 'official(strict:3)', 'run': '0'}
    """
    pairs = (field.partition(":") for field in signature.split("|") if field)
    return {key: value for key, _, value in pairs}


def changed_procedures(signature: str) -> list[tuple[str, str, str]]:
    """The procedures behind a signature that have another version now: kind, label in the
    signature, label now.

    A label without a version is one of 0.1.0 or 0.2.0, where the same label stood for several
    behaviours.

    >>> changed_procedures("scorer:official(pope)|statistic:somebody's.own")[1][:2]
    ('reader', 'pope')
    """
    parts = parse_signature(signature)
    scoring, _, qualifiers = parts.get("scorer", "").partition("(")
    # Readers stand by their names alone; what has an equals sign is a setting.
    readers = re.findall(r"[\w.]+(?::\d+)?(?![\w=:])", qualifiers)
    benchmark = parts.get("benchmark", "").partition("@")[0]
    labels = [
        *(("reader", label) for label in readers),
        *(("form", label) for label in parts.get("rules", "").split("+")),
        ("statistic", parts.get("statistic", "")),
        ("audit", parts.get("audit", "")),
    ]
    changed = []
    scoring_now = scoring_label(scoring.partition(":")[0], benchmark)
    if scoring and scoring_now != scoring:
        changed.append(("scoring", scoring, scoring_now))
    for kind, label in labels:
        label_now = labelled(kind, label.partition(":")[0])
        if ":" in label_now and label_now != label:
            changed.append((kind, label, label_now))
    return changed


def sign(values: Mapping[str, object]) -> str:
    """Write a signature: `key:value` pairs joined by `|`, without those that have no value.

    >>> sign({"benchmark": "pope@08d957b", "run": 0, "judge": None})
    'benchmark:pope@08d957b|run:0'
    """
    present = {key: value for key, value in values.items() if value is not None and value != ""}
    return "|".join(f"{key}:{value}" for key, value in present.items())
