from __future__ import annotations

import dataclasses
import logging
import re
from types import SimpleNamespace

import pytest

from draftcritic.core import (
    Assessment,
    CriticPreference,
    FabricationMode,
    GateDecision,
    GateReason,
    IntentVerdict,
    Policy,
    Profile,
    Turn,
    _assess,
    assess,
)

SURE = {"activated_nodes": [{"score": 1.0}], "inference_paths": [["a"]] * 3}
SELECTIVE = Policy(selective_gate=True, read_only_tools=frozenset({"look_up"}))


def decided(turn, policy):
    assessment = assess(turn, policy)
    return assessment.decision.value, assessment.reason.value


@pytest.mark.parametrize(
    "draft",
    [
        "",
        " \n\t\u3000",
        "\u200b",
        "\u2060",
        "\ufeff",
        " \u200b\n\u200d\u200e\u2062",
        "\u00ad",
        "\u202a\u202c",
        "\u3164",
        "\x00",
        "\u200b" * 100_000,
    ],
)
def test_no_text_that_shows_is_no_draft(draft):
    assert assess(Turn(draft), Policy()) == Assessment(GateDecision.NOT_EVALUATED, GateReason.NOT_A_DRAFT)


@pytest.mark.parametrize(
    "draft", ["\u200ba", "\U000e0041\U000e0042", "\ufe0f\u2764", ".", "\u200b\U0001f44d", "\ue000"]
)
def test_text_that_shows_or_hides_a_message_is_a_draft(draft):
    assert assess(Turn(draft), Policy()).decision is GateDecision.FIRED


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (Turn("Thanks!"), ("fired", "low_confidence")),
        (Turn("It is running", activation=SURE), ("skipped", "confident")),
        (Turn("pid=17 is running", activation=SURE), ("fired", "fabrication")),
        (Turn("pid=17 is running"), ("fired", "fabrication")),
        (
            Turn("Hi", activation={**SURE, "activated_nodes": [{"score": 1, "tags": ["pii"]}]}),
            ("fired", "sensitive_tag"),
        ),
        (Turn("Hi", activation={"activated_nodes": [{"tags": ["pii"]}]}), ("fired", "sensitive_tag")),
    ],
)
def test_the_legacy_gate(turn, expected):
    policy = Policy(preferences=(CriticPreference(1, "no PII", ("pii",)),))
    assert decided(turn, policy) == expected


@pytest.mark.parametrize(
    ("turn", "reason"),
    [
        (Turn("Thanks!", activation={"activated_nodes": [{"tags": ["pii"]}]}), "sensitive_tag"),
        (Turn("pid=17", tool_calls=({"name": "refund"},)), "fabrication"),
        (Turn("Thanks!", tool_calls=({"name": "refund"},)), "tool_action"),
        (Turn("Thanks!", tool_calls=({"name": "look_up"},), intent=IntentVerdict("action", 0.9)), "intent_action"),
        (Turn("Thanks!", intent=IntentVerdict("ambiguous", 0.5)), "intent_ambiguous"),
        (Turn("It opens at 9"), "claims"),
        (Turn("That depends on the weather"), "not_trivial"),
    ],
)
def test_the_selective_gate_names_the_first_cause(turn, reason):
    policy = dataclasses.replace(SELECTIVE, sensitive_tags=frozenset({"pii"}))
    assert decided(turn, policy) == ("fired", reason)


def test_the_selective_gate_skips_thanks():
    assert decided(Turn("Thanks!", tool_calls=({"name": "look_up"},)), SELECTIVE) == ("skipped", "trivial_ack")


def test_all_signals_are_listed_in_the_order_of_precedence_whatever_the_gate():
    turn = Turn(
        "pid=17",
        tool_calls=({"name": "refund"},),
        intent=SimpleNamespace(label="action", confidence=0.9),
        activation={"activated_nodes": [{"tags": "pii"}]},
    )
    policy = Policy(sensitive_tags=frozenset({"pii"}))
    for one in (
        policy,
        dataclasses.replace(policy, selective_gate=True),
        dataclasses.replace(policy, gate=lambda ctx: False),
    ):
        assert [signal.value for signal in assess(turn, one).signals] == [
            "sensitive_tag",
            "fabrication",
            "tool_action",
            "intent_action",
            "claims",
            "not_trivial",
            "low_confidence",
        ]
    assert [signal.value for signal in assess(Turn("Thanks!", activation=SURE), Policy()).signals] == [
        "confident",
        "trivial_ack",
    ]


def test_a_claimed_action_fires_the_default_gate_whatever_the_threshold():
    turn = Turn("I have cancelled your booking.", activation=SURE)
    for threshold in (0.0, 0.4, 0.6):
        assert decided(turn, Policy(confidence_threshold=threshold)) == ("fired", "fabrication")
    assert decided(turn, Policy(confidence_threshold=0.4, profile=Profile.SYMFONIC)) == ("skipped", "confident")
    assert decided(turn, Policy(fabrication_mode=FabricationMode.OFF)) == ("skipped", "confident")


def test_low_confidence_is_the_last_reason_that_a_gate_names():
    assert decided(Turn("I have cancelled your booking."), Policy()) == ("fired", "fabrication")
    assert list(GateReason).index(GateReason.LOW_CONFIDENCE) > list(GateReason).index(GateReason.NOT_TRIVIAL)


def test_nodes_alone_can_be_confident():
    nodes = {"activated_nodes": [{"score": 1.0}]}
    assert decided(Turn("It is running", activation=nodes), Policy()) == ("skipped", "confident")
    assert decided(Turn("It is running", activation=nodes), Policy(profile=Profile.SYMFONIC)) == (
        "fired",
        "low_confidence",
    )


def test_invalid_scores_are_marked_and_warned_about_once(caplog):
    _assess._warn_invalid.cache_clear()
    for _ in range(2):
        assessment = assess(Turn("It is running", activation={"activated_nodes": [{"score": 40}]}), Policy())
        assert (assessment.activation_invalid, assessment.confidence) == (True, 0.0)
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_the_values_behind_the_decision_are_kept():
    turn = Turn("pid=17", activation={"activated_nodes": [{"score": None, "tags": ["pii"]}]})
    assessment = assess(turn, Policy(sensitive_tags=frozenset({"pii"}), confidence_threshold=0.3))
    assert (assessment.confidence, assessment.sensitive_hit, assessment.activation_invalid) == (0.0, "pii", True)
    assert assessment.threshold == 0.3
    assert [f.identifier for f in assessment.findings] == ["17"]


def test_findings_tell_unchecked_from_clean():
    assert assess(Turn("pid=17"), Policy(fabrication_mode=FabricationMode.OFF)).findings is None
    assert assess(Turn("pid=17", user_message="what is pid 17"), Policy()).findings == ()
    assert assess(Turn("iban: DE02"), Policy()).findings == ()
    assert [f.key for f in assess(Turn("iban: DE02"), Policy(identifier_keys=("iban",))).findings] == ["iban"]


def test_own_patterns_for_acknowledgements():
    policy = dataclasses.replace(SELECTIVE, trivial_ack_patterns=("^aye$",))
    assert decided(Turn("Aye"), policy) == ("skipped", "trivial_ack")
    assert decided(Turn("Thanks!"), policy) == ("fired", "not_trivial")


@pytest.mark.parametrize(("answer", "decision"), [(True, "fired"), (1, "fired"), (False, "skipped"), (None, "skipped")])
def test_a_gate_of_the_users(answer, decision):
    seen = []

    def gate(ctx):
        seen.append(ctx)
        return answer

    turn = Turn("Thanks!", run_id="r1", scope="s", tool_calls=({"name": "x"},))
    assert decided(turn, Policy(gate=gate, read_only_tools=frozenset({"x"}))) == (decision, "custom_gate")
    (ctx,) = seen
    assert (ctx.draft, ctx.run_id, ctx.scope, ctx.confidence, ctx.selective_gate_enabled) == (
        "Thanks!",
        "r1",
        "s",
        0.5,
        False,
    )
    assert (ctx.tool_calls_this_turn, ctx.read_only_tools) == (({"name": "x"},), frozenset({"x"}))


def test_a_gate_that_raises_fires():
    def gate(ctx):
        raise KeyError("x")

    assessment = assess(Turn("Thanks!", activation=SURE), Policy(gate=gate))
    assert (assessment.decision.value, assessment.reason.value, assessment.gate_error) == (
        "fired",
        "gate_error",
        "KeyError",
    )


def test_an_asynchronous_gate_fires():
    async def gate(ctx):
        return False

    assert assess(Turn("Thanks!"), Policy(gate=gate)).gate_error == "TypeError"


def test_a_gate_that_stops_the_program_stops_it():
    def gate(ctx):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        assess(Turn("Thanks!"), Policy(gate=gate))


def test_a_gate_that_raises_is_logged_once_for_each_place_and_kind_and_told_of_every_draft(caplog):
    def gate(context):
        if context.draft == "one":
            raise KeyError(context.draft)
        if context.draft == "two":
            int(context.draft)
        raise ValueError

    errors = [assess(Turn(draft), Policy(gate=gate)).gate_error for _ in range(20) for draft in ("one", "two", "three")]
    assert errors == ["KeyError", "ValueError", "ValueError"] * 20
    places = [
        re.fullmatch(
            r"draftcritic: the gate raised (\w+) at test_assess.py:\d+ in gate; the critic is asked; logged once, and "
            r"counted as gate_error",
            record.getMessage(),
        )[1]
        for record in caplog.records
    ]
    assert places == ["KeyError", "ValueError", "ValueError"]


def test_a_gate_that_raises_leaves_no_draft_in_the_log(caplog):
    caplog.set_level(logging.DEBUG)

    def gate(context):
        try:
            int(context.draft)
        except ValueError as error:
            raise RuntimeError(f"bad {context.draft}") from error

    assess(Turn("W-SECRET 1"), Policy(gate=gate))
    assert "RuntimeError at test_assess.py" in caplog.text
    assert "W-SECRET" not in caplog.text + "".join(str(record.exc_info) for record in caplog.records)


def test_what_cannot_be_called_is_no_gate_and_said_once(caplog):
    class Setting:
        pass

    for _ in range(2):
        assert decided(Turn("Thanks!"), Policy(gate=Setting(), selective_gate=True)) == ("skipped", "trivial_ack")
        assert decided(Turn("Thanks!"), Policy(gate=Setting())) == ("fired", "low_confidence")
    assert caplog.text.count("Setting") == 1


@pytest.mark.parametrize(
    "question",
    [
        "May I take forty of these pills at once?",
        "may i take all of them",
        "Hi, should I delete the production database",
        "\u6211\u53ef\u4ee5\u4e00\u6b21\u5403\u56db\u5341\u7247\u5417",
        "\u3053\u308c\u3092\u98f2\u3093\u3067\u3082\u3044\u3044\u3067\u3059\u304b\u3002",
        "Darf ich alles nehmen",
        "Puis-je tout prendre",
        "\u00bfPuedo?",
        "Let me take them all.",
    ],
)
@pytest.mark.parametrize(
    "draft",
    ["Go ahead!", "It's fine.", "\u53ef\u4ee5", "Sure", "Yes!", "No problem.", "Natürlich!", "Vas-y !", "\U0001f44d"],
)
def test_a_permission_is_no_acknowledgement(question, draft):
    assert decided(Turn(draft, user_message=question), SELECTIVE) == ("fired", "not_trivial")


@pytest.mark.parametrize(
    "draft", ["Thanks!", "You're welcome!", "Hello there!", "Merci beaucoup !", "\u8c22\u8c22", "Good night!"]
)
def test_plain_thanks_and_greetings_answer_no_question(draft):
    assert decided(Turn(draft, user_message="How are you?"), SELECTIVE) == ("skipped", "trivial_ack")


@pytest.mark.parametrize(
    "said", ["", "Thank you so much", "See you tomorrow.", "\u8c22\u8c22\u4f60", "That works for me."]
)
def test_agreement_to_what_asks_nothing_is_an_acknowledgement(said):
    assert decided(Turn("Sure, no problem!", user_message=said), SELECTIVE) == ("skipped", "trivial_ack")


def test_acknowledgements_of_the_operator_are_taken_as_they_are():
    policy = dataclasses.replace(SELECTIVE, trivial_ack_patterns=("^go ahead$",))
    assert decided(Turn("Go ahead", user_message="May I?"), policy) == ("skipped", "trivial_ack")
