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
    # Compares with what the service declares as normal, else with its own past; without either it says nothing.
    now = say(recorded.REVISED)
    declared = f"max by ({names.SERVICE}) ({recorded.REVISE_OVERRIDE})"
    above_declared = f"{now} > on ({names.SERVICE}) group_left () (2 * {declared})"
    above_past = f"({now} > 2 * {_before(say, recorded.REVISED)} unless on ({names.SERVICE}) {declared})"
    return f"(({above_declared}) or {above_past}) > 0.25 and {say(REVIEWS['1h'])} >= 30"


def _lasting(say: Dialect, ratio: dict[str, Recorded], volume: dict[str, Recorded], limit: float, least: int) -> str:
    """A ratio over a limit in the shortest window that has enough drafts, and in longer ones only while it goes on."""
    short, hour, long = (f"{say(ratio[window])} > {limit:g}" for window in ("15m", "1h", "6h"))
    enough = {window: f"{say(each)} >= {least}" for window, each in volume.items()}
    return (
        f"({short} and {enough['15m']}) or ({hour} and {short} and {enough['1h']}) or "
        f"({long} and {hour} and {enough['6h']})"
    )


def _failing_page(say: Dialect) -> str:
    return _lasting(say, recorded.FAILED, recorded.FIRED, 0.5, 10)


def _failing_ticket(say: Dialect) -> str:
    return _lasting(say, recorded.FAILED, recorded.FIRED, 0.1, 20)


def _fires(say: Dialect) -> str:
    # A gate that never skips, such as that of the shipped settings without an activation, is meant to.
    evaluated = f"{say(recorded.EVALUATED)} >= 50"
    everything = f"{say(recorded.FIRE_RATIO)} > 0.95 and {evaluated} and {say(recorded.SKIPPED)} > 0"
    return f"({everything}) or ({say(recorded.GATE_ERRORS)} > 0.05 and {evaluated})"


def _slow(say: Dialect) -> str:
    return f"{say(recorded.P95)} > 5 and {say(recorded.ASKED)} >= 20"


def _cancelled(say: Dialect) -> str:
    return f"{say(recorded.CANCELLED)} > 0.2 and {say(recorded.CALLED)} >= 20"


def _exposed(say: Dialect) -> str:
    # Half: what `increase` makes of one.
    return f"{say(recorded.EXPOSED)} > 0.5"


def _drops(say: Dialect) -> str:
    dropped = say(recorded.DROPPED)
    return f"{dropped} >= 5 unless {dropped} / ({say(recorded.DRAFTS['15m'])} > 0) <= 0.01"


def _unreviewed(say: Dialect) -> str:
    return _lasting(say, recorded.PASSED_UNREVIEWED, recorded.DRAFTS, 0.05, 20)


def _over_budget(say: Dialect) -> str:
    return _lasting(say, recorded.OVER_BUDGET, recorded.DRAFTS, 0.05, 20)


def _spending_page(say: Dialect) -> str:
    return f"{say(recorded.SPENT['1h'])} > 0.5 * {say(recorded.DAILY_BUDGET)}"


def _spending_ticket(say: Dialect) -> str:
    budget = say(recorded.DAILY_BUDGET)
    return f"4 * {say(recorded.SPENT['6h'])} > {budget} and 24 * {say(recorded.SPENT['1h'])} > {budget}"


def _silent(say: Dialect) -> str:
    # Only where there have been reviews: agents without the plugin are not silent.
    silent = f"{say(recorded.AGENT_CALLS)} >= 10 unless {say(recorded.REVIEWED)} > 0"
    meant = f"max by ({names.SERVICE}) ({recorded.UNREVIEWED_OVERRIDE})"
    return f"({silent}) and {say(recorded.KNOWN)} unless on ({names.SERVICE}) {meant}"


def _spool_old(_: Dialect) -> str:
    # By age and not by length: a long queue that moves is no trouble.
    return f"max by ({GROUP}) ({names.SPOOL_AGE}) > 900"


def _queue_old(_: Dialect) -> str:
    buckets = f"rate({names.QUEUE_AGE}_bucket[15m])"
    return f"histogram_quantile(0.95, sum by (le, {GROUP}) ({buckets})) > 900"


def _dead_letters(_: Dialect) -> str:
    return f"sum by ({GROUP}) (increase({names.DEAD_LETTERED}[1h])) > 0"


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
        "The critic wants another answer for more than a quarter of the drafts of the last hour, and for more than "
        "twice the share that the service declares as normal, or else had at this hour a week or a day ago.",
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
        "A gate that skipped drafts within the last week now fires on more than 95 %: it selects nothing, and every "
        "draft costs a model call. Or a gate of your own raises.",
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
        "DraftcriticReviewsCancelled",
        "ticket",
        _cancelled,
        "10m",
        "{service}: {percent} of the reviews were cancelled",
        "The application gave up more than a fifth of the reviews that asked the model: clients that go away, "
        "timeouts of the application that are shorter than the critic needs, or a deployment that stops workers.",
        "reviews-cancelled",
    ),
    Alert(
        "DraftcriticAnswersExposed",
        "ticket",
        _exposed,
        "1m",
        "{service}: {value} answers were read before the critic decided against them",
        "In enforce, text that was refused, revised, or to be refused had already reached the client: a stream that "
        "is passed through, or a reader of tokens that cannot be made to wait.",
        "answers-exposed",
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
        "DraftcriticSpoolOld",
        "ticket",
        _spool_old,
        "5m",
        "{service}: a draft has waited in the spool for {value} s",
        "The broker or the critic takes no drafts. They are kept until the spool's limits of size and age.",
        "spool-old",
    ),
    Alert(
        "DraftcriticQueueOld",
        "ticket",
        _queue_old,
        "5m",
        "{service}: 95 % of the drafts are reviewed after up to {value} s",
        "The workers of the fleet do not keep up with its agents. No draft is lost, but verdicts come late.",
        "queue-old",
    ),
    Alert(
        "DraftcriticDeadLetters",
        "ticket",
        _dead_letters,
        "0m",
        "{service}: {value} drafts were put aside unreviewed within an hour",
        "A draft of another release, or one whose review ends its process each time.",
        "dead-letters",
    ),
    Alert(
        "DraftcriticSilent",
        "page",
        _silent,
        "10m",
        "{service}: no review in 30 minutes, while the agent made {value} model calls",
        "The agent works and is not reviewed, though it was before. The plugin is off, not loaded, or its metrics do "
        "not arrive. The alert lasts until reviews come again.",
        "silent",
    ),
)
"""All alerts."""
