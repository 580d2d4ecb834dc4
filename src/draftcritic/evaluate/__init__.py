"""Measures the deterministic checks on labelled drafts: `python -m draftcritic.evaluate PATH`."""

from draftcritic.evaluate._command import main
from draftcritic.evaluate._tables import Example, Share, Table, wilson

__all__ = ["Example", "Share", "Table", "main", "wilson"]
