"""No fault of ours reaches the application: handlers fail open, or closed where the settings say so."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from support.chat import Chat, StreamingChat
from support.sdk import Telemetry

import draftcritic
from draftcritic import DraftCriticInstrumentor
from draftcritic.langchain import _held_streams
from draftcritic.langchain._call import Call

DRAFT = "The code word is Zanzibar."
SAFE = "I would rather not say."
NO = "I cannot say that."


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    yield Telemetry()
    DraftCriticInstrumentor().uninstrument()


async def aread(stream: Any) -> str:
    return "".join([chunk.text async for chunk in stream])


async def aread_text(awaitable: Any) -> str:
    return str((await awaitable).text)


class OwnInvoke(Chat):
    def invoke(self, prompt: Any, config: Any = None, **kwargs: Any) -> Any:
        self.calls.append([])
        return AIMessage(self.answers[0])


PATHS: dict[str, tuple[type[Chat], Callable[[Any], str]]] = {
    "invoke": (Chat, lambda m: m.invoke("q").text),
    "ainvoke": (Chat, lambda m: asyncio.run(aread_text(m.ainvoke("q")))),
    "stream": (StreamingChat, lambda m: "".join(c.text for c in m.stream("q"))),
    "astream": (StreamingChat, lambda m: asyncio.run(aread(m.astream("q")))),
    "own invoke": (OwnInvoke, lambda m: m.invoke("q").text),
}
FAULTS = {
    "before the model is asked": (Call, "of_generate", "of_stream"),
    "after the model has answered": (
        Call,
        "drafts_of_result",
        "drafts_of_chunks",
        "drafts_of_message",
        "drafts_of_generations",
    ),
}


@pytest.fixture(params=FAULTS)
def fault(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    owner, *names = FAULTS[request.param]

    def fail(*_: Any, **__: Any) -> Any:
        raise TypeError(f"a fault of ours that quotes {DRAFT}")

    for name in names:
        monkeypatch.setattr(owner, name, fail)
    return str(request.param)


@pytest.mark.parametrize("mode", ["observe", "enforce"])
@pytest.mark.parametrize("path", PATHS)
def test_the_draft_leaves_and_the_model_is_asked_once(
    path: str, mode: str, fault: str, telemetry: Telemetry, caplog: pytest.LogCaptureFixture
) -> None:
    kind, ask = PATHS[path]
    model = kind(answers=[DRAFT])
    DraftCriticInstrumentor().instrument(**telemetry.providers, mode=mode, model=Chat(answers=["x"]))
    assert ask(model) == DRAFT
    assert len(model.calls) == 1
    assert any("could not be reviewed: TypeError" in r.getMessage() for r in caplog.records)
    assert "Zanzibar" not in caplog.text


@pytest.mark.parametrize("closed", [{"on_failure": "refuse"}, {"sensitive_tags": ["pii"], "fail_closed_tags": ["pii"]}])
@pytest.mark.parametrize("path", PATHS)
def test_enforce_fails_closed_where_the_settings_say_so(
    path: str, closed: Any, fault: str, telemetry: Telemetry
) -> None:
    kind, ask = PATHS[path]
    critic = Chat(answers=["x"])
    plugin = DraftCriticInstrumentor()
    plugin.instrument(**telemetry.providers, mode="enforce", model=critic, default_refusal=NO, **closed)
    with draftcritic.activation(activated_nodes=[{"score": 0.9, "tags": ["pii"]}]):
        assert ask(kind(answers=[DRAFT])) == NO


def test_a_stream_goes_on_where_a_fault_met_it(telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch) -> None:
    DraftCriticInstrumentor().instrument(**telemetry.providers, mode="observe", model=Chat(answers=["x"]))
    seen = []

    def whole(self: Call) -> bool:
        seen.append(len(self.chunks))
        if len(seen) == 3:
            raise RuntimeError
        return False

    monkeypatch.setattr(Call, "has_whole_message", whole)
    model = StreamingChat(answers=[DRAFT])
    assert "".join(c.text for c in model.stream("q")) == DRAFT
    assert len(model.calls) == 1


@pytest.mark.parametrize("mode", ["observe", "enforce"])
@pytest.mark.parametrize("path", ["invoke", "ainvoke", "stream", "astream"])
def test_the_applications_exception_is_the_same_object(path: str, mode: str, telemetry: Telemetry) -> None:
    error = ConnectionError("down")
    _, ask = PATHS[path]
    model = Chat(answers=["x"], error=error)
    DraftCriticInstrumentor().instrument(**telemetry.providers, mode=mode, model=Chat(answers=["x"]))
    with pytest.raises(ConnectionError) as raised:
        ask(model)
    assert raised.value is error
    assert len(model.calls) == 1


@pytest.mark.parametrize("mode", ["observe", "enforce"])
def test_what_a_callback_raises_is_the_applications(mode: str, telemetry: Telemetry) -> None:
    class Strict(BaseCallbackHandler):
        raise_error = True

        def on_llm_new_token(self, *_: Any, **__: Any) -> None:
            raise LookupError("of the application")

    critic = Chat(answers=['{"verdict": "approve"}'])
    DraftCriticInstrumentor().instrument(**telemetry.providers, mode=mode, model=critic)
    with pytest.raises(LookupError, match="of the application"):
        list(StreamingChat(answers=[DRAFT]).stream("q", {"callbacks": [Strict()]}))


def test_what_the_caller_throws_into_a_stream_reaches_the_caller(telemetry: Telemetry) -> None:
    DraftCriticInstrumentor().instrument(**telemetry.providers, mode="observe", model=Chat(answers=["x"]))
    stream: Any = StreamingChat(answers=[DRAFT]).stream("q")
    next(stream)
    with pytest.raises(KeyError):
        stream.throw(KeyError("of the caller"))


GONE = """
import sys, logging
logging.basicConfig(level=logging.INFO)
import langchain_core.language_models
from langchain_core.callbacks import BaseCallbackHandler
from draftcritic import DraftCriticInstrumentor
from support.chat import Chat, StreamingChat
{before}
critic = Chat(answers=['{{"verdict": "refuse", "refusal_message": "No."}}'])
DraftCriticInstrumentor().instrument(mode="enforce", model=critic)
{after}
print(StreamingChat(answers=["draft"]).invoke("q", {{"callbacks": [BaseCallbackHandler()]}}).text)
print("".join(c.text for c in StreamingChat(answers=["draft"]).stream("q", {{"callbacks": [BaseCallbackHandler()]}})))
"""
TAKE_AWAY = (
    "for name in ('langchain_core.tracers._streaming', 'langchain_core.language_models._compat_bridge'): "
    "sys.modules[name] = None"
)


@pytest.mark.parametrize("when", ["before", "after"])
def test_private_modules_that_are_gone_change_no_answer(when: str) -> None:
    code = GONE.format(**{"before": "", "after": "", when: TAKE_AWAY})
    paths = ":".join(["tests", *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": paths}
    )
    assert done.stdout.split() == ["No.", "No."]
    logged = "this langchain-core has no langchain_core.language_models._compat_bridge.message_to_events" in done.stderr
    assert logged is (when == "before")


def test_the_log_of_a_fault_has_no_text_of_a_turn(
    telemetry: Telemetry, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    DraftCriticInstrumentor().instrument(**telemetry.providers, mode="gate")
    with caplog.at_level(logging.DEBUG):
        Chat(answers=[DRAFT]).invoke("q")
    assert "Zanzibar" not in caplog.text


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(("on_failure", "expected"), [("approve", DRAFT), ("refuse", NO)])
@pytest.mark.parametrize(
    ("owner", "name"),
    [(_held_streams.Recording, "__init__"), (_held_streams.Recording, "end"), (_held_streams, "_released")],
)
def test_a_fault_inside_a_held_stream_does_not_reach_the_application(
    owner: Any, name: str, on_failure: str, expected: str, asynchronous: bool, telemetry: Telemetry, monkeypatch: Any
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise TypeError("a fault of ours")

    monkeypatch.setattr(owner, name, fail)
    critic = Chat(answers=['{"verdict": "approve"}'])
    settings: Any = {"model": critic, "on_failure": on_failure, "default_refusal": NO}
    DraftCriticInstrumentor().instrument(**telemetry.providers, mode="enforce", **settings)
    model = StreamingChat(answers=[DRAFT])
    _, ask = PATHS["astream" if asynchronous else "stream"]
    assert ask(model) == expected
    assert len(model.calls) == (0 if name == "__init__" and on_failure == "refuse" else 1)
