"""Runs reviews in the background: a bounded queue and few daemon threads, per process."""

from __future__ import annotations

import atexit
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from draftcritic.core._exception_place import described
from draftcritic.review._calls import own_thread
from draftcritic.review._lifecycle import after_fork, at_exit, when_main_thread_ends

Job = Callable[[], object]

QUEUE_FULL = "queue_full"
SHUTDOWN = "shutdown"
ERROR = "error"

_PAUSE = 0.001
"""Seconds between two jobs of a thread. Without them it would hold Python's lock for the whole switch interval of 5 ms
again and again, and callers would wait for it."""

_logger = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class _Waiting:
    """A job in the queue, or the one that a thread runs."""

    number: int
    job: Job
    size: int = 0
    counted: bool = False
    """It is lost, or will be recorded: either is settled once."""


class BackgroundRunner:
    """Runs jobs in daemon threads that start with the first one.

    The threads that submit are served in turn, and each one's jobs in their order, so that none waits for what a busy
    one has piled up. A full queue drops the newest job of the thread that has most waiting: that is the new job itself
    unless its thread has at least two fewer. Nothing here ever blocks, except `flush` and `close`, which do so within
    a limit. A forked child starts with an empty queue of its own; what the parent had queued stays the parent's. At the
    end of the process, the jobs that are left get `shutdown_timeout` seconds.

    Args:
        workers: threads at most.
        capacity: jobs that may wait at most.
        capacity_bytes: memory that waiting jobs may hold, as far as they say their size. A single job may hold any.
        shutdown_timeout: seconds that `close` waits for jobs.
        on_drop: called with the reason of each lost job: `queue_full`, `shutdown`, or `error` when it raised.
        on_depth: called with how much the number of waiting jobs has changed.
    """

    def __init__(
        self,
        *,
        workers: int = 2,
        capacity: int = 1024,
        capacity_bytes: int = 64 * 2**20,
        shutdown_timeout: float = 5.0,
        on_drop: Callable[[str], None] | None = None,
        on_depth: Callable[[int], None] | None = None,
    ) -> None:
        self._max_workers = workers
        self._capacity = capacity
        self._capacity_bytes = capacity_bytes
        self._shutdown_timeout = shutdown_timeout
        self._on_drop = on_drop
        self._on_depth = on_depth
        self._closed = False
        self._inherited_depth = 0
        self._depth = 0
        self._reset_state()
        after_fork(self._in_child)

    def _in_child(self) -> None:
        self._inherited_depth += self._depth
        self._reset_state()

    def _reset_state(self) -> None:
        # Reentrant: a signal handler of the application may submit while this thread does.
        self._lock = threading.RLock()
        self._work = threading.Condition(self._lock)
        self._ended = threading.Condition(self._lock)
        self._lanes: dict[int, deque[_Waiting]] = {}
        self._longest = 0
        """No lane is longer; those that a full queue turns away need not look at each."""
        self._depth = 0
        self._held = 0
        self._running: dict[int, _Waiting] = {}
        self._threads = 0
        self._idle = 0
        self._submitted = 0
        self._flushing = 0
        self._armed = False
        self._waited = 0.0
        self._waited_for = 0

    def submit(self, job: Job, *, size: Callable[[], int] | None = None) -> bool:
        """Queue a job, and say whether it was taken. Never blocks and never raises.

        Args:
            job: what to run.
            size: returns how many bytes the job keeps while it waits; asked only when others wait already.
        """
        waiting = _Waiting(0, job, size() if size is not None and self._depth else 0)
        displaced = None
        with self._lock:
            busiest, refused = self._place_for(waiting.size)
            if refused is None and not self._ensure_worker():
                refused = ERROR
            if refused is None:
                displaced = None if busiest is None else self._displaced(busiest)
                self._submitted += 1
                waiting.number = self._submitted
                self._put(waiting)
                self._work.notify()
            inherited, self._inherited_depth = self._inherited_depth, 0
        if refused is not None:
            self._tell(self._on_drop, refused)
            return False
        if displaced is not None:
            self._tell(self._on_drop, QUEUE_FULL)
        self._tell(self._on_depth, 1 - inherited - (displaced is not None))
        return True

    def would_reject(self) -> bool:
        """Whether a job of this thread would not be taken now, whatever its size; it is counted as lost then.

        To be asked before a job is made: those that are lost need not be made.
        """
        if self._depth < self._capacity and self._held <= self._capacity_bytes and not self._closed:
            return False  # looked at without the lock: `submit` has the last word
        with self._lock:
            _, refused = self._place_for(0)
        if refused is None:
            return False
        self._tell(self._on_drop, refused)
        return True

    def claim_result(self) -> bool:
        """Whether the job that this thread runs still counts: False when it was counted already, as lost by `close`.

        True is said once, and after it the job is not counted as lost any more.
        """
        with self._lock:
            running = self._running.get(threading.get_ident())
            if running is None or running.counted:
                return False
            running.counted = True
            return True

    def _place_for(self, size: int) -> tuple[deque[_Waiting] | None, str | None]:
        """Return the lane whose newest job has to go for one more of this thread, and why that cannot be taken."""
        if self._closed:
            return None, SHUTDOWN
        if not self._is_full(1, size):
            return None, None
        enough = len(self._lanes.get(threading.get_ident(), ())) + 2
        if self._longest < enough:
            return None, QUEUE_FULL
        busiest = max(self._lanes.values(), key=len)
        self._longest = len(busiest)
        if self._longest < enough or self._is_full(0, size - busiest[-1].size):
            return None, QUEUE_FULL
        return busiest, None

    def _ensure_worker(self) -> bool:
        """Start a worker thread if one is needed and allowed. Return whether any runs."""
        if not self._armed:
            self._armed = True
            at_exit(self.close)
            when_main_thread_ends(self._main_thread_ends)
        if self._idle <= self._depth and self._threads < self._max_workers:
            self._start_thread()
        return self._threads > 0

    def _is_full(self, more: int, size: int) -> bool:
        depth = self._depth + more
        return depth > self._capacity or (depth > 1 and self._held + size > self._capacity_bytes)

    def _displaced(self, lane: deque[_Waiting]) -> _Waiting:
        displaced = lane.pop()
        self._depth -= 1
        self._held -= displaced.size
        self._ended.notify_all()
        return displaced

    def _put(self, waiting: _Waiting) -> None:
        lane = self._lanes.setdefault(threading.get_ident(), deque())
        lane.append(waiting)
        self._longest = max(self._longest, len(lane))
        self._depth += 1
        self._held += waiting.size

    def _take(self) -> _Waiting:
        """Take the oldest job of the thread whose turn it is, and move that thread to the end."""
        thread = next(iter(self._lanes))
        lane = self._lanes.pop(thread)
        waiting = lane.popleft()
        if lane:
            self._lanes[thread] = lane
        self._depth -= 1
        self._held -= waiting.size
        return waiting

    def _main_thread_ends(self) -> None:
        began = time.monotonic()
        if self._threads and not self._closed:
            self.flush(max(0.0, self._shutdown_timeout - self._waited_already()))
            self._waited += time.monotonic() - began
            self._waited_for = self._submitted

    def _waited_already(self) -> float:
        """Return the seconds that the end of the main thread has waited for the jobs that are still the newest."""
        return self._waited if self._waited_for == self._submitted else 0.0

    def _start_thread(self) -> None:
        thread = threading.Thread(target=self._serve, name="draftcritic-review", daemon=True)
        self._threads += 1
        try:
            thread.start()
        except RuntimeError:  # no more threads, or the interpreter is ending
            self._threads -= 1

    def _serve(self) -> None:
        lock = self._lock
        own_thread()
        try:
            while True:
                with lock:
                    if lock is not self._lock:
                        return  # the job forked, and this is the child
                    self._idle += 1
                    while not self._depth and not self._closed:
                        self._work.wait()
                    self._idle -= 1
                    if not self._depth:
                        return
                    waiting = self._take()
                    self._running[threading.get_ident()] = waiting
                self._tell(self._on_depth, -1)
                self._run(waiting.job)
                del waiting
                if not self._in_a_hurry():
                    time.sleep(_PAUSE)
        finally:
            if lock is self._lock:
                self._thread_ended()

    def _in_a_hurry(self) -> bool:
        """Whether somebody waits for the jobs, or the queue could overflow."""
        return self._closed or self._flushing > 0 or 2 * self._depth > self._capacity

    def _thread_ended(self) -> None:
        with self._lock:
            self._threads -= 1
            if self._depth and not self._threads:
                self._start_thread()

    def _run(self, job: Job) -> None:
        try:
            job()
        except BaseException as error:  # what it raises to end its thread, too, ends only the job
            _logger.warning("a background job failed with %s", described(error))
            if self.claim_result():
                self._tell(self._on_drop, ERROR)
        finally:
            with self._lock:
                self._running.pop(threading.get_ident(), None)
                self._ended.notify_all()

    def flush(self, timeout: float) -> bool:
        """Wait until every job submitted so far has ended, and say whether it has within `timeout` seconds."""
        deadline = time.monotonic() + timeout
        with self._lock:
            last = self._submitted
            self._flushing += 1
            try:
                while self._oldest() <= last:
                    left = deadline - time.monotonic()
                    if left <= 0:
                        return False
                    self._ended.wait(left)
            finally:
                self._flushing -= 1
            return True

    def _oldest(self) -> float:
        waiting = min((lane[0].number for lane in self._lanes.values()), default=math.inf)
        return min(waiting, min((running.number for running in self._running.values()), default=math.inf))

    def close(self, timeout: float | None = None) -> bool:
        """Take no more jobs, let those that are left end within the limit, and drop the rest.

        A second call waits for nothing.

        Args:
            timeout: seconds, in place of `shutdown_timeout`.

        Returns:
            whether all jobs have ended.
        """
        with self._lock:
            again, self._closed = self._closed, True
            self._work.notify_all()
        if again:
            return self.flush(0)
        left = max(0.0, self._shutdown_timeout - self._waited_already())
        done = self.flush(left if timeout is None else timeout)
        with self._lock:
            waiting = self._depth
            uncounted = [running for running in self._running.values() if not running.counted]
            for running in uncounted:
                running.counted = True
            self._lanes.clear()
            self._depth = self._held = self._longest = 0
            self._ended.notify_all()
        atexit.unregister(self.close)
        if waiting:
            self._tell(self._on_depth, -waiting)
        for _ in range(waiting + len(uncounted)):
            self._tell(self._on_drop, SHUTDOWN)
        return done

    @staticmethod
    def _tell(listener: Callable[..., object] | None, *values: object) -> None:
        if listener is None:
            return
        try:
            listener(*values)
        except Exception as error:
            _logger.debug("a listener of the background runner failed with %s", described(error))
