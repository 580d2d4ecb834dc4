"""`draftcritic label`: a page on loopback, or a terminal, on which a person says what is right."""

from __future__ import annotations

import getpass
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from draftcritic.labels._session import LabelSession

_EPILOG = """
Keys: a approve, r revise, x refuse, u unsure, z undo. The critic's verdict is shown after the label. Each label is on
disk at once; the same command goes on where it was left. 30 % of the drafts are for two people: run it once for each.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `label` with its options."""
    parser = subparsers.add_parser("label", help="label drafts of a replay by hand", epilog=_EPILOG)
    parser.add_argument("runs", type=Path, metavar="RUNS", help="the file that `draftcritic replay` wrote")
    parser.add_argument("--labels", type=Path, metavar="FILE", help="keep the labels here (RUNS.labels.jsonl)")
    parser.add_argument("--n", type=int, default=200, metavar="N", help="how many drafts to draw (200)")
    parser.add_argument(
        "--by", default="verdict", metavar="FIELDS", help="what strata are made by: verdict,gate.reason"
    )
    parser.add_argument("--who", metavar="NAME", help="the person (the name of the user)")
    parser.add_argument("--port", type=int, default=0, metavar="PORT", help="the port of the page (a free one)")
    parser.add_argument("--tui", action="store_true", help="label in the terminal instead")
    parser.add_argument(
        "--import",
        dest="imported",
        type=Path,
        metavar="FILE",
        help="take labels of a CSV file, Langfuse scores, LangSmith feedback or Phoenix annotations, and end",
    )


def run(args: argparse.Namespace) -> int:
    """Let a person label.

    Returns:
        0, or 2 when something cannot be read or is not installed.
    """
    from draftcritic.labels._session import LabelSession
    from draftcritic.turns._records import ReadError

    labels = args.labels or args.runs.with_name(f"{args.runs.name}.labels.jsonl")
    try:
        if args.n < 1:
            raise ValueError(f"--n is {args.n}; allowed is a number from 1")
        if args.imported is not None:
            return _import(args.imported, labels)
        by = tuple(part.strip() for part in args.by.split(",") if part.strip())
        with closing(LabelSession(args.runs, labels, args.who or getpass.getuser(), args.n, by)) as session:
            print(f"{session.done} of {session.total} drafts are labelled; labels go to {labels}")
            _show(session, args)
            print(f"{session.done} of {session.total} drafts are labelled")
    except (ReadError, ValueError, OSError) as error:
        print(f"draftcritic label: {error}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as missing:
        print(f"draftcritic label needs {missing.name}: pip install 'draftcritic[label]'", file=sys.stderr)
        return 2
    return 0


def _show(session: LabelSession, args: argparse.Namespace) -> None:
    from draftcritic.labels._page import serve
    from draftcritic.labels._terminal import terminal

    if args.tui:
        terminal(session).run()
    else:
        serve(session, args.port, lambda url: print(f"open {url}\nstop with Ctrl-C", flush=True))


def _import(source: Path, labels: Path) -> int:
    from draftcritic.labels._import import import_labels
    from draftcritic.labels._label import Label, LabelFile

    taken = 0
    with closing(LabelFile(labels)) as file:
        for found in import_labels(source):
            if isinstance(found, Label):
                file.add(found)
                taken += 1
            else:
                print(f"{source}, {found.place}: {found.reason}", file=sys.stderr)
    print(f"{taken} labels of {source} are now in {labels}")
    return 0
