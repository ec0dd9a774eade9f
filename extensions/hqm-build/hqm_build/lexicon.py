"""Words: kinds of attributes, numbers, articles, plurals, and names that mean the same or a wider
thing.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from lemminflect import getAllLemmas, getInflection, getLemma

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
_NEAR_GROUPS = (
    "couch sofa",
    "tv television monitor screen",
    "donut doughnut",
    "cell phone|phone|telephone|mobile phone",
    "airplane plane jet aircraft jetliner airliner",
    "person man woman boy girl child lady guy people player rider skier surfer skateboarder"
    " snowboarder catcher umpire policeman baby toddler kid adult",
    "bicycle bike",
    "motorcycle motorbike scooter moped",
    "refrigerator fridge",
    "potted plant|plant|houseplant",
    "dining table|table|desk|counter",
    "sports ball|ball",
    "handbag purse bag backpack suitcase",
    "traffic light|stoplight|street light",
    "cup|wine glass|glass|mug|bowl",
    "car truck van bus vehicle suv lorry taxi jeep pickup minivan ambulance",
    "sheep lamb goat",
    "cow bull cattle ox calf",
    "dog puppy",
    "cat kitten",
    "horse pony",
    "bird duck goose seagull",
    "boat ship yacht ferry canoe kayak sailboat",
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
"""Names that people use for each other, or of which one is a kind of another: if one is present,
the others are not asked about as absent.
"""


@lru_cache(maxsize=1)
def _near_name_table() -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for line in _NEAR_GROUPS:
        names = set(line.split("|") if "|" in line else line.split())
        for name in names:
            table.setdefault(name, set()).update(names - {name})
    return {name: frozenset(near_group) for name, near_group in table.items()}


def near_names(name: str) -> frozenset[str]:
    """The names that may mean the same thing as this one, or a wider or a narrower one.

    >>> sorted(near_names("couch"))
    ['bench', 'chair', 'seat', 'sofa', 'stool']
    """
    return _near_name_table().get(name, frozenset())


_NEAR_COLORS = tuple(
    frozenset(group.split())
    for group in (
        "white silver beige gray grey tan",
        "black gray grey silver",
        "red pink orange purple brown",
        "yellow gold orange tan beige brown",
        "blue purple green",
    )
)
POSTURES = (
    "sitting standing running lying jumping walking sleeping swimming flying skiing surfing riding"
    " skateboarding kneeling crouching squatting climbing".split()
)
"""Actions of a whole body: one excludes most others."""
_COMPATIBLE_POSTURES = frozenset(
    frozenset(pair.split())
    for pair in (
        "sitting sleeping",
        "lying sleeping",
        "lying sitting",
        "standing sleeping",
        "running walking",
        "standing walking",
        "running jumping",
        "sitting riding",
        "sitting crouching",
        "sitting squatting",
        "sitting kneeling",
        "crouching squatting",
        "crouching kneeling",
        "squatting kneeling",
        "standing surfing",
        "standing skiing",
        "standing skateboarding",
        "standing riding",
        "jumping skiing",
        "jumping skateboarding",
        "jumping surfing",
        "jumping flying",
        "running riding",
        "walking riding",
        "walking climbing",
        "jumping riding",
        "crouching surfing",
        "lying surfing",
        "swimming surfing",
        "riding surfing",
        "riding skateboarding",
        "walking skiing",
        "crouching skateboarding",
        "crouching skiing",
    )
)


def excludes(a: str, b: str) -> bool:
    """Whether two words cannot both be true of one object: colors that nobody confuses, and
    postures that exclude each other.

    >>> excludes("red", "blue"), excludes("red", "pink"), excludes("standing", "lying down")
    (True, False, True)
    """
    first = a.split()[0]
    second = b.split()[0]
    if first == second:
        return False
    if {a, b} <= set(KINDS["color"].split()):
        return not any({a, b} <= group for group in _NEAR_COLORS)
    return {first, second} <= set(POSTURES) and frozenset(
        (first, second)
    ) not in _COMPATIBLE_POSTURES


def kind_of_attribute(value: str) -> str:
    """The kind of an attribute; empty where no list has it.

    >>> kind_of_attribute("red"), kind_of_attribute("sitting"), kind_of_attribute("odd")
    ('color', 'action', '')
    """
    return _KIND_OF.get(value, "")


_CONSONANT_SOUND = ("uni", "use", "usu", "ute", "eu", "one", "once")
_SILENT_H = ("hour", "honest", "heir", "honour", "honor")
_PLURAL_ONLY = frozenset(
    "skis scissors pants glasses shorts trousers jeans stairs clothes sunglasses".split()
)
_MASS = frozenset(
    "grass water sand snow broccoli furniture food luggage baggage traffic dirt smoke coffee juice"
    " milk rice bread cheese wine beer ice meat cream sauce money charcoal bamboo toothpaste"
    " shampoo cola ginger pulp tinfoil fruit hair mud wood lettuce spray butter soup tea corn"
    " foliage gravel shrubbery pasta spinach silverware clothing jewelry pavement asphalt".split()
)
_UNIQUE_NOUNS = frozenset(
    "sky sun moon ground horizon waterfront countryside sea ocean floor background".split()
)


def with_article(name: str) -> str:
    """A name with its article, as a question whether it is there has it.

    >>> [with_article(name) for name in ("umbrella", "unicycle", "hour hand", "scissors")]
    ['an umbrella', 'a unicycle', 'an hour hand', 'a pair of scissors']
    >>> [with_article(name) for name in ("grass", "trees", "sky")]
    ['any grass', 'any trees', 'the sky']
    """
    name = re.sub(r"\btv\b", "TV", name)
    first = name.split()[0]
    last = name.split()[-1]
    if last in _UNIQUE_NOUNS:
        return f"the {name}"
    if last in ("scissors", "pants", "glasses", "shorts", "skis"):
        return f"a pair of {name}"
    if last in _PLURAL_ONLY or last in _MASS or is_plural(name):
        return f"any {name}"
    vowel = (first[0] in "aeiou" and not first.startswith(_CONSONANT_SOUND)) or first.startswith(
        _SILENT_H
    )
    return f"{'an' if vowel else 'a'} {name}"


def is_mass(name: str) -> bool:
    """Whether a name is an uncountable noun, such as water."""
    return name.split()[-1] in _MASS | _UNIQUE_NOUNS


def first_mention(name: str) -> str:
    """A name with the article of a first mention: a new thing has "a" or "some".

    >>> [first_mention(name) for name in ("umbrella", "grass", "trees", "sky")]
    ['an umbrella', 'some grass', 'some trees', 'the sky']
    """
    article, _, noun = with_article(name).partition(" ")
    return f"{'some' if article == 'any' else article} {noun}"


_NO_ACTION = frozenset(
    "raise strike bend hold take get make put carry wear stop park start have be look seem".split()
)
"""Verbs that name no action, or none without a complement."""


@lru_cache(maxsize=4096)
def participle(action: str) -> str:
    """The participle of an action, as it follows "is"; empty where the words name no action.

    >>> [participle(words) for words in ("run", "play ball", "riding a bike", "horseback riding")]
    ['running', 'playing ball', 'riding a bike', 'horseback riding']
    >>> [participle(words) for words in ("open", "uneven", "upside down", "raise", "half-squat")]
    ['', '', '', '', '']
    """
    first, _, complement = action.lower().partition(" ")
    kinds = getAllLemmas(first)
    verb = next(iter(kinds.get("VERB", ())), "")
    if complement.endswith("ing") and not verb:
        return action.lower()
    is_bare_verb = not complement and not {first, verb}.isdisjoint(_NO_ACTION)
    if not verb or is_bare_verb or first in _VAGUE:
        return ""
    if first.endswith("ing") and verb != first:
        return action.lower()
    if verb != first or "ADJ" in kinds:
        return ""
    return f"{next(iter(getInflection(first, 'VBG')))} {complement}".strip()


_VAGUE = frozenset(
    "sensory obvious rare prominent eye-catching simple complex complete incomplete beautiful"
    " good-looking cute spectacular picturesque lively vibrant restless comfortable uncomfortable"
    " delicious loose firm hard fresh neat pristine gentle soft plain vast endless hidden"
    " lower close started starting grounded tight sturdy raw squat peaceful".split()
)
"""Words on which viewers of a picture do not agree."""


@lru_cache(maxsize=4096)
def is_state(words: str) -> bool:
    """Whether words can follow "is" and describe an object's look in the same way for any viewer.

    >>> [is_state(words) for words in ("wet", "deep blue", "damaged", "shaded by trees")]
    [True, True, True, True]
    >>> [is_state(words) for words in ("rolling waves", "2", "sit", "natural wood", "lively")]
    [False, False, False, False, False]
    """
    first = words.split()[0]
    last = words.split()[-1]
    if not _VAGUE.isdisjoint(re.split("[ -]", words)) or last in _MASS or not words[0].isalpha():
        return False
    if re.match(r"\w+ed (?:by|in|with|on|from) ", words):
        return "VERB" in getAllLemmas(first)
    kinds = getAllLemmas(last.rpartition("-")[2])
    return "ADJ" in kinds or ("VERB" in kinds and last.endswith(("ed", "ing")))


@lru_cache(maxsize=4096)
def is_plural(name: str) -> bool:
    """Whether the last word of a name is a plural.

    >>> is_plural("trees"), is_plural("bus"), is_plural("tennis racket")
    (True, False, False)
    """
    last = name.split()[-1]
    return last.endswith("s") and singular(last) != last


def verb_for(name: str) -> str:
    """The verb that a name takes.

    >>> verb_for("dog"), verb_for("trees"), verb_for("scissors"), verb_for("grass")
    ('is', 'are', 'are', 'is')
    """
    if is_plural(name) or name.split()[-1] in _PLURAL_ONLY:
        return "are"
    return "is"


_CLOSED = frozenset(
    "a of the with and at an for from into during three beside against towards four onto among atop"
    " toward beneath but if frisbee teddy skateboarder snowboarder sunglasses cellphone jetliner"
    " trunk reflection countertop tv or amongst upon five six seven eight nine ten".split()
)
"""Words that the dictionary of inflections does not list."""
_PLURAL_NOUNS = frozenset(
    "people men women children sheep cattle couple group there they that which".split()
)


_SLIP = re.compile(
    r"[^\w\s,.'\"-]|\.\S|-[.-]|\bit's\b|\b(?:is|are) \w+ (?:is|are)\b|\b(?:people|men) an? "
    r"|\b(?:two|three|four|five|several|many|\d+) (?:woman|man|child|person|boy|girl)\b",
    re.IGNORECASE,
)


def well_formed(text: str) -> bool:
    """Whether a sentence has none of these slips: an unknown word, a wrong article, a name in two
    parts, a verb that does not agree, a stray sign.

    >>> well_formed("Two dogs are on a couch"), well_formed("The man in the red hat is old")
    (True, True)
    >>> wrong = "A man bursking", "an red car", "a suit case", "The dogs is here", "Bear are in it"
    >>> any(well_formed(text) for text in wrong)
    False
    """
    if _SLIP.search(text):
        return False
    words = re.findall(r"[\w'-]+", text)
    if sum(word.isupper() and len(word) > 1 for word in words) > 1:
        return False
    for before, word in zip(["", *words], words, strict=False):
        article = with_article(word.lower()).partition(" ")[0]
        if before.lower() in ("a", "an") and article in ("a", "an") and article != before.lower():
            return False
        if min(len(before), len(word)) > 2 and "NOUN" in kinds_of(f"{before}{word}".lower()):
            return False  # "a suit case"
        if word == "is" and before in ("people", "men", "women", "children"):
            return False
        if (
            word in ("is", "are")
            and before[:1].isalpha()
            and not _agrees(before.lower(), word, text)
        ):
            return False
    return all(
        kinds_of(word) or word in _CLOSED for word in words if word.islower() and word.isalpha()
    )


def _agrees(noun: str, verb: str, text: str) -> bool:
    if verb == "is":
        return not (is_plural(noun) and "NOUN" in kinds_of(noun) and f"of {noun} is" not in text)
    if is_plural(noun) or noun in _PLURAL_NOUNS or " and " in text or " of " in text:
        return True
    return "NOUN" not in kinds_of(noun)


@lru_cache(maxsize=65536)
def kinds_of(word: str) -> frozenset[str]:
    """The parts of speech that a word can be: NOUN, VERB, ADJ and so on."""
    return frozenset(getAllLemmas(word))


def noun_pairs(text: str) -> list[tuple[str, str]]:
    """Words of a sentence that stand side by side, of which the second can only be a noun.

    >>> noun_pairs("A cat under a ball building"), noun_pairs("An old street sign")
    ([('ball', 'building')], [('street', 'sign')])
    """
    words = re.findall("[a-z']+", text.lower())
    return [
        (a, b)
        for a, b in pairwise(words)
        if len(a) > 3
        and "NOUN" in kinds_of(a)
        and kinds_of(a).isdisjoint(("ADJ", "ADV"))
        and (kinds_of(b) == {"NOUN"} or b in ("building", "sign"))
    ]


@lru_cache(maxsize=4096)
def singular(name: str) -> str:
    """A name with its last word in the singular.

    >>> singular("red buses"), singular("people"), singular("grass")
    ('red bus', 'person', 'grass')
    """
    *first_words, last = name.split()
    if last in _PLURAL_ONLY or last in _MASS or last.endswith(("ss", "us", "is")):
        return name
    lemma = {"people": "person", "women": "woman", "men": "man"}.get(last) or next(
        iter(getLemma(last, "NOUN")), last
    )
    return " ".join([*first_words, lemma])


@lru_cache(maxsize=4096)
def plural(name: str) -> str:
    """A name with its last word in the plural.

    >>> [plural(name) for name in ("bus", "person", "traffic light", "sheep", "scissors")]
    ['buses', 'people', 'traffic lights', 'sheep', 'scissors']
    """
    *first_words, last = name.split()
    fixed = {
        "person": "people",
        "sheep": "sheep",
        "knife": "knives",
        "skis": "pairs of skis",
        "mouse": "mice",
        "sandwich": "sandwiches",
    }
    if last in fixed:
        return " ".join([*first_words, fixed[last]])
    if last in _PLURAL_ONLY or last in _MASS:
        return name
    return " ".join([*first_words, next(iter(getInflection(last, "NNS")), f"{last}s")])
