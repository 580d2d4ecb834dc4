"""How a review ended, and what became of the draft, where nobody gave a verdict."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.reviewing import APPROVE, CONFIDENT, DRAFT

from draftcritic.core import FabricationMode, GateReason, LimitRules, Mode, OnFailure, OnLimit, Policy, Turn, undecided
from draftcritic.review import Critic, Limiter
from draftcritic.testing import RecordingObserver, ScriptedCriticModel

MADE_UP = Turn("Your ticket is 3f2b8c1e-1111-4222-8333-444455556666.")
REFUSE = {"verdict": "refuse", "refusal_message": "No."}
REVISE = {"verdict": "revise", "revised_draft": "Soon."}
EXPOSED = replace(DRAFT, exposed=True)


class AuthenticationError(Exception):
    status_code = 401


@pytest.mark.parametrize("mode", [Mode.OBSERVE, Mode.ENFORCE])
async def test_a_rejected_key_gives_no_verdict(review, mode):
    result, _ = await review(DRAFT, ScriptedCriticModel([AuthenticationError()]), mode=mode)
    assert (result.verdict, result.source, result.outcome.kind, result.action) == (
        None,
        "none",
        "failed",
        "failed_open",
    )


async def test_a_finding_in_gate_mode_gives_no_verdict_unless_the_settings_let_it_decide(review):
    result, _ = await review(MADE_UP, ScriptedCriticModel([]), mode=Mode.GATE)
    assert (result.verdict, result.source, result.outcome.kind, result.action) == (
        None,
        "none",
        "gate_only",
        "recorded",
    )
    policy = Policy(fabrication_mode=FabricationMode.REFUSE)
    result, _ = await review(MADE_UP, ScriptedCriticModel([]), mode=Mode.GATE, policy=policy)
    assert (result.verdict, result.source, result.outcome.kind, result.action) == (
        "refuse",
        "fabrication",
        "judged",
        "recorded",
    )


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        (GateReason.DISABLED, "muted"),
        (GateReason.NESTED, "muted"),
        (GateReason.ABANDONED, "cancelled"),
        (GateReason.NOT_A_DRAFT, "skipped"),
        (GateReason.SAMPLED_OUT, "limited"),
        (GateReason.BUDGET, "limited"),
        (GateReason.CIRCUIT_OPEN, "limited"),
        (GateReason.QUEUE_FULL, "limited"),
    ],
)
def test_each_way_of_not_evaluating_has_an_outcome(reason, kind):
    assert (undecided(reason).kind, undecided(reason).verdict) == (kind, None)
    declined = Critic(Policy(), Mode.OBSERVE, RecordingObserver()).decline(DRAFT, reason)
    assert (declined.outcome.kind, declined.verdict, declined.action) == (kind, None, "recorded")


@pytest.mark.parametrize(
    ("answer", "turn", "mode", "action", "replacement"),
    [
        (REFUSE, DRAFT, Mode.ENFORCE, "blocked", "No."),
        (REVISE, DRAFT, Mode.ENFORCE, "replaced", "Soon."),
        (REFUSE, EXPOSED, Mode.ENFORCE, "exposed", "No."),
        (REVISE, EXPOSED, Mode.ENFORCE, "exposed", "Soon."),
        (REFUSE, replace(EXPOSED, streamed=True), Mode.ENFORCE, "exposed", None),
        (APPROVE, EXPOSED, Mode.ENFORCE, "passed", None),
        (REFUSE, EXPOSED, Mode.OBSERVE, "recorded", None),
    ],
)
async def test_what_the_client_had_read_is_exposed_and_not_blocked(review, answer, turn, mode, action, replacement):
    result, _ = await review(turn, ScriptedCriticModel([answer]), mode=mode)
    assert (result.action, result.replacement) == (action, replacement)


async def test_a_failure_that_closes_too_late_is_exposed(review):
    policy = Policy(on_failure=OnFailure.REFUSE)
    result, _ = await review(EXPOSED, ScriptedCriticModel([TimeoutError()]), mode=Mode.ENFORCE, policy=policy)
    assert (result.outcome.kind, result.action) == ("failed", "exposed")
    limited = Critic(
        Policy(on_limit=OnLimit.REFUSE), Mode.ENFORCE, RecordingObserver(), limits=Limiter(LimitRules(sample_rate=0))
    ).review(EXPOSED, ScriptedCriticModel([]))
    assert (limited.outcome.kind, limited.action) == ("limited", "exposed")


async def test_a_skipped_draft_has_an_outcome_of_its_own(review):
    result, _ = await review(CONFIDENT, ScriptedCriticModel([]), mode=Mode.ENFORCE)
    assert (result.verdict, result.outcome.kind, result.action) == (None, "skipped", "passed")
