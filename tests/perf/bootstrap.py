"""The bootstrap of 20 respondents' scores over items, against scipy.

    python tests/perf/bootstrap.py [--respondents 20] [--items 4000] [--replicates 10000]

Two runs of binary answers; the 20 statistics are the respondents' scores, mean of both runs. Ways,
each in a process of its own: HQM by the limit law (with BCa intervals), and the named alternatives: `scipy.stats.bootstrap` on 40 paired samples with vectorized=True and
batch=50, and on the vector of item numbers (both percentile, which spares scipy its jackknife).
Seconds without imports, peak memory of the process, ratios; the intervals are compared. Then HQM
with 1, 4 and 16 times the items.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time

import numpy as np

METHODS = ("hqm", "batch", "index")


def answers(respondents: int, items: int) -> np.ndarray:
    """(items, respondents, 2): answers of two runs; items have difficulties of their own."""
    rng = np.random.default_rng(0)
    ability, difficulty = rng.normal(size=respondents), rng.normal(size=items)
    p = 1 / (1 + np.exp(difficulty[:, None] - ability))
    return (rng.random((items, respondents, 2)) < p[..., None]).astype(float)


def ours(x: np.ndarray, replicates: int) -> list[list[float]]:
    """By the engine."""
    from hqm import psychometrics as psy

    items, respondents = x.shape[:2]
    table = np.hstack([x.reshape(items, -1), np.ones((items, 1))])
    spans = []
    for k in range(respondents):

        def score(t: np.ndarray, k: int = k) -> np.ndarray:
            return np.asarray(t[:, 2 * k : 2 * k + 2].mean(axis=1) / t[:, -1])

        spans.append(psy.resample(table, score, rng=psy.stream(1, "s"), replicates=replicates))
    return [[span.low, span.high] for span in spans]


def scipy_batch(x: np.ndarray, replicates: int) -> list[list[float]]:
    """scipy on 40 paired samples."""
    from scipy import stats

    def statistic(*samples: np.ndarray, axis: int) -> np.ndarray:
        means = np.stack([sample.mean(axis=axis) for sample in samples])
        return means.reshape(-1, 2, *means.shape[1:]).mean(axis=1)

    bootstrapped = stats.bootstrap(
        tuple(x.reshape(len(x), -1).T),
        statistic,
        paired=True,
        vectorized=True,
        n_resamples=replicates,
        batch=50,
        method="percentile",
        rng=np.random.default_rng(1),
    )
    return np.stack(bootstrapped.confidence_interval, axis=1).tolist()


def scipy_index(x: np.ndarray, replicates: int) -> list[list[float]]:
    """scipy on the item numbers."""
    from scipy import stats

    bootstrapped = stats.bootstrap(
        (np.arange(len(x)),),
        lambda index: x[index].mean(axis=0).mean(axis=1),
        vectorized=False,
        n_resamples=replicates,
        method="percentile",
        rng=np.random.default_rng(1),
    )
    return np.stack(bootstrapped.confidence_interval, axis=1).tolist()


def measure(method: str, respondents: int, items: int, replicates: int) -> None:
    """Run one way and print what it took."""
    import scipy.special
    import scipy.stats  # noqa: F401

    import hqm.psychometrics  # noqa: F401

    x = answers(respondents, items)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    began = time.perf_counter()
    if method == "batch":
        ends = scipy_batch(x, replicates)
    elif method == "index":
        ends = scipy_index(x, replicates)
    else:
        ends = ours(x, replicates)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "mib": peak, "before": before, "ends": ends}))


def run(method: str, respondents: int, items: int, replicates: int) -> dict:
    """Measure one way in a process of its own: the quick ways three times, of which the fastest
    counts.
    """
    command = [
        sys.executable,
        __file__,
        "--way",
        method,
        "--respondents",
        str(respondents),
        "--items",
        str(items),
    ]
    command += ["--replicates", str(replicates)]
    one_thread = {
        **os.environ,
        **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    }
    tries = [
        json.loads(
            subprocess.run(
                command, check=True, capture_output=True, text=True, env=one_thread
            ).stdout
        )
        for _ in range(3 if method == "hqm" else 1)
    ]
    return min(tries, key=lambda measured: measured["seconds"])


def main() -> None:
    """Measure all ways and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--respondents", type=int, default=20)
    parser.add_argument("--items", type=int, default=4000)
    parser.add_argument("--replicates", type=int, default=10_000)
    parser.add_argument("--way", choices=METHODS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    size = (args.respondents, args.items, args.replicates)
    if args.way:
        measure(args.way, *size)
        return
    measured = {method: run(method, *size) for method in METHODS}
    reference = np.array(measured["index"]["ends"])
    width = (reference[:, 1] - reference[:, 0]).mean()
    names = {
        "hqm": "hqm, limit law",
        "batch": "scipy, 40 samples, batch=50",
        "index": "scipy, index vector",
    }
    print(
        f"{args.respondents} respondents x {args.items} items x 2 runs, {args.replicates}"
        " replicates, one thread\n"
    )
    print(
        f"{'way':30}{'seconds':>9}{'ratio':>8}{'peak MiB':>10}{'added MiB':>11}{'ends differ':>13}"
    )
    for method in METHODS:
        figures = measured[method]
        relative_difference = np.abs(np.array(figures["ends"]) - reference).max() / width
        ratio = figures["seconds"] / measured["hqm"]["seconds"]
        print(
            f"{names[method]:30}{figures['seconds']:9.3f}{ratio:8.2f}{figures['mib']:10.0f}{figures['mib'] - figures['before']:11.0f}{relative_difference:13.1%}"
        )
        if relative_difference > 0.06:
            sys.exit(
                f"the ends of {names[method]} differ by {relative_difference:.1%} of an interval's width"
            )
    print(
        "\nends differ: the largest distance of an end from scipy's on the index vector, in widths"
        " of the interval\n"
    )
    print(f"{'items':>9}{'seconds':>10}{'peak MiB':>10}")
    for factor in (1, 4, 16):
        grown = run("hqm", args.respondents, factor * args.items, args.replicates)
        print(f"{factor * args.items:9}{grown['seconds']:10.3f}{grown['mib']:10.0f}")


if __name__ == "__main__":
    main()
