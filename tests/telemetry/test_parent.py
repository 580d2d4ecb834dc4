"""Where a review hangs when OpenInference traces LangChain: it never makes its spans current."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import FakeListChatModel
from openinference.instrumentation.langchain import LangChainInstrumentor
from support.telemetry import Harness, review


class Capturing(BaseCallbackHandler):
    """Captures the origin inside of a model run."""

    raise_error = True

    def __init__(self, harness: Harness, *, as_text: bool = False, parent: bool = False) -> None:
        self.harness = harness
        self.as_text = as_text
        self.parent = parent
        self.origin: Any = None

    def on_llm_end(self, response: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **_: Any) -> None:
        wanted = parent_run_id if self.parent else run_id
        self.origin = self.harness.recorder.capture(str(wanted) if self.as_text else wanted)


@pytest.fixture
def openinference(harness: Harness) -> Iterator[None]:
    instrumentor = LangChainInstrumentor()
    instrumentor.instrument(tracer_provider=harness.tracer_provider, skip_dep_check=True)
    yield
    instrumentor.uninstrument()


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.usefixtures("openinference")
def test_the_open_run_span_is_the_parent_and_what_was_evaluated(harness: Harness, as_text: bool) -> None:
    handler = Capturing(harness, as_text=as_text)
    FakeListChatModel(responses=["Hi"]).invoke("Hello", config={"callbacks": [handler]})
    harness.record(review(), handler.origin)
    (run,) = [span for span in harness.spans if span.name == "FakeListChatModel"]
    assert harness.span.parent == run.context
    assert harness.span.attributes is not None
    assert harness.span.attributes["openinference.span.kind"] == "EVALUATOR"
    assert harness.log.span_id == run.context.span_id


@pytest.mark.usefixtures("openinference")
def test_a_run_that_is_no_model_call_is_a_parent_but_was_not_evaluated(harness: Harness) -> None:
    handler = Capturing(harness, parent=True)
    chain = FakeListChatModel(responses=["Hi"]) | (lambda message: message.content)
    chain.invoke("Hello", config={"callbacks": [handler]})
    harness.record(review(), handler.origin)
    (run,) = [span for span in harness.spans if span.name == "RunnableSequence"]
    assert harness.span.parent == run.context
    assert harness.log.span_id == harness.span.context.span_id


@pytest.mark.usefixtures("openinference")
def test_a_current_span_goes_first(harness: Harness) -> None:
    handler = Capturing(harness)
    with harness.tracer.start_as_current_span("server") as server:
        FakeListChatModel(responses=["Hi"]).invoke("Hello", config={"callbacks": [handler]})
    harness.record(review(), handler.origin)
    assert harness.span.parent == server.get_span_context()


@pytest.mark.usefixtures("openinference")
@pytest.mark.parametrize("run_id", [None, uuid4(), "not a uuid", 7])
def test_an_unknown_run_makes_a_root(harness: Harness, run_id: Any) -> None:
    harness.record(review(), harness.recorder.capture(run_id))
    assert harness.span.parent is None


def test_an_instrumentation_that_is_off_is_left_alone(harness: Harness, capsys: pytest.CaptureFixture[str]) -> None:
    harness.record(review(), harness.recorder.capture(uuid4()))
    assert harness.span.parent is None
    assert capsys.readouterr().out == ""


def test_openinference_is_never_imported_by_us() -> None:
    code = (
        "import sys, uuid\n"
        "from draftcritic.telemetry import TelemetryRecorder\n"
        "TelemetryRecorder().capture(uuid.uuid4())\n"
        "loaded = [name for name in sys.modules\n"
        "          if name.startswith(('openinference', 'opentelemetry.sdk', 'langchain', 'pydantic'))]\n"
        "sys.exit(', '.join(loaded) or 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
