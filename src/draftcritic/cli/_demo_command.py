"""`draftcritic demo`: an agent that knows nothing of the critic, and what the critic said about it."""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from types import FrameType

_EPILOG = """
Without --model the agent and the critic talk over HTTP to a scripted server on loopback: nothing leaves
the machine and no key is needed. With OTEL_EXPORTER_OTLP_ENDPOINT set, telemetry goes there instead.
Every DRAFTCRITIC_ variable counts as usual, e.g. DRAFTCRITIC_MODE=gate.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `demo` with its options."""
    parser = subparsers.add_parser(
        "demo", help="run an unchanged agent, review its drafts, show the traces", epilog=_EPILOG
    )
    parser.add_argument("--save", type=Path, metavar="FILE", help="keep the received OTLP data as JSON lines")
    parser.add_argument("--model", metavar="PROVIDER:NAME", help="a real model for the agent")
    parser.add_argument(
        "--critic-model",
        metavar="PROVIDER:NAME",
        help="a real model for the critic; with --model alone, the agent's model is the critic's, too",
    )
    parser.add_argument("--base-url", metavar="URL", help="where the real models are served, in OpenAI's protocol")
    parser.add_argument(
        "--timeout", type=float, default=600.0, metavar="SECONDS", help="stop the agent after this long (600)"
    )


def run(args: argparse.Namespace) -> int:
    """Run the demo.

    Returns:
        0 when the agent ended well and reviews were received, 1 when not, 2 when the demo cannot run at all.
    """
    try:
        from draftcritic.demo._demo import DemoError, DemoOptions, run_demo
    except ModuleNotFoundError as missing:
        print(f"draftcritic demo needs {missing.name}: pip install 'draftcritic[demo]'", file=sys.stderr)
        return 2
    options = DemoOptions(
        model=args.model,
        critic_model=args.critic_model,
        base_url=args.base_url,
        save=args.save,
        timeout_s=args.timeout,
    )
    try:
        with orderly_termination():
            return run_demo(options)
    except DemoError as error:
        print(f"draftcritic demo: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


@contextmanager
def orderly_termination() -> Iterator[None]:
    """Let SIGTERM unwind the stack: without that, the agent would be left behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _terminated)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminated(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)
