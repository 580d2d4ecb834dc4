"""Encrypts drafts on their way through the message queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from draftcritic.fleet._wire import MessageError

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet

_PLAIN, _FERNET = "json", "fernet"


class Cipher:
    """Turns the bytes of a draft into the body of a message, and back.

    Args:
        keys: Fernet keys; the first one encrypts, each may decrypt. None leaves drafts as they are.

    Raises:
        ImportError: there are keys, and the package cryptography is missing.
        ValueError: a key is no Fernet key.
    """

    def __init__(self, keys: Sequence[str] = ()) -> None:
        self._fernet: MultiFernet | None = None
        if keys:
            from cryptography.fernet import Fernet, MultiFernet

            self._fernet = MultiFernet([Fernet(key) for key in keys])

    def sealed(self, payload: bytes) -> dict[str, str]:
        """Return the body of a message."""
        if self._fernet is None:
            return {"form": _PLAIN, "draft": payload.decode("ascii")}
        return {"form": _FERNET, "draft": self._fernet.encrypt(payload).decode("ascii")}

    def opened(self, body: Any) -> bytes:
        """Return the bytes of a draft.

        Raises:
            MessageError: the body has another form, or was encrypted with another key.
        """
        form, draft = (body.get("form"), body.get("draft")) if isinstance(body, dict) else (None, None)
        if not isinstance(draft, str):
            raise MessageError("the message has no draft")
        if form == _PLAIN and self._fernet is None:
            return draft.encode("utf-8", "replace")
        if form == _PLAIN:
            raise MessageError("the draft is not encrypted, and `fleet_key` is set here")
        if form != _FERNET:
            raise MessageError(f"the draft has the form {str(form)[:20]}; this release reads json and fernet")
        if self._fernet is None:
            raise MessageError("the draft is encrypted; set `fleet_key` to the key of the agents")
        from cryptography.fernet import InvalidToken

        try:
            return self._fernet.decrypt(draft)
        except InvalidToken:
            raise MessageError("the draft was encrypted with another `fleet_key`") from None
