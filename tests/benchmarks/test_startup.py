"""`benchmarks/startup.py`, with real processes under `opentelemetry-instrument`."""

from __future__ import annotations

import json
from typing import Any

import pytest


@pytest.mark.e2e
def test_nothing_heavy_is_imported_with_the_plugin(run_script: Any) -> None:
    done = run_script("startup.py", "--rounds", "1", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads(done.stdout)
    assert list(result) == ["python", "opentelemetry-instrument", "opentelemetry-instrument with draftcritic"]
    assert [found["plugin"] for found in result.values()] == [False, False, True]
    for found in result.values():
        assert found["wall_ms"] > 0
        assert found["cpu_ms"] > 0
        assert found["imported"] == []
    assert set(result["opentelemetry-instrument with draftcritic"]) > {"added_wall_ms", "added_cpu_ms"}
