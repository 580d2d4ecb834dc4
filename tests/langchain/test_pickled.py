"""Classes of a script can be sent to a worker as without the plugin, and run there with the plugin or without it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("cloudpickle")

SCRIPT = """
import sys, cloudpickle
sys.path[:0] = {paths!r}
from draftcritic import DraftCriticInstrumentor
from langchain_core.messages import AIMessage, AIMessageChunk
from support.chat import Chat

DraftCriticInstrumentor().instrument(mode={mode!r}, model=Chat(answers=['x']))
word = "Zanzibar"

class Own(Chat):
    def invoke(self, prompt, config=None, **kwargs):
        return AIMessage(f"{{word}} {{len(__class__.__name__)}}")

    async def ainvoke(self, prompt, config=None, **kwargs):
        return AIMessage(word)

    def stream(self, prompt, config=None, **kwargs):
        yield AIMessageChunk(word)

    async def astream(self, prompt, config=None, **kwargs):
        yield AIMessageChunk(word)

with open({file!r}, "wb") as out:
    cloudpickle.dump(Own, out)
"""
WORKER = """
import asyncio, pickle, sys
sys.path[:0] = {paths!r}
{plugin}
with open({file!r}, "rb") as given:
    Own = pickle.load(given)
own = Own(answers=["x"])

async def asked():
    return (await own.ainvoke("q")).text, [c.text async for c in own.astream("q")]

print(own.invoke("q").text, [c.text for c in own.stream("q")], *asyncio.run(asked()))
"""
WITHOUT = "sys.modules['draftcritic'] = None"
WITH = """
from draftcritic import DraftCriticInstrumentor
from support.chat import Chat
critic = Chat(answers=['{"verdict": "refuse", "refusal_message": "No."}'])
DraftCriticInstrumentor().instrument(mode="enforce", model=critic)
"""
TESTS = str(Path(__file__).parents[1])


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("mode", ["observe", "enforce"])
@pytest.mark.parametrize(
    ("plugin", "answers"),
    [
        pytest.param(WITHOUT, "Zanzibar 3 ['Zanzibar'] Zanzibar ['Zanzibar']", id="a worker without the package"),
        pytest.param("", "Zanzibar 3 ['Zanzibar'] Zanzibar ['Zanzibar']", id="a worker where it is off"),
        pytest.param(WITH, "No. ['No.'] No. ['No.']", id="a worker where it is on"),
    ],
)
def test_a_class_of_a_script_goes_to_a_worker(plugin: str, answers: str, mode: str, tmp_path: Path) -> None:
    file = str(tmp_path / "class.pickle")
    run(SCRIPT.format(paths=[TESTS], mode=mode, file=file))
    assert run(WORKER.format(paths=[TESTS], plugin=plugin, file=file)) == answers
