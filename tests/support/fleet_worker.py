"""`draftcritic worker` with a model that needs no provider: `fleet_worker.py CONCURRENCY`."""

from __future__ import annotations

import os
import sys
import time

from support import jumping_clock
from support.fleet_agent import Slow, note_drops

import draftcritic.cli
from draftcritic import _deliveries
from draftcritic._runtime import Runtime
from draftcritic.cli import _replay_models
from draftcritic.core import CriticGateContext
from draftcritic.fleet import _broker
from draftcritic.langchain._critic_model import ChatModelCritic


def stuck_gate(context: CriticGateContext) -> bool:
    """Fire on every draft, and never end for one that says so."""
    while "stuck" in context.draft:
        time.sleep(1)
    return True


def export() -> None:
    """Set up the SDK as `opentelemetry-instrument` does."""
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(), schedule_delay_millis=200))
    trace.set_tracer_provider(provider)


def main() -> int:
    jumping_clock.install()
    if os.environ.get("DROPS"):
        note_drops(os.environ["DROPS"])
    _deliveries._TIME_LIMIT_S = float(os.environ.get("TIME_LIMIT", _deliveries._TIME_LIMIT_S))
    seconds = float(os.environ.get("SECONDS_PER_REVIEW", "0"))
    _broker.MOST_MESSAGES = int(os.environ.get("MOST_MESSAGES", _broker.MOST_MESSAGES))
    if os.environ.get("EXPORT"):
        export()
    model = Slow(seconds=seconds)
    Runtime._named = lambda self, name: model  # type: ignore[method-assign]  # the chat model is the one fake
    _replay_models.critic_model = lambda name, kwargs: ChatModelCritic(model, requested="gpt-4.1-nano", apart=True)
    os.environ["DRAFTCRITIC_MODEL"] = "openai:gpt-4.1-nano"
    return draftcritic.cli.main(["worker", "--concurrency", sys.argv[1]])


if __name__ == "__main__":
    sys.exit(main())
