"""What each setting says about itself: its meaning and what it takes, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import Field

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo


def setting(meaning: str, takes: str, *, default: Any = None, in_code: bool = False, repr: bool = True) -> Any:  # noqa: A002 - pydantic's name
    """Describe a field of `Settings`.

    Args:
        meaning: one sentence for the reference.
        takes: what is allowed, for the reference and for errors.
        default: what holds when no source says anything.
        in_code: no text can express it.
        repr: whether the value is shown; objects may hold secrets.
    """
    return Field(default, description=meaning, json_schema_extra={"allowed": takes, "code_only": in_code}, repr=repr)


def allowed(field: FieldInfo) -> str:
    """What a setting takes, in words."""
    extra = field.json_schema_extra
    return str(extra["allowed"]) if isinstance(extra, Mapping) else ""


def code_only(field: FieldInfo) -> bool:
    """Whether a setting can only be given in code."""
    extra = field.json_schema_extra
    return isinstance(extra, Mapping) and extra["code_only"] is True
