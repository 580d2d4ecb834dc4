"""A policy as JSON, on its way to the workers that judge by it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from enum import Enum
from typing import Any

from draftcritic.core._policy import CriticPreference, Policy, Rule

_CODE = ("gate", "rules_source")


class PolicyWireError(ValueError):
    """A policy cannot travel, or what has arrived is none; the message says why."""


def policy_as_dict(policy: Policy) -> dict[str, Any]:
    """Return a policy as a JSON value.

    Raises:
        PolicyWireError: it contains code, which is never taken from a message.
    """
    code = [name for name in _CODE if getattr(policy, name) is not None]
    if code:
        raise PolicyWireError(f"`{code[0]}` is code, which workers take from no message; replay without workers' help")
    values = {each.name: _plain(getattr(policy, each.name)) for each in fields(Policy) if each.init}
    return {name: value for name, value in values.items() if name not in _CODE}


def policy_from_dict(value: Any) -> Policy:
    """Return the policy of `policy_as_dict`.

    Raises:
        PolicyWireError: it is no policy of this release.
    """
    if not isinstance(value, Mapping):
        raise PolicyWireError("the policy is no object")
    defaults = {each.name: _default(each) for each in fields(Policy) if each.init and each.name not in _CODE}
    if value.keys() != defaults.keys():
        raise PolicyWireError("the policy has other fields than one of this release")
    try:
        return Policy(**{name: _read(name, value[name], default) for name, default in defaults.items()})
    except (TypeError, ValueError, AttributeError) as error:
        raise PolicyWireError(f"the policy cannot be read: {type(error).__name__}") from None


def _default(each: Any) -> Any:
    return each.default if each.default is not MISSING else each.default_factory()


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (frozenset, set)):
        return sorted(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, (CriticPreference, Rule)):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    return value


def _read(name: str, value: Any, default: Any) -> Any:
    if name in _SHAPES:
        return tuple(map(_SHAPES[name], value))
    if isinstance(default, (frozenset, tuple)):
        return type(default)(map(_text, value))
    if isinstance(default, Enum):
        return type(default)(value)
    if isinstance(default, Mapping):
        return {key: tuple(map(_text, item)) if isinstance(item, list) else _text(item) for key, item in value.items()}
    wanted: Any = {type(None): str, float: (int, float)}.get(type(default), type(default))
    if value is not default and not isinstance(value, wanted):
        raise TypeError(name)
    return value


def _preference(item: Any) -> CriticPreference:
    return CriticPreference(**{**item, "sensitive_tags": tuple(item["sensitive_tags"])})


def _rule(item: Any) -> str | Rule:
    return Rule(**item) if isinstance(item, Mapping) else _text(item)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


_SHAPES: dict[str, Any] = {"preferences": _preference, "rules": _rule}
