"""What can stand around a model call: nothing, a patch, draftcritic, a neighbour, or two of them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from opentelemetry import metrics, trace

BARE = "bare"
REFERENCE = "official GenAI"
"""The others' added time is given as a share of this one's."""


@dataclass(frozen=True)
class Variant:
    """One way to run the same calls.

    Attributes:
        name: as `--only` and the table call it.
        parts: what is switched on, in this order; keys of the installers.
        spans: how many spans a call gives; None when that is not ours to say.
    """

    name: str
    parts: tuple[str, ...] = ()
    spans: int | None = None

    @property
    def reviews(self) -> bool:
        """Whether draftcritic is switched on."""
        return any(part.startswith("ours") for part in self.parts)


VARIANTS = (
    Variant(BARE, (), 0),
    Variant("bare patch", ("patch",), 0),
    Variant("patch + span", ("span",), 1),
    Variant("patch + span + 3 points", ("floor",), 1),
    Variant("patch + all that ours writes", ("floor-ours",), 1),
    Variant("ours, observe", ("ours-background",), 1),
    Variant("ours, observe, spool", ("ours-spool",), 1),
    Variant("ours, observe inline", ("ours-inline",), 1),
    Variant("ours, gate", ("ours-gate",), 1),
    Variant("ours, enforce", ("ours-enforce",), 1),
    Variant(REFERENCE, ("genai",)),
    Variant("OpenLLMetry", ("openllmetry",)),
    Variant("OpenInference", ("openinference",)),
    Variant("official GenAI + ours", ("genai", "ours-background")),
    Variant("OpenLLMetry + ours", ("openllmetry", "ours-background")),
    Variant("OpenInference + ours", ("openinference", "ours-background")),
)


def install(variant: Variant) -> Callable[[float], bool]:
    """Switch a variant on in this process.

    Returns:
        what waits, for so many seconds at most, until the reviews of all drafts so far are done.

    Raises:
        ImportError: a package that it needs is not installed.
    """
    flush: Callable[[float], bool] = _nothing_to_flush
    for part in variant.parts:
        flush = _INSTALLERS[part]() or flush
    return flush


def _nothing_to_flush(_: float) -> bool:
    return True


def _patch(around: Callable[[], AbstractContextManager[Any]] = nullcontext) -> None:
    """Put `around` around the three methods that the benchmark calls."""
    from langchain_core.language_models import BaseChatModel

    invoke, ainvoke, stream = BaseChatModel.invoke, BaseChatModel.ainvoke, BaseChatModel.stream

    def patched_invoke(self: Any, *args: Any, **kwargs: Any) -> Any:
        with around():
            return invoke(self, *args, **kwargs)

    async def patched_ainvoke(self: Any, *args: Any, **kwargs: Any) -> Any:
        with around():
            return await ainvoke(self, *args, **kwargs)

    def patched_stream(self: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        with around():
            yield from stream(self, *args, **kwargs)

    for name, method in (("invoke", patched_invoke), ("ainvoke", patched_ainvoke), ("stream", patched_stream)):
        setattr(BaseChatModel, name, method)


def _span() -> None:
    tracer = trace.get_tracer("floor")
    _patch(lambda: tracer.start_as_current_span("floor", attributes={"model": "gpt-4o-mini"}))


def _span_and_points() -> None:
    tracer, meter = trace.get_tracer("floor"), metrics.get_meter("floor")
    reviews, decisions = meter.create_counter("floor.reviews"), meter.create_counter("floor.decisions")
    duration = meter.create_histogram("floor.duration")

    @contextmanager
    def around() -> Iterator[None]:
        with tracer.start_as_current_span("floor", attributes={"model": "gpt-4o-mini"}):
            yield
            reviews.add(1, {"verdict": "approve"})
            decisions.add(1, {"decision": "skipped"})
            duration.record(0.001, {"verdict": "approve"})

    _patch(around)


_WRITTEN: dict[str, Any] = {
    "draftcritic.node_name": "critic",
    "draftcritic.run_id": "019acb3e-5d5c-7d60-b2ba-9e8b4b1f3c55",
    "draftcritic.policy.version": "0123456789ab",
    "draftcritic.draft.length": 15,
    "draftcritic.draft.streamed": False,
    "draftcritic.draft.exposed": False,
    "draftcritic.draft.model": "gpt-4o-mini-2024-07-18",
    "draftcritic.draft.sku": "gpt-4o-mini",
    "draftcritic.fabrication.kinds": [],
    "draftcritic.fabrication.count": 0,
    "draftcritic.confidence.threshold": 0.5,
    "draftcritic.gate.signals": ["confident", "trivial_ack"],
    "draftcritic.confidence": 0.5,
    "draftcritic.mode": "observe",
    "draftcritic.gate.decision": "skipped",
    "draftcritic.gate.reason": "trivial_ack",
    "draftcritic.action": "recorded",
    "draftcritic.verdict.source": "none",
    "draftcritic.outcome": "skipped",
}
"""The attributes of a skipped review's span."""


def _all_that_ours_writes() -> None:
    """Write the span and the points of a skipped review, with nothing behind them."""
    tracer, meter = trace.get_tracer("floor"), metrics.get_meter("floor")
    reviews, decisions = meter.create_counter("floor.reviews"), meter.create_counter("floor.decisions")
    duration, confidence = meter.create_histogram("floor.duration"), meter.create_histogram("floor.confidence")
    labels = [{f"floor.{name}": "word" for name in names} for names in ("abcde", "ab", "ab", "a")]

    @contextmanager
    def around() -> Iterator[None]:
        span = tracer.start_span("floor")
        context = trace.set_span_in_context(span)
        yield
        span.set_attributes(_WRITTEN)
        span.end()
        reviews.add(1, labels[0], context)
        decisions.add(1, labels[1], context)
        duration.record(0.001, labels[2], context)
        confidence.record(0.5, labels[3], context)

    _patch(around)


def _ours(**options: Any) -> Callable[[float], bool]:
    from draftcritic.instrumentor import DraftCriticInstrumentor

    instrumentor = DraftCriticInstrumentor()
    instrumentor.instrument(selective_gate=True, **options)
    return instrumentor.flush


def _ours_with_spool() -> Callable[[float], bool]:
    # Also what `delivery = "celery"` costs a caller: a thread of its own publishes what the spool has.
    folder = tempfile.mkdtemp(prefix="draftcritic-spool-")
    # A spool needs a critic by its name; no draft here is asked about.
    return _ours(mode="observe", delivery="spool", spool_dir=folder, model="openai:gpt-4.1-mini")


def _neighbour(module: str, instrumentor: str) -> None:
    # All three have the same entry point name, so each is switched on by code.
    getattr(import_module(module), instrumentor)().instrument()


_INSTALLERS: dict[str, Callable[[], Callable[[float], bool] | None]] = {
    "patch": _patch,
    "span": _span,
    "floor": _span_and_points,
    "floor-ours": _all_that_ours_writes,
    "ours-background": partial(_ours, mode="observe", background=True),
    "ours-spool": _ours_with_spool,
    "ours-inline": partial(_ours, mode="observe", background=False),
    "ours-gate": partial(_ours, mode="gate", background=False),
    "ours-enforce": partial(_ours, mode="enforce"),
    "genai": partial(_neighbour, "opentelemetry.instrumentation.genai.langchain", "LangChainInstrumentor"),
    "openllmetry": partial(_neighbour, "opentelemetry.instrumentation.langchain", "LangchainInstrumentor"),
    "openinference": partial(_neighbour, "openinference.instrumentation.langchain", "LangChainInstrumentor"),
}
