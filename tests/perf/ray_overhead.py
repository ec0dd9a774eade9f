"""What Ray costs: two actors against the two worker processes of the local engine, and one actor
killed in the middle.

    python tests/perf/ray_overhead.py [--rounds 5] [--runs 4]

An embedded model captions the pictures of `shapes_caption`, `--runs` times at temperature 1, into a
store on disk. The engines take turns, each in a process of its own: two worker processes of one
thread each, or two actors of one CPU each. Printed are medians over the rounds of

    whole       from the command to the last stored answer, with the start of a cluster for Ray
    joined      the same for a cluster that runs already
    answering   from the first to the last quarter of the answers, while both workers are at work
    processor   seconds of the workers or actors, and of everything with the driver and the cluster, in both of these times

and Ray's ratio to the local engine. Then one actor is killed by SIGKILL in the middle: every
question must be answered once, with the same bytes as by the local engine.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from hqm.respondents import make_respondent

MODEL = "hf/shapes:half-trained"
OWN_SESSION = """
import os, sys
if "forkserver" in " ".join(sys.orig_argv):
    os.setsid()
"""
"""On a machine that others use, Linux gives each session its share of the processors
(sched_autogroup_enabled). Each of Ray's actors is a session of its own; here the worker processes of
the local engine are one beside the driver's."""


def is_worker(process: Any) -> bool:
    """Whether a process answers: a worker process of the local engine, or an actor."""
    lines = [" ".join(candidate.cmdline()) for candidate in (process, process.parent())]
    # workers are forked from a server process, and have its command line
    return "ray::Actor" in lines[0] or all("forkserver" in line for line in lines)


def spent(processes: list[Any]) -> float:
    """Processor seconds so far."""
    return sum(sum(process.cpu_times()[:2]) for process in processes if process.is_running())


def turn(engine: str, runs: int, items: int, store: Path, kill: bool) -> dict[str, Any]:
    """One administration by one engine, in this process."""
    import psutil

    began = time.perf_counter()
    import hqm
    from hqm.administration.engines import make_engine

    cluster = None
    if engine == "joined":
        import ray

        cluster = ray.init(
            address="local", num_cpus=2, include_dashboard=False, log_to_driver=False
        )
        began = time.perf_counter()
    benchmark = hqm.load("shapes_caption")
    benchmark.prepare_images(benchmark.original)
    form = hqm.Form("original", benchmark.original.items[:items])
    progress: list[tuple[float, int]] = []
    killed: list[int] = []
    me = psutil.Process()
    spent_at: dict[float, tuple[float, float]] = {}
    with hqm.Store(store) as opened:
        asks = hqm.Asks(opened)
        assignment = hqm.assign(make_respondent(MODEL), benchmark, {"temperature": 1.0})
        jobs = [
            hqm.plan_job(asks, assignment, hqm.Administration(form, run)) for run in range(runs)
        ]
        total = sum(len(job.todo) for job in jobs)

        def note(_job: Any, count: int) -> None:
            n_done = (progress[-1][1] if progress else 0) + count
            progress.append((time.perf_counter(), n_done))
            if kill and not killed and n_done > total // 2:
                actors = [process for process in me.children(recursive=True) if is_worker(process)]
                killed.append(len(actors))
                os.kill(actors[0].pid, signal.SIGKILL)
            for share in (0.25, 0.75, 1.0):
                if n_done >= total * share and share not in spent_at:
                    processes = me.children(recursive=True)
                    workers = spent([process for process in processes if is_worker(process)])
                    spent_at[share] = workers, spent([me, *processes])

        job_engine = (
            make_engine("local", workers=2)
            if engine == "local"
            else make_engine("ray", workers=2, cpus=1)
        )
        outcome = hqm.administer(opened, jobs, note, engine=job_engine)
    if cluster is not None:
        import ray

        ray.shutdown()
    share_times = [
        next(moment for moment, n_done in progress if n_done >= total * share)
        for share in (0.25, 0.75)
    ]
    return {
        "asked": outcome.asked,
        "errors": outcome.errors,
        "whole": progress[-1][0] - began,
        "answering": share_times[1] - share_times[0],
        "killed": killed,
        "total": total,
        "processor of the workers": spent_at[1.0][0],
        "processor of everything": spent_at[1.0][1],
        "answering, processor of the workers": spent_at[0.75][0] - spent_at[0.25][0],
        "answering, processor of everything": spent_at[0.75][1] - spent_at[0.25][1],
    }


def take_turn(
    engine: str, options: argparse.Namespace, store: Path, kill: bool = False
) -> dict[str, Any]:
    """The same in a process of its own."""
    command = [
        sys.executable,
        __file__,
        "--turn",
        engine,
        "--runs",
        str(options.runs),
        "--items",
        str(options.items),
    ]
    command += ["--store", str(store), *(["--kill"] if kill else [])]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "sitecustomize.py").write_text(OWN_SESSION, encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": folder}
        process = subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment
        )
    if process.returncode:
        raise SystemExit(process.stderr)
    return dict(json.loads(process.stdout.splitlines()[-1]))


def rows(path: Path) -> list[tuple[Any, ...]]:
    """Every stored answer."""
    with closing(sqlite3.connect(path)) as db:
        query = "SELECT a.digest, run, attempt, state, text FROM answers JOIN asks a ON a.id = ask"
        return sorted(db.execute(query))


def main() -> None:
    """Take turns, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--items", type=int, default=1008)
    parser.add_argument("--turn", choices=("local", "ray", "joined"), help=argparse.SUPPRESS)
    parser.add_argument("--store", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--kill", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    if options.turn:
        print(
            json.dumps(turn(options.turn, options.runs, options.items, options.store, options.kill))
        )
        return
    engines, results = ("local", "ray", "joined"), {}
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        for number in range(options.rounds):
            for engine in engines[number % 3 :] + engines[: number % 3]:
                result = take_turn(engine, options, folder / f"{engine}-{number}.sqlite")
                assert result["errors"] == 0
                assert result["asked"] == result["total"]
                results.setdefault(engine, []).append(result)
                print(f"{engine} {json.dumps(result)}", file=sys.stderr, flush=True)
        killed = take_turn("joined", options, folder / "killed.sqlite", kill=True)
        reference = rows(folder / "local-0.sqlite")
        equal_stores = [rows(path) == reference for path in sorted(folder.glob("*.sqlite"))]
        once = len(rows(folder / "killed.sqlite")) == killed["total"]
        alike = rows(folder / "killed.sqlite") == reference
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(
        f"{results['local'][0]['total']:,} captions by {MODEL}, {options.rounds} rounds,"
        f" load {load}\n"
    )
    print(
        "| medians, seconds | local engine, 2 processes | Ray, 2 actors | ratio | Ray, cluster"
        " running | ratio |\n|" + "---|" * 6
    )
    for measure in (
        "whole",
        "answering",
        *(measure for measure in results["local"][0] if "processor" in measure),
    ):
        local, ray_median, joined = (
            statistics.median(result[measure] for result in results[engine]) for engine in engines
        )
        cost, cost_joined = (
            f"{seconds / local:.2f}" if local else "" for seconds in (ray_median, joined)
        )
        print(
            f"| {measure} | {local:.1f} | {ray_median:.1f} | {cost} | {joined:.1f} |"
            f" {cost_joined} |"
        )
    print(f"\nequal answers in all {len(equal_stores)} stores: {all(equal_stores)}")
    print(
        f"an actor of {killed['killed']} killed in the middle: {killed['asked']} asked,"
        f" {killed['errors']} errors, each of {killed['total']} stored once: {once}, the same"
        f" bytes: {alike}, whole {killed['whole']:.1f} s"
    )


if __name__ == "__main__":
    main()
