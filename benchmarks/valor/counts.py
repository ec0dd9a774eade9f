"""Count faithful and covered features of one caption, as the released scorer does and as the paper
defines it.

`generated` is what the extractor took out of a caption, `matched` the matcher's reply, `truth` the
annotation. The official functions repeat the release step by step: filter, clean-up and scorer.
Where the release would stop with an error, they raise one as well (KeyError, TypeError, ...), and
the caller leaves the caption unscored. The paper's functions count a feature as often as it was
generated, accept a match only between a generated and an annotated feature, and use each annotated
feature once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import partial
from itertools import chain, filterfalse
from operator import methodcaller
from typing import Any

PARTS = (
    "object_existence",
    "attribute_object",
    "attribute_people",
    "relation_positional",
    "relation_comparative",
)

_WORDS = frozenset(
    "atmosphere scene sport sports game time trip items scenery foreground background group"
    " backdrop meal day days conversation protection product appliance outdoor activity activities"
    " event events occasion occasions work works job jobs occupation occupations journey design"
    " comfort elegance relaxation grooming center middle top bottom front back one two three four"
    " five six seven eight nine ten space area room cityscape shoreline greenery blue red yellow"
    " orange purple pink white black grey brown colorful color colors colored colours coloured"
    " colour mother father brother sister grandmother grandfather aunt uncle cousin niece nephew"
    " daughter son wife husband friend lover sun sunrays sunray spectator spectators player"
    " audience supporter supporters players sidelines batter catcher umpire shapes sizes access"
    " image picture options side sides adventure parasailing gesture beauty Ben Westminster Thames"
    " context setting moment trick skill enthusiasm place break couple gathering pitch zone"
    " facilities coloration pigments diet appearance environment bokeh portrait photograph format"
    " border positioning posture structure service reflection photography arrangements patterns"
    " shadows beams motion concentration solitude sunlight overpass movement life transportation"
    " nature horizon daylight lighting habitat frame landscape music facade rides shape climate"
    " location neighborhood interior".split()
)
# a comma is missing after "surroundings", which joins it to the next word; phrases are compared
# with words and never match
_LOST = ("surroundings",)
_PHRASES = (
    "left side",
    "right side",
    "top left",
    "top right",
    "bottom left",
    "bottom right",
    "sense of",
)
_VERBS = frozenset(
    "complements complement towards through holding using appears penetrating reads separated"
    " has".split()
)


@dataclass(frozen=True)
class Counts:
    """The counts of one caption."""

    generated: int
    faithful: int
    truth: int
    covered: int
    all_faithful: bool
    all_covered: bool
    covered_alone: int = -1
    """The covered features in the caption's own coverage, where that differs (relation_comparative,
    official).
    """

    @property
    def faithfulness(self) -> float:
        """The caption's own faithfulness; 0 for a caption without features."""
        if self.generated:
            return self.faithful / self.generated
        return 0.0

    @property
    def coverage(self) -> float:
        """The caption's own coverage."""
        top = self.covered if self.covered_alone < 0 else self.covered_alone
        if self.truth:
            return top / self.truth
        return 0.0


def _counts(generated: int, faithful: int, truth: int, covered: int) -> Counts:
    return Counts(generated, faithful, truth, covered, faithful == generated, covered == truth)


# --- what is given to the matcher ---


def prepared(subset: str, extracted: Any, official: bool = True) -> Any:
    """The filtered part of the extractor's reply that is given to the matcher.

    >>> prepared("object_existence", {"objects": ["dog", "blue sky", "surroundings"]})
    ['dog', 'surroundings']
    >>> extracted = {"objects": ["dog", "blue sky", "surroundings"]}
    >>> prepared("object_existence", extracted, official=False)
    ['dog']
    """
    if subset == "object_existence":
        return list(filterfalse(partial(_unwanted, official=official), extracted["objects"]))
    if subset == "relation_positional":
        count_matched = [text for text in extracted["relations"] if _VERBS.isdisjoint(text.split())]
        # the release takes whatever key comes first
        if official:
            return {**extracted, "relations": count_matched}[next(iter(extracted))]
        return count_matched
    if subset == "relation_comparative":
        return extracted
    return extracted["objects" if subset == "attribute_object" else "clothes"]


def _unwanted(words: str, official: bool) -> bool:
    listed = _WORDS if official else _WORDS.union(_LOST)
    # a phrase is filtered if any of its words is: a blue sky is no feature
    is_listed = not listed.isdisjoint(words.split())
    return is_listed or (not official and any(phrase in words for phrase in _PHRASES))


# --- official ---

Wearer = Mapping[str, str]
"""A person as the annotation describes one: the pairs of colour and garment are under `object`."""
Reply = Mapping[str, Any]
"""A matcher's reply as the released scorer takes it: a wrong shape stops it with an error."""


def _pairs(text: str) -> list[str]:
    return list(map(str.strip, text.split("),")))


def _worn(wearers: Iterable[Wearer], split: Callable[[str], list[str]]) -> list[str]:
    """The pairs of colour and garment of all people; a person may be described without any."""
    worn = filter(None, map(methodcaller("get", "object"), wearers))
    return list(chain.from_iterable(map(split, worn)))


def _official_words(truth: Iterable[str], generated: Sized, matched: Reply, key: str) -> Counts:
    hits = list(matched[key].values())
    return _counts(
        len(generated),
        faithful=len(hits) + len(set(matched["broader_concept"].keys())),
        truth=len(set(truth)),
        covered=len(set(hits)),
    )


def _official_objects(
    truth: Mapping[str, str], generated: Mapping[str, str], matched: Reply
) -> Counts:
    left = list(chain.from_iterable(map(_pairs, truth.values())))
    for i in range(0, len(left), 2):
        # only every other piece gets back the bracket that the split took
        if left[i][-1] != ")":
            left[i] += ")"

    def count_matched(mappings: Mapping[str, Mapping[str, str]], broader: bool = False) -> int:
        n = 0
        for mapping in mappings.values():
            first = next(iter(mapping.values()), None)
            if first in left and not (broader and "unspecified" in str(mapping)):
                left.remove(first)
                n += 1
        return n

    hits = count_matched(matched["matched_att_obj"])
    broader = count_matched(matched["broader_concept"], broader=True)
    return _counts(len(generated.values()), hits + broader, len(truth), hits)


def _official_people(
    truth: Mapping[str, Wearer], generated: Mapping[str, Wearer], matched: Reply
) -> Counts:
    # the last pair of every person, which keeps its bracket, is lost
    listed = [f"{piece})" for piece in _worn(truth.values(), _pairs) if piece[-1] != ")"]
    # the released scorer looks at the last character of each, and an empty one is its error
    generated_words = _worn(generated.values(), _pairs)
    if not all(generated_words):
        raise IndexError("a generated pair is empty")
    left = list(listed)

    def count_matched(mappings: Mapping[str, Reply]) -> int:
        n = 0
        for mapping in mappings.values():
            if mapping.get("object") is None:
                continue
            good = 0
            for pair in mapping["object"].values():
                if pair in left:
                    left.remove(pair)
                    good += 1
            # of a person's pairs only the first is counted
            n += good > 0 and mapping.get("person") is not None
        return n

    hits = count_matched(matched["matched_att_obj"])
    return _counts(
        len(generated_words), hits + count_matched(matched["broader_concept"]), len(listed), hits
    )


def longest_rising(ranks: Sequence[int]) -> list[int]:
    """The positions of the first longest strictly rising subsequence.

    >>> longest_rising([4, 5, 7, 1])
    [0, 1, 2]
    """
    best: list[list[int]] = []
    for i, rank in enumerate(ranks):
        before: list[int] = []
        for j in range(i):
            if rank > ranks[j] and len(best[j]) > len(before):
                before = best[j]
        best.append([*before, i])
    return max(best, key=len, default=[])


def _official_ranks(truth: Mapping[str, str], generated: Any, matched: Reply) -> Counts:
    if generated == "":
        return Counts(0, 0, len(set(truth.values())), 0, True, False)
    rank = dict(zip(truth.values(), map(int, truth), strict=True))
    broader = dict(matched["broader_concept"])
    for word, name in list(broader.items()):
        if name not in rank:
            for piece in name.split("/"):
                if piece.strip() in rank:
                    # the release takes the entry out and puts it back at the end
                    broader.pop(word, None)
                    broader[word] = piece.strip()
    broader_ranks = {rank[name] for name in broader.values()}
    # A word that is both broader and matched counts as matched.
    joint = {**broader, **matched["matched_objects"]}
    ranks = [rank[joint[word]] for word in generated.values() if word in joint]
    rising = [ranks[index] for index in longest_rising(ranks)]
    hits = [truth[key] for key in map(str, rising)]
    n_out_of_order = len(broader_ranks - set(rising))
    n = len(generated.values())
    n_true = len(set(truth.values()))
    unique = len(set(hits))
    return Counts(
        n,
        len(hits) - n_out_of_order,
        n_true,
        unique - n_out_of_order,
        len(hits) - n_out_of_order == n,
        unique == n_true,
        unique,
    )


# --- paper ---


def _plain(text: object) -> str:
    return " ".join(str(text).lower().split()).rstrip(".")


def _matches(matched: Mapping[str, object], *keys: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The matcher's two dictionaries, whatever the first is called; anything that is not a
    dictionary counts as empty.
    """
    names = (*keys, "matched_objects")
    first = next((matched[name] for name in names if name in matched), {})
    return _mapping(first), _mapping(matched.get("broader_concept"))


def _mapping(value: object) -> dict[str, Any]:
    """A dictionary of a reply; empty where the reply has anything else in its place."""
    if isinstance(value, dict):
        return value
    return {}


def _plain_matches(
    matched: Mapping[str, object], *keys: str
) -> tuple[dict[str, str], dict[str, str]]:
    first, second = _matches(matched, *keys)
    return _plain_mapping(first), _plain_mapping(second)


def _plain_mapping(mapping: Mapping[str, object]) -> dict[str, str]:
    return dict(zip(map(_plain, mapping), map(_plain, mapping.values()), strict=True))


def _paper_words(
    generated_words: Sequence[object],
    facts: Mapping[str, str],
    matched: Mapping[str, object],
    *keys: str,
) -> Counts:
    """The counts of words or relations; `facts` maps every annotated wording to the feature that it
    names.
    """
    first, second = _plain_matches(matched, *keys)
    words = list(map(_plain, generated_words))
    hits = []
    n_broader = 0
    for word in words:
        if first.get(word) in facts:
            hits.append(facts[first[word]])
        elif second.get(word) in facts:
            n_broader += 1
    return _counts(len(words), len(hits) + n_broader, len(set(facts.values())), len(set(hits)))


def _tuples(text: object) -> list[str]:
    pieces = map(methodcaller("strip", " ()"), str(text).split("),"))
    return list(map(_plain, filter(None, pieces)))


def _plain_tuple(text: object) -> str:
    return _plain(str(text).strip(" ()"))


def _paper_objects(
    truth: Mapping[str, str], generated: Mapping[str, object], matched: Mapping[str, object]
) -> Counts:
    free = {order: set(_tuples(text)) for order, text in truth.items()}
    generated_words = Counter(map(_plain_tuple, generated.values()))

    def count_matched(mappings: Mapping[str, object]) -> int:
        n = 0
        for order, mapping in mappings.items():
            for word, name in _mapping(mapping).items():
                generated_word = _plain_tuple(word)
                true_pairs = _tuples(name)
                # the object in the same place is meant, if it fits
                candidates = [
                    key
                    for key in (str(order), *free)
                    if key in free and free[key].intersection(true_pairs)
                ]
                if candidates and generated_words[generated_word] > 0:
                    free.pop(candidates[0])
                    generated_words[generated_word] -= 1
                    n += 1
        return n

    first, second = _matches(matched, "matched_att_obj")
    hits = count_matched(first)
    return _counts(len(generated), hits + count_matched(second), len(truth), hits)


def _paper_people(
    truth: Mapping[str, Wearer], generated: Mapping[str, object], matched: Mapping[str, object]
) -> Counts:
    # each annotated pair can be matched as often as it is annotated
    free = Counter(_worn(truth.values(), _tuples))
    pairs = _worn(map(_mapping, generated.values()), _tuples)
    generated_words = Counter(pairs)
    n_true = free.total()

    def count_matched(mappings: Mapping[str, object]) -> int:
        n = 0
        for mapping in mappings.values():
            for word, name in _mapping(_mapping(mapping).get("object")).items():
                # A reply may list more pairs on one side: what has no partner is no match.
                for generated_pair, true_pair in zip(_tuples(word), _tuples(name), strict=False):
                    if generated_words[generated_pair] > 0 and free[true_pair] > 0:
                        generated_words[generated_pair] -= 1
                        free[true_pair] -= 1
                        n += 1
        return n

    first, second = _matches(matched, "matched_att_obj")
    hits = count_matched(first)
    return _counts(len(pairs), hits + count_matched(second), n_true, hits)


def _paper_ranks(
    truth: Mapping[str, str], generated: Mapping[str, object], matched: Mapping[str, object]
) -> Counts:
    rank: dict[str | None, int] = {}
    for rank_text, name in truth.items():
        # An entry such as `cup / mug` may be named by either.
        rank |= dict.fromkeys(map(_plain, (name, *name.split("/"))), int(rank_text))
    first, second = _plain_matches(matched)
    ranks = []
    are_exact = []
    for word in map(_plain, generated.values()):
        # a word that is matched counts as such, whatever else it is broader than
        if first.get(word) in rank:
            ranks.append(rank[first[word]])
            are_exact.append(True)
        elif second.get(word) in rank:
            ranks.append(rank[second[word]])
            are_exact.append(False)
    rising = longest_rising(ranks)
    return _counts(
        len(generated),
        len(rising),
        len(truth),
        len({ranks[index] for index in rising if are_exact[index]}),
    )


def count(
    subset: str, truth: Any, generated: Any, matched: Mapping[str, object], official: bool = True
) -> Counts:
    """The counts of one caption.

    >>> found = {"matched_objects": {"dog": "dog"}, "broader_concept": {"animal": "cat"}}
    >>> truth, said = ["dog", "cat", "cat"], ["dog", "dog", "animal", "hat"]
    >>> made = count("object_existence", truth, said, found)
    >>> made.generated, made.faithful, made.truth, made.covered
    (4, 2, 2, 1)
    >>> count("object_existence", truth, said, found, official=False).faithful
    3
    """
    if subset == "object_existence":
        if official:
            return _official_words(truth, generated, matched, "matched_objects")
        words = list(map(_plain, truth))
        return _paper_words(generated, dict(zip(words, words, strict=True)), matched)
    if subset == "relation_positional":
        if official:
            return _official_words(truth, generated, matched, "matched_relations")
        facts: dict[str, str] = {}
        for key, texts in truth.items():
            facts |= dict.fromkeys(map(_plain, texts), key)
        return _paper_words(generated, facts, matched, "matched_relations")
    counters: dict[str, tuple[Callable[..., Counts], Callable[..., Counts]]] = {
        "attribute_object": (_official_objects, _paper_objects),
        "attribute_people": (_official_people, _paper_people),
        "relation_comparative": (_official_ranks, _paper_ranks),
    }
    return counters[subset][0 if official else 1](truth, generated, matched)
