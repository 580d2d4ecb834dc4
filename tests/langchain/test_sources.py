"""What the model could read counts as a source, and what others only say makes a finding a doubt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, AnyMessage, FunctionMessage, HumanMessage, SystemMessage, ToolMessage
from support.chat import Chat
from support.sdk import Telemetry

from draftcritic import DraftCriticInstrumentor

FACTS = "Order ZX-4471 ships on May 3, 2026 and costs $49.90."
HONEST = "Your order ZX-4471 ships on 2026-05-03 and costs $49.90."
MADE_UP = "Your order QW-9980 ships on 2026-07-19 and costs $61.25."
DONE = "I've cancelled your order A-1234."
REFUSED = "I could not verify what I was about to tell you"
ASK = HumanMessage("Where is my order, and please cancel order A-1234.")


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    sdk = Telemetry()
    approving = FakeListChatModel(responses=['{"verdict": "approve"}'] * 9)
    DraftCriticInstrumentor().instrument(**sdk.providers, mode="enforce", fabrication="refuse", model=approving)
    yield sdk
    DraftCriticInstrumentor().uninstrument()


def passes(draft: str | AIMessage, prompt: Sequence[AnyMessage]) -> bool:
    """Whether the deterministic checks let the draft out."""
    answer = Chat(answers=[draft]).invoke(list(prompt))
    return REFUSED not in answer.text


def call(name: str, args: Any = None, **more: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": args or {}, "id": "c1"}], **more)


def result(content: Any, **more: Any) -> ToolMessage:
    return ToolMessage(content, tool_call_id="c1", **more)


class TestFailedCalls:
    @pytest.mark.parametrize(
        ("content", "more"),
        [
            ("Order A-1234 cancelled", {"status": "error"}),
            ("Card declined by issuer", {"status": "error"}),
            ("User rejected the tool call for `cancel_order` with id c1", {"status": "error"}),
            ("Rejected by the supervisor", {}),
            ("503 Service Unavailable", {}),
            ("Order A-1234 not found.", {}),
            ([{"type": "text", "text": '{"ok": false}'}], {}),
        ],
    )
    def test_a_failed_call_grounds_no_action(self, content: Any, more: Any, telemetry: Telemetry) -> None:
        assert not passes(DONE, [ASK, call("cancel_order", {"id": "A-1234"}), result(content, **more)])

    def test_a_call_that_succeeded_does(self, telemetry: Telemetry) -> None:
        assert passes(DONE, [ASK, call("cancel_order", {"id": "A-1234"}), result("Order A-1234 cancelled")])


BLOCKS = [
    [{"type": "search_result", "source": "https://s", "title": "T", "content": [{"type": "text", "text": FACTS}]}],
    [{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": FACTS}}],
    [{"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": FACTS}]}}],
    [{"type": "text-plain", "source_type": "text", "text": FACTS, "mime_type": "text/plain"}],
    [{"type": "json", "json": {"order": "ZX-4471", "price": 49.9, "ships": "2026-05-03"}}],
    [{"json": {"order": "ZX-4471", "price": 49.9, "ships": "2026-05-03"}}],
    [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": FACTS}]}],
    [{"type": "resource", "resource": {"uri": "file:///o", "text": FACTS}}],
    [{"type": "image", "base64": "aGVsbG8=", "mime_type": "image/png"}],
    [{"type": "file", "file_id": "file-1"}],
]


class TestBlocks:
    @pytest.mark.parametrize("content", BLOCKS, ids=lambda content: str(content)[:30])
    def test_every_block_that_the_model_could_read_is_a_source(self, content: Any, telemetry: Telemetry) -> None:
        assert passes(HONEST, [ASK, call("get_order"), result(content)])
        assert passes(HONEST, [HumanMessage([*content, {"type": "text", "text": "When does it ship?"}])])

    @pytest.mark.parametrize("content", BLOCKS[:-2], ids=lambda content: str(content)[:30])
    def test_other_values_are_still_found(self, content: Any, telemetry: Telemetry) -> None:
        assert not passes(MADE_UP, [ASK, call("get_order"), result(content)])

    def test_reasoning_is_no_source(self, telemetry: Telemetry) -> None:
        thought = AIMessage([{"type": "thinking", "thinking": HONEST}], tool_calls=call("get_order").tool_calls)
        assert not passes(HONEST, [ASK, thought, result('{"id": "K1"}')])


PAGE = {"type": "web_search_result", "url": "https://s", "title": "Orders", "encrypted_content": "E" * 300}
PROVIDER_ANSWERS: list[list[Any]] = [
    [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "order"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [PAGE]},
    ],
    [
        {"type": "server_tool_use", "id": "s1", "name": "code_execution", "input": {"code": "print()"}},
        {
            "type": "code_execution_tool_result",
            "tool_use_id": "s1",
            "content": {"type": "code_execution_result", "stdout": FACTS, "stderr": "", "return_code": 0},
        },
    ],
    [
        {"type": "mcp_tool_use", "id": "s1", "name": "get_order", "server_name": "shop", "input": {}},
        {"type": "mcp_tool_result", "tool_use_id": "s1", "content": [{"type": "text", "text": FACTS}]},
    ],
    [{"type": "web_search_call", "id": "w1", "status": "completed", "action": {"type": "search", "query": "q"}}],
    [{"type": "file_search_call", "id": "f1", "status": "completed", "results": [{"text": FACTS, "score": 0.9}]}],
    [{"type": "code_interpreter_call", "id": "i1", "code": "1", "outputs": [{"type": "logs", "logs": FACTS}]}],
    [{"type": "mcp_call", "id": "m1", "name": "get_order", "arguments": "{}", "output": FACTS, "server_label": "s"}],
    [
        {"type": "executable_code", "executable_code": "print()", "language": "PYTHON"},
        {"type": "code_execution_result", "code_execution_result": FACTS, "outcome": 1},
    ],
    [
        {"type": "server_tool_call", "id": "s1", "name": "search", "args": {}},
        {"type": "server_tool_result", "tool_call_id": "s1", "status": "success", "output": {"text": FACTS}},
    ],
]


class TestProviderTools:
    @pytest.mark.parametrize("blocks", PROVIDER_ANSWERS, ids=lambda blocks: str(blocks[-1]["type"]))
    def test_a_providers_tool_in_the_answer_grounds_what_it_found(self, blocks: Any, telemetry: Telemetry) -> None:
        assert passes(AIMessage([*blocks, {"type": "text", "text": HONEST}]), [HumanMessage("When does it ship?")])

    def test_outputs_and_metadata_beside_the_content_count(self, telemetry: Telemetry) -> None:
        outputs = {"tool_outputs": [PROVIDER_ANSWERS[4][0]]}
        assert passes(AIMessage(HONEST, additional_kwargs=outputs), [HumanMessage("When does it ship?")])
        found = {"grounding_metadata": {"grounding_chunks": [{"web": {"uri": "https://s", "title": "Orders"}}]}}
        assert passes(AIMessage(HONEST, response_metadata=found), [HumanMessage("When does it ship?")])

    def test_a_providers_tool_that_failed_grounds_no_action(self, telemetry: Telemetry) -> None:
        blocks = [
            {"type": "mcp_tool_use", "id": "s1", "name": "cancel_order", "server_name": "shop", "input": {}},
            {
                "type": "mcp_tool_result",
                "tool_use_id": "s1",
                "is_error": True,
                "content": [{"type": "text", "text": "-"}],
            },
            {"type": "text", "text": DONE},
        ]
        assert not passes(AIMessage(blocks), [ASK])
        blocks[1]["is_error"] = False
        assert passes(AIMessage(blocks), [ASK])

    def test_without_a_tool_the_answer_is_refused(self, telemetry: Telemetry) -> None:
        assert not passes(AIMessage([{"type": "text", "text": HONEST}]), [ASK, call("get_user"), result('{"id": "K"}')])


class TestOtherAgents:
    def test_what_another_agent_found_makes_a_doubt(self, telemetry: Telemetry) -> None:
        tools = [call("transfer_to_order_expert"), result('{"transferred": true}')]
        assert passes(HONEST, [ASK, *tools, AIMessage(f"Found it: {FACTS}", name="order_expert")])
        assert telemetry.reviews()[0]["draftcritic.doubt.count"] > 0
        assert not passes(MADE_UP, [ASK, *tools, AIMessage(f"Found it: {FACTS}", name="order_expert")])

    def test_documents_behind_the_question_are_sources(self, telemetry: Telemetry) -> None:
        assert passes(HONEST, [ASK, SystemMessage(f"<document>{FACTS}</document>")])

    def test_a_frameworks_message_begins_no_turn(self, telemetry: Telemetry) -> None:
        turn = [ASK, call("cancel_order", {"id": "A-1234"}), result('{"cancelled": "A-1234"}')]
        assert passes(DONE, [*turn, HumanMessage("Now answer the customer in one sentence.")])
        assert not passes(DONE, [*turn, AIMessage("It is gone."), HumanMessage("And order A-1234?")][3:])

    def test_arguments_of_an_earlier_turn_refuse_nothing(self, telemetry: Telemetry) -> None:
        args = {"date": "2026-05-03", "code": "ZX-4471", "price": 49.9}
        earlier = [HumanMessage("Book it."), call("book", args), result('{"ok": true}'), AIMessage("Booked.")]
        assert passes(HONEST, [*earlier, HumanMessage("When was that?")])

    def test_a_function_message_is_a_result(self, telemetry: Telemetry) -> None:
        asked = AIMessage("", additional_kwargs={"function_call": {"name": "get_order", "arguments": "{}"}})
        assert passes(HONEST, [ASK, asked, FunctionMessage(FACTS, name="get_order")])


REACT = """Answer the question. Use this format:
Action: the action to take, should be one of [cancel_order]
Action Input: the input to the action
Observation: the result of the action
Begin!
Question: Cancel order ORD-5521
Thought: I need to cancel it.
"""
CANCELLED = "Final Answer: I've cancelled order ORD-5521."


class TestTextAgents:
    @pytest.mark.parametrize(
        "steps",
        [
            'Action: cancel_order\nAction Input: {"id": "ORD-5521"}\nObservation: {"status": "cancelled"}\nThought:',
            'Action:\n```json\n{"action": "cancel_order", "action_input": {"id": 1}}\n```\nObservation: done\n',
            "Action: cancel_order[ORD-5521]\nObservation: cancelled",
            '<tool_call>{"name": "cancel_order"}</tool_call><tool_response>{"ok": true}</tool_response>',
            "<tool>cancel_order</tool><tool_input>ORD-5521</tool_input><observation>cancelled</observation>",
        ],
    )
    def test_calls_in_the_text_make_a_doubt(self, steps: str, telemetry: Telemetry) -> None:
        assert passes(CANCELLED, [HumanMessage(REACT + steps)])
        assert telemetry.reviews()[0]["draftcritic.doubt.count"] > 0

    @pytest.mark.parametrize(
        "steps",
        [
            'Action: cancel_order\nAction Input: {"id": 1}\nObservation: {"error": "already shipped"}\nThought:',
            "Action: cancel_order\nAction Input: ORD-5521\nObservation: Order ORD-5521 not found.\n",
            "Action: get_order\nAction Input: ORD-5521\nObservation: {}\n",
            "",
        ],
    )
    def test_failed_calls_and_look_ups_in_the_text_do_not(self, steps: str, telemetry: Telemetry) -> None:
        assert not passes(CANCELLED, [HumanMessage(REACT + steps)])

    def test_steps_as_messages_are_one_turn(self, telemetry: Telemetry) -> None:
        step = AIMessage("Thought: cancel it\nAction: cancel_order\nAction Input: ORD-5521")
        prompt = [HumanMessage("Cancel order ORD-5521"), step]
        assert passes(CANCELLED, [*prompt, HumanMessage("Observation: cancelled")])
        assert not passes(CANCELLED, [*prompt, HumanMessage("Observation: Error: not found")])
