"""Classes that answer by methods of their own, in every form that a method can have: none is missed in silence."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from typing import Any, ClassVar

import pytest
import wrapt
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatResult, LLMResult
from support.chat import Chat
from support.sdk import Telemetry

from draftcritic import DraftCriticInstrumentor

DRAFT = "The code word is Zanzibar."
SAFE = "I would rather not say."


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    yield Telemetry()
    DraftCriticInstrumentor().uninstrument()


def enforce(telemetry: Telemetry, **settings: Any) -> None:
    critic = Chat(answers=[f'{{"verdict": "refuse", "refusal_message": "{SAFE}"}}'])
    DraftCriticInstrumentor().instrument(**telemetry.providers, mode="enforce", model=critic, **settings)


def message() -> AIMessage:
    return AIMessage(DRAFT, id="own-1")


def chunks() -> list[AIMessageChunk]:
    return [AIMessageChunk("The code word is "), AIMessageChunk("Zanzibar.")]


def invoke(self: Any, prompt: Any, config: Any = None, **kwargs: Any) -> Any:
    return message()


async def ainvoke(self: Any, prompt: Any, config: Any = None, **kwargs: Any) -> Any:
    return message()


def returns_coroutine(self: Any, prompt: Any, config: Any = None, **kwargs: Any) -> Any:
    return ainvoke(self, prompt)


def passes_through(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


@wrapt.decorator
def by_wrapt(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    return wrapped(*args, **kwargs)


class Decorator:
    """A decorator that is a class, as a descriptor of its own."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return functools.partial(self, instance)


def with_extra(self: Any, extra: str, prompt: Any, config: Any = None, **kwargs: Any) -> Any:
    return message()


def result(*_: Any, **__: Any) -> LLMResult:
    return LLMResult(generations=[[ChatGeneration(message=message())]])


async def aresult(*_: Any, **__: Any) -> LLMResult:
    # Not by `result`: a function that is a method of another class here is reviewed as that class's.
    return LLMResult(generations=[[ChatGeneration(message=message())]])


def chat_result(self: Any, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=message())])


def gives_chunks(self: Any, prompt: Any, config: Any = None, **kwargs: Any) -> Any:
    yield from chunks()


async def agives_chunks(self: Any, prompt: Any, config: Any = None, **kwargs: Any) -> Any:
    for chunk in chunks():
        yield chunk


def text_of(stream: Any) -> str:
    return "".join(chunk.text for chunk in stream)


async def atext_of(stream: Any) -> str:
    return "".join([chunk.text async for chunk in stream])


async def atext(awaitable: Any) -> str:
    return str((await awaitable).text)


def from_free_variable() -> Any:
    answer = message()

    def closure(self: Any, prompt: Any, config: Any = None, **kwargs: Any) -> Any:
        return answer

    return closure


BY_INVOKE = {
    "plain": invoke,
    "closure": from_free_variable(),
    "decorated": passes_through(invoke),
    "decorated by wrapt": by_wrapt(invoke),
    "decorated by a class": Decorator(invoke),
    "partialmethod": functools.partialmethod(with_extra, "extra"),
    "lambda": lambda self, prompt, config=None, **kwargs: message(),
}
FORMS: dict[str, tuple[dict[str, Any], Callable[[Any], str]]] = {
    **{f"invoke, {name}": ({"invoke": f}, lambda m: m.invoke("q").text) for name, f in BY_INVOKE.items()},
    "ainvoke": ({"ainvoke": ainvoke}, lambda m: asyncio.run(atext(m.ainvoke("q")))),
    "ainvoke, decorated": ({"ainvoke": passes_through(ainvoke)}, lambda m: asyncio.run(atext(m.ainvoke("q")))),
    "ainvoke, plain": ({"ainvoke": returns_coroutine}, lambda m: asyncio.run(atext(m.ainvoke("q")))),
    "ainvoke, partialmethod": (
        {"ainvoke": functools.partialmethod(returns_coroutine)},
        lambda m: asyncio.run(atext(m.ainvoke("q"))),
    ),
    "stream": ({"stream": gives_chunks}, lambda m: text_of(m.stream("q"))),
    "stream, iterator": ({"stream": lambda self, prompt, **_: iter(chunks())}, lambda m: text_of(m.stream("q"))),
    "stream, map": ({"stream": lambda self, prompt, **_: map(copy, chunks())}, lambda m: text_of(m.stream("q"))),
    "stream, decorated": ({"stream": passes_through(gives_chunks)}, lambda m: text_of(m.stream("q"))),
    "stream, partialmethod": (
        {"stream": functools.partialmethod(gives_chunks)},
        lambda m: text_of(m.stream("q")),
    ),
    "astream": ({"astream": agives_chunks}, lambda m: asyncio.run(atext_of(m.astream("q")))),
    "astream, decorated": ({"astream": passes_through(agives_chunks)}, lambda m: asyncio.run(atext_of(m.astream("q")))),
    "transform": ({"transform": gives_chunks}, lambda m: text_of(m.transform(iter(["q"])))),
    "atransform": ({"atransform": agives_chunks}, lambda m: asyncio.run(atext_of(m.atransform(None)))),
    "batch": ({"batch": lambda self, inputs, *_, **__: [message() for _ in inputs]}, lambda m: m.batch(["q"])[0].text),
    "batch_as_completed": (
        {"batch_as_completed": lambda self, inputs, *_, **__: enumerate([message() for _ in inputs])},
        lambda m: next(iter(m.batch_as_completed(["q"])))[1].text,
    ),
    "generate": ({"generate": result}, lambda m: m.generate([["q"]]).generations[0][0].message.text),
    "generate below invoke": ({"generate": result}, lambda m: m.invoke("q").text),
    "agenerate": ({"agenerate": aresult}, lambda m: asyncio.run(atext(m.ainvoke("q")))),
    "generate_prompt": ({"generate_prompt": result}, lambda m: m.invoke("q").text),
    "agenerate_prompt": ({"agenerate_prompt": aresult}, lambda m: asyncio.run(atext(m.ainvoke("q")))),
    "_generate_with_cache": ({"_generate_with_cache": chat_result}, lambda m: m.invoke("q").text),
}  # fmt: skip


def defined(members: dict[str, Any]) -> Any:
    # Pydantic takes what is neither a function nor annotated for a field without a type.
    annotations = {name: ClassVar[Any] for name, value in members.items() if isinstance(value, Decorator)}
    return type("Own", (Chat,), {"__module__": __name__, "__annotations__": annotations, **members})


def assigned(members: dict[str, Any]) -> Any:
    kind = defined({})
    instance_made_before = kind(answers=["x"])
    for name, value in members.items():
        setattr(kind, name, value)
    assert type(instance_made_before) is kind
    return kind


def mixed_in(members: dict[str, Any]) -> Any:
    return type("Own", (type("Mixin", (), members), Chat), {"__module__": __name__})


@pytest.mark.parametrize("make", [defined, assigned, mixed_in])
@pytest.mark.parametrize("form", FORMS)
def test_a_refused_draft_is_replaced(form: str, make: Callable[..., Any], telemetry: Telemetry) -> None:
    members, ask = FORMS[form]
    enforce(telemetry)
    assert ask(make(members)(answers=["x"])) == SAFE
    assert [r["draftcritic.action"] for r in telemetry.reviews()] == ["blocked"]


@pytest.mark.parametrize("form", FORMS)
def test_off_gives_the_draft_back(form: str, telemetry: Telemetry) -> None:
    members, ask = FORMS[form]
    kind = defined(members)
    before = {name: vars(kind)[name] for name in members}
    enforce(telemetry)
    DraftCriticInstrumentor().uninstrument()
    assert ask(kind(answers=["x"])) == DRAFT
    assert {name: vars(kind)[name] for name in members} == before
    assert telemetry.reviews() == []


def test_a_method_that_calls_super_is_one_draft(telemetry: Telemetry) -> None:
    class Polite(Chat):
        def invoke(self, prompt: Any, config: Any = None, **kwargs: Any) -> Any:
            return super().invoke(prompt, config, **kwargs)

        def stream(self, prompt: Any, config: Any = None, **kwargs: Any) -> Any:
            return super().stream(prompt, config, **kwargs)

    enforce(telemetry)
    assert Polite(answers=[DRAFT]).invoke("q").text == SAFE
    assert text_of(Polite(answers=[DRAFT]).stream("q")) == SAFE
    assert len(telemetry.reviews()) == 2


def test_each_answer_of_an_own_batch_is_reviewed_with_its_input(telemetry: Telemetry) -> None:
    kind = defined({"batch": lambda self, inputs, *_, **__: [message(), ValueError("x"), message()]})
    enforce(telemetry)
    first, second, third = kind(answers=["x"]).batch(["a", "b", "c"])
    assert (first.text, type(second), third.text) == (SAFE, ValueError, SAFE)
    assert len(telemetry.reviews()) == 2


def test_a_class_whose_init_subclass_calls_nothing_is_found(telemetry: Telemetry) -> None:
    enforce(telemetry)

    class Base(Chat):
        def __init_subclass__(cls, **kwargs: Any) -> None:
            """Say nothing to the class above."""

    class Own(Base):
        def invoke(self, prompt: Any, config: Any = None, **kwargs: Any) -> Any:
            return message()

    assert Own(answers=["x"]).invoke("q").text == SAFE


def test_a_method_shared_with_another_kind_of_class_is_left_alone_there(telemetry: Telemetry) -> None:
    class Mixin:
        def invoke(self, prompt: Any, config: Any = None, **kwargs: Any) -> Any:
            return message()

    class Other(Mixin):
        pass

    enforce(telemetry)
    own = type("Own", (Mixin, Chat), {"__module__": __name__})
    assert own(answers=["x"]).invoke("q").text == SAFE
    assert Other().invoke("q").text == DRAFT


def test_a_message_that_cannot_be_copied_is_replaced_all_the_same(telemetry: Telemetry) -> None:
    class Fixed(AIMessage):
        def model_copy(self, **_: Any) -> Any:
            raise TypeError("no copies")

    enforce(telemetry)
    kind = defined({"invoke": lambda self, prompt, *_, **__: Fixed(DRAFT)})
    assert kind(answers=["x"]).invoke("q").text == SAFE


class TestWhatCannotBeReached:
    MEMBERS: ClassVar[dict[str, Any]] = {
        "invoke": property(lambda self: lambda *_, **__: message()),
        "ainvoke": staticmethod(ainvoke),
        "stream_events": invoke,
    }

    def warnings(self, caplog: pytest.LogCaptureFixture) -> list[str]:
        return [
            r.getMessage()
            for r in caplog.records
            if r.levelno >= logging.WARNING and r.name.startswith("draftcritic.langchain")
        ]

    def test_one_warning_for_each_class_at_once_in_enforce(
        self, telemetry: Telemetry, caplog: pytest.LogCaptureFixture
    ) -> None:
        before = defined(self.MEMBERS)
        enforce(telemetry)
        (warning,) = self.warnings(caplog)
        assert f"{before.__module__}.{before.__qualname__}" in warning
        assert "invoke, ainvoke, stream_events" in warning
        caplog.clear()
        defined(self.MEMBERS)
        assert len(self.warnings(caplog)) == 1

    def test_nothing_is_logged_in_observe(self, telemetry: Telemetry, caplog: pytest.LogCaptureFixture) -> None:
        defined(self.MEMBERS)
        DraftCriticInstrumentor().instrument(**telemetry.providers, mode="observe")
        assert self.warnings(caplog) == []


def test_an_own_batch_in_threads_without_a_context_reviews_each_draft(telemetry: Telemetry) -> None:
    def batch(self: Any, inputs: Any, *_: Any, **__: Any) -> list[Any]:
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(lambda one: BaseChatModel.invoke(self, one), inputs))

    enforce(telemetry)
    answers = defined({"batch": batch})(answers=[DRAFT]).batch(["a", "b"])
    assert [answer.text for answer in answers] == [SAFE, SAFE]
