"""The log event `gen_ai.evaluation.result`: the result of each check, in the form of the GenAI conventions."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from opentelemetry._logs import SeverityNumber

from draftcritic.core._review import Forced, Judged, Review
from draftcritic.telemetry import names
from draftcritic.telemetry._content import MAX_CONTENT, Value, put
from draftcritic.telemetry._span import content_attributes

if TYPE_CHECKING:
    from opentelemetry._logs import Logger
    from opentelemetry.context import Context


def emit_evaluations(logger: Logger, review: Review, context: Context, *, with_content: bool) -> None:
    """Emit an event for each check that has a result, in the context of the evaluated model call."""
    now = time.time_ns()
    for attributes in evaluations(review, with_content=with_content):
        logger.emit(
            timestamp=now,
            observed_timestamp=now,
            context=context,
            severity_number=SeverityNumber.INFO,
            severity_text="INFO",
            attributes=attributes,
            event_name=names.EVENT_EVALUATION,
        )


def evaluations(review: Review, *, with_content: bool) -> Iterator[dict[str, Value]]:
    """Yield the attributes of the events: the reflection when it gave a verdict, the findings when there are some."""
    judged, findings = review.reflection, review.assessment.sure_findings
    if isinstance(judged, Judged):
        attributes = _attributes(review, names.EVALUATION_REFLECTION, judged.verdict._value_, with_content=with_content)
        if judged.call is not None:
            put(attributes, names.SKU, judged.call.sku or names.SKU_UNKNOWN)
        put(attributes, names.RULES_BROKEN, judged.broken or None)
        if with_content:
            put(attributes, names.EVALUATION_EXPLANATION, judged.reason or _named(judged), MAX_CONTENT)
        yield attributes
    if findings:
        label = review.outcome.verdict._value_ if isinstance(review.outcome, Forced) else names.LABEL_FINDING
        attributes = _attributes(review, names.EVALUATION_FABRICATION, label, with_content=with_content)
        if with_content:
            found = "; ".join(f"{finding.kind}: {finding.identifier}" for finding in findings)
            put(attributes, names.EVALUATION_EXPLANATION, found, MAX_CONTENT)
        yield attributes


def _attributes(review: Review, name: str, label: str, *, with_content: bool) -> dict[str, Value]:
    attributes: dict[str, Value] = {names.EVALUATION_NAME: name, names.EVALUATION_LABEL: label}
    if review.turn.response_id:
        put(attributes, names.GEN_AI_RESPONSE_ID, review.turn.response_id)
    attributes[names.GATE_REASON] = review.assessment.reason._value_
    if with_content:
        attributes.update(content_attributes(review))
    return attributes


def _named(judged: Judged) -> str | None:
    """Return the rules that the critic named, for a reply without a reason."""
    return "; ".join(judged.matched_preferences) or None
