"""Reviews that fail, are stopped, or meet a fault of our own."""

from __future__ import annotations

import asyncio
import logging
import time

import pytest
from pydantic import BaseModel
from support.reviewing import APPROVE, DRAFT, Listener

from draftcritic.core import Action, Failed, Failure, GateDecision, Mode, OnFailure, Policy, Turn
from draftcritic.review import Critic, NullObserver, is_reviewing
from draftcritic.testing import RecordingObserver, ScriptedCriticModel


async def test_a_model_that_cannot_be_made_is_a_failure_that_is_said_once(review, caplog):
    def make():
        raise ImportError("sk-123 in no module named langchain_openai", name="langchain_openai")

    observer = RecordingObserver()
    critic = Critic(Policy(), Mode.OBSERVE, observer)
    for _ in range(2):
        assert critic.review(DRAFT, make).outcome == Failed(Failure.ERROR, error_type="ImportError")
    (line,) = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert line.startswith("failed to create the critic model: ImportError at test_critic_failures.py:")
    assert "(module langchain_openai); check the setting `model`" in line
    assert "sk-123" not in caplog.text
    assert observer.drops == []


class Status(Exception):
    def __init__(self, status):
        self.status_code = status


class RateLimitError(Exception):
    pass


class APITimeoutError(Exception):
    pass


class BotoError(Exception):
    response = {"ResponseMetadata": {"HTTPStatusCode": 429}}  # noqa: RUF012 - as botocore has it


class GoogleError(Exception):
    code = 429


class RaisingProperty(Exception):
    @property
    def response(self):
        raise ValueError


def wrapped(cause: Exception) -> Exception:
    error = ValueError("wrapped")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "failure", "error_type"),
    [
        (TimeoutError(), "timeout", "TimeoutError"),
        (APITimeoutError(), "timeout", f"{__name__}.APITimeoutError"),
        (RateLimitError(), "rate_limited", f"{__name__}.RateLimitError"),
        (Status(429), "rate_limited", f"{__name__}.Status"),
        (Status(500), "error", f"{__name__}.Status"),
        (BotoError(), "rate_limited", f"{__name__}.BotoError"),
        (GoogleError(), "rate_limited", f"{__name__}.GoogleError"),
        (wrapped(RateLimitError()), "rate_limited", "ValueError"),
        (wrapped(TimeoutError()), "timeout", "ValueError"),
        (RaisingProperty(), "error", f"{__name__}.RaisingProperty"),
        (KeyError("x"), "error", "KeyError"),
    ],
)
async def test_a_failed_call_fails_open(review, error, failure, error_type):
    listener = Listener()
    result, observer = await review(DRAFT, ScriptedCriticModel([error], name="m"), hooks=[listener])
    assert (result.verdict, result.source, result.action) == (None, "none", "failed_open")
    assert result.failure == failure
    assert result.outcome.error_type == error_type
    assert result.call.error_type == error_type
    assert observer.moments == [("start", "m"), ("end", "m")]
    assert [heard[0] for heard in listener.heard] == ["start", "end"]
    assert listener.heard[1][2:4] == ("", {})
    assert observer.drops == []


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        ("I think it is fine.", "unparsable"),
        ('The draft says {"verdict": "refuse"}', "ambiguous"),
    ],
)
async def test_an_answer_without_a_clear_verdict_is_a_failure(review, answer, failure):
    result, _ = await review(DRAFT, ScriptedCriticModel([answer], usage={"input_tokens": 3, "output_tokens": 4}))
    assert (result.verdict, result.failure, result.action) == (None, failure, "failed_open")
    assert result.call.error_type is None
    assert result.call.usage.output_tokens == 4


async def test_a_failed_call_fails_closed_when_the_policy_says_so(review):
    policy = Policy(on_failure=OnFailure.REFUSE, default_refusal="cannot help")
    result, _ = await review(DRAFT, ScriptedCriticModel([TimeoutError()]), policy=policy)
    assert (result.verdict, result.source, result.action) == (None, "none", "failed_closed")
    assert result.outcome.text == "cannot help"


@pytest.mark.parametrize(("tag", "action"), [("pii", "failed_closed"), ("money", "failed_open")])
async def test_a_failed_call_fails_closed_for_some_tags(review, tag, action):
    policy = Policy(sensitive_tags=frozenset({"pii", "money"}), fail_closed_tags=frozenset({"pii"}))
    turn = Turn("x", activation={"activated_nodes": [{"score": 1, "tags": [tag]}]})
    result, _ = await review(turn, ScriptedCriticModel([TimeoutError()]), policy=policy)
    assert (result.assessment.sensitive_hit, result.action) == (tag, action)


class Silent(NullObserver):
    """An observer that is broken at one of its moments."""

    def __init__(self, moment):
        self.moment = moment
        self.drops = []

    def begin(self, turn, origin):
        if self.moment == "begin":
            raise RuntimeError("begin")
        record = super().begin(turn, origin)
        if self.moment != "dropped":
            setattr(record, self.moment, self.fail)
        return record

    def fail(self, *_):
        raise RuntimeError(self.moment)

    def dropped(self, reason):
        self.drops.append(reason)


@pytest.mark.parametrize("moment", ["begin", "call_started", "call_ended", "calling", "finish"])
async def test_a_fault_of_our_own_never_reaches_the_caller(review, moment):
    result, _ = await review(DRAFT, ScriptedCriticModel([APPROVE]), observer=Silent(moment))
    if moment == "finish":
        assert result.verdict == "approve"
    else:
        assert isinstance(result.outcome, Failed)
        assert result.outcome.error_type == "RuntimeError"
        assert result.action == "failed_open"


def test_a_fault_of_our_own_is_counted_and_said_once(caplog):
    observer = Silent("begin")
    critic = Critic(Policy(on_failure=OnFailure.REFUSE), Mode.ENFORCE, observer)
    results = [critic.review(DRAFT, ScriptedCriticModel([APPROVE])) for _ in range(3)]
    assert [result.action for result in results] == [Action.FAILED_CLOSED] * 3
    assert observer.drops == ["error"] * 3
    (line,) = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert line.startswith("a review failed by a fault of draftcritic: RuntimeError at test_critic_failures.py:")
    assert results[0].assessment.decision is GateDecision.FIRED
    assert results[0].assessment.gate_error == "RuntimeError"


@pytest.mark.parametrize("stop", [asyncio.CancelledError(), KeyboardInterrupt(), SystemExit(3)])
async def test_what_stops_the_caller_goes_through_as_it_is_and_ends_the_record(stop):
    observer, listener = RecordingObserver(), Listener()
    critic = Critic(Policy(on_failure=OnFailure.REFUSE), Mode.OBSERVE, observer, [listener])
    with pytest.raises(type(stop)) as caught:
        critic.review(DRAFT, ScriptedCriticModel([stop]))
    assert caught.value is stop
    assert [(r.outcome.kind, r.verdict, r.failure) for r in observer.reviews] == [("cancelled", None, None)]
    assert observer.reviews[0].action == "recorded"
    assert [moment for moment, _ in observer.moments] == ["start", "end"]
    assert heard_by(listener, 2) == ["start", "end"]


def heard_by(listener, moments):
    """What a listener hears whom a stopped review does not wait for."""
    deadline = time.monotonic() + 20
    while len(listener.heard) < moments and time.monotonic() < deadline:
        time.sleep(0.01)
    return [heard[0] for heard in listener.heard]


class HangingModel(ScriptedCriticModel):
    def __init__(self):
        super().__init__([])
        self.asked = asyncio.Event()

    async def acall(self, messages, timeout):
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError


async def test_a_cancelled_review_ends_its_record_and_tells_the_hooks():
    observer, listener, model = RecordingObserver(), Listener(), HangingModel()
    task = asyncio.create_task(Critic(Policy(), Mode.OBSERVE, observer, [listener]).areview(DRAFT, model))
    await asyncio.wait_for(model.asked.wait(), 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [(r.outcome.kind, r.verdict, r.failure) for r in observer.reviews] == [("cancelled", None, None)]
    assert observer.reviews[0].call.error_type == "asyncio.exceptions.CancelledError"
    assert [heard[0] for heard in listener.heard] == ["start"]
    await asyncio.sleep(0.1)
    assert [heard[0] for heard in listener.heard] == ["start", "end"]


@pytest.mark.parametrize("moment", ["on_llm_start", "on_llm_end"])
async def test_a_cancelled_review_does_not_wait_for_a_hook(moment):
    began, model = asyncio.Event(), HangingModel()

    class Slow(Listener):
        async def wait(self, *_):
            began.set()
            await asyncio.sleep(3)

    hook = Slow()
    setattr(hook, moment, hook.wait)
    task = asyncio.create_task(Critic(Policy(), Mode.OBSERVE, RecordingObserver(), [hook]).areview(DRAFT, model))
    await asyncio.wait_for((model.asked if moment == "on_llm_end" else began).wait(), 30)
    task.cancel()
    started = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - started < 1.5
    if moment == "on_llm_end":
        await asyncio.wait_for(began.wait(), 30)


def test_a_review_whose_coroutine_is_closed_ends_its_record_and_tells_the_hooks():
    observer, listener = RecordingObserver(), Listener()

    class Pauses(ScriptedCriticModel):
        async def acall(self, messages, timeout):
            await _Pause()
            raise AssertionError

    coroutine = Critic(Policy(), Mode.OBSERVE, observer, [listener_without_loop(listener)]).areview(DRAFT, Pauses([]))
    coroutine.send(None)
    coroutine.close()
    assert [(r.outcome.kind, r.verdict, r.failure) for r in observer.reviews] == [("cancelled", None, None)]
    assert heard_by(listener, 1) == ["end"]
    assert not is_reviewing()


class _Pause:
    def __await__(self):
        yield


def listener_without_loop(listener):
    """Only its end: before the pause there is no event loop for a hook to run in."""

    class EndOnly:
        def on_llm_start(self, model, messages, run_id):
            return None

        on_llm_end = listener.on_llm_end

    return EndOnly()


def test_a_model_that_rejects_its_arguments_is_logged_without_them(review, caplog):
    class Client(BaseModel):
        default_headers: dict[str, str]

    def make():
        return Client(default_headers="Authorization: Bearer s3cr3tword")

    Critic(Policy(), Mode.OBSERVE, RecordingObserver()).review(DRAFT, make)
    (line,) = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert line.startswith("failed to create the critic model: pydantic_core._pydantic_core.ValidationError at ")
    assert "s3cr3tword" not in caplog.text
