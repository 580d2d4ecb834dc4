"""Processes of a fleet keep their limits together in Redis, and each keeps to its part while Redis is away."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from support.fleet import Services, wait_for

from draftcritic.core import CircuitState, Failure, GateReason
from draftcritic.core._policy import CircuitRules, LimitRules
from draftcritic.core._review import ModelCall, Usage
from draftcritic.fleet._budgets import RedisLimits, client_of
from draftcritic.review import Limiter

pytestmark = pytest.mark.e2e
SKU = "gpt-4.1-nano"
CALL = ModelCall(SKU, SKU, Usage(input_tokens=900, output_tokens=100, cost_usd=0.01))


class Process:
    """What one process of a fleet has."""

    def __init__(self, client: Any, prefix: str, rules: LimitRules) -> None:
        self.away = 0
        self.shared = RedisLimits(client, prefix, on_away=self._count)
        self.states: list[CircuitState] = []
        self.limiter = Limiter(rules, on_circuit=self._circuit, shared=self.shared)

    def _count(self) -> None:
        self.away += 1

    def _circuit(self, sku: str, state: CircuitState) -> None:
        self.states.append(state)
        self.shared.circuit(sku, state)

    def admit(self, *ids: str, size: int = 400, calls: int = 1, lasts: float = 60) -> Any:
        return self.limiter.admit(SKU, size, lasts, ids, calls=calls)


@pytest.fixture
def client(services: Services) -> Iterator[Any]:
    made = redis.Redis.from_url(services.store, socket_timeout=1)
    made.flushall()
    yield made
    made.close()


def pair(client: Any, **rules: Any) -> tuple[Process, Process]:
    limits = LimitRules(**{"fair_share": 1.0, **rules})
    return Process(client, "fleet", limits), Process(client, "fleet", limits)


def spent(client: Any, kind: str = "tokens") -> float:
    return sum(map(float, client.hvals(f"{{fleet}}:limits:spent:{kind}:{SKU}")))


def reserved(client: Any) -> dict[bytes, bytes]:
    found = {}
    for kind in ("calls", "tokens", "usd"):
        found.update(client.hgetall(f"{{fleet}}:limits:reserved:{kind}"))
    return found


def test_calls_per_minute_are_counted_together(client: Any) -> None:
    one, two = pair(client, reviews_per_minute=5)
    answers = [process.admit() for process in (one, two, one, two, one, two, one)]
    assert [answer for answer in answers if isinstance(answer, GateReason)] == [GateReason.BUDGET] * 2
    assert answers.index(GateReason.BUDGET) == 5


@pytest.mark.parametrize("limit", [{"tokens_per_hour": {SKU: 2500}}, {"usd_per_hour": {"*": 0.025}}])
def test_what_a_call_has_spent_counts_for_all(client: Any, limit: Any) -> None:
    one, two = pair(client, **limit)
    for process in (one, two):
        process.admit().settle(CALL, None)
        wait_for(lambda: not client.exists("{fleet}:limits:held"))
    assert (spent(client), spent(client, "usd")) == (2000, 0.02)
    assert {one.admit(), two.admit()} == {GateReason.BUDGET}
    assert reserved(client) == {}


def test_an_estimate_is_reserved_while_a_call_is_under_way(client: Any) -> None:
    one, two = pair(client, tokens_per_hour={SKU: 1100})
    permit = one.admit()
    assert two.admit() is GateReason.BUDGET
    permit.settle(None, Failure.CANCELLED)  # it was not made
    wait_for(lambda: not isinstance(two.admit(), GateReason))
    assert spent(client) == 0


def test_a_call_that_was_not_made_counts_for_no_minute(client: Any) -> None:
    one, two = pair(client, reviews_per_minute=1)
    one.admit().settle(None, Failure.CANCELLED)
    wait_for(lambda: not isinstance(two.admit(), GateReason))


def test_what_a_killed_process_had_reserved_is_booked_when_its_call_must_have_ended(client: Any) -> None:
    one, two = pair(client, tokens_per_hour={SKU: 10_000})
    one.admit(lasts=0.2)
    time.sleep(0.3)
    two.admit()
    assert spent(client) == 600  # 400 characters and an answer
    assert client.hlen("{fleet}:limits:held") == 1


def test_one_user_has_one_share_of_the_whole_fleet(client: Any) -> None:
    one, two = pair(client, reviews_per_minute=100, fair_share=0.05)
    answers = [process.admit("user u") for process in (one, two, one, two, one, two)]
    assert [answer is GateReason.FAIR_SHARE for answer in answers] == [False] * 5 + [True]
    assert not isinstance(two.admit("user v"), GateReason)
    assert not [key for key in client.scan_iter() if b"user" in key]


def test_a_share_of_tokens_counts_what_was_spent(client: Any) -> None:
    one, two = pair(client, tokens_per_hour={SKU: 50_000}, fair_share=0.1)
    for process in (one, two, one, two):
        process.admit("user u").settle(CALL, None)
        wait_for(lambda: not client.exists("{fleet}:limits:held"))
    assert not isinstance(two.admit("user u"), GateReason)  # 4,000 of 5,000, and 600 to come
    assert one.admit("user u") is GateReason.FAIR_SHARE


def test_a_circuit_that_one_process_opens_stops_the_others_until_it_closes(client: Any) -> None:
    circuit = CircuitRules(failure_rate=0.5, min_calls=2, cooldown=0.0, probes=1)
    one, two = pair(client, circuit=circuit)
    for _ in range(2):
        one.admit().settle(ModelCall(SKU, SKU, error_type="x.Error"), Failure.ERROR)
    probe = one.limiter.probe(SKU)
    assert probe is not None
    probe.settle(ModelCall(SKU, SKU, error_type="x.Error"), Failure.ERROR)
    assert one.states == [CircuitState.OPEN]
    wait_for(lambda: two.admit() is GateReason.CIRCUIT_OPEN)
    probe = one.limiter.probe(SKU)
    assert probe is not None
    probe.settle(CALL, None)
    assert two.admit() is GateReason.CIRCUIT_OPEN  # half-open: one process tries
    one.admit().settle(CALL, None)
    assert one.states[-1] is CircuitState.CLOSED
    wait_for(lambda: not isinstance(two.admit(), GateReason))
    assert two.states == []


def test_without_redis_each_process_has_its_part_and_counts_it(services: Services, client: Any) -> None:
    one, two = pair(client, reviews_per_minute=10)
    assert not isinstance(one.admit(), GateReason)
    assert not isinstance(two.admit(), GateReason)
    one.admit()  # knows of two processes now
    services.stop("redis")
    try:
        answers = [[process.admit() for _ in range(8)] for process in (one, two)]
        assert (one.away, two.away) == (8, 8)
        given = [sum(not isinstance(answer, GateReason) for answer in each) for each in answers]
        assert given == [3, 4]  # five each, and what each had taken before
        answers[0][0].settle(CALL, None)
    finally:
        services.start("redis")
    time.sleep(1.1)
    wait_for(lambda: not isinstance(one.admit(), GateReason))
    assert one.away <= 9


def test_a_redis_that_hangs_costs_a_call_no_more_than_its_time_limit_once_a_second(client: Any) -> None:
    hanging = client_of(f"redis://127.0.0.1:{_deaf_port()}/0")
    process = Process(hanging, "fleet", LimitRules())
    began = time.monotonic()
    for _ in range(20):
        assert not isinstance(process.admit(), GateReason)
    assert time.monotonic() - began < 1.0


def _deaf_port() -> int:
    import socket

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    _listeners.append(listener)
    return int(listener.getsockname()[1])


_listeners: list[Any] = []

SPENDER = """
import sys
import redis
from draftcritic.core import GateReason
from draftcritic.core._policy import LimitRules
from draftcritic.core._review import ModelCall, Usage
from draftcritic.fleet._budgets import RedisLimits
from draftcritic.review import Limiter
shared = RedisLimits(redis.Redis.from_url(sys.argv[1]), "fleet", on_away=lambda: sys.exit("away"))
limiter = Limiter(LimitRules(tokens_per_hour={"gpt-4.1-nano": 50_000}, fair_share=1.0), shared=shared)
calls = 0
for number in range(200):
    permit = limiter.admit("gpt-4.1-nano", 4000, 60)
    if not isinstance(permit, GateReason):
        calls += 1
        usage = Usage(input_tokens=1000, output_tokens=400 + number % 200)
        permit.settle(ModelCall("gpt-4.1-nano", "gpt-4.1-nano", usage), None)
while not shared._later.empty():
    pass
print(calls)
"""


def test_eight_processes_spend_no_more_than_the_budget_and_the_calls_under_way(services: Services, client: Any) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", SPENDER, services.store], stdout=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    calls = sum(int(process.communicate(timeout=60)[0]) for process in processes)
    wait_for(lambda: not client.exists("{fleet}:limits:held"))
    assert 25 <= calls < 8 * 200
    assert 50_000 - 2000 <= spent(client) <= 50_000 + 8 * 600
