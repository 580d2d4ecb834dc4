"""Every name that goes over the wire, and the buckets: nothing else in the project spells one out."""

from __future__ import annotations

from typing import Final

SCOPE: Final = "draftcritic"
"""Name of the tracer, the meter and the logger."""
SPAN_REVIEW: Final = "draftcritic.review"
OPERATION_PROCESS: Final = "process"
"""The span of a worker is named by this and its queue, as the messaging conventions have it."""
MESSAGING_SYSTEM: Final = "messaging.system"
MESSAGING_RABBITMQ: Final = "rabbitmq"
MESSAGING_OPERATION: Final = "messaging.operation.type"
MESSAGING_OPERATION_NAME: Final = "messaging.operation.name"
MESSAGING_DESTINATION: Final = "messaging.destination.name"
MESSAGING_ID: Final = "messaging.message.id"
NODE_NAME: Final = "metacognition_critic"
SKU_UNKNOWN: Final = "unknown"

# Attributes of the review span; metric labels and event attributes are taken from the same words.
VERDICT: Final = "draftcritic.verdict"
VERDICT_SOURCE: Final = "draftcritic.verdict.source"
VERDICT_NONE: Final = "none"
"""Label of a review without a verdict."""
OUTCOME: Final = "draftcritic.outcome"
ACTION: Final = "draftcritic.action"
MODE: Final = "draftcritic.mode"
CONFIDENCE: Final = "draftcritic.confidence"
CONFIDENCE_THRESHOLD: Final = "draftcritic.confidence.threshold"
ACTIVATION_INVALID: Final = "draftcritic.activation.invalid"
GATE_DECISION: Final = "draftcritic.gate.decision"
GATE_REASON: Final = "draftcritic.gate.reason"
GATE_SIGNALS: Final = "draftcritic.gate.signals"
SENSITIVE_TAG: Final = "draftcritic.sensitive_tag"
SKU: Final = "draftcritic.sku"
DRAFT_SKU: Final = "draftcritic.draft.sku"
MODEL: Final = "draftcritic.model"
DRAFT_MODEL: Final = "draftcritic.draft.model"
USAGE_INPUT_TOKENS: Final = "draftcritic.usage.input_tokens"
USAGE_OUTPUT_TOKENS: Final = "draftcritic.usage.output_tokens"
USAGE_CACHED_TOKENS: Final = "draftcritic.usage.cached_tokens"
USAGE_COST_USD: Final = "draftcritic.usage.cost_usd"
NODE: Final = "draftcritic.node_name"
RUN_ID: Final = "draftcritic.run_id"
DRAFT_LENGTH: Final = "draftcritic.draft.length"
DRAFT_STREAMED: Final = "draftcritic.draft.streamed"
DRAFT_EXPOSED: Final = "draftcritic.draft.exposed"
FABRICATION_COUNT: Final = "draftcritic.fabrication.count"
FABRICATION_KINDS: Final = "draftcritic.fabrication.kinds"
FABRICATION_MAX_CONFIDENCE: Final = "draftcritic.fabrication.max_confidence"
DOUBT_COUNT: Final = "draftcritic.doubt.count"
DOUBT_KINDS: Final = "draftcritic.doubt.kinds"
DOUBT_CONFIRMED: Final = "draftcritic.doubt.confirmed"
POLICY_VERSION: Final = "draftcritic.policy.version"
SHARED: Final = "draftcritic.shared"
PROMPT_OMITTED: Final = "draftcritic.prompt.omitted"
EVIDENCE_LENGTH: Final = "draftcritic.evidence.length"
EVIDENCE_OMITTED: Final = "draftcritic.evidence.omitted"
EVIDENCE_KINDS: Final = "draftcritic.evidence.kinds"
MISQUOTED: Final = "draftcritic.misquoted"
REPLY_AMBIGUOUS: Final = "draftcritic.reply.ambiguous"
PREFERENCES_MATCHED: Final = "draftcritic.preferences.matched"
RULES_BROKEN: Final = "draftcritic.rules.broken"
FAILURE: Final = "draftcritic.failure"
INTERNAL: Final = "draftcritic.internal"
OPENINFERENCE_KIND: Final = "openinference.span.kind"

# Names of the GenAI and general semantic conventions.
GEN_AI_OPERATION_NAME: Final = "gen_ai.operation.name"
"""Read on the spans of others, never set."""
GEN_AI_RESPONSE_ID: Final = "gen_ai.response.id"
GEN_AI_AGENT_NAME: Final = "gen_ai.agent.name"
GEN_AI_CONVERSATION_ID: Final = "gen_ai.conversation.id"
SESSION_ID: Final = "session.id"
USER_ID: Final = "user.id"
ERROR_TYPE: Final = "error.type"


# The two moments of the critic's call, as events of the review span.
EVENT_LLM_START: Final = "on_llm_start"
EVENT_LLM_END: Final = "on_llm_end"
FINISH_REASON: Final = "draftcritic.finish_reason"

# The log event. Only these names of the GenAI conventions for evaluations are merged.
EVENT_EVALUATION: Final = "gen_ai.evaluation.result"
EVALUATION_NAME: Final = "gen_ai.evaluation.name"
EVALUATION_LABEL: Final = "gen_ai.evaluation.score.label"
EVALUATION_EXPLANATION: Final = "gen_ai.evaluation.explanation"
EVALUATION_REFLECTION: Final = "draftcritic.reflection"
EVALUATION_FABRICATION: Final = "draftcritic.fabrication"
EVALUATIONS: Final = (EVALUATION_REFLECTION, EVALUATION_FABRICATION)
"""Values of `gen_ai.evaluation.name`."""
LABEL_FINDING: Final = "finding"
"""Label of findings that decided nothing."""

# Content: only under the switch.
CAPTURE_CONTENT: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The environment variable of the GenAI instrumentations that lets content out of the process."""
CONTENT_DRAFT: Final = "draftcritic.content.draft"
CONTENT_REVISION: Final = "draftcritic.content.revised_draft"
CONTENT_REFUSAL: Final = "draftcritic.content.refusal_message"
CONTENT_REASON: Final = "draftcritic.content.reason"
CONTENT_PREFERENCES: Final = "draftcritic.content.matched_preferences"
CONTENT_FABRICATIONS: Final = "draftcritic.content.fabrications"

# Labels that are no attribute of the review span.
DIRECTION: Final = "draftcritic.direction"
KIND: Final = "draftcritic.kind"
RULE: Final = "draftcritic.rule"
DAMAGE: Final = "draftcritic.damage"
DAMAGES: Final = ("digit", "negation", "tool_call", "rule")
"""How a self-test damages a draft."""
ANSWER: Final = "draftcritic.answer"
ANSWER_NONE: Final = "none"
ANSWER_CONFIRMED: Final = "confirmed"
ANSWERS: Final = (ANSWER_NONE, "approve", "revise", "refuse", ANSWER_CONFIRMED)
"""What the critic said of a draft with a doubt: nothing, its verdict, or that the doubt is right."""
REASON: Final = "draftcritic.reason"
DIRECTION_INPUT: Final = "input"
DIRECTION_OUTPUT: Final = "output"
DIRECTIONS: Final = (DIRECTION_INPUT, DIRECTION_OUTPUT)
DROP_ERROR: Final = "error"
DROP_REASONS: Final = ("queue_full", "shutdown", "expired", "damaged", DROP_ERROR)
DEAD_REASONS: Final = ("schema", "attempts", DROP_ERROR)
"""Why a draft was put aside as a dead letter."""
RELEASE_NEWER: Final = "newer"
RELEASE_OLDER: Final = "older"
RELEASES: Final = (RELEASE_NEWER, RELEASE_OLDER)
"""Whose writer a draft came from: of a release that knows more fields of a turn, or fewer."""
VERSION: Final = "draftcritic.version"
DELIVERY: Final = "draftcritic.delivery"
KIND_OTHER: Final = "other"
"""Label of a fabrication kind that is none of the detector's."""

METRIC_REVIEWS: Final = "draftcritic.reviews"
METRIC_GATE_DECISIONS: Final = "draftcritic.gate.decisions"
METRIC_REVIEW_DURATION: Final = "draftcritic.review.duration"
METRIC_CONFIDENCE: Final = "draftcritic.confidence"
METRIC_TOKENS: Final = "draftcritic.tokens"
METRIC_COST: Final = "draftcritic.cost"
METRIC_FABRICATIONS: Final = "draftcritic.fabrications"
METRIC_DOUBTS: Final = "draftcritic.doubts"
METRIC_RULES: Final = "draftcritic.rules.violations"
METRIC_MISQUOTED: Final = "draftcritic.misquoted"
METRIC_FAILURES: Final = "draftcritic.failures"
METRIC_QUEUE_DEPTH: Final = "draftcritic.queue.depth"
METRIC_DROPPED: Final = "draftcritic.dropped"
METRIC_CIRCUIT: Final = "draftcritic.circuit.state"
METRIC_POLICY_LOADED: Final = "draftcritic.policy.loaded"
METRIC_INFO: Final = "draftcritic.info"
METRIC_SPOOL_BYTES: Final = "draftcritic.spool.bytes"
METRIC_SPOOL_AGE: Final = "draftcritic.spool.age"
METRIC_QUEUE_AGE: Final = "draftcritic.queue.age"
METRIC_REDELIVERED: Final = "draftcritic.redelivered"
METRIC_DEAD_LETTERED: Final = "draftcritic.dead_lettered"
METRIC_BUDGET_LOCAL: Final = "draftcritic.budget.local"
METRIC_OTHER_RELEASE: Final = "draftcritic.other_release"
METRIC_SELFTEST_RECALL: Final = "draftcritic.selftest.recall"

UNIT_REVIEW: Final = "{review}"
UNIT_DECISION: Final = "{decision}"
UNIT_SECOND: Final = "s"
UNIT_ONE: Final = "1"
UNIT_STATE: Final = "{state}"
UNIT_TOKEN: Final = "{token}"  # noqa: S105 - a unit, no secret
UNIT_USD: Final = "USD"
UNIT_FINDING: Final = "{finding}"
UNIT_VIOLATION: Final = "{violation}"
UNIT_FAILURE: Final = "{failure}"
UNIT_DRAFT: Final = "{draft}"
UNIT_BYTE: Final = "By"
UNIT_PROCESS: Final = "{process}"
UNIT_CALL: Final = "{call}"

DURATION_BUCKETS: Final = tuple(round(0.01 * 2**step, 2) for step in range(14))
"""Seconds, 0.01 to 81.92, each twice the one before: what the GenAI conventions advise for model calls."""
AGE_BUCKETS: Final = (0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 21600.0, 86400.0)
"""Seconds, from a tenth to a day: how long drafts wait for their review in another process."""
CONFIDENCE_BUCKETS: Final = tuple(round(0.05 * step, 2) for step in range(1, 21))
"""0.05 to 1.0 in steps of 0.05; a bound belongs to the bucket below it."""

LABELS: Final[dict[str, tuple[str, ...]]] = {
    METRIC_REVIEWS: (VERDICT, VERDICT_SOURCE, OUTCOME, GATE_REASON, ACTION, SKU),
    METRIC_GATE_DECISIONS: (GATE_DECISION, GATE_REASON),
    METRIC_REVIEW_DURATION: (VERDICT, OUTCOME, SKU, ERROR_TYPE),
    METRIC_CONFIDENCE: (GATE_DECISION,),
    METRIC_TOKENS: (SKU, DIRECTION),
    METRIC_COST: (SKU,),
    METRIC_FABRICATIONS: (KIND, ACTION, VERDICT_SOURCE),
    METRIC_DOUBTS: (KIND, ANSWER),
    METRIC_RULES: (RULE, VERDICT),
    METRIC_MISQUOTED: (VERDICT, SKU),
    METRIC_FAILURES: (FAILURE,),
    METRIC_QUEUE_DEPTH: (),
    METRIC_DROPPED: (REASON,),
    METRIC_CIRCUIT: (SKU,),
    METRIC_POLICY_LOADED: (),
    METRIC_INFO: (VERSION, MODE, POLICY_VERSION, DELIVERY, SKU),
    METRIC_SPOOL_BYTES: (),
    METRIC_SPOOL_AGE: (),
    METRIC_QUEUE_AGE: (),
    METRIC_REDELIVERED: (),
    METRIC_DEAD_LETTERED: (REASON,),
    METRIC_OTHER_RELEASE: (REASON,),
    METRIC_SELFTEST_RECALL: (DAMAGE, SKU),
    METRIC_BUDGET_LOCAL: (),
}
"""The labels of each metric."""
