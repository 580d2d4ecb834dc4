"""A lifespan for Starlette and FastAPI that reviews and exports what is left when the server shuts down."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

Lifespan = Callable[[Any], AbstractAsyncContextManager[Any]]


def flush_at_shutdown(lifespan: Lifespan | None = None, *, timeout: float = 20.0) -> Lifespan:
    """Return a lifespan that ends with `DraftCriticInstrumentor().flush(export=True)`.

    Uvicorn ends its processes by a signal, so that no exit handler runs: what is reviewed and exported later is lost.

    Args:
        lifespan: the application's own lifespan, which runs inside; its state is passed on.
        timeout: seconds that reviews and exports may take together. Keep it below the grace period of the server.

    Example:
        app = FastAPI(lifespan=flush_at_shutdown())
    """

    @asynccontextmanager
    async def flushing(app: Any) -> AsyncIterator[Any]:
        from draftcritic.instrumentor import DraftCriticInstrumentor

        try:
            if lifespan is None:
                yield None
            else:
                async with lifespan(app) as state:
                    yield state
        finally:
            await asyncio.to_thread(DraftCriticInstrumentor().flush, timeout, export=True)

    return flushing
