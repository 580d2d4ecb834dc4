"""Excludes the model calls that a framework makes for itself: summaries, choices of tools, routes.

No user reads their answers. Each such method runs in a `muted` block of this process; a client of a graph server can
copy the metadata of these calls, and switches nothing off with it. What the agent's own model answers through the
`handler` that a middleware gets is a draft as ever.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any, NamedTuple

import wrapt

from draftcritic.langchain._boundary import OnFault, let_pass
from draftcritic.langchain._method_patches import Splice, SpliceError, splice
from draftcritic.langchain._wrapt_patches import Wrap, wrap
from draftcritic.review._scope import current_mute, muted_as, muted_internally

_logger = logging.getLogger(__name__)
_MIDDLEWARE = "langchain.agents.middleware"


class Caller(NamedTuple):
    """A class whose methods call a model for the framework's own use; or a module with such functions.

    Attributes:
        module: the full name of the module.
        owner: the class in it; empty for functions of the module.
        methods: their names.
    """

    module: str
    owner: str
    methods: tuple[str, ...]


OF_LANGCHAIN = (
    Caller(
        f"{_MIDDLEWARE}.summarization",
        "SummarizationMiddleware",
        ("before_model", "abefore_model", "_create_summary", "_acreate_summary"),
    ),
    Caller(f"{_MIDDLEWARE}.tool_selection", "LLMToolSelectorMiddleware", ("wrap_model_call", "awrap_model_call")),
    Caller(f"{_MIDDLEWARE}.tool_emulator", "LLMToolEmulator", ("wrap_tool_call", "awrap_tool_call")),
    Caller(f"{_MIDDLEWARE}.model_router", "ModelRouterMiddleware", ("before_agent", "abefore_agent")),
    Caller(f"{_MIDDLEWARE}.auto_mode", "AutoModeMiddleware", ("wrap_tool_call", "awrap_tool_call")),
)


class InternalCalls:
    """Handlers in the methods, as soon as their modules are imported; `remove` takes them out again.

    Args:
        fault: reports a fault of a handler.
        callers: where the methods are.
    """

    def __init__(self, fault: OnFault, callers: Sequence[Caller] = OF_LANGCHAIN) -> None:
        self._callers = callers
        self._fault = fault
        self._wanted = True
        self._done: list[Splice | Wrap] = []

    def install(self) -> None:
        """Put the handlers in once the modules are there."""
        for caller in self._callers:
            wrapt.register_post_import_hook(partial(self._connect, caller), caller.module)

    def remove(self) -> bool:
        """Take the handlers out, or have them never put in. See `Splice.remove`."""
        self._wanted = False
        self._fault = let_pass  # wrapt keeps the import hook, and so this object
        removed = [each.remove() for each in self._done]
        self._done.clear()
        return all(removed)

    def _connect(self, caller: Caller, module: Any) -> None:
        """Put handlers into one class. Never raises: the module is being imported."""
        if not self._wanted:
            return
        owner: Any = getattr(module, caller.owner, None) if caller.owner else module
        for name in caller.methods:
            method = None if owner is None else vars(owner).get(name)
            try:
                if method is None:
                    raise SpliceError(f"{caller.module} has no {caller.owner or 'function'} {name}")
                handler = _amuted if inspect.iscoroutinefunction(method) else _muted
                try:
                    self._done.append(splice(method, handler, self._fault))
                except SpliceError:
                    self._done.append(wrap(owner, name, handler, self._fault))
            except Exception as error:
                _logger.info("the model calls of %s are reviewed like drafts: %s", caller.module, error)


def _muted(original: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    args, kwargs = _reviewed_again(args, kwargs)
    with muted_internally():
        return original(*args, **kwargs)


async def _amuted(original: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    args, kwargs = _reviewed_again(args, kwargs)
    with muted_internally():
        return await original(*args, **kwargs)


def _reviewed_again(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of `wrap_model_call(self, request, handler)` with a handler whose calls are drafts."""
    if "handler" in kwargs:
        return args, {**kwargs, "handler": _unmuted(kwargs["handler"])}
    if len(args) > 2 and callable(args[2]):
        return (*args[:2], _unmuted(args[2]), *args[3:]), kwargs
    return args, kwargs


def _unmuted(handler: Callable[..., Any]) -> Callable[..., Any]:
    """Return `handler` with the muting of the code around the middleware."""
    before = current_mute()

    async def awaited(result: Any) -> Any:
        with muted_as(before):
            return await result

    @wraps(handler)
    def called(*args: Any, **kwargs: Any) -> Any:
        with muted_as(before):
            result = handler(*args, **kwargs)
        return awaited(result) if inspect.isawaitable(result) else result

    return called
