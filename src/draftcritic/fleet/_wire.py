"""The form in which a draft travels between processes: JSON with a schema version."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal
from functools import cache
from numbers import Real
from typing import Any

from draftcritic.core._turn import Earlier, IntentVerdict, Turn

SCHEMA = 1
"""Raised when a reader without the change would misread a draft. A reader of another version puts the draft aside and
guesses nothing. A new field with a default leaves it as it is; see docs/upgrading.md."""
_NODE_FIELDS = ("score", "weight", "tags", "properties")
"""The fields of nodes and edges that the gate reads; see `draftcritic.core._confidence`."""
_LOGS = ("activation", "retrieved", "requested")
_INTENTS = ("intent", "requested_intent")
_CALLS = ("tool_calls", "hearsay_calls")
_OPTIONAL_TEXTS = ("draft_model", "response_id", "conversation_id", "session_id", "user_id", "agent")
_FLAGS = ("has_unread", "streamed", "exposed", "repeats_question")
_TEXTS = ("draft", "run_id", "user_message", "context", "system", "hearsay", "draft_provider")
_OTHERS = ("root_run", "scope", "sources", "earlier")
_DEEPEST = 40
"""Levels of lists and mappings that are written where a value has a cycle or is nested without end."""


class MessageError(ValueError):
    """Bytes that are not a draft of this schema version; the message says what is wrong and quotes no text."""


class TravelledError(Exception):
    """What kept a turn from being read in the process that wrote the draft."""

    @staticmethod
    def named(name: str) -> TravelledError:
        """Return an error that telemetry names as the original one was."""
        module, _, kind = name.rpartition(".")
        made: type[TravelledError] = type(kind or "Error", (TravelledError,), {"__module__": module or "builtins"})
        return made()


@dataclass(frozen=True)
class DraftMessage:
    """A draft on its way to its review.

    Attributes:
        id: 32 hexadecimal digits, made where the draft was written; the draft's identity everywhere.
        turn: the draft with what may ground it.
        origin: the draft's place in its trace; see `ReviewObserver.packed`.
        created: seconds since the epoch.
        service: the service that wrote the draft.
        complete: False for a stream that was not read to its end.
        error: the qualified name of the exception that kept the turn from being read; empty without one.
        unknown: names of fields that were ignored because this release does not know them: its writer is newer.
        missing: names of fields that got their default: its writer is older.
    """

    id: str
    turn: Turn
    origin: Mapping[str, str] = field(default_factory=dict)
    created: float = 0.0
    service: str = ""
    complete: bool = True
    error: str = ""
    unknown: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def encode(message: DraftMessage) -> bytes:
    """Return a message as JSON. Values that JSON lacks become the text or number that the gate would read."""
    turn = {each.name: getattr(message.turn, each.name) for each in _TURN}
    for name in _LOGS:
        turn[name] = _log(turn[name])
    turn["earlier"] = [vars(each) for each in turn["earlier"]]
    turn["root_run"] = None if turn["root_run"] is None else str(turn["root_run"])
    for name in _INTENTS:
        turn[name] = None if turn[name] is None else vars(turn[name])
    whole = {
        "v": SCHEMA,
        "id": message.id,
        "created": message.created,
        "service": message.service,
        "complete": message.complete,
        "error": message.error,
        "origin": dict(message.origin),
        "turn": turn,
    }
    try:
        text = json.dumps(whole, separators=(",", ":"), default=_plain)
    except (TypeError, ValueError, RecursionError):  # keys that are no text, or a cycle
        text = json.dumps(_bounded(whole, _DEEPEST), separators=(",", ":"))
    return text.encode("ascii")


def decode(data: bytes | str) -> DraftMessage:
    """Return the message of `encode`, also of a release that knew more or fewer fields of a turn.

    Raises:
        MessageError: the bytes are no JSON, have another schema version, or lack a field that has no default.
    """
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError):
        raise MessageError("not JSON") from None
    if not isinstance(whole, dict):
        raise MessageError("not a JSON object")
    if whole.get("v") != SCHEMA:
        raise MessageError(f"schema version {str(whole.get('v'))[:20]}; this release reads {SCHEMA}")
    if not whole.keys() >= _FIELDS:
        raise MessageError(f"fields that are missing: {_shown(_FIELDS - whole.keys())}")
    for name, kind in _KINDS.items():
        if not isinstance(whole[name], kind) or (kind is not bool and isinstance(whole[name], bool)):
            raise MessageError(f"{name} is {type(whole[name]).__name__}")
    origin = {str(key): str(value) for key, value in whole["origin"].items()}
    seen = _Seen(sorted(whole.keys() - _FIELDS))
    return DraftMessage(
        id=whole["id"],
        turn=_turn(whole["turn"], seen),
        origin=origin,
        created=float(whole["created"]),
        service=whole["service"],
        complete=whole["complete"],
        error=whole["error"],
        unknown=tuple(seen.unknown),
        missing=tuple(seen.missing),
    )


_TURN = fields(Turn)
_KINDS: dict[str, Any] = {
    "id": str,
    "created": (int, float),
    "service": str,
    "complete": bool,
    "error": str,
    "origin": dict,
    "turn": dict,
}
_FIELDS = {"v", *_KINDS}


class _Seen:
    """Fields of a message that differ from those of this release."""

    def __init__(self, unknown: list[str]) -> None:
        self.unknown = dict.fromkeys(unknown)
        self.missing: dict[str, None] = {}

    def known(self, value: dict[str, Any], kind: Any, place: str) -> dict[str, Any]:
        """Return a value with only the fields of a dataclass, and note those that it has more or fewer."""
        names = [each.name for each in fields(kind)]
        self.unknown.update({f"{place}.{name}": None for name in value if name not in names})
        self.missing.update({f"{place}.{name}": None for name in names if name not in value})
        return {name: value[name] for name in names if name in value}


@cache
def _defaults() -> dict[str, Any]:
    """Return the fields of a turn that may be missing, as an empty turn travels."""
    turn: dict[str, Any] = json.loads(encode(DraftMessage("", Turn(""))))["turn"]
    del turn["draft"]
    return turn


def _turn(values: dict[str, Any], seen: _Seen) -> Turn:
    values = seen.known(values, Turn, "turn")
    if "draft" not in values:
        raise MessageError("turn.draft is missing")
    values = {**_defaults(), **values}
    read: dict[str, Any] = {name: values[name] for name in _OTHERS}
    for names_of_kind, kind in ((_TEXTS, str), (_FLAGS, bool), (_LOGS, dict), (_CALLS, list)):
        for name in names_of_kind:
            if not isinstance(values[name], kind):
                raise MessageError(f"turn.{name} is {type(values[name]).__name__}")
            read[name] = values[name]
    for name in _CALLS:
        if not all(isinstance(call, dict) for call in read[name]):
            raise MessageError(f"turn.{name} has an item that is no object")
        read[name] = tuple(read[name])
    read["sources"] = tuple(_list_of(str, values, "sources"))
    read["earlier"] = tuple(_earlier(each, seen) for each in _list_of(dict, values, "earlier"))
    for name in _OPTIONAL_TEXTS:
        if not isinstance(values[name], (str, type(None))):
            raise MessageError(f"turn.{name} is {type(values[name]).__name__}")
        read[name] = values[name]
    for name in _INTENTS:
        read[name] = _intent(values[name], name, seen)
    return Turn(**read)


def _list_of(kind: type, values: dict[str, Any], name: str) -> list[Any]:
    if not isinstance(values[name], list) or not all(isinstance(item, kind) for item in values[name]):
        raise MessageError(f"turn.{name} is no list of its kind")
    return list(values[name])


def _earlier(value: dict[str, Any], seen: _Seen) -> Earlier:
    try:
        return Earlier(**seen.known(value, Earlier, "earlier"))
    except TypeError:
        raise MessageError("turn.earlier has an item that is no message") from None


def _intent(value: Any, name: str, seen: _Seen) -> IntentVerdict | None:
    if value is None:
        return None
    try:
        return IntentVerdict(**seen.known(value, IntentVerdict, name))
    except TypeError:
        raise MessageError(f"turn.{name} is no intent") from None


def _shown(names: Collection[Any]) -> str:
    return ", ".join(sorted(str(name)[:40] for name in names)[:5])


def _log(log: Mapping[str, Any]) -> dict[str, Any]:
    """Return an activation log whose nodes and edges are mappings, as the gate reads them."""
    return {str(name): [_node(item) for item in value] if _is_list(value) else value for name, value in log.items()}


def _is_list(value: Any) -> bool:
    return isinstance(value, Collection) and not isinstance(value, (str, bytes, Mapping))


def _node(item: Any) -> Any:
    if isinstance(item, (str, int, float, Mapping, type(None))) or _is_list(item):
        return item
    found = {name: getattr(item, name) for name in _NODE_FIELDS if hasattr(item, name)}
    properties = found.get("properties")
    if properties is not None and not isinstance(properties, Mapping) and hasattr(properties, "tags"):
        found["properties"] = {"tags": properties.tags}
    return found


def _plain(value: Any) -> Any:
    """Return what JSON can hold in place of a value that it cannot."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (Real, Decimal)):
        return float(value)
    if _is_list(value):
        return list(value)
    try:
        return str(value)
    except Exception:  # the application's own object
        return ""


def _bounded(value: Any, depth: int) -> Any:
    """Return a value as JSON can hold it, cut at a depth."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if depth <= 0:
        return ""
    if isinstance(value, Mapping):
        return {str(key): _bounded(item, depth - 1) for key, item in value.items()}
    if _is_list(value):
        return [_bounded(item, depth - 1) for item in value]
    return _plain(value)
