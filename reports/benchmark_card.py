"""A benchmark's quality card, as Markdown of one screen, ten lines for a terminal, and its badge:
what a policy says of an audit, and what was not measured.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard
from xml.sax.saxutils import escape

from hqm.reports.phrases import counted, in_units, in_words, is_share, listed
from hqm.reports.sentences import MARKS, QUESTIONS, headline, mend_lines, seven
from hqm.reports.tables import (
    Table,
    Text,
    capital,
    cell,
    estimate_text,
    find,
    interval_in_words,
    known,
    leading,
    percent,
    places,
)

from hqm import (
    Audit,
    BenchmarkAudit,
    Estimate,
    Gate,
    Policy,
    by_people,
    hold_against,
    short_signature,
    to_mend,
)

# --- ten lines for a terminal ---

IN_A_WORD: Mapping[str, str] = {question: question for question in QUESTIONS} | {
    "more": "more items"
}
"""A question -> its word where a line is short."""


def brief(audit: BenchmarkAudit, room: int = 110) -> str:
    """The audit in about ten lines: its size, the verdict, seven answers, the statement."""
    models, head = counted(len(audit.respondents), "model"), headline(audit)
    lines = [
        f"{audit.title}   {counted(audit.n_items, 'item')} · {models} · {leading(audit)}",
        textwrap.fill(f"{MARKS[head.code]} {head.text}", room, subsequent_indent="  "),
    ]
    for answer in seven(audit):
        beginning = f"{MARKS[answer.code]} {IN_A_WORD[answer.question]:10} "
        sentence = textwrap.shorten(
            in_words(answer.sentences),
            max(room - len(beginning), 20),
            placeholder=" ...",
            break_on_hyphens=False,
        )
        lines.append(beginning + sentence)
    line = textwrap.fill(f"statement  {audit.statement}", room, subsequent_indent="  ")
    return "\n".join([*lines, line])


# --- sentences to quote ---

# How many keys may be wrong is a reason to read, and never quoted.


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A sentence to copy."""

    title: str
    sentence: str
    short: str
    """The short signature, which `hqm report --verify` resolves."""
    signature: str


_OVER = {
    "fixed_models": "for these respondents on other items like these",
    "model_population": "for other respondents like these",
    "items": "over items like these",
}
"""Interval -> what it generalises over."""


def quotes(audit: BenchmarkAudit, version: str) -> tuple[Quote, ...]:
    """The sentences of the headline numbers that the audit has; `version` is HQM's."""
    return tuple(_quotes(audit, version))


def _quotes(audit: BenchmarkAudit, version: str) -> Iterator[Quote]:
    metric = leading(audit)
    where = f"{audit.title} (version {audit.version})"
    rho = find(audit, "test_retest.rho_g", metric)
    if _usable(rho):
        yield _quote(
            audit,
            version,
            "Repeatability",
            rho,
            f"When {where} is asked again with another seed, the reliability of {metric} from one"
            " run (rho_G) is {value}",
        )
    for name in dict.fromkeys(
        e.other
        for e in audit.all_estimates
        if e.indicator == "parallel_forms.icc_a1" and e.metric == metric
    ):
        icc, shift = (
            find(audit, f"parallel_forms.{statistic}", metric, name)
            for statistic in ("icc_a1", "mean_shift")
        )
        if _usable(icc):
            yield _quote(
                audit,
                version,
                f"Another wording: {cell(name)}",
                icc,
                f"Between the wordings of {where} (original and {cell(name)}), the agreement of"
                f" {metric}, ICC(A,1), is {{value}}",
            )
        if _usable(shift):
            unit = (
                f", which is {in_units(audit, metric, shift.value)}"
                if is_share(audit, metric)
                else f" in units of {metric}"
            )
            yield _quote(
                audit,
                version,
                f"Shift by the wording: {cell(name)}",
                shift,
                f"In the wording “{cell(name)}” of {where}, the mean {metric} differs from that of"
                f" the original by {{value}}{unit}",
            )
    for r in audit.all_estimates:
        if (
            r.indicator == "criterion.pearson"
            and r.metric == metric
            and by_people(r)
            and _usable(r)
        ):
            yield _quote(
                audit,
                version,
                "Agreement with people",
                r,
                f"On {where}, {metric} correlates {{value}} (Pearson's r) with people's labels of"
                " the same answers",
            )
    pairs = find(audit, "discriminability.separable_pairs", metric)
    if _usable(pairs):
        apart, of = (known(pairs.detail.get(key)) for key in ("apart", "pairs"))
        count = (
            f"{apart:,.0f} of the {of:,.0f}" if apart is not None and of else percent(pairs.value)
        )
        yield _quote(
            audit,
            version,
            "Separation",
            pairs,
            f"On {where}, {count} pairs of these respondents differ in {metric} by more than the"
            " choice of items explains (paired tests, 5% after Holm)",
        )
    blind = find(audit, "solvability.blind_accuracy", metric)
    if _usable(blind):
        base = known(blind.detail.get("baseline"))
        beside = f", where the commonest answer reaches {percent(base)}" if base is not None else ""
        yield _quote(
            audit,
            version,
            "The questions alone",
            blind,
            f"From the words of the questions of {where} alone, a classifier"
            f" predicts {percent(blind.value)} of the right answers of items that it was not"
            f" trained on{beside}",
        )


def _usable(estimate: Estimate | None) -> TypeGuard[Estimate]:
    return estimate is not None and estimate.value is not None and estimate.status == "ok"


def _quote(
    audit: BenchmarkAudit, version: str, title: str, estimate: Estimate, template: str
) -> Quote:
    spans = [
        f"{interval_in_words(span, places(estimate))} {over}"
        for kind, over in _OVER.items()
        if (span := estimate.interval(kind)) is not None
    ]
    generalises = (
        "; ".join(spans)
        or "no interval: it describes these respondents and items, and nothing else"
    )
    made = (
        f"{estimate.n_respondents:,} respondents, {estimate.n_items:,} items; HQM {version},"
        f" signature {short_signature(estimate.signature)}"
    )
    return Quote(
        title=title,
        sentence=(
            f"{template.replace('{value}', estimate_text(estimate).text)} ({generalises}; {made})."
        ),
        short=short_signature(estimate.signature),
        signature=estimate.signature,
    )


def bibtex(audit: BenchmarkAudit, version: str) -> str:
    """BibTeX of the benchmark, as its card cites it, of the paper that introduced the framework,
    and of HQM.
    """
    return "\n".join((_of_benchmark(audit), _PAPER, _SOFTWARE.replace("VERSION", version)))


def _of_benchmark(audit: BenchmarkAudit) -> str:
    citation, url = audit.release.get("citation", ""), audit.release.get("url", "")
    if citation.lstrip().startswith("@"):
        return f"{citation.strip()}\n"
    fields = {
        "title": f"{{{_tex(audit.title)}}}",
        "note": _tex(citation),
        "howpublished": f"\\url{{{url}}}" if url else "",
    }
    year = re.search(r"\b(?:19|20)\d\d\b", citation)
    fields |= {"year": year[0] if year else "", "edition": _tex(f"version {audit.version}")}
    lines = "".join(f"  {name} = {{{text}}},\n" for name, text in fields.items() if text)
    return f"@misc{{{audit.benchmark},\n{lines}}}\n"


def _tex(text: str) -> str:
    return re.sub(r"([&%$#_{}])", r"\\\1", text.replace("\\", ""))


_PAPER = """@article{yan2024hqm,
  title = {Evaluating the Quality of Hallucination Benchmarks for Large Vision-Language Models},
  author = {Yan, Bei and Zhang, Jie and Yuan, Zheng and Shan, Shiguang and Chen, Xilin},
  journal = {arXiv preprint arXiv:2406.17115},
  year = {2024},
  note = {Version 3 (February 2026) has the title ``Measuring the Measurers''},
}
"""
_SOFTWARE = """@software{hqm,
  title = {{HQM}: a psychometric auditor for hallucination benchmarks of large vision-language models},
  author = {{The HQM contributors}},
  version = {VERSION},
  license = {Apache-2.0},
}
"""


_ADVICE = 3
"""How many pieces of advice a card has."""
_LONGEST = 220
"""Characters of an answer on a card."""


def quality_card(audit: Audit, policy: Policy) -> str:
    """The cards of all benchmarks of an audit, as Markdown."""
    return "\n".join(_card(benchmark, audit, policy) for benchmark in audit.audits)


def _card(benchmark: BenchmarkAudit, audit: Audit, policy: Policy) -> str:
    gate = hold_against(Audit((benchmark,), audit.command, audit.record, audit.hqm_version), policy)
    rows = [
        f"| {answer.asked} | {MARKS[answer.code]} {_cell(in_words(answer.sentences))} |"
        for answer in seven(benchmark, policy)
    ]
    missing = unmeasured(gate)
    lines = mend_lines(benchmark, to_mend(benchmark))[:_ADVICE]
    advice = [f"{line.title}. {line.sentence} {line.remedy}" for line in lines]
    signed = {quote.title: quote.short for quote in quotes(benchmark, audit.hqm_version)}
    made = ", ".join(
        (
            counted(benchmark.n_items, "item"),
            *([counted(benchmark.images, "picture")] if benchmark.images else ()),
            counted(len(benchmark.respondents), "respondent"),
        )
    )
    text = [
        f"## Quality card: {_cell(benchmark.title)}",
        "",
        (
            f"`{benchmark.benchmark}@{benchmark.version}`: {made}. Audited with HQM"
            f" {audit.hqm_version}."
        ),
        "",
        f"**{_cell(headline(benchmark, policy).text)}** {said(gate)}",
        "",
        f"For a caption: {benchmark.statement.markdown}",
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
            " `hqm report audit.json --verify SIGNATURE` resolves each."
        ),
        "",
    ]
    return "\n".join(text)


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
    open_ = outcomes.count("UNDECIDED")
    counts += f", {open_} undecided" if open_ else ""
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
    named = list(dict.fromkeys(f"{t.benchmark}: {t.what}" for t in missing))
    return _drawn(
        f"HQM {policy.name}",
        right,
        colour="#1d6b3a" if gate.passed else "#9c3d0a" if failed else "#59636d",
        about=f"{said(gate)} {'Not measured: ' + listed(named) + '.' if named else ''}".strip(),
    )


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


# --- the tests of a policy as a table ---

_OUTCOMES = {
    "FAIL": "failed",
    "UNDECIDED": "undecided",
    "NOT MEASURED": "not measured",
    "PASS": "passed",
}


def gate_table(gate: Gate) -> Table:
    """Every test of the policy: what did not pass first, with what to do."""
    order = tuple(_OUTCOMES)
    return Table.of(
        f"Policy “{gate.policy}”: {'passed' if gate.passed else 'not passed'}",
        ("Outcome", "Test", "What was held against what", "What to do"),
        rows=tuple(
            (
                Text(
                    _OUTCOMES[test.outcome] + ("" if test.required else ", not required"),
                    muted=test.outcome == "PASS",
                ),
                Text(test.what),
                Text(
                    capital(test.sentence),
                    small=test.reason if test.outcome != "PASS" else "",
                ),
                Text(test.remedy.replace("`", "")),
            )
            for test in sorted(gate.tests, key=lambda test: order.index(test.outcome))
        ),
        right=(),
        notes=(
            (
                "Thresholds are held against the unfavourable end of an interval. What was not"
                " measured is not passed. The gate on the command line prints the same."
            ),
        ),
    )


def of_benchmark(gate: Gate, benchmark: BenchmarkAudit) -> Gate:
    """The tests of one benchmark."""
    return Gate(
        gate.policy, tuple(test for test in gate.tests if test.benchmark == benchmark.benchmark)
    )
