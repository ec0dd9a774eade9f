"""Make the pictures of reports that the README shows: docs/report.png, and the first lines of the
reports of a bad and of a sound benchmark.

hqm audit shapes_yesno --out out/shapes_yesno && python docs/screenshot.py

The verdict of the audit is noted inside the picture, where docs/shown.py compares it.
The two benchmarks are drawn by `tests/drawn_benchmarks.py`, and audited here with recorded answers.
It needs Chromium or Chrome on the path; the rest of HQM does not.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image, PngImagePlugin

ROOT = Path(__file__).resolve().parent.parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
LIMIT = 300_000
"""The largest size of a picture in bytes."""


def shoot(report: Path, picture: Path, *, width: int, height: int) -> None:
    """Save a picture of the top of a report, so many pixels wide and high, as a browser shows it.

    Raises
    ------
    SystemExit
        There is no browser or no report, or the picture is too large for the README.
    """
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None or not report.is_file():
        raise SystemExit(
            f"{report} is not there" if browser else f"none of {', '.join(BROWSERS)} is on the path"
        )
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder) / "raw.png"
        command = [
            browser,
            "--headless",
            "--no-sandbox",
            "--hide-scrollbars",
            "--disable-gpu",
            f"--user-data-dir={folder}",
            f"--window-size={width},{height}",
            f"--screenshot={raw}",
        ]
        subprocess.run(
            [*command, report.resolve().as_uri()], check=True, capture_output=True, timeout=120
        )
        noted = PngImagePlugin.PngInfo()
        noted.add_itxt("verdict", verdict_of(report.with_name("audit.json")))
        with Image.open(raw) as opened:
            # 64 colours are enough for a page of text and figures
            opened.convert("RGB").quantize(64).save(picture, optimize=True, pnginfo=noted)
    size = picture.stat().st_size
    if size > LIMIT:
        raise SystemExit(
            f"{picture} has {size:,} bytes, more than {LIMIT:,}: show less of the page"
        )
    print(f"{picture}: {size:,} bytes")


def verdict_of(audit: Path) -> str:
    """The verdict of an audit."""
    import hqm

    return hqm.Audit.load(audit).verdict


def main() -> None:
    """Make the three pictures."""
    sys.path.insert(0, str(ROOT))
    from tests.drawn_benchmarks import bad, good

    docs = ROOT / "docs"
    shoot(
        ROOT / "out" / "shapes_yesno" / "report.html", docs / "report.png", width=1200, height=770
    )
    for name, draw, seed, task in (("bad", bad, 211, "yes_no"), ("sound", good, 214, "choice")):
        with tempfile.TemporaryDirectory() as folder:
            drawn = draw(Path(folder) / "benchmark", seed, task=task)
            out = Path(folder) / "out"
            command = ["audit", str(drawn.folder), "--recorded", str(drawn.answers), "--quiet"]
            subprocess.run([sys.executable, "-m", "hqm", *command, "--out", str(out)], check=True)
            shoot(out / "report.html", docs / f"report_{name}.png", width=1200, height=560)


if __name__ == "__main__":
    main()
