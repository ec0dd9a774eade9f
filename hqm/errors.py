"""The errors HQM raises: one tree, each sentence naming the thing, the place and the remedy.

    HQMError
    ├── AdapterError       a benchmark's own code that fails where it should not
    ├── CardError          a card.toml that cannot be used
    ├── DataError          a benchmark's file is missing, broken or not what its card says
    │   ├── AnswerError    a file of recorded answers or labels cannot be read against the benchmark
    │   ├── FieldError     a field of an item is misspelt, or holds what no question can be made of
    │   └── ImageError     a picture is missing, broken or outside its folder
    ├── DesignError        what cannot be compared, or an audit that asks the impossible
    ├── NoReply            a judge that gave no reply to one question
    ├── NoRule             a question that no rewriting rule fits; it has no parallel form
    ├── RespondentError    a respondent that cannot be loaded, reached or understood
    ├── StoreError         a store that cannot be read or written
    ├── UnreadableReply    a judge's reply that cannot be read
    └── UsageError         a name or an option that HQM does not know

The command line prints them without a traceback and exits with status 2 for `UsageError` and 1 for
the others.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple


class HQMError(Exception):
    """The base of every error that HQM raises on purpose.

    Parameters
    ----------
    message
        The sentence: which thing is wrong, and how.
    location
        Where it stands: a file, a line, a card key.
    remedy
        What to do about it.
    name, choices
        A name that HQM does not know, and the names that it knows: where one of them is near, the
        remedy begins with it.

    Examples
    --------
    >>> print(HQMError("'txt' is no field", location="pope.jsonl:3", remedy="Rename it to 'text'."))
    pope.jsonl:3: 'txt' is no field. Rename it to 'text'.
    >>> print(HQMError("there is no parser 'stict'", name="stict", choices=("pope", "strict")))
    there is no parser 'stict'. Did you mean 'strict'?
    """

    def __init__(
        self,
        message: str,
        *,
        location: str = "",
        remedy: str = "",
        name: str = "",
        choices: Iterable[str] = (),
        **renamed: object,
    ) -> None:
        # Keywords of 0.2.0, which packages of other authors may still use.
        location = _deprecated(renamed, "place", "location", location)
        name = _deprecated(renamed, "given", "name", name)
        choices = _deprecated(renamed, "known", "choices", choices)
        if renamed:
            raise TypeError(f"{type(self).__name__} has no parameter {min(renamed)!r}")
        remedy = f"{meant(name, choices)} {remedy}".strip()
        self.message = message
        self.location = location
        self.remedy = remedy
        sentence = f"{location}: {message}" if location else message
        # A question that is asked back keeps its mark.
        stop = "" if sentence.endswith("?") else "."
        super().__init__(f"{sentence.rstrip('.')}{stop} {remedy}" if remedy else sentence)

    @property
    def what(self) -> str:
        """Deprecated name of `message`."""
        _warn_renamed("what", "message", stacklevel=3)
        return self.message

    @property
    def place(self) -> str:
        """Deprecated name of `location`."""
        _warn_renamed("place", "location", stacklevel=3)
        return self.location


def _warn_renamed(old: str, new: str, stacklevel: int) -> None:
    text = f"{old!r} of HQM's errors is called {new!r} since 0.3.0; the old name goes in 0.4.0"
    warnings.warn(text, DeprecationWarning, stacklevel=stacklevel)


def _deprecated(keywords: dict[str, Any], old: str, new: str, value: object) -> Any:
    """The value of a keyword, taken from its deprecated name where a caller still uses that."""
    if old not in keywords:
        return value
    # the caller stands two calls above this one: behind the __init__ of the error
    _warn_renamed(old, new, stacklevel=4)
    return keywords.pop(old)


def meant(unknown_name: str, names: Iterable[str]) -> str:
    """A question that names the nearest of the known names; nothing where none is near.

    >>> meant("POPE", ("amber", "pope")), meant("planets", ("amber", "pope"))
    ("Did you mean 'pope'?", '')
    """
    names_by_plain = {_plain(name): name for name in names}
    near_names = get_close_matches(_plain(unknown_name), names_by_plain, 1, _MIN_SIMILARITY)
    if near_names:
        return f"Did you mean {names_by_plain[near_names[0]]!r}?"
    return ""


_MIN_SIMILARITY = 0.65
"""How alike two names must be for one to be taken for a slip in writing the other."""


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")


class AdapterError(HQMError):
    """A benchmark's own code that fails where it should not."""


class CardError(HQMError):
    """A card.toml that cannot be used."""


class DataError(HQMError):
    """A benchmark's file is missing, broken, or not what its card says."""


class AnswerError(DataError):
    """A file of recorded answers or labels cannot be read against the benchmark."""


class FieldError(DataError):
    """A field of an item that is misspelt, or that holds what no question can be made of."""


class ImageError(DataError):
    """A picture is missing, broken, or outside its folder."""


class DesignError(HQMError):
    """Administrations that cannot be compared, or an audit that asks the impossible."""


class NoReply(HQMError):  # noqa: N818  it says what is missing
    """A judge's model gave no reply to one question; the answer in question stays unscored."""


class NoRule(HQMError):  # noqa: N818  it says what is missing
    """A question that no rewriting rule fits; it stays out of the parallel form and is listed."""

    def __init__(self, prompt: str, reason: str) -> None:
        self.prompt = prompt
        self.reason = reason
        super().__init__(f"{prompt!r} has no parallel form: {reason}")


class RespondentError(HQMError):
    """A respondent that cannot be loaded, reached or understood."""


class StoreError(HQMError):
    """A store that cannot be read or written."""


class UnreadableReply(HQMError):  # noqa: N818  it says what cannot be read
    """A judge's reply that cannot be read; the answer in question stays unscored."""


class UsageError(HQMError):
    """A name or an option that HQM does not know."""


class MissingLibrary(NamedTuple):
    """What is said where a library of an extra is not installed."""

    message: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.message}. {self.remedy}"


def missing_library(subject: str, libraries: Sequence[str], extra: str) -> MissingLibrary:
    """Say what needs which libraries, and which extra brings them.

    >>> print(missing_library("figures", ["matplotlib"], "figures"))
    figures need matplotlib, which is not installed. Run: pip install 'hqm-audit[figures]'.
    """
    verb = "is" if len(libraries) == 1 else "are"
    return MissingLibrary(
        f"{subject} need {' and '.join(libraries)}, which {verb} not installed",
        f"Run: pip install 'hqm-audit[{extra}]'.",
    )


def check_known(name: str, names: Collection[str], message: str, remedy: str = "") -> None:
    """Refuse a name that is not among the known ones; the sentence ends in them.

    >>> check_known("ray2", ("local", "ray"), "there is no engine 'ray2'", "Take {}.")
    Traceback (most recent call last):
    hqm.errors.UsageError: there is no engine 'ray2'. Did you mean 'ray'? Take local, ray.
    """
    if name not in names:
        raise UsageError(message, remedy=remedy.format(", ".join(names)), name=name, choices=names)
