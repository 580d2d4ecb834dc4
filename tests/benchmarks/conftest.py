from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def run_script() -> Run:
    """Runs a benchmark as a user does: in a process of its own."""

    def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(BENCHMARKS / script), *arguments],
            env={**os.environ, "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            encoding="utf-8",
            timeout=240,
            check=False,
        )

    return run


@pytest.fixture
def benchmarks_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the helpers importable as the scripts import them: from their own folder."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
