"""Parses the command line and hands over to one command."""

from __future__ import annotations

import argparse
import importlib.metadata
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from draftcritic._stdout import run_command
from draftcritic.cli import _calibrate_command as _calibrate
from draftcritic.cli import _check_command as _check
from draftcritic.cli import _demo_command as _demo
from draftcritic.cli import _doctor_command as _doctor
from draftcritic.cli import _label_command as _label
from draftcritic.cli import _purge_command as _purge
from draftcritic.cli import _qualify_command as _qualify
from draftcritic.cli import _replay_command as _replay
from draftcritic.cli import _run_command as _run
from draftcritic.cli import _schema_command as _schema
from draftcritic.cli import _selftest_command as _selftest
from draftcritic.cli import _settings_command as _settings
from draftcritic.cli import _worker_command as _worker

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

_EPILOG = """
exit codes: 0 it worked; 1 it ran and did not succeed; 2 the command line or a setting is wrong,
or something that the command needs is not installed; 3 the data do not show what was asked for; 130 interrupted
"""


class _Command(Protocol):
    def add_parser(self, subparsers: Subparsers) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


_COMMANDS: dict[str, _Command] = {
    "demo": _demo,
    "run": _run,
    "doctor": _doctor,
    "settings": _settings,
    "schema": _schema,
    "replay": _replay,
    "label": _label,
    "calibrate": _calibrate,
    "check": _check,
    "purge": _purge,
    "qualify": _qualify,
    "selftest": _selftest,
    "worker": _worker,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: the command line without the program's name; by default the process's own.

    Returns:
        The exit code: 0 when it worked, 1 when it ran and did not succeed, 2 when the command line or a setting is
        wrong or something is not installed, 130 when it was interrupted.
    """
    parser = _parser()
    args = parser.parse_args(arguments)
    if args.command is None:
        parser.print_help(sys.stderr)
        return 2
    command = _COMMANDS[args.command]
    try:
        return run_command(lambda: command.run(args))
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="draftcritic",
        description="Reviews every draft answer of a LangChain or LangGraph agent.",
        epilog=_EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {_version()}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for command in _COMMANDS.values():
        command.add_parser(subparsers)
    return parser


def _version() -> str:
    try:
        return importlib.metadata.version("draftcritic")
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"
