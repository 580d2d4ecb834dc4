"""The label page: what it shows, what it hides, what it rejects, and how it looks to a real browser."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from draftcritic.labels import LabelSession, page, pieces, read_labels, serve
from draftcritic.replay import Replayed, Run
from draftcritic.turns import Finding, Message, ToolCall, TurnRow

pytest.importorskip("starlette")
pytest.importorskip("jinja2")
httpx = pytest.importorskip("httpx")

TOKEN, PORT = "secret", 4711
URL = f"http://127.0.0.1:{PORT}"
HOSTILE = (
    """<script>document.title='owned'</script><img src=x onerror="document.title='owned'"></pre><h1 id=owned>Hi</h1>"""
)


def run(number: int, draft: str = "It costs 5 EUR.") -> Run:
    call = ToolCall("price", {"q": HOSTILE}, "c1")
    messages = (
        Message("user", f"How much? {HOSTILE}"),
        Message("assistant", tool_calls=(call,)),
        Message("tool", HOSTILE, tool_call_id="c1", name="price", status="error"),
    )
    replayed = Replayed(
        decision="fired", reason="claims", verdict="refuse", text="No.", findings=(Finding("price", "5 EUR", 0.9),)
    )
    return Run(TurnRow(f"t{number}", draft, messages=messages, system=HOSTILE, sources=(HOSTILE,)), replayed)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    runs = tmp_path / "runs.jsonl"
    rows = [run(number, f"{HOSTILE} It costs 5 EUR. ({number})") for number in range(4)]
    runs.write_text("".join(row.as_json() + "\n" for row in rows), encoding="utf-8")
    return runs, tmp_path / "labels.jsonl"


@pytest.fixture
def session(files: tuple[Path, Path]) -> Iterator[LabelSession]:
    made = LabelSession(*files, who="ann", count=4)
    yield made
    made.close()


@pytest.fixture
async def client(session: LabelSession) -> Any:
    transport = httpx.ASGITransport(app=page(session, TOKEN, PORT))
    async with httpx.AsyncClient(transport=transport, base_url=URL) as made:
        yield made


def turn_of(html: str) -> str:
    found = re.search(r'name="turn_id" value="(.*?)"', html)
    assert found is not None
    return found[1]


async def test_the_verdict_is_hidden_until_the_label_is_given(client: Any, files: tuple[Path, Path]) -> None:
    first = await client.get(f"/{TOKEN}/")
    assert first.status_code == 200
    assert "the critic:" not in first.text
    assert "fired" not in first.text
    answer = await client.post(f"/{TOKEN}/", data={"turn_id": turn_of(first.text), "label": "approve"})
    assert answer.status_code == 303
    second = await client.get(f"/{TOKEN}/")
    assert "You said <b>approve</b>; the critic: verdict refuse, gate fired (claims); instead: No." in second.text
    assert turn_of(second.text) != turn_of(first.text)
    assert [label.label for label in read_labels([files[1]]).labels.values()] == ["approve"]


async def test_drafts_cannot_bring_anything_along(client: Any) -> None:
    answer = await client.get(f"/{TOKEN}/")
    assert "<img" not in answer.text
    assert "<h1" not in answer.text
    assert len(re.findall("<script", answer.text)) == 1
    assert "<mark>5 EUR <small>price?</small></mark>" in answer.text
    policy = answer.headers["content-security-policy"]
    nonce = re.search(r"script-src 'nonce-(.*?)'", policy)
    assert nonce is not None
    assert answer.text.count(nonce[1]) == 2
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert answer.headers["cache-control"] == "no-store"
    assert (await client.get(f"/{TOKEN}/")).headers["content-security-policy"] != policy


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/secret/", {"host": "evil.example:4711"}, 421),
        ("/secret/", {"host": "127.0.0.1:80"}, 421),
        ("/guess/", {}, 404),
        ("/", {}, 404),
        ("/secret/", {"origin": "http://evil.example"}, 403),
        ("/secret/", {"origin": "null"}, 403),
    ],
)
async def test_other_hosts_tokens_and_origins_are_rejected(
    client: Any, session: LabelSession, path: str, headers: dict[str, str], status: int
) -> None:
    form = {"turn_id": session.current.turn.turn_id if session.current else "", "label": "approve"}
    assert (await client.post(path, data=form, headers=headers)).status_code == status
    assert session.done == 0


async def test_a_double_click_labels_one_draft_and_an_unknown_word_none(client: Any, session: LabelSession) -> None:
    form = {"turn_id": turn_of((await client.get(f"/{TOKEN}/")).text), "label": "refuse"}
    for _ in range(2):
        assert (await client.post(f"/{TOKEN}/", data=form)).status_code == 303
    assert session.done == 1
    assert (await client.post(f"/{TOKEN}/", data={**form, "label": "meh"})).status_code == 400
    assert (await client.post(f"/{TOKEN}/", content=b"x" * 20_000)).status_code == 413


async def test_undo_takes_the_last_label_back_and_the_end_is_said(client: Any, session: LabelSession) -> None:
    first = turn_of((await client.get(f"/{TOKEN}/")).text)
    await client.post(f"/{TOKEN}/", data={"turn_id": first, "label": "refuse"})
    await client.post(f"/{TOKEN}/", data={"label": "undo"})
    assert (session.done, turn_of((await client.get(f"/{TOKEN}/")).text)) == (0, first)
    while session.current is not None:
        session.give(session.current.turn.turn_id, "approve")
    assert "All drafts are labelled" in (await client.get(f"/{TOKEN}/")).text


def test_a_session_goes_on_where_it_was_left(files: tuple[Path, Path]) -> None:
    first = LabelSession(*files, who="ann", count=4)
    assert first.current is not None
    done = first.current.turn.turn_id
    first.give(done, "approve")
    first.close()
    second = LabelSession(*files, who="ann", count=4)
    assert (second.done, second.total) == (1, 4)
    assert second.current is not None
    assert second.current.turn.turn_id != done
    second.close()


def test_findings_are_marked_wherever_they_occur() -> None:
    marked = pieces(run(1, "5 EUR, not 6 EUR, but 5 EUR"))
    assert [(piece.text, piece.kind) for piece in marked] == [
        ("5 EUR", "price"),
        (", not 6 EUR, but ", ""),
        ("5 EUR", "price"),
    ]


async def test_the_terminal_shows_the_same_and_takes_keys(files: tuple[Path, Path]) -> None:
    pytest.importorskip("textual")
    from draftcritic.labels import terminal

    session = LabelSession(*files, who="ann", count=4)
    app = terminal(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("a", "x")
        await pilot.press("z")
        await pilot.press("u")
    session.close()
    assert sorted(label.label for label in read_labels([files[1]]).labels.values()) == ["approve", "unsure"]


def test_the_address_is_open_when_it_is_shown(session: LabelSession) -> None:
    class ShownError(Exception):
        pass

    def visit(url: str) -> None:
        found = re.search(r":(\d+)/", url)
        assert found is not None
        socket.create_connection(("127.0.0.1", int(found[1])), timeout=5).close()
        raise ShownError

    with pytest.raises(ShownError):
        serve(session, 0, visit)


@contextmanager
def served(files: tuple[Path, Path]) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The command in a process of its own."""
    code = "import sys; from draftcritic.cli import main; sys.exit(main())"
    options = ["label", str(files[0]), "--labels", str(files[1]), "--who", "ann", "--n", "4"]
    environ = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", code, *options], stdout=subprocess.PIPE, text=True, env=environ
    ) as child:
        try:
            assert child.stdout is not None
            found = next(match for line in child.stdout if (match := re.search(r"open (http://\S+)", line)))
            yield found[1], child
        finally:
            child.kill()


@pytest.mark.e2e
def test_by_keyboard_in_chromium_with_hostile_drafts_and_a_killed_server(files: tuple[Path, Path]) -> None:
    webdriver = pytest.importorskip("selenium.webdriver")
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--window-size=1200,800",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        with served(files) as (url, child):
            chrome.get(url)
            for key, done in (("a", 1), ("x", 2), ("z", 1), ("u", 2)):
                press(chrome, key, f"{done} of 4, ann")
            assert chrome.find_elements("css selector", "h1, img") == []
            assert chrome.title == "2 of 4 labelled"
            assert chrome.get_log("browser") == []
            child.kill()
        assert sorted(label.label for label in read_labels([files[1]]).labels.values()) == ["approve", "unsure"]
        with served(files) as (url, _):
            chrome.get(url)
            press(chrome, "r", "3 of 4, ann")
            press(chrome, "a", "4 of 4, ann")
            assert chrome.find_element("id", "finished").text == "All drafts are labelled"
    finally:
        chrome.quit()
    assert len(read_labels([files[1]]).labels) == 4


def press(chrome: Any, key: str, progress: str) -> None:
    """Press a key and wait for the page that it leads to."""
    from selenium.webdriver.support.ui import WebDriverWait

    chrome.find_element("css selector", "body").send_keys(key)
    WebDriverWait(chrome, 20, ignored_exceptions=(Exception,)).until(
        lambda _: chrome.find_element("id", "progress").text == progress
    )
