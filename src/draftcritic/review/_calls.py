"""Time limits for third-party code: blocking calls, awaitables, and coroutines from synchronous code."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from contextvars import copy_context
from enum import Enum
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from draftcritic.review._call_slots import MOST_GIVEN_UP, current_slot
from draftcritic.review._failures import contain_exit

T = TypeVar("T")

_KEPT_THREADS = 8
"""How many idle threads wait for the next call; more end with their call."""
_IDLE_SECONDS = 30.0
"""How long an idle thread waits for the next call before it ends."""
QUEUE_TIMEOUTS = 3
"""How many timeouts a coroutine's call waits for a thread. That is not the time of the call."""
_AT_THE_END = "at interpreter shutdown"
"""What Python says when no thread can be started any more."""

_own = threading.local()


def own_thread() -> None:
    """Mark the current thread as one of the plugin's own, in which nothing of the application runs."""
    _own.marked = True


def is_own_thread() -> bool:
    """Whether the current thread is one of the plugin's own."""
    return getattr(_own, "marked", False)


class NoThreadError(RuntimeError):
    """There is no thread for a blocking call."""


class BusyError(TimeoutError):
    """A call has waited for a thread too long, and was not made."""


class _Full(Enum):
    """What becomes of a call for which no thread is idle, while many are busy."""

    START = 1
    QUEUE = 2
    REFUSE = 3


class _Call(Generic[T]):
    """One call on its way through a thread."""

    def __init__(self, function: Callable[[], T]) -> None:
        self.function: Callable[[], T] | None = function
        self.done = threading.Event()
        self.given_up = False
        self.began: float | None = None
        self.wake: Callable[[], None] | None = None
        self._place = current_slot()
        self._result: T | None = None
        self._error: BaseException | None = None
        if self._place is not None:
            self._place.hold()

    def run(self) -> None:
        function, self.function = self.function, None
        assert function is not None  # noqa: S101 - a call runs once
        self.began = time.monotonic()
        if self.wake is not None:
            self.wake()
        try:
            self._result = function()
        except BaseException as error:
            self._error = contain_exit(error)
        finally:
            self.leave()

    def leave(self) -> None:
        place, self._place = self._place, None
        if place is not None:
            place.release()

    def outcome(self) -> T:
        error, self._error = self._error, None
        if error is None:
            return self._result  # type: ignore[return-value] # set by `run`
        try:
            raise error
        finally:
            del error  # its traceback refers to this frame


class TimedCaller:
    """Runs blocking calls with a time limit, each in a daemon thread that serves the next call afterwards.

    A call that outlives its limit keeps its thread, which ends with the call, and its `CallSlot`; the next call gets
    another one. No thread exists before the first call, an idle one ends after a while, and none keeps the process
    alive. Context variables are the callee's business.

    What a call raises comes out, but as a `RuntimeError` when it was to end the thread, such as a `SystemExit`.
    """

    def __init__(self) -> None:
        self._reset_state()

    def _reset_state(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._closed = False
        self._idle: list[SimpleQueue[_Call[Any] | None]] = []
        self._running_on = 0
        self._threads = 0
        self._queued: deque[_Call[Any]] = deque()

    def call(self, function: Callable[[], T], timeout: float) -> T:
        """Return what `function` returns, or raise what it raises.

        At the end of the interpreter no thread can be started. A thread of the plugin's own, which no one waits for
        longer than the shutdown limit, then makes the call itself.

        Raises:
            TimeoutError: it has not returned within `timeout` seconds.
            NoThreadError: no thread can be started, or too many calls that were given up run on.
        """
        call = _Call(function)
        try:
            self._start(call)
        except RuntimeError as error:
            if not (_AT_THE_END in str(error) and is_own_thread()):
                raise
            call.run()
            return call.outcome()
        try:
            call.done.wait(timeout)
        finally:
            late = self._given_up(call)
        if late:
            raise TimeoutError(f"no answer within {timeout} s")
        return call.outcome()

    async def acall(self, function: Callable[[], T], timeout: float, *, waits: bool = True) -> T:
        """Do the same without blocking the event loop. See `call`.

        A coroutine costs no thread, so an application may have thousands of them: of threads that they wait for there
        are `MOST_GIVEN_UP` at most.

        Args:
            function: see `call`.
            timeout: seconds from the moment when a thread makes the call.
            waits: wait for a thread when all are busy, up to `QUEUE_TIMEOUTS` times the timeout, and do not raise at
                once.

        Raises:
            NoThreadError: all threads are busy, and `waits` is false.
            BusyError: no thread has become free in time.
        """
        loop, call, place = asyncio.get_running_loop(), _Call(function), current_slot()
        changed = asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop is closed, and the call was given up
                loop.call_soon_threadsafe(changed.set)

        call.wake, queued = wake, time.monotonic()
        self._start(call, _Full.QUEUE if waits else _Full.REFUSE)
        try:
            while not call.done.is_set():
                since, limit = (queued, QUEUE_TIMEOUTS * timeout) if call.began is None else (call.began, timeout)
                left = since + limit - time.monotonic()
                if left <= 0:
                    break
                changed.clear()
                if not call.done.is_set():
                    with suppress(TimeoutError, asyncio.TimeoutError):
                        await within(changed.wait(), left)
        finally:
            late = self._given_up(call)
            if place is not None and call.began is not None:
                place.queued = call.began - queued
        if late and call.began is None:
            raise BusyError(f"no thread was free within {QUEUE_TIMEOUTS * timeout} s")
        if late:
            raise TimeoutError(f"no answer within {timeout} s")
        return call.outcome()

    def close(self) -> None:
        """End the idle threads, and each other one with its call. Later calls get threads that end with them."""
        if os.getpid() != self._process:
            return  # the threads are the parent's
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            self._threads -= len(idle)
        for inbox in idle:
            inbox.put(None)

    def _given_up(self, call: _Call[Any]) -> bool:
        with self._lock:
            call.given_up = not call.done.is_set()
            if call.given_up and call in self._queued:
                self._queued.remove(call)
                call.leave()
                return True
            self._running_on += call.given_up
        return call.given_up

    def _start(self, call: _Call[Any], when_full: _Full = _Full.START) -> None:
        if os.getpid() != self._process:
            # A forked child has inherited the lock in any state and none of the threads.
            self._reset_state()
        with self._lock:
            if self._idle:
                self._idle.pop().put(call)
                return
            hanging = self._running_on >= MOST_GIVEN_UP
            if not hanging and self._threads >= MOST_GIVEN_UP and when_full is not _Full.START:
                if when_full is _Full.REFUSE:
                    call.leave()
                    raise NoThreadError(f"{MOST_GIVEN_UP} calls are under way")
                self._queued.append(call)
                return
            self._threads += not hanging
        if hanging:
            call.leave()
            raise NoThreadError(f"{MOST_GIVEN_UP} calls that were given up run on")
        inbox: SimpleQueue[_Call[Any] | None] = SimpleQueue()
        inbox.put(call)
        thread = threading.Thread(target=self._serve, args=(inbox,), name="draftcritic-call", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            call.leave()
            with self._lock:
                self._threads -= 1
            raise NoThreadError(str(error)) from error

    def _serve(self, inbox: SimpleQueue[_Call[Any] | None]) -> None:
        while True:
            try:
                call = inbox.get(timeout=_IDLE_SECONDS)
            except Empty:
                with self._lock:
                    if inbox not in self._idle:
                        continue  # a call was handed over just now
                    self._idle.remove(inbox)
                    self._threads -= 1
                return
            if call is None:
                return
            call.run()
            with self._lock:
                self._running_on -= call.given_up
                queued = self._queued.popleft() if self._queued else None
                kept = 0 if self._closed else _KEPT_THREADS
                stays = queued is not None or (not call.given_up and len(self._idle) < kept)
                if queued is not None:
                    inbox.put(queued)
                    del queued
                elif stays:
                    self._idle.append(inbox)
                else:
                    self._threads -= 1
                call.done.set()
            if call.wake is not None:
                call.wake()
            del call
            if not stays:
                return


async def within(awaitable: Awaitable[T], timeout: float) -> T:
    """Await no longer than `timeout` seconds, and return at once when time is up or the caller is cancelled.

    Unlike `asyncio.wait_for`, it does not wait for what it cancels, so a stubborn awaitable delays no one.

    Raises:
        TimeoutError: it has not ended in time.
        RuntimeError: it has ended itself, as by a cancellation from inside, which is no reason to end the caller.
    """
    task = asyncio.ensure_future(awaitable)
    try:
        await asyncio.wait({task}, timeout=timeout)
    finally:
        if not task.done():
            task.add_done_callback(_forget)
            task.cancel()
    if not task.done():
        raise TimeoutError(f"no answer within {timeout} s")
    if task.cancelled():
        raise RuntimeError("cancelled itself")
    error = task.exception()
    if error is not None:
        raise contain_exit(error)
    return task.result()


def _forget(task: asyncio.Future[Any]) -> None:
    """Look at the end of a task no one waits for, so that asyncio does not report it."""
    if not task.cancelled():
        task.exception()


def run_coroutine(caller: TimedCaller, make: Callable[[], Coroutine[Any, Any, T]], timeout: float) -> T:
    """Run a coroutine from synchronous code, also below a running event loop: in a loop of its own, in another thread.

    The coroutine sees the caller's context variables.

    Raises:
        TimeoutError: it has not ended within `timeout` seconds.
    """
    context = copy_context()
    return caller.call(lambda: context.run(_run, make), timeout)


def _run(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(make())
    raise RuntimeError("no thread left to run a coroutine next to the running event loop")
