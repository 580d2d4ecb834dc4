"""A distro for child processes: loads chosen instrumentations in a chosen order.

Every LangChain instrumentation registers under the entry point name `langchain`, so neither a name nor the loader's own
order can choose among them.
"""

from __future__ import annotations

import logging
import os
from importlib.metadata import EntryPoint, distribution
from pathlib import Path
from typing import Any

from opentelemetry.distro import OpenTelemetryDistro

DISTRO_NAME = "draftcritic_neighbours"
ORDER = "TEST_INSTRUMENTATIONS"
"""Names of distributions, with commas between them."""
LOG_FILE = "TEST_LOG_FILE"
"""What the loggers of interest say goes here."""
_LOGGERS = ("opentelemetry.context", "draftcritic")


class NeighbourDistro(OpenTelemetryDistro):
    """The stock distro with a list."""

    _loaded = False

    def _configure(self, **kwargs: Any) -> None:
        super()._configure(**kwargs)
        handler = logging.FileHandler(os.environ[LOG_FILE])
        handler.setFormatter(logging.Formatter("%(name)s %(levelname)s %(message)s"))
        handler.setLevel(logging.WARNING)
        for name in _LOGGERS:
            logging.getLogger(name).addHandler(handler)

    def load_instrumentor(self, entry_point: EntryPoint, **kwargs: Any) -> None:
        if self._loaded:
            return
        self._loaded = True
        for name in filter(None, os.environ[ORDER].split(",")):
            for found in distribution(name).entry_points.select(group="opentelemetry_instrumentor"):
                super().load_instrumentor(found, **kwargs)


def register(folder: Path) -> None:
    """Register the distro for processes that have `folder` on their PYTHONPATH."""
    info = folder / "draftcritic_neighbours-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: draftcritic-neighbours\nVersion: 0\n")
    entry = f"{DISTRO_NAME} = neighbour_distro:{NeighbourDistro.__name__}"
    (info / "entry_points.txt").write_text(f"[opentelemetry_distro]\n{entry}\n")
    (folder / "neighbour_distro.py").write_text(Path(__file__).read_text())
