"""`flush(export=True)` and the lifespan that calls it: reviews and their telemetry have left when they return."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from support.chat import Chat

from draftcritic import DraftCriticInstrumentor, flush_at_shutdown
from draftcritic.telemetry._export import export_all

REFUSE = '{"verdict": "refuse"}'


@pytest.fixture
def exporter() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    # Exports of its own accord only after the test.
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=600_000))
    plugin = DraftCriticInstrumentor()
    plugin.instrument(tracer_provider=provider, model=Chat(answers=[REFUSE] * 9), rules=["Be kind."])
    yield exporter
    plugin.uninstrument()
    provider.shutdown()


def names(exporter: InMemorySpanExporter) -> list[str]:
    return [span.name for span in exporter.get_finished_spans()]


def test_flush_exports_when_it_is_asked_to(exporter: InMemorySpanExporter) -> None:
    Chat(answers=["On its way."]).invoke("q")
    assert DraftCriticInstrumentor().flush(10)
    assert names(exporter) == []
    assert DraftCriticInstrumentor().flush(10, export=True)
    assert names(exporter) == ["draftcritic.review"]


async def test_the_lifespan_flushes_and_passes_the_state_on(exporter: InMemorySpanExporter) -> None:
    seen: list[Any] = []

    @asynccontextmanager
    async def own(app: Any) -> AsyncIterator[dict[str, int]]:
        yield {"answer": 42}
        seen.append(app)

    async with flush_at_shutdown(own)("app") as state:
        assert state == {"answer": 42}
        await Chat(answers=["On its way."]).ainvoke("q")
    assert seen == ["app"]
    assert names(exporter) == ["draftcritic.review"]


async def test_the_lifespan_flushes_after_an_error(exporter: InMemorySpanExporter) -> None:
    async def broken() -> None:
        async with flush_at_shutdown()("app"):
            await Chat(answers=["On its way."]).ainvoke("q")
            raise KeyError

    with pytest.raises(KeyError):
        await broken()
    assert names(exporter) == ["draftcritic.review"]


def test_a_provider_that_fails_is_told_and_the_others_export(caplog: pytest.LogCaptureFixture) -> None:
    class Fails:
        def force_flush(self, timeout_millis: int) -> bool:
            raise RuntimeError("secret")

    class Works:
        done = False

        def force_flush(self, timeout_millis: int) -> bool:
            self.done = True
            return True

    works = Works()
    assert not export_all([Fails(), object(), works], 5)
    assert works.done
    assert "RuntimeError" in caplog.text
    assert "secret" not in caplog.text
    assert export_all([object(), works], 5)
