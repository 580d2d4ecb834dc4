"""How an exception is logged: its type and its place, never its text, which may repeat a draft or a prompt."""

from __future__ import annotations


def qualified_name(kind: type) -> str:
    """Return the name of a type with its module, or without for a built-in one."""
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def described(error: BaseException) -> str:
    """Return the type of an exception and where it was raised, such as `ValueError at gates.py:12 in my_gate`."""
    kind, trace = qualified_name(type(error)), error.__traceback__
    if trace is None:
        return kind
    while trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    file = code.co_filename.replace("\\", "/").rpartition("/")[2]
    return f"{kind} at {file}:{trace.tb_lineno} in {code.co_name}"
