"""The page on which people label, in a real browser: keys, mouse, touch, resume after a kill,
adjudication, five schemas, privacy.
"""

import importlib.util
import io
import json
import re
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hqm_label.label_schema import schema_names
from hqm_label.label_store import LabelStore
from hqm_label.study import Study
from hqm_label.study_plan import LabelPlan, PlanRow, labels_path, read_plan, write_plan
from PIL import Image

import hqm
from tests.browser import CHROMIUM, Browser
from tests.conftest import NIGHTLY, write_benchmark
from tests.label_studies import (
    Served,
    plan_of_answers,
    progress_of,
    served_apart,
    served_here,
    store_of_answers,
    wait_for,
    wait_until,
)
from tests.messages import pattern_of, tells, text_of
from tests.servers import PlannedServer, reserved_port

RESPONDENTS = ("secret-steady", "secret-noisy")
HOSTILE = (
    (
        "<script>document.title = 'owned'</script><img src=x onerror=\"document.title='owned'\">{{"
        ' 7 * 7 }} & "quoted"'
    ),
    "\u202eright to left\u202c \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627 and on",
    "bell \x07 escape \x1b[31m nul \x00 end",
    "long " * 20_480,
    "'; DROP TABLE labels; -- </div></main></body>",
    "   \n\n  ",
)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The answers of two respondents to ten questions of shapes_vqa: of one right, of the other
    every third wrong.
    """
    path = tmp_path_factory.mktemp("answers") / "store.sqlite"
    benchmark = hqm.load("shapes_vqa")
    benchmark.prepare_images(benchmark.original)
    items = benchmark.original.items[:10]
    texts = {
        item.id: str(item.target[0] if isinstance(item.target, list) else item.target)
        for item in items
    }
    wrong = {
        item: "a purple whale" if i % 3 == 0 else text
        for i, (item, text) in enumerate(texts.items())
    }
    return store_of_answers(path, benchmark, {RESPONDENTS[0]: texts, RESPONDENTS[1]: wrong})


@pytest.fixture
def port() -> Iterator[int]:
    """A port for a server that is started, killed, and started again."""
    with reserved_port() as number:
        yield number


@pytest.fixture
def calm(browser: Browser) -> Iterator[Browser]:
    """The browser, which must have logged no error on its page: none of a script, none of the
    page's own policy.
    """
    browser.errors.clear()
    yield browser
    # a browser may ask for the icon when the page's server has already been closed
    assert [error for error in browser.errors if "ERR_CONNECTION_REFUSED" not in error] == []


def labels_in(plan: Path, rater: str) -> list[Any]:
    with LabelStore(labels_path(plan), readonly=True) as store:
        return store.labels(rater)


# --- the whole way ---


@needs_browser
def test_a_study_from_the_first_key_to_the_last_disagreement(
    answers: Path, calm: Browser, tmp_path: Path, port: int
) -> None:
    plan, log = tmp_path / "plan.jsonl", tmp_path / "log.txt"
    rows = plan_of_answers(plan, answers, "shapes_vqa", gold={0: 1.0, 5: 0.0}).rows
    assert len(rows) == 20
    visited_pages: list[str] = []

    def look() -> None:
        visited_pages.append(
            calm.evaluate("location.href + document.documentElement.outerHTML + document.cookie")
        )

    with served_apart(plan, log, port) as served:
        link = served.raters["anna"]
        calm.open(link)
        look()
        calm.press("Enter")
        wait_for(calm, 0)
        for i in range(8):
            look()
            calm.press("10?"[i % 3])
            wait_for(calm, i + 1)
        assert len(labels_in(plan, "anna")) == 8
        assert served.process is not None
        served.process.send_signal(signal.SIGKILL)
        served.process.wait(60)
        calm.press("1")
        calm.wait("!document.getElementById('alert').hidden")
        assert "cannot be reached" in calm.evaluate("document.getElementById('alert').textContent")
        assert [e for e in calm.errors if "ERR_CONNECTION_REFUSED" not in e] == []
        calm.errors.clear()
    assert len(labels_in(plan, "anna")) == 8, "nothing is lost that was stored"
    with served_apart(plan, log, port) as served:
        assert served.raters["anna"] == link, "links stay the same"
        calm.press("1")  # on the page that was open when the server was killed
        wait_for(calm, 9)
        calm.open(link)
        assert progress_of(calm) == (9, 20)
        assert "left" in calm.evaluate("document.querySelector('[role=status]').textContent")
        before = calm.evaluate("document.querySelector('[name=uid]').value")
        calm.press("n")
        for letter in "u1z":
            calm.press(letter)  # typed into the note, and no command
        calm.press("Escape")
        calm.press("0")
        wait_for(calm, 10)
        calm.press("u")
        wait_for(calm, 9)
        assert calm.evaluate("document.querySelector('[name=uid]').value") == before, (
            "the answer is shown again"
        )
        calm.press("z")
        assert calm.evaluate("document.getElementById('zoom').open")
        calm.press("z")
        assert not calm.evaluate("document.getElementById('zoom').open")
        for i in range(9, 20):
            look()
            calm.press("1")
            wait_for(calm, i + 1)
        look()
        assert "All done" in calm.evaluate("document.body.textContent")
        anna = {label.uid: label for label in labels_in(plan, "anna")}
        assert len(anna) == 20
        with closing(sqlite3.connect(labels_path(plan))) as db:
            stored = db.execute("SELECT field, value, undone FROM labels").fetchall()
        notes = [value for field, value, undone in stored if field == "note" and undone is None]
        assert notes == ['"u1z"']
        assert all(
            label.milliseconds is not None and label.milliseconds >= 0 for label in anna.values()
        )

        # the second rater, by mouse on a telephone's width
        calm.open(served.raters["ben"], 400, 780)
        calm.click("#page button")
        wait_for(calm, 0)
        order = []
        for i in range(20):
            order.append(calm.evaluate("document.querySelector('[name=uid]').value"))
            assert calm.evaluate("document.documentElement.scrollWidth") <= 400
            look()
            calm.click(".choices button[value='0']" if i < 4 else ".choices button[value='1']")
            wait_for(calm, i + 1)
        assert order != list(anna), "each rater has an order of their own"
        images = {item.id: item.image for item in hqm.load("shapes_vqa").original.items}
        images_in_order = [
            images[next(row.item for row in rows if row.uid == uid)] for uid in order
        ]
        assert all(a != b for a, b in pairwise(images_in_order)), (
            "no two answers about one picture in a row"
        )

        # the owner
        calm.open(served.owner)
        look()
        text = calm.evaluate("document.querySelector('main').textContent")
        assert "20 of 20" in text
        assert "Krippendorff" in text
        assert "Width reached" in text
        ben = {label.uid: label.label for label in labels_in(plan, "ben")}
        differing = [uid for uid in ben if ben[uid] != anna[uid].label]
        assert differing
        calm.click("a[href$='/decide']")
        # its scripts run after its words are there: a key pressed between the two says nothing
        calm.wait("document.readyState === 'complete' && document.querySelector('.said') !== null")
        for i in range(len(differing)):
            look()
            calm.press("0")
            wait_for(calm, i + 1)
        assert "No disagreement is left" in calm.evaluate("document.body.textContent")
        calm.press("u")
        wait_for(calm, len(differing) - 1)
        calm.press("1")
        wait_for(calm, len(differing))
        urls = calm.evaluate("performance.getEntriesByType('resource').map((entry) => entry.name)")
        assert urls
        assert all(url.startswith(f"http://127.0.0.1:{port}/") for url in urls)
        pages = [*served.raters.values(), served.owner, f"{link}/picture/{rows[0].uid}"]
        headers = [str(served.ask(page)[1]) for page in pages]
        assert served.process is not None
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(60) == 0, "Ctrl-C is no error"
    with LabelStore(labels_path(plan), readonly=True) as store:
        settled = [label for label in store.labels() if label.by == "adjudication"]
        assert {label.uid for label in settled} == set(differing)
        assert len([label for label in store.labels() if label.by == "rater"]) == 40, (
            "raw labels stay"
        )
    logged = log.read_text()
    assert tells(logged, "label.stopped")
    for word in (*RESPONDENTS, "secret", "respondent", "gold", "probability"):
        for page in (*visited_pages, *headers, *urls):
            assert word not in page.lower().replace("this page shows no respondent", ""), word
        assert word not in logged, word


# --- privacy and safety ---


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan over a benchmark whose answers are hostile, with pictures that lie about their
    names.
    """
    from PIL import Image

    folder = tmp_path_factory.mktemp("hostile")
    items = [
        {
            "id": f"q{i}",
            "prompt": "<b>What</b> is it?",
            "target": "dog",
            "image": f"by-secret-{i}.png",
        }
        for i in range(6)
    ]
    benchmark = write_benchmark(folder / "mine", items, task="vqa")
    for i in range(6):
        Image.new("RGB", (40, 30), (i * 40, 90, 120)).save(benchmark / f"by-secret-{i}.png")
    (benchmark / "card.toml").write_text(
        (benchmark / "card.toml").read_text().replace("[data]\n", '[data]\nimages = "."\n')
    )
    loaded = hqm.load(benchmark)
    store = store_of_answers(
        folder / "store.sqlite",
        loaded,
        {"secret-model": {f"q{i}": text for i, text in enumerate(HOSTILE)}},
    )
    plan_of_answers(folder / "plan.jsonl", store, str(benchmark), raters=("anna", "ben"))
    return folder / "plan.jsonl"


@needs_browser
@pytest.mark.parametrize("schema", ["binary", "spans", "facts"])
def test_a_hostile_answer_is_shown_as_text(
    hostile: Path, calm: Browser, tmp_path: Path, schema: str
) -> None:
    plan = tmp_path / "plan.jsonl"
    write_plan(replace(read_plan(hostile), schema=schema), plan)
    with served_here(plan) as served:
        calm.open(f"{served.raters['anna']}/begin")
        shown_answers = set()
        for i in range(6):
            wait_for(calm, i)
            shown_answers.add(calm.evaluate("document.querySelector('.answer').textContent"))
            assert calm.evaluate("document.title") != "owned"
            assert (
                calm.evaluate(
                    "document.querySelectorAll('.text script, .text img, .text b').length"
                )
                == 0
            )
            assert (
                calm.evaluate("document.querySelector('.asked').textContent")
                == "<b>What</b> is it?"
            )
            assert calm.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert (
                calm.evaluate("getComputedStyle(document.querySelector('.answer')).unicodeBidi")
                == "isolate"
            )
            calm.press("?" if schema != "facts" else "s")
        wait_for(calm, 6)
    # what no store can hold was replaced when the answer was stored; control characters are shown
    # as signs
    expected = {
        text.replace("\x07", "\u2407").replace("\x1b", "\u241b").replace("\x00", "\ufffd")
        for text in HOSTILE
    }
    assert shown_answers == expected


def test_every_reply_is_guarded_and_names_nobody(hostile: Path) -> None:
    with served_here(hostile) as served:
        anna = served.raters["anna"]
        uid = json.loads(hostile.read_text().splitlines()[1])["uid"]
        for url in (
            anna,
            f"{anna}/begin",
            f"{anna}/picture/{uid}",
            served.owner,
            "/static/label.js",
            "/r/wrong",
        ):
            status, headers, text = served.ask(url)
            assert status == (404 if "wrong" in url else 200)
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert headers["referrer-policy"] == "no-referrer"
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["x-frame-options"] == "DENY"
            assert (
                not {"set-cookie", "server", "etag", "last-modified", "content-disposition"}
                & headers.keys()
            )
            assert "secret" not in text + str(headers)
            assert "style=" not in text
            assert "<script>" not in text.replace("&lt;script&gt;", "")
        assert "secret" not in served.ask(f"{anna}/picture/{uid}")[2]


def test_a_wrong_token_or_uid_is_not_there(hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import secrets

    compared: list[tuple[bytes, bytes]] = []
    compare = secrets.compare_digest
    monkeypatch.setattr(
        secrets, "compare_digest", lambda a, b: (compared.append((a, b)), compare(a, b))[1]
    )
    with served_here(hostile) as served:
        anna, ben = served.raters["anna"], served.raters["ben"]
        for url in (
            anna[:-1] + ("A" if anna[-1] == "_" else "_"),
            f"{anna}x",
            "/r/",
            "/owner/",
            f"/owner/{anna.rpartition('/')[2]}",
            f"/r/{served.owner.rpartition('/')[2]}",
            f"{anna}/picture/nothing",
            f"{anna}/picture/..%2f..%2fstore.sqlite",
            f"{anna}/picture/by-secret-0.png",
            "/static/../page.py",
            "/static/%2e%2e%2fpage.py",
            "/static/page.py",
            f"{served.owner}x/decide",
        ):
            status, _, text = served.ask(url)
            assert (status, text) == (404, text_of("page.nothing-here")), url
        before = len(compared)
        served.ask(anna)
        first = len(compared) - before
        served.ask(ben)
        assert len(compared) - before == 2 * first == 4, "every token is compared, whoever asks"


def test_nothing_is_stored_that_no_page_of_ours_sent(hostile: Path, tmp_path: Path) -> None:
    with served_here(hostile) as served:
        anna = served.raters["anna"]
        uid = json.loads(hostile.read_text().splitlines()[1])["uid"]
        reply = {"uid": uid, "choice": "1", "milliseconds": "1200"}
        path = labels_path(hostile)
        with LabelStore(path) as store, closing(sqlite3.connect(path)) as db:
            rows = "SELECT * FROM labels ORDER BY id"
            before = db.execute(rows).fetchall()
            refused = [
                ({"HX-Request": ""}, 403),
                ({"Origin": "https://elsewhere.example"}, 403),
                ({"Origin": "null"}, 403),
                ({"Sec-Fetch-Site": "cross-site"}, 403),
                ({"Host": "elsewhere.example"}, 421),
            ]
            for headers, expected in refused:
                assert served.ask(f"{anna}/label", reply, headers)[0] == expected, headers
            assert served.ask(f"{anna}/label", method="OPTIONS")[0] in (404, 405)
            assert served.ask(f"{anna}/label")[0] in (404, 405), "a link changes nothing"
            for wrong in (
                {**reply, "uid": "other"},
                {**reply, "choice": "7"},
                {**reply, "note": "x" * 30_000},
            ):
                status, _, text = served.ask(f"{anna}/label", wrong)
                assert status == 422
                assert text
            assert served.ask(f"{anna}/label", {**reply, "note": "x" * 5_000_000})[0] == 413
            assert db.execute(rows).fetchall() == before
            assert (
                served.ask(
                    f"{anna}/label", {**reply, "note": "<i>\0note"}, {"Origin": served.address}
                )[0]
                == 200
            )
            (label,) = store.labels("anna")
            assert (label.uid, label.label, label.milliseconds, label.note) == (
                uid,
                1,
                1200,
                "<i>\ufffdnote",
            )
            store.take_back(uid, "anna")


def test_a_missing_picture_is_said(answers: Path, tmp_path: Path) -> None:
    plan_of_answers(tmp_path / "plan.jsonl", answers, "shapes_vqa", max_rows=3)
    plan = tmp_path / "plan.jsonl"
    write_plan(replace(read_plan(plan), images=str(tmp_path)), plan)
    with served_here(tmp_path / "plan.jsonl") as served:
        assert tells(served.ask(f"{served.raters['anna']}/begin")[2], "label.no-picture")


@pytest.mark.parametrize(
    "content", [b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"\x89PNG\r\n\x1a\n1"]
)
def test_a_picture_that_no_browser_can_show_is_said_to_be_missing(
    content: bytes, answers: Path, tmp_path: Path
) -> None:
    plan_of_answers(tmp_path / "plan.jsonl", answers, "shapes_vqa", max_rows=3)
    plan = tmp_path / "plan.jsonl"
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for item in hqm.load("shapes_vqa").original.items[:10]:
        (pictures / str(item.image)).write_bytes(content)
    write_plan(replace(read_plan(plan), images=str(pictures)), plan)
    with served_here(plan) as served:
        status, _, text = served.ask(f"{served.raters['anna']}/begin")
        assert status == 200
        assert tells(text, "label.no-picture")
        uid = read_plan(plan).rows[0].uid
        assert served.ask(f"{served.raters['anna']}/picture/{uid}")[0] == 404


def test_a_photograph_on_the_web_stands_beside_the_item_under_review(tmp_path: Path) -> None:
    """As `hqm build halcaption --from HAL_EVAL` writes them, with COCO's addresses."""
    picture = io.BytesIO()
    Image.new("RGB", (32, 24), "teal").save(picture, "PNG")
    reply = 200, {"Content-Type": "image/png"}, picture.getvalue()
    with PlannedServer(lambda *_: reply) as site:
        items = [
            {"id": str(i), "prompt": f"Is it {i}?", "target": "yes", "image": f"{site.url}/{i}.png"}
            for i in range(3)
        ]
        folder = write_benchmark(
            tmp_path / "mine", items, data={"items": "items.jsonl", "images": "images"}
        )
        rows = tuple(PlanRow(uid=f"u{i}", item=str(i), raters=("anna",)) for i in range(3))
        plan = tmp_path / "plan.jsonl"
        write_plan(
            LabelPlan(benchmark=str(folder), schema="review", raters=("anna",), rows=rows), plan
        )
        with served_here(plan) as served:
            assert tells(served.ask(f"{served.raters['anna']}/begin")[2], "label.no-picture")
            study = Study(plan, readonly=True)
            study.fetch_pictures(private=True)
            study.close()
            assert (
                f"{served.raters['anna'].rpartition('/r/')[2]}/picture/u"
                in (served.ask(f"{served.raters['anna']}/begin")[2])
            )
            status, headers, _ = served.ask(f"{served.raters['anna']}/picture/u1")
            assert (status, headers["content-type"]) == (200, "image/png")


@needs_browser
def test_a_second_window_is_told_before_it_overwrites_and_any_label_is_taken_back(
    answers: Path, calm: Browser, tmp_path: Path
) -> None:
    """Two windows of one rater show one answer: the later one stores nothing before it is told."""
    plan = tmp_path / "study" / "plan.jsonl"
    plan.parent.mkdir()
    plan_of_answers(plan, answers, "shapes_vqa", max_rows=6)
    with served_here(plan) as served:
        link = served.raters["anna"]
        uid = re.search(r'name="uid" value="(\w+)"', served.ask(f"{link}/begin")[2])
        assert uid is not None
        calm.open(link)
        calm.press("Enter")
        wait_for(calm, 0)
        # the other window, which showed the same answer
        assert served.ask(f"{link}/label", {"uid": uid[1], "choice": "1", "before": ""})[0] == 200
        calm.press("0")
        wait_until(calm, "document.querySelector('form [role=alert]') !== null")
        assert "faithful" in calm.evaluate(
            "document.querySelector('form [role=alert]').textContent.toLowerCase()"
        )
        assert [label.label for label in labels_in(plan, "anna")] == [1], "nothing is overwritten"
        calm.press("0")  # now that it is known
        calm.wait("document.querySelector('form [role=alert]') === null")
        wait_for(calm, 1)
        assert [label.label for label in labels_in(plan, "anna")] == [0]
        # the same label sent twice, as after a lost reply, asks nothing
        page = served.ask(f"{link}/label", {"uid": uid[1], "choice": "0", "before": ""})[2]
        assert f'value="{uid[1]}"' not in page
        for n in range(2, 5):
            calm.press("1")
            wait_for(calm, n)
        calm.click("[hx-get$='/labels']")
        wait_until(calm, "document.querySelectorAll('.own li').length === 4")
        calm.click(".own li:last-child button")
        calm.wait("document.querySelector('form#reply') !== null")
        assert calm.evaluate("document.querySelector('[name=uid]').value") == uid[1]
        assert len(labels_in(plan, "anna")) == 3
        assert uid[1] not in {label.uid for label in labels_in(plan, "anna")}


def test_an_answer_that_changed_is_refused(answers: Path, tmp_path: Path) -> None:
    plan_of_answers(tmp_path / "plan.jsonl", answers, "shapes_vqa", max_rows=3)
    text = (tmp_path / "plan.jsonl").read_text()
    digest = json.loads(text.splitlines()[1])["answer_digest"]
    (tmp_path / "plan.jsonl").write_text(text.replace(digest, "b2:" + "0" * 24))
    with pytest.raises(hqm.DataError, match=pattern_of("page.other-answer")):
        Study(tmp_path / "plan.jsonl").order("anna")


# --- schemas ---


@pytest.fixture(scope="module")
def studies(answers: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A plan for every schema."""
    folder, plans = tmp_path_factory.mktemp("schemas"), {}
    for name in schema_names():
        plans[name] = folder / f"{name}.jsonl"
        if not name.startswith("review"):
            plan_of_answers(plans[name], answers, "shapes_vqa", schema=name, max_rows=6)
            continue
        benchmark = hqm.load("shapes_choice" if name == "review" else "shapes_vqa")
        form, file = benchmark.original, ""
        if name == "review_form":
            file = str(folder / "parallel.jsonl")
            reworded = [
                replace(item, prompt=f"Please say: {item.prompt}") for item in form.items[:6]
            ]
            form = hqm.Form("parallel", tuple(reworded))
            Path(file).write_text("".join(f"{json.dumps(item.to_dict())}\n" for item in form.items))
        rows = tuple(
            PlanRow(uid=f"i{i}", item=item.id, form=form.name, raters=("anna", "ben"))
            for i, item in enumerate(form.items[:6])
        )
        plan = LabelPlan(
            benchmark=benchmark.name, schema=name, raters=("anna", "ben"), rows=rows, form_file=file
        )
        write_plan(plan, plans[name])
    return plans


@needs_browser
def test_words_are_marked_by_key_mouse_and_touch(
    hostile: Path, calm: Browser, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.jsonl"
    write_plan(replace(read_plan(hostile), schema="spans"), plan)
    with served_here(plan) as served:
        calm.open(f"{served.raters['anna']}/begin")
        for i in range(6):
            wait_for(calm, i)
            words = calm.evaluate(
                "[...document.querySelectorAll('#words span')].map((w) => w.textContent)"
            )
            if words[:2] == ["bell", "\u2407"]:
                break
            calm.press("1")
        for key, shift in (("ArrowRight", False), ("ArrowRight", False), ("ArrowRight", True)):
            calm.press(key, shift=shift)
        calm.press("a")  # the second and third word are an attribute
        calm.drag("#words span:nth-of-type(5)", "#words span:nth-of-type(6)")
        calm.click("[data-type=relation]")
        calm.tap("#words span:nth-of-type(4)")
        calm.tap("#words span:nth-of-type(4)")
        calm.tap("[data-type=object]")
        calm.click("[data-type=object]")
        assert calm.evaluate("document.querySelectorAll('#marks li').length") == 3
        calm.click("[data-type=event]")  # nothing is selected any more
        assert "Save 3 marks" in calm.evaluate("document.querySelector('[value=save]').textContent")
        n_before = progress_of(calm)[0]
        calm.press("1")
        wait_for(calm, n_before + 1)
        label = labels_in(plan, "anna")[-1]
        answer = HOSTILE[2].replace("\0", "\ufffd")
        marked = [
            (answer[span["start"] : span["end"]], span["type"]) for span in label.values["spans"]
        ]
        assert marked == [
            ("\x07 escape", "attribute"),
            ("\x1b[31m", "object"),
            ("nul \ufffd", "relation"),
        ]
        assert label.label == 0
        assert all(earlier.label == 1 for earlier in labels_in(plan, "anna")[:-1]), (
            "nothing was marked in the others"
        )


@needs_browser
def test_facts_are_added_corrected_removed_and_graded(
    studies: dict[str, Path], answers: Path, calm: Browser, tmp_path: Path
) -> None:
    plan = json.loads(studies["facts"].read_text().splitlines()[1])
    facts = tmp_path / "facts.jsonl"
    sentences = [
        {"text": "It is red.", "facts": ["The ball is red.", "There is a bal", "Nonsense"]},
        {"text": "Thanks!"},
    ]
    facts.write_text(
        json.dumps({"item": plan["item"], "respondent": plan["respondent"], "sentences": sentences})
    )
    with served_here(studies["facts"], facts=facts) as served:
        calm.open(f"{served.raters['anna']}/begin")
        for i in range(6):
            wait_for(calm, i)
            if calm.evaluate("document.querySelector('[name=uid]').value") == plan["uid"]:
                break
            calm.press("s")
        assert (
            calm.evaluate("[...document.querySelectorAll('.fact input')].map((f) => f.value)")
            == sentences[0]["facts"]
        )
        calm.press("s")
        calm.wait("!document.getElementById('alert').hidden")
        assert tells(
            calm.evaluate("document.getElementById('alert').textContent"),
            "label.open-facts",
            open=3,
        )
        calm.errors.clear()  # the browser logs a reply 422 as an error
        calm.press("1")
        calm.evaluate(
            "(f => { f.value = 'There is a ball.'; f.dispatchEvent(new Event('input', {bubbles:"
            " true})); })(document.querySelectorAll('.fact input')[1])"
        )
        calm.press("0")
        calm.press("x")  # the third
        calm.click(".part:first-child .add")
        for letter in "It is big":
            calm.press(letter)
        calm.press("Enter")
        calm.press("?")
        calm.click(".part:last-of-type input[type=checkbox]")
        assert "grade 3" in calm.evaluate("document.getElementById('grade').textContent")
        n_before = progress_of(calm)[0]
        calm.press("s")
        wait_for(calm, n_before + 1)
    label = labels_in(studies["facts"], "anna")[-1]
    assert label.label == 3, "one of two that could be decided is wrong"
    assert label.values["sentences"] == [
        {
            "text": "It is red.",
            "descriptive": True,
            "facts": [
                {"text": "The ball is red.", "holds": 1},
                {"text": "There is a ball.", "holds": 0},
                {"text": "It is big", "holds": None, "undecided": True},
            ],
        },
        {"text": "Thanks!", "descriptive": False, "facts": []},
    ]


@needs_browser
def test_an_item_is_reviewed_with_its_corrected_key_and_text(
    studies: dict[str, Path], calm: Browser
) -> None:
    with served_here(studies["review"]) as served:
        calm.open(f"{served.raters['anna']}/begin", 400, 780)
        wait_for(calm, 0)
        calm.press("w")
        calm.press("Escape")
        calm.evaluate("document.querySelector('.asks:not([hidden]) select').selectedIndex = 1")
        wrong = calm.evaluate("document.querySelector('.asks:not([hidden]) select').value")
        calm.click(".asks:not([hidden]) button")
        wait_for(calm, 1)
        calm.click("[data-key=f]")
        calm.evaluate("document.querySelector('.asks:not([hidden]) textarea').value = ''")
        for letter in "What? k":
            calm.press(letter)
        calm.click(".asks:not([hidden]) button")
        wait_for(calm, 2)
        calm.press("k")
        wait_for(calm, 3)
    corrections = [dict(label.values) for label in labels_in(studies["review"], "anna")]
    assert corrections == [
        {"label": "wrong key", "target": wrong},
        {"label": "fix text", "prompt": "What? k"},
        {"label": "keep"},
    ]


@needs_browser
@pytest.mark.parametrize("width", [400, 1280])
def test_no_page_breaks_a_rule_of_accessibility(
    studies: dict[str, Path], calm: Browser, width: int, tmp_path: Path
) -> None:
    package = importlib.util.find_spec("axe_core_python")
    if package is None or package.origin is None:
        pytest.skip("axe-core-python is not installed")
    axe = Path(package.origin).with_name("axe.min.js").read_text(encoding="utf-8")
    with LabelStore(labels_path(studies["binary"])) as store:
        uid = json.loads(studies["binary"].read_text().splitlines()[1])["uid"]
        for rater, value in (("anna", 1), ("ben", 0)):
            store.add(uid, rater, {"label": value, "note": "hard"}, 900)

    def violations() -> list[Any]:
        calm.evaluate(f"{axe};0")
        result = calm.evaluate(
            "axe.run(document).then((r) => [r.violations.map((v) => [v.id, v.nodes[0].html]),"
            " r.passes.length])"
        )
        assert result[1] > 10, "the rules were tried"
        return list(result[0])

    for name, plan in studies.items():
        if width > 400 and name != "binary" and not NIGHTLY:
            continue  # one style sheet lays out all kinds: wide pages are those of one kind
        with served_here(plan) as served:
            link = served.raters["anna"]
            pages = [
                f"{link}/begin",
                *([link, served.owner, f"{served.owner}/decide"] if name == "binary" else []),
            ]
            pages += [served.raters["ben"]] if name == "likert" else []
            for url in pages:
                calm.open(url, width, 800, dark=name in ("binary", "spans"))
                assert violations() == [], (name, url)
                assert calm.evaluate("document.documentElement.scrollWidth") <= width


@needs_browser
def test_keys_can_be_turned_off_and_a_choice_is_touched(
    studies: dict[str, Path], calm: Browser
) -> None:
    with served_here(studies["likert"]) as served:
        calm.open(f"{served.raters['ben']}/begin")
        wait_for(calm, 0)
        calm.click("#keys")
        calm.press("4")
        time.sleep(0.3)
        assert progress_of(calm)[0] == 0
        calm.tap(".choices [value='2']")
        wait_for(calm, 1)
        assert calm.evaluate("document.activeElement.id") == "page", (
            "a screen reader begins with the next answer"
        )
    assert [label.label for label in labels_in(studies["likert"], "ben")] == [2]


def test_the_owners_page_shows_gold_and_the_raters_do_not(answers: Path, tmp_path: Path) -> None:
    plan_of_answers(
        tmp_path / "plan.jsonl", answers, "shapes_vqa", gold={0: 1.0, 1: 0.0}, max_rows=4
    )
    rows = [json.loads(line) for line in (tmp_path / "plan.jsonl").read_text().splitlines()[1:]]
    with served_here(tmp_path / "plan.jsonl") as served:
        for row in rows:
            assert (
                served.ask(f"{served.raters['anna']}/label", {"uid": row["uid"], "choice": "1"})[0]
                == 200
            )
        assert "1 of 2" in served.ask(served.owner)[2]
        assert "gold" not in served.ask(served.raters["anna"])[2].lower()


def test_labels_of_two_servers_and_a_reader_are_one_file(answers: Path, tmp_path: Path) -> None:
    plan_of_answers(tmp_path / "plan.jsonl", answers, "shapes_vqa", max_rows=4)
    rows = [
        json.loads(line)["uid"] for line in (tmp_path / "plan.jsonl").read_text().splitlines()[1:]
    ]
    with (
        served_here(tmp_path / "plan.jsonl") as first,
        served_here(tmp_path / "plan.jsonl") as second,
    ):
        for server, rater, uid in (
            (first, "anna", rows[0]),
            (second, "ben", rows[0]),
            (second, "anna", rows[1]),
        ):
            assert (
                server.ask(f"{server.raters[rater]}/label", {"uid": uid, "choice": "0"})[0] == 200
            )
        assert ">2</strong> of 4" in first.ask(first.raters["anna"])[2]
    db = sqlite3.connect(labels_path(tmp_path / "plan.jsonl"))
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    db.close()


def ask_elsewhere(served: Served) -> int:
    return served.ask(served.owner, headers={"Host": "study.example.org"})[0]


def test_another_name_for_this_machine_is_refused(hostile: Path) -> None:
    with served_here(hostile) as served:
        assert ask_elsewhere(served) == 421
        assert served.ask(served.owner)[0] == 200
