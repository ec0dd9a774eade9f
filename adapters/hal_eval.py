"""Hal-Eval: captions with a wrong object, attribute, relation or event (discriminative), and free
descriptions (generative).

Both are in one module because they read one release. Release: WisdomShell/hal-eval.
`in_domain_evaluation.json` (COCO) and `out_of_domain_evaluation.json` (web pictures, which are not
available) each have 5,000 pictures with a true caption and four hallucinated ones. The paper's
types become object = existence, attribute = attribute, relation = relation, event = action (a
made-up event with things of its own).

Discriminative (`hal_eval_d`): does the caption fit the picture? Every picture has five captions.
The scores of a type compare the true captions with the captions of that type, so that all types
share one recall. Metrics are called `in_domain.object.f1` and so on. There are four forms: the
question of the release's code (original), the question of the paper (parallel), `flipped` (does the
caption contain anything that does not match? the right answers turn round) and `cot` (the paper's
question with its request to go step by step). Answers are the release's JSON (`result`: five of 0 =
no, 1 = yes, 2 = neither, in the order true, relation, object, attribute, event; `predict`: the
texts up to the first comma), or HQM's own format.

Generative (`hal_eval_g`): a short and a long description of every picture, judged by a model that
sees the picture. It is asked whether anything is made up, and then of which types that is. The
release does not have the weights of Hal-Evaluator, so any model may judge. The release has no
instruction for the descriptions either; we wrote ours. Answers are the release's JSON of `image`
and `predict`, with `short` or `long` in the file's name; the evaluator's `first_answer` and
`second_answer` are read as recorded replies.

Official and paper. Discriminative, `official`: an answer is read up to its first comma; `no`
anywhere in it (also in "know") means no, otherwise `yes` or `match` means yes; an answer that is
neither counts as wrong in accuracy, recall and yes-ratio. The release has no code for the metrics;
they are the paper's. `paper`: the parser `strict` reads the answers, and what it cannot read is
left out. The forms `flipped` and `cot` have parsers of their own (`strict`, `last`) in both.
Generative, `official`: the first of `Yes` and `No` counts, only in this spelling and even inside a
word; neither means No. Types are recognised by parts of words. Shares are those of the hallucinated
descriptions, and null if there are none (where the release stops with an error). `paper`: yes or no
as a word in any case; a reply with neither is left out; types are recognised by parts of words in
any case.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from operator import attrgetter, itemgetter, methodcaller
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from hqm import (
    Analysis,
    AnswerError,
    AskJudge,
    Benchmark,
    DataError,
    Finding,
    Form,
    Item,
    Metric,
    Response,
    ScoredAnswer,
    Verdict,
    finding,
    mean_of,
    ratio,
    read_records,
)
from hqm.benchmark.analyses import by_respondent, items_asked, scored_answers
from hqm.benchmark.judge_api import fill
from hqm.benchmark.released_files import ItemQueue, texts_in
from hqm.files.records import located_records, read_json, read_text, required_field
from hqm.imports.match import contradict
from hqm.imports.row import Replies, released_answer
from hqm.scoring.metrics import Array, Tally
from hqm.scoring.parsers import Parser, parser
from hqm.scoring.rules import common_words, rouge_l, words_of
from hqm.types import group_by

PARTS = ("in_domain", "out_of_domain")
KINDS = ("relation", "object", "attribute", "event")
"""The types of captions, in the order of the release's files."""
LENGTHS = ("short", "long")
BINS = (10, 20, 40, 80)
"""The longest description of each bin of lengths, in words; the paper's Figure 2 divides at 20."""
_QUOTED = re.compile(r"[\"“‘`]([^\"“”‘’`]+)[\"”’`]|(?<!\w)'([^']+)'(?!\w)")
_READERS = {
    "hal_eval.flipped": "strict",
    "hal_eval.cot": "last",
    "hal_eval.true": "strict",
    "hal_eval.unshown": "strict",
}
"""Rule of a form whose question is another than the original's -> its parser."""
_OPPOSITE = {"yes": "no", "no": "yes"}
_TYPES = {
    "relation": "relation",
    "object": "existence",
    "attribute": "attribute",
    "event": "action",
}
# The release's words for the types, in the order of KINDS.
_NAMES = dict(
    zip(("Spatial Relationship", "Objective", "Attributive", "Event"), KINDS, strict=True)
)

CODE = (
    "```{caption}```. Does the caption delimited by triple backticks match the image exactly? If"
    ' so, return "yes". If not, return "no".'
)
PAPER = (
    "Caption: {caption}\nQuestion: Does the description in the caption accurately reflect the"
    " content of the image?"
)
FLIPPED = (
    "Caption: {caption}\nQuestion: Does the caption contain anything that does not match the image?"
)
TRUE = "Caption: {caption}\nQuestion: Is everything that the caption says true of the image?"
UNSHOWN = (
    "Caption: {caption}\nQuestion: Does the caption say anything that is not true of the image?"
)
STEPS = (
    f"{PAPER}\nPlease conduct a step-by-step analysis of the image and its associated caption,"
    " thereafter providing an answer to the query."
)
DESCRIBE = {
    "short": (
        "Describe this image in one short sentence.",
        "Give a one-sentence description of this image.",
    ),
    "long": ("Describe this image in detail.", "Provide a detailed description of this image."),
}


def _discriminative() -> Iterator[Metric]:
    """The metrics of yes/no questions: over all, by type, by domain and by both."""
    five = (
        Metric(
            "accuracy",
            lambda t: ratio(t["tp"] + t["tn"], t["n"]),
            share=True,
            about="Share of right answers.",
        ),
        Metric(
            "precision",
            lambda t: ratio(t["tp"], t["tp"] + t["fp"]),
            about="Of the answers yes, the share right.",
            scale=(0.0, 1.0),
        ),
        Metric(
            "recall",
            mean_of("tp", "truth_yes"),
            about="Of the questions with the answer yes, the share so answered.",
            scale=(0.0, 1.0),
        ),
        Metric(
            "f1",
            _f1,
            about="Harmonic mean of precision and recall, from their counts.",
            scale=(0.0, 1.0),
        ),
        Metric(
            "yes_ratio",
            lambda t: ratio(t["tp"] + t["fp"], t["n"]),
            "neither",
            about="Share of answers yes.",
            scale=(0.0, 1.0),
        ),
    )
    yield from _with_subsets(five, (*KINDS, *PARTS), KINDS)


def _with_subsets(
    metrics: Sequence[Metric], subsets: Sequence[str], divided: Sequence[str]
) -> Iterator[Metric]:
    """Metrics over all items, within subsets, and within each of those `divided` by domain."""
    yield from metrics
    pairs = map(".".join, itertools.product(PARTS, divided))
    for subset, metric in itertools.product((*subsets, *pairs), metrics):
        yield metric.within(subset)


def _f1(t: Tally) -> Array:
    return ratio(2 * t["tp"], t["tp"] + t["fp"] + t["truth_yes"])


def _generative() -> Iterator[Metric]:
    """The metrics of descriptions: over all, by length, by domain and by both."""
    metrics = [
        Metric(
            "accuracy",
            lambda t: 1 - ratio(t["hallucinated"], t["n"]),
            share=True,
            about="Share of descriptions without anything made up.",
        ),
        _kind_metric("object", "a made-up object"),
        _kind_metric("relation", "a wrong relation"),
        _kind_metric("attribute", "a wrong attribute"),
        _kind_metric("event", "a made-up event"),
        _kind_metric("multitype", "several types in one, as the evaluator says"),
        _kind_metric("other", "none of these types"),
        Metric(
            "length", mean_of("words"), "neither", about="Mean length in words.", scale=(0.0, None)
        ),
    ]
    yield from _with_subsets(metrics, (*PARTS, *LENGTHS), LENGTHS)


def _kind_metric(kind: str, description: str) -> Metric:
    return Metric(
        f"{kind}_ratio",
        mean_of(kind, "hallucinated"),
        "neither",
        about=f"Of the hallucinated descriptions, the share with {description}.",
        scale=(0.0, 1.0),
    )


def says_hallucinated(reply: str, official: bool) -> bool | None:
    """Whether an evaluator's reply says that something is made up; None if the reply does not
    decide.

    >>> [says_hallucinated("Nothing. Yes", official=official) for official in (True, False)]
    [False, True]
    """
    if official:
        # the release looks for these spellings alone, also inside a longer word
        yes = reply.find("Yes")
        no = reply.find("No")
        return yes != -1 and (no == -1 or yes < no)
    # The first of the two words decides: an evaluator begins with it, and explains behind.
    word = re.search(r"\b(yes|no)\b", reply, re.IGNORECASE)
    if word is None:
        return None
    return word[1].lower() == "yes"


def types_said(reply: str, official: bool, events: bool = True) -> list[str]:
    """The types that an evaluator's reply names; `other` if it names no type that counts.

    With `events`, the word event counts like additional, the word that the release's evaluator
    uses.

    >>> types_said("Attribute and relationship", official=True), types_said("OBJECT", official=True)
    (['relation', 'attribute'], ['other'])
    """
    parts = {
        "object": ("object",),
        "relation": ("relation",),
        "attribute": ("attribut",),
        # The misspelling is the release's own, and its evaluator may answer with it.
        "event": ("additional", "aditional", *(("event",) if events else ())),
        "multitype": ("multitype",),
    }

    def is_spelled(spelling: str) -> bool:
        if official:
            return spelling in reply or spelling.capitalize() in reply
        return spelling in reply.lower()

    named_kinds = [kind for kind, spellings in parts.items() if any(map(is_spelled, spellings))]
    # the release's list for the rest lacks one spelling and the mixed type
    skipped = ("aditional", "multitype") if official else ()
    spellings_that_count = set(itertools.chain.from_iterable(parts.values())).difference(skipped)
    if any(map(is_spelled, spellings_that_count)):
        return named_kinds
    return [*named_kinds, "other"]


def _ends_in_full_stop(text: str) -> bool:
    return text.rstrip().endswith(".")


def _beginning_with(head: str, texts: Iterable[str]) -> str | None:
    return next(filter(methodcaller("startswith", head), texts), None)


def _turned(form: Form) -> Form:
    """The form with the other answer right."""
    items = (replace(item, target=_OPPOSITE[str(item.target)]) for item in form.items)
    return replace(form, items=tuple(items))


def _picture_of(item: Item) -> str:
    """The beginning of an item's id, which all items about its picture share."""
    return item.id.rpartition("/")[0]


def located(caption: str, truth: str) -> str:
    """The words of a hallucinated caption that the true one does not have, outside the longest
    common sequence of both.

    >>> located("people on unicycles ride down a street", "people on bicycles ride down a street")
    'unicycles'
    """
    words = words_of(caption)
    # The words of the longest common sequence, by their places.
    common = set(common_words(words, words_of(truth)))
    return " ".join(word for i, word in enumerate(words) if i not in common)


def quoted(answer: str) -> str:
    """The quotations of an answer, joined; empty where it quotes nothing.

    >>> quoted('No: there are no "unicycles" here'), quoted("No, it isn't Tom's.")
    ('unicycles', '')
    """
    # findall gives both groups of a match, of which one is empty.
    return " ".join(map("".join, _QUOTED.findall(answer)))


def _quoted(answers: Sequence[ScoredAnswer], truths: Mapping[str, str]) -> Analysis:
    """How well the words that respondents quote as wrong are those that are."""
    rows: list[tuple[str, str, int, int, float]] = []
    for respondent, respondent_answers in by_respondent(answers).items():
        # A rejected hallucination has the value 1: no is the right answer to it.
        answers_by_kind = group_by(respondent_answers, lambda a: (a.item.meta["kind"], a.value))
        for kind in KINDS:
            refused = answers_by_kind.get((kind, 1.0), [])
            overlaps = []
            for answer in refused:
                if spoken := quoted(answer.text):
                    truth = truths[_picture_of(answer.item)]
                    overlaps.append(rouge_l(spoken, located(answer.item.meta["caption"], truth)))
            if overlaps:
                mean = sum(overlaps) / len(overlaps)
                rows.append((respondent, kind, len(refused), len(overlaps), mean))
    return Analysis(
        name="located_spans",
        title="Overlap of the words located with the words that are wrong",
        about=(
            "Of the hallucinated captions that a respondent rejects, those for which its answer"
            " quotes words of the caption: mean ROUGE-L of the quoted words with the caption's"
            " words that the true one does not have (Hal-Eval, Figure 5b)."
        ),
        columns=("Respondent", "Type", "Rejected", "With a quotation", "ROUGE-L"),
        rows=tuple(rows),
        drawn="ROUGE-L",
    )


def _share_of(kind: str, tallies: Sequence[Mapping[str, float]], wrong: float) -> float | None:
    if wrong:
        return sum(tally.get(kind, 0.0) for tally in tallies) / wrong
    return None


def _by_length(answers: Sequence[ScoredAnswer]) -> Analysis:
    """The types of hallucination by the length of the description."""
    rows: list[tuple[str, str, int, int, float, *tuple[float | None, ...]]] = []
    edges = ((0, BINS[0]), *itertools.pairwise(BINS), (BINS[-1], None))
    for respondent, respondent_answers in by_respondent(scored_answers(answers)).items():
        for min_words, max_words in edges:
            tallies = [
                a.tally
                for a in respondent_answers
                # Bins are open below and closed above: a description of 10 words belongs to the
                # first.
                if min_words < a.tally["words"] <= (max_words or float("inf"))
            ]
            if not tallies:
                continue
            # the shares of types are of hallucinated descriptions alone, as in the paper's figures
            wrong = sum(map(itemgetter("hallucinated"), tallies))
            kinds = ("object", "attribute", "relation", "event")
            shares = (_share_of(kind, tallies, wrong) for kind in kinds)
            if max_words:
                name = f"{min_words + 1} to {max_words} words"
            else:
                name = f"over {min_words} words"
            rows.append((respondent, name, len(tallies), int(wrong), wrong / len(tallies), *shares))
    return Analysis(
        name="types_by_length",
        title="Types of hallucination by length of the description",
        about=(
            "The share of descriptions that make something up, and of these the shares in which the"
            " judge names each type; one description may have several (Hal-Eval, Figures 2 and 6)."
        ),
        columns=(
            "Respondent",
            "Length",
            "Descriptions",
            "Hallucinated",
            "Share hallucinated",
            "Object",
            "Attribute",
            "Relation",
            "Event",
        ),
        rows=tuple(rows),
        drawn="Event",
    )


class _Picture(NamedTuple):
    """A picture of the release, by the place of its record."""

    domain: str
    row: int
    image: str
    captions: Sequence[str]
    """The true one, then one of each of `KINDS`."""


class HalEval(Benchmark):
    """One of the two evaluations of Hal-Eval; the card's task says which."""

    paper_parser = "strict"
    scoring_files = ()

    @property
    def _asks_yes_no(self) -> bool:
        return self.card.task == "yes_no"

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """Every metric over all items, by type or length, by domain, and by both."""
        return tuple(_discriminative() if self._asks_yes_no else _generative())

    @cached_property
    def _pictures(self) -> list[_Picture]:
        """Every picture with its five captions."""
        pictures = []
        for domain in PARTS:
            path = self.data / f"{domain}_evaluation.json"
            for row, record in enumerate(read_records(path), 1):
                location = f"{path}: record {row}"
                if "image" in record:
                    image = str(record["image"])
                else:  # a path on the authors' machine
                    image_path = str(required_field(record, "image_path", location))
                    image = f"{domain}/{PurePosixPath(image_path).name}"
                wrong = {}
                for caption in required_field(record, "hal_caption", location):
                    label = str(required_field(caption, "type", location))
                    kind = _NAMES.get(label.removesuffix(" Hallucination"), "")
                    # a type that the release does not have falls together with others of its kind
                    # and is refused below
                    wrong[kind] = str(required_field(caption, "caption", location))
                if set(wrong) != set(KINDS):
                    raise DataError(
                        "its hallucinated captions are of the types"
                        f" {', '.join(map(repr, wrong)) or 'none'}",
                        location=location,
                        remedy="Take the files of the release.",
                    )
                truth = str(required_field(record, "caption", location))
                # In the order of KINDS, which the release's files do not keep.
                captions = (truth, *itemgetter(*KINDS)(wrong))
                pictures.append(_Picture(domain, row, image, captions))
        return pictures

    def read(self) -> Form:
        """Five captions, or two lengths, for every picture."""
        items = []
        for domain, row, image, captions in self._pictures:
            if self._asks_yes_no:
                for kind, caption in zip(("truth", *KINDS), captions, strict=True):
                    target = "yes" if kind == "truth" else "no"
                    key = f"{domain}/{row}/{kind}"
                    meta = {"kind": kind, "caption": caption}
                    prompt = CODE.replace("{caption}", caption)
                    items.append(
                        Item(
                            key,
                            prompt,
                            "yes_no",
                            target,
                            image,
                            _TYPES.get(kind),
                            domain,
                            image,
                            meta=meta,
                        )
                    )
            else:
                for length in LENGTHS:
                    key = f"{domain}/{row}/{length}"
                    meta = {"kind": length}
                    prompt = DESCRIBE[length][0]
                    items.append(
                        Item(key, prompt, "caption", None, image, None, domain, image, meta=meta)
                    )
        return Form("original", tuple(items))

    def parallel(self, form: Form) -> Form:
        """The question of the paper, or the other instruction for the same length."""
        if self._asks_yes_no:
            return self._with_template("parallel", form, PAPER, "hal_eval.paper")

        def other_instruction(item: Item) -> str:
            return DESCRIBE[item.meta["kind"]][1]

        return form.reworded("parallel", other_instruction, "hal_eval.instruction")

    def rewording(self, form: Form, draw: int, earlier: Sequence[Form]) -> Form:
        """`parallel2` asks whether all of the caption is true, `parallel3` whether anything in it
        is not.
        """
        if not self._asks_yes_no or draw > 3:
            return super().rewording(form, draw, earlier)
        template, rule = ((TRUE, "hal_eval.true"), (UNSHOWN, "hal_eval.unshown"))[draw - 2]
        reworded = self._with_template(f"parallel{draw}", form, template, rule)
        # asked for what is untrue, a fitting caption is answered no
        if draw == 3:
            return _turned(reworded)
        return reworded

    def more_forms(self, form: Form) -> tuple[Form, ...]:
        """The forms `flipped` and `cot`; none for descriptions."""
        if not self._asks_yes_no:
            return ()
        return _turned(
            self._with_template("flipped", form, FLIPPED, "hal_eval.flipped")
        ), self._with_template("cot", form, STEPS, "hal_eval.cot")

    @staticmethod
    def _with_template(name: str, form: Form, template: str, rule: str) -> Form:
        def question(item: Item) -> str:
            return template.replace("{caption}", item.meta["caption"].strip())

        return form.reworded(name, question, rule)

    def subsets(self, item: Item) -> Sequence[str]:
        """The item's domain, its type or length, and both together; a true caption belongs to every
        type.
        """
        # all types share one recall: their right answers yes are those of the true captions
        kinds = KINDS if item.meta["kind"] == "truth" else (str(item.meta["kind"]),)
        return [item.part, *kinds, *map(".".join, itertools.product((item.part,), kinds))]

    def reader(self, item: Item) -> Parser:
        """`cot` answers end with the yes or no; `flipped`, `parallel2` and `parallel3` do not ask
        whether the caption matches.
        """
        if item.rule in _READERS:
            return parser(_READERS[item.rule])
        return super().reader(item)

    def score(self, item: Item, response: Response) -> Verdict:
        """The four counts; an unreadable answer is wrong for the release and unscored for the
        paper.
        """
        read = super().score(item, response)
        if not read.scored and self.scoring == "paper":
            return read
        tally = {**read.tally, "n": 1.0, "truth_yes": float(item.target == "yes")}
        # to the release an answer that is neither yes nor no is a wrong one
        return Verdict(read.value or 0.0, tally, read.state, read.read, read.reason)

    def decides(self, item: Item) -> str:
        """The target of a yes/no question."""
        return str(item.target)

    # --- the evaluator ---

    @property
    def roles(self) -> tuple[str, ...]:
        """The judge of descriptions; none for yes/no questions."""
        if self._asks_yes_no:
            return ()
        return ("judge",)

    async def judge(self, item: Item, response: Response, ask: AskJudge) -> Verdict:
        """Ask whether anything is made up, and then of which types; the evaluator sees the picture
        both times.
        """
        official = self.scoring == "official"
        first = await ask("judge", fill(self.prompt("exists"), caption=response.text), item.image)
        # In two questions, as the release asks: which types only where something is made up.
        is_hallucinated = says_hallucinated(first, official)
        if is_hallucinated is None:
            return Verdict.unscored("unparsed", "the evaluator says neither yes nor no")
        tally = {
            "n": 1.0,
            "hallucinated": float(is_hallucinated),
            "words": float(len(response.text.split())),
        }
        kinds: list[str] = []
        if is_hallucinated:
            second = await ask(
                "judge", fill(self.prompt("types"), caption=response.text, reply=first), item.image
            )
            # The release's evaluator says "additional"; a judge that is asked in HQM's words says
            # "event".
            kinds = types_said(second, official, events=not official or self.prompts == "hqm")
        return Verdict(
            float(not is_hallucinated),
            {**tally, **dict.fromkeys(kinds, 1.0)},
            "ok",
            ", ".join(kinds),
        )

    def official_prompt(self, name: str) -> str:
        """The prompts that the release's script gives to Hal-Evaluator; the second repeats the
        first turn.
        """
        path = self.data / "eval_our_model_llava15.py"
        # By how the texts begin, since the script names no prompt.
        texts = texts_in(path)
        first = _beginning_with("Caption: {}", texts)
        follow_up = _beginning_with("USER: What types", texts)
        answer_prefix = _beginning_with("ASSISTANT: The types", texts)
        if (
            first is None
            or follow_up is None
            or answer_prefix is None
            or name not in ("exists", "types")
        ):
            raise DataError(
                f"it has no prompt {name!r}",
                location=str(path),
                remedy="Take the script of the release.",
            )
        first = first.replace("{}", "{caption}")
        if name == "exists":
            return first
        return f"{first}\nASSISTANT: {{reply}}\n{follow_up}\n{answer_prefix}"

    # --- recorded answers ---

    def read_answers(self, path: Path, form: Form) -> tuple[Form, Mapping[str, Response]]:
        """The release's lists of five, its descriptions, or HQM's own format."""
        rows: list[object] = []
        if read_text(path).lstrip().startswith("["):
            rows = read_json(path)
        first = next(iter(rows), None)
        fields = set(first) if isinstance(first, dict) else set()
        if not self._asks_yes_no and {"predict", "image"} <= fields:
            descriptions = self._by_picture(path, form)
            return form, {
                key: released_answer(row, ("predict",), f"{path}: {key}")
                for key, row in descriptions
            }
        has_fives = isinstance(first, list) or bool({"result", "predict"} & fields)
        if not has_fives or not self._asks_yes_no:
            return super().read_answers(path, form)
        return form, self._read_fives(rows, path, form)

    def _read_fives(self, rows: Sequence[object], path: Path, form: Form) -> dict[str, Response]:
        """The answers of rows of five, in the order of the pictures."""
        pictures = list(group_by(form.items, _picture_of))
        # Rows of five may name no picture: of the questions of both files, fewer could belong to
        # either.
        if len(rows) > len(pictures) or (len(form.parts) > 1 and len(rows) < len(pictures)):
            raise AnswerError(
                f"it has {len(rows)} rows for {len(pictures)} pictures",
                location=str(path),
                remedy=(
                    f"Rows follow the pictures of one file: say --part, one of {', '.join(PARTS)}."
                ),
            )
        responses = {}
        wrong = []
        for i, (picture, row) in enumerate(zip(pictures, rows, strict=False), 1):
            image = row.get("image") if isinstance(row, dict) else None
            expected = str(form.by_id[f"{picture}/truth"].image)
            if image and PurePosixPath(str(image)).name != PurePosixPath(expected).name:
                wrong.append(
                    f"record {i} is about {str(image)!r:.60}, and the question about"
                    f" {expected!r:.60}"
                )
        if wrong:
            contradict(
                wrong,
                len(rows),
                path,
                "Bring the rows into the order of the release's file, or say --part.",
            )
        for i, (picture, row) in enumerate(zip(pictures, rows, strict=False), 1):
            # checked before: a file of other pictures would otherwise give plausible answers
            texts = self._five(row, f"{path}: record {i}")
            for kind, text in zip(("truth", *KINDS), texts, strict=True):
                responses[f"{picture}/{kind}"] = Response(text)
        return responses

    def _five(self, row: Any, location: str) -> list[str]:
        """The five answers of a row: as the release has read them for `official`, their texts for
        `paper`.
        """
        fields = row if isinstance(row, dict) else {"result": row}
        codes = fields.get("result")
        texts = fields.get("predict")
        # `official` takes the release's reading where there is one, `paper` reads the texts again.
        if texts is not None and (codes is None or self.scoring == "paper"):
            answers = list(map(str, texts))
        else:
            # The release's own reading of an answer, as its files keep it.
            words = {"0": "no", "1": "yes", "2": "unclear"}
            answers = [words.get(str(code), "?") for code in codes or ()]
        if len(answers) != 5 or "?" in answers:
            raise AnswerError(
                f"it is no row of five answers: {row}",
                location=location,
                remedy="A row is five of 0 (no), 1 (yes) and 2 (neither), or five texts.",
            )
        return answers

    def _by_picture(self, path: Path, form: Form) -> Iterator[tuple[str, dict[str, object]]]:
        """The records of a file of descriptions, each with its item."""
        # The rows of both lengths look alike, and their pictures are the same.
        length = next((length for length in LENGTHS if length in path.name), None)
        if length is None:
            raise AnswerError(
                "its name has neither 'short' nor 'long'",
                location=str(path),
                remedy="Rename it, as the release's files are called.",
            )
        described = ItemQueue(
            (item for item in form.items if item.meta["kind"] == length),
            lambda item: PurePosixPath(item.image or "").name,
        )
        for location, record in located_records(path):
            picture = PurePosixPath(str(required_field(record, "image", location))).name
            yield described.take(picture, location), record

    def read_replies(self, path: Path, form: Form) -> Mapping[str, Replies]:
        """The evaluator's two answers in the release's result files, or HQM's own format."""
        records = read_records(path)
        if not records or "first_answer" not in records[0]:
            return super().read_replies(path, form)

        def turns(row: Mapping[str, object]) -> list[str]:
            return [str(row[name]) for name in ("first_answer", "second_answer") if name in row]

        return {key: {"judge": turns(row)} for key, row in self._by_picture(path, form)}

    # --- the paper's further analyses ---

    def analyses(self, answers: Sequence[ScoredAnswer]) -> Iterable[Analysis]:
        """Of descriptions, the types by length; of yes/no questions, which words are wrong and
        whether answers quote them.
        """
        if self._asks_yes_no:
            return (self._overlap(answers), _quoted(answers, self._truths))
        return (_by_length(answers),)

    @cached_property
    def _truths(self) -> dict[str, str]:
        """The beginning of the ids of a picture's items -> its true caption."""
        return {f"{p.domain}/{p.row}": p.captions[0] for p in self._pictures}

    def _overlap(self, answers: Sequence[ScoredAnswer]) -> Analysis:
        """How far the hallucinated captions are from the true one of their picture."""
        rows: list[tuple[str, str, int, float, float, float]] = []
        groups = group_by(items_asked(answers), lambda item: (item.part, item.meta["kind"]))
        for (domain, kind), captioned_items in groups.items():
            if kind == "truth":
                # The true caption has no words that it lacks itself.
                continue
            lengths = []
            for item in captioned_items:
                truth = self._truths[_picture_of(item)]
                caption = item.meta["caption"]
                wrong = words_of(located(caption, truth))
                lengths.append((len(words_of(caption)), len(wrong), rouge_l(caption, truth)))
            longs, wrongs, alike = (
                sum(column) / len(lengths) for column in zip(*lengths, strict=True)
            )
            rows.append((domain, kind, len(lengths), longs, wrongs, alike))
        return Analysis(
            name="overlap_with_truth",
            title="The hallucinated captions beside the true ones",
            about=(
                "ROUGE-L of each hallucinated caption with the true caption of its picture, and how"
                " many of its words the true one does not have in this order: what the evaluator"
                " has to locate. Means over captions."
            ),
            columns=(
                "Part",
                "Type",
                "Captions",
                "Words",
                "Words not in the true caption",
                "ROUGE-L with the true caption",
            ),
            rows=tuple(rows),
            drawn="ROUGE-L with the true caption",
        )

    # --- what is odd ---

    def check(self, form: Form) -> Iterable[Finding]:
        """The cues that give the answers away, and the pictures that are not available."""
        for domain, pictures in group_by(self._pictures, attrgetter("domain")).items():
            if domain not in form.parts:
                continue
            image_counts = Counter(map(attrgetter("image"), pictures))
            yield from finding(
                f"{domain}-repeated",
                f"{{n}} {domain} pictures stand more than once",
                [image for image, count in image_counts.items() if count > 1],
            )
            if self._asks_yes_no:
                yield from self._surface(domain, list(map(attrgetter("captions"), pictures)))
        if "out_of_domain" in form.parts:
            yield Finding("pictures-not-distributed", "the out_of_domain pictures have no address")

    @staticmethod
    def _surface(domain: str, rows: Sequence[Sequence[str]]) -> Iterable[Finding]:
        """The cues that give the answer away to someone who never sees the picture."""
        truths = list(map(itemgetter(0), rows))
        yield from finding(
            f"{domain}-empty",
            f"{{n}} {domain} captions are empty",
            [
                f"row {i}: {kind}"
                for i, row in enumerate(rows, 1)
                for kind, text in zip(("truth", *KINDS), row, strict=True)
                if not text.strip()
            ],
        )
        yield from finding(
            f"{domain}-whitespace",
            f"{{n}} true {domain} captions begin or end with white space",
            [truth for truth in truths if truth != truth.strip()],
        )
        longer = sum(len(row[4].split()) > len(row[0].split()) for row in rows)
        yield Finding(
            f"{domain}-event-length",
            f"the {domain} event caption has more words than the true one in {longer} of"
            f" {len(rows)} rows: its length gives the answer",
            longer,
        )
        n_true = sum(map(_ends_in_full_stop, truths))
        n_all = sum(map(_ends_in_full_stop, itertools.chain.from_iterable(rows)))
        yield Finding(
            f"{domain}-full-stop",
            f"a full stop ends {n_true} of {len(rows)} true {domain} captions and {n_all - n_true}"
            f" of {4 * len(rows)} hallucinated ones",
            n_true,
        )
