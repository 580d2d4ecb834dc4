from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace

import pytest

from draftcritic.core import Profile, activation_from_resolved, compute_confidence, detect_sensitive_hit
from draftcritic.core._confidence import measure_activation


def test_weighs_nodes_paths_and_edges():
    log = {
        "activated_nodes": [{"score": 0.9}, {"score": 0.7}],
        "inference_paths": [["a", "b"]],
        "traversed_edges": [{"weight": 2.0}, {"weight": 3.0}],
    }
    assert compute_confidence(log) == pytest.approx(0.4 * 0.8 + 0.3 / 3 + 0.3 * 0.5)


@pytest.mark.parametrize(
    "log", [None, {}, {"activated_nodes": []}, {"activated_nodes": None, "inference_paths": [["a"]]}]
)
def test_a_cold_start_is_exactly_one_half(log):
    assert measure_activation(log) == (0.5, False)


def test_parts_are_capped_and_the_sum_is_clamped():
    nodes = [{"score": 1.0}]
    assert compute_confidence({"activated_nodes": nodes, "inference_paths": [["a"]] * 9}) == pytest.approx(0.7)
    assert compute_confidence({"activated_nodes": nodes, "traversed_edges": [{"weight": 99}]}) == pytest.approx(0.7)
    assert compute_confidence({"activated_nodes": [{"score": 40}]}) == 1.0
    assert compute_confidence({"activated_nodes": [{"score": -40}]}) == 0.0


@pytest.mark.parametrize(
    "score", [None, "0.9", float("nan"), float("inf"), -float("inf"), 10**400, [], {}, b"1", Decimal("NaN")]
)
def test_what_is_no_finite_number_counts_as_missing_and_is_marked(score):
    assert measure_activation({"activated_nodes": [{"score": score}, {"score": 1.0}]}) == (pytest.approx(0.2), True)
    edges = {"activated_nodes": [{"score": 1.0}], "traversed_edges": [{"weight": score}]}
    assert measure_activation(edges) == (pytest.approx(0.4), True)


@pytest.mark.parametrize(
    ("log", "confidence"),
    [
        ({"activated_nodes": [{"score": 1.0}]}, 1.0),
        ({"activated_nodes": [{"score": 0.5}, {"score": 0.7}]}, 0.6),
        ({"activated_nodes": [{"score": 1.0}], "inference_paths": [["a"]]}, (0.4 + 0.1) / 0.7),
        ({"activated_nodes": [{"score": 1.0}], "traversed_edges": [{"weight": 5}]}, 1.0),
        ({"activated_nodes": [{"score": 1.0}], "traversed_edges": [{"weight": 0}]}, 0.4 / 0.7),
        (
            {"activated_nodes": [{"score": 0.8}], "inference_paths": [["a"]] * 3, "traversed_edges": [{"weight": 2.5}]},
            0.4 * 0.8 + 0.3 + 0.15,
        ),
        ({"inference_paths": [["a"]] * 3}, 0.5),
        (None, 0.5),
    ],
)
def test_parts_that_are_absent_do_not_lower_the_confidence_in_the_plugins_profile(log, confidence):
    assert compute_confidence(log, profile=Profile.DRAFTCRITIC) == pytest.approx(confidence)
    assert measure_activation(log, Profile.DRAFTCRITIC) == (pytest.approx(confidence), False)


@pytest.mark.parametrize("score", [1.01, 40, -0.01, -40, float("nan"), "0.9"])
def test_a_score_outside_of_0_to_1_is_invalid_in_the_plugins_profile(score):
    log = {"activated_nodes": [{"score": score}, {"score": 1.0}]}
    assert measure_activation(log, Profile.DRAFTCRITIC) == (0.5, True)
    edges = {"activated_nodes": [{"score": 1.0}], "traversed_edges": [{"weight": -1}, {"weight": 5}]}
    assert measure_activation(edges, Profile.DRAFTCRITIC) == (pytest.approx((0.4 + 0.15) / 0.7), True)


def test_a_missing_score_counts_as_zero_and_is_not_marked():
    assert measure_activation({"activated_nodes": [{}, {"score": 1.0}]}) == (pytest.approx(0.2), False)


def test_sums_beyond_the_range_of_floats_stay_numbers():
    huge = {"activated_nodes": [{"score": 1e308}] * 3, "traversed_edges": [{"weight": -1e308}] * 3}
    assert 0.0 <= compute_confidence(huge) <= 1.0


@pytest.mark.parametrize("field", ["activated_nodes", "inference_paths", "traversed_edges"])
@pytest.mark.parametrize("value", ["abc", 7, {"a": 1}])
def test_what_is_no_list_is_left_out_and_marked(field, value):
    log = {"activated_nodes": [{"score": 1.0}], field: value}
    expected = 0.5 if field == "activated_nodes" else pytest.approx(0.4)
    assert measure_activation(log) == (expected, True)


def test_nodes_may_be_objects():
    node = SimpleNamespace(score=1.0, tags=["pii"])
    assert compute_confidence({"activated_nodes": [node]}) == pytest.approx(0.4)
    assert detect_sensitive_hit({"activated_nodes": [node]}, {"pii"}) == "pii"


def test_the_first_sensitive_tag_wins_in_node_order_then_tag_order():
    log = {
        "activated_nodes": [
            {"tags": ["x", "b"]},
            {"properties": {"tags": ["a"]}},
        ]
    }
    assert detect_sensitive_hit(log, frozenset({"a", "b"})) == "b"
    assert detect_sensitive_hit(log, frozenset({"a"})) == "a"
    assert detect_sensitive_hit(log, frozenset({"c"})) is None
    assert detect_sensitive_hit(log, frozenset()) is None
    assert detect_sensitive_hit(None, frozenset({"a"})) is None


def test_a_single_string_is_one_tag():
    log = {"activated_nodes": [{"tags": "pii"}]}
    assert detect_sensitive_hit(log, {"pii"}) == "pii"
    assert detect_sensitive_hit(log, {"p", "i"}) is None
    assert detect_sensitive_hit({"activated_nodes": [{"tags": ["i"]}]}, "pii") is None


@pytest.mark.parametrize("tags", [[{"a": 1}, "pii"], [None, "pii"], [["pii"], "pii"]])
def test_odd_tags_are_passed_over(tags):
    assert detect_sensitive_hit({"activated_nodes": [None, {"properties": None}, {"tags": tags}]}, {"pii"}) == "pii"


def test_a_resolved_activation_becomes_a_log():
    resolved = SimpleNamespace(activated_nodes=[{"score": 1.0}], inference_paths=(["a"],), traversed_edges=None)
    log = {"activated_nodes": [{"score": 1.0}], "inference_paths": [["a"]], "traversed_edges": []}
    assert activation_from_resolved(resolved) == log
    assert activation_from_resolved(vars(resolved)) == log
    assert activation_from_resolved(None) == {}
    assert activation_from_resolved(object()) == {name: [] for name in log}
