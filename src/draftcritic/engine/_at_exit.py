"""Runs what is left to do when a process ends, at the moments that Python has for it."""

from __future__ import annotations

import atexit
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from draftcritic.engine._fork import WeakCalls

_when_main_thread_ends = WeakCalls()
_registered_in: list[object] = []
"""Filled once: Python never forgets what it is to call."""
_MULTIPROCESSING_PRIORITY = 100
"""Before the finalizers of queues and pools, which have 10 and 15."""


def at_exit(close: Callable[[], object]) -> None:
    """Have a bound method called when this process ends, before what was registered earlier, such as exporters."""
    atexit.unregister(close)
    atexit.register(close)
    multiprocessing = sys.modules.get("multiprocessing.process")
    if multiprocessing is not None and multiprocessing.parent_process() is not None:
        # A child that multiprocessing forked ends without running atexit.
        from multiprocessing.util import Finalize

        Finalize(None, close, exitpriority=_MULTIPROCESSING_PRIORITY)


def when_main_thread_ends(wait: Callable[[], None]) -> None:
    """Have a bound method called when the main thread ends, for as long as its object lives.

    That is before all of `atexit`: an exporter that is set up after `at_exit` is shut down before its method. Python
    tells the moment only its own libraries; where it does not, nothing is called.
    """
    register = getattr(threading, "_register_atexit", None)
    if register is None:
        return
    if not _registered_in:
        with suppress(RuntimeError):  # the main thread has ended
            register(_when_main_thread_ends)
            _registered_in.append(register)
    _when_main_thread_ends.add(wait)
