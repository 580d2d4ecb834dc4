"""One reflection without a gate in front of it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from draftcritic.core import ParsedReflection, Policy, Verdict, parse_reflection_output
from draftcritic.engine import classify, matched_of, prompt_messages, qualified_name, reviewing
from draftcritic.frameworks._config import default_model_config, preferences_of
from draftcritic.frameworks._provider import model_source

_logger = logging.getLogger(__name__)


async def reflect_on_draft(  # noqa: PLR0917 - the order is part of the contract
    provider: Any,
    model_config: Any,
    template: str | None,
    draft: str,
    preferences: Iterable[Any],
    rules: Sequence[str],
    hit: str | None,
) -> ParsedReflection:
    """Ask the critic's model once what it says of a draft.

    Args:
        provider: its `get_chat_model(model_config)` returns an object with `async ainvoke(messages)`.
        model_config: what the provider is asked for; None leaves it to the framework's default.
        template: the prompt; None is the built-in one.
        draft: the text to judge.
        preferences: each with `priority` and `statement`.
        rules: procedural rules.
        hit: the sensitive tag that was met.

    Returns:
        The verdict, which unpacks as `(verdict, text, matched_preferences)`. Any failure is an `approve` whose
        attribute `failure` says in which way.
    """
    policy = Policy(preferences=preferences_of(preferences), prompt_template=template)
    config = default_model_config() if model_config is None else model_config
    try:
        with reviewing():
            model = model_source(provider, config)()
            prompt = prompt_messages(policy, draft=draft, rules=rules, sensitive_hit=hit)
            reply = await model.acall(model.messages(prompt), policy.timeout)
    except Exception as error:  # the model and its provider are foreign code
        _logger.warning("the reflection failed with %s", qualified_name(type(error)))
        return ParsedReflection(Verdict.APPROVE, failure=classify(error))
    parsed = parse_reflection_output(reply.content)
    return ParsedReflection(
        parsed.verdict, parsed.text, list(matched_of(parsed, policy)), failure=parsed.failure, own=parsed.own
    )
