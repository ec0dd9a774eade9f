"""`hqm doctor`: what this machine has, as text on one screen and as data; servers and folders are
real.
"""

import importlib.metadata
import json
import os
import platform
import re
from pathlib import Path

import pytest

from hqm.extensions import GROUPS
from hqm.version import __version__
from tests.conftest import ROOT, Run, needs_torch
from tests.messages import tells, text_of
from tests.servers import PlannedServer, completion, reserved_port


@pytest.fixture
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder of its own, without what this machine's environment says."""
    for name in ("HQM_DATA", "OPENAI_BASE_URL", "OPENAI_API_KEY", "HF_TOKEN", "HQM_VLLM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@needs_torch
def test_it_says_what_is_installed(run: Run, clean: Path) -> None:
    status, output, _ = run("doctor", "--json")
    diagnosis = json.loads(output)
    assert status == 0, diagnosis["problems"]
    assert diagnosis["hqm"] == {"version": __version__, "place": str(ROOT / "hqm")}
    assert diagnosis["python"]["version"] == platform.python_version()
    for name in ("numpy", "scipy", "openai"):
        assert diagnosis["libraries"][name] == importlib.metadata.version(name)
    assert set(diagnosis["extras"]) == {
        "stats",
        "figures",
        "local",
        "parquet",
        "hub",
        "logs",
        "ray",
    }
    import torch

    assert diagnosis["torch"]["version"] == str(torch.__version__)
    assert len(diagnosis["torch"]["gpus"]) == torch.cuda.device_count()
    assert diagnosis["data"]["benchmarks"]["shapes_yesno"]["state"] == "with HQM"
    assert diagnosis["data"]["benchmarks"]["pope"]["state"] == "missing"
    assert diagnosis["store"]["writable"]
    assert diagnosis["problems"] == []


def test_it_fits_one_screen(run: Run, clean: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, output, _ = run("doctor")
    assert status == 0
    assert len(output.splitlines()) <= 24
    for heading in (
        "hqm ",
        "python ",
        "libraries ",
        "extras ",
        "torch ",
        "vllm ",
        "data ",
        "servers ",
        "answers ",
    ):
        assert sum(line.startswith(heading) for line in output.splitlines()) == 1, heading
    assert output.splitlines()[-1] == text_of("doctor.sound")


def test_an_extra_that_is_missing_is_named_with_its_command(
    run: Run, clean: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = importlib.metadata.version

    def version(name: str) -> str:
        if name == "ray":
            raise importlib.metadata.PackageNotFoundError(name)
        return "0.1" if name == "rich" else real(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    status, output, _ = run("doctor")
    assert tells(output, "doctor.extra-missing", module="ray", extra="ray")
    assert status == 1, "rich is no extra"
    assert tells(output, "doctor.version", package="rich", version="0.1")


@pytest.mark.parametrize("group", ["hqm.readers", "hqm.indicators", "hqm.benchmark", "hqm.lists"])
def test_a_group_of_entry_points_that_nobody_reads_is_named(
    run: Run, clean: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: str
) -> None:
    dist_info = tmp_path / "census-1.0.dist-info"
    dist_info.mkdir()
    (dist_info / "METADATA").write_text("Metadata-Version: 2.1\nName: census\nVersion: 1.0\n")
    (dist_info / "entry_points.txt").write_text(f"[{group}]\ncensus = census:read\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    status, output, _ = run("doctor", "--json")
    problems = json.loads(output)["problems"]
    if group == "hqm.lists":
        assert (status, problems) == (0, [])
    else:
        assert status == 1
        assert tells(problems[0], "doctor.group-unread", package="census", group=group)


def test_every_group_that_is_read_is_listed() -> None:
    packages = [ROOT / folder for folder in ("hqm", "adapters", "reports")]
    named = set[str]()
    for path in (path for package in packages for path in package.rglob("*.py")):
        named |= set(re.findall(r'^[A-Z_]+ = "(hqm\.[a-z_]+)"$', path.read_text(), re.MULTILINE))
    assert named - {"hqm.toml"} == set(GROUPS)


@pytest.mark.data
def test_it_finds_the_data_of_each_benchmark(run: Run, clean: Path, data: Path) -> None:
    rows = json.loads(run("doctor", "--data", data, "--json")[1])["data"]["benchmarks"]
    assert rows["pope"]["state"] == "complete"
    assert rows["pope"]["folder"] == str(data / "pope")
    # one file less, one of another size
    (clean / "data" / "amber").mkdir(parents=True)
    (clean / "data" / "amber" / "relation.json").write_text("{}")
    rows = json.loads(run("doctor", "--json")[1])["data"]["benchmarks"]
    assert rows["amber_d"]["state"] == "incomplete"
    assert {"annotations.json", "relation.json"} <= set(rows["amber_d"]["missing"])
    assert tells(run("doctor")[1], "doctor.fetch", names="all")


def test_what_is_wrong_ends_it_with_1_and_says_what_to_do(
    run: Run, clean: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HQM_DATA", str(clean / "nowhere"))
    monkeypatch.setenv("HQM_VLLM", str(clean / "no-vllm"))
    status, output, _ = run("doctor")
    assert status == 1
    text = " ".join(output.split())
    assert tells(text, "doctor.no-folder", path=clean / "nowhere", variable="HQM_DATA")
    assert tells(text, "doctor.no-vllm", program=clean / "no-vllm")
    assert not tells(output, "doctor.sound")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(run: Run, clean: Path) -> None:
    (clean / "closed").mkdir(mode=0o500)
    status, output, _ = run("doctor", "--store", clean / "closed" / "store.sqlite")
    assert status == 1
    assert "cannot be written" in output


def test_servers_are_asked_for_their_models(
    run: Run, clean: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with PlannedServer(lambda _n, _body, _h: completion("x")) as server, reserved_port() as port:
        nobody = f"http://127.0.0.1:{port}/v1"
        monkeypatch.setenv("OPENAI_BASE_URL", nobody)
        status, output, _ = run("doctor", "--server", server.url, "--json")
    rows = {row["url"]: row for row in json.loads(output)["servers"]}
    assert status == 1
    assert not rows[nobody]["reachable"]
    assert any(nobody in problem for problem in json.loads(output)["problems"])
    assert server.url in rows


def test_a_server_with_models_and_one_that_wants_a_key(run: Run, clean: Path) -> None:
    import http.server
    import threading

    class Models(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            keys.append(self.headers.get("Authorization"))
            allowed = self.path == "/v1/models"
            body = json.dumps({"data": [{"id": "llava"}]}).encode() if allowed else b"{}"
            self.send_response(200 if allowed else 401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    keys: list[str | None] = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Models)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    try:
        status, output, _ = run(
            "doctor", "--server", f"{url}/v1", "--server", f"{url}/locked", "--json"
        )
    finally:
        server.shutdown()
    first, second = (row for row in json.loads(output)["servers"] if row["named"])
    assert (first["reachable"], first["models"]) == (True, ["llava"])
    assert (second["reachable"], second["said"]) == (True, text_of("doctor.wants-key"))
    assert status == 0
    assert keys == [None, None], "no key is sent to whoever is named"
