"""Times the stages of a review in real code: each function without what other timed ones take inside it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from importlib import import_module
from itertools import chain
from statistics import median
from typing import Any

CALLER, WORKER = "caller", "worker"
QUEUE = "put into the queue"
"""The one stage that only a review in the background has."""
LANGCHAIN = "LangChain and the model"
"""The original method: no part of what is added."""

_TRIES, _TRIED = 5, 20_000
"""How often, and with how many calls, a watch's own cost is measured."""
_BORDERS = (
    "draftcritic.langchain._interceptors:Interceptor.generate",
    "draftcritic.langchain._enforce:HoldingInterceptor.generate",
)
STAGES: dict[str, tuple[str, ...]] = {
    "the call is captured": _BORDERS,
    "its place in the trace": ("draftcritic.telemetry._recorder:TelemetryRecorder.capture",),
    "the draft is kept": (
        "draftcritic.langchain._call:Call.drafts_of_result",
        "draftcritic.langchain._call:Call._captured",
    ),
    QUEUE: (
        "draftcritic.review._background:BackgroundRunner.would_reject",
        "draftcritic.review._background:BackgroundRunner.submit",
    ),
    "runtime": ("draftcritic._runtime:Runtime.take", "draftcritic._runtime:Runtime._review"),
    "the turn is built": ("draftcritic._runtime:extract",),
    "sequence of the review": ("draftcritic.review._pipeline:Critic.review",),
    "gate: confidence, signals, reason": ("draftcritic.review._pipeline:assess",),
    "gate: fabrication": ("draftcritic.core._assess:detect_fabrication",),
    "gate: claims": ("draftcritic.core._assess:draft_has_claims",),
    "gate: acknowledgement": ("draftcritic.core._assess:acknowledges",),
    "record: ours": (
        "draftcritic.telemetry._recorder:TelemetryRecorder.begin",
        "draftcritic.telemetry._recorder:TelemetryRecord.finish",
    ),
    "record: attributes chosen": ("draftcritic.telemetry._recorder:review_attributes",),
    "record: points, ours": ("draftcritic.telemetry._metrics:Metrics.reviewed",),
    "record: log event, ours": ("draftcritic.telemetry._recorder:emit_evaluations",),
    "SDK: span started": ("opentelemetry.sdk.trace:Tracer.start_span",),
    "SDK: attributes set": ("opentelemetry.sdk.trace:Span.set_attributes",),
    "SDK: span ended": ("opentelemetry.sdk.trace:Span.end",),
    "SDK: metric points": (
        "opentelemetry.sdk.metrics:Counter.add",
        "opentelemetry.sdk.metrics:Histogram.record",
    ),
}
"""Each stage with the functions that are its own, in the order of a review."""


class Stopwatch:
    """Wraps the functions of `STAGES` once it is `set`."""

    def __init__(self) -> None:
        self._local = threading.local()
        self._caller = threading.get_ident()
        self._originals: dict[Any, Callable[..., Any]] = {}
        self._taken: dict[tuple[str, str], list[float]] = {}
        self._inside = self._outside = 0.0
        self._inside, self._outside = self._own_cost()

    def set(self) -> None:
        """Put a watch around each function.

        Raises:
            AttributeError, ImportError: one of them is not there any more.
        """
        for place in chain.from_iterable(STAGES.values()):
            module, _, path = place.partition(":")
            holder: Any = import_module(module)
            *parents, name = path.split(".")
            for parent in parents:
                holder = getattr(holder, parent)
            function = getattr(holder, name)
            setattr(holder, name, (self._border if place in _BORDERS else self.around)(place, function))

    def _border(self, place: str, function: Callable[..., Any]) -> Callable[..., Any]:
        originals = self._originals

        def border(interceptor: Any, original: Any, /, *args: Any, **kwargs: Any) -> Any:
            watched = originals.get(original)
            if watched is None:
                watched = originals[original] = self.around(LANGCHAIN, original)
                for name in ("callback", "acallback"):  # how handlers of `enforce` run the application's callbacks
                    if hasattr(original, name):
                        setattr(watched, name, getattr(original, name))
            return function(interceptor, watched, *args, **kwargs)

        return self.around(place, border)

    def around(self, place: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with a watch around it."""
        local, clock, begin, book = self._local, time.perf_counter_ns, self._begin, self._book

        def watched(*args: Any, **kwargs: Any) -> Any:
            inner = getattr(local, "inner", None) or begin()
            inner.append(0.0)
            began = clock()
            try:
                return function(*args, **kwargs)
            finally:
                book(place, clock() - began)

        return watched

    def _begin(self) -> list[float]:
        local = self._local
        local.side = CALLER if threading.get_ident() == self._caller else WORKER
        local.inner = [0.0]
        inner: list[float] = local.inner
        return inner

    def _book(self, place: str, took: int) -> None:
        local = self._local
        inner = local.inner.pop()
        local.inner[-1] += took + self._outside
        self._taken.setdefault((local.side, place), []).append(took - inner - self._inside)

    def _own_cost(self) -> tuple[float, float]:
        """Return the nanoseconds that a watch adds to its own function and, beyond that, to the one around it."""
        watched, costs = self.around("", _nothing), []
        for _ in range(_TRIES):
            bare, all_in = _nanoseconds(_nothing), _nanoseconds(watched)
            inside = median(self._taken.pop((CALLER, ""))) - bare
            costs.append((inside, all_in - bare - inside))
        inside, outside = (median(each) for each in zip(*costs, strict=True))
        return max(0.0, inside), max(0.0, outside)

    def taken(self, calls: int) -> dict[str, dict[str, dict[str, float]]]:
        """Return for each thread and stage the microseconds and the number of runs for each call; and reset them.

        A function that ran while another thread held Python's lock took long: its median counts, and not its sum.
        """
        taken, self._taken = self._taken, {}
        found: dict[str, dict[str, dict[str, float]]] = {CALLER: {}, WORKER: {}}
        for (side, place), times in taken.items():
            stage = next((stage for stage, places in STAGES.items() if place in places), place)
            numbers = found[side].setdefault(stage, {"us": 0.0, "times": 0.0})
            numbers["us"] += median(times) * len(times) / calls / 1000
            numbers["times"] += len(times) / calls
        return found


def _nanoseconds(function: Callable[[], None]) -> float:
    began = time.perf_counter_ns()
    for _ in range(_TRIED):
        function()
    return (time.perf_counter_ns() - began) / _TRIED


def _nothing() -> None:
    """Do nothing."""
