"""Keeps the critic's model call out of everything that listens to the application's runs.

Callbacks come down to a nested model call on four ways: the parent run's configuration in a context variable, the hooks
that usage collectors and tracers register with their own context variables, LangSmith's tracing context, and the model
object's own `callbacks`. The first two are cleared in a copy of the context, LangSmith is switched off around the call,
and the last are left out on a copy of the model. OpenTelemetry's context is left as it is: instrumentations shall see
the call, below the review.
"""

from __future__ import annotations

import weakref
from contextlib import AbstractContextManager, nullcontext
from contextvars import Context, copy_context
from typing import Any

from draftcritic.engine import INTERNAL, Mark
from draftcritic.langchain._private import private


def isolated_context() -> Context:
    """Return a copy of the current context in which a LangChain run has no parent and no listeners."""
    context = copy_context()
    context.run(_clear)
    return context


def _clear() -> None:
    from langchain_core.runnables.config import var_child_runnable_config

    var_child_runnable_config.set(None)
    for variable, *_ in private("_configure_hooks") or ():
        variable.set(None)
    tracing = private("tracing_v2_callback_var")
    if tracing is not None:
        tracing.set(None)


def untraced() -> AbstractContextManager[None]:
    """Return a block in which LangSmith records no run."""
    try:
        from langsmith.run_helpers import tracing_context
    except ImportError:
        return nullcontext()
    return tracing_context(parent=False, enabled=False)


def isolated_config(mark: Mark) -> dict[str, Any]:
    """Return the run configuration of the critic's own call."""
    return {"callbacks": [], "metadata": {INTERNAL: mark}, "run_name": "draftcritic"}


def isolated_model(model: Any, spared: Any = None) -> Any:
    """Return a copy of `model`, also of one that is bound to arguments, without callbacks and without a cache.

    The critic asks a new question each time (its delimiters are random): a cache entry would only fill the
    application's cache. The copy is made whether there is a cache now or not: one may be set at any time.

    Args:
        model: the critic's model.
        spared: a rate limiter that belongs to the application; the copy takes no permit from it.
    """
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables.base import RunnableBindingBase

    if isinstance(model, RunnableBindingBase):
        bound = isolated_model(model.bound, spared)
        return model if bound is model.bound else model.model_copy(update={"bound": bound})
    if not isinstance(model, BaseChatModel):
        return model
    return _copies.of(model, {**_without_effects(model, spared), "callbacks": None, "verbose": False})


class _Copies:
    """The isolated copies of models that are still in use: a copy keeps the clients and the state that it makes."""

    def __init__(self) -> None:
        # Single operations on dictionaries are atomic, so no lock can be held across a fork.
        self._copies: dict[int, tuple[weakref.ref[Any], dict[str, Any], dict[str, Any], Any]] = {}

    def of(self, model: Any, update: dict[str, Any]) -> Any:
        """Return the copy of a model with other fields, made again when the model has changed."""
        number, fields = id(model), dict(model.__dict__)
        known = self._copies.get(number)
        if known is not None:
            reference, before, updated, copy = known
            if reference() is model and updated == update and _are_same(before, fields):
                return copy
        copy = model.model_copy(update=update)
        try:
            reference = weakref.ref(model, lambda _: self._copies.pop(number, None))
        except TypeError:  # a class that allows no weak references
            return copy
        self._copies[number] = (reference, fields, update, copy)
        return copy


def _are_same(before: dict[str, Any], now: dict[str, Any]) -> bool:
    return before.keys() == now.keys() and all(value is now[name] for name, value in before.items())


_copies = _Copies()


def without_effects(model: Any, spared: Any = None) -> Any:
    """Return a copy of a model within the critic's call that fills no cache and takes no permit of the application.

    Args:
        model: the chat model that is called somewhere inside the critic's call.
        spared: see `isolated_model`.
    """
    update = _without_effects(model, spared)
    changed = {name: value for name, value in update.items() if getattr(model, name, None) is not value}
    return model.model_copy(update=changed) if changed else model


def _without_effects(model: Any, spared: Any) -> dict[str, Any]:
    update: dict[str, Any] = {"cache": False}
    if spared is not None and getattr(model, "rate_limiter", None) is spared:
        update["rate_limiter"] = None
    return update
