"""Reads the drafts that were put aside: from the files of spools, and from the queue of dead letters."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from draftcritic.fleet._broker import FleetQueue
from draftcritic.fleet._cipher import Cipher
from draftcritic.fleet._wire import DraftMessage, MessageError, decode

_MOST = 1_000_000


def spooled(folder: Path) -> Iterator[DraftMessage | MessageError]:
    """Yield the dead letters of all services whose spools are below a folder, or why one cannot be read."""
    for path in sorted(folder.glob("*/dead*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                yield _line(line)


@contextmanager
def queued(queue: FleetQueue, cipher: Cipher) -> Iterator[tuple[list[DraftMessage | MessageError], Callable[[], None]]]:
    """Hand over the dead letters of a queue, and a function that takes those that could be read out of it.

    Without a call of the function all of them go back into the queue, and so do those that cannot be read.

    Raises:
        Exception: the broker is away.
    """
    with queue.app().connection_for_write() as connection:
        connection.ensure_connection(max_retries=2)
        channel = connection.default_channel
        queue.dead()(channel).declare()
        found: list[DraftMessage | MessageError] = []
        tags = []
        while len(found) < _MOST and (message := channel.basic_get(queue.dead_name)) is not None:
            letter = _letter(message, cipher)
            found.append(letter)
            if isinstance(letter, DraftMessage):
                tags.append(message.delivery_tag)

        def take() -> None:
            for tag in tags:
                channel.basic_ack(tag)

        yield found, take


def _line(line: str) -> DraftMessage | MessageError:
    try:
        return decode(str(json.loads(line)["draft"]))
    except MessageError as error:
        return error
    except (ValueError, KeyError, TypeError):
        return MessageError("a line is no dead letter")


def _letter(message: Any, cipher: Cipher) -> DraftMessage | MessageError:
    try:
        (_, body), *_ = json.loads(message.body)
        return decode(cipher.opened(body))
    except MessageError as error:
        return error
    except (ValueError, TypeError):
        return MessageError("a message is no draft")
