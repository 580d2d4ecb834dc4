"""Finds out which model a LangChain-like object runs, by what it looks like: nothing is imported for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from draftcritic.core._sku import UNKNOWN, normalise_sku

REPORTED_KEYS = ("model_name", "model", "model_id", "ls_model_name")
"""Where providers report the model's name in `response_metadata`, first come, first served."""
_FINISH_KEYS = ("finish_reason", "stop_reason", "stopReason", "done_reason")
"""Where OpenAI and Google, Anthropic, Bedrock's Converse and Ollama report why the model stopped."""
_NAMES = ("model", "model_name", "model_id", "base_model_id")
_DEPLOYMENTS = ("deployment_name", "azure_deployment")
_WRAPPED = ("bound", "runnable", "default")
_MAX_LAYERS = 32
_MIN_REPEATED = 4
_KEPT_NAMES = 64


def resolve_model_name(model: Any, reported: str | None = None, requested: str = "") -> str:
    """Return the raw name of what the provider really runs.

    That is the name the response reports, else the model object's (`model`, `model_name`, on Bedrock `model_id` and
    `base_model_id`; a name bound to a call wins over the object's), through bindings, retries and fallbacks, else
    the requested name, and as a last resort the name of an Azure deployment. A name that only an account can resolve
    yields to one that tells the SKU. Never raises: a property that raises counts as missing.

    Args:
        model: the model object, or any wrapper around it.
        reported: the name out of the response; see `reported_model_name`.
        requested: the name that was asked for.

    Returns:
        The name; empty when there is none.
    """
    first = ""
    for candidate in _candidates(model, reported, requested):
        name = candidate.strip() if isinstance(candidate, str) else ""
        if name and _tells_sku(name):
            return name
        first = first or name
    return first


def reported_model_name(response_metadata: Any) -> str | None:
    """Return the model's name as the provider reported it with an answer; None when it did not.

    A name that merging the chunks of a stream has repeated (`gpt-4ogpt-4o`) is given once.
    """
    if not isinstance(response_metadata, Mapping):
        return None
    for key in REPORTED_KEYS:
        value = response_metadata.get(key)
        if isinstance(value, str) and (name := value.strip()):
            period = (name + name).find(name, 1)
            return name[:period] if period >= _MIN_REPEATED else name
    return None


def reported_finish_reason(response_metadata: Any) -> str | None:
    """Return why the model stopped, in the provider's word; None when the answer does not tell."""
    if not isinstance(response_metadata, Mapping):
        return None
    values = (response_metadata.get(key) for key in _FINISH_KEYS)
    return next((value for value in values if isinstance(value, str) and value), None)


@lru_cache(_KEPT_NAMES)
def _tells_sku(name: str) -> bool:
    return normalise_sku(name) != UNKNOWN


def _candidates(model: Any, reported: Any, requested: Any) -> Iterator[Any]:
    yield reported
    yield from _names_of(model)
    yield requested
    yield from _deployments_of(model)


def _names_of(model: Any) -> Iterator[Any]:
    for layer in _layers(model):
        bound = _read(layer, "kwargs")
        if isinstance(bound, Mapping):
            yield from (bound.get(name) for name in _NAMES)
    for layer in _layers(model):
        yield from (_read(layer, name) for name in _NAMES)


def _deployments_of(model: Any) -> Iterator[Any]:
    for layer in _layers(model):
        yield from (_read(layer, name) for name in _DEPLOYMENTS)


def _layers(model: Any) -> Iterator[Any]:
    """The model object and what it wraps, outermost first."""
    seen: set[int] = set()
    # The objects are kept, because the id of one that was collected may come again.
    waiting, kept = [model], []
    while waiting and len(seen) < _MAX_LAYERS:
        layer = waiting.pop(0)
        if layer is None or id(layer) in seen:
            continue
        seen.add(id(layer))
        kept.append(layer)
        yield layer
        waiting += [_read(layer, name) for name in _WRAPPED]


def _read(owner: Any, name: str) -> Any:
    try:
        return getattr(owner, name, None)
    except Exception:  # an application's property may raise anything
        return None
