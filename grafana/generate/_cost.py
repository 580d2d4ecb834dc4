"""The dashboard *Cost by SKU*."""

from __future__ import annotations

from generate import _exported as names
from generate._build import BLUE, ORANGE, PER_SECOND, RED, Place, Query, bars, columns, lines, number, row
from generate._exported import in_range, per_second, ratio, shown
from generate._frame import AnyPanel, Board, frame, stand
from generate._variables import data_sources, labels

INPUT, OUTPUT = f'{names.DIRECTION}="input"', f'{names.DIRECTION}="output"'
BY_SKU = f"{{{{{names.SKU}}}}}"


def cost() -> Board:
    """Return the dashboard."""
    board = frame(
        "Cost by SKU",
        "What the critic's calls cost by the published price of each SKU, and against the agent's own tokens.",
        [*data_sources(jaeger=False), *labels()],
    )
    stand(board, row("In the time range"), _numbers())
    stand(board, row("By SKU"), _by_sku())
    stand(board, row("Critic against agent"), _against_agent())
    return board


def _numbers() -> list[AnyPanel]:
    small = Place(4, 4)
    spent = in_range(names.COST)
    asked = in_range(names.REVIEWS, names.ASKED)
    every = in_range(f"{names.AGENT_TOKENS}_sum")
    return [
        number(
            "Cost",
            "US dollars for the critic's calls in the time range, as far as the price of the SKU is known.",
            spent,
            unit="currencyUSD",
            place=small,
        ),
        number(
            "A month at this pace",
            "The cost of 30 days at the mean pace of the time range.",
            f"sum(rate({shown(names.COST)}[$__range])) * 86400 * 30",
            unit="currencyUSD",
            place=small,
            steps=((100, ORANGE), (1000, RED)),
        ),
        number(
            "Cost of 1,000 reviews",
            "US dollars for 1,000 reviews in which the model was asked.",
            f"1000 * {ratio(spent, asked)}",
            unit="currencyUSD",
            place=small,
        ),
        number(
            "Critic's calls",
            "Reviews in the time range in which the critic's model was asked.",
            f"round({asked})",
            unit="short",
            place=small,
        ),
        number(
            "Tokens",
            "Tokens of the critic's calls in the time range, input and output.",
            in_range(names.TOKENS),
            unit="short",
            place=small,
        ),
        number(
            "Critic's share of all tokens",
            "The critic's tokens in those of all model calls that the official GenAI instrumentation counts.",
            ratio(in_range(names.TOKENS), every),
            unit="percentunit",
            place=small,
            steps=((0.25, ORANGE), (0.5, RED)),
            decimals=1,
            empty="agent not measured",
        ),
    ]


def _by_sku() -> list[AnyPanel]:
    spent = in_range(names.COST, by=names.SKU)
    asked = in_range(names.REVIEWS, names.ASKED, by=names.SKU)
    tokens = in_range(names.TOKENS, by=names.SKU)
    return [
        lines(
            "Cost",
            "US dollars an hour for the critic's calls.",
            [Query(f"{per_second(names.COST, by=names.SKU)} * 3600", BY_SKU)],
            unit="currencyUSD",
            place=Place(12),
            stacked=True,
        ),
        lines(
            "Tokens",
            "Tokens a second, input and output.",
            [
                Query(
                    per_second(names.TOKENS, by=f"{names.SKU}, {names.DIRECTION}"),
                    f"{BY_SKU} {{{{{names.DIRECTION}}}}}",
                )
            ],
            unit=PER_SECOND,
            place=Place(12),
            stacked=True,
        ),
        columns(
            "SKUs",
            "The critic's calls in the time range. An empty cost is an unknown price.",
            [
                Query(f"round({asked}) > 0"),
                Query(in_range(names.TOKENS, INPUT, by=names.SKU)),
                Query(in_range(names.TOKENS, OUTPUT, by=names.SKU)),
                Query(spent),
                Query(f"1000 * {ratio(spent, asked, by=names.SKU)}"),
                Query(ratio(tokens, asked, by=names.SKU)),
            ],
            place=Place(16),
            joined_by=names.SKU,
            names={
                names.SKU: "SKU",
                "Value #A": "Calls",
                "Value #B": "Input tokens",
                "Value #C": "Output tokens",
                "Value #D": "Cost",
                "Value #E": "Cost of 1,000 calls",
                "Value #F": "Tokens a call",
            },
            units={
                "Calls": "short",
                "Input tokens": "short",
                "Output tokens": "short",
                "Cost": "currencyUSD",
                "Cost of 1,000 calls": "currencyUSD",
                "Tokens a call": "short",
            },
            sorted_by="Cost",
        ),
        bars(
            "Tokens without a known price",
            "Tokens in the time range of models whose price is not known: they are in no cost of this dashboard.",
            Query(f"sort_desc({tokens} > 0 unless on ({names.SKU}) {spent})", BY_SKU),
            unit="short",
            place=Place(8),
            empty="every price is known",
        ),
    ]


def _against_agent() -> list[AnyPanel]:
    every = f"{names.AGENT_TOKENS}_sum"
    critic = per_second(names.TOKENS)
    return [
        lines(
            "Critic's share of all tokens",
            "The critic's tokens in those of all model calls that the official GenAI instrumentation counts.",
            [Query(ratio(critic, per_second(every)), "critic")],
            unit="percentunit",
            place=Place(12),
            colours={"critic": ORANGE},
        ),
        lines(
            "Tokens of all model calls",
            "Tokens a second by model, the critic's own calls among them, from the official GenAI instrumentation.",
            [
                Query(
                    per_second(every, by=f"{names.AGENT_MODEL}, {names.TOKEN_TYPE}"),
                    f"{{{{{names.AGENT_MODEL}}}}} {{{{{names.TOKEN_TYPE}}}}}",
                )
            ],
            unit=PER_SECOND,
            place=Place(12),
            stacked=True,
            colours={"critic": ORANGE, "agent": BLUE},
        ),
    ]
