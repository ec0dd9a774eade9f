"""Readers of annotations: a small file in each release's layout, the real files, and files that are
broken on purpose.
"""

import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hqm_build.building import build
from hqm_build.graph import SceneGraph
from hqm_build.source import Source, open_annotations
from hypothesis import given, settings
from hypothesis import strategies as st

from hqm.errors import DataError, HQMError
from hqm.files.records import read_records
from tests.annotations.make import amber, coco, draw_coco, gqa, visual_genome
from tests.conftest import NIGHTLY, ROOT, nightly
from tests.messages import pattern_of

SMALL = ROOT / "tests" / "annotations"


def graph_of(source: Source, key: str) -> SceneGraph:
    return next(graph for graph in source.graphs if graph.image.id == key)


def test_the_files_are_those_that_the_script_writes() -> None:
    for name, files in (
        ("coco", coco()),
        ("visual_genome", visual_genome()),
        ("gqa", gqa()),
        ("amber", amber()),
    ):
        for file, content in files.items():
            assert json.loads((SMALL / name / file).read_text(encoding="utf-8")) == content, file


# --- the layouts ---


def test_coco_has_boxes_counts_and_captions() -> None:
    source = open_annotations(str(SMALL / "coco"))
    assert (source.reader, len(source.graphs)) == ("coco", 60)
    rows = json.loads((SMALL / "coco" / "instances_val2014.json").read_text(encoding="utf-8"))
    first = graph_of(source, "1")
    annotations = [row for row in rows["annotations"] if row["image_id"] == 1]
    assert [obj.id for obj in first.objects] == [str(row["id"]) for row in annotations]
    assert first.objects[0].box is not None
    assert first.objects[0].box.area == annotations[0]["area"]
    assert len(first.image.exhaustive) == len(first.image.counted) == 8
    assert first.captions[0].startswith("A drawing of")
    assert first.absent == first.image.exhaustive - {obj.name for obj in first.objects}


def test_a_crowd_is_there_and_is_not_counted(tmp_path: Path) -> None:
    shutil.copytree(SMALL / "coco", tmp_path / "coco")
    path = tmp_path / "coco" / "instances_val2014.json"
    instances = json.loads(path.read_text(encoding="utf-8"))
    row = instances["annotations"][0]
    row["iscrowd"] = 1
    path.write_text(json.dumps(instances), encoding="utf-8")
    name = next(c["name"] for c in instances["categories"] if c["id"] == row["category_id"])
    graph = graph_of(open_annotations(str(tmp_path / "coco")), str(row["image_id"]))
    assert name in graph.present
    assert name not in graph.image.counted
    assert name in graph.image.exhaustive


def test_visual_genome_joins_objects_attributes_relations_and_regions() -> None:
    source = open_annotations(str(SMALL / "visual_genome"))
    first = graph_of(source, "61")
    horse = first.by_id["2"]
    assert horse.names == ("horse",)
    assert horse.values("color") == ("brown",)
    assert horse.box is not None
    assert [(r.subject, r.predicate, r.object) for r in first.relations] == [("1", "riding", "2")]
    assert [(text.carrier, text.string) for text in first.texts] == [("sign", "STOP")]
    assert first.image.address.endswith("/61.jpg")
    assert not first.image.exhaustive
    assert not first.absent


def test_gqa_has_settings_relations_and_attributes() -> None:
    source = open_annotations(str(SMALL / "gqa" / "val_sceneGraphs.json"))
    first = graph_of(source, "2407890")
    assert {(setting.kind, setting.value) for setting in first.settings} == {
        ("place", "outdoors"),
        ("weather", "cloudy"),
    }
    assert first.by_id["271881"].values("material") == ("wooden",)
    assert {r.predicate for r in first.relations} == {"to the left of", "to the right of"}


def test_amber_has_both_answers_and_leaves_out_what_is_listed_twice() -> None:
    source = open_annotations(str(SMALL / "amber"))
    first = graph_of(source, "AMBER_1.jpg")
    assert first.counts["dog"] == 2
    assert "cat" in first.absent
    # grass is listed both as true and as made up
    assert "grass" not in first.image.exhaustive
    sky = first.unique_object("sky")
    assert sky is not None
    assert sky.values("state") == ("sunny",)
    assert ("sky", "cloudy") in first.denied
    contact = first.relations[0]
    assert contact.symmetric
    assert not contact.holds
    assert graph_of(source, "AMBER_2.jpg").relations[0].holds


def test_a_build_from_cocos_layout_copies_the_pictures(tmp_path: Path) -> None:
    draw_coco(tmp_path / "val2014", coco())
    coco_build = build(
        "pope", str(SMALL / "coco"), tmp_path / "mine", items=30, images=str(tmp_path / "val2014")
    )
    assert coco_build.keeps_promises
    assert coco_build.measured.pictures_checked
    images = {item.image for item in coco_build.measured.form.items}
    assert {path.name for path in (tmp_path / "mine" / "images").iterdir()} == images
    assert not [code for code in coco_build.measured.codes if code.startswith(("I1", "D1"))]
    instances = json.loads((SMALL / "coco" / "instances_val2014.json").read_text(encoding="utf-8"))
    names = {category["id"]: category["name"] for category in instances["categories"]}
    files = {row["file_name"]: row["id"] for row in instances["images"]}
    for line in (tmp_path / "mine" / "provenance.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        present = {
            names[a["category_id"]]
            for a in instances["annotations"]
            if a["image_id"] == files[row["file"]]
        }
        assert (row["key"] in present) == (
            coco_build.measured.form.by_id[row["id"]].target == "yes"
        )


def test_amber_from_ambers_layout_asks_existence_with_both_answers(tmp_path: Path) -> None:
    amber_build = build("amber", str(SMALL / "amber"), tmp_path / "mine", items=40)
    labels = amber_build.measured.by_label
    assert set(labels) == {"existence", "state", "number", "action", "relation"}
    assert all(answers["yes"] == answers["no"] > 0 for answers in labels.values())
    prompts = {item.prompt for item in amber_build.measured.form.items}
    assert not [prompt for prompt in prompts if "your" in prompt or " a umbrella" in prompt]


def test_ambers_verbs_and_determiners_are_those_of_a_sentence(tmp_path: Path) -> None:
    """Base verbs ("run") become participles, masses have no article, what names no state goes."""
    graph = graph_of(open_annotations(str(SMALL / "amber")), "AMBER_1.jpg")
    actions = {a.value for obj in graph.objects for a in obj.attributes if a.kind == "action"}
    assert actions
    assert all(value.split()[0].endswith("ing") for value in actions)
    caption_build = build("halcaption", str(SMALL / "amber"), tmp_path / "mine", items=40)
    texts = [item.prompt.partition("? ")[2] for item in caption_build.measured.form.items]
    assert len(texts) >= 8
    for text in texts:
        assert re.fullmatch(r"(?:[A-Z].* (?:is|are) .+, and .+ can be seen|.+ can be seen)\.", text)
        assert not re.search(
            r"\bany\b|\ba (?:grass|snow|water|sky)\b|\bis (?:run|stand|sit)\b", text
        )


REGIONS = [
    "a brown dog",
    "the dog is sleeping",
    "dog on the porch",
    "a dog on the porch",
    'a sign that says "CAFE"',
    "a red bicycle",
    "two cups in the photo",
    "a man wearing a hat",
    "men in the background",
    "the sky is overcast",
    *(f"a plant near the step {'abcdefghijk'[i]}" for i in range(11)),
]


def test_regions_say_what_is_asked_and_nothing_ambiguous(tmp_path: Path) -> None:
    """HQH's own layout: colors, actions, places, texts, numbers and the setting; `man` is refused,
    for there are men beside him.
    """
    lines = " ".join(f"{p} X:{10 + i} Y:5 Width:{90 - i} Height:90" for i, p in enumerate(REGIONS))
    row = {"caption": "A dog sleeps on a porch.", "image_information": lines}
    path = tmp_path / "image_data.json"
    second = lines.replace("sleeping", "running").replace("porch", "rug")
    rows = {"7": row, "8": {"caption": "A dog runs.", "image_information": second}}
    path.write_text(json.dumps(rows), encoding="utf-8")
    graph = graph_of(open_annotations(str(path)), "7")
    dog = graph.unique_object("dog")
    assert dog is not None
    assert (dog.values("color"), dog.values("action")) == (("brown",), ("sleeping",))
    assert [(r.subject, r.predicate, r.object) for r in graph.relations] == [("dog", "on", "porch")]
    assert [(text.carrier, text.string) for text in graph.texts] == [("sign", "CAFE")]
    assert graph.image.counted == {"cup"}
    assert graph.counts["cup"] == 2
    assert {(s.kind, s.value) for s in graph.settings} == {
        ("weather", "cloudy"),
        ("place", "outdoors"),
    }
    assert graph.unique_object("man") is None
    assert "elephant" in graph.absent
    assert "dog" not in graph.absent
    hqh_build = build("hqh", str(path), tmp_path / "mine", items=16)
    items = {str(item.target): item for item in hqh_build.measured.form.items}
    prompts = [item.prompt for item in hqh_build.measured.form.items]
    assert not [prompt for prompt in prompts if "the man" in prompt or "the porch" in prompt]
    # what the thing does elsewhere, or is related to, competes with the right answer
    for target, rival in (("sleeping", "running"), ("porch", "rug")):
        assert set(items[target].meta["rivals"]) == {rival, target}
    assert all(len(item.meta.get("rivals", [])) != 1 for item in hqh_build.measured.form.items)


def test_hal_evals_pictures_are_cocos_and_slips_of_captions_are_left_out(tmp_path: Path) -> None:
    """Its writer put the slip right in three of four wrong captions."""
    wrong = ("a dog under a red couch", "a cat on a red couch", "a dog on a blue couch")
    rows = [
        {
            "image": f"val2014/COCO_val2014_{i:012}.jpg",
            "caption": caption,
            "hal_caption": hallucinations,
        }
        for i, (caption, hallucinations) in enumerate(
            (caption, [{"type": "Objective Hallucination", "caption": text} for text in wrong])
            for caption in ("a dog on a red couch", "a dog on a red coutch")
        )
    ]
    path = tmp_path / "in_domain_evaluation.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    first, second = open_annotations(str(path)).graphs
    assert first.captions == ("a dog on a red couch",)
    assert second.captions == ()
    assert first.image.address == (
        "http://images.cocodataset.org/val2014/COCO_val2014_000000000000.jpg"
    )


# --- the real files ---


@nightly
def test_the_seeds_annotations_give_the_items_that_were_asked_for(
    data: Path, tmp_path: Path
) -> None:
    """HQH's regions gave 19 of 300, Hal-Eval 144 relations of 300, AMBER's captions .675 from
    words.
    """
    hqh = build("hqh", str(data / "hqh" / "image_data_june2024.json"), tmp_path / "a", items=300)
    assert len(hqh.measured.form.items) >= 245
    caption_build = build(
        "halcaption",
        str(data / "hal_eval" / "in_domain_evaluation.json"),
        tmp_path / "b",
        items=1200,
        seed=2,
    )
    assert caption_build.measured.part_counts["relation"] >= 296
    assert caption_build.keeps_promises
    amber = build("halcaption", str(data / "amber"), tmp_path / "c", items=600, seed=2)
    assert amber.keeps_promises
    assert max(baseline.accuracy for baseline in amber.measured.words) < 0.55


def test_the_real_annotations_are_read(data: Path) -> None:
    expected = {
        "coco/objects.json": ("object_sets", 7209),
        "hqh/image_data_june2024.json": ("regions", 925),
        "hal_eval/in_domain_evaluation.json": ("hal_eval", 5000),
        "valor": ("valor", 162),
    }
    for location, (reader, pictures) in expected.items():
        source = open_annotations(str(data / location))
        assert (source.reader, len(source.graphs)) == (reader, pictures), location
    real = open_annotations(str(data / "amber"))
    assert (real.reader, len(real.graphs)) == ("amber", 1004)
    assert sum(len(graph.relations) for graph in real.graphs) > 1600


def test_pope_from_coco_beats_the_release(data: Path, tmp_path: Path) -> None:
    """The released popular part gives .869 of its answers by the words alone
    (tests/perf/builders.py has all the rows).
    """
    annotated = json.loads((data / "coco" / "objects.json").read_text(encoding="utf-8"))
    (tmp_path / "objects.json").write_text(
        json.dumps(dict(list(annotated.items())[:400])), encoding="utf-8"
    )
    pope_build = build("pope", str(tmp_path / "objects.json"), tmp_path / "mine", items=300)
    assert {baseline.part for baseline in pope_build.measured.words} == {
        "random",
        "popular",
        "adversarial",
    }
    assert all(0.47 < words.accuracy < 0.53 for words in pope_build.measured.words)
    assert pope_build.keeps_promises


def test_valors_rule_keeps_the_pictures_that_the_papers_equations_keep(
    data: Path, tmp_path: Path
) -> None:
    """Against a plain rewriting of equations 2 to 4 of VALOR-Eval: by the shares alone 133
    pictures, with the frequency 144.
    """
    pictures = {
        k: set(v)
        for k, v in json.loads((data / "coco" / "objects.json").read_text(encoding="utf-8")).items()
    }
    single = Counter(name for present in pictures.values() for name in present)
    pairs = Counter(
        (a, b) for present in pictures.values() for a in present for b in present if a != b
    )
    frequent = sorted(name for name in single if single[name] >= 20)

    def kept_pictures(objects: set[str]) -> set[str]:
        kept_ids = set()
        for name in objects:
            shares = {f: pairs[f, name] / single[name] for f in single if pairs[f, name]}
            lowest, highest = min(shares.values()), max(shares.values())
            unlikely_objects, likely_objects = (
                {f for f, share in shares.items() if share == end} for end in (lowest, highest)
            )
            kept_ids |= {
                k
                for k, present in pictures.items()
                if name in present and present & unlikely_objects and not present & likely_objects
            }
        return kept_ids

    by_share = {
        max((o for o in frequent if o != f), key=lambda o: pairs[f, o] / single[o]) for f in single
    }
    by_number = {max((o for o in frequent if o != f), key=lambda o: pairs[f, o]) for f in single}
    assert (
        len(by_share),
        len(kept_pictures(by_share)),
        len(kept_pictures(by_share | by_number)),
    ) == (50, 133, 144)
    valor_build = build("valor", str(data / "coco" / "objects.json"), tmp_path / "mine", items=288)
    selected = {
        r["image"]
        for r in read_records(valor_build.folder / "provenance.jsonl")
        if r["rule"].startswith("it has ")
    }
    assert selected == kept_pictures(by_share | by_number)
    assert valor_build.keeps_promises


# --- broken and hostile ---


def change(rows: Any, *path: Any, value: Any) -> Any:
    parent = rows
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value
    return rows


INSTANCES = "instances_val2014.json"
BROKEN = [
    (
        "coco",
        INSTANCES,
        ("annotations", 0, "bbox"),
        [1, 2, 3],
        pattern_of("annotation.field", name="bbox", annotation=1000),
    ),
    ("coco", INSTANCES, ("annotations", 0, "bbox"), [0, 0, -5, 3], "greater than or equal to 0"),
    ("coco", INSTANCES, ("annotations", 0, "bbox"), [0, 0, 1e400, 3], "bbox"),
    (
        "coco",
        INSTANCES,
        ("annotations", 0, "category_id"),
        999,
        pattern_of("annotation.category-unlisted", category="999"),
    ),
    (
        "coco",
        INSTANCES,
        ("annotations", 0, "image_id"),
        999,
        pattern_of("annotation.picture-unlisted", picture="999"),
    ),
    ("coco", INSTANCES, ("annotations",), {"a": 1}, "which is no list"),
    (
        "coco",
        INSTANCES,
        ("images", 0, "width"),
        "wide",
        pattern_of("release.field", field="width", thing="a picture", value="'wide'"),
    ),
    ("coco", INSTANCES, ("images", 0), 7, "row 1 of images is 7"),
    (
        "coco",
        INSTANCES,
        ("categories", 0, "name"),
        None,
        pattern_of("release.field", field="name", thing="a category", value=None),
    ),
    (
        "coco",
        INSTANCES,
        ("images", 0, "file_name"),
        "../../etc/passwd",
        "lies outside the image folder",
    ),
    (
        "gqa",
        "val_sceneGraphs.json",
        ("2407890", "objects", "271881", "relations", 0, "object"),
        "9",
        "is no object",
    ),
    ("gqa", "val_sceneGraphs.json", ("2407890", "objects", "271881", "x"), "left", "the field 'x'"),
    ("gqa", "val_sceneGraphs.json", ("2407891",), [], "which is no object"),
    (
        "visual_genome",
        "objects.json",
        (0, "objects", 0, "names"),
        5,
        pattern_of("release.field", field="names", thing="an object"),
    ),
    (
        "visual_genome",
        "relationships.json",
        (0, "relationships", 0, "subject"),
        None,
        "which is no object",
    ),
    ("visual_genome", "image_data.json", (0, "width"), -3, "greater than or equal to 0"),
    (
        "amber",
        "annotations.json",
        (0, "truth"),
        "sky",
        pattern_of("annotation.field", name="truth", annotation=1, value="'sky'"),
    ),
    (
        "amber",
        "annotations.json",
        (1, "truth"),
        "maybe",
        pattern_of("annotation.field", name="truth", annotation=2, value="'maybe'"),
    ),
    ("amber", "annotations.json", (1, "id"), 99, "the query 2 has no annotation"),
]


@pytest.mark.parametrize(("release", "file", "path", "value", "sentence"), BROKEN)
def test_a_broken_annotation_is_one_sentence(
    release: str, file: str, path: tuple[Any, ...], value: Any, sentence: str, tmp_path: Path
) -> None:
    shutil.copytree(SMALL / release, tmp_path / release)
    broken = tmp_path / release / file
    content = change(json.loads(broken.read_text(encoding="utf-8")), *path, value=value)
    broken.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(HQMError, match=sentence) as raised:
        build("hqh", str(tmp_path / release), tmp_path / "mine", items=100)
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[" * 100_000,
        b"\xff\xfe\x00",
        b'{"images": 1, "annotations": 2}',
        b"[]",
        b"7",
        b'{"a": {}}',
    ],
)
def test_what_is_no_annotation_is_one_sentence(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file.json").write_bytes(content)
    for prefix in ("", "coco:", "gqa:", "object_sets:", "regions:", "hal_eval:"):
        with pytest.raises(DataError) as raised:
            open_annotations(f"{prefix}{tmp_path / 'file.json'}")
        assert "\n" not in str(raised.value)


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=100 if NIGHTLY else 30)
@given(slot=st.integers(0, 200), value=_JSON)
def test_no_value_anywhere_makes_a_traceback(
    slot: int, value: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Some value of a GQA file is replaced by anything: it is read, or refused with a sentence."""
    scene_graphs = gqa()["val_sceneGraphs.json"]
    slots: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        for key in node if isinstance(node, dict) else range(len(node)):
            slots.append((node, key))
            if isinstance(node[key], (dict, list)):
                walk(node[key])

    walk(scene_graphs)
    node, key = slots[slot % len(slots)]
    node[key] = value
    path = tmp_path_factory.mktemp("gqa") / "val_sceneGraphs.json"
    path.write_text(json.dumps(scene_graphs), encoding="utf-8")
    outcome = read_or_refused(f"gqa:{path}")
    assert outcome == 2 or str(path) in str(outcome)


def read_or_refused(source: str) -> int | str:
    """How many pictures a source has, or the sentence that refuses it."""
    try:
        return len(open_annotations(source).graphs)
    except HQMError as error:
        return str(error)
