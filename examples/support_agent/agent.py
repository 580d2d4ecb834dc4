"""A customer support agent for a small shop, and a scripted conversation with it.

    SUPPORT_AGENT_MODEL=openai:gpt-4o-mini python agent.py

The model is any name that LangChain's `init_chat_model` takes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain.agents import create_agent
from langchain.agents.middleware import ModelRequest, dynamic_prompt
from langchain.chat_models import init_chat_model
from langchain.tools import tool
from langchain_core.messages import AIMessage, AIMessageChunk
from langgraph.checkpoint.memory import InMemorySaver
from shop import Article, Shop

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import BaseTool

POLICY = """You are the support agent of a small shop.
- Look things up with the tools; never invent an order, a price or a date.
- Refunds, cancellations and new addresses need the customer's clear yes.
- Say that something is done only after the tool has said so.
- Show a customer's data to that customer only.
- Answer in the customer's language, briefly."""


@dataclass(frozen=True)
class Visit:
    """What the application knows about a turn before the model is asked."""

    customer_id: str
    articles: tuple[Article, ...]


def make_tools(shop: Shop) -> list[BaseTool]:
    """The tools of the agent, over one shop."""

    @tool
    def look_up_order(order_id: str) -> str:
        """Status, dates and total of one order, e.g. A-1234."""
        return json.dumps(shop.order(order_id) or {"error": "no such order", "order_id": order_id})

    @tool
    def list_orders(customer_id: str) -> str:
        """All orders of a customer, the newest first."""
        return json.dumps(shop.orders_of(customer_id))

    @tool
    def search_products(query: str) -> str:
        """Products by a word of their name or category, with price and stock."""
        return json.dumps(shop.products(query))

    @tool
    def get_customer_profile(name_or_id: str) -> str:
        """E-mail, phone and address of a customer."""
        return json.dumps(shop.customer(name_or_id) or {"error": "no such customer"}, ensure_ascii=False)

    @tool
    def return_policy(topic: str) -> str:
        """The shop's rules about a topic such as returns."""
        return "\n".join(article.body for article in shop.articles(topic)) or "Nothing is written about that."

    @tool
    def refund_order(order_id: str, reason: str) -> str:
        """Pay the total of an order back. Needs the customer's yes."""
        return json.dumps(shop.refund(order_id, reason))

    @tool
    def cancel_order(order_id: str) -> str:
        """Cancel an order that has not left the warehouse. Needs the customer's yes."""
        return json.dumps(shop.cancel(order_id))

    @tool
    def update_address(customer_id: str, address: str) -> str:
        """Store a customer's new address. Needs the customer's yes."""
        return json.dumps(shop.move(customer_id, address), ensure_ascii=False)

    return [
        look_up_order,
        list_orders,
        search_products,
        get_customer_profile,
        return_policy,
        refund_order,
        cancel_order,
        update_address,
    ]


@dynamic_prompt
def policy_with_articles(request: ModelRequest[Visit]) -> str:
    visit = request.runtime.context
    articles = "\n".join(f"- {article.body}" for article in visit.articles[:3]) or "(none)"
    return f"{POLICY}\n\nThe customer's id: {visit.customer_id}\nHelp articles:\n{articles}"


class SupportAgent:
    """Answers customers, one thread each."""

    def __init__(self, model_name: str, shop: Shop) -> None:
        # Without this, ChatOpenAI asks for no token counts when it streams from a server of one's own.
        options: dict[str, Any] = {"stream_usage": True} if model_name.startswith("openai:") else {}
        model = init_chat_model(model_name, temperature=0, **options)
        self._shop = shop
        self._agent = create_agent(
            model,
            make_tools(shop),
            middleware=[policy_with_articles],
            context_schema=Visit,
            checkpointer=InMemorySaver(),
            name="support",
        )

    def invoke(self, customer_id: str, thread: str, text: str) -> str:
        """The answer at once."""
        state = self._agent.invoke(
            _user(text), self._config(customer_id, thread, text), context=self._visit(customer_id, text)
        )
        return _last_answer(state)

    async def ainvoke(self, customer_id: str, thread: str, text: str) -> str:
        """The answer at once, from asynchronous code."""
        state = await self._agent.ainvoke(
            _user(text), self._config(customer_id, thread, text), context=self._visit(customer_id, text)
        )
        return _last_answer(state)

    def stream(self, customer_id: str, thread: str, text: str) -> Iterator[str]:
        """The answer, piece by piece."""
        for chunk, _ in self._agent.stream(
            _user(text),
            self._config(customer_id, thread, text),
            context=self._visit(customer_id, text),
            stream_mode="messages",
        ):
            if isinstance(chunk, AIMessageChunk):
                yield chunk.text

    async def astream(self, customer_id: str, thread: str, text: str) -> AsyncIterator[str]:
        """The answer, step by step, from asynchronous code."""
        # Before Python 3.11, LangGraph cannot hand single tokens out of asynchronous nodes.
        async for update in self._agent.astream(
            _user(text),
            self._config(customer_id, thread, text),
            context=self._visit(customer_id, text),
            stream_mode="updates",
        ):
            for state in update.values():
                if state:  # a step may change nothing
                    yield _last_answer(state)

    def _visit(self, customer_id: str, text: str) -> Visit:
        return Visit(customer_id=customer_id, articles=tuple(self._shop.articles(text)))

    def _config(self, customer_id: str, thread: str, text: str) -> RunnableConfig:
        articles = self._shop.articles(text)
        return {
            "configurable": {"thread_id": thread},
            "metadata": {
                "session_id": thread,
                "user_id": customer_id,
                # The knowledge that this turn is based on; plain data for any observer of the agent.
                "draftcritic": {
                    "activated_nodes": [{"score": a.score, "tags": list(a.tags)} for a in articles],
                    "inference_paths": [list(a.path) for a in articles],
                    "traversed_edges": [],
                },
            },
        }


def _user(text: str) -> Any:
    return {"messages": [{"role": "user", "content": text}]}


def _last_answer(state: dict[str, Any]) -> str:
    message = state["messages"][-1]
    return message.text if isinstance(message, AIMessage) else ""


async def answer(agent: SupportAgent, how: str, *turn: str) -> None:
    """Print the agent's answer to one turn, asked for in one of LangChain's ways."""
    if how == "ainvoke":
        print(await agent.ainvoke(*turn), end="")
    elif how == "astream":
        async for piece in agent.astream(*turn):
            print(piece, end="", flush=True)
    elif how == "stream":
        await asyncio.to_thread(lambda: [print(piece, end="", flush=True) for piece in agent.stream(*turn)])
    else:
        print(await asyncio.to_thread(agent.invoke, *turn), end="")
    print()


async def talk(agent: SupportAgent, conversation: list[dict[str, Any]]) -> int:
    """Hold the conversation, print it, and return how many turns it had."""
    number = 0
    for visit in conversation:
        print(f"\n--- customer {visit['customer']}, thread {visit['thread']}")
        for turn in visit["turns"]:
            number += 1
            print(f"[{number}] customer: {turn['say']}")
            print(f"[{number}] agent ({turn['how']}): ", end="", flush=True)
            await answer(agent, turn["how"], visit["customer"], visit["thread"], turn["say"])
    return number


def main() -> None:
    parser = argparse.ArgumentParser(description="A support agent and a scripted conversation with it.")
    parser.add_argument("--model", default=os.environ.get("SUPPORT_AGENT_MODEL", "openai:gpt-4o-mini"))
    parser.add_argument("--conversation", type=Path, default=Path(__file__).with_name("conversation.json"))
    args = parser.parse_args()
    conversation = json.loads(args.conversation.read_text(encoding="utf-8"))
    shop = Shop()
    try:
        turns = asyncio.run(talk(SupportAgent(args.model, shop), conversation))
    finally:
        shop.close()
    print(f"\n{turns} turns.")


if __name__ == "__main__":
    main()
