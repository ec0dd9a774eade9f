"""Quote this: for each headline number a sentence to copy, with its interval, what it generalises
over, and a short signature. How many keys may be wrong is a reason to read, and never quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard

from hqm.reports.details import by_people, known
from hqm.reports.tables import cell, estimate_text, find, interval, leading, percent, places
from hqm.reports.units import in_units, is_share

from hqm import BenchmarkAudit, Estimate, short_signature


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A sentence to copy."""

    title: str
    sentence: str
    short: str
    """The short signature, which `hqm verify` resolves."""
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
        for e in audit.estimates
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
    for r in audit.estimates:
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
            "Without the pictures",
            blind,
            f"From the words of the questions of {where} alone, without any picture, a classifier"
            f" predicts {percent(blind.value)} of the right answers of items that it was not"
            f" trained on{beside}",
        )


def _usable(estimate: Estimate | None) -> TypeGuard[Estimate]:
    return estimate is not None and estimate.value is not None and estimate.status == "ok"


def _quote(
    audit: BenchmarkAudit, version: str, title: str, estimate: Estimate, template: str
) -> Quote:
    spans = [
        f"95% interval {interval(span, places(estimate))} {over}"
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
    sentence = (
        f"{template.replace('{value}', estimate_text(estimate).text)} ({generalises}; {made})."
    )
    return Quote(
        title=title,
        sentence=sentence,
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
