"""`benchmarks/overhead.py`: tiny sizes, real child processes; no test looks at how long anything took."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

VARIANTS = ["bare", "ours, observe", "official GenAI"]
PATHS = ["invoke", "ainvoke", "stream"]
CALLS, ROUNDS, TURNS = 5, 2, 2
MADE = CALLS * (ROUNDS + 1) * len(PATHS) * TURNS
"""The first round warms up and is called, but not measured."""


@pytest.fixture(scope="module")
def result(run_script: Any) -> dict[str, Any]:
    done = run_script(
        "overhead.py", "--json", "--rounds", str(ROUNDS), "--calls", str(CALLS), "--heap-calls", "20", "--starts", "1",
        "--only", "ours, observe", "--only", "official GenAI",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    parsed: dict[str, Any] = json.loads(done.stdout)
    return parsed


@pytest.mark.e2e
class TestRun:
    def test_there_is_a_row_for_each_variant_path_and_turn(self, result: dict[str, Any]) -> None:
        assert [(row["path"], row["turn"], row["variant"]) for row in result["rows"]] == [
            (path, turn, variant) for path in PATHS for turn in ("short", "long") for variant in VARIANTS
        ]

    def test_every_call_was_made_and_gave_its_span(self, result: dict[str, Any]) -> None:
        counts = result["counts"]
        assert {name: count["drafts"] for name, count in counts.items()} == dict.fromkeys(VARIANTS, MADE)
        assert {name: count["spans"] for name, count in counts.items()} == {
            "bare": 0,
            "ours, observe": MADE,
            "official GenAI": MADE,
        }

    def test_reviews_and_drops_are_the_drafts_and_every_review_was_skipped(self, result: dict[str, Any]) -> None:
        ours = result["counts"]["ours, observe"]
        assert ours["decisions"] == {"trivial_ack": MADE}
        assert ours["dropped"] == {}
        assert result["problems"] == []

    def test_rows_hold_times_and_bare_adds_nothing_to_itself(self, result: dict[str, Any]) -> None:
        for row in result["rows"]:
            assert 0 < row["median_us"] <= row["p99_us"]
            assert row["process_cpu_us"] > 0
            assert "caller_cpu_us" in row
            if row["variant"] == "bare":
                assert {row[key] for key in row if key.startswith("added_")} == {0}

    def test_the_heap_is_given_for_each(self, result: dict[str, Any]) -> None:
        assert list(result["heap"]) == VARIANTS
        for numbers in result["heap"].values():
            assert {"first_bytes", "bytes", "objects"} <= set(numbers)
        assert "per_span" not in result["heap"]["bare"]
        assert result["heap"]["official GenAI"]["per_span"] > 100
        assert result["heap"]["ours, observe"]["per_span"] > 100

    def test_the_start_of_each_is_timed(self, result: dict[str, Any]) -> None:
        assert list(result["starts"]) == VARIANTS
        for numbers in result["starts"].values():
            assert numbers["first_call_ms"] > 0
        assert result["starts"]["bare"]["added_first_call_ms"] == 0
        assert result["starts"]["official GenAI"]["cpu_ms"] > 0

    def test_the_run_says_what_was_measured_with(self, result: dict[str, Any]) -> None:
        assert (result["rounds"], result["calls"], result["missing"]) == (ROUNDS, CALLS, {})
        assert result["packages"]["langchain-core"]


@pytest.mark.e2e
def test_the_tables_name_each_variant_and_what_was_counted(run_script: Any, tmp_path: Path) -> None:
    picture = tmp_path / "overhead.svg"
    done = run_script(
        "overhead.py", "--rounds", "1", "--calls", "3", "--heap-calls", "0", "--starts", "0", "--paced",
        "--only", "ours, enforce", "--paths", "invoke", "--turns", "short", "--plot", str(picture),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    paragraphs = done.stdout.split("\n\n")
    assert "1 rounds of 3 calls, paced" in paragraphs[0]
    measured, counted = (paragraph.splitlines() for paragraph in paragraphs[1:])
    assert measured[0] == "invoke, short turn: microseconds a call, and what is added to bare"
    assert measured[1].split("  ")[0] == "variant"
    assert [line.split("  ")[0] for line in measured[3:]] == ["bare", "ours, enforce"]
    # No reference was measured.
    assert measured[4].split()[5] == "-"
    assert counted[-1].split() == ["ours,", "enforce", "trivial_ack", "6", "6", "1.00", "6", "0"]
    texts = [text.text for text in ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}text")]
    assert {"invoke, short turn", "ours, enforce"} <= set(texts)


@pytest.mark.e2e
def test_a_child_that_dies_is_named_with_what_it_said(benchmarks_path: None) -> None:
    from _children import ChildError, Process
    from _variants import VARIANTS as KNOWN

    process = Process(KNOWN[0])
    try:
        assert process.started() is None
        with pytest.raises(ChildError, match=r"(?s)'bare' ended with exit code 1:.*KeyError: 'dance'"):
            process.ask("dance")
    finally:
        process.stop()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--calls", "0"], "must be from 1 to 1000"),
        (["--calls", "1001"], "must be from 1 to 1000"),
        (["--heap-calls", "-1"], "must not be negative"),
        (["--only", "unknown"], "invalid choice: 'unknown'"),
    ],
)
def test_a_wrong_option_is_refused(run_script: Any, arguments: list[str], message: str) -> None:
    done: subprocess.CompletedProcess[str] = run_script("overhead.py", *arguments)
    assert done.returncode == 2
    assert message in done.stderr


def batch(variant: str, number: int, median: float, cpu: float = 1.0) -> dict[str, Any]:
    return {
        "variant": variant,
        "path": "invoke",
        "turn": "short",
        "round": number,
        "median_us": median,
        "p99_us": 2 * median,
        "caller_cpu_us": cpu,
        "process_cpu_us": 3 * cpu,
    }


def test_what_is_added_is_measured_against_the_same_round(benchmarks_path: None) -> None:
    from _report import summarise

    batches = [
        *(batch("bare", 1, 100), batch("ours, gate", 1, 150, cpu=4), batch("official GenAI", 1, 300)),
        # The machine is slower, for all alike.
        *(batch("bare", 2, 1000), batch("ours, gate", 2, 1040, cpu=6), batch("official GenAI", 2, 1200)),
        *(batch("bare", 3, 100), batch("ours, gate", 3, 160, cpu=8), batch("official GenAI", 3, 310)),
    ]
    bare, ours, official = summarise(batches, ["bare", "ours, gate", "official GenAI"], ["invoke"], ["short"])
    assert (bare["added_median_us"], bare["ratio"]) == (0, 0)
    assert (ours["median_us"], ours["added_median_us"], ours["spread_us"]) == (160, 50, 10)
    assert (ours["added_p99_us"], ours["added_caller_cpu_us"], ours["added_process_cpu_us"]) == (100, 5, 15)
    assert (official["added_median_us"], official["ratio"]) == (200, 1)
    assert ours["ratio"] == 0.25


def test_without_the_reference_there_is_no_ratio(benchmarks_path: None) -> None:
    from _report import summarise

    rows = summarise(
        [batch("bare", 1, 100), batch("ours, gate", 1, 150)], ["bare", "ours, gate"], ["invoke"], ["short"]
    )
    assert [row["ratio"] for row in rows] == [None, None]


@pytest.mark.parametrize(
    ("name", "counts", "said"),
    [
        ("ours, gate", {"spans": 10, "decisions": {"trivial_ack": 10}, "dropped": {}}, []),
        (
            "ours, observe",
            {"spans": 10, "decisions": {"trivial_ack": 7, "queue_full": 3}, "dropped": {"queue_full": 3}},
            ["not every review was skipped as an acknowledgement: {'queue_full': 3}"],
        ),
        (
            "ours, observe",
            {"spans": 10, "decisions": {"trivial_ack": 8}, "dropped": {"shutdown": 1}},
            ["8 reviews + 1 drops are not 10 drafts"],
        ),
        ("bare patch", {"spans": 1, "decisions": {}, "dropped": {}}, ["1 spans for 10 calls, 0 for each expected"]),
        ("OpenLLMetry", {"spans": 10, "decisions": {}, "dropped": {}}, []),
        ("OpenLLMetry", {"spans": 9, "decisions": {}, "dropped": {}}, ["9 spans for 10 calls: it is not switched on"]),
    ],
)
def test_counts_that_do_not_add_up_are_named(
    benchmarks_path: None, name: str, counts: dict[str, Any], said: list[str]
) -> None:
    from _report import problems
    from _variants import VARIANTS as KNOWN

    variant = next(variant for variant in KNOWN if variant.name == name)
    assert list(problems(variant, {"drafts": 10, **counts})) == [f"{name}: {text}" for text in said]


def test_the_medians_of_starts_are_compared_with_bare(benchmarks_path: None) -> None:
    from _report import starts

    def start(cpu: float, first: float) -> dict[str, float]:
        return {"wall_ms": 2 * cpu, "cpu_ms": cpu, "first_call_ms": first}

    found = starts(
        {
            "bare": [start(0, 7), start(0, 9), start(0, 100)],
            "ours, gate": [start(40, 10), start(50, 20), start(60, 30)],
        }
    )
    assert found["ours, gate"] == {"wall_ms": 100, "cpu_ms": 50, "first_call_ms": 20, "added_first_call_ms": 11}
    assert found["bare"]["added_first_call_ms"] == 0
    assert starts({"bare": []}) == {}


def drawn(rows: list[dict[str, Any]]) -> ElementTree.Element:
    from _plot import plot

    packages = {"langchain-core": "1.8.3"}
    setting = {"python": "3.11.7", "machine": "m", "rounds": 3, "calls": 9, "packages": packages}
    return ElementTree.fromstring(plot({**setting, "rows": rows}))


def test_the_longest_bar_fills_its_room_and_the_others_keep_their_share(benchmarks_path: None) -> None:
    places = [("invoke", "short"), ("stream", "long")]
    rows = [
        {"variant": name, "path": path, "turn": turn, "added_median_us": added, "spread_us": 0.0, "ratio": ratio}
        for path, turn in places
        for name, added, ratio in (("bare", 0.0, 0.0), ("ours, gate", 50.0, 0.25), ("official GenAI", 200.0, 1.0))
    ]
    picture = drawn(rows)
    bars = [float(bar.attrib["width"]) for bar in picture.iter("{http://www.w3.org/2000/svg}rect")][-4:]
    assert bars == [67.5, 270, 67.5, 270]
    texts = [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("50 (0.25)") == 2
    assert "stream, long turn" in texts
    assert "bare" not in texts


def test_a_quantile_is_a_value_that_occurred(benchmarks_path: None) -> None:
    from _text import quantile

    values = [float(value) for value in range(100, 0, -1)]
    assert [quantile(values, share) for share in (0.0, 0.5, 0.99, 1.0)] == [1, 50, 99, 100]
    assert quantile([7.0], 0.99) == 7
    assert str(quantile([], 0.5)) == "nan"
