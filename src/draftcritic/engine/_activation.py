"""Lets an application say how its memory was activated for the turns that follow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from draftcritic.core import IntentVerdict
from draftcritic.engine._scoped import scoped

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
    with scoped(_activation, whole):
        yield whole


def current_activation() -> Mapping[str, Any] | None:
    """The activation log of the innermost `activation` block around the current code."""
    return _activation.get()
