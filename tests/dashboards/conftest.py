"""The shipped dashboards and the rule file."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from support.promtool import PROJECT, RULES, find_promtool

DASHBOARDS = sorted((PROJECT / "grafana" / "dashboards").glob("*.json"))


@pytest.fixture(scope="session", params=DASHBOARDS, ids=lambda path: path.stem)
def board(request: pytest.FixtureRequest) -> dict[str, Any]:
    return dict(json.loads(request.param.read_text("utf-8")))


@pytest.fixture(scope="session")
def rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(RULES.read_text("utf-8"))["groups"]
    return list(group["rules"])


@pytest.fixture(scope="session")
def promtool() -> str:
    found = find_promtool()
    if found is None:
        pytest.skip("promtool is neither on the PATH nor fetched: run `make stack`")
    return found


@pytest.fixture(scope="session")
def all_queries() -> str:
    return "".join(path.read_text("utf-8") for path in DASHBOARDS)
