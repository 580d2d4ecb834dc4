"""The file of the settings lowers the mode while the process runs, and takes that back; it never raises it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.chat import Chat
from support.sdk import Telemetry

from draftcritic import DraftCriticInstrumentor
from draftcritic.core import Mode
from draftcritic.settings import Settings, SettingsError

REFUSE = '{"verdict": "refuse", "refusal_message": "No."}'
DRAFT = "It costs 12 euros."
SOON = 0.000001


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


class Agent:
    def __init__(self, telemetry: Telemetry, file: Path, **settings: Any) -> None:
        self.critic = Chat(answers=[REFUSE], model_name="gpt-4.1-nano")
        self.plugin = DraftCriticInstrumentor()
        given = {"reload_interval": SOON, **settings}
        self.plugin.instrument(**telemetry.providers, config=file, model=self.critic, **given)

    def ask(self) -> str:
        answer = str(Chat(answers=[DRAFT]).invoke("How much?").text)
        assert self.plugin.flush(10)
        return answer

    def stream(self) -> str:
        return "".join(str(chunk.text) for chunk in Chat(answers=[DRAFT]).stream("How much?"))

    def until(self, what: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 10
        while not what():
            assert time.monotonic() < deadline
            self.ask()


def test_off_stops_reviews_and_can_be_taken_back(telemetry: Telemetry, file: Path) -> None:
    agent = Agent(telemetry, file, mode="observe")
    agent.ask()
    assert len(agent.critic.calls) == 1
    file.write_text('mode = "off"\n')
    agent.ask()  # its review reads the file, and is not made
    for _ in range(3):
        agent.ask()
    assert len(agent.critic.calls) == 1
    file.write_text('mode = "observe"\n')
    agent.until(lambda: len(agent.critic.calls) == 2)


def test_off_in_the_file_wins_over_the_environment_at_the_start_and_can_be_taken_back(
    telemetry: Telemetry, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAFTCRITIC_MODE", "enforce")
    file.write_text('mode = "off"\n')
    agent = Agent(telemetry, file)
    assert (agent.ask(), agent.stream()) == (DRAFT, DRAFT)
    assert agent.critic.calls == []
    file.write_text('mode = "enforce"\n')
    agent.until(lambda: len(agent.critic.calls) > 0)
    assert (agent.ask(), agent.stream()) == ("No.", "No.")


@pytest.mark.parametrize("way", ["ask", "stream"])
def test_enforce_that_is_lowered_to_observe_reviews_and_changes_nothing(
    telemetry: Telemetry, file: Path, way: str
) -> None:
    agent = Agent(telemetry, file, mode="enforce")
    assert getattr(agent, way)() == "No."
    file.write_text('mode = "observe"\n')
    agent.until(lambda: agent.ask() == DRAFT)
    calls = len(agent.critic.calls)
    assert getattr(agent, way)() == DRAFT
    assert agent.plugin.flush(10)
    assert len(agent.critic.calls) == calls + 1
    assert telemetry.reviews()[-1]["draftcritic.action"] == "recorded"


def test_the_file_raises_no_mode_above_that_of_the_start(
    telemetry: Telemetry, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file.write_text('mode = "gate"\n')
    agent = Agent(telemetry, file)
    file.write_text('mode = "enforce"\n')
    assert [agent.ask() for _ in range(3)] == [DRAFT] * 3
    assert agent.critic.calls == []
    assert "mode will hold from the next start on" in caplog.text


def test_a_word_that_is_no_mode_changes_nothing(telemetry: Telemetry, file: Path) -> None:
    agent = Agent(telemetry, file, mode="observe")
    file.write_text('mode = "of"\n')
    agent.ask()
    agent.ask()
    assert len(agent.critic.calls) == 2
    with pytest.raises(SettingsError, match="mode = 'of'"):
        Settings.load({}, config=file, mode="observe")


def test_the_info_of_a_process_says_what_is_in_effect(telemetry: Telemetry, file: Path) -> None:
    agent = Agent(telemetry, file, mode="observe")
    agent.ask()

    def info() -> dict[str, Any]:
        ((labels, value),) = telemetry.values("draftcritic.info").items()
        assert value == 1
        return dict(labels)

    before = info()
    assert before["draftcritic.mode"] == "observe"
    assert before["draftcritic.delivery"] == "memory"
    assert before["draftcritic.sku"] == "gpt-4.1-nano"
    file.write_text('mode = "off"\nrules = ["Be kind."]\n')
    agent.ask()
    after = info()
    assert after["draftcritic.mode"] == "off"
    assert after["draftcritic.policy.version"] != before["draftcritic.policy.version"]


def test_the_lower_mode_is_the_one_that_does_less() -> None:
    order = [Mode.OFF, Mode.GATE, Mode.OBSERVE, Mode.ENFORCE]
    for at, mode in enumerate(order):
        assert mode.lowered_to(None) is mode
        for other_at, other in enumerate(order):
            assert mode.lowered_to(other) is order[min(at, other_at)]
