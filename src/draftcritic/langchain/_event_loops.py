"""Runs a coroutine on the application's event loop, from another thread, and leaves no trace when the loop ends."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from contextvars import Context
from typing import Any

from draftcritic.review._call_slots import CallSlot, current_slot
from draftcritic.review._failures import contain_exit

_POLL = 0.1
"""Seconds between two looks at whether the loop still runs."""
_TASK = "draftcritic"
_LAST_TASKS = ("shutdown_asyncgens", "shutdown_default_executor")
"""What `asyncio.run` still runs when it has cancelled all tasks."""


class LoopGoneError(Exception):
    """The loop ended, or was about to, before the coroutine came to its end."""


class OnLoop:
    """One coroutine on the application's loop.

    `asyncio.run` cancels the tasks it finds when its own is done. A task that comes later is left pending, which
    asyncio reports, so none is started then.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, make: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        self._loop = loop
        self._make = make
        self._outcome: Future[Any] = Future()
        self._task: asyncio.Task[Any] | None = None
        self._given_up = False

    def run(self, context: Context, deadline: float) -> Any:
        """Return what the coroutine returns, or raise what it raises.

        Args:
            context: the context that it runs in.
            deadline: the time of `time.monotonic` at which it is given up.

        Raises:
            TimeoutError: it has not ended by the deadline.
            LoopGoneError: the loop has.
        """
        try:
            self._loop.call_soon_threadsafe(self._start, context=context)
        except RuntimeError as error:
            raise LoopGoneError from error
        while True:
            left = deadline - time.monotonic()
            try:
                return self._outcome.result(timeout=max(0.0, min(_POLL, left)))
            except (FutureTimeoutError, TimeoutError):
                if self._outcome.done():
                    raise  # the coroutine's own
            if left <= 0:
                self._give_up()
                raise TimeoutError("no answer within the time limit")
            if not self._loop.is_running():
                self._give_up()
                raise LoopGoneError

    def _start(self) -> None:
        if self._given_up:
            return
        if _is_ending(self._loop):
            self._outcome.set_exception(LoopGoneError())
            return
        self._task = self._loop.create_task(self._make(), name=_TASK)
        self._task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        if task.cancelled():
            # Only a loop that ends, or the task itself, can cancel a task that no other code knows.
            gone = _is_ending(self._loop)
            self._outcome.set_exception(LoopGoneError() if gone else RuntimeError("cancelled itself"))
            return
        error = task.exception()
        if error is not None:
            self._outcome.set_exception(contain_exit(error))
        else:
            self._outcome.set_result(task.result())

    def _give_up(self) -> None:
        self._given_up = True
        task = self._task
        if task is not None:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(task.cancel)


def _is_ending(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether nothing of the application runs on a loop any more but its end. To be asked on the loop itself."""
    alive = False
    for task in asyncio.all_tasks(loop):
        if getattr(task.get_coro(), "__name__", "") in _LAST_TASKS:
            return True
        alive = alive or not (task.get_name() == _TASK or _is_being_cancelled(task))
    return not alive


def _is_being_cancelled(task: asyncio.Task[Any]) -> bool:
    cancelling = getattr(task, "cancelling", None)
    if cancelling is not None:
        return bool(cancelling())
    # Python 3.10 does not count, but shows what a task waits for.
    waits_for = getattr(task, "_fut_waiter", None)
    return bool(getattr(task, "_must_cancel", False) or (waits_for is not None and waits_for.cancelled()))


Making = Callable[[], Coroutine[Any, Any, Any]]

_RESPONDS_WITHIN = 5.0
"""Seconds within which a loop runs a callback, unless some code blocks it."""
_PROBE_AFTER = 0.05
"""Seconds after which the callback is scheduled, so that a coroutine that blocks has begun to."""
_CANCELLED_WITHIN = 1.0
"""Seconds that tasks have to end when the loop is stopped."""


class OwnLoop:
    """One loop in a daemon thread, which starts with the first coroutine, in each process.

    One for all calls, because a client with asynchronous code keeps connections that belong to their loop. A blocked
    loop is abandoned, and the next coroutine gets another one.
    """

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._unanswered_since: float | None = None

    def start(self, make: Making, context: Context) -> Future[Any] | None:
        """Start a coroutine in a context, and return what it will come to; None when no thread can be started."""
        if os.getpid() != self._process:
            # A forked child has inherited the lock in any state and no thread.
            self._reset()
        outcome: Future[Any] = Future()
        place = current_slot()
        with self._lock:
            if self._loop is not None and self._is_blocked():
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._loop = None
            if self._loop is None:
                try:
                    self._loop = _running_loop()
                except RuntimeError:
                    return None
                self._unanswered_since = None
            if place is not None:
                place.hold()
            self._loop.call_soon_threadsafe(_follow, make, outcome, place, context=context)
            if self._unanswered_since is None:
                self._unanswered_since = time.monotonic()
                self._loop.call_soon_threadsafe(self._loop.call_later, _PROBE_AFTER, self._mark_responsive)
        return outcome

    def _is_blocked(self) -> bool:
        return self._unanswered_since is not None and time.monotonic() - self._unanswered_since > _RESPONDS_WITHIN

    def _mark_responsive(self) -> None:
        self._unanswered_since = None

    def stop(self) -> None:
        """End the thread, and what still runs in it. The next coroutine starts another one."""
        if os.getpid() != self._process:
            return
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)


def answer_of(outcome: Future[Any], timeout: float) -> Any:
    """Wait for what `OwnLoop.start` has begun.

    Raises:
        TimeoutError: it has not ended within `timeout` seconds, and is cancelled.
    """
    try:
        return outcome.result(timeout)
    except FutureTimeoutError as error:
        if outcome.done():
            raise  # the coroutine's own
        raise TimeoutError(f"no answer within {timeout} s") from error
    finally:
        outcome.cancel()


def _running_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=_serve, args=(loop,), name="draftcritic-loop", daemon=True)
    try:
        thread.start()
    except RuntimeError:
        loop.close()
        raise
    return loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        while not _ran(loop):
            pass
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        if tasks:
            # A model's own tasks pass a cancellation on, one round of the loop each.
            loop.run_until_complete(asyncio.wait(tasks, timeout=_CANCELLED_WITHIN))
    finally:
        loop.close()


def _ran(loop: asyncio.AbstractEventLoop) -> bool:
    """Run a loop until it is stopped; False when a task has raised what ends a loop, which the task's caller gets."""
    try:
        loop.run_forever()
    except (SystemExit, KeyboardInterrupt):
        return False
    return True


def _follow(make: Making, outcome: Future[Any], place: CallSlot | None) -> None:
    task = asyncio.ensure_future(make())

    def ended(_: object) -> None:
        if place is not None:
            place.release()
        if not outcome.set_running_or_notify_cancel():
            _retrieve(task)
        elif task.cancelled():
            outcome.set_exception(RuntimeError("cancelled itself"))
        elif (error := task.exception()) is not None:
            outcome.set_exception(contain_exit(error))
        else:
            outcome.set_result(task.result())

    def given_up(_: object) -> None:
        if outcome.cancelled():
            with suppress(RuntimeError):  # the loop is closed
                task.get_loop().call_soon_threadsafe(task.cancel)

    task.add_done_callback(ended)
    outcome.add_done_callback(given_up)


def _retrieve(task: asyncio.Task[Any]) -> None:
    """Retrieve the exception of an abandoned task, so that asyncio does not report it."""
    if not task.cancelled():
        task.exception()
