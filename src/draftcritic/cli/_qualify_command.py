"""`draftcritic qualify`: whether a critic's model judges well enough to enforce."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from draftcritic.core._policy import Policy
    from draftcritic.langchain._critic_model import ChatModelCritic
    from draftcritic.qualify._scores import Answered, Scores
    from draftcritic.qualify._trial import Trial

_DRAFTS = 64
_NOT_FIT = 3
_EPILOG = """
The drafts are made by draftcritic; nothing of yours is sent but, with --config, your rules and your template.
Exit code 0 when the model is fit to enforce, 3 when it is not.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `qualify` with its options."""
    parser = subparsers.add_parser("qualify", help="say whether a critic's model is fit to enforce", epilog=_EPILOG)
    parser.add_argument("--model", metavar="PROVIDER:NAME", help="the model; else the one of the settings")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings with your rules and template")
    parser.add_argument("--drafts", type=int, default=_DRAFTS, help=f"how many drafts to ask about (default {_DRAFTS})")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds of a call (default 60)")


def run(args: argparse.Namespace) -> int:
    """Ask the model, and print its scores.

    Returns:
        0 when the model is fit to enforce, 3 when it is not, 2 when it cannot be asked.
    """
    from draftcritic.qualify._made_cases import made_cases
    from draftcritic.qualify._scores import fitness_of
    from draftcritic.qualify._trial import Variant, run_trial
    from draftcritic.settings._fields import SettingsError

    if args.drafts < 1:
        print("draftcritic qualify: --drafts is below 1", file=sys.stderr)
        return 2
    try:
        model, own = _model(args)
        cases = made_cases(args.drafts)
        trial = run_trial(lambda: model, cases, Variant(own=own), timeout=args.timeout, on_answer=_progress)
    except (SettingsError, ValueError, OSError, ImportError) as error:
        print(f"draftcritic qualify: {error}", file=sys.stderr)
        return 2
    print("\n".join(_lines(trial.scores)))
    fitness, sku = fitness_of(trial.scores), _sku_of(trial)
    if not fitness.fit:
        print(f"{sku} is not fit to enforce: {'; '.join(fitness.reasons)}")
        return _NOT_FIT
    print(f'{sku} is fit to enforce. Setting: qualified_models = ["{sku}"]')
    return 0


def _model(args: argparse.Namespace) -> tuple[ChatModelCritic, Policy | None]:
    from langchain.chat_models import init_chat_model

    from draftcritic.langchain._critic_model import ChatModelCritic
    from draftcritic.settings._model import Settings

    settings = Settings.load() if args.config is None else Settings.load({}, config=args.config)
    named = args.model or settings.model
    if not isinstance(named, str):
        raise ValueError(  # noqa: TRY004 - a setting is missing
            "no model is named: give --model PROVIDER:NAME, or set `model`"
        )
    made: Any = init_chat_model(named, **settings.model_kwargs)
    return ChatModelCritic(made, requested=named.partition(":")[2]), settings.policy() if args.config else None


def _progress(answered: Answered) -> None:
    print("." if answered.verdict else "!", end="", flush=True, file=sys.stderr)


def _sku_of(trial: Trial) -> str:
    return next((answer.sku for answer in trial.answers if answer.sku), "unknown")


def _lines(scores: Scores) -> list[str]:
    tokens = [
        "unknown" if each is None else f"{each:.0f}"
        for each in (scores.input_tokens, scores.cached_tokens, scores.output_tokens)
    ]
    return [
        "",
        f"errors caught:            {scores.caught}",
        f"right drafts flagged:     {scores.flagged}",
        f"false findings dismissed: {scores.dismissed}",
        f"made-up quotes:           {scores.misquoted}",
        f"no verdict:               {scores.failed}",
        f"tokens a draft:           {tokens[0]} in ({tokens[1]} of them cached), {tokens[2]} out",
        f"seconds a draft:          {scores.seconds:.1f}",
    ]
