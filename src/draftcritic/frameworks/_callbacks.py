"""Tells a framework's callback manager and observability hook of the critic's model call."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from draftcritic.core import ObservabilityHook
from draftcritic.frameworks._config import peer

NODE_NAME = "metacognition_critic"
"""What callbacks know the critic as."""

_EVENTS = "symfonic.core.contracts.callbacks"


@dataclass(frozen=True)
class LLMStartEvent:
    """The critic is about to ask its model. Where symfonic is loaded, its own event of this name is sent instead."""

    model: str
    messages: list[Any]
    run_id: str = ""
    system_prompt: str = ""
    node_name: str = ""
    turn_index: int = 0


@dataclass(frozen=True)
class LLMEndEvent:
    """The critic's model has answered or failed. Where symfonic is loaded, its own event is sent instead."""

    model: str
    output: str
    usage: dict[str, Any] = field(default_factory=dict)
    run_id: str = ""
    node_name: str = ""
    pricing_unknown: bool = False
    duration_ms: float = 0.0
    started_at_utc: str = ""
    iteration_index: int = 0
    turn_index: int = 0


def flat_usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Return token counts in the flat shape that symfonic's listeners read; nothing known gives an empty one.

    Both counts are there as soon as one is, and cache and reasoning tokens are there when they are not zero.
    """
    if not usage:
        return {}
    read = usage.get("input_token_details") or {}
    written = usage.get("output_token_details") or {}
    extra = {
        "cache_read_input_tokens": read.get("cache_read"),
        "cache_creation_input_tokens": read.get("cache_creation"),
        "cache_ttl": "1h" if read.get("ephemeral_1h_input_tokens") else None,
        "reasoning_tokens": usage.get("reasoning_tokens") or written.get("reasoning"),
    }
    return {
        "input_tokens": usage.get("input_tokens") or 0,
        "output_tokens": usage.get("output_tokens") or 0,
        **{name: value for name, value in extra.items() if value},
    }


class FlatUsageHook:
    """Hands on to a framework's hook, which knows only flat usage."""

    def __init__(self, hook: ObservabilityHook) -> None:
        self._hook = hook

    async def on_llm_start(self, model: str, messages: Sequence[Any], run_id: str) -> None:
        """Hand on."""
        await self._hook.on_llm_start(model, messages, run_id)

    async def on_llm_end(self, model: str, output: str, usage: Mapping[str, Any], run_id: str) -> None:
        """Hand on with flat usage."""
        await self._hook.on_llm_end(model, output, flat_usage(usage), run_id)


class ManagerHook:
    """Turns the two moments of one call into events of a callback manager.

    Args:
        manager: has `on_llm_start(event)` and `on_llm_end(event)`.
        node_name: what the events call the critic.
    """

    def __init__(self, manager: Any, node_name: str) -> None:
        self._manager = manager
        self._node_name = node_name
        self._began = 0.0
        self._started_at = ""

    async def on_llm_start(self, model: str, messages: Sequence[Any], run_id: str) -> None:
        """Send the start event."""
        kind = peer(_EVENTS, "LLMStartEvent") or LLMStartEvent
        event = kind(model=model, messages=list(messages), run_id=run_id, node_name=self._node_name)
        try:
            await self._manager.on_llm_start(event)
        finally:
            self._started_at = datetime.now(timezone.utc).isoformat()
            self._began = time.perf_counter()

    async def on_llm_end(self, model: str, output: str, usage: Mapping[str, Any], run_id: str) -> None:
        """Send the end event."""
        kind = peer(_EVENTS, "LLMEndEvent") or LLMEndEvent
        event = kind(
            model=model,
            output=output,
            usage=flat_usage(usage),
            run_id=run_id,
            node_name=self._node_name,
            duration_ms=(time.perf_counter() - self._began) * 1000,
            started_at_utc=self._started_at,
        )
        await self._manager.on_llm_end(event)


def hooks_of(manager: Any, node_name: str, hook: ObservabilityHook | None) -> tuple[ObservabilityHook, ...]:
    """Return who listens: the observability hook first, then the manager unless it has no handlers."""
    hooks: list[ObservabilityHook] = [] if hook is None else [FlatUsageHook(hook)]
    if manager is not None and not getattr(manager, "is_noop", False):
        hooks.append(ManagerHook(manager, node_name))
    return tuple(hooks)
