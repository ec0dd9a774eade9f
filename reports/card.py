"""A benchmark's quality card, as Markdown of one screen, and its badge: what a policy says of an
audit, and what was not measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from hqm.reports.advice import all_advice
from hqm.reports.phrases import counted, in_words, listed
from hqm.reports.quoting import quotes
from hqm.reports.sentences import in_short

from hqm import Audit, BenchmarkAudit, Gate, Policy, hold_against

_ADVICE = 3
"""How many pieces of advice a card has."""
_LONGEST = 220
"""Characters of an answer on a card."""


def quality_card(audit: Audit, policy: Policy) -> str:
    """The cards of all benchmarks of an audit, as Markdown."""
    return "\n".join(_card(benchmark, audit, policy) for benchmark in audit.audits)


def _card(benchmark: BenchmarkAudit, audit: Audit, policy: Policy) -> str:
    gate = hold_against(Audit((benchmark,), audit.command, audit.record, audit.hqm_version), policy)
    points = [point for point in in_short(benchmark, policy) if point.verdict]
    rows = [f"| {point.question} | {_cell(point.verdict)} |" for point in points]
    missing = unmeasured(gate)
    advice = [in_words([each.sentence]) for each in all_advice(benchmark, policy)[:_ADVICE]]
    signed = {quote.title: quote.short for quote in quotes(benchmark, audit.hqm_version)}
    made = ", ".join(
        (
            counted(benchmark.items, "item"),
            counted(benchmark.images, "picture"),
            counted(len(benchmark.respondents), "respondent"),
        )
    )
    lines = [
        f"## Quality card: {_cell(benchmark.title)}",
        "",
        (
            f"`{benchmark.benchmark}@{benchmark.version}`: {made}. Audited with HQM"
            f" {audit.hqm_version}."
        ),
        "",
        f"**{said(gate)}**",
        "",
        "| Question | What this audit shows |",
        "|---|---|",
        *rows,
        "",
        f"Not measured: {listed(missing) if missing else 'nothing that the policy asks for'}.",
        *(
            ["", "To fix first:", "", *(f"{i}. {_cell(text)}" for i, text in enumerate(advice, 1))]
            if advice
            else []
        ),
        "",
        (
            "Signatures:"
            f" {', '.join(f'{title.lower()} `{short}`' for title, short in signed.items()) or 'none'}."
            " `hqm verify SIGNATURE audit.json` resolves each."
        ),
        "",
    ]
    return "\n".join(lines)


def _cell(text: str) -> str:
    """Text in one cell of Markdown."""
    plain = " ".join(text.split())
    plain = plain if len(plain) <= _LONGEST else f"{plain[:_LONGEST].rsplit(' ', 1)[0]} …"
    for character in "\\|*_`[]<>":
        plain = plain.replace(character, f"\\{character}")
    return plain


def unmeasured(gate: Gate) -> list[str]:
    """What the policy asks for and the audit has not measured."""
    return [test.what for test in gate.tests if test.outcome == "NOT MEASURED"]


def said(gate: Gate) -> str:
    """What a policy comes to, in a sentence.

    >>> said(Gate("default", ()))
    'Policy “default”: not passed; nothing was tested.'
    """
    if not gate.tests:
        return f"Policy “{gate.policy}”: not passed; nothing was tested."
    outcomes = [test.outcome for test in gate.tests]
    counts = (
        f"{outcomes.count('PASS')} of {counted(len(outcomes), 'test')} passed,"
        f" {outcomes.count('FAIL')} failed, {outcomes.count('NOT MEASURED')} not measured"
    )
    return f"Policy “{gate.policy}”: {'passed' if gate.passed else 'not passed'} ({counts})."


def badge(audit: Audit, policy: Policy) -> str:
    """A badge as SVG that needs nothing else: the policy, whether it is passed, and how much was
    not measured.
    """
    gate = hold_against(audit, policy)
    failed, missing = (
        [t for t in gate.tests if t.outcome == outcome] for outcome in ("FAIL", "NOT MEASURED")
    )
    right = "passed" if gate.passed else f"{len(failed)} failed" if failed else "not passed"
    if missing:
        right += f", {len(missing)} not measured"
    colour = "#1d6b3a" if gate.passed else "#9c3d0a" if failed else "#59636d"
    named = list(dict.fromkeys(f"{t.benchmark}: {t.what}" for t in missing))
    about = f"{said(gate)} {'Not measured: ' + listed(named) + '.' if named else ''}".strip()
    return _drawn(f"HQM {policy.name}", right, colour, about)


def _drawn(left: str, right: str, colour: str, about: str) -> str:
    first, other = _width(left), _width(right)
    parts: Sequence[str] = (
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{first + other}" height="20"'
            f' role="img" aria-label="{escape(f"{left}: {right}", {chr(34): "&quot;"})}">'
        ),
        f"<title>{escape(about)}</title>",
        (
            f'<rect width="{first}" height="20" fill="#343c44"/><rect x="{first}" width="{other}"'
            f' height="20" fill="{colour}"/>'
        ),
        '<g fill="#ffffff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">',
        f'<text x="6" y="14" textLength="{first - 12}">{escape(left)}</text>',
        f'<text x="{first + 6}" y="14" textLength="{other - 12}">{escape(right)}</text>',
        "</g></svg>",
    )
    return "\n".join(parts) + "\n"


def _width(text: str) -> int:
    return round(12 + 6.6 * len(text))
