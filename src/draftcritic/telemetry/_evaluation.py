"""The log event `gen_ai.evaluation.result`: a verdict as the GenAI conventions write an evaluation down."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from opentelemetry._logs import SeverityNumber

from draftcritic.core import Failed, Forced, Judged, Review
from draftcritic.telemetry import names
from draftcritic.telemetry._content import MAX_CONTENT, Value, amount_of, put
from draftcritic.telemetry._span import content_attributes, error_type

if TYPE_CHECKING:
    from opentelemetry._logs import Logger
    from opentelemetry.context import Context


def emit_evaluation(logger: Logger, review: Review, context: Context, *, with_content: bool) -> None:
    """Emit the event of a review that has a verdict, in the context of what was evaluated."""
    now = time.time_ns()
    logger.emit(
        timestamp=now,
        observed_timestamp=now,
        context=context,
        severity_number=SeverityNumber.INFO,
        severity_text="INFO",
        attributes=evaluation_attributes(review, with_content=with_content),
        event_name=names.EVENT_EVALUATION,
    )


def evaluation_attributes(review: Review, *, with_content: bool) -> dict[str, Value]:
    """Return the attributes of the event."""
    attributes: dict[str, Value] = {names.EVALUATION_NAME: names.EVALUATOR}
    if (verdict := review.verdict) is not None:
        attributes[names.EVALUATION_LABEL] = verdict._value_
    if (confidence := amount_of(review.assessment.confidence)) is not None:
        attributes[names.EVALUATION_VALUE] = confidence
    if review.turn.response_id:
        put(attributes, names.GEN_AI_RESPONSE_ID, review.turn.response_id)
    reflection = review.reflection
    if isinstance(reflection, Failed):
        put(attributes, names.ERROR_TYPE, error_type(reflection))
    attributes[names.GATE_REASON] = review.assessment.reason._value_
    if reflection is not None and reflection.call is not None:
        put(attributes, names.SKU, reflection.call.sku or names.SKU_UNKNOWN)
    if with_content:
        put(attributes, names.EVALUATION_EXPLANATION, _explanation(review), MAX_CONTENT)
        attributes.update(content_attributes(review))
    return attributes


def _explanation(review: Review) -> str | None:
    """Return why: the preferences that the critic named, else the text that it gave."""
    if review.matched_preferences:
        return "; ".join(review.matched_preferences)
    return review.outcome.text if isinstance(review.outcome, (Judged, Forced, Failed)) else None
