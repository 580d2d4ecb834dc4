"""The port to limits that several processes count together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from draftcritic.core._enums import CircuitState, GateReason
from draftcritic.core._policy import LimitRules
from draftcritic.review._budget import Booked, Expected


class SharedLimits(Protocol):
    """Counts what all processes of a fleet spend. No method raises; each may take some milliseconds."""

    def reserve(
        self, rules: LimitRules, expected: Expected, lasts: float, ids: Sequence[str], calls: int
    ) -> str | GateReason | None:
        """Return a ticket for a call, or what forbids it; None while the store is away.

        Args:
            rules: the limits of the whole fleet.
            expected: what the call will spend.
            lasts: seconds after which the call has ended even without a report of its end.
            ids: the user and the conversation of the draft.
            calls: how many calls are let through or forbidden together.
        """
        ...

    def settle(self, ticket: str, sku: str, booked: Booked, *, made: bool) -> None:
        """Return a ticket when its call has ended. Does not wait.

        Args:
            ticket: see `reserve`.
            sku: the SKU that answered.
            booked: what the call has spent.
            made: the call was made.
        """
        ...

    def circuit(self, sku: str, state: CircuitState) -> None:
        """Show the other processes that this one's circuit has changed. Does not wait."""
        ...

    @property
    def part(self) -> float:
        """The part of the budgets that is this process's while the store is away, above 0 and at most 1."""
        ...
