"""How much reviewing may cost: plain values, whoever keeps to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from draftcritic.core._words import GateReason

ANY_SKU = "*"
"""Key of a budget that holds for each SKU without one of its own."""


@dataclass(frozen=True)
class CircuitRules:
    """When a circuit opens, and how it closes again.

    A call of the critic's model is bad when it fails as in an outage (timeout, connection, a status of 500 or more,
    credentials) or takes longer than `latency`. A rate limit, an answer that is no clear verdict and a prompt that the
    provider rejects are not bad: the author of one draft must not be able to open the circuit for all others. For the
    same reason the circuit opens only when a probe, a fixed question that no user wrote, is bad as well.

    Attributes:
        failure_rate: the circuit opens at this share of bad calls, above 0 up to 1; None keeps it closed for ever.
        latency: seconds; None for calls that may take as long as their timeout.
        window: seconds that are looked back.
        min_calls: fewer calls within the window say nothing.
        cooldown: seconds that an open circuit waits before it asks a probe, which makes it half-open when it is good.
        probes: calls that a half-open circuit lets through at once; as many good ones close it, and after a bad one
            another probe decides.
    """

    failure_rate: float | None = 0.5
    latency: float | None = None
    window: float = 60.0
    min_calls: int = 10
    cooldown: float = 30.0
    probes: int = 1


@dataclass(frozen=True)
class LimitRules:
    """What keeps a draft from its reflection although the gate fired. None is no limit.

    Attributes:
        sample_rate: the share of traces whose drafts may be reflected on, 0 to 1.
        sample_exempt: a draft for which one of these signals held is never sampled out.
        reviews_per_minute: model calls within any 60 seconds.
        tokens_per_hour: input and output tokens of the critic's model within any hour, by SKU.
        usd_per_hour: the same in US dollars; calls whose price is unknown count nothing.
        max_concurrency: model calls at once.
        fair_share: the share of a budget window that one user or conversation may take, 0 to 1; each may make three
            calls in any case.
        circuit: see `CircuitRules`.
    """

    sample_rate: float = 1.0
    sample_exempt: frozenset[GateReason] = frozenset()
    reviews_per_minute: int | None = None
    tokens_per_hour: Mapping[str, float] = field(default_factory=dict)
    usd_per_hour: Mapping[str, float] = field(default_factory=dict)
    max_concurrency: int | None = None
    fair_share: float = 0.1
    circuit: CircuitRules = field(default_factory=CircuitRules)
