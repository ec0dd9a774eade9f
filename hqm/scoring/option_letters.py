"""Letters of options: those of other alphabets, those that an answer rules out, and those that it
calls correct.

"A, B und D scheiden aus" names three letters and chooses the fourth; "A나 B가 아니라 D" names three
and chooses the last. What is ruled out is cut out of an answer before a letter is looked for in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from types import MappingProxyType

from hqm.scoring.commitments import is_denied, sentence_start
from hqm.scoring.cue_search import CueIndex, CueSearch, words_pattern
from hqm.scoring.written_numbers import LATIN
from hqm.types import LETTERS

# --- letters at the beginning ---

# the words that may stand before a letter without changing what is chosen
HEAD_WORDS = re.compile(
    # a hyphen before a digit is its sign: "is -2"
    r"^(?:[\s\"'“”:>,、「『*]|-(?![\d√π])|(?:選択肢|选项|選項|보기|विकल्प)\s*"
    r"|(?:the|option|choice|answer|letter|answers|number|la|le|el|die|der|das"
    r"|lettre|letra|opción|opção|opzione|вариант|буква|likely|probably|clearly|definitely"
    r"|therefore|thus|then|indeed|either|both|(?:that|it)(?:'s)?|is|with|for|no|yes|not quite"
    r"|rather"
    r"|donc|alors|daher|also|somit|por (?:lo )?tanto|pues|portanto|então|quindi|должно"
    r"|быть|значит|поэтому|be|to be|should be|would be|must be|change|to|my|final|correct"
    r"|will go)\b(?:[\s,:;.]|[—–-](?![\d√π]))*)*",
    re.IGNORECASE,
)
# a capital alone, or a small letter in brackets or before a mark: "a" is an article
_HEAD_LETTER = re.compile(
    r"[\[({]{0,2}([A-Z])(?:[\])}]{1,2}|(?![A-Za-z0-9_À-ɏ]|['’][A-Za-z]|-\w"
    r"|\s*[=≈]\s*(?:[a-z]?\W*\d|½|[a-z]\b)"
    r"|\s*(?:→|至|到|から|에서|부터|से|إلى)\s*[A-Z](?![A-Za-z])))"
    r"|[\[(]([a-z])[\])]"
    r"|([a-z])(?=[.)\"'](?:[\s,}]|$)|$|\s?(?:입니다|이다|이에요|예요|번|です|だ|である))"
)
# several letters in a row are one choice of several options
_NEXT_LETTER = re.compile(
    r"[\s,/&;]*(?:\b(?:and|or|und|oder|et|ou|y|e|o)\b|[,/&、和或]|(?=[\[(]))\s*"
)


def head_letters(text: str, letters: str) -> tuple[tuple[str, ...], int]:
    """The letters that a passage begins with, and where they end."""
    start = HEAD_WORDS.match(text).end()  # type: ignore[union-attr]
    if re.search(r"\bno\s*$", text[:start], re.IGNORECASE):
        return (), start
    named: list[str] = []
    end = start
    while (match := _HEAD_LETTER.match(text, end)) is not None:
        letter = (match[1] or match[2] or match[3]).upper()
        if letter not in letters or is_word(match, text):
            break
        named.append(letter)
        end = match.end()
        follows = _NEXT_LETTER.match(text, end)
        if follows is None or _HEAD_LETTER.match(text, follows.end()) is None:
            break
        end = follows.end()
    return tuple(dict.fromkeys(named)), end


# --- letters of other alphabets ---

# В and Д are left out: В is sent for B and for the third letter, Д for D and for the fifth
_ALPHABETS = ("АБ Г", "أبجد", "कखगघ", "가나다라마", "アイウエオ", "①②③④⑤⑥")
_LATIN_LETTERS = MappingProxyType(
    {
        sign: LETTERS[index]
        for alphabet in _ALPHABETS
        for index, sign in enumerate(alphabet)
        if sign != " "
    }
    | {"С": "C"}
)
_OTHER_SIGN = re.compile(f"[{''.join(_LATIN_LETTERS)}]")
_OPTION_SIGN = re.compile(
    rf"(?<![^\W①-⑥])[{''.join(_LATIN_LETTERS)}](?![^\W①-⑥\u0900-\u0963]|[\u0900-\u0963])"
)
_OTHER_LETTER = re.compile(
    rf"(?:(?<=[(\[:：—–«\"「『*])|(?<=[(\[:：—–«\"] )"
    r"|(?<=вариант )|(?<=ответ )|(?<=Ответ )|(?<=что )|(?<=это )|(?<=выбираю )|(?<=답은 )"
    r"|(?<=[答正回解][え解答]は)|(?<=الخيار )|(?<=هي )|(?<=هو )|(?<=उत्तर )|(?<=विकल्प )"
    rf"|^)([{''.join(_LATIN_LETTERS)}]|[абвгд](?=\)))"
    r"(?=\s*(?:$|[)\].،,;:»\"。、」』*]|번|입니다|です|が正|है))"
)


def with_latin_letters(text: str, options: Sequence[str], question: str = "") -> str:
    """A text in which the letters of options in other alphabets are Latin: "Ответ: Б" is B; and so
    is the number of an option that the question numbers.

    >>> with_latin_letters("正解は(イ)です。", ("red", "blue"))
    '正解は(B)です。'
    """
    text = _with_letter_of_number(text, options, question)
    if text.isascii() or _OTHER_SIGN.search(text.upper()) is None:
        return text
    option_letters = set(_OPTION_SIGN.findall(" ".join(options)))

    def latin(match: re.Match[str]) -> str:
        if match[1] in option_letters:  # the options themselves are such letters
            return match[1]
        return _LATIN_LETTERS.get(match[1]) or LETTERS["абвгд".index(match[1])]

    return _OTHER_LETTER.sub(latin, text)


def _with_letter_of_number(text: str, options: Sequence[str], question: str) -> str:
    """A text in which the number of an option that is called the answer is its letter, where the
    question numbers its options: "1. red", or its options are numbered: "I. red".

    >>> _with_letter_of_number("<answer>2</answer>", ["red", "blue"], "Which?\\n1. red\\n2. blue")
    '<answer>B</answer>'
    """
    rows = list(zip(LETTERS, options, strict=False))
    if without_numerals(options) != options:
        letters = dict(zip(_ROMAN, LETTERS[: len(options)], strict=False))
    else:
        asked = enumerate(rows, 1) if "1. " in question else ()
        letters = {str(n): letter for n, (letter, row) in asked if f"{n}. {row}" in question}
    if not letters:
        return text
    return _CALLED_NUMBER.sub(lambda match: match[1] + letters.get(match[2], match[2]), text)


def without_numerals(options: Sequence[str]) -> Sequence[str]:
    """Options without the Roman numerals by which all of them are told; "" for one that is no more.

    >>> without_numerals(("I. red", "II. blue")), without_numerals(("I", "you"))
    (['red', 'blue'], ('I', 'you'))
    """
    rows = [re.fullmatch(r"\(?([IVX]+)(?:[.):]\s*(.*)|$)", option, re.DOTALL) for option in options]
    numerals = tuple(row[1] for row in rows if row)
    if numerals and numerals == _ROMAN[: len(options)]:
        return [row[2] or "" for row in rows if row]
    return options


_ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")
_CALLED_NUMBER = re.compile(
    r"((?i:<answer>|\\boxed\{|\b(?:answer|option|choice)(?: is)?:? |^)[\s(*]*)(\d|[IVX]{1,4})"
    r"(?=[\s).*]*(?i:</answer>|\}|$))",
    re.MULTILINE,
)


def with_single_letters(text: str, letters: str) -> str:
    """A text in which a letter that is written several times over, as some prompts ask for, stands
    once.

    >>> with_single_letters("The answer is BBBBB.", "ABCD")
    'The answer is B.'
    """
    if not any(map(text.__contains__, _RUNS[: len(letters)])):
        return text
    return _REPEATED_LETTER.sub(r"\1", text)


_RUNS = tuple(4 * letter for letter in LETTERS)
_REPEATED_LETTER = re.compile(r"(?<![A-Za-z])([A-Z])\1{3,}(?![A-Za-z])")


# --- letters that are ruled out ---

_LETTER = r"[(\[]?(?<![A-Za-z0-9'’])[A-Z](?![A-Za-z0-9'’])[)\]]?"
_CONJUNCTIONS = (
    "and or nor und oder noch et ou ni y u o e nem и или ни و أو और या तथा や と か も"
    " 나 이나 과 와 하고 또는 或 和 及 与 或者"
).split()
_ARTICLE = r"(?:(?:the|la|el|le|les|las|die|as|a|option|opción|opção|l['’]option|选项)\s+)?"
_CONJUNCTION = rf"{words_pattern(_CONJUNCTIONS)}(?![a-z])\s*"
_JOIN = rf"\s*(?:[,、，/&]\s*(?:{_CONJUNCTION})?|{_CONJUNCTION})(?:not\s+)?{_ARTICLE}"
_LONE_CAPITAL = re.compile("[A-Z](?![A-Za-z0-9'’])")
_ARTICLE_OR_PRONOUN = re.compile(r"[AI] (?!(?:and|or|nor|is|are)\b)[a-z]{2}")
_LETTERS = re.compile(rf"{_LETTER}(?:{_JOIN}{_LETTER}){{0,8}}")
_NOUN = (
    r"(?:(?:the|las?|les|os?|as?|die|el)\s+)?(?:(?:options?|answers?|choices?|opci(?:ón|ones)"
    r"|respuestas?|réponses?|alternativas?|opç(?:ão|ões)|respostas?|antworten?|optionen"
    r"|вариант\w*|ответ\w*)\s+)?(?:选项|選択肢|보기|الخيارات?\s+|الخيارين\s+|विकल्प\s+)?"
)
# what rules out the letters behind it
_RULES_OUT = re.compile(
    r"\bnone of (?:\()?$"
    r"|(?:\b(?:rul(?:e|es|ing) out|eliminat(?:e|es|ing)|exclud(?:e|es|ing)|discard(?:s|ing)?"
    r"|(?:i|we|having)(?: have|['’]ve)? (?:ruled out|eliminated|excluded|discarded)|neither"
    # Spanish, Portuguese, French, German, Russian
    r"|descart\w+|elimin(?:o|a|amos|ando|ados|adas)|excluy\w+|exclu(?:o|ímos|indo)|élimin\w+"
    r"|écart\w+|exclu(?:s|ons|ant)|no es|ce n'est(?: ni| pas)|não é|weder|nicht"
    r"|schlie(?:ß|ss)\w+|scheiden|scheidet|fallen|исключ\w+|отбрасыва\w+|не)\b(?:\s+(?:damit|also"
    r"|daher))?|排除|不是|不选|ليس(?:ت)?\b|استبعد\w*|نستبعد)"
    rf"\s*{_NOUN}{_ARTICLE}$",
    re.IGNORECASE,
)
# all that `_RULES_OUT` finds has one of these, which costs less to see
_RULES_OUT_PARTS = (
    *("rul", "elim", "excl", "disc", "neith", "none of", "desc", "excluy", "élim", "écart"),
    *("no es", "n'est", "não", "weder", "nicht", "schlie", "scheid", "fallen", "исключ"),
    *("отбрас", "не", "排除", "不", "ليس", "ستبعد"),
)
# what rules out the letters before it
_RULED_OUT = re.compile(
    r"\s*\b(?:(?:can|could|may|must) (?:all )?be|are|is|were|was)(?: \w+ly| all| both)?"
    r" (?:out\b(?! of)|ruled out|eliminated|excluded|wrong|incorrect|false|impossible"
    r"|not (?:correct|right|possible))\b"
    r"|\s*\b(?:do|does)(?: not|n't) (?:fit|match|apply|work)\b"
    # German, Spanish, French, Portuguese, Russian
    r"|\s*\b(?:sind|ist) (?:\w+ )?(?:falsch|ausgeschlossen|nicht richtig|nicht korrekt)\b"
    r"|\s*\b(?:kommen|kommt) nicht in ?frage\b|\s*\b(?:passen|passt) nicht\b"
    r"|\s*\b(?:scheiden|scheidet|fallen|fällt) (?:\w+ )?(?:aus|weg)\b"
    r"|\s*\b(?:son|es|están?) (?:incorrect|fals|descartad|mal\b|errónea)\w*"
    r"|\s*\b(?:quedan?|se) descarta\w*|\s*\bno (?:es|son) correct\w+"
    r"|\s*\b(?:sont|est) (?:faux|fausse?|incorrecte?|exclue?|éliminée?|à exclure|erronée?)s?\b"
    r"|\s*\bne (?:convien|correspond|fonctionn|march)\w+ pas\b|\s*\bn['’]est pas correct\w*"
    r"|\s*\bno (?:encaja|sirve|cumple|corresponde|concuerda|puede(?:n)? ser)\w*"
    r"|\s*\b(?:(?:também )?não (?:serve|encaixa|corresponde|condiz)\w*|não (?:é|são) corret\w+)"
    r"|\s*\b(?:estão|está|são|é) (?:errad|incorret|fals|descartad)\w+"
    r"|\s*\bне(?:верн\w+| верн\w+| подход\w+|правильн\w+| соответств\w+)"
    r"|\s*\b(?:исключ|отпада|ошибочн)\w+"
    # Japanese, Korean, Chinese, Arabic, Hindi
    r"|\s*(?:では|じゃ)な(?:く、?|い)|\s*は(?:いずれも|すべて|どれも|どちらも)?"
    r"(?:誤り|間違い|除外|不正解|不適切|違|当てはまら|当てはまりま|該当しな|該当しま|合わな|合わず|合いま|正しくな|正しくあ)\w*"
    r"|\s*[은는이가도]?\s*(?:모두 )?(?:아니(?:라|고|며),?|틀[렸리린]\w*|제외\w*|오답\w*"
    r"|(?:맞|옳|적절하|해당하|부합하)지 (?:않|못)\w*)"
    r"|\s*(?:选?项)?(?:[都均]|[也与和]\w{1,4})?(?:可以|可|被)?(?:排除|不对|不正确|错误|不符|不一致)"
    r"|\s*(?:(?:كل|جميع|كلا)ها |كلاهما )?(?:خاطئ\w*|خطأ|غير صحيح\w*|مستبعد\w*)"
    r"|\s*(?:नहीं|(?:\w+ )?ग़?लत हैं?)",
    re.IGNORECASE,
)
_MAX_NOUN_CHARS = 48


_EXCEPT_BEFORE = re.compile(
    r"\b(?:but|except(?: for)?|besides|other than|apart from|außer|sauf|excepto|exceto|menos"
    r"|salvo|кроме)"
    r" (?:option |the |la |a |der )?\(?$",
    re.IGNORECASE,
)


def _is_bracketed(text: str, start: int) -> bool:
    """Whether a bracket opens before the letter that starts here."""
    return start > 0 and text.startswith(("(", "["), start - 1)


def without_ruled_out(text: str) -> tuple[str, frozenset[str]]:
    """A text without the letters that it rules out and the words that do so, and those letters.

    >>> without_ruled_out("A scheidet aus, also B.")
    (', also B.', frozenset({'A'}))
    """
    ruled_out: set[str] = set()
    pieces = []
    end = 0
    for capital in _LONE_CAPITAL.finditer(text):
        letters = _LETTERS.match(text, capital.start() - _is_bracketed(text, capital.start()))
        if letters is None or letters.start() < end:
            continue
        is_sole = letters.end() - letters.start() == 1
        is_word = is_sole and _ARTICLE_OR_PRONOUN.match(text, letters.start()) is not None
        if is_word and letters[0] == "I":
            continue
        start = max(end, letters.start() - _MAX_NOUN_CHARS)
        leading = text[start : letters.start()]
        lower_leading = leading.lower()
        may_rule_out = not is_word and any(part in lower_leading for part in _RULES_OUT_PARTS)
        before = _RULES_OUT.search(leading) if may_rule_out else None
        is_negated = "none of" in lower_leading
        after = None if is_negated else _RULED_OUT.match(text, letters.end())
        if after and _EXCEPT_BEFORE.search(leading):
            continue  # "all but B are wrong"
        if before or after:
            ruled_out.update(filter(str.isupper, letters[0]))
            pieces.append(text[end : start + before.start() if before else letters.start()])
            end = after.end() if after else letters.end()
    if not ruled_out:
        return text, frozenset()
    return "".join((*pieces, text[end:])), frozenset(ruled_out)


def names_letters(options: Sequence[str]) -> bool:
    """Whether an option speaks of others by their letters, is a letter that is not its own, or
    would rule out a letter before it: "(B) 错误".

    >>> names_letters(("red", "blue", "Both A and B")), names_letters(("B", "A"))
    (True, True)
    >>> names_letters(("Vitamin C", "Iron"))
    False
    """
    for letter, option in zip(LETTERS[: len(options)], options, strict=True):
        capitals = _LONE_CAPITAL.findall(option)
        is_other = option in LETTERS and option != letter
        is_reference = capitals and _REFERENCE.search(option)
        if len(capitals) > 1 or is_other or is_reference or _RULED_OUT.match(f" {option}"):
            return True
    return False


_REFERENCE = re.compile(r"\b(?:only|both|neither|all|none)\b", re.IGNORECASE)


# --- letters that are called correct, or weighed ---

_CORRECT = re.compile(
    r"(?:\b(?:option|choice|answer|letter)s?\s*)?(?<![\w'])(?<!\bthrough )(?<!\bor )"
    r"[(\[]?([A-Z])[)\]]?(?![\w'])(?:[,:] (?:(?!\b[A-Z]\b)[^.\n]){0,60}?)?"
    r"\s+(?:is|are|seems?|looks?|must be|would be|appears?|was)\s+(?:to be\s+)?"
    r"(?:(?:therefore|thus|clearly|definitely|indeed|the|most|only|one|that|a)\s+)*"
    r"(?:correct|right|best|better|answer|closest|true|match|likely|appropriate|accurate|fitting)\b"
    r"|(?<![\w'])([A-Z])\s+(?:(?:fits|works|matches|suits)(?: \w+){0,3} (?:best|better)"
    r"|makes (?:the )?most sense)\b"
    r"|(?<![\w'])([A-Z])\s+is\s+(?:the\s+)?(?:more|most)\s+(?:plausible|convincing|reasonable"
    r"|probable"
    r"|sensible|consistent|fitting|suitable)\b"
    r"|\bmakes (?:option |choice )?[(\[]?([A-Z])[)\]]?"
    r" (?:the )?(?:more|most|best|better|correct|right)\b"
    r"|\b(?:corresponds?|matches|belongs|equals|refers|points?|supports?|favou?rs?|suggests?"
    r"|indicates?|leaves(?: only)?|which is)"
    r" (?:to |with )?(?:option|choice"
    r"|answer)"
    r"\s*[(\[]?([A-Z])[)\]]?(?![\w']|,? (?:and|or) [(\[]?[A-Z]\b)"
    r"|\b(?:best|closest|correct|right) (?:option|choice|answer|match)[^.\n]{0,20}?"
    r"\b(?:option|choice)\s*[(\[]?([A-Z])[)\]]?(?![\w'])"
    r"|\b([A-Z])[)\].]?(?:\s[^\n:?–—|-]{1,60})?\s*[:?–—|-]\s*(?:[Yy]es|[Cc]orrect|[Tt]rue)\b"
)
# where that may begin: a capital alone, perhaps in brackets, or one of these words
_CAPITAL = re.compile(r"[A-Z](?!\w)")
_CORRECT_WORDS = CueIndex(
    correct=CueSearch(
        _CORRECT,
        frozenset(
            "option options choice choices answer answers letter letters correspond corresponds"
            " support supports favor favors favour favours suggest suggests indicate indicates"
            " point matches belongs equals leaves which makes refers points best closest correct"
            " right".split()
        ),
    )
)


def called_correct(text: str) -> Iterator[re.Match[str]]:
    """Yield what calls a letter the correct one, as `_CORRECT.finditer` does, only faster."""
    capitals = [match.start() for match in _CAPITAL.finditer(text)]
    if not capitals:
        return
    starts = _CORRECT_WORDS.offsets(text)["correct"]
    for capital in capitals:
        if _is_bracketed(text, capital):
            starts.append(capital - 1)
        starts.append(capital)
    end = 0
    for start in sorted(starts):
        match = _CORRECT.match(text, start) if start >= end else None
        if match is not None:
            yield match
            end = match.end()


# what calls a letter correct in other languages, behind it and before it
_CORRECT_BEHIND = re.compile(
    r"\s*\)?\s+(?:(?:ist|wäre) (?:damit |also |daher |die |der |das )*(?:richtig|korrekt"
    r"|zutreffend|beste)"
    r"|trifft (?:\w+ )?zu\b|stimmt\b|passt (?:am besten|genau)"
    r"|(?:es|sería|está|é|seria) (?:la |a |el |o )?(?:opción |respuesta |opção |resposta "
    r"|alternativa )?"
    r"(?:correct|corret|cert|adecuad|adequad|verdader|verdadeir)"
    r"|(?:est|serait) (?:donc )?(?:la |le )?(?:bonne|correcte?|juste|vraie|exacte)"
    r"|(?:—|–|-|является)? ?(?:верн|правильн)\w+|подходит\b)"
    r"|\s*\)?\s*(?:が(?:正し|正解|最も適切|適切)|(?:选?项)?(?:是)?(?:正确|对的|最合适|符合)|(?:가"
    r"|이) (?:맞|정답|옳|적절)"
    r"|सही है|हي (?:الإجابة )?الصحيح|صحيح)",
    re.IGNORECASE,
)
_EXCEPTED = re.compile(
    r"\b(?:(?:all|every)\w*(?: (?:the )?(?:options?|choices?|answers?|others?|of them))?"
    r" (?:except|but|besides|other than|apart from)(?: for)?"
    r"|alle (?:\w+ )?außer|toutes? (?:\w+ )?sauf|todas? (?:las \w+ |as \w+ )?(?:excepto|menos"
    r"|exceto|salvo)"
    r"|все,? кроме) (?:option |the |la |a |der )?\(?([A-Z])\)?"
    r" (?:(?:can|could|may) be|are|is|sind|sont|son|están|estão|são|скорее)? ?(?:all )?(?:wrong"
    r"|incorrect"
    r"|false|ruled out|eliminated|excluded|falsch|ausgeschlossen|fausses|incorrect|fals|descartad"
    r"|errad"
    r"|неверн)",
    re.IGNORECASE,
)


def called_correct_abroad(text: str, letters: str) -> list[tuple[str, int]]:
    """The letters that a text calls correct in another language than English, or excepts from
    those that it calls wrong, with their offsets.
    """
    called = []
    for capital in _LONE_CAPITAL.finditer(text):
        start = capital.start()
        if capital[0] not in letters:
            continue
        is_word_end = start and (text[start - 1].isalnum() or text[start - 1] in "'’")
        behind = None if is_word_end else _CORRECT_BEHIND.match(text, capital.end())
        if behind and not _DENIED_BEFORE.search(text, max(0, start - 30), start):
            called.append((capital[0], start))
        elif not is_word_end and _EXCEPT_BEFORE.search(text, max(0, start - 24), start):
            excepted = _EXCEPTED.search(text, max(0, start - 60))
            if excepted and excepted.start(1) == start:
                called.append((capital[0], start))
    return called


_DENIED_BEFORE = re.compile(
    r"\b(?:nicht|weder|kein\w*|wenn|falls|no|ni|si|non|ne|não|nem|se|не|ни|если)\b[^.,;]*$"
    r"|(?:場合|なら|とすると|とすれば|경우|다면|라면)は?[、,]?\s*$"
    r"|(?:如果|假如|假设|यदि|अगर|إذا|لو)[^。.;；।]*$",
    re.IGNORECASE,
)
# an option that is weighed: "B. red - the car is blue"
_WEIGHED = re.compile(r"[(\[]?([A-Z])[.):\]] \S+ \S")


def is_cut_listing(sentences: Sequence[str], letters: str) -> bool:
    """Whether an answer weighs the options one by one and breaks off before the last."""
    if not sentences or sentences[-1][-1:] in ".!?)。":
        return False
    weighed = [match[1] for match in map(_WEIGHED.match, sentences) if match]
    last = _WEIGHED.match(sentences[-1])
    return len(set(weighed)) > 1 and last is not None and last[1] != letters[-1]


_ORDINALS = ("first", "second", "third", "fourth", "fifth", "1st", "2nd", "3rd", "4th", "5th")
_ORDINAL = re.compile(
    rf"\b({'|'.join(_ORDINALS)})\s+"
    r"(?:option|choice|one|answer|figure|image|picture|panel|graph|diagram)\b",
    re.IGNORECASE,
)


def ordinal_index(text: str, question: str) -> int:
    """The index of the option that a sentence counts ("the second option", "option 2"), or -1; the
    second image of which a question speaks is none.
    """
    ordinal = _ORDINAL.search(text)
    if ordinal and ordinal[0].lower() not in question.lower():
        return _ORDINALS.index(ordinal[1].lower()) % 5
    number = re.search(r"\b(?:option|choice)\s+#?(\d)\b", text, re.IGNORECASE)
    return int(number[1]) - 1 if number else -1


# --- letters that are words, and letters alone ---

# "A" and "I" are words, unless a verb or a mark follows: "A is correct"
_VERB = re.compile(
    r"\s+(?i:is|was|because|since|as|and|or|would|seems|looks|matches|shows|has|must|fits|due|best"
    r"|correctly|for|but|by|will|ist|wäre|passt|stimmt|est|serait|es|sería|é|seria|è)\b|\s*(?:$"
    r"|[^\w\s]|[^\x00-\x7fÀ-ɏ])|\s+(?![A-Z'’]{2,}\b)[^a-zÀ-ɏ\s]"
)
_PERSONAL_VERB = re.compile(r"\s+(?:was|would|must|will)\b", re.IGNORECASE)
"""Behind "I" it is what the writer does: "I was unable to tell"."""
UPPER_LETTER = re.compile(rf"(?<![{LATIN}'’.∠△-])[(\[]?([A-Z])[)\]]?(?![{LATIN}'’-])")


def is_word(match: re.Match[str], text: str) -> bool:
    """Whether a capital is the article or the pronoun: "A dog", "I must decline"."""
    if match[0] not in ("A", "I"):
        return False
    is_subject = match[0] == "I" and _PERSONAL_VERB.match(text, match.end()) is not None
    # no sentence has an article in capitals: "the point labelled A on the map"
    is_inside = _INSIDE_SENTENCE.match(text, max(0, match.start() - 2)) is not None
    return is_subject or (not is_inside and _VERB.match(text, match.end()) is None)


_INSIDE_SENTENCE = re.compile(r"[a-z] A [a-z]")


def lone_letter(text: str, letters: str, question: str = "") -> str:
    """The only letter of an option that a sentence has and does not deny; an ordinal ("the second
    option") is one.
    """
    mentioned: set[str] = set()
    for match in UPPER_LETTER.finditer(text):
        # "面积为A" makes it the name of a quantity
        is_symbol = f"为{match[1]}" in question
        is_letter = match[1] in letters and not is_symbol and not is_word(match, text)
        start = sentence_start(text, match.start())
        is_supposed = _SUPPOSITION.search(text, start, match.start()) is not None
        if is_letter and not is_supposed and not is_denied(text, *match.span()):
            mentioned.add(match[1])
    index = ordinal_index(text, question)
    if 0 <= index < len(letters):
        mentioned.add(letters[index])
    return mentioned.pop() if len(mentioned) == 1 else ""


# "If A is correct, the slope is positive" supposes it
_SUPPOSITION = re.compile(r"\bif\b(?:(?!\bthen\b)[^,;:.!?\n])*$", re.IGNORECASE)


def letter_called_right(text: str, letters: str) -> str:
    """The letter of the only option that an answer calls right where it judges all of them:
    "(A) Wrong. (B) Right.", or in which its calculation ends; nothing where it does neither.
    """
    result = _FINAL_LETTER.search(text[-_MAX_RESULT_CHARS:])
    if result and result[1] in letters:
        return result[1]
    if not all(map(text.__contains__, letters)):
        return ""
    verdicts = []
    for letter in _LETTER_ALONE.finditer(text):
        verdict = _VERDICT_BEHIND.match(text, letter.end())
        if verdict:
            verdicts.append((letter[0], verdict[1].lower()))
    if sorted(letter for letter, _ in verdicts) != list(letters):
        return ""
    right = [letter for letter, verdict in verdicts if verdict in _RIGHT_VERDICTS]
    return right[0] if len(right) == 1 else ""


_MAX_RESULT_CHARS = 9
_FINAL_LETTER = re.compile(r"=\s*\(([A-Z])\)[.$\s]*$")
_RIGHT_VERDICTS = ("true", "right", "correct", "yes")
_LETTER_ALONE = re.compile(r"(?<![^\W_])[A-Z](?![^\W_])")
_VERDICT_BEHIND = re.compile(
    # "C (green) – yes": what the option says may stand between
    r"[).:]?(?:(?:\s*(?:\([^()\n]{1,60}\)|\w[^\n.;:!?–—→]{1,60}?))?\s*(?:[:–—→]|->|-(?=\s)))?"
    r"\s+\(?(?:is\s+)?((?:in)?correct|right|wrong|true|false|yes|no)\b",
    re.IGNORECASE,
)


GUESS = re.compile(
    r"^[^,;:—–]{0,30},\s*(?:but |so )?(?:(?:maybe|perhaps|probably|possibly)\s+)?"
    r"(?:it is |option )?\(?([A-Z])\)?\W*$"
)
"""A letter that is guessed behind a doubt: "Not sure, maybe C"."""


_REJECTION = re.compile(r"\bneither (?:option |choice )?\(?[A-H]\b[^.]*\bnor\b")


def rejects_all(sentences: Sequence[str]) -> bool:
    """Whether one of these sentences rejects several options: "neither (A) nor (B)"."""
    return any(map(_REJECTION.search, sentences))


def letters_together(text: str, letters: str) -> tuple[str, ...]:
    """The letters that a text has in a row and nothing else: "CE" for C and E.

    >>> letters_together("CE.", "ABCDE"), letters_together("ICE", "ABCDE")
    (('C', 'E'), ())
    """
    row = text.rstrip(" .*)")
    if len(row) < 2 or len(set(row)) < len(row) or not set(row).issubset(letters):
        return ()
    return tuple(row)


def letter_behind_or(text: str) -> tuple[str, ...]:
    """The letter of a second option that stands behind a first one: "or E) cupboard"."""
    letter = _SECOND_LETTER.match(text)
    return (letter[1].upper(),) if letter else ()


_SECOND_LETTER = re.compile(r"(?:,? (?:or|and)|,) \(?([a-j])\)")


def judges_letter(sentence: str) -> bool:
    """Whether a sentence begins with a letter that stands apart, "B. red", ends with one, or judges
    an option.
    """
    return _JUDGED_LETTER.match(sentence) is not None


_JUDGED_LETTER = re.compile(
    r"\W*(?:[A-Z]\b\W*(?:$|[.):])|[(\[][a-z][)\]]\W*$)"
    r"|.*\b(?:is|be) (?:the )?(?:correct|right|best)\b"
    r"|\W*(?:[Ii]t|[Tt]hat|[Tt]his|[Ss]o)\b.{0,30}[\s(\[][A-Z][)\]]?\W*$"
)


def varies(text: str) -> bool:
    """Whether an answer begins by saying that it depends on the person, and concludes nothing."""
    return _VARIES.match(text) is not None and _CONCLUDES.search(text, _MIN_REMARK_CHARS) is None


_MIN_REMARK_CHARS = 20
_VARIES = re.compile(
    r"(?:this|the answer|this answer|it) (?:(?:will|would|may|can|could) )?(?:vary|varies|depends?)"
    r" (?:on|depending|from|by)\b",
    re.IGNORECASE,
)
_CONCLUDES = re.compile(r"\b(?:answer|so|therefore|thus)\b", re.IGNORECASE)
_LETTER_PREDICATE = re.compile(r"([A-H]) (?:is|has|looks) (\w+)")


def letter_with_predicate(
    sentences: Sequence[str], options: Sequence[str]
) -> tuple[str, ...] | None:
    """The letter of which an answer says what every option says of its own: "Point A seems closer",
    where the options are "A is closer" and "B is closer"; None where they say something else.
    """
    statements = list(map(_LETTER_PREDICATE.fullmatch, options))
    predicates = {statement[2] if statement else "" for statement in statements}
    if len(predicates) != 1 or "" in predicates:
        return None
    predicate = re.escape(predicates.pop())
    near = rf"\b([A-H])\b(?: (?!than |[Nn]ot )[\w-]+){{0,4}}? {predicate}\b"
    far = rf"\b([A-H])\b(?:(?! than |[Nn]ot |n't)[^.])*?\b{predicate}\b"
    letters = [statement[1] for statement in statements if statement]
    # "Point B is deeper in the scene, closer to the wall" has another subject
    near_subjects, far_subjects = (
        list(filter(None, map(re.compile(subject).search, sentences))) for subject in (near, far)
    )
    for subject in (near_subjects or far_subjects)[-1:]:
        if subject[1] in letters:
            return (LETTERS[letters.index(subject[1])],)
    return ()


def sole_undenied_letter(text: str, letters: str) -> tuple[str, ...]:
    """The one letter left where an answer denies all others, each by a word.

    >>> sole_undenied_letter("A is wrong and C is not possible.", "ABC")
    ('B',)
    """
    denied = set()
    for match in UPPER_LETTER.finditer(text):
        if match[1] in letters and is_denied(text, *match.span()):
            denied.add(match[1])
    remaining = set(letters) - denied
    # "B is not C" denies one of them, whichever
    n_denials = len(_DENIAL_WORD.findall(text))
    return tuple(remaining) if len(remaining) == 1 < len(denied) <= n_denials else ()


_DENIAL_WORD = re.compile(
    r"\b(?:not|wrong|incorrect|false|ruled out|eliminated|impossible|excluded)\b|n't\b|不",
    re.IGNORECASE,
)
