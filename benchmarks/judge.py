"""How well a critic's model judges labelled drafts, for several ways to ask it.

    python benchmarks/judge.py --model openai:gpt-4.1-mini
    python benchmarks/judge.py --model openai:real --base-url http://127.0.0.1:8033/v1 --drafts 24 \
        --variants none,evidence+doubts

The drafts are made by the project (`draftcritic.qualify`): planted errors of eight kinds with a right twin of each, and
right drafts that a check takes for wrong. Prompts are improved on the half `develop` and judged on the half `report`.
Intervals are Wilson's, of 95 %.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from draftcritic.langchain import ChatModelCritic
from draftcritic.qualify import HALVES, KINDS, Scores, Trial, Variant, made_cases, run_trial

VARIANTS: dict[str, Variant] = {
    "none": Variant(evidence=False, doubts=False),
    "evidence": Variant(doubts=False),
    "evidence+doubts": Variant(),
    "none, no examples": Variant(evidence=False, doubts=False, examples=False),
    "evidence+doubts, no examples": Variant(examples=False),
    "evidence+doubts, examples": Variant(examples=True),
}
"""`none` is the draft and the rules alone."""
_HEADS = ("caught", "falsely flagged", "dismissed", "misquoted", "no verdict", "tokens in/cached/out", "s")


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask, and print a table for each variant as soon as it is complete."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, metavar="PROVIDER:NAME", help="the critic's model")
    parser.add_argument("--base-url", help="where the model is served, for a server of your own")
    parser.add_argument("--drafts", type=int, default=200, help="how many drafts (default 200)")
    parser.add_argument("--half", choices=HALVES, default=HALVES[1], help="which half of the templates")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds of a call")
    parser.add_argument("--variants", default="none,evidence,evidence+doubts", help=f"of: {'; '.join(VARIANTS)}")
    parser.add_argument("--show", action="store_true", help="print each answer as it comes")
    args = parser.parse_args(arguments)
    names = _names(args.variants)
    cases = made_cases(args.drafts, half=args.half, seed=args.seed)
    model = _model(args.model, args.base_url)
    print(f"{len(cases)} drafts of the half {args.half}, seed {args.seed}, asked of {args.model}", flush=True)
    for name in names:
        began = time.monotonic()
        shown = partial(_show, name) if args.show else _silent
        trial = run_trial(lambda: model, cases, VARIANTS[name], timeout=args.timeout, on_answer=shown)
        print(f"\n## {name} ({time.monotonic() - began:.0f} s)\n")
        print(table(trial), flush=True)
    return 0


def table(trial: Trial) -> str:
    """Return the scores of a trial as a table in Markdown: a line for each kind of error, and one for all."""
    lines = [f"| kind | {' | '.join(_HEADS)} |", "| --- " * (len(_HEADS) + 1) + "|"]
    lines += [
        _row(kind, trial.of_kind(kind)) for kind in KINDS if any(each.case.kind == kind for each in trial.answers)
    ]
    return "\n".join([*lines, _row("all", trial.scores)])


def _row(name: str, scores: Scores) -> str:
    tokens = (scores.input_tokens, scores.cached_tokens, scores.output_tokens)
    said = "/".join("-" if each is None else f"{each:.0f}" for each in tokens)
    shares = (scores.caught, scores.flagged, scores.dismissed, scores.misquoted, scores.failed)
    return f"| {name} | {' | '.join(map(str, shares))} | {said} | {scores.seconds:.1f} |"


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.replace(";", ",").split(",")]
    joined: list[str] = []
    for name in names:
        # Some names have a comma of their own.
        if joined and f"{joined[-1]}, {name}" in VARIANTS:
            joined[-1] = f"{joined[-1]}, {name}"
        else:
            joined.append(name)
    if unknown := [name for name in joined if name not in VARIANTS]:
        sys.exit(f"unknown variants {', '.join(unknown)}; known are {'; '.join(VARIANTS)}")
    return joined


def _model(name: str, base_url: str | None) -> ChatModelCritic:
    from langchain.chat_models import init_chat_model

    given: dict[str, Any] = {"temperature": 0, "max_retries": 0}
    if base_url:
        given |= {"base_url": base_url, "api_key": "not-needed"}
    return ChatModelCritic(init_chat_model(name, **given), requested=name.partition(":")[2])


def _silent(_: Any) -> None:
    return


def _show(variant: str, answered: Any) -> None:
    case = answered.case
    label = "bad" if case.bad else "false finding" if case.finding else "good"
    said = answered.verdict or answered.failure
    print(f"{variant} | {case.kind} | {label} | {said} | {answered.seconds:.1f} s", flush=True)


if __name__ == "__main__":
    _main: Callable[[], int] = main
    sys.exit(_main())
