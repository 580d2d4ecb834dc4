"""A captured draft: references only, so that the caller's thread does almost no work."""

from __future__ import annotations

import json
from asyncio import AbstractEventLoop
from collections.abc import Callable, Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass
from itertools import islice
from sys import getsizeof
from typing import Any, NamedTuple

from draftcritic.langchain._message_text import other_text_of, text_of

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
    """What a model answered. The values are taken at once: the application may change the message afterwards.

    Attributes:
        content: the content of the message, a list as a tuple.
        other_text: text outside of the content's text parts; see `other_text_of`.
        tool_calls: the message has calls that can be made.
        call_chunks: pieces of calls, of one chunk of a stream.
        parsed: a structured answer was parsed from it.
        metadata: the provider's metadata.
        message_id: the id of the message.
    """

    content: Any
    other_text: str
    tool_calls: bool
    call_chunks: tuple[Any, ...]
    parsed: bool
    metadata: Mapping[str, Any]
    message_id: str | None
    extra: Mapping[str, Any] = EMPTY

    @classmethod
    def of(cls, message: Any, info: Mapping[str, Any] = EMPTY) -> Answer:
        """Take the values of an AIMessage or a message chunk.

        Args:
            message: the message.
            info: the `generation_info` of its generation, which LangChain adds to the metadata later.
        """
        content = getattr(message, "content", None)
        extra = mapping_of(message, "additional_kwargs")
        chunks = getattr(message, "tool_call_chunks", None)
        metadata = mapping_of(message, "response_metadata")
        return cls(
            content=tuple(content) if isinstance(content, list) else content,
            other_text=other_text_of(content, extra),
            tool_calls=not chunks and has_calls(message),
            call_chunks=tuple(chunks) if isinstance(chunks, (list, tuple)) else (),
            parsed=extra.get("parsed") is not None,
            metadata={**info, **metadata} if info else metadata,
            message_id=getattr(message, "id", None),
            extra=extra,
        )


def has_calls(message: Any) -> bool:
    """Whether a message has calls of tools that can be made: with a name, and arguments that could be parsed."""
    if calls_of(message):
        return True
    extra = mapping_of(message, "additional_kwargs")
    if not extra:
        return False
    raw = extra.get("tool_calls")
    functions = [call.get("function") for call in raw if isinstance(call, Mapping)] if isinstance(raw, list) else []
    return any(is_whole_call(function) for function in (*functions, extra.get("function_call")))


def calls_of(message: Any) -> list[Any]:
    """Return the parsed tool calls of a message."""
    calls = getattr(message, "tool_calls", None)
    return [call for call in calls if isinstance(call, Mapping)] if isinstance(calls, (list, tuple)) else []


def is_whole_call(function: Any) -> bool:
    """Whether a call in a provider's own form names a function and has arguments that are an object in JSON."""
    if not isinstance(function, Mapping) or not function.get("name"):
        return False
    arguments = function.get("arguments")
    if not arguments or isinstance(arguments, Mapping):
        return True
    try:
        return isinstance(json.loads(arguments), dict)
    except (TypeError, ValueError):
        return False


def are_calls(answers: Sequence[Answer]) -> bool:
    """Whether a message, or the chunks of a stream together, have calls that can be made."""
    if any(answer.tool_calls for answer in answers):
        return True
    calls: dict[Any, list[Mapping[str, Any]]] = {}
    for answer in answers:
        for chunk in answer.call_chunks:
            if isinstance(chunk, Mapping):
                index = chunk.get("index")
                calls.setdefault(index if isinstance(index, (int, str)) else object(), []).append(chunk)
    return any(is_call(chunks) for chunks in calls.values())


def is_call(chunks: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the chunks of one call make up a call, as LangChain reads them: also one that was cut off."""
    name, arguments = ("".join([str(c.get(key)) for c in chunks if c.get(key)]) for key in ("name", "args"))
    if not name or not arguments:
        return bool(name)
    from langchain_core.utils.json import parse_partial_json

    try:
        return isinstance(parse_partial_json(arguments), dict)
    except ValueError:
        return False


def text_of_answers(answers: Sequence[Answer]) -> str:
    """Return all text of a message, or of the chunks of a stream, that a person gets to read."""
    text = "".join([text_of(answer.content) for answer in answers])
    other = "".join([answer.other_text for answer in answers])
    return f"{text}\n{other}" if text and other else text or other


@dataclass(slots=True)
class CapturedDraft:
    """A draft and the call that it was captured in.

    Attributes:
        model: the chat model that wrote it.
        prompt: its input, in any form that LangChain takes.
        answers: the message, or the chunks of a stream in their order.
        call_kwargs: the keyword arguments of the call, as bound tools and response formats come.
        metadata: the metadata of the run.
        run_id: the id of the run.
        origin: the place of the call in its trace.
        context: the caller's context variables.
        loop: the caller's event loop, when it was a coroutine that called.
        streamed: the draft left as a stream.
        exposed: its tokens reached a listener or reader while the model wrote.
        complete: the stream was read to its end.
        enforced: its verdict decides what the caller gets.
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
    enforced: bool = False

    def size(self) -> int:
        """Return the approximate size in bytes of prompt, answers and metadata; see `bytes_of`."""
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
            continue  # a cycle, a part that occurs twice, or a value that a message should not have here
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


LazyDraft = Callable[[], CapturedDraft]
"""Captures a draft when it is called: a draft that is not reviewed costs nothing. It has to be called before the
application can change the message."""
