"""What every dashboard has: variables, descriptions, units, thresholds, and queries of what is exported."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import promql_parser
import pytest
from generate._queries import panels_of, queries_of

from draftcritic.telemetry._schema import SCHEMA, MetricInfo

THIRD_PARTY = {"gen_ai_client_token_usage_sum"}
FOREIGN_LABELS = {"service_name", "deployment_environment_name", "le", "gen_ai_request_model", "gen_ai_token_type"}
UNITS = {"s": "_seconds", "USD": "_USD"}


def exported(metric: MetricInfo) -> set[str]:
    """The names of a metric's series as the collector exports them."""
    name = metric.name.replace(".", "_") + UNITS.get(metric.unit, "")
    if metric.kind == "counter":
        return {f"{name}_total"}
    if metric.kind == "gauge":
        return {f"{name}_ratio" if metric.unit == "1" else name}
    return {f"{name}_bucket", f"{name}_count", f"{name}_sum"}


EXPORTED = set().union(*map(exported, SCHEMA.metrics)) | THIRD_PARTY
LABELS = {label.replace(".", "_") for metric in SCHEMA.metrics for label in metric.labels} | FOREIGN_LABELS


def selectors(expr: str) -> Iterator[tuple[str, str]]:
    """Each selector of a query: the metric and its matchers."""
    return ((found[1], found[2]) for found in re.finditer(r"\b([a-zA-Z_:][\w:]*)\{([^}]*)\}", expr))


def test_it_names_no_data_source_and_no_uid(board: dict[str, Any]) -> None:
    assert "uid" not in board
    assert "__inputs" not in board
    chosen = {f"${{{one['name']}}}": one["query"] for one in board["templating"]["list"] if one["type"] == "datasource"}
    for panel in panels_of(board):
        for source in (panel["datasource"], *(target["datasource"] for target in panel["targets"])):
            assert chosen[source["uid"]] == source["type"]


def test_it_has_the_variables(board: dict[str, Any]) -> None:
    variables = {one["name"]: one for one in board["templating"]["list"]}
    assert {"datasource", "service", "environment", "sku"} <= set(variables)
    assert all(one["description"] for one in variables.values())
    assert all(one["datasource"]["uid"] == "${datasource}" for one in variables.values() if one["type"] == "query")
    assert board["tags"] == ["draftcritic"]


def test_each_panel_explains_itself(board: dict[str, Any]) -> None:
    for panel in panels_of(board):
        defaults = panel["fieldConfig"]["defaults"]
        assert panel["title"], panel
        assert len(panel["description"]) > 20, panel["title"]
        assert defaults["noValue"], panel["title"]
        if panel["datasource"]["type"] == "prometheus":
            assert defaults["unit"], panel["title"]
            assert defaults["thresholds"]["steps"], panel["title"]


def test_panels_lie_side_by_side(board: dict[str, Any]) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells


def test_each_query_parses_and_asks_for_what_is_exported(board: dict[str, Any]) -> None:
    queries = list(queries_of(board))
    assert queries
    for query in queries:
        expr = query.filled()
        promql_parser.parse(expr)
        assert "$" not in expr, query.panel
        asked = list(selectors(query.expr))
        assert asked, query.panel
        for metric, matchers in asked:
            assert metric in EXPORTED, query.panel
            assert set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"", matchers)) <= LABELS, query.panel
        for by in re.findall(r"(?:by|on) \(([^)]+)\)", query.expr):
            assert set(by.replace(" ", "").split(",")) <= LABELS, query.panel


def test_each_ratio_and_quantile_guards_against_nan(board: dict[str, Any]) -> None:
    for query in queries_of(board):
        for divisor in re.finditer(r"/ (on \(\w+\) )?(.)", query.expr):
            # Either a number of seconds or a comparison in brackets that leaves nothing to divide by zero.
            rest = query.expr[divisor.end() - 1 :]
            assert _closed(rest).endswith(" > 0)"), query.expr
        if "histogram_quantile" in query.expr:
            assert query.expr.endswith(">= 0"), query.expr


def _closed(text: str) -> str:
    depth = 0
    for at, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth == 0:
            return text[: at + 1]
    raise AssertionError(text)


@pytest.mark.parametrize("metric", SCHEMA.metrics, ids=lambda metric: metric.name)
def test_each_metric_is_on_a_dashboard(metric: MetricInfo, all_queries: str) -> None:
    assert any(name in all_queries for name in exported(metric))
