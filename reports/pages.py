"""What all pages share: their templates, their scripts, and the terms that are explained where they
first appear.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from hqm.reports.phrases import TERMS
from hqm.reports.tables import short

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup

_TEMPLATES = Path(__file__).parent / "templates"
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*(?: (?:[A-Z]+|[0-9]+)\b)?")


@cache
def environment(style: str = "evidence.css") -> jinja2.Environment:
    """The templates of all pages, compiled once however many are written."""
    import jinja2
    from markupsafe import Markup

    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["options"] = _unbroken
    made.filters["short"] = short

    @jinja2.pass_context
    def explained(context: jinja2.runtime.Context, text: str) -> Markup:
        return Markup(context["terms_met"].explain(text))  # escaped there

    made.filters["terms"] = explained
    # our own file, no data in it
    made.globals["style"] = Markup((_TEMPLATES / style).read_text(encoding="utf-8"))
    return made


@dataclass(frozen=True, slots=True)
class Script:
    """A script of ours, and the hash by which alone a page lets it run."""

    text: Markup
    hash: str


def script(name: str) -> Script:
    """A script among the templates."""
    from markupsafe import Markup

    text = (_TEMPLATES / name).read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
    return Script(Markup(text), digest)  # our own file, no data in it


def _unbroken(text: str) -> Markup:
    """Text for the page whose options of the command line (`--criterion FILE`) stay on one line."""
    from markupsafe import Markup, escape

    # escaped first
    return Markup(_OPTION.sub(r'<span class="option">\g<0></span>', str(escape(text))))


class Terms:
    """Remembers which terms a page has explained so far, from its top."""

    def __init__(self) -> None:
        self._met: set[str] = set()

    def explain(self, text: str) -> str:
        """A text with every term that appears for the first time marked with its meaning.

        >>> terms = Terms()
        >>> "<dfn" in terms.explain("its noise floor"), "<dfn" in terms.explain("its noise floor")
        (True, False)
        """
        from markupsafe import escape

        out, rest = "", text
        while place := self._first(rest):
            found_at, term = place
            self._met.add(term)
            meaning = escape(f"{term}: {TERMS[term][1]}.")
            word = escape(found_at[0])
            out += f'{escape(rest[: found_at.start()])}<dfn tabindex="0" data-means="{meaning}">{word}</dfn>'
            rest = rest[found_at.end() :]
        return f"{out}{escape(rest)}"

    def _first(self, text: str) -> tuple[re.Match[str], str] | None:
        hits = [
            (match, term)
            for term, (pattern, _) in TERMS.items()
            if term not in self._met and (match := re.search(rf"(?<![\w,-])(?:{pattern})\w*", text))
        ]
        return min(hits, key=lambda hit: hit[0].start(), default=None)
