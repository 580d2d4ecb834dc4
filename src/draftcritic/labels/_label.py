"""What a person says of a draft, and the file that keeps it."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from draftcritic.turns._records import Problem, ReadError, records

WORDS = ("approve", "revise", "refuse", "unsure")
"""What a label can say. `unsure` is no opinion of the draft."""


@dataclass(frozen=True)
class Label:
    """A label.

    Attributes:
        turn_id: the draft.
        who: the person.
        label: one of `WORDS`; empty when the person took an earlier label back.
        time: seconds since the epoch.
    """

    turn_id: str
    who: str
    label: str
    time: float = 0.0


@dataclass(frozen=True)
class Stratum:
    """A group of drafts that labels were drawn from.

    Attributes:
        name: the values of the fields that it was made by.
        size: how many drafts there are in it.
        chosen: the drafts to label, in a random order.
    """

    name: str
    size: int
    chosen: tuple[str, ...]


@dataclass(frozen=True)
class Sample:
    """Which drafts are to be labelled.

    Attributes:
        by: the fields that the strata were made by.
        strata: the strata.
        double: the drafts that two people are to label.
    """

    by: tuple[str, ...]
    strata: tuple[Stratum, ...]
    double: frozenset[str] = frozenset()


@dataclass
class Labels:
    """The labels of one or several files.

    Attributes:
        sample: which drafts were drawn; None for labels that were made elsewhere.
        labels: the last label of each person for each draft.
        problems: lines that could not be read.
    """

    sample: Sample | None = None
    labels: dict[tuple[str, str], Label] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def add(self, label: Label) -> None:
        """Take a label; a later one of the same person for the same draft replaces it."""
        if label.label:
            self.labels[label.turn_id, label.who] = label
        else:
            self.labels.pop((label.turn_id, label.who), None)

    def by_turn(self) -> dict[str, list[Label]]:
        """Return the labels of each draft."""
        found: dict[str, list[Label]] = {}
        for label in self.labels.values():
            found.setdefault(label.turn_id, []).append(label)
        return found

    @property
    def people(self) -> list[str]:
        """The people, the most diligent first."""
        return [who for who, _ in Counter(who for _, who in self.labels).most_common()]


def read_labels(paths: Iterable[Path]) -> Labels:
    """Return the labels of some files; what cannot be read is in `problems`.

    When a person has labelled a draft differently in two files, the later label counts, and that is a problem, too.

    Raises:
        ReadError: a file cannot be read, or two files were drawn from different samples.
    """
    found = Labels()
    for path in paths:
        _merge(found, _of_file(path), path)
    return found


def _of_file(path: Path) -> Labels:
    found = Labels()
    for record in records(path):
        place = f"{path}, {record.place}"
        if isinstance(record, Problem):
            found.problems.append(f"{place}: {record.reason}")
            continue
        try:
            _take(found, record.value)
        except (KeyError, TypeError, ValueError) as error:
            found.problems.append(f"{place}: is no label: {error}")
    return found


def _merge(found: Labels, more: Labels, path: Path) -> None:
    if found.sample is not None and more.sample is not None and found.sample != more.sample:
        raise ReadError("the label files were drawn from different samples; calibrate them one by one")
    found.sample = found.sample or more.sample
    found.problems += more.problems
    for key, label in more.labels.items():
        before = found.labels.get(key)
        if before is not None and before.label != label.label:
            found.problems.append(
                f"{path}: {label.who} says {label.label} of {label.turn_id}, and {before.label} in another file; "
                "the later label counts"
            )
        if before is None or label.time >= before.time:
            found.labels[key] = label


def _take(found: Labels, value: Mapping[str, Any]) -> None:
    if "strata" in value:
        sample = _sample(value)
        if found.sample is not None and found.sample != sample:
            raise ReadError("the label files were drawn from different samples; calibrate them one by one")
        found.sample = sample
        return
    label = str(value["label"] or "")
    if label and label not in WORDS:
        raise ValueError(f"the label is {label!r}; allowed are {', '.join(WORDS)}")
    found.add(Label(str(value["turn_id"]), str(value.get("who") or "somebody"), label, float(value.get("time") or 0)))


def _sample(value: Mapping[str, Any]) -> Sample:
    strata = tuple(
        Stratum(str(one["name"]), int(one["size"]), tuple(map(str, one["chosen"]))) for one in value["strata"]
    )
    return Sample(tuple(map(str, value["by"])), strata, frozenset(map(str, value.get("double", ()))))


class LabelFile:
    """A file that labels are appended to. Each is on disk when `add` returns: a crash loses none.

    Args:
        path: the file; it is made, readable for its owner only, when it does not exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.labels = read_labels([path]) if path.exists() else Labels()
        self._descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o600)
        size = os.fstat(self._descriptor).st_size
        if size and os.pread(self._descriptor, 1, size - 1) != b"\n":
            # A killed process may have left half a line.
            os.write(self._descriptor, b"\n")

    def start(self, sample: Sample) -> None:
        """Write down which drafts were drawn."""
        self.labels.sample = sample
        strata = [asdict(stratum) for stratum in sample.strata]
        self._append({"by": sample.by, "strata": strata, "double": sorted(sample.double)})

    def add(self, label: Label) -> None:
        """Write down a label."""
        self.labels.add(label)
        self._append(asdict(label))

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def _append(self, value: Mapping[str, Any]) -> None:
        os.write(self._descriptor, (json.dumps(value, ensure_ascii=False) + "\n").encode())
        os.fsync(self._descriptor)


def majority(labels: Sequence[Label]) -> str:
    """Return what most people said of a draft; empty without an opinion, and for a tie."""
    counts = Counter(label.label for label in labels if label.label != "unsure").most_common(2)
    if not counts or (len(counts) > 1 and counts[0][1] == counts[1][1]):
        return ""
    return counts[0][0]


def sorted_labels(labels: Labels) -> Iterator[Label]:
    """Yield the labels in the order of their drafts and people."""
    yield from (labels.labels[key] for key in sorted(labels.labels))
