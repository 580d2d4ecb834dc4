"""Policy tests."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from cli.test_cli import run

from draftcritic.check import Case, check_cases, junit_xml, read_cases, shipped_cases
from draftcritic.core import FabricationMode, Policy
from draftcritic.pytest_plugin import Checker
from draftcritic.replay import AnswerCache, Judge, ModelJudge
from draftcritic.testing import ScriptedCriticModel
from draftcritic.turns import ReadError, RowError

INVENTED = {
    "name": "invented",
    "draft": "Your order number is ZX-99817.",
    "messages": [{"role": "user", "content": "?"}],
}


def case(**expect: Any) -> dict[str, Any]:
    return {**INVENTED, "expect": expect}


@pytest.mark.parametrize(
    "policy",
    [
        Policy(),
        Policy(selective_gate=True),
        Policy(selective_gate=True, fabrication_mode=FabricationMode.REFUSE),
    ],
    ids=["default", "selective", "refusing"],
)
def test_the_thirty_shipped_cases_pass(policy: Policy) -> None:
    outcomes = check_cases(shipped_cases(), Judge(policy))
    assert len(outcomes) == 30
    assert [(one.case.name, one.problems) for one in outcomes if not one.passed] == []


def test_a_policy_without_the_check_is_found() -> None:
    blind = Policy(gate=lambda _: False)
    failed = [one for one in check_cases(shipped_cases(), Judge(blind)) if not one.passed]
    assert len(failed) == 15
    assert failed[0].problems == ("gate: fired expected, skipped found",)


@pytest.mark.parametrize(
    ("expect", "problem"),
    [
        ({"gate": "skipped"}, "gate: skipped expected, fired found"),
        ({"verdict": ["revise", "refuse"]}, "verdict: revise or refuse expected, none found"),
        ({"released": False}, "released: False expected, True found"),
        ({"findings": ["price"]}, "findings: price expected, reference found"),
        ({"no_findings": True}, "no finding expected, reference 'ZX-99817' found"),
        ({"rules": ["No gifts."]}, "rules: No gifts. expected, none found"),
    ],
)
def test_what_is_not_as_expected_is_said(expect: dict[str, Any], problem: str) -> None:
    (outcome,) = check_cases([Case.from_dict(case(**expect))], Judge(Policy()))
    assert outcome.problems == (problem,)


def test_a_model_can_be_asked() -> None:
    model = ScriptedCriticModel([{"verdict": "refuse", "refusal_message": "No."}])
    judge = ModelJudge(Policy(), lambda: model, "scripted", AnswerCache(None))
    (outcome,) = check_cases([Case.from_dict(case(verdict="refuse", released=False))], judge)
    assert outcome.passed


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"draft": "x", "expect": {"gate": "fired"}}, "name is missing"),
        ({"name": "x", "draft": "x"}, "expect is missing"),
        (case(gates="fired"), "expect has gates"),
        (case(gate="maybe"), "expect.gate is 'maybe'; allowed are fired, skipped"),
        (case(verdict=["refuse", "no"]), "expect.verdict is 'no'"),
    ],
)
def test_a_case_with_a_wrong_field_is_rejected(tmp_path: Path, value: dict[str, Any], reason: str) -> None:
    with pytest.raises(RowError, match=reason.replace("'", ".")):
        Case.from_dict(value)
    (tmp_path / "cases.jsonl").write_text(json.dumps(value))
    with pytest.raises(ReadError, match=r"cases\.jsonl, line 1"):
        list(read_cases(tmp_path / "cases.jsonl"))


def test_junit_has_every_case_and_survives_any_text() -> None:
    hostile = {**case(gate="skipped"), "name": "bad\0\ud800 <name>", "draft": "Number ZX-99817 \x1b ]]> & <x>"}
    outcomes = check_cases([Case.from_dict(hostile), Case.from_dict(case(gate="fired"))], Judge(Policy()))
    root = ElementTree.fromstring(junit_xml(outcomes, "shop"))
    assert (root.get("tests"), root.get("failures")) == ("2", "1")
    assert [one.get("name") for one in root.iter("testcase")] == ["bad\ufffd\ufffd <name>", "invented"]


def test_the_command_ends_with_1_when_a_case_fails(tmp_path: Path) -> None:
    assert run("check").stdout == "30 passed, 0 failed\n"
    cases, junit = tmp_path / "cases.jsonl", tmp_path / "junit.xml"
    cases.write_text(json.dumps(case(gate="skipped")) + "\n")
    done = run("check", str(cases), "--junit", str(junit))
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == "FAILED invented: gate: skipped expected, fired found\n0 passed, 1 failed\n"
    assert 'failures="1"' in junit.read_text()
    cases.write_text("no json\n")
    assert run("check", str(cases)).returncode == 2


def test_the_fixture_fails_a_test_and_says_why() -> None:
    assert len(Checker()(policy=Policy())) == 30
    with pytest.raises(AssertionError, match="invented: gate: skipped expected, fired found"):
        Checker()(case(gate="skipped"), policy=Policy())


def test_the_plugin_gives_its_fixture_to_pytest(tmp_path: Path) -> None:
    (tmp_path / "draftcritic.toml").write_text("selective_gate = true\n")
    (tmp_path / "test_policy.py").write_text(
        "def test_policy(draftcritic_check):\n    assert len(draftcritic_check(config='draftcritic.toml')) == 30\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:draftcritic", "-p", "draftcritic.pytest_plugin"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
