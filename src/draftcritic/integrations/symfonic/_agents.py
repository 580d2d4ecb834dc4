"""Agents of symfonic: the memory that they look up backs their drafts, and the framework's own calls are no drafts."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import wrapt

from draftcritic.core._exception_place import described
from draftcritic.langchain._boundary import OnFault, let_pass
from draftcritic.langchain._internal_calls import Caller, InternalCalls
from draftcritic.langchain._method_patches import Splice, splice
from draftcritic.review._scope import activation, current_activation

_logger = logging.getLogger(__name__)

_RUNTIME = "symfonic.core.runtime"
_LEARNING = "symfonic.core.learning"
_MEMORY = "symfonic.memory"
OF_SYMFONIC = (
    Caller("symfonic.agent.middleware.metacognitive", "MetacognitiveMiddleware", ("_run_reflection_llm",)),
    Caller(f"{_LEARNING}.refiner", "InsightExtractor", ("_invoke_llm",)),
    Caller(f"{_LEARNING}.procedural_extractor_llm", "LlmProceduralExtractor", ("_invoke_model",)),
    Caller(f"{_LEARNING}.entity_extractor_llm", "LlmEntityExtractor", ("_invoke_model",)),
    Caller(f"{_MEMORY}._internal.extraction.service", "ExtractionService", ("extract",)),
    Caller(f"{_MEMORY}.layers.procedural.router", "CapabilityRouter", ("route",)),
    Caller(f"{_MEMORY}.working.stm_summary", "", ("_summarise_via_llm",)),
)
"""The methods of symfonic-core 9.12 that call a model for the framework's own use: no user reads the answers."""


class SymfonicAgents:
    """Handlers in symfonic's methods, as soon as it is imported; `remove` takes them out again.

    Args:
        fault: reports a fault of a handler.
    """

    def __init__(self, fault: OnFault) -> None:
        self._fault = fault
        self._wanted = True
        self._done: list[Splice] = []
        self._internal = InternalCalls(fault, OF_SYMFONIC)

    def install(self) -> None:
        """Put the handlers in once the modules are there."""
        self._internal.install()
        wrapt.register_post_import_hook(self._connect, _RUNTIME)

    def remove(self) -> bool:
        """Take the handlers out, or have them never put in. See `Splice.remove`."""
        self._wanted = False
        self._fault = let_pass  # wrapt keeps the import hook, and so this object
        removed = [self._internal.remove(), *(each.remove() for each in self._done)]
        self._done.clear()
        return all(removed)

    def _connect(self, module: Any) -> None:
        """Put handlers into the runtime. Never raises: the module is being imported."""
        if not self._wanted:
            return
        handlers: dict[str, Callable[..., Any]] = {"run": _run, "stream": _stream, "stream_events": _stream}
        for name, handler in handlers.items():
            self._place(module, name, handler)

    def _place(self, module: Any, name: str, handler: Callable[..., Any]) -> None:
        try:
            self._done.append(splice(vars(module.AgentRuntime)[name], handler, self._fault))
        except Exception as error:
            _logger.info("drafts of %s.AgentRuntime.%s have no activation: %s", _RUNTIME, name, described(error))


async def _run(original: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    with _backed(kwargs):
        return await original(*args, **kwargs)


async def _stream(original: Callable[..., Any], /, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
    source = original(*args, **kwargs)
    while True:
        with _backed(kwargs):
            try:
                item = await source.__anext__()
            except StopAsyncIteration:
                return
        yield item


@contextmanager
def _backed(state: Mapping[str, Any]) -> Iterator[None]:
    """Give the drafts inside the activation log of the memory that symfonic has looked up for the run.

    An `activation` block of the application wins.
    """
    memory = state.get("memory_context")
    log = memory.get("activation_log") if isinstance(memory, Mapping) else None
    if not isinstance(log, Mapping) or not log or current_activation() is not None:
        yield
        return
    with activation(log):
        yield
