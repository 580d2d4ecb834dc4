"""Drafts wait in files: none is lost, none is taken by two owners, and limits drop and count."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from uuid import uuid4

import pytest

from draftcritic.fleet import _owner, _segments
from draftcritic.fleet._segments import Mark, Segment
from draftcritic.fleet._spool import Spool

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no file locks")
BIG = 1 << 30


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def spool_in(folder: Path, *, max_bytes: int = BIG, max_age: float = 1e9, clock: Clock | None = None) -> tuple:
    drops: list[str] = []
    given = {} if clock is None else {"clock": clock}
    return Spool(folder, max_bytes=max_bytes, max_age=max_age, on_drop=drops.append, **given), drops


def put(spool: Spool, payload: bytes = b"draft", lane: int = 1):
    return spool.append(uuid4().bytes, payload, lane)


def payloads(spool: Spool) -> list[bytes]:
    return [spool.read(entry) for entry in spool.adopt()]


def test_the_next_owner_gets_what_was_left_in_its_order(tmp_path: Path) -> None:
    first, _ = spool_in(tmp_path)
    entries = [put(first, b"draft %d" % number) for number in range(5)]
    first.settle(entries[1])
    assert first.size == 4 * 7
    first.close()
    second, drops = spool_in(tmp_path)
    assert second.has_abandoned()
    assert payloads(second) == [b"draft 0", b"draft 2", b"draft 3", b"draft 4"]
    assert (second.size, drops) == (4 * 7, [])


def test_a_spool_whose_owner_lives_is_left_alone(tmp_path: Path) -> None:
    first, second = spool_in(tmp_path)[0], spool_in(tmp_path)[0]
    put(first)
    assert second.adopt() == []
    first.close()
    assert len(second.adopt()) == 1
    assert second.adopt() == []


def test_only_one_of_many_heirs_gets_the_drafts(tmp_path: Path) -> None:
    first, _ = spool_in(tmp_path)
    for _ in range(50):
        put(first)
    first.close()
    heirs = [spool_in(tmp_path)[0] for _ in range(8)]
    taken: list[int] = []
    start = threading.Barrier(8)

    def take(heir: Spool) -> None:
        start.wait()
        taken.append(len(heir.adopt()))

    threads = [threading.Thread(target=take, args=(heir,)) for heir in heirs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == [0] * 7 + [50]


def test_an_empty_spool_leaves_no_files(tmp_path: Path) -> None:
    first, _ = spool_in(tmp_path)
    put(first)
    first.close()
    second, _ = spool_in(tmp_path)
    (entry,) = second.adopt()
    second.settle(entry)
    second.close()
    assert list(tmp_path.iterdir()) == []


def test_files_are_for_their_owner_only(tmp_path: Path) -> None:
    spool, _ = spool_in(tmp_path / "shop")
    put(spool)
    for path in (tmp_path / "shop").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
    assert (tmp_path / "shop").stat().st_mode & 0o077 == 0


def test_segments_without_waiting_drafts_are_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_owner, "SEGMENT_BYTES", 200)
    spool, _ = spool_in(tmp_path)
    entries = [put(spool, b"x" * 100) for _ in range(10)]
    assert len(list(tmp_path.rglob("*.log"))) == 5
    for entry in entries:
        spool.settle(entry)
    assert len(list(tmp_path.rglob("*.log"))) <= 1
    assert spool.size == 0


def test_beyond_its_size_the_producer_with_most_waiting_loses_its_newest(tmp_path: Path) -> None:
    spool, drops = spool_in(tmp_path, max_bytes=40)
    busy = [put(spool, b"0123456789", lane=1) for _ in range(4)]
    assert put(spool, b"0123456789", lane=1) is None
    assert put(spool, b"0123456789", lane=2) is not None
    assert [entry.settled for entry in busy] == [False, False, False, True]
    assert drops == ["queue_full", "queue_full"]
    spool.close()
    assert len(spool_in(tmp_path)[0].adopt()) == 4


def test_a_single_draft_may_be_larger_than_the_limit(tmp_path: Path) -> None:
    spool, drops = spool_in(tmp_path, max_bytes=10)
    assert put(spool, b"x" * 100) is not None
    assert drops == []


def test_a_draft_that_is_too_old_is_dropped_and_counted(tmp_path: Path) -> None:
    clock = Clock()
    spool, drops = spool_in(tmp_path, max_age=60, clock=clock)
    entry = put(spool)
    entry.since = clock.now
    assert spool.begin(entry)
    clock.now += 61
    assert spool.age == 61
    assert not spool.begin(entry)
    assert (drops, spool.size, spool.age) == (["expired"], 0, 0.0)


def test_a_clock_that_was_set_back_or_forward_makes_no_draft_of_this_process_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool, drops = spool_in(tmp_path, max_age=60)
    entry = put(spool)
    monkeypatch.setattr("time.time", lambda: 4e9)
    assert spool.begin(entry)
    assert drops == []


def test_attempts_are_remembered_by_the_next_owner(tmp_path: Path) -> None:
    first, _ = spool_in(tmp_path)
    entry, other = put(first), put(first, b"other")
    for _ in range(3):
        first.begin(entry)
    first.begin(other)
    first.give_back(other)
    first.close()
    assert [each.attempts for each in spool_in(tmp_path)[0].adopt()] == [3, 0]


def cut(folder: Path, keep: int) -> None:
    (path,) = folder.rglob("*.log")
    path.write_bytes(path.read_bytes()[:keep])


@pytest.mark.parametrize("missing", [1, 5, 30, 41])
def test_a_frame_that_was_not_written_whole_is_no_draft_and_no_damage(tmp_path: Path, missing: int) -> None:
    first, _ = spool_in(tmp_path)
    put(first, b"whole")
    put(first, b"broken")
    first.close()
    (path,) = tmp_path.rglob("*.log")
    cut(tmp_path, path.stat().st_size - missing)
    second, drops = spool_in(tmp_path)
    assert payloads(second) == [b"whole"]
    assert drops == []


def test_a_damaged_place_costs_one_draft_which_is_counted(tmp_path: Path) -> None:
    first, _ = spool_in(tmp_path)
    for payload in (b"one", b"two", b"three"):
        put(first, payload)
    first.close()
    (path,) = tmp_path.rglob("*.log")
    data = bytearray(path.read_bytes())
    data[data.index(b"two")] ^= 1
    path.write_bytes(data)
    second, drops = spool_in(tmp_path)
    assert payloads(second) == [b"one", b"three"]
    assert drops == ["damaged"]


def test_a_damaged_log_line_settles_nothing(tmp_path: Path) -> None:
    first, _ = spool_in(tmp_path)
    first.settle(put(first))
    put(first, b"other")
    first.close()
    (path,) = tmp_path.rglob("*.ack")
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert sorted(payloads(spool_in(tmp_path)[0])) == [b"draft", b"other"]


def test_a_draft_that_no_file_takes_waits_in_memory(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    spool, drops = spool_in(tmp_path / "file" / "folder")
    entry = put(spool, b"kept")
    put(spool)
    assert spool.begin(entry)
    assert spool.read(entry) == b"kept"
    spool.settle(entry)
    assert (spool.size, drops) == (5, [])
    assert sum("cannot be written" in record.message for record in caplog.records) == 1


def test_a_write_that_was_cut_short_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    segment = Segment(tmp_path / "1.log")
    segment.append(b"a" * 16, b"one", 1)
    size, write = segment.size, os.write
    monkeypatch.setattr(_segments.os, "write", lambda descriptor, data: write(descriptor, data[:7]))
    with pytest.raises(OSError, match="7 of"):
        segment.append(b"b" * 16, b"two", 1)
    monkeypatch.undo()
    assert (tmp_path / "1.log").stat().st_size == size
    segment.append(b"c" * 16, b"three", 1)
    assert [segment.read(entry) for entry in segment.recover(1)[0]] == [b"one", b"three"]


def test_a_settled_draft_is_settled_once(tmp_path: Path) -> None:
    spool, _ = spool_in(tmp_path)
    entry = put(spool)
    put(spool, b"other")
    spool.settle(entry, Mark.DEAD)
    spool.settle(entry)
    assert spool.size == 5
    assert not spool.begin(entry)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_has_a_folder_of_its_own_and_leaves_the_parents_lock(tmp_path: Path) -> None:
    code = """
import os, sys, uuid
from pathlib import Path
from draftcritic.fleet._spool import Spool
folder = Path(sys.argv[1])
make = lambda: Spool(folder, max_bytes=1 << 20, max_age=1e9, on_drop=print)
spool = make()
spool.append(uuid.uuid4().bytes, b"parent", 1)
if os.fork() == 0:
    spool.append(uuid.uuid4().bytes, b"child", 1)
    assert spool.size == 5, spool.size
    assert [entry.size for entry in make().adopt()] == []
    os._exit(0)
assert os.wait()[1] == 0
other = make()
assert [other.read(entry) for entry in other.adopt()] == [b"child"]
assert spool.size == 6
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(payloads(spool_in(tmp_path)[0])) == [b"child", b"parent"]
