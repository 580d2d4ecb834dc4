"""A burst of drafts is no failure of the critic's model."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from typing import Any

import pytest

from draftcritic.core import CircuitRules, GateReason, Limited, LimitRules, Mode, OnLimit, Policy, Turn
from draftcritic.review import CallSlot, Critic, Limiter, NullObserver, Reply, TimedCaller
from draftcritic.review._calls import BusyError


class Threaded:
    """A model with blocking code that takes its time."""

    name, identity = "m", None

    def __init__(self, seconds: float) -> None:
        self.seconds, self.calls = seconds, 0
        self.caller = TimedCaller()

    def messages(self, prompt: Any) -> Any:
        return prompt

    def call(self, messages: Any, timeout: float) -> Reply:
        raise AssertionError

    async def acall(self, messages: Any, timeout: float) -> Reply:
        return await self.caller.acall(self._answer, timeout)

    def _answer(self) -> Reply:
        self.calls += 1
        time.sleep(self.seconds)
        return Reply('{"verdict": "refuse", "refusal_message": "No."}')


@pytest.fixture(autouse=True)
def few_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("draftcritic.review._calls.MOST_GIVEN_UP", 4)


def critic(limiter: Limiter, timeout: float) -> Critic:
    policy = Policy(timeout=timeout, on_limit=OnLimit.REFUSE)
    return Critic(policy, Mode.ENFORCE, NullObserver(), limits=limiter)


async def burst(critic: Critic, model: Any, drafts: int) -> list[Any]:
    return await asyncio.gather(*(critic.areview(Turn(f"Draft {n} is long enough."), model) for n in range(drafts)))


def test_drafts_that_wait_for_a_thread_are_reviewed_later_and_are_not_slow() -> None:
    circuits: list[Any] = []
    rules = LimitRules(circuit=CircuitRules(failure_rate=0.1, latency=0.9, min_calls=2))
    limiter = Limiter(rules, on_circuit=lambda *state: circuits.append(state))
    model = Threaded(0.3)
    reviews = asyncio.run(burst(critic(limiter, 1.0), model, 20))  # the last ones wait for more than a second
    assert Counter(str(review.outcome.verdict) for review in reviews) == {"refuse": 20}
    assert [review.failure for review in reviews] == [None] * 20
    assert model.calls == 20
    assert max(review.call.latency_s for review in reviews) < 0.9
    assert limiter.probe("m") is None
    assert circuits == []


def test_what_waits_too_long_is_a_limit_of_its_own_name_and_leaves_the_circuit_alone() -> None:
    limiter = Limiter(LimitRules(circuit=CircuitRules(failure_rate=0.1, min_calls=2), max_concurrency=100))
    model = Threaded(0.25)
    reviews = asyncio.run(burst(critic(limiter, 0.4), model, 40))  # 10 rounds of 0.25 seconds, 1.2 seconds to wait
    kinds = Counter(str(review.assessment.reason) for review in reviews)
    assert set(kinds) == {"low_confidence", "busy"}
    assert kinds["busy"] >= 10
    assert all(review.replacement for review in reviews)
    assert all(isinstance(r.outcome, Limited) for r in reviews if r.assessment.reason is GateReason.BUSY)
    assert model.calls == kinds["low_confidence"]
    assert limiter.probe("m") is None
    assert limiter._under_way == {}


async def test_the_time_limit_begins_when_a_thread_makes_the_call() -> None:
    caller, release, place = TimedCaller(), threading.Event(), CallSlot()
    busy = [asyncio.create_task(caller.acall(lambda: release.wait(30), 30)) for _ in range(4)]
    await asyncio.sleep(0.05)
    with place.taken():
        waiting = asyncio.create_task(caller.acall(lambda: "served", 0.5))
    await asyncio.sleep(0.8)
    release.set()
    assert await waiting == "served"
    assert place.queued > 0.7
    await asyncio.gather(*busy)
    release.clear()
    busy = [asyncio.create_task(caller.acall(lambda: release.wait(30), 30)) for _ in range(4)]
    await asyncio.sleep(0.05)
    with pytest.raises(BusyError):
        await caller.acall(lambda: None, 0.05)
    release.set()
    await asyncio.gather(*busy)
