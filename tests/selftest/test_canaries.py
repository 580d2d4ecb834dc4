"""How approved drafts are damaged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from draftcritic.selftest import KINDS, RULE, _canaries, canaries_of
from draftcritic.telemetry import names
from draftcritic.turns import Message, ToolCall, TurnRow

CALL = Message("assistant", tool_calls=(ToolCall("find_order", {"id": "4480"}, "c1"),))
RESULT = Message("tool", "order 4480: 19.90 euros, express shipping, not refundable", tool_call_id="c1")
ROW = TurnRow(
    "t1",
    "Order 4480 cost 19.90 euros with express shipping and is not refundable.",
    messages=(Message("user", "What about my order?"), CALL, RESULT),
)


def damaged(row: TurnRow, seed: int = 1) -> dict[str, TurnRow]:
    return {canary.kind: canary.row for canary in canaries_of(row, seed)}


def test_a_draft_is_damaged_in_each_way_and_in_no_other() -> None:
    found = damaged(ROW)
    assert tuple(found) == KINDS == names.DAMAGES
    for kind, row in found.items():
        assert row.turn_id == f"t1~{kind}"
        assert (row.draft == ROW.draft) == (kind == "tool_call")
        assert (row.messages == ROW.messages) == (kind != "tool_call")


@pytest.mark.parametrize("seed", range(20))
def test_one_digit_becomes_a_number_that_the_conversation_does_not_have(seed: int) -> None:
    draft = damaged(ROW, seed)["digit"].draft
    assert len(draft) == len(ROW.draft)
    changed = [(old, new) for old, new in zip(ROW.draft, draft, strict=True) if old != new]
    assert len(changed) == 1
    assert changed[0][0].isdigit()
    assert changed[0][1].isdigit()
    (number,) = set(draft.rstrip(".").split()) - set(ROW.draft.rstrip(".").split())
    assert number not in RESULT.content


def test_a_negation_is_dropped() -> None:
    assert damaged(ROW)["negation"].draft == "Order 4480 cost 19.90 euros with express shipping and is refundable."
    assert damaged(replace(ROW, draft="We don't ship it."))["negation"].draft == "We do ship it."
    assert damaged(replace(ROW, draft="Das ist nicht möglich."))["negation"].draft == "Das ist möglich."
    assert "negation" not in damaged(replace(ROW, draft="A note about nothing notable."))


def test_calls_are_removed_only_where_the_draft_rests_on_their_results() -> None:
    assert damaged(ROW)["tool_call"].messages == (Message("user", "What about my order?"),)
    assert "tool_call" not in damaged(replace(ROW, draft="You are welcome, goodbye."))
    failed = replace(RESULT, status="error")
    assert "tool_call" not in damaged(replace(ROW, messages=(ROW.messages[0], CALL, failed)))


def test_calls_of_earlier_turns_stay() -> None:
    earlier = (*ROW.messages, Message("assistant", "It is on its way."))
    again = replace(CALL, tool_calls=(ToolCall("find_price", {}, "c2"),))
    price = Message("tool", "price 77.50 wholesale", tool_call_id="c2")
    row = replace(ROW, draft="Wholesale 77.50.", messages=(*earlier, Message("user", "And the price?"), again, price))
    assert damaged(row)["tool_call"].messages == (*earlier, Message("user", "And the price?"))


def test_a_sentence_breaks_the_rule_of_the_selftest() -> None:
    assert damaged(ROW)["rule"].draft.startswith(ROW.draft)
    assert "Bluebird-Seven" in RULE.statement
    assert "Bluebird-Seven" in damaged(ROW)["rule"].draft


def test_the_same_seed_gives_the_same_canaries_and_another_seed_others() -> None:
    assert damaged(ROW) == damaged(ROW)
    assert len({damaged(ROW, seed)["digit"].draft for seed in range(30)}) > 5


def test_nothing_is_made_of_an_empty_or_a_huge_draft() -> None:
    assert damaged(replace(ROW, draft=" ")) == {}
    assert damaged(replace(ROW, draft="9 " * 20_000)) == {}


def test_the_numbers_that_are_looked_for_in_a_long_conversation_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []

    class Known(str):
        def __contains__(self, part: object) -> bool:
            looked.append(str(part))
            return True

    monkeypatch.setattr(_canaries, "_known_text", lambda _: Known(" ".join(map(str, range(100, 999)))))
    assert "digit" not in damaged(replace(ROW, draft=" ".join(map(str, range(100, 999)))))
    assert len(looked) <= 20 * 9
