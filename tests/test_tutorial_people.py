"""docs/tutorial_people.md from its first command to its last: the raters are scripts that label in
a real browser.
"""

import json
import os
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hqm_label.label_store import LabelStore
from hqm_label.study_plan import labels_path, read_plan

import hqm
from hqm.administration.stored_answers import respondents_in
from tests.browser import CHROMIUM, Browser
from tests.conftest import NIGHTLY, needs_torch
from tests.label_studies import Served, progress_of, served_apart, wait_for
from tests.servers import reserved_port

TUTORIAL = Path(__file__).parents[1] / "docs" / "tutorial_people.md"
ERROR = 0.05
"""How often a scripted rater presses the other key, where another rater sees the answer too and the
owner settles it: ten models give a wide interval, and a few errors that stay would decide whether
the gate opens."""
BY_KEY = 10
"""How many answers each rater labels in the browser, except nightly."""


def faithful(plan: Path) -> dict[str, bool]:
    """uid -> whether the answer, as the page shows it, is what was drawn: by the benchmark's key,
    read as a person would.
    """
    read = read_plan(plan)
    benchmark = hqm.load(read.benchmark)
    items = {item.id: item for item in benchmark.original.items}
    truth = {}
    with hqm.Store(plan.parent / "store.sqlite", readonly=True) as store:
        stored = hqm.Asks(store)
        respondent_by_name = {
            respondent.name: respondent for respondent in respondents_in(stored, benchmark)
        }
        answers = hqm.Answers(stored)
        texts = {
            name: dict(
                zip(
                    items,
                    answers.responses(benchmark, benchmark.original, respondent, 0),
                    strict=True,
                )
            )
            for name, respondent in respondent_by_name.items()
        }
    for row in read.rows:
        response, target = texts[row.respondent][row.item], items[row.item].target
        keys = target if isinstance(target, (list, tuple)) else [target]
        words = set(re.findall(r"\w+", response.text.lower()))
        truth[row.uid] = any(set(str(key).lower().split()) <= words for key in keys)
    return truth


def label(
    browser: Browser, served: Served, rater: str, truth: dict[str, bool], twice: set[str]
) -> None:
    """Label everything that a rater's link leads to, and err only where another rater looks too.

    The browser presses the keys for the first answers, nightly for all; what the page would send
    for the others is sent without it.
    """
    link, rng = served.raters[rater], random.Random(rater)
    browser.open(link)
    browser.press("Enter")
    wait_for(browser, 0)
    _, count = progress_of(browser)
    uid = browser.evaluate("document.querySelector('[name=uid]').value")
    for i in range(count):
        key = "1" if truth[uid] != (uid in twice and rng.random() < ERROR) else "0"
        if NIGHTLY or i < BY_KEY:
            browser.press(key)
            wait_for(browser, i + 1)
            if i + 1 < count:
                uid = browser.evaluate("document.querySelector('[name=uid]').value")
        else:
            sent = {"uid": uid, "choice": key, "before": "", "milliseconds": "900"}
            status, _, page = served.ask(f"{link}/label", sent)
            assert status == 200
            following = re.search(r'name="uid" value="(\w+)"', page)
            assert (following is None) == (i + 1 == count)
            uid = following[1] if following else ""
    browser.open(link)
    assert progress_of(browser) == (count, count)


def settle(browser: Browser, owner: str, truth: dict[str, bool]) -> int:
    """Decide what the raters disagree about, with the keys."""
    browser.open(owner)
    browser.click("a[href$='/decide']")
    browser.wait("document.querySelector('.said') !== null && document.readyState === 'complete'")
    wait_for(browser, 0)
    _, count = progress_of(browser)
    for i in range(count):
        uid = browser.evaluate("document.querySelector('[name=uid]').value")
        browser.press("1" if truth[uid] else "0")
        wait_for(browser, i + 1)
    return count


@needs_torch
@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_from_nothing_to_a_gate_that_people_open(
    browser: Browser, tmp_path: Path, forked_program: Path
) -> None:
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "hqm"
    # the models answer in a process as a user starts it; the other commands are forked
    command.write_text(
        f'#!/bin/sh\n[ -e study ] && exec "{forked_program}" "$@"\n'
        f'exec "{sys.executable}" -P -m hqm.cli "$@"\n'
    )
    command.chmod(0o755)
    python = tmp_path / "bin" / "python"  # else another Python would read this one's library
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    environment |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}
    plan, printed = tmp_path / "study" / "plan.jsonl", ""
    for block in re.findall(
        r"^```sh\n(.*?)^```", TUTORIAL.read_text("utf-8"), re.DOTALL | re.MULTILINE
    ):
        if not NIGHTLY:  # 20 of the items that are asked are labelled
            block = block.replace("--limit 300", "--limit 100")
        if block.startswith("hqm label serve study/plan.jsonl"):
            truth = faithful(plan)
            # the answers of ten models to 20 or 21 questions, less those that could not be read
            assert 180 <= len(truth) <= 210
            twice = {row.uid for row in read_plan(plan).rows if len(row.raters) > 1}
            with (
                reserved_port() as port,
                served_apart(plan, tmp_path / "log.txt", port) as served,
            ):
                for rater in served.raters:
                    label(browser, served, rater, truth, twice)
                assert settle(browser, served.owner, truth) > 0
                assert served.process is not None
                served.process.send_signal(signal.SIGINT)
                assert served.process.wait(60) == 0
            continue
        process = subprocess.run(
            ["bash", "-eu", "-c", block],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode == 0, block + process.stdout + process.stderr
        printed += process.stdout
    # nine of the ten models lie close together: one far away says nothing of others
    assert "FAIL criterion.pearson" in printed
    assert re.search(r"PASS +criterion\.kappa .*; people labelled", printed)
    assert "policy answers as people judge them: passed" in printed
    gate = json.loads((tmp_path / "study" / "gate.json").read_text("utf-8"))
    assert {
        test["outcome"] for test in gate["tests"] if test["what"].startswith("criterion.pearson")
    } == {"FAIL"}
    (audited,) = hqm.Audit.load(tmp_path / "study" / "people" / "audit.json").audits
    (over_models,) = (e for e in audited.all_estimates if e.indicator == "criterion.pearson")
    interval = over_models.interval("model_population")
    assert over_models.value is not None
    assert over_models.value > 0.9
    assert interval is not None
    assert interval.one_sided
    assert interval.low < over_models.value - 0.3
    with LabelStore(labels_path(plan), readonly=True) as store:
        raters = {label.rater for label in store.labels()}
    assert raters == {"anna", "ben", "adjudication"}
    page = (tmp_path / "study" / "people" / "evidence.html").read_text("utf-8")
    assert "anna" in page and "ben" in page, "the report says who labelled"  # noqa: PT018
