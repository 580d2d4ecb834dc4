"""One recorded turn: the row that every command reads and writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from hashlib import blake2b
from typing import Any, Literal, cast

Missing = Literal["content", "truncated", "tool_result", "messages"]
Role = Literal["system", "user", "assistant", "tool"]
Status = Literal["", "ok", "error"]


class RowError(ValueError):
    """A row does not have the form of a turn; the message names the field."""


@dataclass(frozen=True)
class ToolCall:
    """A tool call that a message makes.

    Attributes:
        name: the name of the tool.
        arguments: what the model wrote, as a JSON value, or as text when it is none.
        id: the id that the result refers to.
    """

    name: str
    arguments: Any = None
    id: str = ""


@dataclass(frozen=True)
class Message:
    """A message of the conversation before the draft.

    Attributes:
        role: who wrote it.
        content: its text.
        tool_calls: the calls that an assistant's message makes.
        tool_call_id: the call that a tool's message answers.
        name: the name of the tool of a tool's message.
        status: whether the tool succeeded; empty when the recording does not say.
    """

    role: Role
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    name: str = ""
    status: Status = ""


@dataclass(frozen=True)
class Finding:
    """A fabrication finding of the review that was made then."""

    kind: str
    identifier: str = ""
    confidence: float | None = None


@dataclass(frozen=True)
class Reviewed:
    """The review that was made when the draft was written.

    Attributes:
        verdict: approve, revise or refuse; empty when there was none.
        source: who reached it.
        decision, reason: of the gate.
        rules: the rules that the critic named.
        findings: the fabrication findings.
        policy_version: see `Policy.version`.
        sku: the SKU of the critic's model.
        action: what became of the draft.
        failure: how the critic failed, when it did.
        text: the text that took the draft's place, or would have.
        cost_usd, duration_s: of the review; None when the recording does not say.
    """

    verdict: str = ""
    source: str = ""
    decision: str = ""
    reason: str = ""
    rules: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    policy_version: str = ""
    sku: str = ""
    action: str = ""
    failure: str = ""
    text: str = ""
    cost_usd: float | None = None
    duration_s: float | None = None


@dataclass(frozen=True)
class TurnRow:
    """A draft with everything that was recorded around it.

    Attributes:
        turn_id: the id of the row; unique in a file.
        trace_id, span_id: where the draft was written, in hexadecimal.
        time: seconds since the epoch.
        draft: the text of the answer.
        messages: the conversation before it, without the system prompt.
        sources: retrieved texts.
        system: the system prompt.
        draft_model: the model that wrote the draft.
        conversation_id, user_id: ids that the run carried.
        reviewed: the review that was made then.
        missing: why the turn is not whole. `content`: the draft was not captured. `messages`: only the draft was.
            `truncated`: a text was cut. `tool_result`: a call has no result.
    """

    turn_id: str
    draft: str = ""
    trace_id: str = ""
    span_id: str = ""
    time: float | None = None
    messages: tuple[Message, ...] = ()
    sources: tuple[str, ...] = ()
    system: str = ""
    draft_model: str = ""
    conversation_id: str = ""
    user_id: str = ""
    reviewed: Reviewed | None = None
    missing: tuple[Missing, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the row as JSON writes it: what is empty is left out."""
        return cast("dict[str, Any]", _plain(self))

    def as_json(self) -> str:
        """Return the row as one line."""
        return json.dumps(self.as_dict(), ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> TurnRow:
        """Return the row of a JSON object.

        Raises:
            RowError: a field has the wrong type, or `turn_id` is missing.
        """
        known = _known(row, cls, "")
        known["messages"] = tuple(_message(item, at) for at, item in enumerate(_list(row, "messages")))
        known["sources"] = _texts(row, "sources")
        known["missing"] = _texts(row, "missing")
        reviewed = row.get("reviewed")
        if reviewed is not None:
            known["reviewed"] = _reviewed(reviewed)
        if not known.get("turn_id"):
            raise RowError("turn_id is missing")
        return cls(**known)


def content_id(row: TurnRow) -> str:
    """Return an id that is the same for the same draft in the same conversation."""
    said = json.dumps([row.draft, row.system, _plain(row.messages), row.sources], ensure_ascii=True)
    return blake2b(said.encode(), digest_size=8).hexdigest()


@cache
def _names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind))


def _plain(value: Any) -> Any:
    if isinstance(value, (str, int, float)) or value is None:
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return value
    pairs = [(name, getattr(value, name)) for name in _names(value.__class__)]
    return {name: _plain(item) for name, item in pairs if item is not None and item not in ("", ())}


def _message(item: Any, at: int) -> Message:
    where = f"messages[{at}]"
    known = _known(_mapping(item, where), Message, f"{where}.")
    if known.get("role") not in ("system", "user", "assistant", "tool"):
        raise RowError(f"{where}.role is {known.get('role')!r}; allowed are system, user, assistant, tool")
    calls = [_mapping(call, f"{where}.tool_calls") for call in _list(item, "tool_calls")]
    known["tool_calls"] = tuple(
        ToolCall(str(call.get("name") or ""), call.get("arguments"), str(call.get("id") or "")) for call in calls
    )
    return Message(**known)


def _reviewed(item: Any) -> Reviewed:
    known = _known(_mapping(item, "reviewed"), Reviewed, "reviewed.")
    known["rules"] = _texts(item, "rules")
    findings = [_mapping(finding, "reviewed.findings") for finding in _list(item, "findings")]
    known["findings"] = tuple(
        Finding(str(one.get("kind") or ""), str(one.get("identifier") or ""), one.get("confidence")) for one in findings
    )
    return Reviewed(**known)


_SINGLE: dict[str, type | tuple[type, ...]] = {"str": str, "float | None": (int, float), "Role": str, "Status": str}


def _known(row: Mapping[str, Any], kind: type[Any], where: str) -> dict[str, Any]:
    """Return the texts and numbers of a row that the class has fields for."""
    known = {}
    for each in fields(kind):
        wanted = _SINGLE.get(str(each.type))
        value = row.get(each.name)
        if wanted is None or value is None:
            continue
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise RowError(
                f"{where}{each.name} is {_kind(value)}; allowed is {'text' if wanted is str else 'a number'}"
            )
        known[each.name] = value
    return known


def _list(row: Mapping[str, Any], name: str) -> list[Any]:
    value = row.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise RowError(f"{name} is {_kind(value)}; allowed is a list")
    return value


def _texts(row: Mapping[str, Any], name: str) -> tuple[Any, ...]:
    items = _list(row, name)
    if not all(isinstance(item, str) for item in items):
        raise RowError(f"{name} has an item that is no text")
    return tuple(items)


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise RowError(f"{where} is {_kind(value)}; allowed is an object")
    return value


def _kind(value: Any) -> str:
    kinds = {
        str: "a text",
        list: "a list",
        dict: "an object",
        bool: "true or false",
        int: "a number",
        float: "a number",
    }
    return "null" if value is None else kinds.get(type(value), type(value).__name__)
