"""Look at pages in a real browser: axe-core's findings, errors, sideways scrolling, how long they
take to open, and what the keyboard reaches.

    python -m tests.perf.axe_report out/pope/report.html out/pope/evidence.html ...

Every page is opened at 400, 1,280 and 1,600 pixels, light and dark, with everything unfolded. Then
the Tab key goes through it: each control must be reached, stand in the window and show that it has
the focus. The exit status is 1 where a page breaks a rule.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.browser import Browser, chromium

WIDTHS = ((400, False), (400, True), (1280, False), (1280, True), (1600, False), (1600, True))
CONTROLS = (
    "[...document.querySelectorAll('a[href], button, input, select, textarea, summary,"
    ' [tabindex="0"]\')].filter((e) => !e.disabled && e.checkVisibility({visibilityProperty: true}))'
)
FOCUS = """(() => {
  const e = document.activeElement;
  if (e === document.body) return null;
  const box = e.getBoundingClientRect(), style = getComputedStyle(e);
  const seen = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
  const shown = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
  e.dataset.reached = '1';
  return {seen, shown, name: e.tagName + ' ' + (e.textContent || '').trim().slice(0, 40)};
})()"""


def axe() -> str:
    """The script of axe-core, as axe-core-python brings it."""
    package = importlib.util.find_spec("axe_core_python")
    if package is None or package.origin is None:
        raise SystemExit("axe-core-python is not installed: pip install 'hqm-audit[test]'")
    return Path(package.origin).with_name("axe.min.js").read_text(encoding="utf-8")


def unfold(browser: Browser) -> None:
    """Open every fold of the page."""
    browser.evaluate(
        "document.querySelectorAll('details').forEach((fold) => { fold.open = true; })"
    )


def broken_rules(browser: Browser, script: str) -> list[Any]:
    """The rules of accessibility that the page breaks, each with the first place."""
    browser.evaluate(f"{script};0")
    result = browser.evaluate(
        "axe.run(document, {resultTypes: ['violations']}).then((r) => [r.violations.map((v) =>"
        " [v.id, v.impact, v.nodes.length, v.nodes[0].html.slice(0, 160)]), r.passes.length])"
    )
    assert result[1] > 5, "the rules were tried"
    return list(result[0])


def unreached(browser: Browser) -> tuple[int, list[str]]:
    """How many controls the Tab key reaches, and what is wrong with it."""
    n_controls, wrong, reached = int(browser.evaluate(f"{CONTROLS}.length")), [], 0
    browser.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    for _ in range(n_controls + 5):
        browser.press("Tab")
        focused = browser.evaluate(FOCUS)
        if focused is None:
            break
        reached += 1
        if not (focused["seen"] and focused["shown"]):
            wrong.append(f"{focused['name']}: {'not seen' if not focused['seen'] else 'no focus'}")
    left = f"{CONTROLS}.filter((e) => !e.dataset.reached).map((e) => e.outerHTML.slice(0, 120))"
    return reached, [*wrong, *(f"not reached: {html}" for html in browser.evaluate(left))]


def look(pages: list[Path]) -> int:
    """Print what the browser and axe-core find; how many pages break a rule."""
    script, faulty = axe(), 0
    for page in pages:
        faults: list[Any] = []
        # a browser for each page, whose errors are then its own
        with tempfile.TemporaryDirectory() as home, chromium(Path(home)) as browser:
            for width, dark in WIDTHS:
                browser.open(page, width, 900, dark=dark)
                opened = browser.evaluate("performance.getEntriesByType('navigation')[0].duration")
                unfold(browser)
                wide = browser.evaluate("document.documentElement.scrollWidth") > width
                faults += broken_rules(browser, script) + ["scrolls sideways"] * wide
                print(f"{page} {width} {'dark' if dark else 'light'}: {opened:.0f} ms, {faults}")
            browser.open(page, 1280, 900)
            reached, wrong = unreached(browser)
            print(f"{page}: the keyboard reaches {reached} controls; {json.dumps(wrong[:5])}")
            faults += wrong + browser.errors
        faulty += bool(faults)
    return faulty


if __name__ == "__main__":
    sys.exit(1 if look([Path(name) for name in sys.argv[1:]]) else 0)
