"""The alerts: complete, one source for Prometheus and Grafana, and right in each case that promtool plays."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import promql_parser
import yaml
from generate._queries import EVERYTHING
from support.promtool import (
    PROJECT,
    RULE_TESTS,
    RULES,
    as_prometheus_sees_grafana,
    grafana_expressions,
    grafana_groups,
    rule_tests_for,
    run_promtool,
)

PLAYED = {
    "absent_series",
    "budget",
    "burn",
    "cancelled_exposed",
    "critic",
    "few_calls",
    "fleet",
    "first_refuse",
    "high_baseline",
    "jump",
    "low_traffic",
    "no_traffic",
    "resets",
    "revise_normal",
    "shipped_defaults",
    "silent_days",
    "workers",
}
TEMPLATE = re.compile(r"\{\{.*?\}\}")


def _alerts(rules: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [rule for rule in rules if "alert" in rule]


def test_there_is_an_alert_for_each_trouble(rules: list[dict[str, Any]]) -> None:
    assert {(alert["alert"], alert["labels"]["severity"]) for alert in _alerts(rules)} == {
        ("DraftcriticRefuseBurn", "page"),
        ("DraftcriticRefuseBurn", "ticket"),
        ("DraftcriticRefuseJump", "page"),
        ("DraftcriticReviseSurge", "ticket"),
        ("DraftcriticCriticFailures", "page"),
        ("DraftcriticCriticFailures", "ticket"),
        ("DraftcriticGateFiresOnEverything", "ticket"),
        ("DraftcriticReviewsSlow", "ticket"),
        ("DraftcriticReviewsCancelled", "ticket"),
        ("DraftcriticAnswersExposed", "ticket"),
        ("DraftcriticDraftsDropped", "ticket"),
        ("DraftcriticDraftsUnreviewed", "ticket"),
        ("DraftcriticBudgetBurn", "page"),
        ("DraftcriticBudgetBurn", "ticket"),
        ("DraftcriticBudgetUsedUp", "ticket"),
        ("DraftcriticSilent", "page"),
        ("DraftcriticSpoolOld", "ticket"),
        ("DraftcriticQueueOld", "ticket"),
        ("DraftcriticDeadLetters", "ticket"),
    }


def test_each_alert_says_what_is_wrong_and_what_to_do(rules: list[dict[str, Any]]) -> None:
    for alert in _alerts(rules):
        notes = alert["annotations"]
        assert notes["summary"].startswith("{{ .Labels.service_name }}: "), alert["alert"]
        assert len(notes["description"]) > 60, alert["alert"]
        runbook = PROJECT / notes["runbook_url"]
        assert runbook.is_file(), runbook
        assert alert["alert"] in runbook.read_text("utf-8"), runbook
        # A dollar sign would be taken for a variable by Grafana's provisioning.
        assert "$" not in str(notes)


def test_each_runbook_belongs_to_an_alert(rules: list[dict[str, Any]]) -> None:
    linked = {alert["annotations"]["runbook_url"] for alert in _alerts(rules)}
    shipped = {f"docs/runbooks/{path.name}" for path in (PROJECT / "docs" / "runbooks").glob("*.md")}
    assert shipped == linked


def test_each_expression_parses(rules: list[dict[str, Any]]) -> None:
    for rule in rules:
        promql_parser.parse(rule["expr"])
    for expr in grafana_expressions().values():
        promql_parser.parse(expr)
        assert not set(EVERYTHING) & set(re.findall(r"\$(\w+)", expr))


def test_grafanas_rules_are_the_same_alerts(rules: list[dict[str, Any]]) -> None:
    (group,) = grafana_groups()
    texts = {(alert["alert"], alert["labels"]["severity"]): alert for alert in _alerts(rules)}
    assert set(grafana_expressions()) == set(texts)
    for rule in group["rules"]:
        alert = texts[rule["title"].split(" ")[0], rule["labels"]["severity"]]
        assert rule["for"] == alert["for"]
        for name, text in alert["annotations"].items():
            assert TEMPLATE.sub("#", rule["annotations"][name]) == TEMPLATE.sub("#", text)
        assert "{{ .Value " not in str(rule["annotations"])


def test_grafanas_rules_stand_alone(rules: list[dict[str, Any]]) -> None:
    recorded = {rule["record"] for rule in rules if "record" in rule}
    for name, expr in grafana_expressions().items():
        assert not [one for one in recorded if re.search(rf"{re.escape(one)}\b", expr)], name


def test_grafanas_rules_have_the_shape_that_provisioning_takes() -> None:
    (group,) = grafana_groups()
    sources = yaml.safe_load((PROJECT / "grafana/provisioning/datasources/draftcritic.yaml").read_text("utf-8"))
    uids = {source["uid"]: source["type"] for source in sources["datasources"]}
    assert len({rule["uid"] for rule in group["rules"]}) == len(group["rules"])
    for rule in group["rules"]:
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", rule["uid"])
        query, condition = rule["data"]
        assert uids[query["datasourceUid"]] == "prometheus"
        assert (query["model"]["instant"], condition["datasourceUid"]) == (True, "__expr__")
        assert rule["condition"] == condition["refId"]
        assert condition["model"]["expression"] == query["refId"]
        assert (rule["noDataState"], rule["execErrState"]) == ("OK", "Error")


def test_every_case_is_played() -> None:
    assert {path.stem for path in RULE_TESTS} == PLAYED


def test_promtool_takes_the_rules(promtool: str) -> None:
    done = run_promtool(promtool, "check", "rules", "--lint=all", "--lint-fatal", str(RULES))
    assert done.returncode == 0, done.stdout + done.stderr


def test_promtool_plays_every_case(promtool: str) -> None:
    done = run_promtool(promtool, "test", "rules", *map(str, RULE_TESTS))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("SUCCESS") == len(PLAYED)


def test_grafanas_expressions_pass_the_same_cases(promtool: str, tmp_path: Path) -> None:
    rules = as_prometheus_sees_grafana(tmp_path)
    done = run_promtool(promtool, "test", "rules", *rule_tests_for(rules, tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_wrong_rule_would_fail(promtool: str, tmp_path: Path) -> None:
    content = yaml.safe_load(RULES.read_text("utf-8"))
    for rule in content["groups"][0]["rules"]:
        # Without the minimum volume, three of four calls are an alarm.
        if rule.get("alert") == "DraftcriticRefuseBurn":
            rule["expr"] = re.sub(r" and draftcritic:reviews:increase\w+ >= \d+", "", rule["expr"])
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(yaml.safe_dump(content), "utf-8")
    copies = [path for path in rule_tests_for(wrong, tmp_path) if path.endswith("few_calls.yaml")]
    done = run_promtool(promtool, "test", "rules", *copies)
    assert done.returncode != 0
    assert "DraftcriticRefuseBurn" in done.stdout + done.stderr
