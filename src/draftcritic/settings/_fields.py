"""Declaration of a setting, and the error for invalid settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import Field

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

SUMMARY_LENGTH = 600
"""Characters that the one line for the log may have."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong.

    Attributes:
        setting: the name of the setting, with the place inside it, e.g. `preferences[1].priority`.
        origin: where the value came from: an environment variable, a file and key, or `code`.
        value: the value as it may be shown: secrets and long texts are cut. None when there is none to show.
        reason: what is wrong with it, and how to fix it.
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
        # Names and paths come from outside: a line break in one must not start a new line of the log.
        return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in line)


class SettingsError(ValueError):
    """Invalid settings, with every problem that was found.

    Its text is one line a problem. Nothing in it, nor in a chained exception, shows a secret.

    Attributes:
        problems: all problems, in the order in which they were found.
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


def setting(meaning: str, takes: str, *, default: Any = None, in_code: bool = False, repr: bool = True) -> Any:  # noqa: A002 - pydantic's name
    """Describe a field of `Settings`.

    Args:
        meaning: one sentence for the reference.
        takes: what is allowed, for the reference and for errors.
        default: the value when no source gives one.
        in_code: the value cannot be expressed as text.
        repr: whether the value is shown; objects may hold secrets.
    """
    return Field(default, description=meaning, json_schema_extra={"allowed": takes, "code_only": in_code}, repr=repr)


def allowed(field: FieldInfo) -> str:
    """What a setting takes, in words."""
    extra = field.json_schema_extra
    return str(extra["allowed"]) if isinstance(extra, Mapping) else ""


def code_only(field: FieldInfo) -> bool:
    """Whether a setting can only be given in code."""
    extra = field.json_schema_extra
    return isinstance(extra, Mapping) and extra["code_only"] is True
