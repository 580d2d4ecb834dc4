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
