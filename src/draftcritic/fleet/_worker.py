"""Reviews drafts that come out of the message queue."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from draftcritic.core._exception_place import described
from draftcritic.core._review import ModelCall, Review
from draftcritic.fleet._broker import TASK, FleetQueue
from draftcritic.fleet._cipher import Cipher
from draftcritic.fleet._done import DoneReviews, shared_call
from draftcritic.fleet._memory import Wanted
from draftcritic.fleet._releases import note_release
from draftcritic.fleet._wire import DraftMessage, MessageError, decode
from draftcritic.fleet._work_answers import Answer, add_work
from draftcritic.review._ports import FleetObserver

if TYPE_CHECKING:
    from celery import Celery

_logger = logging.getLogger("draftcritic")


class Reviewing(Protocol):
    """What a worker needs of the runtime."""

    observer: FleetObserver

    def review_message(self, message: DraftMessage, wanted: Wanted) -> Review | None:
        """Review a draft; None where the settings switch reviews off."""
        ...

    def repeat_message(self, message: DraftMessage, verdict: str, call: ModelCall) -> None:
        """Record that a draft came again whose review is recorded."""
        ...


class DraftReviewer:
    """Reviews each draft once, by its id.

    Args:
        runtime: reviews drafts.
        done: knows what is reviewed.
        cipher: decrypts drafts.
    """

    def __init__(self, runtime: Reviewing, done: DoneReviews, cipher: Cipher) -> None:
        self._runtime = runtime
        self.observer = runtime.observer
        self._done = done
        self._cipher = cipher

    def review(self, id_: str, body: Any, *, again: bool, queue: str) -> None:
        """Review a draft.

        Args:
            id_: the draft's id.
            body: of the message.
            again: the broker has delivered it before.
            queue: the name of the queue that it comes from.

        Raises:
            MessageError: it is no draft that this release can read.
        """
        message = decode(self._cipher.opened(body))
        if message.id != id_:
            raise MessageError("the id of the message is not that of the draft")
        with self.observer.processing(message.origin, queue, id_):
            self._review(message, again=again)

    def _review(self, message: DraftMessage, *, again: bool) -> None:
        id_ = message.id
        self.observer.delivered(time.time() - message.created, again)
        note_release(message, self.observer)
        said = self._done.find(id_)
        if said is None:
            claimed = False

            def claim() -> bool:
                nonlocal claimed
                claimed = self._done.claim(id_)
                return claimed

            review = self._runtime.review_message(message, claim)
            if review is None:
                return
            if claimed:
                self._done.finish(id_, review)
                return
            said = self._done.find(id_) or {}
        call = shared_call(said)
        verdict = said.get("verdict")
        if call is not None and isinstance(verdict, str):
            self._runtime.repeat_message(message, verdict, call)


def serve(
    queue: FleetQueue,
    made: Callable[[], DraftReviewer],
    concurrency: int,
    *,
    work: Callable[[], Answer] | None,
    cipher: Cipher,
    on_end: Callable[[], None],
) -> int:
    """Run worker processes until a signal ends them; return the exit code.

    Args:
        queue: where drafts come from.
        made: makes what reviews them, in each process.
        concurrency: processes.
        work: makes what does the work of commands, in each process; None for workers that only review drafts.
        cipher: for that work.
        on_end: called in each process before it ends: no exit handler of Python runs there.
    """
    from celery.signals import worker_process_init, worker_process_shutdown

    app = queue.app()
    reviewers: list[DraftReviewer] = []
    answers: list[Answer] = []

    def begin(**_: Any) -> None:
        reviewers[:] = [made()]
        answers[:] = [] if work is None else [work()]

    def end(**_: Any) -> None:
        on_end()

    worker_process_init.connect(begin, weak=False)
    worker_process_shutdown.connect(end, weak=False)
    _add_task(app, reviewers)
    names = [queue.name]
    if work is not None:
        add_work(app, queue, cipher, answers)
        names.append(queue.work_name)
    with app.connection_for_write() as connection:
        connection.ensure_connection(max_retries=None, errback=_broker_away)
        queue.dead()(connection.default_channel).declare()
    flags = ("--without-gossip", "--without-mingle", "--loglevel=WARNING", "--pool=prefork")
    name = f"--hostname=draftcritic-{os.getpid()}@%h"
    app.worker_main(["worker", *flags, name, f"--concurrency={concurrency}", f"--queues={','.join(names)}"])
    return 0


def _broker_away(error: Exception, seconds: float) -> None:
    _logger.warning("the broker does not answer (%s); next try in %.0f s", described(error), seconds)


def _add_task(app: Celery, reviewers: list[DraftReviewer]) -> None:
    from celery.exceptions import Reject

    def review(self: Any, id_: str, body: Any) -> None:
        info = self.request.delivery_info or {}
        try:
            reviewers[0].review(id_, body, again=bool(info.get("redelivered")), queue=str(info.get("routing_key")))
        except MessageError as error:
            _logger.warning("a draft cannot be read and is a dead letter: %s", error)
            reviewers[0].observer.dead_lettered("schema")
            raise Reject(str(error), requeue=False) from None

    app.task(name=TASK, bind=True, typing=False)(review)
