"""The metrics and labels as the collector's Prometheus exporter names them, and the queries over them.

The exporter turns dots into underscores, writes units out (`s` is `seconds`, `1` of a gauge is
`ratio`; units in braces are left away) and
ends counters with `_total`. The collector puts the resource attributes `service.name` and `deployment.environment.name`
on every series.
"""

from __future__ import annotations

REVIEWS = "draftcritic_reviews_total"
DECISIONS = "draftcritic_gate_decisions_total"
DURATION = "draftcritic_review_duration_seconds"
CONFIDENCE = "draftcritic_confidence"
TOKENS = "draftcritic_tokens_total"
COST = "draftcritic_cost_USD_total"
FABRICATIONS = "draftcritic_fabrications_total"
DOUBTS = "draftcritic_doubts_total"
MISQUOTED = "draftcritic_misquoted_total"
FAILURES = "draftcritic_failures_total"
VIOLATIONS = "draftcritic_rules_violations_total"
QUEUE_DEPTH = "draftcritic_queue_depth"
DROPPED = "draftcritic_dropped_total"
CIRCUIT = "draftcritic_circuit_state"
POLICY = "draftcritic_policy_loaded"
INFO = "draftcritic_info"
SPOOL_BYTES = "draftcritic_spool_bytes"
SPOOL_AGE = "draftcritic_spool_age_seconds"
QUEUE_AGE = "draftcritic_queue_age_seconds"
REDELIVERED = "draftcritic_redelivered_total"
DEAD_LETTERED = "draftcritic_dead_lettered_total"
BUDGET_LOCAL = "draftcritic_budget_local_total"
OTHER_RELEASE = "draftcritic_other_release_total"
SELFTEST_RECALL = "draftcritic_selftest_recall_ratio"
AGENT_TOKENS = "gen_ai_client_token_usage"
"""Histogram of the official GenAI instrumentation: every model call, the critic's own ones among them."""
AGENT_CALLS = "gen_ai_client_operation_duration_seconds"
"""Histogram of the official GenAI instrumentation: every model call, the critic's own ones among them."""
SPAN_CALLS = "traces_span_metrics_calls_total"
"""Counter of the collector's span metrics: the agents' operations, whichever instrumentation wrote the spans."""

SERVICE = "service_name"
ENVIRONMENT = "deployment_environment_name"
VERDICT = "draftcritic_verdict"
SOURCE = "draftcritic_verdict_source"
OUTCOME = "draftcritic_outcome"
ACTION = "draftcritic_action"
RULE = "draftcritic_rule"
ANSWER = "draftcritic_answer"
DECISION = "draftcritic_gate_decision"
GATE_REASON = "draftcritic_gate_reason"
SKU = "draftcritic_sku"
DIRECTION = "draftcritic_direction"
KIND = "draftcritic_kind"
DAMAGE = "draftcritic_damage"
FAILURE = "draftcritic_failure"
DROP_REASON = "draftcritic_reason"
AGENT_MODEL = "gen_ai_request_model"
OPERATION = "gen_ai_operation_name"
INTERNAL = "draftcritic_internal"
TOKEN_TYPE = "gen_ai_token_type"  # noqa: S105 - a label, no secret

FIRED = f'{DECISION}="fired"'
EVALUATED = f'{DECISION}=~"fired|skipped"'
ASKED = f'{SKU}!="unknown",{OUTCOME}!="cancelled"'
"""Reviews in which the critic's model was asked and could answer: those that the caller gave up say nothing."""
JUDGED = f'{VERDICT}!="none"'
"""Reviews with a verdict."""
REFLECTED = f'{JUDGED},{SOURCE}!="fabrication"'
"""Reviews with a verdict of the critic's model."""
FAILED = f'{FAILURE}!="cancelled"'
"""Failures of the critic. Before there was an outcome, a review that the application gave up was one of them."""

_SHOWN = f'{SERVICE}=~"$service",{ENVIRONMENT}=~"$environment"'
_WITH_SKU = {REVIEWS, f"{DURATION}_bucket", f"{DURATION}_count", TOKENS, COST, CIRCUIT}


def shown(metric: str, *matchers: str) -> str:
    """Return a selector of what a dashboard's variables choose.

    Args:
        metric: name of the series.
        matchers: further matchers, e.g. `draftcritic_verdict="refuse"`.
    """
    chosen = [_SHOWN, *([f'{SKU}=~"$sku"'] if metric in _WITH_SKU else []), *matchers]
    return f"{metric}{{{','.join(chosen)}}}"


def per_second(metric: str, *matchers: str, by: str = "") -> str:
    """Return the summed rate of a counter, by one or more labels."""
    return f"sum{_by(by)}(rate({shown(metric, *matchers)}[$__rate_interval]))"


def in_range(metric: str, *matchers: str, by: str = "") -> str:
    """Return how much a counter grew in the dashboard's time range."""
    return f"sum{_by(by)}(increase({shown(metric, *matchers)}[$__range]))"


def per_step(metric: str, *matchers: str, by: str = "") -> str:
    """Return how much a counter grew in a step of the picture."""
    return f"sum{_by(by)}(increase({shown(metric, *matchers)}[$__rate_interval]))"


def ratio(part: str, whole: str, by: str = "") -> str:
    """Return a ratio that is absent, not NaN, where nothing was counted."""
    on = f" on ({by}) " if by else " "
    return f"{part} /{on}({whole} > 0)"


def quantile(q: float, *, by: str = "", matchers: tuple[str, ...] = ()) -> str:
    """Return a quantile of the review's duration; the comparison drops the NaN of a range without a review."""
    buckets = per_second(f"{DURATION}_bucket", *matchers, by=", ".join(filter(None, ("le", by))))
    return f"histogram_quantile({q}, {buckets}) >= 0"


def _by(labels: str) -> str:
    return f" by ({labels}) " if labels else ""
