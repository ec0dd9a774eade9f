"""The scenes of the embedded benchmark: everything that is true of a drawn picture is known."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from hqm.benchmark.registry import card, shipped
from hqm.files.records import read_records
from hqm.signature import digest_file
from hqm_build.graph import Attribute, Box, Image, Object, Relation, SceneGraph, Setting, Text
from hqm_build.source import Reader, Source

_RESPONDENTS = ("hf/shapes:steady", "hf/shapes:half-trained", "hf/shapes:yes-sayer")


def read_shapes(_: Path) -> Source:
    """The 252 scenes that come with HQM, with a function that draws each."""
    scenes = importlib.import_module("hqm.benchmarks.shapes.scene")
    path = shipped() / "shapes" / "scenes.jsonl"
    scenes_by_name = {}
    for row in read_records(path):
        scene = dict(row)
        image = scene.pop("image")
        scenes_by_name[image] = scenes.Scene.from_dict(scene)

    def draw(name: str, file: Path) -> None:
        scenes.draw(scenes_by_name[name]).save(file, "PNG")

    return Source(
        name="shapes",
        reader="shapes",
        digest=digest_file(path),
        graphs=tuple(_graph(name, scene, scenes) for name, scene in scenes_by_name.items()),
        licence=card("shapes_yesno").licence,
        citation="Drawn scenes that come with hqm-audit (https://pypi.org/project/hqm-audit/)",
        draw=draw,
        respondents=_RESPONDENTS,
    )


def _box(cell: int, scenes: Any, radius: int = 0) -> Box:
    left = cell % scenes.GRID * scenes.CELL
    top = cell // scenes.GRID * scenes.CELL
    if not radius:
        return Box(x=left, y=top, width=scenes.CELL, height=scenes.CELL)
    middle = scenes.CELL // 2
    return Box(
        x=left + middle - radius, y=top + middle - radius, width=2 * radius, height=2 * radius
    )


def _graph(name: str, scene: Any, scenes: Any) -> SceneGraph:
    objects = [
        Object(
            id=f"thing-{i}",
            names=(figure.shape,),
            # as drawn: 13 pixels from the middle, or 7
            box=_box(figure.cell, scenes, 13 if figure.size == "large" else 7),
            attributes=(
                Attribute(value=figure.color, kind="color"),
                Attribute(value=figure.size, kind="size"),
            ),
        )
        for i, figure in enumerate(scene.things)
    ]
    if scene.action is not None:
        objects.append(
            Object(
                id="person",
                names=("person",),
                box=_box(scene.action_cell, scenes),
                attributes=(Attribute(value=scene.action, kind="action"),),
            )
        )
    if scene.sign is not None:
        objects.append(Object(id="sign", names=("sign",), box=_box(scene.sign_cell, scenes)))
    relations = [
        Relation(
            id=f"relation-{i}-{j}",
            subject=f"thing-{i}",
            predicate=scenes.DIRECTIONS[direction],
            object=f"thing-{j}",
        )
        for i, a in enumerate(scene.things)
        for j, b in enumerate(scene.things)
        if i != j and (direction := scenes.relation(a, b)) is not None
    ]
    classes = frozenset((*scenes.SHAPES, "person", "sign"))
    return SceneGraph(
        image=Image(
            id=name,
            file=name,
            width=scenes.SIDE,
            height=scenes.SIDE,
            exhaustive=classes,
            counted=classes,
            complete=frozenset(("color", "size", "action")),
        ),
        objects=tuple(objects),
        relations=tuple(relations),
        texts=(() if scene.sign is None else (Text(id="text", string=scene.sign),)),
        settings=(
            Setting(kind="time of day", value=scene.sky),
            Setting(kind="ground", value=scene.ground),
        ),
    )


READER = Reader(
    "shapes", "the word shapes: drawn scenes that come with HQM", lambda _: False, read_shapes
)
