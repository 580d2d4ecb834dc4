"""The entry point of `opentelemetry-instrument`: wires the rooms together when LangChain is imported."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import wrapt
from opentelemetry.instrumentation.instrumentor import BaseInstrumentor  # type: ignore[attr-defined] # it is untyped

from draftcritic._announcement import advice, announce, complain, start_line
from draftcritic._strict import Blockade, check_package, check_start, end_process, may_be_strict

if TYPE_CHECKING:
    from draftcritic._runtime import Runtime
    from draftcritic.langchain._install import Installed
    from draftcritic.record._row_file import RowFile
    from draftcritic.telemetry._recorder import TelemetryRecorder

_logger = logging.getLogger("draftcritic")

_CHAT_MODELS = "langchain_core.language_models.chat_models"
_PROVIDERS = ("tracer_provider", "meter_provider", "logger_provider")
_NO_SETTINGS = frozenset({*_PROVIDERS, "skip_dep_check", "raise_exception_on_conflict"})


class DraftCriticInstrumentor(BaseInstrumentor):  # type: ignore[misc]
    """Reviews every draft that a LangChain chat model writes.

    `instrument()` takes the OpenTelemetry providers (`tracer_provider`, `meter_provider`, `logger_provider`; without
    them the global ones hold), ready `settings`, or single settings by name, such as `mode="gate"` or `model=chat`.
    It never raises: with a bad setting it logs one line and stays off, and the application runs on as if it were not
    there; with `strict` it ends the process with exit code 78. It imports nothing of LangChain; the work begins when
    the application does.

    Example:
        DraftCriticInstrumentor().instrument(mode="observe", model="openai:gpt-4.1-mini")
    """

    _wiring: _Wiring | None = None

    def instrumentation_dependencies(self) -> Collection[str]:
        """Return the requirement that `opentelemetry-instrument` checks before it loads the plugin."""
        return ("langchain-core >= 1.0, < 2",)

    def flush(self, timeout: float = 5.0, *, export: bool = False) -> bool:
        """Wait until every draft so far is reviewed.

        Args:
            timeout: seconds to wait at most.
            export: export the reviews, too: have the OpenTelemetry providers send what they have collected, in the
                time that is left, at least one second.

        Returns:
            False when reviews are still open after that time, or could not be exported.
        """
        began = time.monotonic()
        wiring = self._wiring
        runtime = wiring.runtime if wiring is not None else None
        reviewed = True if runtime is None else runtime.flush(timeout)
        if not export:
            return reviewed
        from draftcritic.telemetry._export import export_all, providers_of

        left = max(1.0, timeout - (time.monotonic() - began))
        return export_all(providers_of(wiring._options if wiring is not None else {}), left) and reviewed

    def instrument(self, **kwargs: Any) -> Any:
        """Start. After a start that failed, or with `mode="off"`, it can be called again. See the class."""
        result = super().instrument(**kwargs)
        if self._wiring is None or self._wiring.is_off:
            self._is_instrumented_by_opentelemetry = False
        return result

    def _instrument(self, **kwargs: Any) -> None:
        try:
            if may_be_strict(kwargs, os.environ):
                check_start(_settings_of(kwargs))
            if self._wiring is not None:
                self._wiring.disconnect()  # of a start that failed
            wiring = _Wiring(kwargs, self._stays_off)
            DraftCriticInstrumentor._wiring = wiring
            wrapt.register_post_import_hook(wiring.connect, _CHAT_MODELS)
        except Exception as error:
            _log_failed_start(error)

    def _stays_off(self) -> None:
        """Take note of a start that failed when the application imported LangChain."""
        self._is_instrumented_by_opentelemetry = False

    def _uninstrument(self, **_: Any) -> None:
        wiring, DraftCriticInstrumentor._wiring = self._wiring, None
        if wiring is not None:
            wiring.disconnect()


class _Wiring:
    """What one `instrument()` has connected, so that `uninstrument()` takes off exactly that.

    Args:
        options: what was given to `instrument()`.
        stays_off: called when the plugin cannot be started, or the settings say that it is off.
    """

    def __init__(self, options: dict[str, Any], stays_off: Callable[[], None]) -> None:
        self._options = options
        self._stays_off = stays_off
        self._splices: list[Installed] = []
        self._wanted = True
        self.runtime: Runtime | None = None
        self._started: Runtime | None = None
        self._recorder: TelemetryRecorder | None = None
        self._turns: RowFile | None = None
        self._enforces = False
        self._blockade: Blockade | None = None

    @property
    def is_off(self) -> bool:
        """Whether the plugin could not be started, was switched off, or is off by its settings."""
        return not self._wanted

    def connect(self, _: Any = None) -> None:
        """Load the settings and put the handlers into LangChain. Called when its chat models are imported."""
        if not self._wanted or self.runtime is not None:
            return
        try:
            self._connect()
        except Exception as error:
            self._give_up()
            self._report_failure(error)

    def _report_failure(self, error: Exception) -> None:
        """Say why the plugin stays off or, where `strict` demands it, end the process or withhold all answers."""
        from draftcritic.settings._fields import SettingsError

        strict = may_be_strict(self._options, os.environ)
        if not isinstance(error, SettingsError):
            _log_failed_start(error)
            if strict and self._enforces:
                self._withhold(error)
            return
        if strict:
            end_process(error.summary())
        complain(
            f"draftcritic stays off, and no answer is reviewed: {error.summary()}. DRAFTCRITIC_STRICT=true ends the "
            "process instead"
        )

    def _withhold(self, error: Exception) -> None:
        """Let no chat model answer: drafts would leave unreviewed."""
        from draftcritic.core._exception_place import described

        try:
            owner = sys.modules[_CHAT_MODELS].BaseChatModel
            self._blockade = Blockade(owner, f"it could not be set up: {described(error)}")
        except Exception:
            end_process(described(error))

    def _connect(self) -> None:
        from draftcritic._observers import recorder_of, with_turns
        from draftcritic._runtime import Runtime, set_current
        from draftcritic.core._enums import Mode
        from draftcritic.integrations.symfonic._agents import SymfonicAgents
        from draftcritic.langchain._enforce import interceptor_for
        from draftcritic.langchain._graph import GRAPHS, GRAPHS_NEED_HELP, GraphMetadata, GraphNames
        from draftcritic.langchain._install import install
        from draftcritic.settings._model import Settings
        from draftcritic.telemetry._neighbours import capturing_neighbours

        providers = {name: self._options.get(name) for name in _PROVIDERS}
        options = _settings_of(self._options)
        settings = options.get("settings")
        if settings is None:
            settings = Settings.load(**options)
        if settings.mode is Mode.OFF:
            _logger.debug("draftcritic is off by its settings")
            self._give_up()
            return
        self._enforces = settings.mode is Mode.ENFORCE
        if settings.strict:
            check_package(settings)
        self._recorder = recorder_of(settings, **providers)
        observer, self._turns = with_turns(settings, self._recorder)
        runtime = self._started = Runtime(settings, observer)
        interceptor = interceptor_for(runtime, settings.mode, settings.streams)
        self._splices = install(interceptor, retrievers=settings.retriever_activation)
        if GRAPHS_NEED_HELP:
            graphs = GraphMetadata()
            self._splices.append(graphs)
            wrapt.register_post_import_hook(graphs.connect, GRAPHS)
        if settings.agents:
            named = GraphNames()
            self._splices.append(named)
            wrapt.register_post_import_hook(named.connect, GRAPHS)
        symfonic = SymfonicAgents(runtime.failed)
        self._splices.append(symfonic)
        symfonic.install()
        self.runtime = runtime
        set_current(runtime)
        capturing = [each.label for each in capturing_neighbours()]
        announce(start_line(settings, runtime.policy_version, capturing))
        for line in advice(settings):
            _logger.warning("%s", line)

    def _give_up(self) -> None:
        """Take back what was done so far."""
        self.disconnect()
        self._stays_off()

    def disconnect(self) -> None:
        """Take the handlers out of LangChain and review what is queued."""
        self._wanted = False
        if self._blockade is not None:
            self._blockade.remove()
        runtime, recorder, self.runtime = self._started, self._recorder, None
        self._started = self._recorder = None
        if runtime is not None:
            from draftcritic._runtime import current, set_current
            from draftcritic.langchain._install import remove

            remove(self._splices)
            if current() is runtime:
                set_current(None)
            runtime.close()
        if recorder is not None:
            recorder.close()
        if self._turns is not None:
            self._turns.close()


def _log_failed_start(error: Exception) -> None:
    """Log type and place of an exception, without its text, which may contain a key."""
    from draftcritic.core._exception_place import described

    complain(f"draftcritic failed to start and stays off, and no answer is reviewed: {described(error)}")


def _settings_of(options: dict[str, Any]) -> dict[str, Any]:
    """Return those options of `instrument()` that are settings."""
    return {name: value for name, value in options.items() if name not in _NO_SETTINGS}
