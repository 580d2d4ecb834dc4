"""A draft as it was caught: references only, so that the caller's thread pays next to nothing."""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Callable, Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass
from sys import getsizeof
from typing import Any, NamedTuple

EMPTY: Mapping[str, Any] = {}


def mapping_of(holder: Any, name: str) -> Mapping[str, Any]:
    """Return a mapping that an integration may have left out, or have filled with something else."""
    value = getattr(holder, name, None)
    return value if type(value) is dict or isinstance(value, Mapping) else EMPTY


class Answer(NamedTuple):
    """What a model answered. The values are taken at once: the application may change the message afterwards."""

    content: Any
    tool_calls: bool
    parsed: bool
    metadata: Mapping[str, Any]
    message_id: str | None

    @classmethod
    def of(cls, message: Any) -> Answer:
        """Take the values of an AIMessage or a message chunk."""
        content = getattr(message, "content", None)
        extra = mapping_of(message, "additional_kwargs")
        return cls(
            content=tuple(content) if isinstance(content, list) else content,
            tool_calls=bool(
                getattr(message, "tool_calls", None)
                or getattr(message, "invalid_tool_calls", None)
                or extra.get("tool_calls")
                or extra.get("function_call")
            ),
            parsed=extra.get("parsed") is not None,
            metadata=mapping_of(message, "response_metadata"),
            message_id=getattr(message, "id", None),
        )


@dataclass(slots=True)
class Caught:
    """A draft and where it was caught.

    Attributes:
        model: the chat model that wrote it.
        prompt: its input, in any form that LangChain takes.
        answers: the message, or the chunks of a stream in their order.
        call_kwargs: the keyword arguments of the call, as bound tools and response formats come.
        metadata: the metadata of the run.
        run_id: the id of the run.
        origin: where the call stands in its trace.
        context: the caller's context variables.
        loop: the caller's event loop, when it was a coroutine that called.
        streamed: the draft left as a stream.
        exposed: its tokens reached a listener or reader while the model wrote.
        complete: the stream was read to its end.
    """

    model: Any
    prompt: Any
    answers: Sequence[Answer]
    call_kwargs: Mapping[str, Any]
    metadata: Mapping[str, Any]
    run_id: str
    origin: Any
    context: Context
    loop: AbstractEventLoop | None = None
    streamed: bool = False
    exposed: bool = False
    complete: bool = True

    def size(self) -> int:
        """Return how many bytes the texts hold, roughly; what is no plain text counts nothing."""
        prompt = self.prompt
        messages = prompt if isinstance(prompt, (list, tuple)) else (prompt,)
        texts = (getattr(each, "content", each) for each in (*messages, *self.answers))
        return sum(getsizeof(text) for text in texts if type(text) is str)


Draft = Callable[[], Caught]
"""A draft that can be caught: what is not reviewed need not be. To be called before anybody can change the message."""
