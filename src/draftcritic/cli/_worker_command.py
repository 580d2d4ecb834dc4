"""`draftcritic worker`: review the drafts of a fleet's queue."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from draftcritic.fleet._worker import DraftReviewer
    from draftcritic.settings._model import Settings

_EPILOG = """
Reads the same settings as the agents; policy and critic model are those of the worker. Start it under
`opentelemetry-instrument` to export what it records. It ends with SIGTERM, after the reviews under way.
"""
_EXPORT_S = 15.0
"""Seconds that the end of a process gives to the exports of traces, metrics and log records together."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `worker` with its options."""
    parser = subparsers.add_parser("worker", help="review the drafts of a fleet's queue", epilog=_EPILOG)
    parser.add_argument("--concurrency", type=int, default=1, metavar="N", help="processes that review (1)")
    parser.add_argument(
        "--no-replay", action="store_true", help="leave the turns of `draftcritic replay --workers celery` to others"
    )


def run(args: argparse.Namespace) -> int:
    """Serve until a signal.

    Returns:
        0; 2 when a setting is wrong or a package is missing.
    """
    from draftcritic.settings._fields import SettingsError
    from draftcritic.settings._model import Settings

    try:
        settings = Settings.load(delivery="memory")
    except SettingsError as error:
        print(f"draftcritic worker: {error}", file=sys.stderr)
        return 2
    problem = _wrong(args, settings)
    if problem:
        print(f"draftcritic worker: {problem}", file=sys.stderr)
        return 2
    from draftcritic._deliveries import queue_of
    from draftcritic.fleet._cipher import Cipher
    from draftcritic.fleet._worker import serve

    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s %(message)s")
    _stop_plugin()
    try:
        return serve(
            queue_of(settings),
            lambda: _reviewer(settings),
            args.concurrency,
            work=None if args.no_replay else lambda: _answer(settings),
            cipher=Cipher(settings.fleet_key),
            on_end=_flush,
        )
    except ImportError as error:
        print(f"draftcritic worker: {error}; pip install 'draftcritic[fleet]'", file=sys.stderr)
        return 2


def _wrong(args: argparse.Namespace, settings: Settings) -> str:
    from draftcritic.core._enums import Mode

    if not 1 <= args.concurrency <= 64:
        return f"--concurrency is {args.concurrency}; allowed is a number from 1 to 64"
    if settings.broker is None:
        return "broker is not set; set `broker` to amqps://host/vhost, with the user before the host"
    if settings.mode is Mode.ENFORCE:
        return "mode = enforce holds each draft back in its own process; set mode = observe for the worker"
    if settings.model is None and settings.mode is Mode.OBSERVE:
        return "model is not set; a worker has no model of a draft to ask, so set `model` to provider:name"
    return ""


def _stop_plugin() -> None:
    """Take off what `opentelemetry-instrument` has started: a worker reviews drafts, and writes none."""
    from draftcritic.instrumentor import DraftCriticInstrumentor

    plugin = DraftCriticInstrumentor()
    if plugin.is_instrumented_by_opentelemetry:
        plugin.uninstrument()


def _reviewer(settings: Settings) -> DraftReviewer:
    """Return what reviews drafts in a process of the worker."""
    from draftcritic._deliveries import store_of
    from draftcritic._observers import recorder_of, with_turns
    from draftcritic._runtime import Runtime
    from draftcritic.fleet._cipher import Cipher
    from draftcritic.fleet._done import DoneReviews
    from draftcritic.fleet._worker import DraftReviewer

    observer, _ = with_turns(settings, recorder_of(settings))
    runtime = Runtime(settings, observer)
    done = DoneReviews(settings.fleet, settings.spool_hours * 3600, store_of(settings))
    return DraftReviewer(runtime, done, Cipher(settings.fleet_key))


def _answer(settings: Settings) -> Callable[[bytes], bytes]:
    """Return what judges the turns of replays in a process of the worker."""
    from draftcritic.cli._replay_models import critic_model, model_name
    from draftcritic.replay._answering import Answering

    name, kwargs = settings.model or "", dict(settings.model_kwargs)
    return Answering(model_name(name, kwargs) if name else "", lambda: critic_model(name, kwargs)).answer


def _flush() -> None:
    """Export what telemetry has buffered."""
    from draftcritic.telemetry._export import export_all, providers_of

    export_all(providers_of({}), _EXPORT_S)
