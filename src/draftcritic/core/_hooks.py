"""The two moments around the critic's model call, for listeners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class ObservabilityHook(Protocol):
    """Listens to the critic's model call.

    No node name is in the signature: a listener distinguishes the critic from the agent by `model`, the name of what
    the provider really runs. An exception out of a hook is logged and changes nothing else.
    """

    async def on_llm_start(self, model: str, messages: Sequence[Any], run_id: str) -> None:
        """The critic is about to ask its model; `messages` is what it sends."""
        ...

    async def on_llm_end(self, model: str, output: str, usage: Mapping[str, Any], run_id: str) -> None:
        """The model has answered, or failed: then `output` is empty and `usage` too.

        `usage` has `input_tokens` and `output_tokens` as far as the provider reported them.
        """
        ...


class NoOpObservabilityHook:
    """A hook that listens to nothing; base class for hooks that need one of the two moments."""

    async def on_llm_start(self, model: str, messages: Sequence[Any], run_id: str) -> None:
        """Do nothing."""

    async def on_llm_end(self, model: str, output: str, usage: Mapping[str, Any], run_id: str) -> None:
        """Do nothing."""
