"""Classifies how a reflection failed, from the exception alone and without knowing any provider."""

from __future__ import annotations

import asyncio
import concurrent.futures
from typing import NamedTuple

from draftcritic.core import Failure
from draftcritic.core import qualified_name as qualified_name  # noqa: PLC0414 - exported
from draftcritic.engine._provider_errors import causes_of, codes_of, retry_after, statuses_of

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
    """Whether a call that ended with `error` was surely not billed: it was refused, or nobody could be reached."""
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
