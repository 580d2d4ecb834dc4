"""Warnings about a critic that gives no verdict: one for each kind and minute, with the cause, without any text."""

from __future__ import annotations

import logging
import time
from typing import Any

import pytest
from support.reviewing import DRAFT

from draftcritic.core import Failure, Mode, Policy
from draftcritic.review import Critic
from draftcritic.review._failure_log import FailureLog
from draftcritic.review._failures import Fault
from draftcritic.testing import RecordingObserver, ScriptedCriticModel


class AuthenticationError(Exception):
    status_code = 401
    code = "invalid_api_key"


class NotFoundError(Exception):
    status_code = 404
    code = "model_not_found"


class ContentFilterError(Exception):
    status_code = 400
    code = "content_filter"


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize(
    ("answer", "parts"),
    [
        (AuthenticationError("sk-secret"), ["status 401, code invalid_api_key", "check the critic's API key"]),
        (NotFoundError("sk-secret"), ["status 404, code model_not_found", "the name of its model"]),
        (ContentFilterError("sk-secret"), ["rejected (error ", "code content_filter", "`on_unjudged` decides"]),
        (TimeoutError("sk-secret"), ["timeout (error TimeoutError", "raise it, or choose a faster model"]),
        (ConnectionError("sk-secret"), ["error (error ConnectionError", "draftcritic doctor"]),
        ("sk-secret is no verdict", ["unparsable (error none", "the reply has no verdict"]),
    ],
)  # fmt: skip
def test_a_failure_in_a_row_is_logged_once_with_its_cause_and_a_hint(
    answer: Any, parts: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    critic = Critic(Policy(), Mode.OBSERVE, RecordingObserver())
    model = ScriptedCriticModel([answer] * 6, name="gpt-4.1-mini")
    for _ in range(6):
        critic.review(DRAFT, model)
    (line,) = warnings_of(caplog)
    assert line.startswith("the critic's model 'gpt-4.1-mini' gave no verdict: ")
    for part in parts:
        assert part in line
    assert "sk-secret" not in caplog.text


def test_two_kinds_are_two_lines_and_each_comes_again_after_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    log = FailureLog(lambda: now[0])
    for second in (0.0, 30.0, 59.9, 60.0, 61.0):
        now[0] = second
        log.report("m", Failure.TIMEOUT, "TimeoutError")
        log.report("m", Failure.ERROR, "E", Fault(Failure.ERROR, status=500))
    assert [line.split("gave no verdict: ")[1].partition(" ")[0] for line in warnings_of(caplog)] == [
        "timeout", "error", "timeout", "error",
    ]  # fmt: skip


def test_the_kinds_that_are_remembered_are_bounded() -> None:
    log = FailureLog(time.monotonic)
    for number in range(1000):
        log.report("m", Failure.ERROR, f"E{number}")
    assert len(log._reported) <= 256


def test_a_cancelled_call_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    FailureLog().report("m", Failure.CANCELLED)
    assert warnings_of(caplog) == []
