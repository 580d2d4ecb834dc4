"""A changed file is noticed once, whatever the way it changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from draftcritic.engine import WatchedFile


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


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


@pytest.mark.parametrize("change", [write, replace, touch, remove])
def test_each_way_of_changing_is_told_once(tmp_path: Path, change) -> None:
    path, clock = tmp_path / "policy.toml", Clock()
    path.write_text("one")
    file = WatchedFile(path, 5.0, clock=clock)
    change(path, "three")
    assert file.changed() is False  # too early to look
    clock.now += 5
    assert file.changed() is True
    assert file.changed() is False
    clock.now += 5
    assert file.changed() is False


def test_a_link_that_turns_to_another_file_has_changed(tmp_path: Path) -> None:
    clock, link = Clock(), tmp_path / "policy.toml"
    for name in ("old", "new"):
        (tmp_path / name).write_text("same")
    link.symlink_to("old")
    file = WatchedFile(link, 5.0, clock=clock)
    link.unlink()
    link.symlink_to("new")
    clock.now += 5
    assert file.changed() is True


def test_a_file_that_comes_later_has_changed_and_an_interval_of_zero_never_looks(tmp_path: Path) -> None:
    path, clock = tmp_path / "policy.toml", Clock()
    file, blind = WatchedFile(path, 5.0, clock=clock), WatchedFile(path, 0.0, clock=clock)
    path.write_text("here")
    clock.now += 5
    assert (file.changed(), blind.changed()) == (True, False)
