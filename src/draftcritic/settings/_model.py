"""The class `Settings`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import PrivateAttr, ValidationError

from draftcritic.core._enums import Mode
from draftcritic.core._policy import LimitRules, Policy
from draftcritic.review._file_watch import Stamp
from draftcritic.settings._agent_table import agent_problems, agent_warnings, settings_by_agent
from draftcritic.settings._conflicts import conflicts, problems_of, warnings
from draftcritic.settings._declared import DeclaredSettings
from draftcritic.settings._fields import Problem, SettingsError, code_only
from draftcritic.settings._origins import (
    CODE_ORIGIN,
    DEFAULT_ORIGIN,
    ENV_PREFIX,
    EnvironSource,
    FileSource,
    Reading,
    reading,
)

if TYPE_CHECKING:
    from pydantic_settings import BaseSettings, PydanticBaseSettingsSource
    from typing_extensions import Self


class Settings(DeclaredSettings):
    """The settings of the plugin: from code, then `DRAFTCRITIC_*`, then the file of `config`, then the defaults.

    The first source that gives a setting wins; nothing is merged. An empty variable and None count as not given.
    `Settings(...)` and `Settings.load(...)` read the same sources. Objects are immutable.

    Raises:
        SettingsError: with every value that is not allowed, every unknown name, and every combination that
            cannot work.
    """

    _origins: dict[str, str] = PrivateAttr(default_factory=dict)
    _sources: tuple[Mapping[str, str], dict[str, Any]] = PrivateAttr(default=({}, {}))
    _stamp: Stamp = PrivateAttr(default=None)
    _blank: bool = PrivateAttr(default=False)
    _file_mode: Mode | None = PrivateAttr(default=None)

    def __init__(self, **code: Any) -> None:
        now = reading.get(None) or _reading(os.environ)
        fields = type(self).model_fields
        for name, value in code.items():
            if name not in fields:
                now.refuse_unknown(name, CODE_ORIGIN, value)
        known = [(name, value) for name, value in code.items() if name in fields]
        refused = self._fill(now, known)
        invalid = frozenset(problem.setting.partition("[")[0].partition(".")[0] for problem in refused)
        problems = [*now.problems, *refused]
        if refused:
            # Read again without the invalid settings, to find the conflicts of the rest too.
            now.left_out = invalid
            self._fill(now, known)
        self._origins = now.origins
        if not any(problem.setting == "config" for problem in problems):
            problems += conflicts(self, invalid)
            if not problems:
                problems += agent_problems(self)
        if problems:
            raise SettingsError(problems)
        environ = {name: text for name, text in now.environ.items() if name.startswith(ENV_PREFIX)}
        if self.config is not None:
            # The absolute path: the process may change its directory before the file is reloaded.
            if code.get("config") is not None:
                code["config"] = self.config
            else:
                environ[f"{ENV_PREFIX}CONFIG"] = str(self.config)
        self._sources, self._stamp, self._blank = (environ, code), now.stamp, now.blank
        self._file_mode = now.file_mode

    def _fill(self, now: Reading, code: list[tuple[str, Any]]) -> list[Problem]:
        now.origins.clear()
        token = reading.set(now)
        try:
            super().__init__(**now.take(code, CODE_ORIGIN, ()))
        except ValidationError as error:
            return problems_of(error, type(self).model_fields, now.origins)
        finally:
            reading.reset(token)
        return []

    @classmethod
    def load(cls, environ: Mapping[str, str] | None = None, /, **code: Any) -> Self:
        """Read all sources.

        Args:
            environ: used in place of the process's environment.
            **code: settings that code gives; they win over every other source.

        Raises:
            SettingsError: see the class.
        """
        token = reading.set(_reading(os.environ if environ is None else environ))
        try:
            return cls(**code)
        finally:
            reading.reset(token)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - pydantic's signature
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - pydantic's signature
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - pydantic's signature
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources, the strongest first."""
        return init_settings, EnvironSource(settings_cls), FileSource(settings_cls)

    def reread(self) -> Self:
        """Return the settings of the same code and environment with the current content of the file.

        Raises:
            SettingsError: see the class; also when the file has become empty, as it is after a writer has opened it
                and before it writes.
        """
        environ, code = self._sources
        now = type(self).load(environ, **code)
        if now._blank and not self._blank:
            reason = "has become empty and may not be written yet; for no settings at all leave a comment in it"
            raise SettingsError([Problem("config", self.origin("config"), str(self.config), reason)])
        return now

    def varied(self, **code: Any) -> Self:
        """Return settings of the same sources, in which code gives these values, too.

        Raises:
            SettingsError: see the class.
        """
        environ, given = self._sources
        return type(self).load(environ, **{**given, **code})

    @property
    def stamp(self) -> Stamp:
        """The stamp of the file of `config` when it was read, for `draftcritic.review.WatchedFile`; else None."""
        return self._stamp

    @property
    def file_mode(self) -> Mode | None:
        """The `mode` of the file, also where the environment or code gives another one; None when it has none."""
        return self._file_mode

    def origin(self, name: str) -> str:
        """Return the source of a setting's value.

        Returns:
            `code`, `env DRAFTCRITIC_<NAME>`, `file <path>` or `default`.

        Raises:
            KeyError: there is no such setting.
        """
        if name not in type(self).model_fields:
            raise KeyError(name)
        return self._origins.get(name, DEFAULT_ORIGIN)

    def policy(self) -> Policy:
        """Return the policy of the gate and the reflection.

        The import strings of `gate` and `rules_source` are imported here, not when settings are read.

        Raises:
            SettingsError: an import string cannot be imported.
        """
        from draftcritic.settings._to_policy import policy_of

        return policy_of(self)

    def rule_ids(self) -> tuple[str, ...]:
        """Return the ids of the preferences and rules, which telemetry counts."""
        from draftcritic.settings._to_policy import rule_ids_of

        return rule_ids_of(self)

    def warnings(self) -> list[str]:
        """Return a line for each combination that is valid but probably not intended, with a fix."""
        return [*warnings(self), *agent_warnings(self)]

    def by_agent(self) -> dict[str, Settings]:
        """Return the settings of each agent that has a table in `agents`."""
        return settings_by_agent(self)

    def limits(self) -> LimitRules:
        """Return the limits of the reflection."""
        from draftcritic.settings._to_policy import limits_of

        return limits_of(self)


def _reading(environ: Mapping[str, str]) -> Reading:
    fields = Settings.model_fields
    return Reading(environ, names=list(fields), code_only=[name for name in fields if code_only(fields[name])])
