"""What is misspelt is answered with what was meant: commands, options, benchmarks, folders,
settings, keys.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import hqm
from hqm.auditing.policy import Policy
from hqm.benchmark.card import Card
from hqm.errors import meant
from hqm.version import __version__
from tests.conftest import NO_TORCH, ROOT, Run, write_benchmark
from tests.messages import tells, text_of

AUDIT_COMMAND = ["audit", "--no-report", "DOGS", "-r", "hf/shapes:steady"]
SLIPS = [
    (["adit", "pope"], "Did you mean 'audit'?"),
    (
        ["audit", "pope", "--limt", "3"],
        text_of("usage.option", option="--limt", near="--limit") + "\n",
    ),
    (["check", "pop"], text_of("name.unknown", kind="benchmark", given="pop", near="pope")),
    (["check", "POPE"], "Did you mean 'pope'?"),
    (["check", "hallusionbench"], "Did you mean 'hallusion_bench'?"),
    (["check", "FOLDER/mind"], "Did you mean 'FOLDER/mine'?"),
    (["check", "FOLDER"], text_of("folder.no-card", folder="FOLDER/mine")),
    (
        ["check", "FOLDER/mine/empty"],
        text_of("folder.begin-card", folder="FOLDER/mine/empty"),
    ),
    (["check", "FOLDER/benchmrk.py"], "Did you mean 'FOLDER/benchmark.py'?"),
    (
        ["check", "DOGS", "--part", "evn"],
        text_of("name.part", benchmark="mine", given="evn", near="even", parts="even, odd"),
    ),
    (["forms", "DOGS", "--part", "evn"], "Did you mean 'even'?"),
    (
        ["audit", "--no-report", "DOGS", "-r", "hg/shapes:steady"],
        "Did you mean 'hf/shapes:steady'?",
    ),
    (["audit", "--no-report", "DOGS", "-r", "steady"], "Did you mean 'hf/shapes:steady'?"),
    (
        ["audit", "--no-report", "DOGS", "-r", "hf/shapes:stedy"],
        text_of("name.embedded", benchmark="shapes", given="stedy", near="steady"),
    ),
    (
        ["audit", "--no-report", "DOGS", "-r", "openai/x@http://127.0.0.1:9/v1?temprature=1"],
        "Did you mean temperature?",
    ),
    (
        [*AUDIT_COMMAND, "--forms", "orignal"],
        text_of(
            "name.of-benchmark", benchmark="mine", kind="form", given="orignal", near="original"
        ),
    ),
    (
        [*AUDIT_COMMAND, "--parser", "strikt"],
        text_of("name.unknown", kind="parser", given="strikt", near="strict"),
    ),
    (
        [*AUDIT_COMMAND, "--scoring", "offical"],
        text_of(
            "name.of-benchmark", benchmark="mine", kind="scoring", given="offical", near="official"
        ),
    ),
    ([*AUDIT_COMMAND, "--set", "withheld=offical"], "Did you mean 'official'?"),
    (
        [*AUDIT_COMMAND, "--blind", "--set", "engine=locl"],
        text_of("name.unknown", kind="engine", given="locl", near="local"),
    ),
    (["list", "benchmark"], text_of("name.list", given="benchmark", near="benchmarks")),
    (
        ["new", "FOLDER/fresh", "--task", "yesno"],
        text_of("name.unknown", kind="task", given="yesno", near="yes_no"),
    ),
    (["gate", "FOLDER/audit.jsn"], "Did you mean 'FOLDER/audit.json'?"),
    (
        ["report", "FOLDER/mine"],
        text_of("folder.no-audit", folder="FOLDER/mine"),
    ),
    (["--completion", "fsh"], "Did you mean 'fish'?"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [
        {
            "id": f"q{i}",
            "prompt": f"Is there a {noun} in the image?",
            "target": "yes" if i % 2 else "no",
            "part": ("even", "odd")[i % 2],
        }
        for i, noun in enumerate(["dog", "cat", "car", "bus"])
    ]
    write_benchmark(tmp_path / "mine", rows)
    (tmp_path / "mine" / "empty").mkdir()
    (tmp_path / "benchmark.py").write_text("CARD = {}\n")
    (tmp_path / "audit.json").write_text("{}")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "sentence"), SLIPS, ids=[" ".join(arguments) for arguments, _ in SLIPS]
)
def test_the_nearest_name_is_offered(
    run: Run, folder: Path, arguments: list[str], sentence: str
) -> None:
    folders = {"DOGS": str(folder / "mine"), "FOLDER": str(folder)}

    def fill_in(text: str) -> str:
        return text.replace("DOGS", folders["DOGS"]).replace("FOLDER", folders["FOLDER"])

    if "hf/" in " ".join(arguments):
        pytest.importorskip("torch", reason=NO_TORCH)
    status, output, err = run(*map(fill_in, arguments))
    assert status in (1, 2)
    assert fill_in(sentence) in err
    assert "Traceback" not in output + err


def test_what_is_near_to_nothing_is_not_guessed(run: Run) -> None:
    assert "Did you mean" not in run("check", "nothing")[2]
    assert "Did you mean" not in run("audit", "pope", "--zzz")[2]
    assert meant("", ("a", "b")) == ""


CARD = {"name": "a", "title": "A", "version": "1", "task": "yes_no"}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"licens": "MIT"}, text_of("key.unknown", key="licens", near="licence")),
        ({"items": "a.jsonl"}, text_of("key.unknown", key="items", near="data.items")),
        ({"data": {"itmes": "a.jsonl"}}, text_of("key.unknown", key="data.itmes", near="items")),
        (
            {"source": {"files": [{"path": "a", "ulr": "b"}]}},
            text_of("key.unknown", key="source.files.0.ulr", near="url"),
        ),
        (
            {"task": "yesno"},
            text_of("key.task", value="yesno", near="yes_no"),
        ),
        ({"types": ["existance"]}, "Did you mean 'existence'?"),
        ({"qqq": 1}, "a place: unknown key 'qqq'"),
    ],
)
def test_a_key_of_a_card(change: dict[str, object], sentence: str) -> None:
    with pytest.raises(hqm.CardError) as raised:
        Card.parse({**CARD, **change}, "a place")
    assert sentence in str(raised.value)


def test_a_type_of_a_benchmarks_own_is_no_slip_of_another() -> None:
    own_types = ("Accounting", "Fiction", "math word problem")
    assert Card.parse({**CARD, "types": own_types}, "a place").types == own_types


def test_a_key_of_a_card_in_the_linter(run: Run, folder: Path) -> None:
    card = folder / "mine" / "card.toml"
    card.write_text('licens = "MIT"\n' + card.read_text())
    status, output, _ = run("check", folder / "mine")
    assert status == 1
    assert tells(output, "lint.card-key", place=f"{card}:1", key="licens", near="licence")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[limits]\nleek = 0.1\n", text_of("key.unknown", key="limits.leek", near="leak")),
        ("leak = 0.1\n", text_of("key.unknown", key="leak", near="limits.leak")),
        ("[limits]\nfindings = 'warnings'\n", "Did you mean 'warning'?"),
        (
            "[[require]]\nindicator = 'test_retest.pearsn'\nexact = true\nat_least = 1\n",
            "Did you mean 'test_retest.pearson'?",
        ),
    ],
)
def test_a_key_of_a_policy(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(
        'name = "mine"\n' * ("leak" not in text.splitlines()[0])
        + text
        + ('name = "mine"\n' if text.startswith("leak") else "")
    )
    with pytest.raises(hqm.CardError) as raised:
        Policy.load(path)
    assert sentence in str(raised.value)


# --- the folder of an audit, the version ---


@pytest.fixture
def audited(run: Run, folder: Path) -> Path:
    """A benchmark's folder with an audit in `out`."""
    answers = folder / "answers.jsonl"
    rows = [
        {"respondent": name, "item": f"q{i}", "answer": "Yes"} for name in "ab" for i in range(4)
    ]
    answers.write_text("".join(json.dumps(row) + "\n" for row in rows))
    cards = folder / "mine"
    assert (
        run(
            "audit",
            cards,
            "--recorded",
            answers,
            "--forms",
            "original",
            "--out",
            cards / "out",
            "-q",
        )[0]
        == 0
    )
    return cards


def test_gate_report_and_compare_find_the_audit_in_a_folder(
    run: Run, audited: Path, tmp_path: Path
) -> None:
    by_file = run("gate", audited / "out" / "audit.json")
    assert "policy default: not passed" in by_file[1]
    assert run("gate", audited / "out") == run("gate", audited) == by_file
    # the evidence lies beside a report under the report's own name, to which it links
    pages = [tmp_path / name / "report.html" for name in ("file", "folder")]
    for source, page in zip((audited / "out" / "audit.json", audited / "out"), pages, strict=True):
        page.parent.mkdir()
        assert run("report", source, "--to", page)[0] == 0
    assert pages[0].read_text() == pages[1].read_text()
    assert (
        run("compare", audited / "out", audited / "out", "--to", tmp_path / "c.json")[2].count(
            "there is no such file"
        )
        == 0
    )
    # one audit somewhere below is meant; of several, each is named
    assert run("gate", tmp_path / "mine")[1] == by_file[1]
    for name in ("first", "second"):
        (tmp_path / "both" / name).mkdir(parents=True)
        (tmp_path / "both" / name / "audit.json").write_bytes(
            (audited / "out" / "audit.json").read_bytes()
        )
    status, _, err = run("gate", tmp_path / "both")
    assert status == 2
    assert tells(
        err,
        "folder.several-audits",
        first=tmp_path / "both" / "first" / "audit.json",
        second=tmp_path / "both" / "second" / "audit.json",
    )


@pytest.mark.parametrize("program", [["-m", "hqm"], ["-m", "hqm.cli"]], ids=" ".join)
def test_version(program: list[str]) -> None:
    process = subprocess.run(
        [sys.executable, *program, "--version"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert process.stdout == f"hqm {__version__}\n"


# --- the status of a check ---


def test_a_check_ends_with_1_where_an_error_is_left(run: Run, folder: Path) -> None:
    cards = folder / "mine"
    assert run("check", cards)[0] == 0, "warnings alone"
    assert run("check", cards, "--strict")[0] == 1
    assert run("check", cards, "--strict", "--exit-zero")[0] == 0
    with (cards / "items.jsonl").open("a") as file:
        file.write('{"id": "q9", "prompt": "Is there a dog in the image?", "target": "perhaps"}\n')
    status, output, _ = run("check", cards)
    assert (status, "1 error" in output) == (1, True)
    assert run("check", cards, "--exit-zero")[:2] == (0, output)
    assert run("check", cards, "--ignore", "S")[0] == 0, "what is not wanted does not count"
    assert run("check", "nothing", "--exit-zero")[0] == 2, "a name that means nothing is no finding"


@pytest.mark.data
def test_a_part_is_checked_by_itself(run: Run, data: Path) -> None:
    """Pooled, POPE hides what its popular part gives away: see docs/reference.md."""
    status, output, _ = run("check", "pope", "--data", data, "--json", "--select", "L")
    assert status == 0
    (pooled,) = json.loads(output)
    by_words = {
        row["part"]: row for row in pooled["leaks"] if row["cue"] == "words" and not row["type"]
    }
    assert set(by_words) == {"", "coco_random", "coco_popular", "coco_adversarial"}
    # outside HQM, a linear classifier over words gets .869 of the popular part right, and .675 of
    # all where it is not told the part
    assert by_words["coco_popular"]["accuracy"] == pytest.approx(0.869, abs=0.015)
    assert by_words[""]["accuracy"] == pytest.approx(0.675, abs=0.015)
    _, output, _ = run("check", "pope", "--data", data, "--part", "coco_popular", "--select", "L")
    assert "pope@08d957b coco_popular: 3000 items" in output
    assert tells(output, "check.words", items="all items", share="0.86")
    _, output, _ = run(
        "check", "pope", "--data", data, "--part", "coco_popular", "--json", "--select", "L"
    )
    (part,) = json.loads(output)
    assert (part["part"], part["items"], part["parts"]) == (
        "coco_popular",
        3000,
        {"coco_popular": 3000},
    )
