"""Foreign code is waited for no longer than agreed."""

from __future__ import annotations

import asyncio
import contextvars
import os
import subprocess
import sys
import threading

import pytest

from draftcritic.review import TimedCaller, within
from draftcritic.review._calls import run_coroutine

LONG = 30.0


def test_returns_what_the_call_returns_and_raises_what_it_raises():
    caller = TimedCaller()
    error = KeyError("x")

    def fail():
        raise error

    assert caller.call(lambda: 41 + 1, LONG) == 42
    with pytest.raises(KeyError) as caught:
        caller.call(fail, LONG)
    assert caught.value is error


def test_one_thread_serves_call_after_call():
    caller = TimedCaller()
    threads = {caller.call(threading.get_ident, LONG) for _ in range(20)}
    assert len(threads) == 1
    assert threads != {threading.get_ident()}


def test_a_hanging_call_is_left_behind_and_its_thread_ends_with_it(monkeypatch):
    monkeypatch.setattr("draftcritic.review._calls._IDLE_SECONDS", 3600.0)
    caller, release = TimedCaller(), threading.Event()
    hung: list[threading.Thread] = []

    def hang():
        hung.append(threading.current_thread())
        release.wait()

    with pytest.raises(TimeoutError):
        caller.call(hang, 0.05)
    other = caller.call(threading.current_thread, LONG)
    assert other is not hung[0]
    assert all(thread.daemon for thread in (other, hung[0]))
    release.set()
    hung[0].join(LONG)
    assert not hung[0].is_alive()
    assert caller.call(threading.current_thread, LONG) is other


def test_calls_at_the_same_time_do_not_wait_for_each_other():
    caller, both = TimedCaller(), threading.Barrier(2, timeout=LONG)
    threads = [threading.Thread(target=caller.call, args=(both.wait, LONG)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert not both.broken


def test_an_idle_thread_ends_after_a_while(monkeypatch):
    monkeypatch.setattr("draftcritic.review._calls._IDLE_SECONDS", 0.01)
    caller = TimedCaller()
    first = caller.call(threading.current_thread, LONG)
    first.join(LONG)
    assert not first.is_alive()
    assert caller.call(lambda: "again", LONG) == "again"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_starts_its_own_threads():
    caller = TimedCaller()
    caller.call(threading.get_ident, LONG)
    child = os.fork()
    if child == 0:
        os._exit(caller.call(lambda: 7, LONG))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_works_at_the_end_of_the_interpreter_and_never_keeps_it_alive():
    """Since Python 3.12 no thread starts then: an own thread makes the call itself, the application's never does."""
    program = """
import atexit, threading
from draftcritic.review import TimedCaller
from draftcritic.review._calls import own_thread
used, begin, ended = TimedCaller(), threading.Event(), threading.Event()
try:
    used.call(threading.Event().wait, 0.01)
except TimeoutError:
    print("timeout")
used.call(int, 5)

def work():
    own_thread()
    begin.wait()
    print("own", TimedCaller().call(lambda: 2, 5), flush=True)
    ended.set()

threading.Thread(target=work, daemon=True).start()

@atexit.register
def end():
    print("used", used.call(lambda: 1, 5))
    begin.set()
    ended.wait(5)
    try:
        print(TimedCaller().call(lambda: threading.current_thread().name, 5), flush=True)
    except RuntimeError:
        print("draftcritic-call")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("timeout\nused 1\nown 2\ndraftcritic-call\n", "", 0)


async def test_within_gives_the_result_or_the_error():
    async def fail():
        raise KeyError("x")

    assert await within(asyncio.sleep(0, "done"), LONG) == "done"
    with pytest.raises(KeyError):
        await within(fail(), LONG)


async def test_within_does_not_wait_for_what_ignores_its_cancellation():
    release, ended = asyncio.Event(), asyncio.Event()

    async def stubborn():
        try:
            await asyncio.sleep(LONG)
        except asyncio.CancelledError:
            await release.wait()
            ended.set()

    with pytest.raises(TimeoutError):
        await within(stubborn(), 0.01)
    assert not ended.is_set()
    release.set()
    await asyncio.wait_for(ended.wait(), LONG)


async def test_within_cancels_what_it_waits_for_when_it_is_cancelled():
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def inner():
        started.set()
        try:
            await asyncio.sleep(LONG)
        finally:
            cancelled.set()

    outer = asyncio.create_task(within(inner(), LONG))
    await asyncio.wait_for(started.wait(), 30)
    outer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await outer
    await asyncio.wait_for(cancelled.wait(), LONG)


async def test_a_cancellation_from_inside_cancels_nobody_outside():
    async def cancels_itself():
        raise asyncio.CancelledError

    with pytest.raises(RuntimeError, match="cancelled itself"):
        await within(cancels_itself(), LONG)


variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")


async def _look() -> tuple[str, int]:
    await asyncio.sleep(0.001)
    return variable.get(), threading.get_ident()


async def test_a_coroutine_runs_from_sync_code_below_a_running_loop():
    variable.set("callers")
    seen, thread = run_coroutine(TimedCaller(), _look, LONG)
    assert seen == "callers"
    assert thread != threading.get_ident()


def test_a_coroutine_that_blocks_its_thread_times_out():
    async def blocks():
        threading.Event().wait(0.3)

    with pytest.raises(TimeoutError):
        run_coroutine(TimedCaller(), blocks, 0.02)
