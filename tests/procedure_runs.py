"""One case of a frozen corpus, put before every procedure that it concerns.

Each function takes a line of a corpus and gives procedure -> outcome, as JSON values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from hqm.errors import DataError, NoRule
from hqm.forms.grammar import Rewrite
from hqm.forms.make_forms import (
    MAX_WORDINGS,
    affirm,
    build_parallel,
    build_rewording,
    flip_item,
    rephrase_item,
)
from hqm.forms.rephrase import look_first, rephrase_open, reword
from hqm.forms.wording import rephrase, shuffle_item
from hqm.scoring.parsers import PARSERS, STRICT, Parser
from hqm.scoring.rules import no_answer, score_choice, score_short, score_yes_no, settle
from hqm.types import LETTERS, Form, Item, Response, Verdict
from tests.procedure_constants import constants_of
from tests.procedure_decisions import decide
from tests.procedure_functions import call_function
from tests.procedure_scorings import score_release
from tests.procedure_studies import estimate_study


def read_word(case: list[Any]) -> Mapping[str, Any]:
    """The verdict of the reader of HQM on an answer with one of the words that it looks for."""
    return read_answer(case, (STRICT,))


def read_answer(case: list[Any], parsers: Iterable[Parser] = PARSERS.values()) -> Mapping[str, Any]:
    """The verdict of every reader on an answer."""
    task, text, question, *details = case
    if task == "yes_no":
        is_negated, *state = details
        item = Item("1", question, task, "yes")
    elif task == "choice":
        options, *state = details
        item = Item("1", question, task, "A", options=tuple(options))
    else:
        target, meta, *state = details
        item = Item("1", question, task, target, meta=meta)
    response = Response(text, *state)
    outcomes: dict[str, Any] = {}
    for parser in parsers:
        if task not in parser.reads:
            continue
        verdict = no_answer(response)
        if verdict is None:
            # the rules without the verdicts that they keep: a test may have left some
            if task == "yes_no":
                verdict = score_yes_no(item, response, parser, is_negated)
            elif task == "choice":
                verdict = score_choice.__wrapped__(item, response, parser)
            else:
                verdict = score_short.__wrapped__(item, response, parser)
            verdict = settle(verdict, response)
        outcomes[f"reader.{parser.name}"] = _verdict_text(verdict)
    return outcomes


def _verdict_text(verdict: Verdict) -> str:
    """What was read, with its value where it is not full; of an unscored answer its state."""
    if not verdict.scored:
        return f"!{verdict.state}"
    text = verdict.read if verdict.state == "ok" else f"{verdict.read} !{verdict.state}"
    return text if verdict.value == 1 else f"{text} ={verdict.value:g}"


def make_forms(case: list[Any]) -> Mapping[str, Any]:
    """The wordings that the rules make of a question; "!" where none fits."""
    task, prompt, *details = case
    if task == "choice":
        name, n_options, target, *every = details
        item = Item(name, prompt, task, target, "1.png", options=tuple(LETTERS[:n_options]))
        if every:
            return {"form.choice": _every_draw(item)}
        return {"form.choice": [_wording(shuffle_item, item, draw) for draw in (1, 2, 3)]}
    item = Item("1", prompt, task, "yes" if task == "yes_no" else "x", image="1.png")
    if details:
        return {f"form.{task}": _every_draw(item)}
    if task == "yes_no":
        rules = [*(partial(flip_item, draw=draw) for draw in range(3)), _affirm]
    else:
        rules = [*(partial(_reword, rule) for rule in _OPEN_RULES), rephrase_item]
    return {f"form.{task}": [_wording(rule, item) for rule in rules]}


_OPEN_RULES = (
    *(partial(rephrase, draw=draw) for draw in (1, 2, 3)),
    rephrase_open,
    partial(rephrase_open, keep_mode=False),
    look_first,
    reword,
)


def _affirm(item: Item) -> Item:
    return replace(item, prompt=affirm(item.prompt).prompt)


def _reword(rule: Callable[[str], Rewrite], item: Item) -> Item:
    return replace(item, prompt=rule(item.prompt).prompt)


def _wording(rule: Callable[..., Item], item: Item, *details: int) -> str:
    """The question in other words, with its key; of a choice the order of its options."""
    try:
        made = rule(item, *details)
    except (NoRule, DataError):
        return "!"
    if made.options:
        return f"{''.join(made.options)} {made.target}"
    return made.prompt if made.target == item.target else f"{made.prompt} ={made.target}"


def _every_draw(item: Item) -> list[str]:
    """The question in all forms `parallel`, `parallel2`, ..., as an audit asks for them."""
    original = Form("original", (item,))
    forms = [build_parallel(original)]
    while len(forms) < MAX_WORDINGS:
        forms.append(build_rewording(original, len(forms) + 1, forms))
    return [" ".join(map(_item_text, form.items)) for form in forms]


def _item_text(item: Item) -> str:
    return f"{item.prompt} {''.join(item.options)}={item.target}"


_READERS = ("hqm/scoring/[!ms_]*.py", "hqm/scoring/short_answers.py")
CORPORA = (
    ("answers", read_answer, _READERS),
    ("words", read_word, _READERS),
    ("questions", make_forms, ("hqm/forms/*.py",)),
    ("scorings", score_release, ("adapters/*.py", "hqm/scoring/metrics.py")),
    ("functions", call_function, ("hqm/psychometrics/*/*.py",)),
    ("decisions", decide, ("hqm/auditing/*.py", "hqm/indicators/flags.py")),
    ("constants", constants_of, ("hqm/indicators/*.py", "hqm/psychometrics/*/*.py", *_READERS)),
    ("studies", estimate_study, ("hqm/indicators/*.py", "hqm/psychometrics/*/*.py")),
)
