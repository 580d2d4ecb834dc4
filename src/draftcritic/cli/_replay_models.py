"""The critic's model of a replay."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from draftcritic.review._ports import CriticModel

_NO_ANSWER = frozenset({"api_key", "base_url", "timeout", "max_retries", "default_headers"})


def model_name(model: str, kwargs: Mapping[str, Any]) -> str:
    """Return what names a model with its parameters: those change answers, keys and addresses do not."""
    return f"{model} {json.dumps({key: kwargs[key] for key in sorted(kwargs) if key not in _NO_ANSWER})}"


def critic_model(name: str, kwargs: Mapping[str, Any]) -> CriticModel:
    """Return the model that `provider:name` names."""
    from langchain.chat_models import init_chat_model

    from draftcritic.langchain._critic_model import ChatModelCritic

    return ChatModelCritic(init_chat_model(name, **kwargs), requested=name.partition(":")[2], apart=True)
