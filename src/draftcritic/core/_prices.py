"""Tokens and what they cost, as far as both are known."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from draftcritic.core._models import UNKNOWN, normalise_sku
from draftcritic.core._review import Usage

_LOCAL = frozenset({"ollama", "llamacpp", "llama_cpp", "vllm", "lmstudio", "huggingface_local", "mlx", "gpt4all"})
_BEDROCK_NAME = re.compile(r"(?:[a-z]{2,6}(?:-gov)?\.)?[a-z0-9]+\.[a-z]", re.IGNORECASE)


def usage_from(metadata: Any) -> Usage:
    """Read the token counts of LangChain's `usage_metadata`; what is missing or no count stays None."""
    if not isinstance(metadata, Mapping):
        return Usage()
    details = metadata.get("input_token_details")
    cached = _count(details.get("cache_read")) if isinstance(details, Mapping) else None
    return Usage(_count(metadata.get("input_tokens")), _count(metadata.get("output_tokens")), cached_tokens=cached)


def price_usd(
    model: str, *, input_tokens: int | None, output_tokens: int | None, provider: str | None = None
) -> float | None:
    """Return what a call costs in US dollars by the published list price of its model.

    The prices are those that `genai-prices` ships with, unless the application has loaded newer ones into it;
    nothing is fetched. Discounts for cached input are not taken off. Never raises.

    Args:
        model: the raw name, or the SKU.
        input_tokens: as the provider counted them.
        output_tokens: likewise.
        provider: LangChain's or `genai-prices`' name of the provider when it is known; a model that runs locally
            has no price.

    Returns:
        The price; None when the model, a price of it or a count is unknown.
    """
    tokens_in, tokens_out = _count(input_tokens), _count(output_tokens)
    if tokens_in is None or tokens_out is None or not isinstance(model, str):
        return None
    reference = _reference(model, provider if isinstance(provider, str) else None)
    return None if reference is None else _calculate(*reference, tokens_in, tokens_out)


@lru_cache(maxsize=256)
def _reference(model: str, provider: str | None) -> tuple[str, str | None] | None:
    """The first name and provider under which the list has a whole price."""
    if {(provider or "").strip().lower(), re.split("[:/]", model.strip().lower())[0]} & _LOCAL:
        return None
    candidates = _candidates(model.strip(), provider)
    return next((found for found in candidates if _calculate(*found, 1, 1) is not None), None)


def _candidates(model: str, provider: str | None) -> Iterator[tuple[str, str | None]]:
    sku = normalise_sku(model)
    if sku == UNKNOWN or ":" in sku:
        # A size tag marks a model that runs locally, `ft:` a fine-tune: the list price of the base model is wrong.
        return
    owner, _, last = model.rpartition("/")
    if model.startswith("arn:"):
        model, owner = last, "bedrock"
    if provider:
        yield model, provider
    if _BEDROCK_NAME.match(model):
        yield model, "aws"
    yield model, None
    if owner:
        yield last, owner.split("/")[0]
        yield last, None
    if provider:
        yield sku, provider
    yield sku, None


def _calculate(model: str, provider: str | None, tokens_in: int, tokens_out: int) -> float | None:
    try:
        import genai_prices

        usage = genai_prices.Usage(input_tokens=tokens_in, output_tokens=tokens_out)
        price = genai_prices.calc_price(usage, model, provider_id=provider)
        known = (getattr(price.model_price, name, None) for name in ("input_mtok", "output_mtok"))
        return None if None in known else float(price.total_price)
    except Exception:  # the price list is a neighbour's: whatever it raises, the price is unknown
        return None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
