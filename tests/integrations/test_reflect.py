"""One reflection without a gate."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from draftcritic import CriticPreference, reflect_on_draft


class Model:
    def __init__(self, answer):
        self.answer = answer
        self.asked = []

    async def ainvoke(self, messages):
        self.asked.append(messages)
        if isinstance(self.answer, Exception):
            raise self.answer
        return SimpleNamespace(content=self.answer)


async def reflect(answer, template=None):
    model = Model(answer)
    provider = SimpleNamespace(get_chat_model=lambda config: model)
    preferences = [CriticPreference(2, "Be kind"), CriticPreference(8, "No {dates}")]
    return await reflect_on_draft(provider, None, template, "On {Monday}.", preferences, ["Ask first"], "pii"), model


async def test_it_unpacks_like_the_parser():
    result, model = await reflect('{"verdict": "revise", "revised_draft": "Soon.", "matched_preferences": ["No"]}')
    verdict, text, matched = result
    assert (verdict, text, matched, result.failure) == ("revise", "Soon.", ["No"], None)
    user = model.asked[0][-1].content
    assert user.index("- [8] No {dates}") < user.index("- [2] Be kind")
    assert "On {Monday}." in user
    assert "- Ask first" in user
    assert "pii" in user


@pytest.mark.parametrize(
    ("answer", "failure"), [("fine", "unparsable"), (TimeoutError(), "timeout"), (KeyError("x"), "error")]
)
async def test_a_failure_is_a_flagged_approve(answer, failure):
    result, _ = await reflect(answer)
    assert (tuple(result), result.failure) == (("approve", None, []), failure)


async def test_a_template_of_the_user():
    _, model = await reflect(
        '{"verdict": "approve"}', "Look: {draft} {core_preferences} {procedural_rules} {sensitive_tag_hit}"
    )
    assert model.asked[0][0].content.startswith("Look: ")
