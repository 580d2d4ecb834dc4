"""A model request whose model stays guarded, whatever other middleware puts into it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from draftcritic.langchain._guarded_model import ModelGuard


def guarded_request(request: Any, guard: ModelGuard) -> Any:
    """Return a copy of a `ModelRequest` with a view of its model; copies of the copy have one, too."""
    kind: Any = type(request)
    known: Any = guard.request_kinds.get(kind)
    if known is None:
        known = guard.request_kinds[kind] = _kind_for(kind, guard)
    guarded: Any = known.__new__(known)
    for name, value in vars(request).items():
        object.__setattr__(guarded, name, guard.view(value) if name == "model" else value)
    return guarded


def _kind_for(kind: Any, guard: ModelGuard) -> type[Any]:
    """Return a class of requests that puts a view in the place of each model."""

    def initialise(self: Any, **fields: Any) -> None:
        kind.__init__(self, **{**fields, "model": guard.view(fields["model"])})

    def assign(self: Any, name: str, value: Any) -> None:
        kind.__setattr__(self, name, guard.view(value) if name == "model" else value)

    body = {"__module__": kind.__module__, "__doc__": kind.__doc__, "__init__": initialise, "__setattr__": assign}
    return type(kind.__name__, (kind,), body)
