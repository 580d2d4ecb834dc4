"""Tells in which way a reflection failed, from the exception alone and without knowing any provider."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Iterator, Mapping
from typing import Any

from draftcritic.core import Failure
from draftcritic.core import qualified_name as qualified_name  # noqa: PLC0414 - exported

_TIMEOUTS = (TimeoutError, asyncio.TimeoutError, concurrent.futures.TimeoutError)
_TIMEOUT_NAMES = ("Timeout", "DeadlineExceeded")
_RATE_LIMIT_NAMES = ("RateLimit", "TooManyRequests", "ResourceExhausted", "Throttl")
_TOO_MANY_REQUESTS = 429
_REFUSALS = range(400, 600)
_GIVEN_UP = frozenset({408, 499, 504, 524})
"""Statuses in the range of refusals that say that somebody on the way has waited long enough, and not the model."""
_UNCONNECTED = ("ConnectError", "ConnectTimeout", "ConnectionRefused", "NewConnectionError", "gaierror")
_CAUSES = 4
"""How many causes deep a wrapped provider exception is looked for."""


def classify(error: BaseException) -> Failure:
    """Return how a reflection failed that ended with `error`.

    Rate limits and timeouts are told by the shapes that provider clients have in common: a status of 429, or what
    the exception's class is called. Integrations wrap their client's exceptions, so causes count too.
    """
    if not isinstance(error, Exception):
        return Failure.CANCELLED
    for each in causes_of(error):
        if _is_rate_limit(each):
            return Failure.RATE_LIMITED
        if isinstance(each, _TIMEOUTS) or _is_called(each, _TIMEOUT_NAMES):
            return Failure.TIMEOUT
    return Failure.ERROR


def unbilled(error: BaseException) -> bool:
    """Whether a call that ended with `error` was surely not billed: it was refused, or nobody could be reached."""
    for each in causes_of(error):
        if _is_rate_limit(each) or _is_called(each, _UNCONNECTED):
            return True
        if any(status in _REFUSALS and status not in _GIVEN_UP for status in _statuses(each)):
            return True
    return False


def causes_of(error: BaseException, most: int = _CAUSES) -> Iterator[BaseException]:
    """Yield an exception, and what it says it was caused by, one after another: so many at most."""
    current: BaseException | None = error
    for _ in range(most):
        if current is None:
            return
        yield current
        current = current.__cause__


def _is_called(error: BaseException, parts: tuple[str, ...]) -> bool:
    return any(part in kind.__name__ for kind in type(error).__mro__ for part in parts)


def _is_rate_limit(error: BaseException) -> bool:
    return _TOO_MANY_REQUESTS in _statuses(error) or _is_called(error, _RATE_LIMIT_NAMES)


def _statuses(error: BaseException) -> tuple[Any, ...]:
    response = _attribute(error, "response")
    if isinstance(response, Mapping):
        metadata = response.get("ResponseMetadata")
        status = metadata.get("HTTPStatusCode") if isinstance(metadata, Mapping) else None
    else:
        status = _attribute(response, "status_code")
    return _attribute(error, "status_code"), _attribute(error, "code"), status


def _attribute(holder: Any, name: str) -> Any:
    """Read an attribute of a foreign object whose property may raise; only a plain number is of use."""
    try:
        value = getattr(holder, name, None)
    except Exception:
        return None
    return value if name == "response" or type(value) is int else None
