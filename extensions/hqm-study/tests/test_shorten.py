"""Short forms: chosen without the families that are held out, written as a benchmark, and put on
the full benchmark's scale.
"""

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hqm_study
import numpy as np
import pytest
from hqm.reports.pages.report_page import render
from hqm.reports.tables.side_tables import full_scores
from hqm_study.item_choice import METHODS, Bank, ShortForm, choose_forms
from hqm_study.short_form_folder import shorten_matrix
from hqm_study.shortening import (
    MIN_FAMILIES,
    MIN_RESPONDENTS,
    compare_methods,
    mean_measure,
    nested_cross_validation,
    resolve_item_count,
    shorten_answers,
)
from PIL import Image
from typer.testing import CliRunner, Result

import hqm
from hqm.benchmark.adapter import read_calibration
from hqm.cli import program
from hqm.psychometrics import error_factor, scaled_scores
from tests.conftest import ROOT
from tests.messages import pattern_of, tells, text_of
from tests.perf.decisions_shorten import RESPONDENTS, f1, simulate, tau

TYPES = ("existence", "counting", "attribute")
ITEMS, NAMES = (
    240,
    tuple(
        f"{family}-{size}"
        for family in ("oak", "elm", "ash", "fir", "yew", "box")
        for size in (7, 13)
    ),
)


def hqm_command(*arguments: object) -> Result:
    return CliRunner().invoke(program(), [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """A benchmark in a folder with 60 pictures, an audit of twelve recorded respondents of six
    families, and its short forms.
    """
    root = tmp_path_factory.mktemp("shorten")
    folder, rng = root / "signs", np.random.default_rng(5)
    (folder / "images").mkdir(parents=True)
    for k in range(60):
        pixels = rng.integers(0, 255, (6, 6, 3), dtype=np.uint8)
        Image.fromarray(pixels).resize((48, 48), Image.Resampling.BICUBIC).save(
            folder / "images" / f"p{k}.png"
        )
    rows = [
        {
            "id": f"q{i:03}",
            "image": f"p{i % 60}.png",
            "prompt": f"Is there a sign with the number {i}?",
            "type": TYPES[i % 3],
            "target": "yes" if (i // 3) % 2 else "no",
            "source": f"list {i}",
        }
        for i in range(ITEMS)
    ]
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "card.toml").write_text(
        'name = "signs"\ntitle = "Signs"\nversion = "1"\ntask = "yes_no"\nlabelled ='
        ' true\ncitation = "Nobody 2026"\nlicence = "MIT"\ntypes ='
        f' {json.dumps(TYPES)}\n[data]\nitems = "items.jsonl"\nimages ='
        ' "images"\n[scoring]\naudited = ["accuracy", "f1"]\n'
    )
    ability = np.repeat(np.linspace(-1, 2, 6), 2) + np.tile([-0.2, 0.2], 6)
    chance = 1 / (1 + np.exp(-(ability[:, None] + rng.normal(0.3, 1, ITEMS))))
    right = rng.random(chance.shape) < chance
    opposite = {"yes": "no", "no": "yes"}
    lines = [
        f"{row['id']},{name},{row['target'] if right[j, i] else opposite[str(row['target'])]}"
        for j, name in enumerate(NAMES)
        for i, row in enumerate(rows)
    ]
    (root / "answers.csv").write_text("item,respondent,answer\n" + "\n".join(lines) + "\n")
    (root / "families.csv").write_text(
        "respondent,family\n" + "".join(f"{n},{n.partition('-')[0]}\n" for n in NAMES)
    )
    audit_result = hqm_command(
        "audit",
        folder,
        "--recorded",
        root / "answers.csv",
        "--family",
        root / "families.csv",
        "--out",
        root / "out",
        "--quiet",
    )
    assert audit_result.exit_code == 0, audit_result.output
    shorten_result = hqm_command(
        "shorten",
        folder,
        root / "out" / "audit.json",
        "--items",
        "25%",
        "--out",
        root / "short",
        "--forms",
        "2",
    )
    assert shorten_result.exit_code == 0, shorten_result.output
    return SimpleNamespace(
        place=root,
        folder=folder,
        short=root / "short",
        output=shorten_result.output,
        right=right,
        rows=rows,
    )


@pytest.fixture(scope="module")
def again(world: SimpleNamespace) -> hqm.BenchmarkAudit:
    """The audit of the short form, from the answers of the same respondents, both forms."""
    first, second = (hqm.load(folder).original for folder in (world.short, world.short / "b"))
    answers = dict(
        line.rsplit(",", 1) for line in (world.place / "answers.csv").read_text().split()[1:]
    )
    lines = [
        {"item": item.id, "respondent": name, "answer": answers[f"{question},{name}"], "form": form}
        for form, pairs in (
            ("original", [(item, item.id) for item in first.items]),
            ("b", [(item, _partners(world)[item.id]) for item in first.items]),
        )
        for item, question in pairs
        for name in NAMES
    ]
    assert set(_partners(world).values()) == second.by_id.keys()
    file = world.place / "again.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    audit_result = hqm_command(
        "audit",
        world.short,
        "--recorded",
        file,
        "--form",
        f"b={world.short}/forms/b.jsonl",
        "--forms",
        "original,b",
        "--out",
        world.place / "again",
        "--quiet",
        "--all",
    )
    assert audit_result.exit_code == 0, audit_result.output
    world.terminal = audit_result.output
    return hqm.Audit.load(world.place / "again" / "audit.json").audits[0]


def _partners(world: SimpleNamespace) -> dict[str, str]:
    rows = map(json.loads, (world.short / "provenance.jsonl").read_text().splitlines())
    return {row["id"]: row["belongs_to"] for row in rows}


def bank_of(values: np.ndarray, families: list[str], seed: int = 0) -> Bank:
    items = values.shape[1]
    return Bank(
        values,
        np.arange(items) % 4,
        np.arange(items) // 4,
        tuple(families),
        np.random.default_rng(seed).random(items),
    )


def drawn(respondents: int = 12, items: int = 200, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    logit = rng.normal(0, 1, (respondents, 1)) + rng.normal(0.5, 1, items)
    return (rng.random((respondents, items)) < 1 / (1 + np.exp(-logit))).astype(float)


FAMILIES = [f"family {i // 2}" for i in range(12)]


# --- the method ---


@pytest.mark.parametrize("forms", [1, 2])
def test_what_is_chosen_for_a_family_never_sees_its_answers(forms: int) -> None:
    values = drawn()
    methods = ("difficulty", "2pl", "anchors")
    before = nested_cross_validation(
        bank_of(values, FAMILIES), [mean_measure(values)], 30, forms, methods
    )
    for family in ("family 0", "family 3"):
        rows = [i for i, name in enumerate(FAMILIES) if name == family]
        flipped = values.copy()
        flipped[rows] = 1 - flipped[rows]
        after = nested_cross_validation(
            bank_of(flipped, FAMILIES), [mean_measure(flipped)], 30, forms, methods
        )
        assert after.methods[family] == before.methods[family]
        for old, new in zip(before.forms[family], after.forms[family], strict=True):
            assert np.array_equal(old.items, new.items)
            assert np.array_equal(old.weights, new.weights)
            assert np.array_equal(old.auxiliary, new.auxiliary)
        # its answers are seen in what is chosen for the others
        changed = [name for name in before.forms if name != family]
        assert any(
            not np.array_equal(before.forms[n][0].weights, after.forms[n][0].weights)
            or not np.array_equal(before.forms[n][0].items, after.forms[n][0].items)
            for n in changed
        )


@pytest.mark.parametrize("method", METHODS)
def test_every_method_weighs_to_the_number_of_items_of_each_stratum(method: str) -> None:
    bank = bank_of(drawn(), FAMILIES)
    forms = choose_forms(bank, 60, 2, [method])[method]
    assert len(np.unique(np.concatenate([form.items for form in forms]))) == 120
    for form in forms:
        assert np.bincount(bank.strata[form.items]).tolist() == [15] * 4
        stratum_weights = np.bincount(bank.strata[form.items], form.weights)
        assert stratum_weights == pytest.approx([50] * 4, rel=0.1)
        assert (form.weights > 0).all()


def test_the_pictures_are_used_evenly() -> None:
    bank = bank_of(drawn(), FAMILIES)
    (form,) = choose_forms(bank, 50, 1, ["difficulty"])["difficulty"]
    assert max(Counter(bank.pictures[form.items].tolist()).values()) <= 2
    assert (
        len(set(bank.pictures[form.items].tolist())) >= 42
    )  # of 50; drawn without a look at pictures, about 32


def test_weights_reproduce_the_known_respondents_better() -> None:
    values = drawn(items=2_000)
    bank = bank_of(values, FAMILIES)
    plain, fitted = (
        choose_forms(bank, 200, 1, [name])[name][0] for name in ("random", "regression")
    )
    errors = [
        np.abs((values[:, f.items] @ f.weights) / f.weights.sum() - values.mean(axis=1)).mean()
        for f in (plain, fitted)
    ]
    assert errors[1] < errors[0] / 2


def test_the_standard_error_is_that_of_a_simple_random_sample() -> None:
    # Cochran 1977, Sampling Techniques, eq. 2.20: the variance of a mean of n of N is (1 - n/N) s^2
    # / n
    rng = np.random.default_rng(1)
    x = (rng.random((1, 50)) < 0.4).astype(float)
    estimated = scaled_scores(
        {"right": x, "n": np.ones((1, 50))},
        lambda t: t["right"] / t["n"],
        np.full(50, 10.0),
        np.ones((50, 1)),
    )
    assert estimated.scores[0] == pytest.approx(x.mean())
    assert estimated.se[0] == pytest.approx(np.sqrt((1 - 50 / 500) * x.var(ddof=1) / 50), rel=1e-6)


def test_a_ratio_of_sums_has_the_linearised_error() -> None:
    # Cochran 1977, eq. 6.4: v(R) = (1 - f) / (n xbar^2) * sum (y - R x)^2 / (n - 1)
    rng = np.random.default_rng(2)
    x = rng.integers(1, 5, (1, 80)).astype(float)
    y = (rng.random((1, 80)) < 0.3) * x
    estimated = scaled_scores(
        {"y": y, "x": x}, lambda t: t["y"] / t["x"], np.full(80, 5.0), np.ones((80, 1))
    )
    ratio = y.sum() / x.sum()
    variance = (1 - 80 / 400) / (80 * x.mean() ** 2) * ((y - ratio * x) ** 2).sum() / 79
    assert estimated.se[0] == pytest.approx(np.sqrt(variance), rel=1e-6)


def test_errors_of_held_out_families_widen_the_intervals() -> None:
    calm, freedom = error_factor([0.01, -0.01, 0.01], [0.01] * 3, ["a", "b", "c"])
    wild, _ = error_factor([0.04, -0.04, 0.04], [0.01] * 3, ["a", "b", "c"])
    assert (calm, freedom) == (1.0, 11.0)
    assert wild == pytest.approx(np.sqrt((8 + 3 * 16) / 11))
    crowded, _ = error_factor([0.04] * 10 + [0.01] * 2, [0.01] * 12, ["a"] * 10 + ["b", "c"])
    assert crowded == pytest.approx(np.sqrt((8 + 16 + 1 + 1) / 11))  # a large family counts once


def test_held_out_families_choose_the_method() -> None:
    values = drawn()
    errors = compare_methods(bank_of(values, FAMILIES), mean_measure(values), 40, 1)
    short = shorten_answers(
        values, 40, families=FAMILIES, pictures=[str(i // 4) for i in range(200)]
    )
    assert set(errors.errors) == set(METHODS)
    assert all(0.005 < error < 0.2 for error in errors.errors.values())
    assert set(short.errors) == set(METHODS)
    assert short.gain_over_random == short.errors["random"] - short.errors[short.method]
    assert short.errors[short.method] < 1.5 * min(short.errors.values())


def test_a_method_that_is_clearly_worse_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    values = drawn()
    bank, measure = bank_of(values, FAMILIES), mean_measure(values)
    assert compare_methods(bank, measure, 40, 1, ["difficulty", "regression"]).best == "difficulty"

    def spoilt(*arguments: Any) -> dict[str, list[ShortForm]]:
        chosen_forms = choose_forms(*arguments)
        hard = [
            replace(form, weights=form.weights * (form.auxiliary[:, -1] < 0.6))
            for form in chosen_forms["difficulty"]
        ]
        return {**chosen_forms, "difficulty": hard}

    monkeypatch.setattr("hqm_study.shortening.choose_forms", spoilt)
    after = compare_methods(bank, measure, 40, 1, ["difficulty", "regression"])
    assert after.best == "regression"
    assert after.errors["difficulty"] > 2 * after.errors["regression"]


def test_a_simulated_study_loses_what_it_says() -> None:
    study = simulate(np.random.default_rng(11), 2_500, new=30)
    old, new = study.values[:RESPONDENTS], study.values[RESPONDENTS:]
    short = shorten_answers(
        old,
        "20%",
        families=study.families[:RESPONDENTS],
        types=study.types,
        strata=study.right,
        pictures=study.pictures,
        measures=(mean_measure(old), f1(old, study.right)),
        methods=("difficulty", "regression"),
    )
    loss, measure = short.held_out_scores.loss["mean"][0], mean_measure(new)
    got, reference_scores = (
        measure.scale_scores(short.forms[0], factor=loss.factor, df=loss.freedom),
        measure.full_scores(),
    )
    assert loss.mean_error < 0.02
    assert np.abs(got.scores - reference_scores).mean() < 0.02
    assert loss.tau > 0.8
    assert tau(got.scores, reference_scores) > 0.8
    covered = (got.low <= reference_scores) & (reference_scores <= got.high)
    assert covered.mean() >= 0.83
    assert loss.coverage >= 0.8
    assert short.held_out_scores.loss["F1"][0].mean_error < 0.03


# --- what is refused ---


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"values": drawn(8), "families": FAMILIES[:8]},
            text_of("shorten.respondents", needed=MIN_RESPONDENTS, there=8),
        ),
        (
            {"families": ["a", "b", "c", "d"] * 3},
            text_of("shorten.families", needed=MIN_FAMILIES, respondents=12, families=4),
        ),
        ({"items": 19}, text_of("shorten.items", items=19)),
        (
            {"items": 120, "forms": 2},
            text_of("shorten.two-forms", forms=2, items=120, needed=240, there=200, most=100),
        ),
        (
            {"types": ["rare"] * 10 + ["often"] * 190, "items": "15%"},
            text_of("shorten.type", kept="1.5", needed=5, least=100, share="50%"),
        ),
        (
            {
                "values": np.hstack([np.ones((12, 50)), drawn(items=150)]),
                "types": ["easy"] * 50 + ["hard"] * 150,
            },
            "score 1.000 in the type easy",
        ),
        (
            {"values": np.vstack([drawn(9), np.full((3, 200), np.nan)])},
            text_of("shorten.left-out", there=9, lost=3),
        ),
    ],
)
def test_a_design_that_is_too_small_is_refused_with_what_it_needs(
    change: dict[str, object], sentence: str
) -> None:
    arguments: dict[str, object] = {
        "values": drawn(),
        "items": "20%",
        "families": FAMILIES,
        **change,
    }
    with pytest.raises(hqm.DesignError) as error:
        shorten_answers(**arguments)  # type: ignore[arg-type]
    assert sentence in str(error.value)


@pytest.mark.parametrize("item_count", ["ten", "", "120%", "0%", 0, 240, 0.0001, -5, "nan", 10.5])
def test_what_is_no_number_of_items_is_refused(item_count: str | float) -> None:
    with pytest.raises(hqm.UsageError):
        resolve_item_count(item_count, 240)


def test_a_group_metric_is_refused_and_named(world: SimpleNamespace) -> None:
    evidence = hqm.evidence_of(
        world.folder,
        store=world.place / "out" / "store.sqlite",
        families=world.place / "families.csv",
    )
    grouped = replace(evidence.metrics[0], name="per_figure", group="figure")
    with pytest.raises(
        hqm.DesignError,
        match=pattern_of("shorten.group-metric", metric="per_figure") + ".*--metric accuracy",
    ):
        shorten_matrix(evidence.benchmark, evidence.first, evidence.families, [grouped])


def test_a_missing_store_another_benchmark_and_a_full_folder_are_refused(
    world: SimpleNamespace, tmp_path: Path
) -> None:
    audit = world.place / "out" / "audit.json"
    (tmp_path / "audit.json").write_bytes(audit.read_bytes())
    without_store = hqm_command(
        "shorten", world.folder, tmp_path / "audit.json", "--out", tmp_path / "a"
    )
    assert tells(str(without_store.exception), "shorten.no-store")
    assert "--store" in str(without_store.exception)
    other_benchmark = hqm_command("shorten", "shapes_yesno", audit, "--out", tmp_path / "b")
    assert tells(
        str(other_benchmark.exception),
        "shorten.other-benchmark",
        benchmark="shapes_yesno",
        known="signs",
    )
    existing = hqm_command("shorten", world.folder, audit, "--items", "50%", "--out", world.short)
    assert tells(str(existing.exception), "output.exists")
    too_short = hqm_command(
        "shorten", world.folder, audit, "--items", "4%", "--out", tmp_path / "c"
    )
    assert tells(str(too_short.exception), "shorten.items")
    assert not any((tmp_path / name).exists() for name in "abc")


def test_items_that_changed_since_the_audit_are_refused(
    world: SimpleNamespace, tmp_path: Path
) -> None:
    copy = tmp_path / "signs"
    copy.mkdir()
    for name in ("card.toml", "items.jsonl"):
        text = (world.folder / name).read_text()
        (copy / name).write_text(text.replace("the number 7?", "the number seven?"))
    audit = world.place / "out" / "audit.json"
    with pytest.raises(hqm.DataError, match=pattern_of("shorten.other-items", benchmark="signs@1")):
        hqm_study.shorten(copy, audit, out=tmp_path / "short")
    assert not (tmp_path / "short").exists()


# --- the folder ---


def test_the_command_says_what_was_chosen_and_lost(world: SimpleNamespace) -> None:
    for words in (
        "60 of the 240 items of signs@1",
        "12 respondents of 6 families",
        "mean error",
        "f1",
        "hqm audit",
        "reliability of the two forms",
    ):
        assert words in world.output


@pytest.mark.parametrize("form", ["", "b"])
def test_the_folder_passes_the_check(world: SimpleNamespace, form: str) -> None:
    check_result = hqm_command("check", world.short / form)
    assert check_result.exit_code == 0, check_result.output
    assert "60 items" in check_result.output
    assert "error" not in check_result.output.partition("found:")[2]
    assert "missing" not in check_result.output


def test_the_folder_says_where_it_comes_from(world: SimpleNamespace) -> None:
    short = hqm.load(world.short)
    card, calibration = short.card, read_calibration(world.short / "calibration.json")
    full_benchmark = hqm.load(world.folder)
    assert (card.shortened.of, card.shortened.items, card.name) == ("signs@1", ITEMS, "short")
    assert card.citation == "Nobody 2026"
    assert (
        calibration.audit == card.shortened.audit == hqm_digest(world.place / "out" / "audit.json")
    )
    assert calibration.signature in (world.place / "out" / "audit.json").read_text()
    assert calibration.ids == tuple(item.id for item in short.original.items)
    assert set(calibration.loss) == {"accuracy", "f1"}
    assert sorted(set(calibration.families)) == ["ash", "box", "elm", "fir", "oak", "yew"]
    for item in short.original.items:
        assert item == full_benchmark.original.by_id[item.id]
    assert all(
        (world.short / "images" / str(item.image)).is_file() for item in short.original.items
    )
    rows = [
        json.loads(line) for line in (world.short / "provenance.jsonl").read_text().splitlines()
    ]
    assert [row["id"] for row in rows] == list(calibration.ids)
    assert sum(row["weight"] for row in rows) == pytest.approx(ITEMS, rel=0.02)


def hqm_digest(path: Path) -> str:
    from hqm.signature import digest_file

    return digest_file(path)


def test_the_same_seed_gives_the_same_forms_and_another_seed_others(
    world: SimpleNamespace, tmp_path: Path
) -> None:
    audit = world.place / "out" / "audit.json"
    same_seed = hqm_study.shorten(world.folder, audit, "25%", forms=2, out=tmp_path / "short")
    assert same_seed.folder == tmp_path / "short"
    for file in ("items.jsonl", "calibration.json", "forms/b.jsonl", "b/items.jsonl", "card.toml"):
        assert (same_seed.folder / file).read_bytes() == (world.short / file).read_bytes(), file
    other_seed = hqm_study.shorten(world.folder, world.place / "out", "25%", forms=2, seed=1)
    assert other_seed.folder is None
    assert other_seed.calibrations[0].ids != same_seed.calibrations[0].ids
    assert other_seed.loss.respondents == len(NAMES)


def test_two_forms_share_no_item_and_match(world: SimpleNamespace) -> None:
    first, second = (hqm.load(folder).original.items for folder in (world.short, world.short / "b"))
    assert not {item.id for item in first} & {item.id for item in second}
    assert Counter((item.type, item.target) for item in first) == Counter(
        (item.type, item.target) for item in second
    )
    row_of = {row["id"]: i for i, row in enumerate(world.rows)}
    easy = world.right.mean(axis=0)
    a, b = (np.mean([easy[row_of[item.id]] for item in items]) for items in (first, second))
    assert abs(a - b) < 0.02  # two random halves differ by about .03
    partners = _partners(world)
    difficulty_gaps = [
        abs(easy[row_of[item_id]] - easy[row_of[partner_id]])
        for item_id, partner_id in partners.items()
    ]
    assert np.mean(difficulty_gaps) < 0.1
    form = hqm.load(world.short).original
    from hqm.forms.make_forms import read_form

    as_form = read_form(world.short / "forms" / "b.jsonl", form, "b")
    original_form = hqm.load(world.folder).original
    for item in as_form.items:
        original_item = original_form.by_id[partners[item.id]]
        assert (item.prompt, item.image, item.target, item.meta) == (
            original_item.prompt,
            original_item.image,
            original_item.target,
            original_item.meta,
        )


# --- the scale ---


def test_the_audit_of_a_short_form_shows_the_full_scale(
    world: SimpleNamespace, again: hqm.BenchmarkAudit
) -> None:
    full = again.estimate("short_form.full_scale", "accuracy")
    by = full.detail["by_respondent"]
    full_accuracy = dict(zip(NAMES, world.right.mean(axis=1), strict=True))
    errors = np.array([by[f"recorded/{name}"][0] - full_accuracy[name] for name in NAMES])
    assert np.abs(errors).mean() < 0.05
    covered = [
        by[f"recorded/{name}"][1] <= full_accuracy[name] <= by[f"recorded/{name}"][2]
        for name in NAMES
    ]
    assert np.mean(covered) >= 0.8
    assert full.value == pytest.approx(np.mean([row[0] for row in by.values()]))
    assert (full.detail["full_benchmark"], full.detail["full_items"], full.n_items) == (
        "signs@1",
        ITEMS,
        60,
    )
    calibration = read_calibration(world.short / "calibration.json")
    assert (
        again.estimate("short_form.mean_error", "accuracy").value
        == calibration.loss["accuracy"].mean_error
    )
    assert again.estimate("short_form.tau", "f1").value == calibration.loss["f1"].tau
    assert (
        again.estimate("short_form.coverage", "accuracy").value
        == calibration.loss["accuracy"].coverage
    )
    assert again.estimate("short_form.full_scale", "f1").value is not None
    reliability = again.estimate("short_form.parallel_reliability", "accuracy").value
    assert reliability == calibration.parallel["accuracy"]["reliability"]
    assert tells(
        world.terminal, "short-form.items", items=60, full=240, benchmark="signs@1", form="A"
    )
    assert f"{by['recorded/oak-7'][0]:.3f}" in world.terminal
    assert tells(world.terminal, "short-form.lost", respondents=12, families=6)


def test_the_two_forms_are_held_against_each_other_when_both_are_audited(
    again: hqm.BenchmarkAudit,
) -> None:
    pearson = again.estimate("parallel_forms.pearson", "accuracy")
    assert pearson.other == "form=b|run=0|judge=rule"
    assert pearson.value is not None
    assert pearson.value > 0.8
    reliability = again.estimate("short_form.parallel_reliability", "accuracy").value
    assert reliability is not None
    assert abs(pearson.value - reliability) < 0.15


def test_the_report_carries_scale_and_loss(
    world: SimpleNamespace, again: hqm.BenchmarkAudit
) -> None:
    pages = render(hqm.Audit((again,)))
    page = pages.report + pages.evidence
    loss = read_calibration(world.short / "calibration.json").loss["accuracy"]
    for words in (
        "60 of the 240 items of signs@1",
        text_of("short-form.lost", respondents=12, families=6),
        f"{loss.mean_error:.3f}",
        "On the full benchmark's scale",
        "What the short form loses",
    ):
        assert words in page.replace("&#39;", "'"), words
    table = full_scores(again)
    assert table is not None
    assert len(table.rows) == len(NAMES)
    full_audit = hqm.Audit.load(world.place / "out" / "audit.json").audits[0]
    assert full_scores(full_audit) is None
    assert "of the 240 items" not in render(hqm.Audit((full_audit,))).report


@pytest.mark.usefixtures("again")
def test_a_part_of_a_short_form_has_no_full_scale(world: SimpleNamespace) -> None:
    evidence = hqm.evidence_of(world.short, store=world.place / "again" / "store.sqlite", limit=30)
    full = hqm.audit(evidence).estimate("short_form.full_scale", "accuracy")
    assert full.value is None
    assert full.reason == text_of("short-form.part", all=60, asked=30)


def test_a_calibration_that_was_edited_is_refused(world: SimpleNamespace, tmp_path: Path) -> None:
    data = json.loads((world.short / "calibration.json").read_text())
    for change in (
        {"weights": data["weights"][:-1]},
        {"loss": {"accuracy": {}}},
        {"ids": None},
        {"weights": [None] * 60},
    ):
        path = tmp_path / "calibration.json"
        path.write_text(json.dumps({**data, **change}))
        with pytest.raises(hqm.DataError, match="made|fit together|calibration"):
            read_calibration(path)


def test_the_example_of_the_page_runs() -> None:
    page = (ROOT / "docs" / "shortening.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    assert names["short"].items == 120
    assert np.abs(names["score"] - names["right"].mean(axis=1)).mean() < 0.04


def test_items_without_a_positive_weight_are_refused() -> None:
    tallies = {"right": np.ones((2, 3)), "n": np.ones((2, 3))}
    for weights, auxiliary in (
        ([1.0, 0.0, 2.0], np.ones((3, 1))),
        ([1.0, 1.0, 2.0], np.ones((2, 1))),
    ):
        with pytest.raises(ValueError, match="positive weights"):
            scaled_scores(tallies, lambda t: t["right"] / t["n"], weights, auxiliary)
