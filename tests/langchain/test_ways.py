"""On which loop, or in which thread, the critic's model is asked: none that has ended, and none of another."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.outputs import ChatResult
from langchain_core.runnables import ConfigurableField, RunnableLambda
from pydantic import PrivateAttr
from support.chat import Chat
from support.provider_server import provider_server
from support.sdk import Telemetry

from draftcritic import DraftCriticInstrumentor
from draftcritic.langchain import ChatModelCritic, OwnLoop
from draftcritic.review import CallSlot, PromptMessage
from draftcritic.review._call_slots import given_up

PROMPT = (PromptMessage("user", "the draft"),)
VERDICT = '{"verdict": "approve"}'
DRAFT = "Your parcel is on its way."
LONG = 30.0
MODES: list[dict[str, Any]] = [{"mode": "enforce"}, {"background": False}, {}]


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    yield Telemetry()
    DraftCriticInstrumentor().uninstrument()


def review(telemetry: Telemetry, **settings: Any) -> None:
    DraftCriticInstrumentor().instrument(**telemetry.providers, circuit_failure_rate=0, **settings)


class Both(Chat):
    """Has code of both kinds, and notes where it runs."""

    _ran: list[str] = PrivateAttr(default_factory=list)

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> ChatResult:
        self._ran.append(f"blocking in {threading.current_thread().name}")
        return super()._generate(messages)

    async def _agenerate(self, messages: Any, *args: Any, **kwargs: Any) -> ChatResult:
        await asyncio.sleep(0)
        self._ran.append(f"asynchronous in {threading.current_thread().name}")
        return super()._generate(messages)


class OneLoop(Both):
    """Its client belongs to the loop that it was first used on."""

    _home: Any = PrivateAttr(default=None)

    async def _agenerate(self, messages: Any, *args: Any, **kwargs: Any) -> ChatResult:
        if self._home is None:
            self._home = asyncio.get_running_loop()
        connected = self._home.create_future()
        self._home.call_soon(connected.set_result, None)
        await connected
        return await super()._agenerate(messages)


class AsyncOnly(BaseChatModel):
    """Has only asynchronous code."""

    model_name: str = "gpt-4o-mini"
    answer: str = VERDICT
    _loops: list[Any] = PrivateAttr(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "asynchronous"

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        raise NotImplementedError("use ainvoke")

    async def _agenerate(self, messages: Any, *args: Any, **kwargs: Any) -> ChatResult:
        self._loops.append(asyncio.get_running_loop())
        await asyncio.sleep(0.01)
        asked = any("verdict" in str(message.content) for message in messages)
        return Chat(answers=[self.answer if asked else DRAFT])._generate(messages)


@pytest.mark.parametrize("settings", MODES)
def test_a_critic_by_name_outlives_every_loop(settings: dict[str, Any]) -> None:
    """A real client keeps its connections, and they belong to the loop that opened them."""
    pytest.importorskip("langchain_openai")
    pytest.importorskip("langchain.chat_models")
    program = """
import asyncio, json, sys, threading
from support.chat import Chat
from support.sdk import Telemetry
from draftcritic import DraftCriticInstrumentor

settings, url = json.loads(sys.argv[1]), sys.argv[2]
imported = []

@sys.addaudithook
def hear(event, values):
    if event == "import" and values[0] == "langchain.chat_models":
        imported.append(threading.current_thread() is threading.main_thread())

telemetry = Telemetry()
kwargs = {"base_url": url, "api_key": "sk-none", "max_retries": 0}
DraftCriticInstrumentor().instrument(
    **telemetry.providers,
    rules=["Be kind."],
    qualified_models=["gpt-4.1-nano"],
    model="openai:gpt-4.1-nano",
    model_kwargs=kwargs,
    circuit_failure_rate=0,
    **settings,
)

async def turns(count):
    for number in range(count):
        await Chat(answers=[f"Parcel {number} is on its way."]).ainvoke("q")
        await asyncio.sleep(0.02)

for _ in range(6):
    asyncio.run(turns(1))
threads = [threading.Thread(target=lambda: asyncio.run(turns(2))) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert DraftCriticInstrumentor().flush(60)
reviews = telemetry.reviews()
print({(r["draftcritic.verdict"], r.get("draftcritic.failure"), r["draftcritic.verdict.source"]) for r in reviews})
print(len(reviews), "on the loop" if imported[0] else "off it")
"""
    with provider_server() as url:
        done = subprocess.run(
            [sys.executable, "-c", program, json.dumps(settings), f"{url}/v1"],
            env={**os.environ, "PYTHONPATH": ":".join([str(Path(__file__).parents[1]), *sys.path])},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert (done.stderr, done.stdout) == ("", "{('approve', None, 'reflection')}\n12 off it\n")


@pytest.mark.parametrize("settings", MODES)
def test_a_critic_given_in_code_keeps_off_the_applications_loop(settings: dict[str, Any], telemetry: Telemetry) -> None:
    critic = Both(answers=[VERDICT])
    review(telemetry, model=critic, **settings)
    asyncio.run(Chat(answers=[DRAFT]).ainvoke("q"))
    assert DraftCriticInstrumentor().flush(LONG)
    assert critic._ran == ["blocking in draftcritic-call"]


async def test_the_drafts_own_model_is_asked_as_the_application_asks_it(telemetry: Telemetry) -> None:
    model = Both(answers=[DRAFT, VERDICT])
    review(telemetry)
    await model.ainvoke("q")
    assert await asyncio.to_thread(DraftCriticInstrumentor().flush, LONG)
    assert model._ran == ["asynchronous in MainThread"] * 2
    assert [r["draftcritic.verdict"] for r in telemetry.reviews()] == ["approve"]


@pytest.mark.parametrize("settings", MODES)
def test_a_model_with_only_asynchronous_code_has_a_loop_when_the_callers_has_ended(
    settings: dict[str, Any], telemetry: Telemetry
) -> None:
    for given in ({}, {"model": AsyncOnly()}):
        review(telemetry, **settings, **given)
        for _ in range(5):
            asyncio.run(AsyncOnly().ainvoke("q"))
        assert DraftCriticInstrumentor().flush(LONG)
        DraftCriticInstrumentor().uninstrument()
    assert [r.get("draftcritic.failure") for r in telemetry.reviews()] == [None] * 10
    assert {r["draftcritic.verdict.source"] for r in telemetry.reviews()} == {"reflection"}


def test_a_client_of_another_loop_is_done_without() -> None:
    model = OneLoop(answers=[VERDICT])

    async def ask() -> Any:
        critic = ChatModelCritic(model)
        return (await critic.acall(critic.messages(PROMPT), LONG)).content

    assert [asyncio.run(ask()) for _ in range(3)] == [VERDICT] * 3
    assert model._ran == ["asynchronous in MainThread", *["blocking in draftcritic-call"] * 2]
    assert len(model.calls) == 3


async def test_a_failure_of_the_service_is_not_asked_again() -> None:
    model = Chat(answers=["x"], error=RuntimeError("the service is down"))
    critic = ChatModelCritic(model, own_loop=OwnLoop())
    with pytest.raises(RuntimeError, match="the service is down"):
        await critic.acall(critic.messages(PROMPT), LONG)
    assert len(model.calls) == 1


async def answering(_: Any) -> str:
    return DRAFT


@pytest.mark.parametrize(
    "chain",
    [
        AsyncOnly().with_fallbacks([AsyncOnly()]),
        AsyncOnly().with_retry(stop_after_attempt=1),
        AsyncOnly().bind(stop=["x"]),
        RunnableLambda(answering) | Chat(answers=[DRAFT]),
        AsyncOnly().configurable_alternatives(
            ConfigurableField(id="model"), default_key="first", second=Chat(answers=[DRAFT])
        ),
    ],
    ids=["fallbacks", "retry", "binding", "sequence", "alternatives"],
)
def test_a_runnable_around_asynchronous_code_is_asked_too(chain: Any) -> None:
    own = OwnLoop()
    critic = ChatModelCritic(chain, own_loop=own, apart=True)
    question = critic.messages(PROMPT)
    assert critic.call(question, LONG).content == DRAFT
    assert asyncio.run(critic.acall(question, LONG)).content == DRAFT
    own.stop()


def test_critics_made_one_after_another_share_their_threads() -> None:
    threads = set()

    def noting(_: Any) -> str:
        threads.add(threading.get_ident())
        return DRAFT

    for _ in range(20):
        critic = ChatModelCritic(RunnableLambda(noting))
        critic.call(critic.messages(PROMPT), LONG)
    assert len(threads) < 20


class TestOwnLoop:
    def test_a_loop_that_code_blocks_is_left_to_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("draftcritic.langchain._event_loops._RESPONDS_WITHIN", 0.01)
        release, place, asked = threading.Event(), CallSlot(), []
        before = given_up()

        async def block_once(_: Any) -> str:
            asked.append(threading.get_ident())
            if len(asked) == 1:
                release.wait(LONG)
            return DRAFT

        own = OwnLoop()
        critic = ChatModelCritic(RunnableLambda(block_once), own_loop=own)
        question = critic.messages(PROMPT)
        with place.taken(), pytest.raises(TimeoutError):
            critic.call(question, 0.05)
        place.give_up()
        counted = given_up()
        answer = critic.call(question, LONG)
        (blocked,) = (thread for thread in threading.enumerate() if thread.ident == asked[0])
        release.set()
        blocked.join(LONG)
        assert not blocked.is_alive()
        assert answer.content == DRAFT
        assert len(set(asked)) == 2
        assert counted == before + 1
        assert given_up() <= before
        own.stop()

    def test_who_waits_is_told_when_it_is_stopped(self) -> None:
        begun = threading.Event()

        class Slow(AsyncOnly):
            async def _agenerate(self, *args: Any, **kwargs: Any) -> ChatResult:
                begun.set()
                await asyncio.sleep(LONG)
                raise AssertionError

        own = OwnLoop()
        critic = ChatModelCritic(Slow(), own_loop=own)
        stopper = threading.Thread(target=lambda: (begun.wait(LONG), own.stop()))
        stopper.start()
        with pytest.raises(RuntimeError, match="cancelled"):
            critic.call(critic.messages(PROMPT), LONG)
        stopper.join(LONG)

    def test_one_loop_serves_call_after_call_and_can_be_stopped(self) -> None:
        own, model = OwnLoop(), AsyncOnly()
        critic = ChatModelCritic(model, own_loop=own)
        before = set(threading.enumerate())
        for _ in range(3):
            assert critic.call(critic.messages(PROMPT), LONG).content == DRAFT
        assert len(set(model._loops)) == 1
        (thread,) = (one for one in set(threading.enumerate()) - before if one.name == "draftcritic-loop")
        own.stop()
        thread.join(LONG)
        assert not thread.is_alive()
        assert model._loops[0].is_closed()
        critic.call(critic.messages(PROMPT), LONG)
        assert len(set(model._loops)) == 2
        own.stop()

    def test_a_call_that_is_given_up_is_cancelled(self) -> None:
        ended = threading.Event()

        class Hanging(AsyncOnly):
            async def _agenerate(self, *args: Any, **kwargs: Any) -> ChatResult:
                try:
                    await asyncio.sleep(LONG)
                finally:
                    ended.set()
                raise AssertionError

        own = OwnLoop()
        critic = ChatModelCritic(Hanging(), own_loop=own)
        with pytest.raises(TimeoutError, match="no answer within"):
            critic.call(critic.messages(PROMPT), 0.05)
        assert ended.wait(LONG)
        own.stop()

    @pytest.mark.parametrize("stop", [asyncio.CancelledError("own"), SystemExit(3), GeneratorExit()])
    def test_what_would_end_the_thread_is_an_error(self, stop: BaseException) -> None:
        class Stopping(AsyncOnly):
            async def _agenerate(self, *args: Any, **kwargs: Any) -> ChatResult:
                raise stop

        own = OwnLoop()
        critic = ChatModelCritic(Stopping(), own_loop=own)
        with pytest.raises(Exception, match=r"CancelledError|cancelled|SystemExit|GeneratorExit"):
            critic.call(critic.messages(PROMPT), LONG)
        sound = ChatModelCritic(AsyncOnly(), own_loop=own)
        sound.call(sound.messages(PROMPT), LONG)
        own.stop()

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
    @pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
    def test_a_forked_child_has_its_own(self) -> None:
        own = OwnLoop()
        critic = ChatModelCritic(AsyncOnly(answer="7"), own_loop=own)
        question = critic.messages((PromptMessage("user", "verdict"),))
        assert critic.call(question, LONG).content == "7"
        child = os.fork()
        if child == 0:
            os._exit(int(critic.call(question, LONG).content))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        own.stop()
