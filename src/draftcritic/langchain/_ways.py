"""Tells which code a chat model has, and whether an error is about the loop or code it was asked by."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from draftcritic.engine import NoThreadError, causes_of
from draftcritic.langchain._app_loop import LoopGoneError

_CAUSES = 8
"""How many exceptions deep a client's wrapping is looked through."""
_OF_A_LOOP = re.compile(
    r"event loop is closed|different (?:event )?loop|transport closed=true|no running event loop",
    re.IGNORECASE,
)
"""What asyncio and uvloop say to a client whose connections and locks belong to another loop than the running one."""
_OTHER_CODE = re.compile(r"\bainvoke\b|\b_agenerate\b")
"""What a model names that has no blocking code, as LangChain's for OpenAI does when its key comes from a coroutine."""


class Kinds(NamedTuple):
    """The kinds of code that a model has of its own; LangChain makes up for the other kind."""

    blocking: bool
    asynchronous: bool


def kinds_of_code(model: Any) -> Kinds:
    """Return which code a model has. Blocking code may still turn out to be none when it is called."""
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import RunnableLambda
    from langchain_core.runnables.base import RunnableBindingBase

    while isinstance(model, RunnableBindingBase):
        model = model.bound
    if isinstance(model, BaseChatModel):
        kind = type(model)
        own = kind._agenerate is not BaseChatModel._agenerate or kind._astream is not BaseChatModel._astream
        return Kinds(True, own)
    if isinstance(model, RunnableLambda):
        blocking = hasattr(model, "func")
        return Kinds(blocking, not blocking)
    return Kinds(hasattr(model, "invoke"), hasattr(model, "ainvoke"))


def is_of_the_way(error: BaseException) -> bool:
    """Whether an error says that the model cannot be asked this way, and nothing of the model or its service."""
    return any(_says_so(each) for each in causes_of(error, _CAUSES))


def _says_so(error: BaseException) -> bool:
    if isinstance(error, (LoopGoneError, NoThreadError, NotImplementedError)):
        return True
    if isinstance(error, RuntimeError) and _OF_A_LOOP.search(str(error)):
        return True
    return isinstance(error, (RuntimeError, ValueError, TypeError)) and bool(_OTHER_CODE.search(str(error)))
