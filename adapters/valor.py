"""VALOR: how many of the features that a caption names are there, and how many of those that are
there it names.

Release: haoyiq114/VALOR. There are five subsets, each with its own instruction: objects, colours of
objects, clothes of people, positions, and objects ranked by size. An extractor (a language model)
takes the features out of the caption, a filter drops words that are not features, and a matcher
sorts the features into matched and broader ones. Faithfulness is (matched + broader) / generated;
coverage is the annotated features that were matched / all annotated ones. Both are summed over
captions, and also given as the share of captions that have all (`_s`) and as the mean over captions
(`_caption`). They are shares, not percentages. Answer files are `{image: {"generated_caption":
...}}`, one for each subset; judgements are the release's extraction and matching files (JSON
lines), single or in a folder, or HQM's. A matching file without its extraction file has what the
filter left, and is not filtered again; in HQM's format, `"already_filtered": true` in the
extractor's reply says so. The release's prompts are read from its scripts where those are there,
without the system message.

Official and paper. `official` counts as the released scripts do. A reply must be pure JSON (the
code asks again without limit; here the caption is unscored, as it is where the code would stop with
an error). `surroundings` is not filtered, because a comma is missing in the list, and neither are
phrases. Matches are kept by word, so that a word that was generated twice lowers faithfulness. What
is matched need neither be generated nor annotated, and two wordings of the same position count as
two. Of attribute_object, only every other tuple of several can be matched, and one pair of an
object counts. Of attribute_people, the last pair of every person is missing from the annotation
(165 of 433), and one pair of a person counts. Of relation_comparative, faithful is the longest
sequence of words in the right order less the broader concepts outside it, which coverage subtracts
too; a refusal counts as a faithful caption that covers nothing. `paper`: JSON is found inside a
reply; the filter has all its entries; every generated feature counts; every match must be of one
generated and one annotated feature, each used once; broader features count only for faithfulness; a
refusal is unscored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, product
from operator import attrgetter, itemgetter
from pathlib import Path
from statistics import correlation
from typing import Any

from hqm.benchmarks.valor.counts import PARTS, count, prepared

from hqm import (
    Analysis,
    AnswerError,
    AskJudge,
    Benchmark,
    Finding,
    Form,
    Item,
    Metric,
    Response,
    ScoredAnswer,
    Verdict,
    finding,
    mean_of,
    read_records,
    reading,
)
from hqm.benchmark.analyses import by_respondent
from hqm.benchmark.judge_api import fill
from hqm.benchmark.released_files import files_in, first_file, released_file, texts_in
from hqm.files.records import located_records, parse_value, read_json, read_text, required_field
from hqm.imports.recordings import ItemAnswers
from hqm.imports.row import Replies
from hqm.scoring.metrics import mentioned

_TYPES = dict(
    zip(PARTS, ("existence", "attribute", "attribute", "relation", "comparison"), strict=True)
)
PARALLEL = {
    "object_existence": (
        "Describe the image in detail. Name all objects in the foreground and in the background."
    ),
    "attribute_object": (
        "Describe the image in detail. From left to right and from top to bottom, say how many"
        " objects there are in total and which color each of them has."
    ),
    "attribute_people": (
        "Describe the image in detail. From left to right, say how many people there are in total"
        " and which colors the clothes of each person have."
    ),
    "relation_positional": (
        "Explain in detail how all the objects in the image are placed relative to one another, in"
        " terms such as left, right, top, and bottom, as the observer sees them."
    ),
    "relation_comparative": (
        "Put all the objects in the image into order by their size, in detail, beginning with the"
        " largest and ending with the smallest."
    ),
}
"""Our wording of each subset's instruction; it asks for the same features in the same order."""
_KEYS = {
    "object_existence": "matched_objects",
    "relation_comparative": "matched_objects",
    "relation_positional": "matched_relations",
    "attribute_object": "matched_att_obj",
    "attribute_people": "matched_att_obj",
}
_HINTS = {
    "_long_caps": "object_existence",
    "_comp": "relation_comparative",
    "_pos": "relation_positional",
}
_OBJECT = {"type": "object"}
FILTERED = "already_filtered"
"""The key in an extractor's reply that says: the filter ran before these features were matched, so
it does not run again.
"""


def _metrics() -> tuple[Metric, ...]:
    levels = (
        Metric(
            "faithfulness",
            mean_of("faithful", "generated"),
            about="Of all features generated, the share that is there.",
            scale=(0.0, 1.0),
        ),
        Metric(
            "coverage",
            mean_of("covered", "truth"),
            about="Of all features annotated, the share that was named.",
            scale=(0.0, 1.0),
        ),
        Metric(
            "faithfulness_s",
            mean_of("all_faithful"),
            share=True,
            about="Share of captions that name only what is there.",
        ),
        Metric(
            "coverage_s",
            mean_of("all_covered"),
            share=True,
            about="Share of captions that name everything annotated.",
        ),
        Metric(
            "faithfulness_caption",
            mean_of("faithfulness"),
            about="Mean over captions of their own faithfulness.",
            scale=(0.0, 1.0),
        ),
        Metric(
            "coverage_caption",
            mean_of("coverage"),
            about="Mean over captions of their own coverage.",
            scale=(0.0, 1.0),
        ),
    )
    within_subsets = (level.within(subset) for subset, level in product(PARTS, levels))
    return (*levels, *within_subsets)


class Valor(Benchmark):
    """The five subsets of VALOR-Bench."""

    roles = ("extractor", "matcher")

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """Faithfulness and coverage, overall and by subset: summed, share of captions with all,
        mean over captions.
        """
        return _metrics()

    # --- items ---

    def _annotation(self, subset: str) -> dict[str, Any]:
        """Picture -> annotated features of a subset."""
        folder = self.data / "human_annotation"
        path = folder / f"{subset}.json"
        # object_existence has a record a line and the others are one object; copies are called
        # either way.
        path = first_file(path, folder / f"{subset}.jsonl") or path
        if subset != "object_existence":
            return dict(read_json(path))
        return {
            str(required_field(record, "image_id", location)): required_field(
                record, "gt_objects", location
            )
            for location, record in located_records(path)
        }

    def read(self) -> Form:
        """Every annotated picture of every subset, with the subset's instruction from
        `generation`.
        """
        items = []
        for subset in PARTS:
            path = self.data / f"{subset}.txt"
            prompt_file = first_file(self.data / "generation" / path.name) or path
            prompt = read_text(prompt_file).strip()
            for picture, truth in self._annotation(subset).items():
                image = f"{picture}.jpg"
                items.append(
                    Item(
                        f"{subset}/{picture}",
                        prompt,
                        "caption",
                        truth,
                        image,
                        _TYPES[subset],
                        subset,
                        image,
                    )
                )
        return Form("original", tuple(items))

    def subsets(self, item: Item) -> Sequence[str]:
        """The subset of the release."""
        return [item.part]

    def parallel(self, form: Form) -> Form:
        """Each subset's instruction in other words."""
        return form.reworded("parallel", lambda item: PARALLEL[item.part], "valor.instruction")

    # --- judging ---

    def official_prompt(self, name: str) -> str:
        """The longest text in the release's script, `evaluation/extraction/extract_*.py` or
        `matching/match_*.py`.
        """
        step = {"extract": "extraction", "match": "matching"}[name.partition("_")[0]]
        path = self.data / "evaluation" / step / f"{name}.py"
        released_file(path, "valor", "the release's script with this prompt is not there")
        # the scripts hold their prompt as one text, much longer than any other
        text = max(texts_in(path), key=len)
        if "{}" in text:
            text = "{caption}".join(
                # the script formats this text, so that its other braces stand twice
                segment.replace("{{", "{").replace("}}", "}")
                for segment in text.split("{}")
            )
        text = text.replace("[CAPTION]", "{caption}")
        return re.sub(
            r"\[(GT|GENERATED)_[A-Z_]+\]",
            lambda m: "{truth}" if m[1] == "GT" else "{generated}",
            text,
        )

    def _json(self, reply: str) -> Any:
        """The JSON in the reply; None if there is none."""
        try:
            return json.loads(reply)
        except ValueError:
            # The release reads a whole reply as JSON, or drops it; the paper's scoring looks for
            # the object in it.
            if self.scoring == "official":
                return None
        braces = re.search(r"\{.*\}", reply, re.DOTALL)
        if braces:
            return parse_value(braces[0])
        return None

    async def judge(self, item: Item, response: Response, ask: AskJudge) -> Verdict:
        """Extract the features, filter them, match them with the annotation, and count."""
        official = self.scoring == "official"
        caption = response.text
        subset = item.part
        if subset == "relation_comparative":
            # a caption that repeats its second sentence is cut, and a refusal is not put to the
            # extractor
            pieces = caption.split(".")
            if len(pieces) >= 4 and pieces[1] == pieces[3]:
                caption = ".".join(pieces[:2])
            if caption.startswith(("Sorry", "I'm sorry")):
                if not official:
                    return Verdict.unscored("refused", "the caption is a refusal")
                return _verdict(subset, item.target, "", {}, official)
        reply = await ask(
            "extractor", fill(self.prompt(f"extract_{subset}"), caption=caption), schema=_OBJECT
        )
        extracted = self._json(reply)
        if extracted is None:
            return Verdict.unscored("unparsed", "the extractor's reply is no JSON")
        try:
            # what the matcher was given is counted, whatever our filter would leave of it
            if isinstance(extracted, dict) and extracted.get(FILTERED) is True:
                generated = _matcher_input(subset, extracted)
            else:
                generated = prepared(subset, extracted, official)
        # Whatever shape a model gives its JSON, one answer is left unscored and the audit goes on.
        except (LookupError, TypeError, ValueError, AttributeError, StopIteration) as error:
            return _misshapen("extractor", error)
        if generated == "":
            # Nothing was named: no feature is wrong, and none is covered.
            return _verdict(subset, item.target, "", {}, official)
        if not official and not isinstance(
            generated, list if subset in ("object_existence", "relation_positional") else dict
        ):
            return Verdict.unscored(
                "unparsed", "the extractor's reply does not have the shape asked for"
            )
        if subset == "object_existence":
            # the annotation repeats objects, and the matcher is shown each once
            truth = list(dict.fromkeys(item.target))
        else:
            truth = item.target
        # the release writes Python's text of a list into its prompts
        to_text = str if self.prompts == "official" else json.dumps
        with reading(reply):
            generated_text = to_text(generated)
        prompt = fill(
            self.prompt(f"match_{subset}"), truth=to_text(truth), generated=generated_text
        )
        matched = self._json(await ask("matcher", prompt, schema=_OBJECT))
        if not isinstance(matched, dict):
            return Verdict.unscored("unparsed", "the matcher's reply is no JSON object")
        try:
            return _verdict(subset, item.target, generated, matched, official)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            return _misshapen("matcher", error)

    def analyses(self, answers: Sequence[ScoredAnswer]) -> Iterable[Analysis]:
        """The judge beside CHAIR, which finds objects by their words, on the captions of
        object_existence.
        """
        items = self.original.select_part("object_existence").items
        objects = chain.from_iterable(map(attrgetter("target"), items))
        vocabulary = frozenset(map(str.lower, objects))
        judged = by_respondent(filter(_has_counted_objects, answers))
        rows = [(name, *_judge_and_chair(judged[name], vocabulary)) for name in judged]
        yield Analysis(
            name="judge_and_chair",
            title="The judge and CHAIR on the same captions",
            about=(
                "CHAIR looks for the words of all objects annotated in object_existence, in"
                " singular and plural, each once a caption; the judge's extractor takes whatever a"
                " caption names. Faithfulness of CHAIR is 1 - CHAIRi. r is Pearson's correlation of"
                " both faithfulnesses over captions that name an object to both (VALOR-Eval,"
                " Table 6)."
            ),
            columns=(
                "Respondent",
                "Captions",
                "Faithfulness, judge",
                "Faithfulness, CHAIR",
                "Coverage, judge",
                "Coverage, CHAIR",
                "Objects, judge",
                "Objects, CHAIR",
                "r",
            ),
            rows=tuple(rows),
        )

    # --- files ---

    def read_answers(self, path: Path, form: Form) -> tuple[Form, Mapping[str, Response]]:
        """Captions of one subset: `{image: {"generated_caption": ...}}`, records with `image_id`,
        or HQM's own format.
        """
        records = read_records(path)
        first = next(iter(records[0].values()), None) if records else None
        if len(records) == 1 and isinstance(first, dict) and "generated_caption" in first:
            rows = [
                (str(key), required_field(value, "generated_caption", f"{path}: {key}"))
                for key, value in records[0].items()
            ]
        elif records and "image_id" in records[0]:
            rows = [
                (
                    str(required_field(record, "image_id", location)),
                    record.get("generated_caption", record.get("caption", "")),
                )
                for location, record in located_records(path)
            ]
        else:
            return super().read_answers(path, form)
        subset = self._subset_of_pictures(path, list(map(itemgetter(0), rows)), form)
        responses = ItemAnswers(form.select_part(subset))
        for key, text in rows:
            caption = Response("" if text is None else str(text))
            responses.put(f"{subset}/{key}", caption, str(path))
        return responses.form, responses

    def _subset_of_pictures(self, path: Path, pictures: Sequence[str], form: Form) -> str:
        """The subset that a file is about, found by its pictures and then by its name."""

        def has_all(subset: str) -> bool:
            return all(f"{subset}/{key}" in form.by_id for key in pictures)

        # Pictures first: a file's name is what somebody called it.
        fits = list(filter(has_all, PARTS))
        if len(fits) > 1:
            text = f"{path.parent.name}/{path.stem}"
            named_subsets = [subset for subset in fits if subset in text]
            if not named_subsets:
                named_subsets = [s for hint, s in _HINTS.items() if hint in text and s in fits]
            # the relation subsets share pictures, so that pictures alone may fit several
            fits = named_subsets or fits
        if len(fits) != 1:
            if fits:
                fault = f"its pictures are in {' and '.join(fits)}"
            else:
                fault = "it has pictures of no single subset"
            raise AnswerError(
                fault,
                location=str(path),
                remedy="Name the subset with --part, or in the file's name.",
            )
        return fits[0]

    def read_replies(self, path: Path, form: Form) -> Mapping[str, Replies]:
        """Files of the release's extraction and matching steps, one or a folder of them; or HQM's
        own format.
        """
        replies: dict[str, dict[str, Sequence[str]]] = {}
        for file in files_in(path, ".json", ".jsonl"):
            records = read_records(file)
            if not records or "image_id" not in records[0]:
                for key, own_replies in super().read_replies(file, form).items():
                    replies.setdefault(key, {}).update(own_replies)
                continue
            subset = self._subset_of_steps(file, records, form)
            for record in records:
                roles = replies.setdefault(f"{subset}/{record['image_id']}", {})
                for role, reply in _steps(subset, record).items():
                    # the extraction file has the whole reply, a later file only what the filter
                    # left of it
                    if "response" in record or role not in roles:
                        roles[role] = [reply]
        return replies

    def _subset_of_steps(
        self, path: Path, records: Sequence[Mapping[str, object]], form: Form
    ) -> str:
        """The subset that a file of a judging step is about, found by its fields and then by its
        pictures.
        """
        record = records[0]
        truth = record.get("gt_words", record.get("gt_obj_atts"))
        if isinstance(truth, list):
            return "object_existence"
        if isinstance(truth, dict) and truth:
            # The annotation of each subset has a shape of its own, which a file of results repeats.
            kind = type(next(iter(truth.values())))
            if "gt_obj_atts" in record:
                if kind is dict:
                    return "attribute_people"
                return "attribute_object"
            if kind is list:
                return "relation_positional"
            return "relation_comparative"
        answer = record.get("response")
        keys = {
            "relations": "relation_positional",
            "clothes": "attribute_people",
            "total_num_of_objects": "attribute_object",
        }
        for key, subset in keys.items():
            if isinstance(answer, dict) and key in answer:
                return subset
        pictures = [str(record.get("image_id")) for record in records]
        return self._subset_of_pictures(path, pictures, form)

    def check(self, form: Form) -> Iterable[Finding]:
        """The oddities of the annotation."""
        items_by_subset = {subset: form.select_part(subset).items for subset in PARTS}
        for subset, paper in (("attribute_people", 34), ("relation_comparative", 50)):
            if len(items_by_subset[subset]) != paper:
                yield Finding(
                    "count",
                    f"{subset} has {len(items_by_subset[subset])} pictures, the paper says {paper}",
                    len(items_by_subset[subset]),
                )
        yield from _object_oddities(items_by_subset["object_existence"])
        yield from _people_oddities(items_by_subset["attribute_people"])
        several_tuples = []
        for item in items_by_subset["attribute_object"]:
            texts = item.target.values()
            several_tuples += [f"{item.id}: {text}" for text in texts if text.count("(") > 1]
        yield from finding(
            "several-tuples",
            "{n} objects have several tuples: any of them is right",
            several_tuples,
        )
        yield from _ranking_oddities(items_by_subset["relation_comparative"])
        shared = set(map(attrgetter("image"), items_by_subset["relation_positional"]))
        shared &= set(map(attrgetter("image"), items_by_subset["relation_comparative"]))
        n_pictures = len(set(map(attrgetter("image"), form.items)))
        yield Finding(
            "shared-pictures",
            f"{n_pictures} pictures; {len(shared)} are in both relation subsets",
            len(shared),
        )


def _object_oddities(items: Sequence[Item]) -> Iterable[Finding]:
    """The oddities of object_existence."""
    objects = list(map(attrgetter("target"), items))
    listed = sum(map(len, objects))
    unique = sum(map(len, map(set, objects)))
    yield Finding(
        "repeated-object",
        f"{listed} objects are listed, {unique} once repeats in a picture are dropped",
        listed - unique,
    )
    filtered = []
    for item in items:
        retained = prepared("object_existence", {"objects": item.target})
        filtered += [f"{item.id}: {word}" for word in sorted({*item.target} - {*retained})]
    yield from finding(
        "filtered-object",
        "{n} annotated objects can never be covered: the filter takes them out of every caption",
        filtered,
    )


def _people_oddities(items: Sequence[Item]) -> Iterable[Finding]:
    """The oddities of attribute_people."""
    n_pairs = lost = 0
    no_person = []
    for item in items:
        for wearer in item.target.values():
            pairs = wearer["object"].split("),")
            n_pairs += len(pairs)
            # the split leaves its bracket to the last pair, and the scorer drops a pair that has it
            lost += sum(pair.strip().endswith(")") for pair in pairs)
            if "person" not in wearer:
                no_person.append(f"{item.id}: {', '.join(wearer)}")
    yield Finding(
        "lost-pairs",
        f"the released scorer drops {lost} of the {n_pairs} annotated pairs of"
        " attribute_people: the last of every person",
        lost,
    )
    yield from finding(
        "misspelt-key",
        "{n} people have no field 'person'",
        no_person,
    )


def _ranking_oddities(items: Sequence[Item]) -> Iterable[Finding]:
    """The oddities of relation_comparative."""
    alternatives = []
    misspelt = []
    for item in items:
        for name in item.target.values():
            if "/" in name:
                alternatives.append(f"{item.id}: {name}")
            if re.search(r"\bfiled\b", name):
                misspelt.append(f"{item.id}: {name}")
    yield from finding(
        "alternatives", "{n} ranked objects have alternatives ('a / b')", alternatives
    )
    yield from finding("spelling", "{n} ranked objects are misspelt ('filed')", misspelt)


def _has_counted_objects(answer: ScoredAnswer) -> bool:
    """Whether an answer is a caption of object_existence whose objects the judge counted."""
    is_scored = answer.value is not None and "generated" in answer.tally
    return is_scored and answer.item.part == "object_existence"


def _judge_and_chair(
    captions: Sequence[ScoredAnswer], vocabulary: frozenset[str]
) -> tuple[float | int | None, ...]:
    """The row of a respondent in the table of the judge and CHAIR, without its name."""
    by_judge = dict.fromkeys(("generated", "faithful", "truth", "covered"), 0.0)
    n_mentioned = n_covered = n_annotated = 0
    pairs = []
    for caption in captions:
        annotated = set(map(str.lower, caption.item.target))
        # the judge counts features, CHAIR mentions: once a caption makes them comparable
        names = set(mentioned(caption.text, vocabulary))
        n_annotated += len(annotated)
        n_mentioned += len(names)
        n_covered += len(names & annotated)
        for key in by_judge:
            by_judge[key] += caption.tally[key]
        if names and caption.tally["generated"] and caption.value is not None:
            pairs.append((caption.value, len(names & annotated) / len(names)))
    return (
        len(captions),
        by_judge["faithful"] / by_judge["generated"] if by_judge["generated"] else None,
        n_covered / n_mentioned if n_mentioned else None,
        by_judge["covered"] / by_judge["truth"],
        n_covered / n_annotated,
        int(by_judge["generated"]),
        n_mentioned,
        _pearson(pairs),
    )


def _pearson(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Pearson's r; None where there are fewer than three pairs or one side does not vary."""
    judge, chair = zip(*pairs, strict=True) if pairs else ((), ())
    # Two points always lie on a line, so that their r says nothing.
    if len(pairs) < 3 or len(set(judge)) < 2 or len(set(chair)) < 2:
        return None
    return correlation(judge, chair)


def _verdict(
    subset: str, truth: object, generated: object, matched: Mapping[str, object], official: bool
) -> Verdict:
    counts = count(subset, truth, generated, matched, official)
    names = (
        "generated",
        "faithful",
        "truth",
        "covered",
        "all_faithful",
        "all_covered",
        "faithfulness",
        "coverage",
    )
    tally = {"n": 1.0}
    tally |= zip(names, map(float, attrgetter(*names)(counts)), strict=True)
    return Verdict(
        counts.faithfulness,
        tally,
        "ok",
        f"{counts.faithful} of {counts.generated} faithful,"
        f" {counts.covered} of {counts.truth} covered",
    )


def _matcher_input(subset: str, extracted: Mapping[str, object]) -> object:
    """The features that the matcher was given, as they stand."""
    unfiltered = {key: value for key, value in extracted.items() if key != FILTERED}
    names = {
        "object_existence": "objects",
        "relation_positional": "relations",
        "attribute_object": "objects",
        "attribute_people": "clothes",
    }
    if subset == "relation_comparative":
        return unfiltered
    return unfiltered[names[subset]]


def _misshapen(role: str, error: Exception) -> Verdict:
    return Verdict.unscored(
        "unparsed",
        f"the {role}'s reply does not have the shape asked for ({type(error).__name__}: {error})",
    )


def _steps(subset: str, record: Mapping[str, Any]) -> dict[str, str]:
    """Role -> reply, for the roles whose reply a record of the release's files has."""
    replies: dict[str, str] = {}
    words = record.get("generated_words", record.get("generated_obj_atts"))
    if "response" in record:
        replies["extractor"] = json.dumps(record["response"])
    elif words is not None:
        wrap = {
            "object_existence": "objects",
            "attribute_object": "objects",
            "attribute_people": "clothes",
            "relation_positional": "relations",
        }
        is_unwrapped = subset == "relation_comparative" or (
            subset == "relation_positional" and isinstance(words, dict)
        )
        # a file of the later steps has what the matcher was given: the filter ran before
        replies["extractor"] = json.dumps(
            {**(words if is_unwrapped else {wrap[subset]: words}), FILTERED: True}
        )
    first = record.get("matched_objects", record.get("matched_att_obj"))
    if first is not None:
        replies["matcher"] = json.dumps(
            {_KEYS[subset]: first, "broader_concept": record.get("broader_concept", {})}
        )
    return replies
