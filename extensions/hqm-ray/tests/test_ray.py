"""The Ray engine on real clusters of this machine: a node that joins, a worker that is killed, the
same bytes as here. The clusters are started nightly.
"""

import functools
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from hqm_ray.engine import Actor

import hqm
from hqm import Administration, Asks, Request, RespondentError, Sampling, Store
from hqm.administration.asks import Job
from hqm.administration.engines import make_engine
from hqm.administration.engines.placement import GIB, Model
from hqm.respondents import make_respondent
from hqm.signature import digest_file
from tests.conftest import needs_torch, nightly
from tests.messages import pattern_of, tells

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"


def rows(path: Path) -> list[tuple[Any, ...]]:
    """Every answer by content: who, what, run, attempt, state, text."""
    with closing(sqlite3.connect(path)) as db:
        query = (
            "SELECT r.digest, a.digest, run, attempt, state, text, reason FROM answers "
            "JOIN respondents r ON r.id = respondent JOIN asks a ON a.id = ask"
        )
        return sorted(db.execute(query))


def jobs_of(store: Store, names: list[str]) -> list[Job]:
    benchmark = hqm.load("shapes_yesno")
    benchmark.prepare_images(benchmark.original)
    form = replace(benchmark.original, items=benchmark.original.items[:600])
    asks = Asks(store)
    assignments = [hqm.assign(make_respondent(name, batch=4), benchmark) for name in names]
    return [hqm.plan_job(asks, assignment, Administration(form, 0)) for assignment in assignments]


def actors() -> set[int]:
    """The processes of this run's actors."""
    pids = set()
    for process in psutil.process_iter(["cmdline", "environ"]):
        command = process.info["cmdline"] or [""]
        if command[0].startswith("ray::Actor") and os.environ["HQM_TEST_RUN"] in str(
            process.info["environ"]
        ):
            pids.add(process.pid)
    return pids


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    ray = pytest.importorskip("ray")
    monkeypatch.setenv("HQM_TEST_RUN", f"run-{os.getpid()}-{time.time_ns()}")
    from ray.cluster_utils import Cluster

    ray_cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    yield ray_cluster
    ray.shutdown()
    ray_cluster.shutdown()


@nightly
def test_a_node_that_joins_helps_and_a_worker_that_is_killed_costs_nothing(
    cluster: Any, tmp_path: Path
) -> None:
    """One node, then two; the first worker is killed in the middle.

    What is stored is what this process would store.
    """
    names = ["hf/shapes:half-trained"]
    with Store(tmp_path / "here.sqlite") as store:
        assert hqm.administer(store, jobs_of(store, names)).asked == 600
    progress: dict[str, Any] = {"answers": 0, "actors": set(), "killed": None}

    def watch(_job: Job, count: int) -> None:
        progress["answers"] += count
        if not progress["actors"]:
            progress["actors"] = actors()
            assert len(progress["actors"]) == 1, "one CPU, one actor"
            cluster.add_node(num_cpus=1, include_dashboard=False)
        elif progress["killed"] is None:
            running = actors()
            progress["actors"] |= running
            if len(running) == 2:
                progress["killed"], progress["at"] = min(running), progress["answers"]
                os.kill(progress["killed"], signal.SIGKILL)
            else:
                time.sleep(1.5)  # the second is still starting: leave something for it to do
        else:
            progress["actors"] |= actors()

    with Store(tmp_path / "there.sqlite") as store:
        engine = make_engine("ray", workers=0, address=cluster.address)
        outcome = hqm.administer(store, jobs_of(store, names), watch, engine=engine)
    assert (outcome.asked, outcome.errors, outcome.failed) == (600, 0, ())
    assert progress["killed"] is not None
    assert 0 < progress["at"] < 600, "it was killed in the middle"
    assert rows(tmp_path / "there.sqlite") == rows(tmp_path / "here.sqlite")


@nightly
def test_a_command_starts_a_cluster_of_its_own_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    store = tmp_path / "store.sqlite"
    command = [
        sys.executable,
        "-m",
        "hqm.cli",
        "run",
        "shapes_yesno",
        "-r",
        "hf/shapes:half-trained",
        "--quiet",
    ]
    command += ["--forms", "original", "--runs", "1", "--set", "batch=2", "--store", str(store)]
    command += ["--set", "engine=ray", "--set", "workers=1"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 300
    while (n_stored := stored(store)) < 20:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    children = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=300)
    n_stored = stored(store)
    assert process.returncode == 130
    assert 20 <= n_stored < 1008
    assert tells(err, "run.interrupted")
    deadline = time.monotonic() + 120
    while any(child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in children):
        assert time.monotonic() < deadline, "nothing of the cluster is left"
        time.sleep(0.1)


@nightly
def test_models_stand_on_the_gpus_of_a_cluster_by_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster that says it has four GPUs: a model over two of them, one on a whole one, two copies
    of a small one on the last; one that fits nowhere is said, and the others are answered.
    """
    ray = pytest.importorskip("ray")
    from hqm_ray import engine

    sizes = {"small": 30, "half-trained": 14, "steady": 4, "noisy": 200}
    names = [f"hf/shapes:{name}" for name in sizes]
    build_model, hired = Model.from_respondent, []
    monkeypatch.setattr(
        Model,
        "from_respondent",
        lambda r, cpus, gpus: replace(
            build_model(r, cpus, gpus), weights=sizes[r.name.partition(":")[2]] * GIB
        ),
    )
    hire = engine._Cluster._start_actor

    def spy(self: Any, i: int, place: Any) -> None:
        hired.append((self.models[i].name.partition(":")[2], place.gpus, place.gpu_indices))
        hire(self, i, place)

    monkeypatch.setattr(engine._Cluster, "_start_actor", spy)
    ray.init(num_cpus=4, num_gpus=4, resources={"gpu_memory": 24}, include_dashboard=False)
    try:
        with Store(tmp_path / "there.sqlite") as store:
            outcome = hqm.administer(
                store, jobs_of(store, names), engine=make_engine("ray", workers=0)
            )
    finally:
        ray.shutdown()
    with Store(tmp_path / "here.sqlite") as store:
        hqm.administer(store, jobs_of(store, names[:3]))
    assert (outcome.asked, outcome.errors) == (1800, 0)
    assert [name for name, _ in outcome.failed] == names[3:]
    assert tells(str(outcome.failed[0][1]), "ray.fits-nowhere")
    assert hired[:4] == [
        ("small", 2.0, (0, 1)),
        ("half-trained", 1.0, (2,)),
        ("steady", 0.25, (3,)),
        ("steady", 0.25, (3,)),
    ]
    assert rows(tmp_path / "there.sqlite") == rows(tmp_path / "here.sqlite")


def stored(path: Path) -> int:
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
            return int(db.execute("SELECT COUNT(*) FROM answers").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


@needs_torch
def test_a_cluster_that_is_not_there_is_one_sentence(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray")
    from ray._private import services

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    # Ray would join whatever anybody runs on this machine
    monkeypatch.setattr(services, "find_gcs_addresses", functools.cache(set))
    monkeypatch.setattr(services, "find_bootstrap_address", lambda _folder: None)
    with pytest.raises(RespondentError, match=pattern_of("ray.no-cluster") + ".*ray start --head"):
        hqm.administer(
            store, jobs_of(store, ["hf/shapes:steady"]), engine=make_engine("ray", address="auto")
        )


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(hqm.UsageError, match="local, ray"):
        make_engine("slurm")


@needs_torch
def test_a_node_without_the_pictures_is_sent_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an actor does, in this process: one picture it lacks, one that is another there, one
    that is the same.
    """
    from PIL import Image

    monkeypatch.setenv("HQM_CACHE", str(tmp_path / "cache"))
    paths = [tmp_path / f"{i}.png" for i in range(3)]
    for i, path in enumerate(paths):
        Image.new("RGB", (48, 48), (80 * i, 0, 0)).save(path)
    contents = {path: path.read_bytes() for path in paths}
    digests = {path: digest_file(path) for path in paths}
    requests = [
        Request("Describe the image.", path, Sampling(0.0, max_tokens=5), n, item=str(n))
        for n, path in enumerate(paths)
    ]
    paths[0].unlink()
    Image.new("RGB", (48, 48), "blue").save(paths[1])

    actor = Actor(1, 0)
    kind, lacks = actor.begin(make_respondent("hf/shapes:steady"), requests, digests)
    assert (kind, sorted(lacks)) == ("lacks", paths[:2])
    assert actor.next_batch() == ("batch", []), "a call that was made too early"
    actor.receive({path: contents[path] for path in lacks})
    got = {}
    while (message := actor.next_batch())[0] == "batch":
        got.update(dict(message[1]))
    assert message == ("end", None)
    for path, content in contents.items():
        path.write_bytes(content)
    local_answers = [
        pair for batch in make_respondent("hf/shapes:steady").answer(requests) for pair in batch
    ]
    assert {int(request.item): response.text for request, response in local_answers} == {
        n: r.text for n, r in got.items()
    }
    assert actor.begin(make_respondent("hf/shapes:steady"), requests, digests) == (
        "batch",
        [],
    ), "now it has them"
