"""The names of LangChain without a promise to stay, looked up once when the plugin is started."""

from __future__ import annotations

import logging
from importlib import import_module
from typing import Any, NamedTuple

_logger = logging.getLogger(__name__)


class _Name(NamedTuple):
    """Where a private name is.

    Attributes:
        module, attribute: its place.
        without: what a user notices when it is gone.
        required: in every version that the plugin supports.
    """

    module: str
    attribute: str
    without: str
    required: bool = True


_TRACERS = "langchain_core.tracers.context"
_BRIDGE = "langchain_core.language_models._compat_bridge"
_STREAMING = "langchain_core.tracers._streaming"
_V3 = "stream_events(version='v3') of a draft that is replaced fails open"
_NAMES = (
    _Name(_TRACERS, "_configure_hooks", "usage collectors of the application count the critic's calls"),
    _Name(_TRACERS, "tracing_v2_callback_var", "LangSmith records the critic's calls"),
    _Name(_STREAMING, "_V2StreamingCallbackHandler", "event streams are not held back piece by piece", required=False),
    _Name(_BRIDGE, "message_to_events", _V3, required=False),
)
_found: dict[str, Any] = {}


def look_up() -> None:
    """Look for every name, and log what the lack of one means."""
    for name in _NAMES:
        value = _value_of(name)
        if value is not None:
            _found[name.attribute] = value
        elif name.attribute not in _found:  # what an earlier start has found is as good
            level = logging.WARNING if name.required else logging.INFO
            _logger.log(level, "this langchain-core has no %s.%s: %s", name.module, name.attribute, name.without)


def _value_of(name: _Name) -> Any:
    try:
        return getattr(import_module(name.module), name.attribute, None)
    except ImportError:
        return None


def private(attribute: str) -> Any:
    """Return a private name of LangChain; None where this version has none."""
    if not _found:
        look_up()
    return _found.get(attribute)
