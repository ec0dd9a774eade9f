"""Answers as they would be read aloud: without reasoning between tags, JSON, LaTeX and Markdown.

What stands in a box or between tags of an answer, and what is bold, is marked, for
`hqm.scoring.commitments` looks there first.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from types import MappingProxyType

# reasoning between tags names options that the answer then rejects
_THINKING = re.compile(
    r"<(think|thinking|thought|reasoning|analysis|scratchpad|reflection)>.*?</\1>"
    r"|◁think▷.*?◁/think▷|<\|begin_of_thought\|>.*?<\|end_of_thought\|>"
    r"|<\|channel\|>(?:analysis|commentary)\b.*?<\|channel\|>final",
    re.DOTALL | re.IGNORECASE,
)
# some servers send the reasoning without its opening tag
_THINKING_END = re.compile(r"^.*(?:</(?:think|thinking|thought|reasoning)>|◁/think▷)", re.DOTALL)
# an answer that was cut while it was reasoning has no closing tag, and says nothing
_THINKING_START = re.compile(
    r"(?:<(?:think|thinking|thought|reasoning)>|◁think▷|<\|begin_of_thought\|>"
    r"|<\|channel\|>analysis).*",
    re.DOTALL,
)
# a tag around an answer counts as a box does
_TAGGED = re.compile(
    r"<(answer|final_answer|conclusion|solution)>(.*?)(?:</\1>|$)"
    r"|<\|begin_of_box\|>(.*?)(?:<\|end_of_box\|>|$)",
    re.DOTALL | re.IGNORECASE,
)
_TAG = re.compile(r"</?s>|<\|[\w ]{1,40}\|>|</?[a-z_]{1,20}>|\[/?INST\]", re.IGNORECASE)

BOX = "\ue000"
BOX_END = "\ue001"
BOLD = "\ue002"
BOLD_END = "\ue003"
MARKS = re.compile(f"[{BOX}-{BOLD_END}]")
# what a text must have for a rule to find anything, the rule, and what it makes of it; in this
# order: subscripts before fractions, which may hold them
_LATEX = tuple(
    (sign, re.compile(pattern), new)
    for sign, pattern, new in (
        ("_{", r"_\{([^{}]*)\}", r"\1"),
        ("_", r"_(?<=[A-Za-z]_)(?=\d)", ""),
        ("frac", r"\\[dtc]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}", r"\1/\2"),
        ("frac", r"\\[dt]?frac\s*(\d)\s*(\d)", r"\1/\2"),
        ("\\", r"\\(?:text|mathrm|mathbf|textbf|textit|mathit|operatorname|mbox|boldsymbol)\s*"
         r"\{([^{}]*)\}", r"\1"),
        ("\\", r"\^\s*\{?\\circ\}?|\\degree", "°"),
        ("\\", r"\\(?:times|cdot)\b", "×"),
        ("\\pi", r"\\pi\b", "π"),
        ("\\sqrt", r"\\sqrt\s*\{([^{}]*)\}", r"√\1"),
        ("\\", r"\\approx\b|\\simeq\b", "≈"),
        ("\\g", r"\\geq?(?![a-z])", "≥"),
        ("\\l", r"\\leq?(?![a-z])", "≤"),
        ("\\", r"\\(?:right|Right|long|Longright)arrow\b|\\to\b|\\implies\b", "→"),
        ("\\", r"\\(?:left|right|quad|qquad|displaystyle|,|;|!|:|\s)", " "),
        ("{,}", r"\{,\}", ","),
        ("^", r"\^\s*\{([^{}]*)\}", r"^\1"),
        ("\\", r"\\([%$#&_{}])", r"\1"),
        ("\\", r"\\[()\[\]]", " "),
    )
)  # fmt: skip
# the exponents of powers of ten
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_SUBSCRIPT = re.compile("[₀-₉]+")
_POWER_OF_TEN = re.compile(r"10([⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)")
_POWER = re.compile("[²³]")
_MINUS = r"(?:负|零下|マイナス|氷点下|마이너스|영하|минус|(?<!au )(?<!du )moins(?= )) ?(?=[0-9])"
_FOREIGN_MINUS = re.compile(_MINUS)
_FRACTIONS: Mapping[str, str] = MappingProxyType(
    {"½": "1/2", "¼": "1/4", "¾": "3/4", "⅓": "1/3", "⅔": "2/3", "⅕": "1/5", "⅛": "1/8"}
)
_DIGIT_SIGN = re.compile(f"[⁰¹²³⁴⁵⁶⁷⁸⁹⁻₀₁₂₃₄₅₆₇₈₉٫٬{''.join(_FRACTIONS)}]")
_MINUS_WORDS = ("负", "零下", "マイナス", "氷点下", "마이너스", "영하", "минус", "moins ")
"""What `with_plain_digits` writes out."""
# a heading announces the line below it
_HEADING = re.compile(
    r"^[\s#*_]*((?:(?:final|correct|my|short) )?(?:answer|conclusion))[\s*_]*$", re.I | re.M
)
_CONTRACTED_IS = re.compile(
    r"'s\b(?:(?<=\bthere's)|(?<=\bthat's)|(?<=\bthis's)|(?<=\bshe's)|(?<=\bit's)|(?<=\bhe's))",
    re.IGNORECASE,
)
_CONTRACTED_ARE = re.compile(r"'re\b(?:(?<=\bthey're)|(?<=\bwe're)|(?<=\byou're))", re.IGNORECASE)
_TAG_SIGN = re.compile(r"[<◁[]")
# what a text must have for the patterns below to find anything
_LATEX_SIGN = re.compile(r"[\\_{^]")
_BULLET_SIGN = re.compile(r"[*•▪](?<!\S[*•▪])\s")
_MARKDOWN_SIGN = re.compile("[*_`]")
_BULLET_LINE = re.compile(r"(?m)^\s*[*•▪]\s+")
# these begin with what is seldom in a text, for the search then goes from one such sign to the next
_LINE_MARK = re.compile(r"(?m)^\s*(?:#{1,6}|>)\s+")
_MARKDOWN = re.compile(r"[*_`](?:(?<!\w[*_`])[*_`]*|[*_`]*(?!\w))")
_DOLLARS = re.compile(r"\$(?:(?!\s?[\d.])|(?<=[\d})]\$))")
_SPACES = re.compile("  +")
_TABS = re.compile(r"\t[ \t]*")
_WIDE_LETTERS = re.compile("[\uff01-\uff5e]")
_EMPHASIS = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")


def plain(text: str) -> str:
    """The text as it would be read aloud: without thinking, tags, LaTeX and Markdown.

    What stands in a box, and what is bold, is marked, because an answer may be there.
    """
    if text.isascii() and text.isalnum():
        return text
    if not text.isascii():  # （Ｂ） is (B)
        text = unicodedata.normalize("NFC", text).replace("’", "'").replace("‘", "'")
        text = _WIDE_LETTERS.sub(lambda m: unicodedata.normalize("NFKC", m[0]), text)
    if "<point" in text:
        text = _POINTS.sub(r"\1", _LEADING_POINT.sub(r"\1\n", text))
    if '":' in text and "{" in text:
        text = _with_json_answer(text)
    if "'" in text:
        text = _CONTRACTED_ARE.sub(" are", _CONTRACTED_IS.sub(" is", text))
    if _TAG_SIGN.search(text):
        text = _without_tags(text)
    text = _boxed(text)
    if _LATEX_SIGN.search(text):
        for sign, pattern, new in _LATEX:
            if sign in text:
                text = pattern.sub(new, text)
    return _without_markdown(with_plain_digits(text)).strip()


def _without_tags(text: str) -> str:
    """The text without what it thinks between tags, and with what it answers between them marked
    as a box.
    """
    if "<" in text or "◁" in text:
        text = _THINKING.sub(" ", text)
        if "</" in text or "◁/" in text:
            text = _THINKING_END.sub("", text)
        text = _THINKING_START.sub("", text)
        text = _TAGGED.sub(lambda m: f"\n{BOX}{m[2] or m[3] or ''}{BOX_END}\n", text)
    return _TAG.sub(" ", text)


def _without_markdown(text: str) -> str:
    """The text without headings, bullets, dollar signs and repeated spaces; bold is marked."""
    if "**" in text or "__" in text:
        text = _EMPHASIS.sub(f"{BOLD}\\2{BOLD_END}", text)
    if _BULLET_SIGN.search(text):
        text = _BULLET_LINE.sub("- ", text)
    text = _HEADING.sub(r"\1:", text)
    if "#" in text or ">" in text:
        text = _LINE_MARK.sub("", text)
    if _MARKDOWN_SIGN.search(text):
        text = _MARKDOWN.sub("", text)
    if "$" in text:
        text = _DOLLARS.sub("", text)
    if "  " in text:
        text = _SPACES.sub(" ", text)
    if "\t" in text:
        text = _TABS.sub(" ", text)
    return text


# what some models point at, before they answer or in their sentence
_POINTS = re.compile(r"<points?\b[^<>]*>([^<>]*)</points?>", re.IGNORECASE)
_LEADING_POINT = re.compile(rf"^\s*{_POINTS.pattern}(?=\s*[A-Z\d])", re.IGNORECASE)
# the keys of an answer in JSON, the likeliest first
_JSON_KEYS = "final_answer answer final choice label prediction verdict result output value".split()


def _with_json_answer(text: str) -> str:
    """The text with an object in JSON replaced by its answer, as if that stood in a box."""
    start = text.find("{")
    end = text.rfind("}") + 1
    opening = text[:start].rstrip()
    if opening.endswith("["):
        start = len(opening) - 1
        end = text.rfind("]") + 1
    try:
        record = json.loads(text[start:end])
    except (ValueError, RecursionError):
        return text
    if isinstance(record, list) and len(record) == 1:
        record = record[0]
    if isinstance(record, list):
        members = _json_members(record)
        if not members:
            return text
        return f"{text[:start]}{BOX}[{', '.join(members)}]{BOX_END}{text[end:]}"
    if not isinstance(record, dict):
        return text
    value = _json_value(record)
    if not value:
        return text
    return f"{text[:start]}{BOX}{value}{BOX_END}{text[end:]}"


def _json_value(record: Mapping[str, object]) -> str:
    """The answer of an object in JSON: the value of the likeliest key, the only value, or the only
    one that is true or false; "" where there is none.
    """
    values = {key.lower().replace(" ", "_"): value for key, value in record.items()}
    truths = [value for value in record.values() if isinstance(value, bool)]
    others = list(record.values()) if len(record) == 1 else truths if len(truths) == 1 else []
    for value in (*map(values.get, _JSON_KEYS), *others):
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, list):
            return f"[{', '.join(map(str, value))}]"
        if isinstance(value, str | int | float):
            return str(value)
    return ""


def _json_members(records: Sequence[object]) -> list[str]:
    """The name of each of several objects in JSON; nothing where one has none or several."""
    members = []
    for record in records:
        values = record.values() if isinstance(record, dict) else [record]
        names = [value for value in values if isinstance(value, str)]
        if len(names) != 1:
            return []
        members += names
    return members


def with_plain_digits(text: str) -> str:
    """A text with superscripts, subscripts and signs for fractions written out: 10⁻⁵ is 10^-5, ½ is
    1/2.
    """
    if text.isascii():
        return text
    if any(map(text.__contains__, _MINUS_WORDS)):
        text = _FOREIGN_MINUS.sub("-", text)
    if _DIGIT_SIGN.search(text) is None:
        return text
    text = _POWER_OF_TEN.sub(lambda m: f"10^{m[1].translate(_SUPERSCRIPTS)}", text)
    for sign, fraction in _FRACTIONS.items():
        text = text.replace(sign, f" {fraction}")
    text = text.replace("٫", ".").replace("٬", "")
    text = _SUBSCRIPT.sub(lambda m: m[0].translate(_SUBSCRIPTS), text)
    return _POWER.sub("^2", text)


_BOX_COMMAND = re.compile(r"\\f?boxed\s*\{|\\fbox\s*\{")


def _boxed(text: str) -> str:
    """The text with the boxes of LaTeX marked; braces may stand in a box."""
    if "box" not in text:
        return text
    while (match := _BOX_COMMAND.search(text)) is not None:
        depth = 1
        end = match.end()
        while end < len(text) and depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        content = text[match.end() : end - 1 if not depth else end]
        text = f"{text[: match.start()]}{BOX}{content}{BOX_END}{text[end:]}"
    return text


def without_marks(text: str) -> str:
    """The text without the marks of boxes and bold letters."""
    if not text.isascii():
        text = MARKS.sub("", text)
    return text.strip()


def breaks_off(sentences: Sequence[str]) -> bool:
    """Whether the last of these breaks off where a predicate or the rest of a phrase should
    follow.
    """
    if not sentences:
        return False
    sentence = sentences[-1]
    if not sentence[-1:].isalnum() and sentence[-1:] not in _OPEN_SIGNS:
        return False
    if _OPEN_END.search(sentence, max(0, len(sentence) - _MAX_OPEN_CHARS)):
        return True
    if sentence.endswith(_COPULAS) and sentence.count(" ") > _MIN_OPEN_SPACES:
        return _PRONOUN_COPULA.search(sentence) is None
    return len(sentences) > 1 and _SUBJECT_ONLY.fullmatch(sentence) is not None


_COPULAS = (" is", " are", " was", " were", " equals")
# "The woman is" may be an answer
_MIN_OPEN_SPACES = 3
_PRONOUN_COPULA = re.compile(
    r"\b(?:it|they|he|she|this|that|there|these|those|what|which|who|one|ones|others?|i|you|we|as|than"
    r"|so|both|all|none) \w+$",
    re.IGNORECASE,
)
_OPEN_SIGNS = tuple("=+×*,(")
_MAX_OPEN_CHARS = 24
_OPEN_END = re.compile(
    r"(?:\s[=+×*(]|[=+×*)]\s?\(|(?:\S+, ){4}\S+,"
    r"|\b(?:which (?:is|are|was|were)(?: \w+ed)?|the|of|its|their|and|or|into|onto|between|among"
    r"|through|which|because|since|than|equals?|equal to|let's"
    r"|(?:is|are|of|with|in|on|by|as|has|and|to) an?|(?:is|are|was|were) (?:the|to|in|on|at|by)"
    r"|(?:also|then|we|[Nn]ow)|(?:of|so|=|for) [\w°²]+ (?:is|are|was|were)"
    r"|der|das|und|oder|des|les|et|el|los|las|del|da|do|dos|и|что))$"
)
_SUBJECT_ONLY = re.compile(r"(?:The|Its|Their|His|Her|This|These|In|On) (?:[a-z]+ ){0,2}[a-z]+")
