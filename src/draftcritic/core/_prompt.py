"""The reflection prompt: instructions in one message, everything that came from outside fenced off in another."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Protocol

from draftcritic.core._evidence_blocks import POLICY, Evidence, ShownEvidence
from draftcritic.core._excerpt import excerpt, shortened
from draftcritic.core._policy import Rule
from draftcritic.core._prompt_template import (
    BROKEN,
    DEFAULT_TEMPLATE,
    EVIDENCE_EXAMPLES,
    EVIDENCE_TEMPLATE,
    EXAMPLE_RULES,
    EXAMPLE_TOKENS,
    EXAMPLES,
    block_name,
    system_text,
)
from draftcritic.core._text import well_formed

_EXAMPLE_BOUNDARY = "example"
_TOKEN_LETTERS = "bcdfghjkmnpqrstvwxz"  # noqa: S105 - no secret
"""Neither digits nor vowels: a token is never written as a number, and is no word."""
_TOKEN_LENGTH = 8

_CACHED = ("policy", "core_preferences", "procedural_rules")
"""The blocks that are the same for many drafts."""
_KEY = secrets.token_bytes(16)
"""Makes the boundary of those blocks a secret of the process."""


class PreferenceLike(Protocol):
    """What the prompt shows of a preference."""

    @property
    def priority(self) -> int:
        """Higher is shown first."""
        ...

    @property
    def statement(self) -> str:
        """The rule."""
        ...


@dataclass(frozen=True)
class Prompt:
    """The reflection prompt.

    Attributes:
        system: the instructions; the same for every call with one template.
        user: the values, each in its own block.
        examples: earlier turns to show the model before `user`, each a question and its answer; the same for every
            call, so that providers can keep what they have read of them.
        omitted: characters of the values that the budget left out.
        token: what the reply has to repeat as its "id".
        untrusted: the texts among the values that the operator did not write.
        boundary: the random boundary around the values of `user`.
        rules_boundary: the boundary around those that are the same for many drafts.
        evidence: what is shown as evidence.
    """

    system: str
    user: str
    examples: tuple[tuple[str, str], ...] = ()
    omitted: int = 0
    token: str = ""
    untrusted: tuple[str, ...] = ()
    boundary: str = ""
    rules_boundary: str = ""
    evidence: ShownEvidence = field(default_factory=ShownEvidence)

    def is_repeated_in(self, text: str) -> bool:
        """Return whether a text has one of the words that only this prompt has."""
        lower = text.lower()
        return any(word in lower for word in (self.boundary, self.rules_boundary, self.token) if word)

    @property
    def size(self) -> int:
        """Characters that the model is sent."""
        return len(self.system) + len(self.user) + sum(len(asked) + len(answer) for asked, answer in self.examples)


def render_prompt(
    template: str | None,
    *,
    draft: str,
    preferences: Sequence[PreferenceLike],
    rules: Sequence[str | Rule],
    sensitive_hit: str | None,
    budget: int | None = None,
    about: str = "",
    reasons: Sequence[str] = (),
    evidence: Evidence | None = None,
    examples: bool = True,
) -> Prompt:
    """Write the prompt of one reflection.

    The template becomes the system text, each field replaced by the name of a data block. The user text has the
    blocks, between lines that carry a boundary: no value can close its block, and braces or percent signs in values
    are only text. What is the same for many drafts comes first, within a boundary that stays the same as well, so that
    providers can cache it; the other boundary is random. Lone surrogates in values are replaced, because no HTTP client
    can send them.

    Args:
        template: instructions with the four `FIELDS`; None for the built-in one.
        draft: what is judged.
        preferences: shown as "- [priority] statement", highest priority first.
        rules: shown as "- rule". What has an `id` ends with "(#id)" in the built-in template, and in one that asks
            for the field "broken".
        sensitive_hit: the sensitive tag of the turn.
        budget: characters that draft, preferences, rules and evidence may have together, at least 1,000; None for any
            number. What is too long is cut, and a mark says where. Preferences and rules are left out from the last
            one on; each of the two keeps a quarter of the budget, and so does the evidence, and more when the others
            leave it. The draft keeps its parts with something to check, then the newest; see `excerpt`.
        about: what else the last line asks, a sentence and a space.
        reasons: what was found wrong with the draft before, in a block of their own.
        evidence: the texts of the turn, each kind in a block of its own; None asks about the rules alone.
        examples: show worked examples with the built-in template.

    Raises:
        ValueError: see `validate_template`.
    """
    stated, listed = _listed(template, preferences, rules)
    whole = sum(map(len, (draft, "\n".join(stated), "\n".join(listed))))
    reserved = reserved_for(evidence, budget)
    shown = _within(None if budget is None else budget - reserved, draft, stated, listed)
    used = sum(map(len, shown))
    seen = ShownEvidence() if evidence is None else evidence.shown(draft, _room(budget, used, evidence))
    cached = {
        **({POLICY: seen.blocks[POLICY]} if seen.whole_policy and POLICY in seen.blocks else {}),
        "core_preferences": shown[1] or "(none)",
        "procedural_rules": shown[2] or "(none)",
    }
    values = {
        "sensitive_tag_hit": sensitive_hit or "none",
        **({"reasons": "\n".join(f"- {reason}" for reason in reasons)} if reasons else {}),
        **{name: text for name, text in seen.blocks.items() if name not in cached},
        "draft": shown[0],
    }
    cached, values = _well_formed(cached), _well_formed(values)
    said = "".join((*cached.values(), *values.values()))
    token, boundary, rules_boundary = _token(said), _boundary(said), _rules_boundary(cached, said)
    return Prompt(
        system=_instructions(template, with_evidence=evidence is not None),
        user=_question(cached, rules_boundary, values, boundary, _asked(token, about)),
        examples=_examples(with_evidence=evidence is not None) if template is None and examples else (),
        omitted=max(0, whole - used),
        token=token,
        untrusted=(values["draft"], *seen.blocks.values()),
        boundary=boundary,
        rules_boundary=rules_boundary,
        evidence=seen,
    )


def reserved_for(evidence: Evidence | None, budget: int | None) -> int:
    """Return the characters of a budget that the evidence has in any case."""
    return 0 if evidence is None or budget is None else min(evidence.size, budget // 4)


def _room(budget: int | None, used: int, evidence: Evidence) -> int:
    """Return how many characters the evidence may have."""
    return budget - used if budget is not None else 4 * evidence.size + 1000


def room_for_draft(
    template: str | None,
    preferences: Sequence[PreferenceLike],
    rules: Sequence[str | Rule],
    budget: int,
    evidence: Evidence | None = None,
) -> int:
    """Return how many characters of a draft a prompt shows as they are. See `render_prompt` for the arguments."""
    taken = (sum(map(len, lines)) + max(0, len(lines) - 1) for lines in _listed(template, preferences, rules))
    budget -= reserved_for(evidence, budget)
    return budget - sum(min(size, budget // 4) for size in taken)


def _listed(
    template: str | None, preferences: Sequence[PreferenceLike], rules: Sequence[str | Rule]
) -> tuple[list[str], list[str]]:
    """Return preferences and rules as lines."""
    by_priority = sorted(preferences, key=lambda p: p.priority, reverse=True)
    named = template is None or BROKEN in template
    return (
        [f"- [{p.priority}] {p.statement}{_name_of(p, shown=named)}" for p in by_priority],
        [f"- {getattr(rule, 'statement', rule)}{_name_of(rule, shown=named)}" for rule in rules],
    )


def _name_of(rule: object, *, shown: bool) -> str:
    name = getattr(rule, "id", "") if shown else ""
    return f" (#{name})" if name else ""


def _within(budget: int | None, draft: str, preferences: Sequence[str], rules: Sequence[str]) -> tuple[str, str, str]:
    """Return draft, preferences and rules as texts that have `budget` characters together."""
    stated, listed = "\n".join(preferences), "\n".join(rules)
    if budget is None or len(draft) + len(stated) + len(listed) <= budget:
        return draft, stated, listed
    quarter = budget // 4
    stated = shortened(preferences, max(quarter, budget - len(draft) - len(listed)))
    listed = shortened(rules, max(quarter, budget - len(draft) - len(stated)))
    return excerpt(draft, budget - len(stated) - len(listed)), stated, listed


def _well_formed(values: Mapping[str, str]) -> dict[str, str]:
    return {name: well_formed(value) for name, value in values.items()}


def _instructions(template: str | None, *, with_evidence: bool) -> str:
    if template is None:
        template = EVIDENCE_TEMPLATE if with_evidence else DEFAULT_TEMPLATE
    return system_text(template, with_evidence=with_evidence)


def _question(
    cached: Mapping[str, str],
    rules_boundary: str,
    values: Mapping[str, str],
    boundary: str,
    asked: str,
) -> str:
    fixed = [f"Boundary of the rules: {rules_boundary}", *_blocks(cached, rules_boundary)]
    return "\n\n".join([*fixed, f"Boundary: {boundary}", *_blocks(values, boundary), asked])


def _asked(token: str, about: str = "") -> str:
    return f'{about}Which verdict fits {block_name("draft")}? Answer with the one JSON object, with "id": "{token}".'


def _blocks(values: Mapping[str, str], boundary: str) -> list[str]:
    return [
        f"--- {boundary} begin {block_name(name)}\n{value}\n--- {boundary} end {block_name(name)}"
        for name, value in values.items()
    ]


@lru_cache(maxsize=2)
def _examples(*, with_evidence: bool) -> tuple[tuple[str, str], ...]:
    shown = EVIDENCE_EXAMPLES if with_evidence else EXAMPLES
    rules = {"core_preferences": EXAMPLE_RULES}
    return tuple(
        (
            _question(rules, _EXAMPLE_BOUNDARY, blocks, _EXAMPLE_BOUNDARY, _asked(token)),
            json.dumps(
                {"id": token, **{key: value for key, value in answer.items() if with_evidence or key != "claims"}}
            ),
        )
        for token, (blocks, answer) in zip(EXAMPLE_TOKENS, shown, strict=False)
    )


def _boundary(values: str) -> str:
    while (boundary := secrets.token_hex(8)) in values:
        pass
    return boundary


def _rules_boundary(cached: Mapping[str, str], values: str) -> str:
    """Return a boundary that is the same for the same blocks, and that no value has."""
    said = repr(sorted(cached.items())).encode("utf-8", "backslashreplace")
    boundary = blake2b(said, digest_size=8, key=_KEY).hexdigest()
    return _boundary(values) if boundary in values else boundary


def _token(values: str) -> str:
    while (token := "".join(secrets.choice(_TOKEN_LETTERS) for _ in range(_TOKEN_LENGTH))) in values:
        pass
    return token
