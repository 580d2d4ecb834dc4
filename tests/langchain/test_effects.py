"""What the critic's hidden call leaves alone: the application's cache and its permits."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.globals import set_llm_cache
from langchain_core.rate_limiters import BaseRateLimiter
from langchain_core.runnables import RunnableLambda
from support.chat import Chat
from support.sdk import Telemetry

from draftcritic import DraftCriticInstrumentor

DRAFT = "Your parcel is on its way."
APPROVE = '{"verdict": "approve"}'


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    yield Telemetry()
    DraftCriticInstrumentor().uninstrument()
    set_llm_cache(None)


@pytest.mark.parametrize(
    "wrap",
    [lambda m: m, lambda m: m.bind(stop=["x"]), lambda m: RunnableLambda(lambda q: q) | m, lambda m: m.with_retry()],
)
def test_a_cache_that_is_set_during_the_hidden_call_never_holds_it(wrap: Any, telemetry: Telemetry) -> None:
    cache, asked = InMemoryCache(), threading.Event()

    class Racing(Chat):
        @property
        def _identifying_params(self) -> Any:
            set_llm_cache(cache)
            return {}

        def _generate(self, *args: Any, **kwargs: Any) -> Any:
            set_llm_cache(cache)
            asked.set()
            return super()._generate(*args, **kwargs)

    DraftCriticInstrumentor().instrument(**telemetry.providers, model=wrap(Racing(answers=[APPROVE])))
    Chat(answers=[DRAFT]).invoke("q")
    assert DraftCriticInstrumentor().flush(20)
    assert asked.is_set()
    set_llm_cache(cache)
    Chat(answers=[DRAFT + "!"]).invoke("q")
    assert DraftCriticInstrumentor().flush(20)
    assert len(cache._cache) == 1  # the application's own answer


class Permits(BaseRateLimiter):
    def __init__(self) -> None:
        self.taken = 0

    def acquire(self, *, blocking: bool = True) -> bool:
        self.taken += 1
        return True

    async def aacquire(self, *, blocking: bool = True) -> bool:
        return self.acquire()


def test_the_hidden_call_takes_no_permit_of_the_application(telemetry: Telemetry) -> None:
    permits = Permits()
    DraftCriticInstrumentor().instrument(**telemetry.providers)
    for number in range(3):
        Chat(answers=[f"{DRAFT} {number}"], rate_limiter=permits).invoke("q")
    assert DraftCriticInstrumentor().flush(20)
    assert permits.taken == 3
    assert len(telemetry.reviews()) == 3


def test_a_critic_with_a_rate_limiter_of_its_own_keeps_to_it(telemetry: Telemetry) -> None:
    permits, own = Permits(), Permits()
    DraftCriticInstrumentor().instrument(**telemetry.providers, model=Chat(answers=[APPROVE], rate_limiter=own))
    Chat(answers=[DRAFT], rate_limiter=permits).invoke("q")
    assert DraftCriticInstrumentor().flush(20)
    assert (permits.taken, own.taken) == (1, 1)
