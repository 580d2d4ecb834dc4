"""The description and what is really emitted are the same."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from support.telemetry import (
    CALL,
    TURN,
    Harness,
    every_outcome,
    failed,
    finding,
    not_evaluated,
    review,
    skipped,
)

import draftcritic.telemetry as telemetry
from draftcritic.core import Judged, Mode, Verdict
from draftcritic.telemetry import SCHEMA, AttributeInfo, Capture
from draftcritic.telemetry import names as wire_names
from draftcritic.telemetry._selftest import record_recall

TYPES: dict[str, Any] = {"string": str, "int": int, "double": float, "boolean": bool, "string[]": tuple}


def everything() -> Harness:
    """A run that meets every attribute, event, metric and label."""
    from draftcritic.core import Assessment, CircuitState, GateDecision, GateReason, Usage

    harness = Harness(capture=Capture.SPAN_AND_EVENT)
    whole = Assessment(
        GateDecision.FIRED,
        GateReason.SENSITIVE_TAG,
        (GateReason.SENSITIVE_TAG,),
        0.4,
        "refund",
        (finding(), finding(kind="of no check")),
        threshold=0.6,
        activation_invalid=True,
    )
    doubt = finding(confidence=0.7)
    for finished in (
        *every_outcome("text", TURN),
        *(review(Judged(v, "text", ("rule",), call=CALL, reason="why", broken=("rule-1",)), whole) for v in Verdict),
        review(Judged(Verdict.APPROVE, None, call=replace(CALL, omitted=7, shared=True, usage=Usage(9, 1, 0.1, 4)))),
        review(Judged(Verdict.APPROVE, None, call=replace(CALL, evidence_length=9, evidence_kinds=("tools",)))),
        review(Judged(Verdict.REFUSE, None, call=CALL, ambiguous=True, misquoted=True)),
        review(Judged(Verdict.REFUSE, None, call=CALL, confirmed=(doubt,)), replace(whole, findings=(doubt,))),
        failed(),
        review(turn=replace(TURN, agent="support")),
        skipped(),
        not_evaluated(),
    ):
        record = harness.recorder.begin(finished.turn, None)
        if finished.call is not None:
            record.call_started(CALL.model, CALL.sku, TURN.run_id)
            with record.calling():
                harness.tracer.start_span("chat").end()
            record.call_ended(finished.call, TURN.run_id)
        record.finish(finished)
    harness.recorder.nested()
    harness.recorder.dropped("queue_full")
    harness.recorder.queue_depth(1)
    harness.recorder.circuit("gpt-4o-mini", CircuitState.OPEN)
    harness.recorder.policy_loaded(False)
    harness.recorder.delivered(12.5, True)
    harness.recorder.dead_lettered("schema")
    harness.recorder.budget_local()
    harness.recorder.other_release(newer=True, older=True)
    record_recall({"digit": 0.5, "rule": 1.0}, "gpt-4o-mini", harness.meter_provider)
    harness.recorder.watch_spool(lambda: (2048, 3.5))
    harness.recorder.info(Mode.OBSERVE, "8ab6571763b3", "spool", "gpt-4o-mini")
    return harness


def check(info: AttributeInfo, value: Any) -> None:
    assert isinstance(value, TYPES[info.type]), info.name
    assert isinstance(value, bool) == (info.type == "boolean"), info.name
    if info.values:
        assert set(value if isinstance(value, tuple) else (value,)) <= set(info.values), info.name


def test_spans_carry_what_the_description_says_and_nothing_else() -> None:
    described = {info.name: info for info in SCHEMA.span_attributes}
    reviews = [span for span in everything().spans if span.name == SCHEMA.span]
    for span in reviews:
        for name, value in span.attributes.items():
            check(described[name], value)
    assert {name for span in reviews for name in span.attributes} == set(described) - {
        "openinference.span.kind"  # only next to that instrumentation: see test_parent.py
    }
    always = {info.name for info in SCHEMA.span_attributes if not info.when}
    assert all(always <= set(span.attributes) for span in reviews)


def test_foreign_spans_carry_the_described_mark() -> None:
    (info,) = SCHEMA.foreign_span_attributes
    (marks,) = {tuple(s.attributes.items()) for s in everything().spans if s.name == "chat"}
    assert marks == ((info.name, True),)


def test_events_carry_what_the_description_says_and_nothing_else() -> None:
    harness = everything()
    infos = {info.name: info for info in (*SCHEMA.span_attributes, *SCHEMA.event_attributes)}
    emitted: dict[str, set[str]] = {}
    span_events = [event for span in harness.spans for event in span.events]
    for name, attributes in [
        *((event.name, event.attributes) for event in span_events),
        *((log.event_name, log.attributes) for log in harness.logs),
    ]:
        for key, value in attributes.items():
            check(infos[key], tuple(value) if isinstance(value, list) else value)
            emitted.setdefault(name, set()).add(key)
    assert emitted == {event.name: set(event.attributes) for event in SCHEMA.events}


def test_metrics_are_what_the_description_says_and_no_others() -> None:
    harness = everything()
    exported = harness.metrics()
    labels = {info.name: info for info in SCHEMA.labels}
    assert set(exported) == {metric.name for metric in SCHEMA.metrics}
    for metric in SCHEMA.metrics:
        got = exported[metric.name]
        kind = {"Sum": "counter", "Histogram": "histogram", "Gauge": "gauge"}[type(got.data).__name__]
        assert (kind, got.unit, got.description) == (metric.kind, metric.unit, metric.meaning)
        used: set[str] = set()
        for point in got.data.data_points:
            for key, value in point.attributes.items():
                check(labels[key], value)
                used.add(key)
            assert tuple(getattr(point, "explicit_bounds", ())) == metric.buckets
            assert set(metric.labels) - set(point.attributes) <= {"error.type"}
        assert used == set(metric.labels)
    assert set(labels) == {label for metric in SCHEMA.metrics for label in metric.labels}


def test_the_closed_sets_are_those_of_the_vocabulary() -> None:
    mode = next(info for info in SCHEMA.span_attributes if info.name == "draftcritic.mode")
    assert set(mode.values) == {word.value for word in Mode} - {"off"}


def test_the_description_is_plain_data() -> None:
    assert json.loads(json.dumps(SCHEMA.as_dict()))["span"] == "draftcritic.review"


def test_no_name_of_ours_is_spelled_out_beside_the_names_module() -> None:
    room = Path(telemetry.__file__).parent
    wire = {value for value in vars(wire_names).values() if isinstance(value, str) and "." in value}
    for file in room.glob("*.py"):
        if file.name != "names.py":
            texts = {node.value for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Constant)}
            assert not texts & wire, file.name


def test_the_public_surface() -> None:
    assert telemetry.__all__ == [
        "SCHEMA",
        "AttributeInfo",
        "Capture",
        "EventInfo",
        "MetricInfo",
        "Origin",
        "Schema",
        "TelemetryRecord",
        "TelemetryRecorder",
    ]
