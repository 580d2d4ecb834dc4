"""The sequence of a review, run inline or in the background, and the ports it needs."""

from __future__ import annotations

from draftcritic.core._exception_place import qualified_name
from draftcritic.review._background import QUEUE_FULL, BackgroundRunner
from draftcritic.review._call_slots import CallSlot, current_slot
from draftcritic.review._calls import NoThreadError, TimedCaller, within
from draftcritic.review._failures import causes_of, classify, contain_exit
from draftcritic.review._file_watch import Stamp, WatchedFile, stamp_of
from draftcritic.review._hook_dispatch import HOOK_GROUP, load_hooks
from draftcritic.review._limits import Limiter
from draftcritic.review._pipeline import Critic
from draftcritic.review._ports import (
    CriticModel,
    NoLimits,
    NullObserver,
    NullRecord,
    Permit,
    PromptMessage,
    Reply,
    ReviewLimits,
    ReviewObserver,
    ReviewRecord,
)
from draftcritic.review._reflection import prompt_messages
from draftcritic.review._reflector import ModelSource
from draftcritic.review._reply_check import matched_of
from draftcritic.review._scope import (
    INTERNAL,
    Mark,
    activation,
    current_activation,
    current_mark,
    is_muted,
    is_reviewing,
    muted,
    muted_as,
    reviewing,
    scoped,
)
from draftcritic.review._single_flight import Sharing

__all__ = [
    "HOOK_GROUP",
    "INTERNAL",
    "QUEUE_FULL",
    "BackgroundRunner",
    "CallSlot",
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
    "contain_exit",
    "current_activation",
    "current_mark",
    "current_slot",
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
