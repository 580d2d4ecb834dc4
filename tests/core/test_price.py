import socket
from collections import OrderedDict

import pytest

from draftcritic.core._prices import price_usd, usage_from
from draftcritic.core._review import Usage


class TestUsage:
    @pytest.mark.parametrize(
        ("metadata", "usage"),
        [
            ({"input_tokens": 12, "output_tokens": 3, "total_tokens": 15}, Usage(12, 3)),
            (OrderedDict(input_tokens=12), Usage(12, None)),
            ({"input_tokens": 0, "output_tokens": 0}, Usage(0, 0)),
            ({"input_tokens": -1, "output_tokens": True}, Usage()),
            ({"input_tokens": "12", "output_tokens": 3.0}, Usage()),
            ({"input_tokens": None}, Usage()),
            ({}, Usage()),
            (None, Usage()),
            ("input_tokens", Usage()),
        ],
    )
    def test_only_counts_count(self, metadata, usage):
        assert usage_from(metadata) == usage


class TestPrice:
    @pytest.mark.parametrize(
        "model",
        [
            "gpt-4o-mini",
            "gpt-4o-2024-08-06",
            "azure/gpt-4o",
            "claude-haiku-4-5-20251001",
            "anthropic.claude-haiku-4-5-20251001-v1:0",
            "us.anthropic.claude-haiku-4-5-20251001-v1:0",
            "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-haiku-4-5-20251001-v1:0",
            "bedrock_converse:us.anthropic.claude-haiku-4-5-20251001-v1:0",
            "amazon.nova-lite-v1:0",
            "claude-haiku-4-5@20251001",
            "publishers/google/models/gemini-2.5-flash",
            "models/gemini-2.0-flash-001",
            "anthropic/claude-3.5-sonnet",
            "openai:gpt-4o-mini",
        ],
    )
    def test_raw_names_find_a_price(self, model):
        price = price_usd(model, input_tokens=1000, output_tokens=100)
        assert isinstance(price, float)
        assert price > 0

    def test_is_the_list_price(self):
        assert price_usd("gpt-4o-2024-08-06", input_tokens=1_000_000, output_tokens=0) == 2.5
        assert price_usd("gpt-4o", input_tokens=0, output_tokens=1_000_000) == 10.0
        assert price_usd("gpt-4o", input_tokens=0, output_tokens=0) == 0.0

    def test_provider_decides_where_prices_differ(self):
        counts = {"input_tokens": 1_000_000, "output_tokens": 0}
        model = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
        assert price_usd(model, provider="amazon_bedrock", **counts) == price_usd(model, **counts)
        assert price_usd("gpt-4o", provider="azure", **counts) == 2.5
        assert price_usd("gpt-4o", provider="no such provider", **counts) == 2.5

    @pytest.mark.parametrize(
        ("model", "provider"),
        [
            ("prod-chat", None),
            ("unknown", None),
            ("other", None),
            ("", None),
            (None, None),
            ("llama3.1:8b", None),
            ("deepseek-r1:7b-qwen-distill-q4_K_M", None),
            ("deepseek-r1", "ollama"),
            ("ollama/deepseek-r1", None),
            ("ft:gpt-4o-mini-2024-07-18:org::id", None),
            ("openai/gpt-oss-20b:free", None),
            ("gemma-3", "google"),
            ("\ud800", "\ud800"),
        ],
    )
    def test_unknown_price_is_absent(self, model, provider):
        assert price_usd(model, input_tokens=1000, output_tokens=100, provider=provider) is None

    @pytest.mark.parametrize("tokens", [None, -1, True, "12", 1.5])
    def test_unknown_count_is_absent(self, tokens):
        assert price_usd("gpt-4o", input_tokens=tokens, output_tokens=100) is None
        assert price_usd("gpt-4o", input_tokens=100, output_tokens=tokens) is None

    def test_nothing_is_fetched(self, monkeypatch):
        def refuse(*args):
            raise AssertionError("a price look-up opened a socket")

        monkeypatch.setattr(socket, "socket", refuse)
        assert price_usd("gpt-4.1", input_tokens=1_000_000, output_tokens=0) == 2.0
