"""Plain text in aligned columns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from draftcritic.telemetry._schema import AttributeInfo, Schema


def columns(rows: Sequence[Sequence[str]], indent: str = "") -> list[str]:
    """Return one line a row, every column as wide as its longest cell."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return [
        (indent + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()
        for row in rows
    ]


_FEW = 9
"""A closed set of so many values or fewer is spelled out in a table."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `schema` with its options."""
    parser = subparsers.add_parser("schema", help="print every span attribute, event, metric and label")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--turns", action="store_true", help="print the JSON Schema of a recorded turn instead")
    form.add_argument("--markdown", action="store_true", help="print the span attributes and the metrics as tables")


def run(args: argparse.Namespace) -> int:
    """Print the schema.

    Returns:
        0.
    """
    if args.turns:
        from draftcritic.turns._row_schema import turns_schema

        print(json.dumps(turns_schema(), indent=2))
        return 0
    from draftcritic.telemetry._schema import SCHEMA

    if args.json:
        print(json.dumps(SCHEMA.as_dict(), indent=2))
    else:
        print("\n".join(_tables(SCHEMA) if args.markdown else _lines(SCHEMA)))
    return 0


def _tables(schema: Schema) -> Iterator[str]:
    yield "| attribute | type | meaning |"
    yield "| --- | --- | --- |"
    for info in schema.span_attributes:
        meaning = _meaning(info).replace("|", "/")
        if info.values and len(info.values) <= _FEW:
            meaning = f"{meaning.removesuffix('.')}: {', '.join(info.values)}"
        yield f"| `{info.name}` | {info.type} | {meaning} |"
    yield ""
    yield "| metric | kind | unit | labels | meaning |"
    yield "| --- | --- | --- | --- | --- |"
    for metric in schema.metrics:
        labels = ", ".join(f"`{label.removeprefix(f'{schema.scope}.')}`" for label in metric.labels)
        yield f"| `{metric.name}` | {metric.kind} | `{metric.unit}` | {labels} | {metric.meaning} |"


def _lines(schema: Schema) -> Iterator[str]:
    yield f"scope {schema.scope}: name of the tracer, the meter and the logger"
    yield f"texts are cut at {schema.longest_text} characters, content at {schema.longest_content}"
    yield f"content is recorded only with {schema.content_switch}"
    yield ""
    yield f"span {schema.span}, {schema.span_kind}"
    yield from _attributes(schema.span_attributes)
    yield ""
    yield "attributes of spans that others start inside the critic's call"
    yield from _attributes(schema.foreign_span_attributes)
    for event in schema.events:
        yield ""
        yield f"{event.carrier} {event.name}: {event.meaning}"
        yield from (f"  {name}" for name in event.attributes)
    yield ""
    yield "attributes that only events have"
    yield from _attributes(schema.event_attributes)
    yield ""
    yield "metrics"
    rows = [(metric.name, metric.kind, metric.unit, ", ".join(metric.labels) or "-") for metric in schema.metrics]
    table = columns([("NAME", "KIND", "UNIT", "LABELS"), *rows], "  ")
    yield table[0]
    for line, metric in zip(table[1:], schema.metrics, strict=True):
        yield line
        yield f"      {metric.meaning}"
        if metric.buckets:
            yield f"      buckets: {', '.join(f'{bound:g}' for bound in metric.buckets)}"
    yield ""
    yield "labels of metrics"
    yield from _attributes(schema.labels)


def _attributes(attributes: Sequence[AttributeInfo]) -> Iterator[str]:
    rows = [(info.name, info.type, info.unit or "-", _meaning(info)) for info in attributes]
    table = columns([("NAME", "TYPE", "UNIT", "MEANING"), *rows], "  ")
    yield table[0]
    for line, info in zip(table[1:], attributes, strict=True):
        yield line
        if info.values:
            yield f"      values: {', '.join(info.values)}"


def _meaning(info: AttributeInfo) -> str:
    return f"{info.meaning} (when {info.when})" if info.when else info.meaning
