"""Next to other instrumentations, installed in any order and removed in any other: none loses or doubles anything.

The neighbours take each other's wrappers off, as OpenTelemetry's `unwrap` removes whatever is outermost. What they do
to each other without us is the measure: with us it is the same, step by step.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from itertools import combinations, permutations
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import pytest
from support import neighbour_orders
from support.neighbour_orders import INSTRUMENTORS, SAFE, SECRET, US

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="each order needs a fork"),
]

Order = tuple[str, ...]


def is_installed(name: str) -> bool:
    try:
        return find_spec(INSTRUMENTORS[name][0]) is not None
    except ModuleNotFoundError:
        return False


REAL = tuple(name for name in INSTRUMENTORS if name != US and is_installed(name))
SINGLE = [(), ("stock",), *((name,) for name in REAL)]
PAIRS = [*(("stock", name) for name in REAL), *combinations(REAL, 2)]


def orders(parties: Sequence[str]) -> list[tuple[Order, Order]]:
    return [(on, off) for on in permutations(parties) for off in permutations(parties)]


class Driver:
    """One process that plays each order in a fork of its own."""

    def __init__(self) -> None:
        self._errors = TemporaryFile("w+")  # noqa: SIM115 - open as long as the process
        self._process = subprocess.Popen(
            [sys.executable, neighbour_orders.__file__],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self._played: dict[tuple[Order, Order, str], Any] = {}

    def play(self, on: Order, off: Order, mode: str) -> Any:
        """What happened in this order."""
        known = self._played.get((on, off, mode))
        if known is None:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(json.dumps({"on": on, "off": off, "mode": mode}) + "\n")
            self._process.stdin.flush()
            known = self._played[on, off, mode] = json.loads(self._process.stdout.readline())
            assert not known.get("died"), self.errors()
        return known

    def errors(self) -> str:
        self._errors.seek(0)
        return self._errors.read()

    def close(self) -> None:
        self._process.communicate(timeout=60)
        errors = self.errors()
        self._errors.close()
        assert self._process.returncode == 0, errors
        assert "Traceback" not in errors


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    driver = Driver()
    yield driver
    driver.close()


def without_us(order: Order) -> Order:
    return tuple(name for name in order if name != US)


def assert_nobody_loses(driver: Driver, on: Order, off: Order, mode: str) -> None:
    label = f"on {on}, off {off}"
    found, measure = driver.play(on, off, mode), driver.play(without_us(on), without_us(off), mode)
    assert found["inside"], label
    assert found["left"] == measure["left"], label
    assert found["context_log"] == [], label
    ours = off.index(US)
    for index, step in enumerate(found["steps"]):
        same = measure["steps"][index if index <= ours else index - 1]
        assert step["reviews"] == (2 if step["alive"] else 0), label
        assert step["drafts"] == same["drafts"], label
        # The critic's own call is seen by those who see any call, and by none of them when we are gone.
        assert step["critics"] == (same["drafts"] if step["alive"] else {}), label
        replaced = step["alive"] and mode == "enforce"
        assert step["said"] == [SAFE if replaced else f"The word is {SECRET}."] * 2, label
        if replaced:
            assert step["tellers"] == [], label
    assert found["judged"] == 2 * (ours + 1), label


@pytest.mark.parametrize("mode", ["observe", "enforce"])
@pytest.mark.parametrize("company", SINGLE, ids="+".join)
def test_every_order_with_one_other(company: Order, mode: str, driver: Driver) -> None:
    for on, off in orders((US, *company)):
        assert_nobody_loses(driver, on, off, mode)


@pytest.mark.parametrize("company", PAIRS, ids="+".join)
def test_every_order_with_two_others(company: Order, driver: Driver) -> None:
    for on, off in orders((US, *company)):
        assert_nobody_loses(driver, on, off, "observe")


@pytest.mark.skipif(len(REAL) < 3, reason="not all neighbours are installed")
class TestAllOfThem:
    def test_every_order(self, driver: Driver) -> None:
        for on, off in orders((US, *REAL)):
            assert_nobody_loses(driver, on, off, "observe")

    def test_no_neighbour_hears_a_refused_draft(self, driver: Driver) -> None:
        for on in permutations((US, *REAL)):
            assert_nobody_loses(driver, on, (*REAL, US), "enforce")
