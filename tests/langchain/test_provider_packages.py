"""The providers' own LangChain packages, whose HTTP goes to a server on loopback: what they say of their models."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.provider_server import DRAFT, TOKENS_IN, TOKENS_OUT, provider_server
from support.sdk import Telemetry

from draftcritic import DraftCriticInstrumentor

BEDROCK = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
PROFILE = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123def456"


def openai(url: str) -> Any:
    chat = pytest.importorskip("langchain_openai").ChatOpenAI
    return chat(model="gpt-4o-mini", api_key="x", base_url=f"{url}/v1", stream_usage=True)


def azure(url: str) -> Any:
    chat = pytest.importorskip("langchain_openai").AzureChatOpenAI
    return chat(azure_deployment="prod-chat", api_key="x", azure_endpoint=url, api_version="2024-10-21")


def anthropic(url: str) -> Any:
    chat = pytest.importorskip("langchain_anthropic").ChatAnthropic
    return chat(model="claude-haiku-4-5-20251001", api_key="x", base_url=url)


def google(url: str) -> Any:
    chat = pytest.importorskip("langchain_google_genai").ChatGoogleGenerativeAI
    return chat(model="models/gemini-2.5-flash", google_api_key="x", base_url=url)


def bedrock(kind: str, model: str = BEDROCK, **more: Any) -> Callable[[str], Any]:
    keys = {"region_name": "us-east-1", "aws_access_key_id": "a", "aws_secret_access_key": "b"}

    def make(url: str) -> Any:
        chat = getattr(pytest.importorskip("langchain_aws"), kind)
        return chat(model=model, endpoint_url=url, **keys, **more)

    return make


def ollama(url: str) -> Any:
    return pytest.importorskip("langchain_ollama").ChatOllama(model="llama3.1:8b", base_url=url)


MODELS: dict[str, tuple[Callable[[str], Any], str, str, float | None, str]] = {
    # how it is made, its SKU, the raw name, the price of the call in dollars, the word for its end
    "OpenAI": (openai, "gpt-4o-mini", "gpt-4o-mini-2024-07-18", 0.0001464, "stop"),
    "Azure": (azure, "gpt-4o-mini", "gpt-4o-mini-2024-07-18", 0.0001464, "stop"),
    "Anthropic": (anthropic, "claude-haiku-4-5", "claude-haiku-4-5-20251001", 0.001017, "end_turn"),
    "Google": (google, "gemini-2.5-flash", "gemini-2.5-flash", 0.0003461, "STOP"),
    "Bedrock Converse": (bedrock("ChatBedrockConverse"), "claude-haiku-4-5", BEDROCK, 0.0011187, "end_turn"),
    "Bedrock": (bedrock("ChatBedrock"), "claude-haiku-4-5", BEDROCK, 0.0011187, "end_turn"),
    "Bedrock profile": (
        bedrock("ChatBedrockConverse", PROFILE, provider="anthropic", base_model_id=BEDROCK),
        "claude-haiku-4-5",
        BEDROCK,
        0.0011187,
        "end_turn",
    ),
    "Ollama": (ollama, "llama3.1:8b", "llama3.1:8b", None, "stop"),
}
STREAMED = ("OpenAI", "Azure", "Anthropic", "Google", "Ollama")
"""Streams of Bedrock are binary frames."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with provider_server() as address:
        yield address


@pytest.fixture
def telemetry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Telemetry]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    telemetry = Telemetry()
    DraftCriticInstrumentor().instrument(**telemetry.providers, background=False)
    yield telemetry
    DraftCriticInstrumentor().uninstrument()


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the clients of the providers leave their sockets to gc
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("provider", "streamed"), [*((name, False) for name in MODELS), *((name, True) for name in STREAMED)]
)
def test_the_sku_of_draft_and_critic_its_tokens_and_its_price(
    provider: str, streamed: bool, url: str, telemetry: Telemetry
) -> None:
    make, sku, name, usd, finish = MODELS[provider]
    model = make(url)
    said = "".join(chunk.text for chunk in model.stream("Hi")) if streamed else model.invoke("Hi").text
    assert said == DRAFT
    (review,) = telemetry.reviews()
    assert review["draftcritic.verdict.source"] == "reflection"
    assert (review["draftcritic.draft.sku"], review["draftcritic.draft.model"]) == (sku, name)
    assert (review["draftcritic.sku"], review["draftcritic.model"]) == (sku, name)
    assert (review["draftcritic.usage.input_tokens"], review["draftcritic.usage.output_tokens"]) == (
        TOKENS_IN,
        TOKENS_OUT,
    )
    assert review.get("draftcritic.usage.cost_usd") == (None if usd is None else pytest.approx(usd, rel=0.001))
    (ended,) = [event for event in telemetry.span.events if event.name == "on_llm_end"]
    assert ended.attributes["draftcritic.finish_reason"] == finish
    del model
    gc.collect()
