"""The sequence of a review, run inline or in the background, and the ports it needs."""

from __future__ import annotations

from draftcritic.engine._activation import activation, current_activation
from draftcritic.engine._background import QUEUE_FULL, BackgroundRunner
from draftcritic.engine._critic import Critic
from draftcritic.engine._failures import classify, qualified_name
from draftcritic.engine._guard import INTERNAL, Mark, current_mark, is_reviewing, reviewing
from draftcritic.engine._hooks import HOOK_GROUP, load_hooks
from draftcritic.engine._judge import matched_of
from draftcritic.engine._limits import Limiter
from draftcritic.engine._muting import is_muted, muted, muted_as
from draftcritic.engine._no_limits import NoLimits
from draftcritic.engine._observers import NullObserver, NullRecord
from draftcritic.engine._places import Place, current_place
from draftcritic.engine._ports import (
    CriticModel,
    Permit,
    PromptMessage,
    Reply,
    ReviewLimits,
    ReviewObserver,
    ReviewRecord,
)
from draftcritic.engine._provider_errors import causes_of
from draftcritic.engine._reflection import prompt_messages
from draftcritic.engine._reflector import ModelSource
from draftcritic.engine._scoped import scoped
from draftcritic.engine._sharing import Sharing
from draftcritic.engine._stops import contained
from draftcritic.engine._timed import NoThreadError, TimedCaller, within
from draftcritic.engine._watched import Stamp, WatchedFile, stamp_of

__all__ = [
    "HOOK_GROUP",
    "INTERNAL",
    "QUEUE_FULL",
    "BackgroundRunner",
    "Critic",
    "CriticModel",
    "Limiter",
    "Mark",
    "ModelSource",
    "NoLimits",
    "NoThreadError",
    "NullObserver",
    "NullRecord",
    "Permit",
    "Place",
    "PromptMessage",
    "Reply",
    "ReviewLimits",
    "ReviewObserver",
    "ReviewRecord",
    "Sharing",
    "Stamp",
    "TimedCaller",
    "WatchedFile",
    "activation",
    "causes_of",
    "classify",
    "contained",
    "current_activation",
    "current_mark",
    "current_place",
    "is_muted",
    "is_reviewing",
    "load_hooks",
    "matched_of",
    "muted",
    "muted_as",
    "prompt_messages",
    "qualified_name",
    "reviewing",
    "scoped",
    "stamp_of",
    "within",
]
