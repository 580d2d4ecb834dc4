"""What a killed process leaves in its spool is reviewed by the next one: drafts returned = reviews + counted drops."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(sys.platform == "win32", reason="no file locks")]

AGENT = Path(__file__).parents[1] / "support" / "fleet_agent.py"
LONG = 90


def environment(folder: Path, **given: str) -> dict[str, str]:
    return {
        **{key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "DRAFTCRITIC_"))},
        "PYTHONPATH": os.pathsep.join(sys.path),
        "OTEL_SERVICE_NAME": "shop",
        "DRAFTCRITIC_DELIVERY": "spool",
        "DRAFTCRITIC_SPOOL_DIR": str(folder / "spool"),
        "DRAFTCRITIC_RECORD": str(folder / "turns.jsonl"),
        "DRAFTCRITIC_SHUTDOWN_TIMEOUT": "0",
        **given,
    }


def start(folder: Path, *arguments: object, **given: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(AGENT), *map(str, arguments)]
    return subprocess.Popen(
        command, env=environment(folder, **given), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )


def killed_after(agent: subprocess.Popen[bytes], drafts: int) -> list[str]:
    """Return the drafts that the callers of an agent got before it was killed."""
    assert agent.stdout is not None
    got = [agent.stdout.readline() for _ in range(drafts)]
    agent.send_signal(signal.SIGKILL)
    rest, _ = agent.communicate(timeout=LONG)
    return [line.decode().strip() for line in [*got, *rest.splitlines()] if line.strip()]


def finished(agent: subprocess.Popen[bytes]) -> list[str]:
    out, _ = agent.communicate(timeout=LONG)
    assert agent.returncode == 0
    return out.decode().split("\n")[:-1]


def reviewed(folder: Path) -> Counter[str]:
    path = folder / "turns.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return Counter(json.loads(line)["draft"] for line in lines)


def dead(folder: Path) -> list[dict]:
    path = folder / "spool" / "shop" / "dead.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_every_draft_that_a_killed_agent_returned_is_reviewed_by_the_next_one(tmp_path: Path) -> None:
    returned = []
    for _ in range(3):
        returned += killed_after(start(tmp_path, 1000, 0.02, 4), random.randint(20, 60))
    assert len(reviewed(tmp_path)) < len(returned)
    returned += finished(start(tmp_path, 1, 0))
    counts = reviewed(tmp_path)
    assert set(returned) <= set(counts)
    again = sum(count - 1 for count in counts.values())
    assert again <= 3 * 2  # those that a thread had recorded and not yet settled
    assert dead(tmp_path) == []
    assert [path.name for path in (tmp_path / "spool" / "shop").iterdir()] == []


def test_an_orderly_end_without_time_leaves_the_rest_to_the_next_process(tmp_path: Path) -> None:
    agent = start(tmp_path, 50, 1)
    assert agent.stdout is not None
    returned = [agent.stdout.readline().decode().strip() for _ in range(50)]
    agent.send_signal(signal.SIGINT)
    agent.communicate(timeout=LONG)
    assert 50 - len(reviewed(tmp_path)) > 0
    finished(start(tmp_path, 1, 0))
    assert set(returned) <= set(reviewed(tmp_path))


def test_a_draft_that_ends_each_process_becomes_a_dead_letter_and_the_others_are_reviewed(tmp_path: Path) -> None:
    returned: list[str] = []
    deadline = time.monotonic() + LONG
    while not dead(tmp_path) and time.monotonic() < deadline:
        # The poison comes first and ends the process; a new one gets it again.
        agent = start(tmp_path, 1, 0, DRAFT="It costs 12 euros, poison," if not returned else "It costs 13 euros,")
        out, _ = agent.communicate(timeout=LONG)
        returned += out.decode().split("\n")[:-1]
    (letter,) = dead(tmp_path)
    assert letter["reason"] == "attempts"
    assert "poison" in letter["draft"]
    finished(start(tmp_path, 1, 0))
    assert {draft for draft in returned if "poison" not in draft} <= set(reviewed(tmp_path))


def test_a_draft_of_an_unknown_schema_is_put_aside(tmp_path: Path) -> None:
    killed_after(start(tmp_path, 1000, 0.2), 5)
    for path in (tmp_path / "spool").rglob("*.log"):
        data = path.read_bytes()
        assert b'"v":1,' in data
        # A later release wrote it: the frames are whole, their checksums too.
        from draftcritic.fleet._segments import Segment

        segment = Segment(path)
        entries, _ = segment.recover(1)
        texts = [segment.read(entry) for entry in entries]
        segment.delete()
        changed = Segment(path)
        for entry, text in zip(entries, texts, strict=True):
            changed.append(entry.id, text.replace(b'"v":1,', b'"v":2,'), 1)
        changed.close()
    finished(start(tmp_path, 1, 0))
    letters = dead(tmp_path)
    assert len(letters) >= 3
    assert {letter["reason"] for letter in letters} == {"schema"}
    assert all(json.loads(letter["draft"])["v"] == 2 for letter in letters)
