"""The critic by the rules that hold now: those of the settings, read again when their file has changed."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from draftcritic.engine import Critic, Limiter, Sharing, WatchedFile, load_hooks

if TYPE_CHECKING:
    from draftcritic.engine import ReviewObserver
    from draftcritic.settings import Settings

_AT_START = (
    "mode",
    "background",
    "streams",
    "model",
    "model_kwargs",
    "queue_size",
    "queue_bytes",
    "workers",
    "shutdown_timeout",
    "reload_interval",
    "retriever_activation",
    "hooks",
)
"""Settings that only a new process takes on: threads, patches and clients are made by them."""

_logger = logging.getLogger("draftcritic")


class Rules:
    """Hands out the critic, and makes a new one when the file of the settings has changed.

    A file that cannot hold leaves the rules as they are, and is logged once. What limits have counted, and what
    reviews share, outlives the change.

    Args:
        settings: what holds at first.
        observer: writes the reviews down.
    """

    def __init__(self, settings: Settings, observer: ReviewObserver) -> None:
        self.settings = settings
        self._first = settings
        self._observer = observer
        self._hooks = (*settings.hooks, *load_hooks())
        self._limiter = Limiter(settings.limits(), on_circuit=observer.circuit)
        self._sharing = Sharing(settings.share_window)
        self._critic = self._made(settings)
        self._file = None if settings.config is None else WatchedFile(settings.config, settings.reload_interval)

    def critic(self) -> Critic:
        """Return the critic, from a thread that may read a file."""
        if self._file is not None and self._file.changed():
            self._read_again()
        return self._critic

    async def acritic(self) -> Critic:
        """Return the critic without blocking the event loop."""
        if self._file is not None and self._file.changed():
            await asyncio.to_thread(self._read_again)
        return self._critic

    def _made(self, settings: Settings) -> Critic:
        return Critic(
            settings.policy(),
            self._first.mode,
            self._observer,
            self._hooks,
            limits=self._limiter,
            sharing=self._sharing,
        )

    def _read_again(self) -> None:
        from draftcritic.settings import SettingsError

        try:
            settings = self._first.reread()
            critic = self._made(settings)
        except Exception as error:
            said = error.summary() if isinstance(error, SettingsError) else repr(error)
            _logger.error("the changed settings cannot hold, and the last good ones stay: %s", said)  # noqa: TRY400 - one line, no traceback
            self._observer.policy_loaded(False)
            return
        self._limiter.use(settings.limits())
        self._sharing.window = settings.share_window
        self.settings, self._critic = settings, critic
        self._observer.policy_loaded(True)
        later = [name for name in _AT_START if getattr(settings, name) != getattr(self._first, name)]
        waits = f"; {', '.join(later)} will hold from the next start on" if later else ""
        _logger.info("the changed settings hold, policy %s%s", settings.policy().version, waits)
