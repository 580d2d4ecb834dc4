"""Tells what foreign code raises to end its own work from what ends the application's."""

from __future__ import annotations

import signal
import threading
from types import CodeType

from draftcritic.engine._failures import qualified_name


def contained(stop: BaseException) -> BaseException:
    """Return what the caller of foreign code is to see of an exception that it raised.

    An ordinary exception is itself. A `SystemExit`, `GeneratorExit` or `CancelledError` of its own ends nobody else: it
    comes out as a `RuntimeError` that it caused. What comes from outside stays as it is: a `KeyboardInterrupt` in the
    main thread, and what a signal handler of the application has raised there.
    """
    if isinstance(stop, Exception) or _is_the_applications(stop):
        return stop
    error = RuntimeError(f"{qualified_name(type(stop))} from inside")
    error.__cause__ = stop
    return error


def _is_the_applications(stop: BaseException) -> bool:
    if threading.current_thread() is not threading.main_thread():
        return False  # Python runs signal handlers in the main thread
    return isinstance(stop, KeyboardInterrupt) or _came_from_a_handler(stop)


def _came_from_a_handler(stop: BaseException) -> bool:
    handlers = {_code_of(signal.getsignal(number)) for number in signal.valid_signals()} - {None}
    step = stop.__traceback__
    while step is not None:
        if step.tb_frame.f_code in handlers:
            return True
        step = step.tb_next
    return False


def _code_of(handler: object) -> CodeType | None:
    code = getattr(handler, "__code__", None) or getattr(getattr(handler, "__call__", None), "__code__", None)  # noqa: B004 - an object whose class defines it
    return code if isinstance(code, CodeType) else None
