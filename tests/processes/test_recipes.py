"""The recipes of docs/servers.md, as they are printed there, with the real programs: what was reviewed arrives."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from support import provider_server

from draftcritic.demo._receiver import OtlpReceiver
from draftcritic.demo._traces import totals

pytestmark = pytest.mark.e2e

PAGE = (Path(__file__).parents[2] / "docs" / "servers.md").read_text(encoding="utf-8")
BIN = Path(sys.executable).parent
LONG = 90
REQUESTS = 5


@pytest.fixture
def receiver() -> Iterator[OtlpReceiver]:
    with OtlpReceiver() as receiver:
        yield receiver


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files of the page, and the settings that its commands name."""
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        (tmp_path / code.split("\n", 1)[0].removeprefix("# ")).write_text(code, encoding="utf-8")
    (tmp_path / "draftcritic.toml").write_text('rules = ["Be kind."]\n', encoding="utf-8")
    return tmp_path


@contextmanager
def environment(receiver: OtlpReceiver, **given: str) -> Iterator[dict[str, str]]:
    """The variables of the page, with a provider and a receiver on loopback."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "DRAFTCRITIC_"))}
    block = next(block for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) if block.startswith("export"))
    named = dict(re.findall(r"([A-Z_]+)=(\S+)", block))
    with provider_server.provider_server() as url:
        yield {
            **kept,
            **named,
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.endpoint,
            "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": "delta",
            "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": "langchain",
            "OPENAI_API_KEY": "unused",
            "OPENAI_BASE_URL": f"{url}/v1",
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "PYTHONUNBUFFERED": "1",
            "PYTHONWARNINGS": "ignore",
            **given,
        }


def python(program: str, folder: Path, env: dict[str, str], *before: str) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, with a command before it."""
    return subprocess.run(
        [*before, sys.executable, "-c", program],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )


def command_with(word: str) -> list[str]:
    """The one command of the page that has a word in it."""
    found = [
        block.split()
        for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
        if word in block and not block.startswith("export")
    ]
    assert len(found) == 1
    return found[0]


def assert_all_arrived(receiver: OtlpReceiver, drafts: int) -> None:
    reviews = [span for span in receiver.spans if span.name == "draftcritic.review"]
    assert [span.attributes.get("draftcritic.verdict") for span in reviews] == ["approve"] * drafts
    counted = totals(receiver.points, "draftcritic.reviews", "verdict")
    assert counted[("approve",)] == drafts
    assert sum(event.name == "gen_ai.evaluation.result" for event in receiver.events) == drafts


@contextmanager
def started(arguments: list[str], folder: Path, env: dict[str, str], ready: str) -> Iterator[re.Match[str]]:
    """A server until its SIGTERM and its end."""
    log = folder / "log.txt"
    with log.open("w") as out:
        process = subprocess.Popen(arguments, cwd=folder, env=env, stdout=out, stderr=subprocess.STDOUT)
    try:
        until = time.monotonic() + LONG
        found = None
        while found is None:
            assert time.monotonic() < until, log.read_text()
            assert process.poll() is None, log.read_text()
            time.sleep(0.1)
            found = re.search(ready, log.read_text())
        yield found
        process.send_signal(signal.SIGTERM)
        process.wait(LONG)
        assert "Traceback" not in log.read_text(), log.read_text()
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


SERVERS = {
    "uvicorn": ("--port 8000", "--port 0", r"running on http://127\.0\.0\.1:(\d+)"),
    "gunicorn": ("127.0.0.1:8000", "127.0.0.1:0", r"Listening at: http://127\.0\.0\.1:(\d+)"),
}


@pytest.mark.parametrize("name", SERVERS)
def test_what_a_server_has_answered_is_reviewed_and_exported_after_sigterm(
    name: str, receiver: OtlpReceiver, folder: Path
) -> None:
    pytest.importorskip("fastapi" if name == "uvicorn" else "gunicorn")
    printed, free, ready = SERVERS[name]
    arguments = " ".join(command_with(name)).replace(printed, free).split()
    with environment(receiver) as env, started(arguments, folder, env, ready) as found:
        for _ in range(REQUESTS):
            with urlopen(f"http://127.0.0.1:{found[1]}/", timeout=LONG) as response:
                assert provider_server.DRAFT in response.read().decode()
    assert_all_arrived(receiver, REQUESTS)


def test_what_a_celery_worker_has_answered_is_reviewed_and_exported_after_sigterm(
    receiver: OtlpReceiver, folder: Path
) -> None:
    pytest.importorskip("celery")
    for name in ("in", "out", "processed", "control"):
        (folder / name).mkdir()
    (folder / "celery_config.py").write_text(
        'broker_url = "filesystem://"\nresult_backend = "file://out"\n'
        'broker_transport_options = {"data_folder_in": "in", "data_folder_out": "in", "control_folder": "control"}\n'
    )
    ask = "import celery_app as c; print([r.get(timeout=60) for r in [c.ask.delay('Where?') for _ in range(5)]])"
    with (
        environment(receiver, CELERY_CONFIG_MODULE="celery_config") as env,
        started(command_with("celery"), folder, env, r"celery@\S+ ready"),
    ):
        done = python(ask, folder, {**env, "DRAFTCRITIC_MODE": "off"})
        assert done.stdout.count(provider_server.DRAFT) == REQUESTS, done.stderr
    assert_all_arrived(receiver, REQUESTS)


def test_a_function_has_exported_its_reviews_when_it_returns(receiver: OtlpReceiver, folder: Path) -> None:
    program = (
        "import os, signal, lambda_app\n"
        "for _ in range(5): print(lambda_app.handler({'question': 'Where?'}, None))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    with environment(receiver) as env:
        done = python(program, folder, env, "opentelemetry-instrument")
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert done.stdout.count(provider_server.DRAFT) == REQUESTS
    assert_all_arrived(receiver, REQUESTS)


def test_a_notebook_has_exported_its_reviews_after_its_last_cell(receiver: OtlpReceiver, folder: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    if find_spec("ipykernel") is None:
        pytest.skip("ipykernel is not installed")
    cells = (folder / "notebook.py").read_text().split("# %%\n")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    with environment(receiver) as env:
        nbformat.write(book, folder / "book.ipynb")
        program = (
            "import nbformat, nbclient\n"
            "book = nbformat.read('book.ipynb', 4)\n"
            "nbclient.NotebookClient(book, kernel_name='python3').execute()\n"
            "import json; print(json.dumps([c.outputs for c in book.cells]))\n"
        )
        done = python(program, folder, env)
    assert done.returncode == 0, done.stderr
    outputs: list[list[dict[str, Any]]] = json.loads(done.stdout)
    assert provider_server.DRAFT in outputs[1][0]["text"]
    assert outputs[2][-1]["data"]["text/plain"] == "True"
    assert_all_arrived(receiver, 1)
    assert nbclient is not None
