"""Policy tests: drafts with what a policy is expected to make of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Protocol

from draftcritic.replay._runs import NO_VERDICT, Replayed
from draftcritic.turns._records import Problem, ReadError, records
from draftcritic.turns._row import RowError, TurnRow

EXPECTATIONS = ("gate", "reason", "verdict", "released", "findings", "no_findings", "rules")
_ALLOWED = {
    "gate": ("fired", "skipped", "not_evaluated"),
    "verdict": ("approve", "revise", "refuse", NO_VERDICT),
}


class Judging(Protocol):
    """What says what a policy makes of a turn."""

    def judge(self, row: TurnRow) -> Replayed:
        """Return what the policy makes of the draft."""
        ...


@dataclass(frozen=True)
class Case:
    """A draft with what is expected of a policy.

    Attributes:
        name: of the case.
        turn: the draft with its surroundings.
        expect: `gate` (fired, skipped), `reason` (of the gate), `verdict` (one, or a list of allowed ones), `released`
            (the draft reaches the user), `findings` (kinds that must be found), `no_findings` (true: none at all),
            `rules` (that the model must name).
    """

    name: str
    turn: TurnRow
    expect: Mapping[str, Any]

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Case:
        """Return the case of a JSON object: a turn with `name` and `expect`.

        Raises:
            RowError: a field is missing or has the wrong form.
        """
        name, expect = value.get("name"), value.get("expect")
        if not isinstance(name, str) or not name:
            raise RowError("name is missing")
        if not isinstance(expect, Mapping) or not expect:
            raise RowError(f"expect is missing; allowed are {', '.join(EXPECTATIONS)}")
        unknown = sorted(set(expect) - set(EXPECTATIONS))
        if unknown:
            raise RowError(f"expect has {', '.join(unknown)}; allowed are {', '.join(EXPECTATIONS)}")
        for key, words in _ALLOWED.items():
            given = expect.get(key, words[0])
            wrong = [word for word in (given if isinstance(given, list) else [given]) if word not in words]
            if wrong:
                raise RowError(f"expect.{key} is {wrong[0]!r}; allowed are {', '.join(words)}")
        return cls(name, TurnRow.from_dict({"turn_id": name, **value}), expect)


@dataclass(frozen=True)
class Outcome:
    """What came of a case.

    Attributes:
        case: the case.
        replayed: what the policy made of it.
        problems: what is not as expected; empty for a case that passes.
    """

    case: Case
    replayed: Replayed
    problems: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether everything is as expected."""
        return not self.problems


def read_cases(path: Path) -> Iterator[Case]:
    """Yield the cases of a file of JSON lines.

    Raises:
        ReadError: the file cannot be read, or a line is no case.
    """
    for record in records(path):
        if isinstance(record, Problem):
            raise ReadError(f"{path}, {record.place}: {record.reason}")
        try:
            yield Case.from_dict(record.value)
        except RowError as error:
            raise ReadError(f"{path}, {record.place}: {error}") from error


def shipped_cases() -> list[Case]:
    """Return the cases that any sane policy passes."""
    with resources.as_file(resources.files("draftcritic.check").joinpath("cases.jsonl")) as path:
        return list(read_cases(path))


def check_cases(cases: Iterable[Case], judging: Judging) -> list[Outcome]:
    """Judge the drafts of some cases, and compare."""
    return [_check(case, judging.judge(case.turn)) for case in cases]


def _check(case: Case, found: Replayed) -> Outcome:
    return Outcome(case, found, tuple(_problems(case.expect, found)))


def _problems(expect: Mapping[str, Any], found: Replayed) -> Iterator[str]:
    verdict = found.verdict or NO_VERDICT
    kinds = sorted({finding.kind for finding in found.findings})
    yield from _differs("gate", expect, found.decision)
    yield from _differs("reason", expect, found.reason)
    yield from _differs("verdict", expect, verdict)
    yield from _differs("released", expect, verdict in ("approve", NO_VERDICT))
    for name, there in (("findings", kinds), ("rules", list(found.rules))):
        lacking = [one for one in expect.get(name, ()) if one not in there]
        if lacking:
            yield f"{name}: {', '.join(lacking)} expected, {', '.join(there) or 'none'} found"
    if expect.get("no_findings") and kinds:
        quoted = ", ".join(f"{finding.kind} {finding.identifier!r}" for finding in found.findings)
        yield f"no finding expected, {quoted} found"
    if found.failure:
        yield f"the critic failed: {found.failure}"


def _differs(name: str, expect: Mapping[str, Any], found: object) -> Sequence[str]:
    if name not in expect:
        return ()
    wanted = expect[name]
    if found in (wanted if isinstance(wanted, list) else [wanted]):
        return ()
    shown = " or ".join(map(str, wanted)) if isinstance(wanted, list) else wanted
    return (f"{name}: {shown} expected, {found} found",)
