"""What all dashboards have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from grafana_foundation_sdk.builders.dashboard import Dashboard, DashboardLink, Row
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    DashboardLinkType,
    Panel,
    VariableModel,
)

AnyPanel: TypeAlias = Builder[Panel]
Board: TypeAlias = Dashboard
TAG = "draftcritic"


def frame(title: str, description: str, variables: Sequence[Builder[VariableModel]]) -> Board:
    """Return a dashboard without panels. It has no uid: Grafana gives one, and links go by the tag."""
    board = (
        Dashboard(title)
        .description(description)
        .tags([TAG])
        .time("now-1h", "now")
        .refresh("30s")
        .timezone("browser")
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .link(
            DashboardLink("draftcritic")
            .type(DashboardLinkType.DASHBOARDS)
            .tags([TAG])
            .as_dropdown(False)
            .include_vars(False)
            .keep_time(True)
        )
    )
    for variable in variables:
        board.with_variable(variable)
    return board


def stand(board: Board, headline: Row, panels: Sequence[Any]) -> None:
    """Put panels under a headline, from left to right."""
    board.with_row(headline)
    for panel in panels:
        board.with_panel(panel)
