"""`draftcritic purge`: removes recorded turns of a person, of a conversation, or of a certain age."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

_EPILOG = """
Give the files of `record`, of replays and of labels together: the labels of removed turns go, too. Files that were put
aside by rotation are included. A cache of answers has no ids and cannot be searched: delete its folder.
"""
_SECONDS = {"h": 3600, "d": 86400, "w": 7 * 86400}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `purge` with its options."""
    parser = subparsers.add_parser("purge", help="remove recorded turns", epilog=_EPILOG)
    parser.add_argument("paths", nargs="+", type=Path, metavar="FILE", help="files of rows, replays and labels")
    parser.add_argument("--user", action="append", default=[], metavar="ID", help="turns of this user")
    parser.add_argument("--conversation", action="append", default=[], metavar="ID", help="turns of this conversation")
    parser.add_argument("--turn", action="append", default=[], metavar="ID", help="this turn")
    parser.add_argument("--older-than", metavar="AGE", help="turns older than e.g. 36h, 30d, 8w")
    parser.add_argument("--dry-run", action="store_true", help="only count")


def run(args: argparse.Namespace) -> int:
    """Remove, and print how many.

    Returns:
        0, or 2 when the options or a file are wrong.
    """
    from draftcritic.record._purge import Choice, purge

    try:
        choice = Choice(
            frozenset(args.user), frozenset(args.conversation), frozenset(args.turn), _before(args.older_than)
        )
        if choice == Choice():
            raise ValueError("say what to remove: --user, --conversation, --turn or --older-than")
        found = purge(args.paths, choice, dry_run=args.dry_run)
    except (ValueError, OSError) as error:
        print(f"draftcritic purge: {error}", file=sys.stderr)
        return 2
    for path, count in found.rows.items():
        print(f"{path}: {count} {'would be removed' if args.dry_run else 'removed'}")
    for path, count in found.unreadable.items():
        print(f"{path}: {count} lines are no JSON and were left; look at them yourself", file=sys.stderr)
    return 0


def _before(age: str | None) -> float | None:
    if age is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([hdw])", age.strip())
    if match is None:
        raise ValueError(f"--older-than is {age!r}; allowed is a number with h, d or w, e.g. 30d")
    return time.time() - float(match[1]) * _SECONDS[match[2]]
