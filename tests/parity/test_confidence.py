"""Confidence and sensitive hit of the reference and ours on the same activation logs."""

from __future__ import annotations

import pytest

pytest.importorskip("symfonic.core", reason="the reference needs Python 3.11")

from hypothesis import given, settings
from hypothesis import strategies as st
from symfonic.agent.middleware import confidence as reference

from draftcritic.core import compute_confidence, detect_sensitive_hit

numbers = st.one_of(st.floats(-20, 20), st.integers(-5, 20))
tags = st.sampled_from(["pii", "health", "money", "vip", ""])
tag_lists = st.one_of(st.none(), st.lists(tags, max_size=3))
nodes = st.fixed_dictionaries(
    {},
    optional={
        "score": numbers,
        "tags": tag_lists,
        "properties": st.fixed_dictionaries({}, optional={"tags": tag_lists}),
    },
)
edges = st.fixed_dictionaries({}, optional={"weight": numbers})
logs = st.fixed_dictionaries(
    {},
    optional={
        "activated_nodes": st.one_of(st.none(), st.lists(nodes, max_size=5)),
        "inference_paths": st.one_of(st.none(), st.lists(st.lists(tags, max_size=2), max_size=5)),
        "traversed_edges": st.one_of(st.none(), st.lists(edges, max_size=5)),
    },
)


@settings(max_examples=300, deadline=None)
@given(log=logs)
def test_confidence_is_the_same(log):
    assert compute_confidence(log) == reference.compute_confidence(log)


@settings(max_examples=300, deadline=None)
@given(log=logs, sensitive=st.frozensets(tags))
def test_sensitive_hit_is_the_same(log, sensitive):
    assert detect_sensitive_hit(log, sensitive) == reference.detect_sensitive_hit(log, sensitive)


def test_differs_a_single_string_is_one_tag():
    log = {"activated_nodes": [{"tags": "vip"}]}
    assert reference.detect_sensitive_hit(log, frozenset({"v", "vip"})) == "v"
    assert detect_sensitive_hit(log, frozenset({"v", "vip"})) == "vip"


@pytest.mark.parametrize("score", [None, "0.9"])
def test_differs_a_score_that_is_no_number_counts_as_missing(score):
    log = {"activated_nodes": [{"score": score}]}
    with pytest.raises(TypeError):
        reference.compute_confidence(log)
    assert compute_confidence(log) == 0.0


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_differs_nan_and_infinity_are_no_certainty(score):
    log = {"activated_nodes": [{"score": score}]}
    assert reference.compute_confidence(log) == 1.0
    assert compute_confidence(log) == 0.0
