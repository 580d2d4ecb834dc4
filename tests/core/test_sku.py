import os
import re
import threading
import warnings
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draftcritic.core._models import (
    SkuBound,
    normalise_sku,
    reported_finish_reason,
    reported_model_name,
    resolve_model_name,
)

PROFILE = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123def456"
BEDROCK = "us.anthropic.claude-haiku-4-5-20251001-v1:0"


class TestNormalise:
    @pytest.mark.parametrize(
        ("name", "sku"),
        [
            ("anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5"),
            (BEDROCK, "claude-haiku-4-5"),
            ("us-gov.anthropic.claude-3-5-sonnet-20240620-v1:0", "claude-3-5-sonnet"),
            ("anthropic.claude-3-5-sonnet-20241022-v2:0:200k", "claude-3-5-sonnet"),
            ("anthropic.claude-v2:1", "claude-v2:1"),
            (f"arn:aws:bedrock:us-east-1:123456789012:inference-profile/{BEDROCK}", "claude-haiku-4-5"),
            ("arn:aws:bedrock:eu-west-1::foundation-model/amazon.nova-lite-v1:0", "nova-lite"),
            (PROFILE, "unknown"),
            (f"bedrock_converse:{PROFILE}", "unknown"),
            ("mistral.mistral-7b-instruct-v0:2", "mistral-7b-instruct"),
            ("openai.gpt-oss-120b-1:0", "gpt-oss-120b"),
            ("us.deepseek.r1-v1:0", "deepseek-r1"),
            ("claude-haiku-4-5@20251001", "claude-haiku-4-5"),
            ("claude-3-5-sonnet-v2@20241022", "claude-3-5-sonnet"),
            ("claude-3-5-sonnet-latest", "claude-3-5-sonnet"),
            ("claude-opus-4-1", "claude-opus-4-1"),
            ("publishers/google/models/gemini-2.5-flash", "gemini-2.5-flash"),
            ("projects/p/locations/us-central1/endpoints/1234567890", "unknown"),
            ("models/gemini-2.0-flash-001", "gemini-2.0-flash"),
            ("gemini-2.5-flash-preview-09-2025", "gemini-2.5-flash-preview"),
            ("gemini-2.5-flash-preview-05-20", "gemini-2.5-flash-preview"),
            ("gpt-4o-2024-08-06", "gpt-4o"),
            ("gpt-4-0613", "gpt-4"),
            ("gpt-4.1-nano", "gpt-4.1-nano"),
            ("o1-2024-12-17", "o1"),
            ("gpt-35-turbo", "gpt-3.5-turbo"),
            ("ft:gpt-4o-mini-2024-07-18:org::id", "ft:gpt-4o-mini"),
            ("azure/gpt-4o", "gpt-4o"),
            ("azureml://registries/azureml-meta/models/Llama-3.2-1B/versions/4", "llama-3.2-1b"),
            ("anthropic/claude-3.5-sonnet", "claude-3-5-sonnet"),
            ("openrouter/anthropic/claude-3.7-sonnet:thinking", "claude-3-7-sonnet"),
            ("openai/gpt-oss-20b:free", "gpt-oss-20b:free"),
            ("accounts/fireworks/models/llama-v3p1-8b-instruct", "llama-v3p1-8b-instruct"),
            ("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b-instruct"),
            ("@cf/meta/llama-3.1-8b-instruct", "llama-3.1-8b-instruct"),
            ("mistral-large-2411", "mistral-large"),
            ("command-r-08-2024", "command-r"),
            ("llama3.1:8b", "llama3.1:8b"),
            ("llama3.1:latest", "llama3.1"),
            ("mistral:instruct", "mistral:instruct"),
            ("mistral:mistral-large-latest", "mistral-large"),
            ("deepseek-r1:7b-qwen-distill-q4_K_M", "deepseek-r1:7b-qwen-distill-q4_k_m"),
            ("openai:gpt-4o-mini", "gpt-4o-mini"),
            ("ollama:llama3.1:8b", "llama3.1:8b"),
            (f"bedrock_converse:{BEDROCK}", "claude-haiku-4-5"),
            ("Fake Model $1", "fake-model-1"),
            ("7b2f9a0e-1111-4222-8333-944455556666", "unknown"),
            ("", "unknown"),
            ("  ", "unknown"),
            ("日本語", "unknown"),
            ("\ud800", "unknown"),
            (None, "unknown"),
            (7, "unknown"),
        ],
    )
    def test_names_of_providers(self, name, sku):
        assert normalise_sku(name) == sku

    @settings(max_examples=400, deadline=None)
    @given(
        st.text(max_size=200)
        | st.lists(
            st.sampled_from(
                [
                    "us.",
                    "anthropic.",
                    "claude",
                    "-3",
                    "-0613",
                    "-20251001",
                    "-v1",
                    ":0",
                    "@",
                    "/",
                    "arn:",
                    "openai:",
                    "gpt",
                    ":8b",
                    "-latest",
                    ".",
                    ":",
                    "ft:",
                    "deepseek.",
                    "r1",
                    "2024",
                    "-08",
                    "unknown",
                    "-",
                    " ",
                ]
            ),
            max_size=8,
        ).map("".join)
    )
    def test_every_text_gives_a_label_that_is_its_own_sku(self, name):
        sku = normalise_sku(name)
        assert re.fullmatch(r"[a-z0-9._:+-]{1,64}", sku)
        assert normalise_sku(sku) == sku


class TestBound:
    def test_first_come_keep_their_label(self):
        label = SkuBound(limit=2)
        assert [label(sku) for sku in ["a", "b", "c", "unknown", "a", "b", "d"]] == [
            "a", "b", "other", "unknown", "a", "b", "other"
        ]  # fmt: skip

    def test_holds_across_threads(self):
        label, labels = SkuBound(limit=64), []
        start = threading.Barrier(8)

        def work(number):
            start.wait()
            labels.extend(label(f"m{number}-{i}") for i in range(100))

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(labels) == 800
        assert len(set(labels) - {"other"}) == 64

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
    def test_a_lock_held_at_the_fork_does_not_hang_the_child(self):
        label = SkuBound()
        with label._lock, warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
            if child == 0:
                os._exit(0 if label("a") == "a" else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


class Raising:
    @property
    def model(self):
        raise RuntimeError("not configured")

    @property
    def bound(self):
        raise AttributeError("nothing here")

    model_name = "gpt-4o"


class TestResolve:
    def test_the_reported_name_wins_then_the_objects_then_the_requested(self):
        model = SimpleNamespace(model=None, model_name="gpt-4o")
        assert resolve_model_name(model, "gpt-4o-2024-08-06", "asked") == "gpt-4o-2024-08-06"
        assert resolve_model_name(model, None, "asked") == "gpt-4o"
        assert resolve_model_name(model, " ", "asked") == "gpt-4o"
        assert resolve_model_name(SimpleNamespace(model=" "), None, "asked") == "asked"
        assert resolve_model_name(None, None, "asked") == "asked"
        assert resolve_model_name(None) == ""

    def test_a_property_that_raises_is_missing(self):
        assert resolve_model_name(Raising()) == "gpt-4o"

    def test_what_is_no_text_is_missing(self):
        assert resolve_model_name(MagicMock(), requested="asked") == "asked"
        assert resolve_model_name(MagicMock(model="gpt-4o")) == "gpt-4o"

    def test_wrappers_of_any_depth_and_circles(self):
        inner = SimpleNamespace(model="gpt-4o")
        for number in range(20):
            inner = SimpleNamespace(**{"bound" if number % 2 else "runnable": inner})
        assert resolve_model_name(inner) == "gpt-4o"
        circle = SimpleNamespace()
        circle.bound = circle
        assert resolve_model_name(circle, requested="asked") == "asked"

    def test_a_name_only_an_account_resolves_yields_to_one_that_tells(self):
        model = SimpleNamespace(model=PROFILE, base_model_id="anthropic.claude-haiku-4-5-20251001-v1:0")
        assert resolve_model_name(model, PROFILE) == "anthropic.claude-haiku-4-5-20251001-v1:0"
        assert resolve_model_name(SimpleNamespace(model=PROFILE)) == PROFILE

    def test_a_deployment_is_the_last_resort(self):
        model = SimpleNamespace(model_name=None, deployment_name="prod-chat")
        assert resolve_model_name(model, requested="gpt-4o") == "gpt-4o"
        assert resolve_model_name(model) == "prod-chat"


class TestReported:
    @pytest.mark.parametrize(
        ("metadata", "name"),
        [
            ({"model_name": "gpt-4o", "model": "x"}, "gpt-4o"),
            ({"model_name": None, "model": " llama3.1:8b "}, "llama3.1:8b"),
            ({"model_id": BEDROCK}, BEDROCK),
            ({"ls_model_name": "gpt-4o"}, "gpt-4o"),
            ({"model_name": "gpt-4o-minigpt-4o-mini"}, "gpt-4o-mini"),
            ({"model_name": "o1o1o1"}, "o1o1o1"),
            ({"model_name": 7, "model": ""}, None),
            ({}, None),
            (None, None),
            ("gpt-4o", None),
        ],
    )
    def test_name_out_of_the_response(self, metadata, name):
        assert reported_model_name(metadata) == name

    @pytest.mark.parametrize(
        ("metadata", "sku", "finish"),
        [
            # Vertex: Gemini, and Claude through the model garden
            (
                {
                    "is_blocked": False,
                    "safety_ratings": [],
                    "usage_metadata": {"prompt_token_count": 11, "candidates_token_count": 7, "total_token_count": 18},
                    "finish_reason": "STOP",
                    "avg_logprobs": -0.1,
                    "model_name": "gemini-2.5-flash-001",
                    "model_provider": "google_vertexai",
                },
                "gemini-2.5-flash",
                "STOP",
            ),
            (
                {
                    "id": "msg_vrtx_01",
                    "model": "claude-haiku-4-5@20251001",
                    "stop_reason": "end_turn",
                    "stop_sequence": None,
                    "usage": {"input_tokens": 11, "output_tokens": 7},
                    "type": "message",
                },
                "claude-haiku-4-5",
                "end_turn",
            ),
            (
                {
                    "token_usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
                    "model_name": "mistral-large-2411",
                    "model": "mistral-large-2411",
                    "finish_reason": "stop",
                },
                "mistral-large",
                "stop",
            ),
            (
                {
                    "token_usage": {"completion_tokens": 7, "prompt_tokens": 11, "queue_time": 0.1},
                    "model_name": "llama-3.1-8b-instant",
                    "system_fingerprint": "fp_1",
                    "finish_reason": "length",
                    "logprobs": None,
                },
                "llama-3.1-8b-instant",
                "length",
            ),
            # Cohere names no model; what is no text is no reason.
            ({"id": "1", "finish_reason": "COMPLETE", "token_count": {"input_tokens": 11.0}}, "unknown", "COMPLETE"),
            ({"model_name": "gpt-4o", "finish_reason": None, "stopReason": ["end_turn"]}, "gpt-4o", None),
            ({"stopReason": "max_tokens", "metrics": {"latencyMs": [1]}}, "unknown", "max_tokens"),
        ],
    )
    def test_the_metadata_of_providers(self, metadata, sku, finish):
        assert normalise_sku(reported_model_name(metadata)) == sku
        assert reported_finish_reason(metadata) == finish

    def test_what_is_no_metadata_tells_no_reason(self):
        assert reported_finish_reason(None) is None
        assert reported_finish_reason("stop") is None


class TestRealModels:
    def openai(self, **more):
        return pytest.importorskip("langchain_openai").ChatOpenAI(model="gpt-4o-mini", api_key="x", **more)

    def test_openai(self):
        assert resolve_model_name(self.openai()) == "gpt-4o-mini"

    def test_azure(self):
        azure = pytest.importorskip("langchain_openai").AzureChatOpenAI
        common = {"azure_endpoint": "https://example.invalid", "api_version": "2024-10-21", "api_key": "x"}
        assert resolve_model_name(azure(azure_deployment="prod", **common), None, "gpt-4o") == "gpt-4o"
        assert resolve_model_name(azure(azure_deployment="prod", **common)) == "prod"
        assert resolve_model_name(azure(azure_deployment="prod", model="gpt-4o", **common)) == "gpt-4o"

    @pytest.mark.parametrize(
        "wrap",
        [
            lambda m: m.bind(stop=["x"]),
            lambda m: m.bind_tools([{"type": "function", "function": {"name": "f", "parameters": {}}}]),
            lambda m: m.with_retry(),
            lambda m: m.with_fallbacks([m]),
            lambda m: m.with_config(tags=["a"]).bind(stop=["x"]).with_retry().with_fallbacks([m]),
        ],
        ids=["bind", "bind_tools", "retry", "fallbacks", "all"],
    )
    def test_through_wrappers(self, wrap):
        assert resolve_model_name(wrap(self.openai())) == "gpt-4o-mini"

    def test_a_name_bound_to_the_call_wins(self):
        assert resolve_model_name(self.openai().bind(model="gpt-4.1").with_retry()) == "gpt-4.1"

    def test_configurable(self):
        chat_models = pytest.importorskip("langchain.chat_models")
        pytest.importorskip("langchain_openai")
        model = chat_models.init_chat_model("openai:gpt-4o-mini", configurable_fields="any", api_key="x")
        assert resolve_model_name(model) == "gpt-4o-mini"
        assert resolve_model_name(chat_models.init_chat_model(), requested="asked") == "asked"

    def test_anthropic(self):
        anthropic = pytest.importorskip("langchain_anthropic")
        model = anthropic.ChatAnthropic(model="claude-haiku-4-5-20251001", api_key="x")
        assert normalise_sku(resolve_model_name(model)) == "claude-haiku-4-5"

    @pytest.mark.parametrize("kind", ["ChatBedrock", "ChatBedrockConverse"])
    def test_bedrock(self, kind):
        chat = getattr(pytest.importorskip("langchain_aws"), kind)
        keys = {"region_name": "us-east-1", "aws_access_key_id": "a", "aws_secret_access_key": "b"}
        assert normalise_sku(resolve_model_name(chat(model=BEDROCK, **keys))) == "claude-haiku-4-5"
        profile = chat(
            model=PROFILE,
            provider="anthropic",
            base_model_id="anthropic.claude-haiku-4-5-20251001-v1:0",
            **keys,
        )
        assert normalise_sku(resolve_model_name(profile, PROFILE)) == "claude-haiku-4-5"

    def test_google(self):
        google = pytest.importorskip("langchain_google_genai")
        model = google.ChatGoogleGenerativeAI(model="models/gemini-2.5-flash", google_api_key="x")
        assert normalise_sku(resolve_model_name(model)) == "gemini-2.5-flash"

    def test_vertex(self):
        pytest.importorskip("langchain_google_vertexai")
        from google.auth.credentials import AnonymousCredentials
        from langchain_google_vertexai.model_garden import ChatAnthropicVertex

        model = ChatAnthropicVertex(
            model="claude-haiku-4-5@20251001", project="p", location="us-east5", credentials=AnonymousCredentials()
        )
        assert normalise_sku(resolve_model_name(model)) == "claude-haiku-4-5"

    def test_ollama(self):
        ollama = pytest.importorskip("langchain_ollama")
        assert normalise_sku(resolve_model_name(ollama.ChatOllama(model="llama3.1:8b"))) == "llama3.1:8b"
