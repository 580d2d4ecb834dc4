"""The files are what the code makes, and the SDK knows every key in them."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.promtool import PROJECT

pytest.importorskip("grafana_foundation_sdk", reason="the SDK of the dashboards needs Python 3.11")

from generate import _jaeger
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard


def _generate(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "generate", *arguments],
        env={**os.environ, "PYTHONPATH": str(PROJECT / "grafana")},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_the_files_are_what_the_code_makes() -> None:
    done = _generate("--check")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_changed_file_is_found_and_made_anew(tmp_path: Path) -> None:
    assert _generate("--into", str(tmp_path)).returncode == 0
    changed = tmp_path / "grafana" / "dashboards" / "cost-by-sku.json"
    made = changed.read_text("utf-8")
    changed.write_text(made.replace("Cost by SKU", "Cost"), "utf-8")
    done = _generate("--check", "--into", str(tmp_path))
    assert done.returncode == 1
    assert (
        done.stderr
        == "grafana/dashboards/cost-by-sku.json differs from what grafana/generate makes; run `make dashboards`\n"
    )
    assert _generate("--into", str(tmp_path)).returncode == 0
    assert changed.read_text("utf-8") == made


def test_runbooks_can_be_served_elsewhere(tmp_path: Path) -> None:
    assert _generate("--into", str(tmp_path), "--runbooks", "https://wiki.example/runbooks").returncode == 0
    for name in ("alerts/draftcritic.yaml", "grafana/provisioning/alerting/draftcritic.yaml"):
        assert "runbook_url: https://wiki.example/runbooks/silent.md\n" in (tmp_path / name).read_text("utf-8")


def _there_and_back(board: dict[str, Any]) -> dict[str, Any]:
    register_default_plugins()
    _jaeger.register()
    return dict(json.loads(json.dumps(Dashboard.from_json(copy.deepcopy(board)), cls=JSONEncoder)))


def test_the_sdk_knows_every_key(board: dict[str, Any]) -> None:
    assert _there_and_back(board) == board


@pytest.mark.parametrize("where", ["options", "targets", "panel"])
def test_an_unknown_key_would_be_found(board: dict[str, Any], where: str) -> None:
    wrong = copy.deepcopy(board)
    panel = next(panel for panel in wrong["panels"] if panel["type"] in ("timeseries", "table"))
    {"options": panel["options"], "targets": panel["targets"][0], "panel": panel}[where]["nonsense"] = True
    assert _there_and_back(wrong) != wrong
