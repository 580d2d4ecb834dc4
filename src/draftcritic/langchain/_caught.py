"""A draft as it was caught: references only, so that the caller's thread pays next to nothing."""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Callable, Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass
from itertools import islice
from sys import getsizeof
from typing import Any, NamedTuple

EMPTY: Mapping[str, Any] = {}
_MOST_VALUES = 20_000
"""Values of a draft that are looked at for its size: a millisecond or two, and some thousand messages."""

_TEXTS = frozenset({str, bytes})
_LEAVES = frozenset({type(None), bool, int, float})
_HOLDERS = (dict, list, tuple, set, frozenset)
_PLAIN_HOLDERS = frozenset(_HOLDERS)


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
        """Return how many bytes the texts of prompt, answers and metadata hold, roughly; see `bytes_of`."""
        answers = [part for answer in self.answers for part in (answer.content, answer.metadata)]
        return bytes_of(self.prompt, self.metadata, answers)


def bytes_of(*values: Any) -> int:
    """Return how many bytes the texts and bytes within `values` hold, as they are and without turning them into any.

    They are looked for in lists, tuples, sets, mappings' values and the fields of pydantic models, which prompt values,
    messages and documents are. Other objects count nothing, and neither does what lies beyond `_MOST_VALUES`. The
    application waits for the answer: of a message nothing is looked at that is always short.
    """
    total, left = 0, _MOST_VALUES
    waiting: list[Any] = [values]
    seen: set[int] = set()
    while waiting and left > 0:
        holder = waiting.pop()
        if id(holder) in seen or not isinstance(holder, _HOLDERS):
            continue  # a ring, or a part that stands twice; or something that a message should not hold there
        seen.add(id(holder))
        # Taken at once: another thread of the application may change it meanwhile.
        inside = tuple(islice(holder.values() if isinstance(holder, dict) else holder, left))
        left -= len(inside)
        for value in inside:
            kind = type(value)
            if kind in _TEXTS:
                total += getsizeof(value)
            elif kind in _LEAVES:
                continue
            elif kind in _PLAIN_HOLDERS:
                waiting.append(value)
            elif hasattr(kind, "__pydantic_validator__"):
                total += _of_fields(value.__dict__, waiting)
            elif isinstance(value, _HOLDERS):
                waiting.append(value)
    return total


def _of_fields(fields: dict[str, Any], waiting: list[Any]) -> int:
    """Return the size of a message's own text, and put what else can be long in it among what waits."""
    content = fields.get("content")
    if type(content) is not str or fields.get("artifact") is not None:
        waiting.append(fields)
        return 0
    if fields.get("additional_kwargs"):
        waiting.append(fields["additional_kwargs"])
    if fields.get("response_metadata"):
        waiting.append(fields["response_metadata"])
    if fields.get("tool_calls"):
        waiting.append(fields["tool_calls"])
    return getsizeof(content)


Draft = Callable[[], Caught]
"""A draft that can be caught: what is not reviewed need not be. To be called before anybody can change the message."""
