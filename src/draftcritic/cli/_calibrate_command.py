"""`draftcritic calibrate`: how right the critic is on these drafts, and whether the labels show it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from draftcritic.calibrate._calibration import Calibration
    from draftcritic.calibrate._thresholds import Costs
    from draftcritic.labels._label import Labels

_EPILOG = """
The first line says whether the wanted bound is shown, and how many more labels of which stratum would show it.
Exit code 3 when the labels do not show it.
"""
_NOT_SHOWN = 3
_COSTS = ("miss", "false_refuse", "false_revise")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `calibrate` with its options."""
    parser = subparsers.add_parser("calibrate", help="measure the critic against labels of people", epilog=_EPILOG)
    parser.add_argument("runs", type=Path, metavar="RUNS", help="the file that `draftcritic replay` wrote")
    parser.add_argument("labels", nargs="+", type=Path, metavar="LABELS", help="files of `draftcritic label`")
    parser.add_argument("--false-refuse", type=float, metavar="SHARE", help="show: at most so many drafts, e.g. 0.01")
    parser.add_argument("--miss", type=float, metavar="SHARE", help="show: at most so many drafts")
    parser.add_argument("--cost", default="", metavar="COSTS", help="miss=50,false_refuse=5,false_revise=2")
    parser.add_argument("--compare", type=Path, metavar="RUNS", help="a replay of the same drafts with another critic")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the cheapest threshold into these settings")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write an HTML file with pictures")


def run(args: argparse.Namespace) -> int:
    """Measure, print, and write the report.

    Returns:
        0 when the bounds are shown or none was asked for, 3 when they are not, 2 when something cannot be read.
    """
    from draftcritic.calibrate._calibration import lines
    from draftcritic.labels._label import read_labels
    from draftcritic.turns._records import ReadError

    try:
        calibrations = _calibrations(args, read_labels(args.labels))
        for found in calibrations:
            print("\n".join(lines(found)))
        if args.report is not None:
            _write_report(args.report, calibrations)
        if args.write is not None:
            _write_threshold(args.write, calibrations[0])
    except (ReadError, ValueError, OSError) as error:
        print(f"draftcritic calibrate: {error}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as missing:
        print(
            f"draftcritic calibrate --report needs {missing.name}: pip install 'draftcritic[replay]'", file=sys.stderr
        )
        return 2
    return 0 if calibrations[0].is_shown else _NOT_SHOWN


def _calibrations(args: argparse.Namespace, labels: Labels) -> list[Calibration]:
    from draftcritic.calibrate._calibration import calibrate
    from draftcritic.calibrate._measure import population
    from draftcritic.replay._runs import read_runs

    costs = _costs(args.cost)
    for name in ("false_refuse", "miss"):
        bound = getattr(args, name)
        if bound is not None and not 0 < bound < 1:
            raise ValueError(f"--{name.replace('_', '-')} is {bound:g}; allowed is a share between 0 and 1, e.g. 0.01")
    first = population(read_runs(args.runs), labels)
    if not first.labelled:
        unread = f"; {labels.problems[0]}; `draftcritic label --import` reads other forms" if labels.problems else ""
        raise ValueError(f"no label of {', '.join(map(str, args.labels))} is about a draft of {args.runs}{unread}")
    found = [first]
    if args.compare is not None:
        # The drafts were drawn by what the first critic said of them.
        strata = {draft.turn_id: draft.stratum for draft in first.drafts}
        found.append(population(read_runs(args.compare), labels, strata))
    titles = [path.name for path in (args.runs, args.compare) if path is not None]
    return [
        calibrate(one, title, false_refuse=args.false_refuse, miss=args.miss, costs=costs)
        for one, title in zip(found, titles, strict=True)
    ]


def _costs(text: str) -> Costs:
    from draftcritic.calibrate._thresholds import Costs

    given: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, number = part.partition("=")
        if name.strip() not in _COSTS:
            raise ValueError(f"--cost has {name.strip()!r}; allowed are {', '.join(_COSTS)}")
        try:
            given[name.strip()] = float(number)
        except ValueError:
            raise ValueError(f"--cost {name.strip()} is {number!r}; allowed is a number") from None
    return Costs(**given)


def _write_report(path: Path, calibrations: list[Calibration]) -> None:
    from draftcritic.calibrate._report import report_html

    html = report_html(calibrations)
    descriptor = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(html)
    print(f"report: {path}")


def _write_threshold(path: Path, found: Calibration) -> None:
    from draftcritic.calibrate._thresholds import write_threshold

    if found.best is None:
        print("no threshold keeps the bound with these labels; nothing is written", file=sys.stderr)
        return
    write_threshold(path, found.best)
    print(f"written to {path}: fabrication_refuse_threshold = {min(1.0, found.best.threshold):g}")
