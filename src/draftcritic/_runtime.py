"""The one object that everything mutable of the plugin hangs on, while it is instrumented."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING, Any

from draftcritic._deliveries import Reviews, made_delivery, service_name
from draftcritic._reload import InvalidReloadError, Rules
from draftcritic.core._enums import DeliveryKind, GateReason, Mode, OnFailure, OnRefusedCalls, Verdict
from draftcritic.core._exception_place import described, qualified_name
from draftcritic.core._lexicon import load_data
from draftcritic.core._review import ModelCall, Review
from draftcritic.core._turn import Turn
from draftcritic.fleet._wire import DraftMessage, TravelledError
from draftcritic.langchain._backing import DocumentMemory, has_sensitive_tag
from draftcritic.langchain._capture import CapturedDraft
from draftcritic.langchain._critic_model import ChatModelCritic
from draftcritic.langchain._event_loops import OwnLoop
from draftcritic.langchain._own_calls import OwnPrompts
from draftcritic.langchain._provider_names import provider_of
from draftcritic.langchain._recent_reviews import remember
from draftcritic.langchain._rewrite import WithoutCalls
from draftcritic.langchain._root_run import root_run
from draftcritic.langchain._turn_builder import bare_turn, extract, unread_turn
from draftcritic.review._calls import TimedCaller
from draftcritic.review._pipeline import Critic
from draftcritic.review._ports import CriticModel
from draftcritic.review._scope import agent_in, current_agent

if TYPE_CHECKING:
    from draftcritic.langchain._capture import LazyDraft
    from draftcritic.langchain._interceptors import CaptureFn
    from draftcritic.review._limits import Limiter
    from draftcritic.review._ports import FleetObserver
    from draftcritic.settings._model import Settings

_logger = logging.getLogger("draftcritic")


class Runtime:
    """Takes the drafts that LangChain's methods hand on, and has them reviewed as the settings say.

    Nothing starts before the first draft: threads and the critic's model are made when they are needed, and again in a
    forked process.

    Args:
        settings: the settings at the start.
        observer: writes the reviews down.
        limiter: limits that other runtimes count in as well; None for limits of its own.
    """

    def __init__(self, settings: Settings, observer: FleetObserver, limiter: Limiter | None = None) -> None:
        self.settings = settings
        self.observer = observer
        self._rules = Rules(settings, observer, limiter)
        self._own_prompts = OwnPrompts()
        self._caller = TimedCaller()
        self._own_loop = OwnLoop()
        if not self._background:
            load_data()
        self._documents = DocumentMemory() if settings.retriever_activation else None
        self._named_models: dict[tuple[int, str, str], Any] = {}
        self._warned_of_muted = False
        self._delivery = made_delivery(settings, observer, Reviews(self._review, self.review_message, self._packed))

    @property
    def policy_version(self) -> str:
        """The version of the policy in effect."""
        return self._rules.policy_version

    @property
    def limiter(self) -> Limiter:
        """The limits of the reflection, with what they have counted."""
        return self._rules.limiter

    @property
    def _enforces(self) -> bool:
        return self._rules.mode_of(current_agent()) is Mode.ENFORCE

    @property
    def _background(self) -> bool:
        return self.settings.background and not self._enforces

    def enforces(self) -> bool:
        """Whether drafts wait for their verdict here: the file, or the agent's table, may have lowered the mode."""
        return self._enforces

    def is_off(self) -> bool:
        """Whether the file of the settings, or the agent's table, has switched reviews off."""
        is_off = self._rules.mode_of(current_agent()) is Mode.OFF
        if is_off or self.settings.delivery is DeliveryKind.CELERY:
            self._rules.look_soon()  # no review here does
        return is_off

    def capture(self, run_id: Any = None) -> Any:
        """Return the place of the current code in its trace."""
        return self.observer.capture(run_id)

    def nested(self) -> None:
        """Count a call that was left alone because it is the critic's own."""
        self.observer.nested()

    def muted(self) -> None:
        """Count a model call inside a `muted` block."""
        self.observer.muted()

    def allows_muted(self) -> bool:
        """Whether the application's `muted` blocks keep calls from their reviews; warns once when they do not."""
        if self._rules.settings.allow_muted:
            return True
        if not self._warned_of_muted:
            self._warned_of_muted = True
            _logger.warning(
                "a call inside `with draftcritic.muted():` is reviewed, because allow_muted = false; remove the block, "
                "or set allow_muted = true"
            )
        return False

    def found(self, documents: Any) -> None:
        """Remember what a retriever found."""
        if self._documents is not None:
            try:
                self._documents.remember(documents)
            except Exception as error:
                _logger.warning("what a retriever found could not be read: %s", described(error))

    def take(self, capture_drafts: CaptureFn) -> Iterable[str | None]:
        """Review drafts from synchronous code: in the background, or here and now."""
        try:
            if self._background:
                return self._submit(capture_drafts())
            return self._applied([self._review(draft()) for draft in capture_drafts()])
        except Exception as error:
            return self._lost(error)

    async def atake(self, capture_drafts: CaptureFn) -> Iterable[str | None]:
        """Review drafts from a coroutine: in the background, or here and now."""
        try:
            if self._background:
                return self._submit(capture_drafts())
            return self._applied(
                [await self._areview(captured) for captured in [draft() for draft in capture_drafts()]]
            )
        except Exception as error:
            return self._lost(error)

    def flush(self, timeout: float) -> bool:
        """Wait until every draft taken so far is reviewed, at most `timeout` seconds; False when some are not."""
        return self._delivery.flush(timeout)

    def close(self) -> None:
        """Review what is queued within the shutdown limit, and take nothing more."""
        self._delivery.close(self.settings.shutdown_timeout)
        self._own_loop.stop()
        self._caller.close()
        self._rules.close()

    def _submit(self, drafts: Sequence[LazyDraft]) -> Iterable[str | None]:
        for draft in drafts:
            if not self._delivery.would_reject():
                self._delivery.submit(draft())
        return ()

    def _agent(self, captured: CapturedDraft) -> str | None:
        """Return the name of the agent of a draft, when it has settings of its own."""
        return self._rules.known(agent_in(captured.context))

    def _packed(self, captured: CapturedDraft, id_: str) -> DraftMessage:
        """Return what travels of a captured draft."""
        error = ""
        try:
            turn = replace(self._turn(captured), draft_provider=provider_of(captured.model))
        except Exception as fault:
            turn, error = bare_turn(captured), qualified_name(type(fault))
        return DraftMessage(
            id=id_,
            turn=turn,
            origin=self.observer.packed(captured.origin),
            created=time.time(),
            service=service_name(),
            complete=captured.complete,
            error=error,
        )

    def _is_switched_off(self, agent: str | None, wanted: Callable[[], bool] | None) -> bool:
        """Whether reviews are off for a draft that has waited; it is counted then."""
        if self._rules.mode_of(agent) is not Mode.OFF:
            return False
        if wanted is None or wanted():
            self.observer.muted()
        return True

    def review_message(self, message: DraftMessage, wanted: Callable[[], bool] | None = None) -> Review | None:
        """Review a draft that has travelled; None where the file of the settings has switched reviews off."""
        agent, origin = message.turn.agent, self.observer.unpacked(message.origin)
        critic = self._rules.critic(agent)
        if self._is_switched_off(agent, wanted):
            return None
        if message.error:
            return critic.fail(message.turn, TravelledError.named(message.error), origin, wanted=wanted)
        if not message.complete:
            return critic.decline(message.turn, GateReason.ABANDONED, origin, wanted=wanted)
        return critic.review(message.turn, _NamedSource(self, agent), origin, wanted=wanted)

    def _review(self, captured: CapturedDraft, wanted: Callable[[], bool] | None = None) -> Review | None:
        agent = self._agent(captured)
        critic = self._rules.critic(agent)
        if self._is_switched_off(agent, wanted):
            return None
        try:
            turn = self._turn(captured)
        except Exception as error:
            return self._unread(critic, captured, error, wanted)
        if not captured.complete:
            review = critic.decline(turn, GateReason.ABANDONED, captured.origin, wanted=wanted)
        else:
            review = critic.review(turn, self._model(captured), captured.origin, wanted=wanted)
        remember(captured, review)
        return review

    async def _areview(self, captured: CapturedDraft) -> Review:
        critic = await self._rules.acritic(self._agent(captured))
        try:
            turn = self._turn(captured)
        except Exception as error:
            return self._unread(critic, captured, error)
        review = await critic.areview(turn, self._model(captured), captured.origin)
        remember(captured, review)
        return review

    def _unread(
        self, critic: Critic, captured: CapturedDraft, error: Exception, wanted: Callable[[], bool] | None = None
    ) -> Review:
        """Record a draft whose turn could not be read, closed where the settings say so."""
        closed = self._enforces and self._fails_closed(captured.metadata)
        review = critic.fail(bare_turn(captured), error, captured.origin, closed=closed, wanted=wanted)
        remember(captured, review)
        return review

    def repeat_message(self, message: DraftMessage, verdict: str, call: ModelCall) -> None:
        """Record that a draft has come again whose review is recorded."""
        self._rules.critic().repeat(message.turn, Verdict(verdict), call, self.observer.unpacked(message.origin))

    def _applied(self, reviews: Sequence[Review | None]) -> Iterable[str | None]:
        if not self._enforces:
            return ()
        return [None if review is None else self._replacement(review) for review in reviews]

    def _replacement(self, review: Review) -> str | None:
        drops_calls = self._rules.settings.on_refused_calls is OnRefusedCalls.DROP
        if review.replacement is None or not drops_calls or review.verdict is not Verdict.REFUSE:
            return review.replacement
        return WithoutCalls(review.replacement)

    def _turn(self, captured: CapturedDraft) -> Turn:
        if self._rules.withholds:
            raise InvalidReloadError
        settings = self._rules.settings
        return extract(
            captured,
            documents=self._documents,
            trust_documents=settings.retriever_scores_trusted or not self._enforces,
            trust_request=settings.trust_request_metadata,
            root_run=root_run(captured.context),
            repeats_question=self._own_prompts.repeated_in(captured.prompt),
            agent=self._agent(captured),
        )

    def _model(self, captured: CapturedDraft) -> Callable[[], CriticModel]:
        return _Source(self, captured)

    def _model_settings(self, agent: str | None) -> Settings:
        """Return the settings that name the critic's model for an agent; the process's are those of its start."""
        own = self._rules.settings_of(agent)
        table = own.agents.get(agent) if agent is not None else None
        return self.settings if table is None or table.model is None else own

    def _model_of(self, settings: Settings) -> tuple[Any, str]:
        """Return the critic's model of the settings, which name one, and the name that is requested of its provider."""
        if isinstance(settings.model, str):
            return self._named(settings), settings.model.partition(":")[2]
        return settings.model, ""

    def named_critic(self, agent: str | None = None) -> CriticModel:
        """Return the critic's model of the settings, for a draft whose own model is in another process."""
        model, requested = self._model_of(self._model_settings(agent))
        return ChatModelCritic(
            model,
            requested=requested,
            apart=True,
            caller=self._caller,
            own_prompts=self._own_prompts,
            own_loop=self._own_loop,
        )

    def critic_for(self, captured: CapturedDraft) -> CriticModel:
        """Return the critic's model for a draft."""
        settings = self._model_settings(self._agent(captured))
        configured = settings.model is not None
        model, requested = self._model_of(settings) if configured else (captured.model, "")
        return ChatModelCritic(
            model,
            requested=requested,
            loop=captured.loop,
            apart=configured,
            caller=self._caller,
            own_prompts=self._own_prompts,
            own_loop=self._own_loop,
            spared=getattr(captured.model, "rate_limiter", None),
        )

    def is_to_be_named(self, agent: str | None) -> bool:
        """Whether the critic of an agent's next draft has to be imported and made by its name first."""
        settings = self._model_settings(agent)
        return isinstance(settings.model, str) and _model_key(settings) not in self._named_models

    def _named(self, settings: Settings) -> Any:
        # Clients hold sockets and locks that must not cross a fork, so the key has the process.
        key, name = _model_key(settings), settings.model
        made = self._named_models.get(key)
        if made is None:
            try:
                from langchain.chat_models import init_chat_model
            except ImportError as error:
                raise ImportError(
                    f"DRAFTCRITIC_MODEL={name!r} needs the package langchain: pip install langchain, or give a model "
                    "object in code, or leave the setting out to ask the draft's own model",
                    name="langchain",
                ) from error
            made = self._named_models[key] = init_chat_model(name, **settings.model_kwargs)
        return made

    def failed(self, error: Exception, metadata: Mapping[str, Any]) -> str | None:
        """Record a draft whose handler failed. See `Reviewer`."""
        return next(iter(self._lost(error, metadata)), None)

    def _lost(self, error: Exception, metadata: Mapping[str, Any] | None = None) -> Iterable[str | None]:
        """Record a draft that an internal error kept from its review, as a failed review of an unreadable draft."""
        _logger.warning("a draft could not be reviewed: %s", described(error))
        closed = self._enforces and self._fails_closed(metadata or {})
        refusal = self._rules.settings.default_refusal
        try:
            origin = self.observer.capture()
            review = self._rules.current().fail(unread_turn(), error, origin, closed=closed)
            refusal = review.replacement or refusal
        except Exception as fault:
            _logger.debug("a failed review could not be recorded: %s", described(fault))
            self.observer.dropped("error")
        return repeat(refusal) if closed else ()

    def _fails_closed(self, metadata: Mapping[str, Any]) -> bool:
        """Whether the settings refuse a draft that is not reviewed, of which only the surroundings are known."""
        settings = self._rules.settings
        if settings.on_failure is OnFailure.REFUSE or self.settings.strict:
            return True
        try:
            return bool(settings.fail_closed_tags) and has_sensitive_tag(metadata, settings.fail_closed_tags)
        except Exception:
            return True  # unreadable values may hide the tag


class _Source:
    """Makes the critic's model for a draft, when it comes to that."""

    __slots__ = ("_captured", "_runtime")

    def __init__(self, runtime: Runtime, captured: CapturedDraft) -> None:
        self._runtime = runtime
        self._captured = captured

    @property
    def slow(self) -> bool:
        """Whether that takes an import now."""
        return self._runtime.is_to_be_named(agent_in(self._captured.context))

    @property
    def draft_provider(self) -> str:
        """The name of the provider of the draft's model: only a draft that is reflected on needs it."""
        return provider_of(self._captured.model)

    def __call__(self) -> CriticModel:
        return self._runtime.critic_for(self._captured)


class _NamedSource:
    """Makes the critic's model of the settings. See `_Source`."""

    __slots__ = ("_agent", "_runtime")

    def __init__(self, runtime: Runtime, agent: str | None) -> None:
        self._runtime = runtime
        self._agent = agent

    @property
    def slow(self) -> bool:
        """Whether that takes an import now."""
        return self._runtime.is_to_be_named(self._agent)

    def __call__(self) -> CriticModel:
        return self._runtime.named_critic(self._agent)


def _model_key(settings: Settings) -> tuple[int, str, str]:
    return os.getpid(), str(settings.model), repr(sorted(settings.model_kwargs.items()))


_current: Runtime | None = None


def current() -> Runtime | None:
    """Return the runtime of the process; None while the plugin is not instrumented."""
    return _current


def set_current(runtime: Runtime | None) -> None:
    """Make `runtime` the runtime of the process."""
    global _current  # noqa: PLW0603 - the one mutable thing of the process
    _current = runtime
