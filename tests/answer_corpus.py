"""Answers in the styles of today's models, each with what it says.

The styles were looked up in released answers (MMMU-Pro, MathVista, HallusionBench, MM-Vet) and in
logs; every string is written for this corpus. A template says by its group what is read out of it:
the option, number, text or list that it was filled with, or nothing.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple


class Case(NamedTuple):
    """An answer, what was asked, and what the answer says; None where it commits itself to
    nothing.
    """

    task: str
    question: str
    options: tuple[str, ...]
    text: str
    says: str | tuple[str, ...] | None


# {L} and {T} are the letter and the text that the answer commits itself to, {l} the small letter;
# {M}, {U} and {R}, {S} are two other options
_CHOICE_TEMPLATES = (
    "{L}", "{L}.", "({L})", "{l}", "({l})", "{L})", "**{L}**", "**{L}.**", "`{L}`", "{L}. {T}", "{L}: {T}",
    "{L}) {T}", "({L}) {T}", "**{L}. {T}**", "**{L}**: {T}", "{T}", "{T}.", "**{T}**", '"{T}"',
    "Answer: {L}", "ANSWER: {L}", "Answer: ({L})", "answer: {l}", "**Answer:** {L}", "**Answer: {L}**",
    "Answer: {L}. {T}", "Answer: {T}", "The answer is {L}.", "The answer is ({L}).", "The answer is: {L}",
    "The answer is **{L}**.", "The answer is {T}.", "The correct answer is {L}. {T}.", "The correct option is ({L}) {T}.",
    "The best answer is {L}, {T}.", "Option {L}", "Option {L}.", "Option {L} is correct.", "Choice {L}",
    "{L} is the correct answer.", "{L} is correct because it fits the picture best.", "I choose {L}.",
    "I would go with {L}.", "I'd pick option {L}.", "My answer is {L}.", "It's {L}.", "It is {T}.",
    "The final answer is $\\boxed{{{L}}}$.", "\\boxed{{{L}}}", "$\\boxed{{\\text{{{L}}}}}$", "\\boxed{{\\mathrm{{{L}}}}}",
    "\\boxed{{{L}. {T}}}", "**Final Answer: {L}**", "Final answer: {L}", "### Final Answer\n\n{L}", "**Final Answer**\n\n\\boxed{{{L}}}",
    "<answer>{L}</answer>", "<answer>{L}. {T}</answer>", "<think>Is it {M}? {U} would fit as well.</think>\n\n{L}",
    "<think>\nThe picture could show {U}, so {M}.\nBut no.\n</think>\nAnswer: {L}", "Could be {M}, hard to tell.</think>{L}",
    "<|begin_of_box|>{L}<|end_of_box|>", "◁think▷{M} looks right at first.◁/think▷The answer is {L}.",
    "Let's think step by step. First, we look at the picture. It cannot be {M}, because {U} does not fit. So the answer is {L}.",
    "To answer this, compare the options.\n\nA closer look rules out {U}.\n\nTherefore, the correct answer is **{L}**.",
    "Looking at the picture, {U} is not there. The answer is {L}.", "The picture shows {T}, so the answer is {L}.\n\nANSWER: {L}",
    "Step 1: read the picture.\nStep 2: compare with the options.\n\nThe answer is {L}",
    "I first thought of {M}, but wait, no: {L}.", "{M}... wait, actually {L}.", "The answer is {M}. Wait, no: it's {L}.",
    "Answer: {M}\n\nWait, let me check again. On second thought, the answer is {L}.",
    "Answer: {M}. Sorry, I meant {L}.", "At first glance {M}. Correction: {L}.", "Hmm, {M} is tempting. Actually, {L}.",
    "Not {M}, but {L}.", "It is not {U}; it is {T}.", "{M} is wrong. The answer is {L}.", "{M} is incorrect, so {L}.",
    "Rather than {M}, the correct answer is {L}.", "{T}, not {U}.", "{L}, not {M}.", "It isn't {M}. It's {L}.",
    "Option {M} is wrong because {U} does not fit. Option {R} is wrong as well. Option {L} is correct.",
    "({M}) is not supported by the picture. ({L}) is the best choice.",
    "The correct answer is option **{L}**: {T}.", "Based on the image, the correct answer is:\n\n**{L}. {T}**",
    "Based on the picture, the answer is {T}.", "So, {L}.", "Therefore, {L}.", "Hence the answer: ({L})", "Thus, option {L} is the answer.",
    "This corresponds to option {L}.", "This matches option ({L}).", "The closest option is {L}.", "Among the options, {L} is the most likely.",
    "{L}\n\nExplanation: the picture shows this clearly, whereas {U} would look different.",
    "{L}. {T}\n\nReason: {U} is not visible.", "**{L}**\n\nThe others ({M}, {R}) do not fit.", "A careful look at the picture shows that the answer is {L}.",
    "I think the answer is {L}.", "I believe it's {T}.", "The answer should be {L}.", "The answer must be {L}.", "It must be {T}.",
    "答案是{L}", "答案：{L}", "答案是 {L}。", "正确答案是{L}。", "所以选{L}。", "故选：{L}", "正确选项为（{L}）", "应该选{L}。",
    "答えは{L}です。", "正解は{L}です。", "答え：{L}", "정답은 {L}입니다.", "정답: {L}", "Die richtige Antwort ist {L}.", "Antwort: {L}",
    "Die Antwort lautet {L}.", "La bonne réponse est {L}.", "Réponse : {L}", "La réponse correcte est la {L}.", "La respuesta correcta es {L}.",
    "Respuesta: {L}", "La respuesta es la opción {L}.", "A resposta correta é {L}.", "Resposta: {L}", "La risposta corretta è {L}.", "Risposta: {L}",
    "Правильный ответ: {L}", "Ответ: {L}", "الإجابة الصحيحة هي {L}", "सही उत्तर {L} है", "Het antwoord is {L}.", "Đáp án: {L}",
    "Ｔｈｅ answer is （{L}）", "A: {U}? No. The answer is {L}.", "{{\"answer\": \"{L}\"}}", "[{L}]", "Answer = {L}", "Ans: {L}", "The answer → {L}",
    "The correct answer is:\n\n{L}", "Answer:\n{L}", "{T}\n\nAnswer: {L}", "Final answer: **({L})**", "$\\text{{Answer: }} {L}$",
    "I see what looks like {T}.", "There is {T} in the picture.", "The thing in the picture is {T}.", "From the picture, it appears to be {T}.",
)  # fmt: skip
_NOT_CHOSEN = (
    "", "I cannot determine the answer from the image.", "I'm sorry, but I can't help with that.", "{L} or {M}", "Either {L} or {M}.",
    "Answer: {L} or {M}", "Both {L} and {M}.", "Answer: {L}, {M}", "It could be {L} or {M}.", "None of the above.", "Answer: None of the above",
    "The answer cannot be determined.", "I don't know.", "A picture would be needed to answer this.", "A closer look is needed.",
    "I need more information.", "Without the image I cannot say.", "Not {L}.", "It is not {T}.", "{L} is wrong.", "Neither {L} nor {M}.",
    "<think>It is {L}, I think, because", "Answer:", "The answer is", "Let's look at the options one by one.", "It depends.",
    "The options are {T}, {U} and {S}.", "无法确定。", "Ich kann das nicht sagen.", "The answer is {L}. Wait, that is wrong.",
    "Let me think about this. A good start is the picture itself. I would look at the edges first.", "N/A", "{T} or {U}",
    "A. {T0}\nB. {T1}\nC. {T2}", "def answer():\n    return '{L}'\n\nprint(answer())", "The correct answer is not listed.",
)  # fmt: skip
_OPTIONS = (
    ("What is it?", ("a red ball", "a blue car", "a green house", "a yellow bird")),
    ("What does the man hold?", ("an umbrella", "a guitar", "a newspaper", "a racket")),
    ("Which material is it?", ("steel", "plastic", "wood", "glass", "leather")),
    ("Where was it taken?", ("in a kitchen", "on a beach", "at a station", "in a forest")),
    ("Which painter?", ("Claude Monet", "Vincent van Gogh", "Paul Cézanne", "Edvard Munch")),
    ("Which tissue?", ("simple squamous", "stratified columnar", "transitional", "pseudostratified")),
)  # fmt: skip
_NUMERIC_OPTIONS = (
    ("How many are there?", ("3", "5", "7", "9")),
    ("How long is it?", ("12.5 cm", "25 cm", "5.0 cm", "100 cm")),
    ("What does it cost?", ("$1,200", "$1,500", "$12,000", "$150")),
    ("What is the angle?", ("30°", "45°", "60°", "135°")),
    ("Which share?", ("25%", "40%", "55%", "75%")),
)
_NUMERIC = (
    "{T}", "{T}.", "**{T}**", "The answer is {T}.", "Answer: {T}", "\\boxed{{{T}}}", "$\\boxed{{{T}}}$", "So it is {T}.", "It is {T}, not {U}.",
    "First {U}, wait, no: {T}.", "The result is {T}, so the answer is {L}.", "{L}. {T}", "({L}) {T}", "Answer: ({L}) {T}",
    "We get x = {T}.", "I first got {U}. The correct answer is {T}.", "Therefore, the value is {T}.", "= {T}", "答案是{T}", "Die Antwort ist {T}.",
)  # fmt: skip

# {N} is the number as somebody writes it, {W} another number
_NUMBER_TEMPLATES = (
    "{N}", "{N}.", "**{N}**", "Answer: {N}", "The answer is {N}.", "The answer is **{N}**.", "\\boxed{{{N}}}", "$\\boxed{{{N}}}$", "Final answer: {N}",
    "**Final Answer:** {N}", "There are {N}.", "There are {N} apples.", "There are {N} apples in the picture.", "I count {N}.", "I see {N} apples on the table.",
    "It is {N}.", "x = {N}", "The total is {N}.", "= {N}", "≈ {N}", "The value is approximately {N}.", "So the answer is {N} apples.",
    "{W} + 2 = {N}, so the answer is {N}.", "First I counted {W}, but wait, no: {N}.", "The answer is {W}. Wait, actually {N}.", "Answer: {W}. Sorry, I meant {N}.",
    "Not {W}, but {N}.", "It is not {W}; it is {N}.", "{N}, not {W}.", "{N} instead of {W}.", "Let's count: there are {W} on the left. Altogether there are {N}.",
    "To solve this, subtract {W} from the total.\n\nTherefore, the answer is {N}.", "<think>Maybe {W}?</think>{N}", "<answer>{N}</answer>", "<answer> {N} </answer>",
    "Step 1: we find {W}.\nStep 2: we double it.\n\nThe final answer is {N}", "ANSWER: {N}", "答案是{N}", "答案：{N}", "答えは{N}です。", "정답은 {N}입니다.",
    "Die Antwort ist {N}.", "La réponse est {N}.", "La respuesta es {N}.", "A resposta é {N}.", "La risposta è {N}.", "Ответ: {N}", "The result is {N}, because {W} was subtracted.",
    "The correct answer is {N}, which is more than {W}.", "Therefore, there are {N} apples left.", "So there are **{N}** apples.", "After removing {W} of them, {N} remain.",
    "The bar shows {N}.", "The clock reads {N}.", "I would say {N}.", "I'd estimate {N}.", "About {N}.", "Approximately {N}", "Exactly {N}.", "Only {N}.",
    "The answer: {N}", "Thus, $x = {N}$.", "$${N}$$", "\\({N}\\)", "\\[ x = {N} \\]", "The picture shows {N} apples.", "You can see {N} apples here.",
)  # fmt: skip
_NOT_SAID = (
    "", "I cannot tell.", "I'm sorry, I can't see the picture.", "Not {W}.", "It is not {W}.", "{N} or {W}", "Either {N} or {W}.", "It cannot be determined.",
    "There is not enough information.", "Many.", "I don't know.", "Several apples.", "Between {N} and {W}.", "The answer is unknown.", "无法确定。",
    "<think>{N} I think", "The answer is {N}. Wait, that is wrong.", "print({N})", "Somewhere on the table.", "That depends on the picture.",
)  # fmt: skip
_NUMBER_SPELLINGS = (
    ("7", ("7", "seven", "7.0", "Seven", "07")), ("-7", ("-7", "−7", "minus seven", "-7.0", "negative 7")), ("12", ("12", "twelve", "12.00", "a dozen")),
    ("3.5", ("3.5", "3.50", "3,5", "7/2", "3 1/2", "\\frac{7}{2}")), ("1396", ("1396", "1,396", "1,396.0", "1.396e3", "1 396")),
    ("45000000", ("45 million", "45,000,000", "4.5 × 10^7", "4.5e7", "45M")), ("0.25", ("0.25", ".25", "1/4", "25%", "0.250", "¼")),
    ("21", ("21", "twenty-one", "Twenty one", "21.0")), ("0", ("0", "zero", "0.0")), ("150", ("150", "$150", "150 dollars", "€150", "150.00")),
    ("0.0000232", ("2.32e-5", "2.32 x 10^-5", "2.32 \\times 10^{-5}")), ("60", ("60", "60°", "60 degrees", "60^\\circ", "sixty")),
)  # fmt: skip

_POLAR = {
    "yes": (
        "Yes", "yes.", "YES", "**Yes**", "Yes, it does.", "Yes, there is a dog.", "Yeah.", "Yep", "Answer: yes", "The answer is yes.", "**Answer:** Yes", "\\boxed{Yes}",
        "$\\boxed{\\text{Yes}}$", "<answer>yes</answer>", "There is a dog in the image.", "A dog is visible in the image.", "Final answer: Yes", "True", "Correct.",
        "No, wait, yes.", "No... actually, yes.", "Answer: No. Wait, the answer is yes.", "I think so.", "Absolutely.", "Definitely yes.", "Of course.", "So, yes.",
        "Let me look at the picture. In the corner an animal sleeps. So, yes, there is a dog.", "<think>No dog? There is one.</think>Yes", "The statement is true.",
        "Ja", "Ja, da ist ein Hund.", "Oui", "Oui, il y a un chien.", "Sí", "Sí, hay un perro.", "Si.", "Sim", "Да", "是", "是的", "是的，图中有一只狗。", "有", "はい",
        "はい、犬がいます。", "예", "네", "نعم", "हाँ", "Evet", "Tak", "Có", "Ya", "Therefore, the answer is **Yes**.", "Looking at the image, yes.", "It does.", "There is.",
        "Yes. There is no doubt about it.", "yes, not a cat but a dog", "ANSWER: YES", "Yes!", "- Yes", "The answer to the question is: Yes", "答案是：是", "答えは「はい」です。",
    ),
    "no": (
        "No", "no.", "NO", "**No**", "No, there is not.", "No, there is no dog.", "Nope", "Nah", "Answer: no", "The answer is no.", "**Answer:** No", "\\boxed{No}",
        "<answer>no</answer>", "There is no dog in the image.", "There isn't a dog in the image.", "Final answer: No", "False", "Incorrect.", "Yes... wait, no.",
        "Yes. Actually, no.", "Answer: Yes. Wait, the answer is no.", "I don't think so.", "Definitely not.", "Of course not.", "Not at all.", "So, no.",
        "Let me look at the picture. In the corner a cat sleeps. So, no, there is no dog.", "<think>Yes? It is a cat.</think>No", "The statement is false.",
        "The statement is not true.", "Nein", "Nein, da ist kein Hund.", "Non", "Non, il n'y a pas de chien.", "No, no hay ningún perro.", "Não", "Нет", "否", "不", "不是", "没有",
        "没有，图中没有狗。", "いいえ", "いいえ、犬はいません。", "아니요", "아니오", "لا", "नहीं", "Hayır", "Nie", "Không", "Tidak", "Therefore, the answer is **No**.", "It does not.",
        "There is not.", "I do not see a dog in the image.", "I can't see a dog in the image.", "No, it is a cat, yes, a big one.", "ANSWER: NO", "No!", "No dog is visible in the image.", "答案是：否",
    ),
    None: (
        "", "Maybe.", "I cannot tell.", "I'm not sure.", "Yes and no.", "Yes or no?", "It depends.", "No idea.", "Not sure.", "Unclear.", "There is no way to tell.", "I don't know.", "无法判断。",
        "I'm sorry, but I can't help with that.", "Possibly.", "The picture is blurred.", "No information is given.", "<think>Yes, I think", "An animal sleeps in the corner.",
        "Yes, there is no dog.", "no comment", "The answer is yes. Wait, that is wrong.",
    ),
}  # fmt: skip

_WORDS = (
    ("What color is the car?", "red", "blue"), ("Which animal is it?", "cat", "dog"), ("What does the sign say?", "stop", "yield"), ("Who painted it?", "Claude Monet", "Paul Cézanne"),
    ("What is on the table?", "vase", "lamp"), ("Which city is it?", "New York", "Chicago"), ("What is he doing?", "playing the guitar", "reading"),
)  # fmt: skip
_TEXTS = (
    "{T}", "{T}.", "**{T}**", '"{T}"', "Answer: {T}", "The answer is {T}.", "The answer is **{T}**.", "\\boxed{{\\text{{{T}}}}}", "\\boxed{{{T}}}", "It is {T}.", "It's {T}.", "Final answer: {T}",
    "<answer>{T}</answer>", "<think>{U}?</think>{T}", "I first thought {U}, but wait, no: {T}.", "The answer is {U}. Sorry, I meant {T}.", "It is not {U}; it is {T}.", "{T}, not {U}.",
    "Not {U} but {T}.", "{T} rather than {U}.", "Looking closely, this is clearly {T}.", "Let's look at it step by step. The shape is familiar. Therefore, the answer is {T}.",
    "I see {T} in the picture.", "答案是{T}", "La respuesta es {T}.", "Die Antwort ist {T}.", "La réponse est {T}.", "Ответ: {T}", "My answer: {T}", "The correct answer is {T}, which is easy to see.",
)  # fmt: skip
_OTHER_TEXTS = (
    "{U}", "The answer is {U}.", "Answer: {U}", "It is not {T}; it is {U}.", "{U}, not {T}.", "The answer is {T}. Wait, no: {U}.", "\\boxed{{\\text{{{U}}}}}", "<think>{T}?</think>{U}",
    "It isn't {T}. It is {U}.", "It is {U} rather than {T}.", "**{U}**", "Final answer: {U}", "{U} instead of {T}.", "I see {U}.",
)  # fmt: skip
_NO_TEXTS = (
    "", "I cannot tell.", "{T} or {U}", "Either {T} or {U}.", "I'm sorry, but I can't help with that.", "I don't know.", "Unknown.", "The answer cannot be determined.", "It could be {T} or {U}.",
    "<think>{T}, I suppose", "The answer is {T}. Wait, that is wrong.",
)  # fmt: skip

_LISTS = (
    ("[2014, 2016]", ("2014", "2016")), ("[6, 0, 4, 4, 2]", ("6", "0", "4", "4", "2")), ("[1.5, -2, 3]", ("1.5", "-2", "3")), ("star, circle, square", ("star", "circle", "square")),
    ("star and circle", ("star", "circle")), ("red, green, and blue", ("red", "green", "blue")), ("['cat', 'dog']", ("cat", "dog")),
)  # fmt: skip
_LISTED = (
    "{N}", "{N}.", "Answer: {N}", "The answer is {N}.", "The final list is {N}.", "\\boxed{{{N}}}", "**{N}**", "<answer>{N}</answer>", "Final answer: {N}", "The answer is {W}. Wait, no: {N}.",
    "So the answer is {N}.", "<think>{W}</think>{N}", "ANSWER: {N}", "答案是{N}", "Let's see. First we go round the shape.\n\nThe answer is {N}.",
)  # fmt: skip
_NOT_LISTED = ("", "I cannot tell.", "The picture does not show it.", "It is not possible to determine the list.", "<think>{N}")  # fmt: skip
_LETTERS = "ABCDEFGHIJ"


def corpus(seed: int, count: int) -> list[Case]:
    """So many different cases, drawn from all templates and fillings."""
    rng = random.Random(seed)
    cases = {
        case[1:4]: case for case in (*_choices(), *_numbers(), *_polar(), *_texts(), *_lists())
    }
    return rng.sample(list(cases.values()), count)


def _choices() -> Iterator[Case]:
    for question, options in _OPTIONS:
        for i in range(len(options)):
            fill = _filling(options, i)
            yield from _filled("choice", question, options, _CHOICE_TEMPLATES, fill, _LETTERS[i])
            yield from _filled("choice", question, options, _NOT_CHOSEN, fill, None)
    for question, options in _NUMERIC_OPTIONS:
        for i in range(len(options)):
            fill = _filling(options, i)
            yield from _filled("choice", question, options, _NUMERIC, fill, _LETTERS[i])


def _filling(options: Sequence[str], i: int) -> dict[str, str]:
    j, k = (i + 1) % len(options), (i + 2) % len(options)
    fill = {f"T{n}": option for n, option in enumerate(options)}
    return fill | {"L": _LETTERS[i], "l": _LETTERS[i].lower(), "T": options[i], "M": _LETTERS[j],
                   "U": options[j], "R": _LETTERS[k], "S": options[k]}  # fmt: skip


def _filled(
    task: str,
    question: str,
    options: tuple[str, ...],
    templates: Sequence[str],
    fill: Mapping[str, str],
    says: str | tuple[str, ...] | None,
) -> Iterator[Case]:
    for template in templates:
        yield Case(task, question, options, template.format(**fill), says)


def _numbers() -> Iterator[Case]:
    for value, spellings in _NUMBER_SPELLINGS:
        for spelling in spellings:
            fill = {"N": spelling, "W": "19"}
            yield from _filled("number", "How much is it?", (), _NUMBER_TEMPLATES, fill, value)
            yield from _filled("number", "How much is it?", (), _NOT_SAID, fill, None)


def _polar() -> Iterator[Case]:
    for says, texts in _POLAR.items():
        for text in texts:
            yield Case("yes_no", "Is there a dog in the image?", (), text, says)


def _texts() -> Iterator[Case]:
    for question, target, rival in _WORDS:
        fill = {"T": target, "U": rival}
        yield from _filled("text", question, (target,), _TEXTS, fill, "right")
        yield from _filled("text", question, (target,), _OTHER_TEXTS, fill, "wrong")
        yield from _filled("text", question, (target,), _NO_TEXTS, fill, None)


def _lists() -> Iterator[Case]:
    for spelling, says in _LISTS:
        fill = {"N": spelling, "W": "[9, 9]"}
        yield from _filled("list", "Which are they?", (), _LISTED, fill, says)
        yield from _filled("list", "Which are they?", (), _NOT_LISTED, fill, None)
