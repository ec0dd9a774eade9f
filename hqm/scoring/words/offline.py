"""The components that need nothing but installed packages.

They answer the same questions as the official ones, but not always in the same way, so every
signature names them. The tagger is not the one of the releases, so a few words are nouns for one
and not for the other; `synonyms` has no vectors, so it excuses fewer words than a cosine above 0.8
does; `rule` is not based on ratings by people.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import version

import numpy as np
import numpy.typing as npt

from hqm.scoring.words.interfaces import MAX_WORD_LETTERS, Noun, english_tagger, shorten_word

_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*|[^\w\s]")
# "the dog's tail" has a dog; a tagger trained on CLAWS texts expects the 's apart
_GENITIVE = re.compile(r"['’](?:s|S)$")
_NOUN_TAGS = frozenset({"NN0", "NN1", "NN2", "NP0", "UNC"})


@lru_cache(maxsize=65536)
def noun_lemma(word: str) -> str:
    """The singular of a noun; like WordNet's lemmatiser, it leaves a word with a capital letter as
    it is.

    Of several lemmas the first counts, but for a word in -ves the one in -f: "leaves" comes from
    leaf, not from leave.

    >>> [noun_lemma(word) for word in ("knives", "leaves", "glasses", "TVs", "cookies")]
    ['knife', 'leaf', 'glass', 'TVs', 'cookie']
    """
    from lemminflect import getLemma

    if word != word.lower() or len(word) > MAX_WORD_LETTERS:
        return word
    lemmas = getLemma(word, "NOUN") or (word,)
    if word.endswith("ves"):
        return next((lemma for lemma in lemmas if lemma.endswith("f")), str(lemmas[0]))
    return str(lemmas[0])


def _lemma(word: str, tag: str) -> str:
    # lemminflect guesses a singular even of a singular that it does not know ("pepperoni")
    return word if tag == "NN1" and not word.endswith("s") else noun_lemma(word)


class HantaNouns:
    """Nouns by HanTa's English tagger (pure Python, with the model inside the package), lemmas by
    lemminflect.

    >>> [noun.lemma for noun in HantaNouns()("Two dogs sit near the woman's chairs.")]
    ['dog', 'woman', 'chair']
    """

    def __init__(self) -> None:
        self.name = f"hanta-{version('HanTa')}+lemminflect-{version('lemminflect')}"

    def __call__(self, text: str) -> list[Noun]:
        """The nouns of a text, sentence by sentence."""
        nouns = []
        for sentence in _SENTENCE.finditer(text):
            matches = list(_WORD.finditer(text, sentence.start(), sentence.end()))
            words = [_GENITIVE.sub("", match[0]) for match in matches]
            if words:
                tags = english_tagger().tag_sent(list(map(shorten_word, words)), taglevel=0)
            else:
                tags = []
            for word, match, tag in zip(words, matches, tags, strict=True):
                if tag in _NOUN_TAGS and word[0].isalpha():
                    nouns.append(Noun(word, _lemma(word, tag), match.start(), tag == "NP0"))
        return nouns


# Each row is one thing: words that may replace one another in a caption of any picture. Kinds
# ("puppy") are left out, because a picture with a dog need not show a puppy.
_SYNONYMS = tuple(
    frozenset(row.split("|"))
    for row in """airplane|plane|aeroplane|aircraft
automobile|car
backpack|rucksack
ball cap|baseball cap
bicycle|bike
billboard|hoarding
cab|taxi
carpet|rug
cellphone|cell phone|mobile phone|smartphone|phone
child|kid
chopstick|chopsticks
cinema|movie theater
couch|sofa
cow|cattle
donut|doughnut
earphone|headphone|headphones
elevator|lift
eyeglass|glasses|spectacles|eyeglasses
faucet|tap
fridge|refrigerator
garbage can|trash can|dustbin|trashcan
gray|grey
hamburger|burger
hill|hillside
home|house
laptop|notebook computer
lawn|grass
lorry|truck
motorbike|motorcycle
mountain|mount
ocean|sea
pants|trousers
path|pathway|footpath
pavement|sidewalk
people|person
photo|photograph|picture
puddle|pool of water
road|street|roadway
rock|stone
seashore|shore|seaside
ship|vessel
shrub|bush
sneaker|trainer
socket|outlet
stove|cooker
sunglass|sunglasses
television|tv|TV
traffic light|stoplight|traffic signal
umbrella|parasol
wharf|pier|dock
yacht|sailboat""".split("\n")
)


class Synonyms:
    """Two words are alike when they are the same word or stand in the same row of our table of
    synonyms.

    This does not replace word vectors, which no installed package brings: related things ("cat" and
    "dog") are never alike here, whatever the cosine of their vectors.

    >>> Synonyms().alike(["sofa", "cat"], ["couch", "dog", "cat"])
    array([[ True, False, False],
           [False, False,  True]])
    """

    name = "synonyms-1"

    def __init__(self) -> None:
        self._rows = {word: i for i, row in enumerate(_SYNONYMS) for word in row}

    def alike(self, words: Sequence[str], candidates: Sequence[str]) -> npt.NDArray[np.bool_]:
        """(words, candidates): whether the two words of each pair name the same thing."""
        candidate_keys = [self._rows.get(word, word) for word in candidates]
        is_alike = np.zeros((len(words), len(candidates)), dtype=bool)
        for i, word in enumerate(words):
            key = self._rows.get(word, word)
            is_alike[i] = [key == candidate for candidate in candidate_keys]
        return is_alike


_ABSTRACT_ENDINGS = tuple(
    "ness ity ment tion sion ism hood ance ence ancy ency dom tude ology ing ship".split()
)
# what these endings catch though it can be touched
_CONCRETE_EXCEPTIONS = frozenset(
    (
        "ambulance apartment audience awning basement battleship building cardigan ceiling city"
        " clothing compartment crossing cushion document duckling earring electricity equipment"
        " fence frosting furnishing garment icing instrument king legging lightning lioness lotion"
        " medallion monument ornament painting pavement pudding railing ring ship sibling sling"
        " spaceship station steamship stocking string stuffing swing television topping tournament"
        " township university vegetation wedding wing"
    ).split()
)
# nouns of captions that name no object: places in the picture, amounts, times, what is felt or done
_ABSTRACT = frozenset(
    (
        "air amount angle area art atmosphere attention autumn back background beauty birth body"
        " bottom business care center centre class collection color colour concept corner couple"
        " course darkness date dawn day daylight daytime death depth design detail direction"
        " display dozen dusk edge effect end energy event evening experience expression fact fall"
        " fashion feature focus foreground form front fun game group growth half handful health"
        " height hour idea inside interest item job journey kind layout length life lifestyle"
        " location look lot love manner meal message middle midday mind mode month mood morning"
        " motion myth name nature night noise noon number object order outdoors outside pair part"
        " pattern peace performance period perspective piece place play point pose position"
        " practice process product purpose range rest result row scene scenery season sense series"
        " service set shade shape show side sight size skill sort sound space species speed sport"
        " spring state strength style subject summer sunrise sunset surface surroundings theme"
        " thing time top touch tour tradition travel trip truth type use variety vibe view warmth"
        " way wealth weather week weekend width winter work world year youth"
    ).split()
)


class ConcreteByRule:
    """A noun is concrete unless its ending or a list says otherwise.

    The endings are those that make nouns of qualities and actions (-ness, -ity, -tion, -ing, ...);
    we wrote the lists for captions. The rule is not based on ratings by people, and it also decides
    on words that the published table lacks.

    >>> concrete = ConcreteByRule()
    >>> [word for word in "dog happiness building background motion bus".split() if concrete(word)]
    ['dog', 'building', 'bus']
    """

    name = "rule-1"

    def __call__(self, lemma: str) -> bool:
        """Whether the noun counts as the name of an object."""
        word = lemma.lower()
        if word in _CONCRETE_EXCEPTIONS:
            return True
        if word in _ABSTRACT or not word.isalpha() or len(word) < 2:
            return False
        return not (len(word) > 4 and word.endswith(_ABSTRACT_ENDINGS))
