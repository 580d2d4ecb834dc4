"""`draftcritic replay --model` with a real client, a server that counts, and whatever may happen in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from support.provider_server import TOKENS_IN, TOKENS_OUT, provider_server

from draftcritic.replay import read_runs
from draftcritic.turns import Message, TurnRow

PRICE = TOKENS_IN * 0.15e-6 + TOKENS_OUT * 0.6e-6
"""Dollars for one answer of gpt-4o-mini."""


def command(folder: Path, url: str, out: str, *more: str) -> list[str]:
    config = folder / "new.toml"
    config.write_text(
        'selective_gate = true\nmodel = "openai:gpt-4o-mini"\n'
        f'model_kwargs = {{base_url = "{url}", api_key = "unused", max_retries = 0}}\n'
    )
    start = [sys.executable, "-c", "import sys; from draftcritic.cli import main; sys.exit(main())", "replay"]
    given = ["recorded.jsonl", "--config", str(config), "--model", "openai:gpt-4o-mini", "--cache", "answers"]
    return [*start, *given, "--out", out, *more]


def record(folder: Path, count: int) -> None:
    drafts = (f"Your refund of 18.50 EUR has the number RF-99123-X{number}." for number in range(count))
    rows = [TurnRow(f"t{at}", draft, messages=(Message("user", "Where?"),)) for at, draft in enumerate(drafts)]
    (folder / "recorded.jsonl").write_text("".join(row.as_json() + "\n" for row in rows))


def run(folder: Path, url: str, out: str, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(folder, url, out, *more), cwd=folder, capture_output=True, text=True, check=False, env=environment()
    )


def environment() -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("DRAFTCRITIC_")}
    return {**inherited, "NO_PROXY": "127.0.0.1"}


def test_a_killed_replay_goes_on_without_paying_twice_and_a_third_asks_nothing(tmp_path: Path) -> None:
    record(tmp_path, 60)
    seen: list[str] = []
    with provider_server(seen) as url:
        with subprocess.Popen(
            command(tmp_path, f"{url}/v1", "one.jsonl"), cwd=tmp_path, env=environment(), stdout=subprocess.PIPE
        ) as killed:
            deadline = time.monotonic() + 60
            while len(seen) < 5:
                assert killed.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.005)
            killed.send_signal(signal.SIGKILL)
        asked = len(seen)
        assert asked < 60
        assert not (tmp_path / "one.jsonl").exists()
        done = run(tmp_path, f"{url}/v1", "one.jsonl")
        assert done.returncode == 0, done.stderr
        assert len(seen) <= 61  # the draft that was under way may have been asked about twice
        assert f"{len(seen) - asked} model calls in this run" in done.stdout
        again = run(tmp_path, f"{url}/v1", "two.jsonl")
        assert "0 model calls in this run, 0.0000 USD" in again.stdout
        assert len(seen) <= 61
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    assert Counter(each.replayed.verdict for each in read_runs(tmp_path / "one.jsonl")) == {"approve": 60}


def test_without_network_and_with_too_little_money_the_rest_is_not_covered_and_the_next_run_goes_on(
    tmp_path: Path,
) -> None:
    record(tmp_path, 12)
    done = run(tmp_path, "http://127.0.0.1:9/v1", "runs.jsonl")
    assert done.returncode == 3
    assert "stopped asking: the model failed 5 times in a row" in done.stderr
    assert "7 are not covered" in done.stdout
    assert Counter(each.replayed.failure for each in read_runs(tmp_path / "runs.jsonl"))["not_covered"] == 7
    seen: list[str] = []
    with provider_server(seen) as url:
        done = run(tmp_path, f"{url}/v1", "runs.jsonl", "--max-usd", f"{4.5 * PRICE:.6f}", "--workers", "3")
        assert done.returncode == 3
        assert "stopped asking: the limit of" in done.stderr
        assert "run the same command again to go on" in done.stderr
        assert "the model judged 4 drafts, 8 are not covered" in done.stdout
        assert len(seen) == 4
        done = run(tmp_path, f"{url}/v1", "runs.jsonl")
        assert done.returncode == 0, done.stderr
        assert "the model judged 12 drafts, 0 are not covered" in done.stdout
    assert len(seen) == 12
