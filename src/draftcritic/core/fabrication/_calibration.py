"""How often findings of each kind are right: measured, not guessed.

The numbers come from labelled drafts, in which about every fifth holds a token that was made up, and are rounded down.
`python -m draftcritic.evaluate` prints the table, docs/detection.md explains it.
"""

from __future__ import annotations

CONFIDENCE: dict[str, float] = {
    "date": 0.9,
    "email": 0.85,
    "hash": 0.9,
    "name": 0.85,
    "number": 0.85,
    "percentage": 0.75,
    "phone": 0.8,
    "price": 0.9,
    "reference": 0.9,
    "time": 0.85,
    "url": 0.9,
}
"""Kind of a token -> confidence of a finding about it."""

WEAK = 0.75
"""Confidence when the turn has no data to tell from, or the token may be a result that the search did not find."""
CONFIGURED = 0.95
"""Confidence when the application says what its identifiers look like."""
