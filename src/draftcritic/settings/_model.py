"""The one class that holds every setting."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import PrivateAttr, ValidationError

from draftcritic.core._policy import LimitRules, Policy
from draftcritic.review._file_watch import Stamp
from draftcritic.settings._conflicts import doubts, impossible, problems_of
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
    """What the plugin goes by: from code, then `DRAFTCRITIC_*`, then the file of `config`, then the defaults.

    The first source that says something about a setting decides; nothing is merged. An empty variable and None
    count as not said. `Settings(...)` and `Settings.load(...)` read the same sources. Objects are immutable.

    Raises:
        SettingsError: with every value that is not allowed, every name that is no setting, and every combination
            that cannot work.
    """

    _origins: dict[str, str] = PrivateAttr(default_factory=dict)
    _sources: tuple[Mapping[str, str], dict[str, Any]] = PrivateAttr(default=({}, {}))
    _stamp: Stamp = PrivateAttr(default=None)
    _blank: bool = PrivateAttr(default=False)

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
            # Once more without what cannot hold: then the combinations of the rest are known too.
            now.left_out = invalid
            self._fill(now, known)
        self._origins = now.origins
        if not any(problem.setting == "config" for problem in problems):
            problems += impossible(self, invalid)
        if problems:
            raise SettingsError(problems)
        environ = {name: text for name, text in now.environ.items() if name.startswith(ENV_PREFIX)}
        if self.config is not None:
            # Where it is now: the process may go to another directory before the file is read again.
            if code.get("config") is not None:
                code["config"] = self.config
            else:
                environ[f"{ENV_PREFIX}CONFIG"] = str(self.config)
        self._sources, self._stamp, self._blank = (environ, code), now.stamp, now.blank

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
            environ: stands in for the process's environment.
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
        """Return what the same code and environment say together with the file as it is now.

        Raises:
            SettingsError: see the class; also when the file is empty and was not, as it is between the moment in which
                a writer opens it and the one in which it writes.
        """
        environ, code = self._sources
        now = type(self).load(environ, **code)
        if now._blank and not self._blank:
            reason = "is empty and was not: it is taken as not yet written; for no settings at all leave a comment"
            raise SettingsError([Problem("config", self.origin("config"), str(self.config), reason)])
        return now

    @property
    def stamp(self) -> Stamp:
        """What the file of `config` was when it was read, for `draftcritic.review.WatchedFile`; None without one."""
        return self._stamp

    def origin(self, name: str) -> str:
        """Where the value of a setting came from.

        Returns:
            `code`, `env DRAFTCRITIC_<NAME>`, `file <path>` or `default`.

        Raises:
            KeyError: there is no such setting.
        """
        if name not in type(self).model_fields:
            raise KeyError(name)
        return self._origins.get(name, DEFAULT_ORIGIN)

    def policy(self) -> Policy:
        """Return what the gate and the reflection go by.

        Here, and not when settings are read, the import strings of `gate` and `rules_source` are imported.

        Raises:
            SettingsError: an import string leads nowhere.
        """
        from draftcritic.settings._to_policy import policy_of

        return policy_of(self)

    def rule_ids(self) -> tuple[str, ...]:
        """Return the ids of the preferences and rules, which telemetry counts."""
        from draftcritic.settings._to_policy import rule_ids_of

        return rule_ids_of(self)

    def doubts(self) -> list[str]:
        """Return what can work, and yet not as it was surely meant, each with the way out."""
        return list(doubts(self))

    def limits(self) -> LimitRules:
        """Return what keeps drafts from the reflection."""
        from draftcritic.settings._to_policy import limits_of

        return limits_of(self)


def _reading(environ: Mapping[str, str]) -> Reading:
    fields = Settings.model_fields
    return Reading(environ, names=list(fields), code_only=[name for name in fields if code_only(fields[name])])
