"""Which instrumentations the demo's child process loads.

Several packages register under the entry-point name `langchain`, so `OTEL_PYTHON_DISABLED_INSTRUMENTATIONS`
cannot choose among them, and with two of them loaded every span of the agent comes twice. A distro is where
OpenTelemetry lets one choose. This one loads the critic and the official GenAI instrumentation only.

It must not be registered by the package itself, or it could become the distro of a user's application. So
`distro_folder` writes the metadata of a distribution that exists on the child's PYTHONPATH only.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opentelemetry.distro import OpenTelemetryDistro

if TYPE_CHECKING:
    from collections.abc import Iterator
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
