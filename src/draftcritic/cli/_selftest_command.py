"""`draftcritic selftest`: whether the critic finds errors that were put into approved drafts."""

from __future__ import annotations

import sys
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from draftcritic.selftest._recall import Report

_CANARIES = 50
_DRAFTS = 5_000
"""Approved drafts that are read: enough to find canaries of each kind, and bounded in memory."""
_LEAST = 0.5
_FAILED, _NOT_SHOWN = 1, 3
_EXPORT_S = 10.0
_EPILOG = """
Reads a file that `draftcritic replay --model` wrote, or a replay of a recording with its verdicts. Damages approved
drafts (another digit, a negation dropped, their tool calls removed, a rule broken), asks the critic about them and
about the undamaged drafts, and prints what it finds. Started under opentelemetry-instrument it also writes the metric
draftcritic.selftest.recall. Exit code 0 when the critic passes; 1 when the data show that it does not, or another
model answers than the one that approved; 3 when there were too few answers to say.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `selftest` with its options."""
    parser = subparsers.add_parser("selftest", help="ask the critic about drafts with known errors", epilog=_EPILOG)
    parser.add_argument("--from", dest="runs", type=Path, required=True, metavar="RUNS", help="a file of a replay")
    parser.add_argument("-n", type=int, default=_CANARIES, help=f"damaged drafts to ask about (default {_CANARIES})")
    parser.add_argument("--model", metavar="PROVIDER:NAME", help="the critic's model; else the one of the settings")
    parser.add_argument("--config", type=Path, metavar="FILE", help="the critic's settings; else those of here")
    parser.add_argument("--max-usd", type=float, metavar="USD", help="spend no more in this run")
    parser.add_argument("--least", type=float, default=_LEAST, help=f"the recall to reach, 0 to 1 (default {_LEAST})")
    parser.add_argument("--seed", type=int, default=1, help="chooses how the drafts are damaged (default 1)")


def run(args: argparse.Namespace) -> int:
    """Ask the critic, and print what it found.

    Returns:
        0 when it passes, 1 when it does not, 2 when it cannot be asked, 3 when too few answers were had to say.
    """
    from draftcritic.replay._judge import BudgetError
    from draftcritic.selftest._recall import FEWEST
    from draftcritic.settings._fields import SettingsError
    from draftcritic.turns._records import ReadError

    problem = _wrong(args)
    if problem:
        print(f"draftcritic selftest: {problem}", file=sys.stderr)
        return 2
    try:
        report = _report(args)
    except (ReadError, SettingsError, BudgetError, ValueError, OSError, ImportError) as error:
        print(f"draftcritic selftest: {error}", file=sys.stderr)
        return 2
    print("\n".join(report.lines()))
    _export(report)
    problems = list(report.problems(args.least))
    for each in problems:
        print(f"the critic fails: {each}")
    if problems:
        return _FAILED
    if report.recall().total < FEWEST:
        print(f"too few answers to say: {report.recall().total}, and {FEWEST} are needed")
        return _NOT_SHOWN
    return 0


def _wrong(args: argparse.Namespace) -> str:
    if args.n < 1:
        return f"-n is {args.n}; allowed is a number from 1"
    if not 0 <= args.least <= 1:
        return f"--least is {args.least:g}; allowed is 0 to 1"
    return "" if args.max_usd is None or args.max_usd > 0 else f"--max-usd is {args.max_usd:g}; allowed is above 0"


def _report(args: argparse.Namespace) -> Report:
    from draftcritic.cli._replay_command import settings_of
    from draftcritic.cli._replay_models import critic_model, model_name
    from draftcritic.replay._cache import AnswerCache
    from draftcritic.replay._judge import ModelJudge
    from draftcritic.replay._runs import read_runs
    from draftcritic.selftest._canary_run import SelfTest, approved

    settings = settings_of(args.config)
    name = args.model or settings.model
    if not isinstance(name, str):
        raise ValueError(  # noqa: TRY004 - a setting is missing
            "no model is named: give --model PROVIDER:NAME, or set `model`"
        )
    drafts = list(islice(approved(read_runs(args.runs)), _DRAFTS))
    if not drafts:
        raise ValueError(
            f"{args.runs} has no draft that a critic's model approved; make one with `draftcritic replay --model`"
        )
    kwargs = dict(settings.model_kwargs)
    # No answer of an earlier run is taken: the test is about the model of now.
    with closing(AnswerCache(None)) as cache:
        judge = ModelJudge(
            SelfTest.policy_for(settings.policy()),
            partial(critic_model, name, kwargs),
            model_name(name, kwargs),
            cache,
            args.max_usd,
        )
        return SelfTest(judge, args.seed).run(drafts, args.n)


def _export(report: Report) -> None:
    from draftcritic.telemetry._export import export_all, providers_of
    from draftcritic.telemetry._selftest import record_recall

    shares = {kind: report.recall(kind).rate for kind in report.kinds}
    if not shares:
        return
    record_recall(shares, ", ".join(sorted(report.skus)))
    export_all(providers_of({})[1:2], _EXPORT_S)
