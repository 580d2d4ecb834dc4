"""Keeps a forked child from what only its parent has: threads, locks in any state, calls under way."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable


def after_fork(start_afresh: Callable[[], None]) -> None:
    """Call a bound method in every forked child, for as long as its object lives."""
    if not hasattr(os, "register_at_fork"):
        return
    reference = weakref.WeakMethod(start_afresh)

    def in_child() -> None:
        method = reference()
        if method is not None:
            method()

    os.register_at_fork(after_in_child=in_child)
