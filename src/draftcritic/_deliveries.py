"""Makes the delivery that the settings ask for."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draftcritic.core._enums import DeliveryKind
from draftcritic.core._exception_place import described
from draftcritic.fleet._memory import Delivery, MemoryDelivery, Wanted
from draftcritic.review._background import QUEUE_FULL, BackgroundRunner

if TYPE_CHECKING:
    from draftcritic.fleet._broker import FleetQueue
    from draftcritic.fleet._delivery import Sink
    from draftcritic.fleet._wire import DraftMessage
    from draftcritic.langchain._capture import CapturedDraft
    from draftcritic.review._ports import FleetObserver
    from draftcritic.review._shared_limits import SharedLimits
    from draftcritic.settings._model import Settings

_logger = logging.getLogger("draftcritic")
_DEAD_BYTES = 16 << 20
_DEAD_FILES = 4
_TIME_LIMIT_S = 30.0
"""Seconds of a review beyond four timeouts of its model, after which its worker process hangs and is killed."""
DEAD_LETTERS = "dead.jsonl"
"""The file of a service's spool with the drafts that were put aside."""


class Reviews:
    """What a delivery needs of the runtime.

    Attributes:
        captured: reviews a captured draft.
        message: reviews a draft that has travelled.
        pack: returns what travels of a captured draft, with the id that is given.
    """

    def __init__(
        self,
        captured: Callable[[CapturedDraft, Wanted], object],
        message: Callable[[DraftMessage, Wanted], object],
        pack: Callable[[CapturedDraft, str], DraftMessage],
    ) -> None:
        self.captured = captured
        self.message = message
        self.pack = pack


def made_delivery(settings: Settings, observer: FleetObserver, reviews: Reviews) -> Delivery:
    """Return the delivery that the settings ask for."""

    def dropped(reason: str) -> None:
        observer.dropped(reason)
        if reason == QUEUE_FULL:
            # A limit like any other; a process that ends, and a fault, decide nothing.
            observer.displaced()

    if settings.delivery is not DeliveryKind.MEMORY and settings.spool_dir is not None:
        return _spooled(settings, observer, reviews, dropped, settings.spool_dir / service_name())
    runner = BackgroundRunner(
        workers=settings.workers,
        capacity=settings.queue_size,
        capacity_bytes=settings.queue_bytes,
        shutdown_timeout=settings.shutdown_timeout,
        on_drop=dropped,
        on_depth=observer.queue_depth,
    )
    return MemoryDelivery(runner, reviews.captured)


def _spooled(
    settings: Settings, observer: FleetObserver, reviews: Reviews, dropped: Callable[[str], None], folder: Path
) -> Delivery:
    from draftcritic.fleet._delivery import ReviewSink, SpoolDelivery
    from draftcritic.fleet._spool import Spool
    from draftcritic.record._row_file import RowFile

    spool = Spool(folder, max_bytes=settings.spool_bytes, max_age=settings.spool_hours * 3600, on_drop=dropped)
    observer.watch_spool(lambda: (spool.size, spool.age))
    dead = RowFile(folder / DEAD_LETTERS, _DEAD_BYTES, max_hours=24 * 365, max_files=_DEAD_FILES)

    def bury(id_: str, payload: bytes, reason: str) -> None:
        row = {"id": id_, "time": round(time.time(), 3), "reason": reason, "draft": payload.decode("utf-8", "replace")}
        try:
            dead.append(json.dumps(row))
        except OSError as error:
            _logger.warning("a dead letter cannot be written, its draft is lost: %s", described(error))
            observer.dropped("error")
        else:
            observer.dead_lettered(reason)

    celery = settings.delivery is DeliveryKind.CELERY
    sink: Sink = _publisher(settings) if celery else ReviewSink(reviews.message, observer)
    return SpoolDelivery(
        spool,
        reviews.pack,
        sink,
        bury,
        workers=1 if celery else settings.workers,
        shutdown_timeout=settings.shutdown_timeout,
        on_drop=dropped,
        on_depth=observer.queue_depth,
    )


def _publisher(settings: Settings) -> Sink:
    from draftcritic.fleet._cipher import Cipher
    from draftcritic.fleet._publisher import Publisher

    return Publisher(queue_of(settings), Cipher(settings.fleet_key))


def queue_of(settings: Settings) -> FleetQueue:
    """Return the message queue of the settings, which name a broker."""
    from draftcritic.fleet._broker import FleetQueue

    return FleetQueue(
        settings.broker or "",
        settings.fleet,
        ttl=settings.spool_hours * 3600,
        time_limit=_TIME_LIMIT_S + 4 * settings.timeout,
    )


def store_of(settings: Settings) -> Any:
    """Return a client of the Redis of the settings; None where they name none.

    Raises:
        ImportError: redis is not installed.
    """
    if settings.budget_store is None:
        return None
    from draftcritic.fleet._budgets import client_of

    return client_of(settings.budget_store)


def shared_limits_of(settings: Settings, observer: FleetObserver) -> SharedLimits | None:
    """Return the limits that the processes of the settings' fleet count together; None without a store for them."""
    try:
        client = store_of(settings)
    except ImportError as error:
        _logger.error("budget_store needs the package redis, each process counts alone: %s", error)  # noqa: TRY400
        return None
    if client is None:
        return None
    from draftcritic.fleet._budgets import RedisLimits

    return RedisLimits(client, settings.fleet, on_away=observer.budget_local)


def service_name() -> str:
    """Return the service of this process, as OpenTelemetry's environment names it, in a form that a folder can have."""
    named = os.environ.get("OTEL_SERVICE_NAME", "").strip()
    if not named:
        pairs = (pair.partition("=") for pair in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "").split(","))
        named = next((value.strip() for key, _, value in pairs if key.strip() == "service.name"), "")
    kept = "".join(sign if sign.isalnum() or sign in "-_" else "_" for sign in named)[:100]
    return kept or "unknown_service"
