"""Judges turns for replays on other machines: what a worker answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from draftcritic.replay._judge import Judge, Reflecting
from draftcritic.replay._policy_wire import PolicyWireError, policy_from_dict
from draftcritic.replay._remote import Judgement, RemoteError, release
from draftcritic.replay._runs import Replayed
from draftcritic.review._ports import CriticModel
from draftcritic.turns._row import RowError, TurnRow

_KEPT_POLICIES = 4


@dataclass
class Answering:
    """Judges turns for others, in a worker.

    Attributes:
        model: names the model of the worker's settings and its parameters; empty without one.
        make_model: makes that model.
    """

    model: str
    make_model: Callable[[], CriticModel]
    _judges: dict[str, _Judges] = field(default_factory=dict)

    def answer(self, payload: bytes) -> bytes:
        """Return the answer to what `RemoteJudge` asks."""
        try:
            return json.dumps({"judged": list(self._judged(json.loads(payload)))}).encode("ascii")
        except (PolicyWireError, RowError, RemoteError) as error:
            return json.dumps({"error": str(error)}).encode("ascii")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            return json.dumps({"error": f"the message is no replay of this release: {type(error).__name__}"}).encode()

    def _judged(self, asked: Any) -> Iterator[list[Any]]:
        if asked["release"] != release():
            raise RemoteError(f"the worker has draftcritic {release()}, and the replay {str(asked['release'])[:20]}")
        judges = self._judges_of(asked["policies"], asked["versions"], str(asked["model"]))
        for value in asked["rows"]:
            row = TurnRow.from_dict(value)
            new, old = judges.judge(row)
            yield [new.as_dict(), None if old is None else old.as_dict()]

    def _judges_of(self, policies: Any, versions: Any, model: str) -> _Judges:
        if model and model != self.model:
            raise RemoteError(f"the replay wants the model {model}, and the worker has {self.model or 'none'}")
        key = json.dumps([policies, model], sort_keys=True)
        known = self._judges.get(key)
        if known is None:
            new, old = (None if each is None else policy_from_dict(each) for each in policies)
            if new is None or [new.version, None if old is None else old.version] != versions:
                raise RemoteError("the policy means something else to the worker; let all have the same release")
            known = _Judges(
                Reflecting(new, self.make_model).judge if model else Judge(new).judge,
                None if old is None else Judge(old).judge,
            )
            while len(self._judges) >= _KEPT_POLICIES:
                del self._judges[next(iter(self._judges))]
            self._judges[key] = known
        return known


@dataclass(frozen=True)
class _Judges:
    new: Callable[[TurnRow], Replayed]
    old: Callable[[TurnRow], Replayed] | None

    def judge(self, row: TurnRow) -> Judgement:
        return self.new(row), None if self.old is None else self.old(row)
