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

from hqm.reports.pages.phrases import difference_with_unit, join_names, plain_text, pluralise
from hqm.reports.pages.sentences import (
    QUESTIONS,
    STATUS_SYMBOLS,
    answer_questions,
    headline,
    remedy_lines,
)
from hqm.reports.tables.table import (
    Table,
    Text,
    administration_name,
    capital,
    decimals_of,
    estimate_text,
    find_estimate,
    finite_number,
    interval_in_words,
    leading_metric,
    percent,
)

from hqm import Audit, BenchmarkAudit, Estimate, Gate, Policy
from hqm.auditing.gate import check_against
from hqm.auditing.score_points import is_share
from hqm.auditing.seven_questions import find_remedies
from hqm.imports.human_labels import by_people
from hqm.signature import short_signature

# --- ten lines for a terminal ---

QUESTION_SHORT_NAMES: Mapping[str, str] = {question: question for question in QUESTIONS} | {
    "more": "more items"
}
"""A question -> its word where a line is short."""


def brief(audit: BenchmarkAudit, width: int = 110) -> str:
    """The audit in about ten lines: its size, the verdict, seven answers, the statement."""
    head = headline(audit)
    items = pluralise(audit.n_items, "item")
    models = pluralise(len(audit.respondents), "model")
    lines = [
        f"{audit.title}   {items} · {models} · {leading_metric(audit)}",
        textwrap.fill(f"{STATUS_SYMBOLS[head.code]} {head.text}", width, subsequent_indent="  "),
    ]
    for answer in answer_questions(audit):
        beginning = f"{STATUS_SYMBOLS[answer.code]} {QUESTION_SHORT_NAMES[answer.question]:10} "
        sentences = [plain_text([sentence]) for sentence in answer.sentences]
        lines.append(_whole_sentences(beginning, sentences, width))
    line = textwrap.fill(f"statement  {audit.statement}", width, subsequent_indent="  ")
    return "\n".join([*lines, line])


def _whole_sentences(beginning: str, sentences: Sequence[str], width: int) -> str:
    """The first sentence, and the next ones as far as they fit into its line; none is cut."""
    text = beginning + "".join(sentences[:1])
    # A sentence that is cut in the middle may say the opposite of the whole one.
    for sentence in sentences[1:]:
        if len(f"{text} {sentence}") > width:
            break
        text = f"{text} {sentence}"
    return textwrap.fill(
        text, width, subsequent_indent=" " * len(beginning), break_on_hyphens=False
    )


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


_GENERALISATIONS = {
    "fixed_models": "for these respondents on other items like these",
    "model_population": "for other respondents like these",
    "items": "over items like these",
}
"""Interval -> what it generalises over."""


def quotes(audit: BenchmarkAudit, version: str) -> tuple[Quote, ...]:
    """The sentences of the headline numbers that the audit has; `version` is HQM's."""
    return tuple(_quotes(audit, version))


def _quotes(audit: BenchmarkAudit, version: str) -> Iterator[Quote]:
    metric = leading_metric(audit)
    benchmark_name = f"{audit.title} (version {audit.version})"
    rho = find_estimate(audit, "test_retest.rho_g", metric)
    if _usable(rho):
        yield _quote(
            audit,
            version,
            "Repeatability",
            rho,
            f"When {benchmark_name} is run again with another seed, the reliability of {metric}"
            " from one"
            " run (rho_G) is {value}",
        )
    # Several metrics and runs compare the same wording; one sentence of each wording is enough.
    agreements: dict[str, Estimate] = {}
    for estimate in audit.all_estimates:
        if estimate.indicator == "parallel_forms.icc_a1" and estimate.metric == metric:
            agreements.setdefault(estimate.other, estimate)
    for agreement in agreements.values():
        yield from _wording_quotes(audit, version, agreement)
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
                f"On {benchmark_name}, {metric} correlates {{value}} (Pearson's r) with people's"
                " labels of"
                " the same answers",
            )
    pairs = find_estimate(audit, "discriminability.separable_pairs", metric)
    if _usable(pairs):
        # An audit without these counts still has the share of the pairs.
        n_separated, n_pairs = (finite_number(pairs.detail.get(key)) for key in ("apart", "pairs"))
        if n_separated is not None and n_pairs:
            count = f"{n_separated:,.0f} of the {n_pairs:,.0f}"
        else:
            count = percent(pairs.value)
        yield _quote(
            audit,
            version,
            "Separation",
            pairs,
            f"On {benchmark_name}, {count} pairs of these respondents differ in {metric} by more"
            " than the"
            " choice of items explains (paired tests, 5% after Holm over all pairs)",
        )
    blind = find_estimate(audit, "solvability.blind_accuracy", metric)
    if _usable(blind):
        base = finite_number(blind.detail.get("baseline"))
        if base is not None:
            baseline_note = f", where the commonest answer reaches {percent(base)}"
        else:
            baseline_note = ""
        yield _quote(
            audit,
            version,
            "The questions alone",
            blind,
            f"From the words of the questions of {benchmark_name} alone, a classifier"
            f" predicts {percent(blind.value)} of the right answers of items that it was not"
            f" trained on{baseline_note}",
        )


def _wording_quotes(audit: BenchmarkAudit, version: str, icc: Estimate) -> Iterator[Quote]:
    """The agreement with another wording, and the shift of the mean by it."""
    metric = icc.metric
    benchmark_name = f"{audit.title} (version {audit.version})"
    wording = administration_name(icc.other)
    if _usable(icc):
        yield _quote(
            audit,
            version,
            f"Another wording: {wording}",
            icc,
            f"Between the wordings of {benchmark_name} (original and {wording}), the agreement of"
            f" {metric}, ICC(A,1), is {{value}}",
        )
    shift = find_estimate(audit, "parallel_forms.mean_shift", metric, icc.other)
    if _usable(shift):
        unit = f" in units of {metric}"
        if is_share(audit, metric):
            unit = f", which is {difference_with_unit(audit, metric, shift.value)}"
        yield _quote(
            audit,
            version,
            f"Shift by the wording: {wording}",
            shift,
            f"In the wording “{wording}” of {benchmark_name}, the mean {metric} differs from that"
            f" of the original by {{value}}{unit}",
        )


def _usable(estimate: Estimate | None) -> TypeGuard[Estimate]:
    return estimate is not None and estimate.value is not None and estimate.status == "ok"


def _quote(
    audit: BenchmarkAudit, version: str, title: str, estimate: Estimate, template: str
) -> Quote:
    intervals = []
    for kind, generalisation in _GENERALISATIONS.items():
        if interval := estimate.interval(kind):
            words = interval_in_words(interval, decimals_of(estimate))
            intervals.append(f"{words} {generalisation}")
    generalises = (
        "; ".join(intervals)
        or "no interval: it describes these respondents and items, and nothing else"
    )
    source = (
        f"{estimate.n_respondents:,} respondents, {estimate.n_items:,} items; HQM {version},"
        f" signature {short_signature(estimate.signature)}"
    )
    return Quote(
        title=title,
        sentence=(
            # The template is not formatted: names of benchmarks may hold braces, and a `{x}` in one
            # ended in a KeyError.
            f"{template.replace('{value}', estimate_text(estimate).text)} ({generalises};"
            f" {source})."
        ),
        short=short_signature(estimate.signature),
        signature=estimate.signature,
    )


def bibtex(audit: BenchmarkAudit, version: str) -> str:
    """BibTeX of the benchmark, as its card cites it, of the paper that introduced the framework,
    and of HQM.
    """
    return "\n".join((_benchmark_entry(audit), _PAPER, _SOFTWARE.replace("VERSION", version)))


def _benchmark_entry(audit: BenchmarkAudit) -> str:
    citation = audit.release.get("citation", "")
    url = audit.release.get("url", "")
    # A card may hold a whole BibTeX entry, which its authors know better than we.
    if citation.lstrip().startswith("@"):
        return f"{citation.strip()}\n"
    # A title in two pairs of braces keeps its capitals, whatever the style.
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
  title = {{HQM}: a psychometric auditor for hallucination benchmarks of large \
vision-language models},
  author = {{The HQM contributors}},
  version = {VERSION},
  license = {Apache-2.0},
}
"""


_MAX_ADVICE = 3
"""How many pieces of advice a card has."""
_MAX_ANSWER_CHARS = 220
"""Characters of an answer on a card."""


def quality_card(audit: Audit, policy: Policy) -> str:
    """The cards of all benchmarks of an audit, as Markdown."""
    return "\n".join(_card(benchmark, audit, policy) for benchmark in audit.audits)


def _card(benchmark: BenchmarkAudit, audit: Audit, policy: Policy) -> str:
    # A policy is asked of one benchmark alone: on a card nothing is said of the others of an audit.
    gate = check_against(
        Audit((benchmark,), audit.command, audit.record, audit.hqm_version), policy
    )
    rows = [
        f"| {answer.question_text} | {STATUS_SYMBOLS[answer.code]}"
        f" {_cell(plain_text(answer.sentences))} |"
        for answer in answer_questions(benchmark, policy)
    ]
    missing = unmeasured_tests(gate)
    lines = remedy_lines(benchmark, find_remedies(benchmark))[:_MAX_ADVICE]
    advice = [f"{line.title}. {line.sentence} {line.remedy}" for line in lines]
    signed = {quote.title: quote.short for quote in quotes(benchmark, audit.hqm_version)}
    signatures = ", ".join(f"{title.lower()} `{short}`" for title, short in signed.items())
    sizes = ", ".join(
        (
            pluralise(benchmark.n_items, "item"),
            *([pluralise(benchmark.images, "picture")] if benchmark.images else ()),
            pluralise(len(benchmark.respondents), "respondent"),
        )
    )
    text = [
        f"## Quality card: {_cell(benchmark.title)}",
        "",
        (
            f"`{benchmark.benchmark}@{benchmark.version}`: {sizes}. Audited with HQM"
            f" {audit.hqm_version}."
        ),
        "",
        f"**{_cell(headline(benchmark, policy).text)}** {gate_sentence(gate)}",
        "",
        f"For a caption: {benchmark.statement.markdown}",
        "",
        "| Question | What this audit shows |",
        "|---|---|",
        *rows,
        "",
        f"Not measured: {join_names(missing) if missing else 'nothing that the policy asks for'}.",
        *(
            ["", "To fix first:", "", *(f"{i}. {_cell(text)}" for i, text in enumerate(advice, 1))]
            if advice
            else []
        ),
        "",
        (
            f"Signatures: {signatures or 'none'}."
            " `hqm report audit.json --verify SIGNATURE` resolves each."
        ),
        "",
    ]
    return "\n".join(text)


def _cell(text: str) -> str:
    """Text in one cell of Markdown."""
    # A line end would end the row of a Markdown table.
    plain = " ".join(text.split())
    if len(plain) > _MAX_ANSWER_CHARS:
        plain = f"{plain[:_MAX_ANSWER_CHARS].rsplit(' ', 1)[0]} …"
    for character in "\\|*_`[]<>":
        plain = plain.replace(character, f"\\{character}")
    return plain


def unmeasured_tests(gate: Gate) -> list[str]:
    """What the policy asks for and the audit has not measured."""
    return [test.what for test in gate.tests if test.outcome == "NOT MEASURED"]


def gate_sentence(gate: Gate) -> str:
    """Whether an audit passes a policy, with the number of tests by outcome, in a sentence.

    >>> gate_sentence(Gate("default", ()))
    'Policy “default”: not passed, because nothing was tested.'
    """
    if not gate.tests:
        return f"Policy “{gate.policy}”: not passed, because nothing was tested."
    outcomes = [test.outcome for test in gate.tests]
    counts = (
        f"{outcomes.count('PASS')} of {pluralise(len(outcomes), 'test')} passed,"
        f" {outcomes.count('FAIL')} failed, {outcomes.count('NOT MEASURED')} not measured"
    )
    open_ = outcomes.count("UNDECIDED")
    counts += f", {open_} undecided" if open_ else ""
    return f"Policy “{gate.policy}”: {'passed' if gate.passed else 'not passed'} ({counts})."


def badge(audit: Audit, policy: Policy) -> str:
    """A badge as SVG that needs nothing else: the policy, whether it is passed, and how much was
    not measured.
    """
    gate = check_against(audit, policy)
    n_failed = sum(test.outcome == "FAIL" for test in gate.tests)
    missing = [test for test in gate.tests if test.outcome == "NOT MEASURED"]
    right = "not passed"
    # Contrast with white letters is above 4.5 for each, as WCAG 2 asks of small text.
    colour = "#59636d"
    if gate.passed:
        right = "passed"
        colour = "#1d6b3a"
    elif n_failed:
        right = f"{n_failed} failed"
        colour = "#9c3d0a"
    if missing:
        right += f", {len(missing)} not measured"
    description = gate_sentence(gate)
    if missing:
        names = dict.fromkeys(f"{test.benchmark}: {test.what}" for test in missing)
        description += f" Not measured: {join_names(list(names))}."
    return _badge_svg(
        f"HQM {policy.name}",
        right,
        colour=colour,
        description=description,
    )


def _badge_svg(left: str, right: str, colour: str, description: str) -> str:
    first = _width(left)
    second = _width(right)
    parts: Sequence[str] = (
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{first + second}" height="20"'
            f' role="img" aria-label="{escape(f"{left}: {right}", {chr(34): "&quot;"})}">'
        ),
        f"<title>{escape(description)}</title>",
        (
            f'<rect width="{first}" height="20" fill="#343c44"/><rect x="{first}" width="{second}"'
            f' height="20" fill="{colour}"/>'
        ),
        '<g fill="#ffffff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="12">',
        f'<text x="6" y="14" textLength="{first - 12}">{escape(left)}</text>',
        f'<text x="{first + 6}" y="14" textLength="{second - 12}">{escape(right)}</text>',
        "</g></svg>",
    )
    return "\n".join(parts) + "\n"


def _width(text: str) -> int:
    # 7.2 pixels a letter are Verdana's mean width at 12 pixels; textLength fits the letters to it
    # where another font is used.
    return round(12 + 7.2 * len(text))


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
    return Table.for_page(
        f"Policy “{gate.policy}”: {'passed' if gate.passed else 'not passed'}",
        ("Outcome", "Test", "Comparison", "What to do"),
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
                "Each threshold is compared with the unfavourable end of an interval. What was not"
                " measured is not passed. The gate on the command line prints the same."
            ),
        ),
    )


def gate_of_benchmark(gate: Gate, benchmark: BenchmarkAudit) -> Gate:
    """The tests of one benchmark."""
    return Gate(
        gate.policy, tuple(test for test in gate.tests if test.benchmark == benchmark.benchmark)
    )
