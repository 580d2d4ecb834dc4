"""The critic by the rules that hold now: those of the settings, read again when their file has changed."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from draftcritic._deliveries import shared_limits_of
from draftcritic.core._enums import CircuitState, Mode
from draftcritic.core._exception_place import described
from draftcritic.core._models import configured_sku
from draftcritic.review._file_watch import WatchedFile
from draftcritic.review._hook_dispatch import load_hooks
from draftcritic.review._limits import Limiter
from draftcritic.review._pipeline import Critic
from draftcritic.review._single_flight import Sharing

if TYPE_CHECKING:
    from draftcritic.core._policy import Policy
    from draftcritic.review._ports import FleetObserver
    from draftcritic.settings._model import Settings

_AT_START = (
    "mode",
    "strict",
    "background",
    "streams",
    "model",
    "model_kwargs",
    "delivery",
    "spool_dir",
    "spool_bytes",
    "spool_hours",
    "broker",
    "budget_store",
    "fleet",
    "fleet_key",
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


class InvalidReloadError(Exception):
    """The file of the settings has become invalid, and `strict` withholds drafts until it is valid again."""


class Rules:
    """Hands out the critic, and makes a new one when the file of the settings has changed.

    A file that cannot hold leaves the rules as they are until it can; why is logged when it is not what was logged
    last. What limits have counted, and what reviews share, outlives the change.

    Args:
        settings: the first settings.
        observer: writes the reviews down.
        limiter: limits that other rules of the process count in as well; None for limits of their own.
    """

    def __init__(self, settings: Settings, observer: FleetObserver, limiter: Limiter | None = None) -> None:
        self.settings = settings
        self._first = settings
        self._observer = observer
        self._hooks = (*settings.hooks, *load_hooks())
        self.limiter = limiter or _limiter(settings, observer)
        self._sharing = Sharing(settings.share_window)
        policy = settings.policy()
        self.policy_version = policy.version
        self.mode = settings.mode.lowered_to(settings.file_mode)
        self._critic = self._made(policy, self.mode)
        self._by_agent = self._made_by_agent(settings, self.mode)
        self._describe()
        self._complaint = ""
        self._warnings: list[str] = []
        self._log_warnings(settings)
        self._waiting: dict[str, Any] = {}
        self._file: WatchedFile | None = None
        if settings.config is not None:
            self._file = WatchedFile(settings.config, settings.reload_interval, known=settings.stamp)

    @property
    def withholds(self) -> bool:
        """Whether drafts are withheld because the file is invalid: in mode = enforce with `strict`."""
        return bool(self._complaint) and self._first.strict and self.mode is Mode.ENFORCE

    def current(self) -> Critic:
        """Return the critic as it is, without a look at the file."""
        return self._critic

    def known(self, agent: str | None) -> str | None:
        """Return the name of an agent that has a table of its own; None for any other."""
        return agent if agent in self._by_agent else None

    def mode_of(self, agent: str | None) -> Mode:
        """Return the mode for the drafts of an agent."""
        found = self._by_agent.get(agent)
        return self.mode if found is None else found[0].mode

    def settings_of(self, agent: str | None) -> Settings:
        """Return the settings for the drafts of an agent."""
        return self._by_agent[agent][0] if agent in self._by_agent else self.settings

    def critic(self, agent: str | None = None) -> Critic:
        """Return the critic for an agent, from a thread that may read a file."""
        if self._file is not None and self._file.changed():
            self._reload_and_report(self._file)
        return self._critic_of(agent)

    def _critic_of(self, agent: str | None) -> Critic:
        found = self._by_agent.get(agent)
        return self._critic if found is None else found[1]

    def look_soon(self) -> None:
        """Have the file looked at by another thread when it is time, for code that makes no review."""
        if self._file is not None and self._file.due():
            reader = threading.Thread(target=self._look, args=(self._file,), name="draftcritic-settings", daemon=True)
            with suppress(RuntimeError):  # no more threads, or the interpreter is ending
                reader.start()

    async def acritic(self, agent: str | None = None) -> Critic:
        """Return the critic without waiting for a file: changed rules hold as soon as another thread has read them."""
        self.look_soon()
        return self._critic_of(agent)

    def close(self) -> None:
        """End the threads that wait for the next review. Later reviews still work."""
        self._critic.close()
        for _, critic in self._by_agent.values():
            critic.close()

    def _describe(self) -> None:
        """Report what this process runs now."""
        first = self._first
        self._observer.info(self.mode, self.policy_version, first.delivery.value, configured_sku(first.model))

    def _made_by_agent(self, settings: Settings, mode: Mode) -> dict[str | None, tuple[Settings, Critic]]:
        own = settings.model_copy(update={"mode": mode}).by_agent()
        return {name: (each, self._made(each.policy(), each.mode)) for name, each in own.items()}

    def _made(self, policy: Policy, mode: Mode) -> Critic:
        return Critic(
            policy,
            mode,
            self._observer,
            self._hooks,
            limits=self.limiter,
            sharing=self._sharing,
        )

    def _look(self, file: WatchedFile) -> None:
        if file.look():
            self._reload_and_report(file)

    def _reload_and_report(self, file: WatchedFile) -> None:
        whole = False
        try:
            whole = self._reload()
        finally:
            file.done(whole)

    def _reload(self) -> bool:
        from draftcritic.settings._fields import SettingsError

        try:
            settings = self.settings.reread()
            policy, limits = settings.policy(), settings.limits()
            mode = self._first.mode.lowered_to(settings.file_mode)
            critic, by_agent = self._made(policy, mode), self._made_by_agent(settings, mode)
        except Exception as error:
            said = error.summary() if isinstance(error, SettingsError) else described(error)
            if said != self._complaint:
                _logger.error("the changed settings cannot hold, and the last good ones stay: %s", said)  # noqa: TRY400 - one line, no traceback
            self._complaint = said
            if self.withholds:
                _logger.error("every draft is withheld until the file is valid again (DRAFTCRITIC_STRICT=true)")  # noqa: TRY400 - as above
            self._observer.policy_loaded(False)
            return False
        self.limiter.use(limits)
        self._sharing.window = settings.share_window
        self.close()
        self.settings, self._critic, self._by_agent, self._complaint = settings, critic, by_agent, ""
        self.policy_version = policy.version
        if mode is not self.mode:
            _logger.warning("the mode in effect is %s; it was %s", mode, self.mode)
            self.mode = mode
        self._describe()
        self._observer.policy_loaded(True)
        self._report_change(settings, policy.version)
        self._log_warnings(settings)
        return True

    def _log_warnings(self, settings: Settings) -> None:
        warnings = settings.warnings()
        for warning in warnings:
            if warning not in self._warnings:
                _logger.warning("%s", warning)
        self._warnings = warnings

    def _report_change(self, settings: Settings, version: str) -> None:
        later = {
            name: getattr(settings, name) for name in _AT_START if getattr(settings, name) != getattr(self._first, name)
        }
        if settings.mode is self.mode:
            later.pop("mode", None)
        waits = f"; {', '.join(later)} will hold from the next start on" if later else ""
        level = logging.WARNING if later and later != self._waiting else logging.INFO
        self._waiting = later
        _logger.log(level, "the changed settings hold, policy %s%s", version, waits)


def _limiter(settings: Settings, observer: FleetObserver) -> Limiter:
    """Return the limits of the settings: of this process, or of all that share its budget store."""
    shared = shared_limits_of(settings, observer)

    def circuit(sku: str, state: CircuitState) -> None:
        observer.circuit(sku, state)
        if shared is not None:
            shared.circuit(sku, state)

    return Limiter(settings.limits(), draws=settings.mode is Mode.ENFORCE, on_circuit=circuit, shared=shared)
