"""Which models may answer for each other."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from support.chat import Chat

from draftcritic.langchain import ChatModelCritic


def identity(model: Any) -> Any:
    return ChatModelCritic(model).identity


def openai(**changes: Any) -> ChatOpenAI:
    return ChatOpenAI(**{"model": "gpt-4.1-nano", "temperature": 0, "api_key": "sk-not-a-key", **changes})


def test_models_that_langchain_can_write_down_are_the_same_by_their_parameters() -> None:
    assert identity(openai()) == identity(openai())
    assert hash(identity(openai())) == hash(identity(openai()))
    assert "sk-not-a-key" not in repr(identity(openai()))


@pytest.mark.parametrize(
    "changes", [{"model": "gpt-4.1"}, {"temperature": 0.1}, {"base_url": "http://localhost:1/v1"}, {"seed": 3}]
)
def test_any_parameter_makes_another_model(changes: dict[str, Any]) -> None:
    assert identity(openai()) != identity(openai(**changes))


def test_a_class_of_its_own_is_another_model() -> None:
    class Changed(ChatOpenAI):
        pass

    assert identity(openai()) != identity(Changed(model="gpt-4.1-nano", temperature=0, api_key="sk-not-a-key"))


def test_any_other_model_is_only_itself() -> None:
    one, other = Chat(answers=["a"]), Chat(answers=["a"])
    assert identity(one) == identity(one)
    assert identity(one) != identity(other)
    assert len({identity(one), identity(one), identity(other)}) == 2


def test_what_holds_a_part_that_cannot_be_written_is_only_itself() -> None:
    model = Chat(answers=["a"])
    one, other = model.bind(stop=["x"]), Chat(answers=["a"]).bind(stop=["x"])
    assert identity(one) == identity(one)
    assert identity(one) != identity(other)


def test_a_model_whose_class_raises_is_only_itself() -> None:
    class Odd(Chat):
        @classmethod
        def is_lc_serializable(cls) -> bool:
            raise pickle.PicklingError

    model = Odd(answers=["a"])
    assert identity(model) == identity(model)
