"""Make anew what the pages show of the embedded benchmark, or say what differs.

    python docs/shown.py [AUDIT.json] [--write]

AUDIT.json is that of `hqm audit shapes` or of COMMAND; without it, COMMAND is run first. Compared are
the sentences that the README prints below the command, the verdict in its picture (docs/screenshot.py
notes it inside the file), the verdict in the benchmark's row of docs/make/index.json, and, of an audit of
all four benchmarks, the table of the model card. With `--write` this table and the README's lines are
written, those of the released captions from the index; the picture is made by docs/screenshot.py, which needs a browser, and all
rows by docs/index_rows.py, which needs the released answers. The exit status is 1 where something differs.

What else the pages print is compared by the tests of the pages: tests/test_site.py runs the tutorials'
commands, tests/test_audits.py those of docs/audits, tests/test_index.py the commands of the index, on
released answers nightly. docs/performance.md is made by hand, with a date and a machine.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from hqm.reports.pages.sentences import STATUS_SYMBOLS, headline
from PIL import Image

import hqm

ROOT = Path(__file__).resolve().parent.parent
BENCHMARK = "shapes_yesno"
COMMAND = f"hqm audit {BENCHMARK}"
README = ROOT / "README.md"
PICTURE = ROOT / "docs" / "report.png"
CARD = ROOT / "benchmarks" / "shapes" / "MODEL_CARD.md"
WIDTH = 120
"""Characters of a line in the README."""
INDEX = ROOT / "docs" / "make" / "index.json"
_CAPTIONS = re.compile(r"(?s)(/pope/captions\" --out out/captions\n```\n\n```text\n)(.+?)\n(?=```)")
"""The README's command on released captions, and the lines below it."""
_CARD_ROWS = re.compile(r"(?m)(?<=^\|---\|---\|---\|---\|---\|---\|---\|---\|---\|\n)(?:\|.+\n)+")
"""The table of the model card below its head."""
_SHOWN = re.compile(rf"(?m)^(\$ {COMMAND}\b.*\n)((?:(?!\$ ).+\n)+)")
"""A command of a terminal, and the lines below it."""


def terminal_line(audit: hqm.BenchmarkAudit) -> str:
    """The first sentences that the terminal prints of an audit."""
    head = headline(audit)
    return filled(head.code, head.text)


def filled(code: str, verdict: str) -> str:
    """A verdict with its symbol, in lines of the README's width."""
    return textwrap.fill(f"{STATUS_SYMBOLS[code]} {verdict}", WIDTH, subsequent_indent="  ")


def captions_line() -> str:
    """The same of the released captions, as their row of the index has it."""
    rows = json.loads(INDEX.read_text("utf-8"))["rows"]
    (row,) = [row for row in rows if row["command"].endswith("$HQM_DATA/pope/captions")]
    return filled(row["code"], row["verdict"])


def shown_line(readme: str) -> str:
    """The lines that the README shows below the command; empty where there is none."""
    shown = _SHOWN.search(readme)
    return shown[2].rstrip() if shown else ""


def card_rows(audits: Sequence[hqm.BenchmarkAudit]) -> str:
    """The rows of the model card's table, from the audits of all four benchmarks."""
    by_task = {
        audit.benchmark: {respondent.name: respondent for respondent in audit.respondents}
        for audit in audits
    }
    original, parallel = (f"form={form}|run=0|judge=rule" for form in ("original", "parallel"))
    lines = []
    for name, polar in by_task[BENCHMARK].items():
        captions = by_task["shapes_caption"][name]
        numbers = [
            f"{polar.cells[original]['accuracy']:.3f}",
            f"{polar.cells[parallel]['accuracy']:.3f}",
            f"{polar.yes_ratio[original]:.2f}",
            f"{by_task['shapes_choice'][name].cells[original]['accuracy']:.3f}",
            f"{by_task['shapes_vqa'][name].cells[original]['accuracy']:.3f}",
            f"{captions.cells[original]['chair_i']:.3f}",
            f"{captions.words[original]:.1f}",
            f"{captions.words[parallel]:.1f}",
        ]
        lines.append(f"| `{name.partition(':')[2]}` | {' | '.join(numbers)} |\n")
    return "".join(lines)


def card_differences(audits: Sequence[hqm.BenchmarkAudit]) -> Iterator[tuple[str, str, str]]:
    """As `differences`, of the model card."""
    shown = _CARD_ROWS.search(CARD.read_text("utf-8"))
    made = card_rows(audits)
    if shown is None or shown[0] != made:
        yield "MODEL_CARD.md", shown[0] if shown else "", made


def differences(audit: hqm.BenchmarkAudit) -> Iterator[tuple[str, str, str]]:
    """(what, as it is shown, as the audit has it) of everything that differs."""
    rows = json.loads(INDEX.read_text("utf-8"))["rows"]
    (row,) = [row for row in rows if row["title"] == audit.title]
    captions = _CAPTIONS.search(README.read_text("utf-8"))
    with Image.open(PICTURE) as picture:
        noted = str(picture.info.get("verdict", ""))
    for name, text, made in (
        ("README.md", shown_line(README.read_text("utf-8")), terminal_line(audit)),
        ("README.md, captions", captions[2] if captions else "", captions_line()),
        ("docs/report.png", noted, audit.verdict),
        ("docs/make/index.json", row["verdict"], audit.verdict),
    ):
        if text != made:
            yield name, text, made


def write(audit: hqm.BenchmarkAudit) -> None:
    """Write the README's lines."""
    text = README.read_text("utf-8")
    line = terminal_line(audit)
    text = _SHOWN.sub(lambda m: f"{m[1]}{line}\n", text)
    text = _CAPTIONS.sub(lambda m: f"{m[1]}{captions_line()}\n", text)
    README.write_text(text, encoding="utf-8")


def main() -> int:
    """Compare, and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("audit", type=Path, nargs="?")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.audit
        if path is None:
            words = [*COMMAND.split()[1:], "--quiet", "--out", folder]
            subprocess.run([sys.executable, "-m", "hqm", *words], check=True)
            path = Path(folder) / "audit.json"
        audits = hqm.Audit.load(path).audits
    (audit,) = [audit for audit in audits if audit.benchmark == BENCHMARK]
    if options.write:
        write(audit)
    changes = list(differences(audit))
    if len(audits) > 1:
        if options.write:
            text = _CARD_ROWS.sub(card_rows(audits), CARD.read_text("utf-8"))
            CARD.write_text(text, encoding="utf-8")
        changes += card_differences(audits)
    for name, text, made in changes:
        print(f"{name} shows\n    {text}\nand the audit has\n    {made}")
    return int(bool(changes))


if __name__ == "__main__":
    sys.exit(main())
