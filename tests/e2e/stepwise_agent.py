"""The example agent, asked one line of standard input at a time."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "support_agent"))

from agent import SupportAgent
from shop import Shop

agent = SupportAgent(os.environ["SUPPORT_AGENT_MODEL"], Shop())
for line in sys.stdin:
    turn = json.loads(line)
    print(json.dumps({"answer": agent.invoke("C-104", turn["thread"], turn["say"])}), flush=True)
