"""Instruments several parties in one order and takes them off in another, each time in a forked child.

Run as a script, it reads one JSON object a line (`on` and `off`: names in their order, `mode`) and prints for each
what happened. The modules are imported once: a fork costs little, and every child patches a fresh process.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import os
import sys
import warnings
from collections import Counter
from contextlib import suppress
from importlib import import_module
from typing import Any

import wrapt
from langchain_core.callbacks import BaseCallbackManager
from langchain_core.language_models import BaseChatModel
from opentelemetry.instrumentation.instrumentor import BaseInstrumentor
from opentelemetry.instrumentation.utils import unwrap
from support.chat import Chat, StreamingChat
from support.sdk import Telemetry

from draftcritic import DraftCriticInstrumentor
from draftcritic.langchain import _install as _targets
from draftcritic.langchain import _method_patches as _splice
from draftcritic.langchain._install import CHAT_TARGETS

US = "draftcritic"
SECRET = "Zanzibar"
SAFE = "I would rather not say."
REFUSE = json.dumps({"verdict": "refuse", "refusal_message": SAFE})
METHODS = sorted({*(t.method for t in CHAT_TARGETS if hasattr(BaseChatModel, t.method)), "invoke", "ainvoke"})
INSTRUMENTORS = {
    US: ("draftcritic", "DraftCriticInstrumentor"),
    "official": ("opentelemetry.instrumentation.genai.langchain", "LangChainInstrumentor"),
    "openinference": ("openinference.instrumentation.langchain", "LangChainInstrumentor"),
    "openllmetry": ("opentelemetry.instrumentation.langchain", "LangchainInstrumentor"),
}


_LOADED_BY_THEM = (
    "langgraph.pregel",
    "langgraph.prebuilt",
    "langchain.agents",
    "langchain_openai",
    "langchain_community",
)


class Stock(BaseInstrumentor):
    """What an instrumentation does that wraps our own methods: wrapt on, and OpenTelemetry's `unwrap` off."""

    def instrumentation_dependencies(self) -> Any:
        return ()

    def _instrument(self, **kwargs: Any) -> None:
        tracer = kwargs["tracer_provider"].get_tracer("stock")

        def plain(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
            with tracer.start_as_current_span("stock"):
                return wrapped(*args, **kwargs)

        for method in METHODS:
            wrapt.wrap_function_wrapper(BaseChatModel, method, plain)

    def _uninstrument(self, **kwargs: Any) -> None:
        for method in METHODS:
            unwrap(BaseChatModel, method)


def instrumentor(name: str) -> Any:
    if name == "stock":
        return Stock()
    module, kind = INSTRUMENTORS[name]
    return getattr(import_module(module), kind)()


def party(span: Any) -> str:
    scope = span.instrumentation_scope.name
    return next((name for name, (module, _) in INSTRUMENTORS.items() if scope.startswith(module)), scope)


def is_model_call(span: Any) -> bool:
    attributes = span.attributes or {}
    return attributes.get("gen_ai.operation.name") == "chat" or attributes.get("openinference.span.kind") == "LLM"


def is_critics(span: Any) -> bool:
    return bool((span.attributes or {}).get("draftcritic.internal"))


async def aread(stream: Any) -> str:
    return "".join([chunk.text async for chunk in stream])


def drafts() -> list[str]:
    """Two drafts: a whole one from synchronous code, and a stream from a coroutine."""
    answers = [f"The word is {SECRET}."]
    return [Chat(answers=answers).invoke("q").text, asyncio.run(aread(StreamingChat(answers=answers).astream("q")))]


def attributes() -> dict[str, Any]:
    """Return the patched attributes of the classes, and what they wrap."""
    found: dict[str, Any] = {}
    for owner, names in ((BaseChatModel, METHODS), (BaseCallbackManager, ["__init__"])):
        for name in names:
            value = inspect.getattr_static(owner, name)
            found[f"{owner.__name__}.{name}"] = value
    return found


def inside(functions: dict[str, Any]) -> dict[str, Any]:
    return {
        name: (f.__code__, f.__defaults__, f.__kwdefaults__, dict(f.__dict__))
        for name, f in functions.items()
        if inspect.isfunction(f)
    }


def records(logger: str) -> list[str]:
    found: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(record.getMessage())

    logging.getLogger(logger).addHandler(Keep(logging.WARNING))
    return found


def play(on: list[str], off: list[str], mode: str) -> dict[str, Any]:
    """Take every party on and off, and say after each step what two drafts gave."""
    context_log = records("opentelemetry.context")
    functions = attributes()
    before = inside(functions)
    telemetry = Telemetry()
    critic = Chat(answers=[REFUSE], model_name="critic-1")
    for name in on:
        options = {"mode": mode, "model": critic} if name == US else {}
        instrumentor(name).instrument(**telemetry.providers, skip_dep_check=True, **options)
    steps = [step(telemetry, set(on))]
    for index, name in enumerate(off):
        instrumentor(name).uninstrument()
        steps.append(step(telemetry, set(off[index + 1 :])))
    after = attributes()
    return {
        "steps": steps,
        "judged": len(critic.calls),
        "context_log": context_log,
        "inside": inside(functions) == before,
        "left": sorted(name for name in functions if after[name] is not functions[name]),
    }


def step(telemetry: Telemetry, alive: set[str]) -> dict[str, Any]:
    """Write two drafts, and count what is new: reviews, and each party's spans of model calls."""
    before = len(telemetry.spans)
    said = drafts()
    DraftCriticInstrumentor().flush(20)
    new = telemetry.spans[before:]
    calls = [span for span in new if is_model_call(span)]
    return {
        "alive": US in alive,
        "said": said,
        "reviews": sum(span.name == "draftcritic.review" for span in new),
        "drafts": Counter(party(span) for span in calls if not is_critics(span)),
        "critics": Counter(party(span) for span in calls if is_critics(span)),
        "tellers": sorted({party(span) for span in new if SECRET in span.to_json() and not is_critics(span)} - {US}),
    }


def main() -> None:
    os.environ.setdefault("TRACELOOP_TELEMETRY", "false")
    os.environ.setdefault("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "span_only")
    os.environ.setdefault("OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_latest_experimental")
    warnings.simplefilter("ignore")
    if os.environ.get("SPLICE") == "off":  # to measure what wrappers would do; see docs/patching.md
        _splice.CODE_IS_EXCHANGEABLE = _targets.CODE_IS_EXCHANGEABLE = False
    # What the instrumentors and the first review load is loaded once, before the forks.
    for module in (*(module for module, _ in INSTRUMENTORS.values()), *_LOADED_BY_THEM):
        with suppress(ImportError):
            import_module(module)
    play([US], [US], "enforce")
    for line in sys.stdin:
        order = json.loads(line)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            status = 1
            try:
                with os.fdopen(writer, "w") as out:
                    json.dump(play(**order), out)
                status = 0
            finally:
                sys.stderr.flush()
                os._exit(status)
        os.close(writer)
        with os.fdopen(reader) as answer:
            reply = answer.read()
        os.waitpid(child, 0)
        print(json.dumps({**order, **(json.loads(reply) if reply else {"died": True})}), flush=True)


if __name__ == "__main__":
    main()
