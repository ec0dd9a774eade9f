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

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from hqm.errors import DataError, NoRule, UsageError
from hqm.files.cache import is_url, safe_name
from hqm.files.records import placed_records, take, write_records
from hqm.forms.find_question import mode_of, question_of
from hqm.forms.grammar import Rewrite
from hqm.forms.negate import PLAINEST, at_head, flip, quoted, statement_of, whole
from hqm.forms.wording import LEADS, led_in, rephrase, shuffle_item
from hqm.scoring.rules import yes_no_truth
from hqm.types import LETTERS, ORIGINAL, PARALLEL, Form, Item, LeftOut, Task

MOST_ORDERS = 9
"""The wordings that can be asked for by name, from `parallel` to `parallel9`."""
_TURNED = (1, 3)
"""The wordings of a yes/no question that turn its right answer."""
_NO_REWORDINGS: Mapping[str, tuple[int, ...]] = {"yes_no": _TURNED, "choice": (1,)}
"""The wordings that are none of one question in other words: those that turn the right answer, and
another order of the options alone.
"""
_RUN_ON = re.compile(r"[?!]\s*\S|[.>]\w|\n")
"""Where the questions of a choice go on behind their end ("?<image 1>"), or run into each other."""


def wordings_of(task: Task, number: int) -> tuple[str, ...]:
    """The names of so many rewordings that keep the right answer, with the original first.

    Raises
    ------
    UsageError
        Rules do not make so many.

    Examples
    --------
    >>> wordings_of("yes_no", 3)
    ('original', 'parallel2', 'parallel4', 'parallel5')
    >>> wordings_of("caption", 2)
    ('original', 'parallel', 'parallel2')
    """
    draws = [k for k in range(1, MOST_ORDERS + 1) if k not in _NO_REWORDINGS.get(task, ())]
    if not 1 <= number <= len(draws):
        raise UsageError(
            f"rules make 1 to {len(draws)} rewordings that keep the right answer, not {number}",
            remedy="Ask for fewer, or bring wordings of your own with --form NAME=FILE.",
        )
    return (ORIGINAL, *(f"{PARALLEL}{k}" if k > 1 else PARALLEL for k in draws[:number]))


_AFFIRMED = (
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
_AS_STATEMENTS = 3
"""The ways from here on lay a statement before the respondent."""
_IN_QUESTIONS = re.compile(r"\b(?:any\w*|ever|either|yet|at all)\b", re.IGNORECASE)
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
    made = question_of(question)
    statement = statement_of(made)
    rule, template, behind, of_question = _AFFIRMED[draw % len(_AFFIRMED)]
    if behind and not at_head(made):
        template = behind
    if statement is None or (draw >= _AS_STATEMENTS and _IN_QUESTIONS.search(statement)):
        return quoted(made, of_question, f"polar.quoted_{rule}")
    return whole(made, template, statement, f"polar.{rule}")


def flip_item(item: Item, draw: int = 0) -> Item:
    """Negate a yes/no item's question and flip its answer; `draw` selects the construction."""
    made = flip(item.prompt, draw)
    return replace(
        item,
        prompt=made.prompt,
        rule=made.rule,
        target="no" if yes_no_truth(item) == "yes" else "yes",
    )


def rephrase_item(item: Item) -> Item:
    """Rephrase an item's instruction or question; the target stays the same.

    A question stays a question, and an instruction stays one.
    """
    try:
        made = rephrase(item.prompt)
    except NoRule:
        if item.task != "vqa":
            raise
        from hqm.forms.rephrase import rephrase_open

        made = rephrase_open(item.prompt)
    return replace(item, prompt=made.prompt, rule=made.rule)


def reword_item(item: Item) -> Item:
    """An open question in other words, chosen by the way it opens (`hqm.forms.rephrase`); the
    target stays the same.
    """
    from hqm.forms.rephrase import reword

    made = reword(item.prompt)
    return replace(item, prompt=made.prompt, rule=made.rule)


REWRITERS: dict[Task, Callable[[Item], Item]] = {
    "yes_no": flip_item,
    "choice": shuffle_item,
    "caption": rephrase_item,
    "vqa": rephrase_item,
}


def build_parallel(
    form: Form, rewrite: Callable[[Item], Item] | None = None, name: str = PARALLEL
) -> Form:
    """The parallel form: every item rewritten by its task's rules; an item that no rule fits is
    left out and listed.
    """
    items, left_out = [], list(form.left_out)
    for item in form.items:
        try:
            items.append((rewrite or REWRITERS[item.task])(item))
        except NoRule as error:
            left_out.append(LeftOut(item.id, item.prompt, error.reason))
    PLAINEST.keep()
    return Form(name, tuple(items), tuple(left_out))


def draw_of(name: str) -> int | None:
    """Which rewording the name of a form stands for, counted from 1; None for another name.

    >>> draw_of("parallel"), draw_of("parallel3"), draw_of("flipped")
    (1, 3, None)
    """
    number = name.removeprefix(PARALLEL)
    if name == PARALLEL:
        return 1
    return (
        int(number)
        if number != name and number.isdigit() and 2 <= int(number) <= MOST_ORDERS
        else None
    )


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
    items, left_out = [], list(form.left_out)
    for item in form.items:
        known = [f.by_id[item.id] for f in (form, *earlier) if item.id in f.by_id]
        taken = {_words(each, item) for each in known}
        try:
            items.append(
                next(made for made in _candidates(item, draw) if _words(made, item) not in taken)
            )
        except NoRule as error:
            left_out.append(LeftOut(item.id, item.prompt, error.reason))
        except StopIteration:
            left_out.append(
                LeftOut(
                    item.id, item.prompt, f"it has no wording left for the form {PARALLEL}{draw}"
                )
            )
    return Form(f"{PARALLEL}{draw}", tuple(items), tuple(left_out))


def _words(item: Item, original: Item) -> tuple[str, tuple[str, ...]]:
    """What two wordings have alike that a speaker would not tell apart: another word for the
    picture is no other wording. An order of options counts where the question is as it was.
    """
    words, before = (
        re.sub(r"\b(image|photo|photograph)\b", "picture", each.prompt.lower())
        for each in (item, original)
    )
    return words, item.options if words == before else ()


def _candidates(item: Item, draw: int) -> Iterator[Item]:
    """The item in other words, the best ones first."""
    if item.task == "choice":
        orders = math.factorial(len(item.options))
        # few options have few orders, the original one among them
        order = draw % orders
        for worded in filter(partial(_fits_choice, item), _reworded(item)):
            yield replace(shuffle_item(worded, order), rule=worded.rule) if order else worded
        # no rule rephrases the question
        yield from (shuffle_item(item, k) for k in (draw, *range(2, draw)) if k < orders)
    elif item.task == "yes_no" and draw in _TURNED:
        # the last constructions fit every yes/no question
        yield from (flip_item(item, i) for i in range(3))
    elif item.task == "yes_no":
        for i in range(MOST_ORDERS - len(_TURNED)):
            made = affirm(item.prompt, i)
            yield replace(item, prompt=made.prompt, rule=made.rule, target=yes_no_truth(item))
    else:
        yield from _reworded(item)


def _fits_choice(item: Item, made: Item) -> bool:
    """Whether a rewording fits the question of a choice, which may have sentences before it, or no
    picture.
    """
    if made.rule == "open.lead":
        return item.image is not None and made.prompt.endswith(item.prompt.strip())
    if made.rule == "open.look":
        return item.image is not None
    weak = ("questions.frame", "questions.what")
    return made.rule not in weak and _RUN_ON.search(item.prompt.strip()) is None


def _reworded(item: Item) -> Iterator[Item]:
    from hqm.forms.rephrase import look_first, rephrase_open, reword

    makers: list[Callable[[str], Rewrite]] = [partial(rephrase, draw=k) for k in (1, 2, 3)]
    makers += [rephrase_open, look_first, lambda prompt: rephrase_open(prompt, keep_mode=False)]
    makers += [reword, *(partial(led_in, draw=k) for k in range(len(LEADS)))]
    for make in makers:
        try:
            made = make(item.prompt)
        except NoRule:
            continue
        yield replace(item, prompt=made.prompt, rule=made.rule)


def count_modes(original: Form, form: Form) -> dict[str, int]:
    """Count changes of mode ("question to command"), the commonest first."""
    asked = (i for i in form.items if i.task != "yes_no" and i.id in original.by_id)
    pairs = ((mode_of(original.by_id[i.id].prompt), mode_of(i.prompt)) for i in asked)
    return dict(
        Counter(f"{before} to {after}" for before, after in pairs if before != after).most_common()
    )


def count_reasons(form: Form) -> dict[str, int]:
    """Count the items left out for each reason, the commonest first."""
    return dict(Counter(out.reason for out in form.left_out).most_common())


def count_rules(form: Form) -> dict[str, int]:
    """How many items each rule made, the commonest first."""
    return dict(Counter(item.rule or "(as it was)" for item in form.items).most_common())


def write_form(form: Form, path: Path) -> None:
    """Write a form as JSON lines: the items, then what was left out."""
    rows = [item.to_dict() for item in form.items]
    rows += [{"id": out.id, "prompt": out.prompt, "left_out": out.reason} for out in form.left_out]
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
    items, left_out, seen = [], [], set()
    for place, row in placed_records(path):
        key = str(take(row, "id", place))
        if key not in original.by_id:
            raise DataError(
                f"the item {key!r} is not in the original form",
                location=place,
                remedy="Forms share item ids.",
            )
        if key in seen:
            raise DataError(
                f"the item {key!r} stands twice", location=place, remedy="Keep one of the two."
            )
        seen.add(key)
        base = original.by_id[key]
        if row.get("left_out"):
            left_out.append(
                LeftOut(key, str(row.get("prompt") or base.prompt), str(row["left_out"]))
            )
            continue
        if row.get("item") is not None:
            items.append(_another(row["item"], base, place))
            continue
        prompt = take(row, "prompt", place)
        if not isinstance(prompt, str) or not prompt.strip():
            raise DataError(
                f"the prompt is {prompt!r:.60}",
                location=place,
                remedy="Write the question as a text.",
            )
        options = _options(row.get("options"), base, place)
        items.append(
            replace(
                base,
                prompt=prompt,
                target=(
                    _target(row["target"], base, options, place) if "target" in row else base.target
                ),
                options=options,
                image=_picture(row.get("image"), base, place),
                rule=str(row.get("rule") or base.rule),
            )
        )
    return Form(name, tuple(items), tuple(left_out))


def _picture(value: Any, base: Item, place: str) -> str | None:
    """The picture of a row, which a form of screenshots has of its own."""
    if not value or value == base.image:
        return base.image
    return str(value) if is_url(str(value)) else safe_name(str(value), place)


def _another(value: Any, base: Item, place: str) -> Item:
    """Read a question of the same task that replaces an item under the item's id."""
    try:
        made = Item.from_dict(value)
    except (TypeError, ValueError):
        raise DataError(
            f"the item is {value!r:.60}",
            location=place,
            remedy="Write it as `hqm shorten NAME AUDIT --out FOLDER` does.",
        ) from None
    if made.task != base.task:
        raise DataError(
            f"the item is of the task {made.task!r}, and the original form is {base.task!r}",
            location=place,
            remedy="A parallel form asks questions of the same task.",
        )
    # pictures differ between the two; what is left out together is what belongs together in the
    # original form
    return replace(
        made,
        id=base.id,
        image=safe_name(made.image, place) if made.image and not is_url(made.image) else made.image,
        cluster=base.cluster,
        rule=made.rule or "another item",
    )


def _options(value: Any, base: Item, place: str) -> tuple[str, ...]:
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
            location=place,
            remedy=f"Write a list of {len(base.options)} different texts, or leave the field out.",
        )
    return tuple(value)


def _target(value: Any, base: Item, options: tuple[str, ...], place: str) -> Any:
    """The right answer of an item in another form; it must be of the kind that the original has."""
    if base.task == "yes_no":
        fits, remedy = (
            str(value).strip().lower() in ("yes", "no"),
            'A yes/no target is "yes" or "no".',
        )
        value = str(value).strip().lower() if fits else value
    elif base.task == "choice":
        letters = LETTERS[: len(options)]
        fits, remedy = (
            isinstance(value, str) and len(value) == 1 and value in letters,
            f"Write one letter of {letters}.",
        )
    else:
        fits, remedy = type(value) is type(base.target), "Write it as the original form does."
    if not fits:
        raise DataError(f"the target is {value!r:.60}", location=place, remedy=remedy)
    return value
