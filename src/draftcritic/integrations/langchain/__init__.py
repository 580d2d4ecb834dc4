"""The critic as middleware of LangChain's `create_agent`."""

from __future__ import annotations

from draftcritic.integrations.langchain._critic_middleware import CriticMiddleware

__all__ = ["CriticMiddleware"]
