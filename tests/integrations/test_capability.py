"""The critic as a stage: recorded, not applied."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from draftcritic import CriticCapability, CriticPreference
from draftcritic.testing import RecordingObserver


class Model:
    model = "claude-haiku-4-5"

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    async def ainvoke(self, messages):
        self.asked.append(messages)
        return self.answers.pop(0)


def provider(model, asked=None):
    def get_chat_model(config):
        if asked is not None:
            asked.append(config)
        return model

    return SimpleNamespace(get_chat_model=get_chat_model)


REFUSE = '{"verdict": "refuse", "refusal_message": "No.", "matched_preferences": ["No dates"]}'


def test_it_contributes_one_stage_before_memory_is_written():
    (stage,) = CriticCapability(provider(None)).contribute(object()).post_model
    assert (stage.name, stage.effect) == ("critic", "model_call")
    assert stage.before == ("memory.consolidation", "memory.write")


class Host:
    """A turn of a framework that keeps records."""

    def __init__(self, **fields):
        self.records = {}
        self.__dict__.update(fields)

    async def record(self, name, value):
        self.records[name] = value


ACTIVATION = {"activated_nodes": [{"score": 1.0, "tags": ["vip"]}]}


@pytest.mark.parametrize(
    ("turn", "records"),
    [
        (turn := {"text": "Monday.", "resolved_activation": ACTIVATION}, lambda turn: turn),
        (Host(text="Monday.", resolved_activation=SimpleNamespace(**ACTIVATION)), lambda turn: turn.records),
        (Host(final_response="Monday.", activation=ACTIVATION), lambda turn: turn.records),
    ],
)
async def test_the_handler_records_the_verdict_and_applies_nothing(turn, records):
    model = Model(REFUSE)
    capability = CriticCapability(
        provider(model), sensitive_tags=["vip"], preferences=[CriticPreference(9, "No dates", ())]
    )
    value = await capability.contribute(None).post_model[0].handler(turn)
    latency = value.pop("reflection_latency_ms")
    assert latency > 0
    assert value == {
        "verdict": "refuse",
        "confidence_before": 0.4,
        "sensitive_tag_hit": "vip",
        "revised_draft": None,
        "refusal_message": "No.",
        "matched_preferences": ["No dates"],
        "provenance": "critic-reflection-v1",
        "counts": {"refuse": 1},
    }
    assert records(turn)["critic"] is value
    assert "- [9] No dates" in model.asked[0][-1].content
    assert (turn.get("text") if isinstance(turn, dict) else "Monday.") == "Monday."


async def test_rules_template_threshold_and_model_config_are_used():
    class Rules:
        async def retrieve(self, query, top_k):
            return [f"rule for {query}"]

    model, asked = Model('{"verdict": "approve"}'), []
    capability = CriticCapability(
        provider(model, asked),
        0.9,
        (),
        (),
        Rules(),
        "Judge {draft}, {core_preferences}, {procedural_rules}, {sensitive_tag_hit}.",
        "my config",
    )
    turn = {
        "draft": "x",
        "activation": {
            "activated_nodes": [{"score": 1}],
            "inference_paths": [["a"], ["b"], ["c"]],
            "traversed_edges": [{"weight": 2}],
        },
    }
    value = await capability.contribute(None).post_model[0].handler(turn)
    assert value["confidence_before"] == pytest.approx(0.82)
    assert asked == ["my config"]
    assert "- rule for a b c" in model.asked[0][-1].content
    assert model.asked[0][0].content.startswith("Judge ")


async def test_a_confident_turn_costs_no_call_and_is_recorded():
    turn = {
        "text": "x",
        "activation_log": {
            "activated_nodes": [{"score": 1}],
            "inference_paths": [["a"], ["b"], ["c"]],
        },
    }
    value = await CriticCapability(provider(Model())).contribute(None).post_model[0].handler(turn)
    assert (value["verdict"], value["counts"], value["confidence_before"]) == ("approve", {"approve": 1}, 0.7)


async def test_a_turn_without_a_text_records_nothing():
    observer, turn = RecordingObserver(), {}
    capability = CriticCapability(provider(Model()), observer=observer)
    assert await capability.contribute(None).post_model[0].handler(turn) is None
    assert turn == {}
    assert [review.assessment.reason for review in observer.reviews] == ["not_a_draft"]
