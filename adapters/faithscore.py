"""FaithScore: of the facts that an answer states about the picture, the share that a model which
sees the picture confirms.

Release: bcdnlp/FAITHSCORE. There are three stages: a recognizer marks the sub-sentences that
describe the picture, [D], and those that analyse it, [A]; a decomposer breaks the description into
atomic facts of five kinds (entity, relation, colour, count, other); a verifier sees the picture and
says yes or no to each fact. The score of an answer is the share of its facts that hold, and the
score of the corpus is the mean over answers. At the level of sentences it is the share of
descriptive sub-sentences without a failed fact; a fact belongs to the sub-sentences that contain
the last word of an entity. The mode `answer` asks recognizer and decomposer once for each answer
(package 0.0.9, and the paper); `sub_sentence` asks them once for every piece between commas and
full stops (the current code, whose other path does not run). The questions are those of the
released annotation: 30 COCO pictures, each with a conversation, a detail and a reasoning question.
README and annotation disagree: in the data, 1 means descriptive (stage 1) and faithful (stage 2).
As the criterion, the label of an answer is the share of its facts that hold; rows 1-90 are answers
of LLaVA, rows 91-180 of InstructBLIP. A short rule replaces the tagger of word classes in NLTK.

Official and paper. `official`: every capital D or A is a mark, because the pattern in the code is a
set of letters. A reply without marks, or without facts, leaves an answer without facts, which
scores 0, and 1 at the level of sentences. A fact holds if the verifier's reply contains yes, and
fails for any other reply. Words match inside other words. In `sub_sentence`, the last entity of a
list ends in a full stop and then matches every sub-sentence. Lists of facts that slip from one
answer to another when a reply lacks one of the five lines are not reproduced. As the criterion, an
answer without facts has the label 0. `paper`: only [D] and [A] are marks. A reply without marks, a
reply without any of the five kinds, and an answer without facts are unscored. A fact is left out if
the verifier says neither yes nor no. Words match as whole words. As the criterion, an answer
without facts has no label.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, product, starmap
from operator import attrgetter, itemgetter, methodcaller
from pathlib import Path, PurePosixPath
from typing import Any

from hqm import (
    Analysis,
    AnswerError,
    AnswerPart,
    AskJudge,
    Benchmark,
    Finding,
    Form,
    Item,
    Judgement,
    Metric,
    Recording,
    Response,
    ScoredAnswer,
    Stage,
    Verdict,
    build_parallel,
    finding,
    mean_of,
    read_records,
)
from hqm.benchmark.analyses import by_respondent
from hqm.benchmark.findings import asking
from hqm.benchmark.judge_api import fill
from hqm.benchmark.released_files import ItemQueue, either_field, released_file, released_form
from hqm.files.records import located_records, read_text, required_field
from hqm.forms.make_forms import reword_item
from hqm.imports.human_labels import LabelContext
from hqm.imports.match import join_by_picture
from hqm.imports.row import Row, answer_text
from hqm.judges.procedure import template_in
from hqm.scoring.parsers import parser
from hqm.types import group_by

KINDS = {
    "entity": "Entities",
    "relation": "Relations",
    "colour": "Colors",
    "count": "Counting",
    "other": "Other attributes",
}
"""The five kinds of facts, and the word with which a decomposer's line of each begins."""
PARTS = ("conv", "detail", "complex")
ENTITIES = ((0, 0), (1, 2), (3, 4), (5, 6), (7, 8), (9, None))
"""The bins of the numbers of entities: the fewest and the most."""
_STAGES = {
    "recognizer": Stage("sub-sentence", "descriptive", "analytical"),
    "verifier": Stage("fact", "holds", "does not hold"),
}
RESPONDENTS = ("LLaVA", "InstructBLIP")
"""The respondents of the annotated answers: the first gave the first half of the file, the second
the other half.
"""
_WORD = re.compile(r"\w+")
_NO_FACT = ("", "none", "n/a")
"""What decomposers write where an answer states no fact of a kind."""
# Recognizers close the mark with a brace now and then.
_MARK = re.compile(r"\[\s*([DA])\s*[\]}]")
# words that the release's tagger puts into none of the classes that it looks at
_CLOSED = frozenset(
    "there is are was were be been being am has have had do does did can could may might will would"
    " shall should must in on at of with to from by for about against between into through during"
    " before after above below up down out off over under near behind beside besides along across"
    " around toward towards inside outside within without upon onto and or but nor if because while"
    " as than that which who whom whose it its he him his she her they them their we us i you one"
    " two three four five six seven eight nine ten what where when".split()
)


@dataclass(frozen=True)
class Facts:
    """The facts that a description states, by kind, and the sub-sentences they come from."""

    by_kind: Mapping[str, Sequence[str]]
    sentences: Sequence[str]

    @property
    def all(self) -> list[tuple[str, str]]:
        """All facts as (kind, fact), in the order in which they are verified."""
        return [(kind, fact) for kind in KINDS for fact in self.by_kind.get(kind, ())]


def marked(text: str, official: bool = True) -> list[str]:
    """The descriptive pieces of a text whose sub-sentences are marked; in `official`, every capital
    D or A is a mark.

    >>> marked("One dog sits, [D] maybe it waits. [A] The grass is wet. [D]")
    ['One dog sits, ', 'The grass is wet. ']
    >>> marked("A dog sits. [D]"), marked("A dog sits. [D]", official=False)
    (['og sits. '], ['A dog sits.'])
    """
    if official:
        descriptive = []
        start = 0
        for i, letter in enumerate(text):
            # a text that begins with such a letter loses its last one there: text[0:-1]
            if letter == "D":
                descriptive.append(text[start : i - 1])
            if letter in "DA":
                start = i + 3
        return descriptive
    # split keeps the captured letters: texts stand at the even places, marks at the odd ones.
    pieces = _MARK.split(text)
    return [
        piece.strip() for piece, mark in zip(pieces[::2], pieces[1::2], strict=False) if mark == "D"
    ]


def decomposed(reply: str, official: bool = True) -> dict[str, list[str]] | None:
    """Kind -> facts in a decomposer's reply; None if it has no line of facts.

    >>> decomposed("Entities: A dog is there. A cat is there.\\nRelations:\\nColors: It is red.")
    {'entity': ['A dog is there', 'A cat is there.'], 'relation': [], 'colour': ['It is red.']}
    """
    facts: dict[str, list[str]] = {}
    # without this word the release takes the reply for an empty one
    if official and "Entities" not in reply:
        return None
    for line in reply.split("\n"):
        for kind, head in KINDS.items():
            if official and line.startswith(f"{head}:"):
                text = line.strip().replace(f"{head}: ", "")
                facts.setdefault(kind, [] if text == f"{head}:" else text.split(". "))
            if official:
                match = None
            else:
                match = re.match(rf"[\W_]*{head}\W*:\W*(.*)", line.strip(), re.IGNORECASE)
            if match:
                # Facts end in a mark, or in a comma where the next one begins with "There is" or
                # "There are".
                pieces = re.split(r"(?<=[.;!])\s+|,\s+(?=There (?:is|are)\b)", match[1])
                stripped = map(methodcaller("strip", " .*"), pieces)
                facts.setdefault(kind, [text for text in stripped if text.lower() not in _NO_FACT])
    return facts or None


def last_word(fact: str, at_the_end: bool = False) -> str:
    """The word by which an entity is looked for in a sub-sentence: the last word of a class that
    names things.

    With `at_the_end` only the very last token counts, and it is empty if that is a full stop, as in
    the current code.

    >>> last_word("There is a young man."), last_word("There is a young man.", at_the_end=True)
    ('man', '')
    """
    # A word may have a hyphen or an apostrophe; a number and a mark are tokens of their own, since
    # the release's tagger sees them so.
    tokens: list[str] = re.findall(r"[^\W\d_][\w'’-]*|\d+|[^\w\s]", fact)
    for before, token in reversed(list(zip(["", *tokens], tokens, strict=False))):
        is_passive = token.endswith("ed") and before.lower() in ("is", "are", "was", "were")
        if token[0].isalpha() and token.lower() not in _CLOSED and not is_passive:
            return token
        if at_the_end:
            break
    return ""


def sentence_score(
    facts: Facts, holds: Sequence[bool | None], mode: str, official: bool
) -> float | None:
    """The share of descriptive sub-sentences without a failed fact; None if there are no
    sub-sentences.
    """
    word_of = partial(last_word, at_the_end=official and mode == "sub_sentence")
    words = list(map(word_of, facts.by_kind.get("entity", ())))

    def contains(word: str, text: str) -> bool:
        if official:
            # every text contains an empty word; in the older code there are no empty words
            return word in text and (bool(word) or mode == "sub_sentence")
        return bool(word) and re.search(rf"\b{re.escape(word)}\b", text, re.I) is not None

    # facts that were read as neither are no failed ones
    failed_facts = []
    for (kind, fact), ok in zip(facts.all, holds, strict=True):
        if ok is False and kind != "entity":
            failed_facts.append(fact)
    failed_words = []
    # entities come first among the facts: that of a word is found by its place, every other fact
    # by the word in it
    for word, ok in zip(words, holds, strict=False):
        if ok is False or any(map(partial(contains, word), failed_facts)):
            failed_words.append(word)

    def is_good(sentence: str) -> bool:
        return not any(contains(word, sentence) for word in failed_words)

    if facts.sentences:
        return sum(map(is_good, facts.sentences)) / len(facts.sentences)
    return None


def _distinct_words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def _pieces(text: str, separator: str) -> list[str]:
    """The pieces of an answer between separators; a single character is none."""
    pieces = re.split(separator, text.replace("\n", " "))
    return [piece for piece in pieces if len(piece.strip()) > 1]


def _has_words(words: set[str], texts: Iterable[set[str]]) -> bool:
    """Whether one of these texts has four fifths of the words."""
    # A decomposer shortens and corrects: four fifths of the words are enough.
    return bool(words) and any(len(words & text) >= 0.8 * len(words) for text in texts)


def mark_of(unit: str, reply: str) -> str | None:
    """How a recognizer that marked a whole answer marked one sub-sentence of it: `D`, `A`, or None
    where it is not there.

    The words of the sub-sentence are looked for in a row, because a recognizer cuts an answer where
    it likes; most of them decide.

    >>> reply = "A dog sits on a mat, [D] so maybe it waits. [A]"
    >>> mark_of("A dog sits on a mat", reply), mark_of(" so maybe it waits", reply)
    ('D', 'A')
    >>> mark_of("a cat", reply)
    """
    pieces = _MARK.split(reply)
    words = []
    marks = ""
    for piece, mark in zip(pieces[::2], pieces[1::2], strict=False):
        of_piece = _WORD.findall(piece.lower())
        words += of_piece
        marks += mark * len(of_piece)
    unit_words = _WORD.findall(unit.lower())
    start = next(
        (
            i
            for i in range(len(words) - len(unit_words) + 1)
            if words[i : i + len(unit_words)] == unit_words
        ),
        None,
    )
    if start is None or not unit_words:
        return None
    collected = marks[start : start + len(unit_words)]
    balance = 2 * collected.count("D") - len(collected)
    if balance == 0:
        return None
    if balance > 0:
        return "D"
    return "A"


def _stages_of(answer: ScoredAnswer) -> Mapping[str, Mapping[str, int]]:
    """The labels that people gave to the single units of an answer."""
    for label in answer.labels:
        if label.judge == "human" and (stages := LabelContext.from_judgement(label).stages):
            return stages
    return {}


def _by_entities(
    name: str, title: str, description: str, scores: Sequence[tuple[str, int, float]]
) -> Analysis:
    rows: list[tuple[str, str, int, float]] = []
    for respondent, counted_scores in group_by(scores, itemgetter(0)).items():
        for low, high in ENTITIES:
            max_entities = math.inf if high is None else high
            in_range = [score for _, n, score in counted_scores if low <= n <= max_entities]
            if in_range:
                text = f"{low} or more" if high is None else f"{low} to {high}"
                if low == high:
                    text = str(low)
                mean = sum(in_range) / len(in_range)
                rows.append((respondent, f"{text} entities", len(in_range), mean))
    return Analysis(
        name=name,
        title=title,
        about=(
            "Mean share of an answer's facts that hold, by how many entities it names."
            f" {description} (FaithScore, Figure 4.)"
        ),
        columns=("Respondent", "Entities", "Answers", "Mean score"),
        rows=tuple(rows),
        drawn="Mean score",
    )


def _kind_metric(kind: str) -> Metric:
    return Metric(
        f"{kind}_faithscore",
        mean_of(f"{kind}_true", kind),
        about=f"Of all facts of the kind {kind}, the share that holds.",
        scale=(0.0, 1.0),
    )


class FaithScore(Benchmark):
    """The 90 questions of the released annotation, scored by recognizer, decomposer and
    verifier.
    """

    modes = ("answer", "sub_sentence")
    roles = ("recognizer", "decomposer", "verifier")
    stages = _STAGES

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """FaithScore and its sentence level, both also for each kind of question, and the share of
        facts that hold by kind.
        """
        levels = (
            Metric(
                "faithscore",
                mean_of("faith"),
                about="Mean over answers of the share of facts that hold.",
                scale=(0.0, 1.0),
            ),
            Metric(
                "sentence_faithscore",
                mean_of("sentence"),
                about=(
                    "Mean over answers of the share of descriptive sub-sentences without a failed"
                    " fact."
                ),
                scale=(0.0, 1.0),
            ),
        )
        facts = Metric(
            "fact_faithscore",
            mean_of("facts_true", "facts"),
            about="Of all facts, the share that holds.",
            scale=(0.0, 1.0),
        )
        length = Metric(
            "facts",
            mean_of("facts"),
            "neither",
            about="Facts that an answer states.",
            scale=(0.0, None),
        )
        return (
            *levels,
            *map(_kind_metric, KINDS),
            facts,
            length,
            *starmap(Metric.within, product(levels, PARTS)),
        )

    # --- items ---

    def read(self) -> Form:
        """`questions.jsonl`: picture, instruction and kind of question."""
        return released_form(self.data / "questions.jsonl", self._item)

    @staticmethod
    def _item(location: str, record: Mapping[str, object]) -> Item:
        picture = str(either_field(record, "id", "question_id", location))
        kind = str(record.get("type", record.get("category", "")))
        prompt = str(either_field(record, "instruction", "text", location))
        image = PurePosixPath(str(record.get("image", f"COCO_val2014_{picture}.jpg"))).name
        # three questions are about one picture, one of each kind
        key = "/".join(filter(None, (picture, kind)))
        return Item(key, prompt, "vqa", record.get("output"), image, None, kind, image)

    def parallel(self, form: Form) -> Form:
        """Every question or instruction in other words."""
        return build_parallel(form, reword_item)

    # --- judging ---

    def official_prompt(self, name: str) -> str:
        """The release's prompts, together with the texts that its code adds to them."""
        files = {
            "recognize": ("prompt_label_des_ana.txt", "\n\n{answer}\nLabeled text: "),
            "recognize_part": ("prompt_llama.txt", "\n\n{answer}\nThis sub-sentence is "),
            "decompose": ("prompt_de_atomic.txt", "\nAnswer: {description}"),
        }
        if name in files:
            file, end = files[name]
            return read_text(self.data / "prompts" / file) + end
        code = released_file(
            self.data / "framework.py",
            "faithscore",
            "the verifier's prompt stands in the code of the release, which is not there",
        )
        # The program calls a fact `element`.
        return template_in(code, "prompt", "stage3", {"element": "fact"})

    async def judge(self, item: Item, response: Response, ask: AskJudge) -> Verdict:
        """Recognize what describes the picture, decompose it into facts, verify each fact."""
        official = self.scoring == "official"
        facts = await self._facts(response.text, ask)
        if isinstance(facts, str):
            return Verdict.unscored("unparsed", facts)
        # all at the same time, so that the questions without a stored reply go into one batch
        holds = await asyncio.gather(*(self._holds(item, fact, ask) for _, fact in facts.all))
        n_read = Counter[str]()
        n_true = Counter[str]()
        for (kind, _), ok in zip(facts.all, holds, strict=True):
            # of the facts that the verifier decided on: the others are left out of every share
            n_read[kind] += ok is not None
            n_true[kind] += ok is True
        n_facts = n_read.total()
        if not n_facts and not official:
            if holds:
                reason = "no reply of the verifier says yes or no"
            else:
                reason = "the answer states no fact about the picture"
            return Verdict.unscored("unparsed", reason)
        # the release scores an answer without facts 0, and 1 at the level of sentences
        score = n_true.total() / max(n_facts, 1)
        sentence = sentence_score(facts, holds, self.mode, official)
        tally = {"n": 1.0, "faith": score, "sentence": 1.0 if sentence is None else sentence}
        tally |= {"facts": float(n_facts), "facts_true": float(n_true.total())}
        for kind in KINDS:
            tally |= {kind: float(n_read[kind]), f"{kind}_true": float(n_true[kind])}
        unread = ""
        if n_facts < len(holds):
            unread = f"{len(holds) - n_facts} facts were answered neither yes nor no"
        return Verdict(score, tally, "ok", f"{n_true.total()} of {n_facts} facts hold", unread)

    async def _holds(self, item: Item, fact: str, ask: AskJudge) -> bool | None:
        """The verifier's reply on a fact."""
        reply = await ask("verifier", fill(self.prompt("verify"), fact=fact), image=item.image)
        if self.scoring == "official":
            # the released code asks for "yes" alone, so a refusal and an empty reply are a no
            return "yes" in reply.lower()
        return {"yes": True, "no": False, None: None}[parser("vlmevalkit")(reply)]

    async def decide(
        self, role: str, item: Item, response: Response, unit: str, ask: AskJudge
    ) -> bool | None:
        """Whether a sub-sentence describes the picture (recognizer), and whether a fact holds
        (verifier).
        """
        if role == "verifier":
            return await self._holds(item, unit, ask)
        if self.mode == "answer":
            reply = await ask(
                "recognizer",
                fill(self.prompt("recognize"), answer=response.text.replace("\n", " ")),
            )
            return {"D": True, "A": False, None: None}[mark_of(unit, reply)]
        piece = unit.replace("\n", " ").replace('"', "")
        reply = await ask(
            "recognizer", fill(self.prompt("recognize_part"), answer=piece, whole=response.text)
        )
        if self.scoring == "official":
            reading = reply.split("\n")[0].lower()
        else:
            reading = reply.lower()
        if self.scoring == "official" or ("analytical" in reading) != ("descriptive" in reading):
            return "analytical" not in reading
        return None

    async def parts(self, item: Item, response: Response, ask: AskJudge) -> Sequence[AnswerPart]:
        """The marked sub-sentences, each with the facts that share most of its words."""
        facts = await self._facts(response.text, ask)
        if isinstance(facts, str):
            return ()
        if self.mode == "answer":
            pieces = _pieces(response.text, r"(?<=[,.])\s")
        else:
            pieces = _pieces(response.text.replace('"', ""), r"[,.]")
        described = list(map(_distinct_words, facts.sentences))
        words = list(map(_distinct_words, pieces))
        marked_indices = [i for i, stated in enumerate(words) if _has_words(stated, described)]
        collected: dict[int, list[str]] = defaultdict(list)
        for _, fact in facts.all if marked_indices else ():
            stated = _distinct_words(fact)
            collected[max(marked_indices, key=lambda i: len(stated & words[i]))].append(fact)
        return [
            AnswerPart(piece, i in marked_indices, tuple(collected[i]))
            for i, piece in enumerate(pieces)
        ]

    async def _facts(self, answer: str, ask: AskJudge) -> Facts | str:
        """The facts of an answer by the procedure of the mode; the reason where a reply cannot be
        read.
        """
        if self.mode == "answer":
            return await self._by_answer(answer, ask)
        return await self._facts_by_piece(answer, ask)

    async def _by_answer(self, answer: str, ask: AskJudge) -> Facts | str:
        official = self.scoring == "official"
        line_end = "" if official else " "
        reply = await ask(
            "recognizer", fill(self.prompt("recognize"), answer=answer.replace("\n", " "))
        )
        if not official and not _MARK.search(reply):
            return "the recognizer marked no sub-sentence"
        sentences = marked(reply.replace("\n", line_end), official)
        described = line_end.join(sentences)
        if not described:
            return Facts({}, sentences)
        facts = decomposed(
            await ask("decomposer", fill(self.prompt("decompose"), description=described)), official
        )
        if facts is None and not official:
            return "the decomposer's reply has no line of facts"
        return Facts(facts or {}, sentences)

    async def _facts_by_piece(self, answer: str, ask: AskJudge) -> Facts | str:
        """The facts of the descriptive sub-sentences, each decomposed by itself; the reason where a
        reply cannot be read.
        """
        official = self.scoring == "official"
        pieces = _pieces(answer.replace('"', ""), r"[,.]")
        kinds = await self._recognize_pieces(pieces, answer, ask)
        if kinds is None:
            return "the recognizer calls a sub-sentence neither descriptive nor analytical"
        sentences = [
            marked(f"{piece} [{kind}] ", official)
            for piece, kind in zip(pieces, kinds, strict=True)
        ]
        # the released code asks about every sub-sentence and ignores the reply about an empty one
        described = [text for text in map("".join, sentences) if text or official]
        question = self.prompt("decompose")
        replies = await asyncio.gather(
            *(ask("decomposer", fill(question, description=text)) for text in described)
        )
        by_kind: dict[str, list[str]] = defaultdict(list)
        for text, reply in zip(described, replies, strict=True):
            facts_text = reply.split("\n\n")[0] if official else reply
            facts = decomposed(facts_text, official) if text else {}
            if facts is None and not official:
                return "the decomposer's reply has no line of facts"
            for kind, kind_facts in (facts or {}).items():
                by_kind[kind] += kind_facts
        return Facts(by_kind, list(chain.from_iterable(sentences)))

    async def _recognize_pieces(
        self, pieces: Sequence[str], answer: str, ask: AskJudge
    ) -> list[str] | None:
        """Whether each sub-sentence is analytical (A) or descriptive (D); None where a reply says
        neither or both, which the release does not look at.
        """
        question = self.prompt("recognize_part")
        replies = await asyncio.gather(
            *(ask("recognizer", fill(question, answer=piece, whole=answer)) for piece in pieces)
        )
        kinds = []
        for reply in replies:
            reading = reply.lower()
            if self.scoring == "official":
                reading = reading.split("\n")[0]
            is_analytical = "analytical" in reading
            if self.scoring != "official" and is_analytical == ("descriptive" in reading):
                return None
            kinds.append("A" if is_analytical else "D")
        return kinds

    # --- the paper's further analyses ---

    def analyses(self, answers: Sequence[ScoredAnswer]) -> Iterable[Analysis]:
        """The score by the number of entities, and the share of descriptive sub-sentences by kind
        of question.
        """
        by_judge = []
        by_people = []
        for answer in answers:
            if answer.value is not None and "entity" in answer.tally:
                by_judge.append((answer.respondent, int(answer.tally["entity"]), answer.value))
            facts = _stages_of(answer).get("verifier") or {}
            if facts:
                entities = sum(map(methodcaller("startswith", "There "), facts))
                by_people.append((answer.respondent, entities, sum(facts.values()) / len(facts)))
        yield _by_entities(
            "score_by_entities",
            "Score by number of entities",
            "Entities are the decomposer's facts of this kind.",
            by_judge,
        )
        yield _by_entities(
            "labels_by_entities",
            "Score by number of entities, as people labelled the facts",
            "Entities are the labelled facts that begin with “There is” or “There are”; answers"
            " without facts are left out.",
            by_people,
        )
        rows: list[tuple[str, str, int, int, float]] = []
        for respondent, respondent_answers in by_respondent(answers).items():
            marks_by_kind: dict[str, list[int]] = {kind: [] for kind in (*PARTS, "")}
            for answer in respondent_answers:
                recognized = (_stages_of(answer).get("recognizer") or {}).values()
                marks_by_kind[""] += recognized
                if answer.item.part in PARTS:
                    marks_by_kind[answer.item.part] += recognized
            for kind, marks in marks_by_kind.items():
                if marks:
                    rows.append(
                        (respondent, kind or "all", len(marks), sum(marks), sum(marks) / len(marks))
                    )
        yield Analysis(
            name="descriptive_share",
            title="Descriptive sub-sentences by kind of question",
            about=(
                "Of the sub-sentences that people marked, the share that describes the picture; the"
                " others analyse it (FaithScore, Figure 12)."
            ),
            columns=("Respondent", "Question", "Sub-sentences", "Descriptive", "Descriptive share"),
            rows=tuple(rows),
            drawn="Descriptive share",
        )

    # --- files ---

    def read_answers(self, path: Path, form: Form) -> tuple[Form, Mapping[str, Response]]:
        """Records with `answer` and `image`, in the order of a picture's questions unless they
        repeat these; or HQM's format.
        """
        records = read_records(path)
        if not records or "image" not in records[0] or "id" in records[0] or "item" in records[0]:
            return super().read_answers(path, form)
        question_fields = {"question", "prompt", "instruction"}
        if not any(map(question_fields.isdisjoint, records)):
            joined = join_by_picture(
                [Row.of(record, location) for location, record in located_records(path)],
                form.items,
                path,
            )
            return form, {key: row.answer or Response("") for key, row in joined.items()}
        queue = ItemQueue(form.items, lambda item: item.image)
        collected = {}
        for location, record in located_records(path):
            key = queue.take(
                PurePosixPath(str(required_field(record, "image", location))).name, location
            )
            collected[key] = Response(
                answer_text(required_field(record, "answer", location), location)
            )
        return form, collected

    def _annotated(self, path: Path, form: Form) -> list[tuple[str, str, dict[str, Any]]] | None:
        """(respondent, item, record) of a released annotation file; None for any other file."""
        records = read_records(path)
        if not records or "stage 2" not in records[0]:
            return None
        # the annotation names no respondent: the first half of its rows is LLaVA's
        half = len(form.items)
        if len(records) != 2 * half:
            raise AnswerError(
                f"it has {len(records)} rows, not {2 * half}",
                location=str(path),
                remedy="Only the row says whose answer it is: take the whole file.",
            )
        rows = []
        for i, record in enumerate(records):
            item = form.items[i % half]
            if item.id.partition("/")[0] != str(record.get("id")):
                raise AnswerError(
                    f"the row is about {record.get('id')!r}, the question about {item.id!r}",
                    location=f"{path}: record {i + 1}",
                    remedy="Take annotation.jsonl and questions.jsonl as released.",
                )
            rows.append((RESPONDENTS[i // half], item.id, record))
        return rows

    def recordings(self, path: Path) -> Sequence[Recording] | None:
        """The annotated answers of LLaVA and InstructBLIP."""
        if not path.is_file() or path.suffix != ".jsonl":
            return None
        rows = self._annotated(path, self.original)
        if rows is None:
            return None
        recordings = []
        for respondent, own_rows in group_by(rows, itemgetter(0)).items():
            answers = {item: Response(str(row["answer"])) for _, item, row in own_rows}
            recordings.append(Recording(respondent, "original", 0, answers, path.name))
        return recordings

    def read_criterion(
        self, path: Path, form: Form, respondents: Sequence[str] | None
    ) -> Sequence[Judgement]:
        """The released annotation, or labels in HQM's format."""
        rows = self._annotated(path, form)
        if rows is None:
            return super().read_criterion(path, form, respondents)
        # a respondent's name may have its kind and its maker before the model's
        by_short_name = group_by(RESPONDENTS if respondents is None else respondents, _short_name)
        empty = 0.0 if self.scoring == "official" else None
        respondent_of = {}
        for labelled_name in RESPONDENTS:
            names = by_short_name.get(labelled_name.lower(), [])
            if len(names) > 1:
                raise AnswerError(
                    f"the respondent {labelled_name!r} could be {' or '.join(names)}",
                    location=str(path),
                    remedy="Name one with --respondent.",
                )
            if names:
                respondent_of[labelled_name] = names[0]
        if not respondent_of:
            raise AnswerError(
                f"it labels the answers of {' and '.join(RESPONDENTS)}; neither is a respondent"
                " here",
                location=str(path),
                remedy="Import their answers from the same file first.",
            )
        return [
            _labelled(item, respondent_of[labelled_name], row, empty)
            for labelled_name, item, row in rows
            if labelled_name in respondent_of
        ]

    def verdict_of_people(self, item: Item, judgement: Judgement) -> Verdict | None:
        """The share of an answer's facts that people confirmed; of labels without facts, the label
        itself.
        """
        if judgement.label is None:
            return Verdict.unscored("unparsed", "the answer states no fact about the picture")
        tally = {"n": 1.0, "faith": judgement.label}
        facts = LabelContext.from_judgement(judgement).stages.get("verifier")
        if facts is None:
            return Verdict(judgement.label, tally)
        count = len(facts)
        hold = sum(facts.values())
        tally |= {"facts": float(count), "facts_true": float(hold)}
        return Verdict(judgement.label, tally, "ok", f"{hold} of {count} facts hold")

    def check(self, form: Form) -> Iterable[Finding]:
        """The oddities of questions and annotation."""
        instruction_counts = Counter(map(attrgetter("prompt"), form.items))
        yield from finding(
            "shared-instruction",
            "{n} instructions are asked of several pictures",
            [f"{text} ({n} times)" for text, n in instruction_counts.most_common() if n > 1],
        )
        yield from finding(
            "stray-quote",
            "{n} questions have a stray quotation mark",
            asking(form.items, r"'\?"),
        )
        path = self.data / "annotation.jsonl"
        if path.exists():
            annotated = self._annotated(path, form) or ()
            yield from _annotation_oddities(list(map(itemgetter(2), annotated)))


def _short_name(respondent: str) -> str:
    """The name of a model without its kind and maker, as the annotation would write it."""
    return re.sub(r"\W", "", respondent.rpartition("/")[2].rpartition(":")[2]).lower()


def _labelled(item: str, respondent: str, row: Mapping[str, Any], empty: float | None) -> Judgement:
    """The label of people for one answer; `empty` where the answer states no fact."""
    facts = row["stage 2"]
    share = sum(facts.values()) / len(facts) if facts else empty
    context = LabelContext(stages={"recognizer": row["stage 1"], "verifier": facts})
    return Judgement("human", item, respondent, share, context.to_reply())


def _annotation_oddities(rows: Sequence[Mapping[str, Any]]) -> Iterable[Finding]:
    """The oddities of the annotated answers."""
    yield from finding(
        "no-facts",
        "{n} of the annotated answers have no facts: official 0, paper unscored",
        [str(row["answer"])[:60] for row in rows if not row["stage 2"]],
    )
    # a hedged sentence says what may be: it analyses, and does not describe
    hedged = []
    silent = []
    n_sub_sentences = 0
    n_facts = 0
    for row in rows:
        n_sub_sentences += len(row["stage 1"])
        n_facts += len(row["stage 2"])
        if not any(row["stage 1"].values()):
            silent.append(row)
        for text, mark in row["stage 1"].items():
            if re.search(r"\b(?:might|possibly|likely)\b", text):
                hedged.append(mark)
    if hedged and sum(hedged) < 0.5 * len(hedged) and not any(map(itemgetter("stage 2"), silent)):
        yield Finding(
            "inverted-readme",
            f"the README calls 1 analytical and hallucinated; but {sum(hedged)} of"
            f" {len(hedged)} hedged sub-sentences are 1, and the {len(silent)} answers that are"
            " 0 throughout have no facts: 1 is descriptive and faithful",
            len(hedged),
        )
    yield Finding(
        "annotation",
        f"{len(rows)} annotated answers: {n_sub_sentences} sub-sentences, {n_facts} facts; only the"
        " row says whose answer it is",
        len(rows),
    )
