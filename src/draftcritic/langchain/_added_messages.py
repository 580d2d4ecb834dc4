"""Messages that a model gets besides those of its caller, and that nothing else sees."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any

from draftcritic.langchain._call import current_recording
from draftcritic.langchain._deferred_callbacks import Recording, is_tracing, silencing
from draftcritic.review._scope import scoped

_added: ContextVar[tuple[Any, ...]] = ContextVar("draftcritic_added", default=())
_Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def adding(messages: Sequence[Any]) -> AbstractContextManager[None]:
    """Return a block in which a guarded model gets these messages after those of its caller.

    They are added where the model does its work: callbacks, caches and the review of the answer see the caller's
    messages alone. One of them may be a draft that was refused.
    """
    return scoped(_added, tuple(messages))


class Work:
    """One call of a method in which a model does its work.

    Args:
        args: the model, its messages and what else there is.
        kwargs: the named arguments.

    Attributes:
        arguments: what to call the method with.
    """

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.arguments: _Arguments = (args, kwargs)
        self._recording: Recording | None = None
        added = _added.get()
        if added and len(args) > 1 and isinstance(args[1], list):
            self._recording = Recording(is_tracing)  # is never replayed: the model may pass the messages on
            self.arguments = _changed(args, kwargs, added)

    @contextmanager
    def step(self) -> Iterator[None]:
        """Surround a step of the method: what it starts reports nothing before the verdict."""
        with scoped(_added, ()), silencing(self._recording or current_recording()):
            yield


def _changed(args: tuple[Any, ...], kwargs: dict[str, Any], added: tuple[Any, ...]) -> _Arguments:
    """Return the arguments with the messages, and with a run manager that has no children with listeners."""
    model, messages, *rest = args
    rest = [_childless(each) for each in rest]
    if "run_manager" in kwargs:
        kwargs = {**kwargs, "run_manager": _childless(kwargs["run_manager"])}
    return (model, [*messages, *added], *rest), kwargs


def _childless(value: Any) -> Any:
    handlers = getattr(value, "inheritable_handlers", None)
    if not handlers:
        return value
    alone = copy.copy(value)
    alone.inheritable_handlers = [handler for handler in handlers if is_tracing(handler)]
    return alone
