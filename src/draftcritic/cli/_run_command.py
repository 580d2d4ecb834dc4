"""`draftcritic run`: an agent with its reviews in the terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from draftcritic.cli._demo_command import orderly_termination

if TYPE_CHECKING:
    import argparse

_EPILOG = """
Example: draftcritic run -- python agent.py
The agent runs under opentelemetry-instrument and sends its telemetry to this command alone; nothing goes to a backend.
Every DRAFTCRITIC_ variable counts as usual. The exit code is the agent's, or 1 when no review was received.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `run` with its options."""
    parser = subparsers.add_parser(
        "run", help="run your agent and show its reviews in the terminal, without a backend", epilog=_EPILOG
    )
    parser.add_argument("--save", type=Path, metavar="FILE", help="keep the received OTLP data as JSON lines")
    parser.add_argument("agent", nargs="+", metavar="COMMAND", help="the command of the agent, behind --")


def run(args: argparse.Namespace) -> int:
    """Run the agent.

    Returns:
        The agent's exit code; 1 when no review was received; 2 when it cannot be started.
    """
    try:
        from draftcritic.demo._demo import DemoError
        from draftcritic.demo._run import run_agent
    except ModuleNotFoundError as missing:
        print(f"draftcritic run needs {missing.name}: pip install 'draftcritic[demo]'", file=sys.stderr)
        return 2
    try:
        with orderly_termination():
            return run_agent(args.agent, save=args.save)
    except DemoError as error:
        print(f"draftcritic run: {error}", file=sys.stderr)
        return 2
