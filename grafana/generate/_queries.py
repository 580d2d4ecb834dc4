"""The PromQL of the files with the dashboards' variables filled in, and its execution against a Prometheus."""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

EVERYTHING = {"service": ".*", "environment": ".*", "sku": ".*", "__rate_interval": "1m", "__range": "30m"}
"""Values of the dashboards' variables that choose everything."""
MAY_BE_EMPTY = {
    ("Cost by SKU", "Tokens without a known price"): "empty when every price is known",
    ("Critic overview", "Policy file"): "empty without a policy file",
    ("Critic overview", "Errors found in self-tests"): "empty until `draftcritic selftest` has run with telemetry",
    ("Critic overview", "Which rules break"): "empty when no rule was named as broken",
    ("Review explorer", "Refused and revised reviews"): "empty when every review approved",
}
"""Panels that rightly have no data on a healthy system, and why."""
_WITHIN_S = 30


@dataclass(frozen=True)
class PanelQuery:
    """One query of a panel.

    Attributes:
        dashboard: title of the dashboard.
        panel: title of the panel.
        expr: PromQL as written in the file.
    """

    dashboard: str
    panel: str
    expr: str

    def filled(self, variables: Mapping[str, str] = EVERYTHING) -> str:
        """Return PromQL without variables."""
        expr = self.expr
        for name in sorted(variables, key=len, reverse=True):
            expr = expr.replace(f"${name}", variables[name])
        return expr


def panels_of(board: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Return the panels of a dashboard without the headlines."""
    for panel in board["panels"]:
        yield from panel.get("panels") or []
        if panel["type"] != "row":
            yield panel


def queries_of(board: Mapping[str, Any]) -> Iterator[PanelQuery]:
    """Return the PromQL of a dashboard's panels."""
    for panel in panels_of(board):
        for target in panel.get("targets", ()):
            if "expr" in target:
                yield PanelQuery(board["title"], panel["title"], target["expr"])


def ask(prometheus: str, expr: str, **when: str) -> list[dict[str, Any]]:
    """Return the series that a Prometheus answers, at once or over a range.

    Args:
        prometheus: its address.
        expr: PromQL.
        when: `time`, or `start`, `end` and `step`; nothing is now.

    Raises:
        OSError: It cannot be reached, or refuses the query.
    """
    path = "query_range" if "step" in when else "query"
    form = urllib.parse.urlencode({"query": expr, **when}).encode()
    request = urllib.request.Request(f"{prometheus}/api/v1/{path}", data=form)  # noqa: S310 - the caller's address
    with urllib.request.urlopen(request, timeout=_WITHIN_S) as answer:  # noqa: S310 - as above
        series: list[dict[str, Any]] = json.load(answer)["data"]["result"]
    return series


def numbers_of(series: Mapping[str, Any]) -> list[float]:
    """Return the values of a series, instant or range."""
    points = series.get("values") or [series["value"]]
    return [float(value) for _, value in points]
