"""How failed calls of the critic's model are classified, by the errors of real clients."""

from __future__ import annotations

import json
import socket
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Any

import anthropic
import httpx
import ollama
import openai
import pytest
from google.genai import errors as genai

from draftcritic.core import Failure
from draftcritic.review._failures import classify, fault_of, retry_after, unbilled

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


def of_client(client: Any, code: int, error: dict[str, Any], **headers: str) -> Exception:
    response = httpx.Response(code, json={"error": error}, headers=headers, request=REQUEST)
    made: Exception = client._make_status_error_from_response(response)
    return made


def of_openai(status: int, /, **error: Any) -> Exception:
    return of_client(openai.OpenAI(api_key="k"), status, {"message": "m", **error})


def of_anthropic(code: int, kind: str) -> Exception:
    return of_client(anthropic.Anthropic(api_key="k"), code, {"type": kind, "message": "m"})


def of_google(code: int, word: str, *details: dict[str, Any]) -> Exception:
    kind = genai.ClientError if code < 500 else genai.ServerError
    return kind(code, {"error": {"code": code, "status": word, "message": "m", "details": list(details)}}, None)


def of_bedrock(code: int, word: str) -> Exception:
    return ProviderError(response={"Error": {"Code": word}, "ResponseMetadata": {"HTTPStatusCode": code}})


class Raising(Exception):
    @property
    def response(self) -> Any:
        raise RuntimeError

    status_code = property(lambda self: 1 / 0)


REJECTED = {
    "azure content filter": of_openai(400, code="content_filter", innererror={"code": "ResponsibleAIPolicyViolation"}),
    "openai context": of_openai(400, code="context_length_exceeded"),
    "openai stream": openai.APIError("m", REQUEST, body={"code": "content_filter", "message": "m"}),
    "moderation with 403": of_openai(403, code="content_policy_violation"),
    "openai length": of_openai(400, code="string_above_max_length"),
    "unprocessable": of_openai(422),
    "anthropic prompt": of_anthropic(400, "invalid_request_error"),
    "anthropic size": of_anthropic(413, "request_too_large"),
    "google": of_google(400, "INVALID_ARGUMENT"),
    "ollama": ollama.ResponseError("m", 400),
    "bedrock": of_bedrock(400, "ValidationException"),
    "wrapped": wrapped(of_google(400, "INVALID_ARGUMENT")),
    "in a mapping": ValueError({"code": "content_filter", "message": "m"}),
    "plain status": status(451),
}
OPERATORS = {
    "openai key": of_openai(401, code="invalid_api_key"),
    "openai model": of_openai(404, code="model_not_found"),
    "openai quota": of_openai(429, code="insufficient_quota", type="insufficient_quota"),
    "openai parameter": of_openai(400, code="unsupported_parameter"),
    "anthropic key": of_anthropic(401, "authentication_error"),
    "anthropic permission": of_anthropic(403, "permission_error"),
    "anthropic model": of_anthropic(404, "not_found_error"),
    "anthropic credit": of_anthropic(402, "billing_error"),
    "google key": of_google(400, "INVALID_ARGUMENT", {"reason": "API_KEY_INVALID"}),
    "google permission": of_google(403, "PERMISSION_DENIED"),
    "google model": of_google(404, "NOT_FOUND"),
    "ollama model": ollama.ResponseError("m", 404),
    "bedrock access": of_bedrock(400, "AccessDeniedException"),
    "wrapped": wrapped(of_openai(401, code="invalid_api_key")),
}
OUTAGES = {
    "openai": of_openai(500),
    "openai connection": openai.APIConnectionError(request=REQUEST),
    "anthropic overloaded": of_anthropic(529, "overloaded_error"),
    "google": of_google(503, "UNAVAILABLE"),
    "ollama": ollama.ResponseError("m", 502),
    "connection": ConnectionError("m"),
    "conflict": status(409),
    "too early": status(425),
    "anything": RuntimeError("m"),
    "hostile": Raising(),
}
LIMITS = {
    "openai": of_openai(429, code="rate_limit_exceeded"),
    "openai stream": openai.APIError("m", REQUEST, body={"code": "rate_limit_exceeded", "message": "m"}),
    "anthropic": of_anthropic(429, "rate_limit_error"),
    "google": of_google(429, "RESOURCE_EXHAUSTED"),
    "bedrock": of_bedrock(400, "ThrottlingException"),
}


@pytest.mark.parametrize("error", REJECTED.values(), ids=REJECTED)
def test_what_the_prompt_brought_about_is_a_rejection(error: Exception) -> None:
    assert (fault_of(error).failure, fault_of(error).operators) == (Failure.REJECTED, False)


@pytest.mark.parametrize("error", OPERATORS.values(), ids=OPERATORS)
def test_credentials_names_and_quotas_are_the_operators(error: Exception) -> None:
    assert (fault_of(error).failure, fault_of(error).operators) == (Failure.ERROR, True)


@pytest.mark.parametrize("error", OUTAGES.values(), ids=OUTAGES)
def test_everything_else_is_an_outage(error: Exception) -> None:
    assert (fault_of(error).failure, fault_of(error).operators) == (Failure.ERROR, False)


@pytest.mark.parametrize("error", LIMITS.values(), ids=LIMITS)
def test_a_rate_limit_is_known_by_status_code_or_name(error: Exception) -> None:
    assert classify(error) is Failure.RATE_LIMITED


def test_a_timeout_of_a_client_is_a_timeout() -> None:
    for error in (openai.APITimeoutError(REQUEST), httpx.ReadTimeout("m"), TimeoutError(), wrapped(TimeoutError())):
        assert classify(error) is Failure.TIMEOUT


def test_the_wait_that_a_provider_asks_for() -> None:
    client = openai.OpenAI(api_key="k")
    date = format_datetime(datetime.now(timezone.utc) + timedelta(seconds=60), usegmt=True)
    asked = {"7": 7.0, "0.5": 0.5, "soon": None, "-1": None, "inf": None, "nan": None}
    for text, seconds in asked.items():
        assert retry_after(of_client(client, 429, {}, **{"Retry-After": text})) == seconds
    assert retry_after(of_client(client, 429, {}, **{"Retry-After": date})) == pytest.approx(60, abs=5)
    assert retry_after(of_client(client, 429, {}, **{"retry-after-ms": "250"})) == 0.25
    delay = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}
    assert retry_after(of_google(429, "RESOURCE_EXHAUSTED", delay)) == 34.5
    assert fault_of(wrapped(of_client(client, 429, {}, **{"Retry-After": "7"}))).retry_after == 7.0
    assert retry_after(ValueError()) is None


def test_no_text_of_the_provider_is_taken_for_a_code() -> None:
    secret = "the prompt was: my card is 4111 1111 1111 1111"
    error = of_openai(400, code=secret, type=secret, param=secret)
    assert secret not in json.dumps(fault_of(error))
