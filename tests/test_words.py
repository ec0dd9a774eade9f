"""Words: nouns, lemmas and likeness against definitions written out, and against spaCy where it is
installed.
"""

import importlib.machinery
import importlib.util
import itertools
import math
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import hqm
from hqm.scoring.words import CONCRETENESS, LIKENESS, NOUNS, Recipe, compose, find_words
from hqm.scoring.words.interfaces import (
    THRESHOLD,
    Embedding,
    VectorLikeness,
    Words,
    cosine,
    shorten_word,
)
from hqm.scoring.words.official import Brysbaert
from hqm.scoring.words.offline import ConcreteByRule, HantaNouns, Synonyms, noun_lemma
from tests.messages import pattern_of


def embed(tokens: list[str], vectors: list[np.ndarray]) -> Embedding:
    """The embedding of a text from the vectors of its tokens, with spaCy's rounding."""
    mean = np.asarray(sum(vectors) / len(vectors), dtype=np.float32)
    squares = (np.float32(value) * np.float32(value) for value in mean)
    return Embedding(tuple(tokens), mean, math.sqrt(sum(map(float, squares))))


RECIPES = {"offline": Recipe("hanta", "synonyms"), "official": Recipe("nltk", "en_core_web_lg")}


# --- nouns and lemmas ---


@pytest.mark.parametrize(
    ("plural", "singular"),
    [
        ("men", "man"),
        ("buses", "bus"),
        ("knives", "knife"),
        ("skis", "ski"),
        ("people", "people"),
        ("geese", "goose"),
        ("scissors", "scissors"),
        ("glasses", "glass"),
        ("mice", "mouse"),
        ("wives", "wife"),
        ("leaves", "leaf"),
        ("cookies", "cookie"),
        ("grass", "grass"),
        ("sheep", "sheep"),
        ("potatoes", "potato"),
        ("TV", "TV"),
        ("Dogs", "Dogs"),
        # a word of more letters than a tagger is given stays as it is
        (f"{'x' * 60}cats", f"{'x' * 60}cat"),
        (f"{'x' * 61}cats", f"{'x' * 61}cats"),
    ],
)
def test_a_noun_is_brought_to_the_singular(plural: str, singular: str) -> None:
    assert noun_lemma(plural) == singular


@pytest.mark.parametrize(
    ("text", "lemmas"),
    [
        ("A man rides a horse next to two dogs.", ["man", "horse", "dog"]),
        ("The light is on. People light candles.", ["light", "People", "candle"]),
        ("The woman's bag lies on the bench", ["woman", "bag", "bench"]),
        ("", []),
        ("!!! ...", []),
        ("It is sunny and quiet.", []),
    ],
)
def test_hanta_finds_the_nouns(text: str, lemmas: list[str]) -> None:
    nouns = HantaNouns()(text)
    assert [noun.lemma for noun in nouns] == lemmas
    assert all(text[noun.start :].startswith(noun.text) for noun in nouns)


def test_nouns_stand_where_they_were_found() -> None:
    nouns = HantaNouns()("Dogs. Two cats!\nA boy's toys in Rome, 3 men.")
    assert [(n.text, n.lemma, n.start, n.proper) for n in nouns] == [
        ("Dogs", "Dogs", 0, False),
        ("cats", "cat", 10, False),
        ("boy", "boy", 18, False),
        ("toys", "toy", 24, False),
        ("Rome", "Rome", 32, True),
        ("men", "man", 40, False),
    ]


@pytest.mark.parametrize(
    ("word", "letters"),
    [("x" * 64, 64), ("x" * 65, 64), ("这张图片里有一只狗", 4), ("这张图", 3), ("12345678", 4)],
)
def test_a_tagger_is_given_so_much_of_a_word(word: str, letters: int) -> None:
    assert shorten_word(word) == word[:letters]


def test_proper_nouns_are_marked() -> None:
    assert {n.text: n.proper for n in HantaNouns()("A statue stands in London.")} == {
        "statue": False,
        "London": True,
    }


@pytest.mark.skipif(
    importlib.util.find_spec("en_core_web_sm") is None,
    reason="spaCy's small model is not installed",
)
def test_hanta_and_spacy_mostly_agree(data: Path) -> None:
    texts = [
        r["generated_caption"]
        for r in hqm.read_records(data / "open_chair" / "example_gen_file.csv")[:300]
    ]
    spacy = NOUNS["en_core_web_sm"]()
    shared = union = 0
    for text in texts:
        ours, theirs = ({n.lemma for n in find(text)} for find in (HantaNouns(), spacy))
        shared, union = shared + len(ours & theirs), union + len(ours | theirs)
    assert shared / union > 0.7


def test_nltks_parts_are_put_together_as_in_the_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a tokeniser, tagger and lemmatiser in the place of NLTK's, whose data cannot be had
    everywhere.
    """
    nltk, stem = types.ModuleType("nltk"), types.ModuleType("nltk.stem")
    tags = {"Dogs": "NNS", "dogs": "NNS", "Paris": "NNP", "run": "VBP", "``": "``", "home": "NN"}
    nltk.__version__ = "0"  # type: ignore[attr-defined]
    nltk.__spec__ = importlib.machinery.ModuleSpec("nltk", None)
    nltk.word_tokenize = lambda text: text.replace('"', " `` ").replace(".", " . ").split()  # type: ignore[attr-defined]
    nltk.pos_tag = lambda words: [(word, tags.get(word, "DT")) for word in words]  # type: ignore[attr-defined]
    stem.WordNetLemmatizer = type(
        "Lemmatizer", (), {"lemmatize": lambda _, w: {"dogs": "dog"}.get(w, w)}
    )  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "nltk", nltk)
    monkeypatch.setitem(sys.modules, "nltk.stem", stem)
    nouns = NOUNS["nltk"]()('Dogs run "home". The dogs of Paris.')
    assert [(n.text, n.lemma, n.start, n.proper) for n in nouns] == [
        ("Dogs", "Dogs", 0, False),
        ("home", "home", 10, False),
        ("dogs", "dog", 21, False),
        ("Paris", "Paris", 29, True),
    ]


# --- likeness ---


def table(seed: int, size: int, dimensions: int) -> dict[str, Embedding]:
    """Words of one or two tokens with vectors, many of whose cosines lie within rounding of the
    threshold.
    """
    rng = np.random.default_rng(seed)
    embeddings: dict[str, Embedding] = {}
    for i in range(size):
        vector = rng.normal(size=dimensions)
        if (
            i % 3 and embeddings
        ):  # a neighbour at the threshold, give or take a few units in the last place
            neighbour = next(iter(embeddings.values())).vector.astype(float)
            orthogonal = vector - neighbour * (vector @ neighbour) / (neighbour @ neighbour)
            unit = neighbour / np.linalg.norm(neighbour)
            angle = np.arccos(THRESHOLD + rng.choice([0, 0, 1e-8, -1e-8, 5e-7, -5e-7, 0.1]))
            vector = np.cos(angle) * unit + np.sin(angle) * orthogonal / np.linalg.norm(orthogonal)
            vector *= rng.uniform(0.5, 20)
        if i % 11 == 10:
            vector = np.zeros(dimensions)
        parts = (
            [vector.astype(np.float32)]
            if i % 5
            else [vector.astype(np.float32), rng.normal(size=dimensions).astype(np.float32)]
        )
        embeddings[f"w{i}"] = embed([f"w{i}"] if i % 7 else ["same"], parts)
    return embeddings


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("dimensions", [3, 50, 300])
def test_the_table_decides_as_the_pairwise_definition(seed: int, dimensions: int) -> None:
    embeddings = table(seed, 60, dimensions)
    words = list(embeddings)
    fast = VectorLikeness("mine", embeddings.__getitem__)
    pairs = [[cosine(embeddings[a], embeddings[b]) > THRESHOLD for b in words] for a in words]
    assert np.array_equal(fast.alike(words, words), np.array(pairs))
    close = [
        abs(cosine(embeddings[a], embeddings[b]) - THRESHOLD) < 1e-6
        for a, b in itertools.combinations(words, 2)
    ]
    assert sum(close) > 5, "the table tries the rounding"


def test_the_table_grows_in_any_order() -> None:
    embeddings = table(7, 50, 20)
    words = list(embeddings)
    one_pass, pieces = (VectorLikeness("mine", embeddings.__getitem__) for _ in range(2))
    rng = np.random.default_rng(0)
    for _ in range(30):
        left, right = (list(rng.choice(words, size=4)) for _ in range(2))
        assert np.array_equal(
            pieces.alike(left, right),
            one_pass.alike(words, words)[
                np.ix_(*([words.index(w) for w in side] for side in (left, right)))
            ],
        )


def test_every_word_is_embedded_once() -> None:
    embeddings, requested = table(1, 20, 10), []
    fast = VectorLikeness("mine", lambda word: requested.append(word) or embeddings[word])  # type: ignore[func-returns-value]
    for _ in range(3):
        fast.alike(list(embeddings), list(embeddings))
    assert sorted(requested) == sorted(embeddings)


def test_nothing_is_like_nothing() -> None:
    assert VectorLikeness("mine", {}.__getitem__).alike([], []).shape == (0, 0)
    assert Synonyms().alike([], ["dog"]).shape == (0, 1)


def test_the_definition_is_spacys() -> None:
    """Bit for bit what spaCy's `Doc.similarity` returns, for one and two tokens, unknown words and
    equal words.
    """
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("en")
    rng = np.random.default_rng(3)
    vectors = {f"w{chr(97 + i)}": rng.normal(size=40).astype(np.float32) for i in range(20)}
    vectors |= {
        f"v{chr(97 + i)}": (v + rng.normal(size=40) * 0.5).astype(np.float32)
        for i, v in enumerate(vectors.values())
    }
    for word, vector in vectors.items():
        nlp.vocab.set_vector(word, vector)
    texts = [*vectors, "wa wb", "wa unknown", "unknown", "other"]

    def embedding(text: str) -> Embedding:
        tokens = text.split()
        return embed(
            tokens, [vectors.get(token, np.zeros(40, dtype=np.float32)) for token in tokens]
        )

    cosines = [cosine(embedding(a), embedding(b)) for a in texts for b in texts]
    assert cosines == [float(nlp(a).similarity(nlp(b))) for a in texts for b in texts]
    decided = VectorLikeness("mine", embedding).alike(texts, texts)
    assert decided.ravel().tolist() == [value > THRESHOLD for value in cosines]


def test_synonyms_are_one_thing_and_neighbours_are_not() -> None:
    alike = Synonyms().alike
    assert (
        alike(["sofa", "TV", "bike", "dog"], ["couch", "television", "bicycle", "dog"])
        .diagonal()
        .all()
    )
    assert (
        not alike(["cat", "man", "cup", "puppy"], ["dog", "woman", "glass", "dog"]).diagonal().any()
    )
    from hqm.scoring.words import offline

    rows = offline._SYNONYMS
    assert sum(map(len, rows)) == len({word for row in rows for word in row}), (
        "no word stands in two rows"
    )


# --- concreteness ---


def test_the_rule_keeps_objects_and_drops_what_cannot_be_touched() -> None:
    rule = ConcreteByRule()
    for word in (
        "dog building ring station monument bus lioness television path mouth cloth ox DOG".split()
    ):
        assert rule(word), word
    for (
        word
    ) in "happiness motion background group front celebration hour 3 x unity Hour 3d".split():
        assert not rule(word), word


@pytest.mark.parametrize(
    ("name", "mark"), [("Concreteness_ratings.csv", ","), ("concreteness.txt", "\t")]
)
def test_the_published_table_is_read_as_it_circulates(tmp_path: Path, name: str, mark: str) -> None:
    rows = [
        ("Word", "Bigram", "Conc.M"),
        ("dog", "0", "4.85"),
        ("idea", "0", "1.61"),
        ("edge", "0", "4.5"),
    ]
    (tmp_path / name).write_text("".join(mark.join(row) + "\n" for row in rows))
    concrete = Brysbaert(tmp_path)
    assert [concrete(word) for word in ("dog", "idea", "edge", "koala")] == [
        True,
        False,
        False,
        False,
    ]


def test_the_heading_says_what_stands_between_the_columns(tmp_path: Path) -> None:
    (tmp_path / "concreteness.csv").write_text("Word,Conc.M\nhot\tdog,4.9\n")
    assert Brysbaert(tmp_path)("hot\tdog")


def test_a_table_without_ratings_is_refused(tmp_path: Path) -> None:
    (tmp_path / "concreteness.csv").write_text("Word,Rating\ndog,5\n")
    with pytest.raises(hqm.DataError, match=r"Conc\.M"):
        Brysbaert(tmp_path)


# --- the choice of parts ---


def test_a_choice_of_parts() -> None:
    assert compose(None, RECIPES, "x") == RECIPES["offline"]
    assert compose("official", RECIPES, "x") == RECIPES["official"]
    assert compose("likeness=en_core_web_md", RECIPES, "x") == Recipe("hanta", "en_core_web_md")
    assert compose("official,nouns=hanta", RECIPES, "x") == Recipe("hanta", "en_core_web_lg")


@pytest.mark.parametrize(
    ("choice", "sentence"),
    [
        ("best", "no words 'best'.*offline or official"),
        (
            "nouns=treetagger",
            pattern_of("words.no-part", part="nouns", choice="treetagger") + ".*hanta, nltk",
        ),
        ("concreteness=rule", "no 'concreteness' component.*nouns, likeness"),
        ("nouns=hanta,official", "no words 'official'"),
    ],
)
def test_a_wrong_choice_says_what_there_is(choice: str, sentence: str) -> None:
    with pytest.raises(hqm.UsageError, match=sentence):
        compose(choice, RECIPES, "amber_g")


def test_a_benchmark_that_asks_nothing_about_words_takes_no_choice() -> None:
    with pytest.raises(hqm.UsageError, match="asks nothing about words"):
        hqm.load("shapes_yesno", words="official")


@pytest.mark.parametrize(
    ("make", "needs", "sentence"),
    [
        (NOUNS["nltk"], "nltk", pattern_of("words.nltk")),
        (NOUNS["en_core_web_sm"], "spacy", "python -m spacy download en_core_web_sm"),
        (LIKENESS["en_core_web_lg"], "spacy", "python -m spacy download en_core_web_lg"),
        (
            lambda: CONCRETENESS["brysbaert"](None),
            "",
            "Concreteness_ratings_Brysbaert_et_al_BRM.xlsx",
        ),
    ],
)
def test_a_part_that_is_not_there_says_how_to_get_it(make, needs: str, sentence: str) -> None:  # type: ignore[no-untyped-def]
    if needs and importlib.util.find_spec(needs) is not None:
        pytest.skip(f"{needs} is installed")
    with pytest.raises(hqm.DataError, match=sentence):
        make()


def test_a_recipe_names_its_parts() -> None:
    assert Recipe().label == ""
    assert Recipe(concreteness="rule").label == "concreteness=rule"
    recipe = Recipe("hanta", "synonyms", "rule")
    assert recipe.label == "nouns=hanta,likeness=synonyms,concreteness=rule"
    assert Words(Recipe()).label == ""
    words = find_words(Recipe(likeness="synonyms", concreteness="rule"))
    assert words.label == "likeness=synonyms-1,concreteness=rule-1"
    assert words.nouns is None
    assert compose(None, {}, "x") == Recipe()
    # a name of a whole recipe comes first, and parts may have spaces beside them
    assert compose("official, likeness=synonyms", RECIPES, "x") == Recipe("nltk", "synonyms")
    assert compose("", RECIPES, "x") == RECIPES["offline"]


def test_parts_are_loaded_once_and_named_with_their_versions() -> None:
    words = find_words(RECIPES["offline"])
    assert words is find_words(Recipe("hanta", "synonyms"))
    assert words.label.startswith("nouns=hanta-")
    assert words.label.endswith("likeness=synonyms-1")
    assert words.concreteness is None


def test_the_parts_stand_in_the_signature(data: Path, tmp_path: Path) -> None:
    from hqm.auditing.one_file import score_file

    (tmp_path / "a.json").write_text('[{"id": 1, "response": "A dog."}]')
    signature = score_file(hqm.load("amber_g", data=data), tmp_path / "a.json").signature
    assert "scorer:official:1(nouns=hanta-" in signature
    assert "likeness=synonyms-1)" in signature
