"""Reads the text out of what LangChain calls content: a string, or a list of parts of many kinds."""

from __future__ import annotations

import base64
import binascii
import json
import logging
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

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


_logger = logging.getLogger(__name__)
_MAX_DEPTH = 8
_MEDIA = ("image", "audio", "video", "file", "media", "document", "container_upload")
_FOR_PROGRAMS = frozenset(
    {"type", "id", "index", "signature", "cache_control", "thought_signature", "thoughtSignature", "extras", "caller"}
    | {"encrypted_content", "encrypted_index", "encrypted_stdout", "tool_use_id", "tool_call_id", "call_id", "file_id"}
    | {"container_id", "mime_type", "media_type", "source_type", "detail", "format"}
)
_DATA_FIELDS = frozenset({"data", "base64", "bytes", "file_data"})
_RECORD_FIELDS = frozenset({"json", "input", "args", "arguments", "value", "structured_content", "structuredContent"})
_BLOB = re.compile(r"(?:data:[\w/+.-]+;base64,)?[A-Za-z0-9+/_-]{256,}={0,2}")
_MAX_DECODED = 1_000_000


_RETRIEVED = frozenset({"search_result", "document", "web_search_result"})
"""Types of parts with which an application gives a model what it has retrieved."""


def retrieved_in(content: Any) -> list[str]:
    """Return the texts of the parts of a content that were retrieved."""
    if not isinstance(content, (list, tuple)):
        return []
    parts = (part for part in content if isinstance(part, Mapping) and kind_of_part(part) in _RETRIEVED)
    return [text for part in parts if (text := readable([part]).text)]


class Readable(NamedTuple):
    """The readable part of a content.

    Attributes:
        text: every text, one a line; records as JSON.
        has_unread: there is something that a model can read and that is not text here, such as an image.
    """

    text: str
    has_unread: bool


def readable(content: Any) -> Readable:
    """Return what a model could read in a content; reasoning is left out, it is no source."""
    if isinstance(content, str):
        return Readable(content, False)
    if isinstance(content, (list, tuple)) and content and all(map(is_text_part, content)):
        return Readable(text_of(content), False)
    if not content or not isinstance(content, (list, tuple, Mapping)):
        return Readable("", False)
    parts: list[str] = []
    unread = False
    for text in _texts_in_value(content, _MAX_DEPTH):
        if text is None:
            unread = True
        elif text:
            parts.append(text)
    return Readable("\n".join(parts), unread)


def _texts_in_value(value: Any, depth: int) -> Iterator[str | None]:
    """Yield the texts of a value; None for something that cannot be read here."""
    if isinstance(value, str):
        yield None if _BLOB.fullmatch(value) else value
    elif isinstance(value, (list, tuple)) and depth:
        if _is_record(value):
            yield as_json(value)
        else:
            for item in value:
                yield from _texts_in_value(item, depth - 1)
    elif isinstance(value, Mapping) and depth:
        yield from _part(value, depth)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield str(value)


def _part(part: Mapping[Any, Any], depth: int) -> Iterator[str | None]:
    kind = part.get("type")
    kind = kind if isinstance(kind, str) else ""
    if depth <= 0 or any(word in kind for word in _REASONING):
        return
    if not kind and _is_record(part):
        yield part["text"] if len(part) == 1 and isinstance(part.get("text"), str) else as_json(part)
        return
    found = False
    for key, value in part.items():
        if key in _FOR_PROGRAMS:
            continue
        is_inner = isinstance(value, Mapping) and (key == kind or isinstance(value.get("type"), str))
        if is_inner:
            found = True
            yield from _part({"type": kind, **value}, depth - 1)
        elif key in _RECORD_FIELDS and not isinstance(value, str):
            found = True
            yield as_json(value)
        elif key in _DATA_FIELDS and isinstance(value, str):
            found = True
            yield _decoded(part, value)
        elif key in ("image_url", "url", "uri", "file_uri") and any(word in kind for word in _MEDIA):
            found = True
            yield None
        else:
            for text in _texts_in_value(value, depth - 1):
                found = True
                yield text
    if not found and any(word in kind for word in _MEDIA):
        yield None  # a file that is known by its id


def _is_record(value: Any, depth: int = _MAX_DEPTH) -> bool:
    """Whether a value is data of the application: nothing in it has a `type` as parts of a message have it."""
    if depth <= 0:
        return True
    if isinstance(value, Mapping):
        return not isinstance(value.get("type"), str) and not any(
            isinstance(inner, (Mapping, list, tuple)) and not _is_record(inner, depth - 1) for inner in value.values()
        )
    return all(
        not isinstance(item, str) and (not isinstance(item, Mapping) or _is_record(item, depth - 1)) for item in value
    )


def as_json(value: Any) -> str:
    """Return a value as JSON; empty when it cannot be written."""
    try:
        return json.dumps(value, ensure_ascii=False, default=_as_text, skipkeys=True)
    except (TypeError, ValueError, RecursionError):
        return ""


def _as_text(value: Any) -> str:
    try:
        return str(value)
    except Exception:  # the application's own object
        _logger.debug("a %s in a message cannot be turned into text", type(value).__name__)
        return ""


def _decoded(part: Mapping[Any, Any], data: str) -> str | None:
    """Return the text of a part's data; None when it is no text."""
    if data.startswith("data:") and ";base64," in data:
        head, _, data = data.partition(";base64,")
        part = {"type": "base64", "media_type": head[5:]}
    kind = next((value for key in ("media_type", "mime_type") if isinstance(value := part.get(key), str)), "")
    is_plain = part.get("type") == "text" or part.get("source_type") == "text"
    if is_plain or not (part.get("type") == "base64" or "base64" in part or part.get("source_type") == "base64"):
        return None if _BLOB.fullmatch(data) else data
    if not (kind.startswith("text/") or kind.endswith(("json", "xml", "yaml", "csv"))):
        return None
    try:
        return base64.b64decode(data[:_MAX_DECODED], validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None
