"""The dashboard *Critic overview*."""

from __future__ import annotations

from generate import _exported as names
from generate._build import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PER_SECOND,
    RED,
    VERDICT_COLOURS,
    Place,
    Query,
    bars,
    heat,
    lines,
    number,
    row,
)
from generate._exported import in_range, per_second, per_step, quantile, ratio, shown
from generate._frame import AnyPanel, Board, frame, stand
from generate._variables import data_sources, labels

FEW = 20
"""Fewer drafts than this say nothing of a gate that fires on everything."""
REFUSE = f'{names.VERDICT}="refuse"'
REVISE = f'{names.VERDICT}="revise"'


def overview() -> Board:
    """Return the dashboard."""
    board = frame(
        "Critic overview",
        "What the critic says of the agents' drafts, how often it is asked, how long it takes and what it costs.",
        [*data_sources(jaeger=False), *labels()],
    )
    for title, panels in (
        ("At a glance", _glance()),
        ("Verdicts", _verdicts()),
        ("Gate", _gate()),
        ("Time", _time()),
        ("Cost and tokens", _cost()),
        ("Fabrications and the critic's own health", _health()),
        ("Fleet", _fleet()),
    ):
        stand(board, row(title), panels)
    return board


def _fleet() -> list[AnyPanel]:
    third = Place(8, 8)
    age = f"sum by (le) (rate({shown(names.QUEUE_AGE + '_bucket')}[$__rate_interval]))"
    return [
        lines(
            "Age of waiting drafts",
            "How long the oldest draft in a spool has waited, and how old 95 % of the drafts are at their review.",
            [
                Query(f"max({shown(names.SPOOL_AGE)})", "oldest in a spool"),
                Query(f"histogram_quantile(0.95, {age}) >= 0", "p95 at the review"),
            ],
            unit="s",
            place=third,
        ),
        lines(
            "Spools",
            "Bytes of the drafts that wait in the spools of all processes.",
            [Query(f"sum({shown(names.SPOOL_BYTES)})", "all processes")],
            unit="bytes",
            place=third,
        ),
        lines(
            "Dead letters and repeats",
            "Drafts put aside, drafts that came again after a kill, calls that each process decided by its "
            "part of the budgets because their store was away, and drafts of processes with another release.",
            [
                Query(per_second(names.DEAD_LETTERED), "dead letters"),
                Query(per_second(names.REDELIVERED), "delivered again"),
                Query(per_second(names.BUDGET_LOCAL), "without the budget store"),
                Query(per_second(names.OTHER_RELEASE), "of another release"),
            ],
            unit=PER_SECOND,
            place=third,
        ),
        lines(
            "Modes in effect",
            "Processes by the mode in effect, as the settings file may have lowered it.",
            [Query(f"count by (draftcritic_mode) ({shown(names.INFO)})", "{{draftcritic_mode}}")],
            unit="short",
            place=Place(12, 8),
            stacked=True,
        ),
        lines(
            "Policies in effect",
            "Processes by release and version of the policy: two at once while a change reaches the fleet.",
            [
                Query(
                    f"count by (draftcritic_version, draftcritic_policy_version) ({shown(names.INFO)})",
                    "{{draftcritic_version}} {{draftcritic_policy_version}}",
                )
            ],
            unit="short",
            place=Place(12, 8),
            stacked=True,
        ),
    ]


def _glance() -> list[AnyPanel]:
    small = Place(4, 4)
    fired = in_range(names.DECISIONS, names.FIRED)
    evaluated = in_range(names.DECISIONS, names.EVALUATED)
    reviews = in_range(names.REVIEWS, names.REFLECTED)
    return [
        number(
            "Reviews",
            "Reviews of any outcome, a second, over the last few minutes.",
            per_second(names.REVIEWS),
            unit=PER_SECOND,
            place=small,
            decimals=2,
        ),
        number(
            "Refuse rate",
            "Share of the verdicts of the critic's model in the time range that refuse. The alerts take 5 % as the "
            "objective.",
            ratio(in_range(names.REVIEWS, names.REFLECTED, REFUSE), reviews),
            unit="percentunit",
            place=small,
            steps=((0.05, ORANGE), (0.2, RED)),
            decimals=1,
        ),
        number(
            "Revise rate",
            "Share of the verdicts of the critic's model in the time range that want another answer.",
            ratio(in_range(names.REVIEWS, names.REFLECTED, REVISE), reviews),
            unit="percentunit",
            place=small,
            steps=((0.15, ORANGE), (0.3, RED)),
            decimals=1,
        ),
        number(
            "Failure rate",
            "Share of the drafts on which the gate fired and the critic itself failed: timeout, error, an answer "
            "that cannot be read. Reviews that the application gave up are left out.",
            ratio(in_range(names.FAILURES, names.FAILED), fired),
            unit="percentunit",
            place=small,
            steps=((0.02, ORANGE), (0.1, RED)),
            decimals=1,
        ),
        number(
            "Gate fire rate",
            "Share of the evaluated drafts on which the gate fired, so that the critic was asked.",
            ratio(fired, evaluated),
            unit="percentunit",
            place=small,
            steps=((0.8, ORANGE), (0.95, RED)),
            decimals=1,
        ),
        number(
            "Fires on everything",
            "Whether the gate fired on more than 95 % of the evaluated drafts in the time range: it then selects "
            f"nothing, and every draft costs a model call. Needs at least {FEW} drafts.",
            f"({ratio(fired, evaluated)} > bool 0.95) and ({evaluated} >= {FEW})",
            unit="none",
            place=small,
            empty="too few drafts",
            words={"0": ("no", GREEN), "1": ("yes", RED)},
        ),
    ]


def _verdicts() -> list[AnyPanel]:
    reflected = per_second(names.REVIEWS, names.REFLECTED)
    return [
        lines(
            "Verdicts",
            "Reviews with a verdict, a second, by verdict, stacked. Exemplars open the trace of a review.",
            [
                Query(
                    per_second(names.REVIEWS, names.JUDGED, by=names.VERDICT),
                    f"{{{{{names.VERDICT}}}}}",
                    exemplars=True,
                )
            ],
            unit=PER_SECOND,
            place=Place(10),
            stacked=True,
            colours=VERDICT_COLOURS,
        ),
        lines(
            "Refuse and revise rate",
            "Share of the verdicts of the critic's model. The dashed line is the objective of the refuse alerts, 5 %.",
            [
                Query(ratio(per_second(names.REVIEWS, names.REFLECTED, each), reflected), verdict)
                for verdict, each in (("refuse", REFUSE), ("revise", REVISE))
            ],
            unit="percentunit",
            place=Place(7),
            steps=((0.05, RED),),
            colours=VERDICT_COLOURS,
        ),
        lines(
            "Who reached the verdict",
            "Reviews with a verdict, a second, by who reached it: the critic's model (reflection) or the fabrication "
            "check.",
            [Query(per_second(names.REVIEWS, names.JUDGED, by=names.SOURCE), f"{{{{{names.SOURCE}}}}}")],
            unit=PER_SECOND,
            place=Place(7),
            stacked=True,
        ),
        lines(
            "How reviews ended",
            "Reviews a second by outcome. Only judged ones have a verdict; the others were skipped by the gate, kept "
            "from the model by a limit, failed, cancelled by the application, muted, or made in mode gate.",
            [Query(per_second(names.REVIEWS, by=names.OUTCOME), f"{{{{{names.OUTCOME}}}}}")],
            unit=PER_SECOND,
            place=Place(8),
            stacked=True,
        ),
        bars(
            "Which rules break",
            "Times in the time range that the critic named a preference or rule as broken, by its id and the verdict. "
            "Other is any rule that is not loaded, such as those of a rules source.",
            Query(
                f"sort_desc(round({in_range(names.VIOLATIONS, by=f'{names.RULE}, {names.VERDICT}')}) > 0)",
                f"{{{{{names.RULE}}}}} ({{{{{names.VERDICT}}}}})",
            ),
            unit="short",
            place=Place(8),
        ),
        lines(
            "Findings per draft",
            "Findings of the fabrication check for each draft that the gate evaluated.",
            [Query(ratio(per_second(names.FABRICATIONS), per_second(names.DECISIONS, names.EVALUATED)), "findings")],
            unit="percentunit",
            place=Place(8),
        ),
    ]


def _gate() -> list[AnyPanel]:
    by = f"{names.DECISION}, {names.GATE_REASON}"
    drafts = f'{names.GATE_REASON}!~"not_a_draft|nested"'
    lost = f'{names.DECISION}="not_evaluated",{names.GATE_REASON}!~"not_a_draft|nested|disabled"'
    return [
        bars(
            "Reasons",
            "Drafts in the time range by why the gate did what it did. Answers that are no drafts are left out: tool "
            "calls, empty answers, and model calls inside others.",
            Query(
                f"sort_desc(round({in_range(names.DECISIONS, drafts, by=by)}) > 0)",
                f"{{{{{names.GATE_REASON}}}}} ({{{{{names.DECISION}}}}})",
            ),
            unit="short",
            place=Place(7, 9),
        ),
        lines(
            "Gate fire rate",
            "Share of the evaluated drafts on which the gate fired. The dashed line marks a gate that fires on "
            "everything, 95 %.",
            [
                Query(
                    ratio(
                        per_second(names.DECISIONS, names.FIRED),
                        per_second(names.DECISIONS, names.EVALUATED),
                    ),
                    "fired",
                )
            ],
            unit="percentunit",
            place=Place(6, 9),
            steps=((0.95, RED),),
            colours={"fired": BLUE},
        ),
        lines(
            "Sampling, budget and circuit",
            "Drafts that passed without a review: left out by sampling, over budget, the circuit breaker open, the "
            "queue full, given up by the application.",
            [Query(per_second(names.DECISIONS, lost, by=names.GATE_REASON), f"{{{{{names.GATE_REASON}}}}}")],
            unit=PER_SECOND,
            place=Place(6, 9),
            stacked=True,
        ),
        heat(
            "Confidence",
            "Evaluated drafts by the confidence that the gate computed. The legacy gate fires below its threshold, "
            "0.6 where the settings say nothing else.",
            Query(per_step(f"{names.CONFIDENCE}_bucket", by="le"), "{{le}}"),
            unit="percentunit",
            place=Place(5, 9),
        ),
    ]


def _time() -> list[AnyPanel]:
    asked = (names.ASKED,)
    return [
        lines(
            "Review time",
            "How long reviews take in which the model was asked. Exemplars open the trace. The dashed line is the "
            "threshold of the alert on p95.",
            [
                Query(quantile(0.5, matchers=asked), "p50"),
                Query(quantile(0.95, matchers=asked), "p95", exemplars=True),
                Query(quantile(0.99, matchers=asked), "p99"),
            ],
            unit="s",
            place=Place(8),
            steps=((5, RED),),
        ),
        heat(
            "Review time, all reviews",
            "Reviews by duration: the quick band is reviews that the gate ended without a model call.",
            Query(
                per_step(f"{names.DURATION}_bucket", by="le"),
                "{{le}}",
                exemplars=True,
            ),
            unit="s",
            place=Place(8),
        ),
        lines(
            "p95 by SKU",
            "How long 95 % of the reviews took at most, by the critic's model.",
            [Query(quantile(0.95, by=names.SKU, matchers=asked), f"{{{{{names.SKU}}}}}")],
            unit="s",
            place=Place(8),
        ),
    ]


def _cost() -> list[AnyPanel]:
    critic = per_second(names.TOKENS)
    every = per_second(f"{names.AGENT_TOKENS}_sum")
    return [
        lines(
            "Cost by SKU",
            "US dollars an hour for the critic's calls, by the published price of the SKU. A model without a known "
            "price is missing here, not free.",
            [Query(f"{per_second(names.COST, by=names.SKU)} * 3600", f"{{{{{names.SKU}}}}}")],
            unit="currencyUSD",
            place=Place(8),
            stacked=True,
        ),
        lines(
            "Tokens by SKU",
            "Tokens a second of the critic's calls, as far as the provider reports them.",
            [
                Query(
                    per_second(names.TOKENS, by=f"{names.SKU}, {names.DIRECTION}"),
                    f"{{{{{names.SKU}}}}} {{{{{names.DIRECTION}}}}}",
                )
            ],
            unit=PER_SECOND,
            place=Place(8),
            stacked=True,
        ),
        lines(
            "Critic against agent",
            "Tokens a second. The agent's are those that the official GenAI instrumentation counts, less the "
            "critic's, which it counts too; without that instrumentation only the critic is shown.",
            [
                Query(critic, "critic"),
                Query(f"clamp_min({every} - {critic}, 0)", "agent"),
            ],
            unit=PER_SECOND,
            place=Place(8),
            colours={"critic": ORANGE, "agent": BLUE},
        ),
    ]


def _health() -> list[AnyPanel]:
    quarter = Place(6)
    return [
        lines(
            "Fabrications by kind",
            "Findings of the fabrication check: identifiers and claims that nothing in the turn grounds.",
            [Query(per_second(names.FABRICATIONS, by=names.KIND), f"{{{{{names.KIND}}}}}")],
            unit=PER_SECOND,
            place=quarter,
            stacked=True,
        ),
        lines(
            "Doubts by answer",
            "What the fabrication check is unsure of, by what the critic said of the draft: none (it was not asked, or "
            "failed), its verdict, or confirmed with a quote of a source.",
            [Query(per_second(names.DOUBTS, by=names.ANSWER), f"{{{{{names.ANSWER}}}}}")],
            unit=PER_SECOND,
            place=quarter,
            stacked=True,
        ),
        lines(
            "Made-up quotes",
            "Reviews in which the critic quoted words that neither the draft nor the evidence has, by its verdict; "
            "without a verdict (none) the quotes were all that it rested on.",
            [Query(per_second(names.MISQUOTED, by=names.VERDICT), f"{{{{{names.VERDICT}}}}}")],
            unit=PER_SECOND,
            place=quarter,
            stacked=True,
        ),
        lines(
            "Failures of the critic",
            "Reviews in which the critic itself failed, by how.",
            [Query(per_second(names.FAILURES, by=names.FAILURE), f"{{{{{names.FAILURE}}}}}")],
            unit=PER_SECOND,
            place=quarter,
            stacked=True,
        ),
        lines(
            "Queue",
            "Reviews that wait in the background queue: the longest queue of a process, and all of them together.",
            [
                Query(f"max({shown(names.QUEUE_DEPTH)})", "longest"),
                Query(f"sum({shown(names.QUEUE_DEPTH)})", "all processes"),
            ],
            unit="short",
            place=quarter,
        ),
        lines(
            "Drops",
            "Drafts that were lost before their review: the queue was full, the process ended, or an error of ours.",
            [Query(per_second(names.DROPPED, by=names.DROP_REASON), f"{{{{{names.DROP_REASON}}}}}")],
            unit=PER_SECOND,
            place=quarter,
            stacked=True,
            colours={"shutdown": GREY, "queue_full": RED, "error": ORANGE},
        ),
        lines(
            "Circuit",
            "State of the circuit breaker by the critic's model: 0 closed, 1 half-open, 2 open; the worst process "
            "counts. While it is open, drafts pass without a review.",
            [Query(f"max by ({names.SKU}) ({shown(names.CIRCUIT)})", f"{{{{{names.SKU}}}}}")],
            unit="none",
            place=Place(12, 6),
            steps=((2, RED),),
        )
        .max(2)
        .decimals(0),
        number(
            "Policy file",
            "Whether the policy's file is valid in every process; where it is not, the last valid policy stays in use.",
            f"min({shown(names.POLICY)})",
            unit="none",
            place=Place(6, 6),
            empty="no policy file",
            words={"1": ("valid", GREEN), "0": ("invalid", RED)},
        ),
        lines(
            "Errors found in self-tests",
            "Share of the damaged drafts of the last `draftcritic selftest` that the critic found, by damage. A "
            "test is shown for two days.",
            [
                Query(
                    f"min by ({names.DAMAGE}) (last_over_time({shown(names.SELFTEST_RECALL)}[2d]))",
                    f"{{{{{names.DAMAGE}}}}}",
                )
            ],
            unit="percentunit",
            place=Place(18, 6),
        ),
    ]
