"""`benchmarks/stages.py`: tiny sizes, real child processes; no test looks at how long anything took."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

INLINE, BACKGROUND = "ours, observe inline", "ours, observe"


@pytest.fixture(scope="module")
def result(run_script: Any) -> dict[str, Any]:
    done = run_script("stages.py", "--json", "--rounds", "1", "--calls", "4")
    assert (done.returncode, done.stderr) == (0, "")
    parsed: dict[str, Any] = json.loads(done.stdout)
    return parsed


@pytest.mark.e2e
class TestRun:
    def test_a_review_in_the_background_leaves_its_stages_to_the_worker(self, result: dict[str, Any]) -> None:
        sides = result["stages"][BACKGROUND]
        assert set(sides["caller"]) == {
            "the call is captured",
            "its place in the trace",
            "the draft is kept",
            "put into the queue",
            "runtime",
            "LangChain and the model",
        }
        assert {"the turn is built", "gate: fabrication", "SDK: span ended"} <= set(sides["worker"])

    @pytest.mark.parametrize("name", [INLINE, "ours, enforce"])
    def test_an_inline_review_runs_on_the_callers_thread(self, result: dict[str, Any], name: str) -> None:
        assert list(result["stages"][name]) == ["caller"]
        stages = result["stages"][name]["caller"]
        assert "put into the queue" not in stages
        # The counts are given to the SDK when it collects.
        assert stages["SDK: metric points"]["times"] == 2
        assert stages["gate: claims"]["times"] == 1

    def test_the_floor_writes_what_a_review_writes(self, result: dict[str, Any]) -> None:
        recorded = result["recorded"]
        assert (
            recorded["patch + all that ours writes"] == recorded[INLINE] == {"attributes": 19, "points": 4, "logs": 0}
        )
        assert recorded["patch + span + 3 points"] == {"attributes": 1, "points": 3, "logs": 0}

    def test_what_is_added_is_told_for_all(self, result: dict[str, Any]) -> None:
        assert next(iter(result["added"])) == "bare"
        assert result["added"]["bare"] == {"us": 0, "spread_us": 0}
        assert {INLINE, BACKGROUND, "ours, enforce", "official GenAI"} < set(result["added"])


@pytest.mark.e2e
def test_the_floor_has_the_attributes_of_a_review(benchmarks_path: None) -> None:
    from _children import Process
    from _variants import VARIANTS

    written = []
    for name in ("patch + all that ours writes", INLINE):
        process = Process(next(variant for variant in VARIANTS if variant.name == name))
        try:
            assert process.started() is None
            written.append(process.ask("recorded")["attributes"])
        finally:
            process.stop()
    assert written[0] == written[1]


def test_a_stage_is_timed_without_those_inside_it(benchmarks_path: None, monkeypatch: pytest.MonkeyPatch) -> None:
    import _stopwatch

    monkeypatch.setattr(_stopwatch.Stopwatch, "_own_cost", lambda self: (1.0, 2.0))
    now = iter([0, 100, 150, 400])
    monkeypatch.setattr(_stopwatch.time, "perf_counter_ns", lambda: next(now))
    watch = _stopwatch.Stopwatch()
    inner = watch.around("draftcritic._runtime:extract", lambda: 7)
    outer = watch.around("draftcritic.review._pipeline:Critic.review", lambda: inner() + 1)
    assert outer() == 8
    # The inner one ran from 100 to 150, the outer one from 0 to 400; a watch takes 1 inside and 2 around itself.
    assert watch.taken(1) == {
        "caller": {
            "the turn is built": {"us": pytest.approx(0.049), "times": 1},
            "sequence of the review": {"us": pytest.approx(0.347), "times": 1},
        },
        "worker": {},
    }
    assert watch.taken(1) == {"caller": {}, "worker": {}}


def test_what_another_thread_does_is_the_workers_and_what_raises_is_timed(benchmarks_path: None) -> None:
    from _stopwatch import Stopwatch

    watch = Stopwatch()
    failing = watch.around("draftcritic._runtime:extract", lambda: 1 / 0)

    def work() -> None:
        with pytest.raises(ZeroDivisionError):
            failing()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    found = watch.taken(2)
    assert found["caller"] == {}
    assert found["worker"]["the turn is built"]["times"] == 0.5


def test_a_stage_that_never_ran_and_a_floor_that_writes_less_are_said(benchmarks_path: None) -> None:
    import stages
    from _stopwatch import STAGES

    ran = {stage: {"us": 1.0, "times": 1.0} for stage in STAGES}
    lost = {stage: numbers for stage, numbers in ran.items() if stage not in {"gate: claims", "put into the queue"}}
    recorded = {"patch + all that ours writes": {"attributes": 18}, BACKGROUND: {"attributes": 19}}
    result = {"recorded": recorded, "stages": {BACKGROUND: {"caller": ran}, INLINE: {"caller": lost}}}
    assert list(stages._problems(result)) == [
        "the floor writes {'attributes': 18}, and a review {'attributes': 19}",
        "ours, observe inline: never ran: gate: claims",
    ]
