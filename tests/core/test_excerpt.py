"""What the budget of the critic's prompt keeps of a long draft, and how it marks the rest."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draftcritic.core import CriticPreference, render_prompt
from draftcritic.core._excerpt import _PARTS, MIN_BUDGET, excerpt, shortened

MARK = re.compile(r"\[\.\.\. (\d+) characters left out \.\.\.\]\n")


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.text("ab1. \n!?\u3002", max_size=120), max_size=80).map("".join),
    st.integers(MIN_BUDGET, MIN_BUDGET * 2),
)
def test_it_fits_and_every_gap_is_counted(text: str, budget: int) -> None:
    cut = excerpt(text, budget)
    assert len(cut) <= budget
    kept = sum(map(len, MARK.split(cut)[::2]))
    assert kept + sum(int(count) for count in MARK.findall(cut)) == len(text)
    if len(text) <= budget:
        assert cut == text
    position = 0
    for piece in MARK.split(cut)[::2]:
        position = text.index(piece, position) + len(piece)


def test_parts_with_something_to_check_come_first_then_the_newest() -> None:
    idle = "and so it goes on and on with nothing in it at all. "
    text = f"first of all {idle}" + idle * 40 + "It costs 42 euros. " + idle * 60 + "and this was last. "
    cut = excerpt(text, MIN_BUDGET)
    assert "It costs 42 euros." in cut
    assert cut.endswith("and this was last. ")
    assert "first of all" not in cut
    assert len(MARK.findall(cut)) == 2


def test_without_sentences_the_end_is_kept() -> None:
    cut = excerpt("x" * 5000 + "y" * 100, MIN_BUDGET)
    assert cut.endswith("y" * 100)
    assert MARK.match(cut)


def test_a_huge_text_is_looked_at_from_both_ends_only() -> None:
    text = "We start with 1 word. " + "nothing here at all. " * 500_000 + "We end with 2 words."
    cut = excerpt(text, MIN_BUDGET)
    assert "We start with 1 word." in cut
    assert cut.endswith("We end with 2 words.")


def test_lines_are_left_out_from_the_last_one_on() -> None:
    lines = [f"- [{10 - n}] rule {n} " + "x" * 50 for n in range(10)]
    assert shortened(lines, 1000) == "\n".join(lines)
    assert shortened(lines, 300).splitlines() == [*lines[:3], "[... 7 more left out ...]"]
    (cut,) = shortened(["- [9] " + "x" * 900], 300).splitlines()
    assert len(cut) <= 300
    assert cut.endswith("characters left out ...]")


class TestPrompt:
    def prompt(self, draft="short", preferences=(), rules=(), budget=4000):
        return render_prompt(
            None, draft=draft, preferences=preferences, rules=rules, sensitive_hit="pii", budget=budget
        )

    def test_what_fits_is_whole(self):
        preferences = [CriticPreference(n, "p" * 80) for n in range(10)]
        rules = ["r" * 100] * 20
        draft = "d" * (4000 - 10 * 87 - 19 - 20 * 103)
        prompt = self.prompt(draft, preferences, rules)
        assert prompt.omitted == 0
        assert draft in prompt.user
        assert "left out" not in prompt.user
        assert self.prompt(draft + "dd" * 20, preferences, rules).omitted > 0

    @pytest.mark.parametrize("drafts", [10, 100_000])
    def test_everything_too_long_keeps_its_share(self, drafts):
        preferences = [CriticPreference(n, f"statement {n} " + "p" * 80) for n in range(100)]
        prompt = self.prompt("It was 1 thing. " * drafts, preferences, ["r" * 100] * 100)
        assert len(prompt.user) < 4000 + 700
        assert "- [99] statement 99" in prompt.user
        assert "statement 0 " not in prompt.user
        assert prompt.user.count("r" * 100) >= 7
        assert "It was 1 thing." in prompt.user
        assert prompt.omitted > 10_000

    def test_a_long_draft_leaves_the_rules_whole(self):
        prompt = self.prompt("It was 1 thing. " * 1000, [CriticPreference(9, "one"), CriticPreference(3, "two")], ["a"])
        assert "- [9] one\n- [3] two\n" in prompt.user
        assert "characters left out" in prompt.user


def test_parts_end_behind_any_run_of_punctuation() -> None:
    parts = _PARTS.findall("Really?!... Yes!! \u597d\u3002\u3002\u5417\uff1f No\u2026 end")
    assert parts == ["Really?!... ", "Yes!! ", "\u597d\u3002\u3002", "\u5417\uff1f ", "No\u2026 ", "end"]
