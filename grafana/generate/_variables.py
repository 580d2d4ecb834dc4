"""The variables on top of the dashboards."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import DatasourceVariable, QueryVariable, TextBoxVariable
from grafana_foundation_sdk.models.dashboard import DataSourceRef, VariableOption, VariableRefresh, VariableSort

from generate import _exported as names

PROMETHEUS = DataSourceRef(type_val="prometheus", uid="${datasource}")
JAEGER = DataSourceRef(type_val="jaeger", uid="${jaeger}")
EVERY_REVIEW = "draftcritic.node_name=metacognition_critic"
"""A tag that every review span has: it means All where Jaeger wants one tag."""


def data_sources(*, jaeger: bool) -> list[DatasourceVariable]:
    """Return the variables that choose the data sources; no dashboard names one itself."""
    chosen = [
        DatasourceVariable("datasource")
        .label("Prometheus")
        .description("Where the collector's metrics are.")
        .type("prometheus")
    ]
    if jaeger:
        chosen.append(
            DatasourceVariable("jaeger").label("Jaeger").description("Where the traces are.").type("jaeger"),
        )
    return chosen


def labels() -> list[QueryVariable]:
    """Return service, environment and SKU, each with All."""
    service = f'{names.SERVICE}=~"$service"'
    return [
        _of_label("service", "Service", names.REVIEWS, names.SERVICE, "service.name of the agent."),
        _of_label(
            "environment",
            "Environment",
            f"{names.REVIEWS}{{{service}}}",
            names.ENVIRONMENT,
            "deployment.environment.name of the agent; All also shows agents that name none.",
        ),
        _of_label(
            "sku",
            "SKU",
            f"{names.REVIEWS}{{{service}}}",
            names.SKU,
            "Normalised name of the critic's model; unknown: reviews that needed no model.",
        ),
    ]


def one_service() -> QueryVariable:
    """Return the variable for Jaeger's search, which wants one service by name."""
    return _query("service", "Service", f"label_values({names.REVIEWS}, {names.SERVICE})").description(
        "service.name of the agent; Jaeger searches one service at a time."
    )


def tag(name: str, label: str, attribute: str) -> QueryVariable:
    """Return a variable whose values are tags for Jaeger's search, made of a label of the reviews.

    Args:
        name: name of the variable.
        label: the text in front of it; also the name of the tag on the span.
        attribute: the span's attribute, whose label in Prometheus has underscores.
    """
    exported = attribute.replace(".", "_")
    of_service = f'{names.REVIEWS}{{{names.SERVICE}="$service"}} > 0'
    values = f'group by (tag) (label_replace({of_service}, "tag", "{attribute}=$1", "{exported}", "(.+)"))'
    return (
        _query(name, label, f"query_result({values})")
        .description(f"Searched in Jaeger as the tag {attribute}.")
        .regex(f'/tag="(?<value>{attribute}=(?<text>[^"]+))"/')
        .include_all(True)
        .all_value(EVERY_REVIEW)
        .current(VariableOption(text="All", value="$__all"))
    )


def jaeger_address() -> TextBoxVariable:
    """Return the variable for the address of Jaeger's own pages, for links out of tables."""
    return (
        TextBoxVariable("jaeger_url")
        .label("Jaeger UI")
        .description("Address of Jaeger's pages, as the reader's browser sees it.")
        .default_value("http://localhost:16686")
    )


def _of_label(name: str, label: str, selector: str, exported: str, description: str) -> QueryVariable:
    return (
        _query(name, label, f"label_values({selector}, {exported})")
        .description(description)
        .multi(True)
        .include_all(True)
        .all_value(".*")
        .current(VariableOption(text=["All"], value=["$__all"]))
    )


def _query(name: str, label: str, query: str) -> QueryVariable:
    return (
        QueryVariable(name)
        .label(label)
        .datasource(PROMETHEUS)
        .query({"qryType": 3 if query.startswith("query_result") else 1, "query": query, "refId": f"variable-{name}"})
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.ALPHABETICAL_ASC)
    )
