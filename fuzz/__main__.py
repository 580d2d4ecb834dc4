"""Tries the properties of the hostile-value tests for as long as it is let: `python -m fuzz --minutes 10`.

A find is printed with the smallest input that shows it and is kept in `.hypothesis`, from where the tests replay it.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from pathlib import Path

from hypothesis import HealthCheck, given, settings

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.properties import PROPERTIES

_ROUND = 2000
"""Examples between two looks at the clock."""


def main() -> int:
    """Run, and return 1 when a property is broken."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long, over all properties")
    parser.add_argument("--only", choices=sorted(PROPERTIES), action="append", help="a property; repeatable")
    given_arguments = parser.parse_args()
    names = given_arguments.only or list(PROPERTIES)
    until = time.monotonic() + 60 * given_arguments.minutes
    tried = dict.fromkeys(names, 0)
    finds: set[str] = set()
    while time.monotonic() < until and len(finds) < len(names):
        for name in names:
            if name not in finds and not _holds(name):
                finds.add(name)
            tried[name] += _ROUND
    for name in names:
        print(f"{name}: {tried[name]} examples, {'BROKEN' if name in finds else 'ok'}", flush=True)
    return 1 if finds else 0


def _holds(name: str) -> bool:
    check, strategies = PROPERTIES[name]
    rules = settings(max_examples=_ROUND, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
    try:
        rules(given(**strategies)(check))()
    except Exception:
        print(f"--- {name}", flush=True)
        traceback.print_exc(file=sys.stdout)
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
