"""Reviews recorded turns with the engine that reviews running agents."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from draftcritic.core._enums import Mode
from draftcritic.core._policy import Policy
from draftcritic.core._review import Review
from draftcritic.replay._cache import AnswerCache
from draftcritic.replay._runs import NOT_COVERED, Replayed
from draftcritic.review._pipeline import Critic
from draftcritic.review._ports import CriticModel, NullObserver
from draftcritic.turns._row import Finding, TurnRow
from draftcritic.turns._to_turn import to_turn

_MAX_FAILURES = 5
_DECIDING = ("reflection", "fabrication")


class BudgetError(Exception):
    """The money limit cannot be kept; the message says why."""


class Judge:
    """What one policy makes of turns, without any model.

    Args:
        policy: the rules.
    """

    def __init__(self, policy: Policy) -> None:
        self._critic = Critic(policy, Mode.GATE, NullObserver())

    def judge(self, row: TurnRow) -> Replayed:
        """Return what the deterministic part says of a draft."""
        return _replayed(self._critic.review(to_turn(row), _no_model))


class Reflecting:
    """What one policy and a model make of turns, whatever that costs. Safe to use from several threads.

    Args:
        policy: the rules.
        make_model: makes the critic's model when it is first needed.
    """

    def __init__(self, policy: Policy, make_model: Callable[[], CriticModel]) -> None:
        self._critic = Critic(policy, Mode.OBSERVE, NullObserver())
        self._make_model = make_model
        self._lock = threading.Lock()
        self._model: CriticModel | None = None

    def judge(self, row: TurnRow) -> Replayed:
        """Return what the policy and the model say of a draft."""
        return _replayed(self._critic.review(to_turn(row), self._source))

    def _source(self) -> CriticModel:
        with self._lock:
            if self._model is None:
                self._model = self._make_model()
            return self._model


@dataclass
class Spending:
    """What a replay has spent on its model.

    Attributes:
        calls: calls made now; those of earlier runs are in the cache.
        usd: their price.
        stopped: why no more calls are made; empty while they are.
    """

    calls: int = 0
    usd: float = 0.0
    stopped: str = ""


class ModelJudge:
    """What one policy and a model make of turns. Safe to use from several threads.

    Args:
        policy: the rules.
        make_model: makes the critic's model when it is first needed.
        name: names the model and its parameters; answers of another name are not used.
        cache: keeps the answers.
        max_usd: no call is made that could take the price of this run beyond it.
        reflect: asks the model about a draft, in place of `make_model`: that of workers elsewhere.
    """

    def __init__(
        self,
        policy: Policy,
        make_model: Callable[[], CriticModel],
        name: str,
        cache: AnswerCache,
        max_usd: float | None = None,
        *,
        reflect: Callable[[TurnRow], Replayed] | None = None,
    ) -> None:
        self._policy = policy
        self._gate = Judge(policy)
        self._reflect = reflect or Reflecting(policy, make_model).judge
        self._name = name
        self._cache = cache
        self._max_usd = max_usd
        self._dearest = 0.0
        self._under_way = 0
        self._failures = 0
        self._changed = threading.Condition()
        self.spending = Spending()

    def judge(self, row: TurnRow) -> Replayed:
        """Return what the policy and the model say of a draft.

        Raises:
            BudgetError: there is a money limit, and the price of the model is not known.
        """
        gate = self._gate.judge(row)
        if gate.decision != "fired" or gate.verdict == "refuse":
            return gate
        key = self._cache.key(row, self._policy.version, self._name)
        known = self._cache.get(key)
        if known is not None:
            return known
        if not self._may_call():
            return replace(gate, failure=NOT_COVERED)
        replayed: Replayed | None = None
        try:
            replayed = self._reflect(row)
        finally:
            with self._changed:
                self._under_way -= 1
                self._changed.notify_all()
                if replayed is not None:
                    self._book(replayed)
        if replayed.asked and not replayed.failure:
            self._cache.put(key, replayed)
        return replayed

    def _may_call(self) -> bool:
        with self._changed:
            spending = self.spending
            if self._max_usd is not None:
                # The first call shows the price: until then there is only one.
                self._changed.wait_for(lambda: self._dearest or not self._under_way)
                if not spending.stopped and spending.usd + (self._under_way + 1) * self._dearest > self._max_usd:
                    spending.stopped = f"the limit of {self._max_usd:g} USD is reached"
            if spending.stopped:
                return False
            self._under_way += 1
            spending.calls += 1
            return True

    def _book(self, replayed: Replayed) -> None:
        self._failures = self._failures + 1 if replayed.failure else 0
        if self._failures >= _MAX_FAILURES:
            self.spending.stopped = f"the model failed {_MAX_FAILURES} times in a row ({replayed.failure})"
        if replayed.cost_usd is not None:
            self.spending.usd += replayed.cost_usd
            self._dearest = max(self._dearest, replayed.cost_usd)
        elif self._max_usd is not None and replayed.asked and not replayed.failure:
            raise BudgetError(
                f"--max-usd {self._max_usd:g} cannot be kept: the price of {replayed.sku} is not known; "
                "leave --max-usd out, or limit the turns"
            )


def _replayed(review: Review) -> Replayed:
    assessment, call = review.assessment, review.call
    source = str(review.source or "")
    decided = source in _DECIDING and review.verdict is not None
    text = getattr(review.outcome, "text", None)
    return Replayed(
        policy_version=review.policy_version,
        decision=str(assessment.decision),
        reason=str(assessment.reason),
        signals=tuple(str(signal) for signal in assessment.signals),
        verdict=str(review.verdict) if decided else "",
        source=source if decided else "",
        findings=tuple(Finding(f.kind, f.identifier, f.confidence) for f in assessment.findings or ()),
        rules=tuple(review.matched_preferences),
        text=text if decided and isinstance(text, str) else "",
        sku="" if call is None else call.sku or "unknown",
        failure="" if review.failure is None else str(review.failure),
        input_tokens=None if call is None else call.usage.input_tokens,
        output_tokens=None if call is None else call.usage.output_tokens,
        cost_usd=None if call is None else call.usage.cost_usd,
    )


def _no_model() -> CriticModel:
    raise AssertionError("in gate mode no model is asked")
