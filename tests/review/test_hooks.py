"""Hooks that installed packages offer."""

from __future__ import annotations

import logging

import pytest

from draftcritic.core import NoOpObservabilityHook
from draftcritic.review import load_hooks

MODULE = """
from draftcritic.core import NoOpObservabilityHook

class Hook(NoOpObservabilityHook):
    pass

ready = Hook()

def make():
    return Hook()

def broken():
    raise RuntimeError("no licence")
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Installs a distribution with the given entry points, as an installer would lay it out."""

    def install(*entries: str) -> None:
        (tmp_path / "offered_hooks.py").write_text(MODULE)
        info = tmp_path / "offered_hooks-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: offered-hooks\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[draftcritic_hooks]\n" + "\n".join(entries) + "\n")
        monkeypatch.syspath_prepend(str(tmp_path))

    return install


def test_nothing_installed_is_no_hook():
    assert load_hooks() == ()


def test_a_hook_its_class_and_what_makes_it_are_found(installed):
    installed("a = offered_hooks:ready", "b = offered_hooks:Hook", "c = offered_hooks:make")
    hooks = load_hooks()
    assert [type(hook).__name__ for hook in hooks] == ["Hook"] * 3
    assert all(isinstance(hook, NoOpObservabilityHook) for hook in hooks)


def test_what_fails_to_load_or_is_no_hook_is_said_and_left_out(installed, caplog):
    installed("a = offered_hooks:broken", "b = nowhere:x", "c = builtins:dict", "d = offered_hooks:make")
    assert len(load_hooks()) == 1
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    begins = [
        "failed to load the hook 'a' (offered_hooks:broken): RuntimeError at offered_hooks.py:",
        "failed to load the hook 'b' (nowhere:x): ModuleNotFoundError at ",
        "failed to load the hook 'c' (builtins:dict): TypeError at _hook_dispatch.py:",
    ]
    assert all(line.startswith(begin) for line, begin in zip(warnings, begins, strict=True))
    assert "no licence" not in caplog.text
