"""Writes down, inside a command that `draftcritic doctor` has started, what the plugin has done there."""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

FOLDER = "_DRAFTCRITIC_DOCTOR"
"""The variable that names the folder for the reports. Not a setting, so without our prefix."""
_INTERVAL = 0.2
_CHAT_MODELS = "langchain_core.language_models.chat_models"

_writing = threading.RLock()
"""Else the thread could replace the last report, which the end of the process writes, with an older one."""


def install() -> None:
    """Report from now on, in this process and in those that it forks."""
    if os.environ.get(FOLDER):
        atexit.register(_write)
        _watch()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_restart)


def _restart() -> None:
    """Watch in a forked child: the parent's thread may have held the lock."""
    global _writing  # noqa: PLW0603 - a lock of the process
    _writing = threading.RLock()
    _watch()


def _watch() -> None:
    threading.Thread(target=_repeat, name="draftcritic-doctor", daemon=True).start()


def _repeat() -> None:
    ended = threading.Event()
    while not ended.wait(_INTERVAL):
        _write()


def _write() -> None:
    """Replace this process's report; whatever goes wrong must not disturb the command."""
    with suppress(Exception), _writing:
        path = Path(os.environ[FOLDER], f"{os.getpid()}.json")
        new = path.with_suffix(".new")
        new.write_text(json.dumps(report()), encoding="utf-8")
        new.replace(path)


def report() -> dict[str, Any]:
    """Return what the plugin has done in this process."""
    found: dict[str, Any] = {"langchain": _CHAT_MODELS in sys.modules, "on": False, "patched": [], "missing": []}
    wiring = getattr(sys.modules.get("draftcritic.instrumentor"), "DraftCriticInstrumentor", None)
    runtime = getattr(getattr(wiring, "_wiring", None), "runtime", None)
    if not found["langchain"]:
        return found
    from draftcritic.telemetry._neighbours import capturing_neighbours

    found["capturing"] = [each.label for each in capturing_neighbours()]
    if runtime is None:
        return found
    from draftcritic.langchain._install import placed

    found["on"], found["mode"] = True, runtime.settings.mode.value
    found["policy"] = runtime.policy_version
    for name, is_placed in placed().items():
        found["patched" if is_placed else "missing"].append(name)
    return found
