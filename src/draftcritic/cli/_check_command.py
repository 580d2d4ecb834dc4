"""`draftcritic check`: policy tests for CI."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from draftcritic.cli._replay_command import model_judge, policy_of

if TYPE_CHECKING:
    import argparse

    from draftcritic.check._case import Outcome

_EPILOG = """
A case is a line of JSON: {"name": "...", "draft": "...", "messages": [...], "expect": {"gate": "fired"}}.
Expected may be gate, reason, verdict, released, findings, no_findings and rules.
Exit code 1 when a case is not as expected.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `check` with its options."""
    parser = subparsers.add_parser("check", help="test a policy on drafts with expected verdicts", epilog=_EPILOG)
    parser.add_argument("cases", nargs="*", type=Path, metavar="CASES", help="files of cases; none: those shipped")
    parser.add_argument("--config", type=Path, metavar="FILE", help="the settings to test; else those of here")
    parser.add_argument("--model", metavar="PROVIDER:NAME", help="ask this model where the gate fires")
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help="with --model: keep its answers")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write the results as JUnit XML")


def run(args: argparse.Namespace) -> int:
    """Check, and print what is not as expected.

    Returns:
        0 when all cases pass, 1 when not, 2 when something cannot be read or the settings are wrong.
    """
    from draftcritic.check._junit import junit_xml
    from draftcritic.settings._fields import SettingsError
    from draftcritic.turns._records import ReadError

    try:
        outcomes = _outcomes(args)
        if args.junit is not None:
            args.junit.write_text(junit_xml(outcomes, "draftcritic"), encoding="utf-8")
    except (ReadError, SettingsError, ValueError, OSError, ImportError) as error:
        print(f"draftcritic check: {error}", file=sys.stderr)
        return 2
    failed = [outcome for outcome in outcomes if not outcome.passed]
    for outcome in failed:
        print(f"FAILED {outcome.case.name}: {'; '.join(outcome.problems)}")
    print(f"{len(outcomes) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


def _outcomes(args: argparse.Namespace) -> list[Outcome]:
    from draftcritic.check._case import check_cases, read_cases, shipped_cases
    from draftcritic.replay._cache import AnswerCache
    from draftcritic.replay._judge import Judge

    cases = [case for path in args.cases for case in read_cases(path)] if args.cases else shipped_cases()
    if not args.model:
        return check_cases(cases, Judge(policy_of(args.config)))
    with closing(AnswerCache(args.cache)) as cache:
        return check_cases(cases, model_judge(args.model, args.config, cache))
