from __future__ import annotations

import dataclasses
import subprocess
import sys
from types import SimpleNamespace

import pytest

from draftcritic.core import (
    FabricationDetectedEvent,
    FabricationFinding,
    FabricationMode,
    apply_fabrication_check,
    decide_fabrication,
)

WEAK = FabricationFinding("x", "short_hex_near_key", "high", "r", confidence=0.6)
SURE = FabricationFinding("y", "uuid", "high", "r", confidence=0.95)


class Listener:
    def __init__(self):
        self.events = []

    async def on_fabrication_detected(self, event):
        self.events.append(event)


class SyncListener(Listener):
    def on_fabrication_detected(self, event):
        self.events.append(event)


class Raising(Listener):
    async def on_fabrication_detected(self, event):
        raise RuntimeError("listener is broken")


async def check(mode, draft="pid=17", callbacks=None, **config):
    return await apply_fabrication_check(
        config=SimpleNamespace(fabrication_check_mode=mode, **config),
        response_text=draft,
        tool_calls_this_turn=None,
        hydrated_context="",
        user_message="",
        identifier_keys=None,
        callbacks=callbacks,
        run_id="r1",
    )


@pytest.mark.parametrize(
    ("findings", "mode", "threshold", "expected"),
    [
        ((SURE,), FabricationMode.OBSERVE, 0.8, ("observed", None, False)),
        ((WEAK,), FabricationMode.REVISE, 0.8, ("revise_forced", "revise", False)),
        ((), FabricationMode.REVISE, 0.8, ("observed", None, False)),
        ((WEAK,), FabricationMode.REFUSE, 0.8, ("observed", None, False)),
        ((WEAK,), FabricationMode.REFUSE, 0.6, ("refuse_replaced", None, True)),
        ((WEAK, SURE), FabricationMode.REFUSE, 0.95, ("refuse_replaced", None, True)),
        ((), FabricationMode.REFUSE, 0.0, ("observed", None, False)),
    ],
)
def test_the_decision_by_mode(findings, mode, threshold, expected):
    decision = decide_fabrication(findings, mode, threshold)
    assert (decision.action_taken, decision.forced_verdict, decision.replacement is not None) == expected


async def test_off_and_a_missing_mode_do_nothing():
    listener = Listener()
    for outcome in (
        await check("off", callbacks=[listener]),
        await check(None, callbacks=[listener]),
        await check("observe", draft="", callbacks=[listener]),
        await check("refuse", draft="All fine", callbacks=[listener]),
    ):
        assert dataclasses.astuple(outcome) == ([], None, None, False)
    assert listener.events == []


async def test_observe_only_notifies():
    listener = Listener()
    outcome = await check("observe", callbacks=[object(), listener])
    assert [f.kind for f in outcome.findings] == ["kv"]
    assert (outcome.replacement_draft, outcome.forced_metacog_verdict, outcome.emitted_event) == (None, None, True)
    assert listener.events == [
        FabricationDetectedEvent(
            run_id="r1",
            mode="observe",
            action_taken="observed",
            findings=[outcome.findings[0].to_event_payload()],
            refuse_threshold=0.8,
            max_finding_confidence=0.8,
            original_draft_preview="pid=17",
            replacement_preview=None,
            preview_truncated=False,
        )
    ]


async def test_revise_forces_the_verdict():
    outcome = await check("revise")
    assert (outcome.forced_metacog_verdict, outcome.replacement_draft, outcome.emitted_event) == ("revise", None, False)


async def test_refuse_replaces_from_the_threshold_on():
    listener = SyncListener()
    outcome = await check("refuse", draft="pid=17 " + "x" * 300, callbacks=[listener])
    assert outcome.replacement_draft
    assert "pid" not in outcome.replacement_draft
    (event,) = listener.events
    assert (event.action_taken, event.preview_truncated, len(event.original_draft_preview)) == (
        "refuse_replaced",
        True,
        240,
    )
    assert event.replacement_preview == outcome.replacement_draft[:240]
    assert (await check("refuse", fabrication_refuse_min_confidence=0.81)).replacement_draft is None


async def test_a_listener_that_raises_is_logged_and_the_others_are_notified(caplog):
    listener = Listener()
    outcome = await check("refuse", callbacks=[Raising(), listener])
    assert outcome.replacement_draft is not None
    assert outcome.emitted_event is True
    assert len(listener.events) == 1
    assert "Raising raised in on_fabrication_detected: RuntimeError at test_fabrication_wiring.py:" in caplog.text
    assert "listener is broken" not in caplog.text


@pytest.mark.parametrize("threshold", [None, "high", float("nan")])
async def test_an_invalid_threshold_falls_back_to_the_default(threshold):
    assert (await check("refuse", fabrication_refuse_min_confidence=threshold)).replacement_draft is not None


async def test_an_unknown_mode_observes():
    outcome = await check("shout")
    assert (len(outcome.findings), outcome.replacement_draft, outcome.forced_metacog_verdict) == (1, None, None)


def test_the_grounding_room_can_be_imported_first():
    result = subprocess.run(
        [sys.executable, "-c", "import draftcritic.grounding"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
