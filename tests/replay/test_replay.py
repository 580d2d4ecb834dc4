"""Replaying recorded turns."""

from __future__ import annotations

import json
import os
import signal
import stat
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from draftcritic.core import FabricationMode, Policy
from draftcritic.replay import AnswerCache, BudgetError, Judge, ModelJudge, ReplayResult, Run, Tally, read_runs, replay
from draftcritic.replay._remote import RemoteError
from draftcritic.review import Reply
from draftcritic.testing import ScriptedCriticModel
from draftcritic.turns import Message, Reviewed, ToolCall, TurnRow

SELECTIVE = Policy(selective_gate=True)
FABRICATED = "Your refund of 18.50 EUR has the number RF-99123-X."
USAGE = {"input_tokens": 1000, "output_tokens": 10, "total_tokens": 1010}


def row(number: int, draft: str = FABRICATED, **more: Any) -> TurnRow:
    call = ToolCall("find_order", {"order_id": "A-1"}, "c")
    result = Message("tool", f"order A-1, row {number}", tool_call_id="c")
    messages = (Message("user", "Where is it?"), Message("assistant", tool_calls=(call,)), result)
    return TurnRow(f"t{number}", draft, messages=messages, **more)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    rows = [
        row(0, "You're welcome!", reviewed=Reviewed(verdict="approve", source="reflection", decision="fired")),
        row(1, reviewed=Reviewed(verdict="refuse", source="reflection", decision="fired", reason="fabrication")),
        row(2),
        TurnRow("t3", missing=("content",)),
    ]
    path = tmp_path / "turns.jsonl"
    path.write_text("".join(each.as_json() + "\n" for each in rows), encoding="utf-8")
    return path


def selective() -> Policy:
    return SELECTIVE


def refusing() -> Policy:
    return Policy(selective_gate=True, fabrication_mode=FabricationMode.REFUSE, fabrication_refuse_threshold=0.0)


def approving(**usage: Any) -> ScriptedCriticModel:
    answer = Reply('{"verdict": "approve", "reason": "fine"}', model="gpt-4o-mini", usage=usage or USAGE)
    return ScriptedCriticModel(lambda _: answer, name="gpt-4o-mini")


def with_model(
    source: Path,
    out: Path,
    cache: Path,
    make: Callable[[], ScriptedCriticModel],
    max_usd: float | None = None,
    workers: int = 1,
    policy: Policy = SELECTIVE,
) -> ReplayResult:
    with closing(AnswerCache(cache)) as answers:
        judge = ModelJudge(policy, make, "openai:gpt-4o-mini", answers, max_usd)
        return replay([source], out, lambda: policy, model=judge, workers=workers)


def test_each_turn_gets_what_the_policy_makes_of_it(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs.jsonl"
    result = replay([source], out, selective)
    runs = list(read_runs(out))
    assert [run.turn.turn_id for run in runs] == ["t0", "t1", "t2", "t3"]
    assert runs[1].replayed.decision == "fired"
    assert runs[1].replayed.reason == "fabrication"
    assert {finding.kind for finding in runs[1].replayed.findings}
    assert runs[1].replayed.policy_version == SELECTIVE.version
    assert runs[3].replayed.decision == "not_evaluated"
    assert result.tally.unjudged == 1
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert not list(tmp_path.glob("*.part"))


def test_the_recorded_verdict_stays_where_nobody_was_asked_now(source: Path, tmp_path: Path) -> None:
    replay([source], tmp_path / "runs.jsonl", selective)
    runs = list(read_runs(tmp_path / "runs.jsonl"))
    assert [run.verdict for run in runs] == ["approve", "refuse", "none", "none"]
    assert [run.released for run in runs] == [True, False, True, True]


def test_two_policies_are_compared(source: Path, tmp_path: Path) -> None:
    result = replay([source], tmp_path / "runs.jsonl", refusing, make_against=selective)
    assert result.tally.changes == {("none", "refuse"): 2}
    assert result.tally.compared == 3
    runs = list(read_runs(tmp_path / "runs.jsonl"))
    assert runs[2].against is not None
    assert (runs[2].against.verdict, runs[2].replayed.verdict) == ("", "refuse")
    printed = "\n".join(result.tally.lines(result.seconds))
    assert "none -> refuse" in printed


@pytest.mark.parametrize("workers", [1, 2])
def test_the_same_input_gives_the_same_bytes_with_any_number_of_workers(tmp_path: Path, workers: int) -> None:
    source = tmp_path / "turns.jsonl"
    source.write_text("".join(row(number).as_json() + "\n" for number in range(450)), encoding="utf-8")
    replay([source], tmp_path / "one.jsonl", selective)
    result = replay([source], tmp_path / "other.jsonl", partial(Policy, selective_gate=True), workers=workers)
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "other.jsonl").read_bytes()
    assert result.tally.turns == 450


def test_a_second_run_makes_no_model_call_and_writes_the_same_bytes(source: Path, tmp_path: Path) -> None:
    model = approving()
    first = with_model(source, tmp_path / "one.jsonl", tmp_path / "cache", lambda: model)
    assert (first.spending is not None and first.spending.calls, model.calls) == (3, 3)
    assert first.tally.usd > 0
    second = with_model(source, tmp_path / "two.jsonl", tmp_path / "cache", approving)
    assert second.spending is not None
    assert (second.spending.calls, second.spending.usd) == (0, 0.0)
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    assert second.tally.usd == pytest.approx(first.tally.usd)


def test_another_policy_and_another_turn_ask_again(source: Path, tmp_path: Path) -> None:
    with_model(source, tmp_path / "one.jsonl", tmp_path / "cache", approving)
    other = Policy(selective_gate=True, default_refusal="No.")
    again = with_model(source, tmp_path / "two.jsonl", tmp_path / "cache", approving, policy=other)
    assert again.spending is not None
    assert again.spending.calls == 3


def test_the_money_limit_stops_the_calls_and_says_what_is_covered(source: Path, tmp_path: Path) -> None:
    price = 1000 * 0.15e-6 + 10 * 0.6e-6
    result = with_model(source, tmp_path / "runs.jsonl", tmp_path / "cache", approving, max_usd=2.5 * price)
    assert result.spending is not None
    assert result.spending.calls == 2
    assert result.spending.usd <= 2.5 * price
    assert result.spending.stopped.startswith("the limit of")
    assert result.tally.not_covered == 1
    assert list(read_runs(tmp_path / "runs.jsonl"))[2].replayed.failure == "not_covered"
    again = with_model(source, tmp_path / "runs.jsonl", tmp_path / "cache", approving, max_usd=2.5 * price)
    assert again.spending is not None
    assert (again.spending.calls, again.tally.not_covered) == (1, 0)


def test_a_limit_with_several_threads_is_kept_too(tmp_path: Path) -> None:
    source = tmp_path / "turns.jsonl"
    source.write_text("".join(row(number).as_json() + "\n" for number in range(40)), encoding="utf-8")
    price = 1000 * 0.15e-6 + 10 * 0.6e-6
    result = with_model(source, tmp_path / "runs.jsonl", tmp_path / "c", approving, max_usd=10.5 * price, workers=4)
    assert result.spending is not None
    assert result.spending.calls == 10
    assert result.tally.not_covered == 30


def test_a_limit_on_a_model_without_a_price_is_an_error(source: Path, tmp_path: Path) -> None:
    def make() -> ScriptedCriticModel:
        return ScriptedCriticModel(lambda _: '{"verdict": "approve"}', name="house-model", usage=USAGE)

    with pytest.raises(BudgetError, match="the price of house-model is not known"):
        with_model(source, tmp_path / "runs.jsonl", tmp_path / "cache", make, max_usd=1.0)
    assert not (tmp_path / "runs.jsonl").exists()
    assert not list(tmp_path.glob("*.part"))


def test_a_model_that_fails_in_the_middle_is_asked_again_for_those_drafts_only(source: Path, tmp_path: Path) -> None:
    good = Reply('{"verdict": "approve"}', model="gpt-4o-mini", usage=USAGE)
    failing = ScriptedCriticModel([good, ConnectionError("gone"), good], name="gpt-4o-mini")
    first = with_model(source, tmp_path / "one.jsonl", tmp_path / "cache", lambda: failing)
    assert first.tally.failures == {"error": 1}
    model = approving()
    second = with_model(source, tmp_path / "two.jsonl", tmp_path / "cache", lambda: model)
    assert model.calls == 1
    assert not second.tally.failures


def test_a_model_that_only_fails_is_left_alone_after_five_calls(tmp_path: Path) -> None:
    source = tmp_path / "turns.jsonl"
    source.write_text("".join(row(number).as_json() + "\n" for number in range(20)), encoding="utf-8")

    def fail(_: Any) -> Any:
        raise ConnectionError("no network")

    model = ScriptedCriticModel(fail, name="gpt-4o-mini")
    result = with_model(source, tmp_path / "runs.jsonl", tmp_path / "cache", lambda: model)
    assert model.calls == 5
    assert result.spending is not None
    assert result.spending.stopped.startswith("the model failed 5 times in a row")
    assert result.tally.turns == 20


def killed_elsewhere(parent: int) -> Policy:
    if os.getpid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
    return SELECTIVE


def test_a_killed_process_of_several_is_reported_and_leaves_no_file(source: Path, tmp_path: Path) -> None:
    with pytest.raises(RemoteError, match="a process of --workers was killed"):
        replay([source], tmp_path / "runs.jsonl", partial(killed_elsewhere, os.getpid()), workers=2)
    assert not list(tmp_path.glob("runs.jsonl*"))


def test_the_output_must_not_be_a_source(source: Path) -> None:
    before = source.read_bytes()
    with pytest.raises(ValueError, match="is one of the sources"):
        replay([source], source, selective)
    assert source.read_bytes() == before


def test_a_replay_can_be_replayed(source: Path, tmp_path: Path) -> None:
    replay([source], tmp_path / "one.jsonl", selective)
    replay([tmp_path / "one.jsonl"], tmp_path / "two.jsonl", selective)
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()


def test_the_cache_can_be_read_by_its_owner_only(tmp_path: Path) -> None:
    AnswerCache(tmp_path / "cache").close()
    assert stat.S_IMODE((tmp_path / "cache" / "answers.sqlite").stat().st_mode) == 0o600


def test_tallies_add_up() -> None:
    whole, parts = Tally(), Tally()
    for number in range(4):
        run = Run(row(number), Judge(SELECTIVE).judge(row(number)))
        whole.add(run)
        part = Tally()
        part.add(run)
        parts.merge(part)
    assert parts == whole


def test_a_file_that_is_no_replay_is_rejected(tmp_path: Path) -> None:
    from draftcritic.turns import ReadError

    path = tmp_path / "runs.jsonl"
    for text in ('{"turn_id": "t"}\n', "no json\n", json.dumps({"turn_id": "t", "replayed": {"findings": [1]}})):
        path.write_text(text)
        with pytest.raises(ReadError, match=str(path)):
            list(read_runs(path))
