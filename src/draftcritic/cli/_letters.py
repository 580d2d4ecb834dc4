"""The dead letters of a fleet as rows for `draftcritic replay`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from draftcritic.fleet._wire import DraftMessage, MessageError
    from draftcritic.settings._model import Settings


@contextmanager
def dead_letters(settings: Settings) -> Iterator[tuple[Path, str, Callable[[], None]]]:
    """Hand over a file of rows, a line that says what is in it, and a function that empties the queue.

    Raises:
        ValueError: the settings name neither a spool nor a broker.
    """
    if settings.spool_dir is None and settings.broker is None:
        raise ValueError("--dead-letters reads those of `spool_dir` and `broker`, and neither is set")
    from draftcritic.fleet._dead_letters import queued, spooled

    with TemporaryDirectory() as folder, ExitStack() as stack:
        path, taken = Path(folder) / "dead-letters.jsonl", _nothing
        letters: list[DraftMessage | MessageError] = []
        if settings.spool_dir is not None:
            letters += spooled(settings.spool_dir)
        if settings.broker is not None:
            from draftcritic._deliveries import queue_of
            from draftcritic.fleet._cipher import Cipher

            found, taken = stack.enter_context(queued(queue_of(settings), Cipher(settings.fleet_key)))
            letters += found
        yield path, _written(path, letters), taken


def _nothing() -> None:
    """Leave the files of spools to their rotation."""


def _written(path: Path, letters: Iterable[DraftMessage | MessageError]) -> str:
    from dataclasses import replace

    from draftcritic.fleet._wire import DraftMessage
    from draftcritic.record._review_row import row_of_turn

    read = unread = 0
    with path.open("w", encoding="utf-8") as rows:
        for letter in letters:
            if not isinstance(letter, DraftMessage):
                unread += 1
                continue
            row = replace(row_of_turn(letter.turn, letter.created), turn_id=letter.id)
            rows.write(f"{row.as_json()}\n")
            read += 1
    return f"{read} dead letters; {unread} cannot be read by this release and stay where they are"
