"""Given providers, global ones, late ones, none at all, and broken ones."""

from __future__ import annotations

import logging
import subprocess
import sys
import textwrap
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor
from support.telemetry import TURN, Harness, failed, finding, review

from draftcritic.telemetry import TelemetryRecorder

_PRELUDE = """
import sys
from opentelemetry import _logs, metrics, trace
from support.telemetry import Harness, review, skipped
from draftcritic.telemetry import TelemetryRecorder
"""


def run(code: str, **environment: str) -> None:
    """Run code in a process of its own: global providers can be set only once."""
    import os

    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", _PRELUDE + textwrap.dedent(code)],
        env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_global_providers_that_are_set_late_get_everything_with_its_zeros() -> None:
    run(
        """
        recorder = TelemetryRecorder()
        recorder.begin(review().turn, None).finish(skipped())
        recorder.policy_loaded(False)
        late = Harness()
        late.recorder.close()
        trace.set_tracer_provider(late.tracer_provider)
        metrics.set_meter_provider(late.meter_provider)
        _logs.set_logger_provider(late.logger_provider)
        record = recorder.begin(review().turn, None)
        with record.calling():
            late.tracer.start_span("chat").end()
        record.finish(review())
        chat, reviewed = late.spans
        assert reviewed.name == "draftcritic.review"
        assert chat.attributes["draftcritic.internal"] is True
        assert chat.parent == reviewed.context
        assert late.log.event_name == "gen_ai.evaluation.result"
        points = late.points("draftcritic.reviews")
        assert sum(point.value for point in points.values()) == 1
        assert {dict(s)["draftcritic.verdict"] for s in points} == {"approve", "revise", "refuse", "none"}
        assert [point.value for point in late.points("draftcritic.policy.loaded").values()] == [0]
        del recorder, record
        again = TelemetryRecorder()
        for _ in range(2):
            assert [point.value for point in late.points("draftcritic.policy.loaded").values()] == [1]
        """
    )


def test_with_given_providers_nothing_goes_to_the_global_ones() -> None:
    run(
        """
        world, own = Harness(), Harness()
        trace.set_tracer_provider(world.tracer_provider)
        metrics.set_meter_provider(world.meter_provider)
        _logs.set_logger_provider(world.logger_provider)
        own.record(review())
        own.recorder.nested()
        own.recorder.dropped("shutdown")
        own.recorder.queue_depth(1)
        assert own.span and own.log and own.counted("draftcritic.reviews")
        assert not world.spans and not world.logs
        counted = {name: list(metric.data.data_points) for name, metric in world.metrics().items()}
        assert [point.value for point in counted.pop("draftcritic.policy.loaded")] == [1]
        assert not any(point.value for points in counted.values() for point in points)
        """
    )


def test_without_providers_everything_runs_and_goes_nowhere() -> None:
    run(
        """
        recorder = TelemetryRecorder()
        record = recorder.begin(review().turn, recorder.capture())
        with record.calling():
            record.call_started("m", "m", "")
        record.finish(review())
        assert recorder.boundary.failures == 0
        assert not [name for name in sys.modules if name.startswith("opentelemetry.instrumentation")]
        """
    )


def test_a_disabled_sdk_lets_the_review_run() -> None:
    run(
        """
        harness = Harness()
        called = []
        record = harness.recorder.begin(review().turn, harness.recorder.capture())
        with record.calling():
            called.append(True)
        record.finish(review())
        assert called and harness.recorder.boundary.failures == 0
        assert not harness.spans and not harness.logs and not harness.metrics()
        """,
        OTEL_SDK_DISABLED="true",
    )


class Broken(SpanProcessor):
    """Somebody else's processor that raises with a text of the turn in its message."""

    def __init__(self) -> None:
        self.active = True

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        if self.active:
            raise RuntimeError(TURN.draft)

    def on_end(self, span: Any) -> None:
        if self.active:
            raise RuntimeError(TURN.draft)


def test_a_broken_processor_breaks_no_review_and_is_logged_once_without_content(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    harness.tracer_provider.add_span_processor(Broken())
    for _ in range(3):
        harness.record(review())
    assert harness.recorder.boundary.failures == 3
    (record,) = [record for record in caplog.records if record.name == "draftcritic"]
    assert record.levelno == logging.WARNING
    assert record.getMessage() == "telemetry failed in begin: RuntimeError; logged once"
    assert TURN.draft not in caplog.text
    assert sum(harness.counted("draftcritic.reviews").values()) == 3
    assert len(harness.logs) == 3


class Stubborn(trace.NonRecordingSpan):
    """A span of some other SDK that refuses what it is given."""

    ended = 0

    def is_recording(self) -> bool:
        return True

    def set_attributes(self, attributes: Any) -> None:
        raise TypeError("no attributes here")

    def add_event(self, name: str, attributes: Any = None, timestamp: int | None = None) -> None:
        raise TypeError("no events here")

    def end(self, end_time: int | None = None) -> None:
        self.ended += 1


def test_a_span_that_refuses_its_attributes_is_ended_all_the_same(harness: Harness) -> None:
    span = Stubborn(trace.INVALID_SPAN_CONTEXT)

    class Tracer:
        def start_span(self, *_: Any, **__: Any) -> trace.Span:
            return span

    harness.recorder.tracer = Tracer()  # type: ignore[assignment]
    harness.record(failed())
    assert span.ended == 1
    assert sum(harness.counted("draftcritic.reviews").values()) == 1


def test_a_review_of_nonsense_raises_nothing(harness: Harness) -> None:
    from draftcritic.core import Assessment, GateDecision, GateReason, Judged, ModelCall, Turn, Usage, Verdict

    turn = Turn(draft="Hi", run_id=object(), draft_model=7, user_id=["a"], streamed="yes")  # type: ignore[arg-type]
    call = ModelCall(model=None, sku=None, usage=Usage("many", 2.5, "free"), finish_reason=object())  # type: ignore[arg-type]
    odd = Assessment(
        GateDecision.FIRED,
        GateReason.CLAIMS,
        confidence="high",
        findings=(finding(confidence=0.5),),  # type: ignore[arg-type]
    )
    harness.record(review(Judged(Verdict.APPROVE, None, call=call), odd, turn=turn))
    assert len(harness.review_spans) == 1


def test_an_interrupt_is_never_swallowed(harness: Harness) -> None:
    class Interrupting(SpanProcessor):
        def on_end(self, span: Any) -> None:
            raise KeyboardInterrupt

    harness.tracer_provider.add_span_processor(Interrupting())
    record = harness.recorder.begin(TURN, None)
    with pytest.raises(KeyboardInterrupt):
        record.finish(review())


def test_it_is_the_observer_that_the_engine_wants() -> None:
    from draftcritic.review._ports import ReviewObserver, ReviewRecord

    recorder = TelemetryRecorder()
    observer: ReviewObserver = recorder
    record: ReviewRecord = recorder.begin(TURN, None)
    wanted = {name for name in vars(ReviewObserver) if not name.startswith("_")}
    assert wanted == {
        "begin",
        "capture",
        "circuit",
        "displaced",
        "dropped",
        "muted",
        "nested",
        "policy_loaded",
        "queue_depth",
        "trace_id",
    }
    assert all(callable(getattr(observer, name)) for name in wanted)
    assert all(callable(getattr(record, n)) for n in ("calling", "call_started", "call_ended", "finish"))
