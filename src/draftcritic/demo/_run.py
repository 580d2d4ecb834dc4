"""Runs a user's agent with the plugin, and prints its reviews in the terminal: no backend is needed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from draftcritic.demo._demo import ENDPOINT_VARIABLES, DemoError, opentelemetry_instrument, stop
from draftcritic.demo._receiver import OtlpReceiver
from draftcritic.demo._trace_view import show
from draftcritic.telemetry import names

_WIDTH_OF_FILES = 250


def run_agent(command: Sequence[str], *, save: Path | None = None) -> int:
    """Run a command under `opentelemetry-instrument`, then print the review tree of each of its turns.

    Args:
        command: the agent, as it is started without the plugin.
        save: a file for the received OTLP data, as JSON lines.

    Returns:
        The agent's exit code; 1 when it ended well and no review was received.

    Raises:
        DemoError: the command or the receiver cannot be started.
    """
    console = Console(highlight=False, width=None if sys.stdout.isatty() else _WIDTH_OF_FILES)
    if shutil.which(command[0]) is None:
        raise DemoError(f"there is no command {command[0]!r}")
    started = list(command)
    if Path(started[0]).name != "opentelemetry-instrument":
        started.insert(0, opentelemetry_instrument())
    with ExitStack() as stack:
        try:
            receiver = stack.enter_context(OtlpReceiver(save=save))
        except OSError as error:
            raise DemoError(f"the receiver cannot start: {error}") from error
        status = _run(started, _environment(receiver.endpoint, os.environ))
    shown = show(console, receiver.spans, receiver.points, receiver.events)
    if not any(trace.reviews for trace in shown):
        console.print("No review was received. `draftcritic doctor -- COMMAND` says why.", style="red")
        return status or 1
    return status


def _environment(endpoint: str, given: Mapping[str, str]) -> dict[str, str]:
    """Return the user's environment, with all telemetry sent to the receiver of this command."""
    env = {name: value for name, value in given.items() if name not in ENDPOINT_VARIABLES}
    for name in [name for name in env if name.startswith("OTEL_EXPORTER_OTLP_")]:
        del env[name]
    for name in ("NO_PROXY", "no_proxy"):  # loopback must not go through a proxy
        env[name] = ",".join(filter(None, (env.get(name), "127.0.0.1,localhost")))
    env.update({f"OTEL_{signal}_EXPORTER": "otlp" for signal in ("TRACES", "METRICS", "LOGS")})
    env.update(OTEL_EXPORTER_OTLP_ENDPOINT=endpoint, OTEL_EXPORTER_OTLP_PROTOCOL="http/protobuf")
    env.setdefault("OTEL_SERVICE_NAME", "agent")
    # The reasons are printed here, and do not leave this command.
    env.setdefault(names.CAPTURE_CONTENT, "SPAN_ONLY")
    return env


def _run(command: Sequence[str], env: Mapping[str, str]) -> int:
    """Run the agent in this terminal to its end; Ctrl-C reaches it too, and its reviews are shown all the same."""
    try:
        child = subprocess.Popen(list(command), env=dict(env))
    except OSError as error:
        raise DemoError(f"{command[0]} cannot be started: {error.strerror}") from error
    with child:
        try:
            return child.wait()
        except KeyboardInterrupt:
            return stop(child)
        finally:
            stop(child)
