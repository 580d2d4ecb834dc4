"""The port through which background drafts get to their reviews, and its form without files: the process's memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from draftcritic.review._background import BackgroundRunner

Wanted = Callable[[], bool]
"""Asked once, when a review is about to be recorded: False leaves it unrecorded."""


class CapturedSource(Protocol):
    """A captured draft as a delivery needs it; `draftcritic.langchain` has the real one."""

    context: Any

    def size(self) -> int:
        """Return its size in bytes."""
        ...


class Delivery(Protocol):
    """Takes captured drafts to their reviews. No method raises or blocks, except `flush` and `close`."""

    def would_reject(self) -> bool:
        """Whether a draft would be lost now; it is counted then."""
        ...

    def submit(self, captured: Any) -> None:
        """Take a draft."""
        ...

    def flush(self, timeout: float) -> bool:
        """Wait until every draft taken so far is delivered; False when some are not after `timeout` seconds."""
        ...

    def close(self, timeout: float) -> None:
        """Deliver what waits within `timeout` seconds, and take nothing more."""
        ...


class MemoryDelivery:
    """Reviews drafts in background threads of this process; the end of the process loses those that wait.

    Args:
        runner: the threads.
        review: reviews a captured draft.
    """

    def __init__(self, runner: BackgroundRunner, review: Callable[[Any, Wanted], object]) -> None:
        self._runner = runner
        self._review = review
        self.would_reject = runner.would_reject
        self.flush = runner.flush

    def submit(self, captured: CapturedSource) -> None:
        """Take a draft. See `Delivery`."""
        job = partial(captured.context.run, self._review, captured, self._runner.claim_result)
        self._runner.submit(job, size=captured.size)

    def close(self, timeout: float) -> None:
        """Deliver what waits. See `Delivery`."""
        self._runner.close(timeout)
