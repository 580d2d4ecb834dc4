"""Drafts that come from another release."""

from __future__ import annotations

import logging

from draftcritic.fleet._wire import DraftMessage
from draftcritic.review._ports import FleetObserver

_MOST_REPORTED = 20
_logger = logging.getLogger("draftcritic")
_reported: set[tuple[str, ...]] = set()


def note_release(message: DraftMessage, observer: FleetObserver) -> None:
    """Count a draft whose fields are not those of this release, and log each difference once."""
    if not message.unknown and not message.missing:
        return
    observer.other_release(newer=bool(message.unknown), older=bool(message.missing))
    difference = (*message.unknown, *message.missing)
    if difference not in _reported and len(_reported) < _MOST_REPORTED:
        _reported.add(difference)
        _logger.warning(
            "drafts come from another release: fields ignored: %s; fields that got their default: %s",
            _shown(message.unknown),
            _shown(message.missing),
        )


def _shown(names: tuple[str, ...]) -> str:
    return ", ".join(name[:40] for name in names[:5]) or "none"
