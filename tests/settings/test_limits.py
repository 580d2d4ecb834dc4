"""The settings of limits, sharing, the prompt's budget and reloading."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from draftcritic.core import Failure, GateReason, LimitRules, ModelCall, OnLimit
from draftcritic.review import Limiter
from draftcritic.settings import Settings, SettingsError


def problems(environ: dict[str, str] | None = None, **code: object) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        Settings.load(environ or {}, **code)
    return [str(problem) for problem in caught.value.problems]


def test_the_defaults_are_those_of_the_rules() -> None:
    assert Settings.load({}).limits() == LimitRules()


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("sample_rate", "0.25", 0.25),
        ("sample_exempt", "sensitive_tag, Fabrication", (GateReason.SENSITIVE_TAG, GateReason.FABRICATION)),
        ("sample_exempt", '["claims"]', (GateReason.CLAIMS,)),
        ("reviews_per_minute", "30", 30),
        ("tokens_per_hour", "100000", {"*": 100000.0}),
        ("usd_per_hour", '{"gpt-4o": 2.5, "*": 1}', {"gpt-4o": 2.5, "*": 1.0}),
        ("max_concurrency", "8", 8),
        ("circuit_failure_rate", "0", 0.0),
        ("circuit_latency", "4.5", 4.5),
        ("circuit_window", "120", 120.0),
        ("circuit_min_calls", "20", 20),
        ("circuit_cooldown", "5", 5.0),
        ("circuit_probes", "3", 3),
        ("on_limit", "REFUSE", OnLimit.REFUSE),
        ("share_window", "0", 0.0),
        ("prompt_budget", "8000", 8000),
        ("reload_interval", "0.5", 0.5),
        ("queue_bytes", "1048576", 1048576),
    ],
)
def test_what_the_environment_says(name: str, text: str, value: object) -> None:
    settings = Settings.load({f"DRAFTCRITIC_{name.upper()}": text})
    assert getattr(settings, name) == value
    assert settings.origin(name) == f"env DRAFTCRITIC_{name.upper()}"


def test_what_a_file_says(tmp_path: Path) -> None:
    path = tmp_path / "limits.toml"
    lines = (
        "sample_rate = 0.1",
        'sample_exempt = ["fabrication"]',
        "circuit_failure_rate = 0",
        "[tokens_per_hour]",
        '"gpt-4o" = 9',
    )
    path.write_text("\n".join(lines))
    rules = Settings.load({}, config=path).limits()
    assert (rules.sample_rate, rules.sample_exempt) == (0.1, {GateReason.FABRICATION})
    assert rules.tokens_per_hour == {"gpt-4o": 9.0}
    assert rules.circuit.failure_rate is None


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("sample_rate", "1.5", "sample_rate = '1.5'"),
        ("sample_exempt", "claims,everything", "sample_exempt[1] = 'everything'"),
        ("reviews_per_minute", "0", "greater than or equal to 1"),
        ("reviews_per_minute", True, "is a yes or no, not a number"),
        ("tokens_per_hour", "-1", "greater than 0"),
        ("tokens_per_hour", {"gpt-4o-2024-08-06": 5}, "is no SKU; write gpt-4o, or * for every other model"),
        ("usd_per_hour", "{", "is no valid JSON"),
        ("usd_per_hour", float("inf"), "less than or equal to"),
        ("usd_per_hour", [1], "valid number"),
        ("circuit_window", 0, "greater than 0"),
        ("circuit_probes", 0, "greater than or equal to 1"),
        ("on_limit", "stop", "is none of the words"),
        ("prompt_budget", 999, "greater than or equal to 1000"),
        ("reload_interval", -1, "greater than or equal to 0"),
        ("queue_bytes", 10, "greater than or equal to 65536"),
    ],
)
def test_what_is_refused(name: str, value: object, said: str) -> None:
    (problem,) = problems(**{name: value})
    assert problem.startswith(name)
    assert said in problem


def test_a_latency_that_no_call_can_reach_is_refused() -> None:
    (problem,) = problems(circuit_latency=5, timeout=5)
    assert problem == (
        "circuit_latency = 5.0, from code: is never met: after `timeout` = 5.0 a call has failed; "
        "set it lower, or drop it"
    )
    assert Settings.load({}, circuit_latency=4.9, timeout=5).limits().circuit.latency == 4.9


def test_a_volume_that_no_window_can_hold_is_refused_where_it_was_asked_for() -> None:
    asked = {"reviews_per_minute": 5, "circuit_min_calls": 20, "circuit_window": 60}
    (problem,) = problems(**asked)
    assert problem == (
        "circuit_min_calls = 20, from code: is never met: `reviews_per_minute` = 5 lets at most 5 calls happen in "
        "`circuit_window`; lower it, or widen the window"
    )
    assert Settings.load({}, **{**asked, "circuit_window": 240}).circuit_min_calls == 20
    assert Settings.load({}, **{**asked, "circuit_window": None}).limits().circuit.window == 240
    assert Settings.load({}, **asked, circuit_failure_rate=0).circuit_min_calls == 20
    assert Settings.load({}, reviews_per_minute=5).circuit_min_calls == 10


@pytest.mark.parametrize(
    ("given", "window"),
    [
        ({}, 60),
        ({"reviews_per_minute": 5}, 120),
        ({"reviews_per_minute": 10}, 60),
        ({"timeout": 18}, 90),  # 10 calls by 2 workers
        ({"timeout": 18, "workers": 10}, 60),
        ({"timeout": 18, "workers": 10, "max_concurrency": 1}, 180),
        ({"timeout": 18, "mode": "enforce"}, 60),  # the caller's thread also reviews
        ({"timeout": 18, "mode": "enforce", "max_concurrency": 3}, 72),
        ({"timeout": 3600, "workers": 1}, 3600),
        ({"timeout": 18, "circuit_window": 30}, 30),
    ],
)
def test_a_window_that_nobody_has_set_is_wide_enough_for_its_volume(given: dict[str, Any], window: float) -> None:
    assert Settings.load({}, **given).limits().circuit.window == window


@pytest.mark.parametrize(
    ("given", "needed"),
    [
        ({"circuit_window": 3, "timeout": 0.9}, "4.5"),
        ({"circuit_window": 30, "reviews_per_minute": 5}, "120"),
        ({"timeout": 3600, "workers": 1}, "36000"),
    ],
)
def test_a_circuit_that_cannot_open_gives_a_warning_with_a_fix(given: dict[str, Any], needed: str) -> None:
    settings = Settings.load({}, **given)
    (warning,) = settings.warnings()
    assert warning == (
        f"circuit_window = {settings.circuit_window}, from {settings.origin('circuit_window')}: the circuit cannot "
        "open while the critic's model hangs, or at the rate of `reviews_per_minute`: `circuit_min_calls` = 10 calls "
        f"need {needed} seconds; widen the window or drop it, lower `circuit_min_calls` or `timeout`, or allow more "
        "calls"
    )
    assert Settings.load({}, **given, circuit_failure_rate=0).warnings() == []
    assert Settings.load({}).warnings() == []


@pytest.mark.parametrize("rate", [1, 3, 5, 9])
def test_a_low_rate_still_opens_the_circuit(rate: int) -> None:
    now = 0.0
    reported: list[str] = []
    rules = Settings.load({}, reviews_per_minute=rate).limits()
    limiter = Limiter(rules, on_circuit=lambda _, state: reported.append(state.value), clock=lambda: now)
    for second in range(1200):
        now = float(second)
        permit = limiter.admit("m")
        if not isinstance(permit, GateReason):
            permit.settle(ModelCall("m", "m", error_type="E"), Failure.ERROR)
        if (probe := limiter.probe("m")) is not None:
            probe.settle(ModelCall("m", "m", error_type="E"), Failure.ERROR)
    assert reported[:1] == ["open"]


def test_reading_again_takes_the_file_as_it_is_and_the_rest_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "critic.toml"
    path.write_text("timeout = 1\nworkers = 3\n")
    first = Settings.load({"DRAFTCRITIC_CONFIG": str(path), "DRAFTCRITIC_MODE": "gate"}, sample_rate=0.5)
    path.write_text("timeout = 2\nsample_rate = 0.9\n")
    monkeypatch.setenv("DRAFTCRITIC_TIMEOUT", "9")
    again = first.reread()
    assert (again.timeout, again.workers, again.mode, again.sample_rate) == (2.0, 2, "gate", 0.5)
    assert again.origin("timeout") == f"file {path}"
    assert (first.timeout, first.workers) == (1.0, 3)
    assert again.reread().timeout == 2.0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"selective_gate": True}, "has no effect with `selective_gate`"),
        ({"gate": "shop.gates:strict"}, "has no effect: `gate` decides"),
        ({"confidence_threshold": 0.4}, "has no effect without an activation: the confidence is then 0.5 and it never"),
        ({"confidence_threshold": 0.7}, "the confidence is then 0.5 and it fires on every draft"),
    ],
)
def test_a_threshold_without_effect_gives_a_warning(given: dict[str, Any], said: str) -> None:
    (warning,) = Settings.load({}, **{"confidence_threshold": 0.55, **given}).warnings()
    assert said in warning
    assert warning.startswith("confidence_threshold = ")
    assert "set `retriever_activation`" in warning or "drop one of the two" in warning


@pytest.mark.parametrize(
    "given", [{}, {"selective_gate": True}, {"confidence_threshold": 0.4, "retriever_activation": True}]
)
def test_a_default_threshold_or_one_with_an_effect_gives_no_warning(given: dict[str, Any]) -> None:
    assert Settings.load({}, **given).warnings() == []
