"""Hooks and the rules source: told and asked, and never in the way."""

from __future__ import annotations

import asyncio
import itertools
import logging

import pytest
from support.reviewing import APPROVE, CONFIDENT, DRAFT, Listener

from draftcritic.core import NoOpObservabilityHook, Policy, Turn
from draftcritic.testing import ScriptedCriticModel


async def test_hooks_hear_what_is_sent_and_what_comes_back(review):
    first, second = Listener(), Listener()
    model = ScriptedCriticModel([APPROVE], name="m", usage={"input_tokens": 3, "output_tokens": 4})
    await review(DRAFT, model, hooks=[first, second])
    sent = [message.text for message in model.prompts[0]]
    output, usage = '{"verdict": "approve", "matched_preferences": []}', {"input_tokens": 3, "output_tokens": 4}
    assert first.heard == [("start", "m", sent, "run-1", True), ("end", "m", output, usage, "run-1", True)]
    assert second.heard == first.heard


class BrokenHook:
    async def on_llm_start(self, model, messages, run_id):
        messages.clear()
        raise RuntimeError("the hook is broken")

    on_llm_end = on_llm_start


async def test_a_hook_that_raises_is_logged_and_changes_nothing(review, caplog):
    listener = Listener()
    model = ScriptedCriticModel([APPROVE])
    result, observer = await review(DRAFT, model, hooks=[BrokenHook(), listener])
    assert (result.verdict, result.failure, observer.drops) == ("approve", None, [])
    assert (model.prompts[0][0].role, model.prompts[0][-1].role) == ("system", "user")
    assert [heard[0] for heard in listener.heard] == ["start", "end"]
    first, second = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert f"the hook {__name__}.BrokenHook failed in on_llm_start with RuntimeError at test_critic_" in first
    assert f"the hook {__name__}.BrokenHook failed in on_llm_end with TypeError at _hook_dispatch.py:" in second


async def test_a_hook_that_hangs_is_left_behind(review, monkeypatch, caplog):
    class Hangs(Listener):
        async def on_llm_start(self, model, messages, run_id):
            await asyncio.Event().wait()

    monkeypatch.setattr("draftcritic.review._hook_dispatch.HookDispatcher.__init__.__defaults__", (0.05,))
    listener = Listener()
    result, _ = await review(DRAFT, ScriptedCriticModel([APPROVE]), hooks=[Hangs(), listener])
    assert result.verdict == "approve"
    assert [heard[0] for heard in listener.heard] == ["start", "end"]
    assert "Hangs failed in on_llm_start with TimeoutError" in caplog.text


class Rules:
    def __init__(self, found):
        self.found = found
        self.asked: list[tuple[str, int]] = []

    async def retrieve(self, query, top_k):
        await asyncio.sleep(0)
        self.asked.append((query, top_k))
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


class Rule:
    def __init__(self, content):
        self.content = content


async def test_rules_come_from_the_source_by_the_labels_of_the_inference_paths(review):
    source = Rules([Rule("first rule"), "second rule", *(f"rule {n}" for n in range(3, 9))])
    policy = Policy(confidence_threshold=1.0, rules_source=source, rules=("never seen",))
    turn = Turn("x", activation={"inference_paths": [["b", "a"], ["b", "k"], list("jihgfedcl")]})
    model = ScriptedCriticModel([APPROVE])
    await review(turn, model, policy=policy)
    assert source.asked == [("a b c d e f g h i j", 5)]
    user = model.prompts[0][-1].text
    assert [rule for rule in ("- first rule", "- second rule", "- rule 3", "- rule 5", "- rule 6") if rule in user] == [
        "- first rule",
        "- second rule",
        "- rule 3",
        "- rule 5",
    ]
    assert "never seen" not in user


@pytest.mark.parametrize("paths", [None, [], [[]], "labels", 3])
async def test_without_labels_the_source_is_not_asked(review, paths):
    source = Rules(["a rule"])
    result, _ = await review(
        Turn("x", activation={"inference_paths": paths}),
        ScriptedCriticModel([APPROVE]),
        policy=Policy(rules_source=source),
    )
    assert (source.asked, result.verdict) == ([], "approve")


@pytest.mark.parametrize("found", [RuntimeError("down"), None, 3])
async def test_a_failing_source_means_no_rules(review, found, caplog):
    model = ScriptedCriticModel([APPROVE])
    policy = Policy(confidence_threshold=1.1, rules_source=Rules(found))
    result, observer = await review(CONFIDENT, model, policy=policy)
    assert (result.verdict, observer.drops) == ("approve", [])
    assert "(none)" in model.prompts[0][-1].text
    assert [r for r in caplog.records if r.levelno >= logging.INFO] == []


def endless():
    for number in itertools.count():
        assert number < 10, "more was taken than is needed"
        yield f"rule {number}"


async def endless_async():
    for number in itertools.count():
        assert number < 10, "more was taken than is needed"
        yield f"rule {number}"


class Endless:
    def __init__(self, make):
        self.make = make

    async def retrieve(self, query, top_k):
        return self.make()


class EndlessGenerator:
    async def retrieve(self, query, top_k):
        async for rule in endless_async():
            yield rule


class EndlessAndSlow:
    async def retrieve(self, query, top_k):
        while True:
            await asyncio.sleep(0.02)
            yield "rule"


@pytest.mark.parametrize("source", [Endless(endless), Endless(endless_async), EndlessGenerator()])
async def test_no_more_rules_are_taken_than_are_shown(review, source):
    model = ScriptedCriticModel([APPROVE])
    await review(CONFIDENT, model, policy=Policy(confidence_threshold=1.1, rules_source=source))
    shown = [line for line in model.prompts[0][-1].text.splitlines() if line.startswith("- rule")]
    assert [line.partition(" (#")[0] for line in shown] == [f"- rule {number}" for number in range(5)]


async def test_rules_that_never_come_end_with_the_timeout(review):
    model = ScriptedCriticModel([APPROVE])
    policy = Policy(confidence_threshold=1.1, rules_source=EndlessAndSlow(), timeout=0.05)
    result, _ = await review(CONFIDENT, model, policy=policy)
    assert result.verdict == "approve"
    assert "- rule" not in model.prompts[0][-1].text


class Repeating(NoOpObservabilityHook):
    async def on_llm_start(self, model, messages, run_id):
        raise ValueError(f"bad prompt: {messages}")


async def test_a_hook_that_raises_leaves_no_prompt_in_the_log(review, caplog):
    caplog.set_level(logging.DEBUG)
    await review(Turn("W-SECRET"), ScriptedCriticModel([APPROVE]), hooks=[Repeating()])
    assert "on_llm_start with ValueError at test_critic_listeners.py:" in caplog.text
    assert "W-SECRET" not in caplog.text
