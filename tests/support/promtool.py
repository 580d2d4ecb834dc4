"""Prometheus' own tool, and the shipped rule tests run by it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import yaml

PROJECT = Path(__file__).resolve().parents[2]
RULES = PROJECT / "alerts" / "draftcritic.yaml"
RULE_TESTS = sorted((PROJECT / "alerts" / "tests").glob("*.yaml"))
GRAFANA_RULES = PROJECT / "grafana" / "provisioning" / "alerting" / "draftcritic.yaml"
_WITHIN_S = 900


def find_promtool() -> str | None:
    """The promtool of the PATH, or the one that `make stack` has fetched."""
    named = os.environ.get("DRAFTCRITIC_STACK_CACHE")
    cache = Path(named).expanduser() if named else Path.home() / ".cache" / "draftcritic-stack"
    fetched = sorted(map(str, cache.glob("prometheus-*/promtool")))
    return shutil.which("promtool") or (fetched[-1] if fetched else None)


def run_promtool(promtool: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([promtool, *arguments], capture_output=True, encoding="utf-8", timeout=_WITHIN_S, check=False)


def rule_tests_for(rules: Path, folder: Path) -> list[str]:
    """The rule tests, written into a folder so that they test another rule file."""
    copies = []
    for file in RULE_TESTS:
        content = yaml.safe_load(file.read_text("utf-8"))
        content["rule_files"] = [str(rules)]
        copy = folder / file.name
        copy.write_text(yaml.safe_dump(content, sort_keys=False), "utf-8")
        copies.append(str(copy))
    return copies


def as_prometheus_sees_grafana(folder: Path) -> Path:
    """The shipped rule file with each alert's expression replaced by the one that Grafana queries."""
    content = yaml.safe_load(RULES.read_text("utf-8"))
    asked = grafana_expressions()
    for rule in content["groups"][0]["rules"]:
        if "alert" in rule:
            rule["expr"] = asked[rule["alert"], rule["labels"]["severity"]]
    made = folder / "grafana.yaml"
    made.write_text(yaml.safe_dump(content, sort_keys=False), "utf-8")
    return made


def grafana_expressions() -> dict[tuple[str, str], str]:
    """What Grafana's rules ask of Prometheus, by the alert's name and severity."""
    (group,) = grafana_groups()
    return {
        (rule["title"].split(" ")[0], rule["labels"]["severity"]): rule["data"][0]["model"]["expr"]
        for rule in group["rules"]
    }


def grafana_groups() -> list[dict[str, Any]]:
    return list(yaml.safe_load(GRAFANA_RULES.read_text("utf-8"))["groups"])
