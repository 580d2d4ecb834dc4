"""The one sequence of a review: what it decides, whom it asks and whom it tells, for sync and async callers."""

from __future__ import annotations

import asyncio
import logging
import math

import pytest

from draftcritic.core import (
    Action,
    CriticPreference,
    Failed,
    Failure,
    GateDecision,
    GateOnly,
    GateReason,
    Judged,
    Mode,
    NotEvaluated,
    OnFailure,
    Policy,
    Skipped,
    Turn,
    Verdict,
    VerdictSource,
)
from draftcritic.engine import Critic, NullObserver, Reply, is_reviewing
from draftcritic.testing import RecordingObserver, ScriptedCriticModel

DRAFT = Turn("The refund of 18 euros is on its way.", run_id="run-1")
CONFIDENT = Turn(
    "It is on its way.",
    activation={
        "activated_nodes": [{"score": 1.0}],
        "inference_paths": [["refund", "order"], ["order"], ["card"]],
        "traversed_edges": [{"weight": 5.0}],
    },
)
APPROVE = {"verdict": "approve", "matched_preferences": []}


@pytest.fixture(params=["sync", "async"])
def review(request):
    """Reviews a turn on one of the two edges, and returns the review and what the observer saw."""

    async def run(turn, model, *, policy=None, mode=Mode.OBSERVE, hooks=(), observer=None, **options):
        observer = observer or RecordingObserver()
        critic = Critic(policy or Policy(), mode, observer, hooks)
        if request.param == "sync":
            return critic.review(turn, model, **options), observer
        return await critic.areview(turn, model, **options), observer

    return run


class Listener:
    def __init__(self):
        self.heard: list[tuple] = []

    async def on_llm_start(self, model, messages, run_id):
        await asyncio.sleep(0)
        self.heard.append(("start", model, [m.text for m in messages], run_id, is_reviewing()))

    async def on_llm_end(self, model, output, usage, run_id):
        await asyncio.sleep(0)
        self.heard.append(("end", model, output, dict(usage), run_id, is_reviewing()))


async def test_an_approved_draft(review):
    model = ScriptedCriticModel([APPROVE], name="gpt-4o-mini", usage={"input_tokens": 1000, "output_tokens": 10})
    result, observer = await review(DRAFT, model, origin="here")
    assert observer.reviews == [result]
    assert observer.origins == ["here"]
    assert observer.moments == [("start", "gpt-4o-mini"), ("end", "gpt-4o-mini")]
    assert (result.verdict, result.source, result.action) == ("approve", "reflection", "recorded")
    assert (result.assessment.decision, result.assessment.reason) == ("fired", "low_confidence")
    assert result.assessment.confidence == 0.5
    assert (result.call.model, result.call.sku, result.call.error_type) == ("gpt-4o-mini", "gpt-4o-mini", None)
    assert (result.call.usage.input_tokens, result.call.usage.output_tokens) == (1000, 10)
    assert result.call.usage.cost_usd == pytest.approx(1000 * 0.15e-6 + 10 * 0.6e-6)
    assert 0 <= result.call.latency_s <= result.duration_s


async def test_the_model_is_asked_with_the_draft_the_preferences_and_the_rules(review):
    model = ScriptedCriticModel([APPROVE])
    policy = Policy(preferences=(CriticPreference(7, "Never promise a date"),), rules=("Check the order first",))
    await review(DRAFT, model, policy=policy)
    system, user = model.prompts[0]
    assert (system.role, user.role) == ("system", "user")
    assert DRAFT.draft in user.text
    assert "- [7] Never promise a date" in user.text
    assert "- Check the order first" in user.text


@pytest.mark.parametrize(
    ("answer", "verdict", "text", "defaulted"),
    [
        ({"verdict": "revise", "revised_draft": "Soon."}, "revise", "Soon.", False),
        ({"verdict": "revise"}, "revise", "please ask again", True),
        ({"verdict": "refuse", "refusal_message": "No."}, "refuse", "No.", False),
        ({"verdict": "refuse"}, "refuse", "cannot help", True),
        (APPROVE, "approve", None, False),
    ],
)
@pytest.mark.parametrize(
    ("mode", "actions"),
    [
        (Mode.OBSERVE, {"approve": "recorded", "revise": "recorded", "refuse": "recorded"}),
        (Mode.ENFORCE, {"approve": "passed", "revise": "replaced", "refuse": "blocked"}),
    ],
)
async def test_a_verdict_its_text_and_what_becomes_of_the_draft(
    review, answer, verdict, text, defaulted, mode, actions
):
    policy = Policy(default_revision="please ask again", default_refusal="cannot help")
    result, _ = await review(DRAFT, ScriptedCriticModel([answer]), policy=policy, mode=mode)
    assert isinstance(result.outcome, Judged)
    assert (result.verdict, result.outcome.text, result.outcome.defaulted) == (verdict, text, defaulted)
    assert result.action == actions[verdict]


async def test_matched_preferences_are_kept(review):
    answer = {"verdict": "refuse", "refusal_message": "No.", "matched_preferences": ["Never promise a date"]}
    result, _ = await review(DRAFT, ScriptedCriticModel([answer]))
    assert result.matched_preferences == ("Never promise a date",)


@pytest.mark.parametrize(("mode", "action"), [(Mode.OBSERVE, "recorded"), (Mode.ENFORCE, "passed")])
async def test_a_skipped_draft_costs_no_call(review, mode, action):
    model = ScriptedCriticModel([])
    result, observer = await review(CONFIDENT, model, mode=mode)
    assert isinstance(result.outcome, Skipped)
    assert (result.verdict, result.source, result.action) == ("approve", "gate", action)
    assert (model.calls, observer.moments) == (0, [])


async def test_gate_mode_makes_no_call(review):
    model = ScriptedCriticModel([])
    result, _ = await review(DRAFT, model, mode=Mode.GATE)
    assert isinstance(result.outcome, GateOnly)
    assert (result.verdict, result.source, result.action, model.calls) == ("approve", "gate", "recorded", 0)


async def test_what_is_no_draft_has_no_verdict(review):
    model = ScriptedCriticModel([])
    result, observer = await review(Turn(""), model)
    assert isinstance(result.outcome, NotEvaluated)
    assert (result.verdict, result.source, result.action) == (None, None, "recorded")
    assert (result.assessment.decision, result.assessment.reason) == ("not_evaluated", "not_a_draft")
    assert (observer.reviews, model.calls) == ([result], 0)


def test_a_declined_draft_is_recorded_with_its_reason():
    observer = RecordingObserver()
    result = Critic(Policy(), Mode.OBSERVE, observer).decline(DRAFT, GateReason.QUEUE_FULL, "here")
    assert (observer.reviews, observer.origins) == ([result], ["here"])
    assert (result.verdict, result.assessment.decision, result.assessment.reason) == (
        None,
        "not_evaluated",
        "queue_full",
    )


async def test_the_model_is_made_only_when_it_is_asked(review):
    made = []

    def make():
        made.append(ScriptedCriticModel([APPROVE]))
        return made[-1]

    await review(CONFIDENT, make)
    assert made == []
    await review(DRAFT, make)
    assert [model.calls for model in made] == [1]


async def test_a_model_that_cannot_be_made_is_a_failure_that_is_said_once(review, caplog):
    def make():
        raise ImportError("no module named langchain_openai")

    observer = RecordingObserver()
    critic = Critic(Policy(), Mode.OBSERVE, observer)
    for _ in range(2):
        assert critic.review(DRAFT, make).outcome == Failed(Failure.ERROR, Verdict.APPROVE, None, "ImportError", None)
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING] == [
        "the critic's model cannot be had: ImportError('no module named langchain_openai')"
    ]
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
    assert (result.verdict, result.source, result.action) == ("approve", "failure", "failed_open")
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
        ('{"verdict": "approve"} or {"verdict": "refuse"}', "ambiguous"),
    ],
)
async def test_an_answer_without_a_clear_verdict_is_a_failure(review, answer, failure):
    result, _ = await review(DRAFT, ScriptedCriticModel([answer], usage={"input_tokens": 3, "output_tokens": 4}))
    assert (result.verdict, result.failure, result.action) == ("approve", failure, "failed_open")
    assert result.call.error_type is None
    assert result.call.usage.output_tokens == 4


async def test_a_failed_call_fails_closed_when_the_policy_says_so(review):
    policy = Policy(on_failure=OnFailure.REFUSE, default_refusal="cannot help")
    result, _ = await review(DRAFT, ScriptedCriticModel([TimeoutError()]), policy=policy)
    assert (result.verdict, result.source, result.action) == ("refuse", "failure", "failed_closed")
    assert result.outcome.text == "cannot help"


@pytest.mark.parametrize(("tag", "action"), [("pii", "failed_closed"), ("money", "failed_open")])
async def test_a_failed_call_fails_closed_for_some_tags(review, tag, action):
    policy = Policy(sensitive_tags=frozenset({"pii", "money"}), fail_closed_tags=frozenset({"pii"}))
    turn = Turn("x", activation={"activated_nodes": [{"score": 1, "tags": [tag]}]})
    result, _ = await review(turn, ScriptedCriticModel([TimeoutError()]), policy=policy)
    assert (result.assessment.sensitive_hit, result.action) == (tag, action)


async def test_the_name_the_provider_reports_wins(review):
    reply = Reply('{"verdict": "approve"}', model="gpt-4o-mini-2024-07-18", finish_reason="stop")
    listener = Listener()
    result, observer = await review(DRAFT, ScriptedCriticModel([reply], name="my-alias"), hooks=[listener])
    assert observer.moments == [("start", "my-alias"), ("end", "gpt-4o-mini-2024-07-18")]
    assert [heard[1] for heard in listener.heard] == ["my-alias", "gpt-4o-mini-2024-07-18"]
    assert (result.call.sku, result.call.finish_reason) == ("gpt-4o-mini", "stop")
    assert result.call.usage.input_tokens is None
    assert result.call.usage.cost_usd is None


async def test_hooks_hear_what_is_sent_and_what_comes_back(review):
    first, second = Listener(), Listener()
    model = ScriptedCriticModel([APPROVE], name="m", usage={"input_tokens": 3, "output_tokens": 4})
    await review(DRAFT, model, hooks=[first, second])
    sent = [message.text for message in model.prompts[0]]
    output, usage = '{"verdict": "approve", "matched_preferences": []}', {"input_tokens": 3, "output_tokens": 4}
    assert first.heard == [("start", "m", sent, "run-1", True), ("end", "m", output, usage, "run-1", True)]
    assert second.heard == first.heard


class BrokenHook:
    async def on_llm_start(self, model, messages, run_id):
        messages.clear()
        raise RuntimeError("the hook is broken")

    on_llm_end = on_llm_start


async def test_a_hook_that_raises_is_logged_and_changes_nothing(review, caplog):
    listener = Listener()
    model = ScriptedCriticModel([APPROVE])
    result, observer = await review(DRAFT, model, hooks=[BrokenHook(), listener])
    assert (result.verdict, result.failure, observer.drops) == ("approve", None, [])
    assert len(model.prompts[0]) == 2
    assert [heard[0] for heard in listener.heard] == ["start", "end"]
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING] == [
        f"the hook {__name__}.BrokenHook failed in on_llm_start with RuntimeError",
        f"the hook {__name__}.BrokenHook failed in on_llm_end with TypeError",
    ]


async def test_a_hook_that_hangs_is_left_behind(review, monkeypatch, caplog):
    class Hangs(Listener):
        async def on_llm_start(self, model, messages, run_id):
            await asyncio.Event().wait()

    monkeypatch.setattr("draftcritic.engine._hooks.HookCircle.__init__.__defaults__", (0.05,))
    listener = Listener()
    result, _ = await review(DRAFT, ScriptedCriticModel([APPROVE]), hooks=[Hangs(), listener])
    assert result.verdict == "approve"
    assert [heard[0] for heard in listener.heard] == ["start", "end"]
    assert "Hangs failed in on_llm_start with TimeoutError" in caplog.text


class Rules:
    def __init__(self, found):
        self.found = found
        self.asked: list[tuple[str, int]] = []

    async def retrieve(self, query, top_k):
        await asyncio.sleep(0)
        self.asked.append((query, top_k))
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


class Rule:
    def __init__(self, content):
        self.content = content


async def test_rules_come_from_the_source_by_the_labels_of_the_inference_paths(review):
    source = Rules([Rule("first rule"), "second rule", *(f"rule {n}" for n in range(3, 9))])
    policy = Policy(confidence_threshold=1.0, rules_source=source, rules=("never seen",))
    turn = Turn("x", activation={"inference_paths": [["b", "a"], ["b", "k"], list("jihgfedcl")]})
    model = ScriptedCriticModel([APPROVE])
    await review(turn, model, policy=policy)
    assert source.asked == [("a b c d e f g h i j", 5)]
    user = model.prompts[0][1].text
    assert [rule for rule in ("- first rule", "- second rule", "- rule 3", "- rule 5", "- rule 6") if rule in user] == [
        "- first rule",
        "- second rule",
        "- rule 3",
        "- rule 5",
    ]
    assert "never seen" not in user


@pytest.mark.parametrize("paths", [None, [], [[]], "labels", 3])
async def test_without_labels_the_source_is_not_asked(review, paths):
    source = Rules(["a rule"])
    result, _ = await review(
        Turn("x", activation={"inference_paths": paths}),
        ScriptedCriticModel([APPROVE]),
        policy=Policy(rules_source=source),
    )
    assert (source.asked, result.verdict) == ([], "approve")


@pytest.mark.parametrize("found", [RuntimeError("down"), None, 3])
async def test_a_failing_source_means_no_rules(review, found, caplog):
    model = ScriptedCriticModel([APPROVE])
    policy = Policy(confidence_threshold=1.1, rules_source=Rules(found))
    result, observer = await review(CONFIDENT, model, policy=policy)
    assert (result.verdict, observer.drops) == ("approve", [])
    assert "(none)" in model.prompts[0][1].text
    assert [r for r in caplog.records if r.levelno >= logging.INFO] == []


async def test_everything_inside_a_review_counts_as_the_critics_own(review):
    seen = {}

    def gate(_):
        seen["gate"] = is_reviewing()
        return True

    class Source:
        async def retrieve(self, query, top_k):
            seen["rules"] = is_reviewing()
            return []

    def answer(_):
        seen["model"] = is_reviewing()
        return APPROVE

    turn = Turn("x", activation={"inference_paths": [["a"]]})
    await review(turn, ScriptedCriticModel(answer), policy=Policy(gate=gate, rules_source=Source()))
    assert seen == {"gate": True, "rules": True, "model": True}
    assert not is_reviewing()


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
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING] == [
        "a review failed by a fault of draftcritic: RuntimeError"
    ]
    assert results[0].assessment.decision is GateDecision.FIRED
    assert results[0].assessment.gate_error == "RuntimeError"


@pytest.mark.parametrize("stop", [asyncio.CancelledError(), KeyboardInterrupt(), SystemExit(3)])
async def test_what_stops_the_caller_goes_through_as_it_is_and_ends_the_record(stop):
    observer, listener = RecordingObserver(), Listener()
    critic = Critic(Policy(on_failure=OnFailure.REFUSE), Mode.OBSERVE, observer, [listener])
    with pytest.raises(type(stop)) as caught:
        critic.review(DRAFT, ScriptedCriticModel([stop]))
    assert caught.value is stop
    assert [r.failure for r in observer.reviews] == ["cancelled"]
    assert (observer.reviews[0].verdict, observer.reviews[0].action) == ("approve", "failed_open")
    assert [moment for moment, _ in observer.moments] == ["start", "end"]
    assert [heard[0] for heard in listener.heard] == ["start", "end"]


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
    await model.asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [r.failure for r in observer.reviews] == ["cancelled"]
    assert observer.reviews[0].call.error_type == "asyncio.exceptions.CancelledError"
    assert [heard[0] for heard in listener.heard] == ["start", "end"]


def test_a_review_whose_coroutine_is_closed_ends_its_record_and_tells_the_hooks():
    observer, listener = RecordingObserver(), Listener()

    class Pauses(ScriptedCriticModel):
        async def acall(self, messages, timeout):
            await _Pause()
            raise AssertionError

    coroutine = Critic(Policy(), Mode.OBSERVE, observer, [listener_without_loop(listener)]).areview(DRAFT, Pauses([]))
    coroutine.send(None)
    coroutine.close()
    assert [r.failure for r in observer.reviews] == ["cancelled"]
    assert [heard[0] for heard in listener.heard] == ["end"]
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


async def test_many_reviews_at_once_do_not_mix():
    observer = RecordingObserver()
    critic = Critic(Policy(), Mode.OBSERVE, observer)

    class Slow(ScriptedCriticModel):
        async def acall(self, messages, timeout):
            await asyncio.sleep(0.001)
            return await super().acall(messages, timeout)

    def answer_of(number):
        return Slow([{"verdict": "revise", "revised_draft": f"text {number}"}])

    turns = [Turn(f"draft {number}", run_id=str(number)) for number in range(50)]
    results = await asyncio.gather(*(critic.areview(t, answer_of(n)) for n, t in enumerate(turns)))
    assert [(r.turn, r.outcome.text) for r in results] == [(t, f"text {n}") for n, t in enumerate(turns)]
    assert len(observer.reviews) == 50


async def test_odd_token_counts_never_become_numbers(review):
    reply = Reply('{"verdict": "approve"}', usage={"input_tokens": math.nan, "output_tokens": "7"})
    result, _ = await review(DRAFT, ScriptedCriticModel([reply], name="gpt-4o-mini"))
    assert (result.call.usage.input_tokens, result.call.usage.output_tokens) == (None, None)
    assert result.call.usage.cost_usd is None


async def test_a_gate_of_the_user_that_says_no_skips(review):
    result, _ = await review(DRAFT, ScriptedCriticModel([]), policy=Policy(gate=lambda _: False))
    assert (result.assessment.reason, result.source) == ("custom_gate", VerdictSource.GATE)
