"""The report: one HTML file with its pictures inside, without any script."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from draftcritic.calibrate._calibration import Calibration, kappa_text, per_1000
from draftcritic.calibrate._measure import ANSWERS, VERDICTS, Precision

_WIDTH = 560


def report_html(calibrations: Sequence[Calibration]) -> str:
    """Return the report of one critic, or of several side by side.

    Raises:
        ModuleNotFoundError: vl-convert-python or jinja2 is not installed.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("draftcritic.calibrate"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    # The pictures are ours: their texts are escaped by the program that draws them.
    pictures = [{name: Markup(svg) for name, svg in _pictures(one).items()} for one in calibrations]  # noqa: S704
    return environment.get_template("report.html").render(
        calibrations=list(zip(calibrations, pictures, strict=True)),
        side_by_side=Markup(_errors(calibrations)) if len(calibrations) > 1 else None,  # noqa: S704
        verdicts=VERDICTS,
        answers=ANSWERS,
        per_1000=per_1000,
        kappa_text=kappa_text,
    )


def _pictures(found: Calibration) -> dict[str, str]:
    drawn = {"errors": _errors([found])}
    if len(found.curve) > 1:
        drawn["curve"] = _curve(found)
    if any(row.labelled for row in found.kinds):
        drawn["kinds"] = _precision(found.kinds)
    if any(row.labelled for row in found.rules):
        drawn["rules"] = _precision(found.rules)
    return drawn


def _errors(calibrations: Sequence[Calibration]) -> str:
    """Draw the errors per 1,000 drafts with their intervals."""
    rows = [
        {
            "critic": found.title,
            "error": name,
            "per 1,000 drafts": 1000 * estimate.share,
            "low": 1000 * estimate.interval.low,
            "high": 1000 * estimate.interval.high,
        }
        for found in calibrations
        for name, _, estimate in found.errors
    ]
    encoding: dict[str, Any] = {"y": {"field": "error", "type": "nominal", "sort": None, "title": None}}
    if len(calibrations) > 1:
        encoding["yOffset"] = {"field": "critic"}
        encoding["color"] = {"field": "critic", "type": "nominal", "title": None, "legend": {"orient": "top"}}
    return _intervals(rows, encoding, "per 1,000 drafts", 34 * max(4, 2 * len(calibrations)))


def _precision(rows: Sequence[Precision]) -> str:
    """Draw how often finding kinds or rules are right."""
    data = [
        {
            "name": f"{row.name[:40]} ({row.labelled})",
            "right, %": 100 * row.right / row.labelled,
            "low": 100 * row.interval.low,
            "high": 100 * row.interval.high,
        }
        for row in rows
        if row.labelled
    ]
    encoding = {"y": {"field": "name", "type": "nominal", "sort": None, "title": None, "axis": {"labelLimit": 240}}}
    return _intervals(data, encoding, "right, %", 26 * len(data) + 10, [0, 100])


def _intervals(
    rows: Sequence[dict[str, Any]], encoding: dict[str, Any], value: str, height: int, domain: list[int] | None = None
) -> str:
    scale = {"domain": domain} if domain else {}
    axis = {"field": value, "type": "quantitative", "title": value, "scale": scale}
    low = {"field": "low", "type": "quantitative", "title": value, "scale": scale}
    line = {"mark": {"type": "rule", "strokeWidth": 2}, "encoding": {**encoding, "x": low, "x2": {"field": "high"}}}
    point = {"mark": {"type": "point", "filled": True, "size": 70}, "encoding": {**encoding, "x": axis}}
    return _svg(rows, {"height": height, "layer": [line, point]})


def _curve(found: Calibration) -> str:
    """Draw misses, false refuses and cost over the threshold."""
    rows = []
    for point in found.curve:
        for name, value in (
            ("misses", 1000 * point.miss.share),
            ("false refuses", 1000 * point.false_refuse.share),
            ("cost", point.cost),
        ):
            rows.append({"threshold": min(point.threshold, 1.0), "what": name, "per 1,000 drafts": value})
    title = "fabrication_refuse_threshold (1: no finding refuses)"
    encoding = {
        "x": {"field": "threshold", "type": "quantitative", "title": title, "scale": {"domain": [0, 1]}},
        "y": {"field": "per 1,000 drafts", "type": "quantitative"},
        "color": {"field": "what", "type": "nominal", "title": None, "legend": {"orient": "top"}},
    }
    return _svg(
        rows,
        {"height": 220, "mark": {"type": "line", "interpolate": "step-before", "point": True}, "encoding": encoding},
    )


def _svg(rows: Sequence[dict[str, Any]], chart: dict[str, Any]) -> str:
    """Return a Vega-Lite chart as SVG that can be part of HTML."""
    import vl_convert

    svg: str = vl_convert.vegalite_to_svg({"data": {"values": list(rows)}, "width": _WIDTH, **chart})
    return re.sub(r"^<\?xml.*?\?>|<!DOCTYPE.*?>", "", svg, flags=re.DOTALL)
