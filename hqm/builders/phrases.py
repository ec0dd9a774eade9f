"""What phrases say of a picture: things with their colors, actions and places, numbers, texts and
the setting.

Visual Genome and HQH describe a picture by some thirty phrases about its regions, and a caption. A
phrase is understood if it is a noun phrase with no more than a color, an action, a place or a text
behind it. A thing is named only where nothing else in the phrases may have its name: no plural, no
second place, no other color. A class that everybody would have named (an elephant, a bus) is absent
where at least `_DENSE` phrases do not name it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hqm.builders.graph import Attribute, Box, Object, Relation, Setting, Text
from hqm.builders.lexicon import (
    KINDS,
    NUMBERS,
    excludes,
    is_plural,
    near_names,
    plural,
    singular,
    well_formed,
)

Region = tuple[str, Box | None]
"""A phrase, and where the region lies that it is about."""

CONSPICUOUS = frozenset(
    "airplane bear bed cat couch cow dog elephant giraffe horse laptop pizza sheep skateboard"
    " surfboard toilet train zebra".split()
)
"""What nobody leaves out who describes a picture that shows it."""
_ALIVE = frozenset(
    "man woman boy girl child lady guy person baby toddler player skateboarder surfer snowboarder"
    " skier catcher umpire policeman dog cat elephant giraffe zebra sheep bird cow bear horse lamb"
    " goat calf deer puppy kitten duck goose moose eagle fox".split()
)
_THINGS = _ALIVE | frozenset(
    "train car bus plane airplane boat truck motorcycle bike bicycle suv van tractor ambulance ship"
    " helicopter hat flag clock keyboard helmet cake ball bowl cup bottle laptop skateboard"
    " umbrella kite tie bench couch sofa bed toilet sink fork knife spoon bat surfboard frisbee"
    " suitcase carpet rug blanket towel apple banana pizza sandwich watermelon tray basket mug vase"
    " lamp camera backpack scarf phone cellphone book bookcase refrigerator stove oven microwave"
    " chandelier fireplace hydrant bridge tent fountain ladder guitar statue bucket teapot kettle"
    " cooler wagon cart snowboard racket racquet desk dresser monitor television remote bathtub"
    " lighthouse windmill table".split()
)
"""Things that a phrase names as a whole, and of which a picture rarely has more than it tells."""
_COUNTED = _THINGS | frozenset("chair tree cookie pillow shirt hotdog toothbrush kid".split())
_INSIDE = frozenset("bowl box basket cup vase bag suitcase tray pot car boat sink cart".split())
_SURFACE = frozenset("roof porch shelf tripod counter plate pole wall sidewalk".split()) | _THINGS
_ACTIONS = frozenset(
    "standing sitting walking running flying eating riding playing jumping skiing drinking swinging"
    " talking surfing driving swimming grazing throwing kicking cooking resting sleeping climbing"
    " reading skateboarding snowboarding fishing waving bending crouching skating".split()
)
_DENSE = 20
_COLORS = frozenset(KINDS["color"].split())
_PLAIN = frozenset("red orange yellow green blue purple pink brown black white".split())
"""Colors by the one name that everybody gives them."""
_SIZES = KINDS["size"] + " " + KINDS["material"] + " young old clean dirty open empty wet dry"
_ADJECTIVE = rf"(?:{'|'.join([*_COLORS, *_SIZES.split()])})"
_THING = re.compile(
    r"(?:there is |this is |it is |its )?(?P<article>the|a|an) "
    rf"(?P<adjectives>(?:(?:{_ADJECTIVE}|and) )*)(?P<name>[a-z]+)"
    r"(?P<rest>| (?:is|in|on|under|behind|beside|next|with|near|of|that|has|[a-z]+ing)\b.*)"
)
_PLACES = ("in front of", "on top of", "on", "in", "under", "behind", "beside", "next to")
_PLACE = re.compile(
    rf" (?:is )?(?:\w+ing )?(?P<place>{'|'.join(_PLACES)}) (?:the|a|an)"
    rf" (?:{_ADJECTIVE} )*(?P<other>[a-z]+)"
)
_TAKES = re.compile(
    rf" (?:is )?(?P<verb>riding|holding|eating|carrying|pulling|pushing|throwing|catching|hitting"
    rf"|reading|cutting|drinking) (?:the|a|an|some) (?:{_ADJECTIVE} )*(?P<other>[a-z]+)(?: .*)?"
)
_DOES = re.compile(r" (?:is )?(?P<verb>[a-z]+ing)\b.*")
_IS_COLOR = re.compile(rf" is (?P<color>{'|'.join(_COLORS)})(?: in colou?r)?")
_NUMBER = re.compile(
    rf"(?:there are )?(?P<number>{'|'.join(NUMBERS[2:7])}) (?:{_ADJECTIVE} )*(?P<name>[a-z]+)\b"
    r"(?! (?:of|lane|way|story|door|wheel|piece))"
)
_ON = (
    r" on (?:the |a |an )?(?:(?:side|front|back|top) of )?(?:the |a |an )?"
    r"(?P<carrier>(?:[a-z]+ )?[a-z]+)\.?"
)
_STRING = r"['\"“]?(?P<string>[^'\"”]{1,40}?)['\"”.]*"
_TEXTS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?:the |a |an )?(?:(?:side|front|back|top) of (?:the |a |an )?)?"
        r"(?P<carrier>(?:(?!that )[a-z]+ )?(?!that )[a-z]+) (?:that )?(?:says|reads|saying|reading)"
        rf",? {_STRING}",
        rf"(?:the )?(?:words?|letters?|name|numbers?|writing|text|logo) {_STRING}"
        rf"(?: is)?(?: written| painted| printed| found)?{_ON}",
        rf"{_STRING}(?: is)?(?: written| painted| printed){_ON}",
    )
)
_NO_TEXT = re.compile(
    r"\b(?:word|words|writing|letters?|text|number|numbers|something|logo|name|it|is|in|on|the)\b",
    re.IGNORECASE,
)
_NO_CARRIER = re.compile(
    r"\b(?:writing|letters?|words?|text|that|says|lettering|it|this|numbers?|side|front|top)\b"
)
_CARRIERS = frozenset(
    "sign shirt bus train plane airplane boat billboard board surfboard truck van box label banner"
    " clock building store poster flag hat helmet jersey bottle can license umbrella cup mug"
    " suitcase motorcycle awning car helicopter stove vest jacket racket bag screen".split()
)
_WEATHER = (
    (
        re.compile(r"\bsky (?:is|appears|looks) (?:\w+ )?(?:clear|blue)\b|\bclear (?:blue )?sky\b"),
        "clear",
    ),
    (re.compile(r"\bovercast\b|\bcloudy (?:day|sky)\b|\bsky is (?:very )?cloudy\b"), "cloudy"),
    (re.compile(r"\brainy\b|\bin the rain\b|\bit is raining\b"), "rainy"),
    (re.compile(r"\bsnowing\b|\bsnow (?:is )?falling\b"), "snowy"),
)
_TIME = (
    (re.compile(r"\bat night\b|\bnight ?time\b|\bnight sky\b|\bdark night\b"), "night"),
    (
        re.compile(r"\bday ?time\b|\bsunny\b|\b(?:clear )?blue sky\b|\bsky is (?:\w+ )?blue\b"),
        "day",
    ),
)
_SPOT = (
    (
        re.compile(
            r"\b(?:in|of) (?:a|an|the|her|his|their) (?:\w+ )?(?:kitchen|bathroom|bedroom"
            r"|living room|office|restaurant|hotel room|dining room|classroom|library)\b"
            r"|\bindoors?\b"
        ),
        "indoors",
    ),
    (
        re.compile(
            r"\b(?:beach|ocean|sidewalk|street|meadow|slope|runway|highway|lawn|sky|trees|grass)\b"
            r"|\boutdoors?\b"
        ),
        "outdoors",
    ),
)
SETTINGS = {"weather": _WEATHER, "time of day": _TIME, "place": _SPOT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What the phrases about one picture say."""

    objects: tuple[Object, ...] = ()
    relations: tuple[Relation, ...] = ()
    texts: tuple[Text, ...] = ()
    settings: tuple[Setting, ...] = ()
    counted: frozenset[str] = frozenset()
    exhaustive: frozenset[str] = frozenset()


@dataclass
class _Mention:
    """What is said of the things of one name."""

    boxes: list[Box] = field(default_factory=list)
    bare: list[Box] = field(default_factory=list)
    """Regions of phrases that name the thing and nothing else."""
    colors: set[str] = field(default_factory=set)
    actions: set[str] = field(default_factory=set)
    places: set[tuple[str, str]] = field(default_factory=set)


def described(regions: Sequence[Region], caption: str = "") -> Described:
    """Read the phrases about a picture.

    >>> phrases = "a brown dog", "the dog is running", "A sign that says STOP", "overcast"
    >>> known = described([(phrase, None) for phrase in phrases], "Two cats beside a dog.")
    >>> [(thing.name, [a.value for a in thing.attributes]) for thing in known.objects]
    [('dog', ['brown', 'running']), ('cat', []), ('cat', [])]
    >>> known.texts[0].carrier, known.texts[0].string, known.settings[0].value
    ('sign', 'STOP', 'cloudy')
    """
    phrases = [_clean(phrase) for phrase, _ in regions]
    whole = " . ".join([*phrases, _clean(caption)])
    words = Counter(re.findall(r"[a-z]+", whole))
    mentions: dict[str, _Mention] = defaultdict(_Mention)
    statements = [*zip(phrases, (box for _, box in regions), strict=True), (_clean(caption), None)]
    for phrase, box in statements:
        match = _THING.fullmatch(phrase)
        if match is None or not well_formed(phrase):
            continue
        _note(mentions[match["name"]], match, box)
    objects: dict[str, Object] = {}
    relations = []
    for name, mention in mentions.items():
        if not _alone(name, mention, words, mentions):
            continue
        colors = mention.colors if len(mention.colors) == 1 else set()
        actions = mention.actions if len(mention.actions) == 1 and name in _ALIVE else set()
        objects[name] = Object(
            id=name,
            names=(name,),
            box=max(mention.bare, key=lambda box: box.width, default=None),
            attributes=(
                *(Attribute(value=value, kind="color") for value in colors & _PLAIN),
                *(Attribute(value=value, kind="action") for value in actions & _ACTIONS),
            ),
        )
    for name, mention in mentions.items():
        for place, other in sorted(mention.places):
            fits = other in (_INSIDE if place == "in" else _SURFACE - _ALIVE)
            if (
                name in objects
                and name not in (other, "table")
                and fits
                and not words[plural(other)]
            ):
                objects.setdefault(other, Object(id=other, names=(other,)))
                key = f"{name} {place} {other}"
                relations.append(Relation(id=key, subject=name, predicate=place, object=other))
    counts = _counts(caption.lower(), phrases, words)
    things = [thing for name, thing in objects.items() if name not in counts]
    things += [
        Object(id=f"{name}-{i}", names=(name,))
        for name, count in counts.items()
        for i in range(count)
    ]
    dense = len(phrases) >= _DENSE
    return Described(
        objects=tuple(things),
        relations=tuple(r for r in relations if not {r.subject, r.object} & counts.keys()),
        texts=tuple(_texts(regions, words)),
        settings=tuple(_settings(whole)),
        counted=frozenset(counts),
        exhaustive=CONSPICUOUS if dense else frozenset(),
    )


def _clean(phrase: str) -> str:
    return " ".join(phrase.lower().split()).rstrip(" .")


def _note(mention: _Mention, match: re.Match[str], box: Box | None) -> None:
    """Take what one phrase says of a thing."""
    colors = [word for word in match["adjectives"].split() if word in _COLORS]
    rest = match["rest"]
    if box is not None:
        mention.boxes.append(box)
        mention.bare += [] if rest else [box]
    if (color := _IS_COLOR.fullmatch(rest)) is not None:
        colors.append(color["color"])
    mention.colors.update([" and ".join(colors)] if colors else [])
    if (takes := _TAKES.fullmatch(rest)) is not None:
        mention.places.add((takes["verb"], takes["other"]))
    elif (place := _PLACE.fullmatch(rest)) is not None:
        mention.places.add((place["place"], place["other"]))
    if (does := _DOES.fullmatch(rest)) is not None:
        mention.actions.add(does["verb"])


def _alone(
    name: str, mention: _Mention, words: Mapping[str, int], mentions: Mapping[str, _Mention]
) -> bool:
    """Whether a name can mean one thing only."""
    if name not in _THINGS or words[plural(name)] or words["another"]:
        return False
    others = {other for other in near_names(name) if words[other] or words[plural(other)]}
    boxes = [box for other in {name, *others} & mentions.keys() for box in mentions[other].boxes]
    colors = [color for color in mention.colors if " " not in color]
    mixed = any(excludes(a, b) for a in colors for b in colors if a != b)
    return not mixed and not others - {name} and all(_near(boxes[0], box) for box in boxes[1:])


def _near(a: Box, b: Box) -> bool:
    """Whether two regions, of which the widths are known, may be of one thing."""
    wide = min(a.x + a.width, b.x + b.width) - max(a.x, b.x)
    return wide >= 0.5 * min(a.width, b.width)


def _counts(caption: str, phrases: Sequence[str], words: Mapping[str, int]) -> dict[str, int]:
    """Class -> its number, where the caption or a phrase about the whole picture gives it, and
    nothing contradicts it.
    """
    made: dict[str, int] = {}
    whole = [
        caption,
        *(p for p in phrases if re.search(r" in the (?:photo|picture|image|shot)$", p)),
    ]
    for text in whole:
        match = _NUMBER.match(text)
        if match is None or not is_plural(match["name"]) or words["another"] or words["other"]:
            continue
        name, count = singular(match["name"]), NUMBERS.index(match["number"])
        also = {
            NUMBERS.index(other["number"])
            for phrase in (caption, *phrases)
            for other in _NUMBER.finditer(phrase)
            if singular(other["name"]) == name
        }
        if name in _COUNTED and max(also) == count:
            made[name] = count
    return made


def _texts(regions: Sequence[Region], words: Mapping[str, int]) -> list[Text]:
    """What is written on a thing, where one phrase says it in so many words."""
    made: dict[str, Text] = {}
    twice = set()
    for number, (phrase, _) in enumerate(regions):
        match = next(filter(None, (p.fullmatch(phrase.strip().rstrip(".")) for p in _TEXTS)), None)
        if match is None:
            continue
        carrier, string = match["carrier"].lower(), match["string"].strip(" ,.")
        shown = string.isupper() or string.istitle() or re.search(r"['\"“]", phrase) is not None
        if (
            not shown
            or len(string) < 2
            or _NO_TEXT.fullmatch(string)
            or _NO_CARRIER.search(carrier)
        ):
            continue
        head = carrier.split()[-1]
        if head not in _CARRIERS or words[plural(head)]:
            continue
        if carrier in made and made[carrier].string.lower() != string.lower():
            twice.add(carrier)
        made[carrier] = Text(id=f"region-{number}", string=string, carrier=carrier)
    return [text for carrier, text in made.items() if carrier not in twice]


def _settings(whole: str) -> list[Setting]:
    """The weather, the time of day and the place, where the phrases agree."""
    settings = []
    for kind, rules in SETTINGS.items():
        values = [value for rule, value in rules if rule.search(whole)]
        if len(values) == 1:
            settings.append(Setting(kind=kind, value=values[0]))
    return settings
