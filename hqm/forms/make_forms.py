"""Build the parallel forms of a benchmark by its task, and write forms to files that a person can
review.

    form        yes/no question           multiple choice             open question, instruction
    parallel    the right answer turns    another order               other words
    parallel2   the right answer stays    other words and order       other words again
    parallel3   the right answer turns    other words and order       other words again
    parallel4   the right answer stays    other words and order       other words again

and so on up to `parallel9`, which all keep the right answer: the wordings of `wordings_of`, over
which the variance between wordings is estimated. A choice whose question no rule rephrases has
another order only. A form is the same whenever it is built: no number is drawn, and an order of
options depends on the item's id and the form's number alone. Wordings of one item differ from the
original and from each other, or the item is left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from hqm.errors import DataError, NoRule, UsageError
from hqm.files.cache import is_url, safe_name
from hqm.files.records import located_records, required_field, write_records
from hqm.forms.find_question import mode_of, question_of
from hqm.forms.grammar import Rewrite
from hqm.forms.languages import check_english, foreign_language
from hqm.forms.negate import (
    PLAINEST_OPPOSITES,
    ask_about_answer,
    ask_about_statement,
    flip,
    opens_sentence,
    statement_of,
)
from hqm.forms.wording import LEADS, add_lead, count_orders, rephrase, shuffle_item
from hqm.scoring.rules import yes_no_truth
from hqm.signature import labelled
from hqm.text import check_address
from hqm.types import ANOTHER_ITEM, LETTERS, ORIGINAL, PARALLEL, Form, Item, LeftOut, Task

MAX_WORDINGS = 9
"""The wordings that can be asked for by name, from `parallel` to `parallel9`."""
_RULE_FAMILIES = frozenset({"polar", "open", "questions", "wording", "options"})
"""What the names of the rules of this package begin with."""
_REVERSING_DRAWS = (1, 3)
"""The wordings of a yes/no question that turn its right answer."""
_NO_REWORDINGS: Mapping[str, tuple[int, ...]] = {"yes_no": _REVERSING_DRAWS, "choice": (1,)}
"""The wordings that are none of one question in other words: those that turn the right answer, and
another order of the options alone.
"""
_RUN_ON = re.compile(r"[?!]\s*\S|[.>]\w|\n")
"""Where the questions of a choice go on behind their end ("?<image 1>"), or run into each other."""


def wordings_of(tasks: Collection[Task], number: int) -> tuple[str, ...]:
    """The names of so many rewordings that keep the right answer in each of these tasks, with the
    original first.

    Raises
    ------
    UsageError
        Rules do not make so many.

    Examples
    --------
    >>> wordings_of(["yes_no"], 3)
    ('original', 'parallel2', 'parallel4', 'parallel5')
    >>> wordings_of(["caption"], 2)
    ('original', 'parallel', 'parallel2')
    """
    # Wordings that turn the answer, and another order of options alone, measure more than words.
    excluded = {draw for task in tasks for draw in _NO_REWORDINGS.get(task, ())}
    draws = [k for k in range(1, MAX_WORDINGS + 1) if k not in excluded]
    if not 1 <= number <= len(draws):
        raise UsageError(
            f"rules make 1 to {len(draws)} rewordings that keep the right answer, not {number}",
            remedy="Ask for fewer, or bring wordings of your own with --form NAME=FILE.",
        )
    return (ORIGINAL, *(f"{PARALLEL}{k}" if k > 1 else PARALLEL for k in draws[:number]))


_AFFIRMATIONS = (
    ("true", "Is it true that {}", "", 'Is "yes" the right answer to {}'),
    ("say", "Is it right to say that {}", "", 'Would you answer "yes" to {}'),
    ("would", "Would you say that {}", "", 'Is it right to answer "yes" to {}'),
    ("statement", "{}. Is that right", "", 'The answer is "yes" to {} Is that right'),
    (
        "agree",
        "Do you agree that {}",
        "{}. Do you agree",
        'Do you agree with the answer "yes" to {}',
    ),
    (
        "claim",
        "Somebody says that {}. Is that so",
        "{}. Is that so",
        'Should one answer "yes" to {}',
    ),
    (
        "seem",
        "Does it seem to you that {}",
        "{}. Does it seem so to you",
        'Is "yes" correct for {}',
    ),
    ("confirm", "Can you confirm that {}", "{}. Can you confirm that", 'Can one say "yes" to {}'),
)
"""How a yes/no question is asked so that its answer stays: the rule; about its statement; the same
where more stands before it ("In 2020, ..."), if another; and about a question without a statement.
"""
_FIRST_STATEMENT = 3
"""The ways from here on lay a statement before the respondent."""
_QUESTION_ONLY_WORDS = re.compile(r"\b(?:any\w*|ever|either|yet|at all)\b", re.IGNORECASE)
"""Words that a plain statement does not have: "There is any milk." """


@lru_cache(maxsize=65536)
def affirm(question: str, draw: int = 0) -> Rewrite:
    """Ask a yes/no question in other words, so that its right answer stays; `draw` counts the ways
    to do so, from 0 to 7.

    Raises
    ------
    NoRule
        As for `flip`: what has no clear opposite has no clear meaning of yes.

    Examples
    --------
    >>> affirm("Is there a dog in the image?")
    Rewrite(prompt='Is it true that there is a dog in the image?', rule='polar.true')
    >>> affirm("Is there a dog in the image?", 3).prompt
    'There is a dog in the image. Is that right?'
    """
    parsed = question_of(question)
    statement = statement_of(parsed)
    rule, template, later_template, answer_template = _AFFIRMATIONS[draw % len(_AFFIRMATIONS)]
    # "In 2020, ..." stands before the question: a sentence of its own cannot begin in its middle
    if later_template and not opens_sentence(parsed):
        template = later_template
    # what has no plain statement is asked about in quotation marks
    if statement is None or (draw >= _FIRST_STATEMENT and _QUESTION_ONLY_WORDS.search(statement)):
        return ask_about_answer(parsed, answer_template, f"polar.quoted_{rule}")
    return ask_about_statement(parsed, template, statement, f"polar.{rule}")


def flip_item(item: Item, draw: int = 0) -> Item:
    """Negate a yes/no item's question and flip its answer; `draw` selects the construction."""
    rewritten = flip(item.prompt, draw)
    return replace(
        item,
        prompt=rewritten.prompt,
        rule=rewritten.rule,
        target="no" if yes_no_truth(item) == "yes" else "yes",
    )


def rephrase_item(item: Item) -> Item:
    """Rephrase an item's instruction or question; the target stays the same.

    A question stays a question, and an instruction stays one.
    """
    try:
        rewritten = rephrase(item.prompt)
    except NoRule:
        if item.task != "vqa":
            raise
        from hqm.forms.rephrase import rephrase_open

        rewritten = rephrase_open(item.prompt)
    return replace(item, prompt=rewritten.prompt, rule=rewritten.rule)


def reword_item(item: Item) -> Item:
    """An open question in other words, chosen by the way it opens (`hqm.forms.rephrase`); the
    target stays the same.
    """
    from hqm.forms.rephrase import reword

    rewritten = reword(item.prompt)
    return replace(item, prompt=rewritten.prompt, rule=rewritten.rule)


REWRITERS: dict[Task, Callable[[Item], Item]] = {
    "yes_no": flip_item,
    "choice": shuffle_item,
    "caption": rephrase_item,
    "vqa": rephrase_item,
}


def build_parallel(
    form: Form, rewrite: Callable[[Item], Item] | None = None, name: str = PARALLEL
) -> Form:
    """Return the parallel form, with every item rewritten by the rules of its task.

    Parameters
    ----------
    form
        The form to rewrite.
    rewrite
        The rule; that of each item's task unless given.
    name
        The name of the new form.

    Returns
    -------
    Form
        The items that a rule fits; the others are listed in `left_out`, with the reason.
    """
    items = []
    omitted = list(form.left_out)
    for item in form.items:
        try:
            # Another order of options needs no English.
            if item.task != "choice":
                check_english(item.prompt)
            items.append((rewrite or REWRITERS[item.task])(item))
        except NoRule as error:
            omitted.append(LeftOut(item.id, item.prompt, error.reason))
    # the next command reads back what the rules made of these questions
    PLAINEST_OPPOSITES.keep()
    return Form(name, tuple(items), tuple(omitted))


def keeps_answers(task: Task, name: str) -> bool:
    """Whether a rewording of this name has the right answers of the original, in the same order of
    options.

    >>> keeps_answers("yes_no", "parallel"), keeps_answers("yes_no", "parallel2")
    (False, True)
    """
    return draw_of(name) not in _NO_REWORDINGS.get(task, ())


def draw_of(name: str) -> int | None:
    """Which rewording the name of a form stands for, counted from 1; None for another name.

    >>> draw_of("parallel"), draw_of("parallel3"), draw_of("flipped")
    (1, 3, None)
    """
    number = name.removeprefix(PARALLEL)
    if name == PARALLEL:
        return 1
    # `parallel1` is none: the first rewording has no number
    if number != name and number.isdigit() and 2 <= int(number) <= MAX_WORDINGS:
        return int(number)
    return None


def build_rewording(form: Form, draw: int, earlier: Sequence[Form]) -> Form:
    """A second or later rewording: every item in words that neither the original nor an earlier
    form has.

    Parameters
    ----------
    form
        The original form.
    draw
        2 for `parallel2`, and so on.
    earlier
        The rewordings before it.

    Examples
    --------
    >>> original = Form("original", (Item("1", "Is there a dog?", "yes_no", "yes"),))
    >>> first = build_parallel(original)
    >>> second = build_rewording(original, 2, [first])
    >>> [(item.prompt, item.target) for item in build_rewording(original, 3, [first, second]).items]
    [('Is it false that there is a dog?', 'no')]
    """
    items = []
    omitted = list(form.left_out)
    for item in form.items:
        earlier_items = [f.by_id[item.id] for f in (form, *earlier) if item.id in f.by_id]
        used_wordings = {_wording_key(earlier_item, item) for earlier_item in earlier_items}
        try:
            if item.task != "choice":
                check_english(item.prompt)
            items.append(
                next(
                    candidate
                    for candidate in _candidates(item, draw)
                    if _wording_key(candidate, item) not in used_wordings
                )
            )
        except NoRule as error:
            omitted.append(LeftOut(item.id, item.prompt, error.reason))
        except StopIteration:
            # Two forms in the same words would agree without another wording.
            omitted.append(
                LeftOut(
                    item.id, item.prompt, f"it has no wording left for the form {PARALLEL}{draw}"
                )
            )
    return Form(f"{PARALLEL}{draw}", tuple(items), tuple(omitted))


def _wording_key(item: Item, original: Item) -> tuple[str, tuple[str, ...]]:
    """A key that equivalent wordings share: another word for the picture is no other wording. An
    order of options counts where the question is as it was.
    """
    words, before = (
        re.sub(r"\b(image|photo|photograph)\b", "picture", wording.prompt.lower())
        for wording in (item, original)
    )
    return words, item.options if words == before else ()


def _candidates(item: Item, draw: int) -> Iterator[Item]:
    """The item in other words, the best ones first."""
    if item.task == "choice":
        orders = count_orders(item)
        # few options have few orders, the original one among them
        order = draw % orders
        rewordings = () if foreign_language(item.prompt) else _reworded(item)
        for worded in filter(partial(_fits_choice, item), rewordings):
            yield replace(shuffle_item(worded, order), rule=worded.rule) if order else worded
        # no rule rephrases the question, or it is not English
        yield from (shuffle_item(item, k) for k in (draw, *range(2, draw)) if k < orders)
    elif item.task == "yes_no" and draw in _REVERSING_DRAWS:
        # the last constructions fit every yes/no question
        yield from (flip_item(item, i) for i in range(3))
    elif item.task == "yes_no":
        # every way is a candidate, since an earlier form may have taken this draw's own
        for i in range(MAX_WORDINGS - len(_REVERSING_DRAWS)):
            rewritten = affirm(item.prompt, i)
            yield replace(
                item, prompt=rewritten.prompt, rule=rewritten.rule, target=yes_no_truth(item)
            )
    else:
        yield from _reworded(item)


def _fits_choice(item: Item, rewording: Item) -> bool:
    """Whether a rewording fits the question of a choice, which may have sentences before it, or no
    picture.
    """
    if rewording.rule == "open.lead":
        return item.image is not None and rewording.prompt.endswith(item.prompt.strip())
    if rewording.rule == "open.look":
        return item.image is not None
    # These hardly change the words: another order of the options changes more.
    weak = ("questions.frame", "questions.what")
    return rewording.rule not in weak and _RUN_ON.search(item.prompt.strip()) is None


def _reworded(item: Item) -> Iterator[Item]:
    from hqm.forms.rephrase import look_first, rephrase_open, reword

    # from what fits the words best to what fits any question
    makers: list[Callable[[str], Rewrite]] = [partial(rephrase, draw=k) for k in (1, 2, 3)]
    makers += [rephrase_open, look_first, lambda prompt: rephrase_open(prompt, keep_mode=False)]
    makers += [reword, *(partial(add_lead, draw=k) for k in range(len(LEADS)))]
    for make in makers:
        try:
            rewritten = make(item.prompt)
        except NoRule:
            continue
        yield replace(item, prompt=rewritten.prompt, rule=rewritten.rule)


def count_modes(original: Form, form: Form) -> dict[str, int]:
    """Count changes of mode ("question to command"), the commonest first."""
    open_items = (i for i in form.items if i.task != "yes_no" and i.id in original.by_id)
    pairs = ((mode_of(original.by_id[i.id].prompt), mode_of(i.prompt)) for i in open_items)
    return dict(
        Counter(f"{before} to {after}" for before, after in pairs if before != after).most_common()
    )


def count_reasons(form: Form) -> dict[str, int]:
    """Count the items left out for each reason, the commonest first."""
    return dict(Counter(omission.reason for omission in form.left_out).most_common())


def foreign_sentence(form: Form) -> str:
    """The sentence on the items left out for their language; empty where there are none."""
    n_foreign = sum(bool(foreign_language(omission.prompt)) for omission in form.left_out)
    if not n_foreign:
        return ""
    return (
        f"forms are made for English questions, and {n_foreign} of"
        f" {len(form) + len(form.left_out)} items are in another language: use --rewriter MODEL"
    )


def count_rules(form: Form) -> dict[str, int]:
    """How many items each rule made, the commonest first."""
    return dict(Counter(item.rule or "(as it was)" for item in form.items).most_common())


def rule_labels(form: Form) -> set[str]:
    """The rules of HQM that made a form's wordings, by task, with their versions; those of a
    release or of a corrected file are in the hash of the form.

    >>> form = build_parallel(Form("original", (Item("1", "Is it red?", "yes_no", "yes"),)))
    >>> [label.partition(":")[0] for label in rule_labels(form)]
    ['yes_no']
    """
    # Of a person's own wording HQM has no version.
    tasks = {item.task for item in form.items if item.rule.partition(".")[0] in _RULE_FAMILIES}
    return {labelled("form", task) for task in tasks}


def write_form(form: Form, path: Path) -> None:
    """Write a form as JSON lines: the items, then what was left out."""
    rows = [item.to_dict() for item in form.items]
    rows += [
        {"id": omission.id, "prompt": omission.prompt, "left_out": omission.reason}
        for omission in form.left_out
    ]
    write_records(path, rows)


def read_form(path: Path, original: Form, name: str = PARALLEL) -> Form:
    """Read a form that a person may have corrected.

    Only `prompt`, `target`, `options`, `image` and `rule` are taken from the file; the rest is the
    original item's. A row with `item` is another question in the place of this one, as a parallel
    short form has it; it brings all of that item.

    Raises
    ------
    DataError
        A row names an item that the original form does not have, an item is named twice, or a
        prompt is missing.
    """
    items = []
    omitted = []
    seen_ids = set()
    for location, row in located_records(path):
        key = str(required_field(row, "id", location))
        if key not in original.by_id:
            raise DataError(
                f"the item {key!r} is not in the original form",
                location=location,
                remedy="Forms share item ids.",
            )
        if key in seen_ids:
            raise DataError(
                f"the item {key!r} stands twice", location=location, remedy="Keep one of the two."
            )
        seen_ids.add(key)
        base = original.by_id[key]
        if row.get("left_out"):
            omitted.append(
                LeftOut(key, str(row.get("prompt") or base.prompt), str(row["left_out"]))
            )
            continue
        if row.get("item") is not None:
            items.append(_replacement_item(row["item"], base, location))
            continue
        prompt = required_field(row, "prompt", location)
        if not isinstance(prompt, str) or not prompt.strip():
            raise DataError(
                f"the prompt is {prompt!r:.60}",
                location=location,
                remedy="Write the question as a text.",
            )
        options = _options(row.get("options"), base, location)
        items.append(
            replace(
                base,
                prompt=prompt,
                target=(
                    _target(row["target"], base, options, location)
                    if "target" in row
                    else base.target
                ),
                options=options,
                image=_picture(row.get("image"), base, location),
                rule=str(row.get("rule") or base.rule),
            )
        )
    return Form(name, tuple(items), tuple(omitted))


def _picture(value: object, base: Item, location: str) -> str | None:
    """The picture of a row, which a form of screenshots has of its own."""
    if not value or value == base.image:
        return base.image
    name = check_address(str(value), location)
    if is_url(name):
        return name
    return safe_name(name, location)


def _replacement_item(value: Any, base: Item, location: str) -> Item:
    """Read a question of the same task that replaces an item under the item's id."""
    try:
        replacement = Item.from_dict(value)
    except (TypeError, ValueError):
        raise DataError(
            f"the item is {value!r:.60}",
            location=location,
            remedy="Write it as `hqm shorten NAME AUDIT --out FOLDER` does.",
        ) from None
    # Scores of another task are read by another rule, so that no difference would be one of
    # wording.
    if replacement.task != base.task:
        raise DataError(
            f"the item is of the task {replacement.task!r}, and the original form is {base.task!r}",
            location=location,
            remedy="A parallel form asks questions of the same task.",
        )
    # pictures differ between the two; what is left out together is what belongs together in the
    # original form
    return replace(
        replacement,
        id=base.id,
        image=safe_name(replacement.image, location)
        if replacement.image and not is_url(replacement.image)
        else replacement.image,
        cluster=base.cluster,
        rule=replacement.rule or ANOTHER_ITEM,
    )


def _options(value: Any, base: Item, location: str) -> tuple[str, ...]:
    """The options of an item in another form: as many as in the original, in any order or
    wording.
    """
    if value is None:
        return base.options
    texts = isinstance(value, list) and all(
        isinstance(option, str) and option.strip() for option in value
    )
    if not texts or len(set(value)) != len(value) or len(value) != len(base.options):
        raise DataError(
            f"the options are {value!r:.60}",
            location=location,
            remedy=f"Write a list of {len(base.options)} different texts, or leave the field out.",
        )
    return tuple(value)


def _target(value: object, base: Item, options: tuple[str, ...], location: str) -> object:
    """The right answer of an item in another form; it must be of the kind that the original has."""
    if base.task == "yes_no":
        remedy = 'A yes/no target is "yes" or "no".'
        fits = str(value).strip().lower() in ("yes", "no")
        value = str(value).strip().lower() if fits else value
    elif base.task == "choice":
        letters = LETTERS[: len(options)]
        remedy = f"Write one letter of {letters}."
        fits = isinstance(value, str) and len(value) == 1 and value in letters
    else:
        remedy = "Write it as the original form does."
        fits = type(value) is type(base.target)
    if not fits:
        raise DataError(f"the target is {value!r:.60}", location=location, remedy=remedy)
    return value
