"""The message queue of a fleet: a Celery application on quorum queues of RabbitMQ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from celery import Celery
    from kombu import Queue

TASK = "draftcritic.review_draft"
"""The name of the task that reviews a draft."""
WORK = "draftcritic.do_work"
"""The name of the task that does work which a command waits for."""
MOST_MESSAGES = 1_000_000
"""Drafts that wait in the queue; the publishers' spools keep what it rejects."""
DELIVERIES = 5
"""Deliveries of one draft that may begin and not end; then it is a dead letter."""
CONFIRM_WITHIN_S = 10.0
_CONNECT_WITHIN_S = 5.0
_WORK_TTL_MS = 3_600_000


@dataclass(frozen=True)
class FleetQueue:
    """The queue of a fleet.

    Attributes:
        broker: the address of RabbitMQ.
        name: the name of the queue; that of its dead letters ends in `.dead`.
        ttl: seconds after which a draft that still waits is a dead letter.
        time_limit: seconds after which a worker's process is killed with its review.
    """

    broker: str
    name: str
    ttl: float
    time_limit: float = 120.0

    @property
    def dead_name(self) -> str:
        """The name of the queue of dead letters."""
        return f"{self.name}.dead"

    @property
    def work_name(self) -> str:
        """The name of the queue of work that a command waits for."""
        return f"{self.name}.work"

    def live(self) -> Queue:
        """Return the queue of drafts: it rejects what does not fit, and moves what cannot be reviewed."""
        return _queue(
            self.name,
            {
                "x-overflow": "reject-publish",
                "x-max-length": MOST_MESSAGES,
                "x-delivery-limit": DELIVERIES,
                "x-message-ttl": int(self.ttl * 1000),
                "x-dead-letter-exchange": "",
                "x-dead-letter-routing-key": self.dead_name,
                "x-dead-letter-strategy": "at-least-once",
            },
        )

    def dead(self) -> Queue:
        """Return the queue of dead letters."""
        return _queue(self.dead_name, {})

    def work(self) -> Queue:
        """Return the queue of work that a command waits for; drafts never wait behind it."""
        return _queue(self.work_name, {"x-delivery-limit": DELIVERIES, "x-message-ttl": _WORK_TTL_MS})

    def app(self) -> Celery:
        """Return the Celery application, not connected yet.

        Raises:
            ImportError: celery is not installed.
        """
        from celery import Celery

        app = Celery("draftcritic", broker=self.broker, set_as_current=False, fixups=[])
        app.conf.update(
            task_queues=[self.live()],
            task_default_queue=self.name,
            task_create_missing_queues=False,
            accept_content=["json"],
            task_serializer="json",
            task_ignore_result=True,
            task_acks_late=True,
            task_reject_on_worker_lost=True,
            task_acks_on_failure=False,
            task_acks_on_timeout=False,
            task_time_limit=self.time_limit,
            worker_prefetch_multiplier=1,
            worker_cancel_long_running_tasks_on_connection_loss=True,
            worker_hijack_root_logger=False,
            worker_redirect_stdouts=False,
            worker_send_task_events=False,
            worker_enable_remote_control=False,
            broker_native_delayed_delivery_queue_type="classic",
            broker_connection_timeout=_CONNECT_WITHIN_S,
            broker_connection_retry_on_startup=True,
            broker_connection_max_retries=None,
            broker_transport_options={
                "confirm_publish": True,
                "read_timeout": 2 * CONFIRM_WITHIN_S,
                "write_timeout": CONFIRM_WITHIN_S,
            },
        )
        return app


def _queue(name: str, arguments: dict[str, Any]) -> Queue:
    from kombu import Exchange, Queue

    return Queue(
        name,
        Exchange("", type="direct"),
        routing_key=name,
        durable=True,
        queue_arguments={"x-queue-type": "quorum", **arguments},
    )
