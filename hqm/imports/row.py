"""A row of a file that somebody else wrote, and the file: one type for answers, scores, judgements
and corrected keys.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import TypedDict, TypeGuard, cast

from hqm.errors import AnswerError, DataError
from hqm.files.records import name_fields, parse_value, required_field, whole_number
from hqm.imports.score_cells import number
from hqm.text import check_length, check_name, without_credentials
from hqm.types import HALLUCINATION_TYPES, LETTERS, STATES, Form, Response, State

ROLES: Mapping[str, str] = {
    "judge": "rates or classifies an answer",
    "recognizer": "tells which parts of an answer describe the picture",
    "decomposer": "breaks a description into atomic facts",
    "verifier": "sees the picture and says whether a statement is right",
    "extractor": "takes objects, attributes or relations out of a description",
    "matcher": "matches what was extracted with the annotation",
}
"""The roles that a procedure may ask for, and what each of them does."""


Replies = Mapping[str, Sequence[str]]
"""Role -> replies, in the order in which they are asked for."""


class StoredOutput(TypedDict, total=False):
    """A judge's output as the store keeps it, in JSON: one of the two."""

    replies: Mapping[str, Sequence[str]]
    mark: str


@dataclass(frozen=True, slots=True)
class JudgeOutput:
    """What a judge said of one answer: raw replies role by role, or a mark that was read out of
    them already.
    """

    replies: Replies = field(default_factory=dict)
    mark: str | None = None
    """A verdict or a score as the file has it; empty where the file leaves it empty."""

    def to_dict(self) -> StoredOutput:
        """The value as the store keeps it."""
        if self.mark is not None:
            return {"mark": self.mark}
        return {"replies": {role: list(texts) for role, texts in self.replies.items()}}

    @classmethod
    def from_dict(cls, data: StoredOutput) -> JudgeOutput:
        replies = {role: tuple(texts) for role, texts in data.get("replies", {}).items()}
        return cls(replies, data.get("mark"))

    def joined(self, second: JudgeOutput) -> JudgeOutput:
        """The replies of both, in their order."""
        roles = dict.fromkeys([*self.replies, *second.replies])
        return JudgeOutput(
            {role: (*self.replies.get(role, ()), *second.replies.get(role, ())) for role in roles}
        )


NO_SCORES: Mapping[str, float] = MappingProxyType({})
RUN_LABEL = "run label"
"""Where a reader that counts runs keeps what the row called its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of a file that somebody else wrote: an answer, a score, a judgement or a key.

    Whatever the file does not say is empty.
    """

    place: str
    """The file and the record, as errors name them."""
    ids: tuple[str, ...] = ()
    """Names of the question, the most telling first."""
    own_ids: bool = False
    """Whether the ids are the benchmark's own, so that the question may only confirm them."""
    image: str = ""
    """The picture; of several the first."""
    pictures: tuple[str, ...] = ()
    """All pictures, where the question is about several."""
    video: str = ""
    question: str = ""
    parts: tuple[str, ...] = ()
    """The parts of the benchmark that the question belongs to; a tool may keep one row for several
    parts.
    """
    key: str = ""
    """The right answer that the row names."""
    options: tuple[str, ...] = ()
    """The options that the row names, in their order."""
    cluster: str = ""
    """What the question shares with others, where the row says it."""
    task: str = ""
    """What the tool calls the benchmark."""
    benchmark: str = ""
    """The benchmark that the row itself says it answers."""
    position: int | None = None
    """The row number of the question in the data that the tool read, from 0."""
    respondent: str = ""
    form: str = ""
    run: int = 0
    """The run of the answer."""
    run_label: str = ""
    """What the row calls its run; empty where it says nothing of runs."""
    answer: Response | None = None
    """The answer; of a judgement the one that was judged, where the row has it."""
    score: float | None = None
    """What the tool made of the answer, 1 for right: the first of its scores."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """Every score that the tool gave the answer, under the tool's own names."""
    read: str = ""
    """What the tool read out of the answer."""
    judge: str = ""
    """Who gave the scores or the judgement, where it was a judge."""
    asking: int | None = None
    """Which time the judge was asked."""
    stem: str | None = None
    """What names the judge in place of the file's name, where the file is one of several parts of
    one result.
    """
    judgement: JudgeOutput | None = None
    context: str = ""
    """What a label's file says beside the label, as its judgement keeps it."""

    @classmethod
    def of(
        cls,
        record: Mapping[str, object],
        location: str,
        *,
        position: int | None = None,
        score_alone: bool = False,
        scores: Mapping[str, float] = NO_SCORES,
    ) -> Row:
        """Read a row of an answer file, whatever its fields are called.

        `text` is the question where another field has the answer. With `score_alone` a score is
        enough; the answer is then missing. A row with an id and `scores` needs no position.

        Raises
        ------
        AnswerError
            No field holds an answer, or the answer is no text.
        """
        columns = _columns_of(tuple(record))
        if columns.has_key_in_answer:
            # beside what a model wrote, the field `answer` has the right answer
            record = {"target": record["answer"], **record}
            columns = _columns_of(tuple(record))
        names = columns.answers
        error = error_in(record)
        if not names and not error and not (score_alone and "score" in record):
            accepted_fields = (*ANSWERS, "score") if score_alone else ANSWERS
            remedy = "Say which column has the answer: --columns answer=NAME."
            if score_alone:
                remedy = f"{remedy[:-1]}, or the score: --columns score=NAME."
            raise AnswerError(no_field(accepted_fields, record), location=location, remedy=remedy)
        # a column without a cell in this row gives way to the next one
        holds = next((name for name in names if record[name] is not None), "")
        if names or error:
            answer = ended(record, answer_text(only_member(record.get(holds)), location))
        else:
            answer = Response("", "missing", SCORE_ALONE)
        # LLaVA's rows have the question or the answer in `text`
        last_question = () if holds in ("", "text") else ("text",)
        ids = ids_in(record, columns.ids)
        pictures = pictures_in(record) if columns.pictures else ()
        run = count_in(record, "run", location)
        return cls(
            place=location,
            ids=ids,
            image=next(iter(pictures), ""),
            # One picture is `image` alone, so that rows of one picture compare equal however the
            # file wrote it.
            pictures=pictures if len(pictures) > 1 else (),
            video=first_text(record, columns.videos),
            question=first_text(record, (*columns.questions, *last_question)),
            parts=parts_of(record),
            key=key_in(record, columns.keys),
            options=options_in(record) if columns.options else (),
            cluster=first_text(record, columns.clusters),
            task=first_text(record, columns.tasks),
            benchmark=first_text(record, ("benchmark",)),
            # With an id, the number of a row among the scored ones says nothing about the item.
            position=None if ids and scores else position,
            respondent=first_text(record, columns.respondents),
            form=first_text(record, ("form",)),
            run=run or 0,
            run_label="" if run is None else str(record.get(RUN_LABEL, run)),
            scores=scores,
            answer=answer,
            score=number(record.get("score")),
            judge=first_text(record, columns.judges),
        )

    @property
    def id(self) -> str:
        """The most telling id; empty where the row has none."""
        return next(iter(self.ids), "")

    @property
    def record(self) -> str:
        """The place within the file, such as `record 3`."""
        return self.place.rpartition(": ")[2]

    @property
    def described(self) -> str:
        """The record and what it says of its question, for a list of rows that match nothing."""
        if not self.question:
            if self.ids:
                return f"{self.record} ({self.id})"
            return self.record
        if self.image:
            picture_phrase = f" about {without_credentials(self.image)}"
        else:
            picture_phrase = ""
        return f"{self.record} asks {self.question!r:.80}{picture_phrase}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """One file, with the tool that wrote it and how the answers were drawn."""

    path: str
    tool: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    """What a reader should know of it: a run that crashed, rows without an answer."""
    settings: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    totals: Mapping[str, float] = field(default_factory=dict)
    """Score -> the total that the tool printed, where the log has it."""
    lower: frozenset[str] = frozenset()
    """The scores of which the tool says that lower is better."""
    asks: bool = False
    """Whether the rows are questions with their right answers, which nobody has answered."""
    run_id: str = ""
    """What names the run, where a run that goes on after a failure keeps its name."""
    names_respondents: bool = True
    """Whether the rows say who answered; else the file's name does."""
    # Column that no field was read from -> the field that its cells suggest; empty for none.
    unread: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """The folder that the file lies in."""
        return Path(self.path).parent.resolve()

    @property
    def respondents(self) -> list[str]:
        """The respondents of its rows, each once."""
        return list(dict.fromkeys(map(attrgetter("respondent"), self.rows)))

    @property
    def has_scores(self) -> bool:
        """Whether a row has a score."""
        return any(map(attrgetter("scores"), self.rows))

    @property
    def located_notes(self) -> list[str]:
        """The notes, each behind the path of the file."""
        return [f"{self.path}: {note}" for note in self.notes]


# --- what the fields of a record are called ---

IDS: tuple[str, ...] = tuple(
    (
        "item item_id question_id id sample_id index doc_id qid pid idx sample_index problem_id "
        "example_id instance_id query_id prompt_id"
    ).split()
)
RUNS = ("run", "epoch", "seed", "repeat", "repetition", "replicate", "trial")
"""The columns that say which run of a question an answer is of."""
IMAGE_FILES: tuple[str, ...] = tuple(
    "image_path filename file_name image_file image_name image_url img img_path".split()
)
"""The columns that name a picture's file."""
IMAGES: tuple[str, ...] = ("image", "image_id", "image_source", "picture", *IMAGE_FILES)
PICTURES = ("images", "image_paths", "image_ids", "image_list")
"""The columns that hold the pictures of a question as a list."""
VIDEOS = ("video", "video_path", "video_name", "video_id", "video_file")
TURNS = ("turn", "turn_id", "turn_index")
QUESTIONS = tuple(
    (
        "question prompt query instruction input problem prompt_text problem_text question_text"
        " question_stem"
    ).split()
)
ANSWERS: tuple[str, ...] = tuple(
    (
        "answer response prediction model_answer model_prediction text caption output "
        "model_output model_response generated_answer predicted_answer pred_answer pred predicted "
        "completion generation generated_text raw_output raw_response raw_answer raw_prediction "
        "llm_response llm_answer sampled actual_output"
    ).split()
)
OF_A_MODEL = frozenset(ANSWERS) - {"answer", "text", "caption"}
KEYS: tuple[str, ...] = tuple(
    (
        "target label gold ground_truth gt_answer gt true_answer correct_answer right_answer "
        "gold_answer expected_answer reference_answer answer_key ideal expected expected_output "
        "reference ref_answer groundtruth gold_label true_label correct_label"
    ).split()
)
RESPONDENTS = (
    "respondent",
    "model_id",
    "model",
    "model_name",
    "generator",
    "llm",
    "vlm",
    "lvlm",
    "mllm",
)
PARTS = ("category", "split", "part")
TYPES = ("hallucination_type", "type")
"""Columns whose cells are an item's part only where they name one of the eight types."""
CLUSTERS = ("cluster", "document", "group")
TASKS = ("benchmark", "dataset", "task", "evaluation_name")
JUDGES = ("judge", "judge_model", "judge_name")


def names_in(fields: Container[str], names: Iterable[str]) -> list[str]:
    """Return those of these names that a record, or a set of names, has, in their order."""
    return [name for name in names if name in fields]


def answers_in(record: Mapping[str, object]) -> list[str]:
    """The fields that hold an answer; `text` beside a picture alone is the question of a file of
    questions.
    """
    answer_fields = names_in(record, ANSWERS)
    # of POPE's and LLaVA's files of questions, `text` is the question
    only_asks = "image" in record and record.keys().isdisjoint(
        (*QUESTIONS, *RESPONDENTS, "answer_id")
    )
    if only_asks and "text" in answer_fields:
        answer_fields.remove("text")
    return answer_fields


@dataclass(frozen=True, slots=True)
class _Columns:
    """Which columns of a record hold what, those that are preferred first; `has_key_in_answer`
    where `answer` has the right answer, since another one has what a model wrote.
    """

    answers: tuple[str, ...]
    has_key_in_answer: bool
    ids: tuple[str, ...]
    pictures: tuple[str, ...]
    videos: tuple[str, ...]
    questions: tuple[str, ...]
    keys: tuple[str, ...]
    options: tuple[str, ...]
    clusters: tuple[str, ...]
    tasks: tuple[str, ...]
    respondents: tuple[str, ...]
    judges: tuple[str, ...]


@functools.lru_cache(maxsize=256)
def _columns_of(names: tuple[str, ...]) -> _Columns:
    """Find the columns once for all records that have the same."""
    answers = answers_in(dict.fromkeys(names))
    written_by_models = names_in(OF_A_MODEL, answers)
    has_key_in_answer = answers[:1] == ["answer"] and bool(written_by_models)
    accepted = {
        "answers": written_by_models if has_key_in_answer else answers,
        "ids": IDS,
        "pictures": (*IMAGES, *PICTURES, *_numbered_pictures(names)),
        "videos": VIDEOS,
        "questions": QUESTIONS,
        "keys": KEYS,
        "options": (*_OPTIONS, *LETTERS),
        "clusters": CLUSTERS,
        "tasks": TASKS,
        "respondents": RESPONDENTS,
        "judges": JUDGES,
    }
    present = {holds: tuple(names_in(names, columns)) for holds, columns in accepted.items()}
    return _Columns(has_key_in_answer=has_key_in_answer, **present)


def ids_in(record: Mapping[str, object], names: Iterable[str] = IDS) -> tuple[str, ...]:
    """The ids of a record, or what else these fields name, each once."""
    ids: dict[str, None] = {}
    for name in names_in(record, names):
        text = first_text(record, (name,))
        if text:
            ids[text] = None
    return tuple(ids)


_NUMBERED_PICTURE = re.compile(r"image_?\d+")


def pictures_in(record: Mapping[str, object]) -> tuple[str, ...]:
    """The pictures of a record: one name, a list of them, or the columns image_1, image_2, ...

    >>> pictures_in({"image": "7.jpg"}), pictures_in({"images": "['a.jpg', 'b.jpg']"})
    (('7.jpg',), ('a.jpg', 'b.jpg'))
    >>> pictures_in({"image_1": "a.jpg", "image_2": "b.jpg", "image_3": None})
    ('a.jpg', 'b.jpg')
    """
    for name in (*IMAGES, *PICTURES):
        value = record.get(name)
        if isinstance(value, str) and value.startswith("["):
            # A table keeps a list as its text.
            value = parse_value(value)
        if isinstance(value, (list, tuple)):
            # A picture that is shown twice is one picture of the item.
            return tuple(dict.fromkeys(member for member in value if isinstance(member, str)))
    single = first_text(record, IMAGES)
    if single:
        return (single,)
    return ids_in(record, _numbered_pictures(record))


def _numbered_pictures(names: Iterable[str]) -> list[str]:
    return sorted(filter(_NUMBERED_PICTURE.fullmatch, map(str, names)))


NO_KEYS = frozenset(("hidden", "withheld", "redacted", "not available", "n/a", "tbd", "?"))
"""What releases write in place of right answers that they keep to themselves."""
_NO_VALUES = frozenset(("NA", "N/A", "NaN", "nan", "#N/A", "<NA>"))
"""What spreadsheets, pandas and R write into an empty cell."""
_LETTERS = re.compile(r"[A-Za-z]")
_LETTER_LIST = re.compile(r"\(?([A-Z])\)?(?:\s*[,;&]\s*\(?([A-Z])\)?)+")


def hides_key(value: object) -> bool:
    """Whether a cell of right answers says that there is none, or that it is withheld.

    >>> hides_key("TBD"), hides_key("NA"), hides_key("Na")
    (True, True, False)
    """
    text = value.strip() if isinstance(value, str) else ""
    return text in _NO_VALUES or text.lower() in NO_KEYS


def key_in(record: Mapping[str, object], names: Sequence[str] = KEYS) -> str:
    """The right answer of a record; a list of letters where an answer must name all of them.

    Several texts may be alternatives or parts of one answer: as a list of JSON they are no key.

    >>> key_in({"target": ["C"]}), key_in({"gold": "['a', 'c']"}), key_in({"target": "B, D"})
    ('C', "['a', 'c']", "['B', 'D']")
    >>> key_in({"target": ["six", "6"]})
    ''
    """
    name = next((name for name in names if record.get(name) not in (None, "")), "")
    value = record.get(name)
    # where a cell of the column is empty, pandas writes the key 3 as 3.0
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:g}"
    if isinstance(value, str) and _LETTER_LIST.fullmatch(value.strip()):
        value = re.findall(r"[A-Z]", value)
    elif isinstance(value, str) and value.lstrip().startswith("["):
        parsed = parse_value(value.strip())
        if isinstance(parsed, list) and len(parsed) < 2:
            value = parsed
    if not isinstance(value, list):
        text = first_text(record, names)
        if hides_key(text):
            return ""
        return text
    members = _stripped(value)
    if len(members) < 2:
        return next(iter(members), "")
    # letters are named together; of texts nobody knows whether all of them are asked for
    if all(map(_LETTERS.fullmatch, members)):
        return str(members)
    return ""


def _stripped(members: Iterable[object]) -> list[str]:
    return [str(member).strip() for member in members]


_OPTIONS = ("options", "choices", "index2ans")


def options_in(record: Mapping[str, object]) -> tuple[str, ...]:
    """The options of a record: a list of texts, texts by letter, or the columns A, B, C, ...

    >>> options_in({"choices": ["red", "blue"]}), options_in({"A": "red", "B": "blue", "C": ""})
    (('red', 'blue'), ('red', 'blue'))
    """
    for name in _OPTIONS:
        value = record.get(name)
        if isinstance(value, Mapping) and list(value) == list(LETTERS[: len(value)]):
            return tuple(_stripped(value.values()))
        if isinstance(value, str) and value.startswith("["):
            value = parse_value(value)
        if isinstance(value, (list, tuple)):
            return tuple(_stripped(value))
    # As VLMEvalKit's tables have them; a question with fewer options leaves the last cells empty.
    lettered = (str(record.get(letter) or "").strip() for letter in LETTERS)
    options = tuple(takewhile(bool, lettered))
    if len(options) > 1:
        return options
    return ()


def parts_in(text: str) -> tuple[str, ...]:
    """The parts that a cell names, which are separated by commas.

    >>> parts_in("random, popular")
    ('random', 'popular')
    """
    return tuple(filter(None, map(str.strip, text.split(","))))


def parts_of(record: Mapping[str, object]) -> tuple[str, ...]:
    """The parts of a record's item: of its category or split, or its type of hallucination.

    >>> parts_of({"type": "Counting"}), parts_of({"type": "message", "split": "random"})
    (('counting',), ('random',))
    """
    parts = parts_in(first_text(record, PARTS))
    if parts:
        return parts
    # other words in a column `type` are no parts: they may say what the row itself is
    type_name = first_text(record, TYPES).lower()
    return (type_name,) if type_name in HALLUCINATION_TYPES else ()


def count_in(record: Mapping[str, object], name: str, location: str) -> int | None:
    """A field that counts from 0; None where it is missing or empty."""
    value = record.get(name)
    if value in (None, ""):
        return None
    return whole_number(value, name, location)


def no_field(names: Iterable[str], record: Mapping[str, object]) -> str:
    """Say that a record has none of these fields, and which ones it has."""
    return f"none of the fields {name_fields(names)} is there (there are {name_fields(record)})"


def require_choice(value: object, choices: Iterable[str], field: str, location: str) -> str:
    """The value, where it is one of the known ones.

    Raises
    ------
    AnswerError
        It is another one, or no text.
    """
    names = tuple(choices)
    # a value may be anything that JSON has, also what has no hash
    if not isinstance(value, str) or value not in names:
        raise AnswerError(
            f"the {field} {value!r} is unknown",
            location=location,
            remedy=f"It is one of {', '.join(names)}.",
            name=str(value),
            choices=names,
        )
    return value


def form_of(forms: Mapping[str, Form], name: str, location: str) -> Form:
    """Return the form with this name.

    Raises
    ------
    AnswerError
        There is none.
    """
    if name not in forms:
        raise AnswerError(
            f"there is no form {name!r}",
            location=location,
            remedy=f"The forms are {', '.join(forms)}.",
            name=name,
            choices=forms,
        )
    return forms[name]


def whole_reply(text: str, state: object, location: str) -> str:
    """The text of a recorded reply; empty where its state says that it is no whole reply."""
    known_state = cast(State, require_choice(state, STATES, "state", location))
    if Response(text, known_state).outcome == "ok":
        return text
    return ""


def first_field(record: Mapping[str, object], names: Sequence[str], location: str) -> object:
    """The value of the first of several fields that a record has."""
    for name in names:
        if name in record:
            return record[name]
    raise AnswerError(no_field(names, record), location=location)


def name_in(record: Mapping[str, object], name: str, location: str) -> str:
    """A name that a record gives, a text or a number; empty where it gives none.

    Raises
    ------
    DataError
        It is neither, such as a list; or no file can have it (`check_name`).
    """
    value = record.get(name)
    # True is a number in Python, and no name.
    if value is not None and (not isinstance(value, (str, int, float)) or isinstance(value, bool)):
        raise DataError(
            f"the {name} is {value!r:.60}", location=location, remedy="Write a name or a number."
        )
    if value is None:
        return ""
    return check_name(str(value), f"{name}'s name", location)


def answer_text(value: object, location: str) -> str:
    """The text of a recorded answer: a text or a number as it stands; null is an empty answer.

    Raises
    ------
    AnswerError
        It is an object, a list, true or false, which no respondent wrote; or it is longer than
        `MAX_TEXT_CHARS`.
    """
    if isinstance(value, (dict, list, bool)):
        raise AnswerError(
            f"the answer is {value!r:.60}, which is no text",
            location=location,
            remedy="Write a text.",
        )
    if value is None:
        return ""
    return check_length(str(value), "answer", location)


def only_member(value: object) -> object:
    """The member of a list of one, as tools write that may draw several answers; else the value."""
    if isinstance(value, list) and len(value) == 1:
        return value[0]
    return value


MAX_TOKENS = 1 << 32
"""More tokens than any request has: who counts more has not counted."""


def is_token_count(value: object) -> TypeGuard[int]:
    """Whether a number of tokens is a possible count."""
    # A count comes from somebody else's file, where it may be -1 or a text.
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MAX_TOKENS


def tokens_in(usage: object) -> dict[str, int]:
    """The numbers of tokens that a tool noted, under HQM's names.

    >>> tokens_in({"input_tokens": 19, "output_tokens": None}), tokens_in(None)
    ({'tokens_in': 19}, {})
    """
    names = {"tokens_in": "input_tokens", "tokens_out": "output_tokens"}
    if not isinstance(usage, Mapping):
        return {}
    return {ours: usage[name] for ours, name in names.items() if is_token_count(usage.get(name))}


FINISH_STATES: Mapping[object, State] = MappingProxyType(
    {
        "error": "error",
        **dict.fromkeys(("max_tokens", "model_length", "length"), "truncated"),
        # All but the first are Gemini's, whose OpenAI interface passes them on.
        **dict.fromkeys(("content_filter", "safety", "image_safety", "recitation"), "refused"),
        **dict.fromkeys(("prohibited_content", "blocklist", "spii"), "refused"),
    }
)
"""Why a generation ended, as tools and servers name it -> the state of the answer."""


def finish_state(reason: object) -> State:
    """The state of an answer whose generation ended for this reason, `ok` for an unknown one."""
    return FINISH_STATES.get(str(reason).lower().partition(":")[0], "ok")


def stopped(text: str, reason: object, detail: Mapping[str, object] | None = None) -> Response:
    """An answer whose generation ended for this reason.

    >>> stopped("Ye", "length").state, stopped("Yes", "stop").state, stopped("", "error").state
    ('truncated', 'ok', 'error')
    """
    state = finish_state(reason)
    return Response(text, state, "" if state == "ok" else str(reason), detail or {})


def error_in(record: Mapping[str, object]) -> str:
    """What a record says went wrong, in its field `error`; empty where nothing did.

    >>> error_in({"error": {"message": "timed out"}}), error_in({"error": None}), error_in({})
    ('timed out', '', '')
    """
    error = record.get("error")
    if isinstance(error, Mapping):
        error = error.get("message") or str(error)
    if isinstance(error, str):
        return error.strip()
    return ""


def ended(record: Mapping[str, object], text: str) -> Response:
    """A record's answer in the state that the record says, in whichever field it says it.

    A field `error` speaks where there is no answer. A `state` that is none of HQM's may mean
    something else, such as a part of a country.

    >>> ended({"error": "timed out"}, "").state, ended({"state": "refused"}, "I cannot.").state
    ('error', 'refused')
    """
    state = record.get("state")
    if isinstance(state, str) and state in STATES and state != "ok":
        return Response(text, cast(State, state), first_text(record, ("reason", "error")))
    error = error_in(record)
    # an answer that came before the error is one
    if error and not text.strip():
        return Response(text, "error", error)
    return stopped(text, record.get("finish_reason"))


def released_answer(record: Mapping[str, object], names: Sequence[str], location: str) -> Response:
    """The answer in the first of these fields of a release's record; null is an empty answer.

    Raises
    ------
    DataError
        The record has none of the fields and no error.
    AnswerError
        The answer is no text.
    """
    name = next(iter(names_in(record, names)), names[-1])
    if error_in(record):
        text = record.get(name)
    else:
        text = required_field(record, name, location)
    return ended(record, answer_text(text, location))


# why a row of a table of scores has no answer
SCORE_ALONE = "only its score is recorded"
# the key under which an answer keeps every score: judge -> score's name -> value
RECORDED_SCORES = "scores"


def first_text(record: Mapping[str, object], names: Iterable[str]) -> str:
    """The first of these fields that holds a text or a whole number, as a text; empty where none
    does.

    >>> first_text({"image": "", "image_id": 7}, ("image", "image_id"))
    '7'
    """
    for name in names:
        value = record.get(name)
        if isinstance(value, (str, int)):
            # No floats: an id such as 7.0 is made 7 before (`Intake`), and a score is no text.
            text = str(value)
            if text and not text.isspace():
                return text
    return ""
