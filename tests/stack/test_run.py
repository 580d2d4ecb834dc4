"""Starting, watching and stopping services, on small real processes."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stack._programs import StackError
from stack._run import Run
from stack._services import HOST, Service, ensure_free, free_ports


def server(name: str = "web", port: int | None = None) -> Service:
    port = free_ports([name])[name] if port is None else port
    command = (sys.executable, "-m", "http.server", str(port), "--bind", HOST)
    return Service(name=name, command=command, health=f"http://{HOST}:{port}/", ports=(port,))


@pytest.fixture(params=[True, False], ids=["outlives", "ends with us"])
def run(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Run]:
    made = Run(tmp_path, outlive=request.param)
    yield made
    made.stop_all()


@pytest.mark.parametrize("kill", [False, True])
def test_a_service_runs_until_it_is_stopped(run: Run, kill: bool) -> None:
    service = server()
    run.start(service)
    assert set(run.running()) == {"web"}
    with pytest.raises(StackError, match=f"port {service.ports[0]} is taken"):
        ensure_free(service.ports)
    run.stop("web", kill=kill)
    assert run.running() == {}
    ensure_free(service.ports)


def test_all_are_stopped_the_last_started_first(run: Run) -> None:
    run.start(server("one"))
    run.start(server("two"))
    assert run.stop_all() == ["two", "one"]
    assert run.running() == {}
    assert run.stop_all() == []


def test_another_run_on_the_same_folder_stops_them_too(tmp_path: Path) -> None:
    first = Run(tmp_path, outlive=True)
    first.start(server())
    assert Run(tmp_path, outlive=True).stop_all() == ["web"]
    assert first.running() == {}
    first.stop("web")


def test_a_program_that_ends_is_told_with_its_last_words(run: Run) -> None:
    words = (sys.executable, "-c", "import sys; sys.exit('no such setting')")
    service = Service(name="broken", command=words, health=f"http://{HOST}:1/", ports=())
    with pytest.raises(StackError, match=r"broken ended with exit code 1:\nno such setting"):
        run.start(service)


def test_a_port_that_is_taken_stops_the_start(run: Run) -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(StackError, match=f"port {port} is taken .*--offset 1000"):
            run.start(server(port=port))
    assert run.running() == {}


def test_a_process_that_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        state = {"jaeger": {"pid": other.pid, "program": "/cache/jaeger"}}
        (tmp_path / "state.json").write_text(json.dumps(state))
        run = Run(tmp_path, outlive=True)
        assert run.running() == {}
        run.stop_all()
        assert other.poll() is None
        other.communicate(b"\n")


def test_free_ports_differ_and_are_free() -> None:
    ports = free_ports(["a", "b", "c"])
    assert list(ports) == ["a", "b", "c"]
    assert len(set(ports.values())) == 3
    ensure_free(ports.values())
