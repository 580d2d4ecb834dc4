"""The reasoning that a provider signs and demands back with the tool calls that it led to.

Anthropic, also on Bedrock, signs the words: its parts go back as they are. OpenAI's Responses API and Gemini demand
only what they have encrypted or know by its id: their words are never needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from draftcritic.langchain._content import is_reasoning, kind_of_part

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
