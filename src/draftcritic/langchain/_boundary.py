"""The boundary between LangChain's methods and the handlers: no exception of ours passes it.

A handler gets the method below as an `Original`, which records what came of the call. An exception that the method
below raised goes to the caller unchanged. Any other exception is a fault of ours: it is reported, and the caller gets
the method's own result, or the refusal that the settings demand.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from draftcritic.langchain._answer_shapes import refusal_chunk, refused

Handler = Callable[..., Any]
"""Called as `handler(original, *args, **kwargs)`; returns what the original does (a value, a coroutine, a generator, an
asynchronous generator)."""
OnFault = Callable[[Exception, Mapping[str, Any]], "str | None"]
"""Reports a fault of ours, with the call's metadata. Returns the text that replaces the answer; None where the answer
may leave without a review."""


def let_pass(_: Exception, __: Mapping[str, Any]) -> str | None:
    """Let the answer leave without a report: the fault handler of a handler that was removed during a call."""
    return None


class _Below:
    """The method below a handler, and what came of calling it."""

    __slots__ = ("_function", "called", "done", "error", "result")

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.called = self.done = False
        self.result: Any = None
        self.error: BaseException | None = None

    def callback(self, function: Callable[..., Any], /, *args: Any) -> Any:
        """Call code of the application within a handler: its exceptions are the caller's."""
        try:
            return function(*args)
        except BaseException as error:
            self.error = error
            raise

    async def acallback(self, function: Callable[..., Any], /, *args: Any) -> Any:
        """Await code of the application within a handler. See `callback`."""
        try:
            return await function(*args)
        except BaseException as error:
            self.error = error
            raise


class Original(_Below):
    """A method that returns a value."""

    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the method."""
        return self.instead(self._function, *args, **kwargs)

    def instead(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call `function` of LangChain in place of the method: its result and its exceptions are the caller's."""
        self.called = True
        try:
            self.result = function(*args, **kwargs)
        except BaseException as error:
            self.error = error
            raise
        self.done = True
        return self.result


class AsyncOriginal(_Below):
    """A method that returns an awaitable."""

    __slots__ = ()

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the method and await it."""
        return await self.instead(self._function, *args, **kwargs)

    async def instead(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Await `function` of LangChain in place of the method. See `Original.instead`."""
        self.called = True
        try:
            self.result = await function(*args, **kwargs)
        except BaseException as error:
            self.error = error
            raise
        self.done = True
        return self.result


class OriginalItems(_Below):
    """A method that returns an iterator; the iterator itself once it is called.

    Attributes:
        pending: what the method gave and the caller has not got.
    """

    __slots__ = ("_source", "pending")

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._source: Any = None
        self.pending: list[Any] = []

    def __call__(self, *args: Any, **kwargs: Any) -> OriginalItems:
        """Call the method."""
        return self.instead(self._function, *args, **kwargs)

    def instead(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> OriginalItems:
        """Take the iterator of `function` in place of the method's. See `Original.instead`."""
        self.called = True
        self._source = self.callback(lambda: iter(function(*args, **kwargs)))
        return self

    def __iter__(self) -> OriginalItems:
        return self

    def __next__(self) -> Any:
        try:
            item = next(self._source)
        except StopIteration:
            raise
        except BaseException as error:
            self.error = error
            raise
        self.pending.append(item)
        return item

    def close(self) -> None:
        """Do nothing: after a fault of ours the caller gets the rest, so `guarded_items` closes the iterator."""

    def finish(self) -> None:
        """Close the method's iterator."""
        close = getattr(self._source, "close", None)
        if close is not None:
            close()

    def rest(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Any]:
        """Give out what the caller has not got yet."""
        if not self.called:
            self(*args, **kwargs)
        yield from self.pending
        self.pending.clear()
        if self._source is not None:
            yield from self._source


class OriginalAsyncItems(_Below):
    """A method that returns an asynchronous iterator; the iterator itself once it is called. See `OriginalItems`."""

    __slots__ = ("_source", "pending")

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._source: Any = None
        self.pending: list[Any] = []

    def __call__(self, *args: Any, **kwargs: Any) -> OriginalAsyncItems:
        """Call the method."""
        return self.instead(self._function, *args, **kwargs)

    def instead(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> OriginalAsyncItems:
        """Take the iterator of `function` in place of the method's. See `Original.instead`."""
        self.called = True
        self._source = self.callback(lambda: function(*args, **kwargs).__aiter__())
        return self

    def __aiter__(self) -> OriginalAsyncItems:
        return self

    async def __anext__(self) -> Any:
        try:
            item = await self._source.__anext__()
        except StopAsyncIteration:
            raise
        except BaseException as error:
            self.error = error
            raise
        self.pending.append(item)
        return item

    async def aclose(self) -> None:
        """Do nothing. See `OriginalItems.close`."""

    async def finish(self) -> None:
        """Close the method's iterator."""
        close = getattr(self._source, "aclose", None)
        if close is not None:
            await close()

    async def rest(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> AsyncGenerator[Any, None]:
        """Give out what the caller has not got yet."""
        if not self.called:
            self(*args, **kwargs)
        for item in self.pending:
            yield item
        self.pending.clear()
        if self._source is not None:
            async for item in self._source:
                yield item


def metadata_in(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Mapping[str, Any]:
    """Return the run metadata among the arguments of a call: its own, a configuration's or a run manager's."""
    found: dict[str, Any] = {}
    for value in ({"metadata": kwargs.get("metadata")}, *args[2:], kwargs.get("config"), kwargs.get("run_manager")):
        with suppress(Exception):  # values of the application's own classes
            metadata = value.get("metadata") if isinstance(value, Mapping) else getattr(value, "metadata", None)
            if isinstance(metadata, Mapping):
                found.update(metadata)
    return found


def guarded(
    handler: Handler, function: Callable[..., Any], fault: OnFault, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call `handler` for a method that returns a value."""
    below = Original(function)
    try:
        return handler(below, *args, **kwargs)
    except Exception as error:
        if error is below.error:
            raise
        if below.error is not None:
            raise below.error from below.error.__cause__
        text = fault(error, metadata_in(args, kwargs))
        result = below.result if below.done else function(*args, **kwargs)
        return result if text is None else refused(result, text)
    finally:
        below.error = None  # an exception refers to its frames, and these to it


async def guarded_coroutine(
    handler: Handler, function: Callable[..., Any], fault: OnFault, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Await `handler` for a method that returns an awaitable."""
    below = AsyncOriginal(function)
    try:
        return await handler(below, *args, **kwargs)
    except Exception as error:
        if error is below.error:
            raise
        if below.error is not None:
            raise below.error from below.error.__cause__
        text = fault(error, metadata_in(args, kwargs))
        result = below.result if below.done else await function(*args, **kwargs)
        return result if text is None else refused(result, text)
    finally:
        below.error = None


def guarded_items(
    handler: Handler,
    function: Callable[..., Any],
    fault: OnFault,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    refusal: Callable[[str], Any] = refusal_chunk,
) -> Iterator[Any]:
    """Give out the items of `handler` for a method that returns an iterator, and close that at the end.

    A stream that is refused because of a fault has one item, which `refusal` makes of the text.
    """
    below = OriginalItems(function)
    items = None
    try:
        while True:
            try:
                items = items or handler(below, *args, **kwargs)
                item = next(items)
            except StopIteration:
                return
            except Exception as error:
                if below.error is not None:
                    raise below.error from below.error.__cause__
                text = fault(error, metadata_in(args, kwargs))
                break
            below.pending.clear()
            # Outside the block above: what the caller throws into the generator is no fault of ours.
            yield item
        if text is None:
            yield from below.rest(args, kwargs)
        else:
            yield refusal(text)
    finally:
        below.error = None
        if items is not None:
            items.close()
        below.finish()


async def guarded_async_items(
    handler: Handler,
    function: Callable[..., Any],
    fault: OnFault,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    refusal: Callable[[str], Any] = refusal_chunk,
) -> AsyncGenerator[Any, None]:
    """Give out the items of `handler` for a method that returns an asynchronous iterator. See `guarded_items`."""
    below = OriginalAsyncItems(function)
    items = None
    try:
        while True:
            try:
                items = items or handler(below, *args, **kwargs)
                item = await items.__anext__()
            except StopAsyncIteration:
                return
            except Exception as error:
                if below.error is not None:
                    raise below.error from below.error.__cause__
                text = fault(error, metadata_in(args, kwargs))
                break
            below.pending.clear()
            yield item
        if text is None:
            async for item in below.rest(args, kwargs):
                yield item
        else:
            yield refusal(text)
    finally:
        below.error = None
        if items is not None:
            await items.aclose()
        await below.finish()
