"""Real servers and real ends of processes: no draft's review is lost uncounted, and nothing hangs or complains."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from draftcritic.demo._receiver import OtlpReceiver
from draftcritic.demo._traces import totals

pytestmark = pytest.mark.e2e

SERVED = Path(__file__).parents[1] / "support" / "served.py"
DRAFT = "Your parcel is on its way."
LONG = 90
REQUESTS = 40


@pytest.fixture
def receiver() -> Iterator[OtlpReceiver]:
    with OtlpReceiver() as receiver:
        yield receiver


def environment(receiver: OtlpReceiver, **given: str) -> dict[str, str]:
    return {
        **{key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "DRAFTCRITIC_"))},
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path]),
        "PYTHONWARNINGS": "ignore",
        "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.endpoint,
        "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": "delta",
        **given,
    }


def reviewed(receiver: OtlpReceiver) -> int:
    return sum("draftcritic.verdict" in span.attributes for span in receiver.spans)


def lost(receiver: OtlpReceiver) -> dict[str, float]:
    dropped = totals(receiver.points, "draftcritic.dropped", "reason")
    return {reason: count for (reason,), count in dropped.items() if count}


def run(receiver: OtlpReceiver, scenario: str, **given: str) -> Any:
    return subprocess.run(
        [sys.executable, str(SERVED), scenario],
        env=environment(receiver, **given),
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")


@pytest.mark.parametrize(
    ("scenario", "drafts"),
    [
        ("threads", 20),
        ("queued", 20),
        ("terminated", 20),
        ("interrupted", 5),
        ("spawned", 60),
        pytest.param("forked", 60, marks=needs_fork),
    ],
)
def test_a_process_that_ends_has_reviewed_every_draft(scenario: str, drafts: int, receiver: OtlpReceiver) -> None:
    done = run(receiver, scenario, CRITIC_SECONDS="0.02")
    assert (done.returncode, done.stderr) == (0, "")
    assert (reviewed(receiver), lost(receiver)) == (drafts, {})


def test_what_cannot_be_reviewed_within_the_limit_is_counted(receiver: OtlpReceiver) -> None:
    began = time.monotonic()
    done = run(receiver, "queued", CRITIC_SECONDS="60", SHUTDOWN="0.5")
    assert (done.returncode, done.stderr) == (0, "")
    assert time.monotonic() - began < 45
    assert (reviewed(receiver), lost(receiver)) == (0, {"shutdown": 20})


@pytest.mark.parametrize("mode", ["observe", "enforce"])
def test_drafts_while_the_interpreter_ends(mode: str, receiver: OtlpReceiver) -> None:
    done = run(receiver, "finalizing", MODE=mode, SHUTDOWN="2")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{DRAFT}\n", "")


@contextmanager
def server(receiver: OtlpReceiver, arguments: list[str], listening: str) -> Iterator[tuple[str, Any]]:
    """A server on a free port: its address, and what it wrote once it is over."""
    process = subprocess.Popen(
        [sys.executable, "-m", *arguments],
        env=environment(receiver, CRITIC_SECONDS="0.05"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    written: list[str] = []
    try:
        for line in process.stderr:
            written.append(line)
            found = re.search(listening, line)
            if found:
                break
        else:
            raise AssertionError("".join(written))
        yield f"http://127.0.0.1:{found[1]}/", written
        process.send_signal(signal.SIGTERM)
        written.append(process.communicate(timeout=LONG)[1])
    finally:
        process.kill()
        process.communicate()
    assert process.returncode in (0, -signal.SIGTERM)


def ask(address: str) -> str:
    # A server that forks or spawns its workers listens before they do.
    until = time.monotonic() + LONG
    while True:
        try:
            with urlopen(address, timeout=LONG) as response:
                return str(response.read().decode())
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


SERVERS = {
    "gunicorn": (
        ["gunicorn", "--preload", "--workers", "4", "--bind", "127.0.0.1:0", "support.served:wsgi"],
        r"Listening at: http://127\.0\.0\.1:(\d+)",
        4,
    ),
    "uvicorn": (
        ["uvicorn", "--factory", "--workers", "2", "--port", "0", "support.served:make_asgi"],
        r"Uvicorn running on http://127\.0\.0\.1:(\d+)",
        2,
    ),
}


@pytest.mark.parametrize("name", SERVERS)
def test_a_server_with_several_workers(name: str, receiver: OtlpReceiver) -> None:
    if find_spec(name) is None or find_spec("starlette") is None:
        pytest.skip(f"{name} is not installed")
    arguments, listening, workers = SERVERS[name]
    with server(receiver, arguments, listening) as (address, written), ThreadPoolExecutor(8) as pool:
        answers: list[str] = []
        served_by: set[str] = set()
        # Which worker takes a connection is up to the kernel; on a busy machine one may get the first ones all.
        while len(served_by) < 2 and len(answers) < 10 * REQUESTS:
            answers += pool.map(ask, [address] * REQUESTS)
            served_by = {text.partition(" ")[0] for text in answers}
    assert {text.partition(" ")[2] for text in answers} == {DRAFT}
    assert 1 < len(served_by) <= workers
    assert "Traceback" not in "".join(written)
    assert (reviewed(receiver), lost(receiver)) == (len(answers), {})
