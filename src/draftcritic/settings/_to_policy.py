"""Conversion of settings to a policy and limits."""

from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING, Any

from draftcritic.core._enums import Mode
from draftcritic.core._policy import CircuitRules, CriticPreference, LimitRules, Policy, Rule
from draftcritic.core._secrets import error_summary
from draftcritic.settings._fields import Problem, SettingsError, allowed
from draftcritic.settings._origins import DEFAULT_ORIGIN

if TYPE_CHECKING:
    from draftcritic.settings._model import Settings

_LONGEST_WINDOW = 3600.0


def policy_of(settings: Settings) -> Policy:
    """Return the policy that `settings` describe.

    Raises:
        SettingsError: `gate` or `rules_source` cannot be imported, or is not what it must be.
    """
    problems: list[Problem] = []
    gate = _resolve(settings, "gate", problems)
    rules_source = _resolve(settings, "rules_source", problems)
    if problems:
        raise SettingsError(problems)
    return Policy(
        confidence_threshold=settings.confidence_threshold,
        selective_gate=settings.selective_gate,
        sensitive_tags=frozenset(settings.sensitive_tags),
        preferences=_preferences(settings),
        read_only_tools=frozenset(settings.read_only_tools),
        trivial_ack_patterns=settings.trivial_ack_patterns,
        gate=gate,
        fabrication_mode=settings.fabrication,
        fabrication_refuse_threshold=settings.fabrication_refuse_threshold,
        identifier_keys=settings.identifier_keys,
        identifier_patterns=settings.identifier_patterns,
        never_flag=settings.never_flag,
        tool_actions=settings.tool_actions,
        rules=_rules(settings),
        policy_salt=settings.policy_salt,
        rules_source=rules_source,
        prompt_template=settings.prompt_template,
        timeout=settings.timeout,
        on_failure=settings.on_failure,
        on_unjudged=settings.on_unjudged,
        fail_closed_tags=frozenset(settings.fail_closed_tags),
        default_revision=settings.default_revision,
        default_refusal=settings.default_refusal,
        refusal_texts=settings.refusal_texts,
        on_limit=settings.on_limit,
        on_refused_calls=settings.on_refused_calls,
        prompt_budget=settings.prompt_budget,
        max_windows=settings.max_windows,
    )


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
