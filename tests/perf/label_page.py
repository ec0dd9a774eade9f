"""How long the page of `hqm label serve` takes from a key to the next answer, over 300 labels in a
real browser.

    python -m tests.perf.label_page [LABELS]

Prints the median and the 95th percentile in milliseconds, of the whole way in the browser (key,
request, reply, drawing) and of the server's reply alone. The target is a median under 150 ms.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import hqm
from tests.browser import chromium
from tests.label_studies import plan_of_answers, served_here, store_of_answers


def measure(labels: int) -> None:
    """Label with the key 1 until `labels` are given, and print what it took."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        benchmark = hqm.load("shapes_vqa")
        benchmark.prepare_images(benchmark.original)
        texts = {item.id: str(item.target) for item in benchmark.original.items[:labels]}
        store = store_of_answers(folder / "store.sqlite", benchmark, {"respondent": texts})
        plan = plan_of_answers(folder / "plan.jsonl", store, "shapes_vqa", raters=("anna", "ben"))
        with served_here(folder / "plan.jsonl") as served:
            replies = []
            for row in plan.rows:
                start = time.perf_counter()
                served.ask(f"{served.raters['ben']}/label", {"uid": row.uid, "choice": "1"})
                replies.append(1000 * (time.perf_counter() - start))
            with chromium(folder / "profile") as browser:
                browser.open(f"{served.raters['anna']}/begin")
                key_times = browser.evaluate(
                    "(async (labels) => { const took = []; for (let i = 0; i < labels; i++) {"
                    " const start = performance.now();  const next = new Promise((done) =>"
                    " document.addEventListener('htmx:afterSettle', done, {once: true})); "
                    " document.getElementById('page').dispatchEvent(new KeyboardEvent('keydown',"
                    " {key: '1', bubbles: true}));  await next; await new"
                    " Promise(requestAnimationFrame); took.push(performance.now() - start); }"
                    f" return took; }})({labels})"
                )
        for interval_name, times in (
            ("key to next answer", key_times),
            ("server's reply", replies),
        ):
            ordered = sorted(times)
            tail = ordered[int(0.95 * len(ordered))]
            print(
                f"{interval_name}: median {statistics.median(times):.0f} ms, 95th percentile {tail:.0f} ms,"
                f" {len(times)} labels"
            )


if __name__ == "__main__":
    measure(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
