"""A changed file of settings holds without a restart, and a broken one changes nothing; limits from end to end."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.chat import Chat
from support.sdk import Telemetry, labels

from draftcritic import DraftCriticInstrumentor

APPROVE = '{"verdict": "approve"}'
SOON = 0.000001
"""An interval that has always passed."""


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    yield Telemetry()
    if DraftCriticInstrumentor().is_instrumented_by_opentelemetry:
        DraftCriticInstrumentor().uninstrument()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "draftcritic.toml"
    path.write_text('rules = ["Be brief."]\n')
    return path


def start(telemetry: Telemetry, file: Path | None = None, **settings: Any) -> tuple[DraftCriticInstrumentor, Chat]:
    critic = Chat(answers=[APPROVE], model_name="gpt-4.1-nano")
    plugin = DraftCriticInstrumentor()
    plugin.instrument(**telemetry.providers, config=file, model=critic, **{"reload_interval": SOON, **settings})
    return plugin, critic


def ask(plugin: DraftCriticInstrumentor, draft: str = "It costs 12 euros.") -> None:
    Chat(answers=[draft]).invoke("How much?")
    assert plugin.flush(10)


def loaded(telemetry: Telemetry) -> int:
    (value,) = telemetry.values("draftcritic.policy.loaded").values()
    return int(value)


@pytest.mark.parametrize("background", [True, False])
def test_changed_rules_hold_from_the_next_draft_on(
    telemetry: Telemetry, file: Path, background: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "draftcritic")
    plugin, critic = start(telemetry, file, background=background)
    ask(plugin)
    file.write_text('rules = ["Be kind."]\nconfidence_threshold = 0.4\nworkers = 7\n')
    ask(plugin)
    file.write_text('rules = ["Be kind."]\n')
    ask(plugin)
    first, second = critic.calls
    assert "Be brief." in first[-1].content
    assert "Be kind." in second[-1].content
    reviews = telemetry.reviews()
    assert [r["draftcritic.gate.decision"] for r in reviews] == ["fired", "skipped", "fired"]
    assert len({r["draftcritic.policy.version"] for r in reviews}) == 3
    assert loaded(telemetry) == 1
    versions = [r["draftcritic.policy.version"] for r in reviews]
    assert [r.getMessage() for r in caplog.records if "settings" in r.getMessage()] == [
        f"the changed settings hold, policy {versions[1]}; workers will hold from the next start on",
        f"the changed settings hold, policy {versions[2]}",
    ]


def test_changed_rules_hold_for_a_coroutine_too(telemetry: Telemetry, file: Path) -> None:
    _, critic = start(telemetry, file, background=False)
    file.write_text('rules = ["Be kind."]\n')
    asyncio.run(Chat(answers=["It costs 12 euros."]).ainvoke("How much?"))
    assert "Be kind." in critic.calls[0][-1].content


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("rules = [", "is no valid TOML"),
        ("ruels = []", "did you mean rules?"),
        ("confidence_threshold = 7", "confidence_threshold = 7"),
        ('gate = "no.such.module:gate"', "cannot be imported"),
        (None, "there is no such file"),
    ],
)
def test_a_broken_file_keeps_the_last_good_rules_and_says_so_once(
    telemetry: Telemetry, file: Path, broken: str | None, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    plugin, critic = start(telemetry, file)
    ask(plugin)
    if broken is None:
        file.unlink()
    else:
        file.write_text(broken)
    for _ in range(3):
        ask(plugin)
    (line,) = [r.getMessage() for r in caplog.records if r.levelno == logging.ERROR]
    assert line.startswith("the changed settings cannot hold, and the last good ones stay: 1 invalid setting: ")
    assert said in line
    assert "\n" not in line
    assert len(critic.calls) == 4
    assert all("Be brief." in call[-1].content for call in critic.calls)
    assert len({r["draftcritic.policy.version"] for r in telemetry.reviews()}) == 1
    assert loaded(telemetry) == 0
    file.write_text('rules = ["Be kind."]\n')
    ask(plugin)
    assert "Be kind." in critic.calls[-1][-1].content
    assert loaded(telemetry) == 1


def test_code_and_environment_still_win_over_a_changed_file(
    telemetry: Telemetry, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAFTCRITIC_SAMPLE_RATE", "1")
    plugin, critic = start(telemetry, file, rules=["From code."])
    file.write_text('rules = ["Be kind."]\nsample_rate = 0\n')
    ask(plugin)
    assert "From code." in critic.calls[0][-1].content


def test_limits_change_with_the_file_and_what_was_spent_stays(telemetry: Telemetry, file: Path) -> None:
    file.write_text("reviews_per_minute = 1\n")
    plugin, critic = start(telemetry, file)
    ask(plugin)
    ask(plugin)
    file.write_text("reviews_per_minute = 2\n")
    ask(plugin)
    ask(plugin)
    reasons = [r["draftcritic.gate.reason"] for r in telemetry.reviews()]
    assert reasons == ["low_confidence", "budget", "low_confidence", "budget"]
    assert len(critic.calls) == 2


def test_without_looking_a_change_waits_for_the_next_start(telemetry: Telemetry, file: Path) -> None:
    plugin, critic = start(telemetry, file, reload_interval=0)
    file.write_text('rules = ["Be kind."]\n')
    os.utime(file, ns=(1, 1))
    ask(plugin)
    assert "Be brief." in critic.calls[0][-1].content


def test_a_trace_is_sampled_as_a_whole(telemetry: Telemetry) -> None:
    plugin, _ = start(telemetry, sample_rate=0.5)
    tracer = telemetry.tracer_provider.get_tracer("application")
    for _ in range(12):
        with tracer.start_as_current_span("turn"):
            for _ in range(3):
                ask(plugin)
    fates: dict[int, set[str]] = {}
    for span in telemetry.review_spans:
        fates.setdefault(span.context.trace_id, set()).add(span.attributes["draftcritic.gate.decision"])
    assert len(fates) == 12
    for trace_id, fate in fates.items():
        sampled = (trace_id & (2**64 - 1)) < 2**63
        assert fate == {"fired" if sampled else "not_evaluated"}


def test_an_open_circuit_is_seen_as_reason_and_gauge(telemetry: Telemetry) -> None:
    critic = Chat(answers=[APPROVE], model_name="gpt-4.1-nano", error=ConnectionError("down"))
    plugin = DraftCriticInstrumentor()
    plugin.instrument(**telemetry.providers, model=critic, circuit_min_calls=3)
    for _ in range(5):
        ask(plugin)
    reviews = telemetry.reviews()
    assert [r["draftcritic.gate.reason"] for r in reviews][3:] == ["circuit_open"] * 2
    assert [r.get("draftcritic.failure") for r in reviews] == ["error"] * 3 + [None] * 2
    assert telemetry.values("draftcritic.circuit.state")[labels(sku="gpt-4.1-nano")] == 2
    series = labels(gate__decision="not_evaluated", gate__reason="circuit_open")
    assert telemetry.values("draftcritic.gate.decisions")[series] == 2


def test_the_same_draft_again_shares_the_reflection(telemetry: Telemetry) -> None:
    plugin, critic = start(telemetry, share_window=5)
    for _ in range(3):
        ask(plugin)
    ask(plugin, "It costs 13 euros.")
    assert len(critic.calls) == 2
    assert [r.get("draftcritic.shared") for r in telemetry.reviews()] == [None, True, True, None]
    assert [r["draftcritic.verdict"] for r in telemetry.reviews()] == ["approve"] * 4


async def test_generations_and_tasks_that_write_the_same_share_one_call(telemetry: Telemetry) -> None:
    _, critic = start(telemetry, background=False, share_window=5)
    model = Chat(answers=["It costs 12 euros."], n=3)
    await asyncio.gather(*(model.ainvoke("How much?") for _ in range(4)))
    assert len(critic.calls) == 1
    reviews = telemetry.reviews()
    assert len(reviews) == 12
    assert sum(r.get("draftcritic.shared", False) for r in reviews) == 11


def test_a_long_draft_is_cut_for_the_critic_and_for_nobody_else(telemetry: Telemetry) -> None:
    plugin, critic = start(telemetry, prompt_budget=2000)
    draft = "We say this again and again without an end. " * 1000 + "It costs 12 euros."
    assert Chat(answers=[draft]).invoke("How much?").content == draft
    assert plugin.flush(10)
    asked = critic.calls[0][-1].content
    assert "It costs 12 euros." in asked
    assert "characters left out ...]" in asked
    assert len(asked) < 3000
    (review,) = telemetry.reviews()
    assert review["draftcritic.draft.length"] == len(draft)
    assert review["draftcritic.prompt.omitted"] > 40_000


def test_enforce_refuses_what_a_limit_keeps_from_review_where_told_to(telemetry: Telemetry) -> None:
    start(telemetry, mode="enforce", sample_rate=0, on_limit="refuse", default_refusal="Not now.")
    assert Chat(answers=["It costs 12 euros."]).invoke("How much?").content == "Not now."
    (review,) = telemetry.reviews()
    assert review["draftcritic.verdict"] == "refuse"
    assert review["draftcritic.verdict.source"] == "gate"
    assert review["draftcritic.action"] == "blocked"
    assert review["draftcritic.gate.decision"] == "not_evaluated"
    assert review["draftcritic.gate.reason"] == "sampled_out"


def test_enforce_lets_it_pass_by_default(telemetry: Telemetry) -> None:
    start(telemetry, mode="enforce", sample_rate=0)
    assert Chat(answers=["It costs 12 euros."]).invoke("How much?").content == "It costs 12 euros."
    (review,) = telemetry.reviews()
    assert "draftcritic.verdict" not in review
    assert review["draftcritic.gate.reason"] == "sampled_out"
