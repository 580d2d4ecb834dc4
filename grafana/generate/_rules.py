"""What a recording rule and an alert are, and the two ways in which PromQL names a recorded value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from generate._exported import ENVIRONMENT, SERVICE

GROUP = f"{SERVICE}, {ENVIRONMENT}"
"""The labels that separate alerts: processes of one service are counted together."""

Severity = Literal["page", "ticket"]


class Dialect(Protocol):
    """How a rule refers to a recorded value."""

    def __call__(self, recorded: Recorded, offset: str = "") -> str:
        """Return PromQL for a recorded value.

        Args:
            recorded: what is recorded.
            offset: how long ago, e.g. `1w`; empty is now.
        """


@dataclass(frozen=True)
class Recorded:
    """A recording rule.

    Attributes:
        name: name of the series.
        build: returns PromQL from a dialect and from the suffix of each range, e.g. ` offset 1w`.
    """

    name: str
    build: Callable[[Dialect, str], str]


@dataclass(frozen=True)
class Alert:
    """An alert; what fires it is a value above 0.

    Attributes:
        name: its name; a page and a ticket about the same thing have the same one.
        severity: page wakes somebody, ticket waits for the morning.
        build: returns PromQL that yields a series for each service in trouble, from a dialect.
        lasting: how long it has to hold.
        summary: one line; `{service}`, `{percent}` and `{value}` stand for what was measured.
        description: what it means and what to look at first, with the same places.
        runbook: file in docs/runbooks without its ending.
    """

    name: str
    severity: Severity
    build: Callable[[Dialect], str]
    lasting: str
    summary: str
    description: str
    runbook: str


def by_name(recorded: Recorded, offset: str = "") -> str:
    """Name the series that Prometheus records."""
    return f"{recorded.name} offset {offset}" if offset else recorded.name


def written_out(recorded: Recorded, offset: str = "") -> str:
    """Write the whole query out, for a Grafana whose Prometheus records nothing."""
    return f"({recorded.build(written_out, f' offset {offset}' if offset else '')})"
