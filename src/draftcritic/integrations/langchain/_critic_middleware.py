"""The class `CriticMiddleware`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal

from langchain.agents.middleware import AgentMiddleware

from draftcritic.core._enums import Mode
from draftcritic.integrations.langchain._attempts import attempts
from draftcritic.langchain._deferred_callbacks import areplay, replay
from draftcritic.settings._model import Settings

if TYPE_CHECKING:
    from langchain.agents.middleware import ModelRequest, ModelResponse

    from draftcritic.integrations.langchain._engine import Engine

_MOST_RETRIES = 10


class CriticMiddleware(AgentMiddleware[Any, Any, Any]):
    """Reviews the answers of one agent of `create_agent`, with or without `opentelemetry-instrument`.

    The agent gets a view of its model that holds each answer back as the mode says, so that no token of a refused
    answer is streamed. Other middleware may be before and after it, and may put another model into the request. Where
    the plugin runs as well, the middleware alone reviews its agent's answers.

    Settings come from where the plugin has them: what code gives here, then what code gave to the plugin, then
    `DRAFTCRITIC_*`, then the file of `config`, then the defaults. Agents with equal settings share background threads
    and limits; agents and plugin with equal limits share those. Reviews are written with the OpenTelemetry API, to the
    global providers unless others are given.

    Args:
        on_refuse: `retry` asks the agent's model again when its answer is refused in `enforce`, with the critic's
            reason in the prompt. Nothing of an attempt is shown before the last. Each attempt is a call of the agent's
            model and a review, with its call of the critic's model in the budgets.
        max_retries: how often `retry` asks again, 1 to 10, before the refusal is shown.
        settings: ready settings, in place of all other sources.
        tracer_provider, meter_provider, logger_provider: where the reviews are written.
        **options: single settings by name, such as `mode="enforce"` or `model=chat`.

    Raises:
        SettingsError: a setting is invalid.
        ValueError: `on_refuse` or `max_retries` is invalid.

    Example:
        agent = create_agent(model, tools, middleware=[CriticMiddleware(mode="enforce", model="openai:gpt-4.1-mini")])
    """

    def __init__(
        self,
        *,
        on_refuse: Literal["refuse", "retry"] = "refuse",
        max_retries: int = 1,
        settings: Settings | None = None,
        tracer_provider: Any = None,
        meter_provider: Any = None,
        logger_provider: Any = None,
        **options: Any,
    ) -> None:
        super().__init__()
        if on_refuse not in ("refuse", "retry"):
            raise ValueError(f"on_refuse = {on_refuse!r}: use 'refuse' or 'retry'")
        if type(max_retries) is not int or not 1 <= max_retries <= _MOST_RETRIES:
            raise ValueError(f"max_retries = {max_retries!r}: use a whole number from 1 to {_MOST_RETRIES}")
        if settings is not None and options:
            raise ValueError(f"settings and {', '.join(options)}: give one of the two")
        self.tools = ()
        self._retries = max_retries if on_refuse == "retry" else 0
        self._providers = {
            "tracer_provider": tracer_provider,
            "meter_provider": meter_provider,
            "logger_provider": logger_provider,
        }
        self._follows = settings is None and not options and not any(self._providers.values())
        self._settings: Settings = _settings(options) if settings is None else settings
        self._own: Engine | None = None

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Ask the model, and return the answer as its verdict has it."""
        engine = self._engine()
        if engine is None:
            return handler(request)
        for attempt in attempts(engine, request, self._retries):
            try:
                with attempt:
                    response = handler(attempt.request)
            finally:
                replay(attempt.released())
        return response

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Ask the model, and return the answer as its verdict has it."""
        engine = self._engine()
        if engine is None:
            return await handler(request)
        for attempt in attempts(engine, request, self._retries):
            try:
                with attempt:
                    response = await handler(attempt.request)
            finally:
                await areplay(attempt.released())
        return response

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait until every draft so far is reviewed.

        Args:
            timeout: seconds to wait at most.

        Returns:
            False when reviews are still open after that time.
        """
        engine = self._engine()
        return True if engine is None else engine.runtime.flush(timeout)

    def _engine(self) -> Engine | None:
        """Return what reviews the answers; None when the settings switch that off."""
        from draftcritic.integrations.langchain._engine import shared

        if self._follows:
            running = shared.of_plugin()
            if running is not None:
                return running
        if self._settings.mode is Mode.OFF:
            return None
        if self._own is None:
            self._own = shared.of(self._settings, self._providers)
        return self._own


def _settings(options: dict[str, Any]) -> Settings:
    """Return the settings of the plugin with these in place of its own, or those of the environment."""
    from draftcritic._runtime import current

    running = current()
    return Settings.load(**options) if running is None else running.settings.varied(**options)
