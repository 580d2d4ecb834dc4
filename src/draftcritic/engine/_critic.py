"""The one sequence that every draft goes through, for synchronous and asynchronous callers alike."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Coroutine, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from draftcritic.core import (
    Action,
    Assessment,
    FabricationFinding,
    Failed,
    Failure,
    Forced,
    GateDecision,
    GateOnly,
    GateReason,
    Judged,
    Mode,
    ModelCall,
    NotEvaluated,
    ObservabilityHook,
    Outcome,
    Policy,
    Review,
    Skipped,
    Turn,
    Verdict,
    assess,
    decide_fabrication,
    normalise_sku,
)
from draftcritic.engine._failures import classify, qualified_name
from draftcritic.engine._guard import reviewing
from draftcritic.engine._hooks import HookCircle
from draftcritic.engine._observers import NullRecord
from draftcritic.engine._ports import CriticModel, Reply, ReviewObserver, ReviewRecord
from draftcritic.engine._reflection import (
    failed,
    judge,
    model_call,
    prompt_messages,
    retrieve_rules,
    rules_query,
)
from draftcritic.engine._steps import AskStep, AwaitStep, Flow, Step, adrive, drive
from draftcritic.engine._timed import TimedCaller

ModelSource = CriticModel | Callable[[], CriticModel]
"""A model to ask, or what makes one when it is needed."""

Findings = Sequence[FabricationFinding]

_logger = logging.getLogger(__name__)


_Deciding = Generator[Step, Any, Outcome]


@dataclass
class _Progress:
    """How far a review has come: what its end reports, whichever way it ends."""

    turn: Turn
    record: ReviewRecord = field(default_factory=NullRecord)
    assessment: Assessment | None = None
    call: ModelCall | None = None
    started: float = field(default_factory=time.perf_counter)


class Critic:
    """Reviews drafts. Safe to use from several threads and event loops at once.

    Args:
        policy: the rules that drafts are judged by.
        mode: how far a review goes.
        observer: writes the reviews down.
        hooks: told of each call of the critic's model.
    """

    def __init__(
        self,
        policy: Policy,
        mode: Mode,
        observer: ReviewObserver,
        hooks: Sequence[ObservabilityHook] = (),
    ) -> None:
        self._policy = policy
        self._mode = mode
        self._observer = observer
        self._hooks = HookCircle(hooks)
        self._caller = TimedCaller()
        self._reported: set[type] = set()

    def review(self, turn: Turn, model: ModelSource, origin: Any = None, *, findings: Findings | None = None) -> Review:
        """Review a draft. Raises nothing of the critic's own.

        Args:
            turn: the draft with what may ground it.
            model: whom to ask when the gate fires.
            origin: where the draft stands in its trace; a value of the observer's `capture`.
            findings: what a fabrication check outside found; None lets the policy decide on a check here.
        """
        flow = self._flow(turn, self._decision(model, findings), origin)
        with reviewing():
            return drive(flow)

    async def areview(
        self, turn: Turn, model: ModelSource, origin: Any = None, *, findings: Findings | None = None
    ) -> Review:
        """Review a draft without blocking the event loop. See `review`."""
        flow = self._flow(turn, self._decision(model, findings), origin)
        with reviewing():
            return await adrive(flow)

    def decline(self, turn: Turn, reason: GateReason, origin: Any = None) -> Review:
        """Record that a draft is not evaluated, and why. Raises nothing of the critic's own."""

        def unasked(progress: _Progress) -> _Deciding:
            yield from ()
            progress.assessment = Assessment(GateDecision.NOT_EVALUATED, reason)
            return NotEvaluated()

        flow = self._flow(turn, unasked, origin)
        return drive(flow)

    def _decision(self, model: ModelSource, findings: Findings | None) -> Callable[[_Progress], _Deciding]:
        return lambda progress: self._decide(progress, model, findings)

    def _flow(self, turn: Turn, decide: Callable[[_Progress], _Deciding], origin: Any) -> Flow:
        """Open the record, decide, close the record. The one place where the critic's own faults end."""
        progress = _Progress(turn)
        try:
            progress.record = self._observer.begin(turn, origin)
            outcome = yield from decide(progress)
        except Exception as fault:
            outcome = self._own_fault(progress, fault)
        except BaseException as stop:
            self._finish(progress, self._failed(progress, stop))
            raise
        return self._finish(progress, outcome)

    def _decide(self, progress: _Progress, model: ModelSource, findings: Findings | None) -> _Deciding:
        assessment = progress.assessment = assess(progress.turn, self._policy, findings=findings)
        if assessment.decision is GateDecision.NOT_EVALUATED:
            return NotEvaluated()
        forced = self._forced(assessment)
        if forced is not None and forced.verdict is Verdict.REFUSE:
            return forced
        if assessment.decision is GateDecision.SKIPPED:
            return forced or Skipped()
        if self._mode is Mode.GATE:
            return forced or GateOnly()
        reflected = yield from self._reflect(progress, assessment, model)
        if forced is not None and reflected.verdict is Verdict.APPROVE:
            return Forced(forced.verdict, forced.text, overruled=reflected)
        return reflected

    def _forced(self, assessment: Assessment) -> Forced | None:
        """Return what the fabrication findings alone decide."""
        policy = self._policy
        decision = decide_fabrication(
            assessment.findings or (), policy.fabrication_mode, policy.fabrication_refuse_threshold
        )
        if decision.replacement is not None:
            return Forced(Verdict.REFUSE, decision.replacement)
        if decision.forced_verdict is not None:
            return Forced(decision.forced_verdict, policy.default_revision)
        return None

    def _reflect(
        self, progress: _Progress, assessment: Assessment, source: ModelSource
    ) -> Generator[Step, Any, Judged | Failed]:
        try:
            rules = yield from self._rules(progress.turn)
            model = self._model(source)
            prompt = prompt_messages(
                self._policy,
                draft=progress.turn.draft,
                rules=rules,
                sensitive_hit=assessment.sensitive_hit,
            )
            messages = model.messages(prompt)
            reply = yield from self._ask(progress, model, messages)
        except Exception as error:  # the model and its provider are foreign code
            _logger.debug("the reflection failed", exc_info=True)
            return self._failed(progress, error)
        assert progress.call is not None  # noqa: S101 - `_ask` leaves it
        return judge(reply, self._policy, assessment, progress.call)

    def _model(self, source: ModelSource) -> CriticModel:
        if hasattr(source, "acall"):
            return cast("CriticModel", source)
        try:
            return source()
        except Exception as error:
            if type(error) not in self._reported:
                self._reported.add(type(error))
                _logger.warning("the critic's model cannot be had: %r", error)
            raise

    def _rules(self, turn: Turn) -> Generator[Step, Any, Sequence[str]]:
        source = self._policy.rules_source
        if source is None:
            return self._policy.rules
        query = rules_query(turn.activation)
        if not query:
            return ()
        timeout = self._policy.timeout
        try:
            found: Sequence[str] = yield AwaitStep(
                lambda: retrieve_rules(source, query, timeout), self._caller, timeout + 1
            )
        except Exception:
            _logger.debug("the rules source blocked its thread", exc_info=True)
            return ()
        return found

    def _ask(self, progress: _Progress, model: CriticModel, messages: Sequence[Any]) -> Generator[Step, Any, Reply]:
        """Ask, and tell record and hooks before and, however it ends, after."""
        run_id, record = progress.turn.run_id, progress.record
        name = model.name
        reply: Reply | None = None
        error: BaseException | None = None
        record.call_started(name, normalise_sku(name), run_id)
        began = time.perf_counter()
        try:
            yield from self._tell(lambda: self._hooks.started(name, messages, run_id))
            began = time.perf_counter()
            reply = yield AskStep(model, messages, self._policy.timeout, record)
        except BaseException as caught:
            error = caught
        call = progress.call = model_call(name, reply, error, time.perf_counter() - began)
        record.call_ended(call, run_id)
        output = "" if reply is None else _as_text(reply.content)
        usage = {} if reply is None else reply.usage
        yield from self._tell(lambda: self._hooks.ended(call.model, output, usage, run_id))
        if error is not None:
            raise error
        assert reply is not None  # noqa: S101 - either it answered or it raised
        return reply

    def _tell(self, make: Callable[[], Coroutine[Any, Any, None]]) -> Generator[Step, Any, None]:
        if not self._hooks:
            return
        try:
            yield AwaitStep(make, self._caller, self._hooks.limit)
        except Exception as error:
            _logger.warning("the hooks could not be told: %s", qualified_name(type(error)))

    def _failed(self, progress: _Progress, error: BaseException) -> Failed:
        return failed(
            classify(error),
            self._policy,
            progress.assessment or _UNKNOWN,
            error_type=qualified_name(type(error)),
            call=progress.call,
        )

    def _own_fault(self, progress: _Progress, fault: Exception) -> Failed:
        kind = type(fault)
        level = logging.DEBUG if kind in self._reported else logging.WARNING
        self._reported.add(kind)
        _logger.log(level, "a review failed by a fault of draftcritic: %s", qualified_name(kind))
        _logger.debug("the fault's traceback", exc_info=fault)
        self._quietly(lambda: self._observer.dropped("error"))
        if progress.assessment is None:
            progress.assessment = Assessment(
                GateDecision.FIRED, GateReason.GATE_ERROR, (GateReason.GATE_ERROR,), gate_error=qualified_name(kind)
            )
        return failed(
            Failure.ERROR,
            self._policy,
            progress.assessment,
            error_type=qualified_name(kind),
            call=progress.call,
        )

    def _finish(self, progress: _Progress, outcome: Outcome) -> Review:
        review = Review(
            turn=progress.turn,
            mode=self._mode,
            assessment=progress.assessment or _UNKNOWN,
            outcome=outcome,
            action=_action(self._mode, outcome),
            duration_s=time.perf_counter() - progress.started,
        )
        self._quietly(lambda: progress.record.finish(review))
        return review

    def _quietly(self, write: Callable[[], None]) -> None:
        try:
            write()
        except Exception as error:
            _logger.debug("an observer raised %s", qualified_name(type(error)), exc_info=True)


_UNKNOWN = Assessment(GateDecision.FIRED, GateReason.GATE_ERROR, (GateReason.GATE_ERROR,))
"""Stands in where a review was stopped before its assessment: every doubt fires."""

_ENFORCED = {
    Verdict.APPROVE: Action.PASSED,
    Verdict.REVISE: Action.REPLACED,
    Verdict.REFUSE: Action.BLOCKED,
}


def _action(mode: Mode, outcome: Outcome) -> Action:
    """Return what becomes of the draft."""
    if isinstance(outcome, Failed):
        return Action.FAILED_CLOSED if outcome.verdict is Verdict.REFUSE else Action.FAILED_OPEN
    if mode is not Mode.ENFORCE or isinstance(outcome, NotEvaluated):
        return Action.RECORDED
    return _ENFORCED[Verdict.APPROVE if isinstance(outcome, (Skipped, GateOnly)) else outcome.verdict]


def _as_text(content: Any) -> str:
    return content if isinstance(content, str) else str(content)
