"""Work that a command hands to the workers of a fleet and waits for: the turns of a replay."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from draftcritic.core._exception_place import described
from draftcritic.fleet._broker import CONFIRM_WITHIN_S, WORK, FleetQueue
from draftcritic.fleet._cipher import Cipher
from draftcritic.fleet._wire import MessageError

if TYPE_CHECKING:
    from kombu import Connection

_LOOK_EVERY_S = 1.0
NO_WORKER_S = 30.0
"""Seconds without any worker after which `ask` gives up."""
_logger = logging.getLogger("draftcritic")


class WorkError(Exception):
    """The workers cannot do the work; the message says why."""


class Workers:
    """Asks the workers of a fleet, and waits for their answers. Safe to use from several threads.

    The answers come through a queue that goes with this object: a worker throws work away whose asker has gone.

    Args:
        queue: the queue of the fleet.
        cipher: encrypts work and decrypts answers.

    Raises:
        ImportError: celery is not installed.
        WorkError: the broker does not answer.
    """

    def __init__(self, queue: FleetQueue, cipher: Cipher) -> None:
        self._queue = queue
        self._cipher = cipher
        self._silence_s = 2 * queue.time_limit + 60
        self._replies = f"{queue.work_name}.replies.{uuid.uuid4().hex}"
        self._lock = threading.Lock()
        self._waiting: dict[str, Future[bytes]] = {}
        self._closing = threading.Event()
        self._error: WorkError | None = None
        self._heard = time.monotonic()
        self._app = queue.app()
        self._publishing = self._app.connection_for_write()
        self._reading = self._app.connection_for_read()
        try:
            for connection in (self._publishing, self._reading):
                connection.ensure_connection(max_retries=0)
            queue.work()(self._reading.default_channel).declare()
            self._producer = self._app.amqp.Producer(self._publishing, auto_declare=False)
        except Exception as error:
            self._release()
            raise WorkError(f"the broker does not answer: {described(error)}") from error
        started = threading.Event()
        self._thread = threading.Thread(target=self._read, args=(started,), name="draftcritic-work", daemon=True)
        self._thread.start()
        started.wait()

    def ask(self, payload: bytes) -> bytes:
        """Return the answer to some work; wait until it is there.

        Raises:
            WorkError: no worker is there, none answers, or the broker went away.
        """
        id_, future = uuid.uuid4().hex, Future[bytes]()
        with self._lock:
            if self._error is not None:
                raise self._error
            if not self._waiting:
                self._heard = time.monotonic()
            self._waiting[id_] = future
            try:
                self._publish(id_, payload)
            except Exception as error:
                del self._waiting[id_]
                raise WorkError(f"the broker does not take {len(payload)} bytes: {described(error)}") from error
        return future.result()

    def close(self) -> None:
        """Give up what is under way."""
        self._closing.set()
        self._thread.join()
        self._release()

    def _publish(self, id_: str, payload: bytes) -> None:
        self._app.send_task(
            WORK,
            args=[self._cipher.sealed(payload)],
            task_id=id_,
            queue=self._queue.work(),
            producer=self._producer,
            reply_to=self._replies,
            argsrepr="",  # or Celery would put the turns into a header
            kwargsrepr="",
            ignore_result=True,
            retry=False,
            mandatory=True,
            confirm_timeout=CONFIRM_WITHIN_S,
            add_to_parent=False,
        )

    def _read(self, started: threading.Event) -> None:
        """Take answers until the end; in a thread of its own."""
        from kombu import Consumer, Queue

        problem = ""
        try:
            replies = Queue(self._replies, durable=False, exclusive=True, auto_delete=True)
            with Consumer(self._reading, [replies], callbacks=[self._take], accept=["json"], no_ack=True):
                started.set()
                problem = self._take_all(self._reading)
        except Exception as error:  # whatever the connection raises, those who wait have to know
            problem = f"the broker went away: {described(error)}"
        finally:
            started.set()
            self._fail(WorkError(problem or "the replay has ended"))

    def _take_all(self, connection: Connection) -> str:
        """Take answers until `close` is called or none can be expected; return why."""
        seen, queue = time.monotonic(), self._queue.work()
        while not self._closing.is_set():
            try:
                connection.drain_events(timeout=_LOOK_EVERY_S)
            except TimeoutError:
                pass
            else:
                continue
            now = time.monotonic()
            declared = connection.default_channel.queue_declare(queue.name, passive=True)
            if declared.consumer_count or not self._waiting:
                seen = now
            if now - seen > NO_WORKER_S:
                return f"no worker reads the queue {queue.name}; start `draftcritic worker` with the same settings"
            if self._waiting and now - self._heard > self._silence_s:
                return f"no worker has answered for {self._silence_s:.0f} s"
        return ""

    def _take(self, body: Any, message: Any) -> None:
        self._heard = time.monotonic()
        with self._lock:
            future = self._waiting.pop(str(message.properties.get("correlation_id")), None)
        if future is None:
            return  # the work was done twice, because a worker was killed before it had confirmed it
        try:
            future.set_result(self._cipher.opened(body))
        except MessageError as error:
            future.set_exception(WorkError(f"a worker's answer cannot be read: {error}"))

    def _fail(self, error: WorkError) -> None:
        with self._lock:
            self._error = error
            waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            future.set_exception(error)

    def _release(self) -> None:
        for connection in (self._publishing, self._reading):
            try:
                connection.release()
            except Exception as error:  # noqa: PERF203 - each may fail
                _logger.debug("a connection to the broker could not be closed: %s", described(error))
