"""Keeps the critic's model call out of everything that listens to the application's runs.

Callbacks come down to a nested model call on four ways: the parent run's configuration in a context variable, the hooks
that usage collectors and tracers register with their own context variables, LangSmith's tracing context, and the model
object's own `callbacks`. The first two are cleared in a copy of the context, LangSmith is switched off around the call,
and the last are left out on a copy of the model. OpenTelemetry's context is left as it is: instrumentations shall see
the call, below the review.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from contextvars import Context, copy_context
from typing import Any

from draftcritic.engine import INTERNAL


def isolated_context() -> Context:
    """Return a copy of the current context in which a LangChain run has no parent and no listeners."""
    context = copy_context()
    context.run(_clear)
    return context


def _clear() -> None:
    from langchain_core.runnables.config import var_child_runnable_config
    from langchain_core.tracers import context as tracers

    var_child_runnable_config.set(None)
    for variable, *_ in tracers._configure_hooks:
        variable.set(None)
    tracers.tracing_v2_callback_var.set(None)


def untraced() -> AbstractContextManager[None]:
    """Return a block in which LangSmith records no run."""
    try:
        from langsmith.run_helpers import tracing_context
    except ImportError:
        return nullcontext()
    return tracing_context(parent=False, enabled=False)


def isolated_config() -> dict[str, Any]:
    """Return the run configuration of the critic's own call."""
    return {"callbacks": [], "metadata": {INTERNAL: True}, "run_name": "draftcritic"}


def isolated_model(model: Any) -> Any:
    """Return `model`, or a copy of it without callbacks and cache where it has some.

    The critic asks a new question each time (its delimiters are random): a cache entry would only fill the
    application's cache. A model that has neither is used as it is, with whatever state it keeps.
    """
    from langchain_core.globals import get_llm_cache
    from langchain_core.language_models import BaseChatModel

    if not isinstance(model, BaseChatModel):
        return model
    cached = model.cache not in (None, False) or (model.cache is None and get_llm_cache() is not None)
    if not (cached or model.callbacks or model.verbose):
        return model
    return model.model_copy(update={"cache": False, "callbacks": None, "verbose": False})
