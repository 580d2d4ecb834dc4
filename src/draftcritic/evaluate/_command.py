"""The command: reads files of labelled drafts and prints what the deterministic checks make of them."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from draftcritic._stdout import run_command
from draftcritic.evaluate._labels import report_unlabelled
from draftcritic.evaluate._rows import NAMES, Row, evaluations, read_rows
from draftcritic.evaluate._tables import Table


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; return 0, or 2 when a file cannot be read or contains no labelled draft."""
    options = _options(arguments)
    return run_command(lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    try:
        rows = [row for path in options.paths for row in read_rows(path)]
    except (ValueError, OSError, EOFError) as error:
        print(f"draftcritic.evaluate: {error}", file=sys.stderr)  # noqa: T201 - a command
        return 2
    report_unlabelled(rows)
    tables = list(_tables(rows, options.table, options.by))
    if not tables:
        asked = " and ".join(options.table) or "any table"
        print(f"draftcritic.evaluate: no row is labelled for {asked}", file=sys.stderr)  # noqa: T201 - a command
        return 2
    if options.json:
        print(json.dumps([table.as_dict(options.worst) for table in tables], ensure_ascii=False, indent=1))  # noqa: T201
        return 0
    print("\n\n".join("\n".join(table.lines(options.worst)) for table in tables))  # noqa: T201 - a command
    return 0


def _tables(rows: Sequence[Row], names: Sequence[str], by: str | None) -> Iterator[Table]:
    for evaluation in evaluations(names).values():
        accepted = [row for row in rows if evaluation.accepts(row)]
        if not accepted:
            continue
        if by is None:
            yield from evaluation.tables(accepted)
            continue
        for value in sorted({str(row.get(by)) for row in accepted}):
            for table in evaluation.tables([row for row in accepted if str(row.get(by)) == value]):
                yield Table(f"{value}: {table.title}", table.shares, table.examples)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m draftcritic.evaluate", description=__doc__)
    parser.add_argument(
        "paths", nargs="+", type=Path, metavar="PATH", help="a file of JSON lines (maybe .gz), or a folder"
    )
    parser.add_argument("--table", action="append", default=[], choices=NAMES, help="only this evaluation")
    parser.add_argument("--by", metavar="FIELD", help="one set of tables for each value of a field, e.g. source")
    parser.add_argument("--worst", type=int, default=5, metavar="N", help="so many cases of each error (default 5)")
    parser.add_argument("--json", action="store_true", help="for programs")
    return parser.parse_args(arguments)
