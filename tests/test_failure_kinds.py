"""The page of failure kinds names tests: each of them exists."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "failure-kinds.md"


def test_every_row_names_tests_that_exist() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    kinds = [row for row in rows if not row.startswith(("| what goes wrong", "| ---"))]
    assert len(kinds) > 40
    for row in kinds:
        named = re.findall(r"`([\w/]+\.py)::(\w+)`", row)
        assert named, row
        for file, name in named:
            text = (TESTS / file).read_text(encoding="utf-8")
            assert re.search(rf"^\s*(async )?def {name}\(", text, re.MULTILINE), f"{file}::{name}"
