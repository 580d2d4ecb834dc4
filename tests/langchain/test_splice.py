from __future__ import annotations

import asyncio
import copy
import gc
import inspect
import marshal
import pickle
from typing import Any

import pytest

from draftcritic.langchain import SpliceError, splice


class Model:
    def call(self, a: int, b: int = 2, *, c: int = 3) -> tuple[int, int, int]:
        """Return the arguments."""
        return a, b, c

    async def acall(self, a: int, b: int = 2, *, c: int = 3) -> tuple[int, int, int]:
        return a, b, c

    def items(self, n: int = 3) -> Any:
        try:
            yield from range(n)
        finally:
            CLOSED.append("items")

    async def aitems(self, n: int = 3) -> Any:
        try:
            for i in range(n):
                yield i
        finally:
            CLOSED.append("aitems")


CLOSED: list[str] = []
SEEN: list[str] = []
KINDS = {
    "call": inspect.isfunction,
    "acall": inspect.iscoroutinefunction,
    "items": inspect.isgeneratorfunction,
    "aitems": inspect.isasyncgenfunction,
}


def call(original: Any, *args: Any, **kwargs: Any) -> Any:
    SEEN.append("call")
    return original(*args, **kwargs)


async def acall(original: Any, *args: Any, **kwargs: Any) -> Any:
    SEEN.append("acall")
    return await original(*args, **kwargs)


def items(original: Any, *args: Any, **kwargs: Any) -> Any:
    SEEN.append("items")
    yield from original(*args, **kwargs)


async def aitems(original: Any, *args: Any, **kwargs: Any) -> Any:
    SEEN.append("aitems")
    source = original(*args, **kwargs)
    try:
        async for item in source:
            yield item
    finally:
        await source.aclose()


@pytest.fixture
def spliced() -> Any:
    SEEN.clear()
    CLOSED.clear()
    done = [splice(getattr(Model, f.__name__), f) for f in (call, acall, items, aitems)]
    yield Model()
    for one in done:
        one.remove()


def test_the_handler_sees_every_call_with_its_arguments(spliced: Model) -> None:
    assert spliced.call(1) == (1, 2, 3)
    assert spliced.call(1, 5, c=6) == (1, 5, 6)
    assert asyncio.run(spliced.acall(1, c=9)) == (1, 2, 9)
    assert list(spliced.items()) == [0, 1, 2]

    async def collect() -> list[int]:
        return [i async for i in spliced.aitems(2)]

    assert asyncio.run(collect()) == [0, 1]
    assert SEEN == ["call", "call", "acall", "items", "aitems"]


def test_the_function_object_its_kind_signature_and_source_stay() -> None:
    before = {name: Model.__dict__[name] for name in KINDS}
    described = {name: (inspect.signature(f), inspect.getsource(f), f.__doc__) for name, f in before.items()}
    done = [splice(before[f.__name__], f) for f in (call, acall, items, aitems)]
    try:
        for name, is_kind in KINDS.items():
            function = Model.__dict__[name]
            assert function is before[name]
            assert is_kind(function)
            assert (inspect.signature(function), inspect.getsource(function), function.__doc__) == described[name]
            assert pickle.loads(pickle.dumps(function)) is function
            assert copy.deepcopy(function) is function
    finally:
        for one in done:
            one.remove()


def test_remove_gives_everything_back() -> None:
    function = Model.call
    code, defaults, kwdefaults, attributes = (
        function.__code__,
        function.__defaults__,
        function.__kwdefaults__,
        dict(function.__dict__),
    )
    one = splice(function, call)
    one.remove()
    one.remove()
    assert function.__code__ is code
    assert function.__defaults__ == defaults
    assert function.__kwdefaults__ == kwdefaults
    assert function.__dict__ == attributes
    assert Model().call(1) == (1, 2, 3)


def test_a_method_bound_before_the_splice_is_reached(spliced: Model) -> None:
    SEEN.clear()
    one = Model()
    assert one.call(1) == (1, 2, 3)
    for_later = one.call
    assert for_later(4) == (4, 2, 3)
    assert SEEN == ["call", "call"]


def test_leaving_a_generator_early_closes_the_original(spliced: Model) -> None:
    iterator = spliced.items()
    next(iterator)
    iterator.close()
    assert CLOSED == ["items"]

    async def leave() -> None:
        stream = spliced.aitems()
        await stream.__anext__()
        await stream.aclose()

    asyncio.run(leave())
    assert CLOSED == ["items", "aitems"]


def test_a_dropped_generator_closes_the_original(spliced: Model) -> None:
    iterator = spliced.items()
    next(iterator)
    del iterator
    gc.collect()
    assert CLOSED == ["items"]


def test_an_exception_of_the_original_is_the_same_object(spliced: Model) -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'a'"):
        spliced.call()  # type: ignore[call-arg]


def test_a_second_splice_is_refused(spliced: Model) -> None:
    with pytest.raises(SpliceError, match="has a handler already"):
        splice(Model.call, call)


def test_what_is_no_plain_function_is_refused() -> None:
    with pytest.raises(SpliceError, match="no plain Python function"):
        splice(len, call)


def test_a_closure_takes_a_handler_and_keeps_its_cells() -> None:
    free = 1

    def closure(more: int = 2) -> int:
        return free + more

    one = splice(closure, lambda original, *args: original(*args) * 10)
    assert closure() == 30
    one.remove()
    assert closure() == 3


def test_no_live_object_is_among_the_constants(spliced: Model) -> None:
    for name in KINDS:
        marshal.dumps(getattr(Model, name).__code__)
