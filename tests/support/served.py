"""An application with the plugin set up in its code, for real servers and real ends of processes.

`OTEL_EXPORTER_OTLP_ENDPOINT` says where its telemetry goes; `CRITIC_SECONDS` how long the critic thinks; `MODE` and
`SHUTDOWN` set the plugin. Imported, it is a WSGI and an ASGI application; run, it does what its argument says.
"""

from __future__ import annotations

import asyncio
import atexit
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from support.chat import Chat

from draftcritic import DraftCriticInstrumentor

DRAFT = "Your parcel is on its way."
_HANDLING = 0.05
"""Seconds that a request takes besides, so that one worker does not take them all."""


class Critic(Chat):
    async def _agenerate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        await asyncio.sleep(self.delay)
        return Chat(answers=self.answers)._generate(messages)


def set_up() -> None:
    """What an application does where it starts."""
    tracers = TracerProvider()
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(tracers)
    metrics.set_meter_provider(MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter())]))
    delay = float(os.environ.get("CRITIC_SECONDS", "0"))
    DraftCriticInstrumentor().instrument(
        mode=os.environ.get("MODE", "observe"),
        rules=["Be kind."],  # without these two the start warns on standard error
        qualified_models=["gpt-4o-mini"],
        model=Critic(answers=['{"verdict": "approve"}'], delay=delay),
        shutdown_timeout=float(os.environ.get("SHUTDOWN", "20")),
    )


set_up()
model = Chat(answers=[DRAFT])


def answer() -> str:
    return str(model.invoke("Where is it?").text)


def wsgi(environ: Any, start_response: Any) -> Any:
    """Answer over WSGI with the process's id and the draft."""
    time.sleep(_HANDLING)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"{os.getpid()} {answer()}".encode()]


def make_asgi() -> Any:
    """Return the ASGI application; Starlette is not everywhere.

    Uvicorn ends its workers by the signal that it has caught, so no exit handler runs: what has to be done at the end
    is done in the lifespan.
    """
    from starlette.applications import Starlette
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route

    async def ask(_: Any) -> Any:
        message = await model.ainvoke("Where is it?")
        await asyncio.sleep(_HANDLING)
        return PlainTextResponse(f"{os.getpid()} {message.text}")

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(DraftCriticInstrumentor().flush, 20)
        for provider in (trace.get_tracer_provider(), metrics.get_meter_provider()):
            await asyncio.to_thread(provider.shutdown)

    return Starlette(routes=[Route("/", ask)], lifespan=lifespan)


def threads(count: int) -> None:
    """Write drafts in threads that know nothing of the caller's context."""
    workers = [threading.Thread(target=answer) for _ in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def queued() -> None:
    """End with reviews still queued."""
    for _ in range(20):
        answer()


def terminated() -> None:
    """Terminate with reviews still queued, as a container does."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    queued()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)


def interrupted() -> None:
    """End by Ctrl-C in a coroutine."""

    async def main() -> None:
        for _ in range(5):
            await model.ainvoke("Where is it?")
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(60)

    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        sys.exit(0)


def finalizing() -> None:
    """Write drafts while the interpreter ends: in an exit handler, and in a thread that is not joined."""
    atexit.register(lambda: print(answer(), flush=True))

    def endless() -> None:
        while True:
            answer()
            time.sleep(0.001)

    threading.Thread(target=endless, daemon=True).start()
    time.sleep(0.05)


def spawned() -> None:
    """Write drafts in two children that multiprocessing spawns, and in the parent."""
    children = [multiprocessing.get_context("spawn").Process(target=queued) for _ in range(2)]
    for child in children:
        child.start()
    queued()
    for child in children:
        child.join()
        assert child.exitcode == 0


def forked() -> None:
    """Fork while the parent's reviews run, and write drafts in the child as well."""
    queued()
    child = os.fork()
    queued()
    if child:
        assert os.waitpid(child, 0)[1] == 0


SCENARIOS: dict[str, Callable[[], None]] = {
    "threads": lambda: threads(20),
    "queued": queued,
    "terminated": terminated,
    "interrupted": interrupted,
    "finalizing": finalizing,
    "spawned": spawned,
    "forked": forked,
}

if __name__ == "__main__":
    SCENARIOS[sys.argv[1]]()
