"""The one sequence that every draft goes through, for synchronous and asynchronous callers alike."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any

from draftcritic.core._assess import assess, find_in
from draftcritic.core._claims import draft_has_claims
from draftcritic.core._confidence import support_of
from draftcritic.core._declining import declines
from draftcritic.core._enums import (
    Action,
    FabricationMode,
    Failure,
    GateDecision,
    GateReason,
    Mode,
    OnFailure,
    OnLimit,
    OnUnjudged,
    Profile,
    Verdict,
)
from draftcritic.core._exception_place import described, qualified_name
from draftcritic.core._hooks import ObservabilityHook
from draftcritic.core._policy import Policy
from draftcritic.core._review import (
    Assessment,
    Cancelled,
    Failed,
    Forced,
    GateOnly,
    Judged,
    Limited,
    ModelCall,
    Outcome,
    Review,
    Skipped,
    Usage,
    undecided,
)
from draftcritic.core._text import is_invisible
from draftcritic.core._turn import Turn
from draftcritic.grounding._findings import FabricationDecision, FabricationFinding
from draftcritic.grounding._policy_check import decide_fabrication
from draftcritic.review._calls import TimedCaller
from draftcritic.review._failures import contain_exit
from draftcritic.review._hook_dispatch import HookDispatcher
from draftcritic.review._ports import NoLimits, NullRecord, ReviewLimits, ReviewObserver
from draftcritic.review._reflector import ModelSource, Reflector
from draftcritic.review._reply_check import Judge
from draftcritic.review._scope import reviewing
from draftcritic.review._single_flight import Sharing
from draftcritic.review._steps import ComputeStep, Flow, Progress, Step, adrive, drive

Findings = Sequence[FabricationFinding]

_logger = logging.getLogger(__name__)

_ADDED_THRESHOLD = 0.7
"""Confidence of a finding that is enough in a text of the critic, where the draft does not say the same: the critic
has no source of its own for a number or a reference."""
_OWN = Sharing(0)
"""Lets each review have its own call. One for all: frameworks make a critic for each draft."""
_WITH_TEXT = (Judged, Forced, Failed, Limited)
"""Outcomes that may have a text in place of the draft."""
_Deciding = Generator[Step, Any, Outcome]


class Critic:
    """Reviews drafts. Safe to use from several threads and event loops at once.

    Args:
        policy: the rules that drafts are judged by.
        mode: how far a review goes.
        observer: writes the reviews down.
        hooks: notified of each call of the critic's model.
        limits: keeps drafts from the model call; None for no limits.
        sharing: lets reviews of the same draft share a call; None lets each have its own.
    """

    def __init__(
        self,
        policy: Policy,
        mode: Mode,
        observer: ReviewObserver,
        hooks: Sequence[ObservabilityHook] = (),
        *,
        limits: ReviewLimits | None = None,
        sharing: Sharing | None = None,
    ) -> None:
        self._policy = policy
        self._mode = mode
        self._observer = observer
        self._judge = Judge(policy, mode)
        self._reflector = Reflector(
            policy,
            self._judge,
            observer,
            HookDispatcher(hooks),
            limits=limits or NoLimits(),
            sharing=sharing or _OWN,
            in_parts=mode is Mode.ENFORCE,
        )
        self._checks = TimedCaller()
        """Threads of its own: a model that hangs must not keep drafts from their checks."""
        self._reported: set[type] = set()

    def close(self) -> None:
        """End the threads that wait for the next call. Later reviews still work."""
        self._reflector.close()
        self._checks.close()

    def review(
        self,
        turn: Turn,
        model: ModelSource,
        origin: Any = None,
        *,
        findings: Findings | None = None,
        wanted: Callable[[], bool] | None = None,
    ) -> Review:
        """Review a draft. Raises nothing of the critic's own.

        Args:
            turn: the draft with what may ground it.
            model: whom to ask when the gate fires.
            origin: where the draft is in its trace; a value of the observer's `capture`.
            findings: what a fabrication check outside found; None lets the policy decide on a check here.
            wanted: asked once, at the end: False leaves the review unrecorded, as its draft was counted as lost.
        """
        flow = self._flow(Progress.of(turn, origin, wanted), self._decision(model, findings))
        with reviewing():
            return drive(flow)

    async def areview(
        self, turn: Turn, model: ModelSource, origin: Any = None, *, findings: Findings | None = None
    ) -> Review:
        """Review a draft without blocking the event loop. See `review`."""
        flow = self._flow(Progress.of(turn, origin), self._decision(model, findings))
        with reviewing():
            return await adrive(flow)

    def decline(
        self, turn: Turn, reason: GateReason, origin: Any = None, *, wanted: Callable[[], bool] | None = None
    ) -> Review:
        """Record that a draft is not evaluated, and why. Raises nothing of the critic's own."""

        def unasked(progress: Progress) -> _Deciding:
            yield from ()
            progress.assessment = Assessment(GateDecision.NOT_EVALUATED, reason)
            return undecided(reason)

        return drive(self._flow(Progress.of(turn, origin, wanted), unasked))

    def repeat(self, turn: Turn, verdict: Verdict, call: ModelCall, origin: Any = None) -> Review:
        """Record that a draft came again that another review has judged, and ask no model.

        Args:
            turn: the draft with what may ground it.
            verdict: of the other review.
            call: the other review's call; it is recorded as shared.
            origin: where the draft is in its trace.
        """

        def shared(progress: Progress) -> _Deciding:
            progress.assessment = yield self._computation(turn, self._assessed, turn, None)
            progress.call = replace(call, usage=Usage(), shared=True)
            return Judged(verdict, None, call=progress.call)

        with reviewing():
            return drive(self._flow(Progress.of(turn, origin), shared))

    def fail(
        self,
        turn: Turn,
        error: Exception,
        origin: Any = None,
        *,
        closed: bool = False,
        wanted: Callable[[], bool] | None = None,
    ) -> Review:
        """Record a draft that could not be read for its review. Raises nothing of the critic's own.

        Args:
            turn: what is known of it.
            error: what kept it from being read.
            origin: where the draft is in its trace.
            closed: the draft does not pass, whatever the turn says.
            wanted: see `review`.
        """

        def unread(progress: Progress) -> _Deciding:
            yield from ()
            if is_invisible(turn.draft):
                progress.assessment = Assessment(GateDecision.NOT_EVALUATED, GateReason.NOT_A_DRAFT)
                return undecided(GateReason.NOT_A_DRAFT)
            failed = self._internal_error(progress, error)
            return replace(failed, closed=True, text=self._policy.default_refusal) if closed else failed

        return drive(self._flow(Progress.of(turn, origin, wanted), unread))

    def _decision(self, model: ModelSource, findings: Findings | None) -> Callable[[Progress], _Deciding]:
        return lambda progress: self._decide(progress, model, findings)

    def _flow(self, progress: Progress, decide: Callable[[Progress], _Deciding]) -> Flow:
        """Open the record, decide, close the record. The one place where the critic's own faults end."""
        try:
            progress.record = self._observer.begin(progress.turn, progress.origin)
            outcome = yield from decide(progress)
            if isinstance(outcome, _WITH_TEXT):
                outcome = yield self._computation(progress.turn, self._localized, progress, outcome)
        except Exception as error:
            outcome = self._localized(progress, self._internal_error(progress, error))
        except BaseException as stop:
            self._finish(progress, Cancelled(qualified_name(type(stop)), progress.call))
            raise
        return self._finish(progress, outcome)

    def _computation(self, turn: Turn, function: Callable[..., Any], *arguments: Any, text: str = "") -> ComputeStep:
        """Return the step that calls a function which reads a turn."""
        return ComputeStep(function, arguments, turn, text, self._checks)

    def _localized(self, progress: Progress, outcome: Outcome) -> Outcome:
        """Return the outcome with the text that may replace the draft, in the language of the conversation."""
        if isinstance(outcome, (Judged, Forced)):
            refuses, stands_in = outcome.verdict is Verdict.REFUSE, outcome.verdict is not Verdict.APPROVE
        elif isinstance(outcome, (Failed, Limited)):
            refuses = stands_in = outcome.closed
        else:
            return outcome
        if not stands_in or self._policy.profile is Profile.SYMFONIC:
            return outcome
        turn, text = progress.turn, self._policy.refusal(progress.turn) if refuses else None
        if text is not None:
            return replace(outcome, text=text)
        if isinstance(outcome, Judged) and outcome.defaulted and self._declines(progress):
            return replace(outcome, text=turn.draft)
        return replace(outcome, text=self._policy.localized(outcome.text, turn))

    @staticmethod
    def _declines(progress: Progress) -> bool:
        """Return whether the draft declines already and claims nothing: no other text would say it better."""
        draft, assessment = progress.turn.draft, progress.assessment
        return not (assessment and assessment.findings) and not draft_has_claims(draft) and declines(draft)

    def _checked(self, turn: Turn, judged: Judged | Failed) -> Judged | Failed | Forced:
        """Return the outcome of a reflection whose text passes the checks that a draft has to pass."""
        mode = self._policy.fabrication_mode
        if self._mode is not Mode.ENFORCE or mode not in (FabricationMode.REVISE, FabricationMode.REFUSE):
            return judged
        if not isinstance(judged, Judged) or judged.defaulted or not judged.text:
            return judged
        findings = find_in(judged.text, turn, self._policy)
        added = any(each.confidence >= _ADDED_THRESHOLD and each.identifier not in turn.draft for each in findings)
        threshold = self._policy.fabrication_refuse_threshold
        decision = self._decided(findings, min(threshold, _ADDED_THRESHOLD) if added else threshold)
        if decision.replacement is not None and judged.verdict is Verdict.REVISE:
            return Forced(Verdict.REFUSE, decision.replacement, overruled=judged)
        if decision.replacement is not None or decision.forced_verdict is not None:
            return replace(judged, text=self._judge.standby(judged.verdict), defaulted=True)
        return judged

    def _decide(self, progress: Progress, model: ModelSource, findings: Findings | None) -> _Deciding:
        turn = progress.turn
        assessment = progress.assessment = yield self._computation(turn, self._assessed, turn, findings)
        forced = self._forced(assessment)
        unasked = self._unasked(assessment, forced)
        if unasked is not None:
            return unasked
        reflected = yield from self._reflector.reflect(progress, assessment, model)
        if isinstance(reflected, GateReason):
            # What the gate found stays on record: only the reflection is not made.
            progress.assessment = replace(assessment, decision=GateDecision.NOT_EVALUATED, reason=reflected)
            return forced or self._limited(assessment, reflected)
        if forced is not None and _passes(reflected):
            return Forced(forced.verdict, forced.text, overruled=reflected)
        text = reflected.text or ""
        outcome: Outcome = yield self._computation(turn, self._checked, turn, reflected, text=text)
        return outcome

    def _assessed(self, turn: Turn, findings: Findings | None) -> Assessment:
        try:
            return assess(turn, self._policy, findings=findings)
        except Exception:
            raise
        except BaseException as stop:  # of a gate or pattern that is third-party code
            error = contain_exit(stop)
            raise error from error.__cause__

    def _unasked(self, assessment: Assessment, forced: Forced | None) -> Outcome | None:
        """Return the outcome of a draft that needs no model call; None when the model is to be asked."""
        if assessment.decision is GateDecision.NOT_EVALUATED:
            return undecided(assessment.reason)
        if forced is not None and forced.verdict is Verdict.REFUSE:
            return forced
        if assessment.decision is GateDecision.SKIPPED:
            return forced or Skipped()
        return (forced or GateOnly()) if self._mode is Mode.GATE else None

    def _limited(self, assessment: Assessment, reason: GateReason) -> Limited:
        """Return what becomes of a draft that a limit keeps from its reflection.

        An open circuit is a critic that fails, and what fails closed does so whatever keeps the critic from it.
        """
        policy = self._policy
        closed = (
            policy.on_limit is OnLimit.REFUSE
            or (policy.on_unjudged is OnUnjudged.REFUSE and reason is GateReason.LOOP)
            or assessment.has_tag_of(policy.fail_closed_tags)
            or (policy.on_failure is OnFailure.REFUSE and reason is GateReason.CIRCUIT_OPEN)
        )
        if closed and self._mode is Mode.ENFORCE:
            return Limited(closed=True, text=policy.default_refusal)
        return Limited()

    def _forced(self, assessment: Assessment) -> Forced | None:
        """Return what the fabrication findings alone decide."""
        if not assessment.findings:
            return None
        policy = self._policy
        decision = self._decided(assessment.findings, policy.fabrication_refuse_threshold)
        if decision.replacement is not None:
            return Forced(Verdict.REFUSE, decision.replacement)
        if decision.forced_verdict is not None:
            return Forced(decision.forced_verdict, policy.default_revision)
        return None

    def _decided(self, findings: Findings, threshold: float) -> FabricationDecision:
        """Return what findings decide. In the plugin's profile a doubt decides nothing, in mode `revise` either."""
        if self._policy.profile is not Profile.SYMFONIC:
            findings = [finding for finding in findings if finding.confidence >= threshold]
        return decide_fabrication(findings, self._policy.fabrication_mode, threshold)

    def _internal_error(self, progress: Progress, fault: Exception) -> Failed:
        kind = type(fault)
        level = logging.DEBUG if kind in self._reported else logging.WARNING
        self._reported.add(kind)
        _logger.log(level, "a review failed by a fault of draftcritic: %s", described(fault))
        if isinstance(progress.record, NullRecord):
            # Nothing else reports this draft.
            self._quietly(lambda: self._observer.dropped("error"))
        if progress.assessment is None:
            hits = self._hits(progress.turn)
            progress.assessment = Assessment(
                GateDecision.FIRED,
                GateReason.GATE_ERROR,
                (GateReason.GATE_ERROR,),
                sensitive_hit=next(iter(hits), None),
                gate_error=qualified_name(kind),
                sensitive_hits=hits,
            )
        return self._judge.failed(
            Failure.ERROR, progress.assessment, error_type=qualified_name(kind), call=progress.call
        )

    def _hits(self, turn: Turn) -> tuple[str, ...]:
        """Return the sensitive tags of a turn; those that fail closed where it cannot be read, as it may hide one."""
        try:
            return support_of(turn, self._policy.all_sensitive_tags).hits
        except Exception:
            return tuple(sorted(self._policy.fail_closed_tags))

    def _finish(self, progress: Progress, outcome: Outcome) -> Review:
        review = Review(
            turn=progress.turn,
            mode=self._mode,
            assessment=progress.assessment or _UNKNOWN,
            outcome=outcome,
            action=_action(self._mode, progress.turn, outcome),
            duration_s=time.perf_counter() - progress.started,
            policy_version=self._policy.version,
        )
        if progress.wanted():
            self._quietly(lambda: progress.record.finish(review))
        return review

    def _quietly(self, write: Callable[[], None]) -> None:
        try:
            write()
        except Exception as error:
            _logger.debug("an observer raised %s", described(error))


_UNKNOWN = Assessment(GateDecision.FIRED, GateReason.GATE_ERROR, (GateReason.GATE_ERROR,))
"""The assessment of a review that was stopped before it had one: every doubt fires."""

_ENFORCED = {
    Verdict.APPROVE: Action.PASSED,
    Verdict.REVISE: Action.REPLACED,
    Verdict.REFUSE: Action.BLOCKED,
}


def _passes(reflected: Judged | Failed) -> bool:
    """Return whether a reflection lets the draft pass."""
    return not reflected.closed if isinstance(reflected, Failed) else reflected.verdict is Verdict.APPROVE


def _action(mode: Mode, turn: Turn, outcome: Outcome) -> Action:
    """Return what becomes of the draft."""
    action = _intended(mode, outcome)
    withheld = action not in (Action.RECORDED, Action.PASSED, Action.FAILED_OPEN)
    return Action.EXPOSED if withheld and turn.exposed and mode is Mode.ENFORCE else action


def _intended(mode: Mode, outcome: Outcome) -> Action:
    """Return the action for a draft that the caller has not seen yet."""
    if isinstance(outcome, Failed):
        return Action.FAILED_CLOSED if outcome.closed else Action.FAILED_OPEN
    if mode is not Mode.ENFORCE:
        return Action.RECORDED
    if isinstance(outcome, (Judged, Forced)):
        return _ENFORCED[outcome.verdict]
    if isinstance(outcome, Limited) and outcome.closed:
        return Action.LIMITED_CLOSED
    return Action.PASSED if isinstance(outcome, Skipped) else Action.RECORDED
