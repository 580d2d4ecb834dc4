"""The recorded values: volumes and ratios by service and environment, absent where nothing was counted."""

from __future__ import annotations

from generate import _exported as names
from generate._rules import GROUP, Dialect, Recorded, written_out

OBJECTIVE = 0.05
"""Share of the reviews that may end with refuse, where no other objective is given."""
DAILY_BUDGET_USD = 10.0
"""US dollars a day and service that the critic may cost, where no other budget is given."""
REVISE_OVERRIDE = "draftcritic:revise_normal:override"
"""The share of revised drafts that is normal for a service, by a recording rule of the operator."""
UNREVIEWED_OVERRIDE = "draftcritic:unreviewed_on_purpose:override"
"""Any value says that a service had reviews and is to have none any more."""
OBJECTIVE_OVERRIDE = "draftcritic:refuse_objective:override"
BUDGET_OVERRIDE = "draftcritic:daily_budget_usd:override"
WINDOWS = ("5m", "30m", "1h", "6h", "3d")


def _grown(metric: str, window: str, offset: str, *matchers: str) -> str:
    return f"sum by ({GROUP}) (increase({metric}{{{','.join(matchers)}}}[{window}]{offset}))".replace("{}", "")


def _volume(window: str, *matchers: str, metric: str = names.REVIEWS, name: str = "reviews") -> Recorded:
    def build(_dialect: Dialect, offset: str) -> str:
        return _grown(metric, window, offset, *matchers)

    return Recorded(f"draftcritic:{name}:increase{window}", build)


def _share(name: str, window: str, part: tuple[str, ...], whole: Recorded, metric: str) -> Recorded:
    def build(dialect: Dialect, offset: str) -> str:
        # The comparison keeps 0/0 out: a service without traffic has no ratio.
        return f"{_grown(metric, window, offset, *part)} / ({dialect(whole, offset.removeprefix(' offset '))} > 0)"

    return Recorded(f"draftcritic:{name}:ratio{window}", build)


def _verdicts(verdict: str) -> tuple[str, ...]:
    return names.REFLECTED, f'{names.VERDICT}="{verdict}"'


REVIEWS = {window: _volume(window, names.REFLECTED) for window in WINDOWS}
"""Verdicts of the critic's model: unjudged drafts dilute no ratio, and findings have a rate of their own."""
REFUSED = {window: _share("refused", window, _verdicts("refuse"), REVIEWS[window], names.REVIEWS) for window in WINDOWS}
REVISED = _share("revised", "1h", _verdicts("revise"), REVIEWS["1h"], names.REVIEWS)
REVIEWED = _volume("30m", f'{names.OUTCOME}!="muted"', name="reviewed")
"""Reviews of any outcome: whether the plugin works at all."""
FIRED = {
    window: _volume(window, names.FIRED, metric=names.DECISIONS, name="gate_fired") for window in ("15m", "1h", "6h")
}
FAILED = {window: _share("failed", window, (names.FAILED,), FIRED[window], names.FAILURES) for window in FIRED}
EVALUATED = _volume("1h", names.EVALUATED, metric=names.DECISIONS, name="gate_evaluated")
FIRE_RATIO = _share("gate_fired", "1h", (names.FIRED,), EVALUATED, names.DECISIONS)
SKIPPED = _volume("7d", f'{names.DECISION}="skipped"', metric=names.DECISIONS, name="gate_skipped")
GATE_ERRORS = _share("gate_errors", "1h", (f'{names.GATE_REASON}="gate_error"',), EVALUATED, names.DECISIONS)
FINDINGS = _share("findings", "1h", (), EVALUATED, names.FABRICATIONS)
CALLED = _volume("1h", f'{names.OUTCOME}=~"judged|failed|cancelled",{names.SKU}!="unknown"', name="called")
CANCELLED = _share("cancelled", "1h", (f'{names.OUTCOME}="cancelled",{names.SKU}!="unknown"',), CALLED, names.REVIEWS)
EXPOSED = _volume("1h", f'{names.ACTION}="exposed"', name="exposed")
ASKED = _volume("15m", names.ASKED, metric=f"{names.DURATION}_count", name="critic_asked")


def _p95(_dialect: Dialect, offset: str) -> str:
    buckets = f"rate({names.DURATION}_bucket{{{names.ASKED}}}[15m]{offset})"
    # The comparison drops the NaN of a window without a review.
    return f"histogram_quantile(0.95, sum by (le, {GROUP}) ({buckets})) >= 0"


P95 = Recorded("draftcritic:review_duration_seconds:p95_15m", _p95)
DRAFTS = {
    window: _volume(
        window, f'{names.GATE_REASON}!~"not_a_draft|nested|disabled"', metric=names.DECISIONS, name="drafts"
    )
    for window in ("15m", "1h", "6h")
}
DROPPED = _volume("15m", f'{names.DROP_REASON}!="shutdown"', metric=names.DROPPED, name="dropped")
PASSED_UNREVIEWED = {
    window: _share(
        "unreviewed", window, (f'{names.GATE_REASON}=~"circuit_open|queue_full"',), DRAFTS[window], names.DECISIONS
    )
    for window in DRAFTS
}
OVER_BUDGET = {
    window: _share("over_budget", window, (f'{names.GATE_REASON}="budget"',), DRAFTS[window], names.DECISIONS)
    for window in DRAFTS
}
SPENT = {window: _volume(window, metric=names.COST, name="cost_usd") for window in ("1h", "6h")}


def _agent_calls(_dialect: Dialect, offset: str) -> str:
    spans = _grown(names.SPAN_CALLS, "30m", offset, f'{names.OPERATION}="chat"', f'{names.INTERNAL}!="true"')
    measured = _grown(f"{names.AGENT_CALLS}_count", "30m", offset, f'{names.OPERATION}="chat"')
    return f"{spans} or {measured}"


def _known(dialect: Dialect, offset: str) -> str:
    if dialect is written_out:
        # Without recording rules nothing can be remembered for longer than it is looked back.
        return f"group by ({GROUP}) (increase({names.REVIEWS}[30d]{offset}) > 0)"
    # Remembers itself: services that stop having reviews are known until they have some again.
    return f"group by ({GROUP}) ({dialect(REVIEWED)} > 0) or last_over_time({KNOWN_NAME}[1d]{offset})"


KNOWN_NAME = "draftcritic:reviewed:known"
KNOWN = Recorded(KNOWN_NAME, _known)
AGENT_CALLS = Recorded("draftcritic:agent_calls:increase30m", _agent_calls)


def _limit(name: str, override: str, default: float) -> Recorded:
    def build(_dialect: Dialect, _offset: str) -> str:
        # Looks back, so that a limit outlives the processes whose reviews are still in the windows.
        known = f"group by ({GROUP}) (last_over_time({names.REVIEWS}[6h]))"
        given = f"max by ({names.SERVICE}) ({override})"
        return f"{known} * on ({names.SERVICE}) group_left () {given} or {known} * {default}"

    return Recorded(name, build)


REFUSE_OBJECTIVE = _limit("draftcritic:refuse_objective:ratio", OBJECTIVE_OVERRIDE, OBJECTIVE)
DAILY_BUDGET = _limit("draftcritic:daily_budget:usd", BUDGET_OVERRIDE, DAILY_BUDGET_USD)

RECORDED = (
    *REVIEWS.values(),
    *REFUSED.values(),
    REVISED,
    REVIEWED,
    KNOWN,
    *FIRED.values(),
    *FAILED.values(),
    EVALUATED,
    FIRE_RATIO,
    SKIPPED,
    GATE_ERRORS,
    FINDINGS,
    CALLED,
    CANCELLED,
    EXPOSED,
    ASKED,
    P95,
    *DRAFTS.values(),
    DROPPED,
    *PASSED_UNREVIEWED.values(),
    *OVER_BUDGET.values(),
    *SPENT.values(),
    AGENT_CALLS,
    REFUSE_OBJECTIVE,
    DAILY_BUDGET,
)
"""All of them; each comes after those that it uses."""
