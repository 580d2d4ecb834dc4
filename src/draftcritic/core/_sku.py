"""What the provider really runs, as one short name per model: the SKU that usage and cost are booked on."""

from __future__ import annotations

import os
import re
import threading

UNKNOWN = "unknown"
"""The SKU of a model that cannot be told."""
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
