"""A changed file of settings holds without a restart, and a broken one changes nothing; limits from end to end."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.chat import Chat
from support.sdk import Telemetry, labels

from draftcritic import DraftCriticInstrumentor
from draftcritic.review._reflection import PROBE_DRAFT
from draftcritic.settings import Settings

APPROVE = '{"verdict": "approve"}'
SOON = 0.000001
"""An interval that has always passed."""
LONG = 30.0


class AsyncChat(Chat):
    """Needs no thread for a coroutine."""

    async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        return self._generate(messages, stop, None, **kwargs)


class SlowSource:
    """Is made while a file of settings is read, and takes until it is released."""

    begun = threading.Event()
    released = threading.Event()
    made = 0

    def __init__(self) -> None:
        type(self).made += 1
        self.begun.set()
        assert self.released.wait(LONG)

    async def retrieve(self, query: str, top_k: int) -> list[str]:
        return []


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> type[SlowSource]:
    """A rules source that `slow_source:Slow` names."""
    module = ModuleType("slow_source")
    kind = type("Slow", (SlowSource,), {"begun": threading.Event(), "released": threading.Event()})
    module.Slow = kind  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "slow_source", module)
    return kind


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


def write(file: Path, text: str) -> None:
    file.write_text(text)


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
    assert [r.getMessage() for r in caplog.records if "changed settings" in r.getMessage()] == [
        f"the changed settings hold, policy {versions[1]}; workers will hold from the next start on",
        f"the changed settings hold, policy {versions[2]}",
    ]


def test_what_waits_for_the_next_start_is_a_warning_once_a_change(
    telemetry: Telemetry, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "draftcritic")
    plugin, _ = start(telemetry, file)
    for text in ("workers = 7", "workers = 7\ntimeout = 3", "workers = 6", "timeout = 3"):
        file.write_text(f"{text}\n")
        ask(plugin)
    lines = [r for r in caplog.records if "the changed settings hold" in r.getMessage()]
    assert [r.levelname for r in lines] == ["WARNING", "INFO", "WARNING", "INFO"]
    assert ["workers will hold from the next start on" in r.getMessage() for r in lines] == [True, True, True, False]


def test_what_is_doubtful_is_a_warning_once(telemetry: Telemetry, file: Path, caplog: pytest.LogCaptureFixture) -> None:
    plugin, _ = start(telemetry, file, circuit_window=3)
    for text in ("", "# the same\n", "timeout = 0.1\n", ""):
        file.write_text(f'rules = ["Be kind."]\n{text}')
        ask(plugin)
    lines = [r for r in caplog.records if "the circuit cannot open while" in r.getMessage()]
    assert [r.levelname for r in lines] == ["WARNING", "WARNING"]  # it was not so in between


async def until_kind(critic: Chat, model: Chat) -> None:
    for _ in range(3000):
        await model.ainvoke("How much?")
        if "Be kind." in critic.calls[-1][-1].content:
            return
        await asyncio.sleep(0.01)
    raise AssertionError("the changed rules never held")


async def test_a_coroutine_waits_neither_for_a_file_nor_for_the_applications_threads(
    telemetry: Telemetry, file: Path, slow: type[SlowSource]
) -> None:
    critic, model = AsyncChat(answers=[APPROVE]), AsyncChat(answers=["It costs 12 euros."])
    DraftCriticInstrumentor().instrument(
        **telemetry.providers, config=file, model=critic, mode="enforce", reload_interval=SOON
    )
    busy = threading.Event()
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(1))
    blocked = loop.run_in_executor(None, busy.wait, LONG)
    write(file, 'preferences = [{statement = "Be kind."}]\nrules_source = "slow_source:Slow"\n')
    for _ in range(3):
        await asyncio.wait_for(model.ainvoke("How much?"), LONG)
    assert all("Be brief." in call[-1].content for call in critic.calls)
    cancelled = asyncio.ensure_future(model.ainvoke("How much?"))
    await asyncio.sleep(0)
    cancelled.cancel()
    slow.released.set()
    await until_kind(critic, model)
    assert slow.made == 1
    busy.set()
    await blocked


def test_two_threads_never_read_at_once_and_the_file_as_it_is_at_last_holds(
    telemetry: Telemetry, file: Path, slow: type[SlowSource]
) -> None:
    plugin, critic = start(telemetry, file, background=False)
    file.write_text('preferences = [{statement = "Be old."}]\nrules_source = "slow_source:Slow"\n')
    reader = threading.Thread(target=ask, args=(plugin,))
    reader.start()
    assert slow.begun.wait(LONG)
    file.write_text('preferences = [{statement = "Be kind."}]\n')
    ask(plugin)
    assert "Be brief." in critic.calls[-1][-1].content
    slow.released.set()
    reader.join(LONG)
    ask(plugin)
    assert "Be kind." in critic.calls[-1][-1].content
    assert slow.made == 1


def test_what_changes_between_the_reading_of_settings_and_the_start_is_seen(telemetry: Telemetry, file: Path) -> None:
    settings = Settings.load({}, config=file, model=Chat(answers=[APPROVE]), reload_interval=SOON)
    file.write_text('rules = ["Be kind."]\n')
    plugin = DraftCriticInstrumentor()
    plugin.instrument(**telemetry.providers, settings=settings)
    ask(plugin)
    assert "Be kind." in settings.model.calls[0][-1].content


def test_a_relative_path_stays_the_same_file_in_another_directory(
    telemetry: Telemetry, file: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / file.name).write_text('rules = ["Be another."]\n')
    monkeypatch.chdir(file.parent)
    monkeypatch.setenv("DRAFTCRITIC_CONFIG", file.name)
    plugin, critic = start(telemetry)
    monkeypatch.chdir(other)
    file.write_text('rules = ["Be kind."]\n')
    ask(plugin)
    assert "Be kind." in critic.calls[0][-1].content


def test_a_file_that_has_become_empty_is_not_yet_written(
    telemetry: Telemetry, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    plugin, critic = start(telemetry, file)
    for text, rule, whole in (
        ("", "Be brief.", 0),
        (" \n", "Be brief.", 0),
        ('rules = ["Be kind."]', "Be kind.", 1),
        ("# nothing any more", "", 1),
    ):
        file.write_text(text)
        for _ in range(2):
            ask(plugin)
        assert ("Be" in critic.calls[-1][-1].content) is bool(rule)
        assert rule in critic.calls[-1][-1].content
        assert loaded(telemetry) == whole
    (line,) = [r.getMessage() for r in caplog.records if r.levelno == logging.ERROR]
    assert "has become empty and may not be written yet; for no settings at all leave a comment in it" in line


def test_what_could_not_be_read_is_tried_again_although_the_file_stays_the_same(
    telemetry: Telemetry, file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    plugin, critic = start(telemetry, file)
    file.write_text('preferences = [{statement = "Be kind."}]\ngate = "late_gate:gate"\n')
    for _ in range(3):
        ask(plugin)
    assert loaded(telemetry) == 0
    module = ModuleType("late_gate")
    module.gate = lambda context: True  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "late_gate", module)
    ask(plugin)
    assert "Be kind." in critic.calls[-1][-1].content
    assert loaded(telemetry) == 1
    assert len([r for r in caplog.records if r.levelno == logging.ERROR]) == 1


async def test_changed_rules_hold_for_a_coroutine_too(telemetry: Telemetry, file: Path) -> None:
    _, critic = start(telemetry, file, background=False)
    write(file, 'rules = ["Be kind."]\n')
    await until_kind(critic, Chat(answers=["It costs 12 euros."]))


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
    for _ in range(3):
        ask(plugin)
    state, deadline = labels(sku="gpt-4.1-nano"), time.monotonic() + 20
    while telemetry.values("draftcritic.circuit.state").get(state) != 2 and time.monotonic() < deadline:
        time.sleep(0.01)  # until a probe has failed as well
    for _ in range(2):
        ask(plugin)
    assert [len(call) for call in critic.calls] == [len(critic.calls[0])] * 4
    assert PROBE_DRAFT in critic.calls[3][-1].text
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
    assert "draftcritic.verdict" not in review
    assert review["draftcritic.outcome"] == "limited"
    assert review["draftcritic.action"] == "limited_closed"
    assert review["draftcritic.gate.decision"] == "not_evaluated"
    assert review["draftcritic.gate.reason"] == "sampled_out"


def test_enforce_lets_it_pass_by_default(telemetry: Telemetry) -> None:
    start(telemetry, mode="enforce", sample_rate=0)
    assert Chat(answers=["It costs 12 euros."]).invoke("How much?").content == "It costs 12 euros."
    (review,) = telemetry.reviews()
    assert "draftcritic.verdict" not in review
    assert review["draftcritic.gate.reason"] == "sampled_out"
