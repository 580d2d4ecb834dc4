"""Starts a command, and looks at what the plugin has done inside it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from draftcritic.doctor import _probe
from draftcritic.doctor._finding import Finding, fault, note, ok, warning
from draftcritic.doctor._installation import instrument_script

_IMPORT = "import langchain_core.language_models.chat_models"
_STOP_WITHIN = 15.0
_SETTLING = 1.0
"""Seconds for further processes of the command, such as the other workers of a server."""
_UNDER_INSTRUMENT = (
    "start the command with opentelemetry-instrument in front, or call DraftCriticInstrumentor().instrument()"
)


def default_command() -> list[str]:
    """Return a command that does nothing but import LangChain as an agent would."""
    return [str(instrument_script()), sys.executable, "-c", _IMPORT]


def inside(command: Sequence[str], seconds: float) -> Iterator[Finding]:
    """Run a command with the probe in it, and report what the plugin has done there.

    Args:
        command: the command and its arguments; when empty, a process that imports LangChain as an agent would.
        seconds: how long it may run; then it gets SIGTERM, as a server has to.
    """
    with tempfile.TemporaryDirectory(prefix="draftcritic-doctor-") as name:
        folder = Path(name)
        with _probe_folder() as path:
            env = {**os.environ, _probe.FOLDER: name}
            if not command:
                env.update({f"OTEL_{each}_EXPORTER": "none" for each in ("TRACES", "METRICS", "LOGS")})
            env["PYTHONPATH"] = os.pathsep.join(filter(None, (str(path), os.environ.get("PYTHONPATH"))))
            try:
                status, stopped = _run(command or default_command(), env, seconds, folder)
            except OSError as error:
                yield fault(
                    "patches",
                    f"{(command or default_command())[0]} cannot be started: {error.strerror}",
                    "check the command",
                )
                return
        reports = _read(folder)
    if status and not stopped:
        yield warning("patches", f"the command ended with exit code {status}", "run it alone, and see what it says")
    yield from _judged(reports)


def _judged(reports: list[dict[str, Any]]) -> Iterator[Finding]:
    with_langchain = [each for each in reports if each["langchain"]]
    working = [each for each in with_langchain if each["on"]]
    if not reports:
        yield fault("patches", "no Python process of the command could be looked into", _UNDER_INSTRUMENT)
    elif not with_langchain:
        yield fault("patches", "the command did not import LangChain's chat models", "name the command of the agent")
    elif not working:
        yield fault("patches", "LangChain is loaded and nothing is patched: the plugin is off", _UNDER_INSTRUMENT)
    for each in working[:1]:
        if each["missing"]:
            remedy = "use a langchain-core in the tested range, and report this"
            yield fault("patches", f"not patched: {', '.join(each['missing'])}", remedy)
        more = f" in {len(working)} processes" if len(working) > 1 else ""
        yield ok(
            "patches", f"mode {each['mode']}, policy {each['policy']}{more}; patched: {', '.join(each['patched'])}"
        )
        if each["capturing"]:
            yield note("content", f"texts are captured inside the command by {', '.join(each['capturing'])}")


def _run(command: Sequence[str], env: dict[str, str], seconds: float, folder: Path) -> tuple[int, bool]:
    """Run a command until the plugin is on in it, or to its end; return its status, and whether it was stopped."""
    with subprocess.Popen(list(command), env=env, stdin=subprocess.DEVNULL, stdout=sys.stderr) as child:  # noqa: S603 - the user's own command
        until = time.monotonic() + seconds
        try:
            while child.poll() is None and time.monotonic() < until:
                time.sleep(0.1)
                if any(each["on"] for each in _read(folder)):
                    until = min(until, time.monotonic() + _SETTLING)
            if child.poll() is not None:
                return child.returncode, False
            return _stop(child), True
        finally:
            _stop(child)


def _stop(child: subprocess.Popen[bytes]) -> int:
    if child.poll() is None:
        child.send_signal(signal.SIGTERM)
        try:
            child.wait(_STOP_WITHIN)
        except subprocess.TimeoutExpired:
            child.kill()
    return child.wait()


def _read(folder: Path) -> list[dict[str, Any]]:
    reports = []
    for path in sorted(folder.glob("*.json")):
        with suppress(ValueError, OSError):
            reports.append(json.loads(path.read_text(encoding="utf-8")))
    return reports


@contextmanager
def _probe_folder() -> Iterator[Path]:
    """A folder for PYTHONPATH that starts the probe: through OpenTelemetry's loader, or without it at the start."""
    with tempfile.TemporaryDirectory(prefix="draftcritic-probe-") as name:
        folder = Path(name)
        info = folder / "draftcritic_probe-0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: draftcritic-probe\nVersion: 0\n")
        entry = f"[opentelemetry_post_instrument]\ndraftcritic_probe = {_probe.__name__}:install\n"
        (info / "entry_points.txt").write_text(entry)
        (folder / "sitecustomize.py").write_text(f"from {_probe.__name__} import install\ninstall()\n")
        yield folder
