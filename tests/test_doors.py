"""One door for every file: the same fault has the same outcome, in the same words, by whatever
command the file comes in; and the same rows are read alike, however they are written.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hqm_tables.table_audit import read_table

from hqm import load
from hqm.auditing.one_file import score_file
from hqm.benchmark.corrected_keys import read_key
from hqm.benchmark.log_benchmark import benchmarks_of_logs
from hqm.benchmark.new_items import read_questions
from hqm.benchmark.new_sources import GatheredPictures, open_source
from hqm.comparison.beside_people import read_scores
from hqm.errors import HQMError
from hqm.imports.detect import read_logs
from hqm.imports.human_labels import read_criterion
from hqm.imports.intake import take_rows
from hqm.imports.log_answers import LogSettings, read_recorded, take_logs
from hqm.imports.row import tokens_in
from hqm.judges.judgements import JudgementSource, import_judgements
from hqm.respondents.server_replies import read_reply
from tests.messages import pattern_of, tells, text_of

N_ITEMS = 12


@dataclass(frozen=True)
class Sheet:
    """A table as somebody writes it."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def text(self, delimiter: str = ",") -> str:
        file = io.StringIO()
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerows([self.columns, *self.rows])
        return file.getvalue()

    def with_cell(self, index: int, column: str, change: Callable[[str], str]) -> Sheet:
        """The sheet with one cell changed."""
        row = list(self.rows[index])
        place = self.columns.index(column)
        row[place] = change(row[place])
        return replace(self, rows=(*self.rows[:index], tuple(row), *self.rows[index + 1 :]))


@dataclass(frozen=True)
class Door:
    """A command's way in: the columns that it reads, and what it makes of a file."""

    columns: tuple[str, ...]
    read: Callable[[Path, Path], Any]
    respondents: tuple[str, ...] = ("m0", "m1", "m2")
    name_column: str = ""
    """The column that names who answered, or who labelled."""
    subject: str = "respondents"
    score_column: str = ""


def answers(benchmark: Path, paths: list[Path], take: Callable[..., Any]) -> Any:
    loaded = load(str(benchmark))
    imported = take(loaded, paths, {"original": loaded.original})
    return sorted(
        (r.respondent, r.run, item, answer.text)
        for r in imported.recordings
        for item, answer in r.answers.items()
    )


def audited(path: Path, benchmark: Path) -> Any:
    (made,) = benchmarks_of_logs(read_logs([path]))
    return sorted(
        (r.respondent, item, answer.text, str(answer.detail.get("scores")))
        for r in made.included_recordings
        for item, answer in r.answers.items()
    )


def recorded(path: Path, benchmark: Path) -> Any:
    return answers(
        benchmark, [path], lambda b, paths, forms: read_recorded(b, paths, forms, LogSettings())
    )


def imported(path: Path, benchmark: Path) -> Any:
    return answers(benchmark, [path], lambda b, paths, forms: take_logs(forms, paths))


def scored(path: Path, benchmark: Path) -> Any:
    return score_file(load(str(benchmark)), path).metrics


def judged(path: Path, benchmark: Path) -> Any:
    loaded = load(str(benchmark))
    forms = {"original": loaded.original}
    sets = import_judgements(loaded, forms, [JudgementSource(path)], ["m0", "m1", "m2"]).sets
    return sorted(
        (s.judge, s.respondent, item, o.mark) for s in sets for item, o in s.outputs.items()
    )


def labelled(path: Path, benchmark: Path) -> Any:
    form = load(str(benchmark)).original
    return [(j.judge, j.item, j.respondent, j.label) for j in read_criterion(path, form, None)]


def keyed(path: Path, benchmark: Path) -> Any:
    return read_key(path, load(str(benchmark))).targets


def made(path: Path, benchmark: Path) -> Any:
    gathered = GatheredPictures(benchmark.parent / "pictures")
    return read_questions(open_source(str(path)), {}, gathered).rows


def own_items(path: Path, benchmark: Path) -> Any:
    card = (benchmark / "card.toml").read_text(encoding="utf-8")
    folder = benchmark.parent / f"items-{path.stem}"
    folder.mkdir(exist_ok=True)
    (folder / path.name).write_bytes(path.read_bytes())
    (folder / "card.toml").write_text(card.replace("items.jsonl", path.name), encoding="utf-8")
    return [(i.id, i.prompt, i.target) for i in load(str(folder)).original.items]


DOORS = {
    "audit TABLE": Door(
        ("model", "item", "question", "answer", "target"), audited, name_column="model"
    ),
    "audit TABLE of scores": Door(
        ("model", "item", "score"), audited, name_column="model", score_column="score"
    ),
    "--recorded": Door(("respondent", "item", "answer"), recorded, name_column="respondent"),
    "import": Door(("model", "item", "question", "answer"), imported, name_column="model"),
    "score": Door(("respondent", "item", "answer"), scored, respondents=("m0",)),
    "--judgements": Door(
        ("respondent", "item", "judge", "verdict"),
        judged,
        name_column="judge",
        subject="judges",
        score_column="verdict",
    ),
    "--criterion": Door(
        ("respondent", "item", "rater", "label"), labelled, name_column="rater", subject="raters"
    ),
    "--scores": Door(
        ("respondent", "item", "rouge"),
        lambda path, _: read_scores(path).columns,
        name_column="respondent",
        score_column="rouge",
    ),
    "--key": Door(("item", "target"), keyed, respondents=("m0",)),
    "new": Door(("id", "question", "answer"), made, respondents=("m0",)),
    "items": Door(("id", "prompt", "target"), own_items, respondents=("m0",)),
    "table": Door(
        ("model", "Text", "Chart"),
        lambda path, _: repr(read_table(path).values.tolist()),
        name_column="model",
        score_column="Text",
    ),
}


def sheet_of(door: Door, benchmark: Path) -> Sheet:
    """The rows that a door reads, of three respondents and the items of a benchmark."""
    rows = []
    if "Text" in door.columns:
        cells = [(f"m{i}", f"{50 + 3 * i}.1", f"{52 + 2 * i}.6") for i in range(N_ITEMS)]
        return Sheet(door.columns, tuple(cells))
    for m, respondent in enumerate(door.respondents):
        for i, item in enumerate(load(str(benchmark)).original.items):
            right = (i * 7 + m * 3) % 5 > 1
            target = str(item.target)
            answer = target if right else {"yes": "no", "no": "yes"}[target]
            values = {
                "model": respondent,
                "respondent": respondent,
                "item": item.id,
                "id": item.id,
                "question": item.prompt,
                "prompt": item.prompt,
                "target": target,
                "answer": target if door.read is made else answer,
                "score": str(int(right)),
                "rouge": f"0.{20 + 3 * i + m}",
                "judge": "gpt",
                "verdict": str(int(right)),
                "rater": "anna",
                "label": str(int(right)),
            }
            rows.append(tuple(values[name] for name in door.columns))
    return Sheet(door.columns, tuple(rows))


def outcome(door: Door, data: bytes, folder: Path, benchmark: Path, suffix: str = ".csv") -> Any:
    """What a door makes of a file: values, or the sentence of its refusal."""
    path = folder / f"rows{suffix}"
    path.write_bytes(data)
    try:
        return door.read(path, benchmark)
    except HQMError as error:
        return str(error)


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest) -> Door:
    """Each door in turn."""
    return DOORS[request.param]


def test_a_table_is_read_alike_whatever_its_file_is_called(
    door: Door, dogs: Path, tmp_path: Path
) -> None:
    """Text files hold tables too, and the numbers that Parquet's reader counts are no column."""
    sheet = sheet_of(door, dogs)
    read = outcome(door, sheet.text().encode(), tmp_path, dogs)
    assert not isinstance(read, str) or "Text" in door.columns, read
    if "Text" in door.columns or door.read in (made, own_items):
        pytest.skip("of datasets, whose rows may be named by their numbers")
    assert outcome(door, sheet.text().encode(), tmp_path, dogs, ".txt") == read
    frame = pd.DataFrame(sheet.rows, columns=list(sheet.columns))
    data = io.BytesIO()
    frame.to_parquet(data)
    assert outcome(door, data.getvalue(), tmp_path, dogs, ".parquet") == read


@pytest.mark.parametrize("item", ["item", "id", "Question ID"])
@pytest.mark.parametrize("model", ["respondent", "model", "Model Name"])
def test_scores_beside_people_name_items_and_respondents_as_answers_do(
    item: str, model: str, tmp_path: Path
) -> None:
    path = tmp_path / "s.csv"
    path.write_text(f"{item},{model},rouge\nq0,m0,.5\nq1,m0,.25\n", encoding="utf-8")
    assert read_scores(path).columns == {"rouge": {("q0", "m0"): 0.5, ("q1", "m0"): 0.25}}


@pytest.mark.parametrize("suffix", [".html", ".md", ".log"])
def test_a_kind_of_file_that_nobody_reads_is_named(
    suffix: str, door: Door, dogs: Path, tmp_path: Path
) -> None:
    said = outcome(door, b"<table><tr><td>1</td></tr></table>", tmp_path, dogs, suffix)
    if "Text" not in door.columns:  # a printed table may be in Markdown
        assert tells(str(said), "door.kind", suffix=suffix), said


def test_a_table_of_results_is_no_log(tmp_path: Path) -> None:
    path = tmp_path / "leaderboard.json"
    path.write_text(json.dumps([{"model": m, "aAcc": 75.8, "fAcc": 59.5} for m in "ab"]))
    with pytest.raises(HQMError, match=pattern_of("layout.no-items")):
        read_logs([path])


@pytest.mark.parametrize("column", ["target", "gold", "ground_truth", "Correct Answer"])
def test_a_key_names_right_answers_as_tables_do(column: str, dogs: Path, tmp_path: Path) -> None:
    sheet = sheet_of(DOORS["--key"], dogs)
    renamed = replace(sheet, columns=("question_id", column))
    expected = outcome(DOORS["--key"], sheet.text().encode(), tmp_path, dogs)
    assert outcome(DOORS["--key"], renamed.text().encode(), tmp_path, dogs) == expected


@pytest.mark.parametrize("heading", ["item", "id", "question_id"])
def test_a_key_that_names_an_item_twice_is_refused(
    heading: str, dogs: Path, tmp_path: Path
) -> None:
    sheet = sheet_of(DOORS["--key"], dogs)
    row = (sheet.rows[0][0], {"yes": "no", "no": "yes"}[sheet.rows[0][1]])
    sheet = Sheet((heading, "target"), (*sheet.rows, row))
    said = outcome(DOORS["--key"], sheet.text().encode(), tmp_path, dogs)
    assert " twice" in str(said), said


def test_a_heading_among_the_rows_is_refused(door: Door, dogs: Path, tmp_path: Path) -> None:
    sheet = sheet_of(door, dogs)
    again = replace(sheet, rows=(*sheet.rows[:5], sheet.columns, *sheet.rows[5:]))
    said = outcome(door, again.text().encode(), tmp_path, dogs)
    assert tells(str(said), "door.heading"), said


def test_a_heading_behind_a_count_of_rows_is_refused(tmp_path: Path) -> None:
    """Files that pandas wrote with its index, put together with a column of tokens."""
    path = tmp_path / "rows.csv"
    path.write_text(",model,item,cost,answer\n0,m0,q0,7,yes\n1,model,item,9,answer\n")
    with pytest.raises(HQMError, match=pattern_of("door.heading")):
        take_rows(path)


def test_white_space_around_an_id_is_no_part_of_it(door: Door, dogs: Path, tmp_path: Path) -> None:
    sheet = sheet_of(door, dogs)
    column = next(filter({"item", "id", "model"}.__contains__, sheet.columns))
    padded = sheet
    for index in range(len(sheet.rows)):
        padded = padded.with_cell(index, column, lambda name: f" {name} ")
    expected = outcome(door, sheet.text().encode(), tmp_path, dogs)
    assert outcome(door, padded.text().encode(), tmp_path, dogs) == expected
    assert not isinstance(expected, str) or "Text" in door.columns


@pytest.mark.parametrize(
    "change",
    [
        lambda name: f"{name} ",
        lambda name: f"{name}\u00a0",
        lambda name: name.upper(),
        lambda name: name.replace("a", "\u0430").replace("m", "\uff4d").replace("g", "\uff47"),
        lambda name: f"{name}\u200b",
    ],
    ids=["space", "no-break space", "case", "look-alike letter", "invisible"],
)
def test_two_names_that_look_the_same_are_refused(
    door: Door, change: Callable[[str], str], dogs: Path, tmp_path: Path
) -> None:
    if not door.name_column:
        pytest.skip("its rows name nobody")
    sheet = sheet_of(door, dogs).with_cell(1, door.name_column, change)
    if "Text" in door.columns:
        sheet = sheet.with_cell(1, "model", lambda _: change("m0"))
    said = outcome(door, sheet.text().encode(), tmp_path, dogs)
    # printed names have no white space around them, so that two are one name
    is_printed = "Text" in door.columns and " twice" in str(said)
    assert is_printed or tells(str(said), "door.look-alike", subject=door.subject), said


def test_a_row_that_stands_twice_is_refused(door: Door, dogs: Path, tmp_path: Path) -> None:
    sheet = sheet_of(door, dogs)
    twice = replace(sheet, rows=(*sheet.rows, sheet.rows[0]))
    said = outcome(door, twice.text().encode(), tmp_path, dogs)
    assert isinstance(said, str)
    assert " twice" in said, said
    if door.read is audited:
        assert tells(said, "door.twice", unit="q0 of m0", first="record 1"), said


@pytest.mark.parametrize("mixture", ["every second", "one"])
def test_scores_on_two_scales_are_refused(
    door: Door, mixture: str, dogs: Path, tmp_path: Path
) -> None:
    if not door.score_column or door.columns[1] == "Text":
        pytest.skip("its rows hold no scores")
    sheet = sheet_of(door, dogs)
    place = sheet.columns.index(door.score_column)
    rows = [i for i, row in enumerate(sheet.rows) if float(row[place]) > 0]
    for i in rows[::2] if mixture == "every second" else rows[:1]:
        sheet = sheet.with_cell(i, door.score_column, lambda cell: f"{100 * float(cell):g}")
    said = outcome(door, sheet.text().encode(), tmp_path, dogs)
    assert tells(str(said), "door.scales", column=door.score_column), said


@pytest.mark.parametrize("cell", ["N/A", "nan", "-"])
def test_a_cell_that_says_that_there_is_no_score_is_empty(
    door: Door, cell: str, dogs: Path, tmp_path: Path
) -> None:
    if not door.score_column or door.read is judged:
        pytest.skip("its rows hold no scores, or texts that a benchmark's rule reads")
    sheet = sheet_of(door, dogs)

    def said_of(text: str) -> Any:
        changed = sheet.with_cell(1, door.score_column, lambda _: text)
        return outcome(door, changed.text().encode(), tmp_path, dogs)

    assert said_of(cell) == said_of("")


MIXTURES: dict[str, tuple[Callable[[int, int], float], str]] = {
    "three levels": (
        lambda m, i: (i + m) % 3 - 1,
        pattern_of("door.three-levels", column="score"),
    ),
    "sorted three levels": (
        lambda m, i: i // 10 - 1,
        pattern_of("door.three-levels", column="score"),
    ),
    "-1 in the first rows": (
        lambda m, i: i % 2 if i > 14 else 2 * (i % 2) - 1,
        pattern_of("layout.signs", column="score", low="in some rows", high="in others of 'm0'"),
    ),
    "one model in 0 and 1": (
        lambda m, i: i % 2 if m == 1 else (-1, 1, -1, 1, 0)[i % 5],
        pattern_of("layout.signs", column="score", low="for 'm0'", high="for 'm1'"),
    ),
    "ratings of a poor model": (
        lambda m, i: i % 2 if m == 1 else i % 5,
        pattern_of("door.binary-beside", column="score", name="m1", top=4),
    ),
    "one model in per cent": (
        lambda m, i: i % 2 if m == 1 else 10 + (i * 37) % 90,
        pattern_of("door.binary-alone", column="score", name="m1", highest="m0", top=99),
    ),
}
"""The score of respondent m on item i -> what is said of it."""


@pytest.mark.parametrize("name", MIXTURES)
def test_scores_of_several_scales_are_refused_or_said(name: str, tmp_path: Path) -> None:
    score, pattern = MIXTURES[name]
    lines = [f"m{m},q{i},{score(m, i):g}" for m in range(2) for i in range(30)]
    path = tmp_path / "scores.csv"
    path.write_text("\n".join(["model,item,score", *lines]), encoding="utf-8")
    try:
        (log,) = read_logs([path])
        said = " ".join(log.notes)
    except HQMError as error:
        said = str(error)
    assert re.search(pattern, " ".join(said.split())), said


def test_files_of_one_model_about_different_items_are_joined_and_said(tmp_path: Path) -> None:
    for k, name in enumerate("ab"):
        rows = [
            f'{{"model": "m", "id": "q{i}", "question": "Is it {i}?", "prediction": "yes", "target": "no"}}'
            for i in range(9 * k, 9 * k + 9)
        ]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(rows), encoding="utf-8")
    (benchmark,) = benchmarks_of_logs(read_logs([tmp_path]))
    assert {recording.respondent for recording in benchmark.included_recordings} == {"m"}
    (note,) = (note for note in benchmark.matched.notes if "parts of" in note)
    assert tells(note, "door.parts", first="a", second="b", n=9, name="m")


def in_title_case(column: str) -> str:
    """A heading in another case; that of a metric is its name."""
    return column if column == "rouge" else column.title()


@pytest.mark.parametrize(
    "write",
    [
        lambda sheet: sheet.text(";").encode(),
        lambda sheet: sheet.text("\t").encode(),
        lambda sheet: sheet.text("|").encode(),
        lambda sheet: sheet.text().encode("utf-8-sig"),
        lambda sheet: sheet.text().encode("utf-16"),
        lambda sheet: (
            replace(sheet, columns=tuple(map(in_title_case, sheet.columns))).text().encode()
        ),
        lambda sheet: (
            replace(sheet, columns=tuple(f"\u200b{name}\u00a0" for name in sheet.columns))
            .text()
            .encode()
        ),
    ],
    ids=[
        "semicolons",
        "tabs",
        "bars",
        "byte-order mark",
        "UTF-16",
        "heading in other cases",
        "heading with invisible characters",
    ],
)
def test_rows_are_read_alike_however_they_are_written(
    door: Door, write: Callable[[Sheet], bytes], dogs: Path, tmp_path: Path
) -> None:
    sheet = sheet_of(door, dogs)
    plain = outcome(door, sheet.text().encode(), tmp_path, dogs)
    assert not isinstance(plain, str) or plain.startswith("[["), plain
    other = outcome(door, write(sheet), tmp_path, dogs)
    assert other == plain


# --- judgements ---


@pytest.mark.parametrize(
    ("verdict", "score", "contradicts"),
    [("1", "1", False), ("1", "0", True), ("correct", "0", True), ("correct", "1", False)],
)
def test_two_fields_of_a_judgement_may_not_contradict_each_other(
    verdict: str, score: str, contradicts: bool, dogs: Path, tmp_path: Path
) -> None:
    rows = [(f"q{i}", "m0", "1", "1") for i in range(1, N_ITEMS)] + [("q0", "m0", verdict, score)]
    sheet = Sheet(("item", "respondent", "verdict", "score"), tuple(rows))
    said = str(outcome(DOORS["--judgements"], sheet.text().encode(), tmp_path, dogs))
    assert tells(said, "door.contradiction") == contradicts, said


# --- printed tables ---


@pytest.mark.parametrize(
    "name",
    ["Std", "\u0394", "Human", "Random chance", "Median", "Random", "Human (expert)", "Std."],
)
def test_a_printed_row_that_is_no_system_is_left_out(name: str, tmp_path: Path) -> None:
    rows = [(f"m{i}", f"{50 + 3 * i}.1", f"{52 + 2 * i}.6") for i in range(8)]
    path = tmp_path / "t.csv"
    path.write_text(Sheet(("model", "Text", "Chart"), tuple(rows)).text(), encoding="utf-8")
    plain = read_table(path)
    path.write_text(
        Sheet(("model", "Text", "Chart"), (*rows, (name, "3.1", "2.9"))).text(), encoding="utf-8"
    )
    table = read_table(path)
    assert table.respondents == plain.respondents
    assert (table.values == plain.values).all()
    said = " ".join(table.notes)
    assert tells(said, "door.omitted", n=1, subject="row", what="systems", names=repr(name))


@pytest.mark.parametrize("name", ["params (B)", "#Params", "Year", "Size", "Rank"])
def test_a_printed_column_that_is_no_score_is_left_out(name: str, tmp_path: Path) -> None:
    rows = [(f"m{i}", "7", f"{50 + 3 * i}.1", f"{52 + 2 * i}.6") for i in range(8)]
    path = tmp_path / "t.csv"
    path.write_text(Sheet(("model", name, "Text", "Chart"), tuple(rows)).text(), encoding="utf-8")
    table = read_table(path)
    assert table.columns == ("Text", "Chart")
    said = " ".join(table.notes)
    assert tells(said, "door.omitted", n=1, subject="column", what="scores", names=repr(name))


def test_a_transposed_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("metric,m1,m2,m3\nacc,50.1,60.2,70.3\nf1,52,61,72\n", encoding="utf-8")
    with pytest.raises(HQMError) as refusal:
        read_table(path)
    assert tells(str(refusal.value), "door.columns-are-systems", heading="metric")


def test_raised_marks_and_what_is_switched_off_are_no_part_of_a_score(tmp_path: Path) -> None:
    path = tmp_path / "t.tex"
    path.write_text(
        r"""\begin{tabular}{lcc}
Model & Text & Chart \\ \midrule
m0 & 56.7\textsuperscript{2} & 54.6$^{3}$ \\
\iffalse
m1 & 10.0 & 10.0 \\
\fi
m2 & 60.1$^{\pm 0.4}$ & \textbf{61.2}\footnotemark[1] \\
\end{tabular}
""",
        encoding="utf-8",
    )
    table = read_table(path)
    assert table.respondents == ("m0", "m2")
    assert table.values.tolist() == [[56.7, 54.6], [60.1, 61.2]]


# --- how an answer ended ---


@pytest.mark.parametrize(
    ("reason", "state"),
    [("error", "error"), ("length", "truncated"), ("content_filter", "refused"), ("stop", "ok")],
)
def test_the_state_of_an_answer_is_that_of_its_end(
    reason: str, state: str, dogs: Path, tmp_path: Path
) -> None:
    loaded = load(str(dogs))
    forms = {"original": loaded.original}
    path = tmp_path / "a.csv"
    for name in ("respondent", "model"):
        rows = tuple(("m0", item.id, "Yes", reason) for item in loaded.original.items)
        sheet = Sheet((name, "item", "answer", "finish_reason"), rows)
        path.write_text(sheet.text(), encoding="utf-8")
        (recording,) = read_recorded(loaded, [path], forms, LogSettings()).recordings
        assert {answer.state for answer in recording.answers.values()} == {state}
    reply = {"choices": [{"index": 0, "message": {"content": "Yes"}, "finish_reason": reason}]}
    assert read_reply(reply, 0.1, "m0").state == state


def test_a_choice_of_another_index_is_not_the_answer() -> None:
    choices = [{"index": 1, "message": {"content": "No"}}]
    assert read_reply({"choices": choices}, 0.1, "m0").state == "error"
    choices.append({"index": 0, "message": {"content": "Yes"}})
    assert read_reply({"choices": choices}, 0.1, "m0").text == "Yes"


def test_an_impossible_number_of_tokens_is_no_count() -> None:
    assert tokens_in({"input_tokens": 10**18, "output_tokens": -1}) == {}
    assert tokens_in({"input_tokens": True, "output_tokens": 3}) == {"tokens_out": 3}


# --- whose questions the rows answer ---


@pytest.mark.parametrize("name", ["respondent", "model"])
def test_rows_that_answer_another_benchmark_are_refused(
    name: str, dogs: Path, tmp_path: Path
) -> None:
    loaded = load(str(dogs))
    forms = {"original": loaded.original}
    path = tmp_path / "a.csv"
    for benchmark in ("pope", loaded.name, f"{loaded.name}_test"):
        rows = tuple(("m0", item.id, "Yes", benchmark) for item in loaded.original.items)
        sheet = Sheet((name, "item", "answer", "benchmark"), rows)
        path.write_text(sheet.text(), encoding="utf-8")
        try:
            said = ""
            read_recorded(loaded, [path], forms, LogSettings())
        except HQMError as error:
            said = str(error)
        assert tells(said, "door.other-benchmark", name="pope") == (benchmark == "pope"), said
        if benchmark == "pope":
            with pytest.raises(HQMError, match=pattern_of("door.other-benchmark", name="pope")):
                scored(path, dogs)


def types_of_items(path: Path) -> set[str | None]:
    (benchmark,) = benchmarks_of_logs(read_logs([path]))
    return {item.type for item in benchmark.original.items}


@pytest.mark.parametrize("column", ["category", "type", "Type", "hallucination_type"])
@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_a_column_of_the_eight_types_is_read_by_every_name(
    column: str, suffix: str, tmp_path: Path
) -> None:
    path = tmp_path / f"answers{suffix}"
    type_names = ["existence", "counting"]
    rows: list[dict[str, object]] = []
    for model in ("m0", "m1"):
        for item in range(8):
            cells = {"model": model, "item": f"q{item}", column: type_names[item % 2]}
            rows.append({**cells, "score": 1})
    if suffix == ".csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    else:
        path.write_text("\n".join(map(json.dumps, rows)))
    assert types_of_items(path) == set(type_names)


def test_a_column_named_type_of_other_words_is_no_type(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    lines = ["model,item,score,type"]
    for item in range(8):
        kind = "message" if item % 2 else "tool"
        lines += [f"m0,q{item},1,{kind}", f"m1,q{item},0,{kind}"]
    path.write_text("\n".join(lines))
    assert types_of_items(path) == {None}


def test_equal_answers_are_told_in_one_note_for_runs_and_one_for_names(tmp_path: Path) -> None:
    lines = ["model,item,target,answer,run,form"]
    for model in range(5):
        for run in range(3):
            for item in range(30):
                answer = "yes" if (item + model // 2) % 3 else "no"
                lines += [
                    f"m{model},q{item},yes,{answer},{run},{form}"
                    for form in ("original", "parallel")
                ]
    path = tmp_path / "answers.csv"
    path.write_text("\n".join(lines))
    (benchmark,) = benchmarks_of_logs(read_logs([path]))
    twins, unchanged = (note for note in benchmark.matched.notes if "same answers" in note)
    assert tells(twins, "door.twins", names="m0 and m1; m2 and m3")
    assert tells(unchanged, "door.unchanged", names="m0, m1, m2 and 2 more")


@pytest.mark.parametrize("answer", ["pred", "Model Output", "generatedText", "completion"])
@pytest.mark.parametrize("key", ["gold", "ideal", "groundTruth", "Expected"])
@pytest.mark.parametrize("words", [("yes", "no"), ("A", "B")])
def test_a_table_is_read_by_the_usual_names_of_its_columns(
    answer: str, key: str, words: tuple[str, str], tmp_path: Path
) -> None:
    heading = f"LLM,questionId,Question,file_name,{key},{answer}"
    lines = [heading]
    for item in range(24):
        right, wrong = words if item % 2 else words[::-1]
        question = f"Is there a thing {item}? A. red B. blue"
        lines.append(f"m0,q{item},{question},{item}.png,{right},{right if item < 18 else wrong}")
    path = tmp_path / "answers.csv"
    path.write_text("\n".join(lines))
    (benchmark,) = benchmarks_of_logs(read_logs([path]))
    (recording,) = benchmark.included_recordings
    assert {item.target for item in benchmark.original.items} == set(words)
    n_right = sum(
        recording.answers[item.id].text == item.target for item in benchmark.original.items
    )
    assert (recording.respondent, n_right) == ("m0", 18)


def test_a_column_of_the_words_of_the_keys_is_no_score(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    lines = ["model,id,gold,bot_says"]
    lines += [f"m0,q{item},{'yes' if item % 2 else 'no'},yes" for item in range(8)]
    path.write_text("\n".join(lines))
    with pytest.raises(HQMError, match="--columns answer=NAME"):
        benchmarks_of_logs(read_logs([path]))


@pytest.mark.parametrize(
    ("path", "column"),
    [("img/{}.png", "item"), ("img/{}.JPG", "item"), ("log/{}.json", "image"), ("{}", "image")],
)
def test_a_path_that_names_pictures_tells_items_of_one_question_apart(
    path: str, column: str, tmp_path: Path
) -> None:
    """As releases without ids have it: 24 pairs of picture and question, of 8 pictures."""
    rows = ["path,question,model,answer,target"]
    for index in range(24):
        pair = f"{path.format(index // 3)},Is there a {('dog', 'cat', 'car')[index % 3]}?"
        rows += [f"{pair},{model},{('Yes', 'No')[index % 2]},Yes" for model in ("m0", "m1")]
    file = tmp_path / "t.csv"
    file.write_text("\n".join(rows))
    columns = None
    if column == "image":
        with pytest.raises(HQMError, match=pattern_of("door.twice")) as refusal:
            benchmarks_of_logs(read_logs([file]))
        assert refusal.value.remedy.endswith("--columns image=NAME.")
        columns = {"image": "path"}
    logs = read_logs([file], columns=columns)
    (benchmark,) = benchmarks_of_logs(logs)
    assert len(benchmark.original.items) == 24
    assert len({item.image for item in benchmark.original.items}) == 8
    assert any("item=path and question" in note for note in logs[0].notes)


@pytest.mark.parametrize(
    ("heading", "field"),
    [("path", ""), ("path", "item"), ("path", "image"), ("image", ""), ("question_id", "")],
)
def test_pictures_of_one_name_in_two_folders_are_two(
    heading: str, field: str, tmp_path: Path
) -> None:
    """A picture's name is an id for one question alone: 24 pairs, of 12 pictures in 2 folders."""
    rows = []
    for index in range(24):
        picture = f"/{('cor', 'dis')[index % 2]}/{index // 4}.{('png', 'jfif')[index // 12]}"
        question = f"Is it {('red', 'round')[index // 2 % 2]}?"
        for model, answer in (("m0", "Yes"), ("m1", ("Yes", "No")[index // 3 % 2])):
            cells = {"model": model, "question": question, "answer": answer, "target": "Yes"}
            rows.append(json.dumps({heading: picture, **cells}))
    file = tmp_path / "t.jsonl"
    file.write_text("\n".join(rows))
    columns = {field: heading} if field else None
    (benchmark,) = benchmarks_of_logs(read_logs([file], columns=columns))
    items = benchmark.original.items
    assert len(items) == 24
    assert len({item.image for item in items}) == len({item.cluster for item in items}) == 12
    file.write_text("\n".join([*rows, rows[0]]))
    with pytest.raises(HQMError, match=pattern_of("door.twice", first="record 1")) as refusal:
        benchmarks_of_logs(read_logs([file], columns=columns))
    assert tells(str(refusal.value), "door.twice-wording")


def test_a_score_under_an_unknown_name_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("system,example,grader,rating\na,e1,x,4\nb,e1,x,5\n")
    with pytest.raises(HQMError, match=pattern_of("door.no-score")):
        benchmarks_of_logs(read_logs([file]))


def scores_with(column: str = "note", value: Callable[[int, int], object] | None = None) -> Sheet:
    """Scores of three models on 12 items, and a further column of what a model and an item have."""
    rows = []
    for model in range(3):
        for item in range(N_ITEMS):
            cell = str(value(model, item)) if value else "x"
            rows.append((f"m{model}", f"q{item}", str((item + model) // 2 % 2), cell))
    return Sheet(("model", "item", "score", column), tuple(rows))


FURTHER_COLUMNS: tuple[tuple[str, Callable[[int, int], object]], ...] = (
    ("difficulty", lambda model, item: item % 5),
    ("is_human", lambda model, item: 0),
    ("gpu_id", lambda model, item: (model + item) % 8),
    ("log_prob", lambda model, item: -(1 + model + item) / 50),
    ("confidence", lambda model, item: (1 + model + item) / 50),
    ("usd", lambda model, item: (1 + model * item) / 90),
    ("retries", lambda model, item: model * item % 3),
    ("step", lambda model, item: 12 * model + item),
    ("n_frames", lambda model, item: 8 + model),
    ("Unnamed: 0", lambda model, item: 99 - 12 * model - item),
    ("seed", lambda model, item: 7919 * (12 * model + item) % 9973),
)
"""Columns of numbers that stand in tables of scores, and are none."""


SEEDED = scores_with("seed", FURTHER_COLUMNS[-1][1])


@pytest.mark.parametrize(("column", "value"), FURTHER_COLUMNS, ids=[n for n, _ in FURTHER_COLUMNS])
def test_a_number_of_the_question_or_of_the_call_is_no_score(
    column: str, value: Callable[[int, int], object], tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(scores_with(column, value).text())
    (benchmark,) = benchmarks_of_logs(read_logs([path]))
    assert [metric.name for metric in benchmark.metrics] == ["score"]
    assert len(benchmark.original.items) == N_ITEMS


@pytest.mark.parametrize(
    ("column", "better"),
    [
        ("hallucinated", "lower"),
        ("Not hallucinated", "higher"),
        ("no_hallucination", "higher"),
        ("no_errors", "lower"),
        ("not_correct", "lower"),
        ("CHAIR_i", "lower"),
        ("hallucination_count", "lower"),
        ("correct", "higher"),
    ],
)
def test_a_scores_name_says_which_end_is_better(column: str, better: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(replace(SEEDED, columns=("model", "item", column, "seed")).text())
    (benchmark,) = benchmarks_of_logs(read_logs([path]))
    assert [metric.better for metric in benchmark.metrics] == [better]


@pytest.mark.parametrize("item", ["item", "Question ID"])
def test_seeds_of_answers_are_no_runs_however_the_item_is_called(item: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(replace(SEEDED, columns=("model", item, "score", "seed")).text())
    (benchmark,) = benchmarks_of_logs(read_logs([path]))
    assert len(benchmark.original.items) == N_ITEMS
    assert {recording.run for recording in benchmark.included_recordings} == {0}


def test_a_row_of_empty_cells_is_left_out_and_said(tmp_path: Path) -> None:
    sheet = scores_with()
    path = tmp_path / "t.csv"
    path.write_text(replace(sheet, rows=(*sheet.rows, ("", "", " ", ""))).text())
    logs = read_logs([path])
    assert any(tells(note, "door.blank", n=1) for note in logs[0].notes)
    (benchmark,) = benchmarks_of_logs(logs)
    assert len(benchmark.original.items) == N_ITEMS
    assert len(benchmark.included_recordings) == 3


def test_rows_of_empty_cells_count_where_a_row_is_named(tmp_path: Path) -> None:
    sheet = scores_with().with_cell(7, "model", lambda _: "")
    path = tmp_path / "t.csv"
    path.write_text(replace(sheet, rows=(("", "", " ", ""), *sheet.rows)).text())
    with pytest.raises(HQMError) as refusal:
        read_logs([path])
    assert refusal.value.location == f"{path}: record 9"


@pytest.mark.parametrize(
    ("sheet", "refusal"),
    [
        (scores_with().with_cell(7, "model", lambda _: ""), pattern_of("door.no-name")),
        (scores_with().with_cell(7, "item", lambda _: ""), pattern_of("door.no-name")),
        (
            scores_with("retries", lambda model, item: item % 3).with_cell(
                7, "score", lambda _: "inf"
            ),
            pattern_of("door.no-number"),
        ),
        (scores_with().with_cell(7, "score", lambda _: "0_1"), pattern_of("door.no-number")),
        (
            replace(SEEDED, rows=(*SEEDED.rows, (*SEEDED.rows[0][:3], "5"))),
            pattern_of("door.twice"),
        ),
        (
            replace(SEEDED, rows=(*SEEDED.rows, ("Model Name", "Question ID", "score", "seed"))),
            pattern_of("door.heading"),
        ),
    ],
)
def test_a_cell_that_would_make_another_reading_is_refused(
    sheet: Sheet, refusal: str, tmp_path: Path
) -> None:
    """A file's name is no respondent of one row, and a count is not the score in place of one."""
    path = tmp_path / "t.csv"
    path.write_text(sheet.text())
    with pytest.raises(HQMError, match=refusal):
        benchmarks_of_logs(read_logs([path]))


@pytest.mark.parametrize("heading", ["respondent", "Respondent", "model", "Model Name"])
def test_two_respondents_are_no_one_however_their_column_is_called(
    heading: str, dogs: Path, tmp_path: Path
) -> None:
    items = load(str(dogs)).original.items
    lines = [f"{heading},item,answer"]
    lines += [f"m{index % 2},{item.id},yes" for index, item in enumerate(items)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines))
    with pytest.raises(HQMError, match=pattern_of("silent.another-cell", n=2)):
        scored(path, dogs)


def test_ids_that_pandas_wrote_as_floats_are_whole_numbers(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("item,model,score\n1.0,a,1\n2.0,a,0\n")
    intake = take_rows(path)
    assert [row["item"] for row in intake.records] == ["1", "2"]
    assert intake.notes == (text_of("rows.float-ids", first="1.0"),)
    path.write_text("item,model,score\n1.0,a,1\n2.5,a,0\n")
    assert [row["item"] for row in take_rows(path).records] == ["1.0", "2.5"]
