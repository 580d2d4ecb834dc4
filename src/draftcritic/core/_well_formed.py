"""Text that any encoder accepts."""

from __future__ import annotations


def well_formed(text: str) -> str:
    """Return `text` with halves of surrogate pairs joined, and lone ones replaced by U+FFFD.

    A lone surrogate makes every UTF-8 encoder raise: HTTP clients, JSON responses, exporters.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
