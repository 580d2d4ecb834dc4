"""What foreign code raises to end its own work ends nobody else; what ends the application passes."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from support.reviewing import APPROVE, DRAFT

from draftcritic.core import Mode, Policy
from draftcritic.review import Critic, TimedCaller, contain_exit
from draftcritic.testing import RecordingObserver, ScriptedCriticModel

LONG = 30.0
STOPS = [SystemExit(3), GeneratorExit(), asyncio.CancelledError("of its own")]


def raises(stop):
    def call(*_):
        raise stop

    return call


@pytest.mark.parametrize("stop", [*STOPS, KeyboardInterrupt()])
async def test_from_a_thread_it_is_an_error(stop):
    caller = TimedCaller()
    with pytest.raises(RuntimeError, match="from inside") as caught:
        caller.call(raises(stop), LONG)
    assert caught.value.__cause__ is stop
    with pytest.raises(RuntimeError, match="from inside"):
        await caller.acall(raises(stop), LONG)
    assert await caller.acall(int, LONG) == 0


@pytest.mark.parametrize("stop", STOPS)
async def test_from_a_gate_it_is_a_failure(stop, review):
    result, observer = await review(DRAFT, ScriptedCriticModel([APPROVE]), policy=Policy(gate=raises(stop)))
    assert (result.failure, result.action, result.verdict) == ("error", "failed_open", None)
    assert len(observer.reviews) == 1


@pytest.mark.parametrize("mode", [Mode.OBSERVE, Mode.ENFORCE])
def test_ctrl_c_passes(mode):
    observer = RecordingObserver()
    with pytest.raises(KeyboardInterrupt):
        Critic(Policy(gate=raises(KeyboardInterrupt())), mode, observer).review(DRAFT, ScriptedCriticModel([]))
    assert [(r.outcome.kind, r.verdict, r.failure) for r in observer.reviews] == [("cancelled", None, None)]


def test_what_a_signal_handler_raises_passes():
    def handler(*_):
        raise SystemExit(4)

    def interrupted(*_):
        os.kill(os.getpid(), signal.SIGUSR1)
        threading.Event().wait(LONG)

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(SystemExit) as caught:
            Critic(Policy(gate=interrupted), Mode.OBSERVE, RecordingObserver()).review(DRAFT, ScriptedCriticModel([]))
        assert caught.value.code == 4
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_an_ordinary_exception_is_itself():
    error = KeyError("x")
    assert contain_exit(error) is error


def test_a_critics_model_that_exits_leaves_the_application_running():
    program = """
import asyncio, sys
from support.chat import Chat
from draftcritic import DraftCriticInstrumentor

class Exits(Chat):
    def _generate(self, *args, **kwargs):
        raise {"exit": SystemExit(3), "cancel": asyncio.CancelledError(), "close": GeneratorExit()}[sys.argv[1]]

for chosen in ({"mode": "enforce"}, {"background": False}, {}):
    settings = {"rules": ["Be kind."], "circuit_failure_rate": 0, **chosen}
    DraftCriticInstrumentor().instrument(model=Exits(answers=["x"]), **settings)
    print(Chat(answers=["It is on its way."]).invoke("q").text)
    print(asyncio.run(Chat(answers=["It is on its way."]).ainvoke("q")).text)
    assert DraftCriticInstrumentor().flush(30)
    DraftCriticInstrumentor().uninstrument()
"""
    for word in ("exit", "cancel", "close"):
        done = subprocess.run(
            [sys.executable, "-c", program, word],
            env={**os.environ, "PYTHONPATH": ":".join([str(Path(__file__).parents[1]), *sys.path])},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert (done.stdout, done.returncode) == ("It is on its way.\n" * 6, 0)
        lines = [line for line in done.stderr.splitlines() if "is not known to judge well" not in line]
        assert len(lines) == 3  # each of the three starts warns once
        assert all("gave no verdict: error (error RuntimeError" in line for line in lines)
