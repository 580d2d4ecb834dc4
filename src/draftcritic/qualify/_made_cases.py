"""Makes labelled drafts: planted errors with a right twin each, and right drafts that a check takes for wrong."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from draftcritic.core._turn import Turn
from draftcritic.grounding._findings import FabricationFinding
from draftcritic.qualify._templates import TEMPLATES, D, R, Template

HALVES = (D, R)
KINDS = tuple(dict.fromkeys(template.kind for template in TEMPLATES))
"""The kinds of planted errors."""
_FIRST = ("Amina", "Bruno", "Chiara", "Dmitri", "Elif", "Farah", "Goran", "Hana", "Ivo", "Jana", "Kofi", "Lena")
_LAST = ("Okafor", "Lindqvist", "Marek", "Novak", "Ortiz", "Petrov", "Quispe", "Rahman", "Santos", "Tanaka", "Varga")


@dataclass(frozen=True)
class JudgeCase:
    """One draft with the right judgement.

    Attributes:
        kind: the kind of the error that one of the twins has.
        half: `develop` or `report`.
        turn: the draft and its turn.
        bad: the draft has the error.
        finding: a false finding about a right draft; None for what the check itself says.
    """

    kind: str
    half: str
    turn: Turn
    bad: bool
    finding: FabricationFinding | None = None


def made_cases(count: int, *, half: str | None = None, seed: int = 1) -> list[JudgeCase]:
    """Return the first `count` cases of an endless series that is the same for the same seed.

    Each round has a wrong and a right draft from each template, and the right ones with a false finding.

    Args:
        count: how many.
        half: only those of one half.
        seed: chooses the values and the order within a round.
    """
    chance = random.Random(seed)  # noqa: S311 - no secret
    cases: list[JudgeCase] = []
    while len(cases) < count:
        cases += _round(chance, half)
    return cases[:count]


def _round(chance: random.Random, half: str | None) -> Iterator[JudgeCase]:
    """Yield one round: first the kinds in turn, so that few cases have many kinds."""
    templates = [template for template in TEMPLATES if half in (None, template.half)]
    by_kind = {kind: [each for each in templates if each.kind == kind] for kind in KINDS}
    for at in range(max(map(len, by_kind.values()))):
        group = [case for each in by_kind.values() for case in _cases(each[at % len(each)], chance)]
        chance.shuffle(group)
        yield from group


def _cases(template: Template, chance: random.Random) -> Iterator[JudgeCase]:
    values = _values(chance)
    good = _turn(template, template.good, values)
    yield JudgeCase(template.kind, template.half, _turn(template, template.bad, values), bad=True)
    yield JudgeCase(template.kind, template.half, good, bad=False)
    if template.false_finding:
        said, kind = template.false_finding
        value = said.format(**values)
        start = good.draft.index(value)
        finding = FabricationFinding(value, kind, "medium", "", confidence=0.75, span=(start, start + len(value)))  # type: ignore[arg-type]
        yield JudgeCase(template.kind, template.half, replace(good), bad=False, finding=finding)


def _turn(template: Template, draft: str, values: dict[str, str]) -> Turn:
    calls: Sequence[dict[str, Any]] = [
        {
            "name": name,
            "args": {"query": arguments.format(**values)},
            "result": result.format(**values),
            **({"status": "error"} if failed else {}),
        }
        for name, arguments, result, failed in template.calls
    ]
    system = template.system.format(**values)
    sources = tuple(source.format(**values) for source in template.sources)
    return Turn(
        draft.format(**values),
        user_message=template.user.format(**values),
        tool_calls=tuple(calls),
        context="\n".join(filter(None, (system, *sources))),
        system=system,
        sources=sources,
    )


def _values(chance: random.Random) -> dict[str, str]:
    one, other = chance.sample(range(1200, 9900), 2)
    few, more = chance.sample(range(3, 40), 2)
    first, second = (dt.date(2026, 1, 1) + dt.timedelta(days=day) for day in chance.sample(range(360), 2))
    people = [
        f"{name} {family}" for name, family in zip(chance.sample(_FIRST, 2), chance.sample(_LAST, 2), strict=True)
    ]
    codes = [
        f"{chance.choice('BCDFGHKLM')}{chance.choice('PRSTVWXZ')}-{chance.randrange(1000, 9999)}" for _ in range(2)
    ]
    return {
        "a": f"{one / 100:.2f}",
        "b": f"{other / 100:.2f}",
        "sum": f"{(one + other) / 100:.2f}",
        "n": str(few),
        "m": str(more),
        **{key: f"{day.day} {day:%B} {day.year}" for key, day in (("d", first), ("e", second))},
        "d_iso": first.isoformat(),
        "e_iso": second.isoformat(),
        "p": people[0],
        "q": people[1],
        "c": codes[0],
        "k": codes[1],
    }
