"""Dispatches the critic's model call to hooks, and isolates their errors."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from draftcritic.core._exception_place import described, qualified_name
from draftcritic.core._hooks import NoOpObservabilityHook, ObservabilityHook
from draftcritic.review._calls import within

HOOK_GROUP = "draftcritic_hooks"
"""The entry point group of hooks: each entry is a hook, or a class or function that makes one."""
HOOK_TIMEOUT = 5.0
"""Seconds that one hook may take for one moment."""

_logger = logging.getLogger(__name__)


class HookDispatcher:
    """The hooks of one critic, called one after the other in the order they were given."""

    def __init__(self, hooks: Sequence[ObservabilityHook], timeout: float = HOOK_TIMEOUT) -> None:
        self._hooks = tuple(hooks)
        self._timeout = timeout
        self.limit = (len(self._hooks) + 1) * timeout
        """Seconds after which a round cannot be waiting for a well-behaved hook any more."""

    def __bool__(self) -> bool:
        return bool(self._hooks)

    async def started(self, model: str, messages: Sequence[Any], run_id: str) -> None:
        """Tell every hook that the critic is about to ask its model."""
        # A hook may keep or change the list; the model gets its own.
        await self._tell("on_llm_start", lambda tell: tell(model, list(messages), run_id))

    async def ended(self, model: str, output: str, usage: Mapping[str, Any], run_id: str) -> None:
        """Tell every hook that the model has answered or failed."""
        await self._tell("on_llm_end", lambda tell: tell(model, output, dict(usage), run_id))

    async def _tell(self, moment: str, speak: Callable[[Any], Awaitable[None]]) -> None:
        silent = getattr(NoOpObservabilityHook, moment)
        for hook in self._hooks:
            if getattr(type(hook), moment, None) is silent:
                continue
            try:
                answer = speak(getattr(hook, moment))
                if answer is not None:  # a plain method is forgiven
                    await within(answer, self._timeout)
            except Exception as error:  # a hook is third-party code
                _logger.warning(
                    "the hook %s failed in %s with %s",
                    qualified_name(type(hook)),
                    moment,
                    described(error),
                )


def load_hooks() -> tuple[ObservabilityHook, ...]:
    """Return the hooks that installed packages offer as entry points of the group `draftcritic_hooks`.

    An entry that fails to load, or is no hook, is logged and left out.
    """
    loaded = (_loaded(entry) for entry in entry_points(group=HOOK_GROUP))
    return tuple(hook for hook in loaded if hook is not None)


def _loaded(entry: EntryPoint) -> ObservabilityHook | None:
    try:
        return _hook_of(entry.load())
    except Exception as error:  # third-party code
        _logger.warning(
            "failed to load the hook %r (%s): %s; an entry point must name an object with on_llm_start and on_llm_end",
            entry.name,
            entry.value,
            described(error),
        )
        return None


def _hook_of(loaded: Any) -> ObservabilityHook:
    made = loaded if isinstance(loaded, ObservabilityHook) and not isinstance(loaded, type) else loaded()
    if not isinstance(made, ObservabilityHook):
        raise TypeError(f"{qualified_name(type(made))} has no on_llm_start and on_llm_end")
    return made
