"""The span of a worker while it has a draft: its own trace, with a link to that of the draft."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanKind, Tracer

from draftcritic.telemetry import names
from draftcritic.telemetry._context import Origin


def start_process_span(tracer: Tracer, origin: Origin, queue: str, id_: str) -> Span:
    """Return the started span; one that records nothing for a draft whose trace is not sampled or is unwanted.

    Args:
        tracer: of this package.
        origin: of the draft.
        queue: the name of the queue that the draft came from.
        id_: the draft's id.
    """
    draft = trace.get_current_span(origin.context).get_span_context()
    if origin.suppressed or (draft.is_valid and not draft.trace_flags.sampled):
        return trace.INVALID_SPAN
    return tracer.start_span(
        f"{names.OPERATION_PROCESS} {queue}",
        Context(),
        SpanKind.CONSUMER,
        {
            names.MESSAGING_SYSTEM: names.MESSAGING_RABBITMQ,
            names.MESSAGING_OPERATION: names.OPERATION_PROCESS,
            names.MESSAGING_OPERATION_NAME: names.OPERATION_PROCESS,
            names.MESSAGING_DESTINATION: queue,
            names.MESSAGING_ID: id_,
        },
        links=[Link(draft)] if draft.is_valid else (),
    )


@contextmanager
def current(span: Span) -> Iterator[None]:
    """Make a span the current one, and end it; what is raised inside goes through, and is not written into the span."""
    with trace.use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
        yield
