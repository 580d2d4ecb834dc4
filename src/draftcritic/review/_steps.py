"""How far a review has come."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, Protocol

from draftcritic.core._enums import GateReason
from draftcritic.core._review import Assessment, ModelCall, Review
from draftcritic.core._turn import Turn
from draftcritic.review._call_slots import CallSlot
from draftcritic.review._calls import NoThreadError, TimedCaller, run_coroutine
from draftcritic.review._ports import CriticModel, NullRecord, Permit, Reply, ReviewRecord

LARGE_TURN = 10_000
"""Characters of a draft and its sources from which its checks leave the event loop: some ten milliseconds."""
_COMPUTE_LIMIT = 120.0
"""Seconds that a check may take in another thread. Every check is linear in the text."""
_NO_RECORD = NullRecord()


def _always() -> bool:
    return True


@dataclass(slots=True)
class Progress:
    """What the end of a review reports, whichever way it ends.

    Attributes:
        turn: what is reviewed.
        origin: where the draft is in its trace.
        wanted: whether the review may still be written down; asked once, at its end.
        record: follows the review.
        assessment: what the deterministic part found, when it came so far.
        call: the model call, when it came so far.
        started: when the review began.
    """

    turn: Turn
    origin: Any = None
    wanted: Callable[[], bool] = _always
    record: ReviewRecord = _NO_RECORD
    assessment: Assessment | None = None
    call: ModelCall | None = None
    started: float = field(default_factory=time.perf_counter)

    @classmethod
    def of(cls, turn: Turn, origin: Any, wanted: Callable[[], bool] | None = None) -> Progress:
        """Begin a review."""
        return cls(turn, origin, wanted or _always)


class Step(Protocol):
    """Something to do outside, of which the sequence itself only learns the result."""

    def run(self) -> Any:
        """Do it in this thread."""
        ...

    async def arun(self) -> Any:
        """Do it without blocking the event loop."""
        ...


@dataclass(frozen=True)
class AskStep:
    """Asks the critic's model."""

    model: CriticModel
    messages: Sequence[Any]
    timeout: float
    record: ReviewRecord
    place: CallSlot

    def run(self) -> Reply:
        """Ask with the blocking call."""
        with self.record.calling(), self.place.taken():
            return self.model.call(self.messages, self.timeout)

    async def arun(self) -> Reply:
        """Ask with the asynchronous call."""
        with self.record.calling(), self.place.taken():
            return await self.model.acall(self.messages, self.timeout)


@dataclass(frozen=True)
class ComputeStep:
    """Calls a function of the plugin's own; one with much text to read blocks no event loop.

    Attributes:
        function: what to call.
        arguments: its positional arguments.
        turn: what the function reads.
        text: what it reads besides.
        caller: runs it in another thread where that is much.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    turn: Turn
    text: str
    caller: TimedCaller

    def run(self) -> Any:
        """Call it in this thread."""
        return self.function(*self.arguments)

    async def arun(self) -> Any:
        """Call it here when that is quick, and else in another thread."""
        if len(self.text) + size_of_turn(self.turn) < LARGE_TURN:
            return self.run()
        context = copy_context()
        try:
            return await self.caller.acall(partial(context.run, self.run), _COMPUTE_LIMIT)
        except NoThreadError:
            return self.run()  # a check that is late is better than none


def size_of_turn(turn: Turn) -> int:
    """Return how many characters a draft and its sources have, counted up to `LARGE_TURN` or a little more."""
    waiting: list[Any] = [
        turn.draft,
        turn.user_message,
        turn.context,
        turn.hearsay,
        turn.tool_calls,
        turn.hearsay_calls,
        turn.sources,
    ]
    total = 0
    while waiting and total < LARGE_TURN:
        value = waiting.pop()
        if isinstance(value, (str, bytes)):
            total += len(value)
            continue
        total += 1
        if isinstance(value, Mapping):
            waiting.extend(islice(value.values(), LARGE_TURN))
        elif isinstance(value, (list, tuple)):
            waiting.extend(islice(value, LARGE_TURN))
    return total


@dataclass(frozen=True)
class MakeStep:
    """Makes the critic's model. A source that says it is `slow` now, as an import is, blocks no event loop."""

    source: Callable[[], CriticModel]
    caller: TimedCaller
    timeout: float

    def run(self) -> CriticModel:
        """Make it in this thread."""
        return self.source()

    async def arun(self) -> CriticModel:
        """Make it here when that is quick, and else in another thread."""
        if getattr(self.source, "slow", False):
            return await self.caller.acall(self.source, self.timeout)
        return self.source()


@dataclass(frozen=True)
class AdmitStep:
    """Asks the limits. Those that are `slow`, as a store in another process is, block no event loop."""

    admit: Callable[[], Permit | GateReason]
    slow: bool
    caller: TimedCaller
    timeout: float

    def run(self) -> Permit | GateReason:
        """Ask in this thread."""
        return self.admit()

    async def arun(self) -> Permit | GateReason:
        """Ask here when that is quick, and else in another thread."""
        return await self.caller.acall(self.admit, self.timeout) if self.slow else self.admit()


@dataclass(frozen=True)
class AwaitStep:
    """Runs a coroutine that keeps its own time limit; `limit` is for one that blocks its thread."""

    make: Callable[[], Coroutine[Any, Any, Any]]
    caller: TimedCaller
    limit: float

    def run(self) -> Any:
        """Run it in an event loop of its own."""
        return run_coroutine(self.caller, self.make, self.limit)

    async def arun(self) -> Any:
        """Run it in the caller's event loop."""
        return await self.make()


_left: set[asyncio.Task[Any]] = set()
"""Tasks without a waiter: the event loop itself keeps only weak references to them."""


@dataclass(frozen=True)
class LeaveStep:
    """Starts a coroutine that keeps its own time limit, and does not wait for it: the caller is about to end."""

    make: Callable[[], Coroutine[Any, Any, Any]]

    def run(self) -> None:
        """Start it in a thread of its own."""
        run = partial(copy_context().run, _run_quietly, self.make)
        with suppress(RuntimeError):  # no more threads, or the interpreter is ending
            threading.Thread(target=run, name="draftcritic-hooks", daemon=True).start()

    async def arun(self) -> None:
        """Start it in the caller's event loop."""
        task = asyncio.ensure_future(self.make())
        _left.add(task)
        task.add_done_callback(_left.discard)


def _run_quietly(make: Callable[[], Coroutine[Any, Any, Any]]) -> None:
    with suppress(Exception):  # hooks report their own failures
        asyncio.run(make())


Flow = Generator[Step, Any, Review]
"""A review under way."""


def drive(flow: Flow) -> Review:
    """Do the steps of a review in this thread."""
    return _drive(flow, flow.__next__)


def _drive(flow: Flow, begin: Callable[[], Step]) -> Review:
    try:
        step = begin()
        while True:
            step = _advance(flow, step)
    except StopIteration as end:
        review: Review = end.value
        return review


def _advance(flow: Flow, step: Step) -> Step:
    try:
        answer = step.run()
    except BaseException as error:
        return flow.throw(error)
    return flow.send(answer)


async def adrive(flow: Flow) -> Review:
    """Do the steps of a review without blocking the event loop."""
    outcome: Callable[[], Step] = flow.__next__
    while True:
        try:
            step = outcome()
        except StopIteration as end:
            review: Review = end.value
            return review
        outcome = await _aadvance(flow, step)


async def _aadvance(flow: Flow, step: Step) -> Callable[[], Step]:
    """Do a step, and return what resumes the review: a StopIteration cannot leave a coroutine."""
    try:
        answer = await step.arun()
    except GeneratorExit:
        # A coroutine that is being closed may not await: what is left runs as for a synchronous caller.
        with suppress(asyncio.CancelledError):
            _drive(flow, lambda: flow.throw(asyncio.CancelledError("closed")))
        raise
    except BaseException as error:
        caught = error
        return lambda: flow.throw(caught)
    return lambda: flow.send(answer)
