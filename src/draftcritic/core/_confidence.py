"""How far the agent's memory supports a draft, and whether it touched something sensitive."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

from draftcritic.core._enums import Profile
from draftcritic.core._turn import IntentVerdict, Turn

COLD_START = 0.5
"""The confidence of a turn for which nothing was activated."""

_MISSING = object()
_ANY = (-math.inf, math.inf)


def compute_confidence(activation_log: Mapping[str, Any] | None, *, profile: Profile = Profile.SYMFONIC) -> float:
    """Return how well the activated memory supports the turn, 0 to 1.

    The weighted sum of three parts: 0.4 times the mean score of the activated nodes, 0.3 times the number of
    inference paths over three, 0.3 times the mean weight of the traversed edges over five; the last two are capped
    at one, the sum is clamped to 0..1. A log without activated nodes gives exactly 0.5.

    Args:
        activation_log: a mapping with the lists `activated_nodes` (mappings with `score`), `inference_paths` (lists
            of labels) and `traversed_edges` (mappings with `weight`), each of which may be missing. What is no
            finite number counts as zero.
        profile: with `Profile.DRAFTCRITIC` the sum is divided by the weights of the parts that the log has, so that
            nodes alone with the score 1.0 give 1.0; scores outside 0..1 and negative weights are invalid and count as
            zero.
    """
    return measure_activation(activation_log, profile)[0]


def measure_activation(
    activation_log: Mapping[str, Any] | None, profile: Profile = Profile.SYMFONIC
) -> tuple[float, bool]:
    """Return the confidence, and whether the log held invalid values; see `compute_confidence`."""
    if not isinstance(activation_log, Mapping):
        return COLD_START, activation_log is not None
    if not activation_log:
        return COLD_START, False
    nodes, bad_nodes = _items(activation_log, "activated_nodes")
    paths, bad_paths = _items(activation_log, "inference_paths")
    edges, bad_edges = _items(activation_log, "traversed_edges")
    invalid = bad_nodes or bad_paths or bad_edges
    if not nodes:
        return COLD_START, invalid
    own = profile is Profile.DRAFTCRITIC
    seed_strength, bad_score = _mean(nodes, "score", (0.0, 1.0) if own else _ANY)
    edge_weight, bad_weight = _mean(edges, "weight", (0.0, math.inf) if own else _ANY)
    path_coverage = min(1.0, len(paths) / 3.0)
    confidence = 0.4 * seed_strength + 0.3 * path_coverage + 0.3 * min(1.0, edge_weight / 5.0)
    if own:
        confidence /= 0.4 + 0.3 * bool(paths) + 0.3 * bool(edges)
    return max(0.0, min(1.0, confidence)), invalid or bad_score or bad_weight


def detect_sensitive_hit(activation_log: Mapping[str, Any] | None, sensitive_tags: Iterable[str]) -> str | None:
    """Return the first tag of an activated node, in node order then tag order, that is sensitive; else None.

    Args:
        activation_log: see `compute_confidence`; the tags of a node are its `tags`, else `properties.tags`. A single
            string in place of a list of tags is one tag.
        sensitive_tags: the tags to look for.
    """
    return next(_hits(activation_log, sensitive_tags), None)


def detect_sensitive_hits(activation_log: Mapping[str, Any] | None, sensitive_tags: Iterable[str]) -> tuple[str, ...]:
    """Return every sensitive tag of the activated nodes once, in the order of `detect_sensitive_hit`."""
    return tuple(dict.fromkeys(_hits(activation_log, sensitive_tags)))


def _hits(activation_log: Mapping[str, Any] | None, sensitive_tags: Iterable[str]) -> Iterator[str]:
    wanted = {sensitive_tags} if isinstance(sensitive_tags, str) else set(sensitive_tags)
    if not wanted or not isinstance(activation_log, Mapping):
        return
    for node in _items(activation_log, "activated_nodes")[0]:
        for tag in _tags(node):
            if isinstance(tag, str) and tag in wanted:
                yield str(tag)


def activation_from_resolved(resolved: Any) -> dict[str, list[Any]]:
    """Return the activation log of a resolved activation.

    Args:
        resolved: a mapping or an object with `activated_nodes`, `inference_paths` and `traversed_edges`, as a memory
            layer resolves it for a turn; None gives an empty log. Nodes and edges may be objects too.
    """
    if resolved is None:
        return {}
    names = ("activated_nodes", "inference_paths", "traversed_edges")
    source = {name: _field(resolved, name) for name in names}
    return {name: list(_items(source, name)[0]) for name in names}


def _field(holder: Any, name: str) -> Any:
    if isinstance(holder, Mapping):
        return holder.get(name, _MISSING)
    return getattr(holder, name, _MISSING)


def _items(log: Mapping[str, Any], name: str) -> tuple[Collection[Any], bool]:
    """Return the list of that name, and whether something else stood there."""
    value = log.get(name)
    if value is None or value is _MISSING:
        return (), False
    if isinstance(value, Collection) and not isinstance(value, (str, bytes, Mapping)):
        return value, False
    return (), True


def _mean(holders: Collection[Any], name: str, valid: tuple[float, float]) -> tuple[float, bool]:
    """Return the mean of a field, missing ones as zero, and whether some of them were no numbers in a valid range."""
    if not holders:
        return 0.0, False
    numbers = []
    invalid = False
    for holder in holders:
        value = _field(holder, name)
        number = 0.0 if value is _MISSING else _finite(value)
        if number is not None and not valid[0] <= number <= valid[1]:
            number = None
        invalid = invalid or number is None
        numbers.append(number or 0.0)
    mean = sum(numbers) / len(numbers)
    if not math.isfinite(mean):
        mean = sum(number / len(numbers) for number in numbers)
    return mean, invalid


def _finite(value: Any) -> float | None:
    if not isinstance(value, (Real, Decimal)):
        return None
    try:
        number = float(value)
    except (OverflowError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _tags(node: Any) -> Iterable[Any]:
    for holder in (node, _field(node, "properties")):
        tags = _field(holder, "tags")
        if isinstance(tags, str):
            if tags:
                return (tags,)
        elif isinstance(tags, Iterable) and (not isinstance(tags, Collection) or len(tags)):
            return tags
    return ()


_RISK = {"action": 2, "ambiguous": 1}


class Support(NamedTuple):
    """How far the activation logs of a turn support its draft.

    Attributes:
        confidence: the lowest of what the application, the request and the documents give.
        invalid: one of the logs has values that are not finite numbers or lists.
        hits: every sensitive tag that was met, those of the application first.
        server_hits: those of them that did not come from the request alone.
    """

    confidence: float
    invalid: bool
    hits: tuple[str, ...]
    server_hits: tuple[str, ...]


def support_of(turn: Turn, sensitive_tags: Collection[str], profile: Profile = Profile.SYMFONIC) -> Support:
    """Return the confidence and the sensitive tags of a turn: tags are united, the lowest confidence counts."""
    confidence, invalid = measure_activation(turn.activation, profile)
    for log in (turn.retrieved, turn.requested):
        if log:
            other, other_invalid = measure_activation(log, profile)
            confidence, invalid = min(confidence, other), invalid or other_invalid
    if not sensitive_tags:
        return Support(confidence, invalid, (), ())
    server = tuple(
        dict.fromkeys(
            hit for log in (turn.activation, turn.retrieved) for hit in detect_sensitive_hits(log, sensitive_tags)
        )
    )
    requested = detect_sensitive_hits(turn.requested, sensitive_tags)
    return Support(confidence, invalid, tuple(dict.fromkeys((*server, *requested))), server)


def intent_of(turn: Turn) -> IntentVerdict | None:
    """Return the riskier of the intents that the application and the request give."""
    own, requested = turn.intent, turn.requested_intent
    if own is None or requested is None:
        return requested if own is None else own
    return max(own, requested, key=_risk)


def _risk(intent: IntentVerdict) -> tuple[int, float]:
    return _RISK.get(intent.label, 0), intent.confidence
