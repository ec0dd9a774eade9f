"""What HQM says, by code: other tests ask for a code and its details, never for a sentence.

The sentences stand in messages.toml, each once and whole. A field in braces is what a sentence
takes from the case: a name, a number, a place.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

CATALOGUE = Path(__file__).with_suffix(".toml")
MESSAGES: dict[str, str] = {
    f"{topic}.{name}": text
    for topic, rows in tomllib.loads(CATALOGUE.read_text(encoding="utf-8")).items()
    for name, text in rows.items()
}
_FIELD = re.compile(r"\{(\w+)\}")
_ANY = r"(?s:.{0,400}?)"


def fields_of(code: str) -> list[str]:
    """The names of what the sentence takes from the case."""
    return _FIELD.findall(MESSAGES[code])


def text_of(code: str, **details: Any) -> str:
    """The whole sentence of a code; every field must be given."""
    _check(code, details)
    return _FIELD.sub(lambda field: str(details[field[1]]), MESSAGES[code])


def pattern_of(code: str, **details: Any) -> str:
    """A regular expression of the whole sentence.

    A field that is not given may be anything; one may be given as a regular expression. Where the
    sentence has a space, a line may be broken.
    """
    _check(code, details)
    pattern = ""
    for index, piece in enumerate(_FIELD.split(MESSAGES[code])):
        if index % 2 == 0:
            pattern += _broken(piece)
        elif piece not in details:
            pattern += _ANY
        elif isinstance(detail := details[piece], re.Pattern):
            pattern += f"(?:{detail.pattern})"
        elif isinstance(detail, int):
            pattern += rf"(?<!\w){detail}(?!\w)"
        else:
            pattern += _broken(str(detail))
    return pattern


def tells(text: str, code: str, **details: Any) -> bool:
    """Whether a text holds the sentence of a code, with these details."""
    return re.search(pattern_of(code, **details), text) is not None


def _broken(text: str) -> str:
    return r"\s+".join(re.escape(word) for word in re.split(r"\s+", text))


def _check(code: str, details: dict[str, Any]) -> None:
    unknown = set(details) - set(fields_of(code))
    assert not unknown, f"the message {code} has no field {unknown}"
