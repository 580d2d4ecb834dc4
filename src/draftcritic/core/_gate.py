"""The gate: deterministic, before any model call. It decides whether the critic is asked at all."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from draftcritic.core._acknowledgements import MAX_CHARS, is_acknowledgement
from draftcritic.core._claims import draft_has_claims
from draftcritic.core._patterns import MOST_WAYS_IN_SHORT, check_pattern
from draftcritic.core._policy import CONFIDENCE_THRESHOLD

if TYPE_CHECKING:
    from draftcritic.core._turn import IntentVerdict
    from draftcritic.grounding._findings import FabricationFinding

logger = logging.getLogger(__name__)

RISKY_INTENTS = frozenset({"action", "ambiguous"})
"""Intents of the user that always deserve the critic."""


@dataclass(frozen=True)
class CriticGateContext:
    """Everything a gate may look at; no field costs a model call.

    Attributes:
        draft: the text the agent's model wrote.
        tool_calls_this_turn: the calls since the user's last message, each a mapping with at least `name`.
        fabrication_findings: what `detect_fabrication` found.
        intent_verdict: the intent of the user's request when somebody classified it.
        confidence: see `compute_confidence`.
        sensitive_hit: the sensitive tag that was met.
        read_only_tools: names of the tools that change nothing.
        selective_gate_enabled: trivial acknowledgements may be skipped.
        trivial_ack_patterns: see `draft_is_trivial_ack`.
        scope: opaque; whatever the application handed over.
        run_id: the id of the run that wrote the draft.
    """

    draft: str
    tool_calls_this_turn: tuple[Mapping[str, Any], ...] = ()
    fabrication_findings: tuple[FabricationFinding, ...] = ()
    intent_verdict: IntentVerdict | None = None
    confidence: float = 0.5
    sensitive_hit: str | None = None
    read_only_tools: frozenset[str] = frozenset()
    selective_gate_enabled: bool = False
    trivial_ack_patterns: tuple[str, ...] = ()
    scope: Any = None
    run_id: str = ""

    @property
    def intent_label(self) -> str | None:
        """The label of the intent verdict; None without one."""
        return getattr(self.intent_verdict, "label", None)


def critic_gate_fires(
    confidence: float, sensitive_hit: str | None = None, threshold: float = CONFIDENCE_THRESHOLD
) -> bool:
    """The legacy gate: fires below the threshold or on a sensitive hit. A confidence that is no number fires."""
    return sensitive_hit is not None or not confidence >= threshold


def default_smart_gate(ctx: CriticGateContext) -> bool:
    """The selective gate: whether the critic fires.

    It skips only a trivial acknowledgement that meets no hard floor, and only when the selective gate is on. Every
    doubt fires.
    """
    return not (
        ctx.selective_gate_enabled and not hard_fire(ctx) and draft_is_trivial_ack(ctx.draft, ctx.trivial_ack_patterns)
    )


def hard_fire(ctx: CriticGateContext) -> bool:
    """Whether the draft must be reviewed whatever the gate's settings are.

    Reasons are a sensitive hit, a fabrication finding, a tool call that may have changed something, the intent `action`
    or `ambiguous`, or a draft with claims. Low confidence is none: a turn that activates nothing is as often a
    "thank you" as a risk.
    """
    return (
        ctx.sensitive_hit is not None
        or bool(ctx.fabrication_findings)
        or ctx.intent_label in RISKY_INTENTS
        or took_tool_action(ctx.tool_calls_this_turn, ctx.read_only_tools)
        or draft_has_claims(ctx.draft)
    )


def took_tool_action(
    tool_calls_this_turn: Iterable[Any] | None, read_only_tools: Collection[str] | None = frozenset()
) -> bool:
    """Whether a tool call this turn may have changed something.

    Every call may have, unless its `name` is in `read_only_tools`; a call without a name may have.
    """
    harmless = {read_only_tools} if isinstance(read_only_tools, str) else read_only_tools or ()
    for call in tool_calls_this_turn or ():
        name = call.get("name") if isinstance(call, Mapping) else None
        if not isinstance(name, str) or not name or name not in harmless:
            return True
    return False


def draft_is_trivial_ack(draft: str, ack_patterns: Sequence[str] | None = None) -> bool:
    """Whether the draft is nothing but an acknowledgement: the only thing the selective gate skips.

    It has at most 160 characters and no claim, and from its first to its last word it consists of acknowledgements
    of one known language, emoji included. A question, a promise, a name or a number is none, nor is anything in a
    language without a word list.

    Args:
        draft: the text to judge.
        ack_patterns: regular expressions that take the place of the word lists. The draft is one when any of them is
            found anywhere in its lower-cased text: anchor them (`^...$`) to keep "sure, I wired the money" out. A
            pattern that is no regular expression, or whose matching can take very long, matches nothing.
    """
    return bool(draft) and acknowledges(draft, ack_patterns) and not draft_has_claims(draft)


def acknowledges(draft: str, ack_patterns: Sequence[str] | None = None) -> bool:
    """Whether a draft that is known to hold no claim is a trivial acknowledgement. See `draft_is_trivial_ack`."""
    stripped = draft.strip() if draft else ""
    if not stripped or len(stripped) > MAX_CHARS:
        return False
    if not ack_patterns:
        return is_acknowledgement(stripped)
    patterns = (ack_patterns,) if isinstance(ack_patterns, str) else ack_patterns
    lowered = stripped.lower()
    return any(pattern is not None and pattern.search(lowered) for pattern in map(_compiled, patterns))


def check_acknowledgement_pattern(pattern: str) -> re.Pattern[str]:
    """Return a compiled pattern of acknowledgements, which is searched in at most 160 characters.

    Raises:
        ValueError: it is no regular expression, or matching it can take too long.
    """
    return check_pattern(pattern, most_ways=MOST_WAYS_IN_SHORT, flags=re.IGNORECASE, may_be_empty=True)


def _compiled(pattern: Any) -> re.Pattern[str] | None:
    text = pattern.pattern if isinstance(pattern, re.Pattern) else pattern
    if isinstance(text, str):
        return _usable(text)
    _warn_once(type(text).__name__, "is no text")
    return None


@lru_cache(maxsize=256)
def _usable(pattern: str) -> re.Pattern[str] | None:
    try:
        return check_acknowledgement_pattern(pattern)
    except ValueError as error:
        _warn_once(pattern, str(error))
        return None


@lru_cache(maxsize=256)
def _warn_once(pattern: str, reason: str) -> None:
    logger.warning("draftcritic: the acknowledgement pattern %.200r %s; it is left out", pattern, reason)
