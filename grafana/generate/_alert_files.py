"""The files of the alerts: rules for Prometheus, and alert rules for Grafana."""

from __future__ import annotations

from typing import Any

import yaml

from generate._alerts import ALERTS
from generate._exported import SERVICE
from generate._recorded import RECORDED
from generate._rules import Alert, by_name, written_out

RUNBOOKS = "docs/runbooks"
"""The default address of the runbooks."""
GRAFANA_PROMETHEUS = "draftcritic-prometheus"
"""The uid of the data source in grafana/provisioning/datasources: alert rules cannot choose one by a variable."""
_EVERY = "1m"
_HEADLINE = "# Made by `make dashboards` from grafana/generate/; change it there.\n"


class _Dumper(yaml.SafeDumper):
    """Writes long texts as blocks, and repeats values in place of aliases."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the name is the base class's
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = ">" if len(value) > 100 and not value.startswith(" ") else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def prometheus_rules(runbooks: str = RUNBOOKS) -> str:
    """Return the rule file for Prometheus, for `rule_files` or a PrometheusRule."""
    recording = [{"record": one.name, "expr": one.build(by_name, "")} for one in RECORDED]
    alerting = [
        {
            "alert": alert.name,
            "expr": alert.build(by_name),
            "for": alert.lasting,
            "labels": {"severity": alert.severity},
            "annotations": _annotations(alert, ".Value", runbooks),
        }
        for alert in ALERTS
    ]
    # One group, so that the alerts see what was recorded just before them.
    return _dump({"groups": [{"name": "draftcritic", "interval": _EVERY, "rules": [*recording, *alerting]}]})


def grafana_rules(runbooks: str = RUNBOOKS) -> str:
    """Return the provisioning file for Grafana's own alerting, which needs no recording rule."""
    rules = [_grafana_rule(alert, runbooks) for alert in ALERTS]
    group = {"orgId": 1, "name": "draftcritic", "folder": "draftcritic", "interval": _EVERY, "rules": rules}
    return _dump({"apiVersion": 1, "groups": [group]})


def _grafana_rule(alert: Alert, runbooks: str) -> dict[str, Any]:
    name = f"{alert.name} ({alert.severity})"
    query = {"refId": "A", "expr": alert.build(written_out), "instant": True, "range": False, "editorMode": "code"}
    above = {"type": "query", "evaluator": {"type": "gt", "params": [0]}}
    condition = {"refId": "B", "type": "threshold", "expression": "A", "conditions": [above]}
    window = {"from": 600, "to": 0}
    return {
        # Letters, digits and hyphens, at most 40: what Grafana takes.
        "uid": f"{alert.name.replace('Draftcritic', 'draftcritic-').lower()}-{alert.severity}",
        "title": name,
        "condition": "B",
        "data": [
            {"refId": "A", "relativeTimeRange": window, "datasourceUid": GRAFANA_PROMETHEUS, "model": query},
            {"refId": "B", "relativeTimeRange": window, "datasourceUid": "__expr__", "model": condition},
        ],
        # The query yields a series only for a service in trouble.
        "noDataState": "OK",
        "execErrState": "Error",
        "for": alert.lasting,
        "annotations": _annotations(alert, ".Values.A.Value", runbooks),
        "labels": {"severity": alert.severity},
    }


def _annotations(alert: Alert, value: str, runbooks: str) -> dict[str, str]:
    places = {
        "{service}": f"{{{{ .Labels.{SERVICE} }}}}",
        "{percent}": f"{{{{ {value} | humanizePercentage }}}}",
        "{value}": f"{{{{ {value} | humanize }}}}",
    }

    def filled(text: str) -> str:
        for place, template in places.items():
            text = text.replace(place, template)
        return text

    return {
        "summary": filled(alert.summary),
        "description": filled(alert.description),
        "runbook_url": f"{runbooks}/{alert.runbook}.md",
    }


def _dump(content: dict[str, Any]) -> str:
    return _HEADLINE + yaml.dump(content, Dumper=_Dumper, sort_keys=False, width=118, allow_unicode=True)
