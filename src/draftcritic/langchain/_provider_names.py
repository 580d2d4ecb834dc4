"""The name of a chat model's provider."""

from __future__ import annotations

from typing import Any

_MOST_LAYERS = 8
_LONGEST = 64


def provider_of(model: Any) -> str:
    """Return the name of the provider of a chat model or a runnable around one; empty when it has none. Never raises.

    That is LangChain's name for it, as it is in traces; another service that speaks a provider's protocol has the
    name of that provider.
    """
    try:
        for _ in range(_MOST_LAYERS):
            inner = getattr(model, "bound", None) or getattr(model, "runnable", None)
            if inner is None or hasattr(model, "_get_ls_params"):
                break
            model = inner
        name = model._get_ls_params().get("ls_provider")
    except Exception:  # third-party code
        return ""
    return name[:_LONGEST] if isinstance(name, str) else ""
