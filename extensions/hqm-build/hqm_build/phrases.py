"""Read phrases about a picture: objects with their colors, actions and places, numbers, texts and
the setting.

Visual Genome and HQH describe a picture by some thirty phrases about its regions, and a caption. A
phrase is understood if it is a noun phrase followed by no more than a color, an action, a place or
a text. An object is taken only where nothing else in the phrases may have its name: no plural, no
second place, no other color. A class that everybody would have named (an elephant, a bus) is absent
where at least `MIN_DENSE_PHRASES` phrases do not name it.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hqm_build.graph import Attribute, Box, Object, Relation, Setting, Text
from hqm_build.lexicon import (
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
"""A phrase, and the box of its region."""

CONSPICUOUS = frozenset(
    "airplane bear bed cat couch cow dog elephant giraffe horse laptop pizza sheep skateboard"
    " surfboard toilet train zebra".split()
)
"""Classes that every description of a picture names."""
_ALIVE = frozenset(
    "man woman boy girl child lady guy person baby toddler player skateboarder surfer snowboarder"
    " skier catcher umpire policeman dog cat elephant giraffe zebra sheep bird cow bear horse lamb"
    " goat calf deer puppy kitten duck goose moose eagle fox".split()
)
_DISTINCT_NOUNS = _ALIVE | frozenset(
    "train car bus plane airplane boat truck motorcycle bike bicycle suv van tractor ambulance ship"
    " helicopter hat flag clock keyboard helmet cake ball bowl cup bottle laptop skateboard"
    " umbrella kite tie bench couch sofa bed toilet sink fork knife spoon bat surfboard frisbee"
    " suitcase carpet rug blanket towel apple banana pizza sandwich watermelon tray basket mug vase"
    " lamp camera backpack scarf phone cellphone book bookcase refrigerator stove oven microwave"
    " chandelier fireplace hydrant bridge tent fountain ladder guitar statue bucket teapot kettle"
    " cooler wagon cart snowboard racket racquet desk dresser monitor television remote bathtub"
    " lighthouse windmill table".split()
)
"""Nouns for whole objects, of which a picture rarely has more than the phrases mention."""
_COUNTED = _DISTINCT_NOUNS | frozenset(
    "chair tree cookie pillow shirt hotdog toothbrush kid".split()
)
_CONTAINERS = frozenset("bowl box basket cup vase bag suitcase tray pot car boat sink cart".split())
_SURFACES = (
    frozenset("roof porch shelf tripod counter plate pole wall sidewalk".split()) | _DISTINCT_NOUNS
)
_ACTIONS = frozenset(
    "standing sitting walking running flying eating riding playing jumping skiing drinking swinging"
    " talking surfing driving swimming grazing throwing kicking cooking resting sleeping climbing"
    " reading skateboarding snowboarding fishing waving bending crouching skating".split()
)
MIN_DENSE_PHRASES = 20
_COLORS = frozenset(KINDS["color"].split())
_PLAIN = frozenset("red orange yellow green blue purple pink brown black white".split())
"""Colors that have one usual name."""
_SIZES = KINDS["size"] + " " + KINDS["material"] + " young old clean dirty open empty wet dry"
_ADJECTIVE = rf"(?:{'|'.join([*_COLORS, *_SIZES.split()])})"
_NOUN_PHRASE = re.compile(
    r"(?:there is |this is |it is |its )?(?P<article>the|a|an) "
    rf"(?P<adjectives>(?:(?:{_ADJECTIVE}|and) )*)(?P<name>[a-z]+)"
    r"(?P<rest>| (?:is|in|on|under|behind|beside|next|with|near|of|that|has|[a-z]+ing)\b.*)"
)
_PREPOSITIONS = ("in front of", "on top of", "on", "in", "under", "behind", "beside", "next to")
_LOCATED = re.compile(
    rf" (?:is )?(?:\w+ing )?(?P<place>{'|'.join(_PREPOSITIONS)}) (?:the|a|an)"
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
_CARRIER = (
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
        rf"(?: is)?(?: written| painted| printed| found)?{_CARRIER}",
        rf"{_STRING}(?: is)?(?: written| painted| printed){_CARRIER}",
    )
)
_NOT_TEXT = re.compile(
    r"\b(?:word|words|writing|letters?|text|number|numbers|something|logo|name|it|is|in|on|the)\b",
    re.IGNORECASE,
)
_NOT_CARRIER = re.compile(
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
class PictureDescription:
    """The content of the phrases about one picture."""

    objects: tuple[Object, ...] = ()
    relations: tuple[Relation, ...] = ()
    texts: tuple[Text, ...] = ()
    settings: tuple[Setting, ...] = ()
    counted: frozenset[str] = frozenset()
    exhaustive: frozenset[str] = frozenset()


@dataclass
class _Mention:
    """The statements about the objects of one name."""

    boxes: list[Box] = field(default_factory=list)
    unqualified: list[Box] = field(default_factory=list)
    """Regions of phrases that name the object and nothing else."""
    colors: set[str] = field(default_factory=set)
    actions: set[str] = field(default_factory=set)
    relations: set[tuple[str, str]] = field(default_factory=set)


def read_phrases(regions: Sequence[Region], caption: str = "") -> PictureDescription:
    """Read the phrases about a picture.

    >>> phrases = "a brown dog", "the dog is running", "A sign that says STOP", "overcast"
    >>> read = read_phrases([(phrase, None) for phrase in phrases], "Two cats beside a dog.")
    >>> [(obj.name, [a.value for a in obj.attributes]) for obj in read.objects]
    [('dog', ['brown', 'running']), ('cat', []), ('cat', [])]
    >>> read.texts[0].carrier, read.texts[0].string, read.settings[0].value
    ('sign', 'STOP', 'cloudy')
    """
    phrases = [_clean(phrase) for phrase, _ in regions]
    full_text = " . ".join([*phrases, _clean(caption)])
    words = Counter(re.findall(r"[a-z]+", full_text))
    mentions: dict[str, _Mention] = defaultdict(_Mention)
    statements = [*zip(phrases, (box for _, box in regions), strict=True), (_clean(caption), None)]
    for phrase, box in statements:
        match = _NOUN_PHRASE.fullmatch(phrase)
        if match is not None and well_formed(phrase):
            _record_phrase(mentions[match["name"]], match, box)
    objects = {
        name: _object_of(name, mention)
        for name, mention in mentions.items()
        if _is_unique(name, mention, words)
    }
    relations = []
    for relation in _located(mentions, set(objects), words):
        objects.setdefault(relation.object, Object(id=relation.object, names=(relation.object,)))
        relations.append(relation)
    counts = _counts(caption.lower(), phrases, words)
    scene_objects = [obj for name, obj in objects.items() if name not in counts]
    for name, count in counts.items():
        scene_objects += [Object(id=f"{name}-{i}", names=(name,)) for i in range(count)]
    return PictureDescription(
        objects=tuple(scene_objects),
        relations=tuple(r for r in relations if not {r.subject, r.object} & counts.keys()),
        texts=tuple(_texts(regions, words)),
        settings=tuple(_settings(full_text)),
        counted=frozenset(counts),
        exhaustive=CONSPICUOUS if len(phrases) >= MIN_DENSE_PHRASES else frozenset(),
    )


def _object_of(name: str, mention: _Mention) -> Object:
    """The object of a unique name, with its color and its action where only one is mentioned."""
    attributes = []
    if len(mention.colors) == 1:
        attributes += [Attribute(value=color, kind="color") for color in mention.colors & _PLAIN]
    if len(mention.actions) == 1 and name in _ALIVE:
        attributes += [Attribute(value=word, kind="action") for word in mention.actions & _ACTIONS]
    return Object(
        id=name,
        names=(name,),
        box=max(mention.unqualified, key=lambda box: box.width, default=None),
        attributes=tuple(attributes),
    )


def _located(
    mentions: Mapping[str, _Mention], unique_names: set[str], words: Mapping[str, int]
) -> Iterator[Relation]:
    """The relations of unique objects to an object that can bear or contain others."""
    located = set(unique_names)
    for name, mention in mentions.items():
        for predicate, target in sorted(mention.relations):
            fitting = _CONTAINERS if predicate == "in" else _SURFACES - _ALIVE
            if name not in located or name in (target, "table") or target not in fitting:
                continue
            if not words[plural(target)]:
                # a target can be the subject of another relation, as an object of its own
                located.add(target)
                yield Relation(
                    id=f"{name} {predicate} {target}",
                    subject=name,
                    predicate=predicate,
                    object=target,
                )


def _clean(phrase: str) -> str:
    return " ".join(phrase.lower().split()).rstrip(" .")


def _record_phrase(mention: _Mention, match: re.Match[str], box: Box | None) -> None:
    """Add the colors, actions and relations of one phrase to an object's mention."""
    colors = [word for word in match["adjectives"].split() if word in _COLORS]
    remainder = match["rest"]
    if box is not None:
        mention.boxes.append(box)
        if not remainder:
            mention.unqualified.append(box)
    if (color := _IS_COLOR.fullmatch(remainder)) is not None:
        colors.append(color["color"])
    if colors:
        mention.colors.add(" and ".join(colors))
    if (takes := _TAKES.fullmatch(remainder)) is not None:
        mention.relations.add((takes["verb"], takes["other"]))
    elif (relation := _LOCATED.fullmatch(remainder)) is not None:
        mention.relations.add((relation["place"], relation["other"]))
    if (does := _DOES.fullmatch(remainder)) is not None:
        mention.actions.add(does["verb"])


def _is_unique(name: str, mention: _Mention, words: Mapping[str, int]) -> bool:
    """Whether a name can mean one object only."""
    if name not in _DISTINCT_NOUNS or words[plural(name)] or words["another"]:
        return False
    if any(words[near_name] or words[plural(near_name)] for near_name in near_names(name)):
        return False
    colors = [color for color in mention.colors if " " not in color]
    if any(excludes(a, b) for a, b in itertools.combinations(colors, 2)):
        return False
    return all(_may_coincide(mention.boxes[0], box) for box in mention.boxes[1:])


def _may_coincide(a: Box, b: Box) -> bool:
    """Whether two regions, of which only the widths are known, may be of one object."""
    overlap = min(a.x + a.width, b.x + b.width) - max(a.x, b.x)
    return overlap >= 0.5 * min(a.width, b.width)


def _counts(caption: str, phrases: Sequence[str], words: Mapping[str, int]) -> dict[str, int]:
    """Class -> its number, where the caption or a phrase about the whole picture gives it, and
    nothing contradicts it.
    """
    counts: dict[str, int] = {}
    about_picture = re.compile(r" in the (?:photo|picture|image|shot)$")
    for text in (caption, *filter(about_picture.search, phrases)):
        match = _NUMBER.match(text)
        if match is None or not is_plural(match["name"]) or words["another"] or words["other"]:
            continue
        name = singular(match["name"])
        count = NUMBERS.index(match["number"])
        numbers = set()
        for phrase in (caption, *phrases):
            for mention in _NUMBER.finditer(phrase):
                if singular(mention["name"]) == name:
                    numbers.add(NUMBERS.index(mention["number"]))
        if name in _COUNTED and max(numbers) == count:
            counts[name] = count
    return counts


def _texts(regions: Sequence[Region], words: Mapping[str, int]) -> list[Text]:
    """The texts on objects that a phrase quotes, without those that two phrases contradict."""
    texts: dict[str, Text] = {}
    contradictory = set()
    for number, (phrase, _) in enumerate(regions):
        match = next(filter(None, (p.fullmatch(phrase.strip().rstrip(".")) for p in _TEXTS)), None)
        if match is None:
            continue
        carrier = match["carrier"].lower()
        string = match["string"].strip(" ,.")
        is_quoted = string.isupper() or string.istitle() or re.search(r"['\"“]", phrase) is not None
        if (
            not is_quoted
            or len(string) < 2
            or _NOT_TEXT.fullmatch(string)
            or _NOT_CARRIER.search(carrier)
        ):
            continue
        head = carrier.split()[-1]
        if head not in _CARRIERS or words[plural(head)]:
            continue
        if carrier in texts and texts[carrier].string.lower() != string.lower():
            contradictory.add(carrier)
        texts[carrier] = Text(id=f"region-{number}", string=string, carrier=carrier)
    return [text for carrier, text in texts.items() if carrier not in contradictory]


def _settings(full_text: str) -> list[Setting]:
    """The weather, the time of day and the place, where the phrases agree."""
    settings = []
    for kind, rules in SETTINGS.items():
        values = [value for rule, value in rules if rule.search(full_text)]
        if len(values) == 1:
            settings.append(Setting(kind=kind, value=values[0]))
    return settings
