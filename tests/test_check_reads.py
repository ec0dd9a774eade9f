"""`hqm check` reads whatever `hqm audit` reads: every kind of benchmark, place of pictures and
option, with the same items.
"""

import io
import json
import sys
import types
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import hqm.benchmark.registry
from hqm import Store
from hqm.commands.options import MaterialOptions, ReadingOptions, RunOptions
from hqm.commands.session import Session
from hqm.lint import lint_benchmarks
from tests.conftest import Run, write_benchmark
from tests.messages import tells, text_of
from tests.test_new import table
from tests.test_registry import COLORS_FILE


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HQM_CACHE", str(tmp_path / "cache"))


def picture(k: int) -> bytes:
    image = Image.new("RGB", (64, 64), (0, 0, 0))
    image.paste((250, 60 * k % 256, 90), (8 * k, 0, 8 * k + 30, 50 - 9 * k))
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


ROWS = [
    {
        "id": f"q{i}",
        "prompt": f"Is thing {i} there?",
        "target": ("yes", "no")[i // 2],
        "image": f"{i}.png",
        "part": "ab"[i % 2],
    }
    for i in range(4)
]


@dataclass(frozen=True)
class Case:
    """A benchmark as a command names it, and the options beside it."""

    name: str
    data: Path | None = None
    images: str | None = None


def plain(folder: Path) -> Case:
    benchmark_folder = write_benchmark(
        folder / "mine", ROWS, data={"items": "items.jsonl", "images": "images"}
    )
    (benchmark_folder / "images").mkdir()
    for i in range(4):
        (benchmark_folder / "images" / f"{i}.png").write_bytes(picture(i))
    return Case(str(benchmark_folder))


def path_of_card(folder: Path) -> Case:
    return Case(f"{plain(folder).name}/card.toml")


def csv_items(folder: Path) -> Case:
    benchmark_folder = Path(plain(folder).name)
    lines = [",".join(ROWS[0]), *(",".join(row.values()) for row in ROWS)]
    (benchmark_folder / "items.csv").write_text("\n".join(lines) + "\n")
    card = (benchmark_folder / "card.toml").read_text().replace("items.jsonl", "items.csv")
    (benchmark_folder / "card.toml").write_text(card)
    return Case(str(benchmark_folder))


def pictures_in_a_zip(folder: Path) -> Case:
    benchmark_folder = write_benchmark(folder / "mine", ROWS)
    with zipfile.ZipFile(benchmark_folder / "pictures.zip", "w") as archive:
        for i in range(4):
            archive.writestr(f"val/{i}.png", picture(i))
    return Case(str(benchmark_folder), images=str(benchmark_folder / "pictures.zip"))


def in_parquet(folder: Path, files: tuple[str, ...], items: str) -> Path:
    fields = {"id": "question_id", "prompt": "question", "target": "answer", "type": "category"}
    benchmark_folder = write_benchmark(folder / "mine", [], data={"items": items}, fields=fields)
    for k, name in enumerate(files):
        (benchmark_folder / name).parent.mkdir(exist_ok=True)
        half = 6 // len(files)
        pq.write_table(table(True, range(k * half, (k + 1) * half)), benchmark_folder / name)
    return benchmark_folder


def parquet_items(folder: Path) -> Case:
    return Case(str(in_parquet(folder, ("test.parquet",), "test.parquet")))


def parquet_shards(folder: Path) -> Case:
    return Case(
        str(
            in_parquet(
                folder, ("data/test-0.parquet", "data/test-1.parquet"), "data/test-*.parquet"
            )
        )
    )


def pictures_in_parquet(folder: Path) -> Case:
    benchmark_folder = write_benchmark(folder / "mine", ROWS)
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    cells = pa.array([{"bytes": picture(i), "path": f"{i}.png"} for i in range(4)], kind)
    pq.write_table(pa.table({"image": cells}), benchmark_folder / "pictures.parquet")
    return Case(str(benchmark_folder), images=str(benchmark_folder / "pictures.parquet"))


def pictures_on_the_web(folder: Path) -> Case:
    return Case(str(write_benchmark(folder / "mine", ROWS)), images="https://example.org/val2014")


def data_apart(folder: Path) -> Case:
    benchmark_folder = Path(plain(folder).name)
    (folder / "root" / "release").mkdir(parents=True)
    (benchmark_folder / "items.jsonl").rename(folder / "root" / "release" / "items.jsonl")
    (benchmark_folder / "images").rename(folder / "root" / "release" / "images")
    card = (
        (benchmark_folder / "card.toml").read_text().replace("[data]", '[data]\nfolder = "release"')
    )
    (benchmark_folder / "card.toml").write_text(card)
    return Case(str(benchmark_folder), data=folder / "root")


def adapter_beside(folder: Path) -> Case:
    benchmark_folder = Path(plain(folder).name)
    (benchmark_folder / "adapter.py").write_text(
        "from hqm import Benchmark\n\n\nclass Mine(Benchmark):\n    pass\n"
    )
    return Case(str(benchmark_folder))


def adapter_of_the_card(folder: Path) -> Case:
    """POPE's adapter reads POPE's own file, which no card could."""
    benchmark_folder = write_benchmark(
        folder / "mine", [], adapter="pope", data={"images": "images"}
    )
    (benchmark_folder / "items.jsonl").unlink()
    rows = [
        {
            "question_id": i + 1,
            "image": f"{i}.png",
            "text": f"Is there a thing {i} in the imange?",
            "label": "yes",
        }
        for i in range(4)
    ]
    (benchmark_folder / "coco_pope_random.json").write_text(
        "".join(json.dumps(row) + "\n" for row in rows)
    )
    (benchmark_folder / "images").mkdir()
    for i in range(4):
        (benchmark_folder / "images" / f"{i}.png").write_bytes(picture(i))
    return Case(str(benchmark_folder))


def python_file(folder: Path) -> Case:
    (folder / "colors.py").write_text(COLORS_FILE)
    return Case(str(folder / "colors.py"))


CASES: dict[str, Callable[[Path], Case]] = {
    "a folder": plain,
    "the path of a card": path_of_card,
    "items in CSV": csv_items,
    "items in Parquet": parquet_items,
    "items in several Parquet files": parquet_shards,
    "pictures in a zip": pictures_in_a_zip,
    "pictures in Parquet": pictures_in_parquet,
    "pictures on the web": pictures_on_the_web,
    "data apart": data_apart,
    "an adapter beside the card": adapter_beside,
    "an adapter that the card names": adapter_of_the_card,
    "a Python file": python_file,
    "a name": lambda folder: Case("shapes_choice"),
    "a group": lambda folder: Case("shapes"),
}


@pytest.mark.parametrize("kind", CASES)
def test_check_reads_the_items_that_audit_reads(
    run: Run, tmp_path: Path, store: Store, kind: str
) -> None:
    case = CASES[kind](tmp_path)
    session = Session(
        [case.name], store, RunOptions(material=MaterialOptions(data=case.data, images=case.images))
    )
    checked = lint_benchmarks(case.name, data=case.data, images=case.images)
    assert [(c.benchmark, c.version) for c in checked] == [
        (b.name, b.card.version) for b in session.benchmarks
    ]
    assert [c.form.digest for c in checked if c.form] == [
        b.original.digest for b in session.benchmarks
    ]
    assert "items-unreadable" not in {finding.name for c in checked for finding in c.findings}
    options = [
        *(["--data", case.data] if case.data else []),
        *(["--images", case.images] if case.images else []),
    ]
    status, output, err = run("check", case.name, *options, "--json")
    # on a busy machine it says that it is still at work
    assert (
        status,
        [line for line in err.splitlines() if not line.startswith("hqm: checking")],
    ) == (0, [])
    assert [c["items"] for c in json.loads(output)] == [len(b.original) for b in session.benchmarks]
    if kind not in ("a Python file", "a name", "a group"):
        # the pictures are looked at where an audit looks at them
        (member,), names = checked, {finding.name for c in checked for finding in c.findings}
        assert not names & {"image-missing", "image-broken"}
        assert ("images-not-checked" in names) == (kind == "pictures on the web")
        assert member.form is not None
        has = [session.benchmarks[0].pictures.has(item.image or "") for item in member.form.items]
        assert all(has) == (kind != "pictures on the web")


def test_a_benchmark_of_another_package(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "theirs.py").write_text(COLORS_FILE)
    monkeypatch.syspath_prepend(tmp_path)
    point = EntryPoint("theirs", "theirs", hqm.benchmark.registry.GROUP)
    monkeypatch.setattr("hqm.extensions.points_in", lambda group: [point])
    (checked,) = lint_benchmarks("theirs")
    assert checked.form is not None
    assert (
        checked.form.digest
        == Session(["theirs"], store, RunOptions()).benchmarks[0].original.digest
    )
    assert isinstance(sys.modules.pop("theirs"), types.ModuleType)


def test_a_wrong_picture_is_seen_wherever_it_lies(tmp_path: Path) -> None:
    """A picture that an audit would not show is a finding: broken in the zip, other than listed in
    the folder.
    """
    case = pictures_in_a_zip(tmp_path / "zip")
    with zipfile.ZipFile(str(case.images), "w") as archive:
        for i in range(3):
            archive.writestr(f"val/{i}.png", picture(i)[: 60 if i == 1 else None])
    (checked,) = lint_benchmarks(case.name, images=case.images)
    by_name = {finding.name: finding for finding in checked.findings}
    assert by_name["image-missing"].examples == ("3.png",)
    assert tells(by_name["image-broken"].examples[0], "picture.unopened", picture="1.png")
    benchmark_folder = Path(plain(tmp_path / "folder").name)
    (benchmark_folder / "sums.csv").write_text(f"image,size\n0.png,{len(picture(0))}\n2.png,7\n")
    (benchmark_folder / "card.toml").write_text(
        (benchmark_folder / "card.toml").read_text() + 'checksums = "sums.csv"\n'
    )
    (checked,) = lint_benchmarks(str(benchmark_folder))
    (broken,) = [finding for finding in checked.findings if finding.name == "image-broken"]
    assert broken.examples == (
        text_of(
            "picture.size-differs",
            picture="2.png",
            size=len(picture(2)),
            file=benchmark_folder / "sums.csv",
            listed=7,
        ),
    )


OPTIONS: dict[str, tuple[list[str], RunOptions]] = {
    "part": (["--part", "b"], RunOptions(material=MaterialOptions(part="b"))),
    "limit": (["--limit", "3"], RunOptions(material=MaterialOptions(limit=3))),
    "part and limit": (
        ["--part", "a", "--limit", "1"],
        RunOptions(material=MaterialOptions(part="a", limit=1)),
    ),
    "parser": (["--parser", "vlmevalkit"], RunOptions(reading=ReadingOptions(parser="vlmevalkit"))),
    "scoring": (["--scoring", "paper"], RunOptions(reading=ReadingOptions(scoring="paper"))),
    "withheld": (
        ["--set", "withheld=official"],
        RunOptions(reading=ReadingOptions(withheld="official")),
    ),
}


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_means_what_it_means_to_an_audit(
    run: Run, tmp_path: Path, store: Store, option: str
) -> None:
    case = plain(tmp_path)
    arguments, options = OPTIONS[option]
    (benchmark,) = Session([case.name], store, options).benchmarks
    status, output, err = run("check", case.name, *arguments, "--json")
    # on a busy machine it says that it is still at work
    assert (
        status,
        [line for line in err.splitlines() if not line.startswith("hqm: checking")],
    ) == (0, [])
    assert json.loads(output)[0]["digest"] == benchmark.original.digest


@pytest.mark.parametrize(
    "arguments",
    [
        ["--part", "c"],
        ["--parser", "fast"],
        ["--set", "mode=none"],
        ["--set", "words=none"],
        ["--scoring", "mine"],
    ],
)
def test_a_wrong_option_is_the_sentence_that_an_audit_says(
    run: Run, tmp_path: Path, arguments: list[str]
) -> None:
    case = plain(tmp_path)
    checked = run("check", case.name, *arguments)
    audited = run(
        "audit", case.name, *arguments, "--recorded", "a.jsonl", "--out", tmp_path / "out"
    )
    assert checked[0] == audited[0] == 2
    assert checked[2] == audited[2] != ""


def test_a_corrected_key_is_checked_beside_the_release(
    run: Run, tmp_path: Path, store: Store
) -> None:
    case = plain(tmp_path)
    (tmp_path / "key.csv").write_text("item,target\nq0,no\nq1,\n")
    options = RunOptions(reading=ReadingOptions(key=tmp_path / "key.csv"))
    session = Session([case.name], store, options)
    status, output, _ = run("check", case.name, "--key", tmp_path / "key.csv", "--json")
    first, by_key = json.loads(output)
    assert (status, first["benchmark"], by_key["benchmark"]) == (0, "mine", "mine by key")
    original = session.benchmarks[0].original
    assert first["digest"] == original.digest
    assert by_key["digest"] == session.keys["mine"].applied(original).digest
    assert by_key["targets"] == {"no": 3}
    status, _, err = run("check", case.name, "shapes_yesno", "--key", tmp_path / "key.csv")
    assert (status, tells(err, "check.key-alone")) == (2, True)


def test_a_card_by_its_path_is_audited_too(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = path_of_card(tmp_path)
    monkeypatch.chdir(tmp_path)
    answers: list[dict[str, Any]] = [
        {"item": row["id"], "answer": row["target"], "respondent": name}
        for row in ROWS
        for name in "abc"
    ]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    status, _, err = run("audit", case.name, "--recorded", "answers.jsonl", "--quiet")
    assert status == 0, err
    assert (tmp_path / "out" / "mine" / "audit.json").is_file()
