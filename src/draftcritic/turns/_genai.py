"""What instrumentations write on the span of a model call: OpenTelemetry GenAI, OpenLLMetry, OpenInference."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from draftcritic.telemetry import names
from draftcritic.turns._langfuse import conversation_from
from draftcritic.turns._messages import Conversation, as_text, conversation_of

Attributes = Mapping[str, Any]

INPUT = "gen_ai.input.messages"
OUTPUT = "gen_ai.output.messages"
SYSTEM = "gen_ai.system_instructions"
CHAT = frozenset({"chat", "text_completion", "generate_content"})
TOOL_CALL_ID = "gen_ai.tool.call.id"
SPAN_KIND = names.OPENINFERENCE_KIND
LANGFUSE_TYPE = "langfuse.observation.type"
_INDEXED = re.compile(r"gen_ai\.(prompt|completion)\.(\d+)\.(.+)")
_INDEXED_CALL = re.compile(r"tool_calls\.(\d+)\.(id|name|arguments)")
_INFERENCE = re.compile(r"llm\.(input|output)_messages\.(\d+)\.message\.(.+)")
_INFERENCE_CALL = re.compile(r"tool_calls\.(\d+)\.tool_call\.(id|function\.name|function\.arguments)")
_INFERENCE_PART = re.compile(r"contents\.(\d+)\.message_content\.text")
_DOCUMENT = re.compile(r"retrieval\.documents\.(\d+)\.document\.content")


@dataclass
class ModelCall:
    """A model call as a span describes it.

    Attributes:
        conversation: what went in and what came out.
        captured: whether texts were recorded at all.
        model: the model that answered.
        response_id, conversation_id, user_id: ids.
    """

    conversation: Conversation = field(default_factory=Conversation)
    captured: bool = False
    model: str = ""
    response_id: str = ""
    conversation_id: str = ""
    user_id: str = ""


def is_model_call(attributes: Attributes) -> bool:
    """Whether the attributes are those of a chat model's call."""
    operation = attributes.get(names.GEN_AI_OPERATION_NAME)
    if operation is not None:
        return operation in CHAT
    if attributes.get(SPAN_KIND) is not None:
        return attributes.get(SPAN_KIND) == "LLM"
    if attributes.get(LANGFUSE_TYPE) is not None:
        return attributes.get(LANGFUSE_TYPE) == "generation"
    return attributes.get("llm.request.type") in ("chat", "completion") or "gen_ai.completion.0.role" in attributes


def model_call(attributes: Attributes) -> ModelCall:
    """Return the model call that the attributes of a span, or of a log event, describe."""
    call = ModelCall(
        model=_first(
            attributes,
            "gen_ai.response.model",
            "gen_ai.request.model",
            "llm.model_name",
            "langfuse.observation.model.name",
        ),
        response_id=_first(attributes, names.GEN_AI_RESPONSE_ID),
        conversation_id=_first(
            attributes,
            names.GEN_AI_CONVERSATION_ID,
            names.SESSION_ID,
            "langfuse.session.id",
            "traceloop.association.properties.thread_id",
            "traceloop.association.properties.session_id",
        ),
        user_id=_first(
            attributes, names.USER_ID, "enduser.id", "langfuse.user.id", "traceloop.association.properties.user_id"
        ),
    )
    for read in (_current, _indexed, _inference, _langfuse):
        found = read(attributes)
        if found is not None:
            call.conversation, call.captured = found, True
            break
    return call


def documents_of(attributes: Attributes) -> list[str]:
    """Return the texts that a retriever's span names."""
    found = [(int(match[1]), as_text(attributes[key])) for key in attributes if (match := _DOCUMENT.fullmatch(key))]
    return [text for _, text in sorted(found) if text]


def _first(attributes: Attributes, *keys: str) -> str:
    for name in keys:
        value = attributes.get(name)
        if isinstance(value, (str, int)) and not isinstance(value, bool) and value != "":
            return str(value)
    return ""


def _current(attributes: Attributes) -> Conversation | None:
    """Read the messages of the GenAI conventions: JSON text on spans, structured on log events."""
    if INPUT not in attributes and OUTPUT not in attributes:
        return None
    before, cut_before = _structured(attributes.get(INPUT))
    after, cut_after = _structured(attributes.get(OUTPUT))
    system, cut_system = _structured(attributes.get(SYSTEM))
    found = conversation_of([*_instructions(system), *before], after)
    if cut_before or cut_after or cut_system:
        found.truncated = True
    return found


def _instructions(parts: Sequence[Any]) -> Iterable[Mapping[str, Any]]:
    if parts and all(isinstance(part, Mapping) and "role" not in part for part in parts):
        yield {"role": "system", "parts": list(parts)}
    else:
        yield from (part for part in parts if isinstance(part, Mapping))


def _structured(value: Any) -> tuple[Sequence[Any], bool]:
    """Return a list, and whether its text was cut so that it cannot be read."""
    if isinstance(value, str) and value:
        try:
            value = json.loads(value)
        except ValueError:
            return (), True
    return (value, False) if isinstance(value, list) else ((), False)


def _indexed(attributes: Attributes) -> Conversation | None:
    """Read the older attributes of OpenLLMetry: one attribute for each field of each message."""
    sides: dict[str, dict[int, dict[str, Any]]] = {"prompt": {}, "completion": {}}
    for key, value in attributes.items():
        match = _INDEXED.fullmatch(key) if key.startswith("gen_ai.") else None
        if match is None:
            continue
        message = sides[match[1]].setdefault(int(match[2]), {})
        call = _INDEXED_CALL.fullmatch(match[3])
        if call is None:
            message[match[3]] = value
        else:
            message.setdefault("calls", {}).setdefault(int(call[1]), {})[call[2]] = value
    return _from_sides(sides["prompt"], sides["completion"])


def _inference(attributes: Attributes) -> Conversation | None:
    """Read the attributes of OpenInference."""
    sides: dict[str, dict[int, dict[str, Any]]] = {"input": {}, "output": {}}
    for key, value in attributes.items():
        match = _INFERENCE.fullmatch(key) if key.startswith("llm.") else None
        if match is None:
            continue
        message = sides[match[1]].setdefault(int(match[2]), {})
        call, part = _INFERENCE_CALL.fullmatch(match[3]), _INFERENCE_PART.fullmatch(match[3])
        if call is not None:
            name = call[2].removeprefix("function.")
            message.setdefault("calls", {}).setdefault(int(call[1]), {})[name] = value
        elif part is not None:
            message.setdefault("texts", {})[int(part[1])] = value
        else:
            message[match[3]] = value
    return _from_sides(sides["input"], sides["output"])


def _langfuse(attributes: Attributes) -> Conversation | None:
    """Read the spans of Langfuse's SDK."""
    given, answer = attributes.get("langfuse.observation.input"), attributes.get("langfuse.observation.output")
    return None if given is None and answer is None else conversation_from(given, answer)


def _from_sides(before: Mapping[int, dict[str, Any]], after: Mapping[int, dict[str, Any]]) -> Conversation | None:
    if not before and not after:
        return None
    ordered = [[_regular(side[at]) for at in sorted(side)] for side in (before, after)]
    return conversation_of(*ordered)


def _regular(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message that was put together from single attributes in the usual form."""
    texts = message.pop("texts", {})
    if texts and not message.get("content"):
        message["content"] = "\n".join(as_text(texts[at]) for at in sorted(texts))
    calls = message.pop("calls", {})
    message["tool_calls"] = [calls[at] for at in sorted(calls)]
    return message
