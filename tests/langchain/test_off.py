"""Off is off, whatever other tools have patched meanwhile, and a start that failed can be repeated."""

from __future__ import annotations

import gc
import logging
import sys
import weakref
from collections.abc import Iterator
from itertools import count
from types import FunctionType
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from support.chat import Chat, StreamingChat
from support.sdk import Telemetry

from draftcritic import DraftCriticInstrumentor
from draftcritic.langchain import _install as _targets

DRAFT = "The code word is Zanzibar."
SAFE = "I would rather not say."
REFUSE = f'{{"verdict": "refuse", "refusal_message": "{SAFE}"}}'
NUMBERS = count()
PATCHED = ("_generate_with_cache", "_agenerate_with_cache", "stream", "astream")


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    state = {
        name: (f.__code__, f.__defaults__, f.__kwdefaults__, dict(f.__dict__))
        for name in PATCHED
        for f in [vars(BaseChatModel)[name]]
    }
    yield Telemetry()
    if DraftCriticInstrumentor().is_instrumented_by_opentelemetry:
        DraftCriticInstrumentor().uninstrument()
    for name, (code, defaults, kwdefaults, attributes) in state.items():
        function = vars(BaseChatModel)[name]
        function.__code__, function.__defaults__, function.__kwdefaults__ = code, defaults, kwdefaults
        function.__dict__.clear()
        function.__dict__.update(attributes)


def start(telemetry: Telemetry, **settings: Any) -> DraftCriticInstrumentor:
    plugin = DraftCriticInstrumentor()
    plugin.instrument(**{**telemetry.providers, "mode": "enforce", "model": Chat(answers=[REFUSE]), **settings})
    return plugin


def answers() -> list[str]:
    return [
        StreamingChat(answers=[DRAFT]).invoke("q").text,
        "".join(chunk.text for chunk in StreamingChat(answers=[DRAFT]).stream("q")),
    ]


def defaults() -> dict[str, Any]:
    functions = {name: vars(BaseChatModel)[name] for name in PATCHED}
    return {name: (function.__defaults__, function.__kwdefaults__) for name, function in functions.items()}


def exchange_code_of(name: str) -> None:
    """Exchange the code of a method as another tool would, which keeps what it found and calls that."""
    function = vars(BaseChatModel)[name]
    found = FunctionType(function.__code__, function.__globals__, name, function.__defaults__, function.__closure__)
    found.__kwdefaults__ = function.__kwdefaults__
    kept = f"_other_tool_{next(NUMBERS)}"
    setattr(sys, kept, found)
    body = f"def {name}(*args, **kwargs):\n    import sys\n    return sys.{kept}(*args, **kwargs)\n"
    namespace: dict[str, Any] = {}
    exec(body, namespace)
    function.__code__ = namespace[name].__code__


@pytest.mark.parametrize("covered", [PATCHED, ("_generate_with_cache",)])
class TestNextToAToolThatExchangesCode:
    def test_off_is_off_at_once_and_logged(
        self, covered: tuple[str, ...], telemetry: Telemetry, caplog: pytest.LogCaptureFixture
    ) -> None:
        plugin = start(telemetry)
        for name in covered:
            exchange_code_of(name)
        assert answers() == [SAFE, SAFE]
        reviews = len(telemetry.reviews())
        with caplog.at_level(logging.INFO):
            plugin.uninstrument()
        assert answers() == [DRAFT, DRAFT]
        assert len(telemetry.reviews()) == reviews
        assert "without effect" in caplog.text

    def test_a_later_start_works_and_ends(self, covered: tuple[str, ...], telemetry: Telemetry) -> None:
        for _ in range(2):
            plugin = start(telemetry)
            for name in covered:
                exchange_code_of(name)
            assert answers() == [SAFE, SAFE]
            plugin.uninstrument()
            assert answers() == [DRAFT, DRAFT]

    def test_defaults_stay(self, covered: tuple[str, ...], telemetry: Telemetry) -> None:
        before = defaults()
        plugin = start(telemetry)
        for name in covered:
            exchange_code_of(name)
        plugin.uninstrument()
        assert {
            n: (vars(BaseChatModel)[n].__defaults__, vars(BaseChatModel)[n].__kwdefaults__) for n in PATCHED
        } == before


def test_code_that_another_tool_saved_while_on_is_inert_when_it_comes_back(telemetry: Telemetry) -> None:
    plugin = start(telemetry)
    function = vars(BaseChatModel)["_generate_with_cache"]
    saved = function.__code__
    plugin.uninstrument()
    function.__code__ = saved
    assert answers() == [DRAFT, DRAFT]
    start(telemetry)
    assert answers() == [SAFE, SAFE]


def test_a_class_that_is_defined_below_another_tools_hook_is_left_alone_when_off(telemetry: Telemetry) -> None:
    plugin = start(telemetry)
    ours = vars(BaseChatModel)["__init_subclass__"]

    def theirs(cls: type[Any], **kwargs: Any) -> None:
        ours.__get__(None, cls)(**kwargs)

    BaseChatModel.__init_subclass__ = classmethod(theirs)  # type: ignore[assignment]
    try:
        plugin.uninstrument()

        class Own(Chat):
            def invoke(self, prompt: Any, config: Any = None, **kwargs: Any) -> Any:
                return AIMessage(DRAFT)

        assert Own(answers=["x"]).invoke("q").text == DRAFT
        assert telemetry.reviews() == []
        start(telemetry)
        assert Own(answers=["x"]).invoke("q").text == SAFE
    finally:
        del BaseChatModel.__init_subclass__


class TestAStartThatFails:
    def test_by_its_settings_can_be_repeated(self, telemetry: Telemetry) -> None:
        plugin = start(telemetry, mode="nonsense")
        assert plugin.is_instrumented_by_opentelemetry is False
        start(telemetry)
        assert plugin.is_instrumented_by_opentelemetry is True
        assert answers() == [SAFE, SAFE]

    def test_in_the_middle_leaves_nothing_behind(self, telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch) -> None:
        code = {name: vars(BaseChatModel)[name].__code__ for name in PATCHED}

        def fail(*_: Any) -> Any:
            raise RuntimeError

        with monkeypatch.context() as patch:
            patch.setattr(_targets, "Overrides", fail)
            plugin = start(telemetry)
        assert plugin.is_instrumented_by_opentelemetry is False
        assert {name: vars(BaseChatModel)[name].__code__ for name in PATCHED} == code
        assert telemetry.values("draftcritic.queue.depth") == {}
        start(telemetry)
        assert answers() == [SAFE, SAFE]

    def test_off_by_its_settings_is_no_start(self, telemetry: Telemetry) -> None:
        plugin = start(telemetry, mode="off")
        assert plugin.is_instrumented_by_opentelemetry is False
        start(telemetry)
        assert answers() == [SAFE, SAFE]


def test_the_runtime_is_collected_after_uninstrument(telemetry: Telemetry) -> None:
    plugin = start(telemetry)
    assert answers() == [SAFE, SAFE]
    wiring: Any = plugin._wiring
    runtime = weakref.ref(wiring.runtime)
    plugin.uninstrument()
    gc.collect()
    assert runtime() is None
