"""Where drafts are caught: LangChain's chat models, and the critic's own call of one."""

from __future__ import annotations

from draftcritic.langchain._backing import has_sensitive_tag
from draftcritic.langchain._caught import Answer, Caught, Draft
from draftcritic.langchain._extract import bare_turn, draft_text, extract, is_no_draft
from draftcritic.langchain._graph import GRAPHS, GRAPHS_NEED_HELP, GraphMetadata
from draftcritic.langchain._hold import HoldingInterceptor
from draftcritic.langchain._intercept import Catch, Interceptor, Reviewer
from draftcritic.langchain._model import ChatModelCritic
from draftcritic.langchain._own_loop import OwnLoop
from draftcritic.langchain._own_prompts import OwnPrompts
from draftcritic.langchain._retrieval import DocumentMemory
from draftcritic.langchain._rewrite import WithoutCalls, as_chunk, rewritten_message, rewritten_result
from draftcritic.langchain._root_run import root_run
from draftcritic.langchain._splice import Splice, SpliceError, splice
from draftcritic.langchain._targets import CHAT_MODELS, Installed, install, remove

__all__ = [
    "CHAT_MODELS",
    "GRAPHS",
    "GRAPHS_NEED_HELP",
    "Answer",
    "Catch",
    "Caught",
    "ChatModelCritic",
    "DocumentMemory",
    "Draft",
    "GraphMetadata",
    "HoldingInterceptor",
    "Installed",
    "Interceptor",
    "OwnLoop",
    "OwnPrompts",
    "Reviewer",
    "Splice",
    "SpliceError",
    "WithoutCalls",
    "as_chunk",
    "bare_turn",
    "draft_text",
    "extract",
    "has_sensitive_tag",
    "install",
    "is_no_draft",
    "remove",
    "rewritten_message",
    "rewritten_result",
    "root_run",
    "splice",
]
