"""Reviews of the same draft share one call, one under way or one that has just ended; other drafts do not."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest
from support.reviewing import APPROVE, DRAFT, Listener

from draftcritic.core import CriticPreference, Judged, LimitRules, Mode, Policy, Turn, Verdict
from draftcritic.review import Critic, Limiter, Sharing
from draftcritic.review._single_flight import Asked, InFlightCall
from draftcritic.testing import RecordingObserver, ScriptedCriticModel

LONG = 30.0
REVISE = {"verdict": "revise", "revised_draft": "Soon.", "matched_preferences": ["one"]}


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Joined(Sharing):
    """Says when so many have found the call under way."""

    def __init__(self, window, count):
        super().__init__(window)
        self.left, self.all = count, threading.Event()

    def find(self, key):
        found = super().find(key)
        self.left -= isinstance(found, InFlightCall)
        if not self.left:
            self.all.set()
        return found


class Held(ScriptedCriticModel):
    """Answers when it is released."""

    def __init__(self, script, **options):
        super().__init__(script, **options)
        self.asked, self.release = threading.Event(), threading.Event()

    def call(self, messages, timeout):
        self.asked.set()
        assert self.release.wait(LONG)
        return super().call(messages, timeout)

    async def acall(self, messages, timeout):
        self.asked.set()
        assert await asyncio.to_thread(self.release.wait, LONG)
        return ScriptedCriticModel.call(self, messages, timeout)


def critic(sharing, policy=None, **options):
    return Critic(policy or Policy(), Mode.OBSERVE, RecordingObserver(), sharing=sharing, **options)


def test_an_answer_stands_for_the_same_draft_within_the_window():
    clock = Clock()
    reviewer = critic(Sharing(5.0, clock=clock))
    model = ScriptedCriticModel([REVISE, APPROVE], name="gpt-4o-mini", usage={"input_tokens": 1000, "output_tokens": 9})
    first, second = (reviewer.review(DRAFT, model) for _ in range(2))
    assert model.calls == 1
    assert (first.call.shared, first.call.usage.input_tokens) == (False, 1000)
    assert isinstance(second.outcome, Judged)
    assert (second.verdict, second.outcome.text, list(second.matched_preferences)) == ("revise", "Soon.", ["one"])
    assert (second.call.shared, second.call.sku, second.call.model) == (True, "gpt-4o-mini", "gpt-4o-mini")
    assert (second.call.usage.input_tokens, second.call.usage.cost_usd) == (None, None)
    clock.now += 5.0
    assert reviewer.review(DRAFT, model).verdict == "approve"
    assert model.calls == 2


@pytest.mark.parametrize(("window", "found"), [(1.0, False), (10.0, True), (0.0, False)])
def test_another_window_holds_for_what_is_kept_already(window, found):
    clock = Clock()
    sharing = Sharing(3600.0, clock=clock)
    kept = Asked(call=None)

    def keep(key):
        sharing.finish(key, sharing.start(key), kept, keep=True)

    keep("old")
    clock.now += 1000
    keep("new")
    sharing.window = window
    clock.now += 5
    assert sharing.find("old") is None
    assert (sharing.find("new") is kept) is found
    assert (sharing.start("new") is None) is found


def test_hooks_and_moments_tell_of_the_one_call_only():
    listener = Listener()
    reviewer = critic(Sharing(5.0), hooks=[listener])
    model = ScriptedCriticModel([APPROVE])
    for _ in range(3):
        reviewer.review(DRAFT, model)
    assert [moment[0] for moment in listener.heard] == ["start", "end"]
    assert len(reviewer._observer.moments) == 2
    assert len(reviewer._observer.reviews) == 3


@pytest.mark.parametrize(
    ("policy", "turn", "same_model"),
    [
        (Policy(), Turn(DRAFT.draft + " "), True),
        (Policy(), DRAFT, False),
        (Policy(rules=("another",)), DRAFT, True),
        (Policy(preferences=(CriticPreference(5, "another"),)), DRAFT, True),
        (Policy(prompt_budget=1000), DRAFT, True),
        (
            Policy(prompt_template="{draft}{core_preferences}{procedural_rules}{sensitive_tag_hit}"),
            DRAFT,
            True,
        ),
        (
            Policy(sensitive_tags=frozenset({"pii"})),
            Turn(DRAFT.draft, activation={"activated_nodes": [{"score": 0.1, "tags": ["pii"]}]}),
            True,
        ),
    ],
)
def test_whatever_goes_into_the_prompt_or_the_model_tells_questions_apart(policy, turn, same_model):
    sharing, model, other = Sharing(5.0), ScriptedCriticModel([APPROVE] * 2), ScriptedCriticModel([APPROVE])
    critic(sharing).review(DRAFT, model)
    review = critic(sharing, policy).review(turn, model if same_model else other)
    assert review.call.shared is False
    assert model.calls + other.calls == 2


def test_what_does_not_go_into_the_prompt_does_not_matter():
    sharing, model = Sharing(5.0), ScriptedCriticModel([{"verdict": "refuse"}])
    critic(sharing).review(DRAFT, model)
    policy = Policy(default_refusal="Not today.", timeout=3)
    review = critic(sharing, policy).review(Turn(DRAFT.draft, run_id="other", user_id="?"), model)
    assert (review.call.shared, review.outcome.text) == (True, "Not today.")


def test_without_a_window_or_an_identity_nothing_is_shared():
    model = ScriptedCriticModel([APPROVE] * 4)
    for sharing in (None, Sharing(0)):
        reviewer = critic(sharing)
        assert [reviewer.review(DRAFT, model).call.shared for _ in range(2)] == [False, False]

    class Nameless(ScriptedCriticModel):
        identity = None

    reviewer, nameless = critic(Sharing(5.0)), Nameless([APPROVE] * 2)
    assert [reviewer.review(DRAFT, nameless).call.shared for _ in range(2)] == [False, False]


@pytest.mark.parametrize("answer", ["no json", ConnectionError()])
def test_a_failure_is_not_kept(answer):
    reviewer, model = critic(Sharing(5.0)), ScriptedCriticModel([answer, APPROVE])
    assert reviewer.review(DRAFT, model).failure is not None
    review = reviewer.review(DRAFT, model)
    assert (review.verdict, review.failure, review.call.shared) == ("approve", None, False)


@pytest.mark.parametrize(("answer", "failure"), [(REVISE, None), (ConnectionError(), "error")])
def test_threads_wait_for_the_call_under_way_and_share_how_it_ends(answer, failure):
    sharing, model, reviews = Joined(5.0, 3), Held([answer]), []
    reviewer = critic(sharing)
    threads = [threading.Thread(target=lambda: reviews.append(reviewer.review(DRAFT, model))) for _ in range(4)]
    threads[0].start()
    assert model.asked.wait(LONG)
    for thread in threads[1:]:
        thread.start()
    assert sharing.all.wait(LONG)
    model.release.set()
    for thread in threads:
        thread.join(LONG)
    assert model.calls == 1
    assert [r.failure for r in reviews] == [failure] * 4
    assert sorted(r.call.shared for r in reviews) == [False, True, True, True]


async def test_tasks_share_without_blocking_the_loop():
    reviewer, model = critic(Sharing(5.0)), Held([REVISE])
    tasks = [asyncio.create_task(reviewer.areview(DRAFT, model)) for _ in range(5)]
    await asyncio.sleep(0.02)
    model.release.set()
    reviews = await asyncio.gather(*tasks)
    assert model.calls == 1
    assert {r.verdict for r in reviews} == {Verdict.REVISE}
    assert sum(r.call.shared for r in reviews) == 4


async def test_when_the_asking_review_is_cancelled_another_one_asks():
    reviewer, model = critic(Sharing(5.0)), Held([APPROVE])
    first = asyncio.create_task(reviewer.areview(DRAFT, model))
    await asyncio.sleep(0.01)
    others = [asyncio.create_task(reviewer.areview(DRAFT, model)) for _ in range(3)]
    await asyncio.sleep(0.01)
    first.cancel()
    model.release.set()
    reviews = await asyncio.gather(*others)
    assert [r.verdict for r in reviews] == ["approve"] * 3
    assert sum(not r.call.shared for r in reviews) == 1
    assert first.cancelled() or first.exception() is None


async def test_synchronous_code_in_a_running_loop_asks_for_itself_instead_of_waiting():
    reviewer, slow = critic(Sharing(5.0)), Held([APPROVE, APPROVE])
    task = asyncio.create_task(reviewer.areview(DRAFT, slow))
    await asyncio.sleep(0.01)
    slow.release.set()
    # The task cannot go on while this blocks its loop.
    assert reviewer.review(DRAFT, slow).call.shared is False
    assert (await task).call.shared is False
    assert slow.calls == 2


def test_a_waiting_review_waits_no_longer_than_a_call_may_take():
    reviewer, model = critic(Sharing(5.0), Policy(timeout=0.05)), Held([APPROVE])
    thread = threading.Thread(target=lambda: reviewer.review(DRAFT, model))
    thread.start()
    assert model.asked.wait(LONG)
    assert reviewer.review(DRAFT, model).failure == "timeout"
    model.release.set()
    thread.join(LONG)


def test_who_has_waited_in_vain_for_a_call_that_nobody_ends_is_the_last_to_wait_for_it():
    reviewer, model = critic(Sharing(5.0), Policy(timeout=0.05)), Held([APPROVE])
    stopped = reviewer.areview(DRAFT, model)
    loop = asyncio.new_event_loop()
    task = loop.create_task(stopped)
    while not model.asked.is_set():
        loop.call_soon(loop.stop)
        loop.run_forever()
    assert reviewer.review(DRAFT, model).failure == "timeout"
    model.release.set()
    review = reviewer.review(DRAFT, model)
    assert (review.verdict, review.failure, review.call.shared) == ("approve", None, False)
    loop.run_until_complete(asyncio.wait({task}))
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


def test_a_shared_answer_needs_no_budget():
    limits = Limiter(LimitRules(reviews_per_minute=1))
    reviewer, model = critic(Sharing(5.0), limits=limits), ScriptedCriticModel([APPROVE])
    assert [reviewer.review(DRAFT, model).verdict for _ in range(3)] == ["approve"] * 3
    assert reviewer.review(Turn("Another one."), model).assessment.reason == "budget"


def test_a_critic_without_sharing_leaves_nothing_behind(monkeypatch):
    registered = []
    monkeypatch.setattr(os, "register_at_fork", lambda **handlers: registered.append(handlers), raising=False)
    for _ in range(3):
        critic(None).review(DRAFT, ScriptedCriticModel([APPROVE]))
    assert registered == []
    Sharing(5.0)
    assert registered == []


def test_kept_answers_are_bounded():
    reviewer = critic(Sharing(3600.0))
    model = ScriptedCriticModel(lambda _: APPROVE)
    for number in range(600):
        reviewer.review(Turn(f"Order {number} is on its way."), model)
    assert reviewer.review(Turn("Order 599 is on its way."), model).call.shared is True
    assert reviewer.review(Turn("Order 1 is on its way."), model).call.shared is False


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_waits_for_no_call_of_its_parent():
    sharing = Sharing(5.0)
    flight = sharing.start("question")
    child = os.fork()
    if child == 0:
        os._exit(0 if sharing.find("question") is None else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert sharing.find("question") is flight


async def test_a_resolved_call_wakes_those_who_wait_later():
    flight = InFlightCall()
    asked = Asked(call=None)
    flight.resolve(asked)
    await flight.await_(LONG)
    flight.wait(0)
    assert flight.asked is asked
    with pytest.raises(TimeoutError):
        await InFlightCall().await_(0.01)
