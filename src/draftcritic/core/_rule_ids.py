"""Stable ids of preferences and rules: what can be counted while the texts stay inside the process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b

OTHER_RULE = "other"
"""Stands for every rule that is not loaded, such as those of a rules source."""
_MARKS = "()[]{}#`'\"., "


@dataclass(frozen=True)
class Rule:
    """A procedural rule with an id of its own.

    Attributes:
        statement: the rule, in words the critic's model reads.
        id: what it is counted as; empty for a hash of the statement.
    """

    statement: str
    id: str = ""


def rule_id(statement: str, given: str = "", salt: str = "") -> str:
    """Return the id of a rule: the given one, else a short hash of the statement that the salt changes."""
    if given:
        return given
    key = blake2b(salt.encode("utf-8", "backslashreplace")).digest() if salt else b""
    words = " ".join(statement.split())
    return "r" + blake2b(words.encode("utf-8", "backslashreplace"), digest_size=4, key=key).hexdigest()


@dataclass(frozen=True)
class RuleIds:
    """The loaded rules by id and by statement.

    Attributes:
        statements: the id of each loaded rule -> its statement.
    """

    statements: Mapping[str, str] = field(default_factory=dict)

    def broken(self, named: Iterable[str], matched: Iterable[str]) -> tuple[str, ...]:
        """Return the ids of the rules that a reply names, each once; what is not loaded is `OTHER_RULE`.

        Args:
            named: what the reply names as ids.
            matched: what the reply names as statements.
        """
        loaded = {_plain(each): each for each in self.statements}
        loaded.update((_plain(statement), each) for each, statement in self.statements.items())
        return tuple(dict.fromkeys(loaded.get(_plain(name), OTHER_RULE) for name in (*named, *matched)))


def _plain(name: str) -> str:
    return " ".join(name.split()).casefold().strip(_MARKS)
