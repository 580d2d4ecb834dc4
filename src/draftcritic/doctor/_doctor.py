"""All checks, in the order in which a reader needs them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from draftcritic.doctor import _exporters, _installation, _settings_checks, _started
from draftcritic.doctor._finding import Finding


def examine(command: Sequence[str] = (), *, calls: bool = False, seconds: float = 30.0) -> Iterator[Finding]:
    """Look at the whole set-up.

    Args:
        command: the command of the agent; without one, a process that imports LangChain.
        calls: ask the critic's model once, which costs money.
        seconds: how long the command may run.
    """
    settings, findings = _settings_checks.load()
    yield from findings
    yield from _installation.versions()
    yield from _installation.loader()
    if settings is not None:
        yield from _settings_checks.critic(settings, calls=calls)
    yield from _exporters.exporters()
    if settings is not None:
        yield from _started.inside(command, seconds)
