"""The components that the releases use: NLTK, spaCy's models and the published table of
concreteness.

HQM may ship none of their data. A component is used when it is installed; otherwise an error says
in one sentence how to get it.
"""

from __future__ import annotations

import csv
import importlib
import importlib.util
import io
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from hqm.errors import DataError
from hqm.files.records import read_text
from hqm.scoring.words.interfaces import Embedding, Noun, VectorLikeness

CONCRETE_ABOVE = 4.5
"""A mean rating above this counts as concrete (of 1 to 5)."""


def _spacy(model: str) -> Any:
    """A spaCy model, loaded."""
    if importlib.util.find_spec("spacy") is None:
        raise DataError(
            f"the words {model!r} need spaCy, which is not installed",
            remedy=f"Run: pip install spacy && python -m spacy download {model}",
        )
    import spacy

    try:
        return spacy.load(model)
    except OSError:
        raise DataError(
            f"spaCy's model {model!r} is not installed",
            remedy=f"Run: python -m spacy download {model}",
        ) from None


def _versioned(meta: Mapping[str, object], model: str) -> str:
    return f"{model}-{meta.get('version', '?')}"


class NltkNouns:
    """Nouns by NLTK's tagger (tags NN, NNS, NNP, NNPS), lemmas by its WordNet lemmatiser, as
    AMBER's release has them.

    Nothing is converted to lower case, so "Dogs" at the start of a sentence stays a plural.

    Raises
    ------
    DataError
        NLTK or its data are not installed.
    """

    def __init__(self) -> None:
        command = (
            "pip install nltk && python -m nltk.downloader punkt_tab averaged_perceptron_tagger_eng"
            " wordnet"
        )
        if importlib.util.find_spec("nltk") is None:
            raise DataError(
                "the words 'nltk' need NLTK, which is not installed", remedy=f"Run: {command}"
            )
        self._nltk = importlib.import_module("nltk")
        stem = importlib.import_module("nltk.stem")
        self._lemmatizer = stem.WordNetLemmatizer()
        self.name = f"nltk-{self._nltk.__version__}"
        try:
            self("A dog.")
        except LookupError:
            raise DataError(
                "NLTK's tagger, tokeniser or WordNet is not installed", remedy=f"Run: {command}"
            ) from None

    def __call__(self, text: str) -> list[Noun]:
        """The nouns of a text."""
        nouns = []
        end = 0
        for word, tag in self._nltk.pos_tag(self._nltk.word_tokenize(text)):
            start = text.find(word, end)
            if start >= 0:  # quotation marks come back in another shape and are found nowhere
                end = start + len(word)
            if tag.startswith("NN"):
                lemma = self._lemmatizer.lemmatize(word)
                nouns.append(Noun(word, lemma, end - len(word), tag.startswith("NNP")))
        return nouns


class SpacyNouns:
    """Nouns and lemmas by a spaCy model, as OpenCHAIR's release has them.

    Raises
    ------
    DataError
        spaCy or the model is not installed.
    """

    def __init__(self, model: str) -> None:
        self._nlp = _spacy(model)
        self.name = _versioned(self._nlp.meta, model)

    def __call__(self, text: str) -> list[Noun]:
        """The nouns of a text."""
        return [
            Noun(token.text, token.lemma_, token.idx, token.pos_ == "PROPN")
            for token in self._nlp(text)
            if token.pos_ in ("NOUN", "PROPN")
        ]


def spacy_vectors(model: str) -> VectorLikeness:
    """Likeness by the vectors of a spaCy model.

    Raises
    ------
    DataError
        spaCy or the model is not installed, or the model has no vectors.
    """
    nlp = _spacy(model)
    if not nlp.vocab.vectors.n_keys:
        raise DataError(
            f"spaCy's model {model!r} has no word vectors",
            remedy="Take en_core_web_md or en_core_web_lg.",
        )

    def embedding(word: str) -> Embedding:
        # a vector needs only the tokeniser, not the tagger and parser that nlp(word) would run
        doc = nlp.make_doc(word)
        return Embedding(tuple(token.text for token in doc), doc.vector, float(doc.vector_norm))

    return VectorLikeness(_versioned(nlp.meta, model), embedding)


class Brysbaert:
    """Concreteness by the ratings of Brysbaert, Warriner and Kuperman 2014 (doi
    10.3758/s13428-013-0403-5).

    A word that is not in the table counts as not concrete, as in OpenCHAIR's release.

    Parameters
    ----------
    folder
        The folder of the table, which is any `.xlsx`, `.csv` or `.txt` whose name contains
        "concreteness".

    Raises
    ------
    DataError
        The table is not there, or has no columns `Word` and `Conc.M`.
    """

    def __init__(self, folder: Path | None) -> None:
        self._ratings = _ratings(_table(folder))
        self.name = "brysbaert-2014"

    def __call__(self, lemma: str) -> bool:
        """Whether the mean rating is above 4.5."""
        return self._ratings.get(lemma, 0.0) > CONCRETE_ABOVE


def _table(folder: Path | None) -> Path:
    if folder is not None and folder.is_dir():
        files = sorted(folder.glob("*"))
    else:
        files = []
    fitting = [
        file
        for file in files
        if "concreteness" in file.name.lower() and file.suffix in (".csv", ".txt", ".xlsx")
    ]
    if not fitting:
        raise DataError(
            "the table of concreteness is not there",
            location=str(folder) if folder else "",
            remedy=(
                "Put Concreteness_ratings_Brysbaert_et_al_BRM.xlsx (the paper's supplement) into"
                " the folder 'words' of the data root."
            ),
        )
    return fitting[0]


@lru_cache(maxsize=2)
def _ratings(path: Path) -> Mapping[str, float]:
    rows = _excel(path) if path.suffix == ".xlsx" else _delimited(path)
    if not rows or "Word" not in rows[0] or "Conc.M" not in rows[0]:
        raise DataError(
            "it has no columns 'Word' and 'Conc.M'",
            location=str(path),
            remedy="Take the published table.",
        )
    return {str(row["Word"]): float(row["Conc.M"]) for row in rows}


def _delimited(path: Path) -> list[dict[str, str]]:
    text = read_text(path)
    mark = "\t" if "\t" in text.partition("\n")[0] else ","
    return list(csv.DictReader(io.StringIO(text), delimiter=mark))


def _excel(path: Path) -> list[dict[str, str]]:
    import pandas as pd

    try:
        frame = pd.read_excel(path)
    except ImportError:
        raise DataError(
            "reading a table in Excel's format needs openpyxl",
            location=str(path),
            remedy="Run: pip install openpyxl, or save the table as .csv beside it.",
        ) from None
    rows = []
    for row in frame.to_dict("records"):
        cells = map(str, row.values())
        rows.append(dict(zip(map(str, row), cells, strict=True)))
    return rows
