"""Where drafts are captured: LangChain's chat models, and the critic's own call of one."""

from __future__ import annotations

from draftcritic.langchain._backing import DocumentMemory, has_sensitive_tag
from draftcritic.langchain._capture import Answer, CapturedDraft, LazyDraft
from draftcritic.langchain._critic_model import ChatModelCritic
from draftcritic.langchain._enforce import HoldingInterceptor
from draftcritic.langchain._event_loops import OwnLoop
from draftcritic.langchain._graph import GRAPHS, GRAPHS_NEED_HELP, GraphMetadata
from draftcritic.langchain._install import CHAT_MODELS, Installed, install, remove
from draftcritic.langchain._interceptors import CaptureFn, Interceptor, Reviewer
from draftcritic.langchain._method_patches import Splice, SpliceError, splice
from draftcritic.langchain._own_calls import OwnPrompts
from draftcritic.langchain._recent_reviews import ReviewResult, review_of
from draftcritic.langchain._rewrite import WithoutCalls, as_chunk, rewritten_message, rewritten_result
from draftcritic.langchain._root_run import root_run
from draftcritic.langchain._turn_builder import bare_turn, draft_text, extract, is_no_draft

__all__ = [
    "CHAT_MODELS",
    "GRAPHS",
    "GRAPHS_NEED_HELP",
    "Answer",
    "CaptureFn",
    "CapturedDraft",
    "ChatModelCritic",
    "DocumentMemory",
    "GraphMetadata",
    "HoldingInterceptor",
    "Installed",
    "Interceptor",
    "LazyDraft",
    "OwnLoop",
    "OwnPrompts",
    "ReviewResult",
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
    "review_of",
    "rewritten_message",
    "rewritten_result",
    "root_run",
    "splice",
]
