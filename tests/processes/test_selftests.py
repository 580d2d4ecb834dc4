"""`draftcritic selftest` as a user runs it: a real client, and the metric that `opentelemetry-instrument` exports."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from support.provider_server import provider_server

from draftcritic.replay import Replayed, Run
from draftcritic.turns import Message, ToolCall, TurnRow


def record(folder: Path, sku: str) -> None:
    with (folder / "runs.jsonl").open("w") as file:
        for number in range(1010, 1030):
            call = Message("assistant", tool_calls=(ToolCall("find_order", {"id": f"A-{number}"}, "c1"),))
            result = Message("tool", f"order A-{number} costs {number}.90 euros, not shipped", tool_call_id="c1")
            draft = f"Your order A-{number} costs {number}.90 euros and is not shipped yet."
            row = TurnRow(f"t{number}", draft, messages=(Message("user", "How much?"), call, result))
            file.write(Run(row, Replayed(verdict="approve", source="reflection", sku=sku)).as_json() + "\n")


def selftest(folder: Path, url: str, *more: str) -> subprocess.CompletedProcess[str]:
    (folder / "critic.toml").write_text(
        'rules = ["Be kind."]\nmodel = "openai:gpt-4o-mini"\n'
        f'model_kwargs = {{base_url = "{url}/v1", api_key = "unused", max_retries = 0}}\n'
    )
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("DRAFTCRITIC_", "OTEL_"))}
    given = ["selftest", "--from", "runs.jsonl", "-n", "24"]
    scripts = Path(sys.executable).parent
    return subprocess.run(
        [str(scripts / "opentelemetry-instrument"), str(scripts / "draftcritic"), *given, *more],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={
            **inherited,
            "NO_PROXY": "127.0.0.1",
            "DRAFTCRITIC_CONFIG": str(folder / "critic.toml"),
            "OTEL_TRACES_EXPORTER": "console",
            "OTEL_METRICS_EXPORTER": "console",
            "OTEL_LOGS_EXPORTER": "none",
        },
    )


def exported(printed: str) -> dict[str, list[float]]:
    """The values of our metrics in what the console exporter printed."""
    values: dict[str, list[float]] = {}
    for at in (found.start() for found in re.finditer(r'^\{\n    "resource_metrics"', printed, re.MULTILINE)):
        resources = json.JSONDecoder().raw_decode(printed[at:])[0]["resource_metrics"]
        for metric in (m for r in resources for scope in r["scope_metrics"] for m in scope["metrics"]):
            if metric["name"].startswith("draftcritic."):
                points = metric["data"]["data_points"]
                values[metric["name"]] = [point.get("value", point.get("count")) for point in points]
    return values


def test_a_critic_that_approves_everything_and_is_another_model_is_found_in_one_run(tmp_path: Path) -> None:
    record(tmp_path, "gpt-4.1-mini")
    seen: list[str] = []
    with provider_server(seen) as url:
        done = selftest(tmp_path, url)
    assert done.returncode == 1, done.stderr
    assert "  all        0/24 = 0%" in done.stdout
    assert "the critic fails: it finds 0/24" in done.stdout
    assert "gpt-4o-mini answers now; the drafts were approved by gpt-4.1-mini" in done.stdout
    assert len(seen) == 24 + 6  # six drafts, each damaged in four ways, and once as they are
    assert '"draftcritic.selftest.recall"' in done.stdout
    assert set(re.findall(r'"draftcritic.damage": "(\w+)"', done.stdout)) == {"digit", "negation", "tool_call", "rule"}


def test_canaries_are_no_reviews_in_spans_or_metrics(tmp_path: Path) -> None:
    record(tmp_path, "gpt-4o-mini")
    with provider_server() as url:
        done = selftest(tmp_path, url)
    assert done.returncode == 1
    assert "answers now" not in done.stdout
    assert '"draftcritic.review"' not in done.stdout
    values = exported(done.stdout)
    assert {name for name in values if any(values[name])} == {
        "draftcritic.policy.loaded",
        "draftcritic.info",
        "draftcritic.gate.decisions",  # of the reason `nested`, as for each call of a critic's model
    }
    assert values["draftcritic.reviews"]
    assert values["draftcritic.selftest.recall"] == [0, 0, 0, 0]


def test_what_cannot_be_tested_is_said(tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").write_text("")
    done = selftest(tmp_path, "http://127.0.0.1:9")
    assert done.returncode == 2
    assert "has no draft that a critic's model approved" in done.stderr
    done = selftest(tmp_path, "http://127.0.0.1:9", "--least", "2")
    assert (done.returncode, "--least is 2; allowed is 0 to 1" in done.stderr) == (2, True)


def test_a_server_that_is_away_leaves_the_question_open(tmp_path: Path) -> None:
    record(tmp_path, "gpt-4o-mini")
    done = selftest(tmp_path, "http://127.0.0.1:9")
    assert done.returncode == 3, done.stdout
    assert "too few answers to say: 0, and 20 are needed" in done.stdout
