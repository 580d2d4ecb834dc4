"""Marks what is traced inside the critic's own call, whoever traces it."""

from __future__ import annotations

import sys
from contextvars import ContextVar, Token
from types import TracebackType
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from opentelemetry import context as context_api

from draftcritic.telemetry import names

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import Span, SpanProcessor

_INSIDE_KEY = "draftcritic-internal"
_INFERENCE_KEY = "opentelemetry.genai.client.inference.context"
"""Where the official GenAI instrumentation keeps the open model call; with one there it swallows the critic's."""
_SDK = "opentelemetry.sdk.trace"

# A provider keeps its processors for life, so this outlives every recorder. The processor itself is inert outside
# of the critic's calls.
_stamped: WeakSet[Any] = WeakSet()
_inside: ContextVar[bool] = ContextVar("draftcritic_inside_call", default=False)


class Surroundings:
    """A block whose spans belong to the review: for `with`, in synchronous code or inside one coroutine."""

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
            # Tells whether this is still the context that was entered: `detach` itself would log when it is not.
            _inside.reset(self._mark)
        except (ValueError, RuntimeError):
            return
        context_api.detach(self._token)


def stamp_spans_of(provider: Any) -> None:
    """Let every span that `provider` starts inside a critic's call carry `draftcritic.internal`.

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
