"""`draftcritic qualify`, and the warning of a critic that is not known to be qualified."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from draftcritic.cli._main import main
from draftcritic.core import EvidenceScope, Verdict
from draftcritic.qualify import HALVES, KINDS, Scores, Trial, Variant, fitness_of, made_cases, run_trial
from draftcritic.review import Reply
from draftcritic.settings import Settings
from draftcritic.settings._conflicts import warnings
from draftcritic.testing import ScriptedCriticModel

CASES = made_cases(120)


def knowing(right: bool = True, misquotes: bool = False) -> ScriptedCriticModel:
    """A critic that knows which drafts are bad, or says the opposite."""
    bad = {case.turn.draft: case.bad for case in made_cases(400)}

    def answer(messages: Any) -> Reply:
        draft = messages[-1].text.rpartition("begin [DRAFT]\n")[2].partition("\n--- ")[0]
        token = re.search(r'"id": "(\w+)"', messages[-1].text.splitlines()[-1])[1]
        verdict = Verdict.REVISE if bad[draft] == right else Verdict.APPROVE
        claims = [{"quote": "words of no draft", "supported": True}] if misquotes else []
        said = {"id": token, "claims": claims, "verdict": verdict, "revised_draft": "x"}
        usage = {"input_tokens": 100, "output_tokens": 10, "input_token_details": {"cache_read": 40}}
        return Reply(json.dumps(said), model="a-model", usage=usage)

    return ScriptedCriticModel(answer)


def test_the_set_has_every_kind_twice_over_and_its_twins_differ_in_the_draft_alone() -> None:
    assert len(KINDS) == 8
    assert {case.kind for case in CASES if case.bad} == set(KINDS) == {case.kind for case in CASES if not case.bad}
    assert sum(case.finding is not None for case in CASES) >= 10
    assert made_cases(50) == made_cases(50) != made_cases(50, seed=2)
    halves = [{case.turn.user_message for case in made_cases(60, half=half)} for half in HALVES]
    assert {case.half for case in made_cases(60, half=HALVES[0])} == {HALVES[0]}
    assert not halves[0] & halves[1]
    for case in CASES:
        twins = [
            other for other in CASES if other.turn.user_message == case.turn.user_message and other.bad != case.bad
        ]
        assert all(other.turn.draft != case.turn.draft for other in twins)
        if case.finding is not None:
            start, end = case.finding.span
            assert case.turn.draft[start:end] == case.finding.identifier


def test_a_critic_that_knows_is_fit_and_one_that_is_wrong_is_not() -> None:
    scores = run_trial(knowing, CASES, Variant()).scores
    assert (scores.caught.rate, scores.flagged.rate, scores.dismissed.rate) == (1, 0, 1)
    assert (scores.input_tokens, scores.output_tokens, scores.cached_tokens) == (100, 10, 40)
    assert fitness_of(scores).fit
    wrong = run_trial(lambda: knowing(right=False), CASES, Variant()).scores
    assert (wrong.caught.rate, wrong.flagged.rate) == (0, 1)
    assert len(fitness_of(wrong).reasons) == 2


def test_a_critic_without_verdicts_is_not_fit() -> None:
    scores = run_trial(lambda: ScriptedCriticModel(lambda _: "I like it."), CASES[:20], Variant()).scores
    assert scores.failed.hits == 20
    assert not fitness_of(scores).fit


def test_misquotes_are_counted() -> None:
    trial = run_trial(lambda: knowing(misquotes=True), CASES[:20], Variant())
    assert trial.scores.misquoted.hits == 20


@pytest.mark.parametrize(
    ("variant", "shown"), [(Variant(evidence=False, doubts=False), ()), (Variant(), ("tools", "user", "findings"))]
)
def test_variants_show_what_they_say(variant: Variant, shown: tuple[str, ...]) -> None:
    model = knowing()
    case = next(case for case in CASES if case.finding is not None and case.turn.tool_calls)
    run_trial(lambda: model, [case], variant)
    blocks = re.findall(r"^--- \w{16} begin \[(\w+)\]$", model.prompts[0][-1].text, re.MULTILINE)
    assert {name.lower() for name in blocks} >= set(shown)
    assert (EvidenceScope.NONE is variant.policy(1).evidence) == (not shown)
    assert ("TOOLS" in blocks) == bool(shown)


def test_scores_of_nothing_are_empty() -> None:
    assert str(Scores.of(()).caught) == "-"
    assert Trial(()).scores.seconds == 0


@pytest.mark.parametrize(
    ("right", "code", "says"), [(True, 0, "is fit to enforce"), (False, 3, "is not fit to enforce")]
)
def test_the_command_says_whether_a_model_is_fit(right, code, says, monkeypatch, capsys) -> None:
    monkeypatch.setattr("draftcritic.cli._qualify_command._model", lambda args: (knowing(right), None))
    assert main(["qualify", "--model", "openai:a-model", "--drafts", "40"]) == code
    out = capsys.readouterr().out
    assert says in out
    assert ('qualified_models = ["a-model"]' in out) == right
    assert "errors caught:" in out


def test_a_command_without_a_model_says_what_to_give(monkeypatch, capsys) -> None:
    monkeypatch.delenv("DRAFTCRITIC_MODEL", raising=False)
    assert main(["qualify"]) == 2
    assert "give --model PROVIDER:NAME, or set `model`" in capsys.readouterr().err


class TestWarning:
    @pytest.mark.parametrize(
        ("given", "warned"),
        [
            ({"mode": "enforce", "model": "openai:gpt-4.1-mini-2025-04-14"}, True),
            (
                {"mode": "enforce", "model": "openai:gpt-4.1-mini-2025-04-14", "qualified_models": ["gpt-4.1-mini"]},
                False,
            ),
            ({"mode": "enforce", "model": "openai:gpt-4.1", "qualified_models": ["gpt-4.1-mini"]}, True),
            ({"mode": "enforce"}, True),
            ({"mode": "enforce", "qualified_models": ["gpt-4.1-mini"]}, False),
            ({"mode": "observe", "model": "openai:gpt-4.1"}, False),
        ],
    )
    def test_is_given_when_a_critic_that_is_not_known_enforces(self, given: dict[str, Any], warned: bool) -> None:
        said = [text for text in warnings(Settings.load({}, **given)) if "draftcritic qualify" in text]
        assert bool(said) == warned
