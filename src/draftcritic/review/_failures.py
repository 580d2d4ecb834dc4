"""Reads what provider clients have in common in their exceptions: status, error code and `Retry-After`."""

from __future__ import annotations

import asyncio
import concurrent.futures
import re
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from types import CodeType
from typing import Any, NamedTuple

from draftcritic.core._enums import Failure
from draftcritic.core._exception_place import qualified_name

_CAUSES = 4
"""How many causes deep a wrapped provider exception is looked for."""
_CODE = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_CODE_KEYS = ("code", "type", "status", "reason", "Code")
_DELAY = re.compile(r"(\d{1,6}(?:\.\d{1,9})?)s")
_MOST_PARTS = 64
"""Parts of an error's body that are looked at."""


def causes_of(error: BaseException, most: int = _CAUSES) -> Iterator[BaseException]:
    """Yield an exception, and what it says it was caused by, one after another: so many at most."""
    current: BaseException | None = error
    for _ in range(most):
        if current is None:
            return
        yield current
        current = current.__cause__


def statuses_of(error: BaseException) -> tuple[int, ...]:
    """Return the HTTP statuses that one exception carries."""
    response = attribute(error, "response")
    if isinstance(response, Mapping):
        metadata = response.get("ResponseMetadata")
        found = metadata.get("HTTPStatusCode") if isinstance(metadata, Mapping) else None
    else:
        found = attribute(response, "status_code")
    candidates = [attribute(error, name) for name in ("status_code", "code", "status")] + [found]
    return tuple(int(each) for each in candidates if isinstance(each, int) and not isinstance(each, bool))


def codes_of(error: BaseException) -> frozenset[str]:
    """Return the error codes that one exception carries, in lower case: never a message.

    They are in attributes, in the body of the response, or in the mapping that was given to the exception.
    """
    given = [attribute(error, name) for name in ("code", "type", "status")]
    arguments = attribute(error, "args")
    bodies = [attribute(error, name) for name in ("body", "details", "response")]
    bodies += [each for each in arguments if isinstance(each, Mapping)] if isinstance(arguments, tuple) else []
    given += [value for body in bodies for key, value in _pairs(body) if key in _CODE_KEYS]
    return frozenset(text.lower() for text in given if isinstance(text, str) and _CODE.fullmatch(text))


def retry_after(error: BaseException) -> float | None:
    """Return the seconds that a provider asks to wait, as a header or in the body of its response."""
    for each in causes_of(error):
        headers = attribute(attribute(each, "response"), "headers")
        seconds = _seconds_of(headers) if headers is not None else None
        if seconds is None:
            seconds = next((_delay(value) for key, value in _pairs(attribute(each, "details")) if _delays(key)), None)
        if seconds is not None and seconds >= 0:
            return seconds
    return None


def attribute(holder: Any, name: str) -> Any:
    """Read an attribute of a third-party object whose property may raise."""
    try:
        return getattr(holder, name, None)
    except Exception:
        return None


def _seconds_of(headers: Any) -> float | None:
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            value = headers.get(name)
            if value is None:
                value = headers.get(name.title())
        except Exception:  # third-party mapping
            return None
        if isinstance(value, (str, int, float)):
            seconds = _number_or_date(str(value)[:64])
            if seconds is not None:
                return seconds * unit
    return None


def _number_or_date(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        try:
            return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
        except (ValueError, TypeError, OverflowError):
            return None
    return seconds if 0 <= seconds < float("inf") else None


def _delays(key: Any) -> bool:
    return bool(key == "retryDelay")


def _delay(value: Any) -> float | None:
    found = _DELAY.fullmatch(value) if isinstance(value, str) else None
    return float(found[1]) if found else None


def _pairs(body: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the keys and values of a JSON body, however deep, up to a bounded number of parts."""
    waiting, left = [body], _MOST_PARTS
    while waiting and left > 0:
        left -= 1
        part = waiting.pop()
        if isinstance(part, Mapping):
            items = list(part.items())[:_MOST_PARTS]
            yield from items
            waiting.extend(value for _, value in items if isinstance(value, (Mapping, list)))
        elif isinstance(part, list):
            waiting.extend(part[:_MOST_PARTS])


_TIMEOUTS = (TimeoutError, asyncio.TimeoutError, concurrent.futures.TimeoutError)
_TIMEOUT_NAMES = ("Timeout", "DeadlineExceeded")
_RATE_LIMIT_NAMES = ("RateLimit", "TooManyRequests", "ResourceExhausted", "Throttl")
_REJECTION_NAMES = (
    "ContentFilter",
    "ContextOverflow",
    "ContextLength",
    "ContextWindow",
    "InvalidArgument",
    "RefusalError",
)
_TOO_MANY_REQUESTS = 429
_SERVER_ERRORS = 500
_REFUSALS = range(400, 600)
_GIVEN_UP = frozenset({408, 499, 504, 524})
"""Statuses in the range of refusals that say that somebody on the way has waited long enough, and not the model."""
_UNCONNECTED = ("ConnectError", "ConnectTimeout", "ConnectionRefused", "NewConnectionError", "gaierror")
_OPERATORS = frozenset({401, 402, 403, 404, 405, 407, 410})
"""Statuses about credentials, accounts, and names of models: the operator's to mend."""
_TRANSIENT = frozenset({408, 409, 425, 429, 499})
"""Statuses from 400 to 499 that say nothing about the prompt."""
_REJECTED_CODES = (
    "content_filter",
    "content_policy",
    "content_management",
    "moderation",
    "context_length",
    "context_window",
    "string_above_max_length",
    "safety",
    "invalid_prompt",
    "request_too_large",
)
_RATE_LIMIT_CODES = ("rate_limit", "ratelimit", "throttl", "resource_exhausted", "too_many_requests")
_OPERATOR_CODES = (
    "insufficient_quota",
    "billing",
    "credit",
    "payment",
    "invalid_api_key",
    "api_key",
    "authentication",
    "unauthenticated",
    "unauthorized",
    "permission",
    "accessdenied",
    "access_denied",
    "unrecognizedclient",
    "expiredtoken",
    "model_not_found",
    "deploymentnotfound",
    "not_found",
    "resourcenotfound",
    "unsupported_parameter",
    "unsupported_value",
    "unknown_parameter",
)


class Fault(NamedTuple):
    """How a call of the critic's model failed.

    Attributes:
        failure: the word for it.
        operators: the operator has to mend it: credentials, the name of the model, a quota, an unknown parameter.
        retry_after: seconds that the provider asks to wait.
        status: the HTTP status, when there was one.
        code: the provider's error code, when there was one.
    """

    failure: Failure
    operators: bool = False
    retry_after: float | None = None
    status: int | None = None
    code: str | None = None


def classify(error: BaseException) -> Failure:
    """Return how a reflection failed that ended with `error`. See `fault_of`."""
    return fault_of(error).failure


def fault_of(error: BaseException) -> Fault:
    """Return how a reflection failed that ended with `error`, and who has to act.

    Provider clients have in common a status, an error code, and how they call an exception's class. Integrations wrap
    their client's exceptions, so causes count too.
    """
    if not isinstance(error, Exception):
        return Fault(Failure.CANCELLED)
    for each in causes_of(error):
        fault = _fault_of_one(each)
        if fault is not None:
            return fault if fault.failure is not Failure.RATE_LIMITED else fault._replace(retry_after=retry_after(each))
    return Fault(Failure.ERROR)


def _fault_of_one(error: BaseException) -> Fault | None:
    """Return what one exception says; None when it says nothing. The first kind that fits decides."""
    codes = codes_of(error)
    status = next((each for each in statuses_of(error) if each in _REFUSALS), None)
    client = status is not None and status < _SERVER_ERRORS
    limited = status == _TOO_MANY_REQUESTS or _is_called(error, _RATE_LIMIT_NAMES)
    late = isinstance(error, _TIMEOUTS) or _is_called(error, _TIMEOUT_NAMES)
    kinds = (
        (_code_of(codes, _REJECTED_CODES), Failure.REJECTED, False),
        ((client or status is None) and _code_of(codes, _OPERATOR_CODES), Failure.ERROR, True),
        (limited or _code_of(codes, _RATE_LIMIT_CODES), Failure.RATE_LIMITED, False),
        (late, Failure.TIMEOUT, False),
        (status in _OPERATORS, Failure.ERROR, True),
        (client and status not in _TRANSIENT, Failure.REJECTED, False),
        (status is not None, Failure.ERROR, False),
        (_is_called(error, _REJECTION_NAMES), Failure.REJECTED, False),
    )
    for fits, failure, operators in kinds:
        if fits:
            return Fault(failure, operators, None, status, fits if isinstance(fits, str) else None)
    return None


def unbilled(error: BaseException) -> bool:
    """Whether a call that ended with `error` was surely not billed: it was refused, or no server could be reached."""
    for each in causes_of(error):
        statuses = statuses_of(each)
        if _TOO_MANY_REQUESTS in statuses or _is_called(each, (*_RATE_LIMIT_NAMES, *_UNCONNECTED)):
            return True
        if any(status in _REFUSALS and status not in _GIVEN_UP for status in statuses):
            return True
    return False


def _code_of(codes: frozenset[str], words: tuple[str, ...]) -> str | None:
    """Return the code that has one of the words in it."""
    return next((code for code in sorted(codes) if any(word in code for word in words)), None)


def _is_called(error: BaseException, parts: tuple[str, ...]) -> bool:
    return any(part in kind.__name__ for kind in type(error).__mro__ for part in parts)


def contain_exit(stop: BaseException) -> BaseException:
    """Return what the caller of third-party code is to see of an exception that it raised.

    An ordinary exception is returned unchanged. A `SystemExit`, `GeneratorExit` or `CancelledError` of its own ends
    no other code: it
    comes out as a `RuntimeError` that it caused. What comes from outside stays as it is: a `KeyboardInterrupt` in the
    main thread, and what a signal handler of the application has raised there.
    """
    if isinstance(stop, Exception) or _is_the_applications(stop):
        return stop
    error = RuntimeError(f"{qualified_name(type(stop))} from inside")
    error.__cause__ = stop
    return error


def _is_the_applications(stop: BaseException) -> bool:
    if threading.current_thread() is not threading.main_thread():
        return False  # Python runs signal handlers in the main thread
    return isinstance(stop, KeyboardInterrupt) or _came_from_a_handler(stop)


def _came_from_a_handler(stop: BaseException) -> bool:
    handlers = {_exit_code_of(signal.getsignal(number)) for number in signal.valid_signals()} - {None}
    step = stop.__traceback__
    while step is not None:
        if step.tb_frame.f_code in handlers:
            return True
        step = step.tb_next
    return False


def _exit_code_of(handler: object) -> CodeType | None:
    code = getattr(handler, "__code__", None) or getattr(getattr(handler, "__call__", None), "__code__", None)  # noqa: B004 - an object whose class defines it
    return code if isinstance(code, CodeType) else None
