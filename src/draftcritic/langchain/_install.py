"""The table of LangChain's methods that get a handler; it drives installation and removal."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from draftcritic.langchain._boundary import Handler, OnFault
from draftcritic.langchain._interceptors import Interceptor
from draftcritic.langchain._internal_calls import InternalCalls
from draftcritic.langchain._method_patches import (
    CODE_IS_EXCHANGEABLE,
    Splice,
    SpliceError,
    is_handled,
    is_spliced,
    splice,
)
from draftcritic.langchain._private import look_up
from draftcritic.langchain._subclasses import Overrides
from draftcritic.langchain._wrapt_patches import Wrap, is_wrapped, wrap

_logger = logging.getLogger(__name__)

CHAT_MODELS = "langchain_core.language_models.chat_models"
"""The module whose import makes LangChain's chat models exist."""


class Target(NamedTuple):
    """A method and its handler.

    Attributes:
        module, owner, method: where the method is.
        handler: the handler of an interceptor.
        required: without the method drafts would leave unseen; the others are not there in every version.
    """

    module: str
    owner: str
    method: str
    handler: Callable[[Interceptor], Callable[..., Any]]
    required: bool = True


CHAT_TARGETS = (
    Target(CHAT_MODELS, "BaseChatModel", "_generate_with_cache", lambda i: i.generate),
    Target(CHAT_MODELS, "BaseChatModel", "_agenerate_with_cache", lambda i: i.agenerate),
    Target(CHAT_MODELS, "BaseChatModel", "stream", lambda i: i.stream),
    Target(CHAT_MODELS, "BaseChatModel", "astream", lambda i: i.astream),
    Target(CHAT_MODELS, "BaseChatModel", "_iter_v2_events", lambda i: i.events, required=False),
    Target(CHAT_MODELS, "BaseChatModel", "_aiter_v2_events", lambda i: i.aevents, required=False),
)
HOLDING_TARGETS = (Target("langchain_core.callbacks", "manager", "_configure", lambda i: i.configure, required=False),)
"""What else a held draft needs: the runs that a model starts get their callbacks there."""
RETRIEVER_TARGETS = (
    Target("langchain_core.retrievers", "BaseRetriever", "invoke", lambda i: i.retrieve),
    Target("langchain_core.retrievers", "BaseRetriever", "ainvoke", lambda i: i.aretrieve),
)


class Installed(Protocol):
    """What is in LangChain or another framework, and can be removed."""

    def remove(self) -> bool:
        """Take it out; False where another tool has covered it, and it stays without effect."""
        ...


def install(interceptor: Interceptor, *, retrievers: bool = False) -> list[Installed]:
    """Put the handlers of `interceptor` into LangChain, all or none.

    Raises:
        SpliceError: a required method is missing or cannot take a handler.
    """
    done: list[Installed] = []
    look_up()
    try:
        held = HOLDING_TARGETS if interceptor.buffers else ()
        for target in (*CHAT_TARGETS, *held, *(RETRIEVER_TARGETS if retrievers else ())):
            owner = getattr(import_module(target.module), target.owner)
            method = inspect.getattr_static(owner, target.method, None)
            if method is None:
                if target.required:
                    raise SpliceError(f"this langchain-core has no {target.owner}.{target.method}")
                _logger.debug("%s.%s is not in this langchain-core", target.owner, target.method)
                continue
            done.append(_place(owner, target.method, method, target.handler(interceptor), interceptor.reviewer.failed))
        overrides, internal = Overrides(interceptor), InternalCalls(interceptor.reviewer.failed)
        done.extend((overrides, internal))
        overrides.install()
        internal.install()
    except BaseException:
        remove(done)
        raise
    return done


def placed() -> dict[str, bool]:
    """Return for each required method of LangChain's chat models whether a handler is in it and switched on."""
    found = {}
    for target in CHAT_TARGETS:
        method = inspect.getattr_static(getattr(import_module(target.module), target.owner), target.method, None)
        if target.required or method is not None:
            below = method if method is None else inspect.unwrap(method, stop=is_spliced)
            found[f"{target.owner}.{target.method}"] = is_handled(below) or is_wrapped(method)
    return found


def _place(owner: Any, name: str, method: Any, handler: Handler, fault: OnFault) -> Splice | Wrap:
    # Others may have wrapped the method; the handler goes into LangChain's own function below.
    below = inspect.unwrap(method, stop=is_spliced)
    return splice(below, handler, fault) if CODE_IS_EXCHANGEABLE else wrap(owner, name, handler, fault)


def remove(installed: list[Installed]) -> None:
    """Take the handlers out again. Those that another tool has covered stay there, without effect."""
    left = 0
    while installed:
        left += not installed.pop().remove()
    if left:
        _logger.info(
            "draftcritic is off; %d of its handlers stay below the patches of other tools, without effect", left
        )
