"""Open reports in a real browser: axe-core's findings, console errors, requests that leave the
file, sideways scrolling.

    npm pack axe-core && tar xzf axe-core-*.tgz
    pip install playwright        # with a Chromium on the PATH
    python tests/perf/axe_report.py package/axe.min.js out/pope/report.html ...

Every report is opened at 400, 1,280 and 1,600 pixels, light and dark, with everything unfolded. The
exit status is 1 where axe-core finds something serious or critical, the page logs an error, asks
for anything, or scrolls sideways.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

GRAVE = ("serious", "critical")


def look(axe: Path, reports: list[Path]) -> int:
    """Print what a browser and axe-core find; how many reports have a grave fault."""
    from playwright.sync_api import sync_playwright

    faulty = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for report in reports:
            faults = []
            for width, scheme in ((400, "light"), (1280, "dark"), (1600, "light")):
                # axe-core is put into the page, which the page's own policy forbids to everybody
                # else
                context = browser.new_context(
                    viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
                )
                page = context.new_page()
                logged: list[str] = []
                asked: list[str] = []
                page.on("console", lambda message, logged=logged: logged.append(message.text))
                page.on("pageerror", lambda error, logged=logged: logged.append(str(error)))
                page.on("request", lambda request, asked=asked: asked.append(request.url))
                page.goto(report.resolve().as_uri())
                page.evaluate(
                    "document.querySelectorAll('details').forEach((details) => { details.open ="
                    " true; })"
                )
                wide = page.evaluate("document.documentElement.scrollWidth") > width
                page.add_script_tag(path=str(axe))
                result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
                named = [
                    (violation["id"], violation["impact"], len(violation["nodes"]))
                    for violation in result["violations"]
                ]
                left = [url for url in asked if not url.startswith(("data:", "file:", "blob:"))]
                print(
                    f"{report} {width} {scheme}: axe-core {named}, passes {len(result['passes'])},"
                    f" log {logged}, left the file {left}"
                )
                faults += (
                    [violation for violation in named if violation[1] in GRAVE]
                    + logged
                    + left
                    + ([f"scrolls sideways at {width}"] if wide else [])
                )
                context.close()
            if faults:
                print(f"{report}: {faults}")
            faulty += bool(faults)
        browser.close()
    return faulty


if __name__ == "__main__":
    sys.exit(1 if look(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]]) else 0)
