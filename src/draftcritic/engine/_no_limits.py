"""The limits of a critic that has none."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence

from draftcritic.core import Failure, GateReason, ModelCall
from draftcritic.engine._ports import Permit


class NoLimits:
    """Lets everything through. Implements `ReviewLimits`."""

    def samples(
        self,
        trace_id: Callable[[], int | None],  # noqa: ARG002 - the port's signature
        run_id: str,  # noqa: ARG002 - the port's signature
        signals: Collection[GateReason],  # noqa: ARG002 - the port's signature
        root_run: Hashable = None,  # noqa: ARG002 - the port's signature
    ) -> bool:
        """Return True."""
        return True

    def admits_loop(self) -> bool:
        """Return True."""
        return True

    def admit(
        self,
        sku: str,  # noqa: ARG002 - the port's signature
        size: int = 0,  # noqa: ARG002
        lasts: float = 3600.0,  # noqa: ARG002
        ids: Sequence[str] = (),  # noqa: ARG002
        *,
        calls: int = 1,  # noqa: ARG002
    ) -> Permit | GateReason:
        """Return leave that costs nothing."""
        return _FREE

    def probe(self, sku: str, size: int = 0, lasts: float = 3600.0) -> Permit | None:  # noqa: ARG002 - the port's signature
        """Return None: there is no circuit."""
        return None


class _FreePermit:
    def settle(
        self,
        call: ModelCall | None,
        failure: Failure | None,
        *,
        unbilled: bool = False,
        retry_after: float | None = None,
    ) -> None:
        """Do nothing."""


_FREE = _FreePermit()
