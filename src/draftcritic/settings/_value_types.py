"""The types of settings' values, with their parsers and validators."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, NoReturn

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
)

from draftcritic.core._enums import (
    DeliveryKind,
    EvidenceScope,
    Examples,
    FabricationMode,
    GateReason,
    Mode,
    OnFailure,
    OnLimit,
    OnRefusedCalls,
    OnUnjudged,
    Streams,
)
from draftcritic.core._models import normalise_sku
from draftcritic.core._policy import ANY_SKU, OTHER_RULE, Rule

LONGEST_WAIT = 3600.0
"""Seconds. A review that waits longer is stuck, and much larger numbers overflow the clock of some systems."""
PREFERENCE_PRIORITY = 5
HARD_FLOORS = (
    GateReason.SENSITIVE_TAG,
    GateReason.FABRICATION,
    GateReason.TOOL_ACTION,
    GateReason.INTENT_ACTION,
    GateReason.INTENT_AMBIGUOUS,
    GateReason.DOUBT,
    GateReason.CLAIMS,
)
"""The signals that always make the selective gate fire."""
_IMPORT_STRING = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*(?:\.[^\W\d]\w*)*")
TEXT, TABLE = "<text>", "<table>"
"""How pydantic names the two forms of a rule in an error's place."""
_RULE_ID = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,63}")
_MODEL_NAME = re.compile(r"[^\s:]+:\S+")
_JSON_TEXTS = re.compile(r'\s*\[\s*["\]]')
_PATTERN_MARKS = re.compile(r"\\.|[(\[{]|[)\]}]|,", re.DOTALL)


def _refuse(reason: str) -> NoReturn:
    # Also for wrong types: pydantic collects ValueErrors only.
    raise ValueError(reason)


class _TwiceError(ValueError):
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise _TwiceError(f"the key {name[:80]!r} is there twice")
        found[name] = value
    return found


def _json(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_object)
    except _TwiceError as error:
        raise ValueError(f"is no valid JSON ({error})") from None
    except (ValueError, RecursionError) as error:
        where = f"line {error.lineno}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else "it"
        raise ValueError(f"is no valid JSON ({where} cannot be read)") from None


def _word(words: type[Enum]) -> Callable[[Any], Any]:
    """Return a reader for one word of a closed set."""

    def read(value: Any) -> Any:
        # YAML 1.1 reads a bare `off` as false.
        text = "off" if value is False else str(value).strip().lower()
        if text not in {word.value for word in words}:
            raise ValueError("is none of the words")
        return words(text)

    return read


def _number(value: Any) -> Any:
    if isinstance(value, bool):
        _refuse("is a yes or no, not a number")
    return value.strip() if isinstance(value, str) else value


def _budget(value: Any) -> Any:
    """One number is a budget for each SKU; a text is a number or a JSON table."""
    if isinstance(value, str):
        value = _json(value) if value.lstrip().startswith("{") else value.strip()
    return value if isinstance(value, Mapping) else {ANY_SKU: _number(value)}


def _budget_key(key: str) -> str:
    if key != ANY_SKU and normalise_sku(key) != key:
        raise ValueError(f"is no SKU; write {normalise_sku(key)}, or {ANY_SKU} for every other model")
    return key


def _floor(value: Any) -> Any:
    if str(value).strip().lower() not in {floor.value for floor in HARD_FLOORS}:
        _refuse("is none of the words")
    return GateReason(str(value).strip().lower())


def _comma_separated(value: Any) -> Any:
    """A text is a JSON list when it starts with a bracket, else its parts between commas."""
    if not isinstance(value, str):
        return sorted(value, key=str) if isinstance(value, (set, frozenset)) else value
    if value.lstrip().startswith("["):
        return _json(value)
    return [part for part in (part.strip() for part in value.split(",")) if part]


def _patterns(value: Any) -> Any:
    """As `_comma_separated`, without splitting at commas inside brackets: `ok{1,3}` is one pattern.

    A text is a JSON list only when it starts with a bracket and a quote: `[oö]k` is a pattern.
    """
    if not isinstance(value, str):
        return value
    if _JSON_TEXTS.match(value):
        return _json(value)
    parts, start, depth = [], 0, 0
    for mark in _PATTERN_MARKS.finditer(value):
        sign = mark.group()
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth <= 0:
            parts.append(value[start : mark.start()])
            start = mark.end()
    parts.append(value[start:])
    return [part for part in (part.strip() for part in parts) if part]


def _lines(value: Any) -> Any:
    """A text is a JSON list when it starts with a bracket, else one entry a line, because sentences contain commas."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        return _json(value)
    return [line for line in (line.strip() for line in value.splitlines()) if line]


def json_object(value: Any) -> Any:
    """Return what a text in the environment says as JSON; any other value unchanged."""
    return _json_text(value)


def _json_text(value: Any) -> Any:
    return _json(value) if isinstance(value, str) else value


def _pattern(text: str) -> str:
    from draftcritic.core._gate import check_acknowledgement_pattern

    check_acknowledgement_pattern(text)
    return text


def _identifier_pattern(text: str) -> str:
    from draftcritic.core._patterns import check_pattern

    check_pattern(text)
    return text


def _model(value: Any) -> Any:
    if isinstance(value, str):
        text = value.strip()
        if not _MODEL_NAME.fullmatch(text):
            raise ValueError("names no provider; write it as provider:name, e.g. openai:gpt-4o-mini")
        return text
    if isinstance(value, type):
        _refuse("is a class; give an object of it")
    if not (callable(getattr(value, "invoke", None)) and callable(getattr(value, "ainvoke", None))):
        _refuse("is no chat model: it has no invoke and ainvoke")
    return value


def _model_kwargs(value: dict[str, Any]) -> dict[str, Any]:
    taken = sorted({"model", "model_provider"} & value.keys())
    if taken:
        raise ValueError(f"contains {' and '.join(taken)}; the setting `model` names both, as provider:name")
    return value


def _import_string(text: str) -> str:
    if not _IMPORT_STRING.fullmatch(text.strip()):
        raise ValueError("is no import string; write it as package.module:attribute")
    return text.strip()


def _gate(value: Any) -> Any:
    if isinstance(value, str):
        return _import_string(value)
    if not callable(value):
        _refuse("cannot be called")
    return value


def _rules_source(value: Any) -> Any:
    if isinstance(value, str):
        return _import_string(value)
    if isinstance(value, type):
        _refuse("is a class; give an object of it")
    if not callable(getattr(value, "retrieve", None)):
        _refuse("has no method retrieve(query, top_k)")
    return value


def _hook(value: Any) -> Any:
    for moment in ("on_llm_start", "on_llm_end"):
        if isinstance(value, type) or not callable(getattr(value, moment, None)):
            _refuse(f"is no object with a method {moment}")
    return value


def _template(text: str) -> str:
    from draftcritic.core._prompt_template import validate_template

    validate_template(text)
    return text


def _broker(url: str) -> str:
    if url.startswith(("redis:", "rediss:")):
        raise ValueError(
            "is Redis, whose acknowledgements are only imitated: a killed worker's drafts come back after an hour, or "
            "twice, or not at all (celery issues 5935 and 7924, kombu issue 337); use RabbitMQ, amqp://host, and give "
            "this address as `budget_store`"
        )
    if not url.startswith(("amqp://", "amqps://")):
        raise ValueError("is no address of RabbitMQ; write it as amqps://host/vhost, with the user before the host")
    return url


def _fernet_key(key: str) -> str:
    try:
        whole = len(base64.urlsafe_b64decode(key)) == 32
    except ValueError:
        whole = False
    if not whole:
        raise ValueError("is no Fernet key; make one with `python -c 'from cryptography.fernet import Fernet; ...'`")
    return key


def _store(url: str) -> str:
    if not url.startswith(("redis://", "rediss://", "unix://")):
        raise ValueError("is no address of Redis; write it as rediss://host:6379/0, with the password before the host")
    return url


def absolute(path: str | Path) -> Path:
    """`path` from the current directory on, with `~` for the home directory."""
    try:
        return Path(path).expanduser().absolute()
    except RuntimeError:
        return Path(path).absolute()


Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
ModeWord = Annotated[Mode, BeforeValidator(_word(Mode))]
FabricationWord = Annotated[FabricationMode, BeforeValidator(_word(FabricationMode))]
DeliveryWord = Annotated[DeliveryKind, BeforeValidator(_word(DeliveryKind))]
StreamsWord = Annotated[Streams, BeforeValidator(_word(Streams))]
OnUnjudgedWord = Annotated[OnUnjudged, BeforeValidator(_word(OnUnjudged))]
OnLimitWord = Annotated[OnLimit, BeforeValidator(_word(OnLimit))]
OnRefusedCallsWord = Annotated[OnRefusedCalls, BeforeValidator(_word(OnRefusedCalls))]
OnFailureWord = Annotated[OnFailure, BeforeValidator(_word(OnFailure))]
EvidenceWord = Annotated[EvidenceScope, BeforeValidator(_word(EvidenceScope))]
ExamplesWord = Annotated[Examples, BeforeValidator(_word(Examples))]
Skus = Annotated[tuple[Annotated[Text, AfterValidator(normalise_sku)], ...], BeforeValidator(_comma_separated)]
Share = Annotated[float, BeforeValidator(_number), Field(ge=0, le=1, allow_inf_nan=False)]
Seconds = Annotated[float, BeforeValidator(_number), Field(ge=0, le=LONGEST_WAIT, allow_inf_nan=False)]
Timeout = Annotated[float, BeforeValidator(_number), Field(gt=0, le=LONGEST_WAIT, allow_inf_nan=False)]
RecordHours = Annotated[float, BeforeValidator(_number), Field(gt=0, le=87_600, allow_inf_nan=False)]
Count = Annotated[int, BeforeValidator(_number), Field(ge=1, le=1_000_000)]
QueueBytes = Annotated[int, BeforeValidator(_number), Field(ge=65_536, le=2**40)]
PromptBudget = Annotated[int, BeforeValidator(_number), Field(ge=1000, le=10_000_000)]
Budget = Annotated[
    dict[
        Annotated[str, StringConstraints(strip_whitespace=True), AfterValidator(_budget_key)],
        Annotated[float, BeforeValidator(_number), Field(gt=0, le=1e15, allow_inf_nan=False)],
    ],
    BeforeValidator(_budget),
]
QueueSize = Annotated[int, BeforeValidator(_number), Field(ge=1, le=1_000_000)]
Windows = Annotated[int, BeforeValidator(_number), Field(ge=1, le=100)]
Workers = Annotated[int, BeforeValidator(_number), Field(ge=1, le=64)]
Words = Annotated[tuple[Text, ...], BeforeValidator(_comma_separated)]
Floors = Annotated[tuple[Annotated[GateReason, BeforeValidator(_floor)], ...], BeforeValidator(_comma_separated)]
Salt = Annotated[str, StringConstraints(max_length=1024)]
Sentences = Annotated[tuple[Text, ...], BeforeValidator(_lines)]
Patterns = Annotated[tuple[Annotated[Text, AfterValidator(_pattern)], ...], BeforeValidator(_patterns)]
IdentifierPatterns = Annotated[
    tuple[Annotated[Text, AfterValidator(_identifier_pattern)], ...], BeforeValidator(_patterns)
]
Template = Annotated[Text, AfterValidator(_template)]
ModelChoice = Annotated[Any, AfterValidator(_model)]
ModelKwargs = Annotated[dict[str, Any], BeforeValidator(_json_text), AfterValidator(_model_kwargs)]
ToolActions = Annotated[dict[Text, Words], BeforeValidator(_json_text)]
RefusalTexts = Annotated[
    dict[Annotated[str, StringConstraints(strip_whitespace=True, to_lower=True, pattern=r"^([a-z]{2}|\*)$")], Text],
    BeforeValidator(_json_text),
]
GateChoice = Annotated[Any, AfterValidator(_gate)]
RulesSourceChoice = Annotated[Any, AfterValidator(_rules_source)]
Hooks = tuple[Annotated[Any, AfterValidator(_hook)], ...]
BrokerUrl = Annotated[Text, AfterValidator(_broker)]
StoreUrl = Annotated[Text, AfterValidator(_store)]
FleetName = Annotated[str, StringConstraints(strip_whitespace=True, pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")]
FleetKeys = Annotated[tuple[Annotated[Text, AfterValidator(_fernet_key)], ...], BeforeValidator(_comma_separated)]
ConfigPath = Annotated[Path, AfterValidator(absolute)]


def _rule_id(text: str) -> str:
    if text and not _RULE_ID.fullmatch(text):
        _refuse("is no id: write 1 to 64 letters, digits, dots, hyphens or underscores, the first a letter")
    if text == OTHER_RULE:
        _refuse(f"is reserved: {OTHER_RULE} is the id of all rules that are not loaded")
    return text


RuleId = Annotated[str, StringConstraints(strip_whitespace=True), AfterValidator(_rule_id)]


class Preference(BaseModel):
    """A rule of the domain, as it is written in settings; see `draftcritic.CriticPreference`.

    Attributes:
        statement: the rule, in words the critic's model reads.
        priority: 1 to 10; higher is shown to the critic first.
        sensitive_tags: tags that make the gate fire.
        id: what telemetry counts it as; empty for a hash of the statement.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, from_attributes=True)

    statement: Text
    priority: Annotated[int, BeforeValidator(_number), Field(ge=1, le=10)] = PREFERENCE_PRIORITY
    sensitive_tags: Words = ()
    id: RuleId = ""


class GivenRule(BaseModel):
    """A procedural rule, as it is written in settings; see `draftcritic.core.Rule`.

    Attributes:
        statement: the rule, in words the critic's model reads.
        id: what telemetry counts it as; empty for a hash of the statement.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, from_attributes=True)

    statement: Text
    id: RuleId = ""


def _is_table(value: Any) -> str:
    return TABLE if isinstance(value, (Mapping, GivenRule, Rule)) else TEXT


Rules = Annotated[
    tuple[
        Annotated[Annotated[Text, Tag(TEXT)] | Annotated[GivenRule, Tag(TABLE)], Discriminator(_is_table)],
        ...,
    ],
    BeforeValidator(_lines),
]
Preferences = Annotated[tuple[Preference, ...], BeforeValidator(_json_text)]
