"""The metric instruments: every review is counted, whether it is traced or not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING

from draftcritic.core._enums import (
    Action,
    CircuitState,
    Failure,
    GateDecision,
    GateReason,
    Mode,
    OutcomeKind,
    Verdict,
    VerdictSource,
)
from draftcritic.core._policy import OTHER_RULE
from draftcritic.core._review import Failed, Judged, ModelCall, Review
from draftcritic.telemetry import names
from draftcritic.telemetry._content import amount_of, count_of
from draftcritic.telemetry._gauges import NO_TRACE, State, Tally, exemplar_of

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.metrics import Counter, Meter, MeterProvider

    from draftcritic.grounding._findings import FabricationFinding

FIRED_REASONS = (
    GateReason.SENSITIVE_TAG,
    GateReason.FABRICATION,
    GateReason.TOOL_ACTION,
    GateReason.INTENT_ACTION,
    GateReason.INTENT_AMBIGUOUS,
    GateReason.DOUBT,
    GateReason.CLAIMS,
    GateReason.LOW_CONFIDENCE,
    GateReason.NOT_TRIVIAL,
    GateReason.CUSTOM_GATE,
    GateReason.GATE_ERROR,
)
SKIPPED_REASONS = (GateReason.CONFIDENT, GateReason.TRIVIAL_ACK, GateReason.CUSTOM_GATE)
NOT_EVALUATED_REASONS = (
    GateReason.DISABLED,
    GateReason.SAMPLED_OUT,
    GateReason.BUDGET,
    GateReason.CIRCUIT_OPEN,
    GateReason.FAIR_SHARE,
    GateReason.RATE_LIMITED,
    GateReason.BUSY,
    GateReason.LOOP,
    GateReason.QUEUE_FULL,
    GateReason.NOT_A_DRAFT,
    GateReason.ABANDONED,
    GateReason.NESTED,
)
_FORCED_REASONS = (
    GateReason.SENSITIVE_TAG,
    GateReason.FABRICATION,
    GateReason.LOW_CONFIDENCE,
    GateReason.CUSTOM_GATE,
    GateReason.GATE_ERROR,
    GateReason.CONFIDENT,
)
"""The reasons that a draft with a fabrication finding can have: not every gate checks findings first."""
LIMIT_REASONS = (
    GateReason.SAMPLED_OUT,
    GateReason.BUDGET,
    GateReason.CIRCUIT_OPEN,
    GateReason.FAIR_SHARE,
    GateReason.RATE_LIMITED,
    GateReason.BUSY,
    GateReason.LOOP,
)
CIRCUIT_VALUES = {CircuitState.CLOSED: 0, CircuitState.HALF_OPEN: 1, CircuitState.OPEN: 2}
_ENFORCED = {
    Verdict.APPROVE: Action.PASSED,
    Verdict.REVISE: Action.REPLACED,
    Verdict.REFUSE: Action.BLOCKED,
}

FAILURES = tuple(failure for failure in Failure if failure is not Failure.CANCELLED)
"""What counts as a failure; a cancelled review does not, because the application abandoned it."""
Series = tuple[Verdict | None, VerdictSource, OutcomeKind, GateReason, Action]


class Metrics:
    """Records reviews on a meter. Labels come from closed sets; SKUs are bounded.

    Args:
        meter: where the instruments are created.
        bound: maps a SKU into a bounded set.
        kinds: the fabrication kinds that are labels of their own.
        mode: the mode of the reviews, for the series that exist before the first of them.
        rules: the ids of the loaded preferences and rules, for the same reason.
    """

    def __init__(
        self,
        meter: Meter,
        bound: Callable[[str], str],
        kinds: Collection[str],
        mode: Mode = Mode.OBSERVE,
        rules: Collection[str] = (),
    ) -> None:
        self._rule_ids = tuple(rules)
        self._bound = bound
        self._kinds = frozenset(kinds)
        self._mode = mode
        self._meter = meter
        self._skus: set[str] = set()
        self._create(meter)
        self._state = State((self._reviews, self._decisions, self._dropped))

    def _create(self, meter: Meter) -> None:
        def counter(name: str, unit: str) -> Counter:
            return meter.create_counter(name, unit, DESCRIPTIONS[name])

        self._reviews = Tally(counter(names.METRIC_REVIEWS, names.UNIT_REVIEW), _labels)
        self._decisions = Tally(counter(names.METRIC_GATE_DECISIONS, names.UNIT_DECISION), _decision_labels)
        self._dropped = Tally(counter(names.METRIC_DROPPED, names.UNIT_DRAFT), _drop_labels)
        self._tokens = counter(names.METRIC_TOKENS, names.UNIT_TOKEN)
        self._cost = counter(names.METRIC_COST, names.UNIT_USD)
        self._fabrications = counter(names.METRIC_FABRICATIONS, names.UNIT_FINDING)
        self._doubts = counter(names.METRIC_DOUBTS, names.UNIT_FINDING)
        self._rules = counter(names.METRIC_RULES, names.UNIT_VIOLATION)
        self._misquoted = counter(names.METRIC_MISQUOTED, names.UNIT_REVIEW)
        self._failures = counter(names.METRIC_FAILURES, names.UNIT_FAILURE)
        self._redelivered = counter(names.METRIC_REDELIVERED, names.UNIT_DRAFT)
        self._dead = counter(names.METRIC_DEAD_LETTERED, names.UNIT_DRAFT)
        self._budget_local = counter(names.METRIC_BUDGET_LOCAL, names.UNIT_CALL)
        self._other_release = counter(names.METRIC_OTHER_RELEASE, names.UNIT_DRAFT)
        self._queue_age = meter.create_histogram(
            names.METRIC_QUEUE_AGE,
            names.UNIT_SECOND,
            DESCRIPTIONS[names.METRIC_QUEUE_AGE],
            explicit_bucket_boundaries_advisory=names.AGE_BUCKETS,
        )
        self._duration = meter.create_histogram(
            names.METRIC_REVIEW_DURATION,
            names.UNIT_SECOND,
            DESCRIPTIONS[names.METRIC_REVIEW_DURATION],
            explicit_bucket_boundaries_advisory=names.DURATION_BUCKETS,
        )
        self._confidence = meter.create_histogram(
            names.METRIC_CONFIDENCE,
            names.UNIT_ONE,
            DESCRIPTIONS[names.METRIC_CONFIDENCE],
            explicit_bucket_boundaries_advisory=names.CONFIDENCE_BUCKETS,
        )

    def start_at_zero(self, provider: MeterProvider) -> None:
        """Create every series of a closed set at zero, because a rate misses the first count of a new series.

        Args:
            provider: the current provider of the meter.
        """
        skus = {names.SKU_UNKNOWN, *self._skus}
        self._skus.clear()
        for sku in skus:
            self.expect_sku(sku)
        for series in _unasked_series(self._mode):
            self._reviews.start_at_zero((series, names.SKU_UNKNOWN))
        for decision, reasons in (
            (GateDecision.FIRED, FIRED_REASONS),
            (GateDecision.SKIPPED, SKIPPED_REASONS),
            (GateDecision.NOT_EVALUATED, NOT_EVALUATED_REASONS),
        ):
            for reason in reasons:
                self._decisions.start_at_zero((decision, reason))
        for failure in FAILURES:
            self._failures.add(0, {names.FAILURE: failure.value}, NO_TRACE)
        for verdict in Verdict:
            for rule in (*self._rule_ids, OTHER_RULE):
                self._rules.add(0, {names.RULE: rule, names.VERDICT: verdict.value}, NO_TRACE)
        for drop in names.DROP_REASONS:
            self._dropped.start_at_zero(drop)
        for dead in names.DEAD_REASONS:
            self._dead.add(0, {names.REASON: dead}, NO_TRACE)
        self._redelivered.add(0, {}, NO_TRACE)
        self._budget_local.add(0, {}, NO_TRACE)
        for release in names.RELEASES:
            self._other_release.add(0, {names.REASON: release}, NO_TRACE)
        self._state.report(provider, self._meter, DESCRIPTIONS)

    def close(self) -> None:
        """End the series that exist only while the critic runs."""
        self._state.close()

    def expect_sku(self, sku: str) -> None:
        """Create the series of a critic's model before its first verdict."""
        label = self._sku(sku)
        if label not in self._skus:
            self._skus.add(label)
            for series in _asked_series(self._mode):
                self._reviews.start_at_zero((series, label))
            for verdict in (None, *Verdict) if self._mode is not Mode.GATE else ():
                self._misquoted.add(0, {names.VERDICT: _verdict_label(verdict), names.SKU: label}, NO_TRACE)
            self._state.circuits.setdefault(label, CIRCUIT_VALUES[CircuitState.CLOSED])

    def decided(self, decision: GateDecision, reason: GateReason, context: Context | None = None) -> None:
        """Count the gate's decision on a draft that has no review."""
        self._decisions.count((decision, reason), exemplar_of(context))

    def muted(self) -> None:
        """Count a draft that was written inside a `muted` block."""
        exemplar = exemplar_of()
        self._decisions.count((GateDecision.NOT_EVALUATED, GateReason.DISABLED), exemplar)
        self._reviews.count((_MUTED, names.SKU_UNKNOWN), exemplar)

    def reviewed(self, review: Review, context: Context) -> None:
        """Record a finished review.

        Args:
            review: the review.
            context: contains the review's span, for exemplars.
        """
        assessment = review.assessment
        reflection = review.reflection
        exemplar = exemplar_of(context)
        self._decisions.count((assessment.decision, assessment.reason), exemplar)
        call = review.call
        if assessment.reason is not GateReason.NOT_A_DRAFT:
            sku = self._sku(None if call is None else call.sku)
            ended = (review.verdict, review.source, review.outcome.kind, assessment.reason, review.action)
            self._reviews.count((ended, sku), exemplar)
            self._took(review, sku, context)
        confidence = amount_of(assessment.confidence)
        if confidence is not None:
            self._confidence.record(confidence, {names.GATE_DECISION: assessment.decision._value_}, context)
        if call is not None:
            self._usage(call, context)
        if assessment.findings:
            self._found(review, context)
        for rule in review.broken:
            self._rules.add(1, {names.RULE: rule, names.VERDICT: _verdict_label(review.verdict)}, context)
        if review.misquoted:
            sku = self._sku(None if call is None else call.sku)
            self._misquoted.add(1, {names.VERDICT: _verdict_label(review.verdict), names.SKU: sku}, context)
        if isinstance(reflection, Failed):
            self._failures.add(1, {names.FAILURE: reflection.failure.value}, context)

    def _found(self, review: Review, context: Context) -> None:
        """Count findings, doubts, and doubts that the critic's model made findings."""
        for finding in (*review.assessment.sure_findings, *review.confirmed):
            source = VerdictSource.REFLECTION if finding.is_doubt else VerdictSource.FABRICATION
            labels = {names.ACTION: review.action.value, names.VERDICT_SOURCE: source.value}
            self._fabrications.add(1, {names.KIND: self._kind(finding), **labels}, context)
        judged = review.reflection
        answer = judged.verdict.value if isinstance(judged, Judged) else names.ANSWER_NONE
        for doubt in review.assessment.doubts:
            said = names.ANSWER_CONFIRMED if doubt in review.confirmed else answer
            self._doubts.add(1, {names.KIND: self._kind(doubt), names.ANSWER: said}, context)

    def _kind(self, finding: FabricationFinding) -> str:
        return str(finding.kind) if finding.kind in self._kinds else names.KIND_OTHER

    def dropped(self, reason: str) -> None:
        """Count a draft that was lost before its review."""
        self._dropped.count(reason if reason in names.DROP_REASONS else names.DROP_ERROR, exemplar_of())

    def queue_depth(self, change: int) -> None:
        """Record that the background queue has grown or shrunk."""
        self._state.depth.change(change)

    def circuit(self, sku: str, state: CircuitState) -> None:
        """Record the new state of a critic model's circuit."""
        self._state.circuits[self._sku(sku)] = CIRCUIT_VALUES[state]

    def policy_loaded(self, whole: bool) -> None:
        """Record whether the policy's file was reloaded."""
        self._state.policy_valid = whole

    def dead_lettered(self, reason: str) -> None:
        """Count a draft that was put aside."""
        self._dead.add(1, {names.REASON: reason if reason in names.DEAD_REASONS else names.DROP_ERROR}, NO_TRACE)

    def delivered(self, age: float, again: bool, context: Context | None = None) -> None:
        """Record how long a draft has waited, in seconds, and whether its delivery had begun before."""
        self._queue_age.record(max(0.0, age), {}, exemplar_of(context))
        if again:
            self._redelivered.add(1, {}, exemplar_of(context))

    def budget_local(self) -> None:
        """Count a call that was decided without the shared store of the budgets."""
        self._budget_local.add(1, {}, NO_TRACE)

    def other_release(self, *, newer: bool, older: bool) -> None:
        """Count a draft whose writer knows more fields of a turn, or fewer."""
        for release, applies in zip(names.RELEASES, (newer, older), strict=True):
            if applies:
                self._other_release.add(1, {names.REASON: release}, NO_TRACE)

    def watch_spool(self, spool: Callable[[], tuple[int, float]] | None) -> None:
        """Report a spool: the function returns its size in bytes, and its age in seconds."""
        self._state.spool = spool

    def info(self, labels: dict[str, str]) -> None:
        """Report what this process runs."""
        self._state.info = {**labels, names.SKU: self._sku(labels.get(names.SKU))}

    def _took(self, review: Review, sku: str, context: Context) -> None:
        duration = amount_of(review.duration_s)
        if duration is not None:
            labels = {
                names.VERDICT: _verdict_label(review.verdict),
                names.OUTCOME: review.outcome.kind._value_,
                names.SKU: sku,
            }
            if (failure := review.failure) is not None:
                # Labels need a closed set: the exception's name is on the span.
                labels[names.ERROR_TYPE] = failure._value_
            self._duration.record(duration, labels, context)

    def _usage(self, call: ModelCall, context: Context) -> None:
        sku = self._sku(call.sku)
        for direction, tokens in (
            (names.DIRECTION_INPUT, count_of(call.usage.input_tokens)),
            (names.DIRECTION_OUTPUT, count_of(call.usage.output_tokens)),
        ):
            if tokens is not None:
                self._tokens.add(tokens, {names.SKU: sku, names.DIRECTION: direction}, context)
        cost = amount_of(call.usage.cost_usd)
        if cost is not None:
            self._cost.add(cost, {names.SKU: sku}, context)

    def _sku(self, sku: str | None) -> str:
        return self._bound(sku) if sku else names.SKU_UNKNOWN


def _labels(of_sku: tuple[Series, str]) -> dict[str, str]:
    (verdict, source, outcome, reason, action), sku = of_sku
    return {
        names.VERDICT: _verdict_label(verdict),
        names.VERDICT_SOURCE: source.value,
        names.OUTCOME: outcome.value,
        names.GATE_REASON: reason.value,
        names.ACTION: action.value,
        names.SKU: sku,
    }


def _verdict_label(verdict: Verdict | None) -> str:
    return names.VERDICT_NONE if verdict is None else verdict._value_


def _decision_labels(decided: tuple[GateDecision, GateReason]) -> dict[str, str]:
    decision, reason = decided
    return {names.GATE_DECISION: decision.value, names.GATE_REASON: reason.value}


def _drop_labels(reason: str) -> dict[str, str]:
    return {names.REASON: reason}


def _judged(mode: Mode, verdict: Verdict, source: VerdictSource, reason: GateReason) -> Series:
    action = _ENFORCED[verdict] if mode is Mode.ENFORCE else Action.RECORDED
    return verdict, source, OutcomeKind.JUDGED, reason, action


def _undecided(kind: OutcomeKind, reason: GateReason, action: Action) -> Series:
    return None, VerdictSource.NONE, kind, reason, action


_MUTED = _undecided(OutcomeKind.MUTED, GateReason.DISABLED, Action.RECORDED)


def _unasked_series(mode: Mode) -> Iterator[Series]:
    """The series of reviews that end without a model call."""
    yield _MUTED
    passed = Action.PASSED if mode is Mode.ENFORCE else Action.RECORDED
    for reason in SKIPPED_REASONS:
        yield _undecided(OutcomeKind.SKIPPED, reason, passed)
    for verdict in (Verdict.REVISE, Verdict.REFUSE):
        for reason in _FORCED_REASONS:
            yield _judged(mode, verdict, VerdictSource.FABRICATION, reason)
    for reason in LIMIT_REASONS if mode is not Mode.GATE else ():
        yield _judged(mode, Verdict.REVISE, VerdictSource.FABRICATION, reason)
        yield _undecided(OutcomeKind.LIMITED, reason, Action.RECORDED)
        if mode is Mode.ENFORCE:
            yield _undecided(OutcomeKind.LIMITED, reason, Action.LIMITED_CLOSED)
    if mode is Mode.GATE:
        for reason in FIRED_REASONS:
            yield _undecided(OutcomeKind.GATE_ONLY, reason, Action.RECORDED)


def _asked_series(mode: Mode) -> Iterator[Series]:
    """The series of reviews whose model is asked."""
    if mode is Mode.GATE:
        return
    for reason in FIRED_REASONS:
        for verdict in Verdict:
            yield _judged(mode, verdict, VerdictSource.REFLECTION, reason)
        if mode is Mode.ENFORCE:
            for verdict in (Verdict.REVISE, Verdict.REFUSE):
                yield verdict, VerdictSource.REFLECTION, OutcomeKind.JUDGED, reason, Action.EXPOSED
        if reason in _FORCED_REASONS:
            yield _judged(mode, Verdict.REVISE, VerdictSource.FABRICATION, reason)
        yield _undecided(OutcomeKind.FAILED, reason, Action.FAILED_OPEN)
        yield _undecided(OutcomeKind.FAILED, reason, Action.FAILED_CLOSED)
        yield _undecided(OutcomeKind.CANCELLED, reason, Action.RECORDED)


DESCRIPTIONS: dict[str, str] = {
    names.METRIC_REVIEWS: "Reviews by how they ended; those without a verdict have the verdict `none`.",
    names.METRIC_GATE_DECISIONS: "Drafts by what the gate did with them, not evaluated ones included.",
    names.METRIC_REVIEW_DURATION: "Time from the start of a review to its end.",
    names.METRIC_CONFIDENCE: "Confidence in the draft, as the gate computed it.",
    names.METRIC_TOKENS: "Tokens of the critic's own model calls, as far as the provider reports them.",
    names.METRIC_COST: "Cost of the critic's own model calls by the published price of the SKU.",
    names.METRIC_FABRICATIONS: "Findings of the fabrication check, and doubts that the critic's model confirmed.",
    names.METRIC_DOUBTS: "What the fabrication check is unsure of, by what the critic's model said of the draft.",
    names.METRIC_RULES: "Rules that the critic named as broken.",
    names.METRIC_MISQUOTED: "Reviews in which the critic quoted words that neither the draft nor the evidence has.",
    names.METRIC_FAILURES: "Reviews in which the critic itself failed.",
    names.METRIC_QUEUE_DEPTH: "Reviews that wait in the background queue of this process.",
    names.METRIC_DROPPED: "Drafts that were lost before their review.",
    names.METRIC_CIRCUIT: "The circuit of a critic's model: 0 closed, 1 half-open, 2 open.",
    names.METRIC_INFO: "1 for each process: which release reviews, how far it goes now, and by which policy.",
    names.METRIC_SPOOL_BYTES: "Bytes of the drafts that wait in the spool of this process.",
    names.METRIC_SPOOL_AGE: "How long the oldest draft in the spool of this process has waited.",
    names.METRIC_QUEUE_AGE: "Time from a draft's end to the start of its review, where drafts wait in a spool.",
    names.METRIC_REDELIVERED: "Drafts whose delivery had begun before and not ended: the process or worker was killed.",
    names.METRIC_DEAD_LETTERED: "Drafts that were put aside because they cannot be reviewed.",
    names.METRIC_BUDGET_LOCAL: "Calls decided by this process's part of the budgets, as their store was away.",
    names.METRIC_OTHER_RELEASE: "Drafts whose writer is of a release with more (newer) or fewer fields of a turn.",
    names.METRIC_SELFTEST_RECALL: "Share of the damaged drafts of the last self-test that the critic found.",
    names.METRIC_POLICY_LOADED: "1 while the policy's file is valid, 0 while it is not and the last valid one stays.",
}
