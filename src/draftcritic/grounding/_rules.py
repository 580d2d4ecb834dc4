"""The rules of an application for the fabrication check: identifier keys and patterns, words never to flag, tools."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from draftcritic.core._patterns import LONGEST_IDENTIFIER, check_pattern
from draftcritic.grounding._token import Token

IDENTIFIER_KEYS = frozenset(
    f"{thing}{suffix}"
    for suffix, things in {
        "_id": ("task", "job", "process", "request", "req", "trace", "span", "run", "ticket", "order", "instance"),
        "id": ("p", "task", "job"),
        "": ("service", "service_name", "instance"),
    }.items()
    for thing in things
)
"""Keys of task, job, process, request, trace, span, run, ticket, order, service and instance, in lower case."""


def known_keys(extra: Iterable[object] | None) -> frozenset[str]:
    """Return the built-in keys with those of the domain, in lower case."""
    if not extra:
        return IDENTIFIER_KEYS
    keys = (extra,) if isinstance(extra, str) else extra
    return IDENTIFIER_KEYS | {key.lower() for key in keys if isinstance(key, str)}


logger = logging.getLogger(__name__)

MAX_IDENTIFIERS = 1000
"""Identifiers of one draft that the configured patterns find."""


@dataclass(frozen=True)
class FabricationRules:
    """The settings of a domain, ready for use; see `rules_of`."""

    keys: frozenset[str] = IDENTIFIER_KEYS
    patterns: tuple[re.Pattern[str], ...] = ()
    never_flag: frozenset[str] = frozenset()
    read_only_tools: frozenset[str] = frozenset()
    tool_actions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def identifiers_in(self, text: str) -> Iterator[Token]:
        """Yield what the configured patterns match, from the beginnings of words on."""
        if not self.patterns:
            return
        given = 0
        for start in _WORD_START.finditer(text):
            at = start.start()
            for pattern in self.patterns:
                found = pattern.match(text, at, min(len(text), at + LONGEST_IDENTIFIER))
                if found and found.end() > at and not (text[found.end() : found.end() + 1].isalnum()):
                    yield Token("reference", at, found.end(), found[0], found[0].lower())
                    given += 1
                    break
            if given >= MAX_IDENTIFIERS:
                return

    def never_flags(self, token: Token) -> bool:
        """Whether the application excludes the token from findings."""
        if not self.never_flag:
            return False
        written = token.text.casefold()
        if written in self.never_flag:
            return True
        return token.kind == "name" and all(part.casefold() in self.never_flag for part in token.value)


NO_RULES = FabricationRules()
_WORD_START = re.compile(r"(?<![^\W_])[^\W_]|(?<!#)#")


def rules_of(
    keys: Iterable[object] | None = None,
    patterns: Iterable[object] | None = None,
    never_flag: Iterable[object] | None = None,
    read_only_tools: Iterable[object] | None = None,
    tool_actions: Mapping[str, Iterable[str]] | None = None,
) -> FabricationRules:
    """Return the rules of a domain. A pattern that cannot be used is logged once and left out."""
    if not (keys or patterns or never_flag or read_only_tools or tool_actions):
        return NO_RULES
    actions = tuple((tool, _words(words)) for tool, words in (tool_actions or {}).items())
    return _rules_of(_words(keys), _words(patterns), _words(never_flag), _words(read_only_tools), actions)


def _words(given: Iterable[object] | None) -> tuple[str, ...]:
    if not given:
        return ()
    return (given,) if isinstance(given, str) else tuple(word for word in given if isinstance(word, str))


@lru_cache(maxsize=64)
def _rules_of(
    keys: tuple[str, ...],
    patterns: tuple[str, ...],
    never_flag: tuple[str, ...],
    read_only_tools: tuple[str, ...],
    tool_actions: tuple[tuple[str, tuple[str, ...]], ...],
) -> FabricationRules:
    usable = [compiled for compiled in map(_compiled, patterns) if compiled is not None]
    return FabricationRules(
        known_keys(keys),
        tuple(usable),
        frozenset(word.casefold() for word in never_flag),
        frozenset(read_only_tools),
        dict(tool_actions),
    )


def _compiled(pattern: str) -> re.Pattern[str] | None:
    try:
        return check_pattern(pattern)
    except ValueError as error:
        logger.warning("draftcritic: the identifier pattern %r %s; it is left out", pattern, error)
        return None
