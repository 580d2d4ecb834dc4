"""The reasoning that a provider signs and demands back with the tool calls that it led to.

Anthropic, also on Bedrock, signs the words: its parts go back as they are. OpenAI's Responses API and Gemini demand
only what they have encrypted or know by its id: their words are never needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from draftcritic.langchain._capture import calls_of, has_calls, is_call, is_whole_call, mapping_of
from draftcritic.langchain._message_text import is_reasoning, is_text_part, kind_of_part

_SIGNATURES = ("signature", "thought_signature", "encrypted_content")
_GOOGLE = frozenset({"google_genai", "google_vertexai"})
_GEMINI_SIGNATURES = "__gemini_function_call_thought_signatures__"
_OPENAI_CALL_IDS = "__openai_function_call_ids__"
_REDACTED = "redacted_thinking"
_CALL_SIGNATURE = "function_call_signature"
_ITEM = "rs_"
"""How the ids of OpenAI's reasoning items begin."""
_WORDS = ("thinking", "reasoning", "text")
"""Keys of a signed part that hold its words."""
_KEPT = frozenset({"type", "id", "index", "encrypted_content"})


def signed_parts(content: list[Any], provider: Any) -> dict[int, Any]:
    """Return the parts of a content that have to go back, by their index.

    Args:
        content: the parts.
        provider: LangChain's name of the provider, which the metadata of a message has as `model_provider`.
    """
    signed = {}
    for index, part in enumerate(content):
        if isinstance(part, Mapping) and (kept := _signed(part, provider)) is not None:
            signed[index] = kept
    return signed


def signed_extra(extra: Mapping[str, Any], made: frozenset[str]) -> dict[str, Any]:
    """Return the entries of a message's `additional_kwargs` that have to go back with the calls `made`."""
    kept: dict[str, Any] = {}
    for key in (_GEMINI_SIGNATURES, _OPENAI_CALL_IDS):
        if isinstance(extra.get(key), Mapping):
            kept[key] = {call: value for call, value in extra[key].items() if call in made}
    reasoning, thinking = extra.get("reasoning"), extra.get("thinking")
    if isinstance(reasoning, Mapping) and _is_item(reasoning):
        kept["reasoning"] = _item(reasoning)
    if isinstance(thinking, Mapping) and thinking.get("signature"):
        kept["thinking"] = dict(thinking)
    return kept


def is_openable(part: Any) -> bool:
    """Whether a signed part has words in it that a client must not see."""
    return isinstance(part, Mapping) and bool(_signature(part)) and not _is_item(part) and part != without_words(part)


def without_words(part: Any) -> Any:
    """Return a signed part with its signature only; anything else unchanged."""
    if not isinstance(part, Mapping) or not _signature(part) or _is_item(part):
        return part
    bare = {key: "" if key in _WORDS and isinstance(value, str) else value for key, value in part.items()}
    if isinstance(part.get("reasoning_content"), Mapping):
        bare["reasoning_content"] = without_words(part["reasoning_content"])
    return bare


def _signed(part: Mapping[str, Any], provider: Any) -> Any:
    kind = kind_of_part(part)
    if kind in (_REDACTED, _CALL_SIGNATURE):
        return dict(part)
    if not is_reasoning(part):
        return None
    if _is_item(part):
        return _item(part)
    if (isinstance(provider, str) and provider in _GOOGLE) or not _signature(part):
        return None
    return dict(part)


def _is_item(part: Mapping[str, Any]) -> bool:
    """Whether a part is an item of OpenAI's Responses API."""
    item = part.get("id")
    extras = part.get("extras")
    encrypted = "encrypted_content" in part or (isinstance(extras, Mapping) and "encrypted_content" in extras)
    return encrypted or (isinstance(item, str) and item.startswith(_ITEM))


def _item(part: Mapping[str, Any]) -> dict[str, Any]:
    extras = part.get("extras")
    given = {**extras, **part} if isinstance(extras, Mapping) else part
    return {**{key: value for key, value in given.items() if key in _KEPT}, "summary": []}


def _signature(part: Mapping[str, Any]) -> Any:
    for holder in (part, part.get("extras"), part.get("reasoning_content")):
        if isinstance(holder, Mapping):
            for key in _SIGNATURES:
                if holder.get(key):
                    return holder[key]
    return None


_FIELDS = frozenset({"id", "name", "type", "usage_metadata", "chunk_position", "role"})
"""Fields of a message that stay as they are."""
_METADATA = frozenset(
    {
        "model",
        "model_name",
        "model_id",
        "model_provider",
        "finish_reason",
        "stop_reason",
        "stopReason",
        "done_reason",
        "output_version",
    }
)
"""Texts of a provider's metadata that stay."""
_COUNTS = frozenset({"token_usage", "usage", "usage_metadata", "prompt_eval_count", "eval_count"})
"""Numbers of a provider's metadata that stay."""
_LONGEST_WORD = 200
_CALL_IDS = ("id", "call_id", "tool_call_id", "toolUseId")
_CALL_PARTS = frozenset({"tool_use", "tool_call", "tool_call_chunk", "function_call", "custom_tool_call"})


class WithoutCalls(str):
    """A text that replaces a draft together with the tool calls of its message."""

    __slots__ = ()


def rewritten_result(result: Any, texts: Iterable[str | None]) -> Any:
    """Return a `ChatResult` in which each generation has its text of `texts`; None leaves it as it is.

    Nothing of `result` is changed: its generations may be entries of the application's cache.
    """
    of_texts = iter(texts)
    generations = [
        generation if (text := next(of_texts, None)) is None else rewritten_generation(generation, text)
        for generation in result.generations
    ]
    if all(new is old for new, old in zip(generations, result.generations, strict=True)):
        return result
    output = _allowed(mapping_of(result, "llm_output")) or None
    return result.model_copy(update={"generations": generations, "llm_output": output})


def rewritten_generation(generation: Any, text: str) -> Any:
    """Return a copy of a generation, or of a chunk of one, that says `text`. See `rewritten_message`."""
    # A copy runs no constructor: an integration's own class may want more there, or refuse what it finds.
    update: dict[str, Any] = {"message": rewritten_message(generation.message, text), "text": text}
    info = mapping_of(generation, "generation_info")
    if info:
        update["generation_info"] = _allowed(info) or None
    return generation.model_copy(update=update)


def rewritten_message(message: Any, text: str) -> Any:
    """Return a copy of a message that says `text`.

    Its id, name, usage, model name, finish reason and the tool calls that can be made stay, the calls with the signed
    reasoning that their provider demands back. With a text of type `WithoutCalls` the calls go too.
    """
    keeps_calls = has_calls(message) and not isinstance(text, WithoutCalls)
    made = _made(message) if keeps_calls else frozenset()
    update = {
        **_defaults(message),
        "content": _rewritten_content(message, str(text), made, keeps_calls),
        "additional_kwargs": _kept_extra(message, made) if keeps_calls else {},
        "response_metadata": _allowed(mapping_of(message, "response_metadata")),
    }
    if hasattr(message, "tool_calls"):
        update["tool_calls"] = calls_of(message) if keeps_calls else []
        update["invalid_tool_calls"] = []
    if hasattr(message, "tool_call_chunks"):
        chunks = message.tool_call_chunks if keeps_calls else ()
        update["tool_call_chunks"] = [c for c in chunks if _is_of(c, made) and is_call([c])]
    copy = message.model_copy(update=update)
    if getattr(copy, "__pydantic_extra__", None):
        object.__setattr__(copy, "__pydantic_extra__", {})
    return copy


def shown(message: Any) -> Any:
    """Return a rewritten message as a client may see it: without the words of the signed reasoning."""
    content, extra = message.content, mapping_of(message, "additional_kwargs")
    update: dict[str, Any] = {}
    if isinstance(content, list) and any(is_openable(part) for part in content):
        update["content"] = [without_words(part) for part in content]
    if any(is_openable(value) for value in extra.values()):
        update["additional_kwargs"] = {key: without_words(value) for key, value in extra.items()}
    return message.model_copy(update=update) if update else message


def as_chunk(message: Any) -> Any:
    """Return a message as a chunk of a stream; what is a chunk, or has no kind of chunk, is returned unchanged."""
    from langchain_core.messages import AIMessage, AIMessageChunk

    if isinstance(message, AIMessageChunk) or not isinstance(message, AIMessage):
        return message
    fields = AIMessageChunk.model_fields
    chunk = AIMessageChunk(content="", tool_call_chunks=_chunks_of(message))
    # Past the validation: it rejects values that LangChain itself puts there, such as the usage of a cached answer.
    given = {key: value for key, value in message.__dict__.items() if key in fields and key != "type"}
    if "chunk_position" in fields:
        given["chunk_position"] = "last"
    return chunk.model_copy(update=given)


def _chunks_of(message: Any) -> list[Any]:
    from langchain_core.messages import AIMessageChunk

    calls, invalid = message.tool_calls, message.invalid_tool_calls
    return list(AIMessageChunk(content="", tool_calls=calls, invalid_tool_calls=invalid).tool_call_chunks)


def _defaults(message: Any) -> dict[str, Any]:
    """Return the defaults of all fields that nothing is known of."""
    from langchain_core.messages import AIMessage, BaseMessage

    kind = type(message)
    known = {*BaseMessage.model_fields, *AIMessage.model_fields, *_FIELDS, "tool_call_chunks"}
    return {
        name: None if field.is_required() else field.get_default(call_default_factory=True)
        for name, field in kind.model_fields.items()
        if name not in known
    }


def _made(message: Any) -> frozenset[str]:
    """Return the ids of the calls that can be made."""
    raw = mapping_of(message, "additional_kwargs").get("tool_calls")
    whole = [call for call in raw if isinstance(call, Mapping)] if isinstance(raw, list) else []
    calls = [*calls_of(message), *(call for call in whole if is_whole_call(call.get("function")))]
    return frozenset(call["id"] for call in calls if isinstance(call.get("id"), str))


def _is_of(part: Any, made: frozenset[str]) -> bool:
    """Whether a part belongs to one of the calls; one without an id may."""
    ids = [part[key] for key in _CALL_IDS if part.get(key) is not None] if isinstance(part, Mapping) else [0]
    return not ids or any(isinstance(each, str) and each in made for each in ids)


def _kept_extra(message: Any, made: frozenset[str]) -> dict[str, Any]:
    """Return what of a message's `additional_kwargs` belongs to the calls that are made."""
    extra = mapping_of(message, "additional_kwargs")
    kept = signed_extra(extra, made)
    raw = extra.get("tool_calls")
    if isinstance(raw, list):
        kept["tool_calls"] = [call for call in raw if isinstance(call, Mapping) and _is_of(call, made)]
    if is_whole_call(extra.get("function_call")):
        kept["function_call"] = extra["function_call"]
    return kept


def _rewritten_content(message: Any, text: str, made: frozenset[str], keeps_calls: bool) -> Any:
    """Return the text, in a list of parts when the content was one; calls that are made keep their parts."""
    content = message.content
    if not isinstance(content, list):
        return text
    provider = mapping_of(message, "response_metadata").get("model_provider")
    signed = signed_parts(content, provider) if keeps_calls else {}
    parts: list[Any] = []
    placed = False
    for index, part in enumerate(content):
        if index in signed:
            parts.append(signed[index])
        elif is_text_part(part) and not placed:
            placed = True
            parts.append(_text_like(part, text))
        elif isinstance(part, Mapping) and kind_of_part(part) in _CALL_PARTS and _is_of(part, made):
            parts.append(part)
    if placed:
        return parts
    return [*parts[: len(signed)], {"type": "text", "text": text}, *parts[len(signed) :]]


def _text_like(part: Any, text: str) -> Any:
    """Return a text part of the same kind, at the same place of a stream."""
    if isinstance(part, str):
        return text
    kept = {"index": part["index"]} if isinstance(part.get("index"), (int, str)) else {}
    return {"type": part.get("type", "text"), "text": text, **kept}


def _allowed(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a provider's metadata speaks of the model, its usage and the end of the answer."""
    kept: dict[str, Any] = {}
    for key, value in metadata.items():
        if key in _METADATA and isinstance(value, str) and len(value) <= _LONGEST_WORD:
            kept[key] = value
        elif key in _COUNTS and (counts := _numbers(value)) is not None:
            kept[key] = counts
    return kept


def _numbers(value: Any) -> Any:
    """Return the numbers in nested mappings; None for anything else."""
    if isinstance(value, (int, float)):
        return value
    if not isinstance(value, Mapping):
        return None
    return {key: each for key, item in value.items() if (each := _numbers(item)) is not None}
