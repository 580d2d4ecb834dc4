"""Runs what is left to do when a process ends, at the moments that Python has for it."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any


class WeakCalls:
    """Bound methods that are called together, each for as long as its object lives."""

    def __init__(self) -> None:
        # Single operations on dictionaries are atomic, so no lock can be held across a fork.
        self._methods: dict[weakref.WeakMethod[Any], None] = {}

    def add(self, method: Callable[[], object]) -> None:
        """Call a bound method, too."""
        for reference in list(self._methods):
            # No callback does it: at the end of the interpreter one could raise.
            if reference() is None:
                self._methods.pop(reference, None)
        self._methods[weakref.WeakMethod(method)] = None

    def __call__(self) -> None:
        """Call the methods whose objects live, in their order."""
        for reference in list(self._methods):
            method = reference()
            if method is not None:
                method()


# One callback for the process: Python never forgets one.
_in_child = WeakCalls()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


def after_fork(reset: Callable[[], None]) -> None:
    """Call a bound method in every forked child, for as long as its object lives."""
    _in_child.add(reset)


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

    That is before all of `atexit`: an exporter that is set up after `at_exit` is shut down before its method. It
    relies on a private interface of Python; where that is missing, nothing is called.
    """
    register = getattr(threading, "_register_atexit", None)
    if register is None:
        return
    if not _registered_in:
        with suppress(RuntimeError):  # the main thread has ended
            register(_when_main_thread_ends)
            _registered_in.append(register)
    _when_main_thread_ends.add(wait)
