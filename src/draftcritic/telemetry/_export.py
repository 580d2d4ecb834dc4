"""Exports what the providers of OpenTelemetry have not sent yet."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from typing import Any

from draftcritic.core._exception_place import described

_logger = logging.getLogger("draftcritic")


def providers_of(given: Mapping[str, Any]) -> list[Any]:
    """Return the providers that reviews go to: those given by `instrument()`'s names, or the global ones."""
    from opentelemetry import _logs, metrics, trace

    return [
        given.get("tracer_provider") or trace.get_tracer_provider(),
        given.get("meter_provider") or metrics.get_meter_provider(),
        given.get("logger_provider") or _logs.get_logger_provider(),
    ]


def export_all(providers: Iterable[Any], timeout: float) -> bool:
    """Have each provider export its spans, metrics and log records.

    Args:
        providers: providers of OpenTelemetry's SDK; others, which have nothing to export, are skipped.
        timeout: seconds for all of them together.

    Returns:
        False when one has failed, or the time is over.
    """
    until, whole = time.monotonic() + timeout, True
    for provider in providers:
        flush = getattr(provider, "force_flush", None)
        if not callable(flush):
            continue
        left = until - time.monotonic()
        if left <= 0:
            return False
        try:
            # The metrics provider answers nothing when its readers have failed, and raises for others.
            whole = flush(int(left * 1000)) is not False and whole
        except Exception as error:
            _logger.warning("telemetry could not be exported: %s", described(error))
            whole = False
    return whole
