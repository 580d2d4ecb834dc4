"""`CriticMiddleware` reviews the answers of one agent, alone or together with the plugin."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelFallbackMiddleware, ModelRetryMiddleware
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage
from pydantic import BaseModel
from support.chat import Chat, StreamingChat
from support.paths import Own
from support.sdk import Telemetry

import draftcritic
from draftcritic import DraftCriticInstrumentor
from draftcritic.integrations.langchain import CriticMiddleware
from draftcritic.integrations.langchain._engine import shared
from draftcritic.settings import Settings, SettingsError
from draftcritic.testing import scripted_chat_model

DRAFT = "Your parcel is on its way."
SAFE = "I cannot say that."
WHY = "It promises what it cannot know."
ASK = {"messages": [("user", "Where is my parcel?")]}
REFUSE = json.dumps({"verdict": "refuse", "refusal_message": SAFE, "reason": WHY})
REVISE = json.dumps({"verdict": "revise", "revised_draft": SAFE, "reason": WHY})
APPROVE = json.dumps({"verdict": "approve"})


@pytest.fixture
def telemetry() -> Telemetry:
    return Telemetry()


@pytest.fixture
def plugin(telemetry: Telemetry) -> Iterator[Any]:
    def start(*replies: str, **settings: Any) -> Chat:
        critic = Chat(answers=list(replies))
        DraftCriticInstrumentor().instrument(**telemetry.providers, **{"mode": "enforce", "model": critic, **settings})
        return critic

    yield start
    DraftCriticInstrumentor().uninstrument()


def middleware(telemetry: Telemetry, *replies: str, **options: Any) -> CriticMiddleware:
    given: dict[str, Any] = {"mode": "enforce", "model": Chat(answers=list(replies)), **options}
    return CriticMiddleware(**telemetry.providers, **given)


def agent(model: Any, *middlewares: Any, **options: Any) -> Any:
    return create_agent(model, middleware=middlewares, **options)


def last(state: Any) -> str:
    return str(state["messages"][-1].text)


def shown(stream: Any) -> list[str]:
    return [chunk.text for chunk, _ in stream if chunk.text]


async def ashown(stream: Any) -> list[str]:
    return [chunk.text async for chunk, _ in stream if chunk.text]


def actions(telemetry: Telemetry) -> list[Any]:
    return [review["draftcritic.action"] for review in telemetry.reviews()]


class TestModes:
    def test_enforce_replaces_the_answer(self, telemetry: Telemetry) -> None:
        assert last(agent(Chat(answers=[DRAFT]), middleware(telemetry, REFUSE)).invoke(ASK)) == SAFE
        assert actions(telemetry) == ["blocked"]

    @pytest.mark.parametrize(("mode", "outcome"), [("observe", "judged"), ("gate", "gate_only")])
    def test_observe_and_gate_record_in_the_background(self, mode: str, outcome: str, telemetry: Telemetry) -> None:
        critic = middleware(telemetry, REFUSE, mode=mode)
        assert last(agent(Chat(answers=[DRAFT]), critic).invoke(ASK)) == DRAFT
        assert critic.flush()
        assert [review["draftcritic.outcome"] for review in telemetry.reviews()] == [outcome]

    def test_a_critic_that_is_the_agents_own_model_is_asked_without_its_guard(self, telemetry: Telemetry) -> None:
        asked: list[type] = []

        class Noting(Chat):
            def _generate(self, *args: Any, **kwargs: Any) -> Any:
                asked.append(type(self))
                return super()._generate(*args, **kwargs)

        critic = CriticMiddleware(**telemetry.providers, mode="enforce")
        assert last(agent(Noting(answers=[DRAFT, APPROVE]), critic).invoke(ASK)) == DRAFT
        assert [kind is Noting for kind in asked] == [False, True]
        assert actions(telemetry) == ["passed"]

    def test_off_does_nothing(self, telemetry: Telemetry) -> None:
        critic = middleware(telemetry, REFUSE, mode="off")
        assert last(agent(Chat(answers=[DRAFT]), critic).invoke(ASK)) == DRAFT
        assert critic.flush()
        assert telemetry.reviews() == []

    def test_passthrough_exposes_a_stream(self, telemetry: Telemetry) -> None:
        critic = middleware(telemetry, REFUSE, streams="passthrough")
        stream = agent(StreamingChat(answers=[DRAFT]), critic).stream(ASK, stream_mode="messages")
        assert DRAFT in "".join(shown(stream))
        assert actions(telemetry) == ["exposed"]

    def test_an_approved_stream_keeps_its_tokens(self, telemetry: Telemetry) -> None:
        a = agent(StreamingChat(answers=[DRAFT]), middleware(telemetry, APPROVE))
        tokens = ["Your", " parcel", " is", " on", " its", " way."]
        assert shown(a.stream(ASK, stream_mode="messages")) == tokens
        assert asyncio.run(ashown(a.astream(ASK, stream_mode="messages"))) == tokens
        assert actions(telemetry) == ["passed", "passed"]

    def test_a_stream_is_recorded_as_one(self, telemetry: Telemetry) -> None:
        list(agent(StreamingChat(answers=[DRAFT]), middleware(telemetry, APPROVE)).stream(ASK, stream_mode="messages"))
        (review,) = telemetry.reviews()
        assert review["draftcritic.draft.exposed"] is False


class TestSettings:
    def test_the_environment_counts(self, telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DRAFTCRITIC_MODE", "enforce")
        monkeypatch.setenv("DRAFTCRITIC_DEFAULT_REFUSAL", "Not today.")
        critic = CriticMiddleware(**telemetry.providers, model=Chat(answers=['{"verdict": "refuse"}']))
        assert last(agent(Chat(answers=["The total is $12."]), critic).invoke(ASK)) == "Not today."

    def test_the_constructor_wins(self, telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DRAFTCRITIC_MODE", "observe")
        assert last(agent(Chat(answers=[DRAFT]), middleware(telemetry, REFUSE, mode="enforce")).invoke(ASK)) == SAFE

    def test_ready_settings(self, telemetry: Telemetry) -> None:
        settings = Settings.load({}, mode="enforce", model=Chat(answers=[REFUSE]))
        critic = CriticMiddleware(settings=settings, **telemetry.providers)
        assert last(agent(Chat(answers=[DRAFT]), critic).invoke(ASK)) == SAFE

    def test_two_agents_have_their_own_rules(self, telemetry: Telemetry) -> None:
        strict = agent(Chat(answers=[DRAFT]), middleware(telemetry, REFUSE))
        lenient = agent(Chat(answers=[DRAFT]), middleware(telemetry, APPROVE))
        assert [last(strict.invoke(ASK)), last(lenient.invoke(ASK))] == [SAFE, DRAFT]

    def test_an_invalid_setting_is_an_error(self) -> None:
        with pytest.raises(SettingsError, match="timeout"):
            CriticMiddleware(timeout=0)
        with pytest.raises(SettingsError, match="modee"):
            CriticMiddleware(modee="enforce")

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"on_refuse": "again"}, "on_refuse = 'again': use 'refuse' or 'retry'"),
            ({"on_refuse": "retry", "max_retries": 0}, "max_retries = 0: use a whole number from 1 to 10"),
            ({"max_retries": True}, "max_retries = True"),
            ({"settings": Settings.load({}), "mode": "gate"}, "settings and mode: give one of the two"),
        ],
    )
    def test_an_invalid_option_is_an_error(self, options: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            CriticMiddleware(**options)

    def test_middlewares_with_equal_settings_share_threads_and_limits(self, telemetry: Telemetry) -> None:
        model = Chat(answers=[APPROVE])
        made = [CriticMiddleware(mode="observe", model=model, **telemetry.providers) for _ in range(2)]
        engines = [each._engine() for each in made]
        assert engines[0] is engines[1]

    def test_a_budget_is_shared_by_agents_with_different_rules(self, telemetry: Telemetry) -> None:
        for replies in ([REFUSE], [APPROVE]):
            critic = middleware(telemetry, *replies, reviews_per_minute=1, fair_share=1.0)
            agent(Chat(answers=[DRAFT]), critic).invoke(ASK)
        assert [review["draftcritic.outcome"] for review in telemetry.reviews()] == ["judged", "limited"]


class TestWithThePlugin:
    @pytest.mark.parametrize("options", [{}, {"fabrication": "off"}])
    @pytest.mark.parametrize("kind", [Chat, StreamingChat, Own])
    def test_there_is_one_review(self, kind: Any, options: Any, telemetry: Telemetry, plugin: Any) -> None:
        plugin(REFUSE)
        a = agent(kind(answers=[DRAFT]), CriticMiddleware(**options))
        assert last(a.invoke(ASK)) == SAFE
        assert last(asyncio.run(a.ainvoke(ASK))) == SAFE
        assert shown(a.stream(ASK, stream_mode="messages")) == [SAFE]
        assert asyncio.run(ashown(a.astream(ASK, stream_mode="messages"))) == [SAFE]
        assert actions(telemetry) == ["blocked"] * 4

    @pytest.mark.parametrize("kind", [Chat, StreamingChat, Own])
    @pytest.mark.parametrize("mode", ["observe", "gate", "enforce"])
    def test_the_agents_settings_decide(self, kind: Any, mode: str, telemetry: Telemetry, plugin: Any) -> None:
        approving = plugin(APPROVE, mode=mode)
        critic = CriticMiddleware(mode="enforce", model=Chat(answers=[REFUSE]))
        assert last(agent(kind(answers=[DRAFT]), critic).invoke(ASK)) == SAFE
        assert approving.calls == []
        assert actions(telemetry) == ["blocked"]

    def test_the_plugins_code_is_the_base_of_the_settings(self, plugin: Any) -> None:
        plugin(REFUSE, default_refusal="Not today.", timeout=3)
        critic = CriticMiddleware(timeout=4)
        assert critic._settings.default_refusal == "Not today."
        assert critic._settings.timeout == 4

    def test_models_outside_the_agent_are_reviewed_by_the_plugin(self, telemetry: Telemetry, plugin: Any) -> None:
        plugin(REFUSE)
        CriticMiddleware(mode="observe")
        assert Chat(answers=[DRAFT]).invoke("q").text == SAFE

    def test_the_budget_is_the_plugins(self, telemetry: Telemetry, plugin: Any) -> None:
        plugin(APPROVE, reviews_per_minute=1, fair_share=1.0)
        Chat(answers=[DRAFT]).invoke("q")
        agent(Chat(answers=[DRAFT]), CriticMiddleware(default_refusal="Not today.")).invoke(ASK)
        assert [review["draftcritic.outcome"] for review in telemetry.reviews()] == ["judged", "limited"]

    def test_a_plugin_that_stops_leaves_the_middleware_at_work(self, telemetry: Telemetry, plugin: Any) -> None:
        plugin(REFUSE)
        a = agent(Chat(answers=[DRAFT]), CriticMiddleware())
        assert last(a.invoke(ASK)) == SAFE
        DraftCriticInstrumentor().uninstrument()
        assert last(a.invoke(ASK)) == SAFE

    def test_a_view_keeps_its_handlers_when_the_plugin_starts_later(self, telemetry: Telemetry, plugin: Any) -> None:
        a = agent(Own(answers=[DRAFT]), middleware(telemetry, REFUSE))
        assert last(a.invoke(ASK)) == SAFE
        approving = plugin(APPROVE)
        assert last(a.invoke(ASK)) == SAFE
        assert approving.calls == []


class Streaming(AgentMiddleware[Any, Any, Any]):
    """Asks the model of the request by a stream, past the agent's own way."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return whole(list(request.model.stream(request.messages)))

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        return whole([chunk async for chunk in request.model.astream(request.messages)])


def whole(chunks: list[Any]) -> AIMessage:
    return AIMessage("".join(chunk.text for chunk in chunks))


class TestStreamsOfOtherMiddleware:
    @pytest.mark.parametrize("kind", [Chat, StreamingChat, Own])
    @pytest.mark.parametrize("mode", [None, "observe", "enforce"])
    def test_the_stream_of_a_view_is_reviewed_once(
        self, kind: Any, mode: Any, telemetry: Telemetry, plugin: Any
    ) -> None:
        approving = plugin(APPROVE, mode=mode) if mode else None
        a = agent(kind(answers=[DRAFT]), middleware(telemetry, REFUSE), Streaming())
        assert last(a.invoke(ASK)) == SAFE
        assert last(asyncio.run(a.ainvoke(ASK))) == SAFE
        assert DRAFT not in "".join(shown(a.stream(ASK, stream_mode="messages")))
        DraftCriticInstrumentor().flush()
        assert actions(telemetry) == ["blocked"] * 3
        assert approving is None or approving.calls == []

    def test_a_retry_gives_the_note_to_the_stream(self, telemetry: Telemetry) -> None:
        model = StreamingChat(answers=[DRAFT, "I do not know."])
        critic = middleware(telemetry, REFUSE, APPROVE, on_refuse="retry")
        assert last(agent(model, critic, Streaming()).invoke(ASK)) == "I do not know."
        assert WHY in model.calls[1][-1].text


class TestRetry:
    def test_the_reason_goes_to_the_model_and_the_next_answer_is_shown(self, telemetry: Telemetry) -> None:
        model = StreamingChat(answers=[DRAFT, "I do not know yet."])
        a = agent(model, middleware(telemetry, REFUSE, APPROVE, on_refuse="retry"))
        assert "".join(shown(a.stream(ASK, stream_mode="messages"))) == "I do not know yet."
        assert [message.text for message in model.calls[0]] == ["Where is my parcel?"]
        question, draft, note = model.calls[1]
        assert (question.text, draft.text) == ("Where is my parcel?", DRAFT)
        assert WHY in note.text
        assert actions(telemetry) == ["blocked", "passed"]

    @pytest.mark.parametrize("asynchronous", [False, True])
    @pytest.mark.parametrize("kind", [Chat, StreamingChat, Own])
    @pytest.mark.parametrize("retries", [1, 3])
    def test_after_the_last_attempt_the_refusal_is_shown_once(
        self, kind: Any, retries: int, asynchronous: bool, telemetry: Telemetry
    ) -> None:
        a = agent(kind(answers=[DRAFT]), middleware(telemetry, REFUSE, on_refuse="retry", max_retries=retries))
        if asynchronous:
            assert asyncio.run(ashown(a.astream(ASK, stream_mode="messages"))) == [SAFE]
        else:
            assert shown(a.stream(ASK, stream_mode="messages")) == [SAFE]
        assert actions(telemetry) == ["blocked"] * (retries + 1)

    def test_the_state_has_one_answer_and_no_note(self, telemetry: Telemetry) -> None:
        critic = middleware(telemetry, REFUSE, APPROVE, on_refuse="retry")
        state = agent(Chat(answers=[DRAFT, "I do not know."]), critic).invoke(ASK)
        assert [message.text for message in state["messages"]] == ["Where is my parcel?", "I do not know."]

    def test_each_attempt_is_a_call_in_the_budget(self, telemetry: Telemetry) -> None:
        options = {"reviews_per_minute": 2, "fair_share": 1.0, "on_limit": "refuse"}
        critic = middleware(telemetry, REFUSE, on_refuse="retry", max_retries=5, **options)
        model = Chat(answers=[DRAFT])
        agent(model, critic).invoke(ASK)
        assert [review["draftcritic.outcome"] for review in telemetry.reviews()] == ["judged", "judged", "limited"]
        assert len(model.calls) == 3

    @pytest.mark.parametrize("reply", [APPROVE, REVISE])
    def test_what_is_not_refused_is_not_asked_again(self, reply: str, telemetry: Telemetry) -> None:
        model = StreamingChat(answers=[DRAFT])
        a = agent(model, middleware(telemetry, reply, on_refuse="retry", max_retries=3))
        expected = DRAFT if reply == APPROVE else SAFE
        assert "".join(shown(a.stream(ASK, stream_mode="messages"))) == expected
        assert len(model.calls) == 1

    def test_a_critic_that_fails_is_not_asked_again(self, telemetry: Telemetry) -> None:
        down = Chat(answers=[""], error=ConnectionError("down"))
        model = Chat(answers=[DRAFT])
        critic = middleware(telemetry, model=down, on_refuse="retry", on_failure="refuse")
        agent(model, critic).invoke(ASK)
        assert len(model.calls) == 1
        assert actions(telemetry) == ["failed_closed"]

    def test_what_the_critic_quotes_grounds_nothing_in_the_next_answer(self, telemetry: Telemetry) -> None:
        made_up = "Your order, number ZT-90-11B, is ready."
        refuse = json.dumps({"verdict": "refuse", "refusal_message": SAFE, "reason": "ZT-90-11B is made up."})
        critic = middleware(telemetry, refuse, APPROVE, on_refuse="retry")
        state = agent(Chat(answers=[made_up]), critic).invoke(ASK)
        found = draftcritic.review_of(state["messages"][-1])
        assert found is not None
        assert [finding.identifier for finding in found.findings] == ["ZT-90-11B"]

    def test_a_refusal_by_a_finding_names_it_to_the_model(self, telemetry: Telemetry) -> None:
        model = Chat(answers=["Your order, number ZT-90-11B, is ready.", "I do not know."])
        critic = middleware(
            telemetry, APPROVE, on_refuse="retry", fabrication="refuse", fabrication_refuse_threshold=0.1
        )
        assert last(agent(model, critic).invoke(ASK)) == "I do not know."
        assert "ZT-90-11B" in model.calls[1][-1].text

    def test_retry_is_without_effect_where_nothing_is_refused(self, telemetry: Telemetry) -> None:
        model = Chat(answers=[DRAFT])
        critic = middleware(telemetry, REFUSE, mode="observe", on_refuse="retry")
        assert last(agent(model, critic).invoke(ASK)) == DRAFT
        assert len(model.calls) == 1

    def test_a_stream_that_passes_is_withheld_until_the_last_attempt(self, telemetry: Telemetry) -> None:
        critic = middleware(telemetry, REFUSE, APPROVE, on_refuse="retry", streams="passthrough")
        a = agent(StreamingChat(answers=[DRAFT, "I do not know."]), critic)
        assert "".join(shown(a.stream(ASK, stream_mode="messages"))) == "I do not know."

    def test_an_error_of_an_attempt_is_the_applications(self, telemetry: Telemetry) -> None:
        error = ConnectionError("down")
        critic = middleware(telemetry, REFUSE, on_refuse="retry")
        with pytest.raises(ConnectionError) as caught:
            agent(Chat(answers=[DRAFT], error=error), critic).invoke(ASK)
        assert caught.value is error


class Answer(BaseModel):
    """A structured answer."""

    city: str


class TestAgents:
    def test_a_tool_call_passes_and_the_answer_after_it_is_reviewed(self, telemetry: Telemetry) -> None:
        def look_up(order: str) -> str:
            """Look an order up."""
            return "found"

        call = {"name": "look_up", "args": {"order": "1"}, "id": "1"}
        model = StreamingChat(answers=[AIMessage("", tool_calls=[{**call, "args": {}}]), DRAFT])
        state = agent(model, middleware(telemetry, REFUSE), tools=[lambda: "x", look_up][1:]).invoke(ASK)
        assert last(state) == SAFE
        assert model.kwargs_seen[0]["tools"] == ["look_up"]

    @pytest.mark.parametrize("strategy", [ToolStrategy(Answer), ProviderStrategy(Answer)])
    def test_a_structured_answer_passes(self, strategy: Any, telemetry: Telemetry) -> None:
        call = {"name": "Answer", "args": {"city": "Ghent"}, "id": "1"}
        tool = isinstance(strategy, ToolStrategy)
        model = Chat(answers=[AIMessage("", tool_calls=[call]) if tool else '{"city": "Ghent"}'])
        state = agent(model, middleware(telemetry, APPROVE), response_format=strategy).invoke(ASK)
        assert state["structured_response"] == Answer(city="Ghent")

    def test_the_answer_of_a_fallback_model_is_reviewed(self, telemetry: Telemetry) -> None:
        broken = Chat(answers=[""], error=ConnectionError("down"))
        fallback = ModelFallbackMiddleware(Chat(answers=[DRAFT]))
        for order in ([middleware(telemetry, REFUSE), fallback], [fallback, middleware(telemetry, REFUSE)]):
            assert last(agent(broken, *order).invoke(ASK)) == SAFE
        assert actions(telemetry) == ["blocked", "blocked"]

    def test_an_inner_retry_reviews_each_answer(self, telemetry: Telemetry) -> None:
        class Flaky(Chat):
            def _answer(self, messages: Any, kwargs: Any) -> Any:
                if not self.calls:
                    self.calls.append(messages)
                    raise ConnectionError("once")
                return super()._answer(messages, kwargs)

        retry = ModelRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)
        assert last(agent(Flaky(answers=[DRAFT]), middleware(telemetry, REFUSE), retry).invoke(ASK)) == SAFE
        assert actions(telemetry) == ["blocked"]

    def test_the_result_of_an_agent_has_a_review(self, telemetry: Telemetry) -> None:
        state = agent(Chat(answers=[DRAFT]), middleware(telemetry, REFUSE)).invoke(ASK)
        found = draftcritic.review_of(state["messages"][-1])
        assert found is not None
        assert (found.action, found.reason) == ("blocked", WHY)

    @pytest.mark.parametrize("kind", [Chat, StreamingChat, Own])
    def test_a_muted_block_counts(self, kind: Any, telemetry: Telemetry) -> None:
        a = agent(kind(answers=[DRAFT]), middleware(telemetry, REFUSE))
        with draftcritic.muted():
            assert last(a.invoke(ASK)) == DRAFT
        counts = telemetry.values("draftcritic.reviews")
        assert sum(value for key, value in counts.items() if ("draftcritic.outcome", "muted") in key) == 1

    def test_muted_blocks_can_be_forbidden_for_an_agent(self, telemetry: Telemetry) -> None:
        a = agent(Chat(answers=[DRAFT]), middleware(telemetry, REFUSE, allow_muted=False))
        with draftcritic.muted():
            assert last(a.invoke(ASK)) == SAFE

    def test_the_application_keeps_its_model_as_it_is(self, telemetry: Telemetry) -> None:
        model = FakeListChatModel(responses=["first", "second"])
        a = agent(model, middleware(telemetry, APPROVE))
        assert [last(a.invoke(ASK)), last(a.invoke(ASK))] == ["first", "second"]
        assert type(model) is FakeListChatModel
        assert model.i == 0

    def test_without_a_critics_model_the_agents_own_is_asked(self, telemetry: Telemetry) -> None:
        model = Chat(answers=[DRAFT, REFUSE])
        assert last(agent(model, middleware(telemetry, model=None)).invoke(ASK)) == SAFE
        assert len(model.calls) == 2
        assert len(telemetry.reviews()) == 1

    def test_a_model_with_bound_arguments(self, telemetry: Telemetry) -> None:
        model = Chat(answers=[DRAFT])
        assert last(agent(model.bind(temperature=0), middleware(telemetry, REFUSE)).invoke(ASK)) == SAFE
        assert model.kwargs_seen[0]["temperature"] == 0

    def test_an_exception_of_the_model_is_unchanged(self, telemetry: Telemetry) -> None:
        error = ValueError("mine")
        with pytest.raises(ValueError, match="mine") as caught:
            agent(Chat(answers=[""], error=error), middleware(telemetry, REFUSE)).invoke(ASK)
        assert caught.value is error


class TestModelsWithoutAView:
    """What is no chat model of LangChain's, or is chosen by each run's configuration."""

    @pytest.mark.parametrize("mode", ["enforce", "observe"])
    @pytest.mark.parametrize("asynchronous", [False, True])
    @pytest.mark.parametrize("with_plugin", [False, True])
    def test_an_answer_of_another_runnable_is_reviewed_once(
        self, mode: str, asynchronous: bool, with_plugin: bool, telemetry: Telemetry, plugin: Any
    ) -> None:
        if with_plugin:
            plugin(APPROVE)
        inner = scripted_chat_model([DRAFT]) | (lambda message: message)
        critic = middleware(telemetry, REFUSE, mode=mode)
        a = agent(inner, critic)
        expected = SAFE if mode == "enforce" else DRAFT
        if asynchronous:
            assert "".join(asyncio.run(ashown(a.astream(ASK, stream_mode="messages")))) == expected
        else:
            assert "".join(shown(a.stream(ASK, stream_mode="messages"))) == expected
        assert critic.flush()
        assert len(telemetry.reviews()) == 1

    def test_a_model_that_the_configuration_chooses(
        self, telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from langchain.chat_models import init_chat_model
        from langchain_openai import ChatOpenAI

        monkeypatch.setattr(ChatOpenAI, "_stream", StreamingChat._stream)
        monkeypatch.setattr(ChatOpenAI, "fail_after", None, raising=False)
        monkeypatch.setattr(ChatOpenAI, "_chunks", StreamingChat(answers=[DRAFT])._chunks, raising=False)
        model = init_chat_model("openai:gpt-4o-mini", api_key="x", configurable_fields=("temperature",))
        critic = middleware(telemetry, REFUSE, APPROVE, on_refuse="retry")
        tokens = shown(agent(model, critic).stream(ASK, stream_mode="messages"))
        assert tokens == ["Your", " parcel", " is", " on", " its", " way."]
        assert actions(telemetry) == ["blocked", "passed"]


def test_it_works_in_a_process_without_the_plugin(tmp_path: Any) -> None:
    code = f"""
import json
from langchain.agents import create_agent
from langchain_core.language_models import FakeListChatModel
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from draftcritic.integrations.langchain import CriticMiddleware
from langchain_core.language_models import BaseChatModel

before = dict(vars(BaseChatModel)), BaseChatModel.stream.__code__
critic = CriticMiddleware(mode="enforce", model=FakeListChatModel(responses=[{REFUSE!r}]))
agent = create_agent(FakeListChatModel(responses=["x" * 30]), middleware=[critic])
exporter, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)  # after the middleware was made
print(agent.invoke({ASK!r})["messages"][-1].text)
print([span.name for span in exporter.get_finished_spans()])
print((dict(vars(BaseChatModel)), BaseChatModel.stream.__code__) == before)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.splitlines() == [SAFE, "['draftcritic.review']", "True"]


def test_engines_without_a_user_are_forgotten(telemetry: Telemetry) -> None:
    for number in range(40):
        middleware(telemetry, APPROVE, timeout=number + 1)._engine()
    assert len(shared._kept) <= 16
