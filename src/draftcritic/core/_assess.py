"""The deterministic part of a review, in the one order that every caller uses."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import compress
from types import CodeType
from typing import Any

from draftcritic.core._claims import draft_has_claims
from draftcritic.core._confidence import Support, intent_of, support_of
from draftcritic.core._declining import is_plain_courtesy
from draftcritic.core._enums import FabricationMode, GateDecision, GateReason, Profile
from draftcritic.core._exception_place import described
from draftcritic.core._gate import CriticGateContext, acknowledges, critic_gate_fires, took_tool_action
from draftcritic.core._policy import Gate, Policy
from draftcritic.core._question import asks
from draftcritic.core._review import Assessment
from draftcritic.core._text import is_invisible
from draftcritic.core._turn import Turn
from draftcritic.grounding._detector import detect_fabrication
from draftcritic.grounding._findings import FabricationFinding

Findings = tuple[FabricationFinding, ...]

logger = logging.getLogger(__name__)

_SIGNALS = (
    GateReason.SENSITIVE_TAG,
    GateReason.FABRICATION,
    GateReason.TOOL_ACTION,
    GateReason.INTENT_ACTION,
    GateReason.INTENT_AMBIGUOUS,
    GateReason.DOUBT,
    GateReason.CLAIMS,
    GateReason.NOT_TRIVIAL,
    GateReason.LOW_CONFIDENCE,
    GateReason.CONFIDENT,
    GateReason.TRIVIAL_ACK,
)
"""In the order of `GateReason`."""
_SELECTIVE_FLOORS = frozenset(
    {
        GateReason.SENSITIVE_TAG,
        GateReason.FABRICATION,
        GateReason.TOOL_ACTION,
        GateReason.INTENT_ACTION,
        GateReason.INTENT_AMBIGUOUS,
        GateReason.DOUBT,
        GateReason.CLAIMS,
        GateReason.NOT_TRIVIAL,
    }
)
_INTENTS = {GateReason.INTENT_ACTION: "action", GateReason.INTENT_AMBIGUOUS: "ambiguous"}
_LEGACY_FLOORS = {
    Profile.DRAFTCRITIC: frozenset({GateReason.SENSITIVE_TAG, GateReason.FABRICATION, GateReason.LOW_CONFIDENCE}),
    Profile.SYMFONIC: frozenset({GateReason.SENSITIVE_TAG, GateReason.LOW_CONFIDENCE}),
}


def assess(turn: Turn, policy: Policy, *, findings: Sequence[FabricationFinding] | None = None) -> Assessment:
    """Judge a draft without any model call: confidence, sensitive hit, fabrications, gate.

    The gate is the policy's own when it has one, else the selective or the legacy one. The reason is the first, in
    the order of `GateReason`, of the causes that the gate in force looks at; the signals are all that hold.

    Args:
        turn: the draft with what may ground it.
        policy: what the gate goes by.
        findings: what a fabrication check outside found; with None the policy decides on a check here.
    """
    if is_invisible(turn.draft):
        return Assessment(GateDecision.NOT_EVALUATED, GateReason.NOT_A_DRAFT)
    support = support_of(turn, policy.all_sensitive_tags, policy.profile)
    if support.invalid:
        _warn_invalid()
    confidence, hit = support.confidence, next(iter(support.hits), None)
    found = None if findings is None else tuple(findings)
    if found is None and policy.fabrication_mode is not FabricationMode.OFF:
        found = find_in(turn.draft, turn, policy)
    signals = _signals(turn, policy, confidence, hit, found)
    gate = _usable_gate(policy)
    if gate is None:
        decision, reason, error = *_decide(signals, policy), None
    else:
        decision, reason, error = _ask(gate, _context(turn, policy, confidence, hit, found))
    return Assessment(
        decision=decision,
        reason=reason,
        signals=signals,
        confidence=confidence,
        sensitive_hit=hit,
        findings=found,
        activation_invalid=support.invalid,
        gate_error=error,
        threshold=policy.confidence_threshold,
        sensitive_hits=support.hits,
        requested=tuple(_requested(turn, policy, support, found)) if turn.requested or turn.requested_intent else (),
    )


def _requested(turn: Turn, policy: Policy, support: Support, found: Findings | None) -> Iterator[GateReason]:
    """Yield the signals that hold because of the request's metadata alone."""
    if support.hits and not support.server_hits:
        yield GateReason.SENSITIVE_TAG
    label, own = getattr(intent_of(turn), "label", None), getattr(turn.intent, "label", None)
    if label != own:
        yield from (reason for reason, word in _INTENTS.items() if word == label)
        if found and own != "action" and all(finding.kind == "intent_action_no_tool" for finding in found):
            if _has_finding(found, policy):
                yield GateReason.FABRICATION
            if _has_doubt(found, policy):
                yield GateReason.DOUBT


def _has_finding(found: Findings | None, policy: Policy) -> bool:
    return any(policy.profile is Profile.SYMFONIC or not finding.is_doubt for finding in found or ())


def _has_doubt(found: Findings | None, policy: Policy) -> bool:
    return any(policy.profile is not Profile.SYMFONIC and finding.is_doubt for finding in found or ())


def find_in(text: str, turn: Turn, policy: Policy) -> Findings:
    """Return what the fabrication check finds in a text that answers a turn."""
    return tuple(
        detect_fabrication(
            text,
            turn.tool_calls,
            hydrated_context=turn.context,
            user_message=turn.user_message,
            identifier_keys=policy.identifier_keys,
            intent_verdict=intent_of(turn),
            identifier_patterns=policy.identifier_patterns,
            never_flag=policy.never_flag,
            read_only_tools=policy.read_only_tools,
            tool_actions=policy.tool_actions,
            hearsay=turn.hearsay,
            hearsay_calls=turn.hearsay_calls,
            has_unread=turn.has_unread,
            trusts_arguments=False,
        )
    )


def _signals(
    turn: Turn, policy: Policy, confidence: float, hit: str | None, found: Findings | None
) -> tuple[GateReason, ...]:
    """Return which of `_SIGNALS` hold."""
    label = getattr(intent_of(turn), "label", None)
    claims = draft_has_claims(turn.draft)
    trivial = not claims and acknowledges(turn.draft, policy.trivial_ack_patterns) and not _answers(turn, policy)
    confident = not critic_gate_fires(confidence, None, policy.confidence_threshold)
    held = (
        hit is not None,
        _has_finding(found, policy),
        took_tool_action(turn.tool_calls, policy.read_only_tools),
        label == "action",
        label == "ambiguous",
        _has_doubt(found, policy),
        claims,
        not trivial,
        not confident,
        confident,
        trivial,
    )
    return tuple(compress(_SIGNALS, held))


def _answers(turn: Turn, policy: Policy) -> bool:
    """Return whether a short draft may answer a question, as a permission does."""
    return not policy.trivial_ack_patterns and not is_plain_courtesy(turn.draft) and asks(turn.user_message)


def _context(
    turn: Turn, policy: Policy, confidence: float, hit: str | None, found: Findings | None
) -> CriticGateContext:
    return CriticGateContext(
        draft=turn.draft,
        tool_calls_this_turn=turn.tool_calls,
        fabrication_findings=found or (),
        intent_verdict=intent_of(turn),
        confidence=confidence,
        sensitive_hit=hit,
        read_only_tools=policy.read_only_tools,
        selective_gate_enabled=policy.selective_gate,
        trivial_ack_patterns=policy.trivial_ack_patterns,
        scope=turn.scope,
        run_id=turn.run_id,
    )


def _decide(signals: tuple[GateReason, ...], policy: Policy) -> tuple[GateDecision, GateReason]:
    if policy.selective_gate:
        floors, otherwise = _SELECTIVE_FLOORS, GateReason.TRIVIAL_ACK
    else:
        floors, otherwise = _LEGACY_FLOORS[policy.profile], GateReason.CONFIDENT
    for reason in signals:
        if reason in floors:
            return GateDecision.FIRED, reason
    return GateDecision.SKIPPED, otherwise


def _ask(gate: Gate, ctx: CriticGateContext) -> tuple[GateDecision, GateReason, str | None]:
    try:
        fires = _as_answer(gate(ctx))
    except Exception as error:
        # A user's gate that fails must not open the way: the critic is asked.
        if next(_first_of(type(error).__qualname__, _place_of(error)), False):
            logger.error(  # noqa: TRY400 - a traceback repeats the draft
                "draftcritic: the gate raised %s; the critic is asked; logged once, and counted as gate_error",
                described(error),
            )
        return GateDecision.FIRED, GateReason.GATE_ERROR, type(error).__name__
    return (GateDecision.FIRED if fires else GateDecision.SKIPPED), GateReason.CUSTOM_GATE, None


def _as_answer(answer: Any) -> bool:
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        raise TypeError("the gate is asynchronous: it must answer at once, with a bool")
    return bool(answer)


def _usable_gate(policy: Policy) -> Gate | None:
    # A configuration may hold any object where the policy says a gate.
    gate: Any = policy.gate
    if gate is not None and not callable(gate):
        _warn_of(type(gate).__name__)
        return None
    return policy.gate


def _place_of(error: Exception) -> tuple[CodeType, int] | None:
    """Return where in the gate the error came from: it identifies the failure without quoting the draft."""
    inside = error.__traceback__ and error.__traceback__.tb_next
    return None if inside is None else (inside.tb_frame.f_code, inside.tb_lineno)


@lru_cache(maxsize=64)
def _first_of(kind: str, place: tuple[CodeType, int] | None) -> Iterator[bool]:  # noqa: ARG001 - one for each of them
    """Return what says True once."""
    return iter((True,))


@lru_cache(maxsize=1)
def _warn_invalid() -> None:
    logger.warning(
        "draftcritic: an activation log has scores outside 0 to 1, or values that are not numbers or lists; they count "
        "as 0; logged once, and marked on each span as draftcritic.activation.invalid"
    )


@lru_cache(maxsize=16)
def _warn_of(kind: str) -> None:
    logger.warning("draftcritic: the gate is a %s and cannot be called; the default gate decides", kind)
