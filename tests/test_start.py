"""What the plugin says when it starts, and what `strict` does when it cannot."""

from __future__ import annotations

import logging
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from support.chat import Chat, StreamingChat
from support.sdk import Telemetry

from draftcritic import DraftCriticInstrumentor
from draftcritic._strict import may_be_strict, missing_package
from draftcritic.telemetry._neighbours import capturing_neighbours

INSTRUMENT = Path(sys.executable).with_name("opentelemetry-instrument")
RULES = [{"statement": "Be kind.", "priority": 9}]
AGENT = "import langchain_core.language_models.chat_models; print('the application runs')"


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    yield Telemetry()
    plugin = DraftCriticInstrumentor()
    if plugin.is_instrumented_by_opentelemetry:
        plugin.uninstrument()
    elif plugin._wiring is not None:
        plugin._wiring.disconnect()


def start(telemetry: Telemetry, **settings: Any) -> DraftCriticInstrumentor:
    plugin = DraftCriticInstrumentor()
    plugin.instrument(**telemetry.providers, **settings)
    return plugin


def agent(code: str = AGENT, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program under `opentelemetry-instrument` with these variables."""
    return subprocess.run(
        [str(INSTRUMENT), sys.executable, "-c", code],
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def environment(**variables: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "DRAFTCRITIC_"))}
    exporters = {f"OTEL_{signal}_EXPORTER": "none" for signal in ("TRACES", "METRICS", "LOGS")}
    return {**kept, **exporters, "PYTHONWARNINGS": "ignore", **variables}


def lines(caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno == level and r.name == "draftcritic"]


def test_the_start_is_one_line_that_names_what_is_in_effect(
    telemetry: Telemetry, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    caplog.set_level(logging.INFO)
    start(telemetry, model=Chat(answers=["x"], model_name="gpt-4.1-mini"), preferences=RULES)
    (line,) = lines(caplog, logging.INFO)
    assert line.startswith("draftcritic 0.")
    for part in ("mode observe, in the background", "critic gpt-4.1-mini", "1 rule, policy ", "delivery memory"):
        assert part in line
    assert "texts are also captured by" in line
    assert "LangSmith" in line
    assert "Be kind" not in line
    assert lines(caplog, logging.WARNING) == []


def test_a_start_without_rules_is_warned_about_only_where_a_model_is_asked(
    telemetry: Telemetry, caplog: pytest.LogCaptureFixture
) -> None:
    start(telemetry, mode="gate").uninstrument()
    assert lines(caplog, logging.WARNING) == []
    start(telemetry, mode="observe")
    (line,) = lines(caplog, logging.WARNING)
    assert line.startswith("there are no rules")


def test_the_line_reaches_a_terminal_once_and_no_pipe() -> None:
    assert "draftcritic" not in agent(DRAFTCRITIC_RULES="Be kind.").stderr
    for code in (AGENT, f"import logging; logging.basicConfig(level=20); {AGENT}"):
        master, slave = pty.openpty()
        child = subprocess.Popen(
            [str(INSTRUMENT), sys.executable, "-c", code],
            env=environment(DRAFTCRITIC_RULES="Be kind."),
            stdout=subprocess.DEVNULL,
            stderr=slave,
        )
        os.close(slave)
        written = b""
        try:
            while chunk := os.read(master, 4096):
                written += chunk
        except OSError:  # Linux: the other end is closed
            pass
        assert child.wait(60) == 0
        os.close(master)
        assert written.count(b"mode observe, in the background") == 1


@pytest.mark.parametrize("handlers", ["", "import logging; logging.getLogger().addHandler(logging.NullHandler()); "])
def test_a_misspelled_mode_is_an_error_on_standard_error_whatever_handlers_there_are(handlers: str) -> None:
    done = agent(handlers + AGENT, DRAFTCRITIC_MODE="enforc")
    assert (done.returncode, done.stdout) == (0, "the application runs\n")
    (line,) = [line for line in done.stderr.splitlines() if "draftcritic" in line]
    assert line.startswith("draftcritic stays off, and no answer is reviewed: 1 invalid setting: mode = 'enforc'")
    assert "DRAFTCRITIC_STRICT=true" in line


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"DRAFTCRITIC_MODE": "enforc", "DRAFTCRITIC_STRICT": "true"}, "mode = 'enforc'"),
        ({"DRAFTCRITIC_STRICT": "ture"}, "strict = 'ture'"),
        ({"DRAFTCRITIC_STRICT": "1", "DRAFTCRITIC_CONFIG": "/no/such.toml"}, "config"),
        ({"DRAFTCRITIC_STRICT": "1", "DRAFTCRITIC_MODEL": "mistralai:x"}, "run pip install langchain-mistralai"),
        ({"DRAFTCRITIC_STRICT": "1", "DRAFTCRITIC_GATE": "no_such_module:gate"}, "cannot be imported"),
    ],
)  # fmt: skip
def test_strict_ends_a_process_that_cannot_be_set_up(variables: dict[str, str], said: str) -> None:
    done = agent(**variables)
    assert (done.returncode, done.stdout) == (78, "")
    assert "draftcritic cannot start, and DRAFTCRITIC_STRICT ends the process: " in done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_strict_in_the_file_ends_the_process_too(tmp_path: Path) -> None:
    file = tmp_path / "draftcritic.toml"
    file.write_text('strict = true\nmode = "enforc"\n')
    assert agent(DRAFTCRITIC_CONFIG=str(file)).returncode == 78
    file.write_text('strict = true\nmode = "enforce"\nrules = ["Be kind."]\n')
    done = agent(DRAFTCRITIC_CONFIG=str(file))
    assert (done.returncode, done.stdout) == (0, "the application runs\n")


def test_a_strict_start_that_can_work_runs_on() -> None:
    done = agent(DRAFTCRITIC_STRICT="true", DRAFTCRITIC_MODE="enforce", DRAFTCRITIC_MODEL="openai:gpt-4.1-mini")
    assert (done.returncode, done.stdout) == (0, "the application runs\n")


def test_a_provider_in_gate_mode_is_not_needed() -> None:
    done = agent(DRAFTCRITIC_STRICT="true", DRAFTCRITIC_MODE="gate", DRAFTCRITIC_MODEL="mistralai:x")
    assert done.returncode == 0


@pytest.mark.parametrize("mode", ["observe", "enforce"])
def test_a_patch_that_cannot_be_placed_withholds_answers_in_strict_enforce_alone(
    mode: str, telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as patch:
        patch.delattr(BaseChatModel, "_generate_with_cache")
        plugin = start(telemetry, mode=mode, strict=True, rules=["Be kind."])
        assert not plugin.is_instrumented_by_opentelemetry
    assert "failed to start and stays off" in caplog.text
    models = (Chat(answers=["x"]), StreamingChat(answers=["x"]))
    if mode == "observe":
        assert models[0].invoke("q").text == "x"
        return
    for model in models:
        with pytest.raises(RuntimeError, match="draftcritic withholds every answer"):
            model.invoke("q")
        with pytest.raises(RuntimeError, match="draftcritic withholds every answer"):
            list(model.stream("q"))
    start(telemetry, mode="enforce", strict=True, model=Chat(answers=['{"verdict": "approve"}']))
    assert models[1].invoke("q").text == "x"


def test_an_invalid_reload_withholds_drafts_in_strict_enforce(telemetry: Telemetry, tmp_path: Path) -> None:
    file = tmp_path / "draftcritic.toml"
    good = 'reload_interval = 0.001\nrules = ["Be kind."]\n'
    for strict, shown in ((True, "No."), (False, "It is on its way.")):
        file.write_text(good)
        critic = Chat(answers=['{"verdict": "approve"}'] * 9)
        start(telemetry, mode="enforce", strict=strict, config=file, model=critic, default_refusal="No.")
        agent_model = Chat(answers=["It is on its way."])
        assert agent_model.invoke("q").text == "It is on its way."
        file.write_text(good + "nonsense = 1\n")
        seen = [agent_model.invoke("q").text for _ in range(3)][-1]
        assert seen == shown
        file.write_text(good + "# mended\n")
        assert [agent_model.invoke("q").text for _ in range(3)][-1] == "It is on its way."
        DraftCriticInstrumentor().uninstrument()
    withheld = [r for r in telemetry.reviews() if r["draftcritic.action"] == "failed_closed"]
    assert withheld


def test_words_that_are_not_false_count_as_strict() -> None:
    for word in ("true", "1", "yes", "ture"):
        assert may_be_strict({}, {"DRAFTCRITIC_STRICT": word})
    for word in ("", "0", "false", "No", "off"):
        assert not may_be_strict({}, {"DRAFTCRITIC_STRICT": word})
    assert not may_be_strict({"strict": False}, {"DRAFTCRITIC_STRICT": "true"})


def test_the_packages_of_providers_are_those_of_langchain() -> None:
    base = pytest.importorskip("langchain.chat_models.base")
    theirs = {name: entry[0].partition(".")[0] for name, entry in base._BUILTIN_PROVIDERS.items()}
    from draftcritic._strict import _PACKAGES

    assert {name: theirs[name] for name in _PACKAGES if name in theirs} == {
        name: module for name, module in _PACKAGES.items() if name in theirs
    }
    assert missing_package("openai:gpt-4.1-mini") is None
    assert missing_package("mistralai:x") == "langchain-mistralai"
    assert missing_package(None) is None


@pytest.mark.parametrize(
    ("variables", "modules", "labels"),
    [
        ({}, ["openinference.instrumentation.langchain"], ["OpenInference"]),
        ({"OPENINFERENCE_HIDE_INPUTS": "true"}, ["openinference.instrumentation.langchain"], ["OpenInference"]),
        (
            {"OPENINFERENCE_HIDE_INPUTS": "true", "OPENINFERENCE_HIDE_OUTPUTS": "1"},
            ["openinference.instrumentation.langchain"],
            [],
        ),
        ({}, ["opentelemetry.instrumentation.langchain"], ["OpenLLMetry"]),
        ({"TRACELOOP_TRACE_CONTENT": "false"}, ["opentelemetry.instrumentation.langchain"], []),
        ({}, ["opentelemetry.instrumentation.genai.langchain"], []),
        (
            {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY"},
            ["opentelemetry.instrumentation.genai.langchain"],
            ["OpenTelemetry GenAI"],
        ),
        ({"LANGCHAIN_TRACING_V2": "true"}, [], ["LangSmith"]),
        ({}, [], []),
    ],
)
def test_neighbours_that_record_texts_are_named(
    variables: dict[str, str], modules: list[str], labels: list[str]
) -> None:
    assert [each.label for each in capturing_neighbours(variables, modules)] == labels


def test_gunicorn_under_opentelemetry_instrument_ends_with_the_exit_code() -> None:
    pytest.importorskip("gunicorn")
    gunicorn = Path(sys.executable).with_name("gunicorn")
    done = subprocess.run(
        [str(INSTRUMENT), str(gunicorn), "--bind", "127.0.0.1:0", "support.served:wsgi"],
        env=environment(DRAFTCRITIC_MODE="enforc", DRAFTCRITIC_STRICT="true"),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 78
    assert "Booting worker" not in done.stderr
