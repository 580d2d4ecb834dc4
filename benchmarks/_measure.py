"""The child process of `overhead.py` and `stages.py`: one variant, measured a batch at a time when the parent says so.

Commands come as JSON lines on the standard input, answers leave as JSON lines on the standard output.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any, TextIO

from _chat import InstantChat, messages
from _providers import Providers
from _stopwatch import Stopwatch
from _text import quantile
from _variants import VARIANTS, Variant, install

_DRAIN_S = 30.0
_BATCH = 500
"""Calls between two drains where the parent does not say: fewer than fit in our queue or in that of the spans."""
_WARM_UP = _LONGER = 4
"""How many times as many calls warm the heap up, and follow those that were counted first."""
_WEIGHED = 100
"""Calls whose spans are kept to weigh them."""


class Child:
    """Measures one variant; with a stopwatch, the stages of its reviews, too."""

    def __init__(self, variant: Variant, stopwatch: Stopwatch | None = None) -> None:
        self._stopwatch = stopwatch
        self._providers = Providers()
        self._model = InstantChat()
        began, cpu_began = time.perf_counter(), time.process_time()
        self._flush = install(variant)
        self.installed = {
            "wall_ms": (time.perf_counter() - began) * 1000,
            "cpu_ms": (time.process_time() - cpu_began) * 1000,
        }
        self._loop = asyncio.new_event_loop()
        self._tracer = self._providers.tracer_provider.get_tracer("application")
        self._batches = 0
        self._drafts = 0

    def measure(self, path: str, turn: str, calls: int, *, paced: bool = False) -> dict[str, Any]:
        """Time so many calls inside one span of the application, then wait for what still runs behind them.

        Args:
            path: `invoke`, `ainvoke` or `stream`.
            turn: `short` or `long`.
            calls: how many.
            paced: wait, untimed, after every single call.
        """
        gc.collect()
        pause = self.drain if paced else _no_pause
        cpu = time.process_time_ns()
        with self._tracer.start_as_current_span("application"):
            if path == "ainvoke":
                times, thread_cpu = self._loop.run_until_complete(self._asynchronous(turn, calls, pause))
            else:
                times, thread_cpu = self._synchronous(path, turn, calls, pause)
        self.drain()
        cpu = time.process_time_ns() - cpu
        if not self._batches:
            self._providers.points()  # that they are collected is known from the first time on
        self._batches += 1
        self._drafts += calls
        watched = {} if self._stopwatch is None else {"stages": self._stopwatch.taken(calls)}
        return {
            **watched,
            "median_us": quantile(times, 0.5) / 1000,
            "p99_us": quantile(times, 0.99) / 1000,
            "caller_cpu_us": thread_cpu / calls / 1000,
            "process_cpu_us": cpu / calls / 1000,
        }

    def _synchronous(self, path: str, turn: str, calls: int, pause: Callable[[], None]) -> tuple[list[int], int]:
        times, cpu, clock, thread_clock = [], 0, time.perf_counter_ns, time.thread_time_ns
        prompt, model = messages(turn), self._model
        for _ in range(calls):
            cpu_began, began = thread_clock(), clock()
            if path == "stream":
                for _chunk in model.stream(prompt):
                    pass
            else:
                model.invoke(prompt)
            times.append(clock() - began)
            cpu += thread_clock() - cpu_began
            pause()
        return times, cpu

    async def _asynchronous(self, turn: str, calls: int, pause: Callable[[], None]) -> tuple[list[int], int]:
        times, cpu, clock, thread_clock = [], 0, time.perf_counter_ns, time.thread_time_ns
        prompt, model = messages(turn), self._model
        for _ in range(calls):
            cpu_began, began = thread_clock(), clock()
            await model.ainvoke(prompt)
            times.append(clock() - began)
            cpu += thread_clock() - cpu_began
            pause()
        return times, cpu

    def heap(self, calls: int) -> dict[str, Any]:
        """Return what stays on Python's heap after so many calls, after four times as many more, and for each span.

        The warm-up is four times as many: caches and metric series fill, and memory that was taken before tracing
        began is replaced by memory that is traced.
        """
        tracemalloc.start()
        try:
            self._untimed(_WARM_UP * calls)
            marks = [self._held()]
            for count in (calls, _LONGER * calls):
                self._untimed(count)
                marks.append(self._held())
            (_, _), (near, near_objects), (far, far_objects) = marks
            return {
                "first_bytes": (near - marks[0][0]) / calls,
                "bytes": (far - near) / (_LONGER * calls),
                "objects": (far_objects - near_objects) / (_LONGER * calls),
                **self._weighed(min(calls, _WEIGHED)),
            }
        finally:
            tracemalloc.stop()
            self._providers.spans.kept = None

    def _weighed(self, calls: int) -> dict[str, Any]:
        """Return what one span weighs while the exporter keeps it."""
        self._providers.spans.kept = []
        spans, before = self._providers.spans.spans, self._held()[0]
        self._untimed(calls)
        spans = self._providers.spans.spans - spans
        # A batch also has one span of the application's, which costs little next to the others.
        return {"per_span": (self._held()[0] - before) / spans} if spans > 1 else {}

    def recorded(self) -> dict[str, Any]:
        """Return what one call writes down: the attributes of its spans, and how many points and log records."""
        before = self._providers.points(), self._providers.logs.records
        kept = self._providers.spans.kept = []
        self.measure("invoke", "short", 1)
        self._providers.spans.kept = None
        return {
            "attributes": {
                key: type(value).__name__ for span in kept for key, value in (span.attributes or {}).items()
            },
            "points": self._providers.points() - before[0],
            "logs": self._providers.logs.records - before[1],
        }

    def _untimed(self, calls: int) -> None:
        for start in range(0, calls, _BATCH):
            self.measure("invoke", "short", min(_BATCH, calls - start))

    @staticmethod
    def _held() -> tuple[int, int]:
        gc.collect()
        return tracemalloc.get_traced_memory()[0], len(gc.get_objects())

    def drain(self) -> None:
        """Wait for the reviews of all drafts, and for the exporters.

        Raises:
            TimeoutError: reviews are still open.
        """
        if not self._flush(_DRAIN_S):
            raise TimeoutError(f"reviews are still open after {_DRAIN_S:.0f} s")
        self._providers.flush()

    def counts(self) -> dict[str, Any]:
        """Return what was called, exported, reviewed and dropped since the start."""
        return {
            "drafts": self._drafts,
            "spans": self._providers.spans.spans - self._batches,
            "decisions": self._providers.counted("draftcritic.gate.decisions", "draftcritic.gate.reason"),
            "dropped": self._providers.counted("draftcritic.dropped", "draftcritic.reason"),
        }

    def answer(self, command: dict[str, Any]) -> dict[str, Any]:
        """Do what the parent asks."""
        what = command.pop("do")
        actions: dict[str, Callable[..., dict[str, Any]]] = {
            "measure": self.measure,
            "heap": self.heap,
            "recorded": self.recorded,
            "counts": self.counts,
        }
        return actions[what](**command)


def _no_pause() -> None:
    """Go on at once."""


def _own_stdout() -> TextIO:
    """Keep the pipe to the parent for answers alone: whatever prints goes to the standard error."""
    pipe = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return pipe


def main(name: str, *, staged: bool = False) -> None:
    pipe = _own_stdout()
    # A span that loses attributes logs a line; writing it is no part of a call.
    logging.getLogger("opentelemetry").setLevel(logging.ERROR)
    variant = next(variant for variant in VARIANTS if variant.name == name)

    def say(answer: dict[str, Any]) -> None:
        print(json.dumps(answer), file=pipe, flush=True)

    try:
        stopwatch = Stopwatch() if staged else None
        if stopwatch is not None:
            stopwatch.set()
        child = Child(variant, stopwatch)
    except ImportError as error:
        say({"unavailable": str(error)})
        return
    say({"ready": os.getpid(), "installed": child.installed})
    for line in sys.stdin:
        say(child.answer(json.loads(line)))
    # Other packages' exporters and threads may not hold up the end.
    pipe.close()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], staged="--stages" in sys.argv)
