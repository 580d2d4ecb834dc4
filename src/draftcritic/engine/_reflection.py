"""The parts of a reflection that touch nothing outside: what to ask, and what an answer means."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, nullcontext
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from typing import Any, TypeVar

from draftcritic.core import (
    ABOUT_REVISION,
    ModelCall,
    Policy,
    ProceduralRulesSource,
    Prompt,
    Rule,
    Usage,
    described,
    normalise_sku,
    price_usd,
    render_prompt,
    resolve_model_name,
    room_for_draft,
    usage_from,
    windows,
)
from draftcritic.engine._failures import qualified_name
from draftcritic.engine._ports import PromptMessage, Reply
from draftcritic.engine._timed import within

MAX_RULES = 5
"""Procedural rules shown to the critic at most."""
_QUERY_LABELS = 10
_MAX_RULE_CHARS = 100_000
_Number = TypeVar("_Number", int, float)

_logger = logging.getLogger(__name__)


def rules_query(activation: Mapping[str, Any]) -> str:
    """Return what the rules source is asked: the first ten of the sorted labels of the inference paths."""
    paths = activation.get("inference_paths")
    if not isinstance(paths, (list, tuple)):
        return ""
    labels = {str(label) for path in paths for label in _labels(path)}
    return " ".join(sorted(labels)[:_QUERY_LABELS])


def _labels(path: Any) -> Iterator[Any]:
    if isinstance(path, str):
        yield path
    elif isinstance(path, (list, tuple, set, frozenset)):
        yield from path


async def retrieve_rules(source: ProceduralRulesSource, query: str, timeout: float) -> tuple[str, ...]:
    """Ask the rules source, and take no more of its answer than the prompt shows; its failure means no rules."""
    try:
        return await within(_first_rules(source, query), timeout)
    except Exception as error:  # third-party code
        _logger.debug("the rules source failed with %s", described(error))
        return ()


async def _first_rules(source: ProceduralRulesSource, query: str) -> tuple[str, ...]:
    found: Any = source.retrieve(query, MAX_RULES)
    if inspect.isawaitable(found):
        found = await found
    if hasattr(found, "__aiter__"):
        rules = []
        async with aclosing(found) if hasattr(found, "aclose") else nullcontext():
            async for rule in found:
                rules.append(rule)
                if len(rules) == MAX_RULES:
                    break
    else:
        rules = list(islice(found, MAX_RULES))
    return tuple(str(getattr(rule, "content", rule))[:_MAX_RULE_CHARS] for rule in rules)


def prompt_of(
    policy: Policy,
    *,
    draft: str,
    rules: Sequence[str | Rule],
    sensitive_hit: str | None,
    about: str = "",
) -> Prompt:
    """Return the question to the critic's model, within the policy's budget."""
    return render_prompt(
        policy.prompt_template,
        draft=draft,
        preferences=policy.identified,
        rules=policy.with_ids(rules),
        sensitive_hit=sensitive_hit,
        budget=policy.prompt_budget,
        about=about,
    )


def windowed_prompts(
    policy: Policy, *, draft: str, rules: Sequence[str | Rule], sensitive_hit: str | None
) -> tuple[list[Prompt], int]:
    """Return the questions about a draft in parts, and how many characters at its end are in none of them."""
    room = room_for_draft(policy.prompt_template, policy.identified, policy.with_ids(rules), policy.prompt_budget)
    cut = windows(draft, room, policy.max_windows)
    prompts = [
        prompt_of(policy, draft=part, rules=rules, sensitive_hit=sensitive_hit, about=cut.about(index))
        for index, part in enumerate(cut.parts)
    ]
    return prompts, cut.unread


def revision_prompt(
    policy: Policy, *, draft: str, rules: Sequence[str | Rule], sensitive_hit: str | None, reasons: Sequence[str]
) -> Prompt:
    """Return the question for a revision of the whole draft, however long it is."""
    return render_prompt(
        policy.prompt_template,
        draft=draft,
        preferences=policy.identified,
        rules=policy.with_ids(rules),
        sensitive_hit=sensitive_hit,
        about=ABOUT_REVISION,
        reasons=reasons,
    )


def to_messages(prompt: Prompt) -> tuple[PromptMessage, ...]:
    """Return a prompt as the messages that a `CriticModel` takes."""
    turns = [
        message
        for question, answer in prompt.examples
        for message in (PromptMessage("user", question), PromptMessage("assistant", answer))
    ]
    return PromptMessage("system", prompt.system), *turns, PromptMessage("user", prompt.user)


def prompt_messages(
    policy: Policy, *, draft: str, rules: Sequence[str | Rule], sensitive_hit: str | None
) -> tuple[PromptMessage, ...]:
    """Return the question to the critic's model as messages."""
    return to_messages(prompt_of(policy, draft=draft, rules=rules, sensitive_hit=sensitive_hit))


def question_key(policy: Policy, *, draft: str, rules: Sequence[str | Rule], sensitive_hit: str | None) -> bytes:
    """Return what is the same for two prompts that differ in their random boundary only."""
    preferences = [(each.priority, each.statement) for each in policy.preferences]
    shown = (policy.prompt_template, policy.prompt_budget, policy.max_windows)
    parts = (shown, draft, preferences, list(rules), sensitive_hit)
    return blake2b(repr(parts).encode("utf-8", "backslashreplace"), digest_size=16).digest()


def model_call(requested: str, reply: Reply | None, error: BaseException | None, latency_s: float) -> ModelCall:
    """Return the record of a model call that ended with `reply` or with `error`."""
    if reply is None:
        return ModelCall(
            model=requested,
            sku=normalise_sku(requested),
            error_type=None if error is None else qualified_name(type(error)),
            latency_s=latency_s,
        )
    model = resolve_model_name(None, reported=reply.model, requested=requested)
    return ModelCall(
        model=model,
        sku=normalise_sku(model),
        usage=_usage(model, reply.usage),
        finish_reason=reply.finish_reason,
        latency_s=latency_s,
    )


def merged(calls: Sequence[ModelCall]) -> ModelCall:
    """Return the record of several calls about one draft as one."""
    if len(calls) == 1:
        return calls[0]
    usages = [call.usage for call in calls]
    return replace(
        calls[-1],
        usage=Usage(
            _sum(usage.input_tokens for usage in usages),
            _sum(usage.output_tokens for usage in usages),
            _sum(usage.cost_usd for usage in usages),
        ),
        error_type=next((call.error_type for call in calls if call.error_type), None),
        latency_s=sum(call.latency_s for call in calls),
        omitted=sum(call.omitted for call in calls),
    )


def _sum(values: Iterable[_Number | None]) -> _Number | None:
    """Return the sum of what is known; None when nothing is."""
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if known else None


def _usage(model: str, reported: Mapping[str, Any]) -> Usage:
    usage = usage_from(reported)
    cost = price_usd(model, input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)
    return replace(usage, cost_usd=cost)
