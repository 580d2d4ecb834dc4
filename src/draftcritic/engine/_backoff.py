"""Waits as long as a provider asks after a rate limit. Pure: calls are told the time. Needs a lock around it."""

from __future__ import annotations

_FIRST = 1.0
"""Seconds to wait where the provider gives none; doubled each time, up to a minute."""
_LONGEST_GUESS = 60.0
_LONGEST = 3600.0
_MAX_SKUS = 256


class Backoff:
    """Until when each SKU is left alone."""

    def __init__(self) -> None:
        self._until: dict[str, tuple[float, float]] = {}

    def waits(self, sku: str, now: float) -> bool:
        """Whether the SKU is to be left alone now."""
        return now < self._until.get(sku, (0.0, 0.0))[0]

    def limited(self, sku: str, seconds: float | None, now: float) -> None:
        """Note that the provider has limited a call, and how long it asks to wait."""
        until, before = self._until.pop(sku, (now, 0.0))
        if seconds is None and until > now:
            wait = before  # calls that were under way at once count once
        elif seconds is None:
            wait = min(max(_FIRST, 2 * before), _LONGEST_GUESS)
            until = now + wait
        else:
            wait = min(seconds, _LONGEST)
            until = max(until, now + wait)
        self._until[sku] = (until, wait)
        if len(self._until) > _MAX_SKUS:
            del self._until[next(iter(self._until))]

    def answered(self, sku: str) -> None:
        """Note that the provider has answered a call."""
        self._until.pop(sku, None)
