"""Make docs/report.png, the picture of a report that the README shows.

make audit && python docs/screenshot.py                     the report of the embedded benchmark
python docs/screenshot.py REPORT.html [PICTURE.png]         another report

It needs Chromium or Chrome on the path; the rest of HQM does not.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SIZE = (1200, 1500)
"""Width and height in pixels of the part of the page that is shown, from its top."""
LIMIT = 300_000
"""The largest size of the picture in bytes."""


def shoot(report: Path, picture: Path) -> None:
    """Open a report in a browser without a window and save a picture of its top.

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
        size = ",".join(map(str, SIZE))
        command = [
            browser,
            "--headless",
            "--no-sandbox",
            "--hide-scrollbars",
            "--disable-gpu",
            f"--user-data-dir={folder}",
        ]
        subprocess.run(
            [*command, f"--window-size={size}", f"--screenshot={raw}", report.resolve().as_uri()],
            check=True,
            capture_output=True,
            timeout=120,
        )
        with Image.open(raw) as opened:
            # 64 colours are enough for a page of text and tables
            opened.convert("RGB").quantize(64).save(picture, optimize=True)
    if picture.stat().st_size > LIMIT:
        raise SystemExit(
            f"{picture} has {picture.stat().st_size:,} bytes, more than {LIMIT:,}: show less of the"
            " page"
        )
    print(f"{picture}: {picture.stat().st_size:,} bytes")


if __name__ == "__main__":
    given = [Path(argument) for argument in sys.argv[1:]]
    shoot(
        *(
            given
            + [ROOT / "out" / "shapes" / "report.html", ROOT / "docs" / "report.png"][len(given) :]
        )
    )
