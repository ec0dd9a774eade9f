"""Where an answer commits itself: the passages in which it says what it answers.

Models think aloud, number their steps, write LaTeX and change their minds. What counts is the last
passage in which they say what they answer: `\\boxed{B}`, `Answer: B`, "so it must be B", "wait, no:
B". `parse_answer` finds them; what a passage says is read by `hqm.scoring.short_answers`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from hqm.scoring.cue_search import CueIndex, CueSearch, WordSearch, ascii_words
from hqm.scoring.plain_text import (
    BOLD,
    BOLD_END,
    BOX,
    BOX_END,
    MARKS,
    TASK,
    UNSPACED_LETTERS,
    breaks_off,
    breaks_off_in_formula,
    first_turn,
    plain,
    says_unable,
    with_plain_dates,
    without_closing_remarks,
    without_marks,
)
from hqm.scoring.polar_words import FIRST_THOUGHTS_ABROAD

EXCEPTION = re.compile(
    r"\b(?:(?:all|each|(?:every|any)(?:thing|one|body)?)\b(?: (?!(?:is|are|was|were)\b)\w+)? but"
    r" (?!\w+ (?:is|are|was|were)\b)|except(?:ing)?\b|excluding\b|with the exception of\b"
    r"|(?:apart|aside) from\b|other than\b)",
    re.IGNORECASE,
)
"""What stands behind it is what a statement does not hold for: "all except 2015"."""
_OPTION_LINE = re.compile(r"^\s*[*-]?\s*\ue002?[(\[]?([A-Z]{1,2})[.):\]][ \t\ue003]*\S")
_ITEM = r"(?:[A-Z] and [A-Z]\b|(?!\b(?:is|are|and|or|not|so|but|as|would)\b)[^()\n])*"
# options that are repeated in one line, as (A) ... (B) ... (C)
_LISTED = re.compile(rf"\(A\){_ITEM}\(B\){_ITEM}\(C\){_ITEM}(?:\([D-Z]\){_ITEM})*")
# an option that is called the right one in the list of all
_RIGHT_OPTION_LINE = re.compile(r"[:–—-]\W{0,3}(?:yes|correct|right|true)\b", re.IGNORECASE)
# code between fences is no prose; only what is called the answer counts in it
_FENCE = re.compile(r"```.*?(?:```|$)", re.DOTALL)
# an answer that is a program is unread: what it prints is not known
_CODE_WORDS = ("import ", "def ", "print(", "#include")
_CODE = re.compile(
    r"^\s*(?:import \w+(?: as \w+)?\s*$|from [\w.]+ import |def \w+\(|print\(|#include)",
    re.MULTILINE,
)
# --- what announces an answer ---

_KIND = (
    r"(?:final|correct|best|right|most likely|most appropriate|closest|short|my|overall|only|true)"
)
_NOUN = (
    r"(?:answer|option|choice|solution|letter|conclusion|result|ans|verdict|judge?ment|response"
    r"|prediction|selection)"
)
_IS = r"(?:is|was|are|would be|should be|must be|will be|has to be|appears to be|seems to be)"
_SPACED_CUES = (
    # a text between the noun and the answer, such as the German verb, is part of the phrase
    r"\b(?:antwort|lösung|ergebnis)\b(?:\s+(?:ist|lautet|wäre)"
    r"|(?!\s+(?:der|des|dieser|von)\b))\s*:?"
    r"|\b(?:antwort|lösung|ergebnis) [^.:\n]{1,80}? (?:ist|lautet|wäre)\b",
    r"\b(?:bonne |)réponse\b(?:\s+(?:correcte|finale|exacte))?(?:\s+(?:est|serait))?\s*:?",
    r"\b(?:respuesta|opción)\b(?:\s+(?:correcta|final))?(?:\s+(?:es|sería))?\s*:?",
    r"\b(?:resposta|opção)\b(?:\s+(?:correta|final))?(?:\s+(?:é|seria))?\s*:?",
    r"\b(?:risposta|opzione)\b(?:\s+(?:corretta|finale|giusta))?(?:\s+(?:è|sarebbe))?\s*:?",
    r"\b(?:bonne|correcta|correta|corretta) (?:est|es|é|è)\b|\b(?:richtig|korrekt) (?:ist|wäre)\b",
    # "Ich würde sagen b)"
    r"\b(?:ich (?:würde sagen|tippe auf|denke|glaube)|(?:eu )?dir[ií]a que|elijo|je dirais|escolho"
    r"|думаю|считаю)\b,?(?: (?:dass|es|ist|la|le|a|é|что|это))*\s*(?=\(?(?-i:[A-Z])\b|\(?[a-z]\))",
    r"\bantwoord\b(?:\s+is)?\s*:?|\boption\s+(?:ist|est|es)\b",
    # what is left when the others are ruled out: "queda la E"
    r"\b(?:quedan?|reste|bleibt|resta|sobra)\s+(?:(?:sólo|solo|nur|apenas|que|la|a)\s+)*"
    r"(?:(?:opción|réponse|opção|option)\s+)?(?=[(]?(?-i:[A-Z])\b)",
    r"\b(?:prawidłowa\s+)?odpowiedź\b(?:\s+to)?\s*:?|\bcevap\b\s*:?|\b(?:đáp án|câu trả lời)"
    r"(?:\s+(?:đúng|là))*\s*:?|\bjawaban(?:nya)?\b(?:\s+(?:yang benar|adalah))*\s*:?",
)
_UNSPACED_CUES = (
    r"(?:应该是|应为|应该为|应是|而是|就是)\s*(?=[(（]?[A-Z](?![a-z]))",
    r"(?:正确|最终|最后)?的?(?:答案|选项|结论)(?:应该|应当)?(?:是|为|选)?\s*[:：]?|(?<![问回应])答[:：]",
    r"(?:故|应|因此|所以)\s*(?:本题)?\s*(?:选择?|答案[是为选])\s*[:：]?|(?:我|应该|^"
    r"|，)选择?\s*[:：]?(?!项)",
    r"(?:最終的な|正しい)?(?:答え|回答|解答|正解|選択肢)(?:は|：|:)",
    r"(?:최종|정확한)?\s*(?:정답|답|답변)(?:은|는|:)",
    r"(?:правильный\s+|верный\s+)?(?:ответ|вариант)(?![а-яё])\s*(?::|—|–|-|это)?",
    r"(?:الإجابة|الجواب|الخيار(?= الصحيح))(?:\s+(?:الصحيحة|الصحيح|النهائية|هي|هو))*\s*:?",
    r"(?:(?:सही\s+)?(?:उत्तर|जवाब)|सही विकल्प)(?:\s+है)?\s*:?",
    r"(?:پاسخ|جواب)(?:\s+(?:صحیح|درست|نهایی))*\s*:?",
)
_UNSPACED_LETTER = re.compile(f"[{UNSPACED_LETTERS}]")
_CUE = CueSearch(
    re.compile(
        r"(?:"
        rf"\b(?:{_KIND}\s+)*(?:{_NOUN}|answers)(?:\s*\([^()]*\))?\s*[{BOLD_END}\"”']?\s*"
        r"(?:[:：→]|->|=(?!=))"
        rf"|\b(?:(?:{_KIND}\s+)*(?:{_NOUN})|{_KIND}\s+(?:value|list|number|order|sequence))"
        r"(?:\s+(?:letter|choice|option|value|number))?(?:(?<=answer) \([^()\n]{4,40}\)"
        rf"|\s+(?:to|for|of|from|among|in|here|that)\b[^.:\n{BOX}]{{0,100}}?)?\s+{_IS}\b"
        # "this conclusion is based on ..." gives reasons for what was said before
        r"(?!\s+(?:\w+ly\s+)?(?:based|reached|drawn|supported|derived|inferred|deduced|evident"
        r"|indicated|backed)\b)"
        r"(?:\s+(?:therefore|thus|then|clearly|indeed|definitely"
        r"|(?:most |very )?(?:likely|probably))(?!\s+not\b))?\s*[:：]?"
        r"|\b(?:i|we|let's|let us|i'd|i'll|i'm|one)\s+(?:would\s+|will\s+|should\s+|must\s+"
        r"|can\s+)?"
        r"(?:go(?:ing)? with|choose|chose|pick|select|settle on|opt for|answer with|answer(?! th)"
        r"|lean(?:ing)? (?:towards?|to)|vote for|mark|circle)\b\s*:?"
        r"|\bif (?:forced|pressed|i (?:had|have) to (?:guess|choose|pick))\b[^.:,\n]{0,20}[,:]"
        r"(?:\s*i(?:'d| would) (?:say|guess))?|\bi(?:'d| would) (?:say|guess)\b|\bthat leaves\b"
        r"|\bleav(?:es|ing)\s+(?:(?:us|me|you)\s+(?:with\s+)?)?(?=(?:only\s+"
        r"|just\s+)?(?:option\s+)?\(?(?-i:[A-Z])\b)"
        r"|\bans(?:wer)?\s+[-–—](?=\s)"
        r"|\bchang(?:e|ing) (?:it|(?:my|the) (?:answer|choice|mind)) to\b"
        r"|\bbetween [^.:\n]{1,40}? and [^.:,\n]{1,40}?,? (?<!if )it (?:is|must be|has to be)\b"
        r"|\b(?:answering|choosing|selecting|going with)\b(?! th)\s*:?"
        rf"|{'|'.join(_SPACED_CUES)}"
        r")",
        re.IGNORECASE,
    ),
    first_words=frozenset(
        "final correct best right most closest short my overall only true answer answers option"
        " choice solution letter conclusion result ans verdict judgement judgment response"
        " prediction selection i we let one if leaves leaving between change changing answering"
        " choosing selecting going antwort lösung ergebnis bonne réponse respuesta opción resposta"
        " opção risposta opzione correcta correta corretta richtig korrekt antwoord prawidłowa"
        " odpowiedź cevap đáp câu jawaban jawabannya queda quedan reste bleibt resta sobra"
        " ich diría elijo je eu diria escolho думаю считаю".split()
    )
    | {"that leaves"},
    unspaced=((_UNSPACED_LETTER, re.compile("|".join(_UNSPACED_CUES), re.IGNORECASE)),),
)
# a cue behind one of these announces nothing: "if the answer is", "the wrong option is"
_IF = re.compile(
    r"\b(?:if|whether|unless|when|each|every|which|no|not an?|possible|wrong|incorrect|one|given"
    r"|previous|first|initial|second|third|fourth|next|other|of|for)\s+(?:(?:of )?the\s+|my\s+)?$",
    re.IGNORECASE,
)


_IF_WORDS = frozenset(
    "if whether unless when each every which no not possible wrong incorrect one given previous"
    " first initial second third fourth next other of for".split()
)


def _correction_starts(text: str, offset: int) -> tuple[int, ...]:
    """Where a correction may begin: at its word, at "n't", or at the mark before "no"."""
    if text[offset : offset + 1] in "tT":
        if text[offset - 2 : offset] in ("n'", "N'") and _may_contrast(text, offset):
            return (offset - 2,)
        return ()
    if text[offset : offset + 3].lower() == "not" and not _may_contrast(text, offset):
        return ()
    mark = _MARK_BEFORE.search(text, max(0, offset - 8), offset)
    is_no = text[offset : offset + 2] in ("no", "No", "NO")
    return (mark.start(), offset) if mark and is_no else (offset,)


def _may_contrast(text: str, offset: int) -> bool:
    """Whether what corrects a denial may follow it: "not A but B", "not A, it's B"."""
    behind = text[offset : offset + _MAX_DENIED_CHARS].lower()
    return " but " in behind or any(map(behind.__contains__, _CONTRASTING))


_MAX_DENIED_CHARS = 90
_CONTRASTING = (" it's", " it is", " that's")


_MARK_BEFORE = re.compile(r"(?:\.\.\.|…|[?!,]|—|–|\s-)\s*$")
_HESITATIONS = tuple("h" + "m" * length for length in range(2, 9))
_CORRECTION = CueSearch(
    re.compile(
        r"(?:\b(?:wait(?!\s+(?:times?|lists?|periods?|for|at|in|on|until|till|to|behind|here|is"
        r"|was)\b)|actually|hmm+|correction|sorry|oops|scratch that|on second thoughts?"
        r"|make that|i meant?|my mistake|let me (?:correct|rephrase)(?: that| myself)?|no wait"
        r"|wacht|warte|attends|espera|aspetta|стоп|подождите)\b|\bhold on\b"
        r"|\bon (?:a )?closer (?:inspection|look)\b"
        r"|\bnot\b[^.\n]{1,60}?,? but (?:rather |instead )?"
        r"|(?:\bnot|n't)\b[^.\n]{1,60}?[,;] (?:it's|it is|that's)\b|(?:\.\.\.|…|[?!]|—|–"
        r"|\s-)\s*no\b(?=[,:])|,\s*no\b(?=,\s+\d))"
        r"(?:[\s,:;!—–]|[-.](?!\d))*",
        re.IGNORECASE,
    ),
    first_words=frozenset(
        (
            *_HESITATIONS,
            *"wait actually correction sorry oops no not t".split(),
            *("scratch that", "make that", "i mean", "i meant", "my mistake", "let me"),
            *("on second", "hold on", "on closer", "on a closer"),
            *"wacht warte attends espera aspetta стоп подождите".split(),
        )
    ),
    find_starts=_correction_starts,
    unspaced=(
        (re.compile("[等不更]"), re.compile(r"(?:等等|不对|更正)(?:[\s,:;!—–]|[-.](?!\d))*")),
    ),
)
# the clause of a contrast that leaves out its predicate: "Hanoi did not win; Oslo did"
_ELLIPTIC_CONTRAST = re.compile(
    r"(?:\bnot|n't)\b[^.;\n]{1,80}?[.;,—–]\s+(?:but |while |and |whereas |instead,? )?"
    r"(?!(?:where|which|who|whose|when|as|because|since|if|although"
    r"|though)\b)([^.;,\n]{1,40}?)\s+(?:did|does|do|was|were|is|are|has|had|have)[.!]?\s*$",
    re.IGNORECASE,
)
_AUXILIARIES = tuple(f" {verb}" for verb in "did does do was were is are has had have".split())
_MAX_CONTRAST_CHARS = 160


# a first thought is removed before anything is read: it is corrected in the same sentence
def _first_thought_starts(text: str, offset: int) -> tuple[int, ...]:
    """Where a first thought may begin: at its word, or at the verb before "at first"."""
    if text[offset : offset + 2] in ("at", "At"):
        verb = _LOOKS.search(text, max(0, offset - 40), offset)
        if verb:
            return (verb.start(),)
    return (offset,)


_LOOKS = re.compile(r"\b(?:looks?|seems?|appears?)(?: \w+){0,3} $", re.IGNORECASE)
_FIRST_THOUGHT = CueSearch(
    re.compile(
        r"\b(?:(?:(?:looks?|seems?|appears?)(?: \w+){0,3} )?at first(?: glance)?|initially"
        r"|my first|i (?:first )?(?:thought|assumed"
        r"|misread))\b[^.\n]{2,80}?(?:[;,] (?:but|after|however|then)\b|;)"
        r"|(?:(?<=[.!?\n] )|(?<=\n)|^)(?:(?:even )?(?:though|although)"
        r"|while\b(?=[^.,\n]+\b(?:might|may|could)))\b[^.,\n]{2,80},"
        r"|\b(?:al)?though (?:at first|initially)\b[^.,\n]{2,80},"
        rf"|{'|'.join(FIRST_THOUGHTS_ABROAD)}"
        r"|\b(?:looks? like|resembles"
        r"|(?:could|might|may) (?:seem|suggest|be (?:read|seen|taken)))\b[^.\n]{2,60}?,? but\b"
        r"(?=[^.\n]*\b(?:indicates?|suggests?|points?|means|actually|really|must|in fact"
        r"|it(?:'s| is))\b)",
        re.IGNORECASE,
    ),
    first_words=frozenset(
        "at first,initially,my first,i first,i thought,i assumed,i misread,even though"
        ",even although,though,although,look like,looks like,resembles,could seem,could suggest"
        ",could be,might seem,might suggest,might be,may seem,may suggest,may be,while"
        ",zuerst,zunächst"
        ",anfangs,primero,inicialmente,al principio,au début,d abord,primeiro,a princípio,сначала"
        ",вначале,на первый,parece,on dirait,sieht aus,sieht zwar"
        ",auf den ersten,a primera,à primeira,à première".split(",")
    ),
    find_starts=_first_thought_starts,
    unspaced=(
        (
            re.compile("[最初처起开始乍فपश]"),
            re.compile(
                "(?:最初は|初めは|一見)[^。\n]{1,40}?(?:が|けど|けれど)、?|처음에(?:는|ㄴ)?[^.\n]{1,40}?지만,?"
                "|[^.\n]{1,24}처럼 보이지만,?"
                "|(?:起初|一开始|最初|开始|乍看)[^。\n]{1,40}?[,，](?:但|不过|然而|后来|其实|实际上)(?:其实|是)?"
                "|في البداية[^.\n]{2,60}?(?:لكن|ولكن)|(?:पहले|शुरू में)[^।\n]{2,60}?(?:लेकिन|परंतु"
                "|पर) "
            ),
        ),
    ),
)
# what stands before a retraction does not count, whatever called it the answer
_RETRACTION = CueSearch(
    re.compile(
        # "No, that is wrong" at the very beginning answers, and takes nothing back
        r"\b(?:wait|actually|hmm+|(?!^)no|but)\b[\s,:;.!—–-]*"
        r"(?:that|this|it)(?:'s| is| was| seems)\s+"
        r"(?:wrong|incorrect|not (?:right|correct)|a mistake|impossible)"
        # an answer that ends in two cases leaves open which holds
        r"|\bif\b[^.!?\n]{3,120}?[,:][^.!?\n]{1,80}?(?:[;,.]| but| and)\s*"
        r"(?:otherwise|else|if (?!so\b|not\b))[^.!?\n]+[.!\s]*$"
        r"|\bif (?:you|we|one) (?:ignore|exclude|disregard|discount|leave out)s?\b[^.!?\n]+[.!\s]*$"
        r"|\bif (?:you|we|one|the question|by) [^.!?\n]{0,20}?\b(?:mean|refer|ask|count|take)s?\b"
        r"[^.!?\n]{2,80}(?:;| but\b)[^.!?\n]+[.!\s]*$",
        re.IGNORECASE,
    ),
    first_words=frozenset((*_HESITATIONS, "wait", "actually", "no", "but", "if")),
)


def _conclusion_starts(text: str, offset: int) -> tuple[int, ...]:
    """Where a conclusion may begin: at a word that begins a line or stands behind a mark."""
    end = offset
    # a slice of all that stands before would be copied
    while end and (text[end - 1].isspace() or text[end - 1] == BOLD):
        end -= 1
    is_line_start = offset == 0 or "\n" in text[end:offset]
    return (offset,) if is_line_start or text[end - 1 : end] in _CONCLUSION_MARKS else ()


_CONCLUSION_MARKS = tuple('.!?;,:"”)')
_CONCLUSION = CueSearch(
    re.compile(
        # "A saw is there, and so is a drill" concludes nothing
        r"(?:and\s+)?(?:so(?! (?:is|are|was|were|does|do|did) (?:an?|the)\b)|therefore|thus|hence"
        r"|consequently|accordingly"
        r"|in conclusion|in summary|to conclude|in short|overall|finally|in total|altogether"
        r"|in all(?! (?!there\b|i\b)(?-i:[a-z]))|as a result"
        r"|(?:which|this|that) (?:means|implies|makes it)(?: that)?"
        # English sentences begin with "Also," and German conclusions without a comma
        r"|daher|also(?!,)|deshalb|deswegen|somit|folglich|demnach|mithin|donc|ainsi|alors(?! que)"
        r"|par (?:conséquent|suite)|por (?:lo )?tanto|por consiguiente|por eso|así (?:que|pues)"
        r"|de modo que|por isso|dess[ae] (?:forma|modo)|então|portanto|quindi|dunque"
        r"|таким образом|следовательно|итак|значит|поэтому|в итоге)\b[\s,:]*",
        re.IGNORECASE,
    ),
    first_words=frozenset(
        (
            *"and so therefore thus hence consequently accordingly overall finally".split(),
            *"altogether daher also deshalb donc ainsi por portanto quindi dunque таким".split(),
            *"deswegen,somit,folglich,demnach,mithin,значит,поэтому,в итоге,as a".split(","),
            *"par conséquent,par suite,alors,así que,así pues,de modo,então,dessa,desse".split(","),
            *"следовательно,итак,to conclude,in conclusion,in summary,in short".split(","),
            *"which means,which implies,which makes,this means,this implies".split(","),
            *"this makes,that means,that implies,that makes,in total,in all".split(","),
        )
    ),
    find_starts=_conclusion_starts,
    unspaced=(
        (
            _UNSPACED_LETTER,
            re.compile(
                r"(?:^|(?<=[.。।！？\n，,،]))\s*(?:因此|所以|综上|总之|したがって|つまり|よって|따라서|그러므로"
                r"|즉(?=[\s,])|결론적으로|ゆえに|以上より|由此可见|总的来说"
                r"|لذلك|لذا|إذن|وبالتالي|بالتالي|وعليه|इसलिए|अतः|इस प्रकार)[\s,،，、:：]*",
                re.MULTILINE,
            ),
        ),
        (
            re.compile("[>∴⇒→]"),
            re.compile(r"[∴⇒]\s*|(?:→|=>)\s*(?=[^→>\n]*$)", re.MULTILINE),
        ),
    ),
)
_CUES = CueIndex(
    cue=_CUE,
    correction=_CORRECTION,
    conclusion=_CONCLUSION,
    retraction=_RETRACTION,
    first_thought=_FIRST_THOUGHT,
)
# no sentence ends behind an initial, an abbreviation or the letter of an option
_END = re.compile(
    r"[.!?。！？\n](?:(?<=[.!?])(?<!\bvs\.)(?<!\bca\.)(?<!\be\.g\.)(?<!\s[A-Z]\.)(?<!^[A-Z]\.)"
    r"(?<!\b[DM]r\.)(?<!\bMs\.)(?<!\bSt\.)(?<!\bMrs\.)(?<!\bProf\.)"
    r"[\"')\]]*\s+(?=[^a-z\s])|(?<=[。！？])|(?<=\n)\n*)"
)
"""The end of a sentence: its mark, and what follows up to the next one."""
TENTATIVE = re.compile(
    r"\b(?:possibly|perhaps|maybe|it(?:'s| is) (?:also )?possible(?! to\b)"
    r"|(?:there|it|this|that|they|he|she) (?:might|may|could) (?:well |also )?(?:be|have))\b",
    re.IGNORECASE,
)


def is_tentative(text: str) -> bool:
    """Whether a sentence only says what is possible, and so commits itself to nothing; "Maybe C"
    is a guess.

    >>> is_tentative("It's possible that it is a dog."), is_tentative("It is probably a dog.")
    (True, False)
    """
    return len(text.split()) > _MAX_GUESS_WORDS and TENTATIVE.search(text) is not None


_MAX_GUESS_WORDS = 3


def sentences(text: str) -> list[str]:
    """The sentences and lines of a text."""
    pieces = []
    start = 0
    for match in _END.finditer(text):
        pieces.append(text[start : match.start() + 1])
        start = match.end()
    pieces.append(text[start:])
    has_marks = not text.isascii() and MARKS.search(text)
    return list(filter(None, map(without_marks if has_marks else str.strip, pieces)))


def first_sentence(text: str) -> str:
    """The first sentence or line of a text; "" where it has none."""
    start = 0
    for match in _END.finditer(text):
        piece = without_marks(text[start : match.start() + 1])
        if piece:
            return piece
        start = match.end()
    return without_marks(text[start:])


def sentence_start(text: str, end: int) -> int:
    """Where the sentence starts that ends at an offset: behind the last mark or end of a line."""
    if text[end - 1 : end] == "\n":
        end -= 1
    return max(text.rfind(sign, 0, end) for sign in ".!?\n") + 1


def is_doubtful(text: str) -> bool:
    """Whether an answer corrects itself, is tentative, or says that it cannot tell, so that its
    reading is worth a second one.

    >>> is_doubtful("Answer: A. Wait, no: it is B"), is_doubtful("Answer: A")
    (True, False)
    """
    answer = parse_answer(text)
    is_open = says_unable(answer.text) or is_tentative(answer.text)
    return is_open or any(passage.corrects for passage in answer.explicit)


def longest_spans(spans: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """The spans (start, end, name) that no longer one covers: not the "blue" of "dark blue"."""
    uncovered = []
    for start, end, name in spans:
        others = (other for other in spans if other[0] <= start and end <= other[1])
        if all(high - low <= end - start for low, high, _ in others):
            uncovered.append((start, end, name))
    return uncovered


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage in which an answer commits itself."""

    text: str
    start: int
    corrects: bool = False
    """Whether it corrects what was said before; then only what it begins with is read."""


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """The text of an answer, divided into passages.

    Parameters
    ----------
    text
        The answer as it would be read aloud.
    explicit
        The passages that are called the answer and are not retracted, the last first.
    emphasised
        The bold passages, the last first.
    concluding
        The lines behind "so" and "therefore", the last first.
    sentences
        All sentences.
    statements
        The sentences without the remarks at their end that answer nothing: "Please note ...".
    retraction_end
        Where the last retraction ends ("wait, that is wrong"); -1 where there is none.
    breaks_off
        Whether the last sentence breaks off: "The root of 169 is".
    """

    text: str
    explicit: tuple[Passage, ...]
    emphasised: tuple[str, ...]
    concluding: tuple[str, ...]
    sentences: tuple[str, ...]
    statements: tuple[str, ...]
    retraction_end: int
    breaks_off: bool


@lru_cache(maxsize=8192)
def parse_answer(text: str) -> ParsedAnswer:
    """Divide an answer into its passages.

    >>> [passage.text for passage in parse_answer("Answer: A. Wait, no: it is B").explicit]
    ['no: it is B', 'A. Wait, no: it is B']
    """
    if "```" in text:
        text = _behind_programs(text)
    spoken = _without_listing(TASK.sub("", first_turn(plain(text))))
    if any(map(spoken.__contains__, _CODE_WORDS)) and _CODE.search(spoken):
        spoken = spoken[spoken.rfind(BOX) :] if "<answer>" in text and BOX in spoken else ""
    offsets = _CUES.offsets(spoken)
    is_unspaced = _CUES.may_be_unspaced(spoken)
    considered = _FIRST_THOUGHT.remove(spoken, offsets["first_thought"], is_unspaced)
    if considered != spoken:
        spoken = considered
        offsets = _CUES.offsets(spoken)
    retractions = _RETRACTION.find(spoken, offsets["retraction"], is_unspaced)
    retraction_end = max((match.end() for match in retractions), default=-1)
    explicit = [
        passage
        for passage in _explicit_passages(spoken, offsets, is_unspaced)
        if passage.text and passage.start > retraction_end
    ]
    prose = _FENCE.sub("\n", spoken) if "```" in spoken else spoken
    emphasised = _BOLD_TEXT.findall(prose) if BOLD in prose else []
    prose_offsets = offsets if prose == spoken else _CUES.offsets(prose)
    conclusions = _CONCLUSION.find(prose, prose_offsets["conclusion"], is_unspaced)
    concluding = [_rest_of_line(prose, match.end()) for match in conclusions]
    prose_sentences = tuple(sentences(prose))
    assertions = tuple(line for line in prose_sentences if not line.endswith(("?", "？")))
    return ParsedAnswer(
        text=without_marks(spoken),
        explicit=tuple(sorted(explicit, key=lambda passage: passage.start, reverse=True)),
        emphasised=tuple(map(without_marks, reversed(emphasised))),
        concluding=tuple(reversed(concluding)),
        sentences=assertions or prose_sentences,
        statements=without_closing_remarks(assertions or prose_sentences),
        retraction_end=retraction_end,
        breaks_off=breaks_off(prose_sentences) or breaks_off_in_formula(text),
    )


def _behind_programs(text: str) -> str:
    """The text behind the last program between fences, where the answer says what came out."""
    for fence in reversed(list(_FENCE.finditer(text))):
        if _CODE.search(fence[0]):
            if "<answer>" in fence[0]:
                return text[text.rfind("<answer>") :]
            before = text[: fence.start()]
            behind = text[fence.end() :]
            if behind and _CONCLUDED.search(before):
                return before + behind
            return behind or fence[0]
    return text


_CONCLUDED = re.compile(r"\b(?:answer|therefore|thus|hence|so the|result|total)\b", re.IGNORECASE)


_BOLD_TEXT = re.compile(f"{BOLD}([^{BOLD_END}]*){BOLD_END}")
_BOX_TEXT = re.compile(f"{BOX}([^{BOX_END}]*){BOX_END}?")


def _explicit_passages(
    spoken: str, offsets: Mapping[str, Sequence[int]], may_be_unspaced: bool
) -> Iterator[Passage]:
    """The passages that are boxed, called the answer, or correct what was said before."""
    for match in _BOX_TEXT.finditer(spoken) if BOX in spoken else ():
        yield Passage(without_marks(match[1]), match.start())
    for match in _CUE.find(spoken, offsets["cue"], may_be_unspaced):
        # "if the answer is B" answers nothing; "I choose B" does, whatever stands before it
        if (
            match[0][:1] in "iI"
            or match[0][:4].lower() == "leav"
            or not _is_supposed(spoken[max(0, match.start() - 30) : match.start()])
        ):
            yield Passage(_rest_of_line(spoken, match.end()), match.end())
    elliptic = None
    if spoken.rstrip(" .!\n").endswith(_AUXILIARIES):
        elliptic = _ELLIPTIC_CONTRAST.search(spoken, max(0, len(spoken) - _MAX_CONTRAST_CHARS))
    if elliptic:
        yield Passage(without_marks(elliptic[1]), elliptic.start(1))
    for match in _CORRECTION.find(spoken, offsets["correction"], may_be_unspaced):
        # the "no" that corrects may be the answer: "Yes... no, that is a cat"
        start = match.end()
        denial = _NO_AT_END.search(match[0])
        if denial and match[0].lstrip()[:1] not in "-—–" and "not" not in match[0]:
            start = match.start() + denial.start()
        yield Passage(_rest_of_line(spoken, start), match.end(), corrects=True)


def _is_supposed(before: str) -> bool:
    """Whether the words before a cue make it announce nothing."""
    # the pattern looks back from the end, and is asked only where it can match
    may_match = not _IF_WORDS.isdisjoint(ascii_words(before)[-3:])
    return may_match and _IF.search(before) is not None


_NO_AT_END = re.compile(r"\bno\b\W*$", re.IGNORECASE)


def _without_listing(text: str) -> str:
    """The text without what goes through the options one by one: "A. red", "B. blue"."""
    if "(A)" in text:
        # "(A), (B) or (C)" leaves it open, and lists nothing
        text = _LISTED.sub(lambda match: match[0] if _OR.match(text, match.end()) else "", text)
    lines = text.split("\n")
    names = {}
    for index, line in enumerate(lines):
        option = _OPTION_LINE.match(line)
        if option and not _RIGHT_OPTION_LINE.search(line):
            names[index] = option[1]
    n_different = len(set(names.values()))
    if n_different < 2 or n_different < len(names):
        names = {}
    return "\n".join(line for index, line in enumerate(lines) if index not in names)


_OR = re.compile(r"(?:or|and)\s+\([A-Z]\)", re.IGNORECASE)
_COLON_LINE = re.compile(r"[:：]\s*\n+\s*")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
_LEADING_SIGNS = re.compile(r"(?:[\s:：=\"'>→】」』》]|[-—–]+(?!\d))*")


def _rest_of_line(text: str, start: int) -> str:
    """The rest of the line, and the next line where nothing is left of it or it ends in a colon."""
    rest = text[start : _line_end(text, start)]
    if "\n" in rest:
        rest = _COLON_LINE.sub(": ", rest)
    for line in rest.split("\n"):
        if _LETTER_OR_DIGIT.search(line):
            line = without_marks(line)
            return line[_LEADING_SIGNS.match(line).end() :]  # type: ignore[union-attr]
    return ""


def _line_end(text: str, start: int) -> int:
    """Where the first line with a letter or digit ends, with the lines that a colon joins to it."""
    first = _LETTER_OR_DIGIT.search(text, start)
    end = text.find("\n", first.end()) if first else -1
    while end >= 0 and text[start:end].rstrip().endswith((":", "：")):
        while end < len(text) and text[end].isspace():
            end += 1
        end = text.find("\n", end)
    return end if end >= 0 else len(text)


_SIDE_REMARK = re.compile(
    r"(?:[,;]|\s[–—-])\s+(?:just |right |though |and )?"
    r"(?:which(?! (?:makes?|means|indicates?|signals?|implies|tells"
    r"|(?:is|was) (?:\w+ )?(?:by|called|named|known as|characteristic|typical"
    r"|(?:an? )?(?:type|kind|form|style|example) of)\b))|with|near"
    r"|next|close|under|over|above|below|beside|behind|followed|compared|whereas|while|unlike"
    r"|similar|mixed|along|together|alongside|based on|citing|using|according to|adapted from"
    r"|quoting)\b"
    r"|[,，、] ?(?:其次|接着|次いで|続いて|그\s?다음|이어서?)|[,،] (?:يلي|تلي|(?:इसके|उसके) बाद"
    r"|gefolgt|suivie?s? |seguid[oa]s? |за (?:ним|ней|которы))"
)
_MAX_REMARK_OFFSET = 60


def without_side_remark(text: str) -> str:
    """A text up to a remark beside its statement: "forest" of "forest, with farmland behind"."""
    remark = _SIDE_REMARK.search(text, 1, 2 * _MAX_REMARK_OFFSET)
    if remark and remark.start() < _MAX_REMARK_OFFSET:
        return text[: remark.start()]
    return text


def shared_words(text: str, question: str) -> int:
    """How many content words of a question a text repeats."""
    return len(shared_stems(text, question))


def shared_stems(text: str, question: str) -> frozenset[str]:
    """The stems of the content words of a question that a text repeats."""
    return question_stems(question).intersection(map(_stem, _LONG_WORD.findall(text.lower())))


@lru_cache(maxsize=1024)
def question_stems(question: str) -> frozenset[str]:
    """The stems of the content words of a question."""
    words = set(_LONG_WORD.findall(question.lower())) - _QUESTION_WORDS
    return frozenset(map(_stem, words))


_LONG_WORD = re.compile(r"\w{3,}")
_ENDING = re.compile(r"(?<=\w{3})(?:e?s|ed|ing|e)$")


@lru_cache(maxsize=8192)
def _stem(word: str) -> str:
    """A word of three letters or more without its ending."""
    return _ENDING.sub("", word)


_QUESTION_WORDS = frozenset(
    "the what which who where when how many much does did was are one".split()
)

# --- what is denied, and texts as they are compared ---

# a denial reaches over articles and verbs up to what it denies
_UP_TO_DENIED = (
    r"(?:\s+(?:be|a|an|the|option|choice|really|just|only|actually|answer|say|show|contain|include"
    r"|read|mention|see|have|\w+ing|made|of|depict|look like|on|in|at|by|from"
    r"|es|est|ist|é|è|e|son|sont|sind|são|hay|há|gibt"
    r"|la|le|el|il|die|der|das|den|dem|einen?|une?|uno|uma?|du|des?|les|los|las"
    r"|letra|opción|opção))*(?:\s+[dl](?=['’]))?[\s\"'’(\[]*$"
)
# in Chinese the verb stands between, without a space: "没拿雨伞"
_UNSPACED_DENIAL = (
    r"并非|而不是|(?<!\d)比|没有?[^\W\d]{0,3}?|不(?![仅但只过错同])(?:是|会|能)?[^\W\d]{0,2}?"
)
_COMPARATIVES = (
    "fewer greater larger higher smaller lower bigger taller longer older heavier faster shorter"
    " younger newer lighter slower quicker deeper wider narrower thicker thinner brighter darker"
    " closer nearer farther further warmer hotter colder cooler cheaper richer poorer louder softer"
    " harder stronger weaker earlier later better worse busier cleaner drier wetter"
).split()
_DENIAL = WordSearch(
    re.compile(
        r"(?:\b(?:not|no|never|without"
        rf"|(?:(?:more|less)(?: [a-z]+)?|{'|'.join(_COMPARATIVES)}) than"
        r"|rather than|instead of|any(?:thing|one|body) but|neither|nor|except|unlike|excluding"
        r"|besides|cannot be|compared (?:with|to)|confused with|mistaken for|ahead of"
        r"|weder(?:\s+\S+){1,3}?\s+noch|weder"
        r"|(?:reminiscent|neighbou?r|friend|pupil|student|follower|rival|imitat(?:ion|or)"
        r"|in the (?:style|manner)) of"
        r"|similar to|(?:inspired|influenced) by|(?:not|n't) [\w-]+ enough (?:for|to be)"
        r"|too [\w-]+ (?:for|to be)"
        r"|nicht|kein(?:e[mnrs]?)?|pas|aucune?|ning[uú]n[oa]?|nenhuma?|nessun[oa]?|non|n[aã]o|ni"
        r"|nem|нет|не|ليست?)\b"
        r"|n't(?:\s+(?!only\b)[a-z]+(?:\s+enough\s+(?:for|to be))?)?(?:\s+(?:his|her|its|their))?"
        rf"|{_UNSPACED_DENIAL}){_UP_TO_DENIED}",
        re.IGNORECASE,
    ),
    first_words=frozenset(
        "not no never without more less rather instead neither"
        " nor except unlike excluding besides cannot reminiscent neighbor neighbour friend pupil"
        " student follower rival imitation imitator in similar inspired influenced anything anyone"
        " anybody too nicht kein keine keinen keinem keiner keines aucun aucune ninguno ninguna"
        " nenhum"
        " nenhuma nao nessun nessuno nessuna pas non ni nem compared confused mistaken ahead"
        " weder".split()
    )
    | frozenset(_COMPARATIVES),
    foreign=(
        re.compile("[ãÃúÚнН不没并比]|ليس"),
        re.compile(
            rf"(?:\b(?:não|ningún|нет|не|ليست?)\b|{_UNSPACED_DENIAL}){_UP_TO_DENIED}", re.IGNORECASE
        ),
    ),
)
_DENIAL_AFTER = re.compile(
    r"^[\"')\]]*\s*[:–-]\s*(?:no|not|false|incorrect|wrong)\b"
    r"|^[\"')\]]*\s+would (?:have|show|need|require|look|feature|use|involve|display|contain)\b"
    r"|^[\"')\]]*\s*(?:,? (?:which|that|this|it) )?\s*(?:is|are|was|were|would be|can be|seems?"
    r"|looks?)?"
    r"(?:\s*(?:is|are|was|would be)?\s*(?:not\b(?!\s+\w{3,}ing\b)|n't\b)"
    r"|\s*\b(?:in?correct|wrong|false|ruled out"
    r"|eliminated|impossible|excluded)\b)"
    r"|^[\"')\]]*\s*(?:选项)?[人個个名本枚匹台冊つ羽頭杯軒階歳回件着皿개명마리대번]?(?:より|ではな|じゃな|は(?:違|誤|間違)|不是|不对|不正确|错误|是错"
    r"|[가이은는]? ?아니(?!면|요|오)|नही)",
    re.IGNORECASE,
)


_ALTERNATIVES = re.compile(
    r"(?:(?:an?|the) )?[\w'()-]+(?:, (?:(?:an?|the) )?[\w'()-]+)*(?:,? or|,) (?:(?:an?|the) )?$"
)


_EXCLUSIVE_DENIAL = re.compile(
    r"\b(?:nothing|nobody|no one|none|any(?:thing|one|body)|no (?:other )?\w+)\b[^.;]{0,30}"
    r"(?:except(?: for)?|apart from|aside from|besides|other than) (?:(?:an?|the) )?$",
    re.IGNORECASE,
)
"""What says that only what is behind it is there: "There is nothing on it except"."""


def is_denied(text: str, start: int, end: int) -> bool:
    """Whether what is there is denied: "not 7", "7 is wrong", "not 5 or 7"."""
    before = text[max(0, start - 40) : start]
    if " or " in text[max(0, start - 40) : end + 40]:
        before = _ALTERNATIVES.sub("", before)
    before = _EXCLUSIVE_DENIAL.sub("", before)
    return _DENIAL.is_in(before) or _DENIAL_AFTER.match(text[end : end + 40]) is not None


# articles are left out of comparisons, for options seldom have them
# and "A is closer", "Box A fits more closely" speak of a letter
_ARTICLE = re.compile(
    r"(?:a(?<!\wa)n?|A(?<!\wA)(?:[nN]|(?!(?<=[a-z] A) [a-z]))|[tT](?<!\w[tT])(?:he|HE))\s+"
    r"(?!(?:is|are|was|has|and|or)\b)(?=\w)"
)
_INNER_QUOTE = re.compile(r"[\"“”](?=[^\W\d])|(?<=[^\W\d])[\"“”]")


@lru_cache(maxsize=8192)
def normalize(text: str) -> str:
    """A text in the form in which texts are compared: lower case, no accents, no LaTeX, no
    punctuation at its ends.

    >>> normalize("**The  Café.**")
    'cafe'
    """
    text = plain(text)
    if not text.isascii():
        text = MARKS.sub("", text)
    text = _INNER_QUOTE.sub("", text.replace("$", ""))
    text = (_ARTICLE.sub("", text) or text).casefold()
    if not text.isascii():
        letters = _MAYBE_ACCENTS.sub(_without_accents, unicodedata.normalize("NFD", text))
        text = unicodedata.normalize("NFC", letters)
    text = " ".join(text.split()).strip(" .,;:!?\"'*")
    text = with_plain_dates(text)
    if "grey" in text:
        text = re.sub(r"\bgrey\b", "gray", text)
    return text.replace("colour", "color")


_MAYBE_ACCENTS = re.compile("[\u0300-\U0010ffff]+")


def _without_accents(match: re.Match[str]) -> str:
    """The letters of a decomposed text, above those of Latin, without their accents."""
    return "".join(letter for letter in match[0] if not _is_accent(letter))


def _is_accent(letter: str) -> bool:
    """Whether a decomposed letter is an accent; that of で, without which it is て, is none."""
    return unicodedata.category(letter) == "Mn" and letter not in "\u3099\u309a"
