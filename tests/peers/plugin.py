"""Starts the plugin in a process that runs another package's tests: a module for pytest's `-p`."""

from __future__ import annotations

import os
from typing import Any

MODE = os.environ.get("PEERS_MODE", "off")


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
    """Start the plugin before the tests are collected."""
    if MODE != "off":
        from draftcritic import DraftCriticInstrumentor

        DraftCriticInstrumentor().instrument(mode=MODE, model=approving(), skip_dep_check=True)
