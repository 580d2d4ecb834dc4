"""The dashboard *Review explorer*."""

from __future__ import annotations

from grafana_foundation_sdk.builders import table
from grafana_foundation_sdk.models.dashboard import DynamicConfigValue

from generate import _exported as names
from generate._build import ORANGE, PER_SECOND, RED, VERDICT_COLOURS, Place, Query, columns, lines, linked, number, row
from generate._frame import AnyPanel, Board, frame, stand
from generate._jaeger import JaegerSearch, TraceSearch
from generate._variables import JAEGER, data_sources, jaeger_address, one_service, tag

HALF = Place(12, 10)
LIMIT = 100
"""Traces of one search."""
OF_SERVICE = f'{names.SERVICE}=~"$service"'
OPERATION = "draftcritic.review"
REFUSED = f'{names.VERDICT}="refuse"'
REVISED = f'{names.VERDICT}="revise"'
NOT_APPROVED = f'{names.VERDICT}=~"revise|refuse"'
CHOSEN = "$environment $sku $reason"


def explorer() -> Board:
    """Return the dashboard."""
    board = frame(
        "Review explorer",
        "The traces of refused and revised drafts and of failed reviews, by service, SKU and reason.",
        [
            *data_sources(jaeger=True),
            one_service(),
            tag("environment", "Environment", "deployment.environment.name"),
            tag("sku", "SKU", "draftcritic.sku"),
            tag("reason", "Reason", "draftcritic.gate.reason"),
            jaeger_address(),
        ],
    )
    stand(board, row("How many, of which service, SKU and reason"), _counts())
    stand(board, row("Traces"), _traces())
    return board


def _reviews(*matchers: str) -> str:
    return f"{names.REVIEWS}{{{','.join((OF_SERVICE, *matchers))}}}"


def _grown(*matchers: str, by: str = "") -> str:
    return f"sum{f' by ({by}) ' if by else ''}(increase({_reviews(*matchers)}[$__range]))"


def _counts() -> list[AnyPanel]:
    by = f"{names.SERVICE}, {names.VERDICT}, {names.SKU}, {names.GATE_REASON}, {names.SOURCE}"
    table_of = columns(
        "Refused and revised reviews",
        "Reviews in the time range that did not approve. A click on a SKU or a reason searches its traces below.",
        [Query(f"round({_grown(NOT_APPROVED, by=by)}) > 0")],
        place=Place(12),
        joined_by="",
        names={
            names.VERDICT: "Verdict",
            names.SERVICE: "Service",
            names.SKU: "SKU",
            names.GATE_REASON: "Reason",
            names.SOURCE: "Source",
            "Value": "Reviews",
        },
        units={"Reviews": "short"},
        sorted_by="Reviews",
    )
    here = (
        "/d/${__dashboard.uid}?${datasource:queryparam}&${jaeger:queryparam}&${service:queryparam}&${__url_time_range}"
    )
    for name, variable, attribute in (
        ("SKU", "sku", "draftcritic.sku"),
        ("Reason", "reason", "draftcritic.gate.reason"),
    ):
        url = f"{here}&var-{variable}={attribute}=${{__value.raw}}"
        linked(table_of, name, f"Search the traces of this {name}", url)
    per_second = f"sum by ({names.VERDICT}) (rate({_reviews(NOT_APPROVED)}[$__rate_interval]))"
    return [
        number(
            "Refused",
            "Drafts in the time range that the critic refused.",
            f"round({_grown(REFUSED)})",
            unit="short",
            place=Place(3),
            steps=((1, RED),),
        ),
        number(
            "Revised",
            "Drafts in the time range that the critic would have said otherwise.",
            f"round({_grown(REVISED)})",
            unit="short",
            place=Place(3),
            steps=((1, ORANGE),),
        ),
        table_of,
        lines(
            "Refused and revised",
            "Reviews a second that did not approve. Exemplars open the trace.",
            [Query(per_second, f"{{{{{names.VERDICT}}}}}", exemplars=True)],
            unit=PER_SECOND,
            place=Place(6),
            stacked=True,
            colours=VERDICT_COLOURS,
        ),
    ]


def _traces() -> list[AnyPanel]:
    return [
        _search("Refused drafts", "the critic refused the draft", "draftcritic.verdict=refuse"),
        _search("Revised drafts", "the critic would have said it otherwise", "draftcritic.verdict=revise"),
        _search("Failed reviews", "the critic itself failed", "draftcritic.outcome=failed", Place(24, 8)),
    ]


def _search(title: str, meaning: str, wanted: str, place: Place = HALF) -> table.Panel:
    """Return a table of the newest traces that bear a tag; each row opens its trace."""
    query = TraceSearch(
        {"service": "$service", "operation": OPERATION, "tags": f"{wanted} {CHOSEN}", "limit": LIMIT}, "A", JAEGER
    )
    panel = (
        table.Panel()
        .title(title)
        .description(f"The newest traces, {LIMIT} at most, in which {meaning}, from Jaeger's search by tag.")
        .datasource(JAEGER)
        .no_value("none found")
        .span(place.width)
        .height(place.height)
        .min_width(60)
        .with_target(JaegerSearch(query))
        .show_header(True)
    )
    panel.override_by_name("Duration", [DynamicConfigValue(id_val="unit", value="µs")])
    return linked(panel, "Trace ID", "Open in Jaeger", "${jaeger_url}/trace/${__value.raw}")
