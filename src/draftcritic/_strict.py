"""`strict = true`: a start that cannot work ends the process, and a later fault withholds answers."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from draftcritic._announcement import complain, flush

if TYPE_CHECKING:
    from draftcritic.settings._model import Settings

EXIT_CODE = 78
"""EX_CONFIG of sysexits.h."""
_FALSE = frozenset({"", "0", "false", "no", "off", "f", "n"})
_LINE = re.compile(rb"""^\s*["']?strict["']?\s*[=:]\s*["']?(?:true|yes|on|1)\b""", re.MULTILINE | re.IGNORECASE)
_MOST_BYTES = 10_000_000
_PACKAGES = {
    "anthropic": "langchain_anthropic",
    "anthropic_bedrock": "langchain_aws",
    "azure_ai": "langchain_azure_ai",
    "azure_openai": "langchain_openai",
    "bedrock": "langchain_aws",
    "bedrock_converse": "langchain_aws",
    "cohere": "langchain_cohere",
    "deepseek": "langchain_deepseek",
    "fireworks": "langchain_fireworks",
    "google_anthropic_vertex": "langchain_google_vertexai",
    "google_genai": "langchain_google_genai",
    "google_vertexai": "langchain_google_vertexai",
    "groq": "langchain_groq",
    "huggingface": "langchain_huggingface",
    "ibm": "langchain_ibm",
    "mistralai": "langchain_mistralai",
    "nvidia": "langchain_nvidia_ai_endpoints",
    "ollama": "langchain_ollama",
    "openai": "langchain_openai",
    "openrouter": "langchain_openrouter",
    "perplexity": "langchain_perplexity",
    "together": "langchain_together",
    "xai": "langchain_xai",
}
"""The packages of the providers of `init_chat_model`, langchain 1.5."""


def may_be_strict(options: Mapping[str, Any], environ: Mapping[str, str]) -> bool:
    """Whether some source asks for `strict`, so far as it can be read before the settings are.

    A value that is no word for false counts: a misspelled `true` must not switch strictness off.
    """
    settings = options.get("settings")
    if settings is not None:
        return bool(getattr(settings, "strict", False))
    if options.get("strict") is not None:
        return bool(options["strict"])
    given = environ.get("DRAFTCRITIC_STRICT", "").strip().lower()
    if given:
        return given not in _FALSE
    file = options.get("config") or environ.get("DRAFTCRITIC_CONFIG", "").strip()
    if not file:
        return False
    try:
        with Path(file).open("rb") as opened:
            return _LINE.search(opened.read(_MOST_BYTES)) is not None
    except (OSError, TypeError, ValueError):
        return False


def provider_in(model: str) -> str:
    """Return the provider that a model's name begins with, in the spelling of LangChain."""
    return model.partition(":")[0].replace("-", "_").lower()


def missing_package(model: Any) -> str | None:
    """Return the distribution that the critic's model by name needs and that is not installed; None when all is there.

    Args:
        model: the setting `model`.
    """
    if not isinstance(model, str):
        return None
    modules = ["langchain", _PACKAGES.get(provider_in(model))]
    for module in modules:
        if module is not None and find_spec(module) is None:
            return module.replace("_", "-")
    return None


def check_start(options: Mapping[str, Any]) -> None:
    """End the process when the settings are invalid, or the package of the critic's provider is not installed.

    Args:
        options: the settings that code gives to `instrument()`.
    """
    from draftcritic.settings._fields import SettingsError
    from draftcritic.settings._model import Settings

    try:
        settings = options.get("settings") or Settings.load(**options)
    except SettingsError as error:
        end_process(error.summary())
    if settings.strict:
        check_package(settings)


def check_package(settings: Settings) -> None:
    """End the process when the package of the critic's provider is not installed."""
    from draftcritic.core._enums import Mode

    missing = missing_package(settings.model) if settings.mode not in (Mode.OFF, Mode.GATE) else None
    if missing is not None:
        end_process(f"model = {settings.model!r}, from {settings.origin('model')}: run pip install {missing}")


def end_process(reason: str) -> NoReturn:
    """End the process with `EXIT_CODE` after a message. An exception would be swallowed by the loader of plugins."""
    complain(f"draftcritic cannot start, and DRAFTCRITIC_STRICT ends the process: {reason}")
    flush()
    os._exit(EXIT_CODE)


class WithheldError(RuntimeError):
    """A chat model was called while `strict` withholds all answers."""


_METHODS = ("invoke", "ainvoke", "stream", "astream", "generate", "agenerate")


class Blockade:
    """Makes every chat model raise `WithheldError`: in strict `enforce`, when no handler could be placed.

    Args:
        owner: LangChain's class of chat models.
        reason: why, for the message.
    """

    def __init__(self, owner: type, reason: str) -> None:
        self._owner = owner
        self._saved: dict[str, Any] = {}
        for name in _METHODS:
            if name in vars(owner):
                self._saved[name] = vars(owner)[name]
                setattr(owner, name, _raising(reason))

    def remove(self) -> None:
        """Put the methods back."""
        for name, method in self._saved.items():
            with suppress(AttributeError, TypeError):
                setattr(self._owner, name, method)
        self._saved.clear()


def _raising(reason: str) -> Callable[..., Any]:
    def withheld(*_: Any, **__: Any) -> NoReturn:
        raise WithheldError(f"draftcritic withholds every answer (DRAFTCRITIC_STRICT=true, mode enforce): {reason}")

    return withheld
