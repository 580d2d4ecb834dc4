"""The demo: runs the example agent in a child process and prints its telemetry.

Several packages register under the entry-point name `langchain`, so `OTEL_PYTHON_DISABLED_INSTRUMENTATIONS`
cannot choose among them, and with two of them loaded every span of the agent comes twice. A distro is where
OpenTelemetry lets one choose. This one loads the critic and the official GenAI instrumentation only.

It must not be registered by the package itself, or it could become the distro of a user's application. So
`distro_folder` writes the metadata of a distribution that exists on the child's PYTHONPATH only.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opentelemetry.distro import OpenTelemetryDistro
from rich.console import Console

from draftcritic.demo._receiver import OtlpReceiver
from draftcritic.demo._scripted_model import AGENT_MODEL, CRITIC_MODEL, ScriptedModel
from draftcritic.demo._trace_view import show
from draftcritic.telemetry import names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from importlib.metadata import EntryPoint

DISTRO_NAME = "draftcritic_demo"
"""What `OTEL_PYTHON_DISTRO` takes."""
_LOADED = ("draftcritic.", "opentelemetry.instrumentation.genai.langchain:")


class DemoDistro(OpenTelemetryDistro):
    """The stock distro, with a short list of instrumentations."""

    def load_instrumentor(self, entry_point: EntryPoint, **kwargs: Any) -> None:
        """Load the instrumentation if it is on the list, leave it out otherwise."""
        if entry_point.value.startswith(_LOADED):
            super().load_instrumentor(entry_point, **kwargs)


@contextmanager
def distro_folder() -> Iterator[Path]:
    """A folder for PYTHONPATH that registers `DemoDistro`; it is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="draftcritic-demo-") as name:
        info = Path(name, "draftcritic_demo_distro-0.dist-info")
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: draftcritic-demo-distro\nVersion: 0\n")
        (info / "entry_points.txt").write_text(
            f"[opentelemetry_distro]\n{DISTRO_NAME} = {__name__}:{DemoDistro.__name__}\n"
        )
        yield Path(name)


ENDPOINT_VARIABLES = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
    "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
)
"""With one of these set, telemetry goes where they say."""
_PUBLIC_OPENAI = "https://api.openai.com/v1"
_TERMINATE_WITHIN_S = 10.0
_WIDTH_OF_FILES = 250


class DemoError(Exception):
    """The demo cannot run with these options; the message says what to change."""


@dataclass(frozen=True)
class DemoOptions:
    """What `draftcritic demo` was asked for.

    Attributes:
        model: The agent's model as `provider:name`; None plays the script.
        critic_model: The critic's model; None: the script if the agent has one, else the agent's model.
        base_url: Base URL of the real models; None is the provider's own, or `OPENAI_BASE_URL`.
        save: File for the received OTLP data, as JSON lines.
        timeout_s: Seconds until the agent is stopped.
    """

    model: str | None = None
    critic_model: str | None = None
    base_url: str | None = None
    save: Path | None = None
    timeout_s: float = 600.0


def run_demo(options: DemoOptions) -> int:
    """Run the agent, then print what was received.

    Returns:
        0 when the agent ended well and its reviews arrived (or went to the user's own backend), 1 otherwise.

    Raises:
        DemoError: Something the demo needs is missing, or the options contradict each other.
    """
    user_endpoint = next((os.environ[name] for name in ENDPOINT_VARIABLES if os.environ.get(name)), None)
    if user_endpoint and options.save is not None:
        raise DemoError(f"--save keeps what the demo receives, but telemetry goes to {user_endpoint}; unset one")
    agent = _agent_folder()
    command = [opentelemetry_instrument(), sys.executable, str(agent / "agent.py")]
    console = Console(highlight=False, width=None if sys.stdout.isatty() else _WIDTH_OF_FILES)
    with ExitStack() as stack:
        receiver = None if user_endpoint else _start_receiver(stack, options)
        plays_script = options.model is None
        scripted = stack.enter_context(ScriptedModel()) if plays_script else None
        folder = stack.enter_context(distro_folder())
        environment = {
            **_environment(agent, folder),
            **_telemetry(receiver),
            **_models(options, scripted.base_url if scripted else None),
        }
        console.print(_headline(options, user_endpoint))
        status = _run_child(command, environment, options.timeout_s)
    return _report(console, receiver, status)


def _report(console: Console, receiver: OtlpReceiver | None, status: int) -> int:
    failed = status != 0
    if receiver is not None:
        shown = show(console, receiver.spans, receiver.points, receiver.events)
        if not any(trace.reviews for trace in shown):
            console.print("No review was received: is the critic switched off?", style="red")
            failed = True
    if status:
        console.print(f"The agent failed with exit code {status}.", style="red")
    return int(failed)


def _start_receiver(stack: ExitStack, options: DemoOptions) -> OtlpReceiver:
    try:
        return stack.enter_context(OtlpReceiver(save=options.save))
    except OSError as error:
        raise DemoError(f"the receiver cannot start: {error}") from error


def _agent_folder() -> Path:
    """Where the agent lies: inside the installed package, or in a source checkout.

    Raises:
        DemoError: In neither.
    """
    here = Path(__file__).resolve()
    places = (here.with_name("support_agent"), here.parents[3] / "examples" / "support_agent")
    for place in places:
        if (place / "agent.py").is_file():
            return place
    raise DemoError(f"the demo's agent is in none of {', '.join(map(str, places))}; reinstall draftcritic")


def opentelemetry_instrument() -> str:
    """Return the command `opentelemetry-instrument` of this environment.

    Raises:
        DemoError: it is not installed.
    """
    script = Path(sys.executable).with_name("opentelemetry-instrument")
    for candidate in (script, script.with_suffix(".exe")):
        if candidate.is_file():
            return str(candidate)
    raise DemoError(f"{script} is missing; install draftcritic[demo] into this environment")


def _environment(agent: Path, distro: Path) -> dict[str, str]:
    """The user's environment, with what the child needs where the user has said nothing."""
    env = dict(os.environ)
    env["PYTHONPATH"] = os.pathsep.join(filter(None, (str(distro), env.get("PYTHONPATH"))))
    env["PYTHONUNBUFFERED"] = "1"
    env.setdefault("PYTHONIOENCODING", f"{sys.stdout.encoding or 'utf-8'}:replace")
    # Loopback must not go through a proxy.
    for name in ("NO_PROXY", "no_proxy"):
        env[name] = ",".join(filter(None, (env.get(name), "127.0.0.1,localhost")))
    env.setdefault("OTEL_SERVICE_NAME", "support-agent")
    env.setdefault("OTEL_PYTHON_DISTRO", DISTRO_NAME)
    env.setdefault("DRAFTCRITIC_CONFIG", str(agent / "draftcritic.toml"))
    return env


def _telemetry(receiver: OtlpReceiver | None) -> dict[str, str]:
    if receiver is None:
        return {}
    return {
        # The demo prints the reasons, and they do not leave it.
        names.CAPTURE_CONTENT: os.environ.get(names.CAPTURE_CONTENT, "SPAN_ONLY"),
        "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.endpoint,
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
        **{f"OTEL_{signal}_EXPORTER": "otlp" for signal in ("TRACES", "METRICS", "LOGS")},
    }


def _models(options: DemoOptions, script_url: str | None) -> dict[str, str]:
    """The variables that name the two models and where they are to be found."""
    base_url = options.base_url or os.environ.get("OPENAI_BASE_URL")
    # A self-hosted server rarely needs a key, but the client requires one.
    key = os.environ.get("OPENAI_API_KEY") or ("unused" if base_url or script_url else "")
    env = {"OPENAI_API_KEY": key} if key else {}
    if script_url is not None:
        env.update(SUPPORT_AGENT_MODEL=f"openai:{AGENT_MODEL}", OPENAI_BASE_URL=script_url)
        critic, critic_url = f"openai:{CRITIC_MODEL}", script_url
        if options.critic_model is not None:
            critic, critic_url = options.critic_model, base_url or _PUBLIC_OPENAI
    else:
        env["SUPPORT_AGENT_MODEL"] = str(options.model)
        if base_url:
            env["OPENAI_BASE_URL"] = base_url
        if options.critic_model is None:
            return env
        critic, critic_url = options.critic_model, base_url or ""
    env["DRAFTCRITIC_MODEL"] = critic
    if critic_url and critic.startswith("openai:"):
        env["DRAFTCRITIC_MODEL_KWARGS"] = json.dumps({"base_url": critic_url})
    return env


def _headline(options: DemoOptions, user_endpoint: str | None) -> str:
    scripted = f"played from a script ({AGENT_MODEL}"
    agent = f"the model {options.model}" if options.model else f"{scripted} over HTTP, no real model)"
    if options.critic_model:
        critic = f"the model {options.critic_model}"
    else:
        critic = "the agent's own model" if options.model else f"a script ({CRITIC_MODEL}, no real model)"
    where = user_endpoint or "a receiver inside this demo"
    return f"Agent: {agent}\nCritic: {critic}\nTelemetry: OTLP to {where}"


def _run_child(command: Sequence[str], environment: Mapping[str, str], timeout_s: float) -> int:
    """Run the agent to its end; on a timeout or an interrupt it is stopped, never left behind."""
    with subprocess.Popen(command, env=dict(environment), stdin=subprocess.DEVNULL) as child:
        try:
            return child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            print(f"The agent did not end within {timeout_s:g} s; it is stopped.", file=sys.stderr)
            return stop(child)
        finally:
            stop(child)


def stop(child: subprocess.Popen[bytes]) -> int:
    """End the child if it still runs, and return its exit code, which is not 0 then."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(_TERMINATE_WITHIN_S)
        except subprocess.TimeoutExpired:
            child.kill()
        # An agent that exits with 0 on SIGTERM has still not finished its conversation.
        return child.wait() or 1
    return child.returncode
