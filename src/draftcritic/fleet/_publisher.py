"""Publishes spooled drafts to the message queue; the spool forgets a draft when the broker has confirmed it."""

from __future__ import annotations

import logging
import threading
from typing import Any

from draftcritic.core._exception_place import described
from draftcritic.fleet._broker import CONFIRM_WITHIN_S, TASK, FleetQueue
from draftcritic.fleet._cipher import Cipher
from draftcritic.fleet._memory import Wanted
from draftcritic.fleet._wire import DraftMessage
from draftcritic.review._lifecycle import after_fork

_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 5.0
"""Seconds between two tries while the broker is away, or its queue is full."""

_logger = logging.getLogger("draftcritic")


class Publisher:
    """The sink of a spool whose drafts are reviewed elsewhere. For one thread; see `Sink`.

    Args:
        queue: where drafts go.
        cipher: encrypts them.
    """

    reviews = False

    def __init__(self, queue: FleetQueue, cipher: Cipher) -> None:
        self._queue = queue
        self._cipher = cipher
        self._reported = False
        self._reset_state()
        after_fork(self._reset_state)

    def _reset_state(self) -> None:
        # A forked child must not touch the parent's connection, not even to close it.
        self._closing = threading.Event()
        self._app: Any = None
        self._connection: Any = None
        self._producer: Any = None

    def deliver(self, message: DraftMessage, payload: bytes, wanted: Wanted, *, again: bool) -> bool:  # noqa: ARG002 - the port's signature
        """Publish a draft, and try again until that works or `close` is called. See `Sink`."""
        pause = _FIRST_PAUSE
        while not self._closing.is_set():
            try:
                self._publish(message.id, payload)
            except Exception as error:  # noqa: PERF203 - each try may fail
                self._drop_connection()
                if not self._reported:
                    self._reported = True
                    _logger.warning("drafts wait in the spool, the broker does not take them: %s", described(error))
                self._closing.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                if self._reported:
                    self._reported = False
                    _logger.warning("the broker takes drafts again")
                return wanted()
        return False

    def close(self) -> None:
        """Give up what is under way. See `Sink`."""
        self._closing.set()
        self._drop_connection()

    def _publish(self, id_: str, payload: bytes) -> None:
        """Hand a draft to the broker, and wait until that has it.

        Raises:
            Exception: the broker is away, rejects the draft, or has no such queue.
        """
        if self._producer is None:
            self._connect()
        self._app.send_task(
            TASK,
            args=[id_, self._cipher.sealed(payload)],
            task_id=id_,
            queue=self._queue.live(),
            producer=self._producer,
            argsrepr="",  # or Celery would put the draft into a header
            kwargsrepr="",
            ignore_result=True,
            retry=False,
            mandatory=True,
            confirm_timeout=CONFIRM_WITHIN_S,
            add_to_parent=False,
        )

    def _connect(self) -> None:
        self._app = self._app or self._queue.app()
        connection = self._connection = self._app.connection_for_write()
        connection.ensure_connection(max_retries=0)
        self._queue.dead()(connection.default_channel).declare()
        self._producer = self._app.amqp.Producer(connection, auto_declare=False)

    def _drop_connection(self) -> None:
        connection, self._connection, self._producer = self._connection, None, None
        if connection is not None:
            try:
                connection.collect(socket_timeout=0.1)
            except Exception as error:
                _logger.debug("a connection to the broker could not be closed: %s", described(error))
