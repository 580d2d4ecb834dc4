"""Judges turns on other machines: what is asked of their workers."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from draftcritic.core._policy import Policy
from draftcritic.replay._policy_wire import policy_as_dict
from draftcritic.replay._runs import Replayed
from draftcritic.turns._row import TurnRow

AT_ONCE = 16
"""Messages that are under way at once; a fleet of more processes leaves some of them idle."""
_MOST_ROWS = 200
_MOST_CHARACTERS = 500_000
"""Characters of drafts and messages in one message to a worker; a row that is longer travels alone."""

Judgement = tuple[Replayed, "Replayed | None"]


class RemoteError(Exception):
    """Workers did not judge what they were asked to; the message says why."""


class RemoteJudge:
    """What policies make of turns, on other machines. Safe to use from several threads.

    Args:
        ask: hands some work to a worker and returns its answer.
        policy: the rules.
        against: rules to compare with.
        model: names the model and its parameters, as the worker has to have them; empty for no model.

    Raises:
        PolicyWireError: a policy cannot travel.
    """

    def __init__(self, ask: Callable[[bytes], bytes], policy: Policy, against: Policy | None, model: str = "") -> None:
        self._ask = ask
        self._head = {
            "release": release(),
            "versions": [policy.version, None if against is None else against.version],
            "policies": [policy_as_dict(policy), None if against is None else policy_as_dict(against)],
            "model": model,
        }

    def judge(self, row: TurnRow) -> Replayed:
        """Return what the policy, and the model, make of a draft.

        Raises:
            RemoteError: see the class.
        """
        ((replayed, _),) = self.judge_all([row])
        return replayed

    def judge_all(self, rows: Sequence[TurnRow]) -> list[Judgement]:
        """Return what the policies make of some drafts.

        Raises:
            RemoteError: see the class.
        """
        asked = json.dumps({**self._head, "rows": [row.as_dict() for row in rows]})
        answer = json.loads(self._ask(asked.encode("ascii")))
        if "error" in answer:
            raise RemoteError(f"a worker did not judge: {answer['error']}")
        judged = [(Replayed.from_dict(new), _optional(old)) for new, old in answer["judged"]]
        if len(judged) != len(rows):
            raise RemoteError(f"a worker judged {len(judged)} of {len(rows)} turns")
        return judged


def in_messages(rows: Iterable[TurnRow]) -> Iterator[list[TurnRow]]:
    """Yield rows in portions for one message each."""
    portion: list[TurnRow] = []
    size = 0
    for row in rows:
        grown = len(row.draft) + len(row.system) + sum(len(message.content) for message in row.messages)
        if portion and (size + grown > _MOST_CHARACTERS or len(portion) >= _MOST_ROWS):
            yield portion
            portion, size = [], 0
        portion.append(row)
        size += grown
    if portion:
        yield portion


def _optional(value: Any) -> Replayed | None:
    return None if value is None else Replayed.from_dict(value)


def release() -> str:
    """Return the release of draftcritic; empty in a checkout that is not installed."""
    try:
        return importlib.metadata.version("draftcritic")
    except importlib.metadata.PackageNotFoundError:
        return ""
