"""Every Python example of these pages runs, and prints what its comments say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGES = ["in-process.md", "middleware.md"]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
PRINTED = re.compile(r"^ *print\(.*\)  # (.+)$", re.MULTILINE)
EXAMPLES = [
    pytest.param(code, id=f"{page}, {number}")
    for page in PAGES
    for number, code in enumerate(BLOCK.findall((DOCS / page).read_text(encoding="utf-8")), 1)
]


@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_prints_what_its_comments_say(code: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, cwd=tmp_path, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == PRINTED.findall(code)
