"""Conversion of settings to a policy and limits."""

from __future__ import annotations

import importlib
import math
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from draftcritic.core._enums import Mode
from draftcritic.core._policy import CircuitRules, CriticPreference, LimitRules, Policy, Rule
from draftcritic.core._secrets import error_summary
from draftcritic.settings._fields import Problem, SettingsError, allowed
from draftcritic.settings._origins import DEFAULT_ORIGIN

if TYPE_CHECKING:
    from draftcritic.settings._model import Settings

_LONGEST_WINDOW = 3600.0
_RENAMED = {"fabrication_mode": "fabrication"}
"""Fields of `Policy` whose setting has another name."""
_CODE_ONLY = frozenset({"profile"})
"""Fields of `Policy` that are not settings."""


def policy_of(settings: Settings) -> Policy:
    """Return the policy that `settings` describe.

    Every field of `Policy` takes the setting of the same name, except those of `_RENAMED` and `_CODE_ONLY`.

    Raises:
        SettingsError: `gate` or `rules_source` cannot be imported, or is not what it must be.
    """
    problems: list[Problem] = []
    converted = {
        "preferences": _preferences(settings),
        "rules": _rules(settings),
        "gate": _resolve(settings, "gate", problems),
        "rules_source": _resolve(settings, "rules_source", problems),
    }
    if problems:
        raise SettingsError(problems)
    values = {
        each.name: _as_default(getattr(settings, _RENAMED.get(each.name, each.name)), each.default)
        for each in fields(Policy)
        if each.init and each.name not in _CODE_ONLY and each.name not in converted
    }
    return Policy(**values, **converted)


def _as_default(value: Any, default: Any) -> Any:
    """Return `value` as a set where the policy has one: settings keep the order of lists."""
    return frozenset(value) if isinstance(default, frozenset) else value


def rule_ids_of(settings: Settings) -> tuple[str, ...]:
    """Return the ids of the preferences and rules that `settings` name, without importing anything."""
    policy = Policy(preferences=_preferences(settings), rules=_rules(settings), policy_salt=settings.policy_salt)
    return tuple(policy.rule_ids.statements)


def _preferences(settings: Settings) -> tuple[CriticPreference, ...]:
    return tuple(
        CriticPreference(item.priority, item.statement, item.sensitive_tags, item.id) for item in settings.preferences
    )


def _rules(settings: Settings) -> tuple[str | Rule, ...]:
    return tuple(item if isinstance(item, str) else Rule(item.statement, item.id) for item in settings.rules)


def limits_of(settings: Settings) -> LimitRules:
    """Return the limits that `settings` describe."""
    return LimitRules(
        sample_rate=settings.sample_rate,
        sample_exempt=frozenset(settings.sample_exempt),
        reviews_per_minute=settings.reviews_per_minute,
        tokens_per_hour=settings.tokens_per_hour,
        usd_per_hour=settings.usd_per_hour,
        max_concurrency=settings.max_concurrency,
        fair_share=settings.fair_share,
        circuit=CircuitRules(
            failure_rate=settings.circuit_failure_rate or None,
            latency=settings.circuit_latency,
            window=window_of(settings),
            min_calls=settings.circuit_min_calls,
            cooldown=settings.circuit_cooldown,
            probes=settings.circuit_probes,
        ),
    )


def window_needed(settings: Settings) -> float:
    """Return the seconds within which `circuit_min_calls` can end: as often as they may be made, and if each hangs."""
    calls, slots = settings.circuit_min_calls, []
    if settings.background and settings.mode is not Mode.ENFORCE:
        slots.append(settings.workers)
    if settings.max_concurrency is not None:
        slots.append(settings.max_concurrency)
    hanging = math.ceil(calls / min(slots)) * settings.timeout if slots else 0.0
    rate = settings.reviews_per_minute
    return max(hanging, 60.0 * calls / rate if rate is not None and calls > rate else 0.0)


def window_of(settings: Settings) -> float:
    """Return the window of the circuit: as it is set, or else wide enough for its calls."""
    window = settings.circuit_window
    if settings.origin("circuit_window") != DEFAULT_ORIGIN:
        return window
    return min(max(window, window_needed(settings)), _LONGEST_WINDOW)


def _resolve(settings: Settings, name: str, problems: list[Problem]) -> Any:
    """Return the object behind a setting; a class of rules sources is made into an object."""
    given = getattr(settings, name)
    if not isinstance(given, str):
        return given
    try:
        found = _import(given)
        if name == "gate" and not callable(found):
            reason = "what it names cannot be called"
        elif name == "rules_source" and not callable(getattr(found, "retrieve", None)):
            reason = "what it names has no method retrieve(query, top_k)"
        else:
            return found() if name == "rules_source" and isinstance(found, type) else found
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # Importing runs the user's code: whatever it raises, `sys.exit` too, means that there is no such object.
        reason = f"cannot be imported: {error_summary(error)}"
    field = type(settings).model_fields[name]
    problems.append(Problem(name, settings.origin(name), repr(given), reason, allowed(field)))
    return None


def _import(path: str) -> Any:
    module, _, attributes = path.partition(":")
    found: Any = importlib.import_module(module)
    for attribute in attributes.split("."):
        found = getattr(found, attribute)
    return found
