"""Received spans put together into the traces they belong to."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from draftcritic.telemetry import names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from draftcritic.demo._received import Span

REVIEW = names.SPAN_REVIEW
"""Name of the review's span."""


@dataclass(frozen=True)
class Node:
    """A span with the spans below it, in order of their start."""

    span: Span
    children: tuple[Node, ...]

    def walk(self) -> Iterator[Node]:
        """This node and all below it, from the top."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class Trace:
    """One trace.

    Attributes:
        trace_id: Hexadecimal.
        roots: Spans without a parent among those received; a whole trace has exactly one.
    """

    trace_id: str
    roots: tuple[Node, ...]

    @property
    def start_ns(self) -> int:
        """When its first span began, in nanoseconds since the epoch."""
        return min(root.span.start_ns for root in self.roots)

    @property
    def nodes(self) -> list[Node]:
        """Every node, from the top."""
        return [node for root in self.roots for node in root.walk()]

    @property
    def reviews(self) -> list[Node]:
        """The nodes of the critic's reviews."""
        return [node for node in self.nodes if node.span.name == REVIEW]


def traces(spans: Iterable[Span]) -> list[Trace]:
    """The traces, the earliest first."""
    by_trace: dict[str, list[Span]] = defaultdict(list)
    for span in spans:
        by_trace[span.trace_id].append(span)
    return sorted((_trace(trace_id, found) for trace_id, found in by_trace.items()), key=lambda t: t.start_ns)


def _trace(trace_id: str, spans: list[Span]) -> Trace:
    known = {span.span_id for span in spans}
    below: dict[str, list[Span]] = defaultdict(list)
    for span in sorted(spans, key=lambda found: found.start_ns):
        below[span.parent_id if span.parent_id in known else ""].append(span)

    def node(span: Span) -> Node:
        return Node(span, tuple(node(child) for child in below[span.span_id]))

    return Trace(trace_id, tuple(node(span) for span in below[""]))
