"""What is shown of a value, and what is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from draftcritic.core import Mode
from draftcritic.settings import Preference, without_secrets


class Client:
    def __repr__(self) -> str:
        return "Client(api_key='plainword')"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, None),
        (True, True),
        (0.5, 0.5),
        (Mode.GATE, "gate"),
        (Path("/srv/critic.toml"), "/srv/critic.toml"),
        (("a", "b"), ["a", "b"]),
        (frozenset({"b", "a"}), ["a", "b"]),
        ("skip_verification_step_2", "skip_verification_step_2"),
        ("sk-proj-Ab12Cd34Ef56Gh78", "***"),
        ("use ghp_0123456789abcdefABCDEF now", "use *** now"),
        ("Bearer plainword", "***"),
        ("https://user:plainword@host/v1", "https://***@host/v1"),
        ("https://host/v1?api-key=plainword&v=2", "https://host/v1?***&v=2"),
        (
            {"api_key": "x", "apiKey": "x", "Authorization": "x", "client_secret": 5, "default_headers": {"a": "b"}},
            {
                "api_key": "***",
                "apiKey": "***",
                "Authorization": "***",
                "client_secret": "***",
                "default_headers": "***",
            },
        ),
        (
            {"max_tokens": 5, "temperature": 0, "base_url": "http://h", "monkey": "m", "keys": [1]},
            {"max_tokens": 5, "temperature": 0, "base_url": "http://h", "monkey": "m", "keys": [1]},
        ),
        (Preference(statement="s"), {"statement": "s", "priority": 5, "sensitive_tags": []}),
        (len, "<builtins.len>"),
        (10**500, "<integer of 1661 bits>"),
    ],
)
def test_plain_values_without_secrets(value: Any, shown: Any) -> None:
    assert without_secrets(value) == shown


def test_of_an_object_only_its_kind_is_shown() -> None:
    text = without_secrets([Client()])[0]
    assert text.startswith("<object of ")
    assert text.endswith(".Client>")


SECRET = "plainword"
RANDOM = "q7Zt2LmX9vBn4KpR8sWd1YhC"


@pytest.mark.parametrize(
    "value",
    [
        {"pat": SECRET},
        {"GITHUB_PAT": SECRET},
        {"passphrase": SECRET},
        {"ssl": {"key_passphrase": SECRET}},
        {"token": SECRET},
        {"api_tokens": {"auth": [SECRET]}},
        {"x-api-key": SECRET},
        {"subscriptionKey": SECRET},
        {"dbPassword": SECRET},
        {"clientsecret": SECRET},
        {"session_id": SECRET},
        {"dsn": f"postgres://u:{SECRET}@h/db"},
        {"extra_args": ["--token", SECRET]},
        {"extra_args": ["--model", "x", "--api-key", SECRET, "--verbose"]},
        {"extra_args": [f"--token={SECRET}"]},
        {"command": f"serve --password {SECRET} --port 80"},
        {"extra": [["Authorization", SECRET], ["X-Api-Key", SECRET]]},
        {"extra": [f"Authorization: Bearer {SECRET}"]},
        {"extra": f"X-Auth-Token: {SECRET}"},
        {"extra": f"authorization: Basic {SECRET}"},
        {"extra": f'{{"client_secret": "{SECRET}"}}'},
        {"extra": f"user=me;password={SECRET};host=db"},
        {"proxy": f"http://user:{SECRET}@proxy:8080"},
        {"extra": f"eyJhbGciOiJIUzI1NiJ9.{SECRET}.abcdef"},
        {"extra": f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY-----"},
        {"extra": "sk-" + SECRET + "0123456789"},
        (("sk-ant-api03-" + SECRET + "0123456789"),),
    ],
)
def test_credentials_are_masked_by_what_they_are_and_where_they_appear(value: Any) -> None:
    text = str(without_secrets(value))
    assert SECRET not in text
    assert "***" in text


@pytest.mark.parametrize(
    "value", [RANDOM, f"use {RANDOM} now", {"other": f"https://h/{RANDOM}/v1"}, {"a": "9f" + "3c7e1b" * 6}]
)
def test_a_long_random_text_is_masked(value: Any) -> None:
    assert "***" in str(without_secrets(value))


@pytest.mark.parametrize(
    "value",
    [
        "anthropic:claude-3-5-sonnet-20241022",
        "openai:gpt-4o-mini-2024-07-18",
        "Qwen/Qwen2.5-Coder-32B-Instruct-GPTQ-Int4",
        "bedrock:eu.anthropic.claude-3-haiku-20240307-v1:0",
        "/srv/agents/production_settings_2024/critic.toml",
        "package.module:attribute",
        "Never promise a delivery date, and never give out another customer's data.",
        "^(ORD|INV)-[0-9]{4,8}$",
        "https://api.openai.com/v1",
    ],
)
def test_names_of_models_paths_and_sentences_are_shown(value: str) -> None:
    assert without_secrets(value) == value


def test_nothing_is_hidden_that_only_counts_or_says_yes_or_no() -> None:
    value = {
        "max_tokens": 5,
        "max_completion_tokens": 9,
        "tokenizer": "t",
        "author": "a",
        "use_auth": True,
        "key": None,
    }
    assert without_secrets(value) == value


def test_values_that_contain_themselves_or_each_other_many_times_are_cut() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert "..." in str(without_secrets(loop))
    bomb: Any = "x"
    for _ in range(12):
        bomb = [bomb] * 9
    assert len(str(without_secrets(bomb))) < 100_000
