"""Tools for tests of code that uses the critic. They need no test framework.

Example:
    from draftcritic.core import Mode, Policy, Turn
    from draftcritic.review import Critic
    from draftcritic.testing import RecordingObserver, ScriptedCriticModel

    observer, model = RecordingObserver(), ScriptedCriticModel(['{"verdict": "approve"}'])
    Critic(Policy(), Mode.OBSERVE, observer).review(Turn("The refund is on its way."), model)
    assert observer.reviews[0].verdict == "approve" and model.calls == 1
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from draftcritic._leak_tests import MiddlewareLeakTests, scripted_chat_model
from draftcritic.core._enums import CircuitState
from draftcritic.core._review import ModelCall, Review
from draftcritic.core._turn import Turn
from draftcritic.review._ports import PromptMessage, Reply, ReviewRecord

__all__ = ["Answer", "MiddlewareLeakTests", "RecordingObserver", "Script", "ScriptedCriticModel", "scripted_chat_model"]

Answer = str | Reply | Mapping[str, Any] | BaseException
"""What a scripted model answers: a raw text, a whole reply, a mapping that becomes JSON, or an exception to raise."""
Script = Iterable[Answer] | Callable[[Sequence[Any]], Answer]


class RecordingObserver:
    """Keeps what an observer of reviews receives. Safe to use from several threads.

    Attributes:
        reviews: the finished reviews, in the order they ended.
        origins: the origin of each review that was begun.
        moments: the call moments in their order: `("start", model)` and `("end", model)`.
        drops: the reasons of lost drafts.
        nested_calls: how many calls of the critic's own were left alone.
        muted_calls: how many drafts were written inside a `muted` block.
        displaced_drafts: how many drafts a full queue left no place for.
        depth: the present depth of the background queue.
        circuits: each change of a circuit: the SKU and the new state.
        policy_loads: how each reading of a changed policy file went.
    """

    def __init__(self) -> None:
        self.reviews: list[Review] = []
        self.origins: list[Any] = []
        self.moments: list[tuple[str, str]] = []
        self.drops: list[str] = []
        self.nested_calls = 0
        self.muted_calls = 0
        self.displaced_drafts = 0
        self.depth = 0
        self.circuits: list[tuple[str, CircuitState]] = []
        self.policy_loads: list[bool] = []
        self._lock = threading.Lock()

    def capture(self, run_id: Any = None) -> Any:
        """Return the run id as the origin."""
        return run_id

    def trace_id(self, origin: Any) -> int | None:
        """Return the origin when it is a number: a test says by it the trace of a draft."""
        return origin if isinstance(origin, int) else None

    def begin(self, turn: Turn, origin: Any) -> ReviewRecord:  # noqa: ARG002 - the port's signature
        """Note the origin and open a record."""
        self.origins.append(origin)
        return _Record(self)

    def dropped(self, reason: str) -> None:
        """Note a lost draft."""
        self.drops.append(reason)

    def nested(self) -> None:
        """Count a call of the critic's own."""
        with self._lock:
            self.nested_calls += 1

    def muted(self) -> None:
        """Count a draft of a `muted` block."""
        with self._lock:
            self.muted_calls += 1

    def displaced(self) -> None:
        """Count a draft without a place in the queue."""
        with self._lock:
            self.displaced_drafts += 1

    def queue_depth(self, change: int) -> None:
        """Follow the depth of the queue."""
        with self._lock:
            self.depth += change

    def circuit(self, sku: str, state: CircuitState) -> None:
        """Note what a circuit has become."""
        self.circuits.append((sku, state))

    def policy_loaded(self, whole: bool) -> None:
        """Note how reading the policy's file again went."""
        self.policy_loads.append(whole)


class _Record:
    def __init__(self, observer: RecordingObserver) -> None:
        self._observer = observer

    def calling(self) -> AbstractContextManager[None]:
        return nullcontext()

    def call_started(self, model: str, sku: str, run_id: str) -> None:  # noqa: ARG002 - the port's signature
        self._observer.moments.append(("start", model))

    def call_ended(self, call: ModelCall, run_id: str) -> None:  # noqa: ARG002 - the port's signature
        self._observer.moments.append(("end", call.model))

    def finish(self, review: Review) -> None:
        self._observer.reviews.append(review)


class ScriptedCriticModel:
    """A critic's model that answers from a script, without any provider.

    Args:
        script: the answers in their order, or a function from the messages to the answer. A list that has run out is
            an error in the test, and raises `LookupError`.
        name: the name of the model, as it is known before the call.
        usage: the token counts of every answer that is not a whole `Reply`.

    Attributes:
        prompts: the messages of each call.
    """

    def __init__(self, script: Script, *, name: str = "scripted", usage: Mapping[str, Any] | None = None) -> None:
        if isinstance(script, str):
            raise TypeError("script is a single text; give a list with it, or a function that returns it")
        self._answer = script if callable(script) else _in_order(script)
        self._name = name
        self._usage = dict(usage or {})
        self.prompts: list[Sequence[Any]] = []

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._name

    @property
    def identity(self) -> Hashable:
        """The object itself: reviews that ask the same one may share an answer."""
        return self

    @property
    def calls(self) -> int:
        """How often the model was asked."""
        return len(self.prompts)

    def messages(self, prompt: Sequence[PromptMessage]) -> Sequence[Any]:
        """Return the prompt as it is."""
        return list(prompt)

    def call(self, messages: Sequence[Any], timeout: float) -> Reply:  # noqa: ARG002 - the port's signature
        """Answer from the script."""
        self.prompts.append(messages)
        answer = self._answer(messages)
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, Reply):
            return answer
        return Reply(answer if isinstance(answer, str) else _as_json(answer), usage=self._usage)

    async def acall(self, messages: Sequence[Any], timeout: float) -> Reply:
        """Answer from the script."""
        return self.call(messages, timeout)


def _in_order(answers: Iterable[Answer]) -> Callable[[Sequence[Any]], Answer]:
    left = iter(answers)

    def next_answer(_: Sequence[Any]) -> Answer:
        try:
            return next(left)
        except StopIteration:
            raise LookupError("the scripted critic model was asked more often than its script has answers") from None

    return next_answer


def _as_json(answer: Mapping[str, Any]) -> str:
    return json.dumps(dict(answer))
