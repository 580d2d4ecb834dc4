"""Calls that were given up count for as long as they run, and their threads are bounded."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading

import pytest
from support.reviewing import APPROVE, DRAFT

from draftcritic.core import LimitRules, Mode, OnFailure, Policy
from draftcritic.review import Critic, Limiter, NoLimits, NoThreadError, Reply, TimedCaller
from draftcritic.review._call_slots import given_up
from draftcritic.testing import RecordingObserver, ScriptedCriticModel

LONG = 30.0


class Hanging(ScriptedCriticModel):
    """Answers in a thread when it is released, and counts how often it was asked."""

    def __init__(self):
        super().__init__([])
        self.caller, self.asked = TimedCaller(), 0
        self.begun, self.release = threading.Event(), threading.Event()

    def _hang(self):
        self.asked += 1
        self.begun.set()
        self.release.wait(LONG)
        return Reply(json.dumps(APPROVE))

    def call(self, messages, timeout):
        return self.caller.call(self._hang, timeout)

    async def acall(self, messages, timeout):
        return await self.caller.acall(self._hang, timeout)


@pytest.fixture(params=["sync", "async"])
def ask(request):
    def run(critic, model):
        if request.param == "sync":
            return critic.review(DRAFT, model)
        return asyncio.run(critic.areview(DRAFT, model))

    return run


def critic(limits=None, timeout=0.05):
    return Critic(Policy(timeout=timeout), Mode.OBSERVE, RecordingObserver(), limits=limits or NoLimits())


def ended():
    """Wait until no call is given up any more."""
    for _ in range(1000):
        if given_up() == 0:
            return True
        threading.Event().wait(0.01)
    return False


def how(review):
    return review.failure or review.assessment.reason


def test_a_call_that_is_given_up_keeps_its_place_until_it_ends(ask):
    model, judge = Hanging(), critic(Limiter(LimitRules(max_concurrency=2)))
    assert [how(ask(judge, model)) for _ in range(4)] == ["timeout", "timeout", "circuit_open", "circuit_open"]
    assert (model.asked, given_up()) == (2, 2)
    model.release.set()
    assert ended()
    assert ask(critic(Limiter(LimitRules(max_concurrency=2)), LONG), model).verdict == "approve"


def test_calls_that_are_given_up_are_bounded_without_any_limit(ask, monkeypatch):
    monkeypatch.setattr("draftcritic.review._reflector.MOST_GIVEN_UP", 3)
    model, judge = Hanging(), critic()
    assert [how(ask(judge, model)) for _ in range(5)] == ["timeout"] * 3 + ["circuit_open"] * 2
    assert model.asked == 3
    model.release.set()
    assert ended()
    assert ask(critic(timeout=LONG), model).verdict == "approve"


def test_a_critic_that_fails_closed_refuses_too_what_hanging_calls_keep_from_it(ask):
    policy = Policy(timeout=0.05, on_failure=OnFailure.REFUSE)
    model, limits = Hanging(), Limiter(LimitRules(max_concurrency=2))
    judge = Critic(policy, Mode.ENFORCE, RecordingObserver(), limits=limits)
    assert [ask(judge, model).outcome.closed for _ in range(4)] == [True] * 4
    assert model.asked == 2
    model.release.set()
    assert ended()


async def test_coroutines_share_a_bounded_number_of_threads(monkeypatch):
    monkeypatch.setattr("draftcritic.review._calls.MOST_GIVEN_UP", 3)
    caller, running, most = TimedCaller(), set(), []

    def work():
        running.add(threading.get_ident())
        most.append(len(running))
        threading.Event().wait(0.01)
        return "done"

    assert await asyncio.gather(*(caller.acall(work, LONG) for _ in range(20))) == ["done"] * 20
    assert max(most) <= 3


async def test_a_coroutine_that_does_not_wait_for_a_thread_is_told_so(monkeypatch):
    monkeypatch.setattr("draftcritic.review._calls.MOST_GIVEN_UP", 1)
    caller, release = TimedCaller(), threading.Event()
    busy = asyncio.create_task(caller.acall(lambda: release.wait(LONG), LONG))
    await asyncio.sleep(0)
    with pytest.raises(NoThreadError):
        await caller.acall(lambda: None, LONG, waits=False)
    with pytest.raises(TimeoutError):
        await caller.acall(lambda: None, 0.01)  # waits for a thread in vain
    release.set()
    assert await busy
    assert await caller.acall(lambda: "served", LONG) == "served"


async def test_a_cancelled_turn_leaves_its_call_in_its_place():
    model, limiter = Hanging(), Limiter(LimitRules(max_concurrency=1))
    task = asyncio.create_task(critic(limiter, LONG).areview(DRAFT, model))
    assert await asyncio.to_thread(model.begun.wait, LONG)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert how(await critic(limiter, LONG).areview(DRAFT, model)) == "circuit_open"
    model.release.set()
    assert await asyncio.to_thread(ended)
    assert (await critic(limiter, LONG).areview(DRAFT, model)).verdict == "approve"


def test_a_caller_bounds_its_threads_whoever_calls(monkeypatch):
    monkeypatch.setattr("draftcritic.review._calls.MOST_GIVEN_UP", 2)
    caller, release = TimedCaller(), threading.Event()
    for _ in range(2):
        with pytest.raises(TimeoutError):
            caller.call(lambda: release.wait(LONG), 0.01)
    with pytest.raises(RuntimeError, match="given up"):
        caller.call(int, LONG)
    release.set()
    for _ in range(1000):
        try:
            assert caller.call(int, LONG) == 0
            return
        except RuntimeError:  # they are still ending
            threading.Event().wait(0.01)
    pytest.fail("the calls have not ended")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_given_up_nothing():
    model = Hanging()
    assert how(critic().review(DRAFT, model)) == "timeout"
    assert given_up() == 1
    child = os.fork()
    if child == 0:
        os._exit(given_up())
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    model.release.set()
    assert ended()


@pytest.mark.skipif(sys.platform != "linux", reason="limits the memory for stacks")
@pytest.mark.parametrize("edge", ["call", "acall"])
def test_without_a_thread_it_is_a_failure_and_no_call_of_the_applications_thread(edge):
    program = """
import asyncio, resource, sys, threading
from draftcritic.review import TimedCaller
threading.stack_size(1 << 30)
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
caller, ran = TimedCaller(), []
call = lambda: ran.append(threading.current_thread().name)
try:
    asyncio.run(caller.acall(call, 5)) if sys.argv[1] == "acall" else caller.call(call, 5)
except RuntimeError as error:
    print(error, ran)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, edge], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("can't start new thread []\n", "")
