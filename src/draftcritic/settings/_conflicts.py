"""Validation problems, conflicts between settings, and warnings."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from draftcritic.core._confidence import COLD_START
from draftcritic.core._enums import DeliveryKind, Mode
from draftcritic.core._models import configured_sku
from draftcritic.core._secrets import HIDDEN, is_secret_name, masked
from draftcritic.settings._display import shown
from draftcritic.settings._fields import Problem, allowed
from draftcritic.settings._origins import DEFAULT_ORIGIN
from draftcritic.settings._to_policy import window_needed, window_of
from draftcritic.settings._value_types import TABLE, TEXT, Preference

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic.fields import FieldInfo
    from pydantic_core import ErrorDetails

    from draftcritic.settings._model import Settings


def problems_of(error: ValidationError, fields: Mapping[str, FieldInfo], origins: Mapping[str, str]) -> list[Problem]:
    """Return a problem for every value that pydantic rejected."""
    return [_problem(detail, fields, origins) for detail in error.errors(include_url=False)]


def _problem(detail: ErrorDetails, fields: Mapping[str, FieldInfo], origins: Mapping[str, str]) -> Problem:
    place, kind = detail["loc"], detail["type"]
    setting, value = str(place[0]), shown(detail["input"])
    reason = masked(detail["msg"].removeprefix("Value error, "))
    if kind == "missing":
        value, reason = shown(detail["input"]), "is missing"
    elif kind == "extra_forbidden":
        like = difflib.get_close_matches(str(place[-1]), Preference.model_fields, n=1)
        reason = "is not known here" + (f"; did you mean {like[0]}?" if like else "")
    if setting == "model_kwargs" and isinstance(detail["input"], str):
        value = f"<{len(detail['input'])} characters>"
    elif any(is_secret_name(str(step)) for step in place[1:]):
        value = HIDDEN
    return Problem(_path(place), origins.get(setting, DEFAULT_ORIGIN), value, reason, allowed(fields[setting]))


def _path(place: tuple[int | str, ...]) -> str:
    first, *rest = (step for step in place if step not in (TEXT, TABLE))
    return str(first) + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in rest)


def conflicts(settings: Settings, invalid: Collection[str]) -> Iterator[Problem]:
    """Yield the combinations that cannot work, except those that contain an `invalid` setting."""
    if not {"model", "model_kwargs"} & set(invalid) and settings.model_kwargs:
        if settings.model is None:
            yield _combination(settings, "model_kwargs", "needs a model to build; set `model` to provider:name")
        elif not isinstance(settings.model, str):
            reason = "has no effect with a model object; set it on the object, or give `model` as provider:name"
            yield _combination(settings, "model_kwargs", reason)
    explicit = settings.background and settings.origin("background") != DEFAULT_ORIGIN
    if not {"mode", "background"} & set(invalid) and settings.mode is Mode.ENFORCE and explicit:
        reason = "cannot work with mode = enforce, which releases no draft before its verdict; drop it, or use observe"
        yield _combination(settings, "background", reason)
    if not {"rules", "rules_source"} & set(invalid) and settings.rules and settings.rules_source is not None:
        reason = "has no effect with `rules_source`; drop one, or let the source return these rules"
        yield _combination(settings, "rules", reason)
    if not {"fail_closed_tags", "sensitive_tags", "preferences"} & set(invalid):
        tags: set[str] = set(settings.sensitive_tags).union(*(p.sensitive_tags for p in settings.preferences))
        lost = [tag for tag in settings.fail_closed_tags if tag not in tags]
        if lost:
            reason = (
                f"no draft is ever tagged {', '.join(map(repr, lost))}; "
                "add it to `sensitive_tags` or to a preference, or drop it here"
            )
            yield _combination(settings, "fail_closed_tags", reason)
    if not {"preferences", "rules"} & set(invalid):
        yield from _repeated_ids(settings)
    yield from _limit_conflicts(settings, set(invalid))
    yield from _delivery_conflicts(settings, set(invalid))


def _delivery_conflicts(settings: Settings, invalid: set[str]) -> Iterator[Problem]:
    """Yield what a delivery out of the process lacks."""
    kind = settings.delivery
    if "delivery" in invalid or kind is DeliveryKind.MEMORY:
        return
    if sys.platform == "win32":
        yield _combination(settings, "delivery", "needs file locks that Windows lacks; use memory")
    waits = settings.mode is Mode.ENFORCE or not settings.background
    if not {"mode", "background"} & invalid and waits:
        reason = (
            "is for reviews in the background: with mode = enforce or background = false the caller waits for the "
            "verdict; use memory (the processes still share the limits of `budget_store`)"
        )
        yield _combination(settings, "delivery", reason)
    if "spool_dir" not in invalid and settings.spool_dir is None:
        yield _combination(settings, "delivery", "needs a folder for the drafts that wait; set `spool_dir`")
    asks = settings.mode not in (Mode.OFF, Mode.GATE)
    if not {"model", "mode"} & invalid and asks and settings.model is None:
        reason = (
            "needs a critic model of its own: another process reviews the draft, without the model that wrote it; set "
            "`model` to provider:name"
        )
        yield _combination(settings, "delivery", reason)
    if kind is DeliveryKind.CELERY and "broker" not in invalid and settings.broker is None:
        yield _combination(settings, "delivery", "needs a message queue; set `broker` to amqps://host/vhost")


def _repeated_ids(settings: Settings) -> Iterator[Problem]:
    """Yield the setting with an id that two preferences or rules share: telemetry would count them as one."""
    seen: set[str] = set()
    for name in ("preferences", "rules"):
        for item in getattr(settings, name):
            given = getattr(item, "id", "")
            if given and given in seen:
                yield _combination(settings, name, f"has the id {given!r} twice; give each rule an id of its own")
            seen.add(given)


def _limit_conflicts(settings: Settings, invalid: set[str]) -> Iterator[Problem]:
    """Yield the conditions of the circuit that can never be met."""
    latency = settings.circuit_latency
    if not {"circuit_latency", "timeout"} & invalid and latency is not None and latency >= settings.timeout:
        reason = f"is never met: after `timeout` = {settings.timeout} a call has failed; set it lower, or drop it"
        yield _combination(settings, "circuit_latency", reason)
    taking_part = {"circuit_min_calls", "circuit_window", "circuit_failure_rate", "reviews_per_minute", "timeout"}
    rate = settings.reviews_per_minute
    if taking_part & invalid or rate is None or not settings.circuit_failure_rate:
        return
    most = rate * max(1.0, window_of(settings) / 60)
    if settings.circuit_min_calls > most and settings.origin("circuit_min_calls") != DEFAULT_ORIGIN:
        reason = (
            f"is never met: `reviews_per_minute` = {rate} lets at most {most:g} calls happen in `circuit_window`; "
            "lower it, or widen the window"
        )
        yield _combination(settings, "circuit_min_calls", reason)


def _combination(settings: Settings, name: str, reason: str) -> Problem:
    value: Any = getattr(settings, name)
    return Problem(name, settings.origin(name), shown(value), reason)


def warnings(settings: Settings) -> Iterator[str]:
    """Yield the combinations that are valid but probably not intended, each with a fix."""
    needed = window_needed(settings)
    if settings.circuit_failure_rate and window_of(settings) < needed:
        reason = (
            f"the circuit cannot open while the critic's model hangs, or at the rate of `reviews_per_minute`: "
            f"`circuit_min_calls` = {settings.circuit_min_calls} calls need {needed:g} seconds; widen the window or "
            f"drop it, lower `circuit_min_calls` or `timeout`, or allow more calls"
        )
        yield str(_combination(settings, "circuit_window", reason))
    yield from _idle_threshold(settings)
    yield from _unqualified(settings)


def _idle_threshold(settings: Settings) -> Iterator[str]:
    """Yield a warning for an explicit threshold that has no effect on drafts."""
    if settings.origin("confidence_threshold") == DEFAULT_ORIGIN:
        return
    reason = ""
    if settings.gate is not None:
        reason = "has no effect: `gate` decides; drop one of the two"
    elif settings.selective_gate:
        reason = "has no effect with `selective_gate`, which does not look at the confidence; drop one of the two"
    elif not settings.retriever_activation and not settings.trust_request_metadata:
        level = "fires on every draft" if settings.confidence_threshold > COLD_START else "never fires"
        reason = (
            f"has no effect without an activation: the confidence is then {COLD_START} and it {level}; give one with "
            f"`with draftcritic.activation(...)`, set `retriever_activation`, or drop it"
        )
    if reason:
        yield str(_combination(settings, "confidence_threshold", reason))


def _unqualified(settings: Settings) -> Iterator[str]:
    """Yield a warning for a critic that enforces and is not known to judge well."""
    if settings.mode is not Mode.ENFORCE:
        return
    sku = configured_sku(settings.model)
    known = bool(settings.qualified_models) if sku is None else sku in settings.qualified_models
    if not known:
        critic = "the model that wrote the draft" if sku is None else sku
        yield (
            f"mode = enforce replaces answers by the verdict of a critic ({critic}) that is not known to judge well; "
            "run `draftcritic qualify`, and name the model in `qualified_models` when it passes"
        )
