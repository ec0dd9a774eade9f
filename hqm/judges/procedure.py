"""Run a benchmark's judge procedure over answers, with whatever `ask` it is given."""

from __future__ import annotations

import ast
import asyncio
import traceback
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.judge_api import AskJudge
from hqm.errors import AdapterError, DataError, HQMError, NoReply, UnreadableReply, UsageError
from hqm.files.records import read_text
from hqm.imports.row import ROLES
from hqm.respondents.base import Respondent
from hqm.scoring.matrix import MatrixBuilder, ScoreMatrix
from hqm.scoring.rules import settle
from hqm.signature import digest_all
from hqm.types import Cell, Form, Item, Response, Verdict

Rows = Mapping[str, Sequence[Response | None]]
"""Respondent -> its responses in the order of the form's items; None for what was never asked."""

# Procedures are coroutines that hold their prompts and pictures' names; a million at once would
# hold them all in memory.
_BATCH_SIZE = 512
"""Answers whose procedures run at a time."""


class NotAsked(NoReply):
    """The reply is not in the store yet; the question was noted."""


AskAbout = Callable[[Item], AskJudge]
"""The `ask` for the procedure on one item."""


def verdicts(
    benchmark: Benchmark, form: Form, rows: Rows, ask_about: AskAbout
) -> dict[str, list[Verdict]]:
    """The verdict on every answer, in the order of the form's items.

    What is no answer (an error, a refusal, an empty response) is not put to the judge. Equal
    answers to one item are judged once, unless the procedure judges all answers to an item
    together. An answer stays unscored where a reply is missing (`NoReply`) or cannot be read
    (`UnreadableReply`).

    Raises
    ------
    AdapterError
        The procedure itself fails: it raises anything else, or asks for a role that its benchmark
        does not have.
    """
    return asyncio.run(_all_verdicts(benchmark, form, rows, ask_about))


def judged_matrix(
    benchmark: Benchmark,
    cell: Cell,
    form: Form,
    rows: Rows,
    judged: Mapping[str, Sequence[Verdict]],
    sources: Iterable[str],
) -> ScoreMatrix:
    """The verdicts of one administration as a matrix; `sources` are hashes of what they rest on."""
    builder = MatrixBuilder(
        cell, form, benchmark.verdict, benchmark.subsets, benchmark.groupings, benchmark.relate
    )
    hashes = []
    for name, row in rows.items():
        builder.add_verdicts(name, row, judged[name])
        hashes.append(digest_all("" if r is None else f"{r.state} {r.text}" for r in row))
    return builder.build(digest_all([*hashes, *sorted(sources)]))


async def _all_verdicts(
    benchmark: Benchmark, form: Form, rows: Rows, ask_about: AskAbout
) -> dict[str, list[Verdict]]:
    """The verdicts on all answers, a limited number of items at a time."""
    by_respondent: dict[str, list[Verdict]] = {name: [] for name in rows}
    rows = {name: _add_context(benchmark, form, row) for name, row in rows.items()}
    judge_item = _judge_jointly if benchmark.jointly else _judge_separately
    for start in range(0, len(form.items) if rows else 0, _BATCH_SIZE):
        judged = []
        for i, item in enumerate(form.items[start : start + _BATCH_SIZE], start):
            ask = _check_roles(benchmark, item, ask_about(item))
            judged.append(judge_item(benchmark, item, _item_answers(rows, i), ask))
        # gather keeps the order of its arguments, by which verdicts find their items.
        for by_name in await asyncio.gather(*judged):
            for name, verdict in by_name.items():
                by_respondent[name].append(verdict)
    return by_respondent


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of an answer that one stage of a judge procedure decides."""

    role: str
    item: Item
    response: Response
    text: str


def decisions(
    benchmark: Benchmark, units: Sequence[Unit], ask_about: Callable[[int], AskJudge]
) -> list[Verdict]:
    """Return what the stages of a procedure decide about units.

    A value is 1 for yes and 0 for no. A unit is unscored where there is no reply, or one that says
    neither. `ask_about` gives the `ask` for the unit of a number. Errors are those of `verdicts`.
    """

    async def decide_all() -> list[Verdict]:
        decided: list[Verdict] = []
        for start in range(0, len(units), _BATCH_SIZE):
            batch = range(start, min(start + _BATCH_SIZE, len(units)))
            decided += await asyncio.gather(
                *(_decide_unit(benchmark, units[i], ask_about(i)) for i in batch)
            )
        return decided

    return asyncio.run(decide_all())


async def _decide_unit(benchmark: Benchmark, unit: Unit, ask: AskJudge) -> Verdict:
    """Return what a stage decides about one unit."""
    try:
        decided = await benchmark.decide(
            unit.role, unit.item, unit.response, unit.text, _check_roles(benchmark, unit.item, ask)
        )
    # An adapter may raise anything; what it is decides between an unscored answer and the adapter's
    # fault.
    except Exception as error:
        return _failure_verdict(benchmark, unit.item, error, type(benchmark).decide)
    if decided is None:
        return Verdict.unscored("unparsed", "the reply says neither yes nor no")
    return Verdict(float(decided))


def _check_roles(benchmark: Benchmark, item: Item, ask: AskJudge) -> AskJudge:
    """The same `ask`, for the roles that the benchmark names and no others."""

    async def ask_declared(
        role: str,
        prompt: str,
        image: str | None = None,
        schema: Mapping[str, object] | None = None,
    ) -> str:
        if role not in benchmark.roles:
            raise AdapterError(
                f"it asks for the role {role!r}, and the benchmark's `roles` are"
                f" {', '.join(benchmark.roles) or 'none'}",
                location=_fault_location(benchmark, item),
                remedy=(
                    "Correct the role in the adapter, or name it in `roles`; there are"
                    f" {', '.join(ROLES)}."
                ),
            )
        return await ask(role, prompt, image, schema)

    return ask_declared


def _fault_location(
    benchmark: Benchmark,
    item: Item,
    error: Exception | None = None,
    function: Callable[..., object] | None = None,
) -> str:
    """Benchmark, item and adapter function (that of the judge procedure), with the line that an
    error comes from.
    """
    kind = type(benchmark)
    is_joint = benchmark.jointly and kind.judge_together is not Benchmark.judge_together
    function = function or (kind.judge_together if is_joint else kind.judge)
    source_line = file = function.__code__.co_filename
    if error:
        for step in traceback.extract_tb(error.__traceback__):
            # the last line of the adapter's own file: below it stand HQM and libraries
            if step.filename == file:
                source_line = f"{file}:{step.lineno}"
    return f"{benchmark.name}, item {item.id!r}, {function.__qualname__} ({source_line})"


def _add_context(
    benchmark: Benchmark, form: Form, row: Sequence[Response | None]
) -> Sequence[Response | None]:
    """One respondent's answers with those of its other answers that the procedure sees beside
    them.
    """
    # Most benchmarks have no context, and their rows are not copied.
    if type(benchmark).context_items is Benchmark.context_items:
        return row
    answers = {}
    answered = list(row)
    for item, answer in zip(form.items, row, strict=True):
        if answer is not None:
            answers[item.id] = answer
    for i, (item, answer) in enumerate(zip(form.items, row, strict=True)):
        if answer is not None:
            answered[i] = benchmark.with_context(item, answer, answers)
    return answered


def _key(answer: Response) -> tuple[object, ...]:
    """Answers with equal keys get one verdict: the text, how it ended, and what is seen beside
    it.
    """
    return (answer.text, answer.state, *sorted(answer.detail.get("beside", {}).items()))


def _item_answers(rows: Rows, i: int) -> dict[str, Response]:
    not_asked = Response("", "missing", "not asked")
    return {name: row[i] or not_asked for name, row in rows.items()}


async def _judge_separately(
    benchmark: Benchmark, item: Item, answers: Mapping[str, Response], ask: AskJudge
) -> dict[str, Verdict]:
    """The verdicts on the answers to one item, each judged alone, and equal answers once."""
    # equal answers get one verdict, and the judge is asked about them once
    distinct = {_key(answer): answer for answer in _to_judge(benchmark, answers).values()}
    judged = []
    for answer in distinct.values():
        judging = benchmark.judge(item, answer, ask)
        judged.append(_settled_verdict(benchmark, item, judging, answer))
    by_key = dict(zip(distinct, await asyncio.gather(*judged), strict=True))
    by_name = {}
    for name, answer in answers.items():
        by_name[name] = benchmark.no_answer(answer) or by_key[_key(answer)]
    return by_name


def _to_judge(benchmark: Benchmark, answers: Mapping[str, Response]) -> dict[str, Response]:
    """Return the answers that need a judge: not those that were refused, or never given."""
    return {name: answer for name, answer in answers.items() if benchmark.no_answer(answer) is None}


async def _judge_jointly(
    benchmark: Benchmark, item: Item, answers: Mapping[str, Response], ask: AskJudge
) -> dict[str, Verdict]:
    """The verdicts on the answers to one item, which the judge sees in one prompt."""
    judged = _to_judge(benchmark, answers)
    by_name: Mapping[str, Verdict] = {}
    try:
        if judged:
            by_name = await benchmark.judge_together(item, judged, ask)
    except Exception as error:
        by_name = dict.fromkeys(judged, _failure_verdict(benchmark, item, error))
    not_mentioned = Verdict.unscored("unparsed", "the joint reply does not speak of this answer")
    settled = {}
    for name, answer in answers.items():
        verdict = by_name.get(name, not_mentioned)
        settled[name] = benchmark.no_answer(answer) or settle(verdict, answer)
    return settled


async def _settled_verdict(
    benchmark: Benchmark, item: Item, judging: Awaitable[Verdict], response: Response
) -> Verdict:
    try:
        return settle(await judging, response)
    except Exception as error:
        return _failure_verdict(benchmark, item, error)


def _failure_verdict(
    benchmark: Benchmark,
    item: Item,
    error: Exception,
    function: Callable[..., object] | None = None,
) -> Verdict:
    """Without a reply, or with one that cannot be read, an answer is unscored; every other failure
    is the adapter's.
    """
    # `NotAsked` is a `NoReply`, and has to be looked for first
    if isinstance(error, NotAsked):
        return Verdict.unscored("missing", "no judge was asked")
    if isinstance(error, NoReply):
        return Verdict.unscored("error", str(error))
    if isinstance(error, UnreadableReply):
        return Verdict.unscored("unparsed", str(error))
    # Our own errors say already where the fault is and what to do about it.
    if isinstance(error, HQMError):
        raise error
    raise AdapterError(
        f"it failed with {type(error).__name__}: {error}",
        location=_fault_location(benchmark, item, error, function),
        remedy=(
            "Correct the adapter. Where it reads a judge's reply, read it inside `with"
            " hqm.reading(reply):`; what fails there leaves the answer unscored."
        ),
    ) from error


# --- who plays the roles of a judge procedure ---
#
# One model for all of them, or others for some.


@dataclass(frozen=True)
class Panel:
    """The models that play the roles.

    Its label is what a cell calls the judge: `openai/gpt-4o+verifier=hf/llava-hf/llava-1.5-7b-hf`.
    """

    main: Respondent
    role_models: Mapping[str, Respondent] = field(default_factory=dict)

    @property
    def label(self) -> str:
        # Sorted, so that the order of the options of a command does not name another judge.
        return self.main.name + "".join(
            f"+{role}={respondent.name}" for role, respondent in sorted(self.role_models.items())
        )

    def respondent(self, role: str) -> Respondent:
        """Who plays a role.

        Raises
        ------
        UsageError
            There is no such role.
        """
        if role not in ROLES:
            raise UsageError(
                f"there is no role {role!r}",
                remedy=f"The roles are {', '.join(ROLES)}.",
                name=role,
                choices=ROLES,
            )
        return self.role_models.get(role, self.main)


def parse_roles(texts: Sequence[str]) -> dict[str, str]:
    """Read the setting `roles`: ROLE=NAME each.

    >>> parse_roles(["verifier=hf/some/model@main"])
    {'verifier': 'hf/some/model@main'}
    """
    roles = {}
    for text in texts:
        role, equals, name = text.partition("=")
        if not equals or role not in ROLES:
            raise UsageError(
                f"{text!r} in the setting roles names no role",
                remedy=f"Write ROLE=NAME; the roles are {', '.join(ROLES)}.",
            )
        roles[role] = name
    return roles


# --- read a prompt out of a release's own program, without running it ---


def template_in(
    path: Path | str, variable: str, function: str = "", placeholders: Mapping[str, str] = {}
) -> str:
    r"""Return the text that a program assigns to a variable, piece by piece, as a template.

    Parameters
    ----------
    path
        A Python file of the release. It is parsed, never run.
    variable
        The variable that the text is assigned to, and that `+=` makes longer.
    function
        The function that assigns it; empty for the top level of the file.
    placeholders
        Expression of the program's source (`sample['question']`) -> the placeholder that stands
        for it in the template (`question`).

    Raises
    ------
    DataError
        The file cannot be parsed, or has no such text, or puts something in between that
        `placeholders` does not name.

    Examples
    --------
    >>> import tempfile
    >>> source = "def ask(s):\n    p = 'Q: '\n    p += s['q']\n    p += '\\nA:'\n"
    >>> with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
    ...     _ = file.write(source); file.flush()
    ...     template_in(Path(file.name), "p", "ask", {"s['q']": "question"})
    'Q: {question}\nA:'
    """
    # the release's program is read as text: running it would run unknown code
    path = Path(path)
    try:
        tree: ast.AST = ast.parse(read_text(path))
    except SyntaxError as error:
        raise DataError(
            f"it is no Python: {error.msg}", location=f"{path}:{error.lineno}"
        ) from None
    if function:
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name == function:
                tree = node
                break
        else:
            raise DataError(
                f"it has no function {function!r}",
                location=str(path),
                remedy="Take the release's own file.",
            )
    pieces: list[str] = []
    for assignment in _assignments(tree):
        before: list[str] = []
        if isinstance(assignment, ast.Assign):
            target = assignment.targets[0]
        else:
            # `prompt += ...` goes on with what the variable has
            target = assignment.target
            before = pieces
        if isinstance(target, ast.Name) and target.id == variable:
            pieces = [*before, _piece(assignment.value, placeholders, path)]
    if not pieces:
        raise DataError(
            f"it gives {variable!r} no text",
            location=str(path),
            remedy="Take the release's own file.",
        )
    return "".join(pieces)


def _assignments(tree: ast.AST) -> list[ast.Assign | ast.AugAssign]:
    assignments = [node for node in ast.walk(tree) if isinstance(node, (ast.Assign, ast.AugAssign))]
    # ast.walk goes level by level, and the pieces of a prompt are joined in the order of the
    # source.
    return sorted(assignments, key=lambda node: node.lineno)


def _piece(value: ast.expr, placeholders: Mapping[str, str], path: Path) -> str:
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value
    if isinstance(value, ast.JoinedStr):
        return "".join(_piece(piece, placeholders, path) for piece in value.values)
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        return _piece(value.left, placeholders, path) + _piece(value.right, placeholders, path)
    # Quotes and blanks of an expression are unparsed alike, however the release writes them.
    source = ast.unparse(value.value if isinstance(value, ast.FormattedValue) else value)
    if source not in placeholders:
        raise DataError(
            f"the prompt takes in {source}, which is unknown", location=f"{path}:{value.lineno}"
        )
    return f"{{{placeholders[source]}}}"
