"""Scenes whose full truth is known, and their pictures.

A scene is a 3 x 3 grid under a sky and over a ground: coloured shapes, perhaps a stick figure that
does something, perhaps a sign with a short word or a digit. `draw` paints it with Pillow, pixel for
pixel the same on every machine (no font file is used; letters are small bitmaps).
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from PIL import Image, ImageDraw

SHAPES = ("circle", "square", "triangle", "star")
COLORS = {
    "red": (220, 40, 40),
    "green": (30, 140, 60),
    "blue": (45, 75, 215),
    "yellow": (245, 200, 30),
}
SIZES = ("small", "large")
ACTIONS = ("running", "sitting", "jumping", "waving")
SKIES = {"day": (205, 230, 255), "night": (25, 25, 60)}
GROUNDS = {
    "grass": (150, 205, 130),
    "sand": (240, 220, 160),
    "snow": (250, 250, 250),
    "water": (120, 190, 225),
}
NUMBERS = ("zero", "one", "two", "three", "four")
DIRECTIONS = {
    "left": "to the left of",
    "right": "to the right of",
    "above": "above",
    "below": "below",
}

GRID = 3
CELL = 32
SIDE = GRID * CELL


@dataclass(frozen=True, slots=True)
class SceneObject:
    """A coloured shape in one cell of the grid (0 to 8, row by row)."""

    shape: str
    color: str
    size: str
    cell: int

    @property
    def row(self) -> int:
        return self.cell // GRID

    @property
    def column(self) -> int:
        return self.cell % GRID

    @property
    def name(self) -> str:
        return f"{self.color} {self.shape}"


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that is true of one picture."""

    sky: str
    ground: str
    things: tuple[SceneObject, ...]
    action: str | None = None
    action_cell: int | None = None
    sign: str | None = None
    sign_cell: int | None = None

    def count(self, shape: str) -> int:
        return list(map(attrgetter("shape"), self.things)).count(shape)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Scene:
        return cls(**{**data, "things": tuple(SceneObject(**fields) for fields in data["things"])})


def draw(scene: Scene) -> Image.Image:
    """Paint a scene as a 96 x 96 picture."""
    from PIL import Image, ImageDraw

    picture = Image.new("RGB", (SIDE, SIDE), SKIES[scene.sky])
    pen = ImageDraw.Draw(picture)
    pen.rectangle((0, SIDE - CELL, SIDE, SIDE), fill=GROUNDS[scene.ground])
    if scene.sky == "night":
        pen.point(
            [(5, 4), (27, 9), (50, 3), (71, 12), (90, 6), (14, 35), (44, 33), (85, 40), (62, 60)],
            fill="white",
        )
    for scene_object in scene.things:
        _draw_object(pen, scene_object, _ink(scene, scene_object.cell))
    if scene.action is not None and scene.action_cell is not None:
        _draw_figure(pen, scene.action, scene.action_cell, _ink(scene, scene.action_cell))
    if scene.sign is not None and scene.sign_cell is not None:
        _draw_sign(pen, scene.sign, scene.sign_cell)
    return picture


def _ink(scene: Scene, cell: int) -> str:
    if scene.sky == "night" and cell // GRID < GRID - 1:
        return "white"
    return "black"


def _corner(cell: int) -> tuple[int, int]:
    return cell % GRID * CELL, cell // GRID * CELL


def _draw_object(pen: ImageDraw.ImageDraw, scene_object: SceneObject, ink: str) -> None:
    left, top = _corner(scene_object.cell)
    x = left + CELL // 2
    y = top + CELL // 2
    r = 13 if scene_object.size == "large" else 7
    fill = COLORS[scene_object.color]
    if scene_object.shape == "circle":
        pen.ellipse((x - r, y - r, x + r, y + r), fill=fill, outline=ink)
    elif scene_object.shape == "square":
        pen.rectangle((x - r, y - r, x + r, y + r), fill=fill, outline=ink)
    elif scene_object.shape == "triangle":
        pen.polygon([(x, y - r), (x + r, y + r), (x - r, y + r)], fill=fill, outline=ink)
    else:
        # ten corners of a star, in turn far from and near to its middle, the first above it
        angles = np.arange(10) * np.pi / 5 - np.pi / 2
        radii = np.where(np.arange(10) % 2 == 0, r + 1, r * 0.45)
        points = np.round(
            np.stack([x + radii * np.cos(angles), y + radii * np.sin(angles)], axis=1)
        ).astype(int)
        pen.polygon(list(map(tuple, points.tolist())), fill=fill, outline=ink)


_BONES = {
    # lines of the stick figure in its cell; the head is drawn apart
    "running": [
        (16, 11, 14, 19),
        (14, 19, 7, 22),
        (7, 22, 3, 21),
        (14, 19, 20, 23),
        (20, 23, 19, 30),
        (15, 14, 23, 16),
        (15, 14, 8, 16),
    ],
    "sitting": [
        (12, 11, 12, 22),
        (12, 22, 22, 22),
        (22, 22, 22, 30),
        (12, 15, 20, 18),
        (8, 24, 8, 30),
        (8, 24, 14, 24),
    ],
    "jumping": [
        (16, 8, 16, 16),
        (16, 10, 8, 3),
        (16, 10, 24, 3),
        (16, 16, 8, 22),
        (16, 16, 24, 22),
        (4, 30, 28, 30),
    ],
    "waving": [
        (16, 11, 16, 22),
        (16, 22, 12, 30),
        (16, 22, 20, 30),
        (16, 14, 10, 20),
        (16, 14, 25, 8),
        (25, 8, 25, 3),
    ],
}
_HEADS = {"running": (17, 7), "sitting": (12, 7), "jumping": (16, 5), "waving": (16, 7)}


def _draw_figure(pen: ImageDraw.ImageDraw, action: str, cell: int, ink: str) -> None:
    left, top = _corner(cell)
    for x0, y0, x1, y1 in _BONES[action]:
        pen.line((left + x0, top + y0, left + x1, top + y1), fill=ink, width=2)
    x = left + _HEADS[action][0]
    y = top + _HEADS[action][1]
    pen.ellipse((x - 4, y - 4, x + 4, y + 4), fill=ink)


_GLYPHS = {
    "A": "699f99",
    "B": "e9e99e",
    "C": "788887",
    "D": "e9999e",
    "E": "f8e88f",
    "G": "788b97",
    "H": "99f999",
    "K": "9acca9",
    "M": "9ff999",
    "N": "9ddbb9",
    "O": "699996",
    "P": "e99e88",
    "S": "78611e",
    "T": "f44444",
    "U": "999996",
    "Y": "996444",
    "0": "69bd96",
    "1": "262227",
    "2": "69124f",
    "3": "e1611e",
    "4": "99f111",
    "5": "f8e11e",
    "6": "78e996",
    "7": "f12444",
    "8": "696996",
    "9": "699711",
}


def _draw_sign(pen: ImageDraw.ImageDraw, text: str, cell: int) -> None:
    left, top = _corner(cell)
    pen.rectangle((left + 1, top + 7, left + 30, top + 24), fill="white", outline=(130, 60, 20))
    pen.line((left + 16, top + 25, left + 16, top + 31), fill=(130, 60, 20), width=2)
    scale = 2
    step = 9
    x0 = left + 16 - (step * len(text) - 1) // 2
    for i, letter in enumerate(text):
        for row, bits in enumerate(_GLYPHS[letter]):
            for column, bit in enumerate(f"{int(bits, 16):04b}"):
                if bit == "1":
                    x = x0 + i * step + column * scale
                    y = top + 10 + row * scale
                    pen.rectangle((x, y, x + scale - 1, y + scale - 1), fill="black")


def relation(a: SceneObject, b: SceneObject) -> str | None:
    """Where `a` is relative to `b` if they share a row or a column: left, right, above or below;
    otherwise None.
    """
    if a.row == b.row:
        if a.column < b.column:
            return "left"
        return "right"
    if a.column == b.column:
        if a.row < b.row:
            return "above"
        return "below"
    return None
