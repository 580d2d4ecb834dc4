"""Every name that goes over the wire, and the buckets: nothing else in the project spells one out."""

from __future__ import annotations

from typing import Final

SCOPE: Final = "draftcritic"
"""Name of the tracer, the meter and the logger."""
SPAN_REVIEW: Final = "draftcritic.review"
NODE_NAME: Final = "metacognition_critic"
SKU_UNKNOWN: Final = "unknown"

# Attributes of the review span; metric labels and event attributes are taken from the same words.
VERDICT: Final = "draftcritic.verdict"
VERDICT_SOURCE: Final = "draftcritic.verdict.source"
ACTION: Final = "draftcritic.action"
MODE: Final = "draftcritic.mode"
CONFIDENCE: Final = "draftcritic.confidence"
CONFIDENCE_THRESHOLD: Final = "draftcritic.confidence.threshold"
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
USAGE_COST_USD: Final = "draftcritic.usage.cost_usd"
NODE: Final = "draftcritic.node_name"
RUN_ID: Final = "draftcritic.run_id"
DRAFT_LENGTH: Final = "draftcritic.draft.length"
DRAFT_STREAMED: Final = "draftcritic.draft.streamed"
DRAFT_EXPOSED: Final = "draftcritic.draft.exposed"
FABRICATION_COUNT: Final = "draftcritic.fabrication.count"
FABRICATION_KINDS: Final = "draftcritic.fabrication.kinds"
FABRICATION_MAX_CONFIDENCE: Final = "draftcritic.fabrication.max_confidence"
PREFERENCES_MATCHED: Final = "draftcritic.preferences.matched"
FAILURE: Final = "draftcritic.failure"
INTERNAL: Final = "draftcritic.internal"

# Names of the GenAI and general semantic conventions.
GEN_AI_RESPONSE_ID: Final = "gen_ai.response.id"
GEN_AI_CONVERSATION_ID: Final = "gen_ai.conversation.id"
SESSION_ID: Final = "session.id"
USER_ID: Final = "user.id"
ERROR_TYPE: Final = "error.type"
