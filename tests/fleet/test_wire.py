"""A turn travels whole, and bytes that are no draft of this release are never guessed at."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from decimal import Decimal
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from draftcritic.core._assess import assess
from draftcritic.core._policy import Policy
from draftcritic.core._turn import Earlier, IntentVerdict, Turn
from draftcritic.fleet import _wire
from draftcritic.fleet._wire import SCHEMA, DraftMessage, MessageError, TravelledError, decode, encode

POLICY = Policy(selective_gate=True, sensitive_tags=frozenset({"pii"}))
texts = st.text(st.characters(codec=None, exclude_categories=()))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
calls = st.lists(st.dictionaries(texts, values, max_size=3), max_size=2).map(tuple)
intents = st.none() | st.builds(
    IntentVerdict, st.sampled_from(["action", "knowledge"]), st.floats(0, 1), st.lists(texts, max_size=2)
)
logs = st.dictionaries(texts, values, max_size=3)
turns_arguments: dict[str, Any] = {
    "draft": texts,
    "run_id": texts,
    "root_run": st.none() | texts,
    "user_message": texts,
    "tool_calls": calls,
    "context": texts,
    "system": texts,
    "sources": st.lists(texts, max_size=2).map(tuple),
    "earlier": st.lists(st.builds(Earlier, texts, texts, texts, st.booleans()), max_size=2).map(tuple),
    "draft_provider": texts,
    "hearsay": texts,
    "hearsay_calls": calls,
    "has_unread": st.booleans(),
    "activation": logs,
    "retrieved": logs,
    "requested": logs,
    "intent": intents,
    "requested_intent": intents,
    "scope": values,
    "draft_model": st.none() | texts,
    "streamed": st.booleans(),
    "exposed": st.booleans(),
    "repeats_question": st.booleans(),
    "response_id": st.none() | texts,
    "conversation_id": st.none() | texts,
    "session_id": st.none() | texts,
    "user_id": st.none() | texts,
    "agent": st.none() | texts,
}
turns = st.builds(Turn, **turns_arguments)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(turns)
def test_every_field_of_a_turn_arrives_as_it_was(turn: Turn) -> None:
    message = DraftMessage("a" * 32, turn, {"traceparent": "00-1"}, 12.5, "shop", complete=False, error="a.B")
    assert decode(encode(message)) == message


def test_no_field_of_a_turn_is_left_out_here() -> None:
    names = {each.name for each in fields(Turn)}
    assert names == set(turns_arguments), "a field is new: let _wire and this test know it; see docs/upgrading.md"
    assert {*_wire._TEXTS, *_wire._FLAGS, *_wire._LOGS, *_wire._CALLS, *_wire._OPTIONAL_TEXTS} | {
        *_wire._INTENTS,
        *_wire._OTHERS,
    } == names


class Silent:
    def __str__(self) -> str:
        raise ValueError


@pytest.mark.parametrize(
    "activation",
    [
        {"activated_nodes": [SimpleNamespace(score=0.9, tags=["pii"])], "inference_paths": [("a", "b")]},
        {"activated_nodes": [SimpleNamespace(score=0.4, properties=SimpleNamespace(tags=("pii",)))]},
        {"activated_nodes": ({"score": Decimal("0.7"), "tags": {"pii"}},), "traversed_edges": [{"weight": 2}]},
        {"activated_nodes": [{"score": float("nan")}]},
        {"activated_nodes": MappingProxyType({"score": 1})},
        {"activated_nodes": "many"},
        {"activated_nodes": [{"score": Silent()}]},
    ],
)
def test_the_gate_finds_the_same_in_an_activation_that_has_travelled(activation: dict[str, Any]) -> None:
    turn = Turn("It costs 12 euros.", activation=activation)
    arrived = decode(encode(DraftMessage("a" * 32, turn))).turn
    assert assess(arrived, POLICY) == assess(turn, POLICY)
    assert assess(arrived, Policy()) == assess(turn, Policy())


def test_values_that_json_lacks_travel_as_text() -> None:
    cycle: dict[str, Any] = {}
    cycle["self"] = cycle
    args = {"when": Decimal("1.5"), ("a", 1): b"x", "who": Silent(), "again": cycle}
    arrived = decode(encode(DraftMessage("a" * 32, Turn("Done.", tool_calls=({"name": "t", "args": args},))))).turn
    read = arrived.tool_calls[0]["args"]
    assert read["when"] == 1.5
    assert read["('a', 1)"] == "b'x'"
    assert read["who"] == ""


def broken(**changes: Any) -> bytes:
    whole = json.loads(encode(DraftMessage("a" * 32, Turn("Hello."))))
    whole.update(changes)
    return json.dumps(whole).encode()


def turn_with(**changes: Any) -> bytes:
    whole = json.loads(broken())
    whole["turn"].update(changes)
    return json.dumps(whole).encode()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (broken(v=SCHEMA + 1), f"schema version {SCHEMA + 1}; this release reads {SCHEMA}"),
        (broken(v=None), "schema version None"),
        (broken(id=7), "id is int"),
        (broken(created=True), "created is bool"),
        (turn_with(draft=None), "turn.draft is NoneType"),
        (turn_with(tool_calls=[1]), "turn.tool_calls has an item that is no object"),
        (turn_with(sources=["a", 1]), "turn.sources is no list of its kind"),
        (turn_with(earlier=[{"role": "user"}]), "turn.earlier has an item that is no message"),
        (turn_with(user_id=1), "turn.user_id is int"),
        (turn_with(intent={"word": 1}), "turn.intent is no intent"),
        (b"\xff", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "not a JSON object"),
    ],
)
def test_what_is_no_draft_of_this_schema_is_an_error(data: bytes, said: str) -> None:
    with pytest.raises(MessageError, match=said):
        decode(data)


@pytest.mark.parametrize("name", ["id", "created", "service", "complete", "error", "origin", "turn"])
def test_a_missing_field_of_the_envelope_is_an_error(name: str) -> None:
    whole = json.loads(broken())
    del whole[name]
    with pytest.raises(MessageError, match=f"missing: {name}"):
        decode(json.dumps(whole))


def test_a_turn_without_a_draft_is_an_error() -> None:
    whole = json.loads(broken())
    del whole["turn"]["draft"]
    with pytest.raises(MessageError, match="draft is missing"):
        decode(json.dumps(whole))


def test_an_error_keeps_the_name_that_it_had() -> None:
    error = TravelledError.named("openai.APIError")
    assert (type(error).__module__, type(error).__qualname__) == ("openai", "APIError")
    assert type(TravelledError.named("ValueError")).__module__ == "builtins"


def test_a_root_run_that_is_an_object_is_still_some_run() -> None:
    arrived = decode(encode(replace(DraftMessage("a" * 32, Turn("x")), turn=Turn("x", root_run=object()))))
    assert isinstance(arrived.turn.root_run, str)
