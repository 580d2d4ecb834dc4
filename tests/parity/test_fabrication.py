"""The fabrication check of the reference and ours on the same turns."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip("symfonic.core", reason="the reference needs Python 3.11")

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from symfonic.agent.middleware import fabrication as reference
from symfonic.agent.middleware.fabrication_wiring import apply_fabrication_check as reference_check
from symfonic.agent.triage.intent import IntentVerdict
from symfonic.core.contracts.callbacks import FabricationDetectedEvent

from draftcritic.core import apply_fabrication_check, detect_fabrication

UUIDS = ["550e8400-e29b-41d4-a716-446655440000", "123e4567e89b12d3a456426614174000"]
VERBS = sorted(reference._VERB_TO_TOOL_HINTS)
HINTS = sorted({hint for hints in reference._VERB_TO_TOOL_HINTS.values() for hint in hints})
KEYS = sorted(reference._DEFAULT_IDENTIFIER_KEYS)

values = st.sampled_from(["9f2b1e47", "abcdef", "12345678", "A-17", "x", "deadbeefdeadbeef", *UUIDS])
pieces = st.one_of(
    st.sampled_from(["the", "job", ".", ", ", "\n", "is fine", "commit", "\u00e9", "\u0663", " " * 70, "y" * 50]),
    values,
    st.sampled_from(VERBS).map(lambda verb: f"I {verb}"),
    st.sampled_from(VERBS).map(lambda verb: f"i  {verb.upper()}"),
    st.tuples(
        st.sampled_from([*KEYS, "Task_ID", "colour", "iban"]),
        st.sampled_from(["=", ": ", " = ", ":\n", "\u00a0=\u2003"]),
        values,
    ).map("".join),
)
drafts = st.tuples(st.sampled_from([" ", ""]), st.lists(pieces, min_size=1, max_size=7)).map(
    lambda glued: ("a" + glued[0].join(glued[1])).strip()
)
names = st.one_of(
    st.sampled_from(["look_up", "Send_Email", "run_agent", "x"]), st.sampled_from(HINTS).map(lambda h: f"my_{h}_tool")
)
calls = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "name": names,
            "tool": names,
            "tool_name": names,
            "result": st.one_of(values, st.dictionaries(st.just("id"), values), st.none()),
            "output": values,
            "response": st.lists(values, max_size=2),
            "args": st.dictionaries(st.just("id"), values),
            "input": values,
        },
    ),
    max_size=3,
)
intents = st.one_of(
    st.none(),
    st.builds(IntentVerdict, st.sampled_from(["action", "knowledge", "ambiguous"]), st.floats(0, 1), st.just(["send"])),
)
turns = st.fixed_dictionaries(
    {
        "response_text": drafts,
        "tool_calls_this_turn": st.one_of(st.none(), calls),
        "hydrated_context": st.one_of(st.just(""), values),
        "user_message": st.one_of(st.just(""), values),
        "identifier_keys": st.sampled_from([None, [], ["IBAN"]]),
        "intent_verdict": intents,
    }
)


KINDS = {"uuid", "short_hex_near_key", "short_hex_near_verb", "kv", "verb_claim", "intent_action_no_tool"}


def plain(findings):
    """The findings of the kinds that the reference has."""
    return [
        (f.identifier, f.kind, f.severity, f.key, f.pattern_kind, f.confidence, f.span, f.grounded_sources)
        for f in findings
        if f.kind in KINDS
    ]


@settings(max_examples=500, deadline=None)
@given(turn=turns)
def test_findings_are_the_same(turn):
    assert plain(detect_fabrication(**turn)) == plain(reference.detect_fabrication(**turn))


@settings(max_examples=300, deadline=None)
@given(draft=st.text(max_size=80).map(str.strip), context=st.text(max_size=40))
def test_findings_in_any_text_are_the_same(draft, context):
    ours = detect_fabrication(draft, hydrated_context=context)
    assert plain(ours) == plain(reference.detect_fabrication(draft, hydrated_context=context))


@pytest.mark.parametrize("verb", VERBS)
def test_the_same_tools_fit_a_verb(verb):
    for hint in HINTS:
        call = [{"name": f"x{hint}x"}]
        ours = detect_fabrication(f"I {verb} it", call)
        assert plain(ours) == plain(reference.detect_fabrication(f"I {verb} it", call)), hint


class Listener:
    def __init__(self):
        self.events = []

    async def on_fabrication_detected(self, event):
        self.events.append(event)


class ReferenceListener(Listener):
    async def on_fabrication_detected(self, event: FabricationDetectedEvent):
        self.events.append(event)


@settings(max_examples=150, deadline=None)
@given(
    turn=turns,
    mode=st.sampled_from(["off", "observe", "revise", "refuse"]),
    threshold=st.sampled_from([0.6, 0.8, 0.9, 0.95, 1.0]),
)
def test_modes_and_events_are_the_same(turn, mode, threshold):
    import asyncio

    config = SimpleNamespace(fabrication_check_mode=mode, fabrication_refuse_min_confidence=threshold)
    ours, theirs = Listener(), ReferenceListener()
    outcome = asyncio.run(apply_fabrication_check(config=config, callbacks=[ours], run_id="r", **turn))
    expected = asyncio.run(reference_check(config=config, callbacks=[theirs], run_id="r", **turn))
    # What only ours finds leads further than the reference goes.
    assume(all(finding.kind in KINDS for finding in outcome.findings))
    assert plain(outcome.findings) == plain(expected.findings)
    assert outcome.forced_metacog_verdict == expected.forced_metacog_verdict
    assert (outcome.replacement_draft is None) == (expected.replacement_draft is None)
    assert outcome.emitted_event == expected.emitted_event
    assert len(ours.events) == len(theirs.events)
    for mine, other in zip(ours.events, theirs.events, strict=True):
        for name in (
            "run_id",
            "mode",
            "action_taken",
            "refuse_threshold",
            "max_finding_confidence",
            "preview_truncated",
            "original_draft_preview",
        ):
            assert getattr(mine, name) == getattr(other, name)
        without_reason = [[{k: v for k, v in f.items() if k != "reason"} for f in e.findings] for e in (mine, other)]
        assert without_reason[0] == without_reason[1]


def test_differs_a_uuid_is_compared_without_case_and_hyphens():
    given = UUIDS[0].replace("-", "").upper()
    assert [f.kind for f in reference.detect_fabrication(f"See {UUIDS[0]}", user_message=given)] == ["uuid"]
    assert detect_fabrication(f"See {UUIDS[0]}", user_message=given) == []


def test_differs_a_span_counts_from_the_beginning_of_the_draft():
    draft = "\n  pid=17"
    assert reference.detect_fabrication(draft)[0].span == (0, 6)
    assert detect_fabrication(draft)[0].span == (3, 9)


def test_differs_nothing_it_is_given_makes_it_raise():
    with pytest.raises(AttributeError):
        reference.detect_fabrication("pid=17", ["not a call"])
    assert [f.kind for f in detect_fabrication("pid=17", ["not a call"])] == ["kv"]
