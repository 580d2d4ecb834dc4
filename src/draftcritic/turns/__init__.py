"""Recorded turns: the one row that every command reads, and the readers of what tools record."""

from draftcritic.turns._phoenix import read_dataframe
from draftcritic.turns._read import ENDINGS, ReadReport, read_turns
from draftcritic.turns._records import Problem, ReadError, Record, head_of, records
from draftcritic.turns._row import Finding, Message, Missing, Reviewed, RowError, ToolCall, TurnRow, content_id
from draftcritic.turns._row_schema import turns_schema
from draftcritic.turns._times import seconds
from draftcritic.turns._to_turn import to_turn

__all__ = [
    "ENDINGS",
    "Finding",
    "Message",
    "Missing",
    "Problem",
    "ReadError",
    "ReadReport",
    "Record",
    "Reviewed",
    "RowError",
    "ToolCall",
    "TurnRow",
    "content_id",
    "head_of",
    "read_dataframe",
    "read_turns",
    "records",
    "seconds",
    "to_turn",
    "turns_schema",
]
