"""The reference's middleware and ours, side by side on the same objects."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from typing import Any

import pytest

pytest.importorskip("symfonic.core", reason="the reference needs Python 3.11")

from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from symfonic.agent.config import FrameworkConfig
from symfonic.agent.domain import CorePreference, DomainTemplate
from symfonic.agent.middleware.events import ReflectionEvent as ReferenceEvent
from symfonic.agent.middleware.fabrication import FabricationFinding as ReferenceFinding
from symfonic.agent.middleware.metacognitive import MetacognitiveMiddleware as Reference
from symfonic.agent.triage.intent import IntentVerdict as ReferenceIntent
from symfonic.core.callbacks import BaseCallbackHandler
from symfonic.core.callbacks.manager import CallbackManager
from symfonic.core.config import ModelConfig
from symfonic.core.contracts.callbacks import LLMEndEvent, LLMStartEvent

from draftcritic import MetacognitiveMiddleware

pytestmark = pytest.mark.filterwarnings("ignore:ContextBudget is deprecated:DeprecationWarning")

FIELDS = [field.name for field in dataclasses.fields(ReferenceEvent) if field.name != "reflection_latency_ms"]


class Chat(BaseChatModel):
    answer: Any
    model_name: str = "gpt-4o-mini"
    usage: Any = None

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        if isinstance(self.answer, Exception):
            raise self.answer
        message = AIMessage(content=self.answer, usage_metadata=self.usage)
        return ChatResult(generations=[ChatGeneration(message=message)])


class Provider:
    """A provider as a symfonic user writes it."""

    def __init__(self, model):
        self.model = model
        self.asked: list[Any] = []

    def get_chat_model(self, config):
        self.asked.append(config)
        if isinstance(self.model, Exception):
            raise self.model
        return self.model


class Layer:
    def __init__(self, found):
        self.found = found
        self.asked: list[Any] = []

    async def retrieve(self, scope, query, top_k):
        self.asked.append((scope, query, top_k))
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


class Handler(BaseCallbackHandler):
    def __init__(self):
        self.events: list[Any] = []

    async def on_llm_start(self, event):
        self.events.append(event)

    async def on_llm_end(self, event):
        self.events.append(event)

    def plain(self):
        """The events without what differs by nature: times, and the messages' own ids."""
        return [
            {
                "type": type(event),
                **{
                    field.name: getattr(event, field.name)
                    for field in dataclasses.fields(event)
                    if field.name not in {"messages", "duration_ms", "started_at_utc"}
                },
            }
            for event in self.events
        ]


class Hook:
    def __init__(self):
        self.calls: list[Any] = []

    async def on_llm_start(self, model, messages, run_id):
        self.calls.append(("start", model, run_id))

    async def on_llm_end(self, model, output, usage, run_id):
        self.calls.append(("end", model, output, usage, run_id))


class Gate:
    def __init__(self, answer):
        self.answer = answer
        self.seen: list[Any] = []

    def __call__(self, ctx):
        names = [field.name for field in dataclasses.fields(ctx)]
        self.seen.append({name: getattr(ctx, name) for name in names} | {"intent_label": ctx.intent_label})
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


TAGS = st.sampled_from(["pii", "money", "health", "vip"])
TAG_LISTS = st.lists(TAGS, max_size=2)
SCORES = st.floats(0, 3, allow_nan=False) | st.integers(0, 3)
NODES = st.fixed_dictionaries(
    {},
    optional={
        "score": SCORES,
        "tags": TAG_LISTS,
        "properties": st.fixed_dictionaries({}, optional={"tags": TAG_LISTS}),
    },
)
LABELS = st.sampled_from([f"label {n}" for n in range(14)])
LOGS = st.fixed_dictionaries(
    {},
    optional={
        "activated_nodes": st.lists(NODES, max_size=3),
        "inference_paths": st.lists(st.lists(LABELS, max_size=8), max_size=5),
        "traversed_edges": st.lists(st.fixed_dictionaries({}, optional={"weight": SCORES}), max_size=3),
    },
)
# Drafts on which claims and acknowledgements are the same for both: what differs there has its own tests.
DRAFTS = st.sampled_from(["Thanks!", "Okay, got it.", "De acuerdo.", "Your total is 42.", "I would say it depends."])
ANSWERS = st.sampled_from(
    [
        {"verdict": "approve", "matched_preferences": []},
        {"verdict": "approve", "revised_draft": "unused"},
        {"verdict": "revise", "revised_draft": "Better.", "matched_preferences": ["Be kind"]},
        {"verdict": "revise"},
        {"verdict": "refuse", "refusal_message": "No.", "matched_preferences": "no list"},
        {"verdict": "refuse", "refusal_message": None},
    ]
).flatmap(
    lambda answer: st.sampled_from(
        [json.dumps(answer), f"```json\n{json.dumps(answer)}\n```", f" {json.dumps(answer)}\n"]
    )
)
MODELS = st.one_of(
    ANSWERS,
    st.sampled_from(["no verdict at all", '{"verdict": "maybe"}', "{}", RuntimeError("down"), TimeoutError()]),
)
USAGES = st.sampled_from(
    [
        {"input_tokens": 12, "output_tokens": 7, "total_tokens": 19},
        {
            "input_tokens": 120,
            "output_tokens": 70,
            "total_tokens": 190,
            "input_token_details": {"cache_read": 5, "cache_creation": 6, "ephemeral_1h_input_tokens": 6},
            "output_token_details": {"reasoning": 9},
        },
    ]
)  # fmt: skip
FINDING = ReferenceFinding(
    identifier="4711", kind="kv", severity="high", reason="not grounded", key="ticket", pattern_kind="kv"
)


@st.composite
def cases(draw):
    return {
        "config": {
            "metacognition_enabled": draw(st.sampled_from([True, True, True, False])),
            "metacognition_confidence_threshold": draw(st.floats(0, 1)),
            "metacognition_sensitive_tags": draw(TAG_LISTS),
            "metacognition_selective_gate": draw(st.booleans()),
            "read_only_tools": draw(st.sampled_from([[], ["look_up"]])),
            "metacognition_trivial_ack_patterns": draw(st.sampled_from([[], ["okay, got it."]])),
            "role_models": draw(st.sampled_from([{}, {"critic": ModelConfig(model_name="claude-haiku-4-5")}])),
        },
        "gate": draw(st.sampled_from([None, None, None, True, False, ValueError("gate"), "no callable"])),
        "preferences": draw(
            st.lists(st.tuples(st.integers(1, 10), st.sampled_from(["Be kind", "No {dates}"]), TAG_LISTS), max_size=3)
        ),
        "answer": draw(MODELS),
        "usage": draw(USAGES),
        "rules": draw(st.sampled_from([None, [], ["r1", "r2", "r3", "r4", "r5", "r6"], RuntimeError("down")])),
        "managers": draw(st.sampled_from(["none", "noop", "constructor", "call", "both"])),
        "hook": draw(st.booleans()),
        "evaluate": {
            "run_id": draw(st.sampled_from(["", "run-1"])),
            "draft": draw(DRAFTS),
            "activation_log": draw(LOGS),
            "scope": draw(st.sampled_from([None, ("tenant", 1)])),
            "tool_calls_this_turn": draw(
                st.none() | st.lists(st.sampled_from([{"name": "look_up"}, {"name": "pay"}, {}]), max_size=2)
            ),
            "fabrication_findings": draw(st.sampled_from([None, [], [FINDING]])),
            "intent_verdict": draw(
                st.none()
                | st.builds(ReferenceIntent, st.sampled_from(["action", "knowledge", "ambiguous"]), st.just(0.9))
            ),
        },
    }


class Outcome:
    """One middleware on one case, and all that could be seen from outside."""

    def __init__(self, kind, case):
        gate = Gate(case["gate"]) if isinstance(case["gate"], (bool, Exception)) else case["gate"]
        self.provider = Provider(Chat(answer=case["answer"], usage=case["usage"]))
        self.layer = None if case["rules"] is None else Layer(case["rules"])
        self.hook = Hook() if case["hook"] else None
        self.built, self.called = Handler(), Handler()
        managers = case["managers"]
        built = {"none": None, "call": None, "noop": CallbackManager()}.get(managers, CallbackManager([self.built]))
        options = dict(case["evaluate"])
        if managers in {"call", "both"}:
            options |= {"callback_manager": CallbackManager([self.called]), "callback_node_name": "the_critic"}
        middleware = kind(
            model_provider=self.provider,
            config=FrameworkConfig(**case["config"], metacognition_gate=gate),
            domain=DomainTemplate(
                name="shop",
                core_preferences=[
                    CorePreference(priority=p, statement=s, sensitive_tags=t) for p, s, t in case["preferences"]
                ],
            ),
            procedural_layer=self.layer,
            callback_manager=built,
            observability_hook=self.hook,
        )
        self.enabled = middleware.enabled
        self.event = asyncio.run(middleware.evaluate(**options))
        self.gate_saw = gate.seen if isinstance(gate, Gate) else None

    def effects(self):
        return {
            "event": {name: getattr(self.event, name) for name in FIELDS},
            "enabled": self.enabled,
            "gate": self.gate_saw,
            "provider": self.provider.asked,
            "rules": self.layer and self.layer.asked,
        }

    def received(self):
        return {
            "hook": self.hook.calls if self.hook else [],
            "built": self.built.plain(),
            "called": self.called.plain(),
        }


@settings(max_examples=150, deadline=None)
@given(cases())
def test_same_events_and_same_hooks(case):
    reference, ours = Outcome(Reference, case), Outcome(MetacognitiveMiddleware, case)
    assert ours.effects() == reference.effects()
    if not isinstance(case["answer"], Exception):
        assert ours.received() == reference.received()
        return
    # Ours reports the end of a failed call, too; the reference leaves its start without one.
    for listener, heard in ours.received().items():
        expected = reference.received()[listener]
        assert heard[: len(expected)] == expected
        assert len(heard) == 2 * len(expected)
    for event in [*ours.built.events[1:], *ours.called.events[1:]]:
        assert (event.output, event.usage) == ("", {})
    if ours.hook is not None and ours.hook.calls:
        assert ours.hook.calls[1] == ("end", "gpt-4o-mini", "", {}, case["evaluate"]["run_id"])


CASE: dict[str, Any] = {
    "config": {"metacognition_enabled": True},
    "gate": None,
    "preferences": [],
    "answer": '{"verdict": "approve"}',
    "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
    "rules": None,
    "managers": "constructor",
    "hook": True,
    "evaluate": {"run_id": "r", "draft": "It depends.", "activation_log": {}, "scope": None},
}


def test_real_managers_get_the_frameworks_own_events():
    ours = Outcome(MetacognitiveMiddleware, CASE)
    start, end = ours.built.events
    assert (type(start), type(end)) == (LLMStartEvent, LLMEndEvent)
    assert (start.node_name, end.node_name) == ("metacognition_critic", "metacognition_critic")
    assert end.typed_usage.input_tokens == 1
    assert end.duration_ms > 0
    assert end.started_at_utc.endswith("+00:00")


def test_differs_the_prompt_is_a_system_and_a_user_message():
    reference, ours = Outcome(Reference, CASE), Outcome(MetacognitiveMiddleware, CASE)
    assert [message.type for message in reference.built.events[0].messages] == ["human"]
    assert [message.type for message in ours.built.events[0].messages] == ["system", *["human", "ai"] * 5, "human"]


def test_differs_a_parse_failure_is_flagged():
    for answer, failure in (("fine by me", "unparsable"), (RuntimeError("down"), "error"), (TimeoutError(), "timeout")):
        case = CASE | {"answer": answer}
        assert Outcome(Reference, case).event.verdict == "approve"
        ours = Outcome(MetacognitiveMiddleware, case).event
        assert (ours.verdict, ours.failure) == ("approve", failure)


def test_differs_no_number_never_reaches_the_event():
    case = CASE | {"evaluate": CASE["evaluate"] | {"activation_log": {"activated_nodes": [{"score": float("nan")}]}}}
    assert Outcome(MetacognitiveMiddleware, case).event.confidence_before == 0.0


def test_ours_tells_why_the_gate_fired_and_who_answered():
    event = Outcome(MetacognitiveMiddleware, CASE).event
    assert (event.gate_decision, event.gate_reason, event.failure) == ("fired", "low_confidence", None)
    assert "low_confidence" in event.gate_signals
    assert event.critic_model == "gpt-4o-mini"
    disabled = Outcome(MetacognitiveMiddleware, CASE | {"config": {"metacognition_enabled": False}}).event
    assert (disabled.gate_decision, disabled.gate_reason, disabled.critic_model) == (
        "not_evaluated",
        "disabled",
        None,
    )


def test_a_skipped_draft_tells_no_sensitive_tag():
    log = {"activated_nodes": [{"score": 1, "tags": ["pii"]}]}
    config = {"metacognition_enabled": True, "metacognition_sensitive_tags": ["pii"]}
    case = CASE | {"config": config, "gate": False, "evaluate": CASE["evaluate"] | {"activation_log": log}}
    reference, ours = Outcome(Reference, case), Outcome(MetacognitiveMiddleware, case)
    assert ours.effects() == reference.effects()
    assert (ours.gate_saw[0]["sensitive_hit"], ours.event.sensitive_tag_hit) == ("pii", None)


def test_a_provider_that_raises_is_an_approve_for_both():
    class Broken(Provider):
        def get_chat_model(self, config):
            raise RuntimeError("no key")

    for kind in (Reference, MetacognitiveMiddleware):
        middleware = kind(
            model_provider=Broken(None),
            config=FrameworkConfig(metacognition_enabled=True),
            domain=DomainTemplate(name="shop"),
        )
        event = asyncio.run(middleware.evaluate(**CASE["evaluate"]))
        assert event.verdict == "approve"
        assert event.reflection_tokens_in == 0
