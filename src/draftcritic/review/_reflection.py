"""The parts of a reflection that touch nothing outside: what to ask, and what an answer means."""

from __future__ import annotations

import inspect
import logging
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, nullcontext
from contextvars import Context
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from typing import Any, TypeVar

from draftcritic.core._enums import EvidenceScope, Examples, Failure
from draftcritic.core._evidence_blocks import NO_EVIDENCE, Evidence
from draftcritic.core._exception_place import described, qualified_name
from draftcritic.core._models import is_capable, normalise_sku, resolve_model_name
from draftcritic.core._policy import Policy, ProceduralRulesSource, Rule
from draftcritic.core._prices import price_usd, usage_from
from draftcritic.core._prompt import Prompt, render_prompt, room_for_draft
from draftcritic.core._review import ModelCall, Usage
from draftcritic.core._windows import ABOUT_REVISION, windows
from draftcritic.review._calls import own_thread, within
from draftcritic.review._failures import fault_of, unbilled
from draftcritic.review._ports import CriticModel, Permit, PromptMessage, Reply, ReviewLimits, ReviewRecord
from draftcritic.review._scope import reviewing

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
    evidence: Evidence | None = None,
    model: str = "",
) -> Prompt:
    """Return the question to the critic's model, within the policy's budget.

    Args:
        policy: the rules, the template and the budget.
        draft: what is judged.
        rules: procedural rules.
        sensitive_hit: the sensitive tag of the turn.
        about: see `render_prompt`.
        evidence: see `render_prompt`.
        model: the name of the model that is asked: some need worked examples.
    """
    return render_prompt(
        policy.prompt_template,
        draft=draft,
        preferences=policy.identified,
        rules=policy.with_ids(rules),
        sensitive_hit=sensitive_hit,
        budget=policy.prompt_budget,
        about=about,
        evidence=evidence,
        examples=shows_examples(policy, model),
    )


def shows_examples(policy: Policy, model: str) -> bool:
    """Return whether a model is shown worked examples."""
    if policy.examples is Examples.AUTO:
        return not is_capable(model)
    return policy.examples is Examples.ALWAYS


def windowed_prompts(
    policy: Policy,
    *,
    draft: str,
    rules: Sequence[str | Rule],
    sensitive_hit: str | None,
    evidence: Evidence | None = None,
    model: str = "",
) -> tuple[list[Prompt], int]:
    """Return the questions about a draft in parts, and how many characters at its end are in none of them."""
    room = room_for_draft(
        policy.prompt_template, policy.identified, policy.with_ids(rules), policy.prompt_budget, evidence
    )
    cut = windows(draft, room, policy.max_windows)
    prompts = [
        prompt_of(
            policy,
            draft=part,
            rules=rules,
            sensitive_hit=sensitive_hit,
            about=cut.about(index),
            evidence=evidence,
            model=model,
        )
        for index, part in enumerate(cut.parts)
    ]
    return prompts, cut.unread


def revision_prompt(
    policy: Policy,
    *,
    draft: str,
    rules: Sequence[str | Rule],
    sensitive_hit: str | None,
    reasons: Sequence[str],
    evidence: Evidence | None = None,
    model: str = "",
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
        evidence=evidence,
        examples=shows_examples(policy, model),
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


def question_key(
    policy: Policy,
    *,
    draft: str,
    rules: Sequence[str | Rule],
    sensitive_hit: str | None,
    evidence: Evidence | None = None,
) -> bytes:
    """Return what is the same for two prompts that differ in their random boundary only."""
    preferences = [(each.priority, each.statement) for each in policy.preferences]
    shown = (policy.prompt_template, policy.prompt_budget, policy.max_windows, policy.examples)
    parts = (shown, draft, preferences, list(rules), sensitive_hit, evidence)
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
            _sum(usage.cached_tokens for usage in usages),
        ),
        error_type=next((call.error_type for call in calls if call.error_type), None),
        latency_s=sum(call.latency_s for call in calls),
        omitted=sum(call.omitted for call in calls),
        evidence_length=sum(call.evidence_length for call in calls),
        evidence_omitted=sum(call.evidence_omitted for call in calls),
        evidence_kinds=tuple(dict.fromkeys(kind for call in calls for kind in call.evidence_kinds)),
    )


def _sum(values: Iterable[_Number | None]) -> _Number | None:
    """Return the sum of what is known; None when nothing is."""
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if known else None


def _usage(model: str, reported: Mapping[str, Any]) -> Usage:
    usage = usage_from(reported)
    cost = price_usd(model, input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)
    return replace(usage, cost_usd=cost)


PROBE_DRAFT = "Good morning! How can I help you today?"
"""What a probe asks about: no user wrote it, and no provider rejects it."""


class Prober:
    """Asks probes in threads of their own: no draft waits for them.

    Args:
        policy: the rules that drafts are judged by, which a probe asks about as well.
        limits: knows which circuit needs a probe.
    """

    def __init__(self, policy: Policy, limits: ReviewLimits) -> None:
        self._policy = policy
        self._limits = limits

    def ask(self, model: CriticModel, record: ReviewRecord) -> None:
        """Ask a model in the background when its circuit needs a probe. Never waits and never raises.

        Args:
            model: the model whose circuit it is.
            record: of the review after which the probe is asked; what is traced belongs to it.
        """
        try:
            prompt = self._prompt(model.name)
            permit = self._limits.probe(normalise_sku(model.name), prompt.size, 2 * self._policy.timeout)
            if permit is not None:
                self._start(model, record, prompt, permit)
        except Exception as error:
            _logger.debug("a probe could not be asked: %s", type(error).__name__)

    def _prompt(self, model: str) -> Prompt:
        evidence = None if self._policy.evidence is EvidenceScope.NONE else NO_EVIDENCE
        return prompt_of(
            self._policy,
            draft=PROBE_DRAFT,
            rules=self._policy.rules,
            sensitive_hit=None,
            evidence=evidence,
            model=model,
        )

    def _start(self, model: CriticModel, record: ReviewRecord, prompt: Prompt, permit: Permit) -> None:
        thread = threading.Thread(
            target=Context().run,
            args=(self._run, model, record, prompt, permit),
            name="draftcritic-probe",
            daemon=True,
        )
        try:
            thread.start()
        except RuntimeError:  # no more threads, or the interpreter is ending
            permit.settle(None, Failure.CANCELLED)

    def _run(self, model: CriticModel, record: ReviewRecord, prompt: Prompt, permit: Permit) -> None:
        own_thread()
        call: ModelCall | None = None
        failure: Failure | None = Failure.CANCELLED
        free, began = False, time.perf_counter()
        try:
            with reviewing(), record.calling():
                reply = model.call(model.messages(to_messages(prompt)), self._policy.timeout)
            call, failure = model_call(model.name, reply, None, time.perf_counter() - began), None
        except Exception as error:
            call = model_call(model.name, None, error, time.perf_counter() - began)
            failure, free = fault_of(error).failure, unbilled(error)
        finally:
            permit.settle(call, failure, unbilled=free)
