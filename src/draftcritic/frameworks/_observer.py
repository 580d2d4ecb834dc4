"""Finds who writes reviews down in this process."""

from __future__ import annotations

import sys

from draftcritic.engine import NullObserver, ReviewObserver


def process_observer() -> ReviewObserver:
    """Return the telemetry of the process while draftcritic is instrumented, else an observer of nothing."""
    runtime_module = sys.modules.get("draftcritic._runtime")
    runtime = runtime_module.current() if runtime_module is not None else None
    if runtime is None:
        return NullObserver()
    observer: ReviewObserver = runtime.observer
    return observer
