"""Answers as they would be read aloud: without reasoning between tags, JSON, LaTeX and Markdown.

What stands in a box or between tags of an answer, and what is bold, is marked, for
`hqm.scoring.commitments` looks there first.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from hqm.scoring.cue_search import WordSearch, words_pattern

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
# what a text must have for a rule to find anything, the rule, and what it makes of it
_LATEX = tuple(
    (sign, re.compile(pattern), new)
    for sign, pattern, new in (
        ("_{", r"_\{([^{}]*)\}", r"\1"),
        ("_", r"_(?<=[A-Za-z]_)(?=\d)", ""),
        ("{~", r"\{~", "{"),
        ("\\textd", r"\\textdollar\s*", "$"),
        ("\\", r"\\(?:text|mathrm|mathbf|textbf|textit|mathit|operatorname|mbox|boldsymbol)\s*"
         r"\{([^{}]*)\}", r"\1"),
        ("\\", r"\^\s*\{?\\circ\}?|\\degree", "°"),
        ("\\", r"\\(?:times|cdot)(?![A-Za-z])", "×"),
        ("\\pm", r"\\pm(?![A-Za-z])", "±"),
        ("\\pi", r"\\pi(?![A-Za-z])", "π"),
        ("\\", r"\\approx\b|\\simeq\b", "≈"),
        ("\\g", r"\\geq?(?![a-z])", "≥"),
        ("\\l", r"\\leq?(?![a-z])", "≤"),
        ("\\", r"\\(?:right|Right|long|Longright)arrow\b|\\to\b|\\implies\b", "→"),
        ("\\!", r"\\!", ""),
        ("\\", r"\\(?:left|right|quad|qquad|displaystyle|,|;|:|\s)", " "),
        ("{,}", r"\{,\}", ","),
        ("^", r"\s*\^\s*(?:\{\s*([^{}]*?)\s*\}|\((-?\d+)\))", r"^\1\2"),
        ("\\", r"\\([%$#&_{}])", r"\1"),
        ("\\", r"\\[()\[\]]", " "),
    )
)  # fmt: skip
_FRACTION_OR_ROOT = re.compile(
    r"\\[dtc]?frac\s*(\{[^{}]*\}|\d)\s*(\{[^{}]*\}|[\dπ])|\\sqrt\s*(\{[^{}]*\}|\d)"
)
_OPERATOR_WITHIN = re.compile(r"(?<=.)[-+±/]")
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
"""What `with_plain_digits` writes out."""
_MINUS_SIGN = re.compile("[负零マ氷마영м]")
"""A letter of every word for minus but the French one."""
# a heading announces the line below it
_HEADING = re.compile(
    r"^[\s#*_]*((?:(?:final|correct|my|short) )?(?:answer|conclusion))[\s*_]*$", re.I | re.M
)
_CONTRACTED_IS = re.compile(
    r"'s\b(?:(?<=\bthere's)|(?<=\bthat's)|(?<=\bthis's)|(?<=\bshe's)|(?<=\bit's)|(?<=\bhe's))",
    re.IGNORECASE,
)
_CONTRACTED_ARE = re.compile(r"'re\b(?:(?<=\bthey're)|(?<=\bwe're)|(?<=\byou're))", re.IGNORECASE)
# what a text must have for the pattern below to find anything
_BULLET_SIGN = re.compile(r"[*•▪](?<!\S[*•▪])\s")
_BULLET_LINE = re.compile(r"(?m)^\s*[*•▪]\s+")
# these begin with what is seldom in a text, for the search then goes from one such sign to the next
_LINE_MARK = re.compile(r"(?m)^\s*(?:#{1,6}|>)\s+")
_MARKDOWN = re.compile(r"[*_`](?:(?<!\w[*_`])[*_`]*|[*_`]*(?!\w))")
_DOLLARS = re.compile(r"\$(?:(?!\s?[\d.])|(?<=[\d})]\$))")
_SPACES = re.compile("  +")
_TABS = re.compile(r"\t[ \t]*")
_WIDE_LETTERS = re.compile("[\uff01-\uff5e]")
_EMPHASIS = re.compile(r"([*_])\1(?=\S)(.+?)(?<=\S)\1\1")


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
    # `in` finds one sign ten times as fast as a pattern finds one of several
    if "<" in text or "[" in text or "◁" in text:
        text = _without_tags(text)
    text = _boxed(text)
    if "\\" in text or "_" in text or "{" in text or "^" in text:
        for sign, pattern, new in _LATEX:
            if sign in text:
                text = pattern.sub(new, text)
        if "frac" in text or "\\sqrt" in text:
            text = _with_fractions(text)
    return _without_markdown(with_plain_digits(text)).strip()


def _with_fractions(text: str) -> str:
    """The text with fractions and roots in one line: "\\frac{1+\\sqrt{3}}{2}" is (1+√3)/2."""
    count = 1
    while count:  # those without another one in them first
        text, count = _FRACTION_OR_ROOT.subn(_in_line, text)
    return text


def _in_line(match: re.Match[str]) -> str:
    """The fraction or root of a match in one line."""
    numerator, denominator, radicand = map(_operand, match.groups(""))
    return f"√{radicand}" if match[3] else f"{numerator}/{denominator}"


def _operand(argument: str) -> str:
    """The argument of a command without its braces, a sum or quotient in parentheses."""
    term = argument.strip("{}")
    return f"({term})" if _OPERATOR_WITHIN.search(term) else term


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
    if ("*" in text or not text.isascii()) and _BULLET_SIGN.search(text):
        text = _BULLET_LINE.sub("- ", text)
    lowered = text.lower()
    if "answer" in lowered or "conclusion" in lowered:
        text = _HEADING.sub(r"\1:", text)
    if "#" in text or ">" in text:
        text = _LINE_MARK.sub("", text)
    if "*" in text or "_" in text or "`" in text:
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
    return text if not value else f"{text[:start]}{BOX}{value}{BOX_END}{text[end:]}"


def _json_value(record: Mapping[str, object]) -> str:
    """The answer of an object in JSON: the value of the likeliest key, the only value, or the only
    one that is true or false; "" where there is none.
    """
    values = {key.lower().replace(" ", "_"): value for key, value in record.items()}
    truths = [value for value in record.values() if isinstance(value, bool)]
    sole_values = list(record.values()) if len(record) == 1 else truths if len(truths) == 1 else []
    for value in (*map(values.get, _JSON_KEYS), *sole_values):
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
    if _MINUS_SIGN.search(text) or "moins " in text:
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


_ANOTHER_QUESTION = re.compile(
    r"\n\s*(?:question|human|user|hint)\s*:|\n[^\S\n]*\n\s*Q\s*:"
    r"|\A\W*(?:yes|no)\b[^\n?]*\n\s*(?:is|are|was|were|do|does|did|has|have|can|what|which|where"
    r"|who|when|how)\b[^\n.!?]+\?",
    re.IGNORECASE,
)
"""Some models go on with another question, and answer it as well."""
_ANOTHER_PROBLEM = re.compile(r"\banswer is\b[^\n]*\n\s*\n\s*problem\s*:", re.IGNORECASE)
_TRANSCRIPT = re.compile(
    r"\s*(?:user|human|question|q)\s*:(?:.{0,2000}?\n)??\s*(?:assistant|answer|gpt|ai|a)\s*:",
    re.IGNORECASE | re.DOTALL,
)
"""What some models write before an answer: the question, and who asks and answers it."""


def first_turn(text: str) -> str:
    """The first answer of a text that asks its question again, or goes on to ask another one."""
    if "\n" not in text:
        return text
    transcript = _TRANSCRIPT.match(text)
    if transcript:
        text = text[transcript.end() :]
    another = _ANOTHER_QUESTION.search(text)
    if another is None and "roblem" in text:
        another = _ANOTHER_PROBLEM.search(text)
    return text if another is None else text[: text.rfind("\n", 0, another.end())].rstrip()


TASK = re.compile(
    r"\A(?:\W*(?:(?:okay|ok|alright|so|first|now|well)[, ]+)*"
    r"(?:the (?:user|question|prompt)(?: is|'s)? (?:want|ask|wonder|need|request|inquir)\w*"
    r"|(?:(?:i|we)(?:'ll|'m| am)? (?:(?:need|have|going|want|will|must)(?: to)?)|let(?:'s| us| me)"
    r"|i'll|we'll) (?:first )?(?:find|determine|figure out|identify|work out|analy[sz]e)) "
    r"(?:(?!\b(?:answer is|so|therefore|thus|which is)\b)(?:[^.!?:=\n]|(?<=\b[A-Z])\.|\.(?=\S)))+"
    r"(?:[.!?](?:\s+|$)|\n\s*|$))+",
    re.IGNORECASE,
)
"""Sentences at the beginning that only say what is asked or to be done: "We need to find ..."."""


@lru_cache(maxsize=8192)
def compact_formula(text: str) -> str:
    """A formula without what may be written in several ways: spaces, braces, dollar signs; a ratio
    is a fraction.
    """
    compact = re.sub(r"[\s{}$\\*]|left|right|mathrm|text", "", plain(text).casefold())
    return _RATIO_SIGN.sub("/", compact)


_RATIO_SIGN = re.compile(r"(?<=[\dπ]):(?=[\d√π])")


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
    if _ends_within(sentence, len(sentences) == 1):
        return True
    if not sentence[-1:].isalnum() and sentence[-1:] not in _OPEN_SIGNS:
        return False
    if _OPEN_END.search(sentence, max(0, len(sentence) - _MAX_OPEN_CHARS)):
        return True
    if sentence.endswith(_COPULAS) and sentence.count(" ") > _MIN_OPEN_SPACES:
        return _PRONOUN_COPULA.search(sentence) is None
    if len(sentences) > 1 and _BEGINNING_ONLY.fullmatch(sentence):
        return True
    if len(sentence) >= _MIN_CUT_FORMULA_CHARS and ("=" in sentence or "^" in sentence):
        # a step that was taken before is no result either
        return any(earlier.startswith(sentence) for earlier in sentences[:-_MIN_STEPS_BACK])
    # a model that goes round in circles is cut in the middle of one
    tail = sentence[-_MIN_LOOP_CHARS:]
    if len(tail) == _MIN_LOOP_CHARS and sentence.count(tail) > _MAX_REPEATS:
        return True
    start = sentence[:_MAX_LOOP_CHARS]
    return len(start) >= _MIN_LOOP_CHARS and any(
        earlier.startswith(start) for earlier in sentences[:-1]
    )


def _ends_within(sentence: str, is_sole: bool) -> bool:
    """Whether a sentence ends within brackets, or within a quotation that is not all there is."""
    if "[" in sentence and _OPEN_BRACKET.search(sentence):
        return True
    return '"' in sentence and not is_sole and _OPEN_QUOTE.match(sentence) is not None


_OPEN_QUOTE = re.compile(r"(?:[^\"]*\"[^\"]*\")*[^\"]*(?<![\w'.!?,])\"(?:\w[^\".!?]{0,40})?$")
_MIN_CUT_FORMULA_CHARS = 8
_MIN_STEPS_BACK = 4
_MIN_LOOP_CHARS = 20
_MAX_LOOP_CHARS = 40
_MAX_REPEATS = 2
_OPEN_FORMULA = re.compile(r"\$[^$]*(?:\^|\\[A-Za-z])[^$]*\Z")
_OPEN_COMMAND = re.compile(r"[a-z]+\{[^{}\n]*\Z|\\[dtc]?frac\s*\Z")


def breaks_off_in_formula(text: str) -> bool:
    """Whether a text ends within a formula, or the braces of a command: `\\times \\frac{1`."""
    start = max(0, len(text) - _MAX_FORMULA_CHARS)
    tail = text[start:]
    if ("{" in tail or "frac" in tail) and _OPEN_COMMAND.search(tail):
        return True
    line = text[text.rfind("\n") + 1 :]
    return line.count("$") % 2 == 1 and _OPEN_FORMULA.search(line) is not None


_MAX_FORMULA_CHARS = 60
_CLOSING_REMARK = re.compile(
    r"\W*(?:(?:please |kindly |also,? )?(?:note\b|be aware\b|keep in mind\b|bear in mind\b"
    r"|remember that\b|let me know\b|feel free\b)|(?:i )?hope (?:this|that) helps\b"
    r"|if you(?:'d| would)? (?:have|need|like|want|provide|could provide)\b[^.]*\b(?:question|help"
    r"|another|assist|know|ask|clarif|detail|information|context)|here's why\b)",
    re.IGNORECASE,
)
"""What a last sentence begins with that answers nothing: "Please note ...", "Let me know ..."."""


def without_closing_remarks(sentences: tuple[str, ...]) -> tuple[str, ...]:
    """The sentences of an answer without the remarks at its end that answer nothing; one that says
    why there is no answer stays.

    >>> without_closing_remarks(("It is 5.", "Please note that tips are not included."))
    ('It is 5.',)
    """
    end = len(sentences)
    while end > 1 and _CLOSING_REMARK.match(sentences[end - 1]):
        end -= 1
    return sentences if any(map(_INABILITY.search, sentences[end:])) else sentences[:end]


_INABILITY = re.compile(
    r"\b(?:cannot|can't|unable|not possible|impossible|without|would depend"
    r"|not (?:provided|given|available|shown))\b",
    re.IGNORECASE,
)


_COPULAS = (" is", " are", " was", " were", " equals")
# "The woman is" may be an answer
_MIN_OPEN_SPACES = 3
_PRONOUN_COPULA = re.compile(
    r"\b(?:it|they|he|she|this|that|there|these|those|what|which|who|one|ones|others?|i|you|we|as"
    r"|than"
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
_BEGINNING_ONLY = re.compile(
    r"(?:The|Its|Their|His|Her|This|These|In|On) (?:[a-z]+ ){0,2}[a-z]+"
    r"|So|Hence|Thus|Therefore|Then|Now|Next|And|But|However|Also|Since|Because"
    # a Japanese noun is followed by what it does
    r"|[^\x00-\x7f]{2,20}[のはがをに]"
)
_OPEN_BRACKET = re.compile(r"\[[^\])\n]*[,;\"<][^\])\n]*\Z")


# --- answers that say that there is none ---

# every cue in one of these scripts has such a letter
UNSPACED_LETTERS = "\u0400-\u04ff\u0600-\u06ff\u0900-\u097f\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3"
_IMAGE = (
    r"(?:image|picture|photo|photograph|figure|chart|graph|diagram|file|attachment|screenshot)s?"
)
NO_IMAGE_ABROAD = (
    r"\b(?:bild|foto|abbildung)\b[^.\n]{0,30}\b(?:nicht (?:sehen|laden|öffnen|anzeigen|geladen"
    r"|vorhanden|sichtbar|einsehen)|fehlt)|\bkein(?:e|en)? (?:bild|foto)\b[^.\n]{0,20}"
    r"\b(?:erhalten|angehängt|vorhanden|hochgeladen|beigefügt|sehen|bekommen)",
    r"\bno (?:puedo|logro|consigo) (?:ver|abrir|acceder|cargar"
    r"|visualizar)\b[^.\n]{0,6}\b(?:imagen|foto)"
    r"|\b(?:imagen|foto)\b[^.\n]{0,12}\bno (?:se (?:ha |pudo )?(?:carg|adjunt|mostr)"
    r"|está disponible|fue)"
    r"|\bno (?:hay|veo|recibí|se ha proporcionado) (?:la |ninguna )?(?:imagen|foto)\b",
    r"\bne (?:vois|peux pas (?:voir|ouvrir)|trouve|parviens pas à (?:voir|ouvrir))\b[^.\n]{0,14}"
    r"\b(?:image|photo)|\b(?:image|photo)\b[^.\n]{0,12}\bn'(?:a|est)\b[^.\n]{0,16}"
    r"(?:fournie|chargée|jointe|disponible|affichée)|\baucune (?:image|photo) (?:n'|fournie"
    r"|jointe)",
    r"\bnão (?:consigo|posso|estou conseguindo) (?:ver|abrir|visualizar|acessar)\b[^.\n]{0,6}"
    r"\b(?:imagem|foto)|\b(?:imagem|foto)\b[^.\n]{0,12}\bnão (?:foi|carregou|está disponível)"
    r"|\bnenhuma (?:imagem|foto) (?:foi|anexada)",
    r"(?:изображени|картинк|фото)\w*[^.\n]{0,12} (?:не (?:загру|прикреп|откры|предостав)|отсутству)"
    r"|не (?:вижу|могу увидеть|могу открыть) (?:изображени|картинк|фото)",
    "(?:画像|写真|図)[がを][^。]{0,10}(?:ません|ない)",
    "(?:이미지|사진|그림)(?:를|을|가|이)? ?(?:볼 수 없|보이지 않|열 수 없|확인할 수 없|첨부되지"
    "|제공되지)",
    "(?:没有|未|看不到|没)[^。,，]{0,4}(?:图片|图像|照片)(?![中里上])|(?:图片|图像|照片)(?:未|没有|无法|不能)"
    "(?:加载|显示|打开|上传|提供)",
    "لا أرى (?:أي )?صورة|الصورة (?:غير (?:متاحة|ظاهرة|موجودة)|لم)",
    "(?:चित्र|छवि|तस्वीर|इमेज)(?! में)[^।]{0,16}नहीं (?:दे|देख|दिख|खुल|लोड|मिल)",
)
"""What says that there is no image to look at, or that it cannot be opened."""
UNABLE_ABROAD = (
    *NO_IMAGE_ABROAD,
    r"(?:kann|lässt sich|ist)(?: [\wäöü]+){0,4} nicht (?:\w+ )?(?:sagen|beurteil|berechn|bestimm"
    r"|feststell|beantwort|möglich|sicher|klar|eindeutig)\w*"
    r"|\bdas (?:kann|lässt) (?:ich|man|sich) (?:\w+ ){0,3}?nicht (?:erkennen|sehen|lesen)"
    r"|\bkeine (?:\w+ )?antwort\b|kann nicht|weiß nicht|\bunklar\b"
    r"|\bbleibt (?:\w+ )?(?:unbekannt|offen)\b",
    r"\bno (?:es posible|est[áo]y? (?:claro|segur\w)|(?:lo )?sé|puedo (?!ver)|se (?:puede|sabe"
    r"|distingue)"
    r"(?! (?:ver|apreciar|observar))|tengo (?:\w+ )?(?:comentario|informaci|idea|opini|datos))",
    r"\bne (?:peu[xt]|sais|permet|peut-on) pas(?! (?:le |la )?voir)|\bimpossible de\b"
    r"|\bpas (?:possible|certain|sûr|clair)\b",
    r"\bnão (?:posso (?!ver)|sei|é possível|dá para|está claro|se pode (?!ver)"
    r"|tenho (?:\w+ )?(?:comentári|informaç|ideia|opini|dados))",
    r"не (?:могу (?!увид)|знаю|ясно|удаётся)|невозможно|неизвестно|неясно|трудно сказать",
    "无法|不能确定|不确定|不知道|不清楚|看不清|难以",
    "(?:分|わ)か(?:らない|りません)|(?:判断|判別|特定|識別|確認|回答|決定|算出|計算|推定|求め|答え)(?:する|る)?"
    "(?:こと[はが])?(?:でき(?!る|ま[すし])|困難)|不明|情報が(?:必要|不足|足り)",
    "알 수 없|모르|(?:판단|확인|계산)할 수 없|불분명|어렵",
    "لا (?:يمكن|أستطيع|أعرف)|غير واضح|نمی‌توان",
    "नहीं (?:बता|कह)|पता नहीं|स्पष्ट नहीं|(?:निर्धारित|ज्ञात) नहीं",
)
_SINGULAR_NOUNS = (
    "image picture photo photograph figure chart graph diagram file attachment screenshot".split()
)
_IMAGE_NOUNS = (*_SINGULAR_NOUNS, *(f"{noun}s" for noun in _SINGULAR_NOUNS))
_MISSING_VERBS = (
    *("is", "was", "seem", "seems", "appear", "appears", "look", "looks", "to", "missing"),
    *("unavailable", "broken", "corrupted", "blank"),
)
_TEXT_NOUNS = (
    *("text", "writing", "lettering", "label", "name", "title", "display", "inscription"),
    *("caption", "date", "logo", "digits", "letters"),
)
_MUST = r"(?:must|might|may|could|seems to|appears to|has to)"
_UNABLE = WordSearch(
    re.compile(
        r"\b(?:can(?:no|')t|cannot|could(?: no|n')t|isn't possible to|unable to|(?:\bnot"
        r"|n't) (?:able"
        r"|possible) to"
        r"|impossible to)\s+"
        r"(?:be\s+)?(?:\w+ly\s+)?(?:\w+\s+or\s+)?(?:determin|tell|told|answer|see|say|said|identif"
        r"|provid"
        r"|calculat"
        r"|know|give|measur|find|read|assist|help|view|count|accurate|definit|solv|represent|verif"
        r"|compare|evaluat|analy[sz]|interpret|judg|select (?:either|one|any|between)"
        r"|make an? (?:\w+ )?(?:decision|choice|selection|determination|assessment)"
        r"|make out|recogni[sz]|discern|infer|access|choose|confirm|settle|decide|pick"
        r"|establish|ascertain|assess|estimat|deduc|deriv|obtain|distinguish)\w*"
        r"|(?:\b(?:insufficient|not enough|more)|n't enough) information|(?:\bnot"
        r"|n't) (?:\w+ly )?(?:sure|clear|certain|visible|legible|identified"
        r"|specified|mentioned|provided|determinable|listed|among|yet determined|labell?ed|named"
        r"|marked"
        r"|readable|evident|apparent|discernible|stated|indicated|loaded|attached|supplied)\b"
        r"|(?:\bnot"
        r"|n't|\bto) load\b"
        r"|\b(?:does|do|did|is|are|was)(?:n't| not) (?:provide|contain|include|show|give|have"
        r"|mention"
        r"|specif|match|state|indicate|reveal|disclose)\w*"
        r"|\b(?:unknown|undetermined|indeterminate|unanswerable|unclear|illegible|unreadable)\b"
        r"|\bn/a\b|\btoo [\w-]+ (?:for me )?to (?:be )?(?:\w+ly )?(?:read|see|seen|tell|make out"
        r"|made out"
        r"|count|identif|discern|recogni[sz]|judge|distinguish|determine|decipher)\w*"
        r"|\b(?:text|writing|lettering|label|name|title|display|inscription|caption|date|logo"
        r"|digits|letters)"
        r" (?:is|are) (?:\w+ly )?(?:obscured|covered|cut off|cropped|hidden|blocked|washed out"
        r"|overexposed"
        r"|out of focus|smudged|blurred|pixelated)\b|\btoo (?:blurr(?:y|ed)|grainy|pixelated"
        r"|small|dark|faint|far|low)\b"
        r"|\bi (?:do not|don't) (?:know|have|make|provide|identify|speculate|recogni[sz]e"
        r"|feel comfortable"
        r"|(?:currently |actually )?see (?:any|an|the|a) (?:attached |uploaded )?(?:image|picture"
        r"|photo|chart|graph|figure|diagram|table|file|attachment|screenshot)s?\b)"
        rf"|\bno {_IMAGE} (?:(?:was|were|is|are|has been|have been) )?(?:provided|attached|included"
        r"|uploaded|given|supplied|shared|found|available)\b|\bno access to\b"
        rf"|\b{_IMAGE} (?:(?:is|was|seems?|appears?|looks?) )?(?:to (?:be|have been) )?(?:missing"
        r"|unavailable|broken|corrupted|blank)\b|\bplease (?:upload|share|attach|send)\b"
        r"|\bcould you (?:please )?(?:upload|share|attach|send|provide|clarify|specify)\b"
        r"|\bno (?:\w+ )?(?:information|data|details|results?) (?:(?:was|were|is|are) )?(?:found"
        r"|available|provided)\b|\bno (?:idea|way to|answer|clue)\b|\bit depends\b"
        r"|\b(?:this|(?:this|the) answer) (?:depends|varies|(?:will|would|may|can|could) (?:vary"
        r"|depend)) (?:on|depending)\b"
        rf"|\bthere (?:{_MUST} be|is|was) an? (?:\w+ )?(?:error|mistake|inconsistency|typo)"
        r" (?:in|with) (?:the|this|your) (?:\w+ ){0,2}?(?:question|problem|information|data"
        r"|statement|numbers)\b"
        r"|\bnone of (?:the|these)\b|\bneither of\b|\bplease provide\b|\bi(?:'m| am) sorry\b"
        r"|\bwithout (?:knowing|access|seeing)\b"
        r"|\bwithout (?:(?:the|any|more|a|an|specific|further|additional|actual|exact|clear|given)"
        r" )+(?:[\w-]+ ){0,2}?(?:information|context|data|details?|image|picture|photo|figure|graph"
        r"|chart|table|diagram|file|values?|numbers?|options?|description|view|text|function"
        r"|equation|measurements?|dimensions|scale|labels?|legend|question)\b"
        r"|\bwould (?:require|need) (?:access|more|additional|further|the)\b"
        r"|\bhard to (?:say|tell)\b"
        rf"|{'|'.join(UNABLE_ABROAD)}",
        re.IGNORECASE,
    ),
    first_words=frozenset(
        "can t,cannot,could not,couldn t,isn t,unable to,not,impossible,insufficient,n a,to load"
        ",more information,does not,doesn t,do not,don t,did not,didn t,is not,are not,aren t"
        ",was not,wasn t,i do,i don,i am,i m,no,it depends,none of,neither of,ne,unknown,too"
        ",undetermined,indeterminate,unanswerable,unclear,illegible,unreadable,please provide"
        ",without,would require,would need,this answer,the answer,this depends"
        ",this varies,this will,this would,this may,this can,this could"
        ",there must,there might,there may,there could,there seems,there appears,there has,there is"
        ",there was"
        ",hard to,kann,pas,unklar,bleibt,please upload,please share,please attach,please send"
        ",could you,text is,writing is,lettering is,label is,name is,title is,display"
        " is,inscription is"
        ",caption is,date is,logo is,digits are,letters are,image is,image was,image seems,image"
        " appears,image missing,picture is"
        ",picture was,picture seems,picture appears,photo is,photo seems,file is,attachment is"
        ",bild,foto,abbildung,kein,keine,imagen,aucune,nenhuma,imagem,image n".split(",")
    )
    | {f"{noun} {verb}" for noun in _IMAGE_NOUNS for verb in _MISSING_VERBS}
    | {f"{noun} {verb}" for noun in _TEXT_NOUNS for verb in ("is", "are")},
    foreign=(
        re.compile(f"[äÄßẞãÃ{UNSPACED_LETTERS}]|[tTnN](?:(?<=[iI][sS][tT])|(?<=[aA][nN][nN])) "),
        re.compile("|".join(UNABLE_ABROAD), re.IGNORECASE),
    ),
)


APOLOGY = re.compile(
    r"\W*(?:(?:i am |i'm )?sorry\b|i apologi[sz]e\b|申し訳|すみません|抱歉|对不起|죄송|lo siento\b"
    r"|perdón\b"
    r"|désolée?\b|je suis désolé|tut mir leid\b|es tut mir leid\b|leider\b|desculpe\b"
    r"|извините|к сожалению"
    r"|عذر|آسف|क्षमा|माफ़)",
    re.IGNORECASE,
)
"""How an answer begins that apologizes for being none."""


def says_unable(text: str) -> bool:
    """Whether a passage says that there is no answer.

    >>> says_unable("It cannot be determined from the picture."), says_unable("B")
    (True, False)
    """
    return _UNABLE.is_in(text)


def is_open_verdict(text: str) -> bool:
    """Whether what is called the answer says neither yes nor no: "not known", "dependent on it"."""
    return _OPEN_VERDICT.match(text) is not None


_OPEN_VERDICT = re.compile(
    r"(?:dependent|depends?|varies|based|inconclusive|moot|debatable|subjective|up to|both"
    r"|(?:not (?:\w+ly |as |so |that |a )?|un)(?:known|clear|certain|sure|simple|easy|definitive"
    r"|straightforward|applicable|possible)"
    r"|(?:exactly )?the same|it is possible)\b(?![^.\n]*\bbut (?!not\b))",
    re.IGNORECASE,
)


def denies_scene(text: str) -> bool:
    """Whether a sentence says that what is asked about is not shown: "It does not show such a
    scene".
    """
    return _ABSENT_SCENE.match(text) is not None


_ABSENT_SCENE = re.compile(
    r"\W*(?:the|this)(?: \w+){0,3} (?:does|do)(?: not|n't) (?:contain|show|depict|feature|include)"
    r" (?:the|this|that|such an?|any such) (?:scenario|scene|action|event|moment|activity)\b"
    r"(?! of)",
    re.IGNORECASE,
)


def says_unable_abroad(text: str) -> bool:
    """Whether a passage says so in another language than English."""
    if text.isascii():
        lowered = text.lower()
        if not any(map(lowered.count, _UNABLE_ABROAD_PARTS)):
            return False
    return _UNABLE_ABROAD.search(text) is not None


_UNABLE_ABROAD = re.compile("|".join(UNABLE_ABROAD), re.IGNORECASE)
# in ASCII every such statement has one of these
_UNABLE_ABROAD_PARTS = (
    "bild",
    "foto",
    "image",
    "nicht",
    "keine ",
    "unklar",
    "no ",
    "ne ",
    "impossible de",
    "pas ",
)


# --- dates ---

# names of months and days may be abbreviated from the hyphen on ("Sept", "Thurs")
_CALENDAR = (
    "jan-uary feb-ruary mar-ch apr-il may- jun-e jul-y aug-ust sep-tember oct-ober nov-ember"
    " dec-ember mon-day tue-sday wed-nesday thu-rsday fri-day sat-urday sun-day"
).split()
_MONTHS = [name.split("-")[0] for name in _CALENDAR[:12]]
_CALENDAR_NAME = re.compile(
    rf"(?<![a-z]){words_pattern(name.replace('-', '') for name in _CALENDAR)}s?(?![a-z])"
)
# in every name of a month or day
_CALENDAR_ENDINGS = ("uary", "march", "april", "may", "june", "july", "august", "ber", "day")
_YEAR = re.compile(r"\d{4}")
_MONTH = rf"({'|'.join(_MONTHS)})\.?"
_DATE = re.compile(
    rf"\b(?:(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH}|{_MONTH} (\d{{1,2}})(?:st|nd|rd|th)?),?"
    r" (\d{4})\b",
    re.IGNORECASE,
)


def _may_have_date(text: str) -> bool:
    """Whether a month is named shortly before a year, as in every date."""
    for year in _YEAR.finditer(text):
        before = text[max(0, year.start() - _MAX_DATE_CHARS) : year.start()]
        if any(map(before.__contains__, _MONTHS)):
            return True
    return False


_MAX_DATE_CHARS = 40


def _iso_date(match: re.Match[str]) -> str:
    """A date as "2021-03-12", in whatever order it was written."""
    month = _MONTHS.index((match[2] or match[3]).lower()) + 1
    return f"{match[5]}-{month:02}-{int(match[1] or match[4]):02}"


def with_plain_dates(text: str) -> str:
    """A text in lower case with its dates in one form, and months and days in three letters.

    >>> with_plain_dates("on march 12, 2021, a friday")
    'on 2021-03-12, a fri'
    """
    if any(ending in text for ending in _CALENDAR_ENDINGS):
        text = _CALENDAR_NAME.sub(lambda name: name[0][:3], text)
    if any(map(text.__contains__, _MONTHS)) and _may_have_date(text):
        text = _DATE.sub(_iso_date, text)
    return text


NEGATIVE = re.compile(
    r"\b(?:not|no|none|never|nobody|nothing|neither|cannot|without|lacks?|absent"
    r"|missing)\b|n't\b",
    re.IGNORECASE,
)
# a clause with one of these commits itself to nothing
DOUBT = re.compile(
    r"\b(?:might|may|maybe|could|possibly|possible(?! to)|perhaps|or|unclear|unsure|whether|if"
    r"|(?:nearly|almost)(?! certain))\b",
    re.IGNORECASE,
)
