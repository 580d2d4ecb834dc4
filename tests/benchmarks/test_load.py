"""`benchmarks/load.py`, with real processes: every draft is a review or a drop."""

from __future__ import annotations

import json
from typing import Any

import pytest


@pytest.mark.e2e
@pytest.mark.parametrize("path", ["invoke", "ainvoke"])
def test_every_draft_is_a_review_or_a_drop(run_script: Any, path: str) -> None:
    arguments = ("--minutes", "0.02", "--slice-s", "0.3", "--callers", "4", "--rate", "60", "--critic-s", "0.05")
    done = run_script("load.py", *arguments, "--path", path, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    counts = result["counts"]
    assert result["problems"] == []
    assert result["reviews"] > 0
    assert result["reviews"] + result["drops"] == counts["drafts"]
    assert sum(each["with"]["drafts"] for each in result["rounds"]) <= counts["drafts"]
    for side in result["sides"].values():
        assert side["per_s"] > 0
        assert side["rss_mib"] > 0


@pytest.mark.usefixtures("benchmarks_path")
def test_a_count_that_does_not_add_up_is_said(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    import load

    side = {"drafts": 10, "seconds": 1.0, "cpu_s": 0.1, "median_ms": 5.0, "p99_ms": 9.0, "rss_mib": 50.0, "per_s": 10.0}
    end = {
        "drafts": 20,
        "decisions": {"low_confidence": 4, "queue_full": 9, "nested": 3},
        "dropped": {"queue_full": 8, "shutdown": 5},
        "failures": {"timeout": 1},
    }

    class Child:
        def kill(self) -> None: ...

        def wait(self) -> None: ...

    monkeypatch.setattr(load, "_start", lambda name, options: Child())
    monkeypatch.setattr(load, "_ask", lambda child, do="", **_: {"run": dict(side), "end": end}.get(do, {}))
    assert load.main(["--minutes", "0.1", "--slice-s", "1"]) == 1
    printed = capsys.readouterr()
    assert printed.err.splitlines() == [
        "load.py: 20 drafts, but 4 reviews and 13 drops",
        "load.py: the two counts of a full queue differ",
        "load.py: the critic failed: {'timeout': 1}",
    ]
    assert "throughput with / without: 1.0000 +- 0.0000" in printed.out
