"""Parsing next to the reference, on the replies that both understand."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draftcritic.core._reply import parse_reflection_output

reference = pytest.importorskip("symfonic.agent.middleware.metacognitive")
peer = reference.MetacognitiveMiddleware._parse_reflection_output

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60).filter(str.strip)
OBJECTS = st.fixed_dictionaries(
    {"verdict": st.sampled_from(["approve", "revise", "refuse"])},
    optional={
        "revised_draft": TEXT | st.none(),
        "refusal_message": TEXT | st.none(),
        "matched_preferences": st.lists(TEXT, max_size=4) | st.none() | TEXT,
        "reason": TEXT,
        "score": st.floats() | st.integers(),
        "evidence": st.recursive(TEXT, lambda inner: st.lists(inner, max_size=3), max_leaves=5),
    },
)


@settings(max_examples=300, deadline=None)
@given(OBJECTS, st.sampled_from(["{}", "\n {} \n", "```json\n{}\n```", "```\n{}\n```"]), st.booleans())
def test_well_formed_replies_read_alike(fields, around, ascii_only):
    raw = around.replace("{}", json.dumps(fields, ensure_ascii=ascii_only))
    ours = parse_reflection_output(raw)
    assert ours == peer(raw)
    assert ours.failure is None


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60).filter(lambda text: "{" not in text))
def test_replies_without_an_object_approve_alike_and_ours_flags_them(raw):
    ours = parse_reflection_output(raw)
    assert ours == ("approve", None, [])
    assert ours.failure == "unparsable"
    assert peer(raw) == ours


@pytest.mark.parametrize(
    ("raw", "theirs", "ours", "failure"),
    [
        ('So: {"verdict": "refuse"}', "approve", "refuse", None),
        ('{"verdict": "REFUSE"}', "approve", "refuse", None),
        ('<think>hm</think>{"verdict": "refuse"}', "approve", "refuse", None),
        ('[{"verdict": "refuse"}]', "approve", "refuse", None),
        ('{"reason": "no verdict"}', "approve", "approve", "unparsable"),
        ('{"verdict": "refuse"', "approve", "approve", "unparsable"),
        ('{"verdict": "approve", "verdict": "refuse"}', "refuse", "approve", "ambiguous"),
    ],
)
def test_ours_differs(raw, theirs, ours, failure):
    assert peer(raw)[0] == theirs
    parsed = parse_reflection_output(raw)
    assert (parsed.verdict, parsed.failure) == (ours, failure)


@pytest.mark.parametrize(
    ("raw", "error"), [('{"a":' * 50_000, RecursionError), (f'{{"verdict": "refuse", "n": {"9" * 5_000}}}', ValueError)]
)
def test_what_breaks_the_reference_never_raises_here(raw, error):
    with pytest.raises(error):
        peer(raw)
    parse_reflection_output(raw)
