"""Runs a coroutine on the application's event loop, from another thread, and leaves no trace when the loop ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from contextvars import Context
from typing import Any

from draftcritic.engine import contained

_POLL = 0.1
"""Seconds between two looks at whether the loop still runs."""
_TASK = "draftcritic"
_LAST_TASKS = ("shutdown_asyncgens", "shutdown_default_executor")
"""What `asyncio.run` still runs when it has cancelled all tasks."""


class LoopGoneError(Exception):
    """The loop ended, or was about to, before the coroutine came to its end."""


class OnLoop:
    """One coroutine on a loop that belongs to somebody else.

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
            # Nobody but a loop that ends, and the task itself, cancels a task that only we know.
            gone = _is_ending(self._loop)
            self._outcome.set_exception(LoopGoneError() if gone else RuntimeError("cancelled itself"))
            return
        error = task.exception()
        if error is not None:
            self._outcome.set_exception(contained(error))
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
