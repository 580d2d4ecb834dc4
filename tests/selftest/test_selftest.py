"""What a self-test says of critics."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from draftcritic.core import Policy
from draftcritic.replay import AnswerCache, ModelJudge, Replayed, Run
from draftcritic.review import Reply
from draftcritic.selftest import KINDS, Report, SelfTest, approved
from draftcritic.testing import ScriptedCriticModel
from draftcritic.turns import Message, Reviewed, ToolCall, TurnRow

SKU = "gpt-5-mini"
LEAST = 0.5


def row(number: int) -> TurnRow:
    call = Message("assistant", tool_calls=(ToolCall("find_order", {"id": f"A-{number}"}, "c1"),))
    result = Message("tool", f"order A-{number} costs {number}.90 euros, not shipped", tool_call_id="c1")
    draft = f"Your order A-{number} costs {number}.90 euros and is not shipped yet."
    return TurnRow(f"t{number}", draft, messages=(Message("user", "How much is it?"), call, result))


ROWS = [row(number) for number in range(1010, 1040)]
GOOD = {each.draft for each in ROWS}
APPROVED = list(approved(Run(each, Replayed(verdict="approve", source="reflection", sku=SKU)) for each in ROWS))


def critic(verdict_of: Callable[[str, str], str], model: str = SKU) -> ScriptedCriticModel:
    """A critic that decides by the draft and the whole question."""

    def answer(messages: Any) -> Reply:
        question = "\n".join(message.text for message in messages)
        draft = question.rpartition("begin [DRAFT]\n")[2].partition("\n--- ")[0]
        token = re.search(r'"id": "(\w+)"', question.splitlines()[-1])[1]
        said = {"id": token, "verdict": verdict_of(draft, question), "refusal_message": "no", "revised_draft": "no"}
        return Reply(json.dumps(said), model=model, usage={"input_tokens": 100, "output_tokens": 10})

    return ScriptedCriticModel(answer)


def report_of(model: Any, most: int = 48, max_usd: float | None = None) -> Report:
    judge = ModelJudge(SelfTest.policy_for(Policy()), lambda: model, "m", AnswerCache(None), max_usd)
    return SelfTest(judge).run(APPROVED, most)


def finding(draft: str, question: str) -> str:
    return "approve" if draft in GOOD and "euros, not shipped" in question else "refuse"


def test_a_critic_that_finds_the_errors_passes() -> None:
    report = report_of(critic(finding))
    assert (report.recall().flagged, report.recall().total) == (48, 48)
    assert report.recall("control").flagged == 0
    assert report.kinds == KINDS
    assert {report.recall(kind).total for kind in KINDS} == {12}
    assert list(report.problems(LEAST)) == []


def test_a_critic_that_always_approves_fails_in_one_run() -> None:
    report = report_of(critic(lambda *_: "approve"))
    assert report.recall().flagged == 0
    low, sames = report.problems(LEAST)
    assert low == "it finds 0/48 = 0% [0%-7%] of the damaged drafts, which is shown to be below 50%"
    assert sames.startswith("it flags undamaged drafts (0/")


def test_a_critic_that_always_refuses_fails_in_one_run() -> None:
    report = report_of(critic(lambda *_: "refuse"))
    assert report.recall().rate == 1
    (same,) = report.problems(LEAST)
    assert same.startswith("it flags undamaged drafts")


def test_another_model_than_the_one_that_approved_is_named() -> None:
    report = report_of(critic(finding, model="gpt-5-nano"))
    (changed,) = report.problems(LEAST)
    assert changed == "gpt-5-nano answers now; the drafts were approved by gpt-5-mini"


def test_calls_without_a_verdict_are_failures_and_no_misses() -> None:
    report = report_of(ScriptedCriticModel(lambda _: "I like it."))
    assert report.recall().total == 0
    assert report.failed >= 5
    assert any(line.startswith("calls that failed") for line in report.lines())


def test_the_money_limit_is_kept_and_said() -> None:
    report = report_of(critic(finding), max_usd=0.000_2)
    assert 0 < report.recall().total < 20
    assert report.not_covered > 20
    assert f"not asked about, because of the money limit: {report.not_covered}" in report.lines()


def test_only_drafts_that_a_model_approved_are_taken() -> None:
    by_model, by_gate = Reviewed("approve", "reflection", sku=SKU), Reviewed("approve", "gate")
    runs = [
        Run(ROWS[0], Replayed(verdict="refuse", source="reflection", sku=SKU)),
        Run(ROWS[1], Replayed(sku=SKU, failure="timeout")),
        Run(TurnRow("r1", "Yes.", reviewed=by_model), Replayed()),
        Run(TurnRow("r2", "Yes.", reviewed=by_gate), Replayed()),
        Run(TurnRow("r3", "Yes.", reviewed=by_model, missing=("messages",)), Replayed()),
    ]
    assert [each.row.turn_id for each in approved(runs)] == ["r1"]


def test_a_rare_kind_of_damage_is_not_crowded_out() -> None:
    plain = [Run(TurnRow(f"p{n}", "A plain answer."), Replayed(verdict="approve", sku=SKU)) for n in range(100)]
    runs = [*plain, Run(ROWS[0], Replayed(verdict="approve", sku=SKU))]
    judge = ModelJudge(SelfTest.policy_for(Policy()), lambda: critic(finding), "m", AnswerCache(None))
    report = SelfTest(judge).run(list(approved(runs)), 10)
    assert {kind: report.recall(kind).total for kind in KINDS} == {"digit": 1, "negation": 1, "tool_call": 1, "rule": 7}
