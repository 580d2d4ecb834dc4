"""Puts another text into an answer, on copies: the original may live in a cache or in somebody's hands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from draftcritic.langchain._caught import mapping_of
from draftcritic.langchain._content import is_text_part

_OF_THE_OLD_TEXT = ("annotations", "citations")
"""Keys of a text part that speak of its text."""
_OF_THE_OLD_TOKENS = ("logprobs", "logprobs_result", "avg_logprobs")
"""Keys of response metadata that spell the draft out token by token."""


def rewritten_result(result: Any, texts: Iterable[str | None]) -> Any:
    """Return a `ChatResult` in which each generation has its text of `texts`; None leaves it as it is.

    Nothing of `result` is changed: its generations may be entries of the application's cache.
    """
    of_texts = iter(texts)
    generations = []
    for generation in result.generations:
        text = next(of_texts, None)
        generations.append(generation if text is None else _rewritten_generation(generation, text))
    return result.model_copy(update={"generations": generations})


def rewritten_message(message: Any, text: str) -> Any:
    """Return a copy of a message that says `text`, with its id, name, usage and metadata.

    In a list of parts the first text part gets the text, the other text parts go, and parts of all other kinds stay
    where they are.
    """
    update = {"content": _rewritten_content(message.content, text)}
    metadata = mapping_of(message, "response_metadata")
    if metadata:
        update["response_metadata"] = _without(metadata, _OF_THE_OLD_TOKENS)
    return message.model_copy(update=update)


def as_chunk(message: Any) -> Any:
    """Return a whole message as the one chunk of a stream."""
    from langchain_core.messages import AIMessageChunk

    given = {
        "content": message.content,
        "additional_kwargs": message.additional_kwargs,
        "response_metadata": message.response_metadata,
        "id": message.id,
        "name": message.name,
        "usage_metadata": message.usage_metadata,
        "tool_calls": message.tool_calls,
        "invalid_tool_calls": message.invalid_tool_calls,
    }
    if "chunk_position" in AIMessageChunk.model_fields:
        given["chunk_position"] = "last"
    return AIMessageChunk(**given)


def _rewritten_generation(generation: Any, text: str) -> Any:
    # A copy runs no constructor: an integration's own class may want more there, or refuse what it finds.
    update: dict[str, Any] = {"message": rewritten_message(generation.message, text), "text": text}
    info = mapping_of(generation, "generation_info")
    if info:
        update["generation_info"] = _without(info, _OF_THE_OLD_TOKENS)
    return generation.model_copy(update=update)


def _rewritten_content(content: Any, text: str) -> Any:
    if not isinstance(content, list):
        return text
    parts: list[Any] = []
    placed = False
    for part in content:
        if not is_text_part(part):
            parts.append(part)
        elif not placed:
            placed = True
            parts.append(text if isinstance(part, str) else {**_without(part, _OF_THE_OLD_TEXT), "text": text})
    return parts if placed else [*parts, {"type": "text", "text": text}]


def _without(mapping: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: value for key, value in mapping.items() if key not in keys}
