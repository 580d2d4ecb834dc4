"""Interval estimates, agreement and sequential tests, in plain Python."""

from draftcritic.statistics._agreement import Kappa, cohen_kappa, krippendorff_alpha
from draftcritic.statistics._binomial import Interval, clopper_pearson, labels_needed, upper_bound, wilson
from draftcritic.statistics._sequential import BettingProcess, rolling_z
from draftcritic.statistics._stratified import Estimate, Stratum, stratified_share, stratified_upper_bound

__all__ = [
    "BettingProcess",
    "Estimate",
    "Interval",
    "Kappa",
    "Stratum",
    "clopper_pearson",
    "cohen_kappa",
    "krippendorff_alpha",
    "labels_needed",
    "rolling_z",
    "stratified_share",
    "stratified_upper_bound",
    "upper_bound",
    "wilson",
]
