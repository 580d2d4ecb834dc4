"""The critic in the shape that symfonic's users know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from draftcritic.core._enums import Mode
from draftcritic.core._hooks import ObservabilityHook
from draftcritic.core._turn import IntentVerdict, Turn
from draftcritic.grounding._findings import FabricationFinding
from draftcritic.integrations.symfonic._callbacks import NODE_NAME, ReflectionEvent, hooks_of
from draftcritic.integrations.symfonic._provider import critic_model_config, model_source, policy_of, process_observer
from draftcritic.review._pipeline import Critic
from draftcritic.review._ports import ReviewObserver


class _LayerRules:
    """A procedural layer, which is asked with a scope, as a rules source."""

    def __init__(self, layer: Any, scope: Any) -> None:
        self._layer = layer
        self._scope = scope

    async def retrieve(self, query: str, top_k: int) -> Sequence[Any]:
        found: Sequence[Any] = await self._layer.retrieve(self._scope, query, top_k)
        return found


class MetacognitiveMiddleware:
    """Reviews a draft after it is written, and leaves what to do with the verdict to the caller.

    It takes the objects that symfonic's class of the same name takes, and knows only their shapes. Differences:
    the prompt comes in a system and a user message, a failed call is reported as `failure`, and the end of the call is
    reported also when it failed.

    Args:
        model_provider: its `get_chat_model(model_config)` returns an object with `async ainvoke(messages)`.
        config: has `metacognition_enabled`, `metacognition_confidence_threshold`, `metacognition_sensitive_tags`, and
            perhaps `metacognition_selective_gate`, `metacognition_gate`, `metacognition_trivial_ack_patterns`,
            `read_only_tools` and `role_models` (whose `critic` is the model configuration).
        domain: has `core_preferences`, each with `priority`, `statement` and `sensitive_tags`.
        procedural_layer: its `async retrieve(scope, query, top_k)` finds procedural rules.
        reflection_prompt_template: in place of the built-in one; see `draftcritic.core.render_prompt`.
        callback_manager: gets `on_llm_start(event)` and `on_llm_end(event)` around the critic's call.
        observability_hook: gets the same two moments.
        observer: writes reviews down; by default the telemetry of the process while draftcritic is instrumented.
    """

    def __init__(
        self,
        *,
        model_provider: Any,
        config: Any,
        domain: Any,
        procedural_layer: Any | None = None,
        reflection_prompt_template: str | None = None,
        callback_manager: Any | None = None,
        observability_hook: ObservabilityHook | None = None,
        observer: ReviewObserver | None = None,
    ) -> None:
        self._model_provider = model_provider
        self._config = config
        self._domain = domain
        self._procedural_layer = procedural_layer
        self._prompt_template = reflection_prompt_template or None
        self._callback_manager = callback_manager
        self._observability_hook = observability_hook
        self._observer = observer

    @property
    def enabled(self) -> bool:
        """Whether the configuration asks for the critic."""
        return bool(self._config.metacognition_enabled)

    async def evaluate(
        self,
        *,
        run_id: str,
        draft: str,
        activation_log: Mapping[str, Any] | None,
        scope: Any,
        callback_manager: Any | None = None,
        callback_node_name: str = NODE_NAME,
        tool_calls_this_turn: Sequence[Mapping[str, Any]] | None = None,
        fabrication_findings: Sequence[FabricationFinding] | None = None,
        intent_verdict: IntentVerdict | None = None,
    ) -> ReflectionEvent:
        """Ask the gate and, when it fires, the critic's model.

        Args:
            run_id: the id of the turn.
            draft: the text to review.
            activation_log: see `compute_confidence`.
            scope: handed to the procedural layer and the gate.
            callback_manager: in place of the constructor's, for this call.
            callback_node_name: what callbacks know the critic as.
            tool_calls_this_turn: each a mapping with `name`.
            fabrication_findings: what a fabrication check found.
            intent_verdict: what the user wants.
        """
        if not self.enabled:
            return ReflectionEvent.disabled(run_id, draft)
        observer = self._observer or process_observer()
        manager = callback_manager or self._callback_manager
        critic = self._critic(scope, observer, hooks_of(manager, callback_node_name, self._observability_hook))
        turn = Turn(
            draft=draft,
            run_id=run_id,
            tool_calls=tuple(tool_calls_this_turn or ()),
            activation=activation_log or {},
            intent=intent_verdict,
            scope=scope,
        )
        review = await critic.areview(
            turn,
            model_source(self._model_provider, critic_model_config(self._config)),
            observer.capture(),
            findings=fabrication_findings,
        )
        return ReflectionEvent.of(review)

    def _critic(self, scope: Any, observer: ReviewObserver, hooks: Sequence[ObservabilityHook]) -> Critic:
        rules = None if self._procedural_layer is None else _LayerRules(self._procedural_layer, scope)
        policy = policy_of(self._config, self._domain, rules, self._prompt_template)
        return Critic(policy, Mode.OBSERVE, observer, hooks)
