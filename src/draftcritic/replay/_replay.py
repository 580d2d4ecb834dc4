"""Replays recorded turns: reads, judges, writes, in the order of the recording."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any, Protocol

from draftcritic.core._policy import Policy
from draftcritic.replay._judge import Judge, ModelJudge, Spending
from draftcritic.replay._remote import AT_ONCE, RemoteError, RemoteJudge, in_messages
from draftcritic.replay._runs import Replayed, Run
from draftcritic.replay._tally import Tally
from draftcritic.turns._read import ReadReport, read_turns
from draftcritic.turns._row import TurnRow

_CHUNK = 200
_AHEAD = 3
"""Chunks for each worker that are under way at once: enough to keep them busy, and no more memory."""

MakePolicy = Callable[[], Policy]
"""Makes a policy; with several processes it is called in each, and has to be picklable."""


class Judging(Protocol):
    """What says what a policy makes of a turn."""

    def judge(self, row: TurnRow) -> Replayed:
        """Return what the policy makes of the draft."""
        ...


@dataclass
class ReplayResult:
    """What a replay has done.

    Attributes:
        read: what was read, and what could not be.
        tally: what was counted.
        seconds: how long it took.
        spending: what the model's calls cost; None without a model.
    """

    read: ReadReport = field(default_factory=ReadReport)
    tally: Tally = field(default_factory=Tally)
    seconds: float = 0.0
    spending: Spending | None = None


def replay(
    sources: Sequence[Path],
    out: Path,
    make_policy: MakePolicy,
    *,
    make_against: MakePolicy | None = None,
    model: ModelJudge | None = None,
    remote: RemoteJudge | None = None,
    workers: int = 1,
    on_progress: Callable[[int], None] = lambda _: None,
) -> ReplayResult:
    """Judge recorded turns again and write a row for each.

    The file appears when it is whole. The same sources, policies and answers give the same bytes.

    Args:
        sources: files and folders of recorded turns.
        out: the file to write; it is overwritten.
        make_policy: makes the policy to judge by.
        make_against: makes a policy to compare with; without it the recorded review is compared.
        model: asks a model where the gate fires; without it only the deterministic part is replayed.
        remote: judges elsewhere, by the policies that it was made with; a model has its own way there.
        workers: processes for the deterministic part, threads for a model.
        on_progress: called with the number of turns that were written, now and then.

    Raises:
        ReadError: a source cannot be read.
        ValueError: `out` is one of the sources.
        BudgetError: see `ModelJudge.judge`.
        RemoteError: see `RemoteJudge.judge_all`; or a process of `workers` was killed.
        OSError: `out` cannot be written.
    """
    if any(source.exists() and out.exists() and source.samefile(out) for source in sources):
        raise ValueError(f"--out {out} is one of the sources; give it another name")
    result, began = ReplayResult(), time.perf_counter()
    rows = read_turns(sources, result.read)
    if remote is not None and model is None:
        chunks = _judged_remotely(rows, remote)
    else:
        chunks = _judged(rows, make_policy, make_against, model, workers)
    with _whole_file(out) as file:
        for lines, tally in chunks:
            file.writelines(lines)
            result.tally.merge(tally)
            on_progress(result.tally.turns)
    result.seconds = time.perf_counter() - began
    result.spending = None if model is None else model.spending
    return result


Chunk = tuple[list[str], Tally]


def _judged(
    rows: Iterator[TurnRow],
    make_policy: MakePolicy,
    make_against: MakePolicy | None,
    model: ModelJudge | None,
    workers: int,
) -> Iterator[Chunk]:
    chunks = iter(lambda: list(islice(rows, _CHUNK if model is None else 1)), [])
    if workers == 1 or model is not None:
        against = None if make_against is None else Judge(make_against())
        judging: Judging = model or Judge(make_policy())
        if workers == 1:
            for chunk in chunks:
                yield judge_chunk(chunk, judging, against)
            return
        with ThreadPoolExecutor(workers) as pool:
            yield from _in_order(pool, workers, judge_chunk, chunks, judging, against)
        return
    context = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(workers, context, _start_process, (make_policy, make_against)) as pool:
            yield from _in_order(pool, workers, _in_process, chunks)
    except BrokenProcessPool as error:
        raise RemoteError(
            "a process of --workers was killed; perhaps the machine has no more memory, then try fewer"
        ) from error


def judge_chunk(rows: Iterable[TurnRow], judging: Judging, against: Judging | None) -> Chunk:
    """Return the lines of some turns and what was counted."""
    return _counted(Run(row, judging.judge(row), None if against is None else against.judge(row)) for row in rows)


def _judged_remotely(rows: Iterator[TurnRow], remote: RemoteJudge) -> Iterator[Chunk]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from _in_order(pool, AT_ONCE, judge_remotely, in_messages(rows), remote)


def judge_remotely(rows: Sequence[TurnRow], remote: RemoteJudge) -> Chunk:
    """Return the same as `judge_chunk`, judged elsewhere."""
    judged = remote.judge_all(rows)
    return _counted(Run(row, new, old) for row, (new, old) in zip(rows, judged, strict=True))


def _counted(runs: Iterable[Run]) -> Chunk:
    lines, tally = [], Tally()
    for run in runs:
        lines.append(run.as_json() + "\n")
        tally.add(run)
    return lines, tally


def _in_order(
    pool: Executor, workers: int, work: Callable[..., Chunk], chunks: Iterable[list[TurnRow]], *more: Any
) -> Iterator[Chunk]:
    """Yield the results in the order of the chunks, with a bounded number of them under way."""
    waiting: deque[Future[Chunk]] = deque()
    with closing(_Cancelling(waiting)):
        for chunk in chunks:
            waiting.append(pool.submit(work, chunk, *more))
            if len(waiting) >= _AHEAD * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


class _Cancelling:
    """Cancels what was not started, when the caller stops."""

    def __init__(self, waiting: deque[Future[Chunk]]) -> None:
        self._waiting = waiting

    def close(self) -> None:
        for future in self._waiting:
            future.cancel()


_judges: list[Judging | None] = []


def _start_process(make_policy: MakePolicy, make_against: MakePolicy | None) -> None:
    _judges[:] = [Judge(make_policy()), None if make_against is None else Judge(make_against())]


def _in_process(rows: list[TurnRow]) -> Chunk:
    judging, against = _judges
    if judging is None:
        raise RuntimeError("the process was not started by _start_process")
    return judge_chunk(rows, judging, against)


@contextmanager
def _whole_file(out: Path) -> Iterator[IO[str]]:
    """Open a file that takes its name when it is whole; only its owner can read it, for it has texts."""
    part = out.with_name(f"{out.name}.part")
    descriptor = os.open(part, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            yield file
        part.replace(out)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
