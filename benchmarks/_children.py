"""Starts the child processes of `overhead.py` and `stages.py`, and talks to them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _variants import Variant

_MEASURE = Path(__file__).with_name("_measure.py")
CLEARED_VARIABLES = ("OTEL_", "DRAFTCRITIC_", "TRACELOOP_", "OPENINFERENCE_", "LANGSMITH_", "LANGCHAIN_")
"""Prefixes of environment variables that would make the variants unlike those of another machine."""


class ChildError(Exception):
    """A child process ended before its answer."""


class Process:
    """One child process, which waits for commands once it has been `started`."""

    def __init__(self, variant: Variant, *, staged: bool = False) -> None:
        self.variant = variant
        self.installed: dict[str, float] = {}
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - lives as long as the child
        self._process = subprocess.Popen(
            [sys.executable, str(_MEASURE), variant.name, *(["--stages"] if staged else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            encoding="utf-8",
            env={name: value for name, value in os.environ.items() if not name.startswith(CLEARED_VARIABLES)},
        )

    def started(self) -> str | None:
        """Wait until the child is ready; return why it cannot be measured, or None."""
        answer = self._answer()
        self.installed = answer.get("installed", {})
        unavailable: str | None = answer.get("unavailable")
        return unavailable

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Have the child do something, and return its answer.

        Raises:
            ChildError: it ended instead.
        """
        assert self._process.stdin is not None
        try:
            print(json.dumps({"do": do, **arguments}), file=self._process.stdin, flush=True)
        except BrokenPipeError:
            raise self._ended() from None
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise self._ended()
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _ended(self) -> ChildError:
        code = self._process.wait()
        return ChildError(f"{self.variant.name!r} ended with exit code {code}:\n{self.errors()}")

    def errors(self) -> str:
        """Return the end of what the child wrote to its standard error."""
        self._errors.seek(0)
        return "".join(self._errors.readlines()[-20:])

    def stop(self) -> None:
        """End the child."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.close()
            self._process.wait(timeout=10)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._errors.close()
