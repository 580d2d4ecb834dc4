"""The methods of LangChain that the handlers stand in, in one table that drives both directions."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from draftcritic.langchain._graph import GraphMetadata
from draftcritic.langchain._intercept import Interceptor
from draftcritic.langchain._overrides import Overrides
from draftcritic.langchain._splice import Splice, SpliceError, is_spliced, splice

_logger = logging.getLogger(__name__)

CHAT_MODELS = "langchain_core.language_models.chat_models"
"""The module whose import makes LangChain's chat models exist."""


class Target(NamedTuple):
    """A method and the handler that stands in it.

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


Installed = Splice | Overrides | GraphMetadata
"""What stands in LangChain, and can be removed."""


def install(interceptor: Interceptor, *, retrievers: bool = False) -> list[Installed]:
    """Put the handlers of `interceptor` into LangChain, all or none.

    Raises:
        SpliceError: a required method is missing or cannot take a handler.
    """
    done: list[Installed] = []
    try:
        held = HOLDING_TARGETS if interceptor.holds else ()
        for target in (*CHAT_TARGETS, *held, *(RETRIEVER_TARGETS if retrievers else ())):
            owner = getattr(import_module(target.module), target.owner)
            method = inspect.getattr_static(owner, target.method, None)
            if method is None:
                if target.required:
                    raise SpliceError(f"this langchain-core has no {target.owner}.{target.method}")
                _logger.debug("%s.%s is not in this langchain-core", target.owner, target.method)
                continue
            # Others may have wrapped the method; the handler goes into LangChain's own function below.
            done.append(splice(inspect.unwrap(method, stop=is_spliced), target.handler(interceptor)))
        overrides = Overrides(interceptor)
        done.append(overrides)
        overrides.install()
    except BaseException:
        remove(done)
        raise
    return done


def remove(splices: list[Installed]) -> None:
    """Take the handlers out again."""
    while splices:
        splices.pop().remove()
