"""Panels in this project's shape: each has a description, a unit, and words where there is no data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from grafana_foundation_sdk.builders import bargauge, common, dashboard, heatmap, prometheus, stat, table, timeseries
from grafana_foundation_sdk.models import common as options
from grafana_foundation_sdk.models.dashboard import (
    DataTransformerConfig,
    DynamicConfigValue,
    FieldColorModeId,
    Threshold,
    ThresholdsMode,
    ValueMap,
    ValueMappingResult,
)
from grafana_foundation_sdk.models.heatmap import HeatmapColorMode, HeatmapColorScale
from grafana_foundation_sdk.models.prometheus import PromQueryFormat, QueryEditorMode

from generate._variables import PROMETHEUS

GREEN, YELLOW, ORANGE, RED, BLUE, PURPLE, GREY = "green", "#EAB839", "orange", "red", "blue", "purple", "#808080"
VERDICT_COLOURS = {"approve": GREEN, "revise": ORANGE, "refuse": RED}
NO_DATA = "no data"
PER_SECOND = "suffix: /s"

AnyPanel = TypeVar("AnyPanel", timeseries.Panel, stat.Panel, heatmap.Panel, table.Panel, bargauge.Panel)
Steps = Sequence[tuple[float, str]]


@dataclass(frozen=True)
class Place:
    """How much of a row of 24 columns a panel takes.

    Attributes:
        width: columns.
        height: rows of 30 pixels.
    """

    width: int
    height: int = 8


@dataclass(frozen=True)
class Query:
    """One query of a panel.

    Attributes:
        expr: PromQL.
        legend: the series' name, with labels as `{{label}}`.
        exemplars: also ask for exemplars.
    """

    expr: str
    legend: str = ""
    exemplars: bool = False


def lines(
    title: str,
    description: str,
    queries: Sequence[Query],
    *,
    unit: str,
    place: Place,
    stacked: bool = False,
    steps: Steps = (),
    colours: Mapping[str, str] | None = None,
) -> timeseries.Panel:
    """Return lines over time, or stacked areas.

    Args:
        title: title of the panel.
        description: what is shown and how to read it.
        queries: what is asked.
        unit: Grafana's id of the unit.
        place: size.
        stacked: stack the series as areas.
        steps: thresholds, drawn as lines.
        colours: fixed colours by series name.
    """
    panel = _panel(timeseries.Panel(), title, description, unit, place)
    for index, query in enumerate(queries):
        panel.with_target(_target(query, index).range())
    panel.draw_style(options.GraphDrawStyle.LINE).line_width(1).min(0)
    panel.fill_opacity(45 if stacked else 8).show_points(options.VisibilityMode.AUTO)
    panel.legend(
        common.VizLegendOptions()
        .show_legend(True)
        .display_mode(options.LegendDisplayMode.LIST)
        .placement(options.LegendPlacement.BOTTOM)
        .calcs([])
    )
    panel.tooltip(common.VizTooltipOptions().mode(options.TooltipDisplayMode.MULTI).sort(options.SortOrder.DESCENDING))
    if unit == PER_SECOND:
        # What hardly ever happens shall not look like a lot, nor nothing like a hundred.
        panel.axis_soft_max(0.1)
    if stacked:
        panel.stacking(common.StackingConfig().mode(options.StackingMode.NORMAL).group("A"))
    _thresholds(panel, steps)
    if steps:
        panel.thresholds_style(common.GraphThresholdsStyleConfig().mode(options.GraphThresholdsStyleMode.DASHED))
    for name, colour in (colours or {}).items():
        fixed = DynamicConfigValue(id_val="color", value={"mode": "fixed", "fixedColor": colour})
        panel.override_by_name(name, [fixed])
    return panel


def number(
    title: str,
    description: str,
    expr: str,
    *,
    unit: str,
    place: Place,
    steps: Steps = (),
    decimals: int | None = None,
    empty: str = NO_DATA,
    words: Mapping[str, tuple[str, str]] | None = None,
) -> stat.Panel:
    """Return one number.

    Args:
        title: title of the panel.
        description: what is shown and how to read it.
        expr: PromQL.
        unit: Grafana's id of the unit.
        place: size.
        steps: thresholds that colour it.
        decimals: digits behind the point; None leaves it to Grafana.
        empty: the text that is shown without data.
        words: text and colour in place of single values.
    """
    panel = _panel(stat.Panel(), title, description, unit, place).no_value(empty)
    panel.with_target(_target(Query(expr), 0).instant()).graph_mode(options.BigValueGraphMode.NONE)
    panel.color_mode(options.BigValueColorMode.VALUE if steps or words else options.BigValueColorMode.NONE)
    panel.text_mode(options.BigValueTextMode.VALUE)
    panel.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]).fields("").values(False))
    if decimals is not None:
        panel.decimals(decimals)
    if words:
        panel.mappings([_words(words)])
    _thresholds(panel, steps)
    return panel


def bars(
    title: str, description: str, query: Query, *, unit: str, place: Place, empty: str = NO_DATA
) -> bargauge.Panel:
    """Return one bar for each series, as they are now."""
    panel = _panel(bargauge.Panel(), title, description, unit, place).no_value(empty)
    panel.with_target(_target(query, 0).instant())
    panel.orientation(options.VizOrientation.HORIZONTAL).display_mode(options.BarGaugeDisplayMode.BASIC)
    panel.show_unfilled(False).value_mode(options.BarGaugeValueMode.TEXT).min(0)
    panel.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]).fields("").values(False))
    _thresholds(panel, ())
    return panel


def heat(title: str, description: str, query: Query, *, unit: str, place: Place) -> heatmap.Panel:
    """Return a heatmap over the buckets of a histogram, with exemplars as points."""
    panel = _panel(heatmap.Panel(), title, description, "short", place)
    panel.with_target(_target(query, 0).range().format(PromQueryFormat.HEATMAP))
    panel.calculate(False).cell_gap(1).show_y_histogram().show_legend()
    panel.y_axis(_y_axis(unit)).exemplars_color("rgba(255,120,0,0.9)")
    panel.color(
        heatmap.HeatmapColorOptions()
        .mode(HeatmapColorMode.SCHEME)
        .scheme("Spectral")
        .scale(HeatmapColorScale.EXPONENTIAL)
        .exponent(0.5)
        .steps(64)
        .reverse(False)
        .fill("dark-orange")
    )
    panel.filter_values(heatmap.FilterValueRange().le(1e-9))
    panel.hide_from(common.HideSeriesConfig().legend(False).tooltip(False).viz(False))
    _thresholds(panel, ())
    return panel


def columns(
    title: str,
    description: str,
    queries: Sequence[Query],
    *,
    place: Place,
    joined_by: str,
    names: Mapping[str, str],
    units: Mapping[str, str],
    sorted_by: str,
) -> table.Panel:
    """Return a table of instant queries, one column for each, joined by a label.

    Args:
        title: title of the panel.
        description: what is shown and how to read it.
        queries: one for each column, in order.
        place: size.
        joined_by: the label; empty for one query whose labels are all shown.
        names: the columns' names, in order, by the fields' names (`Value #A` for the first query).
        units: Grafana's units, by the columns' names.
        sorted_by: the column's name; the largest value comes first.
    """
    panel = _panel(table.Panel(), title, description, "short", place)
    for index, query in enumerate(queries):
        panel.with_target(_target(query, index).instant().format(PromQueryFormat.TABLE))
    if joined_by:
        panel.with_transformation(_transformation("joinByField", {"byField": joined_by, "mode": "outer"}))
    panel.with_transformation(
        _transformation(
            "organize",
            {
                "excludeByName": {"Time": True, **{f"Time {n}": True for n in range(1, len(queries) + 1)}},
                "indexByName": {field: place_ for place_, field in enumerate(names)},
                "renameByName": dict(names),
            },
        )
    )
    for name, unit in units.items():
        panel.override_by_name(name, [DynamicConfigValue(id_val="unit", value=unit)])
    panel.sort_by([common.TableSortByFieldState().display_name(sorted_by).desc(True)])
    panel.show_header(True).cell_height(options.TableCellHeight.SM).filterable(False).min_width(60)
    _thresholds(panel, ())
    return panel


def row(title: str) -> dashboard.Row:
    """Return the headline of the panels that follow."""
    return dashboard.Row(title)


def linked(panel: table.Panel, field: str, title: str, url: str) -> table.Panel:
    """Let the cells of a column lead somewhere."""
    links = [{"title": title, "url": url, "targetBlank": url.startswith("${jaeger_url}")}]
    return panel.override_by_name(field, [DynamicConfigValue(id_val="links", value=links)])


def _panel(panel: AnyPanel, title: str, description: str, unit: str, place: Place) -> AnyPanel:
    panel.title(title).description(description).unit(unit).datasource(PROMETHEUS).no_value(NO_DATA)
    panel.span(place.width).height(place.height)
    return panel


def _target(query: Query, index: int) -> prometheus.Dataquery:
    target = prometheus.Dataquery().expr(query.expr).ref_id("ABCDEFGH"[index]).datasource(PROMETHEUS)
    target.editor_mode(QueryEditorMode.CODE)
    if query.legend:
        target.legend_format(query.legend)
    if query.exemplars:
        target.exemplar(True)
    return target


def _thresholds(panel: AnyPanel, steps: Steps) -> None:
    base = GREEN if steps else BLUE
    marks = [Threshold(value=None, color=base), *(Threshold(value=value, color=colour) for value, colour in steps)]
    panel.thresholds(dashboard.ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(marks))
    if isinstance(panel, timeseries.Panel):
        panel.color_scheme(dashboard.FieldColor().mode(FieldColorModeId.PALETTE_CLASSIC))
    else:
        panel.color_scheme(dashboard.FieldColor().mode(FieldColorModeId.THRESHOLDS))


def _transformation(name: str, values: Mapping[str, object]) -> DataTransformerConfig:
    return DataTransformerConfig(id_val=name, options=dict(values))


def _words(words: Mapping[str, tuple[str, str]]) -> ValueMap:
    texts = {
        value: ValueMappingResult(text=text, color=colour, index=index)
        for index, (value, (text, colour)) in enumerate(words.items())
    }
    return ValueMap(options=texts)


def _y_axis(unit: str) -> heatmap.YAxisConfig:
    return heatmap.YAxisConfig().unit(unit).axis_placement(options.AxisPlacement.LEFT).reverse(False)
