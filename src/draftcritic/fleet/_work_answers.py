"""The worker's side of work that a command waits for."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from draftcritic.core._exception_place import described
from draftcritic.fleet._broker import WORK, FleetQueue
from draftcritic.fleet._cipher import Cipher
from draftcritic.fleet._wire import MessageError

if TYPE_CHECKING:
    from celery import Celery

Answer = Callable[[bytes], bytes]
_MOST_DELIVERIES = 2
"""Deliveries that ended with their process; then an error is the answer, and the work is not tried again."""
_LOCKED = 405
"""The code of AMQP 0-9-1 for a queue that exists and is another connection's alone."""
_logger = logging.getLogger("draftcritic")


def add_work(app: Celery, queue: FleetQueue, cipher: Cipher, answers: list[Answer]) -> None:
    """Let the workers of an application do work.

    Args:
        app: the workers' application.
        queue: of the fleet.
        cipher: decrypts work and encrypts answers.
        answers: has what does the work, once the process has started.
    """

    def work(self: Any, body: Any) -> None:
        request = self.request
        with app.connection_for_write() as connection:
            if not _is_there(connection, str(request.reply_to)):
                _logger.warning("work whose asker has gone is thrown away")
                return
            ended = int(request.__dict__.get("x-delivery-count") or 0)
            answer = _too_often(ended) if ended >= _MOST_DELIVERIES else _answer(cipher, body, answers[0])
            connection.Producer(auto_declare=False).publish(
                cipher.sealed(answer),
                exchange="",
                routing_key=request.reply_to,
                correlation_id=request.id,
                serializer="json",
            )

    app.task(name=WORK, bind=True, typing=False)(work)
    app.conf.task_queues = [*app.conf.task_queues, queue.work()]


def _is_there(connection: Any, name: str) -> bool:
    """Whether the queue exists; one that belongs to another connection is locked, and exists."""
    try:
        with connection.channel() as channel:
            channel.queue_declare(name, passive=True)
    except connection.channel_errors as error:
        return getattr(error, "code", 0) == _LOCKED
    return True


def _answer(cipher: Cipher, body: Any, answer: Answer) -> bytes:
    try:
        return answer(cipher.opened(body))
    except MessageError as error:
        return failed(str(error))
    except Exception as error:  # the asker has to hear of it, or it would wait
        _logger.warning("work failed: %s", described(error))
        return failed(described(error))


def _too_often(times: int) -> bytes:
    return failed(f"{times} worker processes ended while they judged these turns")


def failed(reason: str) -> bytes:
    """Return the answer to work that cannot be done."""
    return json.dumps({"error": reason}).encode()
