"""Drafts, and a listener, for tests of the engine."""

from __future__ import annotations

import asyncio

from draftcritic.core import Turn
from draftcritic.review import is_reviewing

DRAFT = Turn("The refund of 18 euros is on its way.", run_id="run-1")
CONFIDENT = Turn(
    "It is on its way.",
    activation={
        "activated_nodes": [{"score": 1.0}],
        "inference_paths": [["refund", "order"], ["order"], ["card"]],
        "traversed_edges": [{"weight": 5.0}],
    },
)
APPROVE = {"verdict": "approve", "matched_preferences": []}


class Listener:
    def __init__(self):
        self.heard: list[tuple] = []

    async def on_llm_start(self, model, messages, run_id):
        await asyncio.sleep(0)
        self.heard.append(("start", model, [m.text for m in messages], run_id, is_reviewing()))

    async def on_llm_end(self, model, output, usage, run_id):
        await asyncio.sleep(0)
        self.heard.append(("end", model, output, dict(usage), run_id, is_reviewing()))
