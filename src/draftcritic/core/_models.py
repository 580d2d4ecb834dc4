"""What the provider really runs, as one short name per model: the SKU that usage and cost are booked on."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

UNKNOWN = "unknown"
"""The SKU of a model that is unknown."""
OTHER = "other"
"""The label of every SKU beyond the bound of `SkuBound`."""
MAX_SKU_CHARS = 64
MAX_SKUS = 64
"""Distinct SKU labels of a process: far more models than an agent uses, few enough for any metrics store."""
_MAX_NAME_CHARS = 512

_VENDORS = (
    "ai21|amazon|anthropic|cohere|deepseek|google|luma|meta|minimax|mistral|moonshot|moonshotai|nvidia|openai|qwen"
    "|stability|twelvelabs|writer|xai|zai"
)
_INTEGRATIONS = (
    "anthropic|anthropic_bedrock|azure|azure_ai|azure_openai|baseten|bedrock|bedrock_converse|cohere|fireworks"
    "|google|google-gla|google-vertex|google_anthropic_vertex|google_genai|google_vertexai|grok|groq"
    "|huggingface|ibm|litellm|mistralai|nvidia|ollama|openai|openai-chat|openai-responses|openrouter"
    "|perplexity|together|upstage|vertexai|xai"
)
# `mistral:instruct` is a model of Ollama, `mistral:mistral-large` one of the Mistral integration.
_INTEGRATION = re.compile(rf"(?:(?:{_INTEGRATIONS}):(?=[a-z@])|(?:deepseek|mistral):(?=[a-z]+-))")
_ARN = re.compile(r"arn:[a-z-]+:bedrock:[^/]*:(?:foundation-model|inference-profile)/(?P<name>[^/]+)$")
_VERSIONED_PATH = re.compile(r"/models/(?P<name>[^/]+)/versions/[^/]+$")
_BEDROCK = re.compile(rf"(?:[a-z]{{2,6}}(?:-gov)?\.)?(?P<vendor>{_VENDORS})\.(?=[a-z])")
_BEDROCK_VERSION = re.compile(r"(?:-v?\d{1,2}(?::\d{1,2}(?::\w{1,8})?)|-v\d{1,2})$")
_ROUTE = re.compile(r":(?:beta|nitro|online|floor|extended|exacto|thinking|latest|[0-9a-f]{40,64})$")
_MONTH = r"(?:0[1-9]|1[0-2])"
_DAY = r"(?:0[1-9]|[12]\d|3[01])"
_DATE = re.compile(
    rf"""-(?:
        20\d\d-?{_MONTH}-?{_DAY}          # 20251001, 2024-08-06
      | {_MONTH}-20\d\d                   # 08-2024
      | {_MONTH}-?{_DAY}                  # 0613, 05-20
      | 2[3-9]{_MONTH}                    # 2411
      | 00\d                              # a numbered release
      | latest
    )$""",
    re.VERBOSE,
)
_OPAQUE = re.compile(r"[0-9]+|[0-9a-f]{20,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NOT_ALLOWED = re.compile(r"[^a-z0-9._:+-]+")


def normalise_sku(name: str | None) -> str:
    """Reduce a raw model name to its SKU: `claude-haiku-4-5` from `anthropic.claude-haiku-4-5-20251001-v1:0`.

    Dropped are provider paths, regions, vendors of Bedrock, release dates and numbers, `latest`, and the routing
    suffixes of OpenRouter except `:free`. Kept is what makes another product: the size tag of Ollama
    (`llama3.1:8b`), and `ft:` with the base model of an OpenAI fine-tune (its price differs; whose it is does not
    matter). Two spellings of one model become one: `claude-3.5-sonnet` is `claude-3-5-sonnet`, `gpt-35-turbo` is
    `gpt-3.5-turbo`. A SKU is its own SKU.

    Returns:
        At most 64 characters of `a-z0-9._:+-`; `unknown` for no name and for names that only an account can
        resolve, such as the ARN of an application inference profile or the number of a Vertex endpoint.
    """
    if not isinstance(name, str):
        return UNKNOWN
    text = name[:_MAX_NAME_CHARS].strip().lower()
    while (shorter := _reduced(text)) != text:
        text = shorter
    return UNKNOWN if not text or _OPAQUE.fullmatch(text) else text


def _reduced(text: str) -> str:
    if text.startswith("ft:"):
        base = normalise_sku(text[3:].partition(":")[0])
        return "" if base == UNKNOWN else f"ft:{base}"[:MAX_SKU_CHARS].rstrip(".:+-_")
    text = _without_path(_INTEGRATION.sub("", text, count=1) if _INTEGRATION.match(text) else text)
    bedrock = _BEDROCK.match(text)
    if bedrock:
        text = text[bedrock.end() :]
        if bedrock["vendor"] == "deepseek" and not text.startswith("deepseek"):
            text = f"deepseek-{text}"
    text = _without_release(text.partition("@")[0], bedrock=bedrock is not None)
    text = _NOT_ALLOWED.sub("-", _one_spelling(text))
    return text[:MAX_SKU_CHARS].strip(".:+-_")


def _without_path(text: str) -> str:
    if text.startswith("arn:"):
        arn = _ARN.match(text)
        return arn["name"] if arn else ""
    text = text.partition("?")[0].rstrip("/")
    versioned = _VERSIONED_PATH.search(text)
    return versioned["name"] if versioned else text.rpartition("/")[2]


def _without_release(text: str, *, bedrock: bool) -> str:
    text = _ROUTE.sub("", text)
    if bedrock or text.startswith("claude-"):
        shorter = _BEDROCK_VERSION.sub("", text)
        text = text if shorter in {"claude", "deepseek"} else shorter
    if ":" in text:
        return text
    while (shorter := _DATE.sub("", text)) != text and shorter:
        text = shorter
    return text


def _one_spelling(text: str) -> str:
    if text.startswith("claude"):
        return re.sub(r"(?<=\d)\.(?=\d)", "-", text)
    return re.sub(r"^gpt-35(?=-|$)", "gpt-3.5", text)


_CAPABLE = re.compile(
    r"gpt-(?:4o|4\.1|4\.5|4-turbo|5|6)|chatgpt-4o|o[1345](?:-|\Z)|claude-|gemini-(?:1\.5|2|3)|grok-[2-9]"
    r"|mistral-(?:large|medium)|deepseek-(?:v[3-9]|r[1-9]|chat|reasoner)|command-(?:a|r-plus)|qwen[\d.]*-(?:max|plus)"
    r"|kimi-k|glm-4\.[5-9]|llama-(?:3\.[13]-(?:70|405)b|4-)|nova-(?:pro|premier)"
)
"""Families that judge well without worked examples."""
_SMALL = re.compile(
    r"nano|lite|tiny|small|micro|claude-(?:instant|1|2)|(?<![\d.])(?:\d|1\d|2\d)(?:\.\d+)?b(?![a-z])|-8b"
)
"""Marks of their small members."""


@lru_cache(256)
def is_capable(model: str) -> bool:
    """Return whether a model of this name is known to judge well without worked examples. In doubt it is not."""
    sku = normalise_sku(model)
    return _CAPABLE.match(sku) is not None and _SMALL.search(sku) is None


class SkuBound:
    """Keeps the number of distinct SKU labels of a process bounded; called with a SKU, it returns the label.

    That is the SKU itself, or `other` when the limit was reached before it came; `unknown` is free. Safe to use
    from several threads and after a fork.

    Args:
        limit: SKUs that keep their own label, first come, first served.
    """

    def __init__(self, limit: int = MAX_SKUS) -> None:
        self._limit = limit
        self._seen: set[str] = set()
        self._lock = threading.Lock()
        self._pid = os.getpid()

    def __call__(self, sku: str) -> str:
        if sku == UNKNOWN or sku in self._seen:
            return sku
        if self._pid != os.getpid():
            # In the parent another thread may have held the lock.
            self._lock, self._pid = threading.Lock(), os.getpid()
        with self._lock:
            if sku not in self._seen and len(self._seen) >= self._limit:
                return OTHER
            self._seen.add(sku)
        return sku


REPORTED_KEYS = ("model_name", "model", "model_id", "ls_model_name")
"""Where providers report the model's name in `response_metadata`, first come, first served."""
_FINISH_KEYS = ("finish_reason", "stop_reason", "stopReason", "done_reason")
"""Where OpenAI and Google, Anthropic, Bedrock's Converse and Ollama report why the model stopped."""
_NAMES = ("model", "model_name", "model_id", "base_model_id")
_DEPLOYMENTS = ("deployment_name", "azure_deployment")
_WRAPPED = ("bound", "runnable", "default")
_MAX_LAYERS = 32
_MIN_REPEATED = 4
_KEPT_NAMES = 64


def resolve_model_name(model: Any, reported: str | None = None, requested: str = "") -> str:
    """Return the raw name of what the provider really runs.

    That is the name the response reports, else the model object's (`model`, `model_name`, on Bedrock `model_id` and
    `base_model_id`; a name bound to a call wins over the object's), through bindings, retries and fallbacks, else
    the requested name, and as a last resort the name of an Azure deployment. A name that only an account can resolve
    yields to one that identifies the SKU. Never raises: a property that raises counts as missing.

    Args:
        model: the model object, or any wrapper around it.
        reported: the name out of the response; see `reported_model_name`.
        requested: the name that was asked for.

    Returns:
        The name; empty when there is none.
    """
    first = ""
    for candidate in _candidates(model, reported, requested):
        name = candidate.strip() if isinstance(candidate, str) else ""
        if name and _tells_sku(name):
            return name
        first = first or name
    return first


def configured_sku(model: Any) -> str | None:
    """Return the SKU of a configured critic's model; None where each draft's own model is asked.

    Args:
        model: the setting `model`: `provider:name`, a chat model, or None.
    """
    if model is None:
        return None
    return normalise_sku(model.partition(":")[2] if isinstance(model, str) else resolve_model_name(model))


def reported_model_name(response_metadata: Any) -> str | None:
    """Return the model's name as the provider reported it with an answer; None when it did not.

    A name that merging the chunks of a stream has repeated (`gpt-4ogpt-4o`) is given once.
    """
    if not isinstance(response_metadata, Mapping):
        return None
    for key in REPORTED_KEYS:
        value = response_metadata.get(key)
        if isinstance(value, str) and (name := value.strip()):
            period = (name + name).find(name, 1)
            return name[:period] if period >= _MIN_REPEATED else name
    return None


def reported_finish_reason(response_metadata: Any) -> str | None:
    """Return why the model stopped, in the provider's word; None when the answer does not tell."""
    if not isinstance(response_metadata, Mapping):
        return None
    values = (response_metadata.get(key) for key in _FINISH_KEYS)
    return next((value for value in values if isinstance(value, str) and value), None)


@lru_cache(_KEPT_NAMES)
def _tells_sku(name: str) -> bool:
    return normalise_sku(name) != UNKNOWN


def _candidates(model: Any, reported: Any, requested: Any) -> Iterator[Any]:
    yield reported
    yield from _names_of(model)
    yield requested
    yield from _deployments_of(model)


def _names_of(model: Any) -> Iterator[Any]:
    for layer in _layers(model):
        bound = _read(layer, "kwargs")
        if isinstance(bound, Mapping):
            yield from (bound.get(name) for name in _NAMES)
    for layer in _layers(model):
        yield from (_read(layer, name) for name in _NAMES)


def _deployments_of(model: Any) -> Iterator[Any]:
    for layer in _layers(model):
        yield from (_read(layer, name) for name in _DEPLOYMENTS)


def _layers(model: Any) -> Iterator[Any]:
    """The model object and what it wraps, outermost first."""
    seen: set[int] = set()
    # The objects are kept, because the id of one that was collected may come again.
    waiting, kept = [model], []
    while waiting and len(seen) < _MAX_LAYERS:
        layer = waiting.pop(0)
        if layer is None or id(layer) in seen:
            continue
        seen.add(id(layer))
        kept.append(layer)
        yield layer
        waiting += [_read(layer, name) for name in _WRAPPED]


def _read(owner: Any, name: str) -> Any:
    try:
        return getattr(owner, name, None)
    except Exception:  # an application's property may raise anything
        return None
