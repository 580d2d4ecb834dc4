"""Keys behind which an agent writes identifiers."""

from __future__ import annotations

from collections.abc import Iterable

IDENTIFIER_KEYS = frozenset(
    f"{thing}{suffix}"
    for suffix, things in {
        "_id": ("task", "job", "process", "request", "req", "trace", "span", "run", "ticket", "order", "instance"),
        "id": ("p", "task", "job"),
        "": ("service", "service_name", "instance"),
    }.items()
    for thing in things
)
"""Keys of task, job, process, request, trace, span, run, ticket, order, service and instance, in lower case."""


def known_keys(extra: Iterable[object] | None) -> frozenset[str]:
    """Return the built-in keys with those of the domain, in lower case."""
    if not extra:
        return IDENTIFIER_KEYS
    keys = (extra,) if isinstance(extra, str) else extra
    return IDENTIFIER_KEYS | {key.lower() for key in keys if isinstance(key, str)}
