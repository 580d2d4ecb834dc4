"""Resets in a forked child what only its parent has: threads, locks in any state, calls under way."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
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
