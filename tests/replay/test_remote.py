"""Judging turns on other machines, without the way there: what is asked and what is answered."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from replay.test_replay import approving, refusing, row, selective

from draftcritic.core import Policy
from draftcritic.core._enums import Examples, FabricationMode, OnFailure
from draftcritic.core._policy import CriticPreference, Rule
from draftcritic.replay import replay
from draftcritic.replay._answering import Answering
from draftcritic.replay._policy_wire import PolicyWireError, policy_as_dict, policy_from_dict
from draftcritic.replay._remote import RemoteError, RemoteJudge, in_messages
from draftcritic.turns import TurnRow

WORKER = Answering("openai:gpt-4o-mini {}", approving)
FULL = Policy(
    confidence_threshold=1,
    selective_gate=True,
    sensitive_tags=frozenset({"money", "health"}),
    preferences=(CriticPreference(3, "Name no price.", ("money",), "price"),),
    trivial_ack_patterns=("^ok$",),
    fabrication_mode=FabricationMode.REFUSE,
    tool_actions={"refund": ("refund", "repay")},
    rules=("Be kind.", Rule("No dates.", "no-dates")),
    prompt_template="{draft}",
    on_failure=OnFailure.REFUSE,
    refusal_texts={"de": "Nein.", "*": "No."},
    examples=Examples.AUTO,
    qualified_models=frozenset({"gpt-4o-mini"}),
)


def travelled(policy: Policy) -> Policy:
    return policy_from_dict(json.loads(json.dumps(policy_as_dict(policy))))


@pytest.mark.parametrize("policy", [Policy(), FULL])
def test_a_policy_arrives_as_it_was_sent(policy: Policy) -> None:
    arrived = travelled(policy)
    assert arrived == policy
    assert arrived.version == policy.version


def test_every_field_of_a_policy_that_is_no_code_is_sent() -> None:
    assert policy_as_dict(Policy()).keys() == {each.name for each in fields(Policy) if each.init} - {
        "gate",
        "rules_source",
    }


def test_code_is_not_sent() -> None:
    with pytest.raises(PolicyWireError, match="`gate` is code"):
        policy_as_dict(Policy(gate=lambda _: True))


@pytest.mark.parametrize(
    "change",
    [
        {"gate": "os:system"},
        {"timeout": "soon"},
        {"selective_gate": 1},
        {"fabrication_mode": "never"},
        {"rules": [{"statement": "x", "code": "y"}]},
        {"rules": [7]},
        {"preferences": ["x"]},
        {"sensitive_tags": [7]},
        {"tool_actions": {"a": [7]}},
        {"refusal_texts": []},
    ],
)
def test_what_is_no_policy_is_rejected(change: dict[str, Any]) -> None:
    with pytest.raises(PolicyWireError):
        policy_from_dict({**policy_as_dict(Policy()), **change})


def test_workers_elsewhere_give_the_same_bytes(tmp_path: Path) -> None:
    source = tmp_path / "turns.jsonl"
    source.write_text("".join(row(number).as_json() + "\n" for number in range(450)), encoding="utf-8")
    here = replay([source], tmp_path / "here.jsonl", refusing, make_against=selective)
    remote = RemoteJudge(WORKER.answer, refusing(), selective())
    there = replay([source], tmp_path / "there.jsonl", refusing, make_against=selective, remote=remote)
    assert (tmp_path / "here.jsonl").read_bytes() == (tmp_path / "there.jsonl").read_bytes()
    assert there.tally == here.tally


def test_a_model_elsewhere_judges_what_it_would_judge_here() -> None:
    remote = RemoteJudge(WORKER.answer, selective(), None, "openai:gpt-4o-mini {}")
    judged = remote.judge(row(1))
    assert (judged.verdict, judged.sku, judged.input_tokens) == ("approve", "gpt-4o-mini", 1000)
    assert judged.cost_usd is not None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"release": "0.0.1"}, "and the replay 0.0.1"),
        ({"model": "openai:gpt-9 {}"}, "the replay wants the model openai:gpt-9 {}, and the worker has openai:gpt"),
        ({"versions": ["0" * 12, None]}, "the policy means something else to the worker"),
        ({"policies": [{}, None]}, "the policy has other fields"),
        ({"policies": None}, "no replay of this release"),
        ({"rows": [{"turn_id": 7}]}, "turn_id is a number"),
        ({"rows": None}, "no replay of this release"),
    ],
)
def test_what_a_worker_cannot_judge_is_reported(change: dict[str, Any], reason: str) -> None:
    def changed(payload: bytes) -> bytes:
        return WORKER.answer(json.dumps({**json.loads(payload), **change}).encode())

    with pytest.raises(RemoteError, match="a worker did not judge: ") as raised:
        RemoteJudge(changed, selective(), None).judge(row(1))
    assert reason in str(raised.value)


def test_an_answer_for_fewer_turns_is_no_answer() -> None:
    def short(payload: bytes) -> bytes:
        answer = json.loads(WORKER.answer(payload))
        return json.dumps({"judged": answer["judged"][:-1]}).encode()

    with pytest.raises(RemoteError, match="judged 1 of 2 turns"):
        RemoteJudge(short, selective(), None).judge_all([row(1), row(2)])


def test_messages_are_bounded_in_rows_and_in_characters() -> None:
    many = [len(portion) for portion in in_messages(map(row, range(450)))]
    assert many == [200, 200, 50]
    large = [replace(row(number), draft="x" * 200_000) for number in range(5)] + [TurnRow("t", "y" * 900_000)]
    assert [len(portion) for portion in in_messages(large)] == [2, 2, 1, 1]
    assert list(in_messages([])) == []
