"""The critic's call on the application's event loop: it ends with the loop, and asyncio reports nothing."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest

from draftcritic.langchain._event_loops import LoopGoneError, OnLoop

LONG = 30.0


def on(loop: Any, make: Any, limit: float = LONG) -> Any:
    return OnLoop(loop, make).run(copy_context(), time.monotonic() + limit)


async def answer() -> str:
    await asyncio.sleep(0)
    return "answer"


async def fail() -> str:
    raise TimeoutError("the provider's own")


async def hang() -> str:
    await asyncio.sleep(LONG)
    return "late"


async def test_the_answer_and_the_error_come_out_as_they_are() -> None:
    loop = asyncio.get_running_loop()
    assert await asyncio.to_thread(on, loop, answer) == "answer"
    with pytest.raises(TimeoutError, match="the provider's own"):
        await asyncio.to_thread(on, loop, fail)


async def test_a_late_one_is_cancelled() -> None:
    with pytest.raises(TimeoutError, match="no answer"):
        await asyncio.to_thread(on, asyncio.get_running_loop(), hang, 0.05)
    await asyncio.sleep(0.01)
    assert [task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []


def test_a_closed_loop_is_gone() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    with pytest.raises(LoopGoneError):
        on(loop, answer)


def test_a_loop_that_ends_cancels_it() -> None:
    gone: list[Any] = []

    def ask(loop: Any) -> None:
        try:
            on(loop, hang)
        except LoopGoneError as error:
            gone.append(error)

    async def main() -> threading.Thread:
        thread = threading.Thread(target=ask, args=(asyncio.get_running_loop(),))
        thread.start()
        while not [task for task in asyncio.all_tasks() if task.get_name() == "draftcritic"]:  # noqa: ASYNC110 - no event signals it
            await asyncio.sleep(0.001)
        return thread

    asyncio.run(main()).join(LONG)
    assert len(gone) == 1


def test_nothing_starts_on_a_loop_at_its_end() -> None:
    """`asyncio.run` has cancelled all tasks then, and would report one that comes later."""
    loop = asyncio.new_event_loop()
    started: list[bool] = []

    async def late() -> str:
        started.append(True)
        return await hang()

    one = OnLoop(loop, late)
    gone: list[Any] = []

    def ask() -> None:
        try:
            one.run(copy_context(), time.monotonic() + LONG)
        except LoopGoneError as error:
            gone.append(error)

    thread = threading.Thread(target=ask)
    loop.call_soon(thread.start)
    loop.call_soon(time.sleep, 0.05)
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()
    thread.join(LONG)
    assert (started, len(gone)) == ([], 1)


def test_many_short_loops_lose_no_review_and_say_nothing() -> None:
    program = """
import asyncio, logging, sys, warnings
warnings.simplefilter("error")
logging.basicConfig(level=logging.WARNING)
from support.chat import Chat
from support.sdk import Telemetry
from draftcritic import DraftCriticInstrumentor

class Critic(Chat):
    async def _agenerate(self, messages, *args, **kwargs):
        await asyncio.sleep(0.002)
        return self._generate(messages)

telemetry = Telemetry()
DraftCriticInstrumentor().instrument(
    **telemetry.providers, rules=["Be kind."], model=Critic(answers=['{"verdict": "approve"}'])
)

async def turn(number):
    await Chat(answers=[f"Parcel {number} is on its way."]).ainvoke("q")
    await asyncio.sleep(number % 5 / 1000)

for number in range(40):
    asyncio.run(turn(number))
assert DraftCriticInstrumentor().flush(30)
print(sorted({(r["draftcritic.verdict"], r["draftcritic.verdict.source"]) for r in telemetry.reviews()}))
print(len(telemetry.reviews()))
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": ":".join([str(Path(__file__).parents[1]), *sys.path])},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.stderr, done.stdout) == ("", "[('approve', 'reflection')]\n40\n")
