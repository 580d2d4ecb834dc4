"""Checks of the settings, the rules and the critic's model."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from draftcritic._announcement import advice, critic_of, rules_of
from draftcritic._strict import missing_package, provider_in
from draftcritic.core._enums import Mode
from draftcritic.core._exception_place import described, qualified_name
from draftcritic.core._review import Failed, Judged
from draftcritic.core._turn import Turn
from draftcritic.doctor._finding import Finding, fault, note, ok, warning
from draftcritic.review._failure_log import hint_for
from draftcritic.review._failures import fault_of
from draftcritic.review._pipeline import Critic
from draftcritic.review._ports import NullObserver, Reply
from draftcritic.settings._fields import SettingsError
from draftcritic.settings._model import Settings
from draftcritic.settings._origins import DEFAULT_ORIGIN

if TYPE_CHECKING:
    from collections.abc import Hashable

    from draftcritic.review._ports import PromptMessage

_KEYS = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "azure_openai": ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN"),
    "cohere": ("COHERE_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "fireworks": ("FIREWORKS_API_KEY",),
    "google_genai": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "mistralai": ("MISTRAL_API_KEY",),
    "nvidia": ("NVIDIA_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "perplexity": ("PPLX_API_KEY", "PERPLEXITY_API_KEY"),
    "together": ("TOGETHER_API_KEY",),
    "xai": ("XAI_API_KEY",),
}
"""The variables in which LangChain's packages look for a key; other providers have no single key."""
_TEST_DRAFT = "Your parcel will arrive tomorrow."
"""What the critic is asked about; no text of the user's."""


def load() -> tuple[Settings | None, list[Finding]]:
    """Read the settings as the plugin would; None when they are invalid."""
    try:
        settings = Settings.load()
        version = settings.policy().version
    except SettingsError as error:
        return None, [_problem(each) for each in error.problems]
    given = [
        f"{name} from {settings.origin(name)}"
        for name in Settings.model_fields
        if settings.origin(name) != DEFAULT_ORIGIN
    ]
    findings = [
        ok("settings", f"mode {settings.mode.value}; {'; '.join(given) or 'all settings are at their default'}")
    ]
    if settings.mode is Mode.OFF:
        findings.append(fault("settings", f"mode = off, from {settings.origin('mode')}", "set mode to observe"))
    findings += [
        warning("settings", line, "see `draftcritic settings`, and docs/settings.md") for line in settings.warnings()
    ]
    findings.append(ok("rules", f"{rules_of(settings)}, policy {version}"))
    findings += [warning("rules", line, "see docs/writing-rules.md") for line in advice(settings)]
    return settings, findings


def _problem(problem: Any) -> Finding:
    value = "" if problem.value is None else f" = {problem.value}"
    takes = f"it takes {problem.allowed}" if problem.allowed else "correct or remove it"
    return fault("settings", f"{problem.setting}{value}, from {problem.origin}: {problem.reason}", takes)


def critic(settings: Settings, *, calls: bool) -> Iterator[Finding]:
    """Look whether the critic's model can be created, and ask it once.

    Args:
        settings: valid settings.
        calls: make one call, which costs money.
    """
    if settings.mode is Mode.GATE:
        yield note("critic", "mode = gate asks no model")
        return
    if settings.model is None:
        yield note("critic", "each draft is judged by the model that wrote it; a test call needs the setting `model`")
        return
    missing = missing_package(settings.model)
    if missing is not None:
        yield fault("critic", f"{critic_of(settings)} needs the package {missing}", f"pip install {missing}")
        return
    yield from _key(settings)
    try:
        from langchain.chat_models import init_chat_model

        model = init_chat_model(settings.model, **settings.model_kwargs)
    except Exception as error:
        remedy = "check the setting `model`, the provider's credentials and `model_kwargs`"
        yield fault("critic", f"{critic_of(settings)} cannot be created: {described(error)}", remedy)
        return
    yield ok("critic", f"{critic_of(settings)} can be created")
    if calls:
        yield _test_call(settings, model)


def _key(settings: Settings) -> Iterator[Finding]:
    names = _KEYS.get(provider_in(str(settings.model)))
    if names is None or any("key" in name or "token" in name for name in settings.model_kwargs):
        return
    present = next((name for name in names if os.environ.get(name)), None)
    if present is None:
        remedy = f"export {names[0]}=..."
        yield fault("critic", f"{critic_of(settings)} needs a key, and {' or '.join(names)} is not set", remedy)
    else:
        yield ok("critic", f"{present} is set")


class _Watched:
    """A critic's model that remembers how its call failed. Implements `CriticModel`."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.error: BaseException | None = None

    @property
    def name(self) -> str:
        return str(self._model.name)

    @property
    def identity(self) -> Hashable | None:
        return None

    def messages(self, prompt: Sequence[PromptMessage]) -> Sequence[Any]:
        messages: Sequence[Any] = self._model.messages(prompt)
        return messages

    def call(self, messages: Sequence[Any], timeout: float) -> Reply:
        try:
            reply: Reply = self._model.call(messages, timeout)
        except BaseException as error:
            self.error = error
            raise
        return reply

    async def acall(self, messages: Sequence[Any], timeout: float) -> Reply:
        return self.call(messages, timeout)


def _test_call(settings: Settings, model: Any) -> Finding:
    from dataclasses import replace

    from draftcritic.langchain._critic_model import ChatModelCritic
    from draftcritic.langchain._event_loops import OwnLoop
    from draftcritic.langchain._own_calls import OwnPrompts
    from draftcritic.review._calls import TimedCaller

    requested = str(settings.model).partition(":")[2]
    caller, loop = TimedCaller(), OwnLoop()
    watched = _Watched(
        ChatModelCritic(model, requested=requested, apart=True, caller=caller, own_prompts=OwnPrompts(), own_loop=loop)
    )
    try:
        policy = replace(settings.policy(), gate=lambda _: True)
        outcome = Critic(policy, Mode.OBSERVE, NullObserver()).review(Turn(_TEST_DRAFT), watched).outcome
    finally:
        loop.stop()
        caller.close()
    if isinstance(outcome, Judged) and outcome.call is not None:
        return ok("critic", f"a test call answered {outcome.verdict.value} {_cost(outcome.call)}")
    if isinstance(outcome, Failed):
        cause = None if watched.error is None else fault_of(watched.error)
        kind = outcome.error_type or (qualified_name(type(watched.error)) if watched.error else "no error")
        status = "" if cause is None else f", status {cause.status or 'none'}, code {cause.code or 'none'}"
        return fault(
            "critic", f"a test call failed: {outcome.failure.value} ({kind}{status})", hint_for(outcome.failure, cause)
        )
    return fault("critic", f"a test call gave no verdict: {outcome.kind.value}", "check `gate` and the limits")


def _cost(call: Any) -> str:
    usage = call.usage
    tokens = f"{usage.input_tokens or '?'}+{usage.output_tokens or '?'} tokens"
    price = "price unknown" if usage.cost_usd is None else f"{usage.cost_usd:.6f} USD"
    return f"in {call.latency_s:.1f} s for {tokens}, {price}"
