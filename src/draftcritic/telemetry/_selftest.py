"""The metric of a self-test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from opentelemetry import metrics

from draftcritic.telemetry import names
from draftcritic.telemetry._gauges import NO_TRACE
from draftcritic.telemetry._metrics import DESCRIPTIONS

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider


def record_recall(shares: Mapping[str, float], sku: str, provider: MeterProvider | None = None) -> None:
    """Record which share of the damaged drafts of a self-test the critic found.

    Args:
        shares: kind of damage -> share, 0 to 1.
        sku: the SKU of the critic's model.
        provider: the meter provider; the global one by default.
    """
    meter = metrics.get_meter(names.SCOPE, "", provider)
    metric = names.METRIC_SELFTEST_RECALL
    gauge = meter.create_gauge(metric, names.UNIT_ONE, DESCRIPTIONS[metric])
    for damage, share in shares.items():
        gauge.set(share, {names.DAMAGE: damage, names.SKU: sku or names.SKU_UNKNOWN}, NO_TRACE)
