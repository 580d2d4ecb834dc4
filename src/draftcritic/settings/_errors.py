"""What is said of a setting that cannot hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

SUMMARY_LENGTH = 600
"""Characters that the one line for the log may have."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong.

    Attributes:
        setting: the name of the setting, with the place inside it, e.g. `preferences[1].priority`.
        origin: where the value came from: an environment variable, a file and key, or `code`.
        value: the value as it may be shown: secrets and long texts are cut. None when there is none to show.
        reason: what is wrong with it, and the way out when there is one.
        allowed: what the setting takes.
    """

    setting: str
    origin: str
    value: str | None
    reason: str
    allowed: str = ""

    def __str__(self) -> str:
        value = "" if self.value is None else f" = {self.value}"
        allowed = f" (allowed: {self.allowed})" if self.allowed else ""
        line = f"{self.setting}{value}, from {self.origin}: {self.reason}{allowed}"
        # Names and paths are given from outside: a line break in one must not start a new line of a log.
        return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in line)


class SettingsError(ValueError):
    """Settings that cannot hold, with every problem that was found.

    Its text is one line a problem. Nothing in it, nor in a chained exception, shows a secret.

    Attributes:
        problems: all of them, in the order in which they were met.
    """

    problems: tuple[Problem, ...]

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)

    def summary(self) -> str:
        """All problems in one line of bounded length, for the log."""
        count = len(self.problems)
        line = f"{count} invalid setting{'' if count == 1 else 's'}: " + "; ".join(map(str, self.problems))
        return line if len(line) <= SUMMARY_LENGTH else line[: SUMMARY_LENGTH - 3] + "..."
