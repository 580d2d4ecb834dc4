"""Which failed calls of the critic's model no provider bills."""

from __future__ import annotations

import socket
from typing import Any

import httpx
import pytest

from draftcritic.engine._failures import unbilled

REQUEST = httpx.Request("POST", "https://model.example")


class ProviderError(Exception):
    """Has the shape that clients of providers have in common."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


def wrapped(cause: Exception) -> Exception:
    try:
        raise RuntimeError("integrations wrap") from cause
    except RuntimeError as error:
        return error


def status(code: int) -> Exception:
    return httpx.HTTPStatusError("no", request=REQUEST, response=httpx.Response(code))


@pytest.mark.parametrize(
    ("error", "free"),
    [
        (status(429), True),
        (status(401), True),
        (status(503), True),
        (ProviderError(status_code=400), True),
        (ProviderError(response={"ResponseMetadata": {"HTTPStatusCode": 403}}), True),
        (wrapped(status(500)), True),
        (httpx.ConnectError("no"), True),
        (ConnectionRefusedError(), True),
        (socket.gaierror(), True),
        # The model may have worked all the same:
        (status(504), False),
        (status(408), False),
        (httpx.ReadTimeout("no"), False),
        (ConnectionResetError(), False),
        (TimeoutError(), False),
        (ProviderError(code="context_length_exceeded"), False),
        (ProviderError(status_code=200), False),
        (ValueError(), False),
    ],
)
def test_a_call_that_was_refused_or_never_connected_is_not_billed(error: Exception, free: bool) -> None:
    assert unbilled(error) is free
