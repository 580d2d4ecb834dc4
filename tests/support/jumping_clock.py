"""A wall clock that another process can set: `time.time` with the seconds that the file `CLOCK` names added."""

from __future__ import annotations

import os
import time
from pathlib import Path


def install() -> None:
    """Make `time.time` follow the file, where the environment names one."""
    if not (path := os.environ.get("CLOCK")):
        return
    real, offset = time.time, Path(path)

    def now() -> float:
        try:
            return real() + float(offset.read_text())
        except (OSError, ValueError):  # not written yet, or being written
            return real()

    time.time = now
