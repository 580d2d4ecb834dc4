"""Check that the texts of the project use plain, current English.

The one list of words that make readers stumble. `make lint` runs the check over code, tests and documentation; it fails
where more than one of them occurs in a thousand lines, and always for a word in `NEVER`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ARCHAIC = ("holds", "stands", "told", "tells", "beside", "nobody", "whoever", "anew", "afresh", "foreign")
"""Words with a plainer equivalent; a few are allowed, in quotations or where they are the exact term."""
NEVER = ("hitherto", "thereof", "wherein", "whereby", "henceforth")
MOST_PER_THOUSAND = 1.0
AREAS = {
    "code": (
        "src/**/*.py",
        "benchmarks/**/*.py",
        "stack/**/*.py",
        "grafana/generate/**/*.py",
        "examples/**/*.py",
        "fuzz/**/*.py",
    ),
    "tests": ("tests/**/*.py",),
    "documentation": ("*.md", "docs/**/*.md", "examples/**/*.md", "changes/**/*.md", "tests/**/*.md"),
}

_WORD = re.compile(rf"\b({'|'.join((*ARCHAIC, *NEVER))})\b", re.IGNORECASE)


def occurrences(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line number and the word for every listed word in a file."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        for match in _WORD.finditer(line):
            yield number, match[1].lower()


def main(root: Path = Path()) -> int:
    """Print the rate of each area and every occurrence in an area that fails. Return the exit code."""
    failed = False
    for area, patterns in AREAS.items():
        paths = sorted(
            {path for pattern in patterns for path in root.glob(pattern) if path.name != Path(__file__).name}
        )
        lines = sum(path.read_text(encoding="utf-8").count("\n") for path in paths)
        found = [(path, number, word) for path in paths for number, word in occurrences(path)]
        rate = 1000 * len(found) / max(lines, 1)
        banned = any(word in NEVER for _, _, word in found)
        print(f"{area}: {len(found)} words from the list in {lines} lines, {rate:.2f} per thousand")
        if rate > MOST_PER_THOUSAND or banned:
            failed = True
            for path, number, word in found:
                print(f"  {path}:{number}: {word}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
