"""The parts of a reflection that touch nothing outside: what to ask, and what an answer means."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing, nullcontext
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from typing import Any

from draftcritic.core import (
    Assessment,
    Failed,
    Failure,
    Judged,
    ModelCall,
    OnFailure,
    ParsedReflection,
    Policy,
    ProceduralRulesSource,
    Prompt,
    Rule,
    Usage,
    Verdict,
    described,
    normalise_sku,
    parse_reflection_output,
    price_usd,
    render_prompt,
    resolve_model_name,
    usage_from,
)
from draftcritic.engine._failures import qualified_name
from draftcritic.engine._ports import PromptMessage, Reply
from draftcritic.engine._timed import within

MAX_RULES = 5
"""Procedural rules shown to the critic at most."""
_QUERY_LABELS = 10
_MAX_RULE_CHARS = 100_000

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


def prompt_of(policy: Policy, *, draft: str, rules: Sequence[str | Rule], sensitive_hit: str | None) -> Prompt:
    """Return the question to the critic's model, within the policy's budget."""
    return render_prompt(
        policy.prompt_template,
        draft=draft,
        preferences=policy.identified,
        rules=policy.with_ids(rules),
        sensitive_hit=sensitive_hit,
        budget=policy.prompt_budget,
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
    parts = (policy.prompt_template, policy.prompt_budget, draft, preferences, list(rules), sensitive_hit)
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


def _usage(model: str, reported: Mapping[str, Any]) -> Usage:
    usage = usage_from(reported)
    cost = price_usd(model, input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)
    return replace(usage, cost_usd=cost)


def judge(reply: Reply, policy: Policy, assessment: Assessment, call: ModelCall) -> Judged | Failed:
    """Return what the answer of the critic's model means."""
    parsed = parse_reflection_output(reply.content)
    if parsed.failure is not None:
        return failed(Failure(parsed.failure), policy, assessment, call=call)
    verdict = Verdict(parsed.verdict)
    standby = standby_text(verdict, policy)
    return Judged(
        verdict,
        parsed.text or standby,
        matched_of(parsed, policy),
        defaulted=standby is not None and not parsed.text,
        call=call,
        reason=parsed.own.reason,
        broken=policy.rule_ids.broken(parsed.own.broken, parsed.matched_preferences),
    )


def standby_text(verdict: Verdict, policy: Policy) -> str | None:
    """Return the configured text for a verdict that needs one."""
    return {Verdict.REVISE: policy.default_revision, Verdict.REFUSE: policy.default_refusal}.get(verdict)


def matched_of(parsed: ParsedReflection, policy: Policy) -> tuple[str, ...]:
    """Return the preferences that a reply names, by statement or by id."""
    named = policy.rule_ids.broken(parsed.own.broken, ())
    by_id = [each.statement for each in policy.identified if each.id in named]
    return tuple(dict.fromkeys((*parsed.matched_preferences, *by_id)))


def failed(
    failure: Failure,
    policy: Policy,
    assessment: Assessment,
    *,
    error_type: str | None = None,
    call: ModelCall | None = None,
) -> Failed:
    """Return the outcome of a reflection that failed: open by default, closed where the policy says so."""
    closed = policy.on_failure is OnFailure.REFUSE or assessment.has_tag_of(policy.fail_closed_tags)
    return Failed(failure, closed, policy.default_refusal if closed else None, error_type, call)
