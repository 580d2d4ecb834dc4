"""The sources of settings, and the origin of each value."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Collection, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from draftcritic.core._enums import Mode
from draftcritic.core._secrets import HIDDEN, is_secret_name
from draftcritic.review._file_watch import Stamp, stamp_of
from draftcritic.settings._display import shown
from draftcritic.settings._fields import Problem
from draftcritic.settings._value_types import absolute

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


ENV_PREFIX = "DRAFTCRITIC_"
DEFAULT_ORIGIN = "default"
CODE_ORIGIN = "code"
FILE_KINDS = (".toml", ".yaml", ".yml")
MAX_FILE_BYTES = 10_000_000
_SERVICE_LINKS = (
    (re.compile(r"(?:[A-Z0-9_]+_)?SERVICE_HOST"), re.compile(r"\S+")),
    (re.compile(r"(?:[A-Z0-9_]+_)?SERVICE_PORT(?:_[A-Z0-9_]+)?"), re.compile(r"\d{1,5}")),
    (re.compile(r"(?:[A-Z0-9_]+_)?PORT(?:_\d{1,5}_(?:TCP|UDP|SCTP))?"), re.compile(r"(?:tcp|udp|sctp)://\S+")),
    (re.compile(r"(?:[A-Z0-9_]+_)?PORT_\d{1,5}_(?:TCP|UDP|SCTP)_PROTO"), re.compile(r"tcp|udp|sctp")),
    (re.compile(r"(?:[A-Z0-9_]+_)?PORT_\d{1,5}_(?:TCP|UDP|SCTP)_PORT"), re.compile(r"\d{1,5}")),
    (re.compile(r"(?:[A-Z0-9_]+_)?PORT_\d{1,5}_(?:TCP|UDP|SCTP)_ADDR"), re.compile(r"\S+")),
)
"""Name, without our prefix, and value of the variables that Kubernetes sets for a Service named `draftcritic...`."""


@dataclass
class Reading:
    """What one construction of `Settings` has read so far.

    Attributes:
        environ: the environment variables.
        names: the names of all settings.
        code_only: those that no text can express.
        origins: where each value was found; a setting at its default is missing.
        problems: what was wrong with the sources themselves.
        left_out: settings that must not be read.
        stamp: shows whether the file of `config` has changed since it was read.
        blank: that file is empty, without even a comment.
        file_mode: what the file gives as `mode`, also where an earlier source wins.
    """

    environ: Mapping[str, str]
    names: Collection[str]
    code_only: Collection[str]
    origins: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    left_out: frozenset[str] = frozenset()
    stamp: Stamp = None
    blank: bool = False
    file_mode: Mode | None = None

    def take(self, pairs: Iterable[tuple[str, Any]], origin: str, before: Collection[str]) -> dict[str, Any]:
        """Return those `pairs` that no earlier source has given.

        Args:
            pairs: names of settings and their values.
            origin: their source; `{name}` and `{NAME}` are filled in.
            before: the settings that an earlier source has given.
        """
        taken = {}
        for name, value in pairs:
            if value is not None and name not in before and name not in self.left_out:
                taken[name] = value
                self.origins[name] = origin.format(name=name, NAME=name.upper())
        return taken

    def refuse(self, setting: str, origin: str, value: Any, reason: str, allowed: str = "") -> None:
        """Record a problem of a source."""
        text = None if value is None else shown(value)
        self.problems.append(Problem(setting, origin, text, reason, allowed))

    def refuse_unknown(self, name: str, origin: str, value: Any, known: str = "{name}") -> None:
        """Record an unknown name; `known` is how this source spells a setting."""
        like = difflib.get_close_matches(name.lower().replace("-", "_"), self.names, n=1, cutoff=0.7)
        hint = f"; did you mean {known.format(name=like[0], NAME=like[0].upper())}?" if like else ""
        self.refuse(name, origin, HIDDEN if is_secret_name(name) else value, f"is no setting{hint}")


reading: ContextVar[Reading] = ContextVar("draftcritic_settings_reading")


class _Source(PydanticBaseSettingsSource):
    """A source that hands over whole settings: nothing is merged into what an earlier source gave."""

    def __init__(self, settings_cls: type[BaseSettings]) -> None:
        super().__init__(settings_cls)
        self.reading = reading.get()

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:  # noqa: ARG002 - pydantic's signature
        """Return the value, its name, and that it needs no decoding."""
        return self().get(field_name), field_name, False


class EnvironSource(_Source):
    """Reads `DRAFTCRITIC_*`. An empty variable counts as unset."""

    def __call__(self) -> dict[str, Any]:
        """Return the settings that the environment gives."""
        pairs = []
        for variable, text in sorted(self.reading.environ.items()):
            if not variable.startswith(ENV_PREFIX) or not text.strip():
                continue
            name, origin = variable[len(ENV_PREFIX) :].lower(), f"env {variable}"
            if name not in self.reading.names and is_service_link(variable[len(ENV_PREFIX) :], text.strip()):
                continue
            if name not in self.reading.names or variable != variable.upper():
                self.reading.refuse_unknown(variable.removeprefix(ENV_PREFIX), origin, text, ENV_PREFIX + "{NAME}")
            elif name in self.reading.code_only:
                self.reading.refuse(name, origin, text, "can only be given in code")
            else:
                pairs.append((name, text.strip()))
        return self.reading.take(pairs, f"env {ENV_PREFIX}{{NAME}}", self.current_state)


class FileSource(_Source):
    """Reads the file that `config` names."""

    def __call__(self) -> dict[str, Any]:
        """Return the settings that the file gives; `{}` without a file."""
        config = self.current_state.get("config")
        if not isinstance(config, (str, PathLike)):
            return {}
        path = absolute(Path(config))
        self.reading.stamp = stamp_of(path)
        try:
            text = read_text(path)
            content = parsed(text, path)
        except ValueError as error:
            origin = self.reading.origins.get("config", CODE_ORIGIN)
            self.reading.refuse("config", origin, str(path), str(error), f"a file {', '.join(FILE_KINDS)}")
            return {}
        self.reading.blank = not text.strip()
        self._read_mode(content.get("mode"), f"file {path}")
        pairs = []
        for name, value in content.items():
            origin = f"file {path}"
            if name == "$schema":
                continue  # for editors
            if name == "config":
                self.reading.refuse(name, origin, value, "cannot be set in the file itself; set DRAFTCRITIC_CONFIG")
            elif name in self.reading.code_only:
                self.reading.refuse(name, origin, value, "can only be given in code")
            elif name not in self.reading.names:
                self.reading.refuse_unknown(str(name), origin, value)
            else:
                pairs.append((name, value))
        escaped = str(path).replace("{", "{{").replace("}", "}}")
        return self.reading.take(pairs, f"file {escaped}", self.current_state)

    def _read_mode(self, value: Any, origin: str) -> None:
        """Note the mode of the file, which counts also where an earlier source gives one."""
        if value is None:
            return
        # YAML 1.1 reads a bare `off` as false.
        text = "off" if value is False else str(value).strip().lower()
        if text in {mode.value for mode in Mode}:
            self.reading.file_mode = Mode(text)
        elif "mode" in self.current_state:
            allowed = ", ".join(mode.value for mode in Mode)
            self.reading.refuse("mode", origin, value, "is none of the words", allowed)


def is_service_link(name: str, value: str) -> bool:
    """Whether an environment variable, named without our prefix, is a service link of an orchestrator."""
    return any(names.fullmatch(name) and values.fullmatch(value) for names, values in _SERVICE_LINKS)


def read_text(path: Path) -> str:
    """Return the text of a TOML or YAML file.

    Raises:
        ValueError: there is no such file, or it cannot be read.
    """
    if path.suffix.lower() not in FILE_KINDS:
        raise ValueError("is neither TOML nor YAML by its name")
    if not path.exists():
        raise ValueError("there is no such file")
    if not path.is_file():
        raise ValueError("is not a file")
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ValueError(f"is larger than {MAX_FILE_BYTES} bytes")
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror or type(error).__name__}") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"is not UTF-8: byte {error.start}") from None


def parsed(text: str, path: Path) -> Mapping[Any, Any]:
    """Return the content of a file.

    Raises:
        ValueError: the text is not valid in the format of the file's name.
    """
    content = _parse_toml(text) if path.suffix.lower() == ".toml" else _parse_yaml(text)
    if not isinstance(content, Mapping):
        raise ValueError("has no names of settings at its top level")  # noqa: TRY004 - one kind of error for a file
    return content


def _parse_toml(text: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"is no valid TOML: {_one_line(error)}") from None


def _parse_yaml(text: str) -> Any:
    try:
        import yaml  # noqa: F401 - an extra
    except ImportError:
        raise ValueError(
            "is YAML, and no YAML reader is installed: pip install 'draftcritic[yaml]', or use TOML"
        ) from None
    from draftcritic.settings._yaml import load_yaml

    return load_yaml(text)


def _one_line(error: object) -> str:
    return " ".join(str(error).split())[:200]
