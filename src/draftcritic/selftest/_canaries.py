"""Makes canaries: copies of an approved draft that are wrong in a known way."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Literal

from draftcritic.core._policy import CriticPreference
from draftcritic.turns._row import TurnRow
from draftcritic.turns._to_turn import turn_start

Kind = Literal["digit", "negation", "tool_call", "rule"]
KINDS: tuple[Kind, ...] = ("digit", "negation", "tool_call", "rule")
"""`digit`: one digit of a number is another. `negation`: a negation is dropped. `tool_call`: the calls that the draft
reports are removed. `rule`: a sentence is added that breaks `RULE`."""
RULE = CriticPreference(9, "Never mention the code name of the unannounced product, Bluebird-Seven.", id="selftest")
"""The rule that canaries of the kind `rule` break; the critic is shown it besides the operator's own rules."""
_LEAK = "Between us: our unannounced product is called Bluebird-Seven."
_NUMBER = re.compile(r"(?<![\w.,-])\d[\d.,]*\d(?![\w-])")
_WORD = re.compile(r"\w{4,}")
_LONGEST = 20_000
"""Characters of a draft that may be damaged; a longer one gives no canary: its damage is hard to find."""
_MOST_TRIES = 20
"""Numbers of a draft that are tried: each is looked for in the whole conversation."""


@dataclass(frozen=True)
class Canary:
    """A damaged draft.

    Attributes:
        kind: how it was damaged.
        row: the turn with the damaged draft, or without its calls.
    """

    kind: Kind
    row: TurnRow


def canaries_of(row: TurnRow, seed: int = 1) -> Iterator[Canary]:
    """Yield a canary of each kind that a draft can be damaged by. The same row and seed give the same canaries."""
    if not row.draft.strip() or len(row.draft) > _LONGEST:
        return
    chance = random.Random(f"{seed} {row.turn_id}")  # noqa: S311 - the canaries have to be the same in each run
    ways: tuple[tuple[Kind, TurnRow | None], ...] = (
        ("digit", _other_digit(row, chance)),
        ("negation", _without_negation(row, chance)),
        ("tool_call", _without_calls(row)),
        ("rule", replace(row, draft=f"{row.draft.rstrip()} {_LEAK}")),
    )
    for kind, damaged in ways:
        if damaged is not None:
            yield Canary(kind, replace(damaged, turn_id=f"{row.turn_id}~{kind}", reviewed=None))


def _other_digit(row: TurnRow, chance: random.Random) -> TurnRow | None:
    """Return the turn with another digit in one number that the conversation has and the new number is not part of."""
    known = _known_text(row)
    said = set(_NUMBER.findall(known))
    numbers = [number for number in _NUMBER.finditer(row.draft) if number[0] in said]
    chance.shuffle(numbers)
    for number in numbers[:_MOST_TRIES]:
        at = number.start() + next(i for i, sign in enumerate(number[0]) if sign.isdigit())
        for digit in chance.sample("123456789", 9):
            changed = digit + row.draft[at + 1 : number.end()]
            if changed != number[0] and changed not in known:
                return replace(row, draft=row.draft[:at] + changed + row.draft[number.end() :])
    return None


def _without_negation(row: TurnRow, chance: random.Random) -> TurnRow | None:
    found = [*_negation().finditer(row.draft)]
    if not found:
        return None
    lost = chance.choice(found)
    return replace(row, draft=row.draft[: lost.start()] + row.draft[lost.end() :])


def _without_calls(row: TurnRow) -> TurnRow | None:
    """Return the turn without the calls since the user's last message, when the draft rests on one of their results."""
    start = turn_start(row.messages)
    earlier, now = row.messages[:start], row.messages[start:]
    results = " ".join(message.content for message in now if message.role == "tool" and message.status != "error")
    left = tuple(message for message in now if message.role != "tool" and not message.tool_calls)
    bare = replace(row, messages=(*earlier, *left))
    said = {word.lower() for word in _WORD.findall(results)} - {
        word.lower() for word in _WORD.findall(_known_text(bare))
    }
    return bare if any(word.lower() in said for word in _WORD.findall(row.draft)) else None


def _known_text(row: TurnRow) -> str:
    said = [message.content for message in row.messages]
    called = [str(call.arguments) for message in row.messages for call in message.tool_calls]
    return "\n".join([row.system, *row.sources, *said, *called])


@cache
def _negation() -> re.Pattern[str]:
    text = resources.files("draftcritic.selftest").joinpath("negations.txt").read_text("utf-8")
    words = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    choices = "|".join(map(re.escape, sorted(set(words), key=len, reverse=True)))
    return re.compile(rf"\s(?<!\w)(?:{choices})(?!\w)|(?<=\w)n['\u2019]t(?!\w)", re.IGNORECASE)
