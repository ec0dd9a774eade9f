"""`hqm fetch NAME` from an empty folder, for every benchmark: small files in the release's own
layout, over loopback.

The command is the real one. `--mirror` sends its requests to a server here, at the host and path
that the card pins, and `--checksums` names the sums of the small files; without it the card's pins
refuse them.
"""

import csv
import hashlib
import io
import json
import re
import shlex
import stat
import subprocess
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import hqm
from hqm.benchmark.registry import card
from hqm.files.archives import json_values
from tests.messages import pattern_of, tells, text_of

from .conftest import ROOT, Run

Release = Mapping[str, bytes]
"""Path below the benchmark's folder -> content."""


class Mirror:
    """Serves files at `/<host>/<path>`, with ranges; ends a connection too early where it is told
    to.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.requested: list[tuple[str, str]] = []
        self.cut: dict[str, int] = {}
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                range_header = self.headers.get("Range", "")
                mirror.requested.append((self.path, range_header))
                body = mirror.files.get(self.path)
                if body is None:
                    self.send_error(404)
                    return
                start = int(range_header.removeprefix("bytes=").rstrip("-")) if range_header else 0
                if start >= len(body):
                    self.send_error(416)
                    return
                self.send_response(206 if range_header else 200)
                self.send_header("Content-Length", str(len(body) - start))
                self.end_headers()
                self.wfile.write(body[start : mirror.cut.pop(self.path, len(body))])

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def serve(self, name: str, release: Release) -> dict[str, str]:
        """Serve a benchmark's files where its card says they lie; path -> address on this
        server.
        """
        addresses = {}
        for file in card(name).source.files:
            if file.path in release:
                address = urlsplit(file.url)
                assert address.netloc, f"{name}: {file.path} has no address"
                addresses[file.path] = f"/{address.netloc}{address.path}"
                self.files[addresses[file.path]] = release[file.path]
        assert addresses.keys() == release.keys(), (
            f"the card of {name} does not name {release.keys() - addresses.keys()}"
        )
        return addresses


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    running = Mirror()
    yield running
    running.server.shutdown()
    running.server.server_close()


def sums(folder: Path, *releases: Release) -> Path:
    """What `sha256sum` prints for the files of releases."""
    path = folder / "sums.txt"
    lines = [
        f"{hashlib.sha256(body).hexdigest()}  {name}"
        for files in releases
        for name, body in files.items()
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def text(value: object) -> bytes:
    return json.dumps(value).encode()


def lines(*records: object) -> bytes:
    return b"".join(text(record) + b"\n" for record in records)


# --- small releases, each in the layout of the real one ---

SYNONYMS = (
    b"person, girl, boy, man, woman\ncar, automobile, taxi\nmotorcycle, scooter,  motor bike, motor"
    b" cycle\nbus, minibus\ndog, puppy, collie\nwine glass\ntie, bow, bow tie\n"
)
CATEGORIES = [
    {"id": 1, "name": "person"},
    {"id": 3, "name": "car"},
    {"id": 6, "name": "bus"},
    {"id": 18, "name": "dog"},
    {"id": 32, "name": "tie"},
]
VAL = {
    42: ([18, 18], ["A dog.", "Two women with a puppy."]),
    73: ([], ["A bus and a tie."]),
    391895: ([3], ["A motor bike."]),
}
TRAIN = {9: ([1], ["A man pours into wine glasses."]), 25: ([6], ["Minibus, buses and ties."])}


def annotations() -> bytes:
    """annotations_trainval2014.zip in COCO's layout: `annotations/instances_val2014.json` and so
    on.
    """
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for split, pictures in (("train", TRAIN), ("val", VAL)):
            images = [
                {"id": i, "file_name": f"COCO_{split}2014_{i:012}.jpg", "license": 3}
                for i in pictures
            ]
            head = {"info": {"year": 2014}, "images": images, "licenses": [{"id": 3}]}
            instances = [
                {
                    "segmentation": [[0.5, 1.5]],
                    "iscrowd": 0,
                    "image_id": i,
                    "category_id": category,
                    "id": n,
                }
                for i, (segmented, _) in pictures.items()
                for n, category in enumerate(segmented)
            ]
            captions = [
                {"image_id": i, "id": n, "caption": c}
                for i, (_, picture_captions) in pictures.items()
                for n, c in enumerate(picture_captions)
            ]
            archive.writestr(
                f"annotations/instances_{split}2014.json",
                json.dumps({**head, "annotations": instances, "categories": CATEGORIES}),
            )
            archive.writestr(
                f"annotations/captions_{split}2014.json",
                json.dumps({**head, "annotations": captions}),
            )
            archive.writestr(f"annotations/person_keypoints_{split}2014.json", "{}")
    return packed.getvalue()


ANNOTATIONS = annotations()


def pope(part: str) -> bytes:
    return lines(
        *(
            {
                "question_id": i,
                "image": f"COCO_val2014_{i:012}.jpg",
                "text": f"Is there a {name} in the image?",
                "label": label,
            }
            for i, (name, label) in enumerate((("dog", "yes"), (f"car{part[0]}", "no")), 1)
        )
    )


def captions(model: int, instruction: int) -> bytes:
    caption = ("A dog and a man.", "A dog.", "A bus and a tie.", "A car.")[
        (model + instruction) % 4
    ]
    return lines(
        *(
            {"question_id": n, "image_id": i, "prompt": "Describe.", "text": caption}
            for n, i in enumerate(VAL)
        )
    )


MODELS = ("instructblip", "llava", "minigpt-4", "mmgpt", "mplug")
AMBER = [
    {"id": 1, "type": "generative", "truth": ["sky", "grass"], "hallu": ["dog"]},
    {"id": 1005, "type": "discriminative-attribute-state", "truth": "yes"},
    {"id": 1006, "type": "discriminative-attribute-state", "truth": "no"},
    {"id": 15220, "type": "relation", "truth": "no"},
]
AMBER_WORDS = {"sky": [], "grass": ["ground"], "dog": []}
HAL_CAPTIONS = [
    {"type": kind, "caption": f"a {kind} caption", "from": "gpt-4"}
    for kind in (
        "Spatial Relationship Hallucination",
        "Objective Hallucination",
        "Attributive Hallucination",
        "Event Hallucination",
    )
]
HAL_EVAL = {
    "in_domain_evaluation.json": text(
        [
            {
                "image": "val2014/COCO_val2014_000000462565.jpg",
                "caption": "people ride",
                "hal_caption": HAL_CAPTIONS,
            }
        ]
    ),
    "out_of_domain_evaluation.json": text(
        [
            {
                "image_path": "/hdd2/jcy/data/CC_SBU/image/007675839.jpg",
                "key": "007675839",
                "caption": "eggs",
                "hal_caption": HAL_CAPTIONS,
            }
        ]
    ),
}
VALOR = {
    "human_annotation/object_existence.jsonl": lines(
        {"image_id": "2399941", "gt_objects": ["plate", "onion"]}
    ),
    "human_annotation/attribute_object.json": text({"pexels-1": {"1": "(red, apple)"}}),
    "human_annotation/attribute_people.json": text(
        {"pexels-2": {"1": {"person": "woman", "object": "(black, jacket)", "action": "standing"}}}
    ),
    "human_annotation/relation_positional.json": text(
        {"498148": {"0": ["chair is to the left of table"]}}
    ),
    "human_annotation/relation_comparative.json": text(
        {"2385195": {"1": "ground", "2": "teddy bear"}}
    ),
    **{
        f"{dimension}.txt": b"Describe it."
        for dimension in (
            "object_existence",
            "attribute_object",
            "attribute_people",
            "relation_positional",
            "relation_comparative",
        )
    },
}


def hallusion(figure: int, question: str, answer: str) -> dict[str, str | None]:
    return {
        "category": "VS",
        "subcategory": "chart",
        "visual_input": "1" if figure else "0",
        "set_id": "0",
        "figure_id": str(figure),
        "sample_note": "import",
        "question_id": "0",
        "question": question,
        "gt_answer_details": "It is so.",
        "gt_answer": answer,
        "filename": f"./VS/chart/0_{figure}.png" if figure else None,
    }


LETTERS = "ABCDEFGHIJ"
COLLEGE = {"question": "Who is shown?", "answer": "A", "topic_difficulty": "Easy", "subject": "Art"}
VISTA = {
    "question": "How many bars are there?",
    "image": "images/1.jpg",
    "choices": None,
    "answer": "4",
    "answer_type": "integer",
    "precision": None,
    "metadata": {"task": "figure question answering", "source": "PlotQA", "skills": []},
}
RELEASES: Mapping[str, tuple[Release, int, str, str]] = {
    # name: the files, the number of items, the first id, the last id
    "amber_d": (
        {
            "annotations.json": text(AMBER),
            "query/query_discriminative.json": text(
                [
                    {"id": r["id"], "image": "AMBER_1.jpg", "query": f"Is the sky sunny {r['id']}?"}
                    for r in AMBER[1:]
                ]
            ),
            "relation.json": text(AMBER_WORDS),
        },
        3,
        "1005",
        "15220",
    ),
    "amber_g": (
        {
            "annotations.json": text(AMBER),
            "relation.json": text(AMBER_WORDS),
            "safe_words.txt": b"orange\nsnack\n",
            "query/query_generative.json": text(
                [{"id": 1, "image": "AMBER_1.jpg", "query": "Describe this image."}]
            ),
        },
        1,
        "1",
        "1",
    ),
    "coco_chair": (
        {"annotations_trainval2014.zip": ANNOTATIONS, "synonyms.txt": SYNONYMS},
        3,
        "42",
        "391895",
    ),
    "faithscore": (
        {
            "questions.jsonl": lines(
                {
                    "id": "000000525439",
                    "image": "COCO_val2014_000000525439.jpg",
                    "instruction": "Where is it?",
                    "output": "There.",
                    "type": "conv",
                },
                {
                    "id": "000000525439",
                    "image": "COCO_val2014_000000525439.jpg",
                    "instruction": "Tell more.",
                    "output": "A lot.",
                    "type": "detail",
                },
            )
        },
        2,
        "000000525439/conv",
        "000000525439/detail",
    ),
    "gavie": (
        {
            "evaluation_set.json": text(
                [
                    {"image_id": "2356371", "question": "Which objects?"},
                    {"image_id": "2349204", "question": "Is there a balloon?"},
                ]
            )
        },
        2,
        "1",
        "2",
    ),
    "hal_eval_d": (HAL_EVAL, 10, "in_domain/1/truth", "out_of_domain/1/event"),
    "hal_eval_g": (HAL_EVAL, 4, "in_domain/1/short", "out_of_domain/1/long"),
    "hallusion_bench": (
        {
            "HallusionBench.json": text(
                [hallusion(0, "Is it so?", "1"), hallusion(1, "Is it so here?", "0")]
            )
        },
        2,
        "VS_chart_0_0_0",
        "VS_chart_0_1_0",
    ),
    "hqh": (
        {
            "HQH.json": text(
                [
                    {
                        "id": i,
                        "image_id": 2358632 + i,
                        "image": f"./images/{2358632 + i}.jpg",
                        "instruction": f"What is it ({i})?",
                        "ground_truth": "A sign.",
                        "type": kind,
                    }
                    for i, kind in enumerate(("OCR", "count", "existence"), 1)
                ]
            )
        },
        3,
        "1",
        "3",
    ),
    "mmhal": (
        {
            "mmhal-bench_answer_template.json": text(
                [
                    {
                        "question_type": "attribute",
                        "question_topic": "outdoor",
                        "image_id": key,
                        "image_src": f"https://c4.staticflickr.com/{key}_o.jpg",
                        "image_content": ["Tap"],
                        "question": "Which color?",
                        "gt_answer": "Yellow.",
                        "model_answer": "",
                    }
                    for key in ("df62a56fdc1bb12b", "ee0b5cf8c1a2b3d4")
                ]
            )
        },
        2,
        "df62a56fdc1bb12b",
        "ee0b5cf8c1a2b3d4",
    ),
    "open_chair": (
        {"example_gen_file.csv": b'"generated_caption"\n"a wolf and a moose"\n"an air show"\n'},
        2,
        "1",
        "2",
    ),
    "pope": (
        {
            **{
                f"coco_pope_{part}.json": pope(part)
                for part in ("random", "popular", "adversarial")
            },
            **{
                f"captions/Instruction{i}_{model}.json": captions(m, i)
                for i in (1, 2)
                for m, model in enumerate(MODELS)
            },
        },
        6,
        "coco_random/1",
        "coco_adversarial/2",
    ),
    "valor": (VALOR, 5, "object_existence/2399941", "relation_comparative/2385195"),
    "mathvista": (
        {"testmini.json": text({pid: {**VISTA, "pid": pid} for pid in ("1", "2", "3")})},
        3,
        "1",
        "3",
    ),
    "mmmu_pro": (
        {
            f"answers/gpt-4o-2024-08-06_direct_Standard({n}opts).jsonl": "".join(
                json.dumps({**COLLEGE, "id": key, "options": str(list(LETTERS[:n]))}) + "\n"
                for key in ("test_History_1", "test_History_2")
            ).encode()
            for n in (4, 10)
        },
        2,
        "test_History_1",
        "test_History_2",
    ),
}
FETCHED = [name for name in hqm.names() if card(name).data.folder]


def test_every_benchmark_that_does_not_come_with_hqm_is_fetched_here() -> None:
    assert set(FETCHED) == set(RELEASES)


@pytest.mark.parametrize("name", FETCHED)
def test_a_release_is_fetched_into_an_empty_folder_and_loads(
    name: str, mirror: Mirror, tmp_path: Path, run: Run
) -> None:
    release, count, first, last = RELEASES[name]
    mirror.serve(name, release)
    root = tmp_path / "root"
    command = (
        "fetch",
        name,
        "--data",
        root,
        "--mirror",
        mirror.url,
        "--checksums",
        sums(tmp_path, release),
        "--json",
    )
    status, output, err = run(*command)
    assert status == 0, output + err
    (report,) = json.loads(output)
    required = [file for file in report["fetched"] if not file["optional"]]
    assert {file["state"] for file in required} <= {"downloaded", "made"}
    assert not list(root.rglob("*.part"))
    items = hqm.load(name, data=root).original.items
    assert (len(items), items[0].id, items[-1].id) == (count, first, last)
    requests = [path for path, _ in mirror.requested if path in mirror.files]
    status, output, _ = run(*command)
    assert status == 0
    assert {file["state"] for file in json.loads(output)[0]["fetched"] if not file["optional"]} <= {
        "there"
    }
    assert requests == [path for path, _ in mirror.requested if path in mirror.files], (
        "nothing is downloaded twice"
    )


def items_in(name: str, root: Path) -> int:
    """How many items a benchmark has there; 0 where it cannot be loaded."""
    try:
        return len(hqm.load(name, data=root).original)
    except hqm.HQMError:
        return 0


@pytest.mark.parametrize("name", FETCHED)
def test_an_interrupted_download_is_never_taken_and_goes_on(
    name: str, mirror: Mirror, tmp_path: Path, run: Run
) -> None:
    release, count, _, _ = RELEASES[name]
    addresses = mirror.serve(name, release)
    required_paths = [
        file.path for file in card(name).source.files if file.path in release and not file.optional
    ]
    broken = max(required_paths, key=lambda path: len(release[path]))
    half = len(release[broken]) // 2
    mirror.cut[addresses[broken]] = half
    root = tmp_path / "root"
    command = (
        "fetch",
        name,
        "--data",
        root,
        "--mirror",
        mirror.url,
        "--checksums",
        sums(tmp_path, release),
    )
    status, output, err = run(*command)
    assert status == 1
    assert tells(" ".join(output.split()), "fetch.cut-off")
    assert not (root / card(name).data.folder / broken).exists()
    assert items_in(name, root) < count, "what is there is not taken for the whole"
    assert run(*command)[0] == 0, err
    assert (addresses[broken], f"bytes={half}-") in mirror.requested
    assert (root / card(name).data.folder / broken).read_bytes() == release[broken]
    assert len(hqm.load(name, data=root).original) == count


@pytest.mark.parametrize("name", FETCHED)
def test_a_wrong_checksum_is_one_sentence_and_leaves_nothing(
    name: str, mirror: Mirror, tmp_path: Path, run: Run
) -> None:
    release, *_ = RELEASES[name]
    mirror.serve(name, release)
    wrong = sums(tmp_path, {path: body + b" " for path, body in release.items()})
    status, _, err = run(
        "fetch",
        name,
        "--data",
        tmp_path / "root",
        "--mirror",
        mirror.url,
        "--checksums",
        wrong,
        "--quiet",
    )
    assert status == 1
    message = " ".join(err.split())
    assert re.fullmatch(
        pattern_of("fetch.not-pinned", difference="its checksum differs"),
        message,
    ), message
    assert not [
        path for path in (tmp_path / "root").rglob("*") if path.is_file() and path.name in message
    ]


@pytest.mark.parametrize("name", FETCHED)
def test_a_file_that_is_not_the_pinned_one_is_refused_without_checksums(
    name: str, mirror: Mirror, tmp_path: Path, run: Run
) -> None:
    """The small files have another size than the card says: too early an end at first, and then
    nothing behind it.
    """
    release, count, _, _ = RELEASES[name]
    mirror.serve(name, release)
    command = ("fetch", name, "--data", tmp_path / "root", "--mirror", mirror.url, "--quiet")
    assert run(*command)[0] == 1
    status, _, err = run(*command)
    assert (status, tells(err, "fetch.not-pinned"), "Traceback" in err) == (1, True, False)
    assert items_in(name, tmp_path / "root") < count


def test_the_variable_names_the_mirror_too(
    mirror: Mirror, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, *_ = RELEASES["gavie"]
    mirror.serve("gavie", release)
    monkeypatch.setenv("HQM_MIRROR", mirror.url)
    monkeypatch.setenv("HQM_DATA", str(tmp_path / "root"))
    assert run("fetch", "gavie", "--checksums", sums(tmp_path, release))[0] == 0
    status, _, err = run("fetch", "gavie", "--mirror", "ftp://here")
    assert (status, tells(err, "fetch.no-address")) == (2, True)


def test_a_whole_part_that_was_not_renamed_is_fetched_again(
    mirror: Mirror, tmp_path: Path, run: Run
) -> None:
    """Killed after the last byte, before the file took its place: the server answers 416 to what
    lies behind the end.
    """
    release, *_ = RELEASES["gavie"]
    mirror.serve("gavie", release)
    partial = tmp_path / "root" / "gavie" / "evaluation_set.json.part"
    partial.parent.mkdir(parents=True)
    partial.write_bytes(release["evaluation_set.json"])
    status, output, err = run(
        "fetch",
        "gavie",
        "--data",
        tmp_path / "root",
        "--mirror",
        mirror.url,
        "--checksums",
        sums(tmp_path, release),
    )
    assert status == 0, output + err
    assert not partial.exists()


# --- COCO: objects and synonyms are made from what COCO and the release publish ---


@pytest.fixture
def coco(mirror: Mirror, tmp_path: Path, run: Run) -> Callable[..., tuple[int, str, str]]:
    """Fetch the small COCO, or one with other files, into `tmp_path/root`."""

    def fetch(*options: object, **changed: bytes) -> tuple[int, str, str]:
        release = {
            **RELEASES["coco_chair"][0],
            **{
                name.replace("_zip", ".zip").replace("_txt", ".txt"): body
                for name, body in changed.items()
            },
        }
        mirror.serve("coco_chair", release)
        return run(
            "fetch",
            "coco_chair",
            "--data",
            tmp_path / "root",
            "--mirror",
            mirror.url,
            "--checksums",
            sums(tmp_path, release),
            "--quiet",
            *options,
        )

    return fetch


def test_coco_objects_are_those_that_the_release_takes(
    coco: Callable[..., Any], tmp_path: Path
) -> None:
    """By hand, after `get_annotations_from_segments` and `get_annotations_from_captions` of
    utils/chair.py.
    """
    assert coco()[0] == 0
    contents = {
        path.name: json.loads(path.read_text())
        for path in (tmp_path / "root" / "coco").glob("*.json")
    }
    # segmented: two dogs; in captions: "dog", "women" and "puppy". "bus" and "ties" are lost, and "
    # motor bike" never matches
    assert contents["objects.json"] == {"42": ["dog", "person"], "73": ["tie"], "391895": ["car"]}
    assert contents["objects_train2014.json"] == {"9": ["person", "wine glass"], "25": ["bus"]}
    assert contents["objects_paper.json"] == {
        "73": ["bus", "tie"],
        "391895": ["car", "motorcycle"],
        "25": ["bus", "tie"],
    }
    assert contents["synonyms.json"]["inverse"][" motor bike"] == "motorcycle"
    assert contents["synonyms.json"]["double"]["baby bear"] == "bear"
    record = contents["made.json"]["objects.json"]
    assert (
        record["made_from"]["annotations_trainval2014.zip"]
        == hashlib.sha256(ANNOTATIONS).hexdigest()
    )
    assert record["made_from"]["synonyms.txt"] == hashlib.sha256(SYNONYMS).hexdigest()
    assert (
        record["sha256"]
        == hashlib.sha256((tmp_path / "root" / "coco" / "objects.json").read_bytes()).hexdigest()
    )


def test_coco_captions_are_scored_against_what_was_made(
    coco: Callable[..., Any], tmp_path: Path, run: Run
) -> None:
    assert coco()[0] == 0
    (tmp_path / "answers.jsonl").write_bytes(
        lines(
            {"image_id": 73, "caption": "A bus, a bus and a tie."},
            {"image_id": "COCO_train2014_000000000025.jpg", "caption": "A dog."},
        )
    )
    for scoring, chair_i in (("official", 1 / 2), ("paper", 1 / 4)):
        benchmark = hqm.load("coco_chair", data=tmp_path / "root", scoring=scoring)  # type: ignore[arg-type]
        form, answers = benchmark.read_answers(tmp_path / "answers.jsonl", benchmark.original)
        assert [(item.id, item.image) for item in form.items] == [
            ("73", "COCO_val2014_000000000073.jpg"),
            ("25", "COCO_train2014_000000000025.jpg"),
        ]
        tallies = [benchmark.verdict(item, answers[item.id]).tally for item in form.items]
        assert (
            sum(t["hallucinated"] for t in tallies) / sum(t["mentioned"] for t in tallies)
            == chair_i
        )
    status, output, err = run(
        "score", "coco_chair", "--answers", tmp_path / "answers.jsonl", "--data", tmp_path / "root"
    )
    assert status == 0, err
    assert "2" in output


def test_coco_needs_its_zip_only_once(
    coco: Callable[..., Any], mirror: Mirror, tmp_path: Path
) -> None:
    assert coco()[0] == 0
    for name in RELEASES["coco_chair"][0]:
        (tmp_path / "root" / "coco" / name).unlink()
    before = len(mirror.requested)
    status, output, _ = coco("--json")
    assert status == 0
    assert [file["state"] for file in json.loads(output)[0]["fetched"]] == ["there"] * 4
    assert len(mirror.requested) == before


@pytest.mark.parametrize("damage", ["cut", "record", "other"])
def test_coco_files_that_are_not_as_they_were_made_are_made_anew(
    damage: str, coco: Callable[..., Any], tmp_path: Path
) -> None:
    assert coco()[0] == 0
    objects_path = tmp_path / "root" / "coco" / "objects.json"
    original = objects_path.read_bytes()
    if damage == "record":
        objects_path.with_name("made.json").unlink()
    elif damage == "cut":
        objects_path.write_bytes(original[: len(original) // 2])
    if damage == "other":  # another release: what was made from the first is not taken for it
        status, output, _ = coco("--json", synonyms_txt=SYNONYMS + b"cake, cupcake\n")
        assert "cupcake" in objects_path.with_name("synonyms.json").read_text()
    else:
        status, output, _ = coco("--json")
    assert status == 0
    assert {Path(f["path"]).name: f["state"] for f in json.loads(output)[0]["fetched"]}[
        "objects.json"
    ] == "made"
    assert objects_path.read_bytes() == original


def test_coco_takes_unpacked_annotations_where_they_lie(tmp_path: Path, run: Run) -> None:
    copy = tmp_path / "copy"
    with zipfile.ZipFile(io.BytesIO(ANNOTATIONS)) as archive:
        archive.extractall(copy)
    (copy / "synonyms.txt").write_bytes(SYNONYMS)
    status, output, err = run("fetch", "coco_chair", "--data", tmp_path / "root", "--from", copy)
    assert status == 0, output + err
    assert sorted(hqm.load("coco_chair", data=tmp_path / "root").original.by_id) == [
        "391895",
        "42",
        "73",
    ]
    assert not (tmp_path / "root" / "coco" / "annotations").exists()
    record = json.loads((tmp_path / "root" / "coco" / "made.json").read_text())["objects.json"][
        "made_from"
    ]
    assert record["annotations_trainval2014.zip"].keys() >= {
        "instances_val2014.json",
        "captions_train2014.json",
    }


def test_coco_is_pinned_to_the_zip_that_everybody_has() -> None:
    """TensorFlow Datasets, url_checksums/coco.txt and coco_captions.txt: address, bytes,
    SHA-256.
    """
    file = next(file for file in card("coco_chair").source.files if file.path.endswith(".zip"))
    assert (file.url, file.size, file.sha256) == (
        "http://images.cocodataset.org/annotations/annotations_trainval2014.zip",
        252872794,
        "031296bbc80c45a1d1f76bf9a90ead27e94e99ec629208449507a4917a3bf009",
    )
    assert not [f.path for f in card("coco_chair").source.files if f.made_from and f.sha256], (
        "a subset is pinned"
    )


def packed(**members: bytes | str) -> bytes:
    """The small annotations with some members replaced."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(ANNOTATIONS)) as source,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for info in source.infolist():
            key = Path(info.filename).stem
            if key not in members:
                archive.writestr(info, source.read(info))
            elif members[key]:
                archive.writestr(info.filename, members[key])
    return buffer.getvalue()


def with_member(name: str, content: str, mode: int = 0) -> bytes:
    buffer = io.BytesIO(ANNOTATIONS)
    with zipfile.ZipFile(buffer, "a") as archive:
        info = zipfile.ZipInfo(name)
        info.external_attr = mode << 16
        archive.writestr(info, content)
    return buffer.getvalue()


def test_a_zip_never_writes_outside(coco: Callable[..., Any], tmp_path: Path) -> None:
    status, output, err = coco(
        annotations_trainval2014_zip=with_member("../../../escaped.json", "{}")
    )
    assert status == 0, output + err
    assert not list(tmp_path.parent.glob("escaped*"))
    assert {path.parent.name for path in (tmp_path / "root").rglob("*") if path.is_file()} == {
        "coco"
    }


@pytest.mark.parametrize(
    ("archive", "sentence"),
    [
        (b"PK\x03\x04 this is no zip", text_of("zip.damaged")),
        (ANNOTATIONS[:-60], text_of("zip.damaged")),
        (packed(captions_train2014=""), text_of("zip.no-file")),
        (with_member("elsewhere/instances_val2014.json", "{}"), text_of("zip.name-twice", files=2)),
        (
            packed(instances_val2014='{"annotations": [{"image_id": 42'),
            text_of("json.broken"),
        ),
        (packed(instances_val2014="[1, 2]"), "not a JSON object"),
        (
            packed(instances_val2014='{"annotations": [{"image_id": 42}]}'),
            text_of("coco.format"),
        ),
        (packed(captions_val2014='{"annotations": [7]}'), text_of("coco.format")),
        (packed(captions_val2014=b'{"annotations": "\xff"}'), "it is not UTF-8"),
    ],
)
def test_a_zip_that_is_not_cocos_is_one_sentence(
    archive: bytes, sentence: str, coco: Callable[..., Any], tmp_path: Path
) -> None:
    status, _, err = coco(annotations_trainval2014_zip=archive)
    assert status == 1
    assert sentence in " ".join(err.split())
    assert "Traceback" not in err
    assert not (tmp_path / "root" / "coco" / "objects.json").exists()


def test_links_encryption_damage_and_bombs_in_a_zip_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(with_member("link.json", "/etc/passwd", stat.S_IFLNK | 0o777))
    with pytest.raises(hqm.DataError, match="it is a link"):
        list(json_values(path, "link.json"))
    body = bytearray(with_member("secret.json", '{"a": 1}'))
    header_offset = body.rindex(b"PK\x01\x02")
    body[header_offset + 8] |= 1
    path.write_bytes(bytes(body))
    with pytest.raises(hqm.DataError, match="it is encrypted"):
        list(json_values(path, "secret.json"))
    body = bytearray(with_member("damaged.json", '{"a": 12345}'))
    body[body.index(b"12345")] ^= 1
    path.write_bytes(bytes(body))
    with pytest.raises(hqm.DataError, match=pattern_of("zip.unreadable")):
        list(json_values(path, "damaged.json"))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.json", '{"a": [' + "1," * 4_000_000 + "1]}")
    with pytest.raises(hqm.DataError, match=pattern_of("zip.unfolds", limit="1,000,000")):
        list(json_values(path, "bomb.json", limit=1_000_000))


# --- the commands of the README ---


def test_the_readmes_commands_work_from_an_empty_folder(
    mirror: Mirror, tmp_path: Path, forked_program: Path
) -> None:
    """`hqm fetch` as the README prints it, then its commands about released data, in a folder that
    has nothing.
    """
    readme = (ROOT / "README.md").read_text()
    fetching = re.findall(r"`(hqm fetch [^`]+)`", readme)
    readme_lines = [
        line.partition("#")[0]
        for block in re.findall(r"```sh\n(.*?)```", readme, re.DOTALL)
        for line in block.splitlines()
    ]
    data_commands = [line for line in readme_lines if re.search(r"\b(pope|coco_chair)\b", line)]
    assert len(fetching) == 1
    assert len(data_commands) >= 4
    for name in ("pope", "coco_chair"):
        mirror.serve(name, RELEASES[name][0])
    checksums = sums(tmp_path, *(RELEASES[name][0] for name in ("pope", "coco_chair")))
    home = tmp_path / "empty"
    home.mkdir()
    environment = {
        "HQM_DATA": str(home / "data"),
        "HQM_MIRROR": mirror.url,
        "HQM_CACHE": str(home / "cache"),
        "PATH": "",
        "HOME": str(home),
    }
    commands = [
        [word.replace("$HQM_DATA", environment["HQM_DATA"]) for word in shlex.split(command)[1:]]
        for command in (f"{fetching[0]} --checksums {checksums}", *data_commands)
    ]
    for command in commands:
        process = subprocess.run(
            [forked_program, *command],
            cwd=home,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode == 0, f"{command}\n{process.stdout}\n{process.stderr}"
    assert (home / "out" / "captions" / "report.html").is_file()
    assert (home / "negated.jsonl").is_file()


# --- the singular of pattern.en, which the official objects and mentions hang on ---


def test_the_singular_is_that_of_pattern_for_every_word_that_ends_in_the_list() -> None:
    """tests/tables/pattern_singular.csv: words and what `singularize` makes of them, from
    pattern.en of clips/pattern dceb560 (Python 2; its rules run from textblob 0.20.1, MIT, with
    pattern's own word lists and without textblob's two additions). In it are all words of 100,912
    (captions of four releases, lemminflect's lexicon, the list with endings) whose singular is a
    word of CHAIR's list or pairs, and others that are not.
    """
    from hqm.adapters.coco_chair import _ANIMALS, _PAIRS, pattern_singular  # type: ignore[import-not-found,unused-ignore]

    with (Path(__file__).parent / "tables" / "pattern_singular.csv").open() as file:
        expected = {row["word"]: row["singular"] for row in csv.DictReader(file)}
    words = {word for pair in _PAIRS for word in pair.split()} | set(_ANIMALS) | LISTED
    hits = [word for word, singular in expected.items() if singular in words]
    assert len(hits) > 200
    for word, singular in expected.items():
        singularized = pattern_singular(word)
        assert singularized == singular or not {singularized, singular} & words, word
    assert [
        pattern_singular(word)
        for word in ("bus", "airbus", "minibus", "ties", "collies", "buses", "airbuses")
    ] == [
        "bu",
        "airbu",
        "minibu",
        "ty",
        "collies",
        "bus",
        "airbus",
    ]


LISTED = frozenset(
    "person man woman boy girl child car taxi bus minibus airbus tie bow dog puppy collie bench"
    " knife mouse couch sandwich glass glas goose ox cow canoe phone skis ski scissors locomotive"
    " ostrich lorry ferry calf thief buffalo flamingo pony husky".split()
)
