"""How drafts travel: what a delivery needs, and what cannot work."""

from __future__ import annotations

from typing import Any

import pytest

from draftcritic.core import Mode
from draftcritic.settings import Settings, SettingsError

SPOOL = {"delivery": "spool", "spool_dir": "/var/lib/draftcritic", "model": "openai:gpt-4.1-mini"}
CELERY = {**SPOOL, "delivery": "celery", "broker": "amqps://agent:secret@rabbit/critic"}


def problem(**given: Any) -> str:
    with pytest.raises(SettingsError) as caught:
        Settings.load({}, **given)
    (only,) = caught.value.problems
    return str(only)


@pytest.mark.parametrize(
    "given", [{}, SPOOL, CELERY, {**SPOOL, "mode": "gate", "model": None}, {**CELERY, "mode": "off"}]
)
def test_what_is_whole_is_valid(given: dict[str, Any]) -> None:
    Settings.load({}, **given)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"spool_dir": None}, "set `spool_dir`"),
        ({"model": None}, "set `model` to provider:name"),
        ({"mode": "enforce"}, "the processes still share the limits of `budget_store`"),
        ({"background": False}, "use memory"),
    ],
)
@pytest.mark.parametrize("delivery", [SPOOL, CELERY])
def test_a_delivery_that_lacks_something_is_rejected_with_the_fix(
    delivery: dict[str, Any], change: dict[str, Any], said: str
) -> None:
    text = problem(**{**delivery, **change})
    assert text.startswith(f"delivery = {delivery['delivery']!r}")
    assert said in text


def test_celery_needs_a_broker() -> None:
    assert "set `broker` to amqps://" in problem(**{**CELERY, "broker": None})


def test_redis_is_rejected_as_a_broker_with_the_reason() -> None:
    text = problem(**{**CELERY, "broker": "redis://:secret@cache/0"})
    assert "whose acknowledgements are only imitated" in text
    assert "celery issues 5935 and 7924, kombu issue 337" in text
    assert "`budget_store`" in text
    assert "secret" not in text


@pytest.mark.parametrize("url", ["sqs://", "rabbit:5672", "http://rabbit"])
def test_other_brokers_are_rejected(url: str) -> None:
    assert "amqps://host/vhost" in problem(**{**CELERY, "broker": url})


def test_a_budget_store_is_redis() -> None:
    assert "rediss://" in problem(budget_store="memcached://cache")
    assert Settings.load({}, mode=Mode.ENFORCE, budget_store="redis://cache/0").budget_store == "redis://cache/0"


def test_passwords_of_addresses_are_not_shown() -> None:
    assert "secret" not in repr(Settings.load({}, **CELERY, budget_store="redis://:secret@cache/0"))
