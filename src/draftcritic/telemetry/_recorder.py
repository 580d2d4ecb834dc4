"""The telemetry recorder, and the boundary that contains failures of our own telemetry."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import _logs, metrics, trace
from opentelemetry.trace import SpanKind, Status, StatusCode

from draftcritic.core._enums import CircuitState, GateDecision, GateReason, Mode
from draftcritic.core._models import SkuBound, normalise_sku
from draftcritic.core._review import Failed, ModelCall, Review
from draftcritic.core._turn import Turn
from draftcritic.grounding._findings import KINDS
from draftcritic.telemetry import names
from draftcritic.telemetry._content import Capture, capture_from_environment
from draftcritic.telemetry._context import (
    CriticCallScope,
    Origin,
    capture_origin,
    openinference_is_on,
    pack_origin,
    stamp_spans_of,
    unpack_origin,
)
from draftcritic.telemetry._evaluation import emit_evaluations
from draftcritic.telemetry._metrics import Metrics
from draftcritic.telemetry._process_span import current, start_process_span
from draftcritic.telemetry._span import call_end_attributes, call_start_attributes, review_attributes

if TYPE_CHECKING:
    from opentelemetry._logs import LoggerProvider
    from opentelemetry.context import Context
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Span, TracerProvider

logger = logging.getLogger("draftcritic")


class Boundary:
    """Keeps telemetry failures away from the application: counts each, logs each kind once.

    An exception's message can quote the draft, so only its type is logged. Code that runs for every draft uses
    `except Exception` and `caught`, which costs nothing without an error; other code uses `around`.

    Attributes:
        failures: how many were caught.
    """

    def __init__(self) -> None:
        self.failures = 0
        self._logged: set[tuple[str, str]] = set()
        self._blocks: dict[str, _SuppressedBlock] = {}

    def around(self, place: str) -> _SuppressedBlock:
        """Return a block that suppresses every `Exception` raised inside; the log names `place`, a fixed word."""
        block = self._blocks.get(place)
        if block is None:
            # The block has no state, so all threads can share it.
            block = self._blocks[place] = _SuppressedBlock(self, place)
        return block

    def caught(self, place: str, error: Exception) -> None:
        """Count a failure, and log it if it is the first of its kind."""
        self.failures += 1
        kind = (place, type(error).__qualname__)
        if kind not in self._logged:
            self._logged.add(kind)
            logger.warning("telemetry failed in %s: %s; logged once", *kind)


class _SuppressedBlock:
    __slots__ = ("_boundary", "_place")

    def __init__(self, boundary: Boundary, place: str) -> None:
        self._boundary: Final = boundary
        self._place: Final = place

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        self._boundary.caught(self._place, error)
        return True


_SKU_CACHE_SIZE = 64
"""Normalised SKUs in the cache: an application calls few models."""


class TelemetryRecorder:
    """The observer that turns reviews into spans, a log event and metrics. No method raises.

    A provider that is not given is the global one, even when the application sets it later.

    Args:
        tracer_provider: gets the review spans.
        meter_provider: gets the metrics.
        logger_provider: gets the evaluation events.
        mode: the mode of the reviews, for the metric series that exist from the start.
        critic_sku: the SKU of the critic's model when it is known from the start, for the same reason.
        rules: the ids of the loaded preferences and rules, for the same reason.
        threshold: the confidence threshold of reviews that do not record their own.
        capture: where content may go; by default what the environment variable
            `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` says.
    """

    def __init__(
        self,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        logger_provider: LoggerProvider | None = None,
        *,
        mode: Mode = Mode.OBSERVE,
        critic_sku: str | None = None,
        rules: Collection[str] = (),
        threshold: float | None = None,
        capture: Capture | None = None,
    ) -> None:
        self.boundary = Boundary()
        self.content = capture_from_environment() if capture is None else capture
        self.threshold = threshold
        self._tracer_provider = tracer_provider
        self._meter_provider = meter_provider
        self._zeroed: MeterProvider | None = None
        self._stamped: TracerProvider | None = None
        self.sku_of = lru_cache(_SKU_CACHE_SIZE)(normalise_sku)
        release = _version()
        self.tracer = trace.get_tracer(names.SCOPE, release, tracer_provider)
        self.logger = _logs.get_logger(names.SCOPE, release or "", logger_provider)
        meter = metrics.get_meter(names.SCOPE, release or "", meter_provider)
        self._openinference_kind = "GUARDRAIL" if mode is Mode.ENFORCE else "EVALUATOR"
        self.metrics = Metrics(meter, SkuBound(), KINDS, mode, rules)
        with self.boundary.around("start"):
            if critic_sku:
                self.metrics.expect_sku(critic_sku)
            self._register_providers()

    def capture(self, run_id: Any = None) -> Origin | None:
        """Return the trace context of the current code.

        Args:
            run_id: the id of the LangChain run that is open here, when known.
        """
        try:
            return capture_origin(run_id)
        except Exception as error:
            self.boundary.caught("capture", error)
            return None

    def trace_id(self, origin: Any) -> int | None:
        """Return the trace id of a value of `capture`; None when there is none."""
        if not isinstance(origin, Origin):
            return None
        with self.boundary.around("trace_id"):
            span = trace.get_current_span(origin.context).get_span_context()
            return span.trace_id if span.is_valid else None
        return None

    def begin(self, turn: Turn, origin: Any) -> TelemetryRecord:
        """Open the span of one review under `origin`; it is current only around the critic's call."""
        span: Span = trace.INVALID_SPAN
        if not isinstance(origin, Origin):
            origin = self.capture() or Origin(trace.set_span_in_context(span))
        context: Context = origin.context
        try:
            self._register_providers()
        except Exception as error:
            self.boundary.caught("providers", error)
        try:
            if not origin.suppressed:
                span = self.tracer.start_span(names.SPAN_REVIEW, context, SpanKind.INTERNAL)
                context = trace.set_span_in_context(span, context)
                if openinference_is_on():
                    span.set_attribute(names.OPENINFERENCE_KIND, self._openinference_kind)
        except Exception as error:
            self.boundary.caught("begin", error)
        return TelemetryRecord(self, turn, span, context, origin)

    def dropped(self, reason: str) -> None:
        """Count a draft that was lost before its review. See `ReviewObserver.dropped`."""
        try:
            self.metrics.dropped(reason)
        except Exception as error:
            self.boundary.caught("dropped", error)

    def nested(self) -> None:
        """Count a call that was not reviewed because it is the critic's own."""
        with self.boundary.around("nested"):
            self.metrics.decided(GateDecision.NOT_EVALUATED, GateReason.NESTED)

    def muted(self) -> None:
        """Count a draft that was written inside a `muted` block: it has no span."""
        try:
            self.metrics.muted()
        except Exception as error:
            self.boundary.caught("muted", error)

    def displaced(self) -> None:
        """Count a draft that did not fit into the queue: it never reached the gate and has no span."""
        try:
            self.metrics.decided(GateDecision.NOT_EVALUATED, GateReason.QUEUE_FULL)
        except Exception as error:
            self.boundary.caught("displaced", error)

    def queue_depth(self, change: int) -> None:
        """Record that the background queue has grown (positive) or shrunk (negative)."""
        try:
            self.metrics.queue_depth(change)
        except Exception as error:
            self.boundary.caught("queue_depth", error)

    def circuit(self, sku: str, state: CircuitState) -> None:
        """Record the new state of a critic model's circuit."""
        with self.boundary.around("circuit"):
            self.metrics.circuit(sku, state)

    def policy_loaded(self, whole: bool) -> None:
        """Record whether the policy's file was reloaded."""
        with self.boundary.around("policy_loaded"):
            self.metrics.policy_loaded(whole)

    def packed(self, origin: Any) -> dict[str, str]:
        """Return an origin as texts that another process can read."""
        with self.boundary.around("packed"):
            return pack_origin(origin)
        return {}

    def unpacked(self, packed: Mapping[str, str]) -> Any:
        """Return the origin of `packed`."""
        with self.boundary.around("unpacked"):
            return unpack_origin(packed)
        return None

    def dead_lettered(self, reason: str) -> None:
        """Count a draft that was put aside: `schema`, `attempts` or `error`."""
        with self.boundary.around("dead_lettered"):
            self.metrics.dead_lettered(reason)

    def delivered(self, age: float, again: bool) -> None:
        """Record how long a draft has waited for its delivery, and whether that had begun before."""
        with self.boundary.around("delivered"):
            self.metrics.delivered(age, again)

    def other_release(self, *, newer: bool, older: bool) -> None:
        """Count a draft of another release. See `FleetObserver.other_release`."""
        with self.boundary.around("other_release"):
            self.metrics.other_release(newer=newer, older=older)

    def processing(self, packed: Mapping[str, str], queue: str, id_: str) -> AbstractContextManager[None]:
        """Return the block in which a worker has a draft. See `FleetObserver.processing`."""
        with self.boundary.around("processing"):
            return current(start_process_span(self.tracer, unpack_origin(packed), queue, id_))
        return nullcontext()

    def budget_local(self) -> None:
        """Count a call that was decided without the shared store of the budgets."""
        with self.boundary.around("budget_local"):
            self.metrics.budget_local()

    def watch_spool(self, spool: Callable[[], tuple[int, float]] | None) -> None:
        """Report the size in bytes and the age in seconds that a function returns."""
        with self.boundary.around("watch_spool"):
            self.metrics.watch_spool(spool)

    def info(self, mode: Mode, policy_version: str, delivery: str, sku: str | None) -> None:
        """Report what this process runs now."""
        with self.boundary.around("info"):
            self.metrics.info(
                {
                    names.VERSION: _version() or "",
                    names.MODE: mode.value,
                    names.POLICY_VERSION: policy_version,
                    names.DELIVERY: delivery,
                    names.SKU: sku or "",
                }
            )

    def close(self) -> None:
        """Stop reporting the critic's state: the plugin has been uninstrumented."""
        with self.boundary.around("close"):
            self.metrics.close()

    def _register_providers(self) -> None:
        """Set up providers that are new since the last call: earlier measurements went to a no-op provider."""
        meter_provider = self._meter_provider or metrics.get_meter_provider()
        if meter_provider is not self._zeroed:
            self._zeroed = meter_provider
            self.metrics.start_at_zero(meter_provider)
        tracer_provider = self._tracer_provider or trace.get_tracer_provider()
        if tracer_provider is not self._stamped:
            stamp_spans_of(tracer_provider)
            self._stamped = tracer_provider


class TelemetryRecord:
    """Follows one review. No method raises."""

    __slots__ = ("_context", "_finished", "_origin", "_recorder", "_span", "_turn")

    def __init__(self, recorder: TelemetryRecorder, turn: Turn, span: Span, context: Context, origin: Origin) -> None:
        self._recorder = recorder
        self._turn = turn
        self._span = span
        self._context = context
        self._origin = origin
        self._finished = False

    def calling(self) -> CriticCallScope:
        """Return the block for the model call: spans inside are marked and become children of the review."""
        return CriticCallScope(self._context)

    def call_started(self, model: str, sku: str, run_id: str) -> None:
        """Write the event `on_llm_start`."""
        with self._recorder.boundary.around("call_started"):
            self._recorder.metrics.expect_sku(sku)
            if self._span.is_recording():
                self._span.add_event(names.EVENT_LLM_START, call_start_attributes(model, sku, run_id))

    def call_ended(self, call: ModelCall, run_id: str) -> None:  # noqa: ARG002  # the port gives it
        """Write the event `on_llm_end`."""
        with self._recorder.boundary.around("call_ended"):
            if self._span.is_recording():
                self._span.add_event(names.EVENT_LLM_END, call_end_attributes(call))

    def finish(self, review: Review) -> None:
        """End the span, then record the metrics and the evaluation; a second call does nothing."""
        if self._finished:
            return
        self._finished = True
        recorder = self._recorder
        try:
            self._end_span(review)
        except Exception as error:
            recorder.boundary.caught("span", error)
        try:
            recorder.metrics.reviewed(review, self._context)
        except Exception as error:
            recorder.boundary.caught("metrics", error)
        if self._origin.suppressed:
            return
        try:
            evaluated = self._origin.evaluated or self._context
            emit_evaluations(recorder.logger, review, evaluated, with_content=recorder.content.on_event)
        except Exception as error:
            recorder.boundary.caught("evaluation", error)

    def _end_span(self, review: Review) -> None:
        try:
            if self._span.is_recording():
                self._write(review)
        finally:
            self._span.end()

    def _write(self, review: Review) -> None:
        attributes = review_attributes(
            review,
            self._recorder.sku_of(self._turn.draft_model),
            threshold=self._recorder.threshold,
            with_content=self._recorder.content.on_span,
        )
        self._span.set_attributes(attributes)
        if isinstance(review.reflection, Failed):
            self._span.set_status(Status(StatusCode.ERROR))


def _version() -> str | None:
    try:
        return version("draftcritic")
    except PackageNotFoundError:
        return None
