"""The pytest plugin of `make peers`: starts draftcritic, chooses the tests, and writes down what came of each."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

MODE = os.environ.get("PEERS_MODE", "off")
ONLY = os.environ.get("PEERS_ONLY")
"""A JSON file with the ids of the tests to run; all where it is not set."""
WITHOUT = os.environ.get("PEERS_WITHOUT")
"""A JSON file with the ids of tests that are left out."""
OUTCOMES = os.environ.get("PEERS_OUTCOMES")
"""The file that gets a JSON line for each phase of a test."""


def approving() -> Any:
    """Return a critic's model that approves everything."""
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    class Approving(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "approving"

        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
            return ChatResult(generations=[ChatGeneration(message=AIMessage('{"verdict": "approve"}'))])

    return Approving()


def pytest_configure() -> None:
    """Start draftcritic before the tests are collected."""
    if MODE != "off":
        from draftcritic import DraftCriticInstrumentor

        DraftCriticInstrumentor().instrument(mode=MODE, model=approving(), skip_dep_check=True)


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Keep the tests that are wanted."""
    if ONLY is not None:
        wanted = set(json.loads(Path(ONLY).read_text()))
        items[:] = [item for item in items if item.nodeid in wanted]
    if WITHOUT is not None:
        unwanted = set(json.loads(Path(WITHOUT).read_text()))
        items[:] = [item for item in items if item.nodeid not in unwanted]


def pytest_runtest_logreport(report: Any) -> None:
    """Write a line for each phase of a test, in the process that gets the reports of all."""
    if OUTCOMES is not None and "PYTEST_XDIST_WORKER" not in os.environ:
        with Path(OUTCOMES).open("a") as file:
            expected = hasattr(report, "wasxfail")
            file.write(json.dumps([report.nodeid, report.when, "xfail" if expected else report.outcome]) + "\n")
