"""The kinds of respondents: one table, what other packages bring to it, and what is said where
packages are missing.
"""

import ast
import json
from pathlib import Path

import pytest

import hqm
from hqm import RespondentError, UsageError
from hqm.respondents import make_respondent
from hqm.respondents.base import RespondentName
from hqm.respondents.kinds import KINDS, LOCAL, kind_of
from tests.asserted import walked
from tests.conftest import ROOT, Run, needs_torch
from tests.messages import pattern_of, text_of

ECHO = '''
from hqm import Response


class EchoRespondent:
    """Says yes to every question."""

    live = True

    def __init__(self, name):
        self._name = name

    @property
    def name(self):
        return str(self._name)

    def identity(self):
        return {"kind": "echo", "model": self._name.target}

    def answer(self, requests):
        yield [(request, Response("Yes.")) for request in requests]

    def close(self):
        pass
'''


@pytest.fixture
def echo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A respondent added in two files: a module, and the entry point that names it, as an installed
    package has it.
    """
    site = tmp_path / "site"
    (site / "echo_respondent-1.0.dist-info").mkdir(parents=True)
    (site / "echo_respondent.py").write_text(ECHO)
    points = "[hqm.respondents]\necho = echo_respondent:EchoRespondent\n"
    (site / "echo_respondent-1.0.dist-info" / "entry_points.txt").write_text(points)
    assert len([path for path in site.rglob("*") if path.is_file()]) == 2
    monkeypatch.syspath_prepend(str(site))
    return site


@needs_torch
def test_every_kind_is_found_and_parses_as_its_form_says() -> None:
    assert [kind.name for kind in KINDS] == ["hf", "vllm", "openai", "recorded"]
    for kind in KINDS:
        assert kind.form.startswith(f"{kind.name}/")
        assert isinstance(kind.load(), type)
        assert RespondentName.parse(f"{kind.name}/a/b@main").qualifier == (
            "main" if "revision" in kind.qualifiers else ""
        )
        assert RespondentName.parse(f"{kind.name}/b@http://x/v1").qualifier == (
            "http://x/v1" if "address" in kind.qualifiers else ""
        )


def test_an_unknown_kind_is_an_error_that_lists_the_kinds() -> None:
    with pytest.raises(UsageError) as error:
        make_respondent("cmd/x")
    assert str(error.value).startswith(text_of("respondent.unknown", name="cmd/x"))
    assert all(kind.form in str(error.value) for kind in KINDS)
    with pytest.raises(
        UsageError, match=pattern_of("respondent.recorded", name="recorded/x.jsonl")
    ):
        make_respondent("recorded/x.jsonl")


def test_a_package_brings_a_kind_in_two_files(
    echo: Path, run: Run, dogs: Path, tmp_path: Path
) -> None:
    """It is planned, asked, audited and listed like the others."""
    name = "echo/loud@main?temperature=0"
    assert RespondentName.parse(name).qualifier == "main"
    respondent = make_respondent(name, device="cpu", batch=3)
    assert (type(respondent).__name__, respondent.name) == ("EchoRespondent", name)
    store = tmp_path / "s.sqlite"
    status, output, err = run(
        "audit", "--dry-run", dogs, "-r", name, "--blind", "--store", store, "--json"
    )
    assert (status, err) == (0, "")
    assert json.loads(output)["total"]["requests"] == 18
    assert (
        run("audit", "--no-report", dogs, "-r", name, "--blind", "--store", store, "--quiet")[0]
        == 0
    )
    with hqm.Store(store, readonly=True) as opened:
        assert [row[1] for row in opened.respondents()] == [name]
    names = [argument for model in "abc" for argument in ("-r", f"echo/{model}")]
    status, output, _ = run("audit", dogs, *names, "--blind", "--out", tmp_path / "out", "--quiet")
    assert (status, "asked 54" in output) == (0, True)
    assert "echo/<model>" in run("list", "respondents")[1]
    with pytest.raises(UsageError, match=r"recorded/<file or folder> or echo/<model>"):
        make_respondent("cmd/x")


def test_a_kind_that_cannot_be_loaded_names_the_package(echo: Path) -> None:
    (echo / "echo_respondent-1.0.dist-info" / "entry_points.txt").write_text(
        "[hqm.respondents]\necho2 = no_such:Thing\n"
    )
    with pytest.raises(
        RespondentError,
        match=pattern_of("respondent.kind-broken", entry="no_such:Thing", kind="echo2"),
    ):
        make_respondent("echo2/x")


def test_only_the_local_part_imports_torch_and_transformers() -> None:
    """Every import in the product code, also those inside functions."""
    local = {
        f"hqm/respondents/{name}.py"
        for name in "attention decoding hf hf_inputs hf_loading kv_cache packed_batch plain_decoding scheduler"
        " sharing step_graph token_sampling vision_cache".split()
    }
    local |= {"hqm/commands/machine.py"}  # `hqm doctor` says which torch there is
    importing = set()
    for folder in ("hqm", "adapters", "reports", "benchmarks"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            for node in walked(text) if any(name in text for name in LOCAL) else ():
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                if any(name.partition(".")[0] in LOCAL for name in names):
                    importing.add(path.relative_to(ROOT).as_posix())
    assert importing == local


def test_a_kind_of_the_table_is_not_replaced_by_a_package(echo: Path) -> None:
    points = "[hqm.respondents]\nopenai = echo_respondent:EchoRespondent\n"
    (echo / "echo_respondent-1.0.dist-info" / "entry_points.txt").write_text(points)
    kind = kind_of("openai")
    assert kind is not None
    assert kind.target == "hqm.respondents.openai_server:OpenAIRespondent"
