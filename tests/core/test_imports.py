"""The decisions stand alone: importing and using them loads no tracing, no LangChain and no model of settings."""

from __future__ import annotations

import json
import subprocess
import sys

PROGRAM = """
import json, sys
from draftcritic.core import Policy, Turn, assess
assess(Turn("Thanks!"), Policy(selective_gate=True))
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def test_core_loads_neither_opentelemetry_nor_langchain():
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    loaded = set(json.loads(run.stdout))
    assert "draftcritic" in loaded
    for name in ("opentelemetry", "langchain", "langchain_core", "langgraph", "pydantic", "genai_prices", "wrapt"):
        assert name not in loaded
