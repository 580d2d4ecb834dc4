"""One reflection: whether it may be made, whether another one's answer will do, and the call of the model."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Generator, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from draftcritic.core._doubts import questions
from draftcritic.core._enums import EvidenceScope, Failure, GateReason, Verdict
from draftcritic.core._evidence_blocks import Evidence, evidence_of
from draftcritic.core._exception_place import described, qualified_name
from draftcritic.core._models import normalise_sku
from draftcritic.core._policy import Policy, Rule
from draftcritic.core._prompt import Prompt
from draftcritic.core._review import Assessment, Failed, Judged, ModelCall, Usage
from draftcritic.core._turn import Turn
from draftcritic.review._call_slots import MOST_GIVEN_UP, CallSlot, given_up
from draftcritic.review._calls import QUEUE_TIMEOUTS, BusyError, TimedCaller
from draftcritic.review._failure_log import FailureLog
from draftcritic.review._failures import classify, fault_of, unbilled
from draftcritic.review._hook_dispatch import HookDispatcher
from draftcritic.review._ports import CriticModel, Permit, Reply, ReviewLimits, ReviewObserver
from draftcritic.review._recipients import Recipients
from draftcritic.review._reflection import (
    Prober,
    merged,
    model_call,
    prompt_of,
    question_key,
    retrieve_rules,
    revision_prompt,
    rules_query,
    to_messages,
    windowed_prompts,
)
from draftcritic.review._reply_check import UNJUDGED, Judge, reasons_of
from draftcritic.review._single_flight import Asked, InFlightCall, Sharing
from draftcritic.review._steps import AdmitStep, AskStep, AwaitStep, ComputeStep, LeaveStep, MakeStep, Progress, Step

ModelSource = CriticModel | Callable[[], CriticModel]
"""A model to ask, or what makes one when it is needed."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _JoinStep:
    """Waits for a call that another review has under way, and says whether it could wait."""

    flight: InFlightCall
    timeout: float

    def run(self) -> bool:
        """Wait in this thread, unless an event loop runs in it: the call may need that loop."""
        if asyncio._get_running_loop() is not None:
            return False
        self.flight.wait(self.timeout)
        return True

    async def arun(self) -> bool:
        """Wait without blocking the event loop."""
        await self.flight.await_(self.timeout)
        return True


@dataclass(frozen=True)
class _Question:
    """A draft to ask about, and whom."""

    progress: Progress
    assessment: Assessment
    model: CriticModel
    rules: Sequence[str | Rule]
    evidence: Evidence | None = None


class Reflector:
    """Asks the critic's model what it says of a draft.

    Args:
        policy: the rules that drafts are judged by.
        judge: says what replies mean.
        observer: returns the trace of a draft.
        hooks: notified of each call of the critic's model.
        limits: may forbid the call.
        sharing: knows the calls of other reviews.
        in_parts: ask about a draft that is too long for one prompt in parts.
    """

    def __init__(
        self,
        policy: Policy,
        judge: Judge,
        observer: ReviewObserver,
        hooks: HookDispatcher,
        *,
        limits: ReviewLimits,
        sharing: Sharing,
        in_parts: bool = False,
    ) -> None:
        self._policy = policy
        self._judge = judge
        self._in_parts = in_parts
        self._observer = observer
        self._hooks = hooks
        self._limits = limits
        self._sharing = sharing
        self._caller = TimedCaller()
        self._failures = FailureLog()
        self._loop_reported = False
        self._recipients = Recipients(policy)
        self._prober = Prober(policy, limits)

    def close(self) -> None:
        """End the threads that wait for the next call."""
        self._caller.close()

    def reflect(
        self, progress: Progress, assessment: Assessment, source: ModelSource
    ) -> Generator[Step, Any, Judged | Failed | GateReason]:
        """Reflect on a draft, or return which limit forbids it."""
        turn, model = progress.turn, None
        try:
            trace = partial(self._observer.trace_id, progress.origin)
            if not self._limits.samples(trace, turn.run_id, assessment.server_signals(), turn.root_run):
                return GateReason.SAMPLED_OUT
            if turn.repeats_question and not self._limits.admits_loop():
                self._warn_of_loop()
                return GateReason.LOOP
            rules = yield from self._rules(turn)
            model = yield from self._model(source)
            self._recipients.report(turn, source, model)
            evidence = yield ComputeStep(self._evidence, (turn, assessment), turn, "", self._caller)
            key = self._key(turn, rules, assessment, model, evidence)
            question = _Question(progress, assessment, model, rules, evidence)
            return (yield from self._answer(question, key))
        except Exception as error:  # the model and its provider are third-party code
            _logger.debug("the reflection failed with %s", described(error))
            if model is not None:
                fault = fault_of(error)
                self._failures.report(model.name, fault.failure, qualified_name(type(error)), fault)
            return self._judge.failed(
                classify(error), assessment, error_type=qualified_name(type(error)), call=progress.call
            )

    def _evidence(self, turn: Turn, assessment: Assessment) -> Evidence | None:
        """Return the texts of the turn that the critic is shown; None when it is shown none."""
        if self._policy.evidence is EvidenceScope.NONE:
            return None
        try:
            found = evidence_of(turn, self._policy)
            return replace(found, findings=questions(assessment.findings or (), turn.draft, found))
        except Exception as error:
            # The rules can be judged without: a text that breaks this must not keep its draft from the critic.
            _logger.warning("the evidence of a draft could not be read: %s", described(error))
            return Evidence()

    def _key(
        self,
        turn: Turn,
        rules: Sequence[str | Rule],
        assessment: Assessment,
        model: CriticModel,
        evidence: Evidence | None,
    ) -> Hashable | None:
        """Return what is the same for reviews that may share an answer; None when there are none."""
        identity = model.identity if self._sharing.window > 0 else None
        if identity is None:
            return None
        return question_key(
            self._policy,
            draft=turn.draft,
            rules=rules,
            sensitive_hit=assessment.sensitive_hit,
            evidence=evidence,
        ), identity

    def _answer(self, question: _Question, key: Hashable | None) -> Generator[Step, Any, Judged | Failed | GateReason]:
        """Take the answer of another review to the same question, or ask and let the others have it."""
        flight, progress = None, question.progress
        if key is not None:
            found = yield from self._found(key)
            if isinstance(found, Asked):
                waited = time.perf_counter() - progress.started
                progress.call = replace(found.call, usage=Usage(), latency_s=waited, shared=True)
                return self._judge.outcome(replace(found, call=progress.call), question.assessment)
            flight = found
        asked: Asked | GateReason | None = None
        outcome: Judged | Failed | GateReason | None = None
        try:
            asked = yield from self._asked(question)
            outcome = asked if isinstance(asked, GateReason) else self._judge.outcome(asked, question.assessment)
            if isinstance(outcome, Failed) and outcome.error_type is None:
                self._failures.report(question.model.name, outcome.failure)
            return outcome
        finally:
            if key is not None and flight is not None:
                shared = asked if isinstance(asked, Asked) else None
                self._sharing.finish(key, flight, shared, keep=isinstance(outcome, Judged))

    def _found(self, key: Hashable) -> Generator[Step, Any, Asked | InFlightCall | None]:
        """Return another review's answer, or a call to resolve; None when there is one that cannot be waited for."""
        deadline = time.monotonic() + self._policy.timeout
        while True:
            found = self._sharing.find(key)
            if isinstance(found, InFlightCall):
                try:
                    joined = yield _JoinStep(found, max(0.0, deadline - time.monotonic()))
                except TimeoutError:
                    self._sharing.give_up(key, found)
                    raise
                if not joined:
                    return None
                found = found.asked
            if found is not None:
                return found
            # There was no call, or it failed.
            flight = self._sharing.start(key)
            if flight is not None:
                return flight

    def _warn_of_loop(self) -> None:
        _logger.log(
            logging.DEBUG if self._loop_reported else logging.WARNING,
            "more than ten drafts a minute were written from a prompt that repeats the critic's question. If the "
            "critic's model asks another chat model in a thread of its own, pass it the run configuration",
        )
        self._loop_reported = True

    def _asked(self, question: _Question) -> Generator[Step, Any, Asked | GateReason]:
        """Ask about the draft as a whole or, where nothing may go out unread, in parts."""
        if not self._in_parts:
            prompt = yield self._computed(question, prompt_of)
            return (yield from self._permitted(question, [prompt]))
        prompts, unread = yield self._computed(question, windowed_prompts)
        asked = yield from self._permitted(question, prompts)
        if isinstance(asked, GateReason) or (len(prompts) == 1 and not unread):
            return asked
        asked = replace(asked, unread=unread, parts=asked.parts or (asked,))
        reasons = self._reasons(question, asked)
        if not reasons or unread:
            return asked
        prompt = yield self._computed(question, partial(revision_prompt, reasons=reasons))
        revision = yield from self._permitted(question, [prompt])
        if isinstance(revision, GateReason):
            return asked
        return replace(asked, call=merged([asked.call, revision.call]), revision=revision)

    def _computed(self, question: _Question, make: Callable[..., Any]) -> ComputeStep:
        """Return the step that writes a prompt about a draft."""
        turn = question.progress.turn
        written = partial(
            make,
            self._policy,
            draft=turn.draft,
            rules=question.rules,
            sensitive_hit=question.assessment.sensitive_hit,
            evidence=question.evidence,
            model=question.model.name,
        )
        return ComputeStep(written, (), turn, "", self._caller)

    def _reasons(self, question: _Question, asked: Asked) -> list[str]:
        """Return what is wrong with the parts of a draft that may be revised; empty when there is none."""
        outcomes = [self._judge.outcome(part, question.assessment) for part in asked.parts]
        judged = [each for each in outcomes if isinstance(each, Judged)]
        if len(judged) < len(outcomes) or any(each.verdict is Verdict.REFUSE for each in judged):
            return []
        revised = [each for each in judged if each.verdict is Verdict.REVISE]
        return reasons_of(revised) or ["a part breaks a rule"] * bool(revised)

    def _permitted(self, question: _Question, prompts: Sequence[Prompt]) -> Generator[Step, Any, Asked | GateReason]:
        """Ask when the limits let it, and tell them what came of it. Several prompts are reserved at once."""
        if given_up() >= MOST_GIVEN_UP:
            return GateReason.CIRCUIT_OPEN  # a model that hangs is one that fails
        # Hooks are called twice; one timeout is for a busy loop.
        lasts = (QUEUE_TIMEOUTS + 2) * self._policy.timeout + 2 * self._hooks.limit
        model, progress, place = question.model, question.progress, CallSlot()
        size, calls = sum(prompt.size for prompt in prompts), len(prompts)
        admit = partial(
            self._limits.admit, normalise_sku(model.name), size, lasts * calls, _ids_of(progress.turn), calls=calls
        )
        permit: Permit | GateReason = yield AdmitStep(
            admit, getattr(self._limits, "slow", False), self._caller, self._policy.timeout
        )
        if isinstance(permit, GateReason):
            if permit is GateReason.CIRCUIT_OPEN:
                self._prober.ask(model, progress.record)
            return permit
        asked: Asked | None = None
        before, progress.call = progress.call, None
        try:
            asked = yield from self._ask_all(question, prompts, place)
        except BusyError:
            return GateReason.BUSY  # it was not made
        else:
            return asked
        finally:
            place.give_up()
            if asked is None:
                permit.settle(progress.call, Failure.CANCELLED)
            else:
                fault = asked.fault
                slowest = max(part.call.latency_s for part in asked.parts or (asked,))
                permit.settle(
                    replace(asked.call, latency_s=slowest),
                    asked.failure,
                    unbilled=asked.unbilled,
                    retry_after=fault and fault.retry_after,
                )
                if fault is not None:
                    self._failures.report(model.name, fault.failure, asked.error_type, fault)
                self._prober.ask(model, progress.record)
            progress.call = _together(before, progress.call)

    def _ask_all(self, question: _Question, prompts: Sequence[Prompt], place: CallSlot) -> Generator[Step, Any, Asked]:
        """Ask until a part is refused, or the critic's model is out of service."""
        asked = yield from self._ask(question.progress, question.model, prompts[0], place)
        parts = [asked]
        for prompt in prompts[1:]:
            outcome = self._judge.outcome(asked, question.assessment)
            if isinstance(outcome, Failed) and outcome.failure not in UNJUDGED:
                break
            if outcome.verdict is Verdict.REFUSE:
                break
            asked = yield from self._ask(question.progress, question.model, prompt, place)
            parts.append(asked)
        if len(prompts) == 1:
            return asked
        broken = next((part for part in parts if part.failure is not None), parts[-1])
        return replace(broken, call=merged([part.call for part in parts]), reply=None, parts=tuple(parts))

    def _model(self, source: ModelSource) -> Generator[Step, Any, CriticModel]:
        if hasattr(source, "acall"):
            return cast("CriticModel", source)
        try:
            made: CriticModel = yield MakeStep(source, self._caller, self._policy.timeout)
        except Exception as error:
            self._failures.report_unavailable(error, described(error))
            raise
        return made

    def _rules(self, turn: Turn) -> Generator[Step, Any, Sequence[str | Rule]]:
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
        except Exception as error:
            _logger.debug("the rules source blocked its thread: %s", described(error))
            return ()
        return found

    def _ask(
        self, progress: Progress, model: CriticModel, prompt: Prompt, place: CallSlot
    ) -> Generator[Step, Any, Asked]:
        """Ask, and tell record and hooks before and, however it ends, after."""
        run_id, record = progress.turn.run_id, progress.record
        name, messages = model.name, model.messages(to_messages(prompt))
        reply: Reply | None = None
        error: BaseException | None = None
        record.call_started(name, normalise_sku(name), run_id)
        began = time.perf_counter()
        try:
            yield from self._tell(lambda: self._hooks.started(name, messages, run_id))
            began = time.perf_counter()
            reply = yield AskStep(model, messages, self._policy.timeout, record, place)
        except BaseException as caught:
            error = caught
        call = model_call(name, reply, error, max(0.0, time.perf_counter() - began - place.queued))
        call = replace(
            call,
            omitted=prompt.omitted,
            evidence_length=prompt.evidence.length,
            evidence_omitted=prompt.evidence.omitted,
            evidence_kinds=tuple(prompt.evidence.blocks),
        )
        if not isinstance(error, BusyError):
            progress.call = _together(progress.call, call)
        record.call_ended(call, run_id)
        output = "" if reply is None else _as_text(reply.content)
        usage = {} if reply is None else reply.usage
        stopped = error is not None and not isinstance(error, Exception)
        yield from self._tell(lambda: self._hooks.ended(call.model, output, usage, run_id), waits=not stopped)
        if isinstance(error, BusyError):
            raise error
        return replace(_ended(call, reply, error), prompt=prompt)

    def _tell(self, make: Callable[[], Coroutine[Any, Any, None]], *, waits: bool = True) -> Generator[Step, Any, None]:
        """Call the hooks. A turn that was cancelled does not wait for them."""
        if not self._hooks:
            return
        try:
            yield AwaitStep(make, self._caller, self._hooks.limit) if waits else LeaveStep(make)
        except Exception as error:
            _logger.warning("the hooks could not be called: %s", qualified_name(type(error)))


def _together(before: ModelCall | None, call: ModelCall | None) -> ModelCall | None:
    """Return the record of the calls about a draft so far."""
    calls = [each for each in (before, call) if each is not None]
    return merged(calls) if calls else None


def _ended(call: ModelCall, reply: Reply | None, error: BaseException | None) -> Asked:
    """Return how a call ended; what ends the caller, too, is raised."""
    if error is None:
        return Asked(call, reply)
    if not isinstance(error, Exception):
        raise error
    _logger.debug("the critic's call failed with %s", described(error))
    fault = fault_of(error)
    return Asked(call, None, fault.failure, qualified_name(type(error)), unbilled(error), fault=fault)


def _ids_of(turn: Turn) -> tuple[str, ...]:
    """Return the user and the conversation of a turn, for the limits that are theirs alone."""
    named = (("user", turn.user_id), ("conversation", turn.conversation_id))
    return tuple(f"{kind} {each}" for kind, each in named if each)


def _as_text(content: Any) -> str:
    return content if isinstance(content, str) else str(content)
