"""`draftcritic replay --workers celery` on real workers."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.fleet import Fleet, finished, wait_for

from draftcritic.cli import main
from draftcritic.fleet import _work
from draftcritic.replay._remote import AT_ONCE
from draftcritic.turns import Message, TurnRow

pytestmark = pytest.mark.e2e
MODEL = ("--model", "openai:gpt-4.1-nano")
Replay = Callable[..., int]
Captured = pytest.CaptureFixture[str]


def turns(path: Path, count: int, draft: str = "Your refund has the number RF-99123-X{0}.") -> Path:
    question = (Message("user", "Where is my refund?"),)
    rows = [TurnRow(f"t{number}", draft.format(number), messages=question) for number in range(count)]
    path.write_text("".join(row.as_json() + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def replay(deployment: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Replay:
    """The command, with the settings of the fleet."""
    monkeypatch.setenv("DRAFTCRITIC_BROKER", deployment.services.broker)
    monkeypatch.setenv("DRAFTCRITIC_FLEET", deployment.queue.name)
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "new.toml"
    config.write_text('selective_gate = true\nfabrication = "refuse"\nfabrication_refuse_threshold = 0.95\n')
    return lambda source, out, *more: main(["replay", str(source), "--out", out, "--config", str(config), *more])


def test_workers_write_the_same_bytes_as_this_process_also_when_one_is_killed(
    deployment: Fleet, replay: Replay, tmp_path: Path
) -> None:
    source = turns(tmp_path / "recorded.jsonl", 6000)
    assert replay(source, "here.jsonl") == 0
    killed = deployment.worker(concurrency=2)
    with ThreadPoolExecutor(1) as pool:
        replaying = pool.submit(replay, source, "there.jsonl", "--workers", "celery")
        part = tmp_path / "there.jsonl.part"
        wait_for(lambda: part.exists() and part.stat().st_size > 0)
        deployment.kill(killed)
        assert not replaying.done()
        deployment.worker()
        assert replaying.result() == 0
    assert (tmp_path / "there.jsonl").read_bytes() == (tmp_path / "here.jsonl").read_bytes()
    assert deployment.depth(deployment.queue.work_name) == 0
    returned = finished(deployment.agent(3))  # the same workers review drafts
    wait_for(lambda: set(returned) <= set(deployment.reviewed()))


def test_a_model_is_asked_by_the_workers_and_a_second_run_asks_nothing(
    deployment: Fleet, replay: Replay, tmp_path: Path, capsys: Captured
) -> None:
    calls = tmp_path / "calls"
    deployment.worker(concurrency=2, CALLS=str(calls))
    source = turns(tmp_path / "recorded.jsonl", 40)
    options = (*MODEL, "--cache", str(tmp_path / "cache"), "--workers", "celery")
    assert replay(source, "one.jsonl", *options) == 0
    assert "40 model calls in this run" in capsys.readouterr().out
    assert replay(source, "two.jsonl", *options) == 0
    assert "0 model calls in this run" in capsys.readouterr().out
    assert len(calls.read_text().splitlines()) == 40
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    assert '"verdict":"approve","source":"reflection"' in (tmp_path / "one.jsonl").read_text()


def test_a_broker_that_goes_away_ends_the_replay_and_the_next_one_goes_on(
    deployment: Fleet, replay: Replay, tmp_path: Path, capsys: Captured
) -> None:
    calls = tmp_path / "calls"
    deployment.worker(concurrency=2, CALLS=str(calls), SECONDS_PER_REVIEW="0.1")
    source = turns(tmp_path / "recorded.jsonl", 80)
    options = (*MODEL, "--cache", str(tmp_path / "cache"), "--workers", "celery")
    with ThreadPoolExecutor(1) as pool:
        replaying = pool.submit(replay, source, "runs.jsonl", *options)
        wait_for(lambda: calls.exists() and len(calls.read_text().splitlines()) >= 10)
        deployment.services.stop("rabbitmq")
        assert replaying.result() == 2
    assert "the broker went away" in capsys.readouterr().err
    deployment.services.start("rabbitmq")
    assert replay(source, "runs.jsonl", *options) == 0
    assert "judged 80 of 80 turns" in capsys.readouterr().out
    assert 80 <= len(calls.read_text().splitlines()) <= 80 + AT_ONCE


def test_a_turn_that_ends_its_worker_twice_is_reported_and_not_tried_again(
    deployment: Fleet, replay: Replay, tmp_path: Path, capsys: Captured
) -> None:
    deployment.worker()
    source = turns(tmp_path / "recorded.jsonl", 1, "Your refund has the number RF-99123-X, poison.")
    assert replay(source, "runs.jsonl", *MODEL, "--workers", "celery") == 2
    assert "2 worker processes ended while they judged these turns" in capsys.readouterr().err
    assert not (tmp_path / "runs.jsonl").exists()
    assert replay(turns(source, 1), "runs.jsonl", *MODEL, "--workers", "celery") == 0  # the worker lives


def test_what_a_worker_cannot_do_is_reported(
    deployment: Fleet,
    replay: Replay,
    tmp_path: Path,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_work, "NO_WORKER_S", 1.0)
    source, calls = turns(tmp_path / "recorded.jsonl", 3), tmp_path / "calls"
    assert replay(source, "runs.jsonl", *MODEL, "--workers", "celery") == 2
    queue = deployment.queue.work_name
    assert f"no worker reads the queue {queue}; start `draftcritic worker`" in capsys.readouterr().err
    assert deployment.depth(queue) == 3
    monkeypatch.setattr(_work, "NO_WORKER_S", 30.0)
    deployment.worker(CALLS=str(calls))
    assert replay(source, "runs.jsonl", "--model", "openai:gpt-9", "--workers", "celery") == 2
    assert (
        "the replay wants the model openai:gpt-9 {}, and the worker has openai:gpt-4.1-nano" in capsys.readouterr().err
    )
    monkeypatch.setenv("DRAFTCRITIC_FLEET_KEY", "KioqKioqKioqKioqKioqKioqKioqKioqKioqKioqKio=")
    assert replay(source, "runs.jsonl", "--workers", "celery") == 2
    assert "a worker's answer cannot be read" in capsys.readouterr().err
    assert not list(tmp_path.glob("runs.jsonl*"))
    monkeypatch.delenv("DRAFTCRITIC_FLEET_KEY")
    assert replay(source, "runs.jsonl", "--workers", "celery") == 0
    assert not calls.exists()  # what the first run had asked was thrown away unpaid


def test_a_broker_that_is_away_is_reported(
    deployment: Fleet,
    replay: Replay,
    tmp_path: Path,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DRAFTCRITIC_BROKER", "amqp://127.0.0.1:9//")
    assert replay(turns(tmp_path / "recorded.jsonl", 3), "runs.jsonl", "--workers", "celery") == 2
    assert "the broker does not answer" in capsys.readouterr().err
    monkeypatch.delenv("DRAFTCRITIC_BROKER")
    assert replay(tmp_path / "recorded.jsonl", "runs.jsonl", "--workers", "celery") == 2
    assert "--workers celery needs the setting `broker`" in capsys.readouterr().err
