"""No token of a refused answer leaves an agent with `CriticMiddleware`, in whatever way it is asked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar

import pytest
from langchain.agents.middleware import (
    AgentMiddleware,
    ModelRetryMiddleware,
    SummarizationMiddleware,
    TodoListMiddleware,
)
from support.chat import Chat
from support.sdk import Telemetry

from draftcritic import DraftCriticInstrumentor
from draftcritic.integrations.langchain import CriticMiddleware
from draftcritic.testing import MiddlewareLeakTests, scripted_chat_model

SAFE = "I would rather not say."
REPLIES = {
    "refuse": {"verdict": "refuse", "refusal_message": SAFE, "reason": "It is a secret."},
    "revise": {"verdict": "revise", "revised_draft": SAFE, "reason": "It is a secret."},
}


class Critic(Chat):
    """Refuses or revises a draft with the secret in it."""

    verdict: str = "refuse"
    secret: str = MiddlewareLeakTests.secret

    def _answer(self, messages: Any, kwargs: Any) -> Any:
        self.answers = [
            json.dumps(REPLIES[self.verdict] if self.secret in messages[-1].text else {"verdict": "approve"})
        ]
        return super()._answer(messages, kwargs)


class _Tests(MiddlewareLeakTests):
    verdict = "refuse"
    options: ClassVar[dict[str, Any]] = {}

    def middleware(self) -> Any:
        critic = Critic(answers=[], verdict=self.verdict)
        return CriticMiddleware(mode="enforce", model=critic, **Telemetry().providers, **self.options)


class TestRefused(_Tests):
    pass


class TestRevised(_Tests):
    verdict = "revise"


class TestRetried(_Tests):
    options: ClassVar[dict[str, Any]] = {"on_refuse": "retry", "max_retries": 2}


class Passing(AgentMiddleware[Any, Any, Any]):
    """Has every hook, and changes the request."""

    def before_model(self, state: Any, runtime: Any) -> None:
        return None

    def after_model(self, state: Any, runtime: Any) -> None:
        return None

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(request.override(messages=list(request.messages), model=request.model))

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        return await handler(request.override(messages=list(request.messages), model=request.model))


class Other(Passing):
    """Another one."""


class TestBetweenOthers(_Tests):
    def around(self) -> tuple[Sequence[Any], Sequence[Any]]:
        summary = SummarizationMiddleware(model=scripted_chat_model(["x"]), trigger=("messages", 50))
        return (Passing(), ModelRetryMiddleware(max_retries=1, on_failure="error")), (
            Other(),
            summary,
            TodoListMiddleware(),
        )


class TestBetweenOthersInAnotherOrder(_Tests):
    def around(self) -> tuple[Sequence[Any], Sequence[Any]]:
        summary = SummarizationMiddleware(model=scripted_chat_model(["x"]), trigger=("messages", 50))
        return (summary, TodoListMiddleware(), Other()), (
            ModelRetryMiddleware(max_retries=1, on_failure="error"),
            Passing(),
        )


@pytest.mark.parametrize("mode", ["observe", "enforce"])
class TestWithThePlugin(_Tests):
    @pytest.fixture(autouse=True)
    def plugin(self, mode: str) -> Any:
        critic = Chat(answers=['{"verdict": "approve"}'])
        DraftCriticInstrumentor().instrument(**Telemetry().providers, mode=mode, model=critic)
        yield
        DraftCriticInstrumentor().uninstrument()


class TestThePluginAlone(MiddlewareLeakTests):
    @pytest.fixture(autouse=True)
    def plugin(self) -> Any:
        DraftCriticInstrumentor().instrument(**Telemetry().providers, mode="enforce", model=Critic(answers=[]))
        yield
        DraftCriticInstrumentor().uninstrument()

    def middleware(self) -> Any:
        return Passing()


class TestTheTests:
    """A middleware that looks at the answer when it is too late fails them."""

    class Late(MiddlewareLeakTests):
        def middleware(self) -> Any:
            secret = self.secret

            class AfterModel(AgentMiddleware[Any, Any, Any]):
                def after_model(self, state: Any, runtime: Any) -> Any:
                    message = state["messages"][-1]
                    return (
                        {"messages": [message.model_copy(update={"content": SAFE})]} if secret in message.text else None
                    )

            return AfterModel()

    class Silent(MiddlewareLeakTests):
        def middleware(self) -> Any:
            class Withholding(AgentMiddleware[Any, Any, Any]):
                def wrap_model_call(self, request: Any, handler: Any) -> Any:
                    response = handler(request)
                    response.result[0] = response.result[0].model_copy(update={"content": SAFE})
                    return response

            return Withholding()

    @pytest.mark.parametrize("name", ["test_stream_of_messages", "test_callbacks", "test_state", "test_cache"])
    def test_a_check_after_the_model_fails(self, name: str) -> None:
        with pytest.raises(AssertionError, match="was shown"):
            getattr(self.Late(), name)()

    def test_a_middleware_that_withholds_everything_fails(self) -> None:
        with pytest.raises(AssertionError):
            self.Silent().test_harmless_answer_arrives()

    def test_a_subclass_has_to_give_the_middleware(self) -> None:
        with pytest.raises(NotImplementedError, match="middleware under test"):
            MiddlewareLeakTests().test_invoke()
