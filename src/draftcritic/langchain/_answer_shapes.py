"""Finds the messages in what a chat model's methods return, and puts other texts in their place."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from draftcritic.langchain._rewrite import as_chunk, rewritten_message, rewritten_result, shown

_logger = logging.getLogger(__name__)


def messages_in(value: Any) -> list[list[Any]]:
    """Return the messages of a method's return value, one list for each of its inputs; empty for other values."""
    if hasattr(value, "content"):
        return [[value]]
    generations = getattr(value, "generations", None)
    if isinstance(generations, (list, tuple)):
        nested = any(isinstance(each, (list, tuple)) for each in generations)
        return [[_message_of(one) for one in of_input] for of_input in (generations if nested else [generations])]
    if isinstance(value, (list, tuple)):
        # A batch may hold an exception in place of an answer.
        return [[each] if hasattr(each, "content") else [] for each in value]
    return []


def replaced(value: Any, texts: Iterable[str | None]) -> Any:
    """Return a method's return value with each message saying its text of `texts`; None leaves it as it is."""
    of_texts = iter(texts)
    if hasattr(value, "content"):
        return replaced_message(value, next(of_texts, None))
    generations = getattr(value, "generations", None)
    if isinstance(generations, (list, tuple)):
        if any(isinstance(each, (list, tuple)) for each in generations):
            lists = [[_replaced_generation(one, next(of_texts, None)) for one in each] for each in generations]
            return value.model_copy(update={"generations": lists})
        return replaced_result(value, of_texts)
    return [replaced_message(m, next(of_texts, None)) if hasattr(m, "content") else m for m in value]


def replaced_result(result: Any, texts: Iterable[str | None]) -> Any:
    """Return a `ChatResult` with other texts; one of nothing but the texts where its kind cannot be copied."""
    wanted = list(texts)
    if not any(text is not None for text in wanted):
        return result
    try:
        return rewritten_result(result, wanted)
    except Exception:
        from langchain_core.outputs import ChatResult

        _logger.warning("%s cannot be copied; a refused draft leaves as plain text", type(result).__qualname__)
        generations = [_plain_generation(text or "") for text in wanted[: len(result.generations)]]
        return ChatResult(generations=generations)


def replaced_message(message: Any, text: str | None) -> Any:
    """Return a message that says `text`; a plain one where its kind cannot be copied."""
    if text is None:
        return message
    try:
        return rewritten_message(message, text)
    except Exception:
        from langchain_core.messages import AIMessage

        _logger.warning("%s cannot be copied; a refused draft leaves as plain text", type(message).__qualname__)
        return AIMessage(content=text)


def replaced_chunks(chunks: Sequence[Any], text: str | None) -> Sequence[Any]:
    """Return the chunks of a stream, or the one chunk that takes their place."""
    if text is None or not chunks:
        return chunks
    try:
        whole = chunks[0]
        for chunk in chunks[1:]:
            whole = whole + chunk
        return [as_chunk(shown(rewritten_message(whole, text)))]
    except Exception:
        _logger.warning("%s cannot be joined; a refused draft leaves as plain text", type(chunks[0]).__qualname__)
        return [refusal_chunk(text)]


def refused(value: Any, text: str) -> Any:
    """Return a method's return value with `text` for every message."""
    found = messages_in(value)
    return replaced(value, [text for of_input in found for _ in of_input]) if any(found) else value


def refusal_chunk(text: str) -> Any:
    """Return `text` as the one chunk of a stream."""
    from langchain_core.messages import AIMessage

    return as_chunk(AIMessage(content=text))


def _message_of(generation: Any) -> Any:
    message = getattr(generation, "message", None)
    if message is not None:
        return message
    from langchain_core.messages import AIMessage

    return AIMessage(content=str(getattr(generation, "text", "")))


def _replaced_generation(generation: Any, text: str | None) -> Any:
    if text is None:
        return generation
    try:
        from langchain_core.outputs import ChatResult

        if hasattr(generation, "message"):
            return rewritten_result(ChatResult(generations=[generation]), [text]).generations[0]
        return generation.model_copy(update={"text": text, "generation_info": None})
    except Exception:
        return _plain_generation(text)


def _plain_generation(text: str) -> Any:
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration

    return ChatGeneration(message=AIMessage(content=text))
