"""Reads the text out of what LangChain calls content: a string, or a list of parts of many kinds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_TEXT_TYPES = frozenset({"text", "output_text"})
_TEXT_KEYS = frozenset({"text", "transcript", "refusal", "output_text", "content", "markdown", "html", "caption"})
"""Keys of a part of another kind that carry text for a person."""
_MEDIA_KEYS = frozenset({"text", "transcript", "caption", "extras"})
_OPAQUE_KEYS = frozenset(
    {"type", "id", "index", "url", "uri", "data", "base64", "mime_type", "file_id", "call_id", "signature", "status"}
)
"""Keys whose texts are for programs."""
_MEDIA_TYPES = frozenset({"image", "image_url", "audio", "input_audio", "output_audio", "video", "file", "media"})
_REASONING = ("reasoning", "thinking", "thought")
_CALLING = ("tool", "function_call", "_call", "input_json_delta")
_DEPTH = 6
"""How deep a part is looked into."""
_NON_STANDARD = "non_standard"


def is_text_part(part: Any) -> bool:
    """Whether a part of a message's content is text.

    Reasoning, tool use, images and parts of unknown kinds are not. A part without a type counts when it has a `text`
    of type str.
    """
    if isinstance(part, str):
        return True
    if not isinstance(part, Mapping):
        return False
    kind = part.get("type", "text")
    return isinstance(kind, str) and kind in _TEXT_TYPES and isinstance(part.get("text"), str)


def text_of(content: Any) -> str:
    """Return the text parts of a message's content, in their order, as one string."""
    if isinstance(content, str):
        return content
    return "".join(_texts(content))


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, (list, tuple)):
        for part in content:
            if is_text_part(part):
                yield part if isinstance(part, str) else part["text"]


def is_reasoning(part: Any) -> bool:
    """Whether a part of a message's content is a model's reasoning, whatever its provider calls it."""
    return isinstance(part, Mapping) and any(word in kind_of_part(part) for word in _REASONING)


def kind_of_part(part: Mapping[str, Any]) -> str:
    """Return the type of a part, empty when it has none."""
    kind = part.get("type")
    return kind if isinstance(kind, str) else ""


def other_text_of(content: Any, extra: Mapping[str, Any]) -> str:
    """Return the text of an answer outside of its text parts, one piece a line.

    Plain-text documents, transcripts of audio, refusals and parts of kinds that LangChain does not know carry text that
    a person gets to read. Reasoning, tool calls and binary data do not.

    Args:
        content: the content of the message.
        extra: its `additional_kwargs`.
    """
    pieces: list[str] = []
    if isinstance(content, (list, tuple)):
        for part in content:
            if isinstance(part, Mapping) and not is_text_part(part):
                pieces.extend(_pieces(part, _DEPTH))
    audio, refusal = extra.get("audio"), extra.get("refusal")
    if isinstance(audio, Mapping):
        pieces.extend(_values(audio, _MEDIA_KEYS, _DEPTH))
    if isinstance(refusal, str):
        pieces.append(refusal)
    return "\n".join(piece for piece in pieces if piece)


def _pieces(part: Mapping[str, Any], depth: int) -> Iterator[str]:
    """Return the texts in a part that is not a text part."""
    kind = kind_of_part(part)
    if is_reasoning(part) or any(word in kind for word in _CALLING):
        return
    if kind == _NON_STANDARD:
        yield from _values(part.get("value"), None, depth)
    else:
        yield from _values(part, _MEDIA_KEYS if kind in _MEDIA_TYPES else _TEXT_KEYS, depth)


def _values(value: Any, keys: frozenset[str] | None, depth: int) -> Iterator[str]:
    """Return the texts under `keys` of nested mappings, under all keys that are not opaque when `keys` is None."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping) and depth:
        if is_reasoning(value):
            return
        for key, each in value.items():
            if key in keys if keys is not None else key not in _OPAQUE_KEYS:
                yield from _values(each, keys, depth - 1)
    elif isinstance(value, (list, tuple)) and depth:
        for each in value:
            yield from _values(each, keys, depth - 1)
