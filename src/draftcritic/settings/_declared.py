"""Every setting: its type, its default, and its description in the reference."""

from __future__ import annotations

from pydantic_settings import BaseSettings, SettingsConfigDict

from draftcritic.core._enums import DeliveryKind, FabricationMode, Mode, OnFailure, Streams
from draftcritic.core._policy import CircuitRules, LimitRules, Policy
from draftcritic.settings import _value_types as types
from draftcritic.settings._agent_table import AgentTables
from draftcritic.settings._fields import setting
from draftcritic.settings._origins import ENV_PREFIX

_LIST = "a list, or a text with commas"
_BUDGET = "a number above 0, or a table of SKUs to numbers, `*` for any other; JSON in the environment"


class DeclaredSettings(BaseSettings):
    """The fields of `Settings`, as pydantic reads them."""

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
    strict: bool = setting(
        "End the process with exit code 78 when a setting is invalid or the package of the critic's provider is "
        "missing; in mode = enforce, withhold all answers after a later fault of the set-up.",
        "true, false",
        default=False,
    )
    background: bool = setting(
        "Review in background threads: no draft waits for its review.",
        "true, false; not true with mode = enforce, which always waits",
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
        "Tags of activated memory that make the gate fire, in addition to those of the preferences.", _LIST, default=()
    )
    read_only_tools: types.Words = setting(
        "Tools that change nothing; a call of any other fires the selective gate.", _LIST, default=()
    )
    identifier_keys: types.Words = setting(
        "Keys of identifiers that the fabrication check knows in addition to its own.", _LIST, default=()
    )
    identifier_patterns: types.IdentifierPatterns = setting(
        "Regular expressions of identifiers that the fabrication check knows in addition to its own.",
        "a list of regular expressions that match in linear time, or a text with commas outside of brackets",
        default=(),
    )
    never_flag: types.Words = setting(
        "Words and tokens that no fabrication finding is about, such as names of products.", _LIST, default=()
    )
    tool_actions: types.ToolActions = setting(
        "What a tool does when its name does not say it: words of actions that a draft may then claim.",
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
        "a list of regular expressions that match in linear time, or a text with commas outside of brackets",
        default=(),
    )
    gate: types.GateChoice = setting(
        "A function of the gate's context that decides instead of the default gate.",
        "package.module:attribute; in code also anything callable",
    )
    preferences: types.Preferences = setting(
        "The rules of the domain: statement, priority (1 to 10, default 5), sensitive_tags, id.",
        "a list of tables with statement, priority, sensitive_tags, id; JSON in the environment",
        default=(),
    )
    rules: types.Rules = setting(
        "Procedural rules for every turn; one with an id is a table of statement and id.",
        "a list of texts and tables; in the environment JSON or one rule a line",
        default=(),
    )
    policy_salt: types.Salt = setting(
        "Changes the ids of preferences and rules without one of their own, which are short hashes of the statements.",
        "a text that stays the same, for ids that stay the same",
        default=Policy.policy_salt,
        repr=False,
    )
    rules_source: types.RulesSourceChoice = setting(
        "Finds the procedural rules of a turn.",
        "package.module:attribute; in code also an object with retrieve(query, top_k)",
    )
    prompt_template: types.Template | None = setting(
        "The reflection prompt, in place of the built-in one.",
        "a text with the fields {draft}, {core_preferences}, {procedural_rules}, {sensitive_tag_hit}; for evidence "
        "also {user}, {tools}, {sources}, {earlier}, {policy}, {findings}",
    )
    evidence: types.EvidenceWord = setting(
        "What the critic's model is shown besides the draft and the rules: the draft's own turn with what earlier "
        "messages have in common with the draft, or all earlier messages.",
        "none, turn, conversation",
        default=Policy.evidence,
    )
    evidence_redact: types.IdentifierPatterns = setting(
        "What is replaced by a mark in the evidence before it is sent. The draft itself is not changed.",
        "a list of regular expressions that match in linear time, or a text with commas outside of brackets",
        default=(),
    )
    evidence_hidden_tools: types.Words = setting(
        "Tools whose arguments and results are left out of the evidence; their names and success stay.",
        _LIST,
        default=(),
    )
    examples: types.ExamplesWord = setting(
        "Show the critic's model worked examples with the built-in prompt; auto: when it is small or unknown.",
        "auto, always, never",
        default=Policy.examples,
    )
    qualified_models: types.Skus = setting(
        "Critic models that passed `draftcritic qualify`: mode = enforce warns about any other, and only these can "
        "confirm a doubt.",
        f"{_LIST}, of model names",
        default=(),
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
        "What becomes of the draft when the critic's model cannot be reached or breaks down.",
        "approve, refuse",
        default=OnFailure.APPROVE,
    )
    on_unjudged: types.OnUnjudgedWord = setting(
        "What mode = enforce does with a draft that the critic did not judge: its provider rejected the prompt, the "
        "reply has no verdict, or the draft is too long for `max_windows`.",
        "approve, refuse",
        default=Policy.on_unjudged,
    )
    default_revision: types.Text = setting(
        "Replaces the draft when the critic says revise and gives no text.",
        "a text",
        default=Policy.default_revision,
    )
    default_refusal: types.Text = setting(
        "Replaces the draft when the critic says refuse and gives no text.",
        "a text",
        default=Policy.default_refusal,
    )
    refusal_texts: types.RefusalTexts = setting(
        "Replaces a refused draft, by the language of the conversation, instead of the critic's own words.",
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
    delivery: types.DeliveryWord = setting(
        "How a draft gets to its background review: through memory, through files that survive a killed process, or "
        "through these and RabbitMQ to `draftcritic worker`.",
        "memory, spool, celery; spool and celery need `spool_dir` and a `model`, celery a `broker`",
        default=DeliveryKind.MEMORY,
    )
    spool_dir: types.ConfigPath | None = setting(
        "Drafts that wait for their delivery are files below this folder: it has texts.",
        "the path of a folder on a local disk; its files are readable for their owner only",
    )
    spool_bytes: types.QueueBytes = setting(
        "Drafts of one process that may wait in its spool; one more is dropped and counted.",
        "bytes: a whole number from 65536",
        default=256 * 2**20,
    )
    spool_hours: types.RecordHours = setting(
        "A draft that has waited this many hours is dropped and counted.",
        "a number above 0, at most 87600",
        default=24.0,
    )
    broker: types.BrokerUrl | None = setting(
        "The RabbitMQ of delivery = celery.", "amqp:// or amqps:// with user, password, host and vhost", repr=False
    )
    budget_store: types.StoreUrl | None = setting(
        "The Redis in which all processes count the limits of the critic's calls together; without it each counts "
        "for itself.",
        "redis:// or rediss:// with password, host and database",
        repr=False,
    )
    fleet: types.FleetName = setting(
        "The name of the queue in `broker` and of the keys in `budget_store`: one for all that share them.",
        "1 to 64 letters, digits, hyphens and underscores, the first a letter",
        default="draftcritic",
    )
    fleet_key: types.FleetKeys = setting(
        "Fernet keys that encrypt drafts in the message queue: the first one encrypts, each decrypts. Give it in the "
        "environment.",
        "44 characters of `Fernet.generate_key()`; several with commas",
        default=(),
        repr=False,
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
    fair_share: types.Share = setting(
        "The share of a budget that one user or conversation may take, by the ids of the run; three calls in any case.",
        "a number from 0 to 1; 1 for no such limit",
        default=LimitRules.fair_share,
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
        "Seconds that an open circuit waits before it asks a fixed question as a probe.",
        "a number from 0 to 3600",
        default=CircuitRules.cooldown,
    )
    circuit_probes: types.Workers = setting(
        "Calls that a circuit lets through after a good probe; as many good ones close it.",
        "a whole number from 1 to 64",
        default=CircuitRules.probes,
    )
    on_limit: types.OnLimitWord = setting(
        "What mode = enforce does with a draft that a limit keeps from its reflection.",
        "pass, refuse",
        default=Policy.on_limit,
    )
    on_refused_calls: types.OnRefusedCallsWord = setting(
        "What mode = enforce does with the tool calls of a message whose text is refused.",
        "keep, drop",
        default=Policy.on_refused_calls,
    )
    share_window: types.Seconds = setting(
        "Seconds for which a reflection also answers for identical drafts; 0 gives each draft its own.",
        "a number from 0 to 3600",
        default=0.0,
    )
    prompt_budget: types.PromptBudget = setting(
        "Characters of draft, preferences, rules and evidence that the critic is shown; marks say where some are cut.",
        "a whole number from 1000 to 10000000",
        default=Policy.prompt_budget,
    )
    max_windows: types.Windows = setting(
        "Prompts that mode = enforce may ask about one draft that is longer than `prompt_budget`, in parts.",
        "a whole number from 1 to 100",
        default=Policy.max_windows,
    )
    reload_interval: types.Seconds = setting(
        "Seconds between two looks at whether the file of `config` has changed; 0 never looks.",
        "a number from 0 to 3600",
        default=5.0,
    )
    retriever_activation: bool = setting(
        "Take scored documents of a retriever as the activation log.", "true, false", default=False
    )
    retriever_scores_trusted: bool = setting(
        "Let the scores of retrieved documents raise the confidence in mode = enforce; else they only lower it.",
        "true, false",
        default=False,
    )
    trust_request_metadata: bool = setting(
        "Let a run's metadata replace the activation log and intent of the application; only for systems whose "
        "clients cannot send metadata.",
        "true, false",
        default=False,
    )
    allow_muted: bool = setting(
        "Let `with draftcritic.muted():` in the application's code keep model calls from their reviews.",
        "true, false",
        default=True,
    )
    agents: AgentTables = setting(
        "Other values for single agents, by the name that the process gives them: that of a graph, of create_agent, or "
        "of `draftcritic.activation(agent=...)`.",
        "tables by name, of mode (only lower), model, model_kwargs, rules, preferences, sensitive_tags, "
        "fail_closed_tags, confidence_threshold, selective_gate, fabrication, fabrication_refuse_threshold; JSON in "
        "the environment",
        default={},
        repr=False,
    )
    record: types.ConfigPath | None = setting(
        "Append each reviewed draft with its conversation to this file, for `draftcritic replay`: it has texts.",
        "the path of a file; it is readable for its owner only",
    )
    record_bytes: types.QueueBytes = setting(
        "A file of `record` of this size is put aside, and a new one begun.",
        "bytes: a whole number from 65536",
        default=64 * 2**20,
    )
    record_hours: types.RecordHours = setting(
        "So is one whose first row is this many hours old.", "a number above 0, at most 87600", default=24.0
    )
    record_files: types.Count = setting(
        "Files of `record` that were put aside and are kept; the oldest go.",
        "a whole number from 1 to 1000000",
        default=14,
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
