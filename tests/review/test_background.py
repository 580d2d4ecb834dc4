"""The background runner: bounded, in order, per process, and never in the way."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draftcritic.review import BackgroundRunner, _background

LONG = 30.0


class Noted:
    def __init__(self):
        self.drops: list[str] = []
        self.depth = 0
        self.lock = threading.Lock()

    def changed(self, change: int) -> None:
        with self.lock:
            self.depth += change


def make(noted: Noted, **options) -> BackgroundRunner:
    return BackgroundRunner(**{"on_drop": noted.drops.append, "on_depth": noted.changed, **options})


def run(program: str) -> subprocess.CompletedProcess[str]:
    head = "import os, signal, sys, threading, time\nfrom draftcritic.review import BackgroundRunner\n"
    return subprocess.run(
        [sys.executable, "-c", head + program], capture_output=True, text=True, timeout=60, check=False
    )


def test_runs_jobs_in_the_order_they_came():
    noted, seen = Noted(), []
    runner = make(noted, workers=1)
    for number in range(100):
        assert runner.submit(lambda number=number: seen.append(number))
    assert runner.flush(LONG)
    assert seen == list(range(100))
    assert (noted.depth, noted.drops) == (0, [])
    assert runner.close(LONG)


def test_starts_no_thread_before_the_first_job_and_no_more_than_it_may():
    before = set(threading.enumerate())
    runner = make(Noted(), workers=2)
    assert set(threading.enumerate()) <= before
    release = threading.Event()
    for _ in range(6):
        runner.submit(release.wait)
    assert len(set(threading.enumerate()) - before) == 2
    release.set()
    assert runner.close(LONG)


@pytest.fixture
def nobody_is_interrupted():
    before = sys.getswitchinterval()
    sys.setswitchinterval(LONG)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("nobody_is_interrupted")
def test_the_application_comes_in_between_two_jobs():
    seen: list[int] = []
    runner = make(Noted(), workers=1)
    for number in range(10):
        runner.submit(lambda number=number: seen.append(number))
    while not seen:
        time.sleep(0)
    assert len(seen) < 10
    assert runner.flush(LONG)
    assert len(seen) == 10


@pytest.mark.usefixtures("nobody_is_interrupted")
def test_nothing_slows_down_what_somebody_waits_for_or_what_could_be_lost(monkeypatch):
    pauses: list[float] = []
    monkeypatch.setattr(_background.time, "sleep", pauses.append)
    runner = make(Noted(), workers=1, capacity=4)
    started, release = threading.Event(), threading.Event()
    runner.submit(lambda: (started.set(), release.wait()))
    assert started.wait(LONG)
    for _ in range(4):
        runner.submit(lambda: None)
    release.set()
    assert runner.flush(LONG)
    # The queue was full, then three quarters; flush waited for the rest.
    assert pauses == []


def test_a_full_queue_drops_and_counts_and_does_not_wait():
    noted, release, running = Noted(), threading.Event(), threading.Event()
    runner = make(noted, workers=1, capacity=2)
    runner.submit(lambda: (running.set(), release.wait()))
    assert running.wait(LONG)
    assert [runner.submit(lambda: None) for _ in range(4)] == [True, True, False, False]
    assert noted.drops == ["queue_full", "queue_full"]
    assert noted.depth == 2
    release.set()
    assert runner.close(LONG)
    assert noted.depth == 0


class ThreadPools:
    """Threads by number, each of which does what it is asked, one thing after the other."""

    def __init__(self):
        self.pools: dict[int, ThreadPoolExecutor] = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pool in self.pools.values():
            pool.shutdown()

    def ask(self, number: int, function):
        pool = self.pools.setdefault(number, ThreadPoolExecutor(1))
        return pool.submit(function).result(LONG)


def in_thread(function) -> None:
    thread = threading.Thread(target=function)
    thread.start()
    thread.join(LONG)


def blocked(noted: Noted, **options) -> tuple[BackgroundRunner, threading.Event]:
    """A runner whose one worker is busy until the event is set."""
    release, running = threading.Event(), threading.Event()
    runner = make(noted, workers=1, **options)
    runner.submit(lambda: (running.set(), release.wait()))
    assert running.wait(LONG)
    return runner, release


def test_threads_are_served_in_turn_and_each_in_its_order():
    noted, seen = Noted(), []
    runner, release = blocked(noted)
    for number in range(4):
        runner.submit(lambda number=number: seen.append(f"busy {number}"))
    in_thread(lambda: [runner.submit(lambda n=n: seen.append(f"other {n}")) for n in range(2)])
    release.set()
    assert runner.flush(LONG)
    assert seen == ["busy 0", "other 0", "busy 1", "other 1", "busy 2", "busy 3"]
    assert runner.close(LONG)


def test_a_full_queue_drops_the_newest_of_the_busiest_thread():
    noted, seen = Noted(), []
    runner, release = blocked(noted, capacity=3)
    for number in range(3):
        assert runner.submit(lambda number=number: seen.append(f"busy {number}"))
    taken = []
    in_thread(lambda: taken.extend(runner.submit(lambda n=n: seen.append(f"other {n}")) for n in range(3)))
    # The second one would leave its thread with more than the busy one has.
    assert taken == [True, False, False]
    assert noted.drops == ["queue_full"] * 3
    assert noted.depth == 3
    release.set()
    assert runner.flush(LONG)
    assert seen == ["busy 0", "other 0", "busy 1"]
    assert noted.depth == 0
    assert runner.close(LONG)


def test_a_job_need_not_be_made_that_a_full_queue_would_not_take():
    noted = Noted()
    runner, release = blocked(noted, capacity=3)
    asked = []
    for _ in range(5):
        asked.append(runner.would_reject())
        if not asked[-1]:
            assert runner.submit(int)
    assert asked == [False, False, False, True, True]
    assert noted.drops == ["queue_full"] * 2
    # Another thread has nothing waiting: the newest of the busy one makes room for its first job, and no other.
    in_thread(lambda: asked.extend([runner.would_reject(), not runner.submit(int), runner.would_reject()]))
    assert asked[5:] == [False, False, True]
    assert noted.drops == ["queue_full"] * 4
    assert noted.depth == 3
    release.set()
    assert runner.close(LONG)
    assert runner.would_reject()
    assert noted.drops == ["queue_full"] * 4 + ["shutdown"]


def test_a_queue_that_holds_all_its_memory_turns_away_whatever_comes():
    noted = Noted()
    runner, release = blocked(noted, capacity_bytes=100)
    assert runner.submit(int, size=lambda: 10_000)  # not weighed
    assert runner.submit(int, size=lambda: 100)
    assert not runner.would_reject()  # one without a size would be taken
    assert runner.submit(int)
    runner._held += 1
    assert runner.would_reject()
    assert not runner.submit(int)
    runner._held -= 1
    assert noted.drops == ["queue_full"] * 2
    release.set()
    assert runner.close(LONG)


class Rule:
    """What the documented rule does with jobs of these sizes, by thread."""

    def __init__(self, capacity: int, capacity_bytes: int):
        self.capacity, self.capacity_bytes = capacity, capacity_bytes
        self.lanes: dict[int, list[int]] = {}

    def takes(self, thread: int, size: int) -> bool:
        waiting = [each for lane in self.lanes.values() for each in lane]
        size = size if waiting else 0
        if self._is_full(len(waiting) + 1, sum(waiting) + size):
            busiest = max(self.lanes.values(), key=len, default=[])
            without = sum(waiting) - sum(busiest[-1:])
            if len(busiest) < len(self.lanes.get(thread, ())) + 2 or self._is_full(len(waiting), without + size):
                return False
            busiest.pop()
        self.lanes.setdefault(thread, []).append(size)
        return True

    def _is_full(self, jobs: int, held: int) -> bool:
        return jobs > self.capacity or (jobs > 1 and held > self.capacity_bytes)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 60)), max_size=40), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_the_queue_keeps_to_its_rule_and_turns_away_only_what_it_would_not_take(jobs, capacity):
    noted = Noted()
    runner, release = blocked(noted, capacity=capacity, capacity_bytes=100)
    rule = Rule(capacity, 100)
    with ThreadPools() as threads:
        for thread, size in jobs:
            away, taken = threads.ask(
                thread, lambda size=size: (runner.would_reject(), runner.submit(int, size=lambda: size))
            )
            assert taken == rule.takes(thread, size)
            assert not (away and taken)
            # Without a size, both say the same.
            if size == 0:
                assert away is not taken
    assert noted.depth == sum(map(len, rule.lanes.values()))
    release.set()
    assert runner.close(LONG)


def test_waiting_jobs_hold_no_more_memory_than_they_may():
    noted = Noted()
    runner, release = blocked(noted, capacity_bytes=100)
    assert runner.submit(int, size=lambda: 10_000)  # nobody else waits: it is not weighed
    assert [runner.submit(int, size=lambda: 40) for _ in range(3)] == [True, True, False]
    assert runner.submit(int, size=lambda: 20)
    assert noted.drops == ["queue_full"]
    release.set()
    assert runner.flush(LONG)
    assert [runner.submit(int, size=lambda: 10_000) for _ in range(1)] == [True]
    assert runner.close(LONG)
    assert noted.depth == 0


def test_no_job_is_weighed_while_nobody_waits():
    def fail() -> int:
        raise AssertionError

    runner = make(Noted())
    assert runner.submit(int, size=fail)
    assert runner.close(LONG)


def test_a_job_counts_once_whether_it_ends_before_close_or_after():
    noted, kept = Noted(), []
    late, ended = threading.Event(), threading.Event()
    runner = make(noted, workers=1)
    runner.submit(lambda: kept.append(runner.claim_result()))
    assert runner.flush(LONG)
    runner.submit(lambda: (late.wait(), kept.append(runner.claim_result()), ended.set()))
    assert not runner.close(0.05)
    assert noted.drops == ["shutdown"]
    late.set()
    assert ended.wait(LONG)
    assert kept == [True, False]
    assert not runner.claim_result()


def test_a_job_that_was_kept_is_not_lost_by_close_nor_by_a_late_fault():
    noted, late, kept = Noted(), threading.Event(), threading.Event()
    runner = make(noted, workers=1)

    def job():
        assert runner.claim_result()
        kept.set()
        late.wait()
        raise ValueError

    runner.submit(job)
    assert kept.wait(LONG)
    assert not runner.close(0.05)
    late.set()
    assert runner.flush(LONG)
    assert noted.drops == []


def test_a_failing_job_is_counted_and_the_next_one_runs(caplog):
    noted, seen = Noted(), []
    runner = make(noted, workers=1)

    def fail():
        raise KeyError("the draft")

    runner.submit(fail)
    runner.submit(lambda: seen.append(1))
    assert runner.flush(LONG)
    assert (seen, noted.drops) == ([1], ["error"])
    assert "KeyError" in caplog.text
    assert "the draft" not in "".join(r.getMessage() for r in caplog.records)
    runner.close(LONG)


@pytest.mark.parametrize("stop", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit()])
def test_what_would_end_a_jobs_thread_ends_only_the_job_and_says_little(stop, capfd):
    noted, seen, release = Noted(), [], threading.Event()
    runner = make(noted, workers=1)

    def leave():
        release.wait()
        raise stop

    runner.submit(leave)
    runner.submit(lambda: seen.append(1))
    release.set()
    assert runner.flush(LONG)
    assert (seen, noted.drops) == ([1], ["error"])
    runner.close(LONG)
    assert "Traceback" not in capfd.readouterr().err


def test_flush_waits_for_what_was_submitted_and_not_for_longer_than_it_may():
    runner, release = make(Noted(), workers=2), threading.Event()
    runner.submit(release.wait)
    runner.submit(lambda: None)
    assert not runner.flush(0.05)
    release.set()
    assert runner.flush(LONG)
    runner.close(LONG)


def test_close_drops_what_is_left_once_and_takes_nothing_more():
    noted, release, running = Noted(), threading.Event(), threading.Event()
    runner = make(noted, workers=1)
    runner.submit(lambda: (running.set(), release.wait()))
    assert running.wait(LONG)
    runner.submit(lambda: None)
    runner.submit(lambda: None)
    assert not runner.close(0.05)
    assert noted.drops == ["shutdown"] * 3
    assert noted.depth == 0
    assert not runner.submit(lambda: None)
    assert noted.drops == ["shutdown"] * 4
    assert not runner.close(LONG)
    assert noted.drops == ["shutdown"] * 4
    release.set()


def test_listeners_that_raise_change_nothing():
    def fail(_):
        raise ValueError

    seen: list[int] = []
    runner = BackgroundRunner(workers=1, on_drop=fail, on_depth=fail)
    assert runner.submit(lambda: seen.append(1))
    assert runner.close(LONG)
    assert not runner.submit(lambda: None)
    assert seen == [1]


def test_jobs_that_are_queued_at_exit_are_run():
    done = run("""
runner = BackgroundRunner(workers=1)
for n in range(20):
    runner.submit(lambda n=n: (time.sleep(0.01), print(n, flush=True)))
""")
    assert done.stdout.split() == [str(n) for n in range(20)]
    assert (done.stderr, done.returncode) == ("", 0)


def test_a_hanging_job_does_not_keep_the_process():
    done = run("""
drops = []
runner = BackgroundRunner(workers=1, shutdown_timeout=0.2, on_drop=lambda r: print(r, flush=True))
runner.submit(threading.Event().wait)
runner.submit(print)
""")
    assert done.stdout.split() == ["shutdown", "shutdown"]
    assert (done.stderr, done.returncode) == ("", 0)


def test_sigterm_that_becomes_system_exit_still_flushes():
    done = run("""
signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
runner = BackgroundRunner(workers=1)
runner.submit(lambda: (time.sleep(0.2), print("reviewed", flush=True)))
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(30)
""")
    assert (done.stdout, done.stderr, done.returncode) == ("reviewed\n", "", 3)


def test_a_submit_from_an_exit_handler_neither_raises_nor_hangs():
    done = run("""
import atexit
runner = BackgroundRunner(workers=1, on_drop=lambda r: None)
atexit.register(lambda: print(runner.submit(print) in (True, False), flush=True))
""")
    assert (done.stdout.split()[0], done.stderr, done.returncode) == ("True", "", 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_runs_its_own_jobs_and_not_the_parents():
    done = run("""
import warnings
warnings.simplefilter("ignore")
release = threading.Event()
depth = []
runner = BackgroundRunner(workers=1, on_depth=depth.append)
running = threading.Event()
runner.submit(lambda: (running.set(), release.wait()))
running.wait()
runner.submit(lambda: print("parent", flush=True))
child = os.fork()
if child == 0:
    before = sum(depth)
    runner.submit(lambda: print("child", flush=True))
    print("flushed", runner.flush(10), before, sum(depth), flush=True)
    sys.exit(0)
os.waitpid(child, 0)
release.set()
""")
    assert done.stdout.split("\n") == ["child", "flushed True 1 0", "parent", ""]
    assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_fork_while_another_thread_holds_the_lock_does_not_block_the_child():
    done = run("""
import warnings
warnings.simplefilter("ignore")
runner = BackgroundRunner(workers=1)
runner.submit(int)
runner.flush(10)
held, release = threading.Event(), threading.Event()
def hold():
    with runner._lock:
        held.set()
        release.wait()
threading.Thread(target=hold, daemon=True).start()
held.wait()
child = os.fork()
if child == 0:
    runner.submit(lambda: print("child", flush=True))
    runner.flush(10)
    os._exit(0)
os.waitpid(child, 0)
release.set()
""")
    assert (done.stdout, done.stderr, done.returncode) == ("child\n", "", 0)


RUNNERS: list[BackgroundRunner] = []


def _submit_and_leave(path: str) -> None:
    runner = RUNNERS[0] if RUNNERS else BackgroundRunner(workers=1)

    def write():
        with Path(path).open("a") as file:
            file.write("reviewed")

    RUNNERS.append(runner)
    runner.submit(lambda: (threading.Event().wait(0.1), write()))


@pytest.mark.parametrize("method", sorted({"spawn", "fork"} & set(multiprocessing.get_all_start_methods())))
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_multiprocessing_child_flushes_when_it_ends(method, tmp_path):
    path = tmp_path / "out"
    child = multiprocessing.get_context(method).Process(target=_submit_and_leave, args=(str(path),))
    child.start()
    child.join(LONG)
    assert child.exitcode == 0
    assert path.read_text() == "reviewed"


def test_a_signal_handler_may_submit_while_the_runner_is_busy():
    runner, seen = make(Noted(), workers=1), []
    old = signal.signal(signal.SIGUSR1, lambda *_: runner.submit(lambda: seen.append("signal")))
    try:
        with runner._lock:
            signal.raise_signal(signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, old)
    assert runner.close(LONG)
    assert seen == ["signal"]


def test_what_waits_has_its_time_before_an_exporter_that_was_set_up_late():
    program = """
import atexit, threading, time
from draftcritic.review import BackgroundRunner
runner, done = BackgroundRunner(workers=1, shutdown_timeout=30), []
runner.submit(int)
runner.flush(30)
atexit.register(lambda: print(done, flush=True))
for number in range(3):
    runner.submit(lambda number=number: (time.sleep(0.05), done.append(number)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("[0, 1, 2]\n", "", 0)


def test_the_end_of_a_process_takes_one_limit_in_all():
    program = """
import threading
from draftcritic.review import BackgroundRunner
runner = BackgroundRunner(workers=1, shutdown_timeout=0.2, on_drop=lambda reason: print(reason, runner._waited > 0.1))
runner.submit(threading.Event().wait)
runner.submit(int)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("shutdown True\n" * 2, "", 0)
