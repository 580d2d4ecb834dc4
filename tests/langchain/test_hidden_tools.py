"""Nothing of a hidden tool gets to the critic's model, in whatever form LangChain keeps it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, FunctionMessage, HumanMessage, ToolMessage
from pydantic import Field
from support.chat import Chat

from draftcritic import DraftCriticInstrumentor
from draftcritic.langchain._turn_builder import read_conversation

SECRET = "hunter2 is the word for 778899"
DRAFT = "The number is 778899."
ASKED = HumanMessage("Which number?")
DOCUMENT = [{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": SECRET}}]
FOUND = [{"type": "search_result", "source": "kb", "title": "t", "content": [{"type": "text", "text": SECRET}]}]
LATER = [AIMessage("Done."), HumanMessage("And 778899?")]


class Critic(Chat):
    """Approves, and keeps what it was asked."""

    prompts: list[str] = Field(default_factory=list)

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        self.prompts.append("\n".join(message.text for message in messages))
        return super()._generate(messages, *args, **kwargs)


def call(name: str = "vault_read", **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "c1"}])


def of_anthropic(result: Any) -> list[Any]:
    call_ = {"type": "tool_use", "name": "vault_read", "id": "c1", "input": {"key": SECRET}}
    calls = [{"name": "vault_read", "args": {"key": SECRET}, "id": "c1"}]
    answer = {"type": "tool_result", "tool_use_id": "c1", "content": result}
    return [AIMessage([call_], tool_calls=calls), HumanMessage([answer])]


@pytest.fixture
def critic() -> Iterator[Critic]:
    model = Critic(answers=['{"verdict": "approve"}'] * 4, prompts=[])
    DraftCriticInstrumentor().instrument(
        mode="enforce", model=model, evidence="conversation", evidence_hidden_tools=["vault_read"], rules=["Be kind."]
    )
    yield model
    DraftCriticInstrumentor().uninstrument()


@pytest.mark.parametrize("later", [[], LATER], ids=["this turn", "earlier turn"])
@pytest.mark.parametrize(
    "messages",
    [
        [call(), ToolMessage(SECRET, tool_call_id="c1")],
        [call(key=SECRET), ToolMessage("found", tool_call_id="c1", status="error")],
        [call("mcp__safe__vault_read"), ToolMessage(SECRET, tool_call_id="c1")],
        [call("safe.Vault_Read"), ToolMessage(SECRET, tool_call_id="c1")],
        [ToolMessage(SECRET, tool_call_id="c9", name="vault_read")],
        [call(), ToolMessage(DOCUMENT, tool_call_id="c1")],
        [call(), ToolMessage(FOUND, tool_call_id="c1")],
        [FunctionMessage(SECRET, name="vault_read")],
        of_anthropic(SECRET),
        of_anthropic(DOCUMENT),
    ],
)
def test_nothing_of_a_hidden_tool_is_shown(messages: list[Any], later: list[Any], critic: Critic) -> None:
    Chat(answers=[DRAFT]).invoke([ASKED, *messages, *later])
    (prompt,) = critic.prompts
    assert DRAFT in prompt
    assert "hunter2" not in prompt


@pytest.mark.parametrize("later", [[], LATER], ids=["this turn", "earlier turn"])
@pytest.mark.parametrize("name", ["vault_reader", "my_vault_read", "vault_read__list"])
def test_another_tool_is_shown(name: str, later: list[Any], critic: Critic) -> None:
    Chat(answers=[DRAFT]).invoke([ASKED, call(name), ToolMessage(DOCUMENT, tool_call_id="c1"), *later])
    assert "hunter2" in critic.prompts[0]


@pytest.mark.parametrize("failed", [False, True])
def test_a_result_in_a_users_message_is_the_result_of_its_call(failed: bool) -> None:
    asked, answered = of_anthropic(SECRET)
    answered.content[0]["is_error"] = failed
    found = read_conversation([ASKED, asked, answered])
    (made,) = found.tool_calls
    assert (made["name"], made["result"], made.get("status")) == ("vault_read", SECRET, "error" if failed else None)
    assert found.user_message == "Which number?"
    (_, earlier), *_ = [read_conversation([ASKED, asked, answered, *LATER]).earlier[1:3]]
    assert (earlier.role, earlier.text, earlier.tool, earlier.failed) == ("tool", SECRET, "vault_read", failed)
