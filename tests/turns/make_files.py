"""Makes the files of tools that are too large to install for the tests: `python make_files.py TOOL FOLDER`.

Each in an environment of its own: `pip install inspect-ai`, or `langfuse langchain-core`, or `arize-phoenix
openinference-instrumentation-langchain langchain-core`. tau2 is on no index: check it out (tau2-bench, Python 3.12),
install what its `tau2.data_model` imports, and put its `src` on PYTHONPATH. The names of the files have the versions.
"""

from __future__ import annotations

import datetime
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path

TAU2 = "1.0.1"


def make_langfuse(folder: Path) -> None:
    """What Langfuse's SDK sends for a model call, as an observation of its API."""
    from instrumented_agent import call_model
    from langfuse import Langfuse, api
    from langfuse.langchain import CallbackHandler
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    spans, provider = InMemorySpanExporter(), TracerProvider()
    Langfuse(public_key="pk", secret_key="sk", base_url="http://127.0.0.1:9", tracer_provider=provider)
    provider.add_span_processor(SimpleSpanProcessor(spans))
    call_model(callbacks=[CallbackHandler()])
    span = spans.get_finished_spans()[-1]
    observation = api.ObservationV2(
        id=format(span.context.span_id, "016x"),
        trace_id=format(span.context.trace_id, "032x"),
        start_time=datetime.datetime.fromtimestamp(span.start_time / 1e9, datetime.timezone.utc),
        project_id="shop",
        type="GENERATION",
        name=span.name,
        input=span.attributes["langfuse.observation.input"],
        output=span.attributes["langfuse.observation.output"],
        user_id="C-102",
        session_id="ben-1",
    )
    made = version("langfuse")
    (folder / f"langfuse-{made}.jsonl").write_text(observation.json() + "\n")
    (folder / f"langfuse-span-{made}.json").write_text(span.to_json(indent=None) + "\n")
    os._exit(0)  # it would go on trying to send


def make_phoenix(folder: Path) -> None:
    """A dataframe of spans that Phoenix received."""
    import phoenix
    from instrumented_agent import call_model
    from openinference.instrumentation.langchain import LangChainInstrumentor
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from phoenix.client import Client

    url = f"http://127.0.0.1:{os.environ.setdefault('PHOENIX_PORT', '16006')}"
    phoenix.launch_app()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{url}/v1/traces")))
    LangChainInstrumentor().instrument(tracer_provider=provider)
    call_model(metadata={"session_id": "ben-1", "user_id": "C-102"})
    time.sleep(5)
    Client(base_url=url).spans.get_spans_dataframe().to_parquet(
        folder / f"arize-phoenix-{version('arize-phoenix')}.parquet"
    )
    os._exit(0)


def make_inspect(folder: Path) -> None:
    """A log of an evaluation with two tools, one of which fails; its events are left out."""
    import tiktoken
    from instrumented_agent import DRAFT, QUESTION, RESULT, SYSTEM

    # Counting tokens would download a table.
    tiktoken.get_encoding = lambda _: type("Bytes", (), {"encode": staticmethod(lambda text, **_: list(text.encode()))})
    from inspect_ai import Task
    from inspect_ai import eval as run
    from inspect_ai.dataset import Sample
    from inspect_ai.log import write_eval_log
    from inspect_ai.model import ModelOutput, get_model
    from inspect_ai.solver import generate, system_message, use_tools
    from inspect_ai.tool import ToolError, tool

    @tool
    def refund_order():
        async def execute(order_id: str) -> str:
            """Refund an order.

            Args:
                order_id: the order
            """
            raise ToolError(RESULT)

        return execute

    name = "mockllm/model"
    outputs = [
        ModelOutput.for_tool_call(name, "refund_order", {"order_id": "A-4471"}),
        ModelOutput.from_content(name, DRAFT),
    ]
    task = Task(
        dataset=[Sample(id="one", input=QUESTION)],
        solver=[system_message(SYSTEM), use_tools(refund_order()), generate()],
    )
    (log,) = run(task, model=get_model(name, custom_outputs=outputs), log_dir=str(folder / "log"), display="none")
    for sample in log.samples or ():
        sample.events, sample.events_data = [], None
    write_eval_log(log, str(folder / f"inspect-ai-{version('inspect-ai')}.json"))


def make_tau2(folder: Path) -> None:
    """Results of one simulation in which the agent and the user call tools of their own."""
    from tau2.data_model import message as said
    from tau2.data_model import simulation as of
    from tau2.environment.environment import EnvironmentInfo

    def call(id_: str, name: str, requestor: str, **arguments: str) -> said.ToolCall:
        return said.ToolCall(id=id_, name=name, arguments=arguments, requestor=requestor)

    def result(id_: str, content: str, requestor: str, error: bool = False) -> said.ToolMessage:
        return said.ToolMessage(id=id_, role="tool", content=content, requestor=requestor, error=error)

    looked = [call("c1", "get_line", "assistant", line="L-7"), call("c2", "refund", "assistant", line="L-7")]
    results = [result("c1", "L-7: suspended", "assistant"), result("c2", "no such bill", "assistant", error=True)]
    messages = [
        said.AssistantMessage(role="assistant", content="Hi! How can I help?"),
        said.UserMessage(role="user", content="My line L-7 is dead."),
        said.UserMessage(role="user", tool_calls=[call("u1", "toggle_roaming", "user")]),
        result("u1", "roaming is on", "user"),
        said.UserMessage(role="user", content="I switched roaming on."),
        said.AssistantMessage(role="assistant", tool_calls=looked),
        said.MultiToolMessage(role="tool", tool_messages=results),
        said.AssistantMessage(role="assistant", content="Line L-7 is suspended."),
    ]
    at = "2026-12-01T10:00:00"
    simulation = of.SimulationRun(
        id="sim-1",
        task_id="7",
        trial=0,
        start_time=at,
        end_time=at,
        duration=0.0,
        termination_reason=of.TerminationReason.USER_STOP,
        messages=messages,
    )
    info = of.Info(
        git_commit="unknown",
        num_trials=1,
        max_steps=10,
        max_errors=1,
        user_info=of.UserInfo(implementation="user_simulator"),
        agent_info=of.AgentInfo(implementation="llm_agent", llm="house-model"),
        environment_info=EnvironmentInfo(domain_name="telecom", policy="Be kind."),
    )
    of.Results(info=info, tasks=[], simulations=[simulation]).save(folder / f"tau2-{TAU2}.json")


MAKERS = {"langfuse": make_langfuse, "phoenix": make_phoenix, "inspect": make_inspect, "tau2": make_tau2}

if __name__ == "__main__":
    MAKERS[sys.argv[1]](Path(sys.argv[2]))
