"""Describes everything that goes over the wire, for people and for programs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any, Literal

from draftcritic.core._enums import (
    Action,
    DeliveryKind,
    GateDecision,
    GateReason,
    Mode,
    OutcomeKind,
    Verdict,
    VerdictSource,
)
from draftcritic.core._evidence_blocks import EVIDENCE_FIELDS
from draftcritic.grounding._findings import KINDS
from draftcritic.telemetry import names
from draftcritic.telemetry._content import MAX_CONTENT, MAX_TEXT
from draftcritic.telemetry._metrics import DESCRIPTIONS, FAILURES

AttributeType = Literal["string", "string[]", "int", "double", "boolean"]


@dataclass(frozen=True)
class AttributeInfo:
    """One attribute or label.

    Attributes:
        name: as on the wire.
        type: the type of the value.
        meaning: what it says.
        values: the closed set of values, or of items; empty when it is open.
        unit: the unit of a number.
        when: when it is there; empty for always.
        content: it contains texts of the turn and is only there with content capture.
    """

    name: str
    type: AttributeType
    meaning: str
    values: tuple[str, ...] = ()
    unit: str = ""
    when: str = ""
    content: bool = False


@dataclass(frozen=True)
class EventInfo:
    """One event: of the review span, or a log record.

    Attributes:
        name: as on the wire.
        carrier: `span event` or `log event`.
        meaning: when it is written.
        attributes: the names of its attributes; those of the review span mean the same here.
    """

    name: str
    carrier: Literal["span event", "log event"]
    meaning: str
    attributes: tuple[str, ...]


@dataclass(frozen=True)
class MetricInfo:
    """One metric.

    Attributes:
        name: as on the wire.
        kind: the instrument.
        unit: in the notation of UCUM.
        meaning: what is measured.
        labels: the names of its labels.
        buckets: the advised upper bounds of a histogram.
    """

    name: str
    kind: Literal["counter", "histogram", "gauge"]
    unit: str
    meaning: str
    labels: tuple[str, ...]
    buckets: tuple[float, ...] = ()


@dataclass(frozen=True)
class Schema:
    """Everything that goes over the wire.

    Attributes:
        scope: name of the tracer, the meter and the logger.
        span: name of the review span.
        span_kind: its kind.
        span_attributes: its attributes.
        foreign_span_attributes: set on spans that others start inside the critic's call.
        events: its events, and the log event.
        event_attributes: attributes of events that the span has not.
        metrics: the metrics.
        labels: labels of metrics, with their closed sets.
        content_switch: the environment variable that lets content out.
        longest_text: characters of a text attribute; a longer text is cut.
        longest_content: characters of a content attribute.
    """

    scope: str
    span: str
    span_kind: str
    span_attributes: tuple[AttributeInfo, ...]
    foreign_span_attributes: tuple[AttributeInfo, ...]
    events: tuple[EventInfo, ...]
    event_attributes: tuple[AttributeInfo, ...]
    metrics: tuple[MetricInfo, ...]
    labels: tuple[AttributeInfo, ...]
    content_switch: str
    longest_text: int
    longest_content: int

    def as_dict(self) -> dict[str, Any]:
        """Return plain lists and dictionaries, ready for JSON."""
        return asdict(self)


def _words(enum: type[Enum]) -> tuple[str, ...]:
    return tuple(str(member.value) for member in enum)


_FAILURES = tuple(failure.value for failure in FAILURES)
_CALLED = "the critic's model was asked"
_SHOWN = "it was shown evidence"
_KNOWN = "the provider reports it"
_RUN_HAS = "the run carries it"
_CHECKED = "the fabrication check ran"
_CAPTURED = "content capture is on"

_DECISION = (
    AttributeInfo(
        names.VERDICT,
        "string",
        "The verdict on the draft.",
        _words(Verdict),
        when="the critic's model or a finding decided",
    ),
    AttributeInfo(names.VERDICT_SOURCE, "string", "Who reached the verdict.", _words(VerdictSource)),
    AttributeInfo(names.OUTCOME, "string", "How the review ended.", _words(OutcomeKind)),
    AttributeInfo(names.ACTION, "string", "What became of the draft.", _words(Action)),
    AttributeInfo(names.MODE, "string", "How far the plugin goes.", ("observe", "enforce", "gate")),
    AttributeInfo(names.CONFIDENCE, "double", "Confidence in the draft, 0 to 1.", unit="1", when="it was evaluated"),
    AttributeInfo(
        names.CONFIDENCE_THRESHOLD,
        "double",
        "Below it the legacy gate fires, 0 to 1.",
        unit="1",
        when="it was evaluated",
    ),
    AttributeInfo(
        names.ACTIVATION_INVALID,
        "boolean",
        "The activation log had scores outside 0 to 1, or values that are not numbers; they count as 0.",
        when="it is so",
    ),
    AttributeInfo(names.GATE_DECISION, "string", "What the gate decided.", _words(GateDecision)),
    AttributeInfo(names.GATE_REASON, "string", "The primary reason for it.", _words(GateReason)),
    AttributeInfo(names.GATE_SIGNALS, "string[]", "Every signal that held.", _words(GateReason), when="one held"),
    AttributeInfo(names.SENSITIVE_TAG, "string", "The sensitive tag that was met.", when="one was met"),
    AttributeInfo(names.POLICY_VERSION, "string", "Twelve digits that change with anything that the policy says."),
)
_MODELS = (
    AttributeInfo(
        names.SKU,
        "string",
        "Normalised name of the critic's model; `unknown` when it cannot be determined.",
        when=_CALLED,
    ),
    AttributeInfo(
        names.DRAFT_SKU,
        "string",
        "Normalised name of the model that wrote the draft; `unknown` when it cannot be determined.",
    ),
    AttributeInfo(names.MODEL, "string", "Raw name of the critic's model.", when=_CALLED),
    AttributeInfo(names.DRAFT_MODEL, "string", "Raw name of the model that wrote the draft.", when=_KNOWN),
    AttributeInfo(names.USAGE_INPUT_TOKENS, "int", "Input tokens of the critic's call.", unit="{token}", when=_KNOWN),
    AttributeInfo(
        names.USAGE_CACHED_TOKENS,
        "int",
        "Input tokens that the provider took from its cache.",
        unit="{token}",
        when=_KNOWN,
    ),
    AttributeInfo(names.USAGE_OUTPUT_TOKENS, "int", "Output tokens of the critic's call.", unit="{token}", when=_KNOWN),
    AttributeInfo(
        names.USAGE_COST_USD,
        "double",
        "Cost of the critic's call by the published price of the SKU.",
        unit="USD",
        when="tokens and price are known",
    ),
    AttributeInfo(
        names.SHARED,
        "boolean",
        "The answer is that of another review, which records its tokens and cost.",
        when="it is so",
    ),
    AttributeInfo(
        names.REPLY_AMBIGUOUS,
        "boolean",
        "The critic's reply was not one clear verdict, and its strictest one counts.",
        when="it is so",
    ),
    AttributeInfo(
        names.MISQUOTED,
        "boolean",
        "The critic quoted words that neither the draft nor the evidence has.",
        when="it is so",
    ),
    AttributeInfo(
        names.PROMPT_OMITTED,
        "int",
        "How much the budget of the critic's prompt left out.",
        unit="{character}",
        when="something was left out",
    ),
    AttributeInfo(
        names.EVIDENCE_LENGTH,
        "int",
        "How much evidence the critic was shown: texts of the turn besides draft and rules.",
        unit="{character}",
        when=_SHOWN,
    ),
    AttributeInfo(
        names.EVIDENCE_OMITTED,
        "int",
        "How much evidence the budget of the prompt left out.",
        unit="{character}",
        when=_SHOWN,
    ),
    AttributeInfo(names.EVIDENCE_KINDS, "string[]", "Which kinds it was shown.", EVIDENCE_FIELDS, when=_SHOWN),
    AttributeInfo(names.NODE, "string", "The critic's name among nodes.", (names.NODE_NAME,)),
    AttributeInfo(names.RUN_ID, "string", "The id of the model run that wrote the draft.", when=_RUN_HAS),
)
_DRAFT = (
    AttributeInfo(names.DRAFT_LENGTH, "int", "Length of the draft.", unit="{character}"),
    AttributeInfo(names.DRAFT_STREAMED, "boolean", "The draft left the model as a stream."),
    AttributeInfo(names.DRAFT_EXPOSED, "boolean", "Text had reached the client before the verdict."),
    AttributeInfo(names.FABRICATION_COUNT, "int", "How many findings there are.", unit="{finding}", when=_CHECKED),
    AttributeInfo(names.FABRICATION_KINDS, "string[]", "Of which kinds they are.", when=_CHECKED),
    AttributeInfo(
        names.FABRICATION_MAX_CONFIDENCE,
        "double",
        "The highest confidence of a finding, 0 to 1.",
        unit="1",
        when="there is a finding",
    ),
    AttributeInfo(names.DOUBT_COUNT, "int", "How many doubts there are.", unit="{finding}", when="there are some"),
    AttributeInfo(names.DOUBT_KINDS, "string[]", "Of which kinds they are.", when="there are some"),
    AttributeInfo(
        names.DOUBT_CONFIRMED,
        "int",
        "How many of them the critic's model confirmed.",
        unit="{finding}",
        when="it confirmed some",
    ),
    AttributeInfo(
        names.PREFERENCES_MATCHED,
        "int",
        "How many preferences the critic named.",
        unit="{preference}",
        when="the critic gave a verdict",
    ),
    AttributeInfo(
        names.RULES_BROKEN,
        "string[]",
        "Ids of the rules that the critic named as broken; `other` for any that are not loaded.",
        when="it named some",
    ),
    AttributeInfo(names.FAILURE, "string", "How the critic itself failed.", _FAILURES, when="it failed"),
    AttributeInfo(names.ERROR_TYPE, "string", "The exception's name, else the failure.", when="the critic failed"),
    AttributeInfo(names.GEN_AI_RESPONSE_ID, "string", "Id of the answer.", when=_RUN_HAS),
    AttributeInfo(names.GEN_AI_CONVERSATION_ID, "string", "Id of the conversation.", when=_RUN_HAS),
    AttributeInfo(names.SESSION_ID, "string", "Id of the session.", when=_RUN_HAS),
    AttributeInfo(
        names.GEN_AI_AGENT_NAME, "string", "Name of the agent.", when="the settings have a table in `agents` for it"
    ),
    AttributeInfo(names.USER_ID, "string", "Id of the user.", when=_RUN_HAS),
)


def _content(name: str, kind: AttributeType, meaning: str) -> AttributeInfo:
    return AttributeInfo(name, kind, meaning, when=_CAPTURED, content=True)


_CONTENT = (
    _content(names.CONTENT_DRAFT, "string", "The draft."),
    _content(names.CONTENT_REVISION, "string", "The text that replaces a revised draft."),
    _content(names.CONTENT_REFUSAL, "string", "The message that replaces a refused draft."),
    _content(names.CONTENT_REASON, "string", "Why the critic gave its verdict, in its own words."),
    _content(names.CONTENT_PREFERENCES, "string[]", "The preferences that the critic named."),
    _content(names.CONTENT_FABRICATIONS, "string[]", "The identifiers that nothing grounds."),
)
_CALL = (names.MODEL, names.SKU)
_USAGE = (names.USAGE_INPUT_TOKENS, names.USAGE_CACHED_TOKENS, names.USAGE_OUTPUT_TOKENS, names.USAGE_COST_USD)
_EVENTS = (
    EventInfo(
        names.EVENT_LLM_START,
        "span event",
        "The critic's model is about to be asked.",
        (*_CALL, names.NODE, names.RUN_ID),
    ),
    EventInfo(
        names.EVENT_LLM_END,
        "span event",
        "It has answered or failed.",
        (*_CALL, *_USAGE, names.FINISH_REASON, names.ERROR_TYPE),
    ),
    EventInfo(
        names.EVENT_EVALUATION,
        "log event",
        "A check has spoken: the reflection gave a verdict, or there are findings.",
        (
            names.EVALUATION_NAME,
            names.EVALUATION_LABEL,
            names.EVALUATION_EXPLANATION,
            names.GEN_AI_RESPONSE_ID,
            names.RULES_BROKEN,
            names.GATE_REASON,
            names.SKU,
            *(attribute.name for attribute in _CONTENT),
        ),
    ),
)
_EVENT_ATTRIBUTES = (
    AttributeInfo(names.FINISH_REASON, "string", "Why the model stopped, in the provider's word.", when=_KNOWN),
    AttributeInfo(names.EVALUATION_NAME, "string", "Which check.", names.EVALUATIONS),
    AttributeInfo(
        names.EVALUATION_LABEL,
        "string",
        "The verdict; `finding` for findings that decided nothing.",
        (*_words(Verdict), names.LABEL_FINDING),
    ),
    AttributeInfo(
        names.EVALUATION_EXPLANATION,
        "string",
        "The reason that the critic gave, else the rules that it named; the findings with their kinds.",
        when=_CAPTURED,
        content=True,
    ),
)
_LABELS = (
    AttributeInfo(
        names.VERDICT,
        "string",
        "The verdict; `none` where nothing was decided.",
        (*_words(Verdict), names.VERDICT_NONE),
    ),
    AttributeInfo(names.VERDICT_SOURCE, "string", "Who reached it.", _words(VerdictSource)),
    AttributeInfo(names.OUTCOME, "string", "How the review ended.", _words(OutcomeKind)),
    AttributeInfo(names.ACTION, "string", "What became of the draft.", _words(Action)),
    AttributeInfo(names.GATE_DECISION, "string", "What the gate decided.", _words(GateDecision)),
    AttributeInfo(names.GATE_REASON, "string", "The primary reason for it.", _words(GateReason)),
    AttributeInfo(names.SKU, "string", "SKU of the critic's model, bounded; `unknown` when none was asked."),
    AttributeInfo(names.ERROR_TYPE, "string", "How the critic failed.", _FAILURES, when="it failed"),
    AttributeInfo(names.FAILURE, "string", "How the critic failed.", _FAILURES),
    AttributeInfo(
        names.ANSWER,
        "string",
        "What the critic's model said of the draft; `confirmed` when it quoted a line against the doubt.",
        names.ANSWERS,
    ),
    AttributeInfo(names.RULE, "string", "Id of a loaded preference or rule, else `other`."),
    AttributeInfo(names.DIRECTION, "string", "Which way the tokens went.", names.DIRECTIONS),
    AttributeInfo(names.KIND, "string", "The kind of the finding.", (*sorted(KINDS), names.KIND_OTHER)),
    AttributeInfo(names.DAMAGE, "string", "How a draft was damaged for a self-test.", names.DAMAGES),
    AttributeInfo(
        names.REASON,
        "string",
        "Why the draft was lost or put aside.",
        tuple(dict.fromkeys((*names.DROP_REASONS, *names.DEAD_REASONS, *names.RELEASES))),
    ),
    AttributeInfo(names.VERSION, "string", "The release of the plugin."),
    AttributeInfo(names.MODE, "string", "The mode in effect.", _words(Mode)),
    AttributeInfo(names.POLICY_VERSION, "string", "The version of the policy in effect."),
    AttributeInfo(names.DELIVERY, "string", "How drafts get to their reviews.", _words(DeliveryKind)),
)
_KINDS: dict[str, tuple[Literal["counter", "histogram", "gauge"], str, tuple[float, ...]]] = {
    names.METRIC_REVIEWS: ("counter", names.UNIT_REVIEW, ()),
    names.METRIC_GATE_DECISIONS: ("counter", names.UNIT_DECISION, ()),
    names.METRIC_REVIEW_DURATION: ("histogram", names.UNIT_SECOND, names.DURATION_BUCKETS),
    names.METRIC_CONFIDENCE: ("histogram", names.UNIT_ONE, names.CONFIDENCE_BUCKETS),
    names.METRIC_TOKENS: ("counter", names.UNIT_TOKEN, ()),
    names.METRIC_COST: ("counter", names.UNIT_USD, ()),
    names.METRIC_FABRICATIONS: ("counter", names.UNIT_FINDING, ()),
    names.METRIC_DOUBTS: ("counter", names.UNIT_FINDING, ()),
    names.METRIC_RULES: ("counter", names.UNIT_VIOLATION, ()),
    names.METRIC_MISQUOTED: ("counter", names.UNIT_REVIEW, ()),
    names.METRIC_FAILURES: ("counter", names.UNIT_FAILURE, ()),
    names.METRIC_QUEUE_DEPTH: ("gauge", names.UNIT_REVIEW, ()),
    names.METRIC_DROPPED: ("counter", names.UNIT_DRAFT, ()),
    names.METRIC_CIRCUIT: ("gauge", names.UNIT_STATE, ()),
    names.METRIC_POLICY_LOADED: ("gauge", names.UNIT_STATE, ()),
    names.METRIC_INFO: ("gauge", names.UNIT_PROCESS, ()),
    names.METRIC_SPOOL_BYTES: ("gauge", names.UNIT_BYTE, ()),
    names.METRIC_SPOOL_AGE: ("gauge", names.UNIT_SECOND, ()),
    names.METRIC_QUEUE_AGE: ("histogram", names.UNIT_SECOND, names.AGE_BUCKETS),
    names.METRIC_REDELIVERED: ("counter", names.UNIT_DRAFT, ()),
    names.METRIC_DEAD_LETTERED: ("counter", names.UNIT_DRAFT, ()),
    names.METRIC_BUDGET_LOCAL: ("counter", names.UNIT_CALL, ()),
    names.METRIC_OTHER_RELEASE: ("counter", names.UNIT_DRAFT, ()),
    names.METRIC_SELFTEST_RECALL: ("gauge", names.UNIT_ONE, ()),
}

SCHEMA = Schema(
    scope=names.SCOPE,
    span=names.SPAN_REVIEW,
    span_kind="INTERNAL",
    span_attributes=(
        *_DECISION,
        *_MODELS,
        *_DRAFT,
        *_CONTENT,
        AttributeInfo(
            names.OPENINFERENCE_KIND,
            "string",
            "The kind of the span for Phoenix: EVALUATOR, in mode enforce GUARDRAIL.",
            when="when OpenInference's instrumentation is loaded",
        ),
    ),
    foreign_span_attributes=(
        AttributeInfo(names.INTERNAL, "boolean", "The span was started inside the critic's own call."),
    ),
    events=_EVENTS,
    event_attributes=_EVENT_ATTRIBUTES,
    metrics=tuple(
        MetricInfo(name, kind, unit, DESCRIPTIONS[name], names.LABELS[name], buckets)
        for name, (kind, unit, buckets) in _KINDS.items()
    ),
    labels=_LABELS,
    content_switch=names.CAPTURE_CONTENT,
    longest_text=MAX_TEXT,
    longest_content=MAX_CONTENT,
)
"""The description of this version's telemetry."""
