"""Lets reviews of the same draft share one call of the critic's model: one under way, or one that has just ended."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass

from draftcritic.core._enums import Failure
from draftcritic.core._prompt import Prompt
from draftcritic.core._review import ModelCall
from draftcritic.review._failures import Fault
from draftcritic.review._lifecycle import after_fork
from draftcritic.review._ports import Reply

_MAX_KEPT = 512
"""Answers that are kept at most, whatever the window: memory stays flat under any load."""


@dataclass(frozen=True)
class Asked:
    """How one call of the critic's model ended.

    Attributes:
        call: the record of the call.
        reply: the answer; None when there is none.
        failure: in which way it failed when there is none.
        error_type: the qualified name of the exception behind that.
        unbilled: it failed in a way that no provider bills.
        prompt: the question.
        fault: what the exception says.
        parts: how the calls about the parts of a draft ended, when it was asked about in parts; there is no reply then.
        unread: characters at the end of the draft that are in no part.
        revision: how the call for a revision of the whole draft ended, when there was one.
    """

    call: ModelCall
    reply: Reply | None = None
    failure: Failure | None = None
    error_type: str | None = None
    unbilled: bool = False
    prompt: Prompt | None = None
    fault: Fault | None = None
    parts: tuple[Asked, ...] = ()
    unread: int = 0
    revision: Asked | None = None


class InFlightCall:
    """A call under way that others may wait for. The caller that started it must `resolve` it exactly once."""

    def __init__(self) -> None:
        self._resolved = threading.Event()
        self._lock = threading.Lock()
        self._waiting: list[Callable[[], None]] = []
        self.asked: Asked | None = None
        """How it ended; None when it came to nothing, because its review was stopped or a limit forbade it."""

    def resolve(self, asked: Asked | None) -> None:
        """Record how the call ended and wake all that wait for it."""
        self.asked = asked
        with self._lock:
            self._resolved.set()
            waiting, self._waiting = self._waiting, []
        for wake in waiting:
            wake()

    def wait(self, timeout: float) -> None:
        """Wait in this thread.

        Raises:
            TimeoutError: it is still under way after `timeout` seconds.
        """
        if not self._resolved.wait(timeout):
            raise TimeoutError(f"no answer within {timeout} s")

    async def await_(self, timeout: float) -> None:
        """Wait without blocking the event loop. See `wait`."""
        loop = asyncio.get_running_loop()
        resolved: asyncio.Future[None] = loop.create_future()

        def settle() -> None:
            if not resolved.done():
                resolved.set_result(None)

        def wake() -> None:
            # A loop that is closed has no waiters.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(settle)

        with self._lock:
            if self._resolved.is_set():
                return
            self._waiting.append(wake)
        try:
            await asyncio.wait({resolved}, timeout=timeout)
        finally:
            with self._lock, suppress(ValueError):
                self._waiting.remove(wake)
        if not resolved.done():
            raise TimeoutError(f"no answer within {timeout} s")


class Sharing:
    """Knows the calls under way and the answers of the last seconds. A forked child knows none.

    Only answers that hold a verdict are kept. A failure is shared with those who were waiting for it, so that a
    model that hangs is not asked again by each of them in turn.

    Args:
        window: seconds that an answer is kept; 0 shares nothing, not even a call under way. May be changed.
        clock: seconds that never go backwards.
    """

    def __init__(self, window: float = 0.0, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.window = window
        self._clock = clock
        self._reset_state()
        after_fork(self._reset_state)

    def _reset_state(self) -> None:
        self._lock = threading.Lock()
        self._flights: dict[Hashable, InFlightCall] = {}
        self._kept: OrderedDict[Hashable, tuple[float, Asked]] = OrderedDict()

    def find(self, key: Hashable) -> Asked | InFlightCall | None:
        """Return the answer to a question, or the call that will bring it; None makes the caller start one."""
        with self._lock:
            self._forget_old()
            kept = self._kept.get(key)
            return self._flights.get(key) if kept is None else kept[1]

    def start(self, key: Hashable) -> InFlightCall | None:
        """Begin the call for a question; None when another one has begun since `find`."""
        with self._lock:
            if key in self._flights or key in self._kept:
                return None
            flight = self._flights[key] = InFlightCall()
            return flight

    def give_up(self, key: Hashable, flight: InFlightCall) -> None:
        """Let the next review ask again: a call has lasted longer than it may, and its review may never go on."""
        with self._lock:
            if self._flights.get(key) is flight:
                del self._flights[key]

    def finish(self, key: Hashable, flight: InFlightCall, asked: Asked | None, *, keep: bool = False) -> None:
        """End a call that `start` began, and keep its answer for a while when it is worth it."""
        with self._lock:
            if self._flights.get(key) is flight:
                del self._flights[key]
            if keep and asked is not None and self.window > 0:
                self._kept.pop(key, None)
                self._kept[key] = (self._clock(), asked)
                while len(self._kept) > _MAX_KEPT:
                    self._kept.popitem(last=False)
        flight.resolve(asked)

    def _forget_old(self) -> None:
        """Go by the window of now, which need not be the one in which an answer was kept."""
        latest = self._clock() - self.window
        while self._kept:
            key, (kept, _) = next(iter(self._kept.items()))
            if kept > latest:
                return
            del self._kept[key]
