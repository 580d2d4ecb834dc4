"""A person who labels drafts, one after the other."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from draftcritic.labels._label import WORDS, Label, LabelFile
from draftcritic.labels._sample import draw, queue
from draftcritic.replay._runs import Run, read_runs

_LONGEST_MARK = 2_000


class Piece(NamedTuple):
    """A piece of a draft, and the kind of the finding about it; empty for a piece without one."""

    text: str
    kind: str = ""


@dataclass(frozen=True)
class Given:
    """A label that was just given, with what the critic says of the same draft."""

    run: Run
    label: str


class LabelSession:
    """The drafts that one person labels, and the file that keeps the labels.

    Args:
        runs: the file that `draftcritic replay` wrote.
        labels: the file of labels; a session that was left goes on where it was.
        who: the person.
        count: how many drafts to draw, when the file is new.
        by: the fields that strata are made by, when the file is new.

    Raises:
        ReadError: the runs cannot be read.
        ValueError: see `draw`.
    """

    def __init__(self, runs: Path, labels: Path, who: str, count: int = 200, by: Sequence[str] = ("verdict",)) -> None:
        self.who = who
        sample = None if labels.exists() else draw(read_runs(runs), count, by)
        self._file = LabelFile(labels)
        sample = self._file.labels.sample or sample or draw(read_runs(runs), count, by)
        if self._file.labels.sample is None:
            self._file.start(sample)
        self._sample = sample
        chosen = {turn_id for stratum in sample.strata for turn_id in stratum.chosen}
        self._rows = {run.turn.turn_id: run for run in read_runs(runs) if run.turn.turn_id in chosen}
        self._given: list[str] = []
        self.last: Given | None = None

    @property
    def total(self) -> int:
        """How many drafts this person has labelled or is to label."""
        return self.done + len(self._queue())

    @property
    def done(self) -> int:
        """How many drafts this person has labelled."""
        return sum(who == self.who for _, who in self._file.labels.labels)

    @property
    def current(self) -> Run | None:
        """The draft to label now; None when all are labelled."""
        waiting = self._queue()
        return self._rows[waiting[0]] if waiting else None

    def give(self, turn_id: str, word: str) -> bool:
        """Label the current draft; it is on disk when this returns. False for another draft, as after a double click.

        Raises:
            ValueError: the word is none of `WORDS`.
        """
        if word not in WORDS:
            raise ValueError(f"the label is {word!r}; allowed are {', '.join(WORDS)}")
        current = self.current
        if current is None or current.turn.turn_id != turn_id:
            return False
        self._file.add(Label(turn_id, self.who, word, round(time.time(), 3)))
        self._given.append(turn_id)
        self.last = Given(current, word)
        return True

    def undo(self) -> bool:
        """Take the last label of this session back; False when there is none."""
        if not self._given:
            return False
        self._file.add(Label(self._given.pop(), self.who, "", round(time.time(), 3)))
        self.last = None
        return True

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _queue(self) -> list[str]:
        waiting = queue(self._sample, self._file.labels.labels, self.who)
        return [turn_id for turn_id in waiting if turn_id in self._rows]


def pieces(run: Run) -> list[Piece]:
    """Return the draft in pieces, those that findings are about marked."""
    kinds = {one.identifier: one.kind for one in run.replayed.findings if 0 < len(one.identifier) < _LONGEST_MARK}
    return list(_pieces(run.turn.draft, kinds)) if kinds else [Piece(run.turn.draft)]


def _pieces(draft: str, kinds: dict[str, str]) -> Iterator[Piece]:
    longest_first = sorted(kinds, key=len, reverse=True)
    at = 0
    for match in re.finditer("|".join(map(re.escape, longest_first)), draft):
        if match.start() > at:
            yield Piece(draft[at : match.start()])
        yield Piece(match.group(), kinds[match.group()])
        at = match.end()
    if at < len(draft):
        yield Piece(draft[at:])


def verdict_lines(run: Run) -> Iterable[str]:
    """Yield what the critic says of a draft, for after the label."""
    replayed = run.replayed
    yield f"verdict {run.verdict}, gate {replayed.decision} ({replayed.reason})"
    if replayed.text:
        yield f"instead: {replayed.text}"
    yield from (f"rule: {rule}" for rule in replayed.rules)
