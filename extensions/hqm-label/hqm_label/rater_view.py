"""A rater's view of a row: question, answer and picture, and nothing that identifies the
respondent.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hqm.administration.asks import Asks
from hqm.administration.stored_answers import Answers, forms_held, forms_of, respondents_in
from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.judge_api import AnswerPart, AskJudge, Prompts
from hqm.benchmark.registry import load
from hqm.errors import DataError, NoReply, UnreadableReply
from hqm.files.records import located_records, required_field
from hqm.forms.make_forms import read_form
from hqm.judges.file_judge import file_judges, stored_judgements
from hqm.labels.people_labels import answer_digest
from hqm.store.database import Store
from hqm.store.database import ask as question_of
from hqm.types import LETTERS, ORIGINAL, Cell, Form, Item, Response
from hqm_label.label_schema import Fact, Schema, Sentence, parts_of
from hqm_label.study_plan import LabelPlan, PlanRow, item_digest

# --- the facts with which people begin who label facts ---
#
# Those that a judge of the benchmark already made of the answers.

_PROMPTS: tuple[Prompts, ...] = ("hqm", "official")


class StoredFacts:
    """Parts and facts of answers from the stored replies of judges; nobody is asked.

    A judge may have been asked in any mode of the benchmark, and in its own or in HQM's words: the
    first way in which the store holds all replies that an answer needs is taken. Judgements that a
    file brought are looked at too.
    """

    def __init__(self, plan: LabelPlan, benchmark: Benchmark, asks: Asks) -> None:
        self._asks = asks
        self._variants: tuple[Benchmark, ...] = ()
        if type(benchmark).parts is not Benchmark.parts:
            self._variants = tuple(_variants(plan, benchmark))
        self._replies: dict[str, Response] | None = None

    def sentences(
        self, item: Item, response: Response, respondent: str, cell: Cell
    ) -> tuple[Sentence, ...]:
        """Return the parts of an answer with their facts; empty without readable replies of a
        judge.
        """
        for benchmark in self._variants:
            for ask in self._askers(benchmark, item, respondent, cell):
                parts = asyncio.run(_answer_parts(benchmark, item, response, ask))
                if any(answer_part.facts for answer_part in parts):
                    # which parts describe the picture is for people to say: what the judge decided
                    # is not shown
                    return tuple(
                        Sentence(answer_part.text, facts=tuple(map(Fact, answer_part.facts)))
                        for answer_part in parts
                    )
        return ()

    def _askers(
        self, benchmark: Benchmark, item: Item, respondent: str, cell: Cell
    ) -> Iterator[AskJudge]:
        async def from_store(
            role: str, prompt: str, image: str | None = None, schema: Any = None
        ) -> str:
            picture, _, _ = self._asks.picture(benchmark, image)
            reply = self._judge_replies(benchmark).get(question_of(prompt, image, picture).digest)
            if reply is None or reply.outcome != "ok":
                raise NoReply("no reply is stored", location=role)
            return reply.text

        yield from_store
        for judge in file_judges(benchmark, stored_judgements(self._asks.store, benchmark)):
            yield judge.ask_about(respondent, cell)(item)

    def _judge_replies(self, benchmark: Benchmark) -> Mapping[str, Response]:
        """Digest of the question -> the reply, of everybody who did not answer the benchmark
        itself.
        """
        if self._replies is None:
            store = self._asks.store
            respondent_numbers = {
                respondent.number for respondent in respondents_in(self._asks, benchmark)
            }
            self._replies = {}
            # the latest judge comes first, and its replies give way to those of earlier ones
            for number, _, _ in reversed(store.respondents()):
                if number not in respondent_numbers:
                    self._replies |= store.replies(number, 0)
        return self._replies


def _variants(plan: LabelPlan, benchmark: Benchmark) -> Iterator[Benchmark]:
    """The benchmark in each mode, and with each wording of its judge's questions."""
    # what is official of the reading of marks are its slips
    scoring = "paper" if "paper" in benchmark.scorings else benchmark.scoring
    for mode in benchmark.modes or (None,):
        for prompts in _PROMPTS:
            yield load(
                plan.benchmark,
                data=plan.data or None,
                images=plan.images or None,
                mode=mode,
                prompts=prompts,
                scoring=scoring,
            )


async def _answer_parts(
    benchmark: Benchmark, item: Item, response: Response, ask: AskJudge
) -> Sequence[AnswerPart]:
    try:
        return await benchmark.parts(item, response, ask)
    except (NoReply, UnreadableReply, DataError):  # a release's own prompts need not be there
        return ()


_MAX_PIECES = 1_500
"""The most pieces that an answer is cut into, to be marked one by one."""
_CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterPage:
    """One page for a rater."""

    uid: str
    question: str
    options: tuple[tuple[str, str], ...] = ()
    """Letter and text of each option of a multiple choice."""
    answer: str = ""
    """What was answered, as it is stored; empty where an item is reviewed."""
    key: str = ""
    """The right answer, which only reviewers of items see."""
    keys: tuple[tuple[str, str], ...] = ()
    """What the right answer may be, and in words; empty where it is free."""
    original: str = ""
    """The original wording of a question, where a rewording of it is reviewed."""
    original_key: str = ""
    sentences: tuple[Sentence, ...] = ()
    """The parts of the answer, with the facts that a decomposer made of them, where facts are
    labelled.
    """
    image: str | None = None
    """The name of the picture; for the server alone."""
    group: str = ""
    """What answers about one picture have in common; for the server alone."""

    @property
    def words(self) -> tuple[tuple[int, int, str], ...]:
        """Split an answer at spaces into (start, end, text), without losing a character.

        Of a very long answer a piece has several words, so that a browser can draw them.
        """
        words_per_piece = -(-len(re.findall(r"\S+", self.answer)) // _MAX_PIECES) or 1
        if words_per_piece > 1:
            pattern = rf"\s+|\S+(?:\s+\S+){{0,{words_per_piece - 1}}}"
        else:
            pattern = r"\s+|\S+"
        return tuple(
            (match.start(), match.end(), match[0]) for match in re.finditer(pattern, self.answer)
        )


def visible(text: str) -> str:
    """Replace control characters by visible signs of the same length.

    >>> visible("a\\0b\\x1b")
    'a\u2400b\u241b'
    """
    # Unicode has a sign for each control character, in their order but for the last, delete
    return _CONTROL_CHARACTERS.sub(
        lambda match: "\u2421" if match[0] == "\x7f" else chr(0x2400 + ord(match[0])), text
    )


def benchmark_of(plan: LabelPlan) -> Benchmark:
    """The benchmark that a plan is about."""
    return load(plan.benchmark, data=plan.data or None, images=plan.images or None)


def rater_pages(
    plan: LabelPlan,
    schema: Schema,
    benchmark: Benchmark,
    facts: Mapping[tuple[str, str], tuple[Sentence, ...]] | None = None,
) -> dict[str, RaterPage]:
    """uid -> what is shown of it.

    Raises
    ------
    DataError
        The store has no such answer any more, or another one than when the plan was made.
    """
    if schema.reviews_items:
        return _item_pages(plan, benchmark)
    with Store(plan.store, readonly=True) as store:
        forms = forms_held(store, benchmark)
        asks = Asks(store)
        respondents = {
            respondent.name: respondent for respondent in respondents_in(asks, benchmark)
        }

        # every administration of the plan is read once
        answers = Answers(asks)
        responses_by_key = {}
        for row in plan.rows:
            key = (row.respondent, row.form, row.run)
            if key in responses_by_key:
                continue
            if row.respondent not in respondents or row.form not in forms:
                raise DataError(
                    f"the store has no answers of {row.respondent!r} to the form {row.form!r}",
                    location=plan.store,
                    remedy="Name the store that the plan was made from.",
                )
            form = forms[row.form]
            responses = answers.responses(benchmark, form, respondents[row.respondent], row.run)
            responses_by_key[key] = dict(zip(form.by_id, responses, strict=True))

        if schema.kind == "facts":
            stored_facts = StoredFacts(plan, benchmark, asks)
        else:
            stored_facts = None
        pages = {}
        for row in plan.rows:
            response = _planned_response(row, responses_by_key, plan)
            item = forms[row.form].by_id[row.item]
            sentences: tuple[Sentence, ...] = ()
            if stored_facts is not None:
                # the facts of a file, else a judge's, else sentences without facts
                sentences = (
                    (facts or {}).get((row.item, row.respondent))
                    or stored_facts.sentences(
                        item, response, row.respondent, Cell(form=row.form, run=row.run)
                    )
                    or tuple(Sentence(text) for text in parts_of(response.text))
                )
            pages[row.uid] = RaterPage(
                uid=row.uid,
                question=item.prompt,
                options=_options(item),
                answer=response.text,
                image=item.image,
                group=item.image or item.cluster or item.id,
                sentences=sentences,
            )
    return pages


def _planned_response(
    row: PlanRow,
    responses_by_key: Mapping[tuple[str, str, int], Mapping[str, Response | None]],
    plan: LabelPlan,
) -> Response:
    """Return the answer that the plan chose, and refuse another one in its place."""
    response = responses_by_key[row.respondent, row.form, row.run].get(row.item)
    if response is None or (row.answer_digest and answer_digest(response) != row.answer_digest):
        raise DataError(
            f"the answer to {row.item!r} (uid {row.uid}) is not the one that the plan chose",
            location=plan.store,
            remedy="Name the store that the plan was made from, or plan again.",
        )
    return response


def _item_pages(plan: LabelPlan, benchmark: Benchmark) -> dict[str, RaterPage]:
    forms = reviewed_forms(plan, benchmark)
    pages = {}
    for row in plan.rows:
        if row.form in forms:
            item = forms[row.form].by_id.get(row.item)
        else:
            item = None
        if item is None or (row.answer_digest and item_digest(item) != row.answer_digest):
            raise DataError(
                f"the item {row.item!r} of the form {row.form!r} is not the one that the plan"
                " chose",
                location=plan.benchmark,
                remedy="Review the benchmark that the plan was made from.",
            )
        if row.form != ORIGINAL:
            original = benchmark.original.by_id.get(item.id)
        else:
            original = None
        pages[row.uid] = RaterPage(
            uid=row.uid,
            question=item.prompt,
            options=_options(item),
            key=_key_text(item),
            keys=_wrong_keys(item),
            image=item.image,
            group=item.image or item.cluster or item.id,
            original=original.prompt if original else "",
            original_key=_key_text(original) if original else "",
        )
    return pages


def reviewed_forms(plan: LabelPlan, benchmark: Benchmark) -> dict[str, Form]:
    """The forms whose items a plan reviews: the original, a form from a file, or one that rules
    make.
    """
    # a plan of a form from a file reviews that form alone
    names = {row.form for row in plan.rows}
    if plan.form_file:
        (name,) = names
        return {name: read_form(Path(plan.form_file), benchmark.original, name)}
    return {form.name: form for form in forms_of(benchmark, rewordings=names - {ORIGINAL})}


def read_facts(path: Path) -> dict[tuple[str, str], tuple[Sentence, ...]]:
    """The facts that a decomposer made of answers: records with `item`, `respondent` and
    `sentences`.

    A sentence has a `text`, `descriptive` (true unless given) and `facts`, a list of texts.

    Raises
    ------
    DataError
        A record cannot be read.
    """
    facts = {}
    for location, record in located_records(path):
        sentences = required_field(record, "sentences", location)
        if not isinstance(sentences, list) or not all(
            isinstance(sentence, Mapping) for sentence in sentences
        ):
            raise DataError(
                "`sentences` is no list of objects",
                location=location,
                remedy='Write [{"text": ..., "facts": []}].',
            )
        item, respondent = (
            str(required_field(record, "item", location)),
            str(required_field(record, "respondent", location)),
        )
        facts[item, respondent] = tuple(map(Sentence.from_dict, sentences))
    return facts


def _options(item: Item) -> tuple[tuple[str, str], ...]:
    return tuple(zip(LETTERS, item.options, strict=False))


def _key_text(item: Item) -> str:
    target: Any = item.target
    words = dict(_options(item)).get(str(target))
    if words:
        return f"{target}: {words}"
    if isinstance(target, list):
        return ", ".join(map(str, target))
    return str(target or "")


def _wrong_keys(item: Item) -> tuple[tuple[str, str], ...]:
    if item.options:
        return tuple(
            (letter, f"{letter}: {text}")
            for letter, text in _options(item)
            if letter != str(item.target)
        )
    if item.task == "yes_no":
        return tuple((word, word) for word in ("yes", "no") if word != str(item.target).lower())
    return ()
