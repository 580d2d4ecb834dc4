"""The observer that writes nothing down."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from draftcritic.core import CircuitState, ModelCall, Review, Turn
from draftcritic.engine._ports import ReviewRecord


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

    def displaced(self) -> None:
        """Do nothing."""

    def queue_depth(self, change: int) -> None:
        """Do nothing."""

    def circuit(self, sku: str, state: CircuitState) -> None:
        """Do nothing."""

    def policy_loaded(self, whole: bool) -> None:
        """Do nothing."""
