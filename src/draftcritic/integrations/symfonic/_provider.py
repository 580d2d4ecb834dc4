"""Reads the critic's policy out of a framework's configuration and domain objects, of which only shapes are known."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from draftcritic.core._enums import EvidenceScope, Examples, FabricationMode, Profile, Verdict
from draftcritic.core._exception_place import qualified_name
from draftcritic.core._models import reported_finish_reason, reported_model_name, resolve_model_name
from draftcritic.core._policy import CriticPreference, Policy, ProceduralRulesSource
from draftcritic.core._reply import ParsedReflection, parse_reflection_output
from draftcritic.review._calls import TimedCaller, within
from draftcritic.review._failures import classify
from draftcritic.review._ports import CriticModel, NullObserver, PromptMessage, Reply, ReviewObserver
from draftcritic.review._reflection import prompt_messages
from draftcritic.review._reply_check import matched_of
from draftcritic.review._scope import reviewing


@dataclass(frozen=True)
class ModelConfig:
    """The model configuration that a provider gets when the caller has chosen none.

    Attributes:
        model_name: empty leaves the choice to the provider.
    """

    model_name: str = ""


def peer(module: str, name: str) -> Any:
    """Return `name` of a module of the symfonic framework, when the application has loaded it; else None.

    Where symfonic is not loaded no object can have its types, so it is never imported here.
    """
    if "symfonic.core" not in sys.modules:
        return None
    try:
        return getattr(import_module(module), name, None)
    except ImportError:
        return None


def critic_model_config(config: Any) -> Any:
    """Return the model configuration of the role `critic`, or the framework's default one."""
    roles = getattr(config, "role_models", None) or {}
    chosen = roles.get("critic")
    if isinstance(getattr(chosen, "model_name", None), str):
        return chosen
    return default_model_config()


def default_model_config() -> Any:
    """Return the default model configuration."""
    return (peer("symfonic.core.config", "ModelConfig") or ModelConfig)()


def policy_of(
    config: Any, domain: Any, rules_source: ProceduralRulesSource | None, prompt_template: str | None
) -> Policy:
    """Return the policy that a framework's configuration and domain amount to.

    The fabrication check is the framework's own affair there: it hands its findings in.
    """
    return Policy(
        confidence_threshold=config.metacognition_confidence_threshold,
        selective_gate=bool(getattr(config, "metacognition_selective_gate", False)),
        sensitive_tags=tags_of(getattr(config, "metacognition_sensitive_tags", None)),
        preferences=preferences_of(getattr(domain, "core_preferences", None)),
        read_only_tools=tags_of(getattr(config, "read_only_tools", None)),
        trivial_ack_patterns=tuple(getattr(config, "metacognition_trivial_ack_patterns", None) or ()),
        gate=getattr(config, "metacognition_gate", None),
        fabrication_mode=FabricationMode.OFF,
        profile=Profile.SYMFONIC,
        evidence=EvidenceScope.NONE,
        examples=Examples.ALWAYS,
        rules_source=rules_source,
        prompt_template=prompt_template,
    )


def preferences_of(preferences: Iterable[Any] | None) -> tuple[CriticPreference, ...]:
    """Return preferences of any class that has `priority`, `statement` and perhaps `sensitive_tags`."""
    return tuple(
        CriticPreference(each.priority, each.statement, tuple(tags_of(getattr(each, "sensitive_tags", None))))
        for each in preferences or ()
    )


def tags_of(tags: str | Iterable[str] | None) -> frozenset[str]:
    """Return names as a set; a single string is one name."""
    return frozenset((tags,) if isinstance(tags, str) else tags or ())


def model_source(provider: Any, model_config: Any) -> Callable[[], CriticModel]:
    """Return a function that creates the critic's model for each call, with `provider.get_chat_model(model_config)`."""

    def make() -> CriticModel:
        return critic_model(provider.get_chat_model(model_config), getattr(model_config, "model_name", "") or "")

    return make


def critic_model(model: Any, requested: str = "") -> CriticModel:
    """Return a model object in the part of the critic's model.

    Args:
        model: a LangChain chat model or runnable, or any object with `ainvoke(messages)`.
        requested: the name that was asked for, when the object does not tell one.
    """
    try:
        from langchain_core.runnables import Runnable
    except ImportError:
        return PlainModel(model, requested)
    if not isinstance(model, Runnable):
        return PlainModel(model, requested)
    from draftcritic.langchain._critic_model import ChatModelCritic

    return ChatModelCritic(model, requested=requested)


class PlainModel:
    """Any object with `ainvoke(messages)`, and perhaps `invoke(messages)`, as the critic's model.

    It gets LangChain messages where langchain-core is installed, and `PromptMessage`s elsewhere.
    """

    def __init__(self, model: Any, requested: str = "") -> None:
        self._model = model
        self._requested = requested
        self._caller = TimedCaller()

    @property
    def name(self) -> str:
        """The name of the model; empty when it has none."""
        return resolve_model_name(self._model, requested=self._requested)

    @property
    def identity(self) -> None:
        """None: nothing is known of the object."""
        return None

    def messages(self, prompt: Sequence[PromptMessage]) -> Sequence[Any]:
        """Return the prompt as messages."""
        try:
            from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
        except ImportError:
            return list(prompt)
        kinds = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}
        return [kinds[each.role](content=each.text) for each in prompt]

    def call(self, messages: Sequence[Any], timeout: float) -> Reply:
        """Ask the model from synchronous code. See `CriticModel.call`."""
        invoke = getattr(self._model, "invoke", None)
        if invoke is not None:
            return _reply(self._caller.call(lambda: invoke(list(messages)), timeout))
        return self._caller.call(lambda: asyncio.run(self.acall(messages, timeout)), timeout + 1)

    async def acall(self, messages: Sequence[Any], timeout: float) -> Reply:
        """Ask the model from a coroutine. See `CriticModel.acall`."""
        return _reply(await within(self._model.ainvoke(list(messages)), timeout))


def _reply(answer: Any) -> Reply:
    usage = getattr(answer, "usage_metadata", None)
    if usage is not None and not isinstance(usage, Mapping):
        counts = {name: getattr(usage, name, None) for name in ("input_tokens", "output_tokens")}
        usage = {name: count for name, count in counts.items() if count is not None}
    metadata = getattr(answer, "response_metadata", None) or {}
    return Reply(
        content=answer.content if hasattr(answer, "content") else str(answer),
        model=reported_model_name(metadata),
        usage=usage or {},
        finish_reason=reported_finish_reason(metadata),
    )


def process_observer() -> ReviewObserver:
    """Return the telemetry of the process while draftcritic is instrumented, else an observer of nothing."""
    runtime_module = sys.modules.get("draftcritic._runtime")
    runtime = runtime_module.current() if runtime_module is not None else None
    if runtime is None:
        return NullObserver()
    observer: ReviewObserver = runtime.observer
    return observer


_logger = logging.getLogger(__name__)


async def reflect_on_draft(  # noqa: PLR0917 - the order is part of the contract
    provider: Any,
    model_config: Any,
    template: str | None,
    draft: str,
    preferences: Iterable[Any],
    rules: Sequence[str],
    hit: str | None,
) -> ParsedReflection:
    """Ask the critic's model once what it says of a draft.

    Args:
        provider: its `get_chat_model(model_config)` returns an object with `async ainvoke(messages)`.
        model_config: what the provider is asked for; None leaves it to the framework's default.
        template: the prompt; None is the built-in one.
        draft: the text to judge.
        preferences: each with `priority` and `statement`.
        rules: procedural rules.
        hit: the sensitive tag that was met.

    Returns:
        The verdict, which unpacks as `(verdict, text, matched_preferences)`. Any failure is an `approve` whose
        attribute `failure` says in which way.
    """
    policy = Policy(preferences=preferences_of(preferences), prompt_template=template)
    config = default_model_config() if model_config is None else model_config
    try:
        with reviewing():
            model = model_source(provider, config)()
            prompt = prompt_messages(policy, draft=draft, rules=rules, sensitive_hit=hit)
            reply = await model.acall(model.messages(prompt), policy.timeout)
    except Exception as error:  # the model and its provider are third-party code
        _logger.warning("the reflection failed with %s", qualified_name(type(error)))
        return ParsedReflection(Verdict.APPROVE, failure=classify(error))
    parsed = parse_reflection_output(reply.content)
    return ParsedReflection(
        parsed.verdict, parsed.text, list(matched_of(parsed, policy)), failure=parsed.failure, own=parsed.own
    )
