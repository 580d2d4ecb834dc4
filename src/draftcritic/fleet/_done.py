"""Which drafts have been reviewed, for drafts that come a second time."""

from __future__ import annotations

import json
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from draftcritic.core._exception_place import described
from draftcritic.core._review import ModelCall, Review

_RECORDING = b"recording"
_RECORDING_S = 5
"""Seconds that a worker may take from its claim to its record."""
_WAIT_S = 1.0
_PAUSE_S = 0.02
_REMEMBERED = 10_000
_logger = logging.getLogger("draftcritic")


class DoneReviews:
    """The reviews that are recorded, by the draft's id: in Redis for all workers, and the last ones in this process.

    No method raises: while Redis is away a draft that comes twice to two workers is reviewed twice.

    Args:
        prefix: of the keys.
        ttl: seconds that a review is remembered.
        store: a client of Redis; None for this process alone.
    """

    def __init__(self, prefix: str, ttl: float, store: Any = None) -> None:
        self._prefix = prefix
        self._ttl = int(ttl) + 1
        self._store = store
        self._own: OrderedDict[str, dict[str, Any]] = OrderedDict()

    def find(self, id_: str) -> dict[str, Any] | None:
        """Return what is known of the review of a draft; None before it is recorded."""
        if id_ in self._own:
            return self._own[id_]
        found = self._ask(lambda: self._store.get(self._key(id_)))
        return None if found is None or found == _RECORDING else _read(found)

    def claim(self, id_: str) -> bool:
        """Whether this worker records the review of a draft: False when another one has.

        A worker that is killed between its claim and `finish` leaves a claim that ends by itself.
        """
        if id_ in self._own:
            return False
        until = time.monotonic() + _WAIT_S
        while True:
            taken = self._ask(
                lambda: self._store.set(self._key(id_), _RECORDING, nx=True, ex=_RECORDING_S), missing=True
            )
            if taken:
                return True
            if self.find(id_) is not None:
                return False
            if time.monotonic() >= until:
                return True
            time.sleep(_PAUSE_S)

    def finish(self, id_: str, review: Review) -> None:
        """Remember a review that was recorded; no text of it."""
        call = review.call
        said = {
            "verdict": None if review.verdict is None else str(review.verdict),
            "model": None if call is None else call.model,
            "sku": None if call is None else call.sku,
        }
        self._own[id_] = said
        if len(self._own) > _REMEMBERED:
            self._own.popitem(last=False)
        self._ask(lambda: self._store.set(self._key(id_), json.dumps(said), ex=self._ttl))

    def _key(self, id_: str) -> str:
        return f"{self._prefix}:done:{id_}"

    def _ask(self, question: Callable[[], Any], missing: Any = None) -> Any:
        if self._store is None:
            return missing
        try:
            return question()
        except Exception as error:
            _logger.debug("the store of reviews is away: %s", described(error))
            return missing


def _read(found: bytes) -> dict[str, Any] | None:
    try:
        said = json.loads(found)
    except ValueError:
        return None
    return said if isinstance(said, dict) else None


def shared_call(said: dict[str, Any]) -> ModelCall | None:
    """Return the record of a call that was made for another delivery of the same draft; None when there was none."""
    model, sku = said.get("model"), said.get("sku")
    return ModelCall(model, sku, shared=True) if isinstance(model, str) and isinstance(sku, str) else None
