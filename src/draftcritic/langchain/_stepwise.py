"""Streams whose items are made inside a block: a context variable or a mark is there only while the source works."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

Step = Callable[[], AbstractContextManager[Any]]
"""Makes the block for one item."""


def stepwise(source: Any, step: Step) -> Iterator[Any]:
    """Give out the items of a generator, make each inside a block of its own, and close the generator in the end."""
    try:
        while True:
            with step():
                try:
                    item = next(source)
                except StopIteration:
                    return
            yield item
    finally:
        source.close()


async def astepwise(source: Any, step: Step) -> AsyncGenerator[Any, None]:
    """Give out the items of an asynchronous generator. See `stepwise`."""
    try:
        while True:
            with step():
                try:
                    item = await source.__anext__()
                except StopAsyncIteration:
                    return
            yield item
    finally:
        await source.aclose()
