"""The middleware with objects of no framework: only their attributes count, and symfonic is not loaded."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from types import SimpleNamespace

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda

from draftcritic import MetacognitiveMiddleware, ReflectionEvent
from draftcritic.testing import RecordingObserver


def config(**options):
    return SimpleNamespace(
        **{
            "metacognition_enabled": True,
            "metacognition_confidence_threshold": 0.6,
            "metacognition_sensitive_tags": [],
            **options,
        }
    )


class Model:
    """A model of no framework at all."""

    model = "claude-haiku-4-5"

    def __init__(self, answer):
        self.answer = answer
        self.seen = []

    async def ainvoke(self, messages):
        self.seen.append(messages)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def provider(model):
    return SimpleNamespace(get_chat_model=lambda config: model)


def make(model, **options):
    options = {"config": config(), "domain": SimpleNamespace(core_preferences=()), **options}
    return MetacognitiveMiddleware(model_provider=provider(model), **options)


async def evaluate(middleware, **options):
    return await middleware.evaluate(
        **{"run_id": "run-1", "draft": "It arrives on Monday.", "activation_log": {}, "scope": None, **options}
    )


async def test_a_plain_text_answer_of_a_plain_object():
    model = Model('{"verdict": "revise", "revised_draft": "It arrives soon.", "matched_preferences": ["No dates"]}')
    event = await evaluate(make(model))
    assert event == ReflectionEvent(
        run_id="run-1",
        verdict="revise",
        confidence_before=0.5,
        sensitive_tag_hit=None,
        original_draft="It arrives on Monday.",
        revised_draft="It arrives soon.",
        refusal_message=None,
        matched_preferences=["No dates"],
        reflection_latency_ms=event.reflection_latency_ms,
        gate_decision="fired",
        gate_reason="low_confidence",
        gate_signals=event.gate_signals,
        critic_model="claude-haiku-4-5",
    )
    assert event.reflection_latency_ms > 0
    assert [message.type for message in model.seen[0]] == ["system", *["human", "ai"] * 5, "human"]


async def test_usage_may_be_an_object():
    answer = SimpleNamespace(
        content='{"verdict": "approve"}', usage_metadata=SimpleNamespace(input_tokens=5, output_tokens=6)
    )
    event = await evaluate(make(Model(answer)))
    assert (event.reflection_tokens_in, event.reflection_tokens_out) == (5, 6)


async def test_the_name_in_the_answer_wins_over_the_objects():
    answer = AIMessage(content='{"verdict": "approve"}', response_metadata={"model_name": "claude-opus-4-6"})
    assert (await evaluate(make(Model(answer)))).critic_model == "claude-opus-4-6"


async def test_a_disabled_one_asks_nobody():
    model = Model("unused")
    middleware = make(model, config=config(metacognition_enabled=False))
    event = await evaluate(middleware)
    assert not middleware.enabled
    assert (event.verdict, event.confidence_before, event.reflection_latency_ms) == ("approve", 1.0, 0.0)
    assert (event.gate_decision, event.gate_reason, model.seen) == ("not_evaluated", "disabled", [])


async def test_differs_an_empty_draft_is_no_draft():
    model, observer = Model("unused"), RecordingObserver()
    event = await evaluate(make(model, observer=observer), draft=" ")
    assert (event.verdict, event.gate_reason, model.seen) == ("approve", "not_a_draft", [])
    assert len(observer.reviews) == 1


@pytest.mark.parametrize("tags", ["pii", ["pii"], ("pii",)])
async def test_differs_a_single_tag_may_be_a_string(tags):
    domain = SimpleNamespace(core_preferences=[SimpleNamespace(priority=5, statement="No data", sensitive_tags=tags)])
    log = {"activated_nodes": [{"score": 1, "tags": "pii"}]}
    event = await evaluate(make(Model('{"verdict": "approve"}'), domain=domain), activation_log=log)
    assert (event.sensitive_tag_hit, event.gate_reason) == ("pii", "sensitive_tag")


async def test_a_refusal_without_a_message_keeps_its_verdict():
    event = await evaluate(make(Model('{"verdict": "refuse"}')))
    assert (event.verdict, event.refusal_message, event.revised_draft) == ("refuse", None, None)


async def test_a_manager_of_no_framework_gets_events_of_the_same_shape():
    heard = []

    async def hear(event):
        heard.append(event)

    manager = SimpleNamespace(on_llm_start=hear, on_llm_end=hear)
    answer = AIMessage(
        content='{"verdict": "approve"}',
        usage_metadata={"input_tokens": 5, "output_tokens": 6, "total_tokens": 11},
    )
    await evaluate(make(Model(answer)), callback_manager=manager, callback_node_name="mine")
    start, end = heard
    assert (start.model, start.run_id, start.node_name, len(start.messages)) == (
        "claude-haiku-4-5",
        "run-1",
        "mine",
        12,
    )
    assert (end.model, end.run_id, end.node_name) == ("claude-haiku-4-5", "run-1", "mine")
    assert (end.output, end.usage) == ('{"verdict": "approve"}', {"input_tokens": 5, "output_tokens": 6})
    assert end.duration_ms > 0


async def test_a_cancelled_call_still_tells_its_end():
    heard, asked = [], asyncio.Event()

    class Hook:
        async def on_llm_start(self, model, messages, run_id):
            heard.append("start")

        async def on_llm_end(self, model, output, usage, run_id):
            heard.append(("end", output, usage))

    class Hanging:
        async def ainvoke(self, messages):
            asked.set()
            await asyncio.Event().wait()

    observer = RecordingObserver()
    middleware = make(Hanging(), observability_hook=Hook(), observer=observer)
    task = asyncio.create_task(evaluate(middleware))
    await asyncio.wait_for(asked.wait(), 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for _ in range(1000):  # the cancelled turn does not wait for its hooks
        if len(heard) == 2:
            break
        await asyncio.sleep(0.01)
    assert heard == ["start", ("end", "", {})]
    assert [(r.outcome.kind, r.failure) for r in observer.reviews] == [("cancelled", None)]


class Chat(BaseChatModel):
    @property
    def _llm_type(self):
        return "scripted"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        message = AIMessage(content='{"verdict": "refuse", "refusal_message": "No."}')
        return ChatResult(generations=[ChatGeneration(message=message)])


class Ears(BaseCallbackHandler):
    def __init__(self):
        self.heard = []

    def on_chat_model_start(self, serialized, messages, **kwargs):
        self.heard.append("model")

    def on_chain_start(self, serialized, inputs, **kwargs):
        self.heard.append("chain")


async def test_the_critics_call_is_not_seen_by_the_callbacks_around_it():
    ears = Ears()

    async def run(_):
        return await evaluate(make(Chat()))

    chain = RunnableLambda(run)
    event = await chain.ainvoke("x", config={"callbacks": [ears]})
    assert (event.verdict, event.refusal_message) == ("refuse", "No.")
    assert ears.heard == ["chain"]


def test_symfonic_is_not_loaded_for_those_who_do_not_use_it():
    program = """
import asyncio, sys
from types import SimpleNamespace as N
from draftcritic import MetacognitiveMiddleware
class Model:
    async def ainvoke(self, messages):
        return '{"verdict": "approve"}'
asked = []
provider = N(get_chat_model=lambda config: asked.append(config) or Model())
config = N(metacognition_enabled=True, metacognition_confidence_threshold=0.6, metacognition_sensitive_tags=[])
m = MetacognitiveMiddleware(model_provider=provider, config=config, domain=N(core_preferences=[]))
e = asyncio.run(m.evaluate(run_id="r", draft="It depends.", activation_log={}, scope=None))
print(e.verdict, e.failure, "symfonic" in sys.modules, asked)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("approve None False [ModelConfig(model_name='')]\n", "")


async def test_the_telemetry_of_an_instrumented_process_writes_it_down():
    from draftcritic._runtime import set_current

    observer = RecordingObserver()
    set_current(SimpleNamespace(observer=observer))
    try:
        await evaluate(make(Model('{"verdict": "approve"}')))
    finally:
        set_current(None)
    await evaluate(make(Model('{"verdict": "approve"}')))
    assert [review.turn.run_id for review in observer.reviews] == ["run-1"]
