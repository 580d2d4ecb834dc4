"""The one class that holds every setting."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import PrivateAttr, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from draftcritic.core import CircuitRules, FabricationMode, LimitRules, Mode, OnFailure, Policy, Streams
from draftcritic.engine import Stamp
from draftcritic.settings import _types as types
from draftcritic.settings._errors import Problem, SettingsError
from draftcritic.settings._fields import code_only, setting
from draftcritic.settings._problems import doubts, impossible, problems_of
from draftcritic.settings._sources import (
    CODE_ORIGIN,
    DEFAULT_ORIGIN,
    ENV_PREFIX,
    EnvironSource,
    FileSource,
    Reading,
    reading,
)

if TYPE_CHECKING:
    from typing_extensions import Self


_LIST = "a list, or a text with commas"
_BUDGET = "a number above 0, or a table of SKUs to numbers, `*` for any other; JSON in the environment"


class Settings(BaseSettings):
    """What the plugin goes by: from code, then `DRAFTCRITIC_*`, then the file of `config`, then the defaults.

    The first source that says something about a setting decides; nothing is merged. An empty variable and None
    count as not said. `Settings(...)` and `Settings.load(...)` read the same sources. Objects are immutable.

    Raises:
        SettingsError: with every value that is not allowed, every name that is no setting, and every combination
            that cannot work.
    """

    model_config = SettingsConfigDict(
        arbitrary_types_allowed=True,
        env_prefix=ENV_PREFIX,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        protected_namespaces=(),
        validate_default=False,
    )

    mode: types.ModeWord = setting("How far the plugin goes.", "off, observe, gate, enforce", default=Mode.OBSERVE)
    background: bool = setting(
        "Review in background threads: no draft waits for its review.",
        "true, false; not true beside mode = enforce, which always waits",
        default=True,
    )
    streams: types.StreamsWord = setting(
        "What mode = enforce does with a stream: hold it back until the verdict, or send it and record it as exposed.",
        "buffer, passthrough",
        default=Streams.BUFFER,
    )
    model: types.ModelChoice = setting(
        "The critic's model; without it the model that wrote the draft, without its tools.",
        "provider:name for LangChain's init_chat_model; in code also a chat model object",
        repr=False,
    )
    model_kwargs: types.ModelKwargs = setting(
        "Further arguments of init_chat_model, e.g. base_url, temperature.",
        "a table; JSON in the environment; no `model`, no `model_provider`",
        default={},
        repr=False,
    )
    timeout: types.Timeout = setting(
        "Seconds a review's model call may take.", "a number above 0, at most 3600", default=Policy.timeout
    )
    confidence_threshold: types.Share = setting(
        "The legacy gate fires below this confidence.", "a number from 0 to 1", default=Policy.confidence_threshold
    )
    selective_gate: bool = setting(
        "Skip trivial acknowledgements, and fire on everything else.", "true, false", default=False
    )
    sensitive_tags: types.Words = setting(
        "Tags of activated memory that make the gate fire, beside those of the preferences.", _LIST, default=()
    )
    read_only_tools: types.Words = setting(
        "Tools that change nothing; a call of any other fires the selective gate.", _LIST, default=()
    )
    identifier_keys: types.Words = setting(
        "Keys of identifiers that the fabrication check knows beside its own.", _LIST, default=()
    )
    identifier_patterns: types.IdentifierPatterns = setting(
        "Regular expressions of identifiers that the fabrication check knows beside its own.",
        "a list of regular expressions that match in linear time, or a text with commas outside of brackets",
        default=(),
    )
    never_flag: types.Words = setting(
        "Words and tokens that no fabrication finding is about, such as names of products.", _LIST, default=()
    )
    tool_actions: types.ToolActions = setting(
        "What a tool does when its name does not tell: words of actions that a draft may then claim.",
        "a table of names of tools to a list of words, e.g. {crm_sync: [update, add]}; JSON in the environment",
        default={},
    )
    fail_closed_tags: types.Words = setting(
        "Sensitive tags whose drafts are refused when the critic fails, whatever `on_failure` says.",
        f"{_LIST}; each a tag of `sensitive_tags` or of a preference",
        default=(),
    )
    trivial_ack_patterns: types.Patterns = setting(
        "Regular expressions of acknowledgements, in place of the built-in ones.",
        "a list of regular expressions, or a text with commas outside of brackets",
        default=(),
    )
    gate: types.GateChoice = setting(
        "A function of the gate's context that decides instead of the default gate.",
        "package.module:attribute; in code also anything callable",
    )
    preferences: types.Preferences = setting(
        "The rules of the domain: statement, priority (1 to 10, default 5), sensitive_tags.",
        "a list of tables with statement, priority, sensitive_tags; JSON in the environment",
        default=(),
    )
    rules: types.Sentences = setting(
        "Procedural rules for every turn.", "a list; in the environment JSON or one rule a line", default=()
    )
    rules_source: types.RulesSourceChoice = setting(
        "Finds the procedural rules of a turn.",
        "package.module:attribute; in code also an object with retrieve(query, top_k)",
    )
    prompt_template: types.Template | None = setting(
        "The reflection prompt, in place of the built-in one.",
        "a text with the fields {draft}, {core_preferences}, {procedural_rules}, {sensitive_tag_hit}",
    )
    fabrication: types.FabricationWord = setting(
        "What a fabrication finding leads to.", "off, observe, revise, refuse", default=FabricationMode.OBSERVE
    )
    fabrication_refuse_threshold: types.Share = setting(
        "With `fabrication` = refuse: the confidence from which a finding replaces the draft.",
        "a number from 0 to 1",
        default=Policy.fabrication_refuse_threshold,
    )
    on_failure: types.OnFailureWord = setting(
        "The verdict when the critic itself fails.", "approve, refuse", default=OnFailure.APPROVE
    )
    default_revision: types.Text = setting(
        "Stands in for the draft when the critic says revise and gives no text.",
        "a text",
        default=Policy.default_revision,
    )
    default_refusal: types.Text = setting(
        "Stands in for the draft when the critic says refuse and gives no text.",
        "a text",
        default=Policy.default_refusal,
    )
    refusal_texts: types.RefusalTexts = setting(
        "What stands in for a refused draft, by the language of the conversation, in place of the critic's own words.",
        "a table of language codes to texts, `*` for any other; JSON in the environment",
        default={},
    )
    queue_size: types.QueueSize = setting(
        "Drafts that may wait for their background review; one more is dropped and counted.",
        "a whole number from 1 to 1000000",
        default=1024,
    )
    workers: types.Workers = setting("Background threads.", "a whole number from 1 to 64", default=2)
    shutdown_timeout: types.Seconds = setting(
        "Seconds the process waits at its exit for reviews under way.", "a number from 0 to 3600", default=5.0
    )
    queue_bytes: types.QueueBytes = setting(
        "Memory that drafts waiting for their background review may hold; one more is dropped and counted.",
        "bytes: a whole number from 65536",
        default=64 * 2**20,
    )
    sample_rate: types.Share = setting(
        "The share of traces whose drafts are reflected on when the gate fires; the gate sees every draft.",
        "a number from 0 to 1",
        default=LimitRules.sample_rate,
    )
    sample_exempt: types.Floors = setting(
        "Signals that keep a draft from being sampled out.",
        f"{_LIST}, of {', '.join(types.HARD_FLOORS)}",
        default=(),
    )
    reviews_per_minute: types.Count | None = setting(
        "Model calls of the critic within any minute.", "a whole number from 1 to 1000000"
    )
    tokens_per_hour: types.Budget = setting(
        "Tokens of the critic's calls within any hour, for each SKU.", _BUDGET, default={}
    )
    usd_per_hour: types.Budget = setting(
        "US dollars of the critic's calls within any hour, for each SKU.", _BUDGET, default={}
    )
    max_concurrency: types.Count | None = setting(
        "Model calls of the critic at once.", "a whole number from 1 to 1000000"
    )
    circuit_failure_rate: types.Share = setting(
        "The circuit opens at this share of failed or slow calls of the critic's model; 0 keeps it closed.",
        "a number from 0 to 1",
        default=CircuitRules.failure_rate,
    )
    circuit_latency: types.Timeout | None = setting(
        "Seconds from which a call counts as slow.", "a number above 0, below `timeout`"
    )
    circuit_window: types.Timeout = setting(
        "Seconds that the circuit looks back; unless set, at least as many as `circuit_min_calls` can need.",
        "a number above 0, at most 3600",
        default=CircuitRules.window,
    )
    circuit_min_calls: types.Count = setting(
        "Fewer calls than this open no circuit.",
        "a whole number from 1 to 1000000; no more than `reviews_per_minute` lets happen in `circuit_window`",
        default=CircuitRules.min_calls,
    )
    circuit_cooldown: types.Seconds = setting(
        "Seconds that an open circuit waits before it lets calls through as probes.",
        "a number from 0 to 3600",
        default=CircuitRules.cooldown,
    )
    circuit_probes: types.Workers = setting(
        "Probes; as many good ones close the circuit, a bad one opens it again.",
        "a whole number from 1 to 64",
        default=CircuitRules.probes,
    )
    on_limit: types.OnLimitWord = setting(
        "What mode = enforce does with a draft that a limit keeps from its reflection.",
        "pass, refuse",
        default=Policy.on_limit,
    )
    share_window: types.Seconds = setting(
        "Seconds for which a reflection also answers for identical drafts; 0 gives each draft its own.",
        "a number from 0 to 3600",
        default=0.0,
    )
    prompt_budget: types.PromptBudget = setting(
        "Characters of draft, preferences and rules that the critic is shown; a mark says where some are left out.",
        "a whole number from 1000 to 10000000",
        default=Policy.prompt_budget,
    )
    reload_interval: types.Seconds = setting(
        "Seconds between two looks at whether the file of `config` has changed; 0 never looks.",
        "a number from 0 to 3600",
        default=5.0,
    )
    retriever_activation: bool = setting(
        "Take scored documents of a retriever as the activation log.", "true, false", default=False
    )
    hooks: types.Hooks = setting(
        "Listeners to the critic's model call; see also the entry point group draftcritic_hooks.",
        "in code only: a list of objects with on_llm_start and on_llm_end",
        in_code=True,
        default=(),
        repr=False,
    )
    config: types.ConfigPath | None = setting(
        "A file with settings.", "the path of a file .toml, .yaml or .yml; not in the file itself"
    )

    _origins: dict[str, str] = PrivateAttr(default_factory=dict)
    _sources: tuple[Mapping[str, str], dict[str, Any]] = PrivateAttr(default=({}, {}))
    _stamp: Stamp = PrivateAttr(default=None)
    _blank: bool = PrivateAttr(default=False)

    def __init__(self, **code: Any) -> None:
        now = reading.get(None) or _reading(os.environ)
        fields = type(self).model_fields
        for name, value in code.items():
            if name not in fields:
                now.refuse_unknown(name, CODE_ORIGIN, value)
        known = [(name, value) for name, value in code.items() if name in fields]
        refused = self._fill(now, known)
        invalid = frozenset(problem.setting.partition("[")[0].partition(".")[0] for problem in refused)
        problems = [*now.problems, *refused]
        if refused:
            # Once more without what cannot hold: then the combinations of the rest are known too.
            now.left_out = invalid
            self._fill(now, known)
        self._origins = now.origins
        if not any(problem.setting == "config" for problem in problems):
            problems += impossible(self, invalid)
        if problems:
            raise SettingsError(problems)
        environ = {name: text for name, text in now.environ.items() if name.startswith(ENV_PREFIX)}
        if self.config is not None:
            # Where it is now: the process may go to another directory before the file is read again.
            if code.get("config") is not None:
                code["config"] = self.config
            else:
                environ[f"{ENV_PREFIX}CONFIG"] = str(self.config)
        self._sources, self._stamp, self._blank = (environ, code), now.stamp, now.blank

    def _fill(self, now: Reading, code: list[tuple[str, Any]]) -> list[Problem]:
        now.origins.clear()
        token = reading.set(now)
        try:
            super().__init__(**now.take(code, CODE_ORIGIN, ()))
        except ValidationError as error:
            return problems_of(error, type(self).model_fields, now.origins)
        finally:
            reading.reset(token)
        return []

    @classmethod
    def load(cls, environ: Mapping[str, str] | None = None, /, **code: Any) -> Self:
        """Read all sources.

        Args:
            environ: stands in for the process's environment.
            **code: settings that code gives; they win over every other source.

        Raises:
            SettingsError: see the class.
        """
        token = reading.set(_reading(os.environ if environ is None else environ))
        try:
            return cls(**code)
        finally:
            reading.reset(token)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - pydantic's signature
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - pydantic's signature
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - pydantic's signature
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources, the strongest first."""
        return init_settings, EnvironSource(settings_cls), FileSource(settings_cls)

    def reread(self) -> Self:
        """Return what the same code and environment say together with the file as it is now.

        Raises:
            SettingsError: see the class; also when the file is empty and was not, as it is between the moment in which
                a writer opens it and the one in which it writes.
        """
        environ, code = self._sources
        now = type(self).load(environ, **code)
        if now._blank and not self._blank:
            reason = "is empty and was not: it is taken as not yet written; for no settings at all leave a comment"
            raise SettingsError([Problem("config", self.origin("config"), str(self.config), reason)])
        return now

    @property
    def stamp(self) -> Stamp:
        """What the file of `config` was when it was read, for `draftcritic.engine.WatchedFile`; None without one."""
        return self._stamp

    def origin(self, name: str) -> str:
        """Where the value of a setting came from.

        Returns:
            `code`, `env DRAFTCRITIC_<NAME>`, `file <path>` or `default`.

        Raises:
            KeyError: there is no such setting.
        """
        if name not in type(self).model_fields:
            raise KeyError(name)
        return self._origins.get(name, DEFAULT_ORIGIN)

    def policy(self) -> Policy:
        """Return what the gate and the reflection go by.

        Here, and not when settings are read, the import strings of `gate` and `rules_source` are imported.

        Raises:
            SettingsError: an import string leads nowhere.
        """
        from draftcritic.settings._policy import policy_of

        return policy_of(self)

    def doubts(self) -> list[str]:
        """Return what can work, and yet not as it was surely meant, each with the way out."""
        return list(doubts(self))

    def limits(self) -> LimitRules:
        """Return what keeps drafts from the reflection."""
        from draftcritic.settings._policy import limits_of

        return limits_of(self)


def _reading(environ: Mapping[str, str]) -> Reading:
    fields = Settings.model_fields
    return Reading(environ, names=list(fields), code_only=[name for name in fields if code_only(fields[name])])
