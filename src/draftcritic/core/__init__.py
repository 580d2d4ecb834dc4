"""What the critic decides, in plain Python: no LangChain, no OpenTelemetry."""

from draftcritic.core._model_name import reported_model_name, resolve_model_name
from draftcritic.core._parser import ParsedReflection, parse_reflection_output
from draftcritic.core._price import price_usd, usage_from
from draftcritic.core._prompt import DEFAULT_TEMPLATE, Prompt, render_prompt, validate_template
from draftcritic.core._sku import SkuBound, normalise_sku
from draftcritic.core._well_formed import well_formed

__all__ = [
    "DEFAULT_TEMPLATE",
    "ParsedReflection",
    "Prompt",
    "SkuBound",
    "normalise_sku",
    "parse_reflection_output",
    "price_usd",
    "render_prompt",
    "reported_model_name",
    "resolve_model_name",
    "usage_from",
    "validate_template",
    "well_formed",
]
