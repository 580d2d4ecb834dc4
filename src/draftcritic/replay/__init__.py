"""Replays recorded turns with another policy or another model, without the agent."""

from draftcritic.replay._cache import AnswerCache
from draftcritic.replay._judge import BudgetError, Judge, ModelJudge, Spending
from draftcritic.replay._replay import MakePolicy, ReplayResult, replay
from draftcritic.replay._runs import NO_VERDICT, NOT_COVERED, Replayed, Run, read_runs
from draftcritic.replay._tally import Tally

__all__ = [
    "NOT_COVERED",
    "NO_VERDICT",
    "AnswerCache",
    "BudgetError",
    "Judge",
    "MakePolicy",
    "ModelJudge",
    "ReplayResult",
    "Replayed",
    "Run",
    "Spending",
    "Tally",
    "read_runs",
    "replay",
]
