"""The deterministic part takes time in proportion to the text: compared between lengths, never with a clock."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import count
from types import FrameType
from typing import Any

import pytest

from draftcritic.core import CriticPreference, Policy, Turn, assess, detect_fabrication, parse_reflection_output
from draftcritic.core._excerpt import excerpt
from draftcritic.core._prompt import render_prompt
from draftcritic.grounding import _token_check
from draftcritic.grounding._token import Spans
from draftcritic.grounding._tokenizer import tokens_of

ANSWER = "Your order A1-77 of May 5, 2024 at 10:30 am costs $1,234.50, 15% off. I cancelled order_id: ab12cd34ef. "
CALLS = ({"name": "get_order", "args": {"id": 7}, "result": '{"id": 7, "total": "12.50", "date": "2024-05-06"}'},)
UNITS = {
    "exclamation marks": lambda i: "!",
    "ellipses": lambda i: "\u2026",
    "brackets": lambda i: "{[",
    "numbers": lambda i: f"{i} ",
    "prices": lambda i: f"${i},{i % 1000:03}.50 ",
    "averages": lambda i: f"average of {i} and {i + 7} is {i}.5. ",
    "dates": lambda i: f"2{i % 1000:03}-0{i % 9 + 1}-11 ",
    "orders": lambda i: f"order_id: A{i} ",
    "UUIDs": lambda i: f"{i:08x}-e29b-41d4-a716-{i:012x} ",
    "e-mail addresses": lambda i: f"u{i}@x.org ",
    "claimed actions": lambda i: "I sent the report and I've cancelled it. ",
    "spaced groups": lambda i: f"AB{i % 100:02} {i % 100:02}CD ",
    "tables": lambda i: f"| {i} | A{i} | ${i}.20 |\n",
}


def text_of(unit: Callable[[int], str], length: int) -> str:
    parts, size = [], 0
    for i in count(1000):
        parts.append(unit(i))
        size += len(parts[-1])
        if size >= length:
            return "".join(parts)[:length]
    raise AssertionError


def lines_run(call: Callable[[], Any]) -> int:
    """Return how many lines of Python a call runs."""
    lines = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return lines


def check(draft: str, result: str = "") -> None:
    calls = (*CALLS, {"name": "search", "args": {}, "result": result})
    assess(Turn(draft, tool_calls=calls, user_message="Where is my order 7?"), Policy(selective_gate=True))


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
@pytest.mark.parametrize("place", ["draft", "result", "both"])
def test_four_times_the_text_takes_at_most_about_four_times_the_steps(unit: Callable[[int], str], place: str) -> None:
    def run(length: int) -> int:
        text = text_of(unit, length)
        draft, result = {"draft": (text, ""), "result": (ANSWER, text), "both": (text, text[7:] + text[:7])}[place]
        return lines_run(lambda: check(draft, result))

    run(1000)
    small, large = run(6000), run(24_000)
    assert large <= 5 * small + 5000


@pytest.mark.parametrize(
    "unit", ["!", "\u2026", ".", "\u3002", "?\n", "! ", "a.", " ", "\n", '"', "{", '{"verdict": "appr', "<think>", "-"]
)
def test_patterns_over_a_long_run_end(unit: str) -> None:
    # A quadratic pattern would need minutes for these.
    text = unit * (300_000 // len(unit))
    excerpt(text, 12_000)
    parse_reflection_output(text[:190_000] + '{"verdict": "approve"}')
    preference = CriticPreference(5, text, ())
    render_prompt(None, draft=text, preferences=[preference], rules=[text], sensitive_hit=None, budget=20_000)


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_findings_of_all_kinds_together_are_bounded(unit: Callable[[int], str]) -> None:
    assert len(detect_fabrication(text_of(unit, 60_000), CALLS)) <= 200


def test_claimed_actions_are_found_beside_200_other_findings() -> None:
    draft = text_of(UNITS["orders"], 20_000) + "\nI've cancelled your subscription."
    findings = detect_fabrication(draft, CALLS)
    assert len(findings) == 200
    assert findings[-1].kind == "action_claim"


def test_many_numbers_in_groups_are_looked_at_in_bounded_pieces() -> None:
    # One walk to the end of the text for each number would be quadratic.
    detect_fabrication("12 34 " * 60_000, [{"name": "get", "result": "1234123412341234"}])


def test_many_keys_of_settings_are_not_searched_one_by_one() -> None:
    keys = [f"key{i}" for i in range(50_000)]
    findings = detect_fabrication("key7: A1B2 " * 5000, CALLS, identifier_keys=keys)
    assert [finding.kind for finding in findings if finding.key == "key7"]


def test_spans_meet_where_a_character_is_common() -> None:
    spans = Spans([(5, 9), (1, 3), (7, 12)])
    assert [spans.meet(at, at + 1) for at in range(13)] == [1 <= at < 3 or 5 <= at < 12 for at in range(13)]
    spans.add(3, 5)
    assert spans.meet(0, 4)
    assert not spans.meet(12, 20)


def test_a_draft_is_taken_apart_once_for_all_its_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    monkeypatch.setattr(_token_check, "tokens_of", lambda text: texts.append(text) or tokens_of(text))
    findings = detect_fabrication("Your order costs $12.99.", CALLS, hearsay="It costs $12.99.")
    assert [(finding.kind, finding.confidence) for finding in findings] == [("price", 0.5)]
    assert len(texts) == 1
