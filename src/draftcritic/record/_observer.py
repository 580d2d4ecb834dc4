"""Records each review in a file, besides what another observer writes."""

from __future__ import annotations

import logging
from typing import Any, cast

from draftcritic.core._enums import GateReason
from draftcritic.core._review import Review
from draftcritic.core._turn import Turn
from draftcritic.record._review_row import row_of
from draftcritic.record._row_file import RowFile
from draftcritic.review._ports import FleetObserver, ReviewRecord

_logger = logging.getLogger("draftcritic")
_NOT_RECORDED = (GateReason.NOT_A_DRAFT, GateReason.NESTED)


def recording(observer: FleetObserver, file: RowFile) -> FleetObserver:
    """Return an observer that does all that `observer` does, and appends a row for each review of a draft.

    A file that cannot be written is logged once, and never reaches the application.
    """
    _logger.warning("draftcritic records drafts and their conversations in %s", file.path)
    return cast("FleetObserver", _Observer(observer, file))


class _Observer:
    def __init__(self, inner: FleetObserver, file: RowFile) -> None:
        self._inner = inner
        self._file = file
        self._failed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def begin(self, turn: Turn, origin: Any) -> ReviewRecord:
        return cast("ReviewRecord", _Record(self._inner.begin(turn, origin), self, origin))

    def write(self, review: Review, origin: Any) -> None:
        if review.assessment.reason in _NOT_RECORDED:
            return
        try:
            self._file.append(row_of(review, self._inner.trace_id(origin)).as_json())
        except Exception as error:
            if not self._failed:
                self._failed = True
                _logger.warning("draftcritic cannot record turns in %s: %s", self._file.path, type(error).__name__)


class _Record:
    def __init__(self, inner: ReviewRecord, observer: _Observer, origin: Any) -> None:
        self._inner = inner
        self._observer = observer
        self._origin = origin

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def finish(self, review: Review) -> None:
        self._inner.finish(review)
        self._observer.write(review, self._origin)
