"""A changed file is read once, whatever the way it changed, and again until it could be read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from draftcritic.review import WatchedFile, stamp_of


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def watched(path: Path, clock: Clock, interval: float = 5.0) -> WatchedFile:
    return WatchedFile(path, interval, known=stamp_of(path), clock=clock)


def write(path: Path, text: str) -> None:
    path.write_text(text)


def replace(path: Path, text: str) -> None:
    other = path.with_suffix(".new")
    other.write_text(text)
    os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    other.replace(path)


def touch(path: Path, text: str) -> None:
    os.utime(path, ns=(1, 1))


def remove(path: Path, text: str) -> None:
    path.unlink()


def rewrite_in_secret(path: Path, text: str) -> None:
    before = path.stat()
    while path.stat().st_ctime_ns == before.st_ctime_ns:  # the clock of files may be a coarse one
        path.write_text(text[:3])
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("change", [write, replace, touch, remove, rewrite_in_secret])
def test_each_way_of_changing_is_told_once(tmp_path: Path, change) -> None:
    path, clock = tmp_path / "policy.toml", Clock()
    path.write_text("one")
    file = watched(path, clock)
    change(path, "three")
    assert file.changed() is False  # too early to look
    clock.now += 5
    assert file.changed() is True
    file.done(True)
    assert file.changed() is False
    clock.now += 5
    assert file.changed() is False


def test_a_link_that_turns_to_another_file_has_changed(tmp_path: Path) -> None:
    clock, link = Clock(), tmp_path / "policy.toml"
    for name in ("old", "new"):
        (tmp_path / name).write_text("same")
    link.symlink_to("old")
    file = watched(link, clock)
    link.unlink()
    link.symlink_to("new")
    clock.now += 5
    assert file.changed() is True


def test_a_file_that_comes_later_has_changed_and_an_interval_of_zero_never_looks(tmp_path: Path) -> None:
    path, clock = tmp_path / "policy.toml", Clock()
    file, blind = watched(path, clock), watched(path, clock, 0.0)
    path.write_text("here")
    clock.now += 5
    assert (file.changed(), blind.changed()) == (True, False)


def test_what_changed_before_it_was_watched_and_after_it_was_read_has_changed(tmp_path: Path) -> None:
    path, clock = tmp_path / "policy.toml", Clock()
    path.write_text("old")
    known = stamp_of(path)
    path.write_text("newer")
    file = WatchedFile(path, 5.0, known=known, clock=clock)
    clock.now += 5
    assert file.changed() is True


def test_one_reads_at_a_time_and_what_changes_meanwhile_is_read_afterwards(tmp_path: Path) -> None:
    path, clock = tmp_path / "policy.toml", Clock()
    path.write_text("one")
    file = watched(path, clock)
    path.write_text("two, longer")
    clock.now += 5
    assert file.changed() is True
    path.write_text("three, and longer still")
    clock.now += 5
    assert file.changed() is False
    file.done(True)
    assert file.changed() is True


def test_what_could_not_be_read_is_tried_again_less_and_less_often_and_at_once_when_it_changes(tmp_path: Path) -> None:
    path, clock = tmp_path / "policy.toml", Clock()
    path.write_text("one")
    file = watched(path, clock)

    def tries(looks: int) -> list[int]:
        tried = []
        for look in range(looks):
            clock.now += 5
            if file.changed():
                tried.append(look)
                file.done(False)
        return tried

    path.write_text("two, longer")
    assert tries(50) == [0, 1, 3, 7, 15, 27, 39]
    path.write_text("three, and longer still")
    assert tries(3) == [0, 1]
    clock.now += 60
    assert file.changed() is True
    file.done(True)
    assert tries(20) == []


def test_a_file_that_was_away_for_a_moment_is_read_again_although_it_is_the_same(tmp_path: Path) -> None:
    path, away, clock = tmp_path / "policy.toml", tmp_path / "away", Clock()
    path.write_text("one")
    file = watched(path, clock)
    path.rename(away)
    clock.now += 5
    assert file.changed() is True
    file.done(False)
    away.rename(path)
    clock.now += 5
    assert file.changed() is True


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_that_is_forked_while_the_parent_reads_reads_itself(tmp_path: Path) -> None:
    path, clock = tmp_path / "policy.toml", Clock()
    path.write_text("one")
    file = watched(path, clock)
    path.write_text("two, longer")
    clock.now += 5
    assert file.changed() is True
    clock.now += 5
    child = os.fork()
    if child == 0:
        os._exit(0 if file.changed() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert file.changed() is False
