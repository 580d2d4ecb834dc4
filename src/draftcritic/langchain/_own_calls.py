"""Recognizes prompts that repeat one of the critic's own questions.

A critic's model may pass its question to another chat model in a thread that it starts itself, where neither context
nor run metadata comes along: its answer is reviewed as a draft, and the review asks the critic again. A question
carries a random boundary, so a prompt that repeats one can be recognized, and such reviews be limited. That is all the
boundary is good for: anyone who has read it can repeat it.
"""

from __future__ import annotations

import re
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import Context, copy_context
from typing import Any

from draftcritic.langchain._private import private
from draftcritic.review._scope import INTERNAL, Mark

_BOUNDARY = re.compile(r"Boundary:\s+([0-9a-f]{16})\b")
"""How a question gives its boundary."""
_WORD = re.compile(r"(?<![0-9a-f])[0-9a-f]{16}(?![0-9a-f])")
"""A boundary, wherever it is repeated."""
_REMEMBERED = 600.0
"""Seconds for which a boundary is recognized: far longer than a loop takes to come back."""
_MOST = 4096
"""Boundaries that are remembered at most."""
_DEPTH = 6
"""How deep content blocks are searched."""
_NO_TEXT = frozenset({"base64", "data", "url"})
"""Keys of a content block that hold images and files."""


class OwnPrompts:
    """The boundaries of the questions that the critic's model was asked in the last minutes."""

    def __init__(self) -> None:
        # Single operations on dictionaries are atomic, so no lock can be held across a fork.
        self._until: dict[str, float] = {}

    def remember(self, messages: Sequence[Any]) -> None:
        """Remember the boundary of the question that the last message asks."""
        text = getattr(messages[-1], "content", None) if messages else None
        found = _BOUNDARY.search(text) if isinstance(text, str) else None
        if found is not None:
            self._until[found[1]] = time.monotonic() + _REMEMBERED
        self._forget()

    def repeated_in(self, prompt: Any) -> bool:
        """Whether a model's input repeats one of the boundaries, in any shape."""
        if not self._until:
            return False
        self._forget()
        known = self._until
        return any(word in known for text in _texts_of(prompt) for word in _WORD.findall(text))

    def _forget(self) -> None:
        """Forget what is too old, and the oldest where there are too many."""
        now = time.monotonic()
        for word, until in list(self._until.items()):
            if until > now and len(self._until) <= _MOST:
                return
            self._until.pop(word, None)


def _texts_of(prompt: Any) -> Iterator[str]:
    if hasattr(prompt, "to_messages"):
        prompt = prompt.to_messages()
    messages = prompt if isinstance(prompt, (list, tuple)) else (prompt,)
    for message in messages:
        content = getattr(message, "content", message)
        if isinstance(content, str):
            yield content
        else:
            yield from _texts_in(content, _DEPTH)


def _texts_in(value: Any, depth: int) -> Iterator[str]:
    """Return the texts in content blocks, and in messages that are pairs or dictionaries."""
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, Mapping):
        for key, each in value.items():
            if key not in _NO_TEXT:
                yield from _texts_in(each, depth - 1)
    elif depth and isinstance(value, (list, tuple)):
        for each in value:
            yield from _texts_in(each, depth - 1)


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
