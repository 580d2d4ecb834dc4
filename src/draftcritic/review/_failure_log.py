"""Warnings about failures of the critic: one for each kind of failure and minute, without any text of a turn."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from draftcritic.core._enums import Failure
from draftcritic.review._failures import Fault

_MINUTE = 60.0
_MOST_KINDS = 256
"""Kinds of failures that are remembered as reported: error codes come from outside."""
_OPERATORS_HINT = "check the critic's API key, the name of its model, its parameters and the quota of the account"
_HINTS = {
    Failure.TIMEOUT: "the model did not answer within `timeout`; raise it, or choose a faster model",
    Failure.ERROR: "check the provider's status page, the network, and `draftcritic doctor --call`",
    Failure.RATE_LIMITED: "the provider limits the calls; ask for a higher quota, or lower `reviews_per_minute`",
    Failure.REJECTED: "the provider rejected the prompt, such as for its content filter; `on_unjudged` decides",
    Failure.UNPARSABLE: "the reply has no verdict; choose a model of the mini class or better, or check "
    "`prompt_template`",
    Failure.AMBIGUOUS: "the reply has contradicting verdicts; choose a model of the mini class or better",
    Failure.UNREAD: "the draft is longer than `max_windows` prompts of `prompt_budget` characters; raise one of them",
}
_FALLBACK_HINT = "see docs/troubleshooting.md"

_logger = logging.getLogger(__name__)


def hint_for(failure: Failure, fault: Fault | None = None) -> str:
    """Return what to do about a failure of the critic's model.

    Args:
        failure: the word for it.
        fault: what the exception says, when there was one.
    """
    if fault is not None and fault.operators:
        return _OPERATORS_HINT
    return _HINTS.get(failure, _FALLBACK_HINT)


class FailureLog:
    """Logs each kind of failure once a minute.

    Args:
        clock: returns seconds; they never go back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._reported: dict[tuple[str, ...], float] = {}

    def report(self, model: str, failure: Failure, error_type: str | None = None, fault: Fault | None = None) -> None:
        """Log a failed call of the critic's model, unless one of the same kind was logged within the last minute.

        Args:
            model: the name of the critic's model.
            failure: the word for it.
            error_type: the qualified name of the exception, when there was one.
            fault: what the exception says: its status and code are logged, never its message.
        """
        if failure is Failure.CANCELLED:
            return
        status, code = ("none", "none") if fault is None else (str(fault.status or "none"), fault.code or "none")
        if self._is_new((model, failure.value, error_type or "", status, code)):
            _logger.warning(
                "the critic's model %r gave no verdict: %s (error %s, status %s, code %s); %s",
                model,
                failure.value,
                error_type or "none",
                status,
                code,
                hint_for(failure, fault),
            )

    def report_unavailable(self, error: Exception, described: str) -> None:
        """Log that the critic's model could not be created.

        Args:
            error: what prevented it.
            described: its type and place.
        """
        missing = getattr(error, "name", None) if isinstance(error, ImportError) else None
        if self._is_new((described, str(missing))):
            _logger.warning(
                "failed to create the critic model: %s%s; check the setting `model`, the provider's package and its "
                "credentials",
                described,
                f" (module {missing})" if missing else "",
            )

    def _is_new(self, kind: tuple[str, ...]) -> bool:
        now = self._clock()
        last = self._reported.get(kind)
        if last is not None and now - last < _MINUTE:
            return False
        if len(self._reported) >= _MOST_KINDS:
            self._reported.clear()
        self._reported[kind] = now
        return True
