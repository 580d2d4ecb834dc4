"""The evaluations there are. Each is one module; to add one, name it here.

A module has `accepts(row)`, whether a row is labelled for it, and `tables(rows)`, which measures the rows it accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Protocol, cast

from draftcritic.evaluate._rows import Row
from draftcritic.evaluate._tables import Table

_MODULES = {
    "tokens": "draftcritic.evaluate._made_up",
    "actions": "draftcritic.evaluate._claimed_actions",
    "acknowledgements": "draftcritic.evaluate._acknowledgements",
}


class Evaluation(Protocol):
    """What a module of an evaluation has."""

    def accepts(self, row: Row) -> bool:
        """Whether the row is labelled for this evaluation."""
        ...

    def tables(self, rows: Sequence[Row]) -> list[Table]:
        """Measure the rows."""
        ...


def evaluations(names: Sequence[str] = ()) -> dict[str, Evaluation]:
    """Return the evaluations of these names, all without any."""
    return {
        name: cast("Evaluation", import_module(module))
        for name, module in _MODULES.items()
        if not names or name in names
    }


NAMES = tuple(_MODULES)
"""The names of all evaluations."""
