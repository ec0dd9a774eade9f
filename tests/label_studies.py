"""Studies with people, made for tests: recorded answers, a plan over them, and the page served from
this process or another.
"""

from __future__ import annotations

import http.client
import re
import subprocess
import sys
import threading
import time
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hqm_label.study_plan import LabelPlan, PlanRow, write_plan

import hqm
from hqm.administration.stored_answers import Answers, respondents_in
from hqm.labels.people_labels import answer_digest
from tests.browser import Browser
from tests.conftest import administered, recorded


def store_of_answers(
    path: Path, benchmark: hqm.Benchmark, answers: Mapping[str, Mapping[str, str]]
) -> Path:
    """A store with the answers of recorded respondents: respondent -> item -> answer."""
    with hqm.Store(path) as store:
        administered(
            store,
            benchmark,
            [recorded(name, {("original", 0): dict(texts)}) for name, texts in answers.items()],
        )
    return path


def plan_of_answers(
    path: Path,
    store: Path,
    benchmark: str,
    *,
    schema: str = "binary",
    raters: Sequence[str] = ("anna", "ben"),
    gold: Mapping[int, float] | None = None,
    max_rows: int = 1000,
) -> LabelPlan:
    """A plan of all answers that a store has, each for all raters; `gold` gives the known labels of
    some rows.
    """
    loaded = hqm.load(benchmark)
    rows = []
    with hqm.Store(store, readonly=True) as opened:
        asks = hqm.Asks(opened)
        for respondent in respondents_in(asks, loaded):
            responses = Answers(asks).responses(loaded, loaded.original, respondent, 0)
            for item, response in zip(loaded.original.items, responses, strict=True):
                if response is not None and len(rows) < max_rows:
                    n = len(rows)
                    rows.append(
                        PlanRow(
                            uid=f"x{n * 7919 % 10007:05d}",
                            item=item.id,
                            respondent=respondent.name,
                            probability=0.5,
                            answer_digest=answer_digest(response),
                            raters=tuple(raters),
                            gold=(gold or {}).get(n),
                        )
                    )
    plan = LabelPlan(
        benchmark=benchmark,
        store=str(store),
        schema=schema,
        raters=tuple(raters),
        overlap=1.0,
        population=len(rows) * 2,
        rows=tuple(rows),
        seed=3,
    )
    write_plan(plan, path)
    return plan


@dataclass
class Served:
    """A page that is served, and its links."""

    address: str
    raters: Mapping[str, str]
    owner: str
    process: subprocess.Popen[str] | None = None

    def ask(
        self,
        url: str,
        fields: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        method: str = "",
    ) -> tuple[int, dict[str, str], str]:
        """Status, headers and text of a reply; with fields, as a page of ours sends them unless
        `headers` says otherwise.
        """
        target = urllib.parse.urlsplit(url if url.startswith("http") else self.address + url)
        connection = http.client.HTTPConnection(target.hostname or "", target.port, timeout=60)
        request_headers = (
            {"HX-Request": "true", "Content-Type": "application/x-www-form-urlencoded"}
            if fields is not None
            else {}
        )
        request_headers |= headers or {}
        body = urllib.parse.urlencode(fields) if fields is not None else None
        connection.request(
            method or ("POST" if fields is not None else "GET"), target.path, body, request_headers
        )
        reply = connection.getresponse()
        text = reply.read().decode("utf-8", "replace")
        connection.close()
        return reply.status, {name.lower(): value for name, value in reply.getheaders()}, text


@contextmanager
def served_here(plan: Path, **settings: Any) -> Iterator[Served]:
    """Serve a study from a thread of this process."""
    import uvicorn
    from hqm_label.page import make_app, read_links
    from hqm_label.study import Study

    study = Study(plan, **settings)
    links = read_links(plan, study.plan.raters)
    config = uvicorn.Config(
        make_app(study, links, {"127.0.0.1"}),
        host="127.0.0.1",
        port=0,
        access_log=False,
        log_level="warning",
        server_header=False,
        lifespan="off",
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 60
    while not server.started:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    address = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    try:
        raters = {rater: f"{address}/r/{token}" for rater, token in links.raters.items()}
        yield Served(address, raters, f"{address}/owner/{links.owner}")
    finally:
        server.should_exit = True
        thread.join(60)
        study.close()


@contextmanager
def served_apart(plan: Path, log: Path, port: int) -> Iterator[Served]:
    """Serve a study by the command, in a process of its own, whose output goes into a file as
    well.
    """
    command = [sys.executable, "-m", "hqm", "label", "serve", str(plan), "--port", str(port)]
    with log.open("a") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line.startswith("Stop with"):
            break
    printed = "".join(lines)
    raters = dict(re.findall(r"^  (\w+) +(http://\S+/r/\S+)$", printed, re.MULTILINE))
    owner = re.findall(r"http://\S+/owner/\S+", printed)
    assert owner, printed + log.read_text()
    try:
        yield Served(owner[0].partition("/owner/")[0], raters, owner[0], process)
    finally:
        if process.poll() is None:
            process.terminate()
        remaining_output = process.stdout.read()
        process.wait(60)
        with log.open("a") as log_file:
            log_file.write(re.sub(r"/(r|owner)/\S+", "", printed) + remaining_output)


def progress_of(browser: Browser) -> tuple[int, int]:
    """How many labels the page says there are, and of how many."""
    n_labelled, count = browser.evaluate(
        "(p => [p.value, p.max])(document.querySelector('progress'))"
    )
    return int(n_labelled), int(count)


def wait_until(browser: Browser, condition: str) -> None:
    """Wait until it holds and the page is settled: keys and buttons work only then."""
    settled = "!document.querySelector('.htmx-request, .htmx-swapping, .htmx-settling')"
    browser.wait(f"{condition} && {settled}")


def wait_for(browser: Browser, n_labelled: int) -> None:
    wait_until(browser, f"document.querySelector('progress')?.value === {n_labelled}")
