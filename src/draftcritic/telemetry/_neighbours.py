"""Other instrumentations in this process that record texts of prompts and answers."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from draftcritic.telemetry import names

_ON = frozenset({"1", "true", "yes", "on"})
_OFF = frozenset({"0", "false", "no", "off"})


class Neighbour(NamedTuple):
    """An instrumentation that may record texts.

    Attributes:
        label: how users call it.
        module: the module of its instrumentor; without one, the environment alone switches it on.
        captures: whether it records texts with these environment variables.
        remedy: how to stop that.
    """

    label: str
    module: str
    captures: Callable[[Mapping[str, str]], bool]
    remedy: str


def _is(environ: Mapping[str, str], words: frozenset[str], *variables: str) -> bool:
    return any(environ.get(name, "").strip().lower() in words for name in variables)


def _genai(environ: Mapping[str, str]) -> bool:
    return environ.get(names.CAPTURE_CONTENT, "").strip().upper() not in {"", "FALSE", "NO_CONTENT"}


def _openinference(environ: Mapping[str, str]) -> bool:
    hidden = [f"OPENINFERENCE_HIDE_{what}" for what in ("INPUTS", "OUTPUTS")]
    return not all(_is(environ, _ON, name) for name in hidden)


def _openllmetry(environ: Mapping[str, str]) -> bool:
    return not _is(environ, _OFF, "TRACELOOP_TRACE_CONTENT")


def _langsmith(environ: Mapping[str, str]) -> bool:
    switches = ("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2")
    hidden = [(f"LANGSMITH_HIDE_{what}", f"LANGCHAIN_HIDE_{what}") for what in ("INPUTS", "OUTPUTS")]
    return _is(environ, _ON, *switches) and not all(_is(environ, _ON, *pair) for pair in hidden)


_HIDE_GENAI = f"unset {names.CAPTURE_CONTENT}"
_HIDE_OPENINFERENCE = "set OPENINFERENCE_HIDE_INPUTS=true and OPENINFERENCE_HIDE_OUTPUTS=true"
_HIDE_OPENLLMETRY = "set TRACELOOP_TRACE_CONTENT=false"
_KNOWN = (
    Neighbour("OpenTelemetry GenAI", "opentelemetry.instrumentation.genai.langchain", _genai, _HIDE_GENAI),
    Neighbour("OpenTelemetry OpenAI", "opentelemetry.instrumentation.openai_v2", _genai, _HIDE_GENAI),
    Neighbour("OpenInference", "openinference.instrumentation.langchain", _openinference, _HIDE_OPENINFERENCE),
    Neighbour("OpenInference OpenAI", "openinference.instrumentation.openai", _openinference, _HIDE_OPENINFERENCE),
    Neighbour("OpenLLMetry", "opentelemetry.instrumentation.langchain", _openllmetry, _HIDE_OPENLLMETRY),
    Neighbour("OpenLLMetry OpenAI", "opentelemetry.instrumentation.openai", _openllmetry, _HIDE_OPENLLMETRY),
    Neighbour("LangSmith", "", _langsmith, "set LANGSMITH_HIDE_INPUTS=true and LANGSMITH_HIDE_OUTPUTS=true"),
)


def capturing_neighbours(
    environ: Mapping[str, str] | None = None, loaded: Iterable[str] | None = None
) -> list[Neighbour]:
    """Return the neighbours that record texts of prompts and answers.

    Args:
        environ: used in place of the process's environment.
        loaded: the names of loaded modules, in place of those of this process.
    """
    variables = os.environ if environ is None else environ
    modules = frozenset(sys.modules if loaded is None else loaded)
    return [each for each in _KNOWN if (not each.module or each.module in modules) and each.captures(variables)]


def known_neighbour(module: str) -> Neighbour | None:
    """Return the neighbour whose instrumentor is in a module; None for others."""
    return next((each for each in _KNOWN if each.module and each.module == module), None)
