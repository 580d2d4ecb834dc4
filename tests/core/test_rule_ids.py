"""Ids of preferences and rules: stable, salted, and a closed set."""

from __future__ import annotations

from draftcritic.core import CriticPreference, Policy, Rule, RuleIds, render_prompt, rule_id

DATES = "Never promise a delivery date"


def test_an_id_is_the_given_one_else_a_short_hash_of_the_statement() -> None:
    assert rule_id(DATES, "no-dates", "salt") == "no-dates"
    assert rule_id(DATES) == rule_id(f"  {DATES.replace(' ', '  ')} ")
    assert rule_id(DATES) != rule_id(DATES + ".")
    assert len(rule_id(DATES)) == 9
    assert rule_id(DATES).isalnum()


def test_the_salt_changes_the_hash() -> None:
    assert len({rule_id(DATES, salt=salt) for salt in ("", "a", "b" * 200)}) == 3
    first, second = (Policy(preferences=(CriticPreference(1, DATES),), policy_salt=salt) for salt in ("a", "b"))
    assert first.identified[0].id != second.identified[0].id


def test_what_a_reply_names_becomes_an_id_of_the_closed_set() -> None:
    ids = RuleIds({"no-dates": DATES, "kind": "Be kind"})
    assert ids.broken(["(#No-Dates)", "kind"], []) == ("no-dates", "kind")
    assert ids.broken([], ["never promise a  delivery date."]) == ("no-dates",)
    assert ids.broken(["no-dates"], [DATES]) == ("no-dates",)
    assert ids.broken(["Mia's address is 5 Elm Road", "x"], ["an unknown statement"]) == ("other",)


def test_the_built_in_template_shows_the_ids_and_an_own_one_only_when_it_asks_for_them() -> None:
    policy = Policy(preferences=(CriticPreference(9, DATES, id="no-dates"),))
    own = "{draft} {core_preferences} {procedural_rules} {sensitive_tag_hit}"
    for template, shown in ((None, True), (own, False), (own + ' Answer with "broken".', True)):
        prompt = render_prompt(
            template,
            draft="x",
            preferences=policy.identified,
            rules=policy.with_ids(["Be brief", Rule("Be kind", "kind")]),
            sensitive_hit=None,
        )
        assert (f"- [9] {DATES} (#no-dates)\n" in prompt.user) is shown
        assert (f"- Be brief (#{rule_id('Be brief')})\n- Be kind (#kind)\n" in prompt.user) is shown


def test_the_rules_of_a_source_are_not_loaded() -> None:
    policy = Policy(rules=("Be brief", Rule("Be kind", "kind")), preferences=(CriticPreference(1, DATES),))
    assert set(policy.rule_ids.statements) == {rule_id("Be brief"), "kind", rule_id(DATES)}
    assert policy.rule_ids.broken([rule_id("of a source")], []) == ("other",)
