"""One table: every way a draft leaves a chat model, from synchronous and asynchronous code, in every mode.

`docs/paths.md` shows it; `UPDATE_DOCS=1 python -m pytest tests/langchain/test_path_table.py` updates it.
"""

from __future__ import annotations

import asyncio
import json
import os
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from opentelemetry import trace
from support.chat import Chat
from support.paths import ASYNC, DRAFT, HAS_V3, KINDS, SYNC
from support.sdk import Telemetry

from draftcritic import DraftCriticInstrumentor

PAGE = Path(__file__).parents[2] / "docs" / "paths.md"
SAFE = "I would rather not say."
REFUSE = json.dumps({"verdict": "refuse", "refusal_message": SAFE})
MODES = ("observe", "gate", "enforce")


class Result(NamedTuple):
    """What became of one draft."""

    said: str
    reviews: list[tuple[Any, Any]]
    asked: int
    same_span: bool


@pytest.fixture(autouse=True)
def _off() -> Iterator[None]:
    yield
    DraftCriticInstrumentor().uninstrument()


@cache
def measure(path: str, way: str, mode: str, kind: str) -> Result:
    telemetry = Telemetry()
    critic = Chat(answers=[REFUSE], model_name="critic-1")
    tracer = telemetry.tracer
    plugin = DraftCriticInstrumentor()
    plugin.instrument(**telemetry.providers, mode=mode, model=critic)
    model = KINDS[kind](answers=[DRAFT])

    async def from_a_coroutine() -> tuple[str, bool]:
        with tracer.start_as_current_span("turn") as turn:
            return await ASYNC[path](model), trace.get_current_span() is turn

    def from_a_function() -> tuple[str, bool]:
        with tracer.start_as_current_span("turn") as turn:
            return SYNC[path](model), trace.get_current_span() is turn

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        said, same_span = asyncio.run(from_a_coroutine()) if way == "async" else from_a_function()
    assert plugin.flush(20)
    plugin.uninstrument()
    reviews = [(r.get("draftcritic.verdict"), r["draftcritic.action"]) for r in telemetry.reviews()]
    return Result(said, reviews, len(critic.calls), same_span)


EXPECTED = {
    "observe": Result(DRAFT, [("refuse", "recorded")], 1, True),
    "gate": Result(DRAFT, [(None, "recorded")], 0, True),
    "enforce": Result(SAFE, [("refuse", "blocked")], 1, True),
}
PLAIN, STREAMING = KINDS
CASES = [(path, way) for way, paths in (("sync", SYNC), ("async", ASYNC)) for path in paths]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("path", "way"), CASES)
def test_one_review_on_every_path(path: str, way: str, mode: str, kind: str) -> None:
    if not exists(path, way, kind):
        pytest.skip("LangChain has no such way")
    assert measure(path, way, mode, kind) == EXPECTED[mode]


def exists(path: str, way: str, kind: str) -> bool:
    return path in (SYNC if way == "sync" else ASYNC) and not (kind == PLAIN and path == "stream_events v3")


def cell(result: Result) -> str:
    reviews = f"{len(result.reviews)} review{'' if len(result.reviews) == 1 else 's'}"
    fate = {DRAFT: "unchanged", SAFE: "replaced"}.get(result.said, "BROKEN")
    return f"{reviews}, {fate}{'' if result.same_span else ', SPAN LOST'}"


def table(kind: str) -> Iterator[str]:
    ways = [(way, mode) for way in ("sync", "async") for mode in MODES]
    yield "| path | " + " | ".join(f"{way}, {mode}" for way, mode in ways) + " |"
    yield "| --- " * (len(ways) + 1) + "|"
    for path in dict.fromkeys([*SYNC, *ASYNC]):
        cells = [cell(measure(path, way, mode, kind)) if exists(path, way, kind) else "-" for way, mode in ways]
        yield f"| {path} | " + " | ".join(cells) + " |"


def page() -> str:
    lines = [
        "# Every way a draft leaves a chat model",
        "",
        "Written by `tests/langchain/test_path_table.py`, which runs each path with a critic that refuses, and checks",
        "this page. `unchanged`: the caller got the draft as without the plugin; `replaced`: the refusal and no",
        "character of the draft. On every path the review has the critic's verdict (in mode `gate` none is asked), the",
        "critic's model is asked once, and the caller's span is the current one afterwards. A `-` is a way that",
        "LangChain does not have.",
        "",
        "In `enforce` a stream is asked for as a stream and held back until the verdict. An approved one then has the",
        "chunks, events and callbacks that the model gave, in their order; a replaced one has one chunk with the text.",
        "`tests/langchain/test_hold.py` compares each path with and without an approving critic.",
    ]
    for kind in KINDS:
        lines += ["", f"## With {kind}", "", *table(kind)]
    return "\n".join(lines) + "\n"


@pytest.mark.skipif(not HAS_V3, reason="this langchain-core lacks a path")
def test_the_page_shows_the_table() -> None:
    made = page()
    if os.environ.get("UPDATE_DOCS"):
        PAGE.write_text(made, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == made
