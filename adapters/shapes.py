"""Shapes: the benchmark embedded in HQM, with pictures drawn from scenes whose truth is known.

Four tasks share the pictures: yes/no, multiple choice, short answers and captions. There is no
release and no paper, so `official` and `paper` scoring are the same. A caption is scored as CHAIR
scores it: of the objects that it mentions, the share that is not in the scene. The judge `oracle`
reads every answer to its end and checks each claim against the scene.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Set
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any

from hqm.benchmarks.shapes.oracle import claims, kinds_in, mentioned
from hqm.benchmarks.shapes.scene import Scene, draw

from hqm import Benchmark, Card, DataError, Form, Item, Metric, Response, Verdict, read_records
from hqm.scoring.metrics import CHAIR, chair_tally
from hqm.signature import TAG, digest_file


class Shapes(Benchmark):
    """One of the four tasks about drawn scenes."""

    def __init__(self, card: Card, data: Path, **settings: Any) -> None:
        scenes = data.parent / "shapes"
        # the pictures are drawn into the user's cache unless another folder is named
        folder = settings.pop("images", None) or _drawn_folder(card, scenes / "scenes.jsonl")
        super().__init__(card, data, images=folder, **settings)
        self.scoring_files = tuple(map(scenes.joinpath, ("scenes.jsonl", "oracle.py", "scene.py")))

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics of CHAIR for captions, otherwise those of the task."""
        if self.card.task == "caption":
            return CHAIR
        return super().metrics

    @cached_property
    def scenes(self) -> Mapping[str, Scene]:
        """Picture -> scene."""
        rows = read_records(self.data.parent / "shapes" / "scenes.jsonl")
        return {row.pop("image"): Scene.from_dict(row) for row in rows}

    @cached_property
    def kinds(self) -> Mapping[str, Set[str]]:
        """Picture -> the kinds of object in its scene."""
        return dict(zip(self.scenes, map(kinds_in, self.scenes.values()), strict=True))

    def prepare_images(self, form: Form) -> None:
        """Draw the pictures that the items are about and that are not there yet."""
        folder = self.images
        images = set(map(attrgetter("image"), form.items))
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, scene in self.scenes.items():
                if name in images and not (folder / name).exists():
                    # drawn into another file and then moved, so that a killed run leaves no half
                    # picture
                    with tempfile.NamedTemporaryFile(
                        dir=folder, suffix=".tmp", delete=False
                    ) as unfinished:
                        draw(scene).save(unfinished, "PNG")
                    os.replace(unfinished.name, folder / name)
        except OSError as error:
            raise DataError(
                f"the pictures cannot be drawn: {error.strerror}",
                location=str(folder),
                remedy="Name a folder with --images.",
            ) from error

    def score(self, item: Item, response: Response) -> Verdict:
        """The tally of CHAIR for a caption, otherwise the rule of the task."""
        if item.task != "caption":
            return super().score(item, response)
        return chair_tally(mentioned(response.text), self.kinds[item.image or ""], response.text)

    def decides(self, item: Item) -> str | None:
        """The target of a yes/no question."""
        if item.task == "yes_no":
            # the rule sees nothing else of a question; the other tasks depend on options or the
            # scene
            return str(item.target)
        return None

    def judges(self) -> Mapping[str, Callable[[Item, Response], Verdict]]:
        """The scene oracle."""
        return {"oracle": self._oracle}

    def _oracle(self, item: Item, response: Response) -> Verdict:
        """Faithful if the answer is right and everything that it says is true of the scene."""
        made_claims = claims(response.text)
        right_by_rule = True
        if item.task != "caption":  # the rule scores every caption, and calls none wrong
            rule = self.verdict(item, response)
            if not made_claims and not rule.scored:
                state = "unparsed" if rule.state == "ok" else rule.state
                return Verdict.unscored(state, "it claims nothing that can be checked")
            right_by_rule = not rule.scored or rule.value == 1
        wrong = [words for words, holds in made_claims if not holds(self.scenes[item.image or ""])]
        faithful = float(not wrong and right_by_rule)
        return Verdict(faithful, {"faithful": faithful, "n": 1.0}, "ok", "; ".join(wrong))


def _drawn_folder(card: Card, scenes: Path) -> Path:
    """The folder of a benchmark's drawn pictures; other scenes have other pictures."""
    if scenes.is_file():
        # the version of the card may stay while scenes change, and old pictures would be shown
        edition = digest_file(scenes).removeprefix(TAG)[:8]
    else:
        edition = card.version
    return _cache() / f"{card.name}-{edition}"


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hqm"
