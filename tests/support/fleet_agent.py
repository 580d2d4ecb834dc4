"""An agent with a spool: writes drafts and says which ones its callers got.

`fleet_agent.py COUNT SECONDS [THREADS]`: each thread writes COUNT drafts, each review takes SECONDS.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from support import jumping_clock

from draftcritic import DraftCriticInstrumentor
from draftcritic.fleet import _broker
from draftcritic.telemetry._recorder import TelemetryRecorder


class Writer(BaseChatModel):
    """Repeats its input."""

    @property
    def _llm_type(self) -> str:
        return "writer"

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(messages[-1].content))])


class Slow(Writer):
    """Approves after a while; ends the process for a draft that says so."""

    seconds: float = 0.0

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        time.sleep(self.seconds)
        asked = str(messages[-1].content)
        if "poison" in asked:
            os.kill(os.getpid(), signal.SIGKILL)
        if os.environ.get("CALLS"):
            with open(os.environ["CALLS"], "a", encoding="utf-8") as calls:  # noqa: PTH123 - one write with O_APPEND
                calls.write("call\n")
        return ChatResult(generations=[ChatGeneration(message=AIMessage('{"verdict": "approve"}'))])


def work(name: str, count: int) -> None:
    writer = Writer()
    for number in range(count):
        draft = f"{os.environ.get('DRAFT', 'It costs 12 euros, says')} {name}-{number}."
        writer.invoke(draft)
        os.write(1, f"{draft}\n".encode())  # the caller has the draft
        time.sleep(float(os.environ.get("PAUSE", "0")))


def note_drops(path: str) -> None:
    """Append the reason of each dropped draft to a file: a killed process has not exported its counter."""
    counted = TelemetryRecorder.dropped

    def dropped(self: TelemetryRecorder, reason: str) -> None:
        with open(path, "a", encoding="utf-8") as drops:  # noqa: PTH123 - one write with O_APPEND
            drops.write(f"{reason}\n")
        counted(self, reason)

    TelemetryRecorder.dropped = dropped  # type: ignore[method-assign]


def main() -> None:
    jumping_clock.install()
    if os.environ.get("DROPS"):
        note_drops(os.environ["DROPS"])
    count, seconds, threads = int(sys.argv[1]), float(sys.argv[2]), int((sys.argv[3:] or ["1"])[0])
    _broker.MOST_MESSAGES = int(os.environ.get("MOST_MESSAGES", _broker.MOST_MESSAGES))
    # A shell that starts commands in the background has them ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    plugin = DraftCriticInstrumentor()
    plugin.instrument(model=Slow(seconds=seconds))
    writers = [threading.Thread(target=work, args=(f"{os.getpid()}-{at}", count)) for at in range(threads)]
    for thread in writers:
        thread.start()
    for thread in writers:
        thread.join()
    sys.exit(0 if plugin.flush(60) else 3)


if __name__ == "__main__":
    main()
