"""Runs reviews beside the application: a bounded queue and few daemon threads, per process."""

from __future__ import annotations

import atexit
import logging
import math
import os
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable

from draftcritic.engine._failures import qualified_name

Job = Callable[[], object]

QUEUE_FULL = "queue_full"
SHUTDOWN = "shutdown"
ERROR = "error"

_MULTIPROCESSING_PRIORITY = 100
"""Before the finalizers of queues and pools, which have 10 and 15."""

_logger = logging.getLogger(__name__)


class BackgroundRunner:
    """Runs jobs in the order they came, in daemon threads that start with the first one.

    A full queue drops, and nothing here ever blocks, except `flush` and `close`, which do so within a limit. A forked
    child starts with an empty queue of its own; what the parent had queued stays the parent's. At the end of the
    process, the jobs that are left get `shutdown_timeout` seconds.

    Args:
        workers: threads at most.
        capacity: jobs that may wait at most.
        shutdown_timeout: seconds that `close` waits for jobs.
        on_drop: told the reason of each lost job: `queue_full`, `shutdown`, or `error` when it raised.
        on_depth: told by how much the number of waiting jobs has changed.
    """

    def __init__(
        self,
        *,
        workers: int = 2,
        capacity: int = 1024,
        shutdown_timeout: float = 5.0,
        on_drop: Callable[[str], None] | None = None,
        on_depth: Callable[[int], None] | None = None,
    ) -> None:
        self._max_workers = workers
        self._capacity = capacity
        self._shutdown_timeout = shutdown_timeout
        self._on_drop = on_drop
        self._on_depth = on_depth
        self._closed = False
        self._inherited_depth = 0
        self._start_afresh()
        if hasattr(os, "register_at_fork"):
            reference = weakref.ref(self)

            def in_child() -> None:
                runner = reference()
                if runner is not None:
                    runner._inherited_depth += len(runner._queue)
                    runner._start_afresh()

            os.register_at_fork(after_in_child=in_child)

    def _start_afresh(self) -> None:
        # Reentrant: a signal handler of the application may submit while this thread does.
        self._lock = threading.RLock()
        self._work = threading.Condition(self._lock)
        self._ended = threading.Condition(self._lock)
        self._queue: deque[tuple[int, Job]] = deque()
        self._running: dict[int, int] = {}
        self._threads = 0
        self._idle = 0
        self._submitted = 0
        self._armed = False

    def submit(self, job: Job) -> bool:
        """Queue a job, and say whether it was taken. Never blocks and never raises."""
        with self._lock:
            refused = self._refusal()
            if refused is None:
                self._submitted += 1
                self._queue.append((self._submitted, job))
                self._work.notify()
            inherited, self._inherited_depth = self._inherited_depth, 0
        if refused is not None:
            self._tell(self._on_drop, refused)
            return False
        self._tell(self._on_depth, 1 - inherited)
        return True

    def _refusal(self) -> str | None:
        """Make ready for one more job, or say why it cannot be taken. Call with the lock held."""
        if self._closed:
            return SHUTDOWN
        if len(self._queue) >= self._capacity:
            return QUEUE_FULL
        if not self._armed:
            self._arm()
        if self._idle <= len(self._queue) and self._threads < self._max_workers:
            self._start_thread()
        return None if self._threads else ERROR

    def _arm(self) -> None:
        """Have `close` run when this process ends, before what was registered earlier, such as exporters."""
        self._armed = True
        atexit.unregister(self.close)
        atexit.register(self.close)
        multiprocessing = sys.modules.get("multiprocessing.process")
        if multiprocessing is not None and multiprocessing.parent_process() is not None:
            # A child that multiprocessing forked ends without running atexit.
            from multiprocessing.util import Finalize

            Finalize(None, self.close, exitpriority=_MULTIPROCESSING_PRIORITY)

    def _start_thread(self) -> None:
        thread = threading.Thread(target=self._serve, name="draftcritic-review", daemon=True)
        self._threads += 1
        try:
            thread.start()
        except RuntimeError:  # no more threads, or the interpreter is ending
            self._threads -= 1

    def _serve(self) -> None:
        lock = self._lock
        try:
            while True:
                with lock:
                    if lock is not self._lock:
                        return  # the job forked, and this is the child
                    self._idle += 1
                    while not self._queue and not self._closed:
                        self._work.wait()
                    self._idle -= 1
                    if not self._queue:
                        return
                    number, job = self._queue.popleft()
                    self._running[threading.get_ident()] = number
                self._tell(self._on_depth, -1)
                self._run(job)
                del job
        finally:
            if lock is self._lock:
                self._thread_ended()

    def _thread_ended(self) -> None:
        with self._lock:
            self._threads -= 1
            if self._queue and not self._threads:
                self._start_thread()

    def _run(self, job: Job) -> None:
        try:
            job()
        except BaseException as error:
            _logger.warning("a background job failed with %s", qualified_name(type(error)))
            _logger.debug("the job's traceback", exc_info=True)
            self._tell(self._on_drop, ERROR)
            if not isinstance(error, Exception):
                raise
        finally:
            with self._lock:
                self._running.pop(threading.get_ident(), None)
                self._ended.notify_all()

    def flush(self, timeout: float) -> bool:
        """Wait until every job submitted so far has ended, and say whether it has within `timeout` seconds."""
        deadline = time.monotonic() + timeout
        with self._lock:
            last = self._submitted
            while self._oldest() <= last:
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._ended.wait(left)
            return True

    def _oldest(self) -> float:
        waiting = self._queue[0][0] if self._queue else math.inf
        return min(waiting, min(self._running.values(), default=math.inf))

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
        done = self.flush(self._shutdown_timeout if timeout is None else timeout)
        with self._lock:
            waiting, lost = len(self._queue), len(self._queue) + len(self._running)
            self._queue.clear()
            self._ended.notify_all()
        atexit.unregister(self.close)
        if waiting:
            self._tell(self._on_depth, -waiting)
        for _ in range(lost):
            self._tell(self._on_drop, SHUTDOWN)
        return done

    @staticmethod
    def _tell(listener: Callable[..., None] | None, value: object) -> None:
        if listener is None:
            return
        try:
            listener(value)
        except Exception:
            _logger.debug("a listener of the background runner failed", exc_info=True)
