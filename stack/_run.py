"""Starts, watches and stops the services of one run; what it started is written down in a folder."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import TypedDict

from stack._programs import StackError
from stack._services import Service, ensure_free

_READY_WITHIN_S = 60.0
_TERMINATE_WITHIN_S = 15.0
_KILL_WITHIN_S = 5.0
_STATE = "state.json"
_LOG_TAIL = 2000


class _Started(TypedDict):
    pid: int
    program: str


class Run:
    """The services that one `up` started.

    Args:
        folder: Contains the logs and the state file.
        outlive: Whether the services go on when this process ends.
    """

    def __init__(self, folder: Path, *, outlive: bool) -> None:
        self._folder = folder
        self._outlive = outlive
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def log(self, name: str) -> Path:
        """The file with everything that a service has printed."""
        return self._folder / f"{name}.log"

    def running(self) -> dict[str, int]:
        """Process ids of the services, without those that have ended."""
        return {name: one["pid"] for name, one in self._state().items() if _is_alive(one)}

    def start(self, service: Service) -> None:
        """Start a service and wait until it is ready.

        Raises:
            StackError: Its ports are taken, it ended, or it was not ready in time.
        """
        ensure_free(service.ports)
        with self.log(service.name).open("ab") as log:
            child = subprocess.Popen(
                [*([] if self._outlive else _ended_with_parent()), *service.command],
                env={**os.environ, **service.environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
                start_new_session=self._outlive,
            )
        self._children[service.name] = child
        state = self._state()
        state[service.name] = {"pid": child.pid, "program": service.command[0]}
        self._write(state)
        self._await_ready(service, child)

    def stop(self, name: str, *, kill: bool = False) -> None:
        """Stop one service if it runs.

        Args:
            name: The service.
            kill: At once, as a crash would.
        """
        state = self._state()
        started = state.pop(name, None)
        if started is not None and _is_alive(started):
            self._end(name, started, kill=kill)
        child = self._children.pop(name, None)
        if child is not None:
            child.wait(_KILL_WITHIN_S)
        self._write(state)

    def stop_all(self) -> list[str]:
        """Stop what runs, the last started first, and return the names."""
        names = list(reversed(self._state()))
        for name in names:
            self.stop(name)
        return names

    def _end(self, name: str, started: _Started, *, kill: bool) -> None:
        steps = [(signal.SIGTERM, _TERMINATE_WITHIN_S)] if not kill else []
        for number, patience in (*steps, (signal.SIGKILL, _KILL_WITHIN_S)):
            os.kill(started["pid"], number)
            deadline = time.monotonic() + patience
            while time.monotonic() < deadline:
                child = self._children.get(name)
                if child is not None:
                    child.poll()
                if not _is_alive(started):
                    return
                time.sleep(0.05)
        raise StackError(f"{name} (process {started['pid']}) does not end")

    def _await_ready(self, service: Service, child: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + _READY_WITHIN_S
        while time.monotonic() < deadline:
            if child.poll() is not None:
                tail = self.log(service.name).read_text(errors="replace")[-_LOG_TAIL:]
                raise StackError(f"{service.name} ended with exit code {child.returncode}:\n{tail}")
            if _answers(service.health):
                return
            time.sleep(0.1)
        raise StackError(f"{service.name} was not ready within {_READY_WITHIN_S:.0f} s; see {self.log(service.name)}")

    def _state(self) -> dict[str, _Started]:
        try:
            state: dict[str, _Started] = json.loads((self._folder / _STATE).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        return state

    def _write(self, state: dict[str, _Started]) -> None:
        (self._folder / _STATE).write_text(json.dumps(state, indent=1), encoding="utf-8")


def _ended_with_parent() -> list[str]:
    """What has the kernel stop a program when the process that started it is gone, however that ended."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "TERM"] if setpriv else []


_QUESTIONS = {"amqp": (b"AMQP\x00\x00\x09\x01", b"\x01\x00\x00"), "redis": (b"PING\r\n", b"+PONG"), "tcp": (b"", b"")}
"""What a service of another protocol than HTTP is asked, and how its answer begins."""


def _answers(url: str) -> bool:
    scheme, _, rest = url.partition("://")
    if scheme in _QUESTIONS:
        return _replies(*_QUESTIONS[scheme], rest)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _replies(question: bytes, answer: bytes, address: str) -> bool:
    host, _, port = address.partition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=2) as connection:
            connection.sendall(question)
            return connection.recv(len(answer)) == answer if answer else True
    except OSError:
        return False


def _is_alive(started: _Started) -> bool:
    """Return whether the process runs and is the program that we started: the system reuses ids."""
    ps = shutil.which("ps") or "ps"
    asked = subprocess.run(
        [ps, "-ww", "-o", "stat=", "-o", "command=", "-p", str(started["pid"])],
        capture_output=True,
        text=True,
        check=False,
    )
    status, _, command = asked.stdout.strip().partition(" ")
    return bool(status) and not status.startswith("Z") and command.strip().startswith(started["program"])
