"""Types of the fabrication check: findings, decisions and events."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from draftcritic.core._enums import Verdict

FabricationSeverity = Literal["low", "medium", "high"]
FabricationKind = Literal[
    "uuid",
    "short_hex_near_key",
    "short_hex_near_verb",
    "kv",
    "verb_claim",
    "action_claim",
    "intent_action_no_tool",
    "reference",
    "hash",
    "price",
    "number",
    "percentage",
    "date",
    "time",
    "email",
    "phone",
    "url",
    "name",
]
KINDS: frozenset[str] = frozenset(get_args(FabricationKind))
"""Every kind of finding there is."""
FabricationAction = Literal["observed", "revise_forced", "refuse_replaced"]

PREVIEW_CHARS = 240
"""Characters of a draft or its replacement in an event."""


LEAST_SURE = 0.8
"""Confidence from which a finding counts as one: right at least 8 times in 10. Below it is a doubt."""


@dataclass(frozen=True)
class FabricationFinding:
    """Something that the draft asserts and nothing grounds.

    Attributes:
        identifier: the text as the draft has it; empty when the finding is about the draft as a whole.
        kind: which check found it.
        severity: how bad it is when the finding is right.
        reason: one sentence for people; it may quote the draft.
        key: the key that the identifier stood behind, in lower case.
        pattern_kind: the kind in the word of the reference's telemetry.
        confidence: how likely the finding is right, 0 to 1.
        span: start and end of the finding in the draft, in characters.
        grounded_sources: sources that ground a part of it.
    """

    identifier: str
    kind: FabricationKind
    severity: FabricationSeverity
    reason: str
    key: str | None = None
    pattern_kind: str = ""
    confidence: float = 0.8
    span: tuple[int, int] = (0, 0)
    grounded_sources: list[str] = field(default_factory=list)

    @property
    def is_doubt(self) -> bool:
        """Whether the finding is too unsure to decide anything: it is a question to the critic."""
        return self.confidence < LEAST_SURE

    def to_event_payload(self) -> dict[str, Any]:
        """Return the finding as a value that JSON can represent."""
        return {
            "identifier": self.identifier,
            "kind": self.kind,
            "severity": self.severity,
            "reason": self.reason,
            "key": self.key,
            "pattern_kind": self.pattern_kind or self.kind,
            "confidence": round(self.confidence, 3),
            "span": list(self.span),
        }


@dataclass(frozen=True)
class FabricationDecision:
    """What the findings of a draft lead to.

    Attributes:
        action_taken: what becomes of the draft.
        forced_verdict: the verdict that the findings force on the critic.
        replacement: the text that takes the place of the draft.
    """

    action_taken: FabricationAction
    forced_verdict: Verdict | None = None
    replacement: str | None = None


@dataclass(frozen=True)
class FabricationOutcome:
    """The result of `apply_fabrication_check`.

    Attributes:
        findings: everything that was found; empty when the draft is clean or the check is off.
        replacement_draft: the text to answer with in place of the draft.
        forced_metacog_verdict: the verdict that the findings force on the critic.
        emitted_event: a listener received the event.
    """

    findings: list[FabricationFinding]
    replacement_draft: str | None = None
    forced_metacog_verdict: str | None = None
    emitted_event: bool = False


@dataclass(frozen=True)
class FabricationDetectedEvent:
    """The event that every listener with `on_fabrication_detected` gets when a draft has findings.

    The previews contain text of the model: storing the event stores content.

    Attributes:
        run_id: the id of the run that wrote the draft.
        mode: the mode that the check ran in.
        action_taken: what became of the draft.
        findings: the findings as `FabricationFinding.to_event_payload` gives them.
        refuse_threshold: the confidence from which a finding replaces the draft in mode `refuse`.
        max_finding_confidence: that of the surest finding.
        original_draft_preview: the beginning of the draft, at most 240 characters.
        replacement_preview: the beginning of the text in its place, likewise.
        preview_truncated: the draft is longer than its preview.
    """

    run_id: str
    mode: str
    action_taken: FabricationAction
    findings: list[dict[str, Any]]
    refuse_threshold: float
    max_finding_confidence: float
    original_draft_preview: str
    replacement_preview: str | None
    preview_truncated: bool


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
