"""Finds what the drafts of one outermost run have in common."""

from __future__ import annotations

from collections.abc import Hashable
from contextvars import Context
from typing import Any

from draftcritic.langchain._identity import IdentityKey

_RUNTIME = "__pregel_runtime"
"""Where LangGraph keeps its runtime in the configuration of a node."""


def root_run(context: Context) -> Hashable:
    """Return a value that is the same for all drafts of one run of a graph, or else of one parent run.

    None where a model is called outside of any other run. The value is made in this process, so no client can choose
    it: neither a trace id nor the id of a run that a request gives.
    """
    from langchain_core.runnables.config import var_child_runnable_config

    config = context.get(var_child_runnable_config)
    if not config:
        return None
    runtime: Any = (config.get("configurable") or {}).get(_RUNTIME)
    control = getattr(runtime, "control", None)
    if control is not None:
        return IdentityKey(control)  # one object for the graph and its subgraphs
    parent = getattr(config.get("callbacks"), "parent_run_id", None)
    return None if parent is None else str(parent)
