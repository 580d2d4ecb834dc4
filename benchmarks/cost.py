"""What a review sends, for several settings: how often the gate fires, and how long the prompts are. No model is asked.

    python benchmarks/cost.py --turns turns.jsonl.gz

The rows have the fields of `draftcritic.evaluate`. Tokens are estimated at four characters a token.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from draftcritic.core import Earlier, EvidenceScope, Examples, GateDecision, Policy, Turn, assess
from draftcritic.core._doubts import questions
from draftcritic.core._evidence_blocks import evidence_of
from draftcritic.review._reflection import prompt_of

_CHARACTERS = 4
"""Characters of English in a token, about."""
LEVERS: dict[str, Policy] = {
    "defaults (legacy gate, evidence = turn)": Policy(),
    "evidence = none": Policy(evidence=EvidenceScope.NONE),
    "evidence = conversation": Policy(evidence=EvidenceScope.CONVERSATION),
    "selective_gate": Policy(selective_gate=True),
    "confidence_threshold = 0.4": Policy(confidence_threshold=0.4),
    "examples = never": Policy(examples=Examples.NEVER),
    "examples = always": Policy(examples=Examples.ALWAYS),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each lever."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=Path, required=True, help="recorded turns, JSON lines, maybe gzipped")
    parser.add_argument("--model", default="gpt-4.1-mini", help="decides about worked examples (default gpt-4.1-mini)")
    args = parser.parse_args(arguments)
    turns = list(_turns(args.turns))
    print(
        f"{len(turns)} drafts\n\n| setting | asked, of 100 drafts | tokens of a prompt | of them fixed | a 100 drafts |"
    )
    print("| --- | --- | --- | --- | --- |")
    for name, policy in LEVERS.items():
        print(f"| {name} | {' | '.join(_measured(turns, policy, args.model))} |", flush=True)
    return 0


def _measured(turns: Sequence[Turn], policy: Policy, model: str) -> list[str]:
    sizes, fixed = [], []
    for turn in turns:
        assessment = assess(turn, policy)
        if assessment.decision is not GateDecision.FIRED:
            continue
        evidence = None
        if policy.evidence is not EvidenceScope.NONE:
            found = evidence_of(turn, policy)
            evidence = replace(found, findings=questions(assessment.findings or (), turn.draft, found))
        prompt = prompt_of(
            policy, draft=turn.draft, rules=policy.rules, sensitive_hit=None, evidence=evidence, model=model
        )
        sizes.append(prompt.size / _CHARACTERS)
        fixed.append((prompt.size - len(prompt.user.partition("\nBoundary: ")[2])) / _CHARACTERS)
    if not sizes:
        return ["0.0", "-", "-", "0"]
    share, mean = len(sizes) / len(turns), sum(sizes) / len(sizes)
    return [f"{100 * share:.1f}", f"{mean:.0f}", f"{sum(fixed) / len(fixed):.0f}", f"{100 * share * mean:.0f}"]


def _turns(path: Path) -> Iterator[Turn]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            earlier = tuple(_earlier(row.get("history") or ()))
            yield Turn(
                str(row["draft"]),
                user_message=str(row.get("user_message") or ""),
                tool_calls=tuple(row.get("tool_calls_this_turn") or ()),
                context="\n".join([str(row.get("system") or ""), *(message.text for message in earlier)]),
                system=str(row.get("system") or ""),
                earlier=earlier,
            )


def _earlier(history: Sequence[Any]) -> Iterator[Earlier]:
    for message in history:
        role = str(message.get("role") or "assistant") if isinstance(message, dict) else "assistant"
        content = message.get("content") if isinstance(message, dict) else message
        if content:
            yield Earlier(role, str(content))


if __name__ == "__main__":
    sys.exit(main())
