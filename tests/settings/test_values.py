"""What each kind of setting takes, and what is said when it does not."""

from __future__ import annotations

import math
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from draftcritic.core import CriticPreference, Mode, OnFailure
from draftcritic.settings import Preference, Settings, SettingsError


class Hook:
    async def on_llm_start(self, model: str, messages: Any, run_id: str) -> None: ...

    async def on_llm_end(self, model: str, output: str, usage: Any, run_id: str) -> None: ...


class Chat:
    def invoke(self, _: Any) -> None: ...

    async def ainvoke(self, _: Any) -> None: ...


def one_problem(environ: dict[str, str] | None = None, **code: object) -> str:
    with pytest.raises(SettingsError) as caught:
        Settings.load(environ or {}, **code)
    (problem,) = caught.value.problems
    return str(problem)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("mode", " GATE ", Mode.GATE),
        ("background", "no", False),
        ("selective_gate", "1", True),
        (
            "model",
            "bedrock:anthropic.claude-haiku-4-5-20251001-v1:0",
            "bedrock:anthropic.claude-haiku-4-5-20251001-v1:0",
        ),
        ("timeout", "2.5", 2.5),
        ("confidence_threshold", "1", 1.0),
        ("workers", " 4 ", 4),
        ("shutdown_timeout", "0", 0.0),
        ("on_failure", "refuse", OnFailure.REFUSE),
        ("sensitive_tags", "pii, health,,", ("pii", "health")),
        ("sensitive_tags", '["a, b", "c"]', ("a, b", "c")),
        ("read_only_tools", "search", ("search",)),
        ("trivial_ack_patterns", r"^ok{1,3}$, ^(?:hi,|ho)$, [,]\(, \[", ("^ok{1,3}$", "^(?:hi,|ho)$", r"[,]\(", r"\[")),
        ("trivial_ack_patterns", "[oö]k", ("[oö]k",)),
        ("trivial_ack_patterns", r'["^ok\\d$"]', (r"^ok\d$",)),
        ("rules", "Ask first, then act.\n\nBe brief.", ("Ask first, then act.", "Be brief.")),
        ("rules", '["one", "two"]', ("one", "two")),
        ("preferences", '[{"statement": "s", "priority": "9"}]', (Preference(statement="s", priority=9),)),
        ("gate", "shop.gates:Gates.strict", "shop.gates:Gates.strict"),
        ("default_refusal", "Nein.", "Nein."),
    ],
)
def test_a_text_of_the_environment_is_read(name: str, text: str, value: object) -> None:
    assert getattr(Settings.load({f"DRAFTCRITIC_{name.upper()}": text}), name) == value


def test_arguments_of_the_model_are_json_in_the_environment() -> None:
    settings = Settings.load({"DRAFTCRITIC_MODEL": "openai:gpt", "DRAFTCRITIC_MODEL_KWARGS": '{"temperature": 0}'})
    assert settings.model_kwargs == {"temperature": 0}


def test_code_gives_objects() -> None:
    chat, hook = Chat(), Hook()
    settings = Settings.load(
        {},
        mode=Mode.GATE,
        model=chat,
        gate=len,
        hooks=[hook],
        sensitive_tags={"b", "a"},
        preferences=[CriticPreference(7, "s", ("pii",)), {"statement": "t"}],
    )
    assert settings.model is chat
    assert settings.gate is len
    assert settings.hooks == (hook,)
    assert settings.sensitive_tags == ("a", "b")
    assert [(p.priority, p.statement, p.sensitive_tags) for p in settings.preferences] == [
        (7, "s", ("pii",)),
        (5, "t", ()),
    ]


def test_one_text_in_place_of_a_list_is_one_tag() -> None:
    assert Settings.load({}, sensitive_tags="pii").sensitive_tags == ("pii",)


REFUSED = [
    ("mode", "on", "mode = 'on', from code: is none of the words (allowed: off, observe, gate, enforce)"),
    ("streams", "half", "streams = 'half', from code: is none of the words (allowed: buffer, passthrough)"),
    ("refusal_texts", {"german": "Nein."}, "String should match pattern"),
    ("background", "maybe", "background = 'maybe', from code: Input should be a valid boolean"),
    ("timeout", 0, "timeout = 0, from code: Input should be greater than 0 (allowed: a number above 0, at most 3600)"),
    ("timeout", math.inf, "timeout = inf, from code: Input should be"),
    ("timeout", True, "timeout = True, from code: is a yes or no, not a number"),
    ("confidence_threshold", math.nan, "confidence_threshold = nan, from code: Input should be"),
    (
        "confidence_threshold",
        "1.01",
        "confidence_threshold = '1.01', from code: Input should be less than or equal to 1",
    ),
    ("workers", 0, "workers = 0, from code: Input should be greater than or equal to 1"),
    ("workers", 1.5, "workers = 1.5, from code: Input should be a valid integer"),
    ("queue_size", 10**5000, "queue_size = <integer of 16610 bits>, from code: Input should be less than"),
    ("model", "gpt-4o", "model = 'gpt-4o', from code: names no provider; write it as provider:name"),
    ("model", Chat, "from code: is a class; give an object of it"),
    ("model", 3, "model = 3, from code: is no chat model: it has no invoke and ainvoke"),
    ("model_kwargs", [], "model_kwargs = [], from code: Input should be a valid dictionary"),
    ("sensitive_tags", ["a", ""], "sensitive_tags[1] = '', from code: String should have at least 1 character"),
    ("sensitive_tags", [3], "sensitive_tags[0] = 3, from code: Input should be a valid string"),
    (
        "trivial_ack_patterns",
        ["ok", "("],
        "trivial_ack_patterns[1] = '(', from code: is no regular expression: missing )",
    ),
    ("gate", 3, "gate = 3, from code: cannot be called"),
    ("gate", "shop.gates", "gate = 'shop.gates', from code: is no import string; write it as package.module:attribute"),
    ("rules_source", object(), "rules_source = <object of builtins.object>, from code: has no method retrieve"),
    ("hooks", [Hook], "is no object with a method on_llm_start"),
    ("preferences", [{"priority": 3}], "preferences[0].statement = {'priority': 3}, from code: is missing"),
    (
        "preferences",
        [{"statement": "s", "priority": 11}],
        "preferences[0].priority = 11, from code: Input should be less",
    ),
    ("preferences", [{"statement": "s", "tags": 1}], "preferences[0].tags = 1, from code: is not known here"),
    ("preferences", "[[[", "preferences = '[[[', from code: is no valid JSON (line 1, column 4 cannot be read)"),
    ("preferences", "[" * 100_000, "is no valid JSON"),
    (
        "fabrication",
        "enforce",
        "fabrication = 'enforce', from code: is none of the words (allowed: off, observe, revise, refuse)",
    ),
    ("default_revision", " ", "default_revision = ' ', from code: String should have at least 1 character"),
    ("prompt_template", "Judge it.", "prompt_template = 'Judge it.', from code: "),
    ("config", 3, "config = 3, from code: "),
]


@pytest.mark.parametrize(("name", "value", "text"), REFUSED, ids=[f"{n}-{i}" for i, (n, *_) in enumerate(REFUSED)])
def test_what_is_not_allowed_is_refused_by_name_origin_and_value(name: str, value: object, text: str) -> None:
    problem = one_problem(**{name: value})
    assert text in problem
    assert "(allowed: " in problem
    assert "\n" not in problem


def test_combinations_that_cannot_work_are_refused_with_the_way_out() -> None:
    assert one_problem({"DRAFTCRITIC_MODEL_KWARGS": '{"seed": 1}'}) == (
        "model_kwargs = {'seed': 1}, from env DRAFTCRITIC_MODEL_KWARGS: needs a model to build; "
        "set `model` to provider:name"
    )
    assert "has no effect with a model object" in one_problem(model=Chat(), model_kwargs={"seed": 1})
    assert "contains model; the setting `model` names both" in one_problem(model="a:b", model_kwargs={"model": "c"})
    assert one_problem(rules=["r"], rules_source="shop:rules") == (
        "rules = ['r'], from code: has no effect with `rules_source`; drop one, or let the source return these rules"
    )
    assert one_problem(fail_closed_tags=["pii", "x"], sensitive_tags=["pii"]) == (
        "fail_closed_tags = ['pii', 'x'], from code: no draft is ever tagged 'x'; add it to `sensitive_tags` or to a "
        "preference, or drop it here"
    )


def test_a_fail_closed_tag_may_stand_on_a_preference() -> None:
    settings = Settings.load({}, fail_closed_tags=["pii"], preferences=[{"statement": "s", "sensitive_tags": "pii"}])
    assert settings.policy().all_sensitive_tags == {"pii"}


def test_all_problems_come_at_once_combinations_included() -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.load({"DRAFTCRITIC_TIMEOUT": "x", "DRAFTCRITIC_NOPE": "1"}, workers=0, fail_closed_tags=["x"])
    error = caught.value
    assert [problem.setting for problem in error.problems] == ["NOPE", "timeout", "workers", "fail_closed_tags"]
    assert len(str(error).splitlines()) == 4
    assert error.summary().startswith(
        "4 invalid settings: NOPE = '1', from env DRAFTCRITIC_NOPE: is no setting; timeout"
    )
    assert "\n" not in error.summary()
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_no_name_from_outside_starts_a_new_line() -> None:
    assert one_problem({"DRAFTCRITIC_A\nERROR forged \ud800": "1"}) == (
        r"A\nERROR forged \ud800 = '1', from env DRAFTCRITIC_A\nERROR forged \ud800: is no setting"
    )


def test_the_summary_has_a_limit() -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.load({}, **{f"nonsense_{number}": number for number in range(99)})
    assert len(caught.value.summary()) == 600
    assert caught.value.summary().startswith("99 invalid settings: nonsense_0 = 0, from code")


SECRET = "sk-proj-0123456789abcdefghij"


@pytest.mark.parametrize(
    "environ",
    [
        {"DRAFTCRITIC_OPENAI_API_KEY": "plainword"},
        {"DRAFTCRITIC_NOTE": f"Bearer {SECRET}"},
        {"DRAFTCRITIC_MODEL": f"https://user:plainword@host {SECRET}"},
        {"DRAFTCRITIC_MODEL_KWARGS": '{"api_key": "plainword'},
        {
            "DRAFTCRITIC_MODEL_KWARGS": '{"default_headers": {"X": "plainword"}, "base_url": "http://u:plainword@h/?api-key=plainword"}'
        },
        {"DRAFTCRITIC_MODEL_KWARGS": '[{"password": "plainword"}]'},
        {"DRAFTCRITIC_MODE": SECRET},
    ],
)
def test_an_error_shows_no_secret(environ: dict[str, str]) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.load(environ)
    shown = f"{caught.value} {caught.value!r} {caught.value.summary()}"
    assert "plainword" not in shown
    assert SECRET not in shown
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_neither_does_the_text_of_the_settings() -> None:
    settings = Settings.load({}, model="openai:gpt", model_kwargs={"api_key": "plainword"})
    assert "plainword" not in repr(settings)
    assert settings.model_kwargs == {"api_key": "plainword"}


def test_a_long_value_is_cut_in_the_middle() -> None:
    problem = one_problem(mode="a" + "x" * 1000 + "z")
    assert problem.startswith("mode = 'a" + "x" * 37 + "..." + "x" * 36 + "z', from code")


def load(environ: dict[str, str], **code: Any) -> Settings | SettingsError:
    try:
        return Settings.load(environ, **code)
    except SettingsError as error:
        return error


@given(st.dictionaries(st.sampled_from(sorted(Settings.model_fields)), st.text(st.characters(exclude_characters="\0"))))
@hypothesis_settings(max_examples=100, deadline=None)
def test_no_text_of_the_environment_raises_anything_but_our_error(texts: dict[str, str]) -> None:
    environ = {f"DRAFTCRITIC_{name.upper()}": text for name, text in texts.items()}
    loaded = load(environ)
    if isinstance(loaded, SettingsError):
        assert len(str(loaded).splitlines()) == len(loaded.problems) > 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(sorted(Settings.model_fields)), JSON, max_size=6))
@hypothesis_settings(max_examples=100, deadline=None)
def test_no_value_of_code_raises_anything_but_our_error(values: dict[str, Any]) -> None:
    loaded = load({}, **values)
    if isinstance(loaded, SettingsError):
        assert len(str(loaded).splitlines()) == len(loaded.problems) > 0
        return
    given_names = {name for name, value in values.items() if value is not None}
    assert {name for name in values if loaded.origin(name) == "code"} == given_names
