"""The policy for findings: the decision by mode, and the event for listeners."""

from __future__ import annotations

import inspect
import logging
import math
from collections.abc import Iterable, Sequence
from typing import Any

from draftcritic.core._enums import FabricationMode, Verdict
from draftcritic.core._exception_place import described, qualified_name
from draftcritic.core._policy import FABRICATION_REFUSE_THRESHOLD
from draftcritic.grounding._detector import detect_fabrication
from draftcritic.grounding._findings import (
    PREVIEW_CHARS,
    FabricationDecision,
    FabricationDetectedEvent,
    FabricationFinding,
    FabricationOutcome,
)

logger = logging.getLogger(__name__)

SAFE_REPLACEMENT = "I could not verify what I was about to tell you, so I'd rather not say it. Shall I check again?"
"""Takes the place of a draft that is refused for a fabrication."""


def decide_fabrication(
    findings: Sequence[FabricationFinding],
    mode: FabricationMode,
    threshold: float = FABRICATION_REFUSE_THRESHOLD,
    replacement: str = SAFE_REPLACEMENT,
) -> FabricationDecision:
    """Return what the findings lead to.

    Mode `revise` forces the verdict `revise` on any finding. Mode `refuse` replaces the draft when some finding's
    confidence reaches the threshold. Everything else is only observed.
    """
    if findings and mode is FabricationMode.REVISE:
        return FabricationDecision("revise_forced", forced_verdict=Verdict.REVISE)
    if mode is FabricationMode.REFUSE and any(finding.confidence >= threshold for finding in findings):
        return FabricationDecision("refuse_replaced", replacement=replacement)
    return FabricationDecision("observed")


async def apply_fabrication_check(
    *,
    config: Any,
    response_text: str | None,
    tool_calls_this_turn: Sequence[Any] | None,
    hydrated_context: str,
    user_message: str,
    identifier_keys: Iterable[str] | None,
    callbacks: Iterable[Any] | None,
    intent_verdict: Any = None,
    run_id: str = "",
) -> FabricationOutcome:
    """Check a draft for fabrications, decide by the configured mode, and notify the listeners.

    Args:
        config: has `fabrication_check_mode` (`off`, `observe`, `revise`, `refuse`; missing means off, any other word
            means observe) and maybe `fabrication_refuse_min_confidence` (default 0.8).
        response_text: the draft.
        tool_calls_this_turn: see `detect_fabrication`.
        hydrated_context: see `detect_fabrication`.
        user_message: see `detect_fabrication`.
        identifier_keys: see `detect_fabrication`.
        callbacks: listeners; one with `on_fabrication_detected(event)`, a coroutine or not, gets a
            `FabricationDetectedEvent`. An exception out of a listener is logged and changes nothing else.
        intent_verdict: see `detect_fabrication`.
        run_id: the id of the run that wrote the draft.
    """
    mode = _mode(config)
    if mode is FabricationMode.OFF or not response_text:
        return FabricationOutcome(findings=[])
    findings = detect_fabrication(
        response_text,
        tool_calls_this_turn,
        hydrated_context=hydrated_context,
        user_message=user_message,
        identifier_keys=identifier_keys,
        intent_verdict=intent_verdict,
    )
    if not findings:
        return FabricationOutcome(findings=[])
    threshold = _threshold(config)
    decision = decide_fabrication(findings, mode, threshold)
    event = fabrication_event(findings, decision, mode=mode, threshold=threshold, draft=response_text, run_id=run_id)
    return FabricationOutcome(
        findings=findings,
        replacement_draft=decision.replacement,
        forced_metacog_verdict=decision.forced_verdict,
        emitted_event=await _notify(event, callbacks),
    )


def fabrication_event(
    findings: Sequence[FabricationFinding],
    decision: FabricationDecision,
    *,
    mode: FabricationMode,
    threshold: float,
    draft: str,
    run_id: str,
) -> FabricationDetectedEvent:
    """Return the event for a draft with findings."""
    return FabricationDetectedEvent(
        run_id=run_id,
        mode=mode.value,
        action_taken=decision.action_taken,
        findings=[finding.to_event_payload() for finding in findings],
        refuse_threshold=threshold,
        max_finding_confidence=max((finding.confidence for finding in findings), default=0.0),
        original_draft_preview=draft[:PREVIEW_CHARS],
        replacement_preview=None if decision.replacement is None else decision.replacement[:PREVIEW_CHARS],
        preview_truncated=len(draft) > PREVIEW_CHARS,
    )


async def _notify(event: FabricationDetectedEvent, callbacks: Iterable[Any] | None) -> bool:
    notified = False
    for listener in callbacks or ():
        listen = getattr(listener, "on_fabrication_detected", None)
        if listen is None:
            continue
        notified = True
        try:
            heard = listen(event)
            if inspect.isawaitable(heard):
                await heard
        except Exception as error:
            # A listener is third-party code: the turn goes on.
            logger.error(  # noqa: TRY400 - a traceback repeats the draft
                "draftcritic: the listener %s raised in on_fabrication_detected: %s",
                qualified_name(type(listener)),
                described(error),
            )
    return notified


def _mode(config: Any) -> FabricationMode:
    mode = getattr(config, "fabrication_check_mode", None)
    if mode is None or mode is False:
        return FabricationMode.OFF
    try:
        return FabricationMode(mode)
    except ValueError:
        return FabricationMode.OBSERVE


def _threshold(config: Any) -> float:
    try:
        threshold = float(getattr(config, "fabrication_refuse_min_confidence", FABRICATION_REFUSE_THRESHOLD))
    except (TypeError, ValueError, OverflowError):
        return FABRICATION_REFUSE_THRESHOLD
    return FABRICATION_REFUSE_THRESHOLD if math.isnan(threshold) else threshold
