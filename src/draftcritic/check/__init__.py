"""Policy tests for CI: drafts with the verdicts, rules or findings that are expected."""

from draftcritic.check._case import EXPECTATIONS, Case, Outcome, check_cases, read_cases, shipped_cases
from draftcritic.check._junit import junit_xml

__all__ = [
    "EXPECTATIONS",
    "Case",
    "Outcome",
    "check_cases",
    "junit_xml",
    "read_cases",
    "shipped_cases",
]
