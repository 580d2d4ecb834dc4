"""A format that is set on the model itself makes an answer data, as one of the call does."""

from __future__ import annotations

from typing import Any

import pytest

from draftcritic.langchain._structured import asks_for_structure

SCHEMA = {"title": "T", "description": "d", "type": "object", "properties": {"a": {"type": "string"}}}
AWS = {"region_name": "us-east-1", "aws_access_key_id": "a", "aws_secret_access_key": "b"}
CLAUDE = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
KINDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "openai": ("langchain_openai", "ChatOpenAI", {"model": "gpt-4o", "api_key": "x"}),
    "azure": (
        "langchain_openai",
        "AzureChatOpenAI",
        {"azure_deployment": "d", "api_key": "x", "azure_endpoint": "http://x", "api_version": "2024-10-21"},
    ),
    "anthropic": ("langchain_anthropic", "ChatAnthropic", {"model": "claude-haiku-4-5", "api_key": "x"}),
    "google": (
        "langchain_google_genai",
        "ChatGoogleGenerativeAI",
        {"model": "gemini-2.5-flash", "google_api_key": "x"},
    ),
    "bedrock": ("langchain_aws", "ChatBedrockConverse", {"model": CLAUDE, **AWS}),
    "ollama": ("langchain_ollama", "ChatOllama", {"model": "llama3.1:8b"}),
}
JSON_OBJECT = {"type": "json_object"}
FORMATS = [
    ("ollama", {"format": "json"}),
    ("ollama", {"format": SCHEMA}),
    ("openai", {"model_kwargs": {"response_format": JSON_OBJECT}}),
    ("openai", {"response_format": JSON_OBJECT}),
    ("openai", {"extra_body": {"response_format": JSON_OBJECT}}),
    ("openai", {"extra_body": {"guided_json": SCHEMA}}),
    ("openai", {"model_kwargs": {"text": {"format": {"type": "json_schema", "schema": SCHEMA}}}}),
    ("azure", {"model_kwargs": {"response_format": JSON_OBJECT}}),
    ("google", {"response_mime_type": "application/json"}),
    ("google", {"response_schema": SCHEMA, "response_mime_type": "application/json"}),
    ("google", {"model_kwargs": {"response_mime_type": "application/json"}}),
    ("anthropic", {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}),
    ("anthropic", {"model_kwargs": {"output_format": {"type": "json_schema", "schema": SCHEMA}}}),
    ("bedrock", {"output_config": {"textFormat": {"type": "json_schema"}}}),
    ("bedrock", {"additional_model_request_fields": {"output_config": {"format": {"type": "json_schema"}}}}),
]
pytestmark = pytest.mark.filterwarnings("ignore")


def model(kind: str, **given: Any) -> Any:
    package, name, values = KINDS[kind]
    return getattr(pytest.importorskip(package), name)(**values, **given)


@pytest.mark.parametrize(("kind", "given"), FORMATS)
def test_a_format_of_the_model_is_known(kind: str, given: Any) -> None:
    assert asks_for_structure({}, model(kind, **given))


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_without_a_format_writes_text(kind: str) -> None:
    assert not asks_for_structure({}, model(kind))
    assert not asks_for_structure({"temperature": 0, "text": {"verbosity": "low"}, "format": None}, model(kind))


def test_the_call_wins_over_the_model() -> None:
    assert not asks_for_structure({"format": ""}, model("ollama", format="json"))
    json_mode = model("openai", model_kwargs={"response_format": JSON_OBJECT})
    assert not asks_for_structure({"response_format": {"type": "text"}}, json_mode)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"generation_config": {"response_mime_type": "application/json"}},
        {"generation_config": {"response_schema": SCHEMA}},
        {"extra_body": {"structured_outputs": {"json": SCHEMA}}},
        {"text": {"format": {"type": "json_schema"}}},
    ],
)
def test_a_format_in_a_table_of_the_call_is_known(kwargs: Any) -> None:
    assert asks_for_structure(kwargs)
