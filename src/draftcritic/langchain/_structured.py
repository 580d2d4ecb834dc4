"""Finds out a structured answer, which is data for a program, from a draft, which is text for a person."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

_FORMAT_KEYS = frozenset(
    {
        # LangChain's own note of `with_structured_output`, and what it binds for each provider.
        "ls_structured_output_format",
        "structured_output_format",
        "response_format",  # OpenAI, Azure, Mistral, Groq, Fireworks, xAI
        "response_schema",  # Google
        "responseSchema",
        "response_json_schema",  # Google
        "responseJsonSchema",
        "format",  # Ollama; OpenAI's Responses API and Anthropic within their own tables
        "output_format",  # Anthropic
        "guided_json",  # vLLM and NVIDIA
        "guided_choice",
        "guided_regex",
        "guided_grammar",
        "structured_outputs",  # vLLM
        "json_schema",
        "json_mode",
        "textFormat",  # Bedrock
    }
)
_MIME_KEYS = frozenset({"response_mime_type", "responseMimeType"})
_TABLES = frozenset(
    {
        "output_config",  # Anthropic, Bedrock
        "outputConfig",
        "text",  # OpenAI's Responses API
        "generation_config",  # Google
        "generationConfig",
        "extra_body",
        "model_kwargs",
        "additional_model_request_fields",  # Bedrock
        "additionalModelRequestFields",
        "default_kwargs",
        "nvext",  # NVIDIA
    }
)
"""Tables of parameters that may hold such a key."""
_LOOKED_AT = _FORMAT_KEYS | _MIME_KEYS | _TABLES
_DEPTH = 4


def asks_for_structure(call_kwargs: Mapping[str, Any], model: Any = None) -> bool:
    """Whether a model call is to answer in a format instead of text.

    Args:
        call_kwargs: the arguments of the call, which win over the fields of the model.
        model: the chat model, whose fields may hold a format for every call.
    """
    if _says_so(call_kwargs, _DEPTH):
        return True
    fields = getattr(model, "__dict__", None)
    if not isinstance(fields, dict):
        return False
    extra = getattr(model, "model_extra", None)
    given = {**fields, **(extra if isinstance(extra, Mapping) else {})}
    return _says_so(given, _DEPTH, but=call_kwargs)


def _says_so(parameters: Mapping[str, Any], depth: int, but: Mapping[str, Any] = MappingProxyType({})) -> bool:
    for key in _LOOKED_AT.intersection(parameters).difference(but):
        value = parameters[key]
        if key in _FORMAT_KEYS:
            if _is_format(value):
                return True
        elif key in _MIME_KEYS:
            if isinstance(value, str) and (value.endswith("json") or "x.enum" in value):
                return True
        elif depth and _says_so(_table(value), depth - 1, but):
            return True
    return False


def _table(value: Any) -> Mapping[str, Any]:
    """Return a table of parameters, which may be an object of the provider's own client."""
    if isinstance(value, Mapping):
        return value
    fields = getattr(value, "__dict__", None)
    return fields if isinstance(fields, dict) else {}


def _is_format(value: Any) -> bool:
    if not value or value == "text":
        return False
    return not (isinstance(value, Mapping) and value.get("type") == "text")
