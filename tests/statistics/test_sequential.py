"""A test that may be looked at after every value."""

from __future__ import annotations

import math
import random

import pytest

from benchmarks.intervals import delay, false_alarms
from draftcritic.statistics import BettingProcess, rolling_z


def test_false_alarms_of_streams_without_change_stay_below_alpha_and_those_of_a_rolling_test_do_not() -> None:
    alarms = false_alarms(runs=200, length=500)
    assert alarms["e-process"] <= 0.05
    assert alarms["rolling z-test"] > 0.5


def test_a_change_is_found() -> None:
    found = delay(runs=60, before=100, rate=0.1, after=0.3, limit=1000)
    assert found["found"] >= 0.95
    assert found["median"] < 200


def test_the_capital_does_not_grow_on_average_while_the_claim_is_true() -> None:
    # All streams of eight values with their probabilities: an exact mean, no simulation.
    baseline, mean = 0.2, 0.0
    for bits in range(2**8):
        values = [float(bits >> at & 1) for at in range(8)]
        process = BettingProcess(baseline)
        for value in values:
            process.add(value)
        hits = sum(values)
        mean += process.capital * baseline**hits * (1 - baseline) ** (8 - hits)
    assert mean == pytest.approx(1.0, abs=1e-12)


def test_an_alarm_stays_and_the_peak_gives_a_valid_p_value() -> None:
    process = BettingProcess(0.1)
    while not process.add(1.0):
        pass
    assert process.peak >= 20
    for _ in range(200):
        process.add(0.0)
    assert process.alarmed
    assert process.capital < process.peak


def test_extreme_streams_neither_ruin_nor_overflow_the_process() -> None:
    for values in ([0.0] * 5000, [1.0] * 5000, [random.Random(1).random() for _ in range(5000)]):
        process = BettingProcess(0.5)
        for value in values:
            process.add(value)
        assert 0 < process.capital < math.inf
        assert process.count == 5000


def test_values_and_settings_out_of_range_are_rejected() -> None:
    with pytest.raises(ValueError, match="within 0 and 1"):
        BettingProcess(0.1).add(1.5)
    for baseline, alpha in ((0, 0.05), (1, 0.05), (0.5, 0), (0.5, 1)):
        with pytest.raises(ValueError, match="between 0 and 1"):
            BettingProcess(baseline, alpha)


def test_a_rolling_test_says_nothing_before_its_window_is_full() -> None:
    assert list(rolling_z([1.0] * 3, 0.1, window=3)) == [False, False, True]
