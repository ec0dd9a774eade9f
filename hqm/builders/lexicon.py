"""Words: kinds of attributes, numbers, articles, plurals, and names that mean the same or a wider
thing.
"""

from __future__ import annotations

from functools import lru_cache

NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
KINDS = {
    "color": (
        "red orange yellow green blue purple pink brown black white gray grey silver gold tan beige"
    ),
    "size": "small large big little tiny huge tall short long",
    "material": "wooden metal plastic glass leather brick stone concrete paper cotton",
    "action": (
        "running sitting jumping waving standing walking lying riding eating sleeping flying"
        " swimming surfing skiing smiling"
    ),
    "state": (
        "sunny cloudy clear overcast wet dry open closed empty full calm lush bare clean dirty"
    ),
    "weather": "raining snowing foggy stormy",
}
"""Kind of attribute -> words that say it.

What is in no list has no kind, and is not asked about as an attribute.
"""
_KIND_OF = {word: kind for kind, words in KINDS.items() for word in words.split()}
_SAME = (
    "couch sofa",
    "tv television monitor screen",
    "donut doughnut",
    "cell phone|phone|telephone|mobile phone",
    "airplane plane jet",
    "person man woman boy girl child lady guy people player rider",
    "bicycle bike",
    "motorcycle motorbike scooter moped",
    "refrigerator fridge",
    "potted plant|plant|houseplant",
    "dining table|table|desk|counter",
    "sports ball|ball",
    "handbag purse bag backpack suitcase",
    "traffic light|stoplight|street light",
    "cup|wine glass|glass|mug|bowl",
    "car truck van bus vehicle",
    "sheep lamb goat",
    "cow bull cattle ox",
    "dog puppy",
    "cat kitten",
    "horse pony",
    "bird duck goose seagull",
    "boat ship",
    "laptop computer",
    "remote controller",
    "oven stove microwave toaster",
    "chair stool bench couch seat",
    "knife fork spoon",
    "tree|trees|forest|potted plant|plant",
    "ground floor grass road",
    "skis snowboard",
    "surfboard skateboard",
    "teddy bear|bear|toy",
    "hot dog|sandwich",
    "cake donut pizza",
    "book books",
    "sky cloud clouds",
    "sea ocean water lake river",
    "hill mountain rock",
)
"""Names that people use for each other, or of which one is a kind of another: if one is there, the
others are not asked about as absent.
"""


@lru_cache(maxsize=1)
def _near() -> dict[str, frozenset[str]]:
    near: dict[str, set[str]] = {}
    for line in _SAME:
        names = {name.strip() for name in (line.split("|") if "|" in line else line.split())}
        for name in names:
            near.setdefault(name, set()).update(names - {name})
    return {name: frozenset(others) for name, others in near.items()}


def near_names(name: str) -> frozenset[str]:
    """The names that may mean the same thing as this one, or a wider or a narrower one.

    >>> sorted(near_names("couch"))
    ['bench', 'chair', 'seat', 'sofa', 'stool']
    """
    return _near().get(name, frozenset())


def kind_of_attribute(value: str) -> str:
    """Of which kind an attribute is; empty where no list has it.

    >>> kind_of_attribute("red"), kind_of_attribute("sitting"), kind_of_attribute("odd")
    ('color', 'action', '')
    """
    return _KIND_OF.get(value, "")


_NO_VOWEL = ("uni", "use", "usu", "ute", "eu", "one", "once")
_MUTE = ("hour", "honest", "heir", "honour", "honor")
_PLURAL_ONLY = frozenset(
    "skis scissors pants glasses shorts trousers jeans stairs clothes sunglasses".split()
)
_MASS = frozenset(
    "grass water sand snow broccoli furniture sky food luggage traffic ground dirt smoke".split()
)


def with_article(name: str) -> str:
    """A name with its article; a plural or a mass noun has none of its own.

    >>> [with_article(name) for name in ("umbrella", "unicycle", "hour hand", "scissors")]
    ['an umbrella', 'a unicycle', 'an hour hand', 'a pair of scissors']
    """
    first, last = name.split()[0], name.split()[-1]
    if last in _PLURAL_ONLY:
        return (
            f"a pair of {name}"
            if last in ("scissors", "pants", "glasses", "shorts", "skis")
            else f"any {name}"
        )
    if name in _MASS or (is_plural(name) and last not in _PLURAL_ONLY):
        return f"any {name}"
    vowel = (first[0] in "aeiou" and not first.startswith(_NO_VOWEL)) or first.startswith(_MUTE)
    return f"{'an' if vowel else 'a'} {name}"


@lru_cache(maxsize=4096)
def is_plural(name: str) -> bool:
    """Whether the last word of a name is a plural.

    >>> is_plural("trees"), is_plural("bus"), is_plural("tennis racket")
    (True, False, False)
    """
    last = name.split()[-1]
    return last.endswith("s") and singular(last) != last


@lru_cache(maxsize=4096)
def singular(name: str) -> str:
    """A name with its last word in the singular.

    >>> singular("red buses"), singular("people"), singular("grass")
    ('red bus', 'person', 'grass')
    """
    *before, last = name.split()
    if last in _PLURAL_ONLY or last in _MASS or last.endswith(("ss", "us", "is")):
        return name
    from lemminflect import getLemma

    lemma = {"people": "person", "women": "woman", "men": "man"}.get(last) or next(
        iter(getLemma(last, "NOUN")), last
    )
    return " ".join([*before, lemma])


@lru_cache(maxsize=4096)
def plural(name: str) -> str:
    """A name with its last word in the plural.

    >>> [plural(name) for name in ("bus", "person", "traffic light", "sheep", "scissors")]
    ['buses', 'people', 'traffic lights', 'sheep', 'scissors']
    """
    *before, last = name.split()
    fixed = {
        "person": "people",
        "sheep": "sheep",
        "knife": "knives",
        "skis": "pairs of skis",
        "mouse": "mice",
        "sandwich": "sandwiches",
    }
    if last in fixed:
        return " ".join([*before, fixed[last]])
    if last in _PLURAL_ONLY or last in _MASS:
        return name
    from lemminflect import getInflection

    return " ".join([*before, next(iter(getInflection(last, "NNS")), f"{last}s")])
