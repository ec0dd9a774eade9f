"""The wheel, installed where nothing else of ours is: it has everything, and runs from another folder."""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT


@pytest.mark.slow
def test_the_wheel_runs_by_itself(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)],
        check=True,
        capture_output=True,
    )
    wheel = next(tmp_path.glob("hqm_audit-*.whl"))
    names = zipfile.ZipFile(wheel).namelist()
    for part in ("hqm/py.typed", "hqm/__init__.pyi", "hqm/adapters/pope.py", "hqm/benchmarks/pope/card.toml", "hqm/benchmarks/shapes/scenes.jsonl",
                 "hqm/benchmarks/shapes/respondents/steady/model.safetensors", "hqm/reports/templates/report.html"):  # fmt: skip
        assert part in names, part
    assert not [name for name in names if name.startswith(("tests", "docs", "adapters", "reports"))]
    home = tmp_path / "empty"
    venv.create(home, with_pip=False)
    site = next((home / "lib").glob("python*/site-packages"))
    zipfile.ZipFile(wheel).extractall(site)
    # the libraries it needs, but not the project: a path file adds a folder without that folder's own path files
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    code = "import hqm, hqm.adapters.pope; print(hqm.__file__); from hqm.cli import main; main()"
    (tmp_path / "elsewhere").mkdir()
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "HQM_DATA")}
    command = [
        str(home / "bin" / "python"),
        "-c",
        code,
        "audit",
        "shapes_yesno",
        "-r",
        "hf/shapes:steady",
        "--limit",
        "12",
        "--out",
        "out",
        "--quiet",
    ]
    done = subprocess.run(
        command, cwd=tmp_path / "elsewhere", env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert str(site) in done.stdout.splitlines()[0]
    assert "asked 36, stored before 0, errors 0" in done.stdout
    assert (tmp_path / "elsewhere" / "out" / "report.html").exists()
