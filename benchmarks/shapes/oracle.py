"""The scene oracle: reads a whole answer and checks every claim in it against the scene.

The rule scorer of a yes/no question reads "yes" or "no" and stops. The oracle reads on: "Yes, the
circle is red." about a picture whose circle is blue is right by the rule if the right answer is
yes, but it is still a hallucination. The oracle, which knows the full truth, stands for the human
judge as the criterion of the embedded benchmark.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import product
from operator import attrgetter

from hqm.benchmarks.shapes.scene import (
    ACTIONS,
    COLORS,
    DIRECTIONS,
    GROUNDS,
    NUMBERS,
    SHAPES,
    SIZES,
    SKIES,
    Scene,
    SceneObject,
)

_SIZE = f"(?P<size>{'|'.join(SIZES)})"
_COLOR = f"(?P<color>{'|'.join(COLORS)})"
_SHAPE = f"(?P<shape>{'|'.join(SHAPES)})"
_NAME = rf"(?:{_SIZE} )?(?:{_COLOR} )?{_SHAPE}"
_COUNT = {**{word: i for i, word in enumerate(NUMBERS)}, "no": 0}
_DIRECTION_OF = dict(zip(DIRECTIONS.values(), DIRECTIONS, strict=True))

Check = Callable[[Scene, re.Match[str]], bool]
_TEXTS = 1 << 14
"""Texts whose reading is kept: tiny models say the same few thousand things about many pictures, in
each run again.
"""


def _matches(scene: Scene, match: re.Match[str], suffix: str = "") -> list[SceneObject]:
    """The things that a name in the text may mean."""
    groups = match.groupdict()
    objects = list(scene.things)
    for attribute in ("size", "color", "shape"):
        # what a name leaves out may be anything
        value = groups.get(f"{attribute}{suffix}")
        if value is not None:
            objects = [candidate for candidate in objects if getattr(candidate, attribute) == value]
    return objects


def _exists(scene: Scene, match: re.Match[str]) -> bool:
    return bool(_matches(scene, match))


def _counts(scene: Scene, match: re.Match[str]) -> bool:
    return len(_matches(scene, match)) == _COUNT[match["count"]]


def _has(scene: Scene, match: re.Match[str]) -> bool:
    return (scene.action if match["what"] == "person" else scene.sign) is not None


def _lies(scene: Scene, match: re.Match[str]) -> bool:
    direction = _DIRECTION_OF[match["direction"]]
    pairs = product(_matches(scene, match, "1"), _matches(scene, match, "2"))
    return any(a != b and _lies_so(a, b, direction) for a, b in pairs)


def _lies_so(a: SceneObject, b: SceneObject, direction: str) -> bool:
    if direction in ("left", "right"):
        if direction == "left":
            return a.column < b.column
        return a.column > b.column
    if direction == "above":
        return a.row < b.row
    return a.row > b.row


def _larger(scene: Scene, match: re.Match[str]) -> bool:
    first_sizes = map(attrgetter("size"), _matches(scene, match, "1"))
    second_sizes = map(attrgetter("size"), _matches(scene, match, "2"))
    return "large" in first_sizes and "small" in second_sizes


def _compares(scene: Scene, match: re.Match[str]) -> bool:
    a = scene.count(match["a"])
    b = scene.count(match["b"])
    return {"more": a > b, "fewer": a < b, "as many": a == b}[match["how"]]


def _numbered(name: str, suffix: str) -> str:
    return re.sub(r"\(\?P<(\w+)>", rf"(?P<\g<1>{suffix}>", name)


_DIRECTION = f"(?P<direction>{'|'.join(DIRECTIONS.values())})"
_PAIR = _numbered(_NAME, "1"), _numbered(_NAME, "2")

# The order matters: what a pattern has read is taken out of the text, so that no later pattern
# reads a part of it.
_CLAIMS: tuple[tuple[re.Pattern[str], Check], ...] = tuple(
    (re.compile(pattern), check)
    for pattern, check in (
        (rf"the {_PAIR[0]} is {_DIRECTION} the {_PAIR[1]}", _lies),
        (rf"the {_PAIR[0]} is not {_DIRECTION} the {_PAIR[1]}", lambda s, m: not _lies(s, m)),
        (rf"the {_PAIR[0]} is larger than the {_PAIR[1]}", _larger),
        (rf"the {_PAIR[0]} is not larger than the {_PAIR[1]}", lambda s, m: not _larger(s, m)),
        (
            (
                rf"(?P<how>more|fewer|as many) (?P<a>{'|'.join(SHAPES)})s (?:than|as)"
                rf" (?P<b>{'|'.join(SHAPES)})s"
            ),
            _compares,
        ),
        (rf"the (?:{_COLOR} )?{_SHAPE} is (?P<size>{'|'.join(SIZES)})\b", _exists),
        (rf"the {_SHAPE} is {_COLOR}\b", _exists),
        (rf"the person is (?P<action>{'|'.join(ACTIONS)})", lambda s, m: s.action == m["action"]),
        (r"the sign says (?P<text>\w+)", lambda s, m: (s.sign or "").lower() == m["text"]),
        (rf"it is (?P<sky>{'|'.join(SKIES)})", lambda s, m: s.sky == m["sky"]),
        (rf"covered with (?P<ground>{'|'.join(GROUNDS)})", lambda s, m: s.ground == m["ground"]),
        (r"\bno (?P<what>person|sign)\b", lambda s, m: not _has(s, m)),
        (r"\b(?:a|the) (?P<what>person|sign)\b", _has),
        (rf"\b(?P<count>{'|'.join(_COUNT)}) (?:{_SIZE} )?(?:{_COLOR} )?{_SHAPE}s?\b", _counts),
        (rf"\ban? {_NAME}\b", _exists),
    )
)


@lru_cache(_TEXTS)
def claims(text: str) -> tuple[tuple[str, Callable[[Scene], bool]], ...]:
    """The claims of an answer that the oracle understands, each with its check.

    >>> [words for words, _ in claims("Yes, there is a red circle. It is night.")]
    ['it is night', 'a red circle']
    """
    unread_text = " ".join(text.lower().split())
    claimed: list[tuple[str, Callable[[Scene], bool]]] = []
    for pattern, check in _CLAIMS:
        claims = [
            (match.group(), partial(_holds, check, match))
            for match in pattern.finditer(unread_text)
        ]
        if claims:
            claimed += claims
            unread_text = pattern.sub(" ; ", unread_text)
    return tuple(claimed)


def _holds(check: Check, match: re.Match[str], scene: Scene) -> bool:
    return check(scene, match)


_KINDS = re.compile(
    r"(?:\b(?P<no>no|not an?) )?(?:\w+"
    rf" ){{0,2}}?\b(?P<kind>{'|'.join((*SHAPES, 'person', 'sign'))})s?\b"
)


@lru_cache(_TEXTS)
def mentioned(text: str) -> tuple[str, ...]:
    """The kinds of object that an answer says are there, in order and with repeats, without those
    that it denies.
    """
    return tuple(m["kind"] for m in _KINDS.finditer(text.lower()) if not m["no"])


def kinds_in(scene: Scene) -> set[str]:
    """The kinds of object that are in a scene."""
    # a person has an action and a sign a text: the scene has no other field for them
    kinds = set(map(attrgetter("shape"), scene.things))
    if scene.action:
        kinds.add("person")
    if scene.sign:
        kinds.add("sign")
    return kinds
