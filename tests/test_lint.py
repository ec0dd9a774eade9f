"""The linter: every code fires where its fault is planted, a clean benchmark raises none, output
and status are stable.
"""

import json
import math
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
import sklearn.datasets
from PIL import Image, ImageEnhance

import hqm
from hqm.benchmark.findings import check_form
from hqm.files.images import as_rgb
from hqm.lint import CODES, Checked, Selection, code_of, lint_benchmarks
from hqm.lint.answer_leaks import check_option_positions
from hqm.lint.picture_checks import Look, Pictures, change_between
from hqm.lint.question_checks import (
    _ODD,
    check_words,
    commonest_template,
    normalised_words,
    with_favoured_keys,
)
from hqm.scoring.matrix import ScoreMatrix
from hqm.types import ORIGINAL, Cell, Form, Item
from tests.conftest import Run, write_benchmark
from tests.messages import tells, text_of

CARD = {"licence": "CC-BY-4.0", "citation": "A 2026", "summary": "What?", "labelled": True}
NOUNS = [
    f"{a}{b}"
    for a in ("dog", "cat", "car", "bus", "hat", "cup", "key", "map")
    for b in ("", "let", "ling", "s", "house")
]
WORDINGS = (
    "Is there a {} in the image?",
    "Does the picture show a {}?",
    "Can you see one {} here?",
    "Do we find some {}?",
)


def clean_items(count: int = 300) -> list[dict[str, Any]]:
    """Two questions a picture, wordings and right answers drawn apart."""
    rng = np.random.default_rng(5)
    answers = rng.permutation(["yes", "no"] * (count // 2)).tolist()
    names = {
        f"{i:03}": rng.choice(len(NOUNS), 2, replace=False).tolist() for i in range(count // 2)
    }
    return [
        {
            "id": f"{rng.integers(10**6):06}-{i}x",
            "prompt": str(rng.choice(list(WORDINGS))).format(NOUNS[names[f"{i // 2:03}"][i % 2]]),
            "target": answers[i],
            "type": "existence",
            "image": f"{i // 2:03}.png",
        }
        for i in range(count)
    ]


def picture(seed: int, size: int = 64, soft: bool = False) -> Image.Image:
    """A picture of a few coloured blocks, or of soft stains as photographs have them."""
    rng = np.random.default_rng(seed)
    small = Image.fromarray(rng.integers(0, 256, (4, 4, 3), dtype=np.uint8))
    return small.resize(
        (size, size), Image.Resampling.BICUBIC if soft else Image.Resampling.NEAREST
    )


def write(folder: Path, items: list[dict[str, Any]] | None = None, **card: Any) -> Path:
    """A benchmark that is clean unless told otherwise, with its pictures."""
    rows = clean_items() if items is None else items
    settings = {
        **CARD,
        "types": ["existence"],
        "data": {"items": "items.jsonl", "images": "images"},
        **card,
    }
    write_benchmark(folder, rows, **settings)
    (folder / "images").mkdir(exist_ok=True)
    for k, name in enumerate(
        sorted({row["image"] for row in rows if row.get("image") and "/" not in row["image"]})
    ):
        picture(k).save(folder / "images" / name)
    return folder


def findings_by_code(folder: Path) -> dict[str, hqm.Finding]:
    return {
        code_of(finding.name).code: finding for finding in lint_benchmarks(str(folder))[0].findings
    }


def edit(**changes: Any) -> Callable[[Path], object]:
    """Write the clean benchmark with its first item changed."""
    return lambda folder: write(folder, [{**clean_items()[0], **changes}, *clean_items()[1:]])


def twin(
    change: Callable[[dict[str, Any]], dict[str, Any]], n_copies: int = 1
) -> Callable[[Path], object]:
    """Write the clean benchmark with changed copies of its first items."""
    rows = clean_items()
    return lambda folder: write(
        folder,
        [*rows, *({**row, "id": f"copy{row['id']}", **change(row)} for row in rows[:n_copies])],
    )


def change_all(change: Callable[[int, dict[str, Any]], dict[str, Any]]) -> Callable[[Path], object]:
    return lambda folder: write(
        folder, [{**row, **change(i, row)} for i, row in enumerate(clean_items())]
    )


def after(change: Callable[[Path], object]) -> Callable[[Path], object]:
    """Write the clean benchmark, then do something to its files."""

    def make(folder: Path) -> None:
        write(folder)
        change(folder)

    return make


def lines(folder: Path, number: int, text: str) -> None:
    path = folder / "items.jsonl"
    rows = path.read_text().splitlines()
    rows[number - 1] = text
    path.write_text("\n".join(rows) + "\n")


def opposite(target: str) -> str:
    return {"yes": "no", "no": "yes"}[target]


def card_line(folder: Path, old: str, new: str) -> None:
    path = folder / "card.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def copy_picture(folder: Path, change: Callable[[Image.Image], Image.Image]) -> None:
    change(Image.open(folder / "images" / "000.png")).save(folder / "images" / "001.png")


def first_option(i: int) -> dict[str, Any]:
    """A question of four options whose right one stands first in six of ten items."""
    return {
        "options": [f"{NOUNS[(i + k) % 40]}" for k in range(4)],
        "target": "A" if i % 5 < 3 else "BCD"[i % 3],
    }


def choices_with(*options: str) -> Callable[[Path], object]:
    """Write items that have these options."""
    return lambda folder: write(
        folder,
        [
            {**row, "target": "ABC"[i % 3], "options": list(options)}
            for i, row in enumerate(clean_items())
        ],
        task="choice",
    )


FAULTS: dict[str, Callable[[Path], object]] = {
    "S101": after(lambda f: (f / "card.toml").write_text("name = ")),
    "S102": after(lambda f: card_line(f, "title", "titel")),
    "S103": after(lambda f: (f / "items.jsonl").unlink()),
    "S104": after(lambda f: (f / "items.jsonl").write_bytes(b'{"id": "caf\xe9"}\n')),
    "S105": after(lambda f: lines(f, 7, '{"id": "broken", ')),
    "S106": edit(prompt="  "),
    "S107": edit(target="perhaps"),
    "S108": edit(type="moon"),
    "S109": edit(image="../000.png"),
    "S110": edit(prompt={"text": "Is there a dog?"}),
    "S201": after(lambda f: lines(f, 2, (f / "items.jsonl").read_text().splitlines()[0])),
    "S202": edit(id="two words"),
    "S301": edit(prompt="Is there a cafÃ© in the image?"),
    "C101": lambda f: write(f, licence=""),
    "C102": lambda f: write(f, citation=""),
    "C103": lambda f: write(f, summary=""),
    "C104": lambda f: write(f, rai={"data_collection": "Drawn."}),
    "D101": twin(lambda row: {}),
    "D102": twin(lambda row: {"prompt": row["prompt"].upper().replace("?", " ?")}),
    "D103": twin(lambda row: {"target": opposite(row["target"])}),
    "D104": twin(lambda row: {"prompt": row["prompt"].upper(), "target": opposite(row["target"])}),
    "D105": twin(lambda row: {"prompt": "Is there any " + row["prompt"].split()[-1]}),
    "D106": choices_with("dark", "light", "grey", "grey"),
    "D107": choices_with("dark", "light", "nan"),
    "L101": change_all(lambda i, row: {"target": "yes" if i % 10 else "no"}),
    "L102": lambda f: write(
        f, [{**row, **first_option(i)} for i, row in enumerate(clean_items())], task="choice"
    ),
    "L201": change_all(lambda i, row: {"target": ("yes", "no")[i % 2]}),
    "L205": change_all(lambda i, row: {"id": f"{i}", "target": ("yes", "no")[i % 2]}),
    "L202": change_all(
        lambda i, row: {
            "prompt": row["prompt"] if row["target"] == "no" else row["prompt"].rstrip("?")
        }
    ),
    "L203": change_all(
        lambda i, row: {
            "prompt": row["prompt"] if row["target"] == "no" else f"Well then, {row['prompt']}"
        }
    ),
    "L204": twin(lambda row: {"prompt": f"{row['prompt']} (correct answer: {row['target']})"}),
    "L301": change_all(
        lambda i, row: {
            "prompt": row["prompt"] if row["target"] == "no" else f"{row['prompt']} Surely?"
        }
    ),
    "W101": change_all(lambda i, row: {"prompt": "Is there a dog in the image?"}),
    "W103": choices_with("dark", "light", "Both A and B"),
    "W104": choices_with("dark", "None of the above", "light"),
    "W102": change_all(lambda i, row: {"prompt": f"Is there a {NOUNS[i % 40]} in the image?"}),
    "T101": lambda f: write(f, types=["existence", "ocr"]),
    "T102": lambda f: write(f, clean_items(250)),
    "T103": lambda f: write(f, types=[]),
    "T104": edit(type=""),
    "I101": after(lambda f: (f / "images" / "007.png").unlink()),
    "I102": after(
        lambda f: (f / "images" / "007.png").write_bytes(
            (f / "images" / "007.png").read_bytes()[:60]
        )
    ),
    "I103": after(lambda f: copy_picture(f, lambda p: p)),
    "I104": after(lambda f: copy_picture(f, lambda p: p.resize((96, 96)))),
    "I107": after(lambda f: Image.new("RGB", (64, 64), "gray").save(f / "images" / "007.png")),
    "I108": after(
        lambda f: Image.new("RGBA", (9, 9), (90, 9, 9, 9)).save(f / "images" / "007.png")
    ),
    "I105": after(lambda f: picture(999).save(f / "images" / "more.png")),
}
"""Code -> how its fault is planted.

I106 and B000 need data that are apart, and an adapter; they have tests of their own.
"""


def test_ends_of_lines_are_no_control_characters() -> None:
    assert not _ODD.search("Is there a dog?\r\nAnswer yes\tor no.\r")
    assert _ODD.search("8.49\x07ngle")  # an \\a of LaTeX that was read as an escape


def test_right_options_in_all_places_alike_are_no_finding(tmp_path: Path) -> None:
    for seed in range(30):
        letters = np.random.default_rng(seed).choice(list("ABCD"), 300)
        rows = [
            {**row, **first_option(i), "target": str(letters[i])}
            for i, row in enumerate(clean_items())
        ]
        folder = write(tmp_path / f"seed{seed}", rows, task="choice")
        assert "L102" not in {
            code_of(f.name).code for f in check_option_positions(hqm.load(str(folder)).original)
        }, seed


SAVED: dict[str, Callable[[Path, Path], object]] = {
    "the same bytes": lambda path, copy: copy.write_bytes(path.read_bytes()),
    "saved again": lambda path, copy: Image.open(path).save(copy, compress_level=1),
    "as JPEG": lambda path, copy: (
        Image.open(path).convert("RGB").save(copy.with_suffix(".png"), format="JPEG", quality=90)
    ),
    "scaled": lambda path, copy: (
        Image.open(path).resize((480, 480), Image.Resampling.LANCZOS).save(copy)
    ),
}


def photograph(seed: int, with_object: bool = False) -> Image.Image:
    """A soft picture of 320 pixels, with or without a small thing in it."""
    soft = picture(seed, 320, soft=True)
    if with_object:
        soft.paste((20, 20, 20), (200, 90, 212, 102))
    return soft


@pytest.mark.parametrize("change", SAVED)
def test_contradictions_are_found_by_what_the_pictures_show(tmp_path: Path, change: str) -> None:
    rows = clean_items()
    twins = [
        {
            **row,
            "id": f"twin{row['id']}",
            "image": f"copy{row['image']}",
            "target": opposite(row["target"]),
        }
        for row in rows[:6:2]
    ]
    folder = write(tmp_path / "mine", [*rows, *twins])
    for k in range(3):
        photograph(k).save(folder / "images" / f"{k:03}.png")
        SAVED[change](folder / "images" / f"{k:03}.png", folder / "images" / f"copy{k:03}.png")
    finding = findings_by_code(folder)["D103"]
    assert [row["items"] for row in finding.rows] == [
        [row["id"], f"twin{row['id']}"] for row in rows[:6:2]
    ]
    assert [row["keys"] for row in finding.rows] == [
        [row["target"], opposite(row["target"])] for row in rows[:6:2]
    ]
    assert finding.rows[0]["images"] == ["000.png", "copy000.png"]


def test_pictures_that_differ_in_one_small_thing_are_two_pictures(tmp_path: Path) -> None:
    rows = clean_items()
    changed = [
        {
            **row,
            "id": f"twin{row['id']}",
            "image": f"copy{row['image']}",
            "target": opposite(row["target"]),
        }
        for row in rows[:6:2]
    ]
    folder = write(tmp_path / "mine", [*rows, *changed])
    for k in range(3):
        photograph(k).save(folder / "images" / f"{k:03}.png")
        photograph(k, with_object=True).save(folder / "images" / f"copy{k:03}.png")
    assert not {"D101", "D102", "D103", "D104"} & set(findings_by_code(folder))


def test_every_list_of_a_finding_is_complete(tmp_path: Path) -> None:
    rows = clean_items()
    twins = [
        {**row, "id": f"twin{row['id']}", "target": opposite(row["target"])} for row in rows[:40]
    ]
    folder = write(tmp_path / "mine", [*rows, *twins])
    for k in range(30):
        (folder / "images" / f"{k:03}.png").unlink()
    by_code = findings_by_code(folder)
    assert len(by_code["D103"].rows) == by_code["D103"].count == 40
    assert [row["images"] for row in by_code["I101"].rows] == [[f"{k:03}.png"] for k in range(30)]
    assert by_code["D103"].to_dict()["rows"][0]["keys"] == [
        rows[0]["target"],
        opposite(rows[0]["target"]),
    ]
    records = ["{broken"] * 25
    (folder / "items.jsonl").write_text("\n".join([*records, *map(json.dumps, rows)]) + "\n")
    faults = [f for f in lint_benchmarks(str(folder))[0].findings if f.name == "record-broken"]
    assert sum(len(f.rows) for f in faults) == 25


def test_two_right_options_of_one_question_do_not_contradict(tmp_path: Path) -> None:
    def row(i: int, options: list[str], target: str) -> dict[str, Any]:
        return {
            "id": f"q{i}",
            "prompt": "What is there?",
            "options": options,
            "target": target,
            "image": "0.png",
            "type": "existence",
        }

    turned = [row(0, ["dog", "cat"], "A"), row(1, ["cat", "dog"], "B")]
    separate = [row(0, ["dog", "cat"], "A"), row(1, ["hat", "bus"], "B")]
    opposed = [row(0, ["dog", "cat"], "A"), row(1, ["cat", "dog"], "A")]
    for rows, contradict in ((turned, False), (separate, False), (opposed, True)):
        folder = write(tmp_path / f"x{len(list(tmp_path.iterdir()))}", rows, task="choice")
        assert ("D103" in findings_by_code(folder)) == contradict


def test_two_questions_of_a_picture_that_has_no_others_ask_the_same(tmp_path: Path) -> None:
    first = clean_items()[0]
    repeated = {**first, "id": "again", "prompt": "Is there any " + first["prompt"].split()[-1]}
    assert "D105" in findings_by_code(write(tmp_path, [first, repeated]))


def test_every_code_has_a_fault() -> None:
    # the wordings of forms have tests of their own in test_forms
    forms = {code for code in CODES if code.startswith("F")}
    assert set(FAULTS) | {"I106", "B000"} | forms == set(CODES)
    assert len({code.name for code in CODES.values()}) == len(CODES)


def test_a_clean_benchmark_raises_nothing(tmp_path: Path) -> None:
    assert lint_benchmarks(str(write(tmp_path / "mine")))[0].findings == ()


@pytest.mark.parametrize("code", FAULTS)
def test_a_planted_fault_is_found(tmp_path: Path, code: str) -> None:
    FAULTS[code](tmp_path / "mine")
    assert code in findings_by_code(tmp_path / "mine")


def test_a_fault_names_its_file_and_line_and_the_check_goes_on(tmp_path: Path) -> None:
    rows = clean_items()
    rows[2]["target"], rows[4]["type"] = "perhaps", "moon"
    write(tmp_path / "mine", rows, colour="red")
    lines(tmp_path / "mine", 9, "{")
    names = findings_by_code(tmp_path / "mine")
    items = tmp_path / "mine" / "items.jsonl"
    assert [names[code].place for code in ("S107", "S108", "S105")] == [
        f"{items}:{n}" for n in (3, 5, 9)
    ]
    card, _, line = names["S102"].place.rpartition(":")
    assert Path(card).read_text().splitlines()[int(line) - 1] == 'colour = "red"'
    assert names["S102"].sentence == text_of("lint.key", key="colour")
    form = lint_benchmarks(str(tmp_path / "mine"))[0].form
    assert form is not None
    assert len(form) == 298, "a right answer and a record are lost, a type is only left out"


def test_a_fault_in_every_line_is_told_ten_times_and_counted(tmp_path: Path) -> None:
    change_all(lambda i, row: {"target": "perhaps"})(tmp_path / "mine")
    findings = lint_benchmarks(str(tmp_path / "mine"))[0].findings
    assert [finding.count for finding in findings if finding.name == "target-invalid"] == [
        *[1] * 10,
        290,
    ]


def test_csv_and_arrays_are_checked_too(tmp_path: Path) -> None:
    folder = write(tmp_path / "mine", data={"items": "items.csv", "images": "images"})
    (folder / "items.csv").write_text("id,prompt,target\n1,Is it?,yes\n2,Is it\n3,Was it?,maybe\n")
    assert {
        code: finding.place
        for code, finding in findings_by_code(folder).items()
        if code in ("S105", "S107")
    } == {
        "S105": f"{folder / 'items.csv'}:3",
        "S107": f"{folder / 'items.csv'}:4",
    }
    write(tmp_path / "array")
    (tmp_path / "array" / "items.jsonl").write_text(json.dumps(clean_items()))
    assert lint_benchmarks(str(tmp_path / "array"))[0].findings == ()


def test_what_an_adapter_knows_has_one_code_and_its_own_name(tmp_path: Path) -> None:
    folder = write(tmp_path / "mine")
    (folder / "adapter.py").write_text(
        "import hqm\n\n\nclass Mine(hqm.Benchmark):\n    def check(self, form):\n"
        "        yield hqm.Finding('own-oddity', 'the owner knows more about the data', 3)\n"
    )
    (finding,) = lint_benchmarks(str(folder))[0].findings
    assert finding.to_dict() == {
        "code": "B000",
        "name": "own-oddity",
        "severity": "note",
        "sentence": "the owner knows more about the data",
        "count": 3,
        "examples": [],
        "place": "",
        "rows": [],
        "remedy": text_of("lint.own-remedy"),
    }
    assert Selection.from_options(["own-oddity"], None).has("own-oddity")
    assert not Selection.from_options(None, ["own-oddity"]).has("own-oddity")


@pytest.mark.data
def test_pictures_that_come_apart_are_not_missed(data: Path) -> None:
    (pope,) = lint_benchmarks("pope", data=data)
    assert "images-not-checked" in {finding.name for finding in pope.findings} or (
        pope.form and (data / "pope/images").exists()
    )
    leaks = next(finding for finding in pope.findings if finding.name == "leakage-cue")
    assert tells(leaks.sentence, "lint.cue", accuracy="0.723", baseline="0.500")
    # every question file takes turns, so the place tells the label: known of POPE, and 1.000 by
    # counting; no respondent sees it
    (order,) = (finding for finding in pope.findings if finding.name == "order-cue")
    assert "(1.000 right)" in order.sentence
    assert code_of("order-cue").severity == "note"


def test_pairs_of_question_and_negation(tmp_path: Path) -> None:
    rows = [
        *clean_items(),
        {
            "id": "a",
            "prompt": "Is there a tram?",
            "target": "yes",
            "image": "000.png",
            "type": "existence",
        },
    ]
    negation = {**rows[-1], "id": "b", "prompt": "Is there no tram?"}
    assert "D104" in findings_by_code(write(tmp_path / "bad", [*rows, negation]))
    assert "D104" not in findings_by_code(
        write(tmp_path / "good", [*rows, {**negation, "target": "no"}])
    )


def photographs() -> list[Image.Image]:
    """Parts of photographs that other libraries bring: six of each of three."""
    files = [*Path(sklearn.datasets.__file__).parent.glob("images/*.jpg")]
    files.append(Path(matplotlib.get_data_path()) / "sample_data" / "grace_hopper.jpg")
    parts = []
    for path in sorted(files):
        full_image = Image.open(path).convert("RGB")
        width, height = full_image.width // 3, full_image.height // 2
        for k in range(6):
            left, top = k % 3 * width, k // 3 * height
            parts.append(full_image.crop((left, top, left + width, top + height)))
    return parts


CHANGED: dict[str, Callable[[Image.Image], Image.Image]] = {
    "brighter by 8": lambda p: p.point(lambda shade: min(255, shade + 8)),
    "brighter by 35 %": lambda p: ImageEnhance.Brightness(p).enhance(1.35),
    "darker by a third": lambda p: ImageEnhance.Brightness(p).enhance(0.67),
    "more contrast": lambda p: ImageEnhance.Contrast(p).enhance(1.4),
    "a tenth cut on each side": lambda p: p.crop(
        (p.width // 10, p.height // 10, p.width * 9 // 10, p.height * 9 // 10)
    ),
    "a fifth cut on the left": lambda p: p.crop((p.width // 5, 0, p.width, p.height)),
    "half the size": lambda p: p.resize((p.width // 2, p.height // 2)),
    "cut and brighter": lambda p: ImageEnhance.Brightness(
        p.crop((0, 0, p.width * 6 // 7, p.height * 5 // 6))
    ).enhance(1.2),
}


@pytest.mark.parametrize("change", CHANGED)
def test_a_picture_is_known_brighter_cut_or_scaled(tmp_path: Path, change: str) -> None:
    """Every changed copy is found, and no other pair of eighteen parts of three photographs."""
    pictures = photographs()
    for k, image in enumerate(pictures):
        image.save(tmp_path / f"{k:02}.png")
        if k % 3 == 0:
            CHANGED[change](image).save(tmp_path / f"{k:02}-changed.jpg", quality=80)
    files = {path.name: path for path in sorted(tmp_path.iterdir())}
    lookup = Pictures(
        tuple(files),
        looks={name: Look.from_file(path) for name, path in files.items()},
        bytes_of={name: f"{change} {name}" for name in files},
        files=files,
    )
    pairs = [(twins.first, twins.second) for twins in lookup.alike]
    assert pairs == [(f"{k:02}-changed.jpg", f"{k:02}.png") for k in range(0, 18, 3)]
    assert all(("cut to" in twins.change) == ("cut" in change) for twins in lookup.alike)


def test_a_change_of_one_thing_makes_another_picture() -> None:
    for k, original in enumerate(photographs()):
        changed = original.copy()
        changed.paste((255, 0, 255), (0, 0, original.width // 8, original.height // 8))
        assert change_between(original, changed) is None, k
        turned = original.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        assert change_between(original, turned) is None, k


@pytest.mark.parametrize(
    ("odd", "make"),
    {
        "more than 8 bits a shade": lambda path: Image.fromarray(
            np.arange(4096, dtype=np.uint16).reshape(64, 64)
        ).save(path),
        "CMYK": lambda path: picture(1).convert("CMYK").save(path, format="TIFF"),
        "transparency": lambda path: Image.new("RGBA", (8, 8), (255, 0, 0, 90)).save(path),
        "3 frames": lambda path: picture(1).save(
            path, format="GIF", save_all=True, append_images=[picture(2), picture(3)]
        ),
        "turned by its EXIF data": lambda path: picture(1).save(path, exif=_turned()),
    }.items(),
)
def test_pictures_that_can_be_shown_in_two_ways_are_named(
    tmp_path: Path, odd: str, make: Callable[[Path], None]
) -> None:
    folder = write(tmp_path / "mine")
    make(folder / "images" / "003.png")
    assert findings_by_code(folder)["I108"].rows == ({"images": ["003.png"], "what": odd},)


def _turned() -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = 6
    return exif


def test_a_picture_is_read_as_people_see_it(tmp_path: Path) -> None:
    shades = Image.fromarray(np.linspace(500, 3000, 4096).astype(np.uint16).reshape(64, 64))
    assert len(as_rgb(shades).convert("L").getcolors() or ()) == 256, "no shade is cut off"
    clear = Image.new("RGBA", (4, 4), (255, 0, 0, 0))
    assert as_rgb(clear).getpixel((0, 0)) == (255, 255, 255), "what is transparent is white"
    palette = Image.new("P", (4, 4), 3)
    palette.info["transparency"] = 3
    assert as_rgb(palette).getpixel((0, 0)) == (255, 255, 255)
    Image.new("RGB", (6, 2), "red").save(tmp_path / "t.jpg", exif=_turned())
    assert as_rgb(Image.open(tmp_path / "t.jpg")).size == (2, 6)


PARAPHRASED = {
    "Is there a {} in the image?": "Can you see any {}s in this photo?",
    "Does the picture show a {}?": "Is a {} visible?",
    "Can you see a red {} here?": "Is the {} red?",
    "How many {}s are there?": "What is the number of {}s in the scene?",
}


def test_the_same_asked_in_other_words_is_found(tmp_path: Path) -> None:
    """Four of four, and none among questions about two things in their two orders."""
    rows = clean_items()
    twins = [
        {**rows[k], "id": f"{n}x{k}", "prompt": text.format(("zebra", "tiger", "camel", "goat")[k])}
        for k, pair in enumerate(PARAPHRASED.items())
        for n, text in enumerate(pair)
    ]
    orders = [
        {**rows[9], "id": f"order{n}", "prompt": text}
        for n, text in enumerate(
            ("Is the dog left of the cat?", "Is the cat left of the dog?", "Is the cat not left?")
        )
    ]
    listed = findings_by_code(write(tmp_path / "mine", [*rows, *twins, *orders]))["D105"]
    assert [row["items"] for row in listed.rows] == [[f"0x{k}", f"1x{k}"] for k in range(4)]


@pytest.mark.parametrize(
    ("prompt", "holds"),
    [
        ("Is it red? (correct answer: yes)", True),
        ("Is it red? Ground truth = Yes.", True),
        ("Is it red? [label: yes]", True),
        ("Is it red? The right answer is 'yes'", True),
        ("Is it red? (correct answer: no)", False),
        ("Is it red? Answer: yes or no.", False),
        ("If the answer is yes, say yes. Is it red?", False),
        ("Please answer yes or no. Is it red?", False),
    ],
)
def test_a_question_that_says_its_answer_is_found(prompt: str, holds: bool) -> None:
    form = Form(ORIGINAL, (Item("1", prompt, "yes_no", "yes"),))
    assert any(f.name == "answer-in-question" for f in check_words(form)) == holds


@pytest.mark.parametrize("letter", ["A", "B"])
def test_a_question_that_says_its_letter_is_found(letter: str) -> None:
    prompt = f"Which? (correct answer: {letter})"
    item = Item("1", prompt, "choice", letter, options=("red", "blue"))
    assert "answer-in-question" in {f.name for f in check_words(Form(ORIGINAL, (item,)))}


def test_numbers_of_two_signs_are_two_answers() -> None:
    items = (Item("1", "How cold is it?", "vqa", "-5"), Item("2", "How cold is it", "vqa", "5"))
    assert "contradictory-twins" in {f.name for f in check_words(Form(ORIGINAL, items))}


def test_positions_in_parts_alone_count_their_items() -> None:
    items = tuple(
        Item(f"{part}{i}", f"{i}?", "choice", letter, options=("x", "y"), part=part)
        for part, letter in (("p", "A"), ("q", "B"))
        for i in range(60)
    )
    (finding,) = check_option_positions(Form(ORIGINAL, items))
    assert finding.count == 120


ROWS = [
    {"id": i, "prompt": f"Is it thing {i}?", "target": "yes" if i % 2 else "no"} for i in range(6)
]
HEADING = "id,prompt,target\n"
LINES = "".join(f"{row['id']},{row['prompt']},{row['target']}\n" for row in ROWS)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("items.jsonl", "".join(f"{json.dumps(row)}\n" for row in ROWS)),
        ("items.json", json.dumps({"test": ROWS})),
        ("items.json", json.dumps({"info": {"v": 1}, "items": ROWS})),
        ("items.json", json.dumps({name: [row[name] for row in ROWS] for name in ROWS[0]})),
        ("items.csv", HEADING + LINES + ",,\n"),
        ("items.csv", HEADING + ",,\n" + LINES),
        ("items.csv", HEADING + LINES.replace(",Is", ".0,Is")),
        ("items.csv", HEADING + LINES + HEADING + "7,Is it 7?,yes\n"),
        ("items.csv", HEADING + "string,string,string\n" + LINES),
        ("items.tsv", (HEADING + LINES + "7,Is it 7?\n").replace(",", "\t")),
    ],
)
def test_the_check_reads_items_as_an_audit_does(tmp_path: Path, name: str, text: str) -> None:
    """The same items without a fault, or a fault where an audit refuses them."""
    folder = write(tmp_path / "mine", [], task="vqa", data={"items": name})
    (folder / name).write_text(text)
    try:
        digest = hqm.load(str(folder)).original.digest
    except hqm.HQMError:
        digest = ""
    (checked,) = lint_benchmarks(str(folder))
    faults = [f.sentence for f in checked.findings if code_of(f.name).severity == "error"]
    assert (digest == "") == bool(faults), faults
    if digest:
        assert checked.form is not None
        assert checked.form.digest == digest


def test_a_fault_below_an_empty_row_is_named_with_its_line(tmp_path: Path) -> None:
    folder = write(tmp_path / "mine", [], data={"items": "items.csv"})
    (folder / "items.csv").write_text(HEADING + "1,Is it?,yes\n,,\n2,Is it not?,zzz\n")
    (checked,) = lint_benchmarks(str(folder))
    assert [f.place.rpartition(":")[2] for f in checked.findings if f.place] == ["4"]
    with pytest.raises(hqm.HQMError, match="record 3"):
        _ = hqm.load(str(folder)).original


def test_templates_by_hand() -> None:
    assert commonest_template(["is dog red", "is cat red", "is sky blue"]) == ("is _ red", 2 / 3)
    assert commonest_template(["two words"]) == ("two words"[:0], 0.0)
    assert normalised_words("Is the DOG, an animal?") == "is dog animal"
    # HallusionBench asks the same of angles three times, but for the sign
    assert len({normalised_words(f"Is angleA + angleB {sign} 180?") for sign in "<=>"}) == 3


def test_select_and_ignore() -> None:
    def left(select: list[str] | None, ignore: list[str] | None) -> set[str]:
        selection = Selection.from_options(select, ignore)
        return {code.code for code in CODES.values() if selection.has(code.name)}

    assert left(None, None) == set(CODES)
    assert left(["L"], None) == {code for code in CODES if code.startswith("L")}
    assert left(["L,few-wordings"], ["L2"]) == {"L101", "L102", "L301", "W101"}
    assert left(["L2"], ["L"]) == {f"L20{n}" for n in range(1, 6)}, "the longer entry decides"
    assert left(["D101"], ["D101"]) == set()
    assert left(None, ["D", "S101"]) == {
        code for code in CODES if code[0] != "D" and code != "S101"
    }
    with pytest.raises(hqm.UsageError, match="fits no code"):
        Selection.from_options(["Q7"], None)


def test_the_command(run: Run, tmp_path: Path) -> None:
    good, bad = write(tmp_path / "good"), tmp_path / "bad"
    FAULTS["D104"](bad)
    status, output, _ = run("check", good, "--strict")
    assert (status, "nothing found" in output) == (0, True)
    status, output, _ = run("check", bad)
    assert status == 1, "an error is left"
    assert run("check", bad, "--exit-zero") == (0, output, "")
    assert "  D104 contradictory-twins: " in output
    assert "found: 1 error, 1 warning" in output
    assert run("check", bad, "--strict")[0] == 1
    assert run("check", bad, "--strict", "--ignore", "D")[0] == 0
    assert run("check", bad, "--strict", "--select", "near-duplicate-question")[0] == 1
    (checked,) = json.loads(run("check", bad, "--json", "--select", "D104")[1])
    assert [finding["code"] for finding in checked["findings"]] == ["D104"]
    assert set(checked["findings"][0]) == {
        "rows",
        "code",
        "name",
        "severity",
        "sentence",
        "remedy",
        "count",
        "examples",
        "place",
    }
    (bad / "card.toml").write_text("[")
    status, output, _ = run("check", bad, good)
    assert status == 1
    assert "bad: it cannot be read" in output
    assert "mine@1: 300 items" in output, "the other benchmark is checked all the same"
    assert run("check", "nothing")[0] == 2
    assert run("check", good, "--select", "Q")[0] == 2


def test_a_value_of_checked_is_json(tmp_path: Path) -> None:
    checked: Checked = lint_benchmarks(str(write(tmp_path / "mine")))[0]
    printed = checked.to_dict(Selection())
    assert json.loads(json.dumps(printed)) == printed
    assert printed["leaks"]
    for row, leak in zip(printed["leaks"], checked.leaks, strict=True):
        fields = {**asdict(leak), "name": leak.name}
        unknown = {k for k, v in fields.items() if isinstance(v, float) and not math.isfinite(v)}
        assert row == fields | dict.fromkeys(unknown)
    assert (printed["items"], printed["images"], printed["targets"]) == (
        300,
        150,
        {"no": 150, "yes": 150},
    )


@pytest.mark.parametrize(
    ("prompts", "paraphrases"),
    [
        (("Is there a brown dog here?", "Can you see any dogs that are brown?"), True),
        (("Is there a brown dog here?", "Is there a black dog here?"), False),
        # without a word of content nothing says that they ask the same
        (("What is this?", "What do you see in the picture?"), False),
    ],
)
def test_paraphrases_share_their_content_words(prompts: tuple[str, str], paraphrases: bool) -> None:
    items = (Item(f"q{i}", prompt, "vqa", "1", "a.png") for i, prompt in enumerate(prompts))
    names = {finding.name for finding in check_words(Form(ORIGINAL, tuple(items)))}
    assert ("paraphrased-question" in names) == paraphrases


@pytest.mark.parametrize(
    ("right", "favoured"),
    [
        ((9, 1), "a"),
        ((1, 9), "b"),
        ((6, 4), ""),
        ((8, 1), "a"),
        ((7, 1), ""),
        ((0, 6), "b"),
        ((0, 5), ""),
    ],
)
def test_answers_favour_one_of_two_contradicting_keys(
    right: tuple[int, int], favoured: str
) -> None:
    form = Form(
        ORIGINAL,
        tuple(
            Item(name, "Is there a dog?", "yes_no", key, image="1.png")
            for name, key in (("a", "yes"), ("b", "no"))
        ),
    )
    (finding,) = (f for f in check_form(form) if f.name == "contradictory-label")
    values = (np.arange(10)[:, None] < np.array(right)).astype(float)
    cell, no = Cell(), np.zeros((10, 2))
    respondents = tuple(map(str, range(10)))
    answers = ScoreMatrix(cell, respondents, form.items, values, {}, no.astype(np.uint8), no, {})
    read = with_favoured_keys(finding, answers)
    assert read.rows[0]["favoured"] == favoured
    assert read.examples[0].endswith(str(read.rows[0]["answers"]))
