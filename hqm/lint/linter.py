"""Run the linter over one benchmark, from its card to its pictures."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from operator import attrgetter, itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.card import Card
from hqm.benchmark.findings import CODES, Finding, Selection, check_form, code_of
from hqm.benchmark.items import NO_COPIES, id_twice, item_of, item_type, restrict_form, take_items
from hqm.benchmark.registry import folder_of_card, groups, is_log, load, log_path, make
from hqm.errors import AnswerError, DataError, FieldError, HQMError, ImageError, UsageError
from hqm.files.cache import is_url, safe_name
from hqm.files.records import (
    csv_rows,
    is_table,
    name_fields,
    parse_json,
    parse_toml,
    read_records,
    read_text,
)
from hqm.forms.make_forms import read_form as read_brought
from hqm.lint.answer_leaks import (
    WORDS,
    can_leak,
    check_leaks,
    check_option_positions,
    check_types,
    leaks_in,
)
from hqm.lint.picture_checks import Pictures, check_images
from hqm.lint.question_checks import WORDING_FINDINGS, check_ids, check_wordings, check_words
from hqm.psychometrics.items.leaks import Stratum
from hqm.text import look_of_id
from hqm.types import CLOSED_TASKS, ORIGINAL, PARALLEL, Form, Item

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

# --- reading a card and its items, fault by fault ---

_MAX_SINGLE_FAULTS = 10
"""How many faults of a kind are findings of their own; further ones share one, with a list."""


@dataclass
class Faults:
    """Faults by kind; after ten of a kind the rest share one finding, so that they do not fill the
    screen.
    """

    findings: list[Finding] = field(default_factory=list)
    repeated: dict[str, list[dict[str, str]]] = field(default_factory=dict)

    def add(self, name: str, sentence: str, location: str = "") -> None:
        """Note a fault; from the eleventh of its kind on, faults are listed together."""
        row = {"what": sentence, "place": location}
        if sum(finding.name == name for finding in self.findings) < _MAX_SINGLE_FAULTS:
            self.findings.append(Finding(name, sentence, 1, (), location, (row,)))
        else:
            self.repeated.setdefault(name, []).append(row)

    def all(self) -> list[Finding]:
        """The findings, and one more for each kind with further faults."""
        findings = list(self.findings)
        for name, rows in self.repeated.items():
            n = len(rows)
            findings.append(Finding(name, f"{n} more like this", n, rows=tuple(rows)))
        return findings


def read_card(path: Path, faults: Faults) -> Card | None:
    """The card without its faulty keys; None if what is left says too little to go on."""
    try:
        text = read_text(path)
        data = parse_toml(text)
    except DataError as error:
        faults.add("card-unreadable", f"it cannot be read: {error.message}", str(path))
        return None
    # what is left out may have hidden another fault; every round takes out at least one key
    for _ in range(20):
        try:
            return Card.model_validate(data)
        except ValidationError as error:
            errors = error.errors()
            for fault in errors:
                _report(fault, text, path, faults)
            # from the last: an entry that is removed moves the later ones of its list
            for fault in reversed(errors):
                _repair(data, fault, path)
    return None


def _report(error: ErrorDetails, text: str, path: Path, faults: Faults) -> None:
    keys = list(error["loc"])
    name = ".".join(map(str, keys))
    if error["type"] == "missing":
        # a key that is not there has no line
        faults.add("card-key", f"the key {name!r} is missing", str(path))
    else:
        from hqm.files.toml_files import fault_of

        location = f"{path}:{_line_of(text, str(keys[-1]))}"
        faults.add("card-key", fault_of(Card, error), location)


def _repair(data: dict[str, Any], error: Any, path: Path) -> None:
    """Remove a faulty key, or set a missing one that any value can stand for."""
    keys = list(error["loc"])
    container: Any = data
    for key in keys[:-1]:
        container = container[key]
    if isinstance(container, (dict, list)) and error["type"] != "missing":
        del container[keys[-1]]
        return
    # a name or a title can be made up for the check; what is asked and how cannot
    defaults = {
        "name": re.sub(r"\W+", "_", path.resolve().parent.name.lower()).strip("_"),
        "title": "?",
        "version": "?",
    }
    if len(keys) == 1 and keys[0] in defaults:
        data[keys[0]] = defaults[keys[0]]


def _line_of(text: str, key: str) -> int:
    for number, line in enumerate(text.splitlines(), 1):
        # A table has its brackets before the key, and a key may be quoted.
        if re.match(rf"\s*\[*\s*[\"']?{re.escape(key)}\b", line):
            return number
    return 1


def read_form(card: Card, data: Path, faults: Faults) -> Form:
    """The items without faults; every other item is noted as a fault with its line."""
    path = data / card.data.items
    items: dict[str, Item] = {}
    try:
        records = []
        if card.data.items:
            records = _taken_records(list(_records(path, card.data.encoding, faults)), card, path)
    except DataError as error:
        kind = "record-broken" if isinstance(error, AnswerError) else "items-unreadable"
        # The decoding error is what the reader of the file met; it has a code of its own.
        if isinstance(error.__context__, UnicodeDecodeError):
            kind = "encoding"
        faults.add(kind, error.message, error.location)
        return Form(ORIGINAL, ())
    if not card.data.items:
        faults.add(
            "items-unreadable",
            'the card names no items file: set items = "..." under [data]',
            card.name,
        )
    elif not records:
        faults.add("items-unreadable", "it has no items", str(path))
    for location, record in records:
        item = _item(record, card, location, faults)
        if item is None:
            continue
        # Ids that look the same (by letter case, blanks or width) are one id in files of answers.
        plain_id = look_of_id(item.id)
        # the first of two items stays, so that the rest of the check has it once
        if plain_id in items:
            faults.add("id-twice", id_twice(items[plain_id].id, item.id), location)
        else:
            items[plain_id] = item
    return Form(ORIGINAL, tuple(items.values()))


def _taken_records(
    records: Sequence[tuple[str, dict[str, object]]], card: Card, path: Path
) -> list[tuple[str, dict[str, object]]]:
    """The rows as an audit takes them, each with its location."""
    intake = take_items(card, path, list(map(itemgetter(1), records)))
    # the rows of one object have no lines of their own
    if len(records) < len(intake.records):
        return list(intake.located())
    locations = list(map(itemgetter(0), records))
    return [
        (locations[number - 1], record)
        for number, record in zip(intake.numbers, intake.records, strict=True)
    ]


def _item(record: Mapping[str, object], card: Card, location: str, faults: Faults) -> Item | None:
    """The item without a faulty picture or type; None if a fault leaves nothing to ask or to
    score.
    """
    names = card.fields
    record = dict(record)
    is_lacking = False
    for name in (names.id, names.prompt):
        value = record.get(name)
        # 0 is an id
        if value is not None and str(value).strip():
            continue
        is_lacking = True
        state = "is empty"
        if name not in record:
            state = f"is missing (there are {name_fields(record)})"
        faults.add("field-missing", f"the field {name!r} {state}", location)
    try:
        item_type(record.get(names.type), own_types=card.types)
    except DataError as error:
        faults.add("type-unknown", error.message, location)
        record[names.type] = None
    try:
        if not is_url(str(record.get(names.image))):
            safe_name(str(record.get(names.image) or ""))
    except ImageError as error:
        faults.add("image-outside", error.message, location)
        record[names.image] = None
    if is_lacking:
        return None
    try:
        return item_of(record, card, location)
    except FieldError as error:
        faults.add("field-invalid", f"{error.message}. {error.remedy}", location)
    except DataError as error:
        # every field is sound by itself: what is left is the right answer
        faults.add("target-invalid", f"{error.message}. {error.remedy}", location)
    return None


def _records(path: Path, encoding: str, faults: Faults) -> Iterator[tuple[str, dict[str, object]]]:
    """The records of a file with their places, in any shape that `read_records` knows; a broken
    line is skipped.
    """
    if path.suffix.lower() in (".parquet", ".xlsx"):
        for number, record in enumerate(read_records(path), 1):
            yield f"{path}: record {number}", record
        return
    text = read_text(path, encoding)
    if is_table(text, path):
        yield from _rows(text, path, faults)
    elif _is_lines(text):
        # a text may hold the line ends of other scripts
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip():
                continue
            location = f"{path}:{number}"
            fault = ""
            try:
                record = parse_json(line, location)
            except DataError as error:
                fault = error.message
            else:
                if not isinstance(record, dict):
                    fault = f"a record must be a JSON object, not {type(record).__name__}"
            if fault:
                faults.add("record-broken", fault, location)
            else:
                yield location, record
    else:
        for number, record in enumerate(read_records(path, encoding), 1):
            yield f"{path}: record {number}", record


def _is_lines(text: str) -> bool:
    """Whether each record stands on a line of its own: more than half of the lines are whole
    objects.
    """
    lines = list(filter(None, map(str.strip, text.split("\n"))))
    # a broken line must not make the whole file one broken document
    n_objects = sum(line.startswith("{") and line.endswith("}") for line in lines)
    return not text.lstrip().startswith("[") and 2 * n_objects > len(lines)


def _rows(text: str, path: Path, faults: Faults) -> Iterator[tuple[str, dict[str, object]]]:
    try:
        for line, row in csv_rows(text, str(path)):
            # csv.DictReader keeps surplus fields under None, and fills missing ones with None.
            if None in row or None in row.values():
                reason = f"the row does not have {len(row.keys() - {None})} fields"
                faults.add("record-broken", reason, f"{path}:{line}")
            else:
                yield f"{path}:{line}", row
    except DataError as error:
        faults.add("record-broken", error.message, error.location)


ALL_FINDINGS = Selection()


@dataclass(frozen=True)
class Checked:
    """The findings about one benchmark, and its items."""

    benchmark: str
    version: str
    findings: tuple[Finding, ...]
    form: Form | None = None
    """The items that could be read; None if none could."""
    task: str = ""
    claimed: tuple[str, ...] = ()
    part: str = ""
    """The part that was checked; all of them if empty."""
    design: str = ""
    """What the answers of a log allow to be measured; empty where there are none."""
    source: Benchmark | None = field(default=None, repr=False, compare=False)
    """The benchmark that was checked; None where it could not be read, and of a corrected key."""

    @property
    def readable(self) -> bool:
        """Whether items could be read, so that more than the shape of the files was checked."""
        return self.form is not None

    def selected_findings(self, selection: Selection) -> list[Finding]:
        """The findings that a selection leaves, in the order of the registry."""
        selected = [finding for finding in self.findings if selection.has(finding.name)]
        order = list(CODES)
        return sorted(selected, key=lambda finding: order.index(code_of(finding.name).code))

    @property
    def leaks(self) -> tuple[Stratum, ...]:
        """How far the words, and the strongest cue, get without the pictures: in all items, in each
        part and in each type.

        Empty where there is nothing to predict, or where there are too few items to try.
        """
        if self.form is None or not can_leak(self.form.items):
            return ()
        study = leaks_in(self.form)
        best = dict[tuple[str, str, bool], Stratum]()
        for stratum in (*study.words.strata, *study.cues.strata):
            key = (stratum.type, stratum.part, stratum.cue == WORDS)
            tried = (
                stratum.status == "ok"
                and math.isfinite(stratum.gain)
                and not (stratum.type and stratum.part)
            )
            if tried and (key not in best or stratum.gain > best[key].gain):
                best[key] = stratum
        return tuple(sorted(best.values(), key=lambda s: (bool(s.type), bool(s.part))))

    def to_dict(self, selection: Selection) -> dict[str, Any]:
        """Counts and findings as JSON data."""
        items = self.form.items if self.form else ()
        if self.task in CLOSED_TASKS:
            targets = Counter(map(str, map(attrgetter("target"), items)))
        else:
            targets = Counter[str]()
        return {
            "benchmark": self.benchmark,
            "version": self.version,
            "part": self.part or None,
            "readable": self.readable,
            "items": len(items),
            "images": len(set(filter(None, map(attrgetter("image"), items)))),
            "parts": dict(Counter(filter(None, map(attrgetter("part"), items)))),
            "types": dict(Counter(item.type or "(unlabelled)" for item in items)),
            "targets": dict(sorted(targets.items())),
            "claimed": list(self.claimed),
            "digest": self.form.digest if self.form else None,
            "leaks": list(map(_finite_fields, self.leaks)),
            "findings": list(map(Finding.to_dict, self.selected_findings(selection))),
        }


def _finite_fields(stratum: Stratum) -> dict[str, object]:
    values = {**asdict(stratum), "name": stratum.name}
    for key, value in values.items():
        # JSON has no infinity and no NaN
        if isinstance(value, float) and not math.isfinite(value):
            values[key] = None
    return values


def lint_benchmarks(
    name: str,
    *,
    data: Path | None = None,
    images: Path | str | None = None,
    part: str | None = None,
    limit: int | None = None,
    key: Path | None = None,
    forms: Mapping[str, Path] = MappingProxyType({}),
    selection: Selection = ALL_FINDINGS,
    private: bool = False,
    **reading: object,
) -> list[Checked]:
    """Check the benchmarks that a name stands for; faults become findings, and the check goes on
    where it can.

    Parameters
    ----------
    name, data, images, reading
        As `load` takes them, so that whatever can be audited can be checked.
    part, limit
        Only one part, only the first items.
    key
        A corrected key; what it makes of the benchmark is checked as well, under both names.
    forms
        Name -> file: forms of one's own, whose wordings are checked as those of the parallel form
        and of the adapter's other forms are.
    selection
        The findings that are wanted: where none is about wordings, forms that nobody brought are
        not written.
    private
        Fetch pictures that lie on the web, from private networks too; without it, what is not
        fetched yet is not looked at.

    Raises
    ------
    UsageError
        The name or an option means nothing.
    DataError
        The corrected key does not belong to the benchmark.

    Examples
    --------
    >>> (checked,) = lint_benchmarks("shapes_choice")
    >>> checked.readable, "few-wordings" in {finding.name for finding in checked.findings}
    (True, True)
    """
    name = folder_of_card(name)
    members: Sequence[str | Benchmark] = groups().get(name, (name,))
    designs: dict[str, str] = {}
    if is_log(name):
        from hqm.benchmark.log_benchmark import benchmarks_of_logs
        from hqm.imports.detect import read_logs

        log_benchmarks = benchmarks_of_logs(read_logs([log_path(name)], with_questions=True))
        members = log_benchmarks
        designs = {benchmark.name: benchmark.design for benchmark in log_benchmarks}
    if key is not None and len(members) > 1:
        raise UsageError(
            "a corrected key belongs to one benchmark",
            remedy="Name that benchmark alone with --key.",
        )
    settings = {"data": data, "images": images, **reading}
    # only these findings look at the forms, which take time to write
    checks_wordings = any(map(selection.has, WORDING_FINDINGS)) or bool(forms)
    linted = []
    for member in members:
        faults = Faults()
        try:
            benchmark, form = _read(member, faults, {**settings, "fitting": len(members) > 1})
        # A wrong option is a mistake of the command and not of the data: it ends the check.
        except UsageError:
            raise
        except HQMError as error:
            faults.add("items-unreadable", f"it cannot be read: {error}")
            linted.append(Checked(Path(str(member)).name, "", tuple(faults.all())))
            continue
        if benchmark is None:
            linted.append(Checked(Path(str(member)).resolve().name, "", tuple(faults.all())))
            continue
        form_checked = form
        if form.items:
            form_checked = restrict_form(form, benchmark.name, part, limit)
        if private:
            names = list(filter(None, map(attrgetter("image"), form_checked.items)))
            benchmark.pictures.fetch(names, private=True)
        linted.append(_check_benchmark(benchmark, form_checked, faults, forms, checks_wordings))
        if key is not None and form.items:
            from hqm.benchmark.corrected_keys import read_key

            corrected = read_key(key, benchmark).applied(form)
            by_key = _check_benchmark(
                benchmark,
                restrict_form(corrected, benchmark.name, part, limit),
                Faults(),
                {},
                checks_wordings,
            )
            linted.append(replace(by_key, benchmark=f"{benchmark.name} by {key.stem}", source=None))
    return [
        replace(checked, part=part or "", design=designs.get(checked.benchmark, ""))
        for checked in linted
    ]


def _read(
    name: str | Benchmark, faults: Faults, settings: dict[str, Any]
) -> tuple[Benchmark | None, Form]:
    """A benchmark and its items; of one without code of its own, the items that have no fault."""
    if isinstance(name, Benchmark):
        return name, name.original
    path = Path(name) / "card.toml"
    # Code of its own may read the items otherwise than the card says, so that only it can read
    # them.
    if path.is_file() and not (path.parent / "adapter.py").is_file():
        card = read_card(path, faults)
        if card is None:
            return None, Form(ORIGINAL, ())
        if not card.adapter:
            card_settings = dict(settings)
            # `load` leaves out settings that do not fit a member; `make` takes those of one
            # benchmark
            del card_settings["fitting"]
            benchmark = make(card, path.parent, **card_settings)
            return benchmark, read_form(card, benchmark.data, faults)
    benchmark = load(name, **settings)
    return benchmark, benchmark.original


def _check_benchmark(
    benchmark: Benchmark,
    form: Form,
    faults: Faults,
    files: Mapping[str, Path],
    checks_wordings: bool,
) -> Checked:
    wordings = _forms(benchmark, form, files) if checks_wordings else []
    pictures = pictures_of(benchmark, form)
    card = benchmark.card
    try:
        # The property raises where the card names a metric that the scoring has not.
        benchmark.audited  # noqa: B018
    except UsageError as error:
        faults.add("card-key", f"{error.message} (scoring.audited). {error.remedy}", card.name)
    findings = [*faults.all(), *findings_of(benchmark, form, pictures, forms=wordings)]
    readable = form if form.items else None
    return Checked(
        benchmark.name,
        card.version,
        tuple(findings),
        readable,
        card.task,
        card.types,
        source=benchmark,
    )


def _forms(benchmark: Benchmark, form: Form, files: Mapping[str, Path]) -> list[Form]:
    """The forms whose wordings are checked; one from a file replaces its namesake."""
    if not form.items:
        return []
    forms = [wording for wording in benchmark.more_forms(form) if wording.name not in files]
    if PARALLEL not in files:
        # a form from a file replaces it, and is then not written for nothing
        forms.append(benchmark.parallel(form))
    for name, path in files.items():
        forms.append(read_brought(path, form, name))
    return forms


def pictures_of(benchmark: Benchmark, form: Form) -> Pictures:
    """What the files hold of the pictures that a form asks about."""
    return Pictures.read(benchmark, filter(None, map(attrgetter("image"), form.items)))


def findings_of(
    benchmark: Benchmark,
    form: Form,
    pictures: Pictures | None = None,
    *,
    forms: Iterable[Form] = (),
) -> Iterator[Finding]:
    """Every finding about a benchmark that could be read: the one list that `hqm check`, an audit
    and its gate have.

    `forms` are wordings to compare with the original `form`. Without `pictures` nothing is said of
    their files, and a picture is known by its name alone.
    """
    yield from _card(benchmark)
    if not form.items:
        return
    copies = pictures.copies if pictures is not None else NO_COPIES
    yield from check_form(form, copies)
    yield from check_words(form, copies)
    if benchmark.has_card:
        yield from check_ids(form)
    yield from check_types(form, benchmark.card.types, benchmark.card.labelled)
    for wording in forms:
        yield from check_wordings(form, wording)
    yield from benchmark.check(form)
    yield from check_option_positions(form)
    yield from check_leaks(form)
    if pictures is not None:
        # a folder apart is fetched, and an embedded benchmark draws its pictures when they are
        # asked about
        are_external = bool(benchmark.card.data.folder) or benchmark.makes_pictures
        yield from check_images(pictures, are_external)


def _card(benchmark: Benchmark) -> Iterable[Finding]:
    card = benchmark.card
    if not benchmark.has_card:
        return
    if not card.licence:
        yield Finding("no-licence", "the card names no licence: nobody may use the data")
    if not card.citation:
        yield Finding("no-citation", "the card names nothing to cite")
    if not card.summary:
        yield Finding("no-summary", "the card has no sentence that says what is measured")
    # only a card with the section is asked for them: that of a release is not its makers'
    if card.rai is not None and (unsaid := card.rai.unsaid):
        yield Finding(
            "no-responsible-ai", f"NeurIPS asks for {', '.join(unsaid)}", examples=tuple(unsaid)
        )
