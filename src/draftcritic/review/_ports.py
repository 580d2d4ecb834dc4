"""What the engine needs from outside: a model to ask, and somebody who writes down what happened."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from draftcritic.core._enums import CircuitState, Failure, GateReason, Mode
from draftcritic.core._review import ModelCall, Review
from draftcritic.core._turn import Turn


@dataclass(frozen=True)
class PromptMessage:
    """One message to the critic's model."""

    role: Literal["system", "user", "assistant"]
    text: str


@dataclass(frozen=True)
class Reply:
    """What the critic's model answered.

    Attributes:
        content: the raw content: a text, or a list of content blocks.
        model: the name that the provider reports, when it reports one.
        usage: the provider's token counts by their LangChain names (`input_tokens`, `output_tokens`, ...).
        finish_reason: why the model stopped, in the provider's word.
    """

    content: Any
    model: str | None = None
    usage: Mapping[str, Any] = field(default_factory=dict)
    finish_reason: str | None = None


class CriticModel(Protocol):
    """A model that can be asked for a verdict. Neither call retries; both raise what the provider raises."""

    @property
    def name(self) -> str:
        """The raw name of the model as far as it is known before the call; empty when it is not."""
        ...

    @property
    def identity(self) -> Hashable | None:
        """What two models have in common whose answers may stand for each other; None for an answer of its own."""
        ...

    def messages(self, prompt: Sequence[PromptMessage]) -> Sequence[Any]:
        """Return the prompt as the message objects that the model is sent, for hooks to see."""
        ...

    def call(self, messages: Sequence[Any], timeout: float) -> Reply:
        """Ask the model from synchronous code.

        Raises:
            TimeoutError: no answer within `timeout` seconds.
        """
        ...

    async def acall(self, messages: Sequence[Any], timeout: float) -> Reply:
        """Ask the model from a coroutine, without blocking its event loop.

        Raises:
            TimeoutError: no answer within `timeout` seconds.
        """
        ...


class ReviewRecord(Protocol):
    """Follows one review. No method raises."""

    def calling(self) -> AbstractContextManager[None]:
        """Return the surroundings of the model call: what is traced inside belongs to this review."""
        ...

    def call_started(self, model: str, sku: str, run_id: str) -> None:
        """The critic's model is about to be asked."""
        ...

    def call_ended(self, call: ModelCall, run_id: str) -> None:
        """The critic's model has answered or failed."""
        ...

    def finish(self, review: Review) -> None:
        """The review is over; called exactly once."""
        ...


class ReviewObserver(Protocol):
    """Writes reviews down. No method raises."""

    def capture(self, run_id: Any = None) -> Any:
        """Return where the current code is in its trace; opaque to the engine.

        Args:
            run_id: the id of the LangChain run that is open here, when known.
        """
        ...

    def trace_id(self, origin: Any) -> int | None:
        """Return the id of the trace that `origin` (a value of `capture`) belongs to; None when there is none."""
        ...

    def begin(self, turn: Turn, origin: Any) -> ReviewRecord:
        """Open the record of one review that belongs to `origin` (a value of `capture`, or None)."""
        ...

    def dropped(self, reason: str) -> None:
        """Count a draft that was lost before its review.

        Args:
            reason: `queue_full`, `shutdown`, `expired` or `damaged` (of a spool), or `error`.
        """
        ...

    def nested(self) -> None:
        """Count a call that was left alone because it is the critic's own."""
        ...

    def muted(self) -> None:
        """Count a draft that was written inside a `muted` block: it has no review."""
        ...

    def displaced(self) -> None:
        """Count a draft that a full queue had no room for; `dropped` is called for it, too."""
        ...

    def queue_depth(self, change: int) -> None:
        """The background queue has grown (positive) or shrunk (negative) by `change` reviews."""
        ...

    def circuit(self, sku: str, state: CircuitState) -> None:
        """The circuit of a critic's model has changed."""
        ...

    def policy_loaded(self, whole: bool) -> None:
        """Record a reload of the policy file: it is valid, or it is invalid and the previous policy stays."""
        ...


class FleetObserver(ReviewObserver, Protocol):
    """Writes down, too, how drafts travel between processes. No method raises."""

    def packed(self, origin: Any) -> dict[str, str]:
        """Return a value of `capture` as texts that another process can read."""
        ...

    def unpacked(self, packed: Mapping[str, str]) -> Any:
        """Return the value of `capture` that `packed` was made of."""
        ...

    def dead_lettered(self, reason: str) -> None:
        """Count a draft that was put aside: `reason` is `schema`, `attempts` or `error`."""
        ...

    def delivered(self, age: float, again: bool) -> None:
        """Record how many seconds a draft has waited, and whether its delivery had begun before and not ended."""
        ...

    def other_release(self, *, newer: bool, older: bool) -> None:
        """Count a draft whose writer has a release with more fields of a turn (`newer`), or with fewer (`older`)."""
        ...

    def processing(self, packed: Mapping[str, str], queue: str, id_: str) -> AbstractContextManager[None]:
        """Return the block in which a worker reviews a draft from a queue.

        Args:
            packed: see `packed`.
            queue: its name.
            id_: the draft's id.
        """
        ...

    def budget_local(self) -> None:
        """Count a call that was decided without the shared store of the budgets."""
        ...

    def watch_spool(self, spool: Callable[[], tuple[int, float]] | None) -> None:
        """Report the size in bytes and the age in seconds that a function returns; None for no more reports."""
        ...

    def info(self, mode: Mode, policy_version: str, delivery: str, sku: str | None) -> None:
        """Report what this process runs now."""
        ...


class Permit(Protocol):
    """Leave to make one call of the critic's model."""

    def settle(
        self,
        call: ModelCall | None,
        failure: Failure | None,
        *,
        unbilled: bool = False,
        retry_after: float | None = None,
    ) -> None:
        """Return the permit when the call has ended, in whatever way; called exactly once.

        Args:
            call: the record of the call; None when it was not made after all.
            failure: how it failed.
            unbilled: it failed in a way that no provider bills.
            retry_after: seconds that the provider asks to wait before the next call.
        """
        ...


class ReviewLimits(Protocol):
    """Keeps drafts from the model call, for what it costs and while the model does not work. No method raises."""

    def samples(
        self,
        trace_id: Callable[[], int | None],
        run_id: str,
        signals: Collection[GateReason],
        root_run: Hashable = None,
    ) -> bool:
        """Whether the drafts of a trace, or of an outermost run, are reflected on.

        Args:
            trace_id: returns the trace; None when the draft belongs to none.
            run_id: replaces the trace.
            signals: the gate's reasons for the draft: some may always be worth a reflection.
            root_run: what the drafts of one outermost run have in common; None when that is not known.
        """
        ...

    def admits_loop(self) -> bool:
        """Whether one more draft may be reflected on whose prompt repeats a question of the critic."""
        ...

    def admit(
        self, sku: str, size: int = 0, lasts: float = 3600.0, ids: Sequence[str] = (), *, calls: int = 1
    ) -> Permit | GateReason:
        """Let one model call through, or say what forbids it (`budget`, `fair_share`, `rate_limited`, `circuit_open`).

        Args:
            sku: the SKU of the model as far as it is known before the call.
            size: characters of the prompt.
            lasts: seconds after which the call has ended even without a report of its end.
            ids: the user and the conversation of the draft, as far as they are known.
            calls: how many calls, one after the other, are let through or forbidden together.
        """
        ...

    def probe(self, sku: str, size: int = 0, lasts: float = 3600.0) -> Permit | None:
        """Return leave to ask a fixed question when the circuit of a SKU depends on its answer. See `admit`."""
        ...


class NullRecord:
    """A record of nothing. Implements `ReviewRecord`."""

    def calling(self) -> AbstractContextManager[None]:
        """Return empty surroundings."""
        return nullcontext()

    def call_started(self, model: str, sku: str, run_id: str) -> None:
        """Do nothing."""

    def call_ended(self, call: ModelCall, run_id: str) -> None:
        """Do nothing."""

    def finish(self, review: Review) -> None:
        """Do nothing."""


class NullObserver:
    """Writes nothing down; base class for observers that need only some of the moments."""

    def capture(self, run_id: Any = None) -> Any:  # noqa: ARG002 - the port's signature
        """Return None."""
        return None

    def trace_id(self, origin: Any) -> int | None:  # noqa: ARG002 - the port's signature
        """Return None."""
        return None

    def begin(self, turn: Turn, origin: Any) -> ReviewRecord:  # noqa: ARG002 - the port's signature
        """Return a record of nothing."""
        return NullRecord()

    def dropped(self, reason: str) -> None:
        """Do nothing."""

    def nested(self) -> None:
        """Do nothing."""

    def muted(self) -> None:
        """Do nothing."""

    def displaced(self) -> None:
        """Do nothing."""

    def queue_depth(self, change: int) -> None:
        """Do nothing."""

    def circuit(self, sku: str, state: CircuitState) -> None:
        """Do nothing."""

    def policy_loaded(self, whole: bool) -> None:
        """Do nothing."""


class NullFleetObserver(NullObserver):
    """Writes nothing down. Implements `FleetObserver`."""

    def packed(self, origin: Any) -> dict[str, str]:  # noqa: ARG002 - the port's signature
        """Return nothing."""
        return {}

    def unpacked(self, packed: Mapping[str, str]) -> Any:  # noqa: ARG002 - the port's signature
        """Return None."""
        return None

    def dead_lettered(self, reason: str) -> None:
        """Do nothing."""

    def delivered(self, age: float, again: bool) -> None:
        """Do nothing."""

    def other_release(self, *, newer: bool, older: bool) -> None:
        """Do nothing."""

    def processing(self, packed: Mapping[str, str], queue: str, id_: str) -> AbstractContextManager[None]:  # noqa: ARG002 - the port's signature
        """Return an empty block."""
        return nullcontext()

    def budget_local(self) -> None:
        """Do nothing."""

    def watch_spool(self, spool: Callable[[], tuple[int, float]] | None) -> None:
        """Do nothing."""

    def info(self, mode: Mode, policy_version: str, delivery: str, sku: str | None) -> None:
        """Do nothing."""


class NoLimits:
    """Lets everything through. Implements `ReviewLimits`."""

    def samples(
        self,
        trace_id: Callable[[], int | None],  # noqa: ARG002 - the port's signature
        run_id: str,  # noqa: ARG002 - the port's signature
        signals: Collection[GateReason],  # noqa: ARG002 - the port's signature
        root_run: Hashable = None,  # noqa: ARG002 - the port's signature
    ) -> bool:
        """Return True."""
        return True

    def admits_loop(self) -> bool:
        """Return True."""
        return True

    def admit(
        self,
        sku: str,  # noqa: ARG002 - the port's signature
        size: int = 0,  # noqa: ARG002
        lasts: float = 3600.0,  # noqa: ARG002
        ids: Sequence[str] = (),  # noqa: ARG002
        *,
        calls: int = 1,  # noqa: ARG002
    ) -> Permit | GateReason:
        """Return leave that costs nothing."""
        return _FREE

    def probe(self, sku: str, size: int = 0, lasts: float = 3600.0) -> Permit | None:  # noqa: ARG002 - the port's signature
        """Return None: there is no circuit."""
        return None


class _FreePermit:
    def settle(
        self,
        call: ModelCall | None,
        failure: Failure | None,
        *,
        unbilled: bool = False,
        retry_after: float | None = None,
    ) -> None:
        """Do nothing."""


_FREE = _FreePermit()
