"""The one place where a failure of our own telemetry ends."""

from __future__ import annotations

import logging
from types import TracebackType
from typing import Final

logger = logging.getLogger("draftcritic")


class Boundary:
    """Keeps telemetry failures away from the application: counts each, logs each kind once.

    A message of an exception can quote the draft, so only its type is logged. What runs for every draft says
    `except Exception` and `caught` itself, which costs nothing while all is well; the rest stands `around` a block.

    Attributes:
        failures: how many were caught.
    """

    def __init__(self) -> None:
        self.failures = 0
        self._logged: set[tuple[str, str]] = set()
        self._blocks: dict[str, _Contained] = {}

    def around(self, place: str) -> _Contained:
        """Return a block that ends every `Exception` raised inside; `place`, a fixed word, names it in the log."""
        block = self._blocks.get(place)
        if block is None:
            # It keeps nothing between its uses, so all threads share the one of a place.
            block = self._blocks[place] = _Contained(self, place)
        return block

    def caught(self, place: str, error: Exception) -> None:
        """Count a failure, and log it if it is the first of its kind."""
        self.failures += 1
        kind = (place, type(error).__qualname__)
        if kind not in self._logged:
            self._logged.add(kind)
            logger.warning("telemetry failed in %s: %s; logged once", *kind)


class _Contained:
    __slots__ = ("_boundary", "_place")

    def __init__(self, boundary: Boundary, place: str) -> None:
        self._boundary: Final = boundary
        self._place: Final = place

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        self._boundary.caught(self._place, error)
        return True
