"""How much reviewing may cost: plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from draftcritic.core._declining import language_of, refusal_like, revision_like
from draftcritic.core._enums import (
    EvidenceScope,
    Examples,
    FabricationMode,
    GateReason,
    OnFailure,
    OnLimit,
    OnRefusedCalls,
    OnUnjudged,
    Profile,
)

if TYPE_CHECKING:
    from draftcritic.core._gate import CriticGateContext
    from draftcritic.core._turn import Turn

ANY_SKU = "*"
"""Key of a budget that applies to each SKU without one of its own."""


@dataclass(frozen=True)
class CircuitRules:
    """When a circuit opens, and how it closes again.

    A call of the critic's model is bad when it fails as in an outage (timeout, connection, a status of 500 or more,
    credentials) or takes longer than `latency`. A rate limit, an answer that is no clear verdict and a prompt that the
    provider rejects are not bad: the author of one draft must not be able to open the circuit for all others. For the
    same reason the circuit opens only when a probe, a fixed question that no user wrote, is bad as well.

    Attributes:
        failure_rate: the circuit opens at this share of bad calls, above 0 up to 1; None keeps it closed for ever.
        latency: seconds; None for calls that may take as long as their timeout.
        window: seconds that are looked back.
        min_calls: fewer calls within the window say nothing.
        cooldown: seconds that an open circuit waits before it asks a probe, which makes it half-open when it is good.
        probes: calls that a half-open circuit lets through at once; as many good ones close it, and after a bad one
            another probe decides.
    """

    failure_rate: float | None = 0.5
    latency: float | None = None
    window: float = 60.0
    min_calls: int = 10
    cooldown: float = 30.0
    probes: int = 1


@dataclass(frozen=True)
class LimitRules:
    """What keeps a draft from its reflection although the gate fired. None is no limit.

    Attributes:
        sample_rate: the share of traces whose drafts may be reflected on, 0 to 1.
        sample_exempt: a draft for which one of these signals held is never sampled out.
        reviews_per_minute: model calls within any 60 seconds.
        tokens_per_hour: input and output tokens of the critic's model within any hour, by SKU.
        usd_per_hour: the same in US dollars; calls whose price is unknown count nothing.
        max_concurrency: model calls at once.
        fair_share: the share of a budget window that one user or conversation may take, 0 to 1; each may make three
            calls in any case.
        circuit: see `CircuitRules`.
    """

    sample_rate: float = 1.0
    sample_exempt: frozenset[GateReason] = frozenset()
    reviews_per_minute: int | None = None
    tokens_per_hour: Mapping[str, float] = field(default_factory=dict)
    usd_per_hour: Mapping[str, float] = field(default_factory=dict)
    max_concurrency: int | None = None
    fair_share: float = 0.1
    circuit: CircuitRules = field(default_factory=CircuitRules)


OTHER_RULE = "other"
"""Replaces the id of every rule that is not loaded, such as those of a rules source."""
_MARKS = "()[]{}#`'\"., "


@dataclass(frozen=True)
class Rule:
    """A procedural rule with an id of its own.

    Attributes:
        statement: the rule, in words the critic's model reads.
        id: what it is counted as; empty for a hash of the statement.
    """

    statement: str
    id: str = ""


def rule_id(statement: str, given: str = "", salt: str = "") -> str:
    """Return the id of a rule: the given one, else a short hash of the statement that the salt changes."""
    if given:
        return given
    key = blake2b(salt.encode("utf-8", "backslashreplace")).digest() if salt else b""
    words = " ".join(statement.split())
    return "r" + blake2b(words.encode("utf-8", "backslashreplace"), digest_size=4, key=key).hexdigest()


@dataclass(frozen=True)
class RuleIds:
    """The loaded rules by id and by statement.

    Attributes:
        statements: the id of each loaded rule -> its statement.
    """

    statements: Mapping[str, str] = field(default_factory=dict)

    def broken(self, named: Iterable[str], matched: Iterable[str]) -> tuple[str, ...]:
        """Return the ids of the rules that a reply names, each once; what is not loaded is `OTHER_RULE`.

        Args:
            named: what the reply names as ids.
            matched: what the reply names as statements.
        """
        loaded = {_plain(each): each for each in self.statements}
        loaded.update((_plain(statement), each) for each, statement in self.statements.items())
        return tuple(dict.fromkeys(loaded.get(_plain(name), OTHER_RULE) for name in (*named, *matched)))


def _plain(name: str) -> str:
    return " ".join(name.split()).casefold().strip(_MARKS)


CONFIDENCE_THRESHOLD = 0.6
"""Below this confidence the legacy gate fires."""
FABRICATION_REFUSE_THRESHOLD = 0.8
"""In fabrication mode `refuse`, a finding of at least this confidence replaces the draft."""
REFLECTION_TIMEOUT = 10.0
"""Seconds a reflection may take."""
PROMPT_BUDGET = 24_000
"""Characters of the draft, the preferences and the rules that the critic is shown: some 6,000 tokens of English at four
characters a token, and at most 24,000 of a language that has one a character."""
MAX_WINDOWS = 4
"""Prompts that `enforce` may ask about one draft, when it is longer than the budget of one prompt."""
DEFAULT_REVISION = "I need to correct my last answer before you rely on it. Please ask me again."
"""Replaces the draft when the critic says `revise` and gives no text."""
DEFAULT_REFUSAL = "I can't help with that request."
"""Replaces the draft when the critic says `refuse` and gives no message."""


@dataclass(frozen=True)
class CriticPreference:
    """A rule of the domain that every draft must respect.

    Attributes:
        priority: higher is shown to the critic first; 1 to 10 by convention.
        statement: the rule, in words the critic's model reads.
        sensitive_tags: tags that make the gate fire when an activated node carries one.
        id: what it is counted as; empty for a hash of the statement.
    """

    priority: int
    statement: str
    sensitive_tags: tuple[str, ...] = ()
    id: str = ""


@runtime_checkable
class ProceduralRulesSource(Protocol):
    """Finds the procedural rules that fit a turn."""

    async def retrieve(self, query: str, top_k: int) -> Sequence[Any]:
        """Return at most `top_k` rules for `query`, best first; each a string or an object with `content`."""
        ...


Gate = Callable[["CriticGateContext"], bool]


@dataclass(frozen=True)
class Policy:
    """What the gate and the reflection go by.

    Attributes:
        confidence_threshold: the legacy gate fires below it, 0 to 1.
        selective_gate: skip trivial acknowledgements instead of firing on low confidence.
        sensitive_tags: tags in addition to those of the preferences.
        preferences: the rules of the domain.
        read_only_tools: names of tools that change nothing; a call of any other tool fires the selective gate.
        trivial_ack_patterns: regular expressions for acknowledgements, in place of the built-in ones.
        gate: replaces the default gate.
        fabrication_mode: what a fabrication finding leads to.
        fabrication_refuse_threshold: see `FABRICATION_REFUSE_THRESHOLD`.
        identifier_keys: keys of identifiers in addition to the built-in ones.
        identifier_patterns: regular expressions of identifiers that the built-in checks do not know.
        never_flag: words and tokens that no fabrication finding is about.
        tool_actions: name of a tool -> words of the actions that it does, in addition to those in its name.
        rules: procedural rules that hold for every turn.
        policy_salt: changes the ids of preferences and rules that have none of their own; see `rule_id`.
        rules_source: finds the procedural rules of a turn; wins over `rules`.
        prompt_template: the reflection prompt; see `draftcritic.core.render_prompt`.
        timeout: seconds a reflection may take.
        on_failure: what becomes of the draft when the critic's model cannot be reached or breaks down.
        on_unjudged: what `enforce` does with a draft that the provider rejected, that got no verdict, or is too long.
        fail_closed_tags: sensitive tags whose turns are refused when the critic fails, whatever `on_failure` says.
        default_revision: see `DEFAULT_REVISION`.
        default_refusal: see `DEFAULT_REFUSAL`.
        refusal_texts: what replaces a refused draft, by the code of the language of the conversation, `*` for any
            other; wins over the words of the critic.
        on_limit: what `enforce` does with a draft that a limit keeps from its reflection.
        on_refused_calls: what `enforce` does with the tool calls of a message whose text is refused.
        prompt_budget: see `PROMPT_BUDGET`; at least 1,000.
        max_windows: see `MAX_WINDOWS`.
        evidence: what the critic is shown besides the draft and the rules.
        evidence_redact: regular expressions of what is replaced by a mark in that.
        evidence_hidden_tools: names of tools whose arguments and results are left out of it.
        examples: whether the critic is shown worked examples.
        qualified_models: SKUs of models that are known to judge well; see `draftcritic qualify`. Only they make a
            finding of a doubt.
        profile: see `Profile`.
    """

    confidence_threshold: float = CONFIDENCE_THRESHOLD
    selective_gate: bool = False
    sensitive_tags: frozenset[str] = frozenset()
    preferences: tuple[CriticPreference, ...] = ()
    read_only_tools: frozenset[str] = frozenset()
    trivial_ack_patterns: tuple[str, ...] = ()
    gate: Gate | None = None
    fabrication_mode: FabricationMode = FabricationMode.OBSERVE
    fabrication_refuse_threshold: float = FABRICATION_REFUSE_THRESHOLD
    identifier_keys: tuple[str, ...] = ()
    identifier_patterns: tuple[str, ...] = ()
    never_flag: tuple[str, ...] = ()
    tool_actions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rules: tuple[str | Rule, ...] = ()
    policy_salt: str = ""
    rules_source: ProceduralRulesSource | None = None
    prompt_template: str | None = None
    timeout: float = REFLECTION_TIMEOUT
    on_failure: OnFailure = OnFailure.APPROVE
    on_unjudged: OnUnjudged = OnUnjudged.REFUSE
    fail_closed_tags: frozenset[str] = frozenset()
    default_revision: str = DEFAULT_REVISION
    default_refusal: str = DEFAULT_REFUSAL
    refusal_texts: Mapping[str, str] = field(default_factory=dict)
    on_limit: OnLimit = OnLimit.PASS
    on_refused_calls: OnRefusedCalls = OnRefusedCalls.KEEP
    prompt_budget: int = PROMPT_BUDGET
    max_windows: int = MAX_WINDOWS
    evidence: EvidenceScope = EvidenceScope.TURN
    evidence_redact: tuple[str, ...] = ()
    evidence_hidden_tools: frozenset[str] = frozenset()
    examples: Examples = Examples.AUTO
    qualified_models: frozenset[str] = frozenset()
    profile: Profile = Profile.DRAFTCRITIC
    all_sensitive_tags: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        tags = self.sensitive_tags.union(*(p.sensitive_tags for p in self.preferences))
        object.__setattr__(self, "all_sensitive_tags", tags)

    @cached_property
    def identified(self) -> tuple[CriticPreference, ...]:
        """The preferences, each with its id."""
        return tuple(replace(each, id=rule_id(each.statement, each.id, self.policy_salt)) for each in self.preferences)

    def with_ids(self, rules: Iterable[str | Rule]) -> tuple[Rule, ...]:
        """Return rules, each with its id."""
        given = (each if isinstance(each, Rule) else Rule(each) for each in rules)
        return tuple(Rule(each.statement, rule_id(each.statement, each.id, self.policy_salt)) for each in given)

    @cached_property
    def rule_ids(self) -> RuleIds:
        """The ids of the loaded preferences and rules. Rules of a rules source are not loaded."""
        preferences = {each.id: each.statement for each in self.identified}
        return RuleIds({**preferences, **{each.id: each.statement for each in self.with_ids(self.rules)}})

    @cached_property
    def version(self) -> str:
        """Twelve hexadecimal digits that change with anything that this policy says.

        Objects (`gate`, `rules_source`) count by their names: what they do is not looked into.
        """
        said = "\n".join(f"{each.name}={_stated(getattr(self, each.name))}" for each in fields(self) if each.init)
        return blake2b(said.encode("utf-8", "backslashreplace"), digest_size=6).hexdigest()

    def refusal(self, turn: Turn) -> str | None:
        """Return the text of `refusal_texts` for the language of the user's message, None when there is none."""
        if not self.refusal_texts:
            return None
        language = language_of(turn.user_message) or language_of(turn.draft) or "*"
        return self.refusal_texts.get(language) or self.refusal_texts.get("*")

    def localized(self, text: str | None, turn: Turn) -> str | None:
        """Return a text that replaces a draft: the built-in ones in the language of the conversation."""
        like = {DEFAULT_REFUSAL: refusal_like, DEFAULT_REVISION: revision_like}.get(text or "")
        if like is None:
            return text
        return like(turn.user_message) or like(turn.draft) or text


def _stated(value: Any) -> str:
    """Return a text that is the same in every process for what means the same."""
    if isinstance(value, (frozenset, set)):
        return repr(sorted(map(str, value)))
    if isinstance(value, Mapping):
        return repr(sorted((str(key), str(item)) for key, item in value.items()))
    if isinstance(value, (tuple, list)):
        return repr([_stated(item) for item in value])
    if isinstance(value, (str, int, float, type(None), CriticPreference, Rule)):
        return str(value)
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}.{named.__qualname__}"
