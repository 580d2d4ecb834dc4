"""The command `draftcritic`."""

from draftcritic.cli._main import main

__all__ = ["main"]
