"""What a check has found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Level(str, Enum):
    """How much a finding matters. `fault`: drafts are not reviewed, or their reviews do not arrive."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True)
class Finding:
    """One thing that a check has found.

    Attributes:
        check: the part of the set-up that was looked at.
        level: how much it matters.
        message: what was found, without secrets and texts of turns.
        remedy: how to fix it; empty when there is nothing to fix.
    """

    check: str
    level: Level
    message: str
    remedy: str = ""


def ok(check: str, message: str) -> Finding:
    """Return a finding that all is well."""
    return Finding(check, Level.OK, message)


def note(check: str, message: str) -> Finding:
    """Return a finding that is neither good nor bad."""
    return Finding(check, Level.NOTE, message)


def warning(check: str, message: str, remedy: str) -> Finding:
    """Return a finding that the operator should know."""
    return Finding(check, Level.WARNING, message, remedy)


def fault(check: str, message: str, remedy: str) -> Finding:
    """Return a finding that keeps drafts from their reviews, or reviews from their backend."""
    return Finding(check, Level.FAULT, message, remedy)
