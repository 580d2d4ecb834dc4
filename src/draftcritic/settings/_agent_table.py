"""Settings of single agents, in the tables of `agents`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from draftcritic.settings import _value_types as types
from draftcritic.settings._conflicts import conflicts

if TYPE_CHECKING:
    from draftcritic.settings._fields import Problem
    from draftcritic.settings._model import Settings

_MOST = 64
"""Tables: each has rules in memory, and its name is a value of telemetry."""


class AgentTable(BaseModel):
    """What the settings say for one agent in place of the process's settings of the same names.

    Attributes:
        mode: at most the process's.
        model, model_kwargs: the critic's model.
        rules, preferences, sensitive_tags, fail_closed_tags, confidence_threshold, selective_gate, fabrication,
            fabrication_refuse_threshold: see the settings.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", frozen=True, protected_namespaces=())

    mode: types.ModeWord | None = None
    model: types.ModelChoice = None
    model_kwargs: types.ModelKwargs | None = None
    rules: types.Rules | None = None
    preferences: types.Preferences | None = None
    sensitive_tags: types.Words | None = None
    fail_closed_tags: types.Words | None = None
    confidence_threshold: types.Share | None = None
    selective_gate: bool | None = None
    fabrication: types.FabricationWord | None = None
    fabrication_refuse_threshold: types.Share | None = None

    def given(self) -> dict[str, Any]:
        """Return the values that the table has."""
        return {name: value for name in self.model_fields_set if (value := getattr(self, name)) is not None}


AgentName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=64)]
AgentTables = Annotated[dict[AgentName, AgentTable], BeforeValidator(types.json_object), Field(max_length=_MOST)]


def settings_by_agent(settings: Settings) -> dict[str, Settings]:
    """Return the settings of each agent that has a table."""
    return {name: _varied(settings, table) for name, table in settings.agents.items()}


def agent_problems(settings: Settings) -> Iterator[Problem]:
    """Yield the combinations in an agent's table that cannot work."""
    own = {(problem.setting, problem.reason) for problem in conflicts(settings, ())}
    for name, varied in settings_by_agent(settings).items():
        for problem in conflicts(varied, ()):
            if (problem.setting, problem.reason) not in own:
                yield replace(problem, setting=f"agents.{name}.{problem.setting}", origin=settings.origin("agents"))


def agent_warnings(settings: Settings) -> Iterator[str]:
    """Yield a line for each table that asks for more than the process's mode."""
    for name, table in settings.agents.items():
        if table.mode is not None and settings.mode.lowered_to(table.mode) is not table.mode:
            yield (
                f"agents.{name}.mode = {table.mode.value}: a table may only lower the mode, and the process has "
                f"{settings.mode.value}; raise `mode`, or drop it here"
            )


def _varied(settings: Settings, table: AgentTable) -> Settings:
    given = table.given()
    if table.mode is not None:
        given["mode"] = settings.mode.lowered_to(table.mode)
    return settings.model_copy(update=given)
