"""The demo behind `draftcritic demo`; needs the extra `draftcritic[demo]`."""

from __future__ import annotations

from draftcritic.demo._demo import DemoError, DemoOptions, run_demo

__all__ = ["DemoError", "DemoOptions", "run_demo"]
