"""One model call with a refund behind it, under the instrumentation that the command line names."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

SYSTEM = "You are the support agent of a shop."
QUESTION = "Please refund order A-4471."
RESULT = "the refund service is down"
DRAFT = "Order A-4471 was shipped; I refunded 18.50 EUR."
CALL: Any = {"name": "refund_order", "args": {"order_id": "A-4471"}, "id": "call_1"}
MESSAGES = [
    SystemMessage(SYSTEM),
    HumanMessage(QUESTION),
    AIMessage("", tool_calls=[CALL]),
    ToolMessage(RESULT, tool_call_id="call_1", name="refund_order", status="error"),
]


def call_model(**config: Any) -> None:
    """Let a chat model write the draft."""
    GenericFakeChatModel(messages=iter([AIMessage(DRAFT)])).invoke(MESSAGES, config=config)


def main(module: str, name: str, endpoint: str) -> None:
    tracers, loggers = TracerProvider(), LoggerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{endpoint}/v1/traces")))
    loggers.add_log_record_processor(SimpleLogRecordProcessor(OTLPLogExporter(f"{endpoint}/v1/logs")))
    instrumentor = getattr(importlib.import_module(module), name)()
    instrumentor.instrument(tracer_provider=tracers, logger_provider=loggers)
    call_model(metadata={"session_id": "ben-1", "user_id": "C-102", "model_name": "gpt-4o-mini"})
    tracers.shutdown()
    loggers.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
