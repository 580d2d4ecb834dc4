"""Knows a graph's run metadata inside its nodes where LangGraph cannot hand it to them.

Before Python 3.11 a task cannot be started in a context of one's choice, so LangGraph gives the nodes of an
asynchronous run no configuration, and their models get none either. A task does take along the context variables of
the code that starts it: the metadata that the graph was called with is put into one of our own while the graph works.
"""

from __future__ import annotations

import inspect
import logging
import sys
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from functools import partial
from typing import Any

from draftcritic.core._exception_place import described
from draftcritic.langchain._capture import EMPTY
from draftcritic.langchain._method_patches import Splice, is_spliced, splice
from draftcritic.langchain._stepwise import astepwise, stepwise
from draftcritic.review._scope import in_graph, scoped

_logger = logging.getLogger(__name__)

GRAPHS_NEED_HELP = sys.version_info < (3, 11)
"""Whether this Python is too old for LangGraph to do it."""
GRAPHS = "langgraph.pregel"
"""The module whose import makes LangGraph's graphs exist."""
_UNNAMED = "LangGraph"
"""The name of a graph that was given none."""
_THREAD = "thread_id"
"""What LangGraph copies from a configuration into the metadata of its nodes, and is wanted here."""
_metadata: ContextVar[Mapping[str, Any]] = ContextVar("draftcritic_graph_metadata", default=EMPTY)


def with_graph_metadata(metadata: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return a run's metadata, with what the graph around it was called with and the run does not say itself."""
    of_graph = _metadata.get()
    if not of_graph:
        return metadata or EMPTY
    return {**of_graph, **(metadata or EMPTY)}


class GraphMetadata:
    """A handler in LangGraph's `astream`, which all asynchronous runs of graphs go through; `remove` takes it out."""

    def __init__(self) -> None:
        self._wanted = True
        self._splice: Splice | None = None

    def connect(self, module: Any) -> None:
        """Put the handler into `GRAPHS`. Never raises: the module is being imported."""
        if not self._wanted:
            return
        try:
            method = inspect.getattr_static(module.Pregel, "astream")
            self._splice = splice(inspect.unwrap(method, stop=is_spliced), _astream)
        except Exception as error:
            _logger.debug("graphs of this LangGraph cannot be followed: %s", described(error))

    def remove(self) -> bool:
        """Take the handler out, or have it never put in. See `Splice.remove`."""
        self._wanted = False
        return self._splice is None or self._splice.remove()


class GraphNames:
    """Handlers in LangGraph's `stream` and `astream` that name the graph at work; `remove` takes them out."""

    def __init__(self) -> None:
        self._wanted = True
        self._done: list[Splice] = []

    def connect(self, module: Any) -> None:
        """Put the handlers into `GRAPHS`. Never raises: the module is being imported."""
        if not self._wanted:
            return
        handlers: dict[str, Callable[..., Any]] = {"stream": _named_stream, "astream": _named_astream}
        try:
            for name, handler in handlers.items():
                method = inspect.getattr_static(module.Pregel, name)
                self._done.append(splice(inspect.unwrap(method, stop=is_spliced), handler))
        except Exception as error:
            _logger.warning("agents have no settings by the names of their graphs: %s", described(error))

    def remove(self) -> bool:
        """Take the handlers out, or have them never put in. See `Splice.remove`."""
        self._wanted = False
        removed = [each.remove() for each in self._done]
        self._done.clear()
        return all(removed)


def _in(graph: Any) -> AbstractContextManager[None]:
    """Return a block in which a graph works; one without a name of its own belongs to the agent around it."""
    name = getattr(graph, "name", None)
    return in_graph(name) if isinstance(name, str) and name and name != _UNNAMED else nullcontext()


def _named_stream(original: Callable[..., Any], graph: Any, /, *args: Any, **kwargs: Any) -> Iterator[Any]:
    return stepwise(original(graph, *args, **kwargs), partial(_in, graph))


def _named_astream(original: Callable[..., Any], graph: Any, /, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
    return astepwise(original(graph, *args, **kwargs), partial(_in, graph))


def _astream(original: Callable[..., Any], graph: Any, /, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
    given = args[1] if len(args) > 1 else kwargs.get("config")
    metadata = _metadata_of(graph, given)
    return astepwise(original(graph, *args, **kwargs), partial(scoped, _metadata, metadata))


def _metadata_of(graph: Any, config: Any) -> Mapping[str, Any]:
    """Return what the runs of a graph's nodes would have as metadata from the graph's own configuration."""
    from langchain_core.runnables.config import ensure_config, merge_configs

    try:
        merged = ensure_config(merge_configs(getattr(graph, "config", None), config))
        thread = (merged.get("configurable") or EMPTY).get(_THREAD)
        named = EMPTY if thread is None else {_THREAD: thread}
        return {**_metadata.get(), **named, **(merged.get("metadata") or EMPTY)}
    except Exception as error:  # LangGraph judges what the application gives
        _logger.debug("the configuration of a graph could not be read: %s", described(error))
        return _metadata.get()
