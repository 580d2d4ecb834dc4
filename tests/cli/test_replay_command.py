"""`draftcritic replay` as a user runs it."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.test_cli import run

from draftcritic.turns import Message, TurnRow


@pytest.fixture
def turns(tmp_path: Path) -> Path:
    rows = [
        TurnRow("t1", "Order A-77123 was refunded.", messages=(Message("user", "Where is my order?"),)),
        TurnRow("t2", "You're welcome!", messages=(Message("user", "Thanks!"),)),
    ]
    path = tmp_path / "turns.jsonl"
    path.write_text("".join(row.as_json() + "\n" for row in rows) + "no json\n")
    return path


def test_replay_prints_what_was_read_and_what_was_found(turns: Path, tmp_path: Path) -> None:
    (tmp_path / "new.toml").write_text("selective_gate = true\n")
    out = tmp_path / "runs.jsonl"
    done = run("replay", str(turns), "--config", str(tmp_path / "new.toml"), "--out", str(out))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("read 2 turns (draftcritic: 2)\n")
    assert f"{turns}, line 3: is no JSON" in done.stdout
    assert "judged 2 of 2 turns" in done.stdout
    assert "trivial_ack" in done.stdout
    assert len(out.read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--workers", "0"], "--workers is 0; allowed is a number from 1"),
        (["--max-usd", "1"], "--max-usd and --cache are for --model"),
        (["--model", "openai:x", "--max-usd", "0"], "--max-usd is 0; allowed is above 0"),
        (["--config", "missing.toml"], "missing.toml"),
    ],
)
def test_replay_rejects_what_cannot_work(turns: Path, tmp_path: Path, options: list[str], message: str) -> None:
    done = run("replay", str(turns), "--out", str(tmp_path / "runs.jsonl"), *options, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert not (tmp_path / "runs.jsonl").exists()


def test_replay_of_a_missing_file_is_an_error(tmp_path: Path) -> None:
    done = run("replay", "none.jsonl", "--out", str(tmp_path / "runs.jsonl"), cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "draftcritic replay: none.jsonl: there is no such file or folder\n"
