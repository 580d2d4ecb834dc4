"""Tells a structured answer, which is data for a program, from a draft, which is text for a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_FORMAT_KEYS = (
    # LangChain's own note of `with_structured_output`, and what it binds for each provider.
    "ls_structured_output_format",
    "structured_output_format",
    "response_format",  # OpenAI, Azure, Mistral, Groq, Fireworks, xAI
    "response_schema",  # Google
    "response_json_schema",  # Google
    "format",  # Ollama
    "output_format",  # Anthropic
    "guided_json",  # vLLM and NVIDIA
)
_TELLING_KEYS = frozenset({*_FORMAT_KEYS, "response_mime_type", "output_config"})


def asks_for_structure(call_kwargs: Mapping[str, Any]) -> bool:
    """Whether a model call was told to answer in a format instead of text."""
    if _TELLING_KEYS.isdisjoint(call_kwargs):
        return False
    for key in _FORMAT_KEYS:
        if key in call_kwargs and _is_format(call_kwargs[key]):
            return True
    mime_type = call_kwargs.get("response_mime_type")
    if isinstance(mime_type, str) and mime_type.endswith("json"):
        return True
    output_config = call_kwargs.get("output_config")
    return isinstance(output_config, Mapping) and _is_format(output_config.get("format"))


def _is_format(value: Any) -> bool:
    if value is None or value == "text":
        return False
    return not (isinstance(value, Mapping) and value.get("type") == "text")
