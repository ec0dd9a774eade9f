"""The site: it is built without a warning, its code and commands run, and nothing that can be named
is left out.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import hqm
from hqm import psychometrics
from hqm.benchmark.registry import card, groups
from hqm.cli import program
from hqm.commands.help import every_command
from hqm.imports.row import ROLES
from hqm.indicators.indicator import INDICATOR_FAMILIES, INDICATORS
from hqm.scoring.parsers import PARSERS
from hqm.types import STATES
from tests.conftest import NIGHTLY, NO_TORCH, ROOT, write_command
from tests.judge_server import JudgeServer

DOCS = ROOT / "docs"
WRITTEN = {
    str(path.relative_to(DOCS)): path.read_text("utf-8") for path in sorted(DOCS.rglob("*.md"))
}
"""The pages that lie in the repository."""
TRIED = [
    "tutorial_report.md",
    "tutorial_compare.md",
    "tutorial_logs.md",
    "table_one.md",
    "extend_benchmark.md",
    "extend_respondent.md",
    "extend_judge.md",
]
"""The pages whose commands are run here; a page with its own test is not among them."""


GENERATOR = f"""
import doctest, json, sys
sys.path.insert(0, {str(DOCS)!r})
from make import hook, pages, text
tried = doctest.testmod(text)
assert tried.attempted > 0 and not tried.failed
assert text.prose('<b> of `<b>`, 3 < 4') == '&lt;b> of `<b>`, 3 < 4'
assert text.cell('a | b') == 'a \\\\| b'
written = 'scale.md index.md tutorial_release.md theory/5.md benchmarks/b.md benchmarks/index.md'
print(json.dumps({{'made': dict(pages.made()), 'menu': hook.menu(written.split())}}))
"""
"""What the generator of the site makes: its examples run, no word of a docstring becomes more than
a word, and of these files it makes a menu.
"""


@pytest.fixture(scope="session")
def generated() -> dict[str, Any]:
    process = subprocess.run(
        [sys.executable, "-c", GENERATOR], capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    return dict(json.loads(process.stdout))


@pytest.fixture(scope="session")
def made(generated: dict[str, Any]) -> dict[str, str]:
    """The pages that are made from the code."""
    return dict(generated["made"])


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built with warnings as errors."""
    folder = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--site-dir",
        str(folder),
    ]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    return folder


def test_the_site_has_every_page_and_every_page_is_in_the_menu(
    site: Path, made: dict[str, str]
) -> None:
    menu = (site / "index.html").read_text("utf-8")
    for page in (*WRITTEN, *made):
        html = page.removesuffix(".md") + ".html"
        assert (site / html).is_file(), page
        assert f'href="{html}"' in menu or page == "index.md", f"{page} is not in the menu"


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 90
    for page in pages:
        text = page.read_text("utf-8")
        for tag in re.findall(r"<(?:script|link|img|iframe)\b[^>]*>", text):
            address = re.search(r'(?:src|href)="([^"]*)"', tag)
            assert address is None or not re.match(r"(https?:)?//", address[1]), (
                f"{page.name}: {tag}"
            )
        assert "fonts.googleapis" not in text


def test_the_made_pages_are_in_no_commit(made: dict[str, str]) -> None:
    assert not set(made) & set(WRITTEN)


# --- code and commands ---


def blocks(text: str) -> list[tuple[str, str]]:
    """Every fenced block: its language and its text."""
    return re.findall(r"^```(\w+)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.filterwarnings("error:.*since 0:DeprecationWarning")  # no page has a name that moved
@pytest.mark.parametrize("page", [page for page, text in WRITTEN.items() if ">>> " in text])
def test_the_python_on_a_page_runs(page: str) -> None:
    code = "\n".join(text for language, text in blocks(WRITTEN[page]) if language == "python")
    assert not [
        line
        for line in code.splitlines()
        if line and not line.startswith((">>>", "...")) and "import " in line
    ]
    module = types.ModuleType("page")
    example = doctest.DocTestParser().get_doctest(code, vars(module), page, page, 0)
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(
        example, out=report.append
    )
    assert result.attempted > 0
    assert result.failed == 0, "".join(report)


STARTED = ("tutorial_report.md", "tutorial_logs.md")
"""The pages whose first command starts the program as a user does, one with models and one without;
the other pages' commands are forked.
"""


@pytest.fixture
def shell(tmp_path: Path, forked_program: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Run a block of shell in a folder of its own, with `hqm` the one under test and a judge at the
    pages' address.
    """
    tools = write_command(tmp_path / "tools", forked_program).parent
    if (
        getattr(request.node, "callspec", None)
        and request.node.callspec.params["page"] not in STARTED
    ):
        (tools / "started").touch()
    python = tools / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    server = JudgeServer(
        lambda prompt, _body: "No." if "number 3" in prompt or "hasty" in prompt else "Yes."
    )
    environment = {
        **os.environ,
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "OPENAI_API_KEY": "none",
    }
    environment |= {"PYTHONIOENCODING": "utf-8", "COLUMNS": "200"}

    def run(text: str) -> str:
        text = text.replace("http://127.0.0.1:8000/v1", server.url)
        command = ["bash", "-euo", "pipefail", "-c", text]
        process = subprocess.run(
            command, cwd=work, env=environment, capture_output=True, text=True, check=False
        )
        assert process.returncode == 0, f"{text}\n{process.stdout}\n{process.stderr}"
        return process.stdout

    yield run
    server.stop()


def lines(text: str, exact: bool) -> list[str]:
    """Lines with single spaces; unless exact, with # in place of every number."""
    tidied = [" ".join(line.split()) for line in text.splitlines()]
    return tidied if exact else [re.sub(r"[−-]?\d[\d.,]*", "#", line) for line in tidied]


@pytest.mark.parametrize("page", TRIED)
def test_the_commands_on_a_page_run_and_print_what_it_shows(page: str, shell: Any) -> None:
    """Numbers of recorded answers must be the same; what models answer may differ from machine to
    machine.
    """
    if "-r hf/" in WRITTEN[page]:
        pytest.importorskip("torch", reason=NO_TORCH)
    ran, printed, exact = 0, "", False
    for language, text in blocks(WRITTEN[page]):
        if language == "sh":
            exact = "HQM_DATA" in text or "recorded" in text or "score" in text
            needs = "HQM_DATA" in text and not os.environ.get("HQM_DATA")
            # the commands of README.md audit these answers in every run
            repeats = page == "tutorial_report.md" and "HQM_DATA" in text and not NIGHTLY
            if not NIGHTLY:  # the models answer fewer questions
                text = text.replace("--limit 40", "--limit 16")
            printed = "" if needs or repeats else shell(text)
            ran += printed != ""
        elif language == "text" and printed:
            missing = set(lines(text, exact)) - set(lines(printed, exact))
            assert not missing - {""}, f"{page} shows what is not printed: {missing}\n{printed}"
    assert ran > 0


def test_the_commands_of_the_readme_run_and_print_what_it_shows(
    shell: Any, data: Path, tmp_path: Path
) -> None:
    """In a folder that has the benchmark that the README writes, recorded answers and people's
    labels.
    """
    from PIL import Image

    readme = blocks((ROOT / "README.md").read_text("utf-8"))
    benchmark = tmp_path / "work" / "mine"
    (benchmark / "images").mkdir(parents=True)
    text = next(text for language, text in readme if language == "toml")
    (benchmark / "card.toml").write_text(text)
    example = json.loads(re.search(r"# (\{.*\})", text)[1])  # type: ignore[index]
    Image.new("RGB", (8, 8)).save(benchmark / "images" / example["image"])
    words = ("STOP", "EXIT", "TAXI", "BUS", "OPEN", "PUSH", "PULL", "FIRE")
    items = [
        {
            **example,
            "id": str(i),
            "prompt": example["prompt"].replace("STOP", word),
            "target": ("yes", "no")[i % 2],
        }
        for i, word in enumerate(words)
    ]
    (benchmark / "items.jsonl").write_text("\n".join(map(json.dumps, items)))
    rows = [
        {
            "form": form,
            "run": run,
            "item": item["id"],
            "answer": ("Yes.", "No.")[(i + run) % 3 == 0],
        }
        for form, run in (("original", 0), ("original", 1), ("parallel", 0))
        for i, item in enumerate(items)
    ]
    (tmp_path / "work" / "answers.jsonl").write_text("\n".join(map(json.dumps, rows)))
    labels = "".join(f"{item['id']},recorded/answers,{i % 2}\n" for i, item in enumerate(items))
    (tmp_path / "work" / "labels.csv").write_text("item,respondent,label\n" + labels)
    ran = 0
    printed = ""
    for language, text in readme:
        if language == "sh" and not text.startswith(
            ("make ", "pip ")
        ):  # what installs HQM is tried by tests/test_wheel.py
            # the second job's command and verdict are held by test_docs
            printed = "" if "out/captions" in text else shell(text)
            ran += text.count("hqm ")
        elif language == "text" and printed:
            assert not set(lines(text, True)) - set(lines(printed, True)), printed
    assert ran >= 5
    assert (tmp_path / "work" / "out" / "mine" / "report.html").is_file()
    assert data.is_dir()


@pytest.mark.parametrize("name", ["report", "report_bad", "report_sound"])
def test_the_readmes_pictures_are_small(name: str) -> None:
    picture = DOCS / f"{name}.png"
    assert 20_000 < picture.stat().st_size < 300_000
    assert f"]({picture.relative_to(ROOT)})" in (ROOT / "README.md").read_text("utf-8")


def test_every_command_shown_exists() -> None:
    commands = every_command(get_command(program()))
    for page in (*TRIED, "index.md"):
        for name in re.findall(r"`hqm (\w+)", WRITTEN[page]):
            assert name in commands, f"{page}: hqm {name}"
        options = {
            option
            for command in commands.values()
            for parameter in command.params
            for option in parameter.opts
        }
        for option in re.findall(r"`(--[a-z-]+)", WRITTEN[page]):
            assert option in options, f"{page}: {option}"


# --- nothing is left out ---


@pytest.fixture(scope="session")
def everything(made: dict[str, str]) -> str:
    return "\n".join([*WRITTEN.values(), *made.values()])


def test_every_command_option_key_parser_state_and_flag_is_documented(everything: str) -> None:
    from hqm.benchmark.card import Card

    for name, command in every_command(get_command(program())).items():
        assert f"`hqm {name}`" in everything
        for parameter in command.params:
            for option in parameter.opts:
                assert f"`{option}" in everything, f"{name} {option}"
    for key, field in Card.model_fields.items():
        assert f"`{key}`" in everything or f"`[{key}]`" in everything
        for inner in getattr(field.annotation, "model_fields", {}):
            assert f"`{key}.{inner}`" in everything, f"{key}.{inner}"
    for word in (
        *PARSERS,
        *STATES,
        *hqm.HALLUCINATION_TYPES,
        *ROLES,
        *INDICATOR_FAMILIES,
        *groups(),
    ):
        assert f"`{word}`" in everything, word


def test_every_flag_has_its_row(made: dict[str, str]) -> None:
    for flag, description in hqm.FLAGS.items():
        assert f"| `{flag}` | {description[0].upper()}" in made["flags.md"], flag


def test_every_benchmark_has_its_page(made: dict[str, str]) -> None:
    for name in hqm.names():
        page, described = made[f"benchmarks/{name}.md"], card(name)
        for heading in ("Scoring", "Data", "Asking", "Parallel form", "Citation"):
            assert f"\n## {heading}\n" in page, f"{name}: {heading}"
        for text in (
            described.title,
            described.version,
            described.licence,
            described.citation,
            *described.types,
        ):
            assert text in page, f"{name}: {text}"
        for file in described.source.files:
            assert f"`{file.path}`" in page
        if described.data.folder:
            assert "\n### Official and paper\n" in page
            assert "`official`" in page or "Both" in page or "both" in page, (
                f"{name} says no difference"
            )


def test_a_page_names_every_metric_role_and_mode_of_its_benchmark(
    made: dict[str, str], data: Path
) -> None:
    for name in ("hqh", "hallusion_bench", "faithscore", "amber_d", "valor", "hal_eval_d"):
        benchmark, page = hqm.load(name, data=data), made[f"benchmarks/{name}.md"]
        for metric in benchmark.metrics:
            group, _, metric_name = metric.name.rpartition(".")
            assert f"`{metric_name}`" in page or f"`{metric.name}`" in page, (
                f"{name}: {metric.name}"
            )
            assert not group or f"`{group}.`" in page or f"`{metric.name}`" in page, (
                f"{name}: {metric.name}"
            )
        for word in (*benchmark.roles, *benchmark.modes):
            assert f"`{word}`" in page, f"{name}: {word}"


def page_of(name: str) -> str:
    return f"indicators/{'types_index' if name == 'index' else name}.md"


def test_every_indicator_has_its_page_with_a_function_a_formula_or_reason_and_an_example(
    made: dict[str, str],
) -> None:
    for name in INDICATORS:
        page = made[page_of(name)]
        functions = re.findall(r"^## `hqm\.psychometrics\.(\w+)`", page, re.MULTILINE)
        assert functions, f"{name}: name its functions in `explains`"
        assert all(function in psychometrics.__all__ for function in functions)
        assert ">>> " in page, f"{name} has no example"
        assert re.search(
            r"`(insufficient|degenerate|not_applicable|not_informative)`|infinite|ValueError", page
        ), f"{name} does not say when it is invalid"


def test_the_functions_are_named_for_the_statistics_that_there_are(made: dict[str, str]) -> None:
    pages = {page for page in made if page.startswith("indicators/")}
    assert pages == {*map(page_of, INDICATORS), "indicators/index.md"}
    for name in INDICATORS:
        assert f"[`{name}`]({Path(page_of(name)).name})" in made["indicators/index.md"]
        assert made[page_of(name)].startswith(f"# {name}\n")


def test_what_a_page_says_of_audits_is_true(
    made: dict[str, str], dogs: Path, store: hqm.Store
) -> None:
    """A page names all estimates of its statistic that a real audit makes."""
    from tests.conftest import administered, recorded

    benchmark = hqm.load(str(dogs))
    truths = {item.id: str(item.target) for item in benchmark.original.items}
    wrong = {"yes": "no", "no": "yes"}
    answers = [
        {k: v if i % (n + 2) else wrong[v] for i, (k, v) in enumerate(truths.items())}
        for n in range(4)
    ]
    turned = [{k: wrong[v] for k, v in texts.items()} for texts in answers]
    respondents = [
        recorded(
            f"r{n}", {("original", 0): a, ("original", 1): {**a, "q0": "yes"}, ("parallel", 0): t}
        )
        for n, (a, t) in enumerate(zip(answers, turned, strict=True))
    ]
    stored_respondents = administered(store, benchmark, respondents)
    estimated = {
        estimate.indicator
        for estimate in hqm.audit(hqm.gather(benchmark, store, stored_respondents)).all_estimates
    }
    assert {"test_retest.rho_g", "test_retest.icc_a1", "parallel_forms.acquiescence"} <= estimated
    for name in estimated:
        (line,) = re.findall(
            r"^- Estimates: .+$", made[page_of(name.partition(".")[2])], re.MULTILINE
        )
        assert f"`{name}`" in line


def test_the_menu_takes_up_pages_that_nobody_told_it_of(generated: dict[str, Any]) -> None:
    assert generated["menu"] == [
        {"Home": "index.md"},
        {"Tutorials": ["tutorial_release.md"]},
        {"Theory": ["theory/5.md"]},
        {"Benchmarks": ["benchmarks/index.md", "benchmarks/b.md"]},
        {"Reference": ["scale.md"]},
    ]
