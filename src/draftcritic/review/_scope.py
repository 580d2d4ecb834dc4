"""Sets a context variable for the time of a block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import Context, ContextVar, Token
from typing import Any, Generic, TypeVar

from draftcritic.core._turn import IntentVerdict

T = TypeVar("T")


class scoped(Generic[T]):  # noqa: N801 - reads as `with` blocks do
    """Give a variable a value inside the block, and its earlier one after it; never across a `yield` to a caller."""

    __slots__ = ("_before", "_value", "_variable")

    def __init__(self, variable: ContextVar[T], value: T) -> None:
        self._variable = variable
        self._value = value

    def __enter__(self) -> None:
        self._before = self._variable.get()
        self._variable.set(self._value)

    def __exit__(self, *_: object) -> None:
        # Not by token: the block may end in another context, as a half-read stream does that is closed elsewhere, and
        # that must not raise.
        self._variable.set(self._before)


INTERNAL = "draftcritic_internal"
"""Key in a run's metadata under which the critic's own call carries its mark, for code that no context reaches."""


class Mark(str):
    """The mark of one call of the critic, valid only as this object and only while the call runs.

    It is a string, so that tools that record metadata can write it down. A copy that went through JSON or pickle is a
    plain string, and no mark.

    Attributes:
        open: whether the call runs.
        spared: the application's own rate limiter, from which the call takes no permit.
    """

    __slots__ = ("open", "spared")

    open: bool
    spared: Any

    def __copy__(self) -> Mark:
        return self

    def __deepcopy__(self, _: Any) -> Mark:
        return self

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


_current: ContextVar[Mark | None] = ContextVar("draftcritic_reviewing", default=None)


class reviewing:  # noqa: N801 - reads as `with` blocks do
    """Mark the code inside as the critic's own: no model call in it is a draft.

    The mark ends with the block: a task or thread that the block leaves behind keeps the context variable, not the
    mark.

    Args:
        spared: see `Mark`.
    """

    __slots__ = ("_mark", "_token")

    def __init__(self, spared: Any = None) -> None:
        self._mark = Mark("draftcritic")
        self._mark.open, self._mark.spared = True, spared

    def __enter__(self) -> Mark:
        self._token: Token[Mark | None] = _current.set(self._mark)
        return self._mark

    def __exit__(self, *_: object) -> None:
        self._mark.open = False
        try:
            _current.reset(self._token)
        except ValueError:
            # The block ended in another context, as that of a coroutine does that is closed elsewhere.
            _current.set(self._token.old_value if isinstance(self._token.old_value, Mark) else None)


def is_reviewing() -> bool:
    """Whether the current code runs inside the critic's own call."""
    return current_mark() is not None


def current_mark(metadata: Mapping[str, Any] | None = None) -> Mark | None:
    """Return the mark of the critic's call that the current code, or a run with this metadata, belongs to."""
    for mark in (_current.get(), metadata.get(INTERNAL) if metadata else None):
        if isinstance(mark, Mark) and getattr(mark, "open", False):
            return mark
    return None


_agent: ContextVar[str | None] = ContextVar("draftcritic_agent", default=None)
_graph: ContextVar[str | None] = ContextVar("draftcritic_graph", default=None)


def current_agent() -> str | None:
    """Return the name of the agent that works here: an `activation` block gives it, or else the graph around."""
    return _agent.get() or _graph.get()


def agent_in(context: Context) -> str | None:
    """Return what `current_agent` returns in a context."""
    return context.get(_agent) or context.get(_graph)


def in_graph(name: str) -> AbstractContextManager[None]:
    """Return a block in which a graph of this name works."""
    return scoped(_graph, name)


_activation: ContextVar[Mapping[str, Any] | None] = ContextVar("draftcritic_activation", default=None)


@contextmanager
def activation(
    log: Mapping[str, Any] | None = None,
    /,
    *,
    activated_nodes: list[Mapping[str, Any]] | None = None,
    inference_paths: list[list[str]] | None = None,
    traversed_edges: list[Mapping[str, Any]] | None = None,
    intent: IntentVerdict | Mapping[str, Any] | None = None,
    agent: str | None = None,
) -> Iterator[Mapping[str, Any]]:
    """Give every draft written inside the block this activation log.

    Pass a whole log, or its lists by name (they win over the log's). See `compute_confidence` for their shape. What a
    request's metadata says can only raise the review beyond this: see `docs/trust.md`.

    Args:
        log: a whole activation log; it may have an `intent`, too.
        activated_nodes: mappings with `score`, and `tags` where they apply.
        inference_paths: lists of labels.
        traversed_edges: mappings with `weight`.
        intent: what the user wants, as a classifier of the application judged it.
        agent: the name of the agent that works in the block, for the tables of `agents` in the settings. It wins over
            the name of a graph.

    Example:
        with draftcritic.activation(activated_nodes=[{"score": 0.9, "tags": ["pii"]}]):
            agent.invoke(...)
    """
    given = {
        "activated_nodes": activated_nodes,
        "inference_paths": inference_paths,
        "traversed_edges": traversed_edges,
        "intent": intent,
    }
    whole = {**(log or {}), **{key: value for key, value in given.items() if value is not None}}
    named = scoped(_agent, agent) if agent is not None else nullcontext()
    # A block that only names an agent says nothing of what backs a draft.
    backed = scoped(_activation, whole) if whole or log is not None or agent is None else nullcontext()
    with named, backed:
        yield whole


def current_activation() -> Mapping[str, Any] | None:
    """The activation log of the innermost `activation` block around the current code."""
    return _activation.get()


class Mute:
    """One `muted` block, valid only while it runs.

    Attributes:
        outer: the block around it.
        internal: the plugin itself put it around a call that has no draft.
        open: whether the block runs.
    """

    __slots__ = ("internal", "open", "outer")

    def __init__(self, outer: Mute | None, internal: bool) -> None:
        self.outer = outer
        self.internal = internal
        self.open = True


_mute: ContextVar[Mute | None] = ContextVar("draftcritic_muted", default=None)


class _Muting:
    """The block of `muted`."""

    __slots__ = ("_internal", "_mark")

    def __init__(self, internal: bool) -> None:
        self._internal = internal

    def __enter__(self) -> None:
        self._mark = Mute(_mute.get(), self._internal)
        _mute.set(self._mark)

    def __exit__(self, *_: object) -> None:
        self._mark.open = False
        _mute.set(self._mark.outer)  # not by token: see `scoped`


def muted() -> AbstractContextManager[None]:
    """Review no model call inside the block: its answers are for the program, not for a user.

    Use it around calls whose answer no user reads as it is: summaries, titles, routing, query rewriting. The block
    covers coroutines, tasks and threads with a copied context that are started in it, until it ends; calls that they
    make later are reviewed. Each call is counted with the outcome `muted`. Nothing in a request can have the same
    effect, and `allow_muted = false` in the settings takes it away.

    Example:
        with draftcritic.muted():
            title = model.invoke("Write a title for this conversation: ...")
    """
    return _Muting(internal=False)


def muted_internally() -> AbstractContextManager[None]:
    """Review no model call inside the block, whatever the settings say of `muted`: the plugin knows the calls."""
    return _Muting(internal=True)


def current_mute() -> Mute | None:
    """Return the innermost `muted` block around the current code, which may have ended meanwhile."""
    return _mute.get()


def muted_as(mark: Mute | None) -> AbstractContextManager[None]:
    """Give the code inside the muting of other code, as `current_mute` returned it there."""
    return scoped(_mute, mark)


def is_muted(*, internally: bool = False) -> bool:
    """Whether the current code runs inside a `muted` block.

    Args:
        internally: only the plugin's own blocks count.
    """
    mark = _mute.get()
    while mark is not None:
        if mark.open and (mark.internal or not internally):
            return True
        mark = mark.outer
    return False
