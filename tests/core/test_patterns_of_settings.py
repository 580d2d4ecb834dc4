"""Regular expressions of settings: what can take more than linear time is rejected at load."""

from __future__ import annotations

import re
import time

import pytest

from draftcritic.core import Policy, Turn, assess, draft_is_trivial_ack
from draftcritic.core._gate import check_acknowledgement_pattern
from draftcritic.settings import Settings, SettingsError

SLOW = [
    r"(o+)+$",
    r"^(\w+\s?)*$",
    r"(a|aa)+b",
    r"(a|a)*$",
    r"^(.*a){10}$",
    r"(\w*)*x",
    r"(ok|o+k)+$",
    r"((ab)*)*c",
    r"(a|b|ab)*c",
    r"(.+)+",
    r".*.*.*.*x",
    r"(\d)\1+(\1|x)*$",
    r"(?=(a+)+$)x",
    r"^(a+|b+|[ab]+)+$",
    r"(o{1,50}){1,50}x",
    r"(O+o*)+$",
    r"(o+?)+?$",
    r"(x(a?|b?))*c",
    r"(x(a?)?)*c",
    r"(x(|a)?)*c",
    r"(ab|a(|b))*c",
    r"(a(b?)(b?))*c",
    "x" * 3000,
]
ORDINARY = [
    r"^(ok|okay|sure|got it|done)[.!]?$",
    r"^(?:(?:ok|okay|thanks|great)[\s,.!]*)+$",
    r".*ok.*",
    r"^.*(ok|fine).*(thanks|thx).*$",
    r"^\s*(thanks|thank you)( so much| a lot)?[\s!.]*$",
    r"^(\w+ ){0,3}thanks$",
    r"^$",
    r".*",
    r"^(yes|no)(, (please|thanks))*[.!]*$",
    r"^ok(?!ay)",
    r"\bthank(s| you)\b",
    r"^\W*(ok|thanks)(\W+(ok|thanks))*\W*$",
    "[oö]k",
    "^(👍|ok)+$",
]


@pytest.mark.parametrize("pattern", SLOW)
def test_a_pattern_that_can_take_very_long_is_rejected_at_load(pattern: str) -> None:
    for given in ([pattern], ["^ok$", pattern]):
        with pytest.raises(SettingsError, match=r"trivial_ack_patterns\[\d\].*(can take very long|is longer than)"):
            Settings.load({}, trivial_ack_patterns=given)
    with pytest.raises(SettingsError, match=r"identifier_patterns\[0\]"):
        Settings.load({}, identifier_patterns=[pattern])


@pytest.mark.parametrize("pattern", ORDINARY)
def test_an_ordinary_pattern_is_accepted_and_matches_as_before(pattern: str) -> None:
    assert Settings.load({}, trivial_ack_patterns=[pattern]).trivial_ack_patterns == (pattern,)
    for draft in ("ok", "Okay, thanks!", "sure", "it is fine, many thanks", "👍👍", "no, thanks", "x"):
        expected = re.search(pattern, draft.lower(), re.IGNORECASE) is not None
        assert draft_is_trivial_ack(draft, [pattern]) is expected


@pytest.mark.parametrize("pattern", ORDINARY)
@pytest.mark.parametrize("unit", ["o", "ok", "ok, ", "thanks ", " ", "a ", "!"])
def test_an_accepted_pattern_is_fast_on_the_longest_acknowledgement(pattern: str, unit: str) -> None:
    compiled = check_acknowledgement_pattern(pattern)
    began = time.thread_time()
    compiled.search(f"{unit * 160}"[:159] + "\x00")
    assert time.thread_time() - began < 1.0  # exponential matching would need years


@pytest.mark.parametrize("pattern", [r"(o+)+$", r"^(\w+\s?)*$", "(", None, 7, b"ok"])
def test_in_code_a_pattern_that_cannot_be_used_matches_nothing_and_is_logged(pattern, caplog) -> None:
    draft = "so c" + "o" * 36 + "l!"
    policy = Policy(selective_gate=True, trivial_ack_patterns=(pattern,))
    assert assess(Turn(draft), policy).decision.value == "fired"
    assert not draft_is_trivial_ack(draft, [pattern])
    assert any("it is left out" in record.getMessage() for record in caplog.records)


def test_in_code_a_compiled_pattern_is_accepted() -> None:
    assert draft_is_trivial_ack("Aye.", [re.compile("^aye")])
