"""Settings: what seldom changes from run to run, from files and from `--set`."""

import json
import re
from pathlib import Path

import pytest

import hqm
from hqm.commands.option_decorators import read_command_settings, read_settings
from hqm.commands.options import OPTIONS, RunOptions
from hqm.types import BatchSize, FileRole
from tests.conftest import Run
from tests.messages import pattern_of, tells

SETTINGS = frozenset(name for name, option in OPTIONS.items() if option.setting)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to stand in, and a user whose configuration lies below it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "hqm").mkdir(parents=True)
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_what_is_nearer_decides(here: Path, tmp_path: Path) -> None:
    """User, folder, the named file, `--set`: each over those before it."""
    (tmp_path / "config" / "hqm" / "hqm.toml").write_text(
        'device = "mps"\ndtype = "float16"\nprice_in = 1\nbatch = 3\n'
    )
    assert read_command_settings(None, (), SETTINGS)["device"] == "mps"
    (here / "hqm.toml").write_text('device = "cpu"\nbatch = 4\nworkers = 2\n')
    gpu_settings = tmp_path / "gpu.toml"
    gpu_settings.write_text('batch = 5\nvllm = "/opt/vllm"\n')
    assert read_command_settings(gpu_settings, ["batch=6"], SETTINGS) == {
        "device": "cpu",
        "dtype": "float16",
        "price_in": 1.0,
        "batch": 6,
        "workers": 2,
        "vllm": "/opt/vllm",
    }
    # A command takes the settings that it has; a file is for all commands.
    assert read_command_settings(gpu_settings, (), {"words"}) == {}


def test_every_setting_can_be_written_both_ways(tmp_path: Path) -> None:
    values = {
        int: 7,
        int | None: 7,
        float: 0.5,
        float | None: 0.5,
        str: "a",
        str | None: "a",
        bool: True,
        FileRole: "runs",
        BatchSize: "yes",
    }
    for name in sorted(SETTINGS):
        kind = OPTIONS[name].keyword.annotation
        value = values.get(kind, ["a", "b"])
        text = {True: "true"}.get(value, value) if isinstance(value, bool) else value
        path = tmp_path / "hqm.toml"
        path.write_text(f"{name} = {json.dumps(value)}\n")
        (read,) = read_settings(path).values()
        assigned = ",".join(value) if isinstance(value, list) else text
        assert read_command_settings(None, [f"{name}={assigned}"], SETTINGS) == {name: read}
        assert (
            RunOptions.from_values({name: read}) != RunOptions()
            or read == OPTIONS[name].keyword.default
        )


def test_one_of_several_is_assigned_at_a_time() -> None:
    assigned = ["roles=verifier=a", "roles=recognizer=b", "batch=2"]
    values = read_command_settings(None, assigned, SETTINGS)
    assert values == {"roles": ("verifier=a", "recognizer=b"), "batch": 2}


@pytest.mark.parametrize("name", ["vllm", "ray_address", "allow_private_images"])
def test_a_folder_starts_no_program_and_opens_no_address(here: Path, name: str) -> None:
    """Who clones a benchmark and stands in its folder has not agreed to what its file says."""
    value = "true" if name == "allow_private_images" else '"x"'
    (here / "hqm.toml").write_text(f"{name} = {value}\n")
    with pytest.raises(hqm.UsageError, match=pattern_of("settings.of-a-folder", name=name)):
        read_command_settings(None, (), SETTINGS)
    assert read_command_settings(Path("hqm.toml"), (), SETTINGS), "the user names the file"


@pytest.mark.parametrize(
    ("assigned", "sentence"),
    [
        ("devise=cpu", pattern_of("name.unknown", kind="setting", given="devise", near="device")),
        ("batch=many", pattern_of("settings.value", name="batch", value="many")),
        ("batch=-1", pattern_of("settings.value", name="batch", value="-1")),
        ("probabilities=perhaps", pattern_of("settings.value", name="probabilities")),
        ("batch", pattern_of("settings.no-value", text="batch")),
        ("runs=2", pattern_of("settings.option", name="runs")),
    ],
)
def test_what_means_nothing_is_refused(
    run: Run, dogs: Path, here: Path, assigned: str, sentence: str
) -> None:
    status, _, err = run("audit", dogs, "-r", "hf/shapes:steady", "--set", assigned)
    assert status == 2
    assert re.search(sentence, err), err


def test_a_file_that_cannot_be_read_is_named(run: Run, dogs: Path, here: Path) -> None:
    for text in ("batch: 3", f"batch = {'9' * 5000}"):
        (here / "hqm.toml").write_text(text)
        status, _, err = run("check", dogs)
        assert (status, tells(err, "settings.unreadable", place="hqm.toml")) == (1, True)
    (here / "hqm.toml").unlink()
    status, _, err = run("check", dogs, "--machine", "nowhere.toml")
    assert (status, "nowhere.toml" in err) == (1, True)


def test_they_reach_the_command_and_python(run: Run, dogs: Path, here: Path) -> None:
    (here / "hqm.toml").write_text("price_in = 1\nprice_out = 2\n")
    words = ("audit", dogs, "-r", "openai/x@http://127.0.0.1:9/v1", "--dry-run", "--json")
    cost = json.loads(run(*words)[1])["total"]["cost"]
    assert cost > 0
    assert json.loads(run(*words, "--set", "price_in=2", "--set", "price_out=4")[1])["total"][
        "cost"
    ] == pytest.approx(2 * cost)
    specs = ["openai/x@http://127.0.0.1:9/v1"]
    (forecast,) = hqm.plan(dogs, specs, machine="hqm.toml").forecasts.values()
    assert forecast.cost == pytest.approx(cost)
    (forecast,) = hqm.plan(dogs, specs).forecasts.values()
    assert forecast.cost is None, "a program says what it means"
    (forecast,) = hqm.plan(
        dogs, specs, machine="hqm.toml", price_in=2, price_out=4
    ).forecasts.values()
    assert forecast.cost == pytest.approx(2 * cost)


def test_the_list_names_every_setting_and_where_they_come_from(run: Run, here: Path) -> None:
    status, output, _ = run("list", "settings")
    assert status == 0
    assert all(name in output for name in SETTINGS)
    (here / "hqm.toml").write_text("batch = 3")
    assert "Read from hqm.toml." in run("list", "settings")[1]


def test_a_setting_that_is_taken_for_an_option_is_named_as_a_setting(run: Run) -> None:
    status, _, err = run("audit", "x", "--device", "cpu")
    assert status == 2
    assert "--set device=VALUE" in " ".join(err.split()), err


def test_counts_that_are_found_are_0_unless_given() -> None:
    compute = RunOptions().compute
    assert (compute.batch, compute.workers) == (0, 0)
