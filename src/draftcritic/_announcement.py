"""What the plugin says about itself: one line when it starts, and an error when it cannot."""

from __future__ import annotations

import importlib.metadata
import logging
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from draftcritic.settings._model import Settings

_logger = logging.getLogger("draftcritic")


def start_line(settings: Settings, policy_version: str, capturing: Sequence[str]) -> str:
    """Return what is in effect, in one line without secrets and without texts of rules.

    Args:
        settings: the settings of the start.
        policy_version: the version of the policy.
        capturing: the other instrumentations that record texts of prompts and answers.
    """
    from draftcritic.core._enums import EvidenceScope, Mode

    critic = critic_of(settings)
    waits = settings.background and settings.mode is not Mode.ENFORCE
    parts = [
        f"draftcritic {version()} is on: mode {settings.mode.value}{', in the background' if waits else ''}",
        "no model is asked" if settings.mode is Mode.GATE else f"critic {critic}",
        f"{rules_of(settings)}, policy {policy_version}",
    ]
    if settings.mode is not Mode.GATE:
        none = settings.evidence is EvidenceScope.NONE
        parts.append("evidence none" if none else f"evidence of the {settings.evidence.value} goes to {critic}")
    parts.append(f"delivery {settings.delivery.value}")
    if settings.strict:
        parts.append("strict")
    if settings.record is not None:
        parts.append(f"turns with their texts are recorded in {settings.record}")
    parts.append(f"texts are also captured by {', '.join(capturing)}" if capturing else "no neighbour captures texts")
    return "; ".join(parts)


def version() -> str:
    """Return the version of the installed package."""
    try:
        return importlib.metadata.version("draftcritic")
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"


def critic_of(settings: Settings) -> str:
    """Return the name of the critic's model."""
    if settings.model is None:
        return "the model that wrote the draft"
    if isinstance(settings.model, str):
        return settings.model
    from draftcritic.core._models import resolve_model_name

    return resolve_model_name(settings.model) or type(settings.model).__name__


def rules_of(settings: Settings) -> str:
    """Return how many rules there are, in words."""
    count = len(settings.preferences) + len(settings.rules)
    line = f"{count} rule{'' if count == 1 else 's'}" if count else "no rules"
    return line if settings.rules_source is None else f"{line} and a source of rules"


def advice(settings: Settings) -> list[str]:
    """Return a line for each thing at the start that makes the critic weaker than its operator may think."""
    from draftcritic.core._enums import Mode

    asks = settings.mode in (Mode.OBSERVE, Mode.ENFORCE)
    given = settings.preferences or settings.rules or settings.rules_source is not None
    if not asks or given or settings.prompt_template is not None:
        return []
    line = (
        "there are no rules: the critic judges by its built-in instructions alone; write some as `preferences` or "
        "`rules` into the file that DRAFTCRITIC_CONFIG names"
    )
    return [line]


def announce(line: str) -> None:
    """Log the line of the start, and write it to a terminal."""
    _logger.info("%s", line)
    if _is_terminal() and not reaches_stderr(_logger, logging.INFO):
        _write(line)


def complain(line: str) -> None:
    """Log an error of the start, and write it to standard error when no handler of the application does."""
    visible = reaches_stderr(_logger, logging.ERROR)
    _logger.error("%s", line)
    if not visible:
        _write(line)


def reaches_stderr(logger: logging.Logger, level: int) -> bool:
    """Whether a record of `logger` reaches standard error, or the terminal, through the logging of the application."""
    if not logger.isEnabledFor(level):
        return False
    found, current = False, logger
    while current is not None:
        for handler in current.handlers:
            found = True
            stream = getattr(handler, "stream", None)
            if stream in (sys.stderr, sys.__stderr__, sys.stdout) and handler.level <= level:
                return True
        if not current.propagate or current.parent is None:
            break
        current = current.parent
    last = logging.lastResort
    return not found and last is not None and last.level <= level


def flush() -> None:
    """Write out what the handlers of the application have buffered, before the process ends at once."""
    for handler in [*_logger.handlers, *logging.getLogger().handlers]:
        with suppress(Exception):
            handler.flush()
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except Exception:
        return False


def _write(line: str) -> None:
    with suppress(Exception):  # a closed or missing standard error
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
