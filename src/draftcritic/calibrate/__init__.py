"""Measures a critic against the labels of people."""

from draftcritic.calibrate._bounds import Shown, shows
from draftcritic.calibrate._calibration import Calibration, calibrate, lines
from draftcritic.calibrate._measure import Draft, Population, population, share_of
from draftcritic.calibrate._report import report_html
from draftcritic.calibrate._thresholds import Costs, Point, threshold_curve, write_threshold

__all__ = [
    "Calibration",
    "Costs",
    "Draft",
    "Point",
    "Population",
    "Shown",
    "calibrate",
    "lines",
    "population",
    "report_html",
    "share_of",
    "shows",
    "threshold_curve",
    "write_threshold",
]
