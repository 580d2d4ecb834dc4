"""The child process of `load.py`: an application with many callers, with or without draftcritic.

Commands come as JSON lines on the standard input, answers leave as JSON lines on the standard output.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import json
import os
import resource
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _providers import Providers
from _text import quantile
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult

_CLOSE_S = 5.0
_NUMBERS = itertools.count(1)
"""Makes drafts distinct: identical ones would share their reviews."""


class PausingChat(BaseChatModel):
    """Answers after a pause: the agent's model with a new draft each time, the critic's with a verdict."""

    model_name: str
    pause: float
    verdict: bool = False

    @property
    def _llm_type(self) -> str:
        return "pausing"

    def _result(self) -> ChatResult:
        text = '{"verdict": "approve"}' if self.verdict else f"Order {next(_NUMBERS)} has been sent for 12.90 euros."
        message = AIMessage(
            content=text,
            response_metadata={"model_name": self.model_name},
            usage_metadata={"input_tokens": 300, "output_tokens": 20, "total_tokens": 320},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        del messages, stop, run_manager, kwargs
        time.sleep(self.pause)
        return self._result()

    async def _agenerate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        del messages, stop, run_manager, kwargs
        await asyncio.sleep(self.pause)
        return self._result()


class Child:
    """Runs the callers for as long as the parent says."""

    def __init__(self, *, ours: bool, path: str, agent_s: float, critic_s: float) -> None:
        self._providers = Providers()
        self._path = path
        self._agent = PausingChat(model_name="gpt-4o-mini", pause=agent_s)
        self._plugin: Any = None
        self._drafts = 0
        if ours:
            from draftcritic import DraftCriticInstrumentor

            critic = PausingChat(model_name="gpt-4.1-nano", pause=critic_s, verdict=True)
            self._plugin = DraftCriticInstrumentor()
            self._plugin.instrument(model=critic, shutdown_timeout=_CLOSE_S)

    def run(self, seconds: float, callers: int, rate: float) -> dict[str, Any]:
        """Let the callers ask for so long, all together `rate` times a second; 0 for as often as they can."""
        times: list[float] = []
        began, cpu = time.perf_counter(), time.process_time()
        every = callers / rate if rate else 0.0
        shifts = [began + every * number / callers for number in range(callers)]
        if self._path == "ainvoke":
            asyncio.run(self._tasks(shifts, every, began + seconds, times))
        else:
            threads = [
                threading.Thread(target=self._caller, args=(shift, every, began + seconds, times)) for shift in shifts
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        took, cpu = time.perf_counter() - began, time.process_time() - cpu
        self._drafts += len(times)
        # For the memory alone: it takes longer the more modules there are.
        gc.collect()
        return {
            "drafts": len(times),
            "seconds": took,
            "cpu_s": cpu,
            "median_ms": quantile(times, 0.5) * 1000,
            "p99_ms": quantile(times, 0.99) * 1000,
            "rss_mib": _rss_mib(),
        }

    def _caller(self, due: float, every: float, until: float, times: list[float]) -> None:
        question = _question()
        while (now := time.perf_counter()) < until:
            if now < due:
                time.sleep(min(due, until) - now)
                continue
            due += every
            self._agent.invoke(question)
            times.append(time.perf_counter() - now)

    async def _tasks(self, shifts: list[float], every: float, until: float, times: list[float]) -> None:
        await asyncio.gather(*(self._acaller(shift, every, until, times) for shift in shifts))

    async def _acaller(self, due: float, every: float, until: float, times: list[float]) -> None:
        question = _question()
        while (now := time.perf_counter()) < until:
            if now < due:
                await asyncio.sleep(min(due, until) - now)
                continue
            due += every
            await self._agent.ainvoke(question)
            times.append(time.perf_counter() - now)

    def end(self) -> dict[str, Any]:
        """Take the plugin off, and return what became of every draft."""
        if self._plugin is not None:
            self._plugin.uninstrument()
        decisions = self._providers.counted("draftcritic.gate.decisions", "draftcritic.gate.reason")
        return {
            "drafts": self._drafts,
            "decisions": decisions,
            "dropped": self._providers.counted("draftcritic.dropped", "draftcritic.reason"),
            "failures": self._providers.counted("draftcritic.failures", "draftcritic.failure"),
        }


def _question() -> list[BaseMessage]:
    return [SystemMessage("You are the assistant of a shop."), HumanMessage("Where is my order?")]


def _rss_mib() -> float:
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        # Other systems only report the peak of the resident memory, which is also flat when nothing grows.
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def main() -> None:
    options = json.loads(sys.argv[1])
    child = Child(**options)
    commands: dict[str, Callable[..., dict[str, Any]]] = {"run": child.run, "end": child.end}
    # Some library may print: the answers must stay alone.
    answers, sys.stdout = sys.stdout, sys.stderr
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        do = commands[command.pop("do")]
        print(json.dumps(do(**command)), file=answers, flush=True)


if __name__ == "__main__":
    main()
