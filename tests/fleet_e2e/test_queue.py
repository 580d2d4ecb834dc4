"""Drafts go from agents through RabbitMQ to workers; whatever is killed, none is lost."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.fleet import Fleet, finished, wait_for

from draftcritic.cli import main
from draftcritic.core._turn import Turn
from draftcritic.demo._receiver import OtlpReceiver
from draftcritic.fleet._broker import TASK
from draftcritic.fleet._cipher import Cipher
from draftcritic.fleet._wire import DraftMessage, encode

pytestmark = pytest.mark.e2e
KEY = "KioqKioqKioqKioqKioqKioqKioqKioqKioqKioqKio="


def killed_after(fleet: Fleet, agent: Any, drafts: int) -> list[str]:
    """Return the drafts that the callers of an agent got before it was killed."""
    got = [agent.stdout.readline() for _ in range(drafts)]
    os.killpg(agent.pid, signal.SIGKILL)
    rest, _ = agent.communicate(timeout=60)
    return [line.decode().strip() for line in [*got, *rest.splitlines()] if line.strip()]


def count(fleet: Fleet) -> int:
    return len(fleet.reviewed())


def send(fleet: Fleet, id_: str, body: Any, task: str = TASK) -> None:
    """Put a message into the queue as an agent does, or as no agent would."""
    app = fleet.queue.app()
    with app.connection_for_write() as connection:
        fleet.queue.dead()(connection.default_channel).declare()
        producer = app.amqp.Producer(connection, auto_declare=False)
        app.send_task(task, args=[id_, body], task_id=id_, queue=fleet.queue.live(), producer=producer)


def draft(number: int, text: str = "It costs 12 euros.") -> tuple[str, bytes]:
    id_ = f"{number:032x}"
    return id_, encode(DraftMessage(id_, Turn(text), created=time.time()))


def test_drafts_are_reviewed_once_also_when_agents_and_workers_are_killed(deployment: Fleet) -> None:
    workers = [deployment.worker(SECONDS_PER_REVIEW="0.05") for _ in range(2)]
    returned = killed_after(deployment, deployment.agent(500, threads=2), 30)
    agent = deployment.agent(30, threads=2)  # takes over the spool of the killed one
    wait_for(lambda: count(deployment) > 5)
    deployment.kill(workers[0])
    returned += finished(agent)
    deployment.kill(workers[1])
    deployment.worker(concurrency=2)
    wait_for(lambda: set(returned) <= set(deployment.reviewed()))
    counts = deployment.reviewed()
    assert sum(counts.values()) - len(counts) <= 2  # a killed worker had recorded and not yet confirmed it
    assert deployment.letters() == []


def test_a_restart_of_the_broker_loses_nothing_and_holds_no_caller_up(deployment: Fleet) -> None:
    deployment.worker()
    returned = finished(deployment.agent(5))
    deployment.services.stop("rabbitmq")
    began = time.monotonic()
    agent = deployment.agent(50)
    waiting = [agent.stdout.readline().decode().strip() for _ in range(50)]  # type: ignore[union-attr]
    assert time.monotonic() - began < 30
    deployment.services.start("rabbitmq")
    finished(agent)
    wait_for(lambda: set(returned + waiting) <= set(deployment.reviewed()))


def test_a_draft_that_kills_each_worker_is_a_dead_letter_and_the_others_are_reviewed(deployment: Fleet) -> None:
    deployment.worker(concurrency=1)
    send(deployment, *poison(deployment, 1, "It costs 12 euros, poison."))
    returned = finished(deployment.agent(5))
    wait_for(lambda: set(returned) <= set(deployment.reviewed()))
    wait_for(lambda: deployment.depth(deployment.queue.dead_name) == 1)
    (letter,) = deployment.letters()
    assert "poison" in json.loads(letter.body)[0][1]["draft"]
    assert letter.headers["x-death"][0]["reason"] == "delivery_limit"


def poison(fleet: Fleet, number: int, text: str) -> tuple[str, dict[str, str]]:
    id_, payload = draft(number, text)
    return id_, Cipher().sealed(payload)


def test_a_review_that_never_ends_is_killed_and_frees_its_slot(deployment: Fleet) -> None:
    send(deployment, *poison(deployment, 1, "It costs 12 euros and is stuck."))
    deployment.worker(DRAFTCRITIC_GATE="support.fleet_worker:stuck_gate", TIME_LIMIT="-1", DRAFTCRITIC_TIMEOUT="0.5")
    returned = finished(deployment.agent(5))
    wait_for(lambda: set(returned) <= set(deployment.reviewed()))
    wait_for(lambda: deployment.depth(deployment.queue.dead_name) == 1)


def test_what_is_no_draft_of_this_release_is_a_dead_letter(deployment: Fleet) -> None:
    bodies: list[Any] = [
        {"form": "json", "draft": '{"v":99}'},
        {"form": "pickle", "draft": "gASVCg=="},
        {"draft": 7},
        None,
        {"form": "fernet", "draft": "abc"},
        Cipher().sealed(draft(99)[1]),  # the id of another draft
    ]
    for number, body in enumerate(bodies):
        send(deployment, f"{number:032x}", body)
    send(deployment, "a" * 32, "x", task="os.system")
    deployment.worker()
    wait_for(lambda: deployment.depth(deployment.queue.dead_name) == len(bodies) + 1)
    assert count(deployment) == 0


def test_encrypted_drafts_are_read_with_the_key_and_not_without_it(deployment: Fleet) -> None:
    returned = finished(deployment.agent(3, DRAFTCRITIC_FLEET_KEY=KEY))
    message = deployment.connection.default_channel.basic_get(deployment.queue.name)
    seen = json.dumps([str(message.body), str(message.properties), str(message.headers)])
    assert "euros" not in seen
    message.channel.basic_reject(message.delivery_tag, requeue=True)
    deployment.worker(DRAFTCRITIC_FLEET_KEY=KEY)
    wait_for(lambda: set(returned) <= set(deployment.reviewed()))


def test_no_header_of_a_message_has_text_of_the_draft(deployment: Fleet) -> None:
    finished(deployment.agent(1))
    message = deployment.connection.default_channel.basic_get(deployment.queue.name, no_ack=True)
    assert "euros" in str(message.body)
    assert "euros" not in str(message.headers) + str(message.properties)


def test_a_late_duplicate_is_recorded_as_shared_and_asks_no_model(deployment: Fleet) -> None:
    with OtlpReceiver() as receiver:
        exporting = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.endpoint, "OTEL_METRICS_EXPORTER": "none"}
        id_, payload = draft(time.time_ns())
        send(deployment, id_, Cipher().sealed(payload))
        first = deployment.worker(EXPORT="1", **exporting)
        wait_for(lambda: count(deployment) == 1)
        first.terminate()  # the next one knows of it through Redis alone
        first.wait(60)
        send(deployment, id_, Cipher().sealed(payload))
        deployment.worker(EXPORT="1", **exporting)
        wait_for(lambda: len([span for span in receiver.spans if "draftcritic.verdict" in span.attributes]) == 2)
        spans = [span for span in receiver.spans if "draftcritic.verdict" in span.attributes]
        assert Counter(span.attributes.get("draftcritic.shared", False) for span in spans) == {False: 1, True: 1}
        assert {span.attributes["draftcritic.verdict"] for span in spans} == {"approve"}


TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def test_a_review_belongs_to_the_drafts_trace_and_the_workers_span_links_to_it(deployment: Fleet) -> None:
    with OtlpReceiver() as receiver:
        id_ = "d" * 32
        message = DraftMessage(id_, Turn("It costs 12 euros."), {"traceparent": f"00-{TRACE}-{SPAN}-01"}, time.time())
        send(deployment, id_, Cipher().sealed(encode(message)))
        deployment.worker(EXPORT="1", OTEL_EXPORTER_OTLP_ENDPOINT=receiver.endpoint, OTEL_METRICS_EXPORTER="none")
        name = f"process {deployment.queue.name}"
        wait_for(lambda: {"draftcritic.review", name} <= {span.name for span in receiver.spans})
    (review,) = [span for span in receiver.spans if span.name == "draftcritic.review"]
    (worker,) = [span for span in receiver.spans if span.name == name]
    assert (review.trace_id, review.parent_id) == (TRACE, SPAN)
    assert worker.trace_id != TRACE
    assert not worker.parent_id
    assert worker.links == ((TRACE, SPAN),)


def test_workers_review_the_drafts_of_releases_with_more_and_with_fewer_fields(deployment: Fleet) -> None:
    newer, older = json.loads(draft(1, "It costs 12 euros, newer.")[1]), json.loads(draft(2, "It costs 12 euros.")[1])
    newer["turn"]["mood"] = newer["priority"] = "calm"
    del older["turn"]["agent"], older["turn"]["hearsay"]
    for whole in (newer, older):
        send(deployment, whole["id"], Cipher().sealed(json.dumps(whole).encode()))
    deployment.worker()
    wait_for(lambda: deployment.reviewed() == {"It costs 12 euros, newer.": 1, "It costs 12 euros.": 1})
    assert deployment.letters() == []


def test_a_full_queue_pushes_back_into_the_spool(deployment: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    channel = deployment.connection.default_channel
    live = deployment.queue.live()
    live.queue_arguments["x-max-length"] = 3
    live(channel).declare()
    agent = deployment.agent(20, MOST_MESSAGES="3")
    returned = [agent.stdout.readline().decode().strip() for _ in range(20)]  # type: ignore[union-attr]
    time.sleep(2)
    assert deployment.depth() <= 5
    deployment.worker(MOST_MESSAGES="3")
    finished(agent)
    wait_for(lambda: set(returned) <= set(deployment.reviewed()))
    assert deployment.letters() == []


def test_replay_judges_the_dead_letters_and_takes_them_out_of_the_queue(
    deployment: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DRAFTCRITIC_BROKER", deployment.services.broker)
    monkeypatch.setenv("DRAFTCRITIC_FLEET", deployment.queue.name)
    whole, later = draft(1), '{"v":99}'
    app = deployment.queue.app()
    with app.connection_for_write() as connection:
        deployment.queue.dead()(connection.default_channel).declare()
        producer = app.amqp.Producer(connection, auto_declare=False)
        for id_, body in ((whole[0], Cipher().sealed(whole[1])), ("b" * 32, {"form": "json", "draft": later})):
            app.send_task(TASK, args=[id_, body], task_id=id_, queue=deployment.queue.dead(), producer=producer)
    wait_for(lambda: deployment.depth(deployment.queue.dead_name) == 2)
    out = tmp_path / "judged.jsonl"
    assert main(["replay", "--dead-letters", "--out", str(out)]) == 0
    assert "1 dead letters; 1 cannot be read by this release and stay" in capsys.readouterr().err
    (row,) = [json.loads(line) for line in out.read_text().splitlines()]
    assert row["turn_id"] == whole[0]
    wait_for(lambda: deployment.depth(deployment.queue.dead_name) == 1)


def test_a_worker_takes_no_more_drafts_than_it_has_processes(deployment: Fleet) -> None:
    finished(deployment.agent(12))
    deployment.worker(concurrency=2, SECONDS_PER_REVIEW="5")
    wait_for(lambda: deployment.depth() < 12)
    time.sleep(1)
    # Those that are killed with a worker count as delivered: they must be few.
    assert deployment.depth() >= 12 - 2 * 2
