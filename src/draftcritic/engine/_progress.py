"""How far a review has come."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from draftcritic.core import Assessment, ModelCall, Turn
from draftcritic.engine._observers import NullRecord
from draftcritic.engine._ports import ReviewRecord

_NO_RECORD = NullRecord()


def _always() -> bool:
    return True


@dataclass(slots=True)
class Progress:
    """What the end of a review reports, whichever way it ends.

    Attributes:
        turn: what is reviewed.
        origin: where the draft stands in its trace.
        wanted: whether the review may still be written down; asked once, at its end.
        record: follows the review.
        assessment: what the deterministic part found, when it came so far.
        call: the model call, when it came so far.
        started: when the review began.
    """

    turn: Turn
    origin: Any = None
    wanted: Callable[[], bool] = _always
    record: ReviewRecord = _NO_RECORD
    assessment: Assessment | None = None
    call: ModelCall | None = None
    started: float = field(default_factory=time.perf_counter)

    @classmethod
    def of(cls, turn: Turn, origin: Any, wanted: Callable[[], bool] | None = None) -> Progress:
        """Begin a review."""
        return cls(turn, origin, wanted or _always)
