"""Plain text in aligned columns."""

from __future__ import annotations

from collections.abc import Sequence


def columns(rows: Sequence[Sequence[str]], indent: str = "") -> list[str]:
    """Return one line a row, every column as wide as its longest cell."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return [
        (indent + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()
        for row in rows
    ]
