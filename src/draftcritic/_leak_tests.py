"""Tests that any middleware of `create_agent` has to pass when it withholds answers. They need no test framework."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Sequence
from typing import Any

_QUESTION = "What is the code word?"


class MiddlewareLeakTests:
    """Subclass it and return the middleware under test: each test then asks an agent in another way.

    The middleware has to withhold every answer that has the word of `secret` in it, and to let any other pass. Each
    test looks for pieces of the secret in all that a client, a callback, the state or a cache gets to see.

    Attributes:
        secret: a word that no client may see; the agent's model writes it in two tokens.
        harmless: an answer that has to arrive as it is.

    Example:
        class TestMyMiddleware(MiddlewareLeakTests):
            def middleware(self) -> Any:
                return MyMiddleware(forbidden=self.secret)
    """

    secret = "Zanzibar"  # noqa: S105 - the secret of a story
    harmless = "Your order is on its way."

    def middleware(self) -> Any:
        """Return a new instance of the middleware under test."""
        raise NotImplementedError("return the middleware under test from `middleware`")

    def around(self) -> tuple[Sequence[Any], Sequence[Any]]:
        """Return other middleware: what is before the one under test, and what is after it."""
        return (), ()

    def agent(self, answer: Any, *, streams: bool = True, **options: Any) -> Any:
        """Return an agent whose model gives the answers in turn, the last one for ever."""
        from langchain.agents import create_agent

        answers = answer if isinstance(answer, list) else [answer]
        before, after = self.around()
        model = options.pop("model", None) or scripted_chat_model(answers, streams=streams)
        inner = options.pop("inner", ())
        return create_agent(model, middleware=[*before, self.middleware(), *after, *inner], **options)

    def draft(self) -> str:
        """Return an answer that must not be seen."""
        return f"The code word is {self.secret} and nothing else."

    def assert_unseen(self, seen: Any) -> None:
        """Fail when a piece of the secret is in what was seen."""
        text = repr(seen)
        half = len(self.secret) // 2
        for piece in (self.secret, self.secret[:half], self.secret[half:]):
            assert piece not in text, f"{piece!r} of the withheld answer was shown"

    # Synchronous ways.

    def test_invoke(self) -> None:
        for streams in (False, True):
            self.assert_unseen(self.agent(self.draft(), streams=streams).invoke(_ask()))

    def test_stream_of_values(self) -> None:
        self._stream("values")

    def test_stream_of_updates(self) -> None:
        self._stream("updates")

    def test_stream_of_messages(self) -> None:
        self._stream("messages")

    def test_stream_of_several_modes(self) -> None:
        self._stream(["messages", "updates", "values", "debug"])

    def test_stream_of_events(self) -> None:
        agent = self.agent(self.draft())
        if hasattr(agent, "stream_events"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the third version is a beta
                self.assert_unseen(list(agent.stream_events(_ask(), version="v3")))

    # Asynchronous ways.

    def test_ainvoke(self) -> None:
        for streams in (False, True):
            self.assert_unseen(asyncio.run(self.agent(self.draft(), streams=streams).ainvoke(_ask())))

    def test_astream_of_values(self) -> None:
        self._astream("values")

    def test_astream_of_updates(self) -> None:
        self._astream("updates")

    def test_astream_of_messages(self) -> None:
        self._astream("messages")

    def test_astream_of_events(self) -> None:
        for version in ("v1", "v2"):
            for streams in (False, True):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # the first version is deprecated
                    agent = self.agent(self.draft(), streams=streams)
                    self.assert_unseen(asyncio.run(_all(agent.astream_events(_ask(), version=version))))

    # What else could see it.

    def test_callbacks(self) -> None:
        from draftcritic._scripted_chat import Listener

        for streams in (False, True):
            listener = Listener()
            config = {"callbacks": [listener]}
            list(self.agent(self.draft(), streams=streams).stream(_ask(), config, stream_mode="messages"))
            assert listener.seen
            self.assert_unseen(listener.seen)

    def test_state(self) -> None:
        from langgraph.checkpoint.memory import InMemorySaver

        agent = self.agent(self.draft(), checkpointer=InMemorySaver())
        config = {"configurable": {"thread_id": "1"}}
        agent.invoke(_ask(), config)
        self.assert_unseen([state.values for state in agent.get_state_history(config)])

    def test_cache(self) -> None:
        from langchain_core.caches import InMemoryCache

        cache = InMemoryCache()
        model = scripted_chat_model([self.draft()], streams=False, cache=cache)
        for _ in range(2):
            self.assert_unseen(self.agent(None, model=model).invoke(_ask()))
        self.assert_unseen(cache._cache)

    def test_answer_after_a_tool_call(self) -> None:
        def look_up(order: str) -> str:
            """Look an order up."""
            return f"order {order} was found"

        call = {"name": "look_up", "args": {"order": "1"}, "id": "call-1"}
        agent = self.agent([call, self.draft()], tools=[look_up])
        seen = list(agent.stream(_ask(), stream_mode=["messages", "values"]))
        assert "order 1 was found" in repr(seen)
        self.assert_unseen(seen)

    def test_answer_of_a_fallback_model(self) -> None:
        from langchain.agents.middleware import ModelFallbackMiddleware

        for streams in (False, True):
            broken = scripted_chat_model([ConnectionError("down")], streams=streams)
            inner = [ModelFallbackMiddleware(scripted_chat_model([self.draft()], streams=streams))]
            for mode in ("messages", "values"):
                self.assert_unseen(list(self.agent(None, model=broken, inner=inner).stream(_ask(), stream_mode=mode)))
                stream = self.agent(None, model=broken, inner=inner).astream(_ask(), stream_mode=mode)
                self.assert_unseen(asyncio.run(_all(stream)))

    def test_model_that_asks_another_model(self) -> None:
        for streams in (False, True):
            inner = scripted_chat_model([self.draft()], streams=streams)
            for mode in ("messages", "values"):
                agent = self.agent(None, model=scripted_chat_model([inner], streams=False))
                self.assert_unseen(list(agent.stream(_ask(), stream_mode=mode)))

    def test_harmless_answer_arrives(self) -> None:
        for streams in (False, True):
            agent = self.agent(self.harmless, streams=streams)
            assert agent.invoke(_ask())["messages"][-1].text == self.harmless
            assert _text(agent.stream(_ask(), stream_mode="messages")) == self.harmless
            chunks = asyncio.run(_all(agent.astream(_ask(), stream_mode="messages")))
            assert _text(chunks) == self.harmless

    def _stream(self, mode: Any) -> None:
        for streams in (False, True):
            seen = list(self.agent(self.draft(), streams=streams).stream(_ask(), stream_mode=mode))
            assert seen
            self.assert_unseen(seen)

    def _astream(self, mode: Any) -> None:
        for streams in (False, True):
            seen = asyncio.run(_all(self.agent(self.draft(), streams=streams).astream(_ask(), stream_mode=mode)))
            assert seen
            self.assert_unseen(seen)


def scripted_chat_model(answers: Sequence[Any], *, streams: bool = True, **fields: Any) -> Any:
    """Return a chat model that answers from a script.

    Args:
        answers: in turn, the last one for ever: a text; a mapping, which is a tool call; an exception, which is raised;
            or a chat model, which is asked.
        streams: the model has a stream, with a token for every four characters of a word.
        **fields: further fields of the model, such as `cache`.
    """
    from draftcritic._scripted_chat import ScriptedChatModel, StreamingChatModel

    return (StreamingChatModel if streams else ScriptedChatModel)(answers=list(answers), **fields)


def _ask() -> dict[str, Any]:
    return {"messages": [("user", _QUESTION)]}


async def _all(stream: Any) -> list[Any]:
    return [item async for item in stream]


def _text(chunks: Any) -> str:
    return "".join(chunk.text for chunk, _ in chunks)
