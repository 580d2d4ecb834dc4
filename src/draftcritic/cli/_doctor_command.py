"""`draftcritic doctor`: what keeps drafts from being reviewed, or reviews from arriving, and how to fix it."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from draftcritic.doctor import Finding

_EPILOG = """
Run it where the agent runs: same environment variables, same folder. With a command behind -- it starts that command
and looks inside it; the command gets SIGTERM as soon as the plugin is on there. The critic is not asked without --call.
Exit codes: 0 no fault, warnings included; 1 a fault; 2 the command line is wrong.
"""
_MARKS = {"ok": "ok     ", "note": "note   ", "warning": "WARNING", "fault": "FAULT  "}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `doctor` with its options."""
    parser = subparsers.add_parser("doctor", help="find what is wrong with a set-up, and how to fix it", epilog=_EPILOG)
    parser.add_argument("--call", action="store_true", help="ask the critic's model once; this costs money")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--seconds", type=float, default=30.0, metavar="N", help="how long COMMAND may run before it is stopped (30)"
    )
    # argparse takes the `--` away.
    parser.add_argument("agent", nargs="*", metavar="COMMAND", help="the command of the agent, behind --")


def run(args: argparse.Namespace) -> int:
    """Print all findings.

    Returns:
        0 when there is no fault, 1 when there is one.
    """
    from draftcritic.doctor import Level, examine

    # A console script does not look for modules here; an agent under opentelemetry-instrument does.
    if os.getcwd() not in sys.path:  # noqa: PTH109 - sys.path contains strings
        sys.path.insert(0, os.getcwd())  # noqa: PTH109
    found: list[Finding] = []
    for finding in examine(args.agent, calls=args.call, seconds=args.seconds):
        found.append(finding)
        if not args.json:
            _print(finding)
    faults = sum(finding.level is Level.FAULT for finding in found)
    warnings = sum(finding.level is Level.WARNING for finding in found)
    if args.json:
        findings = [{**asdict(finding), "level": finding.level.value} for finding in found]
        print(json.dumps({"faults": faults, "warnings": warnings, "findings": findings}, indent=2))
    else:
        print(f"\n{faults} faults, {warnings} warnings")
    return 1 if faults else 0


def _print(finding: Finding) -> None:
    print(f"{_MARKS[finding.level.value]} {finding.check}: {finding.message}", flush=True)
    if finding.remedy:
        print(f"        -> {finding.remedy}", flush=True)
