"""The alerts: the one source of Prometheus' rules and of Grafana's."""

from __future__ import annotations

from generate import _exported as names
from generate import _recorded as recorded
from generate._rules import GROUP, Alert, Dialect, Recorded

REVIEWS, REFUSED = recorded.REVIEWS, recorded.REFUSED


def _burn(say: Dialect, long: str, short: str, times: float, reviews: int) -> str:
    """Refusals that use up the objective this many times too fast, in a long window and still in a short one."""
    limit = f"{times:g} * {say(recorded.REFUSE_OBJECTIVE)}"
    return f"{say(REFUSED[long])} > {limit} and {say(REFUSED[short])} > {limit} and {say(REVIEWS[long])} >= {reviews}"


def _burn_page(say: Dialect) -> str:
    return f"({_burn(say, '1h', '5m', 4, 30)}) or ({_burn(say, '6h', '30m', 2, 60)})"


def _burn_ticket(say: Dialect) -> str:
    return _burn(say, "3d", "6h", 1, 100)


def _before(say: Dialect, ratio: Recorded) -> str:
    """The ratio at this hour a week ago, else a day ago, where there were reviews enough to tell."""
    week, day = (f"{say(ratio, ago)} and {say(REVIEWS['1h'], ago)} >= 30" for ago in ("1w", "1d"))
    return f"(({week}) or ({day}))"


def _jump(say: Dialect) -> str:
    now, before = say(REFUSED["1h"]), _before(say, REFUSED["1h"])
    return f"{now} > 3 * {before} and {now} - {before} > 0.05 and {say(REVIEWS['1h'])} >= 30"


def _surge(say: Dialect) -> str:
    now = say(recorded.REVISED)
    return f"{now} > 0.25 and {say(REVIEWS['1h'])} >= 30 unless {now} <= 2 * {_before(say, recorded.REVISED)}"


def _failing_page(say: Dialect) -> str:
    return f"{say(recorded.FAILED)} > 0.5 and {say(recorded.FIRED)} >= 10"


def _failing_ticket(say: Dialect) -> str:
    return f"{say(recorded.FAILED)} > 0.1 and {say(recorded.FIRED)} >= 20"


def _fires(say: Dialect) -> str:
    return f"{say(recorded.FIRE_RATIO)} > 0.95 and {say(recorded.EVALUATED)} >= 50"


def _slow(say: Dialect) -> str:
    return f"{say(recorded.P95)} > 5 and {say(recorded.ASKED)} >= 20"


def _drops(say: Dialect) -> str:
    dropped = say(recorded.DROPPED)
    return f"{dropped} >= 5 unless {dropped} / ({say(recorded.DRAFTS)} > 0) <= 0.01"


def _unreviewed(say: Dialect) -> str:
    return f"{say(recorded.PASSED_UNREVIEWED)} > 0.05 and {say(recorded.DRAFTS)} >= 20"


def _over_budget(say: Dialect) -> str:
    return f"{say(recorded.OVER_BUDGET)} > 0.05 and {say(recorded.DRAFTS)} >= 20"


def _spending_page(say: Dialect) -> str:
    return f"{say(recorded.SPENT['1h'])} > 0.5 * {say(recorded.DAILY_BUDGET)}"


def _spending_ticket(say: Dialect) -> str:
    budget = say(recorded.DAILY_BUDGET)
    return f"4 * {say(recorded.SPENT['6h'])} > {budget} and 24 * {say(recorded.SPENT['1h'])} > {budget}"


def _silent(say: Dialect) -> str:
    # Only where there were reviews within a day: agents without the plugin are not silent.
    used_to = f"sum by ({GROUP}) (increase({names.REVIEWS}[1d] offset 30m)) > 0"
    return f"{say(recorded.AGENT_CALLS)} >= 10 unless ({say(REVIEWS['30m'])} > 0) and ({used_to})"


ALERTS = (
    Alert(
        "DraftcriticRefuseBurn",
        "page",
        _burn_page,
        "2m",
        "{service}: {percent} of the reviews refuse",
        "The critic refuses far more than the objective allows: four times as much within the last hour, or twice as "
        "much within the last six, and it still goes on. Look at the refused traces: is it the agent or the critic?",
        "refuse-burn",
    ),
    Alert(
        "DraftcriticRefuseBurn",
        "ticket",
        _burn_ticket,
        "30m",
        "{service}: {percent} of the reviews refuse, for days",
        "Over three days the critic refuses more than the objective allows, and it still goes on.",
        "refuse-burn",
    ),
    Alert(
        "DraftcriticRefuseJump",
        "page",
        _jump,
        "5m",
        "{service}: refusals have jumped to {percent} of the reviews",
        "More than three times the share of this hour a week ago (a day ago, where there was no traffic then), and at "
        "least 5 points more. Something has changed: a release, a prompt, a model, or who is asking.",
        "refuse-jump",
    ),
    Alert(
        "DraftcriticReviseSurge",
        "ticket",
        _surge,
        "10m",
        "{service}: {percent} of the reviews want another answer",
        "More than a quarter of the drafts of the last hour would have been said otherwise by the critic, and more "
        "than twice the share of this hour a week or a day ago.",
        "revise-surge",
    ),
    Alert(
        "DraftcriticCriticFailures",
        "page",
        _failing_page,
        "5m",
        "{service}: the critic fails in {percent} of its reviews",
        "More than half of the critic's own calls fail. Drafts pass unreviewed, or are blocked where the settings "
        "fail closed.",
        "critic-failures",
    ),
    Alert(
        "DraftcriticCriticFailures",
        "ticket",
        _failing_ticket,
        "10m",
        "{service}: the critic fails in {percent} of its reviews",
        "More than a tenth of the critic's own calls fail: timeouts, errors, rate limits, or answers that cannot be "
        "read.",
        "critic-failures",
    ),
    Alert(
        "DraftcriticGateFiresOnEverything",
        "ticket",
        _fires,
        "15m",
        "{service}: the gate fires on {percent} of the drafts",
        "A gate that fires on more than 95 % selects nothing: every draft costs a model call. The usual cause is "
        "confidence that is always low because the turns carry no evidence.",
        "gate-fires-on-everything",
    ),
    Alert(
        "DraftcriticReviewsSlow",
        "ticket",
        _slow,
        "10m",
        "{service}: 95 % of the reviews take up to {value} s",
        "The critic's model answers slowly. Where the plugin gates or enforces, users wait that long; in the "
        "background, the queue fills.",
        "reviews-slow",
    ),
    Alert(
        "DraftcriticDraftsDropped",
        "ticket",
        _drops,
        "2m",
        "{service}: {value} drafts were lost before their review in 15 minutes",
        "The background queue was full, or an error of the plugin itself lost them. Drafts of a process that ended "
        "are not counted here.",
        "drafts-dropped",
    ),
    Alert(
        "DraftcriticDraftsUnreviewed",
        "ticket",
        _unreviewed,
        "5m",
        "{service}: {percent} of the drafts pass without a review",
        "The circuit breaker is open after failures of the critic, or the queue is full.",
        "drafts-unreviewed",
    ),
    Alert(
        "DraftcriticBudgetBurn",
        "page",
        _spending_page,
        "5m",
        "{service}: the critic cost {value} US dollars within an hour",
        "Half of the day's budget went within one hour: another SKU, a loop, a gate that fires on everything, or far "
        "more traffic.",
        "budget-burn",
    ),
    Alert(
        "DraftcriticBudgetBurn",
        "ticket",
        _spending_ticket,
        "15m",
        "{service}: the critic is on the way to {value} US dollars a day",
        "At the pace of the last six hours, and still of the last hour, the day's budget will not last.",
        "budget-burn",
    ),
    Alert(
        "DraftcriticBudgetUsedUp",
        "ticket",
        _over_budget,
        "5m",
        "{service}: {percent} of the drafts pass unreviewed, the budget is used up",
        "The plugin's own budget has run out; drafts pass without a review until it fills again.",
        "budget-burn",
    ),
    Alert(
        "DraftcriticSilent",
        "page",
        _silent,
        "10m",
        "{service}: no review in 30 minutes, while the agent made {value} model calls",
        "The agent works and nobody reviews it, though reviews came within the last day. The plugin is off, not "
        "loaded, or its metrics do not arrive.",
        "silent",
    ),
)
"""All alerts."""
