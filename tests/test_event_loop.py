"""Nothing of the plugin blocks the application's event loop in `enforce`."""

from __future__ import annotations

import asyncio
import builtins
import io
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from support.chat import Chat
from support.sdk import Telemetry

from draftcritic import DraftCriticInstrumentor
from draftcritic.core import CriticGateContext, FabricationMode, Mode, Policy, Turn
from draftcritic.core import _lexicon as _data
from draftcritic.review import Critic
from draftcritic.testing import RecordingObserver, ScriptedCriticModel

DRAFT = "Your refund REF-778812 of $4,211.17 has been issued to Anna Schmidt."
LARGE = "All is well with the order and its parcel. " * 400


class AsyncChat(Chat):
    """Answers in the event loop, without a thread of LangChain's."""

    async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        return self._generate(messages, **kwargs)


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    yield Telemetry()
    if DraftCriticInstrumentor().is_instrumented_by_opentelemetry:
        DraftCriticInstrumentor().uninstrument()


def forbid_files_on(thread: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every access to a file raise in one thread."""

    def guarded(function: Any) -> Any:
        def called(*args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() == thread:
                raise AssertionError(f"{function.__name__} on the event loop")
            return function(*args, **kwargs)

        return called

    for owner, name in ((os, "stat"), (os, "listdir"), (os, "scandir"), (builtins, "open"), (io, "open")):
        monkeypatch.setattr(owner, name, guarded(getattr(owner, name)))


def clear_data() -> None:
    """Forget the word lists, as in a new process."""
    _data.data_names.cache_clear()
    _data.data_text.cache_clear()


@pytest.mark.parametrize("with_file", [True, False])
@pytest.mark.parametrize("draft", [DRAFT, f"{LARGE}{DRAFT}"])
async def test_enforce_opens_no_file_on_the_loop(
    telemetry: Telemetry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_file: bool, draft: str
) -> None:
    options: dict[str, Any] = {}
    if with_file:
        options["config"] = tmp_path / "policy.toml"
        options["config"].write_text('default_revision = "Soon."\nreload_interval = 0.001\n', encoding="utf-8")
    clear_data()
    critic = AsyncChat(answers=[json.dumps({"verdict": "revise", "revised_draft": "It is on its way."})])
    DraftCriticInstrumentor().instrument(**telemetry.providers, mode="enforce", model=critic, **options)
    app = AsyncChat(answers=[draft])
    forbid_files_on(threading.get_ident(), monkeypatch)
    for _ in range(2):
        assert (await app.ainvoke("Where is my refund?")).content == "It is on its way."
        await asyncio.sleep(0.01)
    assert [r["draftcritic.action"] for r in telemetry.reviews()] == ["replaced"] * 2


THREADS: list[int] = []


def noting_gate(_: CriticGateContext) -> bool:
    THREADS.append(threading.get_ident())
    return True


@pytest.mark.parametrize(
    ("turn", "on_loop"),
    [
        (Turn("Short."), True),
        (Turn(LARGE), False),
        (Turn("Short.", context=LARGE), False),
        (Turn("Short.", tool_calls=({"name": "t", "result": LARGE},)), False),
        (Turn("Short.", tool_calls=({"name": "t", "args": {"rows": [["x" * 100] * 9] * 50}},)), False),
    ],
)
async def test_checks_of_a_large_turn_leave_the_loop(turn: Turn, on_loop: bool) -> None:
    THREADS.clear()
    critic = Critic(Policy(gate=noting_gate), Mode.ENFORCE, RecordingObserver())
    review = await critic.areview(turn, ScriptedCriticModel(['{"verdict": "approve"}']))
    assert review.verdict == "approve"
    assert [thread == threading.get_ident() for thread in THREADS] == [on_loop]


@pytest.mark.parametrize(
    ("context", "text", "on_loop"), [("", "Soon.", True), (LARGE, "Soon.", False), ("", LARGE, False)]
)
async def test_the_check_of_a_large_replacement_text_leaves_the_loop(
    monkeypatch: pytest.MonkeyPatch, context: str, text: str, on_loop: bool
) -> None:
    seen: list[tuple[str, bool]] = []

    def finding(checked: str, *_: Any) -> tuple[Any, ...]:
        seen.append((checked, threading.get_ident() == loop_thread))
        return ()

    loop_thread = threading.get_ident()
    monkeypatch.setattr("draftcritic.review._pipeline.find_in", finding)
    critic = Critic(Policy(fabrication_mode=FabricationMode.REFUSE), Mode.ENFORCE, RecordingObserver())
    model = ScriptedCriticModel([{"verdict": "revise", "revised_draft": text}])
    review = await critic.areview(Turn("That is fine.", context=context), model)
    assert (review.replacement, seen) == (text, [(text, on_loop)])


async def test_a_large_tool_result_is_still_checked(telemetry: Telemetry) -> None:
    critic = AsyncChat(answers=['{"verdict": "approve"}'])
    DraftCriticInstrumentor().instrument(
        **telemetry.providers, mode="enforce", model=critic, fabrication="refuse", background=False
    )
    call = AIMessage("", tool_calls=[{"name": "look_up", "args": {}, "id": "1"}])
    messages = [HumanMessage("Where is my refund?"), call, ToolMessage(LARGE, tool_call_id="1")]
    reply = await AsyncChat(answers=[DRAFT]).ainvoke(messages)
    assert "REF-778812" not in reply.content
