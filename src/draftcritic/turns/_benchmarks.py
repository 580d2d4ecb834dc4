"""Logs of benchmarks: Inspect, and tau2 with its conversations of an agent and a simulated user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from draftcritic.turns._messages import messages_of
from draftcritic.turns._records import Record
from draftcritic.turns._row import Message, Missing, TurnRow
from draftcritic.turns._times import seconds


class InspectReader:
    """Reads the samples of an Inspect log in JSON."""

    name = "Inspect"

    def accepts(self, record: Record) -> bool:
        """Whether the object is a sample."""
        value = record.value
        return "messages" in value and "epoch" in value and "id" in value

    def read(self, record: Record) -> Iterator[TurnRow]:
        """Yield one turn for each answer of the sample that is not only tool calls."""
        sample = record.value
        name = str(sample.get("uuid") or f"{sample['id']}-{sample['epoch']}")
        output = sample.get("output")
        model = str(output.get("model") or "") if isinstance(output, Mapping) else ""
        messages = _resolved(sample.get("messages"), sample.get("attachments"))
        yield from _answers(messages, name, model, seconds(sample.get("started_at")))

    def flush(self) -> Iterator[TurnRow]:
        """Yield nothing: each sample was whole."""
        yield from ()


class Tau2Reader:
    """Reads the simulations of tau2's results. Tools that the user calls are the user's, and ground nothing."""

    name = "tau2"

    def accepts(self, record: Record) -> bool:
        """Whether the object is a simulation."""
        value = record.value
        return isinstance(value.get("messages"), list) and "task_id" in value

    def read(self, record: Record) -> Iterator[TurnRow]:
        """Yield one turn for each answer of the agent."""
        value = record.value
        trial = value.get("trial")
        name = str(value.get("id") or f"{value['task_id']}-{0 if trial is None else trial}")
        info = record.around.get("info")
        policy = value.get("policy") or _inner(info, "environment_info", "policy")
        system = [{"role": "system", "content": policy}] if isinstance(policy, str) else []
        model = _inner(info, "agent_info", "llm")
        messages = [*system, *_of_agent(value["messages"])]
        yield from _answers(messages, name, str(model or ""), seconds(value.get("start_time")))

    def flush(self) -> Iterator[TurnRow]:
        """Yield nothing: each simulation was whole."""
        yield from ()


def _inner(value: Any, *path: str) -> Any:
    """Return what lies at a path of keys; None where it ends early."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _of_agent(messages: Sequence[Any]) -> Iterator[Mapping[str, Any]]:
    """Yield what the agent sees: the user's own tool calls and their results are not part of it."""
    for message in messages:
        if not isinstance(message, Mapping):
            continue
        if message.get("role") == "tool" and message.get("requestor") == "user":
            continue
        if isinstance(message.get("tool_messages"), list):
            yield from _of_agent(message["tool_messages"])
        elif message.get("role") == "user":
            if message.get("content"):
                yield {"role": "user", "content": message["content"]}
        else:
            yield message


_ATTACHED = "attachment://"


def _resolved(messages: Any, attachments: Any) -> Any:
    """Put the long texts that a log keeps apart back in their places."""
    if isinstance(messages, str) and messages.startswith(_ATTACHED) and isinstance(attachments, Mapping):
        return attachments.get(messages.removeprefix(_ATTACHED), messages)
    if isinstance(messages, list):
        return [_resolved(item, attachments) for item in messages]
    if isinstance(messages, Mapping):
        return {key: _resolved(item, attachments) for key, item in messages.items()}
    return messages


def _answers(raw: Any, name: str, model: str, time: float | None) -> Iterator[TurnRow]:
    """Yield a turn for each assistant's message with text and without tool calls."""
    before: list[Message] = []
    system: list[str] = []
    number = 0
    for item in raw if isinstance(raw, list) else ():
        for message in messages_of(item):
            if message.role == "system":
                system.append(message.content)
                continue
            if message.role == "assistant" and message.content.strip() and not message.tool_calls:
                number += 1
                yield TurnRow(
                    turn_id=f"{name}-{number}",
                    draft=message.content,
                    trace_id=name,
                    time=time,
                    messages=tuple(before),
                    system="\n".join(system),
                    draft_model=model,
                    conversation_id=name,
                    missing=_missing(before),
                )
            before.append(message)


def _missing(messages: Sequence[Message]) -> tuple[Missing, ...]:
    answered = {message.tool_call_id for message in messages if message.role == "tool"}
    calls = (call for message in messages for call in message.tool_calls)
    return ("tool_result",) if any(call.id not in answered for call in calls) else ()
