"""The application's cache of answers while a draft is held back."""

from __future__ import annotations

from functools import lru_cache
from typing import Any


class CacheAfterVerdict:
    """The application's cache of answers, which a refused answer must not get into.

    Attributes:
        model: what LangChain's method runs with: a stand-in for the model when it has a cache.
    """

    def __init__(self, model: Any) -> None:
        self._cache: Any = None
        self.model = model
        cache = _cache_of(model)
        if cache is not None:
            self._cache = _kept_writes()(cache)
            self.model = _WithCache(model, self._cache)

    def write(self) -> None:
        """Write what the call wrote."""
        if self._cache is not None:
            for args in self._cache.writes:
                self._cache.cache.update(*args)

    async def awrite(self) -> None:
        """Write what the call wrote."""
        if self._cache is not None:
            for args in self._cache.writes:
                await self._cache.cache.aupdate(*args)


class _WithCache:
    """A chat model with another cache."""

    def __init__(self, model: Any, cache: Any) -> None:
        self._cached_model = model
        self.cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cached_model, name)


def _cache_of(model: Any) -> Any:
    """Return the cache that LangChain asks for a call of a model; None when there is none."""
    from langchain_core.caches import BaseCache
    from langchain_core.globals import get_llm_cache

    if model.cache is False:
        return None
    return model.cache if isinstance(model.cache, BaseCache) else get_llm_cache()


@lru_cache(1)
def _kept_writes() -> type[Any]:
    from langchain_core.caches import BaseCache

    class KeptWrites(BaseCache):
        """Reads from a cache, and keeps what is written to it."""

        def __init__(self, cache: Any) -> None:
            self.cache = cache
            self.writes: list[tuple[Any, ...]] = []

        def lookup(self, prompt: str, llm_string: str) -> Any:
            return self.cache.lookup(prompt, llm_string)

        async def alookup(self, prompt: str, llm_string: str) -> Any:
            return await self.cache.alookup(prompt, llm_string)

        def update(self, prompt: str, llm_string: str, return_val: Any) -> None:
            self.writes.append((prompt, llm_string, return_val))

        async def aupdate(self, prompt: str, llm_string: str, return_val: Any) -> None:
            self.writes.append((prompt, llm_string, return_val))

        def clear(self, **kwargs: Any) -> None:
            self.cache.clear(**kwargs)

    return KeptWrites
