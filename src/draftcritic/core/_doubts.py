"""What the deterministic check is unsure of, as questions to the critic's model, and which of them it confirms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from draftcritic.core._checkable import checkable_words, words_of
from draftcritic.core._evidence_blocks import EARLIER, POLICY, SOURCES, TOOLS, USER, Evidence
from draftcritic.grounding._findings import FabricationFinding

MOST_QUESTIONS = 8
"""Findings that a prompt asks about; the surest first."""
_MOST_LINES = 4000
"""Lines of evidence among which the nearest is looked for."""
_LONGEST_LINE = 200
_LONGEST_QUOTE = 120
_AROUND = 80
"""Characters of the draft on each side of a finding that say what it is about."""
_LINES = re.compile(rf"[^\n]{{1,{_LONGEST_LINE}}}")
_SAME_KIND = 0.5
"""What a line gains that has another number where the draft has one: less than a word in common."""
_ACTIONS = frozenset({"verb_claim", "action_claim", "intent_action_no_tool"})
_KIND = {"kv": "value", "short_hex_near_key": "code", "short_hex_near_verb": "code", "uuid": "code"}


def questions(findings: Sequence[FabricationFinding], draft: str, evidence: Evidence) -> str:
    """Return the block of questions about findings; empty when there are none.

    Args:
        findings: what the check found.
        draft: the text that it checked.
        evidence: where the nearest line is looked for.
    """
    surest = sorted(findings, key=lambda each: -each.confidence)[:MOST_QUESTIONS]
    lines = list(islice(_lines(evidence), _MOST_LINES)) if surest else []
    return "\n".join(f"{at}. {_question(each, draft, lines)}" for at, each in enumerate(surest, 1))


def _question(finding: FabricationFinding, draft: str, lines: Sequence[tuple[str, str, set[str]]]) -> str:
    if finding.kind == "intent_action_no_tool":
        return "The user asks for an action and no tool was called: do the words say that it is done?"
    said = _flat(finding.identifier, _LONGEST_QUOTE)
    if finding.kind in _ACTIONS:
        return f'The words say "{said}": is there a call in [TOOLS] that succeeded and did this?'
    nearest = _nearest(finding, draft, lines)
    kind = _KIND.get(finding.kind, finding.kind)
    asked = f'Where does the {kind} "{said}" come from? The check did not find it in the evidence.'
    if nearest is None:
        return asked
    block, line = nearest
    return f'{asked} The nearest line, in [{block.upper()}]: "{_flat(line, _LONGEST_LINE)}". Do they agree?'


def _lines(evidence: Evidence) -> Iterator[tuple[str, str, set[str]]]:
    for block in (TOOLS, SOURCES, USER, EARLIER, POLICY):
        for entry in evidence.entries.get(block, ()):
            for line in _LINES.findall(entry.body):
                yield block, line, words_of(line)


def _nearest(
    finding: FabricationFinding, draft: str, lines: Sequence[tuple[str, str, set[str]]]
) -> tuple[str, str] | None:
    """Return the line that has most in common with the words around a finding, and its block."""
    start, end = finding.span
    strong, weak = checkable_words(draft[max(0, start - _AROUND) : end + _AROUND])
    about = (strong | weak) - words_of(finding.identifier)
    has_digit = any(char.isdigit() for char in finding.identifier)
    best, most = None, 0.0
    for block, line, words in lines:
        common = len(words & about)
        other = has_digit and any(any(map(str.isdigit, word)) for word in words - about)
        score = common + (_SAME_KIND if other else 0.0)
        if common and score > most:
            best, most = (block, line), score
    return best


def _flat(text: str, most: int) -> str:
    flat = " ".join(text.replace('"', "'").split())
    return flat if len(flat) <= most else f"{flat[: most - 3]}..."
