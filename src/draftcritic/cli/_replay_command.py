"""`draftcritic replay`: review recorded turns again with another policy or model."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from draftcritic.core._policy import Policy
    from draftcritic.replay._cache import AnswerCache
    from draftcritic.replay._judge import ModelJudge
    from draftcritic.replay._remote import RemoteJudge
    from draftcritic.replay._replay import ReplayResult
    from draftcritic.replay._runs import Replayed
    from draftcritic.settings._model import Settings
    from draftcritic.turns._row import TurnRow

_EPILOG = """
Reads OTLP JSON lines, Jaeger, Phoenix, Langfuse, LangSmith, Inspect, tau2, or rows of draftcritic itself; the
format is detected from the content. Without --model no model is called. Exit code 3 when the money limit or failures
left drafts uncovered.
"""
_NOT_COVERED = 3
_CELERY = "celery"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `replay` with its options."""
    parser = subparsers.add_parser("replay", help="judge recorded turns again, with other settings", epilog=_EPILOG)
    parser.add_argument("sources", nargs="*", type=Path, metavar="SOURCE", help="a file or a folder of recorded turns")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="write a row for each turn")
    parser.add_argument("--config", type=Path, metavar="FILE", help="the settings to judge by; else those of here")
    parser.add_argument("--against", type=Path, metavar="FILE", help="settings to compare with, else the recording")
    parser.add_argument("--model", metavar="PROVIDER:NAME", help="ask this model where the gate fires")
    parser.add_argument("--max-usd", type=float, metavar="USD", help="with --model: spend no more in this run")
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help="keep the model's answers for the next run")
    parser.add_argument(
        "--dead-letters",
        action="store_true",
        help="judge the drafts that a fleet put aside, too: those of the settings' spool_dir and broker",
    )
    parser.add_argument(
        "--workers",
        type=_workers,
        default=1,
        metavar="N",
        help="processes, with --model threads (1); or `celery`: the workers of the fleet of the settings",
    )


def _workers(text: str) -> int | str:
    return _CELERY if text == _CELERY else int(text)


def run(args: argparse.Namespace) -> int:
    """Replay, and print what has changed.

    Returns:
        0; 2 when something cannot be read or the settings are wrong; 3 when the model did not cover all drafts.
    """
    from draftcritic.fleet._work import WorkError
    from draftcritic.replay._judge import BudgetError
    from draftcritic.replay._remote import RemoteError
    from draftcritic.settings._fields import SettingsError
    from draftcritic.turns._records import ReadError

    problem = _wrong(args)
    if problem:
        print(f"draftcritic replay: {problem}", file=sys.stderr)
        return 2
    try:
        result = _replayed(args)
    except (ReadError, SettingsError, BudgetError, RemoteError, WorkError, ValueError, OSError, ImportError) as error:
        print(f"draftcritic replay: {error}", file=sys.stderr)
        return 2
    print("\n".join([*result.read.lines(), *result.tally.lines(result.seconds)]))
    if result.spending is not None:
        print(f"{result.spending.calls} model calls in this run, {result.spending.usd:.4f} USD")
        if result.spending.stopped:
            print(f"stopped asking: {result.spending.stopped}; run the same command again to go on", file=sys.stderr)
    return _NOT_COVERED if result.tally.not_covered or result.tally.failures else 0


def _replayed(args: argparse.Namespace) -> ReplayResult:
    from draftcritic.cli._letters import dead_letters
    from draftcritic.replay._cache import AnswerCache
    from draftcritic.replay._remote import AT_ONCE
    from draftcritic.replay._replay import replay

    with ExitStack() as stack:
        cache = stack.enter_context(closing(AnswerCache(args.cache)))
        sources, taken = list(args.sources), None
        if args.dead_letters:
            path, said, taken = stack.enter_context(dead_letters(settings_of(args.config)))
            sources.append(path)
            print(said, file=sys.stderr)
        remote = stack.enter_context(_fleet(args)) if args.workers == _CELERY else None
        on_progress = stack.enter_context(_progress())
        reflect = None if remote is None else remote.judge
        result = replay(
            sources,
            args.out,
            partial(policy_of, args.config),
            make_against=None if args.against is None else partial(policy_of, args.against),
            model=model_judge(args.model, args.config, cache, args.max_usd, reflect) if args.model else None,
            remote=remote,
            workers=AT_ONCE if remote else args.workers,
            on_progress=on_progress,
        )
        if taken is not None:
            taken()
    return result


@contextmanager
def _fleet(args: argparse.Namespace) -> Iterator[RemoteJudge]:
    """Hand over what asks the workers of the settings' fleet.

    Raises:
        ValueError: no settings name a broker, or the policy cannot travel.
        WorkError: the broker does not answer.
    """
    from draftcritic._deliveries import queue_of
    from draftcritic.cli._replay_models import model_name
    from draftcritic.fleet._cipher import Cipher
    from draftcritic.fleet._work import Workers
    from draftcritic.replay._remote import RemoteJudge

    settings = settings_of(args.config)
    here = settings if settings.broker is not None else settings_of(None)
    if here.broker is None:
        raise ValueError("--workers celery needs the setting `broker`, as the fleet's agents and workers have it")
    name = model_name(args.model, settings.model_kwargs) if args.model else ""
    against = None if args.model or args.against is None else policy_of(args.against)
    with closing(Workers(queue_of(here), Cipher(here.fleet_key))) as workers:
        yield RemoteJudge(workers.ask, settings.policy(), against, name)


def _wrong(args: argparse.Namespace) -> str:
    if not args.sources and not args.dead_letters:
        return "no SOURCE is given; name a file of recorded turns, or give --dead-letters"
    if args.workers != _CELERY and args.workers < 1:
        return f"--workers is {args.workers}; allowed is a number from 1, or celery"
    if not args.model and (args.max_usd is not None or args.cache is not None):
        return "--max-usd and --cache are for --model, which is not given"
    return "" if args.max_usd is None or args.max_usd > 0 else f"--max-usd is {args.max_usd:g}; allowed is above 0"


def policy_of(config: Path | None) -> Policy:
    """Return the policy of a file of settings, or of the settings of here."""
    return settings_of(config).policy()


def settings_of(config: Path | None) -> Settings:
    """Return the settings of a file, or those of here."""
    from draftcritic.settings._model import Settings

    return Settings.load() if config is None else Settings.load({}, config=config)


def model_judge(
    model: str,
    config: Path | None,
    cache: AnswerCache,
    max_usd: float | None = None,
    reflect: Callable[[TurnRow], Replayed] | None = None,
) -> ModelJudge:
    """Return what asks a model by the settings of a file, or of here; with `reflect`, elsewhere."""
    from draftcritic.cli._replay_models import critic_model, model_name
    from draftcritic.replay._judge import ModelJudge

    settings = settings_of(config)
    kwargs = dict(settings.model_kwargs)
    make = partial(critic_model, model, kwargs)
    return ModelJudge(settings.policy(), make, model_name(model, kwargs), cache, max_usd, reflect=reflect)


@contextmanager
def _progress() -> Iterator[Callable[[int], None]]:
    """Show how many turns are done, when somebody looks at a terminal and rich is installed."""
    try:
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    except ModuleNotFoundError:
        yield lambda _: None
        return
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.completed} turns"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("replay", total=None)
        yield lambda done: progress.update(task, completed=done)
