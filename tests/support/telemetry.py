"""A recorder over the real SDK in memory, and reviews built by hand."""

from __future__ import annotations

from typing import Any

from support.sdk import Telemetry

from draftcritic.core import (
    Action,
    Assessment,
    Cancelled,
    Failed,
    Failure,
    Forced,
    GateDecision,
    GateOnly,
    GateReason,
    Judged,
    Limited,
    Mode,
    ModelCall,
    Muted,
    Review,
    Skipped,
    Turn,
    Usage,
    Verdict,
)
from draftcritic.grounding import FabricationFinding
from draftcritic.telemetry import Capture, TelemetryRecorder

CALL = ModelCall(
    model="anthropic.claude-haiku-4-5-20251001-v1:0",
    sku="claude-haiku-4-5",
    usage=Usage(input_tokens=812, output_tokens=41, cost_usd=0.001017),
    finish_reason="end_turn",
    latency_s=0.7,
)
TURN = Turn(
    draft="Your order A-4480 was refunded.",
    run_id="0199a7c2-1111-7000-8000-000000000001",
    draft_model="gpt-4o-mini-2024-07-18",
    streamed=True,
    exposed=False,
    response_id="chatcmpl-1",
    conversation_id="conversation-1",
    session_id="session-1",
    user_id="user-1",
)
FIRED = Assessment(
    GateDecision.FIRED,
    GateReason.SENSITIVE_TAG,
    (GateReason.SENSITIVE_TAG, GateReason.CLAIMS),
    confidence=0.45,
    sensitive_hit="refund",
    threshold=0.6,
)
SKIPPED = Assessment(
    GateDecision.SKIPPED, GateReason.TRIVIAL_ACK, (GateReason.TRIVIAL_ACK,), confidence=0.5, threshold=0.6
)
NOT_EVALUATED = Assessment(GateDecision.NOT_EVALUATED, GateReason.NOT_A_DRAFT, (GateReason.NOT_A_DRAFT,))


def finding(identifier: str = "A-9999", kind: str = "kv", confidence: float = 0.8) -> FabricationFinding:
    return FabricationFinding(
        identifier=identifier,
        kind=kind,
        severity="high",
        reason="nothing grounds it",
        key=None,
        pattern_kind=kind,
        confidence=confidence,
        span=(0, 6),
        grounded_sources=(),
    )


def review(
    outcome: Any = None,
    assessment: Assessment = FIRED,
    *,
    turn: Turn = TURN,
    mode: Mode = Mode.OBSERVE,
    action: Action = Action.RECORDED,
) -> Review:
    outcome = Judged(Verdict.APPROVE, None, call=CALL) if outcome is None else outcome
    return Review(turn, mode, assessment, outcome, action, duration_s=0.75, policy_version="8ab6571763b3")


def skipped() -> Review:
    return review(Skipped(), SKIPPED)


def not_evaluated() -> Review:
    return review(Skipped(), NOT_EVALUATED)


def failed(failure: Failure = Failure.TIMEOUT, error_type: str | None = "TimeoutError") -> Review:
    call = ModelCall(CALL.model, CALL.sku, error_type=error_type)
    return review(Failed(failure, error_type=error_type, call=call), action=Action.FAILED_OPEN)


def every_outcome(text: str, turn: Turn) -> list[Review]:
    """One review for each outcome, with `text` wherever a text of the turn can stand."""
    found = Assessment(
        GateDecision.FIRED, GateReason.FABRICATION, (GateReason.FABRICATION,), 0.4, findings=(finding(text),)
    )
    call = ModelCall(CALL.model, CALL.sku, CALL.usage, "end_turn")
    outcomes = [
        Judged(Verdict.APPROVE, None, (text,), call=call, reason=text),
        Judged(Verdict.REVISE, text, (text, text), call=call),
        Judged(Verdict.REFUSE, text, (text,), call=call),
        Forced(Verdict.REVISE, text),
        Forced(Verdict.REFUSE, text),
        Failed(Failure.UNPARSABLE, closed=True, text=text, call=call),
        Failed(Failure.ERROR, error_type="openai.APIError", call=call),
        Skipped(),
        GateOnly(),
        Limited(closed=True, text=text),
        Muted(),
        Cancelled("asyncio.CancelledError", call),
    ]
    return [review(outcome, found, turn=turn) for outcome in outcomes]


class Harness(Telemetry):
    """Telemetry with a recorder over its providers."""

    def __init__(
        self,
        capture: Capture = Capture.NO_CONTENT,
        sampler: Any = None,
        span_limits: Any = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(sampler, span_limits)
        self.recorder = TelemetryRecorder(**self.providers, capture=capture, **(options or {}))

    def record(self, finished: Review, origin: Any = None) -> None:
        """What the engine does, for a review that is already known."""
        record = self.recorder.begin(finished.turn, origin)
        if finished.call is not None:
            record.call_started(finished.call.model, finished.call.sku, finished.turn.run_id)
            record.call_ended(finished.call, finished.turn.run_id)
        record.finish(finished)
