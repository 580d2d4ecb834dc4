"""The trace context of a draft, and the scope of the critic's own call."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextvars import ContextVar, Token
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID
from weakref import WeakSet

from opentelemetry import context as context_api
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from draftcritic.telemetry import names

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor

_OPENINFERENCE = "openinference.instrumentation.langchain"
_MODEL_OPERATIONS = frozenset({"chat", "text_completion", "generate_content"})
"""Values of `gen_ai.operation.name` on the span of a model call."""
_MODEL_RUNS = frozenset({"chat_model", "llm"})
"""LangChain's run types of a model call."""
_SUPPRESSED_BEFORE = "suppress_instrumentation"
_SUPPRESSED = getattr(context_api, "_SUPPRESS_INSTRUMENTATION_KEY", _SUPPRESSED_BEFORE)
"""The API has no public name for it, and spelled it otherwise before."""


class Origin(NamedTuple):
    """Where a draft was written.

    Attributes:
        context: the parent of the review.
        evaluated: the context of the model call that wrote the draft, when its span is known.
        suppressed: the application does not want spans from here.
    """

    context: Context
    evaluated: Context | None = None
    suppressed: bool = False


def capture_origin(run_id: Any = None) -> Origin:
    """Return the trace context of the current code.

    The current span is the parent. OpenInference never makes its spans current, so without a current span its open
    span of the run is taken.

    Args:
        run_id: the id of the LangChain run that is open here, when known.
    """
    context = context_api.get_current()
    current = trace.get_current_span(context)
    run_span, is_model_run = _open_run_span(run_id)
    if run_span is not None and not current.get_span_context().is_valid:
        context = trace.set_span_in_context(run_span, context)
    evaluated = None
    if run_span is not None and is_model_run:
        evaluated = trace.set_span_in_context(run_span, context)
    elif _is_model_call(current):
        evaluated = context
    return Origin(context, evaluated, bool(context.get(_SUPPRESSED) or context.get(_SUPPRESSED_BEFORE)))


_W3C = TraceContextTextMapPropagator()
_PARENT, _STATE, _EVALUATED, _SUPPRESSES = "traceparent", "tracestate", "evaluated", "suppressed"


def pack_origin(origin: Any) -> dict[str, str]:
    """Return an origin in the form of W3C's trace context; empty for what is no origin."""
    if not isinstance(origin, Origin):
        return {}
    packed: dict[str, str] = {}
    _W3C.inject(packed, origin.context)
    if origin.evaluated is not None:
        evaluated: dict[str, str] = {}
        _W3C.inject(evaluated, origin.evaluated)
        if _PARENT in evaluated:
            packed[_EVALUATED] = evaluated[_PARENT]
    if origin.suppressed:
        packed[_SUPPRESSES] = "1"
    return packed


def unpack_origin(packed: Mapping[str, str]) -> Origin:
    """Return the origin of `pack_origin`. Flags stay as they were: what was not sampled is not sampled here."""
    state = packed.get(_STATE, "")
    parent = _W3C.extract({_PARENT: packed.get(_PARENT, ""), _STATE: state}, Context())
    evaluated = _W3C.extract({_PARENT: packed.get(_EVALUATED, ""), _STATE: state}, Context())
    return Origin(parent, evaluated or None, bool(packed.get(_SUPPRESSES)))


def _is_model_call(span: Span) -> bool:
    # The API cannot read attributes back; spans of an SDK can.
    attributes = getattr(span, "attributes", None)
    if not attributes or not hasattr(attributes, "get"):
        return False
    return attributes.get(names.GEN_AI_OPERATION_NAME) in _MODEL_OPERATIONS or "llm.request.type" in attributes


def _open_run_span(run_id: Any) -> tuple[Span | None, bool]:
    """Return OpenInference's open span of the run, and whether the run is a model call."""
    tracer = _openinference_tracer()
    uuid = _uuid(run_id) if tracer is not None else None
    if uuid is None:
        return None, False
    span = tracer.get_span(uuid)
    if not isinstance(span, Span) or not span.get_span_context().is_valid:
        return None, False
    run = tracer.run_map.get(str(uuid))
    return span, getattr(run, "run_type", None) in _MODEL_RUNS


def openinference_is_on() -> bool:
    """Return whether OpenInference's LangChain instrumentation is instrumented in this process."""
    return _openinference_tracer() is not None


def _openinference_tracer() -> Any:
    """Return the tracer of OpenInference's LangChain instrumentation while it is instrumented.

    Its public `get_span` prints when it is not, so the tracer is looked at first. It is never imported from here.
    """
    module = sys.modules.get(_OPENINFERENCE)
    if module is None:
        return None
    instrumentor = getattr(getattr(module, "LangChainInstrumentor", None), "_instance", None)
    return getattr(instrumentor, "_tracer", None)


def _uuid(run_id: Any) -> UUID | None:
    if isinstance(run_id, UUID):
        return run_id
    if isinstance(run_id, str):
        try:
            return UUID(run_id)
        except ValueError:
            return None
    return None


_INSIDE_KEY = "draftcritic-internal"
_INFERENCE_KEY = "opentelemetry.genai.client.inference.context"
"""Where the official GenAI instrumentation keeps the open model call; with one there it swallows the critic's."""
_SDK = "opentelemetry.sdk.trace"

# A provider keeps its processors for life, so this outlives every recorder. The processor itself is inert outside
# of the critic's calls.
_stamped: WeakSet[Any] = WeakSet()
_inside: ContextVar[bool] = ContextVar("draftcritic_inside_call", default=False)


class CriticCallScope:
    """A `with` block whose spans belong to the review, in synchronous code or inside one coroutine."""

    __slots__ = ("_context", "_mark", "_token")

    def __init__(self, context: Context) -> None:
        self._context = context
        self._mark: Token[bool] | None = None
        self._token: Token[Context] | None = None

    def __enter__(self) -> None:
        context = context_api.set_value(_INFERENCE_KEY, None, self._context)
        context = context_api.set_value(_INSIDE_KEY, True, context)
        self._mark = _inside.set(True)
        self._token = context_api.attach(context)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._mark is None or self._token is None:
            return
        try:
            # Fails in any context but the one that was entered; `detach` itself would log an error there.
            _inside.reset(self._mark)
        except (ValueError, RuntimeError):
            return
        context_api.detach(self._token)


def stamp_spans_of(provider: Any) -> None:
    """Set `draftcritic.internal` on every span that `provider` starts inside a critic's call.

    Does nothing for a provider that is not the SDK's.
    """
    if provider in _stamped or _SDK not in sys.modules or not hasattr(provider, "add_span_processor"):
        return
    _stamped.add(provider)
    provider.add_span_processor(_processor())


def _processor() -> SpanProcessor:
    from opentelemetry.sdk.trace import SpanProcessor

    class InternalStamp(SpanProcessor):
        def on_start(self, span: Span, parent_context: Context | None = None) -> None:
            inside = context_api.get_value(_INSIDE_KEY, parent_context) or context_api.get_value(_INSIDE_KEY)
            if inside:
                span.set_attribute(names.INTERNAL, True)

    return InternalStamp()
