"""The result of one review, as a closed set of outcomes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from draftcritic.core._enums import Action, Failure, GateDecision, GateReason, Mode, OutcomeKind, Verdict, VerdictSource

if TYPE_CHECKING:
    from draftcritic.core._turn import Turn
    from draftcritic.grounding._findings import FabricationFinding


@dataclass(frozen=True)
class Assessment:
    """Everything the deterministic part found, before any model call.

    Attributes:
        decision: fired or skipped, or not evaluated at all.
        reason: the primary reason; with several signals the first in the precedence of `GateReason`.
        signals: every signal that held, in the same order.
        confidence: see `compute_confidence`; None when nothing was evaluated.
        sensitive_hit: the sensitive tag that was met first.
        findings: fabrication findings; None when the check did not run.
        activation_invalid: the activation log held values that are no numbers.
        gate_error: the name of the exception type that a user's gate raised.
        threshold: the confidence threshold that the gate went by; None when nothing was evaluated.
        sensitive_hits: every sensitive tag that was met.
        requested: the signals that only the request's metadata gave.
    """

    decision: GateDecision
    reason: GateReason
    signals: tuple[GateReason, ...] = ()
    confidence: float | None = None
    sensitive_hit: str | None = None
    findings: tuple[FabricationFinding, ...] | None = None
    activation_invalid: bool = False
    gate_error: str | None = None
    threshold: float | None = None
    sensitive_hits: tuple[str, ...] = ()
    requested: tuple[GateReason, ...] = ()

    @property
    def doubts(self) -> tuple[FabricationFinding, ...]:
        """The findings that are too unsure to decide anything."""
        return tuple(finding for finding in self.findings or () if finding.is_doubt)

    @property
    def sure_findings(self) -> tuple[FabricationFinding, ...]:
        """The findings that are no doubts."""
        return tuple(finding for finding in self.findings or () if not finding.is_doubt)

    def has_tag_of(self, tags: Collection[str]) -> bool:
        """Whether one of the sensitive tags that were met is among `tags`."""
        return bool(tags) and any(hit in tags for hit in (self.sensitive_hit, *self.sensitive_hits) if hit is not None)

    def server_signals(self) -> tuple[GateReason, ...]:
        """Return the signals that hold without the request's metadata."""
        return tuple(signal for signal in self.signals if signal not in self.requested)


@dataclass(frozen=True)
class Usage:
    """Tokens of the critic's own call. None means unknown, never zero.

    Attributes:
        input_tokens, output_tokens: as the provider counted them.
        cost_usd: the price by the published list of the SKU, in US dollars.
        cached_tokens: the part of the input tokens that the provider took from its cache.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    cached_tokens: int | None = None


@dataclass(frozen=True)
class ModelCall:
    """The one hidden call of the critic's model.

    Attributes:
        model: the raw name of the model that answered.
        sku: its normalised name; see `normalise_sku`.
        usage: tokens and cost.
        finish_reason: why the model stopped, in the provider's word.
        error_type: the qualified name of the exception that ended the call.
        latency_s: seconds from the call to its end.
        shared: the call was made for another review of the same draft: its usage is reported there, and unknown here.
        omitted: characters of draft and rules that the prompt's budget left out.
        evidence_length: characters of evidence that the model was shown.
        evidence_omitted: characters of evidence that the prompt's budget left out.
        evidence_kinds: which kinds of evidence it was shown, in lower case: `user`, `tools`, `sources`, `earlier`,
            `policy`, `findings`.
    """

    model: str
    sku: str
    usage: Usage = field(default_factory=Usage)
    finish_reason: str | None = None
    error_type: str | None = None
    latency_s: float = 0.0
    shared: bool = False
    omitted: int = 0
    evidence_length: int = 0
    evidence_omitted: int = 0
    evidence_kinds: tuple[str, ...] = ()


@dataclass(frozen=True)
class Skipped:
    """The gate asked for no reflection: the draft passes without a model call."""

    kind: ClassVar[OutcomeKind] = OutcomeKind.SKIPPED
    verdict: ClassVar[None] = None


@dataclass(frozen=True)
class GateOnly:
    """The gate fired and the mode makes no model call: the draft passes, and the reason is on record."""

    kind: ClassVar[OutcomeKind] = OutcomeKind.GATE_ONLY
    verdict: ClassVar[None] = None


@dataclass(frozen=True)
class Muted:
    """Reviews are switched off for this draft."""

    kind: ClassVar[OutcomeKind] = OutcomeKind.MUTED
    verdict: ClassVar[None] = None


@dataclass(frozen=True)
class Limited:
    """A limit kept the draft from its reflection; the assessment's reason names the limit.

    Attributes:
        closed: the settings let no such draft pass.
        text: the text that replaces the draft when `closed`.
    """

    kind: ClassVar[OutcomeKind] = OutcomeKind.LIMITED
    verdict: ClassVar[None] = None
    closed: bool = False
    text: str | None = None


@dataclass(frozen=True)
class Cancelled:
    """The caller gave up before there was a verdict. No failure of the critic.

    Attributes:
        error_type: the qualified name of what ended the review.
        call: the model call as far as it came.
    """

    kind: ClassVar[OutcomeKind] = OutcomeKind.CANCELLED
    verdict: ClassVar[None] = None
    error_type: str | None = None
    call: ModelCall | None = None


@dataclass(frozen=True)
class Judged:
    """The critic's model gave a verdict.

    Attributes:
        verdict: its verdict.
        text: the revised draft or the refusal message; None when it gave none.
        matched_preferences: the statements that it named.
        defaulted: the verdict needs a text, the critic gave none, and the configured message replaces it.
        call: the model call behind it.
        reason: why, in the critic's words. Content: it quotes the draft.
        broken: ids of the rules that the draft breaks; see `Policy.broken_rules`.
        ambiguous: the reply was not one clear verdict, and its strictest one counts.
        misquoted: the reply quotes words that neither the draft nor the evidence has.
        confirmed: the doubts of the fabrication check that the critic confirms with a line of tool results or sources.
    """

    kind: ClassVar[OutcomeKind] = OutcomeKind.JUDGED
    verdict: Verdict
    text: str | None
    matched_preferences: tuple[str, ...] = ()
    defaulted: bool = False
    call: ModelCall | None = None
    reason: str | None = None
    broken: tuple[str, ...] = ()
    ambiguous: bool = False
    misquoted: bool = False
    confirmed: tuple[FabricationFinding, ...] = ()


@dataclass(frozen=True)
class Forced:
    """The fabrication check alone decided.

    Attributes:
        verdict: revise, or refuse with `text` as the safe message.
        text: the text that replaces the draft.
        overruled: how the reflection ended that would have let the draft pass, when there was one.
    """

    kind: ClassVar[OutcomeKind] = OutcomeKind.JUDGED
    verdict: Verdict
    text: str | None
    overruled: Judged | Failed | None = None


@dataclass(frozen=True)
class Failed:
    """The reflection failed, and the setting `on_failure` decided what becomes of the draft.

    Attributes:
        failure: in which way.
        closed: the draft does not pass.
        text: the text that replaces the draft when `closed`.
        error_type: the qualified name of the exception, when there was one.
        call: the model call as far as it came.
    """

    kind: ClassVar[OutcomeKind] = OutcomeKind.FAILED
    verdict: ClassVar[None] = None
    failure: Failure
    closed: bool = False
    text: str | None = None
    error_type: str | None = None
    call: ModelCall | None = None


Outcome = Skipped | GateOnly | Muted | Limited | Cancelled | Judged | Forced | Failed
"""Every way a review can end."""


def undecided(reason: GateReason) -> Outcome:
    """Return the outcome of a draft that was not evaluated for `reason`."""
    if reason in (GateReason.DISABLED, GateReason.NESTED):
        return Muted()
    if reason is GateReason.ABANDONED:
        return Cancelled()
    return Skipped() if reason is GateReason.NOT_A_DRAFT else Limited()


@dataclass(frozen=True)
class Review:
    """A finished review.

    Attributes:
        turn: what was reviewed.
        mode: the mode it was reviewed in.
        assessment: what the deterministic part found.
        outcome: how it ended.
        action: what became of the draft.
        duration_s: seconds from the start of the review to its end.
        policy_version: see `Policy.version`.
    """

    turn: Turn
    mode: Mode
    assessment: Assessment
    outcome: Outcome
    action: Action
    duration_s: float = 0.0
    policy_version: str = ""

    @property
    def verdict(self) -> Verdict | None:
        """The verdict; None unless the critic's model or a finding decided."""
        return self.outcome.verdict

    @property
    def source(self) -> VerdictSource:
        """Who reached the verdict."""
        if isinstance(self.outcome, Judged):
            return VerdictSource.REFLECTION
        return VerdictSource.FABRICATION if isinstance(self.outcome, Forced) else VerdictSource.NONE

    @property
    def replacement(self) -> str | None:
        """The text that takes the draft's place; None where the draft stays as it is."""
        late = self.action is Action.EXPOSED and not self.turn.streamed
        if not late and self.action not in _REPLACING:
            return None
        return self.outcome.text if isinstance(self.outcome, (Judged, Forced, Failed, Limited)) else None

    @property
    def reflection(self) -> Judged | Failed | None:
        """How the reflection ended, when there was one, no matter who reached the verdict."""
        if isinstance(self.outcome, Forced):
            return self.outcome.overruled
        return self.outcome if isinstance(self.outcome, (Judged, Failed)) else None

    @property
    def call(self) -> ModelCall | None:
        """The critic's model call, when there was one."""
        if isinstance(self.outcome, Cancelled):
            return self.outcome.call
        return self.reflection.call if self.reflection is not None else None

    @property
    def failure(self) -> Failure | None:
        """How the critic failed, when it did."""
        return self.reflection.failure if isinstance(self.reflection, Failed) else None

    @property
    def misquoted(self) -> bool:
        """Whether the critic's model quoted words that it was not shown."""
        reflection = self.reflection
        return reflection.misquoted if isinstance(reflection, Judged) else self.failure is Failure.MISQUOTED

    @property
    def confirmed(self) -> Sequence[FabricationFinding]:
        """The doubts that the critic's model confirmed; see `Judged`."""
        return self.reflection.confirmed if isinstance(self.reflection, Judged) else ()

    @property
    def matched_preferences(self) -> Sequence[str]:
        """The preferences that the critic's model named."""
        return self.reflection.matched_preferences if isinstance(self.reflection, Judged) else ()

    @property
    def broken(self) -> Sequence[str]:
        """The ids of the rules that the critic's model named as broken; see `Policy.broken_rules`."""
        return self.reflection.broken if isinstance(self.reflection, Judged) else ()


_REPLACING = frozenset({Action.REPLACED, Action.BLOCKED, Action.FAILED_CLOSED, Action.LIMITED_CLOSED})
