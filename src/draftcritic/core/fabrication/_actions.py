"""Claims of an action in the first person, and the tools that can have done it."""

from __future__ import annotations

import re
from collections.abc import Sequence

# What a tool is called (a part of its name) that does what the verbs say.
_TOOLS_OF: tuple[tuple[str, str], ...] = (
    ("ran executed", "run exec shell bash"),
    ("called invoked", "call invoke exec"),
    ("queried", "query search find select sql"),
    ("triggered", "trigger fire start invoke"),
    ("launched", "spawn launch start exec"),
    ("started", "start spawn launch boot"),
    ("spawned", "spawn subagent run_agent exec start_"),
    ("stopped", "stop kill terminate halt"),
    ("fetched", "fetch get download pull read"),
    ("retrieved", "fetch get read search retriev"),
    ("pulled", "pull fetch download get"),
    ("pushed", "push upload send commit"),
    ("posted", "post send publish http"),
    ("sent", "send messag sms email twilio post"),
    ("delivered", "send messag deliver post"),
    ("dispatched", "dispatch send emit"),
    ("updated", "update patch write edit"),
    ("deleted", "delete remove drop destroy"),
    ("created", "create add insert make provision"),
    ("checked", "check status verify inspect"),
)
TOOL_HINTS: dict[str, tuple[str, ...]] = {
    verb: tuple(hints.split()) for verbs, hints in _TOOLS_OF for verb in verbs.split()
}
"""Past tense of a verb -> parts of the names of tools that do it."""

_LOOKED = frozenset({"checked", "fetched", "pulled", "queried", "retrieved"})
_LOOKING_TOOL = re.compile("get|list|search|query|find|read|fetch|retrieve|view|show|lookup|check")
_RELATIVE = re.compile(
    r"\b(?:the|your|these|those|all|both|any|every|each|no)\s(?:[\w'\u2019-]{1,24}\s){1,4}(?:that\s|which\s)?\Z", re.I
)
_RELATIVE_WIDTH = 80
_NOT_YET = re.compile(r"\b(?:before|until|till|unless|if|whenever)\s\Z", re.I)

# Without case, `I` is also these two letters of Turkish. The engine looks fast for one of a few characters.
CLAIM = re.compile(rf"[Ii\u0130\u0131](?<!\w.)(?i:\s+({'|'.join(TOOL_HINTS)})\b)")
"""An action that the draft claims; group 1 is the verb."""


def tool_fits(verb: str, tool_names: Sequence[str]) -> bool:
    """Whether one of the tools, named in lower case, can have done what the verb says."""
    verb = verb.lower()
    if verb in _LOOKED and any(_LOOKING_TOOL.match(name) for name in tool_names):
        return True
    return any(hint in name for hint in TOOL_HINTS.get(verb, ()) for name in tool_names)


def refers_back(text: str, at: int) -> bool:
    """Whether the claim only says which things are meant: "the reminders I deleted"."""
    return _RELATIVE.search(text[max(0, at - _RELATIVE_WIDTH) : at]) is not None


def is_open(text: str, at: int) -> bool:
    """Whether the claim only says on what something else depends: "check it before I sent it"."""
    return _NOT_YET.search(text[max(0, at - _RELATIVE_WIDTH) : at]) is not None
