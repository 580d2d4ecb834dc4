from __future__ import annotations

import pytest

from draftcritic import Settings
from draftcritic.grounding import check_pattern, rules_of
from draftcritic.settings import SettingsError


@pytest.mark.parametrize(
    "pattern",
    [
        r"[A-Z]{2,3}-\d+",
        r"ORD-\d{4,8}",
        r"\b[A-Z0-9]{6}\b",
        r"(?i)case #?\d+",
        r"INV[-_ ]?\d{4}[-/]\d{2,6}",
        r"(?:[A-Z]\d){2,4}",
        r"(?:-\d+)+x",
        r"PNR [A-Z]{6}",
        r"\w+-\w+-\w+",
        r"(?:INV|ORD|REQ)\d+",
        r"(?<!x)K\d{5}(?=\W)",
    ],
)
def test_ordinary_patterns_are_accepted(pattern):
    assert check_pattern(pattern).pattern == pattern


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a+)+$",
        r"(a|aa)+b",
        r"(\w+\s?)+x",
        r"(x+x+)+y",
        r"(?:-[\d-]+)+z",
        r"\d+\d+\d+x",
        r"(.*a){10}",
        r"(\d)\1+\1",
        r"([A-Z][a-z]*)+!",
        r"^(([a-z])+.)+[A-Z]([a-z])+$",
    ],
)
def test_patterns_that_can_take_very_long_are_rejected(pattern):
    with pytest.raises(ValueError, match="can take very long"):
        check_pattern(pattern)


@pytest.mark.parametrize(("pattern", "reason"), [("(", "no regular expression"), ("a*", "empty text"), ("", "empty")])
def test_patterns_that_mean_nothing_are_rejected(pattern, reason):
    with pytest.raises(ValueError, match=reason):
        check_pattern(pattern)


@pytest.mark.parametrize("pattern", [r"[A-Z]+\d+", r"\w+-\w+-\w+", r"(?:-\d+)+x"])
@pytest.mark.parametrize("unit", ["A", "1", "a-", "-1", "A1"])
def test_an_accepted_pattern_is_fast_on_hostile_text(pattern, unit):
    # Unbounded backtracking would need hours.
    list(rules_of(patterns=[pattern]).identifiers_in(unit * (100_000 // len(unit))))


def test_settings_reject_a_bad_pattern_at_load():
    with pytest.raises(SettingsError, match=r"identifier_patterns.*can take very long"):
        Settings.load({"DRAFTCRITIC_IDENTIFIER_PATTERNS": r"[A-Z]{2}-\d{4},(a+)+$"})
    taken = Settings.load(
        {"DRAFTCRITIC_IDENTIFIER_PATTERNS": r"[A-Z]{2,3}-\d{4},K\d+", "DRAFTCRITIC_NEVER_FLAG": "Acme"}
    )
    assert taken.policy().identifier_patterns == (r"[A-Z]{2,3}-\d{4}", r"K\d+")
    assert taken.policy().never_flag == ("Acme",)
