"""Reads recorded turns from any of the known files; the content says which kind a file is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from draftcritic.turns._benchmarks import InspectReader, Tau2Reader
from draftcritic.turns._jaeger import JaegerReader
from draftcritic.turns._langfuse import LangfuseReader
from draftcritic.turns._langsmith import LangSmithReader
from draftcritic.turns._otlp import OtlpReader
from draftcritic.turns._own import LabelledReader, OwnReader
from draftcritic.turns._phoenix import read_parquet
from draftcritic.turns._records import Problem, ReadError, Record, head_of, records
from draftcritic.turns._row import RowError, TurnRow
from draftcritic.turns._seen import SeenIds

ENDINGS = (".jsonl", ".ndjson", ".json", ".parquet", ".jsonl.gz", ".ndjson.gz", ".json.gz")
MAX_PROBLEMS = 20
_ZIP, _ZSTD, _PARQUET = b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"PAR1"


class Reader(Protocol):
    """What knows one kind of recording."""

    name: str

    def accepts(self, record: Record) -> bool:
        """Whether the object is of this kind."""
        ...

    def read(self, record: Record) -> Iterable[TurnRow]:
        """Return the turns that are complete with this object."""
        ...

    def flush(self) -> Iterable[TurnRow]:
        """Return the turns that waited for more."""
        ...


@dataclass
class ReadReport:
    """What was read, and what could not be.

    Attributes:
        rows: the turns.
        formats: the objects of each kind of recording.
        missing: turns that are not whole, by what they lack.
        duplicates: rows that were passed over because the same row came before.
        problems: the first problems, each with its place.
        problem_count: all of them.
    """

    rows: int = 0
    formats: Counter[str] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)
    duplicates: int = 0
    problems: list[str] = field(default_factory=list)
    problem_count: int = 0

    def add_problem(self, place: str, reason: str) -> None:
        """Count a problem, and keep it when it is one of the first."""
        self.problem_count += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(f"{place}: {reason}")

    def lines(self) -> Iterator[str]:
        """Yield the report as text."""
        kinds = ", ".join(f"{name}: {count}" for name, count in self.formats.most_common()) or "nothing"
        yield f"read {self.rows} turns ({kinds})"
        if self.missing:
            lacking = ", ".join(f"{count} lack {name}" for name, count in self.missing.most_common())
            yield f"not whole: {lacking}"
        if self.duplicates:
            yield f"passed over {self.duplicates} rows that were there before"
        yield from self.problems
        if self.problem_count > len(self.problems):
            yield f"and {self.problem_count - len(self.problems)} more problems"


def read_turns(paths: Iterable[Path], report: ReadReport | None = None) -> Iterator[TurnRow]:
    """Yield the turns of some files, or of every file of a folder in the order of their names.

    Memory does not grow with the files. Rows with the same id and content are yielded once; with the same id and
    another content the later one gets a number behind its id.

    Args:
        paths: files and folders.
        report: is filled while reading.

    Raises:
        ReadError: a path does not exist or cannot be read at all. What is wrong inside a file is in the report.
    """
    report = ReadReport() if report is None else report
    with closing(SeenIds()) as seen:
        for path in paths:
            for file in _files(path):
                for row in _rows(file, report):
                    unique = _unique(row, seen)
                    if unique is None:
                        report.duplicates += 1
                        continue
                    report.rows += 1
                    report.missing.update(unique.missing)
                    yield unique


def _unique(row: TurnRow, seen: SeenIds) -> TurnRow | None:
    content = "\0".join([row.draft, row.system, *(message.content for message in row.messages)])
    number = 1
    name = row.turn_id
    while True:
        known = seen.add(name, content)
        if known is None:
            return row if number == 1 else replace(row, turn_id=name)
        if known:
            return None
        number += 1
        name = f"{row.turn_id}#{number}"


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise ReadError(f"{path}: there is no such file or folder")
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.name.endswith(ENDINGS) and file.is_file())
    if not files:
        raise ReadError(f"{path}: has no file {', '.join(ENDINGS)}")
    return files


def _rows(file: Path, report: ReadReport) -> Iterator[TurnRow]:
    head = b"" if file.is_fifo() else head_of(file, 4)
    if head == _PARQUET:
        report.formats["Phoenix"] += 1
        yield from read_parquet(file)
        return
    if head == _ZIP:
        raise ReadError(f"{file}: is a zip archive; for a log of Inspect run: inspect log convert --to json")
    if head == _ZSTD:
        raise ReadError(f"{file}: is compressed with zstd; run: zstd -d {file.name}")
    readers: list[Reader] = [
        OwnReader(),
        OtlpReader(),
        JaegerReader(),
        LangfuseReader(),
        LangSmithReader(),
        InspectReader(),
        Tau2Reader(),
        LabelledReader(),
    ]
    for record in records(file):
        if isinstance(record, Problem):
            report.add_problem(f"{file}, {record.place}", record.reason)
            continue
        reader = next((each for each in readers if each.accepts(record)), None)
        if reader is None:
            report.add_problem(f"{file}, {record.place}", "is of no known kind")
            continue
        report.formats[reader.name] += 1
        try:
            yield from _named(reader.read(record), f"{file.name}, {record.place}")
        except RowError as error:
            report.add_problem(f"{file}, {record.place}", str(error))
        except Exception as error:  # a recording may be anything, and the rest of it counts
            report.add_problem(f"{file}, {record.place}", f"cannot be read as {reader.name}: {type(error).__name__}")
    for reader in readers:
        yield from _named(reader.flush(), file.name)


def _named(rows: Iterable[TurnRow], place: str) -> Iterator[TurnRow]:
    """Yield rows, each with an id."""
    for row in rows:
        yield row if row.turn_id.strip("-") else replace(row, turn_id=place)
