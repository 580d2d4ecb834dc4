"""An event loop of the plugin's own, for models that have only asynchronous code and no loop to run it on."""

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

from draftcritic.engine import Place, contained, current_place

Making = Callable[[], Coroutine[Any, Any, Any]]

_ANSWERS_WITHIN = 5.0
"""Seconds in which a loop comes to what it was told, unless some code blocks it."""
_LISTENS_AFTER = 0.05
"""Seconds after which it is told, so that a coroutine that blocks has come to do so."""
_CANCELLED_WITHIN = 1.0
"""Seconds that tasks have to end when the loop is stopped."""


class OwnLoop:
    """One loop in a daemon thread, which starts with the first coroutine, in each process.

    One for all calls, because a client with asynchronous code keeps connections that belong to their loop. A loop that
    code has blocked is left to it, and the next coroutine gets another one.
    """

    def __init__(self) -> None:
        self._start_afresh()

    def _start_afresh(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._unheard_since: float | None = None

    def start(self, make: Making, context: Context) -> Future[Any] | None:
        """Start a coroutine in a context, and return what it will come to; None when no thread can be started."""
        if os.getpid() != self._process:
            # A forked child has inherited the lock in any state and no thread.
            self._start_afresh()
        outcome: Future[Any] = Future()
        place = current_place()
        with self._lock:
            if self._loop is not None and self._is_blocked():
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._loop = None
            if self._loop is None:
                try:
                    self._loop = _running_loop()
                except RuntimeError:
                    return None
                self._unheard_since = None
            if place is not None:
                place.hold()
            self._loop.call_soon_threadsafe(_follow, make, outcome, place, context=context)
            if self._unheard_since is None:
                self._unheard_since = time.monotonic()
                self._loop.call_soon_threadsafe(self._loop.call_later, _LISTENS_AFTER, self._hear)
        return outcome

    def _is_blocked(self) -> bool:
        return self._unheard_since is not None and time.monotonic() - self._unheard_since > _ANSWERS_WITHIN

    def _hear(self) -> None:
        self._unheard_since = None

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
    """Run a loop until it is stopped; False when a task has raised what ends a loop, which the task's caller hears."""
    try:
        loop.run_forever()
    except (SystemExit, KeyboardInterrupt):
        return False
    return True


def _follow(make: Making, outcome: Future[Any], place: Place | None) -> None:
    task = asyncio.ensure_future(make())

    def ended(_: object) -> None:
        if place is not None:
            place.release()
        if not outcome.set_running_or_notify_cancel():
            _look(task)
        elif task.cancelled():
            outcome.set_exception(RuntimeError("cancelled itself"))
        elif (error := task.exception()) is not None:
            outcome.set_exception(contained(error))
        else:
            outcome.set_result(task.result())

    def given_up(_: object) -> None:
        if outcome.cancelled():
            with suppress(RuntimeError):  # the loop is closed
                task.get_loop().call_soon_threadsafe(task.cancel)

    task.add_done_callback(ended)
    outcome.add_done_callback(given_up)


def _look(task: asyncio.Task[Any]) -> None:
    """Look at the end of a task nobody waits for, so that asyncio does not report it."""
    if not task.cancelled():
        task.exception()
